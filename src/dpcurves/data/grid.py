"""Grids: public cells along an axis, in which records are counted.

A `Grid` has increasing edges ``x_0 < x_1 < ... < x_k`` and the cells

    [x_0, x_1), [x_1, x_2), ..., [x_(k-1), x_k]      the last one is closed

Edges are explicit, or follow a formula (`Spacing`) that is evaluated when they are needed:

    linear       x_i = lower + i * (upper - lower) / k
    geometric    x_i = lower * (upper / lower)**(i / k)
    logistic     x_i = 1 / (1 + exp(-l_i)), with log odds l_i evenly spaced: fine near probabilities 0 and 1

Values outside are clipped into the first and the last cell, or counted apart in two more cells (`Outside`). A value
that many records share, such as 0, should be an edge: `split_at_zero` and `split_at_round_numbers` give it a cell
alone.

Formal guarantees: edges are public facts, which must not come from the records. A value lies in one cell, so counts of
cells are disjoint.

>>> Grid(0, 1, cells=4).edges.tolist(), Grid.geometric(1, 8, cells=3).edges.tolist()
([0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 2.0, 4.0, 8.0])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import isfinite, lcm
from re import fullmatch, match
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arguments import (
    InvalidArgument,
    describe_value,
    parse_choice,
    parse_float,
    require_integer,
    require_number,
    require_plain_digits,
    require_type,
)
from ..object_summary import ObjectSummary

if TYPE_CHECKING:
    from rich.table import Table


class Spacing(Enum):
    """The spacing of a grid's edges."""

    LINEAR = "linear"
    GEOMETRIC = "geometric"
    LOGISTIC = "logistic"
    EXPLICIT = "explicit"


class Outside(Enum):
    """Treatment of values outside the grid: a public choice."""

    CLIPPED = "clipped into the first and the last cell"
    APART = "in cells of their own"


EXACT_IN_DOUBLES = 2**53
"""Integers below this number are exact in doubles. Multiples of a step that reach it are not used as decimal edges or
round numbers."""
PROBABILITY_ROUNDING = 2.0**-20
"""Probability by which a number may leave [0, 1] and still count as 0 or 1. Rounding to float32 is off by up to 2**-24,
a few operations on it by some more; a wrong unit, such as 1.02, is far larger.
"""


def cells_of_width(lower: float, upper: float, width: float) -> int:
    """Return the number of cells of this width between two bounds. Numbers are exact decimals as they print.

    >>> cells_of_width(0.1, 0.7, 0.2)
    3

    Args:
        lower: Lower bound, in units of the column.
        upper: Upper bound, in the same units.
        width: Width of a cell, in the same units.

    Raises:
        ValueError: the width is not a finite positive number, or the number of cells is not an integer.
        ValueError: a bound is not finite, or the lower one is not below the upper.
    """
    if not (isfinite(width) and width > 0):
        raise InvalidArgument("width", f"a finite number above zero is needed, as in 0.5, got {width}")
    if not (isfinite(lower) and isfinite(upper) and lower < upper):
        raise InvalidArgument(
            "grid",
            "finite bounds are needed, the lower below the upper, as in Grid(0, 100, cells=50), got"
            f" {lower} and {upper}",
        )
    first, last, step = (Fraction(repr(number)) for number in (lower, upper, width))
    cells = (last - first) / step
    if cells.denominator != 1:
        fewer = int(cells)
        ends = " or ".join(f"{float(first + step * count):.12g}" for count in (fewer, fewer + 1) if count)
        raise InvalidArgument(
            "width",
            f"cells of {width:.12g} from {lower:.12g} do not end at {upper:.12g}, but at {ends};"
            " choose one of these as the upper bound",
        )
    return int(cells)


def edges_of_width(lower: float, width: float, cells: int) -> NDArray[np.float64] | None:
    """Return the doubles nearest to the decimals ``lower + k * width``; None if they cannot be computed exactly.

    Over a common denominator all are integers. Their sums are exact below 2**53, and one division rounds once.

    Args:
        lower: The first edge.
        width: Width of a cell.
        cells: Number of cells.

    >>> edges_of_width(-0.3, 0.1, 4).tolist()
    [-0.3, -0.2, -0.1, 0.0, 0.1]
    """
    first = Fraction(repr(lower))
    increment = Fraction(repr(width))
    denominator = lcm(first.denominator, increment.denominator)
    first_numerator = int(first * denominator)
    numerator_step = int(increment * denominator)
    if max(denominator, abs(first_numerator), abs(first_numerator + cells * numerator_step)) >= EXACT_IN_DOUBLES:
        return None
    return (first_numerator + numerator_step * np.arange(cells + 1, dtype=np.int64)) / float(denominator)


def parse_cell_count(text: str) -> int:
    """Parse a whole number, or a power of two such as ``2^10``.

    >>> parse_cell_count("1024"), parse_cell_count("2^10")
    (1024, 1024)

    Args:
        text: Digits, or ``2^`` and one or two digits.

    Raises:
        ValueError: the text has another form.
    """
    power = fullmatch(r"2\^([0-9]{1,2})", text)
    require_plain_digits(text)
    return int(text) if power is None else 1 << int(power[1])


