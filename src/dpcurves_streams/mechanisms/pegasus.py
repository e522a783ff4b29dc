"""PeGaSus: noisy counts of a stream at every time step, and groups of successive steps with similar counts.

Counts that change slowly can be averaged over a group of steps, which reduces their noise. Which steps are similar must
itself be found privately. At every step and for each key (one of the counts, such as a ward's), with the deviation
``dev(G) = sum over steps of |count - mean|`` of a group G of steps:

    Perturber     releases the count of the step plus independent noise
    Grouper       the step joins the open group G if    dev(G with the step) + noise < noisy threshold of G
                  else it closes G, and is a closed group by itself

Decisions are sparse-vector tests: a group pays for its threshold and for the one step that does not join, however many
steps join. The averages over a group are functions of released numbers, so they lose nothing (`readings.groups`).
`decide_groups` finds a deviation in logarithmic time in the largest count (Fenwick trees).

Formal guarantees: the Grouper loses its fraction of the epsilon, the Perturber the rest; proof at `Pegasus`. Later
tuples of the stream may depend on earlier releases.

References: Chen, Machanavajjhala, Hay and Miklau 2017; Chen 2018, Algorithms 15 and 16 and Theorems 15 to 19.

>>> value_counts = np.array([[0, 2, 1, 0]])  # two steps of an open group have the count 1, one has the count 2
>>> build_fenwick_trees(value_counts, 4)[0, [NUMBERS, SUMS]].tolist()
[[0, 2, 1, 3], [0, 2, 2, 4]]
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import IntArray, compile_loop
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import Family, Noise
from dpcurves.distributions.output_distribution import round_error
from dpcurves.mechanisms.base import ExactTable, QueryMechanism
from dpcurves.mechanisms.exponential import pure_epsilon
from dpcurves.mechanisms.linear import calibrate_noise, require_drawable, sample_noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss

from ..distributions import GroupedCounts
from ..queries import GroupedTimeStepQuery
from .hierarchy import add_noise
from .sequential import decode_state, encode_state, require_next

# Absolute deviations of growing groups from their mean, by Fenwick trees over values: a loop over SECRET counts.
LATTICE_UNITS_PER_TUPLE = 16
"""Number of lattice units in a tuple: deviations are rounded down to multiples of 1/16 tuple, so that all numbers are
integers. More round less."""
LARGEST_GROUPED_COUNT = 2**16 - 1
"""Largest count for grouping; larger counts are clipped to it, which bounds the size of the trees."""
LONGEST_GROUP = 2**18
"""Steps after which a group is closed, so that products of lengths and sums fit into 64 bits."""
NOTHING, JOIN, BEGIN, CLOSE = range(4)
"""Pending action on the last value of a key: none, join its group, begin a group, close its group."""
LENGTH, SUM, TOP, LAST, TASK, OPEN, THRESHOLD = range(7)
"""Columns of a key's state: length, sum and largest value of its group; the last value and its pending action; whether
the group is open; its noisy threshold."""
STATE_COLUMNS = 7
"""Columns of the array that holds the state of a key's group."""
NUMBERS, SUMS, PLAIN = range(3)
"""Layers of a group's trees: Fenwick tree of numbers by value, Fenwick tree of sums, and plain numbers."""


