"""A tiny slice of the regression diagnostics; and the parts that its numbers rest on, on texts of its own."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
from reproduction import record

PAPER = Path(__file__).resolve().parents[2] / "papers" / "regression_diagnostics"
PARTS = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
data, out = Path(sys.argv[2]), Path(sys.argv[3])
import curves, ranking, residuals, roc_figures, sizes, text
import numpy as np
from scipy.sparse import csr_matrix

for area in ranking.AREAS:
    assert abs(curves.confidential(ranking.ranked(area, 1000)).auc - area) < 1e-3, area
low, high = (curves.confidential(ranking.ranked(area, 1000)) for area in (0.7, 0.95))
assert curves.distance(low, low) == 0
assert abs(curves.distance(low, high) - 0.25) < 2e-3  # one lies above the other

whole = np.full((10, 10), 0.01)
assert residuals.distance(whole, whole) < 1e-12
assert abs(residuals.distance(whole, np.zeros((10, 10))) - 1) < 1e-12
assert residuals.total_variation(np.zeros(5), np.ones(5)) == 1

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

assert text.are_there(data)
sets = text.judged(data)
assert all(len(columns["label"]) == 60 for columns in sets.values())
assert all(curves.confidential(columns).auc > 0.6 for columns in sets.values())
found = ranking.errors(sets, sizes.TINY, lambda: None)
roc_figures.draw_errors(ranking.setting_names(sets, sizes.TINY), found, out)
assert set(ranking.findings_of_errors(found)) == {f"figure{k}-{kind}" for k in (2, 3) for kind in ("smooth", "cuts")}
assert (out / "figures_2_and_3.png").exists()
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


def test_without_data_a_slice_says_what_is_skipped_and_measures_the_rest(tmp_path: Path) -> None:
    command = [sys.executable, str(PAPER / "run.py"), "--tiny", "--data", str(tmp_path / "no"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Skipped: Figures 2 and 3" in done.stdout
    numbers = record.findings(tmp_path / record.FILE)
    assert set(numbers) == {"figure4-1000", "section33-least", "figure7-1000", "section43-least"}
    assert {file.name for file in tmp_path.glob("*.png")} >= {"overview.png"}
    assert numbers["figure4-1000"].package is not None
    assert numbers["figure4-1000"].package <= 0.1


def test_the_parts_hold_what_is_said_of_them(tmp_path: Path) -> None:
    write_texts(tmp_path)
    command = [sys.executable, "-c", PARTS, str(PAPER), str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
