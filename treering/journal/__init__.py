"""The truth: entries as they were added, and pending work, in a database."""
