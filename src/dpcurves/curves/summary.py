"""Count, sum, mean and variance of a column between public bounds: questions and their results.

Also called: winsorised or clamped means; values beyond the clipping bounds are replaced by the bounds. Values are
shifted and scaled to [-1, 1] around the middle m of the bounds, with half width h; released are noisy sums of 1, u and
``u**2`` over the records, each with a fraction of the loss:

    count     n~
    mean      m + h * (sum of u)~ / n~
    sum       h * (sum of u)~ + m * n~
    variance  h**2 * (sum of u**2 - (sum of u)**2 / n)~ / (n~ - 1)

(a tilde marks noisy numbers; values from -1 to 1 need least noise). Fractions minimise the variance of the requested
number for these bounds. *Intervals* invert a test on ``(sum of u)~ - u * n~``, which needs no distribution of a ratio
(`inference.moments`); with private clipping bounds, counts of the tails extend them to values that were not clipped.

Formal guarantees: the granted loss, pure or zero-concentrated: a record adds at most 1 to each sum, in steps of an
exact integer grid, and the losses of the sums add up.

References: Dwork, McSherry, Nissim and Smith 2006; Fieller 1954 (ratios); Bhatia and Davis 2000 (variances).

>>> import dpcurves as dp
>>> stay = dp.mean([2.0, 4.0, 9.0] * 500, bounds=(0, 10), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> round(stay.mean, 1), round(stay.count)
(5.0, 1500)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from math import inf, nan, prod, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, Unpack, overload

import numpy as np

from .. import display
from ..arguments import InvalidArgument, require_bounds_pair, require_integer, require_number, require_probability
from ..arrays import FloatArray
from ..codec import JsonSchema
from ..conversation import (
    CellWorkload,
    Evidence,
    Needs,
    PrivacyStatement,
    Release,
    Setting,
    SingleQueryWorkload,
    ask_workload,
)
from ..data import ALL_RECORDS, Axis, Grid, Outside
from ..display import TEXT, format_interval, format_number
from ..inference import (
    KNOWN_PROBABILITY,
    LARGEST_UNIT_VARIANCE,
    Moments,
    ReleasedMoments,
    SquareScatter,
    TailCounts,
    public_generator,
    simulate_cell_noise,
)
from ..queries import MOST_COUNTED, SquareQuery, SumQuery
from .by_category import ByCategory, collect_by_category, describe_question, format_axis_label, split_rows
from .outside import note_thresholds_for_clipping, separate_outside_axis
from .question import (
    By,
    TableQuestion,
    Where,
    build_privacy_statement,
    parse_grouping,
    prepend_category_axes,
    require_independent,
)
from .result import INDIVIDUAL_INTERVAL, SUMMARY_LEVEL, IntervalResult, PlotArguments, interval_scopes, name_ends
from .score_groups import count_noise_deviation

HALF_RANGE_STEPS = 2**18
"""Steps from the middle of the clipping bounds to either bound: values are rounded to the nearest step before they are
summed as integers. 2**18 makes the rounding error negligible beside the noise of any sum."""
SUMMARY_DRAWS = 5000
"""Draws of the simulated noise by default: 125 of them lie beyond each end of an interval of level 0.95. More draws
give steadier ends and take longer."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the intervals of summaries."""

    spread_cells: int = 32
    """Cells that are counted for the variance of many records. They, and the 2,000 noise standard deviations of records
    from which they are counted, were chosen on the distributions of `benchmarks/interval_against_error.py`
    (replace-one, epsilon 1, 30 releases): with these counts intervals of 3,000 records were 0.8 to 1.05 times as wide,
    of 30,000 records 0.45 to 0.9 times."""


TUNING = Tuning()
"""The number of cells that are counted for the interval of a variance of many records: see the field of `Tuning`."""

COUNT = "count"
"""Name of the statistic in JSON, tables and arguments: the number of records with a value."""
SUM = "sum"
"""Name of the statistic in JSON, tables and arguments: the sum of the clipped values."""
MEAN = "mean"
"""Name of the statistic in JSON, tables and arguments: the mean of the clipped values."""
VARIANCE = "variance"
"""Name of the statistic in JSON, tables and arguments: the variance of the clipped values."""
ALL_RECORDS_LABEL = "records"
"""Label of a count of all records, which reads no column; its text says nothing about values, therefore."""
ALL_FOUR = COUNT, SUM, MEAN, VARIANCE
"""Statistics of a summary whose squares are also summed."""
STATISTICS_BY_RELEASES = {1: (COUNT,), 2: (COUNT, SUM, MEAN), 3: ALL_FOUR, 4: ALL_FOUR}
"""Statistics that a summary has, by the number of its stored releases without those of tails: 1, counts; 2, also sums;
3, also sums of squares; 4, also counts of a few cells. A statistic that is not listed is refused as damaged."""


