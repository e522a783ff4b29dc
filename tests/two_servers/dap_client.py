"""A client of the DAP draft, from its structures alone: the textbook of Prio3Histogram, of HPKE, and `struct`."""

from __future__ import annotations

import os
import struct
import sys
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "crypto" / "conformance"))  # where pytest has not put it

import wire_textbook as book
from vdaf_histogram import Histogram

UPLOAD, ERRORS, CONFIGS, COLLECT, COLLECTED = (
    f"application/ppm-dap;message={what}"
    for what in ("upload-req", "upload-errors", "hpke-config-list", "collection-job-req", "collection-job-resp")
)
TICKET, ASKS = 0xFF10, 0xFF11
DAY = 86_400


def opaque(content: bytes, form: str) -> bytes:
    return struct.pack(form, len(content)) + content


def configs(message: bytes) -> list[tuple[int, tuple[int, int, int], bytes]]:
    """Numbers, suites and keys of an `HpkeConfigList`."""
    assert struct.unpack_from(">H", message) == (len(message) - 2,)
    found, place = [], 2
    while place < len(message):
        number, *suite, size = struct.unpack_from(">BHHHH", message, place)
        place += 9
        found.append((number, (suite[0], suite[1], suite[2]), message[place : place + size]))
        place += size
    return found


@dataclass(frozen=True)
class Client:
    """Client that knows a task's id and configuration, and the servers' keys.

    Attributes:
        task: The id of the task.
        urls: Of leader and helper.
        length: Number of cells.
        chunk: Length of chunks.
        keys: Number and public key of leader and helper.
        vdaf: Number of the scheme of reports.
        parameters: Bytes of the parameters of another scheme.
    """

    task: bytes
    urls: Sequence[str]
    length: int
    chunk: int
    keys: Sequence[tuple[int, bytes]]
    vdaf: int = 4
    parameters: bytes = b""

    @property
    def path(self) -> str:
        return f"/tasks/{urlsafe_b64encode(self.task).decode().rstrip('=')}/reports"

    @property
    def configuration(self) -> bytes:
        urls = b"".join(opaque(url.encode(), ">H") for url in self.urls)
        mode = struct.pack(">QQBH", DAY, 1, 2, 0)
        parameters = self.parameters or struct.pack(">II", self.length, self.chunk)
        vdaf = struct.pack(">I", self.vdaf) + opaque(parameters, ">H")
        return opaque(b"dpcurves", ">B") + urls + mode + vdaf + struct.pack(">H", 0)

    def report(self, cell: int, ticket: str, name: bytes, rand: bytes, **more: Any) -> bytes:
        """A `Report` of a cell, for an owner who shows a ticket to the helper; more: as `sealed`."""
        scheme = Histogram(2, self.length, self.chunk, b"dap-18" + self.task, name)
        public, inputs = scheme.shard(cell, rand)
        return self.sealed(public, inputs, ticket, name, **more)

    def sealed(
        self, public: bytes, inputs: Sequence[bytes], ticket: str, name: bytes, *, time: int = 0,
        keys: Sequence[bytes] = (), extensions: Sequence[bytes] | None = None, public_extensions: bytes = b"",
        cut: int = 0,
    ) -> bytes:  # fmt: skip
        """A `Report` of shares, with these ephemeral keys, private and public extensions, and bytes cut off shares."""
        metadata = name + struct.pack(">Q", time) + opaque(public_extensions, ">H")
        bound = self.task + self.configuration + metadata + opaque(public, ">I")
        shown = (b"", struct.pack(">H", TICKET) + opaque(ticket.encode(), ">H")) if extensions is None else extensions
        message = metadata + opaque(public, ">I")
        for party, (number, key) in enumerate(self.keys):
            plain = opaque(shown[party], ">H") + opaque(inputs[party][: len(inputs[party]) - cut], ">I")
            info = b"dap-18 input share" + bytes([1, 2 + party])
            made = book.sealed(plain, key, info, keys[party] if keys else os.urandom(32), bound)
            message += bytes([number]) + opaque(made[:32], ">H") + opaque(made[32:], ">I")
        return message


@dataclass(frozen=True)
class Collector:
    """Analyst who collects, with a key for one job.

    Attributes:
        client: What a client knows of the task.
        key: The key, secret.
        config: Its number.
    """

    client: Client
    key: bytes
    config: int = 7

    def job(self, token: str, ephemeral: bytes, **more: Any) -> bytes:
        """A `CollectionJobReq`, with the bearer token for the helper; more: as `changed`."""
        return self.changed(self.named + self.letter(token, ephemeral), **more)

    @property
    def named(self) -> bytes:
        return bytes([self.config]) + struct.pack(">HHH", 32, 1, 1) + opaque(book.public(self.key), ">H")

    def letter(self, token: str, ephemeral: bytes) -> bytes:
        number, key = self.client.keys[1]
        bound = self.client.task + self.client.configuration + self.named
        made = book.sealed(token.encode(), key, b"dpcurves collection 1\x00\x03", ephemeral, bound)
        return bytes([number]) + opaque(made[:32], ">H") + opaque(made[32:], ">I")

    def changed(self, inside: bytes, *, mode: int = 2, query: bytes = b"", parameter: bytes = b"", kind: int = ASKS,
                more: bytes = b"") -> bytes:  # fmt: skip
        """A job with these contents."""
        extension = struct.pack(">H", kind) + opaque(inside, ">H") + more
        return bytes([mode]) + opaque(query, ">H") + opaque(parameter, ">I") + opaque(extension, ">H")

    def shares(self, job: bytes, answer: bytes) -> tuple[int, tuple[int, int], list[bytes]]:
        """Number of reports, the interval, and both aggregate shares in a `CollectionJobResp`."""
        reports, start, duration = struct.unpack_from(">QQQ", answer)
        shares, place = [], 24
        for party in (0, 1):
            number, size = struct.unpack_from(">BH", answer, place)
            (length,) = struct.unpack_from(">I", answer, place + 3 + size)
            assert (number, size) == (self.config, 32)
            message = answer[place + 3 : place + 35] + answer[place + 39 : place + 39 + length]
            bound, info = self.client.task + self.client.configuration + job, b"dap-18 aggregate share"
            shares.append(book.unsealed(message, self.key, info + bytes([2 + party, 0]), bound))
            place += 39 + length
        assert place == len(answer)
        return reports, (start, duration), shares


def unsharded(reports: int, shares: Sequence[bytes]) -> tuple[bytes, int, list[int]]:
    """Set and commitments, how many reports were dropped, and the numbers; the last is that of the missing."""
    first, second = shares
    assert first[:104] == second[:104]
    halves = [struct.unpack(f"<{(len(each) - 104) // 8}Q", each[104:]) for each in shares]
    numbers = [(sum(pair) + 2**63) % 2**64 - 2**63 for pair in zip(*halves, strict=True)]
    return first[:96], int.from_bytes(first[96:104], "big"), [*numbers[:-1], numbers[-1] + reports]
