"""Comparison of released curves: distances, two-sample tests, and a private curve beside that of a public table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import InvalidArgument, require_type
from ..arrays import FloatArray, IntArray
from ..conversation import OPEN
from ..display import format_interval, format_number, use_style
from ..inference import TwoSampleTest as TwoSampleTest
from ..inference import choose_draws, public_generator, simulate_cell_noise
from ..inference.moments import LEVEL, IntervalEstimate, difference_p_value, subtract_estimates
from ..inference.two_samples import NullDraws, ReleasedSample, kolmogorov_smirnov, mann_whitney, simulate_null
from ..summaries import Distribution, area_between, energy_between, isotonic_projection, largest_gap
from .calibration import Calibration
from .cdf import CDF
from .histogram import Histogram
from .prefixes import PrefixShares
from .question import require_independent
from .residuals import BinnedResiduals
from .roc import ROC

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Distributed: TypeAlias = CDF | ArrayLike
"""A curve, which is straight inside its cells, or a sample, whose distribution function has steps."""


def ks_distance(a: Distributed, b: Distributed) -> float:
    """The largest difference of two distribution functions (Kolmogorov 1933, Smirnov 1939).

    All three distances are exact: functions are compared on the union of their edges and values, from the left and from
    the right. Values that a curve counted outside its grid are taken to lie on the nearest edge. Inside a cell a curve
    is linear where a sample has steps, so a sample of whole numbers has a positive distance even from its own exact
    curve.

    Args:
        a: A `CDF`, or values of shape ``(n,)``, of which NaN are missing.
        b: Another `CDF`, or other values.

    Returns:
        The distance, between 0 and 1.

    Formal guarantees: a distance between two released curves costs no privacy loss. **A distance to a sample is a
    statistic of the sample**: where the sample is secret, so is the distance.

    Raises:
        ValueError: a sample has no value, or an infinite one.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.ks_distance(early, late), 1)
    0.5
    """
    return largest_gap(_to_distribution(a), _to_distribution(b))


def wasserstein_distance(a: Distributed, b: Distributed) -> float:
    """The area between two distribution functions: how far records must move on average, in units of the column.

    Its order is 1 (Vaserstein 1969); for two samples, SciPy's. Arguments, guarantees and errors as for `ks_distance`.

    Returns:
        The distance, not below 0, in the column's unit.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.wasserstein_distance(early, late), 1)
    2.0
    """
    return area_between(_to_distribution(a), _to_distribution(b))


def energy_distance(a: Distributed, b: Distributed) -> float:
    """The root of twice the integral of the squared difference of two distribution functions (Székely and Rizzo 2013).

    For two samples, SciPy's. Arguments, guarantees and errors as for `ks_distance`.

    Returns:
        The distance, not below 0, in the root of the column's unit.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([2, 5] * 1000, grid=dp.Grid(0, 10, cells=1024), epsilon=100, adjacency=dp.REPLACE_ONE)
    >>> dp.energy_distance(curve, [2, 5]) < 0.1
    True
    """
    return energy_between(_to_distribution(a), _to_distribution(b))


def _to_distribution(given: Distributed) -> Distribution:
    return Distribution.from_curve(given.x, given.y) if isinstance(given, CDF) else Distribution.from_sample(given)


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

    Returns:
        The `statistic`, between 0 and 1, and its `pvalue`.

    Raises:
        TypeError: one of them is no `CDF`.
        ValueError: they are on different grids, or units have several records.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> dp.ks_test(early, late).p_value < 0.01
    True
    """
    return _run_test(kolmogorov_smirnov, first, second, generator)


