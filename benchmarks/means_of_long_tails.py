"""Means without bounds of columns with long tails: how often 95 % intervals hold the mean, and how wide they are.

Columns of the table, of so many releases, each of records of its own (add-remove, epsilon 1):

- *mean, sum*: the share of releases whose interval for these records holds the mean (the sum) of all values.
- *population*: the same, of the interval for the population and the mean of the distribution. Of a public file the
  population is the file, and records are drawn from it with replacement.
- *finite*: the share of intervals of the mean, for these records, that are finite on both sides.
- *width/error*: the median width of these intervals, over the median error of the mean of clipped values.
- *width/mean*: the median width over the mean.
- *clipped*: the median number of records above the upper and below the lower bound.

Marks: the interval holds the mean in at least 93 % of the releases, and is finite in at least 80 %.

Run ``python benchmarks/means_of_long_tails.py [--records 5000 --releases 200 --quick]``. ``--file NAME.npy`` adds a
column from a public file of numbers: one value a record, or, with ``--counted``, the number of records of each value
from 0 on. The last table stands in `means_of_long_tails.md`, with its commit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from math import exp
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
LEVEL = 0.95
HELD, FINITE = 0.93, 0.8


class Distribution(NamedTuple):
    """A distribution of records and its mean."""

    draw: Callable[[np.random.Generator, int], FloatArray]
    mean: float


def wages(draw: np.random.Generator, size: int) -> FloatArray:
    """Draw wages in whole hundreds, 31 % of which are 0."""
    return np.where(draw.random(size) < 0.31, 0.0, np.round(draw.lognormal(10.3, 0.9, size), -2))


def heaped_money(draw: np.random.Generator, size: int) -> FloatArray:
    """Draw amounts, half of them in whole thousands and others in whole fifties."""
    amounts = draw.lognormal(8.0, 1.3, size)
    return np.where(draw.random(size) < 0.5, np.round(amounts, -3), np.round(amounts / 50) * 50)


def far_mode(draw: np.random.Generator, size: int) -> FloatArray:
    """Draw 95 % small orders and 5 % large ones, 160 times as large."""
    return np.where(draw.random(size) < 0.95, draw.normal(50, 5, size), draw.lognormal(9.0, 0.5, size))


def transactions(draw: np.random.Generator, size: int) -> FloatArray:
    """Draw payments, 30 % of which are refunds."""
    return np.round(np.where(draw.random(size) < 0.3, -1, 1) * draw.lognormal(4, 1.5, size), 2)


def incomes(draw: np.random.Generator, size: int) -> FloatArray:
    """Draw a lognormal body with a Pareto tail, as of incomes (Reed and Jorgensen 2004)."""
    return np.exp(10.3 + 0.6 * draw.normal(size=size) + draw.exponential(1 / 2.2, size))


def _mean_of(draw: Callable[[np.random.Generator, int], FloatArray], size: int = 10_000_000) -> float:
    """The mean of very many draws, where rounding leaves no formula."""
    return float(draw(np.random.default_rng(0), size).mean())


DISTRIBUTIONS: Mapping[str, Callable[[], Distribution]] = {
    "lognormal, sigma 1": lambda: Distribution(lambda draw, size: draw.lognormal(10, 1, size), exp(10.5)),
    "lognormal, sigma 1.5": lambda: Distribution(lambda draw, size: draw.lognormal(9, 1.5, size), exp(9 + 1.5**2 / 2)),
    "lognormal, sigma 2": lambda: Distribution(lambda draw, size: draw.lognormal(8, 2, size), exp(10)),
    "Pareto 1.5": lambda: Distribution(lambda draw, size: 1000 * (draw.pareto(1.5, size) + 1), 3000.0),
    "Pareto 2.5": lambda: Distribution(lambda draw, size: 1000 * (draw.pareto(2.5, size) + 1), 5000 / 3),
    "wages, 31 % zeros": lambda: Distribution(wages, _mean_of(wages)),
    "heaped money": lambda: Distribution(heaped_money, _mean_of(heaped_money)),
    "far mode": lambda: Distribution(far_mode, 0.95 * 50 + 0.05 * exp(9 + 0.5**2 / 2)),
    "transactions": lambda: Distribution(transactions, _mean_of(transactions)),
    "incomes": lambda: Distribution(incomes, exp(10.3 + 0.6**2 / 2) * 2.2 / 1.2),
}


def distribution_of_file(file: Path, counted: bool) -> Distribution:
    """The distribution of drawing from a public file with replacement."""
    numbers = np.load(file).ravel()
    values = np.repeat(np.arange(len(numbers)), numbers.astype(np.int64)) if counted else numbers
    values = values.astype(np.float64)
    return Distribution(lambda draw, size: draw.choice(values, size), float(values.mean()))


class Column(NamedTuple):
    """Measurements of one column.

    Attributes:
        shares: Shares of releases whose interval holds the mean, the sum, the population's mean, or is finite, (4,).
        width: Median width of the interval of the mean.
        error: Median error of the mean.
        clipped: Median number of records above the upper and below the lower bound, (2,).
    """

    shares: FloatArray
    width: float
    error: float
    clipped: FloatArray


def measure_column(distribution: Distribution, records: int, releases: int, epsilon: float) -> Column:
    """Ask for means of so many samples of a distribution."""
    held, widths, errors, clipped = [], [], [], []
    for seed in range(releases):
        values = distribution.draw(np.random.default_rng([seed, records]), records)
        found = dp.mean(
            values, bounds="auto", epsilon=epsilon, adjacency=dp.ADD_REMOVE, randomness=dp.Randomness.from_seed(seed)
        )
        _, total, mean, *_ = found.intervals(LEVEL).tolist()
        population = found.mean_interval(LEVEL, population=True)
        true = float(values.mean())
        held.append([
            mean[0] <= true <= mean[1], total[0] <= float(values.sum()) <= total[1],
            population[0] <= distribution.mean <= population[1], bool(np.isfinite(mean).all()),
        ])  # fmt: skip
        widths.append(mean[1] - mean[0])
        errors.append(abs(found.mean - true))
        clipped.append([np.count_nonzero(values > found.upper), np.count_nonzero(values < found.lower)])
    return Column(np.mean(held, axis=0), float(np.median(widths)), float(np.median(errors)), np.median(clipped, axis=0))


def row(name: str, distribution: Distribution, records: int, releases: int, epsilon: float) -> str:
    """One line of the table."""
    shares, width, error, above_below = measure_column(distribution, records, releases, epsilon)
    marked = "yes" if shares[0] >= HELD and shares[3] >= FINITE else "no"
    return (
        f"| {name} | {shares[0]:.3f} | {shares[1]:.3f} | {shares[2]:.3f} | {shares[3]:.2f} | "
        f"{width / error:.1f} | {width / abs(distribution.mean):.2f} | "
        f"{above_below[0]:.0f}, {above_below[1]:.0f} | {marked} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, nargs="+", default=[5000])
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--distributions", nargs="+", choices=list(DISTRIBUTIONS), default=list(DISTRIBUTIONS))
    parser.add_argument("--file", type=Path, nargs="*", default=[], help="public numbers, as NumPy stores them")
    parser.add_argument("--counted", action="store_true", help="files hold the number of records of each value")
    parser.add_argument("--quick", action="store_true", help="20 releases of each column")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    releases = 20 if given.quick else given.releases
    for records in given.records:
        print(f"\n{records:,} records, epsilon {given.epsilon:g}, {releases} releases:\n")
        print("| column | mean | sum | population | finite | width/error | width/mean | clipped | mark met |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name in given.distributions:
            print(row(name, DISTRIBUTIONS[name](), records, releases, given.epsilon), flush=True)
        for file in given.file:
            print(
                row(file.stem, distribution_of_file(file, given.counted), records, releases, given.epsilon), flush=True
            )


if __name__ == "__main__":
    main()
