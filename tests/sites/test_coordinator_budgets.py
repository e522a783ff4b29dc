"""A coordinator's guests have budgets: of polls, bytes and rounds. Its board is asked as an application, in memory."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dpcurves.arguments import ProtocolError
from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.messages import parse_object, parse_refusal
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_sites import relay
from dpcurves_sites.relay import LARGEST_WITHOUT_VECTOR, MOST_POLLS, MessageBoard, create_app
from dpcurves_sites.round_request import RoundRequest
from dpcurves_sites.secure_sum import KEYS, MASKED, OPENED
from dpcurves_sites.task import FederationTask, Member, create_federation_task, read_key
from dpcurves_sites.trust import SecureSum

CELLS = 4096


class Answer(NamedTuple):
    """Status and body of an answer."""

    status_code: int
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode()


class Board:
    """A board with its application, and requests with tickets."""

    def __init__(self, folder: Path) -> None:
        members = tuple(Member.create(folder / f"s{number}", f"site {number}", None) for number in range(3))
        self.task: FederationTask = create_federation_task(
            members, SecureSum(3, 1), folder / "task.json", folder / "tickets", name="flights",
            neighbours=Neighbours.ADD_REMOVE, unit=EACH_RECORD, budget=PrivacyLoss.pure(9), analysts=2,
            coordinator=Identity.create(folder / "hub", "https://127.0.0.1:9").public,
        )  # fmt: skip
        self.folder, self.board = folder, MessageBoard(self.task, 60)
        self.app = create_app(self.board)

    async def post(self, who: str, path: str, body: bytes = b"") -> Answer:
        """Post a message with a ticket, as a server would hand it to the application."""
        role = Role.OWNER if who.startswith("owner") else Role.ANALYST
        token = Ticket.load(self.folder / "tickets" / who, role).derive_bearer_token(0)
        headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-length", str(len(body)).encode())]
        scope = {
            "type": "http", "method": "POST", "path": f"/tasks/{self.task.hash}/{path}", "headers": headers,
            "query_string": b"", "root_path": "", "scheme": "https", "http_version": "1.1", "client": ("127.0.0.1", 1),
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Answer(sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]))

    def request(self, number: int = 0, analyst: int = 1, answers: tuple[tuple[int, ...], ...] = ()) -> bytes:
        key = read_key(self.folder / "tickets" / f"analyst-{analyst}.key")
        question = CdfQuestion("age", Grid(0, 100, cells=CELLS))
        return RoundRequest(question, PrivacyLoss.pure(1), f"r{number}", answers).to_signed_bytes(self.task, key)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(tmp_path)


def test_polls_wait_without_a_thread_and_a_ticket_has_a_few(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "POLL_SECONDS", 30.0)

    async def ask() -> None:
        consent = bytes(64)
        polls = [asyncio.create_task(board.post("owner-1", "waiting", consent)) for _ in range(120)]
        waiting = set(polls)
        while len(waiting) > MOST_POLLS:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        refused = [poll.result() for poll in polls if poll.done()]
        assert {answer.status_code for answer in refused} == {429}
        threads = threading.active_count()
        others = [asyncio.create_task(board.post(f"owner-{site}", "waiting", consent)) for site in (2, 3)]
        name = (await board.post("analyst-1", "asks", board.request())).text
        assert len(name) == 64
        answers = await asyncio.gather(*(poll for poll in (*polls, *others) if not poll.done()))
        assert [answer.content for answer in answers] == [board.request()] * (MOST_POLLS + 2)
        assert threading.active_count() <= threads + 8  # those of the event loop, not one for each of 124 polls

    asyncio.run(ask())


def test_an_analyst_with_many_rounds_keeps_another_waiting_for_two_of_them(board: Board) -> None:
    """All sites see the same order, also if nobody collects sums: no round comes before one that a site has begun."""
    flood = [board.request(number) for number in range(20)]
    messages = board.board
    for request in flood[:19]:
        messages.start_round(0, request)

    def answer_first() -> bytes:
        """Return the round that all sites answer next; the analyst never collects its sum."""
        begun = [messages.find_waiting_round(site, bytes(64)) for site in range(3)]
        assert len(set(begun)) == 1
        for site in range(3):
            messages.post_message(hashlib.sha256(begun[0]).hexdigest(), OPENED, site, bytes(64))
        return begun[0]

    honest = [board.request(number, 2) for number in range(2)]
    assert [answer_first() for _ in range(3)] == flood[:3]
    assert messages.find_waiting_round(0, bytes(64)) == flood[3]
    for request in honest:
        messages.start_round(1, request)
    messages.start_round(0, flood[19])
    order = [flood[3], flood[4], honest[0], flood[5], honest[1], *flood[6:]]
    assert [answer_first() for _ in order] == order
    assert messages.find_waiting_round(0, bytes(64)) == b""


def test_200_polls_whose_clients_go_leave_their_ticket_its_polls_and_an_honest_ask_its_answer(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is refused or abandoned must give its place back, or a site is locked out for good."""
    monkeypatch.setattr(relay, "POLL_SECONDS", 30.0)

    async def ask() -> None:
        consent = bytes(64)

        async def begin_polls() -> list[asyncio.Task[Any]]:
            """Begin as many polls as one ticket may have, once the places of former ones are free again."""
            for _ in range(200):
                polls = [asyncio.create_task(board.post("owner-1", "waiting", consent)) for _ in range(MOST_POLLS)]
                await asyncio.sleep(0.05)
                if not any(poll.done() for poll in polls):
                    return polls
                await abandon(polls)
            raise AssertionError("places of abandoned polls were not given back")

        async def abandon(polls: list[asyncio.Task[Any]]) -> None:
            for poll in polls:
                poll.cancel()
            await asyncio.gather(*polls, return_exceptions=True)

        for _ in range(50):  # 200 polls in all
            await abandon(await begin_polls())
        polls = await begin_polls()
        assert (await board.post("analyst-1", "asks", board.request())).status_code == 200
        assert {answer.content for answer in await asyncio.gather(*polls)} == {board.request()}

    asyncio.run(ask())


