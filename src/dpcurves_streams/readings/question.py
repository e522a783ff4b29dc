"""Interfaces of stream questions: sliding windows, event detection, and confidence intervals of noisy counts.

A stream is a sequence of timestamped tuples (rows). At the end of every time step, noisy integer counts of its states
(such as wards) are released. A question defines the results, and its reader computes them from the released
integers, one step after the other.

    StreamQuestion        base class of questions, with windows (sums over the last steps) and events
    TimeStepReader        interface: takes the integers of the next step, and returns `TimeStepNumbers`
    NoisyValues           unbiased numbers with noise of a known distribution; `NoisySums` over sliding windows
    Jump, Low, Event      events of estimated counts: a change, a low sum, or any function of the last steps

Intervals account for the noise only, not for sampling from a population: estimate +- quantile of the noise, and not
below 0.

Formal guarantees: all results are functions of released integers and public facts, and see no tuple. Such
post-processing loses no further privacy.

Reference: Chen 2018, section 5.2.2 (events).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    convert_to_integers,
    convert_tuples_to_integers,
    require_integer,
    require_number,
    require_type,
)
from dpcurves.arrays import BoolArray, FloatArray
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories, Outside
from dpcurves.display import RECORDS
from dpcurves.distributions import Family

from ..queries import TimeStepQuery

# Intervals of unbiased numbers for these records, which account for noise only.
LEVEL = 0.95
"""Probability. Default confidence level of intervals in files and plots; a higher one widens them."""
INTERVAL_LABEL: Mapping[str, float | str] = MappingProxyType({"level": LEVEL, "covers": RECORDS})
"""Fields of each line of a reading that say what its intervals are: their level, and that they cover the noise only."""

Interval = tuple[FloatArray, FloatArray]
"""Lower and upper bounds, (keys,) each."""


@dataclass(frozen=True, slots=True)
class NoisyValues:
    """Unbiased numbers with noise of a known distribution.

    Attributes:
        family: Family (discrete Laplace or Gaussian) of the independent draws whose sum is the noise.
        values: The numbers, (keys,).
        deviations: Standard deviations of their noise: one for all, or (keys,).
    """

    family: Family
    values: FloatArray
    deviations: FloatArray | float

    def interval(self, level: float, estimates: FloatArray) -> Interval:
        """Return a confidence interval for each number, extended to contain the shown estimate; not below 0.

        Counts are integers, so bounds are integers, unless the estimate lies beyond them. Each interval has this level
        by itself, at one time step. Sums of Laplace draws have tails between one Laplace draw and Gaussian noise; the
        larger quantile of both is used, so coverage slightly exceeds `level`. A single draw is discrete, and its exact
        quantile is used if it is larger.

        Args:
            level: Confidence level of each interval, between 0 and 1.
            estimates: Shown estimates, of the shape of the numbers.

        Returns:
            Lower and upper ends, of the shape of the numbers.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        deviations = np.asarray(self.deviations)
        # continuity correction, because counts are integers
        radius = _noise_quantile(self.family, require_number("level", level)) * deviations + 0.5
        if self.family is Family.LAPLACE:
            radius = np.maximum(radius, _laplace_reach(deviations, level))
        counts = np.maximum(self.values, 0.0)  # impossible noisy counts must not narrow the interval
        low = np.ceil(np.maximum(counts - radius, 0.0))
        high = np.floor(counts + radius)
        return np.minimum(low, estimates), np.maximum(high, estimates)


