"""The public nouns of a conversation: a step asks, a plan promises, a release answers."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
