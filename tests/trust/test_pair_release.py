"""What pairs told becomes a release: exact sums, pairs that broke left out, and circles read the right way round."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arrays import IntArray
from dpcurves.conversation import Plan
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves_parties.pairs.release import find_sum_noise, release_answers, release_sum

SEED = bytes(range(32))
KENDALL = dp.pairs.KENDALL.with_columns(first=dp.pairs.Unsigned(4), second=dp.pairs.Unsigned(4))
EACH, ON_SUM = dp.pairs.NoisePlacement.EACH, dp.pairs.NoisePlacement.ON_SUM


def planned(
    people: int, each: int, noise: dp.pairs.NoisePlacement, epsilon: int = 4
) -> tuple[Plan, IntArray, Allotment]:
    plan = dp.pairs.plan(
        KENDALL, people=people, pairs_per_person=each, loss=dp.PrivacyLoss.pure(epsilon), noise=noise, seed=SEED
    )
    pairs = dp.pairs.Permutations(each).draw_pairs(people, SEED)
    return plan, pairs, QuestionBudget.from_external_charge("test", plan.loss).pay(plan.query, Fraction(1))


def products(pairs: IntArray, answers: IntArray) -> int:
    """Couples of pairs with exactly one person in common, one by one."""
    told = list(zip(map(set, pairs.tolist()), answers.tolist(), strict=True))
    return sum(a * b for (one, a), (other, b) in combinations(told, 2) if len(one & other) == 1)


@pytest.mark.parametrize(("people", "each"), [(4, 6), (7, 3), (30, 4)])
def test_three_sums_are_those_of_the_answers_that_came(people: int, each: int) -> None:
    """Pairs come again among four people, and a third of all break."""
    plan, pairs, allotment = planned(people, each, EACH)
    generator = np.random.default_rng(2)
    came = pairs[generator.random(len(pairs)) < 2 / 3]
    answers = generator.integers(-1, 2, len(came))
    release = release_answers(plan, came, answers, allotment, seeded=True)
    assert release.values == (answers.sum(), (answers**2).sum(), products(came, answers))
    told = dp.pairs.pair_statistic(release)
    assert told.notes == (f"{len(came)} of about {len(pairs)} pairs answered",)
    low, high = told.interval(0.9)
    assert -1 <= low <= high <= 1


def test_no_pair_at_all_is_told_as_such() -> None:
    plan, pairs, allotment = planned(10, 1, EACH)
    told = dp.pairs.pair_statistic(release_answers(plan, pairs[:0], np.zeros(0, np.int64), allotment, seeded=True))
    assert np.isnan(told.value)
    assert (told.interval(0.9), told.notes) == ((-1.0, 1.0), ("0 of about 5 pairs answered",))


def test_a_noisy_sum_is_read_on_the_right_side_of_its_circle() -> None:
    plan, pairs, allotment = planned(11, 2, ON_SUM)
    circle = 1 << find_sum_noise(plan).width
    for exact in (-len(pairs), 0, len(pairs)):
        for noise in (-20, 0, 20):
            code = (exact + len(pairs) + noise) % circle  # values are taken from -1 on
            assert release_sum(plan, pairs, code, allotment, seeded=True).values == (exact + noise,)


def test_who_is_in_too_many_pairs_or_answers_too_often_is_refused() -> None:
    plan, pairs, allotment = planned(10, 1, EACH)
    with pytest.raises(ValueError, match="at most as many pairs as the plan allows"):
        release_answers(plan, np.concatenate([pairs, pairs]), np.zeros(10, np.int64), allotment, seeded=True)
    with pytest.raises(ValueError, match="answers"):
        release_answers(plan, pairs, np.zeros(4, np.int64), allotment, seeded=True)
    _, _, other = planned(10, 1, EACH, epsilon=5)
    with pytest.raises(ValueError, match="allotment"):
        release_answers(plan, pairs, np.zeros(5, np.int64), other, seeded=True)
    with pytest.raises(ValueError, match="must be a plan for this kernel"):
        dp.pairs.simulate(dp.pairs.GINI, {"value": [1] * 10}, plan)
    with pytest.raises(ValueError, match="table: must have 10 rows, the people of the plan"):
        dp.pairs.simulate(KENDALL, {"first": [1], "second": [1]}, plan)


def test_all_pairs_without_noise_are_the_u_statistic_itself() -> None:
    """At an epsilon of 60 a pair, no answer of 1,770 is another one, but for a chance of 6%: the seed has none."""
    generator = np.random.default_rng(1)
    scores, positives = generator.integers(0, 16, 60), generator.integers(0, 2, 60)
    kernel = dp.pairs.AUC.with_columns(score=dp.pairs.Unsigned(4), label=dp.pairs.Unsigned(1))
    plan = dp.pairs.plan(
        kernel, people=60, pairs_per_person=59, loss=dp.PrivacyLoss.pure(60 * 59), pairing=dp.pairs.WithoutRepetition
    )
    source = dp.Randomness.from_seed(5)
    found = dp.pairs.simulate(kernel, {"score": scores, "label": positives}, plan, seed=SEED, randomness=source)
    area = dp.pairs.estimate_auc(found, 60, int(positives.sum()))
    high, low = scores[positives == 1][:, None], scores[positives == 0]
    exact = float(((high > low) + (high == low) / 2).mean())
    assert area.value == pytest.approx(exact, abs=0.002)
    ends = area.interval(0.95)
    assert ends[0] < exact < ends[1]
    with pytest.raises(ValueError, match="positives"):
        dp.pairs.estimate_auc(found, 60, 60)
