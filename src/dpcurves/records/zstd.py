"""Decompression of files by Zstandard (RFC 8878), which refuses a file that ends early.

A file may have several frames, and the last one must be complete: a reader that ended quietly where a file was cut off
would lose its last records.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ..arguments import MissingPackage

READ_AT_ONCE = 2**17
"""Bytes of compressed data that are read at a time: the size that the library recommends."""


def open_zstd(path: Path) -> io.BufferedReader:
    """Open a file for reading from the start, decompressed. Reading raises `OSError` if it is damaged or ends early.

    Raises:
        ImportError: the package zstandard is not installed.
    """
    try:
        import zstandard
    except ImportError:
        raise MissingPackage(
            "data", "zstandard is needed to read .zst; install it: pip install 'dpcurves[zstd]'"
        ) from None
    return io.BufferedReader(_ZstdReader(path, zstandard), READ_AT_ONCE)


class _ZstdReader(io.RawIOBase):
    """Decompressed bytes of one or several frames. It seeks to the start only."""

    def __init__(self, path: Path, library: Any) -> None:
        self._library = library
        self._file = path.open("rb")
        self._frame = library.ZstdDecompressor().decompressobj()
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Return to the start of the file, position 0. Raises `OSError` for other positions."""
        if offset or whence != io.SEEK_SET:
            raise io.UnsupportedOperation("a compressed file is read from the start")
        self._file.seek(0)
        self._frame = self._library.ZstdDecompressor().decompressobj()
        self._decompressed = memoryview(b"")
        return 0

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes; return their number, 0 at the end."""
        while not self._decompressed:
            if not self._read_more():
                return 0
        count = min(len(buffer), len(self._decompressed))
        buffer[:count] = self._decompressed[:count]
        self._decompressed = self._decompressed[count:]
        return count

    def _read_more(self) -> bool:
        """Decompress the next piece; return False at the end of the file. Raises `OSError` within a frame."""
        piece = b""
        if self._frame.eof:
            piece = self._frame.unused_data
            piece = piece or self._file.read(READ_AT_ONCE)
            if not piece:
                return False
            self._frame = self._library.ZstdDecompressor().decompressobj()
        piece = piece or self._file.read(READ_AT_ONCE)
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
