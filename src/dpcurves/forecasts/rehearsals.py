"""Monte Carlo simulation of private releases on public records, and the errors of the results: rehearsals.

A rehearsal is a simulated release on public or made-up records. All rounds of a question are run, that is each query,
its noise and the choice of the next query from the noisy answer, as a session with one trusted curator would run them
(`rehearse_answers`). Forecasts repeat rehearsals with new noise and average the errors below. For each type of result
one function measures the error against the exact records, and one the half width of the intervals at `LEVEL`:

    distribution function   root mean square over edges of (estimate - truth)      half the width of the band
    quantile                |share of records below the estimate - p|              half the width of the interval
    histogram               root mean square over cells, in records
    ROC curve, scores       |area - area of the records|                           half the width of its interval

In these functions `records` are columns of equal length by name, and `population` selects intervals for the population
(noise and sampling) instead of intervals for these records (noise alone). Functions named ``trace_...`` return the
points of a result for a picture.

Formal guarantees: none, and none are needed, because all records are public. No ledger is charged, so confidential
records must never be passed to this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import nan
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from warnings import catch_warnings

import numpy as np
from numpy.typing import ArrayLike

from .. import curves
from ..arrays import FloatArray
from ..conversation import Release, Step
from ..curves.result import CurveWarning
from ..data import Axis, Categories, Grid, Outside
from ..ledger import Allotment, QuestionBudget
from ..noise.randomness import InProcessMemory, Randomness
from ..privacy import EACH_RECORD, Neighbours, PrivacyLoss
from ..queries import Query, SubsetQuery
from ..records import Records, open_records
from ..session import ask_with_budget, plan_question
from ..trust import Central, Curator
from .many_cells import find_intervals, has_many_independent_cells

Curve = TypeVar("Curve")
Axes = Sequence[Axis | Categories]
PUBLIC_HASH_KEY = bytes(32)
"""Key of the hashes that divide or sample records. Zero bytes do, because made-up and public records need no secret."""


def rehearse_answers(
    question: curves.Question[Curve], table: Mapping[str, Any], loss: PrivacyLoss, neighbours: Neighbours, seed: int
) -> Iterator[Curve]:
    """Yield simulated results of a question about public records, without end, each with new noise.

    Plans, rounds, noise and estimates are the same as in a session with one curator. No ledger is charged, so never
    pass confidential records. Exact counts are cached, so that later answers are faster than the first. Warnings on the
    notes of results are silenced.

    Args:
        question: The question to simulate.
        table: Public records: arrays of equal length by column name.
        loss: Privacy loss of the whole question.
        neighbours: Add-remove; or replace-one, then the number of rows of `table` is the public number of records.
        seed: Seed of the noise: equal seeds give equal results.

    Raises:
        ValueError: a column is missing or has the wrong type.
        UnsupportedQuery: one curator cannot answer the question.
    """
    with catch_warnings(action="ignore", category=CurveWarning):
        opened = open_records(
            table, unit=EACH_RECORD, key=PUBLIC_HASH_KEY, keeps_failing_rows=neighbours.has_public_units
        )
        try:
            records = _cache_counts(opened)
            adjacency = neighbours.to_adjacency(EACH_RECORD, opened.units() if neighbours.has_public_units else None)
            trust = Central()
            randomness = Randomness.from_seed(seed)
            loss = loss.as_single_release()
            while True:
                budget = QuestionBudget.for_planning(loss)
                reply = _RehearsedReplies(records, trust, adjacency, randomness)
                yield ask_with_budget(question, adjacency, trust, budget, reply)
        finally:
            opened.close()


def count_confirming_subsets(question: curves.VerifyQuestion, table: Mapping[str, Any]) -> int:
    """Return the exact number of subsets of public records in which a claim about a regression coefficient holds.

    Records are divided into subsets as in `rehearse_answers`, so the number is the truth for its results.

    Args:
        question: The claim and the number of subsets.
        table: Public records: arrays of equal length by column name.
    """
    (plan,) = plan_question(question, PrivacyLoss.pure(1), Neighbours.ADD_REMOVE.to_adjacency(EACH_RECORD, None))
    records = open_records(table, unit=EACH_RECORD, key=PUBLIC_HASH_KEY)
    try:
        return records.count_confirming_subsets(cast("SubsetQuery", plan.query))
    finally:
        records.close()


class _RehearsedReplies:
    """Callable that answers the queries of one rehearsal, in place of a session's curator.

    A query may be part of a larger one that an earlier step paid for, such as one node of a noise tree. Then the noise
    of the earlier release is reused, as in a session.
    """

    def __init__(self, records: Records, trust: Central, adjacency: Any, randomness: Randomness) -> None:
        self._setting = records, trust, adjacency, randomness
        self._memories: dict[int, InProcessMemory] = {}
        self._paid: dict[int, Release] = {}

    def __call__(self, step: Step, allotment: Allotment) -> Release:
        query = step.query
        part = allotment.part
        if part not in self._paid:
            self._memories[part] = InProcessMemory()
            self._paid[part] = self._run(query.charged_query, allotment)
        return self._paid[part] if query == query.charged_query else self._run(query, allotment)

    def _run(self, query: Query, allotment: Allotment) -> Release:
        """Return the release of a query, counted from the public or simulated records with the planned noise.

        Args:
            query: The query.
            allotment: Its part of the loss; nothing is charged for it.
        """
        records, trust, adjacency, randomness = self._setting
        plan = trust.plan_query(query, allotment.loss, adjacency)
        return trust.run(plan, [Curator(records, self._memories[allotment.part])], allotment, randomness)


def _cache_counts(records: Records) -> Records:
    """Return an object with the counting methods of `records`, whose exact results are cached by their arguments.

    Most rehearsals of a question begin with the same counts, and only their noise differs.
    """
    cache = dict[Any, Any]()

    def look_up(name: str, *arguments: Any) -> Any:
        """Return the result of a counting method, counted at the first call with these arguments.

        Args:
            name: Name of the method.
            arguments: Arguments of the method; sequences are cached as tuples.

        Returns:
            What the method returned, which callers must not change.
        """
        key = name, *(tuple(argument) if isinstance(argument, Iterable) else argument for argument in arguments)
        if key not in cache:
            cache[key] = getattr(records, name)(*arguments)
        return cache[key]

    methods = ("check", "counts", "sums", "squares", "prefixes", "weighted_sums", "count_confirming_subsets", "units")
    return cast("Records", SimpleNamespace(**{name: partial(look_up, name) for name in methods}))


Columns = Mapping[str, Any]
Traced = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Four arrays of one shape for a picture: positions, heights, and lower and upper endpoints of the band or of the
intervals at `LEVEL`."""
Half = Callable[[Any, bool], float]
"""Function of a result and `population` that returns the half width of its intervals at `LEVEL`."""
LEVEL = 0.95
"""Confidence level of the intervals whose widths are forecast. A larger one forecasts wider intervals."""


