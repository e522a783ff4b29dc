"""The Grouper and the Perturber: their exact distributions on all tiny neighbouring streams, an oracle, and the
state."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import floor
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_streams import ADJACENCIES, IntArray, neighbours, streams

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Categories
from dpcurves.distributions import Noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms import STREAMS, Pegasus, pegasus
from dpcurves_streams.mechanisms.pegasus import (
    DEVIATION_CHANGE,
    LARGEST_GROUPED_COUNT,
    LATTICE_UNITS_PER_TUPLE,
    LONGEST_GROUP,
    STATE_COLUMNS,
    GroupingState,
    build_fenwick_trees,
    decide_groups,
)
from dpcurves_streams.queries import Forest, GroupedTimeStepQuery, TimeStepQuery

FloatArray = NDArray[np.float64]
ONE = AddRemove(EACH_RECORD)
STATES = (Categories("state", ("a",)),)


def deviation(values: tuple[int, ...]) -> int:
    """On the lattice, rounded down."""
    mean = Fraction(sum(values), len(values))
    return floor(LATTICE_UNITS_PER_TUPLE * sum(abs(value - mean) for value in values))


def chance_below(noise: Noise, limit: IntArray) -> FloatArray:
    """The chance of a draw below m: ``r**(1 - m) / (1 + r)`` for m up to 0, and by symmetry above."""
    rate = 1 / float(noise.parameter)
    far = np.exp(-rate * np.where(limit <= 0, 1 - limit, limit)) / (1 + np.exp(-rate))
    chances: FloatArray = np.where(limit <= 0, far, 1 - far)
    return chances


class Exact:
    """The distribution of decisions, exactly: a sum over the noise of each group's threshold. Values above `largest`
    are it."""

    def __init__(self, distribution: GroupedCounts, largest: int = LARGEST_GROUPED_COUNT) -> None:
        reach = 45 * int(distribution.threshold_noise.parameter + 1)
        noise = np.arange(-reach, reach + 1)
        rate = 1 / float(distribution.threshold_noise.parameter)
        self._weights, self._own, self._largest = (
            np.exp(-rate * abs(noise)) * np.tanh(rate / 2),
            distribution.test_noise,
            largest,
        )
        self._thresholds = distribution.threshold + noise

    @cache  # noqa: B019
    def chance_of_group(self, values: tuple[int, ...], closes: bool) -> float:
        """That the first joins with those behind it, one by one, and, if it closes, the last one does not."""
        chances = self._weights.copy()
        for length in range(2, len(values) + 1):
            clipped = tuple(min(value, self._largest) for value in values[:length])
            joins = chance_below(self._own, self._thresholds - deviation(clipped))
            chances = chances * (1 - joins if closes and length == len(values) else joins)
        return float(chances.sum())

    @cache  # noqa: B019
    def log_distribution(self, stream: tuple[int, ...]) -> FloatArray:
        """Logarithms of the chances of all decisions after the first time step."""
        return np.array([self.log_chance(stream, joined) for joined in product((0, 1), repeat=len(stream) - 1)])

    def log_chance(self, stream: tuple[int, ...], joined: tuple[int, ...]) -> float:
        """The logarithm of the chance of these decisions; the stream may be one that was chosen by them."""
        total, start, time_step = 0.0, 0, 1
        while start < len(stream):
            while time_step < len(stream) and joined[time_step - 1]:
                time_step += 1
            closes = time_step < len(stream)
            total += float(np.log(self.chance_of_group(stream[start : time_step + closes], closes)))
            start, time_step = time_step + 1, time_step + 2
            if start < len(stream) and joined[start - 1]:
                return -np.inf  # what follows a closed group joins nothing
        return total


def lost(
    ours: FloatArray, theirs: FloatArray, shift: IntArray, distribution: GroupedCounts, loss: PrivacyLoss
) -> float:
    """What decisions of these two distributions lose, and counts that are shifted: epsilon, or rho at a few orders.

    Given the stream, noisy counts and decisions are independent. So the largest log ratio of both is the sum of the one
    for decisions and that for counts, which is the shift over the scale; and divergences add up.
    """
    scale, kept = float(distribution.noise.parameter), np.isfinite(ours)
    assert np.array_equal(kept, np.isfinite(theirs))
    if loss.is_pure:
        return float(abs(ours[kept] - theirs[kept]).max() + abs(shift).sum() / scale)
    orders = np.array([[1.01], [2.0], [8.0]])
    moments = np.log(np.exp(orders * ours[kept] - (orders - 1) * theirs[kept]).sum(axis=1))
    return float((moments / (orders * (orders - 1))[:, 0]).max() + np.square(shift).sum() / (2 * scale))


TIGHT = GroupedTimeStepQuery(STATES, None, budget_fraction=Fraction(4, 5), deviation=Fraction(4))


@pytest.mark.quick_share(24)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(5), PrivacyLoss.zcdp(3)], ids=str)
def test_perturber_and_grouper_together_lose_no_more_than_is_claimed(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    """All streams of up to 6 time steps (4, where tuples move or a unit has two) with at most 2 tuples each, and
    neighbours.

    What smooths sees the counts and decisions alone.
    """
    distribution = Pegasus().plan(TIGHT, loss, adjacency).distribution.require_type(GroupedCounts)
    exact, worst = Exact(distribution), 0.0
    for length in range(1, 7 if adjacency is ADJACENCIES[0] else 5):
        for stream in streams(1, length, 2):
            ours = exact.log_distribution(tuple(stream[:, 0].tolist()))
            assert np.exp(ours).sum() == pytest.approx(1, abs=1e-9)
            for other in neighbours(stream, adjacency):
                theirs, shift = exact.log_distribution(tuple(other[:, 0].tolist())), other - stream
                both = (lost(*pair, shift, distribution, loss) for pair in ((ours, theirs), (theirs, ours)))
                worst = max(worst, *both)
    claimed = float(loss.rho if loss.epsilon is None else loss.epsilon)
    assert claimed / (4 if loss.is_pure else 9) < worst <= claimed + 1e-9


def worst_loss_of_counts(loss: PrivacyLoss, adjacency: Adjacency) -> float:
    """What the noisy counts lose alone, at the worst of all streams of up to 2 time steps and their neighbours."""
    distribution = Pegasus().plan(TIGHT, loss, adjacency).distribution.require_type(GroupedCounts)
    nothing = np.zeros(1)  # logarithms of the one decision that both streams have
    return max(
        lost(nothing, nothing, other - stream, distribution, loss)
        for stream in streams(1, 2, 2)
        for other in neighbours(stream, adjacency)
    )


LOSSES = PrivacyLoss.pure(5), PrivacyLoss.zcdp(3)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_perturber_loses_all_of_its_share_at_the_worst_stream(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    """A unit that puts all of its tuples into one count attains the claim. (The Grouper's claim under rho is that of
    its epsilon, which no stream attains; `test_stream_worst` comes near it.)
    """
    share = float((loss.rho if loss.epsilon is None else loss.epsilon) * (1 - TIGHT.budget_fraction))
    assert worst_loss_of_counts(loss, adjacency) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize(
    ("loss", "name"), [(LOSSES[0], "l1_sensitivity"), (LOSSES[1], "squared_l2_sensitivity")], ids=["pure", "rho"]
)
def test_a_perturber_with_half_the_sensitivity_loses_more(loss: PrivacyLoss, name: str, adjacency: Adjacency) -> None:
    share = float((loss.rho if loss.epsilon is None else loss.epsilon) * (1 - TIGHT.budget_fraction))
    half = Fraction(getattr(adjacency, name), 2)
    with patch.object(type(adjacency), name, half):
        assert worst_loss_of_counts(loss, adjacency) > 1.9 * share


def test_streams_that_are_chosen_by_decisions_lose_no_more() -> None:
    """Ways to choose 4 time steps of 0, 1 or 2 tuples by the decisions before, each with one tuple more at a step."""
    distribution = Pegasus().plan(TIGHT, PrivacyLoss.pure(5), ONE).distribution.require_type(GroupedCounts)
    exact, worst, generator = Exact(distribution), 0.0, np.random.default_rng(4)
    paths = list(product((0, 1), repeat=3))
    for _ in range(600):
        seen = [
            (at, path[: max(at - 1, 0)]) for path in paths for at in range(4)
        ]  # the first time step decides nothing
        chosen, more = ({each: int(generator.integers(most)) for each in seen} for most in (3, 2))
        both = [np.zeros(len(paths)), np.zeros(len(paths))]
        for number, path in enumerate(paths):
            before = [(at, path[: max(at - 1, 0)]) for at in range(4)]
            comes = next((at for at in range(4) if more[before[at]]), 4)  # when it comes is chosen by answers, too
            for plus, found in enumerate(both):
                values = tuple(chosen[before[at]] + plus * (at == comes) for at in range(4))
                found[number] = exact.log_chance(values, path)
        assert [np.exp(found).sum() for found in both] == pytest.approx([1, 1], abs=1e-9)
        kept = np.isfinite(both[0])
        worst = max(worst, abs(both[0][kept] - both[1][kept]).max())
    assert 0.3 < worst <= 4 + 1e-9


def test_values_above_the_largest_one_lose_no_more() -> None:
    distribution = Pegasus().plan(TIGHT, PrivacyLoss.pure(5), ONE).distribution.require_type(GroupedCounts)
    exact, worst = Exact(distribution, largest=2), 0.0
    for stream in streams(1, 4, 3):
        ours = exact.log_distribution(tuple(stream[:, 0].tolist()))
        for other in neighbours(stream, ONE):
            theirs = exact.log_distribution(tuple(other[:, 0].tolist()))
            worst = max(worst, lost(ours, theirs, other - stream, distribution, PrivacyLoss.pure(5)))
    assert 1.3 < worst <= 5 + 1e-9


class Drawn:
    """Known draws: noises of counts, of thresholds and of tests, step by step."""

    def __init__(self, distribution: GroupedCounts, noises: IntArray) -> None:
        self._order, self._noises, self._at = (
            [distribution.noise, distribution.threshold_noise, distribution.test_noise],
            noises.ravel(),
            0,
        )

    def __call__(self, noise: Noise, size: int, randomness: Randomness) -> IntArray:
        assert (noise, size) == (self._order[self._at % 3], 1)
        self._at += 1
        return self._noises[self._at - 1 : self._at]


def shown(plan: Plan, stream: IntArray, noises: IntArray) -> list[tuple[int, ...]]:
    mechanism, told = Pegasus(), []
    state = mechanism.begin(plan)
    with patch.object(pegasus, "sample_noise", Drawn(plan.distribution.require_type(GroupedCounts), noises)):
        for time_step, count in enumerate(stream, start=1):
            values, state = mechanism.step(np.array([count]), time_step, state, plan, Randomness.from_seed(0))
            told.append(values)
            state = mechanism.restore_state(state.to_bytes(), plan) if time_step % 5 == 0 else state
    return told


def groups_of(joined: list[int]) -> list[range]:
    """Time steps of each group, with the one that closed it."""
    found, time_step = [], 0
    while time_step < len(joined):
        start, time_step = time_step, time_step + 1
        while time_step < len(joined) and joined[time_step]:
            time_step += 1
        found.append(range(start, min(time_step + 1, len(joined))))
        time_step += 1
    return found


def test_steps_hide_a_tuple_behind_a_threshold_and_a_test_that_are_larger_as_the_proof_says() -> None:
    """The bijection of the proof, through `step`: the same answers on both sides, at a cost of epsilon."""
    query = GroupedTimeStepQuery(STATES, None, budget_fraction=Fraction(4, 5), deviation=Fraction(4))
    plan = STREAMS.plan(query, PrivacyLoss.pure(5), ONE)
    distribution, generator, kinds = plan.distribution.require_type(GroupedCounts), np.random.default_rng(5), set()
    assert (
        1 / distribution.noise.parameter
        + DEVIATION_CHANGE * LATTICE_UNITS_PER_TUPLE / distribution.threshold_noise.parameter
        + 2 * DEVIATION_CHANGE * LATTICE_UNITS_PER_TUPLE / distribution.test_noise.parameter
        == 5
    )
    for _ in range(100):
        stream = generator.poisson(generator.choice((0.5, 3, LARGEST_GROUPED_COUNT)), 12)
        noises, time_step = generator.integers(-90, 91, (12, 3)), int(generator.integers(12))
        told = shown(plan, stream, noises)
        (time_steps,) = (
            time_steps for time_steps in groups_of([decided for _, decided in told]) if time_step in time_steps
        )
        more, shifted = stream.copy(), noises.copy()
        more[time_step] += 1
        shifted[time_step, 0] -= 1
        shifted[time_steps[0], 1] += DEVIATION_CHANGE * LATTICE_UNITS_PER_TUPLE
        closes = len(time_steps) > 1 and not told[time_steps[-1]][1]
        if closes:
            shifted[time_steps[-1], 2] += 2 * DEVIATION_CHANGE * LATTICE_UNITS_PER_TUPLE
        assert shown(plan, more, shifted) == told
        kinds.add((time_step == time_steps[0], time_step == time_steps[-1], closes))
    assert len(kinds) > 5


def test_a_group_closes_when_it_is_longest_whatever_it_holds_and_deviations_fit_till_then() -> None:
    """The largest values, by turns: the deviation of the longest group is the exact one, to the last digit."""
    by_turns = np.tile([0, LARGEST_GROUPED_COUNT], LONGEST_GROUP // 2)[:, None]
    nothing = np.zeros((1, 1), np.int64)

    def found(values: IntArray, threshold: int, own: IntArray) -> IntArray:
        kept, trees = np.zeros((1, STATE_COLUMNS), np.int64), build_fenwick_trees(nothing, LARGEST_GROUPED_COUNT + 1)
        return decide_groups(values, np.full(values.shape, threshold), own, kept, trees)[:, 0]

    for values in (by_turns, 0 * by_turns):
        longer = np.append(values, [[0], [0]], axis=0)
        joined = found(longer, 2**58, 0 * longer)
        assert joined[1:LONGEST_GROUP].all()
        assert joined[LONGEST_GROUP:].tolist() == [0, 0]
    limit, own = LATTICE_UNITS_PER_TUPLE * LONGEST_GROUP * LARGEST_GROUPED_COUNT // 2, np.full(by_turns.shape, -(2**59))
    own[-1] = 0
    assert [int(found(by_turns, over, own)[-1]) for over in (limit, limit + 1)] == [0, 1]


def test_what_is_decided_is_what_the_paper_says_with_these_noises() -> None:
    generator = np.random.default_rng(1)
    for mean, threshold in ((0.3, 60), (3, 400), (20, 900), (300, 9000)):
        values = generator.poisson(mean, (300, 2))
        common, own = threshold + generator.integers(-50, 51, (300, 2)), generator.integers(-80, 81, (300, 2))
        trees = build_fenwick_trees(np.zeros((2, 1), np.int64), 1024)
        found = decide_groups(values, common, own, np.zeros((2, STATE_COLUMNS), np.int64), trees)
        for key in range(2):
            assert found[:, key].tolist() == by_hand(values[:, key].tolist(), common[:, key], own[:, key])


def by_hand(values: list[int], common: IntArray, own: IntArray) -> list[int]:
    joined, members, threshold, is_open = [], tuple[int, ...](), 0, False
    for time_step, value in enumerate(values):
        if not is_open:
            members, threshold, is_open = (value,), int(common[time_step]), True
            joined.append(0)
        elif deviation((*members, value)) + own[time_step] < threshold:
            members = (*members, value)
            joined.append(1)
        else:
            is_open = False
            joined.append(0)
    return joined


def test_example_7_of_the_paper() -> None:
    values = np.array([[5], [5], [6], [9], [10]])
    exact = np.zeros((5, 1), np.int64)
    found = decide_groups(
        values,
        exact + 2 * LATTICE_UNITS_PER_TUPLE,
        exact,
        np.zeros((1, STATE_COLUMNS), np.int64),
        build_fenwick_trees(exact[:1], 64),
    )
    assert found[:, 0].tolist() == [0, 1, 1, 0, 0]  # {1, 2, 3}, {4}, {5}


def plan_of(keys: int) -> Plan:
    query = GroupedTimeStepQuery((Categories("state", tuple(range(keys))),), None)
    return STREAMS.plan(query, PrivacyLoss.pure("0.5"), ONE)


def test_states_come_back_grow_and_may_be_stepped_again_but_not_once_two_steps_were_taken() -> None:
    mechanism, plan = Pegasus(), plan_of(3)
    generator = np.random.default_rng(2)
    state = ours = mechanism.begin(plan)
    for time_step in range(1, 120):
        table = generator.poisson((0.1, 5, 70 if time_step % 7 else 10**9)).astype(np.int64)
        first, after = mechanism.step(table, time_step, state, plan, Randomness.from_seed(time_step))
        again, same = mechanism.step(table, time_step, state, plan, Randomness.from_seed(time_step))
        fresh, ours = mechanism.step(table, time_step, ours, plan, Randomness.from_seed(time_step))
        assert first == again == fresh
        assert after == same == ours
        before, state, ours = state, same, mechanism.restore_state(ours.to_bytes(), plan)
        if time_step == 100:
            mechanism.step(table, time_step + 1, state, plan, Randomness.from_seed(0))
            with pytest.raises(ValueError, match="state: two steps were taken after this state"):
                mechanism.step(table, time_step, before, plan, Randomness.from_seed(0))
    assert isinstance(state, GroupingState)
    assert int(state.columns[:, 3].max()) <= LARGEST_GROUPED_COUNT


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="question: groups of time steps"):
        Pegasus().plan(TimeStepQuery(STATES), PrivacyLoss.pure(1), ONE)
    with pytest.raises(UnsupportedQuery, match="is too small for grouping"):
        Pegasus().plan(GroupedTimeStepQuery(STATES), PrivacyLoss.pure(Fraction(1, 2**45)), ONE)
    for wrong in ({"budget_fraction": 0}, {"budget_fraction": 1}, {"deviation": -1}, {"deviation": 2001}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GroupedTimeStepQuery(STATES, **wrong)  # type: ignore[arg-type]


def test_aggregations_are_grouped_each_on_its_own_with_a_part_of_the_loss_for_each_level() -> None:
    forest = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
    axes = (Categories("ap", forest.states),)
    plan = Pegasus().plan(GroupedTimeStepQuery(axes, forest=forest), PrivacyLoss.pure(3), ONE)
    alone = Pegasus().plan(GroupedTimeStepQuery(axes), PrivacyLoss.pure(1), ONE)
    one, other = (each.distribution.require_type(GroupedCounts) for each in (plan, alone))
    assert forest.levels == 3
    assert (one.keys, one.noise, one.threshold_noise, one.test_noise) == (
        6,
        other.noise,
        other.threshold_noise,
        other.test_noise,
    )
    sure = Pegasus().plan(GroupedTimeStepQuery(axes, forest=forest), PrivacyLoss.pure(10**4), ONE)
    state = Pegasus().begin(sure)
    for time_step in range(1, 4):
        values, state = Pegasus().step(
            np.array([time_step, 5, 7]), time_step, state, sure, Randomness.from_seed(time_step)
        )
        assert values[:6] == (time_step + 12, time_step + 5, 7, time_step, 5, 7)
    assert values[6:] == (0, 0, 1, 0, 1, 1)
    flat = Forest.from_sets({"x": ["a"], "y": ["b", "c"]})
    assert flat.levels == 2
    with pytest.raises(ValueError, match="hierarchy: the question must have one axis"):
        GroupedTimeStepQuery(STATES, forest=forest)
