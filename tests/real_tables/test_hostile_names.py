"""Whatever columns and categories are called, each is in every table, file, page and picture of every kind of result.

Each kind of result is made once, of a table whose columns and labels have names that stand for themselves. Its JSON,
with other words in their places, is read again, and every output is compared with that of the plain names.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from inspect import isabstract
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves import display
from dpcurves.cli.app import build
from dpcurves.cli.output import IntervalSettings, ViewTable
from dpcurves.cli.released import SavedResultView
from dpcurves.cli.terminal import make_console
from dpcurves.curves.result import ReleasedResult, result_from_json
from dpcurves.extensions import load_results
from dpcurves.publication import assign_file_names, publish

NAMES = (
    "value", "Lower", "UPPER_population", "count", "x", "Y", "share", "group", "label", "data", "result", "number",
    "from_rank", "table", "released", "", " ", "a\nb", "a\rb", "\t=1", "\x1b[31mred", "x" * 300, "x" * 299 + "y",
    "=1+1", "+7", "-1", "@SUM(1)", "'=1", "'quoted'", 'dou"ble', "a,b;c", "<b>bold</b>",
    "</text><script>alert(1)</script>", "$\\frac{$", "_hidden {0} %s \\n", "n\u0303", "\u00f1", "\U0001f600",
    "\u202eabc\u200b", "[red]x[/] &amp; NULL",
)  # fmt: skip
COLUMNS, LABELS = ("COLUMNONE", "COLUMNTWO"), ("LABELONE", "LABELTWO", "LABELTHREE")
STANDING = re.compile("|".join((*COLUMNS, *LABELS)))
RECORDS = 600
LOSS = dp.PrivacyLoss.pure(100)
GRID, WIDE = dp.Grid(0, 1, cells=4), dp.Grid(-3, 3, cells=2)
BY, OTHER = dp.Categories(COLUMNS[0], LABELS), dp.Categories("w", (0, 1, 2))
DRAWN = pytest.mark.filterwarnings("ignore:Glyph")  # a font has not all letters
CUSTOM = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


# Results of all kinds, and what they are called.


def made_table() -> dict[str, Any]:
    draw, places = np.random.default_rng(1), np.arange(RECORDS)
    numbers = {COLUMNS[1]: draw.beta(2, 5, RECORDS), "r": draw.normal(0, 1, RECORDS)}
    return {**numbers, "y": draw.integers(0, 2, RECORDS), "w": places % 3, BY.column: np.array(LABELS)[places % 3]}


def questions() -> Iterator[Any]:
    """A question of each kind; where one takes categories, by a column of labels, too."""
    x: str = COLUMNS[1]
    models: dict[str, Any] = {"model": dp.PUBLIC_MODEL}
    yield from (dp.CdfQuestion(x, GRID), dp.CdfQuestion(x, GRID, by=BY), dp.QuantilesQuestion(x, GRID, (0.25, 0.5)))
    yield from (dp.HistogramQuestion(x, GRID, by=(BY, OTHER)), dp.Histogram2DQuestion(x, "r", GRID, WIDE))
    yield from (dp.HistogramQuestion(x, GRID), dp.RocQuestion("y", x, GRID), dp.SmoothAucQuestion("y", x))
    yield from (dp.ScoresQuestion("y", x, GRID), dp.ScoresQuestion("y", x, GRID, by=BY))
    yield from (dp.CalibrationQuestion("y", x, groups=2), dp.HosmerLemeshowQuestion("y", x, groups=2))
    yield from (
        dp.BinnedResidualsQuestion("y", x, **models),
        dp.ResidualPlotQuestion(x, "r", 0.25, 0.25, "0.9", **models),
    )
    yield from (dp.ContingencyQuestion(BY, OTHER), dp.ModelPairQuestion("y", x, "r", GRID, WIDE, cells=4))
    yield from (dp.ModelComparisonQuestion("y", (x, "r", "w"), WIDE, cells=4),)
    yield from (dp.MulticlassQuestion(BY, (x, "r", "y")), dp.OrdinalClassesQuestion(BY, x))
    yield from (dp.UpliftQuestion("y", "w", x, GRID), dp.QuantileForecastsQuestion((x,), (0.5,), GRID))
    yield from (dp.PredictedObservedQuestion(x, "r", GRID, WIDE),)
    yield from (dp.PairwiseScorerQuestion("y", (dp.NumericColumn(x, 0, 1), dp.NumericColumn("r", -2, 2))),)
    yield from (dp.SurvivalQuestion(x, "y", GRID), dp.SurvivalQuestion(x, "y", GRID, by=BY))
    yield from (dp.WeightedCdfQuestion(x, GRID, "w", 2), dp.WeightedQuantilesQuestion(x, GRID, (0.5,), "w", 2))
    yield from (dp.WeightedSummaryQuestion("r", -2, 2, "w", 2), dp.WeightedSurvivalQuestion(x, "y", GRID, "w", 2))
    yield from (dp.WeightedSummaryQuestion("r", -2, 2, "w", 2, by=BY),)
    yield from (dp.CompetingRisksQuestion(x, BY.column, GRID, LABELS[1:], censored_value=LABELS[0]),)
    yield from (dp.DelayedEntryQuestion("r", x, "y", GRID), dp.IntervalCensoredQuestion("r", x, GRID))
    yield from (dp.SurvivalModelQuestion(x, "r", "y", dp.Grid(0, 1, cells=2), GRID, groups=2),)
    yield from (dp.SummaryQuestion(x, 0, 1), dp.SummaryQuestion(x, 0, 1, by=BY), dp.CountQuestion("r"))
    yield from (dp.CountQuestion("r", by=BY), dp.BarChartQuestion(BY), dp.BoundsQuestion(x, 0.25, "0.9"))
    yield from (dp.PlaneBoundsQuestion(dp.BoundsQuestion(x, 0.25, "0.9"), dp.BoundsQuestion("r", 0.25, "0.9")),)
    yield from (dp.VerifyQuestion(dp.Categories("y", (0, 1)), (dp.NumericColumn(x, 0, 1),), x, above=-1e6, subsets=20),)


@cache
def results() -> dict[str, Any]:
    """Results of all kinds by names of their own: those of questions, and those that are read from others."""
    found: dict[str, Any] = {}
    for question in questions():
        budget: dict[str, Any] = {"budget": LOSS, "adjacency": dp.ADD_REMOVE, "randomness": dp.Randomness.from_seed(1)}
        with dp.Session(made_table(), **budget) as session:
            by = getattr(question, "by", None)
            found[f"{type(question).__name__}{' by' if by else ''}"] = session.ask(question, LOSS)
    cdf, curves, scores = (found[name] for name in ("CdfQuestion", "CdfQuestion by", "ScoresQuestion"))
    counts, groups = found["CountQuestion by"], found["ScoresQuestion by"]
    readings = "precision_recall", "cumulative_gain", "decision_curve", "calibration"
    found |= {name: getattr(scores, name)() for name in readings}
    found |= {"confusion": scores.confusion(0.5), "bins": cdf.histogram(2), "ranking": dp.ranking(counts)}
    found["weighted bins"] = found["WeightedCdfQuestion"].histogram(2)
    found["quantiles against"] = curves[LABELS[0]].quantile_quantile(curves[LABELS[1]], [0.25, 0.5])
    found["drift"] = dp.drift(cdf, {LABELS[0]: cdf, LABELS[1]: cdf})
    found["consistent"] = dp.make_consistent({"parts": counts, LABELS[0]: found["CountQuestion"]})
    found |= {"group rates": dp.group_rates(groups), "group curves": dp.group_curves(groups)}
    found["numbers"] = dp.survival_numbers(found["SurvivalQuestion by"], times=[0.5])
    found["hazard"] = dp.CumulativeHazard(found["SurvivalQuestion"])
    return found


def all_kinds() -> set[type[Any]]:
    """Every class of results that is written as a document, of all packages."""
    load_results("curves")
    pending, kinds = [ReleasedResult], set[type[Any]]()
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if not isabstract(kind) and getattr(kind, "KIND", None) is not None and kind.__module__.startswith("dpcurves"):
            kinds.add(kind)
    return kinds


def words_at(place: int) -> dict[str, str]:
    """Names in the place of the standing ones: a column and a label share each of them."""
    columns = NAMES[place], NAMES[(7 * place + 3) % len(NAMES)]
    labels = (NAMES[(place + step) % len(NAMES)] for step in range(3))
    return dict(zip((*COLUMNS, *LABELS), (*columns, *labels), strict=True))


def put_words(text: str, words: Mapping[str, str]) -> str:
    return STANDING.sub(lambda match: words[match[0]], text)


def renamed(result: Any, words: Mapping[str, str]) -> Any:
    """The result with these names, by way of its JSON."""

    def put(stored: Any) -> Any:
        if isinstance(stored, dict):
            return {put(name): put(value) for name, value in stored.items()}
        if isinstance(stored, list):
            return [put(each) for each in stored]
        return put_words(stored, words) if isinstance(stored, str) else stored

    text = json.dumps(put(json.loads(result.to_json())))
    found = result_from_json(text)
    assert type(found) is type(result)
    assert json.loads(found.to_json()) == json.loads(text)
    return found


def require_same_columns(found: Mapping[str, Any], plain: Mapping[str, Any], words: Mapping[str, str]) -> None:
    """Hold a table to that of the plain names: a name may be changed by the rule alone, and no cell is."""
    assert len(found) == len(plain)
    assert len({name.casefold() for name in found}) == len(found)
    for (name, column), (before, cells) in zip(found.items(), plain.items(), strict=True):
        wanted = put_words(before, words)
        assert name == wanted or (wanted != before and re.fullmatch(r"_category(_\d+)?", name.removeprefix(wanted)))
        known, expected = np.asarray(column).tolist(), np.asarray(cells).tolist()
        if any(isinstance(each, str) for each in expected):
            assert [str(each) for each in known] == [put_words(str(each), words) for each in expected]
        else:
            assert np.array_equal(known, expected, equal_nan=True)


# The outputs, each held to that of the plain names.


def require_frame(found: Any, plain: Any, words: Mapping[str, str]) -> None:
    columns = display.frame_columns(found.to_frame())
    require_same_columns(columns, display.frame_columns(plain.to_frame()), words)
    assert list(columns) == list(found.columns_with_intervals())[: len(columns)]  # one name in all outputs


def require_csv(found: Any, plain: Any, words: Mapping[str, str]) -> None:
    rows = list(csv.reader(StringIO(found.to_csv_text(), newline=""), strict=True))
    for cell in (cell for row in rows for cell in row if re.match(r"[=+\-@\t\r\n]", cell)):
        float(cell)  # what begins as a formula does is a number
    head, *cells = [[display.unescape_formula(cell) for cell in row] for row in rows]
    before, *expected = csv.reader(StringIO(plain.to_csv_text(), newline=""))
    columns = dict(zip(head, zip(*cells, strict=True), strict=True))
    require_same_columns(columns, dict(zip(before, zip(*expected, strict=True), strict=True)), words)
    assert head == list(found.columns_with_intervals())
    raw = list(csv.reader(StringIO(found.to_csv_text(raw=True), newline="")))
    assert raw == [head, *cells]


def require_workbook(found: Any, plain: Any, words: Mapping[str, str]) -> None:
    del plain, words
    with ZipFile(BytesIO(found.to_workbook(display.headless_axes((1, 1))))) as book:
        strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        sheets = ElementTree.fromstring(book.read("xl/workbook.xml"))
        cells = [ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml")) for number in (1, 2)]
    texts = ["".join(part.text or "" for part in each.iter(f"{CUSTOM}t")) for each in strings]
    texts = [re.sub(r"_x([0-9A-F]{4})_", lambda match: chr(int(match[1], 16)), text) for text in texts]
    assert [sheet.get("name") for sheet in sheets.iter(f"{CUSTOM}sheet")] == ["result", "numbers"]
    assert not any(list(sheet.iter(f"{CUSTOM}f")) for sheet in cells)
    columns, ours = found.describe_table().columns, found._column_words()
    assert all(column.heading == column.name for column in columns if not column.is_numeric and column.name not in ours)
    written = [column.heading for column in columns]
    written += [cell for column in columns for cell in column.values.tolist() if isinstance(cell, str)]
    # A workbook is XML, where a carriage return is a line feed; what is empty stands in no cell.
    assert {text.replace("\r", "\n") for text in written if text} <= {text.replace("\r", "\n") for text in texts}


def read_printed_table(shown: ViewTable) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headings and columns of a table as the terminal prints it; headings may have several lines."""
    screen = make_console()  # escapes what is not visible
    screen.file, screen.width = StringIO(), 4000
    screen.print(shown.format_rows())
    text = screen.file.getvalue()
    assert "\n" not in shown.headline
    assert all(sign.isprintable() for sign in text.replace("\n", ""))
    lines = {
        side: [[cell.strip() for cell in line.split(side)[1:-1]] for line in text.splitlines() if line[0] == side]
        for side in "┃│"
    }
    heads = [" ".join(filter(None, parts)) for parts in zip(*lines["┃"], strict=True)]
    return heads, [*zip(*lines["│"], strict=True)]


