"""The area under a ROC curve in two rounds, one class reporting scores and the other one bit, or in one round."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import NamedTuple

import numpy as np

from dpcurves.arguments import Refused, require_kind
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.curves import CdfQuestion
from dpcurves.curves.cdf import CDF
from dpcurves.curves.comparison import counts_of
from dpcurves.curves.pair_mean import UNSEEN, UStatistic
from dpcurves.curves.question import require_independent
from dpcurves.curves.u_statistic import MOST_CELLS, MOST_DRAWS
from dpcurves.data import Grid, Outside
from dpcurves.inference.bands import interval
from dpcurves.inference.simulation import draws_for, numbered_generator
from dpcurves.privacy import PrivacyLoss
from dpcurves.queries import Read

from .tallied import Tallied
from .task import Task

PARTS = 2**32
"""Chances are whole numbers of so many parts."""


class First(StrEnum):
    """The class that reports its scores in the first round."""

    NEGATIVES = "negatives"
    POSITIVES = "positives"


def chances_of_one(curve: CDF, first: First) -> IntArray:
    """With which chance a score in each slot stands right to one of the first class, ties counted half: in `PARTS`.

    A positive stands right above a negative.

    Raises:
        TypeError: it is no distribution function.
        ValueError: values outside the grid were counted apart.
    """
    require_kind("curve", curve, CDF, "a distribution function of the scores of one class")
    if curve.prefixes.grid.outside is Outside.APART:
        raise Refused("curve", "values outside were counted apart, and how they compare is not known")
    shares = likely_shares(curve)
    below = np.asarray(np.rint((shares[1:] + shares[:-1]) / 2 * PARTS)).astype(np.int64)
    return below if first is First.NEGATIVES else PARTS - below


class Bits(NamedTuple):
    """Randomised bits of people.

    Attributes:
        reports: How many people sent one.
        ones: How many are ones.
        gain: How much more often one is a one for a true one than for a zero.
        other: How often it is a one for a zero.
    """

    reports: int
    ones: int
    gain: float
    other: float

    @property
    def mean(self) -> float:
        """The share of ones before they were randomised, without bias."""
        return (self.ones / self.reports - self.other) / self.gain

    def means(self, draws: int) -> tuple[FloatArray, FloatArray]:
        """Draws whose lower and upper quantiles are the ends of Clopper and Pearson's (1934) interval for `mean`.

        Bits of given people scatter less than those of people who are drawn, for which it is made.
        """
        source, zeros = numbered_generator(5), self.reports - self.ones
        least = source.beta(self.ones, zeros + 1, draws) if self.ones else np.zeros(draws)
        most = source.beta(self.ones + 1, zeros, draws) if zeros else np.ones(draws)
        return (least - self.other) / self.gain, (most - self.other) / self.gain


def area_of_bits(curve: CDF, first: First, bits: Bits) -> UStatistic:
    """The area, from the scores of one class and one randomised bit of each person of the other.

    Its value is the share of ones among the bits, without the bias of flips: on average, given the first round, how
    often the published curve says that a positive has the higher score, a tie counted half. *What it is off by* is the
    error of the published curve, on average over the scores of the second class; and that of the bits, a binomial
    number. Where the scores of the second class lie is not known, so the interval takes the edge at which the curve is
    known least: it holds for any scores. `resolution` is half of the largest cell of the published curve.

    Args:
        curve: The distribution function of the first class, of which `chances_of_one` were published.
        first: Which class that is.
        bits: What the second class sent.
    """

    def ends(level: float, population: bool) -> tuple[float, float]:
        moved = errors_at_edges(curve, population) * (1 if first is First.NEGATIVES else -1)
        least, most = (each[:, None] for each in bits.means(len(moved)))
        low = [interval(0.0, column, level)[0] for column in (moved - least).T]
        high = [interval(0.0, column, level)[1] for column in (moved - most).T]
        return min(low), max(high)

    cells = float(np.diff(likely_shares(curve)).max()) / 2
    value = min(max(bits.mean, 0.0), 1.0)
    return UStatistic(value, cells, ends, curve.privacy, curve.notes, 0.0, 1.0)


def errors_at_edges(curve: CDF, population: bool) -> FloatArray:
    """Simulated errors of the shares below edges, (draws, edges): at most at `MOST_CELLS` edges, and as large anywhere.

    Edges that are left out may be known less well than those that are kept: errors are enlarged by as much.
    """
    law, total = curve.prefixes.evidence.sums, curve.prefixes.evidence.total
    edges = len(law.bounds)
    kept = np.unique(np.linspace(0, edges - 1, min(edges, MOST_CELLS + 1)).round().astype(np.int64))
    draws = min(MOST_DRAWS, draws_for(edges))
    noise = np.concatenate([part[:, kept] for part in law.simulated_prefixes(total, draws, numbered_generator(6))])
    variances = law.prefix_variances(total is not None)[0][law.bounds]
    most = float(variances[kept].max())
    scale = np.sqrt(float(variances.max()) / most) if most > 0 else 1.0
    shares, people = likely_shares(curve)[law.bounds[kept]], max(float(curve.count), 1.0)
    found = scale * (noise - shares * noise[:, -1:]) / people
    return np.asarray(found + _sampled(curve, shares, round(people), draws)) if population else np.asarray(found)


def _sampled(curve: CDF, shares: FloatArray, people: int, draws: int) -> FloatArray:
    """Deviations of shares of samples from those of the population, which has `UNSEEN` people more."""
    require_independent(curve.privacy)
    cells = np.diff(shares) * people + UNSEEN / (len(shares) - 1)
    cells /= cells.sum()
    drawn = numbered_generator(7).multinomial(people, cells, size=draws) / people - cells
    return np.concatenate([np.zeros((draws, 1)), np.cumsum(drawn, axis=-1)], axis=-1)


def likely_shares(curve: CDF) -> FloatArray:
    """Shares below the boundaries of all slots, which do not fall: the unbiased ones, made monotone."""
    slots = curve.prefixes.grid.slots
    bounds = np.asarray(curve.prefixes.evidence.sums.bounds)
    _, counts = counts_of(curve.prefixes, bounds)
    shares = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 1.0)
    shares[-1] = 1.0
    return np.asarray(np.interp(np.arange(slots + 1), bounds, shares))


@dataclass(frozen=True)
class Road:
    """A protocol for the area, where labels are public. Each person sends one report with the whole loss.

    Attributes:
        first: Which class reports its scores first, whose curve is published to the other. None: both report their
            scores, in one round.
        error: About the standard deviation of the area, of scores that are spread evenly.
    """

    first: First | None
    error: float

    @property
    def rounds(self) -> int:
        """The number of rounds, though each person is asked in one of them only."""
        return 1 if self.first is None else 2

    def __str__(self) -> str:
        if self.first is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first} report their scores, then the others one bit each"


def area_roads(grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int) -> tuple[Road, ...]:
    """Protocols for an area, the one with the least forecast error first. Forecasts are of tasks whose `aim` is
    ``Read.AREA``.

    Args:
        grid: Public cells of scores.
        loss: What one report may lose.
        positives: About how many positives report.
        negatives: About how many negatives do.

    Raises:
        ValueError: a class has nobody, or too many people.

    >>> import dpcurves as dp
    >>> best, *_ = area_roads(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=500, negatives=5000)
    >>> best.rounds, str(best.first)
    (2, 'negatives')
    """
    sizes = {First.NEGATIVES: negatives, First.POSITIVES: positives}
    scores = {first: Task(CdfQuestion("score", grid), loss, people, aim=Read.AREA) for first, people in sizes.items()}
    told = {first: scores_variance(task.plan.law.required(Tallied)) for first, task in scores.items()}
    roads = [Road(None, sqrt(sum(told.values())))]
    one_bit = Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1).plan.law.required(Tallied).levels[0]
    for first, second in ((First.NEGATIVES, positives), (First.POSITIVES, negatives)):
        roads.append(Road(first, sqrt(told[first] + 1 / (4 * float(one_bit.gain) ** 2 * second))))
    return tuple(sorted(roads, key=lambda road: road.error))


def scores_variance(law: Tallied) -> float:
    """The variance of an area that one class adds, given the scores of the other one: all are spread evenly.

    That of the mean of the curve over all its cells, of the people who report about one level or all; their scores are
    given.
    """
    return law.area_variance() / law.people**2
