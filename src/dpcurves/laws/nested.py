"""Nested tilings of cells, each interval with a noise of its own, and the exact error of counts below an edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray, IntArray
from ..queries.base import laid_out
from .law import NoisySums, Part
from .noise import Noise


@dataclass(frozen=True, slots=True)
class Tier:
    """Intervals that partition the cells of every row, and the noise of each of their sums.

    Interval i is ``[starts[i], starts[i + 1])``; the last one ends with the row.
    """

    starts: range | tuple[int, ...]
    noise: Noise

    @property
    def first(self) -> IntArray:
        """The first cells of the intervals."""
        return laid_out(self.starts)

    def bounds(self, cells: int) -> IntArray:
        """The ends of the intervals: one more than there are intervals."""
        return np.append(self.first, cells)

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        if isinstance(self.starts, range):
            return {
                "starts": {"range": [self.starts.start, self.starts.stop, self.starts.step]},
                **self.noise.to_json(),
            }
        return {"starts": {"list": list(self.starts)}, **self.noise.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Tier:
        """The inverse of `to_json`."""
        starts = stored["starts"]
        first = range(*starts["range"]) if "range" in starts else tuple(int(start) for start in starts["list"])
        return cls(first, Noise.from_json(stored))


class NestedSums(NoisySums):
    """Sums over the intervals of nested tilings.

    Attributes:
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
    """

    __slots__ = ()

    levels: tuple[Tier, ...]

    @property
    def is_nested(self) -> bool:
        """They are."""
        return True

    @property
    def parts(self) -> tuple[Part, ...]:
        """The levels."""
        return tuple(Part(len(level.starts), level.noise) for level in self.levels)

    @property
    def bounds(self) -> IntArray:
        """The ends of the intervals of the last level."""
        return self.levels[-1].bounds(self.cells)


_TINY = 1e-300
"""Stands for the variance of noise that is too small for a double, so that no step divides by zero."""


def interval_variances(law: NestedSums, total_is_public: bool) -> FloatArray:
    """Variance of the estimated number of records in the first i cells of a row: shape ``(cells + 1,)``.

    Estimates are best linear unbiased ones (least squares) from all values, the missing cell and, if
    `total_is_public`, the exact number of all records. Inside an interval that was counted as one they are interpolated
    linearly, and this is the variance of what is interpolated. Where missing records were not counted, a public total
    tells nothing about the rows.

    Let ``v`` be the variance of an interval's estimate from its own subtree: the inverse-variance mean of its own
    measurement and its children's sum. Given the total T of a node, its children are independent with variances v,
    conditioned on their sum. If what lies below the edge in child j is ``a_j * x_j`` plus independent noise of
    variance ``b_j``, then in the node it is ``a * T`` plus independent noise of variance ``b``, with
    ``u = (1, ..., 1, a_j, 0, ...)``, ``a = sum(u v) / sum(v)`` and ``b = sum(u**2 v) - sum(u v)**2 / sum(v) + b_j``.
    The node above all rows has the first level's intervals of every row and the missing cell as children; its total is
    known, or nothing more is known than its children tell.

    Raises:
        ValueError: an interval is not a union of intervals of the next level.
    """
    variances = _combined_variances(law)
    node, slope = _interpolated(law.levels[-1], law.cells)
    spread = np.zeros(law.cells + 1)
    for level, finer, variance in zip(law.levels[-2::-1], law.levels[:0:-1], variances[:0:-1], strict=True):
        parent = _containing(level, law.cells)
        first = np.append(_first_children(level, finer), len(finer.starts))
        below, square = _below(variance, first[parent], node, slope)
        total = np.add.reduceat(variance, first[:-1])[parent]
        slope, spread = below / total, spread + square - below * (below / total)
        node = parent
    below, square = _below(variances[0], np.zeros_like(node), node, slope)
    known = below * (below / _everything(law, variances[0], total_is_public))
    row: FloatArray = np.maximum(square + spread - known, 0)
    return row


@lru_cache(maxsize=1024)  # a pure function of public facts
def mean_interval_variance(law: NestedSums, total_is_public: bool) -> float:
    """Mean of `interval_variances` over inner edges; where there is one cell, its variance.

    By the same recursion, on sums over the edges inside each interval: as fast as there are few intervals, or few kinds
    of them.
    """
    if law.cells == 1:
        return float(interval_variances(law, total_is_public)[1])
    regular = _regular(law)
    sums, variance = _top_of_alike(law, regular) if regular else _top(law)
    everything = _everything(law, variance, total_is_public)
    return _sum_below_root(sums, variance, everything) / (law.cells - 1)


def _everything(law: NestedSums, variance: FloatArray, total_is_public: bool) -> float:
    """Variance of the sum of all that the total consists of; infinite if knowing the total tells nothing."""
    if not total_is_public or law.missing is None:
        return inf
    return float(law.rows * variance.sum()) + max(law.missing.variance, _TINY)


def _combined_variances(law: NestedSums) -> list[FloatArray]:
    """Variance of each interval's estimate from its own subtree; from coarse to fine."""
    combined = [_own_variance(law.levels[-1])]
    for level, finer in reversed(list(pairwise(law.levels))):
        of_children = np.add.reduceat(combined[0], _first_children(level, finer))
        combined.insert(0, 1 / (1 / _own_variance(level) + 1 / of_children))
    return combined


