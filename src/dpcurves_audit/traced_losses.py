"""Exact losses of mechanisms whose code runs with replaced draws (`traced_draws`), on tiny neighbouring tables.

They are of mechanisms that release neither plain noisy sums nor a single choice:

- *Medians and areas*: the hyperbolic distance of centres and scales of their Cauchy noise, added up over the cuts.
- *Streams*: all time steps together. Noise of trees, buffers and weighted rows reaches many values; the least noise
  that turns the values of one stream into those of its neighbour is a linear program, or least squares.
- *Groups of steps*: the probability of each sequence of decisions. The noise at which the code decides otherwise is
  found by bisection; given the noise of a threshold, decisions are independent.
- *Categories*: the probability of each set of selected categories and their counts; the epsilon at the claimed delta.
- *Two servers*: the whole protocol, with the noise of one server alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, pairwise, product
from math import ceil, exp, inf, log
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves import mechanisms, queries
from dpcurves.conversation import Plan
from dpcurves.data import Axis, Grid, UnlistedCategories
from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms import missing_reasons, partition_selection
from dpcurves.mechanisms.partition_selection import ThresholdedCategories, UniverseCategories
from dpcurves.noise import discrete_laplace
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss

from .deployments import ADD_REMOVE, EPSILON_ONE, TwoServersSampler
from .neighbouring_datasets import NeighbouringDatasets
from .questions import COLUMN
from .targets import EPSILON_AND_DELTA, GRID_CELLS
from .traced_draws import (
    ORDERS,
    UNUSED_RANDOMNESS,
    ChoicePath,
    ReplacedDraws,
    Table,
    TracedRelease,
    compare_releases,
    find_outcome_distribution,
    find_tails,
    require_secret_source,
)

NamedLoss = tuple[str, PrivacyLoss, Callable[[], float]]
"""The name of a release, the loss that it claims, and the function that returns its largest loss."""
MOST_RECORDS = 3
"""Largest number of records in the enumerated tables of choices; the number of tables grows fast with it."""


def list_traced_losses(loss: PrivacyLoss, neighbours: Neighbours) -> Iterator[NamedLoss]:
    """Yield the exact losses of mechanisms on tables, for one claim and one relation.

    Args:
        loss: Claimed loss.
        neighbours: Add-remove or replace-one.

    Yields:
        Name, claimed loss, and a function that computes the exact loss.
    """
    setting = f"{loss}, {neighbours.value}"
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    find = partial(find_traced_loss, claim=loss, neighbours=neighbours)
    for name, levels, records in (("one noisy median", 1, 5), ("noisy medians", 2, MOST_RECORDS)):
        pairs = tuple(list_tables(GRID_CELLS, neighbours, records))
        median = queries.MedianQuery(axis, levels)
        yield (
            f"{name}: {setting}",
            loss,
            partial(find, mechanisms.NoisyMedians(), median, pairs=pairs, cauchy_outcomes=ALL_EDGES),
        )
    pairs = tuple(list_class_tables(neighbours))
    area = queries.AucQuery((dp.Categories("label", (0, 1)), *axis))
    yield f"noisy area: {setting}", loss, partial(find, mechanisms.NoisyAuc(), area, pairs=pairs)
    pairs = tuple(list_tables(GRID_CELLS, neighbours))
    boxes = queries.WaveletQuery(axis, tuple(range(GRID_CELLS)), (2, 2))
    yield f"wavelets of boxes: {setting}", loss, partial(find, mechanisms.Privelet(), boxes, pairs=pairs)
    yield f"reasons of missing records: {setting}", loss, partial(_find_reasons_loss, loss, neighbours)


def list_tables(cells: int, neighbours: Neighbours, records: int = MOST_RECORDS) -> Iterator[tuple[Table, Table]]:
    """Yield all neighbouring tables of up to `records` records, in both orders; the last cell is missing records.

    Args:
        cells: Number of cells, without the cell of missing records.
        neighbours: Add-remove or replace-one.
        records: Largest number of records; under replace-one, the number of records of each table.
    """

    def count(places: Sequence[int]) -> Table:
        """Return the table of a list of records: the number of records in each cell.

        Args:
            places: Cell of each record.

        Returns:
            Array of shape ``(cells + 1,)``.
        """
        return np.bincount(places, minlength=cells + 1).astype(np.int64)

    for size in range(records):
        for places in combinations_with_replacement(range(cells + 1), size):
            larger = [count([*places, place]) for place in range(cells + 1)]
            if neighbours is ADD_REMOVE:
                for table in larger:
                    yield count(places), table
                    yield table, count(places)
            elif size == records - 1:
                yield from ((one, other) for one in larger for other in larger if one is not other)


def make_adjacency(neighbours: Neighbours) -> Adjacency:
    """Return the adjacency of records, with a public number of them under replace-one.

    Args:
        neighbours: Add-remove or replace-one.
    """
    return neighbours.to_adjacency(EACH_RECORD, MOST_RECORDS if neighbours.has_public_units else None)


ALL_EDGES = tuple(range(GRID_CELLS + 1))
"""Numbers of all edges of a grid, to which noisy medians are rounded; noise that leads outside gives one of them
too."""


def list_class_tables(neighbours: Neighbours) -> Iterator[tuple[Table, Table]]:
    """Yield neighbouring tables of negatives in the lowest cell and positives in the next one, with a further record of
    either class in any cell, or with such a record replaced.

    Args:
        neighbours: Add-remove or replace-one.

    Yields:
        Two tables of two rows of cells, followed by the missing records.
    """
    # 7: up to 6 records of a class; the loss of areas is nearest to the claim where a class has four records
    for negatives, positives in product(range(7), repeat=2):
        table = np.zeros(2 * GRID_CELLS + 1, dtype=np.int64)
        table[0], table[GRID_CELLS + 1] = negatives, positives
        larger = [table + one for one in np.eye(len(table), dtype=np.int64)]
        if neighbours is ADD_REMOVE:
            yield from ((table, one) for one in larger)
        else:
            yield from ((one, other) for one in larger for other in (larger[0], larger[GRID_CELLS + 1]))


def find_traced_loss(
    mechanism: Any,
    query: Any,
    *,
    claim: PrivacyLoss,
    neighbours: Neighbours,
    pairs: Iterable[tuple[Table, Table]],
    cauchy_outcomes: Sequence[int] = (0,),
) -> float:
    """Return the largest exact privacy loss of a mechanism over pairs of neighbouring tables, by tracing its random
    draws.

    Args:
        mechanism: The mechanism.
        query: Query that the mechanism answers.
        claim: The claimed loss.
        neighbours: The neighbouring relation.
        pairs: Neighbouring tables.
        cauchy_outcomes: Integers that Cauchy noise may give.
    """
    plan = mechanism.plan(query, claim, make_adjacency(neighbours))
    return find_largest_loss(
        lambda table: TracedRelease(partial(mechanism.run, table, plan, UNUSED_RANDOMNESS), cauchy_outcomes),
        pairs,
        claim,
    )


def find_largest_loss(
    trace: Callable[[Table], TracedRelease], pairs: Iterable[tuple[Table, Table]], claim: PrivacyLoss
) -> float:
    """Return the largest loss over pairs of tables; each table is traced once.

    Args:
        trace: Function that traces the release from a table.
        pairs: Neighbouring tables.
        claim: Claimed loss.

    Returns:
        The loss in the parameter of the claim.
    """
    traced: dict[bytes, TracedRelease] = {}

    def trace_once(table: Table) -> TracedRelease:
        """Return the traced release of a table; each table is traced at the first call and then cached.

        Args:
            table: Exact counts of the query.
        """
        key = table.tobytes()
        if key not in traced:
            traced[key] = trace(table)
        return traced[key]

    return max(compare_releases(trace_once(left), trace_once(right), claim) for left, right in pairs)


def _find_reasons_loss(claim: PrivacyLoss, neighbours: Neighbours) -> float:
    """Return the exact loss of a histogram that also counts missing records by reason; a table's last cells are the
    reasons.

    Args:
        claim: Claimed loss.
        neighbours: Add-remove or replace-one.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    flat = mechanisms.FlatHistogram()
    query = queries.CountQuery(axis, queries.CountUse.CELLS)
    plan = missing_reasons.add_reasons(flat.plan(query, claim, make_adjacency(neighbours)))

    def run(table: Table) -> list[int]:
        """Return the noisy counts of cells and missing records, then of reasons.

        Args:
            table: Counts of the cells, followed by the counts of missing records by reason.
        """
        reasons = table[GRID_CELLS:]
        values = flat.run(np.append(table[:GRID_CELLS], reasons.sum()), plan, UNUSED_RANDOMNESS)
        return [*values, *missing_reasons.add_noise_to_reasons(reasons, plan, UNUSED_RANDOMNESS)]

    # 1: the cell of one reason; the other one of two reasons takes the cell of missing records
    pairs = list_tables(GRID_CELLS + 1, neighbours)
    return find_largest_loss(lambda table: TracedRelease(partial(run, table)), pairs, claim)


