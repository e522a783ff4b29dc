"""Inference: bands, intervals and tests, from released counts and the distribution of their noise."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
