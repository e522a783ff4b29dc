"""One side of a table: a column, and the public cells that it is read in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import isnan

from ..privacy.given import require_kind, several
from .grid import Grid

Category = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of numbers, on a grid. What is no number is missing.

    Raises:
        TypeError: the grid is no `Grid`, or the column no name.
    """

    column: str
    grid: Grid

    def __post_init__(self) -> None:
        require_kind("column", self.column, str, "the name of a column")
        require_kind("grid", self.grid, Grid, "a Grid, as in Grid(0, 100, cells=64),")

    @property
    def slots(self) -> int:
        """How many cells are counted."""
        return self.grid.slots


@dataclass(frozen=True, slots=True)
class Categories:
    """A column of categories that were declared in public, in this order. Any other value is missing.

    A category that is a number, or True (1) or False (0), stands for all that reads as this number, as the text "1.0"
    does for 1; a category that is text stands for the same text, and in a column of numbers for the number it spells.

    Raises:
        ValueError: no category, or one twice, or two that print alike, or one that equals nothing (NaN).
        TypeError: they are one text, or none of several things.
    """

    column: str
    values: tuple[Category, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", several("categories", self.values, 'a tuple of them, as in ("a", "b"),'))
        for value in self.values:
            require_kind("categories", value, Hashable, "a text or a number")
        different = min(len(set(self.values)), len(set(map(str, self.values))))
        if not self.values or different < len(self.values) or any(map(_is_nan, self.values)):
            raise ValueError(f"{self.column}: declare at least one category, each once, got {self.values}")

    @property
    def slots(self) -> int:
        """How many cells are counted."""
        return len(self.values)


def _is_nan(value: Category) -> bool:
    return isinstance(value, float) and isnan(value)