MOST_STORED_EDGES = 2**20
"""Edges. Largest number of edges that are kept in memory at once; the edges of finer grids stay a formula."""

CELLS_PER_VALUE = 1000
"""Cells per value. Up to this ratio, values are placed by a table of all edges, which is faster than bisection."""
WIDTH_PREFIX = "width="
"""Prefix of the third field of a grid written as text, as in 0:120:width=5: the field states the width of a cell.
Without the prefix it is the number of cells."""
GRID_TEXT_FORMS = "lower:upper:cells, as in 0:100:1024, or lower:upper:width=W, as in 0:120:width=5"
"""Forms of a grid written as text, for the error about a text of another form."""

BOUNDS_DISTANCE_RULE = "bounds that are at most 1.7e308 apart, the largest double"
"""Rule in the error for a grid whose width overflows a double."""

MOST_LOG_ODDS = 700
"""Natural-log units. Largest logit at which doubles still distinguish the edges of a logistic grid; larger bounds are
refused."""


@dataclass(frozen=True, slots=True, init=False)
class Grid:
    """Cells ``[l, r)`` between increasing edges; the last cell is closed.

    A grid with any spacing but explicit is a formula. Its edges are computed when they are needed.

    >>> Grid(0, 1, cells=4).edges.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> Grid.geometric(1, 8, cells=3).edges.tolist()
    [1.0, 2.0, 4.0, 8.0]
    >>> float(Grid(0, 120, cells=120).edges[31])
    31.0
    >>> Grid.parse("-100:1300:4096")
    Grid(-100.0, 1300.0, cells=4096)

    Values that many records share, such as 0, should be edges. Otherwise they are counted with smaller values. Give
    the width of the cells, and a value that must be an edge:

    >>> Grid(-250_000, 1_000_000, width=1000, through=0)
    Grid(-250000.0, 1000000.0, cells=1250)

    Raises:
        ValueError: the bounds cross or are not finite, the grid has no cell, doubles cannot distinguish the edges, the
            width does not divide the range, or `through` is no edge (the message names the nearest edges).
        TypeError: the number of cells is not an integer.
    """

    lower: float
    upper: float
    cells: int
    spacing: Spacing
    explicit: tuple[float, ...]
    outside: Outside

    def __init__(
        self,
        lower: float,
        upper: float,
        *,
        cells: int | None = None,
        width: float | None = None,
        through: float | None = None,
        outside: Outside = Outside.CLIPPED,
    ) -> None:
        """Make a grid of equal cells, from their number or from their width.

        Args:
            lower: The first edge, in units of the column.
            upper: The last edge.
            cells: Number of cells; give either this or `width`.
            width: Width of a cell.
            through: A number that must be an edge, such as a value that many records share; None: no such number.
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.
        """
        if (cells is None) == (width is None):
            raise InvalidArgument(
                "grid",
                "the cells are missing or given twice: give either cells=, their number, or width=, the width of each",
            )
        if width is None:
            self._initialize(lower, upper, cells or 0, Spacing.LINEAR, (), outside)
        else:
            self._initialize_from_width(
                require_number("grid", lower), require_number("grid", upper), require_number("width", width), outside
            )
        if through is not None:
            value = require_number("through", through)
            neighbours = self.edge(self._inner_cell_of(np.array([value])) + np.arange(2)).tolist()
            if value not in neighbours:  # records with this value would be counted with smaller ones
                nearest = " and ".join(f"{edge:.12g}" for edge in neighbours)
                raise InvalidArgument(
                    "through", f"{value:.12g} is not an edge of the grid; choose one of the nearest, {nearest}"
                )

    def _initialize_from_width(self, lower: float, upper: float, width: float, outside: Outside) -> None:
        """Set equal cells of a given width: by the linear formula, or by explicit edges where the formula would round
        some edge differently from the decimal.

        Args:
            lower: First edge.
            upper: Last edge.
            width: Width of a cell.
            outside: How values outside are counted.
        """
        cells = cells_of_width(lower, upper, width)
        self._initialize(lower, upper, cells, Spacing.LINEAR, (), outside)
        edges = edges_of_width(lower, width, cells) if self._has_few_edges else None
        if edges is not None and not np.array_equal(edges, self.edges):
            self._initialize(lower, upper, cells, Spacing.EXPLICIT, tuple(edges.tolist()), outside)

    @classmethod
    def geometric(cls, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLIPPED) -> Grid:
        """Return a grid whose edges have equal ratios: edge i is ``lower * (upper / lower)**(i / cells)``.

        Args:
            lower: The first edge, above zero, in units of the column.
            upper: The last edge.
            cells: Number of cells.
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.

        Raises:
            ValueError: a bound is not above zero, or their ratio is not finite.

        >>> Grid.geometric(1, 1000, cells=3).edges.round(9).tolist()
        [1.0, 10.0, 100.0, 1000.0]
        """
        lower = require_number("grid", lower)
        upper = require_number("grid", upper)
        if not (lower > 0 and isfinite(upper / lower)):
            raise InvalidArgument(
                "grid",
                "bounds of a geometric grid must be above zero, and their ratio finite, as in 1 and 1000, got "
                f"{lower} and {upper}",
            )
        return Grid.__new__(Grid)._initialize(lower, upper, cells, Spacing.GEOMETRIC, (), outside)

    @classmethod
    def logistic(cls, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLIPPED) -> Grid:
        """Return a grid for log-odds, whose edges are in equal steps of the probability ``1 / (1 + exp(-x))``.

        Args:
            lower: The first edge, in log-odds.
            upper: The last edge.
            cells: Number of cells.
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.

        Raises:
            ValueError: a bound is beyond 700 in absolute value, or the bounds do not increase.

        >>> Grid.logistic(-4, 4, cells=4).edges.round(2).tolist()
        [-4.0, -1.05, 0.0, 1.05, 4.0]
        """
        lower = require_number("grid", lower)
        upper = require_number("grid", upper)
        if not max(abs(lower), abs(upper)) <= MOST_LOG_ODDS:
            raise InvalidArgument(
                "grid",
                f"bounds of a logistic grid are log odds and must lie from {-MOST_LOG_ODDS} to"
                f" {MOST_LOG_ODDS}, got {lower} and {upper}",
            )
        return Grid.__new__(Grid)._initialize(lower, upper, cells, Spacing.LOGISTIC, (), outside)

    @classmethod
    def from_spacing(cls, spacing: Spacing, lower: float, upper: float, *, cells: int) -> Grid:
        """Return a grid whose edges follow this spacing: equal steps, equal ratios, or equal steps of a probability.

        Args:
            spacing: The formula of the edges; not explicit ones.
            lower: The first edge, in units of the column.
            upper: The last edge.
            cells: Number of cells.

        Raises:
            ValueError: the spacing is explicit, or see the class.
        """
        constructors: dict[Spacing, Callable[..., Grid]] = {
            Spacing.LINEAR: Grid, Spacing.GEOMETRIC: cls.geometric, Spacing.LOGISTIC: cls.logistic
        }  # fmt: skip
        if spacing not in constructors:
            raise InvalidArgument("grid", "explicit edges follow no formula; write Grid.from_edges(edges)")
        return constructors[spacing](lower, upper, cells=cells)

    @classmethod
    def from_edges(cls, edges: Sequence[float], *, outside: Outside = Outside.CLIPPED) -> Grid:
        """Return a grid with explicitly listed edges, for cells of any widths.

        Args:
            edges: At least two finite numbers, increasing.
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.

        Raises:
            ValueError: the edges are not finite, or do not increase.
        """
        try:
            exact = tuple(float(edge) for edge in edges)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument("grid", "at least two numbers are needed as edges, as in [0, 10, 20]") from None
        numbers = np.array(exact)
        if len(exact) < 2 or not (numbers[:-1] < numbers[1:]).all():
            raise InvalidArgument("grid", "at least two edges are needed, each above the one before, as in [0, 10, 20]")
        return Grid.__new__(Grid)._initialize(exact[0], exact[-1], len(exact) - 1, Spacing.EXPLICIT, exact, outside)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Return the grid that a text states: ``lower:upper:cells``, or ``lower:upper:width=W``; cells may be written
        as ``2^32``.

        ``geometric:`` or ``logistic:`` may precede ``lower:upper:cells``.

        Args:
            text: Text that the user gave.

        Raises:
            ValueError: the text has another form, or its bounds do not increase.

        >>> Grid.parse("0:120:width=5")
        Grid(0.0, 120.0, cells=24)
        """
        require_type("grid", text, str, "a text as 0:100:1024")
        fields = text.split(":")
        spacing = Spacing.LINEAR
        if fields[0] in {Spacing.GEOMETRIC.value, Spacing.LOGISTIC.value}:
            spacing = Spacing(fields.pop(0))
        has_width = spacing is Spacing.LINEAR and fields[-1].startswith(WIDTH_PREFIX)
        try:
            lower = parse_float(fields[0])
            upper = parse_float(fields[1])
            size = fields[2]
            (cells, width) = (
                (None, parse_float(size.removeprefix(WIDTH_PREFIX))) if has_width else (parse_cell_count(size), None)
            )
            if len(fields) != 3:
                raise IndexError
        except (ValueError, IndexError):
            is_dated = match(r"(\w+:)?\d{4}-\d\d", text) is not None
            rule = (
                "write dates as days since the day of --dates, as in 0:365:12"
                if is_dated
                else f"write {GRID_TEXT_FORMS}"
            )
            raise InvalidArgument("grid", f"{rule}, not {describe_value(text)}") from None
        cls._require_ordered_text(text, lower, upper, cells)
        return cls(lower, upper, width=width) if cells is None else cls.from_spacing(spacing, lower, upper, cells=cells)

    @staticmethod
    def _require_ordered_text(text: str, lower: float, upper: float, cells: int | None) -> None:
        """Check the numbers of a grid's text: finite, increasing bounds and at least one cell.

        Messages are in the form of the text, because users of the command line need not know Python.

        Args:
            text: Text of the grid, for the message.
            lower: Lower bound of the grid.
            upper: Upper bound of the grid.
            cells: Its number of cells; None: a width is given instead.

        Raises:
            InvalidArgument: the numbers state no grid.
        """
        if not (isfinite(lower) and isfinite(upper)):
            raise InvalidArgument("grid", f"write finite bounds, as in 0:100:1024, not {describe_value(text)}")
        if not isfinite(upper - lower):
            raise InvalidArgument("grid", f"write {BOUNDS_DISTANCE_RULE}, as in 0:100:1024, not {describe_value(text)}")
        if lower == upper:
            rule = "write a lower bound below the upper, as in 0:100:1024"
            raise InvalidArgument("grid", f"{rule}, not {describe_value(text)}")
        if lower > upper:
            *spacing, first, second, size = text.split(":")
            swapped = describe_value(":".join([*spacing, second, first, size]))
            raise InvalidArgument("grid", f"write the lower bound first, {swapped}, not {describe_value(text)}")
        if cells is not None and cells < 1:
            raise InvalidArgument("grid", f"write at least 1 cell, as in 0:100:64, not {describe_value(text)}")

    def _initialize(  # noqa: PLR0917
        self, lower: float, upper: float, cells: int, spacing: Spacing, explicit: tuple[float, ...], outside: Outside
    ) -> Grid:
        """Check the arguments and set the fields of this grid, for all constructors; return the grid.

        Args:
            lower: First edge.
            upper: Last edge.
            cells: Number of cells.
            spacing: How edges are spaced.
            explicit: All edges, if they are listed; empty otherwise.
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.

        Raises:
            InvalidArgument: the bounds are not finite or do not increase, or doubles cannot distinguish the edges.
        """
        lower = require_number("grid", lower)
        upper = require_number("grid", upper)
        cells = require_integer("cells", cells)
        if not (isfinite(lower) and isfinite(upper) and lower < upper):
            raise InvalidArgument(
                "grid",
                "finite bounds are needed, the lower below the upper, as in Grid(0, 100, cells=50),"
                f" got {lower} and {upper}",
            )
        if not isfinite(upper - lower):
            raise InvalidArgument(
                "grid", f"give {BOUNDS_DISTANCE_RULE}, as in Grid(0, 100, cells=50), got {lower} and {upper}"
            )
        if cells < 1:
            raise InvalidArgument("grid", f"at least 1 cell is needed, as in cells=64, got {cells}")
        for name, value in (
            ("lower", lower), ("upper", upper), ("cells", cells), ("spacing", spacing),
            ("explicit", explicit), ("outside", parse_choice("outside", outside, Outside)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        if spacing is not Spacing.EXPLICIT and not self._is_rising():
            raise InvalidArgument(
                "grid",
                f"{cells} cells between {lower} and {upper} are finer than doubles can tell apart; use fewer cells",
            )
        return self

    def _is_rising(self) -> bool:
        """Return True if the computed edges increase; of a grid too fine for memory, three ranges of edges are
        tested.
        """
        if self._has_few_edges:
            return bool(np.all(np.diff(self.edges) > 0))
        if self.spacing is Spacing.LINEAR:
            return self._is_wider_than_rounding()
        # edges: number of neighbouring edges of a very fine grid that are compared at each of three places
        edges_tried = 1000
        indices = np.arange(edges_tried)
        starts = (0, self.cells // 2, self.cells + 1 - edges_tried)
        return all(bool(np.all(np.diff(self.edge(indices + start)) > 0)) for start in starts)

    def _is_wider_than_rounding(self) -> bool:
        """Return True if cells of a linear grid are so wide that rounding cannot exchange two edges.

        Let u be half the distance from 1 to the next double. `edge` multiplies, divides and adds with relative errors
        of at most u each, so an edge is off by at most 2 u times the width of the grid plus u times the largest edge,
        and slightly more. Two edges, and hence a cell's width, are off by at most twice that.
        """
        width = self.upper - self.lower
        largest = max(abs(self.lower), abs(self.upper))
        unit = np.finfo(np.float64).epsneg
        return bool(width / self.cells > 4.1 * unit * width + 2.1 * unit * largest + np.finfo(np.float64).tiny)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Return the ``cells + 1`` edges, increasing, in units of the column."""
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)
        return self.edge(np.arange(self.cells + 1))

    @property
    def values(self) -> NDArray[np.float64] | None:
        """Return the declared values, shape ``(cells,)``, of a grid of `Values`; None for other grids."""
        return None

    def edge(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the edges with these indices, in units of the column: the bounds exactly, other edges by the
        formula.

        Args:
            index: Indices from 0 to `cells`, (...).
        """
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)[index]
        if self.spacing is Spacing.LINEAR and self.multiplies_first:
            inner = self.lower + index * (self.upper - self.lower) / self.cells
        elif self.spacing is Spacing.LINEAR:
            inner = self.lower + index / self.cells * (self.upper - self.lower)
        elif self.spacing is Spacing.GEOMETRIC:
            # Long doubles, because doubles would miss some edges that are exact, such as 4 between 1 and 8.
            ratio = np.longdouble(self.upper / self.lower)
            share = index.astype(np.longdouble) / self.cells
            inner = (self.lower * ratio**share).astype(np.float64)
        else:
            inner = self._logistic_edges(index.astype(np.longdouble))
        return np.where(index == self.cells, self.upper, np.where(index == 0, self.lower, inner))

    def _logistic_edges(self, index: NDArray[np.longdouble]) -> NDArray[np.float64]:
        """Return edges of a logistic grid. It computes p and 1 - p separately, so that both ends are accurate.

        Args:
            index: Indices of edges, from 0 to `cells`, of any shape.

        Returns:
            Edges in log-odds, of the same shape.
        """
        limits = np.array([self.lower, self.upper], dtype=np.longdouble)
        (p0, p1), (q0, q1) = 1 / (1 + np.exp(-limits)), 1 / (1 + np.exp(limits))
        numerators = (self.cells - index) * p0 + index * p1
        denominators = (self.cells - index) * q0 + index * q1
        return np.asarray(np.log(numerators) - np.log(denominators), dtype=np.float64)

    @property
    def multiplies_first(self) -> bool:
        """Whether `edge` may multiply before it divides, which makes integer edges exact; False only if the product
        would overflow.
        """
        return isfinite(self.cells * (self.upper - self.lower))

    def exclusive_bound(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return x such that a value is below x if and only if it is counted in one of the first `slots` slots (cells,
        with those for values outside).

        x is -inf for no slots, and NaN for all slots: in NumPy's order every value that is not missing is below NaN.

        Args:
            slots: Numbers of slots, from 0, of any shape.

        >>> Grid(0, 1, cells=4).exclusive_bound(np.array([0, 1, 3, 4])).tolist()
        [-inf, 0.25, 0.75, nan]
        """
        first_cell = int(self.outside is Outside.APART)
        bounds = self.edge(np.clip(slots - first_cell, 0, self.cells))
        if first_cell:
            lower, upper = self.closed_endpoints
            with np.errstate(over="ignore"):
                bounds = np.where(slots > self.cells, np.nextafter(upper, np.inf), np.where(slots == 1, lower, bounds))
        return np.where(slots == 0, -np.inf, np.where(slots == self.slots, np.nan, bounds))

    def boundary(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the boundary above the first `slots` slots (counted cells): their values lie below, all others at or
        above.

        An end slot also counts all values beyond the grid, so both outer boundaries are infinite. With
        `Outside.APART` the last edge is closed: values on it lie below.

        Args:
            slots: Numbers of slots, from 0, of any shape.

        >>> grid = Grid(0, 3, cells=3)
        >>> grid.boundary(np.arange(grid.slots + 1))
        array([-inf,   1.,   2.,  inf])
        """
        first_cell = int(self.outside is Outside.APART)
        edges = self.edge(np.clip(slots - first_cell, 0, self.cells))
        return np.where(slots == 0, -np.inf, np.where(slots == self.slots, np.inf, edges))

    def value_range(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bounds of the values in slots ``first`` to ``last - 1``, shape ``(..., 2)``.

        The bounds are boundaries of slots; for declared values they are values.

        Args:
            slots: Index of the first slot of each range, and of the slot behind its last one, shape ``(..., 2)``.
        """
        return self.boundary(slots)

    @property
    def endpoints(self) -> tuple[float, float]:
        """Return the smallest and the largest value inside the grid."""
        return self.lower, self.upper

    @property
    def closed_endpoints(self) -> tuple[float, float]:
        """The smallest and the largest number that counts as inside the grid, if values outside are counted apart.

        These are `lower` and `upper`, except for a grid of probabilities, from 0 to 1: a number beyond an end by no
        more than rounding (`PROBABILITY_ROUNDING`) counts as the end.

        >>> Grid(0, 1, cells=4, outside=Outside.APART).cell_of(np.array([-1e-17, 1.00000012, 1.02]))
        array([1, 4, 5])
        """
        rounding = PROBABILITY_ROUNDING if (self.lower, self.upper) == (0.0, 1.0) else 0.0
        return self.lower - rounding, self.upper + rounding

    @property
    def slots(self) -> int:
        """Return the number of counted cells: with `Outside.APART`, one more below and one more above the grid."""
        return self.cells + 2 if self.outside is Outside.APART else self.cells

    @property
    def _has_few_edges(self) -> bool:
        """True if the grid has at most `MOST_STORED_EDGES` cells, so that all edges may be in memory at once."""
        return self.spacing is Spacing.EXPLICIT or self.cells <= MOST_STORED_EDGES

    def cell_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the slot (counted cell) that each value belongs to. All engines must agree with it.

        A value on an edge belongs to the cell above it, and `upper` to the last cell. Values outside, infinities
        included, count in the end cells. With `Outside.APART` the first and the last slot count values beyond the
        `closed_endpoints`, and the cells are between them. NaN is missing: its slot is `slots`, one past the last.

        Args:
            values: Numbers in units of the column, (n,).

        Returns:
            Indices of slots, (n,).

        >>> Grid(0, 1, cells=4).cell_of(np.array([-3, 0.25, 1, np.inf, np.nan]))
        array([0, 1, 3, 3, 4])
        >>> Grid(0, 1, cells=4, outside=Outside.APART).cell_of(np.array([-3, 0.25, 1, np.inf, np.nan]))
        array([0, 2, 4, 5, 6])
        """
        values = np.asarray(values, dtype=np.float64)
        slot = self._inner_cell_of(values)
        if self.outside is Outside.APART:
            lower, upper = self.closed_endpoints
            slot = np.where(values < lower, 0, np.where(values > upper, self.cells + 1, slot + 1))
        return np.where(np.isnan(values), self.slots, slot)

    def _inner_cell_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return, for each value, the number of inner edges at or below it, which is its cell.

        Bisection with the formula is used if edges are too many for memory, or not worth computing for so few values.

        Args:
            values: Numbers in units of the column, of any shape.
        """
        if self.spacing is Spacing.EXPLICIT or (
            self._has_few_edges and self.cells < CELLS_PER_VALUE * max(values.size, 1)
        ):
            return np.searchsorted(self.edges[1:-1], values, side="right").astype(np.int64)
        lowest = np.zeros(values.shape, dtype=np.int64)
        highest = np.full(values.shape, self.cells - 1)
        for _ in range(self.cells.bit_length()):
            middle = (lowest + highest + 1) // 2
            above = ~(self.edge(middle) > values)  # NaN is above all edges, as in NumPy's order
            lowest, highest = np.where(above, middle, lowest), np.where(above, highest, np.maximum(middle - 1, lowest))
        return lowest

    def nearest_edge(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the grid edge nearest to each value, the lower of two equally near; for values beyond the
        grid, the first or last edge.

        >>> Grid(0, 1, cells=2**40).nearest_edge(np.array([-1, 0.5, 1, 2])) / 2**40
        array([0. , 0.5, 1. , 1. ])

        Args:
            values: Numbers in units of the column, of any shape.
        """
        values = np.clip(np.asarray(values, dtype=np.float64), self.lower, self.upper)
        cell = self._inner_cell_of(values)
        is_closer_to_upper = values - self.edge(cell) > self.edge(cell + 1) - values
        return np.where(is_closer_to_upper, cell + 1, cell)

    def offset_of(self, values: NDArray[np.float64], half: int) -> NDArray[np.int64]:
        """Return where each value lies in its cell: its distance from the middle, in steps of the cell's width / ``2 *
        half``.

        Let ``[left, right)`` be the cell of a value x, clipped to the grid. The result is
        ``floor((x - (left + (right - left) / 2)) / (right - left) * (2 * half) + 1/2)`` in doubles, clipped to
        ``-half, ..., half``. So x lies within half a step (and the rounding of doubles) of
        ``middle + offset * (right - left) / (2 * half)``. Missing values, and values counted apart, have offset 0.

        >>> Grid(0, 10, cells=2).offset_of(np.array([0, 1.25, 2.5, 99, np.nan]), half=100)
        array([-100,  -50,    0,  100,    0])

        Args:
            values: Numbers in units of the column, of any shape.
            half: Number of steps from the middle to an edge of the cell.

        Raises:
            ValueError: `half` is below 1 or above 2**52.
        """
        if not 1 <= half <= 2**52:
            raise InvalidArgument("half", f"a whole number from 1 to 2**52 is needed, got {half}")
        values = np.asarray(values, dtype=np.float64)
        excluded = np.isnan(values)
        if self.outside is Outside.APART:
            lower, upper = self.closed_endpoints
            excluded |= (values < lower) | (values > upper)
        values = np.where(excluded, self.lower, np.clip(values, self.lower, self.upper))
        cell = self._inner_cell_of(values)
        edges = self.edges if self._has_few_edges else None
        left, right = (self.edge(index) if edges is None else edges[index] for index in (cell, cell + 1))
        width = right - left
        steps = np.floor((values - (left + width / 2)) / width * (2 * half) + 0.5)
        return np.where(excluded, 0, np.clip(steps, -half, half)).astype(np.int64)

    def with_outside(self, outside: Outside) -> Grid:
        """Return a grid of equal cells with another rule for values outside the range.

        Args:
            outside: What becomes of values outside: moved to the nearest cell, or counted apart.

        >>> Grid(0, 1, cells=2).with_outside(Outside.APART).slots
        4
        """
        return Grid.__new__(Grid)._initialize(self.lower, self.upper, self.cells, self.spacing, self.explicit, outside)

    def to_explicit(self) -> Grid:
        """Return this grid with explicit edges, for repeated look-ups. Very fine grids stay formulas.

        >>> Grid.geometric(1, 4, cells=2).to_explicit()
        Grid.from_edges((1.0, 2.0, 4.0))
        """
        return Grid.from_edges(self.edges.tolist(), outside=self.outside) if self._has_few_edges else self

    def merge_cells(self, edge_indices: Sequence[int]) -> Grid:
        """Return the grid with cells merged between the edges with these indices.

        Args:
            edge_indices: Indices of the edges that stay, in any order and with repeats, besides the first and the last.

        >>> Grid(0, 1, cells=4).merge_cells([2, 2]).edges.tolist()
        [0.0, 0.5, 1.0]
        """
        kept = np.array(sorted({0, *edge_indices, self.cells}))
        return Grid.from_edges(self.edge(kept).tolist(), outside=self.outside)

    def _build_summary(self) -> ObjectSummary:
        """Return the summary that `repr` and notebooks show: number of cells, their range and width, and where values
        outside are counted.
        """
        ends = self.edge(np.array([0, self.cells])).tolist()
        edges = self.edge(np.arange(min(self.cells, 2**16) + 1))
        widths = np.diff(edges)
        narrowest = float(widths.min())
        widest = float(widths.max())
        is_even = self.spacing is Spacing.LINEAR or widest - narrowest <= 1e-9 * widest  # rounding errors of edges
        rows = [
            ("cells", f"{self.cells:,}"),
            ("range", f"{ends[0]:,.10g} to {ends[1]:,.10g}"),
            ("width of a cell", f"{(ends[1] - ends[0]) / self.cells if is_even else narrowest:.6g}"),
            ("spacing", self.spacing.value),
            ("values outside", self.outside.value),
        ]
        if not is_even:
            rows[2] = ("widths of cells", f"{narrowest:.6g} to {widest:.6g}")
        return ObjectSummary("Grid of public cells", rows)

    def _repr_html_(self) -> str:
        """Return the summary of the grid (range, cells, values outside) as HTML, for notebooks."""
        return self._build_summary().to_html()

    def __rich__(self) -> Table:
        """Return the summary of the grid, for terminals with rich."""
        return self._build_summary().to_rich()

    def __repr__(self) -> str:
        apart = ", outside=Outside.APART" if self.outside is Outside.APART else ""
        if self.spacing is Spacing.EXPLICIT:
            return f"Grid.from_edges({self.explicit}{apart})"
        name = "Grid" if self.spacing is Spacing.LINEAR else f"Grid.{self.spacing.value}"
        return f"{name}({self.lower}, {self.upper}, cells={self.cells}{apart})"


DOUBLINGS = 64
"""Doublings. Default number of doublings of a unit: 2**64 is 1.8e19."""


def doubling_grid(unit: float, doublings: int = DOUBLINGS, *, name: str = "unit") -> Grid:
    """Return a grid of doubling widths, symmetric around 0: its middle 1, 3, 5, ... cells form the closed intervals
    ``[-d, d]``, d = 1, 2, 4, ... units.

    To close the intervals, the inner edges above zero are the next doubles above d. Values outside are counted apart.

    Args:
        unit: The smallest d, above zero.
        doublings: Number of doublings of the unit.
        name: Argument name of the unit in error messages.

    >>> doubling_grid(1, doublings=2).cell_of(np.array([-4, -1, 1, 1.5, 2, 4, 5])).tolist()
    [1, 3, 3, 4, 4, 5, 6]

    Raises:
        ValueError: `unit` is not finite or below 2.3e-308, or `doublings` is not from 1 to 256 or overflows doubles.
        TypeError: `unit` is not a number, or `doublings` not an integer.
    """
    unit = require_number(name, unit)
    doublings = require_integer("doublings", doublings)
    if not (isfinite(unit) and unit >= np.finfo(np.float64).tiny):
        raise InvalidArgument(name, f"a finite number above zero is needed, at least 2.3e-308, got {unit}")
    if not 1 <= doublings <= 256:
        raise InvalidArgument("doublings", f"a whole number from 1 to 256 is needed, as in 64, got {doublings}")
    bounds = [unit * 2.0**power for power in range(doublings + 1)]
    if not isfinite(bounds[-1]):
        raise InvalidArgument(
            name,
            f"{doublings} doublings of the unit must stay finite, got {unit}; give a smaller unit or fewer doublings",
        )
    above = [*np.nextafter(bounds[:-1], np.inf).tolist(), bounds[-1]]
    return Grid.from_edges([*(-bound for bound in reversed(bounds)), *above], outside=Outside.APART)


UNIT_INTERVAL = Grid(0, 1, cells=2**14, outside=Outside.APART)
"""Default grid of ROC curves. Scores outside are counted apart, so that a note can give their number."""
HUNDREDTHS = Grid(0, 1, cells=100, outside=Outside.APART)
"""Default grid of all metrics of probabilities: cells of 0.01. Scores outside are counted apart."""
SCORES = Grid(0, 1, cells=4096)
"""Default grid of groups of similar probabilities."""


def middles_of(grid: Grid) -> NDArray[np.float64]:
    """Return the representative value of each cell: its midpoint, or the declared value.

    Args:
        grid: The cells.

    Returns:
        Array of shape ``(cells,)``, in units of the column.
    """
    return np.asarray((grid.edges[:-1] + grid.edges[1:]) / 2 if grid.values is None else grid.values)


MOST_SPLIT = 2**16
"""Cells up to which a grid is split at round numbers; finer grids stay as they are. The split grid has up to three
times as many cells."""


LEAST_SPLIT_AT_ZERO = 500
"""Cells from which a distribution function separates zero, so that its two further cells are at most 0.4 % of all."""


def split_at_round_numbers(grid: Grid) -> Grid:
    """Return this grid with a separate cell for zero and for the roundest number in each cell, if it has one.

    Values are heaped on round numbers. The separate cell, from the number to the next double, contains no other value,
    so a quantile in it is known exactly. A round number in a cell is a multiple of the smallest power of ten that is
    not below the cell's width; on fewer than 100 cells, only zero is split off. A grid of declared values, or of more
    than `MOST_SPLIT` cells, is returned unchanged. A round number at an end of a clipped grid is also separated from
    the values beyond. The edges depend on the public grid alone.

    Args:
        grid: Public grid.

    >>> split_at_round_numbers(Grid(0, 30, cells=3)).edges.tolist()
    [-5e-324, 0.0, 5e-324, 10.0, 20.0, 30.0]
    >>> split_at_round_numbers(Grid(-1, 2, cells=300)).cells - 300
    400
    """
    if grid.values is not None or grid.cells > MOST_SPLIT:
        return grid

    # On fewer cells, each further cell adds too much noise.
    fewest_cells = 100  # from which a grid is split at round numbers other than zero
    numbers = find_round_numbers(grid.edges) if grid.cells >= fewest_cells else np.array([], dtype=np.float64)

    if grid.lower <= 0 <= grid.upper:
        numbers = np.append(numbers, 0.0)
    return _split_at_numbers(grid, numbers)


@lru_cache(maxsize=8)  # a pure function of a public grid, called for the plan and again for each round
def split_at_zero(grid: Grid) -> Grid:
    """Return this grid with a separate cell for zero; unchanged if zero is outside, if values are declared, or if it
    has fewer than `LEAST_SPLIT_AT_ZERO` or more than `MOST_SPLIT` cells.

    A zero at an end of a clipped grid is also separated from the values beyond. The edges depend on the public grid
    alone.

    Args:
        grid: Public grid.

    >>> split_at_zero(Grid(0, 1000, cells=500)).edges[:4].tolist()
    [-5e-324, 0.0, 5e-324, 2.0]
    """
    has_few_cells = LEAST_SPLIT_AT_ZERO <= grid.cells <= MOST_SPLIT
    has_zero = grid.values is None and grid.lower <= 0 <= grid.upper
    return _split_at_numbers(grid, np.zeros(1)) if has_zero and has_few_cells else grid


def _split_at_numbers(grid: Grid, numbers: NDArray[np.float64]) -> Grid:
    """Return the grid with a separate cell for each of these numbers, up to the next double; unchanged if an edge would
    overflow.

    Args:
        grid: The grid.
        numbers: Numbers inside the grid, in units of the column.
    """
    edges = grid.edges
    if grid.outside is Outside.APART:
        numbers = numbers[numbers < grid.upper]
    at_bounds = numbers[numbers == grid.lower], numbers[numbers == grid.upper]
    further_edges = [numbers, np.nextafter(numbers, np.inf)]
    if grid.outside is Outside.CLIPPED:
        further_edges += [np.nextafter(at_bounds[0], -np.inf), np.nextafter(np.nextafter(at_bounds[1], np.inf), np.inf)]
    finer = np.unique(np.concatenate([edges, *further_edges]) + 0.0)  # -0.0 is 0.0
    if not np.isfinite(finer).all():
        return grid
    return Grid.from_edges(finer.tolist(), outside=grid.outside)


def find_round_numbers(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a round number in each cell that has one: the multiple of the smallest power of ten not below the cell's
    width.

    Args:
        edges: Edges of the cells, increasing, (cells + 1,).

    Returns:
        Round numbers in ascending order; also the last edge, if it is round.

    >>> find_round_numbers(np.array([0.0, 8.0, 16.0, 24.0])).tolist()
    [0.0, 10.0, 20.0]
    """
    low, high = edges[:-1], edges[1:]
    exponent_rounding = 1e-9  # rounding error of a base-10 logarithm
    power = np.ceil(np.log10(high - low) - exponent_rounding)
    # -290: exponent of ten below which powers of ten are too inexact as doubles
    inside = power >= -290
    step = 10.0 ** np.where(inside, power, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        factors = np.ceil(low / step - exponent_rounding)  # an edge may be one double off the decimal
    inside &= np.abs(factors) < EXACT_IN_DOUBLES
    factors = np.where(inside, factors, 0.0)
    multiples = np.array(
        [float(f"{int(k)}e{int(p)}") for k, p in zip(factors, np.where(inside, power, 0), strict=True)]
    )
    inner_multiples = multiples[inside & (multiples < high) & (edges[0] <= multiples)]
    at_upper_bound = np.flatnonzero(inside[-1:] & (edges[-1:] == np.round(edges[-1:] / step[-1:]) * step[-1:]))
    return np.append(inner_multiples, edges[-1:][at_upper_bound])


def require_clipped(name: str, grid: object) -> Grid:
    """Check that a grid clips values outside to its end cells, where counting them separately makes no sense.

    Args:
        name: Name of the argument, for the error message.
        grid: Value of the argument.

    Raises:
        TypeError: `grid` is not a grid.
        ValueError: values outside are counted apart.
    """
    require_type(name, grid, Grid, "a Grid, as in Grid(0, 1, cells=20),")
    assert isinstance(grid, Grid)  # noqa: S101
    if grid.outside is Outside.APART:
        raise InvalidArgument(
            name, "values outside must count in the end cells; write Grid(..., outside=Outside.CLIPPED)"
        )
    return grid
