"""A page to look into a memory: static files, and the few routes that only it needs."""
