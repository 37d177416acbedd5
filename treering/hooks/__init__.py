"""Files of agents' hooks beside a memory, and their erasure with the entries."""