# Streams: all time steps of one stream are one release.

STEPS = 6
"""Time steps of the short streams whose loss is computed."""
LONG_STEPS = 32
"""Time steps of the streams whose loss is computed and that need several levels of a tree, or a stored strategy."""


def list_stream_losses(loss: PrivacyLoss, neighbours: Neighbours) -> Iterator[NamedLoss]:
    """Yield the exact losses of the mechanisms of streams, for one claim and one relation.

    Args:
        loss: Claimed loss.
        neighbours: Add-remove or replace-one.

    Yields:
        Name, claimed loss, and a function that computes the exact loss.
    """
    from dpcurves_streams import mechanisms as streams
    from dpcurves_streams.queries import (
        TUPLE_REASONS,
        Forest,
        GroupedTimeStepQuery,
        HierarchyQuery,
        PrunedQuery,
        TimeStepQuery,
    )

    one, two = (dp.Categories("state", names) for names in (("a",), ("a", "b")))
    forest = Forest.from_json({"all": {"left": list("abcdefgh"), "right": list("ijklmnop")}})
    few = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
    listed: list[tuple[str, Any, Any, int, int]] = [
        ("stream, each step", streams.Perturber(), TimeStepQuery((two,), STEPS), STEPS, 2),
        ("stream, hierarchy", streams.Hierarchy(), HierarchyQuery.from_forest("state", forest, 2), 2, 16),
        ("stream, pruned hierarchy", streams.PrunedHierarchy(), PrunedQuery.from_forest("state", few, 1), 1, 3),
        ("stream, totals by a tree", streams.TreeCounter(), TimeStepQuery((one,), LONG_STEPS), LONG_STEPS, 1),
        ("stream, two totals by a tree", streams.TreeCounter(), TimeStepQuery((two,), STEPS), STEPS, 2),
    ]
    if loss.is_pure:
        listed.append(
            (
                "stream, weighted totals",
                streams.PIdentityCounter(),
                TimeStepQuery((one,), LONG_STEPS),
                LONG_STEPS,
                1,
            )
        )
    else:
        listed.append(
            ("stream, totals by buffers", streams.BufferedCounter(), TimeStepQuery((two,), STEPS), STEPS, 2),
        )
    if neighbours is ADD_REMOVE:
        listed.append(
            (
                "stream, each step and what is not counted",
                streams.WithUncountedTotals(streams.Perturber()),
                TimeStepQuery((one,), STEPS),
                STEPS,
                1 + len(TUPLE_REASONS),
            )
        )
    setting = f"{loss}, {neighbours.value}"
    for name, mechanism, query, steps, cells in listed:
        find = partial(_find_stream_loss, mechanism, query, (steps, cells), loss, neighbours)
        yield f"{name}: {setting}", loss, find
    grouped = GroupedTimeStepQuery((one,), GROUP_STEPS, deviation=Fraction(1, 100))
    find = partial(_find_groups_loss, streams.Pegasus(), grouped, loss, neighbours)
    yield f"stream, groups: {setting}", loss, find


