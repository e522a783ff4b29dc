"""Forecasts of errors: a question is simulated on public records, which are synthetic or given by the user."""

from .expected_errors import ExpectedCurve as ExpectedCurve
from .expected_errors import ExpectedError as ExpectedError
from .expected_errors import Forecast as Forecast
from .expected_errors import forecast as forecast
