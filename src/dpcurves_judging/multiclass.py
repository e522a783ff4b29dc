"""Evaluate classifiers with three or more classes: AUC, confusion matrix, calibration, and order of the classes.

`MulticlassQuestion` counts the scores of each class by true class, and returns a `Multiclass`. Let A(k, S) be the area
under the ROC curve of class k against the classes S, by the score of class k. Then

- one against rest: A(k, all other classes). Macro is the mean over classes, micro one area over all pairs of record
  and class;
- one against one: the mean over pairs of classes i and j of ``(A(i, {j}) + A(j, {i})) / 2`` (Hand and Till 2001);
- confusion: counts by true and predicted class, which give accuracy and the recall of each class;
- top-1 calibration: the accuracy in cells of the largest score.

`OrdinalClassesQuestion` asks whether one score orders three classes. The volume under the ROC surface is the
probability that the scores of one record of each class are in the order of the classes; random scores have 1/6
(Mossman 1999).

Scores in one cell are tied. Two tied records count 1/2, three count 1/6.

Formal guarantees: a record lies in one cell of each table, and each table gets an equal fraction of the privacy loss
(basic composition). All metrics are post-processing of the noisy tables.

References: Hand and Till 2001; Mossman 1999.

>>> table = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 1.0]])  # three classes, cells of one score
>>> float(_compute_volume(table))
0.75
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument, require_sequence, require_type
from dpcurves.arrays import FloatArray
from dpcurves.conversation import CellWorkload, Needs, PrefixWorkload, Setting
from dpcurves.curves.by_category import describe_grouping
from dpcurves.curves.outside import separate_outside
from dpcurves.curves.question import CATEGORIES_EXAMPLE, By, TableQuestion, parse_grouping, prepend_category_axes
from dpcurves.data import Axis, Categories, Grid
from dpcurves.data.grid import require_clipped
from dpcurves.display.groups import draw_curves

from .counted_numbers import (
    CountedNumbers,
    Statistic,
    Tables,
    ask_one_table,
    ask_tables,
    compute_auc,
    divide_counts,
    mask_empty,
    require_few_counts,
)

SCORE_CELLS = Grid(0, 1, cells=20)
"""Default cells of predicted probabilities: 20 of equal width; scores are rounded to them."""
CONFIDENCE_GROUPS = Grid(0, 1, cells=10)
"""Default cells of the largest predicted probability of a record, for calibration: 10 of equal width."""


@dataclass(frozen=True, eq=False, repr=False)
class Multiclass(CountedNumbers):
    """Metrics of a model of several classes: areas as scikit-learn's ``roc_auc_score``, confusion and calibration.

    Scores in one cell are tied. The ROC curve of a class is computed against the rest.
    """

    KIND = "multiclass"
    TITLE = "Several classes: {question.label.column}"
    LABEL = "share"

    def roc(self, label: Any) -> tuple[FloatArray, FloatArray]:
        """Return the ROC curve of a class against the rest, as scores fall.

        Args:
            label: One of the classes.

        Returns:
            False positive rates and true positive rates, shape (cells + 1,) each, from 0 to 1. NaN if a side has no
                records.

        Raises:
            ValueError: `label` is not one of the classes.
        """
        values = self.question.label.values
        if not isinstance(label, Hashable) or label not in values:
            raise InvalidArgument("label", f"must be one of {', '.join(map(str, values))}")
        index = values.index(label)
        negative, positive = _split_against_rest(self._likely_tables[index], index)
        cumulated = [np.append(0.0, np.cumsum(counts[::-1])) for counts in (negative, positive)]
        false_positive_rate, true_positive_rate = (
            np.divide(counts, counts[-1], out=np.full_like(counts, np.nan), where=counts[-1] > 0)
            for counts in cumulated
        )
        return false_positive_rate, true_positive_rate

    @property
    def confusion(self) -> FloatArray:
        """Counts of true classes (rows) and predicted classes, not below 0: ``(classes, classes)``.

        Raises:
            ValueError: the question has no column of predictions.
        """
        if self.question.predicted is None:
            raise InvalidArgument(
                "predicted", "the question names no column of predicted classes: ask it with predicted="
            )
        return np.asarray(self._likely_tables[-1].sum(axis=-1))

    def plot_roc(self, ax: Any = None) -> Any:
        """Plot the ROC curve of each class against the rest, and return the axes.

        Args:
            ax: Axes of Matplotlib; None: new ones.
        """
        curves = {f"{label} against the rest": self.roc(label) for label in self.question.label.values}
        axes = draw_curves(curves, self.privacy, labels=("false positive rate", "true positive rate"), ax=ax)
        return self._finish_plot(axes, f"ROC curves of the classes of {self.question.label.column}", ax)


@dataclass(frozen=True, slots=True)
class MulticlassQuestion(TableQuestion):
    """Ask how well scores of several classes rank, and how often predictions are right. One round for each score.

    One release counts each score by true class, and a further release counts predictions, if their column is named;
    each has an equal budget fraction. One-against-rest areas: macro is their mean, micro is the area over all pairs of
    record and class. Pairwise areas are means over both scores (Hand and Till 2001).

    Formal guarantees: releases are composed; in each a record lies in one cell.

    Attributes:
        label: The column of true classes, with all its classes.
        scores: The column of scores of each class, in their order.
        predicted: The column of predicted classes; None: no confusion and no calibration.
        confidence: The column of the largest scores, for top-1 calibration; needs `predicted`.
        grid: Public cells of scores; outside scores count in the end cells.
        groups: Public cells of `confidence`.
        model: A statement about the model, printed with the result.

    Raises:
        ValueError: there are fewer than 3 classes or more than 30, or another number of scores.
        TypeError: `label` is no `Categories`, or a grid is no `Grid`.
    """

    label: Categories
    scores: tuple[str, ...]
    predicted: str | None = None
    confidence: str | None = None
    grid: Grid = SCORE_CELLS
    groups: Grid = CONFIDENCE_GROUPS
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_type("label", self.label, Categories, CATEGORIES_EXAMPLE)
        object.__setattr__(
            self, "scores", require_sequence("scores", self.scores, "columns, as in ('p_a', 'p_b', 'p_c')")
        )
        for name, grid in (("grid", self.grid), ("groups", self.groups)):
            require_clipped(name, grid)
        for column in self.scores:
            Axis(column, self.grid)
        if self.confidence is not None:
            Axis(self.confidence, self.groups)
        if self.predicted is not None:
            Categories(self.predicted, self.label.values)
        most_classes = 30  # classes
        if not 3 <= self.label.slots <= most_classes:
            raise InvalidArgument("label", f"3 to {most_classes} classes are needed; for two, ask a ScoresQuestion")
        if len(self.scores) != self.label.slots or len(set(self.scores)) < len(self.scores):
            raise InvalidArgument(
                "scores", f"{self.label.slots} columns are needed, one for each class: name as many columns as classes"
            )
        if self.confidence is not None and self.predicted is None:
            raise InvalidArgument(
                "predicted",
                "top-1 calibration needs the column of predicted classes: give predicted=, as in predicted='guess'",
            )
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of each counted table.

        A table of scores has the shape (classes, cells). The table of predictions comes last and has the shape (true
        classes, predicted classes, cells of confidence).
        """
        classes = self.label.slots
        score_tables = ((classes, self.grid.cells),) * classes
        cells = 1 if self.confidence is None else self.groups.cells
        return score_tables if self.predicted is None else (*score_tables, (classes, classes, cells))

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return (*(1 for _ in self.scores), *(() if self.predicted is None else (int(self.confidence is not None),)))

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the metrics by name: areas under ROC curves, and metrics of predictions if their column is named."""
        classes = self.label.slots
        statistics = {
            f"auc of {label}": Statistic(partial(_compute_class_auc, place=index))
            for index, label in enumerate(self.label.values)
        }
        statistics |= {
            "macro auc": Statistic(lambda tables: _compute_macro_auc(tables[:classes])),
            "weighted auc": Statistic(lambda tables: _compute_macro_auc(tables[:classes], weighted=True)),
            "micro auc": Statistic(lambda tables: _compute_micro_auc(tables[:classes])),
            "one-against-one auc": Statistic(lambda tables: _compute_one_vs_one_auc(tables[:classes])),
        }
        if self.predicted is None:
            return statistics
        statistics["accuracy"] = Statistic(lambda tables: _compute_accuracy(tables[-1]))
        statistics |= {
            f"recall of {label}": Statistic(partial(_compute_recall, index=index))
            for index, label in enumerate(self.label.values)
        }
        if self.confidence is not None:
            edges = self.groups.edges
            for cell in range(self.groups.cells):
                name = f"right, confidence {edges[cell]:g} to {edges[cell + 1]:g}"
                statistics[name] = Statistic(partial(_compute_cell_accuracy, cell=cell))
        return statistics

    def steps(self, setting: Setting) -> Needs[Multiclass]:
        """Yield the queries: one table of class by score for each class, and a confusion table if `predicted` names a
        column.

        Args:
            setting: Without effect: the tables are the same for any loss.
        """
        tables: list[PrefixWorkload | CellWorkload] = [
            PrefixWorkload((self.label, Axis(score, separate_outside(self.grid)))) for score in self.scores
        ]
        if self.predicted is not None:
            axes = (self.label, Categories(self.predicted, self.label.values))
            tables.append(
                CellWorkload(
                    axes if self.confidence is None else (*axes, Axis(self.confidence, separate_outside(self.groups)))
                )
            )
        return ask_tables(Multiclass, self, tables)

    def __str__(self) -> str:
        return f"scores of {self.label.slots} classes of {self.label.column}"


def _split_against_rest(table: FloatArray, index: int) -> tuple[FloatArray, FloatArray]:
    """Return the counts by cell of a score, of all other classes together and of one class, shape (..., cells) each.

    Args:
        table: Counts by class and cell of a score, shape (..., classes, cells).
        index: Index of the class.
    """
    positive = table[..., index, :]
    return table.sum(axis=-2) - positive, positive


def _compute_class_auc(tables: Tables, place: int) -> FloatArray:
    """Return the area under the ROC curve of a class against the rest, by its own score, shape (...).

    Args:
        tables: For each score, the counts by class and cell, shape (..., classes, cells).
        place: Index of the class, and of its score.
    """
    return compute_auc(*_split_against_rest(tables[place], place))


def _compute_macro_auc(tables: Tables, *, weighted: bool = False) -> FloatArray:
    """Return the mean over classes of their areas against the rest, shape (...).

    Args:
        tables: For each score, the counts by class and cell, shape (..., classes, cells).
        weighted: If True, classes are weighted by their numbers of records.
    """
    areas = np.stack(np.broadcast_arrays(*(_compute_class_auc(tables, index) for index in range(len(tables)))))
    if not weighted:
        return np.asarray(areas.mean(axis=0))
    sizes = np.stack(np.broadcast_arrays(*(table[..., index, :].sum(axis=-1) for index, table in enumerate(tables))))
    return divide_counts((areas * sizes).sum(axis=0), sizes.sum(axis=0))


def _compute_micro_auc(tables: Tables) -> FloatArray:
    """Return the area under the ROC curve over all pairs of record and class, shape (...).

    A pair is positive if the record is of the class; the score of a pair is the record's score of the class.

    Args:
        tables: Counts by class and cell of a score, one table for each class.
    """
    sides = zip(*(_split_against_rest(table, index) for index, table in enumerate(tables)), strict=True)
    negative, positive = (np.sum(np.broadcast_arrays(*side), axis=0) for side in sides)
    return compute_auc(negative, positive)


def _compute_one_vs_one_auc(tables: Tables) -> FloatArray:
    """Return the one-vs-one area under the ROC curve: the mean over all pairs of classes of the area between the two,
    by the scores of both (Hand and Till 2001).

    Args:
        tables: For each class, counts by true class and cell of its score, (..., classes, cells).

    Returns:
        Areas, (...).
    """
    areas = [
        (compute_auc(tables[first][..., second, :], tables[first][..., first, :]),
         compute_auc(tables[second][..., first, :], tables[second][..., second, :]))
        for first, second in combinations(range(len(tables)), 2)
    ]  # fmt: skip
    return np.asarray(sum((first + second) / 2 for first, second in areas) / len(areas))


def _compute_accuracy(table: FloatArray) -> FloatArray:
    """Return the share of records whose predicted class is the true one, shape (...).

    Args:
        table: Counts by true class, predicted class and cell of confidence, shape (..., classes, classes, cells).
    """
    return divide_counts(np.einsum("...iik->...", table), table.sum(axis=(-3, -2, -1)))


def _compute_cell_accuracy(tables: Tables, cell: int) -> FloatArray:
    """Return the share of right predictions among the records in one cell of confidence, shape (...).

    Args:
        tables: Counts; the last table has true class, predicted class and cell of confidence as last axes.
        cell: Index of the cell.
    """
    return _compute_accuracy(tables[-1][..., cell : cell + 1])


def _compute_recall(tables: Tables, index: int) -> FloatArray:
    """Return the share of right predictions among the records of one true class, shape (...).

    Args:
        tables: Counts; the last table has true class, predicted class and cell of confidence as last axes.
        index: Index of the class.
    """
    of_class = tables[-1][..., index, :, :]
    return divide_counts(of_class[..., index, :].sum(axis=-1), of_class.sum(axis=(-2, -1)))


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalClasses(CountedNumbers):
    """The volume under the ROC surface of three ordered classes, and the areas of neighbouring classes.

    The volume is the probability that scores of a record of each class are in the order of the classes: 1/6 for random
    scores. It is divided by the product of three noisy numbers of records, so its error is skewed if a class is small.
    """

    KIND = "ordinal-classes"
    TITLE = "Ordered classes: {question.label.column}"
    LABEL = "probability of the right order"
    TAKES_OUTER_ENDS = True


@dataclass(frozen=True, slots=True)
class OrdinalClassesQuestion(TableQuestion):
    """Ask how well one score orders three classes: the volume under the ROC surface (Mossman 1999). One round.

    Formal guarantees: a record lies in one cell of one table.

    Attributes:
        label: The column of classes, with all three in their order.
        score: The column of scores.
        grid: Public cells of scores; scores in one cell are tied: two tied classes count 1/2, three count 1/6.
        by: Public categories: one result for each, all together at the privacy loss of one.
        model: A statement about the model, printed with the result.

    Raises:
        ValueError: the number of classes is not three.
        TypeError: `label` is no `Categories`, or the grid is no `Grid`.
    """

    label: Categories
    score: str
    grid: Grid = SCORE_CELLS
    by: By = None
    model: str = "the model is taken as public"

    def __post_init__(self) -> None:
        require_type("label", self.label, Categories, CATEGORIES_EXAMPLE)
        parse_grouping(self.by)
        Axis(self.score, require_clipped("grid", self.grid))
        if self.label.slots != 3:
            raise InvalidArgument(
                "label",
                'three classes are needed, in their order, as in Categories("stage", ("low", "middle", "high"))',
            )
        require_few_counts(self.shapes(), "grid")

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of the only table: three classes by the cells of the score."""
        return ((3, self.grid.cells),)

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their
        own.
        """
        return (1,)

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the metrics by name: the volume under the ROC surface, and the areas between neighbouring classes."""
        low, middle, high = self.label.values
        return {
            "volume under the surface": Statistic(lambda tables: _compute_volume(tables[0])),
            f"auc of {middle} over {low}": Statistic(
                lambda tables: compute_auc(tables[0][..., 0, :], tables[0][..., 1, :])
            ),
            f"auc of {high} over {middle}": Statistic(
                lambda tables: compute_auc(tables[0][..., 1, :], tables[0][..., 2, :])
            ),
        }

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table of counts by class and cell of the score.

        Args:
            setting: Without effect: the table is the same for any loss.

        Returns:
            A generator of queries that returns an `OrdinalClasses`, or one for each category of `by`.
        """
        return ask_one_table(
            OrdinalClasses,
            self,
            PrefixWorkload(prepend_category_axes(self.by, self.label, Axis(self.score, separate_outside(self.grid)))),
            3,
        )

    def __str__(self) -> str:
        return f"order of {self.label.column} by {self.score}{describe_grouping(self.by)}"


def _compute_volume(table: FloatArray) -> FloatArray:
    """Return the volume under the ROC surface, shape (...); NaN if a class has too few records.

    Args:
        table: Counts by class, in the order of the classes, and by cell of the score, shape (..., 3, cells).
    """
    low, middle, high = np.moveaxis(table, -2, 0)
    below = np.cumsum(low, axis=-1) - low
    above = high[..., ::-1].cumsum(axis=-1)[..., ::-1] - high
    # without ties the order is right with probability 1, of two tied ones with 1/2, of three with 1/6
    ordered = below * above + 1 / 2 * (low * above + below * high) + 1 / 6 * low * high
    totals = [counts.sum(axis=-1) for counts in (low, middle, high)]
    volume = divide_counts(divide_counts((middle * ordered).sum(axis=-1), totals[1]), totals[0] * totals[2])
    return mask_empty(volume, np.minimum(totals[0], totals[2]))  # the product of two negative counts is positive