@dataclass(frozen=True, eq=False, repr=False)
class Summary(IntervalResult):
    """Count, sum, mean and variance of the values of a column.

    Values outside the bounds are clipped: all four statistics are computed from clipped values. If noise alone may have
    made the count (an empty table does so with probability 2.5 % at most), sum, mean and variance are unknown: NaN.
    Intervals of mean and variance then contain every possible value, and the interval of the sum is as wide as its
    noise. If the bounds were found privately, tails were counted: then `names` mention the bounds, and intervals of the
    sum and the mean are for all values.

    Attributes:
        count: Records with a value: never below zero, nor above a public number of records; NaN if that number is
            public and an interval of level 0.95 contains every possible count.
        sum: The sum of their values, within what the bounds and a public number of records allow, as its intervals
            are. NaN if only the count was released, or if it is unknown.
        mean: Between the bounds. NaN if only the count was released.
        variance: The sample variance, with divisor n - 1. NaN if it was not released.
        lower, upper: The clipping bounds; 0 and 1 for a count alone, which has none.
        label: The column and its measuring unit.
        privacy: The privacy statement, which every plot shows.
        evidence: The releases: counts, and, if requested, sums and sums of squares; for the variance of many records
            also counts of a few cells.
        statistic: The name of the requested number, which plots show.
        tails: Counts of records beyond the bounds and before them, if the bounds were found privately; None: public
            bounds.

    Data frame: columns ``statistic`` and ``value``, a row for each of the `statistics`, named as in `names`.
    """

    KIND = "summary"
    IS_ADDITIVE = True
    SUPPRESSIBLE_COLUMNS = ("value",)
    ARRAYS: ClassVar[tuple[str, ...]] = ("count", "sum", "mean", "variance", "names")
    JSON_SCHEMAS: ClassVar[Mapping[str, JsonSchema]] = MappingProxyType(
        {"names": {"type": "object", "additionalProperties": TEXT}}
    )
    OPTIONAL_ARRAYS: ClassVar[tuple[str, ...]] = ("sum", "mean", "variance", "names")
    TITLE = "Summary of {label}"
    COLUMN_WORDS = display.describe_columns(statistic="statistic", value="value")
    MEASURED = "value"
    INTERVAL_NAME = INDIVIDUAL_INTERVAL
    COUNTED_OBJECTS: ClassVar[str] = "records"
    LABEL_PREFIX: ClassVar[str] = ""

    count: float
    sum: float
    mean: float
    variance: float
    lower: float
    upper: float
    label: str
    privacy: PrivacyStatement
    evidence: tuple[Evidence, ...]
    statistic: str = MEAN
    tails: Tails | None = None

    @classmethod
    def from_counts(  # noqa: PLR0917
        cls,
        rounds: tuple[Evidence, ...],
        bounds: Grid,
        label: str,
        privacy: PrivacyStatement,
        statistic: str = MEAN,
        tails: Tails | None = None,
    ) -> Summary:
        """Return the summary (count, sum, mean, variance) of released counts and, if requested, sums and sums of
        squares.

        Args:
            rounds: One to four releases in order: count, sum and sum of squares, each with one row of one cell; then
                the counts of equal cells between the bounds.
            bounds: The range of the values, of which only both ends are used.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement.
            statistic: The number that was asked for.
            tails: Released counts along both tails of the column; None: bounds were declared, so that no tails were
                counted.
        """
        middle = (bounds.lower + bounds.upper) / 2
        half_range = (bounds.upper - bounds.lower) / 2
        moments = _simulate_moments(rounds, public_generator(None))
        count = moments.known_count(privacy.most_records)
        released = moments.released_moments
        if len(rounds) > 1 and not moments.has_records(KNOWN_PROBABILITY):
            return cls(count, nan, nan, nan, bounds.lower, bounds.upper, label, privacy, rounds, statistic, tails)
        unbiased_sum = float(half_range * released.sum_of_values + middle * released.records)
        lowest, highest = _find_sum_limits(bounds.lower, bounds.upper, privacy.most_records)
        total = min(max(unbiased_sum, lowest), highest)
        mean = float(middle + half_range * released.mean)
        variance = float(half_range**2 * released.variance)
        return cls(count, total, mean, variance, bounds.lower, bounds.upper, label, privacy, rounds, statistic, tails)

    @property
    def standard_deviation(self) -> float:
        """The square root of the variance."""
        return sqrt(self.variance) if self.variance >= 0 else nan

    @property
    def statistics(self) -> dict[str, float]:
        """Statistics that the releases determine, by name: some of count, sum, mean, variance."""
        return {name: getattr(self, name) for name in STATISTICS_BY_RELEASES[len(self.evidence)]}

    @property
    def names(self) -> dict[str, str]:
        """The names of the `statistics` in all output: with the clipping bounds, if these were found privately."""
        return {name: self._format_name(name) for name in self.statistics}

    def _format_name(self, statistic: str) -> str:
        """Return the name of a statistic in output, with the clipping bounds if these were found privately.

        Args:
            statistic: Count, sum, mean or variance.
        """
        if self.tails is None or statistic == COUNT:
            return statistic
        return f"{statistic} of values clipped to {self._bounds_text}"

    @property
    def _bounds_text(self) -> str:
        """The clipping bounds of sum and mean as printed, "[lower, upper]"."""
        return f"[{format_number(self.lower)}, {format_number(self.upper)}]"

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, round by round: counts of the tails last."""
        return self.evidence if self.tails is None else (*self.evidence, self.tails.evidence)

    @property
    def value(self) -> float:
        """The released value of the statistic that the question requests, such as the mean: see `statistic`."""
        return self.statistics[self.statistic]

    @property
    def plot_label(self) -> str:
        """The axis label: number, column and clipping bounds."""
        if self.statistic == COUNT:
            of_column = "" if self.label == ALL_RECORDS_LABEL else f" with a value of {self.label}"
            return f"{self.COUNTED_OBJECTS}{of_column}"
        if self.tails is not None:
            covered = f"; intervals are for the {self.statistic} of all values" if self.statistic != VARIANCE else ""
            return f"{self.label}: {self.names[self.statistic]}{covered}"
        return f"{self.LABEL_PREFIX}{self.statistic} of {self.label}, values clipped to {self._bounds_text}"

    def intervals(
        self,
        level: float,
        *,
        population: bool = False,
        generator: np.random.Generator | None = None,
        draws: int = SUMMARY_DRAWS,
    ) -> FloatArray:
        """Return confidence limits of all `statistics` in order, each with coverage `level`.

        They are for the numbers of these records; with `population`, for the mean and the variance of the population,
        and for the expected count and sum in a sample of this size, which needs independent units of one record each.
        The interval of the mean is Student's t with the variance of the noise added; the variance of the records is
        replaced by its upper confidence limit or, if only one moment was requested, by the largest variance that the
        bounds allow. The interval of the population variance holds for any distribution between the bounds, so it is
        conservative for most of them; if the variance was requested, counts of a few cells bound the variance of
        squares. The intervals of counts and sums are conservative as well if the number of records is private, because
        it is then assumed to be Poisson. All intervals allow for rounding.

        If the bounds were found privately, the intervals of the sum and the mean hold for clipped and for all values:
        each end is extended by a bound of the excess of records beyond the clipping bound, from the counts of the tail,
        each with half of the error probability. An end is infinite if counts are too few, or a tail too heavy, to bound
        the excess.

        Args:
            level: The coverage probability of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation; None: a fixed public seed.
            draws: The number of simulated draws: levels close to 1 need more.

        Returns:
            One row for each statistic: ``(statistics, 2)``.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        level = require_probability("level", level)
        draw = public_generator(generator)
        require_independent(self.privacy, population)

        # The order of these draws is part of the result: the noise first, then the sampling of the population.
        moments = _simulate_moments(self.evidence, draw, draws)
        released = moments.released_moments
        student = draw.standard_t(max(float(released.records) - 1, 1.0), draws) if population else None
        normal = draw.standard_normal(draws) if population else None
        public_total = self.privacy.most_records
        total = inf if public_total is None else float(public_total)
        counts = moments.count_ends(level, total, normal)
        if len(self.evidence) == 1:
            return np.array([counts])

        # Moments are of values scaled to -1 to 1; the intervals return to the scale of the column.
        middle = (self.lower + self.upper) / 2
        half_range = (self.upper - self.lower) / 2
        step = half_range / (2 * HALF_RANGE_STEPS)
        rounding = step * min(max(float(released.records), 0.0), total)
        mean = _scale_interval(moments.mean_ends(level, student), half_range, middle, step)
        sums = _scale_interval(moments.sum_ends(level, student, middle / half_range, total), half_range, 0, rounding)
        sums = _clip_interval(sums, *_find_sum_limits(self.lower, self.upper, public_total))
        mean = _clip_interval(mean, self.lower, self.upper)

        # If the bounds were found privately, values beyond them count as well.
        if self.tails is not None:
            lowest_count = moments.count_ends(level, total, None)[0] if moments.has_records(level) else 0.0
            below, above = self.tails.largest_excess((1 + level) / 2, draw, draws, population=population)
            sums = sums[0] - below, sums[1] + above
            mean = (mean[0] - below / lowest_count, mean[1] + above / lowest_count) if lowest_count > 0 else (-inf, inf)

        ends = [counts, sums, mean]
        if released.sum_of_squares is not None:
            has_cell_counts = population and len(self.evidence) == len(ALL_FOUR)
            squares_scatter = _simulate_spread(self.evidence, draw, draws) if has_cell_counts else None
            variance = _scale_interval(
                moments.variance_ends(level, normal, squares_scatter), half_range**2, 0, 8 * half_range * step
            )
            ends.append(_clip_interval(variance, 0.0, LARGEST_UNIT_VARIANCE * half_range**2))
        return np.array(ends)

    def interval(self, level: float, *, population: bool = False, draws: int = SUMMARY_DRAWS) -> tuple[float, float]:
        """Return confidence limits of the requested number (see `statistic`), from `draws` simulated draws; see
        `intervals`.

        Args:
            level: Probability that the interval contains the number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            draws: Number of simulated draws of the noise.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        return self._interval(self.statistic, level, population=population, draws=draws)

    def mean_interval(self, level: float, *, population: bool = False) -> tuple[float, float]:
        """Return confidence limits of the mean; see `intervals`.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the limits are for the mean of the population.

        Returns:
            Lower and upper limit.

        Raises:
            ValueError: `level` is not between 0 and 1; for the population, a unit may have several records; or only the
                count was released.
        """
        if MEAN not in self.statistics:
            raise InvalidArgument("statistic", "only the count was released; ask for a mean")
        return self._interval(MEAN, level, population=population)

    def _interval(
        self, statistic: str, level: float, *, population: bool, draws: int = SUMMARY_DRAWS
    ) -> tuple[float, float]:
        """Return confidence limits of the statistic of this name; see `intervals`.

        Args:
            statistic: Name of the statistic.
            level: Confidence level, between 0 and 1.
            population: If True, the limits are for the population.
            draws: Number of simulated draws.
        """
        index = list(self.statistics).index(statistic)
        low, high = self.intervals(level, population=population, draws=draws)[index].tolist()
        return low, high

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the requested statistic with its intervals; return the axes.

        Args:
            shades: Intervals, one row for each statistic, wider ones first; the row of the drawn statistic is used.
                Empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        index = list(self.statistics).index(self.statistic)
        own_shades = [shade.select_rows([index]) for shade in shades]
        return display.draw_means(
            [how["name"] or "all"], [self.value], how["privacy"], label=self.plot_label, shades=own_shades, ax=how["ax"]
        )

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return all statistics by name, with the intervals of the requested statistic.

        Args:
            level: Confidence level of the intervals.
            population: If True, intervals for the population are included.
        """
        limits = {
            of_population: self.interval(level, population=of_population)
            for of_population in interval_scopes(self.privacy, population=population).values()
        }
        return {**self.statistics, **name_ends(self.statistic, limits)}

    def _key_words(self) -> Mapping[str, display.ColumnWords]:
        """Return the displayed name and the number format of each statistic. Counts are shown as whole numbers."""
        formats = {COUNT: display.CellFormat.COUNT}
        return {
            name: display.ColumnWords(
                self.plot_label if name == self.statistic else words, formats.get(name, display.CellFormat.NUMBER)
            )
            for name, words in self.names.items()
        }

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of the data frame, one row for each statistic: name and value.

        Returns:
            ``statistic``, the names, and ``value``, NaN where unknown, of the same length.
        """
        return {"statistic": list(self.names.values()), "value": list(self.statistics.values())}

    def _arrays(self) -> dict[str, object]:
        """Return the numbers of the JSON document: statistics by name, and their names if the bounds were found
        privately."""
        return {**self.statistics, **({} if self.tails is None else {"names": self.names})}

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the summary with `_from_json`: label, bounds, statistic and points of
        the tails."""
        facts: dict[str, object] = {} if self.statistic == MEAN else {"statistic": self.statistic}
        if self.tails is not None:
            facts["tails"] = self.tails.points_to_json()
        return {"label": self.label, "lower": self.lower, "upper": self.upper, **facts}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Summary:
        """Return the summary from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: releases that the statistic needs are missing.
        """
        question, releases = document.question, document.releases
        statistic = question.get("statistic", MEAN)
        tails = None
        if "tails" in question:
            tails = Tails.from_json(question["tails"], releases[-1])
            releases = releases[:-1]
        if statistic not in STATISTICS_BY_RELEASES.get(len(releases), ()):
            raise InvalidArgument(
                "curve.evidence.releases",
                "must have counts, and sums and sums of squares if the statistic needs them: use the unchanged text "
                "of to_json",
            )
        bounds = Grid(question["lower"], question["upper"], cells=1)
        return cls.from_counts(tuple(releases), bounds, question["label"], document.privacy, statistic, tails)

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts that `repr` shows: label, and each statistic with its value."""
        return self.label, *(f"{self.names[name]} {format_number(value)}" for name, value in self.statistics.items())

    def _summary(self) -> list[tuple[str, str]]:
        """Return rows of texts: each statistic with its intervals.

        Returns:
            (name, text) pairs in the order of `statistics`.
        """
        return self._summary_rows(None)

    def _summary_rows(self, suppress: float | None) -> list[tuple[str, str]]:
        """Return rows of texts: each statistic with its intervals; ``..`` where an interval is wider than the
        fraction `suppress` of the number.

        Args:
            suppress: Largest width of an interval as a fraction of its number; None: nothing is suppressed.

        Returns:
            (name, text) pairs.
        """
        ends = {
            scope: self.intervals(SUMMARY_LEVEL, population=is_population)
            for scope, is_population in self.scopes.items()
        }
        rows = []
        for index, (name, value) in enumerate(self.statistics.items()):
            intervals_by_scope = {scope: intervals[index] for scope, intervals in ends.items()}
            rows.append((self.names[name], format_with_intervals(value, intervals_by_scope, suppress)))
        return rows


def format_with_intervals(value: float, ends: Mapping[str, Any], suppress: float | None = None) -> str:
    """Return a number with its intervals by scope as text; ``..`` if the first interval is wider than the fraction
    `suppress` of the number.

    Args:
        value: The number.
        ends: Lower and upper end of an interval, by scope.
        suppress: Fraction of the number; None: nothing is suppressed.

    >>> format_with_intervals(7.0, {"for these records": (5.0, 9.0)})
    '7 (95%: 5 to 9 for these records)'
    """
    (low, high), *_ = ends.values()
    if suppress is not None and display.find_wide_intervals([value], [low], [high], suppress)[0]:
        return display.SUPPRESSED
    intervals = ", ".join(f"{format_interval(float(low), float(high))} {scope}" for scope, (low, high) in ends.items())
    return f"{format_number(value)} ({100 * SUMMARY_LEVEL:g}%: {intervals})"


class TailPoints(NamedTuple):
    """Points along one tail, at and beyond which records were counted.

    Attributes:
        origin: A number within the bounds, from which distances are measured.
        points: Points at increasing distance from the origin, (points,).
        bound: The index of the point that is the clipping bound.
    """

    origin: float
    points: tuple[float, ...]
    bound: int

    @property
    def distances(self) -> FloatArray:
        """Distances of the points from the origin, in increasing order and in units of the column.

        Shape ``(points,)``.
        """
        return np.abs(np.array(self.points) - self.origin)


@dataclass(frozen=True, eq=False)
class Tails:
    """Released counts of records between points along both tails of a column.

    Attributes:
        lower_tail, upper_tail: The points of each tail.
        evidence: Counts of the cells between all points, and beyond them, in one row.
    """

    lower_tail: TailPoints
    upper_tail: TailPoints
    evidence: Evidence

    def largest_excess(
        self, level: float, draw: np.random.Generator, draws: int, *, population: bool
    ) -> tuple[float, float]:
        """Return upper limits of what clipping added below and removed above, as sums of values over all records.

        Args:
            level: Probability that one limit holds.
            draw: Random numbers of the simulation.
            draws: Number of draws.
            population: Whether limits are for the population.

        Returns:
            Limit below, (categories,) or a number, and limit above; infinite where counts are too few.
        """
        noise = simulate_cell_noise(self.evidence.sums, self.evidence.total, draws, draw)[:, 0]
        counts = self.evidence.unbiased_cells[0]
        edges = list(tail_grid(self.lower_tail, self.upper_tail).edges)
        limits = []
        for side, tail in ((-1, self.lower_tail), (1, self.upper_tail)):
            indices = [edges.index(point) for point in tail.points]
            counts_beyond = np.cumsum(counts, axis=-1)[..., indices]
            error = np.cumsum(noise, axis=-1)[..., indices]
            if side > 0:
                counts_beyond = counts.sum(axis=-1, keepdims=True) - counts_beyond
                error = noise.sum(axis=-1, keepdims=True) - error
            tail_counts = TailCounts(tail.distances, tail.bound, counts_beyond, error)
            limits.append(tail_counts.bound_excess(level, draw, population=population))
        return limits[0], limits[1]

    def points_to_json(self) -> dict[str, Any]:
        """Return the points of both tails as JSON values.

        Returns:
            ``below`` and ``above``, each with ``origin``, ``points`` and ``bound``.
        """
        return {name: tail._asdict() for name, tail in (("below", self.lower_tail), ("above", self.upper_tail))}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], evidence: Evidence) -> Tails:
        """Return the tails from the points that `points_to_json` wrote, and the released counts.

        Args:
            stored: JSON object with the points below and above.
            evidence: Released counts between these points.

        Raises:
            InvalidArgument: the distances do not rise, or points and counts differ in number.
        """
        tails = [
            TailPoints(float(document["origin"]), tuple(map(float, document["points"])), int(document["bound"]))
            for document in (stored["below"], stored["above"])
        ]
        for tail in tails:
            if not (
                0 <= tail.bound < len(tail.points) and tail.distances[0] > 0 and np.all(np.diff(tail.distances) > 0)
            ):
                raise InvalidArgument(
                    "curve.evidence.question.tails",
                    "the stored distances do not rise from above 0: use the text that to_json wrote",
                )
        if tail_grid(*tails).cells + 2 != len(evidence.unbiased_cells[0]):
            raise InvalidArgument(
                "curve.evidence.question.tails",
                "the stored points and counts differ in number: use the text that to_json wrote",
            )
        return cls(tails[0], tails[1], evidence)


def tail_grid(below: TailPoints, above: TailPoints) -> Grid:
    """Return the grid whose edges are the points of both tails of a column, with values beyond them counted apart.

    Args:
        below: Points of the lower tail, in units of the column.
        above: Points of the upper tail, in the same units.
    """
    return Grid.from_edges(sorted({*below.points, *above.points}), outside=Outside.APART)


class SummaryByCategory(ByCategory[Summary]):
    """A summary for each category, in the declared order; plots show one dot for each category."""

    MEMBER_KIND = "summary"
    INTERVAL_NAME = INDIVIDUAL_INTERVAL

    _plot_at_level, _figure_title = IntervalResult._plot_at_level, IntervalResult._figure_title

    def _interval_limits(self, level: float, /, *, population: bool) -> FloatArray:
        """Return lower and upper ends of the interval of each category, (2, categories).

        Args:
            level: Confidence level of each interval alone, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return np.array([summary.interval(level, population=population) for summary in self.values()]).T

    def _title(self) -> str:
        """Return the title: statistic, column and columns of the categories."""
        first = next(iter(self.values()), None)
        if first is None:
            return super()._title()
        title = f"{first.LABEL_PREFIX}{first.names[first.statistic]} of {first.label} by {self.column}"
        return title[:1].upper() + title[1:]

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return a table with a row for each category: all its statistics, and intervals of the requested statistic.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: See `to_csv`.
        """
        table = self.describe_groups(level=level, population=population, suppress=suppress)
        return [] if table is None else [table]

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw the number of each category in a row with its intervals; return the axes.

        Args:
            shades: Intervals, one row for each category, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        names, (first, *_), values = (
            self._category_names(how["name"]),
            self.values(),
            [summary.value for summary in self.values()],
        )
        order = self.order_by_size(np.array(values, dtype=np.float64))
        rows = [shade.select_rows(order) for shade in shades]
        return display.draw_means(
            [names[index] for index in order], np.array(values)[order], how["privacy"], label=first.plot_label,
            column=self.column, shades=rows, ax=how["ax"],
        )  # fmt: skip


def _simulate_moments(
    rounds: tuple[Evidence, ...], draw: np.random.Generator, draws: int = SUMMARY_DRAWS
) -> ReleasedMoments:
    """Return the released count, sum and sum of squares of values scaled to [-1, 1], with simulated noise.

    Args:
        rounds: Releases of count, sum and sum of squares, as many as there are.
        draw: Random numbers of the simulation.
        draws: Number of draws.
    """
    noises = [simulate_cell_noise(evidence.sums, evidence.total, draws, draw)[:, 0, 0] for evidence in rounds[:3]]
    return ReleasedMoments(
        _to_unit_moments([evidence.unbiased_cells[0, 0] for evidence in rounds[:3]]), _to_unit_moments(noises)
    )


def _simulate_spread(rounds: tuple[Evidence, ...], draw: np.random.Generator, draws: int) -> SquareScatter:
    """Return counts of cells that bound the variance of squares, from the last release, with simulated noise.

    Args:
        rounds: Releases of the rounds; the last has counts of equal cells.
        draw: Random numbers of the simulation.
        draws: Number of draws.
    """
    counts = rounds[-1].unbiased_cells[0]
    noise = simulate_cell_noise(rounds[-1].sums, rounds[-1].total, draws, draw)[:, 0]
    return SquareScatter(np.linspace(-1.0, 1.0, len(counts) + 1), counts, noise, draw.standard_normal(noise.shape))


def _find_sum_limits(lower: float, upper: float, records: int | None) -> tuple[float, float]:
    """Return the least and the largest sum of at most `records` values between `lower` and `upper`; None: any number
    of them."""
    most = inf if records is None else float(records)
    return (most * lower if lower < 0 else 0.0), (most * upper if upper > 0 else 0.0)


def _clip_interval(ends: tuple[float, float], lowest: float, highest: float) -> tuple[float, float]:
    """Return the interval, clipped to the possible values.

    Args:
        ends: Lower and upper end.
        lowest: Smallest possible value.
        highest: Largest possible value.
    """
    return min(max(ends[0], lowest), highest), max(min(ends[1], highest), lowest)


def _to_unit_moments(parts: list[Any]) -> Moments:
    """Return released counts, sums and sums of squares as moments of the values scaled to between -1 and 1; a sum that
    was not released is NaN, squares are None.

    Args:
        parts: Counts; then sums and squares, in integer steps, if they were released.
    """
    value = np.full_like(parts[0], nan) if len(parts) == 1 else np.asarray(parts[1]) / HALF_RANGE_STEPS
    square = None if len(parts) < 3 else (parts[2] / HALF_RANGE_STEPS**2 + parts[0]) / 2
    return Moments(np.asarray(parts[0]), value, square)


def _scale_interval(ends: tuple[float, float], factor: float, shift: float, rounding: float) -> tuple[float, float]:
    """Return the interval times `factor` plus `shift`, widened on both sides by `rounding`.

    Args:
        ends: Lower and upper end.
        factor: Factor, at least 0.
        shift: Number that is added to both ends.
        rounding: Largest rounding error, at least 0, in units of the result.
    """
    return shift + factor * ends[0] - rounding, shift + factor * ends[1] + rounding


LARGEST_BOUND = 1e100
"""Largest absolute clipping bound, in units of the column; larger ones are refused, and found ones are cut to it.
Squares of it, and sums of these squares, are finite doubles."""


def build_bounds_cell(lower: float, upper: float) -> Grid:
    """Return the single cell of values between bounds.

    Args:
        lower: Lower clipping bound.
        upper: Upper clipping bound.

    Raises:
        TypeError: a bound is not a number.
        ValueError: the lower bound is not below the upper bound, or sums of squares would overflow a double.
    """
    low = require_number("bounds", lower)
    high = require_number("bounds", upper)
    if not (low < high and max(-low, high) <= LARGEST_BOUND):
        rule = f"two numbers are needed, the lower one first, from {-LARGEST_BOUND:g} to {LARGEST_BOUND:g}"
        raise InvalidArgument("bounds", f"{rule}, got {low:g} and {high:g}")
    return Grid(low, high, cells=1)


MEAN_FRACTIONS = Fraction(1, 3), Fraction(2, 3)
"""Budget fractions of the releases of a mean: of the count of records, and of the sum of values."""
VARIANCE_FRACTIONS = Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)
"""Budget fractions of the releases of a variance: of the count of records, of the sum of values, and of the sum of
squares."""
FRACTIONS_BY_MOMENTS = {1: MEAN_FRACTIONS, 2: VARIANCE_FRACTIONS}
"""Budget fractions by the argument ``moments`` of a summary: 1 for a mean, 2 for a variance. Another number is
refused."""
LARGE_VARIANCE_FRACTIONS = Fraction(5, 12), Fraction(5, 24), Fraction(1, 8)
"""Budget fractions for a variance of many records after the 1/4 for their count: of sums, of sums of squares, and of
counts of `Tuning.spread_cells` cells, which give intervals."""
SUMMARY_FRACTIONS = Fraction(2, 7), Fraction(4, 7), Fraction(1, 7)
"""Budget fractions of the releases of a mean with its sampling error: of the count of records, of the sum of values and
of the sum of squares. Squares get little, since they determine the sampling variance only."""
OUTSIDE_FRACTION = Fraction(1, 32)
"""Budget fraction for counting values beyond declared bounds, which reveals bounds in a wrong unit: at epsilon 1, 226
records are 5 standard deviations of this noise (replace-one: 453). All other noise is 3 % larger."""


@dataclass(frozen=True, slots=True)
class CountQuestion(TableQuestion):
    """The number of records, or of those with a value in a column. One round.

    Attributes:
        column: A column of numbers; ``"*"``: all records count.
        by: Categories that were declared in public: one count for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.

    Raises:
        TypeError: a field is of another type.
    """

    column: str = ALL_RECORDS
    by: By = None

    def __post_init__(self) -> None:
        _ = self._axis, parse_grouping(self.by)  # refuse an invalid column or groups when the question is made

    @property
    def _axis(self) -> Axis:
        """Axis of one cell that holds every value of the column, so that its count is the number of records."""
        return Axis(self.column, Grid(0, 1, cells=1))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one noisy count of records, or one per category of `by`; return the counts.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        return _ask_summary(self.by, self._axis, Fraction(1), lambda _: (), label=self._label, statistic=COUNT)

    @property
    def _label(self) -> str:
        """Name of the counted quantity in captions: the column, or words for all records."""
        return ALL_RECORDS_LABEL if self.column == ALL_RECORDS else self.column

    def __str__(self) -> str:
        return describe_question(COUNT, self._label, self.by)


Kind = TypeVar("Kind", bound=type[Any])


def accept_bounds(kind: Kind) -> Kind:
    """Return the question class, changed so that it accepts both bounds as one argument, ``bounds=(lower, upper)``,
    like calls and commands.

    The fields remain `lower` and `upper`, so that stored answers to earlier questions are found again.

    >>> import dpcurves as dp
    >>> dp.MeanQuestion("age", bounds=(0, 100)) == dp.MeanQuestion("age", 0, 100)
    True

    Args:
        kind: Dataclass of a question with the fields `lower` and `upper`; it is changed in place.
    """
    original_init = kind.__init__

    @wraps(original_init)
    def init(self: Any, *args: Any, bounds: Sequence[float] | None = None, **named: Any) -> None:
        """Initialise the question; `bounds` replaces `lower` and `upper`.

        Args:
            bounds: Lower and upper bound; None: they are given apart, or not at all.
            args: Positional arguments of the question.
            named: Other keyword arguments of the question.
        """
        if bounds is not None:
            named["lower"], named["upper"] = require_bounds_pair(bounds)
        original_init(self, *args, **named)

    kind.__init__ = init
    return kind


@accept_bounds
@dataclass(frozen=True, slots=True)
class _BoundedQuestion(TableQuestion):
    """Base of questions for sum, mean, variance or all of them of a column between public bounds."""

    column: str
    lower: float
    upper: float
    by: By = None
    measured_in: str = ""

    STATISTIC: ClassVar[str]

    if TYPE_CHECKING:

        @overload
        def __init__(
            self, column: str, lower: float, upper: float, by: By = None, measured_in: str = "", *, where: Where = None
        ) -> None: ...
        @overload
        def __init__(
            self, column: str, *, bounds: Sequence[float], by: By = None, measured_in: str = "", where: Where = None
        ) -> None: ...
        def __init__(self, *args: Any, **named: Any) -> None: ...

    def __post_init__(self) -> None:
        bounds = self._axis.grid
        parse_grouping(self.by)
        format_axis_label(self.column, self.measured_in)
        for name, value in (("lower", bounds.lower), ("upper", bounds.upper)):
            object.__setattr__(self, name, value)

    @property
    def _axis(self) -> Axis:
        """Axis of the column, with one cell between the clipping bounds."""
        return Axis(self.column, build_bounds_cell(self.lower, self.upper))

    def budget_fractions(self, setting: Setting) -> tuple[Fraction, ...]:
        """Return the budget fractions of counts, sums, and possibly sums of squares, which add up to 1.

        Args:
            setting: Loss and adjacency of the question; not used by this class.
        """
        return VARIANCE_FRACTIONS

    def _choose_later_fractions(
        self, shares: tuple[Fraction, ...], records_per_category: float, setting: Setting
    ) -> tuple[Fraction, ...]:
        """Return the budget fractions of the rounds after the counts; here `shares` itself.

        Args:
            shares: Budget fractions of the later rounds, in their order.
            records_per_category: Mean number of records per category, public or by noisy counts.
            setting: Loss and adjacency of the question.
        """
        return shares

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for counts, sums, and possibly sums of squares, each of one cell for each category.

        Args:
            setting: Loss and adjacency of the question.
        """
        return self.ask_along(self._axis, setting)

    def ask_along(
        self,
        axis: Axis,
        setting: Setting,
        earlier_releases: Sequence[Release] = (),
        notes: Sequence[str] = (),
        tails: Sequence[Tails] = (),
    ) -> Needs[Any]:
        """Ask for the statistic with values clipped to these bounds, after releases that chose them; return a summary,
        or one by category.

        Args:
            axis: The column, with one cell between the bounds.
            setting: Loss and adjacency.
            earlier_releases: Releases that chose the bounds.
            notes: Notes on the result.
            tails: Counts of the tails, for each category; empty: the bounds are public.
        """
        count_fraction, *later_fractions = self.budget_fractions(setting)

        def choose_later_fractions(release: Release) -> tuple[Fraction, ...]:
            """Return the budget fractions of the rounds after the released counts.

            Args:
                release: Release of the counts by category.

            Returns:
                Fractions of the whole budget, in the order of the rounds.
            """
            rows = Evidence.from_release(release).unbiased_cells
            total = setting.adjacency.public_record_count
            records_per_category = (float(rows.sum()) if total is None else total) / len(rows)
            return self._choose_later_fractions(tuple(later_fractions), records_per_category, setting)

        label = format_axis_label(self.column, self.measured_in)
        return _ask_summary(
            self.by, axis, count_fraction, choose_later_fractions, label=label, statistic=self.STATISTIC,
            earlier_releases=earlier_releases, notes=notes, tails=tails,
        )  # fmt: skip

    def __str__(self) -> str:
        return describe_question(self.STATISTIC, self.column, self.by)


