"""Grids that are divided where records are: what all turns lose together, exactly, on all tiny neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_loss import unit_loss
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, IntArray, axes, data_sets, neighbours

from dpcurves.conversation import Plan, Release, Setting
from dpcurves.distributions import IntervalSums
from dpcurves.histograms import (
    AdaptiveGridEstimator,
    RefinedGridEstimator,
    TableEstimator,
)
from dpcurves.histograms import (
    block_estimators as refined_grid,
)
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import RegionQuery

CELLS = 6
Answer = Callable[[Plan], tuple[int, ...]]


@pytest.fixture(autouse=True)
def _tiny_tables_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refined_grid, "REFINED_GRID_TUNING", replace(refined_grid.REFINED_GRID_TUNING, min_cells=2))


def asked(estimator: TableEstimator, setting: Setting, answer: Answer) -> list[Plan]:
    """All turns, where they are answered so."""
    steps, plans = estimator.estimate_table(axes(1, CELLS), setting, Fraction(1)), list[Plan]()
    try:
        step = next(steps)
        while True:
            plans.append(AUTO.plan(step.query, setting.loss * step.budget_fraction, setting.adjacency))
            step = steps.send(Release(plans[-1], answer(plans[-1]), None, seeded=True))
    except StopIteration:
        return plans


def drawn(seed: int) -> Answer:
    """Any counts: some blocks are divided, others are not."""
    chance = np.random.default_rng(seed)
    return lambda plan: tuple(
        chance.integers(-10, 10 ** (1 + seed % 4), len(plan.distribution.blank_values())).tolist()
    )


@pytest.mark.quick_share(16, kinds=[("estimator", "adjacency"), "loss"])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3")], ids=str)
@pytest.mark.parametrize(
    "estimator", [AdaptiveGridEstimator(), RefinedGridEstimator()], ids=lambda each: type(each).__name__
)
def test_all_turns_together_lose_exactly_what_is_claimed(
    estimator: TableEstimator, loss: PrivacyLoss, adjacency: Adjacency
) -> None:
    """On every path: whatever was answered, the next turn is the same for both neighbours."""
    sets = data_sets(CELLS + 1, 3)
    pairs = neighbours(sets, adjacency)
    sizes = set()
    for seed in (0, 1, 2, 4):
        plans = asked(estimator, Setting(loss, adjacency), drawn(seed))
        assert len(plans) in {2, 3}
        spent = np.sum([_spent(plan, sets, pairs) for plan in plans], axis=0)
        assert spent.max() == (loss.epsilon if loss.is_pure else loss.rho)
        sizes.add(len(plans[-1].distribution.blank_values()))
    is_hopeless = isinstance(adjacency, ReplaceOne) and adjacency.unit.records == 1  # three records, publicly
    assert len(sizes) > 1 or (is_hopeless and isinstance(estimator, RefinedGridEstimator))


def _spent(plan: Plan, sets: IntArray, pairs: IntArray) -> NDArray[np.object_]:
    """What one turn loses between the neighbours of each pair, exactly."""
    assert isinstance(plan.query, RegionQuery)
    assert isinstance(plan.distribution, IntervalSums)
    released = [compute_exact_sums(plan.query.reorder_table(table), plan.distribution) for table in sets]
    spent = np.zeros(len(pairs), dtype=object)
    for parts in zip(*released, strict=True):
        sums = np.array([part for part, _ in parts], dtype=np.int64)
        shift = np.abs(sums[pairs[:, 0]] - sums[pairs[:, 1]])
        norm = (shift if plan.loss.is_pure else shift**2).sum(axis=1)
        spent += unit_loss(parts[0][1]) * norm.astype(object)
    return spent


def test_shares_of_an_adaptive_grid_are_public_and_make_up_the_whole() -> None:
    for adjacency in ADJACENCIES:
        rest = Fraction(99, 100) if adjacency.public_record_count is None else Fraction(1)
        setting = Setting(PrivacyLoss.pure(1), adjacency)
        for seed in range(3):
            plans = asked(AdaptiveGridEstimator(), setting, drawn(seed))
            paid = [plan.loss.epsilon for plan in plans]
            assert paid == [*([1 - rest] if rest < 1 else []), rest * 2 / 5, rest * 3 / 5]


def test_a_refined_grid_spends_three_tenths_first_and_the_rest_in_one_turn_or_in_two() -> None:
    """Whatever is answered: wild counts, of all sizes."""
    found = set()
    for adjacency in ADJACENCIES:
        for seed in range(12):
            plans = asked(RefinedGridEstimator(), Setting(PrivacyLoss.pure(1), adjacency), drawn(seed))
            found.add(tuple(str(plan.loss.epsilon) for plan in plans))
    assert found == {("3/10", "1/5", "1/2"), ("3/10", "7/10")}
