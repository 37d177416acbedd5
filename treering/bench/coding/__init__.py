"""Code benchmarks at the retrieval level: what of a repository is found for code to be written."""
