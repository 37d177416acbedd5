"""MemTree: an online tree of summaries over the fragments of a space."""
