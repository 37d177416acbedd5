"""One module a benchmark: a loader of its published file format, and its registration."""
