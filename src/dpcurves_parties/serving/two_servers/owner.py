"""SECRET. Clients of two servers: the owner who sends shares, the coordinator who closes a task, and what is kept."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.ledger.chain import make_key
from dpcurves.noise.randomness import Randomness

from ..channel import PATIENCE, Channel
from ..identity import FileTaken, write_public
from ..messages import ProtocolAborted, facts_of
from ..task_document import Role, Ticket, hash_of
from .kinds import SharedTask
from .report_set import LARGEST_BATCH, NAME, OVERHEAD, Batch, Earlier, ReportShare, place_of, public_key, sealed
from .report_set import packed_batch as packed

AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Sent:
    """Outcome of a contribution: the number of reports, and of those that a server had not seen before."""

    reports: int
    new: int

    def and_so(self, coming: Future[Sent] | None) -> Sent:
        """Add the outcome of a batch that is on its way."""
        if coming is None:
            return self
        more = coming.result()
        return Sent(self.reports + more.reports, self.new + more.new)


def _posted(path: str, token: str, server: Channel, message: bytes) -> Sent:
    told = facts_of(server.post(path, message, token), "server", new=int, known=int)
    return Sent(told["new"] + told["known"], told["new"])


def _once(taken: Future[Sent], post: Callable[[], Sent]) -> Sent:
    """Outcome of a batch at both servers, sent to the second one after the first."""
    first = taken.result()
    return Sent(first.reports, max(first.new, post().new))


@dataclass(repr=False)
class Contribution:
    """SECRET. The reports of one owner. It has no repr.

    Reports are made from the owner's secret and the records: an owner that dies on the way sends the very same ones
    again, and the servers know them. Other records have other reports, whose keys share nothing with those, and another
    name, which tells nothing of them. Under one ticket both servers take reports of one name: a file that was corrected
    or cut short would else count beside the first one, and its records lose their epsilon twice.

    Attributes:
        task: Task of the reports.
        places: The places of the records; of people in pairs their whole numbers, a column for each value.
        secret: 32 bytes that this owner alone has; never sent.
        earlier: Policy for another contribution under the same ticket.
        proof: Key for proofs of answers, from the ticket.
    """

    task: SharedTask
    places: IntArray
    secret: bytes
    earlier: Earlier = Earlier.STAYS
    proof: str = ""

    @classmethod
    def of(cls, task: SharedTask, places: IntArray, ticket: Path, earlier: Earlier = Earlier.STAYS) -> Contribution:
        """The contribution under a ticket; its secret lies in a file beside it, and is made when it is needed first.

        Raises:
            ValueError: the file can not be read or made.
        """
        proof = Ticket.read(ticket, Role.OWNER).proof if task.proofs else ""
        secret = make_key(ticket.with_name(ticket.name + ".secret")).of_dataset(task.hash)
        return cls(task, places, secret, earlier, proof)

    def batches(self) -> Iterator[tuple[bytes, bytes]]:
        """Batches of the contribution, each with its part for server 0 and its part for server 1."""
        for name, reports in self.shared():
            first, second = (
                sealed_reports(self.task, party, name, ((one, shares[party]) for one, shares in reports))
                for party in (0, 1)
            )
            yield self._packed(0, name, first), self._packed(1, name, second)

    def shared(self) -> Iterator[tuple[bytes, Sequence[tuple[bytes, tuple[bytes, bytes]]]]]:
        """SECRET: the name of the contribution, and some of its reports: ids and shares for server 0 and server 1."""
        places = self.places[np.lexsort(np.atleast_2d(self.places.T))]
        digest = sha256(places.astype("<i8").tobytes()).hexdigest()
        name = Randomness.keyed(self.secret, f"contribution of {digest}").octets(NAME)
        stream = Randomness.keyed(self.secret, f"reports of {digest}")
        # The order in which reports are sent tells nothing of the records.
        places = places[np.argsort(stream.words(len(places)))]
        encoding = self.task.sharing(self.proof)
        many = min(AT_ONCE, LARGEST_BATCH // (encoding.size + 2 * OVERHEAD))
        for start in range(0, len(places), many):
            yield name, encoding.named(places[start : start + many], stream)

    def _packed(self, party: int, name: bytes, reports: Sequence[ReportShare]) -> bytes:
        return packed(self.task.hash, party, Batch(name, self.earlier, reports))

    def send(self, ticket: Ticket, progress: Callable[[int], object], patience: float = PATIENCE) -> Sent:
        """Send all batches to both servers. `progress` is called with the number of reports sent.

        Server 1 is sent a batch once server 0 has taken it: what server 0 refuses, as reports of a task that is closed,
        reaches neither. Meanwhile the next batch is sealed, and sent to server 0.

        Raises:
            ProtocolAborted: a server refuses or can not be reached. Sent again, nothing counts twice.
        """
        servers = [Channel.to(server.url, server.certificate, patience) for server in self.task.servers]
        sent, path = Sent(0, 0), f"/tasks/{self.task.hash}/reports"
        ways = [partial(_posted, path, ticket.shown_to(party), server) for party, server in enumerate(servers)]
        try:
            with ThreadPoolExecutor(len(servers)) as beside:
                coming: Future[Sent] | None = None
                for batch in self.batches():
                    taken = beside.submit(ways[0], batch[0])
                    sent = sent.and_so(coming)
                    progress(sent.reports)
                    coming = beside.submit(_once, taken, partial(ways[1], batch[1]))
                sent = sent.and_so(coming)
                progress(sent.reports)
        finally:
            for server in servers:
                server.close()
        return sent


def sealed_reports(
    task: SharedTask, party: int, name: bytes, shares: Iterable[tuple[bytes, bytes]]
) -> list[ReportShare]:
    """Reports of the contribution `name`, from an id and a share for each, sealed to one server."""
    key = public_key(task.servers[party].sealing)
    return [ReportShare(one, sealed(share, key, place_of(task.hash, party, name, one))) for one, share in shares]


def bearer_of(task: SharedTask, ticket: Path) -> Ticket:
    """The ticket of an owner of this task. Raises `ValueError`: the file holds none."""
    bearer = Ticket.read(ticket, Role.OWNER)
    require_task(bearer, task)
    return bearer


def enrolled(task: SharedTask, ticket: Path, patience: float = PATIENCE) -> Ticket:
    """The ticket that an owner shows with its reports: where owners enrol, one of its own, in a file beside.

    It is made when it is needed first, and both servers are told its hash, with the ticket for an invitation.

    Raises:
        ValueError: a file can not be read or made.
        ProtocolAborted: a server refuses or can not be reached. Begun again, it goes on with the same one.
    """
    invitation = bearer_of(task, ticket)
    if not task.enrols:
        return invitation
    file = ticket.with_name(f"{ticket.name}.own")
    with suppress(FileTaken):
        Ticket(task.hash, Role.OWNER, secrets.token_hex(32)).write(file)
    own = bearer_of(task, file)
    message = json.dumps({"token": hash_of(own.token)}).encode()
    for party, server in enumerate(task.servers):
        with Channel.to(server.url, server.certificate, patience) as way:
            way.post(f"/tasks/{task.hash}/enrol", message, invitation.shown_to(party))
    return own


def require_task(ticket: Ticket, task: SharedTask) -> None:
    """Refuse a ticket of another task. Raises `ProtocolAborted`."""
    if ticket.task != task.hash:
        raise ProtocolAborted("ticket", "it is of another task")


CLOSED_TASK = "closed task"


@dataclass(frozen=True, slots=True)
class AgreedReports:
    """Reports and noise of a closed task. Public.

    Attributes:
        task: The hash of the task.
        set: The hash of the reports that count.
        reports: Number of reports.
        commitments: Those of server 0 and server 1 to their noise.
    """

    task: str
    set: str
    reports: int
    commitments: tuple[str, ...]

    def to_json(self) -> str:
        """The text of the file; the same facts have the same text."""
        return json.dumps({"dpcurves": CLOSED_TASK, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    def keep(self, file: Path) -> None:
        """Write the file, if it is not there, and hold servers to what it says.

        Formal guarantees: who has kept a file never reads counts of another set of reports, or with other noise, under
        the same task; so servers whose stores were both lost or put back are found out by whoever asked them before.

        Raises:
            ProtocolAborted: it says something else, or can not be read or written.
        """
        with suppress(FileTaken):
            write_public(file, self.to_json())
            return
        try:
            kept = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ProtocolAborted("file", f"{str(file)!r} cannot be read") from None
        if kept != self.to_json():
            rule = f"they name other reports or other noise than before, which {str(file)!r} holds them to"
            raise ProtocolAborted("servers", rule, 502)


def beside(ticket: Path) -> Path:
    """The file beside a ticket."""
    return ticket.with_name(ticket.name + ".closed")


class Closed(NamedTuple):
    """The reports that count.

    Attributes:
        set: The hash of their set.
        reports: Number of reports.
        owners: Number of owners.
    """

    set: str
    reports: int
    owners: int


def close(
    task: SharedTask,
    ticket: Ticket,
    party: int = 0,
    patience: float = PATIENCE,
    seed: bytes | None = None,
    *,
    kept: Path | None = None,
) -> Closed:
    """Let both servers agree on the reports that count, and show them the seed of pairs if there are any.

    What they agreed on is written to the file `kept`, and has to be what it says, where it is there.

    Raises:
        ProtocolAborted: they do not agree, or can not be reached. Asked again, it ends the same way.
    """
    require_task(ticket, task)
    shown = b"" if seed is None else json.dumps({"seed": seed.hex()}).encode()
    with Channel.to(task.servers[party].url, task.servers[party].certificate, patience) as server:
        told = server.post(f"/tasks/{task.hash}/close", shown, ticket.shown_to(party))
        agreed = facts_of(told, "server", set=str, reports=int, owners=int, commitments=list)
    if kept is not None:
        AgreedReports(task.hash, agreed["set"], agreed["reports"], tuple(map(str, agreed["commitments"]))).keep(kept)
    return Closed(agreed["set"], agreed["reports"], agreed["owners"])
