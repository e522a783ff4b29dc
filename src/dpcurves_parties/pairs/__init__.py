"""Two parties who compute together: as processes that talk, or as people who leave sealed letters for each other."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
