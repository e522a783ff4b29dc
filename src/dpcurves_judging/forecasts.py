"""Forecasts of questions that judge models: the error of the number that each is asked for first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.arrays import FloatArray
from dpcurves.curves.question import labels
from dpcurves.forecasts.expected_errors import OF_SLOW, ForecastKind, named_column
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
_TRUE: list[tuple[Any, Columns, float]] = []
"""The last table and its number: all answers about it have one truth."""


def _columns(question: Any, drawn: Any) -> dict[str, Any]:
    """Scores of two classes, and what other columns are made of them; groups of several classes follow each other."""
    bits, score = np.asarray(drawn[0]), np.asarray(drawn[1], dtype=np.float64)
    way = np.arange(len(bits)) % 16 / 16
    other, turn = (score + way) / 2, np.arange(len(bits)) % 4
    match type(question).__name__:
        case "ModelPairQuestion":
            return {
                question.label: np.array(labels(question.label, question.pos_label, question.neg_label).values)[bits],
                named_column(question.first): along(question.grid, score),
                named_column(question.second): along(question.other, other),
            }
        case "UpliftQuestion":
            outcome = labels(question.outcome, question.good, question.bad, ("bad", "good"))
            treatment = labels(question.treatment, question.treated, question.untreated, ("untreated", "treated"))
            return {
                question.outcome: np.array(outcome.values)[bits],
                named_column(question.score): along(question.grid, score),
                question.treatment: np.array(treatment.values)[turn % 2],
            }  # fmt: skip
        case "QuantileForecastsQuestion":
            return {name: along(question.grid, score) for name in question.errors}
        case "PredictedObservedQuestion":
            return {
                named_column(question.predicted): along(question.grid, score),
                question.observed: along(question.observed_grid, other),
            }
    kinds = np.minimum(bits + (turn == 0), question.label.slots - 1)
    found = {question.label.column: np.array(question.label.values)[kinds]}
    if hasattr(question, "score"):
        return {**found, named_column(question.score): along(question.grid, score)}
    found |= {name: along(question.grid, _turned(score, place)) for place, name in enumerate(question.scores)}
    if question.predicted is not None:
        found[question.predicted] = np.array(question.label.values)[np.minimum(bits, question.label.slots - 1)]
    return found if question.confidence is None else {**found, question.confidence: along(question.groups, score)}


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


def _error(question: Any, found: CountedNumbers, records: Columns) -> float:
    name = str(found.names[0])
    if not (_TRUE and _TRUE[0][0] == found.question and _TRUE[0][1] is records):
        exact = next(answers(found.question, records, EXACT, Neighbours.ADD_REMOVE, 1))
        _TRUE[:] = [(found.question, records, exact.value(name))]
    off = abs(found.value(name) - _TRUE[0][2])
    return float(off) if np.isfinite(off) else 0.5


def _half(found: CountedNumbers, population: bool) -> float:
    low, high = found.interval(str(found.names[0]), LEVEL, population=population)
    return (high - low) / 2 if np.isfinite(high - low) else 1.0


FORECAST = ForecastKind(CLASSES, _columns, _error, FIRST, _half, "the first number", rehearsals=OF_SLOW)
FORECASTS: Mapping[type[Any], ForecastKind] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                ModelPairQuestion, OrderedClassesQuestion, PredictedObservedQuestion, QuantileForecastsQuestion,
                SeveralClassesQuestion, UpliftQuestion,
            ), FORECAST,
        ),
        PairwiseScorerQuestion: FORECAST._replace(columns=_features),
    }
)  # fmt: skip
