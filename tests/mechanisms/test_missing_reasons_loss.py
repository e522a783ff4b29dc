"""Reasons of missing records: tiny neighbours lose what was paid, exactly, whatever the reasons are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_loss import unit_loss
from tiny_tables import ADJACENCIES, axes, counts, data_sets, neighbours

from dpcurves.conversation import Plan
from dpcurves.data import MissingReason
from dpcurves.distributions import Family
from dpcurves.mechanisms import FlatHistogram, Haar, RegionSums, SquareRoot, TreeSums, add_noise_to_reasons, add_reasons
from dpcurves.mechanisms.linear import PartitionSums, compute_exact_sums
from dpcurves.mechanisms.missing_reasons import REASONS_FRACTION
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountUse, PartitionQuery, PrefixQuery, RegionQuery, SumQuery

REASONS = 3
"""The number of reasons that are counted: neighbours with more differ no more."""
PLANS: dict[str, tuple[Any, Any]] = {
    "flat": (FlatHistogram(), counts(1, 2, CountUse.CELLS)),
    "rows": (FlatHistogram(), counts(2, 2, CountUse.CELLS)),
    "tree": (TreeSums(), counts(1, 4)),
    "haar": (Haar(), counts(1, 2)),
    "haar of rows": (Haar(), counts(2, 2)),
    "square root": (SquareRoot(), counts(1, 2)),
    "partition": (PartitionSums(), PartitionQuery(axes(1, 3), ((0,), (0, 2)))),
    "regions": (RegionSums(), RegionQuery(axes(1, 3), (2, 0, 1), ((0, 1),), CountUse.CELLS)),
}
GAUSSIAN_ONLY = {"square root"}
LOSSES = {"0.7": PrivacyLoss.pure("0.7"), "0.3": PrivacyLoss.zcdp("0.3")}


def worst_loss(plan: Plan, adjacency: Adjacency) -> Fraction:
    """The largest loss over all pairs of neighbours with up to 3 records, each in a cell or missing for a reason."""
    distribution: Any = plan.distribution
    cells = plan.query.rows * plan.query.cells
    assert plan.reasons is not None
    sets = data_sets(cells + REASONS, 3)
    tables = np.column_stack([sets[:, :cells], sets[:, cells:].sum(axis=1)])
    released = [compute_exact_sums(plan.query.reorder_table(table), distribution) for table in tables]
    unit_losses = [unit_loss(noise) for _, noise in released[0]]
    parts = [
        np.array(part, dtype=np.int64) for part in zip(*([sums for sums, _ in each] for each in released), strict=True)
    ]
    ours, theirs = neighbours(sets, adjacency).T
    norms = []
    for part in (*parts, sets[:, cells:]):
        shift = part[ours] - part[theirs]
        norms.append((abs(shift) if plan.reasons.family is Family.LAPLACE else shift**2).sum(axis=1))
    unit_losses.append(unit_loss(plan.reasons))
    return max(
        sum((each * int(norm) for each, norm in zip(unit_losses, row, strict=True)), start=Fraction(0))
        for row in np.unique(np.stack(norms, axis=1), axis=0)
    )


@pytest.mark.parametrize("claimed", LOSSES)
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=str)
def test_tiny_neighbours_lose_at_most_what_was_paid(name: str, adjacency: Adjacency, claimed: str) -> None:
    mechanism, query = PLANS[name]
    if name in GAUSSIAN_ONLY and LOSSES[claimed].is_pure:
        claimed = "0.3"
    plan = add_reasons(mechanism.plan(query, LOSSES[claimed], adjacency))
    lost = worst_loss(plan, adjacency)
    assert lost <= Fraction(claimed)
    assert lost > Fraction(claimed) * Fraction(97, 100)  # nothing that was paid is wasted


def test_reasons_that_are_paid_by_nobody_lose_more_than_was_paid() -> None:
    """The sweep above can fail: with the whole noise of the missing cell left as it was, reasons cost on top."""
    mechanism, query = PLANS["flat"]
    plain = mechanism.plan(query, LOSSES["0.7"], ADJACENCIES[0])
    assert worst_loss(replace(add_reasons(plain), distribution=plain.distribution), ADJACENCIES[0]) == Fraction(
        "0.7"
    ) * (1 + REASONS_FRACTION)


def test_cells_keep_their_noise_and_the_count_of_missing_records_a_little_less() -> None:
    for name, (mechanism, query) in PLANS.items():
        plain: Any = mechanism.plan(query, LOSSES["0.3" if name in GAUSSIAN_ONLY else "0.7"], ADJACENCIES[0])
        plan: Any = add_reasons(plain)
        assert plan.distribution.parts == plain.distribution.parts
        assert plan.distribution.missing.parameter == plain.distribution.missing.parameter / (1 - REASONS_FRACTION)
        assert plan.reasons.parameter == plain.distribution.missing.parameter / REASONS_FRACTION
        assert (plan.loss, plan.error) == (plain.loss, plain.error)


@pytest.mark.parametrize("query", [SumQuery(axes(1, 2), 4), PrefixQuery(axes(1, 2), (1, 2))], ids=repr)
def test_what_counts_no_missing_records_tells_no_reasons(query: Any) -> None:
    distribution = FlatHistogram().plan(counts(1, 2), LOSSES["0.7"], ADJACENCIES[0]).distribution
    plan = Plan(query, LOSSES["0.7"], ADJACENCIES[0], "somebody", distribution, 1.0)
    assert add_reasons(plan) is plan
    assert add_noise_to_reasons(np.zeros(len(MissingReason), dtype=np.int64), plan, Randomness.from_system()) == ()
