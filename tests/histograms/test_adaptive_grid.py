"""Adaptive grids: which blocks are divided, and that empty ones are read as empty."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcurves.conversation import Release, Setting
from dpcurves.data import Axis, Grid
from dpcurves.histograms import AdaptiveGridEstimator
from dpcurves.histograms.block_estimators import ADAPTIVE_GRID_TUNING, choose_parts
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss

PLANE = tuple(Axis(name, Grid(0, 1, cells=64)) for name in "xy")
EMPTY = np.zeros(64**2 + 1, dtype=np.int64)


def test_noise_alone_divides_half_a_block_on_average() -> None:
    """Takes 400 tables of 10,000 empty blocks: 200 blocks, with a deviation of 14; within 4 sigma."""
    chance, scale = np.random.default_rng(3), 1 / float(ADAPTIVE_GRID_TUNING.coarse_fraction)
    divided = sum(np.count_nonzero(choose_parts(chance.laplace(0, scale, 10_000), 1, axes=2) > 1) for _ in range(400))
    assert abs(divided - 200) < 4 * np.sqrt(200)


def test_empty_blocks_are_not_read_as_holding_records() -> None:
    """Half a block that noise alone divides adds log(121) scales of its noise at most, 6 records, and not 38.

    That is what comes of blocks that are divided as soon as they seem to hold two records for each scale. The mean of
    200 tables lies within 4 standard errors.
    """
    totals = [empty_total(seed) for seed in range(200)]
    most = np.log(121) / float(ADAPTIVE_GRID_TUNING.coarse_fraction) / 2
    assert abs(np.mean(totals)) < most + 4 * np.std(totals) / np.sqrt(len(totals))


def empty_total(seed: int) -> float:
    """How many records a table without any seems to hold."""
    setting, randomness = (
        Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD)),
        Randomness.from_seed(seed),
    )
    steps = AdaptiveGridEstimator().estimate_table(PLANE, setting, Fraction(1))
    try:
        step = next(steps)
        while True:
            plan = AUTO.plan(step.query, setting.loss * step.budget_fraction, setting.adjacency)
            step = steps.send(Release(plan, AUTO.run(EMPTY, plan, randomness), None, seeded=True))
    except StopIteration as end:
        return float(end.value.cells.sum())
