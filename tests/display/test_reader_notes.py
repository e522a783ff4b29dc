"""Notes have facts for every reader and advice for whoever asked; pages, pictures and workbooks have facts."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.conversation import add_advice, select_reader_notes, warn_analyst
from dpcurves.publication import describe_privacy

SOURCES = Path(dp.__file__).parents[1]
NOTED = ("dpcurves/curves", "dpcurves/strategies", "dpcurves/inference", "dpcurves_survival", "dpcurves_judging")
"""Folders whose code writes notes on results."""
ADVISING = re.compile(
    r"\(--[a-z]|\bHint\.|\bOutside\.|[a-z_]=[\"'(]"  # options of the command line, and arguments
    r"|[;:,] (?:or )?(?:ask|take|give|name|choose|try|compare|check|use) "  # imperatives
    r"(?!the text that to_json wrote)"  # of errors
    r"|a larger (?:epsilon|loss|unit)|^(?:ask|take|give|choose|try|check) "
)
ADVICE_NAMES = {"advice", "NARROWER_GRID_ADVICE", "hint"}
"""Variables of advice, which are joined to a fact by `add_advice`."""


def list_texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of an expression or a statement, with their lines, but those of errors, docstrings and advice."""
    if isinstance(node, ast.Raise | ast.Assert):
        return
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        if re.search(r"Invalid|Wrong|Error|Unsupported|require_|check_", called):
            return
        if called in ("add_advice", "warn_analyst"):
            yield from (text for argument in node.args[: called == "add_advice"] for text in list_texts(argument))
            return
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if {target.id for target in targets if isinstance(target, ast.Name)} & ADVICE_NAMES:
            return
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from list_texts(child)


def list_notes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts in functions that return notes, in arguments of `with_notes`, and in constants of modules."""
    for node in ast.walk(tree):
        is_noting = isinstance(node, ast.FunctionDef) and "note" in node.name and not node.name.startswith("plan")
        is_noted = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("with_notes")
        if is_noting or is_noted:
            yield from list_texts(node)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield from list_texts(statement)


def test_all_advice_in_notes_is_marked_as_such() -> None:
    files = [file for folder in NOTED for file in sorted((SOURCES / folder).rglob("*.py")) if "cli" not in file.name]
    texts = [(file.name, *text) for file in files for text in list_notes(ast.parse(file.read_text(encoding="utf-8")))]
    assert len(texts) > 100
    errors = re.compile(r"is needed|are needed|must be|, got |as in |priced|joint price|use the unchanged|; leave ")
    advising = [(name, line, text) for name, line, text in texts if ADVISING.search(text) and not errors.search(text)]
    assert not advising


def ask_for_bounds(values: Any) -> dp.Bounds:
    """Bounds of values that all lie beyond the largest interval."""
    with dp.Session({"x": values}, budget=dp.PrivacyLoss.pure(9), adjacency=dp.REPLACE_ONE) as session:
        return session.ask(dp.BoundsQuestion("x", 0.5, "0.9", doublings=2), dp.PrivacyLoss.pure(9))


CURVES: dict[str, Callable[[], Any]] = {
    "crowded": lambda: dp.cdf(np.full(4000, 9.0), grid=dp.Grid(0, 5, cells=8), epsilon=9, adjacency=dp.ADD_REMOVE),
    "lumped": lambda: dp.histogram(
        np.append(np.full(4000, 1.5), 999), grid=dp.Grid(0, 1000, cells=64), epsilon=9, adjacency=dp.ADD_REMOVE
    ),
    "capped": lambda: ask_for_bounds(np.full(400, 9.0)),
    "published name": lambda: dp.cdf(
        {"age": np.arange(400.0) % 9, "who": ["Ada Lovelace"] * 400}, column="age", where="who = 'Ada Lovelace'",
        grid=dp.Grid(0, 9, cells=9), epsilon=9, adjacency=dp.ADD_REMOVE,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::dpcurves.curves.CurveWarning")
@pytest.mark.parametrize("kind", CURVES)
def test_pages_pictures_and_workbooks_have_no_advice(kind: str) -> None:
    curve = CURVES[kind]()
    told = [*curve.notes, *(text for _, text in curve._summary())]
    assert any("advice: " in text for text in told)  # the terminal has it
    picture = curve.plot_headless()
    book = zipfile.ZipFile(BytesIO(curve.to_workbook(picture)))
    written = [
        curve.render_html(""), describe_privacy(curve.privacy), book.read("xl/sharedStrings.xml").decode(),
        *(text.get_text() for axes in picture.figure.axes for text in axes.texts),
    ]  # fmt: skip
    assert not any("advice" in text or "--" in text.replace("<!--", "") for text in written)
    facts = select_reader_notes(curve.notes)
    assert all(fact[:40] in written[1] for fact in facts)
    assert bool(facts) == (kind in ("crowded", "lumped"))


def test_facts_and_advice_are_divided_whatever_the_fact_holds() -> None:
    notes = [add_advice("3% lie above 10; all of a", "take b; or c"), warn_analyst("a filter is public"), "plain; text"]
    assert notes[0] == "3% lie above 10; all of a; advice: take b; or c"
    assert select_reader_notes([*notes, notes[0]]) == ("3% lie above 10; all of a", "plain; text")
