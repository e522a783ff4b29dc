"""A square root of prefix sums, with Gaussian noise between its two halves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ...laws import ToeplitzSums
from ...laws.convolution import causal_convolution
from ...laws.toeplitz_sums import root_weights
from ...privacy import Adjacency, PrivacyLoss
from ...queries import Query
from ...release import Plan, UnsupportedQuery
from .column_norms import noise_for, prices
from .linear import Spaced, plan_of_prefixes, prefixes_only

BITS = 20


@dataclass(frozen=True, slots=True)
class SquareRoot(Spaced):
    """Prefix sums as twice the same convolution (Henzinger, Upadhyay and Upadhyay 2023; Fichtenberger et al. 2023).

    Released is the first convolution, with weights rounded to multiples of ``2**-20``, worked out in integers, plus
    noise of its own on each value. The rest is post-processing: see `ToeplitzSums`. Of all mechanisms here that count
    every cell this one has the least variance under zero-concentrated privacy; under pure privacy it is of no use, as a
    record changes all values from its cell on.

    Formal guarantees: zero-concentrated, by `column_norms.prices`. A record changes the values of its row by a column
    of the matrix of rounded weights w, of p intervals: ``(0, ..., 0, w[0], w[1], ...)``. Its squared length is largest
    in the first interval, ``S(p)``, with ``S(m) = sum(w[i]**2 for i < m)``. Columns i and i + d have the squared
    distance ``S(d) + sum((w[m + d] - w[m])**2 for m < p - i - d)``: largest at i = 0, where it is
    ``S(p) + S(p - d) - 2 * sum(w[m] * w[m + d] for m < p - d)``. All of this is worked out exactly. Columns of two rows
    have no value in common.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = prefixes_only(query, "a square root of prefix sums")
        if loss.is_pure:
            raise UnsupportedQuery("epsilon", "a square root of prefix sums has Gaussian noise; give rho")
        alone, moved = squared_lengths(-(-query.cells // self.width), BITS)
        unit, missing = prices(Fraction(alone), Fraction(moved if query.rows == 1 else 2 * alone), loss, adjacency)
        law = ToeplitzSums(
            query.rows, query.cells, self.width, BITS, noise_for(unit, loss), missing=noise_for(missing, loss)
        )
        name = self.counted_as("square root of prefix sums")
        return plan_of_prefixes(name, query, law, loss, adjacency)


@lru_cache(maxsize=64)  # a pure function of public facts
def squared_lengths(points: int, bits: int) -> tuple[int, int]:
    """The largest squared length of a column, and the largest squared distance of two, on the lattice. Exact.

    >>> squared_lengths(2, 1)
    (5, 5)
    """
    weights = root_weights(points, bits)
    ends = [0]
    for weight in weights.tolist():
        ends.append(ends[-1] + weight**2)
    products = causal_convolution(weights[None, ::-1], weights)[0].tolist()  # the last one is that of no distance
    distances = (ends[-1] + ends[1 + lag] - 2 * products[lag] for lag in range(points - 1))
    return ends[-1], max(distances, default=0)
