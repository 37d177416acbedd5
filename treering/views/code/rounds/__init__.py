"""Rounds of work: recorded in the journal, found in git, and what they made out of date."""
