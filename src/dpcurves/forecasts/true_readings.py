"""Rehearsed answers about public records, and their errors against these records."""

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
from ..noise.randomness import FleetingMemory, Randomness
from ..privacy import EACH_RECORD, Neighbours, PrivacyLoss
from ..queries import Query, SubsetQuery
from ..records import Records, open_records
from ..session import pay_and_converse, rehearse
from ..trust import Central, Curator

Curve = TypeVar("Curve")
Axes = Sequence[Axis | Categories]
KEY = bytes(32)
"""The key of public records: nothing about them is secret."""


def answers(
    question: curves.Question[Curve], table: Mapping[str, Any], loss: PrivacyLoss, neighbours: Neighbours, seed: int
) -> Iterator[Curve]:
    """Answers to a question about public records, one after the other, each with noise of its own.

    Plans, turns, noise and estimates are those of a session with one curator. No ledger is kept, because nothing is
    protected, and what was counted once is not counted again. Never for confidential records: no charge is made.

    Raises:
        ValueError: as of `Session.ask`.
    """
    with catch_warnings(action="ignore", category=CurveWarning):
        opened = open_records(table, unit=EACH_RECORD, key=KEY)
        try:
            records = _counted_once(opened)
            adjacency = neighbours.among(EACH_RECORD, opened.units() if neighbours.knows_units else None)
            trust, randomness, loss = Central(), Randomness.from_seed(seed), loss.of_one_release()
            while True:
                budget = QuestionBudget.rehearsing(loss)
                reply = _Reply(records, trust, adjacency, randomness)
                yield pay_and_converse(question, adjacency, trust, budget, reply)
        finally:
            opened.close()


def confirmed(question: curves.VerifyQuestion, table: Mapping[str, Any]) -> int:
    """In how many subsets public records confirm a claim: the subsets are those of `answers`."""
    (plan,) = rehearse(question, PrivacyLoss.pure(1), Neighbours.ADD_REMOVE.among(EACH_RECORD, None))
    records = open_records(table, unit=EACH_RECORD, key=KEY)
    try:
        return records.confirmed(cast("SubsetQuery", plan.query))
    finally:
        records.close()


class _Reply:
    """A conversation's replies: a part is opened when it is paid for, and asked again under the same payment."""

    def __init__(self, records: Records, trust: Central, adjacency: Any, randomness: Randomness) -> None:
        self._of = records, trust, adjacency, randomness
        self._memories: dict[int, FleetingMemory] = {}
        self._paid: dict[int, Release] = {}

    def __call__(self, step: Step, allotment: Allotment) -> Release:
        query, part = step.query, allotment.part
        if part not in self._paid:
            self._memories[part] = FleetingMemory()
            self._paid[part] = self._run(query.paid_as, allotment)
        return self._paid[part] if query == query.paid_as else self._run(query, allotment)

    def _run(self, query: Query, allotment: Allotment) -> Release:
        records, trust, adjacency, randomness = self._of
        plan = trust.turn(query, allotment.loss, adjacency)
        return trust.run(plan, [Curator(records, self._memories[allotment.part])], allotment, randomness)


def _counted_once(records: Records) -> Records:
    """These public records, of which what was counted is kept: most answers begin with the same counts."""
    kept = dict[Any, Any]()

    def of(name: str, *asked: Any) -> Any:
        key = name, *(tuple(each) if isinstance(each, Iterable) else each for each in asked)
        if key not in kept:
            kept[key] = getattr(records, name)(*asked)
        return kept[key]

    counted = ("check", "counts", "sums", "squares", "prefixes", "weighed", "confirmed", "units")
    return cast("Records", SimpleNamespace(**{name: partial(of, name) for name in counted}))


