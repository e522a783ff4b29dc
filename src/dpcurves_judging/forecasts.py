"""Error forecasts (power analysis) for questions about models, before budget is spent.

`FORECASTS` registers one `ForecastKind` per type of question: how synthetic records are made, and which error is
measured. For each type, records are synthesised from a reference distribution (`_SimulatedRecords`) and answered with
noise. The first number of the result is compared with the same number without noise:

- the error is the absolute difference, or 1/2 if the released number is unknown;
- the half width is half the width of the number's interval, or 1 if that is infinite.

`_make_..._columns` are functions of a question and a draw that return synthetic columns by name.

Formal guarantees: no confidential record is read, and no budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.curves.question import parse_class_labels
from dpcurves.data import Categories
from dpcurves.forecasts.expected_errors import SLOW_REHEARSALS, ForecastKind, Table, require_column_name
from dpcurves.forecasts.reference_distributions import CLASS_SAMPLERS, interpolate_grid
from dpcurves.forecasts.rehearsals import LEVEL, Columns, rehearse_answers
from dpcurves.privacy import Neighbours, PrivacyLoss

from .counted_numbers import CountedNumbers
from .forecasts_of_numbers import PredictedObservedQuestion, QuantileForecastsQuestion
from .model_comparison import ModelComparisonQuestion
from .model_pairs import ModelPairQuestion
from .multiclass import MulticlassQuestion, OrdinalClassesQuestion
from .pairwise_scorer import PairwiseScorerQuestion
from .uplift import UpliftQuestion

NOISELESS_LOSS = PrivacyLoss.pure(10**9)
"""Privacy loss so large that the noise is 0 except with negligible probability. It is used for synthetic records
only."""


def _make_forecast(columns: Callable[[Any, Any], Table], first_number: str) -> ForecastKind:
    """Return how the accuracy of a type of question is forecast on synthetic records.

    Args:
        columns: Function that makes the synthetic columns.
        first_number: Name of the first statistic of the result. A name that begins with "share" is shown in percentage
            points.
    """
    return ForecastKind(
        distributions=CLASS_SAMPLERS,
        fill_columns=columns,
        measure_error=_compute_error,
        error_label=f"{first_number}, mean error",
        half_width=_compute_half_width,
        interval_label=f"the {first_number}",
        rehearsals=SLOW_REHEARSALS,
        compute_truth=_compute_exact_numbers,
    )


def _compute_error(question: Any, result: CountedNumbers, exact: CountedNumbers) -> float:
    """Return the absolute error of the first statistic of a result by noise; 1/2 if the statistic is unknown.

    Args:
        question: The question, which is not used.
        result: Result with noise.
        exact: Result without noise, for the same records.
    """
    name = str(result.names[0])
    error = abs(result.value(name) - exact.value(name))
    return float(error) if np.isfinite(error) else 0.5


def _compute_half_width(result: CountedNumbers, population: bool) -> float:
    """Return half the width of the interval of the result's first statistic; 1 if the interval is infinite.

    Args:
        result: Result with noise.
        population: True: the interval for the population; False: for these records.
    """
    low, high = result.interval(str(result.names[0]), LEVEL, population=population)
    return (high - low) / 2 if np.isfinite(high - low) else 1.0


def _compute_exact_numbers(question: Any, records: Columns) -> CountedNumbers:
    """Return the result for synthetic records without noise, by answering the question at a huge privacy loss.

    Args:
        question: The question.
        records: Columns by name.
    """
    return cast(CountedNumbers, next(rehearse_answers(question, records, NOISELESS_LOSS, Neighbours.ADD_REMOVE, 1)))


class _SimulatedRecords(NamedTuple):
    """Synthetic records, from which the columns of each type of question are made.

    Attributes:
        classes: Class of each record, 0 or 1.
        score: Score of the class, from 0 to 1.
        related_score: A second score, correlated with the first.
        group: Index of the record modulo 4, which assigns groups.
    """

    classes: IntArray
    score: FloatArray
    related_score: FloatArray
    group: IntArray

    @classmethod
    def from_draw(cls, draw: Any) -> _SimulatedRecords:
        """Return simulated records from classes and scores that were drawn from a reference distribution.

        Args:
            draw: Pair of classes (0 or 1) and scores (0 to 1), each of shape (records,).
        """
        classes = np.asarray(draw[0])
        score = np.asarray(draw[1], dtype=np.float64)
        index = np.arange(len(classes))
        return cls(classes, score, (score + index % 16 / 16) / 2, index % 4)


def _make_pair_columns(question: ModelPairQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic columns for a pair of models: labels, and the scores of both.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    names = parse_class_labels(question.label, question.pos_label, question.neg_label).values
    return {
        question.label: np.array(names)[records.classes],
        require_column_name(question.first): interpolate_grid(question.grid, records.score),
        require_column_name(question.second): interpolate_grid(question.grid_of_second, records.related_score),
    }


def _make_several_model_columns(question: ModelComparisonQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic labels, and the scores of all models, each less accurate than the model before.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    names = parse_class_labels(question.label, question.pos_label, question.neg_label).values
    columns = {question.label: np.array(names)[records.classes]}
    for index, score in enumerate(question.scores):
        fraction = index / len(question.scores)
        mixed = (1 - fraction) * records.score + fraction * records.related_score
        columns[score] = interpolate_grid(question.grid, mixed)
    return columns


def _make_uplift_columns(question: UpliftQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic outcomes, scores and treatments. Every second record is treated.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    outcome = parse_class_labels(question.outcome, question.pos_label, question.neg_label, ("neg_label", "pos_label"))
    treatment = parse_class_labels(
        question.treatment, question.treated_value, question.control_value, ("control_value", "treated_value")
    )
    return {
        question.outcome: np.array(outcome.values)[records.classes],
        require_column_name(question.score): interpolate_grid(question.grid, records.score),
        question.treatment: np.array(treatment.values)[records.group % 2],
    }


def _make_quantile_forecast_columns(question: QuantileForecastsQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic errors of forecasts, which are equal for all quantiles.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    return {name: interpolate_grid(question.grid, _SimulatedRecords.from_draw(draw).score) for name in question.errors}


def _make_prediction_columns(question: PredictedObservedQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic predictions, and observed values that correlate with them, each spread over its grid.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    return {
        require_column_name(question.predicted): interpolate_grid(question.grid, records.score),
        question.observed: interpolate_grid(question.observed_grid, records.related_score),
    }


def _make_class_labels(label: Categories, records: _SimulatedRecords) -> dict[str, Any]:
    """Return synthetic labels by the name of their column.

    The class of a record is 0 or 1, plus 1 for each fourth record, so that up to three classes occur.

    Args:
        label: Column with the declared classes.
        records: The records.
    """
    kinds = np.minimum(records.classes + (records.group == 0), label.slots - 1)
    return {label.column: np.array(label.values)[kinds]}


def _make_ordinal_columns(question: OrdinalClassesQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic labels of three ordered classes, and a score.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    score = {require_column_name(question.score): interpolate_grid(question.grid, records.score)}
    return {**_make_class_labels(question.label, records), **score}


def _make_multiclass_columns(question: MulticlassQuestion, draw: Any) -> dict[str, Any]:
    """Return synthetic labels of up to three classes, and a score of each class.

    Predicted classes and their confidence are added if the question names columns for them.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    records = _SimulatedRecords.from_draw(draw)
    label = question.label
    columns = _make_class_labels(label, records)
    columns |= {
        name: interpolate_grid(question.grid, _flip_score(records.score, index))
        for index, name in enumerate(question.scores)
    }
    if question.predicted is not None:
        columns[question.predicted] = np.array(label.values)[np.minimum(records.classes, label.slots - 1)]
    if question.confidence is not None:
        columns[question.confidence] = interpolate_grid(question.groups, records.score)
    return columns


