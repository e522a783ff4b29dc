"""Every function and class of the packages is reached from a front door, through the names that its code uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import fullmatch

import dpcurves

ROOT = Path(dpcurves.__file__).parents[1]
DOORS = (
    "dpcurves", "dpcurves.checks", "dpcurves.cli", "dpcurves.curves", "dpcurves.ledger", "dpcurves.ledger.sqlite",
    "dpcurves.session", "dpcurves.shortcuts", "dpcurves.study", "dpcurves.shortcuts", "dpcurves_audit.auditor",
    "dpcurves_audit.neighbouring_datasets", "dpcurves.forecasts.more_questions", "dpcurves_judging",
    "dpcurves_judging.forecasts", "dpcurves_local",
    "dpcurves_parties.crypto.circuits", "dpcurves_parties.pairs",
    "dpcurves_parties.pairs.service", "dpcurves_parties.pairs.statistics",
    "dpcurves_parties.serving.two_servers.app", "dpcurves_parties.shares.aggregation", "dpcurves_server",
    "dpcurves_server.pages.site", "dpcurves_server.remote", "dpcurves_streams", "dpcurves_streams.feed",
    "dpcurves_streams.feed.reading",
    "dpcurves_streams.mechanisms", "dpcurves_streams.readings", "dpcurves_survival",
    "dpcurves_survival.forecasts",
)  # fmt: skip
PROCESSES = (
    "dpcurves_server.declared_columns", "dpcurves_server.lookalikes", "dpcurves_server.planner",
    "dpcurves_server.renderer", "dpcurves_server.worker",
)  # fmt: skip
"""Modules that are run: of these `main` alone is a door."""
BY_HAND = {
    "dpcurves.privacy.loss.delta_of_zcdp": "for who reports what a rho means",
    "dpcurves.privacy.loss.rho_for": "for who was promised an epsilon and a delta",
    "dpcurves.display.office.unescape_formula": "for who reads our CSV files in Python",
    "dpcurves_parties.crypto.comparison.evaluate_keys": "the values of keys without proofs, which tests compare",
    "dpcurves_local.trust.make_message": "what one device says, as a function of a plan alone",
    "dpcurves_parties.crypto.prio3.loops.decide_reports": "called where numba is installed",
    "dpcurves_parties.crypto.prio3.loops.prove_reports": "called where numba is installed",
    "dpcurves_parties.crypto.prio3.loops.query_reports": "called where numba is installed",
    "dpcurves_parties.crypto.prio3.plain.decide_reports": "called where numba is not installed",
    "dpcurves_sites.transport.Forwarder": "makes requests of sites in the apps of Flower and NVFlare",
    "dpcurves_sites.transport.exchange_batch": "fetches requests of sites in the apps of Flower and NVFlare",
    "dpcurves_sites.flower.answer_query": "run by Flower",
    "dpcurves_sites.flower.run_server": "run by Flower",
    "dpcurves_sites.nvflare.TransportController": "run by NVFlare",
    "dpcurves_sites.nvflare.TransportExecutor": "run by NVFlare",
    "dpcurves_sites.secure_sum.simulate_round": "all sites of a turn played in one process, for tests and measurements",
}
"""Names of the package that only tests, papers and callers of its rooms use, and why they stand here."""
KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
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
    files = sorted(file for package in ROOT.glob("dpcurves*/") for file in package.rglob("*.py"))
    names = (file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for file in files)
    return tuple(name.removesuffix(".__init__") for name in names)


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
    """Names that a module takes from others of the packages, also inside its functions."""
    package = room if ROOT.joinpath(*room.split(".")).is_dir() else room.rpartition(".")[0]
    found: dict[str, Name] = {}
    for node in ast.walk(tree(room) or ast.Module([], [])):
        if isinstance(node, ast.ImportFrom) and (node.level or str(node.module).startswith("dpcurves")):
            above = package.split(".") if node.level else []
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


def routed_by(node: ast.stmt) -> str | None:
    """The router whose decorator, as in `@ROUTER.get("/me")`, leads to a function."""
    for each in node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []:
        way = each.func if isinstance(each, ast.Call) else each
        if isinstance(way, ast.Attribute) and isinstance(way.value, ast.Name) and way.value.id.isupper():
            return way.value.id
    return None


def reached() -> set[Name]:
    doors = [room for room in rooms() if room in DOORS or ".cli" in room]
    todo = [resolved(room, name) for room in doors for name in [*defined(room), *imported(room)]]
    todo += [(room, "main") for room in PROCESSES]
    seen: set[Name] = set()
    while todo:
        found = todo.pop()
        if found and found not in seen:
            seen.add(found)
            todo += [each for node in defined(found[0]).get(found[1], []) for each in used(found[0], node)]
            todo += [(found[0], name) for name, nodes in defined(found[0]).items() if routed_by(nodes[0]) == found[1]]
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
