"""Histograms and summaries with an automatic range: three pilot queries choose the cells or the clipping bounds.

The pilot queries, with a fifth of the loss, give an estimate of the records in intervals of all doubles
(`PilotEstimate`). From it follow

- *cells* (`choose_even_cells`): equal cells of a round width that hold nearly all records; others are counted apart;
- *clipping bounds* (`choose_clipping_bounds`): with values clipped to [a, b], the sum of n records errs by about

      noise * (b - a) / 2  +  sum of distances beyond a and b

  and the bounds with the least expected error are taken, of a mean, sum or variance alike;
- *points along the tails* (`choose_tail_points`), with `TAIL_FRACTION` of the loss: how many records lie beyond them
  widens the intervals of sums and means, so that they hold for values that were not clipped (`inference.tails`).

Formal guarantees of all questions here: the granted loss. A fifth of it pays for the range search (see
`strategies.range_search`); the rest counts or sums on cells that are a function of the noisy answers and of public
facts. Conditioned on any value of these answers it loses the remaining budget, so the losses add up (basic composition;
in rho as in epsilon). Sums and means also count cells of the tails, whose edges are such a function: each record lies
in one of these cells.

>>> edges = np.array([0.0, 10.0, 20.0, 100.0])
>>> pilot = PilotEstimate(edges, records=np.array([0.0, 900.0, 5.0]), counts=np.array([3.0, 901.0, 4.0]), noise=2.0,
...     is_significant=True)
>>> grid = choose_even_cells(pilot, max_cells=40)
>>> grid.lower, grid.upper, grid.cells
(10.0, 20.0, 20)
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, exp, floor, inf, log, log10, nextafter, prod, sqrt
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import InvalidArgument, convert_to_integers, require_type
from ..arrays import BoolArray, FloatArray
from ..conversation import WHOLE_BUDGET, AutomaticGridWorkload, CellWorkload, Needs, Setting, TableCounts, ask_workload
from ..data import Grid, Outside
from ..data.axis import TypedAxis
from ..display import format_number
from ..distributions.output_distribution import Family
from ..strategies.contribution_bounds import expected_error
from ..strategies.range_search import DECADES, LARGEST_EDGE, ROUND_DIGITS, PilotCounts
from ..strategies.range_search import TUNING as SEARCH_TUNING
from .automatic_range import NO_RANGE_NOTE, PILOT_FRACTION, format_range, note_on_pilot_queries
from .by_category import build_by_category, describe_question, format_axis_label, split_rows
from .histogram import Histogram, HistogramQuestion
from .outside import infinite_note_thresholds
from .question import By, TableQuestion, build_privacy_statement, parse_grouping, prepend_category_axes
from .summary import (
    LARGEST_BOUND,
    MeanQuestion,
    SummaryQuestion,
    SumQuestion,
    TailPoints,
    Tails,
    VarianceQuestion,
    tail_grid,
)

TAIL_FRACTION = Fraction(1, 10)
"""Budget fraction of the counts around the clipping bounds, from which the sums of values beyond the bounds are
estimated; the sum between the bounds gets what this and the pilot queries leave."""
LEAST_BOUND = 1e-290
"""Smallest nonzero absolute value of an edge or bound, in units of the column: a smaller one becomes 0, since a
narrower cell holds zeros alone. Also the least noise that errors are computed with."""
NEGLIGIBLE_RATIO = 1e-6
"""A ratio of two tail steps that differs from 1 by less counts as 1, which avoids dividing by almost 0. Also the least
share of records beyond a bound that is extrapolated to: smaller shares are raised to it."""


@dataclass(frozen=True, slots=True)
class PilotTuning:
    """Numbers that steer the choice of cells, clipping bounds and tail points from the pilot queries."""

    pilot_cells: int = 64
    """Cells. Approximate size of the grid that the pilot queries propose; the question then chooses its own cells."""
    trimmed_z: float = 3.0
    """Standard deviations of pilot noise: records trimmed on each side, since noise would move bounds."""
    tail_share: float = 0.01
    """Share of the records on each side that may lie beyond the cells of a histogram."""
    reliable_tail_z: float = 4.0
    """Signal-to-noise ratio from which the count of a tail is used for extrapolation."""
    max_growth: float = 3.5
    """The largest ratio of neighbouring quantile steps along a tail."""
    density_intervals: int = 2
    """Intervals before a tail interval that give the density at its beginning."""
    clipped_records: tuple[float, ...] = tuple(2.0 ** (power / 2) for power in range(-9, 7))
    """Candidate records beyond a bound, in standard deviations of the noise of a sum over half the range."""
    origin_share: float = 0.1
    """Share of the records below the origin from which distances along the upper tail are measured."""
    beyond_z: float = 7.0
    """Target signal-to-noise ratio of the records beyond the last tail point before a bound."""
    beyond_factors: tuple[float, ...] = (1.0, 3.0, 12.0)
    """Target numbers of records beyond the tail points before a bound, in units of those beyond the last one."""
    min_beyond: float = 20.0
    """Records beyond the last tail point before a bound: the smallest target."""
    max_beyond_shares: tuple[float, ...] = (0.1, 0.25, 0.5)
    """The largest shares of all records beyond each tail point before a bound."""
    min_distance_ratio: float = 1.05
    """The smallest ratio of the distances of neighbouring tail points."""
    default_distance_ratio: float = 1.2
    """The ratio of these distances if the pilot queries propose a smaller one."""
    farther_points: tuple[float, ...] = (8.0,)
    """Tail points beyond the bound, in distances of the bound from the origin: they detect a mode that was missed."""
    limit_z: float = 1.645
    """Standard deviations of an upper limit with confidence 95 %."""


TUNING = PilotTuning()
"""Numbers that choose cells, clipping bounds and tail points from the pilot queries, such as the share of records that
may lie beyond a histogram's cells. Units and effects stand at the fields of `PilotTuning`."""


