"""Print the countable end conditions of the code's structure, each beside its mark: `make house`.

Nothing fails here: figures are for people who decide what is folded or moved next. Lines are physical lines of Python
files, without menus (``.pyi``). Files that a curve passes are those whose functions are called, in all threads, when it
is asked for a second time, with records and ledger included; functions are distinct code objects, so that a warm cache
is not counted, nor are lambdas and comprehensions. `make test` from a clean clone is not timed here.
"""

from __future__ import annotations

import ast
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from exercise import count_edits
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
CORE = "dpcurves"
MEANT_FOR_ALL = ("dpcurves_parties.serving",)
"""Rooms of wings that other wings may import."""
JUDGES = (f"{CORE}_audit.faces", f"{CORE}_audit.deployments")
"""Rooms that import what they judge: not counted as arrows."""
RELATIVE = re.compile(r"(What|How|Who|Where|Which|Whether|One|All)\b")
REGISTRIES = (f"{CORE}/distributions/", f"{CORE}/queries/")
MEGABYTE = 10**6


class Module(NamedTuple):
    """A module: its dotted name, file, text and syntax tree."""

    name: str
    file: Path
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The import package that it belongs to."""
        return self.name.partition(".")[0]

    @property
    def inside(self) -> str:
        """The package that its relative imports begin from."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]


class Row(NamedTuple):
    """A measure, the figure of today, and its mark."""

    measure: str
    today: str
    mark: str


def modules() -> list[Module]:
    """All modules of all import packages."""
    found = []
    for package in sorted(SOURCE.glob(f"{CORE}*/__init__.py")):
        for file in sorted(package.parent.rglob("*.py")):
            name = ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            text = file.read_text(encoding="utf-8")
            found.append(Module(name, file, text, ast.parse(text)))
    return found