@compile_loop
def decide_groups(
    values: IntArray, thresholds: IntArray, test_noise: IntArray, columns: IntArray, trees: IntArray
) -> IntArray:
    """Decide for each step and key whether its value joins the open group (1) or not (0), (time_steps, keys).

    A value after a closed group begins a new group, without a test, with a new threshold. Any other value is tested
    once: it joins if the group's deviation with it, plus independent noise, is below the threshold; else it closes the
    group and forms a closed group by itself (Chen 2018, Algorithm 16). The group is updated when the next step comes;
    until then the trees are unchanged.

    The deviation ``sum(|c - mean|)`` of n values with sum s is ``2 * (s * below - n * sum_below) / n``, where below and
    sum_below are the number and the sum of the values up to the mean. Fenwick trees look these up in logarithmic time.

    Args:
        values: Counts from 0, below the size of the trees, (time_steps, keys).
        thresholds: Noisy thresholds, on the lattice, for groups that begin at a step, (time_steps, keys).
        test_noise: Noise of the tests, on the lattice, (time_steps, keys).
        columns: State, (keys, STATE_COLUMNS); changed in place.
        trees: Trees, (keys, 3, size), where size is a power of two; changed in place.

    Returns:
        Decisions, (time_steps, keys): 1 where the value joins the open group, else 0.
    """
    joined = np.zeros(values.shape, np.int64)
    size = trees.shape[2]
    for time_step in range(values.shape[0]):
        for key in range(values.shape[1]):
            row = columns[key]
            tree = trees[key]
            pending = row[TASK]
            last = row[LAST]
            value = values[time_step, key]
            if pending >= BEGIN:
                index = row[TOP] + 1
                tree[:, :index] = 0
                while index <= size:  # ancestors that cover a cleared value
                    tree[:, index - 1] = 0
                    index += index & -index
                row[LENGTH] = row[SUM] = row[TOP] = 0
            if pending in (JOIN, BEGIN):
                row[LENGTH] += 1
                row[SUM] += last
                row[TOP] = max(row[TOP], last)
                tree[PLAIN, last] += 1
                index = last + 1
                while index <= size:
                    tree[NUMBERS, index - 1] += 1
                    tree[SUMS, index - 1] += last
                    index += index & -index
            row[LAST] = value
            if row[OPEN] == 0:
                row[TASK], row[OPEN], row[THRESHOLD] = BEGIN, 1, thresholds[time_step, key]
                continue
            length = row[LENGTH] + 1
            total = row[SUM] + value
            mean = total // length
            below, sum_below = (1, value) if value <= mean else (0, 0)
            index = min(mean + 1, size)
            while index > 0:
                below += tree[NUMBERS, index - 1]
                sum_below += tree[SUMS, index - 1]
                index -= index & -index
            deviation = 2 * LATTICE_UNITS_PER_TUPLE * (total * below - length * sum_below) // length
            joins = length <= LONGEST_GROUP and deviation + test_noise[time_step, key] < row[THRESHOLD]
            row[TASK], row[OPEN], joined[time_step, key] = JOIN if joins else CLOSE, joins, joins
    return joined


def apply_pending(columns: IntArray) -> IntArray:
    """SECRET: return the state of the open groups with the last step's values added, which `decide_groups` defers.

    The Fenwick trees are not changed.

    Args:
        columns: State of `decide_groups`, (keys, STATE_COLUMNS).

    Returns:
        A new array of this shape, in which no action is pending.
    """
    updated = columns.copy()
    begins = columns[:, TASK] >= BEGIN
    joins = (columns[:, TASK] == JOIN) | (columns[:, TASK] == BEGIN)
    for column in (LENGTH, SUM, TOP):
        updated[begins, column] = 0
    updated[joins, LENGTH] += 1
    updated[joins, SUM] += updated[joins, LAST]
    updated[joins, TOP] = np.maximum(updated[joins, TOP], updated[joins, LAST])
    updated[:, TASK] = NOTHING
    return updated


def build_fenwick_trees(value_counts: IntArray, size: int) -> IntArray:
    """Build the Fenwick trees of groups from how often each value occurs in them.

    Args:
        value_counts: Number of steps with each value 0, 1, ..., (keys, values).
        size: Number of values in the trees, a power of two, at least the number of values.

    Returns:
        The layers `NUMBERS`, `SUMS` and `PLAIN` of each key, (keys, 3, size).
    """
    trees = np.zeros((len(value_counts), 3, size), np.int64)
    trees[:, PLAIN, : value_counts.shape[1]] = value_counts
    index = np.arange(1, size + 1)
    before = index - (index & -index)
    for layer, numbers in ((NUMBERS, trees[:, PLAIN]), (SUMS, trees[:, PLAIN] * (index - 1))):
        ends = np.concatenate((np.zeros((len(value_counts), 1), np.int64), np.cumsum(numbers, axis=1)), axis=1)
        trees[:, layer] = ends[:, index] - ends[:, before]
    return trees


KIND = "groups"
"""Name of this mechanism in stored states; a state of another name is refused."""
DEVIATION_CHANGE = 2
"""Bound on the change of a group's deviation, in tuples, when one tuple is added or removed (Lemma 16)."""


