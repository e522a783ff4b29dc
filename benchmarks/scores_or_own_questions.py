"""By how much one release of scores is worse than a question of its own: the errors of both, and their ratio.

`python benchmarks/scores_or_own_questions.py [--releases N] [--write]`. Of calibrated scores, for numbers of records
and losses, N releases (24 unless said) under replace-one of all that `ScoresQuestion` counts, of a `RocQuestion` and of
a `CalibrationQuestion`, each with all of the loss. Errors are root mean squares: of the area under the ROC curve, and
of the shares of positives in ten groups, from what the records of each group give. Releases of which an area is not
known are left out. `--write` keeps the ratios where
`dpcurves plan scores` reads them. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import dpcurves as dp
from dpcurves.curves import scores as joint_price

FloatArray = NDArray[np.float64]
Labels = NDArray[np.int64]

RECORDS = 1000, 10_000, 100_000
LOSSES = {
    ("epsilon", 0.1): dp.PrivacyLoss.pure("0.1"), ("epsilon", 1.0): dp.PrivacyLoss.pure(1),
    ("rho", 0.005): dp.PrivacyLoss.zcdp("0.005"), ("rho", 0.5): dp.PrivacyLoss.zcdp("0.5"),
}  # fmt: skip
TABLE = Path(joint_price.__file__).with_name(joint_price.JOINT_PRICE_FILE)
COLUMNS = "records", "loss", "area: joint", "own", "ratio", "groups: joint", "own", "ratio"


class Errors(NamedTuple):
    """Errors of one release: of areas, and of shares of positives in groups; joint and of questions of their own."""

    joint_area: float
    own_area: float
    joint_groups: float
    own_groups: float


def main() -> None:
    """Print one row for each number of records and loss, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=24)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    print(" | ".join(COLUMNS))
    rows = []
    for records, (name, loss) in product(RECORDS, LOSSES):
        found = [errors(records, LOSSES[name, loss], seed) for seed in range(given.releases)]
        known = np.array([each for each in found if np.isfinite(each).all()])
        area, own_area, groups, own_groups = np.sqrt(np.mean(np.square(known), axis=0)).tolist()
        ratios = {"area": round(area / own_area, 2), "groups": round(groups / own_groups, 2)}
        rows.append({"records": records, "currency": name, "loss": loss, **ratios})
        areas = [f"{area:.4f}", f"{own_area:.4f}", ratios["area"]]
        shares = [f"{groups:.4f}", f"{own_groups:.4f}", ratios["groups"]]
        print(" | ".join(map(str, (records, f"{name} {loss:g}", *areas, *shares))), flush=True)
    if given.write:
        TABLE.write_text(json.dumps({"releases": given.releases, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def errors(records: int, loss: dp.PrivacyLoss, seed: int) -> Errors:
    """The errors of three releases of one table."""
    draw = np.random.default_rng([seed, records])
    score = draw.beta(2, 3, records)
    label = (draw.random(records) < score).astype(int)
    joint, roc, calibration = (
        asked(question, {"y": label, "s": score}, loss, seed)
        for question in (dp.ScoresQuestion("y", "s"), dp.RocQuestion("y", "s"), dp.CalibrationQuestion("y", "s"))
    )
    exact = area(label, score)
    groups = (of_groups(each.edges, each.prob_true, label, score) for each in (joint.calibration(10), calibration))
    return Errors(joint.roc().auc - exact, roc.auc - exact, *groups)


def area(label: Labels, score: FloatArray) -> float:
    """The area under the ROC curve of the records."""
    positives = int(label.sum())
    ranks = float(rankdata(score)[label == 1].sum())
    return (ranks - positives * (positives + 1) / 2) / (positives * (len(label) - positives))


def of_groups(edges: FloatArray, share: FloatArray, label: Labels, score: FloatArray) -> float:
    """The root mean square error of the shares of positives, over groups that hold records."""
    group = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, len(share) - 1)
    records, positives = np.bincount(group, minlength=len(share)), np.bincount(group, label, minlength=len(share))
    known = (records > 0) & np.isfinite(share)
    return float(np.sqrt(np.mean((share[known] - positives[known] / records[known]) ** 2)))


def asked(question: Any, table: dict[str, Any], loss: dp.PrivacyLoss, seed: int) -> Any:
    """One answer, with all of the loss."""
    randomness = dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=loss, adjacency=dp.REPLACE_ONE, randomness=randomness) as session:
        return session.ask(question, loss)


if __name__ == "__main__":
    main()
