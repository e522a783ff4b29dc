"""People in pairs over HTTPS: a server that carries letters it can not open, and opens noisy answers alone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from at_once import at_once
from people_at_home import SEED, Country, Village
from people_crashes import Killed

from dpcurves.arguments import ProtocolError
from dpcurves.ledger import Ledger
from dpcurves.noise import Randomness
from dpcurves_parties.pairs import AGGREGATOR, Device, MessageAddress
from dpcurves_parties.pairs.device import OVERHEAD
from dpcurves_parties.pairs.meetings import Participant
from dpcurves_parties.pairs.relay import RelayStore
from dpcurves_parties.pairs.service import ask_people
from dpcurves_parties.serving.task_document import Role

pytest.importorskip("rbcl")
PEOPLE = 7
VILLAGES = (
    ("whole", PEOPLE, 2), ("gaps", PEOPLE, 2), ("town", 3, 1), ("asleep", 2, 1), ("killed", 8, 1), ("tampered", 12, 1),
)  # fmt: skip
RATED = [(person % 5, (person * 3) % 5) for person in range(PEOPLE)]


@pytest.fixture(scope="module")
def country(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Country]:
    """One server with all tasks: `town` has entered and is closed, of the others nobody has."""
    made = Country(tmp_path_factory.mktemp("country"))
    for name, people, each in VILLAGES:
        made.village(name, people, each)
    made.start()
    for person in range(3):
        made.villages[2].attend(person, (1, 2))
    made.villages[2].close()
    yield made
    made.stop()


@pytest.fixture
def town(country: Country) -> Village:
    return country.villages[2]


def enter(village: Village, people: Any = range(PEOPLE)) -> None:
    for person in people:
        assert not village.attend(person, RATED[person]).pairs_drawn


def rounds(village: Village, people: Any = range(PEOPLE), many: int = 3) -> list[Any]:
    return [[village.attend(person, RATED[person]) for person in people] for _ in range(many)][-1]


def test_people_who_are_never_online_together_are_read_by_an_analyst(country: Country) -> None:
    """Epsilon is 32 a pair: an answer is not the kernel's value with a chance of 2**-15.

    So of six answers one may be wrong, which moves the mean by a third; two are with a chance of 1.4e-8.
    """
    village = country.villages[0]
    enter(village)
    analyst = village.ticket("analyst-1", Role.ANALYST)
    with pytest.raises(ProtocolError, match="^task: is not closed yet"):
        ask_people(village.task, analyst)
    assert village.close() == PEOPLE
    with pytest.raises(ProtocolError, match="^pairs: no pair has answered yet; ask again later$"):
        ask_people(village.task, analyst)
    country.stop()
    country.start()
    reached = rounds(village)
    assert all(each.is_over and not each.dropped_count for each in reached)
    assert sum(each.completed_count for each in reached) == 2 * 6
    found = ask_people(village.task, analyst)
    pairs = village.task.build_agreement(SEED).meetings
    one, other = ({name: [RATED[meeting.people[place]][column] for meeting in pairs] for column, name in
                  enumerate(village.task.kernel.columns)} for place in (0, 1))  # fmt: skip
    assert found.value == pytest.approx(village.task.kernel.evaluate(one, other).mean(), abs=1 / 3 + 1e-4)
    assert found.privacy.units == PEOPLE
    low, high = found.interval(0.9, population=True)
    assert low < found.value < high


def test_who_does_not_come_drops_its_pairs_alone_and_is_paid_by_nobody(country: Country) -> None:
    village = country.villages[1]
    enter(village, range(PEOPLE - 1))
    village.close()
    with pytest.raises(ProtocolError, match="^task: is closed, and its pairs are drawn"):
        village.attend(PEOPLE - 1, RATED[-1])
    reached = rounds(village, range(PEOPLE - 1))
    meetings = village.task.build_agreement(SEED).meetings
    broken = [meeting for meeting in meetings if PEOPLE - 1 in meeting.people]
    assert broken
    assert sum(each.dropped_count for each in reached) == len(broken)
    found = ask_people(village.task, village.ticket("analyst-1", Role.ANALYST))
    assert found.notes == (f"{len(meetings) - len(broken)} of about 6 pairs answered",)
    partner = broken[0].find_partner(PEOPLE - 1)
    attendance = village.attendance(partner)
    assert attendance.device.meeting_count == sum(partner in each.people for each in meetings if each not in broken)


def test_the_server_stores_sealed_letters_of_the_same_sizes_whatever_is_rated(country: Country) -> None:
    village, stored, sizes = country.villages[0], country.stored(), set()
    for person in range(PEOPLE):
        device = village.attendance(person).device
        for meeting in village.task.build_agreement(SEED).find_meetings(person):
            heard = device.load_messages(meeting)
            assert not [message for message in heard if message in stored]
            sizes.add((meeting.people.index(person), *map(len, heard)))
    assert len(sizes) == 2


def meeting_of(village: Village) -> Any:
    (meeting,) = village.task.build_agreement(SEED).meetings
    return meeting


def test_tickets_let_nobody_in_for_another_person_role_or_task(country: Country, tmp_path: Path) -> None:
    town = country.villages[2]
    (meeting,) = town.task.build_agreement(SEED).meetings
    first, second = meeting.people
    outsider = ({0, 1, 2} - {first, second}).pop()
    place = MessageAddress(meeting.name, 0, first, second)
    for person, refused in ((second, "put"), (outsider, "put"), (first, "get"), (outsider, "get")):
        post = town.post(person)
        assert post.agreement is not None
        with pytest.raises(ProtocolError, match="^message: (must have your number as sender|is addressed to another)"):
            post.put_message(place, bytes(OVERHEAD + 1)) if refused == "put" else post.get_message(place)
        post.close()
    post = town.post(second)
    assert post.agreement is not None
    with pytest.raises(ProtocolError, match="^message: is addressed to another person"):
        post.get_message(MessageAddress(meeting.name, 100, first, AGGREGATOR))
    post.ticket = town.ticket("analyst-1", Role.ANALYST)
    with pytest.raises(ProtocolError, match="^ticket: must be the ticket of an owner of this task"):
        post.get_message(place)
    post.close()
    with pytest.raises(ProtocolError, match="^ticket: must be the ticket of a coordinator of this task"):
        town.close(ticket=town.ticket("owner-1"))
    post = town.post(0)
    post.ticket = country.villages[0].ticket("owner-1")
    with pytest.raises(ProtocolError, match="^ticket: must be an owner's ticket of this task;"):
        Participant.enter_task(post, Randomness.from_system(), tmp_path / "device", print)


def test_another_device_with_the_same_ticket_does_not_enter(town: Village) -> None:
    town.folder.joinpath("tickets", "owner-1.device2").unlink(missing_ok=True)
    path = town.folder / "tickets" / "owner-1.device2"
    Device.open_file(path, town.task.terms.task_hash, 1, Randomness.from_seed(7))
    with pytest.raises(ProtocolError, match="^keys: another device has entered with this ticket"):
        town.attendance(0, device="2")


def test_letters_are_bounded_and_have_their_places(town: Village) -> None:
    meeting = meeting_of(town)
    writer, reader = meeting.people
    post = town.post(writer)
    assert post.agreement is not None
    relay_bound = 2**20
    with pytest.raises(ProtocolError, match="^message: must have at most [0-9]+ bytes; send it in smaller parts$"):
        post.put_message(MessageAddress(meeting.name, 0, writer, reader), bytes(relay_bound))
    with pytest.raises(ProtocolError, match="^message: must have [0-9]+ to [0-9]+ bytes; "):
        post.put_message(MessageAddress(meeting.name, 100, writer, AGGREGATOR), bytes(1000))
    for step in (2, 99, 101):
        with pytest.raises(ProtocolError, match="^message: must be of an agreed meeting, step and sender"):
            post.put_message(MessageAddress(meeting.name, step, writer, reader), bytes(OVERHEAD + 1))
    post.close()


def test_another_seed_closes_nothing(country: Country) -> None:
    village = country.villages[3]
    for seed in (SEED[::-1], SEED[:-1], b""):
        with pytest.raises(ProtocolError, match="^seed: must match the published commitment"):
            village.close(seed)
    assert village.post(0).agreement is None
    village.close()
    assert village.close() == 0
    assert village.post(0).agreement is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_who_is_killed_after_a_letter_ends_with_the_shares_of_a_run_that_nothing_stopped(country: Country) -> None:
    """The first person's second visit, with three letters; `make crash` goes to every request and every write."""
    killed = Killed(country, country.villages[4])
    killed.enter()
    assert list(killed.kills("letter", "after", 2)) == [0, 1, 2]


