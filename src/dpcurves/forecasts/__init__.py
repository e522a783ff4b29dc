"""Forecasts of errors: a question rehearsed on public records that are made up, or that are given."""

from .expected_errors import ExpectedCurve as ExpectedCurve
from .expected_errors import ExpectedError as ExpectedError
from .expected_errors import Forecast as Forecast
from .expected_errors import forecast as forecast
