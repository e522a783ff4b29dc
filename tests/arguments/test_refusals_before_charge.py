"""Any value for any argument is answered, or refused by the argument's name before the charge."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from odd_values import ODD

import dpcurves as dp
from dpcurves import curves
from dpcurves.ledger import Ledger
from dpcurves_parties.shares.function_shares import FunctionShares

ONE = dp.PrivacyLoss.pure(1)
NAMED = re.compile(r"[a-z_]+(, [a-z_]+)*: [^\n]{1,400}")
REFUSALS = (TypeError, ValueError, dp.UnsupportedQuery, dp.BudgetExceeded)
SLOTS = dp.Grid(0, 1, cells=4)
HALVES = np.arange(40) % 2
TABLE = {
    "x": np.arange(40) / 40, "y": HALVES, "z": np.arange(40) - 20.0, "t": np.where(HALVES, "a", "b"),
    "l": ["a", 1] * 20, "x by y": np.arange(40) % 16, "d": np.arange(40).astype("datetime64[D]"),
}  # fmt: skip
CELLS: dict[str, Any] = {"column": "x", "grid": SLOTS}
WEIGHTS: dict[str, Any] = {"weight": "y", "weight_cap": 2}
CLASSES: dict[str, Any] = {"label": "y", "score": "x", "grid": SLOTS}
VALID: dict[str, dict[str, Any]] = {
    "BinnedResidualsQuestion": {**CLASSES, "model": dp.PUBLIC_MODEL, "bins": 2},
    "BoundsQuestion": {"column": "z", "unit": 1, "coverage": 0.9},
    "CalibrationQuestion": {**CLASSES, "groups": 2},
    "CdfQuestion": CELLS,
    "BarChartQuestion": {"by": dp.Categories("t", ("a", "b"))},
    "ContingencyQuestion": {"rows": dp.Categories("t", ("a", "b")), "columns": dp.Categories("y", (0, 1))},
    "HistogramQuestion": CELLS,
    "Histogram2DQuestion": {"x": "x", "y": "z", "x_grid": SLOTS, "y_grid": SLOTS},
    "HosmerLemeshowQuestion": {**CLASSES, "groups": 2},
    "PlaneBoundsQuestion": {"x": dp.BoundsQuestion("x", 1, 0.9), "y": dp.BoundsQuestion("z", 1, 0.9)},
    "QuantilesQuestion": {**CELLS, "probabilities": (0.5,)},
    "ResidualPlotQuestion": {
        "predicted": "x", "residual": "z", "unit_predicted": 1, "unit_residual": 1, "coverage": 0.9,
        "model": dp.PUBLIC_MODEL, "cells": 4,
    },
    "RocQuestion": CLASSES,
    "ScoresQuestion": CLASSES,
    "SmoothAucQuestion": CLASSES,
    "ModelPairQuestion": {"label": "y", "first": "x", "second": "z", "grid": SLOTS},
    "ModelComparisonQuestion": {"label": "y", "scores": ("x", "z", "y"), "grid": SLOTS},
    "MulticlassQuestion": {"label": dp.Categories("y", (0, 1, 2)), "scores": ("x", "z", "y"), "grid": SLOTS},
    "OrdinalClassesQuestion": {"label": dp.Categories("y", (0, 1, 2)), "score": "x", "grid": SLOTS},
    "UpliftQuestion": {"outcome": "y", "treatment": "z", "score": "x", "grid": SLOTS},
    "QuantileForecastsQuestion": {"errors": ("x",), "quantiles": (0.5,), "grid": SLOTS},
    "PredictedObservedQuestion": {"predicted": "x", "observed": "z", "grid": SLOTS, "observed_grid": SLOTS},
    "PairwiseScorerQuestion": {"label": "y", "features": (dp.NumericColumn("x", 0, 1),)},
    "SurvivalQuestion": {"time": "x", "event": "y", "grid": SLOTS},
    "WeightedCdfQuestion": {**CELLS, **WEIGHTS},
    "WeightedHistogramQuestion": {**CELLS, **WEIGHTS},
    "WeightedQuantilesQuestion": {**CELLS, "probabilities": (0.5,), **WEIGHTS},
    "WeightedSummaryQuestion": {"column": "x", "lower": 0, "upper": 1, **WEIGHTS},
    "WeightedSurvivalQuestion": {"time": "x", "event": "y", "grid": SLOTS, **WEIGHTS},
    **{f"AutoRangeWeighted{word}Question": {"column": "x", **WEIGHTS} for word in ("Cdf", "Histogram", "Summary")},
    "AutoRangeWeightedQuantilesQuestion": {"column": "x", "probabilities": (0.5,), **WEIGHTS},
    "CompetingRisksQuestion": {"time": "x", "event": "y", "grid": SLOTS, "causes": (1,)},
    "DelayedEntryQuestion": {"entry": "z", "time": "x", "event": "y", "grid": SLOTS},
    "IntervalCensoredQuestion": {"last": "z", "first": "x", "grid": SLOTS},
    "SurvivalModelQuestion": {"score": "x", "time": "z", "event": "y", "times": SLOTS, "scores": SLOTS, "groups": 2},
    "CountQuestion": {"column": "x"},
    "SumQuestion": {"column": "x", "lower": 0, "upper": 1},
    "MeanQuestion": {"column": "x", "lower": 0, "upper": 1},
    "VarianceQuestion": {"column": "x", "lower": 0, "upper": 1},
    "SummaryQuestion": {"column": "x", "lower": 0, "upper": 1},
    "AutoRangeCdfQuestion": {"column": "x"},
    "AutoRangeQuantilesQuestion": {"column": "x", "probabilities": (0.5,)},
    **{f"AutoRange{word}Question": {"column": "x"} for word in ("Histogram", "Sum", "Mean", "Variance", "Summary")},
    "AutoRangeScoresQuestion": {"label": "y", "score": "x"},
    "AutoRangeSurvivalQuestion": {"time": "x", "event": "y"},
    "VerifyQuestion": {
        "outcome": dp.Categories("y", (0, 1)), "columns": (dp.NumericColumn("z", -20, 20),),
        "coefficient": "z", "above": 0,
    },
}  # fmt: skip


def opened(**settings: Any) -> dp.Session:
    given: dict[str, Any] = {
        "table": TABLE, "budget": dp.PrivacyLoss.pure(10**8), "adjacency": dp.ADD_REMOVE, **settings
    }  # fmt: skip
    return dp.Session(**given)


@pytest.fixture
def charges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The charged requests, in order."""
    made: list[str] = []
    charge = Ledger._charge

    def noted(self: Ledger, *args: Any, **more: Any) -> Any:
        charged = charge(self, *args, **more)
        made.append(charged.grant.request)
        return charged

    monkeypatch.setattr(Ledger, "_charge", noted)
    return made