class PilotEstimate(NamedTuple):
    """Estimated distribution of the records, from the pilot queries.

    Attributes:
        edges: Increasing edges of intervals.
        records: Expected records of each interval, given all counts; 0 in decades without records or with noise alone.
        counts: The unbiased noisy counts behind the estimate.
        noise: The standard deviation of the noise of one count.
        is_significant: Whether any decade is significantly occupied; if not, the decade with the largest count is used.
    """

    edges: FloatArray
    records: FloatArray
    counts: FloatArray
    noise: float
    is_significant: bool

    @classmethod
    def from_pilot_queries(cls, pilot_counts: TableCounts, setting: Setting) -> PilotEstimate:
        """Return the estimated distribution of a column from the released counts of the pilot queries.

        Args:
            pilot_counts: Released counts of the pilot queries.
            setting: Privacy loss and trust model of the question.
        """
        grid = pilot_counts.releases[-1].plan.query.axes[0].grid  # type: ignore[union-attr]
        pilot = PilotCounts(tuple(grid.edges.tolist()), pilot_counts.evidence)
        totals, _, decade = pilot.decade_counts
        occupied = pilot.occupied_decades
        is_significant = bool(occupied.any())
        if not is_significant:
            largest = int(np.argmax(totals)) if totals.any() else DECADES.index(1.0)
            occupied = np.arange(len(totals)) == largest
        inside = occupied[decade]
        records = np.where(
            inside, np.maximum(pilot.estimate_expected_counts(setting.adjacency.public_record_count), 0.0), 0.0
        )
        if not records.any():
            records = inside / inside.sum()
        return cls(np.array(pilot.edges), records, pilot.counts, pilot.noise, is_significant)

    @property
    def trimmed_estimate(self) -> PilotEstimate:
        """The estimate without the outermost records on each side, which may be noise.

        >>> edges, records = np.array([0.0, 1.0, 2.0, 9.0]), np.array([2.0, 90.0, 5.0])
        >>> PilotEstimate(edges, records, np.zeros(3), 1.0, True).trimmed_estimate.records
        array([ 0., 89.,  2.])
        """
        trimmed = min(TUNING.trimmed_z * self.noise, float(self.records.sum()) / 4)
        trimmed_below = np.minimum(np.maximum(np.cumsum(self.records) - trimmed, 0.0), self.records)
        trimmed_above = np.minimum(np.maximum(np.cumsum(trimmed_below[::-1]) - trimmed, 0.0), trimmed_below[::-1])
        return self._replace(records=trimmed_above[::-1])

    @property
    def interval_means(self) -> FloatArray:
        """The mean value of each interval: for uniform values, or for log-uniform values if the interval is wide."""
        low, high = self.edges[:-1], self.edges[1:]
        inner = np.minimum(np.abs(low), np.abs(high))
        outer = np.maximum(np.abs(low), np.abs(high))
        wide = (inner > 0) & (outer > SEARCH_TUNING.even_ratio * inner)
        ratio = np.log(np.where(wide, outer, exp(1)) / np.where(wide, inner, 1.0))
        middle = low / 2 + high / 2
        return np.where(wide, np.sign(middle) * (outer - inner) / ratio, middle)

    def quantile(self, share: float) -> float:
        """Return the value below which the fraction `share` of the estimated records lies, interpolated linearly
        inside intervals.
        """
        below = np.append(0.0, np.cumsum(self.records))
        interval = min(int(np.searchsorted(below, share * below[-1], side="right")) - 1, len(self.records) - 1)
        fraction = (share * below[-1] - below[interval]) / max(self.records[interval], 1e-300)
        low, high = self.edges[interval : interval + 2].tolist()
        return float(low + min(max(fraction, 0.0), 1.0) * (high - low))

    def extrapolate_tail(self, tail_count: float, side: int) -> float:
        """Return the value beyond which a number of records lie, extrapolated past the reliable counts.

        Quantiles of a normal distribution are linear in its deviates; for other distributions the steps from one
        deviate to the next grow or shrink by a nearly constant factor. Two steps with reliable counts give this factor,
        and so the further steps.

        Args:
            tail_count: Number of records beyond the value.
            side: 1 for the upper tail, -1 for the lower tail.
        """
        edges, records = (self.edges, self.records) if side > 0 else (-self.edges[::-1], self.records[::-1])
        total = float(records.sum())
        tail_count, reliable_share = (
            min(max(records_beyond / total, NEGLIGIBLE_RATIO), 1 / 4)
            for records_beyond in (tail_count, max(TUNING.reliable_tail_z * self.noise, tail_count))
        )
        step = NormalDist().inv_cdf(1 - reliable_share) / 2
        middle, first_point, second_point = (
            _find_upper_tail_point(edges, records, total * NormalDist().cdf(-number * step)) for number in range(3)
        )
        first = first_point - middle
        second = second_point - first_point
        if not second > 0:
            return side * second_point
        growth = min(second / first, TUNING.max_growth) if first > 0 else TUNING.max_growth
        extra_steps = max(NormalDist().inv_cdf(1 - tail_count) / step - 2, 0.0)
        distance = (
            extra_steps if abs(growth - 1) < NEGLIGIBLE_RATIO else growth * (growth**extra_steps - 1) / (growth - 1)
        )
        return side * (second_point + second * distance)

    def describe_counts_beyond(self, low: float, high: float) -> tuple[str, str]:
        """Return upper 95 % confidence limits of the numbers of records below `low` and above `high`, as text."""
        masks = self.edges[:-1] < low, self.edges[1:] > high
        return _format_upper_limit(self.counts[masks[0]], self.noise), _format_upper_limit(
            self.counts[masks[1]], self.noise
        )


