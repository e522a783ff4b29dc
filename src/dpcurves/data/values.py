"""Grids of declared values (such as ages in years, or scores from 1 to 5), and columns of survey weights as integers.

`Values` is a grid of declared values ``v_1 < v_2 < ...`` with one cell each. Cell edges are the midpoints between
neighbours,

    edge_i = (v_i + v_(i+1)) / 2

so a record counts as the nearest value, and as the larger of two equally near ones. If records only take declared
values, a cell determines the value of its records, and estimates have no error of rounding.

`Weights` names a column of survey weights, which say how many units of the population a record stands for. Its
`to_steps` maps each weight w to the integer nearest to ``STEPS * min(w, cap) / cap``, for a public cap. Sums of weights
are then integers, so that exact integer noise can be added to them, and one record moves a sum by at most the cap.

Formal guarantees: neighbouring tables stay neighbouring, because values and caps are public, and clipping and rounding
are functions of one record.

>>> Values((300, 350, 400)).edges.tolist()
[275.0, 325.0, 375.0, 425.0]
>>> Weights("w", 5).to_steps(np.array([0.0, 1.0, 99.0])).tolist()  # the last one is clipped at 5
[0, 13107, 65536]
"""

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
from .grid import MOST_STORED_EDGES, Grid, Outside, Spacing

VALUES_TEXT_FORMS = "first:last, as in 0:120, first:last:step, as in 0:120:5, or the values, as in 300,350,400"
"""Forms of a text that declares the values of a column, for the error about another one."""
DECIMAL_DIGITS = 400
"""Precision of decimal arithmetic, in digits. Midpoints of doubles are computed exactly enough to be rounded correctly
at any magnitude.
"""


