"""Compare two models on the same records: differences of AUC, average precision, Brier score and net benefit.

`ModelPairQuestion` asks for the counts of both scores by class, and `ModelPair` holds the metrics of each model and
their differences, first minus second. If both scores are counted in one table, the covariance of their sampling errors
is known, as in the test of DeLong, DeLong and Clarke-Pearson (1988). With one table per score the intervals assume the
worst case. Scores are rounded to cells.

Formal guarantees: a record lies in one cell of each table. All metrics are post-processing of the noisy counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import hypot, prod, sqrt
from typing import Any

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    check_common_arguments,
    parse_choice,
    require_integer,
    require_number,
    require_sequence,
    require_type,
)
from dpcurves.arrays import FloatArray
from dpcurves.conversation import WHOLE_BUDGET, CellWorkload, Needs, Setting, ask_workload
from dpcurves.conversation.workload import TableCounts
from dpcurves.curves.by_category import collect_by_category, describe_grouping, split_rows
from dpcurves.curves.class_table import Metric, find_discretization_error
from dpcurves.curves.outside import separate_outside
from dpcurves.curves.question import (
    By,
    TableQuestion,
    build_privacy_statement,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
)
from dpcurves.curves.scores import Scores
from dpcurves.data import Axis, Grid, Values
from dpcurves.data.axis import Category, Predictor
from dpcurves.data.grid import middles_of, require_clipped
from dpcurves.inference.moments import IntervalEstimate
from dpcurves.summaries.two_classes import average_precision, brier_score

from .counted_numbers import (
    CountedNumbers,
    Statistic,
    Tables,
    compute_auc,
    divide_counts,
    find_slot_shapes,
    format_statistic,
    mask_empty,
    require_few_counts,
)

PROBABILITY_CELLS = Grid(0, 1, cells=100)
"""Default cells of predicted probabilities: 100 of equal width. More resolve scores better, with more noise in all."""


@dataclass(frozen=True)
class Tuning:
    """Numbers of the forecast error that chooses cells and releases."""

    rounding_error: float = 0.2
    """Error of the difference of two areas by rounding scores to c even cells, times c squared; measured."""
    noise_factor: float = 1.155
    """Ratio of the noise of the difference, times the records, to the cells times the noise of a count."""
    usual_records: int = 5000
    """Records: assumed where their number is private."""
    paired_error: float = 0.4
    """Sampling error of a difference whose covariance is known, times the square root of the records."""
    worst_error: float = 1.2
    """Sampling error of two areas whose covariance is unknown, so in the worst case, times the same root."""
    least_cells: int = 4
    """Least number of cells of a score, if the number is chosen automatically."""
    most_cells: int = 128
    """Largest number of cells of a score, if the number is chosen automatically."""


TUNING = Tuning()
"""Default numbers of the forecast error that chooses cells and releases."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelPair(CountedNumbers):
    """Two models of the same labels: numbers of each, and their differences, first minus second.

    If both scores of a record were counted together, the covariance of both sampling errors is known, as in the test of
    DeLong, DeLong and Clarke-Pearson (1988); with two releases the interval assumes the worst case. Scores are rounded
    to their cells, and tied there; intervals are for these rounded scores. `resolution` bounds how far rounding moves
    the difference of areas.
    """

    KIND = "model-pair"
    TITLE = "Two models: {question.first} minus {question.second}"
    REPR_FACTS = "AUC difference {difference:.3f}"
    CLIPS_OUTSIDE = False

    @property
    def difference(self) -> float:
        """The area of the first model minus the area of the second."""
        return self.value("auc difference")

    def _number_titles(self) -> list[str]:
        """Return the title of each statistic for readers, with the name of its model.

        Returns:
            Titles in the order of the statistics.
        """
        titles = []
        for name in self._statistics:
            statistic, _, model = name.partition(", ")
            words = format_statistic(statistic)
            titles.append(f"{words}, {getattr(self.question, model)}" if model else words)
        return titles

    def _row_names(self) -> list[str]:
        """Return the label of each row of the forest plot; titles of differences are cut, because the axis names the
        models.
        """
        return [title.removesuffix(" difference") for title in self._number_titles()]

    def _axis_title(self, null_value: float | None) -> str:
        """Return the label of the x axis of a panel of the forest plot: the names of both models, or of their
        difference.

        Args:
            null_value: None for statistics of single models; a number for differences, their value without a
                difference.
        """
        first, second = self.question.first, self.question.second
        return f"{first} and {second}" if null_value is None else f"difference: {first} minus {second}"

    @property
    def resolution(self) -> float:
        """Upper bound of the change of the difference of areas by rounding scores to cells: half of the share of tied
        pairs, summed over both models; 0 for declared values.
        """
        grids = self.question.grid, self.question.grid_of_second
        tied_shares = [
            0.0
            if isinstance(grid, Values)
            else float(divide_counts((counts[0] * counts[1]).sum(), np.prod(counts.sum(axis=-1)))) / 2
            for counts, grid in zip(_sum_to_margins(self._likely_tables), grids, strict=True)
        ]
        return sum(tied_shares)


