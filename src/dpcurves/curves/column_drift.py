"""Drift of a column between a reference and later windows: stability index, distances and areas, with alarms.

With p_i and q_i the shares of bin i in reference and window, F and G their distribution functions:

    PSI                  sum_i (q_i - p_i) * log(q_i / p_i)           ten bins about even in the reference
    Kolmogorov-Smirnov   max_x |F(x) - G(x)|
    Wasserstein          integral of |F - G|                          in units of the column
    area                 |AUC - 1/2| of the ROC curve that separates both
    total variation      sum_i |q_i - p_i| / 2                        of bar charts
    chi-squared          sum_i (q_i - p_i)**2 / (variance of sampling and noise)      of bar charts

An alarm is a statistic above its threshold, which is simulated: windows with as many records from the pooled
distribution, with the noise of both releases. So windows of an unchanged column exceed it with the false alarm rate.

Formal guarantees: statistics and thresholds are functions of released curves, so they lose nothing more
(post-processing).

References: Siddiqi 2006 (population stability index); Gaboardi, Lim, Rogers and Vadhan 2016 (chi-squared with noise).

>>> DriftStatistic(value=0.31, threshold=0.12, p_value=0.001).alarm
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import display
from ..arguments import InvalidArgument, require_probability
from ..arrays import FloatArray, IntArray
from ..conversation import PrivacyStatement
from ..data import Grid, Outside, middles_of
from ..display import format_number
from ..distributions.output_distribution import simulate_noise
from ..inference import monte_carlo_p_value, numbered_generator, upper_quantile
from ..inference.two_samples import (
    NullDraws,
    ReleasedSample,
    kolmogorov_smirnov_statistic,
    mann_whitney_statistic,
    simulate_null,
)
from ..summaries.two_classes import even_groups
from .bar_chart import BarChart, BarChartQuestion, simulate_chart_sample
from .cdf import CDF
from .comparison import require_comparable, simulate_samples
from .histogram import Histogram
from .question import require_independent
from .result import CompositeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the thresholds of drift."""

    simulated_alarm_ratio: float = 0.75
    """Ratio of the false-alarm probability at which thresholds are simulated to the requested one. Below 1, since the
    null distribution is estimated from noisy counts: at a requested 0.05, 0.038 to 0.043 of 1,000 unchanged windows
    alarm (`benchmarks/judging_models.py`)."""


TUNING = Tuning()
"""The ratio by which drift thresholds are simulated with fewer false alarms than requested: see the field of
`Tuning`."""

MISSING = "missing"
"""Name, in JSON and tables, of the drift statistic that compares shares of missing records."""
OTHERS = "other"
"""Name, in JSON and tables, of the drift statistic that compares shares of records in no listed category."""
STATISTIC_TITLES = MappingProxyType({
    "psi": "population stability index", "chi_squared": "chi-squared statistic",
    "tv": "total variation distance", "ks": "largest difference of distributions",
    "wasserstein": "area between distributions", "auc": "AUC of window against reference",
    MISSING: "share of missing records", OTHERS: "share of unlisted categories",
})  # fmt: skip
"""Names of drift statistics in pictures, by their short names."""
Curve = CDF | Histogram | BarChart


class DriftStatistic(NamedTuple):
    """A drift statistic of one window, with its alarm threshold and p-value.

    Attributes:
        value: The statistic, from released counts.
        threshold: The value that windows of an unchanged column exceed with the false alarm probability.
        p_value: The probability of at least this value for an unchanged column, noise and sampling included.
    """

    value: float
    threshold: float
    p_value: float

    @property
    def alarm(self) -> bool:
        """True if the value exceeds its threshold."""
        return self.value > self.threshold


class DriftCells(NamedTuple):
    """Two samples on the same cells, distances between neighbouring cells, and the first cells of ten groups."""

    first: ReleasedSample
    second: ReleasedSample
    cell_distances: FloatArray
    groups: IntArray

    @classmethod
    def from_positions(cls, positions: FloatArray, first: ReleasedSample, second: ReleasedSample) -> DriftCells:
        """Return counts of two samples in cells at positions, with ten groups of about equal count in the reference.

        Args:
            positions: Positions of the cells, (cells,), in units of the column.
            first: First sample, the reference.
            second: Second sample.
        """
        # bins, the usual number of a population stability index
        return cls(first, second, np.diff(positions), even_groups(first.likely, 10))

    @classmethod
    def from_categories(cls, first: ReleasedSample, second: ReleasedSample) -> DriftCells:
        """Return two samples in unordered categories, each of which is a bin of the stability index.

        Args:
            first: Counts of the reference by category.
            second: Counts of the window in the same categories.
        """
        categories = np.arange(len(first.cells), dtype=np.int64)
        return cls(first, second, np.zeros(len(categories) - 1), categories)

    def simulate_null(self, generator: np.random.Generator) -> NullDraws:
        """Return draws of the counts of both samples if the column has not changed.

        Args:
            generator: Random numbers of the simulation.
        """
        return simulate_null(self.first, self.second, generator)


