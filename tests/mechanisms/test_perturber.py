"""Fresh noise on every time step: its loss on all tiny neighbouring streams, and its state."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, neighbours, streams, time_steps
from tiny_tables import counts

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, IntervalSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.mechanisms import Perturber, Sequential
from dpcurves_streams.mechanisms.hierarchy import TimeStepState

PURE, CONCENTRATED = PrivacyLoss.pure("0.3"), PrivacyLoss.zcdp("0.3")
ONE = AddRemove(EACH_RECORD)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_the_worst_neighbours_lose_just_what_is_claimed(adjacency: Adjacency) -> None:
    """Integer noise that is shifted loses ``|shift| / scale``, or rho ``shift**2 / (2 variance)``: a closed form."""
    shifts = [other - one for one in streams(2, 2, 2) for other in neighbours(one, adjacency)]
    for loss in (PURE, CONCENTRATED):
        noise = (
            Perturber().plan(time_steps(2, 2), loss, adjacency).distribution.require_type(IntervalSums).levels[0].noise
        )
        pure = noise.family is Family.LAPLACE
        lost = max(int(abs(shift).sum() if pure else (shift**2).sum()) for shift in shifts)
        assert lost / noise.parameter / (1 if pure else 2) == Fraction(3, 10)


def test_a_step_adds_one_draw_of_the_distribution_to_each_count() -> None:
    mechanism: Sequential[TimeStepState] = Perturber()
    plan = mechanism.plan(time_steps(3, None), PURE, ONE)
    state, noisy = mechanism.begin(plan), []
    for time_step in range(1, 4001):
        answer, state = mechanism.step(np.array([5, 0, 2**62]), time_step, state, plan, Randomness.from_seed(time_step))
        noisy.append([answer[0] - 5, answer[1], answer[2] - 2**62])
    distribution = plan.distribution.require_type(IntervalSums)
    spread = np.square(noisy).mean() / distribution.levels[0].noise.variance
    assert abs(spread - 1) < 4 * np.sqrt(5 / 12_000)  # 4 sigma; the fourth moment of Laplace noise is 6
    assert len(np.unique(noisy, axis=0)) > 2000


def test_a_state_comes_back_from_its_bytes_and_no_time_step_is_skipped_or_repeated() -> None:
    mechanism = Perturber()
    plan = mechanism.plan(time_steps(1, 9), PURE, ONE)
    _, state = mechanism.step(np.array([1]), 1, mechanism.begin(plan), plan, Randomness.from_seed(1))
    assert mechanism.restore_state(state.to_bytes(), plan) == state
    assert "1" not in repr(state).partition(" at ")[0]
    for time_step in (1, 3):
        with pytest.raises(ValueError, match="state: step"):
            mechanism.step(np.array([1]), time_step, state, plan, Randomness.from_seed(1))
    for damaged in (b"", b"[]", b"{}", state.to_bytes().replace(b"memoryless", b"other"), b"\xff"):
        with pytest.raises(ValueError, match="state: the stored bytes are not a state of memoryless noise"):
            mechanism.restore_state(damaged, plan)


def test_what_is_no_question_of_a_stream_is_refused() -> None:
    with pytest.raises(UnsupportedQuery, match="question: what answers step by step cannot answer CountQuery"):
        Perturber().plan(counts(1, 2), PURE, ONE)
    plan = Perturber().plan(time_steps(2, None), PURE, ONE)
    with pytest.raises(ValueError, match="table: must have 2 counts per step, one for each state"):
        Perturber().step(np.array([1]), 1, TimeStepState(0), plan, Randomness.from_seed(1))
