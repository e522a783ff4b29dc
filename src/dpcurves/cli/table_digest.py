"""Warn that a table has changed since the last question to the same account, by comparing keyed hashes of its files.

Answers about two versions of a table are about different records. `find_change` takes the files, the ledger and the
account, and returns a warning or None. It compares the keyed hash (HMAC) of the files with the hash that the last call
stored in the user's state folder (`ledger.head_copy.find_folder`):

- ``tables.key`` holds the key of all hashes. It is not the key of a ledger.
- ``NAME.table`` holds the hash of the files of an account's last question. NAME is a keyed hash of the account.

Formal guarantees: none, so the warning is shown on the terminal of the data holder only, and only after the charge. A
refusal instead would reveal to analysts, exactly and without a charge, that a record came or went.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ..data import list_paths
from ..ledger.chain import read_key, write_key
from ..ledger.head_copy import find_folder
from ..ledger.sqlite import parse_storage_url


def find_change(files: Sequence[Path], ledger: str, dataset: str) -> str | None:
    """Return a warning if the files differ from the files of the last call for this account, and store their hash.

    Args:
        files: Paths that name the files of the table.
        ledger: URL of the ledger.
        dataset: Name of the account.

    Returns:
        The warning, or None: the files are the same, or nothing was stored before. None also if nothing can be
            compared,
        because the folder of hashes cannot be used, the table is no file, or the ledger is in memory.
    """
    folder = find_folder()
    paths = [path for path in list_paths(files) if path.is_file()]
    if folder is None or not paths:
        return None
    with suppress(OSError, ValueError):
        storage = parse_storage_url(ledger)
        if not storage.is_persistent:
            return None
        try:
            account = storage.key().seal("tables of the account", dataset)
        except ValueError:  # a ledger on a server, whose key comes from elsewhere
            account = f"{ledger} {dataset}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key_path = folder / "tables.key"
        if not key_path.exists():
            write_key(key_path, os.urandom(32).hex())
        key = read_key(key_path)
        stored_path = folder / f"{key.seal('account', account)[:32]}.table"
        digest = key.seal("table", *(_hash_file(path) for path in paths))
        stored = stored_path.read_text(encoding="ascii").strip() if stored_path.exists() else None
        if stored is not None and hmac.compare_digest(stored.encode(), digest.encode()):
            return None
        descriptor = os.open(stored_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(digest + "\n")
        return None if stored is None else CHANGED_TABLE_WARNING
    return None


CHANGED_TABLE_WARNING = (
    "the table differs from the one that this account was asked about before: if that is on purpose, name it with a "
    "version, as in --dataset visits@12; thresholds of one request must be asked of one table"
)
"""Warning if a file's hash differs from the one stored when the same account was last asked; the question is asked all
the same."""


def _hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content; for a file above 4 GiB, the SHA-256 of its size and time of change.

    Args:
        path: Path of the file.
    """
    status = path.stat()
    # 2**32: bytes up to which contents are compared; of larger files, size and time of the last change
    if status.st_size > 2**32:
        return sha256(f"{status.st_size} {status.st_mtime_ns}".encode()).hexdigest()
    digest = sha256()
    with path.open("rb") as file:
        # 2**20: bytes read at a time
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
