"""Histograms and summaries of a column of which no range is known: cells, or bounds, are chosen by three looks.

Formal guarantees of all questions here: the loss that was granted. A fifth of it looks for the range (see
`strategies.range_search`), the rest counts, or adds up, on cells that are a function of the noisy answers and of public
facts; given these it loses what is left, whatever they are, so both add up (basic composition; in rho as in epsilon).
Sums and means also count cells of the tails, whose edges are such a function: each record lies in one of these.
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
from ..conversation import ALL, AutomaticGridWorkload, CellWorkload, Needs, Setting, TableCounts, ask_workload
from ..data import Grid, Outside
from ..data.axis import TypedAxis
from ..display import format_number
from ..laws.law import Family
from ..strategies.contribution_bounds import expected_error
from ..strategies.range_search import CLOSE, DECADES, LARGEST, TENTHS, PilotCounts
from .automatic_range import LOOKED, NOTHING, note_on_pilot_queries
from .by_category import build_by_category, describe_question, format_axis_label, split_rows
from .histogram import Histogram, HistogramQuestion
from .outside import thresholds_without_notes
from .question import By, build_privacy_statement, parse_grouping, prepend_category_axes
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

SEEN_CELLS = 64
"""About how many cells the looks are asked to propose; they are not counted here."""
OUTERMOST = 3.0
"""Records on each side, in deviations of the noise of a look, that noise may have put there, which moves bounds far."""
TAIL = 0.01
"""The share of the records on each side that the cells of a histogram need not hold."""
MOST_BARS, FEWEST_BARS, MOST_IN_ALL = 40, 2, 10_000
LARGEST_WHOLE = 2**53
LEAST_BOUND = 1e-290
"""The least bound but 0: a cell of less width holds nothing but zeros."""
TOLD, MOST_GROWTH = 4.0, 3.5
"""Deviations of noise that records of a tail are, which counts tell well enough; and the most by which steps along a
tail grow."""
EVEN = 1e-6
"""Differences of numbers that are taken to be equal, and the least part of records."""
PREVIOUS = 2
"""Intervals before one that tell how dense records are at its beginning."""
BEYOND = tuple(2.0 ** (power / 2) for power in range(-9, 7))
"""Records beyond each bound that are tried, in deviations of the noise of a sum over half the bounds' distance."""
COUNTED_TAILS = Fraction(1, 10)
"""Budget fraction of the counts of records beyond the bounds, and before them, that tell how heavy the tails are."""
ORIGIN = 0.1
"""Share of the records below the origin from which distances along the upper tail are measured."""
SEEN_BEYOND = 7.0
"""Standard deviations of noise that the records beyond the last point before a bound are to be."""
MORE_BEYOND = 1.0, 3.0, 12.0
"""How many times as many are to lie beyond this point, and those before it."""
LEAST_BEYOND, MOST_BEYOND = 20.0, (0.1, 0.25, 0.5)
"""Records that lie beyond the last of these points at least, and the largest shares of all beyond each."""
APART = 1.05, 1.2
"""The least ratio of the distances of two points, and the one that is taken where the looks propose a smaller one."""
FARTHER = (8.0,)
"""Points beyond the bound, in distances of it: there another mode would show that the looks missed."""
LEVEL_DEVIATIONS = 1.645
"""Deviations that noise exceeds with a chance of about 5 %."""


