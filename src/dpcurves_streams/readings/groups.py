"""Counts of a stream within groups of like ticks (the Smoothers of PeGaSus), in total, and in sliding windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value
from dpcurves.arrays import BoolArray, FloatArray, IntArray, compile_loop
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories
from dpcurves.queries import CountUse

from ..laws import GroupedCounts, PrefixLaw
from ..queries import Forest, GroupedTickQuery, TickQuery, require_states
from .constrained import MonotoneTotals, fit_window
from .counts import CountNoise, CountsReader
from .question import LEVEL, STATED, Event, Interval, Jump, Low, NoisyValues, StreamQuestion, as_row

# Medians, means and squares of groups that grow by one value at a time: loops over public numbers.
FIRST_PLACES = 64
LENGTH, MEAN, SQUARES, MEDIAN = range(4)
"""Summary of a group: the number of values, their mean, the sum of squared distances from it, their median."""


class OpenGroups:
    """The groups that values were put into so far, one for each key, with room for values to come.

    Args:
        keys: How many keys there are.
    """

    __slots__ = ("_halves", "_heaps", "_kept")

    def __init__(self, keys: int) -> None:
        self._kept, self._halves = np.zeros((keys, MEDIAN)), np.zeros(keys, dtype=np.int64)
        self._heaps = np.zeros((keys, 2, FIRST_PLACES))

    def add_values(self, values: FloatArray, joined: IntArray) -> FloatArray:
        """Put each value into its group, and tell what the group is then, (ticks, keys, 4): `LENGTH` to `MEDIAN`.

        Args:
            values: Noisy counts, (ticks, keys).
            joined: 1 for what joins the group at hand, (ticks, keys).
        """
        found = np.empty((*values.shape, 4))
        update_moments(values, joined, self._kept, found)
        places, longest = self._heaps.shape[2], int(found[..., LENGTH].max(initial=0.0))
        if longest > places:
            more = max(places, longest - places)
            self._heaps = np.concatenate((self._heaps, np.zeros((len(self._heaps), 2, more))), axis=2)
        update_medians(values, self._halves, self._heaps, found)
        return found


@compile_loop
def update_moments(values: FloatArray, joined: IntArray, moments: FloatArray, summaries: FloatArray) -> None:
    """Fill in lengths, means and squares, one value after the other (Welford 1962)."""
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            if joined[tick, key] == 0:
                moments[key] = 0.0
            group, value = moments[key], values[tick, key]
            off = value - group[MEAN]
            group[LENGTH] += 1
            group[MEAN] += off / group[LENGTH]
            group[SQUARES] += off * (value - group[MEAN])
            summaries[tick, key, :MEDIAN] = group


@compile_loop
def update_medians(values: FloatArray, halves: IntArray, heaps: FloatArray, summaries: FloatArray) -> None:
    """Fill in medians, where lengths are known, from two heaps.

    One has the lower half with its largest value on top, the other one the upper half with its smallest: a value costs
    steps that grow as the logarithm of the group.
    """
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            length, below = int(summaries[tick, key, LENGTH]), halves[key] if summaries[tick, key, LENGTH] > 1 else 0
            side = 0 if below == 0 or values[tick, key] <= -heaps[key, 0, 0] else 1
            moving = -values[tick, key] if side == 0 else values[tick, key]
            for _ in range(2):
                heap, place = heaps[key, side], below if side == 0 else length - 1 - below
                size, below = place + 1, below + 1 - side
                while place > 0 and heap[(place - 1) // 2] > moving:
                    heap[place] = heap[(place - 1) // 2]
                    place = (place - 1) // 2
                heap[place] = moving
                if 2 * below - length in (0, 1):
                    break
                moving, last, below = -heap[0], heap[size - 1], below - 1 + side  # the top goes to the other heap
                place = 0
                while 2 * place + 1 < size - 1:
                    child = 2 * place + 1
                    child += child + 1 < size - 1 and heap[child + 1] < heap[child]
                    if heap[child] >= last:
                        break
                    heap[place] = heap[child]
                    place = child
                heap[place] = last
                side = 1 - side
            halves[key] = below
            even = length % 2 == 0
            summaries[tick, key, MEDIAN] = (heaps[key, 1, 0] - heaps[key, 0, 0]) / 2 if even else -heaps[key, 0, 0]


class Smoother(Enum):
    """The estimator of a count from the noisy counts of its group so far (Chen 2018, section 5.3.3)."""

    MEDIAN = "median"
    AVERAGE = "average"
    JAMES_STEIN = "James-Stein"


@dataclass(frozen=True, slots=True)
class Groups(StreamQuestion):
    """Counts of tuples in each state at every tick, smoothed within groups that were found with a part of the loss.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        smoother: How counts are estimated.
        budget_fraction: The part of the loss that is spent on grouping.
        deviation: The deviation of counts from which on they are not one group, in units of one over the epsilon of
            grouping. With the 5 of the paper noise alone ends a group every few ticks: in these units the noise of n
            tests stays within ``8 * log(n)``, so a quiet group of n ticks needs as much. That is 50 for n of 500.
        forest: Aggregations of the states of the one axis, each grouped on its own with an equal part of the loss for
            each level (HS-PGS, section 5.5.1); None: states alone. They are read before the states.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoother: Smoother = Smoother.MEDIAN
    budget_fraction: Fraction = Fraction(1, 5)
    deviation: Fraction = Fraction(50)
    forest: Forest | None = None

    @property
    def query(self) -> GroupedTickQuery:
        """The query on the stream, which is paid for once."""
        return GroupedTickQuery(
            self.axes,
            self.ticks,
            self.windows,
            budget_fraction=self.budget_fraction,
            deviation=self.deviation,
            forest=self.forest,
        )

    def reader(self, plan: Plan) -> CountsReader:
        """The reader of the releases of the plan, from the first tick on."""
        law = plan.law.require_type(GroupedCounts)
        sums = {width: GroupWindowEstimator(law, width) for width in self.window_widths}
        known = CountNoise(law.noise.family, sqrt(law.noise.variance))
        return CountsReader(self, law.keys, GroupEstimator(law, self.smoother), sums, known)


