"""Counts of prefixes of a stream under zero-concentrated privacy, from a memory that does not grow."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, sqrt
from typing import NamedTuple

import numpy as np

from dpcurves.laws import Family, Noise
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.sequential import read, require_next, written
from dpcurves.mechanisms.sums.calibration import drawable, require_loss
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import Query
from dpcurves.release import Plan, UnsupportedQuery

from ..laws import BufferedPrefixes
from ..laws.buffered_prefixes import LATTICE, MOST_BUFFERED
from .perturber import added, stream_only

KIND = "buffered counter"
SPACING = 12
REACH = 4
SHORTEST = Fraction(1, 8)
BITS = 64
"""Buffers, and decays, are multiples of ``2**-BITS``."""
PRECISE = 192
LOG_OVER_PI = 7909703528713629648
"""``log(12) / pi`` in units of ``10**-19``, rounded."""


class Buffers(NamedTuple):
    """Weights of earlier ticks in a total: a sum of exponentials.

    Attributes:
        decays: Integers over ``2**BITS``.
        weights: In units of the lattice.
    """

    decays: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Buffered:
    """SECRET: the tick, and all buffers of each key, over ``2**BITS``."""

    tick: int
    buffers: tuple[tuple[int, ...], ...]

    def to_bytes(self) -> bytes:
        """Numbers in hexadecimal digits."""
        return written(KIND, {"tick": self.tick, "buffers": [[f"{each:x}" for each in row] for row in self.buffers]})


@dataclass(frozen=True, slots=True)
class BufferedCounter:
    """Totals of tuples so far, with Gaussian noise: nearly a square root of cumulating, with a few buffers.

    A square root of cumulating weighs a count of k ticks before ``binomial(2 k, k) / 4**k``, which is the integral of
    ``u**k / (pi * sqrt(u * (1 - u)))`` from 0 to 1. The trapezoidal rule in ``log(u / (1 - u))``, with steps of
    ``log(SPACING)``, makes a sum of exponentials of it, one buffer each (after McMahan, Moitra and others: buffered
    linear Toeplitz). With longest ``1 / (1 - u)`` about `REACH` times the horizon its mean squared error is 1% to 2%
    below that of the square root itself, which has to remember all counts (Henzinger, Upadhyay and Upadhyay 2023).

    Formal guarantees: zero-concentrated, for streams chosen after answers too. Buffers m_j hold integers: at each tick
    ``m_j <- floor(decay_j * m_j)``, the released value is the count, in units of the lattice, plus ``floor(sum(weight_j
    * m_j))`` plus noise of its own, and then the count is added to each m_j. Let one tuple more come at tick s. All of
    this rises with the counts, so no value falls. With both sides rounded down, the difference of a buffer after k
    ticks is within ``1 / (1 - decay)`` units of ``decay**k``, for at each tick it is off by less than 1 and that decays
    too; so the value k ticks later rises by at most ``bound_k = sum(weight_j * decay_j**k) + slack`` units, where slack
    is 1 for the last rounding and next to nothing for those before, by 1 tuple for k = 0, and not at all before.
    Whatever s is, and whatever counts follow, squares add up to at most ``S = 1 + sum(bound_k**2)``, over all k below
    the horizon: `squared_length` bounds it from above in whole numbers. Given all answers before, a value is discrete
    Gaussian with a variance parameter v around its exact value: it loses rho ``shift**2 / (2 v)``, and these add up to
    ``S / (2 v)`` at most (Bun and Steinke 2016, Lemma 2.3, with the sum bounded on every path). Several tuples add
    their rises up, so k of them have squares of at most ``k**2 * S`` (triangle inequality). Tuples that go against
    tuples that come: rises p and q have no negative entry, so ``|p - q|**2 <= |p|**2 + |q|**2``. That is
    ``adjacency.squared_l2_sensitivity`` times S.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = stream_only(query)
        require_loss(loss)
        if loss.is_pure:
            raise UnsupportedQuery("epsilon", "a buffered counter has Gaussian noise; give rho")
        if query.ticks is None or query.ticks > MOST_BUFFERED:
            raise UnsupportedQuery("ticks", f"a buffered counter needs a public horizon of at most {MOST_BUFFERED}")
        buffers = buffers_for(query.ticks)
        squares = adjacency.squared_l2_sensitivity * squared_length(buffers, query.ticks)
        noise = drawable(Noise(Family.GAUSSIAN, squares / (2 * loss.rho)), loss)
        decays = tuple(Fraction(decay, 2**BITS) for decay in buffers.decays)
        law = BufferedPrefixes(query.keys, query.ticks, decays, buffers.weights, noise)
        error = printed(sqrt(law.mean_variance(query.ticks)))
        return Plan(query, loss, adjacency, f"Gaussian noise through {len(decays)} buffers", law, error)

    def begin(self, plan: Plan) -> Buffered:
        """The initial state: empty buffers."""
        law = plan.law.required(BufferedPrefixes)
        return Buffered(0, ((0,) * len(law.decays),) * law.keys)

    def step(
        self, table: ExactTable, tick: int, state: Buffered, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Buffered]:
        """Weighted counts, each plus one draw. Raises `ValueError` after the horizon, too."""
        require_next(tick, state)
        law = plan.law.required(BufferedPrefixes)
        if tick > law.ticks:
            raise UnsupportedQuery("tick", f"this stream was planned for {law.ticks} ticks")
        buffers = Buffers(tuple(int(decay * 2**BITS) for decay in law.decays), law.weights)
        exact, kept = moved(table.tolist(), state.buffers, buffers)
        noise = draws(law.noise, law.keys, randomness)
        return added(np.array(exact, dtype=object), noise.tolist()), Buffered(tick, kept)

    def restored(self, stored: bytes, plan: Plan) -> Buffered:
        """The state that was written."""
        facts = read(KIND, stored)
        return Buffered(int(facts["tick"]), tuple(tuple(int(each, 16) for each in row) for row in facts["buffers"]))