def cdf_error(question: Any, curve: curves.CDF, records: Columns) -> float:
    """Return the root mean square over edges of (released - exact share of the records below the edge).

    Args:
        question: The question, with column and grid.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    below = _shares_below(_column_values(records, question.column), curve.x, question.grid)
    return root_mean_square_error(curve.y, below)


def quantiles_error(question: Any, curve: curves.Quantiles, records: Columns) -> float:
    """Return the mean over quantiles of |share of the records below the released value - requested share|.

    Args:
        question: The question, with column and grid.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    values = _column_values(records, question.column)
    edges = _surrounding_edges(curve.x, question.grid)
    below = _shares_below(values, edges, question.grid)
    return float(np.mean(np.abs(np.interp(curve.x, edges, below) - curve.p)))


def histogram_error(question: Any, curve: curves.Histogram, records: Columns) -> float:
    """Return the root mean square over cells of (released - exact count), in records; counts below 0 are set to 0.

    Args:
        question: The question, with column and grid.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    truth = np.diff(_count_below(_column_values(records, question.column), curve.x, question.grid))
    return root_mean_square_error(np.maximum(curve.unbiased_counts, 0.0), truth)


def bounds_error(question: curves.BoundsQuestion, bounds: curves.Bounds, records: Columns) -> float:
    """Return how many more records the released interval would have to cover to hold the requested share; at least 0.

    Records without a value are left out of the share.

    Args:
        question: The question, with its column.
        bounds: Its simulated answer.
        records: Simulated records, by column.
    """
    values = _column_values(records, question.column)
    values = values[~np.isnan(values)]
    covered = np.count_nonzero(np.abs(values) <= bounds.bound)
    return max(float(bounds.coverage * len(values)) - covered, 0.0)


def plane_bounds_error(question: Any, plane_bounds: curves.PlaneBounds, records: Columns) -> float:
    """Return the mean of `bounds_error` over both columns of a plane, in records.

    Args:
        question: The question, with both columns.
        plane_bounds: Its simulated answer.
        records: Simulated records, by column.
    """
    pairs = (question.x, plane_bounds.x), (question.y, plane_bounds.y)
    return float(np.mean([bounds_error(axis_question, axis_bounds, records) for axis_question, axis_bounds in pairs]))


def verification_error(question: curves.VerifyQuestion, verification: curves.Verification, exact: int) -> float:
    """Return the absolute error of the share of subsets that confirm the claim.

    Args:
        question: The question, with its number of subsets.
        verification: The released result.
        exact: Number of subsets that confirm the claim.
    """
    return abs(verification.share - exact / question.subsets)


def roc_error(question: Any, curve: curves.ROC | curves.SmoothAuc, records: Columns) -> float:
    """Return the absolute error of the released area under the ROC curve, against the exact area of the records. If
    the released area is not known (NaN), return half the width of its interval.

    Args:
        question: The question, with its columns and classes.
        curve: The released curve.
        records: The made-up records, by column.
    """
    score, positive = _scores_and_labels(question, records)
    if isinstance(curve, curves.ROC) and np.isnan(curve.auc):
        return mean_half_width(curve.auc_interval(LEVEL))
    return abs(curve.auc - _exact_area(score, positive))


def calibration_error(question: Any, curve: curves.Calibration, records: Columns) -> float:
    """Return the mean over groups of |released - exact share of positives|, weighted by the exact records of groups.

    Args:
        question: The question, with the columns of scores and labels.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    score, positive = _scores_and_labels(question, records)
    return _mean_error(curve.edges, score, positive.astype(np.float64), curve.prob_true)


