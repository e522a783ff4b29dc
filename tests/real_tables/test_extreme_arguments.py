"""Arguments at the ends of what is allowed: a plan, an answer or a refusal in one line, and no traceback."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle
from math import exp
from typing import Any

import numpy as np
import pytest
from every_question import QUESTIONS

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import UnsupportedQuery
from dpcurves.data import TextUniverse
from dpcurves.mechanisms.partition_selection import LARGEST_RATE, BoundedNoise, RankedNoise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, ReplaceOne
from dpcurves.session import plan_question

LOSSES = (
    *(dp.PrivacyLoss.pure(epsilon) for epsilon in ("1e-9", "3000", "1e6")),
    *(dp.PrivacyLoss.zcdp(rho) for rho in ("1e-9", "1e6")),
)
SIZES = AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 1), ReplaceOne(EACH_RECORD, 10**12)


def rehearsed(question: Any, loss: dp.PrivacyLoss, size: Any) -> tuple[Sequence[Any], str]:
    """The plans, or why there are none."""
    try:
        return plan_question(question, loss, size), ""
    except (InvalidArgument, UnsupportedQuery) as refusal:
        return (), str(refusal)


def found(price: dp.PrivacyLoss, table: Any, by: Any) -> tuple[Any, str]:
    """The counts of groups, or why there are none."""
    with dp.Session(table, budget=price, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(3)) as session:
        try:
            return session.ask(dp.CountQuestion("x", by=by), price), ""
        except (InvalidArgument, UnsupportedQuery) as refusal:
            return None, str(refusal)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("part", range(4))
def test_a_plan_at_any_loss_is_made_or_refused(part: int) -> None:
    """Forecasts and answers of each question at the ends of losses and of numbers of records."""
    for place in range(part, len(QUESTIONS), 4):
        question = QUESTIONS[place]
        if isinstance(question, dp.RocQuestion) and question.thresholds is dp.RocThresholds.FIXED:
            continue  # a plan of 16,384 cells takes seconds
        for loss, size in zip(LOSSES, cycle(SIZES[place % 3 :] + SIZES[: place % 3]), strict=False):
            plans, refusal = rehearsed(question, loss, size)
            assert "\n" not in refusal
            assert all(plan.loss.rho <= loss.rho for plan in plans)


@pytest.mark.quick_share(15)
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "0.999999"])
@pytest.mark.parametrize(
    "loss", [("pure", "1e-9"), ("pure", "0.001"), ("pure", "3000"), ("pure", "1e9"), ("zcdp", "1e6")]
)
def test_groups_that_nobody_listed_are_found_or_refused_at_any_loss_and_delta(loss: Any, delta: str) -> None:
    kind, amount = loss
    table = {"x": np.arange(300) % 7, "g": [f"g{number % 3}" for number in range(300)]}
    counts, refusal = found(getattr(dp.PrivacyLoss, kind)(amount, delta), table, dp.UnlistedCategories("g"))
    assert "\n" not in refusal
    assert (counts is None) == (refusal != "")
    if kind == "pure" and float(amount) > 100:  # there is next to no noise
        assert [counts[name].count for name in ("g0", "g1", "g2")] == [100, 100, 100]


@pytest.mark.parametrize("epsilon", ["1e-9", "3000", "1e9"])
def test_a_universe_of_names_takes_any_loss(epsilon: str) -> None:
    table = {"x": np.arange(300) % 7, "g": ["ab"] * 300}
    counts, refusal = found(
        dp.PrivacyLoss.pure(epsilon), table, dp.UnlistedCategories("g", universe=TextUniverse("ab", 2))
    )
    assert "\n" not in refusal
    assert counts is None if float(epsilon) < 1 else counts["ab"].count == 300


@pytest.mark.parametrize("rate", [Fraction(257), Fraction(3000), Fraction(10**9)])
def test_the_noise_of_names_loses_no_more_where_its_rate_is_cut(rate: Fraction) -> None:
    """The chance of one is below delta in exact fractions, and the rate is below the one that is paid for."""
    for delta in (Fraction(1, 10**6), Fraction(1, 10**300)):
        noise = BoundedNoise.from_delta(rate, delta)
        assert noise.rate == LARGEST_RATE < rate
        assert noise.selection_probability_of_one() <= delta
        assert (
            noise.threshold == 1 or BoundedNoise(noise.rate, noise.threshold - 1).selection_probability_of_one() > delta
        )
    assert RankedNoise.from_universe_sizes(rate, (10, 1000)).rate <= rate


def test_noise_that_is_wide_beside_its_bound_follows_its_distribution() -> None:
    """Each of the nine chances lies within 5 standard errors of what 20,000 draws show: false alarms, one in 10^5."""
    noise, size = BoundedNoise(Fraction(1, 8), 4), 20_000
    drawn = noise.sample(size, Randomness.from_seed(2))
    weights = {value: exp(-abs(value) / 8) for value in range(-4, 5)}
    assert set(drawn.tolist()) == set(weights)
    for value, weight in weights.items():
        chance = weight / sum(weights.values())
        assert abs((drawn == value).mean() - chance) < 5 * (chance / size) ** 0.5
    wide = BoundedNoise(Fraction(1, 10**12), 1)  # unbounded noise would be drawn anew for ever
    assert set(wide.sample(50, Randomness.from_seed(2)).tolist()) == {-1, 0, 1}
