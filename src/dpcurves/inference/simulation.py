"""Random generators with public seeds, and the parametric bootstrap of released counts: noise, samples and p-values.

A released count has noise of a known distribution and, for a population, the error of sampling. Both are simulated:

    simulate_cell_noise         draws of noise from the distribution of the release
    simulate_sampling_errors    multinomial draws from the estimated counts, minus their expectation
    monte_carlo_p_value         (1 + number of draws at least as large as the statistic) / (1 + draws)

Generators have fixed public seeds, one stream for noise and another for samples, so that the same release always shows
the same band. They are predictable: no released noise may be drawn from them.

Formal guarantees: no records are read and no budget is spent, because a function of released numbers and of random
numbers reveals nothing more than the former (post-processing).

References: Davison and Hinkley 1997, sections 4.2 and 5.2; Phipson and Smyth 2010 (p-values that are never 0).

>>> monte_carlo_p_value(2.0, np.array([1.0, 2.0, 3.0]))
0.75
"""

from __future__ import annotations

from typing import cast

import numpy as np

from ..arguments import require_type
from ..arrays import FloatArray, IntArray
from ..distributions import NoisySums

# Generators for simulation over public numbers. They are predictable, so no released noise may be drawn from them.


SIMULATION_SEED = 20160605  # any fixed number
"""Seed of the random generators that simulate noise for intervals: any fixed number, so that the same release always
has the same intervals. Released noise never comes from them."""
USUAL_DRAWS = 1000  # simulated draws of medium grids
"""Draws. Simulated draws for medium grids; see `choose_draws` for small and large ones. More draws make intervals
steadier and take longer."""


def choose_draws(cells: int) -> int:
    """Return the number of simulated draws: about 1,000; up to 5,000 for few cells, down to 400 for many.

    Args:
        cells: Number of simulated counts, at least 1.

    >>> [choose_draws(cells) for cells in (100, 1024, 10_000, 2**20)]
    [5000, 1024, 1000, 400]
    """
    # more than the usual draws, up to 5,000, as long as draws times cells stay below 2**20; the usual ones up to 2**25
    return max(400, min(5000, 2**20 // cells), min(USUAL_DRAWS, 2**25 // cells))


def require_generator(generator: object) -> np.random.Generator:
    """Check that an argument is a NumPy random generator, and return it.

    Args:
        generator: Object to check.

    Raises:
        TypeError: `generator` is a seed or another object.
    """
    require_type("generator", generator, np.random.Generator, "a generator, as numpy.random.default_rng(1) gives one,")
    return cast("np.random.Generator", generator)


def public_generator(generator: np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a generator with a fixed seed, so that the same curve always shows the same band.

    The Monte Carlo error of an order statistic is therefore equal in all releases: see `bands.safe_rank`.

    Args:
        generator: Random generator; None: the fixed seed.

    Raises:
        TypeError: `generator` is a seed or another object.
    """
    return require_generator(generator) if generator is not None else np.random.default_rng(SIMULATION_SEED)


def sampling_generator(generator: np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a fixed stream other than `public_generator`, for samples that noise is added to.

    Noise may be cached from an earlier simulation. If samples were drawn from the same stream, they would depend on it.

    Args:
        generator: Random generator; None: the fixed stream.

    Raises:
        TypeError: `generator` is a seed or another object.
    """
    return require_generator(generator) if generator is not None else np.random.default_rng([SIMULATION_SEED, 1])


def numbered_generator(number: int) -> np.random.Generator:
    """Return one of many generators with fixed seeds, independent of each other and of `public_generator` and
    `sampling_generator`.

    Args:
        number: Number of the generator, from 0.
    """
    return np.random.default_rng([SIMULATION_SEED, 2 + number])


def example_generator(seed: int) -> np.random.Generator:
    """Return a random generator for the made-up records of an example table; a seed gives the same records in each
    call.

    Args:
        seed: Number that determines the records.
    """
    return np.random.default_rng(seed)


def simulate_cell_noise(
    distribution: NoisySums, total: int | None, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Return simulated noise of unbiased counts, of shape ``(draws, rows, cells)``.

    Args:
        distribution: Distribution of the release.
        total: Public number of records; None if it is private. Only whether it is None matters.
        draws: Number of draws.
        generator: For simulation over public numbers alone.
    """
    return np.concatenate([cells for cells, _ in distribution.simulate(total, draws, generator)])


# A parametric bootstrap: samples from the released distribution, and the p-value of a statistic.


def whole_records(count: float) -> int:
    """Return a noisy count rounded to an integer, at least 1 and at most 2**53.

    Args:
        count: Noisy number of records; may be below 0.

    >>> whole_records(7.6), whole_records(-3.0)
    (8, 1)
    """
    return round(min(max(count, 1.0), 2.0**53))  # doubles above 2**53 are not all integers


def sample_multinomial(chances: FloatArray, records: int, draws: int, generator: np.random.Generator) -> IntArray:
    """Sample counts of `records` records in cells, of shape ``(draws, *cells)``.

    Args:
        chances: Numbers that the probabilities of the cells are proportional to, of shape ``cells``.
        records: Size of a sample.
        draws: Number of samples.
        generator: For simulation over public numbers alone.
    """
    samples = generator.multinomial(records, chances.ravel() / chances.sum(), size=draws)
    return np.asarray(samples.reshape(draws, *chances.shape))


def simulate_sampling_errors(
    likely: FloatArray, records: int, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Return simulated sampling errors of counts, of shape ``(draws, *cells)``: sampled counts minus their expectation.

    Args:
        likely: Estimated number of records in each cell. If they add up to less than `records`, the difference lies
            outside the cells.
        records: Size of a sample.
        draws: Number of samples.
        generator: For simulation over public numbers alone.

    >>> errors = simulate_sampling_errors(np.array([[2.0, 3.0], [1.0, 0.0]]), 8, 1000, np.random.default_rng(1))
    >>> errors.shape, bool(abs(errors.mean()) < 0.1), bool(np.allclose(errors[:, 1, 1], 0))
    ((1000, 2, 2), True, True)
    """
    outside = records - float(likely.sum())
    probabilities = np.append(likely, outside if outside > 0.5 else 0.0)  # a record count was rounded to an integer
    deviations = (
        sample_multinomial(probabilities, records, draws, generator) - records * probabilities / probabilities.sum()
    )
    return np.asarray(deviations[:, :-1].reshape(draws, *likely.shape))


def monte_carlo_p_value(reached: float, shown: FloatArray) -> float:
    """Return the p-value of a statistic: the share of draws, and of the statistic itself, that are at least as large.

    Args:
        reached: The observed value of the statistic.
        shown: The statistic of each draw under the null hypothesis, of shape ``(draws,)``.

    Returns:
        A multiple of ``1 / (draws + 1)``, never 0.

    >>> monte_carlo_p_value(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    return float((1 + np.count_nonzero(shown >= reached)) / (1 + len(shown)))
