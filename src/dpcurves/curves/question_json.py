"""JSON form of questions: write a question as a JSON object, and parse one that a program or a person wrote.

`question_to_json` and `question_from_json` are inverse. Files, the command line and servers use this format. The field
``"ask"`` of the object is the command name of the question. The other fields are the fields of the question class that
differ from their defaults. People may write short forms:

    grid        "0:90:90", "values:0:90" or "auto"          bounds      "0:100" or [0, 100]
    by          {"column": ..., "categories": [...]}        method      a name, or an object with parameters

Formal guarantees: a document holds public facts alone, and nothing in it is executed. An unknown field is refused.

>>> from dpcurves.curves import CdfQuestion
>>> from dpcurves.data import Grid
>>> stored = question_to_json(CdfQuestion("age", Grid(0, 90, cells=90)))
>>> stored["ask"], question_from_json(stored) == CdfQuestion("age", Grid(0, 90, cells=90))
('cdf', True)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..arguments import InvalidArgument, describe_value, parse_choice, require_bounds_pair, require_known_fields
from ..codec import Codec
from ..conversation import CountingMethod
from ..data import Categories, Grid, HashUniverse, Predictor, TextUniverse, UnlistedCategories, Values, parse_universe
from ..extensions import find_packages
from ..models import NumericColumn, predictor_from_object
from ..strategies import AdaptivePartition, Bisection, QuantilePartition
from .bounds import SMALLEST_UNIT
from .question import grid_from_json, grid_to_json

COMMAND_FIELD = "ask"
"""Key, in the JSON of a question, of the name of the command that asks it, as in ``{"ask": "cdf"}``."""
VALUES = "values:"
"""Prefix of a grid written as text that lists single values; a text without it is bounds and a number of cells."""
AUTO = "auto"
"""Word, in the JSON of a question, for a grid, bounds or a unit that is found privately."""
BOUNDS = "bounds"
"""Key, in the JSON of a question, of both clipping bounds together, in place of lower and upper."""
GRID = "grid"
"""Key of the grid in the JSON of a question."""
AUTO_RANGE_PREFIX = "auto-range-"
"""Before a command name: the question class that finds its grid or bounds privately. A question with ``auto`` is read
as this class, and refused if the command has none."""
ENDS = ("lower", "upper")
"""Keys, in the JSON of a question, of the two clipping bounds."""
UNITS = ("unit", "unit_predicted", "unit_residual")
"""Keys, in the JSON of a question, of the unit with which a search for bounds starts; ``auto`` under them becomes
`SMALLEST_UNIT`."""
METHODS = {"adaptive-partition": AdaptivePartition, "quantile-partition": QuantilePartition, "bisection": Bisection}
"""Counting methods by their names in the JSON of a question; another name is refused."""
METHOD_WORDS: dict[type[Any], str] = {kind: word for word, kind in METHODS.items()}
"""Names of the counting methods in the JSON of a question, by class: the inverse of `METHODS`."""


class _QuestionClasses(Mapping[str, type[Any]]):
    """Question classes by command name. A class is imported when it is looked up, because importing all takes 0.4
    seconds.

    Args:
        modules: Module of each class, by the name of the class.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._places = {_command_name(name): (module, name) for name, module in sorted(modules.items())}

    def __getitem__(self, command: str) -> type[Any]:
        """Return the class of a command name, which is imported. Raise KeyError for other names."""
        module, name = self._places[command]
        kind: type[Any] = getattr(module, name)
        return kind

    def __iter__(self) -> Iterator[str]:
        """Yield the command names, without importing any class."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of question classes, without importing any."""
        return len(self._places)

    def __contains__(self, command: object) -> bool:
        """Return True if a question has this command name, without importing its class."""
        return command in self._places


