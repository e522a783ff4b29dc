"""SENSITIVE. Regressions in disjoint subsets: each a function of the records of its own subset, in no order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..data.axis import Axis, Categories
from ..queries.subsets import SubsetQuery

STEPS = 25
"""Newton steps of a logistic regression: always so many, whatever the records are."""
SINGULAR = 1e-9
"""A part of what records can add to a pivot: below it there is no fit. Columns are scaled to [-1, 1] before."""
SETTLED = 1e-6
"""A part of what records can add to the gradient: above it a fit did not converge."""
LARGEST_LOGIT = 40.0
LONGEST_STEP = 4.0


def confirmed(query: SubsetQuery, columns: Sequence[FloatArray], subset: FloatArray) -> int:
    """In how many subsets the fit exists and the coefficient lies between the bounds.

    Formal guarantees: what one subset says depends on the multiset of its records alone. They are sorted by all that
    they hold before anything is added, and every sum is a loop of its own, in that order: no result depends on
    where records stand, nor on other subsets. Nothing fails: a fit that is singular, or does not converge, or has no
    more records than coefficients, confirms nothing.

    Args:
        query: What is asked.
        columns: A column for each axis, as numbers or places of categories; NaN: missing. Such a record is left out.
        subset: The subset of each record.
    """
    whole = ~np.any([np.isnan(column) for column in columns], axis=0)
    parts = [_scaled(axis, column[whole]) for axis, column in zip(query.axes, columns, strict=True)]
    outcome, design = parts[0][:, -1], np.concatenate([np.ones((int(whole.sum()), 1)), *parts[1:]], axis=1)
    order = np.lexsort((*design.T, outcome, subset[whole]))
    starts = np.searchsorted(subset[whole][order], np.arange(query.subsets + 1))
    found, exists = _fitted(design[order], outcome[order], starts, isinstance(query.outcome, Categories))
    low, high = _bounds(query)
    own = found[:, 1 + query.coefficient]
    return int(np.count_nonzero(exists & (low < own) & (own < high)))


def _scaled(axis: Axis | Categories, values: FloatArray) -> FloatArray:
    """Numbers from -1 to 1 in their declared range; for each category but the first, 1 where it is."""
    if isinstance(axis, Categories):
        return np.asarray(values[:, None] == np.arange(1, axis.slots), dtype=np.float64)
    middle, half = _range(axis)
    clipped = np.clip(values, axis.grid.lower, axis.grid.upper)
    return np.asarray((clipped - middle) / half + 0.0)[:, None]  # a zero has one sign, so that equal rows are the same


def _range(axis: Axis) -> tuple[float, float]:
    return axis.grid.lower / 2 + axis.grid.upper / 2, axis.grid.upper / 2 - axis.grid.lower / 2


def _bounds(query: SubsetQuery) -> tuple[float, float]:
    """The bounds of the coefficient of scaled columns."""
    own = [axis for axis in query.axes[1:] for _ in range(1 if isinstance(axis, Axis) else axis.slots - 1)]
    axis, outcome = own[query.coefficient], query.outcome
    scale = (_range(axis)[1] if isinstance(axis, Axis) else 1.0) / (
        _range(outcome)[1] if isinstance(outcome, Axis) else 1.0
    )
    return query.above * scale, query.below * scale


def _fitted(design: FloatArray, outcome: FloatArray, starts: IntArray, logistic: bool) -> tuple[FloatArray, BoolArray]:
    """Coefficients of each subset, and whether its fit exists. Least squares take one step, from 0."""
    width = design.shape[1]
    found = np.zeros((len(starts) - 1, width))
    sizes = np.diff(starts)
    exists = sizes > width
    for _ in range(STEPS if logistic else 1):
        gradient, curvature = _sums(design, outcome, starts, found, logistic)
        step, solved = _solved(curvature, gradient, sizes)
        exists = exists & solved
        if logistic:
            step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        found = found + step
    gradient, _ = _sums(design, outcome, starts, found, logistic)
    settled = (np.abs(gradient) <= SETTLED * (1 + sizes[:, None])).all(axis=1)
    return found, exists & settled & np.isfinite(found).all(axis=1)


@compiled
def _sums(
    design: FloatArray, outcome: FloatArray, starts: IntArray, found: FloatArray, logistic: bool
) -> tuple[FloatArray, FloatArray]:
    """Gradient and curvature of each subset, record by record."""
    width = design.shape[1]
    gradient, curvature = np.zeros((len(starts) - 1, width)), np.zeros((len(starts) - 1, width, width))
    for subset in range(len(starts) - 1):
        for record in range(starts[subset], starts[subset + 1]):
            predicted, weight = 0.0, 1.0
            for column in range(width):
                predicted += design[record, column] * found[subset, column]
            if logistic:
                predicted = 1 / (1 + np.exp(-min(max(predicted, -LARGEST_LOGIT), LARGEST_LOGIT)))
                weight = predicted * (1 - predicted)
            for column in range(width):
                gradient[subset, column] += design[record, column] * (outcome[record] - predicted)
                for other in range(column + 1):
                    curvature[subset, column, other] += weight * design[record, column] * design[record, other]
    return gradient, curvature


@compiled
def _solved(curvature: FloatArray, gradient: FloatArray, sizes: IntArray) -> tuple[FloatArray, BoolArray]:
    """The step of each subset by its Cholesky factor, in place; a pivot too small for one ends in no fit."""
    step, solved = gradient.copy(), np.ones(len(sizes), dtype=np.bool_)
    for subset in range(len(sizes)):
        factor, width = curvature[subset], gradient.shape[1]
        for row in range(width):
            for column in range(row + 1):
                total = factor[row, column]
                for inner in range(column):
                    total -= factor[row, inner] * factor[column, inner]
                if row > column:
                    factor[row, column] = total / factor[column, column]
                elif total > SINGULAR * (1 + sizes[subset]):
                    factor[row, row] = np.sqrt(total)
                else:
                    factor[row, row], solved[subset] = 1.0, False
        for row in range(width):
            for inner in range(row):
                step[subset, row] -= factor[row, inner] * step[subset, inner]
            step[subset, row] /= factor[row, row]
        for row in range(width - 1, -1, -1):
            for inner in range(row + 1, width):
                step[subset, row] -= factor[inner, row] * step[subset, inner]
            step[subset, row] /= factor[row, row]
    return step, solved
