"""Counts of prefixes along a path of noises that are drawn when they are read."""
