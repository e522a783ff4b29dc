"""Counts of a stream, tick by tick: fresh noise, counts of prefixes, and groups of steps that are alike."""
