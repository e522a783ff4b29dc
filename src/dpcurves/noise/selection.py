"""A private choice among candidates: the exponential mechanism, exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused, rational
from .exponential import Bracket, coin, decay, one, powers
from .inversion import draw
from .randomness import Randomness

LAST_BIN = 256  # bins are at least 1 / (4 * rate) wide, so a candidate in the last one has a weight below exp(-64)

Penalties = NDArray[np.int64] | Sequence[int]


def choose(penalties: Penalties, rate: Fraction, randomness: Randomness) -> int:
    """The number of one candidate, i with probability proportional to ``exp(-rate * penalties[i])``.

    Formal guarantees: the law is exact, no floating point is used, and no rounding decides. Candidates are binned by
    penalty (ties together), in bins of a width of at most ``1 / (2 * rate)``, or of 1; the last has no end. A bin
    is drawn by `inversion`, with the weight of its lowest penalty times the number of its candidates, then one of
    these uniformly, which is kept with probability ``exp(-rate * excess)`` for what its penalty exceeds the lowest;
    else all is drawn anew. So a candidate is chosen with probability proportional to its own weight.
    Where a penalty moves by at most ``s`` between neighbours, the choice costs epsilon ``2 * rate * s``, and half of
    that where all penalties move the same way (McSherry and Talwar 2007).

    Args:
        penalties: One 64-bit integer for each candidate. SECRET: no error shows them.
        rate: How much a unit of penalty counts; 0 makes the choice uniform.
        randomness: Where the choice comes from.

    Raises:
        ValueError: there is no candidate, or `rate` is below zero.

    >>> choose([9, 0, 9], Fraction(5), Randomness.from_seed(0))
    1
    """
    bins = _binned(_above_least(penalties), rational("rate", rate))
    while True:
        which, excess = bins.propose(randomness)
        if coin(bins.rate * excess, randomness):
            return which


def probabilities(penalties: Penalties, rate: Fraction) -> NDArray[np.float64]:
    """The law of `choose`, one number for each candidate, to a relative accuracy of 1e-12.

    >>> probabilities([0, 1, 0], Fraction(0))
    array([0.33333333, 0.33333333, 0.33333333])
    """
    steep = float(min(rational("rate", rate), Fraction(2**60)))
    weights: NDArray[np.float64] = np.exp(-steep * _above_least(penalties).astype(np.float64))
    return weights / float(weights.sum())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SelectionBins:
    """Candidates by penalty. Bin b has the penalties from ``b * 2**bits`` above the least on.

    SECRET, as the penalties are: so it has no repr.
    """

    rate: Fraction
    bits: int
    distances: NDArray[np.uint64]
    binned: NDArray[np.int64]
    counts: list[int]

    def weights(self, bits: int) -> tuple[list[Bracket], int]:
        """The weights of all bins; there are no others."""
        lowest = powers(one(bits), decay(self.rate * 2**self.bits, bits), len(self.counts), bits)
        return [(count * low, count * high) for count, (low, high) in zip(self.counts, lowest, strict=True)], 0

    def propose(self, randomness: Randomness) -> tuple[int, int]:
        """A candidate, and by how much its penalty exceeds the lowest of its bin."""
        bin_ = draw(self, randomness)
        members = np.flatnonzero(self.binned == bin_)
        which = int(members[randomness.below(members.size)])
        return which, int(self.distances[which]) - (bin_ << self.bits)


def _above_least(penalties: Penalties) -> NDArray[np.uint64]:
    given = np.asarray(penalties)
    if given.ndim != 1 or given.size == 0 or not np.can_cast(given.dtype, np.int64):
        raise Refused("penalties", "a row of at least one integer of 64 bits is needed")
    whole = given.astype(np.int64)
    modular = whole.view(np.uint64)  # where a difference of any two cannot overflow
    least: np.uint64 = modular[whole.argmin()]
    return modular - least


def _binned(distances: NDArray[np.uint64], rate: Fraction) -> SelectionBins:
    bits = 63 if rate == 0 else min(63, max(0, int(1 / (2 * rate)).bit_length() - 1))
    binned = np.minimum(distances >> np.uint64(bits), np.uint64(LAST_BIN)).astype(np.int64)
    return SelectionBins(rate, bits, distances, binned, np.bincount(binned).tolist())
