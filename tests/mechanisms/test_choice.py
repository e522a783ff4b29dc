"""What is chosen, and from what."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from tiny_tables import axes, counts, cuts, sums

from dpcurves.conversation import UnsupportedQuery
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import (
    AUTO,
    LINEAR_CHOICE,
    ExponentialQuantiles,
    FlatHistogram,
    LinearMechanism,
    Mechanism,
    SquareRoot,
    TreeSums,
)
from dpcurves.mechanisms.auto import MECHANISM_BY_QUERY, resolution_error
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CountQuery, CountUse, Hint

PURE = PrivacyLoss.pure(1)
WEAK = PrivacyLoss.pure("0.01")
PRIVATE = AddRemove(EACH_RECORD)


def public(units: int) -> ReplaceOne:
    return ReplaceOne(EACH_RECORD, units)


def test_both_choosers_are_mechanisms() -> None:
    mechanism: Mechanism = AUTO
    linear: LinearMechanism = LINEAR_CHOICE
    assert mechanism.plan(sums(1, 4, 2), PURE, PRIVATE) == linear.plan(sums(1, 4, 2), PURE, PRIVATE)


def test_cuts_are_chosen_and_single_cells_and_sums_are_flat() -> None:
    assert AUTO.choose_mechanism(cuts(8, 3), PURE, PRIVATE) == ExponentialQuantiles()
    assert AUTO.choose_mechanism(sums(1, 8, 5), PURE, PRIVATE) == FlatHistogram()
    assert AUTO.choose_mechanism(counts(1, 4096, CountUse.CELLS), PURE, public(10)) == FlatHistogram()


def test_prefixes_of_few_cells_are_flat_and_of_many_a_tree() -> None:
    assert LINEAR_CHOICE.choose_mechanism(counts(1, 8), PURE, PRIVATE) == FlatHistogram()
    assert LINEAR_CHOICE.choose_mechanism(counts(1, 4096), PURE, PRIVATE) == TreeSums()


def test_next_to_no_noise_needs_no_tree() -> None:
    assert LINEAR_CHOICE.choose_mechanism(counts(1, 1024), PrivacyLoss.pure(100), PRIVATE) == FlatHistogram()


def test_without_a_hint_every_cell_is_counted() -> None:
    for hint in (None, Hint.PEAKED, Hint.ATOMS):
        query = replace(counts(1, 4096), hint=hint)
        assert (
            LINEAR_CHOICE.choose_mechanism(query, PURE, public(10**6))
            == LINEAR_CHOICE.choose_mechanism(query, WEAK, public(100))
            == TreeSums()
        )


def test_of_spread_records_resolution_is_bought_where_it_can_be_afforded() -> None:
    query = replace(counts(1, 4096), hint=Hint.SPREAD)
    assert LINEAR_CHOICE.choose_mechanism(query, PURE, public(10**6)) == TreeSums()
    few = LINEAR_CHOICE.choose_mechanism(query, WEAK, public(100))
    assert isinstance(few, TreeSums | FlatHistogram)
    assert few.width >= 64


def test_of_spread_records_the_choice_has_the_least_predicted_error_of_all_widths() -> None:
    query, who = replace(counts(1, 1024), hint=Hint.SPREAD), public(5000)
    totals = {
        mechanism: mechanism.plan(query, PURE, who).error ** 2 + resolution_error(query, who, mechanism.width)
        for width in (2**power for power in range(11))
        for mechanism in (FlatHistogram(width), TreeSums(width))
    }
    chosen = LINEAR_CHOICE.choose_mechanism(query, PURE, who)
    assert isinstance(chosen, TreeSums | FlatHistogram)
    assert chosen.width > 1
    assert totals[chosen] == min(totals.values())


def test_full_cells_are_counted_through_a_square_root_if_the_loss_is_concentrated() -> None:
    query, rho = counts(1, 256), PrivacyLoss.zcdp("0.5")
    assert AUTO.choose_mechanism(query, rho, public(256 * 4)) == SquareRoot()  # the variance of a cell is 2
    for sparse in (
        AUTO.choose_mechanism(query, rho, public(256 * 3)),
        AUTO.choose_mechanism(query, PURE, public(10**6)),
        AUTO.choose_mechanism(query, rho, PRIVATE),
        AUTO.choose_mechanism(counts(2, 128), rho, public(10**6)),
        LINEAR_CHOICE.choose_mechanism(query, rho, public(10**6)),
    ):
        assert isinstance(sparse, TreeSums | FlatHistogram)
    root, tree = (mechanism.plan(query, rho, public(1024)).error for mechanism in (AUTO, LINEAR_CHOICE))
    assert root < tree


@pytest.mark.parametrize("adjacency", [public(10), PRIVATE], ids=["public", "private"])
def test_cells_that_are_unlike_their_neighbours_are_counted_through_a_square_root_however_few_records_they_hold(
    adjacency: Adjacency,
) -> None:
    uneven, rho = replace(counts(1, 256), use=CountUse.UNEVEN), PrivacyLoss.zcdp("0.5")
    assert AUTO.choose_mechanism(uneven, rho, adjacency) == SquareRoot()
    assert AUTO.choose_mechanism(uneven, PURE, adjacency) == LINEAR_CHOICE.choose_mechanism(
        counts(1, 256), PURE, adjacency
    )
    assert isinstance(
        AUTO.choose_mechanism(replace(counts(2, 128), use=CountUse.UNEVEN), rho, adjacency), TreeSums | FlatHistogram
    )


def test_where_the_number_of_units_is_private_every_cell_is_counted() -> None:
    for loss in (PURE, WEAK):
        distribution = AUTO.plan(replace(counts(1, 4096), hint=Hint.SPREAD), loss, PRIVATE).distribution
        assert isinstance(distribution, IntervalSums)
        assert distribution.levels[-1].starts == range(4096)


def test_cells_apart_and_categories_are_never_merged() -> None:
    apart = Axis("score", Grid(0, 1, cells=64, outside=Outside.APART))
    names = Categories("name", tuple(range(66)))
    for axis in (apart, names):
        distribution = AUTO.plan(CountQuery((axis,), CountUse.PREFIXES, Hint.SPREAD), WEAK, public(3)).distribution
        assert isinstance(distribution, IntervalSums)
        assert distribution.levels[-1].starts == range(66)


def test_the_error_of_resolution_is_a_multiple_of_what_chance_makes() -> None:
    query = counts(1, 4096)
    assert resolution_error(query, public(1000), 8) == pytest.approx(4 * (1000 * 8 / 4096) / 6)
    assert resolution_error(query, public(1000), 1) == 0
    assert resolution_error(counts(2, 4096), public(1000), 8) == pytest.approx(4 * (1000 * 8 / 4096) / 6 / 2)
    assert resolution_error(query, ReplaceOne(Unit("patient", 3), 1000), 8) == pytest.approx(4 * (3000 * 8 / 4096) / 6)


def test_chance_makes_a_sixth_of_the_records_of_an_interval_on_average() -> None:
    draw, records, cells = np.random.default_rng(7), 300, 64  # of 4000 draws the mean is within 3 % at 4 sigma
    below = np.cumsum(draw.multinomial(records, np.full(cells, 1 / cells), size=4000), axis=1)
    off = below - records * np.arange(1, cells + 1) / cells
    assert np.mean(off**2) == pytest.approx(records / 6, rel=0.06)


def test_run_needs_no_more_than_the_plan() -> None:
    for query in (counts(2, 16), counts(2, 16, CountUse.CELLS), sums(2, 16, 3), cuts(32, 5)):
        plan = AUTO.plan(query, PURE, public(40))
        table = np.ones(33, dtype=np.int64)
        values = AUTO.run(table, plan, Randomness.from_seed(5))
        chosen = AUTO.choose_mechanism(query, PURE, public(40))
        assert isinstance(chosen, Mechanism)
        direct = chosen.run(table, plan, Randomness.from_seed(5))
        assert values == direct
        assert len(values) == plan.distribution.size


def test_a_mechanism_that_is_named_for_a_query_declares_that_it_answers_it() -> None:
    for query, place in MECHANISM_BY_QUERY.items():
        file, _, name = place.partition(":")
        mechanism = getattr(import_module(f"dpcurves.mechanisms.{file}"), name)
        assert query in {kind.__name__ for kind in mechanism.query_types}


def test_plans_are_the_same_when_made_again() -> None:
    first = AUTO.plan(counts(1, 300), WEAK, public(50))
    assert AUTO.plan(counts(1, 300), WEAK, public(50)).fingerprint == first.fingerprint


def test_what_no_mechanism_can_do_is_refused() -> None:
    with pytest.raises(UnsupportedQuery):
        LINEAR_CHOICE.plan(cuts(8, 2), PURE, PRIVATE)
    with pytest.raises(UnsupportedQuery, match="loss above zero"):
        AUTO.plan(CountQuery(axes(1, 4), CountUse.CELLS), PURE * Fraction(0), PRIVATE)
