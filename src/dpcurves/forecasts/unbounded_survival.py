"""The forecast of survival without a horizon: of times that lie between zero and 1000."""

from __future__ import annotations

from typing import Any

from ..data import Grid
from . import true_readings as read
from .expected_errors import OF_SLOW, ForecastKind, _quarter, _times
from .reference_laws import TIMES

THOUSAND = Grid(0, 1000, cells=100)


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    return dict(_times(question.along(THOUSAND), drawn))


FORECAST = ForecastKind(
    TIMES, _columns, read.of_survival, "share that survives, root mean square",
    lambda curve, population: float(read.band_of(curve, population)[1:].mean()), "the band, on average", _quarter,
    OF_SLOW,
)  # fmt: skip
