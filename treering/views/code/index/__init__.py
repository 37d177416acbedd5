"""Repositories indexed: fragments of code searched, definitions mapped, all of it stored."""
