"""Haar wavelets along every axis of a table: boxes of any size are read with noise that grows slowly with it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from ...arguments import WrongKind
from ...laws import Family, HaarTensorSums
from ...laws.haar_tensor_sums import bands, mean_squares
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss, ReplaceOne
from ...queries import Query, WaveletQuery
from ...queries.base import laid_out
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .column_norms import noise_for, prices
from .linear import draws, printed

_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Privelet:
    """The tensor product of Haar wavelets (Xiao, Wang and Gehrke 2010: Privelet), with prices that fit prefix boxes.

    A value is a contrast along each axis, and its relative price the product of one price for each axis; those of one
    path along an axis add up to the same sum for all cells, or less. Sides need no powers of two.

    Formal guarantees: pure or zero-concentrated as the loss is. Cells of the table, the cells beyond it, and missing
    records are three disjoint sums, priced by `column_norms.prices` with the largest relative prices that
    `largest_prices` proves. A record that moves between the last two pays for both: under replace-one neither of them
    gets more than half of the loss.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, WaveletQuery):
            raise UnsupportedQuery("question", f"wavelets of a table cannot answer {type(query).__name__}")
        law = _law(query, loss, adjacency)
        error = printed(sqrt(law.mean_prefix_variance))
        return Plan(query, loss, adjacency, f"wavelets along {len(query.sides)} axes", law, error)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Transformed cells, each plus one draw of its noise; the cells beyond, if there are any; missing records."""
        law, query = plan.law.required(HaarTensorSums), plan.query
        if not isinstance(query, WaveletQuery):
            raise WrongKind("plan", f"a plan of wavelets is needed, not one made by {plan.made_by}")
        exact, noise = exact_values(table, query, law), noise_of_values(law, randomness)
        return tuple(value + own for value, own in zip(exact, noise, strict=True))  # Python's integers cannot overflow


def exact_values(table: ExactTable, query: WaveletQuery, law: HaarTensorSums) -> list[int]:
    """SECRET: what is to be released, in the order of `law`."""
    order = laid_out(query.order)
    values = table[order].reshape(query.sides)
    for axis in range(values.ndim):
        values = np.moveaxis(_transformed(np.moveaxis(values, axis, -1)), -1, axis)
    beyond = np.ones(len(table) - 1, dtype=np.bool_)
    beyond[order] = False
    apart = [] if law.apart is None else [int(table[:-1][beyond].sum())]
    return [*values.ravel().tolist(), *apart, int(table[-1])]


def noise_of_values(law: HaarTensorSums, randomness: Randomness) -> list[int]:
    """SECRET: one draw for each value."""
    drawn = np.empty(law.sides, dtype=np.int64)
    for block, noise in zip(law.blocks, law.noises, strict=True):
        drawn[block] = draws(noise, drawn[block].size, randomness).reshape(drawn[block].shape)
    single = [law.missing] if law.apart is None else [law.apart, law.missing]
    return [*drawn.ravel().tolist(), *(int(draws(noise, 1, randomness)[0]) for noise in single)]


def _transformed(cells: ExactTable) -> ExactTable:
    """Along the last axis: the total, and contrasts from coarse to fine."""
    found: list[ExactTable] = []
    for _ in bands(cells.shape[-1])[1:]:
        left, right = cells[..., 0::2], cells[..., 1::2]
        found.insert(0, left[..., : right.shape[-1]] - right)
        cells = left.copy()
        cells[..., : right.shape[-1]] += right
    return np.concatenate([cells, *found], axis=-1)


def _law(query: WaveletQuery, loss: PrivacyLoss, adjacency: Adjacency) -> HaarTensorSums:
    family = Family.LAPLACE if loss.is_pure else Family.GAUSSIAN
    axes = [AxisPrices.of(side, family) for side in query.sides]
    alone, moved = largest_prices(axes, family)
    unit, missing = prices(alone, moved, loss, adjacency)
    noises = tuple(noise_for(prod(each) * unit, loss) for each in product(*(axis.bands for axis in axes)))
    if len(query.order) == prod(query.shape):
        return HaarTensorSums(query.sides, noises, None, noise_for(missing, loss))
    if isinstance(adjacency, ReplaceOne):
        missing = min(missing, (unit * alone + missing) / 2)
    return HaarTensorSums(query.sides, noises, noise_for(missing, loss), noise_for(missing, loss))


class Parting(NamedTuple):
    """Two cells of an axis, and what the values that they change cost.

    Attributes:
        first: All that the first one changes, by 1 or -1.
        second: All that the second one changes; not more than `first`.
        alike: What both change in the same way.
        opposite: What one changes by 1 and the other by -1.
    """

    first: Fraction
    second: Fraction
    alike: Fraction
    opposite: Fraction


class AxisPrices(NamedTuple):
    """Relative prices of the values along one axis.

    Attributes:
        side: How many cells it has.
        bands: The price of the total, and of contrasts from coarse to fine.
    """

    side: int
    bands: tuple[Fraction, ...]

    @classmethod
    def of(cls, side: int, family: Family) -> AxisPrices:
        """Those with the least mean variance of a prefix, for a given price of all values that a record changes.

        A band whose factors in prefixes have the mean square w adds ``w / price**power`` to the variance, with power 2
        for Laplace noise and 1 for Gaussian noise: the sum is least if ``price**(power + 1)`` is proportional to w.
        """
        root = 1 / 3 if family is Family.LAPLACE else 1 / 2
        return cls(side, tuple(Fraction(max(1, round(_PARTS * weight**root)), _PARTS) for weight in mean_squares(side)))

    def partings(self) -> list[Parting]:
        """Price two equal cells, and cells that lie in different halves of a node of each level; the dearest ones.

        The first node of a level has contrasts of all levels above, and its right half is the largest one. In its left
        half, the first cell has contrasts of all levels below. In its right half, of r cells, the first one has those
        of the levels whose right halves begin before the r-th cell, and no other one has more.
        """
        total = sum(self.bands, start=Fraction(0))
        found = [Parting(total, total, total, Fraction(0))]
        levels = len(self.bands) - 1
        for level in range(levels):
            half = 1 << (levels - 1 - level)
            right = min(half, self.side - half)
            alike, opposite, below = sum(self.bands[: level + 1]), self.bands[level + 1], self.bands[level + 2 :]
            second = alike + opposite + sum(below[len(below) - (right - 1).bit_length() :])
            found.append(Parting(total, second, Fraction(alike), opposite))
        return found


def largest_prices(axes: list[AxisPrices], family: Family) -> tuple[Fraction, Fraction]:
    """The largest relative prices of one record that comes or goes, and of one that moves between cells of the table.

    Formal guarantees: a record of cell c changes the values that lie on its path along each axis, by the product of
    signs. So it costs the product, over axes, of the prices of its paths, which is largest for the first cell, that has
    a contrast of every level. Let a move go from cell c to cell d. Along each axis let X and Y be the prices of the
    paths of both, P that of the values that both change alike, and q that of the value that one changes by 1 and the
    other by -1. Of the values of the table both change those that cost ``prod(P + q)``, and of these the ones with an
    even number of factors -1 alike: they cost ``(prod(P + q) + prod(P - q)) / 2``; the others change by 2, and all that
    one of them changes alone by 1. With Laplace noise, where a change of 2 costs twice as much, the move costs
    ``prod(X) + prod(Y) - prod(P + q) - prod(P - q)``, and with Gaussian noise, where it costs four times as much,
    ``prod(X) + prod(Y) - 2 * prod(P - q)``. Both rise with what lies on one path alone. They rise, or stay, with P,
    which is a part of X and Y: the derivative is a sum of the differences of ``prod(X)`` and ``prod(P + q)``, and the
    like, over the other axes. And they are largest if the larger of both paths is that of the same record along all
    axes. So the dearest cells of each level are enough, in all combinations of levels.
    """
    alone = prod((sum(axis.bands, start=Fraction(0)) for axis in axes), start=Fraction(1))
    return alone, max(_moved(each, family) for each in product(*(axis.partings() for axis in axes)))


def _moved(along: tuple[Parting, ...], family: Family) -> Fraction:
    one = Fraction(1)
    apart = prod((each.first for each in along), start=one) + prod((each.second for each in along), start=one)
    shared = prod((each.alike + each.opposite for each in along), start=one)
    signed = prod((each.alike - each.opposite for each in along), start=one)
    return apart - (shared + signed if family is Family.LAPLACE else 2 * signed)