@dataclass(frozen=True, slots=True, init=False, eq=True, repr=False)
class Values(Grid):
    """Grid of declared values with one cell each, so that a cell determines its value.

    A record that equals no declared value counts as the nearest one, and as the larger of two equally near ones: cell
    edges are the midpoints between neighbouring values, computed from the decimals that they print as, and a record
    on an edge belongs to the cell above it. The rule is public and the same for all records. Numbers, intervals and
    quantiles refer to the rounded values.

    The outer edges are half the nearest step beyond the first and last value (1/2 beyond a single value). Values
    further out count as the first or last value, or are counted apart with `Outside.APART`.

    Args:
        values: Public numbers in any order, as ``range(0, 121)`` or ``(300, 350, 400)``. They must not come from the
            records.
        outside: Treatment of values beyond the cells.

    >>> ages = Values(range(0, 121))
    >>> ages
    Values(range(0, 121))
    >>> ages.cells, ages.edges[:3].tolist()
    (121, [-0.5, 0.5, 1.5])
    >>> ages.values[ages.cell_of(np.array([31, 31.4, 31.5, 200]))].tolist()
    [31.0, 31.0, 32.0, 120.0]

    Raises:
        ValueError: no value, a repeated or infinite value, or values or edges that doubles cannot distinguish.
        TypeError: the values are not a list of numbers.
    """

    declared_values: tuple[float, ...]

    def __init__(self, values: Iterable[float], *, outside: Outside = Outside.CLIPPED) -> None:
        """Sort the values, and compute the edges of their cells.

        Args:
            values: Public numbers in any order, each once.
            outside: Treatment of values beyond the cells.

        Raises:
            InvalidArgument: there is no value, one is repeated or infinite, or the grid is too wide for doubles.
            WrongArgumentType: `values` is no list of numbers.
        """
        declared = _sort_values(values)
        edges = _cell_edges(declared)
        object.__setattr__(self, "declared_values", declared)
        self._initialize(edges[0], edges[-1], len(declared), Spacing.EXPLICIT, edges, outside)

    @classmethod
    def parse(cls, text: str) -> Values:
        """Parse ``first:last``, ``first:last:step``, or values with commas between them, as exact decimals.

        >>> Values.parse("0:1:0.25")
        Values((0.0, 0.25, 0.5, 0.75, 1.0))
        >>> Values.parse("300,350,500")
        Values((300.0, 350.0, 500.0))

        Args:
            text: Text that the user gave.

        Raises:
            ValueError: the text has another form; a value is repeated or infinite; or there are too many.
        """
        require_type("values", text, str, "a text as 0:120")
        try:
            if ":" not in text:
                return cls([float(number) for number in text.split(",")])
            first, last, step = ([Decimal(number) for number in text.split(":")] + [Decimal(1)])[:3]
        except (ValueError, InvalidOperation):
            raise InvalidArgument("values", f"write {VALUES_TEXT_FORMS}, not {describe_value(text)}") from None
        if text.count(":") > 2:
            raise InvalidArgument("values", f"write {VALUES_TEXT_FORMS}, not {describe_value(text)}")
        return cls(_list_steps(first, last, step))

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the declared values in increasing order, shape ``(cells,)``."""
        return np.array(self.declared_values)

    @property
    def endpoints(self) -> tuple[float, float]:
        """Return the smallest and the largest declared value."""
        return self.declared_values[0], self.declared_values[-1]

    def value_range(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the first and the last value counted in ranges of slots, shape ``(..., 2)``.

        Args:
            slots: First slot of each range, and the slot behind its last one, shape ``(..., 2)``. Slots are the cells
                in order; with `Outside.APART` the first one counts smaller values and the last one larger values. These
                are only known to lie beyond an edge.

        >>> Values((1, 2, 5)).value_range(np.array([[0, 1], [0, 3]])).tolist()
        [[1.0, 1.0], [1.0, 5.0]]
        >>> Values((1, 2, 5), outside=Outside.APART).value_range(np.array([[0, 1], [0, 3]])).tolist()
        [[-inf, 0.5], [-inf, 2.0]]
        """
        first = last = self.values
        if self.outside is Outside.APART:
            first = np.array([-inf, *first, self.upper])
            last = np.array([self.lower, *last, inf])
        return np.stack([first[slots[..., 0]], last[slots[..., 1] - 1]], axis=-1)

    def with_outside(self, outside: Outside) -> Values:
        """Return equal declared values with another rule for values that are not declared.

        Args:
            outside: Whether values beyond the outer edges count as the first or last value, or are counted apart.
        """
        return Values(self.declared_values, outside=outside)

    def to_explicit(self) -> Values:
        """Return these values unchanged; a grid of declared values has explicit edges already."""
        return self

    def merge_cells(self, edge_indices: Sequence[int]) -> Grid:
        """Return the grid whose cells are merged between the edges with these indices.

        Args:
            edge_indices: Indices of the edges that stay, from 0 to `cells`, besides the first and the last.

        Returns:
            A grid without `values`; the grid itself if no cells are merged.

        >>> Values(range(4)).merge_cells([1]).edges.tolist()
        [-0.5, 0.5, 3.5]
        """
        kept = sorted({0, *edge_indices, self.cells})
        if len(kept) == self.cells + 1:
            return self
        return Grid.from_edges(self.edge(np.array(kept)).tolist(), outside=self.outside)

    def __repr__(self) -> str:
        """Return the call that makes an equal grid, such as ``Values(range(0, 121))``."""
        apart = ", outside=Outside.APART" if self.outside is Outside.APART else ""
        return f"Values({format_values(self.declared_values)}{apart})"


def _sort_values(values: Iterable[float]) -> tuple[float, ...]:
    """Sort declared values, and return them as floats.

    Args:
        values: Declared values in any order.

    Raises:
        WrongArgumentType: `values` is not a list of numbers.
        InvalidArgument: the list is empty, or holds a repeated or infinite number.
    """
    if isinstance(values, str | bytes | Grid):
        raise WrongArgumentType(
            "values", f"a list of numbers is needed, as in Values(range(0, 121)), got {describe_value(values)}"
        )
    try:
        declared = tuple(values)
    except TypeError:
        raise WrongArgumentType(
            "values", f"a list of numbers is needed, as in Values(range(0, 121)), got {describe_value(values)}"
        ) from None
    finite_values = tuple(sorted(require_number("values", value) + 0.0 for value in declared))  # -0.0 is 0.0
    if not finite_values:
        raise InvalidArgument("values", "at least one value is needed, as in range(0, 121)")
    unusable = next((value for value in finite_values if not isfinite(value)), None)
    if unusable is not None:
        raise InvalidArgument("values", f"finite numbers are needed, as in 0 or 1.5, got {unusable}")
    repeated = next((left for left, right in pairwise(finite_values) if left == right), None)
    if repeated is not None:
        raise InvalidArgument(
            "values", f"declare each value once; {repeated:.17g} is declared twice, as far as doubles tell"
        )
    return finite_values


