"""The page of errors, from the places that raise them: of each the argument it names and the rule it states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

KINDS = (
    "InvalidArgument", "WrongArgumentType", "UnsupportedQuery", "BudgetExceeded", "Misuse", "ProtocolError",
    "MissingPackage",
)  # fmt: skip
INTRODUCTION = """# Errors

An error is one line, `argument: rule`: what it is about, and what is needed instead. It shows no value of a record, and
whatever is refused before the charge costs nothing. Words in *italics* stand for what was given. The kinds are these:

| error | also a | means |
|---|---|---|
| `InvalidArgument` | `ValueError` | an argument that can not be taken |
| `WrongArgumentType` | `InvalidArgument`, `TypeError` | an argument of another kind than is needed |
| `UnsupportedQuery` | | a question that this trust model can not answer; nothing was spent |
| `BudgetExceeded` | | the charge was refused: nothing was computed, nothing was spent |
| `Misuse` | `InvalidArgument` | a command that contradicts itself, or lacks something; nothing was opened |
| `ProtocolError` | `InvalidArgument` | a message that is not what the protocol says; nothing was told |
| `MissingPackage` | `ImportError` | an extra is needed |

Below stand all of them, by the module that raises them. The words may change, the kinds [may not](stability.md).
"""
NOT_SEARCHED = frozenset({
    "dpcurves_judging", "dpcurves_parties", "dpcurves_server", "dpcurves_sim", "dpcurves_sites",
})  # fmt: skip
"""Packages whose errors are refused messages between servers, stand at the field of a form, or are of developers: the
search leaves them out."""


@dataclass(frozen=True, order=True)
class Raised:
    """An error as it stands in the code."""

    room: str
    argument: str
    rule: str
    kind: str


def page(source: Path) -> str:
    """All errors that are raised in the packages of a folder."""
    found = raised(source)
    rooms = sorted({each.room for each in found})
    return INTRODUCTION + "".join(_table(room, [each for each in found if each.room == room]) for room in rooms)


def raised(source: Path) -> list[Raised]:
    """Those of which the rule is written where they are raised, each once."""
    return sorted(
        {each for file in sorted(source.glob("dpcurves*/**/*.py")) for each in _of(file, _room(source, file))}
    )


def _room(source: Path, file: Path) -> str:
    """The room of the core, or the package beside it, that a file belongs to."""
    package, below, *_ = file.relative_to(source).parts
    return below.removesuffix(".py") if package == "dpcurves" else package


def _of(file: Path, room: str) -> Iterator[Raised]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            words = [_words(each) for each in node.args[:2]]
            if len(words) == 2 and re.search(r"[a-z]{2} [a-z]", words[1]):
                yield Raised(room, words[0], words[1], node.func.id)


def _words(node: ast.expr) -> str:
    """A text as people read it, with names in the place of what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _plain(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(each) for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _words(node.left) + _words(node.right)
    return f"*{_plain(_name(node))}*"


def _name(node: ast.expr) -> str:
    """The last name in an expression: what it is about."""
    if isinstance(node, ast.FormattedValue):
        return _name(node.value)
    if isinstance(node, ast.Call) and node.args:
        return _name(node.args[0])
    names = re.findall(r"[A-Za-z]\w*", ast.unparse(node))
    return names[-1].strip("_").replace("_", " ").lower() if names else "what was given"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", escape(" ".join(text.split(" ")), quote=False))


def _table(room: str, found: list[Raised]) -> str:
    rows = "\n".join(f"| {each.argument} | {each.rule} | {each.kind} |" for each in found)
    hidden = " { data-search-exclude }" if room in NOT_SEARCHED else ""
    return f"\n## {room.replace('_', ' ').capitalize()}{hidden}\n\n| argument | rule | error |\n|---|---|---|\n{rows}\n"
