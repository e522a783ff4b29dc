"""Scripts import what exists, and call it as it is: demos, benchmarks, papers, examples, tools of docs and releases.

Most of them are not run by `make test`. A name of the package that was renamed, or
an argument that was added, would break them unseen.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("demo", "benchmarks", "papers", "examples", "docs", "publish")
EXERCISES = ROOT / "docs" / "exercises"
"""New files and checks of exercises import what they add to a copy of `src`: `tests/test_exercise.py` is about them."""
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if EXERCISES not in path.parents)
SEARCH_PATH = ("demo", "benchmarks", "papers", "docs", "publish", "tests", "tests/released")
"""Folders from which scripts import their neighbours."""


def relative_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def defined_names(path: Path) -> frozenset[str]:
    """Names that a script defines or imports outside of functions and classes."""
    names: set[str] = set()
    statements: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while statements:
        statement = statements.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
        else:
            names |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            statements += [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
    return frozenset(names)


def appended_folders(tree: ast.Module) -> list[Path]:
    """Folders that a script adds to its search path, as in `sys.path.append(str(ROOT / "tests" / "sites"))`."""
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.path.append"
    ]
    parts = [[node.value for node in ast.walk(call) if isinstance(node, ast.Constant)] for call in calls]
    # `ast.walk` meets the last part of `a / "b" / "c"` first.
    return [ROOT.joinpath(*(part for part in reversed(names) if isinstance(part, str))) for names in parts]


def find_script(module: str, importer: Path, appended: Sequence[Path]) -> Path | None:
    """The file of a module that stands beside the script that imports it, or in a folder of its search path."""
    stem = module.replace(".", "/")
    for folder in (importer.parent, *appended, *importer.parent.parents, *(ROOT / name for name in SEARCH_PATH)):
        for path in (folder / f"{stem}.py", folder / stem / "__init__.py"):
            if path.is_file() and ROOT in path.parents:
                return path
    return None


def has_name(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def missing_attributes(tree: ast.Module, aliases: dict[str, ModuleType]) -> Iterator[str]:
    """Attributes of modules of the package, such as `dp.cdf`, that do not exist."""
    rebound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    rebound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in rebound:
            module = aliases.get(node.value.id)
            if module is not None and not has_name(module.__name__, node.attr):
                yield f"line {node.lineno}: {module.__name__}.{node.attr}"


def rejected_calls(tree: ast.Module, members: dict[str, Any], aliases: dict[str, ModuleType]) -> Iterator[str]:
    """Calls of functions and classes of the package with arguments that these do not take, or without required ones."""
    rebound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    rebound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function, called = call.func, None
        if isinstance(function, ast.Name) and function.id not in rebound:
            called = members.get(function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = aliases.get(function.value.id) if function.value.id not in rebound else None
            called = getattr(module, function.attr, None) if module is not None else None
        if callable(called) and (reason := _reason_of_rejection(called, call)):
            yield f"line {call.lineno}: {ast.unparse(function)}: {reason}"


def _reason_of_rejection(called: Callable[..., Any], call: ast.Call) -> str:
    """Return why a call does not fit the signature; empty if it fits, or cannot be judged from its text."""
    names = [keyword.arg for keyword in call.keywords]
    is_open = None in names or any(isinstance(argument, ast.Starred) for argument in call.args)
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # a class of C, or without a signature
        return ""
    bind = signature.bind_partial if is_open else signature.bind
    places = [argument for argument in call.args if not isinstance(argument, ast.Starred)]
    try:
        bind(*places, **{name: None for name in names if name is not None})
    except TypeError as error:
        return str(error)
    return ""


def unresolved_names(path: Path) -> list[str]:
    """What a script imports or uses and does not exist, and what it calls with arguments that do not fit."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    appended = appended_folders(tree)
    missing: list[str] = []
    aliases: dict[str, ModuleType] = {}
    members: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("dpcurves"):
                    module = importlib.import_module(alias.name)
                    aliases[alias.asname or alias.name] = module
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module.startswith("dpcurves"):
                missing += [
                    f"line {node.lineno}: {node.module}.{alias.name}"
                    for alias in node.names
                    if not has_name(node.module, alias.name)
                ]
                for alias in node.names:
                    member = getattr(importlib.import_module(node.module), alias.name, None)
                    if isinstance(member, ModuleType) and member.__name__.startswith("dpcurves"):
                        aliases[alias.asname or alias.name] = member
                    members[alias.asname or alias.name] = member
            elif (script := find_script(node.module, path, appended)) is not None:
                names = defined_names(script)
                missing += [
                    f"line {node.lineno}: {node.module}.{alias.name}"
                    for alias in node.names
                    if alias.name not in names and find_script(f"{node.module}.{alias.name}", path, appended) is None
                ]
    return [*missing, *missing_attributes(tree, aliases), *rejected_calls(tree, members, aliases)]


@pytest.mark.parametrize("path", SCRIPTS, ids=relative_name)
def test_a_script_imports_what_exists(path: Path) -> None:
    assert unresolved_names(path) == []


def test_a_name_that_moved_is_noticed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import dpcurves as dp\n"
        "from dpcurves_sites.relay import LENGTH, MessageBoard\n"
        "from dpcurves import display\n"
        "from dpcurves.curves.score_groups import build_score_groups\n"
        "dp.cdf, dp.no_such_curve, display.no_such_picture\n"
        "build_score_groups(1, 2), build_score_groups(1, 2, groups=3), dp.Grid(0, 1, cels=4)\n",
        encoding="utf-8",
    )
    assert unresolved_names(script) == [
        "line 2: dpcurves_sites.relay.LENGTH",
        "line 5: dpcurves.no_such_curve",
        "line 5: dpcurves.display.no_such_picture",
        "line 6: build_score_groups: missing a required argument: 'groups'",
        "line 6: dp.Grid: got an unexpected keyword argument 'cels'",
    ]
