"""Intervals of quantiles: from cells, from tests at each edge, and from searches along one tree of noises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..conversation import Evidence
from ..laws import Family, Noise, PathSums
from .bands import SLACK, dkw_bound, safe_rank

# Quantiles of records that were counted in cells: which cell holds one, and between which edges it lies for sure.


SMALLEST = np.nextafter(0.0, 1.0)


def find_quantile_cells(cells: FloatArray, shares: FloatArray, p: ArrayLike) -> FloatArray:
    """The cell in which the shares pass each `p`: where it begins and ends, (..., 2).

    Args:
        cells: Where each cell begins and ends, (cells, 2), rising; the first and the last end may be infinite.
        shares: The shares of the records below each boundary, from 0 to 1, not decreasing.
        p: Levels in [0, 1]. Level 0 is that of the least record.

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, np.inf]])
    >>> find_quantile_cells(cells, np.array([0.0, 0.0, 0.5, 1.0]), [0, 0.5, 0.9]).tolist()
    [[1.0, 2.0], [1.0, 2.0], [2.0, inf]]
    """
    levels = np.maximum(_require_levels(p), SMALLEST)
    right = np.clip(np.searchsorted(shares, levels), 1, len(shares) - 1)
    return np.asarray(cells[right - 1])


def find_quantile_ends(cells: FloatArray, lower: FloatArray, upper: FloatArray, p: ArrayLike) -> FloatArray:
    """Boundaries that have every quantile at each level between them, wherever records lie inside cells: (..., 2).

    A quantile at level p is any value q with at most a share p of the records below it and at least a share p at or
    below it: the least of them inverts the distribution function; with an even number of records, all from one middle
    record to the other are medians. *If the shares below all boundaries lie between `lower` and `upper`, each such q
    lies in* ``[left, right)``, where left is the last boundary with ``upper < p`` and right the first with
    ``lower > p``. For if q were below left, the records at or below q would lie below left, a share of at most
    ``upper < p``; and if q were at or above right, the records below right, a share of at least ``lower > p``, would
    lie below q. Nothing was used of where records lie between boundaries, so it holds with ties and heaps. (If the last
    finite edge is closed, and counts the records on it as below it, q may also be that edge.) Where cells hold one
    declared value each, all quantiles lie between two of these: the first and the last one in ``[left, right)``.

    Args:
        cells: Where each cell begins and ends, (cells, 2), rising, from -inf to inf; or the value in it, twice.
        lower: Shares below each boundary, at the least; not decreasing.
        upper: Shares below each boundary, at the most; not decreasing.
        p: Levels in [0, 1].

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, np.inf]])
    >>> find_quantile_ends(cells, np.array([0, 0.1, 0.3, 0.7, 1]), np.array([0, 0.2, 0.6, 0.9, 1]), [0.5, 0.8]).tolist()
    [[1.0, 3.0], [2.0, inf]]
    """
    levels = _require_levels(p)
    first = np.maximum(np.searchsorted(upper, levels, side="left") - 1, 0)
    last = np.minimum(np.searchsorted(lower, levels, side="right"), len(lower) - 1)
    return np.stack([cells[first, 0], cells[last - 1, 1]], axis=-1)


def choose_shown_values(cells: FloatArray, interpolated: FloatArray) -> FloatArray:
    """The value shown for a quantile in each of these cells, (..., 2): interpolated, or the one finite end of the cell.

    >>> choose_shown_values(np.array([[1.0, 2.0], [2.0, np.inf], [-np.inf, np.inf]]), np.array([1.5, 2.5, 3.5])).tolist()
    [1.5, 2.0, nan]
    """
    left, right = cells[..., 0], cells[..., 1]
    only = np.where(np.isfinite(left), left, np.where(np.isfinite(right), right, np.nan))
    return np.where(np.isfinite(left) & np.isfinite(right), interpolated, only)


def _require_levels(p: ArrayLike) -> NDArray[np.float64]:
    levels = np.asarray(p, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise InvalidArgument("p", f"levels between 0 and 1 are needed, got {levels.tolist()}")
    return levels


# Intervals for one quantile, or a few: a test at each edge whether the quantile may lie there.


FEW = 9
"""Quantiles up to which tests are read; a band over all edges is about as narrow for more of them.

