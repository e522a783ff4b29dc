"""How often do bands of ROC curves hold what they say, and how wide are they?

`python benchmarks/coverage_of_roc_bands.py [--releases N]`. Of each release at level 0.95: are the rates at all counted
thresholds in their boxes at once; is the whole curve of the exact scores, or of the population, in the region? Boxes
for these records should hold in 0.95 of the releases on spread scores, and in no fewer on others. Regions hold more:
between thresholds they allow for every order of the scores, and for the population they add an inequality to the noise.
The height is that of the region for these records, over false positive rates.
"""

from __future__ import annotations

import argparse
from functools import lru_cache
from itertools import product
from math import sqrt

import numpy as np
from fit.answering import LABEL, SCORE, answer
from fit.scores import KINDS, Table, drawn
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

from dpcurves.curves import ROC, RocQuestion
from dpcurves.postprocess import RocBand
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne

RELEASES, LEVEL, ROUNDING = 200, 0.95, 1e-9
POPULATION, FINEST = 2**21, 4096
COLUMNS = "boxes, records", "curve, records", "curve, population", "height"
FloatArray = NDArray[np.float64]


def rates(table: Table, thresholds: FloatArray) -> FloatArray:
    """False and true positive rates at and above each threshold: (2, thresholds)."""
    classes = [table.score[table.label == label] for label in (0, 1)]
    return np.stack([1 - np.searchsorted(own, thresholds, side="left") / len(own) for own in classes])


@lru_cache
def of_population(name: str) -> FloatArray:
    """The rates of a very large sample, at its atoms and at many quantiles."""
    table = drawn(KINDS[name], POPULATION, seed=10**6)
    return rates(table, np.unique(table.score[:: POPULATION // FINEST]))


def boxed(band: RocBand, curve: ROC, table: Table) -> bool:
    exact = rates(table, np.append(curve.thresholds[:-1], -np.inf))
    low, high = np.stack(band[0::2]), np.stack(band[1::2])
    return bool(np.all((low <= exact + ROUNDING) & (exact <= high + ROUNDING)))


def contains(band: RocBand, points: FloatArray) -> bool:
    lower, upper = band.at(points[0])
    return bool(np.all((lower <= points[1] + ROUNDING) & (points[1] <= upper + ROUNDING)))


def released(name: str, records: int, epsilon: str, adjacency: AddRemove | ReplaceOne, seed: int) -> tuple[float, ...]:
    """What one release on a new table held, and how high its region is."""
    table = drawn(KINDS[name], records, seed)
    curve = answer(RocQuestion(LABEL, SCORE), table, PrivacyLoss.pure(epsilon), adjacency, seed)
    band, wide = curve.band(LEVEL), curve.band(LEVEL, population=True)
    edges, lower, upper = band.steps()
    whole = contains(band, rates(table, np.unique(table.score)))
    height = float(np.sum((upper - lower) * np.diff(edges)))
    return boxed(band, curve, table), whole, contains(wide, of_population(name)), height


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each setting")
    releases = parser.parse_args().releases
    error = sqrt(LEVEL * (1 - LEVEL) / releases)
    printed = Printed(title=f"Coverage of 95% bands of ROC curves, {releases} releases of each, ± {error:.3f}")
    for column in ("scores", "n", "epsilon", "adjacency", *COLUMNS):
        printed.add_column(column)
    settings = list(product(KINDS, (1000, 100_000), ("0.1", "1"), (0, 1)))
    for name, records, epsilon, which in track(settings, description="Coverage"):
        adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, records))[which]
        found = [released(name, records, epsilon, adjacency, seed) for seed in range(releases)]
        printed.add_row(
            name, f"{records:,}", epsilon, str(adjacency), *(f"{each:.3f}" for each in np.mean(found, axis=0))
        )
    Console(width=160).print(printed)


if __name__ == "__main__":
    main()
