"""Mechanisms that choose lose no more than is claimed: tiny neighbours, units of 1 to 3 records, both currencies."""

from __future__ import annotations

from itertools import product
from math import exp, prod, tanh
from unittest.mock import patch

import numpy as np
import pytest
from choice_distributions import ANY, Chooser, IntArray, adjacencies, choosers, lost

from dpcurves.distributions import Noise
from dpcurves.mechanisms import AUTO, thresholds
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss

REACHED = {
    "quantile cuts, 2 pieces": 0.739, "quantile cuts, 3 pieces": 0.520, "quantile cuts, 4 pieces": 0.574,
    "noisy medians, 1 levels": 0.940, "noisy medians, 2 levels": 0.876, "noisy area": 0.522, "buckets": 0.752,
    "worst box": 0.679, "PrivTree, (4,) by (2,)": 1.0, "PrivTree, (3,) by (3,)": 1.0, "PrivTree, (2, 2) by (2, 2)": 1.0,
    "merged cells, 1 at least": 1.0, "merged cells, 3 at least": 0.989, "sparse vector, both ways, up to 1": 0.588,
    "sparse vector, both ways, up to 2": 0.339, "sparse vector, one way, up to 1": 0.496, "bounds of 1": 0.350,
    "bounds of 19/20": 0.356,
}  # fmt: skip
"""Parts of epsilon that tiny neighbours do lose, where one record comes or goes: with other noise they would not."""


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("chooser", list(choosers()), ids=lambda each: each.name)
def test_tiny_neighbours_lose_no_more_than_is_claimed(chooser: Chooser) -> None:
    pure, concentrated = (
        [lost(chooser, loss, each) for each in adjacencies(3)]
        for loss in (PrivacyLoss.pure("1.2"), PrivacyLoss.zcdp("0.3"))
    )
    assert max(each.share for each in (*pure, *concentrated)) <= 1 + 1e-9
    assert pure[0].share == pytest.approx(REACHED[chooser.name], abs=0.002)


@pytest.mark.parametrize(
    ("name", "epsilon"), [("merged cells, 1 at least", "2.5"), ("sparse vector, both ways, up to 1", "8")]
)
def test_every_draw_of_small_noise_through_run_gives_the_distribution_in_closed_form(name: str, epsilon: str) -> None:
    """Two cells, or three comparisons: four noises up to 6, beyond which all have a chance of about exp(-14)."""
    (chooser,) = (each for each in choosers(2) if each.name == name)
    table = np.array([2, 1, 0][: chooser.query.cells])
    table = np.append(table, 9)
    plan = AUTO.plan(chooser.query, PrivacyLoss.pure(epsilon), AddRemove(EACH_RECORD))
    noises: list[Noise] = []
    found: dict[tuple[int, ...], float] = {}
    drawn: list[int] = []

    def draws(noise: Noise, size: int, randomness: Randomness) -> IntArray:
        noises.extend([noise] * size)
        start = len(noises) - size
        return np.array(drawn[start : start + size], dtype=np.int64)

    with patch.object(thresholds, "sample_noise", draws):
        for each_noise in product(range(-6, 7), repeat=4):
            drawn[:] = each_noise
            noises.clear()
            values = AUTO.run(table, plan, ANY)
            chance = prod(
                exp(-abs(each) / float(noise.parameter)) * tanh(0.5 / float(noise.parameter))
                for each, noise in zip(drawn, noises, strict=True)
            )
            found[values] = found.get(values, 0.0) + chance
    assert sorted(found.values()) == pytest.approx(sorted(chooser.distribution(table, plan)), abs=1e-5)
