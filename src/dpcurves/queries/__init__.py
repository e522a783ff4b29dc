"""Linear queries: descriptions of counts, sums, prefixes and regions that hold no record and may be published."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
