"""A label is compared as text unless it was declared a number, or the schema declares the column one: wherever a person
types a label that meets a column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.cli.options import format_label, parse_labels
from dpcurves.data import Categories, TextUniverse, UnlistedCategories
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records
from dpcurves.records.value_names import ValueType, category_key, value_name

CODES = ["01", "1", "02", "2"]
ROWS = 250
TERMS = ("--epsilon", "1000", "--adjacency", "add-remove")


@pytest.fixture(scope="module")
def run() -> Callable[..., Any]:
    """Run a command as the terminal would."""
    commands = build()
    return lambda *words: CliRunner().invoke(commands, [str(word) for word in words])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Codes as text and as numbers, in a CSV and a Parquet file."""
    folder = tmp_path_factory.mktemp("labels")
    codes = [code for code in CODES for _ in range(ROWS)]
    table = pa.table({
        "code": codes, "other": codes, "x": [float(at % 50) for at in range(len(codes))],
        "number": pa.array([int(code) for code in codes], pa.int64()),
        "share": pa.array([int(code) / 2 for code in codes], pa.float32()),
        "flag": pa.array([code.startswith("0") for code in codes]),
    })  # fmt: skip
    pq.write_table(table, folder / "t.parquet")
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    return {"csv": folder / "t.csv", "parquet": folder / "t.parquet"}


