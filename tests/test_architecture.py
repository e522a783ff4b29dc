"""Who may make what: the promises that an import contract can not hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import dpcurves as dp

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dpcurves"
LONGEST = 400
# Behind the privacy wall, over public numbers: the one place where a caller who names no generator is given one.
PUBLIC_CHANCE = "postprocess/inference/simulation_seed.py"


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def place(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(encoding="utf-8"), filename=str(file)))


def dotted(node: ast.AST) -> str:
    """``np.random.default_rng`` as it is written; empty for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def names(file: Path) -> Iterator[str]:
    """The names that stand in the code of a file, and its words of one string each."""
    for node in nodes(file):
        found = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        words = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else found
        if isinstance(words, str) and " " not in words:
            yield words.replace("-", "_")


def callers(name: str) -> set[str]:
    """Files that call `name`, plainly or as an attribute of a module or an object."""
    return {
        place(file)
        for file in files()
        for node in nodes(file)
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == name
    }


@pytest.mark.parametrize(
    ("name", "room"),
    [("Grant", "ledger/"), ("Allotment", "ledger/budget.py"), ("Release", "trust/"), ("tabulate", "trust/")],
)
def test_what_opens_data_or_proves_a_charge_is_made_in_one_place(name: str, room: str) -> None:
    makers = callers(name)
    assert makers, f"nobody makes a {name}: it has another name now, and this test guards nothing"
    assert {maker for maker in makers if not maker.startswith(room)} == set()


@pytest.mark.parametrize("noun", ["Grant", "Allotment", "Release"])
def test_a_guarded_noun_has_no_second_name_and_no_child(noun: str) -> None:
    renamed = {
        place(file)
        for file in files()
        for node in nodes(file)
        if (isinstance(node, ast.ImportFrom) and any(alias.name == noun and alias.asname for alias in node.names))
        or (isinstance(node, ast.ClassDef) and any(dotted(base).rpartition(".")[2] == noun for base in node.bases))
        or (isinstance(node, ast.Assign) and dotted(node.value).rpartition(".")[2] == noun)
    }
    assert renamed == set()


def draws(node: ast.AST) -> bool:
    """Whether the node reaches for a generator other than as the type of an argument."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "random" or alias.name == "numpy.random" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return node.module in {"random", "numpy.random"} or (node.module == "numpy" and "random" in names)
    if isinstance(node, ast.Attribute):
        name = dotted(node)
        return name.startswith(("np.random.", "numpy.random.")) and not name.endswith(".random.Generator")
    return False


def test_no_file_reaches_for_a_generator_of_its_own() -> None:
    found = [f"{place(file)}:{getattr(node, 'lineno', 0)}" for file in files() for node in nodes(file) if draws(node)]
    assert [line for line in found if not line.startswith(PUBLIC_CHANCE)] == []
    assert found, "nobody draws: this test guards nothing"


def test_no_file_is_long() -> None:
    lengths = {place(file): len(file.read_text(encoding="utf-8").splitlines()) for file in files()}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_a_distribution_function_is_read_through_few_files() -> None:
    """From its JSON: with quantiles, a band and a note."""
    curve = dp.cdf(np.linspace(0, 1, 5000), grid=dp.Grid(0, 1, cells=4096), epsilon=1, adjacency=dp.ADD_REMOVE)
    stored, seen = curve.to_json(), set[str]()

    def called(frame: FrameType, event: str, given: object) -> None:
        seen.add(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        curve = dp.CDF.from_json(stored)
        assert np.all(curve.band(0.9)[0] <= curve.y)
        assert 0 <= curve.quantile(0.5) <= 1
    finally:
        sys.setprofile(None)
    own = {place(Path(name)) for name in seen if Path(name).is_relative_to(SOURCE)}
    assert "curves/cdf.py" in own
    assert len(own) <= 40


@pytest.mark.parametrize(
    ("noun", "edited"),
    [
        ("precision_?recall", {"curves/__init__.py", "curves/scores.py", "cli/score_views.py"}),
        ("survival_?(question|view|commands)", {"curves/__init__.py", "table_shortcuts.py", "cli/one_table.py"}),
    ],
)
def test_a_curve_edits_three_files_besides_its_own(noun: str, edited: set[str]) -> None:
    naming = {place(file) for file in files() if any(re.search(noun, name.lower()) for name in names(file))}
    assert {file for file in naming if not re.search("precision_recall|survival", file)} == edited


def test_no_docstring_leaves_its_subject_out() -> None:
    """A docstring begins with a verb or a noun, never with Of, As or The same."""
    everywhere = (
        file
        for room in ("src", "tests", "benchmarks", "papers", "demo", "docs")
        for file in (ROOT / room).rglob("*.py")
    )
    short = {
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in everywhere
        for node in nodes(file)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if node.value.value.startswith(("Of ", "As ", "The same "))
    }
    assert short == set()


def test_the_import_contracts_hold() -> None:
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pins_are_names_and_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert [line for line in lines if line.count("==") != 1 or "/" in line or ":" in line] == []
