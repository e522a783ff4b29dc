"""The R package and the R code of benchmarks and pages parse, also where R is not installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