def counted(data: Any, *axes: Categories) -> list[int]:
    with open_records(data, unit=EACH_RECORD, key=bytes(32)) as records:
        return [int(number) for number in records.counts(axes)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_codes_with_leading_zeros_are_codes_of_their_own(files: dict[str, Path], kind: str) -> None:
    declared = parse_labels("categories", "01,02,1,2")
    assert counted(str(files[kind]), Categories("code", declared)) == [ROWS] * 4 + [0]
    frame = pl.read_parquet(files["parquet"])
    for data in (frame, frame.to_pandas(), {"code": frame["code"].to_list()}, {"code": frame["code"].to_numpy()}):
        assert counted(data, Categories("code", declared)) == [ROWS] * 4 + [0]


WRONG = {
    ("number", "01"): "BIGINT in the schema; write 1", ("number", "+1"): "BIGINT in the schema; write 1",
    ("number", "1.0"): "BIGINT in the schema; write 1", ("number", "1.5"): "BIGINT in the schema; write a whole",
    ("number", "one"): "BIGINT in the schema; write a whole number", ("number", " 1"): "BIGINT in the schema; write 1",
    ("number", "-0"): "BIGINT in the schema; write 0", ("share", "0.50"): "FLOAT in the schema; write 0.5",
    ("share", "01"): "FLOAT in the schema; write 1", ("flag", "yes"): "BOOLEAN in the schema; write true or false",
}  # fmt: skip


@pytest.mark.parametrize(("column", "label"), WRONG)
def test_text_in_a_column_of_numbers_is_written_as_the_number_is(
    files: dict[str, Path], column: str, label: str
) -> None:
    source = str(files["parquet"])
    with pytest.raises(ValueError, match=rf"^categories: '.*': column `{column}` is {WRONG[column, label]}"):
        counted(source, Categories(column, ("2" if column != "flag" else "true", label)))
    right = {"number": ("1", "2"), "share": ("0.5", "1"), "flag": ("true", "false")}[column]
    assert counted(source, Categories(column, right)) == [2 * ROWS, 2 * ROWS, 0]


@pytest.mark.parametrize(("one", "other"), [("1", 1.0), ("7", "7.0"), (2**53, 2**53 + 1)])
def test_two_labels_of_one_value_are_refused_before_the_charge(one: Any, other: Any) -> None:
    with pytest.raises(ValueError, match="^categories: .* and .* are the same value of column `x`"):
        counted(pa.table({"x": pa.array([1.0, 7.0])}), Categories("x", (one, other)))


LABELLED: dict[str, Sequence[str]] = {
    "categories": ("count", "--column", "x", "--by", "{}", "--categories", "01,02"),
    "by": ("count", "--column", "x", "--by", "{}=01,02"),
    "rows": ("contingency", "--rows", "{}", "--row-categories", "01,02", "--columns", "other", "--column-categories",
             "01,1,02,2"),
    "columns": ("contingency", "--rows", "other", "--row-categories", "01,1,02,2", "--columns", "{}",
                "--column-categories", "01,02"),
    "classes": ("scores", "--label", "{}", "--score", "x", "--pos-label", "01", "--neg-label", "02"),
    "event": ("survival", "--time", "x", "--event", "{}", "--event-value", "01", "--censored-value", "02"),
    "causes": ("incidence", "--time", "x", "--event", "{}", "--causes", "02", "--censored-value", "01"),
}  # fmt: skip
GRIDDED = {"classes", "event", "causes"}


def words_of(name: str, data: Path, column: str) -> list[str]:
    command, *given = LABELLED[name]
    more = ["--grid", "0:50:5"] if name in GRIDDED else []
    return [command, str(data), *(word.format(column) for word in given), *more, *TERMS]


@pytest.mark.parametrize("name", LABELLED)
def test_every_option_of_labels_refuses_what_no_number_is_written_as(
    run: Callable[..., Any], files: dict[str, Path], name: str
) -> None:
    refused = run(*words_of(name, files["parquet"], "number"))
    assert refused.exit_code != 0
    assert "column `number` is BIGINT in the schema; write" in refused.output
    assert run(*words_of(name, files["csv"], "code"), "--json", "-").exit_code == 0


def test_commands_count_each_code_alone(run: Callable[..., Any], files: dict[str, Path]) -> None:
    done = run(*words_of("categories", files["csv"], "code"), "--json", "-")
    assert done.exit_code == 0, done.output
    assert [name for name in ("01", "02") if f'"{name}"' in done.stdout] == ["01", "02"]
    shown = run(*words_of("categories", files["csv"], "code"))
    numbers = [word for word in shown.output.replace(",", "").split() if word in {"250", "500"}]
    assert "250" in numbers
    assert "500" not in numbers


def test_sql_takes_texts_in_quotes_numbers_without_and_values_of_by_as_text(
    run: Callable[..., Any], files: dict[str, Path]
) -> None:
    statement, people = "SELECT dp_count(x) FROM t", {"t": str(files["csv"])}
    given: Any = {"loss": dp.PrivacyLoss.pure(1000), "adjacency": dp.ADD_REMOVE}
    one = dp.sql(people, f"{statement} WHERE code IN ('01', '2') GROUP BY code", **given)
    assert {name: round(each.count) for name, each in one.items()} == {"01": ROWS, "2": ROWS}
    number = dp.sql(people, f"{statement} WHERE code = 1", **given)  # declared a number, so 01 is it, too
    assert round(number.count) == 2 * ROWS
    with pytest.raises(ValueError, match="column `number` is BIGINT in the schema; write 1"):
        dp.sql({"t": str(files["parquet"])}, f"{statement} WHERE number = '01' GROUP BY number", **given)
    with pytest.raises(ValueError, match="^where: number = '01': a number and text cannot be compared; cast one"):
        dp.sql({"t": str(files["parquet"])}, f"{statement} WHERE number = '01'", **given)
    by = run("sql", str(files["csv"]), f"{statement} GROUP BY code", "--by", "code=01,02", *TERMS)
    assert by.exit_code == 0, by.output
    assert "250" in by.output
    assert "500" not in by.output


def test_studies_compare_texts_as_texts(files: dict[str, Path]) -> None:
    by = {"column": "code", "categories": ["01", "1"]}
    study = dp.Study.from_text(json.dumps({"epsilon": 1000, "question": [{"ask": "count", "column": "x", "by": by}]}))
    with dp.Session(str(files["csv"]), budget=dp.PrivacyLoss.pure(1000), adjacency=dp.ADD_REMOVE) as session:
        ((_, curves),) = study.ask(session)
    assert {name: round(each.count) for name, each in curves.items()} == {"01": ROWS, "1": ROWS}


def test_states_of_streams_are_texts_in_files_and_in_lines() -> None:
    from dpcurves_streams.feed.schedule import CellFinder

    keys = CellFinder((Categories("code", ("01", "1", "2")),))
    given = ["01", "1", 1, 2, 2.0, "02", True, None, float("nan"), 10**400]
    assert [keys.find_cell({"code": each}) for each in given] == [0, 1, 1, 2, 2, None, 1, None, None, None]


def test_categories_of_models_are_texts_on_public_tables_too() -> None:
    from dpcurves.data.axis import _encode_column

    assert _encode_column(["01", "1", "x"], ("1", "01")).tolist()[:2] == [1.0, 0.0]
    assert _encode_column([1, 2.0, "2"], ("1", "2")).tolist() == [0.0, 1.0, 1.0]
    assert _encode_column(["1.0", 1, True], (1, 0)).tolist() == [0.0, 0.0, 0.0]


labels = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
    st.from_regex(r"[+-]?0{0,2}[0-9]{1,4}(\.[0-9]{0,2})?", fullmatch=True),
    st.sampled_from(["true", "True", "NA", "nan", "inf", "1e3", "number:1", '"', "a,b", "1_000", "٣", "½"]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(labels, min_size=1, max_size=6, unique=True))
def test_any_labels_survive_the_command_and_count_their_own_records(names: list[str]) -> None:
    assert parse_labels("categories", ",".join(map(format_label, names))) == tuple(names)
    rows = [name for at, name in enumerate(names) for _ in range(at + 1)]
    for data in ({"x": rows}, pl.DataFrame({"x": rows})):
        assert counted(data, Categories("x", tuple(names))) == [*range(1, len(names) + 1), 0]


@settings(max_examples=300, deadline=None)
@given(st.floats(), st.integers(-(2**63), 2**63 - 1))
def test_a_name_finds_the_value_that_has_it(number: float, whole: int) -> None:
    for declared in (ValueType.DOUBLE, ValueType.SINGLE, ValueType.HALF):
        name = value_name(number, declared)
        if name is not None:
            key = category_key(name, declared)
            assert isinstance(key, float)
            assert value_name(key, declared) == name
    for declared in (ValueType.WHOLE, ValueType.DECIMAL):
        assert str(category_key(str(whole), declared)).removesuffix(".0") == str(whole)


def test_engines_refuse_an_option_of_an_axis_that_they_do_not_know() -> None:
    class Folded(Categories):
        """Categories whose case does not matter: no engine knows that."""

    with open_records({"x": ["a", "A"]}, unit=EACH_RECORD, key=bytes(32)) as records:
        with pytest.raises(ValueError, match="^axes: engines do not count along Folded"):
            records.check([Folded("x", ("a",))])
        records.check([UnlistedCategories("x", universe=TextUniverse("a-z", 3))])
