"""Trees whose nodes of a level are all alike: their error in closed form, and the shares that minimise it.

Many trees of one depth are worked on at once: arrays have the shape ``(trees, levels)``, from coarse to fine. Variances
are in units of that of the noise which the whole loss allows: a level with share s has ``s ** -power``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray

_ROUNDS = 40
_FEW_ROUNDS = 3
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class PerfectTrees:
    """Trees of one depth over rows of cells.

    Attributes:
        radices: How many nodes of a level a node of the level above has; first, how many a row has. With
            a fraction, if the last node is cut off.
        widths: How many cells a node has.
        rows: How many rows have such a tree.
        power: 2 for Laplace noise, whose variance falls with the square of a share; 1 for Gaussian noise.
        total_is_public: Whether the number of all records is known. Then the missing cell, which has the noise that the
            whole loss allows, is one more child of the root.
    """

    radices: FloatArray
    widths: FloatArray
    rows: int
    power: int
    total_is_public: bool

    def some(self, numbers: NDArray[np.int64]) -> PerfectTrees:
        """Keep the trees with these numbers."""
        return replace(self, radices=self.radices[numbers], widths=self.widths[numbers])

    def errors_in_short(self) -> FloatArray:
        """About the least errors that shares can make: after a few rounds of `best_shares`. Not less than the least."""
        return self.errors(self.best_shares(_FEW_ROUNDS))

    def best_shares(self, rounds: int = _ROUNDS) -> FloatArray:
        """Shares that minimise `errors`: multiplicative updates, in a fixed number of rounds.

        On the simplex a minimum has shares proportional to pulls, where ``pull = -d error / d log(share) / power``. A
        level alone has ``pull = weight * share ** -power``, so that ``share * (pull / share) ** (1 / (power + 1))`` is
        right at once. Where a level is best left out the minimum found is a local one: compare trees without it.
        """
        shares = np.full(self.radices.shape, 1 / self.radices.shape[1])
        for _ in range(rounds):
            pulls = self._pulls(shares)
            shares = np.maximum(shares * (pulls / shares) ** (1 / (self.power + 1)), _LEAST_SHARE)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def errors(self, shares: FloatArray) -> FloatArray:
        """Mean variance of a prefix over all edges but the last, by least squares on all levels."""
        combined = self._combined(shares)
        top, _ = self._top(combined[:, 0])
        errors: FloatArray = top + (self._weights * combined)[:, 1:].sum(axis=1)
        return errors

    @cached_property
    def _nodes(self) -> FloatArray:
        """The number of children of a node of the level above, with the one that is cut off."""
        return np.ceil(self.radices)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of ``j + u**2`` and of ``(j + u)**2`` over edges that lie at a part u of node number j."""
        whole = np.floor(self.radices)
        cut = self.radices - whole
        part = (1 - 1 / self.widths) / 2
        part_squared = part * (2 - 1 / self.widths) / 3
        first = whole * ((whole - 1) / 2 + part_squared) + cut * (whole + cut**2 / 3)
        squares = (whole - 1) * (2 * whole - 1) / 6 + (whole - 1) * part + part_squared
        second = whole * squares + cut * (whole**2 + whole * cut + cut**2 / 3)
        return first / self.radices, second / self.radices

    @cached_property
    def _weights(self) -> FloatArray:
        """The contribution of a level to the error per unit of its variance, given the total of the node above."""
        first, second = self._moments
        return first - second / self._nodes

    def _combined(self, shares: FloatArray) -> FloatArray:
        """Variance of a node's estimate from its own subtree."""
        combined = shares**-self.power
        for level in range(combined.shape[1] - 2, -1, -1):
            of_children = self._nodes[:, level + 1] * combined[:, level + 1]
            combined[:, level] = 1 / (1 / combined[:, level] + 1 / of_children)
        return combined

    def _top(self, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The contribution of the first level to the error, and its derivative by the variance."""
        first, second = self._moments[0][:, 0], self._moments[1][:, 0]
        if not self.total_is_public:
            return first * variance, first
        nodes = self.rows * self._nodes[:, 0]
        part = variance / (nodes * variance + 1)
        return first * variance - second * variance * part, first - second * part * (2 - nodes * part)

    def _pulls(self, shares: FloatArray) -> FloatArray:
        """Derivatives of the error by the logarithm of each share, over the power: by the chain rule, downwards."""
        combined, own = self._combined(shares), shares**-self.power
        pulls = np.empty_like(shares)
        _, slope = self._top(combined[:, 0])
        for level in range(shares.shape[1]):
            pulls[:, level] = slope * combined[:, level] ** 2 / own[:, level]
            if level + 1 < shares.shape[1]:
                nodes, finer = self._nodes[:, level + 1], combined[:, level + 1]
                slope = self._weights[:, level + 1] + slope * nodes * (combined[:, level] / (nodes * finer)) ** 2
        return pulls
