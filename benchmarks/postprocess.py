"""What post-processing takes, and what shrinkage gives. Prints two tables; asserts nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from baselines import shrunken

from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares
from dpcurves.summaries import monotone_prefixes

Counts = NDArray[np.int64]


def tree(cells: int, widths: tuple[int, ...], family: Family, epsilon: float = 1.0) -> IntervalSums:
    noise = Noise(family, Fraction(2 * len(widths)) / Fraction(epsilon).limit_denominator(1000))
    return IntervalSums(1, cells, tuple(Tier(range(0, cells, width), noise) for width in widths), missing=None)


def seconds(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(5):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def draws(distribution: IntervalSums, generator: np.random.Generator) -> None:
    for _ in distribution.simulate(1, 1000, generator):
        pass


def speed() -> None:
    wide = tree(2**16, (4096, 256, 16, 1), Family.LAPLACE)
    values = tuple(range(wide.size))
    print(f"least_squares, 2^16 cells          {1e3 * seconds(lambda: least_squares(wide, values, 10**6)):8.1f} ms")
    print(f"shrunken, 2^16 cells               {1e3 * seconds(lambda: shrunken(wide, values, 10**6)):8.1f} ms")
    for family in Family:
        taken = seconds(partial(draws, tree(2**12, (256, 16, 1), family), np.random.default_rng(1)))
        print(f"1000 noise_draws, 2^12 cells, {family.value:17} {1e3 * taken:5.0f} ms")


def data(cells: int, generator: np.random.Generator) -> dict[str, Counts]:
    def binned(values: NDArray[np.float64]) -> Counts:
        return np.histogram(np.clip(values, -5, 5), cells, (-5, 5))[0].astype(np.int64)

    return {
        "normal": binned(generator.normal(0, 1, 10_000)),
        "peaked": binned(generator.normal(0.3, 0.01, 10_000)),
        "Poisson": generator.poisson(3, cells),
        "spikes": np.bincount(generator.integers(0, 40, 10_000) * 97 + 5, minlength=cells),
        "lognormal": binned(np.exp(generator.normal(0, 1.5, 10_000)) / 10 - 5),
    }


def shrinkage(cells: int = 4096, releases: int = 20) -> None:
    """Errors of monotone prefixes: shrunken against plain least squares."""
    generator = np.random.default_rng(2)
    shapes = {
        "HB16": (256, 16, 1),
        "b=4": (1024, 256, 64, 16, 4, 1),
        "b=2": tuple(2**i for i in range(11, -1, -1)),
        "flat": (1,),
    }
    print("\ndata       tree  epsilon | plain: KS, mean abs (records) | shrunken / plain: KS, mean abs, mean square")
    for name, truth in data(cells, generator).items():
        for shape, widths in shapes.items():
            for epsilon in (0.1, 1.0, 4.0):
                distribution = tree(cells, widths, Family.LAPLACE, epsilon)
                plain, ours = _errors(distribution, truth, releases, generator)
                ratio = " ".join(f"{part:6.2f}" for part in ours / plain)
                print(f"{name:10} {shape:5} {epsilon:7} | {plain[0]:9.1f} {plain[1]:9.2f} {'':10} | {ratio}")


def _errors(
    distribution: IntervalSums, truth: Counts, releases: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    total, exact = int(truth.sum()), np.cumsum(truth)
    sums = np.concatenate([np.add.reduceat(truth, np.asarray(level.starts)) for level in distribution.levels])
    found = np.zeros((2, 3))
    for _ in range(releases):
        values = sums.astype(np.int64) + distribution.simulate_values(1, generator)[0].astype(np.int64)
        for i, cells in enumerate(
            (least_squares(distribution, values, total).cells, shrunken(distribution, values, total))
        ):
            error = monotone_prefixes(cells, total)[0, 1:] - exact
            found[i] += np.max(np.abs(error)), np.mean(np.abs(error)), np.mean(error**2)
    return found / releases


if __name__ == "__main__":
    speed()
    shrinkage()
