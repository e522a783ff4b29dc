"""Estimates from a stream's released noisy counts: counts, sliding windows, events and drift. They cost no budget."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
