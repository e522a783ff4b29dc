"""What a question needs: which numbers, never how they are asked for. Trust models choose that, in public."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
