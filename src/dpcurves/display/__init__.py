"""Arrays as pictures, tables, pages and JSON. Computes no statistics; heavy libraries are imported when used."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
