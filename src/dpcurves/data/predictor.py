"""Predictors stand where a column of numbers stands: functions of one record's columns, and of nothing else."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import Refused, require_kind, shown
from ..arrays import FloatArray

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

    Formal guarantees: its value for a record is a function of that record alone: `values` works element by element, in
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
    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
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
            raise Refused("table", f"{self.name!r} reads a column {lacking!r}, which is not there", lacking)
        return self.values([_read(table[each.column], each.values) for each in self.inputs])

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
    require_kind("name", name, str, "a text")
    text = str(name)
    if not (0 < len(text) <= LONGEST_NAME and text.isprintable() and text.strip() == text):
        raise Refused("name", f"1 to {LONGEST_NAME} printable characters are needed, got {shown(name)}")


def _read(values: Any, categories: tuple[str | int | float | bool, ...] | None) -> FloatArray:
    """A public column as `Predictor.values` takes it."""
    if categories is None:
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([_number(each) for each in values], dtype=np.float64)
    places = {_key(category): float(place) for place, category in enumerate(categories)}
    return np.array([places.get(_key(each), np.nan) for each in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _key(value: Any) -> Any:
    """The key that equal categories share."""
    number = _number(value)
    return str(value) if np.isnan(number) else number
