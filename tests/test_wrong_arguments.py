"""What is of the wrong kind is refused by its name, in one line, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.curves import RocThresholdsQuestion
from dpcurves.data import Axis, CountQuery, Read
from dpcurves.surveys import DawaSurvey

X = [0.1, 0.5, 0.9] * 20
Y = [0, 1, 1] * 20
GRID = dp.Grid(0, 1, cells=16)
ONE = dp.PrivacyLoss.pure(1)
PAID: dict[str, Any] = {"adjacency": dp.REPLACE_ONE, "epsilon": 1}


def plot_of(survey: Any) -> dp.ResidualPlotQuestion:
    return dp.ResidualPlotQuestion("x", "y", 1, 1, 0.9, dp.PUBLIC_MODEL, survey=survey)


def table(data: Any) -> dp.Session:
    return dp.Session(data, budget=ONE, adjacency=dp.REPLACE_ONE)


def budget(given: Any) -> dp.Session:
    return dp.Session({"x": X}, budget=given, adjacency=dp.REPLACE_ONE)


WRONG: list[tuple[str, Callable[[Any], object], Any]] = [
    ("grid: a Grid", lambda grid: dp.cdf(X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.quantiles(X, [0.5], grid=grid, **PAID), (0, 1, 64)),
    ("grid: a Grid", lambda grid: dp.histogram(X, grid=grid, **PAID), None),
    ("grid: a Grid", lambda grid: dp.roc_curve(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.calibration_curve(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.hosmer_lemeshow(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.binned_residuals(Y, X, grid=grid, model=dp.PUBLIC_MODEL, **PAID), 64),
    ("grid: a Grid", lambda grid: dp.ThresholdsQuestion("x", grid, (1,)), 64),
    ("grid: a Grid", lambda grid: RocThresholdsQuestion("y", "x", grid, (1,)), 64),
    ("p: a list of shares", lambda p: dp.quantiles(X, p, grid=GRID, **PAID), 0.5),
    ("at: a tuple of shares", lambda at: dp.QuantilesQuestion("x", GRID, at), 0.5),
    ("at: a tuple of numbers", lambda at: dp.ThresholdsQuestion("x", GRID, at), 7),
    ("at: a tuple of numbers", lambda at: RocThresholdsQuestion("y", "x", GRID, at), 7),
    ("survey: one of dpcurves", plot_of, "dawa"),
    ("survey: one of dpcurves", plot_of, DawaSurvey),
    ("table: a file, a data frame", table, [1, 2]),
    ("table: a file, a data frame", table, None),
    ("budget: a loss, as in PrivacyLoss.pure", budget, 1),
]


@pytest.mark.parametrize(("line", "call", "given"), WRONG)
def test_what_is_of_the_wrong_kind_is_named(line: str, call: Callable[[Any], object], given: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{line}") as refusal:
        call(given)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "question", "loss"),
    [
        ("loss: a loss, as in PrivacyLoss", dp.CdfQuestion("x", GRID), 0.5),
        ("question: a question", "cdf", ONE),
        ("question: a question", dp.CdfQuestion, ONE),
        ("grid: a Grid", dp.CdfQuestion("x", (0, 1, 4)), ONE),  # type: ignore[arg-type]
        ("by: Categories", dp.CdfQuestion("x", GRID, by=("ward", ("a", "b"))), ONE),  # type: ignore[arg-type]
        ("by: Categories", dp.HistogramQuestion("x", GRID, by="ward"), ONE),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_asked_is_named_and_costs_nothing(line: str, question: Any, loss: Any) -> None:
    session = dp.Session({"x": X}, budget=ONE, adjacency=dp.REPLACE_ONE)
    for asked in (session.ask, session.plan):
        with pytest.raises(TypeError, match=rf"^{line}"):
            asked(question, loss)
    assert session.left == ONE


def test_a_choice_may_be_given_by_its_word() -> None:
    assert dp.RocQuestion("y", "x", cuts="fixed") == dp.RocQuestion("y", "x", cuts=dp.Cuts.FIXED)  # type: ignore[arg-type]
    assert dp.Grid(0, 1, cells=2, outside="apart") == dp.Grid(0, 1, cells=2, outside=dp.Outside.APART)  # type: ignore[arg-type]
    assert dp.Grid.from_edges([0, 1], outside="apart").slots == 3  # type: ignore[arg-type]
    assert CountQuery((Axis("x", GRID),), "cells").read is Read.CELLS  # type: ignore[arg-type]
    curve = dp.roc_curve(Y, X, cuts="fixed", grid=GRID, **PAID)  # type: ignore[arg-type]
    assert len(curve.fpr) == 17


@pytest.mark.parametrize("given", ["deciles", None, 3, True])
def test_another_word_is_refused_with_all_that_are_known(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^cuts: one of fixed, quantiles, medians is needed, got "):
        dp.roc_curve(Y, X, cuts=given, **PAID)
    with pytest.raises(ValueError, match=r"^outside: one of clamped, apart is needed, got "):
        dp.Grid(0, 1, cells=2, outside=given)
    with pytest.raises(ValueError, match=r"^read: one of cells, prefixes is needed, got "):
        CountQuery((Axis("x", GRID),), given)


@pytest.mark.parametrize("wrong", [1e300, "1e-300", 10**40])
def test_a_loss_that_no_ledger_counts_is_called_by_its_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: a number from 1e-9 to 1e9 is needed, got "):
        dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, epsilon=wrong)
    with pytest.raises(ValueError, match=r"^rho: a number from 1e-9 to 1e9 is needed, got "):
        dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, rho=wrong)


def test_a_loss_beyond_every_budget_is_refused_before_anything_is_planned() -> None:
    with pytest.raises(ValueError, match=r"^loss: no budget is above 1e9"):
        table({"x": X}).plan(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(1e300))


@pytest.mark.parametrize("name", ["unit_predicted", "unit_residual"])
def test_a_unit_of_two_is_called_by_its_name(name: str) -> None:
    units: dict[str, Any] = {"unit_predicted": 1, "unit_residual": 1, name: 0}
    with pytest.raises(ValueError, match=rf"^{name}: a finite number above zero is needed"):
        dp.residual_plot(X, X, **units, coverage=0.9, model=dp.PUBLIC_MODEL, **PAID)


def test_no_more_groups_are_cut_than_anyone_can_read() -> None:
    for asked in (dp.CalibrationQuestion, dp.HosmerLemeshowQuestion):
        with pytest.raises(ValueError, match=r"^groups: at most 1000 are cut, got 100000"):
            asked("y", "x", groups=100_000)
    with pytest.raises(ValueError, match=r"^bins: at most 1000 are cut, got 100000"):
        dp.BinnedResidualsQuestion("y", "x", dp.PUBLIC_MODEL, bins=100_000)