@lru_cache(maxsize=64)
def _noise_quantile(family: Family, level: float) -> float:
    """Return the quantile that bounds noise on both sides with probability `level`, in standard deviations.

    Args:
        family: Family of the noise.
        level: Probability, between 0 and 1.

    Raises:
        InvalidArgument: `level` is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InvalidArgument("level", f"must be between 0 and 1, as in 0.95, got {level}")
    gaussian = NormalDist().inv_cdf((1 + level) / 2)
    return max(gaussian, -log(1 - level) / sqrt(2)) if family is Family.LAPLACE else gaussian


def _laplace_reach(deviations: FloatArray, level: float) -> FloatArray:
    """Return the smallest integer that a discrete Laplace draw exceeds in absolute value with probability <= 1 - level.

    If the ratio of successive probabilities is r, the variance is ``2 r / (1 - r)**2``, and the probability of
    exceeding m is ``2 r**(m + 1) / (1 + r)``.

    Args:
        deviations: Standard deviation of each draw.
        level: Confidence level, between 0 and 1.

    Returns:
        Integers of the shape of `deviations`.
    """
    least_divisor = 1e-9  # ratio: guards divisions and logarithms against zero
    variance = np.maximum(np.square(deviations, dtype=np.float64), least_divisor)
    ratio = (variance + 1 - np.sqrt(2 * variance + 1)) / variance
    within = np.log((1 - level) * (1 + ratio) / 2) / np.log(np.maximum(ratio, least_divisor)) - 1
    return np.asarray(np.maximum(np.ceil(within - least_divisor), 0.0))


class NoisySums:
    """Sliding sums of independent noisy numbers."""

    __slots__ = ("_deviations", "_family", "_passed", "_ring", "_sums")

    def __init__(self, family: Family, deviations: FloatArray | float, width: int, keys: int) -> None:
        """Begin sums of noisy numbers over a sliding window, before the first step.

        Args:
            family: Family (discrete Laplace or Gaussian) of the independent draws whose sum is the noise.
            deviations: Noise standard deviations of one number: one for all, or (keys,).
            width: Steps of a window.
            keys: Number of counts of a step.
        """
        self._family = family
        self._deviations = deviations
        self._ring = np.zeros((width, keys))
        self._sums = np.zeros(keys)
        self._passed = 0

    def update_sums(self, values: FloatArray) -> NoisyValues:
        """Add the noisy numbers of the next step, and return the sums over the sliding window with their noise
        deviations.

        Args:
            values: Noisy numbers of the step, (keys,).

        Returns:
            Sums over the last steps of the window, fewer at the beginning, (keys,).
        """
        position = self._passed % len(self._ring)
        self._sums = self._sums + values - self._ring[position]
        self._ring[position] = values
        self._passed += 1
        time_steps = min(self._passed, len(self._ring))
        return NoisyValues(self._family, self._sums, np.asarray(self._deviations) * sqrt(time_steps))


class SequentialEstimator(Protocol):
    """Interface of sequential estimators: one number per key, updated with the released integers of each step.

    An estimator is a deterministic function of public facts and released integers, so it can be rebuilt after a crash
    from stored releases.
    """

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """Return the estimated number of each key (counted state), such as a smoothed count, after the counts of the
        next step.

        Args:
            counts: Released integers of the step, in the order of the keys.

        Returns:
            Estimates, (keys,).
        """
        ...


class TimeStepNumbers(Protocol):
    """Interface of the reading of one time step.

    Attributes:
        QUANTITY: What the numbers are, as text.
    """

    QUANTITY: ClassVar[str]

    @property
    def time_step(self) -> int:
        """Number of the step, from 1."""
        ...

    @property
    def counts(self) -> FloatArray:
        """Main numbers of the step, which displays show first: counts or running totals, ``(keys,)``."""
        ...

    @property
    def windows(self) -> Mapping[int, FloatArray]:
        """Numbers over each sliding window, ``(keys,)`` each, by the width of the window in steps."""
        ...

    @property
    def events(self) -> Mapping[str, BoolArray]:
        """Masks of the events that have happened, by name, (keys,)."""
        ...

    @property
    def has_intervals(self) -> bool:
        """True if the numbers have confidence intervals, so that `interval` and `window_interval` may be called."""
        ...

    def interval(self, level: float) -> Interval:
        """Return a confidence interval at `level` for each number: lower and upper bounds, (keys,) each.

        The intervals account for the privacy noise only.

        Args:
            level: Confidence level of each interval, between 0 and 1.
        """
        ...

    def window_interval(self, width: int, level: float) -> Interval:
        """Return a confidence interval at `level` for each sum over a window: lower and upper bounds, (keys,) each.

        `width` is the width of the window in steps, one of the question's.

        Args:
            width: Width of the window in steps.
            level: Confidence level of each interval, between 0 and 1.
        """
        ...

    def to_json(self, key: int) -> dict[str, Any]:
        """Return the numbers of one count, given its index from 0, as an object for JSON.

        Args:
            key: Index of the count, from 0.

        Returns:
            Numbers by the names that the type of question documents.
        """
        ...


class TimeStepReader(Protocol):
    """Interface of the reader of a question, which takes the integers of one step after the other."""

    def read_next(self, values: Sequence[int], /) -> TimeStepNumbers:
        """Return the estimates of the next time step from its released integers; steps are read in order.

        Args:
            values: Released integers of the step, in the order of the distribution.
        """
        ...


def as_row(counts: Sequence[float], keys: int) -> FloatArray:
    """Return the counts of one time step as an array (1, keys), the shape in which estimators take several steps.

    Args:
        counts: Counts of one time step.
        keys: Number of counts that a step must have.

    Raises:
        ValueError: there are more or fewer counts.
    """
    if len(counts) != keys:
        raise InvalidArgument(
            "counts", f"must be {keys} counts per step, one for each state of the question, got {len(counts)}"
        )
    return np.array([counts], dtype=np.float64)


def require_variances(variance: float | FloatArray, keys: int) -> FloatArray:
    """Return noise variances as an array with one entry per key.

    Args:
        variance: One variance for all keys, or an array, (keys,).
        keys: Number of keys.

    Raises:
        ValueError: a variance is negative or not finite, or there are no keys.
    """
    if require_integer("keys", keys) < 1:
        raise InvalidArgument("keys", f"must be at least 1, got {keys}")
    variances = np.full(keys, variance, dtype=np.float64)
    if not np.all(np.isfinite(variances) & (variances >= 0)):
        raise InvalidArgument("variance", "must be finite and at least 0, as in 2.0")
    return variances


Judge = Callable[[FloatArray], bool]


@dataclass(frozen=True, slots=True)
class Event:
    """An event decided by a function of the last estimated counts of a state (Chen 2018, section 5.2.2).

    Attributes:
        name: Name in outputs.
        width: Number of counts that the function sees; before that many steps the event has not happened.
        predicate: Function of the estimates of one state, newest last, that returns whether the event has happened.

    >>> doubled = Event("doubled", 2, lambda counts: counts[1] > 2 * counts[0])
    >>> doubled.detect(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [True, False]
    """

    name: str
    width: int
    predicate: Judge

    def __post_init__(self) -> None:
        convert_to_integers(self, width="width")
        if self.width < 1:
            raise InvalidArgument("width", f"must be at least 1 step, as in 12, got {self.width}")

    def detect(self, last: FloatArray) -> BoolArray:
        """Return for each key whether the event has happened at the newest step, (keys,).

        Args:
            last: Estimated counts of the last steps, (width, keys), oldest first.
        """
        return np.array([bool(self.predicate(last[:, key])) for key in range(last.shape[1])])


@dataclass(frozen=True, slots=True)
class Jump:
    """The count differs by at least `min_change` from the count `lag` steps before.

    (Chen 2018 compares with the count ``lag - 1`` steps before.)

    Raises:
        ValueError: the lag is below 1, or `min_change` is not above 0.
    """

    lag: int
    min_change: float

    def __post_init__(self) -> None:
        convert_to_integers(self, lag="lag")
        if self.lag < 1 or not require_number("min_change", self.min_change) > 0:
            raise InvalidArgument(
                "lag, min_change",
                f"must be above 0, as in Jump(lag=7, min_change=30), got {self.lag}, {self.min_change}",
            )

    @property
    def name(self) -> str:
        """Name of the event as on the command line: ``jump:LAG:LEAST``."""
        return f"jump:{self.lag}:{self.min_change:g}"

    @property
    def width(self) -> int:
        """Number of newest steps that the event depends on: the lag and the present step."""
        return self.lag + 1

    def detect(self, last: FloatArray) -> BoolArray:
        """Return for each key whether its count has jumped: it changed by at least `min_change` over the lag, (keys,).

        Args:
            last: Estimated counts of the last steps, (width, keys), oldest first.
        """
        happened: BoolArray = np.abs(last[-1] - last[0]) >= self.min_change
        return happened


@dataclass(frozen=True, slots=True)
class Low:
    """The sum of the counts of the last `width` steps is below `threshold`.

    Raises:
        ValueError: the width is below 1, or the threshold is not above 0.
    """

    width: int
    threshold: float

    def __post_init__(self) -> None:
        convert_to_integers(self, width="width")
        if self.width < 1 or not require_number("threshold", self.threshold) > 0:
            raise InvalidArgument(
                "width, threshold",
                f"must be above 0, as in Low(width=3, threshold=10), got {self.width}, {self.threshold}",
            )

    @property
    def name(self) -> str:
        """Name of the event as on the command line: ``low:STEPS:BELOW``."""
        return f"low:{self.width}:{self.threshold:g}"

    def detect_from_sum(self, sums: FloatArray) -> BoolArray:
        """Return for each key whether the event has happened, from estimates of the sums over its window.

        Args:
            sums: Estimated sums over the window, (keys,).

        Returns:
            Mask, (keys,).
        """
        return sums < self.threshold


class StreamQuestion:
    """Base of questions with windows and events.

    Raises:
        TypeError: an event has a wrong type.
        ValueError: two events have the same name, a window is empty, or the query is invalid.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def time_steps(self) -> int | None:
            """Public number of steps; None: without end."""
            ...

        @property
        def windows(self) -> tuple[int, ...]:
            """Widths, in steps, of the sliding windows whose sums the question asks for."""
            ...

        @property
        def events(self) -> tuple[Jump | Low | Event, ...]:
            """Events that the question asks to detect, as the user specified them; not the detected events."""
            ...

        @property
        def query(self) -> TimeStepQuery:
            """The query that the stream answers at every step, charged once for all steps."""
            ...

        def reader(self, plan: Plan) -> TimeStepReader:
            """Return a reader, which estimates counts and windows from the released integers step by step, from the
            first step.

            Args:
                plan: Plan of the stream.
            """
            ...

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, windows="windows")
        if any(window < 1 for window in self.windows):
            raise InvalidArgument("windows", f"must be at least 1 step wide, as in (12,), got {min(self.windows)}")
        for event in self.events:
            require_type("events", event, (Jump, Low, Event), "a Jump, a Low or an Event")
        if len({event.name for event in self.events}) < len(self.events):
            raise InvalidArgument("events", "two events have the same name; give each its own")
        _ = self.query  # raises if the query is invalid

    @property
    def window_widths(self) -> tuple[int, ...]:
        """Widths of windows whose sums are needed: the question's windows and the windows of `Low` events."""
        return tuple(sorted({*self.windows, *(event.width for event in self.events if isinstance(event, Low))}))

    @property
    def state_labels(self) -> tuple[dict[str, Any], ...]:
        """Labels of the counts, aggregations first: the name of an aggregation, or the values of a state's fields."""
        axes = self.query.axes
        forest = getattr(self, "forest", None)
        indices = np.unravel_index(np.arange(self.query.keys), [axis.slots for axis in axes])
        columns = [[_state_label(axis, slot) for slot in slots] for axis, slots in zip(axes, indices, strict=True)]
        names = [str(axis.column) for axis in axes]
        aggregations = [] if forest is None else [{names[0]: name} for name in forest.names]
        return (*aggregations, *(dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)))


def _state_label(axis: Axis | Categories, slot: int) -> Any:
    """Return the name of a state for readers: its category, or the lower edge of its cell.

    For values outside a grid it is "below" or "above" and the edge.

    Args:
        axis: Declared states: categories or a grid.
        slot: Index of the state.

    >>> from dpcurves.data import Grid
    >>> grid = Grid(0, 9, cells=3, outside=Outside.APART)
    >>> [_state_label(Axis("x", grid), slot) for slot in range(5)]
    ['below 0', 0.0, 3.0, 6.0, 'above 9']
    """
    if isinstance(axis, Categories):
        return axis.values[slot]
    grid = axis.grid
    if grid.outside is not Outside.APART:
        return float(grid.edges[slot])
    if slot in (0, grid.slots - 1):
        return f"below {grid.lower:g}" if slot == 0 else f"above {grid.upper:g}"
    return float(grid.edges[slot - 1])
