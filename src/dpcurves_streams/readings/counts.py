"""Counts of tuples in each state, and in aggregations of states, at every tick; and smoothers of such counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import prod, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value, require_integer
from dpcurves.arrays import BoolArray, FloatArray, compile_loop
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories
from dpcurves.laws import Family, IntervalSums
from dpcurves_streams.queries import Forest

from ..laws import HierarchyCounts, NodeEstimates, PrunedCounts
from ..queries import HierarchyQuery, PrunedQuery, TickQuery
from .question import (
    LEVEL,
    STATED,
    Event,
    Interval,
    Jump,
    Low,
    NoisySums,
    NoisyValues,
    SequentialEstimator,
    StreamQuestion,
    as_row,
    require_variances,
)

# A bank of exponential smoothers, and which of them led by its unbiased risk: loops over public numbers.
HALVINGS = 19
RATES: FloatArray = np.append(2.0 ** (-np.arange(HALVINGS) / 2), 0.0)
"""Weights of the newest value: 1, the value itself, and less by steps of a square root of 2, to 1/512; and 0: zero."""
SLOWEST = float(RATES[-2])
MEMORY = 2000
"""Ticks over which risks are remembered: one of so many ticks ago counts 1/e of what one of now counts."""
KEPT = 1 - 1 / MEMORY


@compile_loop
def smooth_counts(values: FloatArray, variances: FloatArray, ticks_before: int, state: FloatArray) -> FloatArray:
    """Smooth each column of `values`, (ticks, keys), and give the leader of each tick, not below 0: the same shape.

    A smoother with weight a has ``e <- e + a * (y - e)``, and a is 1 / t at least, so that its first values are means.
    Its squared error ``(e - c)**2`` has the unbiased estimate ``(e - y)**2 - variance + 2 * a * variance``, for y is c
    plus noise with that variance, of which e has the part a. Risks forget by `KEPT`.

    Zero has no noise. What a smoother's risk has less than that of zero is a sum of ``2 * e * y - e**2``, and so on, in
    which the noise of y is multiplied by ``2 * e``: its standard error is 2 deviations of the noise times the root of
    the sum of ``e**2``, of the ticks before. A smoother leads zero if its risk is less by more than that, and other
    smoothers if its risk with that is less.

    Args:
        values: Noisy counts.
        variances: Those of their noise, (keys,).
        ticks_before: How many ticks were smoothed before.
        state: What smoothers are at, their risks, and their sums of squares, (keys, 3, rates): changed in place.
    """
    shown, scores, rates = np.empty(values.shape), np.empty(RATES.shape), RATES.copy()
    for key in range(values.shape[1]):
        variance, at, risks, squares = variances[key], state[key, 0], state[key, 1], state[key, 2]
        for tick in range(values.shape[0]):
            value, floor = values[tick, key], 1.0 / (ticks_before + tick + 1)
            if tick == 0 or 2 * floor > SLOWEST:
                for each in range(RATES.shape[0]):
                    rates[each] = floor if 0.0 < RATES[each] < floor else RATES[each]
            for each in range(RATES.shape[0]):  # without a branch, so that several are worked out at once
                before = at[each]
                square = KEPT * KEPT * squares[each] + before * before
                after = before + rates[each] * (value - before)
                risk = KEPT * risks[each] + ((after - value) ** 2 + (2 * rates[each] - 1) * variance)
                at[each], risks[each], squares[each] = after, risk, square
                scores[each] = risk + np.sqrt(4 * variance * square)
            leader, least = 0, scores[0]
            for each in range(1, RATES.shape[0]):
                if scores[each] < least:
                    leader, least = each, scores[each]
            shown[tick, key] = max(at[leader], 0.0)
    return shown


@compile_loop
def smooth_windows(
    values: FloatArray, variances: FloatArray, ticks_before: int, state: FloatArray, ring: FloatArray
) -> FloatArray:
    """Do as `smooth_counts` for sums over sliding windows: of each smoother's values, the leader's is given.

    Smoothers begin at 0 with weights that stay, so a value of n ticks before has the weight ``1 - (1 - a)**(n + 1)`` in
    the sum of a window that it lies in: what the smoother makes of n + 1 ones. The error of the sum has the unbiased
    estimate ``(sum - raw)**2 - n * variance + 2 * variance * (the sum of these weights)``. Noise of a tick is in as
    many sums as a window has ticks, so standard errors are that many times those of single ticks.

    Args:
        values: Noisy counts, (ticks, keys).
        variances: Those of their noise, (keys,).
        ticks_before: How many ticks were smoothed before.
        state: What smoothers are at, risks, sums of squares, their sums, what they make of ones, and the sum of that,
            (keys, 6, rates): changed in place.
        ring: What is to be taken off the sums again, (window, keys, rates): changed in place.
    """
    shown, window = np.empty(values.shape), ring.shape[0]
    for tick in range(values.shape[0]):
        place, length = (ticks_before + tick) % window, min(ticks_before + tick + 1, window)
        for key in range(values.shape[1]):
            variance, own = variances[key], state[key]
            leader, least = 0, np.inf
            for each in range(RATES.shape[0]):
                before = own[3, each]
                own[0, each] += RATES[each] * (values[tick, key] - own[0, each])
                if ticks_before + tick < window:
                    own[4, each] += RATES[each] * (1 - own[4, each])
                    own[5, each] += own[4, each]
                own[2, each] = KEPT * KEPT * own[2, each] + before * before
                own[3, each] = before + (own[0, each] - ring[place, key, each])
                ring[place, key, each] = own[0, each]
                off = own[3, each] - own[3, 0]
                own[1, each] = KEPT * own[1, each] + (off * off + (2 * own[5, each] - length) * variance)
                score = own[1, each] + window * np.sqrt(4 * variance * own[2, each])
                if score < least:
                    leader, least = each, score
            shown[tick, key] = max(own[3, leader], 0.0)
    return shown


class UnsmoothedCounts:
    """The released counts, those below zero as zero: a baseline, or for use where estimates may not lag behind.

    Args:
        keys: How many counts a tick has.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: int = 1) -> None:
        self._keys = keys

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """The counts, (keys,)."""
        counted: FloatArray = np.maximum(as_row(counts, self._keys)[0], 0.0)
        return counted