class PilotEstimate(NamedTuple):
    """Estimate, from the looks, of where records lie.

    Attributes:
        edges: Ends of intervals, rising.
        records: The expected records of each interval, given all counts; 0 in decades that hold none or only noise.
        counts: The noisy counts that this was read from, without bias.
        noise: The standard deviation of the noise of one of them.
        is_significant: Whether any decade stands out; else the one that has most is taken.
    """

    edges: FloatArray
    records: FloatArray
    counts: FloatArray
    noise: float
    is_significant: bool

    @classmethod
    def from_pilot_queries(cls, pilot_counts: TableCounts, setting: Setting) -> PilotEstimate:
        """Read looks: a decade holds records where its count stands out, or those beside do and its own nearly does."""
        grid = pilot_counts.releases[-1].plan.query.axes[0].grid  # type: ignore[union-attr]
        looks = PilotCounts(tuple(grid.edges.tolist()), pilot_counts.evidence)
        totals, _, decade = looks.decade_counts
        holds = looks.occupied_decades
        stands_out = bool(holds.any())
        if not stands_out:
            most = int(np.argmax(totals)) if totals.any() else DECADES.index(1.0)
            holds = np.arange(len(totals)) == most
        inside = holds[decade]
        records = np.where(
            inside, np.maximum(looks.estimate_expected_counts(setting.adjacency.public_record_count), 0.0), 0.0
        )
        if not records.any():
            records = inside / inside.sum()
        return cls(np.array(looks.edges), records, looks.counts, looks.noise, stands_out)

    @property
    def trimmed_estimate(self) -> PilotEstimate:
        """Without the outermost records on each side, which noise alone may have put there.

        >>> PilotEstimate(np.array([0.0, 1.0, 2.0, 9.0]), np.array([2.0, 90.0, 5.0]), np.zeros(3), 1.0, True).trimmed_estimate.records
        array([ 0., 89.,  2.])
        """
        off = min(OUTERMOST * self.noise, float(self.records.sum()) / 4)
        kept = np.minimum(np.maximum(np.cumsum(self.records) - off, 0.0), self.records)
        above = np.minimum(np.maximum(np.cumsum(kept[::-1]) - off, 0.0), kept[::-1])
        return self._replace(records=above[::-1])

    @property
    def interval_means(self) -> FloatArray:
        """The mean of the values in each interval, if as many lie in any part of it: by ratio where it is wide."""
        low, high = self.edges[:-1], self.edges[1:]
        near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
        wide = (near > 0) & (far > CLOSE * near)
        ratio = np.log(np.where(wide, far, exp(1)) / np.where(wide, near, 1.0))
        even = low / 2 + high / 2
        return np.where(wide, np.sign(even) * (far - near) / ratio, even)

    def quantile(self, share: float) -> float:
        """The number below which about this share of the records lies: a straight line in each interval."""
        below = np.append(0.0, np.cumsum(self.records))
        place = min(int(np.searchsorted(below, share * below[-1], side="right")) - 1, len(self.records) - 1)
        part = (share * below[-1] - below[place]) / max(self.records[place], 1e-300)
        low, high = self.edges[place : place + 2].tolist()
        return float(low + min(max(part, 0.0), 1.0) * (high - low))

    def extrapolate_tail(self, tail_count: float, side: int) -> float:
        """The number above (side 1) or below (side -1) which about so many records lie, beyond what counts can tell.

        Quantiles of a normal law are a straight line in its deviates; of other laws the steps from one deviate to the
        next grow, or shrink, by a factor that hardly changes: two steps that counts tell give it, and so the others.
        """
        edges, records = (self.edges, self.records) if side > 0 else (-self.edges[::-1], self.records[::-1])
        total = float(records.sum())
        tail_count, told = (
            min(max(part / total, EVEN), 1 / 4) for part in (tail_count, max(TOLD * self.noise, tail_count))
        )
        step = NormalDist().inv_cdf(1 - told) / 2
        middle, one, two = (
            _find_upper_tail_point(edges, records, total * NormalDist().cdf(-place * step)) for place in range(3)
        )
        first, second = one - middle, two - one
        if not second > 0:
            return side * two
        growth = min(second / first, MOST_GROWTH) if first > 0 else MOST_GROWTH
        more = max(NormalDist().inv_cdf(1 - tail_count) / step - 2, 0.0)
        steps = more if abs(growth - 1) < EVEN else growth * (growth**more - 1) / (growth - 1)
        return side * (two + second * steps)

    def describe_counts_beyond(self, low: float, high: float) -> tuple[str, str]:
        """About how many records lie below and above, in words: at most so many, but for a chance of 5 %."""
        sides = self.edges[:-1] < low, self.edges[1:] > high
        return _format_upper_limit(self.counts[sides[0]], self.noise), _format_upper_limit(
            self.counts[sides[1]], self.noise
        )


