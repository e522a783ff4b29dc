"""The secret that authenticates a ledger and ranks the records of a unit, and files that appear complete and once."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import Refused

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


def publish(path: Path, write: Callable[[Path], object]) -> bool:
    """Let `write` fill a draft, then give it its name; if another process was first, its file stays.

    Returns:
        Whether it is this file that has the name.

    Raises:
        OSError: the folder takes no file, or no links.
    """
    with drafted(path, write) as draft:
        return appear(draft, path)


@contextmanager
def drafted(path: Path, write: Callable[[Path], object]) -> Iterator[Path]:
    """A draft of what will be at `path`, filled by `write` and on disk; it is removed in the end.

    Raises:
        OSError: the folder takes no file.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        write(draft)
        _sync(draft, os.O_RDWR)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def appear(draft: Path, path: Path) -> bool:
    """Give a draft its name, unless that is taken. Whether it has the name.

    A link is made in one step and fails if the name is taken: nobody ever sees half a file, or two of them.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        if os.name == "posix":
            # The name is as precious as the contents: without it a power failure would forget what was spent.
            _sync(path.parent, os.O_RDONLY)
    return True


def _sync(path: Path, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# The secret that seals a ledger, and ranks the records of a unit.


VARIABLE = "DPCURVES_LEDGER_KEY"
SIZE = 32
_OF_STATES = b"dpcurves: states of streams"

Fact = str | int | float | bytes | None


class Key:
    """A secret of at least 32 bytes. It seals facts with HMAC-SHA256 and is never shown.

    Raises:
        ValueError: the secret is shorter.

    >>> key = Key(bytes(32))
    >>> key, key.seal("grant", 1) == key.seal("grant", "1")
    (Key(...), False)
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SIZE:
            raise Refused("key", f"at least {SIZE} bytes are needed, got {len(secret)}")
        self._secret = bytes(secret)

    @classmethod
    def fresh(cls) -> Key:
        """A new key that nobody has seen."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def from_hex(cls, text: str, place: str) -> Key:
        """The key that is written at `place`.

        Raises:
            ValueError: it is no key. What is written there is not shown.
        """
        try:
            return cls(bytes.fromhex(text.strip()))
        except ValueError:
            trouble = f"at least {2 * SIZE} hexadecimal digits are needed in {place}"
        raise Refused("key", trouble)

    @property
    def identity(self) -> str:
        """The public identifier of this key; it tells nothing else about it."""
        return self.seal("key")

    def seal(self, *facts: Fact) -> str:
        """A message authentication code of the facts, their order and their types."""
        # No two lists of facts share a text, whatever types an editor has put into a column.
        said = json.dumps(facts, separators=(",", ":"), default=lambda raw: {"bytes": raw.hex()})
        return hmac.digest(self._secret, said.encode(), "sha256").hex()

    def of_dataset(self, dataset: str) -> bytes:
        """The 32 bytes that belong to one dataset: they tell nothing about the key, or about those of others."""
        return bytes.fromhex(self.seal("key of dataset", dataset))

    def enclose(self, secret: bytes) -> str:
        """Encrypt what nobody may read or change without the key: Fernet, under a key that is derived from this one."""
        return self._cipher().encrypt(secret).decode()

    def disclose(self, token: object) -> bytes:
        """Decrypt.

        Raises:
            ValueError: it was changed, or encrypted under another key.
        """
        from cryptography.fernet import InvalidToken

        with suppress(InvalidToken, ValueError):
            # What follows after its last character would be read over.
            if isinstance(token, str) and urlsafe_b64encode(urlsafe_b64decode(token)) == token.encode():
                return self._cipher().decrypt(token)
        raise Refused("ledger", "the state of a stream was changed without the key")

    def fits(self, seal: object, *facts: Fact) -> bool:
        """Tell whether `seal` was made of these facts under this key."""
        return isinstance(seal, str) and hmac.compare_digest(seal.encode(errors="replace"), self.seal(*facts).encode())

    def __repr__(self) -> str:
        return "Key(...)"

    def _cipher(self) -> Fernet:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(SHA256(), length=32, salt=None, info=_OF_STATES).derive(self._secret)
        return Fernet(urlsafe_b64encode(derived))


def find_key(given: bytes | None, otherwise: Callable[[], Key]) -> Key:
    """The key that was given, else the one in the environment, else the one that the ledger's place provides."""
    if given is not None:
        return Key(given)
    text = os.environ.get(VARIABLE)
    return Key.from_hex(text, VARIABLE) if text else otherwise()


def read_key(path: Path) -> Key:
    """The key that was written beside a ledger.

    Raises:
        ValueError: it is not there, or is no key.
    """
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise Refused("key", f"{str(path)!r} cannot be read ({error.strerror}); give the key of the ledger") from None
    return Key.from_hex(text, repr(str(path)))


def make_key(path: Path) -> Key:
    """A new key, written where nobody but its owner may read it; if there is one already, that one.

    Raises:
        ValueError: the folder takes no file.
    """
    write_key(path, fresh_digits())
    return read_key(path)


def fresh_digits() -> str:
    """A new key that nobody has seen, as it is written."""
    return secrets.token_hex(SIZE)


def write_key(path: Path, digits: str) -> bool:
    """Write a key where nobody but its owner may read it, unless there is one. Whether it is this one that is there.

    Raises:
        ValueError: the folder takes no file.
    """
    try:
        return publish(path, lambda draft: draft.write_text(digits + "\n"))
    except OSError as error:
        raise Refused("key", f"{str(path)!r} cannot be written ({error.strerror})") from None
