"""Computation in pairs: of two servers in a session, or of two people who leave encrypted messages for each other."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