def _find_stream_loss(
    mechanism: Any, query: Any, shape: tuple[int, int], claim: PrivacyLoss, neighbours: Neighbours
) -> float:
    """Return the exact privacy loss of a stream's mechanism: the largest over neighbouring streams, all time steps
    together.

    The neighbours differ in one tuple, in an empty stream or in a stream with one tuple in each cell.

    Args:
        mechanism: Mechanism of the stream.
        query: Query of each step.
        shape: Time steps, and cells of each step.
        claim: The claimed loss.
        neighbours: Add-remove: a tuple is added in any cell; replace-one: it moves to the first or last cell.
    """
    plan = mechanism.plan(query, claim, make_adjacency(neighbours))

    def trace(counts: Table) -> TracedRelease:
        """Return the mechanism's run on a stream, with its draws traced, so that its loss can be computed exactly.

        Args:
            counts: Tuples in each cell of each step, flattened, the cells of a step fastest.
        """
        return TracedRelease(lambda: run_stream(mechanism, plan, counts.reshape(shape)))

    tuples = np.eye(shape[0] * shape[1], dtype=np.int64)
    ends = tuples[:1] if shape[0] == LONG_STEPS else tuples[[0, -1]]
    pairs = []
    for base in (0, 1) if shape[0] < LONG_STEPS else (0,):
        table = np.full(shape[0] * shape[1], base, dtype=np.int64)
        if neighbours is ADD_REMOVE:
            pairs += [(table, table + one) for one in tuples]
        else:
            pairs += [(table + one, table + other) for one in tuples for other in ends]
    return find_largest_loss(trace, pairs, claim)


