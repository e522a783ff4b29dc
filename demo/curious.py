"""A curious coordinator: it logs every message that it forwards, so that `sites.py` can search the log.

``python demo/curious.py LOG COMMAND...`` runs a `dpcurves` command with this log.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dpcurves.cli.app import build
from dpcurves_sites.relay import MessageBoard
from dpcurves_sites.secure_sum import STAGES
from dpcurves_sites.transport import LENGTH_SIZE, unpack_parts

ASKED, TAKEN = 0, tuple(STAGES)
"""Kinds of log entries: a question, or a message of a stage."""


def kept(log: Path) -> list[tuple[int, bytes]]:
    """Read the entries of a log, each with its kind."""
    return [(piece[0], piece[1:]) for piece in unpack_parts(log.read_bytes())] if log.exists() else []


def write_down(log: Path) -> None:
    """Patch every message board so that it copies its messages to the log."""
    ask, post = MessageBoard.start_round, MessageBoard.post_message

    def note(kind: int, octets: bytes) -> None:
        with log.open("ab") as file:
            file.write((len(octets) + 1).to_bytes(LENGTH_SIZE, "little") + bytes([kind]) + octets)

    def asked(self: MessageBoard, analyst: int, octets: bytes) -> bytes:
        note(ASKED, octets)
        return ask(self, analyst, octets)

    def posted(self: MessageBoard, name: str, stage: int, site: int, message: bytes) -> bytes:
        note(stage, message)
        return post(self, name, stage, site, message)

    changed: Any = MessageBoard
    changed.start_round, changed.post_message = asked, posted


if __name__ == "__main__":
    write_down(Path(sys.argv[1]))
    build(sys.argv[2:])(sys.argv[2:])
