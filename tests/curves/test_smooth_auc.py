from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score

from dpcurves.curves import SmoothAuc, SmoothAucQuestion
from dpcurves.data import Grid
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.summaries import binormal_tpr

DRAW = np.random.default_rng(3)
LABELS = (DRAW.random(800) < 0.3).astype(int)
SCORES = np.clip(DRAW.normal(0.4 + 0.2 * LABELS, 0.2), 0, 1)
TABLE = {"y": LABELS, "s": SCORES}
GRID = Grid(0, 1, cells=256)
QUESTION = SmoothAucQuestion("y", "s", GRID)


@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_at_a_huge_epsilon_the_area_is_that_of_scikit_learn(adjacency: AddRemove | ReplaceOne) -> None:
    area = answer(QUESTION, TABLE, PrivacyLoss.pure(10**6), adjacency, seed=1).auc
    assert area == pytest.approx(roc_auc_score(LABELS, GRID.cell_of(SCORES)), abs=2**-20)


@pytest.mark.parametrize("auc", [0.0, 0.2, 0.5, 0.76, 0.999, 1.0])
def test_the_binormal_curve_has_the_area_and_both_corners(auc: float) -> None:
    fpr = np.unique(np.concatenate([np.linspace(0, 1, 20001), np.geomspace(1e-12, 1, 2000)]))
    tpr = binormal_tpr(fpr, auc)
    assert (tpr[0], tpr[-1]) == (0, 1)
    assert (np.diff(tpr) >= 0).all()
    assert trapezoid(tpr, fpr) == pytest.approx(auc, abs=1e-4)


def test_what_was_written_is_read_again_and_drawn() -> None:
    curve = answer(QUESTION, TABLE, PrivacyLoss.pure(1), AddRemove(EACH_RECORD), seed=2)
    again = SmoothAuc.from_json(curve.to_json())
    assert (again.auc, again.privacy) == (curve.auc, curve.privacy)
    assert again.tpr.tolist() == curve.tpr.tolist()
    assert curve.binormal_tpr_at(0.5) == pytest.approx(np.interp(0.5, curve.fpr, curve.tpr), abs=1e-6)
    legend = curve.plot().get_legend()
    assert legend is not None
    assert f"AUC = {curve.auc:.4f}"[:9] in legend.get_texts()[1].get_text()
    assert "Binormal ROC curve" in curve._repr_html_()


def test_no_interval_can_be_told_and_a_note_says_why() -> None:
    curve = answer(QUESTION, TABLE, PrivacyLoss.pure(1), AddRemove(EACH_RECORD), seed=2)
    (note,) = curve.notes
    assert "no interval: its noise depends on the size of the smaller class" in note
    assert SmoothAuc.from_json(curve.to_json()).notes == (note,)
    assert not hasattr(curve, "auc_interval")


@pytest.mark.parametrize("table", [{"y": [1], "s": [0.5]}, {"y": [0, 0], "s": [np.nan, 2.0]}, {"y": [], "s": []}])
def test_empty_classes_are_answered(table: dict[str, list[float]]) -> None:
    columns = {name: np.array(values) for name, values in table.items()}
    curve = answer(QUESTION, columns, PrivacyLoss.pure(1), AddRemove(EACH_RECORD), seed=3)
    assert 0 <= curve.auc <= 1


def test_a_label_without_an_opposite_is_refused() -> None:
    with pytest.raises(ValueError, match="neg_label"):
        SmoothAucQuestion("y", "s", pos_label="late")