def _make_feature_columns(question: Any, draw: Any) -> dict[str, Any]:
    """Return synthetic labels of two classes, and features that alternately rise and fall with one score.

    Args:
        question: The question, whose columns are filled.
        draw: Classes, 0 or 1, and scores, 0 to 1, of simulated records, (records,) each.
    """
    bits = np.asarray(draw[0])
    score = np.asarray(draw[1], dtype=np.float64)
    classes = parse_class_labels(question.label, question.pos_label, question.neg_label).values
    columns = {} if question.split_by is None else {question.split_by: np.arange(len(bits))}
    for index, feature in enumerate(question.features):
        columns[feature.column] = feature.lower + (feature.upper - feature.lower) * _flip_score(score, index + 1)
    return {**columns, question.label: np.array(classes)[bits]}


def _flip_score(score: FloatArray, index: int) -> FloatArray:
    """Return the score itself for an odd index, and 1 minus the score for an even one, so that features differ in sign.

    Args:
        score: Scores from 0 to 1.
        index: Number of a feature or class.
    """
    return score if index % 2 else 1 - score


FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        ModelPairQuestion: _make_forecast(_make_pair_columns, "difference of areas"),
        OrdinalClassesQuestion: _make_forecast(_make_ordinal_columns, "volume under the surface"),
        PairwiseScorerQuestion: _make_forecast(_make_feature_columns, "area"),
        PredictedObservedQuestion: _make_forecast(_make_prediction_columns, "mean of the first group"),
        QuantileForecastsQuestion: _make_forecast(_make_quantile_forecast_columns, "share below the first quantile"),
        ModelComparisonQuestion: _make_forecast(_make_several_model_columns, "area of the first model"),
        MulticlassQuestion: _make_forecast(_make_multiclass_columns, "area of the first class"),
        UpliftQuestion: _make_forecast(_make_uplift_columns, "uplift area"),
    }
)
"""How the errors of each type of question about models are forecast, for plans."""
