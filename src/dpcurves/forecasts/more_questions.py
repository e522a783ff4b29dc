"""Forecasts of questions about survey weights, and of questions about columns of which no range is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..data import HUNDREDTHS, Grid, Weights
from . import true_readings as read
from .expected_errors import (
    AREA,
    MORE_WIDTHS,
    OF_ONE_AREA,
    OF_ONE_NUMBER,
    OF_SLOW,
    ForecastKind,
    Table,
    classes_and_scores,
    quarter,
)
from .reference_laws import CLASSES, PLACES, along

LEAST, MOST = 0.1, 0.5
"""Made-up weights lie between these parts of the cap, evenly and apart from all values."""
APART = 0.6180339887498949


def made_weights(question: Any, size: int) -> FloatArray:
    """Weights of so many made-up records."""
    return np.asarray(question.weight_cap * (LEAST + (MOST - LEAST) * (np.arange(size) * APART % 1)))


def steps_of(question: Any, records: read.Columns) -> FloatArray:
    """The steps in which weights of records are counted; 0 of those that are missing."""
    weights = np.asarray(records[question.weight], dtype=np.float64)
    return np.maximum(Weights(question.weight, question.weight_cap).steps_of(weights), 0).astype(np.float64)


def _share_below(question: Any, edges: FloatArray, grid: Grid, records: read.Columns) -> FloatArray:
    """The share of the weight below each edge."""
    values, steps = np.asarray(records[question.column], dtype=np.float64), steps_of(question, records)
    known = ~np.isnan(values)
    values, steps = np.clip(values[known], grid.lower, np.nextafter(grid.upper, -np.inf)), steps[known]
    order = np.argsort(values)
    below = np.append(0.0, np.cumsum(steps[order]))
    return np.asarray(below[np.searchsorted(values[order], edges)] / max(float(below[-1]), 1.0))


def _weighted_columns(question: Any, places: FloatArray) -> Table:
    return {question.column: along(question.grid, places), question.weight: made_weights(question, len(places))}


def _weighted_error(question: Any, found: curves.CDF | curves.Quantiles, records: read.Columns) -> float:
    """Root mean square over edges of a curve; of quantiles, the mean distance of shares below from those asked for."""
    if isinstance(found, curves.Quantiles):
        edges = np.unique(np.concatenate([found.cells.ravel(), found.x]))
        edges = edges[np.isfinite(edges)]
        below = _share_below(question, edges, question.grid, records)
        return float(np.mean(np.abs(np.interp(found.x, edges, below) - found.p)))
    return read.off(found.y, _share_below(question, found.x, question.grid, records))


def half_of_band(found: curves.CDF | curves.Quantiles, population: bool) -> float:
    """Half of the band at its widest."""
    curve: Any = found.curve if isinstance(found, curves.Quantiles) else found
    return float(read.band_of(curve, population).max())


WEIGHTED = ForecastKind(
    PLACES, _weighted_columns, _weighted_error, "share of the weight below an edge or a quantile", half_of_band,
    "the band, at its widest", quarter,
)  # fmt: skip


def _summed_columns(question: Any, places: FloatArray) -> Table:
    bounds = Grid(question.lower, question.upper, cells=1)
    return {question.column: along(bounds, places), question.weight: made_weights(question, len(places))}


def _summed_error(question: Any, found: curves.WeightedSummary, records: read.Columns) -> float:
    values, steps = np.asarray(records[question.column], dtype=np.float64), steps_of(question, records)
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


WEIGHTED_NUMBER = ForecastKind(
    PLACES, _summed_columns, _summed_error, "the weighted number, mean error", read.half_of_number, "the number",
    _nothing, OF_ONE_NUMBER, MORE_WIDTHS,
)  # fmt: skip


# Columns without a range: records lie between 1 and 1000.


DECILES = np.linspace(0.1, 0.9, 9)
SPREAD = 999.0


def _spread_columns(question: Any, places: FloatArray) -> Table:
    return {question.column: 1 + SPREAD * places}


def _error_in_rank(question: Any, found: curves.CDF | curves.Quantiles, records: read.Columns) -> float:
    """Mean absolute error in rank of the quantiles that are asked for, or of the deciles of a curve."""
    values = np.asarray(records[question.column], dtype=np.float64)
    ordered = np.sort(values[~np.isnan(values)])
    shares = found.p if isinstance(found, curves.Quantiles) else DECILES
    at = found.x if isinstance(found, curves.Quantiles) else found.quantile(shares)
    least, most = (np.searchsorted(ordered, at, side) / max(len(ordered), 1) for side in ("left", "right"))
    return float(np.mean(np.maximum(np.maximum(least - shares, shares - most), 0)))


UNBOUNDED = ForecastKind(
    PLACES, _spread_columns, _error_in_rank, "share below a quantile, mean error", half_of_band,
    "the band, at its widest", quarter,
)  # fmt: skip


UNBOUNDED_HISTOGRAM = ForecastKind(
    PLACES, _spread_columns,
    lambda question, found, records: read.of_histogram(question.along(found.grid), found, records),
    "records in a cell, root mean square", read.half_of_each, "each cell, simultaneously",
    lambda question, size: size / 4,
)  # fmt: skip
NUMBERS: Mapping[type[Any], Callable[[Any, int], float]] = {
    curves.UnboundedSumQuestion: lambda question, size: size * SPREAD / 4,
    curves.UnboundedMeanQuestion: lambda question, size: SPREAD / 4,
    curves.UnboundedVarianceQuestion: lambda question, size: (SPREAD / 4) ** 2,
    curves.UnboundedSummaryQuestion: lambda question, size: SPREAD / 4,
}
UNBOUNDED_SCORES = ForecastKind(
    CLASSES, lambda question, drawn: classes_and_scores(question.along(HUNDREDTHS), drawn), read.of_scores, AREA,
    read.half_of_scores, "the area", quarter, OF_SLOW,
)  # fmt: skip


FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        curves.WeightedCdfQuestion: WEIGHTED,
        curves.WeightedQuantilesQuestion: WEIGHTED,
        curves.WeightedSummaryQuestion: WEIGHTED_NUMBER,
        curves.UnboundedCdfQuestion: UNBOUNDED,
        curves.UnboundedQuantilesQuestion: UNBOUNDED,
        curves.UnboundedScoresQuestion: UNBOUNDED_SCORES,
        curves.UnboundedHistogramQuestion: UNBOUNDED_HISTOGRAM,
        **{
            kind: ForecastKind(
                PLACES, _spread_columns, read.of_number, f"{name}, mean error", read.half_of_number, f"the {name}",
                nothing, OF_ONE_AREA, MORE_WIDTHS,
            )
            for kind, nothing in NUMBERS.items()
            for name in [kind.BOUNDED.STATISTIC]
        },
    }
)  # fmt: skip
