"""Synthetic tables as they come: read in a process of their own, which has little memory and little time.

A file that somebody sends may be made to break whatever reads it, or to grow a millionfold. Here that ends a process
that does nothing else. A process of a pool would be forked, or live on, and could be given no such limits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from threading import BoundedSemaphore

from dpcurves.arguments import Refused
from dpcurves_parties.serving.messages import ProtocolAborted

from .declared_columns import Declared, columns_to_json

LARGEST = 2**26
"""Octets of a table, packed."""
SECONDS = 60
REFUSED = 3
"""Exit status of a process that says what is wrong with a table; any other says that it can not be read."""
NO_TABLE = "a CSV or Parquet file is needed that can be read whole"
_TURN = BoundedSemaphore(1)


def packed(table: bytes, columns: Sequence[Declared]) -> bytes:
    """A table that fits the public schema, as Parquet, with the declared columns alone.

    Arguments:
        table: A CSV or a Parquet file. Nobody is asked for its name.
        columns: The public schema.

    Raises:
        ProtocolAborted: another one is read just now, or it is too large.
        ValueError: it is no table of this schema. One line names the column.
    """
    if len(table) > LARGEST:
        raise ProtocolAborted("synthetic", f"at most {LARGEST} octets are taken", 413)
    if not _TURN.acquire(blocking=False):
        raise ProtocolAborted("synthetic", "another table is read just now; try again in a minute", 503)
    try:
        return _read(json.dumps(columns_to_json(columns)).encode() + b"\n" + table)
    finally:
        _TURN.release()


def _read(sent: bytes) -> bytes:
    command = [sys.executable, "-m", "dpcurves_server.packer"]
    try:
        ended = subprocess.run(command, input=sent, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Refused("synthetic", NO_TABLE) from None
    if ended.returncode == REFUSED:
        raise Refused("synthetic", ended.stdout.decode(errors="replace"))
    if ended.returncode != 0:
        raise Refused("synthetic", NO_TABLE)
    return ended.stdout
