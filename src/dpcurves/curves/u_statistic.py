"""U-statistics of degree 2 (Gini, variance, collisions, AUC), computed from a released distribution function.

Each is the mean, over all pairs of people, of a kernel, a symmetric function of their two values x and y:

    Gini's mean difference   |x - y|
    sample variance          (x - y)**2 / 2          (n - 1 in the denominator)
    Gini coefficient         mean of |x - y| / (2 * mean of x)
    any other                `u_statistic(curve, kernel)`

In: a `CDF` (for some also a `Histogram`), the noisy counts of cells released under any trust model. Out: a
`UStatistic` with

    value        the estimate, minus the bias that noise adds to products of counts (not for `area_between`)
    interval     from simulated noise and, for the population, simulated sampling of people
    resolution   a bound on the error from values known only up to their cell

Inside cells, a kernel is replaced by its mean over each pair of cells (Bell, Bellet, Gascon and Kulkarni 2019,
equations 14 and 15). If each cell holds one declared value, nothing is lost and the resolution is 0. *Lattice* means
that a search found nearly all values to be multiples of a step; then values are taken to be these multiples, and
intervals are widened for the few others (`add_moved_values`).

Formal guarantees: each statistic is a function of released counts and public numbers, so it costs no budget and keeps
the guarantee of the release (post-processing: Dwork and Roth 2014, Proposition 2.1).

References: Hoeffding 1948, *A class of statistics with asymptotically normal distribution*; Gini 1912; Bell, Bellet,
Gascon and Kulkarni 2019.

>>> import dpcurves as dp
>>> curve = dp.cdf([0, 4] * 1000, grid=dp.Values(range(5)), epsilon=100, adjacency=dp.REPLACE_ONE)
>>> round(dp.gini_mean_difference(curve).value, 1), round(dp.sample_variance(curve).value, 1)
(2.0, 4.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log

import numpy as np

from ..arguments import InvalidArgument, require_type
from ..arrays import BoolArray, FloatArray, IntArray
from ..data import Outside
from ..inference import choose_draws, mann_whitney_statistic, numbered_generator
from ..summaries import CellKernel as CellKernel
from ..summaries import MidpointKernel as MidpointKernel
from ..summaries.kernels import (  # fmt: skip
    Function,
    Kernel,
    cell_endpoints,
    extreme_mean_differences,
    half_square_kernel,
    kernel_at_middles,
    kernel_on_cells,
    mean_difference_kernel,
    mean_over_pairs,
    same_cell_kernel,
)
from .cdf import CDF
from .class_table import bound_last_cell
from .comparison import counts_between, find_common_bounds, require_same_grid, thin_edges
from .histogram import Histogram
from .pair_mean import ROUNDED_VALUES_NOTE, TUNING, UStatistic, compute_basic_interval, estimate_pair_mean
from .question import require_independent

KERNEL_CELLS = 2**10
"""Largest number of cells on which a statistic of pairs is computed; a finer grid is merged evenly, since a kernel has
cells**2 numbers."""
KERNEL_DRAWS = 1000
"""Largest number of draws of the simulated noise of a statistic of pairs, which bounds time and memory. More draws give
steadier intervals."""
Statistic = Callable[[FloatArray], FloatArray]


def gini_mean_difference(curve: CDF) -> UStatistic:
    """Return the mean absolute difference of two people's values. Clipped values count as the ends of the grid.

    Declared values are exact: a cell of one value has no discretization error, and two people in it do not differ.

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
    cells = _MeasuredCells.from_curve(curve, uses_lattice=True)
    kernel = mean_difference_kernel(cells.edges)
    people = max(float(cells.likely_counts.sum()), 2.0)
    value = float(mean_over_pairs(kernel, cells.likely_counts))
    ends = [difference * people / (people - 1) for difference, _ in extreme_mean_differences(cells.edges, cells.shares)]
    # Both ends are equal if each cell holds one value: a remaining difference is rounding.
    resolution = 0.0 if ends[0] == ends[1] else max(abs(end - value) for end in ends)
    maximum = cells.span / 2 * people / (people - 1) or inf  # half of the people at each end
    # the mean of |x - y| over the other people changes by at most as much as x
    estimated = cells.estimate_statistic(lambda counts: mean_over_pairs(kernel, counts), resolution, 0.0, maximum)
    return cells.add_moved_values(estimated, 2.0)


