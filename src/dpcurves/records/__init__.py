"""SENSITIVE. All code that opens records. Trust models and sessions import it; code that processes answers must not."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
