"""Forecasts of errors before anything is charged: a question is simulated on public records.

The records are synthetic, given by the user, or follow a released curve. `forecast` returns a `Forecast`: the expected
error, and the expected width of intervals, for each distribution of records. Nothing confidential is read, and no
budget is spent.
"""

from .expected_errors import ExpectedCurve as ExpectedCurve
from .expected_errors import ExpectedError as ExpectedError
from .expected_errors import Forecast as Forecast
from .expected_errors import forecast as forecast
