"""Readings of a stream: from noisy integers, tick by tick, to counts, windows and events. They cost no privacy."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
