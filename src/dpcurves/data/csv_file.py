"""Declare the format of a CSV file: encoding, delimiter, decimal sign, and the origin of dates.

A user declares the format with `CsvFile`, and passes that to a session in place of a path. The format is never guessed
from the file, because a guess would depend on the records. A field that does not fit the format is missing.

The module reads no files. `is_text_file` and `strip_compression` look at names of files only.

Formal guarantees: each value is a function of its line and of the declared format, so adding or removing one record
changes one counted record.

>>> CsvFile("visits.csv.gz", delimiter=";", decimal=",").codec
'utf-8'
>>> is_text_file("visits.csv.gz")
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from os import PathLike
from pathlib import Path

from ..arguments import InvalidArgument, WrongArgumentType, describe_value

ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "iso-8859-1": "latin-1", "cp1252": "cp1252",
             "windows-1252": "cp1252"}  # fmt: skip
"""Supported encodings, by the names that users may type. In each of them line ends and delimiters are single ASCII
bytes, so that a file can be cut into lines before it is decoded.
"""
DATES = {
    r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})": "-",
    r"(?P<d>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<y>[0-9]{4})": ".",
}
"""Separators of the accepted forms of a public day zero, by their pattern: ISO 8601, and day.month.year. Another form
is refused; fields are read in the form of the day."""
NO_DELIMITER = '\n\r"'
"""Characters that are refused as delimiters: line ends and the quote mark."""
TYPED_TAB = r"\t"
"""Text that is read as a tab where a delimiter is asked for: a tab character itself is hard to type on a command
line."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """CSV file with a declared format, for the `data` argument of a session.

    The format is public and declared, never inferred from the records. A field that does not fit it is missing.

    Formal guarantee: each value is a function of its line and of the declared format alone, so adding or removing a
    record changes one counted record.

    Attributes:
        file: Path, or the bytes of a file. A path that ends in ``.gz`` or ``.zst`` is decompressed while it is read. A
            pattern, as in ``visits-*.csv``, names all its matches, which must have one header.
        delimiter: Field separator: one ASCII character, or ``\\t`` for a tab.
        encoding: ``utf-8``, ``latin-1`` or ``cp1252``.
        decimal: ``.``, or ``,``: then 1.200,50 is 1200.5, and 1.5 is missing.
        dates: Day zero, as ``2020-01-01`` or ``01.01.2020``. Dates of this form become days since that day; a month
            ``2020-02`` is its first day if day zero is ``2020-01-01``. None: dates are missing, except in questions
            without a range, which read ``2020-01-31``, ``2020-01-31 12:30`` and ``2020-01-31 12:30+01:00`` as days
            since 1970-01-01.

    Raises:
        TypeError: the file is neither a path nor bytes.
        ValueError: another part of the format is invalid.
    >>> CsvFile("visits.csv.gz", delimiter=";", encoding="latin-1", decimal=",", dates="01.01.2020").origin
    datetime.date(2020, 1, 1)
    """

    file: str | Path | bytes = field(repr=False)
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    dates: str | None = None

    def __post_init__(self) -> None:
        """Check the declared format; the file itself is not opened.

        Raises:
            InvalidArgument: a part of the format is not supported.
            WrongArgumentType: the file is neither a path nor bytes.
        """
        if not isinstance(self.file, str | Path | bytes):
            raise WrongArgumentType(
                "file", f"a path or the bytes of a file are needed, as in 'visits.csv', got {describe_value(self.file)}"
            )
        object.__setattr__(self, "delimiter", parse_delimiter(self.delimiter))
        if not isinstance(self.encoding, str) or self.encoding.lower() not in ENCODINGS:
            raise InvalidArgument("encoding", f"must be utf-8, latin-1 or cp1252, got {describe_value(self.encoding)}")
        if self.decimal not in (".", ","):
            raise InvalidArgument(
                "decimal", f"must be a point or a comma, '.' or ',', got {describe_value(self.decimal)}"
            )
        _ = self.origin  # refuses an invalid day zero of dates

    @property
    def name(self) -> str:
        """Return the name of the file without its folder, for messages; ``the file`` for bytes."""
        return "the file" if isinstance(self.file, bytes) else repr(Path(self.file).name)

    @property
    def codec(self) -> str:
        """Return the name of the encoding in Python's ``codecs``: ``utf-8``, ``latin-1`` or ``cp1252``."""
        return ENCODINGS[self.encoding.lower()]

    @property
    def origin(self) -> date | None:
        """The day that dates are counted from, when they are read as numbers of days; None if dates are not read as
        numbers.
        """
        return None if self.dates is None else _parse_day(self.dates)[0]

    @property
    def date_separator(self) -> str:
        """Return the separator between the parts of a date: ``-`` for year-month-day, ``.`` for day.month.year."""
        return "-" if self.dates is None else _parse_day(self.dates)[1]


def parse_delimiter(value: object) -> str:
    r"""Return the delimiter as one character; a backslash followed by a t becomes a tab.

    >>> parse_delimiter(";"), parse_delimiter(r"\t")
    (';', '\t')

    Args:
        value: Text that the user gave.

    Raises:
        ValueError: the text is not one ASCII character, or is a quote mark or a line end.
    """
    character = "\t" if isinstance(value, str) and value == TYPED_TAB else value
    if not isinstance(character, str) or len(character) != 1 or not character.isascii() or character in NO_DELIMITER:
        rule = f"a single ASCII character is needed, no quote and no line end, as in ';', got {describe_value(value)}"
        raise InvalidArgument("delimiter", rule)
    return character


def _parse_day(text: object) -> tuple[date, str]:
    """Parse a day such as ``2020-01-01`` or ``01.01.2020``, and return it with its separator.

    Args:
        text: Text that the user gave.

    Raises:
        InvalidArgument: the text has neither form, or the day does not exist.
    """
    for pattern, separator in DATES.items():
        match = re.fullmatch(pattern, text) if isinstance(text, str) else None
        if match is not None:
            try:
                return date(int(match["y"]), int(match["m"]), int(match["d"])), separator
            except ValueError:
                break
    raise InvalidArgument(
        "dates", f"the day that counts as zero is needed, as in 2020-01-01 or 01.01.2020, got {describe_value(text)}"
    )


TEXT_ENDINGS = (".csv", ".tsv", ".txt")
"""Endings of files of delimited text; one of `COMPRESSED` may follow."""
COMPRESSED = (".gz", ".zst")
"""Endings of compressed files, which are decompressed while they are read."""


def is_text_file(path: str | PathLike[str]) -> bool:
    """Return True if the name of a file ends like one of delimited text, compressed or not.

    >>> is_text_file("visits.tsv"), is_text_file("Visits.CSV.zst"), is_text_file("visits.parquet")
    (True, True, False)

    Args:
        path: Path or name of the file, which need not exist; case is ignored.
    """
    return strip_compression(path).endswith(TEXT_ENDINGS)


def strip_compression(path: str | PathLike[str]) -> str:
    """Return the path of a file in lower case, without the ending ``.gz`` or ``.zst``, to recognise its format.

    Args:
        path: Path or name of the file.
    """
    name = str(path).lower()
    return next((name.removesuffix(ending) for ending in COMPRESSED if name.endswith(ending)), name)
