"""Units of whose records nobody stated a bound: errors over those of the best bound in hindsight.

Distribution functions of 256 cells and histograms of 8 are asked of event logs, of whose units nothing is known, and
with each power of two as a bound. Rows per unit follow Zipf's law up to 10,000, or are like taxi rides a driver or
admissions a patient; values are alike in all units, or each unit has values of its own, or they rise with the number of
rows. Columns:

- *found*: mean absolute error of `ask` without a bound, all of the loss, over all cells and releases.
- *hindsight*: the error of the stated bound, with all of the loss, whose mean error over some releases is least, over
  as many others. (The least of fifteen noisy means is too low, and all the more the fewer releases there are.)
- *ratio*: of the first to the second, with its standard error.
- *bound, best*: the median bound that was found, and that of the second column.

``python benchmarks/unknown.py --parts rows [--units 1000 20000 --releases 5]`` prints it.

Run alone, ``python benchmarks/unknown_units.py [--units 1000 --looks 40 --seed 31]`` draws so many looks and prints the
mean over them of the expected error of a histogram of 8 cells under the bound that each chose, which is known exactly,
over the least expected error of any bound with all of the loss; in both groups of distributions: those above, and
others on which nothing was chosen but the share of the look.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from math import hypot, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.distributions import Family, Noise
from dpcurves.strategies.contribution_bounds import (
    PILOT_FRACTION,
    NoiseGrowth,
    candidate_bounds,
    count_errors,
    minimise_expected_error,
    sample_unit_sizes,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rows = Callable[[np.random.Generator, int], IntArray]
MOST_ROWS = 10_000
FINE, COARSE = dp.Grid(0, 100, cells=256), dp.Grid(0, 100, cells=8)


def zipf(exponent: float) -> Rows:
    """Rows per unit with chances in proportion to a power, up to `MOST_ROWS`."""
    chances = np.arange(1.0, MOST_ROWS + 1) ** -exponent

    def rows(draw: np.random.Generator, size: int) -> IntArray:
        return np.asarray(1 + draw.choice(MOST_ROWS, size, p=chances / chances.sum()))

    return rows


DISTRIBUTIONS: Mapping[str, Rows] = {
    "Zipf 1.1": zipf(1.1),
    "Zipf 1.5": zipf(1.5),
    "Zipf 2": zipf(2),
    "Zipf 3": zipf(3),
    "taxi rides": lambda draw, size: np.ceil(np.exp(draw.normal(4, 1.2, size))).clip(1, MOST_ROWS).astype(np.int64),
    "admissions": lambda draw, size: 1 + draw.negative_binomial(0.6, 0.35, size),
}
OTHERS: Mapping[str, Rows] = {
    "lognormal": lambda draw, size: np.ceil(np.exp(draw.normal(1.5, 1.5, size))).clip(1, MOST_ROWS).astype(np.int64),
    "ten each": lambda draw, size: np.full(size, 10),
    "Poisson": lambda draw, size: 1 + draw.poisson(5, size),
    "a tenth have 300": lambda draw, size: np.where(draw.random(size) < 0.1, 300, 1),
    "geometric": lambda draw, size: draw.geometric(1 / 30, size),
    "Pareto": lambda draw, size: np.ceil(draw.pareto(0.8, size) + 1e-9).clip(1, MOST_ROWS).astype(np.int64),
    "Zipf 1.3": zipf(1.3),
    "Zipf 2.5": zipf(2.5),
    "1 to 100": lambda draw, size: draw.integers(1, 101, size),
}
VALUES = ("alike", "own", "rising")


def values(kind: str, draw: np.random.Generator, rows: IntArray) -> FloatArray:
    """A value for each row."""
    own = draw.beta(2, 5, int(rows.sum()))
    each = draw.beta(2, 3, len(rows)) if kind == "own" else np.log(rows) / np.log(MOST_ROWS)
    if kind != "alike":
        own = 0.4 * own + 0.6 * np.repeat(each, rows)
    return np.asarray(100 * own)


def errors(curve: Any, truth: FloatArray) -> float:
    found = curve.y if isinstance(curve, dp.CDF) else curve.count
    return float(np.abs(found - truth).mean())


def compared(
    table: Mapping[str, NDArray[Any]], adjacency: dp.Neighbours, epsilon: float, releases: int, seed: int
) -> Iterator[tuple[str, FloatArray, FloatArray, int, int]]:
    value = table["x"]
    questions: Mapping[str, tuple[Any, FloatArray]] = {
        "cdf": (dp.CdfQuestion("x", FINE), np.searchsorted(np.sort(value), FINE.edges) / len(value)),
        "histogram": (dp.HistogramQuestion("x", COARSE), np.histogram(value, COARSE.edges)[0].astype(float)),
    }
    loss, budget = dp.PrivacyLoss.pure(f"{epsilon:g}"), dp.PrivacyLoss.pure(10**6)
    chance = dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=budget, adjacency=adjacency, unit="who", randomness=chance) as session:
        most = int(np.unique(table["who"], return_counts=True)[1].max())
        bounds = [2**power for power in range(min(most, MOST_ROWS).bit_length() + 1)]
        for name, (question, truth) in questions.items():
            own = [session.ask(question, loss) for _ in range(2 * releases)]

            def stated(rows: int, question: Any = question, truth: FloatArray = truth) -> FloatArray:
                asked = (session.ask(question, loss, rows_per_unit=rows) for _ in range(releases))
                return np.array([errors(curve, truth) for curve in asked])

            found = int(np.median([curve.privacy.rows_per_unit for curve in own]))
            best = min(bounds, key=lambda rows: float(stated(rows).mean()))
            yield name, np.array([errors(curve, truth) for curve in own]), stated(best), found, best


def optimal(epsilon: float, delta: float, largest: int) -> FloatArray:
    """The chance with which a group of so many units is told at best (Desfontaines and others 2022, Theorem 1)."""
    chances = np.zeros(largest + 1)
    for units in range(largest):
        now = chances[units]
        chances[units + 1] = min(np.exp(epsilon) * now + delta, 1 - np.exp(-epsilon) * (1 - now - delta), 1)
    return chances


def measured(
    size: int, distribution: str, kind: str, epsilon: float, releases: int, *, seed: int = 1
) -> Iterator[tuple[str, dict[str, float]]]:
    """The error of each question over that of the best bound, and both bounds.

    Constants of distribution functions saw the logs and noise of seed 1.
    """
    number, turn = list(DISTRIBUTIONS).index(distribution), VALUES.index(kind)
    rows = DISTRIBUTIONS[distribution](np.random.default_rng([seed, number, size]), size)
    table = {
        "x": values(kind, np.random.default_rng([seed, number, size, turn]), rows),
        "who": np.repeat(np.arange(size), rows),
    }
    adjacency = (dp.ADD_REMOVE, dp.REPLACE_ONE)[(number + turn) % 2]
    for name, own, other, bound, fitting in compared(table, adjacency, epsilon, releases, seed):
        mean, best = float(own.mean()), float(other.mean())
        apart = [float(each.std(ddof=1) / len(each) ** 0.5 / each.mean()) for each in (own, other)]
        within = mean / best * hypot(apart[0], apart[1])
        found = {"found": mean, "hindsight": best, "ratio": mean / best, "se": within, "bound": bound, "best": fitting}
        yield name, {"records": len(table["x"]), **found}


def expected_ratio(rows: IntArray, value: FloatArray, draw: np.random.Generator, looks: int) -> tuple[float, int, int]:
    """The mean over looks of the expected error under the chosen bound, over that of the best one with all of the loss.

    Of a histogram at epsilon 1 under add-remove; each unit keeps the same share of its records in all cells. Also the
    median bound, and the best one.
    """
    who, cells = np.repeat(np.arange(len(rows)), rows), COARSE.cells
    own = np.zeros((len(rows), cells))
    np.add.at(own, (who, np.minimum((value / 100 * cells).astype(int), cells - 1)), 1)
    known = np.array(candidate_bounds(), dtype=np.float64)
    lost = np.array([(own * (1 - np.minimum(rows, most) / rows)[:, None]).sum(axis=0) for most in known])
    scales = known / (1 - float(PILOT_FRACTION)), known
    part, whole = ((lost + each[:, None] * np.exp(-lost / each[:, None])).mean(axis=1) for each in scales)
    counts = np.bincount(np.ceil(np.log2(rows)).astype(int), minlength=len(known) + 1).astype(float)
    decay, noise = np.exp(-float(PILOT_FRACTION)), Noise(Family.LAPLACE, 1 / PILOT_FRACTION)
    growth = NoiseGrowth(sqrt(2) / (1 - float(PILOT_FRACTION)), cells)
    chosen = []
    for _ in range(looks):
        apart = draw.geometric(1 - decay, (2, len(counts)))
        sizes = sample_unit_sizes(counts + apart[0] - apart[1], noise)
        chosen.append(minimise_expected_error([(1.0, count_errors(sizes, growth, noise.family))]))
    places = np.log2(chosen).astype(int)
    return float(part[places].mean() / whole.min()), int(np.median(chosen)), int(known[whole.argmin()])


def main() -> None:
    """Print a line for each distribution and kind of values, and the median and largest ratio of each group."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--looks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=31)
    given = parser.parse_args()
    for called, distributions in (("distributions of this benchmark", DISTRIBUTIONS), ("other distributions", OTHERS)):
        ratios = []
        for number, (name, distribution) in enumerate(distributions.items()):
            for kind in VALUES:
                draw = np.random.default_rng([given.seed, number])
                rows = distribution(draw, given.units)
                ratio, found, best = expected_ratio(rows, values(kind, draw, rows), draw, given.looks)
                ratios.append(ratio)
                print(f"{name:18} {kind:8} {ratio:.2f}  bound {found:,}, best {best:,}", flush=True)
        within = np.mean(np.array(ratios) <= 1.5)
        print(f"{called}: median {np.median(ratios):.2f}, largest {max(ratios):.2f}, {within:.0%} at most 1.5\n")


if __name__ == "__main__":
    main()
