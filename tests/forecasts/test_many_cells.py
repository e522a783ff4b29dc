from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import cast
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import betainc

import dpcurves as dp
from dpcurves.distributions import Family, Noise
from dpcurves.forecasts import many_cells, rehearsals

SMALL = many_cells.Tuning(least_cells=100)
LOSSES = dp.PrivacyLoss.pure(1), dp.PrivacyLoss.zcdp("0.5")


def release_histogram(
    loss: dp.PrivacyLoss, adjacency: dp.Neighbours, outside: dp.Outside, cells: int = 300
) -> dp.Histogram:
    """Return a histogram of records of which a third is zero, and the others lie in a long tail."""
    random = np.random.default_rng(5)
    values = np.where(random.random(3000) < 1 / 3, 0.0, random.exponential(0.2, 3000))
    question = dp.HistogramQuestion("x", dp.Grid(0, 1, cells=cells, outside=outside))
    return cast(dp.Histogram, next(rehearsals.rehearse_answers(question, {"x": values}, loss, adjacency, 11)))


@pytest.mark.reproduction
@pytest.mark.parametrize("outside", list(dp.Outside))
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_by_tails_are_those_of_the_simulation(
    loss: dp.PrivacyLoss, adjacency: dp.Neighbours, outside: dp.Outside
) -> None:
    histogram = release_histogram(loss, adjacency, outside)
    assert many_cells.has_many_independent_cells(histogram, SMALL)
    for population in (False, True):
        widths = [
            rehearsals.mean_half_width(
                histogram.intervals(0.95, population=population, generator=np.random.default_rng(seed))
            )
            for seed in range(4)
        ]
        width = rehearsals.mean_half_width(many_cells.find_intervals(histogram, 0.95, population, SMALL))
        # one simulated critical value has a standard error of 2.5 %: 5 % are four errors of the mean of four;
        # and limits for these records are rounded to integers
        assert abs(width - np.mean(widths)) <= 0.05 * np.mean(widths) + 0.5


def test_the_total_of_a_histogram_is_estimated_once_for_all_its_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is computed from all cells at each access: once for each group of counts took most of a forecast's time."""
    histogram = release_histogram(LOSSES[0], dp.ADD_REMOVE, dp.Outside.CLIPPED)
    total, accesses = dp.Histogram.total, list[float]()

    def estimate(self: dp.Histogram) -> float:
        accesses.append(cast(property, total).__get__(self))
        return accesses[-1]

    monkeypatch.setattr(dp.Histogram, "total", property(estimate))
    many_cells.find_intervals(histogram, 0.95, True, SMALL)
    assert len(accesses) == 1


@pytest.mark.parametrize(
    "noise",
    [Noise(Family.LAPLACE, Fraction(3)), Noise(Family.GAUSSIAN, Fraction(2, 5)), Noise(Family.GAUSSIAN, Fraction(300))],
)
def test_tails_of_integer_noise_are_sums_of_its_distribution(noise: Noise) -> None:
    numbers = np.arange(-400, 401)
    parameter = float(noise.parameter)
    exponent = np.abs(numbers) / parameter if noise.family is Family.LAPLACE else numbers**2 / (2 * parameter)
    distribution = np.exp(-exponent) / np.exp(-exponent).sum()
    limits = np.array([-5.0, -1.0, -0.5, 0.0, 0.25, 3.0, 7.9])
    exact = [distribution[numbers > limit].sum() for limit in limits]
    assert many_cells.make_tail(noise)(limits) == pytest.approx(exact, rel=1e-9)


def test_wide_gaussian_noise_has_the_tail_of_its_integers() -> None:
    noise = Noise(Family.GAUSSIAN, Fraction(1_100_000))
    numbers = np.arange(-20_000, 20_001)
    distribution = np.exp(-(numbers**2) / 2_200_000)
    exact = distribution[numbers > 5500].sum() / distribution.sum()
    assert many_cells.make_tail(noise)(np.array([5500.0])) == pytest.approx([exact], rel=1e-5)


def test_a_forecast_of_many_cells_simulates_no_intervals() -> None:
    question = dp.HistogramQuestion("x", dp.Grid(0, 1, cells=2000))
    with patch.object(dp.Histogram, "intervals", side_effect=AssertionError("simulated")):
        forecast = dp.forecast(question, LOSSES[0], dp.ADD_REMOVE, records=300, rehearsals=2)
        small = dp.HistogramQuestion("x", dp.Grid(0, 1, cells=200))
        with pytest.raises(AssertionError, match="simulated"):
            dp.forecast(small, LOSSES[0], dp.ADD_REMOVE, records=300, rehearsals=2)
    assert all(expected.population_half_width > expected.half_width > 0 for expected in forecast.expected_errors)


@pytest.mark.parametrize(("releases", "least"), [(20, 14), pytest.param(60, 47, marks=pytest.mark.reproduction)])
def test_intervals_of_sampled_counts_cover_their_means(releases: int, least: int) -> None:
    random, covered = np.random.default_rng(8), 0
    question = dp.HistogramQuestion("x", dp.Grid(0, 1, cells=400))
    for seed in range(releases):
        values = random.beta(2, 5, 2000)
        histogram = next(
            islice(rehearsals.rehearse_answers(question, {"x": values}, LOSSES[0], dp.ADD_REMOVE, seed), 1)
        )
        lower, upper = many_cells.find_intervals(histogram, 0.9, True, SMALL).T
        exact = 2000 * np.diff(betainc(2, 5, np.linspace(0, 1, 401)))
        covered += bool(np.all((lower <= exact) & (exact <= upper)))
    # At level 90 % fewer of 60 have probability 0.2 %, and 90 % at a coverage of 70 %; fewer of 20, 0.2 % and 40 %.
    assert covered >= least