def imported(module: Module) -> Iterator[str]:
    """The dotted names that a module imports, those inside of functions included.

    What the face of the core, `dpcurves` itself, tells type checkers alone is left out: it is not imported.
    """
    told = [node for node in module.tree.body if isinstance(node, ast.If) and module.name == CORE]
    unseen = {id(below) for node in told for below in ast.walk(node)}
    for node in ast.walk(module.tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.inside.split(".")
            start = above[: len(above) - node.level + 1] if node.level else []
            yield ".".join([*start, *([node.module] if node.module else [])])


def sizes(found: Iterable[Module]) -> list[Row]:
    """Lines and files of the core and of all packages, and the share of imports."""
    everything = list(found)
    core = [each for each in everything if each.package == CORE]
    lines = {len(part): sum(each.text.count("\n") for each in part) for part in (core, everything)}
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for each in everything
        for node in ast.walk(each.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    share = imports / lines[len(everything)]
    split = []
    for part in (core, everything):
        blank, told = (sum(map(counted, part)) for counted in (_blank, _docstrings))
        split.append(f"{lines[len(part)] - blank - told:,} + {told:,} + {blank:,}")
    return [
        Row("lines of the core; all", f"{lines[len(core)]:,}; {lines[len(everything)]:,}", "33,000; 60,000"),
        Row("of these code + docstrings + blank, core", split[0], ""),
        Row("of these code + docstrings + blank, all", split[1], ""),
        Row("files of the core; all", f"{len(core)}; {len(everything)}", "200; 380"),
        Row("share of imports in lines", f"{share:.1%}", "6 %"),
    ]


def _blank(module: Module) -> int:
    """Empty lines outside of docstrings."""
    inside = {line for first, last in _texts(module) for line in range(first, last + 1)}
    return sum(not line.strip() and number not in inside for number, line in enumerate(module.text.splitlines(), 1))


def _docstrings(module: Module) -> int:
    """Lines of docstrings, and of texts below the constants that they explain."""
    return sum(last - first + 1 for first, last in _texts(module))


def _texts(module: Module) -> list[tuple[int, int]]:
    alone = (node for node in ast.walk(module.tree) if isinstance(node, ast.Expr))
    texts = (node for node in alone if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    return [(node.lineno, node.end_lineno or node.lineno) for node in texts]


def arrows(found: Iterable[Module]) -> list[Row]:
    """Imports from the core into wings, and from one wing into another but through serving."""
    counted: Counter[str] = Counter()
    for module in found:
        for name in set(imported(module)) if module.name not in JUDGES else ():
            package = name.partition(".")[0]
            if package in (CORE, module.package) or not package.startswith(f"{CORE}_"):
                continue
            shared = any(name == room or name.startswith(f"{room}.") for room in MEANT_FOR_ALL)
            counted["core" if module.package == CORE else "shared" if shared else "wing"] += 1
    told = f"{counted['core']}; {counted['wing']} (and {counted['shared']} to serving)"
    return [Row("arrows core to wing; wing to wing", told, "0; 0")]


def repeated_classes(found: Iterable[Module]) -> Row:
    """Class names that stand for several classes inside one package."""
    names = Counter(
        (module.package, node.name)
        for module in found
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    )
    return Row("class names that stand for several", str(sum(count > 1 for count in names.values())), "0")


def relative_docstrings(found: Iterable[Module]) -> Row:
    """Docstrings that begin with a relative or an indefinite word."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = [ast.get_docstring(node) for each in found for node in ast.walk(each.tree) if isinstance(node, kinds)]
    told = [each for each in said if each]
    odd = sum(bool(RELATIVE.match(each)) for each in told)
    return Row("docstrings that begin with a relative word", f"{odd / len(told):.1%} of {len(told):,}", "3 %")


def asked_kinds(found: Iterable[Module]) -> Row:
    """Calls of `isinstance`, and patterns, that ask for an own query or distribution, outside of their rooms."""
    everything = list(found)
    kinds = {"Query", "OutputDistribution"}
    for _ in range(5):  # children of children
        kinds |= {
            node.name
            for each in everything
            for node in ast.walk(each.tree)
            if isinstance(node, ast.ClassDef) and kinds & {_last(base) for base in node.bases}
        }
    asked = sum(
        bool(kinds & {_last(part) for part in ast.walk(where)})
        for each in everything
        if not each.file.relative_to(SOURCE).as_posix().startswith(REGISTRIES)
        for node in ast.walk(each.tree)
        if (where := _asked(node)) is not None
    )
    return Row("isinstance on own queries or distributions outside registries", str(asked), "10")


def _asked(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call) and _last(node.func) in ("isinstance", "issubclass"):
        return node.args[1]
    return node.cls if isinstance(node, ast.MatchClass) else None


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class Passed:
    """Profiler of all threads: the code objects of our packages that are entered while it listens."""

    def __init__(self) -> None:
        self.entered: set[CodeType] = set()
        self.listens = False
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, given: Any) -> None:
        if self.listens and event == "call":
            self.entered.add(frame.f_code)

    def of(self, work: Callable[[], object]) -> tuple[int, int]:
        """Return the numbers of files and of functions of our packages that the second of two calls of `work` enters.

        Functions are distinct code objects, methods, properties, nested functions and generators included. Lambdas,
        comprehensions and generator expressions, whose names begin with ``<``, are not counted.
        """
        work()
        self.entered, self.listens = set(), True
        try:
            work()
        finally:
            self.listens = False
        ours = [code for code in self.entered if Path(code.co_filename).is_relative_to(SOURCE)]
        return len({code.co_filename for code in ours}), sum(not code.co_name.startswith("<") for code in ours)


def passed_code() -> list[Row]:
    """Files that a CDF, a ROC curve and a CDF of the command line pass, and functions that the CDF passes."""
    passed = Passed()

    import numpy as np
    from click.testing import CliRunner

    import dpcurves as dp
    from dpcurves.cli.app import build

    warnings.simplefilter("ignore", dp.CurveWarning)
    values = np.linspace(0, 1, 5000)
    grid, terms = dp.Grid(0, 1, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    counted = [
        passed.of(lambda: dp.cdf(values, grid=grid, **terms)),
        passed.of(lambda: dp.roc_curve(values > 0.5, values, **terms)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        data, ledger = Path(folder, "ages.csv"), f"sqlite:///{folder}/ledger.db"
        data.write_text("age\n" + "\n".join(str(age % 90) for age in range(5000)), encoding="utf-8")
        runner = CliRunner()

        def run(*words: str) -> None:
            done = runner.invoke(build(), words)
            if done.exit_code:
                raise RuntimeError(done.output)

        run("ledger", "create", ledger, "--dataset", "ages", "--epsilon", "100", "--adjacency", "replace-one")
        asked = ("cdf", str(data), "--column", "age", "--grid", "0:100:100", "--epsilon", "1", "--ledger", ledger)
        counted.append(passed.of(lambda: run(*asked)))
    threading.setprofile(None)
    sys.setprofile(None)
    return [
        Row("files that a CDF, a ROC, a CLI CDF passes", ", ".join(str(files) for files, _ in counted), "40, 45, 55"),
        Row("functions that a warm dp.cdf passes, without lambdas", str(counted[0][1]), "450"),
    ]


CURVE = """
import sys
import dpcurves as dp
dp.cdf([age % 90 for age in range(5000)], grid=dp.Grid(0, 100, cells=100), epsilon=1, adjacency=dp.REPLACE_ONE)
print(sum(name.partition(".")[0].partition("_")[0] == "dpcurves" for name in sys.modules))
"""


def fresh_processes() -> list[Row]:
    """Modules that a first curve loads, and CPU time of an import and of a first curve, each in a fresh interpreter."""
    loaded = subprocess.run([sys.executable, "-c", CURVE], check=True, capture_output=True, text=True).stdout
    alone, imports, curve = (_cpu_seconds(code) for code in ("pass", "import dpcurves", CURVE))
    return [
        Row("modules that dp.cdf loads", loaded.strip(), "120"),
        Row("import dpcurves; first curve, CPU", f"{1000 * (imports - alone):.0f} ms; {curve:.2f} s", "20 ms; 1.0 s"),
    ]


def _cpu_seconds(code: str) -> float:
    """CPU seconds of a fresh interpreter: the least of three runs after one that writes byte code."""
    taken = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken[1:])


def installed_size() -> Row:
    """Megabytes of the base install's dependencies and of our packages, from the files of this environment."""
    todo, seen = [CORE], set[str]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for each in map(Requirement, needed):
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                todo.append(each.name.lower().replace("_", "-"))
    octets = sum(
        each.stat().st_size for each in SOURCE.rglob("*") if each.is_file() and each.parent.name != "__pycache__"
    )
    for name in seen - {CORE}:
        octets += sum(
            place.stat().st_size
            for file in distribution(name).files or ()
            if os.path.exists(place := Path(str(file.locate()))) and place.suffix != ".pyc"
        )
    return Row("base install, without byte code", f"{octets / MEGABYTE:.0f} MB", "300 MB")


def exercises() -> list[Row]:
    """Files of src that each exercise edits; `make exercise` runs them."""
    return [
        Row(f"files edited for a new {kind}; new files", f"{edited}; {new}", str(mark))
        for kind, edited, new, mark in count_edits()
    ]


def rows() -> Iterator[Row]:
    """All measures, the slow ones last."""
    found = modules()
    yield from sizes(found)
    yield from arrows(found)
    yield repeated_classes(found)
    yield relative_docstrings(found)
    yield asked_kinds(found)
    yield from exercises()
    yield installed_size()
    yield from passed_code()
    yield from fresh_processes()


if __name__ == "__main__":
    print(f"{'measure':<56}{'today':>28}{'mark':>18}")
    for row in rows():
        print(f"{row.measure:<56}{row.today:>28}{row.mark:>18}", flush=True)
