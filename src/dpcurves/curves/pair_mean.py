"""What is read of all pairs of people: one number, with what noise and cells leave open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from ..arguments import chance
from ..arrays import FloatArray
from ..postprocess.inference.bands import interval
from ..release import PrivacyStatement

UNSEEN = 3.0
"""People of whom a sample may have had none: with chance ``exp(-3)``, 5%."""


@dataclass(frozen=True, eq=False)
class UStatistic:
    """An average over pairs of people, with what noise and cells leave open.

    Attributes:
        value: The estimate. But for areas, what noise adds to it on average is taken off.
        resolution: How far it may be from the statistic of the values themselves, of which only cells are known.
        level_of: The ends of the interval that has the statistic of the cells, at a level; see `interval`.
        privacy: What stands on the curve, or on the first of two.
        notes: What is remarked on the curves that it was read from.
        least: Below it no such statistic lies.
        most: Above it no such statistic lies.
        pairs: How many pairs came, where pairs of people were drawn.
    """

    value: float
    resolution: float
    level_of: Callable[[float, bool], tuple[float, float]]
    privacy: PrivacyStatement
    notes: tuple[str, ...] = ()
    least: float = -inf
    most: float = inf
    pairs: int | None = None

    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Two numbers that have the statistic of these records' values between them with about the chance `level`.

        The noise of the release is simulated (a parametric bootstrap about what was read), and the interval is widened
        by `resolution`, whatever the values are inside of their cells; values that were clamped count as the ends of
        the grid. With `population`, it is the mean of the statistic over samples of this size, which are simulated with
        the noise, and with `UNSEEN` people more, whom a sample may have missed, spread evenly over the grid. The
        outermost ends of the basic and of the percentile interval are taken, for few people of great weight skew both.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        low, high = self.level_of(chance("level", level), population)
        low, high = low - self.resolution, high + self.resolution
        return min(max(low, self.least), self.most), max(min(high, self.most), self.least)


def ends_about(found: float, deviations: FloatArray, level: float, population: bool) -> tuple[float, float]:
    """The ends of the basic interval; for the population, also those of the percentile interval if they lie outside."""
    low, high = interval(found, deviations, level)
    if not population:
        return low, high
    below, above = interval(-found, deviations, level)
    return min(low, -above), max(high, -below)
