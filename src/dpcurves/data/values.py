"""Declared values: public cells of which each holds one value; and survey weights, with their cap and their steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from itertools import pairwise
from math import inf, isfinite, nextafter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value, require_number, require_type
from ..arrays import FloatArray, IntArray
from .axis import Axis
from .grid import MOST_LAID_OUT, Grid, Outside, Spacing

FORMS = "first:last, as in 0:120, first:last:step, as in 0:120:5, or the values, as in 300,350,400"
DIGITS = 400
"""Decimals are added with so many: more than tell any double from its neighbours."""


@dataclass(frozen=True, slots=True, init=False, eq=True, repr=False)
class Values(Grid):
    """A grid of declared values: each is a cell of its own, so inside a cell nothing is unknown.

    A record that equals no declared value is read as the nearest one, and one half way between two as the larger:
    edges of cells lie half way between neighbouring values, computed from the decimals that both print as, and a record
    on an edge lies in the cell above it. The rule is public and the same for all records. Numbers, intervals and
    quantiles are of values that were read so.

    The first cell begins, and the last one ends, half the nearest step beyond its value (1/2 beyond a single value).
    Values further out are read as the first or the last one, or are counted apart with `Outside.APART`.

    Args:
        values: Public numbers in any order, as ``range(0, 121)`` or ``(300, 350, 400)``. They must not come from the
            records.
        outside: Where values beyond the cells are counted.

    >>> ages = Values(range(0, 121))
    >>> ages
    Values(range(0, 121))
    >>> ages.cells, ages.edges[:3].tolist()
    (121, [-0.5, 0.5, 1.5])
    >>> ages.values[ages.cell_of(np.array([31, 31.4, 31.5, 200]))].tolist()
    [31.0, 31.0, 32.0, 120.0]

    Raises:
        ValueError: there is no value, one is given twice or is not finite, or doubles cannot tell two of them, or the
            ends of their cells, apart.
        TypeError: it is no list of numbers.
    """

    declared_values: tuple[float, ...]

    def __init__(self, values: Iterable[float], *, outside: Outside = Outside.CLAMPED) -> None:
        declared = _sort_values(values)
        edges = _cell_edges(declared)
        object.__setattr__(self, "declared_values", declared)
        self._initialize(edges[0], edges[-1], len(declared), Spacing.EXPLICIT, edges, outside)

    @classmethod
    def parse(cls, text: str) -> Values:
        """Read ``first:last``, ``first:last:step``, or values between commas; numbers are the decimals they print.

        >>> Values.parse("0:1:0.25")
        Values((0.0, 0.25, 0.5, 0.75, 1.0))
        >>> Values.parse("300,350,500")
        Values((300.0, 350.0, 500.0))

        Raises:
            ValueError: it is written otherwise, or see the class.
        """
        require_type("values", text, str, "a text as 0:120")
        try:
            if ":" not in text:
                return cls([float(part) for part in text.split(",")])
            first, last, step = ([Decimal(part) for part in text.split(":")] + [Decimal(1)])[:3]
        except (ValueError, InvalidOperation):
            raise InvalidArgument("values", f"write {FORMS}, not {describe_value(text)}") from None
        if text.count(":") > 2:
            raise InvalidArgument("values", f"write {FORMS}, not {describe_value(text)}")
        return cls(_list_steps(first, last, step))

    @property
    def values(self) -> NDArray[np.float64]:
        """The declared values, ascending, of shape ``(cells,)``."""
        return np.array(self.declared_values)

    @property
    def endpoints(self) -> tuple[float, float]:
        """The first and the last value."""
        return self.declared_values[0], self.declared_values[-1]

    def value_range(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The first and the last value that is counted in these slots, ``(..., 2)``.

        Values counted apart are known to lie beyond an edge only.

        >>> Values((1, 2, 5)).value_range(np.array([[0, 1], [0, 3]])).tolist()
        [[1.0, 1.0], [1.0, 5.0]]
        >>> Values((1, 2, 5), outside=Outside.APART).value_range(np.array([[0, 1], [0, 3]])).tolist()
        [[-inf, 0.5], [-inf, 2.0]]
        """
        first = last = self.values
        if self.outside is Outside.APART:
            first, last = np.array([-inf, *first, self.upper]), np.array([self.lower, *last, inf])
        return np.stack([first[slots[..., 0]], last[slots[..., 1] - 1]], axis=-1)

    def with_outside(self, outside: Outside) -> Values:
        """Return these values, with those outside counted there."""
        return Values(self.declared_values, outside=outside)

    def to_explicit(self) -> Values:
        """These values: their edges are always laid out."""
        return self

    def merge_cells(self, at: Sequence[int]) -> Grid:
        """Join neighbouring cells, between edges of the numbers `at`: a grid without `values`, unless none are joined.

        >>> Values(range(4)).merge_cells([1]).edges.tolist()
        [-0.5, 0.5, 3.5]
        """
        kept = sorted({0, *at, self.cells})
        if len(kept) == self.cells + 1:
            return self
        return Grid.from_edges(self.edge(np.array(kept)).tolist(), outside=self.outside)

    def __repr__(self) -> str:
        apart = ", outside=Outside.APART" if self.outside is Outside.APART else ""
        return f"Values({_format_values(self.declared_values)}{apart})"


