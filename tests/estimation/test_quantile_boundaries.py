"""Quantiles between boundaries: they hold whatever lies inside cells, and no boundary further in would."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcurves.inference import find_quantile_cells, find_quantile_ends

BOUNDS = np.array([-np.inf, 1.0, 2.0, 3.0, np.inf])
CELLS = np.stack([BOUNDS[:-1], BOUNDS[1:]], axis=1)
INSIDE = np.array([0.5, 1.0, 1.5, 2.0, 2.9, 3.0, 7.0])  # some on the boundaries, some within


def quantiles(values: list[float], p: float) -> list[float]:
    """All values that may be called this quantile: the least, the greatest, and their middle."""
    ordered = np.sort(values)
    share_below = [np.mean(ordered < value) for value in ordered]
    share_up_to = [np.mean(ordered <= value) for value in ordered]
    found = [
        float(value)
        for value, below, up_to in zip(ordered, share_below, share_up_to, strict=True)
        if below <= p <= up_to
    ]
    return [min(found), max(found), (min(found) + max(found)) / 2]


@pytest.mark.parametrize("records", [1, 2, 3, pytest.param(4, marks=pytest.mark.reproduction)])
def test_without_noise_every_quantile_of_every_small_table_lies_between_its_ends(records: int) -> None:
    for values in product(INSIDE.tolist(), repeat=records):
        shares = np.array([np.mean(np.array(values) < bound) for bound in BOUNDS])
        for p in (0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.8, 1.0):
            left, right = find_quantile_ends(CELLS, shares, shares, p)
            assert all(left <= each < right for each in quantiles(list(values), p))
            low, high = find_quantile_cells(CELLS, shares, p)
            assert left <= low < high <= right
            assert low <= np.quantile(values, p, method="inverted_cdf") < high


def test_each_end_is_the_closest_that_holds_for_all_tables_with_such_shares() -> None:
    lower, upper = np.array([0, 0.1, 0.4, 0.6, 1]), np.array([0, 0.3, 0.5, 0.8, 1])
    assert find_quantile_ends(CELLS, lower, upper, 0.35).tolist() == [1.0, 2.0]
    assert find_quantile_ends(CELLS, lower, upper, 0.4).tolist() == [
        1.0,
        3.0,
    ]  # a share of 0.4 below 2: its quantile may be 2
    assert find_quantile_ends(CELLS, lower, upper, [0.05, 0.9]).tolist() == [[-np.inf, 1.0], [3.0, np.inf]]


def test_wide_bands_tell_nothing() -> None:
    assert find_quantile_ends(CELLS, np.array([0, 0, 0, 0, 1.0]), np.array([0, 1, 1, 1, 1.0]), 0.5).tolist() == [
        -np.inf,
        np.inf,
    ]


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_levels_that_are_none_are_refused(p: float) -> None:
    for read in (find_quantile_cells, lambda bounds, shares, level: find_quantile_ends(bounds, shares, shares, level)):
        with pytest.raises(ValueError, match="^p: "):
            read(BOUNDS, np.linspace(0, 1, 5), p)
