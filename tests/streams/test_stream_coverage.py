"""Intervals of streams: how often they cover what was counted, from both sides, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcurves.data import Categories
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.queries import Forest
from dpcurves_streams.readings import AggregatedCounts, Counts, Groups, PrunedStates, Smoothing, Totals

ONE = AddRemove(EACH_RECORD)
KEYS, TIME_STEPS, WIDTH, RUNS = 240, 12, 4, 4
NAMES = tuple(f"s{number}" for number in range(KEYS))
STATES = (Categories("ap", NAMES),)
FOREST = Forest.from_sets({f"g{first}": NAMES[first : first + 6] for first in range(0, KEYS, 6)})
BUSY, SPARSE = 1000, 0.05
QUESTIONS: dict[str, Any] = {
    "auto": Counts(STATES, TIME_STEPS, (WIDTH,)),
    "plain": Counts(STATES, TIME_STEPS, (WIDTH,), smoothing=Smoothing.PLAIN),
    "groups": Groups(STATES, TIME_STEPS, (WIDTH,)),
    "aggregated": AggregatedCounts("ap", FOREST, TIME_STEPS, (WIDTH,)),
    "totals": Totals(STATES, TIME_STEPS),
    "windows": Totals(STATES, TIME_STEPS, (WIDTH,), FOREST),
}


def members(question: Any) -> np.ndarray[Any, Any]:
    """Which states each number adds up, (states, numbers)."""
    groups = getattr(question, "forest", None)
    above = [] if groups is None else [np.isin(np.arange(KEYS), each) for each in groups.members]
    return np.array([*above, *np.eye(KEYS)], dtype=np.int64).T


@pytest.mark.reproduction
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1), PrivacyLoss.pure(4), PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize("kind", QUESTIONS)
def test_of_all_intervals_as_many_cover_as_is_said_and_not_many_more(kind: str, loss: PrivacyLoss) -> None:
    """All numbers of the last time step, in 4 runs, whose noises are independent but for those of aggregations.

    Below 95% by less than 4 sigma. Above: the quantile of one Laplace draw covers 96.6% where many are added up, and
    integers round it up, to 98% here; but what is shown lies in its interval, too, which then covers still more.
    """
    question, all_of = QUESTIONS[kind], members(QUESTIONS[kind])
    plan, level = STREAMS.plan(question.query, loss, ONE), 0.95
    for mean in (BUSY, SPARSE):
        generator, covered, alone = np.random.default_rng(7), list[Any](), list[Any]()
        for run in range(RUNS):
            stream = generator.poisson(mean, (TIME_STEPS, KEYS))
            state, reader, randomness = STREAMS.begin(plan), question.reader(plan), Randomness.from_seed(run)
            for time_step, table in enumerate(stream, start=1):
                values, state = STREAMS.step(table, time_step, state, plan, randomness)
                found = reader.read_next(values)
            exact = (stream.sum(axis=0) if isinstance(question, Totals) else stream[-1]) @ all_of
            low, high = found.interval(level)
            covered.append((low <= exact) & (exact <= high))
            if question.windows:
                sums = stream[-WIDTH:].sum(axis=0) @ all_of
                low, high = found.window_interval(WIDTH, level)
                covered.append((low <= sums) & (sums <= high))
            if not isinstance(question, Totals):
                low, high = found.noisy.interval(level, np.maximum(found.noisy.values, 0))
                alone.append((low <= exact) & (exact <= high))
        sigma = np.sqrt(level * (1 - level) / (RUNS * KEYS))
        assert np.mean(covered) >= level - 4 * sigma
        if mean == BUSY:
            assert level - 4 * sigma <= np.mean(alone or covered) <= 0.98 + 4 * sigma


def test_intervals_are_wider_at_higher_levels_hold_what_is_shown_and_say_what_they_cover() -> None:
    question = Counts(STATES, TIME_STEPS, (WIDTH,))
    plan = STREAMS.plan(question.query, PrivacyLoss.pure("0.2"), ONE)
    reader = question.reader(plan)
    for values in np.random.default_rng(1).integers(-9, 99, (5, KEYS)):
        found = reader.read_next(values.tolist())
        sums = found.windows[WIDTH]
        cases = ((found.interval(0.5), found.counts), (found.interval(0.999), found.counts),
                 (found.window_interval(WIDTH, 0.9), sums))  # fmt: skip
        for (low, high), shown in cases:
            assert np.all((low >= 0) & (low <= shown) & (shown <= high))
        assert np.all(found.interval(0.999)[1] > found.interval(0.5)[1])
    line = found.to_json(3)
    assert (line["level"], line["covers"]) == (0.95, "for these records")
    assert line["low"] <= line["count"] <= line["high"]
    assert line[f"window:{WIDTH}:low"] <= line[f"window:{WIDTH}"] <= line[f"window:{WIDTH}:high"]
    for wrong in (0, 1, 1.5):
        with pytest.raises(ValueError, match="^level: "):
            found.interval(wrong)
    with pytest.raises(ValueError, match="^width: "):
        found.window_interval(3, 0.9)


def test_where_parts_of_a_hierarchy_were_left_out_nothing_is_said() -> None:
    question = PrunedStates("ap", FOREST, 5, TIME_STEPS, (WIDTH,))
    plan = STREAMS.plan(question.query, PrivacyLoss.pure(1), ONE)
    values, _ = STREAMS.step(np.ones(KEYS, dtype=np.int64), 1, STREAMS.begin(plan), plan, Randomness.from_seed(1))
    found = question.reader(plan).read_next(values)
    assert found.to_json(0).keys() == {"count", f"window:{WIDTH}"}
    with pytest.raises(ValueError, match="^level: a pruned hierarchy has no intervals"):
        found.interval(0.9)
    with pytest.raises(ValueError, match="^level: a pruned hierarchy has no intervals"):
        found.window_interval(WIDTH, 0.9)
