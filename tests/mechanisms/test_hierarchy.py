"""Aggregations of states: what a forest is, the loss on all tiny neighbouring streams, and the best estimates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tiny_streams import ADJACENCIES, neighbours, streams

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss
from dpcurves_streams.distributions import HierarchyCounts, NodeEstimates
from dpcurves_streams.mechanisms import STREAMS, Hierarchy
from dpcurves_streams.mechanisms.hierarchy import best_budget_fractions, mean_deviation
from dpcurves_streams.queries import Forest, HierarchyQuery, TimeStepQuery
from dpcurves_streams.readings import AggregatedCounts, Low, Smoothing

ONE = AddRemove(EACH_RECORD)
UNEVEN = Forest.from_json({"all": {"left": ["a", "b", "c"], "right": {"far": ["d"], "near": ["f"]}}, "alone": ["e"]})
TINY = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})


def sums(forest: Forest) -> Any:
    """Which states each node adds up."""
    rows = np.zeros((len(forest.names), len(forest.states)), dtype=np.int64)
    for row, members in zip(rows, forest.members, strict=True):
        row[list(members)] = 1
    return np.concatenate((rows, np.eye(len(forest.states), dtype=np.int64)))


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1), PrivacyLoss.zcdp("0.5")], ids=str)
def test_the_worst_neighbours_lose_no_more_than_is_claimed(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    distribution = (
        Hierarchy()
        .plan(HierarchyQuery.from_forest("ap", TINY), loss, adjacency)
        .distribution.require_type(HierarchyCounts)
    )
    rows, worst = sums(TINY), Fraction(0)
    for stream in streams(3, 1, 2):
        for other in neighbours(stream, adjacency):
            shift = rows.dot((other - stream)[0]).tolist()
            costs = [
                abs(each) / noise.parameter if loss.is_pure else Fraction(each**2) / (2 * noise.parameter)
                for each, noise in zip(shift, distribution.noises, strict=True)
                if noise is not None
            ]
            worst = max(worst, sum(costs, Fraction(0)))
    claimed = loss.epsilon if loss.epsilon is not None else loss.rho
    assert claimed / 2 < worst <= claimed


@pytest.mark.parametrize("forest", [UNEVEN, TINY], ids=["uneven", "tiny"])
def test_estimates_are_least_squares_and_so_are_their_variances(forest: Forest) -> None:
    generator, rows = np.random.default_rng(1), sums(forest)
    variances = generator.uniform(1, 9, len(rows))
    variances[1] = np.inf  # not counted
    counted = np.isfinite(variances)
    weights = np.diag(1 / variances[counted])
    strategy = rows[counted].astype(float)
    inverse = np.linalg.inv(strategy.T @ weights @ strategy)
    estimates = NodeEstimates(forest.parents, variances)
    np.testing.assert_allclose(estimates.variances, np.diag(rows @ inverse @ rows.T))
    values = generator.normal(size=int(counted.sum()))
    np.testing.assert_allclose(estimates.estimate_nodes(values), rows @ inverse @ strategy.T @ weights @ values)


def test_shares_of_levels_are_chosen_by_predicted_error_and_add_up_along_every_path() -> None:
    deep = Forest.from_sets({f"{size}:{start}": [f"s{start + each}" for each in range(size)]
                      for size in (32, 8, 2) for start in range(0, 32, size)})  # fmt: skip
    for family in Family:
        shares = best_budget_fractions(deep, family)
        for node in range(len(deep.names), len(shares)):
            path, above = shares[node], deep.parents[node]
            while above >= 0:
                path, above = path + shares[above], deep.parents[above]
            assert path == 1
        alone = tuple(Fraction(int(number >= len(deep.names))) for number in range(len(shares)))
        assert mean_deviation(deep, shares, family) <= mean_deviation(deep, alone, family)
    assert best_budget_fractions(deep, Family.GAUSSIAN) != alone


@pytest.mark.parametrize("smoothing", list(Smoothing))
def test_without_noise_all_nodes_windows_and_events_are_exact(smoothing: Smoothing) -> None:
    question = AggregatedCounts("ap", UNEVEN, windows=(2,), events=(Low(2, 3),), smoothing=smoothing)
    plan = STREAMS.plan(question.query, PrivacyLoss.pure(10**4), ONE)
    state, reader, rows = STREAMS.begin(plan), question.reader(plan), sums(UNEVEN)
    names = ("all", "left", "right", "alone", "far", "near", "a", "b", "c", "d", "f", "e")
    assert question.state_labels == tuple({"ap": name} for name in names)
    tables = np.random.default_rng(2).integers(0, 9, (6, 6))
    for time_step, table in enumerate(tables, start=1):
        values, state = STREAMS.step(table, time_step, state, plan, Randomness.from_seed(time_step))
        state = STREAMS.restore_state(state.to_bytes(), plan)
        found = reader.read_next(values)
        np.testing.assert_allclose(found.counts, rows @ table, atol=1e-9)
        window = rows @ tables[max(time_step - 2, 0) : time_step].sum(axis=0)
        np.testing.assert_allclose(found.windows[2], window, atol=1e-9)
        assert found.events["low:2:3"].tolist() == ((window < 3) & (time_step > 1)).tolist()


def test_a_forest_is_as_definition_6_says() -> None:
    assert UNEVEN.parents == (-1, 0, 0, -1, 2, 2, 1, 1, 1, 4, 5, 3)
    flat = Forest.from_sets({"left": ["a", "b"], "all": ["a", "b", "c"], "right": ["c"]})
    assert flat.parents == (-1, 0, 0, 1, 1, 2)
    assert (flat.names, flat.members) == (TINY.names, TINY.members)
    overlapping: tuple[Any, ...] = (
        {"x": ["a", "b"], "y": ["b", "c"]},
        {"x": ["a"], "y": ["a"]},
        {"x": []},
        {"a": ["a"]},
        {"x": {"x": ["a"]}},
    )
    for wrong in overlapping:
        with pytest.raises(ValueError, match="hierarchy"):
            Forest.from_json(wrong)
    others: tuple[Any, ...] = ([], {}, {"x": 3}, {"x": [3]}, {"x": "ab"}, {"x": {}})
    for odd in others:
        with pytest.raises(TypeError, match="hierarchy"):
            Forest.from_json(odd)


def test_what_is_no_question_of_a_forest_is_refused() -> None:
    axis = HierarchyQuery.from_forest("ap", TINY).axes
    with pytest.raises(UnsupportedQuery, match="question: aggregations of states"):
        Hierarchy().plan(TimeStepQuery(axis), PrivacyLoss.pure(1), ONE)
    with pytest.raises(ValueError, match="hierarchy: the question must have one axis"):
        HierarchyQuery(axis, forest=UNEVEN)
