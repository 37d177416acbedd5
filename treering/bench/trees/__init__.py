"""What the tree gives, what shape it has, and what it costs."""
