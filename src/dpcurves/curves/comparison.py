"""Compare released curves: distances, two-sample tests, and a private curve beside the curve of a public table.

For distribution functions F and G the distances are

    Kolmogorov-Smirnov   max_x |F(x) - G(x)|
    Wasserstein, order 1 integral of |F - G|
    energy distance      sqrt(2 * integral of (F - G)**2)

They are computed exactly, since released curves are linear inside cells and samples have steps. The tests `ks_test` and
`rank_sum_test` use unbiased counts of the cells that both curves counted. Their p-values are simulated with sampling
and with the noise of both releases, under one pooled distribution. `Comparison` puts a private curve beside the exact
curve of a public table.

Formal guarantees: distances and tests of released curves are functions of them, so they lose nothing more
(post-processing). A distance to a confidential sample would read records without noise: only public samples may be
compared.

References: Kolmogorov 1933, Smirnov 1939; Vaserstein 1969; Székely and Rizzo 2013; Mann and Whitney 1947.

>>> import dpcurves as dp
>>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
>>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
>>> round(wasserstein_distance(early, late), 1), round(ks_distance(early, late), 1)
(2.0, 0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import InvalidArgument, require_type
from ..arrays import FloatArray, IntArray
from ..conversation import OPEN_TRUST_MODEL
from ..display import format_interval, format_number, use_style
from ..inference import TwoSampleTest as TwoSampleTest
from ..inference import choose_draws, public_generator, simulate_cell_noise
from ..inference.moments import P_VALUE_LEVEL, IntervalEstimate, difference_p_value, subtract_estimates
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
"""A curve, which is linear inside its cells, or a sample, whose distribution function has steps."""


def ks_distance(a: Distributed, b: Distributed) -> float:
    """Return the largest difference of two distribution functions (Kolmogorov 1933, Smirnov 1939).

    All three distances are exact: functions are compared on the union of their edges and values, from the left and from
    the right. Values that a curve counted outside its grid are put on the nearest edge. Inside a cell a curve is linear
    while a sample has steps, so a sample of integers has a positive distance even from its exact curve.

    Args:
        a: A `CDF`, or values of shape ``(n,)``, in which NaN is missing.
        b: Another `CDF`, or other values.

    Returns:
        The distance, between 0 and 1.

    Formal guarantees: a distance between two released curves costs no privacy loss. **A distance to a sample is a
    statistic of the sample**: if the sample is secret, so is the distance.

    Raises:
        ValueError: a sample is empty, or has an infinite value.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.ks_distance(early, late), 1)
    0.5
    """
    return largest_gap(_to_distribution(a), _to_distribution(b))


def wasserstein_distance(a: Distributed, b: Distributed) -> float:
    """Return the area between two distribution functions: the mean distance that records must move, in units of the
    column.

    Its order is 1 (Vaserstein 1969); for two samples it equals SciPy's. Guarantees and errors as for `ks_distance`.

    Args:
        a: A `CDF`, or values of shape ``(n,)``, in which NaN is missing.
        b: Another `CDF`, or other values.

    Returns:
        The non-negative distance, in the column's unit.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> round(dp.wasserstein_distance(early, late), 1)
    2.0
    """
    return area_between(_to_distribution(a), _to_distribution(b))


def energy_distance(a: Distributed, b: Distributed) -> float:
    """Return the root of twice the integral of the squared difference of two distribution functions (Székely, Rizzo
    2013).

    For two samples it equals SciPy's. Guarantees and errors as for `ks_distance`.

    Args:
        a: A `CDF`, or values of shape ``(n,)``, in which NaN is missing.
        b: Another `CDF`, or other values.

    Returns:
        The non-negative distance, in the root of the column's unit.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([2, 5] * 1000, grid=dp.Grid(0, 10, cells=1024), epsilon=100, adjacency=dp.REPLACE_ONE)
    >>> dp.energy_distance(curve, [2, 5]) < 0.1
    True
    """
    return energy_between(_to_distribution(a), _to_distribution(b))


def _to_distribution(curve_or_sample: Distributed) -> Distribution:
    """Return the distribution function of a released curve, or of a sample.

    Args:
        curve_or_sample: A `CDF`, or values of shape ``(n,)``.
    """
    if isinstance(curve_or_sample, CDF):
        return Distribution.from_curve(*curve_or_sample.line)
    return Distribution.from_sample(curve_or_sample)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the tests of two curves."""

    most_draws: int = 2000
    """Largest number of draws of the simulated noise: the p-value is then exact to about 0.005 near 0.05."""


TUNING = Tuning()
"""The number of simulated draws of a test of two curves, on which the accuracy of its p-value depends: see the field of
`Tuning`."""


