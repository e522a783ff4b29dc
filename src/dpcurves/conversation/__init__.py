"""The conversation between a question and a trust model: workloads, plans, steps and releases."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
