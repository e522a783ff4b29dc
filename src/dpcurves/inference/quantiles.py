"""Confidence intervals of quantiles from noisy counts, valid for any ties and any positions of records inside cells.

A quantile at level p is any q with at most a share p of the records below it and at least a share p at or below it.
With F(x) the share below x,

    F(q) <= p <= F(q+)

There are three ways to an interval that contains every such q with probability `level`:

- *From a band* (`find_quantile_ends`): if ``lower <= F <= upper`` at all edges, q lies from the last edge with
  ``upper < p`` to the first edge with ``lower > p``.
- *From tests* (`find_ends_by_tests`), shorter for a few quantiles: edge j is kept unless ``M_j - p * N`` is beyond a
  quantile of its own noise, where M_j is the noisy count below the edge and N the noisy count of all records.
- *By bisection* (`PathQuantile`), for grids of any fineness: each threshold is asked with a margin for its noise, and
  only ``ceil(log2(cells))`` thresholds can go wrong.

Formal guarantees: post-processing of released counts; the thresholds of a bisection depend on earlier answers alone.

References: Woodruff 1952 (inverting a band); Brookmeyer and Crowley 1982 (inverting tests); Barczewski, Mawass and
Ramon, Algorithm 1 (bisection on a noise tree).

>>> cells = np.array([[-np.inf, 10.0], [10.0, 20.0], [20.0, 30.0], [30.0, np.inf]])
>>> lower, upper = np.array([0.0, 0.2, 0.45, 0.8, 1.0]), np.array([0.0, 0.3, 0.55, 0.9, 1.0])
>>> find_quantile_ends(cells, lower, upper, [0.25, 0.5])
array([[-inf,  20.],
       [ 10.,  30.]])
"""

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
from ..distributions import Family, Noise, PathSums
from .bands import TUNING as BAND_TUNING
from .bands import dkw_bound, safe_rank

# Quantiles of records that were counted in cells: the cell of a quantile, and edges that surely enclose it.


def find_quantile_cells(cells: FloatArray, shares: FloatArray, p: ArrayLike) -> FloatArray:
    """Return the endpoints of the cell that contains each quantile, of shape ``(..., 2)``.

    It is the cell in which the shares cross the level.

    Args:
        cells: Lower and upper end of each cell, of shape ``(cells, 2)``, increasing; the first and the last end may be
            infinite.
        shares: Share of the records below each boundary, from 0 to 1, non-decreasing, of shape ``(cells + 1,)``.
        p: Levels in [0, 1]. Level 0 is the smallest record.

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, np.inf]])
    >>> find_quantile_cells(cells, np.array([0.0, 0.0, 0.5, 1.0]), [0, 0.5, 0.9]).tolist()
    [[1.0, 2.0], [1.0, 2.0], [2.0, inf]]
    """
    levels = np.maximum(_require_levels(p), np.nextafter(0.0, 1.0))  # the smallest double above 0
    right = np.clip(np.searchsorted(shares, levels), 1, len(shares) - 1)
    return np.asarray(cells[right - 1])


def find_quantile_ends(cells: FloatArray, lower: FloatArray, upper: FloatArray, p: ArrayLike) -> FloatArray:
    """Return boundaries that enclose every quantile at each level, wherever records lie inside cells: (..., 2).

    A quantile at level p is any value q with at most a share p of the records below it and at least a share p at or
    below it: the smallest one inverts the distribution function; with an even number of records, all values between the
    two middle records are medians. *If the shares below all boundaries lie between `lower` and `upper`, each quantile q
    lies in* ``[left, right)``, where left is the last boundary with ``upper < p`` and right the first with ``lower >
    p``. Proof: if q were below left, the records at or below q would lie below left, a share of at most ``upper < p``;
    if q were at or above right, the records below right, a share of at least ``lower > p``, would lie below q. The
    proof does not use positions between boundaries, so it holds with ties and heaps. (If the last finite edge is
    closed, and counts the records on it as below it, q may also be that edge.) If cells hold one declared value each,
    all quantiles lie between two of these: the first and the last in ``[left, right)``.

    Args:
        cells: Lower and upper end of each cell, (cells, 2), increasing, from -inf to inf; or its single value, twice.
        lower: Lower endpoints of the shares below each boundary; non-decreasing.
        upper: Upper endpoints of the shares below each boundary; non-decreasing.
        p: Levels in [0, 1].

    Raises:
        ValueError: a level is outside [0, 1].

    >>> cells = np.array([[-np.inf, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, np.inf]])
    >>> find_quantile_ends(cells, np.array([0, 0.1, 0.3, 0.7, 1]), np.array([0, 0.2, 0.6, 0.9, 1]), [0.5, 0.8]).tolist()
    [[1.0, 3.0], [2.0, inf]]
    """
    levels = _require_levels(p)
    first_cell = np.maximum(np.searchsorted(upper, levels, side="left") - 1, 0)
    last_cell = np.minimum(np.searchsorted(lower, levels, side="right"), len(lower) - 1)
    return np.stack([cells[first_cell, 0], cells[last_cell - 1, 1]], axis=-1)


