"""The parts that the numbers on ROC curves and binned residuals rest on, on small data of their own."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reproduction import record

PAPER = Path(__file__).resolve().parents[2] / "papers" / "regression_diagnostics"
START = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
out = Path(sys.argv[2])
import numpy as np
"""
CURVES = """
import text
from scipy.sparse import csr_matrix
import curves, ranking, roc_figures, roc_regret, roc_sizes, roc_split, telling
from histograms import SOUND
from roc_as_printed import medians_in_floats, medians_not_private

for area in telling.areas(0.025):
    assert abs(curves.confidential(telling.ranked(area, 1000)).auc - area) < 1e-3, area
low, high = (curves.confidential(telling.ranked(area, 1000)) for area in (0.7, 0.95))
assert curves.distance(low, low) == 0
assert abs(curves.distance(low, high) - 0.25) < 2e-3  # one lies above the other

huge, columns = 1e3, telling.ranked(0.8, 64)
truth, counts = curves.confidential(columns), curves.counts_of(columns)
for median in (medians_not_private, medians_in_floats):
    found = curves.thresholds(columns, huge if median is medians_not_private else 100, 3, 1, median)
    pieces = np.diff(np.concatenate([[0], np.cumsum(counts.sum(axis=0))[found - 1], [64]]))
    assert np.abs(pieces - 8).max() <= 2, pieces
for method in ("PriROC, as printed", "PriROC-fix, as printed", "dpcurves, fixed"):
    curve = ranking.METHODS[method](columns, huge if "printed" in method else 1000, 1)
    assert abs(curve.auc - truth.auc) < 0.01, (method, curve.auc)
exact = curves.between(columns, curves.equal_thresholds(columns))
for name in ("DAWA", "PrivTree", "Privelet"):
    assert abs(curves.curve(curves.sound_counts(SOUND[name], exact, 1000, 1)).auc - truth.auc) < 0.02, name
one, other = curves.printed_counts(np.full((2, 64), 50), 1.0, 1)
assert not np.allclose(one, other)  # each class has noise of its own

errors = {"a": np.array([[1.0, 1], [4, 4]]), "b": np.array([[2.0, 3], [2, 2]])}
assert roc_regret.regrets(errors, ["a", "b"])["a"].tolist() == [1.5, 1.5]
assert roc_regret.regrets(errors, ["a", "b"])["b"].tolist() == [1.5, 2.0]

power = telling.Power()
for method, tables in power.of.items():
    tables[200], tables[500] = np.array([[0.2, 0.04], [0.1, 0.3]]), np.array([[0.01, 0.04], [0.04, 0.01]])
assert power.least(telling.PRINTED) == {200: np.inf, 500: 0.025}
assert power.from_which_on(telling.PRINTED) == 500

size, sets = roc_sizes.ROC_TINY, {"SMS": columns, "TWITTER": telling.ranked(0.7, 64)}
settings = ranking.setting_names(sets, size)
errors = ranking.errors(sets, size, lambda: None)
regrets = roc_regret.errors(sets, settings, size, lambda: None)
split = roc_split.errors(sets, size, lambda: None)
assert {"figure1-tracks", "figure2-cuts", "figure3-smooth"} <= set(ranking.findings(errors, settings))
assert len(roc_regret.findings(regrets)) == 14
assert set(roc_split.findings(split, size)) == {"figure410-large", "figure410-stable", "figure410-good"}
same = ranking.METHODS["dpcurves, quantiles"](columns, 100.0, 3)  # of so many records it cuts
assert np.array_equal(roc_split.package(0.2)(columns, 100.0, 3).tpr, same.tpr)
roc_figures.draw_curves(sets, out)
roc_figures.draw_errors(settings, errors, out)
roc_figures.draw_regret(roc_regret.shown(regrets), out)
roc_figures.draw_split(list(sets), size, split, out)

class NoNoise:
    def normal(self, mean, deviation, words):
        self.deviation = deviation
        return 0.0

chance, noise = np.random.default_rng(1), NoNoise()
features, label = chance.random((40, 3)), np.arange(40) % 2.0
features /= np.linalg.norm(features, axis=1, keepdims=True)
weights = text._private_weights(csr_matrix(features), label, noise)
for other in (np.eye(3)[0], -np.eye(3)[1], np.zeros(3)):
    changed, opposite = features.copy(), label.copy()
    changed[0], opposite[0] = other, 1.0
    moved = np.linalg.norm(text._private_weights(csr_matrix(changed), opposite, noise) - weights)
    assert moved ** 2 / (2 * noise.deviation ** 2) <= text.RHO_OF_MODEL  # zCDP of the model

assert text.are_there(out)
sets = text.judged(out)
assert all(len(columns["label"]) == 60 for columns in sets.values())
assert all(curves.confidential(columns).auc > 0.6 for columns in sets.values())
"""
BINNED = """
import binned, binned_as_printed, binned_data
from functools import partial
from binned_release import QUESTION, answered, by_dpcurves
from plane import by_curator
from dpcurves.data import Axis, Categories, Grid
from dpcurves.queries import CountQuery, CountUse, SumQuery
from binned_release import table_of

chance = np.random.default_rng(1)
label, score = binned_data.judged_by_others("M2", 4000, chance)
records = binned.Records.of(label, score)
low, high = binned.slopes(records.plot)
assert low < 0 < high  # the hook
assert np.allclose(binned.slopes(records.plot), [np.polyfit(records.plot.mean[side], records.plot.residual[side], 1)[0]
    for side in (records.plot.mean <= 0.5, records.plot.mean > 0.5)])
assert binned.shape_difference(records.plot, np.zeros(2)) == high - low
assert binned.total_variation(np.zeros(5), np.ones(5)) == 1

whole = answered(partial(by_curator, QUESTION), records.judged, 1.0, 3)
plot = by_dpcurves(records.judged, 1.0, 3, 0.15)
assert np.array_equal(plot.residual, whole.residual)  # the share that dpcurves has

grid = Grid.from_edges([0, 0.25, 0.5, 1])
axes = Categories("label", (0, 1)), Axis("score", grid)
place = grid.cell_of(score) + 3 * label.astype(int)
assert (table_of(records.judged, CountQuery(axes, CountUse.CELLS)) == np.bincount(place, minlength=7)).all()
offsets = np.bincount(place, grid.offset_of(score, 1000), minlength=7)
assert np.abs(table_of(records.judged, SumQuery(axes, half=1000)).astype(float) - offsets).max() < 0.01 * len(score)

for release in (binned_as_printed.pribrp_not_private, binned_as_printed.pribrp_put_right):
    found = release(records.judged, 200.0, 1, 0.15)
    assert len(found.mean) > 16
    assert np.abs(binned.slopes(found) - binned.slopes(records.plot)).max() < 0.1
one_bin = binned_as_printed.CdfHistogram(*np.ones((3, 1)), np.zeros(1), np.ones(1))
few = binned_as_printed.joined(one_bin, 64, 1e-3, chance)  # which the printed algorithm has no answer for
assert len(few.number) == 1
"""