class SharedTrees:
    """SECRET: trees over the values of open groups, shared by a state and its successor, as copies would be slow.

    Attributes:
        time_step: Number of the last step whose value is in the trees.
        trees: The trees, (keys, 3, size); changed in place.
    """

    __slots__ = ("time_step", "trees")

    def __init__(self, time_step: int, trees: IntArray) -> None:
        self.time_step = time_step
        self.trees = trees


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GroupingState:
    """SECRET: exact counts of the open groups, and their noisy thresholds.

    Trees are changed in place, and the last value is inserted when the next step is taken. So a step may be repeated
    from the same state, as long as no step was taken from its successor.

    Attributes:
        time_step: Last step that was released.
        columns: State of `decide_groups`, (keys, STATE_COLUMNS).
        shared_trees: Trees after this step, or before its value was inserted.
    """

    time_step: int
    columns: IntArray
    shared_trees: SharedTrees

    def to_bytes(self) -> bytes:
        """SECRET: return the state as bytes: the columns of each key, and the values in the open groups.

        Raises:
            ValueError: Two steps were taken after this state, so that the shared trees have changed.
        """
        arrays = {"columns": apply_pending(self.columns), "rows": self._value_rows()}
        encoded = {name: b64encode(array.astype("<i8").tobytes()).decode() for name, array in arrays.items()}
        return encode_state(KIND, {"time_step": self.time_step, **encoded})

    def _value_rows(self) -> IntArray:
        """SECRET: return how often each value occurs in the open group of each key after this step, to store the state.

        Returns:
            Rows of key, value, and number of steps of the key's group with this value, (rows, 3).
        """
        self.require_not_superseded()
        task, last, top = (self.columns[:, column] for column in (TASK, LAST, TOP))
        reach = int(max(top.max(), last.max())) + 1
        plain = self.shared_trees.trees[:, PLAIN, :reach].copy()
        if self.shared_trees.time_step < self.time_step:
            plain[task >= BEGIN] = 0
            joins = np.flatnonzero((task == JOIN) | (task == BEGIN))
            plain[joins, last[joins]] += 1
        keys, values = np.nonzero(plain)
        return np.stack((keys, values, plain[keys, values]), axis=1)

    def require_not_superseded(self) -> None:
        """Check that this state can still be used: at most one step was taken after it.

        Successive states share Fenwick trees, which later steps change.

        Raises:
            ValueError: Two steps were taken after this state.
        """
        if self.shared_trees.time_step not in (self.time_step, self.time_step - 1):
            raise InvalidArgument(
                "state",
                "two steps were taken after this state, which keeps the last step alone; restore it from bytes "
                "of to_bytes",
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupingState) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Pegasus(QueryMechanism):
    """Release a noisy count of each step and key, and whether it joins the group before it (Chen 2018, Algorithm 15).

    The Grouper has the query's budget fraction of the loss, the Perturber the rest.

    Formal guarantees: *Perturber*: see `Perturber`. *Grouper* (Theorem 17): add or remove one tuple at step s of a key.
    Decisions before s do not depend on it. At s it is in one group, or in the step that closes one; later groups have
    other steps and fresh thresholds, and it is tested in none of them. Decisions of its group are a run of steps that
    join and at most one that does not. The deviation of integers changes by less than 2 if one of them changes by 1
    (Lemma 16); rounded down to multiples of ``1 / LATTICE_UNITS_PER_TUPLE``, by at most 2. On the other side, let the
    threshold be 2 larger: this costs ``2 / b``, where b is the scale of its noise. Steps that joined still join, as
    their deviation rose by at most 2, at no cost, however many they are. The step that did not join still does not if
    the noise of its test is 4 larger: this costs ``4 / d``, where d is the scale of that noise. With ``b = 4 /
    epsilon`` and ``d = 8 / epsilon`` both together cost epsilon. Integrating over all thresholds gives the ratio of the
    probabilities. A group of `LONGEST_GROUP` steps closes regardless of its values, which costs no budget. Counts are
    clipped to `LARGEST_GROUPED_COUNT` for grouping, which does not raise the sensitivity. Later counts may depend on
    releases, so the proof holds for streams chosen after releases. Both releases together: Theorem 15. Several tuples
    multiply the cost (group privacy), so scales are multiplied by ``adjacency.l1_sensitivity``.

    Under a zero-concentrated loss the Grouper has the epsilon whose rho is its fraction.

    *Aggregations* of states (Theorem 19): nodes of one level are disjoint, a tuple is in at most one node of each
    level, and each level has an equal part of the loss for a separate release.
    """

    query_types = (GroupedTimeStepQuery,)
    display_name = "groups of time steps"
    refusal_template = "{called} are not what {kind} asks"

    def _plan(self, query: GroupedTimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of noisy counts, and of private decisions by which steps with similar counts are grouped.

        Only public facts are used.

        Args:
            query: The counts of each time step, and the Grouper's budget fraction.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation.

        Raises:
            UnsupportedQuery: The noise of grouping would exceed its largest scale.
        """
        level_loss = loss * Fraction(1, query.levels)
        noise = calibrate_noise(query, level_loss * (1 - query.budget_fraction), adjacency)
        tuple_epsilon = pure_epsilon(level_loss * query.budget_fraction) / adjacency.l1_sensitivity
        threshold_noise, test_noise = (
            require_drawable(
                Noise(Family.LAPLACE, LATTICE_UNITS_PER_TUPLE * factor * DEVIATION_CHANGE / tuple_epsilon), loss
            )
            for factor in (2, 4)
        )
        # 2**50 lattice units: largest noise scale, so that thresholds and tests, up to 2,000 times as large, stay
        # within 64 bits
        if test_noise.parameter > 2**50:
            raise UnsupportedQuery(
                "epsilon, rho",
                f"{loss} is too small for grouping, because its noise would hide all groups;"
                " give a larger loss, or choose another mechanism",
            )
        threshold = round(LATTICE_UNITS_PER_TUPLE * query.deviation / tuple_epsilon)
        distribution = GroupedCounts(query.nodes, noise, threshold_noise, test_noise, threshold)
        return Plan(
            query,
            loss,
            adjacency,
            "noise on every time step, and groups",
            distribution,
            round_error(sqrt(noise.variance)),
        )

    def begin(self, plan: Plan) -> GroupingState:
        """Return the state before the first step, without open groups.

        Args:
            plan: Plan of the stream.
        """
        keys = plan.distribution.require_type(GroupedCounts).keys
        return GroupingState(
            0,
            np.zeros((keys, STATE_COLUMNS), np.int64),
            SharedTrees(0, build_fenwick_trees(np.zeros((keys, 1), np.int64), 64)),
        )

    def step(
        self, table: ExactTable, time_step: int, state: GroupingState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], GroupingState]:
        """Release one time step: noisy counts, and whether each joins the group before it.

        Args:
            table: SECRET. Exact counts of the time step.
            time_step: Number of the time step, from 1.
            state: SECRET. State after the step before.
            plan: Plan of the stream.
            randomness: Source of the noise.

        Returns:
            The noisy count of each key, then the decision of each key (1: joins, 0: does not); and the state after this
            step, which is SECRET.

        Raises:
            ValueError: The state belongs to another step, or two steps were taken after it.
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(GroupedCounts)
        table = _count_nodes(table, self.require_query(plan))
        counts = add_noise(table, sample_noise(distribution.noise, distribution.keys, randomness).tolist())
        values = np.minimum(table, LARGEST_GROUPED_COUNT).astype(np.int64)
        state.require_not_superseded()
        shared = state.shared_trees
        largest = int(values.max())
        if largest >= shared.trees.shape[2]:
            shared.trees = build_fenwick_trees(shared.trees[:, PLAIN], _tree_size(largest))
        columns = apply_pending(state.columns) if shared.time_step == state.time_step else state.columns.copy()
        threshold_noise, test_noise = (
            sample_noise(noise, distribution.keys, randomness)[None]
            for noise in (distribution.threshold_noise, distribution.test_noise)
        )
        joined = decide_groups(
            values[None], distribution.threshold + threshold_noise, test_noise, columns, shared.trees
        )
        shared.time_step = state.time_step
        return (*counts, *joined[0].tolist()), GroupingState(time_step, columns, shared)

    def restore_state(self, state_bytes: bytes, plan: Plan) -> GroupingState:
        """Return the state from bytes that `GroupingState.to_bytes` wrote, with its trees rebuilt.

        Args:
            state_bytes: SECRET. The bytes.
            plan: Not used.

        Raises:
            ValueError: The bytes are not of such a state.
        """
        fields = decode_state(KIND, state_bytes)
        columns, rows = (
            np.frombuffer(b64decode(fields[name]), "<i8").astype(np.int64).reshape(-1, width)
            for name, width in (("columns", STATE_COLUMNS), ("rows", 3))
        )
        plain = np.zeros((len(columns), int(rows[:, 1].max(initial=0)) + 1), np.int64)
        plain[rows[:, 0], rows[:, 1]] = rows[:, 2]
        time_step = int(fields["time_step"])
        return GroupingState(
            time_step, columns, SharedTrees(time_step, build_fenwick_trees(plain, _tree_size(plain.shape[1] - 1)))
        )


def _count_nodes(table: ExactTable, query: GroupedTimeStepQuery) -> ExactTable:
    """SECRET: return the exact counts of all nodes that are grouped: aggregations, if the query has any, then states.

    Args:
        table: Exact counts of states.
        query: The query, whose `forest` has sums of states (aggregations); None: counts of states alone.
    """
    if query.forest is None:
        return table
    return np.array(query.forest.count_nodes(table.tolist()), dtype=object)


def _tree_size(largest: int) -> int:
    """Return the number of values that a Fenwick tree must hold: the smallest power of two above `largest`, at least
    64.

    Args:
        largest: Largest value, a nonnegative integer.
    """
    return max(64, 1 << largest.bit_length())
