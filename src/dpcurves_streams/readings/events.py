"""Events of a stream, judged by estimates of its counts: jumps and drops, low signals, anything of a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcurves.arguments import Refused, make_whole, number
from dpcurves.arrays import BoolArray, FloatArray

Judge = Callable[[FloatArray], bool]


@dataclass(frozen=True, slots=True)
class Event:
    """An event that is decided from the last estimated counts of a state (Chen 2018, section 5.2.2).

    Attributes:
        name: What it is called where it is shown.
        width: How many counts are looked at; until so many ticks have passed, the event has not happened.
        happened: The function that says whether it has happened, from the estimates of one state, the newest last.

    >>> doubled = Event("doubled", 2, lambda counts: counts[1] > 2 * counts[0])
    >>> doubled.judge(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [True, False]
    """

    name: str
    width: int
    happened: Judge

    def __post_init__(self) -> None:
        make_whole(self, width="width")
        if self.width < 1:
            raise Refused("width", f"at least 1 count is looked at, got {self.width}")

    def judge(self, last: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from the estimates of the last ticks, (width, keys)."""
        return np.array([bool(self.happened(last[:, key])) for key in range(last.shape[1])])


@dataclass(frozen=True, slots=True)
class Jump:
    """The count differs by at least `least` from that of `lag` ticks before. (The paper compares with ``lag - 1``.)

    Raises:
        ValueError: the lag is below 1, or `least` no number above 0.
    """

    lag: int
    least: float

    def __post_init__(self) -> None:
        make_whole(self, lag="lag")
        if self.lag < 1 or not number("least", self.least) > 0:
            raise Refused("lag, least", f"a lag and a change above 0 are needed, got {self.lag}, {self.least}")

    @property
    def name(self) -> str:
        """The name of the event on the command line."""
        return f"jump:{self.lag}:{self.least:g}"

    @property
    def width(self) -> int:
        """The number of ticks that are looked at."""
        return self.lag + 1

    def judge(self, last: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from the estimates of the last ticks, (width, keys)."""
        happened: BoolArray = np.abs(last[-1] - last[0]) >= self.least
        return happened


@dataclass(frozen=True, slots=True)
class Low:
    """The sum of the counts of the last `width` ticks is below `below`.

    Raises:
        ValueError: the width is below 1.
    """

    width: int
    below: float

    def __post_init__(self) -> None:
        make_whole(self, width="width")
        if self.width < 1 or not number("below", self.below) > 0:
            raise Refused("width, below", f"ticks and a sum above 0 are needed, got {self.width}, {self.below}")

    @property
    def name(self) -> str:
        """The name of the event on the command line."""
        return f"low:{self.width}:{self.below:g}"

    def judge_sum(self, sums: FloatArray) -> BoolArray:
        """Tell whether the event has happened, for each key, from estimates of the sums over its window."""
        return sums < self.below