def sample_variance(curve: CDF) -> UStatistic:
    """Return the sample variance of the values, with n - 1 in the denominator. Clipped values count as the ends of the
    grid.

    Args:
        curve: A released distribution function.

    Returns:
        The variance, in the squared unit of the column, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `curve` is no `CDF`.
        ValueError: values outside its grid were counted apart.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([1, 3] * 5000, grid=dp.Values(range(5)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(sample_variance(curve).value - 1) < 0.05
    True
    """
    cells = _MeasuredCells.from_curve(curve, uses_lattice=True)
    people = max(float(cells.likely_counts.sum()), 2.0)
    maximum = (cells.span / 2) ** 2 * people / (people - 1) or inf  # half of the people at each end
    estimated = cells.estimate_mean(half_square_kernel(cells.edges), 0.0, maximum)
    # the mean of (x - y)^2 / 2 over the other people has a slope of at most the span in x
    return cells.add_moved_values(estimated, 2 * cells.span)


def u_statistic(curve: CDF | Histogram, kernel: Function | MidpointKernel | CellKernel) -> UStatistic:
    """Return the mean of any symmetric kernel of two values, over all pairs.

    A function is replaced by its mean over each pair of cells (Bell et al. 2019, equation 15), a `MidpointKernel` by
    the middle of its range there (equation 14); `CellKernel` gives a value for each pair of cells. Smooth kernels, such
    as absolute or squared differences, are far more accurate from a `CDF`; kernels of single cells, such as collisions,
    from a `Histogram`. With a histogram under local privacy this is Algorithm 1 of that paper: see
    `estimate_pair_mean`. If devices rounded values at random, the kernel is interpolated between the middles of cells:
    see `CellMiddleKernel`.

    Args:
        curve: A released distribution function, or a histogram.
        kernel: A function of two arrays that returns an array, a `MidpointKernel`, or a `CellKernel`. The `resolution`
            of the result is valid if the kernel is monotone within each cell.

    Returns:
        The mean, in the unit of the kernel, with `resolution`, `interval` and `notes`.

    Raises:
        TypeError: `curve` is neither a `CDF` nor a `Histogram`, or the kernel is no function.
        ValueError: values outside the grid of a `CDF` were counted apart; or the kernel is not symmetric, or not finite
            on the grid.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> curve = dp.cdf([2, 6] * 5000, grid=dp.Grid(0, 8, cells=256), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> abs(u_statistic(curve, lambda x, y: np.maximum(x, y)).value - 5) < 0.1
    True
    """
    if isinstance(curve, Histogram):
        return estimate_pair_mean(
            curve, (kernel_at_middles if ROUNDED_VALUES_NOTE in curve.notes else kernel_on_cells)(kernel)
        )
    cells = _MeasuredCells.from_curve(curve)
    pair_kernel = kernel_on_cells(kernel)(cells.edges)
    minimum = float((pair_kernel.mean - pair_kernel.max_deviation).min())
    maximum = float((pair_kernel.mean + pair_kernel.max_deviation).max())
    return cells.estimate_mean(pair_kernel, *((minimum, maximum) if minimum < maximum else (-inf, inf)))


