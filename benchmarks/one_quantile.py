"""Intervals of one quantile beside the errors that are made: coverage, and width over error (1 is ideal).

Width over error is the mean width over twice the 90 % quantile of the error of the quantile that is printed, where an
error counts for half a cell at least, for intervals end at edges of cells. Beside it stand the mean width and the mean
error over those of the same quantile of a distribution function at the same loss. The constants of turns that close in
were chosen on `lognormal` and on `two normal distributions`, the number of quantiles to be tested on `lognormal` and
`beta`; the others chose nothing. Run ``python benchmarks/one_quantile.py`` (some 4 minutes).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
Seen = tuple[float, float, bool, float, float]
LEVEL = 0.9
DISTRIBUTIONS: Mapping[str, tuple[Callable[[np.random.Generator, int], FloatArray], dp.Grid]] = {
    "lognormal": (lambda draw, n: draw.lognormal(10.2, 0.9, n), dp.Grid(0, 200_000, cells=1000)),
    "beta": (lambda draw, n: draw.beta(2, 5, n), dp.Grid(0, 1, cells=1000)),
    "two normal distributions": (
        lambda draw, n: draw.normal(np.where(draw.random(n) < 0.4, 30, 55), 9),
        dp.Grid(0, 100, cells=500),
    ),
    "whole ages": (lambda draw, n: np.floor(draw.beta(2, 2.5, n) * 90), dp.Grid(0, 120, cells=120)),
    "a third are zero": (
        lambda draw, n: np.where(draw.random(n) < 1 / 3, 0, draw.gamma(2, 15_000, n).round(-2)),
        dp.Grid(0, 200_000, cells=1000, outside=dp.Outside.APART),
    ),
}


def main() -> None:
    """Print one line for each distribution, number of records and share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=40)
    releases = parser.parse_args().releases
    warnings.simplefilter("ignore", dp.CurveWarning)
    print(
        "distribution, records, share: coverage and width over error (width, error over a curve's) for these records;"
    )
    print("for the population")
    for name in DISTRIBUTIONS:
        for records in (3000, 30_000):
            for line in lines(name, records, releases):
                print(line, flush=True)


def lines(name: str, records: int, releases: int) -> list[str]:
    """What is printed of one distribution."""
    draw, grid = DISTRIBUTIONS[name]
    population = draw(np.random.default_rng(99), 400_000)
    shares = (0.5, 0.9)
    found: dict[tuple[float, bool], list[Seen]] = {}
    cell = (grid.upper - grid.lower) / grid.cells
    for release in range(releases):
        sample = draw(np.random.default_rng([release, records]), records)
        terms: dict[str, Any] = {"grid": grid, "epsilon": 1, "adjacency": dp.REPLACE_ONE}
        whole = dp.cdf(sample, **terms)
        for share in shares:
            curve = dp.quantiles(sample, [share], **terms).curve
            for whom, values in ((False, sample), (True, population)):
                true = float(np.quantile(values, share, method="inverted_cdf"))
                seen = list[float]()
                for each in (curve, whole):
                    ends = each.quantile_intervals(np.array([share]), LEVEL, population=whom)[0]
                    left, right = np.clip(ends, grid.lower, grid.upper).tolist()
                    seen += [right - left, abs(float(each.quantile(share)) - true), float(left <= true <= right)]
                found.setdefault((share, whom), []).append((seen[0], seen[1], bool(seen[2]), seen[3], seen[4]))
    return [
        f"{name}, {records:,}, {share}: {told(found[share, False], cell)}; {told(found[share, True], cell)}"
        for share in shares
    ]


def told(seen: list[Seen], cell: float) -> str:
    """Coverage, and width over error; both over those of a curve."""
    widths, errors, held, wide, off = (np.array(each, dtype=np.float64) for each in zip(*seen, strict=True))
    most = np.quantile(np.maximum(errors, cell / 2), LEVEL)
    beside = f"({widths.mean() / wide.mean():.2f}, {errors.mean() / off.mean():.2f})"
    return f"{held.mean():.3f} {widths.mean() / (2 * most):.2f} {beside}"


if __name__ == "__main__":
    main()
