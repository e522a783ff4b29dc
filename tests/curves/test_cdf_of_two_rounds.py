"""Distribution functions whose intervals are chosen in private, by a partition or by cuts, and then counted."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import CDF, AdaptivePartition, CdfQuestion, QuantilePartition
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import AddRemove, Adjacency, Neighbours, PrivacyLoss, ReplaceOne, Unit
from dpcurves.session import Session, plan_question

GRID = Grid(0, 1, cells=64)
HUGE = PrivacyLoss.pure(10**9)
X = np.random.default_rng(5).beta(2, 3, size=2000)
QUESTIONS = (
    CdfQuestion("x", GRID, method=AdaptivePartition()),
    CdfQuestion("x", GRID, method=AdaptivePartition(branching_factor=4)),
    CdfQuestion("x", GRID, method=QuantilePartition(20)),
)
LOSSES = PrivacyLoss.pure("0.5"), PrivacyLoss.zcdp("0.02")
Question = CdfQuestion


def truth(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    below = np.array([np.mean(values < edge) for edge in edges])
    below[-1] = np.mean(values <= edges[-1])
    return below


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_at_a_huge_epsilon_a_partition_goes_down_to_cells_and_the_curve_is_exact(adjacency: Adjacency) -> None:
    some = np.concatenate([X, np.full(0 if isinstance(adjacency, ReplaceOne) else 500, np.nan)])
    curve = answer(
        CdfQuestion("x", GRID, method=AdaptivePartition(branching_factor=3)), {"x": some}, HUGE, adjacency, seed=1
    )
    assert np.abs(curve.y - truth(X, GRID.edges)).max() < 1e-9
    assert curve.count == pytest.approx(len(X))


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_at_a_huge_epsilon_the_curve_is_exact_at_each_cut(adjacency: Adjacency) -> None:
    curve = answer(CdfQuestion("x", GRID, method=QuantilePartition(7)), {"x": X}, HUGE, adjacency, seed=1)
    exact = truth(X, GRID.edges)
    assert curve.prefixes.measured_edges.sum() == 8
    assert np.abs(curve.y - exact)[curve.prefixes.measured_edges].max() < 1e-9
    assert np.abs(curve.y - exact).max() < 1 / 7


@pytest.mark.parametrize("adjacency", both(len(X)))
def test_at_a_huge_epsilon_each_category_has_its_own_curve_on_the_partition_of_all(adjacency: Adjacency) -> None:
    group = np.where(X < 0.4, "a", np.where(np.arange(len(X)) % 2 == 0, "b", "c"))
    question = CdfQuestion("x", GRID, by=Categories("group", ("a", "b", "none")), method=AdaptivePartition())
    curves = answer(question, {"x": X, "group": group}, HUGE, adjacency, seed=1)
    assert set(curves) == {"a", "b", "none"}
    for category in ("a", "b"):
        own = X[group == category]
        errors = np.abs(curves[category].y - truth(own, GRID.edges))
        assert errors[curves[category].prefixes.measured_edges].max() < 1e-9
        assert curves[category].count == pytest.approx(len(own))
    assert np.array_equal(curves["a"].prefixes.measured_edges, curves["b"].prefixes.measured_edges)
    assert str(question) == "distribution function on an adaptive partition of x by group"


@pytest.mark.parametrize(
    "question",
    [
        CdfQuestion("x", Grid(0.2, 0.6, cells=32, outside=Outside.APART), method=AdaptivePartition()),
        CdfQuestion("x", Grid(0.2, 0.6, cells=32, outside=Outside.APART), method=QuantilePartition(5)),
    ],
)
def test_values_outside_are_counted_alone(question: Question) -> None:
    curve = answer(question, {"x": X}, HUGE, both(len(X))[1], seed=1)
    assert curve.y[0] == pytest.approx(np.mean(X < 0.2), abs=1e-9)
    assert curve.y[-1] == pytest.approx(np.mean(X <= 0.6), abs=1e-9)


@pytest.mark.quick_share(72)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("adjacency", both(len(X)))
@pytest.mark.parametrize("loss", [PrivacyLoss.pure("0.01"), PrivacyLoss.zcdp("0.0001"), PrivacyLoss.pure(5)])
@pytest.mark.parametrize("values", [X, np.full(5, np.nan), np.zeros(3), np.ones(9)])
def test_whatever_the_noise_the_curve_rises_from_zero_to_one(
    question: Question, adjacency: AddRemove | ReplaceOne, loss: PrivacyLoss, values: NDArray[np.float64]
) -> None:
    if isinstance(adjacency, ReplaceOne):
        adjacency = ReplaceOne(adjacency.unit, len(values))
    curve = answer(question, {"x": values}, loss, adjacency, seed=3)
    assert (curve.y[0], curve.y[-1]) == (0, 1)
    assert (np.diff(curve.y) >= 0).all()
    lower, upper = curve.band(0.9)
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()


@pytest.mark.parametrize(
    ("question", "loss", "adjacency"),
    [
        pytest.param(question, loss, adjacency, marks=[pytest.mark.reproduction] * (number != place))
        for number, question in enumerate((QUESTIONS[0], QUESTIONS[2]))
        for place, (loss, adjacency) in enumerate(zip(LOSSES, both(len(X)), strict=True))
    ],
)
def test_bands_hold_the_whole_curve_as_often_as_they_say(
    question: Question, loss: PrivacyLoss, adjacency: Adjacency
) -> None:
    """The intervals are chosen before the noise that the band is about is drawn, by noise of its own."""
    level, releases, exact = 0.9, 40, truth(X, GRID.edges)
    held = 0
    for seed in range(releases):
        lower, upper = answer(question, {"x": X}, loss, adjacency, seed).band(level)
        held += bool(((lower <= exact + 1e-9) & (exact <= upper + 1e-9)).all())
    assert held / releases >= level - 4 * sqrt(level * (1 - level) / releases)  # 4 sigma


@pytest.mark.parametrize("question", QUESTIONS)
def test_turns_cost_what_was_asked(question: Question) -> None:
    for loss, adjacency in ((loss, adjacency) for loss in LOSSES for adjacency in both(1000)):
        plans = plan_question(question, loss, adjacency)
        assert len(plans) == 2
        assert sum((plan.loss.rho if loss.epsilon is None else plan.loss.epsilon or 0) for plan in plans) == (
            loss.rho if loss.epsilon is None else loss.epsilon
        )


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_session_answers_a_request_once_and_says_how(question: Question) -> None:
    with Session({"x": X}, budget=PrivacyLoss.pure(1), adjacency=Neighbours.ADD_REMOVE) as session:
        first, again = (session.ask(question, PrivacyLoss.pure(1), request="a") for _ in range(2))
    assert (first.y == again.y).all()
    assert first.privacy.epsilon == 1
    assert first.privacy.mechanism.count(";") == 1


def test_units_of_several_records_are_answered() -> None:
    several = AddRemove(Unit("u", 3))
    for question in QUESTIONS:
        assert answer(question, {"x": X}, PrivacyLoss.pure(1), several, seed=3).privacy.rows_per_unit == 3


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_curve_that_was_written_is_read_with_its_bands(question: Question) -> None:
    curve = answer(question, {"x": X}, PrivacyLoss.zcdp(Fraction(1, 3)), both(len(X))[0], seed=3)
    again = CDF.from_json(curve.to_json())
    assert (again.y == curve.y).all()
    assert (again.band(0.95)[1] == curve.band(0.95)[1]).all()


def test_a_partition_finds_a_peak_that_even_cells_would_blur() -> None:
    x = np.random.default_rng(1).normal(0.3, 0.01, size=10_000)
    grid = Grid(-5, 5, cells=4096)
    gaps = [
        np.abs(curve.y - truth(x, grid.edges)).max()
        for curve in (
            answer(
                CdfQuestion("x", grid, method=AdaptivePartition()), {"x": x}, PrivacyLoss.pure(1), both(len(x))[1], seed
            )
            for seed in range(5)
        )
    ]
    assert np.mean(gaps) < 0.01


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValueError, match="^branching_factor: "):
        CdfQuestion("x", GRID, method=AdaptivePartition(branching_factor=1))
    with pytest.raises(ValueError, match="^threshold: "):
        CdfQuestion("x", GRID, method=AdaptivePartition(threshold=-1))
    with pytest.raises(ValueError, match="^pieces: "):
        CdfQuestion("x", GRID, method=QuantilePartition(1))