class GroupEstimator:
    """Estimates of the newest counts, each from its group so far, and not below 0.

    Args:
        law: What the released values are.
        smoother: How counts are estimated.
    """

    __slots__ = ("_groups", "_noise", "_smoother")

    def __init__(self, law: GroupedCounts, smoother: Smoother) -> None:
        self._groups, self._noise, self._smoother = _GroupSummaries(law.keys), law.noise.variance, smoother

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """The estimates, (keys,), after the counts and decisions of one more tick."""
        values, found, _ = self._groups.update_groups(counts)
        estimates: FloatArray = np.maximum(smooth_in_groups(values, found, self._noise, self._smoother), 0.0)
        return estimates


class GroupWindowEstimator:
    """Sums over the newest ticks, each tick by the median of its group as far as it is known (Algorithm 17).

    Until `width` ticks have passed, the window has all ticks so far.

    Args:
        law: What the released values are.
        width: How many ticks a window has.
    """

    __slots__ = ("_closed", "_groups", "_last", "_width")

    def __init__(self, law: GroupedCounts, width: int) -> None:
        if width < 1:
            raise InvalidArgument("width", f"at least 1 tick is needed, got {width}")
        self._groups, self._width = _GroupSummaries(law.keys), width
        self._closed: list[deque[tuple[int, float]]] = [deque() for _ in range(law.keys)]
        self._last = np.zeros((law.keys, 4))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """The estimates of the sums, (keys,), after the counts and decisions of one more tick."""
        _, found, joined = self._groups.update_groups(counts)
        for key in np.flatnonzero(joined == 0):
            self._closed[key].appendleft((int(self._last[key, 0]), float(self._last[key, 3])))
        self._last = found
        sums = [self._sum_window(key) for key in range(len(found))]
        return np.maximum(sums, 0.0)

    def _sum_window(self, key: int) -> float:
        length, median = int(self._last[key, 0]), float(self._last[key, 3])
        total, left = median * min(length, self._width), self._width - length
        closed = self._closed[key]
        for number, (length, median) in enumerate(closed):
            if left <= 0:
                while len(closed) > number:
                    closed.pop()
                break
            total += median * min(length, left)
            left -= length
        return total