class UnsmoothedWindow:
    """The sums of the last counts, those below zero as zero.

    Args:
        width: How many ticks a window has.
        keys: How many counts a tick has.
    """

    __slots__ = ("_passed", "_ring")

    def __init__(self, width: int, keys: int = 1) -> None:
        if require_integer("width", width) < 1:
            raise InvalidArgument("width", f"at least 1 tick is needed, got {width}")
        self._ring = np.zeros((width, keys))
        self._passed = 0

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """The sums, (keys,)."""
        self._ring[self._passed % len(self._ring)] = as_row(counts, self._ring.shape[1])[0]
        self._passed += 1
        sums: FloatArray = np.maximum(self._ring.sum(axis=0), 0.0)
        return sums


class AdaptiveSmoother:
    """Estimate the counts of a stream from counts with independent noise of known variance: post-processing, free.

    The candidates are the noisy count itself, exponential smoothers of many widths, and zero. The squared error of each
    has an unbiased estimate, as the variance of the noise is known (Stein's, for linear estimates). At each tick the
    candidate with the least sum of these estimates so far is shown, but zero unless another one is better by a standard
    error; counts below zero are shown as zero. The sums are discounted, over `bank.MEMORY` ticks. On streams that are
    sparse or change slowly the error is a small part of that of the noise; on streams whose counts stand out from the
    noise it is that of the noise, for the noisy count is one of the candidates.

    Args:
        variance: The variance of the noise of one count; several, if it differs between counts.
        keys: How many counts a tick has, each followed on its own.

    Raises:
        ValueError: the variance is negative or not finite, or there is no count.

    >>> reading = AdaptiveSmoother(variance=200.0)
    >>> [round(reading.estimate_next_count(count), 1) for count in (14, -9, 3, 20, -16)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    __slots__ = ("_state", "_variances", "passed")

    def __init__(self, variance: float | FloatArray, keys: int = 1) -> None:
        self._variances = require_variances(variance, keys)
        self._state = np.zeros((keys, 3, len(RATES)))
        self.passed = 0

    def estimate_next_count(self, count: int) -> float:
        """The estimate of the newest count, where each tick has one."""
        return float(self.estimate_next((count,))[0])

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Estimates of the newest counts, (keys,)."""
        (shown,) = self.estimate_all(as_row(counts, len(self._state)))
        return np.asarray(shown)

    def estimate_next_with_variances(self, counts: FloatArray, variances: FloatArray) -> FloatArray:
        """Do as `estimate_next`, with these variances of the noise from this tick on."""
        self._variances = require_variances(variances, len(self._state))
        (shown,) = self.estimate_all(counts[None])
        return np.asarray(shown)

    def estimate_all(self, counts: FloatArray) -> FloatArray:
        """Estimates for several ticks at once, (ticks, keys): those that `estimate_next` gives one after the other."""
        shown = smooth_counts(counts, self._variances, self.passed, self._state)
        self.passed += len(counts)
        return shown


