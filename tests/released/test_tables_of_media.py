"""Thirteen kinds of results show the same numbers in Python, CSV, workbook, terminal, HTML and the server's facts.

Their pictures in a browser and the texts that replace these have the numbers of the description.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

import dpcurves as dp
from dpcurves import display
from dpcurves.cli.output import IntervalSettings
from dpcurves.cli.released import SavedResultView
from dpcurves.curves.result import result_from_json
from dpcurves.display import CellFormat
from dpcurves.display.layout import COLORBAR, STATEMENT

STORED = Path(__file__).parent / "0.1.0" / "curves.jsonl"
RECORDS = 3000
LOSS = dp.PrivacyLoss.pure(2)
WARDS, SEXES = dp.Categories("ward", ("north", "south")), dp.Categories("sex", ("F", "M"))
GRID, MONTHS, SCORES = dp.Grid(0, 100, cells=50), dp.Grid(0, 60, cells=30), dp.Grid(0, 1, cells=20)
QUESTIONS: dict[str, Any] = {
    "cdf": dp.CdfQuestion("age", GRID, measured_in="years"),
    "cdf by ward": dp.CdfQuestion("age", GRID, by=WARDS),
    "quantiles": dp.QuantilesQuestion("age", GRID, (0.25, 0.5)),
    "histogram": dp.HistogramQuestion("age", GRID),
    "survival": dp.SurvivalQuestion("months", "died", MONTHS, measured_in="months"),
    "survival by ward": dp.SurvivalQuestion("months", "died", MONTHS, by=WARDS, measured_in="months"),
    "competing risks": dp.CompetingRisksQuestion("months", "cause", MONTHS, (1, 2), censored_value=0),
    "roc": dp.RocQuestion("died", "score", SCORES),
    "scores": dp.ScoresQuestion("died", "score", SCORES),
    "contingency": dp.ContingencyQuestion(WARDS, SEXES),
    "summary by ward": dp.SummaryQuestion("age", 0, 100, by=WARDS),
    "calibration": dp.CalibrationQuestion("died", "score", groups=4),
}
KINDS = (*QUESTIONS, "survival numbers")
"""Questions, and numbers that are read off an answer and have a logarithmic axis of ratios."""
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    draw = np.random.default_rng(3)
    cause = draw.integers(0, 3, RECORDS)
    table = {
        "age": draw.gamma(9, 5, RECORDS).clip(0, 99), "months": draw.exponential(30, RECORDS).clip(0, 59),
        "score": draw.random(RECORDS), "cause": cause, "died": (cause > 0).astype(int),
        "ward": np.array(WARDS.values)[draw.integers(0, 2, RECORDS)],
        "sex": np.array(SEXES.values)[draw.integers(0, 2, RECORDS)],
    }  # fmt: skip
    answers = {}
    for name, question in QUESTIONS.items():
        budget: dict[str, Any] = {"budget": LOSS, "adjacency": dp.ADD_REMOVE, "randomness": dp.Randomness.from_seed(1)}
        with dp.Session(table, **budget) as session:
            answers[name] = session.ask(question, LOSS)
    answers["survival numbers"] = dp.survival_numbers(answers["survival by ward"], until=48, times=(24,))
    return answers


def read_sheets(book: bytes) -> list[list[list[Any]]]:
    """Rows of each sheet: texts, and numbers with the format that shows them."""
    with zipfile.ZipFile(BytesIO(book)) as files:
        strings = ["".join(part.itertext()) for part in ElementTree.fromstring(files.read("xl/sharedStrings.xml"))]
        styles = ElementTree.fromstring(files.read("xl/styles.xml"))
        codes = {code.get("numFmtId"): code.get("formatCode") for code in styles.iter(f"{SHEET}numFmt")}
        builtin = {"1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "9": "0%", "10": "0.00%", "49": "@"}
        used = [xf.get("numFmtId", "0") for xf in next(styles.iter(f"{SHEET}cellXfs"))]
        formats = [codes.get(number) or builtin.get(number, "General") for number in used]
        sheets = []
        for name in ("sheet1", "sheet2"):
            rows = []
            for row in ElementTree.fromstring(files.read(f"xl/worksheets/{name}.xml")).iter(f"{SHEET}row"):
                cells = [(cell, cell.find(f"{SHEET}v")) for cell in row]
                rows.append(
                    [
                        strings[int(value.text or 0)]
                        if cell.get("t") == "s"
                        else (float(value.text or "nan"), formats[int(cell.get("s", 0))])
                        for cell, value in cells
                        if value is not None
                    ]
                )
            sheets.append(rows)
    return sheets


def numbers_in(text: str) -> Iterator[tuple[float, float]]:
    """Numbers in a shown text, and the size of a unit of their last digit."""
    for sign, digits, percent in re.findall(r"(-?)(\d[\d,]*(?:\.\d+)?)(%?)", text):
        decimals = len(digits.partition(".")[2])
        scale = 0.01 if percent or ("%" in text and "to" in text) else 1.0
        yield float(f"{sign}{digits.replace(',', '')}") * scale, scale * 10.0**-decimals


def require_shown(shown: list[str], exact: list[Any], where: str) -> None:
    """Each exact number is in the text of its cell, up to one unit of the last digit that is shown."""
    for text, values in zip(shown, exact, strict=True):
        numbers = list(numbers_in(text))
        known = [value for value in values if isinstance(value, float) and np.isfinite(value)]
        if len(known) < len(values):  # texts, and intervals without an end
            continue
        if len(set(known)) == 1 < len(known):  # an interval whose ends are equal is shown as one number
            known = known[:1]
        assert len(numbers) == len(known), (where, text, values)
        for (number, unit), value in zip(numbers, known, strict=True):
            assert abs(number - value) <= unit * (1 + 1e-9), (where, text, value)


def exact_columns(table: display.ResultTable) -> dict[str, list[tuple[Any, ...]]]:
    """The exact values of each shown column: one number, or both ends of an interval."""
    columns: dict[str, list[tuple[Any, ...]]] = {}
    for column in table.columns:
        cells = [(value,) for value in column.values.tolist()]
        before = columns.get(column.title)
        columns[column.title] = cells if before is None else [a + b for a, b in zip(before, cells, strict=True)]
    return columns


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("kind", KINDS)
def test_all_media_show_the_same_numbers(results: dict[str, Any], kind: str) -> None:
    result = results[kind]
    table, columns = result.describe_table(), result.columns_with_intervals()
    # Python and CSV: the same numbers to the last digit, in columns of stable names
    for column in table.columns:
        assert column.is_numeric is (columns[column.name].dtype.kind in "fiu")
        if column.is_numeric:
            assert np.array_equal(column.values, columns[column.name], equal_nan=True)
    head, *rows = csv.reader(StringIO(result.to_csv_text(), newline=""))
    assert head == list(columns)
    for name, cells in zip(head, zip(*rows, strict=True), strict=True):
        if columns[name].dtype.kind in "fiu":
            written = np.array([float(cell or "nan") for cell in cells])
            assert np.array_equal(written, columns[name].astype(float), equal_nan=True)
    # workbook: the same numbers, in formats of an office
    first, sheet = read_sheets(result.to_workbook(display.headless_axes((1, 1))))
    headings, *cells_by_row = sheet
    assert headings == [column.heading for column in table.columns]
    assert len(cells_by_row) == table.rows
    values = {
        name: [row[place] for row in cells_by_row if len(row) == len(headings)] for place, name in enumerate(headings)
    }
    for column in table.columns:
        numbers = [cell for cell in values[column.heading] if isinstance(cell, tuple)]
        assert all(re.fullmatch(r"#,##0(\.0+)?|0(\.0+)?%|0\.000E\+00", code) for _, code in numbers)
        finite = column.values[np.isfinite(column.values)] if column.is_numeric else []
        if column.is_numeric and len(values[column.heading]) == table.rows and len(finite) == table.rows:
            assert [number for number, _ in numbers] == pytest.approx(column.values.tolist(), rel=1e-14)
    assert first[0] == [result._title()]
    assert any("epsilon 2, add-remove" in str(row) for row in first)
    # terminal
    (*main, view) = SavedResultView(IntervalSettings(0.95, True)).tables(result)
    shown_table = table.select_rows(400 if table.has_labels else 40)
    exact = exact_columns(shown_table)
    assert list(view.columns) == list(exact)
    for title, texts in view.columns.items():
        require_shown([str(text) for text in np.asarray(texts).tolist()], exact[title], f"{kind}, terminal, {title}")
    # HTML and the facts that the server shows
    tables, facts = result.report_tables(), result.summary_facts()["tables"]
    page = result.render_html("<svg></svg>")

    def read_cell(cell: str) -> str:
        return re.sub(r"<[^>]*>", "", unescape(cell))

    drawn = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", body, re.DOTALL) for body in
             re.findall(r'<table class="numbers">(.*?)</table>', page, re.DOTALL)]  # fmt: skip
    assert len(drawn) == len(tables) == len(facts)
    for described, page_cells, fact in zip(tables, drawn, facts, strict=True):
        exact, width = exact_columns(described), len(described.text_columns())
        assert fact["heads"] == list(exact) == [read_cell(cell) for cell in page_cells[:width]]
        in_html = [
            [re.sub(r"<[^>]*>", "", unescape(cell)) for cell in page_cells[place::width][1:]] for place in range(width)
        ]
        for (title, exact_cells), cell_texts, shown in zip(
            exact.items(), in_html, zip(*fact["rows"], strict=True), strict=True
        ):
            assert cell_texts == list(shown)
            require_shown(cell_texts, exact_cells, f"{kind}, page, {title}")
    assert len(main) == sum(bool(described.title) and not described.is_detail for described in tables)


def read_panels(svg: str) -> list[list[tuple[float, float]]]:
    """Points of the paths and markers of each panel of an SVG, in its pixels; the first are the panel's corners."""
    root = ElementTree.fromstring(svg)
    shapes = {path.get("id"): path.get("d", "") for path in root.iter("path") if path.get("id")}
    panels = []
    for group in root.iter("g"):
        if not re.fullmatch(r"\S+-axes_\d+", group.get("id", "")):
            continue
        points: list[tuple[float, float]] = []
        for element in group.iter():
            x, y = float(element.get("x", 0)), float(element.get("y", 0))
            outline = element.get("d", "") or shapes.get(element.get("href", "#")[1:], "")
            points += [(x, y)] * (element.tag == "use")  # of a marker, which is drawn around the point
            points += [(x + float(a), y + float(b)) for a, b in re.findall(r"[ML] (\S+) (\S+)", outline)]
        panels.append(points)
    return panels


