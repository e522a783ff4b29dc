"""Reasons why a record is missing. Each missing record has one: that of its line, else that of the first column."""

from __future__ import annotations

from enum import Enum


class MissingReason(Enum):
    """A reason why a record is missing; its value is its place among released counts."""

    EMPTY = 0
    NO_NUMBER = 1
    OTHER_LABEL = 2
    FIELDS = 3
    QUOTES = 4
    LONG_LINE = 5

    @property
    def description(self) -> str:
        """What such records are, and what often is the cause."""
        return WORDS[self]


WORDS = {
    MissingReason.EMPTY: "have an empty field",
    MissingReason.NO_NUMBER: (
        "have a text where a number is needed (a unit, a date, a comma before decimals, or a word for what is missing: "
        "see --decimal and --dates)"
    ),
    MissingReason.OTHER_LABEL: "have another label than those that were named",
    MissingReason.FIELDS: (
        "are lines with more or fewer fields than the header (a delimiter at the end of lines, row names without a "
        "name in the header, or a delimiter in a field without quotes)"
    ),
    MissingReason.QUOTES: (
        "are lines whose quotes do not come in pairs (a line break within a quoted field, or a single quote mark, as "
        'in 5" pipe)'
    ),
    MissingReason.LONG_LINE: "are lines of more than a mebibyte",
}
