"""The published schema of curves, and a reader that holds documents to it.

It knows the words of JSON Schema 2020-12 that our schema uses, and tells the first fault in one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ..arguments import Refused
from .safe_text import lettering

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
NAMES = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a number",
         bool: "true or false", type(None): "null"}  # fmt: skip

Rule = Mapping[str, Any]
Fault = tuple[str, str]
"""Where, and what is needed there."""


SEVERAL = "curves"
LONGER = "x-longer"
"""The word of a property that tells by how much its array is longer than the shortest one of the curve."""


@cache
def curve_schema() -> Rule:
    """The JSON Schema (draft 2020-12) of all curves: what they share, and a file for each kind.

    >>> curve_schema()["$id"], "cdf" in curve_schema()["$defs"]
    ('urn:dpcurves:curve:1', True)
    """
    here = files(__package__)
    rule, single = _read(here / "curve.schema.json"), _kinds()
    of_kind = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}}
        for kind in (*single, SEVERAL)
    ]
    rule["$defs"] |= single
    for part, kinds in ((rule, [*single, SEVERAL]), (rule["$defs"]["curve"], list(single))):
        part["properties"]["kind"] = {"enum": kinds}
        part["allOf"] = of_kind[: len(kinds)]
    return rule


def longer(kind: str) -> Mapping[str, int]:
    """By how much arrays of one kind of curve are longer than the shortest of them."""
    parts = curve_schema()["$defs"].get(kind, {}).get("properties", {})
    return {name: part[LONGER] for name, part in parts.items() if LONGER in part}


def _kinds() -> dict[str, Any]:
    places = sorted((files(__package__) / "kinds").iterdir(), key=lambda place: place.name)
    return {place.name.removesuffix(".json"): _read(place) for place in places}


def _read(place: Traversable) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return read


def check_document(document: object) -> None:
    """Hold a parsed document to the schema.

    Raises:
        ValueError: the first fault, with its place.
    """
    for fault in faults(document, curve_schema(), "curve"):
        raise Refused(*fault)


def faults(value: Any, rule: Rule, place: str) -> Iterator[Fault]:
    """The faults of `value` at `place`, in the order of `rule`. Where nothing is asked, nothing is looked at."""
    if not rule:
        return
    if "$ref" in rule:
        yield from faults(value, curve_schema()["$defs"][rule["$ref"].rpartition("/")[2]], place)
    yield from _faults_of_value(value, rule, place)
    if isinstance(value, dict):
        yield from _faults_of_object(value, rule, place)
    if isinstance(value, list):
        yield from _faults_of_list(value, rule, place)
    for part in rule.get("allOf", ()):
        yield from faults(value, part, place)
    if "if" in rule:
        holds = next(faults(value, rule["if"], place), None) is None
        yield from faults(value, rule.get("then" if holds else "else", {}), place)


def _faults_of_value(value: Any, rule: Rule, place: str) -> Iterator[Fault]:
    if "type" in rule and type(value) not in _types(rule["type"]):
        yield place, f"{_words(rule['type'])} is needed, got {NAMES[type(value)]}"
    if "const" in rule and (type(value), value) != (type(rule["const"]), rule["const"]):
        yield place, f"{json.dumps(rule['const'])} is needed"
    if "enum" in rule and value not in rule["enum"]:
        yield place, f"one of {', '.join(rule['enum'])} is needed"
    if "minimum" in rule and isinstance(value, (int, float)) and value < rule["minimum"]:
        yield place, f"at least {rule['minimum']} is needed"
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        yield place, f"text of the form {rule['pattern']} is needed"


def _faults_of_object(value: dict[str, Any], rule: Rule, place: str) -> Iterator[Fault]:
    for name in rule.get("required", ()):
        if name not in value:
            yield place, f"{name!r} is missing"
    parts, others = rule.get("properties", {}), rule.get("additionalProperties", {})
    for name, entry in value.items() if parts or others else ():
        if part := parts.get(name, others):
            yield from faults(entry, part, f"{place}.{lettering(name)}")


def _faults_of_list(value: list[Any], rule: Rule, place: str) -> Iterator[Fault]:
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        yield place, f"{rule['minItems']} entries are needed, got {len(value)}"
    items = rule.get("items", {})
    if not items or (items.keys() == {"type"} and set(map(type, value)) <= set(_types(items["type"]))):
        return  # long arrays of numbers, at once
    for number, entry in enumerate(value):
        yield from faults(entry, items, f"{place}[{number}]")


def _types(names: str | list[str]) -> tuple[type, ...]:
    listed = [names] if isinstance(names, str) else names
    return tuple(kind for name in listed for kind in TYPES[name])


def _words(names: str | list[str]) -> str:
    return names if isinstance(names, str) else " or ".join(names)
