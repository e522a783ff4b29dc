"""Table estimators: they ask for noisy counts in rounds, and estimate every cell of a table."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