def require_terminal(found: Any, plain: Any, words: Mapping[str, str]) -> None:
    del words
    tables = [SavedResultView(IntervalSettings(0.95, True)).tables(result) for result in (found, plain)]
    for shown, before in zip(*tables, strict=True):
        (heads, cells), (plain_heads, plain_cells) = map(read_printed_table, (shown, before))
        assert len(set(heads)) == len(heads) == len(plain_heads)
        assert "" not in heads
        assert [len(set(column)) for column in cells] == [len(set(column)) for column in plain_cells]


class Texts(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.texts = set[str](), list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags |= {tag, *(name for name, _ in attrs if name.startswith("on"))}

    def handle_data(self, data: str) -> None:
        self.texts += [data.strip()] if data.strip() else []


def require_picture_and_page(found: Any, plain: Any, words: Mapping[str, str]) -> None:
    drawn = []
    for result in (found, plain):
        svg = display.svg_text(result.plot_headless())
        texts = {each.text or "" for each in ElementTree.fromstring(svg).iter("text")}
        page = Texts(display.render_report("title", "words", [result.render_html(svg)], ()))
        drawn.append((texts, page))
    (texts, page), (before, plain_page) = drawn
    named = {text for text in before if STANDING.search(text)}
    rest = before - named
    assert len(texts - rest) >= len({put_words(text, words) for text in named}) > 0 or not named
    assert page.tags <= plain_page.tags | {"bdi"}  # isolates the direction of a text
    assert texts <= {" ".join(text.split()) for text in page.texts} | texts - {text for text in texts if text.strip()}


def require_publication(found: Any, folder: Path) -> None:
    files = {file.name: file for file in publish([found, found], folder)}
    kind = next(name for name in files if name.endswith(".csv"))
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+(\.[a-z0-9]+)?", name) and len(name) < 100 for name in files)
    assert len({name.casefold() for name in files}) == len(files)
    assert files[kind].read_bytes().decode() == found.to_csv_text()
    assert len([name for name in files if name.endswith(".svg")]) == 2


TABLES = require_frame, require_csv, require_terminal


@cache
def plain_pairs(step: int, start: int = 0) -> list[tuple[str, int]]:
    """Every so many of the kinds, each with one place of names; the places of all kinds together are all places."""
    return [(name, 7 * number % len(NAMES)) for number, name in enumerate(results())][start::step]


def hold(name: str, place: int, *requirements: Any) -> None:
    plain, words = results()[name], words_at(place)
    found = renamed(plain, words)
    for require in requirements:
        require(found, plain, words)


def test_every_kind_of_result_is_in_the_sweep() -> None:
    """A new kind needs a question, or a reading, above."""
    assert {kind.__name__ for kind in all_kinds()} == {type(each).__name__ for each in results().values()}
    assert {place for _, place in plain_pairs(1)} == set(range(len(NAMES)))


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("start", range(4))
def test_every_kind_keeps_names_in_frames_files_and_on_terminals(start: int) -> None:
    for name, place in plain_pairs(4, start):
        hold(name, place, *TABLES)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("start", [0, 3, 6])
def test_kinds_keep_names_in_workbooks(start: int) -> None:
    for name, place in plain_pairs(9, start):
        hold(name, place + 1 - len(NAMES), require_workbook)


@DRAWN
@pytest.mark.quick_share(4)
@pytest.mark.parametrize("start", [1, 5, 9, 13])
def test_kinds_keep_names_in_pictures_and_pages(start: int) -> None:
    for name, place in plain_pairs(16, start):
        hold(name, place + 2 - len(NAMES), require_picture_and_page)


@DRAWN
def test_results_of_hostile_names_are_published(tmp_path: Path) -> None:
    found = renamed(results()["CountQuestion by"], words_at(NAMES.index("=1+1")))
    require_publication(found, tmp_path / "one")
    wanted = ["CON", "con", "a.b", "A.B", "../up", "x" * 300, "x" * 300, "\u00e9", "", "index", "lpt1"]
    names = [name for name, _ in assign_file_names((name, found) for name in wanted)]
    assert len(set(names)) == len(wanted)
    assert all(re.fullmatch(r"[a-z0-9_-]{1,100}", name) and name not in ("con", "lpt1") for name in names)
    for name in ("con", "x" * 101, "Up"):
        with pytest.raises(ValueError, match=r"^results: "):
            publish({name: found}, tmp_path / "two")
    assert not (tmp_path / "two").exists()


@DRAWN
@pytest.mark.reproduction
@pytest.mark.parametrize("place", range(len(NAMES)))
def test_every_kind_keeps_every_name_in_every_output(place: int, tmp_path: Path) -> None:
    for number, name in enumerate(results()):
        hold(name, place, *TABLES, require_workbook, require_picture_and_page)
        if number % len(NAMES) == place:
            require_publication(renamed(results()[name], words_at(place)), tmp_path / str(number))


# From the data to the files, as a command does it.


def read_rows(file: Path) -> list[list[str]]:
    return list(csv.reader(StringIO(file.read_bytes().decode(), newline="")))


def run(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(build(words), words)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.quick_share(4)
@DRAWN
@pytest.mark.parametrize("name", ["COUNT", "", "=1\n1", "x" * 300])
def test_commands_write_all_files_of_columns_with_hostile_names(name: str, tmp_path: Path) -> None:
    table, files = (
        tmp_path / "table.parquet",
        {each: tmp_path / f"out.{each}" for each in ("json", "csv", "xlsx", "html")},
    )
    labels = np.array(["+7", "-1"])[np.arange(400) % 2]
    pq.write_table(pa.table({name: labels, "b": np.array(["p", "q"])[np.arange(400) // 200]}), table)
    question = dp.ContingencyQuestion(dp.Categories(name, ("+7", "-1")), dp.Categories("b", ("p", "q")))
    with dp.Session(str(table), budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        result = session.ask(question, LOSS)
    files["json"].write_text(result.to_json())
    outputs = [part for option in ("csv", "xlsx", "html") for part in (f"--{option}", files[option])]
    shown = run("show", files["json"], *outputs).output
    rows = [[display.unescape_formula(cell) for cell in row] for row in read_rows(files["csv"])]
    assert [row[:2] for row in rows[1:]] == [["+7", "p"], ["+7", "q"], ["-1", "p"], ["-1", "q"]]
    assert rows[0][0].removesuffix("_category") == name
    assert rows[0][2] == "count"
    assert all(label in shown and f">{label}<" in files["html"].read_text() for label in ("+7", "-1"))
    run("show", files["json"], "--csv", files["csv"], "--csv-raw")
    assert [row[0] for row in read_rows(files["csv"])[1:]] == ["+7", "+7", "-1", "-1"]


def test_a_question_by_a_column_called_as_one_of_ours_is_paid_and_written(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("value,n\n" + "\n".join(f"{'uv'[number % 2]},{number}" for number in range(400)))
    asked = ("mean", table, "--column", "n", "--bounds", "0:400", "--by", "value=u,v", "--epsilon", 50)
    printed = run(
        *asked, "--adjacency", "add-remove", "--csv", tmp_path / "out.csv", "--xlsx", tmp_path / "out.xlsx"
    ).output
    rows = read_rows(tmp_path / "out.csv")
    assert rows[0][:3] == ["value_category", "statistic", "value"]
    assert {row[0] for row in rows[1:]} == {"u", "v"}
    means = {row[0]: float(row[2]) for row in rows[1:] if row[1] == "mean"}
    assert means == pytest.approx(
        {"u": 199, "v": 200}, abs=2
    )  # noise of scale .04: fails in fewer than 1 of 10^15 runs
    assert re.search(r"\bu\b.* 19[89]", printed)


@DRAWN
def test_a_study_of_hostile_names_is_written(tmp_path: Path) -> None:
    name, labels = "value <b>", ("=1", "</text>")
    places = np.arange(400)
    pq.write_table(
        pa.table({name: np.array(labels)[places % 2], "n": places.astype(float)}), tmp_path / "table.parquet"
    )
    question: dict[str, Any] = {"ask": "histogram", "name": "one", "column": "n", "grid": "0:400:4"}
    question["by"] = {"column": name, "categories": labels}
    (tmp_path / "study.json").write_text(json.dumps({"epsilon": 5, "question": [question]}))
    folder = tmp_path / "out"
    run("study", tmp_path / "study.json", tmp_path / "table.parquet", "--adjacency", "add-remove", "--out", folder)
    page = Texts((folder / "index.html").read_text())
    assert "b" not in page.tags
    assert all(any(label in text for text in page.texts) for label in labels)
    found = dp.read_result(folder / "one.json")
    assert next(iter(display.frame_columns(found.to_frame()))) == name
    assert sorted({row[0] for row in csv.reader(StringIO(found.to_csv_text(raw=True), newline=""))} - {name}) == sorted(
        labels
    )


@pytest.mark.parametrize("name", ["\0", "\ud800"])
def test_a_name_that_nothing_can_store_is_refused_before_a_charge(name: str) -> None:
    with dp.Session({name: [1.0, 2.0] * 200}, budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(ValueError, match=r"^column: names without null characters"):
            session.ask(dp.CdfQuestion(name, GRID), LOSS)
        assert session.remaining.epsilon == LOSS.epsilon


def test_labels_that_were_declared_as_numbers_are_numbers_in_files() -> None:
    table = {"g": np.array([-1, 2])[np.arange(400) % 2], "n": np.arange(400.0)}
    with dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE) as session:
        found = session.ask(dp.SummaryQuestion("n", 0, 400, by=dp.Categories("g", (-1, 2))), LOSS)
    assert {row[0] for row in csv.reader(StringIO(found.to_csv_text(), newline=""))} == {"g", "-1", "2"}
    assert "'" not in found.to_csv_text()


BLANK_STARTS = [
    f"{blank}{rest}" for blank in (" ", "\xa0", "\u3000", "\ufeff", "\u200b", "' '") for rest in ("=1", "\uff1d1")
]


@pytest.mark.parametrize("text", [*NAMES, *BLANK_STARTS, "''=1", "-inf", "\uff1d1", "'", " a", "' a"])
def test_the_escape_of_formulas_is_undone(text: str) -> None:
    assert display.unescape_formula(display.escape_formula(text)) == text
    escaped = display.escape_formula(text)
    assert not re.match(r"[\s\u200b\ufeff]*[=+\-@\t\r\uff1d]", escaped)
    assert escaped in (text, f"'{text}")
    assert (escaped == text) == (re.match(r"[\s\u200b\ufeff']*[=+\-@\t\r\n\uff1d]", text) is None)


@pytest.mark.parametrize("labels", [("all", "b"), ("ALL", "all categories", "all categories (2)"), ("a", "b")])
def test_a_category_called_all_is_no_total(labels: tuple[str, ...]) -> None:
    """Before, the category and the sum of all categories had one name in a table that adds up."""
    table = {"region": list(labels) * 100, "sex": ["f", "m"] * (50 * len(labels)), "x": [1.0] * (100 * len(labels))}
    loss, by = dp.PrivacyLoss.pure(100), (dp.Categories("region", labels), dp.Categories("sex", ("f", "m")))
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(1)) as session:
        parts, regions, sexes = (
            session.ask(dp.CountQuestion("x", by=each), dp.PrivacyLoss.pure(10)) for each in (by, *by)
        )
    rows = dp.make_consistent({"parts": parts, "regions": regions, "sexes": sexes}).to_frame()
    named = set(rows["region"][rows["table"] != "sexes"])
    (total,) = set(rows["region"][rows["table"] == "sexes"])
    assert named == set(labels)
    assert total.casefold() not in {label.casefold() for label in labels}
    assert set(rows["sex"][rows["table"] == "regions"]) == {"all"}


@pytest.mark.parametrize(("column", "where", "nearest"), [("AGE", None, "age"), ("age", "DIED = 1", "died")])
def test_a_column_that_differs_by_case_alone_is_named(column: str, where: str | None, nearest: str) -> None:
    """Before, no column was near a name whose letters all have another case."""
    question, table = dp.CdfQuestion(column, dp.Grid(0, 9, cells=9), where=where), {"age": [1.0], "died": [1]}
    session = dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE)
    with session, pytest.raises(ValueError, match=f"the nearest is '{nearest}'"):
        session.ask(question, LOSS)
