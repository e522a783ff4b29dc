"""The forecast of weighted counts, sums and means."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..data import Grid
from . import true_readings as read
from .expected_errors import MORE_WIDTHS, OF_ONE_NUMBER, ForecastKind, Table
from .reference_laws import PLACES, along
from .weighted import _made_weights, _steps_of


def _columns(question: Any, places: FloatArray) -> Table:
    bounds = Grid(question.lower, question.upper, cells=1)
    return {question.column: along(bounds, places), question.weight: _made_weights(question, len(places))}


def _error(question: Any, found: curves.WeightedSummary, records: read.Columns) -> float:
    values, steps = np.asarray(records[question.column], dtype=np.float64), _steps_of(question, records)
    known = ~np.isnan(values)
    values, weights = np.clip(values[known], question.lower, question.upper), steps[known] * found.weights.step
    total = float(weights.sum())
    exact = {"count": total, "sum": float((weights * values).sum()), "mean": float(np.average(values, weights=weights))}
    error = abs(found.value - exact[found.statistic])
    return read.half_of_number(found, False) if np.isnan(error) else error


def _nothing(question: Any, size: int) -> float:
    """A quarter of the bounds; of sums, of all weights that are possible."""
    each = 1.0 if question.statistic == "count" else float(question.upper - question.lower)
    return each / 4 * (1.0 if question.statistic == "mean" else size * question.weight_cap)


FORECAST = ForecastKind(
    PLACES, _columns, _error, "the weighted number, mean error", read.half_of_number, "the number", _nothing,
    OF_ONE_NUMBER, MORE_WIDTHS,
)  # fmt: skip
