"""How often do intervals of the area under a ROC curve hold what they say?

`python benchmarks/coverage_of_scores.py [--releases N] [--records N ...]`. Scores are spread, tied, heaped, at the ends
or clamped; about three tenths or a fiftieth are positive. Is the area of the records, by their exact scores, between
the ends of its 95% interval for these records, and that of the population they were drawn from between those of the
interval for the population? Behind each rate stands its standard error, and the mean width of the interval.

The order of scores within a cell was not counted, and may be the worst for either end. Where noise is small beside what
is tied, intervals hold more often than they say, and have to: `tied` is the mean share of pairs in one cell, a half of
which is added to each end. On a fine grid of fixed cells next to nothing is tied: there the rate is the level.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
from fit.answering import LABEL, SCORE, answer
from fit.scores import CONTINUOUS, KINDS, drawn
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed
from scipy.special import expit, logit

from dpcurves.curves import Cuts, RocQuestion
from dpcurves.data import Grid
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne

FloatArray = NDArray[np.float64]
RELEASES, LEVEL, ROUNDING = 100, 0.95, 1e-9
SHIFTS = {"0.3": 0.0, "0.02": -3.6}
QUESTIONS = {
    "cuts": RocQuestion(LABEL, SCORE),
    "1,024 cells": RocQuestion(LABEL, SCORE, Grid(0, 1, cells=1024), cuts=Cuts.FIXED),
}
COLUMNS = "scores", "cells", "n", "positive", "epsilon", "adjacency", "tied", "records", "width", "population", "width"


class Setting(NamedTuple):
    """What is released, of what records."""

    kind: str
    cells: str
    records: int
    positive: str
    epsilon: str
    adjacency: int


def area(score: FloatArray, positive: FloatArray) -> float:
    """The chance to win a pair, of records that are positive, or are so with these chances."""
    rank, found = np.unique(score, return_inverse=True)
    true, false = (np.bincount(found, each, minlength=len(rank)) for each in (positive, 1 - positive))
    return float(true @ (np.cumsum(false) - false / 2) / (true.sum() * false.sum()))


@lru_cache
def of_population(kind: str, positive: str) -> float:
    """The area of two million scores, each taken as positive and as negative by its chances."""
    score = KINDS[kind](2 * 10**6, np.random.default_rng(7))
    with np.errstate(divide="ignore"):
        return area(score, expit(logit(score) + SHIFTS[positive]))


def released(setting: Setting, seed: int) -> list[float]:
    """One release: the share of pairs that are tied; for records and population, whether it was held, and the width."""
    table = drawn(KINDS[setting.kind], setting.records, seed, shift=SHIFTS[setting.positive])
    adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, setting.records))[setting.adjacency]
    roc = answer(QUESTIONS[setting.cells], table, PrivacyLoss.pure(setting.epsilon), adjacency, seed)
    found = [float(np.diff(roc.fpr) @ np.diff(roc.tpr))]
    for population in (False, True):
        low, high = roc.auc_interval(LEVEL, population=population)
        truth = of_population(setting.kind, setting.positive) if population else area(table.score, table.label)
        found += [low - ROUNDING <= truth <= high + ROUNDING, high - low]
    return found


def settings(sizes: Sequence[int]) -> list[Setting]:
    """All of them; on fixed cells spread scores alone."""
    rest = list(product(sizes, SHIFTS, ("0.1", "1"), (0, 1)))
    cut = [Setting(kind, "cuts", *each) for kind, each in product(KINDS, rest)]
    return [*cut, *(Setting(CONTINUOUS, "1,024 cells", *each) for each in rest)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print all settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=RELEASES, help=f"of each setting; {RELEASES} unless said")
    parser.add_argument("--records", type=int, nargs="+", default=[1000, 100_000], help="1,000 and 100,000 unless said")
    options = parser.parse_args(arguments)
    printed = Printed(*COLUMNS, title=f"Coverage of 95% intervals of the area, {options.releases} releases of each")
    for setting in track(settings(options.records), description="Coverage"):
        tied, *rates = np.mean([released(setting, seed) for seed in range(options.releases)], axis=0)
        held = [f"{rate:.3f} ± {sqrt(LEVEL * (1 - LEVEL) / options.releases):.3f}" for rate in rates[::2]]
        words = setting.kind, setting.cells, f"{setting.records:,}", setting.positive, setting.epsilon
        neighbours = ("add or remove", "replace")[setting.adjacency]
        printed.add_row(*words, neighbours, f"{tied:.4f}", held[0], f"{rates[1]:.4f}", held[1], f"{rates[3]:.4f}")
    Console(width=150).print(printed)


if __name__ == "__main__":
    main()
