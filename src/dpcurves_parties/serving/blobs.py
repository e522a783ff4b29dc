"""SECRET. Blobs in a folder, or in an object store via fsspec: written atomically, verified by hash.

A blob is written to a draft and renamed, or published by the object store when it is complete, so readers see all of it
or none. `Blob.read_bytes` returns None for bytes whose hash differs.
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

EXTRA = "an object store needs an extra: pip install 'dpcurves[scale]'"


class Blob(NamedTuple):
    """Location of a blob, and the hash of its bytes.

    Attributes:
        location: Path of a file, or a URL for fsspec.
        hash: SHA-256 of its bytes.
    """

    location: str
    hash: str

    def read_bytes(self) -> bytes | None:
        """SECRET: return the content of the blob; None if the content is missing or does not match its hash."""
        try:
            if _is_url(self.location):
                content = _run_on_fsspec_file(self.location, lambda file: bytes(file.read()), "rb")
            else:
                content = Path(self.location).read_bytes()
        except OSError:
            return None
        return content if sha256(content).hexdigest() == self.hash else None


@dataclass(frozen=True)
class BlobStore:
    """Folder, or prefix in an object store, for blobs.

    Attributes:
        location: Path of a folder, or a URL for fsspec, such as ``s3://bucket/folder``.
    """

    location: str

    @classmethod
    def from_location(cls, place: str) -> BlobStore:
        """Return the store at a location. Raises `ValueError`: it is a URL, and fsspec is not installed."""
        if _is_url(place):
            _import_fsspec()
        return cls(place)

    def write(self, name: str, content: bytes) -> Blob:
        """Write a blob atomically, replacing any blob of the same name; return its location and hash.

        Raises:
            ProtocolError: the location is not writable.
            ValueError: fsspec is not installed.
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


def _is_url(location: str) -> bool:
    """Return True if the location is a URL for fsspec, not a path of this machine."""
    return "://" in location


def _write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner only; missing folders are created. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_draft(path, 0o600) as draft:  # the next writer removes the draft of a killed one
        draft.write_bytes(content)
        draft.replace(path)


def _import_fsspec() -> Any:
    """Return the module fsspec. Raises `ValueError` with the command that installs it."""
    try:
        import fsspec
    except ImportError:
        raise MissingPackage("jobs", EXTRA) from None
    return fsspec


def _run_on_fsspec_file(url: str, work: Callable[[Any], Any], mode: str) -> Any:
    """Return `work` of the open blob at a URL, in `mode` "rb" or "wb". An object store publishes a written blob only
    when it is complete. Raises `ValueError` if fsspec lacks a package for the URL.
    """
    try:
        with _import_fsspec().open(url, mode) as file:
            return work(file)
    except ImportError as error:
        raise MissingPackage("jobs", f"fsspec needs more packages for this URL ({error})") from None
