"""Where agents are: their settings, the hooks they call, and the project a folder belongs to."""
