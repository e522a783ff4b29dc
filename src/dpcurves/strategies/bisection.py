"""Counts of intervals that are halved one by one, each time the fullest. Many turns."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..arguments import Refused, make_whole
from ..arrays import FloatArray
from ..data import Outside
from ..laws import IntervalSums, Tier, least_squares
from ..queries import PartitionQuery
from ..release import ALL, Evidence, Release, Setting, Step
from ..workloads import Axes, Counted, Strategy
from .last_turn import along, counted_between

TURNS_SHARE = Fraction(1, 4)
MOST_ROUNDS = 1000


@dataclass(frozen=True, slots=True)
class Bisection:
    """Count on intervals that were halved one by one.

    Each turn halves the interval that seems to hold the most records, and counts all intervals (one private count costs
    no less), so that all turns together say where to halve next. They share a quarter of the loss. After one more
    halving the last turn counts the intervals with the rest, by noise that had no part in choosing them.

    With the turns, their noise grows; `GrownPartition` finds any number of intervals at one price.

    Attributes:
        rounds: How many turns, hence how often an interval is halved; fewer where there are fewer cells.

    Raises:
        ValueError: there is no round, or there are more than 1000.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> session = dp.Session({"x": np.arange(5000) % 100}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    >>> question = dp.CdfQuestion("x", dp.Grid(0, 100, cells=64), method=Bisection(rounds=8))
    >>> bool(abs(session.ask(question, dp.PrivacyLoss.pure(1)).cdf(50) - 0.5) < 0.05)
    True
    """

    rounds: int

    def __post_init__(self) -> None:
        make_whole(self, rounds="rounds")
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise Refused("rounds", f"a whole number from 1 to {MOST_ROUNDS} is needed, got {self.rounds}")

    def turns(self, axes: Axes, setting: Setting) -> Strategy[Counted]:
        """Halve, count, halve, count; count again."""
        axis = along(axes)
        seen = list[Release]()
        starts = [0, 1, axis.slots - 1] if axis.grid.outside is Outside.APART else [0]
        counts = np.diff([*starts, axis.slots]).astype(np.float64)
        turns = min(self.rounds, axis.slots - len(starts)) - 1  # then there is nothing left to halve
        for _ in range(turns):
            _halve_fullest(starts, counts, axis.slots)
            seen.append((yield Step(PartitionQuery((axis,), (tuple(starts),)), TURNS_SHARE / turns)))
            counts = counts_of_intervals(together(seen))
        _halve_fullest(starts, counts, axis.slots)
        share = ALL - TURNS_SHARE if seen else ALL
        return (yield from counted_between(axes, starts, seen, setting, share=share))

    def __str__(self) -> str:
        return f"by {self.rounds} bisections"


def together(releases: Sequence[Release]) -> Evidence:
    """Counts of nested partitions as one release of all of them; the missing are those that the last one counted."""
    parts = [Evidence.of(release) for release in releases]
    levels = tuple(level for part in parts for level in part.measured.levels)
    last = parts[-1].measured
    values = tuple(value for part in parts for value in part.values[:-1])
    return Evidence(IntervalSums(1, last.cells, levels, last.missing), (*values, parts[-1].values[-1]), parts[-1].total)


def counts_of_intervals(evidence: Evidence) -> FloatArray:
    """Estimate the counts of the finest intervals by least squares: over intervals, for cells are many."""
    law = evidence.measured
    finest = np.asarray(law.levels[-1].starts)
    levels = tuple(
        Tier(tuple(np.searchsorted(finest, np.asarray(level.starts)).tolist()), level.noise) for level in law.levels
    )
    over_intervals = IntervalSums(1, len(finest), levels, law.missing)
    return np.asarray(least_squares(over_intervals, evidence.values, evidence.total).cells[0])


def _halve_fullest(starts: list[int], counts: FloatArray, slots: int) -> None:
    widths = np.diff([*starts, slots])
    fullest = int(np.argmax(np.where(widths > 1, counts, -np.inf)))
    if widths[fullest] > 1:
        insort(starts, starts[fullest] + int(widths[fullest]) // 2)
