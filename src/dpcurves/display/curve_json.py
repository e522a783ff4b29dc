"""JSON and data frames of curves, and the published JSON Schema that documents are checked against.

A document has the shown numbers, and the released counts from which the curve is computed again:

    kind, arrays          numbers of the curve, with enough digits to be read back exactly
    privacy               loss, adjacency, unit, trust model, notes
    evidence              released integers of each round, with the distribution of their noise
    question              fields that the class of the curve needs

`curve_schema` is derived from the classes that write documents (draft 2020-12), and `parse_curve` checks documents
against it, so a file that others wrote is refused with the place of its first fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import isfinite
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument, WrongArgumentType
from ..codec import STORED_CODEC, JsonSchema
from ..conversation import MISSING_RULE, Evidence, PrivacyStatement
from ..distributions.output_distribution import json_schema_of, json_schemas
from ..extensions import load_results
from ..privacy import Neighbours
from .numerals import format_label
from .tables import LabelColumns, name_label_columns

# The published schema, and a validator for it.
#
# Schemas of kinds are derived from result classes, schemas of releases from noise distributions, and only classes and
# distributions that a document names are imported. The validator is our own: jsonschema visits each number of an array,
# and fastjsonschema supports drafts up to 7. It supports the keywords of JSON Schema 2020-12 that the schema uses, and
# reports the first fault.


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
"""Python types of a parsed JSON value by the type names of JSON Schema."""
NAMES = {dict: "an object", list: "a list", str: "a string", int: "an integer", float: "a number",
         bool: "true or false", type(None): "null"}  # fmt: skip
"""Words for a value of the wrong JSON type, in messages about a damaged document, by its Python type."""

Fault = tuple[str, str]
"""The path of a fault and the violated rule."""


SCHEMA = 1
"""Version number in the JSON documents of results. Documents with a larger number are refused, with the advice to
update."""
CURVES_FIELD = "curves"
"""Kind of a document of several curves, such as those of categories, and the key under which they stand."""
EXTRA_ITEMS_KEYWORD = "x-longer"
"""Keyword of the package in its JSON Schema: by how many items an array must be longer than the shortest one, as edges
are than counts."""
TEXT: JsonSchema = {"type": "string"}
"""JSON Schema of a text."""
TEXTS: JsonSchema = {"type": "array", "items": TEXT}
"""JSON Schema of a list of texts."""
NUMBER: JsonSchema = {"type": ["number", "null"]}
"""JSON Schema of a number; null stands for one that is not known or not finite."""
NUMBERS: JsonSchema = {"type": "array", "items": NUMBER}
"""JSON Schema of a list of numbers."""
COLUMN: JsonSchema = {**NUMBERS, EXTRA_ITEMS_KEYWORD: 0}
"""JSON Schema of an array with one number for each row of the result."""
EDGES: JsonSchema = {**NUMBERS, EXTRA_ITEMS_KEYWORD: 1}
"""JSON Schema of an array of cell edges: one number more than the result has cells."""
ROWS: JsonSchema = {"type": "array", "items": NUMBERS}
"""JSON Schema of a list of lists of numbers."""
BY_NAME: JsonSchema = {"type": "object", "additionalProperties": NUMBER}
"""JSON Schema of an object of numbers by name."""
CURVE_SCHEMAS: dict[str, Callable[[], JsonSchema]] = {}
"""For each kind of result a function that returns its JSON Schema; each result class registers its own when it is
imported."""


def curve_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of all curves: common parts, and the form of each kind and each noise
    distribution.

    It is derived from the classes that write the documents, for programs in other languages. `parse_curve` checks
    documents against it too.

    Returns:
        Plain objects for `json.dumps`. Definitions are named by the kind of a curve or the key of a distribution.

    >>> curve_schema()["$id"], "cdf" in curve_schema()["$defs"]
    ('urn:dpcurves:curve:1', True)
    """
    shared = dict(_shared_rules())
    distributions = json_schemas()
    kinds = _kind_schemas()
    release: JsonSchema = _reference(next(iter(distributions)))
    for key in reversed(distributions):  # the distribution of a release is the first whose key it contains
        release = {"if": {"required": [key]}, "then": _reference(key), "else": release}
    shared["release"] = {"type": "object", **release}
    for name, among in ((ANY_KIND_LABEL, [*kinds, CURVES_FIELD]), (CURVE_KIND_LABEL, [*kinds])):
        branches = [{"if": {"required": ["kind"], "properties": {"kind": {"const": kind}}}, "then": _reference(kind)}
                for kind in among]  # fmt: skip
        shared[name] = {"properties": {"kind": {"enum": among}}, "allOf": branches}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:dpcurves:curve:1"}
    return deepcopy(
        {**head, **shared.pop(DOCUMENT), "$defs": {**shared, **STORED_CODEC.definitions, **distributions, **kinds}}
    )


