"""Noisy counts of a stream, and which ticks form a group of like counts: Perturber and Grouper of PeGaSus."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import IntArray
from dpcurves.laws import Family, Noise
from dpcurves.mechanisms.base import ExactTable
from dpcurves.mechanisms.selection.bounded_range import pure_epsilon
from dpcurves.mechanisms.sequential import read, require_next, written
from dpcurves.mechanisms.sums.calibration import drawable, noise_of
from dpcurves.mechanisms.sums.linear import draws, printed
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import GroupedTickQuery, Query
from dpcurves.release import Plan, UnsupportedQuery

from ..laws import GroupedCounts
from .deviations import (
    BEGIN,
    COLUMNS,
    JOIN,
    LARGEST,
    LAST,
    PLAIN,
    TASK,
    TOP,
    UNIT,
    group,
    settled,
    trees_of,
)
from .perturber import added

KIND = "groups"
LARGEST_SCALE = 2**50
"""So that thresholds and tests, of up to 2,000 times as much, stay far within 64 bits with all noise."""
CHANGE = 2
"""How far the deviation of a group moves by one tuple, at most: by less than this."""


class Workshop:
    """SECRET: trees over the values of open groups, shared by a state and the one after it: see `Grouped`."""

    __slots__ = ("tick", "trees")

    def __init__(self, tick: int, trees: IntArray) -> None:
        self.tick, self.trees = tick, trees


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Grouped:
    """SECRET: exact counts of the groups that are open, and their noisy thresholds.

    Trees are changed in place, and what is kept of the last value is put into them when the next step is taken. So a
    step may be taken again from the same state, as long as none was taken from the state after it.

    Attributes:
        tick: The last tick that was answered.
        kept: See `deviations`, (keys, COLUMNS).
        workshop: Trees as they are after this tick, or before its value was put in.
    """

    tick: int
    kept: IntArray
    workshop: Workshop

    def to_bytes(self) -> bytes:
        """Columns of each key, and rows (key, value, number) of the groups as they are after this tick."""
        facts = {"columns": settled(self.kept), "rows": self._rows()}
        encoded = {name: b64encode(array.astype("<i8").tobytes()).decode() for name, array in facts.items()}
        return written(KIND, {"tick": self.tick, **encoded})

    def _rows(self) -> IntArray:
        self.require_recent()
        task, last, top = (self.kept[:, column] for column in (TASK, LAST, TOP))
        reach = int(max(top.max(), last.max())) + 1
        plain = self.workshop.trees[:, PLAIN, :reach].copy()
        if self.workshop.tick < self.tick:
            plain[task >= BEGIN] = 0
            joins = np.flatnonzero((task == JOIN) | (task == BEGIN))
            plain[joins, last[joins]] += 1
        keys, values = np.nonzero(plain)
        return np.stack((keys, values, plain[keys, values]), axis=1)

    def require_recent(self) -> None:
        """Refuse a state that was gone on from by two steps. Raises `ValueError`."""
        if self.workshop.tick not in (self.tick, self.tick - 1):
            raise Refused("state", "two steps were taken from here; restore it from its bytes")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grouped) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Pegasus:
    """A noisy count of each tick and key, and whether it joins the group of those before it (Chen 2018, Algorithm 15).

    The Perturber has the query's share of the loss, the Grouper the rest.

    Formal guarantees: *Perturber*: see `Perturber`. *Grouper* (Theorem 17): let one tuple come or go at tick s of a
    key. Decisions before s do not look at it. At s it lies in one group, or in the tick that closes one; groups later
    hold other ticks, with thresholds of their own, and it is tested in none of these. In its group, decisions are a run
    of ticks that join and at most one that does not. The deviation of integers with one of them one larger or smaller
    changes by less than 2 (Lemma 16); rounded down to multiples of ``1 / UNIT``, by at most 2. On the other side, let
    the threshold be 2 larger: it costs ``2 / b``, b being the scale of its noise. Ticks that joined still join, for
    their deviation rose by at most 2, at no cost, however many they are. The one that did not join still does not if
    the noise of its test is 4 larger: that costs ``4 / d``, d being the scale of that noise. With ``b = 4 / epsilon``
    and ``d = 8 / epsilon`` both together cost epsilon. The sum over all thresholds gives the ratio of the chances. A
    group of `LONGEST` ticks closes whatever it holds, which costs nothing. Counts above `LARGEST` are grouped as if
    they were that: no tuple moves more. A value that later ones are chosen by is one that was released, so the proof
    holds for streams that are chosen after answers. Both releases together: Theorem 15. Several tuples cost so many
    times as much (by streams between), which is why scales are ``adjacency.l1_sensitivity`` times as large.

    Under a zero-concentrated loss the Grouper has the epsilon whose rho is its share.

    *Aggregations* of states (Theorem 19): nodes of one level are apart, a tuple is in at most one node of each, and
    each level has an equal part of the loss, for a release of its own.
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, GroupedTickQuery):
            raise UnsupportedQuery("question", f"groups of ticks are not what {type(query).__name__} asks")
        level = loss * Fraction(1, query.levels)
        noise = noise_of(query, level * (1 - query.share), adjacency)
        price = pure_epsilon(level * query.share) / adjacency.l1_sensitivity
        common, own = (drawable(Noise(Family.LAPLACE, UNIT * parts * CHANGE / price), loss) for parts in (2, 4))
        if own.parameter > LARGEST_SCALE:
            raise UnsupportedQuery("epsilon, rho", f"{loss} for groups needs more noise than they can be found with")
        threshold = round(UNIT * query.deviation / price)
        law = GroupedCounts(query.nodes, noise, common, own, threshold)
        return Plan(query, loss, adjacency, "noise on every tick, and groups", law, printed(sqrt(noise.variance)))

    def begin(self, plan: Plan) -> Grouped:
        """No group is open."""
        keys = plan.law.required(GroupedCounts).keys
        return Grouped(0, np.zeros((keys, COLUMNS), np.int64), Workshop(0, trees_of(np.zeros((keys, 1), np.int64), 64)))

    def step(
        self, table: ExactTable, tick: int, state: Grouped, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], Grouped]:
        """Counts, each plus one draw, and behind them what was decided."""
        require_next(tick, state)
        law, table = plan.law.required(GroupedCounts), _nodes(table, plan.query)
        counts = added(table, draws(law.noise, law.keys, randomness).tolist())
        values = np.minimum(table, LARGEST).astype(np.int64)
        kept, workshop = _at_hand(state, int(values.max()))
        common, own = (draws(noise, law.keys, randomness)[None] for noise in (law.common, law.own))
        joined = group(values[None], law.threshold + common, own, kept, workshop.trees)
        workshop.tick = state.tick
        return (*counts, *joined[0].tolist()), Grouped(tick, kept, workshop)

    def restored(self, stored: bytes, plan: Plan) -> Grouped:
        """The state that was written."""
        facts = read(KIND, stored)
        kept, rows = (
            np.frombuffer(b64decode(facts[name]), "<i8").astype(np.int64).reshape(-1, width)
            for name, width in (("columns", COLUMNS), ("rows", 3))
        )
        plain = np.zeros((len(kept), int(rows[:, 1].max(initial=0)) + 1), np.int64)
        plain[rows[:, 0], rows[:, 1]] = rows[:, 2]
        tick = int(facts["tick"])
        return Grouped(tick, kept, Workshop(tick, trees_of(plain, _size(plain.shape[1] - 1))))


def _at_hand(state: Grouped, largest: int) -> tuple[IntArray, Workshop]:
    """SECRET: what `group` may change: a copy of what is kept, and trees that have room for all values."""
    state.require_recent()
    workshop = state.workshop
    if largest >= workshop.trees.shape[2]:
        workshop.trees = trees_of(workshop.trees[:, PLAIN], _size(largest))
    return settled(state.kept) if workshop.tick == state.tick else state.kept.copy(), workshop


def _nodes(table: ExactTable, query: Query) -> ExactTable:
    """SECRET: counts of aggregations, where the query has them, and of states."""
    if not isinstance(query, GroupedTickQuery) or query.forest is None:
        return table
    return np.array(query.forest.counts_of(table.tolist()), dtype=object)


def _size(largest: int) -> int:
    """A power of two above a value, and 64 at least."""
    return max(64, 1 << largest.bit_length())
