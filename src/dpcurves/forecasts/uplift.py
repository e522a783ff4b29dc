"""The forecast of questions of the same name."""

from .counted_numbers import FORECAST as FORECAST
