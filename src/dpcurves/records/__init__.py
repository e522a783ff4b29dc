"""SENSITIVE. All that opens records. Trust models and the session reach this room; what reads answers never does."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