DOCUMENT = "document"
"""Name of the schema's definition of a whole document."""
ANY_KIND_LABEL = "kind of a document"
"""Name of the schema's definition that selects the form by the kind of a document: a curve, or several curves."""
CURVE_KIND_LABEL = "kind of a curve"
"""Name of the schema's definition that selects the form by the kind of a single curve."""


def _reference(name: str) -> JsonSchema:
    """Return a reference to a definition of the schema, by its name.

    Args:
        name: Name of the definition.
    """
    return {"$ref": f"#/$defs/{name}"}


@cache
def _shared_rules() -> dict[str, JsonSchema]:
    """Return the definitions that the schemas of all kinds refer to, by name.

    Returns:
        JSON Schemas by name of the definition.
    """
    privacy = STORED_CODEC.schema_of_fields(PrivacyStatement)
    facts = {**privacy["properties"], "missing_rule": {"description": "What became of missing values.", **TEXT}}
    notes = facts.pop("notes")
    facts["adjacency"] = {**facts["adjacency"], "enum": [member.value for member in Neighbours]}
    facts["unit"] = {**facts["unit"], "type": ["string", "null"]}
    question = {
        "label": TEXT, "score": TEXT, "by": {**TEXTS, "type": ["string", "array"]}, "labels": TEXTS, "columns": TEXTS,
        "outside": {"enum": ["CLIPPED", "APART"]}, "edges": {"type": "array", "items": {"type": "number"}},
    }  # fmt: skip
    shared = {"schema": {"const": SCHEMA}, "privacy": _reference("privacy"), "evidence": _reference("evidence")}
    return {
        DOCUMENT: {
            "title": "A differentially private curve",
            "description": "What was read from noisy counts, what it cost, and the counts themselves, so that errors "
            "can be worked out again. No number stands for infinity or for 'not a number': they are null.",
            "type": "object", "required": ["kind", "schema", "privacy", "evidence"],
            "properties": {**shared, "notes": notes},
            "allOf": [_reference(ANY_KIND_LABEL)],
        },
        "privacy": {
            **privacy, "required": [*privacy["required"], "missing_rule", "model"], "properties": facts,
            "if": {"properties": {"adjacency": {"const": Neighbours.REPLACE_ONE.value}}},
            "then": {"properties": {"units": {"type": "integer"}}},
            "else": {"properties": {"units": {"type": "null"}}},
        },
        "evidence": {
            "description": "The question, and what was released for it.",
            "type": "object", "required": ["question", "releases"],
            "properties": {
                "question": {"type": "object", "properties": question},
                "releases": {"type": "array", "items": _reference("release")},
            },
        },
        "curve": {
            "description": "A curve in another document: privacy and evidence are those of the whole if it has none.",
            "type": "object", "required": ["kind"], "properties": shared, "allOf": [_reference(CURVE_KIND_LABEL)],
        },
        CURVES_FIELD: {
            "description": "Curves by their names, as those of categories.", "required": [CURVES_FIELD],
            "properties": {CURVES_FIELD: {"type": "object", "additionalProperties": _reference("curve")}},
        },
    }  # fmt: skip


def _kind_schemas() -> dict[str, JsonSchema]:
    """Return the schemas of all kinds of curves by name; the modules of all results are imported."""
    load_results(CURVES_FIELD)
    return {kind: CURVE_SCHEMAS[kind]() for kind in sorted(CURVE_SCHEMAS)}


def _find_form(kind: str) -> JsonSchema | None:
    """Return the schema of a kind, or None if no class has registered it.

    Args:
        kind: Kind of a result, as in ``cdf``.
    """
    if kind == CURVES_FIELD:
        return _shared_rules()[CURVES_FIELD]
    if kind not in CURVE_SCHEMAS:
        load_results(kind)
    return CURVE_SCHEMAS[kind]() if kind in CURVE_SCHEMAS else None