def binned_residuals_error(question: Any, curve: curves.BinnedResiduals, records: Columns) -> float:
    """Return the mean over bins of |released - exact mean residual|, weighted by the exact records of the bins.

    A mean residual lies between -1 and 1; the error of an unknown one (NaN) is 1, half this range.

    Args:
        question: The question, with the columns of scores and labels.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    score, positive = _scores_and_labels(question, records)
    return _mean_error(curve.edges, score, positive - score, curve.residual, unknown=1.0)


def scores_error(question: Any, scores: curves.Scores, records: Columns) -> float:
    """Return the absolute error of the released area under the ROC curve, against the exact area of the records. If
    the released area is not known (NaN), return half the width of its interval.

    Args:
        question: The question, with its columns and classes.
        scores: The released scores.
        records: The made-up records, by column.
    """
    score, positive = _scores_and_labels(question, records)
    area = scores.value(curves.Metric.AUC)
    return area_half_width(scores, False) if np.isnan(area) else abs(area - _exact_area(score, positive))


def positives_error(question: Any, groups: curves.HosmerLemeshow, records: Columns) -> float:
    """Return the mean over groups of |released - exact number of positives|, in records.

    Args:
        question: The question, with its columns and classes.
        groups: The released groups.
        records: The made-up records, by column.
    """
    score, positive = _scores_and_labels(question, records)
    inside = (score >= groups.edges[0]) & (score <= groups.edges[-1])
    group = np.minimum(np.searchsorted(groups.edges, score[inside], side="right") - 1, len(groups.observed) - 1)
    truth = np.bincount(group, positive[inside], minlength=len(groups.observed))
    return float(np.mean(np.abs(groups.groups.group_counts.positive - truth)))


def number_error(question: Any, summary: curves.Summary, records: Columns) -> float:
    """Return the absolute error of a number of clipped values; half its interval if the number is unknown.

    Args:
        question: The question, with its column and, if any, its bounds.
        summary: The released number.
        records: The made-up records, by column.
    """
    values = _column_values(records, question.column)
    values = np.clip(values, getattr(question, "lower", None), getattr(question, "upper", None))
    values = values[~np.isnan(values)]
    exact = {"count": len(values), "sum": values.sum(), "mean": values.mean(), "variance": values.var(ddof=1)}
    error = abs(summary.value - float(exact[summary.statistic]))
    return number_half_width(replace(summary, tails=None), False) if np.isnan(error) else error


def table_error(question: Any, table: curves.Contingency, records: Columns) -> float:
    """Return the root mean square over pairs of categories of (released - exact count), in records.

    Args:
        question: The question, with both columns of categories.
        table: Its simulated answer.
        records: Simulated records, by column.
    """
    sides = (question.rows, question.columns)
    indices = [np.array([list(side.values).index(value) for value in records[side.column].tolist()]) for side in sides]
    truth = np.zeros((question.rows.slots, question.columns.slots))
    np.add.at(truth, tuple(indices), 1)
    return root_mean_square_error(np.maximum(table.unbiased_counts, 0.0), truth)


def bars_error(question: Any, chart: curves.BarChart, records: Columns) -> float:
    """Return the root mean square over the listed categories of (released - exact count), in records.

    The count of all other values together is left out.

    Args:
        question: The question, with its column of categories.
        chart: Its simulated answer.
        records: Simulated records, by column.
    """
    values = records[question.by.column]
    truth = np.array([np.count_nonzero(values == category) for category in question.by.values])
    return root_mean_square_error(np.maximum(chart.unbiased_counts, 0.0)[: len(truth)], truth)


def root_mean_square_error(estimates: FloatArray, truth: FloatArray) -> float:
    """Return the root of the mean squared difference between estimates and truth.

    Args:
        estimates: Estimates.
        truth: True numbers, of the same shape.
    """
    return float(np.sqrt(np.mean((estimates - truth) ** 2)))


def mean_half_width(ends: ArrayLike) -> float:
    """Return half the mean width of intervals (..., 2), lower and upper endpoint last.

    Args:
        ends: An interval or several.
    """
    return float(np.diff(ends, axis=-1).mean()) / 2


def number_half_width(summary: curves.Summary, population: bool) -> float:
    """Return half the width of the interval of level 0.95 (`LEVEL`) of the statistic that a simulated summary requests.

    Args:
        summary: The result of one simulation of the question.
        population: Whether the interval is for the population, not for these records.
    """
    return mean_half_width(summary.interval(LEVEL, population=population))


def area_half_width(scores: curves.Scores, population: bool) -> float:
    """Return half the width of the interval of level 0.95 (`LEVEL`) of the area under a simulated ROC curve.

    Args:
        scores: The result of one simulation of the question.
        population: Whether the interval is for the population, not for these records.
    """
    return mean_half_width(scores.interval(curves.Metric.AUC, LEVEL, population=population))


def interval_half_width(curve: Any, population: bool) -> float:
    """Return half the mean width of the intervals of level 0.95 (`LEVEL`) of all numbers of a simulated result.

    Args:
        curve: Result of one simulation, with a method `intervals`.
        population: Whether the intervals are for the population, not for these records.
    """
    return mean_half_width(curve.intervals(LEVEL, population=population))


def histogram_intervals(histogram: curves.Histogram, population: bool) -> FloatArray:
    """Return the simultaneous intervals of level 0.95 (`LEVEL`) of the counts of a histogram, (cells, 2), in records.

    Intervals of many cells are computed from tails of distributions (`forecasts.many_cells`), others are simulated.

    Args:
        histogram: The result.
        population: Whether the intervals are for the population, not for these records.
    """
    if has_many_independent_cells(histogram):
        return find_intervals(histogram, LEVEL, population)
    return histogram.intervals(LEVEL, population=population)


def histogram_half_width(histogram: curves.Histogram, population: bool) -> float:
    """Return half the mean width of the intervals of level 0.95 (`LEVEL`) of all counts, in records.

    Args:
        histogram: The result of one simulation of the question.
        population: Whether the intervals are for the population, not for these records.
    """
    return mean_half_width(histogram_intervals(histogram, population))


def quantiles_half_width(quantiles: curves.Quantiles, population: bool) -> float:
    """Return half the mean width of the quantiles' intervals, clipped to the grid, in units of the column.

    Args:
        quantiles: The result.
        population: Whether the intervals are for the population, not for these records.
    """
    x = quantiles.curve.x
    return mean_half_width(np.clip(quantiles.intervals(LEVEL, population=population), x[0], x[-1]))


def band_half_widths(curve: Any, population: bool) -> FloatArray:
    """Return half the width of the curve's band of level 0.95 (`LEVEL`) at each edge, (edges,).

    Args:
        curve: Result with a band.
        population: Whether the band is for the population, not for these records.

    Returns:
        Half widths, in units of the curve.
    """
    lower, upper = curve.band(LEVEL, population=population)
    return np.asarray(upper - lower) / 2


def missed_records(bounds: curves.Bounds, population: bool) -> float:
    """Return `bounds.alpha`, the number of records that the interval may cover too few; NaN if `population`.

    No bound is known for the share of a population that the interval misses.

    Args:
        bounds: The released interval.
    """
    return nan if population else bounds.alpha


def plane_error(question: Any, curve: curves.Histogram2D, records: Columns) -> float:
    """Return the mean over corners of cells of |released - exact share of the records below and left of the corner|.

    Args:
        question: The question, with columns and grids of both axes.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    x = _clip_to_grid(_column_values(records, question.x), question.x_grid)
    y = _clip_to_grid(_column_values(records, question.y), question.y_grid)
    truth, _, _ = np.histogram2d(x, y, bins=[curve.x_edges, curve.y_edges])
    return _mean_corner_error(curve.count / max(float(curve.count.sum()), 1.0), truth / len(x))


