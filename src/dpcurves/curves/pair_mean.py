"""A mean over all pairs of people, with the error of noise and of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from statistics import NormalDist

from ..arguments import chance
from ..arrays import FloatArray
from ..postprocess.inference.bands import interval, level_of_an_end
from ..release import PrivacyStatement

LEAST = 1e-6
"""The least deviation by noise that is told from none, in units of what cells leave open."""
UNSEEN = 3.0
"""People of whom a sample may have had none: with chance ``exp(-3)``, 5%."""


@dataclass(frozen=True, eq=False)
class UStatistic:
    """A U-statistic, that is, an average over pairs of people, with its interval and its bound on rounding to cells.

    Attributes:
        value: The estimate. The bias from noise is subtracted, except from areas under ROC curves.
        resolution: A bound on how far the statistic of cells may be from that of the exact values.
        level_of: A function that gives the ends of the interval for the statistic of the cells at a level; see
            `interval`.
        privacy: The privacy statement of the curve, or of the first of two.
        notes: The notes of the curves that it was computed from.
        least: The smallest value that the statistic can have.
        most: The largest value that the statistic can have.
        pairs: How many pairs answered, where pairs of people were drawn.
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
        """An interval that contains the statistic of these records' exact values with probability about `level`.

        The noise of the release is simulated (a parametric bootstrap about what was read), and the interval is widened
        by `resolution`, so that it holds wherever values lie inside their cells. Where that is much, noise can miss it
        at one end alone, and each end holds with a chance between ``(1 + level) / 2`` and `level`: see
        `level_of_an_end`, for which `resolution`, half of what lies between both ends, stands for all of it.

        Values that were clamped count as the ends of the grid. With `population`, it is for the expected value of the
        statistic. Samples of this size are then simulated along with the noise, with `UNSEEN` more people, whom a
        sample may have missed, spread evenly over the grid. The wider end of the basic and the percentile interval is
        taken on each side, as a few people of great weight skew both.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = chance("level", level)
        low, high = self.level_of(level, population)
        if self.resolution > 0:
            deviation = (high - low) / 2 / NormalDist().inv_cdf((1 + level) / 2)
            each = level_of_an_end(self.resolution / max(deviation, LEAST * self.resolution), level)
            low, high = self.level_of(2 * each - 1, population)
        low, high = low - self.resolution, high + self.resolution
        return min(max(low, self.least), self.most), max(min(high, self.most), self.least)


def ends_about(found: float, deviations: FloatArray, level: float, population: bool) -> tuple[float, float]:
    """The ends of the basic interval; for the population, also those of the percentile interval if they lie outside."""
    low, high = interval(found, deviations, level)
    if not population:
        return low, high
    below, above = interval(-found, deviations, level)
    return min(low, -above), max(high, -below)