@dataclass(frozen=True, slots=True)
class ModelPairQuestion(TableQuestion):
    """Ask how two models of the same labels differ: areas, average precision, Brier scores, net benefit. One round.

    One table counts both scores of each record. If noise is large for the number of records, its cells are merged: to
    the number that minimises the forecast error of the difference of areas, noise plus rounding. Two releases of one
    score each, with half of the loss, do not release the covariance of both sampling errors. They are chosen where
    noise dominates: where the forecast interval for the population is narrower, such as for a million records at
    epsilon 0.01 (`benchmarks/judging_models.py ways`); if a unit has several records, the interval for these records
    decides.

    Formal guarantees: a record with any label and scores lies in one cell of each table; each of two tables has half of
    the loss. Cells and releases are chosen by public facts alone.

    Attributes:
        label: The column of true labels.
        first: The column of the first model's scores, or a `Scorecard` or `TreeEnsemble`; high scores are positive.
        second: The column of the second model's scores, or its `Scorecard` or `TreeEnsemble`.
        grid: Public cells of the first scores. Records with a score outside are left out, and a note gives their
            number.
        second_grid: Public cells of the second scores; None: the same.
        cells: The number of cells of each score after merging; None: chosen by the forecast. Declared values are never
            merged.
        releases: 1: both scores together, which two servers and the local model need; 2: one after the other; None:
            chosen by the forecast, 1 if `cells` are given.
        thresholds: Threshold probabilities of net benefit.
        by: Public categories: one result for each, all together at the privacy loss of one.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: A statement about the models, printed with the result.

    Raises:
        ValueError: both classes are equal, there are over 32,768 counts, or a threshold is not between 0 and 1.
        TypeError: a grid is no `Grid`.
    """

    label: str
    first: str | Predictor
    second: str | Predictor
    grid: Grid = PROBABILITY_CELLS
    second_grid: Grid | None = None
    cells: int | None = None
    thresholds: tuple[float, ...] = ()
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the models are taken as public"
    releases: int | None = None

    def __post_init__(self) -> None:
        for name, grid, score in (("grid", self.grid, self.first), ("second_grid", self.grid_of_second, self.second)):
            Axis(score, require_clipped(name, grid))
        parse_grouping(self.by)
        negative, positive = parse_class_labels(self.label, self.pos_label, self.neg_label).values
        object.__setattr__(self, "pos_label", positive)
        object.__setattr__(self, "neg_label", negative if self.neg_label is not None else None)
        if str(self.first) == str(self.second):
            raise InvalidArgument("second", "must differ from first: name the scores of the second model")

        # A frozen dataclass stores the numbers in one type, so that equal questions have equal fingerprints.
        if self.cells is not None:
            object.__setattr__(self, "cells", require_integer("cells", self.cells))
            if self.cells < 2:
                raise InvalidArgument("cells", f"must be at least 2 cells, as in 64, got {self.cells}")
        if self.releases is not None:
            object.__setattr__(self, "releases", require_integer("releases", self.releases))
            if self.releases not in (1, 2):
                raise InvalidArgument(
                    "releases",
                    "must be 1 (joint counts of both scores), 2 (counts of each model), or left out, got "
                    f"{self.releases}",
                )

        thresholds = require_sequence("thresholds", self.thresholds, "threshold probabilities, as in (0.2,)")
        object.__setattr__(self, "thresholds", tuple(require_number("thresholds", grid) for grid in thresholds))
        if not all(0 < grid < 1 for grid in self.thresholds):
            raise InvalidArgument("thresholds", "threshold probabilities must be between 0 and 1, as in 0.2")
        if self.cells is not None or isinstance(self.grid, Values):
            require_few_counts(self.shapes(), "grid")

    @property
    def grid_of_second(self) -> Grid:
        """The cells of the second score."""
        return self.grid if self.second_grid is None else self.second_grid

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of each table: (classes, cells, cells) for both scores together, or (classes, cells) for
        each.
        """
        first, second = (grid.cells for grid in self._coarsen_grids())
        return ((2, first, second),) if self.releases != 2 else ((2, first), (2, second))

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return (2,) if self.releases != 2 else (1, 1)

    def statistics(self) -> Mapping[str, Statistic]:
        """Return by name the metrics of each model, and their differences, first minus second.

        Returns:
            ``METRIC difference``, ``METRIC, first`` and ``METRIC, second`` for each metric.
        """
        statistics = dict[str, Statistic]()
        grids = self._coarsen_grids()
        for name, compute in _make_readings(grids, self.thresholds).items():

            def compute_for_side(tables: Tables, side: int, compute: Any = compute) -> FloatArray:
                """Return a metric of one of the two models.

                Args:
                    tables: Counts of one joint table of both scores, or of two tables.
                    side: Index of the model, 0 or 1.
                    compute: The metric: a function of the counts along one score and the index of the model.
                """
                return np.asarray(compute(_sum_to_margins(tables)[side], side))

            def compute_difference(tables: Tables, compute_for_model: Any = compute_for_side) -> FloatArray:
                """Return the statistic of the first model minus the statistic of the second model.

                Args:
                    tables: Counts of one table of both scores, or of two tables.
                    compute_for_model: Function of the tables and the index of the model.
                """
                return np.asarray(compute_for_model(tables, 0) - compute_for_model(tables, 1))

            least = -np.inf if name.startswith("net") else 0.0
            statistics[f"{name} difference"] = Statistic(compute_difference, least - 1, 1.0, 0.0)
            for side, model_name in enumerate(("first", "second")):
                statistics[f"{name}, {model_name}"] = Statistic(partial(compute_for_side, side=side), least)
        return statistics

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the queries of two models' scores by class: one joint table of both scores, or one table for each
        score.

        `choose_design` picks the number of tables and the cells from public facts, by the expected error.

        Args:
            setting: Privacy loss and adjacency.
        """
        design = choose_design(self, setting)
        require_few_counts(design.shapes(), "grid")
        scores = [
            Axis(column, separate_outside(grid))
            for column, grid in zip((self.first, self.second), design._coarsen_grids(), strict=True)
        ]
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)

        # Joint counts show how the scores are related; two releases have less noise for each model alone.
        tables = [[axis] for axis in scores] if design.releases == 2 else [scores]
        answers = list[TableCounts]()
        for axes in tables:
            budget_fraction = WHOLE_BUDGET / (design.releases or 1)
            workload = CellWorkload(prepend_category_axes(self.by, classes, *axes))
            answers.append((yield from ask_workload(workload, budget_fraction)))

        privacy = build_privacy_statement([release for answer in answers for release in answer.releases], self.model)
        first_grid, second_grid = design._coarsen_grids()
        if first_grid.cells < self.grid.cells or second_grid.cells < self.grid_of_second.cells:
            privacy = privacy.with_notes(
                f"scores are rounded to {design.cells} cells, and intervals are of such scores"
            )
        privacy = privacy.with_notes(*_describe_thresholds(design))

        # Each category has its own rows in each table.
        rows: Any = [answer.counts for answer in answers]
        if self.by is not None:
            sizes = (prod(shape[:-1]) for shape in find_slot_shapes(design))
            rows = [split_rows(counts, size) for counts, size in zip(rows, sizes, strict=True)]
        evidence_by_category = [tuple(rows)] if self.by is None else zip(*rows, strict=True)
        return collect_by_category(self.by, (ModelPair(design, evidence, privacy) for evidence in evidence_by_category))

    def _coarsen_grids(self) -> tuple[Grid, Grid]:
        """Return the grids of the first and the second score, with neighbouring cells merged to `cells` cells."""
        return coarsen_grid(self.grid, self.cells), coarsen_grid(self.grid_of_second, self.cells)

    def __str__(self) -> str:
        return f"models {self.first} and {self.second} for {self.label}{describe_grouping(self.by)}"


