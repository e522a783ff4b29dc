"""Forecasts of questions that judge models: the error of the number that each is asked for first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.curves.question import labels
from dpcurves.data import Categories
from dpcurves.forecasts.expected_errors import OF_SLOW, ForecastKind, Table, named_column
from dpcurves.forecasts.reference_laws import CLASSES, along
from dpcurves.forecasts.true_readings import LEVEL, Columns, answers
from dpcurves.privacy import Neighbours, PrivacyLoss

from .counted_numbers import CountedNumbers
from .forecasts_of_numbers import PredictedObservedQuestion, QuantileForecastsQuestion
from .model_pairs import ModelPairQuestion
from .pairwise_scorer import PairwiseScorerQuestion
from .several_classes import OrderedClassesQuestion, SeveralClassesQuestion
from .uplift import UpliftQuestion

EXACT = PrivacyLoss.pure(10**9)
FIRST = "the first number, mean error"


class _Drawn(NamedTuple):
    """What a law drew, of which the columns of each kind of question are made.

    Attributes:
        classes: 0 or 1, a record.
        score: A score of the class, from 0 to 1.
        other: Another score, that goes along with it.
        quarter: The record's number modulo 4, by which groups of several kinds follow each other.
    """

    classes: IntArray
    score: FloatArray
    other: FloatArray
    quarter: IntArray

    @classmethod
    def of(cls, drawn: Any) -> _Drawn:
        classes, score = np.asarray(drawn[0]), np.asarray(drawn[1], dtype=np.float64)
        number = np.arange(len(classes))
        return cls(classes, score, (score + number % 16 / 16) / 2, number % 4)


def _columns_of_pair(question: ModelPairQuestion, drawn: Any) -> dict[str, Any]:
    """Labels, and the scores of both models."""
    records, names = _Drawn.of(drawn), labels(question.label, question.pos_label, question.neg_label).values
    return {
        question.label: np.array(names)[records.classes],
        named_column(question.first): along(question.grid, records.score),
        named_column(question.second): along(question.other, records.other),
    }


def _columns_of_uplift(question: UpliftQuestion, drawn: Any) -> dict[str, Any]:
    """Outcomes, scores, and a treatment of every other record."""
    records = _Drawn.of(drawn)
    outcome = labels(question.outcome, question.good, question.bad, ("bad", "good"))
    treatment = labels(question.treatment, question.treated, question.untreated, ("untreated", "treated"))
    return {
        question.outcome: np.array(outcome.values)[records.classes],
        named_column(question.score): along(question.grid, records.score),
        question.treatment: np.array(treatment.values)[records.quarter % 2],
    }


def _columns_of_quantile_forecasts(question: QuantileForecastsQuestion, drawn: Any) -> dict[str, Any]:
    """Errors of all forecasts: the same ones."""
    return {name: along(question.grid, _Drawn.of(drawn).score) for name in question.errors}


def _columns_of_predictions(question: PredictedObservedQuestion, drawn: Any) -> dict[str, Any]:
    """Predicted numbers, and observed ones that go along with them."""
    records = _Drawn.of(drawn)
    return {
        named_column(question.predicted): along(question.grid, records.score),
        question.observed: along(question.observed_grid, records.other),
    }


def _labels_of_several(label: Categories, records: _Drawn) -> dict[str, Any]:
    """Labels of three classes: a quarter of the records is of the next one."""
    kinds = np.minimum(records.classes + (records.quarter == 0), label.slots - 1)
    return {label.column: np.array(label.values)[kinds]}


def _columns_of_ordered_classes(question: OrderedClassesQuestion, drawn: Any) -> dict[str, Any]:
    """Labels of three classes, and one score."""
    records = _Drawn.of(drawn)
    score = {named_column(question.score): along(question.grid, records.score)}
    return {**_labels_of_several(question.label, records), **score}


def _columns_of_several_classes(question: SeveralClassesQuestion, drawn: Any) -> dict[str, Any]:
    """Labels of three classes, a score of each class, and what is predicted with which confidence, if that is asked."""
    records, label = _Drawn.of(drawn), question.label
    columns = _labels_of_several(label, records)
    columns |= {name: along(question.grid, _turned(records.score, place)) for place, name in enumerate(question.scores)}
    if question.predicted is not None:
        columns[question.predicted] = np.array(label.values)[np.minimum(records.classes, label.slots - 1)]
    if question.confidence is not None:
        columns[question.confidence] = along(question.groups, records.score)
    return columns


def _features(question: Any, drawn: Any) -> dict[str, Any]:
    """Two classes, and features that rise with a score, or fall, by turns."""
    bits, score = np.asarray(drawn[0]), np.asarray(drawn[1], dtype=np.float64)
    classes = labels(question.label, question.pos_label, question.neg_label).values
    found = {} if question.split_by is None else {question.split_by: np.arange(len(bits))}
    for place, each in enumerate(question.features):
        found[each.column] = each.lower + (each.upper - each.lower) * _turned(score, place + 1)
    return {**found, question.label: np.array(classes)[bits]}


def _turned(score: FloatArray, place: int) -> FloatArray:
    return score if place % 2 else 1 - score


def _exact(question: Any, records: Columns) -> CountedNumbers:
    """The numbers of these records: an answer with next to no noise."""
    return cast(CountedNumbers, next(answers(question, records, EXACT, Neighbours.ADD_REMOVE, 1)))


def _error(question: Any, found: CountedNumbers, exact: CountedNumbers) -> float:
    name = str(found.names[0])
    off = abs(found.value(name) - exact.value(name))
    return float(off) if np.isfinite(off) else 0.5


def _half(found: CountedNumbers, population: bool) -> float:
    low, high = found.interval(str(found.names[0]), LEVEL, population=population)
    return (high - low) / 2 if np.isfinite(high - low) else 1.0


def _forecast(columns: Callable[[Any, Any], Table]) -> ForecastKind:
    return ForecastKind(CLASSES, columns, _error, FIRST, _half, "the first number", rehearsals=OF_SLOW, truth=_exact)


FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        ModelPairQuestion: _forecast(_columns_of_pair),
        OrderedClassesQuestion: _forecast(_columns_of_ordered_classes),
        PairwiseScorerQuestion: _forecast(_features),
        PredictedObservedQuestion: _forecast(_columns_of_predictions),
        QuantileForecastsQuestion: _forecast(_columns_of_quantile_forecasts),
        SeveralClassesQuestion: _forecast(_columns_of_several_classes),
        UpliftQuestion: _forecast(_columns_of_uplift),
    }
)
