"""What may be asked, in public; and, in `records` alone, what must not be seen."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
