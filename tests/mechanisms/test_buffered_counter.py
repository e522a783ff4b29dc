"""Totals through buffers: how far one tuple moves what is released, on tiny streams and long ones, and the error."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, neighbours, streams, time_steps

from dpcurves.conversation import UnsupportedQuery
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.distributions import LATTICE_BITS, BufferedPrefixes
from dpcurves_streams.mechanisms import STREAMS, BufferedCounter
from dpcurves_streams.mechanisms.counters import (
    WORD_BITS,
    choose_buffers,
    squared_sensitivity,
    update_buffers,
    weigh_steps,
)
from dpcurves_streams.readings import Totals

ONE, HALF = AddRemove(EACH_RECORD), PrivacyLoss.zcdp("0.5")


def exact_values(stream: list[list[int]], horizon: int | None) -> list[int]:
    """All exact values of a stream, step by step and key by key."""
    buffers = choose_buffers(horizon)
    state, released = ((0,) * len(buffers.decays),) * len(stream[0]), list[int]()
    runs = (run for run in weigh_steps(buffers, horizon) for _ in range(run.steps))
    for counts, run in zip(stream, runs, strict=False):
        values, state = update_buffers(counts, run, state, buffers)
        released += values
    return released


@pytest.mark.parametrize("horizon", [3, None])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_the_worst_neighbours_lose_no_more_than_is_claimed(adjacency: Adjacency, horizon: int | None) -> None:
    """All streams of 3 steps; without a horizon, later steps would lose more."""
    plan = BufferedCounter().plan(time_steps(1, horizon), HALF, adjacency)
    variance, worst = plan.distribution.require_type(BufferedPrefixes).noise.parameter, 0
    for stream in streams(1, 3, 2):
        ours = exact_values(stream.tolist(), horizon)
        for other in neighbours(stream, adjacency):
            theirs = exact_values(other.tolist(), horizon)
            worst = max(worst, sum((one - two) ** 2 for one, two in zip(ours, theirs, strict=True)))
    assert Fraction(1, 5) < Fraction(worst) / (2 * variance) <= Fraction(1, 2)


def test_one_tuple_moves_the_values_of_long_streams_within_the_bound_and_upwards_alone() -> None:
    """Columns have nearly equal lengths: the bound is nearly attained wherever equal weights begin."""
    generator = np.random.default_rng(1)
    for horizon in (1, 2, 17, 1000, None):
        length = 300 if horizon is None else horizon
        buffers = choose_buffers(horizon)
        runs = weigh_steps(buffers, horizon)
        bound = squared_sensitivity(buffers, runs)
        firsts = np.cumsum([0, *(run.steps for run in runs[:-1])]).tolist()
        counts = [[int(count)] for count in generator.integers(0, 1000, length)]
        base = exact_values(counts, horizon)
        for time_step in {0, firsts[len(firsts) // 3], firsts[len(firsts) // 2], length - 1, length // 3}:
            more = [[count + (step == time_step)] for step, (count,) in enumerate(counts)]
            rises = [new - old for new, old in zip(exact_values(more, horizon), base, strict=True)]
            assert min(rises, default=0) >= 0
            total = sum(rise**2 for rise in rises)
            assert total <= bound
            assert horizon is None or time_step not in firsts or total > bound * 0.9999


def test_rounding_of_coarse_buffers_is_within_the_bound_of_the_proof() -> None:
    """Each buffer stays within ``1 / (1 - decay)`` units of what one tuple leaves, whatever else came."""
    generator = np.random.default_rng(2)
    decay, one = 15 * 2**WORD_BITS // 16, 2**WORD_BITS
    for _ in range(200):
        low = high = int(generator.integers(0, 2**60)) << 8
        high += one
        for time_step in range(1, 40):
            low, high = (each * decay >> WORD_BITS for each in (low, high))
            assert abs(high - low - one * Fraction(15, 16) ** time_step) < 16
            more = int(generator.integers(0, 9)) << WORD_BITS
            low, high = low + more, high + more


@pytest.mark.parametrize("horizon", [30, None])
def test_totals_are_exact_without_noise_and_scatter_as_the_distribution_says(horizon: int | None) -> None:
    question = Totals(time_steps(2, 30).axes, time_steps=horizon)
    for loss, runs in ((PrivacyLoss.zcdp(10**9), 1), (HALF, 60)):
        plan = STREAMS.plan(question.query, loss, ONE)
        distribution, errors, randomness = plan.distribution.require_type(BufferedPrefixes), [], Randomness.from_seed(3)
        for _ in range(runs):
            state, reader, row = STREAMS.begin(plan), question.reader(plan), []
            for time_step in range(1, 31):
                values, state = STREAMS.step(np.array([time_step, 0]), time_step, state, plan, randomness)
                if time_step == 20:
                    state = STREAMS.restore_state(state.to_bytes(), plan)
                reading, true = reader.read_next(values), [time_step * (time_step + 1) // 2, 0]
                row.append(
                    reading.noisy.values - true
                )  # totals that grow at all time steps scatter less than the distribution says
                assert runs > 1 or np.abs(reading.totals - true).max() < 0.01
            errors.append(row)
        if runs == 1:
            assert np.abs(errors).max() < 0.01
    spread = np.square(errors).mean(axis=(0, 2))
    assert np.all(
        np.abs(spread / [distribution.variance(time_step) for time_step in range(1, 31)] - 1) < 5 * sqrt(2 / 120)
    )
    window = np.square(np.array(errors)[:, 29] - np.array(errors)[:, 21]).mean()
    assert abs(window / distribution.variance(30, 8) - 1) < 5 * sqrt(2 / 120)


@pytest.mark.parametrize(("length", "optimum"), [(64, 4.41), (256, 6.37), (1024, 8.74)])
def test_errors_are_within_three_percent_of_the_least_of_all_matrices(length: int, optimum: float) -> None:
    """In units of ``1 / mu**2``: rho is ``mu**2 / 2``. The optima are those of `benchmarks/optimum.py`."""
    distribution = BufferedCounter().plan(time_steps(1, length), HALF, ONE).distribution.require_type(BufferedPrefixes)
    ages = np.arange(length)
    column = np.sum(
        [
            weight * float(decay) ** ages
            for decay, weight in zip(distribution.decays, distribution.weights, strict=True)
        ],
        axis=0,
    )
    weights = np.array([distribution.run_of_step(step).weight for step in range(1, length + 1)])
    strategy = np.array([np.concatenate([np.zeros(step), column[: length - step]]) for step in ages]).T
    np.fill_diagonal(strategy, 2.0**LATTICE_BITS)
    totals = np.tril(np.ones((length, length))) @ np.linalg.inv(strategy * weights)  # of noise, over squared lattices
    variances = np.square(totals).sum(axis=1) * float(distribution.noise.parameter) * 4.0**LATTICE_BITS
    assert distribution.mean_variance(length) < 1.03 * optimum
    np.testing.assert_allclose(
        [distribution.variance(step) for step in (1, length // 3, length)], variances[[0, length // 3 - 1, -1]]
    )
    window = (
        np.square(totals[-1] - totals[length // 2 - 1]).sum() * float(distribution.noise.parameter) * 4.0**LATTICE_BITS
    )
    assert distribution.variance(length, length - length // 2) == pytest.approx(window)


@pytest.mark.reproduction
def test_totals_without_a_horizon_have_at_most_1_45_times_the_error_of_a_known_one_up_to_2_to_24() -> None:
    """And variances are those of the inverse matrix, for totals, means and windows that cross runs."""
    distribution = BufferedCounter().plan(time_steps(1, None), HALF, ONE).distribution.require_type(BufferedPrefixes)
    for power in (0, 1, 2, 9, 24):
        known = BufferedCounter().plan(time_steps(1, 2**power), HALF, ONE).error ** 2
        assert distribution.mean_variance(2**power) < (1.45 if power < 2 else 1.32) * known
    length, decays, weights = (
        100,
        np.array([float(decay) for decay in distribution.decays]),
        np.array(distribution.weights),
    )
    strategy = np.zeros((length, length))
    for step in range(length):
        run = distribution.run_of_step(step + 1)
        fading = decays[:, None] ** np.arange(1, length - step)
        strategy[step, step] = run.weight
        strategy[step + 1 :, step] = (weights * run.inputs / 2**LATTICE_BITS) @ fading
    totals = np.tril(np.ones((length, length))) @ np.linalg.inv(strategy)
    variances = np.square(totals).sum(axis=1) * float(distribution.noise.parameter)
    np.testing.assert_allclose([distribution.variance(step) for step in range(1, length + 1)], variances)
    assert distribution.mean_variance(length) == pytest.approx(variances.mean())
    window = np.square(totals[89] - totals[19]).sum() * float(distribution.noise.parameter)
    assert distribution.variance(90, 70) == pytest.approx(window)


def test_distributions_whose_weights_do_not_cover_the_horizon_are_refused() -> None:
    for horizon in (9, None):
        distribution = (
            BufferedCounter().plan(time_steps(1, horizon), HALF, ONE).distribution.require_type(BufferedPrefixes)
        )
        stored = distribution.to_json((0,), None)
        assert BufferedPrefixes.from_json(stored) == distribution
    stored = {**stored, "time_steps": 9}
    for runs in ([], [[9, 0]], [[8, 1]], [[10, 1], [-1, 1]], [[9, 1, [1]]], [[9, 1, [0] * 11]]):
        with pytest.raises(ValueError, match=r"evidence.runs"):
            BufferedPrefixes.from_json({**stored, "runs": runs})


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="epsilon"):
        BufferedCounter().plan(time_steps(1, 5), PrivacyLoss.pure(1), ONE)
    plan = BufferedCounter().plan(time_steps(1, 1), HALF, ONE)
    _, state = BufferedCounter().step(np.array([1]), 1, BufferedCounter().begin(plan), plan, Randomness.from_seed(1))
    with pytest.raises(UnsupportedQuery, match="time_step: this stream was planned for 1 steps"):
        BufferedCounter().step(np.array([1]), 2, state, plan, Randomness.from_seed(1))