def residual_plot_error(question: Any, curve: curves.ResidualPlot, records: Columns) -> float:
    """Return the mean absolute error of the shares below and left of the corners of cells within the private bounds of
    the plot.

    Args:
        question: The question, with the columns of predictions and residuals.
        curve: Its simulated answer.
        records: Simulated records, by column.
    """
    predicted, residual = (_column_values(records, name) for name in (question.predicted, question.residual))
    truth, _, _ = np.histogram2d(predicted, residual, bins=[curve.x_edges, curve.y_edges])
    return _mean_corner_error(curve.density * (1 - curve.outside), truth / len(predicted))


def _column_values(records: Columns, column: str) -> FloatArray:
    """Return the values of a column of simulated records as doubles, one per record.

    Args:
        records: Columns of the records by name.
        column: Name of the column.
    """
    return np.asarray(records[column], dtype=np.float64)


def _scores_and_labels(question: Any, records: Columns) -> tuple[FloatArray, FloatArray]:
    """Return the scores, and 1 for positive and 0 for other labels, each (records,).

    Args:
        question: Question with the columns `score` and `label`, and the positive class.
        records: Columns of the records by name.
    """
    return _column_values(records, question.score), (np.asarray(records[question.label]) == question.pos_label).astype(
        float
    )


def _clip_to_grid(values: FloatArray, grid: Grid) -> FloatArray:
    """Return the values clipped to the grid, if the grid clips; unchanged otherwise.

    Args:
        values: Numbers in units of the column.
        grid: The grid.
    """
    return np.clip(values, grid.lower, grid.upper) if grid.outside is Outside.CLIPPED else values


