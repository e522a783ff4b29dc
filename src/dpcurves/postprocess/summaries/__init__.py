"""Numbers that are read off curves."""
