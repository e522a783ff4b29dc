"""Numbers that nearly all lie on a public lattice are found and counted at its points; others are counted beside."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both, find_lattice_cells, table_of
from exact_loss import losses_of_pairs
from sklearn.metrics import roc_auc_score
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves import partial_auc
from dpcurves.conversation import Plan, PrefixWorkload, RankingWorkload, Release, RocThresholds, Setting, Step, Workload
from dpcurves.curves import ROC, RocQuestion, Scores, ScoresQuestion
from dpcurves.data import HUNDREDTHS, UNIT_INTERVAL, Axis, Categories, Grid, LatticeAxis, Outside, Values
from dpcurves.distributions import NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves.records import open_records, tabulate
from dpcurves.session import plan_question
from dpcurves.strategies import lattices
from dpcurves.strategies.lattices import (
    TUNING,
    LatticeSearch,
    choose_pilot_fraction,
    choose_step,
    find_edge_step,
    find_points,
    search_lattice,
)
from dpcurves.strategies.ranks import COUNT_FRACTION, signal_to_noise
from dpcurves.trust import Central

DRAW = np.random.default_rng(6)
PEOPLE = 4_000
LABELS = (DRAW.random(PEOPLE) < 0.4).astype(int)
SPREAD = 1 / (1 + np.exp(-(DRAW.normal(0, 1, PEOPLE) + LABELS)))
TENTHS = SPREAD.round(1)
QUESTION = RocQuestion("y", "s")
ONE = PrivacyLoss.pure(1)
WORKLOAD = RankingWorkload(Categories("y", (0, 1)), Axis("s", UNIT_INTERVAL), RocThresholds.QUANTILES)


def ask(scores: np.ndarray, adjacency: Adjacency, seed: int, loss: PrivacyLoss = ONE) -> ROC:
    return answer(QUESTION, {"y": LABELS, "s": scores}, loss, adjacency, seed)


@pytest.mark.parametrize("grid", [UNIT_INTERVAL, Grid(0, 120, cells=120), Grid(-3.7, 8.1, cells=999)], ids=str)
@pytest.mark.parametrize("most_points", [2, 11, 64, 500])
def test_the_finest_step_has_few_points_inside_the_grid(grid: Grid, most_points: int) -> None:
    step = choose_step(grid, most_points)
    fitting = [
        each
        for each in (float(f"{digit}e{exponent}") for exponent in range(-3, 3) for digit in (1, 5))
        if TUNING.fewest_points <= len(find_points(grid, each)) <= min(most_points, grid.cells // 2)
    ]
    assert step == min(fitting, default=0.0)
    if step:
        axis = LatticeAxis.from_axis(Axis("x", grid), step)
        assert find_lattice_cells(axis, find_points(grid, step)).max() < 2


def test_a_grid_that_is_coarse_or_too_large_for_doubles_has_no_lattice() -> None:
    assert [choose_step(Grid(0, end, cells=cells), 64) for end, cells in ((1, 4), (1e300, 64), (1e-200, 64))] == [0] * 3


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.1, 0.6), (0.1, 0.65)])
@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize("outside", Outside)
def test_a_record_moves_the_counts_of_a_lattice_by_its_sensitivity(
    bounds: tuple[float, float], has_points: bool, outside: Outside
) -> None:
    domain = (np.nan, -np.inf, -0.0, 0.1, 0.25, 0.3, 0.1 + 0.2, 1.0, 1.5, np.inf)
    grid = Grid(*bounds, cells=8, outside=outside)
    axis = LatticeAxis.from_axis(Axis("x", grid), 0.1, has_points=has_points)
    assert axis.is_clipped == (outside is Outside.CLIPPED and bounds[1] != 0.65)
    query = CountQuery((axis,), CountUse.CELLS)

    def count(values: tuple[float, ...]) -> np.ndarray:
        records = open_records({"x": np.array(values, dtype=float)}, unit=EACH_RECORD, key=bytes(32))
        try:
            return tabulate(records, query)
        finally:
            records.close()

    single = {value: count((value,)) for value in domain}
    for first, second in product(domain, repeat=2):
        assert count((first, second)).tolist() == (single[first] + single[second]).tolist()
        assert np.abs(single[first] - single[second]).sum() in {0, 2}  # a replaced record
    assert all(table.sum() == 1 and table.min() == 0 for table in single.values())  # an added record
    ends = {-np.inf: 0, np.inf: axis.slots - 2 if has_points else 0}
    for value, cell in ends.items():
        assert single[value].argmax() == (cell if axis.is_clipped else axis.slots - 1)


@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize("counts", [(0, 10**6, 0), (10**6, 0, 0), (0, 0, 10**6), (0, 0, 0), (-(10**6),) * 3], ids=str)
def test_rounds_add_up_to_the_whole_loss_for_all_answers(
    adjacency: Adjacency, loss: PrivacyLoss, counts: tuple[int, ...]
) -> None:
    spent, steps = Fraction(0), Central().plan(WORKLOAD, loss, adjacency)
    step: Step = next(steps)
    lattices = 0
    while True:
        spent += step.budget_fraction
        plan = Central().plan_query(step.query, loss * step.budget_fraction, adjacency)
        size = plan.distribution.size
        assert size is not None
        values = [0] * size
        if isinstance(step.query.axes[0], LatticeAxis):
            lattices += 1
            is_last = step.query.axes[0].has_points
            values = [counts[1]] * (size - 1) + [counts[2]] if is_last else [*counts, 0, 0][: len(values)]
        elif step.budget_fraction == COUNT_FRACTION:  # the number of records, if it is private
            values[:] = [PEOPLE] * len(values)
        try:
            step = steps.send(Release(plan, tuple(values), None, seeded=True))
        except StopIteration:
            break
    assert lattices == 1 + (counts[1] > 0)
    score = step.query.axes[-1]
    assert isinstance(score, Axis)
    assert isinstance(score.grid, Values) == (counts[1] > 0)
    assert spent == 1


@pytest.mark.parametrize("adjacency", both(PEOPLE))
def test_tenths_are_counted_one_by_one_and_leave_little_open(adjacency: Adjacency) -> None:
    curve = ask(TENTHS, adjacency, 1)
    assert isinstance(curve.grid, Values)
    assert curve.grid.values.tolist() == [number / 20 for number in range(21)]
    low, high = curve.auc_interval(0.99)
    assert low <= roc_auc_score(LABELS, TENTHS) <= high < low + 0.08
    assert any("multiples of 0.05: others, at most" in note for note in curve.privacy.notes)
    spread = ask(SPREAD, adjacency, 1)
    assert not any("multiples" in note for note in spread.privacy.notes)
    assert spread.grid.values is None
    assert spread.table.lattice_counts is None
    assert ROC.from_json(curve.to_json()).auc_interval(0.99) == (low, high)
    declared = replace(curve, table=replace(curve.table, lattice_counts=None))
    narrow = declared.auc_interval(0.99)
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("direction", [1, -1], ids=["won", "lost"])
def test_scores_beside_the_lattice_may_win_or_lose_all_their_pairs(adjacency: Adjacency, direction: int) -> None:
    level, releases, held = 0.9, 20, [0, 0]
    beside = np.random.default_rng(2).random(PEOPLE) < 0.03
    moved = np.where(beside, np.clip(TENTHS + 0.01 * direction * (2 * LABELS - 1), 0, 1), TENTHS)
    exact = roc_auc_score(LABELS, moved)
    for seed in range(releases):
        low, high = ask(moved, adjacency, seed).auc_interval(level)
        held[0] += low <= exact
        held[1] += exact <= high
    # each end is missed with a probability of at most .1: 7 misses of 20 have a probability of .0024
    assert min(held) >= releases - 6


@pytest.mark.parametrize(("releases", "most"), [(20, 10), pytest.param(60, 22, marks=pytest.mark.reproduction)])
def test_numbers_that_are_no_multiples_are_bounded_with_the_stated_probability(releases: int, most: int) -> None:
    wrong, beside = 0, 40
    scores = np.where(np.arange(PEOPLE) < beside, 0.123, TENTHS)
    for seed in range(releases):
        untied = ask(scores, ReplaceOne(EACH_RECORD, PEOPLE), seed).table.bound_untied
        assert untied is not None
        assert untied(1e-9) > untied(0.01) > untied(0.2)
        wrong += untied(0.2) < beside
    # 23 of 60 at a probability of .2 each: .0009; 11 of 20: .0006
    assert wrong <= most


def test_few_records_declared_values_and_models_are_not_searched() -> None:
    for question, units in (
        (QUESTION, 300),
        (RocQuestion("y", "s", Values([0, 0.5, 1])), PEOPLE),
        (RocQuestion("y", "s", Grid(0, 1, cells=4)), PEOPLE),
    ):
        plans = plan_question(question, ONE, ReplaceOne(EACH_RECORD, units))
        assert not any(isinstance(axis, LatticeAxis) for plan in plans for axis in plan.query.axes)


def test_the_pilot_query_costs_less_the_more_records_there_are() -> None:
    fractions = [choose_pilot_fraction(ratio) for ratio in (400.0, 4_000.0, 40_000.0)]
    assert fractions == sorted(fractions, reverse=True)
    assert max(fractions) == Fraction(1, 40)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("zeros", [0.85, 0.97, 0.995], ids=str)
def test_many_zeros_are_no_lattice_that_hides_other_scores(adjacency: Adjacency, zeros: float) -> None:
    """Zeros lie on every lattice. Positives have other scores most often, so that rounding them to zero or to one half
    moved the area by 0.13."""
    draw = np.random.default_rng(3)
    positive = draw.random(PEOPLE) < (1 - zeros) * 1.5
    labels = positive.astype(int)
    scores = np.where(positive & (draw.random(PEOPLE) < 0.6), draw.beta(2, 6, PEOPLE), 0.0)
    exact = roc_auc_score(labels, scores)
    loss = PrivacyLoss.pure(20)
    curves = [answer(QUESTION, {"y": labels, "s": scores}, loss, adjacency, seed) for seed in range(4)]
    assert abs(np.mean([curve.auc for curve in curves]) - exact) < 0.015
    assert all(low <= exact <= high for low, high in (curve.auc_interval(0.9) for curve in curves))


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("common", [0.0, 0.5, 1.0], ids=str)
def test_no_common_value_is_a_lattice_that_hides_other_scores(adjacency: Adjacency, common: float) -> None:
    """Negatives have one value and positives others around it, which rounding to multiples would join with it: the area
    of the curve was off by 0.15."""
    draw = np.random.default_rng(4)
    labels = (draw.random(PEOPLE) < 0.04).astype(int)
    scores = np.where(labels == 1, np.clip(common + draw.uniform(-0.012, 0.028, PEOPLE), 0, 1), common)
    for seed in range(4):
        curve = ask(scores, adjacency, seed)
        assert curve.table.lattice_counts is None


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize(("off", "is_used"), [(0.0, True), (0.02, True), (0.1, False), (0.5, False)])
def test_a_lattice_is_used_if_few_scores_are_off_it(adjacency: Adjacency, off: float, is_used: bool) -> None:
    scores = np.where(np.arange(PEOPLE) % 100 < 100 * off, SPREAD, TENTHS)
    assert (ask(scores, adjacency, 1, PrivacyLoss.pure(8)).table.lattice_counts is not None) == is_used


def test_missing_scores_are_not_taken_for_points_of_a_lattice() -> None:
    scores = np.where(np.arange(PEOPLE) % 16 > 0, np.nan, TENTHS)
    assert ask(scores, both(PEOPLE)[1], 1, PrivacyLoss.pure(8)).table.lattice_counts is None


@pytest.mark.quick_share(10)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("zeros", [0.0, 0.85, 0.97, 0.995, 1.0], ids=str)
def test_zeros_beside_other_scores_cost_the_pilot_query_alone(adjacency: Adjacency, zeros: float) -> None:
    """The second count has a tenth of the loss, which is spent only where other scores than zero lie on a lattice."""
    scores = np.where(np.arange(PEOPLE) < zeros * PEOPLE, 0.0, SPREAD)
    for seed in range(8):
        search = search_by_hand(scores, adjacency, seed)
        assert len(search.releases) == 1
        assert search.budget_fraction == choose_pilot_fraction(4.0 * PEOPLE)
    assert len(search_by_hand(TENTHS, adjacency, 0).releases) == 2


def search_by_hand(scores: np.ndarray, adjacency: Adjacency, seed: int) -> LatticeSearch:
    """Search the multiples of 0.05 with a loss of 4."""
    randomness = Randomness.from_seed(seed)
    steps = search_lattice(Axis("s", UNIT_INTERVAL), 0.05, PEOPLE, 4.0 * PEOPLE)
    step = next(steps)
    while True:
        plan = AUTO.plan(step.query, PrivacyLoss.pure(4) * step.budget_fraction, adjacency)
        counts = AUTO.run(table_of({"s": scores}, step.query), plan, randomness)
        try:
            step = steps.send(Release(plan, counts, None, seeded=True))
        except StopIteration as end:
            search: LatticeSearch = end.value
            return search


@pytest.mark.parametrize("adjacency", both(PEOPLE))
def test_a_plan_without_data_is_that_of_scores_on_no_lattice(adjacency: Adjacency) -> None:
    plans = plan_question(QUESTION, ONE, adjacency)
    assert sum(isinstance(plan.query.axes[0], LatticeAxis) for plan in plans) == isinstance(adjacency, ReplaceOne)


@pytest.mark.parametrize(
    ("grid", "step"),
    [
        (Grid(0, 128, cells=128), 1.0),
        (Grid(-30, 50, cells=16), 5.0),
        (Grid(0, 1, cells=100), 0.01),
        (Grid(0, 1, cells=5), 0.2),
        (Grid(0.5, 100.5, cells=100), 0.0),
        (Grid(0, 1, cells=64), 0.0),
        (Grid(0, 500_000, cells=1_024), 0.0),
        (Grid(0, 2, cells=2), 0.0),
        (Grid(0, 1e-200, cells=10), 0.0),
        (Grid(0, 1e300, cells=10), 0.0),
        (Values(range(10)), 0.0),
    ],
    ids=str,
)
def test_edges_are_multiples_of_one_two_or_five_times_a_power_of_ten(grid: Grid, step: float) -> None:
    assert find_edge_step(grid) == step
    if step:
        assert find_lattice_cells(LatticeAxis.from_axis(Axis("x", grid), step), grid.edges).max() < 2


@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("workload", [PrefixWorkload((WORKLOAD.classes, Axis("s", HUNDREDTHS)), searches_lattice=True)])
@pytest.mark.parametrize("counts", [(0, 10**6, 0), (10**6, 0, 0), (0, 0, 10**6), (0, 0, 0), (-(10**6),) * 3], ids=str)
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_a_search_on_edges_and_the_counts_after_it_add_up_to_the_loss(
    workload: PrefixWorkload, adjacency: Adjacency, loss: PrivacyLoss, counts: tuple[int, ...]
) -> None:
    pilot_fraction, *later = collect_fractions(workload, loss, adjacency, counts)
    assert pilot_fraction + sum(later) == 1
    assert pilot_fraction == choose_pilot_fraction(ratio_of(loss, adjacency))
    assert (later[0] == TUNING.count_fraction) == (counts[1] > 0)


PAIRS = PrefixWorkload((Axis("x", Grid(0, 128, cells=128)),), searches_lattice=True)
"""A curve whose readings over pairs alone use a lattice."""


@pytest.mark.parametrize("counts", [(0, 10**6, 0), (10**6, 0, 0), (0, 0, 10**6), (9000, 900, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_a_private_number_of_records_is_searched_for_three_percent_of_the_loss_at_most(
    loss: PrivacyLoss, counts: tuple[int, ...]
) -> None:
    pilot_fraction, *later = collect_fractions(PAIRS, loss, AddRemove(EACH_RECORD), counts)
    assert pilot_fraction == TUNING.pairs_pilot_fraction
    assert pilot_fraction + sum(later) == 1
    found = counts[1] == 10**6
    assert (later[0] <= Fraction(1, 40)) == found
    assert pilot_fraction + found * later[0] <= Fraction(3, 100)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(200), PrivacyLoss.zcdp(5000)], ids=str)
def test_a_search_and_the_counts_after_it_lose_on_each_way_what_was_granted(
    adjacency: Adjacency, loss: PrivacyLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All neighbours of up to three records, each in one of six places: exactly, for pilot answers that end the search,
    go on, and find a lattice. Records are enough from two on."""
    tuning = replace(TUNING, fewest_pair_records=2, fewest_pair_cells=5, least_pairs_ratio=100.0)
    monkeypatch.setattr(lattices, "TUNING", tuning)
    values = np.array([-1.0, 0.0, 0.5, 1.0, 4.5, 9.0])  # below, zero, between, whole, in the last cell, above
    axis = Axis("x", Grid(0, 5, cells=5))
    workload = PrefixWorkload((axis,), searches_lattice=True)
    sets = data_sets(len(values) + 1, 3)
    pairs = neighbours(sets, adjacency)
    rounds = set()
    for counts in ((0, 10**6, 0), (0, 10**6, 10**5), (10**6, 0, 0), (0, 0, 0), (-(10**6), 0, 10)):
        plans = collect_plans(workload, loss, adjacency, counts)
        worst = np.zeros(len(pairs))
        for plan in plans:
            (counted,) = plan.query.axes
            if isinstance(counted, LatticeAxis):
                cells = find_lattice_cells(counted, values)
            else:
                assert isinstance(counted, Axis)
                cells = counted.grid.cell_of(values)
            cells = np.append(cells, counted.slots)  # the last kind of record is missing
            tables = sets @ np.eye(counted.slots + 1, dtype=np.int64)[cells]
            worst += losses_of_pairs(tables, plan.distribution.require_type(NoisySums), pairs)  # type: ignore[type-abstract]
        assert worst.max() <= float(loss.epsilon or loss.rho) * (1 + 1e-9)
        rounds.add(sum(isinstance(plan.query.axes[0], LatticeAxis) for plan in plans))
    assert rounds == {1, 2}


