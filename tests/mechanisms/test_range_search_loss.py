"""A search for a range and the counts after it: whatever is answered, tiny neighbours lose what was paid at most."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_refining_loss import LARGE, LOSSES, answers, worst_loss
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves.conversation import (
    AutomaticGridWorkload,
    AutomaticRangeWorkload,
    Plan,
    Release,
    Setting,
    Step,
    TableCounts,
)
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import PartitionQuery
from dpcurves.session import answer_steps
from dpcurves.strategies import range_search

EVENTS: tuple[Adjacency, ...] = (AddRemove(Unit("patient", 3)), ReplaceOne(Unit("patient", 3), 3))


def conversed(
    loss: PrivacyLoss, adjacency: Adjacency, way: int, *, looks_alone: bool = False
) -> tuple[TableCounts, list[Plan], Fraction]:
    plans: list[Plan] = []
    shares: list[Fraction] = []

    def reply(step: Step) -> Release:
        assert isinstance(step.query, PartitionQuery)
        plans.append(AUTO.plan(step.query, loss * step.budget_fraction, adjacency))
        shares.append(step.budget_fraction)
        distribution = plans[-1].distribution
        assert isinstance(distribution, IntervalSums)
        values = answers(distribution.size, len(plans), way)
        return Release(plans[-1], tuple(values.tolist()), allotment=None, seeded=True)

    setting = Setting(loss, adjacency)
    if looks_alone:
        found = answer_steps(range_search.search_range(AutomaticGridWorkload("x", 4), setting), reply)
    else:
        found = answer_steps(range_search.search_and_count(AutomaticRangeWorkload("x"), setting), reply)
    return found, plans, sum(shares, start=Fraction(0))


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("loss", (LOSSES | LARGE).values(), ids=list(LOSSES | LARGE))
@pytest.mark.parametrize("adjacency", [*ADJACENCIES, *EVENTS], ids=repr)
def test_all_turns_together_lose_what_was_granted(
    adjacency: Adjacency, loss: PrivacyLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_search, "DECADES", (1.0, 4.0))
    few = replace(range_search.TUNING, grid_cells=(2, 3), pilot_cells=(2, 3), few_multiples=3)
    monkeypatch.setattr(range_search, "TUNING", few)
    granted = loss.epsilon if loss.epsilon is not None else loss.rho
    tight, turns = [], set()
    for way in range(4 if adjacency in EVENTS else 5):
        found, plans, spent = conversed(loss, adjacency, way)
        assert spent == 1
        assert len({plan.query for plan in plans}) == len(plans)  # each is paid, and has noise of its own
        distributions = [turn.interval_sums for turn in found.evidence]  # of all turns, on the cells of the last one
        planned: list[Any] = [plan.distribution for plan in plans]
        assert [each.levels[0].noise for each in distributions] == [each.levels[0].noise for each in planned]
        sets = data_sets(distributions[-1].cells + 1, 3)
        worst = worst_loss(list(distributions), sets, neighbours(sets, adjacency))
        assert worst <= granted
        tight.append(worst == granted)
        turns.add(len(plans))
    assert any(tight)
    assert len(turns) > 1


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("adjacency", [*ADJACENCIES, *EVENTS], ids=repr)
def test_looks_alone_lose_what_was_granted_however_they_cut(
    adjacency: Adjacency, loss: PrivacyLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_search, "DECADES", (1.0, 4.0))
    monkeypatch.setattr(range_search, "TUNING", replace(range_search.TUNING, pilot_cells=(2, 3)))
    granted = loss.epsilon if loss.epsilon is not None else loss.rho
    for way in range(4):
        found, plans, spent = conversed(loss, adjacency, way, looks_alone=True)
        assert spent == 1
        assert len({plan.query for plan in plans}) == len(plans) == range_search.TUNING.rounds_alone
        distributions = [turn.interval_sums for turn in found.evidence]
        sets = data_sets(distributions[-1].cells + 1, 3)
        assert worst_loss(list(distributions), sets, neighbours(sets, adjacency)) <= granted
        assert found.chosen_grid.cells >= 1


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("way", range(8))
@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_over_all_doubles_shares_add_up_to_one_whatever_is_answered(way: int, loss: PrivacyLoss) -> None:
    for adjacency in ADJACENCIES[::2]:
        found, plans, spent = conversed(loss, adjacency, way)
        assert spent == 1
        assert 2 <= len(plans) <= range_search.MOST_ROUNDS
        assert found.chosen_grid.endpoints == (-range_search.LARGEST_EDGE, range_search.LARGEST_EDGE)
        assert len({plan.query for plan in plans}) == len(plans)
