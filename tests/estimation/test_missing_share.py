from __future__ import annotations

from fractions import Fraction

import pytest

from dpcurves.conversation import Evidence
from dpcurves.curves.result import TUNING, find_missing_share
from dpcurves.distributions import Family, IntervalSums, Noise, PathSums, Selection, Tier

NOISE = Noise(Family.LAPLACE, Fraction(2))
FLAT = IntervalSums(1, 3, (Tier(range(3), NOISE),), missing=NOISE)


def test_without_noise_to_speak_of_the_share_is_exact() -> None:
    still = Noise(Family.LAPLACE, Fraction(1, 1000))
    distribution = IntervalSums(1, 3, (Tier(range(3), still),), missing=still)
    assert find_missing_share(Evidence(distribution, (10, 20, 10, 60), total=None)) == pytest.approx(0.6)
    assert find_missing_share(Evidence(distribution, (10, 20, 10, 60), total=100)) == pytest.approx(0.6)


def test_what_noise_may_have_made_is_no_share() -> None:
    least = TUNING.missing_z * NOISE.variance**0.5
    assert find_missing_share(Evidence(FLAT, (0, 0, 0, int(least)), total=None)) == 0
    assert find_missing_share(Evidence(FLAT, (0, 0, 0, int(least) + 1), total=None)) == 1
    assert find_missing_share(Evidence(FLAT, (-9, -9, -9, 100), total=None)) == 1


def test_where_missing_records_were_not_counted_nothing_is_told() -> None:
    assert find_missing_share(Evidence(IntervalSums(1, 3, FLAT.levels, missing=None), (0, 0, 0), total=None)) == 0
    assert find_missing_share(Evidence(Selection((1,)), (0,), total=None)) == 0


def test_prefixes_tell_where_all_were_counted_or_their_number_is_public() -> None:
    assert find_missing_share(Evidence(PathSums(8, (3, 8), 4, NOISE, NOISE), (5, 40, 960), total=None)) == 0.96
    assert find_missing_share(Evidence(PathSums(8, (3,), 4, NOISE, NOISE), (5, 960), total=1000)) == 0.96
    assert find_missing_share(Evidence(PathSums(8, (3,), 4, NOISE, NOISE), (5, 960), total=None)) == 0


def test_an_empty_table_without_noise_misses_nothing() -> None:
    still = Noise(Family.LAPLACE, Fraction(1, 10**9))
    distribution = IntervalSums(1, 3, (Tier(range(3), still),), missing=still)
    assert find_missing_share(Evidence(distribution, (0, 0, 0, 0), total=None)) == 0
