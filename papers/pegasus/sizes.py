"""How much is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Attributes:
    longest: Ticks of the streams on which the Grouper's loss is worked out.
    groups: Groups of random counts, and of noise.
    runs: How often a stream is released.
    ticks: How many ticks of it.
    """  # fmt: skip

    longest: int
    groups: int
    runs: int
    ticks: int


FULL = Size(5, 20_000, 20, 20_000)
QUICK = Size(4, 4000, 4, 8000)
TINY = Size(3, 1000, 1, 2000)
