"""U-statistics of degree 2, computed from released distribution functions of any trust model: spends nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf, log

import numpy as np

from ..arguments import Refused, require_kind
from ..arrays import BoolArray, FloatArray, IntArray
from ..data import Outside
from ..inference import chance_of_less, draws_for, numbered_generator
from ..summaries import Midpoint as Midpoint
from ..summaries import OnCells as OnCells
from ..summaries.kernels import (  # fmt: skip
    Function,
    Kernel,
    at_middles,
    ends_of,
    half_square,
    mean_difference,
    mean_differences,
    on_cells,
    quadratic,
    same_cell,
)
from .cdf import CDF
from .comparison import counts_of, require_same_grid, thinned
from .histogram import Histogram
from .pair_mean import ROUNDED, UNSEEN, UStatistic, ends_about, mean_of_cells
from .question import require_independent

MOST_CELLS = 2**10
"""Cells of a kernel: more of the grid are joined, evenly."""
MOST_DRAWS = 1000
TRIES = 8
"""Steps to the ends of a Gini coefficient: their errors are squared by each."""
ROWS, BIAS_DRAWS = 64, 128
"""Draws that are read at once; and those of noise for what it adds on average."""
Statistic = Callable[[FloatArray], FloatArray]


def gini_mean_difference(curve: CDF) -> UStatistic:
    """The mean absolute difference of two people's values. Values that were clamped count as the ends of the grid.

    Declared values are exact: nothing is unknown in a cell of one value, and two people in it do not differ.

    Args:
        curve: A released distribution function.

    Returns:
        The difference, in the column's unit, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `curve` is no `CDF`.
        ValueError: values outside its grid were counted apart.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([2, 6] * 5000, grid=dp.Grid(0, 8, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> abs(gini_mean_difference(curve).value - 2) < 0.05
    True
    """
    cells = _Cells.of(curve)
    kernel = mean_difference(cells.edges)
    people = max(float(cells.likely.sum()), 2.0)
    value = float(quadratic(kernel, cells.likely))
    ends = [differ * people / (people - 1) for differ, _ in mean_differences(cells.edges, cells.shares)]
    # Both ends are one where each cell holds one value: what differs then is rounding.
    off = 0.0 if ends[0] == ends[1] else max(abs(end - value) for end in ends)
    return cells.read(lambda counts: quadratic(kernel, counts), off, 0.0)


def sample_variance(curve: CDF) -> UStatistic:
    """The variance, with n - 1 in the denominator. Errors as of `gini_mean_difference`.

    Args:
        curve: A released distribution function.

    Returns:
        The variance, in the squared unit of the column, as a `UStatistic` with `value` and `interval`.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([1, 3] * 5000, grid=dp.Values(range(5)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(sample_variance(curve).value - 1) < 0.05
    True
    """
    return _read(curve, half_square, 0.0)


def u_statistic(curve: CDF | Histogram, kernel: Function | Midpoint | OnCells) -> UStatistic:
    """The mean of any symmetric kernel of two values, over all pairs.

    A function is replaced by its mean over each pair of cells (Bell et al. 2019, equation 15), a `Midpoint` by the
    middle of its range there (equation 14); `OnCells` gives a value for each pair of cells. Smooth kernels, such as
    absolute or squared differences, are far more exact from a `CDF`; kernels of single cells, such as collisions, from
    a `Histogram`. With a histogram under local privacy this is Algorithm 1 of that paper: see `mean_of_cells`. Where
    devices rounded values at random, the kernel is interpolated between the middles of cells: see `AtMiddles`.

    Errors are those of `gini_mean_difference`; a kernel that is no function, not symmetric, or not finite on the grid
    is refused, too.

    Args:
        curve: A released distribution function, or a histogram.
        kernel: A function of two arrays that returns an array, a `Midpoint`, or `OnCells`. The `resolution` of the
            result is valid if the kernel is monotone within each cell.

    Returns:
        The mean, in the unit of the kernel, with `resolution`, `interval` and `notes`.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> curve = dp.cdf([2, 6] * 5000, grid=dp.Grid(0, 8, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> abs(u_statistic(curve, lambda x, y: np.maximum(x, y)).value - 5) < 0.1
    True
    """
    if isinstance(curve, Histogram):
        return mean_of_cells(curve, (at_middles if ROUNDED in curve.notes else on_cells)(kernel))
    return _read(curve, on_cells(kernel))


def gini_coefficient(curve: CDF) -> UStatistic:
    """Gini's mean difference divided by twice the mean, for values that are not negative: 0 where all are equal.

    The mean is computed from the same release, and taken to be at least the middle of the first cell; of declared
    values, the first one above 0 in one person alone.

    Args:
        curve: A released distribution function of values that are not negative.

    Returns:
        The coefficient, between 0 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `curve` is no `CDF`.
        ValueError: its grid begins below 0, or values outside were counted apart.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([1, 3] * 5000, grid=dp.Values(range(5)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(gini_coefficient(curve).value - 0.25) < 0.01
    True
    """
    cells = _Cells.of(curve)
    low, high = ends_of(cells.edges)
    if low[0] < 0:
        raise Refused("curve", "a Gini coefficient needs non-negative values: a grid that begins at 0 or above")
    middles, kernel = (high + low) / 2, mean_difference(cells.edges)
    floor = float(middles[0]) or float(middles[:2].sum() or 1.0) / max(float(cells.likely.sum()), 1.0)

    def statistic(counts: FloatArray) -> FloatArray:
        mean = (counts @ middles) / np.maximum(counts.sum(axis=-1), 1.0)
        return np.asarray(quadratic(kernel, counts) / (2 * np.maximum(mean, floor)))

    people = max(float(cells.likely.sum()), 2.0)
    value, ends = float(statistic(cells.likely)), np.zeros(2)
    for _ in range(TRIES):  # each finds an end that is as far out at least as the one before it (Dinkelbach 1967)
        found = [mean_differences(cells.edges, cells.shares, float(end))[place] for place, end in enumerate(ends)]
        ends = np.array([differ / (2 * max(float(mean), floor)) for differ, mean in found])
    off = 0.0 if ends[0] == ends[1] else float(np.abs(ends * people / (people - 1) - value).max())
    return cells.read(statistic, off, 0.0, 1.0)


def collision_probability(curve: CDF | Histogram) -> UStatistic:
    """The probability that two people's values lie in one cell of the grid: most exact from a histogram.

    Cells that were counted together are taken to hold equally many records; `resolution` bounds the error of that.
    Errors as of `gini_mean_difference`.

    Args:
        curve: A released histogram, or a distribution function.

    Returns:
        The probability, between 0 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 2] * 5000, grid=dp.Values(range(4)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(collision_probability(bars).value - 0.5) < 0.01
    True
    """
    if isinstance(curve, Histogram):
        if ROUNDED in curve.notes:
            raise Refused("curve", "values were rounded by chance, and how many lie in one cell is not known")
        return mean_of_cells(curve, lambda edges: same_cell(np.ones(len(ends_of(edges)[0]), dtype=np.int64)))
    cells = _Cells.of(curve)
    return cells.mean(same_cell(cells.parts), 0.0, 1.0)


def renyi2_entropy(curve: CDF | Histogram) -> UStatistic:
    """Minus the logarithm of `collision_probability`, which is clipped to between 1 / (number of cells) and 1.

    Args:
        curve: A released histogram, or a distribution function.

    Returns:
        The entropy, in nats, as a `UStatistic` with `value`, `resolution` and `interval`.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 2] * 5000, grid=dp.Values(range(4)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(renyi2_entropy(bars).value - 0.693) < 0.02
    True
    """
    found = collision_probability(curve)
    least = 1 / (len(curve.x) - 1)

    def entropy(probability: float) -> float:
        return -log(min(max(probability, least), 1.0))

    def ends(level: float, population: bool) -> tuple[float, float]:
        low, high = found.interval(level, population=population)
        return entropy(high), entropy(low)

    return UStatistic(entropy(found.value), 0.0, ends, found.privacy, found.notes, 0.0, entropy(least))


def area_between(negatives: CDF, positives: CDF) -> UStatistic:
    """The area under the ROC curve from the released score distributions of negatives and positives.

    Scores in one cell count as tied, and a tie counts one half, as it does exactly where a cell is a declared value.
    The area is computed from counts made monotone, which shrinks it towards one half where noise is large and reduces
    its error by a third there; the interval is computed from unbiased counts. The two distributions may be separate
    releases under any trust model, for instance by people who know their own label; labels and the sizes of the classes
    are then public. (The pruned recursion of Bell et al. 2019, section 4, has up to 1,000 times the error; only for
    scores spread evenly over 2**16 cells, which it assumes, is its error as small as that of one round. It stands in
    `papers/u_statistics/`, and `benchmarks/local_auc.py` prints it beside one round and two, `dp.local.publish`.)

    Args:
        negatives: The distribution function of the scores of negatives.
        positives: The distribution function of the scores of positives, on the same grid.

    Returns:
        The area, between 0 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> low, high = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> abs(area_between(low, high).value - 0.75) < 0.05
    True
    """
    require_same_grid(negatives, positives)
    first, second = _Cells.of_both(negatives, positives)

    def ends(level: float, population: bool) -> tuple[float, float]:
        moved = chance_of_less(first.drawn(population), second.drawn(population))
        low, high = ends_about(unbiased, moved - value, level, population)
        return min(low, value), max(high, value)

    unbiased = float(chance_of_less(first.unbiased, second.unbiased))
    value = float(chance_of_less(first.likely, second.likely))
    ties = float((first.shares * second.shares * first.is_open).sum()) / 2
    notes = (*negatives.notes, *(note for note in positives.notes if note not in negatives.notes))
    return UStatistic(value, ties, ends, negatives.privacy, notes, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Counts of intervals that were measured, and their noise.

    Attributes:
        curve: What they are read from.
        bounds: The numbers of the cells that intervals begin with, and how many cells there are.
        place: Which of several samples it is: each has streams of its own in simulations.
    """

    curve: CDF
    bounds: IntArray
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
        return cls(curve, thinned(bounds, MOST_CELLS), place)

    @property
    def edges(self) -> FloatArray:
        """The ends of the intervals; of declared values, the first and the last one in each, (intervals, 2)."""
        grid = self.curve.prefixes.grid
        if grid.values is not None:
            return grid.within(np.stack([self.bounds[:-1], self.bounds[1:]], axis=1))
        return np.asarray(
            (self.curve.prefixes.boundaries if grid.outside is Outside.APART else self.curve.x)[self.bounds]
        )

    @property
    def is_open(self) -> BoolArray:
        """In which intervals values may differ."""
        low, high = ends_of(self.edges)
        return np.asarray(low < high)

    @property
    def parts(self) -> IntArray:
        """The number of cells of the grid in each."""
        return np.diff(self.bounds)

    @cached_property
    def _counts(self) -> tuple[FloatArray, FloatArray]:
        return counts_of(self.curve.prefixes, self.bounds)

    @property
    def unbiased(self) -> FloatArray:
        """Counts without bias, which may be below zero."""
        return self._counts[0]

    @property
    def likely(self) -> FloatArray:
        """An estimate with none below zero."""
        return self._counts[1]

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts: (draws, intervals)."""
        return self._simulated(min(MOST_DRAWS, draws_for(len(self.curve.prefixes.evidence.sums.bounds))))

    def _simulated(self, draws: int) -> FloatArray:
        known = np.searchsorted(self.curve.prefixes.evidence.sums.bounds, self.bounds)
        drawn = self.curve.prefixes.simulated(draws, numbered_generator(2 * self.place))
        return np.concatenate([np.diff(chunk[:, known], axis=-1) for chunk in drawn])

    @property
    def shares(self) -> FloatArray:
        """About what share of the people lies in each interval."""
        return np.asarray(self.likely / max(float(self.likely.sum()), 1.0))

    def reach(self, kernel: Kernel) -> float:
        """The largest distance of the mean of a kernel from that of the values."""
        return float(self.shares @ kernel.reach @ self.shares)

    def drawn(self, population: bool) -> FloatArray:
        """Likely counts with the noise added that was simulated, and that of sampling: (draws, intervals)."""
        noisy = self.likely + self.noise
        if not population:
            return np.asarray(noisy)
        require_independent(self.curve.privacy)
        seen = self.likely + UNSEEN * self.parts / self.parts.sum()
        people, generator = max(round(float(self.likely.sum())), 1), numbered_generator(2 * self.place + 1)
        return np.asarray(noisy + self.curve.prefixes.sampled(seen, people, self.bounds, len(noisy), generator))

    def read(self, statistic: Statistic, resolution: float, least: float = -inf, most: float = inf) -> UStatistic:
        """The statistic of the unbiased counts, less what noise adds to it on average."""
        about, found = float(statistic(self.likely)), float(statistic(self.unbiased))

        def ends(level: float, population: bool) -> tuple[float, float]:
            return ends_about(found, statistic(self.drawn(population)) - about, level, population)

        value, notes = min(max(found - self._bias(statistic, about), least), most), self.curve.notes
        return UStatistic(value, resolution, ends, self.curve.privacy, notes, least, most)

    def _bias(self, statistic: Statistic, about: float) -> float:
        """The expected effect of the noise: each draw is put on and taken off, so its linear effect is not in it.

        For means of kernels, where the number of people is known, that leaves the mean of the form of noise alone.
        """
        noise = self._simulated(BIAS_DRAWS)
        moved = [
            statistic(self.likely + sign * part) for sign in (1, -1) for part in np.split(noise, BIAS_DRAWS // ROWS)
        ]
        return float(np.concatenate(moved).mean()) - about

    def mean(self, kernel: Kernel, least: float = -inf, most: float = inf) -> UStatistic:
        """The mean of a kernel over all pairs."""
        return self.read(lambda counts: quadratic(kernel, counts), self.reach(kernel), least, most)


def _read(curve: CDF, kernel_on: Callable[[FloatArray], Kernel], least: float = -inf) -> UStatistic:
    cells = _Cells.of(curve)
    return cells.mean(kernel_on(cells.edges), least)
