"""The distribution function of a column: question and curve, and shares of records in bins of any width.

With N records that have a value, and edges ``x_0 < x_1 < ...`` of a public grid,

    y_i = (number of records below x_i) / N        linear inside cells; the last edge counts as below itself

- *Release*: noisy counts of intervals of cells, in one round or several (`strategies.prefixes`).
- *Estimate*: `CDF.y` is the expected share given all rounds, non-decreasing and in [0, 1].
- *Quantile* p: the value at which y, interpolated in its cell, reaches p (`CDF.quantile`).
- *Band*: around the unbiased estimate of the last round, f plus and minus c standard deviations of its noise, where c
  is a simulated quantile of the largest deviation; the true curve lies inside everywhere with probability `level`.
- *Bins* (`CdfHistogram`): differences ``y_j - y_i``, with intervals that hold for all bins at the same time.

Formal guarantees: `CdfQuestion` loses the granted loss: fractions of its rounds add up to 1, and a record lies in one
interval of each tiling that a round counts. Curves, bands, quantiles and bins are functions of the released counts
(post-processing). Also called ECDF, cumulative histogram.

References: Hay, Rastogi, Miklau and Suciu 2010; Barczewski, Mawass and Ramon (smoothing); Dvoretzky, Kiefer and
Wolfowitz 1956 (bands of samples).

>>> import dpcurves as dp
>>> ages = [20, 30, 40, 70] * 500
>>> curve = dp.cdf(ages, grid=dp.Grid(0, 100, cells=100), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> curve.cdf([25, 65]).round(2).tolist(), round(float(curve.quantile(0.5)))  # shares below 25 and 65, and the median
([0.25, 0.75], 30)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isfinite, isinf, isnan
from operator import index
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, SupportsIndex, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import conversation, display
from ..arguments import InvalidArgument, require_probability, require_proportion, require_sequence, require_type
from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, Evidence, Needs, PrivacyStatement, Setting, ask_workload
from ..data import Axis, Grid
from ..data.grid import find_round_numbers
from ..display import RECORDS, format_number
from ..display.numerals import format_axis_interval, format_axis_value, format_in_iso
from ..inference import (
    Band,
    choose_shown_values,
    find_heaped_cells,
    find_heaped_ends,
    find_quantile_cells,
    find_quantile_ends,
    population_band,
    simultaneous_band,
    simultaneous_errors,
)
from ..inference.bands import (
    estimate_scales,
    hull_widths,
    join_intervals,
    largest_studentised,
    simultaneous_mean_ends,
)
from ..inference.known_numbers import KNOWN_LEVEL, known_number, known_values
from ..inference.moments import IntervalEstimate, subtract_estimates
from ..inference.simulation import sampling_generator
from ..queries import Hint, PrefixQuery
from ..strategies import AdaptivePartition as AdaptivePartition
from ..strategies import Bisection as Bisection
from ..strategies import QuantilePartition as QuantilePartition
from ..summaries import as_numbers, inverse_at, linear_value_at, step_value_at
from .by_category import build_by_category, describe_hint, describe_question, format_axis_label, parse_hint
from .prefixes import MOST_FEW_DRAWS, EdgeIntervals, PrefixShares, Smoothing, build_all_edges_query, parse_edges
from .quantile_quantile import PERCENTS, QuantileQuantile, parse_shares
from .question import (
    By,
    TableQuestion,
    build_privacy_statement,
    cells_to_json,
    edges_to_json,
    grid_from_cells,
    grid_from_edges,
    prepend_category_axes,
    require_independent,
)
from .result import (
    SUMMARY_LEVEL,
    IntervalResult,
    PlotArguments,
    interval_scopes,
    name_ends,
    notes_on_end_cells,
    notes_on_width,
    warn_about_notes,
)
from .straight_intervals import note_on_straight_interval

Several = Sequence[float] | NDArray[Any]

ALL_EDGES = slice(None)
"""Selects all edges of a grid to be plotted: the default."""


@dataclass(frozen=True, eq=False, repr=False)
class CdfHistogram(IntervalResult):
    """The share of the records in each bin.

    Bins are differences of one non-decreasing curve: none is negative, and bins over the whole grid add up to all
    records there. Their noise is less than from separate counts of the bins, increasingly so for wider bins; noise that
    adds to one bin is subtracted from its neighbours. Values outside the grid are clipped into its end cells, unless it
    counts them apart; bins at its ends hold them.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``: edges of the grid, since nothing was counted inside its cells.
        share: The share of the records with a value, of shape ``(bins,)``.
        total: The number of records with a value: estimated unless public.
        label: Label of the x axis.
        privacy: The privacy statement, which every picture shows.
        prefixes: The released counts from which the curve was computed.

    If bins have unequal widths, a picture shows shares per unit of x. As a data frame: columns ``left``, ``right``,
    ``share`` and ``count``.
    """

    KIND = "cdf-histogram"
    AXIS_COLUMNS = ("left", "right")
    TOGETHER = 1
    """Curves in one picture: bars with bands would hide others."""
    TITLE = "Histogram of {label}"
    COLUMN_WORDS = display.describe_columns(
        left="{label}, from",
        right="{label}, to",
        share=("share of records", display.CellFormat.SHARE),
        count=("records", display.CellFormat.COUNT),
    )
    MEASURED = "share"
    REPR_FACTS = "{label}, {share.size} bins"
    SUMMARY = (("bins", "{share.size!n}"),)
    ARRAYS = ("x", "share")
    JSON_SCHEMAS = MappingProxyType({"x": display.EDGES})

    x: FloatArray
    share: FloatArray
    total: float
    label: str
    privacy: PrivacyStatement
    prefixes: PrefixShares

    @classmethod
    def from_prefixes(
        cls, prefixes: PrefixShares, bins: SupportsIndex | ArrayLike, label: str, privacy: PrivacyStatement
    ) -> CdfHistogram:
        """Return bins of a curve: a number of bins of about equal width, or bins between given edges.

        Edges that are not edges of the grid are moved to the nearest grid edge, and a note states this.

        Args:
            prefixes: Released numbers of records below the edges of a grid, and their total.
            bins: Number of bins, or their edges in units of the column.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement, stored with the result.

        Raises:
            ValueError: there is no bin, or edges do not increase, lie outside of the grid, or share a nearest edge.
        """
        grid = prefixes.declared_grid
        edges, notes = choose_bin_edges(bins, grid, prefixes.plotted_edges)
        share = np.diff(prefixes.shares[prefixes.declared_edges[edges]])
        return cls(grid.edges[edges], share, prefixes.total, label, privacy.with_notes(*notes), prefixes)

    @property
    def count(self) -> FloatArray:
        """Estimated number of records in each bin, ``(bins,)``."""
        return self.share * self.total

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return simultaneous intervals of the shares with confidence `level`: shape ``(bins, 2)``.

        The noise of the unbiased estimate is simulated between the nearest counted edges, inside a bin and around it.
        The share of a bin lies between these two shares. This holds for these records; for the `population` from which
        they were sampled, noise and sampling are simulated together. That needs independent units of one record each.

        Args:
            level: Probability that all intervals contain their numbers at once, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        records = self._record_intervals(level, generator)
        if not population:
            return records
        require_independent(self.privacy)
        return join_intervals(records, self._population_intervals(level, generator))

    def _record_intervals(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        """Return simultaneous intervals of the shares of these records, (bins, 2), widened to contain the displayed
        shares.

        Args:
            level: Probability that all intervals are right.
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        unbiased = self._edge_intervals.sum_between_edges(self._pad_measured_shares(self.prefixes.unbiased_shares))
        errors = simultaneous_errors(self._simulate_noise(generator), level)
        limits = _pair_inner_and_outer_limits(unbiased - errors, unbiased + errors)
        # widened to contain the displayed share, which is shrunken and never negative
        return np.clip(join_intervals(limits, np.stack([self.share] * 2, axis=1)), 0.0, 1.0)

    def _population_intervals(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        """Return simultaneous intervals of the shares of the population, shape (bins, 2), from simulated noise and
        sampling.

        Args:
            level: Probability that all intervals hold at once.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        intervals = self._edge_intervals
        total = self.total
        rng = sampling_generator(generator)
        shares = self._pad_measured_shares(self.prefixes.shares)
        counts = total * intervals.sum_between_edges(self._pad_measured_shares(self.prefixes.unbiased_shares))
        scale, noises = estimate_scales(self._simulate_noise(generator))
        errors = (total * noise + self._simulate_sampling_errors(shares, len(noise), rng) for noise in noises)
        limits = simultaneous_mean_ends(
            counts, (total * scale) ** 2, errors, total * intervals.sum_between_edges(shares), total, level
        )
        return np.clip(_pair_inner_and_outer_limits(*limits) / total, 0.0, 1.0)

    def _simulate_sampling_errors(self, shares: FloatArray, draws: int, generator: np.random.Generator) -> FloatArray:
        """Return simulated sampling errors of the counts inside and around each bin, (draws, 2 * bins).

        Args:
            shares: Estimated shares below the counted edges, padded with 0 and 1.
            draws: Number of draws.
            generator: Random numbers of the simulation.
        """
        return self._edge_intervals.simulate_sampling_errors(shares, round(self.total), draws, generator)

    @cached_property
    def _edge_intervals(self) -> EdgeIntervals:
        """The intervals between counted edges just inside each bin, followed by those just around each bin, for
        interval limits.
        """
        all_edges = self.prefixes.grid.edges
        declared = self.prefixes.declared_edges
        edges = all_edges[self.prefixes.measured_edges]
        # at the ends of a clipped grid, the counted cells beyond belong to the bins
        counted_x = all_edges[declared[np.searchsorted(self.prefixes.declared_grid.edges, self.x)]]
        left, right = counted_x[:-1], counted_x[1:]
        outer = np.searchsorted(edges, left, side="right"), np.searchsorted(edges, right) + 1
        inner_start = np.searchsorted(edges, left) + 1
        inner_end = np.searchsorted(edges, right, side="right")
        first = np.append(inner_start, outer[0])
        last = np.append(np.maximum(inner_start, inner_end), outer[1])
        return EdgeIntervals.from_edges(first, last, len(edges) + 2)

    def _pad_measured_shares(self, shares: FloatArray) -> FloatArray:
        """Return the shares below the counted edges, with 0 before them (below all records) and 1 after them (above all
        records).

        Args:
            shares: Shares below each edge of the grid.
        """
        return np.concatenate([[0.0], shares[self.prefixes.measured_edges], [1.0]])

    def _simulate_noise(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        """Yield blocks of simulated errors of the shares inside and around each bin, (draws, 2 * bins).

        Args:
            generator: Random numbers of the simulation; None: the same numbered draws each time.

        Yields:
            Blocks whose rows are draws; errors are in shares of the records.
        """
        padded = (np.pad(noise, ((0, 0), (1, 1))) for noise in self.prefixes.simulate_share_errors(generator))
        return map(self._edge_intervals.sum_between_edges, padded)

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of all rounds in order: each round's noise distribution and released values."""
        return self.prefixes.rounds

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the shares as bars with their intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_bars(self.x, self.share, upwards="share of records", label=self.label, shades=shades, **how)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each bin: edges, share, records.

        Returns:
            ``left``, ``right``, ``share`` and ``count``, (bins,) each.
        """
        return {"left": self.x[:-1], "right": self.x[1:], "share": self.share, "count": self.count}

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the bins with `_from_json`: label, grid and settings of the prefix
        counts."""
        return {"label": self.label, **edges_to_json(self.prefixes.declared_grid), **self.prefixes.stored_settings}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> CdfHistogram:
        """Return the bins from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question = document.question
        releases = document.evidence["releases"]
        prefixes = PrefixShares.from_json(releases, grid_from_edges(question), question)
        return cls.from_prefixes(prefixes, document.arrays["x"], question["label"], document.privacy)


def choose_bin_edges(
    bins: SupportsIndex | ArrayLike, grid: Grid, plotted_edges: slice = ALL_EDGES
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the indices of the grid edges nearest to the bin edges, and a note if edges were moved.

    Args:
        bins: Number of bins of about equal width over `plotted_edges`, or the edges of the bins, increasing.
        grid: Grid of the curve.
        plotted_edges: Edges of the grid that are plotted.

    Returns:
        Indices, increasing, (bins + 1,); and one note or ().

    Raises:
        ValueError: there is no bin, or edges do not increase, lie outside of the grid, or share a nearest edge.

    >>> choose_bin_edges(2, Grid(0, 10, cells=5))
    (array([0, 2, 5]), ())
    >>> choose_bin_edges([0, 2.2, 10], Grid(0, 10, cells=5))[1]
    ('bins: moved to the nearest edges of the grid: 2.2 to 2',)
    """
    if isinstance(bins, SupportsIndex) and not isinstance(bins, np.ndarray):
        if not 1 <= index(bins) <= grid.cells:
            raise InvalidArgument(
                "bins", f"a number of bins from 1 to {grid.cells}, the cells of the grid, is needed, got {index(bins)}"
            )
        if plotted_edges == ALL_EDGES:
            return grid.nearest_edge(np.linspace(grid.lower, grid.upper, index(bins) + 1)), ()
        first, last = grid.edges[plotted_edges][[0, -1]].tolist()
        return np.unique(grid.nearest_edge(np.linspace(first, last, index(bins) + 1))), ()
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # texts, None, lists of several lengths
        edges = np.empty(0)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InvalidArgument(
            "bins", "a number of bins is needed, as in 10, or at least two rising edges, as in [0, 10, 20]"
        )
    if edges[0] < grid.lower or edges[-1] > grid.upper:
        raise InvalidArgument(
            "bins",
            f"every edge must lie within the grid, {grid.lower:g} to {grid.upper:g}; remove the edges outside it",
        )
    indices = grid.nearest_edge(edges)
    nearest = grid.edge(indices)
    width = np.diff(grid.edges).min()
    tied = np.flatnonzero(np.diff(indices) == 0)
    if len(tied):
        pair = " and ".join(f"{edge:.10g}" for edge in edges[tied[0] : tied[0] + 2])
        raise InvalidArgument(
            "bins", f"{pair} have the same nearest edge of the grid, {nearest[tied[0]]:.10g}: give edges further apart"
        )
    # bin edges within 1e-6 of a cell width of a grid edge count as equal to it
    moved = np.flatnonzero(np.abs(nearest - edges) > 1e-6 * width)
    if not len(moved):
        return indices, ()
    pairs = [f"{edge:.10g} to {target:.10g}" for edge, target in zip(edges[moved], nearest[moved], strict=True)]
    most_named = 10  # moved edges that a note lists
    rest = f", and {len(pairs) - most_named} more" if len(pairs) > most_named else ""
    return indices, (f"bins: moved to the nearest edges of the grid: {', '.join(pairs[:most_named])}{rest}",)


def _pair_inner_and_outer_limits(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return lower limits of the counts inside bins, and upper limits of the counts around them, (bins, 2).

    Args:
        lower: Lower limits, (2 * bins,): inside each bin first, then around each bin.
        upper: Upper limits, in the same order.
    """
    bins = len(lower) // 2
    return np.stack([lower[:bins], upper[bins:]], axis=1)


class HasQuantiles(Protocol):
    """Interface of results with quantiles: a distribution function, or counts of a quantile search."""

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement of the result."""
        ...

    def quantile(self, p: FloatArray, /) -> FloatArray:
        """Return the quantiles at the probabilities `p`, ``(levels,)``, in units of the column."""
        ...

    def quantile_cell(self, p: FloatArray, /) -> FloatArray:
        """Return the bounds of the cell that holds the quantile of each level, (levels, 2).

        Args:
            p: Probabilities, in [0, 1], of shape ``(levels,)``.

        Returns:
            Lower and upper edge of each cell, in units of the column; infinite where the cell also holds values outside
            the grid.
        """
        ...

    def quantile_intervals(self, p: FloatArray, level: float, /, *, population: bool) -> FloatArray:
        """Return simultaneous confidence intervals of the quantiles at `level`, (levels, 2).

        Args:
            p: Probabilities, in [0, 1], of shape ``(levels,)``.
            level: Probability that all intervals hold at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Lower and upper limit of each quantile, in units of the column.
        """
        ...


def name_quantile(p: float) -> str:
    """Return the name of the quantile of level `p` in tables: the quartiles have special names.

    >>> [name_quantile(p) for p in (0.1, 0.25, 0.5, 0.75)]
    ['0.1 quantile', 'lower quartile', 'median', 'upper quartile']
    """
    return {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}.get(p, f"{p:g} quantile")


def format_quantile_rows(curve: HasQuantiles, p: FloatArray) -> list[tuple[str, str]]:
    """Return the rows of an HTML summary with quantiles and their confidence intervals.

    Args:
        curve: The curve.
        p: Levels of the quantiles, in [0, 1].

    Returns:
        (name, text) pairs.
    """
    names = list(map(name_quantile, p.tolist()))
    intervals = {
        scope: curve.quantile_intervals(p, SUMMARY_LEVEL, population=population)
        for scope, population in interval_scopes(curve.privacy).items()
    }
    widths = np.diff(intervals[RECORDS])[:, 0].tolist()
    values = known_values(curve.quantile(p), intervals[RECORDS].T, -np.inf, np.inf).tolist()
    points = zip(values, curve.quantile_cell(p).tolist(), widths, strict=True)
    label: str = getattr(curve, "label", "")
    texts = [
        format_number(x) if isnan(x) else format_axis_value(x, low, high, label, width)
        for x, (low, high), width in points
    ]
    interval_texts = [
        [f"{format_axis_interval(low, high, label)} {scope}" for low, high in bounds.tolist()]
        for scope, bounds in intervals.items()
    ]
    cells = [
        f"{text} ({100 * SUMMARY_LEVEL:g}%: {', '.join(parts)})"
        for text, *parts in zip(texts, *interval_texts, strict=True)
    ]
    return list(zip(names, cells, strict=True))


def _format_days(lower: float, upper: float, label: str) -> list[str | float]:
    """Return the first and the last day of an interval as text; an end beyond the calendar stays a number.

    Args:
        lower: Lower end, in days since 1970.
        upper: Upper end, in days since 1970.
        label: Label of the column.
    """
    return format_in_iso([lower, ceil(upper) if isfinite(upper) else upper], label)


METHODS = (AdaptivePartition, QuantilePartition, Bisection)
"""Counting methods that a question about a distribution may name; another object is refused."""


@dataclass(frozen=True, eq=False, repr=False)
class CDF(IntervalResult):
    """Distribution function: the share of records below each edge of a grid, among records with a value.

    Values outside the grid are clipped into its end cells, unless the grid counts them apart. Of clipped values only
    the side is known: below the inner edge of the first cell, or at or above the inner edge of the last.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        y: Shares of records below the edges, non-decreasing in [0, 1], of the same shape; linear inside cells. Records
            equal to the last edge count as below it, as do larger ones if values are clipped.
        count: The number of records with a value: estimated unless public.
        label: Label of the x axis.
        privacy: The privacy statement, which every picture shows.
        prefixes: The evidence from which the curve was computed.
        smoothing: The smoothing of `y`, if any; see `smooth`.

    Data frame: columns ``x`` and ``y``; for declared values, these and the share of records at or below each.
    """

    KIND = "cdf"
    AXIS_COLUMNS = ("x",)
    TITLE = "Distribution of {label}"
    REPR_FACTS = "{label}, {prefixes.declared_grid.cells} cells"
    ARRAYS = ("x", "y")
    INTERVAL_NAME = "band"
    IS_WEIGHTED: ClassVar[bool] = False
    SHARES_CLASS: ClassVar[type[PrefixShares]] = PrefixShares
    IS_ADDITIVE = True
    POSSIBLE_RANGES = MappingProxyType({"y": (0.0, 1.0)})
    IS_CURVE = True
    DECIDING_POINTS = slice(1, -1)  # the ends of the grid tell of values outside, not of the curve

    label: str
    privacy: PrivacyStatement
    prefixes: PrefixShares
    smoothing: Smoothing | None = None

    @classmethod
    def from_counts(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> CDF:
        """Return the curve of the released counts of one row of cells.

        Args:
            evidence: The counts, one row of all cells of the grid, with the distribution of their noise.
            grid: The grid whose cells were counted.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement, stored with the curve.
        """
        return cls.from_prefixes(PrefixShares(evidence, grid), label, privacy)

    @classmethod
    def from_prefixes(cls, prefixes: PrefixShares, label: str, privacy: PrivacyStatement) -> CDF:
        """Return the curve of prefix counts along a grid, from one round or several, with notes on records beyond
        the grid and on noise.

        Args:
            prefixes: Released numbers of records below the edges of a grid, and their total.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement; the notes are added to it.
        """
        notes = notes_on_end_cells(prefixes.grid, *prefixes.measured_prefix_counts, prefixes.evidence, prefixes.scale)
        curve = cls(label, privacy, prefixes)
        straight = note_on_straight_interval(prefixes)
        return replace(curve, privacy=privacy.with_notes(*notes, *straight, *curve._notes_on_noise()))

    @classmethod
    def from_placeholder(cls, prefixes: PrefixShares, label: str, privacy: PrivacyStatement) -> CDF:
        """Return a curve of placeholder numbers, which plans build before data are read; it has no notes.

        Args:
            prefixes: Numbers without data, of the shape that a release will have.
            label: What the values are, as on the axis of a picture.
            privacy: The statement of what will be spent.
        """
        return cls(label, privacy, prefixes)

    def _notes_on_noise(self) -> tuple[str, ...]:
        """Return a note if the band is wider than 1/2 at every inner edge, or at most of them.

        The band is simulated only if the noise may be that large, with as few draws as decide. A band wider than 1/2 by
        less than an eighth may get no note. The band is the one before it is extended to the estimate, which takes as
        long again. Blank values without a grant get no note.
        """
        if not self.privacy.grant or not self._may_be_unknown():
            return ()
        subjects = "the band at every edge", "the band at most edges"
        notes: tuple[str, ...] = ()
        # draws, and the ratio by which their band may differ from the band of all draws: four standard errors and more
        for draws, margin in ((400, 1.25), (MOST_FEW_DRAWS, 1.12)):
            if not self.prefixes.are_typical(draws):
                break
            narrow, wide = (notes_on_width(widths, *subjects) for widths in self._bound_band_widths(draws, margin))
            if narrow == wide:
                return narrow
            notes = narrow
        else:
            return notes
        lower, upper = self._noise_band(SUMMARY_LEVEL, None)
        return notes_on_width((upper - lower)[1:-1], *subjects)

    def _bound_band_widths(self, draws: int, margin: float) -> tuple[FloatArray, FloatArray]:
        """Return a narrow and a wide guess of the width of the band at each inner edge, from a few draws.

        Args:
            draws: Number of draws.
            margin: Factor by which the guesses differ from the estimate.
        """
        errors = self.prefixes.simulate_few_share_errors(draws)
        scale = np.sqrt(np.einsum("ij,ij->j", errors, errors) / np.float32(draws))
        half_width = np.full(self.prefixes.grid.cells + 1, np.inf)
        critical_value = np.quantile(largest_studentised(errors, scale), SUMMARY_LEVEL)
        half_width[self.prefixes.measured_edges] = scale * critical_value
        curve = self.prefixes.unbiased_shares
        narrow, wide = (
            hull_widths(curve - factor * half_width, curve + factor * half_width)[1:-1]
            for factor in (1 / margin, margin)
        )
        # where no curve fits, the band has the absolute width
        return np.maximum(narrow, 0.0), np.maximum(wide, -narrow)

    @property
    def _is_empty(self) -> bool:
        """Whether the unbiased estimate of the number of records, from the last round, is below a half."""
        return bool(self.prefixes.unbiased_prefix_counts[-1] < 0.5)

    def _may_be_unknown(self) -> bool:
        """Whether fewer than five records were counted, or noise at the first inner edge is large enough for a band
        wider than 1/2 there."""
        # 5 records: of fewer, randomised responses may have noise at other edges than the first inner one alone
        if self.prefixes.unbiased_prefix_counts[-1] < 5:
            return True
        evidence = self.prefixes.evidence
        noise = evidence.sums.interval_distribution.end_cell_deviations(evidence.total is not None)[0]
        # share of all records: the smallest noise with which a band can be wider than 1/2 at the first inner edge
        return bool(noise >= 0.03 * self.prefixes.scale * self.prefixes.total)

    @cached_property
    def x(self) -> FloatArray:
        """Edges of the declared grid, ``(cells + 1,)``, in units of the column."""
        return self.prefixes.declared_grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share of records below each edge, ``(cells + 1,)``, computed at first use."""
        return self.counted_shares[self.prefixes.declared_edges]

    @cached_property
    def counted_shares(self) -> FloatArray:
        """The share of records below each edge of the counted cells, which may separate zero: see `CdfQuestion`.

        >>> import dpcurves as dp
        >>> grid, spent = dp.Grid(0, 1000, cells=500), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
        >>> curve = dp.cdf([0, 400, 900] * 500, grid=grid, **spent)
        >>> len(curve.x), len(curve.counted_shares)
        (501, 503)
        """
        return self.prefixes.shares if self.smoothing is None else self.smoothing.shares(self.prefixes)

    @cached_property
    def line(self) -> tuple[FloatArray, FloatArray]:
        """The edges of the counted cells within the declared grid, increasing, and the share of records below each:
        the curve is linear in between. If values outside are clipped, it begins with 0 and ends with 1.

        >>> import dpcurves as dp
        >>> grid, spent = dp.Grid(0, 1000, cells=500), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
        >>> curve = dp.cdf([0, 400, 900] * 500, grid=grid, **spent)
        >>> curve.line[1][:3].round(2).tolist()
        [0.0, 0.33, 0.33]
        """
        edges = self.prefixes.grid.edges
        declared = self.prefixes.declared_grid
        if self.prefixes.declared is None:
            return edges, self.y
        inside = slice(int(np.searchsorted(edges, declared.lower)), int(np.searchsorted(edges, declared.upper)) + 1)
        shares = self.counted_shares[inside].copy()
        shares[[0, -1]] = self.y[[0, -1]]
        return edges[inside], shares

    @property
    def values(self) -> FloatArray | None:
        """Declared values, ``(cells,)``, with the share ``y[1:]`` at or below each; None for other grids."""
        return self.prefixes.grid.values

    @property
    def count(self) -> float:
        """The number of records with a value, as released or estimated."""
        return self.prefixes.total

    def smooth(self, p: int = 2, edges: Sequence[int] | None = None) -> CDF:
        """Return the non-decreasing curve that changes the noisy counts least (Barczewski, Mawass and Ramon, eq. 3).

        It changes the released interval counts of the last round, the fewest of which add up to each cumulative count.
        Without interval counts (square root of prefix sums) it changes the unbiased counts below the edges, as if their
        noises were independent. Bands and intervals are widened only where they would not contain the smoothed curve.
        The default `y`, by empirical Bayes from all rounds, is usually closer to the truth. Costs no budget.

        Args:
            p: The norm that is minimised. 2: the sum of squared changes over their variances; 1: the sum of absolute
                changes over their standard deviations.
            edges: Indices of edges; only these points are smoothed, with linear interpolation between them. An edge
                that was not counted is replaced by the nearest counted one (see `NoiseGraph.restrict_to_points`). None:
                all counted edges.

        Warns:
            CurveWarning: edges were replaced.

        Raises:
            ValueError: `p` is neither 1 nor 2, or an index in `edges` is not the index of an edge.

        >>> import dpcurves as dp
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=8), epsilon=100, adjacency=dp.REPLACE_ONE)
        >>> curve.smooth(p=1).y.round(2).tolist()
        [0.0, 0.0, 0.33, 0.67, 0.67, 0.67, 0.67, 1.0, 1.0]
        """
        indices = (
            None if edges is None else require_sequence("edges", edges, "a list of indices of edges, as in [0, 8],")
        )
        requested = Smoothing(p, indices)
        if requested.edges is not None:
            requested = replace(requested, edges=self.prefixes.find_counted_edges("edges", requested.edges))
        smoothing, notes = requested.snap_to_measured_edges(self.prefixes)
        smoothed = replace(self, smoothing=smoothing, privacy=self.privacy.with_notes(*notes))
        warn_about_notes(smoothed, already_shown=self.notes)
        return smoothed

    @overload
    def cdf(self, t: float) -> np.float64:
        """Return the share of records up to the number `t`."""
        ...

    @overload
    def cdf(self, t: Several) -> FloatArray:
        """Return the share of records up to each number of `t`, in the shape of `t`."""
        ...

    def cdf(self, t: ArrayLike) -> FloatArray | np.float64:
        """Return the share of records below `t`: linear inside cells, 0 below the grid; one number for one `t`.

        With declared values it is a step function: the share at or below the largest declared value up to `t`.
        """
        points = as_numbers("t", t)
        values = self.values
        return (linear_value_at(*self.line, points) if values is None else step_value_at(values, self.y, points))[()]

    @overload
    def quantile(self, p: float) -> np.float64:
        """Return the quantile at the probability `p`, in units of the column."""
        ...

    @overload
    def quantile(self, p: Several) -> FloatArray:
        """Return the quantile at each probability of `p`, in the shape of `p` and in units of the column."""
        ...

    def quantile(self, p: ArrayLike) -> FloatArray | np.float64:
        """Return the value at or below which a share `p` of the records lies, interpolated inside its cell.

        If values outside the grid were clipped, a quantile in an end cell is the inner edge of that cell, or the bound
        of the grid if the cell is far fuller than those beside it (`find_heaped_ends`). A quantile in a cell with far
        more records than both neighbours (`find_heaped_cells`) is the round number in this cell, on which people heap
        values, if it has one. If the range is automatic and values seem to be multiples of a step, so is the quantile.

        Args:
            p: Levels between 0 and 1, of any shape.

        Returns:
            Values in the unit of the column, of the shape of `p`; a NumPy number for a single level.

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        levels = as_numbers("p", p)
        cells = self._find_cells(levels)
        edges = self.prefixes.grid.edges
        shares = self.counted_shares
        found = choose_shown_values(cells, inverse_at(edges, shares, levels) if self.values is None else cells[..., 0])
        # some cells hold a single double, and their upper edge belongs to the next cell
        if self.prefixes.pilot_queries:
            found = np.minimum(found, np.maximum(np.nextafter(cells[..., 1], -np.inf), cells[..., 0]))
        elif self.values is None and self.smoothing is None:
            found = self._move_to_round_numbers(found, cells)
        found = np.where(cells[..., 1] == np.nextafter(cells[..., 0], np.inf), cells[..., 0], found)
        return self.prefixes.round_to_step(found)[()]

    def _move_to_round_numbers(self, values: FloatArray, cells: FloatArray) -> FloatArray:
        """Return quantiles moved to a round number, where many records of their cell seem to be heaped on it.

        In a heaped end cell the quantile is the bound of the grid.

        Args:
            values: Quantiles, of any shape.
            cells: Bounds of the cell of each quantile, shape (..., 2).
        """
        edges = self.prefixes.grid.edges
        heaped = np.flatnonzero(self._heaped_cells & np.isin(edges[:-1], cells[..., 0]))
        moved = np.array(values)
        for cell in heaped.tolist():
            inside = [number for number in find_round_numbers(edges[cell : cell + 2]) if number < edges[cell + 1]]
            if inside:
                moved = np.where(cells[..., 0] == edges[cell], inside[0], moved)
        is_first, is_last = find_heaped_ends(self.counted_shares)
        if is_first:
            moved = np.where((cells[..., 0] == -np.inf) & (cells[..., 1] == edges[1]), edges[0], moved)
        if is_last:
            moved = np.where((cells[..., 1] == np.inf) & (cells[..., 0] == edges[-2]), edges[-1], moved)
        return moved

    @cached_property
    def _heaped_cells(self) -> NDArray[np.bool_]:
        """Mask of the counted cells with far more records than both neighbours, (cells,)."""
        return find_heaped_cells(self.counted_shares)

    def quantile_cell(self, p: ArrayLike) -> FloatArray:
        """Return the edges of the cell that holds the quantile `p`, shape ``(..., 2)``; nothing was counted inside the
        cell.

        A cell that also holds values outside the grid has an infinite end; the cell of a declared value is that value
        twice.

        Args:
            p: Levels between 0 and 1, of any shape (...).

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        levels = as_numbers("p", p)
        cells = self._find_cells(levels)
        if not self.prefixes.step:
            return self._close_upper_limits(cells)
        quantiles = np.asarray(self.quantile(levels))
        bounds = np.stack(
            [np.minimum(cells[..., 0], quantiles), np.maximum(cells[..., 1], np.nextafter(quantiles, np.inf))], axis=-1
        )
        return self._close_upper_limits(bounds)

    def _close_upper_limits(self, bounds: FloatArray) -> FloatArray:
        """Return the bounds, (..., 2), with the upper bound of a cell that holds a single double replaced by this
        double: no number lies between the two.

        Args:
            bounds: Lower and upper bounds of cells, (..., 2).
        """
        edges = self.prefixes.grid.edges
        single_ends = edges[1:][edges[1:] == np.nextafter(edges[:-1], np.inf)]
        upper = np.where(np.isin(bounds[..., 1], single_ends), np.nextafter(bounds[..., 1], -np.inf), bounds[..., 1])
        return np.stack([bounds[..., 0], np.maximum(upper, bounds[..., 0])], axis=-1)

    def _find_cells(self, levels: FloatArray) -> FloatArray:
        """Return the bounds of the cell that holds the quantile of each level, (..., 2); infinite where it also
        holds values outside the grid.

        Args:
            levels: Shares of the records, in [0, 1], of any shape.
        """
        return find_quantile_cells(self.prefixes.cells, self.prefixes.shares_at_boundaries(self.counted_shares), levels)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> Band:
        """Return a simultaneous confidence band: two curves that contain the true curve everywhere with probability
        `level`.

        The noise of the unbiased estimate is simulated, a quantile of its largest studentised deviation gives the
        width, and the monotone hull is taken; the band at an uncounted edge spans both counted neighbours. After
        several rounds the estimate is from the last one, which counts small intervals where records are dense: see
        `PrefixShares` for the proof of its coverage. The true curve is the curve of these records; with `population`,
        of the population from which they were sampled: see `population_band`. That needs independent units of one
        record each.

        Args:
            level: Probability that the band contains the whole curve, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Returns:
            Lower and upper shares, each of the shape of `x`. Between two edges the curve lies between the lower share
            at the left edge and the upper share at the right edge.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        lower, upper = self._counted_band(require_probability("level", level), population, generator)
        declared = self.prefixes.declared_edges
        return lower[declared], upper[declared]

    def _counted_band(self, level: float, population: bool, generator: np.random.Generator | None) -> Band:
        """Return the band at each edge of the counted cells: lower and upper shares.

        Args:
            level: Probability that the band is right.
            population: If True, the band is for the population.
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        return self._compute_once((level, population), generator, lambda: self._band(level, population, generator))

    def _band(self, level: float, population: bool, generator: np.random.Generator | None) -> Band:
        """Return the band, computed anew: lower and upper shares at each counted edge, extended to contain the
        curve.

        Args:
            level: Probability that the band holds at all edges.
            population: Whether it is for the population, not for these records.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        if population:
            require_independent(self.privacy)
            curve, known = self.prefixes.unbiased_shares, self.prefixes.measured_edges
            deviations = self.prefixes.simulate_share_errors(generator)
            sample = self.prefixes.sampling_model(generator)
            lower, upper = self.prefixes.pin_ends(population_band(curve, deviations, level, sample, known))
            lower, upper = self._open_if_empty((lower, upper))
        else:
            lower, upper = self._noise_band(level, generator)
        curve = self.counted_shares  # shrinkage may have moved it outside
        return np.minimum(lower, curve), np.maximum(upper, curve)

    def _noise_band(self, level: float, generator: np.random.Generator | None) -> Band:
        """Return the band for these records around the unbiased estimate, not extended to the curve.

        Args:
            level: Probability that the band holds at all edges.
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        curve, known = self.prefixes.unbiased_shares, self.prefixes.measured_edges
        deviations = self.prefixes.simulate_share_errors(generator)
        band = self._compute_once(
            ("noise", level), generator, lambda: simultaneous_band(curve, deviations, level, known)
        )
        return self._open_if_empty(band)

    def _open_if_empty(self, band: Band) -> Band:
        """Return the band, widened to 0 and 1 if no record was counted, because then any shares are possible.

        Args:
            band: Lower and upper shares at each edge.
        """
        if not self._is_empty:
            return band
        return self.prefixes.pin_ends((np.zeros_like(band[0]), np.ones_like(band[1])))

    def quantile_interval(
        self, p: float, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """Return a confidence interval that contains the quantile `p` with probability `level`.

        It contains every value that is a quantile `p`, for any ties and any positions of records in cells: all edges at
        which the share below does not differ significantly from `p`, and the cells beside them. A bound is infinite if
        the quantile may lie outside the grid; both are declared values, if any. (NumPy's `linear` may extend one record
        further.)

        Args:
            p: Share of the records below the quantile, from 0 to 1.
            level: Probability that the interval contains the quantile, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `p` or `level` is out of range; or, with `population`, a unit may have several records.
        """
        levels = np.array([require_proportion("p", p)])
        ((left, right),) = self.quantile_intervals(levels, level, population=population, generator=generator).tolist()
        return left, right

    def quantile_intervals(
        self, p: ArrayLike, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return simultaneous intervals of several quantiles with confidence `level`: (..., 2).

        Fewer quantiles have narrower intervals. Up to nine are tested one by one, each at a fraction of the error
        probability; more are bounded by the crossings of the `band` with `p`, which hold for all `p` at once
        (`find_quantile_ends`).

        Args:
            p: Shares of the records below the quantiles, from 0 to 1, of any shape.
            level: Probability that all intervals contain their quantiles at once, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        require_independent(self.privacy, population)
        levels_and_cells = (as_numbers("p", p), self.quantile_cell(p))
        confidence = require_probability("level", level)
        tested = self.prefixes.intervals_by_tests(
            *levels_and_cells, confidence, population=population, generator=generator
        )
        if tested is not None:
            return self._close_upper_limits(tested)
        band = self._counted_band(confidence, population, generator)
        lower, upper = (self.prefixes.shares_at_boundaries(limit) for limit in band)
        return self._close_upper_limits(find_quantile_ends(self.prefixes.cells, lower, upper, p))

    def histogram(self, bins: SupportsIndex | ArrayLike) -> CdfHistogram:
        """Return the share of records in each bin: a number of bins of about equal width, or bins between given edges.
        Costs no budget.

        Bins end at edges of the grid, since nothing was counted inside cells; other edges are moved to the nearest one.

        Args:
            bins: Number of bins, or their edges in rising order, in units of the column.

        Warns:
            CurveWarning: edges were moved.

        Raises:
            ValueError: there is no bin, or edges do not increase, lie outside of the grid, or share a nearest edge.

        >>> import dpcurves as dp
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=256), epsilon=100, adjacency=dp.REPLACE_ONE)
        >>> curve.histogram([0, 4, 8]).share.round(2).tolist()
        [0.67, 0.33]
        """
        histogram = CdfHistogram.from_prefixes(self.prefixes, bins, self.label, self.privacy)
        warn_about_notes(histogram, already_shown=self.notes)
        return histogram

    def quantile_quantile(self, other: CDF, p: Sequence[float] = PERCENTS) -> QuantileQuantile:
        """Compare quantiles of this curve with quantiles of another curve, which may have another grid. Costs no
        budget.

        Raises:
            TypeError: `other` is not a `CDF`, or `p` is not a list.
            ValueError: a level is not between 0 and 1, or `p` is empty.

        >>> import dpcurves as dp
        >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
        >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
        >>> (early.quantile_quantile(late, [0.2, 0.8]).y - early.quantile([0.2, 0.8])).round().tolist()
        [2.0, 2.0]
        """
        require_type("other", other, CDF, "a distribution function, as dp.cdf gives one,")
        return QuantileQuantile(np.unique(parse_shares("p", p)), self, other)

    def quantile_difference(self, other: CDF, p: float, level: float, *, population: bool = False) -> IntervalEstimate:
        """Return the quantile `p` of this curve minus the quantile `p` of a curve of *other* records, with an interval.
        Costs no budget.

        At `p` of 0.5 it is the difference of medians. The interval contains the difference with probability about
        `level`. Distances from each quantile to the ends of its `quantile_interval` are random errors, which add up in
        squares (Zou and Donner 2008), except for the cell in which the quantile lies: both quantiles may lie at the far
        ends of their cells, so these distances add up linearly. A declared value has distance 0.

        Args:
            other: A curve of other records, with independent noise; its grid may differ.
            p: The share of records at or below the quantile.
            level: The confidence level.
            population: Whether the interval is for the population, not for these records.

        Returns:
            The difference and its interval, of which an end is infinite if a quantile may lie outside its grid. The
            difference is NaN if nothing is known of a quantile, so that both ends are infinite.

        Raises:
            TypeError: `other` is not a `CDF`.
            ValueError: `p` or `level` is not between 0 and 1.

        >>> import dpcurves as dp
        >>> days, spent = dp.Values(range(10)), {"epsilon": 10, "adjacency": dp.REPLACE_ONE}
        >>> early, late = (dp.cdf([start, start + 3] * 1000, grid=days, **spent) for start in (1, 5))
        >>> late.quantile_difference(early, 0.25, 0.95)[:3]
        (4.0, 4.0, 4.0)
        """
        require_type("other", other, CDF, "a distribution function, as dp.cdf gives one,")
        first, second = (curve._measure_quantile(p, level, population=population) for curve in (self, other))
        return subtract_estimates(first, second)

    def _measure_quantile(self, p: float, level: float, *, population: bool) -> IntervalEstimate:
        """Return the quantile with its interval, and the distances to the ends of its cell as discretization errors;
        NaN if the interval at `KNOWN_LEVEL` has no ends.

        Args:
            p: Level of the quantile.
            level: Confidence level of the interval.
            population: If True, the interval is for the population.
        """
        ends = self.quantile_interval(p, level, population=population)
        value = known_number(float(self.quantile(p)), self.quantile_interval(p, KNOWN_LEVEL), -inf, inf)
        lower, upper = self.quantile_cell(p).tolist()
        # An end cell with outside values has an infinite end, and so has the interval: its error is infinite already.
        below, above = (distance if isfinite(distance) else 0.0 for distance in (value - lower, upper - value))
        return IntervalEstimate(value, *ends, below, above)

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of all rounds in order: each round's noise distribution and released values."""
        return self.prefixes.rounds

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        """Return the band at the points of the data frame: at all edges, or for declared values at or below each
        value.

        Args:
            level: Probability that the band holds at all points at once, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Lower and upper limits of the share, one for each row of the data frame.
        """
        lower, upper = self.band(level, population=population)
        return (lower, upper) if self.values is None else (lower[1:], upper[1:])

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the curve with its bands over the edges that are worth plotting; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        draw = display.draw_cdf if self.values is None else display.draw_cdf_of_values
        x, y = self._known_columns().values()
        plotted = self.prefixes.plotted_edges
        plotted_shades = [shade.select_rows(plotted) for shade in shades]
        return draw(x[plotted], y[plotted], label=self.label, weighted=self.IS_WEIGHTED, shades=plotted_shades, **how)

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame: edges, or declared values, and shares.

        Returns:
            ``x``, in units of the column, and ``y``, in [0, 1], of the same length.
        """
        return {"x": self.x, "y": self.y} if self.values is None else {"x": self.values, "y": self.y[1:]}

    KEY_WORDS = display.describe_columns(records=("records", display.CellFormat.COUNT), median="median of {label}")

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the number of records, and the median with its intervals; dates are text.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.

        Returns:
            Values by column name.
        """
        half = np.array([0.5])
        scopes = interval_scopes(self.privacy, population=population)
        columns: dict[str, Any] = {"records": self.count}
        ends = {scope: self.quantile_intervals(half, level, population=scopes[scope])[0] for scope in scopes}
        value = known_values(self.quantile(half), ends[RECORDS][:, None], -np.inf, np.inf)[0]
        lower, upper = self.quantile_cell(half)[0].tolist()
        is_date = display.is_date_axis(self.label)
        is_text = is_date or isnan(value) or isinf(lower) or isinf(upper)
        columns["median"] = value
        if is_text:
            columns["median"] = "not known" if isnan(value) else format_axis_value(value, lower, upper, self.label)
        limits: dict[bool, Sequence[Any]] = {scopes[scope]: interval.tolist() for scope, interval in ends.items()}
        if is_date:
            limits = {
                of_population: _format_days(interval[0], interval[1], self.label)
                for of_population, interval in limits.items()
            }
        return {**columns, **name_ends("median", limits)}

    def _column_words(self) -> Mapping[str, display.ColumnWords]:
        """Return the label of the column, and the words of the axis of shares.

        Returns:
            Title and format of ``x`` and ``y``.
        """
        words = "share of records below" if self.values is None else "share of records at or below"
        shares = f"{'weighted ' * self.IS_WEIGHTED}{words}"
        return display.describe_columns(x=self.label, y=(shares, display.CellFormat.SHARE))

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the curve with `_from_json`: label, grid, settings of the prefix counts,
        and smoothing."""
        smoothing = (
            {} if self.smoothing is None else {"smoothed": {"p": self.smoothing.p, "edges": self.smoothing.edges}}
        )
        return {
            "label": self.label,
            **cells_to_json(self.prefixes.declared_grid),
            **self.prefixes.stored_settings,
            **smoothing,
        }

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> CDF:
        """Return the curve from a parsed JSON document, smoothed again if it was smoothed.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        question = document.question
        releases = document.evidence["releases"]
        grid = grid_from_cells(question, document.arrays["x"])
        curve = cls.from_prefixes(
            cls.SHARES_CLASS.from_json(releases, grid, question), question["label"], document.privacy
        )
        if (smoothed := question.get("smoothed")) is None:
            return curve
        edges = smoothed["edges"]
        smoothing, _ = Smoothing(smoothed["p"], None if edges is None else tuple(edges)).snap_to_measured_edges(
            curve.prefixes
        )
        return replace(curve, smoothing=smoothing)

    def _summary(self) -> list[tuple[str, str]]:
        """Return rows of texts: the three quartiles with their confidence intervals.

        Returns:
            (name, text) pairs of lower quartile, median and upper quartile.
        """
        return format_quantile_rows(self, np.array([0.25, 0.5, 0.75]))


