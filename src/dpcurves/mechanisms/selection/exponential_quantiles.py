"""Pieces of about equal size: quantiles of quantiles by the exponential mechanism, on a public grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...arguments import WrongKind
from ...data import Axis, Grid, Outside
from ...laws import Selection
from ...noise import selection
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import QuantileCutsQuery, Query
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from .bounded_range import bounded_range


@dataclass(frozen=True, slots=True)
class ExponentialQuantiles:
    """Cut the records in two, and each part again, till there are enough pieces (Kaplan, Schnapp and Stemmer 2022).

    A node that shall become g pieces is cut so that about ``a / g`` of its records lie left, ``a = g // 2``. Each edge
    of its interval of cells, ends included, has a chance proportional to ``exp(-rate * penalty)``, where
    ``penalty = |g * left - a * size|`` (the exponential mechanism; Smith 2011). Missing records count nowhere, and an
    empty node is cut anywhere. Where values outside the grid are counted apart they belong to its end cells.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. There are ``ceil(log2(pieces))``
    levels, each with an equal part of the loss; losses add up, and after equal cuts neighbours have equal nodes.

    *One move* is a record that comes or goes. It changes ``g * left - a * size`` of one node by ``-a`` at the edges up
    to its cell, and by ``g - a``, which is no less than a, at the others. So no penalty changes by more than ``g - a``,
    and two changes differ by at most ``2 * (g - a)``. With ``rate = eps / (2 * l1_sensitivity * (g - a))``, each node
    with its own g, the log ratio of chances differs between two edges by at most ``eps / l1_sensitivity``: one move has
    *bounded range* ``eps / l1_sensitivity``. Ranges add up along a path of moves, in one node or in several, which draw
    independently; so neighbours have range eps.

    A range of eps is eps-differential privacy, since chances add up to 1 on either side. It is also ``eps**2 / 8``
    zero-concentrated (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021): with X the log ratio, ``K(t) = log E exp(t
    X)`` over the other side has ``K(0) = K(1) = 0`` and, X being in an interval of length eps, ``K'' <= eps**2 / 4``;
    hence ``K(t) <= t * (t - 1) * eps**2 / 8``. So for a zero-concentrated loss a level has ``eps = sqrt(8 * rho)``,
    rounded down.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, QuantileCutsQuery):
            raise UnsupportedQuery("question", f"recursive cuts cannot answer {type(query).__name__}")
        if query.pieces < 2:
            raise UnsupportedQuery("pieces", f"at least 2 are needed, got {query.pieces}")
        cells = _grid(query).cells
        _require_loss(loss, query.pieces)
        even = tuple(cells * i // query.pieces for i in range(1, query.pieces))
        return Plan(query, loss, adjacency, "recursive cuts by the exponential mechanism", Selection(even), error=0.0)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Edge numbers, ``pieces - 1`` of them, that do not fall."""
        if not isinstance(plan.query, QuantileCutsQuery):
            raise WrongKind("plan", f"a plan of recursive cuts is needed, not one made by {plan.made_by}")
        pieces = plan.query.pieces
        cutter = _Cutter(
            np.concatenate(([0], np.cumsum(_inside(table, _grid(plan.query))))),
            level_epsilon(plan.loss, pieces) / plan.adjacency.l1_sensitivity,
            randomness,
        )
        return tuple(cutter.cuts(0, len(cutter.below) - 1, pieces))


def depth(pieces: int) -> int:
    """The number of levels of cuts that make so many pieces."""
    return (pieces - 1).bit_length()


def level_epsilon(loss: PrivacyLoss, pieces: int) -> Fraction:
    """The range that each level may have: exact for a pure loss, else the root of ``8 * rho``, rounded down."""
    return bounded_range(loss * Fraction(1, depth(pieces)))


@dataclass(frozen=True, slots=True, repr=False)
class _Cutter:
    """SECRET: records below each edge, what range one move may have, and chance."""

    below: NDArray[np.int64]
    epsilon: Fraction
    randomness: Randomness

    def cuts(self, start: int, end: int, pieces: int) -> Iterator[int]:
        """Cuts of the cells between two edges, from left to right."""
        if pieces == 1:
            return
        left = pieces // 2
        cut = start + self._choice(start, end, left, pieces)
        yield from self.cuts(start, cut, left)
        yield cut
        yield from self.cuts(cut, end, pieces - left)

    def _choice(self, start: int, end: int, left: int, pieces: int) -> int:
        below = self.below[start : end + 1] - self.below[start]
        penalties = np.abs(pieces * below - left * below[-1])
        return selection.choose(penalties, self.epsilon / (2 * (pieces - left)), self.randomness)


def _grid(query: QuantileCutsQuery) -> Grid:
    if len(query.axes) != 1 or not isinstance(query.axes[0], Axis):
        raise UnsupportedQuery("axes", "one column of numbers is needed")
    return query.axes[0].grid


def _require_loss(loss: PrivacyLoss, pieces: int) -> None:
    if level_epsilon(loss, pieces) == 0:
        raise UnsupportedQuery("epsilon, rho", "cuts need a loss above zero")


def _inside(table: ExactTable, grid: Grid) -> NDArray[np.int64]:
    """Counts of the grid's cells: records outside belong to the end cells, missing ones nowhere."""
    cells = table[:-1].astype(np.int64)
    if grid.outside is Outside.CLAMPED:
        return cells
    inside: NDArray[np.int64] = cells[1:-1].copy()
    inside[0] += cells[0]
    inside[-1] += cells[-1]
    return inside
