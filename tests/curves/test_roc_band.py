"""Bands of ROC curves: the whole curve of the exact scores is in them, whatever is tied, heaped or clipped."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

from dpcurves.curves import ROC, RocQuestion, RocThresholds
from dpcurves.data import Grid
from dpcurves.inference import RocBand
from dpcurves.privacy import AddRemove, PrivacyLoss, ReplaceOne

Floats = NDArray[np.float64]
CHANCE = np.random.default_rng(21)
UNITS, LEVEL, RELEASES = 1000, 0.9, 30
SCORES = CHANCE.beta(2, 3, UNITS)
LABELS = (CHANCE.random(UNITS) < SCORES).astype(int)
TABLES = {
    "continuous": SCORES,
    "tied": np.round(SCORES, 1),
    "heaped": np.where(CHANCE.random(UNITS) < 0.5, np.round(SCORES * 4) / 4, SCORES),
    "zero-inflated": np.where(CHANCE.random(UNITS) < 0.4, 0.0, SCORES),
    "clipped": 3 * SCORES - 1,
}
GRID = Grid(0, 1, cells=16)


def rates(scores: Floats, thresholds: Floats) -> Floats:
    """The exact rates at and above each threshold."""
    return np.stack([[np.mean(scores[k == LABELS] >= t) for t in thresholds] for k in (0, 1)])


def contains(band: RocBand, fpr: Floats, tpr: Floats) -> bool:
    lower, upper = band.tpr_at(fpr)
    return bool(np.all((lower <= tpr + 1e-9) & (tpr <= upper + 1e-9)))


def boxed(band: RocBand, points: Floats) -> bool:
    return bool(np.all((np.stack(band[0::2]) <= points + 1e-9) & (points <= np.stack(band[1::2]) + 1e-9)))


@pytest.mark.reproduction
@pytest.mark.parametrize("epsilon", [1, 0.1])
@pytest.mark.parametrize("adjacency", both(UNITS))
@pytest.mark.parametrize("table", TABLES)
def test_the_whole_curve_of_exact_scores_is_in_the_band_as_often_as_it_says(
    table: str, adjacency: AddRemove | ReplaceOne, epsilon: float
) -> None:
    scores = TABLES[table]
    fpr, tpr = rates(scores, np.append(np.unique(scores)[::-1], -np.inf))
    held = 0
    for seed in range(RELEASES):
        question = RocQuestion("y", "s", GRID, thresholds=RocThresholds.FIXED if seed % 2 else RocThresholds.QUANTILES)
        roc = answer(question, {"y": LABELS, "s": scores}, PrivacyLoss.pure(epsilon), adjacency, seed)
        held += contains(roc.band(LEVEL), fpr, tpr)
    assert held / RELEASES >= LEVEL - 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)  # 4 sigma


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(UNITS))
def test_points_of_all_thresholds_are_in_their_boxes_no_oftener_than_is_said(
    adjacency: AddRemove | ReplaceOne,
) -> None:
    releases, held = 80, 0
    for seed in range(releases):
        question = RocQuestion("y", "s", GRID, thresholds=RocThresholds.FIXED)
        roc = answer(question, {"y": LABELS, "s": SCORES}, PrivacyLoss.pure(1), adjacency, seed)
        exact = rates(SCORES, np.append(roc.thresholds[:-1], -np.inf))
        held += boxed(roc.band(LEVEL), exact)
    assert abs(held / releases - LEVEL) <= 4 * sqrt(LEVEL * (1 - LEVEL) / releases)  # 4 sigma


@pytest.mark.reproduction
@pytest.mark.parametrize("adjacency", both(UNITS))
def test_the_curve_of_the_population_is_in_its_band(adjacency: AddRemove | ReplaceOne) -> None:
    across = np.linspace(0.01, 0.99, 50)
    upwards = (
        1 - (1 - across) ** 2
    )  # of positives as the larger of two uniform draws: P(max > t) = 1 - (1 - P(U > t))^2
    chance, held = np.random.default_rng(5), 0
    for seed in range(RELEASES):
        label = (chance.random(UNITS) < 0.3).astype(int)
        score = np.where(label == 1, chance.random((2, UNITS)).max(axis=0), chance.random(UNITS))
        roc = answer(RocQuestion("y", "s"), {"y": label, "s": score}, PrivacyLoss.pure(1), adjacency, seed)
        held += contains(roc.band(LEVEL, population=True), across, upwards)
    assert held / RELEASES >= LEVEL - 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)  # 4 sigma


def test_the_curve_lies_in_its_band_and_the_band_for_the_population_is_wider() -> None:
    for seed in range(5):
        roc = answer(RocQuestion("y", "s"), {"y": LABELS, "s": SCORES}, PrivacyLoss.pure(0.3), both(UNITS)[1], seed)
        records, population = roc.band(0.95), roc.band(0.95, population=True)
        assert boxed(records, np.stack([roc.fpr, roc.tpr]))
        for narrow, wide in zip(records, population, strict=True):
            assert (np.diff(narrow) >= 0).all()
            assert (np.diff(wide) >= 0).all()
        assert (population.fpr_lower <= records.fpr_lower).all()
        assert (population.tpr_upper >= records.tpr_upper).all()
        again = ROC.from_json(roc.to_json())
        assert again.title == roc.title == "ROC curve of s for y"
        assert all((one == two).all() for one, two in zip(again.band(0.95), records, strict=True))


def test_units_of_several_records_have_no_band_for_the_population_and_the_picture_says_so() -> None:
    roc = answer(RocQuestion("y", "s"), {"y": LABELS, "s": SCORES}, PrivacyLoss.pure(1), both(UNITS)[1], 1)
    several = replace(roc, table=replace(roc.table, privacy=replace(roc.privacy, rows_per_unit=3)))
    with pytest.raises(ValueError, match="^population: "):
        several.band(0.9, population=True)
    ax = several.plot()
    legend = ax.get_legend()
    assert legend is not None
    assert not any("population" in text.get_text() for text in legend.get_texts())
    assert any("not for the population" in text.get_text().replace("\n", " ") for text in ax.texts)


def test_a_frame_has_the_ends_of_the_band_if_a_level_is_given() -> None:
    roc = answer(RocQuestion("y", "s"), {"y": LABELS, "s": SCORES}, PrivacyLoss.pure(1), both(UNITS)[1], 1)
    frame = roc.to_frame(level=0.9)
    assert list(frame.columns)[3:] == ["fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper"]
    assert (frame["tpr_upper"].to_numpy() == roc.band(0.9).tpr_upper).all()
