"""Counts of prefixes by least-squares noise: exactness, privacy on all tiny neighbouring streams, and its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from math import prod, sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, neighbours, streams, time_steps

from dpcurves.conversation import Plan
from dpcurves.data import Categories
from dpcurves.distributions import Family, Noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.distributions import (
    ROUNDING_VARIANCE,
    WEIGHT_PARTS,
    Block,
    Epoch,
    PrefixTree,
    TreeCounts,
    prefix_denominator,
    prefix_noise,
)
from dpcurves_streams.mechanisms import TreeCounter
from dpcurves_streams.mechanisms import counters as tree_counter
from dpcurves_streams.mechanisms.counters import (
    INTEGER_BOUND,
    BlockNoise,
    fits_in_int64,
    mean_window_variance,
    round_noise,
    sample_block_noise,
)
from dpcurves_streams.mechanisms.sequential import STATE_FORMAT
from dpcurves_streams.queries import TimeStepQuery

ONE = AddRemove(EACH_RECORD)
PURE = PrivacyLoss.pure(1)
SHAPES = ((1,), (4, 1), (12, 4, 1), (12, 6, 2, 1), (15, 5, 1))
BINARY = PrefixTree((4, 2, 1), (Noise(Family.LAPLACE, Fraction(3)),) * 3)


def tree_of(widths: tuple[int, ...]) -> PrefixTree:
    return PrefixTree(widths, tuple(Noise(Family.LAPLACE, Fraction(3 + level)) for level in range(len(widths))))


def sizes(tree: PrefixTree) -> list[int]:
    return [tree.widths[0] // width for width in tree.widths]


def strategy(tree: PrefixTree) -> Any:
    """R: which time steps each node sums, from coarse to fine."""
    rows = [np.kron(np.eye(size, dtype=int), np.ones((1, tree.widths[0] // size), dtype=int)) for size in sizes(tree)]
    return np.concatenate(rows).astype(object)


def estimator(tree: PrefixTree) -> tuple[Any, Any]:
    """L over `prefix_denominator`, and the row that estimates the whole block."""
    nodes = sum(sizes(tree))
    each = np.split(np.array(np.eye(nodes, dtype=int), dtype=object), np.cumsum(sizes(tree))[:-1])
    return prefix_noise(tree, each)


@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_exact_sums_of_nodes_give_exact_prefixes(widths: tuple[int, ...]) -> None:
    """``L R = A`` in whole numbers, and of the whole block too."""
    tree = tree_of(widths)
    left, whole = estimator(tree)
    lower = prefix_denominator(tree) * np.tril(np.ones((widths[0], widths[0]), dtype=int))
    assert np.array_equal(left.dot(strategy(tree)), lower)
    assert np.array_equal(whole.dot(strategy(tree)), [WEIGHT_PARTS ** len(tree.radices)] * widths[0])
    assert [each * prod(tree.radices) for each in whole] == list(left[-1])


@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_variances_are_those_of_the_estimator(widths: tuple[int, ...]) -> None:
    tree = tree_of(widths)
    left, _ = estimator(tree)
    noises = np.repeat([noise.variance for noise in tree.noises], sizes(tree))
    rows = left.astype(float) / prefix_denominator(tree)
    np.testing.assert_allclose((rows**2).dot(noises), tree.prefix_variances)
    distribution = TreeCounts(1, (Epoch(1, tree),))
    width = widths[0]
    window = np.square(rows[-1] - rows[width // 2 - 1] if width > 1 else rows[-1]).dot(noises)
    ends = 1 if width == 1 else 2  # each is rounded
    assert distribution.variance(width, width - width // 2) == pytest.approx(window + ends * ROUNDING_VARIANCE)
    twice = 2 * tree.node_variances[0] + tree.prefix_variances[0]
    assert distribution.variance(2 * width + 1) == pytest.approx(twice + ROUNDING_VARIANCE)
    blocks = [distribution.variance(time_step) for time_step in range(1, 2 * width + 2)]
    assert distribution.mean_variance(2 * width + 1) == pytest.approx(np.mean(blocks))


def test_variances_over_many_blocks_are_those_of_the_blocks_one_by_one() -> None:
    distribution = TreeCounts(1, (Epoch(2, tree_of((4, 1))), Epoch(3, tree_of((1,))), Epoch(1, tree_of((12, 4, 1)))))
    assert [distribution.block(time_step).start for time_step in (1, 4, 5, 8, 9, 11, 12, 23, 24)] == [
        0,
        0,
        4,
        4,
        8,
        10,
        11,
        11,
        23,
    ]
    for length in (1, 8, 9, 11, 30, 50):
        assert distribution.mean_variance(length) == pytest.approx(
            np.mean([distribution.variance(each + 1) for each in range(length)])
        )
    for time_step, window in ((23, None), (50, None), (60, 55), (60, 49), (9, 2), (37, 13)):
        before = 0 if window is None else time_step - window
        parts = 0.0
        for block in {distribution.block(each) for each in range(before + 1, time_step + 1)}:
            counted = np.arange(block.start + 1, block.start + block.tree.widths[0] + 1)
            parts += block.tree.variance(((counted > before) & (counted <= time_step)).astype(float))
        ends = 1 if window is None else 2
        assert distribution.variance(time_step, window) == pytest.approx(parts + ends * ROUNDING_VARIANCE)


def test_no_weights_are_better_by_much_than_those_in_sixty_fourths() -> None:
    tree = tree_of((12, 4, 1))
    inverse = np.diag(1 / np.repeat([noise.variance for noise in tree.noises], sizes(tree)))
    rows = strategy(tree).astype(float)
    best = np.linalg.inv(rows.T @ inverse @ rows)
    lower = np.tril(np.ones((12, 12)))
    assert tree.prefix_variances.mean() < 1.001 * np.diag(lower @ best @ lower.T).mean()


Chooser = Callable[[Sequence[int]], int]


def answers(plan: Plan, noises: list[list[Any]], chosen: Chooser, extra: int | None) -> list[int]:
    """What comes out, step by step, if counts are chosen by the answers before, and one more tuple comes at a step."""

    def known(block: Block, keys: int, secret: bytes) -> BlockNoise:
        return BlockNoise(*prefix_noise(block.tree, noises[block.start // block.tree.widths[0]]))

    mechanism, shown = TreeCounter(), list[int]()
    state = mechanism.begin(plan)
    with patch.object(tree_counter, "sample_block_noise", known):
        for time_step in range(1, 9):
            table = np.array([chosen(shown) + (time_step == extra)])
            answer, state = mechanism.step(table, time_step, state, plan, Randomness.from_seed(1))
            shown += answer
    return shown


def test_one_more_tuple_is_hidden_by_noise_that_is_shifted_by_one_in_each_of_its_nodes() -> None:
    """The bijection of the proof, on streams that are fixed and on one that is chosen by answers, in two blocks."""
    plan = Plan(time_steps(1, 8), PURE, ONE, "", TreeCounts(1, (Epoch(1, BINARY),)), 0.0)
    generator = np.random.default_rng(1)
    choosers: list[Chooser] = [lambda shown: 0, lambda shown: len(shown) % 3, lambda shown: sum(shown) % 4]
    for chosen in choosers * 6:
        noises = [[generator.integers(-9, 10, (size, 1)).astype(object) for size in (1, 2, 4)] for _ in range(2)]
        for time_step in range(1, 9):
            shifted = [[level.copy() for level in block] for block in noises]
            block, place = divmod(time_step - 1, 4)
            for level, width in zip(shifted[block], (4, 2, 1), strict=True):
                level[place // width] -= 1
            assert answers(plan, shifted, chosen, time_step) == answers(plan, noises, chosen, None)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", [PURE, PrivacyLoss.zcdp("0.5")], ids=str)
def test_the_shifts_of_neighbours_cost_no_more_than_is_claimed(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    plan = TreeCounter().plan(time_steps(1, 3), loss, adjacency)
    tree = plan.distribution.require_type(TreeCounts).epochs[0].tree
    blocks = -(-3 // tree.widths[0])
    rows = np.kron(np.eye(blocks, dtype=int), strategy(tree))[:, :3]
    noises = [noise for noise, size in zip(tree.noises, sizes(tree), strict=True) for _ in range(size)] * blocks
    worst = Fraction(0)
    for stream in streams(1, 3, 2):
        for other in neighbours(stream, adjacency):
            shift = rows.dot((other - stream)[:, 0]).tolist()
            costs = [
                abs(each) / noise.parameter if loss.is_pure else Fraction(each**2) / (2 * noise.parameter)
                for each, noise in zip(shift, noises, strict=True)
            ]
            worst = max(worst, sum(costs, Fraction(0)))
    claimed = loss.epsilon if loss.epsilon is not None else loss.rho
    assert claimed / 2 < worst <= claimed


@pytest.mark.parametrize(
    "query", [time_steps(2, 40), time_steps(2, None), TimeStepQuery((Categories("s", (0, 1)),), None, (16,))], ids=str
)
def test_answers_scatter_as_the_distribution_says_and_a_state_goes_on_from_its_bytes(query: TimeStepQuery) -> None:
    mechanism = TreeCounter()
    plan = mechanism.plan(query, PURE, ONE)
    distribution, randomness, errors = plan.distribution.require_type(TreeCounts), Randomness.from_seed(5), []
    for _ in range(60):
        state, row = mechanism.begin(plan), []
        for time_step in range(1, 41):
            answer, state = mechanism.step(np.array([time_step, 1]), time_step, state, plan, randomness)
            if time_step == 17:
                restored = mechanism.restore_state(state.to_bytes(), plan)
                assert restored == state
                state = restored
            row.append([answer[0] - time_step * (time_step + 1) // 2, answer[1] - time_step])
        errors.append(row)
    spread = np.square(errors).mean(axis=(0, 2))
    expected = np.array([distribution.variance(time_step) for time_step in range(1, 41)])
    assert np.all(np.abs(spread / expected - 1) < 5 * sqrt(5 / 120))  # 120 draws a time step, 40 time steps: 5 sigma


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("horizon", [2**18, 2**21, None])
def test_however_deep_a_tree_is_its_noise_is_added_whole(horizon: int | None) -> None:
    """Trees for Gaussian noise are nearly binary. Answers at one time step scatter as the distribution says, in 2 * 12
    draws.

    Their mean square is within a factor of 4 of its mean, but once in 30,000 times.
    """
    distribution = (
        TreeCounter().plan(time_steps(2, horizon), PrivacyLoss.zcdp("0.001"), ONE).distribution.require_type(TreeCounts)
    )
    assert all(distribution.block_denominator % epoch.tree.block_denominator == 0 for epoch in distribution.epochs)
    deepest = max((epoch.tree for epoch in distribution.epochs), key=lambda tree: len(tree.radices))
    assert len(deepest.radices) > 16
    small = PrefixTree((4, 2, 1), deepest.noises[:3])
    squares = []
    for secret in range(12):
        noise = sample_block_noise(Block(0, small), 2, bytes([secret]) * 32)
        squares += [each**2 for each in round_noise(noise.prefixes[0], (0, 0), small, distribution.block_denominator)]
        carried = [
            int(each) * (distribution.block_denominator // small.block_denominator) for each in noise.whole_block
        ]
        nothing = np.zeros(2, dtype=object)
        again = round_noise(nothing, tuple(carried), deepest, distribution.block_denominator)
        assert again == [
            (2 * int(each) + small.block_denominator) // (2 * small.block_denominator) for each in noise.whole_block
        ]
    variance = TreeCounts(2, (Epoch(1, small),)).variance(1)
    assert variance / 4 < np.mean(squares) < 4 * variance


def test_a_deep_tree_hides_the_counts_from_the_first_time_step_on() -> None:
    mechanism, loss = TreeCounter(), PrivacyLoss.zcdp("0.001")
    plan = mechanism.plan(time_steps(8, 2**18), loss, ONE)
    answer, _ = mechanism.step(np.full(8, 7), 1, mechanism.begin(plan), plan, Randomness.from_seed(3))
    assert len(plan.distribution.require_type(TreeCounts).epochs[0].tree.radices) > 16
    spread = np.mean(np.square(np.array(answer, dtype=float) - 7))
    assert (
        0.1 < spread / plan.distribution.require_type(TreeCounts).variance(1) < 4
    )  # 8 draws: but once in 30,000 times


def test_noise_beyond_64_bits_is_worked_out_exactly() -> None:
    mechanism = TreeCounter()
    plan = mechanism.plan(time_steps(1, 70_000), PrivacyLoss.pure(Fraction(1, 2**50)), ONE)
    answer, state = mechanism.step(np.array([1]), 1, mechanism.begin(plan), plan, Randomness.from_seed(1))
    assert abs(answer[0]) > 2**40
    assert state.block_noise is not None
    assert state.block_noise.prefixes.dtype == object


def test_the_noise_of_a_secret_never_changes() -> None:
    """A stream that is gone on with by another release draws the nodes of its block again.

    Other draws would be a second noise on the same counts: whoever changes samplers changes the format of states.
    """
    found = []
    for family in Family:
        tree = PrefixTree((64, 8, 1), tuple(Noise(family, Fraction(number, 7)) for number in (100, 900, 5000)))
        noise = sample_block_noise(Block(128, tree), 3, bytes(range(32)))
        found.append(sha256(str([noise.prefixes.tolist(), noise.whole_block.tolist()]).encode()).hexdigest()[:16])
    assert (found, STATE_FORMAT) == (["1c39d38e2f3d558d", "b3e81123c63e8709"], 1)


def test_where_keys_are_many_blocks_are_short_and_the_plan_says_what_that_costs() -> None:
    states = (Categories("state", tuple(range(2**12))),)
    one, many = (TreeCounter().plan(TimeStepQuery(axes, 2**30), PURE, ONE) for axes in (time_steps(1, 1).axes, states))
    tree = many.distribution.require_type(TreeCounts).epochs[0].tree
    assert tree.widths[0] * 2**12 <= 2**22
    assert many.error > one.error
    short = TreeCounter().plan(time_steps(1, 2**10), PURE, ONE)
    assert short.distribution.require_type(TreeCounts).epochs[0].tree == tree


@pytest.mark.parametrize("widths", [*SHAPES, (64, 32, 16, 8, 4, 2, 1), (256, 4, 1)], ids=str)
def test_what_is_said_to_fit_into_64_bits_does_on_the_way_too(widths: tuple[int, ...]) -> None:
    tree = tree_of(widths)
    largest = (INTEGER_BOUND - 1) // (8 * (len(tree.radices) + 1) * widths[0] * prefix_denominator(tree))
    assert fits_in_int64(tree, largest)
    assert not fits_in_int64(tree, 2 * largest + 2)
    generator = np.random.default_rng(3)
    for signs in ((1,), (-1,), (-1, 1)):
        noises = [largest * generator.choice(signs, (size, 2)) for size in sizes(tree)]
        slow = prefix_noise(tree, [each.astype(object) for each in noises])
        for one, other in zip(prefix_noise(tree, noises), slow, strict=True):
            assert one.tolist() == other.tolist()


def test_errors_meet_what_is_asked_for() -> None:
    """Mean squared error at epsilon 1, and the standard deviation of sliding sums."""
    for length, most in ((2**10, 125), (2**12, 203), (2**16, 445)):
        assert TreeCounter().plan(time_steps(1, length), PURE, ONE).error ** 2 < most
    windows = TimeStepQuery((Categories("s", (0,)),), None, (256, 1024))
    tree = TreeCounter().plan(windows, PURE, ONE).distribution.require_type(TreeCounts).epochs[0].tree
    assert sqrt(mean_window_variance(tree, 256)) < 13
    assert sqrt(mean_window_variance(tree, 1024)) < 19
    distribution = TreeCounts(1, (Epoch(1, tree),))
    exact = np.mean([distribution.variance(2000 + end, 256) for end in range(tree.widths[0])])
    assert mean_window_variance(tree, 256) + 2 * ROUNDING_VARIANCE == pytest.approx(exact)
