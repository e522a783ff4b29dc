"""Generalised linear models: terms, factors and link functions over declared columns.

A `Scorecard` adds up terms and applies the inverse of a link function. With numbers x that are clipped to the declared
range of their column,

    linear predictor    intercept + sum over terms of  coefficient * product of the factors of the term
    `Power`             a factor ((transform(x) - centre) / spread)**power
    `Level`             a factor that is 1 if the column has the category, else 0 (indicator)
    `Link`              prediction = linear predictor (identity), 1 / (1 + exp(-predictor)) (logit) or exp(predictor)
                        (log)

A score must not depend on the machine or on other records of a batch. Powers are therefore products, and the C library
computes exponentials and logarithms for one number at a time.

Formal guarantees: factors and predictions are functions of one record.

>>> Power("age", 2, centre=50, spread=10).evaluate(np.array([40.0, 70.0])).tolist()
[1.0, 4.0]
>>> Link.LOGIT.response(np.array([0.0, 800.0])).tolist()
[0.5, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from math import exp, isfinite, isnan, log1p
from typing import Any

import numpy as np

from ..arguments import (
    InvalidArgument,
    WrongArgumentType,
    parse_choice,
    require_integer,
    require_number,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray
from ..data.axis import Categories, Category


class Transform(Enum):
    """Function applied to a number before `Power` takes its power."""

    IDENTITY = "identity"
    LOG1P = "log1p"


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A numeric column with a declared range.

    Numbers outside the range, infinite ones included, count as the nearer endpoint (clipping).

    Attributes:
        column: Name of the column.
        lower: Lower endpoint of the range, in units of the column.
        upper: Upper endpoint, above the lower one.

    Raises:
        ValueError: the endpoints are not finite or not in order.
        TypeError: the column is not a name, or an endpoint is not a number.
    """

    column: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        for end in ("lower", "upper"):
            object.__setattr__(self, end, require_number(end, getattr(self, end)))
        if not (isfinite(self.lower) and isfinite(self.upper) and self.lower < self.upper):
            raise InvalidArgument(
                "ranges", f"{self.column!r} needs two finite endpoints, the lower first, as in (0, 90)"
            )


@dataclass(frozen=True, slots=True)
class Power:
    """A factor of a term: ``((transform(x) - centre) / spread) ** power`` of the number x in a column.

    Attributes:
        column: Name of the column.
        power: Exponent, from 1 to 16.
        transform: Function applied to x first.
        centre: Number that is subtracted from the transformed value.
        spread: Number, not 0, that the difference is divided by.

    Raises:
        ValueError: the power is not from 1 to 16, `spread` is 0, or a number is not finite.
    """

    column: str
    power: int = 1
    transform: Transform = Transform.IDENTITY
    centre: float = 0.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", require_integer("power", self.power))
        object.__setattr__(self, "transform", parse_choice("transform", self.transform, Transform))
        for name in ("centre", "spread"):
            object.__setattr__(self, name, require_number(name, getattr(self, name)))
        highest = 16  # exponent
        if not 1 <= self.power <= highest:
            raise InvalidArgument("power", f"a whole number from 1 to {highest} is needed, as in 2, got {self.power}")
        if not (isfinite(self.centre) and isfinite(self.spread) and self.spread != 0):
            raise InvalidArgument(
                "spread", "a finite spread other than 0, and a finite center, are needed, as in spread=1"
            )

    def evaluate(self, clipped: FloatArray) -> FloatArray:
        """Return the value of this factor of a term (a power or logarithm of a column) for each record, (records,).

        Args:
            clipped: Numbers of the column, clipped to its range, shape (records,).
        """
        transformed = clipped if self.transform is Transform.IDENTITY else apply_elementwise(log1p, clipped)
        base = (transformed - self.centre) / self.spread
        product = base  # repeated products: `**` may round differently on other machines
        for _ in range(1, self.power):
            product = product * base
        return product


