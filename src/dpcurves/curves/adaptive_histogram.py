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

from ..arguments import Refused, make_whole, require_kind
from ..arrays import BoolArray, FloatArray
from ..conversation import ALL, Cells, Counted, Needs, Range, Setting, needed
from ..data import Grid, Outside
from ..data.axis import TypedAxis
from ..display import numeral
from ..laws.law import Family
from ..strategies.contribution_bounds import expected_error
from ..strategies.range_search import CLOSE, DECADES, LARGEST, TENTHS, Looks
from .automatic_range import LOOKED, NOTHING, note_on_looks
from .by_category import axis_label, in_rows, in_words, rows_of
from .histogram import Histogram, HistogramQuestion
from .outside import as_usual
from .question import By, axes_of, keys_of, statement_of
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


class Seen(NamedTuple):
    """Estimate, from the looks, of where records lie.

    Attributes:
        edges: Ends of intervals, rising.
        records: The expected records of each interval, given all counts; 0 in decades that hold none or only noise.
        counts: The noisy counts that this was read from, without bias.
        noise: The standard deviation of the noise of one of them.
        stands_out: Whether any decade stands out; else the one that has most is taken.
    """

    edges: FloatArray
    records: FloatArray
    counts: FloatArray
    noise: float
    stands_out: bool

    @classmethod
    def by(cls, found: Counted, setting: Setting) -> Seen:
        """Read looks: a decade holds records where its count stands out, or those beside do and its own nearly does."""
        grid = found.releases[-1].plan.query.axes[0].grid  # type: ignore[union-attr]
        looks = Looks(tuple(grid.edges.tolist()), found.read)
        totals, _, decade = looks.decades
        holds = looks.holding
        stands_out = bool(holds.any())
        if not stands_out:
            most = int(np.argmax(totals)) if totals.any() else DECADES.index(1.0)
            holds = np.arange(len(totals)) == most
        inside = holds[decade]
        records = np.where(inside, np.maximum(looks.expected(setting.adjacency.total), 0.0), 0.0)
        if not records.any():
            records = inside / inside.sum()
        return cls(np.array(looks.edges), records, looks.counts, looks.noise, stands_out)

    @property
    def inner(self) -> Seen:
        """Without the outermost records on each side, which noise alone may have put there.

        >>> Seen(np.array([0.0, 1.0, 2.0, 9.0]), np.array([2.0, 90.0, 5.0]), np.zeros(3), 1.0, True).inner.records
        array([ 0., 89.,  2.])
        """
        off = min(OUTERMOST * self.noise, float(self.records.sum()) / 4)
        kept = np.minimum(np.maximum(np.cumsum(self.records) - off, 0.0), self.records)
        above = np.minimum(np.maximum(np.cumsum(kept[::-1]) - off, 0.0), kept[::-1])
        return self._replace(records=above[::-1])

    @property
    def middles(self) -> FloatArray:
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

    def reach(self, beyond: float, side: int) -> float:
        """The number above (side 1) or below (side -1) which about so many records lie, beyond what counts can tell.

        Quantiles of a normal law are a straight line in its deviates; of other laws the steps from one deviate to the
        next grow, or shrink, by a factor that hardly changes: two steps that counts tell give it, and so the others.
        """
        edges, records = (self.edges, self.records) if side > 0 else (-self.edges[::-1], self.records[::-1])
        total = float(records.sum())
        beyond, told = (min(max(part / total, EVEN), 1 / 4) for part in (beyond, max(TOLD * self.noise, beyond)))
        step = NormalDist().inv_cdf(1 - told) / 2
        middle, one, two = (_above(edges, records, total * NormalDist().cdf(-place * step)) for place in range(3))
        first, second = one - middle, two - one
        if not second > 0:
            return side * two
        growth = min(second / first, MOST_GROWTH) if first > 0 else MOST_GROWTH
        more = max(NormalDist().inv_cdf(1 - beyond) / step - 2, 0.0)
        steps = more if abs(growth - 1) < EVEN else growth * (growth**more - 1) / (growth - 1)
        return side * (two + second * steps)

    def beyond(self, low: float, high: float) -> tuple[str, str]:
        """About how many records lie below and above, in words: at most so many, but for a chance of 5 %."""
        sides = self.edges[:-1] < low, self.edges[1:] > high
        return _at_most(self.counts[sides[0]], self.noise), _at_most(self.counts[sides[1]], self.noise)


