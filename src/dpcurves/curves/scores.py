"""Evaluation of a binary classifier: scores in two classes, released once, with many curves and metrics.

The release is a noisy table of both classes by cells of the score. Each statistic is a function of its counts, so all
of them together cost the loss of one release:

- curves: `roc`, `precision_recall`, `cumulative_gain`, `decision_curve`, `calibration`, `confusion`;
- numbers: `metrics`, that is the area under the ROC curve, average precision, Kolmogorov-Smirnov, Brier score, expected
  calibration error and log loss (`curves.class_table.Metric`).

Scores are rounded to the middle of their cell and tied within it; of these numbers only the area has an interval for
exact scores (`curves.partial_roc` has two more). A separate question about one statistic can choose its own cells and
is more accurate: the measured ratio of errors is in a file beside this one, and `notes_on_joint_price` states it before
anything is charged.

Formal guarantees: a record lies in one cell of the table of categories, classes and scores, so the loss is the granted
one, also if a replaced record changes its label, its score or its category. Statistics are functions of its
counts and lose nothing more (post-processing).

>>> import dpcurves as dp
>>> labels, predicted = [0, 0, 1, 1] * 500, [0.1, 0.4, 0.35, 0.8] * 500
>>> scores = dp.scores(labels, predicted, grid=dp.Grid(0, 1, cells=16), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> round(scores.roc().auc, 2), round(scores.value(dp.Metric.BRIER), 2)
(0.75, 0.16)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from math import isnan, log, nan
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from .. import display
from ..arguments import (
    InvalidArgument,
    convert_to_double,
    describe_value,
    parse_choice,
    require_numbers,
    require_probability,
    require_type,
)
from ..arrays import FloatArray
from ..conversation import WHOLE_BUDGET, AutomaticGridWorkload, Needs, PrefixWorkload, Release, Setting, ask_workload
from ..data import Axis, Grid
from ..data.axis import Category, Predictor, TypedAxis
from ..data.grid import HUNDREDTHS
from ..display import format_number
from ..display.numerals import describe_point
from ..extensions import load_field_object
from ..inference.known_numbers import KNOWN_LEVEL, is_uninformative
from ..inference.moments import IntervalEstimate, subtract_estimates
from ..privacy import Adjacency, PrivacyLoss
from .automatic_range import PILOT_FRACTION, add_empty_range_note, note_on_pilot_queries
from .by_category import ByCategory, collect_by_category, describe_grouping, split_rows
from .class_curves import Confusion, CumulativeGain, DecisionCurve, PrecisionRecall, ScoreCalibration
from .class_table import (
    ClassTable,
    ClassTableResult,
    Metric,
    ParametricMetric,
    estimate_metric,
    find_discretization_error,
    find_metric_interval,
    list_metrics,
    notes_on_classes,
    notes_on_crowding,
)
from .question import (
    NO_COLUMNS,
    By,
    Key,
    ScoredColumns,
    TableQuestion,
    build_privacy_statement,
    format_key,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
)
from .result import INDIVIDUAL_INTERVAL, PlotArguments, interval_scopes, name_ends
from .roc import ROC
from .score_groups import check_group_number

JOINT_PRICE_FILE = "joint_price.json"
"""File beside this module with measured errors of one joint release over those of separate questions, from which a note
is written. Made by ``benchmarks/scores_or_own_questions.py --write``."""


class MeasuredRatio(NamedTuple):
    """Ratios of root mean square errors: the joint release over a separate question with all of the loss.

    Attributes:
        records: The number of records.
        currency: ``epsilon`` or ``rho``.
        loss: The privacy loss in this currency.
        area: For the area under the ROC curve, compared with a ROC question.
        groups: For the shares of positives in ten groups, compared with a calibration question.
    """

    records: int
    currency: str
    loss: float
    area: float
    groups: float


class MeasuredRatios(NamedTuple):
    """The measurements of the benchmark: releases per row, and the rows."""

    releases: int
    ratios: tuple[MeasuredRatio, ...]


@cache
def load_measured_ratios() -> MeasuredRatios:
    """Return benchmark results that are stored beside this file: errors of one joint release over errors of separate
    questions.
    """
    stored = json.loads(files(__package__).joinpath(JOINT_PRICE_FILE).read_text(encoding="utf-8"))
    return MeasuredRatios(stored["releases"], tuple(MeasuredRatio(**row) for row in stored["rows"]))


def notes_on_joint_price(setting: Setting) -> tuple[str, ...]:
    """Return a note on the price of releasing all metrics at once: how much larger errors are than the errors of
    separate questions.

    Args:
        setting: Privacy loss and adjacency; under replace-one the number of records is public and is used.

    Returns:
        One note; its ratios were measured at the nearest loss and number of records.
    """
    rows = _find_nearest_ratios(setting.loss, setting.adjacency)
    first = rows[0]
    records = f"{first.records:,}" if len(rows) == 1 else f"{first.records:,} to {rows[-1].records:,}"
    areas, groups = ([getattr(row, name) for row in rows] for name in ("area", "groups"))
    return (
        f"one release for all metrics; relative to a separate question with all of the loss: "
        f"{_format_factors(areas)} the error of the area under the ROC curve, "
        f"{_format_factors(groups)} the error of shares in ten calibration groups (measured on {records} "
        f"calibrated scores at {first.currency} {first.loss:g}, {load_measured_ratios().releases} releases of each)",
    )


def _find_nearest_ratios(loss: PrivacyLoss, adjacency: Adjacency) -> list[MeasuredRatio]:
    """Return the measured accuracy ratios at the loss that is nearest to the question's loss per record.

    Args:
        loss: Loss of the question; its rows are in the same currency, epsilon or rho.
        adjacency: Neighbouring relation, which may have a public number of records.

    Returns:
        One row for each measured number of records; only the row nearest to a public number of records.
    """
    each = adjacency.unit.records
    records = adjacency.public_record_count
    currency = "epsilon" if loss.is_pure else "rho"
    amount = float(loss.epsilon) / each if loss.epsilon is not None else float(loss.rho) / each**2
    candidates = [row for row in load_measured_ratios().ratios if row.currency == currency]
    nearest_loss = min((row.loss for row in candidates), key=lambda loss: abs(log(loss / amount)))
    rows = sorted(row for row in candidates if row.loss == nearest_loss)
    return rows if records is None else [min(rows, key=lambda row: abs(log(row.records / max(records, 1))))]


def _format_factors(ratios: list[float]) -> str:
    """Return text on a factor, or the range of several, as in "1.2 to 1.5 times".

    Args:
        ratios: At least one factor; two significant digits are shown.
    """
    least = f"{min(ratios):.2g}"
    most = f"{max(ratios):.2g}"
    return f"{least} times" if least == most else f"{least} to {most} times"


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ClassTableResult):
    """Counts of two classes along their scores, and the statistics that follow from them at no further loss.

    All statistics are computed for scores rounded to the middle of their cell, so that scores in one cell are tied.
    Only the area under the ROC curve has an interval that holds for the exact scores.

    Attributes:
        thresholds: Falling; a score at or above threshold i is called positive at point i. The first is infinite.
        true_positives: Positives above each threshold, never below 0, of the same shape.
        false_positives: Negatives above each threshold, of the same shape.
        table: The released counts that all statistics are computed from.
        further_metrics: Metrics with a parameter, which tables list after the others; JSON files leave them out. See
            `add_roc_metrics`.
    """

    KIND = "scores"
    TITLE = "Scores of two classes"
    COLUMN_WORDS = display.describe_columns(reading="number", value="value")
    MEASURED = "value"
    ARRAYS = ("thresholds", "true_positives", "false_positives")
    JSON_SCHEMAS = MappingProxyType(
        {"readings": {**display.BY_NAME, "description": "The estimates of all metrics, by their keys."}}
    )
    INTERVAL_NAME = INDIVIDUAL_INTERVAL

    thresholds: FloatArray
    true_positives: FloatArray
    false_positives: FloatArray
    table: ClassTable
    further_metrics: tuple[ParametricMetric, ...] = ()

    @classmethod
    def from_counts(cls, table: ClassTable) -> Scores:
        """Return the scores from released counts of two rows, negatives and positives, with notes on small classes
        and crowded cells.

        Args:
            table: Released counts of both classes by score.
        """
        notes = *notes_on_classes(table), *notes_on_crowding(table)
        noted = replace(table, privacy=table.privacy.with_notes(*notes))
        false, true = np.cumsum(noted.counts.likely_counts[:, ::-1], axis=1)
        return cls(noted.thresholds, np.append(0.0, true), np.append(0.0, false), noted)

    def _model_card_results(self) -> Iterator[Any]:
        """Yield the scores, ROC curve and cumulative gain; of probabilities also calibration and decision curve."""
        yield from (self, self.roc(), self.cumulative_gain())
        if self.table.are_probabilities:
            yield from (self.calibration(), self.decision_curve())

    def _title(self) -> str:
        """Return the title: a table of metrics of a score, if its columns are known."""
        is_known = self.table.columns != NO_COLUMNS
        return self.table.columns.add_to_title("Metrics") if is_known else self.TITLE

    def roc(self) -> ROC:
        """Return the ROC curve with the area below, computed from the released counts."""
        return ROC.from_counts(self.table, self.table.columns.add_to_title("ROC curve"))

    def precision_recall(self) -> PrecisionRecall:
        """Return the precision-recall curve, and the average precision."""
        return PrecisionRecall.from_counts(self.table)

    def cumulative_gain(self) -> CumulativeGain:
        """Return the share of the positives among the highest scores, and the lift."""
        return CumulativeGain.from_counts(self.table)

    def decision_curve(self) -> DecisionCurve:
        """Return the net benefit of acting by the scores, by threshold probability.

        Raises:
            ValueError: the scores are no probabilities.
        """
        return DecisionCurve.from_counts(self.table)

    def calibration(self, groups: int = 10, *, boundaries: Sequence[float] | None = None) -> ScoreCalibration:
        """Return the calibration curve, in groups of about equal released counts.

        Args:
            groups: The largest number of groups, at least 2.
            boundaries: Boundaries of the groups instead, between the ends of the grid; each moves to the nearest edge.

        Raises:
            ValueError: the scores are no probabilities, or there are fewer than two groups.
        """
        if boundaries is None:
            return ScoreCalibration.from_even_groups(self.table, check_group_number(groups, self.table.grid))
        grid = self.table.grid
        requested = np.array(require_numbers("boundaries", boundaries, "a list of numbers, as in [0.2, 0.5],"))
        edges = grid.nearest_edge(requested)
        pairs = zip(grid.edge(edges).tolist(), requested.tolist(), strict=True)
        points = [describe_point(*pair) for pair in pairs if describe_point(*pair) != describe_point(pair[0], pair[0])]
        notes = (f"groups end at {', '.join(points)}",) if points else ()
        table = replace(self.table, privacy=self.table.privacy.with_notes(*notes)) if notes else self.table
        return ScoreCalibration.from_group_starts(table, np.unique([0, *edges[edges < grid.cells]]))

    def confusion(self, threshold: float) -> Confusion:
        """Return the confusion matrix, and rates, at the edge of the grid that is nearest to `threshold`.

        Raises:
            ValueError: `threshold` is no number.
        """
        number = convert_to_double(threshold)
        if number is None or not np.isfinite(number):
            raise InvalidArgument("threshold", "must be a number, as in 0.5")
        return Confusion.from_counts(self.table, number)

    @property
    def metrics(self) -> tuple[Metric | ParametricMetric, ...]:
        """The metrics that can be computed: some need scores that are probabilities."""
        return *list_metrics(self.table), *self.further_metrics

    def _parse_metric(self, metric: Metric | ParametricMetric | str) -> Metric | ParametricMetric:
        """Return a metric by its key, or unchanged.

        Raises:
            InvalidArgument: the metric is unknown.
        """
        if isinstance(metric, ParametricMetric):
            return metric
        return parse_choice("metric", metric, Metric)

    def value(self, metric: Metric | ParametricMetric | str) -> float:
        """Return the estimate of a metric; NaN if it is not known.

        Args:
            metric: The metric, or its key, such as ``"auc"``.

        Raises:
            ValueError: the metric is unknown, or it needs scores that are probabilities.
        """
        return estimate_metric(self.table, self._parse_metric(metric))

    def interval(
        self,
        metric: Metric | ParametricMetric | str,
        level: float,
        *,
        population: bool = False,
        generator: np.random.Generator | None = None,
    ) -> tuple[float, float]:
        """Return an interval that contains the metric with probability `level`, for one metric at a time.

        It is for these records; with `population`, for the population that the records were drawn from, which needs
        independent units of one record each. `Metric` describes the methods.

        Args:
            metric: The metric.
            level: The confidence level.
            population: Whether it is for the population, not for these records.
            generator: Random numbers of the simulation; None: a fixed public seed.

        Returns:
            Lower and upper end.

        Raises:
            ValueError: `level` is not between 0 and 1; the metric is unknown; or for the population, a unit may have
                several records.
        """
        number = self._parse_metric(metric)
        level = require_probability("level", level)
        return find_metric_interval(self.table, number, level, population=population, generator=generator)

    def intervals(
        self, level: float, *, population: bool = False, generator: np.random.Generator | None = None
    ) -> FloatArray:
        """Return lower and upper ends of all `metrics`, in order, of shape ``(metrics, 2)``: see `interval`.

        Args:
            level: Probability that an interval contains its number, between 0 and 1.
            population: Whether intervals are for the numbers of the population, not for the numbers of these records.
            generator: Random numbers of the simulated noise; None: a fixed public seed.

        Raises:
            ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.
        """
        ends = [self.interval(metric, level, population=population, generator=generator) for metric in self.metrics]
        return np.array(ends)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        """Draw each metric in a row with its intervals; return the axes.

        Args:
            shades: Intervals, one row for each metric, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        values = {metric.value.title: self.value(metric) for metric in self.metrics}
        return display.draw_numbers(values, shades=shades, **how)

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the number of records, the value of every metric, and intervals for the area under the ROC curve.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.

        Returns:
            Numbers by column name.
        """
        limits = {
            of_population: self.interval(Metric.AUC, level, population=of_population)
            for of_population in interval_scopes(self.privacy, population=population).values()
        }
        metrics = {metric.key: self.value(metric) for metric in self.metrics}
        return {"records": float(self.table.counts.likely_counts.sum()), **metrics, **name_ends(Metric.AUC.key, limits)}

    def _key_words(self) -> Mapping[str, display.ColumnWords]:
        """Return the titles of the metrics.

        Returns:
            Title and format of ``records`` and of each metric by its key.
        """
        titles = {metric.key: display.ColumnWords(metric.value.title) for metric in self.metrics}
        return {"records": display.ColumnWords("records", display.CellFormat.COUNT), **titles}

    def _row_words(self) -> Mapping[str, str]:
        """Return the titles of the metrics by their keys.

        Returns:
            Titles of all metrics, also those that need probabilities.
        """
        return {metric.key: metric.value.title for metric in (*Metric, *self.further_metrics)}

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the data frame, one row for each metric: its key and value.

        Returns:
            ``reading``, the keys, and ``value``, NaN where unknown, in the order of `metrics`.
        """
        return {
            "reading": [metric.key for metric in self.metrics],
            "value": [self.value(metric) for metric in self.metrics],
        }

    def _arrays(self) -> dict[str, object]:
        """Return the arrays of the JSON document: thresholds, counts above them, and metrics without a parameter."""
        readings = {metric.key: self.value(metric) for metric in list_metrics(self.table)}
        return {**super()._arrays(), "readings": readings}

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts that `repr` shows: area under the ROC curve, and number of cells."""
        area = self.value(Metric.AUC)
        return ("AUC not known" if isnan(area) else f"AUC {area:.3f}", f"{self.table.grid.cells} cells")

    def _summary(self) -> list[tuple[str, str]]:
        """Return the rows of the summary: title and value of each metric, as texts.

        Returns:
            (title, value) pairs in the order of `metrics`.
        """
        return [(metric.value.title, format_number(self.value(metric))) for metric in self.metrics]


@dataclass(frozen=True, slots=True)
class ScoresQuestion(TableQuestion):
    """Ask for the distribution of scores in two classes: one table of counts, from which all metrics follow.

    If the edges of the grid are multiples of a step, such as hundredths, and there are enough records, a pilot query
    for a fortieth of the loss or less shows if nearly all scores are edges. Then a tenth of the loss counts scores that
    are not, and intervals of the area take the scores of a cell as tied but for these.

    Formal guarantees: a record lies in one cell of the table of categories, classes and scores, for any label, so the
    loss is the same when a replaced record changes its label, its score or its category; so it does in each query of
    `lattices.search_lattice`.

    Attributes:
        label: The column of true labels.
        score: The column of scores, or a `Scorecard` or `TreeEnsemble` for them; high scores are positive.
        grid: Public cells of the scores, 4096 at most, because intervals simulate the noise of each in memory. By
            default hundredths of [0, 1], with outside scores counted apart: a note warns if their count exceeds the
            noise.
        by: Public categories: one result for each, all together at the privacy loss of one. A tuple of several columns:
            one for each combination.
        pos_label, neg_label: The two classes; records with another label are missing. A negative label is needed unless
            the positive label is 1, 0, -1, True or False.
        model: A statement about the model that made the scores, printed with the result.

    Raises:
        ValueError: a class is missing or repeated, or the grid has too many cells.
        TypeError: the grid is no `Grid`, or `by` no `Categories`.
    """

    label: str
    score: str | Predictor
    grid: Grid = HUNDREDTHS
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_type("grid", self.grid, Grid, "a Grid, as in Grid(0, 1, cells=100),")
        parse_grouping(self.by)
        most_cells = 2**12  # intervals simulate the noise of both classes in each cell: 0.8 GB
        if self.grid.cells > most_cells:
            why = "intervals simulate the noise of each, and of more it needs too much memory"
            raise InvalidArgument(
                "grid", f"at most {most_cells} cells of scores can be counted, got {self.grid.cells}: {why}"
            )
        parse_class_labels(self.label, self.pos_label, self.neg_label)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for counts of scores in both classes, one row each, or two rows for each category, all in one table.

        Args:
            setting: Loss and adjacency of the question; not read.

        Returns:
            A generator that returns `Scores`, or `ScoresByCategory` with categories.
        """
        return (yield from self.ask_counts(WHOLE_BUDGET, ()))

    def ask_counts(
        self, budget_fraction: Fraction, earlier_releases: tuple[Release, ...], axis_class: type[Axis] = Axis
    ) -> Needs[Any]:
        """Ask for the table with this budget fraction; the privacy statement includes `earlier_releases`.

        Args:
            budget_fraction: Fraction of the question's privacy loss, above 0 and at most 1.
            earlier_releases: Releases that the question paid for before, for the privacy statement.
            axis_class: Class of the axis of scores, which decides how values are mapped to cells.
        """
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        score = axis_class(self.score, self.grid)
        axes = prepend_category_axes(self.by, classes, score)
        searches_lattice = self.by is None and not earlier_releases
        answer = yield from ask_workload(PrefixWorkload(axes, searches_lattice=searches_lattice), budget_fraction)
        privacy = build_privacy_statement((*earlier_releases, *answer.releases), self.model)
        columns = ScoredColumns.from_question(self.score, self.label)
        if self.by is None:
            return Scores.from_counts(ClassTable(answer.counts, self.grid, privacy, answer.lattice_counts, columns))
        tables = (ClassTable(pair, self.grid, privacy, columns=columns) for pair in split_rows(answer.counts, 2))
        return collect_by_category(self.by, map(Scores.from_counts, tables), ScoresByCategory)

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note: the ratio of errors to the errors of a ROC or a calibration question with the whole loss.

        With categories, which those questions do not have, there is no note.

        Args:
            setting: Loss and adjacency of the question.
        """
        return notes_on_joint_price(setting) if self.by is None else ()

    def __str__(self) -> str:
        return f"scores {self.score} for {self.label}{describe_grouping(self.by)}"


class ScoresByCategory(ByCategory[Scores]):
    """The scores of each public category, and differences between categories.

    Formal guarantees: as for `ByCategory`: all together have the loss of one table, and their noises are independent.
    """

    MEMBER_KIND = "scores"

    def _model_card_results(self) -> Iterator[Any]:
        """Yield what a model card shows of scores by category: rates and gaps, ROC curves and calibration curves.

        Yields:
            Rates by category, ROC curves, and for probabilities also calibration curves.
        """
        yield load_field_object("group_rates")(self)
        yield load_field_object("group_curves")(self, "roc")
        if next(iter(self.values())).table.are_probabilities:
            yield load_field_object("group_curves")(self, "calibration")

    def difference(
        self,
        metric: Metric | str,
        first: Key,
        second: Key,
        level: float,
        *,
        population: bool = False,
        generator: np.random.Generator | None = None,
    ) -> IntervalEstimate:
        """Return the metric of the `first` category minus the `second`, and the ends of its confidence interval.

        Level and population are as for `Scores.interval`. The interval of the difference combines the intervals of both
        categories: distances from estimate to end are added in squares (Zou and Donner 2008). For the area, the part of
        each distance that stems from the unknown order within cells is added linearly. The difference is NaN, with an
        interval of all possible differences, if the metric of either category is not known, or its interval at
        `KNOWN_LEVEL` for these records has no other end.

        Args:
            metric: The metric.
            first: A category.
            second: Another category.
            level: The confidence level.
            population: Whether it is for the population, not for these records.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: the category or metric is unknown, or as for `Scores.interval`.
        """
        names = first, second
        minuend, subtrahend = (self._measure_category(name, metric, level, population, generator) for name in names)
        limits = parse_choice("metric", metric, Metric).value
        most = max(limits.upper_limit(self[name].table) for name in names)
        deciding = [self._measure_category(name, metric, KNOWN_LEVEL, False, None) for name in names]
        ends = subtract_estimates(deciding[0], deciding[1], most)[1:3]
        if is_uninformative(*ends, -most, most):
            return IntervalEstimate(nan, -most, most)
        return subtract_estimates(minuend, subtrahend, most)

    def _measure_category(
        self, name: Key, metric: Metric | str, level: float, population: bool, generator: np.random.Generator | None
    ) -> IntervalEstimate:
        """Return the estimate of a metric in one category, with its interval and its discretisation error.

        Args:
            name: Category.
            metric: The metric.
            level: Confidence level of the interval.
            population: Whether the interval is for the population.
            generator: Random numbers of the simulation; None: a fixed public seed.

        Raises:
            InvalidArgument: the result has no category of this name.
        """
        if name not in self:
            raise InvalidArgument(
                "category", f"must be one of {', '.join(map(format_key, self))}, got {describe_value(name)}"
            )
        scores = self[name]
        value = scores.value(metric)
        ends = scores.interval(metric, level, population=population, generator=generator)
        return IntervalEstimate(
            value, *ends, *find_discretization_error(scores.table, parse_choice("metric", metric, Metric))
        )


@dataclass(frozen=True, slots=True)
class AutoRangeScoresQuestion(TableQuestion):
    """Ask for the distribution of scores in two classes, with an automatic range: log-odds, points, ranks.

    A fifth of the loss finds the range in three rounds; the rest counts as a `ScoresQuestion` does, on a grid within
    it. Scores beyond are counted apart. Probabilities, which lie in [0, 1], need no range search.

    Formal guarantees: as for `AutoRangeSurvivalQuestion`.

    Attributes:
        label, by, pos_label, neg_label, model: As for `ScoresQuestion`.
        score: The column of scores, which may be dates, times or durations. A model is no column: its range is public,
            as are its coefficients.

    Raises:
        ValueError, TypeError: as for a `ScoresQuestion`; or the score is no column.
    """

    is_plan_shown_first: ClassVar[bool] = True

    label: str
    score: str
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_type("score", self.score, str, "the name of a column")
        self.with_grid(HUNDREDTHS)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Find the range of scores, then ask as a `ScoresQuestion` does.

        Args:
            setting: Loss and adjacency of the question; not read.
        """
        # cells of the grid, approximately
        answer = yield from ask_workload(AutomaticGridWorkload(self.score, 256), PILOT_FRACTION)
        return (
            yield from self.with_grid(answer.chosen_grid).ask_counts(
                WHOLE_BUDGET - PILOT_FRACTION, add_empty_range_note(answer), TypedAxis
            )
        )

    def plan_notes(self, setting: Setting) -> tuple[str, ...]:
        """Return one note with the total loss of all rounds and the loss of the pilot queries.

        Args:
            setting: Loss and adjacency of the question.
        """
        return (note_on_pilot_queries(setting),)

    def with_grid(self, grid: Grid) -> ScoresQuestion:
        """Return the `ScoresQuestion` about the same columns with scores counted on `grid`."""
        return ScoresQuestion(self.label, self.score, grid, self.by, self.pos_label, self.neg_label, self.model)

    def __str__(self) -> str:
        return f"scores {self.score} for {self.label}{describe_grouping(self.by)}, no range given"
