"""Distribution functions and quantiles of records with survey weights: questions and their results.

With weights w clipped at a public cap, released are noisy sums of w in all cells (seven eighths of the budget) and of
``w**2`` in up to eight groups of cells. The share of the weight below an edge x is a ratio of two noisy sums (Hájek
1971), and squared weights give its sampling variance:

    F(x) = sum of w below x / sum of w      Var F = about F * (1 - F) / n_eff      n_eff = (sum w)**2 / sum w**2

An *effective record* has the weight ``sum w**2 / sum w``: in this unit sums of weights vary as counts of records do, so
that every estimate and band of counts applies (`WeightedShares`). The design effect is ``n * sum w**2 / (sum w)**2``
(Kish 1965).

Formal guarantees: pure or zero-concentrated, like the charged loss: a record adds at most its cap to one sum; groups of
squared weights depend on the first answer alone (adaptive composition). A record whose weight is missing, negative or
not finite is left out.

References: Hájek 1971; Kish 1965, section 11.7; Woodruff 1952 (quantiles).

>>> import dpcurves as dp
>>> weights = [1.0, 1.0, 2.0] * 500
>>> curve = dp.cdf([20, 40, 60] * 500, grid=dp.Grid(0, 80, cells=8), weight=weights, weight_cap=2, epsilon=100,
...     adjacency=dp.ADD_REMOVE)
>>> curve.y[[3, 5]].round(2).tolist()  # shares of the weight below 30 and 50
[0.25, 0.5]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isnan, nan, prod, sqrt
from typing import Any, SupportsIndex, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..conversation import Evidence, Needs, PrivacyStatement, Release, Setting, SingleQueryWorkload, ask_workload
from ..data import MISSING_WEIGHTS, Axis, Grid, Outside, Weights
from ..display import format_number
from ..estimation import shrink_estimate
from ..inference import Sample, WeightRatios, estimate_weight_ratios, kish_design_effect, simulate_sampling_errors
from ..queries import CountUse, SquaredWeightQuery, WeightQuery
from .by_category import collect_by_category, describe_question, format_axis_label, split_rows
from .cdf import CDF, CdfHistogram
from .histogram import is_noise_alone
from .outside import DEFAULT_THRESHOLDS, NoteThresholds
from .prefixes import NO_SETTINGS, FewDraws, PrefixShares
from .quantiles import Quantiles, parse_shares
from .question import (
    By,
    TableQuestion,
    build_privacy_statement,
    grid_from_edges,
    parse_grouping,
    prepend_category_axes,
)
from .result import UNINFORMATIVE_RELEASE, PlotArguments, notes_on_end_cells, warn_about_notes

# Effective records: sums of weights, scaled so that sampling gives them the variance of counts of records.


SQUARES_FRACTION = Fraction(1, 8)
"""Budget fraction of the sums of squared weights, from which the sampling error follows; the weighted counts get the
other 7/8."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the estimates of weighted curves."""

    clear_group_ratio: float = 10.0
    """Least signal-to-noise ratio of a group: its weight over the noise standard deviation of its squares. The number
    of groups is chosen to reach it."""


TUNING = Tuning()
"""The signal-to-noise ratio of the groups in which squared weights of a curve are summed: see the field of `Tuning`."""