def rank_sum_test(first: CDF, second: CDF, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Are values in one group of records larger than in another one? The Wilcoxon-Mann-Whitney test.

    The statistic is the chance that a value of the `first` group is less than one of the `second`, plus half of the
    chance that both are equal (in one cell): 1/2 where neither is larger. It is the statistic of
    ``scipy.stats.mannwhitneyu`` for the second and the first group, divided by the product of their sizes. The p-value
    is two-sided, and is simulated with both noise and sampling. Spends nothing. Arguments and errors as for `ks_test`.

    Returns:
        The `statistic`, between 0 and 1, and its `pvalue`.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> bool(abs(dp.rank_sum_test(early, late).statistic - 0.75) < 0.05)
    True
    """
    return _run_test(mann_whitney, first, second, generator)


def _run_test(
    test: Callable[[ReleasedSample, ReleasedSample, NullDraws], TwoSampleTest],
    first: CDF,
    second: CDF,
    generator: np.random.Generator | None,
) -> TwoSampleTest:
    require_comparable(first, second)
    chance = public_generator(generator)
    one, other, _ = simulate_samples(first, second, chance)
    return test(one, other, simulate_null(one, other, chance))


def simulate_samples(
    first: CDF | Histogram, second: CDF | Histogram, chance: np.random.Generator
) -> tuple[ReleasedSample, ReleasedSample, IntArray]:
    """Counts of two curves of one kind between edges that both counted, with simulated noise; and these edges."""
    if isinstance(first, Histogram) or isinstance(second, Histogram):
        one, other = (simulate_histogram_sample(cast("Histogram", each), chance) for each in (first, second))
        return one, other, np.arange(len(one.cells) + 1)
    laws = [each.prefixes.evidence.sums for each in (first, second)]
    bounds = thin_edges(np.intersect1d(laws[0].bounds, laws[1].bounds), MOST_CELLS)
    draws = min(MOST_DRAWS, choose_draws(max(len(law.bounds) for law in laws)))
    one, other = (
        build_sample(each.prefixes, bounds, np.concatenate(list(each.prefixes.simulate_noise(draws, chance))))
        for each in (first, second)
    )
    return one, other, bounds


def thin_edges(bounds: ArrayLike, max_cells: int) -> IntArray:
    """The numbers of edges, evenly spread over all, between which there are so many cells at the most."""
    known = np.asarray(bounds)
    if len(known) <= max_cells + 1:
        return known
    return known[np.linspace(0, len(known) - 1, max_cells + 1).round().astype(np.int64)]


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
        require_type(name, each, CDF, "a distribution function, as dp.cdf gives one,")
    if first.prefixes.grid.outside is not second.prefixes.grid.outside or not np.array_equal(first.x, second.x):
        raise InvalidArgument("second", "a curve on the same grid is needed")


def build_sample(prefixes: PrefixShares, bounds: IntArray, noise: FloatArray) -> ReleasedSample:
    """Counts of the last turn between these edges.

    Args:
        prefixes: Counts along a grid.
        bounds: Numbers of slots, from 0 to all of them, at which the last turn counted.
        noise: Simulated noise of its sums up to all bounds of its law, (draws, bounds of the law).
    """
    known = np.searchsorted(prefixes.evidence.sums.bounds, bounds)
    return ReleasedSample(*counts_between(prefixes, bounds), np.diff(noise[:, known], axis=-1))


def counts_between(prefixes: PrefixShares, bounds: IntArray) -> tuple[FloatArray, FloatArray]:
    """Counts of the last turn between these edges, as in `build_sample`: without bias, and with none below zero."""
    below = prefixes.unbiased_prefix_counts[bounds]
    rising = np.clip(isotonic_projection(below), 0.0, max(below[-1], 0.0))
    return np.diff(below), np.diff(rising)


SURE = 1 - LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A private curve beside the exact one of a public table, and a test of whether they differ. Costs nothing.

    Formal guarantees: post-processing of the private curve and of public records.

    Attributes:
        private: The released curve.
        public: The curve of the public table, counted exactly and without protection.
        measure: What was compared: the largest difference of distribution functions, or areas.
        value: The difference: of areas, the private one minus the public one. None: no test is made, there is only the
            picture.
        interval: The 95% confidence interval for the difference of areas, for the population; None for the largest
            difference of distribution functions.
        p_value: The p-value of the null hypothesis that both tables are samples of one population; it accounts for the
            noise of the private curve and the sampling of both tables. None: no test is made.
    """

    private: Any
    public: Any
    measure: str
    value: float | None
    interval: tuple[float, float] | None
    p_value: float | None

    @classmethod
    def from_curves(cls, private: Any, public: Any) -> Comparison:
        """Compare two curves of one kind.

        Raises:
            ValueError: they are of different kinds, or of one that is not compared; or a unit has several records, so
                that nothing can be said of the population.
        """
        if type(private) is not type(public) or type(private) not in MEASURES:
            kinds = ", ".join(kind.__name__ for kind in MEASURES)
            raise InvalidArgument("question", f"curves of one kind are compared: {kinds}")
        require_independent(private.privacy)
        measure, judge = MEASURES[type(private)]
        value, interval, pvalue = judge(private, public)
        return cls(private, public, measure, value, interval, pvalue)

    @property
    def differs(self) -> bool | None:
        """Tell whether the test rejects at level 0.05 that both tables are samples of one population.

        None: no test is made.
        """
        return None if self.p_value is None else self.p_value < SURE

    @property
    def verdict(self) -> str:
        """The result of the test, in one line."""
        if self.value is None or self.p_value is None:
            return f"{self.measure}: compare the intervals in the picture, group by group; no test is made"
        ends = "" if self.interval is None else f" (95% interval for the population: {format_interval(*self.interval)})"
        told = "the tables differ" if self.differs else "no difference is seen beyond noise and sampling"
        return f"{self.measure}: {format_number(self.value)}{ends}, p-value {self.p_value:.2g}: {told}"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = LEVEL,
        names: tuple[str, str] = ("confidential", "public"),
        style: str | None = None,
    ) -> Axes:
        """Draw both in one picture: the private curve in its band, the curve of the public table over it.

        Histograms are scaled to the same number of records.

        Args:
            ax: The axes to draw on; None: on a new figure.
            level: The probability that the band covers; None: no band is drawn.
            names: What the legend calls the private and the open one.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: as matplotlib is set.
        """
        first, second = names
        statement, counted = replace(self.public.privacy, trust=OPEN, notes=(), model=""), self.public
        if isinstance(counted, Histogram):
            counted = replace(counted, count=counted.count * (self.private.total / counted.total))
        with use_style(style, ax):
            ax = self.private.plot(ax=ax, level=level, name=first)
            axes: Axes = counted._plot((), privacy=statement, ax=ax, name=second)
        return axes

    def __repr__(self) -> str:
        return f"Comparison({self.verdict})"