def run_stream(mechanism: Any, plan: Plan, tables: Table) -> list[int]:
    """Return the released values of all time steps.

    Args:
        mechanism: Mechanism of the stream.
        plan: Plan of the mechanism.
        tables: Exact counts of each step, one step a row.
    """
    state = mechanism.begin(plan)
    values: list[int] = []
    for time_step, table in enumerate(tables, start=1):
        step_values, state = mechanism.step(table, time_step, state, plan, UNUSED_RANDOMNESS)
        values.extend(step_values)
    return values


GROUP_STEPS = 5
"""Time steps of streams whose groups are enumerated: a tuple changes the deviation of a group by 1.6 at most."""
WIDEST_NOISE = 40
"""Noise, in units of its scale, beyond which probabilities are not summed; they are below 1e-17 in all."""
Decisions = tuple[int, ...]


def _find_groups_loss(mechanism: Any, query: Any, claim: PrivacyLoss, neighbours: Neighbours) -> float:
    """Return the larger of the exact loss on short streams and the loss in the proof, of grouped steps with noisy
    counts.

    The noise of counts is independent of decisions, so the losses of both add up. A group of a few steps loses less
    than a long one. For the loss of decisions, the loss in the mechanism's proof is used as well: a tuple changes a
    deviation by `DEVIATION_CHANGE`, a threshold that is larger by as much outweighs it in all steps that join, and
    twice as much noise of one test outweighs both in the step that does not.

    Args:
        mechanism: The mechanism of groups.
        query: Query of each step, of a single count.
        claim: Claimed loss.
        neighbours: Add-remove or replace-one.

    Returns:
        The loss; infinite if the noise depends on the stream.
    """
    from dpcurves_streams.mechanisms.pegasus import DEVIATION_CHANGE, LATTICE_UNITS_PER_TUPLE

    plan = mechanism.plan(query, claim, make_adjacency(neighbours))
    find_once = cache(lambda counts: find_group_probabilities(mechanism, plan, counts))
    bases = [(0,) * GROUP_STEPS, (1,) * GROUP_STEPS, (0,) * (GROUP_STEPS - 1) + (2,)]
    streams: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for base in bases:
        larger = [tuple(count + (step == place) for step, count in enumerate(base)) for place in range(GROUP_STEPS)]
        if neighbours is ADD_REMOVE:
            streams += [(base, stream) for stream in larger]
        else:
            streams += [(stream, other) for stream in larger for other in (larger[0], larger[-1]) if stream != other]
    if any(find_once(stream)[1] != find_once(bases[0])[1] for pair in streams for stream in pair):
        return inf
    ((counted, threshold, tested),) = find_once(bases[0])[1]
    tuples = 1 if neighbours is ADD_REMOVE else 2
    change = tuples * LATTICE_UNITS_PER_TUPLE * DEVIATION_CHANGE
    proven = change / float(threshold.parameter) + 2 * change / float(tested.parameter)
    if claim.epsilon is not None:
        if counted.family is not Family.LAPLACE:
            return inf
        decided = max(
            abs(log(find_once(left)[0][key]) - log(find_once(right)[0][key]))
            for left, right in streams
            for key in find_once(left)[0]
        )
        return max(decided, proven) + tuples / float(counted.parameter)
    decided = max(
        log(sum(ours[key] ** order * theirs[key] ** (1 - order) for key in ours)) / (order * (order - 1))
        for left, right in streams
        for ours, theirs in ((find_once(left)[0], find_once(right)[0]), (find_once(right)[0], find_once(left)[0]))
        for order in ORDERS
    )
    return max(decided, proven**2 / 2) + tuples / (2 * float(counted.parameter))


