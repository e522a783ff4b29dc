"""Every function and class of the package is reached from a front door, through the names that its code uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import fullmatch

import dpcurves

ROOT = Path(dpcurves.__file__).parent
DOORS = (
    "", "checks", "cli", "crypto.circuits", "crypto.garbling", "crypto.oblivious_transfer", "crypto.two_party",
    "curves", "feed", "feed.sinks", "ledger", "ledger.postgres", "local", "session", "shortcuts", "study",
    "table_shortcuts", "mechanisms.streams.choice", "pairs", "parties", "server", "server.artist", "server.packer",
    "server.pages.site", "server.worker", "streams", "two_servers.launch",
)  # fmt: skip
BY_HAND = {
    "mechanisms.sums.haar.Haar": "may be named: Central(mechanism=Haar())",
    "privacy.conversion.delta_of_zcdp": "for who reports what a rho means",
    "privacy.conversion.rho_for": "for who was promised an epsilon and a delta",
    "noise.selection.probabilities": "the law of `choose`, by which its users are tested exactly",
    "trust.local.contribute": "what one device says, as a function of a plan alone",
    "crypto.comparison.values": "shares of single keys, by which engines are compared",
}
"""Names of the package that only tests, papers and callers of its rooms use, and why they stand here."""
KINDS = (ast.FunctionDef, ast.ClassDef)
Name = tuple[str, str]


@cache
def tree(room: str) -> ast.Module | None:
    """The syntax tree of a module of the package; None: there is none of that name."""
    place = ROOT.joinpath(*room.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    menu = file.with_suffix(".pyi")
    file = menu if menu.exists() else file
    return ast.parse(file.read_text(encoding="utf-8")) if file.exists() else None


@cache
def rooms() -> tuple[str, ...]:
    names = (file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for file in sorted(ROOT.rglob("*.py")))
    return tuple(name.removesuffix("__init__").removesuffix(".") for name in names)


@cache
def defined(room: str) -> dict[str, list[ast.stmt]]:
    """What stands at the top of a module, by its names."""
    found: dict[str, list[ast.stmt]] = {}
    module = tree(room)
    for node in module.body if module else []:
        for name in names_of(node):
            found.setdefault(name, []).append(node)
    return found


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, KINDS):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


@cache
def imported(room: str) -> dict[str, Name]:
    """Names that a module takes from others of the package, also inside its functions."""
    package = room if ROOT.joinpath(*room.split(".")).is_dir() else room.rpartition(".")[0]
    found: dict[str, Name] = {}
    for node in ast.walk(tree(room) or ast.Module([], [])):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package.split(".") if package else []
            other = ".".join([*above[: len(above) - node.level + 1], *([node.module] if node.module else [])])
            found |= {each.asname or each.name: (other, each.name) for each in node.names}
    return found


@cache
def resolved(room: str, name: str, passed: frozenset[Name] = frozenset()) -> Name | None:
    """Where a name that a module uses is defined; a module stands for itself, with no name."""
    if name in defined(room):
        return room, name
    if name not in imported(room) or (room, name) in passed:
        return None
    other, there = imported(room)[name]
    inside = f"{other}.{there}".strip(".")
    return resolved(other, there, passed | {(room, name)}) or ((inside, "") if inside in rooms() else None)


def used(room: str, node: ast.AST) -> Iterator[Name | None]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield resolved(room, part.id)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and fullmatch(r"[a-z_.]+:\w+", part.value):
            file, _, name = part.value.partition(":")  # imported when it is used, from this room
            yield resolved(f"{room.rpartition('.')[0]}.{file}", name)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            module = resolved(room, part.value.id)
            yield resolved(module[0], part.attr) if module and not module[1] else None


def reached() -> set[Name]:
    doors = [room for room in rooms() if room in DOORS or room.startswith("cli.")]
    todo = [resolved(room, name) for room in doors for name in [*defined(room), *imported(room)]]
    seen: set[Name] = set()
    while todo:
        found = todo.pop()
        if found and found not in seen:
            seen.add(found)
            todo += [each for node in defined(found[0]).get(found[1], []) for each in used(found[0], node)]
    return seen


def test_every_function_and_class_is_reached_from_a_front_door_or_stands_on_a_list() -> None:
    seen = reached()
    doorless = {
        f"{room}.{name}"
        for room in rooms()
        for name, nodes in defined(room).items()
        if isinstance(nodes[0], ast.FunctionDef | ast.ClassDef)
        and not name.startswith("_")
        and (room, name) not in seen
    }
    assert doorless == set(BY_HAND)
