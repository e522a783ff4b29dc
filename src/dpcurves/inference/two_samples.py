"""Are two samples drawn from one distribution? Two statistics of noisy counts, judged with the noise of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .simulation import monte_carlo_p_value, sample_multinomial, whole_records


class TwoSampleTest(NamedTuple):
    """A statistic of two samples, and how often it is as large where both come from one distribution.

    Attributes:
        statistic: The statistic of the test, from released numbers.
        p_value: For the population: it holds noise and sampling. A multiple of one over the number of draws and one.
    """

    statistic: float
    p_value: float


class ReleasedSample(NamedTuple):
    """Released counts of one sample along cells that both samples share.

    Attributes:
        cells: Without bias, (cells,); anything may be below zero.
        likely: An estimate with none below zero, (cells,).
        noise: What noise adds to `cells`, simulated, (draws, cells).
    """

    cells: FloatArray
    likely: FloatArray
    noise: FloatArray


def kolmogorov_smirnov_statistic(first: FloatArray, second: FloatArray) -> FloatArray:
    """The largest difference of the shares below any inner edge (Kolmogorov 1933, Smirnov 1939): (..., cells) to (...).

    Values in one cell count as tied.
    """
    gap = _shares_below(first) - _shares_below(second)
    return np.asarray(np.abs(gap[..., :-1]).max(axis=-1, initial=0.0))


def mann_whitney_statistic(first: FloatArray, second: FloatArray) -> FloatArray:
    """The chance that a value of the first is less than one of the second, ties counted half: (..., cells) to (...).

    The statistic of Mann and Whitney (1947), over the product of the numbers of records. Without bias but for these.
    """
    below = np.cumsum(first, axis=-1) - first / 2
    return np.asarray((below * second).sum(axis=-1) / _total(first) / _total(second))


class NullDraws(NamedTuple):
    """Counts of two samples of one distribution, with the noise of those that were released, each (draws, cells)."""

    first: FloatArray
    second: FloatArray


def simulate_null(first: ReleasedSample, second: ReleasedSample, generator: np.random.Generator) -> NullDraws:
    """Simulated releases if both samples came from the distribution that both together seem to have.

    A parametric bootstrap: as many records as each sample seems to have are drawn, and the noise of each is added. So
    no law of a statistic is needed that would have to know the noise, ties, and how both lie over the grid.

    A share below an edge that is read from noisy counts is off by ``(e - F * E) / n``, where e is the noise below the
    edge, E that of the total, F the true share and n the noisy total. So that is what is added: every draw has the
    total that was released. Totals that were noisy a second time would make shares scatter more than those released.
    """
    together = first.likely + second.likely
    total = together.sum()
    chances = together / total if total > 0 else np.full(together.shape, 1 / together.size)
    return NullDraws(*(_simulate_release(each, chances / chances.sum(), generator) for each in (first, second)))


def kolmogorov_smirnov(first: ReleasedSample, second: ReleasedSample, null: NullDraws) -> TwoSampleTest:
    """The test of `kolmogorov_smirnov_statistic`: how often it is as large in draws of `simulate_null`."""
    reached = float(kolmogorov_smirnov_statistic(first.cells, second.cells))
    return TwoSampleTest(min(reached, 1.0), monte_carlo_p_value(reached, kolmogorov_smirnov_statistic(*null)))


def mann_whitney(first: ReleasedSample, second: ReleasedSample, null: NullDraws) -> TwoSampleTest:
    """Return the two-sided p-value of `mann_whitney_statistic` under draws of `simulate_null`."""
    reached = float(mann_whitney_statistic(first.cells, second.cells))
    chance = monte_carlo_p_value(abs(reached - 0.5), np.abs(mann_whitney_statistic(*null) - 0.5))
    return TwoSampleTest(min(max(reached, 0.0), 1.0), chance)


def _simulate_release(sample: ReleasedSample, chances: FloatArray, generator: np.random.Generator) -> FloatArray:
    records = whole_records(float(sample.cells.sum()))
    noise = sample.noise - sample.noise.sum(axis=-1, keepdims=True) * chances
    return np.asarray(sample_multinomial(chances, records, len(noise), generator) + noise)


def _shares_below(cells: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(cells, axis=-1) / _total(cells)[..., None])


def _total(cells: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(cells.sum(axis=-1), 1.0))