def _find_upper_tail_point(edges: FloatArray, records: FloatArray, tail_count: float) -> float:
    """The number above which so many records lie: evenly in an interval, or falling from the density of some before it.

    >>> _find_upper_tail_point(np.array([0.0, 90.0, 100.0, 1000.0]), np.array([180.0, 20.0, 100.0]), 100 / np.e)
    150.0
    """
    above = np.append(np.cumsum(records[::-1])[::-1], 0.0)
    place = max(int(np.searchsorted(-above, -tail_count, side="right")) - 1, 0)
    low, high = edges[place : place + 2].tolist()
    before = slice(max(place - PREVIOUS, 0), place)
    density = float(records[before].sum()) / max(low - float(edges[before.start]), 1e-300)
    mean = float(records[place]) / density if density > 0 else inf
    left = min(max((tail_count - above[place + 1]) / max(records[place], 1e-300), 0.0), 1.0)
    if mean > (high - low) / 2:
        return float(high - left * (high - low))
    return float(low - mean * log(max(left, exp(-(high - low) / mean))))


def _format_upper_limit(counts: FloatArray, noise: float) -> str:
    most = float(counts.sum()) + LEVEL_DEVIATIONS * noise * sqrt(len(counts))
    return format_number(max(round(most), 0))


def choose_even_cells(seen: PilotEstimate, max_cells: int) -> Grid:
    """At most so many even cells that hold nearly all records, of a round width, with values beyond counted apart.

    >>> edges = np.array([0.0, 10.0, 20.0, 100.0])
    >>> seen = PilotEstimate(edges, np.array([0.0, 900.0, 5.0]), np.array([3.0, 901.0, 4.0]), 2.0, True)
    >>> grid = choose_even_cells(seen, 40)
    >>> grid.lower, grid.upper, grid.cells
    (10.0, 20.0, 20)
    """
    inner = seen.trimmed_estimate
    ends = np.clip([inner.quantile(TAIL), inner.quantile(1 - TAIL)], -LARGEST_BOUND, LARGEST_BOUND)
    low, high = ends.tolist()
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-9):  # one number, or nearly
        reach = abs(low) / 2 if abs(low) > 1e-9 else 1.0
        low, high = low - reach, high + reach
    rough = (high - low) / max(max_cells - 2, 1)
    power = floor(log10(rough))
    digit, power = next(((digit, power) for digit in TENTHS if digit * 10.0**power >= rough), (1, power + 1))
    first, last = floor(low / (digit * 10.0**power)), ceil(high / (digit * 10.0**power))
    if max(abs(first), abs(last)) * digit >= LARGEST_WHOLE:
        return Grid(low, high, cells=max_cells, outside=Outside.APART)
    lower, upper = (float(f"{each * digit}e{power}") for each in (first, last))
    return Grid(lower, upper, cells=last - first, outside=Outside.APART)


