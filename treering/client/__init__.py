"""A memory on a server: the calls of ``Memory`` over HTTP."""
