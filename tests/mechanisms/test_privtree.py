"""The distribution of every partition, box by box in closed form, on all tiny neighbouring data sets."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import exp, expm1, log, prod
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import chisquare
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms import AUTO, PrivTree
from dpcurves.mechanisms import thresholds as privtree
from dpcurves.mechanisms.thresholds import (
    PrivTreeParameters,
    calibrate_privtree,
    is_noisily_above_zero,
    path_sensitivity,
)
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import Boxes, CountQuery, CountUse, SplitRule, TreePartitionQuery

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Box = tuple[tuple[int, int], ...]
Partition = tuple[Box, ...]
ANY = Randomness.from_seed(0)
PURE, CONCENTRATED = PrivacyLoss.pure(1), PrivacyLoss.zcdp("0.3")
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0, 128.0)
SHAPES = [
    ((1,), (2,)), ((2,), (2,)), ((3,), (2,)), ((4,), (2,)), ((3,), (3,)), ((4,), (3,)), ((4,), (4,)), ((5,), (4,)),
    ((2, 2), (2, 2)), ((3, 2), (2, 1)), ((2, 2), (2, 3)),
]  # fmt: skip


def query(shape: tuple[int, ...], fans: tuple[int, ...], least: int) -> TreePartitionQuery:
    axes = tuple(Axis(f"x{number}", Grid(0, 1, cells=cells)) for number, cells in enumerate(shape))
    return TreePartitionQuery(axes, fans, least)


def above(score: int, scale: float) -> float:
    """The chance that discrete Laplace noise is above ``-score``, from its weights ``exp(-abs(z) / scale)``."""
    rate = 1 / scale
    all_below_zero = exp(-rate) / -expm1(-rate)  # of the integers from 1 on, as of those up to -1
    if score <= 0:
        tail = exp(-rate * (1 - score)) / -expm1(-rate)
        return tail / (1 + 2 * all_below_zero)
    return 1 - exp(-rate * score) / -expm1(-rate) / (1 + 2 * all_below_zero)


def parts(box: Box, fans: tuple[int, ...]) -> list[Box]:
    """The boxes that a box is divided into: written anew, interval by interval."""
    sides = []
    for (low, high), fan in zip(box, fans, strict=True):
        count = min(fan, high - low)
        ends = [low + (high - low) * number // count for number in range(count + 1)]
        sides.append(list(pairwise(ends)))
    return list(product(*sides))


def distribution(table: IntArray, growth: PrivTreeParameters, box: Box, depth: int = 0) -> dict[Partition, float]:
    """The chance of every partition of a box."""
    children = parts(box, growth.splitting.fans)
    if len(children) == 1:
        return {(box,): 1.0}
    count = int(table[tuple(slice(*side) for side in box)].sum())
    score = max(count - growth.threshold - depth * growth.decay, -growth.decay)
    chance = above(score, float(growth.noise.parameter))
    whole: dict[Partition, float] = {(): chance}
    for child in children:
        below = distribution(table, growth, child, depth + 1)
        whole = {(*left, *right): p * q for left, p in whole.items() for right, q in below.items()}
    return {(box,): 1 - chance, **whole}


@lru_cache(maxsize=64)
def logs(asked: TreePartitionQuery, growth: PrivTreeParameters, records: int) -> FloatArray:
    """The logarithm of the distribution, a row for each tiny data set. Missing records do not matter."""
    sets = data_sets(prod(asked.shape) + 1, records)
    present, alike = np.unique(sets[:, :-1], axis=0, return_inverse=True)
    box = tuple((0, cells) for cells in asked.shape)
    distributions = [distribution(table.reshape(asked.shape), growth, box) for table in present]
    found: FloatArray = np.log(
        np.array([[each[partition] for partition in distributions[0]] for each in distributions])
    )[alike]
    return found


def cases(loss: PrivacyLoss, adjacency: Adjacency) -> Iterator[tuple[FloatArray, FloatArray]]:
    """List for every tiny query the distributions of all data sets that have a neighbour, and of these neighbours."""
    for (shape, fans), least in product(SHAPES, (0, 1)):
        asked = query(shape, fans, least)
        chances = logs(asked, calibrate_privtree(asked, loss, adjacency), 3)
        pairs = neighbours(data_sets(prod(shape) + 1, 3), adjacency)
        yield chances[pairs[:, 0]], chances[pairs[:, 1]]


@pytest.mark.parametrize("epsilon", ["0.5", "3", "6"])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_pure_loss_is_never_exceeded_by_any_partition(adjacency: Adjacency, epsilon: str) -> None:
    worst = max(float(abs(ours - theirs).max()) for ours, theirs in cases(PrivacyLoss.pure(epsilon), adjacency))
    assert worst <= float(epsilon) + 1e-9
    assert worst > 0.45 * float(epsilon)


@pytest.mark.parametrize("rho", ["0.02", "2"])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_a_concentrated_loss_is_never_exceeded_in_any_order(adjacency: Adjacency, rho: str) -> None:
    for ours, theirs in cases(PrivacyLoss.zcdp(rho), adjacency):
        for alpha in ALPHAS:
            divergence = logsumexp(alpha * ours + (1 - alpha) * theirs, axis=1) / (alpha - 1)
            assert divergence.max() <= alpha * float(rho) + 1e-9


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_the_noise_is_never_less_than_its_sensitivity_however_little(adjacency: Adjacency) -> None:
    """In fractions: a scale that is rounded to the nearest, or down, is found for some loss of each kind."""
    asked, moves = query((8,), (2,), 0), 2 if isinstance(adjacency, ReplaceOne) else 1
    for part in range(1, 50):
        share = Fraction(part, 7)
        pure, concentrated = (
            calibrate_privtree(asked, loss, adjacency) for loss in (PURE * share, CONCENTRATED * share)
        )
        sensitivity = path_sensitivity(2, pure.splitting.height)
        lost = adjacency.unit.records * (sensitivity + moves - 1) / pure.noise.parameter
        assert lost == (PURE * share).epsilon
        squared = moves * (adjacency.unit.records * (sensitivity + 1) / concentrated.noise.parameter) ** 2 / 8
        assert squared <= (CONCENTRATED * share).rho < squared * (1 + Fraction(1, 2**35))


def worst_path(growth: PrivTreeParameters, most: int) -> tuple[float, float]:
    """The largest log ratios on a path of boxes, after a record came to before and the other way, over all counts.

    Counts do not rise on a path. It may end in a box that is not divided, or that cannot be.
    """
    scale, height = float(growth.noise.parameter), growth.splitting.height
    up, down = np.zeros(most + 1), np.zeros(most + 1)
    for depth in reversed(range(height)):
        scores = np.maximum(np.arange(most + 2) - growth.threshold - depth * growth.decay, -growth.decay).tolist()
        divided = np.diff([log(above(score, scale)) for score in scores])
        none = np.diff([log(above(1 - score, scale)) for score in scores])  # the noise is symmetric
        up = np.maximum.accumulate(np.maximum(divided + up, none))
        down = np.maximum.accumulate(np.maximum(-divided + down, -none))
    return float(up[-1]), float(down[-1])


@pytest.mark.parametrize("epsilon", ["0.2", "1", "4"])
@pytest.mark.parametrize("fan", [2, 3, 4, 9])
@pytest.mark.parametrize("cells", [2, 4, 5, 64, 100_000])
def test_no_path_however_deep_and_whatever_its_counts_loses_more(cells: int, fan: int, epsilon: str) -> None:
    for least in (0, 7):
        growth = calibrate_privtree(query((cells,), (fan,), least), PrivacyLoss.pure(epsilon), AddRemove(EACH_RECORD))
        up, down = worst_path(growth, most=least + (growth.splitting.height + 2) * growth.decay + 5)
        one = float(1 / growth.noise.parameter)
        assert up <= float(epsilon) * (1 + 1e-9)
        assert up > 0.8 * float(epsilon) or growth.decay < 4  # few decays fit what they are rounded up from
        assert down <= one * (1 + 1e-9)
        both = calibrate_privtree(query((cells,), (fan,), least), PrivacyLoss.pure(epsilon), ReplaceOne(EACH_RECORD, 9))
        up, down = worst_path(both, most=least + (both.splitting.height + 2) * both.decay + 5)
        assert up + down <= float(epsilon) * (1 + 1e-9)


def test_with_much_noise_the_sensitivity_of_a_deep_path_is_reached() -> None:
    growth = calibrate_privtree(query((2**20,), (2,), 0), PrivacyLoss.pure("0.01"), AddRemove(EACH_RECORD))
    up, _ = worst_path(growth, most=22 * growth.decay)
    assert 0.99 < up / 0.01 <= 1


class Script:
    """Decides as it is told, and notes how likely that was; first of all, no box is divided."""

    def __init__(self, taken: list[bool]) -> None:
        self.taken, self.asked, self.probability = taken, 0, 1.0

    def decide(self, scores: IntArray, noise: Noise, randomness: Randomness) -> NDArray[np.bool_]:
        decided = []
        for score in scores.tolist():
            if self.asked == len(self.taken):
                self.taken.append(False)
            decided.append(self.taken[self.asked])
            chance = above(score, float(noise.parameter))
            self.probability *= chance if decided[-1] else 1 - chance
            self.asked += 1
        return np.array(decided, dtype=np.bool_)

    def next(self) -> Script | None:
        taken = self.taken[: self.asked]
        while taken and taken[-1]:
            taken.pop()
        return Script([*taken[:-1], True]) if taken else None


def distribution_of_run(table: IntArray, plan: Plan) -> dict[frozenset[Box], float]:
    """The chance of every partition that `run` leads to, by walking all its decisions."""
    assert isinstance(plan.query, TreePartitionQuery)
    splitting = SplitRule(plan.query.shape, plan.query.fans)
    found: dict[frozenset[Box], float] = {}
    script: Script | None = Script([])
    while script is not None:
        with patch.object(privtree, "is_noisily_above_zero", script.decide):
            values = PrivTree().run(table, plan, ANY)
        assert values == tuple(int(decided) for decided in script.taken)
        leaves = as_boxes(splitting.find_leaves(values))
        assert leaves not in found
        found[leaves] = script.probability
        script = script.next()
    return found


def as_boxes(boxes: Boxes) -> frozenset[Box]:
    return frozenset(
        tuple(zip(low, high, strict=True)) for low, high in zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True)
    )


@pytest.mark.parametrize(("shape", "fans"), [*SHAPES, ((8,), (2,)), ((9,), (3,)), ((3, 3), (2, 2))])
def test_run_has_the_distribution_that_was_tested(shape: tuple[int, ...], fans: tuple[int, ...]) -> None:
    plan = PrivTree().plan(query(shape, fans, 1), PrivacyLoss.pure(2), AddRemove(EACH_RECORD))
    growth = calibrate_privtree(query(shape, fans, 1), plan.loss, plan.adjacency)
    table = np.random.default_rng(3).poisson(2, prod(shape) + 1)
    expected = distribution(table[:-1].reshape(shape), growth, tuple((0, cells) for cells in shape))
    found = distribution_of_run(table, plan)
    assert sum(found.values()) == pytest.approx(1)
    assert found == pytest.approx({frozenset(partition): chance for partition, chance in expected.items()})


def test_a_box_is_divided_as_its_noise_says_however_large_the_numbers() -> None:
    for noise, score in product((-(2**62), -3, 0, 3, 2**63 - 1), (-(2**50), -3, 0, 3, 2**50)):
        with patch.object(privtree, "sample_noise", lambda *_, drawn=noise: np.array([drawn])):
            decided = is_noisily_above_zero(np.array([score]), Noise(Family.LAPLACE, Fraction(1)), ANY)
        assert decided.tolist() == [score + noise > 0]


def test_decisions_follow_the_distribution_by_chi_square_at_four_sigma() -> None:
    """False alarm rate 6.4e-5."""
    asked = query((4,), (2,), 1)
    plan = PrivTree().plan(asked, PrivacyLoss.pure(2), AddRemove(EACH_RECORD))
    table, randomness, draws = np.array([3, 1, 0, 0, 5]), Randomness.from_seed(11), 1000
    expected = distribution_of_run(table, plan)
    seen = dict.fromkeys(expected, 0)
    for _ in range(draws):
        seen[as_boxes(SplitRule((4,), (2,)).find_leaves(AUTO.run(table, plan, randomness)))] += 1
    outcome = chisquare(list(seen.values()), [draws * chance for chance in expected.values()])
    assert outcome.pvalue > 6.4e-5


def test_missing_records_change_nothing() -> None:
    plan = PrivTree().plan(query((5,), (2,), 0), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert distribution_of_run(np.array([1, 2, 3, 4, 5, 0]), plan) == distribution_of_run(
        np.array([1, 2, 3, 4, 5, 10**12]), plan
    )


@pytest.mark.parametrize("fan", [2, 3, 4])
def test_an_empty_table_has_few_leaves_and_a_peak_is_found_to_the_cell(fan: int) -> None:
    plan = PrivTree().plan(query((100_000,), (fan,), 0), PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, 10_000))
    splitting, empty = SplitRule((100_000,), (fan,)), np.zeros(100_001, dtype=np.int64)
    sizes = [
        len(splitting.find_leaves(PrivTree().run(empty, plan, Randomness.from_seed(seed))).lower) for seed in range(50)
    ]
    assert np.mean(sizes) < 4 * fan
    peak = empty.copy()
    peak[77_777] = 10_000
    leaves = splitting.find_leaves(PrivTree().run(peak, plan, ANY))
    assert 1 in leaves.width[leaves.lower[:, 0] == 77_777]
    assert len(leaves.lower) < 200


def test_the_parts_of_a_path_cost_what_the_proof_says() -> None:
    assert path_sensitivity(2, 0) == path_sensitivity(2, 1) == 1
    assert path_sensitivity(4, 3) == 1 + 1 + Fraction(1, 7)
    assert float(path_sensitivity(2, 100)) < 3  # what the authors count
    growth = calibrate_privtree(query((64,), (2,), 0), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert growth.decay >= float(growth.noise.parameter) * log(2)


def test_the_example_of_a_plan_fits_the_query_and_tells_only_public_numbers() -> None:
    asked = query((16,), (2,), 0)
    spread = PrivTree().plan(asked, PrivacyLoss.pure(100), ReplaceOne(EACH_RECORD, 1000))
    assert len(SplitRule((16,), (2,)).find_leaves(spread.distribution.blank_values()).lower) == 16
    assert PrivTree().plan(asked, PrivacyLoss.pure(100), AddRemove(EACH_RECORD)).distribution.blank_values() == (0,)
    assert (
        PrivTree().plan(query((1,), (2,), 0), PrivacyLoss.pure(1), AddRemove(EACH_RECORD)).distribution.blank_values()
        == ()
    )


def test_what_is_no_partition_is_refused() -> None:
    who = AddRemove(EACH_RECORD)
    axes = query((4,), (2,), 0).axes
    with pytest.raises(UnsupportedQuery, match="asks for one"):
        PrivTree().plan(CountQuery(axes, CountUse.CELLS), PrivacyLoss.pure(1), who)
    with pytest.raises(UnsupportedQuery, match="above zero"):
        PrivTree().plan(query((4,), (2,), 0), PrivacyLoss.pure(1) * Fraction(0), who)
    with pytest.raises(UnsupportedQuery, match="^epsilon, rho: epsilon 1e-13 is too small to grow a partition"):
        PrivTree().plan(query((4,), (2,), 0), PrivacyLoss.pure("1e-13"), who)
    for fans, least, rule in (
        ((2, 2), 0, "^fans"),
        ((0,), 0, "^fans"),
        ((2,), -1, "^threshold"),
        ((2,), 2**51, "^threshold"),
    ):
        with pytest.raises(ValueError, match=rule):
            TreePartitionQuery(axes, fans, least)