class AdaptiveWindowSmoother(AdaptiveSmoother):
    """Estimate sums over the last ticks from the same noisy counts, by the smoother that is best for sums.

    The method is that of `AdaptiveSmoother`: the candidates are the raw sum, sums of smoothed counts and zero, each with an
    unbiased estimate of its error as a sum. Until `width` ticks have passed, the window has all ticks so far.

    Args:
        variance: The variance of the noise of one count; several, if it differs between counts.
        width: How many ticks a window has.
        keys: How many counts a tick has.

    Raises:
        ValueError: the variance is negative or not finite, or there is no count, or no tick in a window.
    """

    __slots__ = ("_ring",)

    def __init__(self, variance: float | FloatArray, width: int, keys: int = 1) -> None:
        super().__init__(variance, keys)
        if require_integer("width", width) < 1:
            raise InvalidArgument("width", f"at least 1 tick is needed, got {width}")
        self._state = np.zeros((keys, 6, len(RATES)))
        self._ring = np.zeros((width, keys, len(RATES)))

    def estimate_all(self, counts: FloatArray) -> FloatArray:
        shown = smooth_windows(counts, self._variances, self.passed, self._state, self._ring)
        self.passed += len(counts)
        return shown


class Smoothing(Enum):
    """The estimator of counts from noisy ones."""

    AUTO = "auto"
    PLAIN = "plain"

    def count_estimator(self, variance: float | FloatArray, keys: int) -> SequentialEstimator:
        """The estimator of counts."""
        return AdaptiveSmoother(variance, keys) if self is Smoothing.AUTO else UnsmoothedCounts(keys)

    def window_estimator(self, variance: float | FloatArray, width: int, keys: int) -> SequentialEstimator:
        """The estimator of sums over windows."""
        return (
            AdaptiveWindowSmoother(variance, width, keys) if self is Smoothing.AUTO else UnsmoothedWindow(width, keys)
        )


