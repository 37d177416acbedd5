"""How fast, how large, how it grows: against the physical limit and against peers, in one run."""
