"""Strategies: from workloads to queries, their order and their shares, by public facts and earlier answers."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
