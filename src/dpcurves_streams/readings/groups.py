"""Estimates of stream counts from groups of similar time steps (PeGaSus), and running totals with sliding windows.

At every time step, noisy counts of the tuples (rows) in each state are released. Two kinds of questions are answered
from them here:

    Groups    counts per step, averaged over a group of successive steps that the mechanism found similar; `Smoother`
              selects the average (median, mean, or James-Stein shrinkage)
    Totals    running totals, with sums over sliding windows

Formal guarantees: all results are functions of released integers (noisy counts and group marks) and public facts, and
see no tuple. Such post-processing loses no further privacy.
"""

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

from ..distributions import GroupedCounts, PrefixDistribution
from ..queries import Forest, GroupedTimeStepQuery, TimeStepQuery, require_states
from .constrained import MonotoneTotals, fit_window
from .counts import CountNoise, CountsReader
from .question import INTERVAL_LABEL, LEVEL, Event, Interval, Jump, Low, NoisyValues, StreamQuestion, as_row

# Medians, means and sums of squares of groups that grow by one value at a time: loops over public numbers.
LENGTH, MEAN, SQUARES, MEDIAN = range(4)
"""Columns of a group's summary: number of values, mean, sum of squared deviations from the mean, median."""


class OpenGroups:
    """The open group of each key, that is the newest group of similar steps of each count, to which values are added.

    Args:
        keys: Number of keys (counts of a step).
    """

    __slots__ = ("_halves", "_heaps", "_kept")

    def __init__(self, keys: int) -> None:
        self._kept = np.zeros((keys, MEDIAN))
        self._halves = np.zeros(keys, dtype=np.int64)
        self._heaps = np.zeros((keys, 2, 64))  # initial capacity of the heaps

    def add_values(self, values: FloatArray, joined: IntArray) -> FloatArray:
        """Add the noisy counts of several steps, and return the summary of each count's group after it was added.

        Args:
            values: Noisy counts, (time_steps, keys), in the order of the steps.
            joined: For each count, 1 if it joins the open group of its key, 0 if it begins a new group; same shape.

        Returns:
            Length, mean, sum of squared deviations and median (columns `LENGTH` to `MEDIAN`) of the group, (time_steps,
            keys, 4).
        """
        summaries = np.empty((*values.shape, 4))
        update_moments(values, joined, self._kept, summaries)
        capacity = self._heaps.shape[2]
        longest = int(summaries[..., LENGTH].max(initial=0.0))
        if longest > capacity:
            added = max(capacity, longest - capacity)
            self._heaps = np.concatenate((self._heaps, np.zeros((len(self._heaps), 2, added))), axis=2)
        update_medians(values, self._halves, self._heaps, summaries)
        return summaries


@compile_loop
def update_moments(values: FloatArray, joined: IntArray, moments: FloatArray, summaries: FloatArray) -> None:
    """Compute length, mean and sum of squared deviations of each value's group after the value was added (Welford
    1962).

    Args:
        values: Values, (time steps, keys).
        joined: Whether each value continues the group before it, of the same shape; 0: a new group begins.
        moments: Length, mean and sum of squares of the running group of each key; changed in place.
        summaries: Summaries of the group of each value; these columns are filled in.
    """
    for time_step in range(values.shape[0]):
        for key in range(values.shape[1]):
            if joined[time_step, key] == 0:
                moments[key] = 0.0
            group = moments[key]
            value = values[time_step, key]
            difference = value - group[MEAN]
            group[LENGTH] += 1
            group[MEAN] += difference / group[LENGTH]
            group[SQUARES] += difference * (value - group[MEAN])
            summaries[time_step, key, :MEDIAN] = group