def _sort_values(values: Iterable[float]) -> tuple[float, ...]:
    if isinstance(values, str | bytes | Grid):
        raise WrongArgumentType(
            "values", f"a list of numbers is needed, as range(0, 121), got {describe_value(values)}"
        )
    try:
        given = tuple(values)
    except TypeError:
        raise WrongArgumentType(
            "values", f"a list of numbers is needed, as range(0, 121), got {describe_value(values)}"
        ) from None
    found = tuple(sorted(require_number("values", each) + 0.0 for each in given))  # -0.0 is 0.0
    if not found:
        raise InvalidArgument("values", "at least one value is needed")
    unusable = next((each for each in found if not isfinite(each)), None)
    if unusable is not None:
        raise InvalidArgument("values", f"finite numbers are needed, got {unusable}")
    twice = next((left for left, right in pairwise(found) if left == right), None)
    if twice is not None:
        raise InvalidArgument("values", f"each is declared once, {twice:.17g} is there twice, as far as doubles tell")
    return found


def _cell_edges(values: tuple[float, ...]) -> tuple[float, ...]:
    """Half way between neighbours, and half a step beyond the ends. Where no double lies between, the upper value."""
    inner = [_midpoint(left, right) for left, right in pairwise(values)]
    first = _outer_edge(values[0], inner[0] if inner else values[0] + 0.5, -inf)
    last = _outer_edge(values[-1], inner[-1] if inner else values[-1] - 0.5, inf)
    if not isfinite(last - first):
        raise InvalidArgument("values", f"cells about {values[0]:g} and {values[-1]:g} are not finite")
    return first, *inner, last


def _midpoint(left: float, right: float) -> float:
    middle = left / 2 + right / 2
    if not (left.is_integer() and right.is_integer() and 2 * middle == left + right):
        with localcontext(prec=DIGITS):
            middle = float((Decimal(repr(left)) + Decimal(repr(right))) / 2)
    return middle if left < middle <= right else right


def _outer_edge(value: float, inner: float, towards: float) -> float:
    """The end of a cell: as far from a value as the edge on its other side, but at least one double further."""
    with localcontext(prec=DIGITS):
        end = float(2 * Decimal(repr(value)) - Decimal(repr(inner)))
    return end if end not in {value, inner} else nextafter(value, towards)