@dataclass(frozen=True, slots=True)
class CdfQuestion(TableQuestion):
    """The share of records below each edge of `grid`, in three rounds or one, unless a method is named.

    Three rounds count a few wide intervals and twice divide the intervals that appear to hold many records, with most
    of the budget in the last round; the curve is computed from all answers. One round counts all cells: if cells hold
    many records each, if there are few cells for the records or several categories, or if the trust model allows a
    single round. The choice depends on public facts alone: grid, loss, adjacency and hint.

    If the edges of the grid are multiples of a step, such as whole numbers, and records are at least 10,000, and times
    epsilon at least 20,000 (10,000 under add-remove), a pilot query shows if nearly all values are edges, and a second
    count then says how many are not, for 3 % of the loss at most. On at least 64 cells, the pilot query counts a
    private number of records, for half a percent of the loss. Variance, mean difference and Gini coefficient take
    values as edges but for these. With `by`, `hint`, `method` or `edges` nothing of this is asked.

    Attributes:
        column: A column of numbers.
        grid: Public cells. Values outside are clipped into the end cells, unless they are counted apart. On at least
            500 cells, zero is counted in a separate cell, unless records are known to be few: quantiles and shares
            are then exact at zero, where records are often heaped; `x` and `y` keep the given edges. Quantiles of
            values that are heaped on other round numbers are more exact from a `QuantilesQuestion`.
        by: Publicly declared categories: one curve for each, at the privacy loss of one curve. A tuple of several
            columns gives one curve per combination.
        measured_in: The measuring unit of the column, for the axis.
        hint: Public knowledge of the distribution: `PEAKED` in a small part of the grid, which must be searched;
            `ATOMS`: single cells hold many records, so each must be counted. None, or `SPREAD` over much of the grid:
            the answers decide. It must not come from the data.
        method: How intervals are chosen privately: `AdaptivePartition`, `QuantilePartition` or `Bisection`. None: as
            above.
        smooth: 1 or 2: return the curve after `CDF.smooth` with this `p`. None: by empirical Bayes.
        edges: Indices of edges (0 is the first): only these are counted, with linear interpolation between them, so the
            grid may be as fine as doubles can represent. Other edges may be asked later under the same request at no
            further loss. None: all edges.

    Raises:
        ValueError: the hint is unknown, or is combined with a method; or `edges` is empty, repeats an edge or has one
            outside the grid, or is combined with `by`, `hint`, `method` or `smooth`.
        TypeError: `method` is not a counting method, or `edges` is not a tuple.
    """

    column: str
    grid: Grid
    by: By = None
    measured_in: str = ""
    hint: Hint | None = None
    method: conversation.CountingMethod | None = None
    smooth: int | None = None
    edges: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.edges is not None:
            object.__setattr__(self, "edges", parse_edges(self.edges, Axis(self.column, self.grid)))
            for name in ("by", "hint", "method", "smooth"):
                if getattr(self, name) is not None:
                    raise InvalidArgument(name, "cannot be combined with a choice of edges: leave one of the two out")
        object.__setattr__(self, "hint", parse_hint(self.hint))
        if self.smooth is not None:
            object.__setattr__(self, "smooth", Smoothing(self.smooth, None).p)
        if self.method is not None:
            require_type("method", self.method, METHODS, "one, as AdaptivePartition(),")
            if self.hint is not None:
                raise InvalidArgument("hint", "hint already chooses the method: leave out hint, or leave out method")

    @property
    def charged_query(self) -> PrefixQuery | None:
        """The query of all prefix counts along this grid, if `edges` asks for some of them; else None."""
        return None if self.edges is None else build_all_edges_query(Axis(self.column, self.grid))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Count records below edges; return the curve, or curves by category.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        return (yield from self.ask_counts(()))

    def ask_counts(self, quantile_levels: tuple[float, ...], *, has_separate_round_numbers: bool = False) -> Needs[Any]:
        """Count records below edges; with quantile levels, mostly near these quantiles.

        Args:
            quantile_levels: The levels; empty: all edges are read.
            has_separate_round_numbers: Whether round numbers get cells for themselves, if the trust model can count
                these cells.
        """
        label = format_axis_label(self.column, self.measured_in)
        axis = Axis(self.column, self.grid)
        if self.edges is not None:
            counts = yield from ask_workload(conversation.CountsBelowWorkload(axis, self.edges), WHOLE_BUDGET)
            return CDF.from_counts(
                counts.counts, self.grid.merge_cells(self.edges), label, build_privacy_statement(counts.releases)
            )
        prefixes = conversation.PrefixWorkload(
            prepend_category_axes(self.by, axis),
            self.hint,
            self.method,
            quantile_levels,
            has_separate_round_numbers,
            has_separate_zero=self.method is None,
            searches_lattice=(self.by, self.hint, self.method) == (None, None, None) and not quantile_levels,
        )
        counts = yield from ask_workload(prefixes, WHOLE_BUDGET)
        grid = counts.grid or self.grid
        declared = None if has_separate_round_numbers or grid.cells == self.grid.cells else self.grid
        earlier_evidence = counts.evidence[:-1]
        privacy = build_privacy_statement(counts.releases)
        # A plan without data has blank values; computing notes on them would only cost time.
        build_curve = CDF.from_prefixes if counts.is_paid else CDF.from_placeholder

        def build_cdf(row: Evidence) -> CDF:
            """Return the curve of one row of counts, smoothed if the question asks for it.

            Args:
                row: Released counts of one category, or of all records.
            """
            shares = PrefixShares(row, grid, earlier_evidence, declared=declared, lattice_counts=counts.lattice_counts)
            curve = build_curve(shares, label, privacy)
            return curve if self.smooth is None else curve.smooth(self.smooth)

        return build_by_category(self.by, counts.counts, build_cdf)

    def __str__(self) -> str:
        method = "" if self.method is None else f" {self.method}"
        if self.edges is not None:
            method = " at some edges"
        return describe_question(f"distribution function{method}", self.column, self.by) + describe_hint(self.hint)
