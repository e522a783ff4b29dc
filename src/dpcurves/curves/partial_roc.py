"""Partial area under a ROC curve (pAUC), and sensitivity at a given specificity, from released scores.

Often only a part of the ROC curve matters, such as false positive rates up to 10 %. Let R(f) be the true positive rate
at false positive rate f, linear between thresholds, and m = `max_fpr`. Then

    sensitivity_at_specificity      R(m)
    partial_auc                     (1 + (A - m**2 / 2) / (m - m**2 / 2)) / 2, with A the integral of R from 0 to m

The second is the standardised area of McClish 1989: 0.5 for random scores, 1 for perfect ones. Both functions take the
result of `dp.scores` and return a `MetricEstimate`, a value with `interval`; `add_roc_metrics` adds both to the tables
of the scores. Intervals are simulated from the noise of
the counts and, for the population, from sampling; they are widened by what the unknown order of scores inside cells may
change. Also called: `max_fpr` of scikit-learn's `roc_auc_score`, recall at a fixed false alarm rate.

Formal guarantees: no records are read and no budget is spent, because both numbers are functions of one release
(post-processing).

References: McClish 1989, *Analyzing a portion of the ROC curve*; Ma, Bandos, Rockette and Gur 2013.

>>> import dpcurves as dp
>>> labels, predicted = [0, 0, 1, 1] * 500, [0.1, 0.4, 0.35, 0.8] * 500
>>> scores = dp.scores(labels, predicted, grid=dp.Grid(0, 1, cells=16), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> round(dp.partial_auc(scores, max_fpr=0.5).value, 2)
0.67
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import InvalidArgument, check_common_arguments, convert_to_double, require_type
from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from ..display import format_number
from ..inference import end_level
from ..summaries import two_classes
from .class_table import (
    NEEDS_BOTH,
    ClassTable,
    ConfidenceSettings,
    Interval,
    MetricEstimator,
    ParametricMetric,
    estimate_metric,
    find_metric_interval,
)  # fmt: skip
from .pair_mean import compute_basic_interval
from .scores import Scores


def partial_auc(scores: Scores, max_fpr: float) -> MetricEstimate:
    """Return the standardised partial area under the ROC curve up to a false positive rate. Spends no budget.

    The area is ``sklearn.metrics.roc_auc_score(..., max_fpr=max_fpr)`` of the cells of the scores (McClish 1989).

    Args:
        scores: Released scores.
        max_fpr: The largest false positive rate, above 0 and at most 1.

    Returns:
        The area, between 0 and 1, with `interval`.

    Raises:
        TypeError: `scores` is something else.
        ValueError: `max_fpr` lies outside its range.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 900, [0.2, 0.8] * 900, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> partial_auc(found, 0.1).value > 0.9
    True
    """
    rate = convert_to_double(max_fpr)
    if rate is None or not 0 < rate <= 1:
        raise InvalidArgument("max_fpr", "must be a number above 0 and at most 1, as in 0.1")
    name = f"partial AUC, false positive rate up to {rate:.15g}"
    estimator = PartialArea(name, NEEDS_BOTH, needs_probabilities=False, max_fpr=rate)
    return _estimate(f"partial-auc-{rate:.15g}", scores, estimator)


def sensitivity_at_specificity(scores: Scores, specificity: float) -> MetricEstimate:
    """Return the sensitivity (true positive rate, recall) at a given specificity. Spends no budget.

    The ROC curve is interpolated between the thresholds at edges of cells, as R's ``pROC::coords`` does between scores.

    Args:
        scores: Released scores.
        specificity: One minus the false positive rate, at least 0 and below 1.

    Returns:
        The sensitivity, with `interval`, which accounts for the threshold that the counts choose.

    Raises:
        TypeError: `scores` is something else.
        ValueError: `specificity` lies outside its range.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 900, [0.2, 0.8] * 900, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> sensitivity_at_specificity(found, 0.95).value > 0.9
    True
    """
    fixed = convert_to_double(specificity)
    if fixed is None or not 0 <= fixed < 1:
        raise InvalidArgument("specificity", "must be a number of at least 0 and below 1, as in 0.95")
    name = f"sensitivity at a specificity of {fixed:.15g}"
    estimator = Sensitivity(name, NEEDS_BOTH, needs_probabilities=False, max_fpr=1 - fixed)
    return _estimate(f"sensitivity-at-specificity-{fixed:.15g}", scores, estimator)


def add_roc_metrics(scores: Scores, max_fprs: Sequence[float], specificities: Sequence[float]) -> Scores:
    """Return the scores with more metrics in their tables and plots: partial areas, and sensitivities. Spends no
    budget.

    Args:
        scores: Released scores.
        max_fprs: False positive rates of partial areas, see `partial_auc`.
        specificities: Specificities, see `sensitivity_at_specificity`.

    Raises:
        ValueError: a number lies outside its range.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 900, [0.2, 0.8] * 900, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> add_roc_metrics(found, [0.1], [0.95]).to_frame()["reading"].to_list()[-2:]
    ['partial-auc-0.1', 'sensitivity-at-specificity-0.95']
    """
    estimates = [partial_auc(scores, rate) for rate in max_fprs]
    estimates += [sensitivity_at_specificity(scores, fixed) for fixed in specificities]
    metrics = {estimate.metric.key: estimate.metric for estimate in estimates}  # a number that is repeated once
    return replace(scores, further_metrics=tuple(metrics.values()))


class RocPoints(NamedTuple):
    """Points of ROC curves from (0, 0) to (1, 1), as the threshold falls.

    Attributes:
        fpr: False positive rates, shape (..., slots + 1).
        tpr: True positive rates, shape (..., slots + 1).
    """

    fpr: FloatArray
    tpr: FloatArray

    @classmethod
    def from_cells(cls, cells: FloatArray) -> RocPoints:
        """Return the points of the ROC curves of noisy counts. Noise is not removed.

        Args:
            cells: Counts of negatives and of positives along increasing scores, (..., 2, slots): in each cell, and
                outside the grid if counted apart.
        """
        totals = np.maximum(cells.sum(axis=-1, keepdims=True), two_classes.LEAST_MASS)
        above = np.cumsum(cells[..., ::-1], axis=-1) / totals
        rates = np.concatenate([np.zeros((*above.shape[:-1], 1)), above], axis=-1)
        return cls(rates[..., 0, :], rates[..., 1, :])


@dataclass(frozen=True)
class BoundedFprEstimator(MetricEstimator):
    """Base class of metrics of the ROC curve up to a false positive rate.

    Attributes:
        max_fpr: The largest false positive rate, above 0 and at most 1.
    """

    max_fpr: float

    IS_SKEWED: ClassVar[bool] = False
    """True if errors by noise are skewed, so that intervals take the outer ends where noise dominates."""

    def interval(self, table: ClassTable, errors: FloatArray, settings: ConfidenceSettings) -> Interval:
        """Return the interval of the metric, from simulated noise and, for the population, sampling.

        Each end assumes the order of scores inside cells that is worst for it.

        Args:
            table: Released counts of both classes along increasing scores.
            errors: Simulated errors of the estimated counts of both classes, (draws, 2, slots), in each cell, and
                outside the grid if counted apart.
            settings: Level of the interval, and whether it is for the population.

        Returns:
            Lower and upper end.
        """
        likely, unbiased = table.counts.likely_counts, table.counts.unbiased_counts
        estimates = {
            order: [self.compute_in_order(table, cells, order) for cells in (unbiased, likely, likely + errors)]
            for order in (-1, 1)
        }
        # Noise and sampling miss a number at one end only, if its ends lie far apart without them.
        apart = float(estimates[1][1] - estimates[-1][1])
        deviation = min(float(np.std(moved)) for _, _, moved in estimates.values())
        level = 2 * end_level(apart / deviation, settings.level) - 1 if apart > 0 and deviation > 0 else settings.level
        is_skewed = self.IS_SKEWED and apart < deviation
        ends = [
            compute_basic_interval(float(estimate), moved - center, level, settings.population or is_skewed)
            for estimate, center, moved in estimates.values()
        ]
        return ends[0][0], ends[1][1]

    def discretization_error(self, table: ClassTable) -> Interval:
        """Return how far the metric with tied scores is above its value under the worst order inside cells, and below
        the best.

        Args:
            table: Released counts of both classes by score.

        Returns:
            Error below and error above, in units of the metric.
        """
        low, middle, high = (
            float(self.compute_in_order(table, table.counts.likely_counts, order)) for order in (-1, 0, 1)
        )
        return middle - low, high - middle

    def compute(self, table: ClassTable, cells: FloatArray) -> FloatArray:
        """Return the metric, shape (...), if all scores of a cell are tied.

        Args:
            table: Grid of the scores.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.
        """
        return self.compute_in_order(table, cells, 0)

    def compute_in_order(self, table: ClassTable, cells: FloatArray, order: int) -> FloatArray:
        """Return the metric for a given order of the scores inside cells. Scores of a declared value stay tied.

        Args:
            table: The grid, with its declared values if there are any.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.
            order: Negatives score higher in each cell (-1), scores are tied (0), or positives score higher (1).

        Returns:
            The metric, shape (...).

        Raises:
            NotImplementedError: the class does not override this method.
        """
        raise NotImplementedError


def _is_open(table: ClassTable) -> FloatArray:
    """Return a mask of the cells in which the order of scores is unknown: 1 for these, 0 for cells of one declared
    value.

    Even if most scores are multiples of a step (`ClassTable.lattice_counts`), a few may not be, so that every cell is
    open.

    Args:
        table: Released counts with their grid.

    Returns:
        An array of shape (slots,), from the highest score down.
    """
    if table.tied_cells is None or table.lattice_counts is not None:
        return np.ones(table.grid.slots)
    return (~table.tied_cells[::-1]).astype(np.float64)


class PartialArea(BoundedFprEstimator):
    """The partial area under the ROC curve, standardised (McClish 1989): 0.5 for random scores, 1 for perfect ones."""

    def compute_in_order(self, table: ClassTable, cells: FloatArray, order: int) -> FloatArray:
        """Return the standardised partial area, shape (...).

        For tied scores (order 0) it is the area of trapezoids, cut at `max_fpr`; otherwise the area of steps.

        Args:
            table: The grid, with its declared values if there are any.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.
            order: Negatives score higher in each cell (-1), scores are tied (0), or positives score higher (1).
        """
        roc = RocPoints.from_cells(cells)
        left, right = (np.minimum(part, self.max_fpr) for part in (roc.fpr[..., :-1], roc.fpr[..., 1:]))
        run = np.diff(roc.fpr, axis=-1)
        rise = np.diff(roc.tpr, axis=-1)
        slope = np.divide(rise, run, out=np.zeros_like(rise), where=run != 0)
        mean_height = roc.tpr[..., :-1] + slope * ((left + right) / 2 - roc.fpr[..., :-1])
        if order:
            stepped = roc.tpr[..., 1:] if order > 0 else roc.tpr[..., :-1]
            is_open = _is_open(table)
            mean_height = is_open * stepped + (1 - is_open) * mean_height
        area = ((right - left) * mean_height).sum(axis=-1)
        smallest = self.max_fpr**2 / 2
        return np.asarray((1 + (area - smallest) / (self.max_fpr - smallest)) / 2)


class Sensitivity(BoundedFprEstimator):
    """The true positive rate of the ROC curve at the false positive rate `max_fpr`."""

    IS_SKEWED = True

    def compute_in_order(self, table: ClassTable, cells: FloatArray, order: int) -> FloatArray:
        """Return the true positive rate at `max_fpr`, shape (...).

        For tied scores (order 0) it is interpolated along the segment of the curve that crosses this rate. Otherwise it
        is the lower (-1) or the upper (1) end of the segment.

        Args:
            table: The grid, with its declared values if there are any.
            cells: Counts of negatives and of positives, (..., 2, slots): in each cell, and outside the grid if counted
                apart.
            order: Negatives score higher in each cell (-1), scores are tied (0), or positives score higher (1).
        """
        roc = RocPoints.from_cells(cells)
        fpr = np.maximum.accumulate(roc.fpr, axis=-1)  # noise may make it fall
        segment = np.clip((fpr <= self.max_fpr).sum(axis=-1) - 1, 0, fpr.shape[-1] - 2)[..., None]
        left, right = (np.take_along_axis(fpr, segment + step, axis=-1)[..., 0] for step in (0, 1))
        low, high = (np.take_along_axis(roc.tpr, segment + step, axis=-1)[..., 0] for step in (0, 1))
        run = right - left
        position = np.divide(self.max_fpr - left, run, out=np.zeros_like(run), where=run > 0).clip(0.0, 1.0)
        if order:
            is_open = _is_open(table)[segment[..., 0]]
            position = np.where(is_open > 0, float(order > 0), position)
        return np.asarray(low + position * (high - low))


@dataclass(frozen=True, eq=False)
class MetricEstimate:
    """A metric of released scores, with its interval.

    Attributes:
        metric: The metric with its parameter.
        value: The estimate; NaN where it is not known.
        table: The released counts.
    """

    metric: ParametricMetric
    value: float
    table: ClassTable

    @property
    def name(self) -> str:
        """The name of the metric for readers."""
        return self.metric.value.title

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the scores."""
        return self.table.privacy

    @check_common_arguments
    def interval(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Return a confidence interval for the statistic of these records, or of the population, for any order inside
        cells.

        An interval for the population needs independent units of one record each.

        Args:
            level: Probability that the interval contains the statistic, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Lower and upper end.

        Raises:
            ValueError: `level` is not between 0 and 1; or for the population, units have several records.
        """
        return find_metric_interval(self.table, self.metric, level, population=population, generator=generator)

    def __str__(self) -> str:
        """Return the name of the statistic with its value."""
        return f"{self.name}: {format_number(self.value)}"


def _estimate(key: str, scores: Any, estimator: MetricEstimator) -> MetricEstimate:
    """Return a metric of released scores.

    Args:
        key: Name of the metric in tables of files.
        scores: Released scores.
        estimator: Computes the metric from counts.

    Raises:
        TypeError: `scores` is not a released result of scores.
    """
    require_type("scores", scores, Scores, "scores, as dp.scores gives them,")
    metric = ParametricMetric(key, estimator)
    return MetricEstimate(metric, estimate_metric(scores.table, metric), scores.table)
