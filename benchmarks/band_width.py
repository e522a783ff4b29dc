"""How wide bands of distribution functions are beside those of one round that counts every cell, and whether they hold.

`python benchmarks/band_width.py [--releases N] [--level L] [--quick] [--private] [--zcdp] [--epsilons E ...]`. For
each kind of records, number of them and epsilon (replace-one, the number is public; with `--private` add-remove, where
it is not; with `--zcdp` rho is epsilon**2 / 2, the least that holds wherever epsilon does): the mean and the largest
width over all edges, and the errors KS, W1 and RMSE of the curve, each over that of one round of the same loss (hint
`atoms`), as means over 10 releases (or N); and how many releases hold the whole curve of the records, with the numbers
that are within 4 standard deviations of the level. Nothing is asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import NamedTuple

import numpy as np
from accuracy.answering import COLUMN, answer
from accuracy.data import FloatArray, Sample
from accuracy.errors import METRICS, errors_of
from rich.console import Console
from rich.table import Table

from dpcurves.curves import CDF, CdfQuestion
from dpcurves.data import Grid
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import Hint

CELLS = 1024
RECORDS, QUICK = (10_000, 100_000), (100_000,)
EPSILONS = ("0.1", "1")
COLUMNS = "records", "n", "epsilon", "mean width", "max width", *METRICS, "held", "of one round", "by chance", "rounds"

Draw = Callable[[int, np.random.Generator], FloatArray]


class Found(NamedTuple):
    """Measure one release: widths at all edges, errors of the curve, and whether the band held that of the records."""

    width: FloatArray
    errors: tuple[float, float, float]
    held: bool
    rounds: int


def years(records: int, draw: np.random.Generator) -> FloatArray:
    return np.abs(np.floor(draw.normal(38, 23, records))).clip(0, 100)


def incomes(records: int, draw: np.random.Generator) -> FloatArray:
    return np.exp(draw.normal(10, 0.8, records))


def heaped(records: int, draw: np.random.Generator) -> FloatArray:
    exact, kind = incomes(records, draw), draw.random(records)
    return np.where(kind < 0.6, np.round(exact, -3), np.where(kind < 0.8, np.round(exact, -2), exact))


def zero_inflated(records: int, draw: np.random.Generator) -> FloatArray:
    return np.where(draw.random(records) < 0.35, 0.0, incomes(records, draw))


KINDS: dict[str, tuple[Draw, Grid]] = {
    "whole years": (years, Grid(0, 128, cells=CELLS)),
    "whole years, uneven cells": (years, Grid(0, 100, cells=CELLS)),
    "heaped incomes": (heaped, Grid(0, 102_400, cells=CELLS)),
    "zeros and incomes": (zero_inflated, Grid(0, 102_400, cells=CELLS)),
    "normal": (lambda records, draw: draw.normal(0, 1, records), Grid(-5, 5, cells=CELLS)),
    "beta": (lambda records, draw: draw.beta(2, 3, records), Grid(0, 1, cells=CELLS)),
    "uniform": (lambda records, draw: draw.random(records), Grid(0, 1, cells=CELLS)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure row by row."""
    options = _options(arguments)
    table = Table(*COLUMNS, title=f"Bands of level {options.level}, {CELLS} cells, {options.releases} releases")
    for kind, sample, epsilon in _tasks(QUICK if options.quick else RECORDS, options.epsilons):
        ours, single = (_released(sample, epsilon, hint, options) for hint in (None, Hint.ATOMS))
        table.add_row(kind, str(sample.records), epsilon, *_ratios(ours, single), *_coverage(ours, single, options))
    Console(width=140).print(table)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=10, help="how many of each kind, instead of 10")
    parser.add_argument("--level", type=float, default=0.95, help="of the bands, instead of 0.95")
    parser.add_argument("--private", action="store_true", help="add-remove: the number of records is private")
    parser.add_argument("--zcdp", action="store_true", help="Gaussian noise: rho is epsilon**2 / 2")
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS, help="instead of 0.1 and 1")
    parser.add_argument("--quick", action="store_true", help="100,000 records alone")
    return parser.parse_args(arguments)


def _tasks(sizes: Sequence[int], epsilons: Sequence[str]) -> Iterator[tuple[str, Sample, str]]:
    for kind, (draw, grid) in KINDS.items():
        for records in sizes:
            cells = grid.cell_of(draw(records, np.random.default_rng(1)).clip(grid.lower, grid.upper))
            sample = Sample(grid, np.bincount(cells, minlength=grid.cells))
            yield from ((kind, sample, epsilon) for epsilon in epsilons)


def _released(sample: Sample, epsilon: str, hint: Hint | None, options: argparse.Namespace) -> list[Found]:
    question, found = CdfQuestion(COLUMN, sample.grid, hint=hint), []
    adjacency = AddRemove(EACH_RECORD) if options.private else None
    loss = PrivacyLoss.zcdp(Fraction(epsilon) ** 2 / 2) if options.zcdp else PrivacyLoss.pure(epsilon)
    for seed in range(options.releases):
        curve: CDF = answer(question, sample, loss, seed, adjacency=adjacency)
        lower, upper = curve.band(options.level)
        held = bool(np.all((lower <= sample.shares + 1e-9) & (sample.shares <= upper + 1e-9)))
        found.append(Found(upper - lower, errors_of(curve.y, sample), held, len(curve.prefixes.rounds)))
    return found


def _ratios(ours: Sequence[Found], single: Sequence[Found]) -> list[str]:
    own, other = (
        np.mean([(found.width.mean(), found.width.max(), *found.errors) for found in each], axis=0)
        for each in (ours, single)
    )
    return [f"{ratio:.2f}" for ratio in own / other]


def _coverage(ours: Sequence[Found], single: Sequence[Found], options: argparse.Namespace) -> tuple[str, ...]:
    held = [str(sum(found.held for found in each)) for each in (ours, single)]
    count, spread = options.releases * options.level, 4 * sqrt(options.releases * options.level * (1 - options.level))
    low, high = max(0, ceil(count - spread)), min(options.releases, floor(count + spread))
    return *held, f"{low} to {high}", f"{np.mean([found.rounds for found in ours]):.1f}"


if __name__ == "__main__":
    main()
