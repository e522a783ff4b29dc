"""The forecast of survival of records that come under observation later."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..curves.survival_entries import leaving_of
from ..data import Categories
from ..inference.survival import survival
from .competing_risks import counted
from .expected_errors import OF_SLOW, ForecastKind, _quarter, _times
from .reference_laws import TIMES
from .true_readings import Columns, half_of_each


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    """A third of the records enter where the grid begins, the others on the way to their exit."""
    found = _times(question, drawn)
    lower, way = question.grid.lower, np.arange(len(drawn[0])) % 3 / 3
    return {**found, question.entry: lower + (found[question.time] - lower) * way}


def _error(question: Any, found: curves.DelayedEntry, records: Columns) -> float:
    came = np.where(np.asarray(records[question.event]) == question.came, 1, 0)
    columns, grid = {**records, question.event: came}, question.grid
    exits = counted(columns, (question.event, Categories(question.event, (0, 1))), (question.time, grid))
    at_risk = leaving_of(exits[0], exits[1], counted(columns, (question.entry, grid))).at_risk
    truth = np.append(1.0, survival(at_risk, at_risk.records > 0))
    return float(np.sqrt(np.mean((found.y - truth) ** 2)))


FORECAST = ForecastKind(
    TIMES, _columns, _error, "share that survives, root mean square", half_of_each, "the band, on average", _quarter,
    OF_SLOW,
)  # fmt: skip
