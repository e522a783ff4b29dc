"""Questions about the count, sum, mean and variance of one column, each of which gives a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

from ..arguments import Refused, whole
from ..data import Axis, Grid
from ..queries import SquareQuery, SumQuery
from ..queries.base import MOST_COUNTED
from ..release import Evidence, Release, Setting
from ..workloads import Cells, Needs, Single, needed
from .by_category import rows_of
from .keys import By, axes_of, columns_of, combined, keys_of
from .question import statement_of
from .summary import COUNT, HALF, MEAN, SUM, VARIANCE, Summary, SummaryByCategory
from .turns.one_table import axis_label, in_words
from .turns.score_groups import noise_of_a_count

LARGEST_BOUND = 1e100
"""The largest bound: squares of it, and sums of these, are doubles."""
ONE_MOMENT = Fraction(1, 3), Fraction(2, 3)
TWO_MOMENTS = Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)
"""What counts, sums and sums of squares get of the loss."""
MOMENTS = {1: ONE_MOMENT, 2: TWO_MOMENTS}
MOSTLY_VARIANCE = Fraction(5, 12), Fraction(5, 24), Fraction(1, 8)
"""Shares for a variance of many records, but for their count: sums, squares, and counts of some cells."""
SPREAD_CELLS, RECORDS_TO_SPREAD = 32, 2000.0
"""Cells, and from how many records on they are counted, in standard deviations of the noise of a count at the whole
loss. They were chosen on the laws of `benchmarks/interval_against_error.py` (replace-one, epsilon 1, 30 releases): of
3,000 records intervals were 0.8 to 1.05 times as wide as without these counts, of 30,000 0.45 to 0.9 times."""
MOSTLY_MEAN = Fraction(2, 7), Fraction(4, 7), Fraction(1, 7)
"""Shares for a mean: squares get little, for they only tell how far sampling may move it."""
LEAST_COUNT, PARTS = Fraction(1, 10), 20
"""A sum's count gets so much of the loss at least, and a multiple of a twentieth."""


@dataclass(frozen=True, slots=True)
class CountQuestion:
    """The number of records with a value. One turn.

    Attributes:
        column: A column of numbers.
        by: Categories that were declared in public: one count for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.

    Raises:
        TypeError: a field is of another kind.
    """

    column: str
    by: By = None

    def __post_init__(self) -> None:
        _ = self._axis, keys_of(self.by)

    @property
    def _axis(self) -> Axis:
        return Axis(self.column, Grid(0, 1, cells=1))  # every value lies in its one cell, for it is clamped

    def steps(self, setting: Setting) -> Needs[Any]:
        """Counts of one cell for each category."""
        return _summed(self.by, self._axis, Fraction(1), lambda _: (), label=self.column, statistic=COUNT)

    def __str__(self) -> str:
        return in_words(COUNT, self.column, self.by)


@dataclass(frozen=True, slots=True)
class _Bounded:
    column: str
    lower: float
    upper: float
    by: By = None
    measured_in: str = ""

    STATISTIC: ClassVar[str]

    def __post_init__(self) -> None:
        bounds = self._axis.grid
        keys_of(self.by)
        axis_label(self.column, self.measured_in)
        if max(-bounds.lower, bounds.upper) > LARGEST_BOUND:
            raise Refused("grid", f"bounds up to {LARGEST_BOUND:g} are needed, so that sums of squares fit a double")
        for name, value in (("lower", bounds.lower), ("upper", bounds.upper)):
            object.__setattr__(self, name, value)

    @property
    def _axis(self) -> Axis:
        return Axis(self.column, Grid(self.lower, self.upper, cells=1))

    def _shares(self, setting: Setting) -> tuple[Fraction, ...]:
        """Shares of the loss for counts, sums, and maybe sums of squares."""
        return TWO_MOMENTS

    def _after(self, shares: tuple[Fraction, ...], each: float, setting: Setting) -> tuple[Fraction, ...]:
        """The share of the loss after the counts, by the mean number of records of a category, if it is known."""
        return shares

    def steps(self, setting: Setting) -> Needs[Any]:
        """Counts, sums, and maybe sums of squares, each of one cell for each category."""
        counted, *others = self._shares(setting)

        def after(found: Release) -> tuple[Fraction, ...]:
            rows = Evidence.of(found).unbiased
            total = setting.adjacency.total
            each = (float(rows.sum()) if total is None else total) / len(rows)
            return self._after(tuple(others), each, setting)

        label = axis_label(self.column, self.measured_in)
        return _summed(self.by, self._axis, counted, after, label=label, statistic=self.STATISTIC)

    def __str__(self) -> str:
        return in_words(self.STATISTIC, self.column, self.by)


@dataclass(frozen=True, slots=True)
class SumQuestion(_Bounded):
    """The sum of the values. Two turns under one charge: its summary has the count and the mean, too.

    The sum is released as two numbers: the count, and the sum of the values' distances from the middle of the bounds.
    The loss is divided between the two so that the variance of the sum is least for these bounds.

    Attributes:
        column: A column of numbers.
        lower, upper: Public bounds: values outside count as the bound that is nearer. The narrower, the less noise.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another kind.
    """

    STATISTIC: ClassVar[str] = SUM

    def _shares(self, setting: Setting) -> tuple[Fraction, ...]:
        counted = _share_of_count(abs(self.lower + self.upper), self.upper - self.lower, setting)
        return counted, 1 - counted


