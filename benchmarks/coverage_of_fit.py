"""How often do intervals of calibration curves, Hosmer-Lemeshow groups and binned residuals hold what they say?

`python benchmarks/coverage_of_fit.py [--releases N]`. The model is right. Of each group that is not empty: is the share
of positives, or their number, between the ends of its 95% interval, for these records and for the population; and is
the mean residual of a bin within the envelope? Spread scores should give 0.95, others at least that. Ends are compared
one by one; behind each rate stands its standard error, as if groups were independent.
"""

from __future__ import annotations

import argparse
from itertools import product
from math import sqrt

import numpy as np
from fit.answering import LABEL, SCORE, answer
from fit.scores import KINDS, Drawn, Table, drawn
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

from dpcurves.curves import (
    BinnedResidualsQuestion,
    Calibration,
    CalibrationQuestion,
    HosmerLemeshow,
    HosmerLemeshowQuestion,
)
from dpcurves.privacy import EACH_RECORD, PUBLIC_MODEL, AddRemove, Adjacency, PrivacyLoss, ReplaceOne

RELEASES, LEVEL, ROUNDING = 40, 0.95, 1e-9
QUESTIONS = CalibrationQuestion(LABEL, SCORE), HosmerLemeshowQuestion(LABEL, SCORE)
BINNED = BinnedResidualsQuestion(LABEL, SCORE, PUBLIC_MODEL)
COLUMNS = "shares, records", "population", "positives, records", "population", "envelope"
Held = list[NDArray[np.bool_]]


def released(kind: Drawn, records: int, epsilon: str, adjacency: Adjacency, seed: int) -> Held:
    """One release of each question on one table: what held, column by column."""
    table, loss = drawn(kind, records, seed), PrivacyLoss.pure(epsilon)
    held: Held = []
    for question in QUESTIONS:
        held.extend(of_groups(answer(question, table, loss, adjacency, seed), table))
    binned = answer(BINNED, table, loss, adjacency, seed)
    return [*held, np.abs(binned.residual) <= binned.envelope]


def of_groups(curve: Calibration | HosmerLemeshow, table: Table) -> Held:
    """Whether the truth of each group is held, for these records and for the population."""
    groups = len(curve.count)
    place = np.clip(np.searchsorted(curve.edges, table.score, side="right") - 1, 0, groups - 1)
    count = np.bincount(place, minlength=groups)
    size = np.maximum(count, 1) if isinstance(curve, Calibration) else np.ones(groups)
    held: Held = []
    for population, each in ((False, table.label), (True, table.score)):
        truth = np.bincount(place, each, minlength=groups) / size
        low, high = curve.intervals(LEVEL, population=population).T
        held.append(((low - ROUNDING <= truth) & (truth <= high + ROUNDING))[count > 0])
    return held


def rate(held: Held) -> str:
    every = np.concatenate(held)
    return f"{every.mean():.3f} ± {sqrt(LEVEL * (1 - LEVEL) / len(every)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each setting")
    releases = parser.parse_args().releases
    printed = Printed(title=f"Coverage of 95% intervals, {releases} releases of each")
    for column in ("scores", "n", "epsilon", "adjacency", *COLUMNS):
        printed.add_column(column)
    settings = list(product(KINDS.items(), (1000, 100_000), ("0.1", "1"), (0, 1)))
    for (name, kind), records, epsilon, which in track(settings, description="Coverage"):
        adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, records))[which]
        found = [released(kind, records, epsilon, adjacency, seed) for seed in range(releases)]
        rates = [rate(list(column)) for column in zip(*found, strict=True)]
        printed.add_row(name, f"{records:,}", epsilon, str(adjacency), *rates)
    Console(width=160).print(printed)


if __name__ == "__main__":
    main()
