"""How much is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Attributes:
    draws: How often an estimate is drawn, for means of squares.
    trees: How often the recursion is run.
    kernels: How many kernels and distributions bounds are tried on.
    areas: How often the areas of Figure 5 are measured; those of Figure 3, of few people, five times as often.
    people: How many people each class of Figure 5 has.
    levels: Logarithms of the numbers of cells of both.
    """  # fmt: skip

    draws: int
    trees: int
    kernels: int
    areas: int
    people: int
    levels: tuple[int, ...]


FULL = Size(20_000, 2000, 200, 3, 10**6, (5, 9, 16))
QUICK = Size(4000, 300, 40, 2, 10**5, (5, 9, 12))
TINY = Size(500, 60, 4, 1, 1000, (3, 5))
