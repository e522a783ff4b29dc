"""The forecast of the time-dependent area of a model of survival."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..curves.question import labels
from ..data import Categories
from ..inference.horizons import AtHorizon
from .competing_risks import counted
from .expected_errors import AREA, OF_ONE_AREA, ForecastKind, _named, _quarter
from .reference_laws import CLASSES, along
from .true_readings import LEVEL, Columns


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    """Positives have an event before the horizon; of the others a quarter is censored before it."""
    bits, score = drawn
    values = labels(question.event, question.came, question.censored, ("censored", "came")).values
    way, upper = np.arange(len(bits)) % 16 / 16, question.times.upper
    early = (bits == 1) | (np.arange(len(bits)) % 4 == 0)
    time = np.where(early, question.times.lower + (upper - question.times.lower) * way, upper * 1.5 + 1)
    return {_named(question.score): along(question.scores, score), question.time: time,
            question.event: np.array(values)[bits]}  # fmt: skip


def _error(question: Any, found: curves.SurvivalModel, records: Columns) -> float:
    came = np.where(np.asarray(records[question.event]) == question.came, 1, 0)
    columns, kinds = {**records, question.event: came}, Categories(question.event, (0, 1))
    sides = (question.event, kinds), (question.time, question.times), (question.score, found.scores)
    counts = counted(columns, *sides)
    inside = counts[..., 1:-1]
    inside[..., 0] += counts[..., 0]
    inside[..., -1] += counts[..., -1]
    known = None if found.watched is None else np.asarray(found.watched)
    return abs(found.auc.value - float(AtHorizon.weighted(inside, early=False, known=known).area()))


def _half(found: curves.SurvivalModel, population: bool) -> float:
    return float(np.diff(found.auc.interval(LEVEL, population=population))[0]) / 2


FORECAST = ForecastKind(CLASSES, _columns, _error, AREA, _half, "the area", _quarter, OF_ONE_AREA)
