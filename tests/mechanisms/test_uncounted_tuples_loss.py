"""What is not counted: how far a unit moves all windows, over all tiny streams, and what all releases lose together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Categories
from dpcurves.distributions import Family, IntervalSums, Noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves_streams.distributions import (
    BufferedPrefixes,
    CountsAndUncountedTotals,
    GroupedCounts,
    HierarchyCounts,
    PrunedCounts,
    TreeCounts,
)
from dpcurves_streams.feed.files import TableWindows
from dpcurves_streams.feed.schedule import Fields, Schedule, SystemClock
from dpcurves_streams.feed.windows import DropCounts, OpenWindows, StreamSpec, Window
from dpcurves_streams.mechanisms import (
    BufferedCounter,
    Hierarchy,
    Pegasus,
    Perturber,
    PrunedHierarchy,
    Sequential,
    TreeCounter,
    WithUncountedTotals,
)
from dpcurves_streams.mechanisms.counters import Buffers, squared_sensitivity
from dpcurves_streams.mechanisms.hierarchy import division_rule
from dpcurves_streams.mechanisms.pegasus import DEVIATION_CHANGE, LATTICE_UNITS_PER_TUPLE
from dpcurves_streams.mechanisms.with_uncounted import BEYOND_FRACTION, split_plan
from dpcurves_streams.queries import (
    Forest,
    GroupedTimeStepQuery,
    HierarchyQuery,
    PrunedQuery,
    TimeStepQuery,
    UncountedReason,
)

IntArray = NDArray[np.int64]
STATES = (Categories("ap", ("a", "b")),)
SCHEDULE = Schedule(0, 10, 20, 0)
STEPS, CELLS = 2, 2
TIMES = ("never", -5, 5, 15, 25)
"""No time, before the first step, in each of both, and behind the last one."""
ARRIVALS = (5, 15, 25)
"""While the first step is open, the second one, and none."""
KINDS: list[tuple[int, dict[str, Any]]] = [
    (arrived, {"time": time, "ap": state}) for arrived, time, state in product(ARRIVALS, TIMES, ("a", "b", "gone"))
]


def fields(most: int | None) -> Fields:
    return Fields("time", None, None) if most is None else Fields("time", "user", most)


def tables(tuples: Sequence[tuple[int, dict[str, Any]]], most: int | None) -> tuple[IntArray, list[int | None]]:
    """The windows of a live stream, (steps, cells + reasons), and the step that each tuple counts in."""
    windows, closed, steps = OpenWindows(SCHEDULE, fields(most), STATES, DropCounts(), 0), list[Window](), []
    for arrived, given in sorted(tuples, key=lambda each: each[0]):
        closed += windows.close_windows(SCHEDULE.last_closed_time_step(arrived * 10**6))
        steps.append(windows.count_tuple(given, arrived * 10**6))
    closed += windows.close_windows(STEPS)
    return np.array([[*window.counts, *window.uncounted] for window in closed]), steps


def units(most: int) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """All ways in which one user sends one tuple or two; and three, where they are of a few kinds."""
    few = [kind for kind in KINDS if kind[1]["ap"] != "b" and kind[1]["time"] != 25]
    for number, kinds in ((1, KINDS), (2, KINDS), (3, few)):
        for sent in combinations_with_replacement(kinds, number):
            yield [(arrived, {**given, "user": "u"}) for arrived, given in sent]


OTHERS: list[tuple[int, dict[str, Any]]] = [
    (5, {"time": 5, "ap": "a", "user": "v"}), (5, {"time": "never", "ap": "a", "user": "v"}),
    (15, {"time": 5, "ap": "b", "user": "v"}), (15, {"time": 15, "ap": "gone", "user": "w"}),
]  # fmt: skip


def test_a_tuple_is_in_one_cell_or_has_one_reason_in_one_step_or_counts_nowhere() -> None:
    without, _ = tables(OTHERS, None)
    assert without.shape == (STEPS, CELLS + 4)
    for kind in KINDS:
        with_it, _ = tables([*OTHERS, kind], None)
        moved = with_it - without
        assert np.all(moved >= 0)
        assert moved.sum() == (kind[0] < 25)  # afterwards all steps have closed


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("most", [1, 2])
def test_a_user_moves_one_window_by_what_is_used_and_the_users_beyond_the_cap_by_one(most: int) -> None:
    """Over all steps, for all tuples of one user: each step has at most K of them, and what is removed of one step
    leaves the other one as it was, so the two steps are two units."""
    without, _ = tables(OTHERS, most)
    largest = np.zeros(2, dtype=np.int64)
    for sent in units(most):
        with_them, _ = tables([*OTHERS, *sent], most)
        moved = with_them - without
        assert np.all(moved >= 0)
        used, beyond = moved[:, :-1].sum(axis=1), moved[:, -1]
        assert np.all(used <= most)
        assert np.all(beyond <= 1)
        _, steps = tables(sent, most)
        at = np.array([sum(step == each for step in steps) for each in (1, 2)])
        np.testing.assert_array_equal(used, np.minimum(at, most))  # what is uncounted falls under the cap, too
        np.testing.assert_array_equal(beyond, at > most)
        ordered = sorted(sent, key=lambda each: each[0])
        rest = [each for each, step in zip(ordered, steps, strict=True) if step != 1]
        np.testing.assert_array_equal(tables([*OTHERS, *rest], most)[0][1], with_them[1])
        largest = np.maximum(largest, [used.max(), beyond.max()])
    assert largest.tolist() == [most, 1]


def test_reasons_are_looked_for_in_a_fixed_order_and_counted_in_the_step_of_arrival() -> None:
    """Late with an unknown state is late; without a time it is unreadable, whatever else is wrong."""
    expected = {
        (5, "never"): (1, UncountedReason.UNREADABLE), (15, "never"): (2, UncountedReason.UNREADABLE),
        (5, -5): (1, UncountedReason.OUTSIDE), (15, 25): (2, UncountedReason.OUTSIDE),
        (15, 5): (2, UncountedReason.LATE), (5, 5): (1, UncountedReason.OTHER_STATE),
        (5, 15): (2, UncountedReason.OTHER_STATE), (15, 15): (2, UncountedReason.OTHER_STATE),
    }  # fmt: skip
    for (arrived, time), (step, reason) in expected.items():
        found, steps = tables([(arrived, {"time": time, "ap": "gone"})], None)
        assert steps == [step]
        assert np.flatnonzero(found[step - 1]).tolist() == [CELLS + list(UncountedReason).index(reason)]


def at_rest(tuples: Sequence[dict[str, Any]], most: int | None) -> IntArray:
    """The windows of a finished table, counted in SQL."""
    named = fields(most)
    intake = StreamSpec(SCHEDULE, named, STATES, DropCounts(), bytes(range(32)), SystemClock())
    columns = {name: [str(given.get(name)) for given in tuples] for name in ("time", "ap", "user")}
    closed = [window for windows in TableWindows(columns, intake).windows_after(0) for window in windows]
    return np.array([[*window.counts, *window.uncounted] for window in closed])


def test_a_user_of_a_finished_table_moves_it_as_far_as_one_of_a_live_stream() -> None:
    """All came in time: what has no step of its own counts in step 1. Random tables; each user is taken out once."""
    generator = np.random.default_rng(8)
    for most in (None, 1, 2):
        for _ in range(6):
            tuples = [
                {"time": TIMES[time], "ap": ("a", "b", "gone")[state], "user": "uvw"[user]}
                for time, state, user in generator.integers(0, (5, 3, 3), (12, 3))
            ]
            whole = at_rest(tuples, most)
            step_of = [2 if given["time"] == 15 else 1 for given in tuples]
            if most is None:
                assert whole.sum(axis=1).tolist() == [step_of.count(1), step_of.count(2)]
                streamed = [(5, given) for given in tuples]
                np.testing.assert_array_equal(whole, tables(streamed, None)[0])
                continue
            for user, step in product("uvw", (1, 2)):
                rest = [each for each, at in zip(tuples, step_of, strict=True) if (each["user"], at) != (user, step)]
                moved, sent = whole - at_rest(rest, most), len(tuples) - len(rest)
                assert np.all(moved[2 - step] == 0)
                assert np.all(moved >= 0)
                assert moved[step - 1, :-1].sum() == min(sent, most)
                assert moved[step - 1, -1] == (sent > most)


FOREST = Forest.from_json({"all": {"left": ["a"], "right": ["b"]}})
TIME_STEPS = TimeStepQuery(STATES, 5)
CASES: list[tuple[Sequential[Any], Any, tuple[PrivacyLoss, ...]]] = [
    (Perturber(), TIME_STEPS, (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3"))),
    (Hierarchy(), HierarchyQuery.from_forest("ap", FOREST, 5), (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3"))),
    (TreeCounter(), TIME_STEPS, (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3"))),
    (BufferedCounter(), TIME_STEPS, (PrivacyLoss.zcdp("0.3"),)),
    (Pegasus(), GroupedTimeStepQuery(STATES, 5), (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3"))),
    (PrunedHierarchy(), PrunedQuery.from_forest("ap", FOREST, 5), (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.3"))),
]


def spent(noise: Noise, shift: Fraction | int, tuples: int, *, is_pure: bool) -> Fraction:
    """What so many tuples cost that each shift a draw by this: closed forms of integer noises.

    Laplace noise under a zero-concentrated loss is worth half the square of its epsilon.
    """
    if noise.family is Family.LAPLACE:
        epsilon = tuples * shift / noise.parameter
        return Fraction(epsilon if is_pure else epsilon**2 / 2)
    return Fraction((tuples * shift) ** 2 / (2 * noise.parameter))


def cost(distribution: Any, plan: Plan, tuples: int) -> Fraction:
    """The most that so many tuples of a unit in one time step cost under a distribution of streams, all in one
    place."""
    pure = plan.loss.is_pure
    if isinstance(distribution, IntervalSums):
        return spent(distribution.levels[0].noise, 1, tuples, is_pure=pure)
    if isinstance(distribution, TreeCounts):
        (epoch,) = distribution.epochs
        return sum((spent(noise, 1, tuples, is_pure=pure) for noise in epoch.tree.noises), Fraction(0))
    if isinstance(distribution, HierarchyCounts):
        above = [distribution.noises[node] for node in (0, 1, 3)]  # all, left, a
        return sum((spent(noise, 1, tuples, is_pure=pure) for noise in above if noise is not None), Fraction(0))
    if isinstance(distribution, BufferedPrefixes):
        decays = tuple(int(decay * 2**64) for decay in distribution.decays)
        return Fraction(tuples**2 * squared_sensitivity(Buffers(decays, distribution.weights), distribution.runs)) / (
            2 * distribution.noise.parameter
        )
    if isinstance(distribution, GroupedCounts):
        group = (
            tuples
            * DEVIATION_CHANGE
            * LATTICE_UNITS_PER_TUPLE
            * (1 / distribution.threshold_noise.parameter + 2 / distribution.test_noise.parameter)
        )
        return spent(distribution.noise, 1, tuples, is_pure=pure) + (group if pure else group**2 / 2)
    assert isinstance(distribution, PrunedCounts)
    query: Any = plan.query
    rule = division_rule(query, plan.loss, plan.adjacency)
    path = 2 if pure else 2 + 1  # two divisions, of which the lower one's scores may not be negative: C is 2
    chosen = tuples * path / rule.noise.parameter
    return spent(distribution.noise, 1, tuples, is_pure=pure) + (chosen if pure else chosen**2 / 8)


@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize(("mechanism", "query", "losses"), CASES, ids=lambda each: type(each).__name__)
def test_however_a_unit_is_split_between_counts_and_reasons_it_loses_what_is_claimed(
    mechanism: Sequential[Any], query: Any, losses: Sequence[PrivacyLoss], most: int | None
) -> None:
    """For every split of its tuples, with and without 1 beyond the cap: exact losses of all noises add up."""
    adjacency = AddRemove(EACH_RECORD if most is None else Unit("user in one step", most))
    for loss in losses:
        plan = WithUncountedTotals(mechanism).plan(query, loss, adjacency)
        plans, distribution = split_plan(plan), plan.distribution.require_type(CountsAndUncountedTotals)
        assert plan.loss == loss
        claimed = loss.rho if loss.epsilon is None else loss.epsilon
        records = most or 1
        found = [
            cost(distribution.counts, plans.counts, inside)
            + cost(distribution.uncounted, plans.uncounted, records - inside)
            + (0 if distribution.users_beyond_cap is None else cost(distribution.users_beyond_cap, plans.uncounted, 1))
            for inside in range(records + 1)
        ]
        assert max(found) <= claimed
        assert max(found) >= claimed * Fraction(9, 10)
        assert distribution.beyond_fraction == (0 if most is None else BEYOND_FRACTION)
        assert (distribution.users_beyond_cap is None) == (most is None)
        before = mechanism.plan(query, loss, adjacency)
        if most is None:  # what it costs to know what is not counted: nothing
            assert distribution.counts == before.distribution


def test_values_are_counts_then_totals_so_far_and_a_stored_state_goes_on_as_the_one_in_memory() -> None:
    mechanism = WithUncountedTotals(TreeCounter())
    for most, keys in ((None, 6), (2, 7)):
        adjacency = AddRemove(EACH_RECORD if most is None else Unit("user in one step", most))
        for loss, is_exact in ((PrivacyLoss.pure(10_000), True), (PrivacyLoss.pure(1), False)):
            plan = mechanism.plan(TIME_STEPS, loss, adjacency)
            state, restored, total = mechanism.begin(plan), mechanism.begin(plan), np.zeros(keys, dtype=np.int64)
            assert plan.distribution.size == keys
            for time_step in range(1, 6):
                table = np.arange(keys) * time_step
                total += table
                seed = time_step if is_exact else 100 + time_step
                values, state = mechanism.step(table, time_step, state, plan, Randomness.from_seed(seed))
                again, restored = mechanism.step(table, time_step, restored, plan, Randomness.from_seed(seed))
                assert values == again
                restored = mechanism.restore_state(restored.to_bytes(), plan)
                assert restored.to_bytes() == state.to_bytes()
                if is_exact:
                    assert list(values) == total.tolist()
            assert "counts=" not in repr(state)


def test_draws_of_counts_reasons_and_users_are_independent() -> None:
    """Correlations of 4,000 first steps of nothing; each beyond 5 sigma with a chance below 1e-6."""
    plan = WithUncountedTotals(Perturber()).plan(TimeStepQuery(STATES, 1), PrivacyLoss.pure(1), AddRemove(Unit("u", 1)))
    mechanism, randomness = WithUncountedTotals(Perturber()), Randomness.from_seed(3)
    zero = np.zeros(7, dtype=np.int64)
    drawn = [mechanism.step(zero, 1, mechanism.begin(plan), plan, randomness)[0] for _ in range(4000)]
    correlations = np.corrcoef(np.array(drawn, dtype=np.float64).T) - np.eye(7)
    assert np.abs(correlations).max() < 5 / np.sqrt(4000)


def test_under_replace_one_no_plan_is_made_and_a_distribution_comes_back_from_json() -> None:
    with pytest.raises(UnsupportedQuery, match="^adjacency: "):
        WithUncountedTotals(Perturber()).plan(TIME_STEPS, PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, 3))
    for adjacency in (AddRemove(EACH_RECORD), AddRemove(Unit("user", 2))):
        distribution = WithUncountedTotals(Perturber()).plan(TIME_STEPS, PrivacyLoss.pure(1), adjacency).distribution
        assert (
            CountsAndUncountedTotals.from_json(distribution.to_json(distribution.blank_values(), None)) == distribution
        )