def _find_upper_tail_point(edges: FloatArray, records: FloatArray, tail_count: float) -> float:
    """Return the value above which `tail_count` of the estimated `records` of each interval lie.

    Records are uniform in an interval, or decrease exponentially from the density of the intervals before it.

    >>> _find_upper_tail_point(np.array([0.0, 90.0, 100.0, 1000.0]), np.array([180.0, 20.0, 100.0]), 100 / np.e)
    150.0

    Args:
        edges: Increasing edges of the intervals, (intervals + 1,), in units of the column.
        records: Estimated records of each interval, (intervals,).
        tail_count: Number of records above the value.
    """
    above = np.append(np.cumsum(records[::-1])[::-1], 0.0)
    interval = max(int(np.searchsorted(-above, -tail_count, side="right")) - 1, 0)
    low, high = edges[interval : interval + 2].tolist()
    before = slice(max(interval - TUNING.density_intervals, 0), interval)
    density = float(records[before].sum()) / max(low - float(edges[before.start]), 1e-300)
    mean = float(records[interval]) / density if density > 0 else inf
    fraction_above = min(max((tail_count - above[interval + 1]) / max(records[interval], 1e-300), 0.0), 1.0)
    if mean > (high - low) / 2:
        return float(high - fraction_above * (high - low))
    return float(low - mean * log(max(fraction_above, exp(-(high - low) / mean))))


def _format_upper_limit(counts: FloatArray, noise: float) -> str:
    """Return the upper 95 % confidence limit of the sum of noisy counts, at least 0, as text.

    Args:
        counts: Unbiased counts.
        noise: Standard deviation of the noise of one count.
    """
    limit = float(counts.sum()) + TUNING.limit_z * noise * sqrt(len(counts))
    return format_number(max(round(limit), 0))


