"""A band for the distribution that units were drawn from: noise and sampling, simulated together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from .bands import Band, monotone_hull, scaled, upper_quantile
from .sampling import means_within

LEVELLED = 0.1
"""What is added to ``F * (1 - F)`` where a deviation is judged: the more, the more alike the band is everywhere."""
RARE = 3.0
"""So many units are taken to lie beyond each point at the least: of as many there may be none to see."""


class Sample(NamedTuple):
    """Independent units of one record each, drawn from a population.

    Attributes:
        likely: An estimate of their distribution function at the points that were measured, (points,), not decreasing.
        units: How many units there are.
        chance: The generator for simulated sampling, independent of that of the noise.
    """

    likely: FloatArray
    units: float
    chance: np.random.Generator

    def scatter(self, draws: int) -> FloatArray:
        """Simulated sampling errors of the shares: (draws, points), as of Brownian bridges."""
        passed = np.diff(self.likely, prepend=0.0, append=1.0)
        walk = np.cumsum(self.chance.standard_normal((draws, len(passed))) * np.sqrt(np.maximum(passed, 0)), axis=1)
        return np.asarray((walk[:, :-1] - self.likely * walk[:, -1:]) / np.sqrt(self.units))


def seen(likely: FloatArray, units: float) -> FloatArray:
    """Shares of so many units with `RARE` units on either side, but for those of none and of all at the very ends.

    >>> seen(np.array([0.0, 0.0, 0.5, 1.0, 1.0]), 100).tolist()
    [0.0, 0.03, 0.5, 0.97, 1.0]
    """
    least = min(RARE / units, 0.5)
    inner = np.clip(likely, least, 1 - least)
    ends = (np.arange(len(likely)) == 0) & (likely == 0) | (np.arange(len(likely)) == len(likely) - 1) & (likely == 1)
    return np.where(ends, likely, inner)


def population_band(
    curve: FloatArray,
    deviations: Iterable[FloatArray],
    level: float,
    sample: Sample,
    known: NDArray[np.bool_] | None = None,
) -> Band:
    """A simultaneous band for the distribution function F that the units of a sample were drawn from.

    It holds F where the released share f has ``(f - F)^2 <= c^2 (noise + (F (1 - F) + LEVELLED) / units)`` at all
    points at once. The number c is simulated: the `level` quantile of the largest such deviation, of noise and of
    samples of the `likely` distribution together. (Noise at one half of the error chance and the inequality of
    Dvoretzky, Kiefer and Wolfowitz at the other, which is attained by continuous data, would hold in all but a
    hundredth where a tenth may fail.) It matters little that samples are drawn from an estimate. What the variance of
    a sampled share is off by is at most what the share is off by, over `units`: next to nothing beside the square of
    that error, unless noise is less than a record. For that case no variance is taken to be less than that of `RARE`
    units, and none is judged by less than `LEVELLED` over `units`.

    Edges that an earlier turn chose were chosen by noisy counts of this sample: c is that of edges given beforehand.

    Nowhere narrower than the band for these records.

    Args:
        curve: The unbiased linear estimate, (points,). Not the isotonic one.
        deviations: Its simulated noise at the known points, in chunks of (draws, known points).
        level: The chance to hold all of the curve, over noise and sampling.
        sample: What is known of sampling, at the known points.
        known: What `simultaneous_band` takes.

    Raises:
        ValueError: the level is not between 0 and 1, or needs more draws.
    """
    measured = np.ones(curve.shape, dtype=np.bool_) if known is None else known
    found, units = curve[measured], sample.units
    scale, counted = scaled(iter(deviations))
    spread = scale**2 + LEVELLED / units
    judged = np.sqrt(spread + sample.likely * (1 - sample.likely) / units), np.where(scale > 0, scale, np.inf)
    largest = [_largest(chunk, sample.scatter(len(chunk)), *judged) for chunk in counted]
    together, alone = (upper_quantile(each, level) for each in np.concatenate(largest, axis=1))
    least, most = means_within(units * found, units**2 * spread, together**2, units)
    lower, upper = np.full(curve.shape, -np.inf), np.full(curve.shape, np.inf)
    lower[measured] = np.minimum(least / units, found - alone * scale)
    upper[measured] = np.maximum(most / units, found + alone * scale)
    return monotone_hull(lower, upper)


def _largest(noise: FloatArray, sampling: FloatArray, together: FloatArray, alone: FloatArray) -> FloatArray:
    """The largest deviation of each draw, by noise and sampling and by noise alone: (2, draws)."""
    return np.stack([np.abs((noise + sampling) / together).max(axis=1), np.abs(noise / alone).max(axis=1)])
