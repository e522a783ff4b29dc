"""Simultaneous confidence intervals of a noisy histogram with many cells, without simulation of the noise.

`find_intervals` takes a `Histogram`, computed from simulated or public records, and returns interval endpoints in
records, (cells, 2). A forecast uses them to state the expected error of a question before any budget is spent.

Let e_i be the error of the noisy count of cell i, and s_i its standard deviation. Intervals that cover all cells with
probability `level` reach about ``c * s_i`` to both sides of each count, with the least c such that

    P(|e_i| <= c * s_i for all i)  =  product over i of P(|e_i| <= c * s_i)  >=  level

*Why this is a product*: noise of different cells is independent, and for many cells the correlation of their sampling
errors is small. Each factor is computed from tail probabilities of a known distribution. Cells with similar counts
share one factor, so the time hardly grows with the number of cells. `Histogram.intervals`, which a release uses,
simulates the noise of every cell a thousand times instead.

Formal guarantees: no confidential record is read, and no budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .. import curves
from ..arrays import FloatArray
from ..distributions import Family, Noise
from ..inference.bands import TUNING as BAND_TUNING
from ..inference.bands import join_intervals, safe_rank, wilson_ends
from ..inference.moments import clip_to_possible, whole_ends
from ..inference.simulation import choose_draws


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that decide when intervals are computed from tails, and how finely tails are tabulated."""

    least_cells: int = 1024  # cells; with fewer, simulation as in a release is fast enough
    groups_per_deviation: float = 4.0  # groups of similar counts per standard deviation of a Poisson count
    most_nodes: int = 257  # largest number of values of a sampled count over which tails of noise are averaged
    sampling_deviations: float = 9.0  # range of values of a sampled count; a normal tail beyond is below 1e-18
    bisections: int = 60  # halvings of the range of a critical value; more than the 53 bits of a double


TUNING = Tuning()
"""When forecasts compute intervals from tabulated tails instead of simulation, and how finely: see `Tuning`."""
Tail = Callable[[FloatArray], FloatArray]
"""Function from an array of numbers x, in records, to the probabilities P(noise > x), of the same shape."""


def has_many_independent_cells(histogram: curves.Histogram, tuning: Tuning = TUNING) -> bool:
    """Return True if `find_intervals` applies: at least `tuning.least_cells` cells, each counted separately with noise
    of one party.

    Args:
        histogram: The histogram. False is returned if its noise is a sum of draws of several parties, or if its counts
            are sums over intervals, whose errors are correlated.
        tuning: The least number of cells.
    """
    noise = histogram.evidence.sums.cell_noise
    return len(histogram.count) >= tuning.least_cells and noise is not None and noise.parties == 1


def find_intervals(histogram: curves.Histogram, level: float, population: bool, tuning: Tuning = TUNING) -> FloatArray:
    """Return simultaneous intervals of all cells of a histogram, in records: lower and upper endpoints, (cells, 2).

    They equal `Histogram.intervals` up to the error of its simulation. For the records themselves, half widths may
    differ by a further half record, because a release rounds its simulated limits to integers.

    Args:
        histogram: A histogram for which `has_many_independent_cells` returns True.
        level: Probability with which all intervals together cover the true counts, between 0 and 1.
        population: False: intervals for the counts of these records, so errors are noise alone. True: for the expected
            counts of as many records drawn from the population, so errors are noise plus sampling.
        tuning: Sizes of groups and tables.
    """
    noise = histogram.evidence.sums.cell_noise
    assert noise is not None  # noqa: S101
    counts = histogram.unbiased_counts
    deviation = sqrt(noise.variance)
    cells = len(counts)
    most = histogram.privacy.most_records
    draws = choose_draws(histogram.evidence.sums.cells)
    safe_level = safe_rank(draws, level) / (draws + 1)  # the mean level of the order statistic of a release
    tail = make_tail(noise)
    errors = find_critical_value(
        lambda c: cells * _log_inside(tail, np.array([c * deviation]), np.zeros(1), np.ones(1)), safe_level, tuning
    )
    records = whole_ends(counts, np.full(cells, errors * deviation), most)
    if not population:
        return records
    total = histogram.total  # an estimate from all cells, computed at each access
    likely = np.maximum(counts, 0.0)
    size = max(total, float(likely.sum()))
    groups = _group_counts(likely, tuning)
    spread = noise.variance + BAND_TUNING.sampling_guard
    distributions = [(_sampling_distribution(count, size, tuning), number) for count, number in groups]
    widths = [sqrt(spread + count * max(1 - count / max(total, 1.0), 0.0)) for count, _ in groups]

    def log_probability(c: float) -> float:
        """Return the logarithm of the probability that no error exceeds `c` times its standard deviation."""
        return sum(
            number * _log_inside(tail, np.array([c * width]), *distribution)
            for (distribution, number), width in zip(distributions, widths, strict=True)
        )

    squared = find_critical_value(log_probability, safe_level, tuning) ** 2
    ends = wilson_ends(counts, np.full(cells, spread), squared, max(total, 1.0))
    return join_intervals(records, clip_to_possible(np.stack(ends, axis=1), most))


