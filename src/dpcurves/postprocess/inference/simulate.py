"""How the noise of an estimate scatters: simulated from the public law, so that it costs no privacy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...laws import Family, IntervalSums, Level, Noise, NoisySums
from ..estimation.reconstruction import unbiased_batch

VALUES_AT_ONCE = 2**22
WIDE_LAPLACE = 2.0**32  # scale, above which integers are drawn by rounding a continuous law: relative error 2**-32
WIDE_GAUSSIAN = 1e4  # variance, above which the same is done: relative error of a chance below 1e-5 within 4 sigma


def noise_draws(
    law: NoisySums, total: int | None, draws: int, generator: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Noise of the unbiased estimate, drawn afresh, in chunks of bounded memory.

    The estimate is linear and unbiased: its error is the estimate from noise alone, with 0 as the total. So an
    estimate minus the truth has the law of what is drawn here, covariances included.

    Args:
        law: The law of the release.
        total: As given to `unbiased`; it matters only whether it is known.
        draws: How many, over all chunks.
        generator: For simulation over public numbers alone. No noise that protects anybody is drawn from it.

    Yields:
        Errors of the cells, (chunk, rows, cells), and of the missing count, (chunk,).
    """
    known = None if total is None else 0
    chunk = max(1, VALUES_AT_ONCE // max(law.size, law.rows * law.cells))
    for start in range(0, draws, chunk):
        yield unbiased_batch(law, raw_noise(law, min(chunk, draws - start), generator), known)


def prefix_noise(law: NoisySums, total: int | None, draws: int, generator: np.random.Generator) -> FloatArray:
    """Noise of the sums of the first intervals of the one row of a law, drawn afresh: (draws, intervals + 1).

    Between the ends of the finest intervals nothing was measured, so these are simulated alone: as fast, and as small,
    as there are few of them, however many cells there are.

    Args:
        law: The law of the release, of one row.
        total: As given to `unbiased`; it matters only whether it is known.
        draws: How many.
        generator: As for `noise_draws`.
    """
    short = of_intervals(law) if isinstance(law, IntervalSums) else law
    found = np.zeros((draws, len(short.bounds)))
    first = 0
    for cells, _ in noise_draws(short, total, draws, generator):
        sums = np.cumsum(cells[:, 0], axis=-1)
        found[first : first + len(sums), 1:] = sums[:, short.bounds[1:] - 1]
        first += len(sums)
    return found


def of_intervals(law: IntervalSums) -> IntervalSums:
    """Return a law with the finest intervals as its cells.

    >>> from fractions import Fraction
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> of_intervals(IntervalSums(1, 9, (Level((0, 6), noise), Level(range(0, 9, 3), noise)), None)).levels[0].starts
    (0, 2)
    """
    bounds = law.bounds
    if len(bounds) == law.cells + 1:
        return law
    coarse = (Level(tuple(np.searchsorted(bounds, level.first).tolist()), level.noise) for level in law.levels[:-1])
    finest = Level(range(len(bounds) - 1), law.levels[-1].noise)
    return replace(law, cells=len(bounds) - 1, levels=(*coarse, finest))


def noise_by_source(law: NoisySums, total: int | None) -> FloatArray:
    """What one standard deviation of each released value does to the cells of the unbiased estimate.

    The noises are independent and the estimate is linear, so the variance of a sum of cells is the sum over values of
    its squared entries here.

    Args:
        law: The law of the release.
        total: As given to `unbiased`; it matters only whether it is known.

    Returns:
        Of shape (size, rows, cells).
    """
    deviations = np.concatenate([np.full(count, sqrt(noise.variance)) for noise, count in _noises(law)])
    return unbiased_batch(law, np.diag(deviations), None if total is None else 0)[0]


def raw_noise(law: NoisySums, draws: int, generator: np.random.Generator) -> FloatArray:
    """Noise of the released values themselves: (draws, size), in the order of the law."""
    return np.concatenate([draw(noise, (draws, count), generator) for noise, count in _noises(law)], axis=-1)


def _noises(law: NoisySums) -> list[tuple[Noise, int]]:
    """The noise of each part, and how many values have it."""
    noises = [(part.noise, law.rows * part.length) for part in law.parts]
    return noises if law.missing is None else [*noises, (law.missing, 1)]


def draw(noise: Noise, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """Integers of one noise law, as floats. Not for protection: `generator` can be predicted."""
    if noise.family is Family.LAPLACE:
        return _laplace(float(noise.parameter), shape, generator)
    return _gaussian(float(noise.parameter), shape, generator)


def _laplace(scale: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """The difference of two geometric laws, which is exact."""
    if scale > WIDE_LAPLACE:
        return np.rint(generator.laplace(0, scale, shape))
    end = -expm1(-1 / scale)
    return np.subtract(generator.geometric(end, shape), generator.geometric(end, shape), dtype=np.float64)


def _gaussian(variance: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
    """By the inverse of the distribution function, exact to the rounding of doubles."""
    if variance > WIDE_GAUSSIAN:
        return np.rint(generator.normal(0, sqrt(variance), shape))
    reach = int(9 * sqrt(variance)) + 2
    support = np.arange(-reach, reach + 1)
    cumulated = np.cumsum(np.exp(-0.5 * support.astype(np.float64) ** 2 / max(variance, 1e-300)))
    found: NDArray[np.int64] = np.searchsorted(cumulated, generator.random(shape) * cumulated[-1], side="right")
    return (found - reach).astype(np.float64)
