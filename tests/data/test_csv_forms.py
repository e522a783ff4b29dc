"""CSV files in declared forms: each line is read by itself, as it was declared, and nothing else is tried."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument

CELLS = dp.Grid(0, 10_000, cells=10_000)
LOUD = dp.PrivacyLoss.pure(10**6)


def read(file: object, column: str = "x", grid: dp.Grid = CELLS) -> dict[int, int]:
    """Counts of cells, by a release with next to no noise."""
    with dp.Session(file, budget=LOUD, adjacency=dp.ADD_REMOVE) as session:
        bars = session.ask(dp.HistogramQuestion(column, grid), LOUD)
    return {int(place): int(bars.count[place]) for place in np.flatnonzero(np.rint(bars.count))}


def written(folder: Path, text: str, name: str = "a.csv", encoding: str = "utf-8") -> Path:
    content = text.encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


COMMAS = ["1.200,50", "1200,9", " 7,5", "1.2", "1,200.5", "12.00,5", "1.200.000", "3", "8e1", "", "x", "1,2,3", "true"]


def test_decimal_commas_are_read_where_they_are_declared_and_only_there(tmp_path: Path) -> None:
    file = written(tmp_path, "x;n\n" + "".join(f"{text};1\n" for text in COMMAS))
    declared = dp.CsvFile(file, delimiter=";", decimal=",")
    assert read(declared) == {1200: 2, 7: 1, 3: 1, 80: 1, 1: 1, 9999: 1}  # the last: 1,200,000, in the end cell
    assert read(dp.CsvFile(file, delimiter=";")) == {1: 2, 3: 1, 80: 1}


@pytest.mark.parametrize(("origin", "form"), [("2020-01-01", "{y}-{m}-{d}"), ("01.01.2020", "{d}.{m}.{y}")])
def test_dates_are_days_since_the_declared_one_in_its_own_form_alone(tmp_path: Path, origin: str, form: str) -> None:
    days = [("2020", "03", "01"), ("2021", "01", "01"), ("2021", "02", "29"), ("2020", "13", "01")]
    texts = [form.format(y=y, m=m, d=d) for y, m, d in days] + ["2020/03/01", "3.1.20", "20-01-02", "5"]
    other = "02.01.2020" if "-" in origin else "2020-01-02"
    file = written(tmp_path, "x\n" + "".join(f"{text}\n" for text in [*texts, other]))
    assert read(dp.CsvFile(file, dates=origin)) == {60: 1, 366: 1, 5: 1}
    assert read(file) == {5: 1}


def test_a_month_is_its_first_day_where_dates_begin_with_the_year(tmp_path: Path) -> None:
    texts = ["2020-01", " 2020-03 ", "2021-01", "2020-13", "2020-00", "2020-1", "202-01", "2020-01-", "2020-03-02", "5"]
    file = written(tmp_path, "x\n" + "".join(f"{text}\n" for text in texts))
    assert read(dp.CsvFile(file, dates="2020-01-01")) == {0: 1, 60: 1, 366: 1, 61: 1, 5: 1}
    assert read(dp.CsvFile(file, dates="01.01.2020")) == {5: 1}
    numbers = written(tmp_path, "x\n01.2020\n12.2021\n", "b.csv")  # numbers with a decimal point, not months
    assert read(dp.CsvFile(numbers, dates="01.01.2020")) == {1: 1, 12: 1}


def test_encodings_are_read_byte_by_byte(tmp_path: Path) -> None:
    text = "größe;ort\n" + "7;Köln\n3;\x80\n" * 3 + "9;" + "ü" * 2**19 + "\n"  # in UTF-8 the last line is too long
    file = dp.CsvFile(written(tmp_path, text, encoding="latin-1"), delimiter=";", encoding="Latin-1")
    assert read(file, "größe") == {7: 3, 3: 3}
    with dp.Session(file, budget=LOUD, adjacency=dp.ADD_REMOVE) as session:
        counts = session.ask(dp.CountQuestion("größe", by=dp.Categories("ort", ("Köln", "Bonn"))), LOUD)
    assert [round(each.count) for each in counts.values()] == [3, 0]


def test_a_compressed_file_and_bytes_are_read_as_the_file_is(tmp_path: Path) -> None:
    text = "x\n" + "".join(f"{value % 50}\n" for value in range(1000))
    plain = read(written(tmp_path, text))
    assert plain == dict.fromkeys(range(50), 20)
    assert read(written(tmp_path, text, "a.csv.gz")) == plain
    assert read(dp.CsvFile(text.encode())) == plain


def test_a_damaged_file_is_refused_before_the_charge_and_says_nothing_of_its_records(tmp_path: Path) -> None:
    whole = gzip.compress(b"x\n" + b"7\n" * 10**5)
    for damaged in (whole[:-9], whole[:-8] + b"\0" * 8, b"x\n1\n"):
        (tmp_path / "a.csv.gz").write_bytes(damaged)
        with dp.Session(tmp_path / "a.csv.gz", budget=LOUD, adjacency=dp.ADD_REMOVE) as session:
            with pytest.raises(
                InvalidArgument,
                match=r"^data: 'a.csv.gz' (cannot be read(: the gzip data are .* damaged)?$|is not compressed)",
            ):
                session.ask(dp.CountQuestion("x"), LOUD)
            assert not session.statement.grants


@pytest.mark.parametrize(
    ("given", "named"),
    [({"encoding": "utf-16"}, "encoding"), ({"decimal": "'"}, "decimal"), ({"dates": "2020-02-30"}, "dates"),
     ({"dates": "1/2/2020"}, "dates"), ({"delimiter": '"'}, "delimiter"), ({"delimiter": "ab"}, "delimiter")],
)  # fmt: skip
def test_another_form_is_refused(given: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        dp.CsvFile("a.csv", **given)


def test_bytes_are_not_shown() -> None:
    assert "secret" not in repr(dp.CsvFile(b"secret\n1\n"))


def test_the_command_line_declares_a_form_and_reads_standard_input(tmp_path: Path) -> None:
    from dpcurves.cli.app import build

    app = build()
    asked = ["--column", "x", "--grid", "0:100:10", "--epsilon", "1000000", "--adjacency", "add-remove", "--json", "-"]
    form = ["--delimiter", ";", "--decimal", ",", "--encoding", "latin-1", "--dates", "01.01.2020"]
    text = "x;ö\n1,5;a\n11.01.2020;b\n".encode("latin-1")
    done = CliRunner().invoke(app, ["histogram", "-", *asked, *form], input=text)
    assert done.exit_code == 0, done.output
    assert [round(count) for count in json.loads(done.stdout)["count"]] == [1, 1, *[0] * 8]
    for data, named in (("postgresql://a@b/c", "encoding, decimal, dates"), ("a.parquet", "data")):
        (tmp_path / "a.parquet").write_bytes(b"x")
        place = data if data.startswith("post") else str(tmp_path / data)
        table = ["--table", "a.b"] if data.startswith("post") else []
        done = CliRunner().invoke(app, ["histogram", place, *table, *asked, "--decimal", ","])
        assert (done.exit_code in (2, 4), done.stdout) == (True, "")
        assert named in done.stderr