@dataclass(frozen=True, slots=True, init=False)
class SumQuestion(_BoundedQuestion):
    """The sum of the values. Three rounds under one charge; the summary contains the count and the mean as well.

    The sum is computed from two releases: the count, and the sum of the values' distances from the middle of the
    bounds. The budget is divided between them so that the variance of the sum is minimal for these bounds.

    Attributes:
        column: A column of numbers.
        lower, upper: Public clipping bounds; narrower bounds mean less noise. ``bounds=(lower, upper)`` is accepted
            too.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another type.
    """

    STATISTIC: ClassVar[str] = SUM

    def budget_fractions(self, setting: Setting) -> tuple[Fraction, ...]:
        """Return the budget fractions of counts and sums with the smallest noise of the sum for these bounds.

        Args:
            setting: Loss, whose family of noise decides the optimum.

        Returns:
            Fraction for the count, and fraction for the sum; they add up to 1.
        """
        # Minimise the variance of half * distances + middle * count. Under pure privacy noise standard deviations are
        # inverse to the budget fractions, under zero-concentrated privacy noise variances are.
        middle = abs(self.lower + self.upper)
        half = self.upper - self.lower
        optimal_fraction = (
            1 / (1 + (half / middle) ** (1.0 if setting.loss.epsilon is None else 2 / 3)) if middle > 0 else 0.0
        )
        parts = 20  # the budget fraction of the count is a multiple of 1/20
        least = Fraction(1, 10)  # the smallest budget fraction of the count
        count_fraction = min(max(Fraction(round(optimal_fraction * parts), parts), least), 1 - least)
        return count_fraction, 1 - count_fraction