def trouble(attempt: Callable[[], object], charges: list[str]) -> str | None:
    """Return a description of a failure after a charge, or of an error that names no argument; None if all is well."""
    before = len(charges)
    try:
        attempt()
    except Exception as error:
        paid = "PAID " if len(charges) > before else ""
        named = isinstance(error, dp.BudgetExceeded) or NAMED.fullmatch(str(error))
        return None if not paid and isinstance(error, REFUSALS) and named else f"{paid}{type(error).__name__}: {error}"
    return None


def shown(value: object) -> str:
    try:
        return f"{type(value).__name__} {value!r}"
    except Exception:
        return type(value).__name__


def answered(session: dp.Session, make: Callable[[], Any], asked: set[str]) -> None:
    """Ask a question and serialize its result, unless an equal question was asked before."""
    question = make()
    if shown(question) not in asked:
        session.ask(question, ONE).to_json()
        asked.add(shown(question))


def test_every_question_of_the_package_is_tried() -> None:
    assert set(VALID) == {name for name in dir(dp) if name.endswith("Question") and name != "Question"}


THINNED = {
    "AutoRangeSurvivalQuestion": 60, "AutoRangeScoresQuestion": 60, "WeightedSurvivalQuestion": 40,
    "SurvivalQuestion": 20, "AutoRangeCdfQuestion": 30, "AutoRangeQuantilesQuestion": 60,
    **dict.fromkeys((f"AutoRangeWeighted{word}Question" for word in ("Cdf", "Histogram", "Quantiles", "Summary")), 60),
}  # fmt: skip
"""Each argument is given one of so many odd values, twelve unless it is said, and the next argument those in between:
most are arguments of other questions, too. `make bench` gives each argument each value."""
STEPS = [
    *((name, THINNED.get(name, 12)) for name in VALID),
    *(pytest.param(name, 1, marks=pytest.mark.reproduction) for name in VALID),
]


