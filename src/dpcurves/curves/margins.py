"""Margins: sums of one release over categories of some of its columns, as curves and numbers with intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..arguments import Refused, WrongKind, shown
from ..conversation import Evidence
from .question import Key

Curve = TypeVar("Curve", bound=Any)
NOTE = "a sum over the declared categories of {columns}: records of no declared category are in none of them"


def added(curves: Sequence[Curve], *notes: str) -> Curve:
    """The curve of the records of all these curves together, read from the sums of what was released for them.

    Formal guarantees: it is read from released numbers alone, so nothing is spent. *Proof of its intervals.* Each
    release of one law is ``S c + noise``, with the same linear S for all; their sum is ``S (sum of c) + (sum of
    noises)``. That is a release of the union under the law whose noises are sums of independent noises, which
    `NoisySums.added` is; intervals are simulated from it as from any other law.

    Args:
        curves: Curves of one kind, of disjoint records, from one release: the same question, the same laws.
        notes: What the curve notes.

    Raises:
        TypeError: curves of this kind do not add up.
        ValueError: they were not counted alike.
    """
    first = curves[0]
    if not first.ADDS:
        raise WrongKind("over", f"results of the kind {type(first).__name__} do not add up; counts and sums do")
    alike = {json.dumps(dict(each._question()), sort_keys=True, default=str) for each in curves}
    laws = [tuple(turn.law for turn in each.turns) for each in curves]
    if len(alike) > 1 or any(each != laws[0] for each in laws):
        raise Refused("over", "curves that were not counted alike, each on cells of its own, do not add up")
    turns = [Evidence.together(turns) for turns in zip(*(each.turns for each in curves), strict=True)]
    stored = json.loads(first.to_json())
    stored["evidence"]["releases"] = [turn.to_json() for turn in turns]
    stored["notes"] = list(notes)  # those on one category are read again, of the sums
    read: Curve = type(first).from_json(json.dumps(stored))
    return read


def margins(columns: Sequence[str], curves: Mapping[Key, Any], over: Sequence[str]) -> tuple[list[str], dict[Key, Any]]:
    """The columns that are left, and the sum of the curves of each of their categories.

    Raises:
        ValueError: a column is none of those of the categories, or is named twice.
        TypeError: curves of this kind do not add up.
    """
    unknown = [name for name in over if name not in columns]
    if not over or unknown or len(set(over)) < len(over):
        named = ", ".join(map(shown, columns))
        raise Refused("over", f"columns of these categories are needed, each once: {named}")
    places = [place for place, name in enumerate(columns) if name not in over]
    parts: dict[Key, list[Any]] = {}
    for key, curve in curves.items():
        each = key if isinstance(key, tuple) else (key,)
        left = tuple(each[place] for place in places)
        parts.setdefault(left[0] if len(left) == 1 else left, []).append(curve)
    note = NOTE.format(columns=", ".join(over))
    return [columns[place] for place in places], {key: added(group, note) for key, group in parts.items()}
