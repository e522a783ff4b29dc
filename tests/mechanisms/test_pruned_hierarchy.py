"""Pruned hierarchies: the exact distribution of decisions on all tiny neighbouring streams, what is released, and
readings."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import log

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, neighbours, streams

from dpcurves.conversation import UnsupportedQuery
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.distributions import PrunedCounts
from dpcurves_streams.mechanisms import STREAMS, PrunedHierarchy
from dpcurves_streams.mechanisms.hierarchy import DivisionRule, division_rule
from dpcurves_streams.queries import Forest, TimeStepQuery
from dpcurves_streams.readings import Low, PrunedStates

ONE = AddRemove(EACH_RECORD)
CHAIN = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
SMALL = Forest.from_json({"all": {"left": ["a"], "right": ["b"]}})
DEEP = Forest.from_sets({f"{first} on": [f"s{each}" for each in range(first, 6)] for first in range(5)})


def log_chances(forest: Forest, rule: DivisionRule, stream: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The logarithm of the chance of every set of decisions at a time step, in closed form."""
    ratio = np.exp(-1 / float(rule.noise.parameter))
    sums = [sum(stream[state] for state in members) for members in forest.members]
    found = {}
    for divided in product((0, 1), repeat=len(sums)):
        total = 0.0
        for group, own in enumerate(divided):
            parent = forest.parents[group]
            if parent >= 0 and not divided[parent]:
                total += -np.inf if own else 0.0
                continue
            score = max(sums[group] - int(rule.offsets[group]), -rule.decay)
            chance = ratio ** (1 - score) / (1 + ratio) if score <= 0 else 1 - ratio**score / (1 + ratio)
            total += log(chance if own else 1 - chance)
        if total > -np.inf:
            found[divided] = total
    assert sum(map(np.exp, found.values())) == pytest.approx(1)
    return found


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("least", [0, 2])
def test_decisions_of_neighbouring_time_steps_lose_no_more_than_their_share(least: int, adjacency: Adjacency) -> None:
    question = PrunedStates("ap", CHAIN, least, budget_fraction=Fraction(1, 2))
    rule, worst = division_rule(question.query, PrivacyLoss.pure(2), adjacency), 0.0
    for stream in streams(3, 1, 2):
        ours = log_chances(CHAIN, rule, tuple(stream[0].tolist()))
        for other in neighbours(stream, adjacency):
            theirs = log_chances(CHAIN, rule, tuple(other[0].tolist()))
            worst = max(worst, *(abs(ours[each] - theirs[each]) for each in ours))
    assert 0.05 < worst <= 1 + 1e-9


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(2), PrivacyLoss.zcdp("0.5")], ids=str)
def test_decisions_and_counts_of_three_time_steps_lose_no_more_than_is_claimed(
    loss: PrivacyLoss, adjacency: Adjacency
) -> None:
    """Tuples that come, go or move, in time too: all neighbours of streams of three time steps over a forest of two
    levels.

    Given the stream, time steps are independent, and counts of a time step given its decisions are: log ratios and
    divergences add up. The distribution of noises is that of `plan`; counts are shifted where decisions let them be
    seen.
    """
    question = PrunedStates("ap", SMALL, 1, budget_fraction=Fraction(1, 2))
    distribution = PrunedHierarchy().plan(question.query, loss, adjacency).distribution.require_type(PrunedCounts)
    rule, scale = division_rule(question.query, loss, adjacency), float(distribution.noise.parameter)

    @cache
    def chances(table: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        return log_chances(SMALL, rule, table)

    @cache
    def lost(ours: tuple[int, ...], theirs: tuple[int, ...]) -> float:
        """Epsilon, or rho at a few orders, of one time step."""
        sums = [sum(theirs[each] - ours[each] for each in members) for members in SMALL.members]
        change = np.array([*sums, *np.subtract(theirs, ours)])
        seen = {each: change[distribution.mark_frontier(np.array(each) > 0)] for each in chances(ours)}
        if loss.is_pure:
            ratios = {each: chances(ours)[each] - chances(theirs)[each] for each in seen}
            return max(ratio + float(abs(seen[each]).sum()) / scale for each, ratio in ratios.items())
        found = []
        for order in (1.01, 2.0, 8.0):
            terms = [order * chances(ours)[each] - (order - 1) * chances(theirs)[each]
                     + order * (order - 1) * float(np.square(shift).sum()) / (2 * scale)
                     for each, shift in seen.items()]  # fmt: skip
            found.append(log(np.exp(terms).sum()) / (order * (order - 1)))
        return max(found)

    worst = 0.0
    for stream in streams(2, 3, 3 - adjacency.unit.records):
        rows = [tuple(row) for row in stream.tolist()]
        for other in neighbours(stream, adjacency):
            others = [tuple(row) for row in other.tolist()]
            moved = [pair for pair in zip(rows, others, strict=True) if pair[0] != pair[1]]
            worst = max(worst, sum(lost(one, two) for one, two in moved), sum(lost(two, one) for one, two in moved))
    claimed = float(loss.rho if loss.epsilon is None else loss.epsilon)
    assert claimed / 3 < worst <= claimed + 1e-9


def test_a_deep_path_loses_no_more_than_its_share() -> None:
    """All counts along a path of five aggregations, at and around the scores where most is lost."""
    question = PrunedStates("ap", DEEP, 3, budget_fraction=Fraction(1, 2))
    rule, worst = division_rule(question.query, PrivacyLoss.pure(2), ONE), 0.0
    for many in range(0, 60):
        for stream in ((0, 0, 0, 0, 0, many), (1, 1, 1, 1, 1, many), (0, 9, 0, 9, 0, many)):
            ours = log_chances(DEEP, rule, stream)
            theirs = log_chances(DEEP, rule, (*stream[:5], many + 1))
            worst = max(worst, *(abs(ours[each] - theirs[each]) for each in ours))
    assert 0.6 < worst <= 1 + 1e-9


def test_what_is_counted_covers_every_state_once() -> None:
    question = PrunedStates("ap", DEEP, 1)
    plan = PrunedHierarchy().plan(question.query, PrivacyLoss.pure(1), ONE)
    distribution, seen = plan.distribution.require_type(PrunedCounts), set()
    assert distribution.noise.parameter == Fraction(5, 4)  # the rest of the loss
    state = STREAMS.begin(plan)
    for time_step in range(1, 301):
        table = np.random.default_rng(time_step).integers(0, 30, 6)
        values, state = STREAMS.step(table, time_step, state, plan, Randomness.from_seed(time_step))
        divided = np.array(values[: distribution.groups]) > 0
        assert np.array_equal(distribution.mark_reached(divided), divided)
        kept = distribution.mark_frontier(divided)
        members = [*DEEP.members, *((number,) for number in range(6))]
        assert sorted(each for node in np.flatnonzero(kept) for each in members[node]) == list(range(6))
        assert not np.any(np.array(values[distribution.groups :])[~kept])
        seen.add(tuple(divided.tolist()))
    assert len(seen) > 3
    assert STREAMS.restore_state(state.to_bytes(), plan) == state


def test_without_noise_busy_states_are_exact_and_empty_aggregations_are_not_divided() -> None:
    question = PrunedStates("ap", CHAIN, 0, windows=(2,), events=(Low(2, 3),))
    plan = STREAMS.plan(question.query, PrivacyLoss.pure(10**4), ONE)
    state, reader = STREAMS.begin(plan), question.reader(plan)
    assert question.state_labels == tuple({"ap": name} for name in ("all", "left", "right", "a", "b", "c"))
    for time_step, table in enumerate(([5, 7, 0], [0, 0, 9], [0, 0, 0]), start=1):
        values, state = STREAMS.step(np.array(table), time_step, state, plan, Randomness.from_seed(time_step))
        found = reader.read_next(values)
        a, b, c = table
        np.testing.assert_allclose(found.counts, [a + b + c, a + b, c, a, b, c], atol=1e-9)
        assert values[1:3] == (int(a + b > 0), int(c > 0))
    assert found.events["low:2:3"].tolist() == [False, True, False, True, True, False]


def test_what_is_no_question_of_a_pruned_forest_is_refused() -> None:
    axes = PrunedStates("ap", CHAIN, 0).query.axes
    with pytest.raises(UnsupportedQuery, match="question: a hierarchy is not pruned"):
        PrunedHierarchy().plan(TimeStepQuery(axes), PrivacyLoss.pure(1), ONE)
    for least, share in ((-1, Fraction(1, 2)), (0, Fraction(1)), (0, Fraction(0))):
        with pytest.raises(ValueError, match="^(minimum|budget_fraction): (must be|a finite number above zero)"):
            _ = PrunedStates("ap", CHAIN, least, budget_fraction=share).query
