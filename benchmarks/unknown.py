"""A table of which nothing is known: its range, rows per unit, groups and weights, each beside what else there is.

Parts (``--parts``), each printed as a table of Markdown:

- *ranks*: quantiles of a column without a range: rank errors beside those on the best of many grids in hindsight, and
  beside those of other methods and libraries.
- *rows*: distribution functions and histograms of units of whose records nobody stated a bound, beside the best bound
  in hindsight (`unknown_units.py`).
- *groups*: which share of groups that nobody listed is found, under a delta and in public universes, beside the best
  mechanism under the same delta.
- *weights*: errors and intervals, and errors for the population beside those of the exact weighted estimate.
- *bands*: how often bands without a range held.
- *sets*: rank errors over so many sets of records (``--releases``), one release of each, beside those on a grid that is
  laid for each set, of the kind that fits the first one best.

Seven quantiles of each distribution, mean absolute error in rank (records), under add-remove. Columns:

- *no range*: `dp.quantiles` without a grid, all of the loss.
- *hindsight*: the best of the grids that `grids` lays between the 0.1 and 99.9 % quantiles of the records themselves:
  linear and geometric, 256 to 4,096 cells; of the two modes 128 cells each; of heaped and of whole values these. It is
  chosen by the mean error of so many releases, and its error is that of others: both columns of twice as many, with
  standard errors.
- *ratio*: of the first to the second.
- *best, rest*: on that grid, with the part of the loss that looks left: what a better choice of cells would give.
- *range given*: 1,024 cells between the same quantiles, so that the range costs nothing, but no grid is chosen.
- *bounds, grid*: `BoundsQuestion` (unit 1, coverage 0.995) with a tenth of the loss, then 4,096 even cells within them.
- *unbounded*: AboveThreshold along powers of 1.001 for each quantile (Durfee 2023), of values above zero, with a
  seventh of the loss and a number of records that is known exactly.
- *exponential*: the exponential mechanism over 4,861 numbers of two digits from 1e-9 to 1e18, both signs and zero, for
  each quantile with a seventh of the loss (Smith 2011), which libraries offer for given candidates.
- *recursive*: the same mechanism for the median, then for the medians of what lies below and above it: three levels,
  with a third of the loss each (Kaplan, Schnapp and Stemmer 2022).
- *slices*: ranks are moved by the noise of a binary tree, with half of the loss; then each quantile is chosen from the
  records around its rank alone, by the exponential mechanism over all numbers between -1e18 and 1e18, evenly by
  logarithms, with the other half (Imola et al. 2025, arXiv 2505.13662).
- *OpenDP*: its private quantiles over the same numbers, a seventh of the loss each. *diffprivlib*: its quantiles
  between -1e18 and 1e18; it needs an older scikit-learn, so it runs in an environment of its own, whose Python
  ``--diffprivlib PYTHON`` names. A line says which of the two is not there.

The error of a value in rank is the distance of the wanted rank from the ranks that the value has: from the number of
records below it to the number of those not above it.

Run ``python benchmarks/unknown.py [--parts ranks --records 1000 100000 --epsilon 0.1 1 --releases 4 --distributions
years]``. Without options: 1,000 to 100,000 records, 1,000 units, which takes a quarter of an hour of one core.
``--json FILE`` keeps what was measured, and goes on where a run was stopped; ``--page docs/unknown.md`` writes the
tables there.
"""

from __future__ import annotations

import argparse
import json
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import unknown_units
import weights
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
Distribution = Callable[[np.random.Generator, int], FloatArray]
P = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
DIGITS = [float(f"{digit / 10}e{power}") for power in range(-9, 18) for digit in range(10, 100)]
CANDIDATES = np.array([*(-each for each in reversed(DIGITS)), 0.0, *DIGITS])
MARK = 1.3
"""The ratio to the best grid in hindsight that is aimed at."""
RATIO = 1.001
FINE = dp.Grid(0, weights.TOP, cells=320)
"""The grid of weighted curves: intervals of Gini coefficients are half as wide as on one of 80 cells."""
CLOSEST = 1e-9
RESOLVED = 2.0**40
FARTHEST = float(np.log1p(1e18 / CLOSEST))
"""Numbers from -1e18 to 1e18, evenly by logarithms but for those closer to zero: how far they go on that scale, and how
many times as long that is as a gap between two records."""


