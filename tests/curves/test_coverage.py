"""Every interval and band of the package holds as often as it says, on every kind of data.

Tied, heaped, zero-inflated and clipped data, 1,000 and 100,000 records, epsilon 0.1 and 1, both adjacencies: of some of
these 32 cases, pooled by each of the four and all together, no share is so far below 90% that chance does it once in
30,000 times (4 sigma of a normal distribution). On continuous data it is so far neither below nor above one half, where
50% is said: what is too wide shows there most. Shares of too few releases to be too small are passed over; of all cases
together there are enough. There are about 900 comparisons: at most one in 30 sets of seeds fails by chance; the seeds
are fixed. `test_population_band`, `test_rate_bands` and `test_ratio_bands` hold 90% from both sides. What is off by
less than some 20 points only more releases show: `benchmarks/coverage_of_intervals.py`.
"""

from __future__ import annotations

import pytest
from families import FAMILIES
from tally import Share, tally

LEVEL, HALF = 0.9, 0.5
QUICK = ("distributions",)
"""Kinds that each run of the tests tries; `make bench` tries all. Other files hold the others by fewer releases."""
KINDS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.reproduction) for name in FAMILIES]


@pytest.mark.reproduction
@pytest.mark.parametrize("name", KINDS)
def test_of_continuous_data_intervals_hold_as_often_as_they_say_and_no_oftener(name: str) -> None:
    family = FAMILIES[name]
    found = tally(family.covered, family.smooth, HALF, family.releases)
    assert all(share.could_be_below(HALF) for share in found.pooled(None).values())
    assert found.too_few() == {}
    assert found.too_many(family.cautious) == {}


@pytest.mark.reproduction
@pytest.mark.parametrize("name", KINDS)
def test_of_atoms_intervals_hold_at_least_as_often_as_they_say(name: str) -> None:
    family = FAMILIES[name]
    found = tally(family.covered, family.few, LEVEL, family.repeats)
    assert all(share.could_be_below(LEVEL) for share in found.pooled(None).values())
    assert found.too_few() == {}


def test_a_share_that_is_far_from_the_level_is_told() -> None:
    assert Share(6, 14).is_below(0.9)
    assert not Share(8, 14).is_below(0.9)
    assert Share(200, 200).is_above(0.9)
    assert not Share(14, 14).is_above(0.9)
