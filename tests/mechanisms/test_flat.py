"""The plan of a flat histogram."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest
from tiny_tables import counts, cuts, sums

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, IntervalSums, Noise
from dpcurves.mechanisms import FlatHistogram
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CountUse

PURE = PrivacyLoss.pure("0.5")
WHO = AddRemove(Unit("patient", 3))


def test_one_level_has_all_of_the_loss() -> None:
    distribution = FlatHistogram().plan(counts(2, 5), PURE, WHO).distribution
    assert isinstance(distribution, IntervalSums)
    assert [level.starts for level in distribution.levels] == [range(5)]
    assert distribution.levels[0].noise == distribution.missing == Noise(Family.LAPLACE, Fraction(6))


def test_sums_have_noise_of_their_reach_and_no_missing_cell() -> None:
    distribution = FlatHistogram().plan(sums(1, 5, 7), PrivacyLoss.zcdp(2), WHO).distribution
    assert isinstance(distribution, IntervalSums)
    assert (distribution.levels[0].noise, distribution.missing) == (
        Noise(Family.GAUSSIAN, Fraction(3**2 * 7**2, 4)),
        None,
    )


def test_the_error_of_cells_is_that_of_one_cell_and_of_prefixes_that_of_least_squares() -> None:
    cell = Noise(Family.LAPLACE, Fraction(6)).variance
    assert FlatHistogram().plan(counts(2, 5, CountUse.CELLS), PURE, WHO).error == pytest.approx(sqrt(cell))
    assert FlatHistogram().plan(sums(2, 5, 1), PURE, WHO).error == pytest.approx(sqrt(cell))
    prefixes = FlatHistogram().plan(counts(2, 5), PURE, WHO)
    assert isinstance(prefixes.distribution, IntervalSums)
    assert prefixes.error**2 == pytest.approx(prefixes.distribution.mean_prefix_variance(total_is_public=False))


def test_a_public_total_lowers_the_error_of_prefixes() -> None:
    error = FlatHistogram().plan(counts(1, 64), PURE, ReplaceOne(EACH_RECORD, 9)).error
    unknown = FlatHistogram().plan(counts(1, 64), PURE, AddRemove(Unit("patient", 2))).error
    assert error < 0.75 * unknown  # a third of the variance is left of a half


def test_wide_intervals_are_for_prefixes_alone() -> None:
    distribution = FlatHistogram(4).plan(counts(1, 10), PURE, WHO).distribution
    assert isinstance(distribution, IntervalSums)
    assert distribution.levels[0].starts == range(0, 10, 4)
    for query in (counts(1, 10, CountUse.CELLS), sums(1, 10, 1)):
        with pytest.raises(UnsupportedQuery, match="width"):
            FlatHistogram(4).plan(query, PURE, WHO)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="QuantileCutsQuery"):
        FlatHistogram().plan(cuts(4, 2), PURE, WHO)
    with pytest.raises(ValueError, match="width"):
        FlatHistogram(0)
