"""Taking in much at once: the journal as ``add`` writes it, cut and embedded by many processes."""
