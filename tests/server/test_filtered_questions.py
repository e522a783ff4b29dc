"""A filter and an expression read declared columns alone, as all columns of a question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves_server.planner import require_declared as refuse_undeclared

DATASET: Any = SimpleNamespace(
    name="visits", columns=(dp.NumericColumn("age", 0, 100), dp.Categories("sex", ("F", "M")))
)


def require_declared(question: Any) -> None:
    plans = dp.plan_question(question, dp.PrivacyLoss.pure(1), dp.ADD_REMOVE.to_adjacency(dp.EACH_RECORD, None))
    refuse_undeclared(plans, DATASET.name, DATASET.columns)


def test_declared_columns_are_read_in_filters_and_expressions() -> None:
    grid = dp.Grid(0, 50, cells=5)
    require_declared(dp.HistogramQuestion("age / 2", grid, where="sex = 'F' OR age > 30"))
    require_declared(dp.CountQuestion(by=dp.Categories("sex", ("F",)), where="age > 30"))
    for question in (
        dp.HistogramQuestion("age", grid, where="name = 'x'"),
        dp.HistogramQuestion("age / income", grid),
        dp.CountQuestion(where="income > 3"),
        dp.MeanQuestion("age", 0, 100, where="lower(name) = 'x'"),
    ):
        with pytest.raises(InvalidArgument, match="declares no column '(name|income)'"):
            require_declared(question)