@pytest.mark.parametrize("people", [30_000, 10**6])
@pytest.mark.parametrize("counts", [(0, 10**6, 0), (10**6, 0, 0), (0, 0, 10**6), (0, 0, 0), (-(10**6),) * 3], ids=str)
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_a_search_for_readings_over_pairs_costs_a_curve_three_percent_of_the_loss_at_most(
    people: int, loss: PrivacyLoss, counts: tuple[int, ...]
) -> None:
    pilot_fraction, *later = collect_fractions(PAIRS, loss, ReplaceOne(EACH_RECORD, people), counts)
    assert pilot_fraction + sum(later) == 1
    found = counts[1] > 0
    assert pilot_fraction == choose_pilot_fraction(ratio_of(loss, ReplaceOne(EACH_RECORD, people)))
    assert pilot_fraction + found * later[0] <= Fraction(3, 100)
    assert later[-1] > Fraction(1, 2)


def ratio_of(loss: PrivacyLoss, adjacency: Adjacency) -> float:
    """The signal-to-noise ratio of all records, or the least one if their number is private."""
    records = adjacency.public_record_count
    return TUNING.least_ratio if records is None else signal_to_noise(records, Setting(loss, adjacency))


def collect_fractions(
    workload: Workload[Any], loss: PrivacyLoss, adjacency: Adjacency, counts: tuple[int, ...]
) -> list[Fraction]:
    """The budget fractions of all rounds if lattices have these counts and all other counts are zero."""
    whole = loss.epsilon or loss.rho
    return [(plan.loss.epsilon or plan.loss.rho) / whole for plan in collect_plans(workload, loss, adjacency, counts)]


