"""Posterior mean splits, against the same told node by node; and whatever is released."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, just, sampled_from
from numpy.typing import NDArray
from plain_splits import plain_estimate

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions.interval_sums import least_squares
from dpcurves.estimation.binary_tree import ROOT, DyadicLayout, Measurements, merge_measurements
from dpcurves.estimation.empirical_bayes import TreeEstimate, estimate_tree, least_squares_total, reestimate_tree
from dpcurves.strategies.prefixes import first_tilings

Layout = Callable[[int], DyadicLayout]
LAYOUTS = [DyadicLayout.from_cells, DyadicLayout.from_cells_with_ends]
Counts = NDArray[np.int64]


def turn(layout: DyadicLayout, noise: Noise, depths: tuple[int, ...] | None = None) -> IntervalSums:
    tilings = first_tilings(layout) if depths is None else [
        tuple(np.sort(layout.begin[layout.nodes_at_depth(depth)]).tolist()) for depth in depths
    ]  # fmt: skip
    return IntervalSums(1, layout.cells, tuple(Tier(starts, noise) for starts in tilings), missing=None)


def released(distribution: IntervalSums, truth: Counts, seed: int) -> Counts:
    sums = [np.add.reduceat(truth, np.asarray(level.starts)) for level in distribution.levels]
    noise = distribution.simulate_values(1, np.random.default_rng(seed))[0]
    values: Counts = np.concatenate(sums) + noise.astype(np.int64)
    return values


def data(cells: int) -> dict[str, Counts]:
    values = np.random.default_rng(cells).normal(0.6 * cells, cells / 20, 900).clip(0, cells - 1).astype(np.int64)
    one, ends = np.zeros((2, cells), dtype=np.int64)
    one[cells // 3] = 700
    ends[[0, -1]] = 300, 500
    nothing, even = np.zeros(cells, dtype=np.int64), np.full(cells, 5)
    normal = np.bincount(values, minlength=cells)
    return {"even": even, "one cell": one, "nothing": nothing, "normal": normal, "ends": ends}


def sound(splits: TreeEstimate, total: float) -> None:
    assert splits.cells.shape == (splits.layout.cells,)
    assert np.all(splits.cells >= 0)
    assert splits.cells.sum() == pytest.approx(max(total, 0), abs=1e-6 * max(1, abs(total)))
    assert np.all(np.isfinite(splits.variance))
    assert np.all(splits.variance >= 0)


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 16, 23, 64])
@pytest.mark.parametrize("make", LAYOUTS)
def test_the_estimate_is_the_one_told_node_by_node(make: Layout, cells: int, family: Family) -> None:
    layout = make(cells)
    for number, truth in enumerate(data(cells).values()):
        for parameter in (Fraction(1, 2), Fraction(40)):
            first = turn(layout, Noise(family, parameter))
            second = turn(layout, Noise(family, parameter / 3), (layout.depth // 2,))
            known = merge_measurements(
                layout, [(distribution, released(distribution, truth, number)) for distribution in (first, second)]
            )
            found, total = estimate_tree(known, truth.sum()), float(truth.sum())
            counts, variance, even = plain_estimate(known, total)
            real = layout.width > 0
            np.testing.assert_allclose(found.counts[real], counts[real], atol=1e-7 * max(total, 1))
            np.testing.assert_allclose(found.variance[real], variance[real], atol=1e-6 * max(total, 1) ** 2)
            assert found.even_probability == pytest.approx(even, abs=1e-6)


@settings(max_examples=40)
@given(
    family=sampled_from(Family),
    cells=integers(1, 120) | just(1000),
    make=sampled_from(LAYOUTS),
    total=floats(-10, 1e4) | sampled_from([0.0, 1e-3, 1e15]),
)
def test_whatever_is_released_counts_are_not_negative_and_add_up(
    make: Layout, cells: int, family: Family, total: float
) -> None:
    layout = make(cells)
    distributions = [turn(layout, Noise(family, parameter)) for parameter in (Fraction(1, 1000), Fraction(10**12))]
    wild = np.random.default_rng(cells).integers(-(10**12), 10**12, distributions[0].size)
    for values in (np.zeros(distributions[0].size, dtype=np.int64), wild, np.full(distributions[0].size, 10**15)):
        for together in (distributions[:1], distributions[1:], distributions):
            sound(
                estimate_tree(merge_measurements(layout, [(distribution, values) for distribution in together]), total),
                total,
            )


@given(cells=integers(1, 100), make=sampled_from(LAYOUTS))
def test_before_anything_is_known_all_cells_are_alike(make: Layout, cells: int) -> None:
    found = estimate_tree(Measurements.empty(make(cells)), 50)
    np.testing.assert_allclose(found.cells, 50 / cells)


@pytest.mark.parametrize("make", LAYOUTS)
@pytest.mark.parametrize("family", Family)
def test_without_noise_the_estimate_is_the_truth(family: Family, make: Layout) -> None:
    layout = make(100)
    distribution = turn(layout, Noise(family, Fraction(1, 10**6)))
    for truth in data(100).values():
        found = estimate_tree(
            merge_measurements(layout, [(distribution, released(distribution, truth, 1))]), truth.sum()
        )
        np.testing.assert_allclose(found.cells, truth, atol=1e-5)
        assert found.variance.max() < 1e-3


def test_in_much_noise_cells_are_alike() -> None:
    layout = DyadicLayout.from_cells(64)
    distribution = turn(layout, Noise(Family.LAPLACE, Fraction(10**9)))
    found = estimate_tree(
        merge_measurements(layout, [(distribution, released(distribution, data(64)["normal"], 2))]), 900
    )
    np.testing.assert_allclose(found.cells, 900 / 64, rtol=1e-3)


def test_a_total_is_that_of_least_squares() -> None:
    layout = DyadicLayout.from_cells(32)
    distribution = turn(layout, Noise(Family.LAPLACE, Fraction(9)))
    values = released(distribution, data(32)["normal"], 3)
    expected = least_squares(distribution, values, None).cells.sum()
    found, precision = least_squares_total(merge_measurements(layout, [(distribution, values)]))
    assert found == pytest.approx(expected)
    assert 1 / precision == pytest.approx(distribution.prefix_variances(total_is_public=False)[0, -1])
    assert least_squares_total(Measurements.empty(layout)) == (0, 0)


def test_what_all_cells_hold_stands_at_the_whole() -> None:
    assert estimate_tree(Measurements.empty(DyadicLayout.from_cells(8)), 3.5).counts[ROOT] == 3.5


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("make", LAYOUTS)
def test_records_that_lie_evenly_are_taken_to_and_others_are_not(make: Layout, family: Family) -> None:
    layout = make(256)
    even = np.random.default_rng(8).poisson(20, 256)
    for truth, few, most in ((even, 0.5, 1.0), (data(256)["normal"], 0.0, 1e-6), (data(256)["ends"], 0.0, 1e-6)):
        distribution = turn(layout, Noise(family, Fraction(12)))
        found = estimate_tree(
            merge_measurements(layout, [(distribution, released(distribution, truth, 4))]), truth.sum()
        )
        assert few <= found.even_probability <= most


def test_a_value_that_noise_may_give_does_not_fill_an_empty_half() -> None:
    layout = DyadicLayout.from_cells(64)
    distribution = IntervalSums(1, 64, (Tier(range(0, 64, 32), Noise(Family.LAPLACE, Fraction(3))),), missing=None)
    few, many = (
        estimate_tree(merge_measurements(layout, [(distribution, [10_000, value])]), 10_000).cells[32:].sum()
        for value in (15, 100)
    )
    assert few < 2  # five times its scale, which one of 300 noises is
    assert many > 40  # half: what the other half says has the same noise


def test_a_count_in_doubt_puts_its_split_in_doubt() -> None:
    layout = DyadicLayout.from_cells(4)
    halves = [Tier(range(0, 4, 2), Noise(Family.GAUSSIAN, Fraction(variance))) for variance in (1, 10_000)]
    distributions = [IntervalSums(1, 4, (level,), missing=None) for level in halves]
    sure, unsure = (
        estimate_tree(merge_measurements(layout, [(distribution, [800, 200])]), 1000) for distribution in distributions
    )
    assert unsure.variance[3] / unsure.counts[3] ** 2 > sure.variance[3] / sure.counts[3] ** 2


def test_an_estimate_that_knows_nothing_is_made_again_just_so() -> None:
    layout = DyadicLayout.from_cells(64)
    distribution = turn(layout, Noise(Family.LAPLACE, Fraction(8)))
    known = merge_measurements(layout, [(distribution, released(distribution, data(64)["normal"], seed=1))])
    once = estimate_tree(known, 900)
    nothing = TreeEstimate(layout, once.counts, np.full(layout.nodes, np.inf), once.even_probability)
    assert np.array_equal(reestimate_tree(known, 900, nothing).counts, once.counts)


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("kind", ["even", "one cell", "nothing", "normal", "ends"])
@pytest.mark.parametrize("cells", [1, 2, 5, 100])
@pytest.mark.parametrize("parameter", [Fraction(1, 10**9), Fraction(5), Fraction(10**12)])
def test_whatever_was_released_it_is_also_sound_once_more(cells: int, kind: str, parameter: Fraction) -> None:
    for make, family in zip(LAYOUTS, Family, strict=True):
        layout = make(cells)
        distribution = turn(layout, Noise(family, parameter))
        values = released(distribution, data(cells)[kind], seed=2)
        known = merge_measurements(layout, [(distribution, values)])
        once = estimate_tree(known, float(values[0]))
        for shrinks_to_slope in (False, True):
            again = reestimate_tree(known, float(values[0]), once, shrinks_to_slope=shrinks_to_slope)
            sound(again, float(values[0]))


def test_where_every_other_cell_is_empty_prefixes_are_better_once_more() -> None:
    """Counts of empty cells are noise alone: of 40 releases the error is less by a tenth or more."""
    layout, noise = DyadicLayout.from_cells(128), Noise(Family.LAPLACE, Fraction(6))
    truth = np.where(np.arange(128) % 2 == 0, np.random.default_rng(3).integers(500, 1500, 128), 0)
    distribution = turn(layout, noise, depths=(2, 7))
    errors = []
    for seed in range(40):
        known = merge_measurements(layout, [(distribution, released(distribution, truth, seed))])
        once = estimate_tree(known, float(truth.sum()))
        again = reestimate_tree(known, float(truth.sum()), once)
        errors.append([np.square(np.cumsum(each.cells - truth)).mean() for each in (once, again)])
    first, second = np.mean(errors, axis=0)
    assert second < 0.81 * first


@pytest.mark.parametrize("make", LAYOUTS)
def test_records_within_an_interval_lie_towards_the_denser_neighbour(make: Layout) -> None:
    """Cells of a falling density are off by a third of what straight lines are off; beside an atom they stay alike."""
    layout = make(64)
    distribution = turn(layout, Noise(Family.LAPLACE, Fraction(1, 10**9)), depths=(3,))
    falling, atom = np.rint(2000 * np.exp(-np.arange(64) / 12)).astype(np.int64), np.full(64, 5)
    atom[24:32] = 900
    errors = {}
    for truth in (falling, atom):
        known = merge_measurements(layout, [(distribution, released(distribution, truth, seed=5))])
        once = estimate_tree(known, float(truth.sum()))
        for shrinks_to_slope in (False, True):
            again = reestimate_tree(known, float(truth.sum()), once, shrinks_to_slope=shrinks_to_slope)
            errors[int(truth[24]), shrinks_to_slope] = np.abs(again.cells - truth)[8:-8].sum()
    assert errors[int(falling[24]), True] < errors[int(falling[24]), False] / 3
    assert errors[900, True] == pytest.approx(errors[900, False], abs=1e-6)
