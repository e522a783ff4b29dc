"""Drift over windows of a stream: the statistics of released curves, alarms as rare as they should be, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.distributions import Family
from dpcurves_streams import Counts, DriftWatch, TimeStepReading
from dpcurves_streams.readings.question import NoisyValues

GRID = dp.Grid(0, 1, cells=10)
STATISTICS = ("psi", "ks", "wasserstein", "auc")
"""Those of counts in cells: a reading counts no missing values."""
STATES = dp.Categories("ap", ("cafeteria", "gym", "library"))


def counted(time_step: int, values: Any, draw: np.random.Generator, scale: float = 1.0) -> TimeStepReading:
    """The reading of a window whose counts have Laplace noise."""
    counts = np.bincount(GRID.cell_of(values), minlength=10).astype(np.float64) + (
        draw.laplace(0, scale, 10).round() if scale else np.zeros(10)
    )
    noisy = NoisyValues(Family.LAPLACE, counts, 2**0.5 * scale)
    return TimeStepReading(time_step, counts, {}, {}, noisy=noisy, noisy_windows={})


def test_of_years_without_a_change_about_as_many_alarm_as_may() -> None:
    """At one half of years of four windows, of which three quarters are used: of 60 years."""
    false = dict.fromkeys(STATISTICS, 0)
    for year in range(60):
        draw = np.random.default_rng(year)
        watch = DriftWatch(GRID, counted(0, draw.beta(2, 3, 4000), draw), windows_per_year=4, false_alarm_rate=0.5)
        windows = (counted(time_step, draw.beta(2, 3, draw.poisson(400)), draw) for time_step in range(4))
        for word in {word for window in windows for word in watch.compare_window(window).alarms}:
            false[word] += 1
    assert all(8 < each < 42 for each in false.values())


def test_a_window_that_has_moved_raises_alarms_and_values_are_those_of_released_curves() -> None:
    draw = np.random.default_rng(7)
    before, later = draw.beta(2, 3, 4000), draw.beta(3, 2, 800)
    watch = DriftWatch(GRID, counted(0, before, draw, 0.0), windows_per_year=52)
    found = watch.compare_window(counted(1, later, draw, 0.0))
    assert found.alarms == STATISTICS
    curves = [dp.histogram(each, grid=GRID, epsilon=10**9, adjacency=dp.REPLACE_ONE) for each in (before, later)]
    released = {word: shift for (_, word), shift in dp.drift(*curves).statistics.items() if word != "missing"}
    assert found.statistics.keys() == released.keys()
    for word, shift in released.items():
        assert found.statistics[word].value == pytest.approx(shift.value, abs=1e-9)


def test_states_of_a_stream_are_watched_as_categories() -> None:
    """At most 34 of 40 unchanged years of four windows at one half alarm (more with probability 1e-6 at that rate);
    a window of other states alarms, and its values are those of released bar charts."""
    draw, shares = np.random.default_rng(5), [0.7, 0.28, 0.02]

    def count_states(time_step: int, size: int, distribution: list[float], scale: float = 2.0) -> TimeStepReading:
        noise = draw.laplace(0, scale, 3).round() if scale else np.zeros(3)
        counts = draw.multinomial(size, distribution) + noise
        noisy = NoisyValues(Family.LAPLACE, counts, 2**0.5 * scale)
        return TimeStepReading(time_step, counts, {}, {}, noisy=noisy, noisy_windows={})

    years = 0
    for _ in range(40):
        watch = DriftWatch(STATES, count_states(0, 3000, shares), windows_per_year=4, false_alarm_rate=0.5)
        years += any(watch.compare_window(count_states(time_step, 250, shares)).alarms for time_step in range(1, 5))
    assert 2 <= years <= 34
    exact = [
        count_states(time_step, size, distribution, 0.0)
        for time_step, size, distribution in ((0, 4000, shares), (1, 900, [0.4, 0.3, 0.3]))
    ]
    found = DriftWatch(STATES, exact[0], windows_per_year=52).compare_window(exact[1])
    assert found.alarms == ("psi", "chi_squared", "tv")
    tables = [np.repeat(STATES.values, reading.counts.astype(int)) for reading in exact]
    charts = [
        dp.bar_chart(table, categories=STATES.values, other=False, epsilon=10**9, adjacency=dp.ADD_REMOVE)
        for table in tables
    ]
    released = dp.drift(*charts).statistics
    for statistic in ("psi", "tv"):
        assert found.statistics[statistic].value == pytest.approx(released["now", statistic].value, abs=1e-6)


def test_it_watches_what_a_stream_releases() -> None:
    draw = np.random.default_rng(3)
    table = {"time": np.repeat(np.arange(8.0), 500), "x": draw.random(4000)}
    question = Counts((dp.data.Axis("x", GRID),), 8, windows=(2,))
    loss = dp.PrivacyLoss.pure(1)
    steps = list(dp.streams.follow(table, question, loss=loss, store="sqlite://", start=0, every=1, end=8))
    readings = [step.reading for step in steps if isinstance(step.reading, TimeStepReading)]
    watch = DriftWatch(GRID, readings[3], windows_per_year=12, width=2, reference_width=2)
    assert watch.compare_window(readings[5]).time_step == 6
    assert len(watch.compare_window(readings[7]).statistics) == 4


def follow_states(size: int, missing: list[float], seed: int) -> list[Any]:
    """Steps of a stream of 16 steps, with this share of tuples without a listed state in each quarter."""
    draw = np.random.default_rng(seed)
    unlisted = draw.random(16 * size) < np.repeat(missing, 4 * size)
    states = np.where(unlisted, "bar", np.array(STATES.values)[draw.integers(0, 3, 16 * size)])
    table = {"time": np.repeat(np.arange(16.0), size), "ap": states}
    question, loss = Counts((STATES,), 16, windows=(4,)), dp.PrivacyLoss.pure("0.5")
    noise = dp.Randomness.from_seed(seed)
    settings: dict[str, Any] = {"store": "sqlite://", "start": 0, "every": 1, "end": 16, "randomness": noise}
    return list(dp.streams.follow(table, question, loss=loss, **settings))


@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_shares_of_uncounted_tuples_are_watched() -> None:
    """Before, tuples in a state that nobody listed raised no alarm. Of 72 unchanged shares 27 may alarm on average at
    this rate: more than 40 with probability 1e-3. Fewer do, since noises of both windows are taken to add up."""
    settings: dict[str, Any] = {"width": 4, "reference_width": 4, "windows_per_year": 1, "false_alarm_rate": 0.5}
    false = 0
    for seed in range(6):
        steps = follow_states(100, [0.1] * 4, seed)
        watch = DriftWatch(STATES, steps[3].reading, uncounted=steps[3].uncounted, **settings)
        for step in steps[7::4]:
            alarms = watch.compare_window(step.reading, step.uncounted).alarms
            false += sum(alarm.startswith("uncounted") for alarm in alarms)
    assert 4 < false <= 40
    steps = follow_states(100, [0.1, 0.1, 0.1, 0.5], 1)
    watch = DriftWatch(STATES, steps[3].reading, uncounted=steps[3].uncounted, **{**settings, "false_alarm_rate": 0.01})
    moved = watch.compare_window(steps[15].reading, steps[15].uncounted)
    assert "uncounted: other state" in moved.alarms
    assert "uncounted: late" not in moved.alarms
    assert moved.statistics["uncounted: other state"].value == pytest.approx(0.4, abs=0.1)
    with pytest.raises(TypeError, match="^uncounted: the reading of uncounted tuples"):
        watch.compare_window(steps[15].reading)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"grid": dp.Grid(0, 1, cells=4)}, "grid: must have as many cells as the stream has counts, 10"),
        ({"width": 3}, "width: must be 1 or a window of the question"),
        ({"windows_per_year": 0}, "windows_per_year: at least 1 window per year"),
        ({"false_alarm_rate": 1.5}, "false_alarm_rate: "),
        ({"false_alarm_rate": 1e-9}, "draws"),
    ],
)
def test_what_cannot_be_watched_is_refused(given: dict[str, Any], words: str) -> None:
    draw = np.random.default_rng(1)
    first = counted(0, draw.random(100), draw)
    with pytest.raises(ValueError, match=words):
        DriftWatch(**{"grid": GRID, "reference": first, "windows_per_year": 52, **given}).compare_window(first)
