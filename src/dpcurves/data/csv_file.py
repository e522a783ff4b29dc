"""Declared dialect of CSV files: the text encoding, the decimal separator, and the day from which dates are counted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ..arguments import InvalidArgument, WrongArgumentType, describe_value

ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "iso-8859-1": "latin-1", "cp1252": "cp1252",
             "windows-1252": "cp1252"}  # fmt: skip
"""Encodings in which lines and delimiters stand as in ASCII: a line is a record in each of them."""
DATES = {
    r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})": "-",
    r"(?P<d>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<y>[0-9]{4})": ".",
}
"""Forms in which a day may be given: ISO 8601, and that of many offices."""
NO_DELIMITER = '\n\r"'
TAB = r"\t"
"""A tab, as it can be typed on a command line."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file in a declared form, as the `data` of a session.

    The form is public and declared: it is never read off records. What does not fit it is missing.

    Formal guarantee: each value is a function of its own line and of the declared form alone, so one record more or
    less changes one record as it is counted.

    Attributes:
        file: The path, or the bytes of a file. A path that ends in ``.gz`` is decompressed as it is read.
        delimiter: What separates fields: one character of ASCII, or ``\\t`` for a tab.
        encoding: ``utf-8``, ``latin-1`` or ``cp1252``.
        decimal: ``.``, or ``,``: then 1.200,50 is 1200.5, and 1.5 is missing.
        dates: A day, as ``2020-01-01`` or ``01.01.2020``: dates in this form are numbers, the days since then. None:
            dates are missing, but for questions without a range, which read ``2020-01-31``, ``2020-01-31 12:30`` and
            ``2020-01-31 12:30+01:00`` as days since the beginning of 1970.

    Raises:
        TypeError: the file is neither a path nor bytes.
        ValueError: another form is declared.

    >>> CsvFile("visits.csv.gz", delimiter=";", encoding="latin-1", decimal=",", dates="01.01.2020").origin
    datetime.date(2020, 1, 1)
    """

    file: str | Path | bytes = field(repr=False)
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    dates: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.file, str | Path | bytes):
            raise WrongArgumentType(
                "file", f"a path or the bytes of a file are needed, got {describe_value(self.file)}"
            )
        object.__setattr__(self, "delimiter", parse_delimiter(self.delimiter))
        if not isinstance(self.encoding, str) or self.encoding.lower() not in ENCODINGS:
            raise InvalidArgument(
                "encoding", f"utf-8, latin-1 or cp1252 is needed, got {describe_value(self.encoding)}"
            )
        if self.decimal not in (".", ","):
            raise InvalidArgument("decimal", f"a point or a comma is needed, got {describe_value(self.decimal)}")
        _ = self.origin

    @property
    def name(self) -> str:
        """The name of the file, in messages."""
        return "the file" if isinstance(self.file, bytes) else repr(Path(self.file).name)

    @property
    def codec(self) -> str:
        """The encoding, by the one name that it has here."""
        return ENCODINGS[self.encoding.lower()]

    @property
    def origin(self) -> date | None:
        """The day from which on dates are counted."""
        return None if self.dates is None else _parse_day(self.dates)[0]

    @property
    def date_separator(self) -> str:
        """Separator of the parts of a date: ``-`` of year, month and day, ``.`` of day, month and year."""
        return "-" if self.dates is None else _parse_day(self.dates)[1]


def parse_delimiter(given: object) -> str:
    r"""Return the character that separates fields; a tab may be written as a backslash and a t.

    >>> parse_delimiter(";"), parse_delimiter(r"\t")
    (';', '\t')

    Raises:
        ValueError: it is not one character of ASCII, or is a quote or a line end.
    """
    sign = "\t" if isinstance(given, str) and given == TAB else given
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign in NO_DELIMITER:
        rule = f"one character of ASCII is needed, no quote and no line end, got {describe_value(given)}"
        raise InvalidArgument("delimiter", rule)
    return sign


def _parse_day(text: object) -> tuple[date, str]:
    for form, between in DATES.items():
        found = re.fullmatch(form, text) if isinstance(text, str) else None
        if found is not None:
            try:
                return date(int(found["y"]), int(found["m"]), int(found["d"])), between
            except ValueError:
                break
    raise InvalidArgument(
        "dates", f"the day from which on to count is needed, as 2020-01-01 or 01.01.2020, got {describe_value(text)}"
    )
