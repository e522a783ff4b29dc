"""Units are counted by their records, then a question is asked under the bound: all turns lose what was granted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray
from test_refining_loss import LARGE, LOSSES, answers, worst_loss

from dpcurves.conversation import Release, Step
from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import Adjacency, AdjacencyWithoutBound, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, SizedUnitsQuery, UnitSizesQuery
from dpcurves.session import ask_with_contribution_bound
from dpcurves.strategies.contribution_bounds import PILOT_FRACTION
from dpcurves.trust import Central

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
IntArray = NDArray[np.int64]
SIZES = 22
"""Cells of units by their records."""


@dataclass(frozen=True)
class Tiny:
    """Tables of up to three units of up to four records, along a grid.

    Attributes:
        cells: Cells of the grid; behind them is one of missing records.
        step: Each so-manieth unit is in the tables.
    """

    cells: int
    step: int

    @cached_property
    def units(self) -> list[tuple[int, ...]]:
        """The records of units, by their cells: whichever are used, they are the first ones here."""
        every = [unit for rows in (1, 2, 3, 4) for unit in combinations_with_replacement(range(self.cells + 1), rows)]
        return every[:: self.step]

    @cached_property
    def tables(self) -> list[tuple[int, ...]]:
        return [table for units in range(4) for table in combinations_with_replacement(range(len(self.units)), units)]

    def pairs(self, neighbours: Neighbours) -> IntArray:
        """Tables that differ in one unit."""
        number, found = {table: place for place, table in enumerate(self.tables)}, set()
        for table in self.tables:
            for rest in {table[:place] + table[place + 1 :] for place in range(len(table))}:
                if neighbours is ADD_REMOVE:
                    found.add((number[table], number[rest]))
                else:
                    every = range(len(self.units))
                    found |= {(number[table], number[tuple(sorted((*rest, each)))]) for each in every}
        return np.array(sorted(found | {(other, one) for one, other in found}))

    def looked(self, query: CountQuery) -> IntArray:
        """Units by their records, and by the value of the first one where the query has cells of values."""
        values = query.cells if isinstance(query, SizedUnitsQuery) else 1
        counted = np.zeros((len(self.tables), SIZES * values + 1), dtype=np.int64)
        for place, table in enumerate(self.tables):
            for unit in table:
                size, first = (len(self.units[unit]) - 1).bit_length(), self.units[unit][0]
                counted[place, -1 if first == self.cells and values > 1 else size * values + first % values] += 1
        return counted

    def counted(self, rows: int) -> IntArray:
        """Records under a bound."""
        counted = np.zeros((len(self.tables), self.cells + 1), dtype=np.int64)
        for place, table in enumerate(self.tables):
            for unit in table:
                np.add.at(counted[place], list(self.units[unit][:rows]), 1)
        return counted


TINY = Tiny(2, 4), Tiny(4, 16)


@pytest.mark.quick_share(16)
@pytest.mark.parametrize("loss", (LOSSES | LARGE).values(), ids=list(LOSSES | LARGE))
@pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("tiny", TINY, ids=["by records", "by records and values"])
def test_the_bound_and_what_is_asked_under_it_lose_what_was_granted(
    tiny: Tiny, neighbours: Neighbours, loss: PrivacyLoss
) -> None:
    granted = loss.epsilon if loss.epsilon is not None else loss.rho
    any_rows = AdjacencyWithoutBound(neighbours, "patient", 3 if neighbours.has_public_units else None)
    near, bounds, tight = tiny.pairs(neighbours), set(), []
    for way in range(8):
        plans, spent = [], []

        def reply(step: Step, paid: Allotment, known: Adjacency) -> Release:
            plans.append(AUTO.plan(step.query, paid.loss, known))  # noqa: B023
            spent.append(paid.loss)  # noqa: B023
            values = answers(plans[-1].distribution.size, len(plans), way)  # type: ignore[arg-type] # noqa: B023
            return Release(plans[-1], tuple(values.tolist()), paid, seeded=True)  # noqa: B023

        budget = QuestionBudget.for_planning(loss)
        question = CdfQuestion("score", Grid(0, 1, cells=tiny.cells))
        curve = ask_with_contribution_bound(question, any_rows, Central(), budget, reply)
        rows = curve.privacy.rows_per_unit
        assert isinstance(plans[0].query, UnitSizesQuery if tiny is TINY[0] else SizedUnitsQuery)
        assert [plan.adjacency for plan in plans] == [
            any_rows.unit_adjacency,
            *[any_rows.with_bound(rows)] * (len(plans) - 1),
        ]
        assert spent[0] == loss * PILOT_FRACTION
        assert budget.remaining == 0
        assert sum((each.rho for each in spent), start=Fraction(0)) == loss.rho
        assert (curve.privacy.epsilon, curve.privacy.rho) == (loss.epsilon and float(loss.epsilon), float(loss.rho))
        losses = (
            _losses([plans[0].distribution], tiny.looked(plans[0].query), near),
            _losses([plan.distribution for plan in plans[1:]], tiny.counted(rows), near),
        )
        worst = max(map(sum, zip(*losses, strict=True)))
        assert worst <= granted
        tight.append(worst == granted)
        bounds.add(rows)
    assert any(tight) or not bounds & {2, 4}  # larger ones need units that are larger
    assert len(bounds) > 1


def _losses(distributions: list[object], counted: IntArray, near: IntArray) -> list[Fraction]:
    """The loss of these turns for each pair of neighbours: of each shift once, as it depends on that alone."""
    shifts, which = np.unique(counted[near[:, 0]] - counted[near[:, 1]], axis=0, return_inverse=True)
    nothing = np.zeros_like(shifts[:1])
    each = [worst_loss(distributions, np.concatenate([shift[None], nothing]), np.array([[0, 1]])) for shift in shifts]  # type: ignore[arg-type]
    return [each[place] for place in which.ravel()]
