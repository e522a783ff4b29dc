"""Power analysis by simulation: the expected error of a private question, before any privacy budget is spent.

A question, which asks for a curve or number under differential privacy, is simulated with its noise on public records.
The records are synthetic, given by the user, or follow a released curve. `forecast` returns a `Forecast`: the expected
error, and the expected width of confidence intervals, for each distribution of records. Nothing confidential is read,
and no budget is spent.
"""

from .expected_errors import ExpectedCurve as ExpectedCurve
from .expected_errors import ExpectedError as ExpectedError
from .expected_errors import Forecast as Forecast
from .expected_errors import forecast as forecast