@dataclass(frozen=True, eq=False)
class SquaredWeights:
    """Sums of squared weights in groups of cells, which determine the sampling variance of sums of weights.

    Attributes:
        weights: The column of weights and its cap.
        evidence: The release: in each row the sum of squares of each group, followed by what the squares of its records
            lack to the squared cap.
        starts: Index of the first cell of each group.
    """

    weights: Weights
    evidence: Evidence
    starts: tuple[int, ...]

    @property
    def sums(self) -> FloatArray:
        """Unbiased sums of squared weights divided by the squared cap, (groups,)."""
        return np.asarray(self.evidence.unbiased_cells[:, :-1].sum(axis=0) / Weights.STEPS)

    @property
    def noise(self) -> float:
        """The standard deviation of the noise of the sum of squared weights of a group, over all rows together."""
        distribution = self.evidence.interval_sums
        return sqrt(distribution.rows * distribution.levels[-1].noise.variance) / Weights.STEPS

    @property
    def records(self) -> float:
        """Unbiased number of records that are used: records with a weight and a value in a cell."""
        return float(self.evidence.unbiased_cells.sum() / Weights.STEPS)

    def design_effect(self, weight_sum: float) -> float:
        """Return the design effect of Kish (1965), n sum w^2 / (sum w)^2, of these records; NaN if noise hides it.

        `weight_sum` is the sum of weights over the cap.
        """
        if weight_sum <= TUNING.clear_group_ratio or float(self.sums.sum()) <= len(self.starts) ** 0.5 * self.noise:
            return nan
        return kish_design_effect(self.records, weight_sum, float(self.sums.sum()))

    def sampling_ratios(self, slots: FloatArray) -> WeightRatios:
        """Return the ratios that scale sampling errors of sums of weights.

        Args:
            slots: Sums of weights in each cell, and outside the grid if counted apart, divided by the cap, (slots,).
        """
        return estimate_weight_ratios(np.add.reduceat(slots, np.array(self.starts)), self.sums, self.noise)

    def to_json(self) -> dict[str, Any]:
        """Return the column of weights, its cap, and the first cell of each group as JSON values; the release is stored
        separately.
        """
        return {"weight": self.weights.column, "cap": self.weights.cap, "groups": list(self.starts)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], released: Mapping[str, Any], slots: int) -> SquaredWeights:
        """Return the squared weights from the values that `to_json` wrote, and the release; `slots` is the number of
        slots of the grid.

        Args:
            stored: What `to_json` wrote.
            released: The stored release.
            slots: Number of slots of the grid.

        Raises:
            ValueError: the values and the release do not fit together.
        """
        starts = tuple(int(start) for start in stored["groups"])
        evidence = Evidence.from_json(released)
        rises = all(low < high for low, high in zip(starts, (*starts[1:], slots), strict=True))
        if not starts or starts[0] != 0 or not rises or evidence.interval_sums.cells != len(starts) + 1:
            raise InvalidArgument(
                "curve.evidence",
                "the stored groups of cells do not fit the sums of squared weights: use the text that to_json wrote",
            )
        return cls(Weights(stored["weight"], stored["cap"]), evidence, starts)


def choose_group_edges(shares_below: FloatArray, caps: float, noise: float) -> tuple[int, ...]:
    """Return indices of inner edges that cut the total weight into groups of about equal weight.

    There are fewer groups if noise is large.

    Args:
        shares_below: The released share of the weight below each edge, from the first to the last edge.
        caps: The released weight over the cap.
        noise: The approximate standard deviation of the noise of the squares of a group, over the squared cap.

    >>> choose_group_edges(np.linspace(0, 1, 9), 1000.0, 20.0)
    (2, 4, 5, 7)
    """
    groups = int(min(max(caps / (TUNING.clear_group_ratio * max(noise, 1e-9)), 1.0), 8))  # groups of cells, at most
    levels = np.arange(1, groups) / groups
    indices = np.searchsorted(shares_below, levels, side="left")
    return tuple(sorted({int(index) for index in indices if 0 < index < len(shares_below) - 1}))


def ask_weight_sums(
    axes: Any, weights: Weights, setting: Setting, categories: int = 1, use: CountUse = CountUse.PREFIXES
) -> Needs[tuple[Release, Release, tuple[int, ...]]]:
    """Ask for sums of weights in all cells, then for sums of squared weights in groups of cells.

    Formal guarantees: the groups depend on the first answer, and on no record, so the losses of both rounds add up.

    Args:
        axes: Axes of the table.
        weights: Column of weights, with its cap.
        setting: Loss and adjacency of the question.
        categories: Number of categories; the groups suit an average one.
        use: What will be read from the first sums, whose noise is small for that use.

    Returns:
        Release of the weights, release of the squared weights, and the index of the first cell of each group. Squared
            weights get the budget fraction `SQUARES_FRACTION`.
    """
    release = yield from ask_workload(SingleQueryWorkload(WeightQuery(axes, weights, use)), 1 - SQUARES_FRACTION)
    axis = axes[-1]
    evidence = Evidence.from_release(release)
    apart = int(axis.grid.outside is Outside.APART)
    cells = evidence.unbiased_cells.sum(axis=0) / Weights.STEPS
    below = np.clip(np.cumsum(cells)[: len(cells) - apart] / max(float(cells.sum()), 1.0), 0.0, 1.0)
    noise = sqrt(setting.count_noise(SQUARES_FRACTION).variance)
    caps = float(cells.sum()) / categories
    cuts = choose_group_edges(below if apart else np.append(0.0, below), caps, noise)
    coarse = replace(axis, grid=axis.grid.merge_cells(cuts))
    squares = yield from ask_workload(
        SingleQueryWorkload(SquaredWeightQuery((*axes[:-1], coarse), weights)), SQUARES_FRACTION
    )
    starts = (0, *((1,) if apart else ()), *(cut + apart for cut in cuts), *((axis.grid.slots - 1,) if apart else ()))
    return release, squares, starts


