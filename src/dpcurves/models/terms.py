"""Terms of linear predictors over declared columns, and link functions.

    linear predictor    intercept + sum over terms of  coefficient * product of the term's factors
    factor              `Power`: ((transform(x) - centre) / spread)**power, x clipped to its declared range
                        `Level`: 1 if the column has the category, else 0
    prediction          the linear predictor (identity), 1 / (1 + exp(-predictor)) (logit) or exp(predictor) (log)

Predictions are equal on all machines: powers are products, and exponentials and logarithms are computed one number at a
time by the C library.

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
    """Function applied to a column before its power is taken."""

    IDENTITY = "identity"
    LOG1P = "log1p"


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A numeric column with a declared range; values outside, including infinities, count as the nearer endpoint.

    Raises:
        ValueError: the endpoints are not finite or not in order.
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
        """Return the factor of each record from the column's values, clipped to their range, (records,); by
        multiplications only, which are reproducible on all machines."""
        base_power = clipped if self.transform is Transform.IDENTITY else apply_elementwise(log1p, clipped)
        base = (base_power - self.centre) / self.spread
        product = base
        for _ in range(1, self.power):
            product = product * base
        return product


@dataclass(frozen=True, slots=True)
class Level:
    """A factor of a term: 1 if the column has this category, 0 if it has another declared category."""

    column: str
    category: Category


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient times the product of its factors; with two or more factors, an interaction.

    Raises:
        ValueError: the coefficient is not finite.
    """

    coefficient: float
    factors: tuple[Power | Level, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", require_number("coefficient", self.coefficient))
        object.__setattr__(self, "factors", require_sequence("factors", self.factors, "a tuple of them"))
        if not isfinite(self.coefficient):
            raise InvalidArgument("coefficient", "a finite number is needed, as in 0.5")


def column_to_json(column: NumericColumn | Categories) -> dict[str, Any]:
    """Return the declaration of a column, without its name, as JSON values."""
    if isinstance(column, NumericColumn):
        return {"lower": column.lower, "upper": column.upper}
    return {"categories": list(column.values)}


def column_from_json(name: str, declared: Mapping[str, Any]) -> NumericColumn | Categories:
    """Return the declared column of this name from the values that `column_to_json` wrote."""
    if "categories" in declared:
        return Categories(name, tuple(declared["categories"]))
    return NumericColumn(name, declared["lower"], declared["upper"])


def factor_to_json(factor: Power | Level) -> dict[str, Any]:
    """Return a factor as JSON values, without fields that have their defaults."""
    if isinstance(factor, Level):
        return {"column": factor.column, "is": factor.category}
    values = ((field, getattr(factor, field.name)) for field in fields(factor))
    stored = {field.name: value for field, value in values if value != field.default}
    return {name: value.value if isinstance(value, Enum) else value for name, value in stored.items()}


def factor_from_json(stored: Any) -> Power | Level:
    """Return the factor that `factor_to_json` wrote; the name of a column alone is its first power."""
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
        """Return the prediction for each linear predictor: nondecreasing, and NaN for NaN.

        The C library is called for one number at a time: NumPy's vectorised functions may differ in the last digit with
        the position in an array.
        """
        if self is Link.IDENTITY:
            return linear
        return apply_elementwise(_logistic if self is Link.LOGIT else _exponential, linear)


def apply_elementwise(function: Callable[[float], float], values: FloatArray) -> FloatArray:
    """Return the values of a function, (n,), which is called with one number at a time, so that results are equal on
    all machines."""
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=len(values))


def _logistic(linear: float) -> float:
    """Return the logistic function of a linear predictor, from an exponential that cannot overflow."""
    small = exp(-abs(linear))
    return (1.0 if linear >= 0 else small) / (1.0 + small)


def _exponential(linear: float) -> float:
    """Return the exponential of a linear predictor, which is clipped at 700; NaN for NaN."""
    return linear if isnan(linear) else exp(min(linear, 700.0))  # exp(700) is a finite double
