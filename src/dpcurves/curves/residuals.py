"""Residual plots and binned residuals of a regression or classification model.

*Residual plots* (`ResidualPlotQuestion`) show residual against prediction in the cells of a plane. Bounds B of both
axes are found first: the least power of two times a unit whose interval [-B, B] seems to cover the requested share, but
for some records that noise may hide (`find_spare_records`), by the sparse vector technique; then the cells between are
counted.

*Binned residuals* (`BinnedResidualsQuestion`), for a class label and a predicted probability p: for each bin of similar
p,

    mean residual = (O - E) / n      envelope = bound of |mean residual| at `level` if the model is right

with O positives, E the sum of predictions and n records, all noisy. Under the model O - E has variance
``sum p * (1 - p) <= n * m * (1 - m)``, with m the mean of p, plus the variance of the noise.

Formal guarantees: the granted loss, by adaptive composition of bounds, bins, counts and sums. They cover the queried
records: if the model was trained on these without privacy, nothing released about its residuals is private.

References: Chen, Machanavajjhala, Reiter and Barrientos 2016, Algorithm 2; Chen 2018, Algorithms 13 and 14; Gelman,
Goegebeur, Tuerlinckx and Van Mechelen 2000.

>>> find_axis_coverage(Fraction("0.95"))  # share that each axis must cover so that both together cover 95 %
Fraction(39, 40)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isnan, nan, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from .. import conversation, display
from ..arguments import (
    Exact,
    InvalidArgument,
    convert_to_integers,
    parse_positive_fraction,
    require_integer,
    require_type,
)
from ..arrays import FloatArray
from ..conversation.notes import add_advice
from ..data import SCORES, Axis, Category, Grid, Outside, Predictor
from ..display.canvas import POPULATION, Shade, describe_interval
from ..histograms import EstimatedTable, TableEstimator
from ..inference import mean_residuals, public_generator, residual_envelope
from ..inference.known_numbers import known_values
from ..privacy import ModelOrigin, ReplaceOne, require_model_origin
from ..queries import COVERAGE_DENOMINATOR, MOST_STATED_RECORDS, CoverageQuery, MergePartitionQuery
from ..summaries.two_classes import project_to_simplex
from .bounds import COVERAGE_CONFIDENCE, ask_for_bounds, build_coverage_query, describe_coverage
from .histogram import require_estimator
from .outside import infinite_note_thresholds
from .question import ScoredColumns, TableQuestion, build_privacy_statement, parse_class_labels
from .result import PlotArguments, ReleasedResult, notes_on_classes, notes_on_dependence
from .score_groups import GroupResult, ScoreGroups, build_score_groups, check_group_number, count_noise_deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COUNT_FRACTION = Fraction(3, 100)
"""Budget fraction of a first count of all records, if their number is private. The count decides how much the search
for bounds gets."""
LEAST_BOUND_FRACTION, MOST_BOUND_FRACTION = Fraction(1, 20), Fraction(1, 4)
"""Smallest and largest budget fraction for finding each bound of a residual plot; the fewer records, the larger."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer the bounds of residual plots."""

    spared_records: int = 8
    """At most 1/8 of the records may lie outside a bound; proportionally fewer below records times epsilon = 40,
    because few records would lose half of them otherwise."""


TUNING = Tuning()
"""The share of the records that may lie outside each bound of a residual plot: see the field of `Tuning`."""


class BoundBudget(NamedTuple):
    """The budget fractions of the two bounds of a residual plot, and of the rest.

    Attributes:
        budget_fraction: The budget fraction of each bound.
        spare_records: The number of records that each bound need not cover.
        remaining_fraction: The budget fraction for the counts within the bounds.
        counting_releases: The releases that counted the records.
    """

    budget_fraction: Fraction
    spare_records: int
    remaining_fraction: Fraction
    counting_releases: tuple[conversation.Release, ...]


def choose_bound_budget(column: str | Predictor, setting: conversation.Setting) -> conversation.Needs[BoundBudget]:
    """Return the budget for finding the bounds of both axes, chosen by the number of records, which is counted first if
    it is private.

    Formal guarantees: the count is a separate round with the budget fraction `COUNT_FRACTION`. The fractions are a
    function of its answer and of public facts, and add up to the rest for every answer: by adaptive composition all
    rounds together lose at most the budget.

    Args:
        column: Column of predictions, or the model that predicts.
        setting: Loss of the question, and adjacency, which may have a public number of records.
    """
    if setting.adjacency.public_record_count is not None:
        records = float(setting.adjacency.public_record_count)
        remaining = conversation.WHOLE_BUDGET
        counting_releases = tuple[conversation.Release, ...]()
    else:
        answer = yield from conversation.ask_workload(
            conversation.CellWorkload((Axis(column, Grid(0, 1, cells=1)),)), COUNT_FRACTION
        )
        records = max(float(answer.counts.unbiased_cells.sum()), 0.0)
        remaining = conversation.WHOLE_BUDGET - COUNT_FRACTION
        counting_releases = answer.releases
    fraction = choose_bound_fraction(setting, records)
    return BoundBudget(
        fraction, find_spare_records(setting, fraction, records), remaining - 2 * fraction, counting_releases
    )