def note_on_weights(squares: SquaredWeights, caps: float) -> str:
    """Return the note of every weighted result: cap, missing weights, and released design effect.

    If noise hides the design effect, a note states this.

    Args:
        squares: Released sums of squared weights, with the column of weights and its cap.
        caps: Released sum of the weights, in units of the cap.
    """
    rule = f"{squares.weights}, {MISSING_WEIGHTS}"
    effect = squares.design_effect(caps)
    if isnan(effect):
        return f"{rule}; noise hides the design effect of the weights"
    return f"{rule}; the design effect of the weights is about {effect:.2f} (Kish: n sum w^2 / (sum w)^2)"


def format_weight_rows(curve: Any) -> list[tuple[str, str]]:
    """Return rows of an HTML summary, (name, text), on the sum of weights and the design effect.

    Args:
        curve: Weighted result with `count`, the sum of weights, and `design_effect`.
    """
    return [("sum of weights", format_number(curve.count)), ("design effect", format_number(curve.design_effect, 0.1))]


@dataclass(frozen=True, eq=False)
class WeightedShares(PrefixShares):
    """Shares of the weight along a grid, and their noise, in effective records.

    An effective record has the weight ``sum w**2 / sum w``: with this number of independent records of equal weight, a
    sum of weights would have the same sampling variance. So every method for counts applies to sums of weights in
    effective records. If squared weights differ along the grid, samples have the local variance
    (`WeightRatios.by_group`).

    Attributes:
        squared_weights: Sums of squared weights.
    """

    squared_weights: SquaredWeights | None = None

    @classmethod
    def from_json(
        cls, releases: Sequence[Mapping[str, Any]], grid: Grid, stored_settings: Mapping[str, Any] = NO_SETTINGS
    ) -> WeightedShares:
        """Return the shares from the stored releases of sums of weights and of squared weights.

        Args:
            releases: The stored releases of sums of weights and of squared weights.
            grid: The grid that was asked about.
            stored_settings: What `to_json` wrote about the squared weights.

        Raises:
            ValueError: the releases do not fit together.
        """
        released, squares = releases
        return cls(
            Evidence.from_json(released),
            grid,
            squared_weights=SquaredWeights.from_json(stored_settings, squares, grid.slots),
        )

    @property
    def required_squared_weights(self) -> SquaredWeights:
        """The released sums of squared weights, from which intervals for the population are computed."""
        return cast("SquaredWeights", self.squared_weights)

    @cached_property
    def cell_weight_sums(self) -> FloatArray:
        """Unbiased sum of weights in each cell, and outside the grid if counted apart, divided by the cap, (slots,)."""
        return np.asarray(self.evidence.unbiased_cells[0] / Weights.STEPS)

    @cached_property
    def sampling_ratios(self) -> WeightRatios:
        """Ratios by which sampling errors of sums of weights exceed those of equal weights, from the released squared
        weights.
        """
        return self.required_squared_weights.sampling_ratios(self.cell_weight_sums)

    @property
    def scale(self) -> float:
        """Weight that one effective record adds to the released sums, in integer steps of weight (see
        `Weights.step`).
        """
        return Weights.STEPS * self.sampling_ratios.overall

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases: sums of weights, and sums of squared weights."""
        return self.evidence, self.required_squared_weights.evidence

    @property
    def total_weight(self) -> float:
        """The sum of all weights, in the unit of the weights."""
        return self.required_squared_weights.weights.step * self.scale * self.total

    @property
    def design_effect(self) -> float:
        """The design effect of Kish: n sum w^2 / (sum w)^2."""
        return self.required_squared_weights.design_effect(float(self.cell_weight_sums.sum()))

    @property
    def _scatter_by_slot(self) -> FloatArray:
        """Sampling variance of the weight in each cell, relative to records of equal weight, (slots,)."""
        starts = np.array((*self.required_squared_weights.starts, self.grid.slots))
        return np.repeat(self.sampling_ratios.by_group, np.diff(starts))

    @property
    def squares_below_measured_edges(self) -> FloatArray:
        """Sums of squared weights, in relative units: 0, then below each counted edge, then of all records."""
        apart = int(self.grid.outside is Outside.APART)
        cuts = np.concatenate([[0], np.flatnonzero(self.measured_edges) + apart, [self.grid.slots]])
        below = np.append(0.0, self.shares_at_boundaries(self.shares)[1:])
        return np.asarray(np.append(0.0, np.cumsum(np.diff(below) * self._scatter_by_slot))[cuts])

    def simulate_noise(self, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
        """Yield blocks of simulated noise of the weight up to each bound of the distribution, in effective records,
        (draws, bounds).

        Args:
            draws: Number of draws.
            generator: Random numbers of the simulation.
        """
        return (chunk / self.scale for chunk in super().simulate_noise(draws, generator))

    def simulate_sampling_errors(
        self, likely: FloatArray, records: int, bounds: IntArray, draws: int, generator: np.random.Generator
    ) -> FloatArray:
        """Return simulated sampling errors of the weight between bounds, with the variance that sums of squared weights
        show.

        Args:
            likely: Estimated weight between bounds, none below 0, (bounds - 1,).
            records: Without effect: the effective number of records is computed from the weights.
            bounds: Indices of cells where the intervals begin, and the end of the last one.
            draws: Number of simulated samples.
            generator: Random numbers of the simulation.

        Returns:
            Errors in effective records, (draws, bounds - 1).
        """
        scatter = np.add.reduceat(self._scatter_by_slot, bounds[:-1]) / np.diff(bounds)
        equivalent_records = np.maximum(likely, 0.0) / scatter
        total = max(round(float(equivalent_records.sum())), 1)
        return simulate_sampling_errors(equivalent_records, total, draws, generator) * scatter

    def sampling_model(self, generator: np.random.Generator | None) -> Sample:
        """Return what a simulation of sampling needs at the counted edges, with the local variance of the weights.

        Args:
            generator: Random numbers of the simulation; None: the same numbered draws each time.
        """
        apart = int(self.grid.outside is Outside.APART)
        cuts = np.concatenate([[0], np.flatnonzero(self.measured_edges) + apart, [self.grid.slots]])
        cumulative_scatter = np.append(0.0, np.cumsum(self._scatter_by_slot))
        widths = np.diff(cuts)
        factors = np.where(widths > 0, np.diff(cumulative_scatter[cuts]) / np.maximum(widths, 1), 1.0)
        return super().sampling_model(generator)._replace(variance_factors=factors)

    def sampling_variance_at(self, p: FloatArray) -> FloatArray:
        """Return the relative variance of a sampled weighted excess at each quantile.

        The excess of quantile q at level p is ``sum w (1[x < q] - p)``: squared weights below q count (1 - p)^2, those
        above p^2.

        Args:
            p: Levels of the quantiles, from 0 to 1, of any shape.
        """
        scatter = self._scatter_by_slot
        below = np.append(0.0, self.shares_at_boundaries(self.shares)[1:])
        slot_shares = np.diff(below)
        below_quantile = np.interp(p, below, np.append(0.0, np.cumsum(slot_shares * scatter)))
        total = max(float((slot_shares * scatter).sum()), 1e-9)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = ((1 - p) ** 2 * below_quantile + p**2 * (total - below_quantile)) / (p * (1 - p))
        return np.asarray(np.where((p > 0) & (p < 1), np.maximum(variance, 1e-3), 1.0))

    def _simulate_count_noise(self, generator: np.random.Generator | None) -> Iterable[FloatArray]:
        """Return blocks of simulated noise of the weight below the counted edges, in effective records, (draws,
        counted edges).

        Args:
            generator: Random numbers of the simulation; None: the same numbered draws each time.
        """
        return (chunk / self.scale for chunk in super()._simulate_count_noise(generator))

    @property
    def _few_draws(self) -> FewDraws:
        """First simulated draws of the noise of weights below the edges, from the fixed seed, in effective records."""
        return super()._few_draws.scaled_by(1 / self.scale)

    @cached_property
    def _unbiased_cells(self) -> FloatArray:
        """Unbiased sum of weights in each cell, and outside the grid if any, in effective records, (slots,)."""
        return np.asarray(self.evidence.unbiased_cells[0] / self.scale)

    @property
    def _best_cells(self) -> FloatArray:
        """Shrinkage estimates of the weight in each cell, with the smallest expected error, (1, cells), in effective
        records.
        """
        evidence, scale = self.evidence, self.scale
        return shrink_estimate(
            evidence.sums, evidence.values, evidence.total, along_axis=evidence.total is not None, scale=scale
        )


@dataclass(frozen=True, eq=False, repr=False)
class WeightedHistogram(CdfHistogram):
    """The share of the weight in each bin, and the sum of weights there: a weighted histogram.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``: edges of the grid, since nothing was added up inside its cells.
        share: The share of the weight of records with a value, of shape ``(bins,)``.
        total: The effective number of records: see `WeightedShares`.
        label: Label of the x axis.
        privacy: The privacy statement, which every picture shows.
        prefixes: The released sums from which the weighted curve was computed.

    Intervals for these records account for noise; for the population also for sampling, by linearised variances of
    ratios, with the squared weights inside and outside a bin. As a data frame: columns ``left``, ``right``, ``share``
    and ``count``.
    """

    KIND = "weighted-cdf-histogram"
    TITLE = "Weighted histogram of {label}"
    IS_WEIGHTED = True
    COLUMN_WORDS = display.describe_columns(
        left="{label}, from",
        right="{label}, to",
        share=("share of the weight", display.CellFormat.SHARE),
        count="sum of weights",
    )

    prefixes: WeightedShares

    @classmethod
    def from_cells(cls, prefixes: WeightedShares, label: str, privacy: PrivacyStatement) -> WeightedHistogram:
        """Return a bin for each cell of the grid, with notes on crowded end cells and on sums that noise hides.

        Args:
            prefixes: Released sums of weights below the edges of the grid.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement; the notes are added to it.
        """
        notes = notes_on_end_cells(prefixes.grid, *prefixes.measured_prefix_counts, prefixes.evidence, prefixes.scale)
        bins = cls.from_placeholder(prefixes, label, privacy.with_notes(*notes))
        cells = slice(1, -1) if prefixes.grid.outside is Outside.APART else slice(None)
        weights = prefixes.cell_weight_sums[cells] * prefixes.required_squared_weights.weights.cap
        if is_noise_alone(weights, bins.error):
            note = f"no cells hold more weight than noise alone may give: {UNINFORMATIVE_RELEASE} of them"
            bins = replace(bins, privacy=bins.privacy.with_notes(note))
        return bins

    @classmethod
    def from_placeholder(cls, prefixes: WeightedShares, label: str, privacy: PrivacyStatement) -> WeightedHistogram:
        """Return a bin for each cell, without the notes that a release gets, for plans without data.

        Args:
            prefixes: Sums without data, of the shape that a release will have.
            label: What the values are, as on the axis of a picture.
            privacy: The statement of what will be spent.
        """
        return cast("WeightedHistogram", cls.from_prefixes(prefixes, prefixes.grid.edges, label, privacy))

    @property
    def count(self) -> FloatArray:
        """Estimated sum of survey weights in each bin, of shape ``(bins,)``: about the number of people of the
        population that the records in the bin stand for."""
        return self.share * self.prefixes.total_weight

    @property
    def grid(self) -> Grid:
        """Grid in whose cells the weights were summed."""
        return self.prefixes.declared_grid

    @property
    def error(self) -> float:
        """Standard deviation of the noise of the sum of weights in one cell of the grid; it does not include
        sampling."""
        distribution = self.prefixes.evidence.sums
        weights = self.prefixes.required_squared_weights.weights
        return sqrt(distribution.nested_distribution.parts[-1].noise.variance) * weights.step

    def group_edges(self, most: int) -> NDArray[np.int64]:
        """Return indices of the edges that divide all bins into at most `most` groups of neighbouring bins."""
        width = -(-len(self.share) // most)
        return np.append(np.arange(0, len(self.share), width), len(self.share))

    def merge_bins(self, most: int) -> WeightedHistogram:
        """Return at most `most` bins, each of some neighbouring ones. Costs no budget."""
        edges = self.x[self.group_edges(most)]
        return cast("WeightedHistogram", self.from_prefixes(self.prefixes, edges, self.label, self.privacy))

    def _simulate_sampling_errors(self, shares: FloatArray, draws: int, generator: np.random.Generator) -> FloatArray:
        """Return simulated sampling errors of the effective records inside and around each bin, (draws, 2 * bins).

        Those of records of equal weight are scaled: with the shares p of the weight and q of the squared weights in an
        interval, the excess ``sum w (1[in] - p)`` has the relative variance
        ``((1 - p)^2 q + p^2 (1 - q)) / (p (1 - p))``.

        Args:
            shares: Shares of the weight below the counted edges.
            draws: Number of draws.
            generator: Random numbers of the simulation.
        """
        errors = super()._simulate_sampling_errors(shares, draws, generator)
        p = np.clip(self._edge_intervals.sum_between_edges(shares), 1e-9, 1 - 1e-9)
        below = self.prefixes.squares_below_measured_edges
        q = np.clip(self._edge_intervals.sum_between_edges(below) / below[-1], 0.0, 1.0)
        return np.asarray(errors * np.sqrt(((1 - p) ** 2 * q + p**2 * (1 - q)) / (p * (1 - p))))

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the shares as bars with their intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_bars(
            self.x, self.share, upwards="share of the weight", label=self.label, shades=shades, **how
        )

    def _question(self) -> dict[str, object]:
        """Return the JSON fields of `CdfHistogram`, and the fields of the squared weights."""
        return {**super()._question(), **self.prefixes.required_squared_weights.to_json()}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> WeightedHistogram:
        """Return the bins from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question = document.question
        releases = document.evidence["releases"]
        prefixes = WeightedShares.from_json(releases, grid_from_edges(question), question)
        bins = cls.from_prefixes(prefixes, document.arrays["x"], question["label"], document.privacy)
        return cast("WeightedHistogram", bins)


