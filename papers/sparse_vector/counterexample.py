"""Theorem 4: how much one answer to 2 t queries tells, by numerical integration over the noise of the threshold.

The first t queries have the value 0 and the last t the value 1, or, on the neighbouring data, the other way round. The
threshold is 0. The answer is that the first t are below, and the last t above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np
from as_printed import CHEN, LEE, RESET, FloatArray, Split
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpcurves.data import Axis, Grid
from dpcurves.distributions import Noise, ThresholdAnswers
from dpcurves.mechanisms import SparseVector
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import ThresholdComparison, ThresholdQuery

EPSILON = 1.0
FAR = 60.0  # scales of the noise of the threshold: what is beyond has a chance below exp(-60)
POINTS = 200_001


@dataclass(frozen=True)
class Losses:
    """The logarithm of the ratio of chances, for each t; and that of dpcurves, where t may be above."""

    along: NDArray[np.int64]
    printed: dict[str, FloatArray]
    package: FloatArray


def against_copies(copies: Sequence[int], step: Callable[[], None]) -> Losses:
    """Losses of all variants that have noise on the queries. Without it one chance is zero, and the ratio infinite."""
    printed: dict[str, list[float]] = {split.name: [] for split in (LEE, CHEN, RESET)}
    package = []
    for t in copies:
        for split in (LEE, CHEN, RESET):
            printed[split.name].append(printed_loss(split, t))
        package.append(package_loss(t))
        step()
    return Losses(np.array(copies), {name: np.array(losses) for name, losses in printed.items()}, np.array(package))


def printed_loss(split: Split, copies: int) -> float:
    """At epsilon 1: the logarithm of equation 3.11 over equation 3.12."""
    if split.query == inf:
        return inf
    rate, own = EPSILON * split.threshold, EPSILON * split.query
    # Where the product peaks the threshold is between 0 and 1; it falls at a rate of at most 2 t own from there on.
    z = np.linspace(-FAR / rate, FAR / rate + 1, POINTS)
    threshold = -rate * np.abs(z)
    ours = threshold + copies * (_log_below(own * z) + _log_below(own * (1 - z)))
    theirs = threshold + copies * (_log_below(own * (z - 1)) + _log_below(-own * z))
    return float(logsumexp(ours) - logsumexp(theirs))


def package_loss(copies: int) -> float:
    """The loss of dpcurves' integer noise, exactly, where at most t answers may be above."""
    axes = (Axis("x", Grid(0, 1, cells=1)),)
    queries = (ThresholdComparison((1,), 0),) * copies + (ThresholdComparison((-1,), -1),) * copies
    who = AddRemove(EACH_RECORD)
    distribution = (
        SparseVector().plan(ThresholdQuery(axes, queries, copies), PrivacyLoss.pure(EPSILON), who).distribution
    )
    if not isinstance(distribution, ThresholdAnswers):
        raise TypeError("distribution: that of comparisons is needed")
    ours, theirs = Answer(0, copies, 1, copies), Answer(1, copies, 0, copies)
    return abs(
        ours.log_chance(distribution.threshold_noise, distribution.sum_noise)
        - theirs.log_chance(distribution.threshold_noise, distribution.sum_noise)
    )


@dataclass(frozen=True)
class Answer:
    """So many queries of value `low` that are said to be below the threshold 0, then so many of `high` that are above.

    Attributes:
        low, below: Value and number of the first queries.
        high, above: Value and number of the last.
    """

    low: int
    below: int
    high: int
    above: int

    def log_chance(self, common: Noise, own: Noise) -> float:
        """Summed over the noise of the threshold, to 240 of its scales; but for a factor that all answers share."""
        scale = float(common.parameter)
        far = ceil(4 * FAR * scale)
        noise = np.arange(-far, far + 1)
        said_below, said_above = _log_chances(own, noise - self.low)[1], _log_chances(own, noise - self.high)[0]
        return float(logsumexp(-abs(noise) / scale + self.below * said_below + self.above * said_above))


def _log_chances(noise: Noise, least: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Chances of a draw of at least so much, and of less: ``r**m / (1 + r)`` is that of m or more, for m > 0."""
    rate = 1 / float(noise.parameter)
    whole = np.log1p(np.exp(-rate))
    above = -rate * np.maximum(least, 1) - whole
    below = -rate * np.maximum(1 - least, 1) - whole
    return np.where(least > 0, above, np.log1p(-np.exp(below))), np.where(least > 0, np.log1p(-np.exp(above)), below)


def _log_below(z: FloatArray) -> FloatArray:
    """The logarithm of the distribution function of a Laplace distribution of scale 1."""
    far = -np.abs(z) - np.log(2)
    return np.where(z < 0, far, np.log1p(-np.exp(far)))


def least_gain(losses: Losses, split: Split) -> float:
    """The least log ratio over t times epsilon_2: at least 1, if each pair of queries tells that much."""
    return float(np.min(losses.printed[split.name] / (losses.along * EPSILON * split.query)))