def _resolve_reference(name: str, value: Any) -> JsonSchema:
    """Return the definition of this name as far as it applies to `value`, without building schemas of other kinds and
    distributions.

    Args:
        name: Name of the definition.
    """
    if name not in {"release", ANY_KIND_LABEL, CURVE_KIND_LABEL}:
        return STORED_CODEC.definitions.get(name) or _shared_rules()[name]
    mapping: Mapping[str, Any] = value if isinstance(value, dict) else {}
    if name == "release":
        return {"type": "object", "allOf": [json_schema_of(mapping)]}
    if "kind" not in mapping:
        return {}
    kind = mapping["kind"]
    also = [CURVES_FIELD] if name == ANY_KIND_LABEL else []
    form = _find_form(kind) if isinstance(kind, str) and (kind != CURVES_FIELD or also) else None
    return form or {"properties": {"kind": {"enum": [*_kind_schemas(), *also]}}}


def extra_lengths(kind: str) -> Mapping[str, int]:
    """Return how many items longer than the shortest array each array in the JSON of a kind of result must be, by array
    name.

    Args:
        kind: Kind of a result, as in ``cdf``.
    """
    properties = (_find_form(kind) or {}).get("properties", {})
    return {
        name: property_rule[EXTRA_ITEMS_KEYWORD]
        for name, property_rule in properties.items()
        if EXTRA_ITEMS_KEYWORD in property_rule
    }


def check_document(document: object) -> None:
    """Check a parsed document against the schema.

    Args:
        document: Parsed JSON.

    Raises:
        ValueError: the first fault, with its path.
    """
    for fault in find_faults(document, _reference(DOCUMENT), "curve"):
        raise InvalidArgument(*fault)


def find_faults(value: Any, rule: JsonSchema, place: str) -> Iterator[Fault]:
    """Yield every violation of a JSON Schema by a JSON value, as a path and a message.

    Args:
        value: The JSON value.
        rule: The schema; an empty one accepts anything.
        place: Path of the value in the document, for the messages.
    """
    if not rule:
        return
    if "$ref" in rule:
        yield from find_faults(value, _resolve_reference(rule["$ref"].rpartition("/")[2], value), place)
    yield from _faults_of_value(value, rule, place)
    if isinstance(value, dict):
        yield from _faults_of_object(value, rule, place)
    if isinstance(value, list):
        yield from _faults_of_list(value, rule, place)
    for part in rule.get("allOf", ()):
        yield from find_faults(value, part, place)
    if "if" in rule:
        holds = next(find_faults(value, rule["if"], place), None) is None
        yield from find_faults(value, rule.get("then" if holds else "else", {}), place)


def _faults_of_value(value: Any, rule: JsonSchema, place: str) -> Iterator[Fault]:
    """Yield the faults of a value against the rules for single values: type, constant, choices, least number,
    pattern.

    Args:
        value: Any value of a JSON document.
        rule: Its JSON schema.
        place: Path to the value, for the message.
    """
    if "type" in rule and type(value) not in _python_types(rule["type"]):
        yield place, f"{' or '.join(_as_list(rule['type']))} is needed, got {NAMES[type(value)]}"
    if "const" in rule and (type(value), value) != (type(rule["const"]), rule["const"]):
        yield place, f"{json.dumps(rule['const'])} is needed"
    if "enum" in rule and value not in rule["enum"]:
        yield place, f"one of {', '.join(rule['enum'])} is needed"
    if "minimum" in rule and isinstance(value, (int, float)) and value < rule["minimum"]:
        yield place, f"at least {rule['minimum']} is needed"
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        yield place, f"text of the form {rule['pattern']} is needed"


def _faults_of_object(value: dict[str, Any], rule: JsonSchema, place: str) -> Iterator[Fault]:
    """Yield the faults of an object: missing names, and the faults of each entry.

    Args:
        value: The object.
        rule: Its JSON schema.
        place: Path to the object, for the message.
    """
    for name in rule.get("required", ()):
        if name not in value:
            yield place, f"{name!r} is missing"
    parts = rule.get("properties", {})
    others = rule.get("additionalProperties", {})
    for name, entry in value.items() if parts or others else ():
        if part := parts.get(name, others):
            yield from find_faults(entry, part, f"{place}.{format_label(name)}")