def make_tail(noise: Noise) -> Tail:
    """Return the tail function of integer noise: it maps an array of x, in records, to the probabilities P(noise > x).

    Args:
        noise: A discrete Laplace or discrete Gaussian distribution of one party.

    >>> from fractions import Fraction
    >>> tail = make_tail(Noise(Family.LAPLACE, Fraction(2)))
    >>> tail(np.array([-1.0, 0.0, 3.5])).round(3).tolist()
    [0.622, 0.378, 0.084]
    """
    from scipy.special import ndtr

    parameter = float(noise.parameter)
    if noise.family is Family.LAPLACE:
        # with r = exp(-1 / scale), the noise exceeds k >= -1 with probability r**(k + 1) / (1 + r), and is symmetric
        def laplace_tail(numbers: FloatArray) -> FloatArray:
            """Return the probabilities P(noise > x) of discrete Laplace noise for an array of x, of the same shape.

            Args:
                numbers: Numbers x, of any shape; a fraction counts as the whole number below it.
            """
            steps = np.floor(numbers) + 1
            one_sided = np.exp(-np.maximum(steps, 1 - steps) / parameter) / (1 + np.exp(-1 / parameter))
            return np.asarray(np.where(steps >= 0.5, one_sided, 1 - one_sided), dtype=np.float64)

        return laplace_tail
    # squared records; above, the normal tail between two integers has a relative error below 1e-5
    if parameter > 1e6:
        return lambda numbers: np.asarray(ndtr(-(np.floor(numbers) + 0.5) / sqrt(parameter)))
    furthest = int(12 * sqrt(parameter)) + 2  # 12 standard deviations: beyond, less than 1e-30
    distribution = np.exp(-(np.arange(-furthest, furthest + 1) ** 2) / (2 * parameter))
    above = np.append(np.cumsum((distribution / distribution.sum())[::-1])[::-1], 0.0)
    return lambda numbers: np.asarray(
        above[np.clip(np.floor(numbers).astype(np.int64) + 1 + furthest, 0, 2 * furthest + 1)]
    )


def find_critical_value(log_probability: Callable[[float], float], level: float, tuning: Tuning = TUNING) -> float:
    """Return the least number of standard deviations at which an increasing probability reaches `level`.

    Args:
        log_probability: Logarithm of the probability for a number of standard deviations; increasing.
        level: The probability to reach, between 0 and 1.
        tuning: Number of bisections.
    """
    lowest = 0.0
    highest = 1.0
    target = float(np.log(level))
    while log_probability(highest) < target:
        lowest = highest
        highest = 2 * highest
    for _ in range(tuning.bisections):
        middle = (lowest + highest) / 2
        lowest, highest = (lowest, middle) if log_probability(middle) >= target else (middle, highest)
    return highest


def _log_inside(tail: Tail, limit: FloatArray, values: FloatArray, probabilities: FloatArray) -> float:
    """Return the logarithm of the probability that noise plus a sampling error lies between ``-limit`` and `limit`.

    Args:
        tail: The tail of the noise, whose distribution is symmetric.
        limit: The limit in records, as an array of one number.
        values: Values of the sampling error in records, (values,).
        probabilities: Their probabilities, of sum 1, (values,).
    """
    rounding = 1e-9  # records: an error that equals the limit is inside, for either last bit
    outside = tail(limit + rounding - values) + tail(limit + rounding + values)
    return float(np.log1p(-min(float(probabilities @ outside), 1 - 1e-12)))


def _group_counts(likely: FloatArray, tuning: Tuning) -> list[tuple[float, int]]:
    """Group cells with similar counts, so that the cells of a group can share one computation.

    Groups are equally wide in the square root of the count. *Why*: twice that root has the standard deviation 1 in a
    sample, for every count.

    Args:
        likely: Estimated counts, at least 0, in records, (cells,).
        tuning: Number of groups per standard deviation.

    Returns:
        Pairs of the mean count of a group and the number of its cells, in the order of counts.
    """
    groups = np.rint(2 * tuning.groups_per_deviation * np.sqrt(likely)).astype(np.int64)
    _, members, numbers = np.unique(groups, return_inverse=True, return_counts=True)
    means = np.bincount(members, weights=likely) / numbers
    return list(zip(means.tolist(), numbers.tolist(), strict=True))


def _sampling_distribution(count: float, records: float, tuning: Tuning) -> tuple[FloatArray, FloatArray]:
    """Return the distribution of the sampling error of a count: values and probabilities, two arrays of shape (nodes,).

    The sampled count is binomial: `records` trials with mean `count`. The error is the sampled count minus `count`.

    Args:
        count: Expected count, in records, at least 0.
        records: Number of records in the sample.
        tuning: Largest number of values, and their range.

    Returns:
        Errors in records, evenly spaced and increasing, and their probabilities, which add up to 1.
    """
    from scipy.special import gammaln, xlog1py, xlogy

    size = max(round(records), 1)
    share = min(count / max(records, 1.0), 1.0)
    reach = tuning.sampling_deviations * (sqrt(size * share * (1 - share)) + 1)
    first = max(int(size * share - reach), 0)
    last = min(int(size * share + reach) + 1, size)
    number = np.unique(np.rint(np.linspace(first, last, min(last - first + 1, tuning.most_nodes))))
    log_distribution = gammaln(size + 1) - gammaln(number + 1) - gammaln(size - number + 1)
    log_distribution = log_distribution + xlogy(number, share) + xlog1py(size - number, -share)
    distribution = np.exp(log_distribution - log_distribution.max())
    return number - count, distribution / distribution.sum()
