"""The question of totals so far: windows are differences, and deviations are those of the noise."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.data import Categories
from dpcurves.distributions import IntervalSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import TreeCounts
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.readings import Counts, Totals

STATES = (Categories("ap", ("a", "b")),)
ONE, HUGE = AddRemove(EACH_RECORD), PrivacyLoss.pure(200)


def test_without_noise_totals_and_windows_are_exact() -> None:
    question = Totals(STATES, windows=(1, 3))
    plan = STREAMS.plan(question.query, HUGE, ONE)
    reader, state, randomness = question.reader(plan), STREAMS.begin(plan), Randomness.from_seed(1)
    counts = np.random.default_rng(1).integers(0, 9, (40, 2))
    for time_step, table in enumerate(counts, start=1):
        values, state = STREAMS.step(table, time_step, state, plan, randomness)
        state = STREAMS.restore_state(state.to_bytes(), plan)
        found = reader.read_next(values)
        assert found.totals.tolist() == counts[:time_step].sum(axis=0).tolist()
        assert found.windows[3].tolist() == counts[max(time_step - 3, 0) : time_step].sum(axis=0).tolist()
        assert found.windows[1].tolist() == table.tolist()
    line = {name: value for name, value in found.to_json(1).items() if not name.endswith(("low", "high", "unbiased"))}
    stated = {"level": 0.95, "covers": "for these records"}
    assert line == {"total": found.totals[1], "window:1": table[1], "window:3": found.windows[3][1], **stated}


def test_deviations_are_those_of_the_errors() -> None:
    question = Totals(STATES, windows=(16,))
    plan = STREAMS.plan(question.query, PrivacyLoss.pure(1), ONE)
    randomness, errors = Randomness.from_seed(2), []
    for _ in range(300):
        reader, state = question.reader(plan), STREAMS.begin(plan)
        for time_step in range(1, 21):
            values, state = STREAMS.step(np.array([1, 0]), time_step, state, plan, randomness)
            found = reader.read_next(values)
        errors.append([*(found.noisy.values - [20, 0]), *(found.noisy_windows[16].values - [16, 0])])
    spread = np.square(errors).mean(axis=0)
    expected = np.concatenate([found.noisy.deviations, found.noisy_windows[16].deviations]) ** 2
    assert np.all(np.abs(spread / expected - 1) < 4 * np.sqrt(5 / 300))


def test_the_chooser_goes_by_what_is_read() -> None:
    for question, distribution in ((Counts(STATES), IntervalSums), (Totals(STATES), TreeCounts)):
        assert isinstance(STREAMS.plan(question.query, HUGE, ONE).distribution, distribution)
    with pytest.raises(ValueError, match="windows"):
        _ = Totals(STATES, windows=(0,)).query
