"""Forecasts (power analysis by simulation) of weighted questions, and of questions whose range is not known.

A forecast is the expected error of a question before any budget is spent. It is found by rehearsals, that is by
simulated releases on made-up records (`forecasts.rehearsals`). A `ForecastKind` defines for one type of question

- which public distributions the records are drawn from, and how they fill the columns (`fill_columns`);
- the error of a result, compared with the made-up records (`measure_error`);
- the half width of its intervals at level 0.95 (`half_width`), and the half width from which an interval is
uninformative.

This file has the kinds of two groups of questions, and `FORECASTS` maps each question class to its kind:

    survey weights      weights from 0.1 to 0.5 of the public cap; errors in shares of the total weight
    automatic range     values from 1 to 1000, which the question does not know; errors in rank, records or units

Formal guarantees: all records here are simulated; nothing confidential is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..data import HUNDREDTHS, Grid, Outside, Weights
from . import rehearsals
from .compared_groups import describe_column_plan
from .expected_errors import (
    AREA_ERROR_LABEL,
    AREA_REHEARSALS,
    NUMBER_REHEARSALS,
    SLOW_REHEARSALS,
    WIDTH_REHEARSALS,
    ForecastKind,
    Table,
    fill_class_columns,
    quarter_of_shares,
)
from .reference_distributions import CLASS_SAMPLERS, VALUE_SAMPLERS, interpolate_grid


class WeightedQuestion(Protocol):
    """Interface of questions with survey weights: each record counts with a number from a column, clipped at a cap."""

    @property
    def weight(self) -> str:
        """Name of the column of weights."""

    @property
    def weight_cap(self) -> float:
        """Public cap on the weight of a record."""


WeightedCurveQuestion = curves.WeightedCdfQuestion | curves.WeightedHistogramQuestion | curves.WeightedQuantilesQuestion
AutoRangeWeightedQuestion = (
    curves.AutoRangeWeightedCdfQuestion
    | curves.AutoRangeWeightedHistogramQuestion
    | curves.AutoRangeWeightedQuantilesQuestion
    | curves.AutoRangeWeightedSummaryQuestion
)
AutoRangeCurveQuestion = curves.AutoRangeCdfQuestion | curves.AutoRangeQuantilesQuestion
AutoRangeNumberQuestion = (
    curves.AutoRangeSumQuestion
    | curves.AutoRangeMeanQuestion
    | curves.AutoRangeVarianceQuestion
    | curves.AutoRangeSummaryQuestion
)


def synthesise_weights(question: WeightedQuestion, size: int) -> FloatArray:
    """Return simulated survey weights, (size,), evenly spread from a tenth to half of the question's public cap.

    No weight reaches the cap, so no simulated weight is clipped.

    Args:
        question: Question with a public cap of weights.
        size: Number of records.
    """
    # Multiples of the golden ratio, modulo 1, are spread evenly in any order of the records, so that weights do not
    # depend on values.
    golden_ratio = (sqrt(5) - 1) / 2
    positions = np.arange(size) * golden_ratio % 1
    return np.asarray(question.weight_cap * (0.1 + (0.5 - 0.1) * positions))


def weight_steps(question: WeightedQuestion, records: rehearsals.Columns) -> FloatArray:
    """Return the weight of each record as a whole number of steps, (records,), the unit in which weights are summed.

    Args:
        question: The question, with the name of the weight column and the public cap.
        records: Made-up records: arrays of equal length by column name. A missing (NaN) weight counts as 0.
    """
    weights = np.asarray(records[question.weight], dtype=np.float64)
    return np.maximum(Weights(question.weight, question.weight_cap).to_steps(weights), 0).astype(np.float64)


def _weight_share_below(question: WeightedCurveQuestion, edges: FloatArray, records: rehearsals.Columns) -> FloatArray:
    """Return the exact share of the total weight that lies below each edge, (edges,), without noise.

    Records without a value are left out. Values outside the grid are clipped into its first or last cell.

    Args:
        question: Names the columns of values and weights, and the grid.
        edges: Edges in units of the column, (edges,).
        records: Public or simulated records by column.
    """
    grid = question.grid
    values = np.asarray(records[question.column], dtype=np.float64)
    is_present = ~np.isnan(values)
    steps = weight_steps(question, records)
    values = np.clip(values[is_present], grid.lower, np.nextafter(grid.upper, -np.inf))
    steps = steps[is_present]
    order = np.argsort(values)
    below = np.append(0.0, np.cumsum(steps[order]))
    return np.asarray(below[np.searchsorted(values[order], edges)] / max(float(below[-1]), 1.0))


def _fill_weighted_columns(question: WeightedCurveQuestion, places: FloatArray) -> Table:
    """Return the column of values, at positions from 0 to 1 along the grid, and a column of made-up survey weights.

    Args:
        question: The question, with its grid and columns.
        places: Position of each record's value.
    """
    return {
        question.column: interpolate_grid(question.grid, places),
        question.weight: synthesise_weights(question, len(places)),
    }


def _weighted_error(
    question: WeightedCurveQuestion, result: curves.CDF | curves.Quantiles, records: rehearsals.Columns
) -> float:
    """Return the error of a weighted curve or of weighted quantiles, in shares of the total weight.

    Curve: the root mean square, over its edges, of (released - exact share below). Quantiles: the mean over the
    requested probabilities p of |exact share below the estimate - p|.

    Args:
        question: The question.
        result: Its simulated answer.
        records: Made-up records, by column.
    """
    if isinstance(result, curves.Quantiles):
        edges = np.unique(np.concatenate([result.cells.ravel(), result.x]))
        edges = edges[np.isfinite(edges)]
        below = _weight_share_below(question, edges, records)
        return float(np.mean(np.abs(np.interp(result.x, edges, below) - result.p)))
    return rehearsals.root_mean_square_error(result.y, _weight_share_below(question, result.x, records))


def largest_half_width(result: curves.CDF | curves.Quantiles, population: bool) -> float:
    """Return half the largest width of the band of a distribution function at level 0.95, in shares.

    Args:
        result: A distribution function; or quantiles, whose underlying distribution function is used.
        population: If True, the band covers the population's curve, else the curve of these records.
    """
    curve = result.curve if isinstance(result, curves.Quantiles) else result
    return float(rehearsals.band_half_widths(curve, population).max())


WEIGHTED = ForecastKind(
    distributions=VALUE_SAMPLERS,
    fill_columns=_fill_weighted_columns,
    measure_error=_weighted_error,
    error_label="share of the weight below an edge or a quantile",
    half_width=largest_half_width,
    interval_label="the band, at its widest",
    uninformative_width=quarter_of_shares,
)
"""How weighted distribution functions and quantiles are forecast."""


def _weighted_bins_error(
    question: curves.WeightedHistogramQuestion | curves.AutoRangeWeightedHistogramQuestion,
    result: curves.WeightedHistogram,
    records: rehearsals.Columns,
) -> float:
    """Return the root mean square over cells of (released - exact share of the total weight in the cell).

    Args:
        question: The question.
        result: Its simulated answer.
        records: Made-up records, by column.
    """
    values = np.asarray(records[question.column], dtype=np.float64)
    steps = weight_steps(question, records)
    is_present = ~np.isnan(values)
    values = values[is_present]
    steps = steps[is_present]
    if result.grid.outside is Outside.CLIPPED:
        values = np.clip(values, result.grid.lower, result.grid.upper)
    sums = np.histogram(values, result.x, weights=steps)[0]
    return rehearsals.root_mean_square_error(result.share, sums / max(float(steps.sum()), 1.0))


WEIGHTED_HISTOGRAM = WEIGHTED._replace(
    measure_error=_weighted_bins_error,
    error_label="share of the weight in a cell, root mean square",
    half_width=rehearsals.interval_half_width,
    interval_label="each cell, simultaneously",
)
"""How weighted histograms are forecast."""


def _fill_summed_columns(question: curves.WeightedSummaryQuestion, places: FloatArray) -> Table:
    """Return the column of values, at positions from 0 to 1 between the bounds, and a column of made-up survey
    weights.

    Args:
        question: The question, with its bounds and columns.
        places: Position of each record's value.
    """
    bounds = Grid(question.lower, question.upper, cells=1)
    return {
        question.column: interpolate_grid(bounds, places),
        question.weight: synthesise_weights(question, len(places)),
    }


def _weighted_number_error(
    question: curves.WeightedSummaryQuestion, result: curves.WeightedSummary, records: rehearsals.Columns
) -> float:
    """Return the absolute error of a weighted count, sum or mean, in the unit of the statistic.

    If the released number is unknown (NaN), half the width of its interval at level 0.95 is returned.

    Args:
        question: The question.
        result: Its simulated answer.
        records: Made-up records, by column.
    """
    values = np.asarray(records[question.column], dtype=np.float64)
    steps = weight_steps(question, records)
    is_present = ~np.isnan(values)
    values = np.clip(values[is_present], question.lower, question.upper)
    weights = steps[is_present] * result.weights.step
    total = float(weights.sum())
    exact = {"count": total, "sum": float((weights * values).sum()), "mean": float(np.average(values, weights=weights))}
    error = abs(result.value - exact[result.statistic])
    return rehearsals.number_half_width(result, False) if np.isnan(error) else error


def _uninformative_width(question: curves.WeightedSummaryQuestion, size: int) -> float:
    """Return a quarter of the possible range of a weighted number: an interval of this half width covers half of it.

    A mean has the range of the values. A count reaches from 0 to the largest total weight, which is the number of
    records times the cap; the range of a sum is the range of the values times this total.

    Args:
        question: The question; its statistic decides.
        size: Number of records.
    """
    value_range = float(question.upper - question.lower)
    largest_total = size * question.weight_cap
    return {"mean": value_range, "count": largest_total, "sum": value_range * largest_total}[question.statistic] / 4


WEIGHTED_NUMBER = ForecastKind(
    distributions=VALUE_SAMPLERS,
    fill_columns=_fill_summed_columns,
    measure_error=_weighted_number_error,
    error_label="the weighted number, mean error",
    half_width=rehearsals.number_half_width,
    interval_label="the number",
    uninformative_width=_uninformative_width,
    rehearsals=NUMBER_REHEARSALS,
    width_rehearsals=WIDTH_REHEARSALS,
)
"""How weighted counts, sums and means are forecast."""


# Questions without a declared range. Simulated values lie between 1 and 1000: three decades, so that the search for
# the range must find more than one power of ten.


DECILES = np.linspace(0.1, 0.9, 9)
"""Probabilities of the quantiles at which the error of a curve without declared edges is measured: 0.1 to 0.9."""
VALUE_RANGE = 999.0
"""Width of the range of simulated values, 1 to 1000, of questions that find a range privately: three powers of ten."""


def _fill_unbounded_column(
    question: AutoRangeCurveQuestion | curves.AutoRangeHistogramQuestion | AutoRangeNumberQuestion, places: FloatArray
) -> Table:
    """Return the column of values from 1 to 1000, for positions from 0 to 1.

    Args:
        question: Question with `column`.
        places: Positions, (records,).
    """
    return {question.column: 1 + VALUE_RANGE * places}


def _rank_error(
    question: AutoRangeCurveQuestion, result: curves.CDF | curves.Quantiles, records: rehearsals.Columns
) -> float:
    """Return the mean absolute rank error of the requested quantiles, or of the deciles of a curve, in shares.

    The rank error is the distance between the requested share and the interval of shares that the estimate occupies in
    the records: an interval because of ties. The error is 0 if the share lies inside.

    Args:
        question: Question with `column`.
        result: The answer.
        records: Columns of the records by name; NaN is no value.
    """
    values = np.asarray(records[question.column], dtype=np.float64)
    ordered = np.sort(values[~np.isnan(values)])
    shares = result.p if isinstance(result, curves.Quantiles) else DECILES
    estimates = result.x if isinstance(result, curves.Quantiles) else result.quantile(shares)
    lowest, highest = (np.searchsorted(ordered, estimates, side) / max(len(ordered), 1) for side in ("left", "right"))
    return float(np.mean(np.maximum(np.maximum(lowest - shares, shares - highest), 0)))


UNBOUNDED = ForecastKind(
    distributions=VALUE_SAMPLERS,
    fill_columns=_fill_unbounded_column,
    measure_error=_rank_error,
    error_label="share below a quantile, mean error",
    half_width=largest_half_width,
    interval_label="the band, at its widest",
    uninformative_width=quarter_of_shares,
)
"""How distribution functions and quantiles are forecast whose range is found privately."""


def _fill_unbounded_weighted_columns(question: AutoRangeWeightedQuestion, places: FloatArray) -> Table:
    """Return the column of values from 1 to 1000, for positions from 0 to 1, and a column of made-up survey weights.

    Args:
        question: The question, with its columns.
        places: Position of each record's value.
    """
    return {
        question.column: 1 + VALUE_RANGE * places,
        question.weight: synthesise_weights(question, len(places)),
    }


def _weighted_rank_error(
    question: AutoRangeWeightedQuestion, result: curves.CDF | curves.Quantiles, records: rehearsals.Columns
) -> float:
    """Return the mean absolute rank error of the requested quantiles, or of a curve's deciles, in shares of the weight.

    The rank error of an estimate is the distance between the requested share and the shares of the weight below the
    estimate, and at or below it.

    Args:
        question: Names the columns of values and weights.
        result: Forecast curve or quantiles.
        records: Public or simulated records by column.
    """
    values = np.asarray(records[question.column], dtype=np.float64)
    steps = weight_steps(question, records)
    order = np.argsort(values)
    below = np.append(0.0, np.cumsum(steps[order]))
    shares = result.p if isinstance(result, curves.Quantiles) else DECILES
    estimates = result.x if isinstance(result, curves.Quantiles) else result.quantile(shares)
    lowest, highest = (
        below[np.searchsorted(values[order], estimates, side)] / max(float(below[-1]), 1.0)
        for side in ("left", "right")
    )
    return float(np.mean(np.maximum(np.maximum(lowest - shares, shares - highest), 0)))


UNBOUNDED_WEIGHTED = UNBOUNDED._replace(
    fill_columns=_fill_unbounded_weighted_columns,
    measure_error=_weighted_rank_error,
    error_label="share of the weight below a quantile, mean error",
)
"""How weighted distribution functions and quantiles are forecast whose range is found privately."""


UNBOUNDED_WEIGHTED_HISTOGRAM = WEIGHTED_HISTOGRAM._replace(fill_columns=_fill_unbounded_weighted_columns)
"""How weighted histograms are forecast whose range is found privately."""
UNBOUNDED_WEIGHTED_NUMBER = WEIGHTED_NUMBER._replace(
    fill_columns=_fill_unbounded_weighted_columns,
    measure_error=lambda question, result, records: _weighted_number_error(
        question.with_bounds(1, 1 + VALUE_RANGE), result, records
    ),
    uninformative_width=lambda question, size: _uninformative_width(question.with_bounds(1, 1 + VALUE_RANGE), size),
)
"""How weighted counts, sums and means are forecast whose clipping bounds are found privately."""


UNBOUNDED_HISTOGRAM = ForecastKind(
    distributions=VALUE_SAMPLERS,
    fill_columns=_fill_unbounded_column,
    measure_error=lambda question, histogram, records: rehearsals.histogram_error(
        question.with_grid(histogram.grid), histogram, records
    ),
    error_label="records in a cell, root mean square",
    half_width=rehearsals.interval_half_width,
    interval_label="each cell, simultaneously",
    uninformative_width=lambda question, size: size / 4,
)
"""How histograms are forecast whose range is found privately."""


def _make_number_forecast(question_type: type[Any], uninformative_width: Callable[[Any, int], float]) -> ForecastKind:
    """Return the forecast kind of a question about one number (sum, mean, variance) of a column without a range.

    Args:
        question_type: The question class; its `BOUNDED_QUESTION.STATISTIC` names the statistic in the labels.
        uninformative_width: Function of a question and a number of records that returns the half width from which an
            interval is uninformative: a quarter of the possible range of the statistic, in its unit.
    """
    statistic = question_type.BOUNDED_QUESTION.STATISTIC
    return ForecastKind(
        distributions=VALUE_SAMPLERS,
        fill_columns=_fill_unbounded_column,
        measure_error=rehearsals.number_error,
        error_label=f"{statistic}, mean error",
        half_width=rehearsals.number_half_width,
        interval_label=f"the {statistic}",
        uninformative_width=uninformative_width,
        rehearsals=AREA_REHEARSALS,
        width_rehearsals=WIDTH_REHEARSALS,
    )


UNBOUNDED_SCORES = ForecastKind(
    distributions=CLASS_SAMPLERS,
    fill_columns=lambda question, sample: fill_class_columns(question.with_grid(HUNDREDTHS), sample),
    measure_error=rehearsals.scores_error,
    error_label=AREA_ERROR_LABEL,
    half_width=rehearsals.area_half_width,
    interval_label="the area",
    uninformative_width=quarter_of_shares,
    rehearsals=SLOW_REHEARSALS,
)
"""How scores are forecast whose range is found privately."""


PLAN_NOTES: Mapping[type[Any], Callable[..., tuple[str, ...]]] = MappingProxyType(
    {curves.CdfQuestion: describe_column_plan}
)
"""Functions that add lines to the plan of a question, such as better numbers of cells, by type of question."""
FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        curves.WeightedCdfQuestion: WEIGHTED,
        curves.WeightedHistogramQuestion: WEIGHTED_HISTOGRAM,
        curves.WeightedQuantilesQuestion: WEIGHTED,
        curves.WeightedSummaryQuestion: WEIGHTED_NUMBER,
        curves.AutoRangeCdfQuestion: UNBOUNDED,
        curves.AutoRangeQuantilesQuestion: UNBOUNDED,
        curves.AutoRangeWeightedCdfQuestion: UNBOUNDED_WEIGHTED,
        curves.AutoRangeWeightedHistogramQuestion: UNBOUNDED_WEIGHTED_HISTOGRAM,
        curves.AutoRangeWeightedQuantilesQuestion: UNBOUNDED_WEIGHTED,
        curves.AutoRangeWeightedSummaryQuestion: UNBOUNDED_WEIGHTED_NUMBER,
        curves.AutoRangeScoresQuestion: UNBOUNDED_SCORES,
        curves.AutoRangeHistogramQuestion: UNBOUNDED_HISTOGRAM,
        # The possible range of a variance goes from 0 to the square of half the range of the values.
        curves.AutoRangeSumQuestion: _make_number_forecast(
            curves.AutoRangeSumQuestion, lambda question, size: size * VALUE_RANGE / 4
        ),
        curves.AutoRangeMeanQuestion: _make_number_forecast(
            curves.AutoRangeMeanQuestion, lambda question, size: VALUE_RANGE / 4
        ),
        curves.AutoRangeVarianceQuestion: _make_number_forecast(
            curves.AutoRangeVarianceQuestion, lambda question, size: (VALUE_RANGE / 4) ** 2
        ),
        curves.AutoRangeSummaryQuestion: _make_number_forecast(
            curves.AutoRangeSummaryQuestion, lambda question, size: VALUE_RANGE / 4
        ),
    }
)
"""How the question types of this module are forecast; `expected_errors` looks types up here that it has not."""
