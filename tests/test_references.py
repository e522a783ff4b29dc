"""Back-ticked names and paths in pages, comments and docstrings exist: `dpcurves.data.Grid`, `mechanisms/auto.py`.

Decisions (docs/decisions) tell what was, and are not looked at.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("publish/*.md"), *ROOT.glob("papers/*.md")]
CODE = [file for name in ("src", "tests", "benchmarks", "demo", "docs") for file in (ROOT / name).rglob("*.py")]
FILES = sorted(file for file in {*PAGES, *CODE, ROOT / "Makefile"} if file != Path(__file__))
SUBPACKAGES = sorted(file.parent.name for file in (ROOT / "src" / "dpcurves").glob("*/__init__.py"))
NAME = re.compile(
    r"`((?:dp|dpcurves\w*)(?:\.(?!py`|pyi`)[A-Za-z_]\w*)+)(?:\([^`]*\))?`"
    rf"|`((?:{'|'.join(SUBPACKAGES)})(?:\.(?!py`|pyi`)[A-Za-z_]\w*)+)`"
)
PATH = re.compile(
    r"`((?:[\w.-]+/)+[\w-]+\.(?:py|pyi|md|json|toml|yml|R|css|js)|(?:src|docs|tests|benchmarks)/[\w./-]*)`"
)
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|_[A-Z]{3,}\b")
"""A name such as that in `curves/NAME.py`: the reader puts a name there."""
EXAMPLES = {"analyses/wages.sql"}
"""Files that a page tells the reader to write."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS = set(PROJECT["entry-points"])
FOLDERS = [ROOT, ROOT / "src", ROOT / "tests", *(path for path in (ROOT / "src").iterdir() if path.is_dir())]


@cache
def has_name(dotted: str) -> bool:
    """Whether a dotted name is a module, or an attribute of what stands before its last dot."""
    head, *rest = dotted.split(".")
    parts = (
        ["dpcurves", *rest]
        if head == "dp"
        else [head, *rest]
        if head.startswith("dpcurves")
        else ["dpcurves", head, *rest]
    )
    for end in range(len(parts), 0, -1):
        try:
            target: object = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for name in parts[end:]:
            fields = getattr(target, "__annotations__", {})
            if not hasattr(target, name):
                return name in fields or name in getattr(target, "__slots__", ())
            target = getattr(target, name)
        return True
    return False


def has_path(path: str, file: Path) -> bool:
    """Whether a path leads somewhere: from the root, from a package, or from the file that names it."""
    return any((folder / path).exists() for folder in (*FOLDERS, file.parent, *file.parent.parents))


def dead_references(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8")
    for match in NAME.finditer(text):
        name = match[1] or match[2]
        if name not in ENTRY_POINTS and not has_name(name):
            yield f"line {text.count(chr(10), 0, match.start()) + 1}: {name}"
    for match in PATH.finditer(text):
        if not PLACEHOLDER.search(match[1]) and match[1] not in EXAMPLES and not has_path(match[1], file):
            yield f"line {text.count(chr(10), 0, match.start()) + 1}: {match[1]}"


def test_names_and_paths_in_back_ticks_exist() -> None:
    dead = {file.relative_to(ROOT).as_posix(): found for file in FILES if (found := list(dead_references(file)))}
    assert dead == {}


@pytest.mark.parametrize(
    "text", ["`dp.no_such_curve`", "`dpcurves.data.NoGrid`", "`mechanisms/no_such_file.py`", "`ledger.no_such_name`"]
)
def test_a_dead_reference_is_found(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"See {text}, `dp.cdf` and `mechanisms/auto.py`.\n", encoding="utf-8")
    assert len(list(dead_references(page))) == 1
