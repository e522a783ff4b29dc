"""What the paper prints, to the letter. NOT PRIVATE, and partly not computable: kept here to show why.

- `grid` publishes the least and the largest value of the records: neighbours are told apart with certainty.
- `contributions` counts a record whose score equals a cut in two groups, so the loss of Algorithm 2 passes epsilon;
  and its lines 8 and 9 say nothing of s, so that positives and negatives get the same numbers.
- `inverse` bisects reals: where the precision is finer than the spacing of doubles it never ends.
- `has_least_change` is equation 3 with p = 1, whose sum has no absolute values: it falls without end.
- Noise here is a double of a Laplace distribution, whose low bits betray the value (Mironov 2012).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

FloatArray = NDArray[np.float64]
UNBOUNDED = 3
MOST_STEPS = 10_000


def grid(values: FloatArray, points: int) -> FloatArray:
    """Section 3.1: tau_1 is the least value, tau_N the largest."""
    return np.linspace(values.min(), values.max(), points)


def inverse(curve: Callable[[float], float], p: float, precision: float) -> tuple[float, int]:
    """Algorithm 1, and how many looks it took; after 10,000 it is stopped."""
    a, b, steps = 0.0, 1.0, 0
    while b - a > precision and steps < MOST_STEPS:
        m = (a + b) / 2
        a, b, steps = (m, b, steps + 1) if curve(m) < p else (a, m, steps + 1)
    return (a + b) / 2, steps


def contributions(score: FloatArray, label: FloatArray, cuts: FloatArray) -> FloatArray:
    """What each record adds to E_1, E_0, O_1 and O_0 of each group by lines 8 and 9: (records, 4 * groups)."""
    lower, upper = cuts[:-1], cuts[1:]
    inside = (lower <= score[:, None]) & (score[:, None] <= upper)
    expected, observed = inside * score[:, None], inside * label[:, None]
    return np.concatenate([expected, expected, observed, observed], axis=1)


def statistic(sums: FloatArray) -> float:
    """Line 11, from the sums over records of `contributions`: (4 * groups,)."""
    expected_1, expected_0, observed_1, observed_0 = np.split(sums, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = (observed_1 - expected_1) ** 2 / expected_1 + (observed_0 - expected_0) ** 2 / expected_0
    return float(terms.sum())


def noisy(sums: FloatArray, epsilon: float, levels: int, generator: np.random.Generator) -> FloatArray:
    """Lines 3, 8 and 9: Laplace noise of scale (L + 9) / epsilon."""
    return sums + generator.laplace(0.0, (levels + 9) / epsilon, len(sums))


def has_least_change(noises_of_points: FloatArray, falls: FloatArray) -> bool:
    """Whether equation 3 with p = 1 has a solution: minimise the sum of changes, without absolute values.

    Args:
        noises_of_points: Which noises each rise of the curve has, (rises, noises).
        falls: How much each rise must grow.
    """
    cost = np.ones(noises_of_points.shape[1])
    found = linprog(cost, A_ub=-noises_of_points, b_ub=-falls, bounds=(None, None), method="highs")
    if found.status == 4:  # "unbounded or infeasible": ask without cost whether it is feasible
        feasible = linprog(0 * cost, A_ub=-noises_of_points, b_ub=-falls, bounds=(None, None), method="highs")
        return not feasible.success
    return bool(found.status != UNBOUNDED)
