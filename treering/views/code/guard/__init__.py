"""Which earlier round does a change undo? Named evidence, weighed by one scorer, in one report."""
