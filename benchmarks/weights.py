"""Intervals of weighted results: how often they hold, and their width over the error, on five kinds of data.

A population of 100,000 has chances to be drawn, and records are independent draws with weights of one over their
chance. Weights are *informative* where the chance depends on the value (large values are drawn three times as often as
small ones), and *not informative* where chances of 1, 2 and 4 have nothing to do with it. The cap is the largest weight
that the design allows, so that none is cut off.

For each kind a line for each result: the share of releases in which intervals at 0.9 held, for these records (their
weighted estimate with rounded weights) and for the population, and the mean width over the mean error: a normal
interval at 0.9 that is exact has 2 * 1.64 / 0.80 = 4.1 for a single number; a band, whose error is that at its worst
place, less. Run
``python benchmarks/weights.py [--records 4000 --epsilon 1 --releases 40 --kinds smooth ... --cells 80]``.

With ``--without-range`` the rows are of a weighted count, sum, mean and histogram whose range is found privately, under
add-remove and for these records: how often intervals at 0.9 held, how often the true number (of values clipped to the
bounds that were found) was below and above, and the mean width over the mean error. Of heaped data (lognormal values
rounded to 100s, weights from 0.5 to 4) 0.91, 0.90 and 0.92 of 300 releases of 3,000 records held for count, sum and
mean; with the range given 0.91, 0.91 and 0.92 did.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.data import Weights

FloatArray = NDArray[np.float64]
LEVEL, PEOPLE, TOP = 0.9, 100_000, 40.0
GRID = dp.Grid(0, TOP, cells=80)
KINDS: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "smooth": lambda draw, size: draw.beta(2, 4, size) * TOP,
    "tied": lambda draw, size: draw.choice([1.0, 2.0, 5.0, 17.5, 30.0], size),
    "heaped": lambda draw, size: np.where(
        draw.random(size) < 0.6, np.round(draw.gamma(3, 4, size) / 5) * 5, draw.gamma(3, 4, size)
    ).clip(0, TOP),
    "zero-inflated": lambda draw, size: np.where(draw.random(size) < 0.5, 0.0, draw.gamma(2, 5, size)).clip(0, TOP),
    "clipped": lambda draw, size: np.clip(draw.normal(20, 15, size), 0, TOP),
}


class Population(NamedTuple):
    """Values, and the chance of each to be drawn, in proportion."""

    x: FloatArray
    chance: FloatArray

    @classmethod
    def of(cls, kind: str, informative: bool) -> Population:
        draw = np.random.default_rng(7)
        x = KINDS[kind](draw, PEOPLE)
        chance = 1 + 2 * x / TOP if informative else draw.choice([1.0, 2.0, 4.0], PEOPLE)
        return cls(x, chance / chance.max())

    @property
    def cap(self) -> float:
        return float(1 / self.chance.min())

    def drawn(self, draw: np.random.Generator, size: int) -> dict[str, FloatArray]:
        at = draw.choice(PEOPLE, size, p=self.chance / self.chance.sum())
        when, ends = np.ceil(draw.exponential(15, size) * (1 + self.x[at] / TOP)), draw.integers(5, int(TOP) + 1, size)
        return {
            "x": self.x[at], "w": 1 / self.chance[at], "t": np.minimum(when, ends), "e": (when <= ends).astype(float),
        }  # fmt: skip

    def survives(self, edges: FloatArray) -> FloatArray:
        """The share without an event before each edge: of times that are rounded up."""
        passed = np.floor(edges)[:, None]
        return np.asarray(np.exp(-passed / (15 * (1 + self.x[None, ::10] / TOP))).mean(axis=1))


def below(x: FloatArray, w: FloatArray, grid: dp.Grid) -> FloatArray:
    """The share of the weight below each edge."""
    found = np.array([w[x < edge].sum() for edge in grid.edges]) / w.sum()
    found[-1] = 1.0
    return np.asarray(found)


def gini(x: FloatArray, w: FloatArray) -> float:
    order = np.argsort(x)
    x, w = x[order], w[order] / w.sum()
    above = 1 - np.cumsum(w) + w / 2
    return float(1 - 2 * (w * x * above).sum() / (w * x).sum())


def at_half(x: FloatArray, w: FloatArray) -> float:
    order = np.argsort(x, kind="stable")
    return float(x[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)])


def kaplan_meier(t: FloatArray, e: FloatArray, w: FloatArray, edges: FloatArray) -> FloatArray:
    times = np.arange(1, int(TOP) + 1)
    left = np.cumprod([1 - w[(t == at) & (e == 1)].sum() / max(w[t >= at].sum(), 1e-9) for at in times])
    return np.asarray(np.append(1.0, left)[np.clip(np.ceil(edges).astype(int) - 1, 0, len(left))])


class Held(NamedTuple):
    """Outcome of an interval or a band: did it hold, its width, and the error of the estimate."""

    held: bool
    width: float
    error: float

    @classmethod
    def of(cls, lower: Any, upper: Any, truth: Any, told: Any) -> Held:
        low, high, true = (np.asarray(each, dtype=float) for each in (lower, upper, truth))
        held = bool(np.all((low <= true + 1e-9) & (true <= high + 1e-9)))
        return cls(held, float(np.mean(high - low)), float(np.max(np.abs(np.asarray(told) - true))))


TIMES = dp.Values(range(1, int(TOP) + 1))


def readings(
    people: Population, size: int, epsilon: str, seed: int, grid: dp.Grid = GRID
) -> Iterator[tuple[str, str, Held]]:
    """Each result of one sample and one release of each question: its name, whom it speaks of, and how it held."""
    table = people.drawn(np.random.default_rng(seed), size)
    x, w = table["x"], Weights("w", people.cap).to_steps(table["w"]).astype(float)
    loss, chance = dp.PrivacyLoss.pure(epsilon), dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=dp.PrivacyLoss.pure(100), adjacency=dp.REPLACE_ONE, randomness=chance) as session:
        curve = session.ask(dp.WeightedCdfQuestion("x", grid, "w", people.cap), loss)
        mean = session.ask(dp.WeightedSummaryQuestion("x", 0, TOP, "w", people.cap), loss)
        lives = session.ask(dp.WeightedSurvivalQuestion("t", "e", TIMES, "w", people.cap), loss)
    number, evenly = dp.gini_coefficient(curve), np.ones(PEOPLE)
    for whom, (xs, ws) in {"records": (x, w), "population": (people.x, evenly)}.items():
        asked = whom == "population"
        truth = below(xs, ws, grid)
        yield "curve, band", whom, Held.of(*curve.band(LEVEL, population=asked), truth, curve.y)
        median = at_half(xs, ws)
        yield (
            "median",
            whom,
            Held.of(*curve.quantile_interval(0.5, LEVEL, population=asked), median, curve.quantile(0.5)),
        )
        yield "Gini", whom, Held.of(*number.interval(LEVEL, population=asked), gini(xs, ws), number.value)
        true = float((xs * ws).sum() / ws.sum())
        yield "mean", whom, Held.of(*mean.mean_interval(LEVEL, population=asked), true, mean.mean)
        left = people.survives(lives.x) if asked else kaplan_meier(table["t"], table["e"], w, lives.x)
        lower, upper = lives.band(LEVEL, population=asked)
        yield "survival, band", whom, Held.of(lower, upper, left, lives.y)


RANGELESS: Mapping[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "smooth": lambda draw, size: draw.lognormal(7, 0.6, size),
    "tied": lambda draw, size: np.full(size, 1500.0),
    "heaped": lambda draw, size: np.round(draw.lognormal(7, 0.6, size) / 100) * 100,
    "zero-inflated": lambda draw, size: np.where(draw.random(size) < 0.3, 0.0, draw.lognormal(7, 0.6, size)),
    "clipped": lambda draw, size: np.minimum(draw.lognormal(7, 0.6, size), 2000.0),
}


class Sided(NamedTuple):
    """On which side of an interval the true number lay (-1: below, 0: inside, 1: above), its width and the error."""

    side: int
    width: float
    error: float


def releases_without_range(kind: str, size: int, epsilon: str, releases: int) -> Iterator[tuple[str, Sided]]:
    """Yield each number of releases about one table whose range is found privately."""
    draw = np.random.default_rng(7)
    x, w = RANGELESS[kind](draw, size), Weights("w", 4).to_steps(draw.uniform(0.5, 4, size)) * Weights("w", 4).step
    loss, budget = dp.PrivacyLoss.pure(epsilon), dp.PrivacyLoss.pure(10**6)
    summary, bins = (
        question("x", "w", 4)
        for question in (dp.AutoRangeWeightedSummaryQuestion, dp.AutoRangeWeightedHistogramQuestion)
    )
    for seed in range(releases):
        chance = dp.Randomness.from_seed(seed)
        with dp.Session({"x": x, "w": w}, budget=budget, adjacency=dp.ADD_REMOVE, randomness=chance) as session:
            result, bars = session.ask(summary, loss), session.ask(bins, loss)
        clipped = np.clip(x, result.lower, result.upper)
        truth = {"count": w.sum(), "sum": (w * clipped).sum(), "mean": (w * clipped).sum() / w.sum()}
        for (name, value), (low, high) in zip(result.statistics.items(), result.intervals(LEVEL), strict=True):
            rounding = 1e-9 * abs(truth[name])
            side = int(truth[name] > high + rounding) - int(truth[name] < low - rounding)
            yield name, Sided(side, high - low, abs(value - truth[name]))
        shares, (low, high) = np.histogram(x, bars.x, weights=w)[0] / w.sum(), bars.intervals(LEVEL).T
        side = int((shares > high + 1e-9).any()) or -int((shares < low - 1e-9).any())
        yield "histogram", Sided(side, float(np.mean(high - low)), float(np.mean(abs(bars.share - shares))))


def print_without_range(kinds: list[str], sizes: list[int], epsilon: str, releases: int) -> None:
    """Print how often intervals held where the range was found privately."""
    print(f"{'':16}{'records':>8} {'':10}{'held':>7}{'below':>7}{'above':>7}{'width/err':>11}")
    for kind in kinds:
        for size in sizes:
            by_name: dict[str, list[Sided]] = {}
            for name, sided in releases_without_range(kind, size, epsilon, releases):
                by_name.setdefault(name, []).append(sided)
            for name, rows in by_name.items():
                side, width, error = np.array(rows).T
                # a sum or mean that is not known has no error
                known = ~np.isnan(error)
                ratio = width[known].mean() / max(error[known].mean(), 1e-12) if known.any() else np.nan
                shares = "".join(f"{np.mean(side == value):7.3f}" for value in (0, -1, 1))
                print(f"{kind:16}{size:8,} {name:10}{shares}{ratio:11.2f}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--releases", type=int, default=40)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--cells", type=int, default=GRID.cells, help="of the grid of curves and of Gini coefficients")
    parser.add_argument("--without-range", type=int, nargs="*", help="numbers of records of tables without a range")
    given = parser.parse_args()
    if given.without_range is not None:
        warnings.simplefilter("ignore")
        return print_without_range(given.kinds, given.without_range or [30, 300, 3000], given.epsilon, given.releases)
    grid = dp.Grid(0, TOP, cells=given.cells)
    warnings.simplefilter("ignore")
    print(
        f"{given.records:,} records, epsilon {given.epsilon}, replace-one, {given.releases} releases: share held at 0.9"
    )
    print(f"{'':16}{'':16}{'':16}{'records':>9}{'width/err':>11}{'population':>12}{'width/err':>11}")
    for kind in given.kinds:
        for informative in (False, True):
            people = Population.of(kind, informative)
            found: dict[str, dict[str, list[Held]]] = {}
            for seed in range(given.releases):
                for name, whom, held in readings(people, given.records, given.epsilon, seed, grid):
                    found.setdefault(name, {}).setdefault(whom, []).append(held)
            for name, each in found.items():
                words = ""
                for whom, width in (("records", 9), ("population", 12)):
                    holds, widths, errors = (np.mean(column) for column in zip(*each[whom], strict=True))
                    words += f"{holds:{width}.3f}{widths / max(float(errors), 1e-12):11.2f}"
                print(f"{kind:16}{'informative' if informative else 'not':16}{name:16}{words}", flush=True)


if __name__ == "__main__":
    main()
