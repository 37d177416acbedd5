"""Contexts in fewer tokens: what is easily guessed is left out (MemTree, A.3.9)."""
