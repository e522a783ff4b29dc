"""U-statistics of degree 2, read from released distribution functions of any trust model: spends nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np

from ..arguments import Refused, chance, require_kind
from ..arrays import FloatArray, IntArray
from ..data import Outside
from ..postprocess import public_generator
from ..postprocess.inference.bands import interval
from ..postprocess.inference.simulation_seed import apart_by, draws_for, sampling_generator
from ..postprocess.inference.two_samples import Sample, chance_of_less
from ..postprocess.summaries.kernels import (
    Function,
    Kernel,
    half_square,
    mean_difference,
    of_function,
    quadratic,
    same_cell,
)  # fmt: skip
from ..release import PrivacyStatement
from .cdf import CDF
from .question import require_independent
from .two_samples import require_comparable, sample_of

MOST_CELLS = 2**10
"""Cells of a kernel: more of the grid are joined, evenly."""
MOST_DRAWS = 1000
Statistic = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class UStatistic:
    """An average over pairs of people, with what noise and cells leave open.

    Attributes:
        value: The estimate. But for areas, what noise adds to it on average is taken off.
        resolution: How far it may be from the statistic of the values themselves, of which only cells are known.
        level_of: The ends of the interval that has the statistic of the cells, at a level; see `interval`.
    """

    value: float
    resolution: float
    level_of: Callable[[float, bool], tuple[float, float]]

    def interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Two numbers that have the statistic of these records' values between them with about the chance `level`.

        The noise of the release is simulated (a parametric bootstrap about what was read), and the interval is widened
        by `resolution`, whatever the values are inside of their cells. With `population`, it is the mean of the
        statistic over samples of this size, which are simulated with the noise: its variance is that of a U-statistic
        (Hoeffding 1948), without a formula for it.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        low, high = self.level_of(chance("level", level), population)
        return low - self.resolution, high + self.resolution


def gini_mean_difference(curve: CDF) -> UStatistic:
    """How far two people's values are apart, on average. Values that were clamped count as the ends of the grid.

    Raises:
        TypeError: `curve` is no `CDF`.
        ValueError: values outside its grid were counted apart.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([2, 6] * 5000, grid=dp.Grid(0, 8, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> abs(gini_mean_difference(curve).value - 2) < 0.05
    True
    """
    return _read(curve, mean_difference)


def sample_variance(curve: CDF) -> UStatistic:
    """The variance, with n - 1 in the denominator. Errors as of `gini_mean_difference`."""
    return _read(curve, half_square)


def u_statistic(curve: CDF, kernel: Function) -> UStatistic:
    """The mean of any symmetric kernel of two values, over all pairs. Errors as of `gini_mean_difference`.

    Args:
        curve: A released distribution function.
        kernel: A function of two arrays, which gives an array. Its `resolution` is right if it rises or falls along
            each cell.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> curve = dp.cdf([2, 6] * 5000, grid=dp.Grid(0, 8, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> abs(u_statistic(curve, lambda x, y: np.maximum(x, y)).value - 5) < 0.1
    True
    """
    return _read(curve, of_function(kernel))


def gini_coefficient(curve: CDF) -> UStatistic:
    """Gini's mean difference over twice the mean, of values that are not negative: 0 where all have the same.

    The mean is read from the same release. It is taken to be at least the middle of the first cell.

    Raises:
        TypeError: `curve` is no `CDF`.
        ValueError: its grid begins below 0, or values outside were counted apart.
    """
    cells = _Cells.of(curve)
    if cells.edges[0] < 0:
        raise Refused("curve", "a share of a sum needs values that are not negative: a grid from 0 on")
    middles, kernel = (cells.edges[1:] + cells.edges[:-1]) / 2, mean_difference(cells.edges)

    def statistic(counts: FloatArray) -> FloatArray:
        mean = (counts @ middles) / np.maximum(counts.sum(axis=-1), 1.0)
        return np.asarray(quadratic(kernel, counts) / (2 * np.maximum(mean, middles[0])))

    mean = max(float(cells.sample.likely @ middles) / max(float(cells.sample.likely.sum()), 1.0), float(middles[0]))
    width = float(np.diff(cells.edges).max()) / 2
    least = max(mean - width, float(middles[0]))
    value = float(statistic(cells.sample.likely))
    return cells.read(statistic, cells.reach(kernel) / (2 * least) + value * width / least)


def collision_probability(curve: CDF) -> UStatistic:
    """How often two people's values lie in one cell of the grid.

    Cells that were counted together are taken to be alike; `resolution` is what that leaves open. Errors as of
    `gini_mean_difference`.
    """
    cells = _Cells.of(curve)
    return cells.mean(same_cell(cells.parts))


def renyi2_entropy(curve: CDF) -> UStatistic:
    """Minus the logarithm of `collision_probability`, which is taken to be from one over the number of cells to 1."""
    cells, found = _Cells.of(curve), collision_probability(curve)
    least = 1 / int(cells.parts.sum())

    def entropy(probability: float) -> float:
        return -log(min(max(probability, least), 1.0))

    def ends(level: float, population: bool) -> tuple[float, float]:
        low, high = found.interval(level, population=population)
        return entropy(high), entropy(low)

    return UStatistic(entropy(found.value), 0.0, ends)


def area_between(negatives: CDF, positives: CDF) -> UStatistic:
    """The area under the ROC curve of two released score distributions: how often a positive has the higher score.

    Scores in one cell count as tied, and a tie counts one half. The area is read from counts that do not fall as cells
    are added, which draws it towards one half where noise is large, and makes it by a third more exact there; the
    interval stands on counts without bias. The classes may be released by any trust model, each on
    its own, as people do who know their own label: which is public then, as are the sizes of the classes.

    Args:
        negatives: The distribution function of the scores of negatives.
        positives: That of positives, on the same grid.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids, or units have several records.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> low, high = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> abs(area_between(low, high).value - 0.75) < 0.05
    True
    """
    require_comparable(negatives, positives)
    first, second = _Cells.of_both(negatives, positives)

    def ends(level: float, population: bool) -> tuple[float, float]:
        moved = chance_of_less(first.drawn(population), second.drawn(population))
        low, high = interval(unbiased, moved - value, level)
        return max(min(low, value), 0.0), min(max(high, value), 1.0)

    unbiased = float(chance_of_less(first.sample.cells, second.sample.cells))
    value = float(chance_of_less(first.sample.likely, second.sample.likely))
    ties = float((first.shares * second.shares).sum()) / 2
    return UStatistic(value, ties, ends)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Counts of intervals that were measured, and their noise.

    Attributes:
        edges: The ends of the intervals.
        parts: How many cells of the grid each has.
        privacy: What stands on the curve.
        sample: Counts, and their noise.
        place: Which of several samples it is: each has streams of its own in simulations.
    """

    edges: FloatArray
    parts: IntArray
    privacy: PrivacyStatement
    sample: Sample
    place: int

    @classmethod
    def of(cls, curve: CDF) -> _Cells:
        """Read one curve."""
        require_kind("curve", curve, CDF, "a distribution function, as dp.cdf gives one,")
        if curve.prefixes.grid.outside is Outside.APART:
            raise Refused("curve", "values outside were counted apart, and how far they lie is not known")
        return cls._at(curve, np.asarray(curve.prefixes.evidence.sums.bounds), 0)

    @classmethod
    def of_both(cls, first: CDF, second: CDF) -> tuple[_Cells, _Cells]:
        """Read two curves, at the edges that both counted."""
        both = np.intersect1d(first.prefixes.evidence.sums.bounds, second.prefixes.evidence.sums.bounds)
        return cls._at(first, both, 1), cls._at(second, both, 2)

    @classmethod
    def _at(cls, curve: CDF, bounds: IntArray, place: int) -> _Cells:
        if len(bounds) > MOST_CELLS + 1:
            bounds = bounds[np.linspace(0, len(bounds) - 1, MOST_CELLS + 1).round().astype(np.int64)]
        law, total = curve.prefixes.evidence.sums, curve.prefixes.evidence.total
        draws = min(MOST_DRAWS, draws_for(len(law.bounds)))
        source = apart_by(place, public_generator(None))
        noise = np.concatenate(list(law.simulated_prefixes(total, draws, source)))
        apart = curve.prefixes.grid.outside is Outside.APART
        edges = curve.prefixes.boundaries if apart else curve.x
        return cls(edges[bounds], np.diff(bounds), curve.privacy, sample_of(curve.prefixes, bounds, noise), place)

    @property
    def shares(self) -> FloatArray:
        """About what share of the people lies in each interval."""
        return np.asarray(self.sample.likely / max(float(self.sample.likely.sum()), 1.0))

    def reach(self, kernel: Kernel) -> float:
        """How far the mean of a kernel may be from that of the values."""
        return float(self.shares @ kernel.reach @ self.shares)

    def drawn(self, population: bool) -> FloatArray:
        """Likely counts with the noise added that was simulated, and that of sampling: (draws, intervals)."""
        noisy = self.sample.likely + self.sample.noise
        if not population:
            return np.asarray(noisy)
        require_independent(self.privacy)
        people = max(round(float(self.sample.likely.sum())), 1)
        shares = self.shares / max(float(self.shares.sum()), 1e-300)
        sampled = apart_by(self.place, sampling_generator(None)).multinomial(people, shares, size=len(noisy))
        return np.asarray(noisy + sampled - people * shares)

    def read(self, statistic: Statistic, resolution: float) -> UStatistic:
        """The statistic of the unbiased counts, less what noise adds to it on average."""
        about = float(statistic(self.sample.likely))
        found = float(statistic(self.sample.cells))
        bias = float((statistic(self.drawn(population=False)) - about).mean())

        def ends(level: float, population: bool) -> tuple[float, float]:
            return interval(found, statistic(self.drawn(population)) - about, level)

        return UStatistic(found - bias, resolution, ends)

    def mean(self, kernel: Kernel) -> UStatistic:
        """The mean of a kernel over all pairs."""
        return self.read(lambda counts: quadratic(kernel, counts), self.reach(kernel))


def _read(curve: CDF, kernel_on: Callable[[FloatArray], Kernel]) -> UStatistic:
    cells = _Cells.of(curve)
    return cells.mean(kernel_on(cells.edges))
