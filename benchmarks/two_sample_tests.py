"""How often tests of two released curves tell equal distributions apart, and how often they find a difference.

`python benchmarks/two_sample_tests.py [--releases N] [--shape NAME]`. For distributions of four shapes, numbers of
records and epsilons, N releases (2000 unless said) of one column by two categories of equal distribution, half of them
under each adjacency: shares of p-values up to 0.05, which are to be 0.05, and after a colon by how many standard errors
they are not. And of N / 10 releases in which the second group was moved: the share up to 0.05, beside that of SciPy's
test of the cells of the records themselves. Nothing is asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp, mannwhitneyu

import dpcurves as dp
from dpcurves.conversation import Evidence, Release
from dpcurves.curves.by_category import split_rows
from dpcurves.curves.comparison import build_sample
from dpcurves.curves.prefixes import PrefixShares
from dpcurves.distributions import NoisySums
from dpcurves.inference.two_samples import ReleasedSample, kolmogorov_smirnov, mann_whitney, simulate_null
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.trust import Central, run_conversation

FloatArray = NDArray[np.float64]

RECORDS, EPSILONS, LEVEL = (1000, 10_000), ("0.1", "1"), 0.05
GRID = dp.Grid(0, 1, cells=20)
MOVED, DRAWS = 0.06, 200
planned = cache(AUTO.plan)
Draw = Callable[[np.random.Generator, int], FloatArray]
SHAPES: dict[str, Draw] = {
    "continuous": lambda draw, records: draw.beta(2, 3, records),
    "tied": lambda draw, records: draw.binomial(8, 0.4, records) / 8.0,
    "heaped": lambda draw, records: np.where(
        draw.random(records) < 0.6, np.round(draw.beta(2, 3, records) * 4) / 4, draw.beta(2, 3, records)
    ),
    "zero-inflated": lambda draw, records: np.where(draw.random(records) < 0.5, 0.0, draw.beta(2, 3, records)),
}
COLUMNS = (
    "shape", "records", "epsilon", "null: KS", "null: rank sum",
    "moved: KS", "SciPy", "moved: rank sum", "SciPy",
)  # fmt: skip


class Found(NamedTuple):
    """P-values of one release, and of the records themselves."""

    ks: float
    rank_sum: float
    exact_ks: float
    exact_rank_sum: float


def main() -> None:
    """Print one row for each shape, number of records and epsilon, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    parser.add_argument("--shape", choices=SHAPES)
    given = parser.parse_args()
    print(f"Tests of two samples, {given.releases} releases each, level {LEVEL}")
    print(" | ".join(COLUMNS))
    for shape in SHAPES if given.shape is None else (given.shape,):
        for records, epsilon in product(RECORDS, EPSILONS):
            null = np.array(list(found(shape, records, epsilon, 0.0, given.releases)))
            other = np.array(list(found(shape, records, epsilon, MOVED, max(1, given.releases // 10))))
            power = [f"{share:.2f}" for share in np.mean(other[:, [0, 2, 1, 3]] <= LEVEL, axis=0)]
            print(" | ".join((shape, str(records), epsilon, *map(told, null[:, :2].T), *power)), flush=True)


def told(p_values: FloatArray) -> str:
    """The share of small p-values, and by how many standard errors it is off."""
    share = float(np.mean(p_values <= LEVEL))
    return f"{share:.3f}: {(share - LEVEL) / sqrt(LEVEL * (1 - LEVEL) / len(p_values)):+.1f}"


def found(shape: str, records: int, epsilon: str, moved: float, releases: int) -> Iterator[Found]:
    """The p-values of so many releases."""
    for seed in range(releases):
        draw = np.random.default_rng([seed, records])
        group = draw.random(records) < 0.4
        values = np.clip(SHAPES[shape](draw, records) + moved * group, 0.0, 1.0)
        samples = released(values, group, epsilon, seed)
        null = simulate_null(*samples, draw)
        cells = np.minimum(np.floor(values * GRID.cells), GRID.cells - 1)
        one, other = cells[~group], cells[group]
        exact = (0.0, 0.0) if moved == 0 else (ks_2samp(one, other).pvalue, mannwhitneyu(one, other).pvalue)
        yield Found(kolmogorov_smirnov(*samples, null).p_value, mann_whitney(*samples, null).p_value, *exact)


def released(
    values: FloatArray, group: NDArray[np.bool_], epsilon: str, seed: int
) -> tuple[ReleasedSample, ReleasedSample]:
    """One release of both groups' counts, with other noise simulated for each."""
    loss, records = PrivacyLoss.pure(epsilon), len(values)
    adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, records))[seed % 2]
    question = dp.CdfQuestion("x", GRID, by=dp.Categories("group", (0, 1)))
    query = next(run_conversation(question, loss, adjacency, Central())).query
    exact = np.bincount(group * GRID.cells + GRID.cell_of(values), minlength=2 * GRID.cells)
    plan = planned(query, loss, adjacency)
    drawn = AUTO.run(np.append(exact, 0), plan, Randomness.from_seed(seed))
    rows, chance = (
        split_rows(Evidence.from_release(Release(plan, drawn, None, seeded=True))),
        np.random.default_rng(seed),
    )
    first, second = (
        build_sample(PrefixShares(row, GRID), row.sums.bounds, chance.choice(noise_of(row.sums), DRAWS)) for row in rows
    )
    return first, second


@cache
def noise_of(distribution: NoisySums) -> FloatArray:
    """Many draws of its noise, from which some are chosen for each release."""
    return np.concatenate(list(distribution.simulate_prefixes(None, 100 * DRAWS, np.random.default_rng(1))))


if __name__ == "__main__":
    main()
