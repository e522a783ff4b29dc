"""Counters whose noise is that of a few nodes: ``L R = A``, how much one tuple shifts, and the errors of the papers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from baselines import PathCounter, binary, mean_variance, subtracting, theorem_3

from dpcurves.noise.randomness import Randomness

COUNTERS: dict[str, Callable[[int], PathCounter]] = {
    "Theorem 3": theorem_3, "binary": binary,
    "radix 3": lambda time_steps: subtracting(time_steps, 3), "radix 5": lambda time_steps: subtracting(time_steps, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTERS)
def test_what_a_tuple_shifts_is_what_hides_it_and_no_more_than_the_scale_pays_for(name: str) -> None:
    for time_steps in (1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64):
        counter = COUNTERS[name](time_steps)
        for came in range(1, time_steps + 1):
            shift = counter.accounts(came)
            assert sum(abs(each) for each in shift.values()) <= counter.nodes
            hidden = [
                sum(sign * shift.get(node, 0) for node, sign in counter.noises(time_step).items())
                for time_step in range(1, time_steps + 1)
            ]
            assert hidden == [int(time_step >= came) for time_step in range(1, time_steps + 1)]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", COUNTERS)
def test_totals_scatter_by_their_nodes_and_no_node_comes_back(name: str) -> None:
    time_steps, runs = 20, 400
    counter, randomness, errors = COUNTERS[name](time_steps), Randomness.from_seed(1), []
    for _ in range(runs):
        state: tuple[int, dict[tuple[int, int], int]] = (0, {})
        for time_step in range(1, time_steps + 1):
            total, state = counter.step(time_step, time_step, state, Fraction(1, 2), randomness)
            errors.append(total - time_step * (time_step + 1) // 2)
    gone = [set(counter.noises(time_step)) for time_step in range(1, time_steps + 1)]
    assert all(not (one - two) & later for one, two, later in zip(gone, gone[1:], gone[2:], strict=False))
    spread = np.square(errors).mean() / float(4 * mean_variance(counter, time_steps))
    assert abs(spread - 1) < 4 * np.sqrt(5 / runs)  # errors of one run are alike


def test_errors_are_those_of_the_papers() -> None:
    """The errors of Theorem 3, of the binary tree, and of the best radix."""
    for time_steps, expected in ((2**10, (792, 1210, 170.5)), (2**12, (1274, 2028, 270.9))):
        counters: list[PathCounter] = [theorem_3(time_steps), binary(time_steps)]
        best = min(float(mean_variance(subtracting(time_steps, radix), time_steps)) for radix in range(3, 30, 2))
        found = [*(float(mean_variance(counter, time_steps)) for counter in counters), best]
        np.testing.assert_allclose(found, expected, rtol=2e-3)
