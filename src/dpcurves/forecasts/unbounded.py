"""Forecasts of questions about a column of which no range is known: on records that lie between 1 and 1000."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from . import true_readings as read
from .expected_errors import ForecastKind, Table
from .reference_laws import PLACES

DECILES = np.linspace(0.1, 0.9, 9)
SPREAD = 999.0


def _columns(question: Any, places: FloatArray) -> Table:
    return {question.column: 1 + SPREAD * places}


def _error(question: Any, found: curves.CDF | curves.Quantiles, records: read.Columns) -> float:
    """Mean absolute error in rank of the quantiles that are asked for, or of the deciles of a curve."""
    values = np.asarray(records[question.column], dtype=np.float64)
    ordered = np.sort(values[~np.isnan(values)])
    shares = found.p if isinstance(found, curves.Quantiles) else DECILES
    at = found.x if isinstance(found, curves.Quantiles) else found.quantile(shares)
    least, most = (np.searchsorted(ordered, at, side) / max(len(ordered), 1) for side in ("left", "right"))
    return float(np.mean(np.maximum(np.maximum(least - shares, shares - most), 0)))


def _half(found: curves.CDF | curves.Quantiles, population: bool) -> float:
    """Half of the band at its widest."""
    curve: Any = found.curve if isinstance(found, curves.Quantiles) else found
    return float(read.band_of(curve, population).max())


def _quarter(question: Any, size: int) -> float:
    return 0.25


FORECAST = ForecastKind(
    PLACES, _columns, _error, "share below a quantile, mean error", _half, "the band, at its widest", _quarter
)
