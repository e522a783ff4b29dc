from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.estimation.two_classes import smooth_shares

FloatArray = NDArray[np.float64]
SCORES = (np.arange(10) + 0.5) / 10
CHANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "right": lambda score: score,
    "low": lambda score: score**2,
    "wave": lambda score: 0.5 + 0.3 * np.sin(9 * score),
}


def counts(chance: FloatArray, size: int, draw: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    positive = draw.binomial(size, chance).astype(np.float64)
    return positive, size - positive


@pytest.mark.parametrize("name", CHANCES)
def test_what_was_counted_without_noise_is_kept(name: str) -> None:
    positive, negative = counts(CHANCES[name](SCORES), 1000, np.random.default_rng(1))
    assert smooth_shares(SCORES, positive, negative, 0.0) == pytest.approx(positive / 1000, abs=1e-12)
    assert smooth_shares(SCORES, positive, negative, 4.0) == pytest.approx(positive / 1000, abs=0.01)


@pytest.mark.parametrize(("name", "most"), [("right", 0.5), ("low", 0.8), ("wave", 0.9)])
def test_errors_by_much_noise_are_far_less_than_those_of_the_counts(name: str, most: float) -> None:
    draw, ours, theirs = np.random.default_rng(2), [], []
    for _ in range(200):
        exact = counts(CHANCES[name](SCORES), 1000, draw)
        positive, negative = (np.maximum(each + draw.laplace(0, 150, 10), 0) for each in exact)
        true, noisy = exact[0] / 1000, positive / np.maximum(positive + negative, 1)
        ours.append(np.abs(smooth_shares(SCORES, positive, negative, 2 * 150.0**2) - true).mean())
        theirs.append(np.abs(noisy - true).mean())
    assert np.mean(ours) < most * np.mean(theirs)


def test_groups_at_one_score_and_groups_of_nobody_have_shares() -> None:
    nobody = np.array([0.0, 3.0, 0.0])
    for noise in (0.0, 1.0, 1e12):
        found = smooth_shares(np.full(3, 0.5), nobody, nobody, noise)
        assert found == pytest.approx([0.5, 0.5, 0.5])
