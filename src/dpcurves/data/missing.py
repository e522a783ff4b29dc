"""Reasons why a record is missing. A record has one reason: its line's, else its first missing column's."""

from __future__ import annotations

from enum import Enum


class MissingReason(Enum):
    """Reason why a record is missing. Its value is the index among the released counts."""

    EMPTY = 0
    NO_NUMBER = 1
    OTHER_LABEL = 2
    FIELDS = 3
    QUOTES = 4
    LONG_LINE = 5
    UNDEFINED = 6
    ORDER = 7

    @property
    def description(self) -> str:
        """Return a description of the records that are missing for this reason, with the frequent causes."""
        return WORDS[self]


WORDS = {
    MissingReason.EMPTY: "have an empty field",
    MissingReason.NO_NUMBER: (
        "have text instead of a number (a unit, a date, a decimal comma, or a word for a missing value)"
    ),
    MissingReason.OTHER_LABEL: "have a label that was not listed",
    MissingReason.FIELDS: (
        "are lines with more or fewer fields than the header (a delimiter at the end of lines, row names without a "
        "name in the header, or a delimiter in an unquoted field)"
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
