"""Intervals of calibration curves and of Hosmer-Lemeshow groups hold what they say, whatever the scores.

Seeds are fixed; coverage is compared with the level within 4 sigma: a false alarm has chance 6e-5 a comparison. Groups
of one release are as good as independent: their records are disjoint, and so are their noises, but for a public total.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from kinds import CONTINUOUS, KINDS, labels_of, scores
from numpy.typing import NDArray

from dpcurves.curves import (
    BinnedResidualsQuestion,
    Calibration,
    CalibrationQuestion,
    HosmerLemeshow,
    HosmerLemeshowQuestion,
    Question,
)
from dpcurves.privacy import PUBLIC_MODEL, AddRemove, PrivacyLoss, Unit

pytestmark = pytest.mark.reproduction
FloatArray = NDArray[np.float64]
Curve = Calibration | HosmerLemeshow
LEVEL = 0.9
SETTINGS = tuple(product(("0.1", "1"), (0, 1)))


def held(question: Question[Curve], kind: str, records: int, releases: int) -> Iterator[list[bool]]:
    """Tell for every group that is not empty whether what is true of these records, and of the population, is held."""
    for (epsilon, adjacency), seed in product(SETTINGS, range(releases)):
        chance = np.random.default_rng(seed)
        score = scores(kind, records, chance)
        label = labels_of(score, chance)
        curve = answer(question, {"y": label, "s": score}, PrivacyLoss.pure(epsilon), both(records)[adjacency], seed)
        place = np.clip(np.searchsorted(curve.edges, score, side="right") - 1, 0, len(curve.count) - 1)
        count = np.bincount(place, minlength=len(curve.count))
        size = np.maximum(count, 1) if isinstance(curve, Calibration) else np.ones(len(count))
        truths = [np.bincount(place, each, minlength=len(count)) / size for each in (label, score)]
        ends = [curve.intervals(LEVEL, population=whom) for whom in (False, True)]
        held = [
            (low - 1e-9 <= truth) & (truth <= high + 1e-9)
            for truth, (low, high) in zip(truths, (each.T for each in ends), strict=True)
        ]
        yield from np.stack(held, axis=-1)[count > 0].tolist()


QUESTIONS: list[Question[Curve]] = [CalibrationQuestion("y", "s"), HosmerLemeshowQuestion("y", "s", groups=10)]


@pytest.mark.parametrize("question", QUESTIONS, ids=["shares", "positives"])
@pytest.mark.parametrize(("records", "releases"), [(1000, 6), (100_000, 4)])
def test_of_spread_scores_intervals_hold_as_often_as_they_say(
    question: Question[Curve], records: int, releases: int
) -> None:
    """Scores differ within a group, so positives vary less than by a binomial distribution of the share: by 2% at the
    most."""
    found = np.array(list(held(question, CONTINUOUS, records, releases)))
    assert np.abs(found.mean(axis=0) - LEVEL).max() <= 4 * sqrt(LEVEL * (1 - LEVEL) / len(found))


@pytest.mark.parametrize("question", QUESTIONS, ids=["shares", "positives"])
def test_on_atoms_and_at_the_ends_intervals_hold_at_least_as_often(question: Question[Curve]) -> None:
    """At least: where all records of a group score 0 or 1, no share is further out, and half of each interval is."""
    found = np.array(
        [each for kind in KINDS for size in ((1000, 1), (100_000, 1)) for each in held(question, kind, *size)]
    )
    assert found.mean(axis=0).min() >= LEVEL - 4 * sqrt(LEVEL * (1 - LEVEL) / len(found))


def test_with_hardly_any_noise_an_interval_for_these_records_is_a_point() -> None:
    chance = np.random.default_rng(1)
    score = scores(CONTINUOUS, 1000, chance)
    columns = {"y": labels_of(score, chance), "s": score}
    curve = answer(CalibrationQuestion("y", "s", 4), columns, PrivacyLoss.pure(10**9), both(1000)[1], 1)
    lower, upper = curve.intervals(LEVEL).T
    assert lower == pytest.approx(curve.prob_true, abs=1e-6)
    assert upper == pytest.approx(curve.prob_true, abs=1e-6)
    low, high = curve.intervals(LEVEL, population=True).T
    wilson = 1.645 * np.sqrt(curve.prob_true * (1 - curve.prob_true) / curve.count)
    assert (high - low) / 2 == pytest.approx(wilson, rel=0.08)


def test_of_nobody_the_share_is_not_known() -> None:
    nobody: dict[str, list[float]] = {"y": [], "s": []}
    curve = answer(CalibrationQuestion("y", "s", 4), nobody, PrivacyLoss.pure(1), both(1)[0], 3)
    low, high = curve.intervals(0.95).T
    assert (low == 0).all()
    assert (high == 1).mean() >= 0.5


def test_of_the_population_nothing_is_said_where_a_unit_has_several_records() -> None:
    chance = np.random.default_rng(1)
    score = scores(CONTINUOUS, 1000, chance)
    columns = {"y": labels_of(score, chance), "s": score}
    curve = answer(CalibrationQuestion("y", "s", 4), columns, PrivacyLoss.pure(1), AddRemove(Unit("patient", 2)), 1)
    assert curve.intervals(0.95).shape == (4, 2)
    with pytest.raises(ValueError, match="^population: independent units"):
        curve.intervals(0.95, population=True)


def test_bins_of_a_right_model_are_within_the_envelope_as_often_as_it_says() -> None:
    """Holds 95 in 100 of spread scores, and more of others: their residuals vary less than those of the mean score."""
    found: dict[str, list[bool]] = {}
    question = BinnedResidualsQuestion("y", "s", PUBLIC_MODEL)
    for kind, (epsilon, adjacency), seed in product((CONTINUOUS, *KINDS), SETTINGS, range(5)):
        chance = np.random.default_rng(seed)
        score = scores(kind, 2000, chance)
        columns = {"y": labels_of(score, chance), "s": score}
        curve = answer(question, columns, PrivacyLoss.pure(epsilon), both(2000)[adjacency], seed)
        found.setdefault(kind, []).extend((np.abs(curve.residual) <= curve.envelope).tolist())
    for kind, inside in found.items():
        allowed = 4 * sqrt(0.95 * 0.05 / len(inside))
        assert np.mean(inside) >= 0.95 - allowed
        assert kind != CONTINUOUS or np.mean(inside) <= 0.95 + allowed
