"""Every question of the package keeps what questions promise, and a broken one is found."""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves import checks, curves
from dpcurves.checks import Failure, check_question
from dpcurves.conversation import WHOLE_BUDGET, CellWorkload, Needs, Setting, UnsupportedQuery, ask_workload
from dpcurves.data import Axis
from dpcurves.privacy import AddRemove

GENERATOR = np.random.default_rng(3)
COLUMNS = {
    "x": GENERATOR.beta(2, 3, 1000), "z": GENERATOR.normal(0, 1, 1000), "y": GENERATOR.integers(0, 2, 1000),
    "x by y": GENERATOR.integers(0, 32, 1000),
}  # fmt: skip
GRID = dp.Grid(0, 1, cells=8)
BY_NAME: dict[str, Any] = {
    "weight": "x by y", "weight_cap": 24,
    "column": "x", "grid": GRID, "label": "y", "score": "x", "probabilities": (0.5,), "unit": 1, "coverage": 0.9,
    "model": dp.PUBLIC_MODEL, "groups": 2, "bins": 2, "predicted": "x", "residual": "z", "unit_predicted": 1,
    "unit_residual": 1,
    "x_grid": GRID, "y_grid": dp.Grid(-3, 3, cells=8), "y": "z",
    "x": "x",
    "time": "x", "event": "y", "entry": "z", "last": "z", "first": "x", "causes": (1,), "times": dp.Grid(0, 1, cells=2),
    "second": "z", "scores": (), "errors": (), "quantiles": (), "treatment": "y", "observed": "z",
    "observed_grid": GRID, "features": (), "outcome": dp.Categories("y", (0, 1)), "coefficient": "x",
    "lower": 0, "upper": 1, "rows": dp.Categories("y", (0, 1)), "columns": dp.Categories("x by y", (1, 2, 3)),
}  # fmt: skip
"""What a field of this name is given, where it has no default."""
SPECIAL: dict[str, dict[str, Any]] = {
    **{f"{word}QuantilesQuestion": {"probabilities": (0.25, 0.5)} for word in ("", "Weighted", "AutoRangeWeighted")},
    "PlaneBoundsQuestion": {"x": dp.BoundsQuestion("x", 1, 0.9), "y": dp.BoundsQuestion("z", 1, 0.9)},
    "BoundsQuestion": {"column": "z"}, "ResidualPlotQuestion": {"cells": 4},
    "ModelPairQuestion": {"first": "x", "second": "z", "second_grid": dp.Grid(-3, 3, cells=8)},
    "IntervalCensoredQuestion": {"grid": dp.Grid(0, 1, cells=5)},
    "ModelComparisonQuestion": {"scores": ("x", "z", "y"), "grid": dp.Grid(-3, 3, cells=8)},
    "MulticlassQuestion": {"label": dp.Categories("x by y", (1, 2, 3)), "scores": ("x", "z", "y")},
    "OrdinalClassesQuestion": {"label": dp.Categories("x by y", (1, 2, 3))},
    "BarChartQuestion": {"by": dp.Categories("x by y", (1, 2, 3))},
    "UpliftQuestion": {"outcome": "y", "treatment": "x by y", "treated_value": 1, "control_value": 2},
    "QuantileForecastsQuestion": {"errors": ("z",), "quantiles": (0.5,), "grid": dp.Grid(-3, 3, cells=12)},
    "PredictedObservedQuestion": {"observed": "z", "observed_grid": dp.Grid(-3, 3, cells=12)},
    "PairwiseScorerQuestion": {"features": (dp.NumericColumn("x", 0, 1),)},
    "VerifyQuestion": {
        "columns": (dp.NumericColumn("x", 0, 1), dp.NumericColumn("z", -3, 3)), "above": -1000, "subsets": 5
    },
}  # fmt: skip


def is_needed(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def made(name: str) -> Any:
    """The question, from the names of its fields."""
    kind = getattr(curves, name)
    given = {field.name: BY_NAME.get(field.name) for field in fields(kind) if is_needed(field)}
    return kind(**given | SPECIAL.get(name, {}))


SLOW = (
    "AutoRangeSurvivalQuestion", "AutoRangeScoresQuestion", "HosmerLemeshowQuestion", "CalibrationQuestion",
    "AutoRangeCdfQuestion", "AutoRangeQuantilesQuestion", "AutoRangeVarianceQuestion", "AutoRangeSummaryQuestion",
    "AutoRangeSumQuestion", "RocQuestion", "WeightedSurvivalQuestion", "WeightedQuantilesQuestion",
    "WeightedSummaryQuestion", "AutoRangeHistogramQuestion", "QuantilesQuestion", "SumQuestion", "VarianceQuestion",
    "AutoRangeWeightedCdfQuestion", "AutoRangeWeightedQuantilesQuestion", "AutoRangeWeightedSummaryQuestion",
)  # fmt: skip
"""Questions that stand on others that are checked, and take as long; `make bench` checks these, too."""
NAMES = [
    pytest.param(name, marks=pytest.mark.reproduction) if name in SLOW else name
    for name in dp.__all__
    if name.endswith("Question") and name != "Question"
]


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("name", NAMES)
def test_every_question_keeps_what_questions_promise(name: str) -> None:
    central, *_ = check_question(made(name), COLUMNS)
    assert central.refusal is None


@dataclass(frozen=True)
class Wasteful:
    """Asks for half of its loss, and no more."""

    def steps(self, setting: Setting) -> Needs[object]:
        found = yield from ask_workload(CellWorkload((Axis("x", GRID),)), budget_fraction=WHOLE_BUDGET / 2)
        return found.counts


@dataclass(frozen=True)
class Fragile:
    """Fails where noise makes a count negative."""

    def steps(self, setting: Setting) -> Needs[object]:
        found = yield from ask_workload(CellWorkload((Axis("x", GRID),)), budget_fraction=WHOLE_BUDGET)
        if min(found.counts.values) < 0:
            raise ZeroDivisionError
        return (yield from dp.HistogramQuestion("x", GRID).steps(setting))


@dataclass(frozen=True)
class OfPublicSize:
    """A histogram that is answered only where the number of records is public."""

    def steps(self, setting: Setting) -> Needs[object]:
        if isinstance(setting.adjacency, AddRemove):
            raise UnsupportedQuery("adjacency", "the number of records must be public; use replace-one")
        return (yield from dp.HistogramQuestion("x", GRID).steps(setting))


@pytest.mark.parametrize(
    ("question", "results"), [(dp.HistogramQuestion("x", GRID), 2 * (4 + 1)), (OfPublicSize(), 4 + 1)], ids=str
)
def test_three_of_four_kinds_of_answers_and_one_answer_of_a_session_are_drawn_under_any_adjacency(
    monkeypatch: pytest.MonkeyPatch, question: Any, results: int
) -> None:
    drawn = list[bool]()
    monkeypatch.setattr(checks, "check_result", lambda result, *, draw=True: drawn.append(draw))
    check_question(question, COLUMNS)
    assert (len(drawn), sum(drawn)) == (results, 3 + 1)


def test_shares_that_do_not_add_up_are_found() -> None:
    with pytest.raises(
        ValueError, match="^question: budget fractions of a question must add up to 1; 1/2 of this question is left"
    ):
        check_question(Wasteful(), COLUMNS)


def test_a_question_that_noise_can_break_is_found() -> None:
    with pytest.raises((ZeroDivisionError, ValueError, Failure)):
        check_question(Fragile(), COLUMNS)