@dataclass(frozen=True, slots=True, init=False)
class MeanQuestion(_BoundedQuestion):
    """The mean of the values. Four rounds under one charge; the summary is the summary of `SummaryQuestion`.

    Sums of squares get a seventh of the budget, because the interval for the population needs the variance of the
    values. The noise of the mean is a sixth larger than without them.

    Attributes:
        column: A column of numbers.
        lower, upper: Public clipping bounds; narrower bounds mean less noise. ``bounds=(lower, upper)`` is accepted
            too.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another type.
    """

    STATISTIC: ClassVar[str] = MEAN

    def budget_fractions(self, setting: Setting) -> tuple[Fraction, ...]:
        """Return the budget fractions of counts, sums and sums of squares: `SUMMARY_FRACTIONS`.

        Args:
            setting: Not used.
        """
        return SUMMARY_FRACTIONS


@dataclass(frozen=True, slots=True, init=False)
class VarianceQuestion(_BoundedQuestion):
    """The variance of the values. Four or five rounds under one charge; its result is a `Summary`.

    If there are many records, a last round counts 32 equal cells between the bounds, for an eighth of the budget,
    because the interval for the population needs the variance of squares. The noise of the variance is then a fifth
    larger. The public number of records decides or, if it is private, the released count.

    Attributes:
        column: A column of numbers.
        lower, upper: Public clipping bounds; narrower bounds mean less noise. ``bounds=(lower, upper)`` is accepted
            too.
        by: See `CountQuestion`.
        measured_in: The measuring unit of the column.

    Raises:
        ValueError: the bounds cross or are not finite.
        TypeError: a field is of another type.
    """

    STATISTIC: ClassVar[str] = VARIANCE

    def _choose_later_fractions(
        self, shares: tuple[Fraction, ...], records_per_category: float, setting: Setting
    ) -> tuple[Fraction, ...]:
        """Return the budget fractions of sums, squares and, if there are many records, counts of a few cells.

        Args:
            shares: Budget fractions of the rounds after the counts, for few records.
            records_per_category: Average number of records of a category.
            setting: Privacy loss and trust model of the question.
        """
        # signal-to-noise ratio from which a few cells are counted; see `Tuning.spread_cells`
        has_many_records = records_per_category >= 2000.0 * count_noise_deviation(setting.loss, setting)
        return LARGE_VARIANCE_FRACTIONS if has_many_records and self._can_count_cells else shares

    @property
    def _can_count_cells(self) -> bool:
        """Whether the cells that bound a variance (`Tuning.spread_cells`) can be counted for each category, by public
        facts.

        An error after the first round would depend on the answer.
        """
        try:
            cells = replace(self._axis, grid=Grid(self.lower, self.upper, cells=TUNING.spread_cells))
        except InvalidArgument:
            return False
        return prod(axis.slots for axis in prepend_category_axes(self.by, cells)) <= MOST_COUNTED