def bimodal(draw: np.random.Generator, size: int) -> FloatArray:
    return np.where(draw.random(size) < 0.5, 1e-6, 1e6) * np.exp(draw.normal(0, 0.3, size))


def heaped(draw: np.random.Generator, size: int) -> FloatArray:
    wages = np.exp(draw.normal(10.3, 0.8, size))
    rounded = np.where(draw.random(size) < 0.5, np.round(wages, -3), np.round(wages, -2))
    return np.where(draw.random(size) < 0.1, 0.0, rounded)


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "lognormal": lambda draw, size: np.exp(draw.normal(10, 1, size)),
    "pareto": lambda draw, size: 1000 * (draw.pareto(1.2, size) + 1),
    "bimodal": bimodal,
    "heaped incomes": heaped,
    "timestamps": lambda draw, size: np.round(1.7e9 + 3e7 * draw.beta(2, 3, size)),
    "heights": lambda draw, size: np.round(draw.normal(170, 10, size)),
    "years": lambda draw, size: np.round(1990 - 30 * draw.gamma(2, 0.5, size)),
    "one of 1e300": lambda draw, size: np.append(np.exp(draw.normal(3, 0.5, size - 1)), 1e300),
}
KINDS: Mapping[str, Distribution] = {
    "smooth": lambda draw, size: draw.beta(2, 5, size) * 40,
    "tied": lambda draw, size: draw.choice([1.0, 2.0, 5.0, 17.5], size),
    "heaped": heaped,
    "zero-inflated": lambda draw, size: np.where(draw.random(size) < 0.6, 0.0, draw.gamma(2, 300, size)),
    "clipped": lambda draw, size: np.clip(draw.normal(100, 40, size), 60, 120),
}


def rank_errors(values: FloatArray, found: FloatArray) -> FloatArray:
    """By how many records each of the values `P` is off from the ranks that they are to have."""
    ordered, wanted = np.sort(values), np.array(P) * len(values)
    least, most = (np.searchsorted(ordered, found, side) for side in ("left", "right"))
    return np.asarray(np.maximum(np.maximum(least - wanted, wanted - most), 0))


def grids(name: str, values: FloatArray) -> Iterator[dp.Grid]:
    """Grids that only who has seen the records can lay."""
    low, high = np.quantile(values, [0.001, 0.999], method="inverted_cdf").tolist()
    for cells in (256, 1024, 4096):
        yield dp.Grid(low, high, cells=cells)
        if low > 0:
            yield dp.Grid.geometric(low, high, cells=cells)
    if name == "bimodal":
        modes = [np.geomspace(3e-7, 3e-6, 129), np.geomspace(3e5, 3e6, 129)]
        yield dp.Grid.from_edges(np.concatenate(modes).tolist())
    if name in ("heights", "years"):
        yield dp.Values(range(int(values.min()), int(values.max()) + 1))
    if name == "heaped incomes":
        yield dp.Values(range(0, 300_001, 1000))
        yield dp.Values(range(0, 300_001, 100))


def on_grid(values: FloatArray, grid: dp.Grid, epsilon: float | str, seed: int) -> FloatArray:
    chance = dp.Randomness.from_seed(seed)
    return dp.quantiles(values, P, grid=grid, epsilon=epsilon, adjacency=dp.ADD_REMOVE, randomness=chance).x


