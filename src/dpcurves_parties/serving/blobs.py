"""SECRET. Atomic storage of byte strings in a folder or object store (S3 and others, by fsspec), verified by SHA-256.

    BlobStore.write     name, bytes -> `Blob`: where the bytes are, and their hash
    Blob.read_bytes     the bytes, or None if they are missing or do not match the hash

A file is written under another name and then renamed; an object store publishes an object when it is complete. So a
reader sees all of a byte string or nothing. The bytes may hold shares of records, so only their owner can read a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from dpcurves.arguments import MissingPackage
from dpcurves.drafts import hold_draft

from .messages import ProtocolError

MISSING_PACKAGES_MESSAGE = "an object store needs an extra: pip install 'dpcurves[scale]'"
"""Error message if the location of jobs is a URL of an object store, and the package fsspec is missing."""


@dataclass(frozen=True)
class BlobStore:
    """A folder, or a prefix in an object store, in which blobs are written.

    Attributes:
        location: Path of a folder, or a URL for fsspec, such as ``s3://bucket/folder``.
    """

    location: str

    @classmethod
    def from_location(cls, location: str) -> BlobStore:
        """Return the store of blobs in a folder, or at the URL of an object store.

        Args:
            location: Path of a folder, or a URL for fsspec.

        Raises:
            ValueError: the location is a URL, and fsspec is not installed.
        """
        if _is_url(location):
            _import_fsspec()
        return cls(location)

    def write(self, name: str, content: bytes) -> Blob:
        """Write a blob atomically, and return its location and hash. A blob of the same name is replaced.

        Args:
            name: Name of the blob in this store.
            content: Content of the blob.

        Raises:
            ProtocolError: the location is not writable.
            ValueError: fsspec, or a package that it needs for the URL, is not installed.
        """
        path = f"{self.location.rstrip('/')}/{name}"
        try:
            if _is_url(path):
                _run_on_fsspec_file(path, lambda file: file.write(content), "wb")
            else:
                _write_file(Path(path), content)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ProtocolError(
                "jobs",
                f"{self.location!r} cannot be written ({reason}); repair it, or name another place with --jobs",
                500,
            ) from None
        return Blob(path, sha256(content).hexdigest())


class Blob(NamedTuple):
    """A stored byte string: where it is, and its hash.

    Attributes:
        location: Path of a file, or a URL for fsspec.
        hash: SHA-256 of its bytes, in hexadecimal digits.
    """

    location: str
    hash: str

    def read_bytes(self) -> bytes | None:
        """SECRET: return the stored bytes; None if they are missing, cannot be read, or do not match the hash."""
        try:
            if _is_url(self.location):
                content = _run_on_fsspec_file(self.location, lambda file: bytes(file.read()), "rb")
            else:
                content = Path(self.location).read_bytes()
        except OSError:
            return None
        return content if sha256(content).hexdigest() == self.hash else None


def _is_url(location: str) -> bool:
    """Return True if the location is a URL for fsspec, not a path of this machine."""
    return "://" in location


def _write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only, and create missing folders.

    Args:
        path: Path of the file, which is replaced if it exists.
        content: Content of the file.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_draft(path, 0o600) as draft:  # the next writer removes the draft of a killed one
        draft.write_bytes(content)
        draft.replace(path)


def _import_fsspec() -> Any:
    """Import fsspec, an optional package for object stores, and return the module.

    Raises:
        MissingPackage: fsspec is not installed; the message has the command that installs it.
    """
    try:
        import fsspec
    except ImportError:
        raise MissingPackage("jobs", MISSING_PACKAGES_MESSAGE) from None
    return fsspec


def _run_on_fsspec_file(url: str, work: Callable[[Any], Any], mode: str) -> Any:
    """Open a URL by fsspec, and return the result of a function of the open file.

    An object store publishes a written object only when the file is closed without an error.

    Args:
        url: URL of the object, such as ``s3://bucket/folder/name``.
        work: Function of the open file.
        mode: ``rb`` or ``wb``.

    Raises:
        MissingPackage: fsspec, or a package that it needs for the URL, is not installed.
        OSError: the object cannot be opened.
    """
    try:
        with _import_fsspec().open(url, mode) as file:
            return work(file)
    except ImportError as error:
        raise MissingPackage("jobs", f"fsspec needs more packages for this URL ({error})") from None
