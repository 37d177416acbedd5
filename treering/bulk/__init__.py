"""Add many files with many workers."""