def _describe_thresholds(question: ModelPairQuestion) -> tuple[str, ...]:
    """Return a note on each threshold of net benefit that is no edge: scores from the next edge are flagged.

    Args:
        question: Grids and thresholds.

    Returns:
        Notes, first model first.
    """
    notes = list[str]()
    for side, grid in zip(("first", "second"), question._coarsen_grids(), strict=True):
        cell_starts = grid.edges[:-1]
        if grid.values is not None or len(cell_starts) == 0:
            continue
        for threshold in question.thresholds:
            index = int(np.searchsorted(cell_starts, threshold - 1e-12))
            cell_start = float(cell_starts[index]) if index < len(cell_starts) else float(grid.edges[-1])
            if abs(cell_start - threshold) > 1e-9:
                notes.append(
                    f"net benefit at {threshold:g}: scores of the {side} model are flagged from {cell_start:.10g}, "
                    "where the next cell begins"
                )
    return tuple(notes)


def choose_design(question: ModelPairQuestion, setting: Setting) -> ModelPairQuestion:
    """Return the question with the number of tables and of cells that have the smallest forecast error.

    Only public facts are used. The noise of a difference of areas grows with the number of cells of one table of both
    scores. It grows with the root of that number for two tables of one score each, whose noise has half of the loss. If
    both scores are counted together, the covariance of their sampling errors is known, which makes intervals for the
    population narrower.

    Args:
        question: The question, whose number of cells or of tables may be open.
        setting: Loss and adjacency of the question.
    """
    if question.cells is not None:
        return question
    records = max(setting.adjacency.public_record_count or TUNING.usual_records, 1)
    most_cells = min(max(question.grid.cells, question.grid_of_second.cells, TUNING.least_cells), TUNING.most_cells)
    cells_tried = np.arange(TUNING.least_cells, most_cells + 1)
    sampling_factors = (TUNING.paired_error, TUNING.worst_error) if setting.adjacency.unit.records == 1 else (0.0, 0.0)
    designs = list[tuple[float, int, int]]()
    for releases, sampling_factor in zip((1, 2), sampling_factors, strict=True):
        noise = TUNING.noise_factor * sqrt(float(setting.count_noise(WHOLE_BUDGET / releases).variance)) / records
        errors = np.hypot(noise * cells_tried ** (1 / releases), TUNING.rounding_error / cells_tried**2)
        designs.append(
            (hypot(float(errors.min()), sampling_factor / sqrt(records)), releases, int(cells_tried[np.argmin(errors)]))
        )
    _, releases, cells = min(design for design in designs if question.releases in (None, design[1]))
    return replace(question, cells=cells, releases=2 if releases == 2 else question.releases)


