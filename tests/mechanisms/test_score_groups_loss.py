"""Calibration, Hosmer-Lemeshow and ROC as a whole: on every way they take, tiny neighbours lose what was paid at most.

The distribution of the cuts is enumerated; of counts and sums the loss is known in closed form, for each answer of the
cuts, for they decide what is counted. Records lie at the ends of their cells, where their distances from the middle are
largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from math import inf
from operator import add
from typing import NamedTuple

import numpy as np
import pytest
from cut_distribution import distribution
from exact_loss import losses_of_pairs
from numpy.typing import NDArray
from scipy.special import logsumexp
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves import (
    ROC,
    Calibration,
    CalibrationQuestion,
    HosmerLemeshow,
    HosmerLemeshowQuestion,
    Question,
    RocQuestion,
)
from dpcurves.data import Axis, Grid, Outside
from dpcurves.distributions import NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import QuantileCutsQuery, Query, SumQuery
from dpcurves.strategies import ranks
from dpcurves.strategies.ranks import choose_cut_levels
from dpcurves.trust import Central, run_conversation

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Asked = Question[Calibration | HosmerLemeshow | ROC]

MOST = 3
GRID = Grid(0, 1, cells=2)
LABELS, SCORES = (0, 1), (-1.0, 0.0, 0.4999, 0.5, 1.0)
RECORDS = [(label, score) for label in LABELS for score in SCORES]  # and one more kind, which is missing
SETS = data_sets(len(RECORDS) + 1, MOST)
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 128.0)
LOSSES = {"pure": PrivacyLoss.pure("1.5"), "concentrated": PrivacyLoss.zcdp("0.2")}
QUESTIONS: dict[str, Asked] = {
    "calibration": CalibrationQuestion("y", "s", 3, GRID),
    "calibration, groups by the records": CalibrationQuestion("y", "s", None, GRID),
    "groups are given": HosmerLemeshowQuestion("y", "s", 3, GRID),
    "groups by the records": HosmerLemeshowQuestion("y", "s", None, GRID),
    "ROC": RocQuestion("y", "s", Grid(0, 1, cells=3)),
    "ROC, scores outside counted apart": RocQuestion("y", "s", GRID.with_outside(Outside.APART)),
}
COUNTED = (0, 300)
"""Answers of the turn that counts records, if there is one: they ask for few groups, and for more."""


@pytest.fixture(autouse=True)
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """ROC curves of many records have too many pieces to walk through all cuts, those of few have no cuts."""
    monkeypatch.setattr(ranks, "TUNING", replace(ranks.TUNING, few_ratio=0.0, many_ratio=0.0, most_cut_levels=2))
    monkeypatch.setattr(ranks, "choose_cut_levels", lambda *given: max(choose_cut_levels(*given), 1))


class Way(NamedTuple):
    """What a conversation planned, after what was counted, and an answer of the cuts."""

    cuts: Plan
    answer: tuple[int, ...]
    others: tuple[Plan, ...]


def talk(question: Asked, loss: PrivacyLoss, adjacency: Adjacency, counted: int, cuts: tuple[int, ...]) -> list[Step]:
    """The turns, where the cuts fall as given and the records are counted as so many."""
    steps = run_conversation(question, loss, adjacency, Central())
    asked = [next(steps)]
    while sum(step.budget_fraction for step in asked) < 1:
        plan = AUTO.plan(asked[-1].query, loss * asked[-1].budget_fraction, adjacency)
        values = (counted,) * (plan.distribution.size or 1)
        if isinstance(plan.query, QuantileCutsQuery):
            values = cuts[: plan.query.pieces - 1]
        asked.append(steps.send(Release(plan, values, allotment=None, seeded=True)))
    return asked


def ways(question: Asked, loss: PrivacyLoss, adjacency: Adjacency, counted: int) -> Iterator[Way]:
    """All answers that the cuts may have."""
    blank = talk(question, loss, adjacency, counted, (0,) * 9)
    (query,) = (step.query for step in blank if isinstance(step.query, QuantileCutsQuery))
    (axis,) = query.axes
    assert isinstance(axis, Axis)
    for answer in np.ndindex((axis.grid.cells + 1,) * (query.pieces - 1)):
        if list(answer) != sorted(answer):
            continue
        steps = talk(question, loss, adjacency, counted, answer)
        assert sum((step.budget_fraction for step in steps), start=Fraction(0)) == 1
        assert len({step.query.charged_query for step in steps}) == len(steps)  # each is paid, and has noise of its own
        plans = [AUTO.plan(step.query, loss * step.budget_fraction, adjacency) for step in steps]
        (cuts,) = (plan for plan in plans if isinstance(plan.query, QuantileCutsQuery))
        yield Way(cuts, answer, tuple(plan for plan in plans if plan is not cuts))


def tables(query: Query) -> IntArray:
    """The exact table of each tiny data set."""
    size = query.rows * query.cells
    axis = query.axes[-1]
    assert isinstance(axis, Axis)
    each = np.zeros((len(RECORDS) + 1, size + 1), dtype=np.int64)
    for number, (label, score) in enumerate(RECORDS):
        value = np.array([score])
        place = int(axis.grid.cell_of(value)[0]) + (label * query.cells if query.rows > 1 else 0)
        each[number, place] = axis.grid.offset_of(value, query.half)[0] if isinstance(query, SumQuery) else 1
    each[-1, -1] = 0 if isinstance(query, SumQuery) else 1
    return np.asarray(SETS @ each)


@cache
def pairs(adjacency: Adjacency) -> IntArray:
    return neighbours(SETS, adjacency)


def lost_in_sums(plan: Plan, adjacency: Adjacency) -> FloatArray:
    """What each pair of neighbours loses by one turn of noisy sums: see `exact_loss`."""
    assert isinstance(plan.distribution, NoisySums)
    return losses_of_pairs(tables(plan.query), plan.distribution, pairs(adjacency))


@cache
def log_chances(plan: Plan) -> dict[tuple[int, ...], FloatArray]:
    """The logarithm of the chance of each answer of the cuts, on every tiny data set."""
    seen, alike = np.unique(tables(plan.query), axis=0, return_inverse=True)
    distributions = [distribution(table, plan) for table in seen]
    return {answer: np.log([each[answer] for each in distributions])[alike] for answer in distributions[0]}


def losses(question: Asked, loss: PrivacyLoss, adjacency: Adjacency, counted: int) -> Iterator[tuple[Way, FloatArray]]:
    """All answers of the cuts, and what pairs of neighbours lose beside, each with this answer."""
    lost = cache(lambda plan: lost_in_sums(plan, adjacency))
    for way in ways(question, loss, adjacency, counted):
        yield way, reduce(add, map(lost, way.others))


def part_lost(question: Asked, kind: str, adjacency: Adjacency) -> float:
    """The part of what was granted that the worst tiny neighbours lose, over all answers.

    A discrete Gaussian of variance v that is shifted by d has divergence ``alpha * d**2 / (2 * v)`` at most; of a
    concentrated loss the largest part over `ALPHAS` is returned.
    """
    loss, (ours, theirs), worst = LOSSES[kind], pairs(adjacency).T, 0.0
    once = ours < theirs  # epsilon is the same either way
    for counted in COUNTED:
        found = list(losses(question, loss, adjacency, counted))
        logs = np.array([log_chances(way.cuts)[way.answer] for way, _ in found])
        beside = np.array([lost for _, lost in found])
        if loss.epsilon is not None:
            lost = abs(logs[:, ours[once]] - logs[:, theirs[once]]) + beside[:, once]
            worst = max(worst, float(lost.max()) / float(loss.epsilon))
            continue
        for alpha in ALPHAS:
            moved = alpha * logs[:, ours] + (1 - alpha) * logs[:, theirs] + (alpha - 1) * alpha * beside
            lost = logsumexp(moved, axis=0) / (alpha - 1) / alpha
            worst = max(worst, float(lost.max()) / float(loss.rho))
    return worst


@pytest.mark.quick_share(48, kinds=[("question", "adjacency"), "kind"])
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_loss_is_never_exceeded_by_any_answers(question: Asked, adjacency: Adjacency, kind: str) -> None:
    worst = part_lost(question, kind, adjacency)
    assert worst <= 1 + 1e-9
    assert kind == "concentrated" or worst > 0.8  # and the budget is used


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_finer_cells_for_the_area_lose_no_more(
    kind: str, adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "FINER_CELLS", ranks.FINER_CELLS._replace(min_records_epsilon=-inf))
    question = QUESTIONS["ROC"]
    turns = [len(way.others) for way, _ in losses(question, LOSSES[kind], adjacency, COUNTED[-1])]
    assert max(turns) == 2 + (
        adjacency.public_record_count is None
    )  # the finer cells are counted, where they are finer
    worst = part_lost(question, kind, adjacency)
    assert worst <= 1 + 1e-9
    assert kind == "concentrated" or worst > 0.7


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("adjacency", [each for each in ADJACENCIES if each.public_record_count is not None], ids=repr)
@pytest.mark.parametrize("name", ["ROC", "ROC, scores outside counted apart"])
def test_few_records_of_a_roc_curve_are_not_cut_and_lose_no_more(
    name: str, adjacency: Adjacency, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranks, "TUNING", replace(ranks.TUNING, few_ratio=64.0))
    loss = LOSSES[kind]
    (step,) = talk(QUESTIONS[name], loss, adjacency, 0, ())
    plan = AUTO.plan(step.query, loss, adjacency)
    most = float(loss.epsilon if loss.epsilon is not None else loss.rho)
    assert 0.8 * most < lost_in_sums(plan, adjacency).max() <= most + 1e-9


LOOKS = {"ROC": 2, "ROC, scores outside counted apart": 2, "calibration, groups by the records": 3}
"""Turns, where a look says where thresholds or groups end; there is one more where records are counted first."""


@pytest.mark.quick_share(24, kinds=[("name", "adjacency"), ("name", "kind")])
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("name", LOOKS)
def test_a_look_at_scores_and_all_that_follows_lose_no_more(
    name: str, adjacency: Adjacency, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, question, turns = LOSSES[kind], QUESTIONS[name], LOOKS[name] + (adjacency.public_record_count is None)
    granted = float(loss.rho if loss.epsilon is None else loss.epsilon)
    tuning = replace(ranks.TUNING, many_ratio=inf, merge_factor=0.0, crowded=1.0, group_intervals=1)
    monkeypatch.setattr(ranks, "TUNING", tuning)
    for counted in COUNTED:
        steps = talk(question, loss, adjacency, counted, ())
        assert len(steps) == turns
        assert sum(step.budget_fraction for step in steps) == 1
        plans = [AUTO.plan(step.query, loss * step.budget_fraction, adjacency) for step in steps]
        lost = reduce(add, (lost_in_sums(plan, adjacency) for plan in plans)).max() / granted
        assert 0.8 < lost <= 1 + 1e-9
    monkeypatch.setattr(ranks, "TUNING", replace(tuning, crowded=0.0))
    assert {len(way.others) for way, _ in losses(question, loss, adjacency, COUNTED[0])} == {turns}
    worst = part_lost(question, kind, adjacency)
    assert worst <= 1 + 1e-9
    assert kind == "concentrated" or worst > 0.7


@pytest.mark.parametrize(("name", "turns"), [("groups by the records", 2), ("ROC", 1)])
def test_records_are_counted_first_where_their_number_is_private_alone(name: str, turns: int) -> None:
    question, loss = QUESTIONS[name], LOSSES["pure"]
    for adjacency in ADJACENCIES:
        asked = [len(way.others) for counted in COUNTED for way in ways(question, loss, adjacency, counted)]
        assert set(asked) == {turns + (adjacency.public_record_count is None)}