(Of nine of a lognormal law on 1,000 cells tests are 0.86 to 0.97 times as wide, and of nine of beta(2, 3) on 64 cells
0.93 times: it was chosen on these.)
"""
BEYOND = 20.0
"""So many standard deviations away no draw needs to be compared: a test is decided there."""
ROUNDING = 1e-9


def are_few(quantiles: int, level: float, draws: int) -> bool:
    """Tell whether so many quantiles are read by tests. It depends on no released number, so either way covers."""
    return 1 <= quantiles <= FEW and (draws + 1) * (1 - level) / (2 * quantiles) >= 1


def find_ends_by_tests(  # noqa: PLR0917
    counts_below: FloatArray,
    noise: Iterable[FloatArray],
    p: FloatArray,
    level: float,
    generator: np.random.Generator | None,
    spread: FloatArray | None = None,
) -> IntArray:
    """Numbers of the boundaries that have all quantiles between them, at once with chance `level`: (quantiles, 2).

    They collect the edges at which the count is not significantly different from p of all (Brookmeyer and Crowley
    1982), and the cells beside these. *Proof of coverage, whatever ties there are and wherever records lie inside
    cells.* A quantile at level p is any value q with a share of at most p below it and of at least p at or below it.
    Let n records have a value, N be their noisy count and M_j the noisy count below boundary j, without bias; the
    noise of ``M_j - p N`` has a known law D_j. Let q be the least such quantile, and i the first boundary above it.
    At least ``p n`` records lie below i, so the chance is at most a that ``M_i - p N`` is below the quantile a of D_i.
    If it is not, the first boundary with this property is at or before i; the one before that, which is the left end,
    is at or below q. Now let q be the greatest such quantile, and i the last boundary at or below it: at most ``p n``
    records lie below i, and the right end is the boundary after the last one at which ``M_j - p N`` is not above the
    quantile ``1 - a`` of D_j. The interval fails only if one of these two tests does, however many there are, so a is
    half of the error chance: divided by the number of quantiles (Bonferroni), if there are several. No value of a
    count enters D_j, so nothing is estimated.

    For the population that n independent units were drawn from, the share F_i below i is at least p, and the number of
    units below it is binomial: it is smallest, in law, if F_i is p. So D_j has the error of a binomial number with the
    chance p added; n is taken as N.

    Boundaries may depend on earlier answers, for given these the noise has its law: see `PrefixWorkload`. For the population
    that holds up to how layouts change the quantile of D: the number of units below a quantile bounds the count below
    each boundary before it whatever the boundaries are, and its binomial law is that before any answer.

    Args:
        counts_below: Unbiased counts below the boundaries that were counted, (points,): below the first lies nothing, below
            the last all records.
        noise: Simulated noise of these, in chunks of (draws, points).
        p: Levels in [0, 1], (quantiles,).
        level: The chance to hold all of the quantiles.
        generator: For samples of a population; None: the quantiles are those of the records.
        spread: The variance of the sampled excess at each quantile, in units of that of `counts_below[-1]` records, where
            records have weights: it is then taken as that of so many times fewer of them. None: 1.

    Raises:
        ValueError: the level needs more draws.

    >>> exact = [np.zeros((1000, 5))]
    >>> find_ends_by_tests(np.array([0.0, 10, 40, 50, 100]), exact, np.array([0.3, 0.5]), 0.9, None).tolist()
    [[1, 2], [2, 4]]
    """
    excess = counts_below - p[:, None] * counts_below[-1]
    spread = np.ones(len(p)) if spread is None else spread
    more, less, draws = _count_exceeding_draws(excess, noise, p, generator, float(max(counts_below[-1], 1.0)), spread)
    error = (1 - level) / (2 * len(p))
    rank = safe_rank(draws, 1 - error, SLACK / (2 * len(p)))
    reached, passed = more < rank, less < rank  # p of all may lie below; no more than p of all may lie below
    reached[:, -1], passed[:, 0] = True, True
    first = np.maximum(np.argmax(reached, axis=1) - 1, 0)
    last = np.minimum(len(counts_below) - np.argmax(passed[:, ::-1], axis=1), len(counts_below) - 1)
    return np.stack([first, last], axis=-1)


def _count_exceeding_draws(  # noqa: PLR0917
    excess: FloatArray,
    noise: Iterable[FloatArray],
    p: FloatArray,
    generator: np.random.Generator | None,
    units: float,
    spread: FloatArray,
) -> tuple[IntArray, IntArray, int]:
    """Numbers of draws above and below each excess, (quantiles, points); and of all draws."""
    sampled, rounding, near, draws = units * p * (1 - p) * spread, ROUNDING * units, None, 0
    more, less = np.zeros(excess.shape, dtype=np.int64), np.zeros(excess.shape, dtype=np.int64)
    for chunk in noise:
        if near is None:
            near = _mark_undecided(excess, chunk, sampled if generator is not None else np.zeros(len(p)))
        draws += len(chunk)
        for place, share in enumerate(p.tolist()):
            error = chunk[:, near] - share * chunk[:, -1:]
            if generator is not None:
                size, each = round(units / spread[place]), float(spread[place])
                error += each * (generator.binomial(size, share, len(chunk)) - share * size)[:, None]
            more[place, near] += np.count_nonzero(error > excess[place, near] + rounding, axis=0)
            less[place, near] += np.count_nonzero(error < excess[place, near] - rounding, axis=0)
    far = np.ones(excess.shape[1], dtype=np.bool_) if near is None else ~near
    more[:, far], less[:, far] = draws * (excess[:, far] < 0), draws * (excess[:, far] > 0)
    return more, less, draws


def _mark_undecided(excess: FloatArray, chunk: FloatArray, sampled: FloatArray) -> NDArray[np.bool_]:
    """The points at which some test is not decided before any draw is looked at.

    The deviations are those of the first chunk, which may have few draws: all its noises together tell of them.
    """
    squares = np.maximum(np.mean(chunk**2, axis=0), np.mean(chunk**2)) + np.mean(chunk[:, -1] ** 2)
    return np.asarray((excess**2 <= BEYOND**2 * (squares + sampled[:, None])).any(axis=0))


# Tail bound of a sum of noises: it holds for the exact law, not only for many noises.


class WeightedNoise(NamedTuple):
    """A number of independent noises of one law, each multiplied by `weight`."""

    draws: int
    weight: float
    noise: Noise


@lru_cache(maxsize=4096)  # a pure function of public facts
def tail_bound(parts: tuple[WeightedNoise, ...], probability: float) -> float:
    """The number that the sum of independent noises exceeds with at most this chance; by symmetry, likewise below.

    By Chernoff: for any rate t, the sum exceeds ``(log E exp(t * sum) - log chance) / t`` with at most this chance; the
    best rate is searched. Of a discrete Laplace law with ``q = exp(-1 / scale)`` the mean of exp(t * z) is
    ``(1 - q)**2 / ((1 - q * exp(t)) * (1 - q * exp(-t)))``, of a discrete Gaussian one it is at most
    ``exp(t**2 * variance / 2)`` (Canonne, Kamath and Steinke 2020, Corollary 17).

    >>> from fractions import Fraction
    >>> round(tail_bound((WeightedNoise(4, 1.0, Noise(Family.GAUSSIAN, Fraction(9))),), 0.025), 2)
    16.3
    """
    present = [part for part in parts if part.draws and part.weight]
    if not present:
        return 0.0
    largest = min(part.noise.largest_rate / abs(part.weight) for part in present)
    spread = sqrt(sum(part.draws * part.weight**2 * part.noise.variance for part in present))

    def chernoff_bound(log_rate: float) -> float:
        rate = exp(log_rate)
        if rate >= largest:
            return inf
        moments = sum(part.draws * float(part.noise.parties) * _log_moment_of_draw(part, rate) for part in present)
        return (moments - log(probability)) / rate

    highest = log(largest) if largest < inf else log(sqrt(-2 * log(probability)) / spread) + 10
    best = min(highest, log(sqrt(-2 * log(probability)) / max(spread, 1e-300)))  # of a Gaussian sum
    ends = (best - 10, highest)
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(chernoff_bound, bounds=ends, method="bounded", options={"xatol": 1e-6}).fun)


def _log_moment_of_draw(part: WeightedNoise, rate: float) -> float:
    """That of one draw by one party."""
    rate *= abs(part.weight)
    if part.noise.family is Family.GAUSSIAN:
        return rate**2 * float(part.noise.parameter) / 2
    decay = 1 / float(part.noise.parameter)
    return 2 * log(-expm1(-decay)) - log(-expm1(rate - decay)) - log(-expm1(-rate - decay))


def roundest_threshold(low: int, high: int) -> int:
    """The threshold between both that most powers of two divide: where counts are sums along a binary tree, the next
    one on the way down.

    >>> roundest_threshold(0, 1000), roundest_threshold(512, 1000), roundest_threshold(0, 512)
    (512, 768, 256)
    """
    depth = (low ^ (high - 1)).bit_length() - 1
    return (high - 1) >> depth << depth


class Bracket(NamedTuple):
    """The thresholds between which the crossing lies: above `low`, and not above `high`."""

    low: int
    high: int

    def next_threshold(self) -> int | None:
        """The threshold that is asked next; None where there is nothing left to ask."""
        return roundest_threshold(self.low, self.high) if self.high - self.low > 1 else None


def bisect_bracket(cells: int, reached: Callable[[int], bool | None]) -> Bracket:
    """The bracket to which the answers lead, as far as there are answers: of one cell after ``ceil(log2(cells))``.

    The crossing is that of the isotonic regression of the counts, however weighted: those that were asked to the left
    of it do not reach, those to the right do, and pooling pools on one side alone. (Barczewski, Mawass and Ramon,
    Algorithm 1, halve real numbers, which need not end, and compare with a curve that is defined at thresholds only.)

    Args:
        cells: How many there are. The count of no cells does not reach, that of all does.
        reached: Whether the count of a threshold reaches the target; None where it is not known.

    >>> bisect_bracket(8, lambda threshold: threshold >= 5)
    Bracket(low=4, high=5)
    """
    bracket = Bracket(0, cells)
    while (middle := bracket.next_threshold()) is not None and (answer := reached(middle)) is not None:
        bracket = Bracket(bracket.low, middle) if answer else Bracket(middle, bracket.high)
    return bracket


@dataclass(frozen=True)
class PathQuantile:
    """Searches in one tree of noises: for the quantile, and for the ends of an interval around it.

    The excess of a threshold is its count less a share p of all records; it crosses 0 at the quantile. The search for
    the lower end takes a threshold as reached as soon as noise may hide that it is, that for the upper end only once
    noise cannot feign it. *The interval holds the true quantile with at least the chance that is asked.* For the true
    crossing q is no matter of chance, nor are the ``ceil(log2(cells))`` thresholds that a search without errors for q
    asks. The lower end comes to lie above q only if that search takes a threshold at or above q as not reached, and the
    first such threshold is one of these; the upper end likewise, at a threshold below q. There noise is beyond its
    margin, on the one side that matters for this threshold, and the chance of this was divided by their number.

    Two searches more are made where units are single and independent: for an interval that *holds the quantile of the
    population that they were drawn from*. Their margins have room for half of the chance of an error by noise, and for
    the other half by sampling: at all thresholds at once, shares of the records are off those of the population by no
    more than `dkw_bound` says, and the argument is the same, with the crossing of the population's shares for q.

    A search that meets a count that nobody asked for ends there, with a wider bracket. It made no step that the whole
    search would not make, so its interval holds with the same chance, whatever level was searched for.

    Attributes:
        law: The law of the counts.
        counts: By threshold.
        missing: How many records are missing, where that was asked for.
        total: The public number of records, where missing records were counted; else all are counted by noise.
        p: The share.
        level: The chance with which the interval holds the quantile.
        independent: Whether an interval for the population is searched for, too.
    """

    law: PathSums
    counts: Mapping[int, int]
    missing: int | None
    total: int | None
    p: float
    level: float
    independent: bool = False

    @classmethod
    def from_evidence(cls, evidence: Evidence, p: float, level: float, *, independent: bool = False) -> PathQuantile:
        """From all that was released."""
        law = evidence.path_sums
        missing = None if law.missing is None else evidence.values[-1]
        counts = dict(zip(law.prefix_lengths, evidence.values, strict=False))
        return cls(law, counts, missing, evidence.total, p, level, independent)

    @property
    def next_thresholds(self) -> tuple[int, ...]:
        """The thresholds that are needed next; none once all searches have ended."""
        brackets = (*self.brackets, *self.population_brackets) if self.independent else self.brackets
        needed = {bracket.next_threshold() for bracket in brackets} | {self.law.cells}
        return tuple(sorted(middle for middle in needed if middle is not None and middle not in self.counts))

    @property
    def brackets(self) -> tuple[Bracket, Bracket, Bracket]:
        """For the lower end, the quantile, and the upper end; they do not fall."""
        lower, middle, upper = (self._bisect(side, self._margin) for side in (-1, 0, 1))
        return lower, middle, upper

    def interval(self, *, population: bool) -> Bracket:
        """Thresholds that have the quantile of these records between them, or that of the population."""
        lower, *_, upper = self.population_brackets if population else self.brackets
        return Bracket(lower.low, upper.high)

    @property
    def population_brackets(self) -> tuple[Bracket, Bracket]:
        """For the lower and the upper end of the interval for the population."""
        lower, upper = (self._bisect(side, self._population_margin) for side in (-1, 1))
        return lower, upper

    def _bisect(self, side: int, margin: Callable[[int], float]) -> Bracket:
        return bisect_bracket(self.law.cells, self._build_comparison(side, margin))

    @property
    def present_records(self) -> float:
        """The number of records with a value."""
        if self.total is not None and self.missing is not None:
            return self.total - self.missing
        return self.counts[self.law.cells]

    def _build_comparison(self, side: int, margin: Callable[[int], float]) -> Callable[[int], bool | None]:
        """Tell whether a count reaches the quantile, by one side; None where it is not known."""

        def is_reached(threshold: int) -> bool | None:
            if threshold not in self.counts:
                return None
            excess = self.counts[threshold] - self.p * self.present_records
            return excess >= side * (margin(threshold) if side else 0.0)

        return is_reached

    def _margin(self, threshold: int) -> float:
        return self._noise_margin(threshold, 1 - self.level)

    def _population_margin(self, threshold: int) -> float:
        units = max(self.present_records, 1.0)
        sampling = units * dkw_bound(units, (1 + self.level) / 2)
        return self._noise_margin(threshold, (1 - self.level) / 2) + sampling

    def _noise_margin(self, threshold: int, error: float) -> float:
        steps = max(1, (self.law.cells - 1).bit_length())
        return tail_bound(self._excess_noises(threshold), error / steps)

    def _excess_noises(self, threshold: int) -> tuple[WeightedNoise, ...]:
        """The independent noises that the excess at a threshold is made of."""
        noise, levels = self.law.noise, self.law.levels
        if self.total is not None and self.law.missing is not None:
            return WeightedNoise(levels, 1.0, noise), WeightedNoise(1, self.p, self.law.missing)
        shared = self.law.count_shared_noises(threshold, self.law.cells)
        alone = levels - shared
        return (
            WeightedNoise(shared, 1 - self.p, noise),
            WeightedNoise(alone, 1.0, noise),
            WeightedNoise(alone, self.p, noise),
        )


def paired_region(across: FloatArray, upwards: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Steps that have all pairs between them, those of shares between two that were asked for, too.

    Both quantiles rise with the share. So what lies between two neighbouring shares is in the box from the lower ends
    of the one to the upper ends of the other, in both directions, and the region is the union of these boxes.

    Args:
        across: Lower and upper ends of the quantiles along x, (shares, 2), neither falling.
        upwards: Those along y, (shares, 2).

    Returns:
        Edges along x, (steps + 1,), and the lower and upper end along y between two of them, (steps,).

    >>> edges, lower, upper = paired_region(np.array([[0, 1], [2, 3]]), np.array([[0, 2], [1, 4]]))
    >>> edges.tolist(), lower.tolist(), upper.tolist()
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 4.0, 4.0])
    """
    low, high = (np.asarray(end, dtype=np.float64) for end in across.T)
    edges = np.unique(np.concatenate([low, high]))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    middle, last = (edges[1:] + edges[:-1]) / 2, max(len(low) - 2, 0)
    first_box = np.minimum(np.searchsorted(high[1:], middle), last)
    last_box = np.clip(np.searchsorted(low[:-1], middle, side="right") - 1, 0, last)
    return edges, upwards[first_box, 0].astype(np.float64), upwards[min(1, len(low) - 1) + last_box, 1].astype(float)
