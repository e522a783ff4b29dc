"""Decompress Zstandard files (RFC 8878) as a stream, and fail if a file ends early.

`open_zstd` opens a path and returns a binary file object of the decompressed bytes. A file consists of one or several
frames, the last of which must be complete. A reader that stopped quietly where a file was cut off would lose its last
records without an error.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ..arguments import MissingPackage

COMPRESSED_BYTES_PER_READ = 2**17
"""Bytes of compressed data that are read at a time, as the library recommends."""


def open_zstd(path: Path) -> io.BufferedReader:
    """Open a compressed file for reading its decompressed bytes from the start.

    Reading raises `OSError` if the file is damaged or ends early.

    Args:
        path: Path of the file.

    Raises:
        ImportError: the package zstandard is not installed.
        OSError: the file cannot be opened.
    """
    try:
        import zstandard
    except ImportError:
        raise MissingPackage(
            "data", "zstandard is needed to read .zst; install it: pip install 'dpcurves[zstd]'"
        ) from None
    return io.BufferedReader(_ZstdReader(path, zstandard), COMPRESSED_BYTES_PER_READ)


class _ZstdReader(io.RawIOBase):
    """Stream of the decompressed bytes of all frames of a file. It can only seek to the start."""

    def __init__(self, path: Path, library: Any) -> None:
        """Open the file for decompression from its start.

        Args:
            path: Path of the compressed file.
            library: The module `zstandard`.
        """
        self._library = library
        self._file = path.open("rb")
        self._frame = library.ZstdDecompressor().decompressobj()
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: the stream can go back to its start."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go back to the start of the file, and return 0.

        Args:
            offset: Must be 0.
            whence: Must be `io.SEEK_SET`.

        Raises:
            io.UnsupportedOperation: another position is asked for.
        """
        if offset or whence != io.SEEK_SET:
            raise io.UnsupportedOperation("a compressed file is read from the start")
        self._file.seek(0)
        self._frame = self._library.ZstdDecompressor().decompressobj()
        self._decompressed = memoryview(b"")
        return 0

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with the next decompressed bytes, and return their number; 0 at the end of the file.

        Args:
            buffer: Writable buffer of bytes.
        """
        while not self._decompressed:
            if not self._read_more():
                return 0
        count = min(len(buffer), len(self._decompressed))
        buffer[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count

    def _read_more(self) -> bool:
        """Decompress the next block of the file, and return True; return False at the end of the last frame.

        Raises:
            OSError: the file ends within a frame, or is damaged.
        """
        piece = b""
        if self._frame.eof:
            piece = self._frame.unused_data
            piece = piece or self._file.read(COMPRESSED_BYTES_PER_READ)
            if not piece:
                return False
            self._frame = self._library.ZstdDecompressor().decompressobj()
        piece = piece or self._file.read(COMPRESSED_BYTES_PER_READ)
        if not piece:
            raise OSError("the compressed data end early")
        try:
            self._decompressed = memoryview(self._frame.decompress(piece))
        except self._library.ZstdError:
            raise OSError("the compressed data are damaged") from None
        return True

    def close(self) -> None:
        """Close the compressed file."""
        self._file.close()
        super().close()
