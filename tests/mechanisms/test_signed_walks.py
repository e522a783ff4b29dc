"""What blocks account for adds up to the count of every prefix, and no record is in more than it may be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.distributions import Family, Noise, PathSums
from dpcurves.mechanisms.lazy_tree import signed_blocks

IntArray = NDArray[np.int64]


def distribution(cells: int, levels: int) -> PathSums:
    return PathSums(cells, (), levels, Noise(Family.LAPLACE, Fraction(1)), None)


def weights(cells: int, levels: int) -> dict[tuple[int, int], IntArray]:
    """How often each block accounts for a record of each cell; the last entry is a record that is missing."""
    blocks = {
        block for threshold in range(1, cells + 1) for block in distribution(cells, levels).blocks_on_path(threshold)
    }
    found = {}
    for block in blocks:
        weight = np.zeros(cells + 1, dtype=np.int64)
        for term in signed_blocks(cells, levels, block):
            assert 0 <= term.low < term.high <= cells
            weight[term.low : term.high] += term.sign
        found[block] = weight
    return found


def choices(cells: int) -> list[int]:
    depth = (cells - 1).bit_length()
    return [depth + 1] if depth == 0 else [depth, depth + 1]


@pytest.mark.parametrize("cells", [*range(1, 34), 63, 64, 65, 100, 128])
def test_the_blocks_of_a_path_account_for_the_prefix_and_nothing_else(cells: int) -> None:
    for levels in choices(cells):
        weight = weights(cells, levels)
        for threshold in range(1, cells + 1):
            total = sum(weight[block] for block in distribution(cells, levels).blocks_on_path(threshold))
            assert np.array_equal(total, np.arange(cells + 1) < threshold)


@pytest.mark.parametrize("cells", [2**32, 2**32 - 12345, 2**31 + 1, 2**40, 3])
def test_so_they_do_on_grids_that_nobody_lays_out(cells: int) -> None:
    """At random places, and beside the ends of blocks; the seed is fixed, and nothing is left to chance but places."""
    generator = np.random.default_rng(5)
    depth = (cells - 1).bit_length()
    ends = [end for level in range(depth) for end in (2**level - 1, 2**level, 2**level + 1, cells - 2**level)]
    places = sorted({min(max(int(place), 0), cells - 1) for place in (*ends, *generator.integers(0, cells, 50))})
    for levels in choices(cells):
        for threshold in (place + 1 for place in places):
            parts = [
                term
                for block in distribution(cells, levels).blocks_on_path(threshold)
                for term in signed_blocks(cells, levels, block)
            ]
            for place in places:
                assert sum(term.sign for term in parts if term.low <= place < term.high) == (place < threshold)


@pytest.mark.parametrize("depth", range(1, 9))
def test_differences_are_as_small_as_it_says(depth: int) -> None:
    levels = depth if depth % 2 == 0 else depth + 1
    matrix = np.array(list(weights(2**depth, levels).values()))
    assert abs(matrix).sum(axis=0).max() == depth // 2 + 1
    apart = [matrix - matrix[:, [cell]] for cell in range(2**depth)]
    assert max(abs(each).max() for each in apart) == 1
    assert max(abs(each).sum(axis=0).max() for each in apart) == levels


def test_half_of_the_blocks_account_for_nothing() -> None:
    found = [bool(signed_blocks(2**6, 6, (3, number))) for number in range(8)]
    assert found == [True, False, False, True, True, False, False, True]