def coarsen_grid(grid: Grid, cells: int | None) -> Grid:
    """Return the grid with neighbouring cells merged evenly. Declared values are never merged.

    Args:
        grid: The grid.
        cells: Number of cells of the result. None, or no fewer than the grid has: the grid is returned unchanged.
    """
    if cells is None or isinstance(grid, Values) or cells >= grid.cells:
        return grid
    edge_indices = np.linspace(0, grid.cells, cells + 1).round().astype(np.int64)
    return Grid.from_edges(np.asarray(grid.edge(edge_indices)).tolist())


def _sum_to_margins(tables: Tables) -> tuple[FloatArray, FloatArray]:
    """Return the marginal counts of each of both scores by class, shape (..., 2, cells) each.

    Args:
        tables: One joint table of shape ``(..., 2, cells, cells)``, or two of shape ``(..., 2, cells)``.
    """
    if len(tables) == 2:
        return tables[0], tables[1]
    return tables[0].sum(axis=-1), tables[0].sum(axis=-2)


def _make_readings(
    grids: tuple[Grid, Grid], thresholds: tuple[float, ...]
) -> dict[str, Callable[[FloatArray, int], FloatArray]]:
    """Return the metrics of a model by name, each a function from counts (..., 2, cells) and the index of the model.

    Brier score and net benefit are included only if scores lie between 0 and 1.

    Args:
        grids: Cells of both scores.
        thresholds: Threshold probabilities of net benefit.

    Returns:
        Metric by name; each function returns values of shape (...).
    """
    middles = [middles_of(grid) for grid in grids]
    cell_starts = [grid.edges[:-1] for grid in grids]
    cell_starts = [
        starts if grid.values is None else grid.values for starts, grid in zip(cell_starts, grids, strict=True)
    ]
    metrics: dict[str, Callable[[FloatArray, int], FloatArray]] = {
        "auc": lambda cells, side: compute_auc(cells[..., 0, :], cells[..., 1, :]),
        "average precision": lambda cells, side: mask_empty(average_precision(cells), cells[..., 1, :].sum(axis=-1)),
    }
    if all(grid.endpoints[0] >= 0 and grid.endpoints[1] <= 1 for grid in grids):
        metrics["brier score"] = lambda cells, side: mask_empty(
            brier_score(cells, middles[side]), cells.sum(axis=(-2, -1))
        )
        for threshold in thresholds:
            metrics[f"net benefit at {threshold:g}"] = partial(
                _compute_net_benefit, threshold=threshold, firsts=cell_starts
            )
    return metrics


