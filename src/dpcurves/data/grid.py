"""Public cells that records are counted into. Nothing here has seen data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from math import isfinite, lcm
from re import fullmatch

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, describe_value, parse_choice, require_integer, require_number, require_type


class Spacing(Enum):
    """The spacing of a grid's edges."""

    LINEAR = "linear"
    GEOMETRIC = "geometric"
    LOGISTIC = "logistic"
    EXPLICIT = "explicit"


class Outside(Enum):
    """The treatment of values outside the grid: a public choice."""

    CLAMPED = "clamped into the first and the last cell"
    APART = "in cells of their own"


EXACT_IN_DOUBLES = 2**53
ROUNDING = 2.0**-20
"""By how much a probability may exceed [0, 1] and still count as its end: float32 rounds by up to 2**-24, and a few
operations on it by some more; a mistake of unit, as 1.02, is far larger."""


def cells_of_width(lower: float, upper: float, width: float) -> int:
    """The number of cells of this width between two bounds. Numbers are meant as the decimals they print.

    >>> cells_of_width(0.1, 0.7, 0.2)
    3

    Raises:
        ValueError: the width is no finite number above zero, or there is no whole number of cells.
    """
    if not (isfinite(width) and width > 0):
        raise InvalidArgument("width", f"a finite number above zero is needed, got {width}")
    if not (isfinite(lower) and isfinite(upper) and lower < upper):
        raise InvalidArgument("grid", f"finite bounds are needed, the lower below the upper, got {lower} and {upper}")
    first, last, each = (Fraction(repr(number)) for number in (lower, upper, width))
    cells = (last - first) / each
    if cells.denominator != 1:
        fewer = int(cells)
        ends = " or ".join(f"{float(first + each * many):.12g}" for many in (fewer, fewer + 1) if many)
        raise InvalidArgument(
            "width", f"cells of {width:.12g} from {lower:.12g} on do not end at {upper:.12g}, but at {ends}"
        )
    return int(cells)


def edges_of_width(lower: float, width: float, cells: int) -> NDArray[np.float64] | None:
    """The doubles nearest to the decimals ``lower + k * width``; None where doubles do not tell which they are.

    With a common denominator both are whole numbers. Their sums are exact below 2**53, and one division rounds once.

    >>> edges_of_width(-0.3, 0.1, 4).tolist()
    [-0.3, -0.2, -0.1, 0.0, 0.1]
    """
    first, each = Fraction(repr(lower)), Fraction(repr(width))
    whole = lcm(first.denominator, each.denominator)
    start, step = int(first * whole), int(each * whole)
    if max(whole, abs(start), abs(start + cells * step)) >= EXACT_IN_DOUBLES:
        return None
    return (start + step * np.arange(cells + 1, dtype=np.int64)) / float(whole)


def parse_cell_count(text: str) -> int:
    """A whole number, or a power of two that is written as one.

    >>> parse_cell_count("1024"), parse_cell_count("2^10")
    (1024, 1024)
    """
    power = fullmatch(r"2\^([0-9]{1,2})", text)
    return int(text) if power is None else 1 << int(power[1])


MOST_LAID_OUT = 2**20
"""The most edges of a grid with a formula that are kept in memory at a time."""

EDGES_TRIED = 1000
FEW_CELLS = 1000
"""Cells for each value below which all edges are laid out, which takes less time than bisection then."""
WIDTH = "width="
FORMS = "lower:upper:cells, as in 0:100:1024, or lower:upper:width=W, as in 0:120:width=5"

MOST_LOG_ODDS = 700
"""The largest logit whose probability is a double that the edges of a logistic grid can step by."""


