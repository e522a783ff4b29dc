"""Who may make what: the promises that an import contract can not hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np
import pytest

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.distributions import OutputDistribution
from dpcurves_sim.cli import simulate

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dpcurves"
PACKAGES = ROOT / "src"
"""The core, and the folder of it and the packages beside it."""
# Behind the privacy wall, over public numbers: the one place where a caller who names no generator is given one.
PUBLIC_CHANCE = "inference/simulation.py"


@cache
def files() -> list[Path]:
    return sorted(file for package in PACKAGES.glob("dpcurves*/") for file in package.rglob("*.py"))


def place(file: Path) -> str:
    """Where a file is: below the core, or below the folder of all packages."""
    return file.relative_to(SOURCE if file.is_relative_to(SOURCE) else PACKAGES).as_posix()


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """The nodes of a file, parsed once for all tests here."""
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"), filename=str(file))))


@cache
def of_kind(file: Path, *kinds: type[ast.AST]) -> tuple[Any, ...]:
    """The nodes of a file of some kinds."""
    return tuple(node for node in nodes(file) if isinstance(node, kinds))


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
        for node in of_kind(file, ast.Call)
        if dotted(node.func).rpartition(".")[2] == name
    }


TRUST = (
    "trust/", "dpcurves_local/trust.py", "dpcurves_parties/pairs/release.py",
    "dpcurves_parties/shares/function_shares.py", "dpcurves_sites/trust.py", "dpcurves_streams/trust.py",
)  # fmt: skip
"""Trust models: of the core, and of the packages beside it."""


ELSEWHERE = {"dpcurves_sites/flower.py", "dpcurves_sites/nvflare.py"}
"""Apps of frameworks that are installed in environments of their own."""


def test_every_module_can_be_imported_whether_it_has_doctests_or_not() -> None:
    names = [file.relative_to(PACKAGES) for file in files() if file.name != "__main__.py"]
    modules = [
        name.with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
        for name in names
        if name.as_posix() not in ELSEWHERE
    ]
    assert len(modules) > 400
    assert [name for name in modules if import_module(name).__name__ != name] == []


@pytest.mark.parametrize(
    ("name", "rooms"),
    [
        ("Grant", ("ledger/",)),
        ("Allotment", ("ledger/account.py",)),
        ("Release", TRUST),
        ("tabulate", (*TRUST, "dpcurves_audit/targets.py", "dpcurves_audit/deployments.py")),
    ],
)
def test_what_opens_data_or_proves_a_charge_is_made_in_one_place(name: str, rooms: tuple[str, ...]) -> None:
    makers = callers(name)
    assert makers, f"nobody makes a {name}: it has another name now, and this test guards nothing"
    assert {maker for maker in makers if not maker.startswith(rooms)} == set()


@pytest.mark.parametrize("noun", ["Grant", "Allotment", "Release"])
def test_a_guarded_noun_has_no_second_name_and_no_child(noun: str) -> None:
    renamed = {
        place(file)
        for file in files()
        for node in of_kind(file, ast.ImportFrom, ast.ClassDef, ast.Assign)
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


def files_of(work: Callable[[], object]) -> set[str]:
    """The files of the package whose functions are called, once everything is loaded."""
    work()
    seen = set[str]()

    def called(frame: FrameType, event: str, given: object) -> None:
        seen.add(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {place(Path(name)) for name in seen if Path(name).is_relative_to(PACKAGES)}


def cdf_of(cells: int) -> dp.CDF:
    return dp.cdf(np.linspace(0, 1, 5000), grid=dp.Grid(0, 1, cells=cells), epsilon=1, adjacency=dp.REPLACE_ONE)


def test_a_distribution_function_is_read_through_few_files() -> None:
    """From its JSON: with quantiles, a band and a note."""
    stored = cdf_of(4096).to_json()

    def read() -> None:
        curve = dp.CDF.from_json(stored)
        assert np.all(curve.band(0.9)[0] <= curve.y)
        assert 0 <= curve.quantile(0.5) <= 1

    own = files_of(read)
    assert "curves/cdf.py" in own
    assert len(own) <= 40


def test_a_question_goes_to_its_curve_through_at_most_forty_files() -> None:
    """From a table to a curve, where the ledger's and the engines' are left out: they are the same for all questions.

    A false alarm: in one turn noise that 64 bits do not settle, with a chance below 1e-11. In three turns noise decides
    what is counted: 46 files are usual, and a scale of noise that is new takes one more.
    """
    in_one_turn, in_three = files_of(lambda: cdf_of(64)), files_of(lambda: cdf_of(4096))
    shared = ("ledger/", "records/")
    assert {"session.py", "trust/central.py", "curves/cdf.py"} <= in_one_turn
    assert len({file for file in in_one_turn if not file.startswith(shared)}) <= 40
    assert len({file for file in in_three if not file.startswith(shared)}) <= 49


@pytest.mark.parametrize(
    ("noun", "edited"),
    [
        (
            "precision_?recall",
            {"curves/__init__.pyi", "curves/class_curves.py", "curves/scores.py", "cli/scores.py", "display/scores.py"},
        ),
        (
            "survival_?(question|view|commands)",
            {"dpcurves_audit/questions.py"},
        ),
    ],
)
def test_a_curve_edits_four_files_besides_its_own(noun: str, edited: set[str]) -> None:
    everywhere = [*files(), *PACKAGES.rglob("*.pyi")]
    naming = {place(file) for file in everywhere if any(re.search(noun, name.lower()) for name in names(file))}
    assert {file for file in naming if not re.search("precision_recall|survival", file)} == edited


def asked_for_kinds(file: Path) -> Iterator[str]:
    """The classes that `isinstance`, `issubclass` or a pattern of `match` ask for."""
    for node in of_kind(file, ast.Call, ast.MatchClass):
        if isinstance(node, ast.Call) and dotted(node.func) in ("isinstance", "issubclass"):
            yield from (dotted(each).rpartition(".")[2] for each in ast.walk(node.args[1]))
        if isinstance(node, ast.MatchClass):
            yield dotted(node.cls).rpartition(".")[2]


def test_nobody_asks_which_distribution_it_is_but_the_files_of_distributions() -> None:
    kinds, homes = {OutputDistribution.__name__}, set[str]()
    classes = [(place(file), node) for file in files() for node in of_kind(file, ast.ClassDef)]
    for _ in range(4):  # children of children
        found = [(file, node) for file, node in classes if kinds & {dotted(base) for base in node.bases}]
        kinds |= {node.name for _, node in found}
        homes |= {file for file, _ in found}
    assert {"ToeplitzSums", "PairAnswers", "BufferedPrefixes"} <= kinds
    asking = {place(file) for file in files() if kinds & set(asked_for_kinds(file))}
    assert asking, "nobody asks: this test guards nothing"
    assert {file for file in asking if not file.startswith("distributions/")} <= homes


RELATIVE = re.compile(r"""["'](?:Of|As|The same) """)


