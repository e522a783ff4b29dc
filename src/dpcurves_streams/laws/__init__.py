"""Laws of the noise of streams: prefix sums by trees or a buffer, groups, hierarchies and pruned windows."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
