"""Evaluate a model by group, for audits of fairness: rates at a threshold, metrics, and their gaps between groups.

`GroupRates` holds selection rate, true positive rate and other rates of each group, with their differences. The
intervals of a number hold simultaneously for all groups (Sidak 1967), and the intervals of its differences for all
pairs of groups (Tukey 1953).

Formal guarantees: post-processing of one release of scores by group, which costs no further budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from math import erf, nan, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, check_common_arguments, parse_choice, require_probability, require_type
from dpcurves.arrays import FloatArray
from dpcurves.curves.by_category import ByCategory
from dpcurves.curves.class_curves import RATE_TITLES, RATES
from dpcurves.curves.class_table import Metric, find_discretization_error
from dpcurves.curves.question import Key, format_key, require_independent
from dpcurves.curves.result import IntervalResult, interval_scopes
from dpcurves.curves.scores import Scores, ScoresByCategory
from dpcurves.display.canvas import Shade, describe_interval
from dpcurves.display.groups import ForestPanel, draw_forest
from dpcurves.display.numerals import describe_point
from dpcurves.inference.known_numbers import KNOWN_LEVEL
from dpcurves.inference.moments import IntervalEstimate, subtract_estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpcurves.conversation import PrivacyStatement


def adjust_level(groups: int, level: float) -> float:
    """Return the level of each of `groups` independent intervals at which all hold together at `level` (Sidak 1967).

    Args:
        groups: Number of intervals.
        level: Probability that all intervals hold, between 0 and 1.
    """
    return float(level ** (1 / max(groups, 1)))


@lru_cache(maxsize=256)  # a pure function of public numbers
def adjust_level_for_pairs(groups: int, level: float) -> float:
    """Return the level of the interval of one difference at which the intervals of all pairs of groups hold at `level`.

    It follows from the quantile of the range of `groups` independent normal numbers, divided by the root of 2 (Tukey
    1953). With unequal variances it is conservative (Hayter 1984).

    Args:
        groups: Number of groups.
        level: Probability that all intervals hold, between 0 and 1.

    >>> [round(adjust_level_for_pairs(groups, 0.95), 4) for groups in (2, 5)]
    [0.95, 0.9936]
    """
    nodes = np.linspace(-8.0, 8.0, 1601)  # standard deviations, of an integral over the normal distribution
    density = np.exp(-(nodes**2) / 2) / sqrt(2 * np.pi)
    below = np.array([(1 + erf(x / sqrt(2))) / 2 for x in nodes])
    low, high = 0.0, 12.0  # quantiles of the range, between which it lies
    for _ in range(40):  # halvings of this bracket
        middle = (low + high) / 2
        below_shifted = np.array([(1 + erf((x - middle) / sqrt(2))) / 2 for x in nodes])
        coverage = groups * float((density * (below - below_shifted) ** (groups - 1)).sum()) * (nodes[1] - nodes[0])
        low, high = (middle, high) if coverage < level else (low, middle)
    return erf(high / 2)  # two-sided level of the range divided by the root of 2


def compare_pairs(groups: Sequence[IntervalEstimate]) -> list[tuple[int, int, IntervalEstimate]]:
    """Return the difference of each pair of groups, first minus second, with its interval.

    Args:
        groups: Estimate of each group.

    Returns:
        Indices of both groups and the difference, for each pair; see `subtract_estimates`.
    """
    return [
        (first, second, subtract_estimates(groups[first], groups[second]))
        for first, second in combinations(range(len(groups)), 2)
    ]


def find_largest_gap(values: FloatArray, pairs: Sequence[IntervalEstimate], most: float = 1.0) -> IntervalEstimate:
    """Return the largest difference between two groups, with an interval.

    Args:
        values: Number of each group, shape (groups,).
        pairs: Differences of all pairs with simultaneous intervals. Without pairs the result is NaN, from 0 to `most`.
        most: Largest possible difference.

    >>> find_largest_gap(np.array([0.5, 0.2]), [IntervalEstimate(0.3, 0.1, 0.4)])[:3]
    (0.3, 0.1, 0.4)
    """
    if not pairs:
        return IntervalEstimate(nan, 0.0, most)
    value = float(values.max() - values.min())
    low = max(0.0, *(max(pair.lower, -pair.upper) for pair in pairs))
    high = max(max(pair.upper, -pair.lower) for pair in pairs)
    return IntervalEstimate(value, min(low, value), max(high, value))


DRAWN_RATES = "flagged", "recall", "false_positive_rate"
"""Rates that a plot shows, in this order, each with a panel."""
SIMULTANEOUS_LABEL = "intervals of all groups, at once,"
"""Beginning of a legend entry of a plot of rates: its intervals hold for all groups at once."""
GAPS_LABEL = "intervals of all pairs of groups, at once,"
"""Beginning of a legend entry of a plot of differences: its intervals hold for all pairs of groups at once."""


class GroupRates(ScoresByCategory):
    """Rates at a threshold and metrics of each group, such as areas, and their differences between groups.

    Rates are defined in `Confusion` (``flagged`` is the selection rate, ``recall`` the true positive rate), metrics in
    `Metric`. The intervals of a number hold simultaneously for all groups, the intervals of gaps for all pairs of
    groups. A rate is *not known* if noise alone explains its denominator: it is NaN, with the interval from 0 to 1, and
    gaps leave this group out.

    Attributes:
        threshold: Scores at or above it are called positive: the nearest edge of the grid.

    Formal guarantees: as for `ByCategory`; all numbers are post-processing of the release and cost nothing more.

    Data frame: a row for each group and number. Plots show selection, true positive and false positive rates.
    """

    TITLE = "Rates by {column}"
    COLUMN_WORDS = display.describe_columns(number="number", value="value")
    MEASURED = "value"
    DISTINGUISHING_FACT = "threshold"
    SIZE = (6.8, 6.0)

    def __init__(self, columns: str | Sequence[str], curves: Mapping[Key, Scores], threshold: float = 0.5) -> None:
        super().__init__(columns, curves)
        self.asked_threshold = threshold
        self.threshold = next(iter(curves.values())).confusion(threshold).threshold if curves else threshold

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement that all groups share; a note gives the edge that replaces the requested threshold."""
        threshold_text = describe_point(self.threshold, self.asked_threshold)
        moved = (
            threshold_text != describe_point(self.threshold, self.threshold)
            and self[next(iter(self))].table.grid.values is None
        )
        return super().privacy.with_notes(
            *([f"rates are those at a threshold of {threshold_text} of the grid"] if moved else [])
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the rates, and of the metrics that can be computed from these scores."""
        return (*RATES, *(metric.key for metric in next(iter(self.values())).metrics))

    @cached_property
    def _confusions(self) -> list[Any]:
        """The confusion of each group at the threshold, in the order of the groups."""
        return [scores.confusion(self.threshold) for scores in self.values()]

    def values_of(self, number: str) -> FloatArray:
        """Return a rate or a metric of each group, of shape ``(groups,)``; NaN where it is not known.

        Args:
            number: Short name of a rate or a metric, one of `numbers`.
        """
        level = adjust_level(len(self), KNOWN_LEVEL)  # the level of the simultaneous intervals
        return np.array([estimate.value for estimate in self._measure_number(number, level, population=False)])

    def intervals_of(self, number: str, level: float, *, population: bool = False) -> FloatArray:
        """Return intervals of a rate or a metric that hold for all groups simultaneously with probability `level`.

        They are for the records of each group; with `population`, for the population, which needs independent units of
        one record each. The shape is ``(groups, 2)``.

        Args:
            number: Name of a rate or a metric.
            level: Probability that all intervals contain their numbers at once, between 0 and 1.
            population: Whether intervals cover the population's numbers rather than the numbers of these records.

        Raises:
            ValueError: `number` is unknown; `level` is not between 0 and 1; or, with `population`, units have
                several records.
        """
        adjusted_level = adjust_level(len(self), require_probability("level", level))
        return np.array(
            [
                [estimate.lower, estimate.upper]
                for estimate in self._measure_number(number, adjusted_level, population=population)
            ]
        )

    def gaps(self, number: str, level: float, *, population: bool = False) -> dict[tuple[Key, Key], IntervalEstimate]:
        """Return the difference of each pair of groups, with simultaneous intervals that hold with probability `level`.

        Each interval is computed from the intervals of both groups, at the level of the studentised range of
        independent numbers (Tukey and Kramer). Groups whose number is not known are left out.

        Args:
            number: Name of a rate or a metric.
            level: Probability that all intervals contain their differences at once, between 0 and 1.
            population: Whether intervals cover the population's numbers rather than the numbers of these records.

        Returns:
            By pair of groups: first minus second, with its interval.

        Raises:
            ValueError: the number or level is invalid; or, with `population`, a unit may have several records.
        """
        keys = list(self)
        measured = self._measure_known(number, level, population=population)
        pairs = compare_pairs([estimate for _, estimate in measured])
        return {(keys[measured[first][0]], keys[measured[second][0]]): estimate for first, second, estimate in pairs}

    def largest_gap(self, number: str, level: float, *, population: bool = False) -> IntervalEstimate:
        """Return the largest difference of two groups, with an interval that holds with probability `level` or more.

        Noise and sampling bias the largest gap upwards if groups are alike; its interval then begins at 0. Groups whose
        number is not known are left out; with fewer than two known groups the gap is NaN, with the interval from 0 to
        the largest possible gap: 1, or infinity for the log loss.

        Args:
            number: Name of a rate or a metric.
            level: Probability that the interval contains the largest difference, between 0 and 1.
            population: Whether the interval covers the population's number rather than the number of these records.

        Raises:
            ValueError: `number` is unknown; `level` is not between 0 and 1; or, with `population`, units have
                several records.
        """
        measured = [estimate for _, estimate in self._measure_known(number, level, population=population)]
        most = 1.0
        if number not in RATES:
            metric = parse_choice("number", number, Metric).value
            most = max(metric.upper_limit(scores.table) for scores in self.values())
        return find_largest_gap(
            np.array([group_estimate.value for group_estimate in measured]),
            [estimate for _, _, estimate in compare_pairs(measured)],
            most,
        )

    def plot_gaps(
        self,
        number: str = "flagged",
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Plot the difference of a rate or metric between each pair of groups as a forest plot, the largest at the
        bottom.

        Args:
            number: Name of a rate or a metric.
            ax: Axes to draw on; None: new ones.
            level: Probability that all intervals contain their differences at once, between 0 and 1.
            population: Whether intervals for the population are drawn.
            name: Name in the legend.

        Returns:
            The axes.
        """
        privacy = self.privacy
        shades = list[Shade]()
        names = list[str]()
        values = list[float]()
        for scope, for_population in interval_scopes(privacy).items():
            if for_population and not population:
                continue
            gaps = self.gaps(number, level, population=for_population)
            largest = self.largest_gap(number, level, population=for_population)
            names = [*(f"{format_key(first)} minus {format_key(second)}" for first, second in gaps), "largest gap"]
            values = [estimate.value for estimate in (*gaps.values(), largest)]
            ends = np.array([[estimate.lower, estimate.upper] for estimate in (*gaps.values(), largest)])
            shades.append(
                Shade(ends[:, 0], ends[:, 1], describe_interval(require_probability("level", level), GAPS_LABEL, scope))
            )
        words = self._row_words()[number]
        panel = ForestPanel(f"difference of {words}", names, values, range(len(names)), 0.0)
        axes = draw_forest([panel], privacy, shades=shades[::-1], ax=ax, name=name)
        title = f"Gaps of {words} by {self.column}; {self._describe_threshold()}"
        is_new = ax is None and name is None
        return display.translate_figure(display.set_title(axes, title if is_new else ""))

    def _describe_threshold(self) -> str:
        """Return the text of the rule by which records are called positive, such as "a score of 0.5 or more is called
        positive".
        """
        return f"a score of {self.threshold:g} or more is called positive"

    def _row_words(self) -> Mapping[str, str]:
        """Return the titles of rates and metrics for readers, by their short names."""
        return {**RATE_TITLES, **{metric.key: metric.value.title for metric in Metric}}

    def _figure_title(self) -> str:
        """Return the title of a picture: the column of the groups, and the threshold."""
        return f"Rates by {self.column}; {self._describe_threshold()}"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        """Draw selection, true positive and false positive rates of each group with simultaneous intervals; return
        the axes.

        Args:
            level: Confidence level; None: no intervals are drawn.
            population: Whether intervals for the population are drawn.
            ax: Axes to draw on; None: new ones.
            name: Name in the legend; None: the default.
        """
        names = self._category_names(None)
        panels = [
            ForestPanel(
                RATE_TITLES[number], names, self.values_of(number).tolist(),
                range(index * len(names), (index + 1) * len(names)), limits=(0.0, 1.0),
            )
            for index, number in enumerate(DRAWN_RATES)
        ]  # fmt: skip
        shades = list[Shade]()
        privacy = self.privacy
        for scope, for_population in interval_scopes(privacy).items():
            if level is not None and (population or not for_population):
                ends = np.concatenate(
                    [self.intervals_of(rate, level, population=for_population) for rate in DRAWN_RATES]
                )
                shades.append(
                    Shade(
                        ends[:, 0],
                        ends[:, 1],
                        describe_interval(require_probability("level", level), SIMULTANEOUS_LABEL, scope),
                    )
                )
        return draw_forest(panels, privacy, shades=shades[::-1], ax=ax, name=name)

    def to_frame(self, *, level: float | None = 0.95, population: bool = False) -> Any:
        """Return a data frame with a row for each group and each rate or metric, with intervals at `level`.

        Intervals of one rate or metric are simultaneous over groups. They are for these records, or, with `population`,
        for the population.

        Args:
            level: Confidence level of the intervals of all groups together; None: no intervals.
            population: If True, the intervals are for the population.
        """
        labels = [(column, texts * len(self.numbers)) for column, texts in self.label_columns()]
        columns: dict[str, Any] = {"number": np.repeat(self.numbers, len(self)).tolist()}
        columns["value"] = np.concatenate([self.values_of(number) for number in self.numbers])
        if level is not None:
            ends = np.concatenate([self.intervals_of(number, level, population=population) for number in self.numbers])
            columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
        return display.to_frame(display.join_columns(labels, columns))

    def _measure_number(self, number: str, level: float, *, population: bool) -> list[IntervalEstimate]:
        """Return the estimate of a rate or metric in each group, with an interval.

        Args:
            number: Name of a rate or a metric.
            level: Confidence level; intervals of a rate hold for all groups at once.
            population: Whether intervals are for the population.

        Returns:
            One estimate per group, in order.

        Raises:
            InvalidArgument: the name is unknown; or for the population, a unit may have several records.
        """
        require_independent(self.privacy, population)
        if number in RATES:
            rates = self._compute_once(
                (level, population), None, lambda: self._measure_rates(level, population=population)
            )
            return [group[number] for group in rates]
        reading = parse_choice("number", number, Metric, also=f", {', '.join(RATES)}")
        estimates: list[IntervalEstimate] = self._compute_once(
            (number, level, population), None,
            lambda: [self._measure_reading(group, reading, level, population=population) for group in self.values()],
        )  # fmt: skip
        return estimates

    def _measure_rates(self, level: float, *, population: bool) -> list[dict[str, IntervalEstimate]]:
        """Return the rates of each group by name, each with an interval at `level`.

        Args:
            level: Confidence level of each interval.
            population: If True, the intervals are for the population.

        Returns:
            For each group, in order, its rates by name.
        """
        rates_by_group = []
        for confusion in self._confusions:
            intervals = confusion.intervals(level, population=population).tolist()
            rates = zip(confusion.rates.items(), intervals, strict=True)
            rates_by_group.append({name: _make_measured(value, *ends) for (name, value), ends in rates})
        return rates_by_group

    def _measure_reading(self, scores: Scores, reading: Metric, level: float, *, population: bool) -> IntervalEstimate:
        """Return the estimate of a metric of one group with its interval; NaN if the interval is the whole range.

        Args:
            scores: Scores of the group.
            reading: The metric.
            level: Confidence level of the interval.
            population: If True, the interval is for the population.
        """
        low, high = scores.interval(reading, level, population=population)
        if (low, high) == (0.0, reading.value.upper_limit(scores.table)):
            return _make_measured(nan, low, high)
        return _make_measured(scores.value(reading), low, high, *find_discretization_error(scores.table, reading))

    def _measure_known(self, number: str, level: float, *, population: bool) -> list[tuple[int, IntervalEstimate]]:
        """Return the index and the estimate of each group whose number is known, with intervals at the level at
        which the intervals of all pairs hold simultaneously.

        Args:
            number: Name of the rate or metric.
            level: Confidence level of all pairs together.
            population: If True, the intervals are for the population.
        """
        adjusted_level = (
            adjust_level_for_pairs(len(self), require_probability("level", level)) if len(self) > 1 else level
        )
        estimates = self._measure_number(number, adjusted_level, population=population)
        return [(index, estimate) for index, estimate in enumerate(estimates) if np.isfinite(estimate.value)]

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields of `ScoresByCategory`, and the requested threshold, from which the rates are
        restored.
        """
        return {**super()._question(), "threshold": self.asked_threshold}

    @classmethod
    def _from_document(cls, document: display.CurveDocument, kind: type[Any] | None) -> Self:
        """Return the rates from a parsed JSON document.

        Args:
            document: JSON document of the result.
            kind: Class that all curves must have; None: any class.
        """
        by_category = super()._from_document(document, kind)
        return cls(by_category.columns, dict(by_category), float(document.question["threshold"]))


class CurvesByGroup(ByCategory[IntervalResult]):
    """A curve for each category, with bands or intervals that hold for all categories simultaneously.

    Categories are independent, so each band has the level whose product over all categories is the requested level
    (Sidak 1967).

    Formal guarantees: as for `ByCategory`.
    """

    DISTINGUISHING_FACT = "at_once"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        """Draw the curves with bands that hold simultaneously at `level`, which the legend states; return the axes.

        Args:
            level: Level of all bands together; None: no bands.
            population: If True, the bands are for the population, too.
            ax: Axes to draw on; None: a figure is made.
            name: Name in the legend; None: no name.
        """
        return super()._plot_at_level(self._adjust_level(level), population=population, ax=ax, name=name)

    def _build_table(self, columns: Mapping[str, Any], level: float) -> display.ResultTable:
        """Return the printed table of these columns, whose titles state the level at which the intervals hold.

        Args:
            columns: Columns by name.
            level: Level of the intervals of all groups together.
        """
        return super()._build_table(columns, self._adjust_level(level) or level)

    def _legend_title(self, level: float | None) -> str:
        """Return the title of the legend: the column of the groups, and the level at which the bands of all groups hold
        simultaneously.

        Args:
            level: Level of the bands together; None: no bands are drawn.
        """
        return self.column if level is None else f"{self.column}; {self._describe_level(level)}"

    def _describe_release(self, level: float | None) -> PrivacyStatement:
        """Return the privacy statement, with a note on the level at which all bands hold simultaneously.

        Args:
            level: Level of the bands together; None: there are no bands, and no note.
        """
        return self.privacy if level is None else self.privacy.with_notes(self._describe_level(level))

    def _describe_level(self, level: float) -> str:
        """Return the level at which the bands of all groups hold together, if each holds at `level`, as text.

        Args:
            level: Level of each band, between 0 and 1.
        """
        return f"a band or interval of each of the {len(self)} groups: all hold together at {level ** len(self):.3g}"

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the columns of all curves, one below the other; with a `level`, with simultaneous intervals.

        Args:
            level: Level of the intervals of all categories together; None: without intervals.
            population: If True, the intervals are for the population.
        """
        return super().to_frame(level=self._adjust_level(level), population=population)

    def _adjust_level(self, level: float | None) -> float | None:
        """Return the level of each band at which all bands hold at `level`; None stays None.

        Args:
            level: Level of all bands together, between 0 and 1; None: no bands.
        """
        return None if level is None else adjust_level(len(self), require_probability("level", level))

    def _question(self) -> Mapping[str, object]:
        """Return the JSON fields of `ByCategory`, and a mark that bands hold for all groups simultaneously."""
        return {**super()._question(), "at_once": True}


@check_common_arguments
def group_rates(scores: ScoresByCategory, threshold: float = 0.5) -> GroupRates:
    """Return the rates and metrics of each category of released scores, like ``fairlearn.metrics.MetricFrame``.

    Args:
        scores: The scores of several categories, as a `ScoresQuestion` with ``by`` gives them.
        threshold: Scores at or above it are called positive; the nearest edge of the grid is used.

    Returns:
        Rates, metrics, and gaps.

    Formal guarantees: costs nothing; by parallel composition all groups together lose the loss of one group.

    Raises:
        TypeError: `scores` are not of several categories.
        ValueError: `threshold` is not a number.

    >>> import dpcurves as dp
    >>> table = {"y": [0, 0, 1, 1] * 500, "s": [0.2, 0.7, 0.4, 0.9] * 500, "g": ["a", "b"] * 1000}
    >>> question = dp.ScoresQuestion("y", "s", by=dp.Categories("g", ("a", "b")))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(10), adjacency=dp.REPLACE_ONE) as session:
    ...     rates = group_rates(session.ask(question, dp.PrivacyLoss.pure(10)))
    >>> abs(rates.largest_gap("flagged", 0.95).value - 1) < 0.05
    True
    """
    return GroupRates(_require_by_category(scores).columns, dict(scores), threshold)


@check_common_arguments
def group_curves(scores: ScoresByCategory, reading: str = "roc") -> CurvesByGroup:
    """Return the curve of each category of released scores, with bands that hold for all categories simultaneously.

    Args:
        scores: The scores of several categories.
        reading: The name of a method of `Scores`: roc, cumulative_gain, decision_curve, calibration.

    Returns:
        A curve for each category, whose `plot` and `to_frame` have simultaneous bands.

    Formal guarantees: costs nothing.

    Raises:
        TypeError: `scores` are not of several categories.
        ValueError: `reading` is not one of these names, or needs scores that are probabilities.

    >>> import dpcurves as dp
    >>> table = {"y": [0, 0, 1, 1] * 500, "s": [0.2, 0.7, 0.4, 0.9] * 500, "g": ["a", "b"] * 1000}
    >>> question = dp.ScoresQuestion("y", "s", by=dp.Categories("g", ("a", "b")))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(10), adjacency=dp.REPLACE_ONE) as session:
    ...     curves = group_curves(session.ask(question, dp.PrivacyLoss.pure(10)), "roc")
    >>> list(curves), curves["a"].auc > 0.9
    (['a', 'b'], True)
    """
    curve_names = "roc", "cumulative_gain", "decision_curve", "calibration"
    if reading not in curve_names:
        raise InvalidArgument("reading", f"must be one of {', '.join(curve_names)}")
    by_category = _require_by_category(scores)
    return CurvesByGroup(
        by_category.columns, {key: getattr(category_scores, reading)() for key, category_scores in by_category.items()}
    )


def _make_measured(value: float, low: float, high: float, *open_: float) -> IntervalEstimate:
    """Return an estimate with its interval, extended to contain the value; not known (NaN) if the interval is (0, 1).

    Args:
        value: The estimate.
        low: Lower end of its interval.
        high: Upper end of its interval.
        open_: Discretization errors below and above, if there are any.
    """
    if (low, high) == (0.0, 1.0) or not np.isfinite(value):
        return IntervalEstimate(float("nan"), 0.0, 1.0)
    return IntervalEstimate(value, min(low, value), max(high, value), *open_)


def _require_by_category(scores: ScoresByCategory) -> ScoresByCategory:
    """Return `scores`, if they are scores of several categories.

    Args:
        scores: Object that a user passed.

    Raises:
        TypeError: they are something else.
    """
    require_type("scores", scores, ScoresByCategory, "scores by category, as a ScoresQuestion with by= gives them,")
    return scores
