"""Rank errors of six quantiles on given grids, beside those without any range (add-remove).

Columns: the distribution; the mean rank error without a grid, and on 0:500000 (ages: 0:120 and 18:90; months: days of
ten years)
with 500, 1,024 and 5,000 cells, each with its standard error over releases; that of the same quantiles of a
distribution function (`dp.cdf`) on 1,024 cells, which gives zero alone a cell of its own and reads the round number of
a heaped cell; the ratio of the largest of the three grids to none; the share of intervals at 0.95 on 1,024 cells that
are finite, and of releases in which all six hold.

Run ``python benchmarks/grid_or_none.py [--records 10000 --releases 20 --epsilon 1 --quick]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
P = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
LEVEL = 0.95
CELLS = (500, 1024, 5000)
DISTRIBUTIONS: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "wages, 31 % zeros": lambda draw, size: np.where(
        draw.random(size) < 0.31, 0.0, draw.lognormal(10.3, 0.6, size).round(-1)
    ),
    "heaped": lambda draw, size: heap(draw, draw.lognormal(10.3, 0.8, size)),
    "heaped, 10 % zeros": lambda draw, size: np.where(
        draw.random(size) < 0.1, 0.0, heap(draw, draw.lognormal(10.3, 0.8, size))
    ),
    "smooth": lambda draw, size: draw.lognormal(10.3, 0.9, size),
    "ages": lambda draw, size: np.clip(np.floor(draw.normal(45, 18, size)), 0, 110),
    "ages, 18 to 89": lambda draw, size: np.clip(np.floor(draw.normal(45, 18, size)), 18, 89),
    "months": lambda draw, size: draw.choice(FIRST_DAYS, size),
}
FIRST_DAYS = (np.arange("2014-01", "2024-01", dtype="datetime64[M]").astype("datetime64[D]")).astype(np.float64)
"""Days from 1970-01-01 to the first of each month of ten years."""
MONEY = (0.0, 500_000.0)
RANGES = {"ages": (0.0, 120.0), "ages, 18 to 89": (18.0, 90.0), "months": (16_000.0, 20_000.0)}
"""Ends of the grids of distributions whose values are not money."""


def heap(draw: np.random.Generator, money: FloatArray) -> FloatArray:
    """Round half of the amounts to thousands, the others to hundreds."""
    return np.where(draw.random(len(money)) < 0.5, money.round(-3), money.round(-2))


def rank_error(values: FloatArray, released: FloatArray) -> float:
    """The mean distance of the wanted ranks from those that the released values have."""
    ordered, wanted = np.sort(values), np.array(P) * len(values)
    least, most = (np.searchsorted(ordered, released, side) for side in ("left", "right"))
    return float(np.maximum(np.maximum(least - wanted, wanted - most), 0).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true", help="4 releases")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| distribution | none | {' | '.join(map(str, CELLS))} | cdf | ratio | finite | held |")
    print(f"|{'---|' * (len(CELLS) + 6)}")
    for name, distribution in DISTRIBUTIONS.items():
        errors, finite, held = list[list[float]](), list[float](), list[bool]()
        for seed in range(4 if given.quick else given.releases):
            values = distribution(np.random.default_rng(seed), given.records)
            row, ends_of_grid = [], RANGES.get(name, MONEY)
            for cells in (None, *CELLS):
                grid = {} if cells is None else {"grid": dp.Grid(*ends_of_grid, cells=cells)}
                paid = {"epsilon": given.epsilon, "adjacency": dp.ADD_REMOVE}
                found = dp.quantiles(values, P, randomness=dp.Randomness.from_seed(seed), **paid, **grid)
                row.append(rank_error(values, found.x))
                if cells == CELLS[1]:
                    ends, true = found.intervals(LEVEL), np.quantile(values, P, method="inverted_cdf")
                    finite.append(float(np.isfinite(ends).all(axis=1).mean()))
                    held.append(bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all()))
            curve = dp.cdf(
                values, grid=dp.Grid(*ends_of_grid, cells=CELLS[1]), randomness=dp.Randomness.from_seed(seed), **paid
            )
            errors.append([*row, rank_error(values, curve.quantile(P))])
        mean, deviation = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
        cells_of_row = " | ".join(f"{error:.1f} ± {off:.1f}" for error, off in zip(mean, deviation, strict=True))
        ratio = max(mean[1:-1]) / mean[0]
        print(f"| {name} | {cells_of_row} | {ratio:.2f} | {np.mean(finite):.2f} | {np.mean(held):.2f} |", flush=True)


if __name__ == "__main__":
    main()
