"""The distribution function of one column: the question, the curve, and shares of records in bins of any width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from operator import index
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, SupportsIndex, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import conversation, display
from ..arguments import InvalidArgument, require_probability, require_proportion, require_type
from ..arrays import FloatArray
from ..conversation import ALL, Evidence, Needs, PrivacyStatement, Setting, ask_workload
from ..data import Axis, Grid
from ..display import RECORDS, format_number
from ..display.numerals import format_axis_interval, format_axis_value
from ..inference import (
    Band,
    choose_shown_values,
    find_quantile_cells,
    find_quantile_ends,
    population_band,
    simultaneous_band,
    simultaneous_errors,
)
from ..inference.bands import estimate_scales, join_intervals, simultaneous_mean_ends
from ..inference.knowledge import known_values
from ..inference.simulation import sampling_generator
from ..queries import Hint, PrefixQuery
from ..strategies import Bisection as Bisection
from ..strategies import GrownPartition as GrownPartition
from ..strategies import QuantileCuts as QuantileCuts
from ..summaries import as_numbers, inverse_at, linear_value_at, step_value_at
from .by_category import build_by_category, describe_hint, describe_question, format_axis_label, parse_hint
from .prefixes import PrefixShares, Smoothing, Spans, build_all_edges_query, parse_edges
from .quantile_quantile import PERCENTS, QuantileQuantile, parse_shares
from .question import (
    By,
    build_privacy_statement,
    cells_to_json,
    edges_to_json,
    grid_from_cells,
    grid_from_edges,
    prepend_category_axes,
    require_independent,
)
from .result import IntervalResult, PlotArguments, interval_scopes, notes_on_end_cells, notes_on_width, warn_about_notes

Several = Sequence[float] | NDArray[Any]

ROUNDING = 1e-6  # of the width of a cell
MOST_NAMED = 10
WHOLE = slice(None)


@dataclass(frozen=True, eq=False, repr=False)
class Bins(IntervalResult):
    """The share of the records in each bin.

    Bins are differences of one curve that never falls: none is negative, and bins over the whole grid add up to all
    records there. Noise is less than that of counting every bin, the more so the wider bins are; where noise adds to
    one bin it takes from its neighbours. Values outside the grid are clamped into its end cells, unless it counts them
    apart; bins at its ends hold them.

    Attributes:
        x: Edges, of shape ``(bins + 1,)``: edges of the grid, for inside its cells nothing was counted.
        share: The share of the records that have a value, of shape ``(bins,)``.
        total: How many records have a value: estimated unless public.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        prefixes: The released counts that the curve was computed from.

    Where bins are of unequal width, a picture shows shares per unit of x. As a data frame: columns ``left``, ``right``,
    ``share`` and ``count``.
    """

    KIND = "bins"
    AXIS_COLUMNS = ("left", "right")
    TOGETHER = 1
    """So many can share a picture: what lies behind a band is not seen."""
    TITLE = "Histogram of {label}"
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
    ) -> Bins:
        """So many bins of about one width, or those between such edges, of readings along a grid.

        Edges that are not edges of the grid are moved to the nearest one, and a note says so.

        Raises:
            ValueError: there is no bin, or edges do not rise, lie outside of the grid, or have one nearest edge.
        """
        grid = prefixes.grid
        at, notes = choose_bin_edges(bins, grid, prefixes.plotted_edges)
        share = np.diff(prefixes.shares[at])
        return cls(grid.edges[at], share, prefixes.total, label, privacy.with_notes(*notes), prefixes)

    @property
    def count(self) -> FloatArray:
        """Records in each bin."""
        return self.share * self.total

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of the shares, all correct at once with chance `level`: shape ``(bins, 2)``.

        Between the nearest edges that were measured, inside a bin and around it, the noise of the unbiased estimate is
        simulated. A bin has at least what is inside and at most what is around. That holds for these records; for the
        `population` that they were drawn from noise and sampling are simulated together: see `simultaneous_mean_ends`. That
        needs independent units of one record each.
        """
        level = require_probability("level", level)
        records = self._record_intervals(level, generator)
        if not population:
            return records
        require_independent(self.privacy)
        return join_intervals(records, self._population_intervals(level, generator))

    def _record_intervals(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        counted = self._spans.sum_spans(self._pad_measured_shares(self.prefixes.unbiased_shares))
        errors = simultaneous_errors(self._simulate_noise(generator), level)
        ends = _pair_inner_and_outer_limits(counted - errors, counted + errors)
        # wide enough to hold the share that is shown, which is shrunken and never negative
        return np.clip(join_intervals(ends, np.stack([self.share] * 2, axis=1)), 0.0, 1.0)

    def _population_intervals(self, level: float, generator: np.random.Generator | None) -> FloatArray:
        spans, total, chance = self._spans, self.total, sampling_generator(generator)
        below = self._pad_measured_shares(self.prefixes.shares)
        counted = total * spans.sum_spans(self._pad_measured_shares(self.prefixes.unbiased_shares))
        scale, noises = estimate_scales(self._simulate_noise(generator))
        errors = (
            total * each + spans.simulate_sampling_errors(below, round(total), len(each), chance) for each in noises
        )
        ends = simultaneous_mean_ends(
            counted, (total * scale) ** 2, errors, total * spans.sum_spans(below), total, level
        )
        return np.clip(_pair_inner_and_outer_limits(*ends) / total, 0.0, 1.0)

    @cached_property
    def _spans(self) -> Spans:
        """The spans measured inside each bin, then those around each."""
        places = self.prefixes.grid.edges[self.prefixes.measured_edges]
        left, right = self.x[:-1], self.x[1:]
        around = np.searchsorted(places, left, side="right"), np.searchsorted(places, right) + 1
        begin, end = np.searchsorted(places, left) + 1, np.searchsorted(places, right, side="right")
        first, last = np.append(begin, around[0]), np.append(np.maximum(begin, end), around[1])
        return Spans.from_edges(first, last, len(places) + 2)

    def _pad_measured_shares(self, shares: FloatArray) -> FloatArray:
        """At measured edges, and at an edge below all records and one above all."""
        return np.concatenate([[0.0], shares[self.prefixes.measured_edges], [1.0]])

    def _simulate_noise(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        closed = (np.pad(noise, ((0, 0), (1, 1))) for noise in self.prefixes.simulate_share_errors(generator))
        return map(self._spans.sum_spans, closed)

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.prefixes.rounds

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        return display.draw_bars(self.x, self.share, upwards="share of records", label=self.label, shades=shades, **how)

    def _columns(self) -> dict[str, FloatArray]:
        return {"left": self.x[:-1], "right": self.x[1:], "share": self.share, "count": self.count}

    def _question(self) -> dict[str, object]:
        return {"label": self.label, **edges_to_json(self.prefixes.grid), **self.prefixes.facts}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Bins:
        question, releases = document.question, document.evidence["releases"]
        prefixes = PrefixShares.from_json(releases, grid_from_edges(question), question)
        return cls.from_prefixes(prefixes, document.arrays["x"], question["label"], document.privacy)


def choose_bin_edges(
    bins: SupportsIndex | ArrayLike, grid: Grid, plotted_edges: slice = WHOLE
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The numbers of the edges of so many bins of about one width, or of those nearest to given edges, and a note.

    A number of bins is meant of the edges that are `plotted_edges`.

    Raises:
        ValueError: there is no bin, or edges do not rise, lie outside of those of the grid, or have one nearest edge.

    >>> choose_bin_edges(2, Grid(0, 10, cells=5))
    (array([0, 2, 5]), ())
    >>> choose_bin_edges([0, 2.2, 10], Grid(0, 10, cells=5))[1]
    ('bins: moved to the nearest edges of the grid: 2.2 to 2',)
    """
    if isinstance(bins, SupportsIndex) and not isinstance(bins, np.ndarray):
        if not 1 <= index(bins) <= grid.cells:
            raise InvalidArgument(
                "bins", f"from one to {grid.cells} are needed, as many as there are cells, got {index(bins)}"
            )
        if plotted_edges == WHOLE:
            return grid.nearest_edge(np.linspace(grid.lower, grid.upper, index(bins) + 1)), ()
        first, last = grid.edges[plotted_edges][[0, -1]].tolist()
        return np.unique(grid.nearest_edge(np.linspace(first, last, index(bins) + 1))), ()
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InvalidArgument("bins", "a number of bins is needed, or at least two edges, each above the one before")
    if edges[0] < grid.lower or edges[-1] > grid.upper:
        raise InvalidArgument("bins", f"edges from {grid.lower:g} to {grid.upper:g} are needed, where the grid is")
    at = grid.nearest_edge(edges)
    found, width = grid.edge(at), np.diff(grid.edges).min()
    tied = np.flatnonzero(np.diff(at) == 0)
    if len(tied):
        pair = " and ".join(f"{edge:.10g}" for edge in edges[tied[0] : tied[0] + 2])
        raise InvalidArgument("bins", f"{pair} have the same nearest edge of the grid, {found[tied[0]]:.10g}")
    moved = np.flatnonzero(np.abs(found - edges) > ROUNDING * width)
    if not len(moved):
        return at, ()
    pairs = [f"{edge:.10g} to {place:.10g}" for edge, place in zip(edges[moved], found[moved], strict=True)]
    more = f", and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
    return at, (f"bins: moved to the nearest edges of the grid: {', '.join(pairs[:MOST_NAMED])}{more}",)


def _pair_inner_and_outer_limits(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The lower ends of what is inside of bins, and the upper ends of what is around: (bins, 2)."""
    bins = len(lower) // 2
    return np.stack([lower[:bins], upper[bins:]], axis=1)


LEVEL = 0.95
"""The level of intervals in HTML summaries."""


class HasQuantiles(Protocol):
    """A distribution function, or counts that were searched for quantiles."""

    @property
    def privacy(self) -> PrivacyStatement: ...

    def quantile(self, p: FloatArray, /) -> FloatArray: ...

    def quantile_cell(self, p: FloatArray, /) -> FloatArray: ...

    def quantile_intervals(self, p: FloatArray, level: float, /, *, population: bool) -> FloatArray: ...


def format_quantile_rows(curve: HasQuantiles, p: FloatArray) -> list[tuple[str, str]]:
    """Rows of an HTML summary for quantiles: each with the edges between which it lies."""
    names = [f"{share:g} quantile" for share in p.tolist()]
    intervals = {
        whom: curve.quantile_intervals(p, LEVEL, population=asked)
        for whom, asked in interval_scopes(curve.privacy).items()
    }
    widths = np.diff(intervals[RECORDS])[:, 0].tolist()
    values = known_values(curve.quantile(p), intervals[RECORDS].T, -np.inf, np.inf).tolist()
    points = zip(values, curve.quantile_cell(p).tolist(), widths, strict=True)
    label: str = getattr(curve, "label", "")
    places = [
        format_number(x) if isnan(x) else format_axis_value(x, low, high, label, width)
        for x, (low, high), width in points
    ]
    ends = [
        [f"{format_axis_interval(low, high, label)} {whom}" for low, high in found.tolist()]
        for whom, found in intervals.items()
    ]
    words = [f"{place} ({100 * LEVEL:g}%: {', '.join(own)})" for place, *own in zip(places, *ends, strict=True)]
    return list(zip(names, words, strict=True))


METHODS = (GrownPartition, QuantileCuts, Bisection)
LEAST_NOISE = 0.03
"""Least noise of the share below the first inner edge: with less no band is wider than a half there."""


@dataclass(frozen=True, eq=False, repr=False)
class CDF(IntervalResult):
    """The share of records below each edge of a grid, among records that have a value.

    Values outside the grid are clamped into its end cells, unless the grid counts them apart. Clamped values are known
    only to lie below the inner edge of the first cell, or at or above that of the last.

    Attributes:
        x: Edges, of shape ``(cells + 1,)``.
        y: Shares of records below the edges, non-decreasing in [0, 1], of the same shape; linear inside cells. Records
            that equal the last edge count as below it, and so do those above it where values are clamped.
        count: How many records have a value: estimated unless public.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
        prefixes: The evidence that the curve was read from.
        smoothing: How `y` was smoothed, if it was; see `smooth`.

    Data frame: columns ``x`` and ``y``; of declared values, these and the share of records at or below each.
    """

    KIND = "cdf"
    AXIS_COLUMNS = ("x",)
    TITLE = "Distribution of {label}"
    REPR_FACTS = "{label}, {prefixes.grid.cells} cells"
    ARRAYS = ("x", "y")
    INTERVAL_NAME = "band"
    IS_WEIGHTED: ClassVar[bool] = False
    SHARES_CLASS: ClassVar[type[PrefixShares]] = PrefixShares
    IS_ADDITIVE = True
    POSSIBLE_RANGES = MappingProxyType({"y": (0.0, 1.0)})
    IS_CURVE = True

    label: str
    privacy: PrivacyStatement
    prefixes: PrefixShares
    smoothing: Smoothing | None = None

    @classmethod
    def from_counts(cls, evidence: Evidence, grid: Grid, label: str, privacy: PrivacyStatement) -> CDF:
        """From counts of one row of cells."""
        return cls.from_prefixes(PrefixShares(evidence, grid), label, privacy)

    @classmethod
    def from_prefixes(cls, prefixes: PrefixShares, label: str, privacy: PrivacyStatement) -> CDF:
        """From readings along a grid, of one turn or of several."""
        notes = notes_on_end_cells(prefixes.grid, *prefixes.measured_prefix_counts, prefixes.evidence, prefixes.scale)
        curve = cls(label, privacy, prefixes)
        return replace(curve, privacy=privacy.with_notes(*notes, *curve._notes_on_noise()))

    @classmethod
    def from_placeholder(cls, prefixes: PrefixShares, label: str, privacy: PrivacyStatement) -> CDF:
        """From blank readings, without notes on them."""
        return cls(label, privacy, prefixes)

    def _notes_on_noise(self) -> tuple[str, ...]:
        """A note if nothing is known of the curve at any inner edge; the band is computed only where that may be.

        Blank readings, for which nothing was granted, say nothing.
        """
        if not self.privacy.grant or not self._may_be_unknown():
            return ()
        lower, upper = self.band(LEVEL)
        return notes_on_width((upper - lower)[1:-1], "the band at every edge", "the band at most edges")

    def _may_be_unknown(self) -> bool:
        """Tell whether the noise of the share below the first inner edge allows a band wider than a half there."""
        evidence = self.prefixes.evidence
        noise = evidence.sums.interval_law.end_cell_deviations(evidence.total is not None)[0]
        return bool(noise >= LEAST_NOISE * self.prefixes.scale * self.prefixes.total)

    @cached_property
    def x(self) -> FloatArray:
        """The edges of the grid, ``(cells + 1,)``."""
        return self.prefixes.grid.edges

    @cached_property
    def y(self) -> FloatArray:
        """The share of records below each edge, ``(cells + 1,)``: computed when it is first used."""
        return self.prefixes.shares if self.smoothing is None else self.smoothing.shares(self.prefixes)

    @property
    def values(self) -> FloatArray | None:
        """Declared values, ``(cells,)``, with the share ``y[1:]`` at or below each; None for other grids."""
        return self.prefixes.grid.values

    @property
    def count(self) -> float:
        """The number of records with a value, as it was released or estimated."""
        return self.prefixes.total

    def smooth(self, p: int = 2, at: Sequence[int] | None = None) -> CDF:
        """The non-decreasing curve that changes the noisy counts least (Barczewski, Mawass and Ramon, eq. 3).

        It changes the released counts of intervals of the last turn, of which the fewest that are needed add up to each
        cumulative count; without counts of intervals (square root of prefix sums), the unbiased counts below the edges,
        as if their noises were independent. Bands and intervals are widened only where they would not contain the
        smoothed curve. The default `y`, by empirical Bayes from all turns, is usually closer to the truth. Spends
        nothing.

        Args:
            p: The norm that is minimised. 2: the sum of squared changes over their variances; 1: the sum of absolute
                changes over their standard deviations.
            at: Numbers of edges; only these points are smoothed, and between them the curve is linear. The nearest
                counted edge stands for one that was not counted (see `NoiseGraph.restrict_to_points`). None: all that were counted.

        Warns:
            CurveWarning: other edges were taken.

        Raises:
            ValueError: `p` is neither 1 nor 2, or the grid has no such edge.

        >>> import dpcurves as dp
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=8), epsilon=100, adjacency=dp.REPLACE_ONE)
        >>> curve.smooth(p=1).y.round(2).tolist()
        [0.0, 0.0, 0.33, 0.67, 0.67, 0.67, 0.67, 1.0, 1.0]
        """
        smoothing, notes = Smoothing(p, None if at is None else tuple(at)).snap_to_measured_edges(self.prefixes)
        smoothed = replace(self, smoothing=smoothing, privacy=self.privacy.with_notes(*notes))
        warn_about_notes(smoothed, already_shown=self.notes)
        return smoothed

    @overload
    def cdf(self, t: float) -> np.float64: ...

    @overload
    def cdf(self, t: Several) -> FloatArray: ...

    def cdf(self, t: ArrayLike) -> FloatArray | np.float64:
        """The share of records below `t`: linear inside cells, 0 below the grid; a single number for a single `t`.

        With declared values it is a step function: the share at or below the largest of these that is not above `t`.
        """
        at, values = as_numbers("t", t), self.values
        return (linear_value_at(self.x, self.y, at) if values is None else step_value_at(values, self.y, at))[()]

    @overload
    def quantile(self, p: float) -> np.float64: ...

    @overload
    def quantile(self, p: Several) -> FloatArray: ...

    def quantile(self, p: ArrayLike) -> FloatArray | np.float64:
        """The value at or below which a share `p` of the records lies, interpolated inside its cell; one for each `p`.

        Where values outside the grid were clamped, a quantile in an end cell is given as the inner edge of that cell.
        Where no grid was given and values seem to be multiples of a step, it is such a one.

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        levels = as_numbers("p", p)
        cells = self._find_cells(levels)
        found = choose_shown_values(cells, inverse_at(self.x, self.y, levels) if self.values is None else cells[..., 0])
        if self.prefixes.pilot_queries:  # some cells have a single double, and their upper edge lies in the next one
            found = np.minimum(found, np.maximum(np.nextafter(cells[..., 1], -np.inf), cells[..., 0]))
        found = np.where(cells[..., 1] == np.nextafter(cells[..., 0], np.inf), cells[..., 0], found)
        return self.prefixes.round_to_step(found)[()]

    def quantile_cell(self, p: ArrayLike) -> FloatArray:
        """The edges of the cell that the quantile `p` lies in, shape ``(..., 2)``: inside the cell nothing was counted.

        A cell that also holds values outside the grid has an infinite end; that of a declared value is it, twice.

        Raises:
            ValueError: `p` is not between 0 and 1.
        """
        levels = as_numbers("p", p)
        cells = self._find_cells(levels)
        if not self.prefixes.step:
            return self._close_upper_limits(cells)
        at = np.asarray(self.quantile(levels))
        ends = np.stack([np.minimum(cells[..., 0], at), np.maximum(cells[..., 1], np.nextafter(at, np.inf))], axis=-1)
        return self._close_upper_limits(ends)

    def _close_upper_limits(self, ends: FloatArray) -> FloatArray:
        """Move upper ends where a cell of a single number ends to this number: nothing lies between the two."""
        edges = self.x
        after = edges[1:][edges[1:] == np.nextafter(edges[:-1], np.inf)]
        upper = np.where(np.isin(ends[..., 1], after), np.nextafter(ends[..., 1], -np.inf), ends[..., 1])
        return np.stack([ends[..., 0], np.maximum(upper, ends[..., 0])], axis=-1)

    def _find_cells(self, levels: FloatArray) -> FloatArray:
        return find_quantile_cells(self.prefixes.cells, self.prefixes.shares_at_boundaries(self.y), levels)

    def band(self, level: float, *, population: bool = False, generator: np.random.Generator | None = None) -> Band:
        """A simultaneous confidence band: two curves that contain the true curve everywhere with probability `level`.

        The noise of the unbiased estimate is simulated, a quantile of its largest studentised deviation gives the
        width, and the monotone hull is taken; edges that were not counted span both counted neighbours. After several
        turns the estimate is that of the last one, which counts small intervals where records are many: see
        `PrefixShares` for why its coverage stays right. The true curve is that of these records; with `population`,
        that of the population they were drawn from: see `population_band`. That needs independent units of one record
        each.

        Returns:
            Lower and upper shares, each of the shape of `x`. Between two edges the curve lies between the lower share
            at the left one and the upper share at the right one.
        """
        level = require_probability("level", level)
        lower, upper = self._compute_once(
            (level, population), generator, lambda: self._band(level, population, generator)
        )
        return lower.copy(), upper.copy()

    def _band(self, level: float, population: bool, generator: np.random.Generator | None) -> Band:
        curve, known = self.prefixes.unbiased_shares, self.prefixes.measured_edges
        deviations = self.prefixes.simulate_share_errors(generator)
        if population:
            require_independent(self.privacy)
            sample = self.prefixes.sampling_model(generator)
            lower, upper = self.prefixes.pin_ends(population_band(curve, deviations, level, sample, known))
        else:
            lower, upper = simultaneous_band(curve, deviations, level, known)
        return np.minimum(lower, self.y), np.maximum(upper, self.y)  # shrinkage may have taken the curve outside

    def quantile_interval(
        self, p: float, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> tuple[float, float]:
        """A confidence interval for the quantile `p`, which holds it with probability `level`.

        It has every value that may be called this quantile, whatever ties there are and wherever records lie in cells:
        all edges at which the share below does not differ significantly from `p`, and the cells beside them.
        An end is infinite where the quantile may lie outside the grid; both are declared values, if any. (NumPy's
        `linear` may go one record further.)
        """
        at = np.array([require_proportion("p", p)])
        ((left, right),) = self.quantile_intervals(at, level, population=population, generator=generator).tolist()
        return left, right

    def quantile_intervals(
        self, p: ArrayLike, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Intervals of several quantiles, all correct at once with probability `level`: (..., 2).

        The fewer, the narrower. Up to nine are tested one by one, at a part of the error probability each; more end
        where the `band` crosses `p`, and hold for all `p` at once (`find_quantile_ends`).
        """
        require_independent(self.privacy, population)
        of, sure = (as_numbers("p", p), self.quantile_cell(p)), require_probability("level", level)
        few = self.prefixes.intervals_by_tests(*of, sure, population=population, generator=generator)
        if few is not None:
            return self._close_upper_limits(few)
        ends = self.band(level, population=population, generator=generator)
        lower, upper = (self.prefixes.shares_at_boundaries(end) for end in ends)
        return self._close_upper_limits(find_quantile_ends(self.prefixes.cells, lower, upper, p))

    def histogram(self, bins: SupportsIndex | ArrayLike) -> Bins:
        """The share of records in each of so many bins of about one width, or between these edges. Spends nothing.

        Bins end at edges of the grid, for inside a cell nothing was counted; other edges are moved to the nearest one.

        Warns:
            CurveWarning: edges were moved.

        Raises:
            ValueError: there is no bin, or edges do not rise, lie outside of the grid, or have one nearest edge.

        >>> import dpcurves as dp
        >>> curve = dp.cdf([1, 2, 6] * 500, grid=dp.Grid(0, 8, cells=256), epsilon=100, adjacency=dp.REPLACE_ONE)
        >>> curve.histogram([0, 4, 8]).share.round(2).tolist()
        [0.67, 0.33]
        """
        found = Bins.from_prefixes(self.prefixes, bins, self.label, self.privacy)
        warn_about_notes(found, already_shown=self.notes)
        return found

    def quantile_quantile(self, other: CDF, p: Sequence[float] = PERCENTS) -> QuantileQuantile:
        """Quantiles of this curve against those of another one, which may have another grid. Spends nothing.

        Raises:
            TypeError: `other` is no `CDF`, or `p` no list.
            ValueError: a share is not between 0 and 1, or there is none.

        >>> import dpcurves as dp
        >>> grid, spent = dp.Grid(0, 10, cells=64), {"epsilon": 100, "adjacency": dp.REPLACE_ONE}
        >>> early, late = (dp.cdf([start, start + 4] * 1000, grid=grid, **spent) for start in (0, 2))
        >>> (early.quantile_quantile(late, [0.2, 0.8]).y - early.quantile([0.2, 0.8])).round().tolist()
        [2.0, 2.0]
        """
        require_type("other", other, CDF, "a distribution function, as dp.cdf gives one,")
        return QuantileQuantile(np.unique(parse_shares("p", p)), self, other)

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.prefixes.rounds

    def _interval_limits(self, level: float, /, *, population: bool) -> Band:
        lower, upper = self.band(level, population=population)
        return (lower, upper) if self.values is None else (lower[1:], upper[1:])

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        draw = display.draw_cdf if self.values is None else display.draw_cdf_of_values
        x, y = self._known_columns().values()
        at = self.prefixes.plotted_edges
        parts = [shade.select_rows(at) for shade in shades]
        return draw(x[at], y[at], label=self.label, weighted=self.IS_WEIGHTED, shades=parts, **how)

    def _columns(self) -> dict[str, FloatArray]:
        return {"x": self.x, "y": self.y} if self.values is None else {"x": self.values, "y": self.y[1:]}

    def _question(self) -> dict[str, object]:
        how = {} if self.smoothing is None else {"smoothed": {"p": self.smoothing.p, "at": self.smoothing.at}}
        return {"label": self.label, **cells_to_json(self.prefixes.grid), **self.prefixes.facts, **how}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> CDF:
        question, releases = document.question, document.evidence["releases"]
        grid = grid_from_cells(question, document.arrays["x"])
        curve = cls.from_prefixes(
            cls.SHARES_CLASS.from_json(releases, grid, question), question["label"], document.privacy
        )
        how = question.get("smoothed")
        return curve if how is None else curve.smooth(how["p"], how["at"])

    def _summary(self) -> list[tuple[str, str]]:
        return format_quantile_rows(self, np.array([0.25, 0.5, 0.75]))

    def describe_median(self) -> str:
        """The median with its intervals."""
        ((_, words),) = format_quantile_rows(self, np.array([0.5]))
        return words


@dataclass(frozen=True, slots=True)
class CdfQuestion:
    """The share of records below each edge of `grid`. Asked in three turns or one, unless a method is named.

    Three turns count a few wide intervals and twice divide those that seem to hold many records, with most of the loss
    in the last turn; the curve is computed from all answers. One turn counts all cells: if cells hold many records
    each, if there are few cells or several categories, or if the trust model can count only once. The choice depends on
    public facts alone: grid, loss, adjacency and hint.

    Attributes:
        column: A column of numbers.
        grid: Public cells. Values outside are clamped into the end cells, unless they are counted apart.
        by: Categories that were declared in public: one curve for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        measured_in: The measuring unit of the column, for the axis.
        hint: What is known in public about how the records lie: `PEAKED` in a small part, so that it has to be looked
            for; `ATOMS`: single cells hold much, so that each has to be counted. None: nothing, as `SPREAD` over a good
            part of the grid: the answers tell. It must not come from the data.
        method: How intervals are chosen privately: `GrownPartition`, `QuantileCuts` or `Bisection`. None: as is said
            above.
        smooth: 1 or 2: give the curve as `CDF.smooth` makes it, with this `p`. None: by empirical Bayes.
        at: Numbers of edges (0 is the first): the curve is counted there alone, and is linear between them, so that the
            grid may be as fine as doubles can tell apart. Other edges may be asked later, under the same request, at no
            further loss. None: all edges.

    Raises:
        ValueError: the hint is none of these, or is given together with a method; or `at` is empty, has an edge twice
            or one that the grid has not, or is given together with `by`, `hint`, `method` or `smooth`.
        TypeError: `method` is no such method, or `at` is no tuple.
    """

    column: str
    grid: Grid
    by: By = None
    measured_in: str = ""
    hint: Hint | None = None
    method: conversation.CountingMethod | None = None
    smooth: int | None = None
    at: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.at is not None:
            object.__setattr__(self, "at", parse_edges(self.at, Axis(self.column, self.grid)))
            if (self.by, self.hint, self.method, self.smooth) != (None, None, None, None):
                raise InvalidArgument(
                    "at", "counts at some edges are all there is: leave by, hint, method and smooth out"
                )
        object.__setattr__(self, "hint", parse_hint(self.hint))
        if self.smooth is not None:
            object.__setattr__(self, "smooth", Smoothing(self.smooth, None).p)
        if self.method is not None:
            require_type("method", self.method, METHODS, "one, as GrownPartition(),")
            if self.hint is not None:
                raise InvalidArgument("hint", "it cannot be combined with method, which it would choose")

    @property
    def charged_query(self) -> PrefixQuery | None:
        """The query for all counts along this grid, where counts at some edges are asked for."""
        return None if self.at is None else build_all_edges_query(Axis(self.column, self.grid))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Counts below edges, read along the grid."""
        return (yield from self.ask_counts(()))

    def ask_counts(self, quantile_levels: tuple[float, ...], *, has_separate_round_numbers: bool = False) -> Needs[Any]:
        """Counts below edges, read along the grid; of those near some quantiles most, if shares are given.

        Args:
            quantile_levels: The shares; empty: all edges are read.
            has_separate_round_numbers: Whether round numbers get cells of their own, where the trust model can count on such cells.
        """
        label, axis = format_axis_label(self.column, self.measured_in), Axis(self.column, self.grid)
        if self.at is not None:
            found = yield from ask_workload(conversation.CountsBelowWorkload(axis, self.at), ALL)
            return CDF.from_counts(
                found.counts, self.grid.merge_cells(self.at), label, build_privacy_statement(found.releases)
            )
        prefixes = conversation.PrefixWorkload(
            prepend_category_axes(self.by, axis), self.hint, self.method, quantile_levels, has_separate_round_numbers
        )
        found = yield from ask_workload(prefixes, ALL)
        grid = found.grid or self.grid
        earlier, privacy = found.evidence[:-1], build_privacy_statement(found.releases)
        # A rehearsal has nothing to note: what it was sent is blank, and reading it would cost as much as asking.
        read = CDF.from_prefixes if found.is_paid else CDF.from_placeholder

        def build_cdf(row: Evidence) -> CDF:
            found = read(PrefixShares(row, grid, earlier), label, privacy)
            return found if self.smooth is None else found.smooth(self.smooth)

        return build_by_category(self.by, found.counts, build_cdf)

    def __str__(self) -> str:
        way = " at some edges" if self.at is not None else "" if self.method is None else f" {self.method}"
        return describe_question(f"distribution function{way}", self.column, self.by) + describe_hint(self.hint)
