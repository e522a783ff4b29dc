"""Forecasts for a typed share of rows that pass a filter: nothing is read from the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument

LOSS = dp.PrivacyLoss.pure(1)
GRID = dp.Grid(0, 1, cells=16)
QUESTIONS = (
    dp.HistogramQuestion("x / 2", GRID),
    dp.MeanQuestion("x", 0, 4),
    dp.BarChartQuestion(dp.Categories("a", ("u", "v", "w"))),
)


def forecast(question: Any, adjacency: Any, **facts: Any) -> Any:
    return dp.forecast(question, LOSS, adjacency, rehearsals=2, generator=np.random.default_rng(3), **facts)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_share_of_the_rows_is_as_uncertain_as_so_many_rows_alone(question: Any) -> None:
    """Without a public number of rows the same; with one, the rows that fail are missing: here at most 3 times off."""
    filtered = replace(question, where="z > 3 AND kind = 'k'")
    alone = forecast(question, dp.ADD_REMOVE, records=200)
    share = forecast(filtered, dp.ADD_REMOVE, records=2000, share_of_rows=0.1)
    assert share.expected_errors == alone.expected_errors
    assert "for 200 of 2,000 records" in share.describe()
    public = forecast(filtered, dp.REPLACE_ONE, records=2000, share_of_rows=0.1)
    assert (public.size, public.total) == (200, 2000)
    assert 0.9 * alone.low < public.high < 3 * forecast(question, dp.REPLACE_ONE, records=200).high


def test_the_filter_is_evaluated_on_public_records() -> None:
    """Errors are against the records that pass: the same as of these alone, and not of all."""
    draw = np.random.default_rng(5)
    table = {"x": draw.random(3000) ** 3, "z": draw.integers(0, 10, 3000).astype(float)}
    passing = {name: column[table["z"] > 7] for name, column in table.items()}
    question = dp.CdfQuestion("x * 2", dp.Grid(0, 2, cells=16))
    expected = forecast(dp.CdfQuestion("x * 2", dp.Grid(0, 2, cells=16)), dp.ADD_REMOVE, like=passing)
    filtered = forecast(replace(question, where="z > 7"), dp.ADD_REMOVE, like=table)
    assert filtered.expected_errors == expected.expected_errors
    assert (filtered.size, filtered.total) == (len(passing["x"]), 3000)
    assert forecast(replace(question, where="z > 7"), dp.REPLACE_ONE, like=table).high < 0.05
    with pytest.raises(InvalidArgument, match=r"^like: no public record passes the filter"):
        forecast(replace(question, where="z > 70"), dp.ADD_REMOVE, like=table)


def test_a_released_curve_counts_the_rows_that_pass() -> None:
    with dp.Session({"x": np.random.default_rng(1).random(500)}, budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        curve = session.ask(dp.HistogramQuestion("x", GRID), LOSS)
    question = dp.HistogramQuestion("x", GRID, where="z = 1")
    found = forecast(question, dp.REPLACE_ONE, like=curve, share_of_rows=0.25)
    assert found.total is not None
    assert found.total == pytest.approx(4 * found.size, abs=4)
    assert abs(found.size - 500) < 150


def test_a_share_is_typed_and_never_guessed() -> None:
    question = dp.CountQuestion(where="z = 1")
    for facts, rule in (
        ({"records": 9}, r"^share_of_rows: the question has a filter: give the share of the rows that you think"),
        ({"records": 9, "share_of_rows": 0}, r"^share_of_rows: must be above 0 and at most 1"),
        ({"records": 9, "share_of_rows": 1.5}, r"^share_of_rows: must be above 0 and at most 1"),
        (
            {"like": {"x": [1.0], "z": [1.0]}, "share_of_rows": 0.5},
            r"^share_of_rows: leave share_of_rows out: the filter is",
        ),
    ):
        with pytest.raises(InvalidArgument, match=rule):
            forecast(question, dp.ADD_REMOVE, **facts)
