"""U-statistics of binned data: means of a kernel over pairs of people (Gini, variance, Kendall), from counts of cells.

A U-statistic is the mean of a symmetric kernel k(x, y) over all pairs of different people (Hoeffding 1948). Gini's mean
difference has the kernel ``|x - y|``, the variance ``(x - y)**2 / 2``. With counts c of n people, and values spread
uniformly inside cells,

    A[i, j]     = mean of k(x, y) over x in cell i and y in cell j
    U-statistic = (c' A c - c' diag(A)) / (n * (n - 1))

    mean_over_pairs    kernel on cells, counts -> U-statistic
    Kernel             the matrix A, and `max_deviation`, a bound of ``|k - A|`` for any values inside the cells
    kernels            `mean_difference_kernel`, `half_square_kernel` (both in linear time), `same_cell_kernel`,
                       `kernel_from_function` (averaged over cells), `MidpointKernel`, `CellKernel` (a table)
    count_pairs        concordant minus discordant pairs of a table, for Kendall's tau and Goodman and Kruskal's gamma

Formal guarantees: these are functions of their arguments. For released counts they use no records, so they cost no
budget (post-processing).

References: Hoeffding 1948; Bell, Bellet, Gascon and Kulkarni 2019, equations 14 and 15.

>>> kernel = mean_difference_kernel(np.array([0.0, 1.0, 2.0]))
>>> kernel.mean.round(3).tolist(), round(float(mean_over_pairs(kernel, np.array([2.0, 2.0]))), 3)
([[0.333, 1.0], [1.0, 0.333]], 0.778)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import FloatArray, IntArray

Function = Callable[[FloatArray, FloatArray], FloatArray]
"""A symmetric function of two values, which also takes arrays of values."""


class Kernel(NamedTuple):
    """A symmetric kernel on pairs of cells.

    Attributes:
        mean: Mean of the kernel over uniform values in both cells, shape (cells, cells); equation 15 of Bell et al.
            (2019).
        max_deviation: Largest distance of the kernel from `mean` for any values in the two cells, shape (cells, cells).
        fast_form: Function that computes ``c' A c`` in linear time; None: the whole matrix is multiplied.
    """

    mean: FloatArray
    max_deviation: FloatArray
    fast_form: Callable[[FloatArray], FloatArray] | None = None

    def quadratic_form(self, cells: FloatArray) -> FloatArray:
        """Return the quadratic form ``c' A c`` of counts c, where A has the mean kernel values of pairs of cells: the
        sum over all pairs of people.

        Args:
            cells: Counts, shape (..., cells).

        Returns:
            Numbers of shape (...).
        """
        if self.fast_form is not None:
            return self.fast_form(cells)
        return np.asarray(((cells @ self.mean) * cells).sum(axis=-1))


def mean_over_pairs(kernel: Kernel, cells: FloatArray) -> FloatArray:
    """Return the U-statistic of a kernel: its mean over all pairs of different people.

    It is ``(c' A c - c' diag(A)) / (n (n - 1))``. Noisy totals n below 2 are replaced by 2.

    Args:
        kernel: Kernel on pairs of cells.
        cells: Counts of people, shape (..., cells).
    """
    pairs = kernel.quadratic_form(cells) - cells @ np.diag(kernel.mean)
    people = np.maximum(cells.sum(axis=-1), 2.0)
    return np.asarray(pairs / (people * (people - 1)))


def mean_difference_kernel(edges: FloatArray) -> Kernel:
    """Return the kernel ``|x - y|``, whose mean over pairs is Gini's mean difference.

    Args:
        edges: Edges of cells, in either form of `cell_endpoints`.
    """
    low, high = cell_endpoints(edges)
    width, (mean, reach) = high - low, _middle_distances(edges)
    np.fill_diagonal(mean, width / 3)
    np.fill_diagonal(reach, 2 * width / 3)
    gaps = np.diff((high + low) / 2)

    def form(cells: FloatArray) -> FloatArray:
        """Return the quadratic form ``c' A c`` of counts c in linear time, where A has the mean distances of values in
        two cells.

        Args:
            cells: Counts, of shape ``(..., cells)``.

        Returns:
            Array of shape ``(...)``.
        """
        below = np.cumsum(cells, axis=-1)
        apart = below[..., :-1] * (below[..., -1:] - below[..., :-1])
        return np.asarray(2 * (apart @ gaps) + (cells**2) @ (width / 3))

    return Kernel(mean, reach, form)


def cell_endpoints(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each cell, (cells,) each.

    Args:
        edges: Edges of neighbouring cells, (cells + 1,); or the smallest and the largest value of each cell, (cells,
            2), which are equal for a declared value.

    >>> cell_endpoints(np.array([[31.0, 31.0], [32.0, 34.0]]))
    (array([31., 32.]), array([31., 34.]))
    """
    return (edges[:-1], edges[1:]) if edges.ndim == 1 else (edges[:, 0], edges[:, 1])