def choose_even_cells(pilot: PilotEstimate, max_cells: int) -> Grid:
    """Return a grid of at most `max_cells` equal cells of a round width (1, 2 or 5 times a power of ten, or similar)
    that hold nearly all records; values beyond are counted apart.

    Args:
        pilot: Estimate of the distribution from the pilot queries.
        max_cells: Largest number of cells.

    >>> edges = np.array([0.0, 10.0, 20.0, 100.0])
    >>> pilot = PilotEstimate(edges, np.array([0.0, 900.0, 5.0]), np.array([3.0, 901.0, 4.0]), 2.0, True)
    >>> grid = choose_even_cells(pilot, 40)
    >>> grid.lower, grid.upper, grid.cells
    (10.0, 20.0, 20)
    """
    trimmed = pilot.trimmed_estimate
    quantiles = np.clip(
        [trimmed.quantile(TUNING.tail_share), trimmed.quantile(1 - TUNING.tail_share)], -LARGEST_BOUND, LARGEST_BOUND
    )
    low, high = quantiles.tolist()
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-9):  # a single value, or nearly
        radius = abs(low) / 2 if abs(low) > 1e-9 else 1.0
        low = low - radius
        high = high + radius
    width = (high - low) / max(max_cells - 2, 1)
    power = floor(log10(width))
    digit, power = next(((digit, power) for digit in ROUND_DIGITS if digit * 10.0**power >= width), (1, power + 1))
    first = floor(low / (digit * 10.0**power))
    last = ceil(high / (digit * 10.0**power))
    # up to 2**53 doubles represent all integers
    if max(abs(first), abs(last)) * digit >= 2**53:
        return Grid(low, high, cells=max_cells, outside=Outside.APART)
    lower, upper = (float(f"{multiple * digit}e{power}") for multiple in (first, last))
    return Grid(lower, upper, cells=last - first, outside=Outside.APART)


def choose_clipping_bounds(
    pilot: PilotEstimate, noise: float, family: Family = Family.LAPLACE, *, power: int, of_sum: bool, rows: int
) -> tuple[float, float]:
    """Return the clipping bounds that minimise the expected error: noise plus clipping bias.

    The bounds are first chosen among edges of intervals with significantly many records, and then moved to the
    estimated ends of the tails beyond these edges, since noise hides more tail records than the noise of wider bounds
    would cost.

    Args:
        pilot: The pilot estimate.
        noise: The standard deviation of the noise of a sum, over half the distance between the bounds.
        family: The family of this noise.
        power: The power of the values whose mean is estimated.
        of_sum: Whether the middle of the bounds is multiplied by a noisy count.
        rows: The number of groups of records, each with independent noise.

    Returns:
        Lower and upper bound, in units of the column.

    >>> edges = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    >>> pilot = PilotEstimate(edges, np.array([0.0, 500.0, 900.0, 3.0]), np.zeros(4), 2.0, True)
    >>> choose_clipping_bounds(pilot, 0.5, power=1, of_sum=False, rows=1)
    (0.94, 160.0)
    >>> choose_clipping_bounds(pilot, 90.0, power=1, of_sum=False, rows=1)
    (2.6, 59.0)
    """
    trimmed = pilot.trimmed_estimate.records
    occupied = np.flatnonzero(trimmed)
    first = int(occupied[0])
    last = int(occupied[-1]) + 1
    edges = np.clip(pilot.edges[first : last + 1], -LARGEST_BOUND, LARGEST_BOUND)
    edges = np.unique(np.where(np.abs(edges) < LEAST_BOUND, 0.0, edges))
    if len(edges) == 1:
        value = float(edges[0]) or 1.0
        return min(value, 0.0), max(value, 0.0)
    values = np.clip(pilot.interval_means, -LARGEST_BOUND, LARGEST_BOUND)[first:last]
    records = trimmed[first:last] / rows
    middle = float(values[np.searchsorted(np.cumsum(records), records.sum() / 2)])

    def sum_clipping_errors(beyond: BoolArray) -> FloatArray:
        """Return the total clipping error for each edge, if the intervals that `beyond`, (edges, intervals), marks
        are clipped to it."""
        shifts = np.abs(values - edges[:, None])
        distances = np.abs(values - middle) + np.abs(edges[:, None] - middle)
        return np.asarray((np.where(beyond, shifts * distances ** (power - 1), 0.0) * records).sum(axis=1))

    below = sum_clipping_errors(values < edges[:, None])
    above = sum_clipping_errors(values > edges[:, None])
    half = (edges - edges[:, None]) / 2
    centre = np.abs(edges + edges[:, None]) / 2
    error = noise * np.hypot(half**power, centre if of_sum else 0.0) + below[:, None] + above
    error[np.tril_indices(len(edges))] = np.inf
    best = np.unravel_index(int(np.argmin(error)), error.shape)
    low, high = edge_bounds = float(edges[best[0]]), float(edges[best[1]])
    if not pilot.is_significant:
        return edge_bounds
    propose_bounds = partial(_propose_tail_bounds, pilot, noise=noise * rows, power=power, middle=middle)
    (lows, below), (highs, above) = propose_bounds(low, -1), propose_bounds(high, 1)
    half = (highs - lows[:, None]) / 2
    centre = np.abs(highs + lows[:, None]) / 2
    noise_deviation = noise * np.hypot(half**power, centre if of_sum else 0.0)
    error = expected_error((below[:, None] + above) / rows, np.maximum(noise_deviation, LEAST_BOUND), family)
    error[half <= 0] = np.inf
    best = np.unravel_index(int(np.argmin(error)), error.shape)
    low = float(lows[best[0]])
    high = float(highs[best[1]])
    return (low, high) if low < high else edge_bounds


