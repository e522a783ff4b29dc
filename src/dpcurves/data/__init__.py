"""Public grids, categories and models: the cells that a table is counted in."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