class TickReading:
    """The reading of one tick.

    Attributes:
        tick: Its number, from 1 on.
        counts: Estimates of the counts, (keys,).
        windows: Estimates of the sums over each window, by its width, (keys,).
        events: Whether each event has happened, by its name, (keys,).
        noisy: The unbiased counts that the estimates were made from, with the standard deviations of their noise; None
            where parts of a hierarchy were left out, which biases them.
        noisy_windows: The unbiased sums over each window.
    """

    QUANTITY: ClassVar[str] = "tuples in a step"

    __slots__ = ("_written", "counts", "events", "noisy", "noisy_windows", "tick", "windows")

    def __init__(
        self,
        tick: int,
        counts: FloatArray,
        windows: dict[int, FloatArray],
        events: dict[str, BoolArray],
        *,
        noisy: NoisyValues | None,
        noisy_windows: dict[int, NoisyValues],
    ) -> None:
        self.tick, self.counts, self.windows, self.events = tick, counts, windows, events
        self.noisy, self.noisy_windows = noisy, noisy_windows
        self._written: dict[str, dict[str, FloatArray]] | None = None

    @property
    def has_intervals(self) -> bool:
        """Tell whether there are intervals: parts of a hierarchy that were left out bias the estimates."""
        return self.noisy is not None

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the counts of this tick, for these records: lower and upper ends, (keys,) each.

        They are centred on the noisy counts of this tick alone, for the bias of smoothing is unknown, and extended to
        hold the estimates that are shown. The level holds for each interval on its own.

        Raises:
            ValueError: the level is not between 0 and 1, or parts of a hierarchy were left out.
        """
        return _require_noise(self.noisy).interval(level, self.counts)

    def window_interval(self, width: int, level: float) -> Interval:
        """Do as `interval`, for the sums over a window that was asked for."""
        if width not in self.windows:
            raise InvalidArgument(
                "width",
                f"windows of {describe_value(sorted(self.windows))} ticks were asked for, got {describe_value(width)}",
            )
        return _require_noise(self.noisy_windows.get(width)).interval(level, self.windows[width])

    def to_json(self, key: int) -> dict[str, Any]:
        """The reading of one key, as plain objects, to two digits behind the point; with ends of intervals."""
        if self._written is None:
            found = {"count": {"": self.counts}}
            if self.noisy is not None:
                found["count"] |= _interval_numbers(self.interval(LEVEL), self.noisy)
            for width, sums in self.windows.items():
                found[f"window:{width}"] = {"": sums}
                if width in self.noisy_windows:
                    known = self.window_interval(width, LEVEL), self.noisy_windows[width]
                    found[f"window:{width}"] |= _interval_numbers(*known)
            self._written = found
        plain: dict[str, Any] = {}
        for name, numbers in self._written.items():
            before = "" if name == "count" else f"{name}:"
            plain |= {f"{before}{each}" if each else name: round(float(of[key]), 2) for each, of in numbers.items()}
        happened = {name: bool(each[key]) for name, each in self.events.items()}
        stated = {} if self.noisy is None else STATED
        return {**plain, **happened, **stated}


def _interval_numbers(interval: Interval, noisy: NoisyValues) -> dict[str, FloatArray]:
    """The numbers that are written behind an estimate."""
    return {"low": interval[0], "high": interval[1], "unbiased": noisy.values}


def _require_noise(noisy: NoisyValues | None) -> NoisyValues:
    if noisy is None:
        raise InvalidArgument("level", "no interval covers what is below aggregations that were not divided")
    return noisy


@dataclass(frozen=True, slots=True)
class Counts(StreamQuestion):
    """Counts of tuples in each state at every tick; sums over windows and events are read from the same release.

    Attributes:
        axes: The states: a column of categories, or several columns, or a grid.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy ones.
    """

    axes: tuple[Axis | Categories, ...]
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> TickQuery:
        """The query on the stream, which is paid for once."""
        return TickQuery(self.axes, self.ticks, self.windows)

    @property
    def keys(self) -> int:
        """The number of counts of a tick."""
        return prod(axis.slots for axis in self.axes)

    def reader(self, plan: Plan) -> CountsReader:
        """The reader of the releases of the plan, from the first tick on."""
        noise, keys = plan.law.require_type(IntervalSums).levels[-1].noise, self.keys
        sums = {width: self.smoothing.window_estimator(noise.variance, width, keys) for width in self.window_widths}
        known = CountNoise(noise.family, sqrt(noise.variance))
        return CountsReader(self, keys, self.smoothing.count_estimator(noise.variance, keys), sums, known)


class CountNoise(NamedTuple):
    """The law of the noise of counts.

    Attributes:
        family: That of the draws that it adds up.
        deviations: Its standard deviation: one of all counts, or (keys,).
    """

    family: Family
    deviations: FloatArray | float


class CountsReader:
    """Reads released counts, tick by tick, as its question says.

    Fed with the same integers it reads the same numbers. It holds public numbers alone.

    Args:
        question: The question, which says what windows and events there are.
        keys: How many counts a tick has.
        counts: The estimator of counts.
        sums: The estimators of sums over windows, by width: the windows of the question, and those of its `Low` events.
        known: The family and the deviations of the noise of the first values, one a key; None: they are not known, and
            there are no intervals.
    """

    __slots__ = ("_counts", "_keys", "_known", "_last", "_noisy_sums", "_question", "_sums", "tick")

    def __init__(
        self,
        question: StreamQuestion,
        keys: int,
        counts: SequentialEstimator,
        sums: Mapping[int, SequentialEstimator],
        noise: CountNoise | None,
    ) -> None:
        self._question, self._counts, self._sums, self._keys, self._known = question, counts, sums, keys, noise
        self._noisy_sums = (
            {} if noise is None else {width: NoisySums(*noise, width, keys) for width in question.windows}
        )
        reach = max((event.width for event in question.events if not isinstance(event, Low)), default=1)
        self._last = np.zeros((reach, keys))
        self.tick = 0

    def read_next(self, values: Sequence[float]) -> TickReading:
        """The reading after the integers of the next tick."""
        counts = self._counts.estimate_next(values)
        sums = {width: reader.estimate_next(values) for width, reader in self._sums.items()}
        self._last = np.concatenate((self._last[1:], counts[None]))
        self.tick += 1
        windows = self._nest_windows(counts, sums)
        noisy, noisy_sums = self._noisy_values(values)
        return TickReading(self.tick, counts, windows, self._detect_events(sums), noisy=noisy, noisy_windows=noisy_sums)

    def _nest_windows(self, counts: FloatArray, sums: dict[int, FloatArray]) -> dict[int, FloatArray]:
        """Sums over windows, none below the sum over a shorter one; of the same ticks so far they are the same."""
        nested, ticks, below = dict[int, FloatArray](), 1, counts
        for width in sorted(set(self._question.windows)):
            below = below if min(width, self.tick) == ticks else np.maximum(sums[width], below)
            nested[width], ticks = below, min(width, self.tick)
        return {width: nested[width] for width in self._question.windows}

    def _noisy_values(self, values: Sequence[float]) -> tuple[NoisyValues | None, dict[int, NoisyValues]]:
        if self._known is None:
            return None, {}
        raw = np.array(values[: self._keys], dtype=np.float64)
        return NoisyValues(self._known.family, raw, self._known.deviations), {
            width: sums.update_sums(raw) for width, sums in self._noisy_sums.items()
        }

    def _detect_events(self, sums: dict[int, FloatArray]) -> dict[str, BoolArray]:
        return {event.name: self._detect_event(event, sums) for event in self._question.events}

    def _detect_event(self, event: Jump | Low | Event, sums: dict[int, FloatArray]) -> BoolArray:
        if self.tick < event.width:
            return np.zeros(self._last.shape[1], dtype=np.bool_)
        return (
            event.detect_from_sum(sums[event.width])
            if isinstance(event, Low)
            else event.detect(self._last[-event.width :])
        )


@dataclass(frozen=True, slots=True)
class AggregatedCounts(StreamQuestion):
    """Counts of tuples in each state and each aggregation of states at every tick; windows and events of all.

    Attributes:
        column: The column of states.
        forest: The states, and their aggregations.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy ones.
    """

    column: str
    forest: Forest
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> HierarchyQuery:
        """The query on the stream, which is paid for once."""
        return HierarchyQuery.from_forest(self.column, self.forest, self.ticks)

    def reader(self, plan: Plan) -> AggregatedReader:
        """The reader of the releases of the plan, from the first tick on."""
        return AggregatedReader(self, plan)


class AggregatedReader:
    """Reads released counts, tick by tick: least squares over the tree, then every node on its own.

    Fed with the same integers it reads the same numbers. It holds public numbers alone.
    """

    __slots__ = ("_estimates", "_reader")

    def __init__(self, question: AggregatedCounts, plan: Plan) -> None:
        law = plan.law.require_type(HierarchyCounts)
        noises = [np.inf if noise is None else noise.variance for noise in law.noises]
        self._estimates = NodeEstimates(law.parents, np.array(noises))
        variances, keys = self._estimates.variances, len(noises)
        sums = {width: question.smoothing.window_estimator(variances, width, keys) for width in question.window_widths}
        family = next(noise.family for noise in law.noises if noise is not None)
        known = CountNoise(family, np.sqrt(variances))
        self._reader = CountsReader(question, keys, question.smoothing.count_estimator(variances, keys), sums, known)

    def read_next(self, values: Sequence[int]) -> TickReading:
        """The estimates after the integers of the next tick, for all nodes, in the order of `states`."""
        return self._reader.read_next(self._estimates.estimate_nodes(np.array(values, dtype=np.float64)).tolist())


# The question of a hierarchy of states that is as fine at each tick as there are tuples.
@dataclass(frozen=True, slots=True)
class PrunedStates(StreamQuestion):
    """Counts of tuples in each state and each aggregation at every tick, where there are many of them.

    What lies below an aggregation that was not divided counts as 0 at that tick. `AggregatedCounts`, whose estimates find the
    empty parts from the noisy counts themselves, is mostly more exact.

    Attributes:
        column: The column of states.
        forest: The states, and their aggregations.
        least: An aggregation with so many tuples or fewer is counted as a whole rather than divided.
        ticks: The number of ticks, which is public; None: without end.
        windows: Widths, in ticks, of sliding sums.
        events: The events to look for: `Jump`, `Low` or `Event`.
        budget_fraction: The part of the loss that is spent on choosing.
    """

    column: str
    forest: Forest
    least: int
    ticks: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    budget_fraction: Fraction = Fraction(1, 5)

    @property
    def query(self) -> PrunedQuery:
        """The query on the stream, which is paid for once."""
        axis = Categories(self.column, self.forest.states)
        return PrunedQuery(
            (axis,), self.ticks, forest=self.forest, least=self.least, budget_fraction=self.budget_fraction
        )

    def reader(self, plan: Plan) -> CountsReader:
        """The reader of the releases of the plan, from the first tick on."""
        law, keys = plan.law.require_type(PrunedCounts), len(self.state_labels)
        sums: dict[int, SequentialEstimator] = {
            width: _PrunedWindowEstimator(law, width) for width in self.window_widths
        }
        return CountsReader(self, keys, _PrunedCountEstimator(law), sums, None)


class _PrunedCountEstimator:
    """Smoothed totals of all nodes; how noisy each is differs from tick to tick."""

    __slots__ = ("_auto", "_law")

    def __init__(self, law: PrunedCounts) -> None:
        self._law, self._auto = law, AdaptiveSmoother(law.noise.variance, len(law.parents))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        totals, variances = self._law.sum_nodes(counts)
        return self._auto.estimate_next_with_variances(totals, variances)


class _PrunedWindowEstimator:
    """Plain sums of the totals of all nodes."""

    __slots__ = ("_law", "_window")

    def __init__(self, law: PrunedCounts, width: int) -> None:
        self._law, self._window = law, UnsmoothedWindow(width, len(law.parents))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        return self._window.estimate_next(self._law.sum_nodes(counts)[0].tolist())
