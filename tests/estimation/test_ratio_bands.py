"""Ratios of noisy counts are held at once as often as is said, of these records and of the population."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from dpcurves.arrays import FloatArray
from dpcurves.inference.rates import (
    FLAGGED,
    PRECISION,
    RECALL,
    Ratio,
    SimulatedCounts,
    cumulate_from_top,
    net_benefit_ratio,
    pin_share_ends,
    ratio_bands,
)

LEVEL, RELEASES, DRAWS, CELLS, UNITS = 0.9, 200, 1000, 8, 1000
ALLOWED = 4 * sqrt(LEVEL * (1 - LEVEL) / RELEASES)  # 4 sigma: a false alarm in 1 of 16,000
WEIGHTS = np.stack([np.arange(CELLS, 0, -1) * 3.0, np.arange(1, CELLS + 1) * 1.5])
WEIGHTS /= WEIGHTS.sum()
BENEFIT = net_benefit_ratio(np.array([3.0, 1.0, 0.3]), np.array([2, 4, 6]), CELLS + 1)
ASKED: dict[str, tuple[Ratio, ...]] = {
    "precision and recall": (PRECISION, RECALL),
    "shares": (FLAGGED,),
    "benefit": (BENEFIT,),
}


def held(ratios: tuple[Ratio, ...], scale: float) -> FloatArray:
    """How often all are held under Laplace noise of this scale: of these records, and of the population."""
    chance, found = np.random.default_rng(1), np.zeros(2)
    noise = cumulate_from_top(chance.laplace(0, scale, (DRAWS, 2, CELLS)))
    for _ in range(RELEASES):
        drawn = chance.multinomial(UNITS, WEIGHTS.ravel()).reshape(WEIGHTS.shape).astype(np.float64)
        counts = drawn + chance.laplace(0, scale, WEIGHTS.shape)
        likely = np.maximum(counts, 0.0)
        shares = likely / likely.sum()
        sampled = chance.multinomial(UNITS, shares.ravel(), DRAWS).reshape(DRAWS, *shares.shape) - UNITS * shares
        for whom, errors in enumerate((None, noise + cumulate_from_top(sampled))):
            truth = cumulate_from_top(drawn if whom == 0 else UNITS * WEIGHTS)
            bands = ratio_bands(
                SimulatedCounts(cumulate_from_top(counts), cumulate_from_top(UNITS * shares), noise, errors),
                ratios,
                LEVEL,
            )
            found[whom] += all(holds(ratio, truth, *band) for ratio, band in zip(ratios, bands, strict=True))
    return found / RELEASES


def holds(ratio: Ratio, truth: FloatArray, lower: FloatArray, upper: FloatArray) -> bool:
    part, whole = ratio.numerator_and_whole(truth)
    there = whole > 0
    exact = part[there] / whole[there]
    return bool(((lower[there] <= exact + 1e-9) & (exact <= upper[there] + 1e-9)).all())


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("scale", [10.0, pytest.param(1.0, marks=pytest.mark.reproduction)])
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_all_thresholds_are_held_at_once_as_often_as_is_said_and_no_oftener(
    asked: tuple[Ratio, ...], scale: float
) -> None:
    assert np.abs(held(asked, scale) - LEVEL).max() <= ALLOWED


def test_where_noise_may_have_made_all_records_every_ratio_is_held() -> None:
    chance = np.random.default_rng(2)
    counts, noise = (
        cumulate_from_top(np.array([[500.0, 0.0], [400.0, 1.0]])),
        cumulate_from_top(chance.laplace(0, 10, (DRAWS, 2, 2))),
    )
    found = SimulatedCounts(counts, counts, noise, noise)
    ((lower, upper),) = ratio_bands(found, (PRECISION,), LEVEL)
    assert (lower[:2] == 0).all()
    assert (upper[:2] == 1).all()
    assert 0 < lower[2] < 400 / 901 < upper[2] < 1


def test_without_noise_ratios_of_these_records_are_exact_and_shares_run_from_none_to_all() -> None:
    counts, none = cumulate_from_top(np.array([[4.0, 1.0], [1.0, 3.0]])), np.zeros((DRAWS, 2, 3))
    precision, recall = ratio_bands(SimulatedCounts(counts, counts, none, None), (PRECISION, RECALL), LEVEL)
    for ends in precision:
        assert ends[1:] == pytest.approx([3 / 4, 4 / 9])
    for ends in pin_share_ends(recall):
        assert ends == pytest.approx([0, 3 / 4, 1])
    with_samples = SimulatedCounts(counts, counts, none, none)
    lower, upper = pin_share_ends(ratio_bands(with_samples, (RECALL,), LEVEL)[0])
    assert (lower[0], upper[0], lower[-1], upper[-1]) == (0, 0, 1, 1)
