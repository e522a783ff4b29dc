"""Parsing of numbers typed into forms, with a decimal point or a decimal comma.

`read_number` and `read_number_list` return the typed text with decimal points, ready for `float`. People of many
languages type a decimal comma. So a comma is read as one wherever it cannot separate thousands. A text that may mean
two numbers, such as 1,250, is refused, and the error names both. Touches no records.

>>> read_number("bound", "2,5"), read_number_list("shares", "0,25; 0,5")
('2.5', '0.25,0.5')
"""

from __future__ import annotations

import re

from dpcurves.arguments import InvalidArgument

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(?:e[-+]?\d+)?", re.IGNORECASE)
"""A number with a single comma, which is read as a decimal comma unless `ONE_THOUSAND` matches too."""
ONE_THOUSAND = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A number such as 1,234, whose comma may be a decimal or a thousands separator: it is refused as ambiguous."""
GROUPED_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+|(?:,\d{3}){2,}|(?:\.\d{3}){2,})")
"""A number that has separators between its thousands without doubt, such as 1,234,567: it is refused."""
LIST_SEPARATOR = ";"
"""Separator of a list whose numbers have decimal commas; without it, a list is separated by commas."""


def read_number(field: str, text: str) -> str:
    """Return the text of a number with a point before its decimals. Text that is no number is returned unchanged.

    Args:
        field: The field of the form, which an error names.
        text: The typed text.

    Raises:
        ValueError: The number has separators between thousands, or its comma may be one.

    >>> read_number("amount", "0,5"), read_number("amount", "0.5"), read_number("amount", "about 3")
    ('0.5', '0.5', 'about 3')
    >>> read_number("amount", "1,250")
    Traceback (most recent call last):
    ...
    dpcurves.arguments.InvalidArgument: amount: type 1.250 or 1250: a comma may mean decimals or thousands
    """
    typed = text.strip()
    if ONE_THOUSAND.fullmatch(typed):
        both = f"{typed.replace(',', '.')} or {typed.replace(',', '')}"
        raise InvalidArgument(field, f"type {both}: a comma may mean decimals or thousands")
    if GROUPED_THOUSANDS.fullmatch(typed):
        decimal = "" if len(set(re.findall(r"[.,]", typed))) == 1 else re.findall(r"[.,]", typed)[-1]
        whole, _, decimals = typed.partition(decimal) if decimal else (typed, "", "")
        number = re.sub(r"[.,]", "", whole) + (f".{decimals}" if decimals else "")
        raise InvalidArgument(field, f"type {number}, with no separator between thousands")
    return typed.replace(",", ".") if DECIMAL_COMMA.fullmatch(typed) else text


def read_number_list(field: str, text: str) -> str:
    """Return a typed list of numbers with decimal points, and with commas between the numbers.

    Args:
        field: The field of the form, which an error names.
        text: The typed text, with semicolons between numbers that have decimal commas. Without a semicolon it is
            returned unchanged.

    Raises:
        ValueError: A number has separators between thousands, or its comma may be one.

    >>> read_number_list("quantiles", "0,25; 0,5"), read_number_list("quantiles", "0.25,0.5")
    ('0.25,0.5', '0.25,0.5')
    """
    if LIST_SEPARATOR not in text:
        return text
    return ",".join(read_number(field, item).strip() for item in text.split(LIST_SEPARATOR) if item.strip())
