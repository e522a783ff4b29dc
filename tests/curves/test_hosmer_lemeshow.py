"""The test of Hosmer and Lemeshow finds wrong models, and calls right ones wrong as rarely as it says, on any scores.

Seeds are fixed; rates are compared with their bound plus 4 sigma: a false alarm has chance 3e-5.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from kinds import CONTINUOUS, KINDS, labels_of, scores
from scipy.stats import kstest

from dpcurves.conversation import Setting
from dpcurves.curves import HosmerLemeshow, HosmerLemeshowQuestion
from dpcurves.curves.calibration import TEST_GROUP_NUMBERS as NUMBERS
from dpcurves.curves.score_groups import RECORDS_FRACTION, find_group_number
from dpcurves.data import Values
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, QuantileCutsQuery
from dpcurves.session import plan_question

QUESTION = HosmerLemeshowQuestion("y", "s")
RUNS = 150


def judged(
    kind: str, records: int, epsilon: str, adjacency: int, seed: int, *, slope: float = 1.0, shift: float = 0.0
) -> HosmerLemeshow:
    chance = np.random.default_rng(seed)
    score = scores(kind, records, chance)
    columns = {"y": labels_of(score, chance, slope=slope, shift=shift), "s": score}
    return answer(QUESTION, columns, PrivacyLoss.pure(epsilon), both(records)[adjacency], seed)


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", [0, 1], ids=["add-remove", "replace-one"])
def test_wrong_models_are_found(adjacency: int) -> None:
    """At least 0.7 of slopes of 1.5, and 0.95 of shifts of 0.3; about 0.9 and 1.00 are, of log-odds around -1."""
    runs = 20
    slopes = [judged(CONTINUOUS, 2000, "0.3", adjacency, seed, slope=1.5).p_value <= 0.05 for seed in range(runs)]
    shifts = [judged(CONTINUOUS, 20_000, "0.1", adjacency, seed, shift=0.3).p_value <= 0.05 for seed in range(runs)]
    assert np.mean(slopes) >= 0.7
    assert np.mean(shifts) >= 0.95


@pytest.mark.reproduction
def test_of_right_models_all_p_values_are_equally_likely() -> None:
    found = [judged(CONTINUOUS, 2000, "0.3", seed % 2, seed).p_value for seed in range(RUNS)]
    assert kstest(found, "uniform").pvalue > 6e-5
    assert abs(np.mean(np.array(found) <= 0.05) - 0.05) <= 4 * sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.reproduction
@pytest.mark.parametrize(("records", "releases"), [(1000, 30), (100_000, 8)])
def test_no_kind_of_scores_makes_right_models_look_wrong(records: int, releases: int) -> None:
    """Where scores of a group differ much, or are 0 or 1, labels vary less than is drawn: values may be too large."""
    found = np.array(
        [
            judged(kind, records, epsilon, seed % 2, seed).p_value
            for kind in KINDS
            for epsilon in ("0.1", "1")
            for seed in range(releases)
        ]
    )
    for level in (0.05, 0.2, 0.5):
        assert np.mean(found <= level) <= level + 4 * sqrt(level * (1 - level) / len(found))


def test_what_noise_hides_of_a_group_is_not_known_and_all_else_is_possible() -> None:
    """Next to nothing is known of 3 records at epsilon 0.1; of 300 some groups are, and none has more than there are.

    Noise alone makes a count of no record known with a chance of 2.5%.
    """
    hidden, known = [], 0
    for seed in range(12):
        few = judged(CONTINUOUS, 3, "0.1", 1, seed)
        some = judged(CONTINUOUS, 300, "0.3", seed % 2, seed)
        for found, most in ((few, 3), (some, 300)):
            there = ~np.isnan(found.count)
            assert (np.isnan(found.observed) == ~there).all()
            assert (np.isnan(found.expected) == ~there).all()
            counted, observed = found.count[there], found.observed[there]
            assert ((observed >= 0) & (observed <= counted)).all()
            assert (found.edges[:-1][there] * counted <= found.expected[there]).all()
            assert (found.expected[there] <= found.edges[1:][there] * counted).all()
            assert (counted <= most).all() or found.privacy.units is None
            again = HosmerLemeshow.from_json(found.to_json())
            assert np.array_equal(again.observed, found.observed, equal_nan=True)
            assert (again.statistic, again.p_value) == (found.statistic, found.p_value)
        hidden += np.isnan(few.count).tolist()
        known += int((~np.isnan(some.count)).sum())
    assert np.mean(hidden) > 0.8
    assert known > 12
    assert few.plot().has_data()


def test_fewer_groups_are_asked_of_fewer_records() -> None:
    few, some, many = (
        plan_question(QUESTION, PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, records))[0].query
        for records in (900, 2900, 5000)
    )
    assert [query.pieces for query in (few, some, many) if isinstance(query, QuantileCutsQuery)] == [4, 5, 10]
    gaussian = Setting(PrivacyLoss.zcdp("0.125"), ReplaceOne(EACH_RECORD, 1))  # as much noise as epsilon 1
    assert [find_group_number(records, gaussian, NUMBERS) for records in (900, 2900, 5000)] == [4, 5, 10]


def test_where_the_number_of_records_is_private_it_is_counted_first() -> None:
    counted, *others = plan_question(QUESTION, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert isinstance(counted.query, CountQuery)
    assert counted.loss.epsilon == RECORDS_FRACTION
    assert sum(float(plan.loss.epsilon or 0) for plan in others) == pytest.approx(0.98)
    assert [len(judged(CONTINUOUS, records, "1", 0, 1).count) for records in (300, 1200, 5000)] == [4, 5, 10]
    given = plan_question(HosmerLemeshowQuestion("y", "s", groups=7), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert [type(plan.query).__name__ for plan in given] == ["QuantileCutsQuery", "CountQuery", "SumQuery"]


def test_scores_that_are_declared_to_be_0_or_1_are_tested() -> None:
    draw = np.random.default_rng(1)
    score = draw.choice([0.0, 0.5, 1.0], 1_500)
    columns = {"y": (draw.random(1_500) < score).astype(np.float64), "s": score}
    question = HosmerLemeshowQuestion("y", "s", grid=Values((0.0, 0.5, 1.0)))
    for adjacency in both(1_500):
        found = answer(question, columns, PrivacyLoss.pure(1), adjacency, 2)
        assert np.nanmin(found.expected) >= 0
        assert 0 < found.p_value <= 1
