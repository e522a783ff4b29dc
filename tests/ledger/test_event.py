from __future__ import annotations

import pytest
from sqlalchemy import create_engine, text

from dpcurves.ledger import Event, Ledger

SIGNED_IN = Event("ann", "signed in", "ann")
ASKED = Event("ann", "asked", "a CDF", "flights")


def test_events_stand_in_the_chain_in_their_order_and_by_dataset(url: str) -> None:
    ledger = Ledger.open(url)
    for event in (SIGNED_IN, ASKED, SIGNED_IN):
        ledger.record_event(event, lambda connection: None)
    assert [each.event for each in ledger.events()] == [SIGNED_IN, ASKED, SIGNED_IN]
    assert [each.event for each in ledger.events(dataset="flights")] == [ASKED]
    assert [each.event for each in ledger.events(ledger.events()[0].entry, 1)] == [ASKED]
    assert ledger.verify().entries == ledger.events()[-1].entry


def test_what_is_done_and_what_is_said_of_it_are_written_together_or_not_at_all(url: str) -> None:
    ledger = Ledger.open(url)

    def fail(connection: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ledger.record_event(SIGNED_IN, fail)
    assert ledger.events() == ()


def test_an_event_that_was_changed_without_the_key_is_found(url: str, environment_key: bytes) -> None:
    ledger = Ledger.open(url)
    ledger.record_event(SIGNED_IN, lambda connection: None)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE dpcurves_events SET actor = 'eve'"))
    engine.dispose()
    with pytest.raises(ValueError, match="changed without the key"):
        ledger.events()
    with pytest.raises(ValueError, match="changed without the key"):
        ledger.verify()


@pytest.mark.parametrize("wrong", [("", "a", "b"), ("a", "", "b"), ("a", "b", "c" * 201), ("a\n", "b", "c")])
def test_an_event_has_short_texts_that_can_be_printed(wrong: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="printable"):
        Event(*wrong)