def find_group_probabilities(
    mechanism: Any, plan: Plan, counts: Sequence[int]
) -> tuple[dict[Decisions, float], set[tuple[Noise, ...]]]:
    """Return the exact probabilities of all group decisions of a stream, and the noise that each step draws.

    The mechanism joins each time step to the open group or begins a new group, by noisy comparisons with a threshold.

    Args:
        mechanism: The mechanism of groups.
        plan: Plan of the mechanism, of a single count.
        counts: The exact count of each step.

    Returns:
        Probability of each sequence of decisions; and the set of the steps' noise distributions: of a step's count,
        threshold and test.
    """
    noises: set[tuple[Noise, ...]] = set()
    probabilities: dict[Decisions, float] = {}

    def step(number: int, state: bytes, test_noise: int) -> tuple[bool, bytes, list[Noise]]:
        """Run one step of the stream with a given noise of its test; return whether the step joins the open group.

        Args:
            number: Index of the step, from 0.
            state: State of the mechanism before the step.
            test_noise: Integer in the place of the noise of the test; other noise is 0.

        Returns:
            Whether the step joins the group, the state after the step, and the distributions of all noise that was
            drawn.
        """
        draws = ReplacedDraws(ChoicePath(), [0, 0, test_noise])
        with draws.replace():
            values, after = mechanism.step(
                np.array([counts[number]]), number + 1, mechanism.restore_state(state, plan), plan, UNUSED_RANDOMNESS
            )
        if values[0] != counts[number]:
            raise AssertionError("counts must be released with one draw each")
        return bool(values[1]), after.to_bytes(), draws.noises

    def enumerate_decisions(
        number: int, state: bytes, decisions: Decisions, weights: NDArray[np.float64] | None
    ) -> None:
        """Enumerate all sequences of decisions that continue a given state, and store the probability of each complete
        sequence.

        Args:
            number: Index of the step, from 0.
            state: State of the mechanism before the step.
            decisions: Decisions of the steps so far: 1 if the step joined the open group, 0 if it began a group.
            weights: Distribution of the noise of the open group's threshold, times the probability of the decisions;
                None if no group is open.
        """
        if number == len(counts):
            probabilities[decisions] = 1.0 if weights is None else float(weights.sum())
            return
        low, high = -(2**20), 2**20  # test noise that certainly joins, and that certainly does not
        joins, after, step_noises = step(number, state, low)
        noises.add(tuple(step_noises))
        _, threshold_noise, tested = step_noises
        scale = float(threshold_noise.parameter)
        common = np.arange(-ceil(WIDEST_NOISE * scale), ceil(WIDEST_NOISE * scale) + 1)
        if not joins:  # the step begins a group, with a new threshold
            begun = np.exp(-abs(common) / scale) * np.tanh(0.5 / scale)
            total = 1.0 if weights is None else float(weights.sum())
            enumerate_decisions(number + 1, after, (*decisions, 0), begun * total)
            return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if step(number, state, middle)[0] else (low, middle)
        closes = find_tails(tested, high + common)
        if weights is None:
            raise AssertionError("a step must not be tested without an open group")
        enumerate_decisions(number + 1, step(number, state, low)[1], (*decisions, 1), weights * (1 - closes))
        closed = np.zeros_like(weights)
        closed[0] = float((weights * closes).sum())
        enumerate_decisions(number + 1, step(number, state, high)[1], (*decisions, 0), closed)

    enumerate_decisions(0, mechanism.begin(plan).to_bytes(), (), None)
    return probabilities, noises


# Partition selection, randomised responses and two servers.


