"""Bounds of one column: right without noise, as good as they say with it, and defined for whatever is in the column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isnan, sqrt

import numpy as np
import pytest
from by_hand import answer, both

from dpcurves import ADD_REMOVE
from dpcurves.conversation import WHOLE_BUDGET, CoverageInterval, Needs, Plan, Release, Setting
from dpcurves.curves.bounds import Bounds, BoundsQuestion, ask_for_bounds, build_coverage_query
from dpcurves.distributions import Selection
from dpcurves.privacy import PrivacyLoss
from dpcurves.session import Session

HUGE = PrivacyLoss.pure(10**9)
VALUES = np.random.default_rng(3).normal(scale=10, size=2000)


@pytest.mark.parametrize("adjacency", both(2000), ids=str)
def test_without_noise_the_first_interval_that_covers_is_found(adjacency: object) -> None:
    for coverage, bound in (("0.95", 32), ("0.5", 8), ("1", 64), (Fraction(1, 20), 1)):
        found = answer(BoundsQuestion("r", 1, coverage), {"r": VALUES}, HUGE, adjacency, seed=1)  # type: ignore[arg-type]
        inside = (abs(VALUES) <= found.bound).mean(), (abs(VALUES) <= found.bound / 2).mean()
        assert found.bound == bound
        assert inside[0] >= float(Fraction(coverage)) > inside[1]
        assert (found.lower, found.upper, found.is_capped) == (-bound, bound, False)


def test_what_is_no_number_or_infinite_is_defined() -> None:
    def bound(values: list[float], coverage: str = "0.9") -> tuple[float, bool]:
        found = answer(BoundsQuestion("r", 0.5, coverage, doublings=4), {"r": values}, HUGE, both(len(values))[1], 1)
        return found.bound, found.is_capped

    assert bound([np.nan] * 50 + [1.5] * 3) == (2, False)
    assert bound([np.inf] * 50) == bound([-np.inf, np.inf] * 9) == (8, True)
    assert bound([1e308] * 2) == (8, True)
    assert bound([0.0] * 7) == bound([0.5] * 7) == bound([-0.5] * 7) == (0.5, False)
    assert bound([8.0] * 2) == (8, True)  # the last interval is closed, too
    assert bound([2.0] * 9 + [np.inf]) == (2, False)
    assert bound([2.0] * 9 + [np.inf], "1") == (8, True)


def test_the_widest_interval_says_that_it_is() -> None:
    question = BoundsQuestion("r", 0.5, "0.9", doublings=4)
    wide, narrow = (answer(question, {"r": [x] * 50}, HUGE, both(50)[1], 1) for x in (1e9, 1.0))
    assert wide.description == (
        "from -8 to 8; no interval seemed wide enough: this is the widest that was tried; advice: ask again with "
        "a larger unit"
    )
    assert narrow.description == "from -1 to 1"
    assert "the widest that was tried" in wide._repr_html_()


@pytest.mark.parametrize("values", [[], [3.0], [np.nan]])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_and_one_record_have_some_bound(values: list[float], seed: int) -> None:
    found = answer(BoundsQuestion("r", 1, 0.95), {"r": np.array(values)}, PrivacyLoss.pure(1), both(1)[0], seed)
    assert found.bound in 2.0 ** np.arange(65)


@pytest.mark.parametrize("adjacency", both(2000), ids=str)
def test_coverage_is_missed_by_more_than_alpha_as_rarely_as_said(adjacency: object) -> None:
    """At chance 0.05 at most; 4 sigma above it in 120 releases."""
    question, missed = BoundsQuestion("r", 1, 0.9), 0
    for seed in range(120):
        found = answer(question, {"r": VALUES}, PrivacyLoss.pure(0.2), adjacency, seed)  # type: ignore[arg-type]
        covered = (abs(VALUES) <= found.bound).sum(), (abs(VALUES) <= found.bound / 2).sum()
        missed += covered[0] < 0.9 * 2000 - found.alpha or covered[1] > 0.9 * 2000 + found.alpha
    assert missed / 120 <= 0.05 + 4 * sqrt(0.05 * 0.95 / 120)


def test_a_session_answers_it_and_another_column_with_its_own_share() -> None:
    with Session({"r": VALUES}, budget=PrivacyLoss.pure(5), adjacency=ADD_REMOVE) as session:
        found = session.ask(BoundsQuestion("r", 1, 0.95), PrivacyLoss.pure(3))
        assert found.bound in {16, 32}
        (plan,) = session.plan(BoundsQuestion("r", 1, 0.95), PrivacyLoss.pure(1))
        assert plan.error < 4
    assert found.privacy.epsilon == 3
    assert list(found.to_frame().columns) == ["lower", "upper"]
    again = Bounds.from_json(found.to_json())
    assert (again.bound, again.is_capped, again.alpha, again.label, again.privacy) == (
        found.bound, found.is_capped, found.alpha, "r", found.privacy,
    )  # fmt: skip


@dataclass(frozen=True)
class Rectangle:
    """Bounds of two columns, one after the other."""

    def steps(self, setting: Setting) -> Needs[tuple[float, float]]:
        across, _ = yield from ask_for_bounds(build_coverage_query("r", 1, 0.95), Fraction(1, 4))
        upwards, _ = yield from ask_for_bounds(build_coverage_query("s", 0.01, 0.5), Fraction(3, 4))
        return across.bound, upwards.bound


def test_two_columns_have_bounds_of_their_own_for_parts_of_one_loss() -> None:
    table = {"r": VALUES, "s": VALUES / 1000}
    with Session(table, budget=PrivacyLoss.pure(40), adjacency=ADD_REMOVE) as session:
        plans = session.plan(Rectangle(), PrivacyLoss.pure(40))
        assert [plan.loss.epsilon for plan in plans] == [10, 30]
        assert session.ask(Rectangle(), PrivacyLoss.pure(40)) == (32, 0.01)
        assert session.remaining.epsilon == 0


def test_who_only_chose_has_no_alpha() -> None:
    query = build_coverage_query("r", 1, 0.9, 3)
    plan = Plan(query, HUGE, both(3)[0], "somebody: chose", Selection((0,)), 0.0)
    talk = ask_for_bounds(query, WHOLE_BUDGET)
    next(talk)
    with pytest.raises(StopIteration) as end:
        talk.send(CoverageInterval(Release.make_placeholder(plan), 0, plan.distribution.alpha))
    bounds: Bounds = end.value.value[0]
    assert isnan(bounds.alpha)
    assert isnan(Bounds.from_json(bounds.to_json()).alpha)
    assert bounds.bound == 1


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    for unit, coverage, doublings, name in (
        (0, 0.9, 3, "unit"), (1, 0, 3, "coverage"), (1, 1.5, 3, "coverage"), (1, "much", 3, "coverage"),
        (1, 0.9, 0, "doublings"), (1e300, 0.9, 64, "unit"), (1, float("nan"), 3, "coverage"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name}: "):
            BoundsQuestion("r", unit, coverage, doublings)
