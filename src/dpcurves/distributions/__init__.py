"""The distributions of released integers around the truth, one file for each. Public, and known before data is seen."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
