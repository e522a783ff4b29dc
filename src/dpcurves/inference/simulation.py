"""Simulation over public numbers: its generator, and a parametric bootstrap of released counts."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from ..laws import NoisySums

# Chance for simulation over public numbers. Nothing secret may be drawn from it.


SEED = 20160605
DRAWS = 1000
MOST_DRAWS = 5000
AT_EASE, VALUES = 2**20, 2**25
"""Numbers that are drawn without hesitation, and with some."""


def choose_draws(cells: int) -> int:
    """The number of simulated draws: a thousand; more if there are few cells, and fewer, but not below 400, if many.

    >>> [choose_draws(cells) for cells in (100, 1024, 10_000, 2**20)]
    [5000, 1024, 1000, 400]
    """
    return max(400, min(MOST_DRAWS, AT_EASE // cells), min(DRAWS, VALUES // cells))


def public_generator(generator: np.random.Generator | None) -> np.random.Generator:
    """The caller's generator; else one with a fixed seed, so that the same curve always shows the same band.

    The Monte Carlo error of an order statistic is therefore the same in every release: see `bands.safe_rank`.
    """
    return generator if generator is not None else np.random.default_rng(SEED)


def sampling_generator(generator: np.random.Generator | None) -> np.random.Generator:
    """The caller's generator; else a stream beside that of `public_generator`, for samples that noise is added to.

    Noise may have been kept from an earlier simulation: drawn from one stream again, samples would depend on it.
    """
    return generator if generator is not None else np.random.default_rng([SEED, 1])


def numbered_generator(number: int) -> np.random.Generator:
    """A stream beside those of `public_generator` and `sampling_generator`: one for each number from 0 on."""
    return np.random.default_rng([SEED, 2 + number])


def simulate_cell_noise(law: NoisySums, total: int | None, draws: int, generator: np.random.Generator) -> FloatArray:
    """The noise of unbiased counts, simulated: (draws, rows, cells)."""
    return np.concatenate([cells for cells, _ in law.simulate(total, draws, generator)])


# Samples drawn from what was released, and how often a statistic of them is as large: a parametric bootstrap.


MOST_RECORDS = 2.0**53
"""The most that are drawn: what noise may claim beyond is no number of records."""
ROUNDED = 0.5
"""Records that a whole number of them may be off."""


def whole_records(count: float) -> int:
    """The number of records that a noisy count stands for: at least 1.

    >>> whole_records(7.6), whole_records(-3.0)
    (8, 1)
    """
    return round(min(max(count, 1.0), MOST_RECORDS))


def sample_multinomial(chances: FloatArray, records: int, draws: int, generator: np.random.Generator) -> IntArray:
    """Counts of so many records in each cell, where these are about the chances of the cells: (draws, *cells)."""
    drawn = generator.multinomial(records, chances.ravel() / chances.sum(), size=draws)
    return np.asarray(drawn.reshape(draws, *chances.shape))


def simulate_sampling_errors(
    likely: FloatArray, records: int, draws: int, generator: np.random.Generator
) -> FloatArray:
    """Deviations of a sample of so many records in each cell from their expectation: (draws, *cells).

    Args:
        likely: About how many of the records lie in each cell, in proportion. Those that they lack to `records` lie in
            none.
        records: The size of a sample.
        draws: How many samples.
        generator: For simulation over public numbers alone.

    >>> errors = simulate_sampling_errors(np.array([[2.0, 3.0], [1.0, 0.0]]), 8, 1000, np.random.default_rng(1))
    >>> errors.shape, bool(abs(errors.mean()) < 0.1), bool(np.allclose(errors[:, 1, 1], 0))
    ((1000, 2, 2), True, True)
    """
    elsewhere = records - float(likely.sum())
    chances = np.append(likely, elsewhere if elsewhere > ROUNDED else 0.0)
    drawn = sample_multinomial(chances, records, draws, generator) - records * chances / chances.sum()
    return np.asarray(drawn[:, :-1].reshape(draws, *likely.shape))


def monte_carlo_p_value(reached: float, shown: FloatArray) -> float:
    """The share of draws that reach at least as much, the observed one among them: a multiple of ``1 / (draws + 1)``,
    never 0.

    >>> monte_carlo_p_value(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    return float((1 + np.count_nonzero(shown >= reached)) / (1 + len(shown)))
