"""Mechanisms, which turn exact tables into noisy integers, and the choice among them."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
