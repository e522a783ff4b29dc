"""NOT PRIVATE. PriROC as printed, to reproduce figures and tables that were made with it.

Its thresholds lose up to 1.008 times what they say, its counts much more: see `as_printed.py` and `docs/errata.md`.
Chance is in floating point. Nothing here is for data of persons.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from as_printed import IN_LINE, partition_not_private
from histograms import Counts, Floats, asked
from numpy.typing import NDArray

from dpcurves.conversation import WHOLE_BUDGET, Setting
from dpcurves.data import Axis
from dpcurves.histograms.table_estimator import Conversation, Extent, count_regions
from dpcurves.mechanisms.smooth_sensitivity import calibrate_cauchy, find_median
from dpcurves.mechanisms.smooth_sensitivity import median_sensitivity as smooth_sensitivity
from dpcurves.privacy import Adjacency
from dpcurves.queries import CountUse

Edges = NDArray[np.int64]


class NoiseRule(NamedTuple):
    """Cauchy noise of `scale` times the smooth sensitivity, where that is smooth by `beta`."""

    beta: float
    scale: float


def medians_not_private(counts: Counts, epsilon: float, levels: int, chance: np.random.Generator) -> Edges:
    """Algorithm 12: edges of cells near medians of medians, with 8 times the smooth sensitivity as noise."""
    each = epsilon / levels / 2
    return np.fromiter(_medians(counts, levels, NoiseRule(each, 8 / each), chance), dtype=np.int64)


def medians_in_floats(counts: Counts, epsilon: float, levels: int, chance: np.random.Generator) -> Edges:
    """Algorithm 12 with the exact Cauchy rule; up to rounding what dpcurves draws, and quicker."""
    rule = calibrate_cauchy(Fraction(f"{epsilon:.12g}") / levels / 2)
    noise = NoiseRule(rule.beta, float(1 / rule.alpha))
    return np.fromiter(_medians(counts, levels, noise, chance), dtype=np.int64)


def _medians(counts: Counts, levels: int, rule: NoiseRule, chance: np.random.Generator) -> Iterator[int]:
    """From left to right; the middle of the piece where the noisy median leaves it."""
    if levels == 0:
        return
    noise = smooth_sensitivity(counts, rule.beta) / 2 * rule.scale * chance.standard_cauchy()
    found = find_median(counts) / 2 + noise
    cut = round(found) if 0 < found < len(counts) else len(counts) // 2
    yield from _medians(counts[:cut], levels - 1, rule, chance)
    yield cut
    yield from (cut + place for place in _medians(counts[cut:], levels - 1, rule, chance))


def dawa_not_private(row: Counts, epsilon: float, seed: int, adjacency: Adjacency) -> Floats:
    """A partition as printed; its intervals are counted with a tree over them, read by least squares.

    The second stage is that of dpcurves, whose tree is chosen for prefixes; the reference code weighs its own.
    """
    chance = np.random.default_rng(seed)
    choice, rest = IN_LINE * epsilon, (1 - IN_LINE) * epsilon
    begins = partition_not_private(row.astype(np.float64), choice, rest, chance)
    label = np.zeros(len(row), dtype=np.int64)
    label[begins[1:]] = 1
    number = np.cumsum(label)

    def steps(axes: tuple[Axis, ...], setting: Setting) -> Conversation:
        return count_regions(axes, Extent.from_axes(axes), [number], CountUse.PREFIXES, WHOLE_BUDGET)

    return asked(row, rest, seed, adjacency, steps=steps)