def list_described_points(mark: Any) -> Any:
    """Points of a mark of a description, (points, 2)."""
    rows = {name: np.array(values, dtype=float) for name, values in mark.columns.items()}
    ends = [("x", "lower"), ("x", "upper")] if mark.type == "region" else [("x", "y")]
    ends = ends[1:] if mark.type == "region" and len(set(mark.columns["lower"])) == 1 else ends  # not at each step
    ends += [("x_end", "y_end")] if "x_end" in rows else []
    points = np.concatenate([np.column_stack([rows[x], rows[y]]) for x, y in ends])
    return points[np.isfinite(points).all(axis=1)]


def locate(axis: Any, numbers: Any) -> Any:
    """The positions of numbers along an axis, as shares of its length."""
    place = np.log if axis.scale == "log" else np.asarray
    lower, upper = place(axis.limits)
    return (place(numbers) - lower) / (upper - lower)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_draws_and_a_text_says_the_numbers_of_the_description(results: dict[str, Any], kind: str) -> None:
    axes = display.set_title(results[kind].plot_headless(), results[kind]._title())
    picture = display.describe_picture(axes)
    with mpl.rc_context({"path.simplify": False}):
        svg = display.svg_text(axes)
    shown = [ax.axison and ax.get_label() not in (COLORBAR, STATEMENT) for ax in axes.figure.axes]
    drawn = [points for points, is_panel in zip(read_panels(svg), shown, strict=True) if is_panel]
    pairs, described = [], 0
    for panel, points in zip(picture.panels, drawn, strict=True):
        corners = np.array(points[:4])
        left, right, top, bottom = *np.sort(corners[:, 0])[[0, -1]], *np.sort(corners[:, 1])[[0, -1]]
        for mark in panel.marks:
            if mark.type in ("texts", "cells"):  # cells are an image
                continue
            numbers = list_described_points(mark)
            lowest, highest = np.sort([panel.x.limits, panel.y.limits]).T
            inside = numbers[((numbers >= lowest) & (numbers <= highest)).all(axis=1)]
            x = left + locate(panel.x, inside[:, 0]) * (right - left)
            y = bottom - locate(panel.y, inside[:, 1]) * (bottom - top)
            distances = np.abs(np.array(points)[None] - np.column_stack([x, y])[:, None]).max(axis=2).min(axis=1)
            assert distances.max(initial=0.0) < 1e-3, (mark.type, mark.name)  # pixels
            described += len(inside)
            pairs.append(numbers)
    assert described >= 10 or kind == "contingency"
    # the text says points of the marks, to its last digit
    text = unescape(re.match(r'<svg role="img" aria-label="([^"]*)"', svg)[1])  # type: ignore[index]
    assert text == picture.to_text() == display.read_alternative_text(svg)
    assert text.startswith(f"{results[kind]._title().rstrip('.')}.") or kind == "contingency"
    said = re.findall(r"(?<![\w.])(-?[\d.,]+)(?: to (-?[\d.,]+))? at (-?[\d.,]*\d)(?=[;.]|$)", text)
    assert len(said) > 5 or kind in ("contingency", "scores", "summary by ward", "survival numbers")
    every = np.concatenate(pairs) if pairs else np.zeros((0, 2))
    for low, high, place in said:
        ((at, step),) = numbers_in(place)
        for (number, unit), *_ in (list(numbers_in(end)) for end in (low, high) if end):
            near = np.abs(every - [at, number]) <= [step, unit]
            flat = np.abs(every - [number, at]) <= [unit, step]
            assert (near.all(axis=1) | flat.all(axis=1)).any(), (kind, low, high, place)


