"""Weighted count, total and mean of a column between public bounds: the question and its result.

With weights w up to a cap C, and values x clipped to bounds of middle m and half width h, five noisy sums are released
(for a weighted count W and ``sum w**2`` alone):

    W = sum w      S = sum w * (x - m)      sum w**2      sum w**2 * (x - center)**2      weight beyond the bounds

    weighted count  W      total  S + m * W      mean  m + S / W

The third and the fourth give the sampling variance of a mean, about ``sum w**2 * (x - mean)**2 / W**2``
(linearisation). A mean is a ratio of noisy sums, so its interval inverts a test on ``S - u * W``.

Formal guarantees: pure or zero-concentrated, like the charged loss. A record adds at most C to a sum of weights, C * h
to S, C**2 to ``sum w**2``, and ``(C * (h + |center - m|))**2`` to the fourth sum. The center is the released mean, so
the losses of all rounds add up (adaptive composition).

References: Horvitz and Thompson 1952; Hájek 1971; Särndal, Swensson and Wretman 1992; Fieller 1954.

>>> import dpcurves as dp
>>> result = dp.mean([20, 40, 60] * 500, bounds=(0, 80), weight=[1.0, 1.0, 2.0] * 500, weight_cap=2, epsilon=100,
...     adjacency=dp.ADD_REMOVE)
>>> round(result.mean)
45
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isnan, nan, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import display
from ..arguments import InvalidArgument, require_probability
from ..arrays import FloatArray
from ..conversation import Evidence, Needs, PrivacyStatement, Release, Setting, SingleQueryWorkload, ask_workload
from ..data import ALL_RECORDS, Axis, Grid, Weights
from ..display import format_number
from ..inference import public_generator, simulate_cell_noise, upper_quantile
from ..queries import (
    COARSE_WEIGHT_STEPS,
    CountUse,
    SquaredWeightQuery,
    WeightedSpreadQuery,
    WeightedSumQuery,
    WeightQuery,
)
from .by_category import collect_by_category, describe_question, format_axis_label, split_rows
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
from .summary import (
    ALL_RECORDS_LABEL,
    COUNT,
    MEAN,
    OUTSIDE_FRACTION,
    SUM,
    SUMMARY_DRAWS,
    Summary,
    SummaryByCategory,
    accept_bounds,
    build_bounds_cell,
)
from .weighted import SquaredWeights, note_on_weights

HALF_RANGE_STEPS = 2**16
"""Steps from the middle of the clipping bounds to either bound: values are rounded to a step before they are weighted
and summed as integers. Fewer steps round more coarsely."""
HALF_RANGE_SQUARE_STEPS = 2**8
"""Steps from the middle of the clipping bounds to either bound, for squared distances: coarser than `HALF_RANGE_STEPS`,
so that the sums of weighted squares fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the intervals of weighted summaries."""

    variance_bound_z: float = 1.0
    """Standard deviations of noise that are added to a released sum of squares when it bounds a variance."""


TUNING = Tuning()
"""Standard deviations of noise that are added to a released sum of squares when it bounds a variance: see `Tuning`."""

STATISTICS = COUNT, SUM, MEAN
"""Statistics of a weighted summary, which are the rows of its table. Another name is refused."""
UNWEIGHTED = Weights("weight", 1.0)
"""Column of weights and its cap that a result has if none are stated."""
ROUND_FRACTIONS = Fraction(1, 4), Fraction(1, 2), Fraction(1, 8), Fraction(1, 8)
"""Budget fractions of the rounds of a weighted sum or mean: of weights, of weighted values, of squared weights, and of
squared weights times squared distances. The last two give the sampling error."""
WEIGHT_FRACTION = ROUND_FRACTIONS[0] * (1 - OUTSIDE_FRACTION)
"""Budget fraction of the sum of weights of a weighted sum or mean, after the count of values beyond declared bounds."""
COUNT_FRACTIONS = Fraction(7, 8), Fraction(1, 8)
"""Budget fractions of the rounds of a weighted count: of weights, and of squared weights, which give the sampling
error."""


@dataclass(frozen=True, eq=False, repr=False)
class WeightedSummary(Summary):
    """Sum of the weights, weighted sum and weighted mean of the values of a column.

    Values outside the bounds are clipped to the nearer bound, and weights above the cap to the cap. If noise alone can
    explain the sum of weights, sum and mean are unknown: NaN. The interval of the mean then contains every possible
    value, and the interval of the sum is as wide as its noise. A weighted count has neither.

    Attributes:
        count: The sum of all weights, in their units: the approximate number of people that they represent.
        sum: The unbiased weighted sum of the values.
        mean: The weighted sum divided by the sum of weights (Hájek 1971), between the bounds.
        variance: NaN: it is not released.
        lower, upper: The declared bounds.
        label: The column and its measuring unit.
        privacy: The privacy statement, which every plot shows.
        evidence: The releases: of weights, of weighted values, of squared weights, and of their spread; of a weighted
            count: of weights, and of squared weights.
        statistic: The name of the requested number, which plots show.
        weights: The column of weights and its cap.
        center: The public point from which the spread was measured, in steps from the middle of the bounds.

    Data frame: columns ``statistic`` and ``value``, a row for each of `STATISTICS`.
    """

    KIND = "weighted-summary"
    ARRAYS = ("count", "sum", "mean")
    OPTIONAL_ARRAYS = ("sum", "mean")
    JSON_SCHEMAS = MappingProxyType({})
    TITLE = "Weighted summary of {label}"
    COLUMN_WORDS = display.describe_columns(statistic="statistic", value="value")
    MEASURED = "value"
    COUNTED_OBJECTS, LABEL_PREFIX = "sum of weights of records", "weighted "

    weights: Weights = UNWEIGHTED
    center: int = 0

    @classmethod
    def from_weighted_counts(  # noqa: PLR0917
        cls,
        rounds: tuple[Evidence, ...],
        bounds: Grid,
        label: str,
        privacy: PrivacyStatement,
        weights: Weights,
        center: int,
        statistic: str,
    ) -> WeightedSummary:
        """Return the summary of the four releases, each of one cell: weights, weighted values, squared weights and
        their spread; of a weighted count the first and the third.

        Args:
            rounds: The releases in order: of a weighted count two, else four.
            bounds: The range of the values, of which only both ends are used.
            label: What the values are, as on the axis of a picture.
            privacy: The privacy statement; a note on the weights is added to it.
            weights: Column of the survey weights and their public cap.
            center: The public point from which the spread was measured, in steps from the middle of the bounds.
            statistic: The number that was asked for.
        """
        caps = _sum_weights(rounds)
        count = max(caps, 0.0) * weights.cap
        ends = (bounds.lower, bounds.upper)
        squares = SquaredWeights(weights, rounds[1 if len(rounds) == 2 else 2], (0,))
        noted = privacy.with_notes(note_on_weights(squares, caps))
        if len(rounds) == 2:
            return cls(count, nan, nan, nan, *ends, label, noted, rounds, COUNT, weights=weights)
        distances = _sum_weighted_distances(rounds)
        middle, half = _middle_and_half_width(bounds)
        noise = (
            simulate_cell_noise(rounds[0].sums, rounds[0].total, SUMMARY_DRAWS, public_generator(None))[:, 0, 0]
            / Weights.STEPS
        )
        # with this confidence the sum of weights must exceed noise
        if caps <= upper_quantile(noise, (1 + 0.95) / 2):
            total, mean = nan, nan
        else:
            total = float((half * distances + middle * caps) * weights.cap)
            mean = float(min(max(middle + half * distances / caps, bounds.lower), bounds.upper))
        return cls(count, total, mean, nan, *ends, label, noted, rounds, statistic, weights=weights, center=center)

    @property
    def statistics(self) -> dict[str, float]:
        """The released numbers by name: sum of weights, weighted sum, weighted mean."""
        if len(self.rounds) == 2:
            return {COUNT: self.count}
        return {COUNT: self.count, SUM: self.sum, MEAN: self.mean}

    @property
    def design_effect(self) -> float:
        """The design effect of unequal weights, from released sums: n sum w^2 / (sum w)^2 (Kish 1965).

        At least 1; NaN if noise hides it.
        """
        return self._squared_weights.design_effect(_sum_weights(self.rounds))

    def intervals(
        self,
        level: float,
        *,
        population: bool = False,
        generator: np.random.Generator | None = None,
        draws: int = SUMMARY_DRAWS,
    ) -> FloatArray:
        """Return confidence limits of all `statistics` in order, each with coverage `level`: ``(statistics, 2)``.

        They are for the weights and clipped values of these records. With `population`, they are for the mean of the
        population that the weights represent, and for the expected sums over samples of this design. Sampling then has
        the linearised variance ``sum w**2 (y - mean)**2 / (sum w)**2``, which was released, plus a margin for its
        noise; the variance of a sum is at most ``sum (w y)**2``. This treats records as independent draws whose weights
        are inverse to their selection probabilities; it needs units of one record each.

        Args:
            level: The coverage probability of each interval.
            population: Whether they are for the population, not for these records.
            generator: The random numbers of the simulation; None: a fixed public seed.
            draws: The number of simulated draws: levels close to 1 need more.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.
        """
        level = require_probability("level", level)
        rng = public_generator(generator)
        require_independent(self.privacy, population)
        if len(self.rounds) == 2:
            return self._count_interval(level, rng, draws, population=population)
        weight, distance = (
            simulate_cell_noise(release.sums, release.total, draws, rng)[:, 0, 0] for release in self.rounds[:2]
        )
        noises = weight / Weights.STEPS, distance / (Weights.STEPS * HALF_RANGE_STEPS)
        normal = rng.standard_normal((3, draws)) if population else np.zeros((3, draws))
        caps = _sum_weights(self.rounds)
        distances = _sum_weighted_distances(self.rounds)
        middle, half = _middle_and_half_width(self._bounds)
        scatter = self._sampling_deviations()
        count = _find_basic_interval(caps, noises[0] + scatter[0] * normal[0], level, 0.0, inf)
        weighted_sum = half * distances + middle * caps
        sums = _find_basic_interval(
            weighted_sum, half * noises[1] + middle * noises[0] + scatter[1] * normal[1], level, -inf, inf
        )
        mean = -1.0, 1.0
        if not isnan(self.mean):
            mean = _find_ratio_interval(distances, caps, (noises[1] + scatter[2] * normal[2], noises[0]), level)
        step = half / (2 * HALF_RANGE_STEPS)  # of rounding
        limits = [
            np.array(count) * self.weights.cap,
            np.array(sums) * self.weights.cap,
            np.clip([middle + half * mean[0] - step, middle + half * mean[1] + step], self.lower, self.upper),
        ]
        (lower, upper), values = np.transpose(limits), list(self.statistics.values())
        return np.stack([np.fmin(lower, values), np.fmax(upper, values)], axis=1)

    def _count_interval(self, level: float, rng: np.random.Generator, draws: int, *, population: bool) -> FloatArray:
        """Return confidence limits of the sum of weights, if no other statistic was released.

        Args:
            level: Probability that the interval holds.
            rng: Random numbers of the simulation.
            draws: Number of draws.
            population: Whether it is for the population.

        Returns:
            Lower and upper end, (1, 2).
        """
        caps = _sum_weights(self.rounds)
        release = self.rounds[0]
        squares = self._squared_weights
        errors = simulate_cell_noise(release.sums, release.total, draws, rng)[:, 0, 0] / Weights.STEPS
        if population:
            variance = float(squares.sums.sum()) + TUNING.variance_bound_z * squares.noise
            errors = errors + sqrt(min(max(variance, 0.0), max(caps, 1.0))) * rng.standard_normal(draws)
        low, high = _find_basic_interval(caps, errors, level, 0.0, inf)
        return np.array([[min(low * self.weights.cap, self.count), max(high * self.weights.cap, self.count)]])

    def _sampling_deviations(self) -> tuple[float, float, float]:
        """Return the sampling standard deviations of the sum of weights, of the weighted sum, and of the weighted
        sum of distances from the mean.

        All are divided by the cap; the second is in units of the column, the third in half-widths of the bounds. In
        units of the cap a squared weight is at most the weight, and a squared distance at most (1 + |center|)^2, so the
        weights alone bound all three.
        """
        caps = max(_sum_weights(self.rounds), 0.0)
        middle, half = _middle_and_half_width(self._bounds)
        squares = self._squared_weights
        weight = min(max(float(squares.sums.sum()) + TUNING.variance_bound_z * squares.noise, 0.0), max(caps, 1.0))
        center = self.center / HALF_RANGE_SQUARE_STEPS
        spread, noise = _sum_weighted_squares(self.rounds)
        variance = min(max(spread + TUNING.variance_bound_z * noise, 0.0), weight * (1 + abs(center)) ** 2)
        # the root of the sum of (w (y - center) + w center)^2 is at most the sum of both roots
        total = half * sqrt(variance) + abs(middle + half * center) * sqrt(weight)
        return sqrt(weight), total, sqrt(variance)

    @property
    def _squared_weights(self) -> SquaredWeights:
        """The released sum of squared weights of all records."""
        return SquaredWeights(self.weights, self.rounds[1 if len(self.rounds) == 2 else 2], (0,))

    @property
    def _bounds(self) -> Grid:
        """Grid of one cell between the clipping bounds."""
        return Grid(self.lower, self.upper, cells=1)

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the summary with `_from_json`: label, bounds, weights, centre and
        statistic."""
        return {
            "label": self.label, "lower": self.lower, "upper": self.upper, "weight": self.weights.column,
            "cap": self.weights.cap, "center": self.center, "statistic": self.statistic,
        }  # fmt: skip

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> WeightedSummary:
        """Return the summary from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: there are not four releases, or two of a weighted count.
        """
        question, rounds = document.question, document.releases
        if len(rounds) != len(COUNT_FRACTIONS if question["statistic"] == COUNT else ROUND_FRACTIONS):
            raise InvalidArgument(
                "curve.evidence.releases",
                "weights, weighted values, squares and their spread are needed: use the text that to_json wrote",
            )
        bounds = Grid(question["lower"], question["upper"], cells=1)
        weights = Weights(question["weight"], question["cap"])
        statistic = parse_statistic(question["statistic"])
        center = min(max(int(question["center"]), -HALF_RANGE_SQUARE_STEPS), HALF_RANGE_SQUARE_STEPS)
        return cls.from_weighted_counts(rounds, bounds, question["label"], document.privacy, weights, center, statistic)

    def _summary_rows(self, suppress: float | None) -> list[tuple[str, str]]:
        """Return the rows of `Summary`, and a row on the design effect.

        Args:
            suppress: Fraction of a number whose interval may not be wider; None: nothing is suppressed.

        Returns:
            Pairs of a description and a text.
        """
        return [*super()._summary_rows(suppress), ("design effect", format_number(self.design_effect, 0.1))]