@dataclass(frozen=True, slots=True)
class Level:
    """A factor of a term: 1 if the column has this category, and 0 if it has another declared category.

    Such a factor is also called an indicator or a dummy variable.

    Attributes:
        column: Name of the column.
        category: A declared category of it.
    """

    column: str
    category: Category


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient times the product of its factors. A term with two or more factors is an interaction.

    Attributes:
        coefficient: The coefficient.
        factors: The factors; without any, the term is a constant.

    Raises:
        ValueError: the coefficient is not finite.
        TypeError: `factors` is not a list of factors.
    """

    coefficient: float
    factors: tuple[Power | Level, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", require_number("coefficient", self.coefficient))
        object.__setattr__(self, "factors", require_sequence("factors", self.factors, "a tuple of them"))
        if not isfinite(self.coefficient):
            raise InvalidArgument("coefficient", "a finite number is needed, as in 0.5")


def column_to_json(column: NumericColumn | Categories) -> dict[str, Any]:
    """Return the declared range or categories of a column as JSON values, without the name.

    Args:
        column: Column of a scorecard.

    Returns:
        ``lower`` and ``upper`` for a column of numbers; ``categories`` for the others.
    """
    if isinstance(column, NumericColumn):
        return {"lower": column.lower, "upper": column.upper}
    return {"categories": list(column.values)}


def column_from_json(name: str, declared: Mapping[str, Any]) -> NumericColumn | Categories:
    """Return a declared column of a model from its JSON values.

    Args:
        name: Name of the column.
        declared: Its range or categories.

    Raises:
        KeyError: an endpoint is missing.
    """
    if "categories" in declared:
        return Categories(name, tuple(declared["categories"]))
    return NumericColumn(name, declared["lower"], declared["upper"])


def factor_to_json(factor: Power | Level) -> dict[str, Any]:
    """Return a factor as JSON values. Fields with their default value are left out.

    Args:
        factor: Power of a column of numbers, or indicator of a category.

    Returns:
        ``column`` and ``is`` for an indicator; else the fields of the power by name.
    """
    if isinstance(factor, Level):
        return {"column": factor.column, "is": factor.category}
    values = ((field, getattr(factor, field.name)) for field in fields(factor))
    stored = {field.name: value for field, value in values if value != field.default}
    return {name: value.value if isinstance(value, Enum) else value for name, value in stored.items()}


def factor_from_json(stored: Any) -> Power | Level:
    """Return a factor of a term (power or category) from its JSON values.

    Args:
        stored: An object; or the name of a column, which means its first power.

    Raises:
        TypeError: `stored` is neither an object nor a text, or has an unknown field.
    """
    if isinstance(stored, str):
        return Power(stored)
    if not isinstance(stored, Mapping):
        raise WrongArgumentType(
            "terms", 'each factor is an object, as in {"column": "sex", "is": "m"}, or the name of a column'
        )
    return Level(stored["column"], stored["is"]) if "is" in stored else Power(**stored)


class Link(Enum):
    """Link function from a linear predictor to a prediction.

    - `IDENTITY`: the linear predictor itself.
    - `LOGIT`: its logistic function, a probability.
    - `LOG`: its exponential.
    """

    IDENTITY = "identity"
    LOGIT = "logit"
    LOG = "log"

    def response(self, linear: FloatArray) -> FloatArray:
        """Return the prediction for each linear predictor, shape (records,): the inverse of the link function.

        Predictions are nondecreasing in the linear predictor, and NaN for NaN. NumPy's vectorised functions are not
        used, because their last digit may depend on the position of a number in its array.

        Args:
            linear: Linear predictors, shape (records,).
        """
        if self is Link.IDENTITY:
            return linear
        return apply_elementwise(_logistic if self is Link.LOGIT else _exponential, linear)


def apply_elementwise(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """Apply a scalar function to each value separately, so that results do not depend on the position in the array.

    Args:
        function: Function of one number.
        values: Numbers, shape (n,).
    """
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=len(values))


def _logistic(linear: float) -> float:
    """Return the logistic function ``1 / (1 + exp(-linear))``, computed without overflow.

    Args:
        linear: Linear predictor.
    """
    small = exp(-abs(linear))
    return (1.0 if linear >= 0 else small) / (1.0 + small)


def _exponential(linear: float) -> float:
    """Return ``exp(linear)``, the inverse of the log link; linear predictors above 700 count as 700, and NaN gives NaN.

    Args:
        linear: Linear predictor.
    """
    return linear if isnan(linear) else exp(min(linear, 700.0))  # exp(700) is a finite double