class _GroupSummaries:
    """Lengths, means, squares and medians of the groups at hand."""

    __slots__ = ("_groups", "keys")

    def __init__(self, keys: int) -> None:
        self.keys, self._groups = keys, OpenGroups(keys)

    def update_groups(self, counts: Sequence[float]) -> tuple[FloatArray, FloatArray, IntArray]:
        """The noisy counts, (keys,), what is known of their groups, (keys, 4), and what joined, (keys,)."""
        values = as_row(counts, 2 * self.keys)
        joined = values[:, self.keys :].astype(np.int64)
        return values[0, : self.keys], self._groups.add_values(values[:, : self.keys], joined)[0], joined[0]


def smooth_in_groups(values: FloatArray, summaries: FloatArray, variance: float, smoother: Smoother) -> FloatArray:
    """Estimates of the newest counts from what is known of their groups, (..., 4): see `OpenGroups`.

    James-Stein estimates shrink a count towards its group's mean by ``1 - (n - 3) * variance / squares``, not below
    nothing, from 4 counts on. (The paper has n - 1, adds the count where the mean belongs, and may turn the distance
    round: worse than the noisy count itself.)
    """
    length, mean, squares, median = (summaries[..., column] for column in range(4))
    if smoother is Smoother.MEDIAN:
        return median
    if smoother is Smoother.AVERAGE:
        return mean
    shrunk = np.maximum(1 - (length - 3) * variance / np.where(squares > 0, squares, np.inf), 0.0)
    estimates: FloatArray = np.where(length >= 4, mean + shrunk * (values - mean), values)
    return estimates


@dataclass(frozen=True, slots=True)
class TotalReading:
    """The reading of one tick.

    Attributes:
        tick: Its number, from 1 on.
        totals: How many tuples came so far, (keys,): whole numbers that never fall, and add up along aggregations.
        windows: The sums over each window, by its width, (keys,): whole numbers that add up, none above the total or
            the sum over a longer window.
        noisy: The unbiased totals that these were read from, with the standard deviations of their noise.
        noisy_windows: The unbiased sums over each window.
    """

    QUANTITY: ClassVar[str] = "tuples so far"

    tick: int
    totals: FloatArray
    windows: dict[int, FloatArray]
    noisy: NoisyValues
    noisy_windows: dict[int, NoisyValues]

    @property
    def counts(self) -> FloatArray:
        """The totals, which are shown first."""
        return self.totals

    @property
    def events(self) -> dict[str, BoolArray]:
        """None: events are not looked for in totals."""
        return {}

    @property
    def has_intervals(self) -> bool:
        """They always are."""
        return True

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the totals so far, for these records: lower and upper ends, (keys,) each.

        The level holds for each interval on its own, at this tick: so ends may fall where totals do not. Intervals are
        centred on the unbiased totals, and extended to hold the totals that are shown.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        return self.noisy.interval(level, self.totals)

    def window_interval(self, width: int, level: float) -> Interval:
        """Do as `interval`, for the sums over a window that was asked for."""
        if width not in self.windows:
            raise InvalidArgument(
                "width",
                f"windows of {describe_value(sorted(self.windows))} ticks were asked for, got {describe_value(width)}",
            )
        return self.noisy_windows[width].interval(level, self.windows[width])

    def to_json(self, key: int) -> dict[str, Any]:
        """The reading of one key, as plain objects, to two digits behind the point; with ends of intervals."""
        plain: dict[str, Any] = {"total": round(float(self.totals[key]), 2)}
        plain["low"], plain["high"] = _round_interval(self.interval(LEVEL), key)
        plain["unbiased"] = round(float(self.noisy.values[key]), 2)
        for width, sums in self.windows.items():
            name = f"window:{width}"
            plain[name] = round(float(sums[key]), 2)
            plain[f"{name}:low"], plain[f"{name}:high"] = _round_interval(self.window_interval(width, LEVEL), key)
            plain[f"{name}:unbiased"] = round(float(self.noisy_windows[width].values[key]), 2)
        return {**plain, **STATED}