def ks_test(first: CDF, second: CDF, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Test whether two groups of records have one distribution: the Kolmogorov-Smirnov statistic and its p-value.

    The statistic is the largest difference of both distribution functions. Without noise it equals the statistic of
    ``scipy.stats.ks_2samp`` for values rounded to their cells. It is computed from unbiased counts at the edges that
    both curves counted (at most 4,096, evenly spread), so noise biases it upwards; the p-value, which is simulated with
    both noise and sampling, accounts for this. Costs no budget.

    Args:
        first: A curve.
        second: A curve of *other* records on the same grid: of another category, or from a separate release.
        generator: The random numbers of the simulation.

    Returns:
        The `statistic`, between 0 and 1, and its `p_value`.

    Raises:
        TypeError: `first` or `second` is not a `CDF`.
        ValueError: the grids differ, or units have several records.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> dp.ks_test(early, late).p_value < 0.01
    True
    """
    return _run_test(kolmogorov_smirnov, first, second, generator)


def rank_sum_test(first: CDF, second: CDF, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Test whether values of one group of records tend to be larger: the Wilcoxon-Mann-Whitney test.

    The statistic is the probability that a value of the `first` group is smaller than a value of the `second`, plus
    half of the probability that both are equal (in one cell): 1/2 if neither group is larger. It is the statistic of
    ``scipy.stats.mannwhitneyu`` for the second and the first group, divided by the product of their sizes. The p-value
    is two-sided, and is simulated with both noise and sampling. Costs no budget.

    Args:
        first: Curve of one group.
        second: Curve of the other group, on the same grid.
        generator: Random numbers of simulated noise and samples; None: a fixed public seed.

    Returns:
        The `statistic`, between 0 and 1, and its `p_value`.

    Raises:
        TypeError: `first` or `second` is not a `CDF`.
        ValueError: the grids differ, or units have several records.

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
    """Return the result of a two-sample test for the released counts of both curves.

    Args:
        test: Function from both samples, and from draws of them under equal distributions, to its result.
        first: Curve of the first sample.
        second: Curve of the second sample.
        generator: Random numbers of the simulation; None: a fixed public seed.
    """
    require_comparable(first, second)
    rng = public_generator(generator)
    first_sample, second_sample, _ = simulate_samples(first, second, rng)
    return test(first_sample, second_sample, simulate_null(first_sample, second_sample, rng))


def simulate_samples(
    first: CDF | Histogram, second: CDF | Histogram, rng: np.random.Generator
) -> tuple[ReleasedSample, ReleasedSample, IntArray]:
    """Return the released counts of two curves between their common edges, with simulated noise, and these edges.

    Args:
        first: Released counts of one sample.
        second: Released counts of the other sample, on a grid with common edges.
        rng: Random numbers of the simulated noise.

    Returns:
        Sample of the first curve, sample of the second one, and the indices of the common edges, ascending.
    """
    if isinstance(first, Histogram) or isinstance(second, Histogram):
        first_sample, second_sample = (
            simulate_histogram_sample(cast("Histogram", curve), rng) for curve in (first, second)
        )
        return first_sample, second_sample, np.arange(len(first_sample.cells) + 1)
    # cells of a test; more edges are thinned out
    pairs = [(curve.prefixes, thin_edges(bounds, 2**12)) for curve, bounds in find_common_bounds(first, second)]
    draws = min(TUNING.most_draws, choose_draws(max(len(prefixes.evidence.sums.bounds) for prefixes, _ in pairs)))
    first_sample, second_sample = (
        build_sample(prefixes, bounds, np.concatenate(list(prefixes.simulate_noise(draws, rng))))
        for prefixes, bounds in pairs
    )
    return first_sample, second_sample, pairs[0][1]


def find_common_bounds(first: CDF, second: CDF) -> tuple[tuple[CDF, IntArray], tuple[CDF, IntArray]]:
    """Find the edges that both curves counted.

    The slots (cells, and separate cells for zero and for values outside) below an edge differ in number if one curve
    alone has a separate cell for zero.

    Args:
        first: A curve.
        second: A curve with the same or a common grid.

    Returns:
        For each curve, the curve and the number of its slots below each common edge, ascending.
    """
    distributions = first.prefixes.evidence.sums, second.prefixes.evidence.sums
    if first.prefixes.grid.slots == second.prefixes.grid.slots:
        common = np.intersect1d(distributions[0].bounds, distributions[1].bounds)
        return (first, common), (second, common)
    edges = [
        curve.prefixes.boundaries[distribution.bounds]
        for curve, distribution in zip((first, second), distributions, strict=True)
    ]
    _, first_indices, second_indices = np.intersect1d(edges[0], edges[1], return_indices=True)
    return (first, np.asarray(distributions[0].bounds)[first_indices]), (
        second,
        np.asarray(distributions[1].bounds)[second_indices],
    )


def thin_edges(bounds: ArrayLike, max_cells: int) -> IntArray:
    """Return at most `max_cells + 1` of the edges, evenly spread, the first and the last included.

    Args:
        bounds: Increasing edges or bounds of cells; the first and the last always remain.
        max_cells: Largest number of cells between the returned edges.
    """
    edges = np.asarray(bounds)
    if len(edges) <= max_cells + 1:
        return edges
    return edges[np.linspace(0, len(edges) - 1, max_cells + 1).round().astype(np.int64)]


def require_comparable(first: CDF, second: CDF) -> None:
    """Raise unless both are distribution functions on one grid, of units of one record each.

    Raises:
        TypeError: `first` or `second` is not a `CDF`.
        ValueError: the grids differ, or units have several records.
    """
    require_same_grid(first, second)
    for curve in (first, second):
        require_independent(curve.privacy)


def require_same_grid(first: CDF, second: CDF) -> None:
    """Require that both curves are distribution functions on equal grids.

    Raises:
        TypeError: `first` or `second` is not a `CDF`.
        ValueError: the grids differ.
    """
    for name, curve in (("first", first), ("second", second)):
        require_type(name, curve, CDF, "a distribution function, as dp.cdf gives one,")
    if first.prefixes.grid.outside is not second.prefixes.grid.outside or not np.array_equal(first.x, second.x):
        raise InvalidArgument("second", "a curve on the same grid is needed: ask for both curves on one grid")


def build_sample(prefixes: PrefixShares, bounds: IntArray, noise: FloatArray) -> ReleasedSample:
    """Return the released counts of the last round between edges, with simulated noise.

    Args:
        prefixes: Released counts along a grid.
        bounds: Edges between which counts are summed, as numbers of cells below them; the last round counted at each.
        noise: Simulated noise of its prefix sums at all bounds of its distribution, shape (draws, bounds of the
            distribution).
    """
    indices = np.searchsorted(prefixes.evidence.sums.bounds, bounds)
    return ReleasedSample(*counts_between(prefixes, bounds), np.diff(noise[:, indices], axis=-1))


def counts_between(prefixes: PrefixShares, bounds: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the counts of records between edges from the last round: unbiased counts, and nonnegative counts near
    them.

    Args:
        prefixes: Released counts along a grid.
        bounds: Edges between which counts are summed, as numbers of cells below them; the last round counted at each.
    """
    prefix_counts = prefixes.unbiased_prefix_counts[bounds]
    monotone = np.clip(isotonic_projection(prefix_counts), 0.0, max(prefix_counts[-1], 0.0))
    return np.diff(prefix_counts), np.diff(monotone)


SIGNIFICANCE = 1 - P_VALUE_LEVEL
"""Significance level of the verdict: two curves are said to differ if the p-value is below."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A private curve beside the exact curve of a public table, and a test of whether they differ. Costs no budget.

    Formal guarantees: post-processing of the private curve and of public records.

    Attributes:
        private: The released curve.
        public: The curve of the public table, counted exactly and without protection.
        measure: The compared quantity: the largest difference of distribution functions, or areas.
        value: The difference; for areas, the private one minus the public one. None without a test.
        interval: The 95% confidence interval of the difference of areas, for the population; None for the largest
            difference of distribution functions.
        p_value: The p-value of the null hypothesis that both tables are samples of one population; it accounts for the
            noise of the private curve and the sampling of both tables. None without a test.
    """

    private: Any
    public: Any
    measure: str
    value: float | None
    interval: tuple[float, float] | None
    p_value: float | None

    @classmethod
    def from_curves(cls, private: Any, public: Any) -> Comparison:
        """Compare a private and a public curve of the same kind, by the test for this kind.

        Args:
            private: Released curve.
            public: Curve of exact counts of public records.

        Raises:
            ValueError: the kinds differ or have no comparison; or a unit has several records, so that nothing is known
                about the population.
        """
        if type(private) is not type(public) or type(private) not in MEASURES:
            kinds = ", ".join(kind.__name__ for kind in MEASURES)
            raise InvalidArgument("question", f"two curves of one of these kinds are needed: {kinds}")
        require_independent(private.privacy)
        measure, compare = MEASURES[type(private)]
        value, interval, p_value = compare(private, public)
        return cls(private, public, measure, value, interval, p_value)

    @property
    def differs(self) -> bool | None:
        """Whether the test rejects at level 0.05 that both tables are samples of one population; None without a
        test.
        """
        return None if self.p_value is None else self.p_value < SIGNIFICANCE

    @property
    def verdict(self) -> str:
        """The test in one line of text: value, interval, p-value and conclusion, or that no test was computed."""
        if self.value is None or self.p_value is None:
            return f"{self.measure}: compare the intervals in the picture, group by group; there is no test"
        interval = (
            "" if self.interval is None else f" (95% interval for the population: {format_interval(*self.interval)})"
        )
        conclusion = "the tables differ" if self.differs else "no significant difference beyond noise and sampling"
        return f"{self.measure}: {format_number(self.value)}{interval}, p-value {self.p_value:.2g}: {conclusion}"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = P_VALUE_LEVEL,
        names: tuple[str, str] = ("confidential", "public"),
        style: str | None = None,
    ) -> Axes:
        """Plot both curves: the private curve with its band, and the curve of the public table over it.

        Histograms are scaled to the same number of records.

        Args:
            ax: The axes; None for a new figure.
            level: Confidence level of the band; None for no band.
            names: Labels of the private and the public curve in the legend.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None for the settings of matplotlib.
        """
        first, second = names
        statement = replace(self.public.privacy, trust=OPEN_TRUST_MODEL, notes=(), model="")
        counted = self.public
        if isinstance(counted, Histogram):
            counted = replace(counted, count=counted.count * (self.private.total / counted.total))
        is_new = ax is None
        with use_style(style, ax):
            ax = self.private.plot(ax=ax, level=level, name=first)
            axes: Axes = counted._plot((), privacy=statement, ax=ax, name=second)
            return self.private._add_title(axes) if is_new else axes

    def __repr__(self) -> str:
        return f"Comparison({self.verdict})"


