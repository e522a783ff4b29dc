"""What streams lose, through the steps themselves: tuples anywhere in time that move anywhere, and long horizons.

Draws are replaced by known ones. So what is tested is what a step does with its noise, not what its distribution says
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import lcm
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, IntArray, time_steps

from dpcurves.conversation import Plan
from dpcurves.distributions import Family, Noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves_streams.distributions import LATTICE_BITS, Block, BufferedPrefixes, PrefixTree, TreeCounts
from dpcurves_streams.mechanisms import (
    BufferedCounter,
    Hierarchy,
    Perturber,
    Sequential,
    TreeCounter,
    hierarchy,
)
from dpcurves_streams.mechanisms import (
    counters as buffered_counter,
)
from dpcurves_streams.mechanisms import (
    counters as tree_counter,
)
from dpcurves_streams.mechanisms import (
    hierarchy as perturber,
)
from dpcurves_streams.mechanisms.counters import (
    WORD_BITS,
    TreeCounterState,
    choose_buffers,
    sample_block_noise,
    squared_sensitivity,
    weigh_steps,
)
from dpcurves_streams.queries import Forest, HierarchyQuery, TimeStepQuery

ANY, ONE = Randomness.from_seed(0), AddRemove(EACH_RECORD)
LOSSES = [PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3")]
FOREST = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})


@contextmanager
def known(noise: int) -> Iterator[list[Noise]]:
    """All draws are `noise`; the distribution of each is remembered."""
    asked: list[Noise] = []

    def draws(distribution: Noise, size: int, randomness: Randomness) -> IntArray:
        asked.extend([distribution] * size)
        return np.full(size, noise, dtype=np.int64)

    with (
        patch.object(perturber, "sample_noise", draws),
        patch.object(hierarchy, "sample_noise", draws),
        patch.object(buffered_counter, "sample_noise", draws),
    ):
        yield asked


def told(mechanism: Sequential[Any], plan: Plan, stream: IntArray, noise: int = 0) -> tuple[list[int], list[Noise]]:
    """All that is released of a stream, and the distribution of the one draw that each number has."""
    shown: list[int] = []
    with known(noise) as asked:
        state = mechanism.begin(plan)
        for time_step, table in enumerate(stream, start=1):
            values, state = mechanism.step(table, time_step, state, plan, ANY)
            shown += values
    return shown, asked


def moves(cells: int, adjacency: Adjacency) -> IntArray:
    """How counts of all steps and states change where the tuples of a unit come, wherever; or where others go, too."""
    some = [
        np.bincount(places, minlength=cells)
        for number in range(adjacency.unit.records + 1)
        for places in combinations_with_replacement(range(cells), number)
    ]
    came = np.array(some, dtype=np.int64)
    if not isinstance(adjacency, ReplaceOne):
        return came
    return np.unique((came[:, None] - came[None]).reshape(-1, cells), axis=0)


def worst(shifts: IntArray, distributions: Sequence[Noise]) -> Fraction:
    """The most that any of these shifts costs: closed forms of integer noises, in fractions."""
    parts = [
        distribution.parameter if distribution.family is Family.LAPLACE else 2 * distribution.parameter
        for distribution in distributions
    ]
    over = lcm(*(part.numerator for part in parts))
    weights = np.array([over // part.numerator * part.denominator for part in parts], dtype=object)
    sizes = np.abs(shifts) if distributions[0].family is Family.LAPLACE else np.square(shifts)
    return Fraction(int(max(sizes.astype(object).dot(weights))), over)


def claimed(loss: PrivacyLoss) -> Fraction:
    return loss.rho if loss.epsilon is None else loss.epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("mechanism", [Perturber(), Hierarchy()], ids=lambda each: type(each).__name__)
def test_tuples_that_come_and_move_anywhere_within_four_time_steps_cost_what_is_claimed(
    mechanism: Sequential[Any], adjacency: Adjacency
) -> None:
    """Numbers are sums of counts, each with its one draw; how the 12 counts of 4 time steps move is tried in full."""
    query = HierarchyQuery.from_forest("ap", FOREST, 4) if isinstance(mechanism, Hierarchy) else time_steps(3, 4)
    for loss in LOSSES:
        plan = mechanism.plan(query, loss, adjacency)
        empty = np.zeros((4, 3), dtype=np.int64)
        base, distributions = told(mechanism, plan, empty)
        assert base == [0] * len(distributions)
        assert told(mechanism, plan, empty, 10**6)[0] == [10**6] * len(distributions)
        ones = np.eye(12, dtype=np.int64).reshape(12, 4, 3)
        effects = np.array([told(mechanism, plan, each)[0] for each in ones])
        many = np.random.default_rng(1).integers(0, 9, (4, 3))
        assert told(mechanism, plan, many)[0] == (many.ravel() @ effects).tolist()
        assert claimed(loss) * Fraction(4, 5) < worst(moves(12, adjacency) @ effects, distributions) <= claimed(loss)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_tuples_that_move_within_six_time_steps_move_buffers_no_more_than_is_claimed(adjacency: Adjacency) -> None:
    """Rounding depends on the other counts: empty streams, and two with large ones."""
    loss = LOSSES[1]
    plan = BufferedCounter().plan(time_steps(1, 6), loss, adjacency)
    generator = np.random.default_rng(2)
    for stream in (np.full((6, 1), 2), *generator.integers(2, 2**40, (2, 6, 1))):
        base, distributions = told(BufferedCounter(), plan, stream)
        shifts = [
            np.array(told(BufferedCounter(), plan, stream + move[:, None])[0]) - base for move in moves(6, adjacency)
        ]
        assert claimed(loss) * Fraction(3, 10) < worst(np.array(shifts), distributions) <= claimed(loss)
        assert told(BufferedCounter(), plan, stream, 5)[0] == [each + 5 for each in base]


def test_the_bound_of_endless_buffers_holds_for_the_first_step_of_each_run() -> None:
    """Squares of exact weights, as geometric series without an end, in fractions."""
    buffers = choose_buffers(None)
    runs, one = weigh_steps(buffers, None), 2**WORD_BITS
    lengths = []
    for run in runs:
        sizes = [weight * added for weight, added in zip(buffers.weights, run.inputs, strict=True)]
        series = list(zip(buffers.decays, sizes, strict=True))
        products = ((decay * other, size * also) for (decay, size), (other, also) in product(series, repeat=2))
        total = sum(size * Fraction(ratio, one**2 - ratio) for ratio, size in products)
        lengths.append(run.weight**2 + total / 4**LATTICE_BITS)
    assert 1 <= squared_sensitivity(buffers, runs) / max(lengths) < 1.001
    assert min(lengths) > 0.99 * max(lengths)


@pytest.mark.parametrize("length", [2**16, 2**18])
def test_the_bound_of_buffers_holds_at_long_horizons(length: int) -> None:
    """Squares of exact weights, added up in 80 bits: their error is below one in 10^12."""
    buffers = choose_buffers(length)
    runs = weigh_steps(buffers, length)
    ages = np.arange(1, length, dtype=np.longdouble)
    bounds = np.zeros(length, dtype=np.longdouble)
    for decay, weight in zip(buffers.decays, buffers.weights, strict=True):
        bounds[1:] += weight * np.exp(ages * np.log1p(-np.longdouble(2**WORD_BITS - decay) / 2**WORD_BITS))
    bounds[0] = 2**LATTICE_BITS
    squares = np.cumsum(np.square(bounds))[::-1]  # of the column of each step
    weights = np.repeat([run.weight for run in runs], [run.steps for run in runs])
    exact = np.max(np.square(weights / np.longdouble(2**LATTICE_BITS)) * squares)
    assert 1 - 1e-12 < np.longdouble(squared_sensitivity(buffers, runs)) / exact < 1.001
    for adjacency in ADJACENCIES:
        distribution = (
            BufferedCounter()
            .plan(time_steps(1, length), LOSSES[1], adjacency)
            .distribution.require_type(BufferedPrefixes)
        )
        total = adjacency.squared_l2_sensitivity * squared_sensitivity(buffers, distribution.runs)
        assert distribution.runs == runs
        assert Fraction(total) / (2 * distribution.noise.parameter) <= claimed(LOSSES[1])


def named(case: TimeStepQuery | PrivacyLoss) -> str:
    return f"{case.time_steps} {case.windows}" if isinstance(case, TimeStepQuery) else str(case)


def block_of(tree: PrefixTree, start: int, counts: IntArray) -> Any:
    """The noise of a block, by `sample_block_noise`, if the noise of each node is what its time steps count less: ``z =
    -R x``.
    """
    levels = iter(zip(tree.noises, tree.widths, strict=True))

    def draws(distribution: Noise, size: int, randomness: Randomness) -> IntArray:
        noise, width = next(levels)
        nodes: IntArray = counts.reshape(-1, width).sum(axis=1)
        assert (distribution, size) == (noise, len(nodes))
        return -nodes

    with patch.object(tree_counter, "sample_noise", draws):
        return sample_block_noise(Block(start, tree), 1, bytes(32))


LONG: list[tuple[TimeStepQuery, PrivacyLoss]] = [
    *((time_steps(1, length), LOSSES[0]) for length in (2**16, 2**18, 2**20)),
    *((time_steps(1, length), LOSSES[1]) for length in (2**16, 2**18)),
    *((time_steps(1, None), loss) for loss in LOSSES),
    *((TimeStepQuery(time_steps(1, None).axes, None, (12, 700)), loss) for loss in LOSSES),
]


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("query", "loss"), LONG, ids=named)
def test_noise_that_takes_off_the_counts_of_each_node_leaves_nothing_of_any_prefix(
    query: TimeStepQuery, loss: PrivacyLoss
) -> None:
    """``L R = A``, through the steps: with ``z = -R x`` every answer is 0, so answers are a function of ``R x + z``.

    For one x of large random counts, at the first, the last and some time steps of every block up to time step 10^6,
    with what blocks before have left. Where any noise is lost, on a level or of a block, counts are seen. And each time
    step is in one node of each level: so that shifts cost what shares add up to.
    """
    mechanism, generator = TreeCounter(), np.random.default_rng(3)
    plan = mechanism.plan(query, loss, ONE)
    distribution, time_step, state = plan.distribution.require_type(TreeCounts), 0, mechanism.begin(plan)
    most = 2000 if query.windows else (query.time_steps or 10**6)
    while time_step < most:
        start, tree = distribution.block(time_step + 1)
        width = tree.widths[0]
        counts = generator.integers(0, 1000, width)
        assert start == time_step
        noise = block_of(tree, start, counts)
        before, sums = state.counts[0], np.cumsum(counts)
        for place in sorted({0, width - 1, *generator.integers(0, width, 9).tolist()}):
            total = before + int(sums[place]) - int(counts[place])
            state = TreeCounterState(start + place, (total,), state.carried_noise, bytes(32) if place else b"", noise)
            with patch.object(tree_counter, "sample_block_noise", lambda *_, noise=noise: noise):
                values, state = mechanism.step(counts[place : place + 1], start + place + 1, state, plan, ANY)
            assert values == (0,)
        time_step += width


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize(("query", "loss"), LONG, ids=named)
def test_shares_of_the_levels_of_long_trees_add_up_to_what_is_claimed(
    query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency
) -> None:
    """A tuple is in one node of each level: its cost, and that of all of a unit in one place, or in two."""
    distribution = TreeCounter().plan(query, loss, adjacency).distribution.require_type(TreeCounts)
    for epoch in distribution.epochs:
        noises = epoch.tree.noises
        assert worst(np.full((1, len(noises)), 1), noises) * (
            adjacency.l1_sensitivity if loss.is_pure else adjacency.squared_l2_sensitivity
        ) == claimed(loss)
        assert all(noise.family is noises[0].family for noise in noises)
