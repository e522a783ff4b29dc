from __future__ import annotations

from fractions import Fraction
from math import atan, pi

import numpy as np
import pytest
from agreement import agree

from dpcurves.noise.cauchy import sample_cauchy_floor
from dpcurves.noise.randomness import Randomness


@pytest.mark.parametrize(("centre", "scale"), [(Fraction(1, 3), Fraction(5, 2)), (Fraction(-7), Fraction(1, 4))])
def test_the_distribution_is_that_of_rounded_down_cauchy_noise(centre: Fraction, scale: Fraction) -> None:
    randomness = Randomness.from_seed(1)
    draws = np.array([sample_cauchy_floor(centre, scale, randomness) for _ in range(4000)])
    inner = np.arange(-12, 13)
    below = np.array([0.5 + atan((edge - float(centre)) / float(scale)) / pi for edge in [*inner, 13]])
    distribution = np.diff([0.0, *below, 1.0])
    counts = np.bincount(np.clip(draws, -13, 13) + 13, minlength=27)
    assert agree(counts, distribution)  # false alarms: 6.3e-5 each


def test_without_noise_the_centre_is_rounded_down() -> None:
    assert [sample_cauchy_floor(Fraction(c, 2), Fraction(0), Randomness.from_seed(2)) for c in (-3, -2, 0, 3)] == [
        -2,
        -1,
        0,
        1,
    ]


def test_noise_of_any_size_is_drawn() -> None:
    randomness = Randomness.from_seed(3)
    huge = [sample_cauchy_floor(Fraction(0), Fraction(2**200), randomness) for _ in range(20)]
    assert min(map(abs, huge)) > 2**180
    assert {sample_cauchy_floor(Fraction(1, 2), Fraction(1, 2**200), randomness) for _ in range(20)} == {0}


def test_bits_at_the_rim_and_at_the_bottom_of_the_disc_are_refined() -> None:
    rim, bottom = b"\xff" * 8, b"\x00" * 8
    fed = [rim + bottom, b"\x00", bottom + b"\x01" + bottom[1:], bottom + rim]
    stream = iter(b"".join(fed) + Randomness.from_seed(4).random_bytes(4096))
    source = Randomness(lambda count: bytes(next(stream) for _ in range(count)), is_seeded=True)
    assert isinstance(sample_cauchy_floor(Fraction(0), Fraction(1), source), int)


def test_a_scale_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="^scale: a number of at least 0 is needed, got -1$"):
        sample_cauchy_floor(Fraction(0), Fraction(-1), Randomness.from_seed(0))
