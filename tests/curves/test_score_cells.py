"""Groups of like scores from counts of all cells: for two servers, and for mechanisms that count once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.conversation import Evidence, PrivacyStatement
from dpcurves.curves.score_groups import CountedGroups
from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.inference import share_intervals
from dpcurves.mechanisms import FlatHistogram
from dpcurves.trust import Central

GRID = dp.Grid(0, 1, cells=256, outside=dp.Outside.APART)
CHANCE = np.random.default_rng(8)
SCORE = np.append(CHANCE.beta(2, 3, 4000), [-1.0, 2.0, 3.0])
LABEL = (CHANCE.random(4003) < np.clip(SCORE, 0, 1) ** 1.5).astype(int)


def asked(question: Any, epsilon: float, adjacency: dp.Neighbours = dp.REPLACE_ONE) -> Any:
    session = dp.Session(
        {"y": LABEL, "p": SCORE}, budget=dp.PrivacyLoss.pure(epsilon), adjacency=adjacency,
        units=4003 if adjacency is dp.REPLACE_ONE else None,
        trust=Central(mechanism=FlatHistogram()), randomness=dp.Randomness.from_seed(3),
    )  # fmt: skip
    return session.ask(question, dp.PrivacyLoss.pure(epsilon))


@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_without_noise_groups_hold_what_lies_between_their_edges() -> None:
    curve = asked(dp.CalibrationQuestion("y", "p", 8, GRID), 10**6)
    assert len(curve.count) == 8
    group = np.searchsorted(curve.edges, SCORE, side="right") - 1
    for number in range(8):
        inside = (group == number) & (SCORE >= 0) & (SCORE <= 1)
        assert curve.count[number] == pytest.approx(inside.sum())
        assert 400 < inside.sum() < 600
        assert curve.prob_true[number] == pytest.approx(LABEL[inside].mean())
        assert abs(curve.prob_pred[number] - SCORE[inside].mean()) <= 0.5 / 256
    assert curve.groups.outside == pytest.approx((1, 2))
    again = dp.Calibration.from_json(curve.to_json())
    assert (again.prob_true == curve.prob_true).all()
    assert (again.intervals(0.9) == curve.intervals(0.9)).all()


@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_tests_and_residuals_of_groups_are_read_from_counts_too() -> None:
    wrong = asked(dp.HosmerLemeshowQuestion("y", "p", grid=GRID), 2)
    assert wrong.p_value < 0.01
    assert dp.HosmerLemeshow.from_json(wrong.to_json()).p_value == wrong.p_value
    residuals = asked(dp.BinnedResidualsQuestion("y", "p", model=dp.PUBLIC_MODEL, grid=GRID), 2)
    assert residuals.residual.mean() < 0
    for adjacency in (dp.REPLACE_ONE, dp.ADD_REMOVE):
        question = dp.BinnedResidualsQuestion("y", "p", dp.PUBLIC_MODEL, bins=12, min_records=700, grid=GRID)
        held = asked(question, 1000, adjacency).count
        assert len(held) == 5
        assert held.min() >= 700


@pytest.mark.reproduction
def test_intervals_of_groups_that_noisy_counts_chose_cover_as_often_as_they_say() -> None:
    """40 releases of 6 groups at level 0.9: misses within 4 standard deviations, groups of one release as one draw."""
    distribution = IntervalSums(
        2, 64, (Tier(range(64), Noise(Family.LAPLACE, Fraction(2), 2)),), Noise(Family.LAPLACE, Fraction(2), 2)
    )
    truth = np.stack([np.arange(64)[::-1] // 4 + 1, np.arange(64) // 4 + 1])
    exact, missed = np.append(truth.ravel(), 5), list[float]()
    privacy = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, int(exact.sum()), "", "", False, "")
    noise = distribution.simulate_values(40, np.random.default_rng(2))
    for drawn in noise:
        values = tuple((exact + drawn).astype(int).tolist())
        groups = CountedGroups(dp.Grid(0, 1, cells=64), Evidence(distribution, values, int(exact.sum())), 6)
        negative, positive = np.add.reduceat(truth, groups.starts, axis=1)
        lower, upper = groups.intervals(share_intervals, 0.9, privacy, population=False, generator=None).T
        shares = positive / (positive + negative)
        missed.append(float(((shares < lower) | (shares > upper)).mean()))
    assert np.mean(missed) <= 0.1 + 4 * np.std(missed) / np.sqrt(len(missed))
