"""Units of whose records nobody stated a bound: errors over those of the best bound in hindsight.

Distribution functions of 256 cells and histograms of 8 are asked of event logs, of whose units nothing is known, and
with each power of two as a bound. Rows per unit follow Zipf's law up to 10,000, or are like taxi rides a driver or
admissions a patient; values are alike in all units, or each unit has values of its own, or they rise with the number of
rows. Columns:

- *found*: mean absolute error of `ask` without a bound, all of the loss, over all cells and releases.
- *hindsight*: the least mean error of any stated bound, with all of the loss.
- *ratio*: of the first to the second.
- *bound, best*: the median bound that was found, and that of the second column.

With ``--groups`` it prints which share of groups, whose sizes follow Zipf's laws, is found, and which share the best
mechanism of the same loss finds, if it had all of epsilon and if it had the part that finds groups here.

Run ``python benchmarks/unknown_units.py [--units 1000 20000 --epsilon 1 --releases 5]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

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


LAWS: Mapping[str, Rows] = {
    "Zipf 1.1": zipf(1.1),
    "Zipf 1.5": zipf(1.5),
    "Zipf 2": zipf(2),
    "Zipf 3": zipf(3),
    "taxi rides": lambda draw, size: np.ceil(np.exp(draw.normal(4, 1.2, size))).clip(1, MOST_ROWS).astype(np.int64),
    "admissions": lambda draw, size: 1 + draw.negative_binomial(0.6, 0.35, size),
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
    table: Mapping[str, NDArray[Any]], adjacency: dp.Neighbours, epsilon: float, releases: int
) -> Iterator[tuple[str, float, float, int, int]]:
    value = table["x"]
    questions: Mapping[str, tuple[Any, FloatArray]] = {
        "cdf": (dp.CdfQuestion("x", FINE), np.searchsorted(np.sort(value), FINE.edges) / len(value)),
        "histogram": (dp.HistogramQuestion("x", COARSE), np.histogram(value, COARSE.edges)[0].astype(float)),
    }
    loss, budget = dp.PrivacyLoss.pure(f"{epsilon:g}"), dp.PrivacyLoss.pure(10**6)
    chance = dp.Randomness.from_seed(1)
    with dp.Session(table, budget=budget, adjacency=adjacency, unit="who", randomness=chance) as session:
        bounds = [2**power for power in range(15)]
        for name, (question, truth) in questions.items():
            own = [session.ask(question, loss) for _ in range(2 * releases)]
            mean = float(np.mean([errors(curve, truth) for curve in own]))
            each = [
                np.mean([errors(session.ask(question, loss, rows_per_unit=rows), truth) for _ in range(releases)])
                for rows in bounds
            ]
            found = int(np.median([curve.privacy.rows_per_unit for curve in own]))
            best = int(np.argmin(each))
            yield name, mean, float(each[best]), found, bounds[best]


def optimal(epsilon: float, delta: float, largest: int) -> FloatArray:
    """The chance with which a group of so many units is told at best (Desfontaines and others 2022, Theorem 1)."""
    chances = np.zeros(largest + 1)
    for units in range(largest):
        now = chances[units]
        chances[units + 1] = min(np.exp(epsilon) * now + delta, 1 - np.exp(-epsilon) * (1 - now - delta), 1)
    return chances


def groups(size: int, epsilon: float, releases: int) -> None:
    delta = "1e-6"
    print(f"\n{size:,} units, epsilon {epsilon:g}, delta {delta}: groups found, of {releases} releases")
    print(f"{'':12}{'groups':>8}{'found':>8}{'best, part':>12}{'best, all':>12}")
    for number, exponent in enumerate((1.1, 1.5, 2.0, 3.0)):
        draw = np.random.default_rng([number, size])
        names = zipf(exponent)(draw, size)
        sizes = np.unique(names, return_counts=True)[1]
        words = [f"group {name}" for name in names.tolist()]
        found = [
            len(dp.found_groups(words, epsilon=f"{epsilon:g}", delta=delta, adjacency=dp.ADD_REMOVE,
                                randomness=dp.Randomness.from_seed(seed))) - 1
            for seed in range(releases)
        ]  # fmt: skip
        best = [optimal(part * epsilon, float(delta), int(sizes.max()))[sizes].sum() for part in (0.25, 1)]
        print(f"Zipf {exponent:<7g}{len(sizes):8,}{np.mean(found):8.1f}{best[0]:12.1f}{best[1]:12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--units", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    parser.add_argument("--groups", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.groups:
        for size in given.units:
            for epsilon in given.epsilon:
                groups(size, epsilon, given.releases)
        return
    ratios = []
    for size in given.units:
        for epsilon in given.epsilon:
            print(f"\n{size:,} units, epsilon {epsilon:g}, of {given.releases} releases (found: twice as many)")
            print(f"{'':34}{'records':>10}{'found':>10}{'hindsight':>10}{'ratio':>7}{'bound':>8}{'best':>8}")
            for number, law in enumerate(given.laws):
                rows = LAWS[law](np.random.default_rng([number, size]), size)
                for turn, kind in enumerate(VALUES):
                    draw = np.random.default_rng([number, size, turn])
                    table = {"x": values(kind, draw, rows), "who": np.repeat(np.arange(size), rows)}
                    adjacency = (dp.ADD_REMOVE, dp.REPLACE_ONE)[(number + turn) % 2]
                    for name, mean, best, found, bound in compared(table, adjacency, epsilon, given.releases):
                        ratios.append(mean / best)
                        told = f"{law}, {kind}, {name}"
                        print(
                            f"{told:34}{len(table['x']):10,}{mean:10.4g}{best:10.4g}{ratios[-1]:7.2f}{found:8,}{bound:8,}",
                            flush=True,
                        )
    print(f"\nratios: median {np.median(ratios):.2f}, largest {max(ratios):.2f}, of {len(ratios)} tables")


if __name__ == "__main__":
    main()
