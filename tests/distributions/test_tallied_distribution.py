"""Tallies of randomised reports read as counts: without bias, and as far off as the distribution says."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.conversation import Evidence
from dpcurves.distributions import distribution_from_json
from dpcurves.estimation.joint_estimate import shrink_estimate
from dpcurves.noise import Randomness
from dpcurves_local.aggregated_reports import AggregatedReports, LevelReports, _simulate_sampling_errors
from dpcurves_local.responses import make_randomiser

WAYS = ("k-ary", "hadamard", "subset", "unary")
CELLS = 6
Tilings = tuple[range | tuple[int, ...], ...]
TILINGS: Tilings = ((0, 3), (0, 1, 3, 5), (0, 1, 2, 3, 4, 5))


def distribution_of(
    names: tuple[str, ...], people: tuple[int, ...], epsilon: Fraction, rows: int = 1, tilings: Tilings = TILINGS
) -> AggregatedReports:
    tilings = tilings[-len(names) :]
    ways = [make_randomiser(name, rows * len(starts) + 1, epsilon) for name, starts in zip(names, tilings, strict=True)]
    parts = zip(tilings, people, ways, strict=True)
    return AggregatedReports(
        rows, CELLS, tuple(LevelReports(starts, many, way.NAME, *way.support) for starts, many, way in parts)
    )


def tallied(
    distribution: AggregatedReports, epsilon: Fraction, slots: IntArray, source: Randomness, chance: np.random.Generator
) -> list[int]:
    """What a level asked is a sample of all people without replacement."""
    order, start, counts, missing = chance.permutation(slots), 0, [], []
    for level in distribution.levels:
        way = make_randomiser(level.randomiser, distribution.rows * len(level.starts) + 1, epsilon)
        row, cell = np.divmod(order[start : start + level.reports], distribution.cells)
        answers = row * len(level.starts) + np.searchsorted(level.first_cells, cell, side="right") - 1
        answers[row == distribution.rows] = way.answers - 1
        tally = way.count_support(way.draw(answers, source))
        counts += tally[:-1].tolist()
        missing.append(int(tally[-1]))
        start += level.reports
    return counts + missing


def estimates(distribution: AggregatedReports, epsilon: Fraction, slots: IntArray, runs: int) -> FloatArray:
    source, chance = Randomness.from_seed(2), np.random.default_rng(2)
    drawn = np.array([tallied(distribution, epsilon, slots, source, chance) for _ in range(runs)], dtype=np.float64)
    cells, missing = distribution.reconstruct(drawn, None)
    return np.concatenate([cells.reshape(runs, -1), missing[:, None]], axis=1)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("epsilon", [Fraction(1), pytest.param(Fraction(4), marks=pytest.mark.reproduction)], ids=float)
def test_counts_are_unbiased_and_scatter_as_is_simulated(name: str, epsilon: Fraction) -> None:
    """Means and variances of sums of cells within 4 sigma: 70 comparisons, off by chance once in 200; seed fixed."""
    distribution, runs = distribution_of((name, "subset", name), (60, 90, 150), epsilon), 800
    counts = np.array([120, 20, 80, 0, 30, 10, 40])
    slots = np.repeat(np.arange(7), counts)
    found = estimates(distribution, epsilon, slots, runs)
    assert np.allclose(found.sum(axis=1), 300)
    known = replace(distribution, shares=tuple((counts / 300).tolist()))
    drawn = [np.concatenate([cells[:, 0], gone[:, None]], axis=1) for cells, gone in known.simulate(
        300, 4000, np.random.default_rng(1)
    )]  # fmt: skip
    simulated = np.concatenate(drawn)
    sums = np.array([[1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]])
    for weights in sums:
        errors, noise = found @ weights - counts @ weights, simulated @ weights
        assert abs(errors.mean()) < 4 * errors.std() / runs**0.5
        spread = (errors**2).std() / runs**0.5 + (noise**2).std() / len(noise) ** 0.5
        assert abs((errors**2).mean() - (noise**2).mean()) < 4 * spread


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", WAYS)
def test_predicted_variances_are_those_of_people_who_are_spread_evenly(name: str) -> None:
    """Mean squares of prefixes within 4 sigma: 20 comparisons, off by chance once in 800 runs; the seed is fixed."""
    epsilon, runs = Fraction(3), 1500
    distribution = distribution_of((name, name), (100, 200), epsilon, tilings=(range(0, CELLS, 2), range(CELLS)))
    slots = np.repeat(np.arange(CELLS), 50)
    prefixes = np.cumsum(estimates(distribution, epsilon, slots, runs)[:, :CELLS], axis=1)
    squares = (prefixes - 50 * np.arange(1, CELLS + 1)) ** 2
    predicted = distribution.prefix_variances(total_is_public=True)[0, 1:]
    assert np.all(np.abs(squares.mean(axis=0) - predicted) < 4 * squares.std(axis=0) / runs**0.5)
    assert distribution.mean_prefix_variance(total_is_public=True) == pytest.approx(predicted[:-1].mean())


def test_what_levels_asked_are_samples_without_replacement_of_all_people_together() -> None:
    """All covariances within 5 of their standard deviations: by chance not so once in 2,000 runs; the seed is fixed."""
    shares, draws = np.random.default_rng(1).dirichlet(np.ones(CELLS + 1)), 20_000
    distribution = replace(distribution_of(("k-ary",) * 3, (300, 200, 500), Fraction(1)), shares=tuple(shares.tolist()))
    found = np.cov(np.concatenate(_simulate_sampling_errors(distribution, draws, np.random.default_rng(2)), axis=-1).T)
    one = np.diag(shares) - np.outer(shares, shares)
    sums = [distribution.sum_over_answers(level, np.eye(CELLS + 1)).T for level in distribution.levels]
    parts = [[own @ one @ other.T * -1000 for other in sums] for own in sums]
    for place, level in enumerate(distribution.levels):
        parts[place][place] *= 1 - 1000 / level.reports
    wanted = np.block(parts)
    own = np.diag(wanted)
    assert np.all(np.abs(found - wanted) <= 5 * np.sqrt((np.outer(own, own) + wanted**2) / draws) + 1e-6)


def test_rows_are_read_together_and_one_by_one() -> None:
    distribution = distribution_of(("k-ary", "unary"), (20_000, 20_000), Fraction(4), rows=2)
    counts = np.array([[9000, 0, 5000, 0, 3000, 2000], [3000, 3000, 3000, 3000, 4000, 4000], [1000, 0, 0, 0, 0, 0]])
    slots = np.repeat(np.arange(18), counts.ravel())[:40_000]
    slots[slots >= 12] = 12
    values = tallied(distribution, Fraction(4), slots, Randomness.from_seed(1), np.random.default_rng(1))
    evidence = Evidence(distribution, tuple(values), 40_000)
    assert np.abs(evidence.unbiased_cells - counts[:2]).max() < 1200
    shrunken = shrink_estimate(evidence.sums, evidence.values, evidence.total)
    assert np.abs(np.cumsum(shrunken - counts[:2], axis=1)).max() < 1200
    row = distribution.with_rows(1)
    split = [
        values[start : start + length]
        for start, length in ((4, 4), (8 + 6, 6))
    ]  # fmt: skip
    alone = row.reconstruct(np.array(split[0] + split[1], dtype=np.float64), None)[0]
    assert np.abs(alone[0] - counts[1]).max() < 1500
    assert row.missing is None
    assert row.size == 10


def test_shares_that_are_told_are_not_negative_and_add_up() -> None:
    distribution = distribution_of(("subset", "subset", "unary"), (50, 50, 50), Fraction(1, 2))
    chance = np.random.default_rng(4)
    for _ in range(50):
        shares = np.array(distribution.condition_on(chance.integers(0, 40, distribution.size).tolist()).shares)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)


def test_a_level_that_nobody_reported_about_is_left_out() -> None:
    distribution = distribution_of(("k-ary", "k-ary"), (100, 0), Fraction(2))
    assert distribution.bounds.tolist() == [0, 1, 3, 5, 6]
    cells, missing = distribution.reconstruct(np.array([30.0, 30, 20, 15] + [0] * 6 + [5, 0]), None)
    assert cells[0, 1] == cells[0, 2]
    assert cells.sum() + missing == pytest.approx(100)
    with pytest.raises(InvalidArgument, match="reports"):
        distribution_of(("k-ary", "k-ary"), (0, 0), Fraction(2))


def test_a_release_is_the_same_after_it_was_written_and_read() -> None:
    distribution = distribution_of(("k-ary", "subset"), (100, 200), Fraction(1))
    evidence = Evidence(distribution, tuple(range(distribution.size)), 300)
    again = Evidence.from_json(json.loads(json.dumps(evidence.to_json())))
    assert again == evidence
    assert again.sums == evidence.sums != distribution
    assert distribution_from_json(evidence.to_json()) == distribution


@pytest.mark.parametrize(
    "damage",
    [
        {"reports": -1},
        {"p_true": "1/9"},
        {"p_other": "-1"},
        {"p_two_others": "3"},
        {"p_other": "0", "p_true_and_other": "0", "p_two_others": "0"},
        {"p_two_others": "1/5", "p_other": "1/5", "p_true": "1/2"},
        {"p_true": "1/0"},
        {"starts": {"list": [0, 4, 2]}},
    ],
    ids=str,
)
def test_damaged_evidence_is_refused_in_one_line(damage: dict[str, object]) -> None:
    stored = Evidence(distribution_of(("k-ary",), (100,), Fraction(1)), tuple(range(7)), 100).to_json()
    stored["tallied"][0] |= damage
    with pytest.raises(ValueError, match="."):
        Evidence.from_json(stored).unbiased_cells.sum()
