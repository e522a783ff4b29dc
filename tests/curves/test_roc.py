from __future__ import annotations

import json
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from dpcurves.conversation import Setting, UnsupportedQuery
from dpcurves.curves import ROC, CalibrationQuestion, RocQuestion, RocThresholds
from dpcurves.data import Grid, Outside
from dpcurves.data.grid import UNIT_INTERVAL
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.session import plan_question
from dpcurves.strategies.ranks import FINER_CELLS, choose_cut_levels, choose_finer_cells

DRAW = np.random.default_rng(5)
SCORES = np.round(DRAW.beta(2, 2, size=1500), 2)
LABELS = (DRAW.random(1500) < SCORES).astype(int)
TABLE = {"y": LABELS, "s": SCORES}
GRID = Grid(0, 1, cells=64)
APART = GRID.with_outside(Outside.APART)
QUESTION = RocQuestion("y", "s", GRID, thresholds=RocThresholds.FIXED)
HUGE = PrivacyLoss.pure(10**9)
TIED = np.floor(SCORES * 64)


@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_at_a_huge_epsilon_the_curve_is_that_of_scikit_learn_on_the_same_cells(
    adjacency: AddRemove | ReplaceOne,
) -> None:
    roc = answer(QUESTION, TABLE, HUGE, adjacency, seed=1)
    fpr, tpr, _ = sklearn_roc_curve(LABELS, TIED, drop_intermediate=False)
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, TIED), abs=1e-9)
    used = np.searchsorted(roc.fpr + roc.tpr, fpr + tpr - 1e-9)
    assert roc.fpr[used] == pytest.approx(fpr, abs=1e-9)
    assert roc.tpr[used] == pytest.approx(tpr, abs=1e-9)


@pytest.mark.reproduction
@pytest.mark.parametrize(
    ("adjacency", "loss"), list(zip(both(len(LABELS)), (PrivacyLoss.pure(0.3), PrivacyLoss.zcdp(0.005)), strict=True))
)
def test_intervals_hold_the_area_as_often_as_they_say(adjacency: AddRemove | ReplaceOne, loss: PrivacyLoss) -> None:
    level, releases = 0.9, 25
    exact = roc_auc_score(LABELS, TIED)
    held = 0
    for seed in range(releases):
        low, high = answer(QUESTION, TABLE, loss, adjacency, seed).auc_interval(level)
        held += low <= exact <= high
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_noise_the_curve_goes_from_corner_to_corner(seed: int) -> None:
    for columns in (TABLE, {"y": np.ones(4), "s": np.zeros(4)}, {"y": np.zeros(2), "s": np.full(2, np.nan)}):
        roc = answer(QUESTION, columns, PrivacyLoss.pure(0.05), AddRemove(EACH_RECORD), seed)
        assert (roc.fpr[0], roc.tpr[0], roc.fpr[-1], roc.tpr[-1]) == (0, 0, 1, 1)
        assert (np.diff(roc.fpr) >= 0).all()
        assert (np.diff(roc.tpr) >= 0).all()
        assert np.isnan(roc.auc) or 0 <= roc.auc <= 1
        low, high = roc.auc_interval(0.9)
        assert 0 <= low <= high <= 1


HALVES = np.arange(60) / 60
WITHOUT = {
    "no record": {"y": np.full(60, 7), "s": HALVES},
    "no score": {"y": np.arange(60) % 2, "s": np.full(60, np.nan)},
    "no positive": {"y": np.zeros(60), "s": HALVES},
    "no negative": {"y": np.ones(60), "s": HALVES},
}


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("epsilon", [pytest.param(1, marks=pytest.mark.reproduction), 0.1])
@pytest.mark.parametrize("adjacency", both(60))
@pytest.mark.parametrize("lacking", WITHOUT)
def test_where_a_class_is_empty_every_area_lies_in_the_interval(
    lacking: str, adjacency: AddRemove | ReplaceOne, epsilon: float
) -> None:
    level, releases, held = 0.9, 15, 0
    for cuts in (RocThresholds.FIXED, RocThresholds.QUANTILES):
        question = RocQuestion("y", "s", Grid(0, 1, cells=16), thresholds=cuts)
        for seed in range(releases):
            roc = answer(question, WITHOUT[lacking], PrivacyLoss.pure(epsilon), adjacency, seed)
            held += roc.auc_interval(level) == (0, 1)
    assert held / (2 * releases) >= level - 4 * sqrt(level * (1 - level) / (2 * releases))  # 4 sigma


def test_without_noise_an_empty_class_is_empty() -> None:
    for columns in WITHOUT.values():
        assert answer(QUESTION, columns, HUGE, both(60)[1], seed=1).auc_interval(0.9) == (0, 1)


