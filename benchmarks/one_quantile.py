"""Intervals of one quantile beside the errors that are made: coverage, and width over error (1 is ideal).

Width over error is the mean width over twice the 90 % quantile of the error of the quantile that is printed. `beta` and
`lognormal` are laws that the number of quantiles to be tested was chosen on; the others chose nothing. Run
``python benchmarks/one_quantile.py`` (some 2 minutes).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
LEVEL = 0.9
LAWS: Mapping[str, tuple[Callable[[np.random.Generator, int], FloatArray], dp.Grid]] = {
    "lognormal": (lambda draw, n: draw.lognormal(10.2, 0.9, n), dp.Grid(0, 200_000, cells=1000)),
    "beta": (lambda draw, n: draw.beta(2, 5, n), dp.Grid(0, 1, cells=1000)),
    "two normal laws": (
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
    """Print one line for each law, number of records and share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=40)
    releases = parser.parse_args().releases
    warnings.simplefilter("ignore", dp.CurveWarning)
    print("law, records, share: coverage and width over error for these records; for the population")
    for name in LAWS:
        for records in (3000, 30_000):
            for line in lines(name, records, releases):
                print(line, flush=True)


def lines(name: str, records: int, releases: int) -> list[str]:
    """What is printed of one law."""
    draw, grid = LAWS[name]
    population = draw(np.random.default_rng(99), 400_000)
    shares = (0.5, 0.9)
    found: dict[tuple[float, bool], list[tuple[float, float, bool]]] = {}
    for release in range(releases):
        sample = draw(np.random.default_rng([release, records]), records)
        curve = dp.cdf(sample, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
        for share in shares:
            for whom, values in ((False, sample), (True, population)):
                true = float(np.quantile(values, share, method="inverted_cdf"))
                left, right = curve.quantile_interval(share, LEVEL, population=whom)
                error = abs(float(curve.quantile(share)) - true)
                found.setdefault((share, whom), []).append((right - left, error, left <= true < right))
    return [
        f"{name}, {records:,}, {share}: {told(found[share, False])}; {told(found[share, True])}" for share in shares
    ]


def told(seen: list[tuple[float, float, bool]]) -> str:
    """Coverage, and width over error."""
    widths, errors, held = (np.array(each, dtype=np.float64) for each in zip(*seen, strict=True))
    return f"{held.mean():.3f} {widths.mean() / (2 * np.quantile(errors, LEVEL)):.2f}"


if __name__ == "__main__":
    main()
