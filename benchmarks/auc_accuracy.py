"""How accurate private ROC curves and their areas are, beside the unbiased counts of the very same releases.

`python benchmarks/auc_accuracy.py [--releases N] [--quick] [--kinds K ...] [--records N ...]`. Errors are those
against the records themselves, by their exact scores: of the area the median of its absolute value, of the curve the
mean distance of true positive rates, again the median. A ratio below 1 says that reading pays: both come from one
release, so noise and privacy are the same. *Unbiased* is the area of the least squares counts, and the curve of their
prefixes, made monotone. *Width* is the mean width of the 95% interval for these records, *held* how often it held the
area. Nothing is asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import expit
from scipy.stats import rankdata

import dpcurves as dp
from dpcurves.curves import RocQuestion
from dpcurves.estimation import estimate_unbiased
from dpcurves.noise.randomness import Randomness
from dpcurves.summaries import auc_of_counts, roc_points

FloatArray = NDArray[np.float64]
Generator = np.random.Generator
RATES = np.linspace(0, 1, 1001)
SETS = 4  # drawn afresh, in turn, so that no one sample decides
SEED = 3


class Records(NamedTuple):
    """Labels, and scores that rank positives one standard deviation above negatives."""

    label: NDArray[np.int64]
    score: FloatArray


class Setting(NamedTuple):
    """What is released."""

    kind: str
    records: int
    positive: float
    epsilon: Fraction
    adjacency: dp.Neighbours


class Found(NamedTuple):
    """Errors of one release."""

    area: float
    area_of_counts: float
    curve: float
    curve_of_counts: float
    width: float
    held: bool


def drawn(setting: Setting, generator: Generator) -> Records:
    """Records of one kind."""
    label = (np.arange(setting.records) < round(setting.positive * setting.records)).astype(np.int64)
    hidden = generator.normal(size=setting.records) + label
    return Records(label, KINDS[setting.kind](hidden, setting.positive, generator))


def spread(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """The chances to be positive."""
    return np.asarray(expit(hidden - 0.5 + np.log(positive / (1 - positive))))


def tied(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """Tenths."""
    return np.round(spread(hidden, positive, generator), 1)


def heaped(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """Tenths, by half."""
    score = spread(hidden, positive, generator)
    return np.where(generator.random(len(score)) < 0.5, score.round(1), score)


def zeros(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """About half of them 0."""
    return np.where(hidden < 0.3, 0.0, spread(hidden, positive, generator))


def clipped(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """Brought to what is above 0.3 and below 0.7."""
    return np.clip(spread(hidden, positive, generator), 0.3, 0.7)


def bent(hidden: FloatArray, positive: float, generator: Generator) -> FloatArray:
    """Half of them at random: no two normal distributions have such a curve, which rises, rests and rises."""
    chance = generator.random(len(hidden))
    return np.where(generator.random(len(hidden)) < 0.5, expit(3 * (hidden - 0.5)), chance)


KINDS: dict[str, Callable[[FloatArray, float, Generator], FloatArray]] = {
    "continuous": spread, "tied": tied, "heaped": heaped, "zeros": zeros, "clipped": clipped, "bent": bent,
}  # fmt: skip


def true_area(records: Records) -> float:
    """By the ranks of positives."""
    rank, positive = rankdata(records.score), int(records.label.sum())
    won = rank[records.label == 1].sum() - positive * (positive + 1) / 2
    return float(won / (positive * (len(rank) - positive)))


def true_curve(records: Records) -> FloatArray:
    """True positive rates at `RATES`."""
    order = np.argsort(-records.score, kind="stable")
    last = np.append(np.diff(records.score[order]) != 0, True)
    true, false = (np.cumsum(records.label[order] == each)[last] for each in (1, 0))
    return np.interp(RATES, np.append(0, false) / false[-1], np.append(0, true) / true[-1])


def released(setting: Setting, records: Records, seed: int) -> Found:
    """One release, read in both ways."""
    loss = dp.PrivacyLoss.pure(setting.epsilon)
    table = {"label": records.label, "score": records.score}
    with dp.Session(table, budget=loss, adjacency=setting.adjacency, randomness=Randomness.from_seed(seed)) as session:
        roc = session.ask(RocQuestion("label", "score"), loss)
    negative, positive = estimate_unbiased(roc.evidence.sums, roc.evidence.values, roc.evidence.total).cells
    area, curve = true_area(records), true_curve(records)
    low, high = roc.auc_interval(0.95)
    return Found(
        abs(roc.auc - area), abs(float(auc_of_counts(positive, negative)) - area),
        _apart(roc.fpr, roc.tpr, curve), _apart(*roc_points(positive, negative), curve),
        high - low, low <= area <= high,
    )  # fmt: skip


def _apart(fpr: FloatArray, tpr: FloatArray, curve: FloatArray) -> float:
    return float(np.mean(np.abs(np.interp(RATES, fpr, tpr) - curve)))


def measured(setting: Setting, releases: int) -> list[Found]:
    """So many releases of samples of one setting."""
    sets = [drawn(setting, np.random.default_rng(SEED + number)) for number in range(min(SETS, releases))]
    return [released(setting, sets[seed % len(sets)], seed) for seed in range(releases)]


def settings(*, quick: bool) -> list[Setting]:
    """The grid of settings: balanced ones of all kinds, and rare positives."""
    sizes = [(1000, "0.1"), (1000, "1"), (10_000, "0.1")] if quick else [
        (1000, "0.1"), (1000, "0.3"), (1000, "1"), (10_000, "0.1"), (10_000, "1"), (100_000, "0.1"), (100_000, "1")
    ]  # fmt: skip
    both = (dp.REPLACE_ONE, dp.ADD_REMOVE)
    balanced = [
        Setting(kind, records, 0.5, Fraction(epsilon), adjacency)
        for kind in KINDS for records, epsilon in sizes for adjacency in both
    ]  # fmt: skip
    rare = [(100_000, "0.1"), (10_000, "1"), (100_000, "1")][: 1 if quick else None]
    return balanced + [
        Setting("continuous", records, 0.01, Fraction(epsilon), adjacency)
        for records, epsilon in rare for adjacency in both
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print all settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=200, help="of each setting; 200 unless said")
    parser.add_argument("--quick", action="store_true", help="fewer settings")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of scores; all unless said")
    parser.add_argument("--records", nargs="+", type=int, help="numbers of them; all unless said")
    options = parser.parse_args(arguments)
    table = Table(*COLUMNS, title=f"Errors of {options.releases} releases of each setting")
    for setting in track(_chosen(options), description="Areas"):
        table.add_row(*_row(setting, measured(setting, options.releases)))
    Console(width=130).print(table)


def _chosen(options: argparse.Namespace) -> list[Setting]:
    return [
        setting
        for setting in settings(quick=options.quick)
        if setting.kind in options.kinds and setting.records in (options.records or [setting.records])
    ]


COLUMNS = (
    "scores", "records", "positive", "epsilon", "neighbours", "area", "over unbiased", "curve", "over unbiased",
    "width", "held",
)  # fmt: skip


def _row(setting: Setting, found: Sequence[Found]) -> list[str]:
    middle, mean = np.median(np.array(found, dtype=float), axis=0), np.mean(np.array(found, dtype=float), axis=0)
    return [
        setting.kind, f"{setting.records:,}", f"{setting.positive:g}", f"{float(setting.epsilon):g}",
        setting.adjacency.value, f"{middle[0]:.5f}", f"{middle[0] / middle[1]:.2f}", f"{middle[2]:.5f}",
        f"{middle[2] / middle[3]:.2f}", f"{mean[4]:.4f}", f"{mean[5]:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
