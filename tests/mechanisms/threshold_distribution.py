"""The exact distribution of the answers of the sparse vector technique."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.distributions import Noise, ThresholdAnswers

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
FAR, FARTHEST = 60, 150  # scales of the common noise; what is beyond has a chance below exp(-60), and is bounded below


def chance_at_least(noise: Noise, least: IntArray) -> FloatArray:
    """The chance of a draw of at least m: ``r**m / (1 + r)`` for m above 0, and by symmetry below."""
    rate = 1 / float(noise.parameter)
    far = np.exp(-rate * np.where(least > 0, least, 1 - least)) / (1 + np.exp(-rate))
    chances: FloatArray = np.where(least > 0, far, 1 - far)
    return chances


def answers(looks: int, most: int) -> Iterator[tuple[int, ...]]:
    """Numbers of comparisons that reached their threshold, without those that are filled up."""
    for size in range(most + 1):
        yield from combinations(range(looks), size)


def chance(exact: IntArray, answer: tuple[int, ...], plan: ThresholdAnswers, scales: int = FARTHEST) -> float:
    """The chance of one answer, given the differences of one data set, summed over the common noise."""
    rate, far = 1 / float(plan.threshold_noise.parameter), ceil(scales * float(plan.threshold_noise.parameter))
    common = np.arange(-far, far + 1)
    asked = len(exact) if len(answer) < plan.size else answer[-1] + 1
    said = np.isin(np.arange(asked), answer)
    (different, reached), times = np.unique([exact[:asked], said], axis=1, return_counts=True)
    yes = chance_at_least(plan.sum_noise, common[:, None] - different)
    weight = np.exp(-rate * abs(common)) * np.tanh(rate / 2)
    total = float(weight @ np.prod(np.where(reached, yes, 1 - yes) ** times, axis=1))
    assert np.exp(-scales) < 1e-12 * total  # what was left out cannot matter
    return total


def distribution(exact: IntArray, plan: ThresholdAnswers) -> FloatArray:
    """The chance of every answer."""
    chances = np.array([chance(exact, answer, plan, FAR) for answer in answers(len(exact), plan.size)])
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    return chances