def collect_plans(
    workload: Workload[Any], loss: PrivacyLoss, adjacency: Adjacency, counts: tuple[int, ...]
) -> list[Plan]:
    """The plans of all rounds if lattices have these counts and all other counts are zero."""
    steps = Central().plan(workload, loss, adjacency)
    step, plans = next(steps), []
    while True:
        plan = Central().plan_query(step.query, loss * step.budget_fraction, adjacency)
        plans.append(plan)
        assert plan.distribution.size is not None
        values = [0] * plan.distribution.size
        if isinstance(step.query.axes[0], LatticeAxis):
            values[: len(counts)] = counts[: len(values)]
        try:
            step = steps.send(Release(plan, tuple(values), None, seeded=True))
        except StopIteration:
            return plans


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("decimals", [1, 2])
def test_rounded_scores_are_tied_in_cells_that_begin_with_them(adjacency: Adjacency, decimals: int) -> None:
    scores = SPREAD.round(decimals)
    exact, held = roc_auc_score(LABELS, scores), 0
    for seed in range(10):
        table = answer(ScoresQuestion("y", "s"), {"y": LABELS, "s": scores}, ONE, adjacency, seed)
        assert table.table.tied_cells is not None
        low, high = table.interval("auc", 0.9)
        open_low, open_high = without_lattice(table).interval("auc", 0.9)
        assert high - low < (0.3 if decimals == 1 else 1.0) * (open_high - open_low)
        held += low <= exact <= high
        assert table.roc().auc_interval(0.9) == pytest.approx((low, high), abs=1e-3)
    assert held >= 7  # 6 of 10 at a probability of .9: .002
    again = Scores.from_json(table.to_json())
    assert again.interval("auc", 0.9) == (low, high)
    # the last cell has two points, .99 and 1, and the slots beside the grid have none
    assert np.flatnonzero(~table.table.tied_cells).tolist() == [0, 100, 101]