def find_axis_coverage(joint_coverage: Fraction) -> Fraction:
    """Return the share that each axis must cover so that both axes together cover `joint_coverage`, wherever records
    lie.

    The axes may leave out different records, so each may leave out half. In millionths, rounded up.

    >>> find_axis_coverage(Fraction("0.95")), find_axis_coverage(Fraction(1))
    (Fraction(39, 40), Fraction(1, 1))
    """
    return Fraction(ceil((1 + joint_coverage) / 2 * COVERAGE_DENOMINATOR), COVERAGE_DENOMINATOR)


def choose_bound_fraction(setting: conversation.Setting, records: float) -> Fraction:
    """Return the budget fraction for the private search of each axis's bounds, rounded up to hundredths.

    Args:
        setting: Loss and adjacency of the question.
        records: Number of records, or an estimate of it; a larger number needs a smaller fraction.

    >>> from dpcurves.conversation import Setting
    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    >>> [float(choose_bound_fraction(setting, records)) for records in (0, 100, 500, 10**6)]
    [0.25, 0.25, 0.12, 0.05]
    """
    loss = setting.loss
    records_seen = Fraction(records)
    enough = 60  # records times epsilon of a bound from which noise rarely moves it
    if loss.epsilon is not None:
        fraction = Fraction(enough) / max(records_seen * loss.epsilon, Fraction(enough))
    else:
        fraction = Fraction(enough**2) / max(2 * records_seen**2 * loss.rho, Fraction(enough**2))
    return min(max(Fraction(ceil(100 * fraction), 100), LEAST_BOUND_FRACTION), MOST_BOUND_FRACTION)


