"""The AES keys of gates: no two gates of a session have the same one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcurves.arguments import Refused

from ..ring import Words

SALT_SIZE = 16
MOST = 1 << 48


@dataclass(slots=True, repr=False, eq=False)
class GateKeys:
    """Counts the batches of gates of one session: the key of each is the salt, with its number in the low word.

    Attributes:
        salt: 16 bytes, the session's own. They are public.

    Raises:
        ValueError: the salt has another length.
    """

    salt: bytes
    _next: int = field(default=0, init=False)
    _words: Words = field(init=False)

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_SIZE:
            raise Refused("salt", f"{SALT_SIZE} bytes are needed, got {len(self.salt)}")
        self._words = np.frombuffer(self.salt, dtype="<u8").astype(np.uint64)

    def next(self) -> Words:
        """The key of the next batch, ``(2,)``."""
        if self._next >= MOST:
            raise Refused("session", f"it has at most {MOST} batches of gates")
        key = self._words.copy()
        key[0] ^= np.uint64(self._next)
        self._next += 1
        return key
