"""Randomised responses, which a person sends instead of an answer, and exact samplers. Only the draws are secret."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
