from __future__ import annotations

from dataclasses import replace

import pytest

from dpcurves.ledger import Account, Currency
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit


def test_a_pure_cap_is_kept_in_epsilon_and_another_in_rho(flights: Account, patients: Account) -> None:
    assert (flights.currency, patients.currency) == (Currency.EPSILON, Currency.RHO)


@pytest.mark.parametrize("cap", ["1e-10", "1000000000.1", "1e30"])
def test_a_cap_that_cannot_be_counted_is_refused(flights: Account, cap: str) -> None:
    with pytest.raises(ValueError, match="budget: a cap from 1e-9 to 1e9 is needed"):
        replace(flights, cap=PrivacyLoss.pure(cap))


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "\ud800", "x" * 201])
def test_a_name_that_cannot_be_stored_is_refused(flights: Account, name: str) -> None:
    with pytest.raises(ValueError, match="dataset: a name of 1 to 200 printable characters"):
        replace(flights, dataset=name)


def test_a_unit_column_that_cannot_be_stored_is_refused(flights: Account) -> None:
    with pytest.raises(ValueError, match="unit: a name of 1 to 200 printable characters"):
        replace(flights, unit=Unit("a\0b", 1))
    with pytest.raises(ValueError, match="rows_per_unit: must be at most 1e"):
        replace(flights, unit=Unit("a", 10**30))


@pytest.mark.parametrize(
    ("fact", "other"),
    [
        ("adjacency", {"neighbours": Neighbours.REPLACE_ONE}),
        ("unit", {"unit": Unit("tail", 1)}),
        ("rows_per_unit", {"unit": Unit("", 3)}),
        ("budget", {"cap": PrivacyLoss.pure(2)}),
        ("budget", {"cap": PrivacyLoss.zcdp(1)}),
    ],
)
def test_other_facts_are_refused_by_name(flights: Account, fact: str, other: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"^{fact}: the account of 'flights' was opened with .*, not with .*"):
        flights.require_same(replace(flights, **other))  # type: ignore[arg-type]


def test_caps_of_the_same_billionths_are_the_same_fact(flights: Account) -> None:
    flights.require_same(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure("1.0000000001")))


def test_units_are_taken_exactly_where_they_are_public(flights: Account, patients: Account) -> None:
    flights.require_units(None)
    patients.require_units(1)
    with pytest.raises(ValueError, match="units: the number of units is private under add-remove"):
        flights.require_units(7)
    for units in (None, 0, 2**63):
        with pytest.raises(ValueError, match="units: replace-one needs the public number of units"):
            patients.require_units(units)
