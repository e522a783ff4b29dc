"""How much is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Attributes:
    longest: Time steps of the streams on which the Grouper's loss is worked out.
    groups: Groups of random counts, and of noise.
    runs: How often a stream is released.
    time_steps: How many time_steps of it.
    """  # fmt: skip

    longest: int
    groups: int
    runs: int
    time_steps: int


FULL = Size(5, 20_000, 20, 20_000)
QUICK = Size(4, 4000, 4, 8000)
TINY = Size(3, 1000, 1, 2000)
