r"""Parse the header line of a CSV file, and recognise files of other formats by their first bytes. No record is read.

    parse_header          first line as bytes -> names of the columns
    require_csv           refuses compressed files, Excel, Parquet and others, and text in UTF-16 or UTF-32
    require_compressed    refuses a file that is called ``.csv.gz`` or ``.csv.zst`` without being compressed

Each raises `ValueError` with a message that says how to mend the file. If the header is missing, the first line is a
record. The line is therefore checked as bytes before it is decoded, and no message shows a part of it.

Formal guarantees: only the first bytes and the header are read; names of columns are public.

>>> parse_header(CsvFile("visits.csv"), b'age,"ward, floor"\n', longest=2**20)
['age', 'ward, floor']
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from types import MappingProxyType

from ..arguments import InvalidArgument
from ..data import CsvFile

FIRST_BYTES = 64
"""Number of bytes at the start of a file by which its format is recognised, so that a workbook or archive is refused by
name."""
GZIP_MAGIC = b"\x1f\x8b"
"""First bytes of a gzip file (RFC 1952). A file ``.gz`` without them is refused."""
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""First bytes of a frame of Zstandard (RFC 8878). A file ``.zst`` without them or `SKIPPABLE_FRAMES` is refused."""
SKIPPABLE_FRAMES = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))
"""First bytes of frames without data, with which a Zstandard file may begin (RFC 8878)."""
ZIP_MAGIC = b"PK\x03\x04"
"""First bytes of a zip file, which is refused."""
EXCEL_ENTRY = b"[Content_Types].xml"
"""First entry of an Excel workbook, which is a zip file: it gets its own error."""
UNPACK_ADVICE = "unpack it first (gzip and zstd are read directly, if the name ends in .csv.gz or .csv.zst)"
"""Advice for files in a compressed format that is not read."""
EXPORT_ADVICE = "export it as CSV in UTF-8"
"""Advice for files of another program's format."""
FORMATS: Mapping[bytes, tuple[str, str]] = MappingProxyType({
    ZSTD_MAGIC: ("compressed by zstd", "let its name end in .csv.zst"), b"BZh": ("compressed by bzip2", UNPACK_ADVICE),
    b"\xfd7zXZ\x00": ("compressed by xz", UNPACK_ADVICE), b"\x04\x22\x4d\x18": ("compressed by lz4", UNPACK_ADVICE),
    b"7z\xbc\xaf\x27\x1c": ("an archive of 7-Zip", UNPACK_ADVICE),
    b"PAR1": ("a Parquet file", "let its name end in .parquet"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("an old Excel file (.xls)", EXPORT_ADVICE),
    b"ARROW1": ("an Arrow file", "give it as Parquet, or read it into a data frame"),
    b"SQLite format 3\x00": ("an SQLite database", EXPORT_ADVICE), b"$FL2": ("an SPSS file", EXPORT_ADVICE),
    b"%PDF-": ("a PDF", EXPORT_ADVICE),
})  # fmt: skip
"""First bytes of formats that are refused as CSV, each with the format's name and what to do about it."""
UTF_16_MESSAGE = "is in UTF-16; save it in UTF-8 (in Excel: CSV UTF-8)"
"""Message, after the file's name, for a file that begins with the byte order mark of UTF-16."""
UTF_32_MESSAGE = "is in UTF-32; save it in UTF-8"
"""Message, after the file's name, for a file that begins with the byte order mark of UTF-32."""


def parse_header(file: CsvFile, header: bytes, longest: int) -> list[str]:
    """Return the names of the columns from the first line of a file.

    Args:
        file: The file, with its declared format.
        header: The line with its line end, cut after `longest` bytes.
        longest: Largest number of bytes of a line.

    Raises:
        ValueError: the line is not a header in the declared format. The message shows no part of it.
    """
    line = header.removesuffix(b"\n").removesuffix(b"\r")
    rule = f"the first line of {file.name} must be a header, the names of the columns in {file.codec.upper()}"

    # Bytes are checked before they are decoded: the message of a decoder would show a part of the line.
    if b"\x00" in line:
        raise InvalidArgument("data", f"{rule}; this line contains zero bytes, as UTF-16 does: save the file in UTF-8")
    if b"\r" in line:
        raise InvalidArgument(
            "data", f"{rule}; this line contains carriage returns (CR): lines must end with LF or CR LF"
        )
    if len(header) >= longest:
        raise InvalidArgument(
            "data",
            f"{rule}; this line is longer than {longest:,} bytes;"
            " check that lines end with LF, and that the file is CSV",
        )
    if not line.strip():
        raise InvalidArgument("data", f"{rule}; this line is empty; delete it")
    if line.count(b'"') % 2:
        raise InvalidArgument(
            "data",
            f'{rule}; a quote (") in it is not closed: a name must not contain a line break or a single quote mark',
        )

    try:
        text = line.decode("utf-8-sig" if file.codec == "utf-8" else file.codec)
    except ValueError:
        raise InvalidArgument("data", f"{rule}; declare its encoding (--encoding latin-1 or cp1252)") from None
    try:
        (names,) = csv.reader([text], delimiter=file.delimiter, strict=True)
    except (ValueError, csv.Error):
        raise InvalidArgument("data", f"{rule}; a quoted name must end at a delimiter") from None
    return names


def require_csv(file: CsvFile, first: bytes, *, is_unpacked: bool) -> None:
    """Refuse a file whose first bytes belong to another format.

    Args:
        file: The file, for the message.
        first: First `FIRST_BYTES` bytes, decompressed if the name ends in ``.gz`` or ``.zst``.
        is_unpacked: Whether the bytes were decompressed.

    Raises:
        ValueError: the file has another format, or is in UTF-16 or UTF-32. The message says how to convert it.
    """
    if first.startswith(GZIP_MAGIC):
        if is_unpacked:
            raise InvalidArgument("data", f"{file.name} is compressed twice by gzip; unpack it once")
        remedy = "unpack it" if isinstance(file.file, bytes) else "let its name end in .csv.gz"
        raise InvalidArgument("data", f"{file.name} is compressed by gzip; {remedy}")
    if first.startswith(ZIP_MAGIC):
        is_workbook = EXCEL_ENTRY in first
        format_name, remedy = (
            ("an Excel file (.xlsx)", EXPORT_ADVICE) if is_workbook else ("a zip file, or an Excel file", UNPACK_ADVICE)
        )
        raise InvalidArgument("data", f"{file.name} is {format_name}; {remedy}")
    for signature, (format_name, remedy) in FORMATS.items():
        if first.startswith(signature):
            raise InvalidArgument("data", f"{file.name} is {format_name}; {remedy}")
    if first.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        raise InvalidArgument("data", f"{file.name} {UTF_32_MESSAGE}")
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidArgument("data", f"{file.name} {UTF_16_MESSAGE}")


def require_compressed(file: CsvFile, first: bytes, ending: str) -> None:
    """Refuse a file whose name ends in ``.gz`` or ``.zst`` but whose content is not compressed in this way.

    Args:
        file: The file, for the message.
        first: First bytes of the file, as they are stored.
        ending: Ending of the name: ``.gz`` or ``.zst``.

    Raises:
        ValueError: the file has another format.
    """
    name, signatures = ("gzip", (GZIP_MAGIC,)) if ending == ".gz" else ("zstd", (ZSTD_MAGIC, *SKIPPABLE_FRAMES))
    if first and not first.startswith(signatures):
        raise InvalidArgument(
            "data", f"{file.name} is not compressed by {name}; let its name end in .csv, if it is CSV"
        )