def _surrounding_edges(values: FloatArray, grid: Grid) -> FloatArray:
    """Return the grid edges on both sides of each value, between which the exact distribution function is interpolated.

    Args:
        values: Numbers in units of the column; beyond the grid, its end cell counts.
        grid: The grid.

    Returns:
        Increasing edges, each once.
    """
    cell = np.unique(np.clip(grid.with_outside(Outside.CLIPPED).cell_of(values), 0, grid.cells - 1))
    return np.asarray(grid.edge(np.unique(np.concatenate([cell, cell + 1]))))


def _count_below(values: FloatArray, edges: FloatArray, grid: Grid) -> FloatArray:
    """Return the number of values below each edge; at the upper endpoint of the grid, of all values within it.

    Args:
        values: Values of the records, clipped here to the grid.
        edges: Edges, in the unit of the values.
        grid: Declared grid.

    Returns:
        Counts as floats, (edges,).
    """
    values = np.sort(_clip_to_grid(values, grid))
    return np.where(
        edges == grid.upper, np.searchsorted(values, edges, side="right"), np.searchsorted(values, edges)
    ).astype(np.float64)


def _shares_below(values: FloatArray, edges: FloatArray, grid: Grid) -> FloatArray:
    """Return the share of the values below each edge, (edges,).

    Args:
        values: Values of the records, clipped here to the grid.
        edges: Edges, in the unit of the values.
        grid: Declared grid.
    """
    return _count_below(values, edges, grid) / len(values)


