from __future__ import annotations

from fractions import Fraction

import pytest

from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.privacy import PrivacyLoss

GRANT = Grant("a", PrivacyLoss.pure("0.7"), "flights", 1)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 1000])
def test_parts_sum_to_the_grant_exactly(parts: int) -> None:
    budget = QuestionBudget(GRANT)
    losses = [budget.pay(thing, Fraction(1, parts)).loss for thing in range(parts)]
    assert sum(loss.epsilon or 0 for loss in losses) == Fraction(7, 10)
    assert budget.remaining == 0


def test_parts_are_numbered_in_the_order_in_which_they_are_paid() -> None:
    budget = QuestionBudget(GRANT)
    assert [budget.pay(thing, Fraction(1, 4)).part for thing in "abab"] == [0, 1, 0, 1]
    assert budget.remaining == Fraction(1, 2)


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1, 2), Fraction(3, 2)])
def test_no_share_is_below_zero_or_above_what_is_left(share: Fraction) -> None:
    with pytest.raises(ValueError, match=f"a step needs fraction {share} of its question's loss; 1 is left"):
        QuestionBudget(GRANT).pay("a tree", share)


def test_shares_of_two_things_do_not_add_up_to_more_than_the_grant() -> None:
    budget = QuestionBudget(GRANT)
    budget.pay("a tree", Fraction(2, 3))
    with pytest.raises(ValueError, match="a step needs fraction 2/3 of its question's loss; 1/3 is left"):
        budget.pay("another tree", Fraction(2, 3))
    assert budget.remaining == Fraction(1, 3)


def test_a_thing_is_not_paid_again_at_another_price() -> None:
    budget = QuestionBudget(GRANT)
    budget.pay("a tree", Fraction(1, 2))
    with pytest.raises(ValueError, match="this step was paid for with another fraction than 1/4"):
        budget.pay("a tree", Fraction(1, 4))
    assert budget.remaining == Fraction(1, 2)


def test_a_share_that_is_not_exact_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^budget_fraction: a Fraction is needed, as in Fraction\(1, 2\), got float$"):
        QuestionBudget.for_planning(PrivacyLoss.pure(1)).pay("a tree", 0.5)  # type: ignore[arg-type]
