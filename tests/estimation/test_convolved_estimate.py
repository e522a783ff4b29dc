"""A square root of prefix sums read with counts of intervals: least squares, in dense algebra."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpcurves.arrays import FloatArray
from dpcurves.conversation import Evidence
from dpcurves.distributions import Family, IntervalSums, Noise, Tier, ToeplitzSums
from dpcurves.estimation.joint_estimate import ConvolvedEstimate

CELLS, BITS = 8, 20


def noise(variance: int) -> Noise:
    return Noise(Family.GAUSSIAN, Fraction(variance))


LAST = ToeplitzSums(1, CELLS, 1, BITS, noise(30 * 4**BITS), missing=noise(7))
FIRST = IntervalSums(
    1, CELLS, tuple(Tier(range(0, CELLS, width), noise(90 // width)) for width in (4, 2, 1)), missing=noise(11)
)


def evidence(total: int | None) -> tuple[Evidence, Evidence]:
    """Make up two turns over eight cells and a missing one; the answers are arbitrary integers."""
    draw = np.random.default_rng(3)
    last = (*(draw.integers(-5, 300, CELLS) * 2**BITS).tolist(), 3)
    return Evidence(FIRST, tuple(draw.integers(-5, 200, FIRST.size).tolist()), total), Evidence(LAST, last, total)


def least_squares(turn: Evidence, last: Evidence) -> FloatArray:
    """All values at once, as noisy sums of eight cells and a missing one."""
    weights = LAST.weights / 2.0**BITS
    missing = np.eye(CELLS + 1)[-1]
    sums = [np.append(weights[: end + 1][::-1], np.zeros(CELLS - end)) for end in range(CELLS)] + [missing]
    for level in FIRST.levels:
        places = np.arange(CELLS + 1)
        sums += [1.0 * ((places >= first) & (places < end)) for first, end in pairwise((*level.starts, CELLS))]
    variances = [LAST.variance] * CELLS + [7.0]
    variances += [level.noise.variance for level in FIRST.levels for _ in level.starts] + [11.0]
    values = [*(np.array(last.values[:-1]) / 2.0**BITS), last.values[-1], *turn.values]
    sums.append(missing)
    if last.total is not None:
        sums, variances, values = [*sums, np.ones(CELLS + 1)], [*variances, 1e-6], [*values, last.total]
    matrix, precision = np.array(sums), 1 / np.array(variances)
    weighed = matrix.T * precision
    return np.asarray(np.linalg.solve(weighed @ matrix, weighed @ np.array(values))[:CELLS])


@pytest.mark.parametrize("total", [None, 1000], ids=["private", "public"])
def test_all_turns_are_read_by_generalised_least_squares(total: int | None) -> None:
    turn, last = evidence(total)
    found = ConvolvedEstimate((turn,), last)
    np.testing.assert_allclose(found.cells, least_squares(turn, last), atol=1e-3)
    assert found.total == pytest.approx(found.cells.sum())


def test_counts_without_noise_are_taken_as_they_are() -> None:
    """Nested counts say the same twice: what is to be solved would be singular."""
    cells = np.array([5, 0, 0, 7, 1, 1, 2, 9])
    exact = Noise(Family.GAUSSIAN, Fraction(1, 10**6))
    distribution = IntervalSums(1, CELLS, tuple(Tier(range(0, CELLS, width), exact) for width in (4, 1)), missing=exact)
    turn = Evidence(distribution, (12, 13, *cells.tolist(), 0), 25)
    np.testing.assert_allclose(ConvolvedEstimate((turn,), evidence(25)[1]).cells, cells, atol=1e-3)
