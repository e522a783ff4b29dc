"""How often the log-rank test of two released curves tells equal survival apart, and how often it finds a difference.

`python benchmarks/log_rank.py [--releases N]`. Two groups of unequal size, of which the second is censored more, for
numbers of records and epsilons: N releases (2000 unless said) of equal survival, half of them under each adjacency:
shares of p-values up to 0.05, which are to be 0.05, and by how many standard errors they are not; and N / 10 in which
times of the second group are a quarter longer, beside SciPy's test of the records. Where noise hides from the first
cell on how many are at risk, the p-value is 1: so the first share may be too small. Nothing is asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import CensoredData, logrank

import dpcurves as dp
from dpcurves.conversation import Evidence, Release
from dpcurves.curves.by_category import split_rows
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.trust import Central, run_conversation
from dpcurves_survival.inference import AtRisk, Stratum, find_known_cells, log_rank
from dpcurves_survival.kaplan_meier import EventTable

RECORDS, EPSILONS, LEVEL, LONGER, DRAWS = (1000, 10_000), ("0.1", "1"), 0.05, 1.25, 400
CELLS = 24
GRID = dp.Grid(0, CELLS, cells=CELLS, outside=dp.Outside.APART)
QUESTION = dp.SurvivalQuestion("t", "e", GRID, by=dp.Categories("g", (0, 1)))
Whole = NDArray[np.int64]
planned = cache(AUTO.plan)


def main() -> None:
    """Print one row for each number of records and epsilon, as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    releases = parser.parse_args().releases
    print("records | epsilon | null | longer | SciPy")
    for records, epsilon in product(RECORDS, EPSILONS):
        null = np.array(list(p_values(records, epsilon, 1.0, releases)))[:, 0]
        other = np.array(list(p_values(records, epsilon, LONGER, max(1, releases // 10))))
        share, error = float(np.mean(null <= LEVEL)), sqrt(LEVEL * (1 - LEVEL) / releases)
        power = [f"{found:.2f}" for found in np.mean(other <= LEVEL, axis=0)]
        print(" | ".join((str(records), epsilon, f"{share:.3f}: {(share - LEVEL) / error:+.1f}", *power)), flush=True)


def p_values(records: int, epsilon: str, longer: float, releases: int) -> Iterator[tuple[float, float]]:
    """The p-values of so many releases, and of the records where survival differs."""
    for seed in range(releases):
        draw = np.random.default_rng([seed, records])
        group = (draw.random(records) < 0.4).astype(np.int64)
        times = np.floor(draw.weibull(1.4, records) * 8 * np.where(group == 1, longer, 1.0))
        until = np.floor(draw.uniform(2, np.where(group == 1, 25, 50)))  # whole months: see `log_rank_test`
        month, event = np.minimum(times, until).astype(np.int64), (times <= until).astype(np.int64)
        exact = 0.0 if longer == 1 else _exact(month, event, group)
        yield released(month, event, group, epsilon, seed), exact


def released(month: Whole, event: Whole, group: Whole, epsilon: str, seed: int) -> float:
    """The p-value of one release of both groups' counts."""
    loss, records = PrivacyLoss.pure(epsilon), len(month)
    adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, records))[seed % 2]
    query = next(run_conversation(QUESTION, loss, adjacency, Central())).query
    place = (group * 2 + event) * (CELLS + 2) + np.minimum(month, CELLS) + 1
    plan = planned(query, loss, adjacency)
    drawn = AUTO.run(np.append(np.bincount(place, minlength=4 * (CELLS + 2)), 0), plan, Randomness.from_seed(seed))
    rows = split_rows(Evidence.from_release(Release(plan, drawn, None, seeded=True)))
    pairs, chance = ((rows[0], rows[1]), (rows[2], rows[3])), np.random.default_rng(seed)
    noises = [_some(noise_of(plan.fingerprint, pair), chance) for pair in pairs]
    groups = tuple(EventTable.from_counts(each).at_risk for each in pairs)
    known = np.logical_and(*(find_known_cells(each, noise) for each, noise in zip(groups, noises, strict=True)))
    return log_rank([Stratum((groups[0], groups[1]), (noises[0], noises[1]), known)], chance).p_value


KEPT: dict[str, AtRisk] = {}


def noise_of(distribution: str, pair: tuple[Evidence, Evidence]) -> AtRisk:
    """Many draws of the noise of one group, from which some are chosen for each release."""
    if distribution not in KEPT:
        KEPT[distribution] = EventTable.sample_noise(pair, np.random.default_rng(1)).at_risk
    return KEPT[distribution]


def _some(noise: AtRisk, chance: np.random.Generator) -> AtRisk:
    chosen = chance.integers(0, len(noise.events), DRAWS)
    return AtRisk(noise.events[chosen], noise.records[chosen])


def _exact(month: Whole, event: Whole, group: Whole) -> float:
    came = (event == 1) & (month < CELLS)
    month = np.minimum(month, CELLS)
    samples = [CensoredData(month[(group == each) & came], right=month[(group == each) & ~came]) for each in (0, 1)]
    return float(logrank(*samples).pvalue)


if __name__ == "__main__":
    main()
