"""Points of streams obey what is true of counts: in their intervals, not negative, never falling, adding up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.data import Axis, Categories, Grid
from dpcurves.distributions import Family
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, Unit
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.queries import Forest
from dpcurves_streams.readings import AggregatedCounts, Counts, Groups, Low, PrunedStates, Smoother, Smoothing, Totals
from dpcurves_streams.readings.constrained import allocate_integers
from dpcurves_streams.readings.question import NoisyValues

IntArray = NDArray[np.int64]

NAMES = tuple(f"s{number}" for number in range(8))
STATES = (Categories("ap", NAMES),)
FOREST = Forest.from_json({"all": {"west": list(NAMES[:3]), "east": list(NAMES[3:7])}, "alone": ["s7"]})
TIME_STEPS, WIDTHS = 30, (12, 1, 3)
EVENTS = (Low(5, 3.0),)
QUESTIONS: dict[str, Any] = {
    "counts, auto": Counts(STATES, TIME_STEPS, WIDTHS, EVENTS),
    "counts, plain": Counts(STATES, TIME_STEPS, WIDTHS, EVENTS, Smoothing.PLAIN),
    "counts of a column": Counts((Axis("late", Grid(0, 8, cells=8)),), TIME_STEPS, WIDTHS),
    "groups, medians": Groups(STATES, TIME_STEPS, WIDTHS, EVENTS),
    "groups, means": Groups(STATES, TIME_STEPS, WIDTHS, smoother=Smoother.AVERAGE),
    "groups, James-Stein, aggregated": Groups(STATES, TIME_STEPS, WIDTHS, smoother=Smoother.JAMES_STEIN, forest=FOREST),
    "aggregated": AggregatedCounts("ap", FOREST, TIME_STEPS, WIDTHS, EVENTS),
    "pruned": PrunedStates("ap", FOREST, 4, TIME_STEPS, WIDTHS),
    "totals": Totals(STATES, TIME_STEPS),
    "totals without end": Totals(STATES, None),
    "totals and windows": Totals(STATES, TIME_STEPS, WIDTHS),
    "totals and windows, aggregated": Totals(STATES, TIME_STEPS, WIDTHS, FOREST),
    "totals, aggregated": Totals(STATES, TIME_STEPS, (), FOREST),
}
STREAMS_OF: dict[str, IntArray] = {
    "zero": np.zeros((TIME_STEPS, 8), dtype=np.int64),
    "sparse": np.random.default_rng(1).poisson(0.05, (TIME_STEPS, 8)),
    "tied": np.full((TIME_STEPS, 8), 7),
    "dense": np.random.default_rng(2).poisson(2000, (TIME_STEPS, 8)),
    "one burst, then nothing": np.vstack((np.full((3, 8), 400), np.zeros((TIME_STEPS - 3, 8), dtype=np.int64))),
    "skewed": np.random.default_rng(3).poisson(4.0 ** np.arange(-3, 5), (TIME_STEPS, 8)),
}
LOSSES = {
    "epsilon 0.3": (PrivacyLoss.pure("0.3"), AddRemove(EACH_RECORD)),
    "rho 0.05, 3 tuples of a user": (PrivacyLoss.zcdp("0.05"), AddRemove(Unit("mac in one step", 3))),
}


def readings(question: Any, stream: IntArray, loss: PrivacyLoss, adjacency: AddRemove, seed: int) -> Iterator[Any]:
    plan = STREAMS.plan(question.query, loss, adjacency)
    state, reader, randomness = STREAMS.begin(plan), question.reader(plan), Randomness.from_seed(seed)
    for time_step, table in enumerate(stream, start=1):
        values, state = STREAMS.step(table, time_step, state, plan, randomness)
        yield reader.read_next(values)


def require_in_interval(line: dict[str, Any], name: str) -> None:
    before = f"{name}:" if name.startswith("window") else ""
    if f"{before}low" in line:
        assert 0 <= line[f"{before}low"] <= line[name] <= line[f"{before}high"], line
    assert line[name] >= 0


@pytest.mark.quick_share(13)
@pytest.mark.parametrize("terms", LOSSES)
@pytest.mark.parametrize("stream", STREAMS_OF)
@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_point_is_in_its_interval_and_within_what_is_true_of_counts(kind: str, stream: str, terms: str) -> None:
    question, before = QUESTIONS[kind], None
    for found in readings(question, STREAMS_OF[stream], *LOSSES[terms], seed=5):
        lines = [found.to_json(key) for key in range(len(found.counts))]
        for line in lines:
            for name in line:
                if name in ("count", "total") or (name.startswith("window:") and name.count(":") == 1):
                    require_in_interval(line, name)
        sums = [found.windows[width] for width in sorted(found.windows)]
        for narrow, wide in pairwise(sums):
            assert np.all(narrow <= wide)
        for width, over in found.windows.items():  # of the same time steps it is the same number
            if width == 1 and not isinstance(question, Totals):
                np.testing.assert_array_equal(over, found.counts)
            if width >= found.time_step:
                np.testing.assert_array_equal(over, found.windows[max(found.windows)])
        if isinstance(question, Totals):
            require_totals(question, found, before)
            before = found.totals


def require_totals(question: Totals, found: Any, before: NDArray[np.float64] | None) -> None:
    """Whole totals that never fall; windows that fit into them; both add up along aggregations."""
    assert before is None or np.all(found.totals >= before)
    for width, sums in found.windows.items():
        assert np.all(sums <= found.totals)
        if width >= found.time_step:
            np.testing.assert_array_equal(sums, found.totals)
    for numbers in (found.totals, *found.windows.values()):
        np.testing.assert_array_equal(numbers, np.rint(numbers))
        if question.forest is not None:
            states = numbers[len(question.forest.names) :]
            np.testing.assert_array_equal(numbers, question.forest.count_nodes(states.tolist()))


def test_unbiased_numbers_stay_at_hand_and_may_be_negative() -> None:
    """Half of the noisy numbers of an empty stream are below 0; none that is shown is."""
    for question, name in ((QUESTIONS["totals"], "total"), (QUESTIONS["counts, plain"], "count")):
        found = [
            reading.to_json(key)
            for seed in range(6)
            for reading in readings(question, STREAMS_OF["zero"], *LOSSES["epsilon 0.3"], seed=seed)
            for key in range(8)
        ]
        unbiased, shown = (np.array([line[each] for line in found]) for each in ("unbiased", name))
        assert 0.3 < np.mean(unbiased < 0) < 0.7
        assert np.all(shown >= 0)


COVERED = {"zero": 0.0, "sparse": 0.05, "tied": None, "busy": 40.0, "dense": 2000.0}


@pytest.mark.parametrize("stream", COVERED)
def test_intervals_of_totals_and_windows_cover_as_often_as_they_say_after_points_were_moved(stream: str) -> None:
    """400 states with noises of their own: below .95 by less than 4 sigma; where nothing is cut off, not far above.

    Exact noise covers .966 (the farther quantile of one Laplace draw), and whole ends a little more.
    """
    mean, keys, time_steps, width = COVERED[stream], 400, 24, 6
    states = (Categories("ap", tuple(map(str, range(keys)))),)
    generator = np.random.default_rng(11)
    for question in (Totals(states, time_steps), Totals(states, time_steps, (width,))):
        table = np.full((time_steps, keys), 3) if mean is None else generator.poisson(mean, (time_steps, keys))
        *_, found = readings(question, table, PrivacyLoss.pure("0.5"), AddRemove(EACH_RECORD), seed=3)
        pairs = [(found.interval(0.95), table.sum(axis=0))]
        if question.windows:
            pairs.append((found.window_interval(width, 0.95), table[-width:].sum(axis=0)))
        sigma = np.sqrt(0.95 * 0.05 / keys)
        for (low, high), exact in pairs:
            covered = np.mean((low <= exact) & (exact <= high))
            assert covered >= 0.95 - 4 * sigma
            if stream in ("busy", "dense"):
                assert covered <= 0.98 + 3 * sigma


@pytest.mark.reproduction
def test_totals_that_never_fall_are_about_as_exact_as_noisy_ones_and_more_exact_where_little_comes() -> None:
    """Root mean squared errors over all time steps of 200 states, against the noisy totals cut off at 0.

    The largest noisy total so far is 1.8 times as far off as the noisy totals on streams of zeros.
    """
    keys, time_steps = 200, 96
    states = (Categories("ap", tuple(map(str, range(keys)))),)
    generator = np.random.default_rng(4)
    for mean, most in ((0.0, 1.0), (0.05, 1.0), (1.0, 1.1), (10.0, 1.15), (2000.0, 1.1)):
        table = generator.poisson(mean, (time_steps, keys))
        exact, errors, raw = np.cumsum(table, axis=0), [], []
        for at, found in enumerate(
            readings(Totals(states, time_steps), table, PrivacyLoss.pure("0.5"), AddRemove(EACH_RECORD), seed=9)
        ):
            errors.append(found.totals - exact[at])
            raw.append(found.noisy.values - exact[at])
        assert np.sqrt(np.mean(np.square(errors))) < most * np.sqrt(np.mean(np.square(raw)))


def test_shares_are_the_nearest_whole_numbers_that_add_up() -> None:
    """Against all ways of giving up to 6 among three: none is nearer by more than rounding may cost."""
    generator = np.random.default_rng(6)
    ways = np.array([(a, b, c) for a in range(7) for b in range(7) for c in range(7)], dtype=np.float64)
    for _ in range(300):
        total, wanted = float(generator.integers(0, 7)), generator.normal(1, 3, 3)
        most = generator.integers(0, 7, 3).astype(float)
        most[0] += max(0.0, total - most.sum())
        shares = allocate_integers(total, wanted, most)
        assert shares.sum() == total
        assert np.all((shares >= 0) & (shares <= most) & (shares == np.rint(shares)))
        allowed = ways[(ways.sum(axis=1) == total) & np.all(ways <= most, axis=1)]
        nearest = np.square(allowed - wanted).sum(axis=1).min()
        assert np.square(shares - wanted).sum() <= nearest + 1e-6


@pytest.mark.parametrize("family", Family)
def test_a_negative_noisy_count_has_no_narrower_interval_than_zero(family: Family) -> None:
    """A noisy count of -20 does not say that there is no record: its interval is that of a noisy count of 0."""
    values = np.array([-20.0, 0.0, 20.0])
    low, high = NoisyValues(family, values, 3.0).interval(0.95, np.maximum(values, 0))
    assert low[0] == low[1] == 0
    assert high[0] == high[1] == high[2] - 20 > 3