def _cell_edges(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return the edges of the cells: an outer edge, the midpoints between neighbouring values, and another outer edge.

    Args:
        values: Declared values in increasing order, at least one.

    Raises:
        InvalidArgument: the width of the whole grid is not a finite double.
    """
    inner = [_midpoint(left, right) for left, right in pairwise(values)]
    first = _outer_edge(values[0], inner[0] if inner else values[0] + 0.5, -inf)
    last = _outer_edge(values[-1], inner[-1] if inner else values[-1] - 0.5, inf)
    if not isfinite(last - first):
        raise InvalidArgument(
            "values", f"cells around {values[0]:g} and {values[-1]:g} are not finite; declare smaller values"
        )
    return first, *inner, last


def _midpoint(left: float, right: float) -> float:
    """Return the midpoint of two neighbouring values, computed from the decimals that they print as.

    The midpoint of 0.1 and 0.2 is thus 0.15, the double nearest to the decimal. If no double lies between the values,
    the upper one is returned.

    Args:
        left: The smaller value.
        right: The larger value.
    """
    midpoint = left / 2 + right / 2
    if not (left.is_integer() and right.is_integer() and 2 * midpoint == left + right):
        with localcontext(prec=DECIMAL_DIGITS):
            midpoint = float((Decimal(repr(left)) + Decimal(repr(right))) / 2)
    return midpoint if left < midpoint <= right else right


def _outer_edge(value: float, inner: float, towards: float) -> float:
    """Return the outer edge of the first or last cell, as far from the declared value as the cell's inner edge.

    At least one double beyond the value.

    The edge lies as far from the outermost value as the inner edge of its cell, and at least one double further out.

    Args:
        value: The first or last declared value.
        inner: Inner edge of its cell.
        towards: ``-inf`` for the lower edge, ``inf`` for the upper edge.
    """
    with localcontext(prec=DECIMAL_DIGITS):
        edge = float(2 * Decimal(repr(value)) - Decimal(repr(inner)))
    return edge if edge not in {value, inner} else nextafter(value, towards)


def _list_steps(first: Decimal, last: Decimal, step: Decimal) -> list[float]:
    """Return the numbers ``first, first + step, ..., last``, computed in exact decimals.

    Args:
        first: First number.
        last: Last number, not below the first.
        step: Distance of neighbours, above 0.

    Raises:
        InvalidArgument: the numbers are not in order, the steps do not end at `last`, or there are too many.
    """
    if not (first.is_finite() and last.is_finite() and step.is_finite() and step > 0 and first <= last):
        raise InvalidArgument(
            "values",
            f"the first value must not be above the last, and the step must be above zero: write {VALUES_TEXT_FORMS}",
        )
    with localcontext(prec=DECIMAL_DIGITS):
        steps = (last - first) / step
        if steps != steps.to_integral_value():
            raise InvalidArgument(
                "values", f"steps of {step} from {first} do not end at {last}; choose a step that divides the range"
            )
        if steps >= MOST_STORED_EDGES:
            raise InvalidArgument(
                "values",
                f"must be at most {MOST_STORED_EDGES} values, got {steps + 1:f}; choose a larger step or a grid",
            )
        return [float(first + step * index) for index in range(int(steps) + 1)]


def format_values(values: tuple[float, ...]) -> str:
    """Return declared values as Python code for `repr`: as a range if they are equally spaced integers, else as a
    tuple.

    Args:
        values: Declared values, increasing.
    """
    if len(values) > 2 and all(value.is_integer() for value in values):
        first = int(values[0])
        step = int(values[1]) - int(values[0])
        evenly = range(first, first + step * len(values), step)
        if all(int(value) == number for value, number in zip(values, evenly, strict=True)):
            stop = int(values[-1]) + 1
            return f"range({first}, {stop})" if step == 1 else f"range({first}, {stop}, {step})"
    return f"({', '.join(map(repr, values))}{',' if len(values) == 1 else ''})"


CAP_RULE = (
    "give the public cap on the weight of one record; there is no default, because one record may move a weighted "
    "count by its cap, so the cap decides how much noise is needed, and it must not come from the data"
)
"""Rule in the error for a weighted question without a cap on the weight of a record."""
CAP_WITHOUT_WEIGHT_RULE = "the cap needs a column of weights: name it with weight="
"""Rule in the error for a cap without a column of weights."""
MISSING_WEIGHTS = "records whose weight is missing, negative or not finite are left out"
"""Note on how records without a usable weight are treated."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Column of survey weights, clipped at a public cap.

    A weight above `cap` counts as `cap`. Weights are rounded to integer multiples of ``cap / STEPS``, to the nearest,
    ties to even. So sums of weights are integers, and their noise is exact. A record with a missing, negative or
    infinite weight is missing.

    Attributes:
        column: Column of weights.
        cap: Public cap, in units of the weights.

    Raises:
        ValueError: the cap is missing, or not from 1e-100 to 1e100.
        TypeError: the column is not a name, or the cap not a number.
    >>> Weights("w", 5).to_steps(np.array([0, 1, 5, 99, -1, np.nan, np.inf])).tolist()
    [0, 13107, 65536, 65536, -1, -1, -1]
    """

    STEPS: ClassVar[int] = 2**16
    """Steps. Number of integer steps from weight 0 to the cap: weights are rounded to 1/65,536 of the cap."""

    column: str
    cap: float

    def __post_init__(self) -> None:
        """Check the name of the column, and convert the cap to a float.

        Raises:
            InvalidArgument: the cap is missing or out of range.
            WrongArgumentType: a field has another type.
        """
        require_type("weight", self.column, str, "the name of a column")
        if self.cap is None:
            raise InvalidArgument("weight_cap", CAP_RULE)
        cap = require_number("weight_cap", self.cap)
        largest_cap = 1e100  # units of the weights. Largest cap on a weight: sums of capped weights are finite doubles.
        smallest_cap = 1e-100  # units of the weights. Smallest cap on a weight: its steps are normal doubles.
        if not (isfinite(cap) and smallest_cap <= cap <= largest_cap):
            raise InvalidArgument(
                "weight_cap", f"a number from {smallest_cap:g} to {largest_cap:g} is needed, as in 10, got {cap:g}"
            )
        object.__setattr__(self, "cap", cap)

    @property
    def axis(self) -> Axis:
        """Axis that reads the column of weights as numbers; its grid of one cell is not used."""
        return Axis(self.column, Grid(0, self.cap, cells=1))

    @property
    def step(self) -> float:
        """Weight of one step of the integer scale, ``cap / STEPS``, in units of the weights."""
        return self.cap / self.STEPS

    def to_steps(self, values: FloatArray) -> IntArray:
        """Return each weight, clipped to the cap, as an integer number of steps, from 0 to `STEPS`; -1 if it is
        missing.

        Formal guarantees: the result is a function of each weight alone, by fixed operations on doubles, and no weight
        raises an error.

        Args:
            values: Weights, of any shape. NaN, negative and infinite ones are missing.
        """
        known = np.isfinite(values) & (values >= 0)
        fractions = np.where(known, np.minimum(values, self.cap), 0.0) / self.cap
        return np.where(known, np.rint(fractions * self.STEPS), -1).astype(np.int64)

    def __str__(self) -> str:
        """Return the weights in words, such as "weighted by w up to 5"."""
        return f"weighted by {self.column} up to {self.cap:g}"
