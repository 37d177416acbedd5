"""Rounds of work: recorded in the journal, and found in git."""