@accept_bounds
@dataclass(frozen=True, slots=True)
class SummaryQuestion(_BoundedQuestion):
    """Count, sum, mean and variance of the values. Four rounds under one charge, or three with `moments` 1.

    Attributes:
        column: A column of numbers.
        lower, upper: Public clipping bounds; narrower bounds mean less noise. ``bounds=(lower, upper)`` is accepted
            too.
        by: Categories that were declared in public: one summary for each, all together at the privacy loss of one. A
            tuple of several columns: one for each combination.
        measured_in: The measuring unit of the column.
        moments: 2: also the variance. 1: counts and sums have a quarter less noise, but only the bounds limit the
            variance, so the interval of the population mean is wide.

    Raises:
        ValueError: the bounds cross or are not finite, or moments are neither 1 nor 2.
        TypeError: a field is of another type.
    """

    moments: int = 2

    STATISTIC: ClassVar[str] = MEAN

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            column: str,
            lower: float,
            upper: float,
            by: By = None,
            measured_in: str = "",
            moments: int = 2,
            *,
            where: Where = None,
        ) -> None: ...
        @overload
        def __init__(
            self,
            column: str,
            *,
            bounds: Sequence[float],
            by: By = None,
            measured_in: str = "",
            moments: int = 2,
            where: Where = None,
        ) -> None: ...
        def __init__(self, *args: Any, **named: Any) -> None: ...

    def __post_init__(self) -> None:
        _BoundedQuestion.__post_init__(self)
        moments = require_integer("moments", self.moments)
        if moments not in FRACTIONS_BY_MOMENTS:
            raise InvalidArgument("moments", f"must be 1 (for the mean) or 2 (for the variance, too), got {moments}")
        object.__setattr__(self, "moments", moments)

    def budget_fractions(self, setting: Setting) -> tuple[Fraction, ...]:
        """Return the budget fractions of counts, sums and, for two moments, sums of squares.

        Args:
            setting: Not used.

        Returns:
            Fractions in the order of the rounds, which add up to 1.
        """
        return FRACTIONS_BY_MOMENTS[self.moments]

    def __str__(self) -> str:
        return describe_question("summary" if self.moments > 1 else self.STATISTIC, self.column, self.by)


