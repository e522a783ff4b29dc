"""How a task is closed, step by step in one process: whatever fails or comes between, nothing stops or is lost."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import pytest

from dpcurves_parties.serving.two_servers.collection import Closing
from dpcurves_parties.serving.two_servers.report_set import (
    HASH_SIZE,
    ClosingMessage,
    EarlierPolicy,
    PartHashes,
    choose_prefix_bits,
    hash_report_set,
)
from dpcurves_parties.serving.two_servers.store import Offer, Store, StoredReport, TaskFrozen, TaskState, TaskStatus
from dpcurves_parties.shares import ProtocolError

HELD = "a" * 64, "b" * 64
WRITES = "begin_attempt", "decide", "freeze"
Step = Callable[[str], object]


class Stepped(Store):
    """A store that says before and after each of its writes where it is."""

    def __init__(self, party: int) -> None:
        super().__init__("sqlite://")
        self.step: Step = nothing
        for name in WRITES:
            setattr(self, name, partial(self._stepped, f"{name} at {party}", getattr(self, name)))

    def _stepped(self, name: str, work: Callable[..., object], *arguments: object) -> object:
        self.step(f"before {name}")
        done = work(*arguments)
        self.step(f"after {name}")
        return done


def nothing(name: str) -> None:
    """Nobody listens."""


@pytest.fixture
def stores() -> list[Stepped]:
    """The stores of both servers, for many tasks."""
    return [Stepped(party) for party in (0, 1)]


class Two:
    """Both servers' closing of a new task, who ask each other directly; `step` hears of each thing that happens."""

    def __init__(self, stores: Sequence[Stepped]) -> None:
        self.stores, self.task = list(stores), secrets.token_hex(32)
        self.taken = dict.fromkeys((0, 1), frozenset[bytes]())
        for store in self.stores:
            store.create_task(self.task)
        self.hear(nothing)
        self.begin_anew(HELD)

    def hear(self, step: Step) -> None:
        self.step = step
        for store in self.stores:
            store.step = step

    def begin_anew(self, commitments: tuple[str, str]) -> None:
        """Both are as after a start: nothing but what is stored is remembered."""
        self.servers = [self.server(party, commitments[party]) for party in (0, 1)]

    def server(self, party: int, commitment: str) -> Closing:
        return Closing(self.task, party, commitment, self.stores[party], partial(self._asked, 1 - party))

    def _asked(self, party: int, what: str, message: bytes) -> bytes:
        self.step(f"before {what} reaches {party}")
        other = self.servers[party]
        answer: bytes = (
            other.close_as_leader()
            if what == "close"
            else getattr(other, {"listed": "list_parts", "outcome": "describe_attempt"}.get(what, what))(message)
        )
        self.step(f"after {what} reached {party}")
        return answer

    def lose(self, party: int, *digits: int) -> None:
        """A new, empty store, to which these reports come again."""
        self.stores[party] = Stepped(party)
        self.stores[party].create_task(self.task)
        for digit in digits:
            self.stores[party].add_reports(self.task, 100, offer(digit))

    def upload(self, digit: int) -> bool:
        """Whether both servers took a new report, the first before the second."""
        try:
            for party in (0, 1):
                self._add(party, offer(digit))
                self.taken[party] |= {report(digit).id}
        except ProtocolError:
            return False
        return True

    def _add(self, party: int, one: Offer) -> None:
        """Add an offer as a service does."""
        try:
            self.stores[party].add_reports(self.task, 100, one)
        except TaskFrozen:
            self.servers[party].reopen()
            self.stores[party].add_reports(self.task, 100, one)

    def stand(self) -> list[TaskStatus]:
        return [store.read_status(self.task) for store in self.stores]

    def kept(self) -> list[frozenset[bytes]]:
        return [frozenset(store.read_listing(self.task)[1]) for store in self.stores]


def report(digit: int) -> StoredReport:
    return StoredReport(bytes([digit]) * 16, b"d" * 16, b"w" * 32, b"share")


def offer(digit: int) -> Offer:
    return Offer(0, b"c" * 32, EarlierPolicy.STAYS, [report(digit)])


def steps(stores: Sequence[Stepped]) -> list[str]:
    """All that happens when a task is closed."""
    two, seen = Two(stores), list[str]()
    two.upload(1)
    two.hear(seen.append)
    two.servers[1].close()
    two.hear(nothing)
    return seen


