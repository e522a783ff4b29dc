"""Loops over streams give the same numbers as machine code and in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpcurves_streams.mechanisms import pegasus as deviations
from dpcurves_streams.readings import counts as bank
from dpcurves_streams.readings import groups as medians

CHANCE = np.random.default_rng(5)
VALUES, COUNTS = CHANCE.integers(-9, 40, (90, 2)).astype(np.float64), CHANCE.integers(0, 9, (90, 2))
JOINED = (CHANCE.random((90, 2)) < 0.9).astype(np.int64)
NOISE = CHANCE.integers(-200, 600, (90, 2))
VARIANCES = np.array([2.0, 200.0])
RATES = len(bank.NEWEST_WEIGHTS)
CALLS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "smoothers": (bank.smooth_counts, lambda: (VALUES, VARIANCES, 7, np.zeros((2, 3, RATES)))),
    "windows": (bank.smooth_windows, lambda: (
        VALUES, VARIANCES, 0, np.zeros((2, 6, RATES)), np.zeros((5, 2, RATES)))),
    "moments": (medians.update_moments, lambda: (VALUES, JOINED, np.zeros((2, 3)), np.zeros((90, 2, 4)))),
    "medians": (medians.update_medians, lambda: (
        VALUES, np.zeros(2, np.int64), np.zeros((2, 2, 90)), np.tile(np.arange(1.0, 91)[:, None, None], (1, 2, 4)))),
    "deviations": (deviations.decide_groups, lambda: (
        COUNTS, 600 + NOISE, NOISE, np.zeros((2, deviations.STATE_COLUMNS), np.int64),
        deviations.build_fenwick_trees(np.zeros((2, 1), np.int64), 16))),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_loop_gives_the_same_numbers_as_it_is_written(name: str) -> None:
    loop, arguments = CALLS[name]
    fast, slow = arguments(), arguments()
    assert np.array_equal(np.array(loop(*fast), float), np.array(loop.__wrapped__(*slow), float), equal_nan=True)  # type: ignore[attr-defined]
    assert all(np.array_equal(one, other) for one, other in zip(fast, slow, strict=True))
