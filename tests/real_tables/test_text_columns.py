"""A question that needs numbers refuses a column of text before anything is charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build

LABELS = ["north", "south"] * 30
NUMBERS = [float(each % 7) for each in range(60)]
FRAME = pd.DataFrame({"region": LABELS, "age": NUMBERS})
ONE = dp.PrivacyLoss.pure(1)
TYPED: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: FRAME,
    "category": lambda _: FRAME.astype({"region": "category"}),
    "arrow": lambda _: pa.table(FRAME),
    "duckdb": lambda _: duckdb.from_df(FRAME),
    "parquet": lambda folder: written(folder / "a.parquet"),
}
UNTYPED: dict[str, Callable[[Path], Any]] = {
    "csv": lambda folder: written(folder / "a.csv"),
    "bytes": lambda _: dp.CsvFile(FRAME.to_csv(index=False).encode()),
    "lists": lambda _: {"region": LABELS, "age": NUMBERS},
}
REGIONS = dp.Categories("region", ("north", "south"))
GRID = dp.Grid(0, 8, cells=4)
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda by: dp.CountQuestion("region", by=by),
    "sum": lambda by: dp.SumQuestion("region", 0, 8, by=by),
    "mean": lambda by: dp.MeanQuestion("region", 0, 8, by=by),
    "variance": lambda by: dp.VarianceQuestion("region", 0, 8, by=by),
    "summary": lambda by: dp.SummaryQuestion("region", 0, 8, by=by),
    "cdf": lambda by: dp.CdfQuestion("region", GRID, by=by),
    "histogram": lambda by: dp.HistogramQuestion("region", GRID, by=by),
    "survival": lambda by: dp.SurvivalQuestion("region", "age", GRID, by=by, event_value=1, censored_value=0),
    "scores": lambda by: dp.ScoresQuestion("age", "region", by=by, pos_label=1, neg_label=0),
    "unbounded summary": lambda by: dp.AutoRangeSummaryQuestion("region", by=by),
    "unbounded histogram": lambda by: dp.AutoRangeHistogramQuestion("region", by=by),
}


def written(path: Path) -> Path:
    FRAME.to_parquet(path) if path.suffix == ".parquet" else FRAME.to_csv(path, index=False)
    return path


def refusal(data: Any, question: Any) -> str:
    with dp.Session(data, budget=ONE, adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(InvalidArgument, match=r"^column: 'region'") as caught:
            session.ask(question, ONE)
        assert session.remaining == ONE
    return str(caught.value)


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("source", TYPED)
def test_a_column_that_declares_text_is_refused_by_every_question_that_needs_numbers(
    source: str, asked: str, tmp_path: Path
) -> None:
    questions = [QUESTIONS[asked](None), QUESTIONS[asked](REGIONS), dp.QuantilesQuestion("region", GRID, (0.5,))]
    for question in questions:
        said = refusal(TYPED[source](tmp_path), question)
        assert "a number is needed; name a column of numbers" in said
        assert "north" not in said


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("source", UNTYPED)
def test_a_column_without_a_type_is_not_read_as_numbers_and_parted_by_its_text(
    source: str, asked: str, tmp_path: Path
) -> None:
    said = refusal(UNTYPED[source](tmp_path), QUESTIONS[asked](REGIONS))
    assert "name a column of numbers beside --by region" in said


@pytest.mark.parametrize("source", UNTYPED)
def test_labels_that_nobody_listed_are_refused_alike(source: str, tmp_path: Path) -> None:
    by = dp.UnlistedCategories("region", universe=dp.TextUniverse("a-z", 5))
    assert "labels are text or not declared" in refusal(UNTYPED[source](tmp_path), dp.CountQuestion("region", by=by))


@pytest.mark.parametrize("values", [(1, 2), ("1", "2"), ("01", "02")])
def test_labels_that_are_numbers_are_counted_by_their_own_column(values: Any) -> None:
    data = {"code": [str(values[place % 2]) for place in range(60)]}
    with dp.Session(data, budget=dp.PrivacyLoss.pure(10**6), adjacency=dp.ADD_REMOVE) as session:
        found = session.ask(dp.CountQuestion("code", by=dp.Categories("code", values)), dp.PrivacyLoss.pure(10**6))
    assert found.to_frame()["value"].round().tolist() == [30, 30]


@pytest.mark.parametrize(
    "command",
    [
        ("count", "--column", "region", "--by", "region=north,south"),
        ("count", "--column", "region", "--by", "region", "--universe", "a-z:5"),
        ("cdf", "--column", "region", "--by", "region=north,south", "--grid", "0:8:4"),
        ("sql", "SELECT dp_count(region) FROM a WHERE region IN ('north', 'south') GROUP BY region"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_commands_refuse_it_in_one_line_that_names_the_column(command: tuple[str, ...], tmp_path: Path) -> None:
    asked = [command[0], str(written(tmp_path / "a.csv")), *command[1:]]
    found = CliRunner().invoke(build(), [*asked, "--epsilon", "1", "--adjacency", "add-remove"])
    assert found.exit_code == 4, found.output
    assert "region" in found.output
    assert "name a column of numbers" in found.output
