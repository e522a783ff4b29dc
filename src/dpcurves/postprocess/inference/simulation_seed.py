"""Chance for simulation over public numbers. Nothing secret may be drawn from it."""

from __future__ import annotations

import numpy as np

SEED = 20160605
DRAWS = 1000
MOST_DRAWS = 5000
AT_EASE, VALUES = 2**20, 2**25
"""Numbers that are drawn without hesitation, and with some."""


def draws_for(cells: int) -> int:
    """The number of simulated draws: a thousand; more if there are few cells, and fewer, but not below 400, if many.

    >>> [draws_for(cells) for cells in (100, 1024, 10_000, 2**20)]
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