def test_labels_that_were_not_declared_are_missing() -> None:
    labels = LABELS.astype(float)
    labels[:100] = 7
    labels[100:200] = np.nan
    roc = answer(QUESTION, {"y": labels, "s": SCORES}, HUGE, both(len(LABELS))[1], seed=1)
    assert roc.auc == pytest.approx(roc_auc_score(LABELS[200:], TIED[200:]), abs=1e-9)


def test_a_text_label_needs_its_opposite() -> None:
    with pytest.raises(ValueError, match="^neg_label: "):
        RocQuestion("y", "s", pos_label="late")
    with pytest.raises(ValueError, match="^pos_label: "):
        RocQuestion("y", "s", pos_label="late", neg_label="late")
    words = np.where(LABELS == 1, "late", "early")
    question = RocQuestion(
        "y", "s", Grid(0, 1, cells=64), pos_label="late", neg_label="early", thresholds=RocThresholds.FIXED
    )
    assert answer(question, {"y": words, "s": SCORES}, HUGE, both(1500)[0], seed=1).auc == pytest.approx(
        roc_auc_score(LABELS, TIED), abs=1e-9
    )


def test_thresholds_fall_from_infinity() -> None:
    roc = answer(QUESTION, TABLE, HUGE, both(1500)[0], seed=1)
    assert roc.thresholds[0] == np.inf
    assert roc.thresholds[1:] == pytest.approx(np.linspace(0, 1, 65)[:-1][::-1])
    assert len(roc.thresholds) == len(roc.fpr) == 65


def test_a_curve_is_written_and_read_with_its_interval() -> None:
    roc = answer(QUESTION, TABLE, PrivacyLoss.pure(1), both(1500)[1], seed=2)
    again = ROC.from_json(roc.to_json())
    assert again.auc_interval(0.95) == roc.auc_interval(0.95)
    assert (again.tpr == roc.tpr).all()
    narrow, wide = roc.auc_interval(0.95), roc.auc_interval(0.95, population=True)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


MANY = np.random.default_rng(6).beta(2, 2, size=40_000)
FINELY = {"y": (np.random.default_rng(7).random(len(MANY)) < MANY).astype(int), "s": MANY}


@pytest.mark.parametrize("adjacency", both(len(MANY)))
def test_finer_cells_within_those_of_the_curve_are_counted_for_a_share_of_the_loss(
    adjacency: AddRemove | ReplaceOne,
) -> None:
    """Both counts together are unbiased sums over nested intervals: without noise they are the counts themselves."""
    plans = plan_question(RocQuestion("y", "s"), PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, len(MANY)))
    assert sum(plan.loss.epsilon or 0 for plan in plans) == 1
    assert [plan.query.rows for plan in plans] == [1, 1, 2, 2]
    roc = answer(RocQuestion("y", "s"), FINELY, PrivacyLoss.pure(10**6), adjacency, seed=1)
    assert roc.finer_counts is not None
    together = roc.finer_counts.combine_evidence(roc.evidence)
    assert np.add.reduceat(together.unbiased_cells, roc.finer_counts.starts, axis=1) == pytest.approx(
        roc.evidence.unbiased_cells, abs=0.1
    )
    assert together.unbiased_cells == pytest.approx(roc.finer_counts.evidence.unbiased_cells, abs=0.1)
    edges = roc.grid.edges[1:-1]
    below = np.stack([np.searchsorted(np.sort(MANY[FINELY["y"] == label]), edges) for label in (0, 1)])
    inner = np.asarray(roc.finer_counts.starts)[2:-1]
    assert np.cumsum(together.unbiased_cells, axis=1)[:, inner - 1] == pytest.approx(below, abs=0.1)


@pytest.mark.parametrize("adjacency", both(len(MANY)))
def test_finer_cells_leave_a_third_of_an_interval_and_are_written_and_read(adjacency: AddRemove | ReplaceOne) -> None:
    roc = answer(RocQuestion("y", "s"), FINELY, PrivacyLoss.pure(1), adjacency, seed=1)
    exact = roc_auc_score(FINELY["y"], MANY)
    coarse, fine = replace(roc, finer_counts=None), ROC.from_json(roc.to_json())
    (low, high), (least, most) = fine.auc_interval(0.9), coarse.auc_interval(0.9)
    assert roc.auc_interval(0.9) == (low, high)
    assert high - low < (most - least) / 3
    assert least < low < exact < high < most
    stored = json.loads(roc.to_json())
    assert [len(each["releases"]) for each in (stored["evidence"], json.loads(coarse.to_json())["evidence"])] == [2, 1]
    assert ROC.from_json(coarse.to_json()).auc_interval(0.9) == (least, most)