def parse_statistic(statistic: object) -> str:
    """Return the name of a statistic if it is count, sum or mean.

    Raises:
        ValueError: `statistic` is another word.
    """
    if not isinstance(statistic, str) or statistic not in STATISTICS:
        raise InvalidArgument("statistic", f"must be one of {', '.join(STATISTICS)}")
    return str(statistic)


def _middle_and_half_width(bounds: Grid) -> tuple[float, float]:
    """Return the middle of clipping bounds and half their distance, which center and scale the values.

    Args:
        bounds: Grid whose outer edges are the clipping bounds.

    Returns:
        Middle and half-width, in units of the column.
    """
    return (bounds.lower + bounds.upper) / 2, (bounds.upper - bounds.lower) / 2


def _sum_weights(rounds: tuple[Evidence, ...]) -> float:
    """Return the unbiased sum of weights, divided by the cap.

    Args:
        rounds: Releases; the first has the sums of weights.
    """
    return float(rounds[0].unbiased_cells.sum()) / Weights.STEPS


def _sum_weighted_distances(rounds: tuple[Evidence, ...]) -> float:
    """Return the unbiased sum of weights (divided by the cap on a weight) times signed distances of the values from the
    middle of the bounds, in half-widths of the bounds.

    Args:
        rounds: Releases; the second has the sums of weighted distances.
    """
    return float(rounds[1].unbiased_cells.sum()) / (Weights.STEPS * HALF_RANGE_STEPS)


