"""Axes of a table: a column, or a predictor in the place of one, and the public cells that it is read in."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import isnan
from re import search
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType, describe_value, require_sequence, require_type
from ..arrays import FloatArray
from .grid import Grid
from .universe import HashUniverse, Universe, require_universe

LONGEST_NAME = 60
MOST_JSON = 2**24
"""Characters of a model that is read."""


class Input(NamedTuple):
    """A column that a model reads.

    Attributes:
        column: Its name.
        values: Declared categories, of which the number in this list is read; None: a column of numbers.
    """

    column: str
    values: tuple[str | int | float | bool, ...] | None = None


class Predictor(ABC):
    """A model with a name, made of public numbers alone.

    Formal guarantees: its value for a record is a function of that record alone: `compute_values` works element by element, in
    a fixed order, with operations whose results do not depend on their neighbours in an array. So a record moves
    nobody's score but its own, in whatever batch and place it is read. No input makes it fail: what is missing in one
    of the columns that it needs is a missing score.
    """

    __slots__ = ()
    KIND: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """The columns that it reads."""

    @abstractmethod
    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """The value for each record.

        Args:
            columns: For each of the `inputs`, numbers, or numbers of categories; NaN: missing.
        """

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The parts of the model, but for its name, as plain objects."""

    def to_json(self) -> str:
        """A text from which the same model is read again, bit for bit."""
        return json.dumps(self.to_object())

    def to_object(self) -> dict[str, Any]:
        """The model as plain objects."""
        return {"dpcurves": self.KIND, "name": self.name, **self.facts()}

    @property
    def digest(self) -> str:
        """The SHA-256 of all that it is made of, in hexadecimal digits: two models with one digest are the same."""
        return sha256(self.to_json().encode()).hexdigest()

    def predict(self, table: Any) -> FloatArray:
        """The values for a public table, a data frame or a mapping: what is confidential is asked for instead.

        Raises:
            ValueError: a column is missing.
        """
        lacking = next((each.column for each in self.inputs if each.column not in table), None)
        if lacking is not None:
            raise InvalidArgument("table", f"{self.name!r} reads a column {lacking!r}, which is not there", lacking)
        return self.compute_values([_encode_column(table[each.column], each.values) for each in self.inputs])

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, sha256={self.digest!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Predictor) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def require_name(name: object) -> None:
    """A name that may stand on pictures and in ledgers.

    Raises:
        ValueError: it is none.
    """
    require_type("name", name, str, "a text")
    text = str(name)
    if not (0 < len(text) <= LONGEST_NAME and text.isprintable() and text.strip() == text):
        raise InvalidArgument(
            "name", f"1 to {LONGEST_NAME} printable characters are needed, got {describe_value(name)}"
        )


def _encode_column(values: Any, categories: tuple[str | int | float | bool, ...] | None) -> FloatArray:
    """A public column as `Predictor.compute_values` takes it."""
    if categories is None:
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([_to_number(each) for each in values], dtype=np.float64)
    texts = {each: float(place) for place, each in enumerate(categories) if isinstance(each, str)}
    numbers = {float(each): float(place) for place, each in enumerate(categories) if not isinstance(each, str)}
    return np.array([_find_category(each, texts, numbers) for each in values], dtype=np.float64)


def _find_category(value: Any, texts: dict[str, float], numbers: dict[float, float]) -> float:
    """The place of a value among categories that are text, and otherwise among those that are numbers; NaN: neither."""
    number = _to_number(value)
    without_point = str(int(number)) if not isinstance(value, str) and number.is_integer() else ""
    return next((texts[name] for name in (str(value), without_point) if name in texts), numbers.get(number, np.nan))


def _to_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


