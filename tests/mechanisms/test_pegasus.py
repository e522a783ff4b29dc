"""The Grouper and the Perturber: their exact laws on all tiny neighbouring streams, an oracle, and the state."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import floor

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, IntArray

from dpcurves.data import Categories, Forest
from dpcurves.laws import GroupedCounts, Noise
from dpcurves.mechanisms import STREAMS, Pegasus
from dpcurves.mechanisms.streams.deviations import COLUMNS, LARGEST, UNIT, group, trees_of
from dpcurves.mechanisms.streams.pegasus import Grouped
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import GroupedTickQuery, TickQuery
from dpcurves.release import Plan, UnsupportedQuery

ONE = AddRemove(EACH_RECORD)
STATES = (Categories("state", ("a",)),)


def deviation(values: tuple[int, ...]) -> int:
    """On the lattice, rounded down."""
    mean = Fraction(sum(values), len(values))
    return floor(UNIT * sum(abs(value - mean) for value in values))


def chance_below(noise: Noise, limit: IntArray) -> IntArray:
    """The chance of a draw below m: ``r**(1 - m) / (1 + r)`` for m up to 0, and by symmetry above."""
    rate = 1 / float(noise.parameter)
    far = np.exp(-rate * np.where(limit <= 0, 1 - limit, limit)) / (1 + np.exp(-rate))
    chances: IntArray = np.where(limit <= 0, far, 1 - far)
    return chances


class Exact:
    """The law of decisions, exactly: a sum over the noise of each group's threshold."""

    def __init__(self, law: GroupedCounts) -> None:
        reach = 45 * int(law.common.parameter + 1)
        noise = np.arange(-reach, reach + 1)
        rate = 1 / float(law.common.parameter)
        self._weights, self._own = np.exp(-rate * abs(noise)) * np.tanh(rate / 2), law.own
        self._thresholds = law.threshold + noise

    @cache  # noqa: B019
    def chance_of_group(self, values: tuple[int, ...], closes: bool) -> float:
        """That the first joins with those behind it, one by one, and, if it closes, the last one does not."""
        chances = self._weights.copy()
        for length in range(2, len(values) + 1):
            joins = chance_below(self._own, self._thresholds - deviation(values[:length]))
            chances = chances * (1 - joins if closes and length == len(values) else joins)
        return float(chances.sum())

    def log_law(self, stream: tuple[int, ...]) -> list[float]:
        """Logarithms of the chances of all decisions after the first tick."""
        return [self._log_chance(stream, joined) for joined in product((0, 1), repeat=len(stream) - 1)]

    def _log_chance(self, stream: tuple[int, ...], joined: tuple[int, ...]) -> float:
        total, start, tick = 0.0, 0, 1
        while start < len(stream):
            while tick < len(stream) and joined[tick - 1]:
                tick += 1
            closes = tick < len(stream)
            total += float(np.log(self.chance_of_group(stream[start : tick + closes], closes)))
            start, tick = tick + 1, tick + 2
            if start < len(stream) and joined[start - 1]:
                return -np.inf  # what follows a closed group joins nothing
        return total


def near(stream: tuple[int, ...], moves: bool) -> Iterator[tuple[int, ...]]:
    """Streams with one tuple more; or with one that lies elsewhere."""
    for tick, value in enumerate(stream):
        more = (*stream[:tick], value + 1, *stream[tick + 1 :])
        yield more
        if moves:
            yield from (
                (*more[:other], more[other] - 1, *more[other + 1 :])
                for other in range(len(more))
                if other != tick and more[other] > 0
            )


@pytest.mark.parametrize("adjacency", [ADJACENCIES[0], ADJACENCIES[2]], ids=repr)
def test_no_decisions_of_neighbouring_streams_lose_more_than_is_claimed(adjacency: AddRemove) -> None:
    """All streams of up to 6 ticks (4, where tuples move) with at most 2 tuples each, and one more."""
    moves = adjacency is ADJACENCIES[2]
    query = GroupedTickQuery(STATES, None, share=Fraction(4, 5), deviation=Fraction(4))
    law = Pegasus().plan(query, PrivacyLoss.pure(5), adjacency).law.required(GroupedCounts)
    exact, worst = Exact(law), 0.0
    laws = cache(lambda stream: np.array(exact.log_law(stream)))
    for length in (1, 2, 3, 4) if moves else (1, 2, 3, 4, 5, 6):
        for stream in product(range(3), repeat=length):
            ours = laws(stream)
            assert np.exp(ours).sum() == pytest.approx(1, abs=1e-9)
            kept = np.isfinite(ours)
            worst = max(worst, *(abs(ours[kept] - laws(other)[kept]).max() for other in near(stream, moves)))
    assert 0.5 < worst <= 4 + 1e-9
    noise = law.noise.parameter  # the Perturber loses the rest: its shift over its scale
    assert adjacency.l1_sensitivity / noise == 1


