"""Intervals of one quantile hold as often as they say, and are narrower than where the band passes the share."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from kinds import DATA, POPULATIONS

from dpcurves.curves import CDF, CdfQuestion
from dpcurves.postprocess import ends_at
from dpcurves.postprocess.inference.quantile_tests import FEW, are_few, ends_by_tests
from dpcurves.privacy import PrivacyLoss

LEVEL, UNITS, RELEASES = 0.9, 4000, 2000
SAFE = 0.015  # what 5,000 simulated draws add to a level for both ends, at most


@pytest.mark.parametrize("population", [False, True])
def test_where_one_edge_decides_both_ends_the_interval_holds_as_often_as_it_says(population: bool) -> None:
    """The share below the edge is p itself, so each end fails by its half of the chance; 4 sigma to either side."""
    chance, p, records = np.random.default_rng(8), 0.3, 1000
    below = np.array([0.0, p * records, records])

    def noise(draws: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        return np.cumsum(np.column_stack([np.zeros(draws), chance.laplace(0, 9, (draws, 2))]), axis=1)

    simulated = [noise(5000)]
    held = 0
    for error in noise(RELEASES):
        sampled = chance.binomial(records, p) - p * records if population else 0.0
        counted = below + error + np.array([0.0, sampled, 0.0])
        (ends,) = ends_by_tests(counted, simulated, np.array([p]), LEVEL, chance if population else None)
        held += ends.tolist() == [0, 2]
    four_sigma = 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)
    assert LEVEL - four_sigma <= held / RELEASES <= LEVEL + SAFE + four_sigma


def test_without_noise_the_interval_is_the_cell_and_at_a_tie_between_two_cells_both() -> None:
    below, exact = np.array([0.0, 10, 10, 50, 100]), [np.zeros((1000, 5))]
    found = ends_by_tests(below, exact, np.array([0, 0.05, 0.1, 0.3, 0.5, 1]), LEVEL, None)
    assert found.tolist() == [[0, 1], [0, 1], [0, 3], [2, 3], [2, 4], [3, 4]]
    nobody = ends_by_tests(np.zeros(5), exact, np.array([0.5]), LEVEL, None)
    assert nobody.tolist() == [[0, 4]]


def test_few_are_told_by_their_number_and_level_alone() -> None:
    assert [are_few(each, LEVEL, 1000) for each in (0, 1, FEW, FEW + 1)] == [False, True, True, False]
    assert not are_few(1, 0.999, 1000)


@pytest.mark.parametrize("data", DATA)
def test_one_quantile_is_tested_by_its_own_noise_and_not_by_that_of_all(data: str) -> None:
    """Inside the interval, but for one counted cell to a side, lie no more records than twice the noise hides."""
    values, grid = POPULATIONS[data]
    sample, shares = np.random.default_rng(5).choice(values, UNITS), np.linspace(0.1, 0.9, 9)
    for epsilon in ("0.3", "3"):
        found = answer(CdfQuestion("x", grid), {"x": sample}, PrivacyLoss.pure(epsilon), both(UNITS)[1], 3)
        assert isinstance(found, CDF)
        counted, edges = found.prefixes.evidence.sums.bounds, found.prefixes.boundaries
        noise = np.concatenate(list(found.prefixes._noise_of_counts(None)))
        below = np.searchsorted(np.sort(sample), edges[counted])
        alone = np.array([found.quantile_interval(each, LEVEL) for each in shares.tolist()])
        for share, (left, right) in zip(shares.tolist(), alone.tolist(), strict=True):
            first, last = np.searchsorted(edges[counted], [left, right])
            most = 2 * np.quantile(np.abs(noise - share * noise[:, -1:]), 0.999, axis=0).max()
            assert below[max(last - 1, first)] - below[min(first + 1, last)] <= 2 * most
        lower, upper = (found.prefixes.at_boundaries(end) for end in found.band(LEVEL))
        band = ends_at(found.prefixes.cells, lower, upper, shares)
        widths = [np.diff(np.clip(each, grid.lower, grid.upper)).sum() for each in (alone, band)]
        assert widths[0] <= widths[1]
        together = found.quantile_intervals(shares, LEVEL)
        assert ((together[:, 0] <= alone[:, 0]) & (alone[:, 1] <= together[:, 1])).all()
