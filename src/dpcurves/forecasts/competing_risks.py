"""The forecast of competing risks, and counts of made-up records."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..curves.competing_risks import table_of
from ..data import Categories, Grid, Outside
from .expected_errors import OF_SLOW, ForecastKind, _quarter
from .reference_laws import TIMES, along
from .true_readings import Columns, half_of_each


def counted(records: Columns, *sides: tuple[str, Grid | Categories]) -> FloatArray:
    """Counts of records by columns: by their categories, or by cells, with those outside the grid apart."""
    places, shape = [], []
    for column, side in sides:
        values = np.asarray(records[column])
        if isinstance(side, Categories):
            places.append(np.array([list(side.values).index(each) for each in values.tolist()]))
            shape.append(side.slots)
        else:
            apart = side.with_outside(Outside.APART)
            places.append(apart.cell_of(values.astype(np.float64)))
            shape.append(apart.slots)
    found = np.zeros(shape)
    np.add.at(found, tuple(places), 1.0)
    return found


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    time, event = drawn
    kinds = np.arange(len(event)) % len(question.causes) + 1
    values = np.array([question.censored, *question.causes], dtype=object)
    return {question.time: along(question.grid, time), question.event: values[np.where(event, kinds, 0)]}


def _error(question: Any, found: curves.CompetingRisks, records: Columns) -> float:
    event = Categories(question.event, (question.censored, *question.causes))
    censored, *events = counted(records, (question.event, event), (question.time, question.grid))
    table = table_of(censored, events, tied=True)
    truth = table.curves(table.records > 0, found.x[1:]).come
    return float(np.sqrt(np.mean((found.incidence - truth) ** 2)))


FORECAST = ForecastKind(
    TIMES, _columns, _error, "share with an event, root mean square", half_of_each, "the band, on average", _quarter,
    OF_SLOW,
)  # fmt: skip
