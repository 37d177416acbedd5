"""Code memory: repositories parsed, related, searched and remembered across rounds (SPEC 1, 4)."""
