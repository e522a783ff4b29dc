"""How often does the private Hosmer-Lemeshow test call a wrong model wrong, and a right one?

`python benchmarks/hosmer_lemeshow_power.py [--releases N] [--level-releases N]`. A model is wrong by a slope, where the
log-odds of a positive label are 1.5 times those of the score, or by a shift, where they are 0.3 larger. Beside it the
chi-square test of ten groups on the same records, without privacy (scipy; as many degrees of freedom as groups, for the
model is not fitted to these records). Rates are those of p-values up to 0.05; behind them their standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed
from scipy.special import expit
from scipy.stats import chi2

from dpcurves.curves import HosmerLemeshowQuestion
from dpcurves.privacy import PrivacyLoss

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both
from kinds import KINDS, labels_of, scores

Drawn = Callable[[int, np.random.Generator], NDArray[np.float64]]
RELEASES, ALPHA, PEER_GROUPS = 200, 0.05, 10
QUESTION = HosmerLemeshowQuestion("y", "s")


def log_odds(middle: float, records: int, chance: np.random.Generator) -> NDArray[np.float64]:
    """Scores whose log-odds are normal around `middle`, of variance 1."""
    return np.asarray(expit(chance.normal(middle, 1, records)))


SPREAD: MappingProxyType[str, Drawn] = MappingProxyType({
    "log-odds around 0": partial(log_odds, 0), "log-odds around -1": partial(log_odds, -1),
    "log-odds around -2": partial(log_odds, -2), "uniform": lambda records, chance: chance.random(records),
})  # fmt: skip
OTHERS: MappingProxyType[str, Drawn] = MappingProxyType({kind: partial(scores, kind) for kind in KINDS})


class Setting(NamedTuple):
    """One line: which scores, how wrong, how many records, which loss."""

    scores: str
    kind: Drawn
    wrong: str
    slope: float
    shift: float
    records: int
    epsilon: str


class Rates(NamedTuple):
    """How often a test says that the model is wrong."""

    replace_one: float
    add_remove: float
    classical: float


POWER = [
    Setting(name, kind, *wrong)
    for name, kind in SPREAD.items()
    for wrong in (("slope 1.5", 1.5, 0.0, 2000, "0.3"), ("shift 0.3", 1.0, 0.3, 20_000, "0.1"))
]
LEVEL = [
    Setting(name, kind, "right", 1.0, 0.0, *size)
    for name, kind in (SPREAD | OTHERS).items()
    for size in ((1000, "0.1"), (1000, "1"), (2000, "0.3"), (20_000, "0.1"), (100_000, "0.1"), (100_000, "1"))
]


def rates(setting: Setting, releases: int) -> Rates:
    """Over so many tables, and one release of each under either adjacency."""
    loss = PrivacyLoss.pure(setting.epsilon)
    found = np.zeros(3)
    for seed in range(releases):
        chance = np.random.default_rng(seed)
        score = np.sort(setting.kind(setting.records, chance))
        records = {"s": score, "y": labels_of(score, chance, slope=setting.slope, shift=setting.shift)}
        added, replaced = (answer(QUESTION, records, loss, each, seed).p_value for each in both(setting.records))
        private = replaced, added
        found += np.array([*private, classical_p_value(records)]) <= ALPHA
    return Rates(*(found / releases).tolist())


def classical_p_value(records: dict[str, NDArray[np.float64]]) -> float:
    """Return the p-value of the chi-square test of ten groups of about equal size, of records whose scores rise."""
    statistic = 0.0
    columns = (np.array_split(column, PEER_GROUPS) for column in (records["s"], records["y"]))
    for score, label in zip(*columns, strict=True):
        expected = score.sum()
        variance = expected * (1 - expected / len(score))
        statistic += (label.sum() - expected) ** 2 / variance if variance > 0 else 0.0
    return float(chi2.sf(statistic, PEER_GROUPS))


def shown(title: str, settings: list[Setting], releases: int) -> Printed:
    """A line for each setting."""
    table = Printed(title=f"{title}, {releases} releases of each (± {standard_error(releases):.3f} at 0.05)")
    for column in ("scores", "model", "n", "epsilon", "replace-one", "add-remove", "chi-square, not private"):
        table.add_column(column)
    for setting in track(settings, description=title):
        found = rates(setting, releases)
        line = setting.scores, setting.wrong, f"{setting.records:,}", setting.epsilon
        table.add_row(*line, *(f"{rate:.3f}" for rate in found))
    return table


def standard_error(releases: int) -> float:
    return sqrt(ALPHA * (1 - ALPHA) / releases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each setting in the table of power")
    parser.add_argument("--level-releases", type=int, help="of each setting in the table of levels; as --releases")
    options = parser.parse_args()
    console = Console(width=140)
    console.print(shown("Power", POWER, options.releases))
    console.print(shown("Level", LEVEL, options.level_releases or options.releases))


if __name__ == "__main__":
    main()
