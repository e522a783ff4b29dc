"""How much is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Attributes:
    draws: How often an estimate is drawn, for means of squares.
    trees: How often the recursion is run.
    kernels: How many kernels and distributions bounds are tried on.
    """  # fmt: skip

    draws: int
    trees: int
    kernels: int


FULL = Size(20_000, 2000, 200)
QUICK = Size(4000, 300, 40)
TINY = Size(500, 60, 4)
