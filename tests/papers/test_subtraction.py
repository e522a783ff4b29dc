"""Prefixes by adding and subtracting nodes, against balanced digits written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from baselines import subtracted_prefixes, subtraction_variances

from dpcurves.distributions import Family, IntervalSums, Noise, Tier

NOISE = Noise(Family.LAPLACE, Fraction(3))
OTHER = Noise(Family.LAPLACE, Fraction(5))


def tree(rows: int, cells: int, *widths: int) -> IntervalSums:
    return IntervalSums(rows, cells, tuple(Tier(range(0, cells, width), NOISE) for width in widths), NOISE)


@pytest.mark.parametrize(("cells", "width"), [(4, 3), (13, 3), (40, 5), (41, 7), (2, 7)])
def test_two_levels_are_read_by_their_balanced_digits(cells: int, width: int) -> None:
    """With ``edge = width * high + low`` and a low digit between -(width - 1) / 2 and (width - 1) / 2."""
    distribution = tree(1, cells, width, 1)
    values = np.random.default_rng(cells).integers(-9, 9, distribution.size).tolist()
    coarse, fine = values[: -(-cells // width)], values[-(-cells // width) : -1]
    read = subtracted_prefixes(distribution, values)[0]
    for edge in range(cells + 1):
        low = (edge + width // 2) % width - width // 2
        turn = edge - low
        added, subtracted = sum(fine[turn:edge]), sum(fine[edge:turn])
        assert read[edge] == sum(coarse[: turn // width]) + added - subtracted


def test_one_level_is_cumulated() -> None:
    assert subtracted_prefixes(tree(1, 3, 1), [4, 5, -1, 7]).tolist() == [[0, 4, 9, 8]]


@pytest.mark.parametrize("cells", [1, 2, 5, 14, 40, 41, 100, 364])
def test_exact_sums_give_exact_prefixes_in_every_row(cells: int) -> None:
    distribution = tree(2, cells, 81, 9, 3, 1)
    counts = np.random.default_rng(cells).integers(0, 9, (2, cells))
    values = [np.add.reduceat(counts, np.asarray(level.starts), axis=1).ravel() for level in distribution.levels]
    read = subtracted_prefixes(distribution, np.concatenate([*values, [5]]))
    assert np.array_equal(read[:, 1:], np.cumsum(counts, axis=1))
    assert not read[:, 0].any()


def test_variances_are_those_of_the_reading_which_is_linear() -> None:
    levels = (Tier(range(0, 50, 25), OTHER), Tier(range(0, 50, 5), NOISE), Tier(range(50), OTHER))
    distribution = IntervalSums(1, 50, levels, None)
    variances = np.repeat([OTHER.variance, NOISE.variance, OTHER.variance], [2, 10, 50])
    columns = np.array(
        [subtracted_prefixes(distribution, unit)[0] for unit in np.eye(distribution.size, dtype=np.int64)]
    )
    np.testing.assert_allclose(subtraction_variances(distribution), variances @ columns**2)


def test_no_level_lends_more_than_half_its_radix() -> None:
    distribution = tree(1, 1098, 169, 13, 1)
    assert subtraction_variances(distribution).max() == pytest.approx(3 * 6 * NOISE.variance)
    assert subtraction_variances(distribution).mean() == pytest.approx((13 - 1 / 13) / 4 * 3 * NOISE.variance, rel=1e-2)


@pytest.mark.parametrize(
    "levels",
    [
        (Tier(range(0, 12, 4), NOISE), Tier(range(12), NOISE)),
        (Tier(range(0, 12, 3), NOISE),),
        (Tier((0, 3, 6, 9), NOISE), Tier(range(12), NOISE)),
    ],
)
def test_other_trees_are_refused(levels: tuple[Tier, ...]) -> None:
    distribution = IntervalSums(1, 12, levels, None)
    with pytest.raises(ValueError, match="odd multiples"):
        subtracted_prefixes(distribution, [0] * distribution.size)
