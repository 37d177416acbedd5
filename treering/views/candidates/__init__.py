"""Spaces that are too large for main memory: the database finds what a search ranks."""
