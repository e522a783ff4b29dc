"""Forecasts of weighted distribution functions and quantiles, and weights of made-up records."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..data import Grid, Weights
from . import true_readings as read
from .expected_errors import ForecastKind, Table, _quarter
from .reference_laws import PLACES, along

LEAST, MOST = 0.1, 0.5
"""Made-up weights lie between these parts of the cap, evenly and apart from all values."""
APART = 0.6180339887498949


def _made_weights(question: Any, size: int) -> FloatArray:
    """Weights of so many made-up records."""
    return np.asarray(question.weight_cap * (LEAST + (MOST - LEAST) * (np.arange(size) * APART % 1)))


def _steps_of(question: Any, records: read.Columns) -> FloatArray:
    """The steps in which weights of records are counted; 0 of those that are missing."""
    weights = np.asarray(records[question.weight], dtype=np.float64)
    return np.maximum(Weights(question.weight, question.weight_cap).steps_of(weights), 0).astype(np.float64)


def _share_below(question: Any, edges: FloatArray, grid: Grid, records: read.Columns) -> FloatArray:
    """The share of the weight below each edge."""
    values, steps = np.asarray(records[question.column], dtype=np.float64), _steps_of(question, records)
    known = ~np.isnan(values)
    values, steps = np.clip(values[known], grid.lower, np.nextafter(grid.upper, -np.inf)), steps[known]
    order = np.argsort(values)
    below = np.append(0.0, np.cumsum(steps[order]))
    return np.asarray(below[np.searchsorted(values[order], edges)] / max(float(below[-1]), 1.0))


def _columns(question: Any, places: FloatArray) -> Table:
    return {question.column: along(question.grid, places), question.weight: _made_weights(question, len(places))}


def _error(question: Any, found: curves.CDF | curves.Quantiles, records: read.Columns) -> float:
    """Root mean square over edges of a curve; of quantiles, the mean distance of shares below from those asked for."""
    if isinstance(found, curves.Quantiles):
        edges = np.unique(np.concatenate([found.cells.ravel(), found.x]))
        edges = edges[np.isfinite(edges)]
        below = _share_below(question, edges, question.grid, records)
        return float(np.mean(np.abs(np.interp(found.x, edges, below) - found.p)))
    truth = _share_below(question, found.x, question.grid, records)
    return float(np.sqrt(np.mean((found.y - truth) ** 2)))


def _half(found: curves.CDF | curves.Quantiles, population: bool) -> float:
    """Half of the band at its widest."""
    curve: Any = found.curve if isinstance(found, curves.Quantiles) else found
    return float(read.band_of(curve, population).max())


FORECAST = ForecastKind(
    PLACES, _columns, _error, "share of the weight below an edge or a quantile", _half, "the band, at its widest",
    _quarter,
)  # fmt: skip
