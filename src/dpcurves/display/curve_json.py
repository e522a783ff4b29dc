"""Curves as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused, WrongKind
from ..release import MISSING_RULE, PrivacyStatement
from .published_schema import check_document, longer

SCHEMA = 1
ENVELOPE = ("kind", "schema", "privacy", "evidence", "notes")
DIGITS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A curve that was read from JSON.

    Attributes:
        kind: The kind of the curve.
        arrays: Lists of numbers as NumPy arrays (null as NaN), single numbers as floats, all else as it stands.
        privacy: Its privacy statement.
        evidence: The question and the releases, as plain objects.
    """

    kind: str
    arrays: Mapping[str, Any]
    privacy: PrivacyStatement
    evidence: Mapping[str, Any]


def envelope(kind: str, arrays: Mapping[str, object], privacy: PrivacyStatement, evidence: Mapping[str, object]) -> str:
    """A JSON text that holds all of a curve. Numbers are written so that they are read back exactly.

    Args:
        kind: The name of one of the files in ``kinds``, or ``curves``.
        arrays: By name: arrays, numbers, or nested objects of them. What is not finite is written as null.
        privacy: The privacy statement of the curve.
        evidence: ``question`` and ``releases``.

    Raises:
        TypeError: something has no form in JSON.
        ValueError: the document would not fit the schema.
    """
    document = {
        "kind": kind, "schema": SCHEMA, **_mapped(arrays), "privacy": privacy_object(privacy),
        "evidence": _plain(evidence), "notes": list(privacy.notes),
    }  # fmt: skip
    check_document(document)
    _check_lengths(document)
    return json.dumps(document, allow_nan=False)


def bundle(curves: Mapping[str, str], privacy: PrivacyStatement, evidence: Mapping[str, object]) -> str:
    """A JSON text (``kind`` is ``curves``) of curves that `envelope` wrote: they stand in it as they are.

    Args:
        curves: Their texts, by name.
        privacy: The privacy statement of all of them.
        evidence: ``question``, and no ``releases``: each curve has its own.
    """
    facts = {"kind": "curves", "schema": SCHEMA, "privacy": privacy_object(privacy), "evidence": _plain(evidence)}
    check_document({**facts, "curves": {}})
    each = ", ".join(f"{json.dumps(name)}: {text}" for name, text in curves.items())
    return f'{json.dumps(facts)[:-1]}, "curves": {{{each}}}}}'


def opened(text: str, kind: str) -> Opened:
    """The curve in `text`.

    Raises:
        ValueError: the text is no curve of this kind, or is damaged; one line says where.
    """
    document = _parsed(text)
    _check_kind(document, kind)
    check_document(document)
    _check_lengths(document)
    arrays = {name: _array(value) for name, value in document.items() if name not in ENVELOPE}
    privacy = _privacy(document["privacy"]).noted(*document.get("notes", ()))
    return Opened(kind, arrays, privacy, document["evidence"])


def privacy_object(privacy: PrivacyStatement) -> dict[str, object]:
    """The ``privacy`` object of a curve."""
    return _mapped(
        {
            "epsilon": privacy.epsilon,
            "rho": privacy.rho,
            "adjacency": privacy.adjacency,
            "unit": privacy.unit or None,
            "rows_per_unit": privacy.rows_per_unit,
            "units": privacy.units,
            "trust": privacy.trust,
            "mechanism": privacy.mechanism,
            "seeded": privacy.seeded,
            "grant": privacy.grant,
            "missing_rule": MISSING_RULE,
            "model": privacy.model,
        }
    )


def _privacy(stored: Mapping[str, Any]) -> PrivacyStatement:
    known = {name: value for name, value in stored.items() if name in PrivacyStatement.__slots__}
    epsilon = None if stored["epsilon"] is None else float(stored["epsilon"])
    return PrivacyStatement(**{**known, "epsilon": epsilon, "rho": float(stored["rho"]), "unit": stored["unit"] or ""})


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_refused, parse_float=_bounded, parse_int=_whole)
    except json.JSONDecodeError as damage:
        raise Refused("curve", f"this is not JSON (line {damage.lineno}, column {damage.colno})") from None
    except (TypeError, ValueError, RecursionError):
        raise Refused("curve", "this is not JSON, or holds numbers or nesting beyond all measure") from None
    if not isinstance(document, dict):
        raise Refused("curve", "an object is needed")
    return document


def _refused(_: str) -> NoReturn:
    raise ValueError


def _bounded(text: str) -> float:
    """A double. What is beyond their range would be read as infinity."""
    return number if isfinite(number := float(text)) else _refused(text)


def _whole(text: str) -> int:
    return int(text) if len(text) <= DIGITS else _refused(text)


def _check_kind(document: Mapping[str, Any], kind: str) -> None:
    found, schema = document.get("kind"), document.get("schema")
    if found != kind:
        raise Refused("curve.kind", f"{kind!r} is needed" + (f", got {found[:40]!r}" if isinstance(found, str) else ""))
    if type(schema) is int and schema > SCHEMA:
        raise Refused("curve.schema", f"{schema} is newer than {SCHEMA}, which this version reads; update dpcurves")


def _check_lengths(document: Mapping[str, Any]) -> None:
    for curve in document["curves"].values() if document["kind"] == "curves" else ():
        _check_lengths(curve)
    known = longer(document["kind"])
    lengths = {len(document[name]) - more for name, more in known.items() if name in document}
    if len(lengths) > 1:
        raise Refused("curve", f"{', '.join(known)} do not fit together in length")


def _array(value: Any) -> Any:
    if isinstance(value, list) and not any(isinstance(entry, (dict, list, str)) for entry in value):
        return _numbers(value)
    return float("nan") if value is None else value


def _numbers(entries: list[int | float | None]) -> NDArray[Any]:
    array = np.array([np.nan if entry is None else entry for entry in entries])
    return array if array.dtype.kind in "if" else array.astype(np.float64)


def _plain(value: object) -> object:
    """`value` out of JSON's own types: what is not finite is null."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "biu" or _is_finite(value) else _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Mapping):
        return _mapped(value)
    if isinstance(value, (list, tuple)):
        return list(value) if set(map(type, value)) <= {int} else [_plain(entry) for entry in value]
    return _plain_scalar(value)


def _plain_scalar(value: object) -> object:
    """Turn into JSON's own type also what is derived from it: a text may call itself otherwise."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    raise WrongKind("curve", f"{type(value).__name__} has no form in JSON")


def _is_finite(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and bool(np.isfinite(array).all())


def _mapped(value: Mapping[Any, object]) -> dict[str, object]:
    return {str(name): _plain(entry) for name, entry in value.items()}
