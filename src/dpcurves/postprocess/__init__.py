"""Post-processing: better estimates from public numbers, and their covariance. Costs no privacy."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