@dataclass(frozen=True, eq=False, repr=False)
class WeightedCDF(CDF):
    """The share of the weight below each edge of a grid, which estimates the population that the weights represent.

    Each share is a ratio of two noisy sums: the weight below an edge, divided by all weight (Hájek 1971). Weights above
    the cap count as the cap; if many are cut off, the curve is biased.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        y: Shares of the weight below the edges, non-decreasing in [0, 1], of the same shape; linear inside cells.
        count: The sum of all weights, in their units: the approximate number of people that they represent.
        label: The label of the x axis.
        privacy: The privacy statement, which every plot shows.
        prefixes: The evidence that the curve was computed from.
        smoothing: How `y` was smoothed, if it was; see `smooth`.

    Bands and intervals for these records account for noise; intervals for the population also for sampling, by
    linearised variances: records are treated as independent draws whose weights are inverse to their selection
    probabilities. With strata the intervals are too wide, with clusters too narrow. Tests and other methods of a `CDF`
    treat the curve as the curve of its effective records.
    """

    KIND = "weighted-cdf"
    TITLE = "Weighted distribution of {label}"
    IS_WEIGHTED = True
    KEY_WORDS = display.describe_columns(records="sum of weights", median="weighted median of {label}")
    SHARES_CLASS = WeightedShares

    prefixes: WeightedShares

    @property
    def _is_empty(self) -> bool:
        """Whether no weight was counted. A small sum may be of records whose weights are far below the cap."""
        return bool(self.prefixes.unbiased_prefix_counts[-1] <= 0)

    @property
    def count(self) -> float:
        """Estimated sum of the weights of all records, in units of the weight column."""
        return self.prefixes.total_weight

    @property
    def design_effect(self) -> float:
        """The design effect of unequal weights, from released sums: n sum w^2 / (sum w)^2 (Kish 1965).

        At least 1; NaN if noise hides it.
        """
        return self.prefixes.design_effect

    def histogram(self, bins: SupportsIndex | ArrayLike) -> WeightedHistogram:
        """Return the share of the weight in each bin: a number of bins of about equal width, or bins between given
        edges. Costs no budget.

        Args:
            bins: Number of bins, or their edges in rising order.

        Raises:
            ValueError: as `CDF.histogram`.

        Warns:
            CurveWarning: edges were moved.

        >>> import dpcurves as dp
        >>> given = {"weight": [1, 1, 4] * 500, "weight_cap": 4, "epsilon": 100, "adjacency": dp.REPLACE_ONE}
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=256), **given)
        >>> curve.histogram([0, 4, 8]).count.round(-1).tolist()
        [1000.0, 2000.0]
        """
        histogram = WeightedHistogram.from_prefixes(self.prefixes, bins, self.label, self.privacy)
        warn_about_notes(histogram, already_shown=self.notes)
        return cast("WeightedHistogram", histogram)

    def _question(self) -> dict[str, object]:
        """Return the JSON fields of `CDF`, and the fields of the squared weights."""
        return {**super()._question(), **self.prefixes.required_squared_weights.to_json()}

    def _summary(self) -> list[tuple[str, str]]:
        """Return the rows of `CDF`, and rows on the sum of weights and their design effect.

        Returns:
            (name, text) pairs.
        """
        return [*super()._summary(), *format_weight_rows(self)]


