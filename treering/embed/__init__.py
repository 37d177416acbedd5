"""Embedding models behind one contract."""