def gini_coefficient(curve: CDF) -> UStatistic:
    """Return Gini's mean difference divided by twice the mean, for non-negative values: 0 if all values are equal.

    The mean is computed from the same release, and is at least the middle of the first cell; for declared values, at
    least the mean if a single person has the first value above 0.

    Args:
        curve: A released distribution function of non-negative values.

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
    cells = _MeasuredCells.from_curve(curve, uses_lattice=True)
    low, high = cell_endpoints(cells.edges)
    if low[0] < 0:
        raise InvalidArgument(
            "curve", "a Gini coefficient needs values of at least 0: ask on a grid that begins at 0 or above"
        )
    middles = (high + low) / 2
    kernel = mean_difference_kernel(cells.edges)
    first_positive = float(middles[middles > 0][0]) if middles[-1] > 0 else 1.0
    floor = float(middles[0]) or first_positive / max(float(cells.likely_counts.sum()), 1.0)

    def compute_gini(counts: FloatArray) -> FloatArray:
        """Return the Gini coefficient of each table of counts; the mean is at least a positive minimum, `floor`.

        Args:
            counts: Counts of people in each cell, (..., cells).
        """
        mean = (counts @ middles) / np.maximum(counts.sum(axis=-1), 1.0)
        return np.asarray(mean_over_pairs(kernel, counts) / (2 * np.maximum(mean, floor)))

    people = max(float(cells.likely_counts.sum()), 2.0)
    value = float(compute_gini(cells.likely_counts))
    ends = np.zeros(2)
    # each iteration for an end squares the error
    for _ in range(8):  # each iteration moves the ends outwards or keeps them (Dinkelbach 1967)
        extremes = [
            extreme_mean_differences(cells.edges, cells.shares, float(end))[index] for index, end in enumerate(ends)
        ]
        ends = np.array([difference / (2 * max(float(mean), floor)) for difference, mean in extremes])
    resolution = 0.0 if ends[0] == ends[1] else float(np.abs(ends * people / (people - 1) - value).max())
    # Mean difference and twice the mean, whose ratio is at most 1, each change by at most twice the sum of all moves
    # over the number of people.
    smallest_mean = max(float(cells.shares @ low), floor)
    estimated = cells.estimate_statistic(compute_gini, resolution, 0.0, 1.0)
    return cells.add_moved_values(estimated, 2 / smallest_mean)


def collision_probability(curve: CDF | Histogram) -> UStatistic:
    """Return the probability that two people's values lie in one cell of the grid: most accurate from a histogram.

    Cells that were counted together are assumed to hold equal counts; `resolution` bounds the error of this assumption.

    Args:
        curve: A released histogram, or a distribution function.

    Returns:
        The probability, between 0 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `curve` is neither a `CDF` nor a `Histogram`.
        ValueError: values outside the grid of a `CDF` were counted apart; or devices rounded the values of a histogram
            at random, so that counts of single cells are unknown.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 2] * 5000, grid=dp.Values(range(4)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(collision_probability(bars).value - 0.5) < 0.01
    True
    """
    if isinstance(curve, Histogram):
        if ROUNDED_VALUES_NOTE in curve.notes:
            raise InvalidArgument(
                "curve",
                "values were rounded at random, so counts of single cells are unknown; ask in a task without "
                "randomized rounding",
            )
        return estimate_pair_mean(
            curve, lambda edges: same_cell_kernel(np.ones(len(cell_endpoints(edges)[0]), dtype=np.int64))
        )
    cells = _MeasuredCells.from_curve(curve)
    return cells.estimate_mean(same_cell_kernel(cells.grid_cells_per_interval), 0.0, 1.0)


def renyi2_entropy(curve: CDF | Histogram) -> UStatistic:
    """Return minus the logarithm of `collision_probability`, clipped to between 1 / (number of cells) and 1.

    Args:
        curve: A released histogram, or a distribution function.

    Returns:
        The entropy, in nats, as a `UStatistic` with `value`, `resolution` and `interval`.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 2] * 5000, grid=dp.Values(range(4)), epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> abs(renyi2_entropy(bars).value - 0.693) < 0.02
    True
    """
    collision = collision_probability(curve)
    smallest = 1 / (len(curve.x) - 1)

    def compute_entropy(probability: float) -> float:
        """Return the Rényi entropy of order 2, in nats: minus the logarithm of a collision probability.

        Args:
            probability: Collision probability; values outside the possible range are clipped to it.
        """
        return -log(min(max(probability, smallest), 1.0))

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        """Return the interval of the entropy: the transformed endpoints of the interval of the collision probability,
        in reverse order.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Lower and upper end, in nats.
        """
        low, high = collision.interval(level, population=population)
        return compute_entropy(high), compute_entropy(low)

    return UStatistic(
        value=compute_entropy(collision.value),
        resolution=0.0,
        interval_function=compute_interval,
        privacy=collision.privacy,
        notes=collision.notes,
        minimum=0.0,
        maximum=compute_entropy(smallest),
    )


def area_between(negatives: CDF, positives: CDF) -> UStatistic:
    """Return the area under the ROC curve from the released score distributions of negatives and positives.

    Scores in one cell are tied, and a tie counts one half, which is exact if a cell is a declared value. The area is
    computed from counts made monotone, which shrinks it towards one half if noise is large and reduces its error by a
    third there; the interval is computed from unbiased counts. The two distributions may be separate releases under any
    trust model, for instance by people who know their own label; labels and the sizes of the classes are then public.
    (The pruned recursion of Bell et al. 2019, section 4, has up to 1,000 times the error; only for scores spread evenly
    over 2**16 cells, which it assumes, is its error as small as the error of one round. `papers/u_statistics/`
    implements it, and `benchmarks/local_auc.py` compares it with one round and two, `dp.local.publish`.)

    Args:
        negatives: The distribution function of the scores of negatives.
        positives: The distribution function of the scores of positives, on the same grid.

    Returns:
        The area, between 0 and 1, as a `UStatistic` with `value`, `resolution` and `interval`.

    Raises:
        TypeError: `negatives` or `positives` is no `CDF`.
        ValueError: the distributions are on different grids.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> low, high = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> abs(area_between(low, high).value - 0.75) < 0.05
    True
    """
    require_same_grid(negatives, positives)
    first, second = _MeasuredCells.from_curves(negatives, positives)

    def compute_interval(level: float, population: bool) -> tuple[float, float]:
        """Return the interval of the area from simulated errors, extended to contain the area.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Lower and upper end, in units of the area.
        """
        simulated = mann_whitney_statistic(first.simulate_counts(population), second.simulate_counts(population))
        low, high = compute_basic_interval(unbiased, simulated - value, level, population)
        return min(low, value), max(high, value)

    unbiased = float(mann_whitney_statistic(first.unbiased_counts, second.unbiased_counts))
    value = float(mann_whitney_statistic(first.likely_counts, second.likely_counts))
    ties = float((first.shares * second.shares * first.is_open).sum()) / 2
    notes = (*negatives.notes, *(note for note in positives.notes if note not in negatives.notes))
    return UStatistic(
        value=value,
        resolution=ties,
        interval_function=compute_interval,
        privacy=negatives.privacy,
        notes=notes,
        minimum=0.0,
        maximum=1.0,
    )


@dataclass(frozen=True, eq=False)
class _MeasuredCells:
    """Released counts of the intervals of a distribution function, with draws of their noise and sampling errors.

    Attributes:
        curve: The distribution function that was released.
        bounds: Cell numbers at which the intervals begin, increasing from 0, then the number of cells, (intervals +
            1,).
        stream: Number of the sample, 0 for a single one. Different samples get independent simulated noise.
        uses_lattice: True if values are taken to be the points of a lattice, that is multiples of a step that a search
            found to hold nearly all values.
    """

    curve: CDF
    bounds: IntArray
    stream: int
    uses_lattice: bool = False

    @classmethod
    def from_curve(cls, curve: CDF, *, uses_lattice: bool = False) -> _MeasuredCells:
        """Return the counted intervals of one curve, at most `KERNEL_CELLS`.

        Args:
            curve: A released distribution function.
            uses_lattice: If True, values are taken to be points of a lattice, if the release found one.

        Raises:
            TypeError: `curve` is no `CDF`.
            ValueError: values outside its grid were counted apart.
        """
        require_type("curve", curve, CDF, "a distribution function, as dp.cdf gives one,")
        if curve.prefixes.grid.outside is Outside.APART:
            raise InvalidArgument(
                "curve",
                "values outside the grid were counted apart, so their distance is unknown; ask on a grid with "
                "outside='clipped'",
            )
        cells = cls._from_edges(curve, np.asarray(curve.prefixes.evidence.sums.bounds), 0)
        return replace(cells, uses_lattice=uses_lattice and curve.prefixes.lattice_counts is not None)

    @classmethod
    def from_curves(cls, first: CDF, second: CDF) -> tuple[_MeasuredCells, _MeasuredCells]:
        """Return the counted intervals of two curves, between the edges that both counted, with separate random
        streams.

        Args:
            first: Distribution function of the first sample, stream 1.
            second: Distribution function of the second sample on the same grid, stream 2.
        """
        (_, first_bounds), (_, second_bounds) = find_common_bounds(first, second)
        return cls._from_edges(first, first_bounds, 1), cls._from_edges(second, second_bounds, 2)

    @classmethod
    def _from_edges(cls, curve: CDF, bounds: IntArray, place: int) -> _MeasuredCells:
        """Return the intervals of a curve between these cell numbers, merged to at most `KERNEL_CELLS`.

        `place` is the number of the sample.

        Args:
            curve: The released distribution function.
            bounds: Cell numbers at which intervals begin, increasing from 0, then the number of cells.
            place: Number of the sample, which is the number of its random stream.
        """
        return cls(curve, thin_edges(bounds, KERNEL_CELLS), place)

    @property
    def edges(self) -> FloatArray:
        """Smallest and largest possible value of each interval, in units of the column.

        Edges of neighbouring intervals, (intervals + 1,); or pairs, (intervals, 2), if values are declared, are taken
        to be points of a lattice, or zero has a separate cell. `cell_endpoints` reads both forms.
        """
        return self._points if self.uses_lattice else self._ends

    @property
    def _points(self) -> FloatArray:
        """First and last edge of the declared grid (lattice point) in each counted interval, (intervals, 2); else its
        endpoints.

        Lattice points are the edges of the grid that the question declared.
        """
        prefixes = self.curve.prefixes
        points = prefixes.declared_grid.edges
        interval = np.searchsorted(self.bounds, prefixes.grid.cell_of(points), side="right") - 1
        limits = np.stack(cell_endpoints(self._ends), axis=1)
        has_points = np.isin(np.arange(len(limits)), interval)
        first, last = (np.searchsorted(interval, np.arange(len(limits)), side) for side in ("left", "right"))
        limits[has_points] = np.stack([points[first[has_points]], points[last[has_points] - 1]], axis=1)
        return limits

    @property
    def _ends(self) -> FloatArray:
        """The endpoints of the intervals as they were counted.

        Neighbouring intervals have edges, (intervals + 1,); for declared values each interval has its smallest and
        largest value, (intervals, 2). Both are in units of the column.
        """
        prefixes = self.curve.prefixes
        grid = self.curve.prefixes.grid
        if grid.values is not None:
            return grid.value_range(np.stack([self.bounds[:-1], self.bounds[1:]], axis=1))
        edges = (prefixes.boundaries if grid.outside is Outside.APART else grid.edges)[self.bounds]
        if prefixes.declared is None:
            return np.asarray(edges)
        low, high = edges[:-1], edges[1:]
        high = np.where(high == np.nextafter(low, np.inf), low, high)  # a cell of a single number
        lower, upper = (-np.inf, np.inf) if grid.outside is Outside.APART else prefixes.declared.endpoints
        return np.clip(np.stack([low, high], axis=1), lower, upper)

    @property
    def span(self) -> float:
        """Width of the range of the values: the largest possible value minus the smallest, in units of the column."""
        low, high = cell_endpoints(self.edges)
        return float(high[-1] - low[0])

    @property
    def is_open(self) -> BoolArray:
        """Mask of the intervals inside which values may differ.

        Shape ``(intervals,)``.
        """
        low, high = cell_endpoints(self.edges)
        return np.asarray(low < high)

    @property
    def grid_cells_per_interval(self) -> IntArray:
        """The number of grid cells in each interval.

        Shape ``(intervals,)``.
        """
        return np.diff(self.bounds)

    @cached_property
    def _counts(self) -> tuple[FloatArray, FloatArray]:
        """Unbiased estimates of the intervals' counts, and non-negative estimates, ``(intervals,)`` each."""
        return counts_between(self.curve.prefixes, self.bounds)

    @property
    def unbiased_counts(self) -> FloatArray:
        """Unbiased counts of the intervals, (intervals,), which may be below zero."""
        return self._counts[0]

    @property
    def likely_counts(self) -> FloatArray:
        """Non-negative counts of the intervals near the unbiased ones, (intervals,)."""
        return self._counts[1]

    @cached_property
    def noise(self) -> FloatArray:
        """Simulated noise of the counts of the intervals, (draws, intervals)."""
        return self._simulate_noise(min(KERNEL_DRAWS, choose_draws(len(self.curve.prefixes.evidence.sums.bounds))))

    def _simulate_noise(self, draws: int) -> FloatArray:
        """Return simulated noise of the counts of the intervals, (draws, intervals), from a fixed public seed.

        Args:
            draws: Number of draws.
        """
        known = np.searchsorted(self.curve.prefixes.evidence.sums.bounds, self.bounds)
        drawn = self.curve.prefixes.simulate_noise(draws, numbered_generator(2 * self.stream))
        return np.concatenate([np.diff(chunk[:, known], axis=-1) for chunk in drawn])

    @property
    def shares(self) -> FloatArray:
        """Estimated share of the people in each interval, (intervals,)."""
        return np.asarray(self.likely_counts / max(float(self.likely_counts.sum()), 1.0))

    def find_resolution(self, kernel: Kernel) -> float:
        """Return a bound on the error of the mean of a kernel from values known up to their cell, for the estimated
        shares.

        Args:
            kernel: Symmetric kernel of two values, on pairs of cells.
        """
        return float(self.shares @ kernel.max_deviation @ self.shares)

    def simulate_counts(self, population: bool) -> FloatArray:
        """Return simulated released counts, (draws, intervals): likely counts plus noise, plus sampling errors if
        `population`.

        Raises:
            ValueError: `population`, and one unit may have several records, which are no independent sample.
        """
        noisy = self.likely_counts + self.noise
        if not population:
            return np.asarray(noisy)
        require_independent(self.curve.privacy)
        seen = (
            self.likely_counts
            + TUNING.unseen_people * self.grid_cells_per_interval / self.grid_cells_per_interval.sum()
        )
        people = max(round(float(self.likely_counts.sum())), 1)
        generator = numbered_generator(2 * self.stream + 1)
        return np.asarray(
            noisy + self.curve.prefixes.simulate_sampling_errors(seen, people, self.bounds, len(noisy), generator)
        )

    def estimate_statistic(
        self, statistic: Statistic, resolution: float, minimum: float = -inf, maximum: float = inf
    ) -> UStatistic:
        """Return a statistic of the unbiased counts, minus the simulated bias from noise, with its intervals.

        Args:
            statistic: Function from counts (..., intervals) to statistics (...).
            resolution: Bound on the error from values known up to their cell, in the unit of the statistic.
            minimum: Smallest possible value; a smaller estimate is raised to it.
            maximum: Largest possible value; a larger estimate is cut to it.
        """
        about = float(statistic(self.likely_counts))
        found = float(statistic(self.unbiased_counts))

        def compute_interval(level: float, population: bool) -> tuple[float, float]:
            """Return the lower and the upper endpoint of the confidence interval of the statistic at `level`.

            A basic interval: quantiles of simulated errors are subtracted from the estimate of unbiased counts. The
            interval is then extended, if needed, to contain the released `value`, from which the bias is subtracted.

            Args:
                level: Coverage probability, between 0 and 1.
                population: False: interval for the statistic of these people; errors are noise alone. True: for the
                    population that they were drawn from; errors are noise plus sampling.
            """
            errors = statistic(self.simulate_counts(population)) - about
            low, high = compute_basic_interval(found, errors, level, population)
            return min(low, value), max(high, value)

        value = min(max(found - self._estimate_bias(statistic, about), minimum), maximum)
        notes = self.curve.notes
        return UStatistic(
            value=value,
            resolution=resolution,
            interval_function=compute_interval,
            privacy=self.curve.privacy,
            notes=notes,
            minimum=minimum,
            maximum=maximum,
        )

    def _estimate_bias(self, statistic: Statistic, about: float) -> float:
        """Return the bias of a statistic: what noise of the counts adds to it on average.

        Each draw of the noise is added and subtracted, so that its linear effect cancels. For means of kernels, where
        the number of people is known, this leaves the mean of the form of noise alone.

        Args:
            statistic: Function from counts (..., intervals) to statistics (...).
            about: Statistic of the likely counts, without noise.
        """
        bias_draws = 128  # draws of noise that estimate its bias
        noise = self._simulate_noise(bias_draws)
        # Each draw is also used with the other sign, which removes the odd terms; blocks of 64 draws bound the memory.
        moved = []
        for sign in (1, -1):
            for block in np.split(noise, bias_draws // 64):
                moved.append(statistic(self.likely_counts + sign * block))
        return float(np.concatenate(moved).mean()) - about

    def add_moved_values(self, estimated: UStatistic, slope: float) -> UStatistic:
        """Widen the error bound of a statistic by the values that are no multiples of the step; return it unchanged if
        there is no step.

        Values were taken to be lattice points. A value off the lattice lies less than one cell above the last point in
        its interval, and the release bounds the number of these values.

        Args:
            estimated: The statistic, computed as if all values were on the lattice.
            slope: Lipschitz constant: largest change of the statistic when the mean distance of all values from their
                lattice points is 1.
        """
        lattice_counts = self.curve.prefixes.lattice_counts
        if not self.uses_lattice or lattice_counts is None:
            return estimated
        width = float(np.diff(self.curve.prefixes.declared_grid.edges).max())
        people = max(float(self.likely_counts.sum()), 2.0)

        def bound_change(error_probability: float) -> float:
            """Return an upper bound of the change of the statistic by values off the lattice.

            Args:
                error_probability: Largest probability that the change exceeds the bound, between 0 and 1.

            Returns:
                The change, in units of the statistic, at least 0.
            """
            return slope * width * min(bound_last_cell(lattice_counts, error_probability) / people, 1.0)

        return replace(estimated, bound_moved=bound_change)

    def estimate_mean(self, kernel: Kernel, minimum: float = -inf, maximum: float = inf) -> UStatistic:
        """Return the mean of a kernel over all pairs of people, clipped to between `minimum` and `maximum`.

        Args:
            kernel: Symmetric kernel of two values, on pairs of cells.
        """
        return self.estimate_statistic(
            lambda counts: mean_over_pairs(kernel, counts), self.find_resolution(kernel), minimum, maximum
        )
