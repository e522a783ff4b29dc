"""Metrics of a binary classifier from counts of both classes by score: ROC curve, AUC, precision, net benefit, Brier
score.

Functions take counts of shape (..., 2, cells), negatives first, in cells of increasing scores. Scores in one cell are
tied. With p_i positives and n_i negatives in cell i, scores s_i, and P and N records of the two classes,

    AUC                 sum_i p_i * (negatives below i + n_i / 2) / (P * N)
    Kolmogorov-Smirnov  max over inner edges of |F_negative - F_positive|
    average precision   sum_i p_i / P * precision at cell i
    net benefit         TP / n - FP / n * t / (1 - t)
    Brier score         sum_i (p_i * (1 - s_i)**2 + n_i * s_i**2) / (P + N)

Noisy counts may be negative. `isotonic_projection` returns the nearest non-decreasing curve (pool adjacent violators),
and `project_to_simplex` the nearest nonnegative numbers with a given sum.

Formal guarantees: functions of their arguments. For released counts they are post-processing and cost no budget.

References: Mann and Whitney 1947; Vickers and Elkin 2006; Brier 1950; Barlow, Bartholomew, Bremner and Brunk 1972.

>>> cells = np.array([[3.0, 1.0], [1.0, 3.0]])  # negatives and positives in two cells
>>> float(auc_of_counts(positive=cells[1], negative=cells[0])), float(largest_class_gap(cells))
(0.75, 0.5)
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import FloatArray


def as_numbers(name: str, given: ArrayLike) -> FloatArray:
    """Return a number or an array of numbers as an array of doubles.

    Args:
        name: Name of the caller's argument, for the message.
        given: Value of that argument.

    Raises:
        TypeError: `given` holds no numbers.

    >>> as_numbers("t", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise WrongArgumentType(
            name, f"a number or an array of numbers is needed, as in 0.5, got {describe_value(given)}"
        ) from None


def linear_value_at(x: FloatArray, y: FloatArray, t: ArrayLike) -> FloatArray:
    """Return the value of a cumulative curve at `t`: interpolated linearly inside cells, 0 below the first edge,
    ``y[-1]`` from the last edge.

    Args:
        x: Increasing edges.
        y: The curve at the edges.
        t: Positions; NaN gives NaN.

    >>> linear_value_at(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0]), [-1, 0.5, 9]).tolist()
    [0.0, 0.25, 1.0]
    """
    return np.asarray(np.interp(np.asarray(t, dtype=np.float64), x, y, left=0.0), dtype=np.float64)


def step_value_at(values: FloatArray, y: FloatArray, t: ArrayLike) -> FloatArray:
    """Return the value at `t` of a cumulative curve of declared values, which is a step function: its value at the
    largest declared value up to `t`, else 0.

    Args:
        values: Increasing declared values, (cells,).
        y: The curve below each value's cell, and at the end, (cells + 1,).
        t: Positions; NaN gives NaN.

    >>> step_value_at(np.array([1.0, 2.0]), np.array([0.0, 0.5, 1.0]), [0.9, 1, 1.9, 2]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    at = np.asarray(t, dtype=np.float64)
    steps = np.append(0.0, y[1:])
    return np.where(np.isnan(at), np.nan, steps[np.searchsorted(values, at, side="right")])


def inverse_at(x: FloatArray, y: FloatArray, p: ArrayLike) -> FloatArray:
    """Return the quantile of a cumulative curve: the smallest position where it reaches `p`, interpolated linearly
    inside cells.

    At flat stretches it is the left end; if the curve never reaches `p`, the last edge.

    `p` may have any shape, which the result has too.

    Args:
        x: Increasing edges.
        y: The curve at the edges, not decreasing.
        p: Levels in [0, 1].

    Raises:
        ValueError: a level is outside [0, 1].

    >>> inverse_at(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.5, 0.5, 1.0]), [0, 0.25, 0.5, 1]).tolist()
    [0.0, 0.5, 1.0, 3.0]
    """
    levels = np.asarray(p, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise InvalidArgument("p", "levels between 0 and 1 are needed, as in 0.25")
    right = np.clip(np.searchsorted(y, levels), 1, len(y) - 1)  # upper edge of the cell
    rise = y[right] - y[right - 1]
    share = np.divide(levels - y[right - 1], rise, out=np.ones_like(levels), where=rise > 0)
    inside = x[right - 1] + np.clip(share, 0, 1) * (x[right] - x[right - 1])
    return np.where(levels <= y[0], x[0], np.where(share >= 1, x[right], inside))


def project_to_simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest non-negative numbers, in least squares, that add up to `total`; of the shape of `values`.

    They are ``max(value - c, 0)`` with a common c (Held, Wolfe and Crowder 1974). If noise has made many values
    negative, c is above zero: truncation at 0 alone would leave too large a sum.

    Args:
        values: Numbers, such as noisy counts, of any shape.
        total: Required sum, above 0.

    Raises:
        ValueError: `total` is not above zero, or `values` is empty.

    >>> project_to_simplex(np.array([5.0, 1.0, -2.0]), 4.0).tolist()
    [4.0, 0.0, 0.0]
    """
    if not total > 0 or not values.size:
        raise InvalidArgument(
            "total", f"a number of records above 0 is needed, and at least one curve value, got {total}"
        )
    values = values - values.max()  # a shift changes nothing, and keeps the total exact beside huge values
    falling = np.sort(values, axis=None)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    cut = float(cuts[np.flatnonzero(falling > cuts)[-1]])
    projected: FloatArray = np.maximum(values - cut, 0.0)
    return projected * (total / float(projected.sum()))


