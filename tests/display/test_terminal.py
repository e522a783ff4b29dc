"""Curves and accounts as tables of the command line."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console, RenderableType

from dpcurves.display import (
    BalanceReport,
    Bound,
    CellFormat,
    ChargeRow,
    IntervalEnds,
    build_table,
    curve_table,
    describe_columns,
    ledger_table,
)
from dpcurves.display.result_tables import select_row_indices


def printed(table: RenderableType, width: int = 120) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("│")]


def test_short_curves_are_shown_whole() -> None:
    text = printed(curve_table({"x": [0.0, 1.5], "y": [0.25, 1.0]}))
    assert [line.split("│")[1:3] for line in body(text)] == [[" 0.0 ", " 0.25 "], [" 1.5 ", " 1.00 "]]
    assert "rows are shown" not in text


def test_columns_of_two_numbers_are_intervals() -> None:
    text = printed(curve_table({"x": [1, 2], "records": np.array([[12.0, 30.0], [0.5, float("inf")]])}))
    assert [line.split("│")[2].strip() for line in body(text)] == ["12 to 30", "0.5 or more"]


@pytest.mark.parametrize(
    ("heading", "axis", "most", "rows"),
    [
        ("x", np.arange(1001), 5, ["0", "200", "400", "600", "800", "1,000"]),
        ("age (years)", np.arange(0, 121.0), 40, [str(age) for age in range(0, 121, 5)]),
        ("time (months)", np.arange(0, 97.0), 40, [str(month) for month in range(0, 97, 3)]),
        ("time (days)", np.arange(0, 400.0), 16, [str(day) for day in range(0, 400, 28)] + ["399"]),
        ("threshold", np.linspace(1, 0, 1001), 12, [f"{step / 10:.1f}" for step in range(10, -1, -1)]),
        ("age", np.linspace(3, 97, 55), 40, None),  # no row is at a round number
    ],
)
def test_long_curves_are_shown_at_round_steps(heading: str, axis: Any, most: int, rows: list[str] | None) -> None:
    text = printed(curve_table({heading: axis, "y": np.arange(len(axis)) / 1000}, most=most))
    shown = [line.split("│")[1].strip() for line in body(text)]
    assert rows is None or shown == rows
    assert shown[0].startswith(f"{axis[0]:g}")
    assert len(shown) <= most + 2
    assert f"{len(shown)} of {len(axis):,} rows are shown" in text


def test_up_to_40_rows_are_all_shown_and_groups_have_the_same_steps() -> None:
    assert len(body(printed(curve_table({"x": np.arange(25.0) * 5})))) == 25
    labels, months = np.repeat(["a", "b"], 61), np.tile(np.arange(61.0), 2)
    shown = body(printed(curve_table({"ward": labels, "time (months)": months})))
    assert [line.split("│")[2].strip() for line in shown] == [str(month) for month in range(0, 61, 3)] * 2


def test_numbers_are_written_as_people_write_them() -> None:
    text = printed(curve_table({"x": [200000.0, 1e6], "n": [62186.2, 3.98], "at": ["above 5", "6"]}))
    assert [[cell.strip() for cell in line.split("│")[1:4]] for line in body(text)] == [
        ["200,000", "62,186", "above 5"],
        ["1,000,000", "4", "6"],
    ]


def test_no_rows_and_no_columns_are_no_error() -> None:
    assert body(printed(curve_table({"x": []}))) == body(printed(curve_table({}))) == []


def test_fewer_than_two_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^most: at least 2 rows are needed, as in 20, got 1$"):
        curve_table({"x": [1.0]}, most=1)


def test_names_are_neither_markup_nor_control_sequences() -> None:
    text = printed(curve_table({"[red]x[/]": [1.0], "\x1b[31my": [1.0]}))
    assert "[red]x[/]" in text
    assert "\x1b" not in text


def test_an_account_shows_charges_and_what_is_left() -> None:
    charges = [ChargeRow("cdf of [bold]delay", "epsilon 1", "f" * 32, "monday")]
    text = printed(ledger_table(BalanceReport("flights", "epsilon 2", "epsilon 1", "epsilon 0.75", charges)))
    for word in (
        "flights",
        "cdf of [bold]delay",
        "epsilon 1",
        "f" * 32,
        "monday",
        "spent of epsilon 2",
        "epsilon 0.75",
    ):
        assert word in text


def test_a_request_is_shown_whole_on_a_narrow_terminal() -> None:
    charges = [ChargeRow("cdf", "epsilon 1", "0123456789abcdef" * 2, "monday")]
    text = printed(ledger_table(BalanceReport("flights", "epsilon 2", "epsilon 1", "epsilon 1", charges)), width=60)
    assert "".join(line.split("│")[3].strip() for line in body(text)).startswith("0123456789abcdef" * 2)


def test_numbers_known_exactly_are_printed_once_and_long_headings_whole() -> None:
    ends = {"lower": IntervalEnds("y", Bound.LOWER, "95% band"), "upper": IntervalEnds("y", Bound.UPPER, "95% band")}
    columns = {"x": [0.0, 1.0], "y": [0.5, 1.0], "lower": [0.4, 1.0], "upper": [0.6, 1.0]}
    words = describe_columns(x="x", y=("share", CellFormat.SHARE))
    table = build_table({name: np.array(column) for name, column in columns.items()}, words, ends=ends)
    assert table.text_columns()["95% band"] == ["40.0 to 60.0%", "100.0%"]
    heading = "false positive rate of the positive class: 95% simultaneous intervals for these records"
    lines = [line.split("┃")[1].strip() for line in printed(curve_table({heading: [1.0]})).splitlines() if "┃" in line]
    assert " ".join(lines) == heading


@pytest.mark.parametrize(("width", "step"), [(2.0, 10), (4.0, 20), (0.5, 5), (1.0, 2), (10.0, 20)])
def test_rows_that_are_shown_of_equal_cells_have_equal_steps(width: float, step: float) -> None:
    edges = width * np.arange(300 if width < 1 else 80)
    shown = edges[select_row_indices({"age, from": edges}, 40)]
    assert set(np.diff(shown)[:-1]) == {step}  # the last row is shown, too


COVERAGE: dict[str, Any] = {
    "scores, from": [0.0, 0.5],
    "mean predicted probability": [0.25, 0.75],
    "share of positives": [0.5, 0.5],
    "95% individual interval for these records": np.array([[0.25, 0.75], [0.25, 0.75]]),
    "95% individual interval for the population": np.array([[0.125, 0.875], [0.125, 0.875]]),
    "records": [1000.0, 2000.0],
    "incomprehensibilities": [1.0, 2.0],
}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160])
def test_no_word_is_broken_and_no_column_lost_however_narrow_the_terminal(width: int) -> None:
    text = printed(curve_table(COVERAGE), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.replace("┃", " ").replace("│", " ").split()}
    assert {word for heading in COVERAGE for word in heading.split()} <= words
    assert {"1,000", "2,000", "0.25", "0.75"} <= words


def test_a_table_that_goes_on_below_begins_with_what_tells_its_rows_apart() -> None:
    causes: dict[str, Any] = {"cause": ["a", "a", "b", "b"], "month": [1, 2, 1, 2]}
    numbers = {f"{name} number": [1.5] * 4 for name in "stuvwx"}
    lines = printed(curve_table({**causes, **numbers}), 44).splitlines()
    starts = [tuple(cell.strip() for cell in line.split("│")[1:3]) for line in lines if line.startswith("│")]
    assert starts == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")] * 2
