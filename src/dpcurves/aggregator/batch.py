"""A batch of sealed reports on its way to one server: a header, then records of one size. Nothing may follow."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from .refused import ProtocolAborted

MAGIC = b"DPCF"
FORMAT = 1
ID = 16
MOST_REPORTS = 4096
_HEADER = struct.Struct("<4sBBHI32s")


class Report(NamedTuple):
    """One report for one server.

    Attributes:
        id: 16 bytes that the owner drew; the same at both servers.
        sealed: The share, that only this server opens.
    """

    id: bytes
    sealed: bytes


def packed(task: str, party: int, reports: Sequence[Report]) -> bytes:
    """The bytes of a batch. All reports of a task have one size."""
    size = len(reports[0].sealed)
    header = _HEADER.pack(MAGIC, FORMAT, party, size, len(reports), bytes.fromhex(task))
    return header + b"".join(report.id + report.sealed for report in reports)


def unpacked(message: bytes, task: str, party: int, size: int) -> list[Report]:
    """The reports in a batch for this task and party, whose sealed shares have `size` bytes.

    Raises:
        ProtocolAborted: it is another message, or cut off, or goes on.
    """
    if len(message) < _HEADER.size:
        raise ProtocolAborted("reports: the batch is cut off")
    magic, version, to, each, count, name = _HEADER.unpack_from(message)
    if magic != MAGIC or version != FORMAT:
        raise ProtocolAborted(f"reports: this is no batch of format {FORMAT}")
    if name.hex() != task or to != party:
        raise ProtocolAborted("reports: the batch is for another task or server")
    if each != size or not 1 <= count <= MOST_REPORTS:
        raise ProtocolAborted(f"reports: 1 to {MOST_REPORTS} reports of {size} bytes are needed")
    record = ID + size
    if len(message) != _HEADER.size + count * record:
        raise ProtocolAborted("reports: the batch is cut off, or something follows it")
    starts = range(_HEADER.size, len(message), record)
    return [Report(message[start : start + ID], message[start + ID : start + record]) for start in starts]
