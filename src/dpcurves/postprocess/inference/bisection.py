"""Searching counts of prefixes for a quantile: an interval of thresholds is halved until it is one cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Bracket(NamedTuple):
    """The thresholds between which the crossing lies: above `low`, and not above `high`."""

    low: int
    high: int

    @property
    def middle(self) -> int | None:
        """The threshold that is asked next; None where there is nothing left to ask."""
        return (self.low + self.high) // 2 if self.high - self.low > 1 else None

    def after(self, reached: bool) -> Bracket:
        """The half that is left once the count of the middle is known."""
        middle = (self.low + self.high) // 2
        return Bracket(self.low, middle) if reached else Bracket(middle, self.high)


def bisected(cells: int, reached: Callable[[int], bool | None]) -> Bracket:
    """The bracket to which the answers lead, as far as there are answers: of one cell after ``ceil(log2(cells))``.

    The crossing is that of the isotonic regression of the counts, however weighted: those that were asked to the left
    of it do not reach, those to the right do, and pooling pools on one side alone. (Barczewski, Mawass and Ramon,
    Algorithm 1, halve real numbers, which need not end, and compare with a curve that is defined at thresholds only.)

    Args:
        cells: How many there are. The count of no cells does not reach, that of all does.
        reached: Whether the count of a threshold reaches the target; None where it is not known.

    >>> bisected(8, lambda threshold: threshold >= 5)
    Bracket(low=4, high=5)
    """
    bracket = Bracket(0, cells)
    while (middle := bracket.middle) is not None and (answer := reached(middle)) is not None:
        bracket = bracket.after(answer)
    return bracket
