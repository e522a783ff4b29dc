"""Kernels of U-statistics on cells, and concordance of pairs in a table of two ordered columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import FloatArray, IntArray

Function = Callable[[FloatArray, FloatArray], FloatArray]
"""A symmetric kernel of two values, or arrays of them."""
POINTS = 5
ROWS = 64


def cell_endpoints(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of each cell.

    Args:
        edges: Those of neighbouring cells, (cells + 1,); or the least and the largest value of each, (cells, 2), which
            are the same where a cell holds one declared value.

    >>> cell_endpoints(np.array([[31.0, 31.0], [32.0, 34.0]]))
    (array([31., 32.]), array([31., 34.]))
    """
    return (edges[:-1], edges[1:]) if edges.ndim == 1 else (edges[:, 0], edges[:, 1])


class Kernel(NamedTuple):
    """A symmetric kernel on pairs of cells.

    Attributes:
        mean: Its mean over values that lie evenly in both cells, (cells, cells): equation 15 of Bell et al. (2019).
        max_deviation: How far it may be from that for values in these cells, (cells, cells): at least the root of their Delta,
            and all that cells can do, whatever the values are.
        fast_form: The bilinear form of counts with its means, in as many steps as there are cells. None: there is no way but
            to multiply by all of them.
    """

    mean: FloatArray
    max_deviation: FloatArray
    fast_form: Callable[[FloatArray], FloatArray] | None = None

    def quadratic_form(self, cells: FloatArray) -> FloatArray:
        """The bilinear form of counts: (..., cells) to (...)."""
        if self.fast_form is not None:
            return self.fast_form(cells)
        return np.asarray(((cells @ self.mean) * cells).sum(axis=-1))


def mean_difference_kernel(edges: FloatArray) -> Kernel:
    """``|x - y|``, for Gini's mean difference."""
    low, high = cell_endpoints(edges)
    width, (mean, reach) = high - low, _middle_distances(edges)
    np.fill_diagonal(mean, width / 3)
    np.fill_diagonal(reach, 2 * width / 3)
    gaps = np.diff((high + low) / 2)

    def form(cells: FloatArray) -> FloatArray:
        below = np.cumsum(cells, axis=-1)
        apart = below[..., :-1] * (below[..., -1:] - below[..., :-1])
        return np.asarray(2 * (apart @ gaps) + (cells**2) @ (width / 3))

    return Kernel(mean, reach, form)


