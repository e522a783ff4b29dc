"""Survival analysis: curves of the time until an event, their statistics and tests, competing risks, models judged."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
