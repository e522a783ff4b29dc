"""Passwords: hashed by Argon2id, a few at a time, and as slowly for names that nobody has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from dpcurves_parties.serving.errors import ProtocolAborted

SHORTEST, LONGEST = 12, 1000
AT_ONCE = 2
"""Hashes that are worked out at a time: whoever floods the door with names fills this queue, and no more memory."""
MOST_WAITING = 64
MEMORY, TIMES = 19 * 1024, 2
"""KiB, and passes over them."""


class Passwords:
    """Makes hashes and compares with them, in a pool of its own."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=TIMES, memory_cost=MEMORY, parallelism=1)
        self._pool = ThreadPoolExecutor(AT_ONCE, "password")

    def made(self, password: str) -> str:
        """The hash of a new password.

        Raises:
            ProtocolAborted: it is too short, or too long.
        """
        if not SHORTEST <= len(password) <= LONGEST:
            raise ProtocolAborted("password", f"{SHORTEST} to {LONGEST} characters are needed")
        return self._pool.submit(self._hasher.hash, password).result()

    def fits(self, hashed: str | None, password: str) -> bool:
        """Check a password against its hash; None for an unknown account, in the same time.

        Raises:
            ProtocolAborted: too many people sign in at once.
        """
        if self._pool._work_queue.qsize() > MOST_WAITING:
            raise ProtocolAborted("sign-in", "too many people sign in at once; try again in a minute", 503)
        against = self._nobody if hashed is None else hashed
        return self._pool.submit(self._compare, against, password[:LONGEST]).result() and hashed is not None

    def _compare(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _nobody(self) -> str:
        """The hash of a password that is nobody's."""
        return self._hasher.hash("this is no one's")