def choose_shown_values(cells: FloatArray, interpolated: FloatArray) -> FloatArray:
    """Return the value shown for a quantile: interpolated within its cell or, in an unbounded cell, the finite
    endpoint.

    Args:
        cells: Lower and upper end of each cell, of shape ``(..., 2)``.
        interpolated: Interpolated values, of shape ``(...)``.

    Returns:
        Values of shape ``(...)``; NaN for a cell without a finite endpoint.

    >>> cells = np.array([[1.0, 2.0], [2.0, np.inf], [-np.inf, np.inf]])
    >>> choose_shown_values(cells, np.array([1.5, 2.5, 3.5])).tolist()
    [1.5, 2.0, nan]
    """
    left, right = cells[..., 0], cells[..., 1]
    finite_end = np.where(np.isfinite(left), left, np.where(np.isfinite(right), right, np.nan))
    return np.where(np.isfinite(left) & np.isfinite(right), interpolated, finite_end)


def find_heaped_cells(shares: FloatArray) -> NDArray[np.bool_]:
    """Return True for the inner cells that hold far more records than both neighbours, of shape ``(cells,)``.

    The limit is `Tuning.heap_ratio` times the records of each neighbour.

    Args:
        shares: Estimated share of the records below each edge, non-decreasing, of shape ``(cells + 1,)``.

    >>> find_heaped_cells(np.array([0.0, 0.1, 0.6, 0.7, 1.0])).tolist()
    [False, True, False, False]
    """
    counts = np.diff(shares)
    heaped = np.zeros(len(counts), dtype=np.bool_)
    if len(counts) > 2:
        least = TUNING.heap_ratio * np.maximum(counts[:-2], counts[2:])
        heaped[1:-1] = (counts[1:-1] >= least) & (counts[1:-1] > 0)
    return heaped


def find_heaped_ends(shares: FloatArray) -> tuple[bool, bool]:
    """Return whether the first cell, and whether the last cell, holds far more records than the two cells beside it.

    The limit is `Tuning.heap_ratio` times the records of each of the two cells. Values then seem to be heaped on the
    bound of the grid, or clipped to it. On fewer than `Tuning.least_cells` cells both are False, because there smooth
    data has cells as full.

    Args:
        shares: Estimated share of the records below each edge, non-decreasing, of shape ``(cells + 1,)``.

    >>> shares = np.append(0.0, np.linspace(0.1, 1.0, 600))
    >>> find_heaped_ends(shares), find_heaped_ends(shares[:9])
    ((True, False), (False, False))
    """
    counts = np.diff(shares)
    if len(counts) < TUNING.least_cells:
        return False, False
    first, last = (max(counts[0], 0.0), counts[1:3].max()), (max(counts[-1], 0.0), counts[-3:-1].max())
    is_first, is_last = (bool(end > 0 and end >= TUNING.heap_ratio * beside) for end, beside in (first, last))
    return is_first, is_last


