"""Ports of this machine for servers that a test starts."""

from __future__ import annotations

import socket

HELD: list[socket.socket] = []


def free_port() -> int:
    """A port that nobody else is given: it stays bound here, and a server can listen at it all the same."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    HELD.append(held)
    return int(held.getsockname()[1])
