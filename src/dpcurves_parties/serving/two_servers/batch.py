"""A batch of sealed reports on its way to one server: a header, then records of one size. Nothing may follow."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from ..errors import ProtocolAborted

MAGIC = b"DPCF"
FORMAT = 2
ID = 16
NAME = 32
MOST_REPORTS = 4096
_HEADER = struct.Struct(f"<4sBBBHI{NAME}s{NAME}s")


class Report(NamedTuple):
    """Report for a single server.

    Attributes:
        id: 16 bytes that the owner drew; the same at both servers.
        sealed: The share, that only this server opens.
    """

    id: bytes
    sealed: bytes


class Earlier(Enum):
    """Policy for other reports that were sent under the same ticket before."""

    STAYS = 0
    """Earlier reports stay, and these are refused: one ticket is good for one contribution."""
    GIVES_WAY = 1
    """Earlier reports are forgotten, as long as the task is open."""


class Batch(NamedTuple):
    """Some reports of one contribution, for one server.

    Attributes:
        contribution: 32 bytes that name all that an owner contributes: the same in all of its batches, at both servers.
        earlier: Policy for another contribution under the same ticket.
        reports: Reports, each of the same size.
    """

    contribution: bytes
    earlier: Earlier
    reports: Sequence[Report]


def packed(task: str, party: int, batch: Batch) -> bytes:
    """The bytes of a batch."""
    size, count = len(batch.reports[0].sealed), len(batch.reports)
    facts = party, batch.earlier.value, size, count, bytes.fromhex(task), batch.contribution
    return _HEADER.pack(MAGIC, FORMAT, *facts) + b"".join(report.id + report.sealed for report in batch.reports)


def unpacked(message: bytes, task: str, party: int, size: int) -> Batch:
    """The batch in a message for this task and party, whose sealed shares have `size` bytes.

    Raises:
        ProtocolAborted: it is another message, or cut off, or goes on.
    """
    if len(message) < _HEADER.size:
        raise ProtocolAborted("reports", "the batch is cut off")
    magic, version, to, earlier, each, count, name, contribution = _HEADER.unpack_from(message)
    if magic != MAGIC or version != FORMAT or earlier not in (0, 1):
        raise ProtocolAborted("reports", f"this is no batch of format {FORMAT}")
    if name.hex() != task or to != party:
        raise ProtocolAborted("reports", "the batch is for another task or server")
    if each != size or not 1 <= count <= MOST_REPORTS:
        raise ProtocolAborted("reports", f"1 to {MOST_REPORTS} reports of {size} bytes are needed")
    record = ID + size
    if len(message) != _HEADER.size + count * record:
        raise ProtocolAborted("reports", "the batch is cut off, or something follows it")
    starts = range(_HEADER.size, len(message), record)
    reports = [Report(message[start : start + ID], message[start + ID : start + record]) for start in starts]
    return Batch(contribution, Earlier(earlier), reports)