def _compute_net_benefit(cells: FloatArray, side: int, *, threshold: float, firsts: list[FloatArray]) -> FloatArray:
    """Return the net benefit, per record, of acting on scores from the first cell that begins at or above the
    threshold.

    Args:
        cells: Counts of both classes by cell of the score, (..., 2, cells).
        side: Index of the model.
        threshold: Threshold probability.
        firsts: Lower edges of the cells of each model's score.
    """
    starts = firsts[side]
    index = int(np.searchsorted(starts, threshold - 1e-12)) if len(starts) else 0
    flagged = cells[..., index:].sum(axis=-1)
    return divide_counts(flagged[..., 1] - flagged[..., 0] * threshold / (1 - threshold), cells.sum(axis=(-2, -1)))


@check_common_arguments
def metric_difference(
    first: Scores, second: Scores, metric: Metric | str, level: float, *, population: bool = False
) -> IntervalEstimate:
    """Return a metric of one model minus the same metric of another, from two releases of scores of the same records.

    Noises are independent. Sampling errors are not, and their covariance is not released: the interval assumes the
    worst case, so the interval for the population has at least the stated coverage. A `ModelPairQuestion` counts both
    scores together, and is narrower.

    Args:
        first: Released scores of one model.
        second: Released scores of another, for the same records and labels.
        metric: A member of `Metric`, or its name, such as "auc".
        level: The confidence level.
        population: Whether the interval is for the population, not for these records.

    Returns:
        The difference, and the lower and upper endpoint of its interval.

    Raises:
        TypeError: `first` or `second` is no `Scores`.
        ValueError: `metric` is unknown; `level` is not between 0 and 1; or, with `population`, a unit may have several
            records.

    >>> import dpcurves as dp
    >>> spent = {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> one, other = (dp.scores([0, 0, 1, 1] * 500, [0.1, high, 0.6, 0.9] * 500, **spent) for high in (0.2, 0.7))
    >>> dp.metric_difference(one, other, "auc", 0.9).upper > 0
    True
    """
    metric = parse_choice("metric", metric, Metric)
    sides = list[tuple[IntervalEstimate, float, float]]()
    for name, scores in (("first", first), ("second", second)):
        require_type(name, scores, Scores, "scores, as dp.scores gives them,")
        value = scores.value(metric)
        discretization_error = find_discretization_error(scores.table, metric)
        estimate = IntervalEstimate(value, *scores.interval(metric, level), *discretization_error)
        population_estimate = estimate
        if population:
            ends = scores.interval(metric, level, population=True)
            population_estimate = IntervalEstimate(value, *ends, *discretization_error)

        # What the interval for the population is wider by, in squares, is the sampling error.
        sampling_below = sqrt(max(population_estimate.error_below**2 - estimate.error_below**2, 0.0))
        sampling_above = sqrt(max(population_estimate.error_above**2 - estimate.error_above**2, 0.0))
        sides.append((estimate, sampling_below, sampling_above))

    # Noise of two releases is independent; both samples may be the same records, so sampling errors add up at worst.
    (one, one_down, one_up), (other, other_down, other_up) = sides
    value = one.value - other.value
    below = one.gap_below + other.gap_above
    above = one.gap_above + other.gap_below
    lower = value - below - hypot(one.error_below, other.error_above, one_down + other_up)
    upper = value + above + hypot(one.error_above, other.error_below, one_up + other_down)
    return IntervalEstimate(value, lower, upper, below, above)