def write_texts(data: Path) -> None:
    """Two sets of 600 texts whose words tell most of the labels."""
    folder, chance = data / "text", np.random.default_rng(1)
    folder.mkdir()
    good = chance.random(600) < 0.5
    words = np.where(good ^ (chance.random(600) < 0.2), "splendid", "dreadful")
    kinds = np.where(good, "ham", "spam")
    messages = "\r\n".join(f"{kind}\t{word} weather" for kind, word in zip(kinds, words, strict=True))
    (folder / "SMSSpamCollection.tsv").write_text(messages, encoding="utf-8")
    rows = (f"{int(label)},{word} film\n" for label, word in zip(good, words, strict=True))
    with gzip.open(folder / "sentiment140_sample10k.csv.gz", "wt", encoding="utf-8") as file:
        file.write("positive,text\n" + "".join(rows))


@pytest.mark.reproduction
def test_the_parts_of_roc_curves_and_binned_residuals_hold_what_is_said_of_them(tmp_path: Path) -> None:
    write_texts(tmp_path)
    command = [sys.executable, "-c", START + CURVES + BINNED, str(PAPER), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.reproduction
def test_without_data_a_slice_measures_what_needs_none(tmp_path: Path) -> None:
    options = ["--tiny", "--parts", "roc", "binned", "--data", str(tmp_path / "no"), "--out", str(tmp_path)]
    command = [sys.executable, str(PAPER / "run.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Skipped: Figures 1 to 3" in done.stdout
    numbers = record.findings(tmp_path / record.FILE)
    assert {"figure4-1000", "table43-p-1000", "section33-least", "table45-500", "figure414-20000"} <= set(numbers)
    assert not {"figure2-smooth", "table44-area-dawa"} & set(numbers)
    assert {"overview_roc.png", "overview_binned.png", "figure_4_15.png"} <= {file.name for file in tmp_path.iterdir()}
    assert np.isfinite(numbers["figure414-20000"].printed)
