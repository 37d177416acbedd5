"""The views: whatever is derived from the journal of a space, and can be derived from it again."""
