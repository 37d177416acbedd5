"""Measures the tree: its benefit, its shape and its cost."""