@dataclass(frozen=True, eq=False, repr=False)
class WeightedQuantiles(Quantiles):
    """Values at or below which given shares of the weight lie.

    Attributes:
        p: Shares, of shape ``(quantiles,)``.
        curve: The weighted distribution function that they were computed from, at no further loss.

    Intervals test at each edge whether the weight below may be a share p of all weight (Woodruff 1952), with noise; for
    the population also with sampling, by linearised variances.
    """

    KIND = "weighted-quantiles"
    TITLE = "Weighted quantiles of {curve.label}"
    IS_WEIGHTED = True
    CURVE_CLASS = WeightedCDF

    curve: WeightedCDF

    def _question(self) -> dict[str, object]:
        """Return the JSON fields of the weighted curve, and its edges as ``edges``."""
        return {"edges": self.curve.x.tolist(), **self.curve._question()}


@dataclass(frozen=True, slots=True)
class WeightedCdfQuestion(TableQuestion):
    """The share of the weight of records below each edge of `grid`. Two rounds under one charge.

    Sums of weights in all cells get seven eighths of the budget. The rest determines the sampling variance of these
    sums: sums of squared weights, in up to eight groups of cells that the first answer chose.

    Formal guarantees: pure or zero-concentrated, like the charged loss, under either adjacency: a record adds at most
    its cap to one sum, see `WeightQuery` and `SquaredWeightQuery`. Weights above the cap count as the cap; a record
    whose weight is missing, negative or not finite is left out, like a record without a value.

    Attributes:
        column: A column of numbers.
        grid: Public cells, as for a `CdfQuestion`.
        weight: A column of survey weights.
        weight_cap: The public cap on the weight of a record, in units of the weights. It must not come from the data;
            take it from the survey design. A smaller cap means less noise, but more bias, because weights above it are
            cut off.
        measured_in: The measuring unit of the column, for the axis.
        by: Publicly declared categories: one curve for each, at the privacy loss of one curve, see `CdfQuestion`. A
            record adds to the sums of one category alone.

    Raises:
        ValueError: the cap is missing, or is no finite number above zero.
        TypeError: a field is of another type.

    >>> import dpcurves as dp
    >>> table = {"age": [20, 60] * 2000, "w": [1, 3] * 2000}
    >>> question = dp.WeightedCdfQuestion("age", dp.Grid(0, 90, cells=90), "w", 4)
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(abs(curve.cdf(40) - 0.25) < 0.05)
    True
    """

    column: str
    grid: Grid
    weight: str
    weight_cap: float
    measured_in: str = ""
    by: By = None

    def __post_init__(self) -> None:
        # refuse an invalid column or groups when the question is made
        _ = Axis(self.column, self.grid), parse_grouping(self.by)
        format_axis_label(self.column, self.measured_in)
        object.__setattr__(self, "weight_cap", Weights(self.weight, self.weight_cap).cap)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for sums of weights below edges, and of squared weights in groups; by category in the same tables.

        Args:
            setting: Loss and adjacency of the question.

        Returns:
            A generator that returns a `WeightedCDF`, or curves by category.
        """
        return (yield from ask_weighted_shares(self, Axis(self.column, self.grid), setting))

    def __str__(self) -> str:
        description = describe_question("distribution function", self.column, self.by)
        return f"{description}, {Weights(self.weight, self.weight_cap)}"


@dataclass(frozen=True, slots=True)
class WeightedHistogramQuestion(TableQuestion):
    """Sums of weights in the cells of `grid`, and their shares of all weight. Two rounds under one charge.

    Seven eighths of the budget pay for the sums, whose noise is small in single cells; a `WeightedCdfQuestion` has less
    noise in many cells together. The rest determines their sampling variance, as for a `WeightedCdfQuestion`.

    Formal guarantees: as for a `WeightedCdfQuestion`; the same amounts of a record are summed.

    Attributes:
        column: A column of numbers.
        grid: Public cells, as for a `HistogramQuestion`.
        weight, weight_cap, measured_in: As in `WeightedCdfQuestion`.
        by: Publicly declared categories: one histogram for each, at the privacy loss of one.

    Raises:
        ValueError: the cap is missing, or is no finite number above zero.
        TypeError: a field is of another type.

    >>> import dpcurves as dp
    >>> table = {"age": [20, 60] * 2000, "w": [1, 3] * 2000}
    >>> question = dp.WeightedHistogramQuestion("age", dp.Grid(0, 80, cells=2), "w", 4)
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     bars = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> bool(abs(bars.count[1] - 6000) < 300), len(bars.merge_bins(1).count)
    (True, 1)
    """

    column: str
    grid: Grid
    weight: str
    weight_cap: float
    measured_in: str = ""
    by: By = None

    def __post_init__(self) -> None:
        cdf_question = WeightedCdfQuestion(
            self.column, self.grid, self.weight, self.weight_cap, self.measured_in, self.by
        )
        object.__setattr__(self, "weight_cap", cdf_question.weight_cap)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for sums of weights in cells, and of squared weights in groups; by category in the same tables.

        Args:
            setting: Loss and adjacency of the question.

        Returns:
            A generator that returns a `WeightedHistogram`, or histograms by category.
        """
        return (yield from ask_weighted_shares(self, Axis(self.column, self.grid), setting, WeightedHistogram))

    def __str__(self) -> str:
        return f"{describe_question('histogram', self.column, self.by)}, {Weights(self.weight, self.weight_cap)}"


