"""Questions as plain objects, and back: one form for files, for the command line and for servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import MappingProxyType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..arguments import Refused, both_ends, chosen, require_known, shown
from ..codec import Codec
from ..conversation import Way
from ..data import Categories, Grid, Hashed, Predictor, Texts, Unlisted, Values, universe_of
from ..fields import packages
from ..models import Ranged, predictor_of
from ..strategies import Bisection, GrownPartition, QuantileCuts
from .bounds import SMALLEST_UNIT
from .question import grid_from_json, grid_to_json

ASK = "ask"
VALUES = "values:"
AUTO, BOUNDS, GRID, UNBOUNDED = "auto", "bounds", "grid", "unbounded-"
"""Word for a grid, or a unit, of which nothing is known; and the beginning of the names of questions without a grid."""
ENDS = ("lower", "upper")
UNITS = ("unit", "unit_predicted", "unit_residual")
METHODS = {"grown-partition": GrownPartition, "quantile-cuts": QuantileCuts, "bisection": Bisection}
METHOD_WORDS: dict[type[Any], str] = {kind: word for word, kind in METHODS.items()}


@cache
def kinds() -> Mapping[str, type[Any]]:
    """Kinds of questions by their command names.

    >>> sorted(kinds())[:4]
    ['binned-residuals', 'bounds', 'calibration', 'cdf']
    """
    rooms = import_module(__package__), *packages()
    named = {name: room for room in rooms for name in room.__all__ if name.endswith("Question") and name != "Question"}
    return {
        re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name.removesuffix("Question")).lower(): getattr(named[name], name)
        for name in sorted(named)
    }


def question_to_json(question: Any) -> dict[str, Any]:
    """Write a question as plain objects: the word that asks it, and its fields, but for those that are as unless said.

    >>> from dpcurves.curves import CdfQuestion
    >>> question_to_json(CdfQuestion("age", Grid(0, 90, cells=90)))["column"]
    'age'
    """
    words = {kind: word for word, kind in kinds().items()}
    return {ASK: words[type(question)], **ASKED.written(question)}


def question_from_json(stored: Mapping[str, Any]) -> Any:
    """The question that was written by `question_to_json`, or by hand.

    A grid may also be a text, as ``"0:90:90"`` or ``"values:0:90"``; an exact number a text, as ``"0.95"``; and bounds
    a list or a text, ``"bounds": "0:100"``, in the place of ``lower`` and ``upper``. The grid ``"auto"`` asks the same
    without one, where that can be asked, and so do the bounds ``"auto"`` of a sum or mean; a unit ``"auto"`` is as
    small as bounds start at, and categories ``"auto"`` are those of many units, which a delta finds (`Unlisted`).

    Raises:
        ValueError: there is no such question, or a field is missing, unknown or of the wrong form; one line names it.

    >>> print(question_from_json({"ask": "cdf", "column": "age", "grid": "0:90:90"}))
    distribution function of age
    """
    if not isinstance(stored, Mapping) or not isinstance(stored.get(ASK), str) or stored[ASK] not in kinds():
        asked = stored.get(ASK) if isinstance(stored, Mapping) else stored
        raise Refused(ASK, f"one of {', '.join(sorted(kinds()))} is needed, got {shown(asked)}")
    word, said = stored[ASK], {name: value for name, value in stored.items() if name != ASK}
    if said.get(GRID) == AUTO:
        if f"{UNBOUNDED}{word}" not in kinds():
            raise Refused(GRID, f"this question needs one: {AUTO!r} is known by {', '.join(_without_grid())}")
        word = f"{UNBOUNDED}{word}"
        del said[GRID]
    if said.get(BOUNDS) == AUTO:
        said |= dict.fromkeys(ENDS, said.pop(BOUNDS))
    if AUTO in (said.get(end) for end in ENDS) and f"{UNBOUNDED}{word}" in kinds():
        if {said.pop(end, AUTO) for end in ENDS} != {AUTO}:
            raise Refused(ENDS[0], f"give {' and '.join(ENDS)}, or neither: both are {AUTO!r}, or none is")
        word = f"{UNBOUNDED}{word}"
    if BOUNDS in said and {*ENDS} <= {field.name for field in fields(kinds()[word])}:
        said |= dict(zip(ENDS, _both(said.pop(BOUNDS)), strict=True))
    said |= {name: SMALLEST_UNIT for name in UNITS if said.get(name) == AUTO}
    return _read_fields(kinds()[word], said)


def _both(value: Any) -> tuple[float, float]:
    """Both ends of bounds, as a list or as the text that the command line takes."""
    if isinstance(value, str):
        try:
            value = [float(end) for end in value.split(":")]
        except ValueError:
            raise Refused(BOUNDS, "two numbers are needed, as in 0:100") from None
    return both_ends(value)


def _without_grid() -> list[str]:
    known = [word.removeprefix(UNBOUNDED) for word in kinds() if word.startswith(UNBOUNDED)]
    return sorted(word for word in known if GRID in {field.name for field in fields(kinds()[word])})


def columns_written(columns: Sequence[Ranged | Categories]) -> list[dict[str, Any]]:
    """Write declared columns as questions write them.

    >>> columns_written([Ranged("age", 0, 90), Categories("sex", ("f", "m"))])[0]
    {'column': 'age', 'lower': 0.0, 'upper': 90.0}
    """
    return [ASKED.write(each) for each in columns]


def columns_read(name: str, stored: Any) -> tuple[Ranged | Categories, ...]:
    """Declared columns as questions read them; errors call them `name`.

    Raises:
        ValueError: one is of another form.
    """
    return _each_declared(name, stored)


def _universe_of(unlisted: Unlisted) -> dict[str, str]:
    match unlisted.universe:
        case Texts() as texts:
            return {"universe": f"{texts.alphabet}:{texts.longest}"}
        case Hashed() as hashes:
            return {"universe": f"hashed:{hashes.bits}"}
        case _:
            return {}


ASKED: Codec = Codec(
    writers={
        Grid: grid_to_json,
        Predictor: lambda value: value.to_object(),
        Unlisted: lambda value: {"column": value.column, "unlisted": True, **_universe_of(value)},
        Categories: lambda value: {"column": value.column, "categories": list(value.values)},
        **dict.fromkeys(METHOD_WORDS, lambda value: {METHOD_WORDS[type(value)]: ASKED.written(value)}),
        Enum: lambda value: value.name.lower(),
        Fraction: str,
        Decimal: str,
    },
    readers={},
)


def _read_fields(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    hints, known = get_type_hints(kind), {field.name: field for field in fields(kind)}
    require_known(stored, known)
    needed = [name for name, field in known.items() if field.default is MISSING and name not in stored]
    if needed:
        raise Refused(needed[0], "it is needed, and is not there")
    return kind(**{name: _read(name, value, hints[name]) for name, value in stored.items()})


def _read(name: str, value: Any, hint: Any) -> Any:
    """The value as the field holds it: by the kinds that it may have."""
    choices = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    if value is None and type(None) in choices:
        return None
    for kind, form in READERS.items():
        if kind in choices:
            return form(name, value)
    for choice in choices:
        if isinstance(choice, type) and issubclass(choice, Enum):
            return chosen(name, value, choice)
        if isinstance(choice, type) and is_dataclass(choice):
            return _read_fields(choice, _object(name, value))
    return tuple(value) if isinstance(value, list) else value


def _grid(name: str, value: Any) -> Grid:
    if isinstance(value, str):
        declared = value.startswith(VALUES)
        return Values.parse(value.removeprefix(VALUES)) if declared else Grid.parse(value)
    return grid_from_json(_object(name, value))


def _categories(name: str, value: Any) -> Categories | tuple[Categories, ...]:
    several = isinstance(value, list)
    return tuple(_one_column(name, each) for each in value) if several else _one_column(name, value)


def _one_column(name: str, value: Any) -> Categories:
    found = _object(name, value)
    if "column" not in found:
        raise Refused(name, 'column and categories are needed, as in {"column": "sex", "categories": ["F", "M"]}')
    if found.get("unlisted") is True or found.get("categories") == AUTO:
        universe = found.get("universe")
        return Unlisted(found.get("column"), universe=None if universe is None else universe_of(universe))  # type: ignore[arg-type]
    return Categories(found.get("column"), found.get("categories"))  # type: ignore[arg-type]


def _declared(name: str, value: Any) -> Ranged | Categories:
    return _one_column(name, value) if "categories" in _object(name, value) else _read_fields(Ranged, value)


def _each_declared(name: str, value: Any) -> tuple[Ranged | Categories, ...]:
    if not isinstance(value, list | tuple):
        raise Refused(name, f"a list of columns is needed, got {shown(value)}")
    return tuple(_declared(name, each) for each in value)


def _method(name: str, value: Any) -> Any:
    given = {value: {}} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in METHODS:
        raise Refused(name, f"one of {', '.join(METHODS)} is needed, got {shown(value)}")
    ((word, stored),) = given.items()
    return _read_fields(METHODS[word], _object(name, stored))


READERS: Mapping[Any, Callable[[str, Any], Any]] = MappingProxyType(
    {
        Grid: _grid,
        Ranged: _declared,
        tuple[Ranged | Categories, ...]: _each_declared,
        tuple[Ranged, ...]: _each_declared,
        Categories: _categories,
        Predictor: lambda name, value: value if isinstance(value, str) else predictor_of(_object(name, value)),
        Way: _method,
    }
)


def _object(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Refused(name, f"an object is needed, got {shown(value)}")
    return value
