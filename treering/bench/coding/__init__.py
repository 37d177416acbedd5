"""Code benchmarks: what of a repository is found for code, what a model writes, what is noticed."""
