"""The closed form against the exact recursion, and the shares against a general optimiser."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.mechanisms.tree_strategy import PerfectTrees

WHOLE = 10**6  # noise so large that its being discrete does not matter


def trees(radices: list[float], width: int, rows: int, power: int, total_is_public: bool) -> PerfectTrees:
    exact = np.array([radices])
    widths = width * np.append(np.cumprod(exact[:, :0:-1], axis=1)[:, ::-1], [[1.0]], axis=1)
    return PerfectTrees(exact, widths, rows, power, total_is_public)


@pytest.mark.parametrize("total_is_public", [True, False])
@pytest.mark.parametrize("power", [1, 2])
def test_errors_equal_the_exact_recursion_where_all_nodes_are_alike(power: int, total_is_public: bool) -> None:
    shares = {1: [1.0], 2: [0.4, 0.6], 3: [0.2, 0.3, 0.5]}
    family = Family.LAPLACE if power == 2 else Family.GAUSSIAN
    unit = Noise(family, Fraction(WHOLE)).variance
    for radices, rows, width in product([[7.0], [4.0, 3.0], [1.0, 5.0], [3.0, 2.0, 4.0]], (1, 2), (1, 3)):
        perfect = trees(radices, width, rows, power, total_is_public)
        parts = shares[len(radices)]
        cells = int(np.prod(radices)) * width
        levels = tuple(
            Tier(range(0, cells, int(wide)), Noise(family, Fraction(WHOLE) / Fraction(str(share))))
            for wide, share in zip(perfect.widths[0], parts, strict=True)
        )
        distribution = IntervalSums(rows, cells, levels, Noise(family, Fraction(WHOLE)))
        exact = distribution.prefix_variances(total_is_public)[0, :-1].mean() / unit
        assert perfect.prefix_errors(np.array([parts]))[0] == pytest.approx(exact, rel=1e-5)


def test_a_last_node_that_is_cut_off_is_predicted_closely() -> None:
    """10 intervals of 10 cells, of which the last has 5."""
    perfect = PerfectTrees(np.array([[9.5, 10.0]]), np.array([[10.0, 1.0]]), 1, 2, True)
    noises = [Noise(Family.LAPLACE, Fraction(WHOLE * 2)) for _ in range(2)]
    levels = (Tier(range(0, 95, 10), noises[0]), Tier(range(95), noises[1]))
    distribution = IntervalSums(1, 95, levels, Noise(Family.LAPLACE, Fraction(WHOLE)))
    exact = distribution.prefix_variances(total_is_public=True)[0, :-1].mean() / (2 * WHOLE**2)
    assert perfect.prefix_errors(np.array([[0.5, 0.5]]))[0] == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("total_is_public", [True, False])
@pytest.mark.parametrize(
    ("radices", "power"),
    [([8.0, 8.0, 16.0], 2), ([16.0, 16.0], 2), ([8.0, 8.0, 16.0], 1), ([3.0, 3.0, 3.0, 5.0], 1)],
)
def test_shares_are_as_good_as_those_of_a_general_optimiser(
    radices: list[float], power: int, total_is_public: bool
) -> None:
    perfect = trees(radices, 1, 1, power, total_is_public)
    ours = perfect.optimise_budget_fractions()

    def error(logarithms: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        shares = np.exp(logarithms)
        return float(perfect.prefix_errors((shares / shares.sum())[None])[0])

    best = minimize(error, np.zeros(len(radices)), method="Nelder-Mead", options={"maxiter": 2000, "fatol": 1e-9})
    assert ours.sum() == pytest.approx(1)
    assert perfect.prefix_errors(ours)[0] <= best.fun * (1 + 1e-6)
