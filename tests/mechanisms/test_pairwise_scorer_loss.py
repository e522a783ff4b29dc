"""A learned scorer: neighbours lose what was paid for counts, sums and held-out scores together, exactly."""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from exact_loss import unit_loss
from tiny_tables import ADJACENCIES

import dpcurves as dp
from dpcurves.conversation import Release
from dpcurves.distributions import Family, Noise, NoisySums
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss
from dpcurves.queries import Query
from dpcurves.trust import Central, run_conversation

sys.path.insert(0, str(Path(__file__).parents[1] / "curves"))

from by_hand import table_of

QUESTION = dp.PairwiseScorerQuestion("y", (dp.NumericColumn("a", -1, 1), dp.NumericColumn("b", 0, 4)))
Kind = tuple[int, float, float]
KINDS: list[Kind] = [*product((0, 1), (-9.0, 0.3, 1.0), (-np.inf, 4.0)), (7, 1.0, 1.0), (1, np.nan, 1.0)]
"""Labels, of which one is none, and features inside, at and beyond their bounds, and none."""


def asked(loss: PrivacyLoss, adjacency: Adjacency) -> list[tuple[Query, NoisySums]]:
    """Turns of an answer about some records: those of held-out scores depend on what was released."""
    steps, chance = run_conversation(QUESTION, loss, adjacency, Central()), Randomness.from_seed(1)
    found = list[tuple[Query, NoisySums]]()
    columns = {name: np.array(column) for name, column in zip("yab", zip(*KINDS, strict=True), strict=True)}
    step = next(steps)
    try:
        while True:
            plan = AUTO.plan(step.query, loss * step.budget_fraction, adjacency)
            assert isinstance(plan.distribution, NoisySums)
            found.append((step.query, plan.distribution))
            step = steps.send(Release(plan, AUTO.run(table_of(columns, step.query), plan, chance), None, seeded=True))
    except StopIteration:
        return found


def sums_of(kind: Kind, query: Query, distribution: NoisySums) -> list[tuple[int, Noise]]:
    """Contribution of a record to each noisy sum, and the noise of that."""
    columns = {name: np.array([value]) for name, value in zip("yab", kind, strict=True)}
    return [
        (int(each), noise)
        for part, noise in compute_exact_sums(table_of(columns, query), distribution)
        for each in part
    ]


def cost(one: list[tuple[int, Noise]], other: list[tuple[int, Noise]], records: int) -> Fraction:
    """The loss of a turn where so many records of a kind become ones of another kind."""
    found = Fraction(0)
    for (first, noise), (second, _) in zip(one, other, strict=True):
        shift = records * abs(first - second)
        found += unit_loss(noise) * (shift if noise.family is Family.LAPLACE else shift**2)
    return found


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_neighbours_lose_at_most_what_was_paid_and_some_lose_all_of_it(adjacency: Adjacency) -> None:
    """Under replace-one no two records are opposite in features and in their products: squares of shifts are fewer."""
    for loss, claimed in ((PrivacyLoss.pure("0.7"), "0.7"), (PrivacyLoss.zcdp("0.3"), "0.3")):
        lost: Counter[tuple[int, int]] = Counter()
        for query, distribution in asked(loss, adjacency):
            added = [sums_of(kind, query, distribution) for kind in KINDS]
            nobody = [[(0, noise) for _, noise in added[0]]]
            others = nobody if isinstance(adjacency, AddRemove) else added
            for (one, ours), (other, theirs) in product(enumerate(added), enumerate(others)):
                lost[one, other] += cost(ours, theirs, adjacency.unit.records)  # type: ignore[assignment]
        all_of_it = loss.is_pure or isinstance(adjacency, AddRemove)
        assert (0.97 if all_of_it else 0.6) * float(claimed) < max(lost.values()) <= Fraction(claimed)