def _own_variance(level: Tier) -> FloatArray:
    return np.full(len(level.starts), max(level.noise.variance, _TINY))


def _first_children(level: Tier, finer: Tier) -> IntArray:
    """The numbers of the intervals of `finer` at which the intervals of `level` start."""
    starts, inner = level.first, finer.first
    first = np.searchsorted(inner, starts)
    if first[-1] == len(inner) or not np.array_equal(inner[first], starts):
        raise Refused("levels", "every interval is a union of intervals of the next level")
    return first.astype(np.int64)


def _containing(level: Tier, cells: int) -> IntArray:
    """The interval that each edge lies in: the one to its right, at the end the last one."""
    last = len(level.starts) - 1
    return np.append(np.repeat(np.arange(last + 1), np.diff(level.bounds(cells))), last)


def _interpolated(level: Tier, cells: int) -> tuple[IntArray, FloatArray]:
    """The interval that each edge lies in, and what part of it lies below the edge."""
    node, bounds = _containing(level, cells), level.bounds(cells)
    return node, (np.arange(cells + 1) - bounds[node]) / np.diff(bounds)[node]


def _below(variance: FloatArray, first: IntArray, node: IntArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum(u v)`` and ``sum(u**2 v)`` over the intervals from `first` to `node`."""
    running = np.concatenate(([0.0], np.cumsum(variance)))
    whole = running[node] - running[first]
    return whole + slope * variance[node], whole + slope**2 * variance[node]


class _Sums(NamedTuple):
    """Sums over the edges in each interval, from its start to before its end: of 1, a, a**2 and b."""

    edges: FloatArray
    slope: FloatArray
    square: FloatArray
    spread: FloatArray


def _interpolated_sums(bounds: IntArray) -> _Sums:
    """Sum over the edges of intervals that are interpolated linearly: a is 0, 1/width, 2/width, ..."""
    width = np.diff(bounds).astype(np.float64)
    return _Sums(width, (width - 1) / 2, (width - 1) * (2 * width - 1) / (6 * width), np.zeros(len(width)))


def _top(law: NestedSums) -> tuple[_Sums, FloatArray]:
    """Sums, and variances, of the intervals of the first level."""
    variances = _combined_variances(law)
    sums = _interpolated_sums(law.levels[-1].bounds(law.cells))
    for level, finer, variance in zip(law.levels[-2::-1], law.levels[:0:-1], variances[:0:-1], strict=True):
        sums = _in_parents(sums, variance, _first_children(level, finer))
    return sums, variances[0]


def _regular(law: NestedSums) -> list[range]:
    """The tilings, if all intervals of each level are alike, but for the last one; else none."""
    tilings = [level.starts for level in law.levels if isinstance(level.starts, range)]
    nested = all(len(coarse) == 1 or coarse.step % fine.step == 0 for coarse, fine in pairwise(tilings))
    return tilings if nested and len(tilings) == len(law.levels) else []


def _top_of_alike(law: NestedSums, tilings: list[range]) -> tuple[_Sums, FloatArray]:
    """Sums and variances of a regular law: two intervals of each level stand for all, a whole one and the last one."""
    own = [max(level.noise.variance, _TINY) for level in law.levels]
    width = tilings[-1].step
    sums = _interpolated_sums(np.array([0, width, width + law.cells - tilings[-1][-1]]))
    variance = np.full(2, own[-1])
    for (coarse, fine), measured in zip(reversed(list(pairwise(tilings))), own[-2::-1], strict=True):
        whole = max(1, coarse.step // fine.step)
        last = len(fine) - coarse[-1] // fine.step
        kind, first = np.repeat([0, 1], [whole + last - 1, 1]), np.array([0, whole])
        sums = _in_parents(_of(sums, kind), variance[kind], first)
        variance = 1 / (1 / measured + 1 / np.add.reduceat(variance[kind], first))
    kind = np.repeat([0, 1], [len(tilings[0]) - 1, 1])
    return _of(sums, kind), variance[kind]


def _of(sums: _Sums, kind: IntArray) -> _Sums:
    return _Sums(*(each[kind] for each in sums))


def _in_parents(sums: _Sums, variance: FloatArray, first: IntArray) -> _Sums:
    """Sum over the intervals of the level above."""
    total = np.add.reduceat(variance, first)
    children = np.diff(np.append(first, len(variance)))
    part = variance / np.repeat(total, children)
    before = np.cumsum(part) - part
    before -= np.repeat(before[first], children)
    edges, slope, square, reading = (np.add.reduceat(sum_, first) for sum_ in _moments(sums, part, before))
    return _Sums(edges, slope, square, total * (reading - square) + np.add.reduceat(sums.spread, first))


def _sum_below_root(sums: _Sums, variance: FloatArray, everything: float) -> float:
    before = np.cumsum(variance) - variance
    reading = float(_moments(sums, variance, before)[3].sum() + sums.spread.sum())
    known = _moments(sums, variance / everything, before / everything)[2].sum() * everything if everything < inf else 0
    return reading - float(known)


def _moments(
    sums: _Sums, part: FloatArray, before: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums over edges of 1, ``before + a * part``, its square, and ``before + a**2 * part``."""
    slope = sums.edges * before + part * sums.slope
    square = before * (sums.edges * before + 2 * part * sums.slope) + part**2 * sums.square
    return sums.edges, slope, square, sums.edges * before + part * sums.square