@pytest.mark.parametrize("change", ["flipped", "cut", "replayed", "reordered", "foreign"])
def test_a_server_that_changes_letters_drops_a_pair_and_is_told_nothing(country: Country, change: str) -> None:
    village = country.villages[5]
    store, task = RelayStore(f"sqlite:///{country.folder / 'relay.db'}"), village.task.hash
    if village.post(0).agreement is None:
        for person in range(village.task.people):
            village.attend(person, (1, 2))
        village.close()
    meetings = village.task.build_agreement(SEED).meetings
    number = ["flipped", "cut", "replayed", "reordered", "foreign"].index(change)
    meeting, other = meetings[number], meetings[-1]
    one, partner = meeting.people
    assert village.attend(one, (1, 2)).waiting_count == 1
    assert village.attend(partner, (3, 4)).waiting_count == 1
    village.attend(other.people[0], (1, 2))
    slot = meeting.number, partner, 0
    letter, own = store.load_message(task, slot), store.load_message(task, (meeting.number, one, 0))
    stranger = store.load_message(task, (other.number, other.people[0], 0))
    assert None not in (letter, own, stranger)
    letter, own, stranger = (each or b"" for each in (letter, own, stranger))
    changed = {
        "flipped": letter[:50] + bytes([letter[50] ^ 1]) + letter[51:], "cut": letter[:-1], "replayed": own,
        "reordered": letter[32:] + letter[:32], "foreign": stranger,
    }[change]  # fmt: skip
    with sqlite3.connect(country.folder / "relay.db") as base:
        where = "task = ? AND meeting = ? AND writer = ? AND step = ?"
        base.execute(f"UPDATE dpcurves_pair_letters SET letter = ? WHERE {where}", (changed, task, *slot))
    base.close()
    heard: list[str] = []
    assert village.attend(one, (1, 2), heard.append).dropped_count == 1
    assert heard == [
        f"pair {meeting.number} is dropped: message: was not written by its sender for this address, or was changed;"
        " drop this meeting"
    ]
    assert store.load_message(task, (meeting.number, one, 1)) is None