def _propose_tail_bounds(
    pilot: PilotEstimate, bound: float, side: int, *, noise: float, power: int, middle: float
) -> tuple[FloatArray, FloatArray]:
    """Return candidate bounds at the estimated ends of a tail beyond `bound`, and the total clipping error of each,
    both (candidates,).

    Args:
        pilot: The pilot estimate.
        bound: The clipping bound, an edge of an interval.
        side: 1 for the upper tail, -1 for the lower.
        noise: The standard deviation of the noise of a sum, over half the distance between the bounds.
        power: The power of the values whose mean is estimated.
        middle: The median of the estimate, from which distances are measured.
    """
    records_beyond = np.array(TUNING.clipped_records) * noise
    tail_points = np.clip(
        [pilot.extrapolate_tail(value, side) for value in records_beyond.tolist()], -LARGEST_BOUND, LARGEST_BOUND
    )
    bounds = np.array([_move_bound(pilot, bound, value, side) for value in tail_points.tolist()])
    distances = np.maximum(side * (tail_points - bounds[:, None]), 0.0)
    lengths = np.abs(tail_points - middle) + np.abs(bounds[:, None] - middle)
    shifts = distances * lengths ** (power - 1)
    weights = np.diff(records_beyond, prepend=0.0)
    return bounds, np.asarray((shifts * weights).sum(axis=1))


def _move_bound(pilot: PilotEstimate, bound: float, tail_end: float, side: int) -> float:
    """Return a clipping bound moved to the estimated end of a tail, outwards or within the interval beside the bound.

    Args:
        pilot: Estimate from the pilot queries.
        bound: Clipping bound, an edge of an interval, in units of the column.
        tail_end: Estimated largest value, or smallest for the lower tail, in the same units.
        side: 1 for the upper tail, -1 for the lower.

    Returns:
        The bound, rounded to two significant digits if it moved.
    """
    last = int(np.searchsorted(pilot.edges, bound)) - side
    if side * tail_end < side * float(pilot.edges[min(max(last, 0), len(pilot.edges) - 1)]):
        return bound
    crosses = (bound >= 0 > tail_end) if side < 0 else (bound <= 0 < tail_end)
    moved = 0.0 if crosses else float(f"{tail_end:.1e}")
    return 0.0 if abs(moved) < LEAST_BOUND else min(max(moved, -LARGEST_BOUND), LARGEST_BOUND)


def ask_pilot_queries(column: str) -> Needs[TableCounts]:
    """Ask the three pilot queries about a column, with a fifth of the budget; return their counts.

    Args:
        column: Name of the column.
    """
    return (yield from ask_workload(AutomaticGridWorkload(column, TUNING.pilot_cells), PILOT_FRACTION))


