"""Partial areas under the ROC curve, and sensitivity at a given specificity."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from sklearn import metrics

import dpcurves as dp
from dpcurves.curves import Scores, ScoresQuestion
from dpcurves.privacy import PrivacyLoss

GRID = dp.Grid(0, 1, cells=100)
QUESTION, HUGE = ScoresQuestion("y", "s", GRID), PrivacyLoss.pure(10**9)
POPULATION = 40_000


def sample(records: int, seed: int, positives: float = 0.3) -> dict[str, Any]:
    """Labels, and scores of a model of moderate quality."""
    generator = np.random.default_rng(seed)
    labels = (generator.random(records) < positives).astype(int)
    return {"y": labels, "s": generator.beta(2 + 2 * labels, 4 - labels)}


def exact_sensitivity(table: dict[str, Any], specificity: float) -> float:
    fpr, tpr, _ = metrics.roc_curve(table["y"], table["s"], drop_intermediate=False)
    return float(np.interp(1 - specificity, fpr, tpr))


@pytest.mark.parametrize("adjacency", [0, 1], ids=["add-remove", "replace-one"])
def test_at_a_huge_epsilon_they_are_those_of_scikit_learn_on_the_same_cells(adjacency: int) -> None:
    table = sample(3000, 1)
    scores: Scores = answer(QUESTION, table, HUGE, both(3000)[adjacency], seed=1)
    cells = {**table, "s": (np.floor(table["s"] * 100) + 0.5) / 100}
    for max_fpr in (0.05, 0.137, 0.5, 1.0):
        expected = metrics.roc_auc_score(cells["y"], cells["s"], max_fpr=max_fpr)
        area = dp.partial_auc(scores, max_fpr)
        assert area.value == pytest.approx(expected, abs=1e-6)
        low, high = area.interval(0.95)
        assert low <= metrics.roc_auc_score(table["y"], table["s"], max_fpr=max_fpr) <= high  # of the exact scores
    assert dp.partial_auc(scores, 1).value == pytest.approx(scores.value("auc"), abs=1e-9)
    for specificity in (0.0, 0.5, 0.9, 0.95):
        sensitivity = dp.sensitivity_at_specificity(scores, specificity)
        assert sensitivity.value == pytest.approx(exact_sensitivity(cells, specificity), abs=1e-6)
        low, high = sensitivity.interval(0.95)
        assert low <= exact_sensitivity(table, specificity) <= high


def test_scores_of_declared_values_are_tied_so_intervals_at_a_huge_epsilon_have_no_width() -> None:
    table = sample(3000, 2)
    table["s"] = np.round(table["s"] * 4)
    question = ScoresQuestion("y", "s", dp.Values(range(5)))
    scores: Scores = answer(question, table, HUGE, both(3000)[0], seed=1)
    for number in (dp.partial_auc(scores, 0.2), dp.sensitivity_at_specificity(scores, 0.9)):
        low, high = number.interval(0.95)
        assert low == pytest.approx(number.value, abs=1e-4) == high


def test_the_area_of_a_perfect_and_of_a_random_model() -> None:
    labels = np.repeat([0, 1], 1000)
    perfect: Scores = answer(QUESTION, {"y": labels, "s": 0.25 + labels / 2}, HUGE, both(2000)[0], seed=1)
    random: Scores = answer(QUESTION, {"y": labels, "s": np.full(2000, 0.5)}, HUGE, both(2000)[0], seed=1)
    assert dp.partial_auc(perfect, 0.1).value == pytest.approx(1, abs=1e-6)
    assert dp.partial_auc(random, 0.1).value == pytest.approx(0.5, abs=1e-6)
    # All scores are in one cell, whose order is open: the sensitivity is anything from 0 to 1.
    assert np.isnan(dp.sensitivity_at_specificity(random, 0.9).value)


def test_nothing_is_known_of_few_records() -> None:
    scores: Scores = answer(QUESTION, sample(20, 3), PrivacyLoss.pure("0.1"), both(20)[1], seed=1)
    for number in (dp.partial_auc(scores, 0.1), dp.sensitivity_at_specificity(scores, 0.9)):
        assert np.isnan(number.value)
        assert number.interval(0.95) == (0, 1)


@pytest.mark.parametrize("wrong", [0, -0.1, 1.1, True, "0.1"])
def test_a_wrong_rate_is_named(wrong: Any) -> None:
    scores: Scores = answer(QUESTION, sample(300, 3), HUGE, both(300)[0], seed=1)
    with pytest.raises(ValueError, match="^max_fpr: must be a number above 0 and at most 1"):
        dp.partial_auc(scores, wrong)
    if wrong != 0:
        with pytest.raises(ValueError, match="^specificity: must be a number of at least 0 and below 1"):
            dp.sensitivity_at_specificity(scores, 1 if wrong is True else wrong)


@pytest.mark.reproduction
@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("records", [300, 3000])
def test_their_intervals_hold(population: bool, records: int) -> None:
    """90 % intervals hold in at least 86 % of 60 releases, within two standard errors; widths are printed."""
    whole = sample(POPULATION, 4)
    held, widths, errors = np.zeros(2), [], []
    for seed in range(60):
        rows = np.random.default_rng([4, seed]).integers(POPULATION, size=records)
        table = {name: column[rows] for name, column in whole.items()}
        scores: Scores = answer(QUESTION, table, PrivacyLoss.pure(1), both(records)[seed % 2], seed)
        target = whole if population else table
        truths = metrics.roc_auc_score(target["y"], target["s"], max_fpr=0.1), exact_sensitivity(target, 0.9)
        numbers = dp.partial_auc(scores, 0.1), dp.sensitivity_at_specificity(scores, 0.9)
        ends = [number.interval(0.9, population=population) for number in numbers]
        held += [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
        widths.append([high - low for low, high in ends])
        errors.append([abs(number.value - truth) for number, truth in zip(numbers, truths, strict=True)])
    ratio = np.median(widths, axis=0) / 2 / np.nanquantile(errors, 0.9, axis=0)
    print(held / 60, ratio)
    assert (held / 60 >= 0.86 - 2 * sqrt(0.09 / 60)).all(), (held / 60, ratio)
