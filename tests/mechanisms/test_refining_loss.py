"""Three turns as a whole: on every way that the conversation takes, all tiny neighbours lose what was paid at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_loss import unit_loss
from numpy.typing import NDArray
from tiny_tables import ADJACENCIES, data_sets, neighbours

from dpcurves.conversation import Plan, Release, Setting, Step
from dpcurves.curves import CdfQuestion
from dpcurves.data import Axis, Grid, Outside
from dpcurves.distributions import Family, IntervalSums, NoisySums, ToeplitzSums
from dpcurves.mechanisms import AUTO, Mechanism, SquareRoot
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, Hint, PartitionQuery
from dpcurves.session import answer_steps
from dpcurves.strategies import prefixes
from dpcurves.trust import Central, run_conversation

LOSSES = {"pure": PrivacyLoss.pure("0.5"), "concentrated": PrivacyLoss.zcdp("0.01")}
LARGE = {"large, pure": PrivacyLoss.pure(150), "large, concentrated": PrivacyLoss.zcdp(2000)}
"""With these three records are many for the noise: the first turn goes down to the cells, where n is public too."""
GRIDS = [Grid(0, 1, cells=2), Grid(0, 1, cells=4), Grid(0, 1, cells=2, outside=Outside.APART)]
Way = tuple[list[Plan], Fraction]


def answers(size: int, turn: int, way: int) -> NDArray[np.int64]:
    """Make answers: the first ways leave nothing, everything, or one place to look at; others are wild."""
    draw = np.random.default_rng([turn, way])
    exact = np.zeros(size, dtype=np.int64)
    if way == 1:
        exact[:] = 10**6
    elif way == 2:
        exact[-2] = 10**5
    elif way > 2:
        exact = draw.normal(0, 10.0 ** draw.integers(0, 8), size).astype(np.int64)
    return exact


def ways(
    grid: Grid,
    loss: PrivacyLoss,
    adjacency: Adjacency,
    counting: Mechanism = AUTO,
    around: tuple[float, ...] = (),
) -> Iterator[Way]:
    """What was planned turn by turn, and the shares together, for some answers; `counting` counts all cells.

    If quantiles are given, the turns are those that close in `around` them.
    """
    for way in range(7):
        plans: list[Plan] = []
        shares: list[Fraction] = []

        def reply(step: Step) -> Release:
            assert isinstance(step.query, PartitionQuery | CountQuery)
            mechanism = counting if isinstance(step.query, CountQuery) else AUTO
            plans.append(mechanism.plan(step.query, loss * step.budget_fraction, adjacency))  # noqa: B023
            shares.append(step.budget_fraction)  # noqa: B023
            distribution = plans[-1].distribution  # noqa: B023
            assert isinstance(distribution, IntervalSums | ToeplitzSums)
            values = answers(distribution.size, len(plans), way)  # noqa: B023
            return Release(plans[-1], tuple(values.tolist()), allotment=None, seeded=True)  # noqa: B023

        if around:
            answer_steps(prefixes.search_quantiles(Axis("score", grid), around, Setting(loss, adjacency)), reply)
        else:
            question = CdfQuestion("score", grid, hint=Hint.PEAKED)
            answer_steps(run_conversation(question, loss, adjacency, Central()), reply)
        yield plans, sum(shares, start=Fraction(0))


def worst_loss(distributions: list[NoisySums], sets: NDArray[np.int64], pairs: NDArray[np.int64]) -> Fraction:
    """The loss of all turns together, over all pairs of neighbours, exactly: see `exact_loss`."""
    norms, unit_losses = [], []
    for distribution in distributions:
        released = [compute_exact_sums(table, distribution) for table in sets]
        for number, (_, noise) in enumerate(released[0]):
            part = np.array([sums[number][0] for sums in released], dtype=np.int64)
            shift = part[pairs[:, 0]] - part[pairs[:, 1]]
            norms.append((abs(shift) if noise.family is Family.LAPLACE else shift**2).sum(axis=1))
            unit_losses.append(unit_loss(noise))
    rows = np.unique(np.stack(norms, axis=1), axis=0).tolist()
    return max(sum((own * norm for own, norm in zip(unit_losses, row, strict=True)), start=Fraction(0)) for row in rows)


@pytest.mark.quick_share(48, kinds=[("grid", "adjacency"), "loss"])
@pytest.mark.parametrize("loss", (LOSSES | LARGE).values(), ids=list(LOSSES | LARGE))
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: str(grid.slots))
def test_on_every_way_all_turns_together_lose_what_was_granted(
    grid: Grid, adjacency: Adjacency, loss: PrivacyLoss
) -> None:
    sets = data_sets(grid.slots + 1, 3)
    pairs = neighbours(sets, adjacency)
    granted = loss.epsilon if loss.epsilon is not None else loss.rho
    tight = []
    for plans, spent in ways(grid, loss, adjacency):
        assert spent == 1
        assert len({plan.query for plan in plans}) == len(plans) in {2, 3}  # each is paid, and has noise of its own
        worst = worst_loss(
            [plan.distribution for plan in plans if isinstance(plan.distribution, IntervalSums | ToeplitzSums)],
            sets,
            pairs,
        )
        assert worst <= granted
        tight.append(worst == granted)
    assert any(tight)


@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_a_look_and_a_square_root_of_all_cells_lose_what_was_granted_together(adjacency: Adjacency) -> None:
    grid, loss, roots = GRIDS[1], LARGE["large, concentrated"], 0
    sets = data_sets(grid.slots + 1, 3)
    pairs = neighbours(sets, adjacency)
    for plans, spent in ways(grid, loss, adjacency, SquareRoot()):
        distributions: list[NoisySums] = [
            plan.distribution for plan in plans if isinstance(plan.distribution, IntervalSums | ToeplitzSums)
        ]
        assert spent == 1
        assert len(distributions) == len(plans)
        assert worst_loss(distributions, sets, pairs) <= loss.rho
        roots += isinstance(distributions[-1], ToeplitzSums)
    assert roots > 0


@pytest.mark.quick_share(16, kinds=[("rule", "adjacency"), "loss"])
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("loss", LARGE.values(), ids=list(LARGE))
@pytest.mark.parametrize("rule", ["has_atoms", "has_significant_atoms"])
def test_a_look_for_full_cells_loses_what_was_granted_together(
    rule: str, adjacency: Adjacency, loss: PrivacyLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"has_atoms": False, "has_significant_atoms": False, rule: True}
    for name, said in {"is_worth_pilot_query": False, "is_widespread": False, **rules}.items():
        monkeypatch.setattr(prefixes, name, lambda *known, said=said: said)
    grid, granted, looks = GRIDS[1], loss.epsilon if loss.epsilon is not None else loss.rho, 0
    sets = data_sets(grid.slots + 1, 3)
    pairs = neighbours(sets, adjacency)
    for plans, spent in ways(grid, loss, adjacency):
        distributions = [plan.distribution for plan in plans if isinstance(plan.distribution, IntervalSums)]
        assert spent == 1
        assert len(distributions) == len(plans)
        assert worst_loss(list(distributions), sets, pairs) <= granted
        looks += len(distributions) == 3 and len(distributions[1].levels) == 1
        if rule == "has_significant_atoms":
            assert [len(level.starts) for level in distributions[1].levels] == [grid.slots]
    assert looks > 0


def is_hopeless(adjacency: Adjacency, loss: PrivacyLoss) -> bool:
    """Whether it is public that there are three records, under a loss whose noise hides so few."""
    return isinstance(adjacency, ReplaceOne) and adjacency.unit.records == 1 and loss not in LARGE.values()


@pytest.mark.quick_share(32)
@pytest.mark.parametrize("loss", (LOSSES | LARGE).values(), ids=list(LOSSES | LARGE))
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
@pytest.mark.parametrize("around", [(0.5,), (0.0, 0.9)], ids=["median", "two quantiles"])
def test_turns_that_close_in_on_quantiles_lose_what_was_granted_together(
    around: tuple[float, ...], adjacency: Adjacency, loss: PrivacyLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = replace(prefixes.TUNING, few_intervals=1)  # of four cells, so that some conversations have a further round
    monkeypatch.setattr(prefixes, "TUNING", fewer)
    granted = loss.epsilon if loss.epsilon is not None else loss.rho
    tight, turns = [], set()
    for grid in GRIDS[1:]:
        sets = data_sets(grid.slots + 1, 3)
        pairs = neighbours(sets, adjacency)
        for plans, spent in ways(grid, loss, adjacency, around=around):
            assert spent == 1
            assert len({plan.query for plan in plans}) == len(plans)  # each is paid, and has noise of its own
            distributions = [plan.distribution for plan in plans if isinstance(plan.distribution, IntervalSums)]
            worst = worst_loss(list(distributions), sets, pairs)
            assert worst <= granted
            tight.append(worst == granted)
            turns.add(len(plans))
    assert any(tight)
    assert turns == ({3} if is_hopeless(adjacency, loss) else {3, 4})


def test_two_turns_are_paid_in_full_too() -> None:
    found = list(ways(Grid(0, 1, cells=500), LOSSES["pure"], ADJACENCIES[0]))
    assert {len(plans) for plans, _ in found} == {2, 3}
    assert {spent for _, spent in found} == {1}
    paid = {sum((plan.loss.epsilon or Fraction(0) for plan in plans), start=Fraction(0)) for plans, _ in found}
    assert paid == {LOSSES["pure"].epsilon}