Judged = tuple[float | None, tuple[float, float] | None, float | None]


def _compare_distributions(private: CDF, counted: CDF) -> Judged:
    found = ks_test(private, counted)
    return found.statistic, None, found.p_value


def _compare_histograms(private: Histogram, counted: Histogram) -> Judged:
    if not np.array_equal(private.x, counted.x):
        raise InvalidArgument("question", "histograms on the same cells are compared")
    chance = public_generator(None)
    one, other, _ = simulate_samples(private, counted, chance)
    found = kolmogorov_smirnov(one, other, simulate_null(one, other, chance))
    return found.statistic, None, found.p_value


def simulate_histogram_sample(histogram: Histogram, chance: np.random.Generator) -> ReleasedSample:
    """Counts of the cells of a histogram, with simulated noise."""
    law, total = histogram.evidence.sums, histogram.evidence.total
    cells: FloatArray = histogram.evidence.unbiased_cells[0]
    noise = simulate_cell_noise(law, total, min(MOST_DRAWS, choose_draws(law.cells)), chance)
    return ReleasedSample(cells, np.maximum(cells, 0.0), noise[:, 0])


def _compare_areas(private: ROC, counted: ROC) -> Judged:
    one, other = (IntervalEstimate(each.auc, *each.auc_interval(LEVEL, population=True)) for each in (private, counted))
    found = subtract_estimates(one, other)
    return found.value, (found.lower, found.upper), difference_p_value(found)


def _compare_groups(private: Calibration | BinnedResiduals, counted: Calibration | BinnedResiduals) -> Judged:
    """No verdict: a test of slopes whose scores are noisy told like tables apart in up to a third of all cases."""
    return None, None, None


MEASURES: Mapping[type[Any], tuple[str, Callable[[Any, Any], Judged]]] = MappingProxyType(
    {
        CDF: ("largest difference of distribution functions", _compare_distributions),
        Histogram: ("largest difference of distribution functions", _compare_histograms),
        ROC: ("difference of areas under the ROC curve", _compare_areas),
        Calibration: ("shares of positives", _compare_groups),
        BinnedResiduals: ("mean residuals", _compare_groups),
    }
)