@pytest.mark.reproduction
def test_no_table_of_any_kind_shows_a_negative_number_of_records_or_share() -> None:
    """Unbiased counts of few records are negative by noise; what is shown has the bounds of its interval."""
    for document in STORED.read_text().splitlines():
        result = result_from_json(document)
        for table in (result.describe_table(), *result.report_tables()):
            for column in table.columns:
                numbers = np.asarray(column.values)
                if numbers.dtype.kind == "f" and column.cell_format in (CellFormat.COUNT, CellFormat.SHARE):
                    assert not (numbers < 0).any(), (result.KIND, column.name)


def test_the_picture_of_a_workbook_has_its_text(results: dict[str, Any]) -> None:
    axes = results["quantiles"].plot_headless()
    with zipfile.ZipFile(BytesIO(results["quantiles"].to_workbook(axes))) as files:
        drawing = unescape(files.read("xl/drawings/drawing1.xml").decode())
    assert f'descr="{display.describe_picture(axes).to_text()}"' in drawing


def test_results_by_group_list_their_numbers_by_group(results: dict[str, Any]) -> None:
    survival = results["survival by ward"]
    assert survival._title() == "Survival over months by ward"
    (groups, curves) = survival.report_tables()
    assert curves.is_detail
    assert list(groups.text_columns()) == [
        "ward", "records", "median of months", "95% interval for these records",
        "95% interval for the population",
    ]  # fmt: skip
    medians = [curve.median for curve in survival.values()]
    assert [float(text) for text in groups.text_columns()["median of months"]] == medians
    assert "categories" not in dict(survival.summary_facts()["summary"])
    first, _ = read_sheets(survival.to_workbook(display.headless_axes((1, 1))))
    assert [row[:1] for row in first if row and row[0] in WARDS.values] == [["north"], ["south"]]


