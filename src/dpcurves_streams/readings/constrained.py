"""Consistency of noisy running totals: projection on integers that never decrease and that add up along a hierarchy.

Noisy totals of a stream may fall, and totals of parts may not add up to the total of the whole. The exact totals never
do that. `MonotoneTotals` and `fit_window` turn unbiased noisy numbers into consistent ones to show. Here "slack" is an
allowance for noise, which is subtracted from a noisy total before a shown total is raised.

    shown total of a root     max(shown before, round(noisy total - slack))
    increases of children     integers from 0 that add up to the increase of the parent, nearest to the noisy increases
    sums over a window        integers from 0 to the totals, nearest to the noisy sums, from the root down

Without the slack, the shown total would follow the largest noise so far where few tuples come. The slack vanishes where
totals grow faster than their noise (`Tuning`). "Nearest" is by least squares (`allocate_integers`), a projection onto a
simplex.

Formal guarantees: all results are deterministic functions of released numbers, and see no tuple. Such post-processing
loses no further privacy.

>>> totals = MonotoneTotals([-1, 0, 0])  # a root with two children
>>> noisy = np.array([10.2, 7.1, 3.4]), np.array([9.0, 6.0, 3.0])
>>> [totals.estimate_next(step, np.zeros(3)).tolist() for step in noisy]  # noise of variance 0: no slack
[[10.0, 7.0, 3.0], [10.0, 7.0, 3.0]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcurves.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Tuning:
    """How far a noisy total must exceed the last shown total before the shown total follows it (the slack)."""

    largest_slack: float = 2.5
    """Largest slack, in standard deviations of the noise: for nodes with almost no tuples, where the maximum of all
    noise would be shown otherwise.
    """
    slack_at_one: float = 1 / 8
    """Slack, in standard deviations of the noise, of a total that grows by one standard deviation per step; for another
    pace it is divided by the square root of the pace.
    """
    negligible: float = 1.0
    """Standard deviation of the noise, in tuples, below which there is no slack, so that exact totals are shown as they
    are.
    """


TUNING = Tuning()
"""The values that estimates use unless a caller passes others."""


class MonotoneTotals:
    """Running totals of all nodes of a tree: integers from 0 that never decrease and add up.

    The total of a root follows the noisy total minus a slack, or stays. The increase of a node's total is distributed
    to its children by least squares of their noisy totals, so that none decreases.
    """

    __slots__ = ("_children", "_roots", "_shown", "_time_step", "_tuning")

    def __init__(self, parents: Sequence[int], tuning: Tuning = TUNING) -> None:
        """Begin running totals of a tree at 0, before the first step.

        Args:
            parents: Parent of each node, which comes before the node; -1 for roots.
            tuning: Sizes of the slack.
        """
        self._children = _list_children(parents)
        self._roots = np.flatnonzero(np.array(parents) < 0)
        self._tuning = tuning
        self._shown = np.zeros(len(parents))
        self._time_step = 0

    def estimate_next(self, totals: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return running totals to show after the next step: integers that add up along the tree and never fall.

        Args:
            totals: Unbiased noisy totals of the step, (nodes,); steps are passed in order.
            deviations: Standard deviations of their noise, (nodes,).

        Returns:
            Integers, (nodes,), each at least the node's integer of the step before.
        """
        self._time_step += 1
        shown = self._shown
        rise = np.zeros(len(self._shown))
        noisy = totals[self._roots]
        deviation = deviations[self._roots]
        followed = np.rint(noisy - self._slack(noisy, deviation))
        rise[self._roots] = np.maximum(followed - shown[self._roots], 0.0)
        for node, children in self._children:
            rise[children] = allocate_integers(rise[node], totals[children] - shown[children], None)
        self._shown = shown + rise
        return self._shown.copy()

    def _slack(self, totals: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return the margin by which a root's noisy total must exceed its shown total before the shown total rises.

        A shown total never falls, so it must not follow noise.

        Args:
            totals: Noisy totals of the roots, (roots,).
            deviations: Standard deviations of their noise, (roots,).

        Returns:
            The slack in tuples, (roots,).
        """
        tuning = self._tuning
        lower_bounds = np.maximum(totals - tuning.largest_slack * deviations, 0.0)
        # noise standard deviations per step
        pace = lower_bounds / (self._time_step * np.maximum(deviations, tuning.negligible))
        with np.errstate(divide="ignore"):
            factor = np.minimum(tuning.slack_at_one / np.sqrt(pace), tuning.largest_slack)
        slack: FloatArray = factor * np.maximum(deviations - tuning.negligible, 0.0)
        return slack


def fit_window(parents: Sequence[int], sums: FloatArray, upper_bounds: FloatArray) -> FloatArray:
    """Return integer sums over a window that add up along a tree, near to noisy sums by least squares, roots first.

    Args:
        parents: Parent of each node, which comes before the node; -1 for roots.
        sums: Unbiased noisy sums, (nodes,).
        upper_bounds: Integers that add up, (nodes,): the totals so far, or the sums over a longer window.

    Returns:
        Integers from 0 to `upper_bounds`, (nodes,); integers of children add up to their parent's integer.
    """
    fitted = np.zeros(len(upper_bounds))
    roots = np.flatnonzero(np.array(parents) < 0)
    fitted[roots] = np.clip(np.rint(sums[roots]), 0.0, upper_bounds[roots])
    for node, children in _list_children(parents):
        fitted[children] = allocate_integers(fitted[node], sums[children], upper_bounds[children])
    return fitted


def allocate_integers(total: float, targets: FloatArray, upper_bounds: FloatArray | None) -> FloatArray:
    """Return nonnegative integers that add up to `total` and are near to `targets` by least squares.

    The real numbers that are nearest are found by bisection, then rounded so that the sum is kept.

    Args:
        total: A whole number, at least 0 and at most the sum of the upper bounds.
        targets: Real numbers, which may be negative, (n,).
        upper_bounds: Largest value of each integer, (n,); None: `total`.

    Returns:
        The integers as floats, (n,).

    >>> allocate_integers(5, np.array([4.0, 3.0, -9.0]), None).tolist()
    [3.0, 2.0, 0.0]
    """
    upper = np.full(len(targets), float(total)) if upper_bounds is None else np.minimum(upper_bounds, float(total))
    # at `low` all shares are at their bound, at `high` all are 0
    low = float((targets - upper).min())
    high = float(targets.max())
    for _ in range(64):  # bisection to the last bit
        middle = (low + high) / 2
        if np.clip(targets - middle, 0.0, upper).sum() > total:
            low = middle
        else:
            high = middle
    shares = np.clip(targets - high, 0.0, upper)
    whole = np.floor(shares)
    missing = int(total - whole.sum())
    if missing > 0:
        remainders = np.where(whole < upper, shares - whole, -1.0)
        whole[np.argsort(-remainders, kind="stable")[:missing]] += 1
    return whole


def _list_children(parents: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return pairs of an inner node and the list of its children, in the order of nodes.

    Args:
        parents: Number of the parent of each node; negative for a node without a parent.

    >>> _list_children([-1, 0, 0, 1])
    [(0, [1, 2]), (1, [3])]
    """
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        if parent >= 0:
            children.setdefault(parent, []).append(node)
    return sorted(children.items())
