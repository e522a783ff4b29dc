"""What holds of every estimator: shares that add up, an end whatever is sent, and the truth where there is no noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from baselines import UniformEstimator
from numpy.typing import NDArray

from dpcurves.conversation import Plan, Release, Setting
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.histograms import (
    AdaptiveGridEstimator,
    AhpEstimator,
    Axes,
    CellEstimator,
    DawaEstimator,
    EstimatedTable,
    HierarchyEstimator,
    MwemEstimator,
    PriveletEstimator,
    PrivTreeEstimator,
    RefinedGridEstimator,
    TableEstimator,
    UniformGridEstimator,
)
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit

ESTIMATORS: tuple[TableEstimator, ...] = (
    CellEstimator(), UniformEstimator(), HierarchyEstimator(), DawaEstimator(), AhpEstimator(), UniformGridEstimator(),
    AdaptiveGridEstimator(), MwemEstimator(3), PrivTreeEstimator(), PriveletEstimator(), RefinedGridEstimator(),
)  # fmt: skip
LABEL = Categories("label", (0, 1))


def axis(cells: int, outside: Outside = Outside.CLIPPED) -> Axis:
    return Axis(f"x{cells}", Grid(0, 1, cells=cells, outside=outside))


TABLES: tuple[Axes, ...] = (
    (axis(1),), (axis(9),), (axis(8), axis(8)), (axis(3), axis(5)), (axis(1), axis(1)), (LABEL, axis(4)),
    (axis(6, Outside.APART),), (axis(4, Outside.APART), axis(2, Outside.APART)), (LABEL, axis(2), axis(3)),
    (axis(9, Outside.APART), axis(13)), (LABEL, axis(3), axis(21)),
)  # fmt: skip
WHO: tuple[Adjacency, ...] = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 40), ReplaceOne(Unit("patient", 2), 9))
Answer = Callable[[Plan], tuple[int, ...]]


def estimated(
    estimator: TableEstimator, axes: Axes, setting: Setting, answer: Answer
) -> tuple[EstimatedTable, Fraction]:
    """The estimate and what was spent. What is asked twice is an error: it would be answered once."""
    steps = estimator.estimate_table(axes, setting, Fraction(1))
    asked, spent = set(), Fraction(0)
    try:
        step = next(steps)
        while True:
            assert step.query not in asked
            asked.add(step.query)
            spent += step.budget_fraction
            plan = AUTO.plan(step.query, setting.loss * step.budget_fraction, setting.adjacency)
            step = steps.send(Release(plan, answer(plan), None, seeded=True))
    except StopIteration as end:
        return end.value, spent


def run(table: NDArray[np.int64], plan: Plan) -> tuple[int, ...]:
    return AUTO.run(table, plan, Randomness.from_seed(1))


def blank(plan: Plan) -> tuple[int, ...]:
    return plan.distribution.blank_values()


def wild(number: int, plan: Plan) -> tuple[int, ...]:
    """Choices are among what may be chosen; noisy sums can be anything."""
    size = len(plan.distribution.blank_values())
    return plan.distribution.blank_values() if plan.error == 0 else (number,) * size


ANSWERS: dict[Adjacency, tuple[Answer, ...]] = dict(
    zip(WHO, ((blank, partial(wild, 10**7)), (partial(wild, -(10**7)),), (blank,)), strict=True)
)


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("axes", TABLES, ids=lambda axes: "x".join(str(each.slots) for each in axes))
def test_shares_add_up_and_it_ends_whatever_is_sent(estimator: TableEstimator, axes: Axes) -> None:
    for loss in (PrivacyLoss.pure("0.5"), PrivacyLoss.zcdp("0.1")):
        for who in WHO:
            for answer in ANSWERS[who]:
                found, spent = estimated(estimator, axes, Setting(loss, who), answer)
                assert spent == 1
                inner = (each.grid.cells if isinstance(each, Axis) else each.slots for each in axes)
                assert found.cells.shape == tuple(inner)
                assert np.isfinite(found.cells).all()
                assert np.isfinite([found.outside, found.missing]).all()
                assert found.releases


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("axes", TABLES, ids=lambda axes: "x".join(str(each.slots) for each in axes))
@pytest.mark.parametrize(
    "estimator",
    [
        CellEstimator(),
        HierarchyEstimator(),
        DawaEstimator(),
        AhpEstimator(),
        UniformGridEstimator(),
        AdaptiveGridEstimator(),
        PrivTreeEstimator(),
        PriveletEstimator(),
        RefinedGridEstimator(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_without_noise_counts_are_the_truth(estimator: TableEstimator, axes: Axes) -> None:
    shape = tuple(each.slots for each in axes)
    table = 10 + np.random.default_rng(2).permutation(np.prod(shape))
    within = np.ones(shape, dtype=np.bool_)
    for number, each in enumerate(axes):
        if isinstance(each, Axis) and each.grid.outside is Outside.APART:
            place = np.arange(shape[number]).reshape([-1 if n == number else 1 for n in range(len(shape))])
            within &= (place > 0) & (place < shape[number] - 1)
    inner = tuple(each.grid.cells if isinstance(each, Axis) else each.slots for each in axes)
    setting = Setting(PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    found, _ = estimated(estimator, axes, setting, partial(run, np.append(table, 7)))
    truth = table.reshape(shape)[within].reshape(inner)
    np.testing.assert_allclose(found.cells, truth, atol=1e-6)
    assert found.outside == pytest.approx(table.sum() - truth.sum(), abs=1e-6)
    assert found.missing == pytest.approx(7)


def test_the_uniform_estimator_keeps_the_total_alone() -> None:
    setting = Setting(PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    found, _ = estimated(UniformEstimator(), (axis(4),), setting, partial(run, np.array([8, 0, 0, 0, 1])))
    assert found.cells.tolist() == [2, 2, 2, 2]


def test_multiplicative_weights_meet_what_they_counted() -> None:
    """With as many rounds as there are prefixes every cell is known."""
    setting = Setting(PrivacyLoss.pure(10**6), AddRemove(EACH_RECORD))
    table = np.array([10, 20, 5, 65, 1])
    found, spent = estimated(MwemEstimator(9), (axis(4),), setting, partial(run, table))
    np.testing.assert_allclose(found.cells, table[:-1], atol=1e-3)
    assert spent == 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_next_to_no_budget_is_no_error(estimator: TableEstimator) -> None:
    """Noise of a billion records."""
    setting, table = Setting(PrivacyLoss.pure("1e-9"), AddRemove(EACH_RECORD)), np.arange(65)
    found, spent = estimated(estimator, (axis(8), axis(8)), setting, partial(run, table))
    assert np.isfinite(found.cells).all()
    assert spent == 1


def test_an_adaptive_grid_divides_where_records_are() -> None:
    table = np.zeros((64, 64), dtype=np.int64)
    table[:8, :8] = 500
    setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    found, _ = estimated(
        AdaptiveGridEstimator(), (axis(64), axis(64)), setting, partial(run, np.append(table.ravel(), 0))
    )
    assert len(np.unique(found.cells[:4, :4])) > 4
    assert len(np.unique(found.cells[-6:, -6:].round(9))) <= 4


def test_like_cells_are_counted_together() -> None:
    """Two levels in a plane: far better than cell by cell."""
    table = np.zeros((32, 32), dtype=np.int64)
    table[:16, :16] = 200
    setting, values = Setting(PrivacyLoss.pure("0.5"), AddRemove(EACH_RECORD)), table.ravel()
    errors = [
        np.abs(estimated(estimator, (axis(32), axis(32)), setting, partial(run, np.append(values, 0)))[0].cells - table)
        for estimator in (DawaEstimator(), CellEstimator())
    ]
    assert errors[0].mean() < errors[1].mean() / 2


def test_parts_of_a_budget_and_rounds_are_checked() -> None:
    for part in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="partition_fraction"):
            DawaEstimator(part)
        with pytest.raises(ValueError, match="scan_fraction"):
            AhpEstimator(part)
    with pytest.raises(ValueError, match="branching_factor"):
        PrivTreeEstimator(branching_factor=1)
    with pytest.raises(ValueError, match="threshold"):
        PrivTreeEstimator(threshold=-1)
    for part in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="^partition_fraction: "):
            PrivTreeEstimator(partition_fraction=part)
    with pytest.raises(ValueError, match="rounds"):
        MwemEstimator(0)
