"""The R package and the R code of benchmarks and pages parse, also where R is not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpcurves.curves.result import result_from_json

ROOT = Path(__file__).resolve().parents[1]
AIR = shutil.which("air", path=Path(sys.executable).parent) or shutil.which("air")
"""A formatter of R code, of the development group, that parses with the grammar of tree-sitter."""
BLOCK = re.compile(r"```r\n(.*?)```", re.DOTALL)
pytestmark = pytest.mark.skipif(AIR is None, reason="air is not installed: `make test` installs it")


def collect_r_code() -> dict[str, str]:
    """All R files, and all R blocks of pages and examples, by file and number."""
    files = [*(ROOT / "r").rglob("*.R"), *(ROOT / "benchmarks").glob("*.R")]
    code = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(files)}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    for page in sorted(pages):
        for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
            code[f"{page.relative_to(ROOT).as_posix()} {number}"] = block
    return code


CODE = collect_r_code()


def parse_r(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "code.R"
    file.write_text(code, encoding="utf-8")
    return subprocess.run([str(AIR), "format", str(file)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", CODE)
def test_r_code_parses(name: str, tmp_path: Path) -> None:
    done = parse_r(CODE[name], tmp_path)
    assert done.returncode == 0, done.stderr


def test_r_code_that_lacks_a_bracket_does_not_parse(tmp_path: Path) -> None:
    assert "Failed to parse" in parse_r(CODE["r/R/plan.R"] + "f <- function(x {\n", tmp_path).stderr


def test_the_pages_on_r_and_the_package_are_among_the_code() -> None:
    assert {"r/R/layers.R", "docs/r.md 1"} <= set(CODE)


EVERY_KIND = """
options(warn = 2)
library(dpcurves)
suppressMessages(library(ggplot2))
for (file in commandArgs(TRUE)) {
  result <- read_released(file)
  table <- bands(result, csv = sub("json$", "csv", file))
  if (dpcurves:::has_columns(result)) {
    frame <- as.data.frame(result)
    difference <- all.equal(frame, table[names(frame)], check.attributes = FALSE)
    if (!isTRUE(difference)) stop(paste(result$kind, difference))
  }
  stopifnot(!anyDuplicated(names(generics::tidy(result, csv = sub("json$", "csv", file)))))
  stopifnot(nrow(generics::glance(result)) == 1, nzchar(statement(result)))
  plotted <- ggplot() + geom_released(result, picture = sub("json$", "picture", file))
  grob <- ggplotGrob(plotted)
  cat(result$kind, "")
}
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_reads_and_draws_a_result_of_every_kind_with_the_numbers_of_its_csv_file(tmp_path: Path) -> None:
    wanted = "all(sapply(c('ggplot2', 'generics', 'jsonlite', 'survival'), requireNamespace, quietly = TRUE))"
    probe = subprocess.run(["Rscript", "-e", f"cat({wanted})"], capture_output=True, text=True, check=True)
    if not probe.stdout.endswith("TRUE"):
        pytest.skip("an R package is not installed")
    newest = sorted((ROOT / "tests" / "released").glob("*/curves.jsonl"))[-1]
    lines = newest.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        file = tmp_path / f"{number}.json"
        file.write_text(line, encoding="utf-8")
        result = result_from_json(line)
        file.with_suffix(".csv").write_text(result.to_csv_text(level=0.95, population=True), encoding="utf-8")
        file.with_suffix(".picture").write_text(result.describe_picture().to_json(), encoding="utf-8")
    library = tmp_path / "library"
    library.mkdir()
    install = ["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", str(ROOT / "r")]
    subprocess.run(install, capture_output=True, check=True)
    script = tmp_path / "every.R"
    script.write_text(EVERY_KIND, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", str(script), *map(str, sorted(tmp_path.glob("*.json")))],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "R_LIBS": str(library)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(lines)
