"""The time until an event: survival curves, their readings and tests, competing risks, late entry, looks, models."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