def test_all_steps_are_known(stores: Sequence[Stepped]) -> None:
    assert [step for step in steps(stores) if step.startswith("after")] == [
        "after begin_attempt at 0", "after freeze at 1", "after prepare reached 1", "after decide at 0",
        "after decide at 1", "after commit reached 1", "after close reached 0",
    ]  # fmt: skip
    assert len(steps(stores)) == 14


@pytest.mark.parametrize("ends", [ValueError, KeyboardInterrupt])
def test_a_close_that_fails_at_any_step_leaves_the_task_open_or_decided_and_is_done_again(
    stores: Sequence[Stepped], ends: type[BaseException]
) -> None:
    """A disk that is full, after which both servers go on; or a process that ends, after which both begin anew."""
    for place in steps(stores):
        for party in (0, 1):
            two = Two(stores)
            assert two.upload(1)
            two.hear(partial(failing, place, ends))
            if "close" not in place or party == 1:
                with pytest.raises(ends):
                    two.servers[party].close()
            two.hear(nothing)
            if ends is KeyboardInterrupt:
                two.begin_anew(HELD)
            is_decided = two.stand()[0].state is TaskState.CLOSED
            assert two.upload(2) is not is_decided, place
            told = two.servers[party].close()
            assert two.servers[1 - party].close() == told
            assert two.kept() == [two.taken[1]] * 2, place
            assert two.stand()[0] == two.stand()[1]


def failing(place: str, ends: type[BaseException], name: str) -> None:
    if name == place:
        raise ends("the test says so")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_report_that_comes_between_any_two_steps_counts_if_both_took_it(
    stores: Sequence[Stepped], processes: int
) -> None:
    """Where server 0 is two processes, the second one knows nothing of the attempt: then that is given up, and said."""
    refusals = list[str]()
    for place in steps(stores):
        two = Two(stores)
        assert two.upload(1)
        two.hear(partial(uploading, two, place, processes))
        try:
            two.servers[0].close()
        except ProtocolError as error:
            refusals.append(str(error))
        two.hear(nothing)
        assert two.servers[0].close() == two.servers[1].close()
        assert two.taken[1] <= two.kept()[0] == two.kept()[1], place
    given_up = "task: the attempt to close was cancelled by a later one; run dpcurves task close again"
    assert refusals == ([given_up] * 3 if processes == 2 else [])


def uploading(two: Two, place: str, processes: int, name: str) -> None:
    if name == place:
        two.hear(nothing)
        before = two.servers[0]
        if processes == 2:
            two.servers[0] = two.server(0, HELD[0])
        two.upload(2)
        two.servers[0] = before


def test_two_who_close_at_once_do_not_disturb_each_other(stores: Sequence[Stepped]) -> None:
    two = Two(stores)
    two.upload(1)

    def close_again(name: str) -> None:
        two.hear(nothing)
        with pytest.raises(ProtocolError, match=r"^task: another request is closing it"):
            two.servers[1].close()

    two.hear(close_again)
    assert two.servers[0].close() == two.servers[1].close()


@pytest.mark.parametrize("party", [0, 1])
def test_who_has_lost_store_or_key_can_not_close_again_though_all_reports_come_back(
    stores: Sequence[Stepped], party: int
) -> None:
    """The store is lost with its key, or the key alone; the other server keeps its own."""
    for loses_store in (True, False):
        two = Two(stores)
        two.upload(1)
        two.servers[0].close()
        if loses_store:
            two.lose(party, 1)
        before = two.stand()
        two.begin_anew(("c" * 64, HELD[1]) if party == 0 else (HELD[0], "c" * 64))
        for asked in (0, 1):
            with pytest.raises(ProtocolError, match=f"^noise: server {party} has lost the key that it committed to"):
                two.servers[asked].close()
        assert [one.report_set for one in two.stand()] == [one.report_set for one in before]
        assert two.stand()[1 - party] == before[1 - party]


def test_a_store_that_is_lost_without_its_key_is_closed_with_the_same_reports_only(stores: Sequence[Stepped]) -> None:
    """The noise is the same then, and nothing is lost by that: a ledger's key may come from the environment."""
    for party in (0, 1):
        for digits in ((1, 2), (1,), (2, 3)):
            two = Two(stores)
            assert two.upload(1)
            assert two.upload(2)
            told = two.servers[0].close()
            two.lose(party, *digits)
            two.begin_anew(HELD)
            if digits == (1, 2):
                assert two.servers[party].close() == told
                assert two.stand()[0] == two.stand()[1]
                continue
            with pytest.raises(ProtocolError, match=r"^reports: the servers agreed on other reports or other no"):
                two.servers[party].close()


