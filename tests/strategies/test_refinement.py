"""Partitions that a conversation looks at: from released numbers alone, nested, and of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis.strategies import integers, sampled_from

from dpcurves.arrays import FloatArray
from dpcurves.conversation import Evidence
from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.estimation import JointEstimate
from dpcurves.estimation.binary_tree import DyadicLayout, Measurements, merge_measurements
from dpcurves.estimation.empirical_bayes import TreeEstimate, estimate_tree
from dpcurves.queries import PartitionQuery
from dpcurves.strategies import prefixes
from dpcurves.strategies.prefixes import (
    FAMILY_TUNING,
    TUNING,
    Tilings,
    _choose_laplace_tilings,
    choose_budget_fractions,
    choose_first_thirds,
    divide_outstanding_intervals,
    expect_widths,
    find_atom_tilings,
    first_tilings,
    has_atoms,
    has_significant_atoms,
    is_dense,
    is_nearly_exact,
    is_uneven,
    is_worth_pilot_query,
    refine_last_tilings,
    refine_tilings,
)

Layout = Callable[[int], DyadicLayout]
LAYOUTS = [DyadicLayout.from_cells, DyadicLayout.from_cells_with_ends]
CELLS = [1, 2, 3, 4, 5, 6, 7, 8, 23, 64, 100, 1000]


def nested(layout: DyadicLayout, tilings: Tilings) -> None:
    """They can be asked for, and be read."""
    PartitionQuery((Axis("x", Grid(0, 1, cells=layout.cells)),), tilings)
    for starts in tilings:
        layout.find_nodes(np.append(np.asarray(starts), layout.cells))


@given(cells=sampled_from(CELLS), make=sampled_from(LAYOUTS))
def test_a_first_turn_has_every_cell_and_two_coarser_tilings(make: Layout, cells: int) -> None:
    layout = make(cells)
    tilings = first_tilings(layout)
    nested(layout, tilings)
    assert list(tilings[-1]) == list(range(cells))
    assert len(tilings) == min(3, max(1, layout.depth))


@given(family=sampled_from(Family), cells=sampled_from(CELLS), make=sampled_from(LAYOUTS), seed=integers(0, 5))
def test_whatever_was_released_a_refinement_is_nested(make: Layout, cells: int, family: Family, seed: int) -> None:
    layout, draw = make(cells), np.random.default_rng(seed)
    distribution = IntervalSums(
        1, cells, tuple(Tier(t, Noise(family, Fraction(9))) for t in first_tilings(layout)), missing=None
    )
    values = (draw.normal(0, 10.0 ** (2 * seed), distribution.size)).astype(np.int64)
    splits = estimate_tree(merge_measurements(layout, [(distribution, values)]), float(values.sum()))
    tries = product((refine_tilings, refine_last_tilings), (Fraction(1, 10**6), Fraction(3), Fraction(10**9)))
    for refine, parameter in tries:
        tilings = refine(splits, Noise(family, parameter))
        nested(layout, tilings)
        assert len(tilings) <= max(len(FAMILY_TUNING[family].largest_tilings) + 1, TUNING.most_tilings)
        if len(tilings) <= len(FAMILY_TUNING[family].largest_tilings):
            assert len(tilings[-1]) <= FAMILY_TUNING[family].largest_tilings[len(tilings) - 1]


def spread(cells: int, variance: float, even: float = 0.0) -> TreeEstimate:
    layout = DyadicLayout.from_cells(cells)
    return TreeEstimate(layout, np.where(layout.width > 0, 1.0, 0.0), np.full(layout.nodes, variance), even)


def test_what_is_known_well_enough_is_not_split_again() -> None:
    splits = spread(64, 0.0)
    splits.variance[1] = 1e9
    assert refine_tilings(splits, Noise(Family.LAPLACE, Fraction(1))) == (range(0, 64, 32),)


def test_where_nothing_is_worth_splitting_one_interval_is_left() -> None:
    assert refine_tilings(spread(64, 0.0), Noise(Family.LAPLACE, Fraction(1))) == (range(0, 64, 64),)


def test_intervals_are_split_down_to_where_their_variance_lies() -> None:
    splits = spread(16, 0.0)
    splits.variance[[1, 2, 5]] = 1e9  # the whole, its first half, the second quarter
    assert refine_tilings(splits, Noise(Family.LAPLACE, Fraction(1))) == ((0, 4, 6, 8),)


def test_a_last_interval_that_is_longer_stays_whole() -> None:
    splits = spread(100, 0.0)
    splits.variance[[1, 2]] = 1e9  # 64 cells and the other 36, the first of these halved
    assert refine_tilings(splits, Noise(Family.LAPLACE, Fraction(1))) == ((0, 32, 64),)


def test_the_more_noise_the_coarser() -> None:
    layout = DyadicLayout.from_cells(1024)
    splits = estimate_tree(Measurements.empty(layout), 10_000)
    sizes = [len(refine_tilings(splits, Noise(Family.GAUSSIAN, Fraction(4) ** power))[-1]) for power in range(2, 11)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_many_intervals_are_counted_in_several_tilings_of_even_steps() -> None:
    splits = spread(4096, 1e12)
    tilings = refine_tilings(splits, Noise(Family.LAPLACE, Fraction(1)))
    assert [len(starts) for starts in tilings] == [16, 256, 4096]
    assert not is_worth_pilot_query(tilings, tilings[:1], splits, Family.LAPLACE)
    assert is_worth_pilot_query(tilings[:1], tilings[:1], splits, Family.LAPLACE)


def test_a_last_look_with_gaussian_noise_has_the_tilings_of_the_least_noise() -> None:
    """Beside those of even steps, of which there would be three: by the variance of prefixes in dense algebra."""
    splits, alone = spread(512, 1e12), Noise(Family.GAUSSIAN, Fraction(1))
    even, found = refine_tilings(splits, alone), refine_last_tilings(splits, alone)
    assert even[-1] == found[-1] == range(512)
    assert (len(even), len(found)) == (3, 5)
    assert variance_of(found) < 0.9 * variance_of(even)


def variance_of(tilings: Sequence[Iterable[int]], cells: int = 512) -> float:
    """The mean variance of all prefixes by least squares, with a public total and tilings that share the loss."""
    rows = []
    for starts in tilings:
        bounds = [*starts, cells]
        for first, last in pairwise(bounds):
            rows.append(np.isin(np.arange(cells), np.arange(first, last)) / np.sqrt(len(tilings)))
    counted = np.array([*rows, 1e4 * np.ones(cells)])
    prefixes = np.tri(cells)
    return float(np.mean(np.einsum("ij,jk,ik->i", prefixes, np.linalg.inv(counted.T @ counted), prefixes)))


def test_no_second_look_is_made_where_the_last_one_has_many_intervals_anyhow() -> None:
    splits, few = spread(4096, 1.0), (range(0, 4096, 512),)
    for family, last in product(Family, (few, (range(0, 4096, 16),), (range(0, 4096, 8),))):
        most = 200 if family is Family.LAPLACE else 320
        assert is_worth_pilot_query(few, last, splits, family) is (len(last[-1]) <= most)


def known(cells: list[float], variance: float) -> TreeEstimate:
    """Cells of these counts, and splits that all have this variance."""
    layout = DyadicLayout.from_cells(len(cells))
    counts = np.zeros(layout.nodes)
    counts[layout.cell_nodes] = cells
    for parent, left, right, _ in reversed(layout.halvings):
        counts[parent] += counts[left] + counts[right]
    return TreeEstimate(layout, counts, np.full(layout.nodes, variance), even_probability=0.0)


def test_records_lie_in_atoms_where_one_half_has_nearly_all_or_that_is_still_likely() -> None:
    tied = [0.0, 0.0, 0.0, 90.0] * 16
    assert has_atoms(known(tied, 0.0))
    assert has_atoms(known([20.0, 25.0] * 32, 1000.0))  # nothing is known of where they are
    assert not has_atoms(known([20.0, 25.0] * 32, 15.0))
    assert not has_atoms(known([0.0, 1.0, 0.0, 0.0] * 16, 0.0))  # so few lie apart by chance
    assert not has_atoms(known([0.0] * 64, 0.0))


def pilot_estimate(exact: FloatArray, seed: int) -> JointEstimate:
    """The joint estimate of a first round whose counts of cells have noise with a standard deviation of 57 records."""
    tilings = first_tilings(DyadicLayout.from_cells_with_ends(len(exact)))
    levels = tuple(Tier(tiling, Noise(Family.LAPLACE, Fraction(40))) for tiling in tilings)
    counts = np.concatenate([np.add.reduceat(exact, np.asarray(tiling)) for tiling in tilings])
    noisy = np.rint(counts + np.random.default_rng(seed).laplace(0, 40, len(counts))).astype(np.int64)
    distribution = IntervalSums(1, len(exact), levels, missing=None)
    return JointEstimate((Evidence(distribution, tuple(noisy.tolist()), total=None),))


def test_atoms_of_little_more_than_the_noise_are_significant_together() -> None:
    # At 2 standard errors the probability of a false alarm on one of five smooth distributions is below 0.15; seeds are
    # fixed.
    number = np.arange(1024)
    ages = np.where(number % 9 == 4, 100.0, 0.0)
    hill = 10_000 * np.exp(-(((number - 500) / 100) ** 2) / 2) / 250
    peak = 10_000 * np.exp(-(((number - 500) / 4) ** 2) / 2) / 10
    assert all(has_significant_atoms(pilot_estimate(ages, seed)) for seed in range(3))
    for smooth in (np.full(1024, 11.0), hill, peak, np.zeros(1024), np.repeat([0.0, 40.0], 512)):
        assert not has_significant_atoms(pilot_estimate(smooth, 0))
    assert not has_significant_atoms(pilot_estimate(100 * ages, 0))  # each is clear by itself
    assert not has_atoms(pilot_estimate(ages, 0).tree_estimate)  # no single cell shows it
    zeros = np.where(number == 1, 1500.0, 2.0)  # the separate cell of zero
    assert has_significant_atoms(pilot_estimate(zeros, 0))
    assert not has_significant_atoms(pilot_estimate(zeros, 0), zero_slot=1)
    assert not has_atoms(known(zeros.tolist(), 1.0), zero_slot=1)
    assert has_atoms(known(zeros.tolist(), 1.0))


def test_a_look_for_atoms_is_one_tiling_that_keeps_together_what_is_clear() -> None:
    splits = known([20.0, 25.0] * 32, 0.0)
    alone = Noise(Family.LAPLACE, Fraction(10))
    assert find_atom_tilings(splits, alone) == (range(0, 64, 64),)
    for cells in CELLS:
        tilings = find_atom_tilings(spread(cells, 1e12), alone)
        nested(DyadicLayout.from_cells(cells), tilings)
        assert [len(starts) for starts in tilings] == [cells]


@given(sampled_from(Family), integers(0, 3))
def test_only_an_interval_denser_than_its_neighbours_is_divided(family: Family, interval: int) -> None:
    noise, intervals = Noise(family, Fraction(10) if family is Family.LAPLACE else Fraction(200)), range(0, 64, 16)
    for records, pieces in ((0.0, None), (15.0, None), (10_000.0, 16)):
        tilings = divide_outstanding_intervals(single_cell(interval, records), noise, intervals)
        if pieces is None:
            assert tilings is None
        else:
            assert tilings is not None
            nested(DyadicLayout.from_cells(64), tilings)
            assert len(tilings[0]) == 3 + pieces
    assert divide_outstanding_intervals(known([300.0] * 64, 0.0), noise, intervals) is None
    rising = known([16.0 * (cell // 16) + 100 for cell in range(64)], 0.0)
    assert divide_outstanding_intervals(rising, Noise(family, Fraction(10**5)), intervals) is None


def single_cell(interval: int, records: float) -> TreeEstimate:
    """All records beyond a few in the sixth cell of an interval of 16."""
    cells = [1.0] * 64
    cells[16 * interval + 5] += records
    return known(cells, 0.0)


def test_where_records_seem_to_lie_evenly_nothing_is_looked_for() -> None:
    few = (range(0, 64, 16),)
    assert is_worth_pilot_query(few, few, spread(64, 1.0, even=0.4), Family.LAPLACE)
    assert not is_worth_pilot_query(few, few, spread(64, 1.0, even=0.6), Family.LAPLACE)


def test_of_even_records_and_of_few_longer_intervals_are_left_whole() -> None:
    alone = Noise(Family.GAUSSIAN, Fraction(2))
    many, few, even = spread(16, 4.5), spread(16, 4.5), spread(16, 7.5, even=0.9)
    many.counts[1], few.counts[1] = 1000, 100
    assert [len(refine_tilings(splits, alone)[-1]) for splits in (many, few, even)] == [16, 1, 1]


def test_the_last_look_also_splits_what_holds_much_however_well_that_is_known() -> None:
    alone, atom = Noise(Family.LAPLACE, Fraction(4)), spread(64, 0.0)  # a deviation of 5.6 records
    for node in (1, 2, 4, 8, 16, 32, 64):  # all in the first cell
        atom.counts[node] = 10_000
    assert refine_tilings(atom, alone) == (range(0, 64, 64),)
    assert refine_last_tilings(atom, alone) == ((0, 1, 2, 4, 8, 16, 32),)
    atom.counts[1:] = np.minimum(atom.counts[1:], 80)  # above 0.4 times 30 deviations
    assert refine_last_tilings(atom, alone) == (
        (0, 2, 4, 8, 16, 32),
    )  # a narrow interval may hold more than a wide one
    atom.counts[1:] = np.minimum(atom.counts[1:], 60)
    assert refine_last_tilings(atom, alone) == (range(0, 64, 64),)


def test_the_last_round_divides_even_records_into_wider_intervals() -> None:
    alone, cells = Noise(Family.LAPLACE, Fraction(4)), [25.0] * 64
    sizes = [
        len(refine_last_tilings(replace(known(cells, 0.0), even_probability=even), alone)[-1]) for even in (0.4, 0.6)
    ]
    assert sizes == [32, 16]


def test_the_expected_error_is_exact_for_even_intervals() -> None:
    """The errors of prefixes between noisy counts of even intervals with a public sum are a discrete Brownian bridge,
    and lines between its steps; records that lie uniformly within an interval of m have a mean variance of m / 6."""
    layout, edge = DyadicLayout.from_cells(64), np.arange(65)
    bridge = 20.0 * (np.minimum.outer(edge, edge) - np.outer(edge, edge) / 64)
    between = (bridge[:-1, :-1] + bridge[1:, :-1] + bridge[1:, 1:]).diagonal() / 3
    uncertain = replace(known([25.0] * 64, 0.0), variance=np.where(layout.width > 1, 1e15, 0.0))
    fine = expect_widths(uncertain, [np.arange(64, 128)], 20.0)
    assert np.isclose(fine.error**2, between.mean())
    uniform = replace(uncertain, variance=np.where(layout.width > 1, uncertain.counts / 4, 0.0))
    whole = expect_widths(uniform, [np.array([1])], 20.0)
    assert np.isclose(whole.error**2, (1600 - 25) / 6)
    assert np.isclose([whole.band, whole.widest_band], 1600).all()


def test_smooth_records_get_fewer_intervals_in_the_last_round_and_clear_ones_all() -> None:
    """3,000 records at epsilon 1: narrow intervals would narrow the band by little, and add much noise."""
    noise, layout = Noise(Family.LAPLACE, Fraction(8, 3)), DyadicLayout.from_cells(1024)
    smooth, narrow = known([3000 / 1024] * 1024, 0.0), replace(TUNING, coarse_factors=(1.0,))
    smooth = replace(smooth, variance=np.where(layout.width > 1, smooth.counts / 4, 0.0))  # binomial
    widths = {}
    for name, tuning in (("narrow", narrow), ("chosen", TUNING)):
        with patch.object(prefixes, "TUNING", tuning):
            tilings = refine_last_tilings(smooth, noise)
        nodes = [layout.find_nodes(np.append(np.asarray(starts), 1024)) for starts in tilings]
        widths[name] = expect_widths(smooth, nodes, Noise(Family.LAPLACE, len(nodes) * noise.parameter).variance)
    assert widths["chosen"].error < 0.9 * widths["narrow"].error
    assert widths["chosen"].band <= TUNING.max_band_width_ratio * widths["narrow"].band
    assert widths["chosen"].widest_band <= TUNING.max_band_width_ratio * widths["narrow"].widest_band


def test_wider_intervals_are_not_taken_where_they_would_hold_most_records() -> None:
    """The mean width of the band would hardly grow, but the band would be nearly twice as wide around a peak."""
    layout, noise = DyadicLayout.from_cells(256), Noise(Family.LAPLACE, Fraction(4))
    peak = known([10.0] * 124 + [100.0] * 4 + [10.0] * 128, 0.0)
    peak = replace(peak, variance=np.where(layout.width > 1, peak.counts / 4, 0.0))
    leaves = np.arange(128, 256), np.arange(64, 128)
    fine, coarse = (expect_widths(peak, [nodes], noise.variance) for nodes in leaves)
    assert coarse.error < 0.95 * fine.error
    assert coarse.band < TUNING.max_band_width_ratio * fine.band
    assert coarse.widest_band > TUNING.max_band_width_ratio * fine.widest_band
    assert len(_choose_laplace_tilings(peak, noise, ((nodes, 1) for nodes in leaves))[-1]) == 128


@given(sampled_from(Family))
def test_parts_are_all_of_the_loss_and_a_look_is_short_where_cells_are_known_to_hold_much(family: Family) -> None:
    alone = Noise(family, Fraction(4))
    found = {total: choose_budget_fractions(100, total, alone) for total in (None, 0, 50, 1000, 10**9)}
    assert {sum(shares) for shares in found.values()} == {1}
    assert found[0] == found[50]
    assert found[50] == (Fraction(1, 5), Fraction(3, 20), Fraction(13, 20))
    assert found[None][0] == (Fraction(3, 20) if family is Family.LAPLACE else Fraction(1, 10))
    assert found[1000][0] == (Fraction(3, 20) if family is Family.LAPLACE else Fraction(1, 20))  # full: 6 and 36
    assert found[10**9][0] == (Fraction(1, 10) if family is Family.LAPLACE else Fraction(1, 20))


def test_cells_are_unlike_their_neighbours_where_many_splits_are_unclear_and_records_do_not_lie_evenly() -> None:
    many, few = (range(64),), (range(0, 64, 4),)
    assert is_uneven(many, spread(64, 1.0))
    assert not is_uneven(few, spread(64, 1.0))
    assert not is_uneven(many, spread(64, 1.0, even=0.6))


def test_of_few_records_for_the_noise_the_first_look_is_coarse() -> None:
    alone = Noise(Family.GAUSSIAN, Fraction(100))  # 50 and 300 deviations of 10 records
    assert [choose_first_thirds(total, alone) for total in (None, 0, 499, 500, 2999, 3000)] == [3, 1, 1, 2, 2, 3]
    layout = DyadicLayout.from_cells(4096)
    assert [len(first_tilings(layout, thirds)[-1]) for thirds in (1, 2, 3)] == [16, 256, 4096]
    assert [len(first_tilings(layout, thirds)) for thirds in (1, 2, 3)] == [1, 2, 3]


def test_next_to_no_noise_needs_no_look_either_where_single_counts_add_up_to_less() -> None:
    """The mean of all prefixes has half the variance of all cells, a sixth of it if the number of records is public."""
    for epsilon, exact in (("0.1", False), ("6", False), ("8", True), ("16", True)):
        alone = Noise(Family.LAPLACE, 1 / Fraction(epsilon))
        assert is_nearly_exact(4096, None, alone) is exact
        nested = Noise(Family.LAPLACE, 3 * alone.parameter).variance * 3 * 16 / 2
        assert (4096 / 2 * alone.variance < nested) is exact
    assert not is_nearly_exact(4096, 1000, Noise(Family.LAPLACE, Fraction(1, 4)))
    assert is_nearly_exact(4096, 1000, Noise(Family.LAPLACE, Fraction(1, 8)))


def test_full_cells_need_no_first_turn() -> None:
    alone = Noise(Family.GAUSSIAN, Fraction(2))  # 5.5 times 3, the noise of a split in a turn of three tilings
    assert [is_dense(64, records * 64, alone) for records in (16, 17)] == [False, True]
