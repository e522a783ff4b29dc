"""A site whose messages others carry: its requests wait at a socket on its own machine until somebody fetches them."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread

from dpcurves.arguments import ProtocolAborted

from .carrier import OVER, SITE_PATIENCE, packed, received, unpacked

UNANSWERED = re.compile(r"/turns/[0-9a-f]+/([0-9]+|refused)$")
"""Requests whose answer is empty unless they are refused."""
NEXT = "/waiting"
"""Request for the next turn."""


class Carried:
    """Requests of a site in the place of a connection to its coordinator: see `carrier`.

    What leaves is what would leave by HTTPS, and no more: signed messages, masked vectors, and the site's ticket.
    Whoever carries it may read it, as a coordinator may. So the socket is for the user whose process carries, and the
    records, the key and the ledger are for the site's own: another user's. It has no repr.

    Formal guarantees: as `SiteAgent`'s, whatever the carrier does with messages. Answers are believed for what they are
    signed for, batches are handed out again as they were, and an answer to another batch changes nothing.

    Args:
        place: Path of the socket, which is made, for its user and group alone.
        patience: Seconds for which whoever fetches a batch is kept waiting for it.
    """

    __slots__ = ("_answer", "_batch", "_changed", "_number", "_patience", "_place", "_server", "_waiting")

    def __init__(self, place: Path, patience: float = SITE_PATIENCE / 2) -> None:
        self._place, self._patience = place, patience
        self._number, self._waiting = secrets.randbits(62), list[bytes]()  # a process that was here before had others
        self._batch, self._answer = b"", b""
        self._changed = Condition()
        with suppress(FileNotFoundError):
            place.unlink()
        self._server = socket.socket(socket.AF_UNIX)
        before = os.umask(0o117)
        try:
            self._server.bind(str(place))
        except OSError as error:
            raise ProtocolAborted("carried", f"{str(place)!r} can not be a socket ({error.strerror})") from None
        finally:
            os.umask(before)
        self._server.listen()
        Thread(target=self._serve, daemon=True).start()

    def post(self, path: str, body: bytes, token: str = "") -> bytes:
        """Have a request made; messages that are answered by nothing wait for the next request that is not.

        Raises:
            ProtocolAborted: it is refused, or a message before it was.
        """
        self._waiting += [path.encode(), body]
        if UNANSWERED.search(path):
            return b""
        with self._changed:
            self._number += 1
            self._batch = packed([str(self._number).encode(), token.encode(), *self._waiting])
            self._waiting, self._answer = [], b""
            self._changed.notify_all()
            while not self._answer:
                self._changed.wait()
            _, status, left, said = unpacked(self._answer)
            self._batch = b""
        if left != b"0" and path.endswith(NEXT):
            return b""  # a turn ended before its last message came: that is no news to who asks for the next
        if status != b"200":
            raise ProtocolAborted.heard(_refusal(said), int(status))
        return said

    def close(self) -> None:
        """Let nobody fetch any more."""
        self._server.close()
        with suppress(FileNotFoundError):
            self._place.unlink()

    def fetched(self, answer: bytes) -> bytes:
        """The batch that waits, once the answer to the one before was taken; nothing after a while."""
        with self._changed:
            if answer not in (b"", OVER) and self._batch and not self._answer and _number(answer) == self._number:
                self._answer = answer
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._batch and not self._answer, self._patience)
            return b"" if self._answer else self._batch

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            Thread(target=self._exchange, args=(connection,), daemon=True).start()

    def _exchange(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, ValueError):
            connection.settimeout(SITE_PATIENCE)
            connection.sendall(packed([self.fetched(received(connection))]))


def _number(answer: bytes) -> int:
    """Which batch it is of.

    Raises:
        ValueError: it is no answer.
    """
    number, status, left, _ = unpacked(answer)
    if not status.isdigit() or not left.isdigit():
        raise ValueError("it has no status")
    return int(number)


def _refusal(said: bytes) -> str:
    try:
        line = json.loads(said)["error"]
    except (ValueError, KeyError, TypeError):
        line = None
    return line if isinstance(line, str) else "coordinator: it refused without a word"
