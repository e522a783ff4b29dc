"""The schema is a JSON Schema, and our reader agrees with a full validator of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import check_document, curve_schema, encode_curve
from dpcurves.display import curve_json as published_schema
from dpcurves.display.curve_json import find_faults

PRIVACY = PrivacyStatement(0.5, 0.125, "add-remove", "tailnum", 5, None, "one curator", "flat", False, "a", "public")
LEVELS = [
    {"starts": {"range": [0, 4, 2]}, "family": "discrete Laplace", "parameter": "20/3"},
    {"starts": {"list": [0, 1, 3]}, "family": "discrete Gaussian", "parameter": "7"},
]
MEASURED = {
    "rows": 1, "cells": 4, "levels": LEVELS, "missing": {"family": "discrete Laplace", "parameter": "2"},
    "values": [1, -2, 3, 4, 5, 6], "total": None,
}  # fmt: skip
CONTRASTS = {
    "rows": 1, "cells": 5, "width": 2, "top": None, "contrasts": LEVELS, "missing": None, "values": [1, -2], "total": 7,
}  # fmt: skip
CONVOLVED = {
    "rows": 1, "cells": 2, "width": 1, "bits": 20, "convolved": {"family": "discrete Gaussian", "parameter": "7"},
    "missing": None, "values": [1, -2], "total": None,
}  # fmt: skip
PATH = {
    "rows": 1, "cells": 2**32, "at": [7, 2**32], "blocks": 32, "missing": None, "values": [1, -2], "total": 9,
    "path": {"family": "discrete Laplace", "parameter": "32"},
}  # fmt: skip
RELEASES = [{"chosen": [1, 2]}, MEASURED, CONTRASTS, CONVOLVED, PATH]
EVIDENCE = {"question": {"column": "delay"}, "releases": RELEASES}
DOCUMENT = json.loads(encode_curve("cdf", {"x": [0.0, 1.0], "y": [None, 1.0]}, PRIVACY, EVIDENCE))
SCHEMA = curve_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
OTHERS: list[Any] = [None, True, 0, -1, 1.5, "", "text", [], [1], {}, {"a": 1}]


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(curve_schema())


def test_a_whole_document_passes_both() -> None:
    VALIDATOR.validate(DOCUMENT)
    check_document(DOCUMENT)


def test_what_was_released_of_each_kind_passes_both_and_each_number_is_described() -> None:
    kept = Path(__file__).parents[1] / "released" / "0.1.0" / "curves.jsonl"
    documents = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    for document in documents:
        VALIDATOR.validate(document)
        check_document(document)
    defined = curve_schema()["$defs"]
    kinds = {document["kind"] for document in documents}
    assert kinds <= set(defined)
    assert len(kinds) > 35
    parts = {(kind, name): part for kind in kinds for name, part in defined[kind]["properties"].items()}
    assert [key for key, part in parts.items() if not part.get("description") and key != ("curves", "curves")] == []


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inside:
        yield (*path, key)
        yield from places(entry, (*path, key))


def changed(path: tuple[Any, ...], value: Any = None, *, gone: bool = False) -> Any:
    document = copy.copy(DOCUMENT)
    spot = document
    for key in path[:-1]:
        spot[key] = copy.copy(spot[key])  # the other places are those of the whole document
        spot = spot[key]
    if gone:
        del spot[path[-1]]
    else:
        spot[path[-1]] = value
    return document


def passes(document: Any) -> bool:
    return next(find_faults(document, SCHEMA, "curve"), None) is None


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("path", list(places(DOCUMENT)), ids=str)
def test_our_reader_agrees_with_the_validator_on_every_damage_of_every_place(path: tuple[Any, ...]) -> None:
    damaged = [changed(path, value) for value in OTHERS] + [changed(path, gone=True)]
    assert [passes(document) for document in damaged] == [VALIDATOR.is_valid(document) for document in damaged]


def test_the_first_fault_is_told_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"^curve\.y\[1\]: number or null is needed, got a string$"):
        check_document(changed(("y", 1), "0.5"))
    with pytest.raises(ValueError, match=r"^curve\.privacy: 'seeded' is missing$"):
        check_document(changed(("privacy", "seeded"), gone=True))
    with pytest.raises(ValueError, match=r"^curve\.privacy\.units: null is needed, got an integer$"):
        check_document(changed(("privacy", "units"), 7))


def visits(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a value is held against a rule."""
    seen: list[str] = []

    def counted(value: Any, rule: Any, place: str) -> Iterator[tuple[str, str]]:
        seen.append(place)
        return find_faults(value, rule, place)

    with monkeypatch.context() as patch:
        patch.setattr(published_schema, "find_faults", counted)
        check_document(document)
    return len(seen)


def test_what_is_looked_at_does_not_grow_with_the_numbers_of_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(cells: int) -> dict[str, Any]:
        level = {"starts": {"list": list(range(cells))}, "family": "discrete Laplace", "parameter": "2"}
        release = {**MEASURED, "cells": cells, "levels": [level], "values": [1] * (cells + 1)}
        question = {"label": "delay", "edges": list(range(cells + 1))}
        arrays = {"x": [0.5] * cells, "y": [0.5] * cells}
        return json.loads(encode_curve("cdf", arrays, PRIVACY, {"question": question, "releases": [release]}))  # type: ignore[no-any-return]

    assert visits(of(10), monkeypatch) == visits(of(10_000), monkeypatch) < 250