def without_lattice(scores: Scores) -> Scores:
    """The scores as if no lattice had been found."""
    return replace(scores, table=replace(scores.table, lattice_counts=None))


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("direction", [1, -1], ids=["won", "lost"])
def test_intervals_hold_scores_beside_the_edges_that_win_or_lose_all_pairs(
    adjacency: Adjacency, direction: int
) -> None:
    beside = np.random.default_rng(2).random(PEOPLE) < 0.03
    moved = np.where(beside, np.clip(TENTHS + 0.004 + 0.003 * direction * (2 * LABELS - 1), 0, 1), TENTHS)
    exact, held, releases = roc_auc_score(LABELS, moved), [0, 0], 12
    for seed in range(releases):
        scores = answer(ScoresQuestion("y", "s"), {"y": LABELS, "s": moved}, PrivacyLoss.pure(4), adjacency, seed)
        assert scores.table.lattice_counts is not None
        low, high = scores.interval("auc", 0.9)
        held[0] += low <= exact
        held[1] += exact <= high
    # each end is missed with a probability of at most .1: 6 misses of 12 have a probability of .0005
    assert min(held) >= releases - 5


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("adjacency", both(PEOPLE))
@pytest.mark.parametrize("zeros", [0.0, 0.85, 0.97, 0.995], ids=str)
def test_continuous_scores_beside_zeros_stay_open(adjacency: Adjacency, zeros: float) -> None:
    values = np.where(np.arange(PEOPLE) < zeros * PEOPLE, 0.0, SPREAD)
    scores = answer(ScoresQuestion("y", "s"), {"y": LABELS, "s": values}, PrivacyLoss.pure(8), adjacency, 1)
    assert scores.table.lattice_counts is None
    assert scores.table.tied_cells is None


def test_partial_areas_leave_cells_of_a_lattice_that_was_found_open() -> None:
    scores = answer(ScoresQuestion("y", "s"), {"y": LABELS, "s": TENTHS}, ONE, both(PEOPLE)[0], 1)
    found, without = (partial_auc(each, 0.3).interval(0.9) for each in (scores, without_lattice(scores)))
    assert found == without
