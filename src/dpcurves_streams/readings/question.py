"""Questions about a stream: their base, readers of counts, events, and intervals of unbiased numbers."""

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
from dpcurves.data import Axis, Categories
from dpcurves.display import RECORDS
from dpcurves.laws import Family

from ..queries import TickQuery

# Intervals of unbiased numbers for these records: the reach of their noise.
LEVEL = 0.95
"""The level of intervals that are written and drawn where none is asked for."""
STATED: Mapping[str, float | str] = MappingProxyType({"level": LEVEL, "covers": RECORDS})
"""The label of intervals: they cover the noise, and nothing else."""
TINY = 1e-9
_ROUNDING = 0.5
"""By so much an interval is wider on each side, for integers have no other quantiles."""

Interval = tuple[FloatArray, FloatArray]
"""The lower and the upper ends, (keys,)."""


@dataclass(frozen=True, slots=True)
class NoisyValues:
    """Unbiased numbers, each with noise of a known law.

    Attributes:
        family: That of the draws that noise adds up.
        values: The numbers, (keys,).
        deviations: The standard deviations of their noise: one of all, or (keys,).
    """

    family: Family
    values: FloatArray
    deviations: FloatArray | float

    def interval(self, level: float, estimates: FloatArray) -> Interval:
        """The interval of each number at this level, and of the estimate that is shown; not below 0.

        Counts are whole, so ends are, but where what is shown lies beyond them. Each interval holds for itself, at one
        tick. Sums of Laplace draws have tails between those of one draw and those of Gaussian noise: the farther
        quantile of both is taken, so a little more is covered than `level` says. One draw is discrete: its own quantile
        is taken where that is farther still.

        Raises:
            ValueError: the level is not between 0 and 1.
        """
        deviations = np.asarray(self.deviations)
        reach = _noise_quantile(self.family, require_number("level", level)) * deviations + _ROUNDING
        if self.family is Family.LAPLACE:
            reach = np.maximum(reach, _laplace_reach(deviations, level))
        low, high = np.ceil(np.maximum(self.values - reach, 0.0)), np.floor(np.maximum(self.values + reach, 0.0))
        return np.minimum(low, estimates), np.maximum(high, estimates)


@lru_cache(maxsize=64)
def _noise_quantile(family: Family, level: float) -> float:
    """In standard deviations."""
    if not 0 < level < 1:
        raise InvalidArgument("level", f"a number between 0 and 1 is needed, got {level}")
    gaussian = NormalDist().inv_cdf((1 + level) / 2)
    return max(gaussian, -log(1 - level) / sqrt(2)) if family is Family.LAPLACE else gaussian


def _laplace_reach(deviations: FloatArray, level: float) -> FloatArray:
    """The integer that one discrete Laplace draw stays within with at least this chance.

    With ratio r from one chance to the next the variance is ``2 r / (1 - r)**2``, and more than m away lies
    ``2 r**(m + 1) / (1 + r)``.
    """
    variance = np.maximum(np.square(deviations, dtype=np.float64), TINY)
    ratio = (variance + 1 - np.sqrt(2 * variance + 1)) / variance
    within = np.log((1 - level) * (1 + ratio) / 2) / np.log(np.maximum(ratio, TINY)) - 1
    return np.asarray(np.maximum(np.ceil(within - TINY), 0.0))


class NoisySums:
    """Sums of the last numbers, which are independent: what is known of sliding windows.

    Args:
        family: That of the draws that noise adds up.
        deviations: The standard deviations of the noise of one number: one of all, or (keys,).
        width: How many ticks a window has.
        keys: How many numbers a tick has.
    """

    __slots__ = ("_deviations", "_family", "_passed", "_ring", "_sums")

    def __init__(self, family: Family, deviations: FloatArray | float, width: int, keys: int) -> None:
        self._family, self._deviations = family, deviations
        self._ring, self._sums, self._passed = np.zeros((width, keys)), np.zeros(keys), 0

    def update_sums(self, values: FloatArray) -> NoisyValues:
        """The sums, with the numbers of one more tick."""
        place = self._passed % len(self._ring)
        self._sums = self._sums + values - self._ring[place]
        self._ring[place] = values
        self._passed += 1
        ticks = min(self._passed, len(self._ring))
        return NoisyValues(self._family, self._sums, np.asarray(self._deviations) * sqrt(ticks))


class SequentialEstimator(Protocol):
    """Interface of sequential estimators: one number per key, from released integers tick by tick.

    A reader is made from public facts and changes by released integers alone: fed with the same ones it gives the same
    estimates, so it can be made again after a crash from what is stored.
    """

    def estimate_next(self, counts: Sequence[float]) -> FloatArray:
        """The estimates, (keys,), after the counts of one more tick."""
        ...


class TickNumbers(Protocol):
    """The reading of one tick, as it is shown, drawn and written.

    Attributes:
        QUANTITY: What the numbers are, in words.
    """

    QUANTITY: ClassVar[str]

    @property
    def tick(self) -> int:
        """Its number, from 1 on."""
        ...

    @property
    def counts(self) -> FloatArray:
        """The numbers that are shown first, (keys,)."""
        ...

    @property
    def windows(self) -> Mapping[int, FloatArray]:
        """Those over each window, by its width, (keys,)."""
        ...

    @property
    def events(self) -> Mapping[str, BoolArray]:
        """Masks of the events that have happened, by name, (keys,)."""
        ...

    @property
    def has_intervals(self) -> bool:
        """Tell whether there are intervals."""
        ...

    def interval(self, level: float) -> Interval:
        """Confidence intervals for the numbers, for these records."""
        ...

    def window_interval(self, width: int, level: float) -> Interval:
        """Do as `interval`, over a window that was asked for."""
        ...

    def to_json(self, key: int) -> dict[str, Any]:
        """The reading of one key, as plain objects."""
        ...


