"""Coordinator of secure aggregation: an HTTPS message board for the sites of a federation and its analysts.

A federation is a group of sites (such as hospitals) that keep their records and reveal only noisy sums of their counts.
An analyst posts a signed request. It begins a round of the secure aggregation protocol (`secure_sum`), which has five
stages. In each stage, every site posts a message and gets the messages of the other sites in the stage before. The
coordinator stores messages and hands them out. It closes a stage when all sites have answered, or a quorum and a short
grace period have passed.

The coordinator holds no secret key of a site and reads no records. It can delay or drop messages, but not forge them,
because each message is signed. Sites and analysts sign in with a ticket (bearer token). Each ticket has limits of
waiting requests, rounds and bytes, so that a single holder cannot use up the server. Waiting requests (long polls) hold
no thread, and messages lie in files of a temporary folder, not in memory.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from pathlib import Path
from threading import Lock, RLock
from time import monotonic, thread_time
from typing import cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from dpcurves.arguments import ArgumentError
from dpcurves.drafts import ScratchFolder
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.monitoring import NO_MONITORING, Monitoring
from dpcurves_parties.serving.server import DEFAULT_LIMITS, Address, Limits, ServerSettings, make_server_context, serve
from dpcurves_parties.serving.task_app import (
    Handler,
    RateLimiter,
    authenticate_bearer,
    create_task_app,
    read_body,
    respond_from_thread,
)
from dpcurves_parties.serving.task_document import Role

from .round_request import RoundRequest
from .secure_sum import KEYS, MASKED, OPENED, SIGNED, STAGES
from .task import FederationTask
from .transport import pack_parts, unpack_parts

POLL_SECONDS = 20.0
"""Seconds after which a waiting request (long poll) is answered with nothing, and repeated by its sender: less than
proxies usually allow for a request."""
GRACE_SECONDS = 0.5
"""Seconds that a stage stays open after as many sites as needed have signed or revealed shares, so that slower sites
are heard too."""
LARGEST_WITHOUT_VECTOR = 2**16
"""Bytes: the largest message of a site, besides its vector of masked counts; a larger one is refused. Key shares for
100 sites take 20 KiB."""
MOST_POLLS = 4
"""Largest number of waiting requests (long polls) of one ticket: an honest holder has one, and another after a lost
connection. A further one is refused (status 429)."""
MOST_ROUNDS_OF_ONE = 64
"""Largest number of rounds of one analyst that the coordinator keeps; with more, the oldest is dropped."""
MOST_STORED_BYTES = 2**32
"""Bytes: the largest size of all messages of rounds on the coordinator's disk; with more, the oldest rounds are
dropped."""
MOST_ROUNDS = 2**12
"""Largest number of rounds in memory, and of requests whose left-out sites are remembered; with more, the oldest are
dropped."""


def unpack_messages(octets: bytes) -> list[bytes]:
    """Return the messages that a coordinator's response contains, in order.

    Args:
        octets: Packed messages; no bytes give no messages.

    Raises:
        ProtocolError: the response is cut off (status 502).
    """
    try:
        return unpack_parts(octets)
    except ValueError:
        raise ProtocolError(
            "coordinator", "a message is cut off; use the same version of dpcurves on all machines", 502
        ) from None


@dataclass(slots=True)
class OpenRound:
    """A round of secure aggregation on the message board, from an analyst's request to the last stage.

    Attributes:
        name: SHA-256 of the signed request, in hexadecimal digits.
        signed_request: The analyst's message.
        analyst: The number of the analyst.
        vector_length: Integers per vector, from the plan of the round; 0 if the request has no plan.
        messages: Messages by stage and site.
        closed_stages: The sites of each stage whose messages were handed out; later messages are refused.
        stage_starts: Start time of each stage, in seconds of the monotonic clock.
        quorum_times: Time at which each stage had enough messages, in seconds of the same clock.
        refusal: Reason why the round ended, in one line.
        request_id: The request id; a site left out of a sum stays out in later rounds of the request.
        turn: Turn in which sites answer the round: earlier turns first, within a turn in the order of arrival.
    """

    name: str
    signed_request: StoredMessage
    request_id: str
    analyst: int
    vector_length: int
    turn: int
    messages: dict[int, dict[int, StoredMessage]] = field(default_factory=lambda: {stage: {} for stage in STAGES})
    closed_stages: dict[int, tuple[int, ...]] = field(default_factory=dict)
    stage_starts: dict[int, float] = field(default_factory=dict)
    quorum_times: dict[int, float] = field(default_factory=dict)
    refusal: str = ""

    @property
    def is_waiting(self) -> bool:
        """True until the last stage is closed, or the round is refused."""
        return not self.refusal and OPENED not in self.closed_stages

    @property
    def stored_bytes(self) -> int:
        """Bytes on disk of all messages of the round, for the limits of the coordinator."""
        total = self.signed_request.size
        for messages in self.messages.values():
            total += sum(message.size for message in messages.values())
        return total

    def delete(self) -> None:
        """Delete the stored files of the analyst's request and of all messages of the round."""
        for message in (self.signed_request, *(item for stage in self.messages.values() for item in stage.values())):
            message.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in a file.

    Attributes:
        path: The file.
        size: Its length in bytes.
        digest: SHA-256 of the message.
    """

    path: Path
    size: int
    digest: bytes

    @classmethod
    def write(cls, folder: Path, message: bytes) -> StoredMessage:
        """Write a message to a new file of a folder, and return where it is stored.

        Args:
            folder: Folder of the round.
            message: Bytes of the message.
        """
        path = folder / secrets.token_hex(16)
        try:
            path.write_bytes(message)
        except OSError:
            path.unlink(missing_ok=True)  # on a full disk the file may have a part of the message
            raise
        return cls(path, len(message), sha256(message).digest())

    def read(self, *, receipt: bool = False) -> bytes:
        """Return the stored message or, for a receipt, only the bytes before its vector.

        Args:
            receipt: Whether only the receipt is read.
        """
        message = self.path.read_bytes()
        return _cut_receipt(message) if receipt else message


class MessageBoard:
    """The message board of a task. It is untrusted: recipients verify each message. No method waits.

    Args:
        task: The task.
        timeout: Seconds after which a silent site is left out, if the task allows it, or the round ends.
    """

    def __init__(self, task: FederationTask, timeout: float) -> None:
        """Make the message board of a coordinator, without rounds.

        Args:
            task: The task of the federation.
            timeout: Seconds after which a stage closes without the sites that may be absent.
        """
        self.task = task
        self._patience = timeout
        self._rounds: dict[str, OpenRound] = {}
        self._latest_turn = 0  # of a round that a site was sent
        self._consents: dict[int, bytes] = {}
        self._left_out: dict[str, tuple[str, frozenset[int]]] = {}
        self._changed = RLock()
        self._planning = Lock()
        self._next_plans: dict[int, float] = {}
        self._scratch = ScratchFolder()
        asks_per_minute = 120  # new rounds of one analyst per minute
        self._rate = RateLimiter(asks_per_minute, "question", "ask again in a minute", "asked by one ticket")
        self.notify: Callable[[], object] = int

    def add_consent(self, site: int, signature: bytes) -> bytes:
        """Store a site's consent to the task (its signature), and return the consents of all sites so far.

        Args:
            site: Number of the site.
            signature: Signature of the site over the task; replaces an earlier one.

        Returns:
            Packed consents in the order of the sites' numbers, each with the number in front.
        """
        with self._changed:
            self._consents[site] = signature
            self.notify()
            return pack_parts([bytes([number]) + consent for number, consent in sorted(self._consents.items())])

    def describe_status(self, task: str) -> bytes:
        """Return the public state of the task as JSON: names of the sites that have signed, and numbers of sites and
        rounds.

        Args:
            task: Hash of the task, which the caller must know.

        Raises:
            ProtocolError: another hash was given.
        """
        if task != self.task.hash:
            raise ProtocolError("task", "is not served here; ask the coordinator that the task document names", 404)
        with self._changed:
            names = [self.task.members[site].name for site in sorted(self._consents)]
            facts = {"task": task, "signed": names, "sites": len(self.task.members), "rounds": len(self._rounds)}
        return json.dumps(facts).encode()

    def start_round(self, analyst: int, signed_request: bytes) -> bytes:
        """Open a round, unless it is open already, and return its name.

        Args:
            analyst: Number of the analyst, whose token was checked.
            signed_request: Request of the round with the analyst's signature.

        Returns:
            Hash of the signed request, as hexadecimal digits; a refused round is opened again.

        Raises:
            ProtocolError: The request has no valid signature of an analyst, or the analyst asks too much.
        """
        name = sha256(signed_request).hexdigest()
        with self._changed:
            if name in self._rounds and not self._rounds[name].refusal:
                return name.encode()
        self._rate.count_requests(analyst)
        request, vector_length = self._plan_for(analyst, signed_request)
        self._open_round(analyst, name, signed_request, request, vector_length)
        return name.encode()

    def _open_round(self, analyst: int, name: str, signed_request: bytes, request: str, vector_length: int) -> None:
        """Open a round of secure aggregation, in place of any earlier round of the same name.

        An analyst has at most `MOST_ROUNDS_OF_ONE` rounds: the oldest one is dropped, and so are rounds that are out of
        date.

        Args:
            analyst: Number of the analyst in the task.
            name: Name of the round in the path of its messages.
            signed_request: The request as the analyst signed it.
            request: Request id of the question in the ledger.
            vector_length: Number of integers in a site's masked vector.
        """
        with self._changed:
            stored = StoredMessage.write(self._scratch.path, signed_request)
            if name in self._rounds:
                self._drop_round(name)
            of_one = [other.name for other in self._rounds.values() if other.analyst == analyst]
            if len(of_one) >= MOST_ROUNDS_OF_ONE:
                self._drop_round(of_one[0])
            self._rounds[name] = OpenRound(name, stored, request, analyst, vector_length, self._find_turn(analyst))
            self._drop_old_rounds(name)
            self.notify()

    def _find_turn(self, analyst: int) -> int:
        """Return the turn of a new round of an analyst: after all turns that a site was sent, and after the own ones
        that wait.

        So analysts take turns: one with many rounds keeps another waiting for two of them at most. No round comes
        before one that a site has begun: sites that see different orders would wait for each other.

        Args:
            analyst: Number of the analyst in the task.
        """
        own_turns = [other.turn for other in self._rounds.values() if other.is_waiting and other.analyst == analyst]
        return 1 + max([self._latest_turn, *own_turns])

    def _plan_for(self, analyst: int, signed_request: bytes) -> tuple[str, int]:
        """Return the request id of an analyst's round, and the number of integers in a site's vector, from the round's
        plan.

        Planning costs server time before any budget is charged. So only one request of an analyst is planned at a time,
        and for at most a quarter of the time.

        Args:
            analyst: Number of the analyst in the task.
            signed_request: The request as the analyst signed it.

        Raises:
            ProtocolError: too many requests (status 429), or the request is not validly signed or formed (403 or 400).
        """
        with self._changed:
            wait = self._next_plans.get(analyst, 0.0) - monotonic()
            if wait > 0:
                rule = "your last question is still being planned" if wait == inf else "the last one took long to plan"
                raise ProtocolError("question", f"{rule}; ask again in a few seconds", 429)
            self._next_plans[analyst] = inf
        seconds = 0.0
        try:
            with self._planning:  # one at a time, of all analysts
                start = thread_time()
                try:
                    request = RoundRequest.from_signed_bytes(signed_request, self.task)
                    return request.request, _plan_vector_length(request, self.task)
                finally:
                    seconds = thread_time() - start
        finally:
            with self._changed:
                # 3: an analyst's questions are planned for a quarter of the time at most; 0.1: seconds that are free
                self._next_plans[analyst] = monotonic() + 3 * max(0.0, seconds - 0.1)

    def _drop_round(self, name: str) -> None:
        """Remove a round from the board, and delete its stored messages.

        Args:
            name: Name of the round, which must be on the board.
        """
        self._rounds.pop(name).delete()

    def _drop_old_rounds(self, current: str) -> None:
        """Delete the oldest rounds until the board is within its limits on rounds and stored bytes.

        Args:
            current: Name of the current round, which stays.
        """
        total = sum(other.stored_bytes for other in self._rounds.values())
        while len(self._rounds) > MOST_ROUNDS or total > MOST_STORED_BYTES:
            oldest = next((name for name in self._rounds if name != current), None)
            if oldest is None:
                return
            total -= self._rounds[oldest].stored_bytes
            self._drop_round(oldest)

    def find_waiting_round(self, site: int, signature: bytes) -> bytes:
        """Return the first request that waits for this site, in the order of turns, or nothing.

        The site repeats its consent to the task, since the board may have restarted.

        Args:
            site: Number of the site.
            signature: Signature of the site over the task.

        Returns:
            Signed request; empty if no round waits.
        """
        if self._consents.get(site) != signature:
            self.add_consent(site, signature)
        with self._changed:
            waiting = [
                open_round
                for open_round in self._rounds.values()
                if open_round.is_waiting
                and site not in open_round.messages[OPENED]
                and site not in self._find_excluded(open_round)
            ]
            if not waiting:
                return b""
            first = min(waiting, key=lambda open_round: open_round.turn)
            self._latest_turn = max(self._latest_turn, first.turn)
            return first.signed_request.read()

    def limit_message(self, name: str, stage: int) -> int:
        """Return the largest size in bytes of a site's message in a stage of a round, from the public plan.

        Args:
            name: Name of the round.
            stage: Number of the stage; only the masked sum has a vector.
        """
        with self._changed:
            vector_length = self._find_round(name).vector_length if stage == MASKED else 0
        # 2**26 bytes: the largest message of a site under any plan
        return min(2**26, LARGEST_WITHOUT_VECTOR + 8 * vector_length)

    def post_message(self, name: str, stage: int, site: int, message: bytes) -> bytes:
        """Store a site's message of a stage; return an empty answer.

        Args:
            name: Name of the round.
            stage: Number of the stage.
            site: Number of the site.
            message: Signed message of the site.

        Raises:
            ProtocolError: the round is unknown or over, the stage was handed out, or the site sent another message
                before.
        """
        with self._changed:
            open_round = self._find_round(name)
            earlier = open_round.messages[stage].get(site)
            if earlier is None and stage in open_round.closed_stages:
                raise ProtocolError(
                    "round",
                    f"the {STAGES[stage]} of this site came too late, and the others went on; answer the next question",
                    409,
                )
            if earlier is not None and earlier.digest != sha256(message).digest():
                raise ProtocolError(
                    "round", "must repeat the message that this site sent before; resume with the same state file", 409
                )
            if earlier is None:
                open_round.messages[stage][site] = StoredMessage.write(self._scratch.path, message)
                self._drop_old_rounds(name)
            open_round.stage_starts.setdefault(stage, monotonic())
            if len(open_round.messages[stage]) >= self._count_required(stage):
                open_round.quorum_times.setdefault(stage, monotonic())
            self.notify()
        return b""

    def refuse_round(self, name: str, site: int, line: str) -> bytes:
        """End a round because a site cannot answer it; later requests about the round get the site's reason.

        Args:
            name: Name of the round.
            site: Number of the site.
            line: The reason in one line.

        Returns:
            An empty answer.
        """
        with self._changed:
            self._find_round(name).refusal = f"site {self.task.members[site].name!r}: {line[:300]}"
            self.notify()
        return b""

    def collect_messages(self, name: str, stage: int, with_vectors: bool) -> bytes:
        """Return the messages of a stage, the same for all recipients; nothing while the stage is open.

        Args:
            name: The name of the round.
            stage: The stage.
            with_vectors: Whether to return whole masked vectors; if not, only their receipts.
        """
        with self._changed:
            open_round = self._find_round(name)
            sites = self._close_stage(open_round, stage)
            if sites is None:
                return b""
            is_receipt = stage == MASKED and not with_vectors
            return pack_parts([open_round.messages[stage][site].read(receipt=is_receipt) for site in sites])

    def _close_stage(self, open_round: OpenRound, stage: int) -> tuple[int, ...] | None:
        """Return the sites whose messages of this stage are handed out, and close the stage if its time has come.

        A stage closes when all sites that still take part have sent their message; or a short time after enough sites
        signed; or when the patience is over and enough messages are there.

        Args:
            open_round: The round.
            stage: Number of the stage, 1 to 5.

        Returns:
            Numbers of the sites in ascending order; None while the stage is open.

        Raises:
            ProtocolError: too few messages arrived in time; the round is over.
        """
        if stage not in open_round.closed_stages:
            messages = open_round.messages[stage]
            now = monotonic()
            all_arrived = messages.keys() >= self._all_sites - self._find_excluded(open_round)
            is_late = now - open_round.stage_starts.setdefault(stage, now) >= self._patience

            # Once enough sites have signed, the others have a short time of grace: a slow site must not hold up all.
            quorum_waited = False
            if stage >= SIGNED and stage in open_round.quorum_times:
                quorum_waited = now - open_round.quorum_times[stage] >= GRACE_SECONDS

            if not all_arrived and not quorum_waited and is_late and len(messages) < self._count_required(stage):
                missing_site = next(
                    member.name for number, member in enumerate(self.task.members) if number not in messages
                )
                open_round.refusal = (
                    f"site {missing_site!r} did not answer within {self._patience:g} seconds; ask again when it runs"
                )
                self._require_open(open_round)
            if not all_arrived and not quorum_waited and not is_late:
                return None

            open_round.closed_stages[stage] = tuple(sorted(messages))
            if stage == SIGNED:
                self._exclude_sites(
                    open_round, self._all_sites - frozenset(open_round.closed_stages.get(MASKED, self._all_sites))
                )
        return open_round.closed_stages[stage]

    @property
    def _all_sites(self) -> frozenset[int]:
        """Numbers of all sites of the task, from 0."""
        return frozenset(range(len(self.task.members)))

    def _find_excluded(self, open_round: OpenRound) -> frozenset[int]:
        """Return the sites that an earlier sum of the same request left out, so that this sum leaves them out too.

        Args:
            open_round: The round.

        Returns:
            Numbers of the sites; empty for the first sum of a request.
        """
        name, sites = self._left_out.get(open_round.request_id, (open_round.name, frozenset[int]()))
        return frozenset() if name == open_round.name else sites

    def _exclude_sites(self, open_round: OpenRound, sites: frozenset[int]) -> None:
        """Leave sites out of all later rounds of a request, once: the first sum of a request decides.

        Args:
            open_round: Round that closed without the sites.
            sites: Numbers of the sites; an empty set has no effect.
        """
        if sites and open_round.request_id not in self._left_out:
            if len(self._left_out) >= MOST_ROUNDS:
                del self._left_out[next(iter(self._left_out))]
            self._left_out[open_round.request_id] = open_round.name, sites

    def _count_required(self, stage: int) -> int:
        """Return the smallest number of sites whose messages a stage needs to close.

        Up to the masked vectors, as many sites as allowed may be absent; afterwards, as many as allowed may fail.

        Args:
            stage: Number of the stage, 1 to 5.
        """
        roster = self.task.terms.roster
        return len(roster.keys) - (roster.max_dropouts if stage <= MASKED else roster.max_failures)

    def _find_round(self, name: str) -> OpenRound:
        """Return the open round of secure aggregation with this name.

        Args:
            name: Name of the round.

        Raises:
            ProtocolError: the name is unknown (status 404), or the round is over.
        """
        if name not in self._rounds:
            raise ProtocolError("round", "is unknown here; ask the question again", 404)
        self._require_open(self._rounds[name])
        return self._rounds[name]

    def _require_open(self, open_round: OpenRound) -> None:
        """Check that a round is not over.

        Args:
            open_round: The round.

        Raises:
            ProtocolError: the round is over (status 410); the message has the reason.
        """
        if open_round.refusal:
            raise ProtocolError("round", open_round.refusal, 410)


def _plan_vector_length(request: RoundRequest, task: FederationTask) -> int:
    """Return the number of integers in a site's masked vector of a round; 0 for a request that sites will refuse.

    Args:
        request: Request of the round.
        task: The task of the federation.
    """
    try:
        plan, _ = request.plan_round(task)
        return plan.distribution.size or 0
    except (ArgumentError, ValueError, TypeError, KeyError, LookupError, RecursionError, OverflowError):
        return 0


def _cut_receipt(message: bytes) -> bytes:
    """Return the receipt (signed digests) in front of a site's masked vector, the only part that other sites need.

    The receipt states the length of the vector.

    Args:
        message: Message of the stage of the masked sum.

    Returns:
        Bytes of the message before the vector; empty if the message is shorter than its vector.
    """
    # offset in bytes of the vector length in a message: version line (8), task (32), round number (8)
    receipt_head = 48
    vector_length = int.from_bytes(message[receipt_head : receipt_head + 8], "little")
    return message[: max(0, len(message) - 8 * vector_length)]


class Polls:
    """Long polls, which wait in the event loop without a thread, a few of each ticket."""

    def __init__(self, board: MessageBoard) -> None:
        """Prepare to hold requests (long polls) that wait for changes of a message board.

        Args:
            board: The message board of the coordinator.
        """
        self._waiting: Counter[tuple[Role, int]] = Counter()
        self._events: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        board.notify = self._notify

    def _notify(self) -> None:
        """Wake all waiting requests, because the message board has changed; may be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        """Make each waiting request look at the message board again; must be called on the event loop."""
        for event in self._events:
            event.set()

    async def wait_for(
        self, ticket: tuple[Role, int], look: Callable[[], bytes], pause: float = POLL_SECONDS
    ) -> Response:
        """Hold a request (long poll) until there is an answer; return an empty answer after `POLL_SECONDS` seconds.

        Args:
            ticket: Role and number of the caller, whose waiting requests are limited.
            look: Function that returns an answer, empty for no news. It is called at each change, and after each pause.
            pause: Seconds between two calls without a change.

        Raises:
            ProtocolError: the caller has too many waiting requests already.
        """
        if self._waiting[ticket] >= MOST_POLLS:
            raise ProtocolError(
                "ticket", f"{MOST_POLLS} requests with this ticket wait already; wait until one ends", 429
            )
        self._loop = asyncio.get_running_loop()
        event = asyncio.Event()
        end = monotonic() + POLL_SECONDS
        self._waiting[ticket] += 1
        self._events.add(event)
        try:
            while True:
                event.clear()
                response = await respond_from_thread(look)
                remaining = end - monotonic()
                if response.body or remaining <= 0:
                    return response
                with suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), max(0.01, min(pause, remaining)))
        finally:
            self._events.discard(event)
            self._waiting[ticket] -= 1
            if not self._waiting[ticket]:
                del self._waiting[ticket]