def test_finer_cells_are_counted_where_records_are_known_to_be_worth_it() -> None:
    setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert [choose_finer_cells(records, setting) for records in (-5, 5_999, 6_000)] == [None, None, FINER_CELLS]


CUT = [RocThresholds.QUANTILES, RocThresholds.MEDIANS]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("cuts", CUT)
@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_at_a_huge_epsilon_cuts_leave_the_curve_of_scikit_learn_on_the_pieces(
    adjacency: AddRemove | ReplaceOne, cuts: RocThresholds
) -> None:
    roc = answer(RocQuestion("y", "s", GRID, thresholds=cuts), TABLE, HUGE, adjacency, seed=1)
    pieces = roc.grid.cell_of(SCORES)
    assert len(roc.fpr) > 16
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, pieces), abs=1e-9)
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, SCORES), abs=0.01)


@pytest.mark.reproduction
@pytest.mark.parametrize(
    ("adjacency", "loss"), list(zip(both(len(LABELS)), (PrivacyLoss.zcdp(0.02), PrivacyLoss.pure(0.5)), strict=True))
)
def test_intervals_between_cuts_hold_the_area_of_the_pieces(
    adjacency: AddRemove | ReplaceOne, loss: PrivacyLoss
) -> None:
    level, releases = 0.9, 30
    held = 0
    for seed in range(releases):
        roc = answer(RocQuestion("y", "s", GRID), TABLE, loss, adjacency, seed)
        low, high = roc.auc_interval(level)
        held += low <= roc_auc_score(LABELS, roc.grid.cell_of(SCORES)) <= high
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


@pytest.mark.parametrize("cuts", CUT)
def test_cuts_of_no_or_tied_or_one_sided_records_leave_a_curve(cuts: RocThresholds) -> None:
    question = RocQuestion("y", "s", GRID, thresholds=cuts)
    for columns in ({"y": np.ones(4), "s": np.zeros(4)}, {"y": np.zeros(2), "s": np.full(2, np.nan)}):
        roc = answer(question, columns, PrivacyLoss.pure(0.05), AddRemove(EACH_RECORD), 1)
        assert (roc.fpr[0], roc.tpr[0], roc.fpr[-1], roc.tpr[-1]) == (0, 0, 1, 1)
        assert ROC.from_json(roc.to_json()).auc == pytest.approx(roc.auc, nan_ok=True)


def test_scores_are_halved_as_often_as_records_over_noise_allow() -> None:
    def levels(units: int) -> list[int]:
        return [choose_cut_levels(units, Setting(PrivacyLoss.pure(1), adjacency)) for adjacency in both(units)]

    assert [levels(units) for units in (1, 100, 1000, 10_000, 10**9)] == [[0, 0], [2, 1], [3, 3], [5, 5], [8, 8]]


def shares_of(question: RocQuestion, adjacency: AddRemove | ReplaceOne) -> list[float]:
    """Return the part of the loss that each round gets, where answers are blank."""
    return [float(plan.loss.epsilon or 0) for plan in plan_question(question, PrivacyLoss.pure(1), adjacency)]


def test_where_records_are_few_a_pilot_query_takes_the_place_of_cuts() -> None:
    question = RocQuestion("y", "s")
    (counts,) = plan_question(question, PrivacyLoss.pure(1), both(100)[1])
    assert counts.query.cells == 4 + 2
    assert shares_of(question, both(100)[1]) == [1]
    assert shares_of(question, both(200)[1]) == [0.1, 0.9]
    assert shares_of(question, both(3200)[1]) == [0.025, 0.025, 0.95]
    assert shares_of(question, both(4000)[1]) == [0.02, 0.2, 0.78]
    assert shares_of(question, both(100)[0]) == [0.01, 0.1, 0.89]
    assert shares_of(RocQuestion("y", "s", Grid(0, 1, cells=9)), both(200)[1]) == [1]  # all cells, and no pilot query


def test_thresholds_follow_a_pilot_query_where_scores_lean_to_one_side() -> None:
    leaning = SCORES**2  # the middle one is 0.25
    middles = []
    largest_parts = []
    for seed in range(1, 9):
        roc = answer(RocQuestion("y", "s"), {"y": LABELS, "s": leaning}, PrivacyLoss.pure(1), both(1500)[1], seed=seed)
        assert roc.grid.cells == 16
        middles.append(roc.grid.edges[8])
        largest_parts.append(np.diff(np.searchsorted(np.sort(leaning), roc.grid.edges)).max() / len(leaning))
    assert np.mean(middles) < 0.44  # even cells have 0.5
    assert np.mean(largest_parts) < 0.13, largest_parts  # where even cells have 0.25


