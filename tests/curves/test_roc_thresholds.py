"""ROC curves from counts of prefixes of the places of both classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpcurves.curves import RocThresholds, RocThresholdsQuestion
from dpcurves.data import Grid, Outside
from dpcurves.ledger import QuestionBudget
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import PrefixQuery
from dpcurves.release import ALL, Setting
from dpcurves.session import converse
from dpcurves.trust import FunctionShares
from dpcurves.trust.function_shares import told

DRAW = np.random.default_rng(5)
SCORES = DRAW.beta(2, 2, size=1500)
LABELS = (DRAW.random(1500) < SCORES).astype(int)
WHO, ONE = ReplaceOne(EACH_RECORD, 1500), PrivacyLoss.pure(1)


def answered(
    question: RocThresholdsQuestion, noise: float = 0.0, seed: int = 1, loss: PrivacyLoss = ONE
) -> RocThresholds:
    """Answer as if servers counted, with some rounded normal noise."""
    slots = question.grid.slots
    places, chance = LABELS * slots + question.grid.cell_of(SCORES), np.random.default_rng(seed)

    def reply(step: Any) -> Any:
        query: PrefixQuery = step.query
        plan = FunctionShares().plan(query, loss, WHO)
        counts = [int((places < each).sum() + np.rint(chance.normal() * noise)) for each in query.at]
        return told(plan, counts, QuestionBudget.told("a", loss).pay(query.paid_as, ALL))

    return converse(question.steps(Setting(loss, WHO, adaptive=False)), reply)


@pytest.mark.parametrize("outside", list(Outside))
def test_at_all_edges_the_curve_is_that_of_scikit_learn_on_the_same_cells(outside: Outside) -> None:
    grid = Grid(0, 1, cells=64, outside=outside)
    roc = answered(RocThresholdsQuestion("y", "s", grid, tuple(range(1, 64))))
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, np.floor(SCORES * 64)), abs=1e-9)
    assert roc.thresholds[0] == np.inf
    assert np.all(np.diff(roc.thresholds) < 0)
    for point in (5, 40):
        above = roc.thresholds[point] <= SCORES
        assert roc.fpr[point] == pytest.approx(above[LABELS == 0].mean())
        assert roc.tpr[point] == pytest.approx(above[LABELS == 1].mean())


def test_at_few_edges_scores_between_them_are_tied() -> None:
    roc = answered(RocThresholdsQuestion("y", "s", Grid(0, 1, cells=2**20), (2**19, 2**18)))
    tied = np.searchsorted([0.25, 0.5], SCORES, side="right")
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, tied), abs=1e-9)
    assert roc.thresholds.tolist() == [np.inf, 0.5, 0.25, 0.0]


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_noise_the_curve_rises_from_corner_to_corner(seed: int) -> None:
    roc = answered(RocThresholdsQuestion("y", "s", Grid(0, 1, cells=256), tuple(range(8, 256, 8))), 300, seed)
    for rates in (roc.fpr, roc.tpr):
        assert (rates[0], rates[-1]) == (0, 1)
        assert np.all(np.diff(rates) >= 0)
    assert 0 <= roc.auc <= 1


def test_what_was_seen_is_written_and_read_again() -> None:
    roc = answered(RocThresholdsQuestion("y", "s", Grid(0, 1, cells=256), (7, 100)), 5)
    again = RocThresholds.from_json(roc.to_json())
    assert again.to_json() == roc.to_json()
    assert again.to_frame().equals(roc.to_frame())
    assert "ROC curve" in roc._repr_html_()
    assert roc.privacy.trust == "two servers that do not collude, owners unchecked"


def test_edges_must_be_inner_ones_each_once() -> None:
    for at in ((0,), (256,), (3, 3)):
        with pytest.raises(ValueError, match="at: numbers of inner edges, 1 to 255"):
            RocThresholdsQuestion("y", "s", Grid(0, 1, cells=256), at)


def test_without_noise_rates_are_known_and_the_area_but_for_ties() -> None:
    question = RocThresholdsQuestion("y", "s", Grid(0, 1, cells=64), tuple(range(1, 64)))
    roc = answered(question, loss=PrivacyLoss.pure(10**9))
    for rates, ends in zip((roc.fpr, roc.tpr), roc.intervals(0.95), strict=True):
        assert ends == pytest.approx(np.stack([rates, rates], axis=-1), abs=1e-6)
    low, high = roc.auc_interval(0.95)
    tied = np.diff(roc.fpr) @ np.diff(roc.tpr)
    assert (low, high) == pytest.approx((roc.auc - tied / 2, roc.auc + tied / 2), abs=1e-6)
    assert low < roc_auc_score(LABELS, SCORES) < high


def test_intervals_for_the_population_are_wider_and_the_corners_are_known() -> None:
    roc = answered(RocThresholdsQuestion("y", "s", Grid(0, 1, cells=64), (16, 32, 48)))
    narrow, wide = roc.intervals(0.95), roc.intervals(0.95, population=True)
    for inner, outer in zip(narrow, wide, strict=True):
        assert inner[[0, -1]].tolist() == outer[[0, -1]].tolist() == [[0, 0], [1, 1]]
        assert (np.diff(outer[1:-1]) > np.diff(inner[1:-1])).all()
    assert roc.auc_interval(0.95) != roc.auc_interval(0.95, population=True)
