"""Quantiles of a column of which nothing is known: rank errors beside those on the best of many grids in hindsight.

Seven quantiles of each law, mean absolute error in rank (records), under add-remove. Columns:

- *no range*: `dp.quantiles` without a grid, all of the loss.
- *hindsight*: the best of the grids that `grids` lays between the 0.1 and 99.9 % quantiles of the records themselves:
  linear and geometric, 256 to 4,096 cells; of the two modes 128 cells each; of heaped and of whole values these. It is
  chosen by the mean error of so many releases, and its error is that of as many others.
- *ratio*: of the first to the second.
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
  between -1e18 and 1e18. A line says which of the two is not installed.

The error of a value in rank is the distance of the wanted rank from the ranks that the value has: from the number of
records below it to the number of those not above it.

With ``--bands`` it prints how often bands at 0.9 held, and their mean width, on five kinds of data. Run
``python benchmarks/unknown.py [--records 1000 100000 --epsilon 0.1 1 --releases 10 --laws years]``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp

FloatArray = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], FloatArray]
P = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
DIGITS = [float(f"{digit / 10}e{power}") for power in range(-9, 18) for digit in range(10, 100)]
CANDIDATES = np.array([*(-each for each in reversed(DIGITS)), 0.0, *DIGITS])
RATIO = 1.001
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


LAWS: Mapping[str, Law] = {
    "lognormal": lambda draw, size: np.exp(draw.normal(10, 1, size)),
    "pareto": lambda draw, size: 1000 * (draw.pareto(1.2, size) + 1),
    "bimodal": bimodal,
    "heaped incomes": heaped,
    "timestamps": lambda draw, size: np.round(1.7e9 + 3e7 * draw.beta(2, 3, size)),
    "heights": lambda draw, size: np.round(draw.normal(170, 10, size)),
    "years": lambda draw, size: np.round(1990 - 30 * draw.gamma(2, 0.5, size)),
    "one of 1e300": lambda draw, size: np.append(np.exp(draw.normal(3, 0.5, size - 1)), 1e300),
}
KINDS: Mapping[str, Law] = {
    "smooth": lambda draw, size: draw.beta(2, 5, size) * 40,
    "tied": lambda draw, size: draw.choice([1.0, 2.0, 5.0, 17.5], size),
    "heaped": heaped,
    "zero-inflated": lambda draw, size: np.where(draw.random(size) < 0.6, 0.0, draw.gamma(2, 300, size)),
    "clamped": lambda draw, size: np.clip(draw.normal(100, 40, size), 60, 120),
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


def without_range(values: FloatArray, epsilon: float | str, seed: int) -> FloatArray:
    chance = dp.Randomness.from_seed(seed)
    return dp.quantiles(values, P, epsilon=epsilon, adjacency=dp.ADD_REMOVE, randomness=chance).x


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


def diffprivlib(values: FloatArray, epsilon: float, seed: int) -> FloatArray:
    from diffprivlib.tools import quantile  # type: ignore[import-not-found]

    each = epsilon / len(P)
    return np.array([quantile(values, share, epsilon=each, bounds=(-1e18, 1e18), random_state=seed) for share in P])


def peers() -> dict[str, Callable[[FloatArray, float, int], FloatArray]]:
    """Other ways without a range, those of libraries only where they are installed."""
    found: dict[str, Callable[[FloatArray, float, int], FloatArray]] = {
        "bounds, grid": bounds_then_grid,
        "unbounded": unbounded,
        "exponential": exponential,
        "recursive": recursive,
        "slices": slices,
    }
    for name, package, ask in (("OpenDP", "opendp", opendp), ("diffprivlib", "diffprivlib", diffprivlib)):
        if find_spec(package) is None:
            print(f"{name} is not installed: no column for it")
        else:
            found[name] = ask
    return found


def ranks(records: int, epsilon: float, releases: int, laws: Sequence[str]) -> None:
    print(f"\n{records:,} records, epsilon {epsilon:g}: mean rank errors of {releases} releases")
    others = peers()
    print(f"{'':16}" + "".join(f"{each:>13}" for each in ("no range", "hindsight", "ratio", *others)))
    for name in laws:
        law = LAWS[name]
        values = law(np.random.default_rng(1), records)

        def error(ask: Callable[[int], FloatArray], values: FloatArray = values) -> float:
            return float(np.mean([rank_errors(values, ask(seed)).mean() for seed in range(releases)]))

        own = error(lambda seed, values=values: without_range(values, epsilon, seed))  # type: ignore[misc]
        fitting = min((partial(on_grid, values, grid, epsilon) for grid in grids(name, values)), key=error)
        best = error(lambda seed, ask=fitting: ask(seed + releases))  # type: ignore[misc]
        rows = [
            error(lambda seed, ask=ask, values=values: ask(values, epsilon, seed))  # type: ignore[misc]
            for ask in others.values()
        ]
        told = "".join(f"{each:13.1f}" for each in rows)
        print(f"{name:16}{own:13.1f}{best:13.1f}{own / max(best, 0.5):13.2f}{told}", flush=True)


def bands(records: int, epsilon: float, releases: int) -> None:
    print(f"\nbands at 0.9 of {records:,} records, epsilon {epsilon:g}: how many of {releases} held, and mean width")
    for number, (name, law) in enumerate(KINDS.items()):
        held, widths = 0, []
        for seed in range(releases):
            values = law(np.random.default_rng([number, seed]), records)
            adjacency = (dp.ADD_REMOVE, dp.REPLACE_ONE)[seed % 2]
            curve = dp.cdf(values, epsilon=epsilon, adjacency=adjacency, randomness=dp.Randomness.from_seed(seed))
            truth = np.searchsorted(np.sort(values), curve.x) / records
            lower, upper = curve.band(0.9)
            held += bool(((lower <= truth + 1e-12) & (truth <= upper + 1e-12)).all())
            shown = curve.prefixes.shown
            widths.append(float((upper - lower)[shown].mean()))
        print(f"{name:16}{held / releases:8.2f}{np.mean(widths):10.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--laws", nargs="+", choices=list(LAWS), default=list(LAWS))
    parser.add_argument("--bands", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for records in given.records:
        for epsilon in given.epsilon:
            if given.bands:
                bands(records, epsilon, given.releases)
            else:
                ranks(records, epsilon, given.releases, given.laws)


if __name__ == "__main__":
    main()
