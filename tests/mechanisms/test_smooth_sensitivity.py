"""Noise by smooth sensitivity: the rule, the sensitivities, and the exact distribution on all tiny neighbouring data
sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import atan, exp, log, pi

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from tiny_tables import ADJACENCIES, IntArray, axes, counts, data_sets, neighbours

from dpcurves.conversation import UnsupportedQuery
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.mechanisms import NoisyAuc, NoisyMedians
from dpcurves.mechanisms import smooth_sensitivity as noisy_auc
from dpcurves.mechanisms.smooth_sensitivity import (
    LEAST_SENSITIVITY,
    CauchyCalibration,
    calibrate_cauchy,
    calibrate_cauchy_to_loss,
    find_median,
)
from dpcurves.mechanisms.smooth_sensitivity import (
    median_sensitivity as smooth_sensitivity,
)
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves.queries import AucQuery, MedianQuery

FloatArray = NDArray[np.float64]
PURE = PrivacyLoss.pure("0.8")
LOSSES = (PrivacyLoss.pure("0.3"), PURE, PrivacyLoss.pure(6), PrivacyLoss.zcdp("0.1"))
STEPS = 2**20


def allowed(loss: PrivacyLoss) -> float:
    return float(loss.epsilon) if loss.epsilon is not None else (2 * float(loss.rho)) ** 0.5


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), Fraction(3), Fraction(20)])
def test_the_rule_keeps_to_the_loss_at_every_change_of_scale_and_is_reached(epsilon: Fraction) -> None:
    rule = calibrate_cauchy(epsilon)
    worst = max(_loss(rule, ratio) for ratio in np.exp(np.linspace(0, rule.beta, 1001)))
    assert float(epsilon) * (1 - 1e-6) < worst <= float(epsilon)


def _loss(rule: CauchyCalibration, ratio: float) -> float:
    """The closed form: centres one sensitivity apart, the smaller scale being ``1 / alpha``."""
    alpha = float(rule.alpha)
    half = (alpha**2 + (ratio - 1) ** 2) / (4 * ratio)  # arcosh(1 + 2 h) = 2 arsinh(sqrt(h))
    return 2 * float(np.arcsinh(np.sqrt(half)))


def test_the_closed_form_is_the_supremum_of_log_ratios_of_densities() -> None:
    rule = calibrate_cauchy(Fraction(1, 2))
    scale, ratio = 1 / float(rule.alpha), exp(rule.beta)

    def negative(x: float) -> float:
        near = log(scale) - log(scale**2 + x**2)
        far = log(scale * ratio) - log((scale * ratio) ** 2 + (x - 1) ** 2)
        return -abs(near - far)

    found = max(-minimize_scalar(negative, bounds=ends, method="bounded").fun for ends in ((-200, 0.5), (0.5, 200)))
    assert found == pytest.approx(_loss(rule, ratio), rel=1e-6)


def test_an_epsilon_near_zero_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match=r"each number needs an epsilon of at least 2\*\*-20"):
        calibrate_cauchy(Fraction(1, 2**21))


def plain_sensitivity(cells: IntArray, beta: float) -> float:
    """From the definition: for every t, the widest window of t + 2 records that the median is in."""
    records, width = [2 * cell + 1 for cell, count in enumerate(cells) for _ in range(count)], 2 * len(cells)
    if not records:
        return float(width)

    def at(rank: int) -> int:
        return 0 if rank < 1 else width if rank > len(records) else records[rank - 1]

    middle = (len(records) + 1) // 2
    return max(
        exp(-beta * t) * max(at(middle + u) - at(middle + u - t - 1) for u in range(t + 2))
        for t in range(len(records) + 2)
    )


@pytest.mark.parametrize("beta", [0.01, 0.1, 0.5, 2.0])
def test_the_sensitivity_of_a_median_is_that_of_its_definition(beta: float) -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        cells = generator.integers(0, 4, generator.integers(1, 8))
        assert smooth_sensitivity(cells, beta) == pytest.approx(plain_sensitivity(cells, beta), rel=1e-12)


def log_sensitivity(cells: IntArray, beta: float) -> float:
    """Take the logarithm from places and ranks, pair by pair: for tables with many records."""
    total, last = int(cells.sum()), np.cumsum(cells).tolist()
    rank, held = (total + 1) // 2, np.flatnonzero(cells).tolist()
    left = [(0, 0), *((2 * c + 1, min(last[c], rank)) for c in held if last[c] - int(cells[c]) < rank)]
    right = [*((2 * c + 1, max(last[c] - int(cells[c]) + 1, rank)) for c in held if last[c] >= rank)]
    right.append((2 * len(cells), total + 1))
    return float(max(log(b - a) - beta * (j - i - 1) for a, i in left for b, j in right if b > a))


@pytest.mark.parametrize("beta", [0.01, 0.25, 0.5, 5.0, 15.0])
def test_the_sensitivity_of_a_median_of_many_records_is_found_and_never_rounded_to_nothing(beta: float) -> None:
    generator = np.random.default_rng(1)
    tables = [np.full(200, 100), np.full(1000, 10), np.array([0, 2982, 0]), np.array([10**12, 0, 10**12])]
    for scale in (3, 100, 10**4, 10**5):
        tables.extend(generator.poisson(scale * generator.random(), 60) for _ in range(10))
        tables.extend(generator.integers(0, scale, 40) * (generator.random(40) < 0.2) for _ in range(10))
    for cells in (table for table in tables if table.sum()):
        exact = max(log_sensitivity(cells, beta), log(LEAST_SENSITIVITY))
        assert log(smooth_sensitivity(cells, beta)) == pytest.approx(exact, abs=2e-12)


@pytest.mark.parametrize("cells", [[100] * 200, [0] * 10 + [2982] + [0] * 10, [0] * 10 + [2984] + [0] * 10])
def test_medians_of_crowds_still_have_noise(cells: list[int]) -> None:
    plan = NoisyMedians().plan(MedianQuery(axes(1, len(cells)), 1), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    randomness = Randomness.from_seed(8)
    assert len({NoisyMedians().run(np.array([*cells, 0]), plan, randomness) for _ in range(60)}) > 1


@pytest.mark.parametrize("beta", [0.05, 0.4, 3.0])
def test_the_sensitivity_of_a_median_bounds_every_change_and_is_smooth(beta: float) -> None:
    sets = data_sets(4, 5)
    found = {tuple(cells): (find_median(cells), smooth_sensitivity(cells, beta)) for cells in sets}
    for cells in sets[sets.sum(axis=1) < 5]:
        here, least = found[tuple(cells)]
        for more in np.eye(4, dtype=np.int64):
            there, other = found[tuple(cells + more)]
            assert abs(here - there) <= min(least, other)
            assert abs(log(least / other)) <= beta * (1 + 1e-12)


@pytest.mark.parametrize("beta", [0.05, 0.4, 3.0])
def test_the_sensitivity_of_an_area_bounds_every_change_and_is_smooth(beta: float) -> None:
    sets = data_sets(6, 4)
    for cells in sets[sets.sum(axis=1) < 4]:
        for more in np.eye(6, dtype=np.int64):
            here, there = (_area(table) for table in (cells, cells + more))
            least, other = (noisy_auc.auc_sensitivity(_smaller(table), beta) for table in (cells, cells + more))
            assert abs(here - there) <= min(least, other)
            assert abs(log(least / other)) <= beta * (1 + 1e-12)


def _area(table: IntArray) -> float:
    return float(noisy_auc.roc_area(table[:3].tolist(), table[3:].tolist()))


def _smaller(table: IntArray) -> int:
    return int(min(table[:3].sum(), table[3:].sum()))


def chance_below(edge: float, centre: float, scale: float) -> float:
    return 0.5 + atan((edge - centre) / scale) / pi


@lru_cache(maxsize=10_000)
def distribution_of_cut(cells: tuple[int, ...], rule: CauchyCalibration) -> tuple[float, ...]:
    """Chances of the edges of a piece; one without cells has one edge."""
    if not cells:
        return (1.0,)
    table = np.array(cells, dtype=np.int64)
    centre, scale = find_median(table) / 2, float(rule.noise_scale(smooth_sensitivity(table, rule.beta))) / 2
    below = [chance_below(edge - 0.5, centre, scale) for edge in range(len(cells) + 2)]
    distribution = np.diff(below)
    distribution[len(cells) // 2] += 1 - distribution.sum()
    return tuple(distribution.tolist())


@lru_cache(maxsize=10_000)
def distribution_of_cuts(cells: tuple[int, ...], rule: CauchyCalibration, levels: int) -> dict[tuple[int, ...], float]:
    """Chances of all answers, by the recursion that the docstring states."""
    if levels == 0:
        return {(): 1.0}
    distribution: dict[tuple[int, ...], float] = {}
    for cut, chance in enumerate(distribution_of_cut(cells, rule)):
        for left, of_left in distribution_of_cuts(cells[:cut], rule, levels - 1).items():
            for right, of_right in distribution_of_cuts(cells[cut:], rule, levels - 1).items():
                distribution[(*left, cut, *(cut + edge for edge in right))] = chance * of_left * of_right
    return distribution


def _worst(distributions: FloatArray, pairs: IntArray) -> float:
    logs = np.log(distributions)
    return float(abs(logs[pairs[:, 0]] - logs[pairs[:, 1]]).max())


def _rho(distributions: FloatArray, pairs: IntArray, order: float) -> float:
    """The largest divergence of Renyi, over its order: a pure loss of epsilon has ``epsilon**2 / 2`` at most."""
    one, other = np.log(distributions[pairs[:, 0]]), np.log(distributions[pairs[:, 1]])
    return float(logsumexp(order * one + (1 - order) * other, axis=1).max()) / (order - 1) / order


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_medians_lose_at_most_what_they_claim(adjacency: Adjacency, loss: PrivacyLoss, levels: int) -> None:
    sets = data_sets(5, 3)  # four cells, and missing records
    rule = calibrate_cauchy_to_loss(loss, adjacency, levels)
    distributions = np.array([list(distribution_of_cuts(tuple(table[:4]), rule, levels).values()) for table in sets])
    assert distributions.sum(axis=1) == pytest.approx(np.ones(len(sets)))
    pairs = neighbours(sets, adjacency)
    assert _worst(distributions, pairs) > allowed(loss) / 100
    assert _worst(distributions, pairs) <= levels * allowed(loss * Fraction(1, levels))
    assert max(_rho(distributions, pairs, order) for order in (1.01, 2.0, 8.0, 64.0)) <= float(loss.rho)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_areas_lose_at_most_what_they_claim(adjacency: Adjacency, loss: PrivacyLoss) -> None:
    sets = data_sets(7, 4)  # two classes in three cells, and missing records
    rule = calibrate_cauchy_to_loss(loss, adjacency, 1)
    distributions = np.array([_distribution_of_area(table[:-1], rule) for table in sets])
    worst = _worst(distributions, neighbours(sets, adjacency))
    assert allowed(loss) / 20 < worst <= allowed(loss)


def _distribution_of_area(table: IntArray, rule: CauchyCalibration) -> FloatArray:
    """Chances of some hundred intervals of steps, and of both ends."""
    scale = float(rule.noise_scale(noisy_auc.auc_sensitivity(_smaller(table), rule.beta)))
    below = [chance_below(edge, _area(table), scale) for edge in np.linspace(0, 1, 101)]
    return np.diff([0.0, *below, 1.0])


def test_medians_are_drawn_from_their_distribution() -> None:
    query, adjacency = MedianQuery(axes(1, 4), levels=2), AddRemove(EACH_RECORD)
    table = np.array([2, 0, 5, 1, 3])
    plan = NoisyMedians().plan(query, PURE, adjacency)
    distribution = distribution_of_cuts((2, 0, 5, 1), calibrate_cauchy_to_loss(PURE, adjacency, 2), 2)
    randomness, seen = Randomness.from_seed(5), dict.fromkeys(distribution, 0)
    for _ in range(4000):
        seen[NoisyMedians().run(table, plan, randomness)] += 1
    expected = 4000 * np.array(list(distribution.values()))
    statistic = ((np.array(list(seen.values())) - expected) ** 2 / expected).sum()
    assert statistic < len(distribution) + 6 * (2 * len(distribution)) ** 0.5  # false alarms: about 1e-6


def test_areas_are_drawn_from_their_distribution() -> None:
    query, adjacency = AucQuery(axes(2, 3)), AddRemove(EACH_RECORD)
    table = np.array([9, 4, 1, 2, 6, 8, 1])
    plan = NoisyAuc().plan(query, PURE, adjacency)
    randomness = Randomness.from_seed(6)
    drawn = np.array([NoisyAuc().run(table, plan, randomness)[0] for _ in range(4000)]) / STEPS
    distribution = _distribution_of_area(table[:-1], calibrate_cauchy_to_loss(PURE, adjacency, 1))
    counts, _ = np.histogram(drawn, [0, *np.linspace(0, 1, 101)[1:-1], 1 + 1e-9])
    folded = np.concatenate(
        ([distribution[0] + distribution[1]], distribution[2:-2], [distribution[-2] + distribution[-1]])
    )
    expected = 4000 * folded
    assert ((counts - expected) ** 2 / expected).sum() < 99 + 6 * (2 * 99) ** 0.5  # false alarms: about 1e-6


@pytest.mark.parametrize(
    "table", [[0] * 6 + [4], [0, 0, 0, 1, 2, 3, 0], [5, 0, 0, 0, 0, 0, 0], [10**15] * 6 + [0]], ids=str
)
def test_empty_classes_and_huge_counts_are_answered(table: list[int]) -> None:
    exact, randomness = np.array(table), Randomness.from_seed(7)
    for loss in LOSSES:
        plan = NoisyAuc().plan(AucQuery(axes(2, 3)), loss, AddRemove(EACH_RECORD))
        (value,) = NoisyAuc().run(exact, plan, randomness)
        assert 0 <= value <= STEPS
        cuts = NoisyMedians().plan(MedianQuery(axes(1, 6), 4), loss, AddRemove(EACH_RECORD))
        edges = NoisyMedians().run(exact, cuts, randomness)
        assert list(edges) == sorted(edges)
        assert len(edges) == 15
        assert 0 <= edges[0] <= edges[-1] <= 6


@pytest.mark.parametrize("mechanism", [NoisyMedians(), NoisyAuc()])
def test_other_questions_are_refused(mechanism: NoisyMedians | NoisyAuc) -> None:
    with pytest.raises(UnsupportedQuery, match="cannot answer CountQuery"):
        mechanism.plan(counts(1, 3), PURE, AddRemove(EACH_RECORD))


APART = Axis("score", Grid(0, 1, cells=3, outside=Outside.APART))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (lambda: MedianQuery(axes(1, 3), 0), "levels: a whole number from 1 to 16"),
        (lambda: MedianQuery((APART,), 2), "axes: medians need a single column"),
        (lambda: MedianQuery(axes(2, 3), 2), "axes: medians need a single column"),
        (lambda: AucQuery(axes(1, 3)), "axes: two axes are needed"),
        (lambda: AucQuery((Categories("label", (0, 1, 2)), axes(1, 3)[0])), "axes: two axes are needed"),
    ],
)
def test_queries_that_mean_nothing_are_refused(query: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        query()


def test_the_published_rule_has_too_little_noise() -> None:
    """An eighth of epsilon, and a sensitivity that changes by a factor of e to the epsilon: loses more than it says."""
    for epsilon in (0.05, 0.5, 1.0):
        published = CauchyCalibration(Fraction(epsilon) / 8, epsilon)
        assert _loss(published, exp(epsilon)) > epsilon
