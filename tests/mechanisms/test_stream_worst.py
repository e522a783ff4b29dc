"""PeGaSus near its worst case, and trees under tuples that are chosen by answers, at fractional orders."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from stream_worst import (
    CEILING,
    deviations,
    distributions_of_answers,
    divergence_over_order,
    log_chance_of_group,
    rules,
    worst_group,
)
from test_pegasus import Exact

from dpcurves.conversation import Plan
from dpcurves.data import Categories
from dpcurves.distributions import Family, Noise
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts, PrefixTree
from dpcurves_streams.mechanisms import Pegasus
from dpcurves_streams.mechanisms.pegasus import (
    LATTICE_UNITS_PER_TUPLE,
    STATE_COLUMNS,
    build_fenwick_trees,
    decide_groups,
)
from dpcurves_streams.queries import GroupedTimeStepQuery

STATES = (Categories("state", ("a",)),)


def planned(epsilon: str, deviation: str = "0.01") -> tuple[Plan, GroupedCounts, Fraction]:
    """A plan with this epsilon, and the part of it that the Grouper has."""
    query = GroupedTimeStepQuery(STATES, None, deviation=Fraction(deviation))
    plan = Pegasus().plan(query, PrivacyLoss.pure(epsilon), AddRemove(EACH_RECORD))
    return plan, plan.distribution.require_type(GroupedCounts), Fraction(epsilon) * query.budget_fraction


def test_decisions_fall_at_the_deviations_that_are_summed_over() -> None:
    for values in worst_group(50):
        found = deviations(values)
        for limit, joins in ((found[-2] + 1, 49), (found[-2], 48)):
            noise, trees = np.zeros((51, 1), np.int64), build_fenwick_trees(np.zeros((1, 1), np.int64), 1024)
            joined = decide_groups(values[:, None], noise + limit, noise, np.zeros((1, STATE_COLUMNS), np.int64), trees)
            assert joined[:50].sum() == joins
            assert joined[50] == 0


def test_chances_of_groups_are_those_that_are_enumerated() -> None:
    _, distribution, _ = planned("5")
    exact, chance = Exact(distribution), np.random.default_rng(2)
    first = None
    for _ in range(20):
        values = chance.integers(0, 4, 5)
        offset = np.log(exact.chance_of_group(tuple(values.tolist()), True)) - log_chance_of_group(values, distribution)
        first = offset if first is None else first
        assert offset == pytest.approx(first, abs=1e-9)  # a constant, which no ratio has


def test_pegasus_comes_near_its_loss_with_its_own_shares_and_a_long_group() -> None:
    _, distribution, epsilon = planned("0.001")
    ours, theirs = (log_chance_of_group(values, distribution) for values in worst_group(600))
    grouper = abs(ours - theirs) / float(epsilon)
    assert CEILING - 0.01 < grouper < CEILING
    counts = 1 / distribution.noise.parameter / Fraction("0.001")  # what a noisy count loses, wherever it lies
    assert counts == Fraction(4, 5)
    assert 0.955 < float(counts) + grouper / 5 < 1


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "10"])
def test_no_group_loses_more_than_the_ceiling(epsilon: str) -> None:
    """Groups of up to 30 time steps of zeros, of steps, of what falls or rises, with one tuple more at any of them."""
    _, distribution, share = planned(epsilon, "0.5")
    chance, worst = np.random.default_rng(8), 0.0
    for _ in range(120):
        length = int(chance.integers(2, 31))
        levels = chance.integers(0, 9, 3)
        values = np.sort(levels[chance.integers(0, 3, length)])[:: int(chance.choice((-1, 1)))]
        values = np.append(values, chance.integers(0, 4 * length))
        more = values + (np.arange(length + 1) == chance.integers(0, length + 1))
        worst = max(
            worst,
            abs(log_chance_of_group(values, distribution) - log_chance_of_group(more, distribution)) / float(share),
        )
    assert 0.3 < worst < CEILING + 4 / LATTICE_UNITS_PER_TUPLE / 8  # each deviation is rounded down by less than a step


@pytest.mark.parametrize(("widths", "variances"), [((1,), (1,)), ((3, 1), ("1", "1/2")), ((3, 1), ("1/2", "1/2"))])
def test_tuples_that_come_by_answers_lose_no_more_at_orders_that_are_no_whole_numbers(
    widths: tuple[int, ...], variances: tuple[str | int, ...]
) -> None:
    """Fixed time steps, and thirty rules that look at the answers before, exactly but for noise that never comes."""
    tree = PrefixTree(widths, tuple(Noise(Family.GAUSSIAN, Fraction(each)) for each in variances))
    rho, worst = float(sum(1 / (2 * Fraction(each)) for each in variances)), 0.0
    for rule in rules(widths[0], 30, 1):
        distributions = distributions_of_answers(tree, rule, reach=9 if widths == (1,) else 6)
        for order in (1.05, 1.5, 2.5, 3.7):
            worst = max(
                worst, *(divergence_over_order(*pair, order, 1e-15) for pair in (distributions, distributions[::-1]))
            )
    assert 0.9 * rho < worst <= rho * (1 + 1e-9)
