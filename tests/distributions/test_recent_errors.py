"""Errors that were simulated before are those that would be simulated now, to the last bit, within a bound of bytes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.distributions.output_distribution import RecentErrors

NOISE = Noise(Family.LAPLACE, Fraction(3))
DISTRIBUTION = IntervalSums(2, 6, (Tier(range(0, 6, 3), NOISE), Tier(range(6), NOISE)), NOISE)
GAUSSIAN = Noise(Family.GAUSSIAN, Fraction(5))
CALLS: list[tuple[Any, int | None, int]] = [
    (DISTRIBUTION, None, 7), (DISTRIBUTION, 0, 7), (DISTRIBUTION, None, 8),
    (IntervalSums(2, 6, DISTRIBUTION.levels, GAUSSIAN), None, 7),
    (IntervalSums(2, 6, DISTRIBUTION.levels, None), 0, 7), (IntervalSums(3, 6, DISTRIBUTION.levels, NOISE), None, 7),
]  # fmt: skip


def simulate_anew(distribution: Any, total: int | None, draws: int, generator: np.random.Generator) -> Any:
    return distribution.reconstruct(distribution.simulate_values(draws, generator), total)


@pytest.mark.parametrize("stream", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937])
@pytest.mark.parametrize("most_bytes", [0, 1000, 2**20])
def test_a_generator_gives_the_same_errors_and_moves_on_alike_whatever_was_simulated_before(
    stream: Any, most_bytes: int
) -> None:
    recent, plain = RecentErrors(most_bytes), np.random.Generator(stream(1))
    expected = [simulate_anew(*call, plain) for call in (*CALLS, *CALLS)]
    after = plain.random()
    for _ in range(2):
        generator = np.random.Generator(stream(1))
        for call, (cells, missing) in zip((*CALLS, *CALLS), expected, strict=True):
            found = recent.simulate(*call, generator)
            assert np.array_equal(found[0], cells)
            assert np.array_equal(found[1], missing)
            for each in found:
                np.add(each, 1, out=each)  # the caller's own
        assert generator.random() == after


def test_equal_calls_are_simulated_once_and_others_each() -> None:
    recent, simulated = RecentErrors(2**20), list[int]()

    class Counted(IntervalSums):
        def simulate_values(self, draws: int, generator: np.random.Generator) -> Any:
            simulated.append(draws)
            return super().simulate_values(draws, generator)

    distribution = Counted(2, 6, DISTRIBUTION.levels, NOISE)
    for draws, seed, total in ((7, 1, None), (7, 1, None), (8, 1, None), (7, 2, None), (7, 1, 0), (8, 1, None)):
        recent.simulate(distribution, total, draws, np.random.default_rng(seed))
    assert simulated == [7, 8, 7, 7]
    half = np.random.default_rng(1)
    half.integers(0, 9, dtype=np.uint16)  # the stream holds the rest of a number
    recent.simulate(distribution, None, 7, half)
    assert len(simulated) == 5


def test_a_distribution_with_arrays_is_simulated_each_time() -> None:
    distribution = IntervalSums(1, 6, (Tier(np.arange(6), NOISE),), None)  # type: ignore[arg-type]
    first, second = (RecentErrors(2**20).simulate(distribution, None, 3, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first[0], second[0])


def test_the_oldest_errors_are_let_go_of_above_the_bound_of_bytes() -> None:
    size = sum(each.nbytes for each in simulate_anew(DISTRIBUTION, None, 7, np.random.default_rng(1)))
    recent = RecentErrors(2 * size)
    for seed in (1, 2, 1, 3):
        recent.simulate(DISTRIBUTION, None, 7, np.random.default_rng(seed))
    states = [np.random.default_rng(seed).bit_generator.state["state"]["state"] for seed in (1, 3)]
    kept: list[Any] = list(recent._chunks)
    assert [key[4] for key in kept] == states
