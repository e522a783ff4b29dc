"""Frames of bytes: a fixed header with a checksum, then records of one size. Any other form is refused."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from struct import Struct

import numpy as np

from dpcurves.arguments import Refused

from .ring import Words

_HEAD = Struct("<4sBBBBI")  # magic, version, kind, bits, words, count: little-endian
_SUM_SIZE = 4  # of SHA-256 over all else: against accidents, not against people
_MAGIC = b"dpcs"
_VERSION = 1
HEAD_SIZE = _HEAD.size + _SUM_SIZE


@dataclass(frozen=True, slots=True)
class Frame:
    """Header of a frame, without the count.

    Attributes:
        name: Content of the frame, for errors.
        kind: Its number.
        bits: Bits of the domain; 0 if there is none.
        words: Words of a number.
    """

    name: str
    kind: int
    bits: int
    words: int

    def packed(self, records: Words) -> bytes:
        """The frame of records ``(count, words of a record)``."""
        head = _HEAD.pack(_MAGIC, _VERSION, self.kind, self.bits, self.words, len(records))
        body = np.ascontiguousarray(records, dtype="<u8").tobytes()
        return head + _checksum(head, body) + body

    def records(self, blob: bytes, record_words: int) -> Words:
        """The records ``(count, record_words)`` of a frame. Read-only.

        Raises:
            ValueError: it is another frame, or its length or its checksum is not what its head says.
        """
        found = self._head(blob)
        wanted = (_MAGIC, _VERSION, self.kind, self.bits, self.words)
        for part, have, want in zip(("magic", "version", "kind", "bits", "words"), found, wanted, strict=False):
            if have != want:
                raise Refused(self.name, f"{part} {want!r} is needed, got {have!r}")
        size = HEAD_SIZE + 8 * record_words * found[-1]
        if len(blob) != size:
            raise Refused(self.name, f"{size} bytes are needed for count {found[-1]}, got {len(blob)}")
        if blob[_HEAD.size : HEAD_SIZE] != _checksum(blob[: _HEAD.size], memoryview(blob)[HEAD_SIZE:]):
            raise Refused(self.name, "the checksum is that of other bytes")
        body = np.frombuffer(blob, dtype="<u8", offset=HEAD_SIZE).astype(np.uint64, copy=False)
        return body.reshape(found[-1], record_words)

    def _head(self, blob: bytes) -> tuple[bytes, int, int, int, int, int]:
        if len(blob) < HEAD_SIZE:
            raise Refused(self.name, f"a head of {HEAD_SIZE} bytes is needed, got {len(blob)}")
        magic, version, kind, bits, words, count = _HEAD.unpack_from(blob)
        return magic, version, kind, bits, words, count


def _checksum(head: bytes, body: bytes | memoryview) -> bytes:
    digest = sha256(head)
    digest.update(body)
    return digest.digest()[:_SUM_SIZE]
