"""Largest budgets under both adjacencies."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms.linear import calibrate_to_budget
from dpcurves.mechanisms.wavelets import LEAST_MISSING, Budgets, calibrate_budgets
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit

PURE = PrivacyLoss.pure(6)
CONCENTRATED = PrivacyLoss.zcdp(6)
HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


def test_a_record_that_comes_or_goes_pays_in_the_cells_or_in_the_missing_cell() -> None:
    assert calibrate_budgets(TWO, ONE, PURE, AddRemove(EACH_RECORD)) == Budgets(Fraction(3), Fraction(6))
    assert calibrate_budgets(TWO, ONE, CONCENTRATED, AddRemove(EACH_RECORD)) == Budgets(Fraction(6), Fraction(12))


def test_a_record_that_moves_pays_twice_at_most() -> None:
    assert calibrate_budgets(ONE, TWO, PURE, ReplaceOne(EACH_RECORD, 5)) == Budgets(Fraction(3), Fraction(3))
    assert calibrate_budgets(ONE, HALF, PURE, ReplaceOne(EACH_RECORD, 5)) == Budgets(Fraction(4), Fraction(2))


def test_the_missing_cell_has_its_part_where_records_move() -> None:
    for moved in (Fraction(0), HALF, ONE, TWO):
        found = calibrate_budgets(ONE, moved, PURE, ReplaceOne(EACH_RECORD, 5))
        assert found.missing >= 6 * LEAST_MISSING
        assert max(found.unit * moved, found.unit + found.missing) == 6


def test_several_records_of_a_unit_add_up_and_with_gaussian_noise_by_their_square() -> None:
    assert calibrate_budgets(TWO, ONE, PURE, AddRemove(Unit("patient", 3))).unit == 1
    assert calibrate_budgets(TWO, ONE, CONCENTRATED, AddRemove(Unit("patient", 3))).unit == Fraction(2, 3)


def test_budgets_are_noise() -> None:
    assert calibrate_to_budget(HALF, PURE) == Noise(Family.LAPLACE, TWO)
    assert calibrate_to_budget(HALF, CONCENTRATED) == Noise(Family.GAUSSIAN, TWO)


def test_what_cannot_be_drawn_or_sold_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        calibrate_budgets(ONE, TWO, PURE * Fraction(0), AddRemove(EACH_RECORD))
    with pytest.raises(UnsupportedQuery, match="more noise than can be drawn"):
        calibrate_to_budget(Fraction(1, 2**56), PURE)
