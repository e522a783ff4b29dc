"""Compare several models on the same records: their areas under the ROC curve, and the difference of each pair.

`ModelComparisonQuestion` asks for the counts, and `ModelComparison` holds the areas, the differences and their
intervals. The area of a model is the mean over all tables that count its score.

`choose_design` chooses the counted tables by a forecast of the error:

- pairs: for each pair of models, the joint table of both scores. The covariance of sampling errors is then known.
- scores: one table per model. Counts have less noise, but intervals for the population assume the worst covariance.

Intervals of all areas hold together, and so do intervals of all differences. With m numbers, each interval has the
level ``level**(1/m)`` (Sidak 1967).

Also called: model selection, leaderboard, DeLong test of several ROC curves.

Formal guarantees: each table gets an equal fraction of the loss (basic composition), and a record lies in one cell of
each. The design is a function of public facts.

References: DeLong, DeLong and Clarke-Pearson 1988; Sidak 1967.

>>> counts = np.array([[3.0, 1.0], [1.0, 3.0]])[:, :, None]  # classes, cells of the first score, one cell of the second
>>> float(_compute_pair_difference(counts))  # areas of 3/4 and 1/2
0.25
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import hypot, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument, require_integer, require_probability, require_sequence
from dpcurves.arrays import FloatArray
from dpcurves.conversation import WHOLE_BUDGET, CellWorkload, Needs, Setting
from dpcurves.curves.outside import separate_outside
from dpcurves.curves.question import TableQuestion, parse_class_labels
from dpcurves.data import Axis, Grid, Values
from dpcurves.data.axis import Category
from dpcurves.data.grid import require_clipped
from dpcurves.display.groups import draw_curves
from dpcurves.inference.simulation import numbered_generator

from .counted_numbers import TABLE_STREAM, CountedNumbers, Tables, ask_tables, compute_auc, require_few_counts
from .model_pairs import PROBABILITY_CELLS, TUNING, Tuning, coarsen_grid
from .rates_by_group import adjust_level

FIRST, SECOND = -2, -1  # axes of both scores in a table of a pair


class ComparedArea(NamedTuple):
    """An area, or a difference of two areas, as a function of the counts of all tables.

    Attributes:
        compute: Function from tables of shape (..., *shape) to numbers of shape (...); NaN if a class has no records.
        sampled: Function of a single table that counts all its models together, with the index of that table;
            None: no table counts them together.
        minimum, maximum: Bounds of the number.
        null_value: Value if both models are equally good; None: the number is no difference.
    """

    compute: Callable[[Tables], FloatArray]
    sampled: tuple[Callable[[FloatArray], FloatArray], int] | None
    minimum: float = 0.0
    maximum: float = 1.0
    null_value: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(CountedNumbers):
    """Areas under the ROC curves of several models of the same labels, and the difference of each pair.

    Intervals of all areas hold together, and so do intervals of all differences: each is at the level of Sidak (1967),
    which suffices for any correlation of normal errors. If the scores of each pair were counted together, the
    covariance of their sampling errors is known; else intervals for the population assume the worst case. Scores are
    rounded to their cells, and tied there; intervals are for these rounded scores.
    """

    KIND = "model-comparison"
    TITLE = "Several models: areas under the ROC curves, and differences"
    REPR_FACTS = "{models_text}, best {best}"
    INTERVAL_NAME = "simultaneous intervals"
    CLIPS_OUTSIDE = False

    @property
    def models_text(self) -> str:
        """Number of models as printed in summaries."""
        return f"{len(self.question.scores)} models"

    @property
    def areas(self) -> Mapping[str, float]:
        """The area of each model by its column, NaN where it is not known."""
        return {score: self.value(f"auc, {score}") for score in self.question.scores}

    @property
    def best(self) -> str:
        """The model with the largest area; "not known" if no area is known."""
        known = {score: area for score, area in self.areas.items() if np.isfinite(area)}
        return max(known, key=lambda score: known[score]) if known else "not known"

    def difference(self, first: str, second: str) -> float:
        """Return the area of one model minus the area of another.

        Args:
            first: Column of the scores of the first model.
            second: Column of the scores of the model whose area is subtracted.

        Returns:
            The difference; NaN where it is not known.

        Raises:
            ValueError: a name is no column of scores, or both are equal.
        """
        name, sign = self._find_difference(first, second)
        return sign * self.value(name)

    def difference_interval(
        self, first: str, second: str, level: float, *, population: bool = False
    ) -> tuple[float, float]:
        """Return the interval of the area of one model minus the area of another; intervals of all pairs hold together.

        Args:
            first: Column of scores of one model.
            second: Column of scores of the other model.
            level: Probability that all these intervals contain their differences, between 0 and 1.
            population: Whether intervals cover the population's areas rather than the areas of these records.

        Raises:
            ValueError: a name is no column of scores, both are equal, or `level` is not between 0 and 1.
        """
        name, sign = self._find_difference(first, second)
        low, high = self.intervals(level, population=population)[self.names.tolist().index(name)].tolist()
        return (low, high) if sign > 0 else (-high, -low)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Return the endpoints of all numbers in order: of areas together, and of differences together, at `level`.

        Args:
            level: Confidence level of all areas together, and of all differences together.
            population: If True, the intervals are for the population.

        Returns:
            Lower and upper endpoints, of shape ``(numbers, 2)``.
        """
        level = require_probability("level", level)
        models = len(self.question.scores)
        quantile = NormalDist().inv_cdf
        factors = {
            is_difference: quantile((1 + adjust_level(count, level)) / 2) / quantile((1 + level) / 2)
            for is_difference, count in ((False, models), (True, models * (models - 1) // 2))
        }
        ends = []
        for name, statistic in self._statistics.items():
            (low, high), value = self.interval(name, level, population=population), self.value(name)
            # Widened as for normal errors, because a level this near to 1 needs more draws than there are.
            factor = factors[statistic.null_value is not None]
            if np.isfinite(value):
                low = value - factor * (value - low)
                high = value + factor * (high - value)
            ends.append((max(low, statistic.minimum), min(high, statistic.maximum)))
        return np.array(ends)

    def _row_names(self) -> list[str]:
        """Return the labels of the rows of a forest plot: the model of each area, or both models of each difference."""
        return [name.removeprefix("auc, ") for name in self._statistics]

    def _axis_title(self, null_value: float | None) -> str:
        """Return the label of the x axis of a panel of the forest plot: of areas, or of differences of areas.

        Args:
            null_value: None for areas; a number for differences, their value without a difference.
        """
        return "area under the ROC curve (AUC)" if null_value is None else "difference of areas under the ROC curves"

    def plot_roc(self, ax: Any = None) -> Any:
        """Plot the ROC curve of each model, and return the axes.

        Args:
            ax: Axes to draw on; None: a new figure, which gets a title.
        """
        curves = {}
        for index, score in enumerate(self.question.scores):
            tables = self.question.find_tables(index)
            counts = sum(_sum_to_margin(self._likely_tables[table], axis) for table, axis in tables)
            rates = [np.append(0.0, np.cumsum(row[::-1])) for row in np.asarray(counts)]
            curves[score] = tuple(rate / rate[-1] if rate[-1] > 0 else np.full_like(rate, np.nan) for rate in rates)
        axes = draw_curves(curves, self.privacy, labels=("false positive rate", "true positive rate"), ax=ax)  # type: ignore[arg-type]
        return self._finish_plot(axes, "ROC curves of several models", ax)

    def _find_difference(self, first: str, second: str) -> tuple[str, int]:
        """Return the name and the sign under which the difference of two models' areas is stored.

        Args:
            first, second: Columns of the models' scores.

        Returns:
            Name of the stored difference, and 1; or -1 if it is the second model minus the first.

        Raises:
            InvalidArgument: a name is no model, or both are the same.
        """
        scores = self.question.scores
        for name, score in (("first", first), ("second", second)):
            if not isinstance(score, str) or score not in scores:
                raise InvalidArgument(name, f"must be one of {', '.join(scores)}")
        if first == second:
            raise InvalidArgument("second", "must differ from first: name another model")
        is_in_order = scores.index(first) < scores.index(second)
        names = (first, second) if is_in_order else (second, first)
        return f"auc, {names[0]} minus {names[1]}", 1 if is_in_order else -1

    def _simulate_errors(self, statistic: Any, *, population: bool) -> FloatArray:
        """Return simulated errors of a statistic. Sampling errors are simulated from one table, because all tables have
        the same records.

        Args:
            statistic: Statistic with its function of the tables.
            population: Whether sampling errors are added to the errors by noise.

        Returns:
            Errors, (draws,).
        """
        if not population or statistic.sampled is None:
            return super()._simulate_errors(statistic, population=population)
        compute, index = statistic.sampled
        table = self._tables[index]
        noise = super()._simulate_errors(statistic, population=False)
        deviation = float(np.std(compute(table.likely_counts + table.sampling_noise)))
        return np.asarray(noise + deviation * numbered_generator(TABLE_STREAM - 1).standard_normal(len(noise)))


@dataclass(frozen=True, slots=True)
class ModelComparisonQuestion(TableQuestion):
    """Ask how well each of several models ranks the same records, and how their areas differ. One round for each table.

    With ``releases="pairs"`` one table for each pair counts both scores of each record, so that the covariance of their
    sampling errors is known. With ``releases="scores"`` one table counts each score; that has less noise, but intervals
    of differences for the population assume the worst case. The way and the number of cells are those with the smallest
    forecast error of a difference, from public facts alone.

    Formal guarantees: a record lies in one cell of each table; tables have equal fractions of the loss, and their
    losses add up to it. Cells and tables are chosen by public facts alone.

    Attributes:
        label: The column of true labels.
        scores: The columns of the models' scores, 3 to 8; high scores are positive.
        grid: Public cells of all scores. Records with a score outside are left out, and a note gives their number.
        cells: The number of cells of each score after merging; None: chosen by the forecast. Declared values are never
            merged.
        releases: pairs, scores, or None: chosen by the forecast.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: A statement about the models, printed with the result.

    Raises:
        ValueError: the number of scores lies outside its range, two are equal, both classes are equal, or a table has
            over 32,768 counts.
        TypeError: the grid is no `Grid`.

    >>> import dpcurves as dp
    >>> table = {"late": [0, 1] * 900, "a": [0.2, 0.8] * 900, "b": [0.4, 0.6, 0.6, 0.6] * 450, "c": [0.5] * 1800}
    >>> question = dp.ModelComparisonQuestion("late", ("a", "b", "c"), dp.Grid(0, 1, cells=10))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     models = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> models.difference("a", "c") > 0.3
    True
    >>> models.models_text, models.best, models.areas["a"] > 0.9
    ('3 models', 'a', True)
    >>> question.has_pairs, question.members(), question.find_tables(2)
    (True, ((0, 1), (0, 2), (1, 2)), [(1, -2), (2, -2)])
    """

    label: str
    scores: tuple[str, ...]
    grid: Grid = PROBABILITY_CELLS
    cells: int | None = None
    releases: str | None = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the models are taken as public"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", require_sequence("scores", self.scores, "columns, as in ('p_a', 'p_b')"))
        require_clipped("grid", self.grid)
        for score in self.scores:
            Axis(score, self.grid)
        most_models = 8  # largest number of models; they form 28 pairs
        if not 3 <= len(self.scores) <= most_models:
            raise InvalidArgument("scores", f"3 to {most_models} columns are needed; for two, ask a ModelPairQuestion")
        if len(set(self.scores)) < len(self.scores):
            raise InvalidArgument("scores", "must be different columns: name each column once")
        negative, positive = parse_class_labels(self.label, self.pos_label, self.neg_label).values
        object.__setattr__(self, "pos_label", positive)
        object.__setattr__(self, "neg_label", negative if self.neg_label is not None else None)
        if self.cells is not None:
            object.__setattr__(self, "cells", require_integer("cells", self.cells))
            if self.cells < 2:
                raise InvalidArgument("cells", f"must be at least 2 cells, as in 64, got {self.cells}")
        if self.releases not in (None, "pairs", "scores"):
            raise InvalidArgument(
                "releases", "must be pairs (joint counts of each pair of models) or scores (counts of each model)"
            )
        if self.cells is not None or isinstance(self.grid, Values):
            require_few_counts(self.shapes(), "grid")

    @property
    def has_pairs(self) -> bool:
        """Whether the scores of each pair of models are counted in one joint table, not each in its own."""
        return self.releases != "scores"

    def members(self) -> tuple[tuple[int, ...], ...]:
        """Return the indices of the models whose scores each counted table contains: two for joint tables, else one."""
        models = range(len(self.scores))
        return tuple(combinations(models, 2)) if self.has_pairs else tuple((index,) for index in models)

    def find_tables(self, model: int) -> list[tuple[int, int | None]]:
        """Return which counted tables contain the scores of a model, each with the axis of the other model's scores.

        Args:
            model: Index of the model in `scores`.

        Returns:
            Pairs of the index of the table and the axis; None as axis: the table counts scores of this model alone.
        """
        return [
            (table, None if len(group) == 1 else SECOND if group[0] == model else FIRST)
            for table, group in enumerate(self.members())
            if model in group
        ]

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of each counted table: two classes, by the cells of one score or of two scores counted
        together.
        """
        cells = coarsen_grid(self.grid, self.cells).cells
        return tuple((2, *(cells for _ in group)) for group in self.members())

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return tuple(len(group) for group in self.members())

    def statistics(self) -> Mapping[str, ComparedArea]:
        """Return the area of each model, and the difference of each pair, by name.

        Returns:
            ``auc, COLUMN`` for each model, then ``auc, COLUMN minus COLUMN`` for each pair.
        """
        return dict(self._list_statistics())

    def _list_statistics(self) -> Iterator[tuple[str, ComparedArea]]:
        """Yield name and definition of each statistic: the area of each score, and the difference of each pair of
        areas.
        """
        areas = [partial(_compute_mean_area, places=self.find_tables(index)) for index in range(len(self.scores))]
        for index, score in enumerate(self.scores):
            table, axis = self.find_tables(index)[0]
            yield f"auc, {score}", ComparedArea(areas[index], (partial(_compute_area, other_axis=axis), table))
        for first, second in combinations(range(len(self.scores)), 2):
            name = f"auc, {self.scores[first]} minus {self.scores[second]}"
            pair = (_compute_pair_difference, self.members().index((first, second))) if self.has_pairs else None
            compute = partial(_subtract_areas, first=areas[first], second=areas[second])
            yield name, ComparedArea(compute, pair, -1.0, 1.0, 0.0)

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the queries: one table of class by score for each model, or one joint table for each pair of models,
        each with an equal budget fraction; return `ModelComparison`. If the design needs a coarser grid, a note
        reports this.

        Args:
            setting: Loss and adjacency, by which `choose_design` picks tables and cells.
        """
        design = choose_design(self, setting)
        require_few_counts(design.shapes(), "grid")
        grid = separate_outside(coarsen_grid(self.grid, design.cells))
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        tables = []
        for group in design.members():
            score_axes = [Axis(self.scores[index], grid) for index in group]
            tables.append(CellWorkload((classes, *score_axes)))
        models: ModelComparison = yield from ask_tables(ModelComparison, design, tables)
        if grid.cells >= self.grid.cells:
            return models
        note = f"scores are rounded to {design.cells} cells, and intervals are of such scores"
        return replace(models, privacy=models.privacy.with_notes(note))

    def __str__(self) -> str:
        return f"models {', '.join(self.scores)} for {self.label}"


def choose_design(
    question: ModelComparisonQuestion, setting: Setting, tuning: Tuning = TUNING
) -> ModelComparisonQuestion:
    """Return the question with the tables and cells of the smallest forecast error of a difference of areas.

    The noise of an area grows with the root of the number of cells of its tables, and falls with the root of their
    number.

    Args:
        question: The question; `cells` and `releases` (one table for each model or for each pair) are kept if it fixes
            them.
        setting: Loss and adjacency; a private number of records is taken as `Tuning.usual_records`.
        tuning: Constants of the forecast.
    """
    records = max(setting.adjacency.public_record_count or tuning.usual_records, 1)
    cells_tried = np.arange(
        tuning.least_cells, min(max(question.grid.cells, tuning.least_cells), tuning.most_cells) + 1
    )
    if question.cells is not None:
        cells_tried = np.array([question.cells])
    designs = list[tuple[float, str, int]]()
    for releases, axes, sampling_factor in (("pairs", 2, tuning.paired_error), ("scores", 1, tuning.worst_error)):
        design = replace(question, cells=tuning.least_cells, releases=releases)
        deviation = sqrt(float(setting.count_noise(WHOLE_BUDGET / len(design.members())).variance))
        noise = tuning.noise_factor * deviation / records / sqrt(len(design.find_tables(0)))
        errors = np.hypot(noise * cells_tried ** (axes / 2), tuning.rounding_error / cells_tried**2)
        sampling = sampling_factor / sqrt(records) if setting.adjacency.unit.records == 1 else 0.0
        designs.append((hypot(float(errors.min()), sampling), releases, int(cells_tried[np.argmin(errors)])))
    _, releases, cells = min(design for design in designs if question.releases in (None, design[1]))
    return replace(question, cells=cells, releases=releases)


def _sum_to_margin(table: FloatArray, other_axis: int | None) -> FloatArray:
    """Return the marginal counts of one score by class: (..., 2, cells).

    Args:
        table: Counts by class and by one score or two, (..., 2, cells) or (..., 2, cells, cells).
        other_axis: The axis of the other score, which is summed out; None if the table has one score.
    """
    return table if other_axis is None else np.asarray(table.sum(axis=other_axis))


def _compute_area(table: FloatArray, other_axis: int | None) -> FloatArray:
    """Return the area of one score of a table, (...).

    Args:
        table: Counts by class and cells, of shape ``(..., 2, cells)``, or ``(..., 2, cells, cells)`` for two scores.
        other_axis: Axis of the other score, which is summed; None: the table has one score.

    Returns:
        Array of shape ``(...)``.
    """
    counts = _sum_to_margin(table, other_axis)
    return compute_auc(counts[..., 0, :], counts[..., 1, :])


def _compute_pair_difference(table: FloatArray) -> FloatArray:
    """Return the area of the first score of a table minus the area of the second score, (...).

    Args:
        table: Counts by class and cells of both scores, of shape ``(..., 2, cells, cells)``.

    Returns:
        Array of shape ``(...)``.
    """
    return np.asarray(_compute_area(table, SECOND) - _compute_area(table, FIRST))


def _compute_mean_area(tables: Tables, places: list[tuple[int, int | None]]) -> FloatArray:
    """Return the mean area under the ROC curve of one score over the tables that count it, (...).

    Args:
        tables: Counts of all tables, (..., 2, cells) each, or (..., 2, cells, cells) for two scores.
        places: For each table that counts the score, its index and the axis of the other score, which is summed out;
            None: the table has no other score.
    """
    return np.asarray(sum(_compute_area(tables[table], axis) for table, axis in places) / len(places))


def _subtract_areas(
    tables: Tables, first: Callable[[Tables], FloatArray], second: Callable[[Tables], FloatArray]
) -> FloatArray:
    """Return the difference of the areas of two models, (...), as a statistic of all tables.

    Args:
        tables: Counts of all tables, with leading axes such as draws.
        first: Function of the tables that returns the area of the first model, (...).
        second: Function of the tables that returns the area of the second model, which is subtracted, (...).
    """
    return np.asarray(first(tables) - second(tables))
