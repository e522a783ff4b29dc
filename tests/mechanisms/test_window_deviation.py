"""Deviations of windows, beside sorting each window; and how far they move."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.mechanisms.exponential import window_deviations

IntArray = NDArray[np.int64]


def by_sorting(counts: IntArray) -> IntArray:
    table = np.zeros((len(counts).bit_length(), len(counts) + 1), dtype=np.int64)
    for power in range(len(table)):
        length = 1 << power
        for end in range(length, len(counts) + 1):
            window = np.sort(counts[end - length : end])
            table[power, end] = np.abs(window - window[length // 2]).sum()
    return table


@pytest.mark.parametrize("largest", [0, 1, 3, 10**6])
def test_windows_have_their_least_sum_of_absolute_distances(largest: int) -> None:
    generator = np.random.default_rng(largest)
    for cells in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 77):
        counts = generator.integers(0, largest + 1, cells)
        np.testing.assert_array_equal(window_deviations(counts), by_sorting(counts))


def test_sorted_and_reversed_and_alternating_cells() -> None:
    rising = np.arange(40)
    for counts in (rising, rising[::-1].copy(), np.where(rising % 2, 0, 10**9)):
        np.testing.assert_array_equal(window_deviations(counts), np.minimum(by_sorting(counts), 2**32 - 1))


def test_what_leaves_32_bits_is_cut() -> None:
    assert window_deviations(np.array([0, 2**40]))[1, 2] == 2**32 - 1


def test_one_record_moves_no_deviation_by_more_than_one() -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        counts = generator.integers(0, 4, generator.integers(1, 20))
        more = counts.copy()
        more[generator.integers(len(counts))] += 1
        change = window_deviations(more).astype(np.int64) - window_deviations(counts)
        assert np.abs(change).max() <= 1
        assert not change[0].any()
