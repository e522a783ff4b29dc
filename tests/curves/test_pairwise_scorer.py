"""A scorer learned from sums: that of all pairs where there is no noise, and judged on records that it did not see."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from sklearn.metrics import roc_auc_score
from tally import Share

import dpcurves as dp
from dpcurves.models import predictor_from_object
from dpcurves.privacy import PrivacyLoss
from dpcurves_judging.cross_fitting import Folds, HeldOut
from dpcurves_judging.pairwise_scorer import HELD_OUT_SCORES

HUGE, ONE = PrivacyLoss.pure(10**12), PrivacyLoss.pure(1)
FEATURES = (dp.NumericColumn("a", -3, 3), dp.NumericColumn("b", 0, 4))
QUESTION = dp.PairwiseScorerQuestion("y", FEATURES)
CUT = {"a": (0.0, 3.0), "b": (2.0, 2.0)}
"""Middles of bounds, and halves of what lies between them."""


def records(many: int, seed: int) -> dict[str, Any]:
    """Classes with other means and other covariances, of which one has an infinite value."""
    draw = np.random.default_rng(seed)
    label = (draw.random(many) < 0.3).astype(int)
    first = draw.normal(0, 1 + 0.5 * label) + 0.8 * label
    second = np.abs(draw.normal(1 - 0.3 * label, 0.8, many)) + 0.3 * first
    second[:3] = np.inf, -1e9, np.nan
    return {"y": label, "a": first, "b": second}


def scaled(given: dict[str, Any]) -> Any:
    """Features as the question says: cut to their bounds, between -1 and 1."""
    cut = [np.clip((np.asarray(given[name]) - middle) / half, -1, 1) for name, (middle, half) in CUT.items()]
    return np.stack(cut, axis=1)


@pytest.mark.parametrize("adjacency", [0, 1])
def test_without_noise_it_is_least_squares_over_all_pairs_formed_one_by_one(adjacency: int) -> None:
    given = records(400, 1)
    found = answer(QUESTION, given, HUGE, both(400)[adjacency], 1)
    own, label = scaled(given)[3:], given["y"][3:]  # the third lacks a feature; the other two are clipped
    own, label = np.concatenate([scaled(given)[:2], own]), np.concatenate([given["y"][:2], label])
    apart = np.array([one - other for one, other in product(own[label == 1], own[label == 0])])
    best = np.linalg.lstsq(apart, np.ones(len(apart)))[0]
    told = [found.coefficients[name] * half for name, (_, half) in CUT.items()]
    assert told == pytest.approx(best, abs=1e-9)


def test_held_out_records_are_ranked_by_what_was_learned_without_them() -> None:
    given = records(3000, 2)
    found = answer(QUESTION, given, HUGE, both(3000)[1], 1)
    fold = Folds(("a", "b"), ("a", "b"), 2).predict(given)
    scores, areas, pairs = np.full(3000, np.nan), [], []
    for each in (0, 1):
        own, label = scaled(given), given["y"]
        rest, here = fold == 1 - each, fold == each
        parts = [own[rest & (label == kind)] for kind in (0, 1)]
        apart = parts[1].mean(axis=0) - parts[0].mean(axis=0)
        scatter = sum(np.cov(part.T, bias=True) for part in parts)
        scores[here] = own[here] @ np.linalg.solve(scatter, apart)
        areas.append(roc_auc_score(label[here], scores[here]))
        pairs.append(label[here].sum() * (1 - label[here]).sum())
    assert found.auc == pytest.approx(np.average(areas, weights=pairs), abs=1e-3)  # scores are rounded to cells


def test_folds_are_alike_in_size_hold_like_records_and_forget_the_sign_of_zero() -> None:
    draw = np.random.default_rng(3)
    fold = Folds(("a", "b"), ("a", "b"), 4)
    found = fold.predict({"a": draw.normal(size=4000), "b": draw.integers(0, 9, 4000)})
    assert np.bincount(found.astype(int)) == pytest.approx([1000] * 4, abs=140)  # five standard deviations
    one, other, lacking = fold.predict({"a": [0.0, -0.0, np.nan], "b": [7, 7, 7]})
    assert one == other
    assert np.isnan(lacking)
    by_number = Folds(("a", "n"), ("n",), 4).predict({"a": [1.0, 2.0, 3.0], "n": [5, 5, 5]})
    assert len(set(by_number)) == 1


def test_what_a_site_is_asked_is_read_again_and_scores_are_those_of_each_record_alone() -> None:
    given = records(50, 4)
    scorer = answer(QUESTION, given, ONE, both(50)[0], 1).scorecard
    kept = HeldOut(Folds(("a", "b"), ("b",), 2), (scorer, dp.Scorecard("one", 1.0, FEATURES, scorer.terms)))
    again = predictor_from_object(kept.to_object())
    whole = again.predict(given)
    assert again == kept
    alone = [again.predict({name: [each[place]] for name, each in given.items()})[0] for place in range(50)]
    assert np.array_equal(whole, np.array(alone), equal_nan=True)


@pytest.mark.reproduction
def test_intervals_hold_held_out_areas_of_these_records_and_of_all_others_as_often_as_they_say() -> None:
    """Too few or too many of 60 releases hold once in 30,000 times, at each of two levels and for each of two wholes.

    The first 60 seeds are taken. Of the first 400 the interval held 0.505 and 0.908 at levels 0.5 and 0.9 for these
    records, and 0.560 and 0.905 for the population.
    """
    many, releases, levels = records(20_000, 10**6), 60, (0.5, 0.9)
    held = dict.fromkeys(product((False, True), levels), 0)
    for seed in range(releases):
        given = records(2000, seed)
        found = answer(QUESTION, given, PrivacyLoss.pure(2), both(2000)[seed % 2], seed)
        axis = found.question.held_out(found.evidence[1:])
        for population, everybody in ((False, given), (True, many)):
            true = _area(everybody, axis)
            for level in levels:
                low, high = found.interval("auc", level, population=population)
                held[population, level] += low <= true <= high
    for (_, level), times in held.items():
        share = Share(times, releases)
        assert not share.is_below(level), held
        assert not share.is_above(level), held


def _area(given: dict[str, Any], axis: Any) -> float:
    """Over pairs of one fold, scores in cells."""
    columns = [given["a"], given["b"]]
    cell, fold = HELD_OUT_SCORES.cell_of(axis.compute_values(columns)), axis.folds.compute_values(columns)
    areas, pairs = [], []
    for each in (0, 1):
        own = fold == each
        label = given["y"][own]
        areas.append(roc_auc_score(label, cell[own]))
        pairs.append(label.sum() * (1 - label).sum())
    return float(np.average(areas, weights=pairs))


def test_a_scorer_is_opened_as_it_was_kept_and_stands_in_other_questions() -> None:
    given = records(2000, 5)
    found = answer(QUESTION, given, ONE, both(2000)[1], 1)
    again = dp.PairwiseScorer.from_json(found.to_json())
    assert again.coefficients == found.coefficients
    assert again.intervals(0.9).tolist() == found.intervals(0.9).tolist()
    scores = found.decision_function({"a": [0.0, 9.0], "b": [2.0, -5.0]})
    assert scores == pytest.approx(found.decision_function(np.array([[0.0, 2.0], [3.0, 0.0]])))
    roc = answer(dp.RocQuestion("y", found.scorecard, dp.Grid(-2, 2, cells=50)), given, ONE, both(2000)[1], 2)
    assert 0.5 < roc.auc < 1


def test_nothing_is_learned_where_nobody_is() -> None:
    nobody = {"y": np.zeros(0), "a": np.zeros(0), "b": np.zeros(0)}
    found = answer(QUESTION, nobody, ONE, both(1)[0], 1)
    assert all(np.isfinite(list(found.coefficients.values())))
    low, high = found.interval("auc", 0.9)
    assert high - low > 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"features": ()}, "features: must name from 1 to 16"),
        ({"features": (FEATURES[0], FEATURES[0])}, "features: a feature is named twice"),
        ({"features": (dp.NumericColumn("y", 0, 1),)}, "is the column of labels"),
        ({"folds": 1}, "folds: must be a number of folds from 2 to 20"),
    ],
)
def test_what_is_no_question_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dp.PairwiseScorerQuestion(**{"label": "y", "features": FEATURES, **given})
