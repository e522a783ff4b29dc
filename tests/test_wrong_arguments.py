"""What is of the wrong kind is refused by its name, in one line, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.data import Axis
from dpcurves.histograms import DawaEstimator
from dpcurves.queries import CountQuery, CountUse

X = [0.1, 0.5, 0.9] * 20
Y = [0, 1, 1] * 20
GRID = dp.Grid(0, 1, cells=16)
ONE = dp.PrivacyLoss.pure(1)
PAID: dict[str, Any] = {"adjacency": dp.REPLACE_ONE, "epsilon": 1}


def plot_of(estimator: Any) -> dp.ResidualPlotQuestion:
    return dp.ResidualPlotQuestion("x", "y", 1, 1, 0.9, dp.PUBLIC_MODEL, estimator=estimator)


def table(data: Any) -> dp.Session:
    return dp.Session(data, budget=ONE, adjacency=dp.REPLACE_ONE)


def budget(given: Any) -> dp.Session:
    return dp.Session({"x": X}, budget=given, adjacency=dp.REPLACE_ONE)


def unit(given: Any) -> dp.Session:
    return dp.Session({"x": X}, budget=ONE, adjacency=dp.REPLACE_ONE, unit=given)


WRONG: list[tuple[str, Callable[[Any], object], Any]] = [
    ("grid: a Grid", lambda grid: dp.cdf(X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.quantiles(X, [0.5], grid=grid, **PAID), (0, 1, 64)),
    ("grid: a Grid", lambda grid: dp.histogram(X, grid=grid, **PAID), 64),
    ("grid: a Grid", lambda grid: dp.roc_curve(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.scores(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.calibration_curve(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.hosmer_lemeshow(Y, X, grid=grid, **PAID), "0:1:64"),
    ("grid: a Grid", lambda grid: dp.binned_residuals(Y, X, grid=grid, model=dp.PUBLIC_MODEL, **PAID), 64),
    ("grid: a Grid", lambda grid: dp.CdfQuestion("x", grid, edges=(1,)), 64),
    ("grid: a Grid", lambda grid: dp.RocQuestion("y", "x", grid, edges=(1,)), 64),
    ("label: a text", lambda label: dp.cdf(X, grid=GRID, label=label, **PAID), ["x"]),
    ("column: the name of a column", lambda column: Axis(column, GRID), 3),
    ("unit: the name of a column", unit, 3),
    ("pos_label: a text, a number", lambda label: dp.roc_curve(Y, X, pos_label=label, **PAID), [1]),
    ("probabilities: a list of shares", lambda p: dp.quantiles(X, p, grid=GRID, **PAID), 0.5),
    ("probabilities: a list of shares", lambda at: dp.QuantilesQuestion("x", GRID, at), 0.5),
    ("edges: a tuple of indices", lambda at: dp.CdfQuestion("x", GRID, edges=at), 7),
    ("edges: a tuple of indices", lambda at: dp.RocQuestion("y", "x", GRID, edges=at), 7),
    (
        "row_categories: a tuple",
        lambda rows: dp.contingency(Y, Y, row_categories=rows, column_categories=Y, **PAID),
        "ab",
    ),
    ("bounds: a number is needed", lambda bounds: dp.mean(X, bounds=bounds, **PAID), ("a", 1)),
    ("estimator: an estimator of dpcurves", plot_of, "dawa"),
    ("estimator: an estimator of dpcurves", plot_of, DawaEstimator),
    ("table: a file, a data frame", table, [1, 2]),
    ("table: a file, a data frame", table, None),
    ("budget: a loss, as in PrivacyLoss.pure", budget, 1),
]


CDF, ROC = dp.cdf(X, grid=GRID, **PAID), dp.roc_curve(Y, X, **PAID)
PLANE: dict[str, Any] = {"unit_predicted": 1, "unit_residual": 1, "coverage": 0.9, "model": dp.PUBLIC_MODEL}
NUMBERS: dict[str, list[Callable[[Any], object]]] = {
    "groups": [
        lambda groups: dp.calibration_curve(Y, X, groups=groups, **PAID),
        lambda groups: dp.hosmer_lemeshow(Y, X, groups=groups, **PAID),
    ],
    "bins": [lambda bins: dp.binned_residuals(Y, X, model=dp.PUBLIC_MODEL, bins=bins, **PAID)],
    "cells": [lambda cells: dp.residual_plot(X, X, **PLANE, cells=cells, **PAID)],
    "unit": [lambda unit: dp.bounds(X, unit=unit, coverage=0.9, **PAID)],
    "unit_residual": [lambda unit: dp.residual_plot(X, X, **{**PLANE, "unit_residual": unit}, **PAID)],
    "coverage": [lambda coverage: dp.bounds(X, unit=1, coverage=coverage, **PAID)],
    "doublings": [lambda doublings: dp.BoundsQuestion("x", 1, 0.9, doublings)],
    "p": [lambda p: CDF.quantile_interval(p, 0.9)],
    "probabilities": [
        lambda p: dp.quantiles(X, [p], grid=GRID, **PAID),
        lambda p: dp.QuantilesQuestion("x", GRID, (p,)),
    ],
    "edges": [lambda edge: dp.CdfQuestion("x", GRID, edges=(edge,))],
    "level": [
        CDF.band,
        lambda level: CDF.quantile_interval(0.5, level),
        ROC.auc_interval,
        lambda level: CDF.histogram(2).intervals(level),
    ],
    "search": [lambda search: dp.QuantilesQuestion("x", GRID, (0.5,), search=search)],
    "grid": [lambda upper: dp.Grid(0, upper, cells=4), lambda lower: dp.Grid.geometric(lower, 8, cells=4)],
    "cells|grid": [lambda cells: dp.Grid(0, 1, cells=cells)],
    "delta": [dp.PrivacyLoss.pure(1).epsilon_at],
    "epsilon": [lambda epsilon: dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, epsilon=epsilon)],
}
EACH = [(name, call) for name, calls in NUMBERS.items() for call in calls]


@pytest.mark.quick_share(7)
@pytest.mark.parametrize("given", ["ten", float("nan"), float("inf"), -1, 1000.5, [3], [0.5, 0.6]], ids=str)
@pytest.mark.parametrize(("name", "call"), EACH, ids=[f"{name}-{place}" for place, (name, _) in enumerate(EACH)])
def test_what_is_no_number_in_range_is_named(name: str, call: Callable[[Any], object], given: Any) -> None:
    if given == 1000.5 and name in ("unit", "unit_residual", "epsilon", "grid"):
        given = 0 if name != "grid" else -given
    with pytest.raises((TypeError, ValueError), match=rf"^({name}): ") as refusal:
        call(given)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("level", [-0.5, 0, 1, 1.5, True])
def test_no_interval_is_given_at_a_level_that_is_no_chance(level: float) -> None:
    with pytest.raises(ValueError, match=rf"^level: a number between 0 and 1 is needed, as in 0.95, got {level}$"):
        ROC.auc_interval(level)


def test_what_would_fail_after_the_charge_is_refused_before_it() -> None:
    for wrong in ("system", 7):
        with pytest.raises(TypeError, match=r"^randomness: a Randomness, "):
            dp.cdf(X, grid=GRID, randomness=wrong, **PAID)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^trust: a trust model, "):
            dp.Session({"x": X}, budget=ONE, adjacency=dp.REPLACE_ONE, trust=wrong)  # type: ignore[arg-type]


def test_a_text_is_no_list_of_categories() -> None:
    with pytest.raises(TypeError, match=r"^categories: a tuple of them, "):
        dp.Categories("ward", "AB")  # type: ignore[arg-type]
    assert dp.Categories("ward", ["A", "B"]).values == ("A", "B")  # type: ignore[arg-type]


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
    assert session.remaining == ONE


def test_a_choice_may_be_given_by_its_word() -> None:
    assert dp.RocQuestion("y", "x", thresholds="fixed") == dp.RocQuestion("y", "x", thresholds=dp.RocThresholds.FIXED)  # type: ignore[arg-type]
    assert dp.Grid(0, 1, cells=2, outside="apart") == dp.Grid(0, 1, cells=2, outside=dp.Outside.APART)  # type: ignore[arg-type]
    assert dp.Grid.from_edges([0, 1], outside="apart").slots == 3  # type: ignore[arg-type]
    assert CountQuery((Axis("x", GRID),), "cells").use is CountUse.CELLS  # type: ignore[arg-type]
    curve = dp.roc_curve(Y, X, thresholds="fixed", grid=GRID, **PAID)  # type: ignore[arg-type]
    assert len(curve.fpr) == 17


@pytest.mark.parametrize("given", ["deciles", None, 3, True])
def test_another_word_is_refused_with_all_that_are_known(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^thresholds: must be one of fixed, quantiles, medians, got "):
        dp.roc_curve(Y, X, thresholds=given, **PAID)
    with pytest.raises(ValueError, match=r"^outside: must be one of clipped, apart, got "):
        dp.Grid(0, 1, cells=2, outside=given)
    with pytest.raises(ValueError, match=r"^use: must be one of cells, prefixes, uneven, area, got "):
        CountQuery((Axis("x", GRID),), given)


@pytest.mark.parametrize("wrong", [1e300, "1e-300", 10**40, "1000000000.0000000001"])
def test_a_loss_that_no_ledger_counts_is_called_by_its_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^epsilon: a number from 1e-9 to 1e9 is needed, as in 0.5, got "):
        dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, epsilon=wrong)
    with pytest.raises(ValueError, match=r"^rho: a number from 1e-9 to 1e9 is needed, as in 0.5, got "):
        dp.cdf(X, grid=GRID, adjacency=dp.REPLACE_ONE, rho=wrong)


def test_a_loss_beyond_every_budget_is_refused_before_anything_is_planned() -> None:
    with pytest.raises(ValueError, match=r"^loss: the loss exceeds 1e9"):
        table({"x": X}).plan(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(1e300))


@pytest.mark.parametrize("name", ["unit_predicted", "unit_residual"])
def test_a_unit_of_two_is_called_by_its_name(name: str) -> None:
    units: dict[str, Any] = {"unit_predicted": 1, "unit_residual": 1, name: 0}
    with pytest.raises(ValueError, match=rf"^{name}: a finite number above zero is needed"):
        dp.residual_plot(X, X, **units, coverage=0.9, model=dp.PUBLIC_MODEL, **PAID)


def test_no_more_groups_are_cut_than_anyone_can_read() -> None:
    for asked in (dp.CalibrationQuestion, dp.HosmerLemeshowQuestion):
        with pytest.raises(ValueError, match=r"^groups: at most 1000 groups are allowed, got 100000"):
            asked("y", "x", groups=100_000)
    with pytest.raises(ValueError, match=r"^bins: at most 1000 groups are allowed, got 100000"):
        dp.BinnedResidualsQuestion("y", "x", dp.PUBLIC_MODEL, bins=100_000)


def test_values_that_were_taken_for_shares_are_not_shown() -> None:
    with pytest.raises(ValueError, match=r"^probabilities: numbers from 0 to 1 are needed, as in 0\.25$"):
        dp.quantiles([0.25, 0.5], [97531.25, 12.5], grid=GRID, adjacency=dp.REPLACE_ONE, epsilon=1)