@dataclass(frozen=True, slots=True, init=False)
class Grid:
    """Cells ``[l, r)`` between rising edges, the last one closed.

    A grid of any spacing but explicit is a formula: its edges are laid out only when they are asked for.

    >>> Grid(0, 1, cells=4).edges.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> Grid.geometric(1, 8, cells=3).edges.tolist()
    [1.0, 2.0, 4.0, 8.0]
    >>> float(Grid(0, 120, cells=120).edges[31])
    31.0
    >>> Grid.parse("-100:1300:4096")
    Grid(-100.0, 1300.0, cells=4096)

    Where records are heaped on some values, as on 0, these have to be edges, or they are counted with what lies below
    them. Give the width of the cells, and a value that an edge must go through:

    >>> Grid(-250_000, 1_000_000, width=1000, through=0)
    Grid(-250000.0, 1000000.0, cells=1250)

    Raises:
        ValueError: the bounds cross or are not finite, there is no cell, or doubles cannot tell the edges apart; cells
            of this width do not fit, or no edge goes through the value that was named: the nearest ones are.
        TypeError: the number of cells is no whole number.
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
        outside: Outside = Outside.CLAMPED,
    ) -> None:
        if (cells is None) == (width is None):
            raise InvalidArgument(
                "grid", "give cells=, how many there are, or width=, how wide each is: one of the two"
            )
        if width is None:
            self._initialize(lower, upper, cells or 0, Spacing.LINEAR, (), outside)
        else:
            self._initialize_evenly(
                require_number("grid", lower), require_number("grid", upper), require_number("width", width), outside
            )
        if through is not None:
            at = require_number("through", through)
            beside = self.edge(self._inner_cell_of(np.array([at])) + np.arange(2)).tolist()
            if at not in beside:  # records on it would be counted with others below them
                nearest = " and ".join(f"{edge:.12g}" for edge in beside)
                raise InvalidArgument("through", f"{at:.12g} is no edge; the nearest are {nearest}")

    def _initialize_evenly(self, lower: float, upper: float, width: float, outside: Outside) -> None:
        """Cells of a width: by the formula, or by their edges, where the formula would round some of them otherwise."""
        cells = cells_of_width(lower, upper, width)
        self._initialize(lower, upper, cells, Spacing.LINEAR, (), outside)
        edges = edges_of_width(lower, width, cells) if self._has_few_edges else None
        if edges is not None and not np.array_equal(edges, self.edges):
            self._initialize(lower, upper, cells, Spacing.EXPLICIT, tuple(edges.tolist()), outside)

    @classmethod
    def geometric(cls, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLAMPED) -> Grid:
        """Edges in equal ratios, from `lower` above zero."""
        lower, upper = require_number("grid", lower), require_number("grid", upper)
        if not (lower > 0 and isfinite(upper / lower)):
            raise InvalidArgument(
                "grid", f"a geometric grid has bounds above zero of a finite ratio, got {lower} and {upper}"
            )
        return Grid.__new__(Grid)._initialize(lower, upper, cells, Spacing.GEOMETRIC, (), outside)

    @classmethod
    def logistic(cls, lower: float, upper: float, *, cells: int, outside: Outside = Outside.CLAMPED) -> Grid:
        """For log-odds: edges in equal steps of the probability ``1 / (1 + exp(-x))``.

        >>> Grid.logistic(-4, 4, cells=4).edges.round(2).tolist()
        [-4.0, -1.05, 0.0, 1.05, 4.0]
        """
        lower, upper = require_number("grid", lower), require_number("grid", upper)
        if not max(abs(lower), abs(upper)) <= MOST_LOG_ODDS:
            raise InvalidArgument(
                "grid", f"a logistic grid has bounds from {-MOST_LOG_ODDS} to {MOST_LOG_ODDS}, got {lower} and {upper}"
            )
        return Grid.__new__(Grid)._initialize(lower, upper, cells, Spacing.LOGISTIC, (), outside)

    @classmethod
    def from_spacing(cls, spacing: Spacing, lower: float, upper: float, *, cells: int) -> Grid:
        """The grid of a formula.

        Raises:
            ValueError: the spacing is explicit, which is none; or see the class.
        """
        made: dict[Spacing, Callable[..., Grid]] = {
            Spacing.LINEAR: Grid, Spacing.GEOMETRIC: cls.geometric, Spacing.LOGISTIC: cls.logistic
        }  # fmt: skip
        if spacing not in made:
            raise InvalidArgument("grid", "explicit edges have no formula; use from_edges")
        return made[spacing](lower, upper, cells=cells)

    @classmethod
    def from_edges(cls, edges: Sequence[float], *, outside: Outside = Outside.CLAMPED) -> Grid:
        """These edges, which must rise."""
        try:
            exact = tuple(float(edge) for edge in edges)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument("grid", "at least two edges are needed, which are numbers") from None
        if len(exact) < 2 or any(not left < right for left, right in pairwise(exact)):
            raise InvalidArgument("grid", "at least two edges are needed, each above the one before")
        return Grid.__new__(Grid)._initialize(exact[0], exact[-1], len(exact) - 1, Spacing.EXPLICIT, exact, outside)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Read ``lower:upper:cells``, or ``lower:upper:width=W`` for cells of a width; cells may be ``2^32``.

        Before ``lower:upper:cells`` may stand ``geometric:`` or ``logistic:``.

        >>> Grid.parse("0:120:width=5")
        Grid(0.0, 120.0, cells=24)
        """
        require_type("grid", text, str, "a text as 0:100:1024")
        parts, spacing = text.split(":"), Spacing.LINEAR
        if parts[0] in {Spacing.GEOMETRIC.value, Spacing.LOGISTIC.value}:
            spacing = Spacing(parts.pop(0))
        of_width = spacing is Spacing.LINEAR and parts[-1].startswith(WIDTH)
        try:
            lower, upper, size = float(parts[0]), float(parts[1]), parts[2]
            (cells, width) = (None, float(size.removeprefix(WIDTH))) if of_width else (parse_cell_count(size), None)
            if len(parts) != 3:
                raise IndexError
        except (ValueError, IndexError):
            raise InvalidArgument("grid", f"write {FORMS}, not {describe_value(text)}") from None
        return cls(lower, upper, width=width) if cells is None else cls.from_spacing(spacing, lower, upper, cells=cells)

    def _initialize(  # noqa: PLR0917
        self, lower: float, upper: float, cells: int, spacing: Spacing, explicit: tuple[float, ...], outside: Outside
    ) -> Grid:
        """These cells, if they can be told apart."""
        lower, upper, cells = (
            require_number("grid", lower),
            require_number("grid", upper),
            require_integer("cells", cells),
        )
        if not (isfinite(lower) and isfinite(upper) and isfinite(upper - lower) and lower < upper):
            raise InvalidArgument(
                "grid", f"finite bounds are needed, the lower below the upper, got {lower} and {upper}"
            )
        if cells < 1:
            raise InvalidArgument("grid", f"at least 1 cell is needed, got {cells}")
        for name, value in (
            ("lower", lower), ("upper", upper), ("cells", cells), ("spacing", spacing),
            ("explicit", explicit), ("outside", parse_choice("outside", outside, Outside)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        if spacing is not Spacing.EXPLICIT and not self._is_rising():
            raise InvalidArgument(
                "grid", f"{cells} cells between {lower} and {upper} are finer than doubles can tell apart"
            )
        return self

    def _is_rising(self) -> bool:
        """Tell whether each edge is above the one before. Of very many geometric ones, some are tried."""
        if self._has_few_edges:
            return bool(np.all(np.diff(self.edges) > 0))
        if self.spacing is Spacing.LINEAR:
            return self._is_wider_than_rounding()
        tried = np.arange(EDGES_TRIED)
        starts = (0, self.cells // 2, self.cells + 1 - EDGES_TRIED)
        return all(bool(np.all(np.diff(self.edge(tried + start)) > 0)) for start in starts)

    def _is_wider_than_rounding(self) -> bool:
        """Tell whether no rounding can take an edge of a linear grid past the next one.

        With u half the distance of 1 from the next double, `edge` multiplies, divides and adds with errors of at most
        u, u and u: so an edge is wrong by at most 2 u times the width of the grid, plus u times the largest edge, and
        all this a little more; two edges, and the width itself, by twice that.
        """
        width, largest = self.upper - self.lower, max(abs(self.lower), abs(self.upper))
        unit = np.finfo(np.float64).epsneg
        return bool(width / self.cells > 4.1 * unit * width + 2.1 * unit * largest + np.finfo(np.float64).tiny)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The ``cells + 1`` edges."""
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)
        return self.edge(np.arange(self.cells + 1))

    @property
    def values(self) -> NDArray[np.float64] | None:
        """The values that were declared, of shape ``(cells,)``: None, but for `Values`."""
        return None

    def edge(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Edge number `index`: the ends exactly, the others by the formula."""
        if self.spacing is Spacing.EXPLICIT:
            return np.array(self.explicit)[index]
        if self.spacing is Spacing.LINEAR and self.multiplies_first:
            inner = self.lower + index * (self.upper - self.lower) / self.cells
        elif self.spacing is Spacing.LINEAR:
            inner = self.lower + index / self.cells * (self.upper - self.lower)
        elif self.spacing is Spacing.GEOMETRIC:
            # More digits than a double has: else some edges that are doubles, as 4 between 1 and 8, would be missed.
            ratio, share = np.longdouble(self.upper / self.lower), index.astype(np.longdouble) / self.cells
            inner = (self.lower * ratio**share).astype(np.float64)
        else:
            inner = self._logistic_edges(index.astype(np.longdouble))
        return np.where(index == self.cells, self.upper, np.where(index == 0, self.lower, inner))

    def _logistic_edges(self, index: NDArray[np.longdouble]) -> NDArray[np.float64]:
        """Edges of a logistic grid: a probability and what it lacks to 1 are both computed, so neither end is rough."""
        ends = np.array([self.lower, self.upper], dtype=np.longdouble)
        (p0, p1), (q0, q1) = 1 / (1 + np.exp(-ends)), 1 / (1 + np.exp(ends))
        above, below = (self.cells - index) * p0 + index * p1, (self.cells - index) * q0 + index * q1
        return np.asarray(np.log(above) - np.log(below), dtype=np.float64)

    @property
    def multiplies_first(self) -> bool:
        """Tell whether `edge` multiplies before it divides, so that whole edges are whole; nearly always."""
        return isfinite(self.cells * (self.upper - self.lower))

    def exclusive_bound(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The number that a value lies below if, and only if, it is counted in one of the first `slots` slots.

        Below the bound of no slots, -inf, lies nothing; below that of all, which is NaN, lies in NumPy's order all that
        is not missing.

        >>> Grid(0, 1, cells=4).exclusive_bound(np.array([0, 1, 3, 4])).tolist()
        [-inf, 0.25, 0.75, nan]
        """
        apart = int(self.outside is Outside.APART)
        bounds = self.edge(np.clip(slots - apart, 0, self.cells))
        if apart:
            least, most = self.closed_endpoints
            with np.errstate(over="ignore"):
                bounds = np.where(slots > self.cells, np.nextafter(most, np.inf), np.where(slots == 1, least, bounds))
        return np.where(slots == 0, -np.inf, np.where(slots == self.slots, np.nan, bounds))

    def boundary(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The upper end of the first `slots` slots: their values lie below it, and all others at or above.

        An end slot also holds all values beyond it, so the boundaries at both ends are infinite; with `Outside.APART`
        the last edge is closed: values on it lie below.

        >>> grid = Grid(0, 3, cells=3)
        >>> grid.boundary(np.arange(grid.slots + 1))
        array([-inf,   1.,   2.,  inf])
        """
        apart = int(self.outside is Outside.APART)
        inner = self.edge(np.clip(slots - apart, 0, self.cells))
        return np.where(slots == 0, -np.inf, np.where(slots == self.slots, np.inf, inner))

    def value_range(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The least and the greatest value in the slots from the first number on and before the second, ``(..., 2)``.

        They are boundaries, where a slot may hold any value between; those of declared values are values.
        """
        return self.boundary(slots)

    @property
    def endpoints(self) -> tuple[float, float]:
        """The least and the greatest value that is not outside."""
        return self.lower, self.upper

    @property
    def closed_endpoints(self) -> tuple[float, float]:
        """The least and the greatest number that is not counted apart.

        They are `lower` and `upper`, but of a grid of probabilities, from 0 to 1: there a number that exceeds its end
        by no more than rounding (`ROUNDING`) counts as the end.

        >>> Grid(0, 1, cells=4, outside=Outside.APART).cell_of(np.array([-1e-17, 1.00000012, 1.02]))
        array([1, 4, 5])
        """
        rounding = ROUNDING if (self.lower, self.upper) == (0.0, 1.0) else 0.0
        return self.lower - rounding, self.upper + rounding

    @property
    def slots(self) -> int:
        """The number of counted cells: with `Outside.APART` one below and one above the grid come on top."""
        return self.cells + 2 if self.outside is Outside.APART else self.cells

    @property
    def _has_few_edges(self) -> bool:
        """Tell whether all edges may be in memory at once."""
        return self.spacing is Spacing.EXPLICIT or self.cells <= MOST_LAID_OUT

    def cell_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The slot that each value is counted in, shape ``(n,) -> (n,)``: the definition all counting is held to.

        A value on an edge lies in the cell above it, but `upper` in the last cell. Values outside, the infinities among
        them, are clamped; with `Outside.APART` those beyond the `closed_endpoints` are in the first and the last slot, and
        the cells between. NaN is missing: in the slot number `slots`, which is one more than there are.

        >>> Grid(0, 1, cells=4).cell_of(np.array([-3, 0.25, 1, np.inf, np.nan]))
        array([0, 1, 3, 3, 4])
        >>> Grid(0, 1, cells=4, outside=Outside.APART).cell_of(np.array([-3, 0.25, 1, np.inf, np.nan]))
        array([0, 2, 4, 5, 6])
        """
        values = np.asarray(values, dtype=np.float64)
        slot = self._inner_cell_of(values)
        if self.outside is Outside.APART:
            least, most = self.closed_endpoints
            slot = np.where(values < least, 0, np.where(values > most, self.cells + 1, slot + 1))
        return np.where(np.isnan(values), self.slots, slot)

    def _inner_cell_of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of inner edges at or below each value.

        By bisection where all edges would be too many for memory, or for so few values.
        """
        if self.spacing is Spacing.EXPLICIT or (self._has_few_edges and self.cells < FEW_CELLS * max(values.size, 1)):
            return np.searchsorted(self.edges[1:-1], values, side="right").astype(np.int64)
        lowest, highest = np.zeros(values.shape, dtype=np.int64), np.full(values.shape, self.cells - 1)
        for _ in range(self.cells.bit_length()):
            middle = (lowest + highest + 1) // 2
            above = ~(self.edge(middle) > values)  # NaN lies above all edges, in NumPy's order
            lowest, highest = np.where(above, middle, lowest), np.where(above, highest, np.maximum(middle - 1, lowest))
        return lowest

    def nearest_edge(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the edge that is nearest to each value, the lower one of two; beyond the grid its end.

        >>> Grid(0, 1, cells=2**40).nearest_edge(np.array([-1, 0.5, 1, 2])) / 2**40
        array([0. , 0.5, 1. , 1. ])
        """
        values = np.clip(np.asarray(values, dtype=np.float64), self.lower, self.upper)
        cell = self._inner_cell_of(values)
        return cell + (values - self.edge(cell) > self.edge(cell + 1) - values)

    def offset_of(self, values: NDArray[np.float64], half: int) -> NDArray[np.int64]:
        """The distance of each value from the middle of its cell, in steps of the cell's width over ``2 * half``.

        With ``[left, right)`` the cell of a value x, after clamping, this is
        ``floor((x - (left + (right - left) / 2)) / (right - left) * (2 * half) + 1/2)`` in doubles, clamped to
        ``-half, ..., half``. So x lies within half a step (and the rounding of doubles) of
        ``middle + offset * (right - left) / (2 * half)``. Missing values, and values that are counted apart, have 0.

        >>> Grid(0, 10, cells=2).offset_of(np.array([0, 1.25, 2.5, 99, np.nan]), half=100)
        array([-100,  -50,    0,  100,    0])

        Raises:
            ValueError: `half` is below 1 or above 2**52.
        """
        if not 1 <= half <= 2**52:
            raise InvalidArgument("half", f"a whole number from 1 to 2**52 is needed, got {half}")
        values = np.asarray(values, dtype=np.float64)
        apart = np.isnan(values)
        if self.outside is Outside.APART:
            least, most = self.closed_endpoints
            apart |= (values < least) | (values > most)
        values = np.where(apart, self.lower, np.clip(values, self.lower, self.upper))
        cell = self._inner_cell_of(values)
        edges = self.edges if self._has_few_edges else None
        left, right = (self.edge(at) if edges is None else edges[at] for at in (cell, cell + 1))
        width = right - left
        steps = np.floor((values - (left + width / 2)) / width * (2 * half) + 0.5)
        return np.where(apart, 0, np.clip(steps, -half, half)).astype(np.int64)

    def with_outside(self, outside: Outside) -> Grid:
        """Return these cells, with values outside counted there.

        >>> Grid(0, 1, cells=2).with_outside(Outside.APART).slots
        4
        """
        return Grid.__new__(Grid)._initialize(self.lower, self.upper, self.cells, self.spacing, self.explicit, outside)

    def to_explicit(self) -> Grid:
        """Convert this grid to a list of edges, for repeated look-ups. Very fine grids stay formulas.

        >>> Grid.geometric(1, 4, cells=2).to_explicit()
        Grid.from_edges((1.0, 2.0, 4.0))
        """
        return Grid.from_edges(self.edges.tolist(), outside=self.outside) if self._has_few_edges else self

    def merge_cells(self, at: Sequence[int]) -> Grid:
        """Cut this range into fewer cells, with edges at the numbers `at` (any order, repeats are one).

        >>> Grid(0, 1, cells=4).merge_cells([2, 2]).edges.tolist()
        [0.0, 0.5, 1.0]
        """
        kept = np.array(sorted({0, *at, self.cells}))
        return Grid.from_edges(self.edge(kept).tolist(), outside=self.outside)

    def __repr__(self) -> str:
        apart = ", outside=Outside.APART" if self.outside is Outside.APART else ""
        if self.spacing is Spacing.EXPLICIT:
            return f"Grid.from_edges({self.explicit}{apart})"
        name = "Grid" if self.spacing is Spacing.LINEAR else f"Grid.{self.spacing.value}"
        return f"{name}({self.lower}, {self.upper}, cells={self.cells}{apart})"


DOUBLINGS = 64
"""The default of the most doublings of a unit: 2**64 is 1.8e19."""


def doubling_grid(unit: float, doublings: int = DOUBLINGS, *, name: str = "unit") -> Grid:
    """Cells of which the middle 1, 3, 5, ... together are the closed intervals ``[-d, d]``, d = 1, 2, 4, ... units.

    So the inner edges above zero are the least doubles above d. Values outside are counted apart. `name` is what the
    unit is called where it is asked for.

    >>> doubling_grid(1, doublings=2).cell_of(np.array([-4, -1, 1, 1.5, 2, 4, 5])).tolist()
    [1, 3, 3, 4, 4, 5, 6]

    Raises:
        ValueError: `unit` is not above zero (from 2.3e-308 on) and finite, or `doublings` is not from 1 to 256, or
            leaves the doubles.
        TypeError: one of them is no number.
    """
    unit, doublings = require_number(name, unit), require_integer("doublings", doublings)
    if not (isfinite(unit) and unit >= np.finfo(np.float64).tiny):
        raise InvalidArgument(name, f"a finite number above zero is needed, from 2.3e-308 on, got {unit}")
    if not 1 <= doublings <= 256:
        raise InvalidArgument("doublings", f"a whole number from 1 to 256 is needed, got {doublings}")
    bounds = [unit * 2.0**power for power in range(doublings + 1)]
    if not isfinite(bounds[-1]):
        raise InvalidArgument(name, f"it has to stay finite when it is doubled {doublings} times, got {unit}")
    above = [*np.nextafter(bounds[:-1], np.inf).tolist(), bounds[-1]]
    return Grid.from_edges([*(-bound for bound in reversed(bounds)), *above], outside=Outside.APART)


UNIT_INTERVAL = Grid(0, 1, cells=2**14, outside=Outside.APART)
"""For ROC curves of probabilities. Scores outside are counted apart, so that a note can say how many there are."""
HUNDREDTHS = Grid(0, 1, cells=100, outside=Outside.APART)
"""For all readings of probabilities; other scores are counted apart."""
SCORES = Grid(0, 1, cells=4096)
"""For groups of probabilities that are alike."""


def middles_of(grid: Grid) -> NDArray[np.float64]:
    """The value that stands for each cell: its middle, or the declared one."""
    return np.asarray((grid.edges[:-1] + grid.edges[1:]) / 2 if grid.values is None else grid.values)


MOST_SPLIT = 2**16
"""The most cells of a grid that is split at round numbers: it has up to three times as many cells then."""
FEWEST_SPLIT = 100
"""Cells from which on round numbers get cells of their own; on fewer cells each one adds noise to all that follow."""


def split_at_round_numbers(grid: Grid) -> Grid:
    """Return this grid with a cell of its own for zero, and for the roundest number in each cell, if any.

    Values are heaped on such numbers. A cell of its own, from the number to the next double, holds no other value: so a
    quantile that falls there is known exactly. A round number in a cell is a multiple of the least power of ten that is
    not below the cell's width; where there are few cells, only zero is split off. A round number at an end of a grid
    that clamps is also parted from the values beyond. All is public: edges depend on the grid alone.

    >>> split_at_round_numbers(Grid(0, 30, cells=3)).edges.tolist()
    [-5e-324, 0.0, 5e-324, 10.0, 20.0, 30.0]
    >>> split_at_round_numbers(Grid(-1, 2, cells=300)).cells - 300
    400
    """
    if grid.values is not None or grid.cells > MOST_SPLIT:
        return grid
    edges = grid.edges
    single = find_round_numbers(edges) if grid.cells >= FEWEST_SPLIT else np.array([], dtype=np.float64)
    if grid.lower <= 0 <= grid.upper:
        single = np.append(single, 0.0)
    if grid.outside is Outside.APART:
        single = single[single < grid.upper]
    beyond = single[single == grid.lower], single[single == grid.upper]
    added = [single, np.nextafter(single, np.inf)]
    if grid.outside is Outside.CLAMPED:
        added += [np.nextafter(beyond[0], -np.inf), np.nextafter(np.nextafter(beyond[1], np.inf), np.inf)]
    finer = np.unique(np.concatenate([edges, *added]) + 0.0)  # -0.0 is 0.0
    if not np.isfinite(finer).all():
        return grid
    return Grid.from_edges(finer.tolist(), outside=grid.outside)


def find_round_numbers(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the multiple of the least power of ten not below its width in each cell that has one.

    >>> find_round_numbers(np.array([0.0, 8.0, 16.0, 24.0])).tolist()
    [0.0, 10.0, 20.0]
    """
    low, high = edges[:-1], edges[1:]
    power = np.ceil(np.log10(high - low) - EXPONENT_ROUNDING)
    inside = power >= LEAST_EXPONENT
    step = 10.0 ** np.where(inside, power, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        times = np.ceil(low / step - EXPONENT_ROUNDING)  # an edge may be a double off the decimal
    inside &= np.abs(times) < EXACT_IN_DOUBLES
    times = np.where(inside, times, 0.0)
    number = np.array([float(f"{int(k)}e{int(p)}") for k, p in zip(times, np.where(inside, power, 0), strict=True)])
    found = number[inside & (number < high) & (edges[0] <= number)]
    last = np.flatnonzero(inside[-1:] & (edges[-1:] == np.round(edges[-1:] / step[-1:]) * step[-1:]))
    return np.append(found, edges[-1:][last])


EXPONENT_ROUNDING, LEAST_EXPONENT = 1e-9, -290
"""Rounding of a logarithm; and the least exponent of a step, below which powers of ten are not exact enough."""


def require_clamped(name: str, grid: object) -> Grid:
    """Refuse a grid whose values outside are counted apart.

    Raises:
        TypeError: it is no grid.
        ValueError: values outside are counted apart.
    """
    require_type(name, grid, Grid, "a Grid, as in Grid(0, 1, cells=20),")
    assert isinstance(grid, Grid)  # noqa: S101
    if grid.outside is Outside.APART:
        raise InvalidArgument(name, "values outside count in the end cells: outside=CLAMPED is needed")
    return grid