def find_spare_records(setting: conversation.Setting, budget_fraction: Fraction, records: float) -> int:
    """Return how many records may lie outside of noisy bounds, so that noise of a few records does not double the
    bounds.

    Args:
        setting: Privacy loss and adjacency of the question.
        budget_fraction: Fraction of the loss for the bounds.
        records: Number of records, or an estimate of it.

    >>> from dpcurves.conversation import Setting
    >>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
    >>> setting = Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    >>> [find_spare_records(setting, Fraction(3, 25), records) for records in (0, 100, 300, 500)]
    [0, 3, 33, 50]
    """
    loss = setting.loss * budget_fraction
    largest = min(int(records) // TUNING.spared_records, MOST_STATED_RECORDS)
    epsilon = float(loss.epsilon) if loss.epsilon is not None else sqrt(2 * float(loss.rho))
    epsilon_per_record = epsilon / setting.adjacency.unit.records
    if epsilon_per_record <= 0:
        return 0
    # 6, in records times epsilon, is three times the noise scale of a bound; proportionally fewer are spared below 40
    # records times epsilon: few records would lose half of them otherwise
    return int(min(6 / epsilon_per_record, largest, largest * records * epsilon_per_record / 40))


UNKNOWN_COVERAGE_NOTE = "nobody knows how many of them the bounds cover"
"""Part of the note on the bounds of a residual plot, if they may leave out as many records as they should cover."""

PRIVATE_COUNT_PLAN = (
    f"round 1 counts the records; bounds are shown with {float(MOST_BOUND_FRACTION):.0%} of the budget each, as for "
    f"few records, and get down to {float(LEAST_BOUND_FRACTION):.0%} each where it counts many"
)
"""Line of a plan if the number of records is private, so that the budget of the bounds is not known before."""


@dataclass(frozen=True, eq=False, repr=False)
class ResidualPlot(ReleasedResult):
    """Predictions and residuals within private bounds, in cells of a plane.

    Attributes:
        x_edges: The edges of the cells of predictions, of shape ``(cells + 1,)``.
        y_edges: The edges of the cells of residuals, of the same shape.
        density: Share of the records within the bounds in each cell; not below zero, with sum 1. Of shape ``(cells,
            cells)``, predictions first.
        points: A synthetic scatter, of shape ``(n, 2)``, with about as many points as records, 5000 at most. No point
            is a record.
        outside: The noisy share of records beyond the bounds, among all records with both values.
        coverage: The requested joint coverage of the bounds.
        alpha: The number of records by which coverage may fall short, with probability 0.95. If records times epsilon
            are few it may be most of the records; NaN if no interval seemed wide enough.
        labels: The labels of the axes.
        privacy: The privacy statement, which every plot shows.
        evidence: The releases, round by round.

    Data frame: columns ``predicted`` and ``residual`` of the synthetic points.
    """

    KIND = "residual-plot"
    TITLE = "Residual plot"
    COLUMN_WORDS = display.describe_columns(predicted="{labels[0]}", residual="{labels[1]}")
    REPR_FACTS = "{points.shape[0]} synthetic points"
    ARRAYS = ("x_edges", "y_edges", "density", "points", "outside")
    JSON_SCHEMAS = MappingProxyType(
        dict.fromkeys(("x_edges", "y_edges"), display.NUMBERS) | dict.fromkeys(("density", "points"), display.ROWS)
    )
    SUMMARY = (
        ("synthetic points", "{points.shape[0]!n}"), ("the bounds cover", "{coverage_statement}"),
        ("records beyond the bounds", "about {outside:.1%}"), ("records not shown", "about {unplotted_share:.1%}"),
    )  # fmt: skip

    x_edges: FloatArray
    y_edges: FloatArray
    density: FloatArray
    points: FloatArray
    outside: float
    coverage: float
    alpha: float
    labels: tuple[str, str]
    privacy: conversation.PrivacyStatement
    evidence: tuple[conversation.Evidence, ...]

    @classmethod
    def from_counts(
        cls,
        estimated: EstimatedTable,
        axes: tuple[Axis, Axis],
        privacy: conversation.PrivacyStatement,
        evidence: tuple[conversation.Evidence, ...],
        *,
        coverage: float,
        alpha: float,
    ) -> ResidualPlot:
        """Return the plot of estimated counts, given the coverage of the bounds and how many records it may lack.

        Args:
            estimated: Estimated counts of all cells of the plane and outside it.
            axes: Column and grid of predictions, then of residuals.
            privacy: The privacy statement; a note is added to it if noise may hide a tenth of the records.
            evidence: The releases behind the estimate.
            coverage: Share of the records that both bounds together were chosen to cover, between 0 and 1.
            alpha: Number of records by which coverage may fall short, with probability 0.95.
        """
        within = max(float(estimated.cells.sum()), 1.0)
        beyond = max(estimated.outside, 0.0)
        density = project_to_simplex(estimated.cells / within, 1.0)
        edges = axes[0].grid.edges, axes[1].grid.edges
        points = sample_points(density, edges, min(round(within), 5000), None)  # points of a plot
        labels = (str(axes[0].column), str(axes[1].column))
        outside = beyond / (within + beyond)
        records = within + beyond
        if not alpha < 0.1 * records:  # because of noise the bounds may leave out a tenth of the records
            coverage_note = (
                f"the bounds cover {describe_coverage(coverage, alpha)}"
                if alpha < coverage * records
                else UNKNOWN_COVERAGE_NOTE
            )
            fact = f"few records for so much noise: {coverage_note}"
            privacy = privacy.with_notes(add_advice(fact, "a larger epsilon tells more"))
        return cls(*edges, density, points, outside, coverage, alpha, labels, privacy, evidence)

    @property
    def coverage_statement(self) -> str:
        """Text that states the joint coverage of both bounds and its probability."""
        return describe_coverage(self.coverage, self.alpha)

    @property
    def plotted_edges(self) -> tuple[FloatArray, FloatArray]:
        """Edges of the plotted cells: from the first to the last occupied cell, including zero.

        The bounds are powers of two around zero, so much of the plane may be empty. Along each axis at most 1 record in
        200 is left out.
        """
        across, upwards = (find_occupied_edges(self.density.sum(axis=axis)) for axis in (1, 0))
        middle = int(np.searchsorted(self.y_edges, 0.0))
        upwards = slice(min(upwards.start, middle), max(upwards.stop, middle + 1))
        return self.x_edges[across], self.y_edges[upwards]

    @property
    def unplotted_share(self) -> float:
        """The share of records that plots do not show, beyond the bounds or beyond the `plotted_edges`."""
        x_edges, y_edges = self.plotted_edges
        columns, rows = (
            slice(int(np.searchsorted(edges, plotted[0])), int(np.searchsorted(edges, plotted[-1])))
            for edges, plotted in ((self.x_edges, x_edges), (self.y_edges, y_edges))
        )
        plotted = float(self.density[columns, rows].sum())
        return 1 - (1 - self.outside) * min(plotted, 1.0)

    def slices(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slices of predictions of about equal width: their middles, shares of records and mean residuals.

        The mean of a slice without records is NaN.

        Raises:
            ValueError: `count` is below 1.
            TypeError: `count` is no integer.
        """
        count = require_integer("count", count)
        if count < 1:
            raise InvalidArgument(
                "count", f"must be a number of synthetic points of at least 1, as in 500, got {count}"
            )
        column_groups = np.array_split(np.arange(len(self.density)), min(count, len(self.density)))
        first, last = np.array([(columns[0], columns[-1] + 1) for columns in column_groups]).T
        slices = np.add.reduceat(self.density, first, axis=0)
        share = slices.sum(axis=1)
        heights = (self.y_edges[:-1] + self.y_edges[1:]) / 2
        mean = np.divide(slices @ heights, share, out=np.full(len(share), np.nan), where=share > 0)
        return (self.x_edges[first] + self.x_edges[last]) / 2, share, mean

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Return `size` further points drawn from the estimated density, ``(size, 2)``. Costs no budget.

        Args:
            size: Number of points.
            generator: Random numbers; the points follow from them and from released numbers.

        Raises:
            ValueError: `size` is below zero.
            TypeError: `size` is no integer.
        """
        size = require_integer("size", size)
        if size < 0:
            raise InvalidArgument("size", f"a number of points of at least 0 is needed, as in 500, got {size}")
        return sample_points(self.density, (self.x_edges, self.y_edges), size, generator)

    def plot_density(self, ax: Axes | None = None) -> Axes:
        """Plot the density as a heat map; return the axes.

        Args:
            ax: Axes to draw on; None: a new figure, which gets a title.
        """
        edges = self.x_edges, self.y_edges
        window, unseen = self.plotted_edges, self.unplotted_share
        axes = display.draw_residual_density(
            self.density, edges, self.labels, self.privacy, window=window, unseen=unseen, ax=ax
        )
        return self._finish_plot(axes, self._title(), ax)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Axes:
        """Draw the synthetic points; return the axes.

        Args:
            shades: Not used: the points have no intervals.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_residual_points(
            self.points, self.plotted_edges, self.labels, unseen=self.unplotted_share, **how
        )

    def _columns(self) -> dict[str, FloatArray]:
        """Return the columns of the data frame, one row for each synthetic point: prediction and residual."""
        return {"predicted": self.points[:, 0], "residual": self.points[:, 1]}

    def _question(self) -> dict[str, object]:
        """Return the JSON fields that restore the plot with `_from_json`: labels, coverage and its shortfall."""
        return {
            "labels": list(self.labels),
            "coverage": self.coverage,
            "alpha": None if isnan(self.alpha) else self.alpha,
        }

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> ResidualPlot:
        """Return the plot from a parsed JSON document.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.

        Raises:
            InvalidArgument: density and edges do not fit together in length.
        """
        x_edges, y_edges = (np.asarray(document.arrays[name], dtype=np.float64) for name in ("x_edges", "y_edges"))
        density = _parse_rows(document.arrays["density"], len(y_edges) - 1)
        points = _parse_rows(document.arrays["points"], 2)
        if len(density) != len(x_edges) - 1:
            raise InvalidArgument(
                "curve",
                "x_edges, y_edges and density do not fit together in length: use the text that to_json wrote",
            )
        question = document.question
        across, upwards = question["labels"]
        promise = float(question["coverage"]), nan if question["alpha"] is None else float(question["alpha"])
        outside = float(document.arrays["outside"])
        labels = (across, upwards)
        return cls(x_edges, y_edges, density, points, outside, *promise, labels, document.privacy, document.releases)


@dataclass(frozen=True, slots=True)
class ResidualPlotQuestion(TableQuestion):
    """Residuals against predictions: private bounds of both, then an estimator of the plane within them.

    The bounds are powers of two times a unit (Chen et al. 2016, Algorithm 2, amended). The estimator counts a grid of
    equal cells between them, and records beyond are counted as well. Each bound gets the budget fraction that makes
    records times epsilon of the bound 60, but between 1/20 and 1/4; if the number of records is private, 3 % of the
    budget first count the records with a prediction. Bounds that are too wide leave few cells for the records, which is
    worse than a few records beyond them. So a bound may miss as many records as its noise may hide, ``6 / epsilon``: at
    most an eighth of all, and proportionally fewer if records times epsilon of the bound is below 40. These numbers
    were chosen on normal, fan-shaped, bent and heavy-tailed residuals; no separate distributions validated them.
    `ResidualPlot.coverage_statement` states how many records this rule and the noise of the bounds may leave out.

    Formal guarantees: they cover the queried records, as `model` states: if the model was trained on the same records
    without privacy, nothing released about its residuals is private.

    Attributes:
        predicted: The column of predictions, or a `Scorecard` or `TreeEnsemble` that predicts.
        residual: The column of residuals, or a `Residual` of that model. Infinite residuals lie beyond all bounds.
        unit_predicted, unit_residual: The units that are doubled: public, of the order of typical values.
        coverage: The share of the records that the rectangle should cover; at most 6 decimals. Each axis may leave out
            half of the remaining share, since the axes may leave out different records.
        model: The origin of the model, printed with the result; it has no default.
        cells: The number of cells of each axis: at most 256.
        estimator: The estimator of the plane. None: `RefinedGridEstimator`, so that noise alone makes no dense spots.

    Raises:
        ValueError: a unit, `coverage` or `cells` is out of range, or both columns are the same.
        TypeError: `model` does not state the origin of the model, or `estimator` is no estimator.
    """

    predicted: str | Predictor
    residual: str | Predictor
    unit_predicted: float
    unit_residual: float
    coverage: Exact
    model: ModelOrigin
    cells: int = 64
    estimator: TableEstimator | None = None

    def __post_init__(self) -> None:
        require_model_origin(self.model)
        for name in ("predicted", "residual"):
            require_type(name, getattr(self, name), (str, Predictor), "the name of a column, or a model,")
        require_estimator(self.estimator)
        if self.predicted == self.residual:
            raise InvalidArgument(
                "residual",
                f"a column other than that of the predictions is needed, got {self.residual!r} for both: name "
                "another column",
            )
        convert_to_integers(self, cells="cells")
        most_cells = 256  # cells along each axis
        if not 1 <= self.cells <= most_cells:
            raise InvalidArgument(
                "cells", f"a whole number from 1 to {most_cells} is needed, as in 64, got {self.cells}"
            )
        self._bounds(spare=0)

    def steps(self, setting: conversation.Setting) -> conversation.Needs[ResidualPlot]:
        """Yield the queries: the number of records, if that is private; clipping bounds of predictions and of
        residuals; then counts of both together, by the question's estimator. Return the plot.

        Args:
            setting: Loss and adjacency.
        """
        budget = yield from choose_bound_budget(self.predicted, setting)
        across, upwards = self._bounds(budget.spare_records)
        width, first = yield from ask_for_bounds(across, budget.budget_fraction)
        height, second = yield from ask_for_bounds(upwards, budget.budget_fraction)
        axes = self._axis(self.predicted, width.bound), self._axis(self.residual, height.bound)
        estimated = yield from conversation.ask_workload(
            conversation.TableWorkload(axes, self.estimator), budget.remaining_fraction
        )
        releases = (*budget.counting_releases, first.release, second.release, *estimated.releases)
        # the bounds leave out a requested share
        outside_thresholds = infinite_note_thresholds(self.predicted, self.residual)
        privacy = build_privacy_statement(releases, self.model.value, outside_thresholds)
        evidence = tuple(map(conversation.Evidence.from_release, releases))
        missed_records = nan
        if not width.is_capped and not height.is_capped:
            missed_records = bound_missed_records(first, across.spare) + bound_missed_records(second, upwards.spare)
        coverage = float(parse_positive_fraction("coverage", self.coverage))
        return ResidualPlot.from_counts(estimated, axes, privacy, evidence, coverage=coverage, alpha=missed_records)

    def plan_notes(self, setting: conversation.Setting) -> tuple[str, ...]:
        """Return a note if the number of records is private, else ().

        The first round then counts the records, and the budget fraction of the queries for bounds depends on this
        count. A plan shows the largest fraction, which few records need; an answer for many records spends less.

        Args:
            setting: Loss of the question, and adjacency, which may have a public number of records.
        """
        return () if setting.adjacency.public_record_count is not None else (PRIVATE_COUNT_PLAN,)

    def __str__(self) -> str:
        return f"residual plot of {self.residual} on {self.predicted}"

    def _bounds(self, spare: int) -> tuple[CoverageQuery, CoverageQuery]:
        """Return the two queries that search the bounds of predictions and of residuals.

        Args:
            spare: Number of records that may lie beyond the bounds in addition.

        Returns:
            Query of predictions, and query of residuals.
        """
        columns = (self.predicted, "unit_predicted"), (self.residual, "unit_residual")
        across, upwards = (
            build_coverage_query(column, getattr(self, name), self.coverage, spare_records=spare, name=name)
            for column, name in columns
        )
        axis_coverage = find_axis_coverage(across.coverage)
        return replace(across, coverage=axis_coverage), replace(upwards, coverage=axis_coverage)

    def _axis(self, column: str | Predictor, bound: float) -> Axis:
        """Return the column with its grid: equal cells from minus to plus the bound, and separate cells for values
        beyond.

        Args:
            column: Column of predictions or of residuals, or the model that predicts.
            bound: Largest absolute value inside the cells.
        """
        return Axis(column, Grid(-bound, bound, cells=self.cells, outside=Outside.APART))


def bound_missed_records(bound: conversation.CoverageInterval, spare: int) -> float:
    """Return how many records more than the requested share a released bound may leave out, including `spare`.

    The number holds except with half of the error probability of both bounds.

    Args:
        bound: Released interval that covers a share of the records.
        spare: Records that the noise of the query may hide.
    """
    return bound.alpha((1 - COVERAGE_CONFIDENCE) / 2) + spare


def sample_points(
    density: FloatArray, edges: tuple[FloatArray, FloatArray], size: int, generator: np.random.Generator | None
) -> FloatArray:
    """Return random points from a density that is uniform within each cell, of shape ``(size, 2)``.

    Args:
        density: Density or count of each cell, none below 0, (x cells, y cells).
        edges: Edges along x and along y.
        size: Number of points.
        generator: Random numbers; None: a fixed public seed.
    """
    rng = public_generator(generator)
    cells = rng.choice(density.size, size, p=density.ravel() / density.sum())
    axes = []
    for index, ends in zip(np.unravel_index(cells, density.shape), edges, strict=True):
        axes.append(ends[index] + rng.random(size) * np.diff(ends)[index])
    return np.stack(axes, axis=1)


def find_occupied_edges(density: FloatArray) -> slice:
    """Return the slice of the edges from the first to the last occupied cell; each end leaves out at most half of
    0.5 % of the records.

    >>> find_occupied_edges(np.array([0.0, 0.001, 0.6, 0.399, 0.0]))
    slice(2, 5, None)

    Args:
        density: Share of the records in each cell along one axis, (cells,).
    """
    below = np.cumsum(density)
    left_out = 0.005  # share of the records within the bounds that plots leave out, along each axis
    first = int(np.searchsorted(below, left_out / 2, side="right"))
    last = int(np.searchsorted(below, below[-1] - left_out / 2, side="left"))
    return slice(min(first, len(density) - 1), max(first, min(last, len(density) - 1)) + 2)


def _parse_rows(rows: Any, columns: int) -> FloatArray:
    """Return a list of rows, of this number of columns each, as an array.

    Args:
        rows: Rows, each a list of numbers, from a JSON document.
        columns: Number of numbers in each row.

    Raises:
        ValueError: the rows are malformed.
    """
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), columns)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "curve", f"a stored row does not have {columns} numbers: use the text that to_json wrote"
        ) from None


BIN_CUTS_FRACTION = Fraction(3, 20)
"""Budget fraction of binned residuals for the private quantiles at which scores are cut into bins."""
BIN_MERGES_FRACTION = Fraction(1, 10)
"""Budget fraction of binned residuals for the counts by which small bins are merged."""
BIN_COUNTS_FRACTION = Fraction(3, 5)
"""Budget fraction of binned residuals for the counts of records in the bins."""
BIN_SUMS_FRACTION = Fraction(3, 20)
"""Budget fraction of binned residuals for the sums of residuals in the bins."""
BIN_FRACTIONS = conversation.GroupBudgetFractions(
    BIN_CUTS_FRACTION, BIN_COUNTS_FRACTION, BIN_SUMS_FRACTION, BIN_MERGES_FRACTION
)
"""The budget fractions of binned residuals together; they add up to 1."""
ENVELOPE_LEVEL = 0.95
"""Probability, by default, with which the mean residual of a bin lies within the envelope if the model is right. A
larger one draws a wider envelope."""


@dataclass(frozen=True, eq=False, repr=False)
class BinnedResiduals(GroupResult):
    """The mean of label minus prediction in each bin (Gelman, Goegebeur, Tuerlinckx and Van Mechelen 2000).

    Attributes:
        prob_pred: Mean prediction of each bin, of shape ``(bins,)``.
        residual: Mean residual, of the same shape; NaN if for a right model it may be anything from -1 to 1.
        count: Records in each bin, never below zero.
        edges: Edges of the bins, of shape ``(bins + 1,)``.
        privacy: The privacy statement, which every plot shows.
        groups: The released counts and sums of the bins.
    """

    KIND = "binned-residuals"
    TITLE = "Binned residuals"
    COLUMN_WORDS = display.describe_columns(
        prob_pred="mean predicted probability",
        residual="mean residual",
        count=("records", display.CellFormat.COUNT),
        envelope="envelope",
    )
    REPR_FACTS = "{count.size} bins"
    SUMMARY = (("bins", "{count.size}"), ("outside the envelope", "{outside:.0%}"))
    COLUMNS = ("prob_pred", "residual", "count", "envelope")

    prob_pred: FloatArray
    residual: FloatArray
    count: FloatArray
    edges: FloatArray
    privacy: conversation.PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def from_counts(cls, groups: ScoreGroups, privacy: conversation.PrivacyStatement) -> BinnedResiduals:
        """Return the residuals of released bins; NaN for a bin whose residual may be anything for a right model.

        Args:
            groups: Released counts of the bins, with sums of outcomes and predictions.
            privacy: Privacy statement of the release.
        """
        released = groups.group_counts
        privacy = privacy.with_notes(*notes_on_dependence(privacy))
        count = np.maximum(released.count, 0.0)
        bins = cls(released.mean, mean_residuals(released), count, groups.grid.edges, privacy, groups)
        residual = known_values(bins.residual, (-bins.envelope, bins.envelope), -1.0, 1.0)
        return replace(bins, residual=residual)

    @cached_property
    def envelope(self) -> FloatArray:
        """Half the width of a band around zero that contains the mean residual of a bin with probability 0.95.

        It assumes that the model is right for the population and that records are independent, and accounts for noise
        and sampling. Computed on first use.
        """
        return self.envelope_at(ENVELOPE_LEVEL)

    @property
    def outside(self) -> float:
        """The share of known bins whose mean residual lies outside `envelope`: about 0.05 if the model is right."""
        return self.share_outside(self.envelope)

    def share_outside(self, envelope: FloatArray) -> float:
        """Return the share of known bins whose residual leaves this envelope, half-widths (bins,); NaN if no bin is
        known.

        Args:
            envelope: Half-width of the envelope in each bin, (bins,).
        """
        is_known = np.isfinite(self.residual)
        try:
            envelope = np.broadcast_to(np.asarray(envelope, dtype=np.float64), self.residual.shape)
        except (TypeError, ValueError, OverflowError):  # texts, None, another number of bins
            rule = f"a half-width for each of the {len(self.residual)} bins is needed, as envelope_at() returns"
            raise InvalidArgument("envelope", rule) from None
        return float((np.abs(self.residual) > envelope)[is_known].mean()) if is_known.any() else nan

    def envelope_at(self, level: float, *, generator: np.random.Generator | None = None) -> FloatArray:
        """Return the half-width within which each mean residual lies with probability `level` if the model is right.

        Args:
            level: The probability of each bin, between 0 and 1.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1, or is too near to 1 for the number of draws.
        """
        return residual_envelope(self.groups.group_counts, *self.groups.simulate_draws(generator), level)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = ENVELOPE_LEVEL,
        name: str | None = None,
        style: str | None = None,
    ) -> Axes:
        """Plot mean residuals against mean predictions, inside their envelope (`level=None`: without one).

        Args:
            ax: Axes to draw on; None: new ones.
            level: Probability of the envelope in each bin, between 0 and 1; None: no envelope.
            name: Name in the legend; None: the plot is the first of its axes.
            style: Name of a style of `dpcurves.display`; None: the current settings of matplotlib.
        """
        shades = []
        if level is not None:
            half_width = self.envelope_at(level)
            shades.append(
                Shade(-half_width, half_width, describe_interval(level, "of bins of a right model,", POPULATION))
            )
        with display.use_style(style, ax), self._keep_user_words([name] if name else []):
            axes = self._plot(shades, privacy=self.privacy, ax=ax, name=name)
            return self._finish_plot(axes, self._title(), ax, name)

    def to_frame(self, *, level: float = ENVELOPE_LEVEL) -> Any:
        """Return a data frame of the bins: ``prob_pred``, ``residual``, ``count``, and ``envelope``, the bound of
        residuals with probability `level`.
        """
        return display.to_frame({**self._columns(), "envelope": self.envelope_at(level)})

    def columns_with_intervals(
        self, *, level: float = ENVELOPE_LEVEL, population: bool = True, suppress: float | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of `to_frame`, as `to_csv` writes them; the envelope is always for the population.

        Args:
            level: Probability of the envelope in each bin, between 0 and 1.
            population: Without effect.
            suppress: See `to_csv`.
        """
        return self._format_columns(display.frame_columns(self.to_frame(level=level)), (), suppress)

    def plot_headless(
        self, *, level: float = ENVELOPE_LEVEL, population: bool = True, ax: Axes | None = None, name: str | None = None
    ) -> Axes:
        """Plot the residuals in their envelope without a display; return the axes.

        Args:
            level: Probability of the envelope in each bin, between 0 and 1.
            population: Without effect: the envelope is for the population.
            ax: Axes to draw on; None: new ones.
            name: Name in the legend.
        """
        return self.plot(ax or display.headless_axes(self.SIZE), level=level, name=name)

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Axes:
        """Draw mean residuals against mean predictions, inside their envelope; return the axes.

        Args:
            shades: The envelope as one `Shade` around 0; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """
        return display.draw_binned_residuals(self.prob_pred, self.residual, self.count, shades=shades, **how)


@dataclass(frozen=True, slots=True)
class BinnedResidualsQuestion(TableQuestion):
    """Ask for mean residuals in groups of similar scores. Four rounds (Chen 2018, Algorithms 13 and 14, amended).

    Predictions are divided into bins of about equal size by a private choice of edges; from left to right, bins are
    merged until each seems to hold `min_records` records; positives and negatives in each are counted, and distances of
    predictions from the middle of their bin are summed. A residual is a label minus a prediction, so the sum of
    residuals follows. If a trust model counts all cells in one round, these counts form bins of equal size, as many as
    seem to hold `min_records` records each.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `TreeEnsemble` that predicts them.
        model: The origin of the model, printed with the result; it has no default.
        bins: The largest number of bins. If the number of units is public, never more than twice the number of records
            divided by `min_records`.
        min_records: The smallest number of records of a bin; None: so that noise moves its mean residual by about 0.05.
        grid: Public cells that edges of bins are chosen from, between 0 and 1; outside predictions are counted apart
            and lie in no bin, for any setting of the grid.
        pos_label, neg_label: The two classes; records with another label are missing.

    Raises:
        ValueError: there are fewer than 2 bins, over 1000, less than 1 record per bin, or the grid leaves [0, 1].
        TypeError: `model` does not state the origin of the model.
    """

    label: str
    score: str | Predictor
    model: ModelOrigin
    bins: int = 16
    min_records: int | None = None
    grid: Grid = SCORES
    pos_label: Category = 1
    neg_label: Category | None = None

    def __post_init__(self) -> None:
        parse_class_labels(self.label, self.pos_label, self.neg_label)
        require_model_origin(self.model)
        object.__setattr__(self, "bins", check_group_number(self.bins, self.grid, name="bins"))
        if self.min_records is not None:
            MergePartitionQuery((Axis(self.score, self.grid),), self.min_records)

    def steps(self, setting: conversation.Setting) -> conversation.Needs[BinnedResiduals]:
        """Yield the queries: bins of the score that hold enough records, then counts of both classes and sums of
        scores in each. Return the binned residuals.

        Args:
            setting: Loss and adjacency; a public number of records limits the number of bins.
        """
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        min_records = self.min_records if self.min_records is not None else find_min_records(setting)
        bin_limit = self.bins
        if isinstance(setting.adjacency, ReplaceOne):
            records = setting.adjacency.units * setting.adjacency.unit.records
            bin_limit = max(2, min(self.bins, 2 * records // min_records))
        answer = yield from conversation.ask_workload(
            conversation.ScoreGroupWorkload(
                classes, Axis(self.score, self.grid), bin_limit, BIN_FRACTIONS, min_records
            ),
            conversation.WHOLE_BUDGET,
        )
        privacy = build_privacy_statement(answer.releases, self.model.value).with_notes(
            *notes_on_classes(answer.counts, classes)
        )
        columns = ScoredColumns.from_question(self.score, self.label)
        return BinnedResiduals.from_counts(build_score_groups(answer, columns, bin_limit, min_records), privacy)

    def __str__(self) -> str:
        return f"binned residuals of {self.score} for {self.label}"


def find_min_records(setting: conversation.Setting) -> int:
    """Return the number of records of a bin with which noise moves its mean residual by about 0.05.

    Args:
        setting: Loss and adjacency of the question.
    """
    # a noise of 0.05 residuals
    return max(1, ceil(count_noise_deviation(setting.loss * BIN_COUNTS_FRACTION, setting) / 0.05))
