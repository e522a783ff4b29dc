"""Evaluation of predictive models: pairs, several classes, groups, uplift, forecasts of numbers, and model cards."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