ComparisonResult = tuple[float | None, tuple[float, float] | None, float | None]


def _compare_distributions(private: CDF, counted: CDF) -> ComparisonResult:
    """Return the largest difference of both distribution functions, no interval, and the p-value of the
    Kolmogorov-Smirnov test.

    Args:
        private: The released curve.
        counted: The curve of exact counts.
    """
    result = ks_test(private, counted)
    return result.statistic, None, result.p_value


def _compare_histograms(private: Histogram, counted: Histogram) -> ComparisonResult:
    """Return the largest difference of the distribution functions of both histograms, no interval, and the p-value.

    Args:
        private: Histogram of the private records.
        counted: Histogram to compare with.

    Raises:
        InvalidArgument: the cells differ.
    """
    if not np.array_equal(private.x, counted.x):
        raise InvalidArgument("question", "histograms on the same cells are needed: ask for both on the same grid")
    rng = public_generator(None)
    first, second, _ = simulate_samples(private, counted, rng)
    result = kolmogorov_smirnov(first, second, simulate_null(first, second, rng))
    return result.statistic, None, result.p_value


def simulate_histogram_sample(histogram: Histogram, rng: np.random.Generator) -> ReleasedSample:
    """Return the released counts of the cells of a histogram, with simulated noise.

    Args:
        histogram: The released histogram.
        rng: Random numbers of the simulation.
    """
    distribution, total = histogram.evidence.sums, histogram.evidence.total
    cells: FloatArray = histogram.evidence.unbiased_cells[0]
    noise = simulate_cell_noise(distribution, total, min(TUNING.most_draws, choose_draws(distribution.cells)), rng)
    return ReleasedSample(cells, np.maximum(cells, 0.0), noise[:, 0])