def ask_weighted_shares(
    question: WeightedCdfQuestion | WeightedHistogramQuestion,
    axis: Axis,
    setting: Setting,
    result: type[WeightedCDF] | type[WeightedHistogram] = WeightedCDF,
    *,
    earlier: Sequence[Release] = (),
    note_thresholds: NoteThresholds = DEFAULT_THRESHOLDS,
    describe_sums: Callable[[FloatArray], tuple[str, ...]] = lambda sums: (),
) -> Needs[Any]:
    """Ask for the shares of the total weight up to each edge of a column, or in each cell; by category if asked so.

    Args:
        question: The weights and the categories.
        axis: The column with its cells.
        setting: The loss of these rounds, and the adjacency.
        result: The class of the results: distribution functions, or histograms, whose sums have less noise in a cell.
        earlier: The releases that chose the cells.
        note_thresholds: The smallest share of the weight outside of the cells that a note mentions.
        describe_sums: Function that returns further notes on the unbiased sums of weights over the cap, (slots,),
            of all categories; not called in a rehearsal.

    Returns:
        One result, or results by category if the question names categories.
    """
    weights = Weights(question.weight, question.weight_cap)
    axes = prepend_category_axes(question.by, axis)
    categories = prod(category_axis.slots for category_axis in axes[:-1])
    use = CountUse.CELLS if issubclass(result, WeightedHistogram) else CountUse.PREFIXES
    release, squares_release, starts = yield from ask_weight_sums(axes, weights, setting, categories, use)
    privacy = build_privacy_statement([*earlier, release, squares_release], note_thresholds=note_thresholds)
    build_result: Callable[..., Any] = result.from_placeholder
    if release.allotment is not None:
        build_result = result.from_cells if issubclass(result, WeightedHistogram) else result.from_prefixes
        sums = Evidence.from_release(release).unbiased_cells.sum(axis=0) / Weights.STEPS
        privacy = privacy.with_notes(*describe_sums(sums))

    def build_weighted_result(sums: Evidence, squared: Evidence) -> WeightedCDF | WeightedHistogram:
        """Return the result of one row of sums of weights and of squared weights.

        Args:
            sums: Released sums of weights in all cells, one row.
            squared: Released sums of squared weights in groups of cells, one row.
        """
        squares = SquaredWeights(weights, squared, starts)
        prefixes = WeightedShares(sums, axis.grid, squared_weights=squares)
        label = format_axis_label(question.column, question.measured_in)
        curve: WeightedCDF | WeightedHistogram = build_result(prefixes, label, privacy)
        note = note_on_weights(squares, float(prefixes.cell_weight_sums.sum()))
        return replace(curve, privacy=curve.privacy.with_notes(note))

    evidences = Evidence.from_release(release), Evidence.from_release(squares_release)
    rows = [evidences] if question.by is None else zip(*map(split_rows, evidences), strict=True)
    return collect_by_category(question.by, [build_weighted_result(*row) for row in rows])


