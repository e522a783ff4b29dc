"""How much is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Attributes:
    copies: t of Theorem 4.
    pushing: Queries below the threshold, of Theorem 2.
    runs: How often each attack is run.
    """  # fmt: skip

    copies: tuple[int, ...]
    pushing: int
    runs: int


FULL = Size((1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100), 10**7, 2000)
QUICK = Size((1, 2, 5, 10, 20, 50, 100), 10**6, 200)
TINY = Size((1, 10, 100), 10**5, 20)
