"""The exact distribution of buckets by noisy costs on all tiny neighbouring tables, by summing over all noises."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp

import numpy as np
import pytest
from baselines import NoisyBuckets
from baselines.noisy_buckets import scale_of
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import UnsupportedQuery
from dpcurves.mechanisms.exponential import window_deviations
from dpcurves.noise import discrete_laplace
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves.queries import IntervalPartitionQuery

FloatArray = NDArray[np.float64]
PURE = PrivacyLoss.pure(4)
RECORDS = 3
FAR = 40  # scales are at most 2: beyond lie less than 1e-8 of a noise


def noise(scale: float) -> FloatArray:
    """Chances of -FAR, ..., FAR."""
    weights = np.exp(-np.abs(np.arange(-FAR, FAR + 1)) / scale)
    return np.asarray(weights / weights.sum())


def at_least(scale: float, bound: NDArray[np.int64]) -> FloatArray:
    """The chance that noise is not below each bound."""
    tail = np.append(np.cumsum(noise(scale)[::-1])[::-1], 0.0)
    return tail[np.clip(bound + FAR, 0, 2 * FAR + 1)]


@lru_cache(maxsize=1000)
def distribution(table: tuple[int, ...], single: float, pair: float) -> tuple[float, ...]:
    """Chances of the partitions of two cells (apart, together), or of three (apart, first two, last two)."""
    deviations = window_deviations(np.array(table)).astype(np.int64)
    values = np.arange(-FAR, FAR + 1)
    if len(table) == 2:
        apart = values[:, None] + values
        chances = noise(single)[:, None] * noise(single)
        first = float((chances * at_least(pair, apart - deviations[1, 2])).sum())  # ties go to single cells
        return first, 1 - first
    # With the noises of the first and the last cell: what else decides are three noises that are independent.
    chances = noise(single)[:, None] * noise(single)
    ends = (values[:, None], values[None, :])
    left, right = deviations[1, 2] + ends[1], deviations[1, 3] + ends[0]  # without the noise of the pair
    found = np.zeros(3)
    for own, chance in zip(values, noise(single), strict=True):
        cost = ends[0] + ends[1] + own
        found[0] += chance * float((chances * at_least(pair, cost - left) * at_least(pair, cost - right)).sum())
        # The pair at the left wins strictly below single cells, and where it equals the pair at the right.
    for own, chance in zip(values, noise(pair), strict=True):
        cost = left + own
        below_single = at_least(single, cost - ends[0] - ends[1] + 1)
        found[1] += chance * float((chances * below_single * at_least(pair, cost - right)).sum())
    found[2] = 1 - found[0] - found[1]
    return tuple(found.tolist())


@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_pure_loss_is_never_exceeded_by_any_partition(cells: int, adjacency: Adjacency) -> None:
    scales = [float(scale_of(change, PURE, adjacency)) for change in (1, 2)]
    sets = data_sets(cells + 1, RECORDS)
    logs = np.log(np.array([distribution(tuple(table), *scales) for table in sets[:, :-1].tolist()]))
    pairs = neighbours(sets, adjacency)
    worst = float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())
    assert worst <= 4 + 1e-4
    assert worst > 0.4  # and the budget is used


MOST = 60
FOUR, SUMS = np.arange(-12, 13), np.arange(-MOST, MOST + 1)
"""Noises of scale 1/4 and 1/2, beyond which lie less than 1e-10 of them, and sums of three, a little longer."""


def lesser(single: FloatArray, pair: FloatArray, own: int, deviation: int) -> FloatArray:
    """Chances of the least cost of two cells, one with the noise `own`, apart (row 0) or together (row 1)."""
    found = np.zeros((2, len(SUMS)))
    for other, chance in zip(FOUR.tolist(), single.tolist(), strict=True):
        apart, together = own + other, deviation + FOUR
        found[0, apart + MOST] += chance * float(pair[together >= apart].sum())
        np.add.at(found[1], together[together < apart] + MOST, chance * pair[together < apart])
    return found


@lru_cache(maxsize=1000)
def distribution_of_four(table: tuple[int, ...]) -> tuple[float, ...]:
    """Chances of the partitions of four cells: either half apart or together, the middle two, all four.

    Summed over the noises of the first and the last cell: the others then decide on their own. Ties go as they do to
    shorter intervals at the end of each beginning.
    """
    deviations = window_deviations(np.array(table)).astype(np.int64)
    weights = [np.exp(-np.abs(FOUR) / scale) for scale in (0.25, 0.5)]
    single, pair = (weight / weight.sum() for weight in weights)
    above = [np.array([pair[deviations[1, 3] + FOUR >= cost + more].sum() for cost in SUMS]) for more in (0, 1)]
    all_above = np.array([pair[deviations[2, 4] + FOUR >= cost].sum() for cost in SUMS])
    left, right = ([lesser(single, pair, own, deviations[1, end]) for own in FOUR.tolist()] for end in (2, 4))
    found, middle = np.zeros(6), deviations[1, 3] + FOUR
    for (first, of_first), (last, of_last) in product(enumerate(left), enumerate(right)):
        weight, ends = single[first] * single[last], FOUR[first] + FOUR[last]
        halves = np.array([[np.convolve(one, other)[MOST:-MOST] for one in of_first] for other in of_last])
        beaten = np.array([above[other][np.clip(SUMS - ends + MOST, 0, 2 * MOST)] for other in (0, 1)])
        found[:4] += weight * (halves * all_above * beaten[:, None]).sum(axis=2).ravel()
        not_less = np.cumsum(halves.sum(axis=1)[:, ::-1], axis=1)[:, ::-1]
        cost = middle + ends + MOST
        found[4] += weight * float(pair @ ((not_less[0, cost + 1] + not_less[1, cost]) * all_above[cost]))
    found[5] = 1 - found[:5].sum()
    return tuple(found.tolist())


def four(adjacency: Adjacency) -> PrivacyLoss:
    """At which noises have the scales of `distribution_of_four`."""
    return PrivacyLoss.pure(4 * adjacency.l1_sensitivity)


@pytest.mark.reproduction
@pytest.mark.quick_share(2)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_four_cells_where_the_published_partition_leaks_lose_no_more_either(adjacency: Adjacency) -> None:
    assert [scale_of(change, four(adjacency), adjacency) for change in (1, 2)] == [Fraction(1, 4), Fraction(1, 2)]
    sets = data_sets(5, RECORDS)
    logs = np.log(np.array([distribution_of_four(tuple(table)) for table in sets[:, :-1].tolist()]))
    pairs = neighbours(sets, adjacency)
    worst = float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())
    assert 1 < worst <= 4 * adjacency.l1_sensitivity + 1e-4


@pytest.mark.reproduction
def test_the_distribution_of_four_is_that_of_the_runs() -> None:
    """Four sigma: false alarm rate 6.3e-5 for each of six partitions."""
    query, adjacency, table = IntervalPartitionQuery(axes(1, 4), range(4)), AddRemove(EACH_RECORD), (1, 1, 2, 1)
    plan = NoisyBuckets().plan(query, four(adjacency), adjacency)
    outcomes = [(1, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 0), (1, 0, 1, 0), (1, 1, 0, 1), (1, 0, 0, 0)]
    randomness = Randomness.from_seed(3)
    runs = [NoisyBuckets().run(np.array([*table, 9]), plan, randomness) for _ in range(4000)]
    for outcome, chance in zip(outcomes, distribution_of_four(table), strict=True):
        assert abs(runs.count(outcome) / 4000 - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)


def test_the_distribution_is_that_of_the_runs() -> None:
    """Four sigma: false alarm rate 6.3e-5 for each of three partitions."""
    query, adjacency, table = IntervalPartitionQuery(axes(1, 3), range(3)), AddRemove(EACH_RECORD), (2, 0, 1)
    plan = NoisyBuckets().plan(query, PURE, adjacency)
    randomness, outcomes = Randomness.from_seed(2), [(1, 1, 1), (1, 0, 1), (1, 1, 0)]
    runs = [NoisyBuckets().run(np.array([*table, 9]), plan, randomness) for _ in range(4000)]
    for outcome, chance in zip(outcomes, distribution(table, 0.25, 0.5), strict=True):
        assert abs(runs.count(outcome) / 4000 - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000)


def test_a_cheapest_partition_is_found() -> None:
    """Next to no noise; a toll of 1 keeps equal cells together."""
    query = IntervalPartitionQuery(axes(1, 9), range(9))
    plan = NoisyBuckets(1).plan(query, PrivacyLoss.pure(1000), AddRemove(EACH_RECORD))
    table = np.array([7, 7, 7, 7, 30, 90, 90, 1, 2, 0])
    assert NoisyBuckets(1).run(table, plan, Randomness.from_seed(0)) in {
        (1, 0, 0, 0, 1, 1, 0, 1, 1), (1, 0, 0, 0, 1, 1, 0, 1, 0)
    }  # fmt: skip


def test_a_concentrated_loss_buys_the_epsilon_that_it_implies() -> None:
    scale = scale_of(1, PrivacyLoss.zcdp("0.5"), AddRemove(EACH_RECORD))
    assert scale == 1
    assert exp(-1 / scale) == pytest.approx(exp(-1))


def test_what_it_cannot_do_is_refused() -> None:
    adjacency, query = AddRemove(EACH_RECORD), IntervalPartitionQuery(axes(1, 8), range(8))
    with pytest.raises(UnsupportedQuery, match="noisy buckets"):
        NoisyBuckets().plan(counts(1, 8), PURE, adjacency)
    for loss in (PURE * Fraction(0), PrivacyLoss.pure("1e-17")):
        with pytest.raises(UnsupportedQuery, match="more noise"):
            NoisyBuckets().plan(query, loss, adjacency)
    with pytest.raises(ValueError, match="toll"):
        NoisyBuckets(-1)
    with pytest.raises(ValueError, match="toll"):
        NoisyBuckets(2**62)
    assert discrete_laplace.LARGEST_SCALE >= 2**54