def _faults_of_list(value: list[Any], rule: JsonSchema, place: str) -> Iterator[Fault]:
    """Yield the faults of a list: a wrong length, and the faults of each entry.

    Args:
        value: The list.
        rule: Its JSON schema.
        place: Path to the list, for the message.
    """
    if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
        yield place, f"{rule['minItems']} entries are needed, got {len(value)}"
    items = rule.get("items", {})
    if not items or (items.keys() == {"type"} and set(map(type, value)) <= set(_python_types(items["type"]))):
        return  # fast path for long arrays of numbers
    for number, entry in enumerate(value):
        yield from find_faults(entry, items, f"{place}[{number}]")


def _as_list(names: str | list[str]) -> list[str]:
    """Return type names as a list.

    Args:
        names: A type name of JSON Schema, or a list of several.
    """
    return [names] if isinstance(names, str) else names


def _python_types(names: str | list[str]) -> tuple[type, ...]:
    """Return the Python types of JSON type names.

    Args:
        names: A type name of JSON Schema, as in ``number``, or a list of several.
    """
    return tuple(kind for name in _as_list(names) for kind in TYPES[name])


LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries of data frames in the order in which they are tried; without any, an Arrow table is returned."""


def to_frame(columns: Mapping[str, ArrayLike]) -> Any:
    """Return the columns as a data frame: pandas if installed, else Polars, else an Arrow table.

    The Arrow table is from pyarrow if installed, else from arro3, which all Arrow libraries accept.

    >>> to_frame({"x": [1.0, 2.0], "y": [0.5, 1.0]}).shape
    (2, 2)

    Args:
        columns: Columns of equal length by name.

    Raises:
        ValueError: the columns are of different lengths.
    """
    import narwhals as nw

    arrays = {name: np.array(column) for name, column in columns.items()}
    if len({array.shape for array in arrays.values()}) > 1 or any(array.ndim != 1 for array in arrays.values()):
        raise InvalidArgument(
            "columns", "all columns must be arrays of one length; write the result again with to_json()"
        )
    library: Any = next((name for name in LIBRARIES if find_spec(name) is not None), None)
    if library is None:
        return _arrow_table(arrays)
    return nw.from_dict(arrays, backend=library).to_native()


def stack_frames(frames: Sequence[Any], labels: LabelColumns) -> Any:
    """Concatenate frames from `to_frame`, with the labels of each frame in leading columns.

    Args:
        frames: The frames, with equal columns.
        labels: Label columns, with one label per frame, under the names that `join_columns` gives them.
    """
    import narwhals as nw

    names = name_label_columns([name for name, _ in labels], frame_columns(frames[0]))
    label_columns = [
        dict(zip(names, texts, strict=True)) for texts in zip(*(texts for _, texts in labels), strict=True)
    ]
    if type(frames[0]).__module__.startswith("arro3"):
        tables = [
            {**{name: np.full(len(frame), text) for name, text in texts.items()}, **frame_columns(frame)}
            for frame, texts in zip(frames, label_columns, strict=True)
        ]
        return _arrow_table({name: np.concatenate([columns[name] for columns in tables]) for name in tables[0]})
    stacked = []
    for frame, texts in zip(map(nw.from_native, frames), label_columns, strict=True):
        wider = frame.with_columns(nw.lit(text).alias(name) for name, text in texts.items())
        stacked.append(wider.select(*texts, *frame.columns))
    return nw.concat(stacked).to_native()


def frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame from `to_frame`.

    Args:
        frame: Data frame of pandas or Polars, or Arrow table.

    >>> frame_columns(to_frame({"x": [1.0, 2.0]}))
    {'x': array([1., 2.])}
    """
    names = (
        frame.column_names if hasattr(frame, "column_names") else frame.columns
    )  # Arrow's name, and the name of other libraries
    return {str(name): np.asarray(frame[name]) for name in names}