def extreme_mean_differences(
    edges: FloatArray, shares: FloatArray, times: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """The values in these cells with the least, and with the most, of their mean difference less `times` twice a mean.

    The mean difference is ``2 * sum p * g * x``, with g the share below a cell less that above it, and what values of
    one cell differ among themselves: convex in each value. So it is largest where values lie at the ends of their
    cells, some of a cell at the one and the rest at the other; and least where all of a cell lie at that end which is
    nearer to the middle of the people.

    Args:
        edges: Ends of cells in either form that `cell_endpoints` takes.
        shares: The share of the people in each cell, (cells,), not negative.
        times: Another number than 0 where a Gini coefficient is sought: the extreme one is its own `times`.

    Returns:
        Mean difference and mean of both, (2,) each.

    >>> least, most = extreme_mean_differences(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5]))
    >>> least.tolist(), most.tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """
    low, high = cell_endpoints(edges)
    width, people = high - low, shares.sum()
    towards = 2 * (2 * np.cumsum(shares) - shares - people)
    tilt = (towards - 2 * times) / 2

    def evaluate_at(upper: FloatArray) -> FloatArray:
        places = low + upper * width
        differ = towards @ (shares * places) + 2 * (shares**2 * upper * (1 - upper)) @ width
        return np.array([differ, shares @ places])

    split = np.divide(tilt, 2 * shares, out=np.sign(tilt), where=shares > 0)
    return evaluate_at((tilt < 0).astype(np.float64)), evaluate_at(np.clip(0.5 + split, 0.0, 1.0))


def half_square_kernel(edges: FloatArray) -> Kernel:
    """``(x - y)^2 / 2``, for the variance."""
    (apart, half), (low, high) = _middle_distances(edges), cell_endpoints(edges)
    square = (high - low) ** 2 / 12
    mean = (apart**2 + square[:, None] + square) / 2
    least, most = np.maximum(apart - half, 0.0) ** 2 / 2, (apart + half) ** 2 / 2
    middles = (high + low) / 2

    def form(cells: FloatArray) -> FloatArray:
        people = cells.sum(axis=-1)
        centre = cells @ middles / np.where(people == 0, 1.0, people)
        apart = middles - centre[..., None]
        return np.asarray(people * ((cells * (apart**2 + square)).sum(axis=-1)) - (cells * apart).sum(axis=-1) ** 2)

    return Kernel(mean, np.maximum(most - mean, mean - least), form)


def same_cell_kernel(parts: IntArray) -> Kernel:
    """1 for two values in one cell, else 0, where each interval has so many cells: for the collision probability.

    >>> same_cell_kernel(np.array([1, 4])).mean.tolist()
    [[1.0, 0.0], [0.0, 0.25]]
    """
    return Kernel(np.diag(1 / parts), np.diag(1 - 1 / parts), lambda cells: np.asarray((cells**2) @ (1 / parts)))


def kernel_from_function(function: Function) -> Callable[[FloatArray], Kernel]:
    """Any kernel, by its values at 25 points of each pair of cells, and at their corners.

    What it does between those points is not seen: `reach` is right for kernels that rise or fall along each cell.
    """

    def average_over_cells(edges: FloatArray) -> Kernel:
        nodes, weights = leggauss(POINTS)
        low, high = cell_endpoints(edges)
        middles, halves = (high + low) / 2, (high - low) / 2
        points, shares = middles + halves * nodes[:, None], weights / 2

        def evaluate_kernel(x: FloatArray, y: FloatArray) -> FloatArray:
            return np.asarray(function(x[:, None], y[None, :]))

        mean, aside = np.zeros((2, len(middles), len(middles)))
        for begin in range(0, len(middles), ROWS):  # a few rows at once, which are not in the way of each other
            rows = slice(begin, begin + ROWS)
            for number, (x, share) in enumerate(zip(points[:, rows], shares, strict=True)):
                mean[rows] += share**2 * evaluate_kernel(x, points[number])
                for y, other in zip(points[:number], shares[:number], strict=True):
                    aside[rows] += share * other * evaluate_kernel(x, y)
        require_kernel(mean)  # it is the same for x and y as for y and x: so one half of the other points is enough
        mean += aside + aside.T
        reach = np.abs(evaluate_kernel(low, high) - mean)
        for corner in (reach.T, np.abs(evaluate_kernel(low, low) - mean), np.abs(evaluate_kernel(high, high) - mean)):
            reach = np.maximum(reach, corner)
        require_kernel(reach)
        return Kernel(mean, reach)

    return average_over_cells


@dataclass(frozen=True)
class MidpointKernel:
    """A kernel whose value for two cells is the middle between its least and its largest one (Bell et al., eq. 14).

    Whatever the values inside of their cells are, it errs by at most half of the range: the least bound that there is.
    The range is that of 49 points of each pair of cells, corners and diagonal among them.

    Attributes:
        function: The kernel.
    """

    function: Function

    def __call__(self, edges: FloatArray) -> Kernel:
        """The kernel on cells between these edges."""
        low, high = cell_endpoints(edges)
        points = low + (high - low) * np.linspace(0.0, 1.0, 7)[:, None]
        least = np.full((len(low),) * 2, np.inf)
        most = -least
        for x in points:
            for y in points:
                seen = self.function(x[:, None], y[None, :])
                least, most = np.minimum(least, seen), np.maximum(most, seen)
        require_kernel(least)
        require_kernel(most)
        return Kernel((least + most) / 2, (most - least) / 2)


@dataclass(frozen=True)
class CellMiddleKernel:
    """A kernel of the middles of two cells, for values that were rounded there by chance.

    On average over the coins, pairs of values have the kernel that is interpolated between middles: the kernel itself,
    where it is linear in each argument, as ``(x + y) / 2`` is everywhere, and ``|x - y|`` where no middle lies between.
    `reach` is what else it may be, at 49 points of each pair of gaps between middles; what lies before the first middle
    or behind the last one was rounded there.

    Attributes:
        function: The kernel.
    """

    function: Function

    def __call__(self, edges: FloatArray) -> Kernel:
        """The kernel on cells between these edges."""
        low, high = cell_endpoints(edges)
        middles = (high + low) / 2
        mean = np.asarray(self.function(middles[:, None], middles[None, :]), dtype=np.float64)
        require_kernel(mean)
        corners = np.concatenate([low[:1], middles, high[-1:]])
        around = np.pad(mean, 1, mode="edge")  # the kernel at corners, of which the first and the last are rounded
        off = np.zeros((len(corners) - 1,) * 2)
        for x in np.linspace(0.0, 1.0, 7):
            across = (1 - x) * around[:-1] + x * around[1:]
            at = (1 - x) * corners[:-1] + x * corners[1:]
            for y in np.linspace(0.0, 1.0, 7):
                between = (1 - y) * across[:, :-1] + y * across[:, 1:]
                seen = self.function(at[:, None], ((1 - y) * corners[:-1] + y * corners[1:])[None, :])
                off = np.maximum(off, np.abs(seen - between))
        require_kernel(off)
        rows = np.maximum(off[:-1], off[1:])  # a cell has what lies in the gaps before and behind its middle
        return Kernel(mean, np.maximum(rows[:, :-1], rows[:, 1:]))


@dataclass(frozen=True, eq=False)
class CellKernel:
    """A kernel of two cells, whatever the values in them are: ``table[i, j]``.

    Attributes:
        table: One number for each pair of cells, symmetric.

    Raises:
        ValueError: it is not square, not symmetric or not finite.
    """

    table: FloatArray

    def __post_init__(self) -> None:
        table = np.asarray(self.table, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InvalidArgument("kernel", f"a square table is needed, got one of shape {table.shape}")
        require_kernel(table)
        object.__setattr__(self, "table", table)

    def __call__(self, edges: FloatArray) -> Kernel:
        """The table itself. Raises `ValueError` if it is of other cells."""
        if len(self.table) != (cells := len(cell_endpoints(edges)[0])):
            raise InvalidArgument("kernel", f"a table of {cells} cells is needed, got one of {len(self.table)}")
        return Kernel(self.table, np.zeros_like(self.table))


def kernel_on_cells(kernel: Function | MidpointKernel | CellKernel) -> Callable[[FloatArray], Kernel]:
    """The kernel on pairs of cells from a kernel of edges: of a function its mean over each pair.

    Raises:
        TypeError: it is no function.
    """
    if isinstance(kernel, MidpointKernel | CellKernel):
        return kernel
    if not callable(kernel):
        raise WrongArgumentType("kernel", f"a function of two arrays is needed, got {type(kernel).__name__}")
    return kernel_from_function(kernel)


def kernel_at_middles(kernel: Function | MidpointKernel | CellKernel) -> Callable[[FloatArray], Kernel]:
    """The kernel of edges for values that were rounded by chance: a table stays as it is.

    Raises:
        TypeError: it is no function.
    """
    told = kernel_on_cells(kernel)
    if isinstance(told, CellKernel):
        return told
    return CellMiddleKernel(kernel.function if isinstance(kernel, MidpointKernel) else kernel)  # type: ignore[arg-type]


def require_kernel(values: FloatArray) -> None:
    """Refuse a kernel that is not finite, or not symmetric. Raises `ValueError`."""
    if not np.all(np.isfinite(values)):
        raise InvalidArgument("kernel", "it has to be finite on the whole grid, edges included")
    if not np.all(np.abs(values - values.T) <= 1e-8 + 1e-5 * np.abs(values)):
        raise InvalidArgument("kernel", "it has to be symmetric: the same for x and y as for y and x")


def mean_over_pairs(kernel: Kernel, cells: FloatArray) -> FloatArray:
    """The U-statistic of counts (..., cells): the mean over all pairs of different people.

    ``(c' A c - c' diag(A)) / (n (n - 1))``: a bilinear form, never a sum over pairs. Of fewer than 2 people it is that
    of 2, for noise may leave as few.
    """
    pairs = kernel.quadratic_form(cells) - cells @ np.diag(kernel.mean)
    people = np.maximum(cells.sum(axis=-1), 2.0)
    return np.asarray(pairs / (people * (people - 1)))


def _middle_distances(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distance of the middles of two cells, and half the sum of their widths."""
    low, high = cell_endpoints(edges)
    middles, width = (low + high) / 2, high - low
    return np.abs(middles[:, None] - middles), (width[:, None] + width) / 2


def count_pairs(tables: FloatArray) -> FloatArray:
    """Concordant less discordant pairs, and pairs that are apart in rows, and in columns: (..., rows, columns) to
    (..., 3).

    Bilinear forms of the counts, worked out by running sums: in as many steps as there are cells, never over pairs.

    >>> count_pairs(np.array([[2.0, 0.0], [1.0, 3.0]])).tolist()
    [6.0, 8.0, 9.0]
    """
    before = np.cumsum(tables, axis=-2) - tables
    sides = 2 * np.cumsum(before, axis=-1) - before - before.sum(axis=-1, keepdims=True)
    people = tables.sum(axis=(-2, -1))
    apart = [(people**2 - (tables.sum(axis=axis) ** 2).sum(axis=-1)) / 2 for axis in (-1, -2)]
    return np.stack([(tables * sides).sum(axis=(-2, -1)), *apart], axis=-1)