def _sum_weighted_squares(rounds: tuple[Evidence, ...]) -> tuple[float, float]:
    """Return the sum of squared weights times squared distances from the center, and its noise deviation.

    Weights are divided by the cap, distances by the half-width of the bounds.

    Args:
        rounds: Releases; the fourth has the sums of weighted squares.
    """
    unit = float(COARSE_WEIGHT_STEPS * HALF_RANGE_SQUARE_STEPS) ** 2
    distribution = rounds[3].interval_sums
    return float(rounds[3].unbiased_cells.sum()) / unit, sqrt(distribution.levels[-1].noise.variance) / unit


def _find_center(rounds: tuple[Evidence, ...]) -> int:
    """Return the released mean in steps from the middle of the bounds; the next round measures the spread around it.

    Args:
        rounds: Releases; the first two have the sums of weights and of weighted distances.

    Returns:
        Steps, below zero for a mean below the middle.
    """
    mean = _sum_weighted_distances(rounds) / max(_sum_weights(rounds), 1.0)
    return round(HALF_RANGE_SQUARE_STEPS * min(max(mean, -1.0), 1.0))


def _find_basic_interval(
    estimate: float, errors: FloatArray, level: float, lowest: float, highest: float
) -> tuple[float, float]:
    """Return the basic interval of an estimate, from draws of its error.

    An estimate beyond a limit counts as the limit, because an impossible estimate must not narrow the interval.

    Args:
        estimate: The estimate.
        errors: Draws of its error, shape (draws,).
        level: Confidence level.
        lowest: Smallest possible number.
        highest: Largest possible number.
    """
    estimate = min(max(estimate, lowest), highest)
    tail_level = (1 + level) / 2
    low = estimate - upper_quantile(errors, tail_level)
    high = estimate + upper_quantile(-errors, tail_level)
    return min(max(low, lowest), highest), max(min(high, highest), lowest)