def _arrow_table(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return columns as an Arrow table of arro3.

    Args:
        arrays: Columns by name, of equal length; texts and objects become a column of texts.
    """
    from arro3.core import Array, DataType, Table

    held = [
        Array(array.tolist(), DataType.string()) if array.dtype.kind in "UO" else Array.from_numpy(array)
        for array in arrays.values()
    ]
    return Table.from_arrays(held, names=list(arrays))


ENVELOPE = ("kind", "schema", "privacy", "evidence", "notes")
"""Keys of a result's JSON that all kinds have. All others hold the result's own arrays and numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class CurveDocument:
    """A curve parsed from JSON.

    Attributes:
        kind: The kind of the curve.
        arrays: Lists of numbers as NumPy arrays (null as NaN), single numbers as floats, other values unchanged.
        privacy: The privacy statement.
        evidence: The question and the releases, as plain objects.
    """

    kind: str
    arrays: Mapping[str, Any]
    privacy: PrivacyStatement
    evidence: Mapping[str, Any]

    @property
    def question(self) -> Mapping[str, Any]:
        """The stored settings of the question, as plain JSON values."""
        return cast("Mapping[str, Any]", self.evidence["question"])

    @property
    def releases(self) -> tuple[Evidence, ...]:
        """The released numbers with their noise distributions, one per round."""
        return tuple(map(Evidence.from_json, self.evidence["releases"]))


def encode_curve(
    kind: str, arrays: Mapping[str, object], privacy: PrivacyStatement, evidence: Mapping[str, object]
) -> str:
    """Return a curve as JSON text. Numbers are written with enough digits to be read back exactly.

    Args:
        kind: The `KIND` of a result, or ``curves``.
        arrays: Arrays, numbers, or nested objects of them, by name. Infinite values and NaN are written as null.
        privacy: The privacy statement of the curve.
        evidence: ``question`` and ``releases``.

    Raises:
        TypeError: a value has no JSON form.
        ValueError: the document violates the schema.
    """
    document = {
        "kind": kind, "schema": SCHEMA, **_to_plain_mapping(arrays), "privacy": encode_privacy(privacy),
        "evidence": _to_plain(evidence), "notes": list(privacy.notes),
    }  # fmt: skip
    check_document(document)
    _check_lengths(document)
    return json.dumps(document, allow_nan=False)


def encode_curves(curves: Mapping[str, str], privacy: PrivacyStatement, evidence: Mapping[str, object]) -> str:
    """Return JSON text of kind ``curves`` that embeds the texts of `encode_curve` unchanged.

    Args:
        curves: The texts, by name.
        privacy: The privacy statement of all curves.
        evidence: ``question``, without ``releases``: each curve has its own.
    """
    facts = {"kind": "curves", "schema": SCHEMA, "privacy": encode_privacy(privacy), "evidence": _to_plain(evidence)}
    check_document({**facts, "curves": {}})
    each = ", ".join(f"{json.dumps(name)}: {text}" for name, text in curves.items())
    return f'{json.dumps(facts)[:-1]}, "curves": {{{each}}}}}'


def parse_curve(text: str, kind: str) -> CurveDocument:
    """Return the parts of a released curve from its JSON text, after checking the text against the schema of its kind.

    Args:
        text: JSON that `to_json` wrote.
        kind: Kind of curve that the text must have.

    Returns:
        Arrays by name, privacy statement with notes, and the released evidence.

    Raises:
        ValueError: the text is not a curve of this kind, or is damaged; the message has the path.
    """
    document = _parse_json(text)
    found_kind = document.get("kind")
    schema = document.get("schema")
    if found_kind != kind:
        found = f", got {found_kind[:40]!r}" if isinstance(found_kind, str) else ""
        raise InvalidArgument(
            "curve.kind",
            f"{kind!r} is needed{found}: pass the text that to_json() of a result of this kind returned",
        )
    if type(schema) is int and schema > SCHEMA:
        raise InvalidArgument(
            "curve.schema", f"{schema} is newer than {SCHEMA}, which this version reads; update dpcurves"
        )
    check_document(document)
    _check_lengths(document)
    arrays = {name: _to_array(value) for name, value in document.items() if name not in ENVELOPE}
    stored = document["privacy"]
    known = {name: value for name, value in stored.items() if name in PrivacyStatement.__slots__}
    numbers = {name: None if stored[name] is None else float(stored[name]) for name in ("epsilon", "rho")}
    privacy = PrivacyStatement(**{**known, **numbers, "unit": stored["unit"] or ""})
    return CurveDocument(kind, arrays, privacy.with_notes(*document.get("notes", ())), document["evidence"])


def encode_privacy(privacy: PrivacyStatement) -> dict[str, object]:
    """Return a privacy statement as the ``privacy`` object of a curve's JSON.

    Args:
        privacy: The privacy statement.

    Returns:
        JSON values by field name, without notes. Delta, source, version and filter are left out if they are not set.
    """
    facts = {
        name: getattr(privacy, name)
        for name in PrivacyStatement.__slots__
        if name not in {"model", "notes", "delta", "source", "version", "where"}
    }
    facts |= {"delta": privacy.delta} if privacy.delta else {}
    facts |= {"source": privacy.source} if privacy.source else {}
    facts |= {"version": privacy.version} if privacy.version else {}
    facts |= {"where": privacy.where} if privacy.where else {}
    return _to_plain_mapping(
        {**facts, "unit": privacy.unit or None, "missing_rule": MISSING_RULE, "model": privacy.model}
    )


def _parse_json(text: str) -> dict[str, Any]:
    """Return the JSON object that a text contains, as a dictionary.

    Args:
        text: JSON text.

    Raises:
        InvalidArgument: the text is not JSON (line and column of a syntax error are named), it is not an object, or its
            numbers or nesting are too large.
    """
    try:
        document = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_parse_finite, parse_int=_parse_integer
        )
    except json.JSONDecodeError as damage:
        raise InvalidArgument(
            "curve",
            f"the text is not JSON (line {damage.lineno}, column {damage.colno});"
            " pass the text that to_json() returned",
        ) from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidArgument(
            "curve",
            "the text is not JSON, or its numbers or nesting are too large; pass the text that to_json() returned",
        ) from None
    if not isinstance(document, dict):
        raise InvalidArgument("curve", "the text must hold a JSON object; pass the text that to_json() returned")
    return document