def range_given(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """On 1,024 cells of the exact range: even ones, by ratio where it covers more than two decades above zero."""
    low, high = np.quantile(values, [0.001, 0.999], method="inverted_cdf").tolist()
    kind = dp.Grid.geometric if 0 < 100 * low < high else dp.Grid
    return on_grid(values, kind(low, high, cells=1024), epsilon, seed)


def without_range(values: FloatArray, epsilon: float, seed: int) -> tuple[FloatArray, float]:
    """Quantiles, and the part of the loss that the looks left."""
    chance = dp.Randomness.from_seed(seed)
    found = dp.quantiles(values, P, epsilon=epsilon, adjacency=dp.ADD_REMOVE, randomness=chance)
    assert isinstance(found.curve, dp.CDF)
    looks = [release.interval_sums.levels for release in found.curve.rounds[: found.curve.prefixes.pilot_queries]]
    return found.x, 1 - sum(len(levels) / float(levels[0].noise.parameter) for levels in looks) / epsilon


def bounds_then_grid(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    chance = dp.Randomness.from_seed(seed)
    found = dp.bounds(
        values, unit=1, coverage="0.995", epsilon=f"{epsilon / 10:.6g}", adjacency=dp.ADD_REMOVE, randomness=chance
    )
    return on_grid(values, dp.Grid(found.lower, found.upper, cells=4096), f"{0.9 * epsilon:.6g}", seed)


def unbounded(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """Durfee's search from zero upwards: the noise is that of AboveThreshold with half of the loss on either side."""
    draw, ordered, each = np.random.default_rng(seed), np.sort(values), epsilon / len(P)
    tried = RATIO ** np.arange(int(np.log(1e300) / np.log(RATIO))) - 1
    below = np.searchsorted(ordered, tried)
    found = []
    for share in P:
        noisy = below + draw.exponential(2 / each, len(tried)) >= share * len(values) + draw.exponential(2 / each)
        found.append(tried[int(np.argmax(noisy))] if noisy.any() else tried[-1])
    return np.array(found)


def chosen(ordered: FloatArray, rank: float, epsilon: float, draw: np.random.Generator) -> float:
    """Draw a candidate by the exponential mechanism: its score is how many records its rank is off."""
    score = -np.abs(np.searchsorted(ordered, CANDIDATES) - rank)
    return float(CANDIDATES[int(np.argmax(score * epsilon / 2 + draw.gumbel(size=len(score))))])


def exponential(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """The exponential mechanism over candidates, for each quantile on its own."""
    draw, ordered, each = np.random.default_rng(seed), np.sort(values), epsilon / len(P)
    return np.array([chosen(ordered, share * len(values), each, draw) for share in P])


def recursive(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """Medians of medians: a record takes part once in each level."""
    draw, depth = np.random.default_rng(seed), int(np.log2(len(P) + 1))

    def within(ordered: FloatArray, shares: list[float]) -> list[float]:
        if not shares:
            return []
        middle = len(shares) // 2
        found = chosen(ordered, shares[middle] * len(ordered), epsilon / depth, draw)
        cut, share = int(np.searchsorted(ordered, found)), shares[middle]
        below = within(ordered[:cut], [each / share for each in shares[:middle]])
        above = within(ordered[cut:], [(each - share) / (1 - share) for each in shares[middle + 1 :]])
        return [*below, found, *above]

    return np.array(within(np.sort(values), list(P)))


def slices(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """A record moves all later ranks by one, which the tree hides, and it changes one slice by a record.

    In a slice may be no candidate: here the mechanism chooses among all numbers, evenly by their logarithms.
    """
    draw, levels = np.random.default_rng(seed), int(np.log2(len(P) + 1))
    ordered = np.sort(np.sign(values) * np.log1p(np.minimum(np.abs(values), 1e18) / CLOSEST))
    size, decay = (levels, len(P) + 1), np.exp(-epsilon / 2 / levels)
    nodes = draw.geometric(1 - decay, size) - draw.geometric(1 - decay, size)
    half = int(np.ceil(8 / epsilon * np.log(RESOLVED)))  # less, and far gaps win by their width
    found = []
    for number, share in enumerate(P, start=1):
        parts = [level for level in range(levels) if number >> level & 1]
        moved = round(share * len(values)) + sum(int(nodes[level, number >> level]) for level in parts)
        first = min(max(moved - half, 0), len(values))
        own = ordered[first : max(moved + half + 1, first)]
        ends = np.clip(np.concatenate([[-FARTHEST], own, [FARTHEST]]), -FARTHEST, FARTHEST)
        with np.errstate(divide="ignore"):
            score = np.log(np.diff(ends)) - np.abs(np.arange(len(own) + 1) - (moved - first)) * epsilon / 4
        gap = int(np.argmax(score + draw.gumbel(size=len(score))))
        place = draw.uniform(ends[gap], ends[gap + 1])
        found.append(np.sign(place) * CLOSEST * np.expm1(abs(place)))
    return np.array(found)


def opendp(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    """OpenDP draws from the operating system: the seed is not used."""
    import opendp.prelude as od

    od.enable_features("contrib")
    space = od.vector_domain(od.atom_domain(T=float, nan=False)), od.symmetric_distance(), od.max_divergence()
    candidates, records, each = CANDIDATES.tolist(), values.tolist(), epsilon / len(P)

    def one(share: float) -> float:
        unscaled = od.m.make_private_quantile(*space, candidates, share, 1.0)
        scale = unscaled.map(1) / each  # type: ignore[no-untyped-call]
        return float(od.m.make_private_quantile(*space, candidates, share, scale)(records))

    return np.array([one(share) for share in P])


ASKED_THERE = """
import sys
import numpy as np
from diffprivlib.tools import quantile
values, shares, epsilon, releases = np.load(sys.argv[1]), *map(eval, sys.argv[2:])
how = {"epsilon": epsilon / len(shares), "bounds": (-1e18, 1e18)}
print([[float(quantile(values, share, random_state=seed, **how)) for share in shares] for seed in range(releases)])
"""


def diffprivlib(python: str, releases: int, values: FloatArray, epsilon: float) -> FloatArray:
    """Ask diffprivlib in the environment of this Python: (releases, quantiles)."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "values.npy"
        np.save(file, values)
        asked = [python, "-W", "ignore", "-c", ASKED_THERE, str(file), repr(P), repr(epsilon), repr(releases)]
        told = run(asked, check=True, capture_output=True, text=True).stdout
    return np.array(literal_eval(told.strip().splitlines()[-1]))


def peers() -> dict[str, Callable[[FloatArray, float, int], FloatArray]]:
    """Other ways without a range, those of libraries only where they are installed."""
    found: dict[str, Callable[[FloatArray, float, int], FloatArray]] = {
        "range given": range_given,
        "bounds, grid": bounds_then_grid,
        "unbounded": unbounded,
        "exponential": exponential,
        "recursive": recursive,
        "slices": slices,
    }
    if find_spec("opendp") is not None:
        found["OpenDP"] = opendp
    return found


def standard_error(errors: FloatArray) -> float:
    """That of their mean."""
    return float(errors.std(ddof=1) / len(errors) ** 0.5)


Kept = dict[str, Any]
"""Measured numbers, by part and case."""


def measured(
    measure: Callable[[Any, argparse.Namespace], Any], cases: Sequence[Any], given: argparse.Namespace
) -> Iterator[tuple[Any, Any]]:
    """Measurements of the cases, by so many processes at a time, as they end."""
    with ProcessPoolExecutor(given.processes) as pool:
        asked = {pool.submit(measure, case, given): case for case in cases}
        for done in as_completed(asked):
            yield asked[done], done.result()


def ranked(case: tuple[int, float, str], given: argparse.Namespace) -> dict[str, Any]:
    """Mean rank errors of one distribution: of ours, on the best grid in hindsight, and of others."""
    (records, epsilon, name), releases = case, given.releases
    warnings.simplefilter("ignore")
    values = DISTRIBUTIONS[name](np.random.default_rng([given.seed, list(DISTRIBUTIONS).index(name)]), records)

    def each(ask: Callable[[int], FloatArray], first: int, number: int) -> FloatArray:
        seeds = range(given.seed + first, given.seed + first + number)
        return np.array([rank_errors(values, ask(seed)).mean() for seed in seeds])

    def error(ask: Callable[[int], FloatArray]) -> float:
        return float(each(ask, 0, releases).mean())

    asked = [without_range(values, epsilon, given.seed + number) for number in range(2 * releases)]
    own = np.array([rank_errors(values, x).mean() for x, _ in asked])
    fitting = min(grids(name, values), key=lambda grid: error(partial(on_grid, values, grid, epsilon)))
    best = each(partial(on_grid, values, fitting, epsilon), releases, 2 * releases)
    left = f"{epsilon * np.mean([part for _, part in asked]):.6g}"
    rest = each(partial(on_grid, values, fitting, left), releases, 2 * releases)
    found: dict[str, Any] = {
        "no range": float(own.mean()),
        "best grid": float(best.mean()),
        "best, rest": float(rest.mean()),
    }
    for called, ask in peers().items():
        if called not in given.without:
            found[called] = error(partial(ask, values, epsilon))
    if given.diffprivlib is not None:
        told = diffprivlib(given.diffprivlib, releases, values, epsilon)
        found["diffprivlib"] = float(np.mean([rank_errors(values, each).mean() for each in told]))
    return {"releases": releases, "se": {"own": standard_error(own), "best": standard_error(best)}, **found}


def ranks(kept: Kept, given: argparse.Namespace) -> None:
    """Mean rank errors of all distributions."""
    for called, there in (("OpenDP", find_spec("opendp") is not None), ("diffprivlib", given.diffprivlib is not None)):
        if not there:
            print(f"{called} is not there: no column for it")
    cases = sorted(product(given.records, given.epsilon, given.distributions), key=lambda case: -case[0])
    known = kept.setdefault("ranks", {})
    asked = [case for case in cases if f"{case[0]} {case[1]:g} {case[2]}" not in known]
    for (records, epsilon, name), found in measured(ranked, asked, given):
        known[f"{records} {epsilon:g} {name}"] = found
        line = ", ".join(f"{called} {each:.1f}" for called, each in found.items() if isinstance(each, float))
        print(f"{records:,} records, epsilon {epsilon:g}, {name}: {line}", flush=True)
        keep(kept, given)


def over_sets(case: tuple[int, float, str], given: argparse.Namespace) -> dict[str, float]:
    """Mean rank errors over sets of records of a distribution, without a range and on grids of a kind, and their
    ratio."""
    records, epsilon, name = case
    warnings.simplefilter("ignore")
    seeds = range(given.seed, given.seed + given.releases)
    drawn = [
        DISTRIBUTIONS[name](np.random.default_rng([seed, list(DISTRIBUTIONS).index(name)]), records) for seed in seeds
    ]
    laid = [list(grids(name, values)) for values in drawn]

    def on(number: int, kind: int, more: int) -> float:
        values = drawn[number]
        return float(rank_errors(values, on_grid(values, laid[number][kind], epsilon, seeds[number] + more)).mean())

    kind = min(range(len(laid[0])), key=lambda each: sum(on(0, each, more) for more in (1000, 2000, 3000)))
    own = [rank_errors(v, without_range(v, epsilon, seed)[0]).mean() for v, seed in zip(drawn, seeds, strict=True)]
    best = np.array([on(number, kind, 0) for number in range(given.releases)])
    ratio = np.mean(own) / best.mean()
    parts = [standard_error(np.array(each)) / np.mean(each) for each in (own, best)]
    return {
        "own": float(np.mean(own)),
        "best": float(best.mean()),
        "ratio": float(ratio),
        "se": float(ratio * np.hypot(*parts)),
    }


def sets(given: argparse.Namespace) -> None:
    """Rank errors over sets of records."""
    ratios = []
    for (records, epsilon, name), found in measured(
        over_sets, list(product(given.records, given.epsilon, given.distributions)), given
    ):
        ratios.append(found["ratio"])
        told = "without a range {own:.2f}, on grids {best:.2f}, ratio {ratio:.2f} (se {se:.2f})".format(**found)
        print(f"{records:,} records, epsilon {epsilon:g}, {name}: {told}", flush=True)
    print(
        f"median ratio {np.median(ratios):.2f}; {np.sum(np.array(ratios) <= MARK)} of {len(ratios)} are at most {MARK}"
    )


def bands(records: int, epsilon: float, releases: int) -> None:
    print(f"\nbands at 0.9 of {records:,} records, epsilon {epsilon:g}: how many of {releases} held, and mean width")
    for number, (name, distribution) in enumerate(KINDS.items()):
        held, widths = 0, []
        for seed in range(releases):
            values = distribution(np.random.default_rng([number, seed]), records)
            adjacency = (dp.ADD_REMOVE, dp.REPLACE_ONE)[seed % 2]
            curve = dp.cdf(values, epsilon=epsilon, adjacency=adjacency, randomness=dp.Randomness.from_seed(seed))
            truth = np.searchsorted(np.sort(values), curve.x) / records
            lower, upper = curve.band(0.9)
            held += bool(((lower <= truth + 1e-12) & (truth <= upper + 1e-12)).all())
            shown = curve.prefixes.plotted_edges
            widths.append(float((upper - lower)[shown].mean()))
        print(f"{name:16}{held / releases:8.2f}{np.mean(widths):10.4f}")


def in_hindsight(case: tuple[int, str, str], given: argparse.Namespace) -> list[tuple[str, dict[str, float]]]:
    """Errors over those of the best bound of rows in hindsight, of one log."""
    warnings.simplefilter("ignore")
    return list(unknown_units.measured(*case, 1.0, max(given.releases, 2), seed=given.seed))


def rows(kept: Kept, given: argparse.Namespace) -> None:
    """Errors over those of the best bound of rows in hindsight."""
    cases, known = product(given.units, given.logs, unknown_units.VALUES), kept.setdefault("rows", {})
    asked = [case for case in cases if f"{case[0]} {case[1]}, {case[2]}, histogram" not in known]
    for (size, distribution, kind), told in measured(in_hindsight, asked, given):
        for name, found in told:
            known[f"{size} {distribution}, {kind}, {name}"] = found
            print(f"{size:,} units, {distribution}, {kind}, {name}: {found['ratio']:.2f}", flush=True)
        keep(kept, given)


def groups(kept: Kept, given: argparse.Namespace) -> None:
    """Groups that are found, of units whose groups follow Zipf's laws."""
    delta, universes = "1e-6", {"texts": dp.TextUniverse("0-9", 6), "hashes": dp.HashUniverse(32)}
    for size, exponent in product(given.units, (1.1, 1.5, 2.0, 3.0)):
        names = unknown_units.zipf(exponent)(np.random.default_rng([int(exponent * 10), size]), size).astype(str)
        sizes = np.unique(names, return_counts=True)[1]
        paid: Any = {"epsilon": 1, "adjacency": dp.ADD_REMOVE, "label": "group"}

        def told(**how: Any) -> float:
            seeds = (dp.Randomness.from_seed(seed) for seed in range(given.releases))
            each = (dp.select_partitions(list(names), randomness=chance, **how, **paid) for chance in seeds)  # noqa: B023
            return float(np.mean([len(found) - 1 for found in each]))

        best = [float(unknown_units.optimal(part, float(delta), int(sizes.max()))[sizes].sum()) for part in (0.25, 1)]
        found = {"groups": len(sizes), "delta": told(delta=delta), "best, part": best[0], "best, all": best[1]}
        found |= {name: told(universe=universe) for name, universe in universes.items()}
        kept.setdefault("groups", {})[f"{size} Zipf {exponent:g}"] = found
        print(f"{size:,} units, Zipf {exponent:g}: " + ", ".join(f"{k} {v:.1f}" for k, v in found.items()), flush=True)


def weighted(kept: Kept, given: argparse.Namespace) -> None:
    """Weighted results: how often intervals held, their width over the error, and errors beside exact ones."""
    for kind in weights.KINDS:
        if f"{kind}, survival, band, population" in kept.setdefault("weights", {}):
            continue
        people = weights.Population.of(kind, True)
        found: dict[str, list[Any]] = {}
        for seed in range(5 * given.releases):
            for name, whom, held in weights.readings(people, 4000, "1", seed, FINE):
                found.setdefault(f"{name} {whom}", []).append(held)
            sample = people.drawn(np.random.default_rng(seed), 4000)
            for name, exact in (("Gini", weights.gini), ("mean", lambda x, w: float((x * w).sum() / w.sum()))):
                off = abs(exact(sample["x"], sample["w"]) - exact(people.x, np.ones(weights.PEOPLE)))
                found.setdefault(f"{name} exact", []).append(weights.Held(True, 0.0, off))
        for name in ("curve, band", "median", "mean", "Gini", "survival, band"):
            for whom in ("records", "population"):
                held, width, error = (float(np.mean(each)) for each in zip(*found[f"{name} {whom}"], strict=True))
                exact = found.get(f"{name} exact") if whom == "population" else None
                beside = error / float(np.mean([each.error for each in exact])) if exact else None
                kept["weights"][f"{kind}, {name}, {whom}"] = {
                    "held": held, "width over error": width / max(error, 1e-12), "error over exact": beside
                }  # fmt: skip
        print(f"weights: {kind}", flush=True)
        keep(kept, given)


# Tables of what was measured.


def keep(kept: Kept, given: argparse.Namespace) -> None:
    """Write what was measured so far."""
    if given.json:
        given.json.write_text(json.dumps(kept, indent=1))


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def rank_tables(kept: Kept) -> str:
    """Ratios to the best grid of all cases, medians over distributions of all methods, and two cases distribution by
    distribution."""
    cases: dict[tuple[int, str], dict[str, Any]] = {}
    for name in DISTRIBUTIONS:
        for key, found in kept.items():
            records, epsilon, distribution = key.split(" ", 2)
            if distribution == name:
                cases.setdefault((int(records), epsilon), {})[name] = found
    ordered = sorted(cases)
    methods = list(dict.fromkeys(name for found in kept.values() for name in found if name not in ("releases", "se")))
    heads = [f"{records:,}, {epsilon}" for records, epsilon in ordered]
    distributions = [name for name in DISTRIBUTIONS if any(name in cases[case] for case in ordered)]

    def ratio(found: Any) -> str:
        if found is None:
            return ""
        se = found.get("se", {"own": float("nan"), "best": float("nan")})
        return f"{found['no range']:.1f} ± {se['own']:.1f} / {found['best grid']:.1f} ± {se['best']:.1f}"

    def median(case: tuple[int, str], method: str) -> str:
        each = [found[method] for found in cases[case].values() if method in found]
        return f"{np.median(each):.1f}" if each else ""

    parts = [
        table(
            ["distribution", *heads],
            [[name, *(ratio(cases[case].get(name)) for case in ordered)] for name in distributions],
        ),
        "Medians over these distributions of the mean rank errors of all methods:",
        table(["method", *heads], [[method, *(median(case, method) for case in ordered)] for method in methods]),
    ]
    for case in ((100_000, "1"), (1000, "0.1")):
        if case in cases:
            lines = [
                [name, *(f"{found[each]:.1f}" if each in found else "" for each in methods)]
                for name, found in cases[case].items()
            ]
            parts += [f"{case[0]:,} records, epsilon {case[1]}:", table(["distribution", *methods], lines)]
    kept = {key: found for key, found in kept.items() if found["best grid"] > 0}
    ratios = np.array([each["no range"] / each["best grid"] for each in kept.values()])
    counted = f"{np.mean(ratios <= MARK):.0%} of {len(ratios)} ratios are at most {MARK}"
    releases = sorted({each["releases"] for each in kept.values()})
    told = " to ".join(str(2 * each) for each in (releases[0], releases[-1])[: len(releases)])
    parts.append(f"Ratios of the first to the second: median {np.median(ratios):.2f}; {counted}; {told} releases each.")
    paid = np.array([each.get("best, rest", np.nan) / each["best grid"] for each in kept.values()])
    parts.append(
        f"On the best grid with what looks left: median {np.median(paid):.2f}; {np.mean(paid <= MARK):.0%} are at most "
        f"{MARK}. Without a range over those: median {np.median(ratios / paid):.2f}."
    )
    known = [each for each in kept.values() if "range given" in each]
    if known:
        to_best = np.array([each["range given"] / each["best grid"] for each in known])
        to_given = np.median([each["no range"] / max(each["range given"], 1e-9) for each in known])
        parts.append(
            f"Where the range is given exactly, errors over those on the best grid: median {np.median(to_best):.2f}; "
            f"{np.mean(to_best <= MARK):.0%} are at most {MARK}. Without a range over those: median {to_given:.2f}."
        )
    return "\n\n".join(parts)


def row_tables(kept: Kept) -> str:
    """Ratios by distribution and kind of values."""
    cases: dict[str, dict[str, str]] = {}
    order = list(unknown_units.DISTRIBUTIONS)
    for key, found in sorted(kept.items(), key=lambda item: order.index(item[0].split(" ", 1)[1].split(", ")[0])):
        size, rest = key.split(" ", 1)
        distribution, kind, name = rest.split(", ")
        told = f"{found['ratio']:.2f} ± {found['se']:.2f} ({found['bound']:,}, {found['best']:,})"
        cases.setdefault(f"{int(size):,} units, {distribution}", {})[f"{name}, {kind}"] = told
    heads = [f"{name}, {kind}" for name in ("cdf", "histogram") for kind in unknown_units.VALUES]
    ratios = {name: [f["ratio"] for key, f in kept.items() if key.endswith(name)] for name in ("cdf", "histogram")}
    told = "; ".join(
        f"{name}: median {np.median(each):.2f}, largest {max(each):.2f}, {np.mean(np.array(each) <= 1.5):.0%} below 1.5"
        for name, each in ratios.items()
    )
    lines = [[name, *(each.get(head, "") for head in heads)] for name, each in cases.items()]
    return f"{table(['log', *heads], lines)}\n\n{told}."


def group_tables(kept: Kept) -> str:
    heads = ["groups", "delta", "best, part", "best, all", "texts", "hashes"]
    lines = [
        [key.replace(" ", " units, ", 1), *(f"{found[each]:.1f}" for each in heads)] for key, found in kept.items()
    ]
    return table(["log", *heads], lines)


def weight_tables(kept: Kept) -> str:
    lines = []
    for key, found in kept.items():
        beside = found["error over exact"]
        told = "" if beside is None else f"{beside:.2f}"
        lines.append([key, f"{found['held']:.2f}", f"{found['width over error']:.1f}", told])
    return table(["kind, result, for whom", "held", "width over error", "error over exact"], lines)


TABLES = {"ranks": rank_tables, "rows": row_tables, "groups": group_tables, "weights": weight_tables}
PARTS = {"ranks": ranks, "rows": rows, "groups": groups, "weights": weighted}


def written(page: str, kept: Kept) -> str:
    """The page with these tables between the lines that name them."""
    for part, made in TABLES.items():
        if part in kept:
            first, last = f"<!-- {part} -->", f"<!-- end of {part} -->"
            before, rest = page.split(first)
            page = f"{before}{first}\n\n{made(kept[part])}\n\n{last}{rest.split(last)[1]}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, "bands", "sets"], default=list(PARTS))
    parser.add_argument("--records", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--units", type=int, nargs="+", default=[1000])
    parser.add_argument(
        "--logs", nargs="+", choices=list(unknown_units.DISTRIBUTIONS), default=list(unknown_units.DISTRIBUTIONS)
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of records and of noise: constants saw those of 1")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--distributions", nargs="+", choices=list(DISTRIBUTIONS), default=list(DISTRIBUTIONS))
    parser.add_argument("--without", nargs="+", default=[], help="methods that are left out")
    parser.add_argument("--diffprivlib", metavar="PYTHON")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept: Kept = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    for part in given.parts:
        if part == "bands":
            for records, epsilon in product(given.records, given.epsilon):
                bands(records, epsilon, given.releases)
        elif part == "sets":
            sets(given)
        else:
            PARTS[part](kept, given)
            print(f"\n{TABLES[part](kept[part])}\n")
    keep(kept, given)
    if given.page:
        given.page.write_text(written(given.page.read_text(), kept))


if __name__ == "__main__":
    main()