def _require_levels(p: ArrayLike) -> NDArray[np.float64]:
    """Return quantile levels as an array, after a check that all are between 0 and 1.

    Args:
        p: A level or several.

    Raises:
        ValueError: a level is outside [0, 1].
    """
    levels = np.asarray(p, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise InvalidArgument("p", f"levels must be between 0 and 1, as in [0.25, 0.5], got {levels.tolist()}")
    return levels


# Intervals for one quantile, or a few, by a test at each edge.


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer quantiles and their intervals."""

    most_tested: int = 9
    """Quantiles up to which tests are used; for more, a band over all edges is about as narrow. For nine quantiles of a
    lognormal distribution on 1,000 cells tests are 0.86 to 0.97 times as wide, of beta(2, 3) on 64 cells 0.93 times:
    the number was chosen on these."""
    heap_ratio: float = 2.5
    """Records of a cell over those of its larger neighbour from which a round number in the cell is taken for its
    quantiles: if cells are alike but for that number, at least 60 % of the records of the cell have it."""
    least_cells: int = 500
    """Cells from which a full end cell shows values at the bound of the grid."""


TUNING = Tuning()
"""The values that all quantiles and their intervals use."""


def are_few(quantiles: int, level: float, draws: int) -> bool:
    """Return True if the quantiles are few enough that separate tests give shorter simultaneous intervals than a
    confidence band.

    No released number is used, so the choice does not change coverage.

    Args:
        quantiles: Number of quantiles.
        level: Simultaneous confidence level, between 0 and 1.
        draws: Number of simulated draws; too few of them cannot support the tests.
    """
    return 1 <= quantiles <= TUNING.most_tested and (draws + 1) * (1 - level) / (2 * quantiles) >= 1


def find_ends_by_tests(  # noqa: PLR0917
    counts_below: FloatArray,
    noise: Iterable[FloatArray],
    p: FloatArray,
    level: float,
    generator: np.random.Generator | None,
    spread: FloatArray | None = None,
) -> IntArray:
    """Return indices of boundaries that enclose all quantiles, simultaneously with probability `level`: (quantiles, 2).

    The interval is the set of edges at which the count does not differ significantly from the share p of all records
    (Brookmeyer and Crowley 1982), with the adjacent cells. *Proof of coverage, with any ties and any positions inside
    cells.* A quantile at level p is any value q with a share of at most p below it and of at least p at or below it.
    Let n records have a value, N be their noisy count and M_j the unbiased noisy count below boundary j; the noise of
    ``M_j - p N`` has a known distribution D_j. Let q be the smallest quantile at level p, and i the first boundary
    above it. At least ``p n`` records lie below i, so ``M_i - p N`` is below the quantile a of D_i with probability at
    most a. Otherwise the first boundary with this property is at or before i, and the boundary before that, which is
    the left end, is at or below q. Now let q be the largest quantile at level p, and i the last boundary at or below
    it: at most ``p n`` records lie below i, and the right end is the boundary after the last one at which ``M_j - p N``
    is not above the quantile ``1 - a`` of D_j. The interval fails only if one of these two tests fails, for any number
    of edges, so a is half of the error probability, divided by the number of quantiles (Bonferroni). D_j depends on no
    count, so nothing is estimated.

    For the population that n independent units were drawn from, the share F_i below i is at least p, and the number of
    units below it is binomial: stochastically smallest if F_i is p. So D_j includes the error of a binomial number with
    probability p; N is used for n.

    Boundaries may depend on earlier answers, because given these the noise has its distribution: see `PrefixWorkload`.
    For the population this ignores that layouts change the quantile of D: the number of units below a quantile bounds
    the count below each earlier boundary for all boundaries, and its binomial distribution is the distribution before
    any answer.

    Args:
        counts_below: Unbiased counts below the counted boundaries, (points,): zero below the first, all records below
            the last.
        noise: Simulated noise of these counts, in chunks of (draws, points).
        p: Levels in [0, 1], (quantiles,).
        level: The coverage probability of all quantiles together.
        generator: For samples of a population; None: intervals are for the quantiles of these records.
        spread: The variance of the sampled excess at each quantile, relative to `counts_below[-1]` records, if records
            have weights: sampling is then simulated with this many times fewer records. None: 1.

    Raises:
        ValueError: the level needs more draws.

    >>> exact = [np.zeros((1000, 5))]
    >>> find_ends_by_tests(np.array([0.0, 10, 40, 50, 100]), exact, np.array([0.3, 0.5]), 0.9, None).tolist()
    [[1, 2], [2, 4]]
    """
    excess = counts_below - p[:, None] * counts_below[-1]
    spread = np.ones(len(p)) if spread is None else spread
    draws_above, draws_below, draws = _count_exceeding_draws(
        excess, noise, p, generator, float(max(counts_below[-1], 1.0)), spread
    )
    error = (1 - level) / (2 * len(p))
    rank = safe_rank(draws, 1 - error, BAND_TUNING.slack / (2 * len(p)))
    # at least, and at most, the share p may lie below
    may_be_below = draws_above < rank
    may_be_above = draws_below < rank
    may_be_below[:, -1], may_be_above[:, 0] = True, True
    first_edge = np.maximum(np.argmax(may_be_below, axis=1) - 1, 0)
    last_edge = np.minimum(len(counts_below) - np.argmax(may_be_above[:, ::-1], axis=1), len(counts_below) - 1)
    return np.stack([first_edge, last_edge], axis=-1)


def _count_exceeding_draws(  # noqa: PLR0917
    excess: FloatArray,
    noise: Iterable[FloatArray],
    p: FloatArray,
    generator: np.random.Generator | None,
    units: float,
    spread: FloatArray,
) -> tuple[IntArray, IntArray, int]:
    """Count, at each boundary, the simulated errors above and below the released excess (noisy count below the boundary
    minus the share p of all records), for tests.

    Args:
        excess: Excesses in records, (quantiles, points).
        noise: Simulated noise of the counts, in chunks of (draws, points).
        p: Levels of the quantiles in [0, 1], (quantiles,).
        generator: Random numbers for samples of a population; None: noise alone.
        units: Number of sampled units.
        spread: Variance of the sampled excess, relative to unweighted records, (quantiles,).

    Returns:
        Number of draws above each excess, number of draws below, (quantiles, points) each, and the number of all draws.
    """
    # a relative error of doubles
    sampling_variance = units * p * (1 - p) * spread
    rounding = 1e-9 * units
    undecided = None
    draws = 0
    draws_above = np.zeros(excess.shape, dtype=np.int64)
    draws_below = np.zeros(excess.shape, dtype=np.int64)
    for chunk in noise:
        if undecided is None:
            undecided = _mark_undecided(excess, chunk, sampling_variance if generator is not None else np.zeros(len(p)))
        draws += len(chunk)
        for row, share in enumerate(p.tolist()):
            error = chunk[:, undecided] - share * chunk[:, -1:]
            if generator is not None:
                size = round(units / spread[row])
                factor = float(spread[row])
                error += factor * (generator.binomial(size, share, len(chunk)) - share * size)[:, None]
            draws_above[row, undecided] += np.count_nonzero(error > excess[row, undecided] + rounding, axis=0)
            draws_below[row, undecided] += np.count_nonzero(error < excess[row, undecided] - rounding, axis=0)
    decided = np.ones(excess.shape[1], dtype=np.bool_) if undecided is None else ~undecided
    # Without simulated errors, all draws lie on the side of the known excess.
    draws_above[:, decided] = np.where(excess[:, decided] < 0, draws, 0)
    draws_below[:, decided] = np.where(excess[:, decided] > 0, draws, 0)
    return draws_above, draws_below, draws


def _mark_undecided(excess: FloatArray, chunk: FloatArray, sampled: FloatArray) -> NDArray[np.bool_]:
    """Return a mask of the points at which a test depends on simulated draws; elsewhere the excess is beyond 20
    standard deviations, so simulation is skipped.

    Standard deviations come from the first chunk, which may have few draws: the mean over all points stabilises them.

    Args:
        excess: Released excess of each point over each level, (levels, points).
        chunk: First simulated draws of the noise, (draws, points).
        sampled: Variance of sampling of each level, (levels,).
    """
    squares = np.maximum(np.mean(chunk**2, axis=0), np.mean(chunk**2)) + np.mean(chunk[:, -1] ** 2)
    decided_z = 20.0  # standard deviations beyond which a test is decided without comparing draws
    return np.asarray((excess**2 <= decided_z**2 * (squares + sampled[:, None])).any(axis=0))


# Tail bound of a sum of noises: it holds for the exact distribution, not only for many noises.


class WeightedNoise(NamedTuple):
    """A number of independent noises of one kind, each multiplied by a weight.

    Attributes:
        draws: Number of noises.
        weight: Factor of each noise.
        noise: Family and parameter of each noise.
    """

    draws: int
    weight: float
    noise: Noise


@lru_cache(maxsize=4096)  # a pure function of public facts
def tail_bound(parts: tuple[WeightedNoise, ...], probability: float) -> float:
    """Return a bound that the sum of independent noises exceeds with at most this probability, by Chernoff's method.

    By symmetry the sum is below minus the bound with at most this probability, too. For any rate t, the sum exceeds
    ``(log E exp(t * sum) - log probability) / t`` with at most this probability; the best rate is searched numerically.
    For discrete Laplace noise with ``q = exp(-1 / scale)`` the mean of exp(t * z) is
    ``(1 - q)**2 / ((1 - q * exp(t)) * (1 - q * exp(-t)))``; for discrete Gaussian noise it is at most
    ``exp(t**2 * variance / 2)`` (Canonne, Kamath and Steinke 2020, Corollary 17).

    Args:
        parts: The noises.
        probability: Above 0 and below 1.

    >>> from fractions import Fraction
    >>> round(tail_bound((WeightedNoise(4, 1.0, Noise(Family.GAUSSIAN, Fraction(9))),), 0.025), 2)
    16.3
    """
    nonzero = [part for part in parts if part.draws and part.weight]
    if not nonzero:
        return 0.0
    rate_limit = min(part.noise.largest_rate / abs(part.weight) for part in nonzero)
    spread = sqrt(sum(part.draws * part.weight**2 * part.noise.variance for part in nonzero))

    def chernoff_bound(log_rate: float) -> float:
        """Return the Chernoff bound on the sum of noises for one rate; infinite where the moment generating function
        does not exist.

        Args:
            log_rate: Logarithm of the rate, over which the bound is minimised.
        """
        rate = exp(log_rate)
        if rate >= rate_limit:
            return inf
        moments = sum(part.draws * float(part.noise.parties) * _log_moment_of_draw(part, rate) for part in nonzero)
        return (moments - log(probability)) / rate

    highest = log(rate_limit) if rate_limit < inf else log(sqrt(-2 * log(probability)) / spread) + 10
    start = min(highest, log(sqrt(-2 * log(probability)) / max(spread, 1e-300)))  # of a Gaussian sum
    ends = (start - 10, highest)
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(chernoff_bound, bounds=ends, method="bounded", options={"xatol": 1e-6}).fun)


def _log_moment_of_draw(part: WeightedNoise, rate: float) -> float:
    """Return the log moment generating function of one draw of weighted noise, for the Chernoff bound.

    Args:
        part: Weight and distribution of the noise.
        rate: Argument of the moment generating function, one over records.
    """
    rate *= abs(part.weight)
    if part.noise.family is Family.GAUSSIAN:
        return rate**2 * float(part.noise.parameter) / 2
    decay = 1 / float(part.noise.parameter)
    return 2 * log(-expm1(-decay)) - log(-expm1(rate - decay)) - log(-expm1(-rate - decay))


def roundest_threshold(low: int, high: int) -> int:
    """Return the threshold strictly between `low` and `high` that is divisible by the largest power of two, where a
    bisection asks next.

    It is the next node on the way down a binary tree over the thresholds.

    >>> roundest_threshold(0, 1000), roundest_threshold(512, 1000), roundest_threshold(0, 512)
    (512, 768, 256)
    """
    depth = (low ^ (high - 1)).bit_length() - 1
    return (high - 1) >> depth << depth


class Bracket(NamedTuple):
    """Thresholds that enclose the crossing of a bisection: it is above `low`, and not above `high`."""

    low: int
    high: int

    def next_threshold(self) -> int | None:
        """Return the threshold whose count halves the bracket; None once the bracket is a single cell."""
        return roundest_threshold(self.low, self.high) if self.high - self.low > 1 else None


def bisect_bracket(cells: int, reached: Callable[[int], bool | None]) -> Bracket:
    """Return where a bisection over thresholds stands, given the noisy counts that were released; complete after
    ``ceil(log2(cells))`` counts.

    The crossing equals the crossing of the isotonic regression of the counts, for any weights: counts to the left do
    not reach the target, counts to the right do, and pooling never crosses it. (Barczewski, Mawass and Ramon, Algorithm
    1, bisect real numbers, which need not terminate, and compare with a curve that is defined at thresholds only.)

    Args:
        cells: Number of cells. The count of no cells does not reach the target, the count of all cells does.
        reached: Function of a threshold: whether its noisy count reaches the target; None if it was not counted.

    >>> bisect_bracket(8, lambda threshold: threshold >= 5)
    Bracket(low=4, high=5)
    """
    bracket = Bracket(0, cells)
    while (middle := bracket.next_threshold()) is not None and (answer := reached(middle)) is not None:
        bracket = Bracket(bracket.low, middle) if answer else Bracket(middle, bracket.high)
    return bracket


@dataclass(frozen=True)
class PathQuantile:
    """Searches in one noise tree for a quantile, and for the ends of a confidence interval around it.

    The excess of a threshold is its count minus the share p of all records; it crosses 0 at the quantile. The search
    for the lower endpoint treats a threshold as reached unless noise cannot hide it, the search for the upper endpoint
    only if noise cannot feign it.

    *The interval holds the true quantile with at least the requested probability.* The true crossing q is not random,
    nor are the ``ceil(log2(cells))`` thresholds that an error-free search for q asks. The lower endpoint exceeds q only
    if its search treats a threshold at or above q as not reached, and the first threshold treated so is one of these;
    likewise the upper endpoint, at a threshold below q. There noise exceeds its margin, on the side that matters for
    this threshold, and the error probability was divided by the number of thresholds.

    If units are single and independent, two more searches find an interval that *holds the quantile of the population
    that they were drawn from*. Their margins spend half of the error probability on noise and half on sampling: at all
    thresholds simultaneously, shares of the records differ from shares of the population by at most `dkw_bound`, and
    the argument is the same with the crossing of the population's shares as q.

    A search stops at a count that was never asked, with a wider bracket. Every step it made is a step of the complete
    search, so its interval holds with the same probability, for any searched level.

    Attributes:
        distribution: Distribution of the noisy counts.
        counts: Noisy counts by threshold, in slots.
        missing: Noisy number of missing records; None if it was not released.
        total: Public number of records, if missing records were counted; else all records are counted with noise.
        p: Share of the records below the quantile, from 0 to 1.
        level: Coverage probability of the interval.
        independent: True if an interval for the population is searched as well.
    """

    distribution: PathSums
    counts: Mapping[int, int]
    missing: int | None
    total: int | None
    p: float
    level: float
    independent: bool = False

    @classmethod
    def from_evidence(cls, evidence: Evidence, p: float, level: float, *, independent: bool = False) -> PathQuantile:
        """Set up the bisections for the quantile at level `p` and its confidence interval, from the noisy counts
        released so far.

        Args:
            evidence: Noisy counts of prefixes from one noise tree.
            p: Share of the records below the quantile, from 0 to 1.
            level: Coverage probability of the interval, between 0 and 1.
            independent: True if units are single and independent, so that an interval for the population is searched as
                well.
        """
        distribution = evidence.path_sums
        missing = None if distribution.missing is None else evidence.values[-1]
        counts = dict(zip(distribution.prefix_lengths, evidence.values, strict=False))
        return cls(distribution, counts, missing, evidence.total, p, level, independent)

    @property
    def next_thresholds(self) -> tuple[int, ...]:
        """Thresholds whose counts the bisections for the quantile and its interval need next, increasing; empty once
        all have ended.
        """
        brackets = (*self.brackets, *self.population_brackets) if self.independent else self.brackets
        thresholds = {bracket.next_threshold() for bracket in brackets} | {self.distribution.cells}
        return tuple(
            sorted(threshold for threshold in thresholds if threshold is not None and threshold not in self.counts)
        )

    @property
    def brackets(self) -> tuple[Bracket, Bracket, Bracket]:
        """Current brackets of three bisections: for the interval's lower endpoint, the quantile and the upper endpoint,
        increasing.
        """
        lower, middle, upper = (self._bisect(side, self._margin) for side in (-1, 0, 1))
        return lower, middle, upper

    def interval(self, *, population: bool) -> Bracket:
        """Return the range of thresholds that is the confidence interval of the quantile, of these records or of the
        population.

        Args:
            population: True: for the population that the records were drawn from.
        """
        lower, *_, upper = self.population_brackets if population else self.brackets
        return Bracket(lower.low, upper.high)

    @property
    def population_brackets(self) -> tuple[Bracket, Bracket]:
        """Current brackets of the two bisections for the endpoints of the confidence interval for the population's
        quantile.
        """
        lower, upper = (self._bisect(side, self._population_margin) for side in (-1, 1))
        return lower, upper

    def _bisect(self, side: int, margin: Callable[[int], float]) -> Bracket:
        """Run one bisection as far as the released counts allow, and return its bracket.

        Args:
            side: Which number is searched: -1 for the interval's lower endpoint, 0 for the quantile, 1 for the upper
                endpoint.
            margin: Function of a threshold that returns a bound on the errors of its excess, in records.
        """
        return bisect_bracket(self.distribution.cells, self._build_comparison(side, margin))

    @property
    def present_records(self) -> float:
        """Estimated number of records with a value: the public total minus noisy missing records, or the noisy count of
        all.
        """
        if self.total is not None and self.missing is not None:
            return self.total - self.missing
        return self.counts[self.distribution.cells]

    def _build_comparison(self, side: int, margin: Callable[[int], float]) -> Callable[[int], bool | None]:
        """Return the condition that a bisection evaluates at each threshold, for the quantile or for an endpoint of its
        interval.

        Args:
            side: -1 for the lower endpoint, 1 for the upper endpoint, 0 for the quantile.
            margin: Function of a threshold that returns a bound on the errors of its excess, in records.

        Returns:
            Function of a threshold: whether the noisy count reaches the quantile's rank plus `side` times the margin;
            None if the threshold was not counted.
        """

        def is_reached(threshold: int) -> bool | None:
            """Return True if the noisy count up to a threshold reaches the quantile's rank plus `side` times the
            margin; None if the threshold was not counted.

            Args:
                threshold: Number of cells below the threshold.
            """
            if threshold not in self.counts:
                return None
            excess = self.counts[threshold] - self.p * self.present_records
            return excess >= side * (margin(threshold) if side else 0.0)

        return is_reached

    def _margin(self, threshold: int) -> float:
        """Return the margin at a threshold for the interval of these records: a bound on the noise of its excess, in
        records.

        Args:
            threshold: Number of cells below the threshold.
        """
        return self._noise_margin(threshold, 1 - self.level)

    def _population_margin(self, threshold: int) -> float:
        """Return the margin at a threshold for the interval of the population: a bound on noise plus sampling error of
        its excess, in records.

        Args:
            threshold: Number of cells below the threshold.
        """
        units = max(self.present_records, 1.0)
        sampling = units * dkw_bound(units, (1 + self.level) / 2)
        return self._noise_margin(threshold, (1 - self.level) / 2) + sampling

    def _noise_margin(self, threshold: int, error: float) -> float:
        """Return the margin of noise at a threshold: a bound on the noise of its excess, the count minus the share p of
        all records.

        Args:
            threshold: Number of slots.
            error: Error probability of all thresholds of a search together.
        """
        steps = max(1, (self.distribution.cells - 1).bit_length())
        return tail_bound(self._excess_noises(threshold), error / steps)

    def _excess_noises(self, threshold: int) -> tuple[WeightedNoise, ...]:
        """Return the independent noises in the excess of a threshold, which is its noisy count minus the share p of all
        records.

        Args:
            threshold: Number of cells below the threshold.
        """
        noise, levels = self.distribution.noise, self.distribution.levels
        if self.total is not None and self.distribution.missing is not None:
            return WeightedNoise(levels, 1.0, noise), WeightedNoise(1, self.p, self.distribution.missing)
        shared = self.distribution.count_shared_noises(threshold, self.distribution.cells)
        separate = levels - shared
        return (
            WeightedNoise(shared, 1 - self.p, noise),
            WeightedNoise(separate, 1.0, noise),
            WeightedNoise(separate, self.p, noise),
        )


def paired_region(across: FloatArray, upwards: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a region in the plane that contains the pairs of equal quantiles of two columns, at all levels at once, as
    in a quantile-quantile plot.

    Both quantiles increase with the level. So the quantiles between two neighbouring levels lie in the box from the
    lower endpoints of the first to the upper endpoints of the second, in both directions, and the region is the union
    of these boxes.

    Args:
        across: Lower and upper endpoints of the quantiles along x, of shape ``(shares, 2)``, non-decreasing.
        upwards: Lower and upper endpoints along y, of the same shape.

    Returns:
        Edges along x, of shape ``(steps + 1,)``, and the lower and upper endpoint along y between neighbouring edges,
        each of shape ``(steps,)``.

    >>> edges, lower, upper = paired_region(np.array([[0, 1], [2, 3]]), np.array([[0, 2], [1, 4]]))
    >>> edges.tolist(), lower.tolist(), upper.tolist()
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 4.0, 4.0])
    """
    low, high = (np.asarray(end, dtype=np.float64) for end in across.T)
    edges = np.unique(np.concatenate([low, high]))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    midpoints = (edges[1:] + edges[:-1]) / 2
    last_index = max(len(low) - 2, 0)
    first_box = np.minimum(np.searchsorted(high[1:], midpoints), last_index)
    last_box = np.clip(np.searchsorted(low[:-1], midpoints, side="right") - 1, 0, last_index)
    return edges, upwards[first_box, 0].astype(np.float64), upwards[min(1, len(low) - 1) + last_box, 1].astype(float)
