"""P-Identity strategies of the matrix mechanism (HDMM) for prefix sums: all cells, and a few weighted sums of cells.

The matrix mechanism releases ``y = A @ x + z``: linear combinations of the counts x of all cells, with independent
noise z, from which the prefix sums ``x_0 + ... + x_j`` are estimated by least squares. A P-Identity strategy A has one
row per cell and p further rows:

    y = [I; W] @ x + z      I the identity (cells, cells), W of integer weights from 0 (p, cells)

The *budget* of a row is its part of the loss: the noise of a row with budget b has the scale ``scale / b``, where a
lone count would need noise of `scale`. For each cell j, the budget of the cell plus ``sum_k budget_k * W_kj`` is 1. Few
rows with well-chosen weights lower the mean variance of prefixes below the variance of a tree of sums. The weights are
public: they were found by descent, and are stored for some numbers of cells. For others, columns of the next larger
strategy are left out (`find_p_identity_strategy`).

Formal guarantees: a record of cell j changes that cell by 1 and row k by W_kj, so it costs (budget of the cell + sum
over rows k of budget_k * W_kj) / scale, which is ``1 / scale`` exactly, in integers (`PIdentityStrategy`).

References: Li, Miklau, Hay, McGregor and Rastogi 2015; McKenna, Miklau, Hay and Machanavajjhala 2018 (HDMM).

>>> find_p_identity_strategy(100).weights.shape[1], find_p_identity_strategy(8)  # cells; None for few cells
(100, None)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument
from ..arrays import FloatArray
from .output_distribution import Family, Noise

WEIGHT_BITS = 24
"""Bits. Budgets are multiples of ``2**-24``, so that they add up to 1 exactly, in integers."""
GAIN_BITS = 40
"""Bits. Least-squares weights (`gains`) are computed in multiples of ``2**-40``; rounding costs accuracy alone."""
LEAST_CELLS = 32
"""Cells. Fewest cells for which a stored strategy is stretched; a flat histogram is nearly as good for fewer."""

Integers = NDArray[np.object_]
"""Python integers, which cannot overflow."""


@dataclass(frozen=True, eq=False)
class PIdentityStrategy:
    """Noisy cells, and noisy sums of cells with whole public weights; the budget of each cell adds up to 1 exactly.

    Row k is ``sum(weights[k, j] * cell[j] for all j)``. Its noise has the scale ``scale / row_budget[k]``, that of cell
    j the scale ``scale / cell_budget[j]``, where the noise of a lone count would have `scale`.

    Formal guarantees: a record of cell j changes cell j by 1, and row k by ``weights[k, j]``. Discrete Laplace noise on
    integers loses ``|shift| / scale`` (Ghosh, Roughgarden and Sundararajan 2009). So the record costs ``(cell_budget[j]
    + sum(row_budget[k] * weights[k, j] for all k)) / scale``, which is ``1 / scale``: budgets of cells are what rows
    leave of 1, in exact integers.

    Attributes:
        weights: Weights of the cells in each row, from 0, (rows, cells); read-only.
        row_units: Budget fraction of a row per unit of weight, in units of ``2**-WEIGHT_BITS``, (rows,).

    Raises:
        ValueError: rows leave a cell no budget.
    """

    weights: NDArray[np.int64]
    row_units: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that each cell has a positive budget.

        Raises:
            InvalidArgument: the rows leave a cell no budget.
        """
        if min(self.cell_units) < 1:
            raise InvalidArgument(
                "weights", "the rows' weights must leave each cell a budget above 0; give smaller weights"
            )

    @cached_property
    def cell_units(self) -> tuple[int, ...]:
        """Privacy budget fraction of each cell's own count, in units of ``2**-WEIGHT_BITS``, (cells,)."""
        return tuple((2**WEIGHT_BITS - np.array(self.row_units) @ self.weights).tolist())

    @property
    def cells(self) -> int:
        """Number of cells of the histogram that this strategy is for."""
        return int(self.weights.shape[1])

    @property
    def digest(self) -> str:
        """First 16 hexadecimal digits of a hash of all weights and budgets, by which stored releases name them."""
        numbers = [list(self.row_units), self.weights.tolist()]
        return sha256(json.dumps(numbers, separators=(",", ":")).encode()).hexdigest()[:16]

    def noises(self, whole: Noise) -> tuple[list[Noise], list[Noise]]:
        """Return the noise distributions of the separately counted cells and of the weighted sums (rows of the
        strategy), in order.

        Each is wider than `whole`: its scale is the scale of `whole` divided by the budget fraction of the cell or row.

        Args:
            whole: Noise that a single count would have if it were released with the whole loss.
        """
        scaled = whole.parameter * 2**WEIGHT_BITS
        cells = [Noise(Family.LAPLACE, scaled / units) for units in self.cell_units]
        rows = [Noise(Family.LAPLACE, scaled / units) for units in self.row_units]
        return cells, rows

    def prefix_noise(self, cell_noise: Integers, row_noise: Integers) -> Integers:
        """Return the noise of all prefix estimates that results from the noise of the released cells and weighted sums.

        In units of ``2**-prefix_bits`` records; SECRET if the noise is secret. With the cells' noise z, the rows' noise
        u, the weights Q and the lower triangle of ones A, it is ``A z + G (u - Q z)``, by public integers G over a
        power of two (`gains`): so for any counts x it takes ``(x, Q x)`` to ``A x``, exactly, for every G. Least
        squares decides G.

        Args:
            cell_noise: Integer noise of the cells in records, (cells, ...).
            row_noise: Integer noise of the rows in records, (rows, ...).

        Returns:
            Integers of shape (cells, ...): entry j is the noise of the first j + 1 cells.
        """
        residuals = row_noise - self.weights.astype(np.object_) @ cell_noise
        totals: Integers = np.cumsum(cell_noise, axis=0) * 2**self.prefix_bits
        totals += self.gains @ residuals
        return totals

    @property
    def prefix_bits(self) -> int:
        """Number of binary digits after the point of fixed-point numbers: `gains` and prefix noise are multiples of
        ``2**-prefix_bits``.
        """
        return GAIN_BITS + WEIGHT_BITS

    @cached_property
    def gains(self) -> Integers:
        """Weights with which the rows' residuals correct each prefix count (generalised least squares), (cells, rows),
        in units of ``2**-prefix_bits``.

        With the budgets W of rows and D of cells, ``T = W Q`` and ``V = D**-2``, generalised least squares has the
        gains ``A V T^T (I + T V T^T)**-1 W``. They are computed in integers, so that they are equal on all machines: a
        stream that continues elsewhere has the same noise.
        """
        scaled = self.weights.astype(np.object_) * np.array(self.row_units, dtype=np.object_)[:, None]
        variances = np.array([4**WEIGHT_BITS * 2**GAIN_BITS // units**2 for units in self.cell_units], dtype=np.object_)
        products = scaled * variances  # T V, in units of 2**-(WEIGHT_BITS + GAIN_BITS)
        core = products @ scaled.T >> 2 * WEIGHT_BITS
        inverse = _invert(core + np.eye(len(core), dtype=np.int64).astype(np.object_) * 2**GAIN_BITS)
        below = np.cumsum(products, axis=1).T
        row_units = np.array(self.row_units, dtype=np.object_)
        gains: Integers = below @ inverse * row_units >> WEIGHT_BITS + GAIN_BITS
        return gains

    def weigh_noise(self, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Return how the estimated count of a range of cells depends on the noise of each cell and row.

        Args:
            first: First cell of the range, from 0.
            last: Cell behind the last one.

        Returns:
            Two arrays of coefficients, (cells,) and (rows,): the error of the count is the sum of coefficient times
                noise.
        """
        below = self._float_gains[first - 1] if first else 0.0
        by_rows = self._float_gains[last - 1] - below
        by_cells = -by_rows @ self.weights
        by_cells[first:last] += 1
        return by_cells, by_rows

    def prefix_variances(self, whole: Noise) -> FloatArray:
        """Return the variance of each prefix of 1, 2, ... cells, in squared records, (cells,).

        Args:
            whole: Noise that a single count would have if it were released with the whole loss.
        """
        of_cells, of_rows = (np.array([noise.variance for noise in group]) for group in self.noises(whole))
        by_cells = np.tril(np.ones((self.cells, self.cells))) - self._float_gains @ self.weights
        return np.asarray(np.square(by_cells) @ of_cells + np.square(self._float_gains) @ of_rows)

    @cached_property
    def _float_gains(self) -> FloatArray:
        """The least-squares weights `gains` as floats, divided by their unit, (cells, rows)."""
        return np.asarray(self.gains / 2**self.prefix_bits, dtype=np.float64)


def _invert(matrix: Integers) -> Integers:
    """Return the inverse of a positive definite matrix in fixed-point arithmetic, by Gauss-Jordan elimination.

    Entries of the matrix and of its inverse are Python integers in units of ``2**-GAIN_BITS``. Intermediate integers
    are rounded down and have `GAIN_BITS` more binary digits. Eigenvalues of the matrix are at least 1, so the
    elimination is stable without pivoting.

    Args:
        matrix: Symmetric matrix, (rows, rows).
    """
    one = 2 ** (2 * GAIN_BITS)
    size = len(matrix)
    rest = np.concatenate([matrix << GAIN_BITS, np.eye(size, dtype=np.int64).astype(np.object_) * one], axis=1)
    for pivot in range(size):
        row = rest[pivot] * one // rest[pivot, pivot]
        rest -= rest[:, pivot, None] * row >> 2 * GAIN_BITS
        rest[pivot] = row
    inverse: Any = rest[:, size:] >> GAIN_BITS
    return cast("Integers", inverse)


@lru_cache(maxsize=1)  # a file of the package
def _read_tables() -> dict[int, Any]:
    """Return the stored P-Identity strategies as parsed JSON, by number of cells.

    Returns:
        For each number of cells a list of rows. A row has its budget per unit of weight (units of ``2**-WEIGHT_BITS``),
        its first cell, and the weights from there on.
    """
    text = files(__package__).joinpath("p_identity.json").read_bytes()
    return {int(cells): table for cells, table in json.loads(text).items()}


def most_cells() -> int:
    """Return the largest number of cells for which a strategy is stored."""
    return max(_read_tables())


@lru_cache(maxsize=32)  # a pure function of public facts
def find_p_identity_strategy(cells: int) -> PIdentityStrategy | None:
    """Return a P-Identity strategy for a number of cells, from the strategies that are stored with the package.

    If no strategy is stored for the number, evenly spaced columns of the next larger one are omitted. Each remaining
    column keeps its weights, so its budgets still add up to 1; only accuracy is lost, up to 6 % of the error.

    Args:
        cells: Number of cells.

    Returns:
        The strategy; None for fewer than `LEAST_CELLS` or more than `most_cells`.

    >>> find_p_identity_strategy(100).weights.shape[1], find_p_identity_strategy(8)
    (100, None)
    """
    tables = _read_tables()
    if not LEAST_CELLS <= cells <= max(tables):
        return None
    stored = min(size for size in tables if size >= cells)
    table = tables[stored]
    columns = (2 * np.arange(cells) + 1) * stored // (2 * cells)
    weights = np.zeros((len(table), stored), dtype=np.int64)
    for row, (_, first, numbers) in zip(weights, table, strict=True):
        row[first : first + len(numbers)] = numbers
    weights = weights[:, columns]
    is_used = weights.any(axis=1)
    weights = weights[is_used]
    weights.flags.writeable = False
    return PIdentityStrategy(weights, tuple(table[row][0] for row in np.flatnonzero(is_used)))