def isotonic_projection(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the non-decreasing sequence that is nearest in least squares, by pooling adjacent violators.

    Its distance from a non-decreasing truth is at most the distance of `values`. For noise that is shared along a tree
    or a chain see `smoothing.isotonic_projection`.

    Args:
        values: Numbers with independent noise, shape (n,).
        weights: Weights of the squares, shape (n,); None: all are equal.

    >>> isotonic_projection(np.array([0.0, 3.0, 1.0, 4.0]))
    array([0., 2., 2., 4.])
    """
    if np.all(np.diff(values) >= 0):
        return np.array(values, dtype=np.float64)
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)


def counts_to_prefixes(cells: FloatArray) -> FloatArray:
    """Return cumulated counts at the edges of cells, from 0 on.

    Args:
        cells: Counts, shape (..., cells).

    Returns:
        Counts below each edge, shape (..., cells + 1).

    >>> counts_to_prefixes(np.array([[2.0, 0.0, 1.0]]))
    array([[0., 2., 2., 3.]])
    """
    prefixes = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1))
    np.cumsum(cells, axis=-1, out=prefixes[..., 1:])
    return prefixes


def monotone_prefixes(cells: FloatArray, upper: float | None) -> FloatArray:
    """Return cumulated counts of each row that start at 0 and do not decrease.

    Cumulated noisy counts are projected to the nearest non-decreasing sequence in least squares, then clipped to [0,
    `upper`].

    Args:
        cells: Noisy counts, shape (rows, cells).
        upper: Public maximum of the records in a row, or None.

    Returns:
        Counts below each edge, shape (rows, cells + 1).
    """
    prefixes = counts_to_prefixes(cells)
    for row in prefixes:
        row[1:] = isotonic_projection(row[1:])
    return np.clip(prefixes, 0, upper)


# ROC curves and their areas, from the counts of the classes in cells of scores.
#
# High scores are positive. Records in one cell are ties and count 1/2, so curves are joined by straight lines. A class
# with less than half a record, noise included, has no mass: its order is unknown, the curve is the diagonal, and the
# area is 1/2.


LEAST_MASS = 0.5
"""Records: a class with fewer, noise included, counts as empty and its statistics are unknown."""


def roc_points(positive: FloatArray, negative: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return false and true positive rates from (0, 0) to (1, 1) as the threshold decreases over the cells.

    Each class is cumulated from the highest cell down, made non-decreasing, clipped at 0, and divided by its last
    value.

    Args:
        positive: Noisy counts of one class, (cells,), by increasing score.
        negative: The counts of the other class.

    Returns:
        Two arrays (cells + 1,). Point i classifies the i highest cells as positive.

    >>> roc_points(np.array([0.0, 1.0, 3.0]), np.array([2.0, 0.0, 2.0]))
    (array([0. , 0.5, 0.5, 1. ]), array([0.  , 0.75, 1.  , 1.  ]))
    """
    true = monotone_counts_above(positive)
    false = monotone_counts_above(negative)
    if min(true[-1], false[-1]) < LEAST_MASS:
        diagonal = np.linspace(0, 1, len(true))
        return diagonal, diagonal.copy()
    return false / false[-1], true / true[-1]


def auc(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """Return the area under a curve by trapezoids, shape (...), from rates of shape (..., points).

    Args:
        fpr: False positive rates, nondecreasing along the last axis.
        tpr: True positive rates at the same thresholds.
    """
    return np.asarray(np.trapezoid(tpr, fpr, axis=-1))


def auc_of_counts(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the probability that a positive record scores above a negative one, plus half the probability of a tie.

    Computed from unbiased counts, which may be negative, without forming a curve or clipping.

    Args:
        positive: Counts of positives by increasing score, (..., cells).
        negative: Counts of negatives in the same cells, (..., cells).

    >>> float(auc_of_counts(np.array([0.0, 1.0, 3.0]), np.array([2.0, 0.0, 2.0])))
    0.6875
    """
    true = positive.sum(axis=-1)
    false = negative.sum(axis=-1)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = np.asarray(true * false)
    area = np.full(pairs.shape, 0.5)
    np.divide((positive * below).sum(axis=-1), pairs, out=area, where=np.minimum(true, false) >= LEAST_MASS)
    return area


def cumulate_from_top(cells: FloatArray) -> FloatArray:
    """Return sums over the highest cells, from none to all.

    Args:
        cells: Counts, shape (..., cells).

    Returns:
        Entry i is the sum over the i highest cells, shape (..., cells + 1).

    >>> cumulate_from_top(np.array([1.0, 2.0, 4.0])).tolist()
    [0.0, 4.0, 6.0, 7.0]
    """
    return counts_to_prefixes(cells[..., ::-1])


def monotone_counts_above(cells: FloatArray) -> FloatArray:
    """Return the nonnegative, non-decreasing counts of the highest cells, from none to all, shape (cells + 1,).

    The sums over the highest cells are projected by `isotonic_projection` and clipped at 0.

    Args:
        cells: Noisy counts in cells of increasing scores, shape (cells,).
    """
    cumulated = cumulate_from_top(cells)
    cumulated[1:] = isotonic_projection(cumulated[1:])
    return np.maximum(cumulated, 0)


AREA_STEPS = 2**20
"""Steps into which an area of 1 is divided, so that `AucQuery` releases an integer; its error by rounding is at most
half a step, 5e-7."""


def auc_of_steps(steps: int) -> float:
    """Convert a released area under the ROC curve, an integer in steps of ``2**-20``, to a number, clipped to [0, 1].

    Args:
        steps: Released integer.
    """
    return min(max(steps / AREA_STEPS, 0.0), 1.0)


def binormal_tpr(fpr: FloatArray, auc: float) -> FloatArray:
    """Return the true positive rates of a binormal ROC curve with a given area.

    The scores of both classes are normal with equal variances, ``sqrt(2) * ndtri(auc)`` standard deviations apart. With
    an area of 0 or 1 the curve follows the axes.

    Args:
        fpr: False positive rates, in [0, 1].
        auc: Area under the curve, in [0, 1].

    >>> binormal_tpr(np.array([0.0, 0.5, 1.0]), 0.76).round(2)
    array([0.  , 0.84, 1.  ])
    """
    if auc in (0.0, 1.0):
        return np.where(fpr > 0, 1.0, 0.0) if auc == 1.0 else np.where(fpr < 1, 0.0, 1.0)
    from scipy.special import ndtr, ndtri

    return np.asarray(ndtr(sqrt(2) * ndtri(auc) + ndtri(fpr)))


def compute_class_gaps(cells: FloatArray) -> FloatArray:
    """Return the distribution function of negatives minus that of positives at the inner edges, shape (..., cells - 1).

    Args:
        cells: Counts of negatives and positives, shape (..., 2, cells).

    >>> compute_class_gaps(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [0.5]
    """
    below = np.cumsum(cells, axis=-1)
    shares = below[..., :-1] / np.maximum(below[..., -1:], LEAST_MASS)
    return np.asarray(shares[..., 0, :] - shares[..., 1, :])


def largest_class_gap(cells: FloatArray) -> FloatArray:
    """Return the Kolmogorov-Smirnov statistic of two classes, shape (...): the largest absolute gap.

    Args:
        cells: Counts of negatives and positives, shape (..., 2, cells).

    >>> float(largest_class_gap(np.array([[3.0, 1.0], [1.0, 3.0]])))
    0.5
    """
    return np.asarray(np.abs(compute_class_gaps(cells)).max(axis=-1, initial=0.0))


def odds(threshold: FloatArray) -> FloatArray:
    """Return t / (1 - t): the number of true positives that a false positive costs at threshold t, in net benefit.

    Args:
        threshold: Probabilities below 1.

    >>> odds(np.array([0.2, 0.5])).tolist()
    [0.25, 1.0]
    """
    return np.asarray(threshold / (1 - threshold))


def net_benefit(true: FloatArray, false: FloatArray, size: float, threshold: FloatArray) -> FloatArray:
    """Return true positives minus weighted false positives, per record (Vickers and Elkin 2006).

    Acting at probability t implies that a false positive costs t / (1 - t) times the benefit of a true positive.

    Args:
        true: Positives with a score at or above the threshold.
        false: Negatives with a score at or above the threshold.
        size: The number of records.
        threshold: Probabilities above 0 and below 1.

    >>> net_benefit(np.array([30.0]), np.array([20.0]), 100, np.array([0.2])).tolist()
    [0.25]
    """
    return np.asarray((true - odds(threshold) * false) / max(size, 1.0))


def precision_and_recall(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return precision and recall as the threshold falls from above all scores, shape (cells + 1,) each.

    Precision is 1 if no record scores above the threshold, as in scikit-learn. Recall is NaN without positives.

    Args:
        cells: Nonnegative counts of negatives and positives by increasing score, shape (2, cells).

    >>> precision, recall = precision_and_recall(np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 2.0]]))
    >>> precision.tolist(), recall.round(2).tolist()
    ([1.0, 0.5, 0.6, 0.42857142857142855], [0.0, 0.67, 1.0, 1.0])
    """
    false, true = cumulate_from_top(cells)
    flagged = false + true
    precision = np.divide(true, flagged, out=np.ones_like(true), where=flagged > 0)
    recall = true / true[-1] if true[-1] >= LEAST_MASS else np.full_like(true, np.nan)
    return precision, recall


def average_precision(cells: FloatArray) -> FloatArray:
    """Return the mean precision at the scores of the positives, shape (...). Tied records share a threshold.

    Noisy counts may be negative; cumulated counts are clipped at 0, so that precision lies in [0, 1].

    Args:
        cells: Counts of negatives and positives by increasing score, shape (..., 2, cells).

    >>> round(float(average_precision(np.array([[2.0, 0.0, 2.0], [0.0, 1.0, 3.0]]))), 4)
    0.6167
    """
    false, true = np.moveaxis(np.maximum(cumulate_from_top(cells)[..., 1:], 0.0), -2, 0)
    precision = np.divide(true, false + true, out=np.zeros_like(true), where=false + true > 0)
    positive = cells[..., 1, ::-1]
    return np.asarray((positive * precision).sum(axis=-1) / np.maximum(positive.sum(axis=-1), LEAST_MASS))


def brier_score(cells: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the mean squared difference of labels, 1 or 0, and scores (Brier 1950): (..., 2, cells) to (...).

    Args:
        cells: Counts of negatives and positives.
        scores: A representative score of each cell, (cells,).

    >>> float(brier_score(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([0.25, 0.75])))
    0.1875
    """
    squares = cells[..., 0, :] @ scores**2 + cells[..., 1, :] @ (1 - scores) ** 2
    return np.asarray(squares / np.maximum(cells.sum(axis=(-2, -1)), LEAST_MASS))


def log_loss(cells: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the mean negative logarithm of the predicted probability of the observed label: (..., 2, cells) to (...).

    Scores are clipped, as in scikit-learn, to the distance of 1 from the next double, away from 0 and 1.

    Args:
        cells: Counts of negatives and positives.
        scores: A representative score of each cell, (cells,), between 0 and 1.

    >>> float(log_loss(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])) / np.log(2))
    1.0
    """
    certain = 2.0**-52  # the smallest distance from 0 and 1 in logarithms, as in scikit-learn
    probabilities = np.clip(scores, certain, 1 - certain)
    loss = -(cells[..., 0, :] @ np.log1p(-probabilities)) - cells[..., 1, :] @ np.log(probabilities)
    return np.asarray(loss / np.maximum(cells.sum(axis=(-2, -1)), LEAST_MASS))


def calibration_gaps(cells: FloatArray, scores: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return the calibration error of each group of cells, shape (..., groups).

    It is the number of positives minus the sum of scores, divided by the number of all records. The absolute values add
    up to the expected calibration error (Naeini, Cooper and Hauskrecht 2015).

    Args:
        cells: Counts of negatives and positives, shape (..., 2, cells).
        scores: Representative score of each cell, shape (cells,).
        starts: First cell of each group, shape (groups,).

    >>> calibration_gaps(np.array([[3.0, 1.0], [1.0, 3.0]]), np.array([0.5, 0.5]), np.array([0, 1])).tolist()
    [-0.125, 0.125]
    """
    surplus = cells[..., 1, :] * (1 - scores) - cells[..., 0, :] * scores
    groups = np.add.reduceat(surplus, starts, axis=-1)
    return np.asarray(groups / np.maximum(cells.sum(axis=(-2, -1)), LEAST_MASS)[..., None])


def even_groups(count: FloatArray, groups: int) -> NDArray[np.int64]:
    """Return the first cell of each of at most `groups` groups of neighbouring cells with about equal counts.

    Args:
        count: Noisy counts of records in cells, shape (cells,).
        groups: Largest number of groups.

    >>> even_groups(np.array([1.0, 1.0, 2.0, 4.0]), 2).tolist()
    [0, 3]
    """
    below = np.append(0.0, np.cumsum(np.maximum(count, 0.0)))
    if below[-1] < LEAST_MASS:
        below = np.arange(len(below), dtype=np.float64)
    targets = below[-1] * np.arange(1, groups) / groups
    nearest = np.abs(below[1:-1, None] - targets).argmin(axis=0) + 1 if len(below) > 2 else np.zeros(0, np.int64)
    return np.unique(np.append(0, nearest)).astype(np.int64)
