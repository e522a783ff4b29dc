"""Counts of a stream at every time step, and causal smoothing (filters) of the noisy counts over earlier steps.

At every time step, a noisy integer count of the tuples (rows) in each state, such as a ward, is released. Counts often
change slowly, so an average with earlier steps has less noise.

    Counts               question: counts of single states
    AggregatedCounts     question: counts of states, and of aggregations (sets of states, nested or disjoint)
    smooth_counts        smooths released counts; `AdaptiveSmoother` chooses among smoothers at each step

Formal guarantees: smoothing is a function of released integers and public facts, and sees no tuple. Such
post-processing loses no further privacy.
"""

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
from dpcurves.distributions import Family, IntervalSums
from dpcurves_streams.queries import Forest

from ..distributions import HierarchyCounts, NodeEstimates, PrunedCounts
from ..queries import HierarchyQuery, PrunedQuery, TimeStepQuery
from .question import (
    INTERVAL_LABEL,
    LEVEL,
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

# A bank of exponential smoothers, selected by unbiased risk estimates: loops over public numbers.
NEWEST_WEIGHTS: FloatArray = np.append(2.0 ** (-np.arange(19) / 2), 0.0)
"""Weights of the newest value: 1, that is the value itself, then down to 1/512 by factors of sqrt(2); and 0, that is
zero.
"""
LEAST_NEWEST_WEIGHT = float(NEWEST_WEIGHTS[-2])
"""Ratio. The smallest weight of the newest value above 0, 1/512. Slower smoothers are not tried."""
MEMORY_STEPS = 2000
"""Time steps of the stream, after which the estimated squared error of an exponential smoother counts 1/e as much as
the newest; fewer react faster and select less steadily."""
RISK_WEIGHT = 1 - 1 / MEMORY_STEPS
"""Ratio. Weight of an estimated risk after one more time step."""


@compile_loop
def smooth_counts(values: FloatArray, variances: FloatArray, time_steps_before: int, state: FloatArray) -> FloatArray:
    """Smooth noisy counts over time, each column by the exponential smoother whose estimated squared error is least so
    far.

    A smoother with rate a updates ``e <- e + a * (y - e)``; a is at least 1 / t, so its first values are means. Its
    squared error ``(e - c)**2`` has the unbiased estimate ``(e - y)**2 - variance + 2 * a * variance``, because y is c
    plus noise of this variance, and e contains a times this noise. Risks are discounted by `RISK_WEIGHT`.

    Zero has no noise. The difference between a smoother's risk and zero's risk is a sum of ``2 * e * y - e**2``, in
    which the noise of y is multiplied by ``2 * e``: its standard error is 2 noise standard deviations times the root of
    the sum of ``e**2`` of the steps before. A smoother beats zero if its risk is lower by more than this standard
    error, and beats other smoothers if its risk plus this standard error is lower.

    Args:
        values: Noisy counts, (time_steps, keys).
        variances: Noise variances, (keys,).
        time_steps_before: Number of steps that were smoothed before.
        state: Values of the smoothers, their risks and their sums of squares, (keys, 3, rates); changed in place.

    Returns:
        Smoothed counts, (time_steps, keys), none below 0. Row t depends on rows up to t only.
    """
    shown = np.empty(values.shape)
    scores = np.empty(NEWEST_WEIGHTS.shape)
    rates = NEWEST_WEIGHTS.copy()
    for key in range(values.shape[1]):
        variance = variances[key]
        levels = state[key, 0]
        risks = state[key, 1]
        squares = state[key, 2]
        for time_step in range(values.shape[0]):
            value = values[time_step, key]
            floor = 1.0 / (time_steps_before + time_step + 1)
            if time_step == 0 or 2 * floor > LEAST_NEWEST_WEIGHT:
                for rate in range(NEWEST_WEIGHTS.shape[0]):
                    rates[rate] = floor if 0.0 < NEWEST_WEIGHTS[rate] < floor else NEWEST_WEIGHTS[rate]
            for rate in range(NEWEST_WEIGHTS.shape[0]):  # branch-free, so that the loop vectorises
                old_level = levels[rate]
                square = RISK_WEIGHT * RISK_WEIGHT * squares[rate] + old_level * old_level
                new_level = old_level + rates[rate] * (value - old_level)
                risk = RISK_WEIGHT * risks[rate] + ((new_level - value) ** 2 + (2 * rates[rate] - 1) * variance)
                levels[rate], risks[rate], squares[rate] = new_level, risk, square
                scores[rate] = risk + np.sqrt(4 * variance * square)
            leader = 0
            least_score = scores[0]
            for rate in range(1, NEWEST_WEIGHTS.shape[0]):
                if scores[rate] < least_score:
                    leader = rate
                    least_score = scores[rate]
            shown[time_step, key] = max(levels[leader], 0.0)
    return shown


@compile_loop
def smooth_windows(
    values: FloatArray, variances: FloatArray, time_steps_before: int, state: FloatArray, ring: FloatArray
) -> FloatArray:
    """Smooth sums of noisy counts over sliding windows, each column by the exponential smoother whose estimated squared
    error is least so far, with the selection rule of `smooth_counts`.

    Smoothers begin at 0 with constant rates, so a value n steps before has weight ``1 - (1 - a)**(n + 1)`` in the sum
    of a window that contains it: the smoothed value of n + 1 ones. The squared error of the sum has the unbiased
    estimate ``(sum - raw)**2 - n * variance + 2 * variance * (sum of these weights)``. The noise of a step is in as
    many sums as a window has steps, so standard errors are multiplied by the width.

    Args:
        values: Noisy counts, (time_steps, keys).
        variances: Noise variances, (keys,).
        time_steps_before: Number of steps that were smoothed before.
        state: Values of the smoothers, risks, sums of squares, window sums, smoothed ones and their sums, (keys, 6,
            rates); changed in place.
        ring: Values that leave the window, (window, keys, rates); changed in place.

    Returns:
        Smoothed window sums, (time_steps, keys), none below 0. Row t depends on rows up to t only.
    """
    shown = np.empty(values.shape)
    window = ring.shape[0]
    for time_step in range(values.shape[0]):
        position = (time_steps_before + time_step) % window
        length = min(time_steps_before + time_step + 1, window)
        for key in range(values.shape[1]):
            variance = variances[key]
            key_state = state[key]
            leader = 0
            least_score = np.inf
            for rate in range(NEWEST_WEIGHTS.shape[0]):
                old_sum = key_state[3, rate]
                key_state[0, rate] += NEWEST_WEIGHTS[rate] * (values[time_step, key] - key_state[0, rate])
                if time_steps_before + time_step < window:
                    key_state[4, rate] += NEWEST_WEIGHTS[rate] * (1 - key_state[4, rate])
                    key_state[5, rate] += key_state[4, rate]
                key_state[2, rate] = RISK_WEIGHT * RISK_WEIGHT * key_state[2, rate] + old_sum * old_sum
                key_state[3, rate] = old_sum + (key_state[0, rate] - ring[position, key, rate])
                ring[position, key, rate] = key_state[0, rate]
                difference = key_state[3, rate] - key_state[3, 0]
                key_state[1, rate] = RISK_WEIGHT * key_state[1, rate] + (
                    difference * difference + (2 * key_state[5, rate] - length) * variance
                )
                score = key_state[1, rate] + window * np.sqrt(4 * variance * key_state[2, rate])
                if score < least_score:
                    leader, least_score = rate, score
            shown[time_step, key] = max(key_state[3, leader], 0.0)
    return shown


class UnsmoothedCounts:
    """The released counts, clipped at zero: a baseline, or for estimates that must not lag behind.

    Args:
        keys: Number of counts of a step.
    """

    __slots__ = ("_keys",)

    def __init__(self, keys: int = 1) -> None:
        self._keys = keys

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the released counts of the step, clipped at 0, (keys,).

        Args:
            counts: Released counts of the step, in the order of the keys.
        """
        counted: FloatArray = np.maximum(as_row(counts, self._keys)[0], 0.0)
        return counted


class UnsmoothedWindow:
    """Sums of the last counts, clipped at zero."""

    __slots__ = ("_passed", "_ring")

    def __init__(self, width: int, keys: int = 1) -> None:
        """Begin sums of released counts over a sliding window, before the first step.

        Args:
            width: Steps of a window.
            keys: Number of counts of a step.
        """
        if require_integer("width", width) < 1:
            raise InvalidArgument("width", f"must be at least 1 step, as in 12, got {width}")
        self._ring = np.zeros((width, keys))
        self._passed = 0

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the sums of the released counts over the last `width` steps, clipped at 0, (keys,).

        Args:
            counts: Released counts of the step, in the order of the keys.
        """
        self._ring[self._passed % len(self._ring)] = as_row(counts, self._ring.shape[1])[0]
        self._passed += 1
        sums: FloatArray = np.maximum(self._ring.sum(axis=0), 0.0)
        return sums


class AdaptiveSmoother:
    """Estimate the counts of a stream from counts with independent noise of known variance; post-processing, without
    loss.

    The candidates are the noisy count itself, exponential smoothers of many rates, and zero. As the noise variance is
    known, the squared error of each candidate has an unbiased estimate (Stein's, for linear estimates). At each step
    the candidate with the least discounted sum of these estimates is shown, but zero unless another candidate is better
    by a standard error; counts are clipped at zero. Sums are discounted over `MEMORY_STEPS` steps. On sparse or slowly
    changing streams the error is a small fraction of the noise; where counts exceed the noise it equals the noise,
    because the noisy count is a candidate.

    Args:
        variance: Noise variance of a count, or of each count.
        keys: Number of counts of a step, each smoothed separately.

    Raises:
        ValueError: the variance is negative or not finite, or there are no counts.

    >>> reading = AdaptiveSmoother(variance=200.0)
    >>> [round(reading.estimate_next_count(count), 1) for count in (14, -9, 3, 20, -16)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """

    __slots__ = ("_state", "_variances", "passed")

    def __init__(self, variance: float | FloatArray, keys: int = 1) -> None:
        self._variances = require_variances(variance, keys)
        self._state = np.zeros((keys, 3, len(NEWEST_WEIGHTS)))
        self.passed = 0

    def estimate_next_count(self, count: int) -> float:
        """Return the estimate of the newest count, for streams with one count per step.

        Args:
            count: Released count of the step.
        """
        return float(self.estimate_next((count,))[0])

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the estimates of the newest counts, (keys,).

        Args:
            counts: Released counts of the step, in the order of the keys.
        """
        (shown,) = self.estimate_all(as_row(counts, len(self._state)))
        return np.asarray(shown)

    def estimate_next_with_variances(self, counts: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the smoothed counts after one more time step, whose noise has other variances from now on.

        Args:
            counts: Noisy counts of the step, (keys,).
            variances: Noise variances, (keys,).
        """
        self._variances = require_variances(variances, len(self._state))
        (shown,) = self.estimate_all(counts[None])
        return np.asarray(shown)

    def estimate_all(self, counts: FloatArray) -> FloatArray:
        """Return the estimates of several steps, (time_steps, keys), as successive calls of `estimate_next` would.

        Args:
            counts: Released counts of consecutive steps, (time_steps, keys).
        """
        shown = smooth_counts(counts, self._variances, self.passed, self._state)
        self.passed += len(counts)
        return shown


class AdaptiveWindowSmoother(AdaptiveSmoother):
    """Estimate sums over the last steps from the same noisy counts, by the smoother that is best for sums.

    The method is `AdaptiveSmoother`'s: the candidates are the raw sum, sums of smoothed counts and zero, each with an
    unbiased estimate of its error as a sum. Before `width` steps have passed, the window contains all steps so far.
    """

    __slots__ = ("_ring",)

    def __init__(self, variance: float | FloatArray, width: int, keys: int = 1) -> None:
        """Begin smoothed sums of noisy counts over a sliding window, before the first step.

        Args:
            variance: Noise variance of a count, or of each count.
            width: Steps of a window.
            keys: Number of counts of a step.

        Raises:
            ValueError: the variance is negative or not finite, there are no counts, or the window is empty.
        """
        super().__init__(variance, keys)
        if require_integer("width", width) < 1:
            raise InvalidArgument("width", f"must be at least 1 step, as in 12, got {width}")
        self._state = np.zeros((keys, 6, len(NEWEST_WEIGHTS)))
        self._ring = np.zeros((width, keys, len(NEWEST_WEIGHTS)))

    def estimate_all(self, counts: FloatArray) -> FloatArray:
        """Return the estimated window sums of several steps, (time_steps, keys), as successive calls of `estimate_next`
        would.

        Args:
            counts: Released counts of consecutive steps, (time_steps, keys).
        """
        shown = smooth_windows(counts, self._variances, self.passed, self._state, self._ring)
        self.passed += len(counts)
        return shown


class Smoothing(Enum):
    """How counts are estimated from noisy counts."""

    AUTO = "auto"
    PLAIN = "plain"

    def count_estimator(self, variance: float | FloatArray, keys: int) -> SequentialEstimator:
        """Return the estimator of counts: `AdaptiveSmoother` for AUTO, `UnsmoothedCounts` for PLAIN.

        Args:
            variance: Variance of the noise of a count: for all keys, or (keys,).
            keys: Number of keys.
        """
        return AdaptiveSmoother(variance, keys) if self is Smoothing.AUTO else UnsmoothedCounts(keys)

    def window_estimator(self, variance: float | FloatArray, width: int, keys: int) -> SequentialEstimator:
        """Return the estimator of window sums: `AdaptiveWindowSmoother` for AUTO, `UnsmoothedWindow` for PLAIN.

        Args:
            variance: Variance of the noise of a count.
            width: Time steps of a window.
            keys: Number of keys.
        """
        return (
            AdaptiveWindowSmoother(variance, width, keys) if self is Smoothing.AUTO else UnsmoothedWindow(width, keys)
        )


class TimeStepReading:
    """Reading of one time step.

    Attributes:
        time_step: Number of the step, from 1.
        counts: Estimates of the counts, (keys,).
        windows: Estimates of the sums over each window, by its width, (keys,).
        events: Whether each event has happened, by its name, (keys,).
        noisy: Unbiased counts behind the estimates, with their noise standard deviations; None if pruning of a
            hierarchy biases them.
        noisy_windows: Unbiased sums over each window.
    """

    QUANTITY: ClassVar[str] = "tuples in a step"

    __slots__ = ("_written", "counts", "events", "noisy", "noisy_windows", "time_step", "windows")

    def __init__(
        self,
        time_step: int,
        counts: FloatArray,
        windows: dict[int, FloatArray],
        events: dict[str, BoolArray],
        *,
        noisy: NoisyValues | None,
        noisy_windows: dict[int, NoisyValues],
    ) -> None:
        """Make the reading of one time step from its estimates.

        Args:
            time_step: Number of the step, from 1.
            counts: Estimates of the counts, (keys,).
            windows: Estimates of the sums over each window, by its width, (keys,).
            events: Whether each event has happened, by its name, (keys,).
            noisy: Unbiased counts behind the estimates, with their noise; None if it is unknown.
            noisy_windows: Unbiased sums over each window, by its width.
        """
        self.time_step = time_step
        self.counts = counts
        self.windows = windows
        self.events = events
        self.noisy = noisy
        self.noisy_windows = noisy_windows
        self._written: dict[str, dict[str, FloatArray]] | None = None

    @property
    def has_intervals(self) -> bool:
        """True if the counts have confidence intervals; counts of a pruned hierarchy have none, because pruning biases
        them.
        """
        return self.noisy is not None

    def interval(self, level: float) -> Interval:
        """Return confidence intervals of this step's counts, for these records: lower and upper bounds, (keys,) each.

        They are centred on this step's noisy counts, since the bias of smoothing is unknown, and extended to contain
        the shown estimates. Each interval has this level by itself.

        Args:
            level: Confidence level of each interval, between 0 and 1.

        Raises:
            ValueError: the level is not between 0 and 1, or parts of a hierarchy were pruned.
        """
        return _require_noise(self.noisy).interval(level, self.counts)

    def window_interval(self, width: int, level: float) -> Interval:
        """Return confidence intervals for the sums over a window, one per key.

        Args:
            width: Width of the window in time steps; one of the question's.
            level: Confidence level.

        Raises:
            InvalidArgument: the question has no window of this length, or the noise is unknown since a hierarchy was
                pruned.
        """
        if width not in self.windows:
            raise InvalidArgument(
                "width",
                f"must be a window of the question, {sorted(self.windows)}; got {describe_value(width)}",
            )
        return _require_noise(self.noisy_windows.get(width)).interval(level, self.windows[width])

    def to_json(self, key: int) -> dict[str, Any]:
        """Return the estimates of one count (key) as a JSON object, to two decimals, with bounds of intervals.

        Args:
            key: Index of the count, from 0.

        Returns:
            JSON object: ``count``, ``window:WIDTH``, their ends, and for each event whether it has happened.
        """
        if self._written is None:
            columns = {"count": {"": self.counts}}
            if self.noisy is not None:
                columns["count"] |= _interval_numbers(self.interval(LEVEL), self.noisy)
            for width, sums in self.windows.items():
                columns[f"window:{width}"] = {"": sums}
                if width in self.noisy_windows:
                    known = self.window_interval(width, LEVEL), self.noisy_windows[width]
                    columns[f"window:{width}"] |= _interval_numbers(*known)
            self._written = columns
        plain: dict[str, Any] = {}
        for name, numbers in self._written.items():
            prefix = "" if name == "count" else f"{name}:"
            plain |= {
                f"{prefix}{suffix}" if suffix else name: round(float(row[key]), 2) for suffix, row in numbers.items()
            }
        happened = {name: bool(mask[key]) for name, mask in self.events.items()}
        stated = {} if self.noisy is None else INTERVAL_LABEL
        return {**plain, **happened, **stated}


def _interval_numbers(interval: Interval, noisy: NoisyValues) -> dict[str, FloatArray]:
    """Return the columns that files and frames write after an estimate: its interval and the unbiased number.

    Args:
        interval: Lower and upper ends of the intervals, (keys,) each.
        noisy: Unbiased numbers with their noise.

    Returns:
        Columns ``low``, ``high`` and ``unbiased``, (keys,) each.
    """
    return {"low": interval[0], "high": interval[1], "unbiased": noisy.values}


def _require_noise(noisy: NoisyValues | None) -> NoisyValues:
    """Return noisy numbers unchanged if their noise is known, so that intervals can be computed.

    Args:
        noisy: Noisy numbers; None for a pruned hierarchy, whose noise is not known.

    Raises:
        InvalidArgument: `noisy` is None.
    """
    if noisy is None:
        raise InvalidArgument("level", "a pruned hierarchy has no intervals; leave out the level")
    return noisy


@dataclass(frozen=True, slots=True)
class Counts(StreamQuestion):
    """Counts of tuples in each state at every time step; sums over windows and events are read from the same release.

    Attributes:
        axes: The states: one or several columns of categories, or a grid.
        time_steps: Public number of steps; None: without end.
        windows: Widths, in steps, of sliding sums.
        events: Events to detect: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy counts.
    """

    axes: tuple[Axis | Categories, ...]
    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> TimeStepQuery:
        """Query of the counts of all states at each step; all windows and events are read from its release."""
        return TimeStepQuery(self.axes, self.time_steps, self.windows)

    @property
    def keys(self) -> int:
        """Number of counts of a step."""
        return prod(axis.slots for axis in self.axes)

    def reader(self, plan: Plan) -> CountsReader:
        """Return a reader, which estimates counts and windows from the released integers step by step, from the first
        step.

        Args:
            plan: Plan of the stream.
        """
        noise = plan.distribution.require_type(IntervalSums).levels[-1].noise
        keys = self.keys
        sums = {width: self.smoothing.window_estimator(noise.variance, width, keys) for width in self.window_widths}
        known = CountNoise(noise.family, sqrt(noise.variance))
        return CountsReader(self, keys, self.smoothing.count_estimator(noise.variance, keys), sums, known)


class CountNoise(NamedTuple):
    """Distribution of the noise of counts.

    Attributes:
        family: Family of the draws that it is a sum of.
        deviations: Standard deviation: one for all counts, or (keys,).
    """

    family: Family
    deviations: FloatArray | float


class CountsReader:
    """Reads released counts, step by step, as its question declares. It is deterministic and holds public numbers
    only.
    """

    __slots__ = ("_counts", "_keys", "_known", "_last", "_noisy_sums", "_question", "_sums", "time_step")

    def __init__(
        self,
        question: StreamQuestion,
        keys: int,
        counts: SequentialEstimator,
        sums: Mapping[int, SequentialEstimator],
        noise: CountNoise | None,
    ) -> None:
        """Begin to estimate counts, window sums and events from released integers, before the first step.

        Args:
            question: Question with its windows and events.
            keys: Number of counts of a step.
            counts: Estimator of counts.
            sums: Estimators of sums over windows, by width: the question's windows and the windows of its `Low` events.
            noise: Distribution of the noise of the first `keys` values; None if it is unknown, and then there are no
                intervals.
        """
        self._question = question
        self._counts = counts
        self._sums = sums
        self._keys = keys
        self._known = noise
        self._noisy_sums = (
            {} if noise is None else {width: NoisySums(*noise, width, keys) for width in question.windows}
        )
        reach = max((event.width for event in question.events if not isinstance(event, Low)), default=1)
        self._last = np.zeros((reach, keys))
        self.time_step = 0

    def read_next(self, values: Sequence[float]) -> TimeStepReading:
        """Return smoothed counts, window sums and events of the next time step, from its released integers.

        Args:
            values: Released noisy counts of the step, keys first.
        """
        counts = self._counts.estimate_next(values)
        sums = {width: reader.estimate_next(values) for width, reader in self._sums.items()}
        self._last = np.concatenate((self._last[1:], counts[None]))
        self.time_step += 1
        windows = self._nest_windows(counts, sums)
        noisy, noisy_sums = self._noisy_values(values)
        # for each event whether it has happened, (keys,), by its name
        return TimeStepReading(
            self.time_step,
            counts,
            windows,
            {event.name: self._detect_event(event, sums) for event in self._question.events},
            noisy=noisy,
            noisy_windows=noisy_sums,
        )

    def _nest_windows(self, counts: FloatArray, sums: dict[int, FloatArray]) -> dict[int, FloatArray]:
        """Return sums over windows, corrected so that a wider window never has the smaller sum.

        Windows that contain the same steps so far get equal sums.

        Args:
            counts: Smoothed counts of the step, (keys,).
            sums: Smoothed sums by width of the window in steps.

        Returns:
            Sums by width, (keys,) each.
        """
        nested = dict[int, FloatArray]()
        time_steps = 1
        shorter = counts
        for width in sorted(set(self._question.windows)):
            shorter = shorter if min(width, self.time_step) == time_steps else np.maximum(sums[width], shorter)
            nested[width], time_steps = shorter, min(width, self.time_step)
        return {width: nested[width] for width in self._question.windows}

    def _noisy_values(self, values: Sequence[float]) -> tuple[NoisyValues | None, dict[int, NoisyValues]]:
        """Return the unbiased noisy counts of the step, and their sums over each window by its width.

        Args:
            values: Released noisy counts of the step, keys first.

        Returns:
            (counts, sums by width); (None, {}) if the noise is unknown.
        """
        if self._known is None:
            return None, {}
        raw = np.array(values[: self._keys], dtype=np.float64)
        return NoisyValues(self._known.family, raw, self._known.deviations), {
            width: sums.update_sums(raw) for width, sums in self._noisy_sums.items()
        }

    def _detect_event(self, event: Jump | Low | Event, sums: dict[int, FloatArray]) -> BoolArray:
        """Return for each key whether an event has happened, (keys,); False before enough steps have passed.

        Args:
            event: Declared event, with the number of time steps that it looks at.
            sums: Sums over the last time steps by width of the window, (keys,) each.
        """
        if self.time_step < event.width:
            return np.zeros(self._last.shape[1], dtype=np.bool_)
        if isinstance(event, Low):
            return event.detect_from_sum(sums[event.width])
        return event.detect(self._last[-event.width :])


@dataclass(frozen=True, slots=True)
class AggregatedCounts(StreamQuestion):
    """Counts of tuples in each state and each aggregation of states at every time step, with windows and events.

    Attributes:
        column: Column of states.
        forest: The states and their aggregations.
        time_steps: Public number of steps; None: without end.
        windows: Widths, in steps, of sliding sums.
        events: Events to detect: `Jump`, `Low` or `Event`.
        smoothing: How counts are estimated from noisy counts.
    """

    column: str
    forest: Forest
    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    smoothing: Smoothing = Smoothing.AUTO

    @property
    def query(self) -> HierarchyQuery:
        """Query of the counts of all states and aggregations at each step; windows and events are read from its
        release.
        """
        return HierarchyQuery.from_forest(self.column, self.forest, self.time_steps)

    def reader(self, plan: Plan) -> AggregatedReader:
        """Return a reader, which estimates counts and windows from the released integers step by step, from the first
        step.

        Args:
            plan: Plan of the stream.
        """
        return AggregatedReader(self, plan)


class AggregatedReader:
    """Reads released counts, step by step: least squares over the tree, then smoothing of every node.

    It is deterministic and holds public numbers only.
    """

    __slots__ = ("_estimates", "_reader")

    def __init__(self, question: AggregatedCounts, plan: Plan) -> None:
        """Prepare to estimate the counts of states, and of their sums along the question's hierarchy, step by step.

        Args:
            question: Question with its hierarchy of states, the widths of its windows, and the events it detects.
            plan: Plan of the stream, with the noise of each node of the hierarchy.
        """
        distribution = plan.distribution.require_type(HierarchyCounts)
        noises = [np.inf if noise is None else noise.variance for noise in distribution.noises]
        self._estimates = NodeEstimates(distribution.parents, np.array(noises))
        variances = self._estimates.variances
        keys = len(noises)
        sums = {width: question.smoothing.window_estimator(variances, width, keys) for width in question.window_widths}
        family = next(noise.family for noise in distribution.noises if noise is not None)
        known = CountNoise(family, np.sqrt(variances))
        self._reader = CountsReader(question, keys, question.smoothing.count_estimator(variances, keys), sums, known)

    def read_next(self, values: Sequence[int]) -> TimeStepReading:
        """Return estimated counts of all aggregations and states from the released integers of the next step.

        Args:
            values: Released integers of the step, in the order of the counted nodes.

        Returns:
            Estimates in the order of `state_labels`.
        """
        return self._reader.read_next(self._estimates.estimate_nodes(np.array(values, dtype=np.float64)).tolist())


# A hierarchy of states whose resolution follows the number of tuples at each time step.
@dataclass(frozen=True, slots=True)
class PrunedStates(StreamQuestion):
    """Counts of tuples in each state and each aggregation at every time step, with details only where there are many
    tuples.

    States below an undivided aggregation count as 0 at that step. `AggregatedCounts` is mostly more accurate: its
    estimates find empty parts from the noisy counts.

    Attributes:
        column: Column of states.
        forest: The states and their aggregations.
        minimum: An aggregation with at most about this many tuples is counted as a whole, not divided.
        time_steps: Public number of steps; None: without end.
        windows: Widths, in steps, of sliding sums.
        events: Events to detect: `Jump`, `Low` or `Event`.
        budget_fraction: Fraction of the loss for the decisions to divide.
    """

    column: str
    forest: Forest
    minimum: int
    time_steps: int | None = None
    windows: tuple[int, ...] = ()
    events: tuple[Jump | Low | Event, ...] = ()
    budget_fraction: Fraction = Fraction(1, 5)

    @property
    def query(self) -> PrunedQuery:
        """Query of a pruned hierarchy at each step; windows and events are read from its release."""
        axis = Categories(self.column, self.forest.states)
        return PrunedQuery(
            (axis,), self.time_steps, forest=self.forest, minimum=self.minimum, budget_fraction=self.budget_fraction
        )

    def reader(self, plan: Plan) -> CountsReader:
        """Return a reader, which estimates counts and windows from the released integers step by step, from the first
        step.

        Args:
            plan: Plan of the stream.
        """
        distribution = plan.distribution.require_type(PrunedCounts)
        keys = len(self.state_labels)
        sums: dict[int, SequentialEstimator] = {
            width: _PrunedWindowEstimator(distribution, width) for width in self.window_widths
        }
        return CountsReader(self, keys, _PrunedCountEstimator(distribution), sums, None)


class _PrunedCountEstimator:
    """Smoothed totals of all nodes, whose noise variances change from step to step."""

    __slots__ = ("_auto", "_distribution")

    def __init__(self, distribution: PrunedCounts) -> None:
        self._distribution = distribution
        self._auto = AdaptiveSmoother(distribution.noise.variance, len(distribution.parents))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the smoothed counts of all nodes, (nodes,), after the values of the next step.

        Args:
            counts: Released values of the step, in the order of the distribution.
        """
        totals, variances = self._distribution.sum_nodes(counts)
        return self._auto.estimate_next_with_variances(totals, variances)


class _PrunedWindowEstimator:
    """Unsmoothed window sums of the totals of all nodes."""

    __slots__ = ("_distribution", "_window")

    def __init__(self, distribution: PrunedCounts, width: int) -> None:
        self._distribution = distribution
        self._window = UnsmoothedWindow(width, len(distribution.parents))

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the unsmoothed window sums of all nodes, (nodes,), after the values of the next step.

        Args:
            counts: Released values of the step, in the order of the distribution.
        """
        return self._window.estimate_next(self._distribution.sum_nodes(counts)[0].tolist())
