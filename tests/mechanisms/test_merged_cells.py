"""The exact distribution of merged cells on all tiny neighbours, with ties, empty cells and leftovers; and what is
drawn."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import ceil

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Noise
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.thresholds import MergedCells, calibrate_merge_noise, mark_interval_ends
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import MergePartitionQuery

FloatArray = NDArray[np.float64]
PURE = PrivacyLoss.pure("1.2")
FAR = 60  # scales; what is beyond has a chance below exp(-60)


@lru_cache(maxsize=100_000)
def interval(counts: tuple[int, ...], ended: bool, least: int, noise: Noise) -> float:
    """The chance that these cells are joined, and that the last one ends the interval or does not: over its number."""
    rate = 1 / float(noise.parameter)
    common = np.arange(-ceil(FAR / rate), ceil(FAR / rate) + 1)
    need = least + common - np.cumsum(counts)[:, None]
    tail = np.exp(-rate * np.where(need > 0, need, 1 - need)) / (1 + np.exp(-rate))
    reached = np.where(need > 0, tail, 1 - tail)
    said = 1 - reached
    if ended:
        said[-1] = reached[-1]
    return float(np.prod(said, axis=0) @ np.exp(-rate * abs(common))) * float(np.tanh(rate / 2))


def distribution(table: tuple[int, ...], least: int, noise: Noise) -> FloatArray:
    """The chance of each answer, all tuples of 0 and 1: a product over intervals."""
    chances = []
    for answer in product((0, 1), repeat=len(table)):
        cuts = [0, *(place + 1 for place, said in enumerate(answer) if said)]
        joined = [interval(table[start:stop], True, least, noise) for start, stop in pairwise(cuts)]
        left = [interval(table[cuts[-1] :], False, least, noise)] if cuts[-1] < len(table) else []
        chances.append(float(np.prod([*joined, *left])))
    assert sum(chances) == pytest.approx(1, abs=1e-12)
    assert np.exp(-FAR) < 1e-12 * min(chances)  # what was left out cannot matter
    return np.array(chances)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_no_answer_loses_more_than_is_claimed(cells: int, least: int, adjacency: Adjacency) -> None:
    sets = data_sets(cells + 1, 3)
    different, alike = np.unique(sets[:, :-1], axis=0, return_inverse=True)
    noise = calibrate_merge_noise(PURE, adjacency)
    logs = np.log([distribution(tuple(row), least, noise) for row in different.tolist()])[alike.ravel()]
    pairs = neighbours(sets, adjacency)
    found = float(np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())
    assert 0.1 < found <= 1.2 + 1e-9


def test_the_loss_nears_the_claim() -> None:
    """One record more in a cell that all but never reaches."""
    noise = calibrate_merge_noise(PURE, AddRemove(EACH_RECORD))
    few, more = (distribution((0, n), 14, noise)[1] for n in (0, 1))  # ends behind the last cell
    assert 0.85 * 1.2 < np.log(more / few) <= 1.2 + 1e-9


def test_the_published_noise_is_halved_where_the_number_of_records_is_private() -> None:
    assert float(calibrate_merge_noise(PURE, AddRemove(EACH_RECORD)).parameter) == pytest.approx(1 / 1.2)
    assert float(calibrate_merge_noise(PURE, ReplaceOne(EACH_RECORD, 9)).parameter) == pytest.approx(2 / 1.2)
    concentrated = calibrate_merge_noise(PrivacyLoss.zcdp("0.5"), AddRemove(EACH_RECORD))
    assert concentrated.parameter >= 1
    assert float(concentrated.parameter) == pytest.approx(1)


def test_drawn_answers_have_the_enumerated_distribution_at_four_sigma() -> None:
    """False alarm rate 6.4e-5."""
    plan = MergedCells().plan(MergePartitionQuery(axes(1, 3), 3), PURE, AddRemove(EACH_RECORD))
    table, draws, randomness = (2, 1, 3), 2500, Randomness.from_seed(3)
    seen = dict.fromkeys(product((0, 1), repeat=3), 0)
    for _ in range(draws):
        seen[MergedCells().run(np.array([*table, 50]), plan, randomness)] += 1
    expected = distribution(table, 3, calibrate_merge_noise(PURE, AddRemove(EACH_RECORD)))
    assert chisquare(list(seen.values()), draws * expected).pvalue > 6.4e-5


def test_noise_of_the_number_is_fresh_for_each_interval() -> None:
    zeros = [0] * 5
    assert list(mark_interval_ends([1, 2, 3, 0, 9], 3, zeros, zeros)) == [0, 1, 1, 0, 1]
    assert list(mark_interval_ends([1, 2, 3, 0, 9], 3, zeros, [5, -99, 7, -99, -99])) == [0, 0, 0, 0, 1]
    assert list(mark_interval_ends([1, 2, 3, 0, 9], 3, zeros, [0, 0, 0, 99, 0])) == [0, 1, 1, 0, 0]
    assert list(mark_interval_ends([1, 2, 3, 0, 9], 3, [9, 0, -9, -9, -99], zeros)) == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_without_noise_intervals_hold_enough(adjacency: Adjacency) -> None:
    plan = AUTO.plan(MergePartitionQuery(axes(1, 5), 4), PrivacyLoss.pure(10**9), adjacency)
    assert plan.distribution.blank_values() == (1, 1, 1, 1, 1)
    assert AUTO.run(np.array([1, 3, 0, 5, 2, 99]), plan, Randomness.from_seed(1)) == (0, 1, 0, 1, 0)


def test_what_it_cannot_do_is_refused() -> None:
    who = AddRemove(EACH_RECORD)
    with pytest.raises(UnsupportedQuery, match="cannot answer"):
        MergedCells().plan(counts(1, 3), PURE, who)
    for loss in (PURE * Fraction(0), PrivacyLoss.zcdp("1e-30"), PrivacyLoss.pure("1e-20")):
        with pytest.raises(UnsupportedQuery, match="above zero|more noise"):
            MergedCells().plan(MergePartitionQuery(axes(1, 3), 3), loss, who)
    with pytest.raises(ValueError, match="^min_records: "):
        MergePartitionQuery(axes(1, 3), 0)
    with pytest.raises(ValueError, match="^axes: "):
        MergePartitionQuery(axes(2, 3), 1)
    with pytest.raises(TypeError, match="merged cells"):
        MergedCells().run(np.zeros(4, dtype=np.int64), AUTO.plan(counts(1, 3), PURE, who), Randomness.from_seed(1))
