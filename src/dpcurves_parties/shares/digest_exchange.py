"""Comparison of digests of checked reports between the servers, before any of them counts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..crypto.checked import DIGEST_SIZE
from ..serving.errors import ProtocolAborted


@dataclass(frozen=True, slots=True)
class Check:
    """Digests that a server sends to the other, for all reports that count, in the order of their ids.

    Attributes:
        digests: 16 bytes for each; those of an honest owner are the same at both servers, and tell nothing.
        dropped: A bit for each: reports that failed before.
    """

    digests: bytes
    dropped: bytes

    def to_json(self) -> dict[str, str]:
        """Plain objects for JSON."""
        return {"digests": b64encode(self.digests).decode(), "dropped": b64encode(self.dropped).decode()}

    @classmethod
    def from_json(cls, stored: object, reports: int) -> Check:
        """The inverse of `to_json`, for so many reports.

        Raises:
            ProtocolAborted: it is none.
        """
        try:
            found: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
            check = cls(b64decode(found["digests"], validate=True), b64decode(found["dropped"], validate=True))
        except (KeyError, TypeError, ValueError):
            raise ProtocolAborted("peer", "it told nothing of what is to be checked", 502) from None
        if len(check.digests) != DIGEST_SIZE * reports or len(check.dropped) != -(-reports // 8):
            raise ProtocolAborted("peer", "what is to be checked is of another number of reports", 502)
        return check

    def array(self) -> NDArray[np.uint8]:
        """The digests as rows."""
        return np.frombuffer(self.digests, np.uint8).reshape(-1, DIGEST_SIZE)


def bits_of(dropped: NDArray[np.bool_]) -> bytes:
    """A bit for each report."""
    return np.packbits(dropped).tobytes()


def flags_of(bits: bytes, reports: int) -> NDArray[np.bool_]:
    """The inverse of `bits_of`."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=reports).astype(bool)
