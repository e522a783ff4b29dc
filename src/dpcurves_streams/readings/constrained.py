"""Whole totals that never fall and add up along a tree, and sums over windows that fit into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpcurves.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Tuning:
    """How far a noisy total must rise above the one that was shown before it is followed.

    Attributes:
        largest_slack: In standard deviations of the noise, where nothing seems to come: there the maximum of the noise
            of all ticks so far would be shown.
        slack_at_one: In standard deviations, where each tick adds one standard deviation: it falls as the root of that.
        negligible: Tuples; noise with a smaller standard deviation has no slack, so that what is exact is shown as is.
    """

    largest_slack: float = 2.5
    slack_at_one: float = 1 / 8
    negligible: float = 1.0


class MonotoneTotals:
    """Totals so far of all nodes of a tree, (nodes,): whole numbers from 0 on that never fall, and add up.

    The total of a node with none above it follows the noisy one less some slack, or stays. The largest of all noisy
    totals so far would be far too large where few tuples come: noise is as large as its largest draw then. So the slack
    is large there, and next to nothing where totals soon rise by more than their noise. What a node's total rises by is
    shared among the nodes below it by least squares of their noisy totals, none of which falls.

    Reads public numbers alone, and gives the same ones where it is fed the same ones.

    Args:
        parents: The node above each node, which comes before it; -1: none.
        tuning: When a total is followed.
    """

    __slots__ = ("_children", "_roots", "_shown", "_tick", "_tuning")

    def __init__(self, parents: Sequence[int], tuning: Tuning | None = None) -> None:
        self._children = _list_children(parents)
        self._roots = np.flatnonzero(np.array(parents) < 0)
        self._tuning, self._shown, self._tick = tuning or Tuning(), np.zeros(len(parents)), 0

    def estimate_next(self, totals: FloatArray, deviations: FloatArray) -> FloatArray:
        """The totals after one more tick, (nodes,), from unbiased ones and the standard deviations of their noise."""
        self._tick += 1
        shown, rise = self._shown, np.zeros(len(self._shown))
        noisy, deviation = totals[self._roots], deviations[self._roots]
        followed = np.rint(noisy - self._slack(noisy, deviation))
        rise[self._roots] = np.maximum(followed - shown[self._roots], 0.0)
        for node, children in self._children:
            rise[children] = allocate_integers(rise[node], totals[children] - shown[children], None)
        self._shown = shown + rise
        return self._shown.copy()

    def _slack(self, totals: FloatArray, deviations: FloatArray) -> FloatArray:
        tuning = self._tuning
        surely = np.maximum(totals - tuning.largest_slack * deviations, 0.0)
        pace = surely / (self._tick * np.maximum(deviations, tuning.negligible))  # deviations that a tick adds
        with np.errstate(divide="ignore"):
            factor = np.minimum(tuning.slack_at_one / np.sqrt(pace), tuning.largest_slack)
        slack: FloatArray = factor * np.maximum(deviations - tuning.negligible, 0.0)
        return slack


def fit_window(parents: Sequence[int], sums: FloatArray, upper_bounds: FloatArray) -> FloatArray:
    """Sums over a window, (nodes,): whole numbers from 0 to `upper_bounds` that add up along a tree.

    Args:
        parents: The node above each node, which comes before it; -1: none.
        sums: Unbiased sums.
        upper_bounds: Whole numbers that add up: the totals so far, or the sums over a longer window.
    """
    fitted = np.zeros(len(upper_bounds))
    roots = np.flatnonzero(np.array(parents) < 0)
    fitted[roots] = np.clip(np.rint(sums[roots]), 0.0, upper_bounds[roots])
    for node, children in _list_children(parents):
        fitted[children] = allocate_integers(fitted[node], sums[children], upper_bounds[children])
    return fitted


def allocate_integers(total: float, targets: FloatArray, upper_bounds: FloatArray | None) -> FloatArray:
    """The whole numbers from 0 to `upper_bounds` that add up to `total` and are nearest to what is wanted, by least squares.

    >>> allocate_integers(5, np.array([4.0, 3.0, -9.0]), None).tolist()
    [3.0, 2.0, 0.0]
    """
    upper = np.full(len(targets), float(total)) if upper_bounds is None else np.minimum(upper_bounds, float(total))
    low, high = float((targets - upper).min()), float(targets.max())  # all at their most, or all at 0
    for _ in range(64):  # halves an interval to the last bit
        middle = (low + high) / 2
        if np.clip(targets - middle, 0.0, upper).sum() > total:
            low = middle
        else:
            high = middle
    shares = np.clip(targets - high, 0.0, upper)
    whole = np.floor(shares)
    missing = int(total - whole.sum())
    if missing > 0:
        rest = np.where(whole < upper, shares - whole, -1.0)
        whole[np.argsort(-rest, kind="stable")[:missing]] += 1
    return whole


def _list_children(parents: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Nodes with others below them, each with those, in the order of nodes."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        if parent >= 0:
            children.setdefault(parent, []).append(node)
    return sorted(children.items())
