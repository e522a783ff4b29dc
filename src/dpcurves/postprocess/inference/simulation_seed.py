"""Chance for simulation over public numbers. Nothing secret may be drawn from it."""

from __future__ import annotations

import numpy as np

DRAWS = 1000
VALUES = 2**25


def draws_for(cells: int) -> int:
    """How many draws to simulate: a thousand, or what fits in a quarter of a gigabyte, but not below 400."""
    return max(400, min(DRAWS, VALUES // cells))


def public_generator(generator: np.random.Generator | None) -> np.random.Generator:
    """The caller's generator; else one with a fixed seed, so that the same curve always shows the same band."""
    return generator if generator is not None else np.random.default_rng(20160605)