def _round_interval(interval: Interval, key: int) -> tuple[float, float]:
    low, high = interval
    return round(float(low[key]), 2), round(float(high[key]), 2)


@dataclass(frozen=True, slots=True)
class Totals(StreamQuestion):
    """Totals of tuples of each state so far, at every tick, with an error that grows slowly.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums. If there are any, noise is chosen for them, not for the totals.
        forest: Aggregations of the states of the one axis, whose totals are sums of theirs; None: states alone. They
            are read before the states.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    forest: Forest | None = None

    def __post_init__(self) -> None:
        StreamQuestion.__post_init__(self)
        if self.forest is not None:
            require_states(self.axes, self.forest)

    @property
    def events(self) -> tuple[Jump | Low | Event, ...]:
        """None."""
        return ()

    @property
    def query(self) -> TickQuery:
        """The query on the stream, which is paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows, CountUse.PREFIXES)

    def reader(self, plan: Plan) -> TotalsReader:
        """The reader of the releases of the plan, from the first tick on."""
        return TotalsReader(self, plan)


class TotalsReader:
    """Reads released totals, tick by tick. It holds public numbers alone."""

    __slots__ = ("_estimator", "_law", "_members", "_parents", "_ring", "_shown", "_sizes", "_windows", "tick")

    def __init__(self, question: Totals, plan: Plan) -> None:
        self._law = plan.law.require_type(PrefixLaw)  # type: ignore[type-abstract]
        self._estimator, self._windows = self._law.estimator(), question.windows
        groups = () if question.forest is None else question.forest.members
        self._members = [list(states) for states in groups]
        self._parents = [-1] * self._law.keys if question.forest is None else question.forest.parents
        self._shown = MonotoneTotals(self._parents)
        self._sizes = np.sqrt([*map(len, groups), *(1 for _ in range(self._law.keys))])
        self._ring = np.zeros((max(question.windows, default=0) + 1, len(self._sizes)))
        self.tick = 0

    def read_next(self, values: Sequence[int]) -> TotalReading:
        """The reading after the integers of the next tick."""
        self.tick += 1
        length = len(self._ring)
        states = self._estimator.estimate_next(np.array(values, dtype=np.float64))
        sums = [states[members].sum() for members in self._members]
        self._ring[self.tick % length] = np.concatenate((sums, states))
        noisy = self._noisy_values(self._ring[self.tick % length].copy(), None)
        totals = self._shown.estimate_next(noisy.values, np.asarray(noisy.deviations))
        noisy_windows = {
            width: self._noisy_values(noisy.values - self._totals_before(width), width) for width in self._windows
        }
        return TotalReading(self.tick, totals, self._fit_windows(totals, noisy_windows), noisy, noisy_windows)

    def _fit_windows(self, totals: FloatArray, noisy: dict[int, NoisyValues]) -> dict[int, FloatArray]:
        """Sums over windows, the widest first: each fits into the one before. One of all ticks is the total."""
        fitted, most = dict[int, FloatArray](), totals
        for width in sorted(set(noisy), reverse=True):
            most = totals if width >= self.tick else fit_window(self._parents, noisy[width].values, most)
            fitted[width] = most
        return {width: fitted[width] for width in noisy}

    def _totals_before(self, width: int) -> FloatArray:
        """Totals of so many ticks ago; zero before the first tick, which is exact."""
        before: FloatArray = self._ring[(self.tick - width) % len(self._ring)]
        return before if self.tick > width else np.zeros_like(before)

    def _noisy_values(self, values: FloatArray, width: int | None) -> NoisyValues:
        """Noises of states are independent, so those of aggregations grow as the root of their number."""
        deviations: FloatArray = sqrt(self._law.variance(self.tick, width)) * self._sizes
        return NoisyValues(self._law.family, values, deviations)