def moved(
    counts: list[int], kept: tuple[tuple[int, ...], ...], buffers: Buffers
) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    """SECRET: the exact values of a tick, on the lattice, and the buffers after it, of each key."""
    values, after = [], []
    for count, row in zip(counts, kept, strict=True):
        left = [decay * each >> BITS for decay, each in zip(buffers.decays, row, strict=True)]
        before = sum(weight * each for weight, each in zip(buffers.weights, left, strict=True)) >> BITS
        values.append((count << LATTICE) + before)
        after.append(tuple(each + (count << BITS) for each in left))
    return values, tuple(after)


@lru_cache(maxsize=256)  # a pure function of public facts
def buffers_for(ticks: int) -> Buffers:
    """Exponentials whose sum is nearly a square root of cumulating, in whole numbers: the same on every machine.

    With ``x = u / (1 - u)`` the rule has ``x = REACH * ticks / SPACING**j``, ``u = x / (1 + x)``, and the weight
    ``log(SPACING) / pi * sqrt(u * (1 - u))``, where the root is that of x over ``1 + x``.
    """
    decays, weights = [], []
    odds = Fraction(REACH * ticks)
    while odds >= SHORTEST:
        decays.append(int(odds / (1 + odds) * 2**BITS))
        root = Fraction(isqrt(int(odds * 4**BITS)), 2**BITS)
        weights.append(int(Fraction(LOG_OVER_PI, 10**19) * 2**LATTICE * root / (1 + odds)))
        odds /= SPACING
    return Buffers(tuple(decays), tuple(weights))


@lru_cache(maxsize=256)  # a pure function of public facts
def squared_length(buffers: Buffers, ticks: int) -> int:
    """The most that the squares of all rises by one tuple add up to, in squared units of the lattice; see the proof.

    ``bound_k`` is a sum of geometric series, with `slack` as one that does not decay; so is its square.
    """
    one = 1 << BITS
    slack = 1 + sum(
        Fraction(weight, one) / (1 - Fraction(decay, one))
        for decay, weight in zip(buffers.decays, buffers.weights, strict=True)
    )
    total = Fraction(4**LATTICE) + slack**2 * (ticks - 1)
    for decay, weight in zip(buffers.decays, buffers.weights, strict=True):
        total += 2 * slack * weight * _series(Fraction(decay, one), ticks - 1)
        for other, also in zip(buffers.decays, buffers.weights, strict=True):
            total += weight * also * _series(Fraction(decay * other, one * one), ticks - 1)
    return ceil(total)


def _series(ratio: Fraction, length: int) -> Fraction:
    """At least ``ratio + ratio**2 + ...``, so many terms: the last power is rounded down."""
    power, base = 1 << PRECISE, int(ratio * (1 << PRECISE))
    for bit in bin(length)[2:]:
        power = power * power >> PRECISE
        if bit == "1":
            power = power * base >> PRECISE
    return ratio * (1 - Fraction(power, 1 << PRECISE)) / (1 - ratio)
