"""Means of a column of which no bounds are known: errors beside those of the best bounds in hindsight.

Columns, by the distribution of the records:

- *found*: mean absolute error of `AutoRangeMeanQuestion`, of all records, over all releases.
- *hindsight*: the least mean absolute error of a `MeanQuestion` between quantiles of the records themselves, which only
  somebody with the records in hand could lay.
- *sampling*: the standard error of the mean of so many records, for comparison.
- *held*: the part of releases whose interval of level 0.9, for these records, has the mean of the records in it; and
  that of the clipped records, which is what it is for.
- *bounds*: those that were found oftenest.

Run ``python benchmarks/unknown_bounds.py [--records 20000 --epsilon 1 --releases 8 --seed 1]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
DISTRIBUTIONS: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "lognormal": lambda draw, size: draw.lognormal(10.3, 0.6, size),
    "gamma below zero": lambda draw, size: -draw.gamma(3, 1000, size),
    "normal": lambda draw, size: draw.normal(0, 1, size),
    "zeros and waits": lambda draw, size: np.where(draw.random(size) < 0.6, 0.0, draw.exponential(50, size)),
    "heaped": lambda draw, size: np.round(draw.lognormal(3, 1, size) / 5) * 5,
    "clipped": lambda draw, size: np.clip(draw.normal(100, 40, size), 60, 120),
    "ages": lambda draw, size: draw.integers(0, 95, size).astype(np.float64),
    "timestamps": lambda draw, size: (1_700_000_000 + draw.integers(0, 10**7, size)).astype(np.float64),
    "pareto 2.5": lambda draw, size: draw.pareto(2.5, size) + 1,
    "weibull 0.7": lambda draw, size: 100 * draw.weibull(0.7, size),
    "laplace": lambda draw, size: draw.laplace(3, 10, size),
    "far modes": lambda draw, size: np.where(draw.random(size) < 0.5, 1e-6, 1e6) * np.exp(draw.normal(0, 0.3, size)),
    "small mode": lambda draw, size: np.where(
        draw.random(size) < 0.97, draw.normal(50, 5, size), draw.normal(5000, 300, size)
    ),
}
BEYOND = (0.0, 0.001, 0.005, 0.02, 0.05)
"""Shares of the records beyond each of the bounds that hindsight tries."""
LEVEL = 0.9


class Found(NamedTuple):
    """Absolute error of an answer, its bounds, and whether its interval has the mean, and that of clipped records."""

    error: float
    bounds: tuple[float, float]
    held: tuple[bool, bool]


def asked(question: Any, records: FloatArray, epsilon: float, seed: int) -> Found:
    """Ask once."""
    with dp.Session(
        {"x": records}, budget=dp.PrivacyLoss.pure(epsilon), adjacency=dp.ADD_REMOVE,
        randomness=dp.Randomness.from_seed(seed),
    ) as session:  # fmt: skip
        found: dp.Summary = session.ask(question, dp.PrivacyLoss.pure(epsilon))
    low, high = found.mean_interval(LEVEL)
    means = float(records.mean()), float(np.clip(records, found.lower, found.upper).mean())
    held = (low <= means[0] <= high, low <= means[1] <= high)
    return Found(abs(found.mean - means[0]), (found.lower, found.upper), held)


def main() -> None:
    """Print a line for each distribution."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1, help="of records and noise")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'distribution':18} {'found':>11} {'hindsight':>11} {'sampling':>11}  held, clipped  bounds")
    for name, distribution in DISTRIBUTIONS.items():
        records = distribution(np.random.default_rng(given.seed), given.records)
        seeds = range(100 * given.seed, 100 * given.seed + given.releases)
        others = [each + given.releases for each in seeds]
        found = [asked(dp.AutoRangeMeanQuestion("x"), records, given.epsilon, seed) for seed in seeds]
        tried = {tuple(np.quantile(records, [share, 1 - share]).tolist()) for share in BEYOND}
        best = min(
            float(np.mean([asked(dp.MeanQuestion("x", *ends), records, given.epsilon, seed).error for seed in others]))
            for ends in tried
        )
        ((low, high), _), *_ = Counter(each.bounds for each in found).most_common(1)
        mean, sampling = float(np.mean([each.error for each in found])), float(records.std() / given.records**0.5)
        held, clipped = np.mean([each.held for each in found], axis=0)
        print(
            f"{name:18} {mean:11.4g} {best:11.4g} {sampling:11.4g}  {held:.2f}, {clipped:.2f}     {low:g} to {high:g}"
        )


if __name__ == "__main__":
    main()