@dataclass(frozen=True, slots=True)
class MeanQuestion(_Bounded):
    """The mean of the values. Three turns under one charge: its summary is that of `SummaryQuestion`.

    Sums of squares have a seventh of the loss: with them the interval for the population knows how much values scatter.
    The noise of the mean is a sixth more than without them.

    Attributes:
        column: A column of numbers.
        lower, upper: Public bounds: values outside count as the bound that is nearer. The narrower, the less noise.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another kind.
    """

    STATISTIC: ClassVar[str] = MEAN

    def _shares(self, setting: Setting) -> tuple[Fraction, ...]:
        return MOSTLY_MEAN


@dataclass(frozen=True, slots=True)
class VarianceQuestion(_Bounded):
    """The variance of the values. Three turns under one charge: its summary is that of `SummaryQuestion`.

    A fourth turn counts 32 even cells between the bounds where records are many, for an eighth of the loss: with them
    the interval for the population knows how far squares scatter. The noise of the variance is then a fifth more. The
    public number of records decides; where it is private, their released count.

    Attributes:
        column: A column of numbers.
        lower, upper: Public bounds: values outside count as the bound that is nearer. The narrower, the less noise.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another kind.
    """

    STATISTIC: ClassVar[str] = VARIANCE

    def _after(self, shares: tuple[Fraction, ...], each: float, setting: Setting) -> tuple[Fraction, ...]:
        many = each >= RECORDS_TO_SPREAD * noise_of_a_count(setting.loss, setting)
        return MOSTLY_VARIANCE if many and self._may_spread else shares

    @property
    def _may_spread(self) -> bool:
        """Tell whether `SPREAD_CELLS` can be counted for each category, by public facts: answers must not refuse."""
        try:
            cells = replace(self._axis, grid=Grid(self.lower, self.upper, cells=SPREAD_CELLS))
        except Refused:
            return False
        return prod(axis.slots for axis in axes_of(self.by, cells)) <= MOST_COUNTED


@dataclass(frozen=True, slots=True)
class SummaryQuestion(_Bounded):
    """Count, sum, mean and variance of the values. Three turns under one charge.

    Attributes:
        column: A column of numbers.
        lower, upper: Public bounds: values outside count as the bound that is nearer. The narrower, the less noise.
        by: Categories that were declared in public: one summary for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        measured_in: The measuring unit of the column.
        moments: 2: also the variance. 1: counts and sums have a quarter less noise, but the variance is known only to
            be one that the bounds allow, so the interval of the population mean is wide.

    Raises:
        ValueError: the bounds cross or are not finite, or moments are neither 1 nor 2.
        TypeError: a field is of another kind.
    """

    moments: int = 2

    STATISTIC: ClassVar[str] = MEAN

    def __post_init__(self) -> None:
        _Bounded.__post_init__(self)
        moments = whole("moments", self.moments)
        if moments not in MOMENTS:
            raise Refused("moments", f"1, for the mean, or 2, for the variance too, is needed, got {moments}")
        object.__setattr__(self, "moments", moments)

    def _shares(self, setting: Setting) -> tuple[Fraction, ...]:
        return MOMENTS[self.moments]

    def __str__(self) -> str:
        return in_words("summary" if self.moments > 1 else self.STATISTIC, self.column, self.by)


def _summed(
    by: By,
    axis: Axis,
    counted: Fraction,
    after: Callable[[Release], tuple[Fraction, ...]],
    *,
    label: str,
    statistic: str,
) -> Needs[Any]:
    """Counts, for a share of the loss; and then sums, squares and cells, for those that the counts decide.

    Formal guarantees: what follows the counts gets all that they left, whatever they are: pure losses and rho add up to
    what was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    axes = axes_of(by, axis)
    releases = list((yield from needed(Cells(axes), counted)).releases)
    others = after(releases[-1])
    for query, share in zip((SumQuery(axes, HALF), SquareQuery(axes, HALF)), others, strict=False):
        releases.append((yield from needed(Single(query), share)))
    if len(others) == len(MOSTLY_VARIANCE):
        cells = replace(axis, grid=Grid(axis.grid.lower, axis.grid.upper, cells=SPREAD_CELLS))
        releases.extend((yield from needed(Cells(axes_of(by, cells)), others[-1])).releases)
    turns, privacy = tuple(Evidence.of(release) for release in releases), statement_of(releases)
    if by is None:
        return Summary.read(turns, axis.grid, label, privacy, statistic)
    rows = zip(combined(keys_of(by)), zip(*(rows_of(turn) for turn in turns), strict=True), strict=True)
    summaries = {name: Summary.read(row, axis.grid, label, privacy, statistic) for name, row in rows}
    return SummaryByCategory(columns_of(by), summaries)


def _share_of_count(middle: float, half: float, setting: Setting) -> Fraction:
    """Make the variance of ``half * distances + middle * count`` least.

    Noises of the two have standard deviations over their shares under a pure loss, and variances over them under a
    concentrated one.
    """
    power = 1.0 if setting.loss.epsilon is None else 2 / 3
    best = 1 / (1 + (half / middle) ** power) if middle > 0 else 0.0
    return min(max(Fraction(round(best * PARTS), PARTS), LEAST_COUNT), 1 - LEAST_COUNT)