def list_other_losses(neighbours: Neighbours) -> Iterator[NamedLoss]:
    """Yield the exact losses of partition selection, with a delta and in a universe, for one relation.

    Args:
        neighbours: Add-remove or replace-one.

    Yields:
        Name, claimed loss, and a function that computes the exact loss.
    """
    name = f"name search: {EPSILON_AND_DELTA}, {neighbours.value}"
    yield name, EPSILON_AND_DELTA, partial(_find_categories_loss, EPSILON_AND_DELTA, neighbours)
    yield (
        f"names of a universe: {EPSILON_ONE}, {neighbours.value}",
        EPSILON_ONE,
        partial(_find_universe_loss, EPSILON_ONE, neighbours),
    )


MANY_UNITS = 10
"""Units of a category that is often selected, and whose count reveals more than delta allows."""


def _find_categories_loss(claim: PrivacyLoss, neighbours: Neighbours) -> float:
    """Return the exact epsilon at the claimed delta of partition selection with two categories, of few and of many
    units.

    Args:
        claim: Claimed loss, with a delta.
        neighbours: Add-remove or replace-one.
    """
    query = queries.PartitionSelectionQuery((UnlistedCategories("name"),))
    mechanism = ThresholdedCategories()
    plan = mechanism.plan(query, claim, make_adjacency(neighbours))

    @cache
    def find_distribution(units: tuple[int, int]) -> dict[Any, float]:
        """Return the probability of each outcome of partition selection on a table of two categories.

        Args:
            units: Number of units of each of the two categories.

        Returns:
            Probability by outcome.
        """
        rows = [(name, count) for name, count in zip((b"a", b"b"), units, strict=True) if count]
        table = np.array(rows, dtype=object).reshape(-1, 2)
        return find_outcome_distribution(lambda: mechanism.run(table, plan, UNUSED_RANDOMNESS))

    tables = list(product((0, 1, 2, MANY_UNITS, MANY_UNITS + 1), repeat=2))
    moves = [(1, 0), (0, 1)] if neighbours is ADD_REMOVE else [(1, -1)]
    pairs = [
        (table, (table[0] + move[0], table[1] + move[1]))
        for table in tables
        for move in moves
        if (table[0] + move[0], table[1] + move[1]) in tables
    ]
    return max(
        find_epsilon_at_delta(find_distribution(one), find_distribution(other), float(claim.delta))
        for pair in pairs
        for one, other in (pair, pair[::-1])
    )


def find_epsilon_at_delta(left: dict[Any, float], right: dict[Any, float], delta: float) -> float:
    """Return the least epsilon at which the left distribution exceeds the right one by at most delta.

    Args:
        left: Probability of each outcome with the one data set.
        right: Probability of each outcome with the other.
        delta: The claimed delta; rounding errors of a relative 1e-9 are forgiven.

    >>> round(find_epsilon_at_delta({1: 0.75, 2: 0.25}, {1: 0.5, 2: 0.5}, 0.1), 3)  # log(0.65 / 0.5)
    0.262
    """
    low, high = 0.0, 64.0

    def excess(epsilon: float) -> float:
        """Return the smallest delta for which two outcome distributions are (epsilon, delta)-indistinguishable, in one
        direction.
        """
        return sum(max(0.0, chance - exp(epsilon) * right.get(outcome, 0.0)) for outcome, chance in left.items())

    if excess(high) > delta * (1 + 1e-9):
        return inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) <= delta * (1 + 1e-9) else (middle, high)
    return low


WIDEST_COUNT = 12
"""Units of noise: larger noise counts as this, and larger released counts as two less, which reveals nothing more."""


