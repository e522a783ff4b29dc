"""Estimation of counts from noisy counts; curves are computed from the estimates."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
