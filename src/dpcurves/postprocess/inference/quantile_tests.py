"""Intervals for one quantile, or a few: a test at each edge whether the quantile may lie there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, IntArray
from .bands import SLACK, safe_rank

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


def ends_by_tests(
    below: FloatArray, noise: Iterable[FloatArray], p: FloatArray, level: float, chance: np.random.Generator | None
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

    Boundaries may depend on earlier answers, for given these the noise has its law: see `Prefixes`. For the population
    that holds up to how layouts change the quantile of D: the number of units below a quantile bounds the count below
    each boundary before it whatever the boundaries are, and its binomial law is that before any answer.

    Args:
        below: Unbiased counts below the boundaries that were counted, (points,): below the first lies nothing, below
            the last all records.
        noise: Simulated noise of these, in chunks of (draws, points).
        p: Levels in [0, 1], (quantiles,).
        level: The chance to hold all of the quantiles.
        chance: For samples of a population; None: the quantiles are those of the records.

    Raises:
        ValueError: the level needs more draws.

    >>> exact = [np.zeros((1000, 5))]
    >>> ends_by_tests(np.array([0.0, 10, 40, 50, 100]), exact, np.array([0.3, 0.5]), 0.9, None).tolist()
    [[1, 2], [2, 4]]
    """
    excess = below - p[:, None] * below[-1]
    more, less, draws = _compared(excess, noise, p, chance, float(max(below[-1], 1.0)))
    error = (1 - level) / (2 * len(p))
    rank = safe_rank(draws, 1 - error, SLACK / (2 * len(p)))
    reached, passed = more < rank, less < rank  # p of all may lie below; no more than p of all may lie below
    reached[:, -1], passed[:, 0] = True, True
    first = np.maximum(np.argmax(reached, axis=1) - 1, 0)
    last = np.minimum(len(below) - np.argmax(passed[:, ::-1], axis=1), len(below) - 1)
    return np.stack([first, last], axis=-1)


def _compared(
    excess: FloatArray, noise: Iterable[FloatArray], p: FloatArray, chance: np.random.Generator | None, units: float
) -> tuple[IntArray, IntArray, int]:
    """Numbers of draws above and below each excess, (quantiles, points); and of all draws."""
    sampled, rounding, near, draws = units * p * (1 - p), ROUNDING * units, None, 0
    more, less = np.zeros(excess.shape, dtype=np.int64), np.zeros(excess.shape, dtype=np.int64)
    for chunk in noise:
        if near is None:
            near = _near(excess, chunk, sampled if chance is not None else np.zeros(len(p)))
        draws += len(chunk)
        for place, share in enumerate(p.tolist()):
            error = chunk[:, near] - share * chunk[:, -1:]
            if chance is not None:
                error += (chance.binomial(round(units), share, len(chunk)) - share * round(units))[:, None]
            more[place, near] += np.count_nonzero(error > excess[place, near] + rounding, axis=0)
            less[place, near] += np.count_nonzero(error < excess[place, near] - rounding, axis=0)
    far = np.ones(excess.shape[1], dtype=np.bool_) if near is None else ~near
    more[:, far], less[:, far] = draws * (excess[:, far] < 0), draws * (excess[:, far] > 0)
    return more, less, draws


def _near(excess: FloatArray, chunk: FloatArray, sampled: FloatArray) -> NDArray[np.bool_]:
    """The points at which some test is not decided before any draw is looked at.

    The deviations are those of the first chunk, which may have few draws: all its noises together tell of them.
    """
    squares = np.maximum(np.mean(chunk**2, axis=0), np.mean(chunk**2)) + np.mean(chunk[:, -1] ** 2)
    return np.asarray((excess**2 <= BEYOND**2 * (squares + sampled[:, None])).any(axis=0))