class UniverseDraws:
    """Choices in the place of the draws of `UniverseCategories`.

    Attributes:
        path: The choices of this run.
    """

    def __init__(self, path: ChoicePath) -> None:
        self.path = path

    def sample_laplace(self, scale: Fraction, size: int, randomness: Randomness) -> Table:
        """Return discrete Laplace noise of the traced path, cut at `WIDEST_COUNT`, each integer with its exact
        probability.

        Args:
            scale: The scale.
            size: Number of integers.
            randomness: Without effect.
        """
        noise = Noise(Family.LAPLACE, scale)
        above = find_tails(noise, np.arange(-WIDEST_COUNT + 1, WIDEST_COUNT + 1))
        probabilities = (-np.diff(np.concatenate(([1.0], above, [0.0])))).tolist()
        return np.array([self.path.choose(probabilities) - WIDEST_COUNT for _ in range(size)], dtype=np.int64)

    def sample_by_inversion(self, distribution: Any, randomness: Randomness) -> int:
        """Return the next outcome of the traced path in the place of a random draw, with the distribution's
        probability.

        Args:
            distribution: The distribution.
            randomness: Without effect.
        """
        brackets, _ = distribution.weights(64)
        weights = np.array([float(low) for low, _ in brackets])
        return self.path.choose((weights / weights.sum()).tolist())

    @contextmanager
    def replace(self) -> Iterator[None]:
        """Replace the samplers of partition selection by the path's choices until the end of the block, to enumerate
        outcomes.
        """

        def sample_distinct(count: int, bound: int, randomness: Randomness) -> list[int]:
            """Choose `count` different numbers below `bound` as the next choice of the traced path, all subsets equally
            likely.

            Args:
                count: Number of integers, at most `bound`.
                bound: Number of integers to choose from.
                randomness: Source of random bits; without effect.
            """
            chosen = list(combinations(range(bound), count))
            return list(chosen[self.path.choose([1 / len(chosen)] * len(chosen))])

        with (
            patch.object(discrete_laplace, "sample", require_secret_source(self.sample_laplace)),
            patch.object(partition_selection, "sample_by_inversion", require_secret_source(self.sample_by_inversion)),
            patch.object(partition_selection, "_sample_distinct", require_secret_source(sample_distinct)),
        ):
            yield


def _find_universe_loss(claim: PrivacyLoss, neighbours: Neighbours) -> float:
    """Return the exact privacy loss of partition selection in a universe of one name, with at most four units.

    Names have independent noise; under replace-one, a unit can change two names, so the loss of one name is doubled.

    Args:
        claim: Claimed loss.
        neighbours: Add-remove or replace-one.
    """
    universe = dp.TextUniverse("x", 1)
    query = queries.UniverseSelectionQuery((UnlistedCategories("name", universe=universe),))
    mechanism = UniverseCategories()
    plan = mechanism.plan(query, claim, make_adjacency(neighbours))

    def find_distribution(units: int) -> dict[Any, float]:
        """Return the exact probability of each outcome of partition selection in a universe, for one name with `units`
        units.

        Args:
            units: Number of units of the only name.

        Returns:
            Probability by outcome: the released integers after the first, each at most ``WIDEST_COUNT - 2``.
        """
        table = np.array([(b"x", units)] if units else [], dtype=object).reshape(-1, 2)
        return find_outcome_distribution(
            lambda: tuple(
                min(number, WIDEST_COUNT - 2) for number in mechanism.run(table, plan, UNUSED_RANDOMNESS)[1:]
            ),
            UniverseDraws,
        )

    distributions = [find_distribution(units) for units in range(3)]
    largest = max(
        abs(log(left[outcome]) - log(right[outcome])) if outcome in left and outcome in right else inf
        for left, right in pairwise(distributions)
        for outcome in {**left, **right}
    )
    return largest * (1 if neighbours is ADD_REMOVE else 2)


def find_two_servers_loss(sampler: TwoServersSampler, family: NeighbouringDatasets, claim: PrivacyLoss) -> float:
    """Return the largest loss of the values of two servers against one of them, which knows its own noise.

    Args:
        sampler: The protocol.
        family: Neighbouring data sets.
        claim: The claimed loss.
    """

    def trace(data: Any, known_half: int) -> TracedRelease:
        """Return the traced values of both servers, of which one knows its own noise.

        Args:
            data: Data set of the pair.
            known_half: Server that knows its own noise, 0 or 1.
        """
        return TracedRelease(lambda: _list_integers(sampler.draw(data, 1)[0]), known_half=known_half)

    return max(
        compare_releases(trace(pair.left, server), trace(pair.right, server), claim)
        for pair in family.pairs
        for server in (0, 1)
    )


def _list_integers(values: NDArray[np.float64]) -> list[int]:
    """Return the released values, which are whole numbers, as integers.

    Args:
        values: Whole numbers as doubles.
    """
    return [int(value) for value in values]
