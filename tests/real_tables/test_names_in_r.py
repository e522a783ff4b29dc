"""R reads results with any names of columns and categories, and numbers that are not known, as Python writes them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import test_hostile_names
from test_hostile_names import NAMES, made_table, renamed, results, words_at

import dpcurves as dp

READER = Path(__file__).resolve().parents[2] / "r" / "R" / "released.R"
HARD = ("a\rb", "\t=1", "", "Lower")  # names that readers of CSV files change, or that our columns have
ASKED = (
    "ContingencyQuestion", "WeightedSummaryQuestion", "CountQuestion", "ScoresQuestion", "CdfQuestion",
    "SummaryQuestion", "SurvivalQuestion",
)  # fmt: skip
READ = """
options(warn = 2)
library(jsonlite)
source(commandArgs(TRUE)[1])
compare <- function(file) {
  result <- read_released(file)
  table <- bands(result, csv = sub("json$", "csv", file))
  frame <- if (has_columns(result)) as.data.frame(result) else table
  difference <- all.equal(frame, table[match(names(frame), names(table))], check.attributes = FALSE)
  if (!isTRUE(difference)) cat(basename(file), "data frame:", difference, "\\n")
  cells <- readLines(sub("json$", "texts", file), encoding = "UTF-8")
  wanted <- vapply(cells, function(cell) rawToChar(as.raw(strtoi(strsplit(cell, " ")[[1]], 16))), "", USE.NAMES = FALSE)
  found <- enc2utf8(c(names(table), if (length(wanted) > ncol(table)) as.character(table[[1]])))
  if (!identical(charToRaw(paste(found, collapse = "|")), charToRaw(paste(wanted, collapse = "|")))) {
    cat(basename(file), "texts:", found, "\\n")
  }
}
for (file in commandArgs(TRUE)[-1]) {
  tryCatch(compare(file), error = function(e) cat(basename(file), "error:", conditionMessage(e), "\\n"))
}
cat("end")
"""
pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


@pytest.fixture(scope="module", autouse=True)
def require_jsonlite() -> None:
    """The reader of the R package needs no other package."""
    probe = subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("the R package jsonlite is not installed")


def write(result: Any, file: Path) -> None:
    """Write the document, its CSV file and, as hexadecimal bytes, its headings and first column, which R must find."""
    file.write_text(result.to_json(), encoding="utf-8")
    file.with_suffix(".csv").write_text(result.to_csv_text(), encoding="utf-8", newline="")
    columns = result.columns_with_intervals()
    labels = next(iter(columns.values())).tolist()
    texts = [*columns, *(labels if all(isinstance(label, str) for label in labels) else ())]
    lines = (text.encode().hex(" ") for text in texts)
    file.with_suffix(".texts").write_text("\n".join(lines) + "\n")


def read_in_r(files: list[Path]) -> None:
    script = files[0].parent / "read.R"
    script.write_text(READ, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", str(script), str(READER), *map(str, files)], capture_output=True, text=True, check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "end"), done.stdout + done.stderr


@pytest.mark.filterwarnings("ignore")
def test_r_reads_names_that_its_reader_changes_and_numbers_that_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a carriage return was read as a line feed, and a mean that is not known as the count."""
    monkeypatch.setattr(test_hostile_names, "RECORDS", 30)
    monkeypatch.setattr(test_hostile_names, "LOSS", dp.PrivacyLoss.pure("0.3"))
    asked = [question for question in test_hostile_names.questions() if type(question).__name__ in ASKED]
    files: list[Path] = []
    for number, question in enumerate(asked):
        budget: dict[str, Any] = {"budget": dp.PrivacyLoss.pure("0.3"), "adjacency": dp.ADD_REMOVE}
        with dp.Session(made_table(), randomness=dp.Randomness.from_seed(number), **budget) as session:
            result = session.ask(question, budget["budget"])
        readings = [result]
        if isinstance(result, dp.ByCategory) and type(question).__name__ == "CountQuestion":
            readings.append(dp.ranking(cast(Any, result)))
        if isinstance(result, dp.ScoresByCategory):
            readings += [dp.group_rates(result), dp.group_curves(result)]
        for reading in readings:
            files.append(tmp_path / f"{len(files)}.json")
            write(renamed(reading, words_at(NAMES.index(HARD[len(files) % len(HARD)]))), files[-1])
    assert any(",," in file.with_suffix(".csv").read_text(encoding="utf-8") for file in files)  # what is not known
    read_in_r(files)


@pytest.mark.reproduction
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_r_reads_every_kind_of_result_with_every_name(part: int, tmp_path: Path) -> None:
    files: list[Path] = []
    for number, name in enumerate(results()):
        for place in range((number + part) % 4, len(NAMES), 4):
            files.append(tmp_path / f"{len(files)}.json")
            write(renamed(results()[name], words_at(place)), files[-1])
    read_in_r(files)
