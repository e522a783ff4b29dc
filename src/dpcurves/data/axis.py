"""An axis of a table: a column, and the public cells that it is read in."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from re import search
from typing import Any

import numpy as np

from ..arguments import Refused, WrongKind, require_kind, several
from .grid import Grid
from .predictor import Predictor

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
        require_kind("column", self.column, (str, Predictor), "the name of a column, or a Scorecard or Trees,")
        require_kind("grid", self.grid, Grid, "a Grid, as in Grid(0, 100, cells=64),")

    @property
    def slots(self) -> int:
        """The number of counted cells."""
        return self.grid.slots


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of categories that were declared in public, in this order. Any other value is missing.

    A category that is a number, or True (1) or False (0), stands for all that reads as this number, as the text "1.0"
    does for 1 where no type is declared; a column that declares text is refused. A category that is text stands for
    the same text, and in a column of numbers for the number it spells, or is refused.

    Attributes:
        column: Its name.
        values: The categories.
        arguments: Under which argument each was given, for refusals.

    Raises:
        ValueError: no category, or one twice, or two that print alike, or one that no value can equal.
        TypeError: they are one text, or none of several things, or one of them is neither text nor number.
    """

    column: str
    values: tuple[Category, ...]
    arguments: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        require_kind("column", self.column, str, "the name of a column")
        given = several("categories", self.values, 'a tuple of them, as in ("a", "b"),')
        values = tuple(category("categories", each) for each in given)
        if not values or min(len(set(values)), len(set(map(str, values)))) < len(values):
            raise Refused("categories", "at least one is needed, each once")
        object.__setattr__(self, "values", values)

    @property
    def slots(self) -> int:
        """The number of counted cells."""
        return len(self.values)

    @property
    def named(self) -> tuple[str, ...]:
        """The name of each category in a refusal."""
        return self.arguments or ("categories",) * len(self.values)


def category(name: str, given: Any) -> Category:
    """The declared category, as Python's text, number or truth value; `name` is the argument to blame.

    Raises:
        TypeError: it is of another kind: a date, bytes, a member of an enum, a tuple. No value would equal it.
        ValueError: it is NaN, or text that is not Unicode, or has more digits than Python prints.

    >>> category("pos_label", np.float64(0.5)), category("pos_label", np.bool_(True))
    (0.5, True)
    """
    value: Category = _in_python(given)
    if type(value) not in (str, int, float, bool):
        raise WrongKind(name, f"a text, a number, True or False is needed, got a {type(given).__name__}")
    if isinstance(value, float) and isnan(value):
        raise Refused(name, "NaN equals nothing; what has no value is missing")
    if isinstance(value, str) and search("[\ud800-\udfff]", value):
        raise Refused(name, "a text of Unicode characters is needed, without lone surrogates")
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        raise Refused(name, f"a whole number of at most {MOST_DIGITS} digits is needed")
    return value


def _in_python(given: Any) -> Any:
    """NumPy's scalars as Python's. A span of time is a whole number by its class alone."""
    if isinstance(given, np.timedelta64):
        return given
    return next((kind(given) for scalar, kind in SCALARS if isinstance(given, scalar)), given)
