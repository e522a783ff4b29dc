"""The bound holds for the exact distribution, and is not much above it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.distributions import Family, Noise
from dpcurves.inference import WeightedNoise, tail_bound


def tail(parts: tuple[WeightedNoise, ...], bound: float) -> float:
    """The exact chance that a sum of noises with weight 1 is at least `bound`."""
    distribution = np.ones(1)
    for part in parts:
        z = np.arange(-2000, 2001)
        scale = float(part.noise.parameter)
        weight = np.exp(-np.abs(z) / scale if part.noise.family is Family.LAPLACE else -(z**2) / (2 * scale))
        for _ in range(part.draws):
            distribution = np.convolve(distribution, weight / weight.sum())
    half = len(distribution) // 2
    return float(distribution[half + int(np.ceil(bound)) :].sum())


@pytest.mark.quick_share(32)
@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize(("times", "parameter"), [(1, "1/2"), (1, "20"), (3, "7"), (12, "5/3")])
def test_the_chance_beyond_the_bound_is_at_most_what_was_asked(
    family: Family, times: int, parameter: str, chance: float
) -> None:
    parts = (WeightedNoise(times, 1.0, Noise(family, Fraction(parameter))),)
    bound = tail_bound(parts, chance)
    assert tail(parts, bound) <= chance
    if chance <= 1e-3:
        assert tail(parts, 0.6 * bound - 1) >= chance


def test_weights_and_several_distributions_count_as_they_should() -> None:
    noise = Noise(Family.LAPLACE, Fraction(10))
    one = tail_bound((WeightedNoise(4, 1.0, noise),), 0.01)
    assert tail_bound((WeightedNoise(2, 1.0, noise), WeightedNoise(2, -1.0, noise)), 0.01) == pytest.approx(
        one, rel=1e-6
    )
    assert tail_bound((WeightedNoise(4, 0.5, noise),), 0.01) == pytest.approx(one / 2, rel=1e-6)
    assert (
        tail_bound((WeightedNoise(4, 1.0, noise), WeightedNoise(1, 0.0, noise), WeightedNoise(0, 9.0, noise)), 0.01)
        == one
    )


def test_without_noise_nothing_is_beyond_0() -> None:
    assert tail_bound((), 0.01) == 0.0
    assert tail_bound((WeightedNoise(3, 1.0, Noise(Family.LAPLACE, Fraction(1, 10**6))),), 0.01) < 1e-4
