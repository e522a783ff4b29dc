"""Linear queries (counts of cells, sums, prefixes, regions): descriptions of what is counted, which hold no record and
may be published."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
