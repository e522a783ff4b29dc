"""The default reading: its unbiased risk, its oracle, its accuracy, and that no stream makes it bad."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves_streams.readings import AdaptiveSmoother, AdaptiveWindowSmoother, UnsmoothedCounts, UnsmoothedWindow
from dpcurves_streams.readings.counts import NEWEST_WEIGHTS, RISK_WEIGHT

FloatArray = NDArray[np.float64]


def noisy(counts: NDArray[np.int64], epsilon: float, seed: int) -> tuple[FloatArray, float]:
    generator, ratio = np.random.default_rng(seed), np.exp(-epsilon)
    noise = generator.geometric(1 - ratio, counts.shape) - generator.geometric(1 - ratio, counts.shape)
    return (counts + noise).astype(np.float64), 2 * ratio / (1 - ratio) ** 2


def by_hand(values: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
    """One stream, all smoothers at once in NumPy: what is shown, and the last risks."""
    smooth, risks, squares, shown = (
        np.zeros(len(NEWEST_WEIGHTS)),
        np.zeros(len(NEWEST_WEIGHTS)),
        np.zeros(len(NEWEST_WEIGHTS)),
        [],
    )
    for passed, value in enumerate(values):
        rates = np.where(NEWEST_WEIGHTS > 0, np.maximum(NEWEST_WEIGHTS, 1 / (passed + 1)), 0)
        squares = RISK_WEIGHT * RISK_WEIGHT * squares + smooth * smooth
        smooth = smooth + rates * (value - smooth)
        risks = RISK_WEIGHT * risks + ((smooth - value) ** 2 + (2 * rates - 1) * variance)
        shown.append(max(smooth[np.argmin(risks + np.sqrt(4 * variance * squares))], 0.0))
    return np.array(shown), risks


def windows_by_hand(values: FloatArray, variance: float, width: int) -> FloatArray:
    smooth, risks, squares, shown = (
        np.zeros(len(NEWEST_WEIGHTS)),
        np.zeros(len(NEWEST_WEIGHTS)),
        np.zeros(len(NEWEST_WEIGHTS)),
        [],
    )
    sums = np.zeros(len(NEWEST_WEIGHTS))
    seen: list[FloatArray] = []
    for value in values:
        smooth = smooth + NEWEST_WEIGHTS * (value - smooth)
        seen, squares = [*seen, smooth][-width:], RISK_WEIGHT * RISK_WEIGHT * squares + sums * sums
        sums, length = np.sum(seen, axis=0), len(seen)
        weights = [sum(1 - (1 - rate) ** (n + 1) for n in range(length)) for rate in NEWEST_WEIGHTS]
        risks = RISK_WEIGHT * risks + ((sums - sums[0]) ** 2 + (2 * np.array(weights) - length) * variance)
        shown.append(max(sums[np.argmin(risks + width * np.sqrt(4 * variance * squares))], 0.0))
    return np.array(shown)


def test_what_is_shown_is_what_is_worked_out_by_hand_time_step_by_time_step_or_all_at_once() -> None:
    counts = np.random.default_rng(3).poisson(np.repeat([0.2, 9, 3], 100))
    values, variance = noisy(counts, 0.3, seed=1)
    expected, _ = by_hand(values, variance)
    assert np.array_equal(AdaptiveSmoother(variance).estimate_all(values[:, None])[:, 0], expected)
    reading, both = AdaptiveSmoother(variance), AdaptiveSmoother(variance, keys=2)
    for value, shown in zip(values, expected, strict=True):
        assert reading.estimate_next_count(int(value)) == shown
        assert both.estimate_next((int(value), 0))[0] == shown
    for width in (1, 7, 400):
        window = AdaptiveWindowSmoother(variance, width)
        found = [window.estimate_next((int(value),))[0] for value in values]
        np.testing.assert_allclose(found, windows_by_hand(values, variance, width), atol=1e-6)


def test_risks_are_unbiased() -> None:
    """Mean estimated and mean true squared error agree for each smoother, of counts and of sums: 4 sigma."""
    counts = np.array([0, 3, 1, 0, 5, 9, 2, 2])
    runs = 20_000
    values, variance = noisy(np.tile(counts, (runs, 1)), 0.5, seed=2)
    for rate in (1.0, 0.25, 1 / 16, 0.0):
        smooth, sums = np.zeros((runs, len(counts) + 1)), []
        for time_step, column in enumerate(values.T):
            smooth[:, time_step + 1] = smooth[:, time_step] + rate * (column - smooth[:, time_step])
        off = (smooth[:, 1:] - values) ** 2 + (2 * rate - 1) * variance - (smooth[:, 1:] - counts) ** 2
        sums = smooth[:, -3:].sum(axis=1)
        weight = sum(1 - (1 - rate) ** (n + 1) for n in range(3))
        window = (sums - values[:, -3:].sum(axis=1)) ** 2 + (2 * weight - 3) * variance
        window -= (sums - counts[-3:].sum()) ** 2
        for gap in (off.sum(axis=1), window):
            assert abs(gap.mean()) <= 4 * gap.std() / np.sqrt(runs) + 1e-9


@pytest.mark.parametrize(("name", "most"), [("empty", 0.02), ("constant", 0.2), ("steps", 0.6), ("wild", 1.02)])
def test_quiet_streams_are_read_well_and_wild_ones_no_worse_than_noise(name: str, most: float) -> None:
    generator = np.random.default_rng(4)
    counts = {
        "empty": np.zeros(6000, dtype=np.int64),
        "constant": np.full(6000, 40),
        "steps": np.repeat(generator.integers(0, 100, 60), 100),
        "wild": generator.integers(0, 1000, 6000),
    }[name]
    values, variance = noisy(counts, 0.1, seed=5)
    shown = AdaptiveSmoother(variance).estimate_all(values[:, None])[:, 0]
    clipped = np.abs(np.maximum(values, 0) - counts).mean()
    assert np.abs(shown - counts).mean() < most * clipped


def test_sums_of_quiet_streams_are_read_better_than_noisy_sums() -> None:
    counts = np.random.default_rng(6).poisson(0.3, 4000)
    values, variance = noisy(counts, 0.1, seed=7)
    auto, plain = AdaptiveWindowSmoother(variance, 12), UnsmoothedWindow(12)
    exact = np.convolve(counts, np.ones(12))[: len(counts)]
    errors = [
        [abs(each.estimate_next((int(v),))[0] - e) for each in (auto, plain)]
        for v, e in zip(values, exact, strict=True)
    ]
    shown, raw = np.mean(errors, axis=0)
    assert shown < raw / 3


def test_plain_readings_show_what_was_released() -> None:
    plain, sums = UnsmoothedCounts(2), UnsmoothedWindow(2)
    assert plain.estimate_next((-3, 4)).tolist() == [0, 4]
    assert [sums.estimate_next((count,))[0] for count in (1, 5, -9)] == [1, 6, 0]
    for reading, counts in ((plain, (1,)), (AdaptiveSmoother(1.0, 2), (1, 2, 3))):
        with pytest.raises(ValueError, match="counts: must be 2 counts per step"):
            reading.estimate_next(counts)
    for width, wrong in pairwise((1, 0, -1)):
        assert width > wrong
        with pytest.raises(ValueError, match="width"):
            AdaptiveWindowSmoother(1.0, wrong)
    with pytest.raises(ValueError, match="variance: must be finite and at least 0"):
        AdaptiveSmoother(-1.0)