def _refuse_constant(_: str) -> NoReturn:
    """Raise `ValueError`: NaN and infinite numbers are no JSON."""
    raise ValueError


def _parse_finite(text: str) -> float:
    """Parse a finite double; Python would read numbers beyond the range of doubles as infinity.

    Args:
        text: Number as written in the JSON text.

    Raises:
        ValueError: the number is beyond the range of doubles.
    """
    return number if isfinite(number := float(text)) else _refuse_constant(text)


def _parse_integer(text: str) -> int:
    """Return an integer of at most 40 digits.

    Args:
        text: Digits as written in the JSON text, perhaps with a minus sign.

    Raises:
        ValueError: the text has more than 40 characters.
    """
    # no longer integer is needed, and long ones take long to parse
    return int(text) if len(text) <= 40 else _refuse_constant(text)


def _check_lengths(document: Mapping[str, Any]) -> None:
    """Check that the arrays of a curve's JSON, and of the curves inside, fit together in length.

    Args:
        document: Parsed JSON of a curve or of several curves.

    Raises:
        InvalidArgument: they do not; the message names the arrays.
    """
    for curve in document["curves"].values() if document["kind"] == "curves" else ():
        _check_lengths(curve)
    arrays = extra_lengths(document["kind"])
    lengths = {len(document[name]) - more for name, more in arrays.items() if name in document}
    if len(lengths) > 1:
        raise InvalidArgument(
            "curve", f"{', '.join(arrays)} must be equally long; pass the text that to_json() returned"
        )


def _to_array(value: Any) -> Any:
    """Return a list of numbers as an array, null as NaN; other values unchanged.

    Args:
        value: JSON value.

    Returns:
        An array of integers or floats, NaN for a lone null, or the value itself; lists with texts or objects stay
        lists.
    """
    if isinstance(value, list) and not any(isinstance(entry, (dict, list, str)) for entry in value):
        array = np.array([np.nan if entry is None else entry for entry in value])
        return array if array.dtype.kind in "if" else array.astype(np.float64)
    return float("nan") if value is None else value


def _to_plain(value: object) -> object:
    """Convert `value` to JSON types; infinite values and NaN become null."""
    if isinstance(value, np.ndarray):
        is_plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if is_plain else _to_plain(value.tolist())
    if isinstance(value, np.generic):
        return _to_plain(value.item())
    if isinstance(value, Mapping):
        return _to_plain_mapping(value)
    if isinstance(value, (list, tuple)):
        return list(value) if set(map(type, value)) <= {int} else [_to_plain(entry) for entry in value]
    return _to_plain_scalar(value)


def _to_plain_scalar(value: object) -> object:
    """Return a scalar as a value of the JSON type itself, also from a subclass, whose own text form may differ.

    Numbers that are not finite become None.

    Args:
        value: Number, text, truth value or None.

    Raises:
        WrongArgumentType: the value is of another type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    raise WrongArgumentType(
        "curve", f"{type(value).__name__} cannot be written as JSON; use numbers, texts, lists and dictionaries"
    )


def _to_plain_mapping(value: Mapping[Any, object]) -> dict[str, object]:
    """Return a mapping with texts as names and values of JSON types.

    Args:
        value: Mapping with values of the package's types; names are converted by ``str``.
    """
    return {str(name): _to_plain(entry) for name, entry in value.items()}
