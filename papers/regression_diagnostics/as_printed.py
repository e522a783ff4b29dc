"""NOT PRIVATE. The first stage of DAWA as its reference code has it, to reproduce tables that were made with it.

Intervals of two cells or more get noise, single cells none, and noisy costs are cut below; so the partition loses more
than it says, and the more the more cells there are: see `docs/errata.md`. The package has two partitions that keep
their promise. Nothing here is for data of persons.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import compile_loop
from dpcurves.distributions import Family, IntervalSums, Noise, Tier, least_squares_batch
from dpcurves.histograms.table_estimator import order_by_proximity
from dpcurves.mechanisms.tree_strategy import find_best_shape

Floats = NDArray[np.float64]
IN_LINE, IN_PLANE = 0.5, 0.25
"""What part of epsilon the reference code spends on the partition, along one axis and in a plane."""
GROUP = 32
FEW = 200


def estimate_not_private(counts: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Estimated counts of the cells of a line or a plane: a partition as printed, and noisy counts of its intervals.

    In the second stage the reference code weighs a binary tree of intervals. Here along one axis it is the tree that
    dpcurves would take for prefixes. In a plane, where intervals are many, groups of `GROUP` of them are counted for a
    third of the budget, and both levels are read by least squares. That is about as good: of random rectangles at
    epsilon 1, the root mean squared error of its noise is 22.5 with 859 intervals and 24.6 with 1003, of the weighed
    tree 22.6 and 23.4, and if intervals are counted alone 31.3 and 35.8.
    """
    choice = IN_LINE if counts.ndim == 1 else IN_PLANE
    order = order_by_proximity(counts.shape)
    row = counts.ravel()[order].astype(np.float64)
    begins = partition_not_private(row, choice * epsilon, (1 - choice) * epsilon, generator)
    count = _totals_in_line if counts.ndim == 1 else _totals_in_plane
    totals = count(np.add.reduceat(row, begins), (1 - choice) * epsilon, generator)
    widths = np.diff(np.append(begins, len(row)))
    estimate = np.empty(len(row))
    estimate[order] = np.repeat(totals / widths, widths)
    reshaped: Floats = estimate.reshape(counts.shape)
    return reshaped


def _totals_in_line(exact: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Noisy counts of intervals, with those of a tree over them."""
    leaves = 1 << (len(exact) - 1).bit_length()
    levels, values = list[Tier](), list[Floats]()
    for width, share in zip(*find_best_shape(1, leaves, 1, Family.LAPLACE, total_is_public=False), strict=True):
        starts, noise = range(0, len(exact), width), Noise(Family.LAPLACE, 1 / share / Fraction(epsilon))
        levels.append(Tier(starts, noise))
        values.append(np.add.reduceat(exact, starts) + generator.laplace(0, float(noise.parameter), len(starts)))
    cells, _ = least_squares_batch(IntervalSums(1, len(exact), tuple(levels), None), np.concatenate(values), None)
    return np.asarray(cells[0])


def _totals_in_plane(exact: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
    """Noisy counts of intervals, on one level or two."""
    if len(exact) < FEW:
        return np.asarray(exact + generator.laplace(0, 1 / epsilon, len(exact)))
    first = np.arange(0, len(exact), GROUP)
    fine = exact + generator.laplace(0, 1.5 / epsilon, len(exact))
    coarse = np.add.reduceat(exact, first) + generator.laplace(0, 3 / epsilon, len(first))
    sizes = np.diff(np.append(first, len(exact)))
    # What a group has more than its members is shared by them, as far as its noise is less than theirs together.
    surplus = (coarse - np.add.reduceat(fine, first)) / (sizes + 4)
    return np.asarray(fine + np.repeat(surplus, sizes))


def partition_not_private(
    row: Floats, epsilon: float, epsilon_of_counts: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """First places of the intervals with the least sum of noisy costs; of equal ones the longer interval."""
    return _cheapest(noisy_costs(row, epsilon, epsilon_of_counts, generator))


def noisy_costs(row: Floats, epsilon: float, epsilon_of_counts: float, generator: np.random.Generator) -> Floats:
    """Distances from the mean of the ``2**k`` cells before place i, in row k at i, with noise where k is above 0."""
    return np.stack(list(_costs(row, epsilon, epsilon_of_counts, generator)))


def _costs(row: Floats, epsilon: float, epsilon_of_counts: float, generator: np.random.Generator) -> Iterator[Floats]:
    cells = len(row)
    for power in range(cells.bit_length()):
        length = 1 << power
        cost = _deviations(row.astype(np.float64), length) + 1 / epsilon_of_counts
        if length > 1:  # single cells have no noise: this is what breaks the promise
            cost += generator.laplace(0, (2 - 1 / length - 1 / cells) / epsilon, cells + 1)
        yield np.maximum(cost, 1 / epsilon_of_counts)


@compile_loop
def _deviations(row: Floats, length: int) -> Floats:
    """Sums of absolute distances from the mean, window by window."""
    found = np.zeros(len(row) + 1)
    for end in range(length, len(row) + 1):
        mean = 0.0
        for place in range(end - length, end):
            mean += row[place] / length
        for place in range(end - length, end):
            found[end] += abs(row[place] - mean)
    return found


@compile_loop
def _cheapest(costs: Floats) -> NDArray[np.int64]:
    places = costs.shape[1] - 1
    least, chosen = np.zeros(places + 1), np.zeros(places + 1, dtype=np.int64)
    for place in range(1, places + 1):
        least[place] = np.inf
        for power in range(len(costs)):
            if (1 << power) > place:
                break
            cost = least[place - (1 << power)] + costs[power, place]
            if cost <= least[place]:
                least[place], chosen[place] = cost, power
    begins, place = np.zeros(places + 1, dtype=np.int64), places
    count = 0
    while place > 0:
        place -= 1 << chosen[place]
        begins[count] = place
        count += 1
    return begins[:count][::-1].copy()
