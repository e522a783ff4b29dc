"""PeGaSus: noisy counts of a stream, and which ticks form a group of like counts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray, compile_loop
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.laws import Family, Noise
from dpcurves.laws.law import round_error
from dpcurves.mechanisms.base import ExactTable, QueryMechanism
from dpcurves.mechanisms.exponential import pure_epsilon
from dpcurves.mechanisms.linear import calibrate_noise, require_drawable, sample_noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss

from ..laws import GroupedCounts
from ..queries import GroupedTickQuery
from .hierarchy import add_noise
from .sequential import decode_state, encode_state, require_next

# Deviations of growing groups of counts from their mean, by Fenwick trees over values: a loop over SECRET counts.
UNIT = 16
"""Deviations are rounded down to multiples of ``1 / UNIT``."""
LARGEST = 2**16 - 1
"""Counts above are grouped as if they were this."""
LONGEST = 2**18
"""Ticks after which a group is closed, whatever they hold: products of lengths and sums fit into 64 bits."""
NOTHING, JOIN, BEGIN, CLOSE = 0, 1, 2, 3
"""State of the value that came last."""
LENGTH, SUM, TOP, LAST, TASK, OPEN, THRESHOLD = range(7)
"""Columns of what is kept of each key: the group's length, sum and largest value; the last value and what is to be done
with it; whether the group is open; and its noisy threshold."""
COLUMNS = 7
NUMBERS, SUMS, PLAIN = 0, 1, 2
"""State of a group, for each value: trees of how many there are and of their sums; and how many, plainly."""


@compile_loop
def decide_groups(
    values: IntArray, thresholds: IntArray, test_noise: IntArray, columns: IntArray, trees: IntArray
) -> IntArray:
    """Decide for each tick and key whether its value joins the group at hand (1) or not (0), (ticks, keys).

    A value that follows a closed group begins a new one, untested, with a new threshold. Any other is tested once: it
    joins if the deviation with it, plus noise of its own, is below the threshold; else it closes the group, and is one
    of its own that is closed too (Chen 2018, Algorithm 16). What this does to the group is done when the next tick
    comes: until then the trees are as they were.

    The deviation ``sum(|c - mean|)`` of n values with the sum s is ``2 * (s * below - n * sum_below) / n``, with the
    number and the sum of values up to the mean: looked up in trees of sums, in steps that grow as the logarithm.

    Args:
        values: Counts from 0 on, below the size of the trees, (ticks, keys).
        thresholds: Thresholds with their noise, on the lattice, should a group begin here, (ticks, keys).
        test_noise: Noise of the tests, on the lattice, (ticks, keys).
        columns: (keys, COLUMNS): changed in place.
        trees: (keys, 3, size), with a size that is a power of two: changed in place.
    """
    joined, size = np.zeros(values.shape, np.int64), trees.shape[2]
    for tick in range(values.shape[0]):
        for key in range(values.shape[1]):
            row, tree = columns[key], trees[key]
            task, last, value = row[TASK], row[LAST], values[tick, key]
            if task >= BEGIN:
                place = row[TOP] + 1
                tree[:, :place] = 0
                while place <= size:  # nodes above that hold some below
                    tree[:, place - 1] = 0
                    place += place & -place
                row[LENGTH] = row[SUM] = row[TOP] = 0
            if task in (JOIN, BEGIN):
                row[LENGTH] += 1
                row[SUM] += last
                row[TOP] = max(row[TOP], last)
                tree[PLAIN, last] += 1
                place = last + 1
                while place <= size:
                    tree[NUMBERS, place - 1] += 1
                    tree[SUMS, place - 1] += last
                    place += place & -place
            row[LAST] = value
            if row[OPEN] == 0:
                row[TASK], row[OPEN], row[THRESHOLD] = BEGIN, 1, thresholds[tick, key]
                continue
            length, total = row[LENGTH] + 1, row[SUM] + value
            mean = total // length
            below, sum_below = (1, value) if value <= mean else (0, 0)
            place = min(mean + 1, size)
            while place > 0:
                below += tree[NUMBERS, place - 1]
                sum_below += tree[SUMS, place - 1]
                place -= place & -place
            deviation = 2 * UNIT * (total * below - length * sum_below) // length
            joins = length <= LONGEST and deviation + test_noise[tick, key] < row[THRESHOLD]
            row[TASK], row[OPEN], joined[tick, key] = JOIN if joins else CLOSE, joins, joins
    return joined


def apply_pending(columns: IntArray) -> IntArray:
    """The state of `decide_groups` from `columns` before it looks at the next value; the trees are not touched."""
    done = columns.copy()
    new, joins = columns[:, TASK] >= BEGIN, (columns[:, TASK] == JOIN) | (columns[:, TASK] == BEGIN)
    for column in (LENGTH, SUM, TOP):
        done[new, column] = 0
    done[joins, LENGTH] += 1
    done[joins, SUM] += done[joins, LAST]
    done[joins, TOP] = np.maximum(done[joins, TOP], done[joins, LAST])
    done[:, TASK] = NOTHING
    return done


def build_fenwick_trees(value_counts: IntArray, size: int) -> IntArray:
    """Trees of so many values, (keys, 3, size), from how many of each there are, (keys, values)."""
    trees = np.zeros((len(value_counts), 3, size), np.int64)
    trees[:, PLAIN, : value_counts.shape[1]] = value_counts
    place = np.arange(1, size + 1)
    start = place - (place & -place)
    for layer, each in ((NUMBERS, trees[:, PLAIN]), (SUMS, trees[:, PLAIN] * (place - 1))):
        ends = np.concatenate((np.zeros((len(value_counts), 1), np.int64), np.cumsum(each, axis=1)), axis=1)
        trees[:, layer] = ends[:, place] - ends[:, start]
    return trees


KIND = "groups"
LARGEST_SCALE = 2**50
"""So that thresholds and tests, of up to 2,000 times as much, stay far within 64 bits with all noise."""
CHANGE = 2
"""Sensitivity of the deviation of a group to one tuple: less than this."""


class SharedTrees:
    """SECRET: trees over the values of open groups, shared by a state and the one after it: see `GroupingState`."""

    __slots__ = ("tick", "trees")

    def __init__(self, tick: int, trees: IntArray) -> None:
        self.tick, self.trees = tick, trees


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GroupingState:
    """SECRET: exact counts of the groups that are open, and their noisy thresholds.

    Trees are changed in place, and what is kept of the last value is put into them when the next step is taken. So a
    step may be taken again from the same state, as long as none was taken from the state after it.

    Attributes:
        tick: The last tick that was answered.
        columns: See `deviations`, (keys, COLUMNS).
        shared_trees: Trees as they are after this tick, or before its value was put in.
    """

    tick: int
    columns: IntArray
    shared_trees: SharedTrees

    def to_bytes(self) -> bytes:
        """Columns of each key, and rows (key, value, number) of the groups as they are after this tick."""
        facts = {"columns": apply_pending(self.columns), "rows": self._value_rows()}
        encoded = {name: b64encode(array.astype("<i8").tobytes()).decode() for name, array in facts.items()}
        return encode_state(KIND, {"tick": self.tick, **encoded})

    def _value_rows(self) -> IntArray:
        self.require_not_superseded()
        task, last, top = (self.columns[:, column] for column in (TASK, LAST, TOP))
        reach = int(max(top.max(), last.max())) + 1
        plain = self.shared_trees.trees[:, PLAIN, :reach].copy()
        if self.shared_trees.tick < self.tick:
            plain[task >= BEGIN] = 0
            joins = np.flatnonzero((task == JOIN) | (task == BEGIN))
            plain[joins, last[joins]] += 1
        keys, values = np.nonzero(plain)
        return np.stack((keys, values, plain[keys, values]), axis=1)

    def require_not_superseded(self) -> None:
        """Refuse a state that was gone on from by two steps. Raises `ValueError`."""
        if self.shared_trees.tick not in (self.tick, self.tick - 1):
            raise InvalidArgument("state", "two steps were taken from here; restore it from its bytes")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupingState) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Pegasus(QueryMechanism):
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

    query_types = (GroupedTickQuery,)
    display_name = "groups of ticks"
    refusal_template = "{called} are not what {kind} asks"

    def _plan(self, query: GroupedTickQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        level = loss * Fraction(1, query.levels)
        noise = calibrate_noise(query, level * (1 - query.budget_fraction), adjacency)
        price = pure_epsilon(level * query.budget_fraction) / adjacency.l1_sensitivity
        common, own = (require_drawable(Noise(Family.LAPLACE, UNIT * parts * CHANGE / price), loss) for parts in (2, 4))
        if own.parameter > LARGEST_SCALE:
            raise UnsupportedQuery("epsilon, rho", f"{loss} for groups needs more noise than they can be found with")
        threshold = round(UNIT * query.deviation / price)
        law = GroupedCounts(query.nodes, noise, common, own, threshold)
        return Plan(query, loss, adjacency, "noise on every tick, and groups", law, round_error(sqrt(noise.variance)))

    def begin(self, plan: Plan) -> GroupingState:
        """No group is open."""
        keys = plan.law.require_type(GroupedCounts).keys
        return GroupingState(
            0,
            np.zeros((keys, COLUMNS), np.int64),
            SharedTrees(0, build_fenwick_trees(np.zeros((keys, 1), np.int64), 64)),
        )

    def step(
        self, table: ExactTable, tick: int, state: GroupingState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], GroupingState]:
        """Counts, each plus one draw, and behind them what was decided."""
        require_next(tick, state)
        law, table = plan.law.require_type(GroupedCounts), _count_nodes(table, self.require_query(plan))
        counts = add_noise(table, sample_noise(law.noise, law.keys, randomness).tolist())
        values = np.minimum(table, LARGEST).astype(np.int64)
        state.require_not_superseded()
        workshop, largest = state.shared_trees, int(values.max())
        if largest >= workshop.trees.shape[2]:
            workshop.trees = build_fenwick_trees(workshop.trees[:, PLAIN], _tree_size(largest))
        kept = apply_pending(state.columns) if workshop.tick == state.tick else state.columns.copy()
        common, own = (
            sample_noise(noise, law.keys, randomness)[None] for noise in (law.threshold_noise, law.test_noise)
        )
        joined = decide_groups(values[None], law.threshold + common, own, kept, workshop.trees)
        workshop.tick = state.tick
        return (*counts, *joined[0].tolist()), GroupingState(tick, kept, workshop)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> GroupingState:
        """The state that was written."""
        facts = decode_state(KIND, state_bytes)
        kept, rows = (
            np.frombuffer(b64decode(facts[name]), "<i8").astype(np.int64).reshape(-1, width)
            for name, width in (("columns", COLUMNS), ("rows", 3))
        )
        plain = np.zeros((len(kept), int(rows[:, 1].max(initial=0)) + 1), np.int64)
        plain[rows[:, 0], rows[:, 1]] = rows[:, 2]
        tick = int(facts["tick"])
        return GroupingState(tick, kept, SharedTrees(tick, build_fenwick_trees(plain, _tree_size(plain.shape[1] - 1))))


def _count_nodes(table: ExactTable, query: GroupedTickQuery) -> ExactTable:
    """SECRET: counts of aggregations, where the query has them, and of states."""
    if query.forest is None:
        return table
    return np.array(query.forest.count_nodes(table.tolist()), dtype=object)


def _tree_size(largest: int) -> int:
    """A power of two above a value, and 64 at least."""
    return max(64, 1 << largest.bit_length())