def enter_and_write(number: int, url: str) -> None:
    store = RelayStore(url)
    for person in range(8):
        store.register_bundle("open", person, b"bundle")
        store.store_message("open", (person, 0, 0), bytes([number]))


def enter_while_it_is_closed(number: int, url: str, folder: str) -> None:
    """Four enter. Four show the seed, and tell how many have entered by then."""
    store = RelayStore(url)
    if number % 2:
        while store.count_bundles("closing") < 24:
            sleep(0.01)
        store.store_seed("closing", b"seed")
        (Path(folder) / str(number)).write_text(str(store.count_bundles("closing")))
        return
    with suppress(ProtocolError):
        for person in range(100_000):
            store.register_bundle("closing", 100_000 * number + person, b"bundle")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a relay has not kept anything yet."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("new_database")())
    Ledger.open(f"sqlite:///{tmp_path}/relay.db")
    return f"sqlite:///{tmp_path}/relay.db"


def test_eight_processes_that_begin_at_once_keep_what_they_are_sent_together(store_url: str) -> None:
    at_once(enter_and_write, store_url)
    store = RelayStore(store_url)
    assert store.count_bundles("open") == len(store.load_step("open", 0)) == 8


def test_nobody_enters_after_the_seed_was_shown_at_the_same_moment(store_url: str, tmp_path: Path) -> None:
    (tmp_path / "entered").mkdir()
    at_once(enter_while_it_is_closed, store_url, str(tmp_path / "entered"))
    told = [int(file.read_text()) for file in (tmp_path / "entered").iterdir()]
    assert told == [RelayStore(store_url).count_bundles("closing")] * 4
