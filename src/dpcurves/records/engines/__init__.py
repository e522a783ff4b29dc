"""SENSITIVE. Counting engines: they count records where they are stored, and return the exact integers of a plan."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