@dataclass(frozen=True, slots=True)
class AutoRangeHistogramQuestion(TableQuestion):
    """Histogram with an automatic range: equal cells of a round width, chosen by three pilot queries.

    A fifth of the loss finds a range with nearly all records; the rest counts as in a `HistogramQuestion`. Values
    beyond the cells are counted apart, and a note states about how many there are.

    Formal guarantees: the granted loss, pure or zero-concentrated, under either adjacency: see the module.

    Attributes:
        column: A column of numbers, or of dates (in days since the beginning of 1970), times or durations (in seconds).
        by: See `HistogramQuestion`; all histograms have the same cells.
        measured_in: The measuring unit of the column, for the axis.
        cells: The largest number of cells.

    Raises:
        ValueError: `cells` is below 2 or above 10,000.
        TypeError: a field is of another type.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000))}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> bars = session.ask(dp.AutoRangeHistogramQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(bars.count.sum() - 20_000) < 1000)
    True
    """

    is_plan_shown_first: ClassVar[bool] = True

    column: str
    by: By = None
    measured_in: str = ""
    cells: int = 40  # default of the largest number of cells of a histogram

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        parse_grouping(self.by)
        format_axis_label(self.column, self.measured_in)
        convert_to_integers(self, cells="cells")
        fewest_cells = 2  # cells that a question may ask for
        most_cells = 10_000  # cells that a question may ask for
        if not fewest_cells <= self.cells <= most_cells:
            raise InvalidArgument(
                "cells", f"a number of cells from {fewest_cells} to {most_cells} is needed, got {self.cells}"
            )

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the pilot queries of a range search, then counts on a grid chosen from their answers; return the
        histogram, or one by category.

        Args:
            setting: Loss and adjacency of the question.
        """
        pilot_counts = yield from ask_pilot_queries(self.column)
        pilot = PilotEstimate.from_pilot_queries(pilot_counts, setting)
        grid = choose_even_cells(pilot, self.cells)
        label = format_axis_label(self.column, self.measured_in)
        counts = yield from ask_workload(
            CellWorkload(prepend_category_axes(self.by, TypedAxis(self.column, grid))), WHOLE_BUDGET - PILOT_FRACTION
        )
        privacy = build_privacy_statement(
            (*pilot_counts.releases, *counts.releases), note_thresholds=infinite_note_thresholds(self.column)
        )
        if pilot_counts.is_paid:
            privacy = privacy.with_notes(_note_on_cells(pilot, grid, counts.counts.unbiased_cells, label))
        return build_by_category(self.by, counts.counts, lambda row: Histogram.from_counts(row, grid, label, privacy))

    def with_grid(self, grid: Grid) -> HistogramQuestion:
        """Return the `HistogramQuestion` of the same column on a known grid.

        Args:
            grid: Public cells, in units of the column.
        """
        return HistogramQuestion(self.column, grid, self.by, self.measured_in)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (note_on_pilot_queries(setting),)

    def __str__(self) -> str:
        return describe_question("histogram", self.column, self.by) + ", no range given"


MISSED_RECORDS_NOTE = "the {}, {} to {}, may miss all records"
"""Note on bounds or cells that were chosen although the noisy counts of no power of ten stand out from the noise."""


def _note_on_cells(pilot: PilotEstimate, grid: Grid, counts: FloatArray, label: str) -> str:
    """Return a note on the chosen cells and the numbers of records beyond them, from released numbers.

    Args:
        pilot: Estimate from the pilot queries.
        grid: The chosen cells.
        counts: Released counts of the cells, by row. The first and the last count of a row are of values beyond the
            cells.
        label: Label of the axis.
    """
    bounds = format_range(grid.lower, grid.upper, label)
    if not pilot.is_significant:
        return NO_RANGE_NOTE.format(MISSED_RECORDS_NOTE.format("cells", *bounds))
    below, above = (format_number(max(round(float(counts[:, cell].sum())), 0)) for cell in (0, -1))
    return (
        f"cells from {bounds[0]} to {bounds[1]}, found privately; records below: about {below}, above: about {above}, "
        "counted apart"
    )


def choose_tail_points(
    pilot: PilotEstimate, low: float, high: float, noise: float, rows: int
) -> tuple[TailPoints, TailPoints]:
    """Return points along both tails at which records are counted: three before each bound, the bound, and one beyond
    it.

    Beyond each of the three, the pilot estimate expects enough records to estimate how the tail decreases.

    Args:
        pilot: The pilot estimate.
        low: The lower clipping bound.
        high: The upper clipping bound.
        noise: The standard deviation of the noise of one count of the tails.
        rows: The number of groups of records, each with independent noise.

    >>> edges = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    >>> pilot = PilotEstimate(edges, np.array([0.0, 5000.0, 900.0, 90.0]), np.zeros(4), 2.0, True)
    >>> [round(point, 1) for point in choose_tail_points(pilot, 0.94, 160.0, 2.0, 1)[1].points]
    [13.2, 85.6, 102.3, 160.0, 1265.5]
    """
    mirrored = pilot._replace(edges=-pilot.edges[::-1], records=pilot.records[::-1])
    below = _choose_upper_tail_points(mirrored, -high, -low, noise, rows)
    # records at the bound are not clipped
    above = _choose_upper_tail_points(pilot, low, nextafter(high, inf), noise, rows)
    return TailPoints(-below.origin, tuple(-point for point in below.points), below.bound), above


def _choose_upper_tail_points(pilot: PilotEstimate, low: float, high: float, noise: float, rows: int) -> TailPoints:
    """Return the points in the upper tail at which records are counted, and the origin of their distances.

    Args:
        pilot: Estimate from the pilot queries.
        low: Lower clipping bound, in units of the column.
        high: Upper clipping bound, in the same units.
        noise: Standard deviation of the noise of a count.
        rows: Number of groups of records.
    """
    origin = pilot.quantile(TUNING.origin_share)
    if not high - origin > (high - low) * NEGLIGIBLE_RATIO:
        origin = low
    bound = high - origin
    total = float(pilot.records.sum())
    min_records = max(TUNING.beyond_z * noise, TUNING.min_beyond) * rows
    targets = [
        min(min_records * factor, total * max_share)
        for factor, max_share in zip(TUNING.beyond_factors, TUNING.max_beyond_shares, strict=True)
    ]
    distances = [bound]
    for records in targets:
        distance = _find_upper_tail_point(pilot.edges, pilot.records, records) - origin
        distances.append(
            distance
            if 0 < distance * TUNING.min_distance_ratio <= distances[-1]
            else distances[-1] / TUNING.default_distance_ratio
        )
    points_before = [origin + distance for distance in reversed(distances[1:])]
    points_beyond = [origin + factor * bound for factor in TUNING.farther_points]
    points = np.clip([*points_before, high, *points_beyond], -LARGEST_EDGE, LARGEST_EDGE)
    points_kept = [high, *(float(distance) for distance in points if distance > origin)]
    increasing = sorted(set(points_kept))
    return TailPoints(origin, tuple(increasing), increasing.index(high))


def _note_on_bounds(pilot: PilotEstimate, low: float, high: float) -> str:
    """Return a note on the chosen bounds and the number of clipped records, from released numbers.

    Args:
        pilot: Estimate from the pilot queries.
        low: Lower bound that was chosen.
        high: Upper bound that was chosen.
    """
    if not pilot.is_significant:
        return NO_RANGE_NOTE.format(MISSED_RECORDS_NOTE.format("bounds", format_number(low), format_number(high)))
    below, above = pilot.describe_counts_beyond(low, high)
    return (
        f"bounds {format_number(low)} to {format_number(high)}, found privately; values beyond are clipped to them; "
        f"records below: at most about {below}, above: at most about {above} (at 95% each); intervals of the sum "
        "and the mean are for all values, if each tail beyond its significant counts decreases at least as fast, by "
        "ratio, as "
        "before; an interval of the variance is for the clipped values"
    )


@dataclass(frozen=True, slots=True)
class _AutoRangeSummaryQuestion(TableQuestion):
    """Base of questions for count, sum, mean or variance with automatic clipping bounds."""

    is_plan_shown_first: ClassVar[bool] = True
    MOMENT: ClassVar[int] = 1
    IS_SUM: ClassVar[bool] = False
    BOUNDED_QUESTION: ClassVar[type[Any]]

    column: str
    by: By = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        self.with_bounds(0.0, 1.0)

    def with_bounds(self, lower: float, upper: float) -> Any:
        """Return the question about the same column with known clipping bounds, of type `BOUNDED_QUESTION`.

        Args:
            lower: Lower clipping bound, in units of the column.
            upper: Upper clipping bound, in the same units.
        """
        return self.BOUNDED_QUESTION(self.column, lower, upper, self.by, self.measured_in)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the pilot queries that choose clipping bounds, counts of the tails beyond them, then the queries of the
        sum or mean between them; return the summary, or one by category.

        Args:
            setting: Loss and adjacency of the question.
        """
        pilot_counts = yield from ask_pilot_queries(self.column)
        pilot = PilotEstimate.from_pilot_queries(pilot_counts, setting)
        sum_setting = replace(setting, loss=setting.loss * (WHOLE_BUDGET - PILOT_FRACTION - TAIL_FRACTION))
        fraction = self.with_bounds(0.0, 1.0).budget_fractions(sum_setting)[self.MOMENT]
        noise = sum_setting.count_noise(fraction)
        rows = prod(axis.slots for axis in parse_grouping(self.by))
        lower, upper = choose_clipping_bounds(
            pilot, sqrt(noise.variance), noise.family, power=self.MOMENT, of_sum=self.IS_SUM, rows=rows
        )
        notes = (_note_on_bounds(pilot, lower, upper),) if pilot_counts.is_paid else ()
        points = choose_tail_points(pilot, lower, upper, sqrt(setting.count_noise(TAIL_FRACTION).variance), rows)
        tails = yield from ask_workload(
            CellWorkload(prepend_category_axes(self.by, TypedAxis(self.column, tail_grid(*points)))), TAIL_FRACTION
        )
        row_counts = [tails.counts] if self.by is None else split_rows(tails.counts)
        axis = TypedAxis(self.column, Grid(lower, upper, cells=1))
        releases = *pilot_counts.releases, *tails.releases
        question_steps = self.with_bounds(lower, upper).ask_along(
            axis, sum_setting, releases, notes, [Tails(*points, counts) for counts in row_counts]
        )
        return (yield from scale_budget_fractions(question_steps, WHOLE_BUDGET - PILOT_FRACTION - TAIL_FRACTION))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note: what all rounds cost together, and how it is divided between pilot queries, tail counts
        and sums.

        Args:
            setting: Loss and adjacency of the question.
        """
        pilot_loss = setting.loss * PILOT_FRACTION
        return (
            f"no bounds are given: {setting.loss} pays for all rounds (noisy releases) together; three pilot queries "
            f"find bounds, with {pilot_loss} together, one round counts records beyond them, with "
            f"{setting.loss * TAIL_FRACTION}, and the rest adds up values that are clipped to them",
        )

    def __str__(self) -> str:
        return f"{self.with_bounds(0.0, 1.0)}, no bounds given"


def scale_budget_fractions(steps: Needs[Any], budget_fraction: Fraction) -> Generator[Any, Any, Any]:
    """Run the conversation `steps` with each of its budget fractions multiplied by `budget_fraction`; return its
    result."""
    try:
        need = next(steps)
        while True:
            need = steps.send((yield need._replace(budget_fraction=need.budget_fraction * budget_fraction)))
    except StopIteration as end:
        return end.value


@dataclass(frozen=True, slots=True)
class AutoRangeSumQuestion(_AutoRangeSummaryQuestion):
    """Sum of a column with automatic clipping bounds: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: As in `AutoRangeMeanQuestion`.
    """

    IS_SUM: ClassVar[bool] = True
    BOUNDED_QUESTION: ClassVar[type[Any]] = SumQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeMeanQuestion(_AutoRangeSummaryQuestion):
    """Mean of a column with automatic clipping bounds.

    A fifth of the loss finds bounds in three rounds: the bounds with the smallest expected error, that is noise plus
    clipping bias. A tenth counts records beyond the bounds, and some before them. The rest asks as a `MeanQuestion`
    does. The answer is the mean of clipped values, and labelled so; its intervals cover the mean of all values, if each
    tail beyond its significant counts decreases at least as fast, by ratio, as before.

    Formal guarantees: the granted loss, pure or zero-concentrated, under either adjacency: see the module.

    Attributes:
        column: A column of numbers, or of dates (in days since the beginning of 1970), times or durations (in seconds).
        by: See `CountQuestion`; all groups have the same bounds.
        measured_in: The measuring unit of the column.

    Raises:
        TypeError: a field is of another type.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000))}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> summary = session.ask(dp.AutoRangeMeanQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(summary.mean - 25_885) < 500)
    True
    """

    BOUNDED_QUESTION: ClassVar[type[Any]] = MeanQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeVarianceQuestion(_AutoRangeSummaryQuestion):
    """Variance of a column with automatic clipping bounds: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: As in `AutoRangeMeanQuestion`.
    """

    MOMENT: ClassVar[int] = 2
    BOUNDED_QUESTION: ClassVar[type[Any]] = VarianceQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeSummaryQuestion(_AutoRangeSummaryQuestion):
    """Count, sum, mean and variance of a column with automatic clipping bounds: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: As in `AutoRangeMeanQuestion`.
        moments: See `SummaryQuestion`.

    Raises:
        ValueError: `moments` is neither 1 nor 2.
        TypeError: a field is of another type.
    """

    BOUNDED_QUESTION: ClassVar[type[Any]] = SummaryQuestion

    moments: int = 2

    def with_bounds(self, lower: float, upper: float) -> SummaryQuestion:
        """Return the `SummaryQuestion` about the same column with these clipping bounds.

        Args:
            lower: Lower clipping bound, in units of the column.
            upper: Upper clipping bound, in the same units.
        """
        return SummaryQuestion(self.column, lower, upper, self.by, self.measured_in, self.moments)
