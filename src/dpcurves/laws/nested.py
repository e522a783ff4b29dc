"""Nested tilings of cells, each interval with a noise of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import IntArray
from ..queries.region import laid_out
from .law import NoisySums, Part
from .noise import Noise


@dataclass(frozen=True, slots=True)
class Level:
    """Intervals that tile the cells of every row, and the noise of each of their sums.

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
    def from_json(cls, stored: Mapping[str, Any]) -> Level:
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

    levels: tuple[Level, ...]

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
