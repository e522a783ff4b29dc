"""U-statistics of released curves: those of the records where noise is small, and unbiased where it is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import dpcurves as dp
from dpcurves.arrays import FloatArray
from dpcurves.noise import Randomness
from dpcurves.summaries.kernels import (
    extreme_mean_differences,
    half_square_kernel,
    kernel_from_function,
    mean_difference_kernel,
    mean_over_pairs,
    same_cell_kernel,
)

GRID = dp.Grid(0, 1, cells=128)


def pairs(values: FloatArray, function: object) -> float:
    """The mean over all pairs of different people, one by one."""
    table = function(values[:, None], values[None, :])  # type: ignore[operator]
    return float((table.sum() - np.diag(table).sum()) / (len(values) * (len(values) - 1)))


def released(values: FloatArray, epsilon: float, seed: int, grid: dp.Grid = GRID) -> dp.CDF:
    table = {"x": values}
    adjacency = dp.REPLACE_ONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)
        with dp.Session(
            table, budget=dp.PrivacyLoss.pure(10**9), adjacency=adjacency, randomness=Randomness.from_seed(seed)
        ) as session:
            curve: dp.CDF = session.ask(dp.CdfQuestion("x", grid, hint=dp.Hint.ATOMS), dp.PrivacyLoss.pure(epsilon))
            return curve


def test_quadratic_forms_are_means_over_pairs_of_different_people() -> None:
    chance = np.random.default_rng(1)
    edges = np.sort(chance.random(9))
    counts = chance.integers(0, 5, 8).astype(float)
    middles = np.repeat((edges[1:] + edges[:-1]) / 2, counts.astype(int))
    cells = np.repeat(np.arange(8), counts.astype(int)).astype(float)
    assert mean_over_pairs(same_cell_kernel(np.ones(8, dtype=np.int64)), counts) == pytest.approx(
        pairs(cells, np.equal)
    )
    linear = kernel_from_function(lambda x, y: x + y)(edges)
    assert mean_over_pairs(linear, counts) == pytest.approx(pairs(middles, np.add))
    both = np.stack([counts, 2 * counts])
    assert mean_over_pairs(linear, both).shape == (2,)


def test_forms_in_a_few_steps_are_those_of_all_means() -> None:
    chance = np.random.default_rng(14)
    edges, parts = np.cumsum(chance.random(13)), chance.integers(1, 5, 12)
    cells = 50 * chance.standard_normal((4, 12)) + 20
    cells[1] = 0
    cells[2] -= cells[2].mean()
    for kernel in (mean_difference_kernel(edges), half_square_kernel(edges), same_cell_kernel(parts)):
        by_all = kernel._replace(fast_form=None).quadratic_form(cells)
        assert kernel.quadratic_form(cells) == pytest.approx(by_all, rel=1e-9, abs=1e-6)
        assert kernel.quadratic_form(cells[3]) == pytest.approx(by_all[3])


@pytest.mark.parametrize(
    ("kernel", "function"),
    [(mean_difference_kernel, lambda x, y: abs(x - y)), (half_square_kernel, lambda x, y: (x - y) ** 2 / 2)],
    ids=["mean difference", "half square"],
)
def test_means_over_cells_are_integrals_and_no_value_is_further_off_than_their_reach(kernel, function) -> None:  # type: ignore[no-untyped-def]
    chance = np.random.default_rng(2)
    edges = np.array([0.0, 0.5, 0.75, 2.0])
    of_cells = kernel(edges)
    for left in range(3):
        for right in range(3):
            x = edges[left] + np.diff(edges)[left] * chance.random(40_000)
            y = edges[right] + np.diff(edges)[right] * chance.random(40_000)
            seen = function(x, y)
            assert abs(seen.mean() - of_cells.mean[left, right]) < 4 * seen.std() / 200
            assert np.abs(seen - of_cells.mean[left, right]).max() <= of_cells.max_deviation[left, right] + 1e-12
            at = [function(a, b) for a in edges[left : left + 2] for b in edges[right : right + 2]]
            assert max(np.abs(seen - of_cells.mean[left, right]).max(), 0) >= 0.5 * of_cells.max_deviation[left, right]
            assert max(at) >= seen.max() - 1e-12


def test_without_noise_they_are_those_of_the_records() -> None:
    values = np.random.default_rng(3).beta(2, 5, 400)
    curve = released(values, 1e8, 1)
    for found, exact in (
        (dp.gini_mean_difference(curve), pairs(values, lambda x, y: abs(x - y))),
        (dp.sample_variance(curve), values.var(ddof=1)),
        (dp.u_statistic(curve, np.maximum), pairs(values, np.maximum)),
        (dp.gini_coefficient(curve), pairs(values, lambda x, y: abs(x - y)) / (2 * values.mean())),
        (dp.collision_probability(curve), pairs(GRID.cell_of(values).astype(float), np.equal)),
    ):
        assert abs(found.value - exact) <= found.resolution + 1e-6
        low, high = found.interval(0.95)
        assert low <= exact <= high
        assert high - low <= 2 * found.resolution + 1e-5
    entropy = dp.renyi2_entropy(curve)
    assert entropy.value == pytest.approx(-np.log(dp.collision_probability(curve).value))


def test_wide_cells_that_hold_nobody_leave_nothing_of_a_gini_coefficient_open() -> None:
    values = np.random.default_rng(9).lognormal(10, 0.7, 2000)
    curve = released(values, 1e8, 1, dp.Grid.geometric(500, 10_000_000, cells=400))
    found, exact = dp.gini_coefficient(curve), pairs(values, lambda x, y: abs(x - y)) / (2 * values.mean())
    low, high = found.interval(0.95)
    assert low <= exact <= high < low + 0.05


def test_an_area_is_that_of_scipy_and_ties_count_half() -> None:
    chance = np.random.default_rng(4)
    low, high = chance.integers(0, 128, 300) / 128, np.minimum(chance.integers(20, 160, 200) / 128, 127 / 128)
    exact = mannwhitneyu(high, low).statistic / (len(low) * len(high))
    area = dp.area_between(released(low, 1e8, 1), released(high, 1e8, 2))
    assert area.value == pytest.approx(exact, abs=1e-6)
    ends = area.interval(0.95)
    assert ends[0] <= exact <= ends[1]
    same = dp.area_between(released(np.full(50, 0.3), 1e8, 1), released(np.full(70, 0.3), 1e8, 2))
    assert np.isnan(same.value)  # all lie in one cell, where no order is known
    assert same.interval(0.95) == (0.0, 1.0)


@pytest.mark.reproduction
def test_noise_leaves_no_bias_and_intervals_hold() -> None:
    """Over 40 releases the mean error is within 4 sigma, and at most 12 intervals of 90% miss: but once in 10,000."""
    values, grid = np.random.default_rng(5).beta(2, 5, 600), dp.Grid(0, 1, cells=32)
    exact, errors, missed = values.var(ddof=1), [], 0
    for seed in range(40):
        found = dp.sample_variance(released(values, 0.5, seed, grid))
        errors.append(found.value - exact)
        low, high = found.interval(0.9)
        missed += not low <= exact <= high
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 40**0.5
    assert missed <= 12


def test_an_interval_for_the_population_is_wider() -> None:
    curve = released(np.random.default_rng(6).beta(2, 5, 500), 2, 1)
    other = released(np.random.default_rng(7).beta(3, 5, 500), 2, 2)
    for found in (dp.gini_mean_difference(curve), dp.area_between(curve, other)):
        records, population = found.interval(0.9), found.interval(0.9, population=True)
        assert population[1] - population[0] > records[1] - records[0]


def test_two_samples_are_drawn_apart_from_each_other() -> None:
    """An area between two samples of one distribution scatters as Mann and Whitney say."""
    values = np.random.default_rng(10).random(400)
    area = dp.area_between(released(values, 1e8, 1), released(values, 1e8, 2))
    low, high = area.interval(0.9, population=True)
    expected = 2 * 1.645 * np.sqrt(801 / 12 / 400**2)
    assert high - low - 2 * area.resolution == pytest.approx(expected, rel=0.15)


def test_what_few_people_decide_is_held_for_the_population() -> None:
    """About one of 1,000 people lies at the other end: of 24 intervals of 90% more than 15 hold (4 sigma)."""
    held = 0
    for seed in range(24):
        far = np.random.default_rng(seed).random(1000) < 0.001
        found = dp.sample_variance(released(np.where(far, 0.98, 0.0), 30, seed, dp.Grid(0, 1, cells=64)))
        low, high = found.interval(0.9, population=True)
        held += low <= 0.001 * 0.999 * 0.98**2 <= high
    assert held > 15


def test_statistics_stay_where_they_can_lie_and_keep_what_was_remarked() -> None:
    values = np.where(np.random.default_rng(12).random(300) < 0.97, 0.0, 0.9)
    curve = released(values, 0.2, 1)
    for found in (dp.gini_coefficient(curve), dp.collision_probability(curve), dp.area_between(curve, curve)):
        low, high = found.interval(0.99, population=True)
        assert 0 <= low <= high <= 1
        assert (found.notes, found.privacy) == (curve.notes, curve.privacy)


def test_kernels_that_are_none_are_refused() -> None:
    curve = released(np.random.default_rng(13).random(100), 10, 1)
    with pytest.raises(TypeError, match="^kernel: "):
        dp.u_statistic(curve, 3)  # type: ignore[arg-type]
    for kernel in (lambda x, y: x - 2 * y, lambda x, y: 1 / (x + y)):
        with np.errstate(divide="ignore"), pytest.raises(ValueError, match="^kernel: "):
            dp.u_statistic(curve, kernel)


def test_cells_that_were_counted_together_leave_collisions_open() -> None:
    values = np.random.default_rng(11).beta(2, 5, 300)
    fine, coarse = (dp.collision_probability(released(values, 1e8, 1, dp.Grid(0, 1, cells=each))) for each in (2048, 8))
    assert fine.resolution > 0 == coarse.resolution
    exact = pairs(np.floor(values * 2048), np.equal)
    low, high = fine.interval(0.9)
    assert low <= exact <= high


@pytest.mark.parametrize("seed", range(6))
def test_no_values_in_their_cells_have_a_mean_difference_beyond_its_ends(seed: int) -> None:
    """All ways of laying up to seven people at three places of their cells; the ends are reached, but for halves."""
    chance = np.random.default_rng(seed)
    edges, counts = np.cumsum(chance.random(4)), chance.integers(1, 4, 3)
    if counts.sum() > 7:
        counts = np.array([2, 2, 2])
    low, high = np.repeat(edges[:-1], counts), np.repeat(edges[1:], counts)
    laid = np.stack(np.meshgrid(*[np.linspace(0, 1, 3)] * len(low), indexing="ij"), axis=-1).reshape(-1, len(low))
    values = low + laid * (high - low)
    differ = np.abs(values[:, :, None] - values[:, None]).mean(axis=(1, 2))
    least, most = extreme_mean_differences(edges, counts / counts.sum())
    assert least[0] == pytest.approx(differ.min())
    assert differ.max() <= most[0] + 1e-12 <= differ.max() + np.diff(edges).max() / len(low)
    for times in (0.2, differ.mean()):
        least, most = extreme_mean_differences(edges, counts / counts.sum(), times)
        objective = differ - 2 * times * values.mean(axis=1)
        assert least[0] - 2 * times * least[1] <= objective.min() + 1e-12
        assert most[0] - 2 * times * most[1] >= objective.max() - 1e-12


def test_gini_of_values_that_lie_as_badly_as_they_can_is_in_its_interval_and_it_is_half_as_wide_as_cells() -> None:
    """Lower half at the low ends of their cells and upper half at the high ones: nothing else is as far off."""
    cells, width = 64, 1.0
    of = np.random.default_rng(3).integers(1, cells, 4000)
    values = np.where(of < cells / 2, of, of + width * (1 - 1e-9))
    curve = released(values, 1e6, 1, dp.Grid(0, cells, cells=cells))
    found, exact = dp.gini_mean_difference(curve), pairs(values, lambda x, y: np.abs(x - y))
    low, high = found.interval(0.9)
    assert low <= exact <= high
    assert exact > high - 0.1 * width
    assert high - low < 1.2 * width  # twice the half width of a cell; each pair alone could be off by a whole one
    coefficient = dp.gini_coefficient(curve)
    low, high = coefficient.interval(0.9)
    assert low <= exact / (2 * values.mean()) <= high
    assert high - low < 1.2 * width / (2 * values.mean()) * 1.5


def test_people_who_trust_nobody_have_them_too() -> None:
    values = np.random.default_rng(8).beta(2, 5, 30_000)
    task = dp.local.Task(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(3), people=30_000)
    collection = dp.local.Collection(task)
    collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(1)))
    found = dp.gini_mean_difference(collection.curve())
    ordered = np.sort(values)
    ranks = 2 * np.arange(1, len(values) + 1) - len(values) - 1
    exact = 2 * float(ranks @ ordered) / (len(values) * (len(values) - 1))
    assert abs(found.value - exact) < 0.02
    low, high = found.interval(0.99)
    assert low <= exact <= high


def test_what_can_not_be_read_is_refused() -> None:
    values = np.random.default_rng(9).random(100)
    apart = released(values, 10, 1, dp.Grid(0, 1, cells=8, outside=dp.Outside.APART))
    with pytest.raises(ValueError, match="^curve: "):
        dp.gini_mean_difference(apart)
    below = released(values, 10, 1, dp.Grid(-1, 1, cells=8))
    with pytest.raises(ValueError, match="^curve: "):
        dp.gini_coefficient(below)
    with pytest.raises(TypeError, match="^curve: "):
        dp.sample_variance(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^second: "):
        dp.area_between(below, apart)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_statistic_of_few_records_lies_in_its_interval_or_is_not_known(seed: int) -> None:
    """Before, a variance of values from 0 to 20 was 385 with the interval 2 to 206, and intervals were 0 to 0."""
    for people in (20, 150):
        values = np.random.default_rng(seed).gamma(3, 2, people)
        curve = dp.cdf(
            values, grid=dp.Grid(0, 20, cells=50), epsilon=0.1, adjacency=dp.ADD_REMOVE,
            randomness=dp.Randomness.from_seed(seed),
        )  # fmt: skip
        for statistic in (dp.gini_mean_difference(curve), dp.sample_variance(curve), dp.u_statistic(curve, np.maximum)):
            assert statistic.maximum < 210  # the variance of two people, one at each end, is 200
            for population in (False, True):
                low, high = statistic.interval(0.9, population=population)
                assert low < high
                assert np.isnan(statistic.value) or low <= statistic.value <= high
