"""Fingerprints of public facts, as ledgers and stores keep them: canonical JSON of named fields, with a version.

A stored answer is found by the fingerprint of its plan, a charge by that of its question. Both name what decides the
release: kinds, fields and values. Words that people read, forecasts, and fields that were added later and say nothing
are left out, so that another wording, a better forecast or a new option leaves paid answers where they are. A class or
a field that is renamed keeps its stored name in `STORED`.

Version 1 was the SHA-256 of a `repr`; `former` writes that text again, as long as what it says is the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np

VERSION = 2
STORED: Mapping[str, str] = {"Tier": "Level", "ThresholdComparison": "Comparison"}
"""Names of classes, and of fields as ``Class.field``, under which they are stored if they are called otherwise now."""
FORMER: Mapping[str, str] = {"PartitionQuery.turn": "look", "ThresholdAnswers.comparisons": "looks"}
"""Names that fields had in version 1."""
WORDS = frozenset({"measured_in"})
"""Fields that people read, and nothing else."""
KIND = "is"


def fingerprint(*facts: Any) -> str:
    """The SHA-256 of public facts, 64 hexadecimal digits: equal for equal facts.

    >>> from dpcurves.privacy import PrivacyLoss
    >>> fingerprint(PrivacyLoss.pure(1)) == fingerprint(PrivacyLoss.pure("1.0"))
    True
    """
    return sha256(canonical([VERSION, *facts]).encode()).hexdigest()


def canonical(fact: Any) -> str:
    """Write facts as JSON in one way: fields by name, in order; exact fractions; enumerations by the member's name.

    >>> canonical((1, Fraction(1, 3), None))
    '[1,{"fraction":"1/3"},null]'
    """
    return json.dumps(fact, default=_plain, sort_keys=True, separators=(",", ":"))


def _plain(fact: Any) -> Any:
    """A fact that JSON has no form for, as one that it has."""
    kind: Any = {KIND: type(fact).__name__}
    plain: Any
    match fact:
        case Enum():
            plain = {**kind, "name": fact.name}
        case Fraction():
            plain = {"fraction": str(fact)}
        case range():
            plain = {"range": [fact.start, fact.stop, fact.step]}
        case frozenset():
            plain = sorted(fact)
        case np.ndarray():
            plain = {"array": sha256(np.ascontiguousarray(fact).tobytes()).hexdigest(), "shape": fact.shape}
        case _ if is_dataclass(fact) and not isinstance(fact, type):
            plain = _named(fact)
        case _ if isinstance(getattr(fact, "digest", None), str):  # a model is what its digest says
            plain = {**kind, "name": getattr(fact, "name", ""), "digest": fact.digest}
        case _:
            plain = {**kind, "repr": repr(fact)}
    return plain


def _named(fact: Any) -> dict[str, Any]:
    """The kind of a dataclass and its fields, but for words and for later fields that say nothing."""
    kind = type(fact).__name__
    named = {
        STORED.get(f"{kind}.{each.name}", each.name): _value(getattr(fact, each.name))
        for each in fields(fact)
        if each.repr and each.name not in WORDS and not _says_nothing(each, fact)
    }
    return {KIND: STORED.get(kind, kind), **named}


def _value(found: Any) -> Any:
    """Enumerations of texts or numbers, which JSON would write as those."""
    return _plain(found) if isinstance(found, Enum) else found


def _says_nothing(each: Field[Any], fact: Any) -> bool:
    """Tell whether a field was left out, and its default is nothing at all: none, no text, no part, 0 or false."""
    return each.default is not MISSING and not each.default and getattr(fact, each.name) == each.default


def former(fact: Any) -> str:
    """The text of version 1: what `repr` wrote when fields had the names of that time."""
    if isinstance(fact, tuple) and not hasattr(fact, "_fields"):
        return f"({', '.join(map(former, fact))}{',' if len(fact) == 1 else ''})"
    if isinstance(fact, tuple):
        named = (f"{name}={former(getattr(fact, name))}" for name in fact._fields)  # type: ignore[attr-defined]
        return f"{_stored(type(fact))}({', '.join(named)})"
    if not is_dataclass(fact) or isinstance(fact, type) or not hasattr(type(fact).__repr__, "__wrapped__"):
        return repr(fact)
    kind = type(fact)
    named = (
        f"{FORMER.get(f'{kind.__name__}.{each.name}', each.name)}={former(getattr(fact, each.name))}"
        for each in fields(fact)
        if each.repr
    )
    return f"{_stored(kind)}({', '.join(named)})"


def _stored(kind: type) -> str:
    return STORED.get(kind.__qualname__, kind.__qualname__)