def _above(edges: FloatArray, records: FloatArray, wanted: float) -> float:
    """The number above which so many records lie: evenly in an interval, or falling from the density of some before it.

    >>> _above(np.array([0.0, 90.0, 100.0, 1000.0]), np.array([180.0, 20.0, 100.0]), 100 / np.e)
    150.0
    """
    above = np.append(np.cumsum(records[::-1])[::-1], 0.0)
    place = max(int(np.searchsorted(-above, -wanted, side="right")) - 1, 0)
    low, high = edges[place : place + 2].tolist()
    before = slice(max(place - PREVIOUS, 0), place)
    density = float(records[before].sum()) / max(low - float(edges[before.start]), 1e-300)
    mean = float(records[place]) / density if density > 0 else inf
    left = min(max((wanted - above[place + 1]) / max(records[place], 1e-300), 0.0), 1.0)
    if mean > (high - low) / 2:
        return float(high - left * (high - low))
    return float(low - mean * log(max(left, exp(-(high - low) / mean))))


def _at_most(counts: FloatArray, noise: float) -> str:
    most = float(counts.sum()) + LEVEL_DEVIATIONS * noise * sqrt(len(counts))
    return numeral(max(round(most), 0))


def even_cells(seen: Seen, most: int) -> Grid:
    """At most so many even cells that hold nearly all records, of a round width, with values beyond counted apart.

    >>> edges = np.array([0.0, 10.0, 20.0, 100.0])
    >>> seen = Seen(edges, np.array([0.0, 900.0, 5.0]), np.array([3.0, 901.0, 4.0]), 2.0, True)
    >>> grid = even_cells(seen, 40)
    >>> grid.lower, grid.upper, grid.cells
    (10.0, 20.0, 20)
    """
    inner = seen.inner
    ends = np.clip([inner.quantile(TAIL), inner.quantile(1 - TAIL)], -LARGEST_BOUND, LARGEST_BOUND)
    low, high = ends.tolist()
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-9):  # one number, or nearly
        reach = abs(low) / 2 if abs(low) > 1e-9 else 1.0
        low, high = low - reach, high + reach
    rough = (high - low) / max(most - 2, 1)
    power = floor(log10(rough))
    digit, power = next(((digit, power) for digit in TENTHS if digit * 10.0**power >= rough), (1, power + 1))
    first, last = floor(low / (digit * 10.0**power)), ceil(high / (digit * 10.0**power))
    if max(abs(first), abs(last)) * digit >= LARGEST_WHOLE:
        return Grid(low, high, cells=most, outside=Outside.APART)
    lower, upper = (float(f"{each * digit}e{power}") for each in (first, last))
    return Grid(lower, upper, cells=last - first, outside=Outside.APART)