def create_app(board: MessageBoard) -> Starlette:
    """Return the web app of a coordinator, which passes messages between an analyst and the sites of a task.

    Args:
        board: Message board, which holds the task and its open rounds.

    Returns:
        Starlette app. It authenticates each sender by the ticket (bearer token) of the task.
    """
    polls = Polls(board)
    planners = ThreadPoolExecutor(1, "planning")  # its own thread: sites that post and poll wait for no plan

    def authenticate_member(task: str, request: Request, role: Role) -> int:
        """Return which site or analyst of the task sent a request, by its bearer token.

        Args:
            task: Hash of the task in the path.
            request: Request with a bearer token.
            role: Owner (a site) or analyst.

        Returns:
            Number of the sender among the members of this role.

        Raises:
            ProtocolError: another task is named (status 404), or no member of the task has the token.
        """
        if task != board.task.hash:
            raise ProtocolError("task", "is not served here; ask the coordinator that the task document names", 404)
        return authenticate_bearer(board.task, request, role)

    def build_handler(
        role: Role,
        limit: int | Callable[..., int],
        respond: Callable[..., bytes],
        *,
        waits: bool = False,
        threads: ThreadPoolExecutor | None = None,
    ) -> Handler:
        """Return a request handler that authenticates the sender, reads the message and answers from a thread.

        Args:
            role: Role that a sender must have.
            limit: Largest size of a message in bytes, or a function of the parts of the path that returns it.
            respond: Function of the sender's number, the message and the parts of the path; returns the answer.
            waits: Whether `respond` is asked again until it returns something.
            threads: Threads that call `respond`; None: the shared ones.
        """

        async def handle_message(task: str, *path: str | Request) -> Response:
            """Handle a request: authenticate the sender, read the message, and answer it from a thread.

            Args:
                task: Hash of the task in the path.
                path: Further parts of the path, then the request.

            Raises:
                ProtocolError: the sender has no token of this role, or the message is refused.
            """
            *arguments, request = path
            number = authenticate_member(task, cast("Request", request), role)
            most = limit if isinstance(limit, int) else limit(*arguments)
            most_bodies = 2  # bodies of one ticket on their way at a time
            message = await read_body(cast("Request", request), most, most_bodies)
            if waits:
                return await polls.wait_for((role, number), lambda: respond(number, message, *arguments))
            return await respond_from_thread(lambda: respond(number, message, *arguments), threads)

        return handle_message

    async def send_status(task: str, _: Request) -> Response:
        """Answer a request with the public status of the task: which sites have signed it, and the number of rounds.

        Args:
            task: Hash of the task in the path.
        """
        return await respond_from_thread(lambda: board.describe_status(task))

    async def send_messages(task: str, name: str, stage: str, request: Request) -> Response:
        """Answer with the messages of a stage of the round `name`, once the stage is closed.

        The answer waits until then. If the stage is still open after the longest wait, the answer is empty. Analysts
        get whole masked vectors, sites get receipts.

        Args:
            task: Hash of the task in the path.
            name: Name of the round.
            stage: Number of the stage in the path, 1 to 5.
            request: Request with the bearer token of an analyst or a site.
        """
        role = Role.ANALYST
        try:
            number = authenticate_member(task, request, role)
        except ProtocolError:
            role = Role.OWNER
            number = authenticate_member(task, request, role)
        is_whole = role is Role.ANALYST
        parsed_stage = _parse_stage(stage)
        return await polls.wait_for(  # stages also close by time
            (role, number), lambda: board.collect_messages(name, parsed_stage, is_whole), GRACE_SECONDS / 2
        )

    site = Role.OWNER
    # 2**27 bytes of an analyst's request at most: question and answers of earlier rounds
    handlers: dict[str, Handler] = {
        "consents": build_handler(site, 64, board.add_consent),
        "asks": build_handler(Role.ANALYST, 2**27, board.start_round, threads=planners),
        "waiting": build_handler(site, 64, board.find_waiting_round, waits=True),
        "rounds/{name}/refused": build_handler(
            site, 2000, lambda number, line, name: board.refuse_round(name, number, line.decode(errors="replace"))
        ),
        "rounds/{name}/{stage}": build_handler(
            site,
            lambda name, stage: board.limit_message(name, _parse_stage(stage)),
            lambda number, message, name, stage: board.post_message(name, _parse_stage(stage), number, message),
        ),
        "rounds/{name}/{stage}/all": send_messages,
    }
    return create_task_app(send_status, handlers)


