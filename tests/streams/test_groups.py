"""Smoothers within groups: oracles, the example of the paper, and James-Stein as it should be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.data import Categories
from dpcurves.distributions import Family, Noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms import STREAMS
from dpcurves_streams.readings import GroupEstimator, Groups, GroupWindowEstimator, Low, Smoother
from dpcurves_streams.readings.groups import OpenGroups, smooth_in_groups

NOISE = Noise(Family.LAPLACE, Fraction(3))
DISTRIBUTION = GroupedCounts(1, NOISE, NOISE, NOISE, 10)


def test_lengths_means_squares_and_medians_are_those_of_the_groups() -> None:
    generator = np.random.default_rng(1)
    values, joined = generator.integers(-30, 31, (600, 2)).astype(float), generator.random((600, 2)) < (0.98, 0.5)
    found = OpenGroups(2).add_values(values, joined.astype(np.int64))
    for key in range(2):
        members: list[float] = []
        for value, join, (length, mean, squares, median) in zip(
            values[:, key], joined[:, key], found[:, key], strict=True
        ):
            members = [*members, value] if join else [value]
            moments = np.mean(members), np.var(members) * len(members), np.median(members)
            expected = [float(len(members)), *map(float, moments)]
            np.testing.assert_allclose((length, mean, squares, median), expected, atol=1e-8)


def test_example_8_of_the_paper_in_tenths() -> None:
    reader = GroupEstimator(DISTRIBUTION, Smoother.MEDIAN)
    noisy, joined = (56, 44, 67, 95, 102), (0, 1, 1, 0, 0)
    assert [reader.estimate_next(each)[0] for each in zip(noisy, joined, strict=True)] == [56, 50, 56, 95, 102]


def test_windows_are_sums_of_medians_of_groups_as_far_as_they_reach() -> None:
    noisy, joined = (4, 8, 6, 30, 2, 2, 5, 2), (0, 1, 1, 0, 0, 1, 1, 1)
    groups = [[0, 1, 2], [3], [4, 5, 6, 7]]
    for width in (1, 3, 5, 8, 20):
        reader = GroupWindowEstimator(DISTRIBUTION, width)
        for time_step, each in enumerate(zip(noisy, joined, strict=True)):
            inside = range(max(time_step - width + 1, 0), time_step + 1)
            known = [[place for place in group if place <= time_step] for group in groups]
            parts = [np.median([noisy[place] for place in group]) if group else 0.0 for group in known]
            expected = sum(part * len(set(group) & set(inside)) for part, group in zip(parts, known, strict=True))
            assert reader.estimate_next(each)[0] == pytest.approx(expected)


def test_james_stein_as_corrected_is_better_than_noise_and_as_printed_worse() -> None:
    """Mean squared errors of the last of 20 equal counts, over 4,000 groups."""
    generator = np.random.default_rng(2)
    noisy = generator.laplace(0, 1, (4000, 20))
    mean, median = noisy.mean(axis=1), np.median(noisy, axis=1)
    squares = np.square(noisy - mean[:, None]).sum(axis=1)
    found = np.stack((np.full(4000, 20.0), mean, squares, median), axis=1)
    shrunk = smooth_in_groups(noisy[:, -1], found, 2.0, Smoother.JAMES_STEIN)
    printed = (1 - 19 * 2.0 / squares) * (noisy[:, -1] - mean) + noisy[:, -1]
    errors = [np.square(each).mean() for each in (shrunk, noisy[:, -1], printed)]
    assert errors[0] < errors[1] / 3
    assert errors[1] < errors[2]
    for smoother in (Smoother.MEDIAN, Smoother.AVERAGE):
        assert np.square(smooth_in_groups(noisy[:, -1], found, 2.0, smoother)).mean() < errors[1] / 5


@pytest.mark.parametrize("smoother", list(Smoother))
def test_without_noise_counts_windows_and_events_are_exact(smoother: Smoother) -> None:
    question = Groups((Categories("ap", ("a", "b")),), windows=(3,), events=(Low(2, 6),), smoother=smoother)
    plan = STREAMS.plan(question.query, PrivacyLoss.pure(1000), AddRemove(EACH_RECORD))
    state, reader = STREAMS.begin(plan), question.reader(plan)
    counts = np.repeat([[2, 9], [50, 1], [4, 3]], 5, axis=0)
    for time_step, table in enumerate(counts, start=1):
        values, state = STREAMS.step(table, time_step, state, plan, Randomness.from_seed(time_step))
        found = reader.read_next(values)
        np.testing.assert_allclose(found.counts, table, atol=1e-9)
        np.testing.assert_allclose(found.windows[3], counts[max(time_step - 3, 0) : time_step].sum(axis=0), atol=1e-9)
        low = counts[max(time_step - 2, 0) : time_step].sum(axis=0) < 6
        assert found.events["low:2:6"].tolist() == (low & (time_step >= 2)).tolist()
