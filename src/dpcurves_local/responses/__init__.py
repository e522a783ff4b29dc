"""Randomised responses: what one person sends instead of an answer, one file for each way. Public but for the draws."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
