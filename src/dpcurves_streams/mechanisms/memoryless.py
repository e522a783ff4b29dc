"""State of mechanisms whose noise and decisions at one tick are independent of all others: the tick alone."""

from __future__ import annotations

from dataclasses import dataclass

from dpcurves.mechanisms.sequential import read, written
from dpcurves.release import Plan

KIND = "memoryless noise"


@dataclass(frozen=True, slots=True, repr=False)
class Passed:
    """Nothing but the tick."""

    tick: int

    def to_bytes(self) -> bytes:
        """The tick."""
        return written(KIND, {"tick": self.tick})


class Memoryless:
    """Begins at no tick, and goes on from any."""

    __slots__ = ()

    def begin(self, plan: Plan) -> Passed:
        """No tick was answered."""
        return Passed(0)

    def restored(self, stored: bytes, plan: Plan) -> Passed:
        """The tick that was written."""
        return Passed(int(read(KIND, stored)["tick"]))
