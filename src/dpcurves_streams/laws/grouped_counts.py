"""Counts of a stream, each with noise of its own, and which ticks follow one another as a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dpcurves.laws.noise import Noise

from .tick_law import TickLaw


@dataclass(frozen=True, slots=True)
class GroupedCounts(TickLaw):
    """Each tick releases a noisy count for each key, and then, for each key, 1 if it joins the group at hand, else 0.

    A 0 after a 1, or after another group's first tick, is a group of its own that is closed at once; a 0 after that is
    the first tick of a new group.

    Attributes:
        keys: How many counts a tick has.
        noise: The noise of a count.
        common: The noise of a group's threshold, on the lattice of deviations.
        own: The noise of each test.
        threshold: The deviation from which on groups are closed, on the lattice.
    """

    KEY: ClassVar[str] = "grouped"

    keys: int
    noise: Noise
    common: Noise
    own: Noise
    threshold: int

    @property
    def size(self) -> int:
        return 2 * self.keys

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        noises = {"noise": self.noise.to_json(), "common": self.common.to_json(), "own": self.own.to_json()}
        law = {"keys": self.keys, self.KEY: self.threshold, **noises}
        return {**law, "values": list(values), "total": None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote."""
        noise, common, own = (Noise.from_json(stored[name]) for name in ("noise", "common", "own"))
        return cls(int(stored["keys"]), noise, common, own, int(stored[cls.KEY]))
