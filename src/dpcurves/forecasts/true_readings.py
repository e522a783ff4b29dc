"""How far a curve is from what its records say: the errors that forecasts tell. Of public records alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..curves import CDF, ROC, BinnedResiduals, Calibration, Histogram, Histogram2D, Quantiles, ResidualPlot
from ..data import Grid, Outside

Columns = Mapping[str, Any]


def of_cdf(question: Any, curve: CDF, records: Columns) -> float:
    """Root mean square over edges, in shares of the records."""
    below = _shares_below(_numbers(records, question.column), curve.x, question.grid)
    return float(np.sqrt(np.mean((curve.y - below) ** 2)))


def of_quantiles(question: Any, curve: Quantiles, records: Columns) -> float:
    """Mean absolute error in rank: the share of the records below a quantile, less the one asked for."""
    values = _numbers(records, question.column)
    edges = _edges_about(curve.x, question.grid)
    below = _shares_below(values, edges, question.grid)
    return float(np.mean(np.abs(np.interp(curve.x, edges, below) - curve.p)))


def of_histogram(question: Any, curve: Histogram, records: Columns) -> float:
    """Root mean square over cells, in records."""
    truth = np.diff(_below(_numbers(records, question.column), curve.x, question.grid))
    return float(np.sqrt(np.mean((curve.count - truth) ** 2)))


def of_roc(question: Any, curve: ROC, records: Columns) -> float:
    """Absolute error of the area under the curve, against the exact scores."""
    score, positive = _scores(question, records)
    return abs(curve.auc - _area(score, positive))


def of_calibration(question: Any, curve: Calibration, records: Columns) -> float:
    """Mean absolute error of the shares of positives, each group with the weight of its records."""
    score, positive = _scores(question, records)
    return _mean_error(curve.edges, score, positive.astype(np.float64), curve.prob_true)


def of_binned_residuals(question: Any, curve: BinnedResiduals, records: Columns) -> float:
    """Mean absolute error of the mean residuals, each bin with the weight of its records."""
    score, positive = _scores(question, records)
    return _mean_error(curve.edges, score, positive - score, curve.residual)


def of_plane(question: Any, curve: Histogram2D, records: Columns) -> float:
    """Mean absolute error of the shares below and left of the corners of cells."""
    across = _within(_numbers(records, question.x), question.x_grid)
    upwards = _within(_numbers(records, question.y), question.y_grid)
    truth, _, _ = np.histogram2d(across, upwards, bins=[curve.x_edges, curve.y_edges])
    return _mean_at_corners(curve.count / max(float(curve.count.sum()), 1.0), truth / len(across))


def of_residual_plot(question: Any, curve: ResidualPlot, records: Columns) -> float:
    """Mean absolute error of the shares below and left of the corners of cells, within the bounds that were found."""
    predicted, residual = (_numbers(records, name) for name in (question.predicted, question.residual))
    truth, _, _ = np.histogram2d(predicted, residual, bins=[curve.x_edges, curve.y_edges])
    return _mean_at_corners(curve.density * (1 - curve.outside), truth / len(predicted))


def _numbers(records: Columns, column: str) -> FloatArray:
    return np.asarray(records[column], dtype=np.float64)


def _scores(question: Any, records: Columns) -> tuple[FloatArray, FloatArray]:
    """Scores, and 1 for each positive."""
    return _numbers(records, question.score), (np.asarray(records[question.label]) == question.pos_label).astype(float)


def _within(values: FloatArray, grid: Grid) -> FloatArray:
    return np.clip(values, grid.lower, grid.upper) if grid.outside is Outside.CLAMPED else values


def _edges_about(values: FloatArray, grid: Grid) -> FloatArray:
    """Edges on both sides of each value: the truth is linear between them, as the curve is."""
    cell = np.unique(np.clip(grid.with_outside(Outside.CLAMPED).cell_of(values), 0, grid.cells - 1))
    return np.asarray(grid.edge(np.unique(np.concatenate([cell, cell + 1]))))


def _below(values: FloatArray, edges: FloatArray, grid: Grid) -> FloatArray:
    """How many values are below each edge: at the upper end of the grid all within it."""
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


def _mean_error(edges: FloatArray, score: FloatArray, value: FloatArray, said: FloatArray) -> float:
    """The mean of values in groups of scores beside what was said of it, weighted by records."""
    within = (score >= edges[0]) & (score <= edges[-1])
    group = np.minimum(np.searchsorted(edges, score[within], side="right") - 1, len(said) - 1)
    count = np.bincount(group, minlength=len(said))
    summed = np.bincount(group, weights=value[within], minlength=len(said))
    truth = summed / np.maximum(count, 1)
    return float(count @ np.abs(said - truth) / max(int(count.sum()), 1))


def _mean_at_corners(said: FloatArray, truth: FloatArray) -> float:
    return float(np.mean(np.abs(np.cumsum(np.cumsum(said - truth, axis=0), axis=1))))
