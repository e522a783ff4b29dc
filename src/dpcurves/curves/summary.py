"""Count, sum, mean and variance of a column between public bounds, from one paid release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import display
from ..arguments import Refused, chance, whole
from ..arrays import FloatArray
from ..data import Axis, Grid
from ..display import numeral
from ..postprocess import public_generator
from ..postprocess.inference.moments import (
    Moments,
    count_ends,
    mean_ends,
    mean_of,
    sum_ends,
    variance_ends,
    variance_of,
)
from ..queries import SquareQuery, SumQuery
from ..release import Evidence, PrivacyStatement, Setting
from ..workloads import Cells, Needs, Single, needed
from .by_category import ByCategory, rows_of
from .covering import EACH, pictured, scopes, shades
from .keys import By, axes_of, columns_of, combined, keys_of
from .question import require_independent, statement_of
from .result import Covered
from .turns.one_table import axis_label, in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

HALF = 2**18
"""Steps from the middle of the bounds to an end: values are rounded to the nearest step before they are added up."""
DRAWS = 5000
LARGEST_BOUND = 1e100
"""The largest bound: squares of it, and sums of these, are doubles."""
MEAN = 2
"""Which of the statistics is the mean."""
SHARES: Mapping[int, tuple[Fraction, ...]] = {
    1: (Fraction(1, 3), Fraction(2, 3)),
    2: (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)),
}
"""What counts, sums and sums of squares get of the loss, by the number of moments."""


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Covered):
    """Count, sum, mean and variance of the values of a column.

    Values outside of the bounds are taken for the bound that is nearer: all four numbers speak of such values.

    Attributes:
        count: Records with a value: never below zero, nor above the number of records where that is public.
        sum: The sum of their values, without bias.
        mean: Between the bounds.
        variance: With divisor n - 1, as in pandas. NaN where one moment was asked for.
        lower, upper: The declared bounds.
        label: The column and its measuring unit.
        privacy: What stands on every picture.
        evidence: What all this was read from: counts, sums, and maybe sums of squares.

    A picture shows the mean. As a data frame: columns ``statistic`` and ``value``, a row for each of the four.
    """

    KIND: ClassVar[str] = "summary"

    count: float
    sum: float
    mean: float
    variance: float
    lower: float
    upper: float
    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]

    @classmethod
    def read(cls, turns: tuple[Evidence, ...], bounds: Grid, label: str, privacy: PrivacyStatement) -> Summary:
        """From counts, sums, and maybe sums of squares, of one row with one cell."""
        found, middle, half = _moments(turns), (bounds.lower + bounds.upper) / 2, (bounds.upper - bounds.lower) / 2
        total = float(half * found.value + middle * found.records)
        mean, variance = float(middle + half * mean_of(found)), float(half**2 * variance_of(found))
        count = min(max(float(found.records), 0.0), inf if turns[0].total is None else float(turns[0].total))
        return cls(count, total, mean, variance, bounds.lower, bounds.upper, label, privacy, turns)

    @property
    def turns(self) -> tuple[Evidence, ...]:
        """What was released, turn by turn."""
        return self.evidence

    @property
    def standard_deviation(self) -> float:
        """The root of the variance."""
        return sqrt(self.variance) if self.variance >= 0 else nan

    @property
    def statistics(self) -> dict[str, float]:
        """The numbers by name, without the variance where it was not asked for."""
        found = {"count": self.count, "sum": self.sum, "mean": self.mean}
        return found if len(self.turns) == 2 else {**found, "variance": self.variance}

    @property
    def clamped(self) -> str:
        """What stands under the picture of a mean: of what, and between which bounds."""
        return f"mean of {self.label}, values clamped to [{numeral(self.lower)}, {numeral(self.upper)}]"

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Lower and upper ends of all `statistics` in their order, each on its own with chance `level`: ``(4, 2)``.

        They hold the numbers of these records. With `population`: the mean and the variance of the population, and the
        means of counts and of sums over samples of this size, which needs independent units of one record each. The
        mean is that of Student's t, with the noise added and the variance at the upper end of what noise leaves open;
        or, where one moment was asked for, at the largest that the bounds allow. The variance holds for any law between
        the bounds, so for most more often than `level` says; and so do counts and sums where the number of records is
        private, for those are taken to scatter as Poisson's law does. See `postprocess.inference.moments`; rounding is
        in all of them.

        Args:
            level: The chance of each interval.
            population: Whether they cover what holds for the population.
            generator: For the simulation.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        level, draw = chance("level", level), public_generator(generator)
        if population:
            require_independent(self.privacy)
        found, noise = _moments(self.turns), self._noise(draw)
        student = draw.standard_t(max(float(found.records) - 1, 1.0), DRAWS) if population else None
        normal = draw.standard_normal(DRAWS) if population else None
        total = inf if self.turns[0].total is None else float(self.turns[0].total)
        middle, half = (self.lower + self.upper) / 2, (self.upper - self.lower) / 2
        step = half / (2 * HALF)
        mean = _scaled(mean_ends(found, noise, level, student), half, middle, step)
        ends = [
            count_ends(found, noise, level, total, normal),
            _scaled(sum_ends(found, noise, level, student, middle / half, total), half, 0, step * self.count),
            (max(mean[0], self.lower), min(mean[1], self.upper)),
        ]
        if found.square is not None:
            ends.append(_scaled(variance_ends(found, noise, level, normal), half**2, 0, 8 * half * step))
        return np.array(ends)

    def mean_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Lower and upper end of the mean; see `intervals`.

        Raises:
            ValueError: `level` is no chance; or for the population, units have several records.
        """
        low, high = self.intervals(level, population=population)[MEAN].tolist()
        return low, high

    def _noise(self, draw: np.random.Generator) -> Moments:
        parts = [
            np.concatenate([cells[:, 0, 0] for cells, _ in turn.sums.simulate(turn.total, DRAWS, draw)])
            for turn in self.turns
        ]
        return _in_units(parts)

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        means = [shade._replace(lower=_mean(shade.lower), upper=_mean(shade.upper)) for shade in shaded]
        return display.draw_means([name or "all"], [self.mean], privacy, label=self.clamped, shades=means, ax=ax)

    def _covers(self) -> str:
        return EACH

    def _columns(self) -> dict[str, list[Any]]:
        return {"statistic": list(self.statistics), "value": list(self.statistics.values())}

    def _arrays(self) -> dict[str, float]:
        return self.statistics

    def _question(self) -> dict[str, object]:
        return {"label": self.label, "lower": self.lower, "upper": self.upper}

    @classmethod
    def _opened(cls, opened: Opened) -> Summary:
        question = opened.evidence["question"]
        turns = tuple(Evidence.from_json(release) for release in opened.evidence["releases"])
        if len(turns) not in (2, 3):
            raise Refused("curve.evidence.releases", "counts, sums, and maybe sums of squares are needed")
        return cls.read(turns, Grid(question["lower"], question["upper"], cells=1), question["label"], opened.privacy)

    def _in_short(self) -> tuple[str, ...]:
        return self.label, *(f"{name} {numeral(value)}" for name, value in self.statistics.items())

    def _title(self) -> str:
        return f"Summary of {self.label}"

    def _summary(self) -> list[tuple[str, str]]:
        return [(name, numeral(value)) for name, value in self.statistics.items()]