def choose_clipping_bounds(
    seen: PilotEstimate, noise: float, family: Family = Family.LAPLACE, *, power: int, of_sum: bool, rows: int
) -> tuple[float, float]:
    """The bounds under which noise and what is clamped are expected to err least together.

    They are edges of intervals that hold more than noise may have put there, and then where tails are expected to reach
    from there, with what they leave out beyond: in a tail noise hides many more records than are worth the noise of
    wider bounds.

    Args:
        seen: What the looks tell.
        noise: The standard deviation of the noise of a sum, over half the distance between the bounds.
        family: The family of this noise.
        power: Power of the values whose mean is wanted.
        of_sum: Whether the middle of the bounds is multiplied by a noisy count.
        rows: Into how many groups the records are parted, each with a noise of its own.

    >>> edges = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    >>> seen = PilotEstimate(edges, np.array([0.0, 500.0, 900.0, 3.0]), np.zeros(4), 2.0, True)
    >>> choose_clipping_bounds(seen, 0.5, power=1, of_sum=False, rows=1), choose_clipping_bounds(seen, 90.0, power=1, of_sum=False, rows=1)
    ((0.94, 160.0), (2.6, 59.0))
    """
    inner = seen.trimmed_estimate.records
    held = np.flatnonzero(inner)
    first, last = int(held[0]), int(held[-1]) + 1
    ends = np.clip(seen.edges[first : last + 1], -LARGEST_BOUND, LARGEST_BOUND)
    ends = np.unique(np.where(np.abs(ends) < LEAST_BOUND, 0.0, ends))
    if len(ends) == 1:
        one = float(ends[0]) or 1.0
        return min(one, 0.0), max(one, 0.0)
    values, records = np.clip(seen.interval_means, -LARGEST_BOUND, LARGEST_BOUND)[first:last], inner[first:last] / rows
    middle = float(values[np.searchsorted(np.cumsum(records), records.sum() / 2)])

    def sum_clipping_errors(beyond: BoolArray) -> FloatArray:
        moved, far = np.abs(values - ends[:, None]), np.abs(values - middle) + np.abs(ends[:, None] - middle)
        return np.asarray((np.where(beyond, moved * far ** (power - 1), 0.0) * records).sum(axis=1))

    below, above = sum_clipping_errors(values < ends[:, None]), sum_clipping_errors(values > ends[:, None])
    half, centre = (ends - ends[:, None]) / 2, np.abs(ends + ends[:, None]) / 2
    error = noise * np.hypot(half**power, centre if of_sum else 0.0) + below[:, None] + above
    error[np.tril_indices(len(ends))] = np.inf
    places = np.unravel_index(int(np.argmin(error)), error.shape)
    low, high = least = float(ends[places[0]]), float(ends[places[1]])
    if not seen.is_significant:
        return least
    weigh = partial(_propose_tail_bounds, seen, noise=noise * rows, power=power, middle=middle)
    (lows, below), (highs, above) = weigh(low, -1), weigh(high, 1)
    half, centre = (highs - lows[:, None]) / 2, np.abs(highs + lows[:, None]) / 2
    spread = noise * np.hypot(half**power, centre if of_sum else 0.0)
    error = expected_error((below[:, None] + above) / rows, np.maximum(spread, LEAST_BOUND), family)
    error[half <= 0] = np.inf
    places = np.unravel_index(int(np.argmin(error)), error.shape)
    low, high = float(lows[places[0]]), float(highs[places[1]])
    return (low, high) if low < high else least


