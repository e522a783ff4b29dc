"""ROC curves at a few edges of a grid, as two servers count them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET
from dpcurves.curves import ROC, RocQuestion
from dpcurves.data import Grid, Outside
from dpcurves.ledger import QuestionBudget
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import PrefixQuery
from dpcurves.session import answer_steps
from dpcurves.trust import run_conversation
from dpcurves_parties.shares.function_shares import FunctionShares, make_release

DRAW = np.random.default_rng(5)
SCORES = DRAW.beta(2, 2, size=1500)
LABELS = (DRAW.random(1500) < SCORES).astype(int)
WHO, ONE = ReplaceOne(EACH_RECORD, 1500), PrivacyLoss.pure(1)


def answered(question: RocQuestion, noise: float = 0.0, seed: int = 1, loss: PrivacyLoss = ONE) -> ROC:
    """Answer as if servers counted, with some rounded normal noise."""
    slots = question.grid.slots
    places, chance = LABELS * slots + question.grid.cell_of(SCORES), np.random.default_rng(seed)

    def reply(step: Any) -> Any:
        query: PrefixQuery = step.query
        plan = FunctionShares().plan_query(query, loss, WHO)
        counts = [int((places < each).sum() + np.rint(chance.normal() * noise)) for each in query.prefix_lengths]
        return make_release(
            plan, counts, QuestionBudget.from_external_charge("a", loss).pay(query.charged_query, WHOLE_BUDGET)
        )

    return answer_steps(run_conversation(question, loss, WHO, FunctionShares()), reply)


@pytest.mark.parametrize("outside", list(Outside))
def test_at_all_edges_the_curve_is_that_of_scikit_learn_on_the_same_cells(outside: Outside) -> None:
    grid = Grid(0, 1, cells=64, outside=outside)
    roc = answered(RocQuestion("y", "s", grid, edges=tuple(range(1, 64))))
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, np.floor(SCORES * 64)), abs=1e-9)
    assert roc.thresholds[0] == np.inf
    assert np.all(np.diff(roc.thresholds) < 0)
    for point in (5, 40):
        above = roc.thresholds[point] <= SCORES
        assert roc.fpr[point] == pytest.approx(above[LABELS == 0].mean())
        assert roc.tpr[point] == pytest.approx(above[LABELS == 1].mean())


def test_at_few_edges_scores_between_them_are_tied() -> None:
    roc = answered(RocQuestion("y", "s", Grid(0, 1, cells=2**20), edges=(2**19, 2**18)), loss=PrivacyLoss.pure(100))
    tied = np.searchsorted([0.25, 0.5], SCORES, side="right")
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, tied), abs=1e-9)
    assert roc.thresholds.tolist() == [np.inf, 0.5, 0.25, 0.0]


def test_at_a_loss_at_which_noise_hides_the_classes_the_area_is_not_known() -> None:
    roc = answered(RocQuestion("y", "s", Grid(0, 1, cells=2**20), edges=(2**19, 2**18)))
    assert np.isnan(roc.auc)
    assert roc.auc_interval(0.95) == roc.auc_interval(0.5) == (0, 1)
    assert roc.tpr[1] == pytest.approx((SCORES >= 0.5)[LABELS == 1].mean())


@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.pure(100)], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_noise_the_curve_rises_from_corner_to_corner(seed: int, loss: PrivacyLoss) -> None:
    """The noise that is sent is more than either loss allows for; at the larger one the area counts as known."""
    roc = answered(RocQuestion("y", "s", Grid(0, 1, cells=256), edges=tuple(range(8, 256, 8))), 300, seed, loss)
    for rates in (roc.fpr, roc.tpr):
        assert (rates[0], rates[-1]) == (0, 1)
        assert np.all(np.diff(rates) >= 0)
    assert 0 <= roc.auc <= 1 or (loss == ONE and np.isnan(roc.auc) and roc.auc_interval(0.95) == (0, 1))


def test_what_was_seen_is_written_and_read_again() -> None:
    roc = answered(RocQuestion("y", "s", Grid(0, 1, cells=256), edges=(7, 100)), 5)
    again = ROC.from_json(roc.to_json())
    assert again.to_json() == roc.to_json()
    assert again.to_frame().equals(roc.to_frame())
    assert "ROC curve" in roc._repr_html_()
    assert roc.privacy.trust == "two servers that do not collude, owners unchecked"


def test_edges_are_those_of_the_grid_each_once() -> None:
    for at in ((-1,), (257,), (3, 3), ()):
        with pytest.raises(ValueError, match="^edges: indices of edges from 0 to 256"):
            RocQuestion("y", "s", Grid(0, 1, cells=256), edges=at)


def test_one_curator_answers_as_two_servers_do_and_other_edges_are_free() -> None:
    grid, loss = Grid(0, 1, cells=2**32), PrivacyLoss.pure(10**6)
    with dp.Session({"s": SCORES, "y": LABELS}, budget=loss, adjacency=dp.REPLACE_ONE) as session:
        first = session.ask(RocQuestion("y", "s", grid, edges=(2**31, 2**30)), loss, "looks")
        more = session.ask(RocQuestion("y", "s", grid, edges=(2**31, 3 * 2**30)), loss, "looks")
    assert first.tpr[1] == more.tpr[2] == pytest.approx((SCORES >= 0.5)[LABELS == 1].mean(), abs=1e-3)
    assert more.fpr[1] == pytest.approx((SCORES >= 0.75)[LABELS == 0].mean(), abs=1e-3)


def test_without_noise_rates_are_known_and_the_area_but_for_ties() -> None:
    question = RocQuestion("y", "s", Grid(0, 1, cells=64), edges=tuple(range(1, 64)))
    roc = answered(question, loss=PrivacyLoss.pure(10**9))
    band = roc.band(0.95)
    for ends in ((band.fpr_lower, roc.fpr, band.fpr_upper), (band.tpr_lower, roc.tpr, band.tpr_upper)):
        assert np.ptp(np.stack(ends), axis=0) == pytest.approx(0, abs=1e-6)
    low, high = roc.auc_interval(0.95)
    tied = np.diff(roc.fpr) @ np.diff(roc.tpr)
    assert (low, high) == pytest.approx((roc.auc - tied / 2, roc.auc + tied / 2), abs=1e-6)
    assert low < roc_auc_score(LABELS, SCORES) < high


def test_bands_for_the_population_are_wider_and_the_corners_are_known() -> None:
    roc = answered(RocQuestion("y", "s", Grid(0, 1, cells=64), edges=(16, 32, 48)))
    narrow, wide = (np.array(roc.band(0.95, population=asked)) for asked in (False, True))
    assert narrow[:, [0, -1]].tolist() == wide[:, [0, -1]].tolist() == [[0, 1]] * 4
    assert (wide[1::2, 1:-1] - wide[0::2, 1:-1] > narrow[1::2, 1:-1] - narrow[0::2, 1:-1]).all()
    assert roc.auc_interval(0.95) != roc.auc_interval(0.95, population=True)