Category = str | int | float | bool
SCALARS: tuple[tuple[type, type], ...] = (
    (np.str_, str), (np.bool_, bool), (np.integer, int), (np.floating, float)
)  # fmt: skip
"""NumPy's, and what they are in Python."""
MOST_DIGITS = 1000


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of numbers, on a grid. What is no number is missing. Instead of a column, a model of others may stand.

    Raises:
        TypeError: the grid is no `Grid`, or the column neither a name nor a model.
    """

    column: str | Predictor
    grid: Grid

    def __post_init__(self) -> None:
        require_type("column", self.column, (str, Predictor), "the name of a column, or a Scorecard or Trees,")
        require_type("grid", self.grid, Grid, "a Grid, as in Grid(0, 100, cells=64),")

    @property
    def slots(self) -> int:
        """The number of counted cells."""
        return self.grid.slots


@dataclass(frozen=True, slots=True)
class TypedAxis(Axis):
    """A column of numbers, dates, times or durations, as its schema declares, on a grid.

    Dates are counted in days since the beginning of 1970; moments, times of day and durations in seconds.
    """


@dataclass(frozen=True, slots=True)
class DurationAxis(TypedAxis):
    """A column of numbers, or of durations (in seconds), on a grid: dates and moments do not tell how long it took."""


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of categories that were declared in public, in this order. Any other value is missing.

    A category that is a number, or True (1) or False (0), stands for all that reads as this number, as the text "1.0"
    does for 1 where no type is declared; a column that declares text is refused. A category that is text stands for
    the same text; in a column that declares numbers it is written as the number is, as ``"1"``, or refused: ``"01"``.

    Attributes:
        column: Its name.
        values: The categories.
        arguments: Under which argument each was given, for refusals.
        is_implied: Two classes, the negative of which was not named: 0 or 1, where labels are numbers.

    Raises:
        ValueError: no category, or one twice, or two that print alike, or one that no value can equal.
        TypeError: they are one text, or none of several things, or one of them is neither text nor number.
    """

    column: str
    values: tuple[Category, ...]
    arguments: tuple[str, ...] = field(default=(), repr=False, compare=False)
    is_implied: bool = field(default=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        given = require_sequence("categories", self.values, 'a tuple of them, as in ("a", "b"),')
        values = tuple(parse_category("categories", each) for each in given)
        if not values or min(len(set(values)), len(set(map(str, values)))) < len(values):
            raise InvalidArgument("categories", "at least one is needed, each once")
        object.__setattr__(self, "values", values)

    @property
    def slots(self) -> int:
        """The number of counted cells."""
        return len(self.values)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The name of each category in a refusal."""
        return self.arguments or ("categories",) * len(self.values)


UNKNOWN, OTHER, GROUPS = "not found yet", "other", "groups"


@dataclass(frozen=True, slots=True)
class UnlistedCategories(Categories):
    """A column of groups that nobody listed: those of many units are found by noisy counts, the rest is ``other``.

    It needs a delta beside the loss, or a public universe of names: see `mechanisms.partition_selection`.

    Attributes:
        values: Stand for the groups before they are found.
        universe: The names that there may be: all texts of some letters (`TextUniverse`), or hashes (`HashUniverse`). None: any.

    Raises:
        TypeError: `universe` is none.

    >>> UnlistedCategories("ward").to_selected_categories(("b", "a")).values
    ('b', 'a', 'other')
    """

    values: tuple[Category, ...] = (UNKNOWN,)
    universe: Universe | None = None

    def __post_init__(self) -> None:
        super(UnlistedCategories, self).__post_init__()
        require_universe(self.universe)

    def to_selected_categories(self, names: tuple[str, ...]) -> SelectedCategories:
        """The groups that were found, and the rest, under a name that none of them has."""
        rest = OTHER
        while rest in names:
            rest = f"{rest} {GROUPS}"
        digits = self.universe.digits if isinstance(self.universe, HashUniverse) else 0
        return SelectedCategories(self.column, (*names, rest), digits=digits)


@dataclass(frozen=True, slots=True)
class SelectedCategories(Categories):
    """Groups that noisy counts found; the last category holds all other values that are not missing.

    Attributes:
        digits: Groups are told by so many digits of the SHA-256 of their names; 0: by their names.
    """

    digits: int = 0


def parse_category(name: str, given: Any) -> Category:
    """The declared category, as Python's text, number or truth value; `name` is the argument to blame.

    Raises:
        TypeError: it is of another kind: a date, bytes, a member of an enum, a tuple. No value would equal it.
        ValueError: it is NaN, or text that is not Unicode, or has more digits than Python prints.

    >>> parse_category("pos_label", np.float64(0.5)), parse_category("pos_label", np.bool_(True))
    (0.5, True)
    """
    value: Category = _to_python_scalar(given)
    if type(value) not in (str, int, float, bool):
        raise WrongArgumentType(name, f"a text, a number, True or False is needed, got a {type(given).__name__}")
    if isinstance(value, float) and isnan(value):
        raise InvalidArgument(name, "NaN equals nothing; what has no value is missing")
    if isinstance(value, str) and search("[\ud800-\udfff]", value):
        raise InvalidArgument(name, "a text of Unicode characters is needed, without lone surrogates")
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        raise InvalidArgument(name, f"a whole number of at most {MOST_DIGITS} digits is needed")
    return value


def _to_python_scalar(given: Any) -> Any:
    """NumPy's scalars as Python's. A span of time is a whole number by its class alone."""
    if isinstance(given, np.timedelta64):
        return given
    return next((kind(given) for scalar, kind in SCALARS if isinstance(given, scalar)), given)