def _propose_tail_bounds(
    seen: PilotEstimate, bound: float, side: int, *, noise: float, power: int, middle: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds to which a tail seems to reach beyond this one, and what each leaves out."""
    beyond = np.array(BEYOND) * noise
    far = np.clip([seen.extrapolate_tail(each, side) for each in beyond.tolist()], -LARGEST_BOUND, LARGEST_BOUND)
    ends = np.array([_move_bound(seen, bound, each, side) for each in far.tolist()])
    moved = np.maximum(side * (far - ends[:, None]), 0.0) * (np.abs(far - middle) + np.abs(ends[:, None] - middle)) ** (
        power - 1
    )
    pieces = np.diff(beyond, prepend=0.0)
    return ends, np.asarray((moved * pieces).sum(axis=1))


def _move_bound(seen: PilotEstimate, bound: float, far: float, side: int) -> float:
    """A bound that is moved to where a tail seems to reach: outwards, or within the interval that ends there."""
    last = int(np.searchsorted(seen.edges, bound)) - side
    if side * far < side * float(seen.edges[min(max(last, 0), len(seen.edges) - 1)]):
        return bound
    crosses = (bound >= 0 > far) if side < 0 else (bound <= 0 < far)
    found = 0.0 if crosses else float(f"{far:.1e}")
    return 0.0 if abs(found) < LEAST_BOUND else min(max(found, -LARGEST_BOUND), LARGEST_BOUND)


def _ask_pilot_queries(column: str) -> Needs[TableCounts]:
    return (yield from ask_workload(AutomaticGridWorkload(column, SEEN_CELLS), LOOKED))


@dataclass(frozen=True, slots=True)
class AutoRangeHistogramQuestion:
    """A histogram of a column of which no range is known: even cells of a round width, which three looks choose.

    A fifth of the loss looks for where nearly all records lie; the rest counts as a `HistogramQuestion` does. Values
    beyond the cells are counted apart, and a note says about how many they are.

    Formal guarantees: the loss that was granted, pure or zero-concentrated, under either adjacency: see the module.

    Attributes:
        column: A column of numbers, or of dates (counted in days since the beginning of 1970), times or durations
            (in seconds).
        by: See `HistogramQuestion`: all have the same cells.
        measured_in: The measuring unit of the column, for the axis.
        cells: The most cells.

    Raises:
        ValueError: `cells` is below 2 or above 10,000.
        TypeError: a field is of another kind.

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
    cells: int = MOST_BARS

    def __post_init__(self) -> None:
        require_type("column", self.column, str, "the name of a column")
        parse_grouping(self.by)
        format_axis_label(self.column, self.measured_in)
        convert_to_integers(self, cells="cells")
        if not FEWEST_BARS <= self.cells <= MOST_IN_ALL:
            raise InvalidArgument("cells", f"{FEWEST_BARS} to {MOST_IN_ALL} are needed, got {self.cells}")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks, and counts on cells that they chose."""
        looked = yield from _ask_pilot_queries(self.column)
        seen = PilotEstimate.from_pilot_queries(looked, setting)
        grid, label = choose_even_cells(seen, self.cells), format_axis_label(self.column, self.measured_in)
        counted = yield from ask_workload(
            CellWorkload(prepend_category_axes(self.by, TypedAxis(self.column, grid))), ALL - LOOKED
        )
        privacy = build_privacy_statement(
            (*looked.releases, *counted.releases), least=thresholds_without_notes(self.column)
        )
        if looked.is_paid:
            privacy = privacy.with_notes(_note_on_cells(seen, grid, counted.counts.unbiased_cells))
        return build_by_category(self.by, counted.counts, lambda row: Histogram.from_counts(row, grid, label, privacy))

    def with_grid(self, grid: Grid) -> HistogramQuestion:
        """The question on a grid that is known."""
        return HistogramQuestion(self.column, grid, self.by, self.measured_in)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_pilot_queries(setting),)

    def __str__(self) -> str:
        return describe_question("histogram", self.column, self.by) + ", no range given"


BESIDE = "the {}, {} to {}, may lie beside all records"


def _note_on_cells(seen: PilotEstimate, grid: Grid, counts: FloatArray) -> str:
    """The cells that were chosen, and about how many records lie beyond: from released numbers."""
    ends = format_number(grid.lower), format_number(grid.upper)
    if not seen.is_significant:
        return NOTHING.format(BESIDE.format("cells", *ends))
    below, above = (format_number(max(round(float(counts[:, end].sum())), 0)) for end in (0, -1))
    return (
        f"the cells, {ends[0]} to {ends[1]}, were chosen by noisy counts; records below: about {below}, above: about "
        f"{above}, counted apart"
    )


def choose_tail_points(
    seen: PilotEstimate, low: float, high: float, noise: float, rows: int
) -> tuple[TailPoints, TailPoints]:
    """Choose points along both tails, at which records are counted: some before each bound, the bound, some beyond it.

    Before a bound there are three, beyond which the looks expect enough records to tell how the tail falls.

    Args:
        seen: What the looks tell.
        low, high: The clipping bounds.
        noise: The standard deviation of the noise of one count of the tails.
        rows: Into how many groups the records are parted, each with a noise of its own.

    >>> edges = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    >>> seen = PilotEstimate(edges, np.array([0.0, 5000.0, 900.0, 90.0]), np.zeros(4), 2.0, True)
    >>> [round(point, 1) for point in choose_tail_points(seen, 0.94, 160.0, 2.0, 1)[1].points]
    [13.2, 85.6, 102.3, 160.0, 1265.5]
    """
    mirrored = seen._replace(edges=-seen.edges[::-1], records=seen.records[::-1])
    below = _choose_upper_tail_points(mirrored, -high, -low, noise, rows)
    above = _choose_upper_tail_points(seen, low, nextafter(high, inf), noise, rows)  # records at the bound lose nothing
    return TailPoints(-below.origin, tuple(-each for each in below.points), below.bound), above


def _choose_upper_tail_points(seen: PilotEstimate, low: float, high: float, noise: float, rows: int) -> TailPoints:
    """Choose the points of the upper tail."""
    origin = seen.quantile(ORIGIN)
    if not high - origin > (high - low) * EVEN:
        origin = low
    bound, total = high - origin, float(seen.records.sum())
    least = max(SEEN_BEYOND * noise, LEAST_BEYOND) * rows
    wanted = [min(least * times, total * most) for times, most in zip(MORE_BEYOND, MOST_BEYOND, strict=True)]
    distances = [bound]
    for records in wanted:
        reached = _find_upper_tail_point(seen.edges, seen.records, records) - origin
        distances.append(reached if 0 < reached * APART[0] <= distances[-1] else distances[-1] / APART[1])
    before = [origin + each for each in reversed(distances[1:])]
    beyond = [origin + times * bound for times in FARTHER]
    points = np.clip([*before, high, *beyond], -LARGEST, LARGEST)
    kept = [high, *(float(each) for each in points if each > origin)]
    rising = sorted(set(kept))
    return TailPoints(origin, tuple(rising), rising.index(high))


def _note_on_bounds(seen: PilotEstimate, low: float, high: float) -> str:
    """The bounds that were chosen, and how many records are clipped: from released numbers."""
    if not seen.is_significant:
        return NOTHING.format(BESIDE.format("bounds", format_number(low), format_number(high)))
    below, above = seen.describe_counts_beyond(low, high)
    return (
        f"the bounds, {format_number(low)} to {format_number(high)}, were chosen by noisy counts; values beyond are clipped to "
        f"them; records below: at most about {below}, above: at most about {above} (at 95% each); intervals of the sum "
        "and the mean are for all values, if beyond the counts that are clear of noise a tail falls at least as fast, "
        "by ratio, as before them; an interval of the variance is for the clipped values"
    )


@dataclass(frozen=True, slots=True)
class _AutoRangeSummaryQuestion:
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
        """The question between bounds that are known."""
        return self.BOUNDED_QUESTION(self.column, lower, upper, self.by, self.measured_in)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks, and sums between bounds that they chose."""
        looked = yield from _ask_pilot_queries(self.column)
        seen, rest = (
            PilotEstimate.from_pilot_queries(looked, setting),
            replace(setting, loss=setting.loss * (ALL - LOOKED - COUNTED_TAILS)),
        )
        share = self.with_bounds(0.0, 1.0).budget_fractions(rest)[self.MOMENT]
        one, rows = rest.count_noise(share), prod(each.slots for each in parse_grouping(self.by))
        lower, upper = choose_clipping_bounds(
            seen, sqrt(one.variance), one.family, power=self.MOMENT, of_sum=self.IS_SUM, rows=rows
        )
        notes = (_note_on_bounds(seen, lower, upper),) if looked.is_paid else ()
        points = choose_tail_points(seen, lower, upper, sqrt(setting.count_noise(COUNTED_TAILS).variance), rows)
        tails = yield from ask_workload(
            CellWorkload(prepend_category_axes(self.by, TypedAxis(self.column, tail_grid(*points)))), COUNTED_TAILS
        )
        of_rows = [tails.counts] if self.by is None else split_rows(tails.counts)
        axis = TypedAxis(self.column, Grid(lower, upper, cells=1))
        before = *looked.releases, *tails.releases
        asked = self.with_bounds(lower, upper).ask_along(
            axis, rest, before, notes, [Tails(*points, each) for each in of_rows]
        )
        return (yield from _scale_budget_fractions(asked, ALL - LOOKED - COUNTED_TAILS))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        looked = setting.loss * LOOKED
        return (
            f"no bounds are given: {setting.loss} pays for all turns (noisy releases) together; three "
            f"look for bounds, with {looked} together, one counts records beyond them, with "
            f"{setting.loss * COUNTED_TAILS}, and the rest adds up values that are clipped to them",
        )

    def __str__(self) -> str:
        return f"{self.with_bounds(0.0, 1.0)}, no bounds given"


def _scale_budget_fractions(steps: Needs[Any], budget_fraction: Fraction) -> Generator[Any, Any, Any]:
    """This conversation for a share of the loss."""
    try:
        need = next(steps)
        while True:
            need = steps.send((yield need._replace(budget_fraction=need.budget_fraction * budget_fraction)))
    except StopIteration as end:
        return end.value


@dataclass(frozen=True, slots=True)
class AutoRangeSumQuestion(_AutoRangeSummaryQuestion):
    """The sum of the values of a column of which no bounds are known: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `AutoRangeMeanQuestion`.
    """

    IS_SUM: ClassVar[bool] = True
    BOUNDED_QUESTION: ClassVar[type[Any]] = SumQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeMeanQuestion(_AutoRangeSummaryQuestion):
    """The mean of the values of a column of which no bounds are known.

    A fifth of the loss looks for bounds in three turns: those under which what is clipped and the noise are expected to
    err least together. A tenth counts records beyond the bounds, and some before them. The rest asks as a
    `MeanQuestion` does. The answer is that of clipped values, and named so; its intervals hold the mean of all values,
    if beyond the counts that are clear of noise the tails fall at least as fast, by ratio, as before them.

    Formal guarantees: the loss that was granted, pure or zero-concentrated, under either adjacency: see the module.

    Attributes:
        column: A column of numbers, or of dates (counted in days since the beginning of 1970), times or durations
            (in seconds).
        by: See `CountQuestion`: all have the same bounds.
        measured_in: The measuring unit of the column.

    Raises:
        TypeError: a field is of another kind.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"wage": np.exp(np.linspace(9, 11, 20_000))}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> found = session.ask(dp.AutoRangeMeanQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(found.mean - 25_885) < 500)
    True
    """

    BOUNDED_QUESTION: ClassVar[type[Any]] = MeanQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeVarianceQuestion(_AutoRangeSummaryQuestion):
    """The variance of the values of a column of which no bounds are known: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `AutoRangeMeanQuestion`.
    """

    MOMENT: ClassVar[int] = 2
    BOUNDED_QUESTION: ClassVar[type[Any]] = VarianceQuestion


@dataclass(frozen=True, slots=True)
class AutoRangeSummaryQuestion(_AutoRangeSummaryQuestion):
    """Count, sum, mean and variance of a column of which no bounds are known: see `AutoRangeMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `AutoRangeMeanQuestion`.
        moments: See `SummaryQuestion`.

    Raises:
        ValueError: moments are neither 1 nor 2.
        TypeError: a field is of another kind.
    """

    BOUNDED_QUESTION: ClassVar[type[Any]] = SummaryQuestion

    moments: int = 2

    def with_bounds(self, lower: float, upper: float) -> SummaryQuestion:
        """The question between bounds that are known."""
        return SummaryQuestion(self.column, lower, upper, self.by, self.measured_in, self.moments)