class TickReader(Protocol):
    """A reader of a whole question: it is fed the integers of one tick after the other."""

    def read_next(self, values: Sequence[int], /) -> TickNumbers:
        """The reading after the integers of the next tick."""
        ...


def as_row(counts: Sequence[float], keys: int) -> FloatArray:
    """The counts of one tick, (1, keys). Raises `ValueError` if there are more or fewer."""
    if len(counts) != keys:
        raise InvalidArgument("counts", f"a tick of this stream has {keys}, got {len(counts)}")
    return np.array([counts], dtype=np.float64)


def require_variances(variance: float | FloatArray, keys: int) -> FloatArray:
    """Variances that are known, (keys,). Raises `ValueError` if one is negative or not finite, or there is none."""
    if require_integer("keys", keys) < 1:
        raise InvalidArgument("keys", f"at least 1 count a tick is needed, got {keys}")
    variances = np.full(keys, variance, dtype=np.float64)
    if not np.all(np.isfinite(variances) & (variances >= 0)):
        raise InvalidArgument("variance", "numbers of at least 0 are needed")
    return variances


Judge = Callable[[FloatArray], bool]


@dataclass(frozen=True, slots=True)
class Event:
    """An event that is decided from the last estimated counts of a state (Chen 2018, section 5.2.2).

    Attributes:
        name: What it is called where it is shown.
        width: How many counts are looked at; until so many ticks have passed, the event has not happened.
        predicate: The function that says whether it has happened, from the estimates of one state, the newest last.

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
            raise InvalidArgument("width", f"at least 1 count is looked at, got {self.width}")

    def detect(self, last: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from the estimates of the last ticks, (width, keys)."""
        return np.array([bool(self.predicate(last[:, key])) for key in range(last.shape[1])])


@dataclass(frozen=True, slots=True)
class Jump:
    """The count differs by at least `min_change` from that of `lag` ticks before. (The paper compares with ``lag - 1``.)

    Raises:
        ValueError: the lag is below 1, or `min_change` no number above 0.
    """

    lag: int
    min_change: float

    def __post_init__(self) -> None:
        convert_to_integers(self, lag="lag")
        if self.lag < 1 or not require_number("min_change", self.min_change) > 0:
            raise InvalidArgument(
                "lag, min_change", f"a lag and a change above 0 are needed, got {self.lag}, {self.min_change}"
            )

    @property
    def name(self) -> str:
        """The name of the event on the command line."""
        return f"jump:{self.lag}:{self.min_change:g}"

    @property
    def width(self) -> int:
        """The number of ticks that are looked at."""
        return self.lag + 1

    def detect(self, last: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from the estimates of the last ticks, (width, keys)."""
        happened: BoolArray = np.abs(last[-1] - last[0]) >= self.min_change
        return happened


@dataclass(frozen=True, slots=True)
class Low:
    """The sum of the counts of the last `width` ticks is below `threshold`.

    Raises:
        ValueError: the width is below 1.
    """

    width: int
    threshold: float

    def __post_init__(self) -> None:
        convert_to_integers(self, width="width")
        if self.width < 1 or not require_number("threshold", self.threshold) > 0:
            raise InvalidArgument(
                "width, threshold", f"ticks and a sum above 0 are needed, got {self.width}, {self.threshold}"
            )

    @property
    def name(self) -> str:
        """The name of the event on the command line."""
        return f"low:{self.width}:{self.threshold:g}"

    def detect_from_sum(self, sums: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from estimates of the sums over its window."""
        return sums < self.threshold


class StreamQuestion:
    """A question with windows and events.

    Raises:
        TypeError: an event is none.
        ValueError: two events have one name, a window has no tick, or what is asked cannot be.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def ticks(self) -> int | None: ...

        @property
        def windows(self) -> tuple[int, ...]: ...

        @property
        def events(self) -> tuple[Jump | Low | Event, ...]: ...

        @property
        def query(self) -> TickQuery: ...

        def reader(self, plan: Plan) -> TickReader: ...

    def __post_init__(self) -> None:
        convert_tuples_to_integers(self, windows="windows")
        if any(window < 1 for window in self.windows):
            raise InvalidArgument("windows", f"widths of at least 1 tick are needed, got {min(self.windows)}")
        for event in self.events:
            require_type("events", event, (Jump, Low, Event), "a Jump, a Low or an Event")
        if len({event.name for event in self.events}) < len(self.events):
            raise InvalidArgument("events", "each has a name of its own")
        _ = self.query  # refuses what cannot be asked

    @property
    def window_widths(self) -> tuple[int, ...]:
        """Windows of which sums are needed: those that are asked for, and those of low signals."""
        return tuple(sorted({*self.windows, *(event.width for event in self.events if isinstance(event, Low))}))

    @property
    def state_labels(self) -> tuple[dict[str, Any], ...]:
        """The labels of the counts, aggregations first: the name of an aggregation, or the values of their fields."""
        axes, forest = self.query.axes, getattr(self, "forest", None)
        places = np.unravel_index(np.arange(self.query.keys), [axis.slots for axis in axes])
        columns = [[_state_label(axis, slot) for slot in slots] for axis, slots in zip(axes, places, strict=True)]
        names = [str(axis.column) for axis in axes]
        above = [] if forest is None else [{names[0]: name} for name in forest.names]
        return (*above, *(dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)))


def _state_label(axis: Axis | Categories, slot: int) -> Any:
    return axis.values[slot] if isinstance(axis, Categories) else float(axis.grid.edges[slot])
