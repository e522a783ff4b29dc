"""The Haar wavelet: the total of a row, and how much more lies in the left half of every node than in the right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ...laws import Family, HaarSums
from ...privacy import Adjacency, PrivacyLoss, ReplaceOne
from ...queries import CountQuery, Query
from ...release import Plan
from .column_norms import noise_for, prices
from .linear import Spaced, plan_of_prefixes, prefixes_only

TOP_WEIGHT = 1 / 3
"""Mean square of the factors with which the total of a row reaches prefixes, t / p for the t-th of p."""

_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Haar(Spaced):
    """Contrasts of all nodes of a binary tree (Xiao, Wang and Gehrke 2010: Privelet), with near-equal prices.

    Formal guarantees: pure or zero-concentrated as the loss is; see `column_norms.prices` and `_Path`. The sum of the
    prices of one path is shared so that the mean variance of a prefix is least.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        query = prefixes_only(query, "a wavelet")
        law = _law(query, self.width, loss, adjacency)
        name = self.counted_as(f"Haar wavelet of depth {len(law.levels)}")
        return plan_of_prefixes(name, query, law, loss, adjacency)


def _law(query: CountQuery, width: int, loss: PrivacyLoss, adjacency: Adjacency) -> HaarSums:
    points, family = -(-query.cells // width), Family.LAPLACE if loss.is_pure else Family.GAUSSIAN
    lone = query.rows == 1 and points > 1 and adjacency.total is not None
    path = _path(points, 0.0 if lone else TOP_WEIGHT, family, adjacency)
    unit, missing = prices(path.alone(), path.moved(query.rows, points, family), loss, adjacency)
    return HaarSums(
        query.rows, query.cells, width,
        top=noise_for(path.top * unit, loss) if path.top else None,
        levels=tuple(noise_for(price * unit, loss) for price in path.levels),
        missing=noise_for(missing, loss),
    )  # fmt: skip


class _Path(NamedTuple):
    """Relative prices of the values that one record changes by 1: the total of its row, and a contrast of each level.

    Attributes:
        top: The price of the total; 0 if it is not released.
        levels: The prices of the contrasts, from coarse to fine.
    """

    top: Fraction
    levels: tuple[Fraction, ...]

    def alone(self) -> Fraction:
        """The largest price of one record: that of one in the first cell, which lies in a node of every level."""
        return self.top + sum(self.levels)

    def moved(self, rows: int, points: int, family: Family) -> Fraction:
        """The largest price of a record that moves from one cell to another.

        Between rows it is that of two records. In a row the contrasts of nodes that hold both cells on the same side
        stay; that of the smallest node that holds both changes by 2, which costs 2 or 4 times its price; and below it
        two paths change, by 1 each. In the left half of a node all levels have contrasts. In its right half, of r
        intervals, the first interval has those of the levels whose right halves begin before the r-th interval, and no
        other one has more. The first node of a level is the one whose right half has most intervals.
        """
        between_rows = 2 * self.alone() if rows > 1 else Fraction(0)
        return max([between_rows, *(self._parting(level, points, family) for level in range(len(self.levels)))])

    def _parting(self, level: int, points: int, family: Family) -> Fraction:
        half = 1 << (len(self.levels) - 1 - level)
        right = min(half, points - half)
        below = self.levels[level + 1 :]
        on_the_right = below[len(below) - (right - 1).bit_length() :]
        return self.levels[level] * (2 if family is Family.LAPLACE else 4) + sum(below) + sum(on_the_right)


def _path(points: int, top: float, family: Family, adjacency: Adjacency) -> _Path:
    """Prices that minimise the mean variance of a prefix, if every prefix ends in a full tree.

    A contrast of m intervals reaches prefixes with the factors ``min(t, m - t) / m``, of mean square
    ``(1 + 2 / m**2) / 12``; `top` is that of the total. With weights w and a given sum of prices,
    ``sum(w / price**power)`` is least if ``price**(power + 1)`` is proportional to w; Laplace noise has power 2,
    Gaussian noise 1. With Gaussian noise the contrast in which the paths of a move part is paid twice.
    """
    sizes = [2 << level for level in reversed(range((points - 1).bit_length()))]
    weights = [top, *((1 + 2 / size**2) / 12 for size in sizes)]
    if sizes and family is Family.GAUSSIAN and isinstance(adjacency, ReplaceOne):
        weights[1] /= 2
    root = 1 / 3 if family is Family.LAPLACE else 1 / 2
    first, *others = (Fraction(round(_PARTS * weight**root), _PARTS) for weight in weights)
    return _Path(first, tuple(others))
