"""Files that offices open, and folders that are handed on: true to the result, and the same for the same one."""

from __future__ import annotations

import csv
import re
import zipfile
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import dpcurves as dp
from dpcurves import display
from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.display import office
from dpcurves.publication import describe_privacy, describe_results_privacy

GRID, LOSS = dp.Grid(0, 1, cells=8), dp.PrivacyLoss.pure(2)
CHANCE = np.random.default_rng(1)
TABLE = {"x": CHANCE.random(200), "y": CHANCE.integers(0, 2, 200), "who": np.repeat(np.arange(100), 2)}
CELL = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}c"


@pytest.fixture(scope="module")
def curve() -> dp.CDF:
    return dp.cdf(TABLE["x"], grid=GRID, epsilon=2, adjacency=dp.REPLACE_ONE)


def cells_of(book: bytes, sheet: int) -> list[ElementTree.Element]:
    with zipfile.ZipFile(BytesIO(book)) as opened:
        return list(ElementTree.fromstring(opened.read(f"xl/worksheets/sheet{sheet}.xml")).iter(CELL))


def test_a_csv_has_the_numbers_and_both_kinds_of_ends_to_the_last_digit(tmp_path: Path, curve: dp.CDF) -> None:
    curve.to_csv(tmp_path / "a.csv", level=0.9)
    rows = list(csv.DictReader(StringIO((tmp_path / "a.csv").read_text())))
    for population, ending in ((False, ""), (True, "_population")):
        lower, upper = curve.band(0.9, population=population)
        assert [float(row[f"lower{ending}"]) for row in rows] == lower.tolist()
        assert [float(row[f"upper{ending}"]) for row in rows] == upper.tolist()
    assert [float(row["y"]) for row in rows] == np.asarray(curve.y).tolist()
    assert "lower_population" not in curve.to_csv_text(population=False)


def test_units_of_several_records_have_no_ends_for_the_population() -> None:
    with dp.Session(TABLE, budget=LOSS, adjacency=dp.REPLACE_ONE, unit="who", rows_per_unit=2) as session:
        curve = session.ask(dp.CdfQuestion("x", GRID), LOSS)
    assert curve.to_csv_text().splitlines()[0] == "x,y,lower,upper"
    words = describe_privacy(curve.privacy)
    assert "each who (at most 2 records)" in words
    assert "all records of one who are replaced" in words


def test_a_workbook_has_numbers_statement_notes_and_the_picture(tmp_path: Path, curve: dp.CDF) -> None:
    curve.to_excel(tmp_path / "a.xlsx")
    book = (tmp_path / "a.xlsx").read_bytes()
    numbers = [float(cell[0].text or "") for cell in cells_of(book, 2) if cell.get("t") != "s"]
    rows = zip(*curve.columns_with_intervals().values(), strict=True)
    assert numbers[: 2 * 6] == pytest.approx([value for row in rows for value in row][: 2 * 6], rel=1e-14)
    with zipfile.ZipFile(BytesIO(book)) as opened:
        told = opened.read("xl/sharedStrings.xml").decode()
        assert opened.read("xl/media/image1.png").startswith(b"\x89PNG")
    assert "epsilon 2, replace-one; protects each record" in told
    assert curve.to_workbook(curve.plot_headless()) == curve.to_workbook(curve.plot_headless())


def test_text_is_no_formula_what_is_not_known_is_empty_and_rows_go_on_in_further_sheets(
    monkeypatch: pytest.MonkeyPatch, curve: dp.CDF
) -> None:
    monkeypatch.setattr(office, "SHEET_ROWS", 2)
    columns = {"a": np.array(["=1+1", "b", "c"]), "n": np.array([1.5, np.nan, np.inf])}
    table = display.build_table(columns, display.describe_columns(n="number"), ends={})
    book = display.build_workbook([], {"numbers": table})
    assert not any(cell.findall("{*}f") for sheet in (1, 2) for cell in cells_of(book, sheet))
    assert [cell.get("r") for cell in cells_of(book, 1)] == ["A1", "B1", "A2", "B2", "A3"]
    assert [cell.get("r") for cell in cells_of(book, 2)] == ["A1", "B1", "A2", "B2"]
    assert list(csv.reader(StringIO(display.csv_text(columns))))[2] == ["b", ""]


def test_a_missing_library_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, curve: dp.CDF) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(MissingPackage, match=r"^xlsx: XlsxWriter is needed .* pip install 'dpcurves\[office\]'$"):
        curve.to_excel(tmp_path / "a.xlsx")


def test_a_publication_is_whole_the_same_again_and_asks_nothing_of_the_outside(tmp_path: Path, curve: dp.CDF) -> None:
    (tmp_path / "x.json").write_text(curve.to_json())
    again = dp.read_result(tmp_path / "x.json")
    assert type(again) is dp.CDF
    roc = dp.roc_curve(TABLE["y"], TABLE["x"], epsilon=1, adjacency=dp.REPLACE_ONE)
    for results, folder in (([curve, roc], "one"), ([again, roc], "two"), ([again, roc], "two")):
        files = dp.publish(results, tmp_path / folder, title="<b>", date="2026-11-29")
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert [file.name for file in files] == sorted(two)
    sums = dict(line.split("  ")[::-1] for line in two["SHA256SUMS"].decode().splitlines())
    assert sums == {name: sha256(content).hexdigest() for name, content in two.items() if name != "SHA256SUMS"}
    page = two["index.html"].decode()
    assert "<title>&lt;b&gt;</title>" in page
    assert not re.search(r"<script|https?://|src=|<link", page)
    links = {link for link in re.findall('href="([^"]*)"', page) if "#" not in link}
    assert links == set(two) - {"index.html"}
    assert "Published on 2026-11-29" in page
    assert "200 records, public" in page
    for name, title in (("cdf", "Distribution of value"), ("roc", "ROC curve of y_score for y_true")):
        svg = two[f"{name}.svg"].decode()
        assert f">{title}</text>" in svg
        assert f"<title>{title}</title>" in svg
        assert page.count(f">{title}<") == 1, "the heading, and not the picture below it"
        assert title.encode() in two[f"{name}.png"]
    with pytest.raises(InvalidArgument, match=r"^date: write the date as year-month-day, as in 2026-11-29$"):
        dp.publish(curve, tmp_path / "three", date="29.11.2026")
    assert not (tmp_path / "three").exists()
    assert "at most epsilon 3 (basic composition" in two["PRIVACY.txt"].decode()
    methods = two["METHODS.txt"].decode()
    assert methods.count("\n") == 1
    assert len(methods.split()) <= 60
    assert "epsilon 1 to 2 each" in methods


def test_the_same_releases_are_counted_once_and_losses_of_two_kinds_are_not_added_up(curve: dp.CDF) -> None:
    other = dp.cdf(TABLE["x"], grid=GRID, rho=1, adjacency=dp.ADD_REMOVE)
    assert "at most epsilon 2 (" in describe_results_privacy({"a": curve, "b": dp.CDF.from_json(curve.to_json())})
    assert "not added up here" in describe_results_privacy({"a": curve, "b": other})


def test_a_folder_of_other_files_and_names_of_no_files_are_refused(tmp_path: Path, curve: dp.CDF) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(InvalidArgument, match="^folder: the folder holds files of other origin"):
        dp.publish(curve, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(InvalidArgument, match="^results: use lower-case letters"):
        dp.publish({"../a": curve}, tmp_path / "new")
    with pytest.raises(InvalidArgument, match="^results: at least one result is needed"):
        dp.publish([], tmp_path / "new")
    assert not (tmp_path / "new").exists()