@pytest.mark.parametrize("text", [
    b"", b"\xff", b"[" * 10**5, b"[]", b"7", b'{"analyst": "x"}', b'{"analyst": 7}', b'{"analyst": "00"}',
    b'{"analyst": "00", "task": 1}',
])  # fmt: skip
def test_a_message_that_is_no_request_is_refused_in_one_line(board: Board, text: bytes) -> None:
    """Anybody with a ticket may post it, and sites must not take it for an error of their own."""
    with pytest.raises(ProtocolError, match="^question: the (message|author) is not .*; (use|ask)"):
        RoundRequest.from_signed_bytes(bytes(64) + text, board.task)
    with suppress(ProtocolError):
        assert parse_object(text, "analyst").keys() <= {"analyst", "task"}
    assert parse_refusal(text, "none") == "none"


@pytest.mark.parametrize(
    ("change", "status", "line"),
    [
        (lambda signed: bytes([signed[0] ^ 1]) + signed[1:], 403, "the signature is invalid; ask again with"),
        (lambda signed: signed[:64] + signed[64:].replace(b"age", b"pay"), 403, "the signature is invalid; ask again"),
        (lambda signed: signed[:64] + signed[64:].replace(b'analyst": "', b'analyst": "00'), 403, "the author is not"),
        (lambda signed: signed[:-5], 400, "the message is not a valid request; use the same version"),
        (lambda signed: signed[:40], 400, "the message is not a valid request; use the same version"),
        (lambda signed: b"", 400, "the message is not a valid request; use the same version"),
    ],
)
def test_a_request_without_an_analysts_signature_is_refused_at_once(
    board: Board, monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes], status: int, line: str
) -> None:
    """The request is neither planned nor stored, and counts among those that an analyst may post a minute."""
    monkeypatch.setattr(board.board._rate, "per_minute", 2)
    monkeypatch.setattr(relay, "_plan_vector_length", lambda *_: pytest.fail("planned"))

    async def ask() -> None:
        for number in range(2):
            answer = await board.post("analyst-1", "asks", change(board.request(number)))
            assert answer.status_code == status
            assert line in answer.text
            assert "\n" not in answer.text.strip()
        assert (await board.post("analyst-1", "asks", change(board.request()))).status_code == 429
        assert board.board._rounds == {}
        assert list(board.board._scratch.path.iterdir()) == []

    asyncio.run(ask())


