"""Examples: programs that run as they stand, offline and without a key."""