def _find_ratio_interval(
    numerator: float, denominator: float, noises: tuple[FloatArray, FloatArray], level: float
) -> tuple[float, float]:
    """Return the limits of a ratio: all r in [-1, 1] for which ``numerator - r * denominator`` may be 0 up to its
    errors.

    This is Fieller's interval (1954) with simulated errors. The errors depend on the limit itself, so that it is found
    by fixed-point iteration.

    Args:
        numerator: Estimate of the numerator.
        denominator: Estimate of the denominator.
        noises: Draws of the noise of both, shape (draws,) each.
        level: Confidence level.
    """
    limits = []
    for sign in (-1.0, 1.0):
        ratio = min(max(numerator / denominator, -1.0), 1.0)
        # iterations
        for _ in range(4):
            errors = noises[0] - ratio * noises[1]
            margin = max(upper_quantile(-sign * errors, (1 + level) / 2), 0.0)
            ratio = min(max((numerator + sign * margin) / denominator, -1.0), 1.0)
        limits.append(ratio)
    return limits[0], limits[1]


class WeightedSummaryByCategory(SummaryByCategory):
    """A weighted summary for each category, in the declared order; plots show one dot for each category."""

    MEMBER_KIND = WeightedSummary.KIND


@accept_bounds
@dataclass(frozen=True, slots=True)
class WeightedSummaryQuestion(TableQuestion):
    """Sum of weights, weighted sum and weighted mean of the values. Five rounds under one charge; a count has two.

    A first round with 1/32 of the budget counts the weight beyond the bounds. Of the rest, weights get a quarter and
    weighted values a half; two rounds with an eighth each determine the sampling variance: squared weights, and squared
    weights times squared distances from the released mean. The statistic ``"count"``, the sum of the weights, is asked
    alone: weights get seven eighths, squared weights the rest.

    Formal guarantees: pure or zero-concentrated, like the charged loss, under either adjacency: a record adds at most
    the amount in the module's docstring to each sum, see `WeightQuery`, `WeightedSumQuery`, `SquaredWeightQuery` and
    `WeightedSpreadQuery`; the last query depends on earlier answers and on no record, and the losses of all rounds add
    up. Weights above the cap count as the cap; a record whose weight is missing, negative or not finite is left out,
    like a record without a value.

    Attributes:
        column: A column of numbers; for a count also ``"*"``: all records that have a weight.
        lower, upper: Public clipping bounds; narrower bounds mean less noise. A count does not depend on them.
        weight: A column of survey weights.
        weight_cap: The public cap on the weight of a record: see `WeightedCdfQuestion`.
        measured_in: The measuring unit of the column.
        statistic: The number that plots show: count (the sum of weights), sum or mean.
        by: Publicly declared categories: one summary for each, at the privacy loss of one; a tuple of two columns gives
            a weighted contingency table. A record adds to the sums of one category alone.

    Raises:
        ValueError: the bounds cross or are not finite, the cap is missing, or is no finite number above 0, or
            `statistic` is another word.
        TypeError: a field is of another type.

    >>> import dpcurves as dp
    >>> table = {"age": [20, 60] * 2000, "w": [1, 3] * 2000}
    >>> question = dp.WeightedSummaryQuestion("age", 0, 100, "w", 4)
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     found = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> abs(found.mean - 50) < 2
    True
    """

    column: str
    lower: float
    upper: float
    weight: str
    weight_cap: float
    measured_in: str = ""
    statistic: str = MEAN
    by: By = None

    if TYPE_CHECKING:

        @overload
        def __init__(
            self, column: str, lower: float, upper: float, weight: str, weight_cap: float, measured_in: str = "",
            statistic: str = MEAN, by: By = None, *, where: Where = None,
        ) -> None: ...  # fmt: skip
        @overload
        def __init__(
            self, column: str, *, bounds: Sequence[float], weight: str, weight_cap: float, measured_in: str = "",
            statistic: str = MEAN, by: By = None, where: Where = None,
        ) -> None: ...  # fmt: skip
        def __init__(self, *args: Any, **named: Any) -> None: ...

    def __post_init__(self) -> None:
        bounds = self._axis.grid
        format_axis_label(self.column, self.measured_in)
        cap = Weights(self.weight, self.weight_cap).cap
        for name, value in (("lower", bounds.lower), ("upper", bounds.upper), ("weight_cap", cap)):
            object.__setattr__(self, name, value)
        parse_statistic(self.statistic)
        parse_grouping(self.by)
        if self.column == ALL_RECORDS and self.statistic != COUNT:
            raise InvalidArgument(
                "column", "'*' means all records, without values: name a column of numbers, or ask for the count"
            )

    @property
    def _axis(self) -> Axis:
        """Axis of the column, with one cell between the clipping bounds."""
        return Axis(self.column, build_bounds_cell(self.lower, self.upper))

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the queries of a weighted mean or sum: sums of weights, of weighted values, of squared weights, and of
        the weighted spread about the means. A weighted count needs the first and the third only.

        Args:
            setting: Without effect: the budget fractions are fixed.
        """
        if self.statistic == COUNT:
            axes = prepend_category_axes(self.by, self._axis)
            weights = Weights(self.weight, self.weight_cap)
            weight = yield from ask_weights(self, self._axis, COUNT_FRACTIONS[0])
            squares = yield from ask_workload(
                SingleQueryWorkload(SquaredWeightQuery(axes, weights)), COUNT_FRACTIONS[1]
            )
            return build_weighted_summaries(
                self, [weight, squares], build_privacy_statement([weight, squares]), weights
            )
        return (yield from ask_between(self, self._axis))

    def __str__(self) -> str:
        description = describe_question(
            f"weighted {self.statistic}", _format_label(self.column, self.measured_in), self.by
        )
        return f"{description}, {Weights(self.weight, self.weight_cap)}"


def _format_label(column: str, measured_in: str) -> str:
    """Return the name of the column, with its measuring unit, for results.

    Args:
        column: Name of the column; ``*``: all records, without a unit.
        measured_in: Measuring unit of the column; empty: none.
    """
    return ALL_RECORDS_LABEL if column == ALL_RECORDS else format_axis_label(column, measured_in)


def ask_weights(question: WeightedSummaryQuestion, axis: Axis, budget_fraction: Fraction) -> Needs[Release]:
    """Ask for the sum of the weights of all records, or of each category's records, that have a value.

    Args:
        question: The question, with its weights and categories.
        axis: Column of the values, whose grid is a single cell.
        budget_fraction: Fraction of the loss to spend.
    """
    axes = prepend_category_axes(question.by, axis)
    weights = Weights(question.weight, question.weight_cap)
    return (yield from ask_workload(SingleQueryWorkload(WeightQuery(axes, weights, CountUse.CELLS)), budget_fraction))


def ask_between(
    question: WeightedSummaryQuestion,
    axis: Axis,
    weight: Release | None = None,
    earlier: Sequence[Release] = (),
    notes: Sequence[str] = (),
) -> Needs[Any]:
    """Ask for a weighted sum or mean of a column, with its values clipped to bounds that are already chosen.

    Args:
        question: The weights, the statistic and the categories.
        axis: The column with one cell between the clipping bounds.
        weight: The release of the sum of weights with `WEIGHT_FRACTION` of the budget, if it was asked before the
            bounds were chosen, on which it does not depend; None: it is asked here.
        earlier: The releases that chose the bounds.
        notes: Further notes of the result.
    """
    axes = prepend_category_axes(question.by, axis)
    weights = Weights(question.weight, question.weight_cap)
    beyond_query = WeightQuery((separate_outside_axis(axis),), weights, CountUse.CELLS)
    beyond = yield from ask_workload(SingleQueryWorkload(beyond_query), OUTSIDE_FRACTION)
    shares = [share * (1 - OUTSIDE_FRACTION) for share in ROUND_FRACTIONS]
    if weight is None:
        weight = yield from ask_weights(question, axis, WEIGHT_FRACTION)
    values = yield from ask_workload(SingleQueryWorkload(WeightedSumQuery(axes, weights, HALF_RANGE_STEPS)), shares[1])
    squares = yield from ask_workload(SingleQueryWorkload(SquaredWeightQuery(axes, weights)), shares[2])
    centers = tuple(map(_find_center, _split_by_category(question.by, [weight, values])))
    spread_query = WeightedSpreadQuery(axes, weights, HALF_RANGE_SQUARE_STEPS, centers)
    spread = yield from ask_workload(SingleQueryWorkload(spread_query), shares[3])
    releases = [weight, values, squares, spread]
    privacy = build_privacy_statement(
        [*earlier, beyond, *releases], note_thresholds=note_thresholds_for_clipping(question.column)
    )
    return build_weighted_summaries(question, releases, privacy.with_notes(*notes), weights, centers)


def _split_by_category(by: By, releases: Sequence[Release]) -> list[tuple[Evidence, ...]]:
    """Return the evidence of all rounds for each category; without categories, one entry with the whole releases.

    Args:
        by: Grouping of the question; None: a single group.
        releases: Releases of all rounds, with a row for each category.

    Returns:
        For each category the evidence of all rounds, in the order of the categories.
    """
    rounds = tuple(Evidence.from_release(release) for release in releases)
    return [rounds] if by is None else list(zip(*map(split_rows, rounds), strict=True))


def build_weighted_summaries(
    question: WeightedSummaryQuestion,
    releases: Sequence[Release],
    privacy: PrivacyStatement,
    weights: Weights,
    centers: Sequence[int] = (),
) -> Any:
    """Return the summary of all rounds, or a summary for each category.

    Args:
        question: The question, with its column, bounds and categories.
        releases: The releases of all rounds.
        privacy: The privacy statement.
        weights: Column of the survey weights and their public cap.
        centers: Point from which each spread was measured, in steps from the middle; empty: all from the middle.
    """
    rows = _split_by_category(question.by, releases)
    bounds = build_bounds_cell(question.lower, question.upper)
    label = _format_label(question.column, question.measured_in)
    summaries = [
        WeightedSummary.from_weighted_counts(rounds, bounds, label, privacy, weights, center, question.statistic)
        for rounds, center in zip(rows, centers or [0] * len(rows), strict=True)
    ]
    return collect_by_category(question.by, summaries, WeightedSummaryByCategory)