def _list_steps(first: Decimal, last: Decimal, step: Decimal) -> list[float]:
    if not (first.is_finite() and last.is_finite() and step.is_finite() and step > 0 and first <= last):
        raise InvalidArgument("values", f"a first value not above the last, and a step above zero: write {FORMS}")
    with localcontext(prec=DIGITS):
        steps = (last - first) / step
        if steps != steps.to_integral_value():
            raise InvalidArgument("values", f"steps of {step} from {first} on do not end at {last}")
        if steps >= MOST_LAID_OUT:
            raise InvalidArgument("values", f"at most {MOST_LAID_OUT} values are declared, got {steps + 1:f}")
        return [float(first + step * each) for each in range(int(steps) + 1)]


def _format_values(values: tuple[float, ...]) -> str:
    """Text for a repr: a range, where whole numbers have even steps."""
    if len(values) > 2 and all(value.is_integer() for value in values):
        first, step = int(values[0]), int(values[1]) - int(values[0])
        evenly = range(first, first + step * len(values), step)
        if all(int(value) == each for value, each in zip(values, evenly, strict=True)):
            stop = int(values[-1]) + 1
            return f"range({first}, {stop})" if step == 1 else f"range({first}, {stop}, {step})"
    return f"({', '.join(map(repr, values))}{',' if len(values) == 1 else ''})"


SMALLEST_CAP, LARGEST_CAP = 1e-100, 1e100
CAP_RULE = (
    "give the public cap on the weight of one record; there is no default, because one record may move a weighted "
    "count by its cap, so the cap decides how much noise is needed, and it must not come from the data"
)
CAP_ALONE = "it caps the weights of a column: name that with weight="
MISSING_WEIGHTS = "records whose weight is missing, negative or not finite are left out"


@dataclass(frozen=True, slots=True)
class Weights:
    """A column of survey weights, each of which counts at most as its public cap.

    A weight above `cap` counts as `cap`. Weights are rounded to whole steps of ``cap / STEPS``, to the nearest, ties to
    the even one: so sums of weights are whole numbers, and the noise that is added to them is exact. A weight that is
    missing, negative or not finite is missing, and so is its record.

    Attributes:
        column: The column of weights.
        cap: The public cap, in units of the weights.

    Raises:
        ValueError: the cap is missing, or not from 1e-100 to 1e100.
        TypeError: one of them is of another kind.

    >>> Weights("w", 5).to_steps(np.array([0, 1, 5, 99, -1, np.nan, np.inf])).tolist()
    [0, 13107, 65536, 65536, -1, -1, -1]
    """

    STEPS: ClassVar[int] = 2**16

    column: str
    cap: float

    def __post_init__(self) -> None:
        require_type("weight", self.column, str, "the name of a column")
        if self.cap is None:
            raise InvalidArgument("weight_cap", CAP_RULE)
        cap = require_number("weight_cap", self.cap)
        if not (isfinite(cap) and SMALLEST_CAP <= cap <= LARGEST_CAP):
            raise InvalidArgument(
                "weight_cap", f"a number from {SMALLEST_CAP:g} to {LARGEST_CAP:g} is needed, got {cap:g}"
            )
        object.__setattr__(self, "cap", cap)

    @property
    def axis(self) -> Axis:
        """The column, to be read as numbers: its cells say nothing."""
        return Axis(self.column, Grid(0, self.cap, cells=1))

    @property
    def step(self) -> float:
        """The weight of one step."""
        return self.cap / self.STEPS

    def to_steps(self, values: FloatArray) -> IntArray:
        """The whole steps of each weight, from 0 to `STEPS`; -1: it is missing.

        Formal guarantees: a function of each weight alone, in fixed operations of doubles; no weight makes it fail.
        """
        known = np.isfinite(values) & (values >= 0)
        shares = np.where(known, np.minimum(values, self.cap), 0.0) / self.cap
        return np.where(known, np.rint(shares * self.STEPS), -1).astype(np.int64)

    def __str__(self) -> str:
        return f"weighted by {self.column} up to {self.cap:g}"
