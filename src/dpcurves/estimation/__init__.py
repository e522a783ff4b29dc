"""Estimation: from noisy counts to the counts that curves are read from."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