class SummaryByCategory(ByCategory[Summary]):
    """A summary for each category, in the order that was declared; drawn as one dot for each, one above the other."""

    MEMBERS: ClassVar[str] = "summary"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Draw all means, with intervals for these records and for the `population`; without a `level`, with none.

        A `name` stands before the categories.
        """
        whom, each = scopes(self.privacy, population=population), list(self.values())
        privacy, level = pictured(self.privacy, level, len(each), population=population)

        def ends(level: float, /, *, population: bool) -> FloatArray:
            return np.array([one.mean_interval(level, population=population) for one in each]).T

        names, means = self._names(name), [one.mean for one in each]
        shaded = shades(whom, level, EACH, ends)
        return display.draw_means(names, means, privacy, label=each[0].clamped, shades=shaded, ax=ax)


@dataclass(frozen=True, slots=True)
class SummaryQuestion:
    """How many records have a value, what is the sum of these, their mean, their variance? Three turns, paid once.

    Attributes:
        column: A column of numbers.
        lower, upper: Public bounds: values outside count as the bound that is nearer. The narrower, the less noise.
        by: Categories that were declared in public: one summary for each, all for the price of one. A tuple of
            several columns: one for each combination.
        measured_in: The measuring unit of the column.
        moments: 2: also the variance. 1: the noise of counts and sums is a quarter less, but nothing but the bounds is
            known of the variance, which makes the mean's interval for the population wide.

    Raises:
        ValueError: the bounds cross or are not finite, or moments are neither 1 nor 2.
        TypeError: a field is of another kind.
    """

    column: str
    lower: float
    upper: float
    by: By = None
    measured_in: str = ""
    moments: int = 2

    def __post_init__(self) -> None:
        bounds, moments = Axis(self.column, Grid(self.lower, self.upper, cells=1)).grid, whole("moments", self.moments)
        keys_of(self.by)
        axis_label(self.column, self.measured_in)
        if max(-bounds.lower, bounds.upper) > LARGEST_BOUND:
            raise Refused("grid", f"bounds up to {LARGEST_BOUND:g} are needed, so that squares can be told")
        if moments not in SHARES:
            raise Refused("moments", f"1, for the mean, or 2, for the variance too, is needed, got {moments}")
        for name, value in (("lower", bounds.lower), ("upper", bounds.upper), ("moments", moments)):
            object.__setattr__(self, name, value)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Counts, sums, and maybe sums of squares, each of one cell for each category."""
        axis = Axis(self.column, Grid(self.lower, self.upper, cells=1))
        axes = axes_of(self.by, axis)
        counted, *shares = SHARES[self.moments]
        releases = list((yield from needed(Cells(axes), counted)).releases)
        for query, share in zip((SumQuery(axes, HALF), SquareQuery(axes, HALF)), shares, strict=False):
            releases.append((yield from needed(Single(query), share)))
        turns = tuple(Evidence.of(release) for release in releases)
        label, privacy = axis_label(self.column, self.measured_in), statement_of(releases)
        if self.by is None:
            return Summary.read(turns, axis.grid, label, privacy)
        rows = zip(combined(keys_of(self.by)), zip(*(rows_of(turn) for turn in turns), strict=True), strict=True)
        summaries = {name: Summary.read(row, axis.grid, label, privacy) for name, row in rows}
        return SummaryByCategory(columns_of(self.by), summaries)

    def __str__(self) -> str:
        return in_words("summary" if self.moments > 1 else "mean", self.column, self.by)


def _moments(turns: tuple[Evidence, ...]) -> Moments:
    return _in_units([turn.unbiased[0, 0] for turn in turns])


def _in_units(parts: list[Any]) -> Moments:
    """The released sums as moments of values between -1 and 1."""
    square = None if len(parts) == 2 else (parts[2] / HALF**2 + parts[0]) / 2
    return Moments(np.asarray(parts[0]), np.asarray(parts[1]) / HALF, square)


def _scaled(ends: tuple[float, float], factor: float, shift: float, rounding: float) -> tuple[float, float]:
    return shift + factor * ends[0] - rounding, shift + factor * ends[1] + rounding


def _mean(ends: ArrayLike) -> FloatArray:
    return np.asarray(ends)[MEAN : MEAN + 1]
