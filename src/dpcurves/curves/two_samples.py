"""Tests of whether two released curves are those of one distribution; p-values account for the noise of both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arguments import Refused, require_kind
from ..arrays import FloatArray, IntArray
from ..postprocess import non_decreasing, public_generator
from ..postprocess.inference.simulation_seed import draws_for
from ..postprocess.inference.two_samples import Null, ReleasedSample, alike, kolmogorov_smirnov, mann_whitney
from ..postprocess.inference.two_samples import TwoSampleTest as TwoSampleTest
from .cdf import CDF
from .question import require_independent
from .turns.prefixes import PrefixShares

MOST_CELLS = 2**12
MOST_DRAWS = 2000


def ks_test(first: CDF, second: CDF, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Do two groups of records have one distribution? The Kolmogorov-Smirnov statistic and its p-value.

    The statistic is the largest difference of both distribution functions. Without noise it equals that of
    ``scipy.stats.ks_2samp`` for values rounded to their cells. It is computed from unbiased counts at the edges that
    both curves counted (at most 4,096, evenly spread), so noise biases it upwards; the p-value, which is simulated with
    both noise and sampling, accounts for this. Spends nothing.

    Args:
        first: A curve.
        second: One of *other* records, on the same grid: of another category, or released on its own.
        generator: The random numbers of the simulation.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids, or units have several records.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> dp.ks_test(early, late).pvalue < 0.01
    True
    """
    return _judged(kolmogorov_smirnov, first, second, generator)


def rank_sum_test(first: CDF, second: CDF, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Are values in one group of records larger than in another one? The Wilcoxon-Mann-Whitney test.

    The statistic is the chance that a value of the `first` group is less than one of the `second`, plus half of the
    chance that both are equal (in one cell): 1/2 where neither is larger. It is the statistic of
    ``scipy.stats.mannwhitneyu`` for the second and the first group, divided by the product of their sizes. The p-value
    is two-sided, and is simulated with both noise and sampling. Spends nothing. Arguments and errors as for `ks_test`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> bool(abs(dp.rank_sum_test(early, late).statistic - 0.75) < 0.05)
    True
    """
    return _judged(mann_whitney, first, second, generator)


def _judged(
    test: Callable[[ReleasedSample, ReleasedSample, Null], TwoSampleTest],
    first: CDF,
    second: CDF,
    generator: np.random.Generator | None,
) -> TwoSampleTest:
    require_comparable(first, second)
    pair, chance = (first.prefixes, second.prefixes), public_generator(generator)
    laws = [each.evidence.sums for each in pair]
    bounds = np.intersect1d(laws[0].bounds, laws[1].bounds)
    if len(bounds) > MOST_CELLS + 1:
        bounds = bounds[np.linspace(0, len(bounds) - 1, MOST_CELLS + 1).round().astype(np.int64)]
    draws = min(MOST_DRAWS, draws_for(max(len(law.bounds) for law in laws)))
    noises = [law.simulated_prefixes(each.evidence.total, draws, chance) for law, each in zip(laws, pair, strict=True)]
    one, other = (
        sample_of(each, bounds, np.concatenate(list(noise))) for each, noise in zip(pair, noises, strict=True)
    )
    return test(one, other, alike(one, other, chance))


def require_comparable(first: CDF, second: CDF) -> None:
    """Refuse anything but two curves on one grid, of units of one record each.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids, or units have several records.
    """
    require_same_grid(first, second)
    for each in (first, second):
        require_independent(each.privacy)


def require_same_grid(first: CDF, second: CDF) -> None:
    """Refuse anything but two curves on one grid.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids.
    """
    for name, each in (("first", first), ("second", second)):
        require_kind(name, each, CDF, "a distribution function, as dp.cdf gives one,")
    if first.prefixes.grid.outside is not second.prefixes.grid.outside or not np.array_equal(first.x, second.x):
        raise Refused("second", "a curve on the same grid is needed")


def sample_of(prefixes: PrefixShares, bounds: IntArray, noise: FloatArray) -> ReleasedSample:
    """Counts of the last turn between these edges.

    Args:
        prefixes: Counts along a grid.
        bounds: Numbers of slots, from 0 to all of them, at which the last turn counted.
        noise: Simulated noise of its sums up to all bounds of its law, (draws, bounds of the law).
    """
    known = np.searchsorted(prefixes.evidence.sums.bounds, bounds)
    return ReleasedSample(*counts_of(prefixes, bounds), np.diff(noise[:, known], axis=-1))


def counts_of(prefixes: PrefixShares, bounds: IntArray) -> tuple[FloatArray, FloatArray]:
    """Counts of the last turn between these edges, as in `sample_of`: without bias, and with none below zero."""
    below = prefixes.unbiased_below[bounds]
    rising = np.clip(non_decreasing(below), 0.0, max(below[-1], 0.0))
    return np.diff(below), np.diff(rising)