@dataclass(frozen=True, slots=True)
class WeightedQuantilesQuestion(TableQuestion):
    """Ask for weighted quantiles at these probabilities, for the loss of a `WeightedCdfQuestion`.

    Attributes:
        column: A column of numbers.
        grid: Public cells.
        probabilities: Shares between 0 and 1.
        weight: A column of survey weights.
        weight_cap: The public cap on the weight of a record: see `WeightedCdfQuestion`.
        measured_in: The measuring unit of the column, for the axis.

    Raises:
        ValueError: a share is not between 0 and 1, or `probabilities` is empty; the cap is missing, or is no finite
            number above 0.
        TypeError: a field is of another type.
    """

    column: str
    grid: Grid
    probabilities: tuple[float, ...]
    weight: str
    weight_cap: float
    measured_in: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", parse_shares("probabilities", self.probabilities))
        object.__setattr__(self, "weight_cap", self._cdf_question.weight_cap)

    @property
    def _cdf_question(self) -> WeightedCdfQuestion:
        """The question for the weighted distribution function from which the quantiles are computed."""
        return WeightedCdfQuestion(self.column, self.grid, self.weight, self.weight_cap, self.measured_in)

    def steps(self, setting: Setting) -> Needs[WeightedQuantiles]:
        """Ask for a weighted distribution function; return its quantiles at the probabilities.

        Args:
            setting: Loss and adjacency of the question.
        """
        curve = yield from self._cdf_question.steps(setting)
        return WeightedQuantiles(np.array(self.probabilities), curve)

    def __str__(self) -> str:
        return f"{describe_question('quantiles', self.column, None)}, {Weights(self.weight, self.weight_cap)}"
