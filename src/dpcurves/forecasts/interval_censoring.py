"""The forecast of survival between two looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..inference.turnbull import collapsed, turnbull
from .competing_risks import counted
from .expected_errors import OF_SLOW, ForecastKind, _quarter
from .reference_laws import TIMES, along
from .true_readings import Columns, half_of_each


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    """Events that are seen up to a quarter of the grid later, and looks at those that have none."""
    time, event = drawn
    at, wide = along(question.grid, time), (question.grid.upper - question.grid.lower) / 4
    look = np.arange(len(at)) % 4 / 4 * wide
    last = np.where(event, at - wide / 8 - look / 2, at)
    return {question.last: last, question.first: np.where(event, at + look / 2, np.inf)}


def _error(question: Any, found: curves.IntervalCensored, records: Columns) -> float:
    counts = counted(records, (question.last, question.grid), (question.first, question.grid))
    truth = 1 - np.cumsum(turnbull(collapsed(counts, early=False)))[:-1]
    return float(np.sqrt(np.mean((found.y[1:] - truth) ** 2)))


FORECAST = ForecastKind(
    TIMES, _columns, _error, "share that survives, root mean square", half_of_each, "the band, on average", _quarter,
    OF_SLOW, 2,
)  # fmt: skip