@compile_loop
def update_medians(values: FloatArray, halves: IntArray, heaps: FloatArray, summaries: FloatArray) -> None:
    """Compute the median of each value's group after the value was added, by two heaps, from the lengths of the groups.

    A max-heap holds the lower half and a min-heap the upper half, so adding a value costs time logarithmic in the
    group's length.

    Args:
        values: Released values, (time_steps, keys).
        halves: Size of the lower half of the current group of each key, (keys,); changed in place.
        heaps: Both heaps of each key, (keys, 2, places): the lower half with changed signs, then the upper half;
            changed in place.
        summaries: Summaries of the groups, (time_steps, keys, columns): column `LENGTH` is read, column `MEDIAN` is
            written.
    """
    for time_step in range(values.shape[0]):
        for key in range(values.shape[1]):
            length = int(summaries[time_step, key, LENGTH])
            below = halves[key] if summaries[time_step, key, LENGTH] > 1 else 0
            side = 0 if below == 0 or values[time_step, key] <= -heaps[key, 0, 0] else 1
            moving = -values[time_step, key] if side == 0 else values[time_step, key]
            for _ in range(2):
                heap = heaps[key, side]
                position = below if side == 0 else length - 1 - below
                size = position + 1
                below = below + 1 - side
                while position > 0 and heap[(position - 1) // 2] > moving:
                    heap[position] = heap[(position - 1) // 2]
                    position = (position - 1) // 2
                heap[position] = moving
                if 2 * below - length in (0, 1):
                    break
                # move the top to the other heap
                moving = -heap[0]
                last = heap[size - 1]
                below = below - 1 + side
                position = 0
                while 2 * position + 1 < size - 1:
                    child = 2 * position + 1
                    child += child + 1 < size - 1 and heap[child + 1] < heap[child]
                    if heap[child] >= last:
                        break
                    heap[position] = heap[child]
                    position = child
                heap[position] = last
                side = 1 - side
            halves[key] = below
            even = length % 2 == 0
            summaries[time_step, key, MEDIAN] = (heaps[key, 1, 0] - heaps[key, 0, 0]) / 2 if even else -heaps[key, 0, 0]


class Smoother(Enum):
    """How a count is estimated from the noisy counts of its group so far (Chen 2018, section 5.3.3)."""

    MEDIAN = "median"
    AVERAGE = "average"
    JAMES_STEIN = "James-Stein"


@dataclass(frozen=True, slots=True)
class Groups(StreamQuestion):
    """Counts of tuples in each state at every time step, smoothed within groups of similar steps (PeGaSus).

    Attributes:
        axes: The states: one or several columns of categories, or a grid.
        time_steps: Public number of steps; None: without end.
        windows: Widths, in steps, of sliding sums.
        events: Events to detect: `Jump`, `Low` or `Event`.
        smoother: How counts are estimated within a group.
        budget_fraction: Fraction of the loss for grouping.
        deviation: Deviation of counts from which they form no group, in units of one over the epsilon of grouping. With
            the 5 of the paper, noise alone ends a group every few steps: in these units the noise of n tests stays
            within ``8 * log(n)``, which a quiet group of n steps needs. That is 50 for n = 500.
        forest: Aggregations of the states of the only axis, each grouped by itself with an equal part of the loss for
            each level (HS-PGS, section 5.5.1), listed before the states; None: states only.
    """

    axes: tuple[Axis | Categories, ...]
    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoother: Smoother = Smoother.MEDIAN
    budget_fraction: Fraction = Fraction(1, 5)
    deviation: Fraction = Fraction(50)
    forest: Forest | None = None

    @property
    def query(self) -> GroupedTimeStepQuery:
        """Query of grouped counts at each step; windows and events are read from its release."""
        return GroupedTimeStepQuery(
            self.axes,
            self.time_steps,
            self.windows,
            budget_fraction=self.budget_fraction,
            deviation=self.deviation,
            forest=self.forest,
        )

    def reader(self, plan: Plan) -> CountsReader:
        """Return a reader, which estimates counts and windows from the released integers step by step, from the first
        step.

        Args:
            plan: Plan of the stream.
        """
        distribution = plan.distribution.require_type(GroupedCounts)
        sums = {width: GroupWindowEstimator(distribution, width) for width in self.window_widths}
        known = CountNoise(distribution.noise.family, sqrt(distribution.noise.variance))
        return CountsReader(self, distribution.keys, GroupEstimator(distribution, self.smoother), sums, known)


class GroupEstimator:
    """Estimates of the newest counts, each from its group so far, and not below 0.

    Args:
        distribution: Distribution of the released values.
        smoother: How counts are estimated.
    """

    __slots__ = ("_groups", "_noise", "_smoother")

    def __init__(self, distribution: GroupedCounts, smoother: Smoother) -> None:
        self._groups = _GroupSummaries(distribution.keys)
        self._noise = distribution.noise.variance
        self._smoother = smoother

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the estimated counts of the next step, (keys,), not below 0.

        Args:
            counts: Released integers of the step: the noisy counts, then for each whether it joins its open group
                (1) or not (0).
        """
        values, summaries, _ = self._groups.update_groups(counts)
        estimates: FloatArray = np.maximum(smooth_in_groups(values, summaries, self._noise, self._smoother), 0.0)
        return estimates


class GroupWindowEstimator:
    """Sums over the newest steps, each step estimated by the median of its group so far (Chen 2018, Algorithm 17).

    Before `width` steps have passed, the window contains all steps so far.
    """

    __slots__ = ("_closed", "_groups", "_last", "_width")

    def __init__(self, distribution: GroupedCounts, width: int) -> None:
        """Begin to estimate sums over a sliding window from grouped counts, before the first step.

        Args:
            distribution: Distribution of the released values.
            width: Steps of a window.
        """
        if width < 1:
            raise InvalidArgument("width", f"must be at least 1 step, as in 12, got {width}")
        self._groups = _GroupSummaries(distribution.keys)
        self._width = width
        self._closed: list[deque[tuple[int, float]]] = [deque() for _ in range(distribution.keys)]
        self._last = np.zeros((distribution.keys, 4))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the estimated sums over the window that ends with the next step, (keys,), not below 0.

        Args:
            counts: Released integers of the step: the noisy counts, then for each whether it joins its open group
                (1) or not (0).
        """
        _, summaries, joined = self._groups.update_groups(counts)
        for key in np.flatnonzero(joined == 0):
            self._closed[key].appendleft((int(self._last[key, 0]), float(self._last[key, 3])))
        self._last = summaries
        sums = [self._sum_window(key) for key in range(len(summaries))]
        return np.maximum(sums, 0.0)

    def _sum_window(self, key: int) -> float:
        """Return the estimated sum of a key over the window: for its groups of steps, newest first, median times
        length.

        Args:
            key: Index of the key.
        """
        length = int(self._last[key, 0])
        median = float(self._last[key, 3])
        total = median * min(length, self._width)
        remaining = self._width - length
        closed = self._closed[key]
        for group_index, (length, median) in enumerate(closed):
            if remaining <= 0:
                while len(closed) > group_index:
                    closed.pop()
                break
            total += median * min(length, remaining)
            remaining -= length
        return total


class _GroupSummaries:
    """Lengths, means, sums of squares and medians of the open groups."""

    __slots__ = ("_groups", "keys")

    def __init__(self, keys: int) -> None:
        self.keys = keys
        self._groups = OpenGroups(keys)

    def update_groups(self, counts: Sequence[float]) -> tuple[FloatArray, FloatArray, IntArray]:
        """Add the released values of a step to the groups of similar steps, and return the counts with their groups.

        Args:
            counts: Released values of the step: noisy counts, then for each whether it joins its open group.

        Returns:
            Noisy counts, (keys,); length, mean, squared deviations and median of their groups, (keys, 4); and 1 for a
            count that joined its group, else 0, (keys,).
        """
        values = as_row(counts, 2 * self.keys)
        joined = values[:, self.keys :].astype(np.int64)
        return values[0, : self.keys], self._groups.add_values(values[:, : self.keys], joined)[0], joined[0]


def smooth_in_groups(values: FloatArray, summaries: FloatArray, variance: float, smoother: Smoother) -> FloatArray:
    """Return estimates of the newest counts from the noisy counts of their groups: neighbouring steps with nearly equal
    counts.

    James-Stein estimates shrink a count towards its group's mean by ``1 - (n - 3) * variance / squares``, not below 0,
    from 4 counts. (The paper has n - 1, adds the count instead of the mean, and allows negative factors, which is worse
    than the noisy count itself.)

    Args:
        values: Newest noisy counts, (...).
        summaries: Length in steps, mean, sum of squared deviations and median of each group, (..., 4).
        variance: Variance of the noise of a count.
        smoother: Median, average or James-Stein shrinkage.

    Returns:
        Estimates, (...).
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
    """Reading of one time step.

    Attributes:
        time_step: Number of the step, from 1.
        totals: Tuples so far, (keys,): integers that never decrease and add up along aggregations.
        windows: Sums over each window, by its width, (keys,): integers that add up and do not exceed the total or the
            sum over a longer window.
        noisy: Unbiased totals behind these, with their noise standard deviations.
        noisy_windows: Unbiased sums over each window.
    """

    QUANTITY: ClassVar[str] = "tuples so far"

    time_step: int
    totals: FloatArray
    windows: dict[int, FloatArray]
    noisy: NoisyValues
    noisy_windows: dict[int, NoisyValues]

    @property
    def counts(self) -> FloatArray:
        """Estimated totals, the numbers that displays show first."""
        return self.totals

    @property
    def events(self) -> dict[str, BoolArray]:
        """Empty: events are not detected in totals."""
        return {}

    @property
    def has_intervals(self) -> bool:
        """True: totals are unbiased, so they always have intervals."""
        return True

    def interval(self, level: float) -> Interval:
        """Return confidence intervals of the totals, for these records: lower and upper bounds, (keys,) each.

        Each interval has this level by itself, at this step, so bounds may decrease although totals do not. Intervals
        are centred on the unbiased totals and extended to contain the shown totals.

        Args:
            level: Confidence level of each interval, between 0 and 1.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        return self.noisy.interval(level, self.totals)

    def window_interval(self, width: int, level: float) -> Interval:
        """Return confidence intervals for the sums over a window, one per key.

        Args:
            width: Width of the window in time steps; one of the question's.
            level: Confidence level.

        Raises:
            InvalidArgument: the question has no window of this length.
        """
        if width not in self.windows:
            raise InvalidArgument(
                "width",
                f"must be a window of the question, {sorted(self.windows)}; got {describe_value(width)}",
            )
        return self.noisy_windows[width].interval(level, self.windows[width])

    def to_json(self, key: int) -> dict[str, Any]:
        """Return the reading of one key as plain objects, to two decimals, with bounds of intervals.

        Args:
            key: Index of the count, from 0.
        """
        plain: dict[str, Any] = {"total": round(float(self.totals[key]), 2)}
        plain["low"], plain["high"] = _round_interval(self.interval(LEVEL), key)
        plain["unbiased"] = round(float(self.noisy.values[key]), 2)
        for width, sums in self.windows.items():
            name = f"window:{width}"
            plain[name] = round(float(sums[key]), 2)
            plain[f"{name}:low"], plain[f"{name}:high"] = _round_interval(self.window_interval(width, LEVEL), key)
            plain[f"{name}:unbiased"] = round(float(self.noisy_windows[width].values[key]), 2)
        return {**plain, **INTERVAL_LABEL}


def _round_interval(interval: Interval, key: int) -> tuple[float, float]:
    """Return the bounds of one key, rounded to two decimals.

    Args:
        interval: Lower and upper ends, (keys,) each.
        key: Index of the key, from 0.
    """
    low, high = interval
    return round(float(low[key]), 2), round(float(high[key]), 2)


@dataclass(frozen=True, slots=True)
class Totals(StreamQuestion):
    """Running totals of tuples of each state at every time step, with an error that grows slowly.

    Attributes:
        axes: The states: one or several columns of categories, or a grid.
        time_steps: Public number of steps; None: without end.
        windows: Widths, in steps, of sliding sums. If there are any, the noise is optimised for them, not for the
            totals.
        forest: Aggregations of the states of the only axis, whose totals are sums over states, listed before the
            states; None: states only.
    """

    axes: tuple[Axis | Categories, ...]
    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    forest: Forest | None = None

    def __post_init__(self) -> None:
        StreamQuestion.__post_init__(self)
        if self.forest is not None:
            require_states(self.axes, self.forest)

    @property
    def events(self) -> tuple[Jump | Low | Event, ...]:
        """Empty: events are not detected in totals."""
        return ()

    @property
    def query(self) -> TimeStepQuery:
        """Query of running totals at each step; windows are read from its release."""
        return TimeStepQuery(self.axes, self.time_steps, self.windows, CountUse.PREFIXES)

    def reader(self, plan: Plan) -> TotalsReader:
        """Return a reader, which estimates counts and windows from the released integers step by step, from the first
        step.

        Args:
            plan: Plan of the stream.
        """
        return TotalsReader(self, plan)


class TotalsReader:
    """Reads released totals, step by step. It holds public numbers only."""

    __slots__ = (
        "_distribution",
        "_estimator",
        "_members",
        "_parents",
        "_ring",
        "_shown",
        "_sizes",
        "_windows",
        "time_step",
    )

    def __init__(self, question: Totals, plan: Plan) -> None:
        """Begin to estimate running totals and window sums from released integers, before the first step.

        Args:
            question: Question with its states, hierarchy and windows.
            plan: Plan of the stream, with the noise of the totals.
        """
        self._distribution = plan.distribution.require_type(PrefixDistribution)  # type: ignore[type-abstract]
        self._estimator = self._distribution.estimator()
        self._windows = question.windows
        groups = () if question.forest is None else question.forest.members
        self._members = [list(states) for states in groups]
        self._parents = [-1] * self._distribution.keys if question.forest is None else question.forest.parents
        self._shown = MonotoneTotals(self._parents)
        self._sizes = np.sqrt([*map(len, groups), *(1 for _ in range(self._distribution.keys))])
        self._ring = np.zeros((max(question.windows, default=0) + 1, len(self._sizes)))
        self.time_step = 0

    def read_next(self, values: Sequence[int]) -> TotalReading:
        """Return the reading after the integers of the next step.

        Args:
            values: Released integers of the step, in the order of the distribution.
        """
        self.time_step += 1
        length = len(self._ring)
        states = self._estimator.estimate_next(np.array(values, dtype=np.float64))
        sums = [states[members].sum() for members in self._members]
        self._ring[self.time_step % length] = np.concatenate((sums, states))
        noisy = self._noisy_values(self._ring[self.time_step % length].copy(), None)
        totals = self._shown.estimate_next(noisy.values, np.asarray(noisy.deviations))
        noisy_windows = {
            width: self._noisy_values(noisy.values - self._totals_before(width), width) for width in self._windows
        }
        return TotalReading(self.time_step, totals, self._fit_windows(totals, noisy_windows), noisy, noisy_windows)

    def _fit_windows(self, totals: FloatArray, noisy: dict[int, NoisyValues]) -> dict[int, FloatArray]:
        """Return estimated sums over windows, each at most the sum over the next wider window and adding up along the
        tree.

        A window of all steps is the total.

        Args:
            totals: Estimated totals so far, (keys,).
            noisy: Noisy sums by width of the window in steps.

        Returns:
            Estimated sums by width, (keys,) each.
        """
        fitted = dict[int, FloatArray]()
        upper_bounds = totals
        for width in sorted(set(noisy), reverse=True):
            upper_bounds = (
                totals if width >= self.time_step else fit_window(self._parents, noisy[width].values, upper_bounds)
            )
            fitted[width] = upper_bounds
        return {width: fitted[width] for width in noisy}

    def _totals_before(self, width: int) -> FloatArray:
        """Return the noisy running totals of `width` steps ago, to subtract them; zero before the first step.

        Args:
            width: Width of one of the question's windows; older totals are not stored.

        Returns:
            Totals of aggregations, then of states, (aggregations + states,).
        """
        totals: FloatArray = self._ring[(self.time_step - width) % len(self._ring)]
        return totals if self.time_step > width else np.zeros_like(totals)

    def _noisy_values(self, values: FloatArray, width: int | None) -> NoisyValues:
        """Return values with the standard deviations of their noise; an aggregation's is larger by the root of its
        states.

        Args:
            values: Estimates, one for each key.
            width: Steps of the window; None: the values are totals since the start.
        """
        deviations: FloatArray = sqrt(self._distribution.variance(self.time_step, width)) * self._sizes
        return NoisyValues(self._distribution.family, values, deviations)