class Drift(CompositeResult):
    """Change of a column since a reference, window by window, with thresholds for rare false alarms.

    Statistics are the population stability index (PSI) over ten bins that are about even in the reference, the largest
    difference of distribution functions (``ks``), the area between these (``wasserstein``, in units of the column), and
    the distance from 1/2 of the area under the ROC curve that separates both (``auc``). Of bar charts they are the
    index over categories, the chi-squared statistic with the variance of the noise added (``chi_squared``), the total
    variation distance (``tv``) and the difference of the shares of unlisted values (``other``). Where
    both releases count records without a value, the difference of their shares is a further one (``missing``).
    Thresholds are simulated: windows with as many records, drawn from the pooled distribution, with the noise of both
    releases.

    Attributes:
        reference: The released curve of the reference.
        windows: The released curves of later windows by name, on the same cells.
        false_alarm_rate: The false alarm probability of each window and statistic.

    Formal guarantees: everything is computed from released curves, at no further loss. Losses of windows are the losses
    of their curves; they add up if one person is in several windows.

    Data frame: a row for each window and statistic: value, threshold, p-value, alarm. Pictures show each statistic
    divided by its threshold, window by window: values above 1 are alarms.
    """

    TITLE = "Drift since the reference"
    COLUMN_WORDS = display.describe_columns(
        window="window", statistic="statistic", value="value", threshold="threshold", p_value="p-value", alarm="alarm"
    )
    DISTINGUISHING_FACT = "false_alarm_rate"
    STATISTICS = "psi", "chi_squared", "tv", OTHERS, "ks", "wasserstein", "auc", MISSING

    def __init__(self, reference: Curve, windows: Mapping[str, Curve], false_alarm_rate: float = 0.05) -> None:
        self.reference = reference
        self.windows = dict(windows)
        self.false_alarm_rate = require_probability("false_alarm_rate", false_alarm_rate)
        if not self.windows:
            raise InvalidArgument("windows", "at least one curve is needed, as in {'May': curve}")
        if "reference" in self.windows:
            raise InvalidArgument("windows", "no window may be called reference: give it another name")
        for window in self.windows.values():
            _require_same_cells(reference, window)

    @cached_property
    def statistics(self) -> Mapping[tuple[str, str], DriftStatistic]:
        """Each drift statistic with its threshold, by the names of window and statistic."""
        return self._compute_statistics()

    def _compute_statistics(self) -> Mapping[tuple[str, str], DriftStatistic]:
        """Return the drift statistics by window and statistic, with thresholds from simulated draws.

        Raises:
            ValueError: the false alarm rate needs more draws.
        """
        statistics = {}
        # index of the first random stream of a drift; each window uses two. Other statistics use other indices.
        first_stream = 60
        for index, (name, window) in enumerate(self.windows.items()):
            cells = _build_drift_cells(self.reference, window, numbered_generator(first_stream + 2 * index))
            null_generator = numbered_generator(first_stream + 1 + 2 * index)
            null = cells.simulate_null(null_generator)
            for statistic, compute in _select_statistics(self.reference).items():
                value = float(compute(cells.first.cells, cells.second.cells, cells))
                null_values = compute(*null, cells)
                threshold = upper_quantile(null_values, 1 - TUNING.simulated_alarm_ratio * self.false_alarm_rate)
                statistics[name, statistic] = DriftStatistic(value, threshold, monte_carlo_p_value(value, null_values))
            sides = [
                _MissingCounts.from_curve(curve, sample, null_generator)
                for curve, sample in ((self.reference, cells.first), (window, cells.second))
            ]
            if sides[0] is not None and sides[1] is not None:
                value, null_values = _compare_missing_shares(sides[0], sides[1], null_generator)
                threshold = upper_quantile(null_values, 1 - TUNING.simulated_alarm_ratio * self.false_alarm_rate)
                statistics[name, MISSING] = DriftStatistic(value, threshold, monte_carlo_p_value(value, null_values))
        return MappingProxyType(statistics)

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the first window; the reference has a separate loss."""
        statement = next(iter(self.windows.values())).privacy
        return statement.with_notes(
            f"each window and the reference have separate losses; the reference {self.reference.privacy.loss}"
        )

    def _figure_title(self) -> str:
        """Return the title of a picture: the column."""
        reference = self.reference
        column = reference.categories.column if isinstance(reference, BarChart) else reference.label
        return f"Drift of {column} since the reference"

    @property
    def alarms(self) -> Mapping[str, tuple[str, ...]]:
        """The windows with an alarm, each with the statistics above their thresholds."""
        above: dict[str, tuple[str, ...]] = {}
        for (window, statistic), shift in self.statistics.items():
            if shift.alarm:
                above[window] = (*above.get(window, ()), statistic)
        return MappingProxyType(above)

    def _describe_alarms(self) -> str:
        """Return a sentence that names the windows with an alarm."""
        named = 6  # windows that a sentence names
        windows = []
        for window, statistics in list(self.alarms.items())[:named]:
            if len(self.windows) == 1:
                detail = ", ".join(STATISTIC_TITLES[name] for name in statistics)
            else:
                detail = f"{len(statistics)} of {sum(name == window for name, _ in self.statistics)} statistics"
            windows.append(f"{display.format_label(window)} ({detail})")
        rest = f" and {len(self.alarms) - named} more" if len(self.alarms) > named else ""
        return f"alarm in {', '.join(windows)}{rest}" if windows else "no alarm"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        """Draw each statistic divided by its threshold, window by window, or in rows if there is one window; return
        the axes.

        Args:
            level: Without effect: thresholds are drawn instead of intervals.
            population: Without effect.
            ax: Axes to draw on; None: new ones.
            name: Name in the legend; None: the default.
        """
        names = {statistic: STATISTIC_TITLES[statistic] for _, statistic in self.statistics}
        values = np.full((len(names), len(self.windows)), np.nan)
        for row, statistic in enumerate(names):
            for column, window in enumerate(self.windows):
                drift = self.statistics.get((window, statistic))
                if drift is not None:
                    values[row, column] = drift.value / max(drift.threshold, 1e-12)
        label = f"value over its threshold ({self.false_alarm_rate:.3g} false alarms of each)"
        return display.draw_alarms(
            list(self.windows), list(names.values()), values, self.privacy.with_notes(self._describe_alarms()),
            label=label, ax=ax, name=name,
        )  # fmt: skip

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return a row for each window and statistic: value, threshold, p-value, alarm.

        Args:
            level: Without effect.
            population: Without effect.
        """
        return display.to_frame(self._columns())

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of the data frame, one row for each window and statistic.

        Returns:
            ``window``, ``statistic``, ``value``, ``threshold``, ``p_value`` and ``alarm``, a list of one length each.
        """
        keys = list(self.statistics)
        statistics = list(self.statistics.values())
        return {
            "window": [window for window, _ in keys], "statistic": [statistic for _, statistic in keys],
            "value": [shift.value for shift in statistics], "threshold": [shift.threshold for shift in statistics],
            "p_value": [shift.p_value for shift in statistics], "alarm": [shift.alarm for shift in statistics],
        }  # fmt: skip

    def _plot(self, shades: Any, /, **how: Any) -> Any:
        """Draw the statistics divided by their thresholds; return the axes.

        Args:
            shades: Not used: statistics have thresholds in place of intervals.
            how: Axes to draw on, as ``ax``; others are not used.
        """
        return self.plot(how["ax"])

    def _members(self) -> Mapping[str, Any]:
        """Return the curves of the reference and of the windows by name, which the JSON document contains."""
        return {"reference": self.reference, **self.windows}

    def _question(self) -> Mapping[str, object]:
        """Return the JSON field of the false alarm probability."""
        return {"false_alarm_rate": self.false_alarm_rate}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Drift:
        """Return the drift of the curves in a parsed JSON document, computed again from their counts.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        members = cls.parse_members(document)
        return cls(members.pop("reference"), members, float(document.question["false_alarm_rate"]))

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts that `repr` shows: the numbers of windows and of alarms."""
        return f"{len(self.windows)} windows", f"{sum(shift.alarm for shift in self.statistics.values())} alarms"

    def _summary(self) -> list[tuple[str, str]]:
        """Return for each window and statistic a pair of texts: their names, and value with threshold."""
        return [
            (f"{window}, {statistic}", f"{format_number(shift.value)} (threshold {format_number(shift.threshold)})")
            for (window, statistic), shift in self.statistics.items()
        ]


def drift(reference: Curve, windows: Curve | Mapping[str, Curve], *, false_alarm_rate: float = 0.05) -> Drift:
    """Measure the change of a column since a reference: PSI, Kolmogorov-Smirnov, Wasserstein and area, with alarms; of
    categories PSI, chi-squared, total variation and the share of other values.

    Args:
        reference: A released `CDF`, `Histogram` or `BarChart`.
        windows: A later curve on the same cells or categories, or several by name.
        false_alarm_rate: Probability of a false alarm for each window and statistic. For probability p of any false
            alarm in several windows, use ``1 - (1 - p) ** (1 / windows)``.

    Returns:
        Values, thresholds, p-values and alarms.

    Formal guarantees: costs no budget.

    Raises:
        TypeError: the curves are not distribution functions, histograms or bar charts.
        ValueError: the kinds, cells or categories differ; values outside were counted apart; a unit has several
            records; or `false_alarm_rate` is not between 0 and 1, or needs more draws.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=32), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> before, later = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
    >>> drift(before, {"May": later}).statistics["May", "ks"].alarm
    True
    >>> wards = [dp.bar_chart(["a", new, "b"] * 700, categories=("a", "b"), **spent) for new in ("a", "new")]
    >>> drift(*wards).statistics["now", "other"].alarm
    True
    """
    return Drift(reference, windows if isinstance(windows, Mapping) else {"now": windows}, false_alarm_rate)


def require_window(reference: Any, question: Any) -> None:
    """Check, before a question is asked, that its answer can be compared with a reference.

    Args:
        reference: Released result of the reference period.
        question: The question about the later window.

    Raises:
        ValueError: the reference is not a distribution function or histogram of the question's kind, without
            categories, on the same cells; or a bar chart of the same categories.
    """
    if isinstance(reference, BarChart) and isinstance(question, BarChartQuestion):
        if reference.categories.values != question.counted_categories.values:
            raise InvalidArgument("since", "the categories of the question are needed: give an earlier chart of them")
        require_independent(reference.privacy)
        return
    kinds = {"CdfQuestion": CDF, "HistogramQuestion": Histogram}
    kind = kinds.get(type(question).__name__)
    grid = getattr(question, "grid", None)
    if kind is None or not isinstance(reference, kind) or not isinstance(grid, Grid) or question.by is not None:
        raise InvalidArgument("since", "give an earlier cdf, histogram or bar chart of the same kind, without by")
    if not np.array_equal(_find_grid(reference).edges, grid.edges) or grid.outside is Outside.APART:
        raise InvalidArgument(
            "since", "the cells of the question are needed, with outside='clipped': give an earlier curve on its grid"
        )
    require_independent(reference.privacy)


def require_false_alarm_rate(reference: Curve, false_alarm_rate: float) -> None:
    """Require a false alarm rate whose thresholds can be simulated, before a window is asked for: the reference is
    compared with itself.

    Args:
        reference: Curve of the reference.
        false_alarm_rate: Probability of a false alarm for each window and statistic.

    Raises:
        ValueError: the rate is not between 0 and 1, or needs more draws.
    """
    Drift(reference, {"reference again": reference}, false_alarm_rate)._compute_statistics()


def _require_same_cells(reference: Any, window: Any) -> None:
    """Raise unless both are curves of one kind on the same cells, of independent units, with values outside clipped.

    Args:
        reference: Curve of the reference: a `BarChart`, a `Histogram` or a `CDF`.
        window: Curve of a later window.

    Raises:
        InvalidArgument: the curves differ in kind, cells or categories, units are not independent, or values outside
            are counted apart.
    """
    if isinstance(reference, BarChart) and isinstance(window, BarChart):
        if reference.categories.values != window.categories.values or reference.has_other != window.has_other:
            raise InvalidArgument(
                "windows", "bar charts of the same categories are needed: ask for the categories of the reference"
            )
        for chart in (reference, window):
            require_independent(chart.privacy)
        return
    if isinstance(reference, Histogram) and isinstance(window, Histogram):
        if not np.array_equal(reference.x, window.x):
            raise InvalidArgument("windows", "histograms on the same cells are needed: ask for both on the same grid")
        for curve in (reference, window):
            require_independent(curve.privacy)
    else:
        require_comparable(reference, window)
    if _find_grid(reference).outside is Outside.APART:
        raise InvalidArgument(
            "reference",
            "values outside were counted apart, so their distance is unknown; ask on a grid with outside='clipped'",
        )


def _find_grid(curve: Any) -> Grid:
    """Return the grid of a histogram or of a distribution function.

    Args:
        curve: A `Histogram` or a `CDF`.
    """
    grid: Grid = curve.grid if isinstance(curve, Histogram) else curve.prefixes.declared_grid
    return grid


def _build_drift_cells(reference: Any, window: Any, generator: np.random.Generator) -> DriftCells:
    """Return both released samples with simulated noise, on the cells that both curves counted.

    Args:
        reference: Curve or bar chart of the first sample.
        window: Result of the same kind for the second sample.
        generator: Random numbers of the simulated noise.
    """
    if isinstance(reference, BarChart):
        return DriftCells.from_categories(*(simulate_chart_sample(curve, generator) for curve in (reference, window)))
    middles = middles_of(reference.prefixes.grid if isinstance(reference, CDF) else reference.grid)
    first, second, bounds = simulate_samples(reference, window, generator)
    positions = np.array([middles[start:end].mean() for start, end in pairwise(bounds.tolist())])
    return DriftCells.from_positions(positions, first, second)


class _MissingCounts(NamedTuple):
    """Released counts of records without and with a value, and draws of the noise.

    Attributes:
        missing: Noisy number of records without a value.
        records: Public or noisy number of all records.
        missing_noise: Noise of `missing`, (draws,).
        records_noise: Noise of `records`, (draws,); 0 if it is public.
    """

    missing: float
    records: float
    missing_noise: FloatArray
    records_noise: FloatArray

    @classmethod
    def from_curve(cls, curve: Curve, sample: ReleasedSample, generator: np.random.Generator) -> _MissingCounts | None:
        """Return the counts of a curve, whose cells are `sample`; None if missing records were not counted.

        Args:
            curve: A released `CDF`, `Histogram` or `BarChart`.
            sample: Counts of the cells of the curve with simulated noise.
            generator: Random numbers of the simulation.
        """
        evidence = curve.prefixes.evidence if isinstance(curve, CDF) else curve.evidence
        counted = evidence.distribution.count_missing_and_present(evidence.values, evidence.total)
        noise = evidence.distribution.missing
        if counted is None or noise is None:
            return None
        missing_noise = simulate_noise(noise, (len(sample.noise),), generator)
        is_public = evidence.total is not None
        records_noise = np.zeros(len(missing_noise)) if is_public else missing_noise + sample.noise.sum(axis=-1)
        return cls(counted[0], max(sum(counted), 1.0), missing_noise, records_noise)


def _compare_missing_shares(
    first: _MissingCounts, second: _MissingCounts, generator: np.random.Generator
) -> tuple[float, FloatArray]:
    """Return the absolute difference of the shares of missing records, and draws of it if both shares were equal.

    A draw has binomial numbers of missing records with the pooled share, and the noise of both releases.

    Args:
        first: Noisy numbers of records and of missing records of the reference, with draws of their noise.
        second: Numbers of the window, in the same form.
        generator: Random numbers of the simulation.

    Returns:
        The difference, and draws, (draws,).
    """
    sides = first, second
    pooled = sum(side.missing for side in sides) / sum(side.records for side in sides)
    share = min(max(pooled, 0.0), 1.0)
    draws = min(len(side.missing_noise) for side in sides)
    shares = []
    for side in sides:
        error = side.missing_noise[:draws] - share * side.records_noise[:draws]
        shares.append((generator.binomial(round(side.records), share, size=draws) + error) / side.records)
    value = abs(first.missing / first.records - second.missing / second.records)
    return float(value), np.abs(shares[0] - shares[1])


def _compute_bin_shares(cells: FloatArray) -> FloatArray:
    """Return the share of each bin, (..., bins), where a bin counts as at least half a record.

    Args:
        cells: Counts by bin, on the last axis; values below zero are allowed.
    """
    positive = np.maximum(cells, 0.5)  # records that an empty bin counts as, since the index takes logarithms of shares
    return np.asarray(positive / positive.sum(axis=-1, keepdims=True))


def _stability_index(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """Return the population stability index (...): the sum over bins of the difference of shares times the log of
    their ratio.

    Args:
        first: Counts of the first sample, (..., cells).
        second: Counts of the second sample, (..., cells).
        cells: The cells, with the first cell of each bin (`groups`).
    """
    first_shares, second_shares = (
        _compute_bin_shares(np.add.reduceat(counts, cells.groups, axis=-1)) for counts in (first, second)
    )
    return np.asarray(((first_shares - second_shares) * np.log(first_shares / second_shares)).sum(axis=-1))


def _wasserstein(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """Return the Wasserstein distance of two tables of counts, (...): the area between their distribution functions.

    Args:
        first: Counts of the first sample, (..., cells).
        second: Counts of the second sample, of the same shape.
        cells: The cells, with the distances between them.

    Returns:
        Distances, (...), in units of the column.
    """
    first_curve, second_curve = (
        np.cumsum(counts, axis=-1) / np.maximum(counts.sum(axis=-1, keepdims=True), 1.0) for counts in (first, second)
    )
    return np.asarray(np.abs(first_curve - second_curve)[..., :-1] @ cells.cell_distances)


def _total_variation(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """Return the total variation distance between the shares of two arrays of counts (..., categories): half the sum of
    absolute differences, (...).

    Args:
        first: Counts of the reference, (..., categories).
        second: Counts of the window, of the same shape.
        cells: Not used; every statistic takes it.
    """
    first_shares, second_shares = (
        counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1.0) for counts in (first, second)
    )
    return np.asarray(np.abs(first_shares - second_shares).sum(axis=-1) / 2)


def _chi_squared(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """Return the chi-squared statistic of two sets of shares, shape (...).

    It sums, over categories, the squared difference of shares over its variance. For equal categories the variance is
    the variance of sampling, by the pooled share, and of the noise (Gaboardi, Lim, Rogers and Vadhan 2016). Expected
    counts are at least half a record.

    Args:
        first: Released counts of the reference, shape (..., categories).
        second: Released counts of the window, of the same shape.
        cells: Categories, with the noise of their counts.
    """
    difference, variance = 0.0, 0.0
    pooled = _compute_bin_shares(cells.first.likely + cells.second.likely)
    for sign, counts, sample in ((1.0, first, cells.first), (-1.0, second, cells.second)):
        size = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
        difference = difference + sign * counts / size
        variance = variance + pooled / size + sample.noise.var(axis=0) / size**2
    return np.asarray((np.square(difference) / variance).sum(axis=-1))


def _compare_others(first: FloatArray, second: FloatArray, cells: DriftCells) -> FloatArray:
    """Return the absolute difference of the shares of the last category, which has all other values: (...).

    Args:
        first: Counts of the first sample, (..., cells).
        second: Counts of the second sample, (..., cells).
        cells: Without effect.
    """
    first_share, second_share = (counts[..., -1] / np.maximum(counts.sum(axis=-1), 1.0) for counts in (first, second))
    return np.asarray(np.abs(first_share - second_share))


def _select_statistics(reference: Curve) -> Mapping[str, Statistic]:
    """Return the drift statistics for a curve of this type, such as the stability index, by short name.

    Args:
        reference: Curve of the reference.

    Returns:
        Functions of two arrays of counts and `DriftCells`, by short name, as in ``psi``.
    """
    if not isinstance(reference, BarChart):
        return STATISTIC_FUNCTIONS
    others = {OTHERS: _compare_others} if reference.has_other else {}
    return {**CATEGORY_STATISTICS, **others}


Statistic = Callable[[FloatArray, FloatArray, DriftCells], FloatArray]
CATEGORY_STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {"psi": _stability_index, "chi_squared": _chi_squared, "tv": _total_variation}
)
"""Drift statistics of bar charts by short name, each a function of two arrays of counts and their cells."""
STATISTIC_FUNCTIONS: Mapping[str, Statistic] = MappingProxyType({
    "psi": _stability_index,
    "ks": lambda first, second, cells: kolmogorov_smirnov_statistic(first, second),
    "wasserstein": _wasserstein,
    "auc": lambda first, second, cells: np.abs(mann_whitney_statistic(first, second) - 0.5),
})  # fmt: skip
"""Drift statistics of curves on a grid by short name, each a function of two arrays of counts and their cells."""
