"""The coordinator of a federation: a board on which sites and analysts leave messages. It holds no key of anybody."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Condition
from time import monotonic
from typing import cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.messages import ProtocolAborted
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring
from dpcurves_parties.serving.server import USUAL, Address, Door, Limits, proving, serve
from dpcurves_parties.serving.task_app import Handler, bearer_of, body_of, task_app, told
from dpcurves_parties.serving.task_document import Role

from .carrier import packed, unpacked
from .secure_sum import KEYS, MASKED, OPENED, SIGNATURE, SIGNED, STAGES
from .task import FederationTask

WAIT = 20.0
"""Seconds that a guest waits for an answer at most, before it asks again."""
GRACE = 0.5
"""Seconds that are given to the last ones, where enough have signed, or opened."""
LARGEST_ASK = 2**27
LARGEST_MESSAGE = 2**26
RECEIPT_HEAD = 48
"""Place of the number of words in a message."""
MOST_TURNS = 2**12


def messages_in(octets: bytes) -> list[bytes]:
    """The messages that a board has packed. Raises `ProtocolAborted`: they are cut off."""
    try:
        return unpacked(octets)
    except ValueError:
        raise ProtocolAborted("coordinator", "a message is cut off", 502) from None


@dataclass(slots=True)
class OpenTurn:
    """A turn on the board.

    Attributes:
        name: A hash of what was asked.
        asked: What the analyst asked.
        sent: Messages by stage and site.
        closed: The sites of each stage that others were shown: later ones come too late.
        since: When a stage began.
        enough: When enough of a stage were there.
        refused: Why the turn ended, in one line.
        request: Under which request it is asked: who was left out of a sum stays out in the turns after it.
    """

    name: str
    asked: bytes
    request: str
    sent: dict[int, dict[int, bytes]] = field(default_factory=lambda: {stage: {} for stage in STAGES})
    closed: dict[int, tuple[int, ...]] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    enough: dict[int, float] = field(default_factory=dict)
    refused: str = ""


class Board:
    """Messages that were left for others. They may be read, altered or lost: whoever reads a message checks it.

    Args:
        task: Whose board it is.
        patience: Seconds after which a site that says nothing is left out, as far as the task allows, or the turn ends.
    """

    def __init__(self, task: FederationTask, patience: float) -> None:
        self.task, self._patience = task, patience
        self._turns: dict[str, OpenTurn] = {}
        self._consents: dict[int, bytes] = {}
        self._left_out: dict[str, tuple[str, frozenset[int]]] = {}
        self._changed = Condition()

    def consent(self, site: int, signature: bytes) -> bytes:
        """Take a site's signature of the task; all that are there."""
        with self._changed:
            self._consents[site] = signature
            self._changed.notify_all()
            return packed([bytes([number]) + one for number, one in sorted(self._consents.items())])

    def standing(self, task: str) -> bytes:
        """Names of the sites that have signed, for anybody who names the task."""
        if task != self.task.hash:
            raise ProtocolAborted("task", "this coordinator has another task, not this one", 404)
        with self._changed:
            names = [self.task.members[site].name for site in sorted(self._consents)]
            facts = {"task": task, "signed": names, "sites": len(self.task.members), "turns": len(self._turns)}
        return json.dumps(facts).encode()

    def ask(self, asked: bytes) -> bytes:
        """A new turn, or the one that is asked already: its name."""
        name = sha256(asked).hexdigest()
        with self._changed:
            if name not in self._turns or self._turns[name].refused:
                if len(self._turns) >= MOST_TURNS:
                    del self._turns[next(iter(self._turns))]
                self._turns.pop(name, None)
                self._turns[name] = OpenTurn(name, asked, _request_of(asked))
                self._changed.notify_all()
        return name.encode()

    def waiting(self, site: int, signature: bytes) -> bytes:
        """The first turn that waits for this site, or nothing after a while. It signs again: a board may be new."""
        end = monotonic() + WAIT
        self.consent(site, signature)
        with self._changed:
            while True:
                for turn in self._turns.values():
                    if (
                        site not in self._out(turn)
                        and not turn.refused
                        and site not in turn.sent[OPENED]
                        and OPENED not in turn.closed
                    ):
                        return turn.asked
                if not self._changed.wait(max(0.0, end - monotonic())):
                    return b""

    def post(self, name: str, stage: int, site: int, message: bytes) -> bytes:
        """Take a message."""
        with self._changed:
            turn = self._turn(name)
            before = turn.sent[stage].get(site)
            if before is None and stage in turn.closed:
                raise ProtocolAborted("turn", f"the {STAGES[stage]} were handed out without this site", 409)
            if before not in (None, message):
                raise ProtocolAborted("turn", "this site said something else before", 409)
            turn.sent[stage][site] = message
            turn.since.setdefault(stage, monotonic())
            if len(turn.sent[stage]) >= self._needed(stage):
                turn.enough.setdefault(stage, monotonic())
            self._changed.notify_all()
        return b""

    def refuse(self, name: str, site: int, line: str) -> bytes:
        """End a turn, for a site can not answer."""
        with self._changed:
            self._turn(name).refused = f"site {self.task.members[site].name!r}: {line[:300]}"
            self._changed.notify_all()
        return b""

    def collect(self, name: str, stage: int, whole: bool) -> bytes:
        """Messages of a stage, the same ones for everybody, once they are there; nothing after a while.

        Args:
            name: Which turn.
            stage: Which one.
            whole: Whether masked vectors are wanted, or their receipts alone.
        """
        end = monotonic() + WAIT
        with self._changed:
            while True:
                turn = self._turn(name)
                shown = self._closed(turn, stage)
                if shown is not None:
                    messages = [turn.sent[stage][site] for site in shown]
                    return packed(messages if whole or stage != MASKED else list(map(_receipt, messages)))
                if monotonic() >= end:
                    return b""
                self._changed.wait(max(0.01, min(GRACE / 2, end - monotonic())))

    def _closed(self, turn: OpenTurn, stage: int) -> tuple[int, ...] | None:
        if stage not in turn.closed:
            there, now = turn.sent[stage], monotonic()
            everyone = there.keys() >= self._everybody - self._out(turn)
            late = now - turn.since.setdefault(stage, now) >= self._patience
            few = stage >= SIGNED and stage in turn.enough and now - turn.enough[stage] >= GRACE
            if not everyone and not few and late and len(there) < self._needed(stage):
                gone = next(each.name for number, each in enumerate(self.task.members) if number not in there)
                turn.refused = f"site {gone!r} did not answer within {self._patience:g} seconds"
                self._turn_over(turn)
            if not everyone and not few and not late:
                return None
            turn.closed[stage] = tuple(sorted(there))
            if stage == SIGNED:
                self._leave_out(turn, self._everybody - frozenset(turn.closed.get(MASKED, self._everybody)))
        return turn.closed[stage]

    @property
    def _everybody(self) -> frozenset[int]:
        return frozenset(range(len(self.task.members)))

    def _out(self, turn: OpenTurn) -> frozenset[int]:
        """Sites that were left out of a sum before, under the same request: it goes on without them."""
        name, sites = self._left_out.get(turn.request, (turn.name, frozenset[int]()))
        return frozenset() if name == turn.name else sites

    def _leave_out(self, turn: OpenTurn, sites: frozenset[int]) -> None:
        if sites and turn.request not in self._left_out:
            if len(self._left_out) >= MOST_TURNS:
                del self._left_out[next(iter(self._left_out))]
            self._left_out[turn.request] = turn.name, sites

    def _needed(self, stage: int) -> int:
        roster = self.task.terms.roster
        return len(roster.keys) - (roster.absent if stage <= MASKED else roster.may_fail)

    def _turn(self, name: str) -> OpenTurn:
        if name not in self._turns:
            raise ProtocolAborted("turn", "there is no such turn here; ask again", 404)
        self._turn_over(self._turns[name])
        return self._turns[name]

    def _turn_over(self, turn: OpenTurn) -> None:
        if turn.refused:
            raise ProtocolAborted("turn", turn.refused, 410)


