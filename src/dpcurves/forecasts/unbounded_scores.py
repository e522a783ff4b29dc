"""The forecast of scores without a range: of scores in [0, 1], which the question does not know."""

from __future__ import annotations

from typing import Any

from ..data.grid import HUNDREDTHS
from . import true_readings as read
from .expected_errors import AREA, OF_SLOW, ForecastKind, _classes, _quarter
from .reference_laws import CLASSES


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    return dict(_classes(question.along(HUNDREDTHS), drawn))


FORECAST = ForecastKind(CLASSES, _columns, read.of_scores, AREA, read.half_of_scores, "the area", _quarter, OF_SLOW)
