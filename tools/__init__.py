"""Programs for those who work on treering; not part of the package."""
