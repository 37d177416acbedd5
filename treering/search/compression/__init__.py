"""Contexts in fewer tokens: the sentences that say least are left out (MemTree, A.3.9)."""