def _ask_summary(
    by: By,
    axis: Axis,
    count_fraction: Fraction,
    choose_later_fractions: Callable[[Release], tuple[Fraction, ...]],
    *,
    label: str,
    statistic: str,
    earlier_releases: Sequence[Release] = (),
    notes: Sequence[str] = (),
    tails: Sequence[Tails] = (),
) -> Needs[Any]:
    """Yield the queries of a mean, sum or variance in rounds: counts, then sums, squares and counts of cells, as far as
    needed.

    Formal guarantees: the later rounds share the remaining budget, for any counts, so pure losses and rho add up to the
    charged loss (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).

    Args:
        by: Columns of categories; None: no groups.
        axis: The column, with its clipping bounds as a grid of one cell.
        count_fraction: Budget fraction of the counts.
        choose_later_fractions: Function of the released counts that returns the budget fractions of the later queries.
        label: Label of the values.
        statistic: Name of the statistic.
        earlier_releases: Releases that found the bounds.
        notes: Notes for the result.
        tails: Released counts of the tails, one per category; empty: bounds were declared.
    """
    axes = prepend_category_axes(by, axis)
    beyond_releases = list[Release]()
    if statistic != COUNT and not earlier_releases:  # declared bounds: a mistaken unit puts values beyond them
        beyond_releases = list(
            (yield from ask_workload(CellWorkload((separate_outside_axis(axis),)), OUTSIDE_FRACTION)).releases
        )
    rest = 1 - OUTSIDE_FRACTION if beyond_releases else Fraction(1)
    releases = list((yield from ask_workload(CellWorkload(axes), count_fraction * rest)).releases)
    later_fractions = tuple(share * rest for share in choose_later_fractions(releases[-1]))
    for query, share in zip(
        (SumQuery(axes, HALF_RANGE_STEPS), SquareQuery(axes, HALF_RANGE_STEPS)), later_fractions, strict=False
    ):
        releases.append((yield from ask_workload(SingleQueryWorkload(query), share)))
    if len(later_fractions) == len(LARGE_VARIANCE_FRACTIONS):
        cells = replace(axis, grid=Grid(axis.grid.lower, axis.grid.upper, cells=TUNING.spread_cells))
        releases.extend(
            (yield from ask_workload(CellWorkload(prepend_category_axes(by, cells)), later_fractions[-1])).releases
        )
    rounds = tuple(Evidence.from_release(release) for release in releases)
    privacy = build_privacy_statement(
        (*earlier_releases, *beyond_releases, *releases), note_thresholds=note_thresholds_for_clipping(axis.column)
    ).with_notes(*notes)
    rows = [rounds] if by is None else list(zip(*map(split_rows, rounds), strict=True))
    row_tails: Sequence[Tails | None] = tails or [None] * len(rows)
    members = [
        Summary.from_counts(row, axis.grid, label, privacy, statistic, tail)
        for row, tail in zip(rows, row_tails, strict=True)
    ]
    return collect_by_category(by, members, SummaryByCategory)
