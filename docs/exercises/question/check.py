"""Ask for the entropy of a column in Python, on the command line and as a forecast, and compare it with the truth."""

from __future__ import annotations

import tempfile
from pathlib import Path
from warnings import simplefilter

import numpy as np
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.checks import check_question
from dpcurves.cli.app import build

CATEGORIES = ("a", "b", "c", "d")
COUNTS = np.array([1200, 500, 300, 0])
VALUES = np.repeat(CATEGORIES, COUNTS)
SHARES = COUNTS[COUNTS > 0] / COUNTS.sum()
TRUTH = float(-(SHARES * np.log2(SHARES)).sum())


def ask(epsilon: int, seed: int) -> dp.Entropy:
    """Return the entropy that is released."""
    randomness = dp.Randomness.from_seed(seed)
    return dp.entropy(
        VALUES, categories=CATEGORIES, epsilon=epsilon, adjacency=dp.ADD_REMOVE, label="ward", randomness=randomness
    )


exact = ask(10**9, 1)
assert abs(exact.entropy - TRUTH) < 1e-9
assert dp.Entropy.from_json(exact.to_json()).entropy == exact.entropy

# Fewer than 20 of 30 intervals cover once in 100 runs if each covers with probability 0.83; the seeds are fixed.
intervals = [ask(1, seed).intervals(0.9)[0] for seed in range(30)]
assert sum(low <= TRUTH <= high for low, high in intervals) >= 20
simplefilter("ignore", dp.CurveWarning)  # of no record with a declared category
assert np.isnan(dp.entropy(["z"] * 9, categories=CATEGORIES, epsilon=1, adjacency=dp.ADD_REMOVE).entropy)

question = dp.EntropyQuestion(dp.Categories("ward", CATEGORIES))
check_question(question, {"ward": VALUES})
expected = dp.forecast(question, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE, records=1000)
assert "entropy in bits" in str(expected)

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "wards.csv")
    file.write_text("ward\n" + "".join(f"{value}\n" for value in VALUES), encoding="utf-8")
    ledger = f"sqlite:///{folder}/ledger.db"
    for words in (
        f"ledger create {ledger} --dataset wards --epsilon 1 --adjacency replace-one",
        f"entropy {file} --column ward --categories a,b,c,d --epsilon 1 --adjacency replace-one --ledger {ledger}",
    ):
        done = CliRunner().invoke(build(), words.split())
        assert done.exit_code == 0, done.output
    assert "entropy" in done.output

low, high = ask(1, 1).intervals(0.9)[0]
print(f"entropy {ask(1, 1).entropy:.3f} bits, 90% interval [{low:.3f}, {high:.3f}]; of the records {TRUTH:.3f}")