def _command_name(class_name: str) -> str:
    """Return the command name of a question class.

    Args:
        class_name: Name of the class.

    >>> _command_name("AutoRangeCdfQuestion"), _command_name("Histogram2DQuestion")
    ('auto-range-cdf', 'histogram2d')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", class_name.removesuffix("Question")).lower()


@cache
def list_question_classes() -> Mapping[str, type[Any]]:
    """Return the question classes by their command names.

    >>> sorted(list_question_classes())[:4]
    ['auto-range-cdf', 'auto-range-histogram', 'auto-range-mean', 'auto-range-quantiles']
    """
    modules: dict[str, ModuleType] = {}
    for module in (import_module(__package__), *find_packages()):
        modules |= {name: module for name in module.__all__ if name.endswith("Question") and name != "Question"}
    return _QuestionClasses(modules)


def question_to_json(question: Any) -> dict[str, Any]:
    """Return a question as a JSON object: its command name, and its fields, except for those with default values.

    Args:
        question: The question.

    Raises:
        KeyError: the class of the question is not in `list_question_classes`.

    >>> from dpcurves.curves import CdfQuestion
    >>> question_to_json(CdfQuestion("age", Grid(0, 90, cells=90)))["column"]
    'age'
    """
    command = _command_name(type(question).__name__)
    if list_question_classes().get(command) is not type(question):
        raise KeyError(type(question))
    return {COMMAND_FIELD: command, **QUESTION_CODEC.encode_fields(question)}


def question_from_json(stored: Mapping[str, Any]) -> Any:
    """Return the question that `question_to_json`, or a person, wrote.

    A grid may also be a text, like ``"0:90:90"`` or ``"values:0:90"``; an exact number a text, like ``"0.95"``; and
    bounds a list or a text, ``"bounds": "0:100"``, instead of ``lower`` and ``upper``. The word ``"auto"`` requests
    values that are found privately:

    - as grid, or as bounds of a sum or mean: the variant of the question with an automatic range, if it has one;
    - as unit: the smallest unit, from which the search for bounds starts;
    - as categories: partition selection, which needs a delta (`UnlistedCategories`).

    Args:
        stored: The JSON object, with the command name under ``ask``.

    Raises:
        ValueError: the question is unknown, or a field is missing, unknown or malformed; one line names it.

    >>> print(question_from_json({"ask": "cdf", "column": "age", "grid": "0:90:90"}))
    distribution function of age
    """
    command = stored.get(COMMAND_FIELD) if isinstance(stored, Mapping) else stored
    if not isinstance(stored, Mapping) or not isinstance(command, str) or command not in list_question_classes():
        raise InvalidArgument(
            COMMAND_FIELD, f"must be one of {', '.join(sorted(list_question_classes()))}, got {describe_value(command)}"
        )
    word = command
    values = {name: value for name, value in stored.items() if name != COMMAND_FIELD}

    # A grid or bounds that are found privately have a separate question class.
    if values.get(GRID) == AUTO:
        if f"{AUTO_RANGE_PREFIX}{word}" not in list_question_classes():
            raise InvalidArgument(
                GRID, f"this question needs a grid; only {', '.join(_questions_without_grid())} take {AUTO!r}"
            )
        word = f"{AUTO_RANGE_PREFIX}{word}"
        del values[GRID]
    if values.get(BOUNDS) == AUTO:
        values |= dict.fromkeys(ENDS, values.pop(BOUNDS))
    if AUTO in (values.get(end) for end in ENDS) and f"{AUTO_RANGE_PREFIX}{word}" in list_question_classes():
        if {values.pop(end, AUTO) for end in ENDS} != {AUTO}:
            raise InvalidArgument(
                ENDS[0], f"give {' and '.join(ENDS)} as numbers, or both as {AUTO!r}, or leave both out"
            )
        word = f"{AUTO_RANGE_PREFIX}{word}"

    # Only after this choice are the fields known, and so whether they include both ends of the bounds.
    if BOUNDS in values and {*ENDS} <= {field.name for field in fields(list_question_classes()[word])}:
        values |= dict(zip(ENDS, _parse_bounds(values.pop(BOUNDS)), strict=True))
    values |= {name: SMALLEST_UNIT for name in UNITS if values.get(name) == AUTO}
    return _parse_fields(list_question_classes()[word], values)


def _parse_bounds(value: Any) -> tuple[float, float]:
    """Return a pair of bounds from a list, or from a text such as ``0:100``, whose parts become doubles.

    The number and the order of bounds are checked by the question that uses them.

    Args:
        value: A list of two numbers, or a text.

    Raises:
        InvalidArgument: a part of the text is no number, or the list does not have two items.
    """
    if isinstance(value, str):
        try:
            value = [float(end) for end in value.split(":")]
        except ValueError:
            raise InvalidArgument(BOUNDS, "two numbers are needed, as in 0:100") from None
    return require_bounds_pair(value)


def _questions_without_grid() -> list[str]:
    """Return the command names, sorted, of the questions whose grid may be "auto"."""
    commands = [
        word.removeprefix(AUTO_RANGE_PREFIX) for word in list_question_classes() if word.startswith(AUTO_RANGE_PREFIX)
    ]
    return sorted(word for word in commands if GRID in {field.name for field in fields(list_question_classes()[word])})


def declared_columns_to_json(columns: Sequence[NumericColumn | Categories]) -> list[dict[str, Any]]:
    """Return declared columns as JSON values, in the format of questions.

    Args:
        columns: Numeric columns with bounds, and columns of categories.

    >>> declared_columns_to_json([NumericColumn("age", 0, 90), Categories("sex", ("f", "m"))])[0]
    {'column': 'age', 'lower': 0.0, 'upper': 90.0}
    """
    return [QUESTION_CODEC.encode(column) for column in columns]


def declared_columns_from_json(name: str, stored: Any) -> tuple[NumericColumn | Categories, ...]:
    """Return declared columns from JSON values in the format of questions.

    Args:
        name: Name of the argument, for messages.
        stored: List of objects, one for each column.

    Raises:
        ValueError: an entry has another format.
    """
    return _parse_declared_columns(name, stored)


def _universe_to_json(unlisted: UnlistedCategories) -> dict[str, str]:
    """Return the universe of unlisted categories as the JSON field ``universe``; no field if there is no universe.

    Args:
        unlisted: Column of unlisted categories.
    """
    match unlisted.universe:
        case TextUniverse() as texts:
            return {"universe": f"{texts.alphabet}:{texts.longest}"}
        case HashUniverse() as hashes:
            return {"universe": f"hashed:{hashes.bits}"}
        case _:
            return {}


QUESTION_CODEC: Codec = Codec(
    writers={
        Grid: grid_to_json,
        Predictor: lambda value: value.to_object(),
        UnlistedCategories: lambda value: {"column": value.column, "unlisted": True, **_universe_to_json(value)},
        Categories: lambda value: {"column": value.column, "categories": list(value.values)},
        **dict.fromkeys(METHOD_WORDS, lambda value: {METHOD_WORDS[type(value)]: QUESTION_CODEC.encode_fields(value)}),
        Enum: lambda value: value.name.lower(),
        Fraction: str,
        Decimal: str,
    },
    readers={},
)
"""Writes questions as the JSON that people write, where documents of results have `STORED_CODEC`."""


def _parse_fields(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    """Return an object of a class from the JSON values of its fields.

    Args:
        kind: A dataclass.
        stored: JSON values by field name. Fields with defaults may be missing.

    Raises:
        InvalidArgument: a field is unknown or missing, or its value is malformed.
    """
    hints = get_type_hints(kind)
    fields_by_name = {field.name: field for field in sorted(fields(kind), key=lambda field: bool(field.kw_only))}
    require_known_fields(stored, fields_by_name)
    missing = [name for name, field in fields_by_name.items() if field.default is MISSING and name not in stored]
    if missing:
        raise InvalidArgument(missing[0], "the field is missing: add it to the question")
    return kind(**{name: _parse_value(name, value, hints[name]) for name, value in stored.items()})


def _parse_value(name: str, value: Any, hint: Any) -> Any:
    """Return the value of a field from its JSON value.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.
        hint: Type hint of the field. The value is converted to a type that it allows; if none is known, it is returned
            unchanged, with a list as a tuple.

    Raises:
        InvalidArgument: the value has another form.
    """
    choices = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    if value is None and type(None) in choices:
        return None
    for kind, parse in FIELD_PARSERS.items():
        if kind in choices:
            return parse(name, value)
    for choice in choices:
        if isinstance(choice, type) and issubclass(choice, Enum):
            return parse_choice(name, value, choice)
        if isinstance(choice, type) and is_dataclass(choice):
            return _parse_fields(choice, _require_object(name, value))
    return tuple(value) if isinstance(value, list) else value


def _parse_grid(name: str, value: Any) -> Grid:
    """Return the grid that a text such as 0:90:90 or values:0:90, or an object, describes.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.

    Raises:
        InvalidArgument: the value describes no grid. The error names the field, or a part of the grid.
    """
    if isinstance(value, str):
        declared = value.startswith(VALUES)
        return Values.parse(value.removeprefix(VALUES)) if declared else Grid.parse(value)
    return grid_from_json(_require_object(name, value))


def _parse_categories(name: str, value: Any) -> Categories | tuple[Categories, ...]:
    """Return the column of categories that an object describes, or a tuple of columns for a list of objects.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.

    Raises:
        InvalidArgument: an entry is no object, names no column, or has invalid categories.
    """
    if isinstance(value, list):
        return tuple(_parse_category_column(name, entry) for entry in value)
    return _parse_category_column(name, value)


def _parse_category_column(name: str, value: Any) -> Categories:
    """Return a column of declared or unlisted categories from a JSON object.

    Args:
        name: Name of the field, for messages.
        value: Object with ``column``, and ``categories``, or ``unlisted`` with perhaps a ``universe``.

    Raises:
        InvalidArgument: the value is no object, names no column, or has invalid categories.
    """
    document = _require_object(name, value)
    if "column" not in document:
        raise InvalidArgument(
            name, 'column and categories are needed, as in {"column": "sex", "categories": ["F", "M"]}'
        )
    if document.get("unlisted") is True or document.get("categories") == AUTO:
        universe = None if (stored := document.get("universe")) is None else parse_universe(stored)
        return UnlistedCategories(document.get("column"), universe=universe)  # type: ignore[arg-type]
    return Categories(document.get("column"), document.get("categories"))  # type: ignore[arg-type]


def _parse_declared_column(name: str, value: Any) -> NumericColumn | Categories:
    """Return the numeric column with bounds, or the column of categories, that an object describes.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.

    Raises:
        InvalidArgument: the value is no object, or a field is unknown, missing or malformed.
    """
    document = _require_object(name, value)
    has_categories = "categories" in document or document.get("unlisted") is True
    return _parse_category_column(name, value) if has_categories else _parse_fields(NumericColumn, value)


def _parse_declared_columns(name: str, value: Any) -> tuple[NumericColumn | Categories, ...]:
    """Return declared columns from a JSON list, in its order.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.

    Raises:
        InvalidArgument: the value is not a list of columns.
    """
    if not isinstance(value, list | tuple):
        raise InvalidArgument(name, f"a list of objects is needed, one for each column, got {describe_value(value)}")
    return tuple(_parse_declared_column(name, entry) for entry in value)


def _parse_method(name: str, value: Any) -> Any:
    """Return a counting method from its name, or from an object with its name and parameters.

    Args:
        name: Name of the field, for messages.
        value: The JSON value: ``"bisection"``, or ``{"bisection": {...}}``.

    Raises:
        InvalidArgument: no method has this name, or a parameter is unknown.
    """
    document = {value: {}} if isinstance(value, str) else value
    if not isinstance(document, Mapping) or len(document) != 1 or next(iter(document)) not in METHODS:
        raise InvalidArgument(name, f"must be one of {', '.join(METHODS)}, got {describe_value(value)}")
    ((word, stored),) = document.items()
    return _parse_fields(METHODS[word], _require_object(name, stored))


FIELD_PARSERS: Mapping[Any, Callable[[str, Any], Any]] = MappingProxyType(
    {
        Grid: _parse_grid,
        NumericColumn: _parse_declared_column,
        tuple[NumericColumn | Categories, ...]: _parse_declared_columns,
        tuple[NumericColumn, ...]: _parse_declared_columns,
        Categories: _parse_categories,
        Predictor: lambda name, value: (
            value if isinstance(value, str) else predictor_from_object(_require_object(name, value))
        ),
        CountingMethod: _parse_method,
    }
)
"""Functions that read a field of a question from JSON, by the field's type hint. Each takes the field's name, for
messages, and the JSON value."""


def _require_object(name: str, value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object.

    Args:
        name: Name of the field, for messages.
        value: The JSON value.

    Raises:
        InvalidArgument: the value is something else.
    """
    if not isinstance(value, Mapping):
        raise InvalidArgument(name, f'an object is needed, as in {{"name": value}}, got {describe_value(value)}')
    return value
