"""What the hooks of agents keep beside a memory, and what of it goes with erased entries."""
