"""Counts of a stream, tick by tick: fresh noise, counts of prefixes, and groups of steps that are alike."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