def extreme_mean_differences(
    edges: FloatArray, shares: FloatArray, times: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest mean difference that values inside the cells can have.

    More precisely, the values minimise and maximise their mean difference minus `times` twice their mean. The mean
    difference is ``2 * sum p * g * x``, with g the share below a cell minus the share above it, plus the differences
    among values of one cell. It is convex in each value. So it is largest where values lie at the bounds of their
    cells, some at the lower and the rest at the upper one. It is smallest where all values of a cell lie at the bound
    that is nearer to the middle of the people.

    Args:
        edges: Bounds of cells in either form of `cell_endpoints`.
        shares: Share of the people in each cell, shape (cells,), not negative.
        times: 0 for the mean difference. For the Gini coefficient, whose extremes are the fixed points of `times`, a
            guess of it.

    Returns:
        Mean difference and mean of the values, shape (2,), at the minimum and at the maximum.

    >>> least, most = extreme_mean_differences(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5]))
    >>> least.tolist(), most.tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """
    low, high = cell_endpoints(edges)
    width = high - low
    people = shares.sum()
    slopes = 2 * (2 * np.cumsum(shares) - shares - people)
    tilt = (slopes - 2 * times) / 2

    def evaluate_at(upper: FloatArray) -> FloatArray:
        """Return mean difference and mean of the values if part of the people of each cell lie at its upper bound and
        the others at its lower bound.

        Args:
            upper: Fraction of the people of each cell at the upper bound, (cells,).
        """
        values = low + upper * width
        mean_difference = slopes @ (shares * values) + 2 * (shares**2 * upper * (1 - upper)) @ width
        return np.array([mean_difference, shares @ values])

    split = np.divide(tilt, 2 * shares, out=np.sign(tilt), where=shares > 0)
    return evaluate_at((tilt < 0).astype(np.float64)), evaluate_at(np.clip(0.5 + split, 0.0, 1.0))


def half_square_kernel(edges: FloatArray) -> Kernel:
    """Return the kernel ``(x - y)**2 / 2``, whose mean over pairs is the variance.

    Args:
        edges: Edges of cells, in either form of `cell_endpoints`.
    """
    (distances, half), (low, high) = _middle_distances(edges), cell_endpoints(edges)
    square = (high - low) ** 2 / 12
    mean = (distances**2 + square[:, None] + square) / 2
    smallest = np.maximum(distances - half, 0.0) ** 2 / 2
    largest = (distances + half) ** 2 / 2
    middles = (high + low) / 2

    def form(cells: FloatArray) -> FloatArray:
        """Return the quadratic form ``c' A c`` of counts c in linear time, where A has half the mean squared distances
        of values in two cells.

        Args:
            cells: Counts, of shape ``(..., cells)``.

        Returns:
            Array of shape ``(...)``.
        """
        people = cells.sum(axis=-1)
        centre = cells @ middles / np.where(people == 0, 1.0, people)
        deviations = middles - centre[..., None]
        return np.asarray(
            people * ((cells * (deviations**2 + square)).sum(axis=-1)) - (cells * deviations).sum(axis=-1) ** 2
        )

    return Kernel(mean, np.maximum(largest - mean, mean - smallest), form)


def same_cell_kernel(parts: IntArray) -> Kernel:
    """Return the kernel of the collision probability: 1 for two people in one cell, else 0.

    Args:
        parts: Number of cells that each interval joins; people of an interval are spread evenly over them.

    >>> same_cell_kernel(np.array([1, 4])).mean.tolist()
    [[1.0, 0.0], [0.0, 0.25]]
    """
    return Kernel(np.diag(1 / parts), np.diag(1 - 1 / parts), lambda cells: np.asarray((cells**2) @ (1 / parts)))


def kernel_from_function(function: Function) -> Callable[[FloatArray], Kernel]:
    """Return a function that computes, for a grid's edges, the kernel of means of `function` over each pair of cells.

    Means are computed by Gauss-Legendre quadrature with 25 points of each pair. Deviations are computed at the corners
    of the pair alone: `max_deviation` is correct for functions that are monotone along each cell.

    Args:
        function: Symmetric function of two values, which also takes arrays.

    Returns:
        A function whose argument is edges in either form of `cell_endpoints`. It raises `ValueError` if the values are
        not finite or not symmetric.
    """

    def average_over_cells(edges: FloatArray) -> Kernel:
        """Return the kernel of mean values of the function over each pair of cells, with the largest deviations,
        computed at the corners.

        Args:
            edges: Edges of cells, in either form of `cell_endpoints`.

        Raises:
            ValueError: a value of the function is not finite, or the function is not symmetric.
        """
        nodes, weights = leggauss(5)  # nodes of Gauss-Legendre quadrature in each cell, so 25 in a pair of cells
        low, high = cell_endpoints(edges)
        middles = (high + low) / 2
        halves = (high - low) / 2
        points = middles + halves * nodes[:, None]
        shares = weights / 2

        def evaluate_kernel(x: FloatArray, y: FloatArray) -> FloatArray:
            """Return the values of the function for all pairs of two lists of values, (len(x), len(y)).

            Args:
                x: First values of the pairs.
                y: Second values of the pairs.
            """
            return np.asarray(function(x[:, None], y[None, :]))

        mean, off_diagonal = np.zeros((2, len(middles), len(middles)))
        rows_at_once = 64  # cells, so that the arrays fit the processor's cache
        for start in range(0, len(middles), rows_at_once):  # blocks of rows bound the memory
            rows = slice(start, start + rows_at_once)
            for number, (x, share) in enumerate(zip(points[:, rows], shares, strict=True)):
                mean[rows] += share**2 * evaluate_kernel(x, points[number])
                for y, other_share in zip(points[:number], shares[:number], strict=True):
                    off_diagonal[rows] += share * other_share * evaluate_kernel(x, y)
        require_kernel(mean)  # symmetry: half of the other points is enough
        mean += off_diagonal + off_diagonal.T
        deviation = np.abs(evaluate_kernel(low, high) - mean)
        for corner in (
            deviation.T,
            np.abs(evaluate_kernel(low, low) - mean),
            np.abs(evaluate_kernel(high, high) - mean),
        ):
            deviation = np.maximum(deviation, corner)
        require_kernel(deviation)
        return Kernel(mean, deviation)

    return average_over_cells


@dataclass(frozen=True)
class MidpointKernel:
    """A kernel whose value for two cells is the midpoint of its range over them (Bell et al. 2019, equation 14).

    For any values inside the cells it errs by at most half of the range, which is the smallest possible bound. The
    range is taken over 49 points of each pair of cells, corners and diagonal included.

    Attributes:
        function: The symmetric function of two values.
    """

    function: Function

    def __call__(self, edges: FloatArray) -> Kernel:
        """Return the kernel of midpoints of the function's range over each pair of cells, with half of that range as
        deviation.

        Args:
            edges: Edges of cells, in either form of `cell_endpoints`.

        Raises:
            ValueError: a value of the function is not finite, or the function is not symmetric.
        """
        low, high = cell_endpoints(edges)
        points = low + (high - low) * np.linspace(0.0, 1.0, 7)[:, None]
        smallest = np.full((len(low),) * 2, np.inf)
        largest = -smallest
        for x in points:
            for y in points:
                values = self.function(x[:, None], y[None, :])
                smallest = np.minimum(smallest, values)
                largest = np.maximum(largest, values)
        require_kernel(smallest)
        require_kernel(largest)
        return Kernel((smallest + largest) / 2, (largest - smallest) / 2)


@dataclass(frozen=True)
class CellMiddleKernel:
    """A kernel on the middles of two cells, for values that were rounded at random to one of the middles beside them.

    In expectation over the rounding, pairs of values have the kernel that is interpolated between middles. That is the
    kernel itself where it is linear in each argument, as ``(x + y) / 2`` is everywhere, and ``|x - y|`` where no middle
    lies between. `max_deviation` is the largest difference at 49 points of each pair of gaps between middles. Values
    before the first middle or after the last one were rounded to it.

    Attributes:
        function: The symmetric function of two values.
    """

    function: Function

    def __call__(self, edges: FloatArray) -> Kernel:
        """Return the kernel that evaluates the function at the midpoints of each pair of cells, with its largest
        deviation from interpolation.

        Args:
            edges: Edges of cells, in either form of `cell_endpoints`.

        Raises:
            ValueError: a value of the function is not finite, or the function is not symmetric.
        """
        low, high = cell_endpoints(edges)
        middles = (high + low) / 2
        mean = np.asarray(self.function(middles[:, None], middles[None, :]), dtype=np.float64)
        require_kernel(mean)
        corners = np.concatenate([low[:1], middles, high[-1:]])
        padded = np.pad(mean, 1, mode="edge")  # at corners; the first and the last are rounded to a middle
        deviation = np.zeros((len(corners) - 1,) * 2)
        for x in np.linspace(0.0, 1.0, 7):
            row_values = (1 - x) * padded[:-1] + x * padded[1:]
            x_values = (1 - x) * corners[:-1] + x * corners[1:]
            for y in np.linspace(0.0, 1.0, 7):
                interpolated = (1 - y) * row_values[:, :-1] + y * row_values[:, 1:]
                values = self.function(x_values[:, None], ((1 - y) * corners[:-1] + y * corners[1:])[None, :])
                deviation = np.maximum(deviation, np.abs(values - interpolated))
        require_kernel(deviation)
        rows = np.maximum(deviation[:-1], deviation[1:])  # a cell covers the gaps before and after its middle
        return Kernel(mean, np.maximum(rows[:, :-1], rows[:, 1:]))


@dataclass(frozen=True, eq=False)
class CellKernel:
    """A kernel of two cells that does not depend on the values in them: ``table[i, j]``.

    Attributes:
        table: One number for each pair of cells, symmetric.

    Raises:
        ValueError: the table is not square, not symmetric or not finite.
    """

    table: FloatArray

    def __post_init__(self) -> None:
        table = np.asarray(self.table, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InvalidArgument(
                "kernel",
                f"a square table is needed, with one row and one column for each cell, got shape {table.shape}",
            )
        require_kernel(table)
        object.__setattr__(self, "table", table)

    def __call__(self, edges: FloatArray) -> Kernel:
        """Return the given table of values as a kernel on pairs of cells.

        Args:
            edges: Edges of cells, in either form of `cell_endpoints`.

        Raises:
            ValueError: the table is for another number of cells.
        """
        if len(self.table) != (cells := len(cell_endpoints(edges)[0])):
            raise InvalidArgument(
                "kernel", f"a table of {cells} rows and columns is needed, one for each cell, got {len(self.table)}"
            )
        return Kernel(self.table, np.zeros_like(self.table))


def kernel_on_cells(kernel: Function | MidpointKernel | CellKernel) -> Callable[[FloatArray], Kernel]:
    """Return a function that computes, for a grid's edges, the kernel on pairs of cells that the user's argument
    describes.

    Args:
        kernel: A symmetric function of two values, which is averaged over each pair of cells (`kernel_from_function`);
            or a
            `MidpointKernel` or `CellKernel`, which is returned unchanged.

    Raises:
        TypeError: `kernel` is not a function.
    """
    if isinstance(kernel, MidpointKernel | CellKernel):
        return kernel
    if not callable(kernel) or isinstance(kernel, type):
        raise WrongArgumentType(
            "kernel", f"a function of two arrays is needed, as in lambda x, y: abs(x - y), got {type(kernel).__name__}"
        )
    return kernel_from_function(kernel)


def kernel_at_middles(kernel: Function | MidpointKernel | CellKernel) -> Callable[[FloatArray], Kernel]:
    """Return a function that computes, for a grid's edges, the kernel at the midpoints of cells, for values that were
    rounded at random.

    Args:
        kernel: A symmetric function of two values; a table (`CellKernel`) stays as it is.

    Raises:
        TypeError: `kernel` is not a function.
    """
    cell_kernel = kernel_on_cells(kernel)
    if isinstance(cell_kernel, CellKernel):
        return cell_kernel
    return CellMiddleKernel(kernel.function if isinstance(kernel, MidpointKernel) else kernel)  # type: ignore[arg-type]


def require_kernel(values: FloatArray) -> None:
    """Check the values of a kernel on pairs of cells.

    Args:
        values: One number for each pair, (cells, cells).

    Raises:
        ValueError: a value is not finite, or the matrix is not symmetric.
    """
    if not np.all(np.isfinite(values)):
        raise InvalidArgument(
            "kernel",
            "the function must be finite on the whole grid, edges included: change it, or give a narrower grid",
        )
    if not np.all(np.abs(values - values.T) <= 1e-8 + 1e-5 * np.abs(values)):
        raise InvalidArgument("kernel", "the function must be symmetric: return (k(x, y) + k(y, x)) / 2, for example")


def _middle_distances(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, for each pair of cells, the distance of their midpoints, and half the sum of their widths, (cells, cells)
    each.

    Args:
        edges: Edges of cells, in either form of `cell_endpoints`.
    """
    low, high = cell_endpoints(edges)
    middles = (low + high) / 2
    width = high - low
    return np.abs(middles[:, None] - middles), (width[:, None] + width) / 2


def count_pairs(tables: FloatArray) -> FloatArray:
    """Return the pairs of records that determine rank correlations, shape (..., 3).

    They are concordant minus discordant pairs, pairs that differ in rows, and pairs that differ in columns. Running
    sums count them in as many steps as there are cells.

    Args:
        tables: Counts by two ordered columns, shape (..., rows, columns).

    >>> count_pairs(np.array([[2.0, 0.0], [1.0, 3.0]])).tolist()
    [6.0, 8.0, 9.0]
    """
    rows_before = np.cumsum(tables, axis=-2) - tables
    concordance = 2 * np.cumsum(rows_before, axis=-1) - rows_before - rows_before.sum(axis=-1, keepdims=True)
    people = tables.sum(axis=(-2, -1))
    differing = [(people**2 - (tables.sum(axis=axis) ** 2).sum(axis=-1)) / 2 for axis in (-1, -2)]
    return np.stack([(tables * concordance).sum(axis=(-2, -1)), *differing], axis=-1)