def test_what_is_decided_is_what_the_paper_says_with_these_noises() -> None:
    generator = np.random.default_rng(1)
    for mean, threshold in ((0.3, 60), (3, 400), (20, 900), (300, 9000)):
        values = generator.poisson(mean, (300, 2))
        common, own = threshold + generator.integers(-50, 51, (300, 2)), generator.integers(-80, 81, (300, 2))
        trees = trees_of(np.zeros((2, 1), np.int64), 1024)
        found = group(values, common, own, np.zeros((2, COLUMNS), np.int64), trees)
        for key in range(2):
            assert found[:, key].tolist() == by_hand(values[:, key].tolist(), common[:, key], own[:, key])


def by_hand(values: list[int], common: IntArray, own: IntArray) -> list[int]:
    joined, members, threshold, is_open = [], tuple[int, ...](), 0, False
    for tick, value in enumerate(values):
        if not is_open:
            members, threshold, is_open = (value,), int(common[tick]), True
            joined.append(0)
        elif deviation((*members, value)) + own[tick] < threshold:
            members = (*members, value)
            joined.append(1)
        else:
            is_open = False
            joined.append(0)
    return joined


def test_example_7_of_the_paper() -> None:
    values = np.array([[5], [5], [6], [9], [10]])
    exact = np.zeros((5, 1), np.int64)
    found = group(values, exact + 2 * UNIT, exact, np.zeros((1, COLUMNS), np.int64), trees_of(exact[:1], 64))
    assert found[:, 0].tolist() == [0, 1, 1, 0, 0]  # {1, 2, 3}, {4}, {5}


def plan_of(keys: int) -> Plan:
    query = GroupedTickQuery((Categories("state", tuple(range(keys))),), None)
    return STREAMS.plan(query, PrivacyLoss.pure("0.5"), ONE)


def test_states_come_back_grow_and_may_be_stepped_again_but_not_once_two_steps_were_taken() -> None:
    mechanism, plan = Pegasus(), plan_of(3)
    generator = np.random.default_rng(2)
    state = ours = mechanism.begin(plan)
    for tick in range(1, 120):
        table = generator.poisson((0.1, 5, 70 if tick % 7 else 10**9)).astype(np.int64)
        first, after = mechanism.step(table, tick, state, plan, Randomness.from_seed(tick))
        again, same = mechanism.step(table, tick, state, plan, Randomness.from_seed(tick))
        fresh, ours = mechanism.step(table, tick, ours, plan, Randomness.from_seed(tick))
        assert first == again == fresh
        assert after == same == ours
        before, state, ours = state, same, mechanism.restored(ours.to_bytes(), plan)
        if tick == 100:
            mechanism.step(table, tick + 1, state, plan, Randomness.from_seed(0))
            with pytest.raises(ValueError, match="state: two steps were taken from here"):
                mechanism.step(table, tick, before, plan, Randomness.from_seed(0))
    assert isinstance(state, Grouped)
    assert int(state.kept[:, 3].max()) <= LARGEST


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="question: groups of ticks"):
        Pegasus().plan(TickQuery(STATES), PrivacyLoss.pure(1), ONE)
    with pytest.raises(UnsupportedQuery, match="needs more noise than"):
        Pegasus().plan(GroupedTickQuery(STATES), PrivacyLoss.pure(Fraction(1, 2**45)), ONE)
    for wrong in ({"share": 0}, {"share": 1}, {"deviation": -1}, {"deviation": 2001}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GroupedTickQuery(STATES, **wrong)  # type: ignore[arg-type]


def test_aggregations_are_grouped_each_on_its_own_with_a_part_of_the_loss_for_each_level() -> None:
    forest = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
    axes = (Categories("ap", forest.states),)
    plan = Pegasus().plan(GroupedTickQuery(axes, forest=forest), PrivacyLoss.pure(3), ONE)
    alone = Pegasus().plan(GroupedTickQuery(axes), PrivacyLoss.pure(1), ONE)
    one, other = (each.law.required(GroupedCounts) for each in (plan, alone))
    assert forest.levels == 3
    assert (one.keys, one.noise, one.common, one.own) == (6, other.noise, other.common, other.own)
    sure = Pegasus().plan(GroupedTickQuery(axes, forest=forest), PrivacyLoss.pure(10**4), ONE)
    state = Pegasus().begin(sure)
    for tick in range(1, 4):
        values, state = Pegasus().step(np.array([tick, 5, 7]), tick, state, sure, Randomness.from_seed(tick))
        assert values[:6] == (tick + 12, tick + 5, 7, tick, 5, 7)
    assert values[6:] == (0, 0, 1, 0, 1, 1)
    flat = Forest.of({"x": ["a"], "y": ["b", "c"]})
    assert flat.levels == 2
    with pytest.raises(ValueError, match="hierarchy: the axis has the states"):
        GroupedTickQuery(STATES, forest=forest)
