"""The exact distribution of a choice of the worst box on all tiny neighbouring tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Selection
from dpcurves.mechanisms import AUTO, ExponentialWorstBox
from dpcurves.mechanisms.exponential import count_boxes
from dpcurves.mechanisms.exponential import misfit_rate as rate_of
from dpcurves.noise import exponential as selection
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves.queries import WorstBoxQuery

FloatArray = NDArray[np.float64]
PURE = PrivacyLoss.pure("1.5")
CONCENTRATED = PrivacyLoss.zcdp("0.2")
BOXES = (((0, 1), (0, 2)), ((0, 2), (1, 2)), ((0, 2), (0, 2)), ((1, 2), (0, 1)))
QUERY = WorstBoxQuery(axes(2, 2), BOXES, (1, 0, 2, 3))
ALPHAS = (1.01, 1.5, 2.0, 4.0, 16.0)


def log_chances(loss: PrivacyLoss, adjacency: Adjacency) -> FloatArray:
    rate = rate_of(loss, adjacency)
    found = [
        selection.selection_probabilities(
            -np.abs(count_boxes(table[:-1].reshape(2, 2), BOXES) - np.array(QUERY.expected)), rate
        )
        for table in data_sets(5, 4)
    ]  # fmt: skip
    return np.log(np.array(found))


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_neither_loss_is_ever_exceeded(adjacency: Adjacency) -> None:
    pairs = neighbours(data_sets(5, 4), adjacency)
    pure = log_chances(PURE, adjacency)
    worst = float(np.abs(pure[pairs[:, 0]] - pure[pairs[:, 1]]).max())
    assert 0.4 < worst <= 1.5 + 1e-9
    logs = log_chances(CONCENTRATED, adjacency)
    here, there = logs[pairs[:, 0]], logs[pairs[:, 1]]
    for alpha in ALPHAS:
        divergence = np.log(np.exp(alpha * here + (1 - alpha) * there).sum(axis=1)) / (alpha - 1)
        assert divergence.max() <= alpha * 0.2 + 1e-9


def test_both_adjacencies_lose_what_they_claim() -> None:
    """Replacing a record loses as much as adding or removing one: no half of the claim is left unused."""
    for adjacency in ADJACENCIES:
        pure, pairs = log_chances(PURE, adjacency), neighbours(data_sets(5, 4), adjacency)
        assert np.abs(pure[pairs[:, 0]] - pure[pairs[:, 1]]).max() > 0.6 * 1.5 / adjacency.unit.records
        assert rate_of(PURE, adjacency) == rate_of(PURE, AddRemove(adjacency.unit))


def test_boxes_count_what_lies_in_them() -> None:
    generator = np.random.default_rng(3)
    cells = generator.integers(0, 9, (3, 4, 5))
    boxes = [((0, 3), (0, 4), (0, 5)), ((1, 2), (2, 4), (0, 3)), ((2, 3), (3, 4), (4, 5))]
    sums = [int(cells[tuple(slice(*side) for side in box)].sum()) for box in boxes]
    assert count_boxes(cells, boxes).tolist() == sums


def test_the_worst_box_is_chosen_where_there_is_next_to_no_noise() -> None:
    plan = AUTO.plan(QUERY, PrivacyLoss.pure(1000), AddRemove(EACH_RECORD))
    assert plan.distribution == Selection((0,))
    assert AUTO.run(np.array([1, 0, 90, 0, 5]), plan, Randomness.from_seed(0)) == (2,)


def test_what_it_cannot_do_is_refused() -> None:
    adjacency = AddRemove(EACH_RECORD)
    with pytest.raises(UnsupportedQuery, match="box"):
        ExponentialWorstBox().plan(counts(1, 8), PURE, adjacency)
    with pytest.raises(UnsupportedQuery, match="above zero"):
        ExponentialWorstBox().plan(QUERY, PURE * Fraction(0), adjacency)