@pytest.mark.quick_share(8, kinds=())
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_nothing_that_is_given_to_a_question_is_charged_and_then_fails(
    name: str, step: int, charges: list[str]
) -> None:
    make, session, asked = getattr(curves, name), opened(), set[str]()
    answered(session, partial(make, **VALID[name]), asked)
    each = [(field.name, value) for place, field in enumerate(fields(make)) for value in ODD[place % step :: step]]
    found = [
        f"{field}={shown(value)}: {wrong}"
        for field, value in each
        if (wrong := trouble(partial(answered, session, partial(make, **VALID[name] | {field: value}), asked), charges))
    ]
    assert not found, "\n".join(found)
    assert len(charges) == len(asked)


def declared(value: Any) -> list[Any]:
    """The value as a category, if it may be one."""
    try:
        return list(dp.Categories("t", (value,)).values)
    except REFUSALS:
        return []


def fits(column: str, value: object) -> bool:
    """Return True if the type of the column can hold the value; other values are refused before the charge."""
    try:
        opened().ask(dp.HistogramQuestion("x", SLOTS, dp.Categories(column, (value,))), ONE)  # type: ignore[arg-type]
    except ValueError as refusal:
        if not str(refusal).startswith("categories: "):
            raise
        return False
    return True


@pytest.mark.parametrize(("column", "place"), [("t", 0), ("l", 1), ("x", 0), ("y", 1)])
def test_whatever_may_be_declared_a_category_and_fits_the_column_is_counted(
    column: str, place: int, charges: list[str]
) -> None:
    known = {str(each): each for value in ODD[place::2] for each in declared(value) if not isinstance(each, bool)}
    by = dp.Categories(column, tuple({each: None for each in known.values() if fits(column, each)}))
    charges.clear()
    curve = opened().ask(dp.HistogramQuestion("x", SLOTS, by), ONE)
    assert len(curve) == by.slots > 5
    assert len(charges) == 1
    curve.to_json()


def test_nothing_that_is_given_to_ask_is_charged_and_then_fails(charges: list[str]) -> None:
    session, question = opened(), dp.CdfQuestion(**CELLS)
    asks: dict[str, Callable[[Any], Any]] = {
        "question": lambda value: session.ask(value, ONE),
        "loss": lambda value: session.ask(question, value),
        "request": lambda value: session.ask(question, ONE, value),
        "plan": lambda value: session.plan(value, value),
    }
    found = [
        f"{name}={shown(value)}: {wrong}"
        for name, ask in asks.items()
        for value in ODD
        if (wrong := trouble(partial(ask, value), charges))
    ]
    assert not found, "\n".join(found)


SETTINGS = (
    "table", "budget", "adjacency", "unit", "rows_per_unit", "units", "delimiter", "dataset", "ledger", "trust",
    "randomness",
)  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_that_is_given_to_a_session_is_charged_and_then_fails(
    name: str, charges: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "table.csv"
    file.write_text("x;y\n0.5;1\n")
    more: dict[str, dict[str, Any]] = {
        "unit": {"rows_per_unit": 1}, "rows_per_unit": {"unit": "t"}, "units": {"adjacency": dp.REPLACE_ONE},
        "delimiter": {"table": file},
    }  # fmt: skip

    def ask(value: Any) -> None:
        opened(**{**more.get(name, {}), name: value}).ask(dp.CdfQuestion(**CELLS), ONE)

    thin = 2 if name in ("dataset", "units", "delimiter", "rows_per_unit") else 1
    found = [
        f"{name}={shown(value)}: {wrong}" for value in ODD[::thin] if (wrong := trouble(partial(ask, value), charges))
    ]
    assert not found, "\n".join(found)


def test_a_trust_model_that_needs_more_than_a_curator_is_refused_before_anything_is_charged() -> None:
    with pytest.raises(dp.UnsupportedQuery, match=r"^trust: a session has one curator, .* task of two servers"):
        opened(trust=FunctionShares(), adjacency=dp.REPLACE_ONE)
    plans = dp.plan_question(
        dp.CdfQuestion("x", SLOTS, edges=(3,)), ONE,
        dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, 40), FunctionShares(),
    )  # fmt: skip
    assert len(plans) == 1
