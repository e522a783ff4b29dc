"""How often each interval of a summary covers, on tied, heaped, zero-inflated, clipped and smooth values.

Samples are drawn from a long list with replacement, so that records are independent and their distribution is known.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from by_hand import answer, both
from kinds import POPULATIONS, Case

from dpcurves.curves import SummaryQuestion
from dpcurves.privacy import PrivacyLoss

UNKNOWN = frozenset({"count of unknown many, population", "sum of unknown many, population", "variance, population"})
"""Summaries: how many people were asked is private, and so is how their squares scatter."""


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Which intervals of one release hold what they promise; a tenth of the records has no value."""
    population, grid = POPULATIONS[case.data]
    draw = np.random.default_rng([seed, case.units, case.adjacency])
    values = np.where(draw.random(case.units) < 0.1, np.nan, draw.choice(population, case.units))
    adjacency, question = both(case.units)[case.adjacency], SummaryQuestion("x", grid.lower, grid.upper)
    found = answer(question, {"x": values}, PrivacyLoss.pure(case.epsilon), adjacency, seed)
    sample, whole = (np.clip(each, grid.lower, grid.upper) for each in (values[~np.isnan(values)], population))
    size = 0.9 * case.units
    truths = {
        "records": (len(sample), sample.sum(), sample.mean(), sample.var(ddof=1)),
        "population": (size, size * whole.mean(), whole.mean(), whole.var()),
    }
    for whom, truth in truths.items():
        ends = found.intervals(level, population=whom == "population")
        for name, (low, high), true in zip(found.statistics, ends.tolist(), truth, strict=True):
            of = " of unknown many" if whom == "population" and not case.adjacency and name in {"count", "sum"} else ""
            yield f"{name}{of}, {whom}", low <= true <= high
