"""Expressions of columns: a closed, typed and total language for filters and derived columns."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