def _request_of(asked: bytes) -> str:
    """The request that a question names, as far as it can be read; it is not believed, and sites check."""
    try:
        return str(json.loads(asked[SIGNATURE:])["request"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _receipt(message: bytes) -> bytes:
    words = int.from_bytes(message[RECEIPT_HEAD : RECEIPT_HEAD + 8], "little")
    return message[: max(0, len(message) - 8 * words)]


def create_app(board: Board) -> Starlette:
    """The app of a coordinator: it checks tickets, and passes requests to the board."""
    threads = ThreadPoolExecutor(4 * len(board.task.members) + 16)  # guests wait, and most of the time

    def bearer(task: str, request: Request, role: Role) -> int:
        if task != board.task.hash:
            raise ProtocolAborted("task", "this coordinator has another task, not this one", 404)
        return bearer_of(board.task, request, role)

    def taken(role: Role, most: int, work: Callable[..., bytes]) -> Handler:
        """A handler of messages of so many bytes: `work` gets the number of who sends it, the message, and the path."""

        async def handled(task: str, *path: str | Request) -> Response:
            *parts, request = path
            number = bearer(task, cast("Request", request), role)
            message = await body_of(cast("Request", request), most)
            return await told(lambda: work(number, message, *parts), threads)

        return handled

    async def standing(task: str, _: Request) -> Response:
        return await told(lambda: board.standing(task))

    async def collect(task: str, name: str, stage: str, request: Request) -> Response:
        try:
            bearer(task, request, Role.ANALYST)
            whole = True
        except ProtocolAborted:
            bearer(task, request, Role.OWNER)
            whole = False
        return await told(lambda: board.collect(name, _stage(stage), whole), threads)

    site = Role.OWNER
    handlers: dict[str, Handler] = {
        "consents": taken(site, 64, board.consent),
        "asks": taken(Role.ANALYST, LARGEST_ASK, lambda _, asked: board.ask(asked)),
        "waiting": taken(site, 64, board.waiting),
        "turns/{name}/refused": taken(
            site, 2000, lambda number, line, name: board.refuse(name, number, line.decode(errors="replace"))
        ),
        "turns/{name}/{stage}": taken(
            site, LARGEST_MESSAGE, lambda number, message, name, stage: board.post(name, _stage(stage), number, message)
        ),
        "turns/{name}/{stage}/all": collect,
    }
    return task_app(standing, handlers)


def _stage(text: str) -> int:
    if text not in {str(stage) for stage in range(KEYS, OPENED + 1)}:
        raise ProtocolAborted("turn", "there is no such stage", 404)
    return int(text)


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The coordinator as a process, before it runs.

    Attributes:
        task: Its task.
        identity: The keys that prove it to its guests.
        patience: See `Board`.
        limits: What guests without a ticket may occupy.
    """

    task: FederationTask
    identity: Identity
    patience: float
    limits: Limits = USUAL
    monitoring: Monitoring = UNWATCHED

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until stopped. `ready` is called once it listens.

        Raises:
            ValueError: the task names another coordinator, or the address can not be had.
        """
        if self.task.coordinator != self.identity.public:
            raise ProtocolAborted("identity", f"task {self.task.name!r} names another coordinator")
        self.identity.require_valid()
        context = proving(self.identity.certificate, self.identity.proof, ())
        door = Door(address, context, self.limits, self.monitoring)
        serve(create_app(Board(self.task, self.patience)), door, ready)
