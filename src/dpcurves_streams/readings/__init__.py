"""Readings of a stream: estimates of counts, windows and events from released integers. They cost no loss."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
