"""The partition as it was printed loses more than it says; it is kept apart to reproduce what was made with it."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from regression_diagnostics.as_printed import estimate_not_private, noisy_costs, partition_not_private

RUNS = 6_000


def alone(row: NDArray[np.float64], place: int, seed: int) -> int:
    """How often the cell at `place` is an interval of its own, at epsilon 1/2 for the partition and for the counts."""
    generator = np.random.default_rng(seed)
    found = 0
    for _ in range(RUNS):
        begins = partition_not_private(row, 0.5, 0.5, generator)
        found += place in begins and (place + 1 in begins or place + 1 == len(row))
    return found


@pytest.mark.reproduction
def test_the_partition_alone_loses_more_than_its_loss() -> None:
    """Takes four cells: 1.211 where 0.5 is promised. Four standard errors: false alarm rate 3.2e-5."""
    without, with_one = alone(np.zeros(4), 2, 1), alone(np.array([0.0, 0, 1, 0]), 2, 2)
    loss, error = log(with_one / without), sqrt(1 / with_one + 1 / without)
    assert loss - 4 * error > 0.5
    assert abs(loss - 1.211) < 4 * error


def test_single_cells_have_no_noise_and_costs_are_cut_below() -> None:
    costs = noisy_costs(np.array([3.0, 3, 9, 9]), 0.5, 0.25, np.random.default_rng(0))
    assert (costs[0, 1:] == 4).all()
    assert costs.min() == 4


def test_next_to_no_noise_leaves_the_truth() -> None:
    generator = np.random.default_rng(0)
    line = np.repeat([5.0, 0, 7, 100], 8)
    np.testing.assert_allclose(estimate_not_private(line, 10**6, generator), line, atol=1e-3)
    plane = np.arange(256.0).reshape(16, 16) % 23
    np.testing.assert_allclose(estimate_not_private(plane, 10**6, generator), plane, atol=1e-3)
