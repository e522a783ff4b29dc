"""Bands of ROC curves: the points of all thresholds are in their boxes as often as is said, whatever is tied."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.inference import RocBand, population_roc_band, roc_band

CHANCE = np.random.default_rng(8)
RELEASES, DRAWS, LEVEL = 300, 1000, 0.9
SIZES = {"even": (400, 600), "few positives": (900, 100)}


def tables(negatives: int, positives: int, cells: int) -> NDArray[np.float64]:
    """Counts of scores that differ by class, in cells of about equal size."""
    weights = CHANCE.dirichlet(np.full(cells, 3.0), size=2)
    drawn = [CHANCE.multinomial(n, own) for n, own in zip((negatives, positives), weights, strict=True)]
    return np.array(drawn, dtype=np.float64)


def above(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([np.zeros((*cells.shape[:-1], 1)), np.cumsum(cells, axis=-1)], axis=-1)


def holds(band: RocBand, rates: NDArray[np.float64]) -> bool:
    low, high = np.stack(band[0::2]), np.stack(band[1::2])
    return bool(np.all((low <= rates + 1e-9) & (rates <= high + 1e-9)))


def held(scale: float, sizes: tuple[int, int]) -> NDArray[np.float64]:
    """How often bands hold the rates of a sample under Laplace noise of this scale, and those it was drawn by."""
    weights = CHANCE.dirichlet(np.full(12, 3.0), size=2)
    simulated, found = above(CHANCE.laplace(0, scale, (DRAWS, 2, 12))), np.zeros(2)
    for _ in range(RELEASES):
        truth = above(
            np.array([CHANCE.multinomial(n, own) for n, own in zip(sizes, weights, strict=True)], dtype=float)
        )
        counts = truth + above(CHANCE.laplace(0, scale, (2, 12)))
        guess = np.clip(np.maximum.accumulate(counts, axis=1) / np.maximum(counts[:, -1:], 1), 0, 1)
        wide = population_roc_band(counts, simulated, guess, LEVEL, CHANCE)
        found += holds(roc_band(counts, simulated, guess, LEVEL), truth / truth[:, -1:]), holds(wide, above(weights))
    return found / RELEASES


@pytest.mark.parametrize("scale", [8.0, pytest.param(2.0, marks=pytest.mark.reproduction)])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_bands_hold_all_points_at_once_as_often_as_they_say_and_no_oftener(
    sizes: tuple[int, int], scale: float
) -> None:
    assert np.abs(held(scale, sizes) - LEVEL).max() <= 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)  # 4 sigma


def test_a_class_that_noise_may_have_made_has_every_rate() -> None:
    truth = above(tables(500, 3, cells=6))
    simulated = above(CHANCE.laplace(0, 20, (DRAWS, 2, 6)))
    asked = truth, simulated, truth / truth[:, -1:], LEVEL
    for band in (roc_band(*asked), population_roc_band(*asked, CHANCE)):
        assert band.tpr_lower[1:-1].max() == 0
        assert band.tpr_upper[1:-1].min() == 1
        assert band.fpr_upper[1] < 1


def test_without_noise_points_are_exact_and_only_their_order_between_thresholds_is_open() -> None:
    counts = np.array([[0.0, 1, 2, 4], [0.0, 3, 4, 4]])
    band = roc_band(counts, np.zeros((DRAWS, 2, 4)), counts / 4, LEVEL)
    assert (band.fpr_lower == band.fpr_upper).all()
    assert band.tpr_lower.tolist() == band.tpr_upper.tolist() == [0, 0.75, 1, 1]
    edges, lower, upper = band.steps()
    assert edges.tolist() == [0, 0.25, 0.5, 1]
    assert lower.tolist() == [0, 0.75, 1]
    assert upper.tolist() == [0.75, 1, 1]


def test_the_region_holds_whatever_staircase_runs_through_the_boxes() -> None:
    truth = above(tables(400, 600, cells=8))
    band = roc_band(truth, above(CHANCE.laplace(0, 5, (DRAWS, 2, 8))), truth / truth[:, -1:], LEVEL)
    for _ in range(200):
        corners = np.sort([CHANCE.uniform(low, high) for low, high in (band[0:2], band[2:4])], axis=1)
        corners = np.clip(corners, np.stack(band[0::2]), np.stack(band[1::2]))
        first = CHANCE.random(8) < 0.5  # up before across, or across before up
        for start, end, up in zip(corners.T[:-1], corners.T[1:], first, strict=True):
            turn = (start[0], end[1]) if up else (end[0], start[1])
            lower, upper = band.tpr_at([turn[0]])
            assert lower[0] - 1e-12 <= turn[1] <= upper[0] + 1e-12
