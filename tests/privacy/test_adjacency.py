"""Distances between neighbours, against all neighbours of tiny tables."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import pytest

from dpcurves.privacy import EACH_RECORD, AddRemove, Neighbours, ReplaceOne, Unit

CELLS = range(3)
UP_TO_THREE = [1, 2, 3]


def parts_of(records: int) -> list[tuple[int, ...]]:
    """All that one unit can add to three cells with at most this many records."""
    return [
        tuple(places.count(cell) for cell in CELLS)
        for used in range(records + 1)
        for places in combinations_with_replacement(CELLS, used)
    ]


def distances(moves: list[tuple[int, ...]]) -> tuple[int, int]:
    return max(sum(map(abs, move)) for move in moves), max(sum(step**2 for step in move) for move in moves)


@pytest.mark.parametrize("records", UP_TO_THREE)
def test_a_unit_that_comes_or_goes_moves_counts_as_far_as_is_said(records: int) -> None:
    adjacency = AddRemove(Unit("patient", records))
    assert (adjacency.l1_sensitivity, adjacency.squared_l2_sensitivity) == distances(parts_of(records))


@pytest.mark.parametrize("records", UP_TO_THREE)
def test_a_unit_that_is_replaced_moves_counts_as_far_as_is_said(records: int) -> None:
    adjacency = ReplaceOne(Unit("patient", records), units=5)
    moves = [
        tuple(b - a for a, b in zip(old, new, strict=True))
        for old, new in product(parts_of(records), parts_of(records))
    ]
    assert (adjacency.l1_sensitivity, adjacency.squared_l2_sensitivity) == distances(moves)


def test_the_total_is_public_where_each_of_a_public_number_of_units_fills_one_cell() -> None:
    assert ReplaceOne(EACH_RECORD, 7).public_record_count == 7
    assert ReplaceOne(Unit("patient", 1), 7).public_record_count == 7
    assert ReplaceOne(Unit("patient", 2), 7).public_record_count is None
    assert AddRemove(EACH_RECORD).public_record_count is None


def test_add_remove_has_no_number_of_units() -> None:
    assert not hasattr(AddRemove(EACH_RECORD), "units")
    assert Neighbours.ADD_REMOVE.to_adjacency(EACH_RECORD, units=7) == AddRemove(EACH_RECORD)


def test_replace_one_needs_the_number_of_units() -> None:
    with pytest.raises(ValueError, match="units: replace-one needs"):
        Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, units=None)


def test_an_empty_table_has_nobody_to_replace() -> None:
    with pytest.raises(ValueError, match="units: replace-one needs a public number of units of at least 1"):
        ReplaceOne(EACH_RECORD, 0)


@pytest.mark.parametrize("records", [0, -1])
def test_a_unit_has_at_least_one_record(records: int) -> None:
    with pytest.raises(ValueError, match="rows_per_unit: at least 1"):
        Unit("patient", records)


def test_adjacency_reads_as_it_is_written_on_the_command_line() -> None:
    assert [str(kind.to_adjacency(EACH_RECORD, 3)) for kind in Neighbours] == ["add-remove", "replace-one"]
    assert [kind.has_public_units for kind in Neighbours] == [False, True]
    assert str(EACH_RECORD) == "each record"
    assert str(Unit("patient", 2)) == "patient (at most 2 records each)"