def test_who_is_not_to_be_asked_or_hears_what_is_no_message_refuses(stores: Sequence[Stepped]) -> None:
    two = Two(stores)
    two.upload(1)
    first, second = two.servers
    asked: list[tuple[Callable[[], object], str]] = [
        (second.close_as_leader, "server 0"), (lambda: second.describe_attempt(b"{}"), "server 0"),
        (lambda: first.prepare(b"{}"), "server 1"), (lambda: first.commit(b""), "server 1"),
    ]  # fmt: skip
    for ask, whom in asked:
        with pytest.raises(ProtocolError, match=f"^peer: only {whom} answers this request, and this is server"):
            ask()
    for work in (first.describe_attempt, second.prepare):
        for message in (b"", b"[]", b"{}", b'{"attempt": 1}'):
            with pytest.raises(
                ProtocolError, match=r"^peer: (the message is cut off|the answer does not have the agreed form)"
            ):
                work(message)
    for wrong in ({"bits": 25, "parts": []}, {"bits": 1, "parts": [2]}, {"bits": 1, "parts": ["1"]}, {"bits": 1}):
        with pytest.raises(ProtocolError, match=r"^peer: the answer does not have the agreed form"):
            second.list_parts(json.dumps(wrong).encode())
    rising = [(report(1).id, report(1).digest)]
    name, listed, none = hash_report_set(two.task, 1, rising), {0: b"".join(rising[0])}, PartHashes(0, bytes(32))
    good = ClosingMessage(name, HELD, PartHashes.from_reports(two.task, rising, 0), {}).to_bytes()
    again = ClosingMessage(name, HELD, none, listed).to_bytes()
    for whole in (good, again):
        assert ClosingMessage.from_bytes(whole).to_bytes() == whole
        for place in range(0, len(whole), 7):
            assert is_refused(two, whole[:place])
            if (
                not HASH_SIZE <= place < 2 * HASH_SIZE
            ):  # what server 0 has committed to, server 1 hears for the first time
                in_hash = 3 * HASH_SIZE < place <= 4 * HASH_SIZE
                damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
                assert (in_hash and whole is again) or is_refused(two, damaged)
    assert json.loads(second.commit(ClosingMessage(name, HELD, none, {}).to_bytes())) == {"parts": [0]}
    for whole in (good, again):
        assert json.loads(second.commit(whole)) == {"parts": []}
    with pytest.raises(ProtocolError, match=r"^reports: another report set or other noise was agreed on before"):
        second.commit(ClosingMessage(name, ("c" * 64, HELD[1]), none, listed).to_bytes())


def is_refused(two: Two, message: bytes) -> bool:
    """True if server 1 refuses a decision, or asks for the listing of a part of it; it has written nothing then."""
    try:
        answer = two.servers[1].commit(message)
    except ProtocolError:
        answer = b'{"parts": [0]}'
    return answer == b'{"parts": [0]}' and two.stand()[1].state is TaskState.OPEN


def test_servers_with_many_reports_list_the_parts_alone_in_which_they_differ(stores: Sequence[Stepped]) -> None:
    """2,000 reports in 32 parts; three at one server alone or with another half; then server 1 is lost at its end."""
    two, asked = Two(stores), list[str]()
    stream = Random(5)
    ids = sorted(stream.randbytes(16) for _ in range(2000))
    for party, missing in ((0, {40, 41}), (1, {1200})):
        some = [report(1)._replace(id=one) for number, one in enumerate(ids) if number not in missing]
        two.stores[party].add_reports(two.task, 5000, offer(1)._replace(reports=some))
    two.hear(asked.append)
    two.servers[0].close()
    two.hear(nothing)
    assert two.kept() == [frozenset(ids) - {ids[40], ids[41], ids[1200]}] * 2
    assert two.stand()[0] == two.stand()[1]
    assert [step.split()[1] for step in asked if "reached" in step] == ["prepare", "listed", "commit", "commit"]
    assert choose_prefix_bits(2000) == 5
    assert len(two.stores[1].list_parts(two.task, 5, range(32))) == 32
    assert two.servers[1].close() == two.servers[0].close()