def _exact_area(score: FloatArray, positive: FloatArray) -> float:
    """Return the exact area under the ROC curve by the rank-sum formula; 0.5 if a class is empty.

    Args:
        score: Scores, (records,).
        positive: 1 for a positive, 0 for a negative, (records,).
    """
    from scipy.stats import rankdata

    of_positive = float(positive.sum())
    pairs = of_positive * (len(score) - of_positive)
    won = float(rankdata(score) @ positive) - of_positive * (of_positive + 1) / 2
    return won / pairs if pairs else 0.5


def _mean_error(
    edges: FloatArray, score: FloatArray, value: FloatArray, estimates: FloatArray, *, unknown: float = nan
) -> float:
    """Return the mean absolute error of group means, weighted by records.

    Args:
        edges: Edges of the groups of scores, (groups + 1,).
        score: Score of each record, (records,).
        value: Value of each record, (records,).
        estimates: Estimated mean of each group; NaN if unknown.
        unknown: Error of an unknown mean.
    """
    within = (score >= edges[0]) & (score <= edges[-1])
    group = np.minimum(np.searchsorted(edges, score[within], side="right") - 1, len(estimates) - 1)
    count = np.bincount(group, minlength=len(estimates))
    summed = np.bincount(group, weights=value[within], minlength=len(estimates))
    truth = summed / np.maximum(count, 1)
    errors = np.where(np.isnan(estimates), unknown, np.abs(estimates - truth))
    return float(count @ errors / max(int(count.sum()), 1))


def _mean_corner_error(estimates: FloatArray, truth: FloatArray) -> float:
    """Return the mean absolute error of the sums below and left of the corners of cells.

    Args:
        estimates: Estimated counts or shares of cells, (columns, rows).
        truth: Exact counts or shares, of the same shape.
    """
    return float(np.mean(np.abs(np.cumsum(np.cumsum(estimates - truth, axis=0), axis=1))))


RATES = np.linspace(0, 1, 101)
"""False positive rates 0, 0.01, ..., 1, at which ROC curves of several simulated answers are averaged for a picture."""


def trace_band(curve: Any) -> Traced:
    """Return the points of a released curve with its band of level 0.95 (`LEVEL`), for the plot of a forecast.

    Args:
        curve: Released curve with `x`, `y` and a band.

    Returns:
        Edges, heights, lower and upper bounds, (edges,) each.
    """
    return (curve.x, curve.y, *curve.band(LEVEL))


def trace_histogram(curve: curves.Histogram) -> Traced:
    """Return counts at the middles of cells, with their intervals.

    Args:
        curve: The released histogram.

    Returns:
        Middles in units of the column; counts, lower and upper ends in records; all (cells,).
    """
    lower, upper = histogram_intervals(curve, False).T
    return (curve.x[:-1] + curve.x[1:]) / 2, curve.count, lower, upper


def trace_bars(chart: curves.BarChart) -> Traced:
    """Return the positions of the categories, from 1, with their counts and the bounds of their intervals.

    Args:
        chart: The released bar chart.

    Returns:
        Positions 1, 2, ...; counts, lower and upper ends in records; all (categories,).
    """
    lower, upper = chart.intervals(LEVEL).T
    return np.arange(1.0, len(lower) + 1), chart.count, lower, upper


def trace_calibration(curve: curves.Calibration) -> Traced:
    """Return shares of positives at mean scores, with their intervals.

    Args:
        curve: The released calibration curve.

    Returns:
        Mean scores; shares of positives, lower and upper ends, in [0, 1]; all (groups,).
    """
    lower, upper = curve.intervals(LEVEL).T
    return curve.prob_pred, curve.prob_true, lower, upper


def trace_roc(curve: curves.ROC) -> Traced:
    """Return points of a ROC curve with its band of level 0.95 (`LEVEL`), for the plot of a forecast.

    Args:
        curve: Released ROC curve.

    Returns:
        False positive rates (`RATES`); true positive rates; lower and upper bounds; all of one length.
    """
    edges, lower, upper = curve.band(LEVEL).steps()
    step = np.clip(np.searchsorted(edges, RATES, side="right") - 1, 0, len(lower) - 1)
    return RATES, np.interp(RATES, curve.fpr, curve.tpr), lower[step], upper[step]
