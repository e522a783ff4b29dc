"""Workloads: the numbers that a question needs, apart from the queries that ask for them, which trust models choose."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
