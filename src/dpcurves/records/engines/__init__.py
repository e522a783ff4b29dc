"""SENSITIVE. Engines that count where records lie: exact integers of a plan's table leave them, and nothing else."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
