"""Parts of linear predictors: terms over declared columns, and link functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from math import exp, isfinite, isnan, log1p
from typing import Any

import numpy as np

from ..arguments import Refused, WrongKind, chosen, number, require_kind, several, whole
from ..arrays import FloatArray
from ..data.axis import Categories, Category

HIGHEST_POWER = 16


class Transform(Enum):
    """The function that a model applies to a number before it takes a power of it."""

    IDENTITY = "identity"
    LOG1P = "log1p"


@dataclass(frozen=True, slots=True)
class Ranged:
    """A column of numbers; what lies outside its declared range, infinities too, counts as the end that is nearer.

    Raises:
        ValueError: the ends are not finite, or cross.
    """

    column: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        require_kind("column", self.column, str, "the name of a column")
        for end in ("lower", "upper"):
            object.__setattr__(self, end, number(end, getattr(self, end)))
        if not (isfinite(self.lower) and isfinite(self.upper) and self.lower < self.upper):
            raise Refused("ranges", f"{self.column!r} needs two finite ends, the lower below the upper")


@dataclass(frozen=True, slots=True)
class Power:
    """A factor of a term: ``((transform(column) - centre) / spread) ** power``.

    Raises:
        ValueError: `power` is not from 1 to 16, or `spread` is 0.
    """

    column: str
    power: int = 1
    transform: Transform = Transform.IDENTITY
    centre: float = 0.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", whole("power", self.power))
        object.__setattr__(self, "transform", chosen("transform", self.transform, Transform))
        for name in ("centre", "spread"):
            object.__setattr__(self, name, number(name, getattr(self, name)))
        if not 1 <= self.power <= HIGHEST_POWER:
            raise Refused("power", f"a whole number from 1 to {HIGHEST_POWER} is needed, got {self.power}")
        if not (isfinite(self.centre) and isfinite(self.spread) and self.spread != 0):
            raise Refused("spread", "finite numbers are needed, and a spread that is not 0")

    def of(self, clipped: FloatArray) -> FloatArray:
        """The factor of each record, by multiplication alone."""
        taken = clipped if self.transform is Transform.IDENTITY else one_by_one(log1p, clipped)
        base = (taken - self.centre) / self.spread
        found = base
        for _ in range(1, self.power):
            found = found * base
        return found


@dataclass(frozen=True, slots=True)
class Level:
    """A factor of a term: 1 where the column has this category, 0 where it has another declared one."""

    column: str
    category: Category


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient times the product of its factors; of two or more, an interaction.

    Raises:
        ValueError: the coefficient is not finite.
    """

    coefficient: float
    factors: tuple[Power | Level, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", number("coefficient", self.coefficient))
        object.__setattr__(self, "factors", several("factors", self.factors, "a tuple of them"))
        if not isfinite(self.coefficient):
            raise Refused("coefficient", "a finite number is needed")


def declared(column: Ranged | Categories) -> dict[str, Any]:
    """The declaration of a column, as plain objects."""
    if isinstance(column, Ranged):
        return {"lower": column.lower, "upper": column.upper}
    return {"categories": list(column.values)}


def column_of(name: str, declared: Mapping[str, Any]) -> Ranged | Categories:
    """The inverse of `declared`."""
    if "categories" in declared:
        return Categories(name, tuple(declared["categories"]))
    return Ranged(name, declared["lower"], declared["upper"])


def written(factor: Power | Level) -> dict[str, Any]:
    """A factor as plain objects."""
    if isinstance(factor, Level):
        return {"column": factor.column, "is": factor.category}
    given = ((field, getattr(factor, field.name)) for field in fields(factor))
    told = {field.name: value for field, value in given if value != field.default}
    return {name: value.value if isinstance(value, Enum) else value for name, value in told.items()}


def factor_of(stored: Any) -> Power | Level:
    """The inverse of `written`."""
    if isinstance(stored, str):
        return Power(stored)
    if not isinstance(stored, Mapping):
        raise WrongKind("terms", "factors are objects, or names of columns")
    return Level(stored["column"], stored["is"]) if "is" in stored else Power(**stored)


LARGEST_EXPONENT = 700.0
"""Beyond it a logarithmic link stays where it is: still a double."""


class Link(Enum):
    """The link: the function that makes a prediction of a linear predictor.

    - `IDENTITY`: it is the prediction.
    - `LOGIT`: its logistic function is, a probability.
    - `LOG`: its exponential is.
    """

    IDENTITY = "identity"
    LOGIT = "logit"
    LOG = "log"

    def response(self, linear: FloatArray) -> FloatArray:
        """The prediction of each linear predictor: never falling as it rises, NaN where it is.

        One number at a time by the library of C: what NumPy takes for arrays differs in the last digit with the place
        in an array.
        """
        if self is Link.IDENTITY:
            return linear
        return one_by_one(_logistic if self is Link.LOGIT else _exponential, linear)


def one_by_one(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """The function of each number on its own."""
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=len(values))


def _logistic(linear: float) -> float:
    """From an exponential that cannot overflow."""
    small = exp(-abs(linear))
    return (1.0 if linear >= 0 else small) / (1.0 + small)


def _exponential(linear: float) -> float:
    return linear if isnan(linear) else exp(min(linear, LARGEST_EXPONENT))
