"""Signals: terms of a score that look at the queries and the ranking so far."""