def test_no_docstring_leaves_its_subject_out() -> None:
    """A docstring begins with a verb or a noun, never with Of, As or The same."""
    everywhere = (
        file
        for room in ("src", "tests", "benchmarks", "papers", "demo", "docs")
        for file in (ROOT / room).rglob("*.py")
        if RELATIVE.search(file.read_text(encoding="utf-8"))  # few are parsed
    )
    short = {
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in everywhere
        for node in of_kind(file, ast.Expr)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if node.value.value.startswith(("Of ", "As ", "The same "))
    }
    assert short == set()


BEGINNING = re.compile(r"(?:\A|\n[ \t]*\n[ \t]*|\n[ \t]+\w+: )(?:Of|As|The same)\b")


def test_no_paragraph_and_no_entry_of_a_docstring_leaves_its_subject_out() -> None:
    short = {
        f"{place(file)}:{node.lineno}"
        for file in files()
        for node in of_kind(file, ast.Expr)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if BEGINNING.search(node.value.value)
    }
    assert BEGINNING.search("Text.\n\n    Of those."), "this test guards nothing"
    assert short == set()


NAME_IN_TEXT = re.compile(r"\bdp\.[A-Za-z_]\w*|(?<![\w-])--[a-z][a-z-]+")
OPTIONS_OF_OTHERS = {
    "--no-": "a pattern", "--write": "of a benchmark", "--disable-runtime-dependency-installation": "of Flower",
    "--node-config": "of Flower",
}  # fmt: skip
"""Options in texts of the package that no command of ours has."""


def list_options(command: click.Command) -> Iterator[str]:
    """Yield the options of a command and of the commands below it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from list_options(below)


def test_texts_name_options_and_functions_that_are_there() -> None:
    """A message that says what to type is no help if there is no such thing."""
    known = {
        *list_options(build()),
        *list_options(simulate),
        "--help",
        *OPTIONS_OF_OTHERS,
        *(f"dp.{name}" for name in dir(dp)),
    }
    texts = (
        (file, node)
        for file in files()
        for node in of_kind(file, ast.Constant)
        if isinstance(node.value, str) and ("--" in node.value or "dp." in node.value) and ":root{" not in node.value
    )
    unknown = {
        f"{place(file)}:{node.lineno} {name}"
        for file, node in texts
        for name in NAME_IN_TEXT.findall(node.value)
        if name not in known
    }
    assert unknown == set()


def list_late_constants(file: Path) -> Iterator[str]:
    """Yield the module constants of a file that are assigned more than 60 lines after their first use, but for values
    that need a function or class which the file defines after that use, and for a `Tuning` of more than 50 lines, which
    stands at the end so that the file begins with what it does."""
    module = nodes(file)[0]
    assert isinstance(module, ast.Module)
    assigned: dict[str, ast.Assign] = {}
    defined: dict[str, int] = {}
    long_tuning = set[str]()
    for statement in module.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Tuning":
            long_tuning = {"Tuning"} if (statement.end_lineno or 0) > statement.lineno + 50 else set()
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            assigned.setdefault(statement.targets[0].id, statement)
            defined.setdefault(statement.targets[0].id, statement.lineno)
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            defined[statement.name] = statement.lineno
    first_uses: dict[str, int] = {}
    for name in of_kind(file, ast.Name):
        if name.id in assigned and isinstance(name.ctx, ast.Load):
            first_uses[name.id] = min(first_uses.get(name.id, name.lineno), name.lineno)
    for constant, use in first_uses.items():
        needed = {name.id for name in ast.walk(assigned[constant].value) if isinstance(name, ast.Name)}
        needed -= {"Tuning"} - long_tuning
        if assigned[constant].lineno > use + 60 and not any(defined.get(name, 0) > use for name in needed):
            yield f"{place(file)}: {constant}"


def test_a_constant_stands_above_its_first_use_or_close_below_it() -> None:
    assert [late for file in files() for late in list_late_constants(file)] == []


def test_the_import_contracts_hold() -> None:
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"
    done = subprocess.run([sys.executable, "-c", lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pins_are_names_and_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert [line for line in lines if line.count("==") != 1 or "/" in line or ":" in line] == []