def _parse_stage(text: str) -> int:
    """Return the number of a stage, 1 to 5, from the text in a path.

    Args:
        text: Part of a URL's path.

    Raises:
        ProtocolError: the text names no stage (status 404).
    """
    if text not in {str(stage) for stage in range(KEYS, OPENED + 1)}:
        raise ProtocolError(
            "round", "must name a stage from 1 to 5; use the same version of dpcurves on all machines", 404
        )
    return int(text)


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Configuration of a coordinator process.

    Attributes:
        task: The task.
        identity: The TLS identity.
        timeout: See `MessageBoard`.
        limits: Limits on unauthenticated clients.
        monitoring: Log and metrics.
    """

    task: FederationTask
    identity: Identity
    timeout: float
    limits: Limits = DEFAULT_LIMITS
    monitoring: Monitoring = NO_MONITORING

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until stopped. Calls `ready` when the server listens.

        Args:
            address: Address at which the coordinator listens.
            ready: Function that is called once it listens.

        Raises:
            ValueError: The task names another coordinator, or the address is not available.
        """
        if self.task.coordinator != self.identity.public:
            raise ProtocolError(
                "identity", f"task {self.task.name!r} names another coordinator; give the folder of its keys"
            )
        self.identity.require_valid()
        context = make_server_context(self.identity.certificate_file, self.identity.private_key_file, ())
        settings = ServerSettings(address, context, self.limits, self.monitoring)
        serve(create_app(MessageBoard(self.task, self.timeout)), settings, ready)