def best_bounds(
    seen: Seen, noise: float, family: Family = Family.LAPLACE, *, power: int, of_sum: bool, rows: int
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
    >>> seen = Seen(edges, np.array([0.0, 500.0, 900.0, 3.0]), np.zeros(4), 2.0, True)
    >>> best_bounds(seen, 0.5, power=1, of_sum=False, rows=1), best_bounds(seen, 90.0, power=1, of_sum=False, rows=1)
    ((0.94, 160.0), (2.6, 59.0))
    """
    inner = seen.inner.records
    held = np.flatnonzero(inner)
    first, last = int(held[0]), int(held[-1]) + 1
    ends = np.clip(seen.edges[first : last + 1], -LARGEST_BOUND, LARGEST_BOUND)
    ends = np.unique(np.where(np.abs(ends) < LEAST_BOUND, 0.0, ends))
    if len(ends) == 1:
        one = float(ends[0]) or 1.0
        return min(one, 0.0), max(one, 0.0)
    values, records = np.clip(seen.middles, -LARGEST_BOUND, LARGEST_BOUND)[first:last], inner[first:last] / rows
    middle = float(values[np.searchsorted(np.cumsum(records), records.sum() / 2)])

    def lost(beyond: BoolArray) -> FloatArray:
        moved, far = np.abs(values - ends[:, None]), np.abs(values - middle) + np.abs(ends[:, None] - middle)
        return np.asarray((np.where(beyond, moved * far ** (power - 1), 0.0) * records).sum(axis=1))

    below, above = lost(values < ends[:, None]), lost(values > ends[:, None])
    half, centre = (ends - ends[:, None]) / 2, np.abs(ends + ends[:, None]) / 2
    error = noise * np.hypot(half**power, centre if of_sum else 0.0) + below[:, None] + above
    error[np.tril_indices(len(ends))] = np.inf
    places = np.unravel_index(int(np.argmin(error)), error.shape)
    low, high = least = float(ends[places[0]]), float(ends[places[1]])
    if not seen.stands_out:
        return least
    weigh = partial(_tail, seen, noise=noise * rows, power=power, middle=middle)
    (lows, below), (highs, above) = weigh(low, -1), weigh(high, 1)
    half, centre = (highs - lows[:, None]) / 2, np.abs(highs + lows[:, None]) / 2
    spread = noise * np.hypot(half**power, centre if of_sum else 0.0)
    error = expected_error((below[:, None] + above) / rows, np.maximum(spread, LEAST_BOUND), family)
    error[half <= 0] = np.inf
    places = np.unravel_index(int(np.argmin(error)), error.shape)
    low, high = float(lows[places[0]]), float(highs[places[1]])
    return (low, high) if low < high else least


def _tail(
    seen: Seen, bound: float, side: int, *, noise: float, power: int, middle: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds to which a tail seems to reach beyond this one, and what each leaves out."""
    beyond = np.array(BEYOND) * noise
    far = np.clip([seen.reach(each, side) for each in beyond.tolist()], -LARGEST_BOUND, LARGEST_BOUND)
    ends = np.array([_reached(seen, bound, each, side) for each in far.tolist()])
    moved = np.maximum(side * (far - ends[:, None]), 0.0) * (np.abs(far - middle) + np.abs(ends[:, None] - middle)) ** (
        power - 1
    )
    pieces = np.diff(beyond, prepend=0.0)
    return ends, np.asarray((moved * pieces).sum(axis=1))


def _reached(seen: Seen, bound: float, far: float, side: int) -> float:
    """A bound that is moved to where a tail seems to reach: outwards, or within the interval that ends there."""
    last = int(np.searchsorted(seen.edges, bound)) - side
    if side * far < side * float(seen.edges[min(max(last, 0), len(seen.edges) - 1)]):
        return bound
    crosses = (bound >= 0 > far) if side < 0 else (bound <= 0 < far)
    found = 0.0 if crosses else float(f"{far:.1e}")
    return 0.0 if abs(found) < LEAST_BOUND else min(max(found, -LARGEST_BOUND), LARGEST_BOUND)


def _looked(column: str) -> Needs[Counted]:
    return (yield from needed(Range(column, SEEN_CELLS), LOOKED))


@dataclass(frozen=True, slots=True)
class UnboundedHistogramQuestion:
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
    >>> bars = session.ask(dp.UnboundedHistogramQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(bars.count.sum() - 20_000) < 1000)
    True
    """

    is_told_before: ClassVar[bool] = True

    column: str
    by: By = None
    measured_in: str = ""
    cells: int = MOST_BARS

    def __post_init__(self) -> None:
        require_kind("column", self.column, str, "the name of a column")
        keys_of(self.by)
        axis_label(self.column, self.measured_in)
        make_whole(self, cells="cells")
        if not FEWEST_BARS <= self.cells <= MOST_IN_ALL:
            raise Refused("cells", f"{FEWEST_BARS} to {MOST_IN_ALL} are needed, got {self.cells}")

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks, and counts on cells that they chose."""
        looked = yield from _looked(self.column)
        seen = Seen.by(looked, setting)
        grid, label = even_cells(seen, self.cells), axis_label(self.column, self.measured_in)
        counted = yield from needed(Cells(axes_of(self.by, TypedAxis(self.column, grid))), ALL - LOOKED)
        privacy = statement_of((*looked.releases, *counted.releases), least=as_usual(self.column))
        if looked.is_paid:
            privacy = privacy.noted(_note_on_cells(seen, grid, counted.counts.unbiased))
        return in_rows(self.by, counted.counts, lambda row: Histogram.read(row, grid, label, privacy))

    def along(self, grid: Grid) -> HistogramQuestion:
        """The question on a grid that is known."""
        return HistogramQuestion(self.column, grid, self.by, self.measured_in)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        return (note_on_looks(setting),)

    def __str__(self) -> str:
        return in_words("histogram", self.column, self.by) + ", no range given"


BESIDE = "the {}, {} to {}, may lie beside all records"


def _note_on_cells(seen: Seen, grid: Grid, counts: FloatArray) -> str:
    """The cells that were chosen, and about how many records lie beyond: from released numbers."""
    ends = numeral(grid.lower), numeral(grid.upper)
    if not seen.stands_out:
        return NOTHING.format(BESIDE.format("cells", *ends))
    below, above = (numeral(max(round(float(counts[:, end].sum())), 0)) for end in (0, -1))
    return (
        f"the cells, {ends[0]} to {ends[1]}, were chosen by noisy counts; records below: about {below}, above: about "
        f"{above}, counted apart"
    )


def tail_points(seen: Seen, low: float, high: float, noise: float, rows: int) -> tuple[TailPoints, TailPoints]:
    """Choose points along both tails, at which records are counted: some before each bound, the bound, some beyond it.

    Before a bound there are three, beyond which the looks expect enough records to tell how the tail falls.

    Args:
        seen: What the looks tell.
        low, high: The clipping bounds.
        noise: The standard deviation of the noise of one count of the tails.
        rows: Into how many groups the records are parted, each with a noise of its own.

    >>> edges = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    >>> seen = Seen(edges, np.array([0.0, 5000.0, 900.0, 90.0]), np.zeros(4), 2.0, True)
    >>> [round(point, 1) for point in tail_points(seen, 0.94, 160.0, 2.0, 1)[1].points]
    [13.2, 85.6, 102.3, 160.0, 1265.5]
    """
    mirrored = seen._replace(edges=-seen.edges[::-1], records=seen.records[::-1])
    below = _points_above(mirrored, -high, -low, noise, rows)
    above = _points_above(seen, low, nextafter(high, inf), noise, rows)  # records at the bound lose nothing
    return TailPoints(-below.origin, tuple(-each for each in below.points), below.bound), above


def _points_above(seen: Seen, low: float, high: float, noise: float, rows: int) -> TailPoints:
    """Choose the points of the upper tail."""
    origin = seen.quantile(ORIGIN)
    if not high - origin > (high - low) * EVEN:
        origin = low
    bound, total = high - origin, float(seen.records.sum())
    least = max(SEEN_BEYOND * noise, LEAST_BEYOND) * rows
    wanted = [min(least * times, total * most) for times, most in zip(MORE_BEYOND, MOST_BEYOND, strict=True)]
    distances = [bound]
    for records in wanted:
        reached = _above(seen.edges, seen.records, records) - origin
        distances.append(reached if 0 < reached * APART[0] <= distances[-1] else distances[-1] / APART[1])
    before = [origin + each for each in reversed(distances[1:])]
    beyond = [origin + times * bound for times in FARTHER]
    points = np.clip([*before, high, *beyond], -LARGEST, LARGEST)
    kept = [high, *(float(each) for each in points if each > origin)]
    rising = sorted(set(kept))
    return TailPoints(origin, tuple(rising), rising.index(high))


def _note_on_bounds(seen: Seen, low: float, high: float) -> str:
    """The bounds that were chosen, and how many records are clipped: from released numbers."""
    if not seen.stands_out:
        return NOTHING.format(BESIDE.format("bounds", numeral(low), numeral(high)))
    below, above = seen.beyond(low, high)
    return (
        f"the bounds, {numeral(low)} to {numeral(high)}, were chosen by noisy counts; values beyond are clipped to "
        f"them; records below: at most about {below}, above: at most about {above} (at 95% each); intervals of the sum "
        "and the mean are for all values, if beyond the counts that are clear of noise a tail falls at least as fast, "
        "by ratio, as before them; an interval of the variance is for the clipped values"
    )


@dataclass(frozen=True, slots=True)
class _UnboundedSummary:
    is_told_before: ClassVar[bool] = True
    POWER: ClassVar[int] = 1
    OF_SUM: ClassVar[bool] = False
    BOUNDED: ClassVar[type[Any]]

    column: str
    by: By = None
    measured_in: str = ""

    def __post_init__(self) -> None:
        require_kind("column", self.column, str, "the name of a column")
        self.between(0.0, 1.0)

    def between(self, lower: float, upper: float) -> Any:
        """The question between bounds that are known."""
        return self.BOUNDED(self.column, lower, upper, self.by, self.measured_in)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Looks, and sums between bounds that they chose."""
        looked = yield from _looked(self.column)
        seen, rest = Seen.by(looked, setting), replace(setting, loss=setting.loss * (ALL - LOOKED - COUNTED_TAILS))
        share = self.between(0.0, 1.0).shares(rest)[self.POWER]
        one, rows = rest.noise(share), prod(each.slots for each in keys_of(self.by))
        lower, upper = best_bounds(
            seen, sqrt(one.variance), one.family, power=self.POWER, of_sum=self.OF_SUM, rows=rows
        )
        notes = (_note_on_bounds(seen, lower, upper),) if looked.is_paid else ()
        points = tail_points(seen, lower, upper, sqrt(setting.noise(COUNTED_TAILS).variance), rows)
        tails = yield from needed(Cells(axes_of(self.by, TypedAxis(self.column, tail_grid(*points)))), COUNTED_TAILS)
        of_rows = [tails.counts] if self.by is None else rows_of(tails.counts)
        axis = TypedAxis(self.column, Grid(lower, upper, cells=1))
        before = *looked.releases, *tails.releases
        asked = self.between(lower, upper).along(axis, rest, before, notes, [Tails(*points, each) for each in of_rows])
        return (yield from _shared(asked, ALL - LOOKED - COUNTED_TAILS))

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """The price, and what it is spent on."""
        looked = setting.loss * LOOKED
        return (
            f"no bounds are given: {setting.loss} pays for all turns (noisy releases) together; three "
            f"look for bounds, with {looked} together, one counts records beyond them, with "
            f"{setting.loss * COUNTED_TAILS}, and the rest adds up values that are clipped to them",
        )

    def __str__(self) -> str:
        return f"{self.between(0.0, 1.0)}, no bounds given"


def _shared(steps: Needs[Any], share: Fraction) -> Generator[Any, Any, Any]:
    """This conversation for a share of the loss."""
    try:
        need = next(steps)
        while True:
            need = steps.send((yield need._replace(share=need.share * share)))
    except StopIteration as end:
        return end.value


@dataclass(frozen=True, slots=True)
class UnboundedSumQuestion(_UnboundedSummary):
    """The sum of the values of a column of which no bounds are known: see `UnboundedMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `UnboundedMeanQuestion`.
    """

    OF_SUM: ClassVar[bool] = True
    BOUNDED: ClassVar[type[Any]] = SumQuestion


@dataclass(frozen=True, slots=True)
class UnboundedMeanQuestion(_UnboundedSummary):
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
    >>> found = session.ask(dp.UnboundedMeanQuestion("wage"), dp.PrivacyLoss.pure(1))
    >>> bool(abs(found.mean - 25_885) < 500)
    True
    """

    BOUNDED: ClassVar[type[Any]] = MeanQuestion


@dataclass(frozen=True, slots=True)
class UnboundedVarianceQuestion(_UnboundedSummary):
    """The variance of the values of a column of which no bounds are known: see `UnboundedMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `UnboundedMeanQuestion`.
    """

    POWER: ClassVar[int] = 2
    BOUNDED: ClassVar[type[Any]] = VarianceQuestion


@dataclass(frozen=True, slots=True)
class UnboundedSummaryQuestion(_UnboundedSummary):
    """Count, sum, mean and variance of a column of which no bounds are known: see `UnboundedMeanQuestion`.

    Attributes:
        column, by, measured_in: Those of an `UnboundedMeanQuestion`.
        moments: See `SummaryQuestion`.

    Raises:
        ValueError: moments are neither 1 nor 2.
        TypeError: a field is of another kind.
    """

    BOUNDED: ClassVar[type[Any]] = SummaryQuestion

    moments: int = 2

    def between(self, lower: float, upper: float) -> SummaryQuestion:
        """The question between bounds that are known."""
        return SummaryQuestion(self.column, lower, upper, self.by, self.measured_in, self.moments)