def _compare_areas(private: ROC, counted: ROC) -> ComparisonResult:
    """Return the difference of the areas under both ROC curves, its 95 % interval for the population, and the
    p-value.

    Args:
        private: ROC curve of the private records.
        counted: ROC curve to compare with.
    """
    first, second = (
        IntervalEstimate(curve.auc, *curve.auc_interval(P_VALUE_LEVEL, population=True)) for curve in (private, counted)
    )
    difference = subtract_estimates(first, second, most=1.0)
    return difference.value, (difference.lower, difference.upper), difference_p_value(difference)


def _compare_groups(private: Calibration | BinnedResiduals, counted: Calibration | BinnedResiduals) -> ComparisonResult:
    """Return three times None in place of difference, interval and p-value: curves by groups have no reliable test.

    A test of slopes with noisy scores rejected equal tables in up to a third of all cases.

    Args:
        private: Not used.
        counted: Not used.
    """
    return None, None, None


MEASURES: Mapping[type[Any], tuple[str, Callable[[Any, Any], ComparisonResult]]] = MappingProxyType(
    {
        CDF: ("largest difference of distribution functions", _compare_distributions),
        Histogram: ("largest difference of distribution functions", _compare_histograms),
        ROC: ("difference of areas under the ROC curve", _compare_areas),
        Calibration: ("shares of positives", _compare_groups),
        BinnedResiduals: ("mean residuals", _compare_groups),
    }
)
"""What a comparison reports by the type of both curves: the measure in words, and the function that returns its value,
interval and p-value. Curves of other types are refused."""