def test_the_table_by_group_has_the_key_numbers_of_each_group(results: dict[str, Any]) -> None:
    for name in ("cdf by ward", "survival by ward", "summary by ward"):
        groups = results[name].describe_groups(population=False)
        shown = {column.name: column.values.tolist() for column in groups.columns}
        for row, member in enumerate(results[name].values()):
            numbers = member.key_columns(0.95, population=False)
            assert numbers.keys() <= shown.keys()
            assert [shown[column][row] for column in numbers] == list(numbers.values())


def test_a_forecast_prints_as_a_sentence_and_shows_as_a_card() -> None:
    forecast = dp.forecast(
        dp.MeanQuestion("x", 0, 100), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, records=300, rehearsals=2
    )
    sentence = forecast.describe()
    assert sentence.startswith("95% interval of the mean: about plus or minus ")
    assert sentence.endswith("for 300 records")
    assert repr(forecast) == f"Forecast({sentence})"
    assert len(repr(forecast)) < 200
    assert forecast._repr_html_().count("<tr>") == 1 + len(forecast.expected_errors)


def test_a_two_way_table_is_a_cross_table_with_sums(results: dict[str, Any]) -> None:
    table = results["contingency"]
    cross_table = table.report_tables()[0].text_columns()
    assert list(cross_table) == ["ward", "F", "M", "total"]
    assert cross_table["F"][:2] == [f"{count:,.0f}" for count in table.count[:, 0]]
    assert cross_table["total"][-1] == f"{table.count.sum():,.0f}"


def test_workbooks_print_one_page_wide(results: dict[str, Any]) -> None:
    with zipfile.ZipFile(BytesIO(results["survival by ward"].to_workbook(display.headless_axes((1, 1))))) as book:
        page, numbers = (book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2))
    assert 'fitToPage="1"' in page
    assert 'fitToHeight="0"' not in page  # one page
    assert 'fitToPage="1"' in numbers
    assert 'fitToHeight="0"' in numbers
    assert 'orientation="landscape"' in numbers