def test_scores_in_a_small_part_of_the_grid_are_cut() -> None:
    table = {"y": LABELS, "s": 0.3 + SCORES / 50}
    for adjacency in both(1500):
        roc = answer(RocQuestion("y", "s"), table, PrivacyLoss.pure(1), adjacency, seed=2)
        assert ((roc.grid.edges > 0.29) & (roc.grid.edges < 0.33)).sum() >= 8
        assert abs(roc.auc - roc_auc_score(LABELS, SCORES)) < 0.05


LOGITS = 4 * (SCORES - 0.5) + DRAW.normal(size=len(SCORES))


@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_scores_outside_are_counted_apart_and_told(adjacency: AddRemove | ReplaceOne) -> None:
    outside = np.mean((LOGITS < 0) | (LOGITS > 1))
    for seed in range(20):
        roc = answer(RocQuestion("y", "s"), {"y": LABELS, "s": LOGITS}, PrivacyLoss.pure(2), adjacency, seed)
        (note,) = roc.notes
        assert "have a value of 's' outside of 0 to 1" in note
        assert "logistic:-8:8:N for log-odds (--grid)" in note
        assert abs(float(note.split("%")[0].split()[-1]) / 100 - outside) < 0.1
        assert ROC.from_json(roc.to_json()).notes == roc.notes


@pytest.mark.parametrize("cuts", list(RocThresholds))
def test_scores_inside_have_no_note_however_they_are_cut(cuts: RocThresholds) -> None:
    for seed in range(20):
        question = RocQuestion("y", "s", UNIT_INTERVAL if cuts is not RocThresholds.FIXED else APART, thresholds=cuts)
        assert answer(question, TABLE, PrivacyLoss.pure(1), both(1500)[1], seed).notes == ()


def test_a_logistic_grid_holds_log_odds_without_a_note() -> None:
    question = RocQuestion("y", "s", Grid.logistic(-9, 9, cells=4096))
    roc = answer(question, {"y": LABELS, "s": LOGITS}, HUGE, both(1500)[1], seed=1)
    assert roc.notes == ()
    assert roc.auc == pytest.approx(roc_auc_score(LABELS, LOGITS), abs=0.002)


def test_the_upper_end_of_the_grid_is_not_outside() -> None:
    table = {"y": np.array([0, 1, 0, 1]), "s": np.array([-1.0, 2.0, 0.0, 1.0])}
    roc = answer(RocQuestion("y", "s", APART, thresholds=RocThresholds.FIXED), table, HUGE, both(4)[1], seed=1)
    assert roc.thresholds[1] == np.nextafter(1.0, 2)
    assert (roc.tpr[1], roc.auc) == pytest.approx((0.5, 1))


@pytest.mark.parametrize(
    ("adjacency", "scores"),
    [
        pytest.param(each, scores, marks=[pytest.mark.reproduction] * (number != place))
        for number, each in enumerate(both(len(LABELS)))
        for place, scores in enumerate(("inside", "outside"))
    ],
)
def test_intervals_hold_the_area_of_exact_scores_wherever_they_lie(
    adjacency: AddRemove | ReplaceOne, scores: str
) -> None:
    fine = SCORES + DRAW.random(len(SCORES)) / 100 if scores == "inside" else 3 * LOGITS
    exact, level, releases, held = roc_auc_score(LABELS, fine), 0.9, 24, 0
    for seed in range(releases):
        low, high = answer(
            RocQuestion("y", "s"), {"y": LABELS, "s": fine}, PrivacyLoss.pure(5), adjacency, seed
        ).auc_interval(level)
        held += low <= exact <= high
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


def test_without_noise_the_interval_is_what_ties_leave_open() -> None:
    ranked = {"y": np.array([0, 0, 1, 1] * 50), "s": np.array([0.1, 0.2, 0.3, 0.4] * 50)}
    one_cell = RocQuestion("y", "s", Grid(0, 1, cells=1), thresholds=RocThresholds.FIXED)
    assert answer(one_cell, ranked, HUGE, both(200)[1], seed=1).auc_interval(0.95) == (0, 1)
    four = RocQuestion("y", "s", Grid(0, 1, cells=4), thresholds=RocThresholds.FIXED)
    assert answer(four, ranked, HUGE, both(200)[1], seed=1).auc_interval(0.95) == pytest.approx((1, 1), abs=1e-6)


def test_cells_that_cuts_could_not_be_found_among_are_refused_before_anything_is_asked() -> None:
    fine = Grid(0, 1, cells=2**23)
    for adjacency in both(1_000):
        for question in (RocQuestion("y", "s", grid=fine), CalibrationQuestion("y", "s", grid=fine)):
            with pytest.raises(UnsupportedQuery, match="one by one"):
                plan_question(question, PrivacyLoss.pure(1), adjacency)
