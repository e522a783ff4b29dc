"""p-Identity strategies: budgets of all cells, exactness of prefixes, what streams lose, errors, and refusals."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from importlib.resources import files
from itertools import combinations_with_replacement
from math import sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, time_steps

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, Noise
from dpcurves.distributions.p_identity import (
    LEAST_CELLS,
    WEIGHT_BITS,
    PIdentityStrategy,
    find_p_identity_strategy,
    most_cells,
)
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse
from dpcurves_streams.distributions import PIdentityPrefixes
from dpcurves_streams.mechanisms import STREAMS, PIdentityCounter, TreeCounter, p_identity
from dpcurves_streams.mechanisms.p_identity import PIdentityCounterState
from dpcurves_streams.queries import TimeStepQuery

ONE, PURE = AddRemove(EACH_RECORD), PrivacyLoss.pure(1)
LONE = Noise(Family.LAPLACE, Fraction(10**6))
TABLES_HASH = "d9bc51a1356a465dae73959774ec24b469defc9b796dd535c0178fa90f1353ea"
"""SHA-256 of the file of stored strategies: streams that have begun need the same ones."""


def strategy_for(cells: int) -> PIdentityStrategy:
    strategy = find_p_identity_strategy(cells)
    assert strategy is not None
    return strategy


def test_stored_strategies_are_those_that_were_computed() -> None:
    stored = files("dpcurves.distributions").joinpath("p_identity.json").read_bytes()
    assert sha256(stored).hexdigest() == TABLES_HASH
    assert len(stored) < 2**17


@pytest.mark.parametrize("cells", [32, 47, 64, 100, 365, 513, 1000, 1024])
def test_each_record_costs_one_whole_budget_whatever_cell_it_is_in(cells: int) -> None:
    """By the noises that are drawn, in fractions."""
    strategy = strategy_for(cells)
    of_cells, of_rows = strategy.noises(LONE)
    for cell, weights in enumerate(strategy.weights.T.tolist()):
        rows = sum(weight / noise.parameter for weight, noise in zip(weights, of_rows, strict=True) if weight)
        assert 1 / of_cells[cell].parameter + rows == 1 / LONE.parameter
    assert strategy.weights.min() == 0
    assert all(noise.family is Family.LAPLACE for noise in (*of_cells, *of_rows))


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_tuples_of_a_unit_in_any_of_32_steps_lose_exactly_what_is_claimed(adjacency: Adjacency) -> None:
    """All ways in which up to two tuples come, or move: closed-form losses of integer noises, in whole numbers."""
    plan = PIdentityCounter().plan(time_steps(1, 32), PURE, adjacency)
    distribution = plan.distribution.require_type(PIdentityPrefixes)
    strategy, records = distribution.strategy, adjacency.unit.records
    places = [places for number in range(records + 1) for places in combinations_with_replacement(range(32), number)]
    came = np.array([np.bincount(steps, minlength=32) for steps in places], dtype=np.int64)
    worst = 0
    for went in came if isinstance(adjacency, ReplaceOne) else came[:1]:
        shifts = came - went
        of_cells = np.abs(shifts) @ np.array(strategy.cell_units)
        of_rows = np.abs(shifts @ strategy.weights.T) @ np.array(strategy.row_units)
        worst = max(worst, int((of_cells + of_rows).max()))
    assert Fraction(worst, 2**WEIGHT_BITS) / distribution.noise.parameter == 1


def test_noise_that_takes_off_the_counts_of_cells_and_rows_leaves_nothing_of_any_release() -> None:
    """``L (x, Q x) = A x`` through the steps: so releases are a function of noisy cells and rows."""
    generator = np.random.default_rng(1)
    for horizon in (32, 100, 256):
        strategy = strategy_for(horizon)
        plan = PIdentityCounter().plan(time_steps(2, horizon), PURE, ONE)
        counts = generator.integers(0, 2**40, (horizon, 2)).astype(object)
        draws = iter([*(-counts), *(-(strategy.weights.astype(object) @ counts))])
        of_cells, of_rows = strategy.noises(plan.distribution.require_type(PIdentityPrefixes).noise)
        distributions = iter([*of_cells, *of_rows])

        def draw(
            distribution: Noise,
            size: int,
            randomness: Randomness,
            draws: Any = draws,
            distributions: Any = distributions,
        ) -> Any:
            assert (distribution, size) == (next(distributions), 2)
            return next(draws)

        state: Any = PIdentityCounter().begin(plan)
        with patch.object(p_identity, "sample_noise", draw):
            for time_step, row in enumerate(counts, start=1):
                values, state = PIdentityCounter().step(row, time_step, state, plan, Randomness.from_seed(time_step))
                assert values == (0, 0)


@pytest.mark.parametrize(("cells", "most"), [(64, 28.5), (256, 54.5), (1024, 93.0)])
def test_mean_squared_errors_are_those_of_the_best_known_strategies(cells: int, most: float) -> None:
    assert strategy_for(cells).prefix_variances(LONE).mean() / 10**12 < most


@pytest.mark.quick_share(5)
@pytest.mark.parametrize("cells", [LEAST_CELLS, 40, 52, 70, 100, 168, 300, 365, 600, 800])
def test_errors_are_a_ninth_below_those_of_trees_for_other_horizons_too(cells: int) -> None:
    plan, tree = (mechanism.plan(time_steps(1, cells), PURE, ONE) for mechanism in (PIdentityCounter(), TreeCounter()))
    assert plan.error**2 < 8 / 9 * tree.error**2
    worst = plan.distribution.require_type(PIdentityPrefixes).strategy.prefix_variances(LONE).max()
    assert worst < 1.75 * 10**12 * plan.error**2


def test_variances_are_those_of_generalised_least_squares() -> None:
    strategy = strategy_for(100)
    units = np.array([*strategy.cell_units, *strategy.row_units])
    measured = np.vstack([np.eye(100), strategy.weights]) * (units / 2**WEIGHT_BITS)[:, None]
    prefixes = np.tril(np.ones((100, 100))) @ np.linalg.pinv(measured)
    np.testing.assert_allclose(strategy.prefix_variances(LONE), 2e12 * np.square(prefixes).sum(axis=1), rtol=1e-6)


def test_totals_scatter_as_the_distribution_says_and_go_on_after_a_restart() -> None:
    """Within 5 standard errors: a false alarm in a million."""
    plan = STREAMS.plan(TimeStepQuery(time_steps(8, 32).axes, 32, read=CountUse.PREFIXES), PURE, ONE)
    distribution, errors = plan.distribution.require_type(PIdentityPrefixes), []
    for run in range(40):
        randomness, state, other = Randomness.from_seed(run), STREAMS.begin(plan), None
        for time_step in range(1, 33):
            table = np.arange(8) * time_step
            if time_step in (1, 20):
                other = STREAMS.restore_state(state.to_bytes(), plan)
            before, (values, state) = state, STREAMS.step(table, time_step, state, plan, randomness)
            if time_step == 20:
                assert other is not None
                assert STREAMS.step(table, time_step, other, plan, randomness)[0] == values
                assert before == other
            errors.append(np.array(values) - np.arange(8) * (time_step * (time_step + 1) // 2))
    scatter = np.array(errors).reshape(40, 32, 8).transpose(1, 0, 2).reshape(32, -1).astype(float)
    expected = [distribution.variance(step) for step in range(1, 33)]
    assert np.all(np.abs(np.square(scatter).mean(axis=1) / expected - 1) < 5 * sqrt(5 / 320))
    window = np.square(scatter[29] - scatter[9]).mean()
    assert abs(window / distribution.variance(30, 20) - 1) < 5 * sqrt(5 / 320)
    assert distribution.mean_variance(32) == pytest.approx(plan.error**2)


def test_distributions_are_read_back_and_other_strategies_are_refused() -> None:
    distribution = PIdentityCounter().plan(time_steps(2, 100), PURE, ONE).distribution.require_type(PIdentityPrefixes)
    stored = distribution.to_json((0, 0), None)
    assert PIdentityPrefixes.from_json(stored) == distribution
    for changed in ({"p-identity": "0" * 16}, {"time_steps": 101}, {"time_steps": 10**6}):
        with pytest.raises(ValueError, match="strategy of another version"):
            PIdentityPrefixes.from_json({**stored, **changed})


def test_what_it_cannot_do_is_refused() -> None:
    for query, loss, named in (
        (time_steps(1, 64), PrivacyLoss.zcdp("0.5"), "give a loss in epsilon"),
        (time_steps(1, None), PURE, "use TreeCounter"),
        (time_steps(1, LEAST_CELLS - 1), PURE, "use TreeCounter"),
        (time_steps(1, most_cells() + 1), PURE, "use TreeCounter"),
    ):
        with pytest.raises(UnsupportedQuery, match=named):
            PIdentityCounter().plan(query, loss, ONE)
    with pytest.raises(ValueError, match="each cell"):
        PIdentityStrategy(np.full((1, 2), 2), (2**WEIGHT_BITS // 2,))
    plan = PIdentityCounter().plan(time_steps(1, 32), PURE, ONE)
    with pytest.raises(UnsupportedQuery, match="time_step: this stream was planned for 32 steps"):
        PIdentityCounter().step(
            np.array([1]), 33, PIdentityCounterState(32, (0,), bytes(32)), plan, Randomness.from_seed(1)
        )
