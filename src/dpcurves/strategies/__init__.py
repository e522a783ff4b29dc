"""Strategies: which queries answer a workload, in which order and with which budget fractions."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
