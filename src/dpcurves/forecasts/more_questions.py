"""Forecasts of questions about survey weights, and of questions without a range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..data import HUNDREDTHS, Grid, Weights
from . import rehearsals
from .expected_errors import (
    AREA,
    AREA_REHEARSALS,
    NUMBER_REHEARSALS,
    SLOW_REHEARSALS,
    WIDTH_REHEARSALS,
    ForecastKind,
    Table,
    fill_class_columns,
    quarter_of_shares,
)
from .reference_laws import CLASSES, PLACES, interpolate_grid


def synthesise_weights(question: Any, size: int) -> FloatArray:
    """Return simulated weights of `size` records, from a tenth to half of the cap, evenly spread."""
    # weights are spread evenly from a tenth to half of the cap, by the golden ratio
    # ratio: least simulated weight, as a fraction of the cap; weights are uniform and independent of values
    least_weight_share = 0.1
    return np.asarray(
        question.weight_cap
        * (least_weight_share + (0.5 - least_weight_share) * (np.arange(size) * 0.6180339887498949 % 1))
    )


def weight_steps(question: Any, records: rehearsals.Columns) -> FloatArray:
    """Return weights in the steps in which they are counted; 0 if missing."""
    weights = np.asarray(records[question.weight], dtype=np.float64)
    return np.maximum(Weights(question.weight, question.weight_cap).to_steps(weights), 0).astype(np.float64)


def _weight_share_below(question: Any, edges: FloatArray, grid: Grid, records: rehearsals.Columns) -> FloatArray:
    """Return the exact share of the records' weight below each edge, (edges,)."""
    values, steps = np.asarray(records[question.column], dtype=np.float64), weight_steps(question, records)
    is_present = ~np.isnan(values)
    values, steps = np.clip(values[is_present], grid.lower, np.nextafter(grid.upper, -np.inf)), steps[is_present]
    order = np.argsort(values)
    below = np.append(0.0, np.cumsum(steps[order]))
    return np.asarray(below[np.searchsorted(values[order], edges)] / max(float(below[-1]), 1.0))


def _fill_weighted_columns(question: Any, places: FloatArray) -> Table:
    """Return the column of values at these positions of the grid, and the column of weights."""
    return {
        question.column: interpolate_grid(question.grid, places),
        question.weight: synthesise_weights(question, len(places)),
    }


def _weighted_error(question: Any, result: curves.CDF | curves.Quantiles, records: rehearsals.Columns) -> float:
    """Return the root mean square error over edges of a curve, or the mean absolute error in share of quantiles."""
    if isinstance(result, curves.Quantiles):
        edges = np.unique(np.concatenate([result.cells.ravel(), result.x]))
        edges = edges[np.isfinite(edges)]
        below = _weight_share_below(question, edges, question.grid, records)
        return float(np.mean(np.abs(np.interp(result.x, edges, below) - result.p)))
    return rehearsals.root_mean_square_error(result.y, _weight_share_below(question, result.x, question.grid, records))


def largest_half_width(found: curves.CDF | curves.Quantiles, population: bool) -> float:
    """Return half the largest width of a curve's band, or of the quantiles' intervals, at `LEVEL`, in shares."""
    curve: Any = found.curve if isinstance(found, curves.Quantiles) else found
    return float(rehearsals.band_half_widths(curve, population).max())


WEIGHTED = ForecastKind(
    laws=PLACES,
    fill_columns=_fill_weighted_columns,
    measure_error=_weighted_error,
    error_label="share of the weight below an edge or a quantile",
    half_width=largest_half_width,
    interval_label="the band, at its widest",
    uninformative_width=quarter_of_shares,
)


def _fill_summed_columns(question: Any, places: FloatArray) -> Table:
    """Return the column of values at these positions between the bounds, and the column of weights."""
    bounds = Grid(question.lower, question.upper, cells=1)
    return {
        question.column: interpolate_grid(bounds, places),
        question.weight: synthesise_weights(question, len(places)),
    }


def _weighted_number_error(question: Any, result: curves.WeightedSummary, records: rehearsals.Columns) -> float:
    """Return the absolute error of a weighted number; half the width of its interval if it is unknown."""
    values, steps = np.asarray(records[question.column], dtype=np.float64), weight_steps(question, records)
    is_present = ~np.isnan(values)
    values = np.clip(values[is_present], question.lower, question.upper)
    weights = steps[is_present] * result.weights.step
    total = float(weights.sum())
    exact = {"count": total, "sum": float((weights * values).sum()), "mean": float(np.average(values, weights=weights))}
    error = abs(result.value - exact[result.statistic])
    return rehearsals.number_half_width(result, False) if np.isnan(error) else error