Columns = Mapping[str, Any]
Traced = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Places of a curve, its heights, and the lower and upper ends of its band or intervals at `LEVEL`, of one shape."""
Half = Callable[[Any, bool], float]
"""Half width of an interval of a curve at `LEVEL`: for its records, or for the population."""
LEVEL = 0.95
"""The level of intervals that are printed."""


def of_cdf(question: Any, curve: curves.CDF, records: Columns) -> float:
    """Root mean square over edges, in shares of the records."""
    below = _shares_below(_numbers(records, question.column), curve.x, question.grid)
    return off(curve.y, below)


def of_quantiles(question: Any, curve: curves.Quantiles, records: Columns) -> float:
    """Mean absolute error in rank: the share of the records below a quantile, less the one asked for."""
    values = _numbers(records, question.column)
    edges = _edges_about(curve.x, question.grid)
    below = _shares_below(values, edges, question.grid)
    return float(np.mean(np.abs(np.interp(curve.x, edges, below) - curve.p)))


def of_histogram(question: Any, curve: curves.Histogram, records: Columns) -> float:
    """Root mean square over cells, in records."""
    truth = np.diff(_below(_numbers(records, question.column), curve.x, question.grid))
    return off(np.maximum(curve.unbiased, 0.0), truth)


def of_bounds(question: curves.BoundsQuestion, found: curves.Bounds, records: Columns) -> float:
    """By how many records the interval covers fewer than the share that was asked for; 0 where it covers enough."""
    values = _numbers(records, question.column)
    values = values[~np.isnan(values)]
    covered = np.count_nonzero(np.abs(values) <= found.bound)
    return max(float(found.coverage * len(values)) - covered, 0.0)


def of_plane_bounds(question: Any, found: curves.PlaneBounds, records: Columns) -> float:
    """The mean of both columns."""
    both = (question.across, found.across), (question.upwards, found.upwards)
    return float(np.mean([of_bounds(asked, each, records) for asked, each in both]))


def of_verification(question: curves.VerifyQuestion, found: curves.Verification, exact: int) -> float:
    """Absolute error of the share of these subsets that confirm the claim: the released count less its noise."""
    return abs(found.share - exact / question.subsets)


def of_roc(question: Any, curve: curves.ROC | curves.SmoothAuc, records: Columns) -> float:
    """Absolute error of the area under the curve, against the exact scores; of what is not known, half its interval."""
    score, positive = _scores(question, records)
    if isinstance(curve, curves.ROC) and np.isnan(curve.auc):
        return half(curve.auc_interval(LEVEL))
    return abs(curve.auc - _area(score, positive))


def of_calibration(question: Any, curve: curves.Calibration, records: Columns) -> float:
    """Mean absolute error of the shares of positives, each group with the weight of its records."""
    score, positive = _scores(question, records)
    return _mean_error(curve.edges, score, positive.astype(np.float64), curve.prob_true)


def of_binned_residuals(question: Any, curve: curves.BinnedResiduals, records: Columns) -> float:
    """Mean absolute error of the mean residuals, each bin with the weight of its records.

    A mean residual that is not known errs by half of all that it can be.
    """
    score, positive = _scores(question, records)
    return _mean_error(curve.edges, score, positive - score, curve.residual, unknown=1.0)


def of_scores(question: Any, scores: curves.Scores, records: Columns) -> float:
    """Absolute error of the area under the curve, against the exact scores; of what is not known, half its interval."""
    score, positive = _scores(question, records)
    area = scores.value(curves.Reading.AUC)
    return half_of_scores(scores, False) if np.isnan(area) else abs(area - _area(score, positive))


def of_positives(question: Any, groups: curves.HosmerLemeshow, records: Columns) -> float:
    """Mean absolute error of the positives of a group."""
    score, positive = _scores(question, records)
    inside = (score >= groups.edges[0]) & (score <= groups.edges[-1])
    place = np.minimum(np.searchsorted(groups.edges, score[inside], side="right") - 1, len(groups.observed) - 1)
    truth = np.bincount(place, positive[inside], minlength=len(groups.observed))
    return float(np.mean(np.abs(groups.groups.released.positive - truth)))


def of_number(question: Any, summary: curves.Summary, records: Columns) -> float:
    """Absolute error of the number, of values cut off at the bounds; of what is not known, half of their interval."""
    values = _numbers(records, question.column)
    values = np.clip(values, getattr(question, "lower", None), getattr(question, "upper", None))
    values = values[~np.isnan(values)]
    exact = {"count": len(values), "sum": values.sum(), "mean": values.mean(), "variance": values.var(ddof=1)}
    error = abs(summary.value - float(exact[summary.statistic]))
    return half_of_number(replace(summary, tails=None), False) if np.isnan(error) else error


def of_table(question: Any, table: curves.Contingency, records: Columns) -> float:
    """Root mean square over pairs of categories, in records."""
    sides = (question.rows, question.columns)
    places = [np.array([list(side.values).index(each) for each in records[side.column].tolist()]) for side in sides]
    truth = np.zeros((question.rows.slots, question.columns.slots))
    np.add.at(truth, tuple(places), 1)
    return off(np.maximum(table.unbiased, 0.0), truth)


def off(found: FloatArray, truth: FloatArray) -> float:
    """The root mean square of errors."""
    return float(np.sqrt(np.mean((found - truth) ** 2)))


def half(ends: ArrayLike) -> float:
    """Half of an interval, or of several on average."""
    return float(np.diff(ends, axis=-1).mean()) / 2


def half_of_number(summary: curves.Summary, population: bool) -> float:
    """Half of the interval of the number that was asked for."""
    return half(summary.interval(LEVEL, population=population))


def half_of_scores(scores: curves.Scores, population: bool) -> float:
    """Half of the interval of the area."""
    return half(scores.interval(curves.Reading.AUC, LEVEL, population=population))


def half_of_each(curve: Any, population: bool) -> float:
    """Half of the intervals on average."""
    return half(curve.intervals(LEVEL, population=population))


def half_of_quantiles(quantiles: curves.Quantiles, population: bool) -> float:
    """Half of the intervals on average, within the grid."""
    x = quantiles.curve.x
    return half(np.clip(quantiles.intervals(LEVEL, population=population), x[0], x[-1]))


def band_of(curve: Any, population: bool) -> FloatArray:
    """Half of the band at each edge."""
    lower, upper = curve.band(LEVEL, population=population)
    return np.asarray(upper - lower) / 2


def missed(found: curves.Bounds, population: bool) -> float:
    """The number of records that the interval may miss; nothing is said of a population."""
    return nan if population else found.alpha


def of_plane(question: Any, curve: curves.Histogram2D, records: Columns) -> float:
    """Mean absolute error of the shares below and left of the corners of cells."""
    across = _within(_numbers(records, question.x), question.x_grid)
    upwards = _within(_numbers(records, question.y), question.y_grid)
    truth, _, _ = np.histogram2d(across, upwards, bins=[curve.x_edges, curve.y_edges])
    return _mean_at_corners(curve.count / max(float(curve.count.sum()), 1.0), truth / len(across))


def of_residual_plot(question: Any, curve: curves.ResidualPlot, records: Columns) -> float:
    """Mean absolute error of the shares below and left of the corners of cells, within the bounds that were found."""
    predicted, residual = (_numbers(records, name) for name in (question.predicted, question.residual))
    truth, _, _ = np.histogram2d(predicted, residual, bins=[curve.x_edges, curve.y_edges])
    return _mean_at_corners(curve.density * (1 - curve.outside), truth / len(predicted))


def _numbers(records: Columns, column: str) -> FloatArray:
    return np.asarray(records[column], dtype=np.float64)


def _scores(question: Any, records: Columns) -> tuple[FloatArray, FloatArray]:
    return _numbers(records, question.score), (np.asarray(records[question.label]) == question.pos_label).astype(float)


def _within(values: FloatArray, grid: Grid) -> FloatArray:
    return np.clip(values, grid.lower, grid.upper) if grid.outside is Outside.CLAMPED else values


def _edges_about(values: FloatArray, grid: Grid) -> FloatArray:
    """Edges on both sides of each value: the truth is linear between them, as the curve is."""
    cell = np.unique(np.clip(grid.with_outside(Outside.CLAMPED).cell_of(values), 0, grid.cells - 1))
    return np.asarray(grid.edge(np.unique(np.concatenate([cell, cell + 1]))))


def _below(values: FloatArray, edges: FloatArray, grid: Grid) -> FloatArray:
    """The number of values below each edge: at the upper end of the grid all within it."""
    values = np.sort(_within(values, grid))
    return np.where(
        edges == grid.upper, np.searchsorted(values, edges, side="right"), np.searchsorted(values, edges)
    ).astype(np.float64)


def _shares_below(values: FloatArray, edges: FloatArray, grid: Grid) -> FloatArray:
    return _below(values, edges, grid) / len(values)


def _area(score: FloatArray, positive: FloatArray) -> float:
    """By the ranks of positives; a half where there is but one class."""
    from scipy.stats import rankdata

    of_positive = float(positive.sum())
    pairs = of_positive * (len(score) - of_positive)
    won = float(rankdata(score) @ positive) - of_positive * (of_positive + 1) / 2
    return won / pairs if pairs else 0.5


def _mean_error(
    edges: FloatArray, score: FloatArray, value: FloatArray, said: FloatArray, *, unknown: float = nan
) -> float:
    """The mean of values in groups of scores beside what was said of it, weighted by records.

    Args:
        edges: Where the groups lie, (groups + 1,).
        score, value: Those of the records.
        said: The mean of each group; NaN where it is not known.
        unknown: The error of what is not known.
    """
    within = (score >= edges[0]) & (score <= edges[-1])
    group = np.minimum(np.searchsorted(edges, score[within], side="right") - 1, len(said) - 1)
    count = np.bincount(group, minlength=len(said))
    summed = np.bincount(group, weights=value[within], minlength=len(said))
    truth = summed / np.maximum(count, 1)
    errors = np.where(np.isnan(said), unknown, np.abs(said - truth))
    return float(count @ errors / max(int(count.sum()), 1))


def _mean_at_corners(said: FloatArray, truth: FloatArray) -> float:
    return float(np.mean(np.abs(np.cumsum(np.cumsum(said - truth, axis=0), axis=1))))


RATES = np.linspace(0, 1, 101)
"""False positive rates at which ROC curves are read, to be averaged."""


def traced_band(curve: Any) -> Traced:
    """A curve along its grid, in its band."""
    return (curve.x, curve.y, *curve.band(LEVEL))


def traced_histogram(curve: curves.Histogram) -> Traced:
    """Counts at the middles of cells, in their intervals."""
    lower, upper = curve.intervals(LEVEL).T
    return (curve.x[:-1] + curve.x[1:]) / 2, curve.count, lower, upper


def traced_calibration(curve: curves.Calibration) -> Traced:
    """Shares of positives at mean scores, in their intervals."""
    lower, upper = curve.intervals(LEVEL).T
    return curve.prob_pred, curve.prob_true, lower, upper


def traced_roc(curve: curves.ROC) -> Traced:
    """A ROC curve at even rates, in its band."""
    edges, lower, upper = curve.band(LEVEL).steps()
    step = np.clip(np.searchsorted(edges, RATES, side="right") - 1, 0, len(lower) - 1)
    return RATES, np.interp(RATES, curve.fpr, curve.tpr), lower[step], upper[step]
