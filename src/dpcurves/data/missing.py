"""Reasons why a record is missing from a question: an empty field, text instead of a number, a damaged line and others.

A record is missing if its line is damaged, or if one of the columns that the question reads has no usable value. Each
missing record has exactly one reason, a `MissingReason`: the fault of its line if there is one, else the fault of the
first column without a value.

This module holds names and texts only and reads no records. `mechanisms/missing_reasons.py` releases the number of
records for each reason with noise, within the budget of the question.

>>> MissingReason.EMPTY.description
'have an empty field'
"""

from __future__ import annotations

from enum import Enum


class MissingReason(Enum):
    """Reason why a record is missing.

    The value of a member is its index in the array of released counts, one count per reason.
    """

    EMPTY = 0
    """A field of the column is empty."""
    NO_NUMBER = 1
    """The column must hold numbers, and the field holds other text."""
    OTHER_LABEL = 2
    """The column has declared categories, and the field holds none of them."""
    FIELDS = 3
    """The line has more or fewer fields than the header."""
    QUOTES = 4
    """The line has an opening quote mark without a closing one."""
    LONG_LINE = 5
    """The line is longer than a mebibyte."""
    UNDEFINED = 6
    """An expression over columns has no value for the record."""
    ORDER = 7
    """Two times are not in order: the first is after the second, or one of them is missing."""

    @property
    def description(self) -> str:
        """Phrase for notes that continues "records that", such as "have an empty field", with frequent causes."""
        return REASON_PHRASES[self]


REASON_PHRASES = {
    MissingReason.EMPTY: "have an empty field",
    MissingReason.NO_NUMBER: (
        "have text instead of a number (a unit, a date, a decimal comma, or a word for a missing value)"
    ),
    MissingReason.OTHER_LABEL: "have a label that was not listed",
    MissingReason.FIELDS: (
        "are lines with more or fewer fields than the header (an empty line, a delimiter at the end of lines, row "
        "names without a name in the header, or a delimiter in an unquoted field)"
    ),
    MissingReason.QUOTES: (
        "are lines with an unpaired quote mark (a line break within a quoted field, or a single quote mark, as in "
        '5" pipe)'
    ),
    MissingReason.LONG_LINE: "are lines of more than a mebibyte",
    MissingReason.UNDEFINED: (
        "have no value of an expression (of an empty or unreadable field, or of a step such as a division by zero)"
    ),
    MissingReason.ORDER: (
        "have no two times in order (an exit before the entry, an event before the last examination without it, an "
        "empty field, or text instead of a number)"
    ),
}
"""Phrase for each reason why a value is missing, with its frequent causes in brackets; in the note of a result it
follows "records that"."""
