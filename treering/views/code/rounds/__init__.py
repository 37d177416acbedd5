"""Rounds of work: recorded in the journal, found in git, and marks on outdated talk."""
