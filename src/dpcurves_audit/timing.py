"""Times of calls that tell neighbours apart: a finding of its own, which contradicts no claim about outcomes."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from .door import Door
from .family import Pair
from .report import Finding

ERROR = 1e-4


def timed(door: Door, pair: Pair, calls: int = 60) -> list[Finding]:
    """Findings on times of calls, which alternate between both data sets, by Mann and Whitney's test.

    Calls of neighbours differ by one record, so what a call takes in general says little; a rare record for which the
    release does more work shows.
    """
    from scipy.stats import mannwhitneyu

    taken: list[list[float]] = [[], []]
    for place in range(2 * calls):
        side = (place + place // 2) % 2
        taken[side].append(_seconds(door, (pair.left, pair.right)[side]))
    chance = float(mannwhitneyu(np.array(taken[0]), np.array(taken[1])).pvalue)
    if chance >= ERROR:
        return []
    middles = [float(np.median(each)) for each in taken]
    words = f"calls take {1000 * middles[0]:.3g} and {1000 * middles[1]:.3g} ms (p = {chance:.1g}), for {pair.name}."
    return [Finding("timing", words, flagged=False)]


def _seconds(door: Door, data: Any) -> float:
    begun = perf_counter()
    door.draw(data, 1)
    return perf_counter() - begun
