"""Tuning a small model to write and choose memos: instruction rows, training, the adapter."""