def _uninformative_width(question: Any, size: int) -> float:
    """Return the half width from which an interval is called uninformative: it then covers half of the possible range.

    The range of a mean is the range of the values; of a weighted count or sum it is `size`, the number of records,
    times the cap of a weight times as much.
    """
    range_width = 1.0 if question.statistic == "count" else float(question.upper - question.lower)
    return range_width / 4 * (1.0 if question.statistic == "mean" else size * question.weight_cap)


WEIGHTED_NUMBER = ForecastKind(
    laws=PLACES,
    fill_columns=_fill_summed_columns,
    measure_error=_weighted_number_error,
    error_label="the weighted number, mean error",
    half_width=rehearsals.number_half_width,
    interval_label="the number",
    uninformative_width=_uninformative_width,
    rehearsals=NUMBER_REHEARSALS,
    width_rehearsals=WIDTH_REHEARSALS,
)


# Columns without a range: simulated values lie between 1 and 1000.


DECILES = np.linspace(0.1, 0.9, 9)
"""Levels at which errors of curves are measured."""
VALUE_RANGE = 999.0
"""Units of the column. Range of the simulated values."""


def _fill_unbounded_column(question: Any, places: FloatArray) -> Table:
    """Return the column of values from 1 to 1000 at these positions."""
    return {question.column: 1 + VALUE_RANGE * places}


def _rank_error(question: Any, result: curves.CDF | curves.Quantiles, records: rehearsals.Columns) -> float:
    """Return the mean absolute error in rank of the requested quantiles, or of the deciles of a curve."""
    values = np.asarray(records[question.column], dtype=np.float64)
    ordered = np.sort(values[~np.isnan(values)])
    shares = result.p if isinstance(result, curves.Quantiles) else DECILES
    estimates = result.x if isinstance(result, curves.Quantiles) else result.quantile(shares)
    lowest, highest = (np.searchsorted(ordered, estimates, side) / max(len(ordered), 1) for side in ("left", "right"))
    return float(np.mean(np.maximum(np.maximum(lowest - shares, shares - highest), 0)))


UNBOUNDED = ForecastKind(
    laws=PLACES,
    fill_columns=_fill_unbounded_column,
    measure_error=_rank_error,
    error_label="share below a quantile, mean error",
    half_width=largest_half_width,
    interval_label="the band, at its widest",
    uninformative_width=quarter_of_shares,
)


UNBOUNDED_HISTOGRAM = ForecastKind(
    laws=PLACES,
    fill_columns=_fill_unbounded_column,
    measure_error=lambda question, found, records: rehearsals.histogram_error(
        question.with_grid(found.grid), found, records
    ),
    error_label="records in a cell, root mean square",
    half_width=rehearsals.interval_half_width,
    interval_label="each cell, simultaneously",
    uninformative_width=lambda question, size: size / 4,
)
NUMBERS: Mapping[type[Any], Callable[[Any, int], float]] = {
    curves.AutoRangeSumQuestion: lambda question, size: size * VALUE_RANGE / 4,
    curves.AutoRangeMeanQuestion: lambda question, size: VALUE_RANGE / 4,
    curves.AutoRangeVarianceQuestion: lambda question, size: (VALUE_RANGE / 4) ** 2,
    curves.AutoRangeSummaryQuestion: lambda question, size: VALUE_RANGE / 4,
}
UNBOUNDED_SCORES = ForecastKind(
    laws=CLASSES,
    fill_columns=lambda question, drawn: fill_class_columns(question.with_grid(HUNDREDTHS), drawn),
    measure_error=rehearsals.scores_error,
    error_label=AREA,
    half_width=rehearsals.area_half_width,
    interval_label="the area",
    uninformative_width=quarter_of_shares,
    rehearsals=SLOW_REHEARSALS,
)


FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        curves.WeightedCdfQuestion: WEIGHTED,
        curves.WeightedQuantilesQuestion: WEIGHTED,
        curves.WeightedSummaryQuestion: WEIGHTED_NUMBER,
        curves.AutoRangeCdfQuestion: UNBOUNDED,
        curves.AutoRangeQuantilesQuestion: UNBOUNDED,
        curves.AutoRangeScoresQuestion: UNBOUNDED_SCORES,
        curves.AutoRangeHistogramQuestion: UNBOUNDED_HISTOGRAM,
        **{
            kind: ForecastKind(
                laws=PLACES,
                fill_columns=_fill_unbounded_column,
                measure_error=rehearsals.number_error,
                error_label=f"{name}, mean error",
                half_width=rehearsals.number_half_width,
                interval_label=f"the {name}",
                uninformative_width=nothing,
                rehearsals=AREA_REHEARSALS,
                width_rehearsals=WIDTH_REHEARSALS,
            )
            for kind, nothing in NUMBERS.items()
            for name in [kind.BOUNDED_QUESTION.STATISTIC]
        },
    }
)