def test_sizes_of_messages_follow_from_the_plan(board: Board) -> None:
    async def ask() -> None:
        name = (await board.post("analyst-1", "asks", board.request())).text
        vector = 8 * CELLS
        for stage, size, status in (
            (KEYS, LARGEST_WITHOUT_VECTOR, 200), (KEYS, LARGEST_WITHOUT_VECTOR + 1, 413),
            (MASKED, vector, 200), (MASKED, 2 * vector + LARGEST_WITHOUT_VECTOR, 413), (MASKED, 60 * 2**20, 413),
        ):  # fmt: skip
            answer = await board.post(f"owner-{1 + (status == 200)}", f"rounds/{name}/{stage}", bytes(size))
            assert answer.status_code == status, (stage, size)
        odd = (await board.post("analyst-1", "asks", board.request(answers=((0,),) * 9))).text  # no such round
        assert (await board.post("owner-1", f"rounds/{odd}/{MASKED}", bytes(2**20))).status_code == 413

    asyncio.run(ask())


def test_messages_lie_on_disk_and_old_rounds_go_by_number_and_size(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = board.board._scratch.path
    monkeypatch.setattr(relay, "MOST_ROUNDS_OF_ONE", 3)

    async def ask() -> None:
        for number in range(5):
            await board.post("analyst-1", "asks", board.request(number))
        assert len(list(folder.iterdir())) == len(board.board._rounds) == 3
        # 2**20 bytes or more: a number and its comma are 3
        long = [board.request(number, 2, ((0,) * (2**20 // 3),)) for number in range(2)]
        assert (await board.post("analyst-2", "asks", long[0])).status_code == 200  # hers push out nobody else's
        assert len(board.board._rounds) == 4
        monkeypatch.setattr(relay, "MOST_STORED_BYTES", 2**20 + 2**19)
        assert (await board.post("analyst-2", "asks", long[1])).status_code == 200
        assert sum(file.stat().st_size for file in folder.iterdir()) <= relay.MOST_STORED_BYTES
        assert sum(open_round.stored_bytes for open_round in board.board._rounds.values()) <= relay.MOST_STORED_BYTES

    asyncio.run(ask())


def test_long_plans_of_one_analyst_keep_no_site_and_nobody_else_waiting_for_long(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CDF of 2**20 cells is planned for seconds, and nobody has paid for it."""
    begun, ends, clock = threading.Event(), threading.Event(), [0.0]
    monkeypatch.setattr(relay, "thread_time", lambda: clock[0])

    def plan(*_: object) -> int:
        begun.set()
        assert ends.wait(60)
        clock[0] += 5.0  # seconds
        return 1

    monkeypatch.setattr(relay, "_plan_vector_length", plan)

    async def ask() -> None:
        first = asyncio.create_task(board.post("analyst-1", "asks", board.request(0)))
        await asyncio.to_thread(begun.wait, 60)
        others = [asyncio.create_task(board.post("analyst-1", "asks", board.request(n))) for n in range(1, 50)]
        for site in (1, 2, 3):
            assert (await board.post(f"owner-{site}", "consents", bytes(64))).status_code == 200
        ends.set()
        assert (await first).status_code == 200
        assert {(await other).status_code for other in others} == {429}
        assert (await board.post("analyst-1", "asks", board.request(50))).status_code == 429
        assert (await board.post("analyst-2", "asks", board.request(analyst=2))).status_code == 200

    asyncio.run(ask())


def test_an_analyst_starts_so_many_rounds_a_minute(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board.board._rate, "per_minute", 2)

    async def ask() -> None:
        statuses = [(await board.post("analyst-1", "asks", board.request(number))).status_code for number in range(3)]
        assert statuses == [200, 200, 429]
        assert (await board.post("analyst-1", "asks", board.request(0))).status_code == 200  # known: no new round
        assert (await board.post("analyst-2", "asks", board.request(analyst=2))).status_code == 200

    asyncio.run(ask())
