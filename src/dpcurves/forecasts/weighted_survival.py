"""The forecast of weighted survival curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..curves.question import labels
from . import true_readings as read
from .expected_errors import OF_SLOW, ForecastKind, Table, _quarter
from .reference_laws import TIMES, along
from .weighted import _made_weights, _steps_of


def _columns(question: Any, drawn: Any) -> Table:
    time, event = drawn
    values = np.array(labels(question.event, question.came, question.censored, ("censored", "came")).values)
    weights = {question.weight: _made_weights(question, len(event))}
    return {question.time: along(question.grid, time), question.event: values[event], **weights}


def _error(question: Any, found: curves.Survival, records: read.Columns) -> float:
    """Root mean square over edges, beside Kaplan and Meier's estimate from exact times."""
    time, came = np.asarray(records[question.time], dtype=np.float64), np.asarray(records[question.event])
    steps = _steps_of(question, records)
    known, place = np.unique(time, return_inverse=True)
    left, events = np.bincount(place, steps), np.bincount(place, steps * (came == question.came))
    share = np.append(1.0, np.cumprod(1 - events / np.maximum(np.cumsum(left[::-1])[::-1], 1e-9)))
    truth = share[np.searchsorted(known, found.x, side="left")]
    return float(np.sqrt(np.mean((found.y - truth) ** 2)))


FORECAST = ForecastKind(
    TIMES, _columns, _error, "share of the weight that survives, root mean square",
    lambda curve, population: float(read.band_of(curve, population)[1:].mean()), "the band, on average", _quarter,
    OF_SLOW,
)  # fmt: skip
