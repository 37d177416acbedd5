"""Code benchmarks: the code that is found, the code a model writes, the losses that are noticed."""
