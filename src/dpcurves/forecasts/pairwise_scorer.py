"""The forecast of questions of the same name."""

from .counted_numbers import FORECAST_OF_FEATURES as FORECAST

__all__ = ["FORECAST"]
