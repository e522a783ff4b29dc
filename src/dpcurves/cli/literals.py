"""Parsers of option values: numbers, choices, labels and lists of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TypeVar

from .refusal import Misuse

Choice = TypeVar("Choice")
TRUTH = {"true": True, "false": False}
ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|$)')
LONGEST_NUMBER = 60


def whole(argument: str, text: str, least: int = 1) -> int:
    """Parse a whole number.

    Raises:
        Misuse: the text is no whole number, or is below `least`.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None or int(text) < least:
        raise Misuse(argument, f"a whole number of at least {least} is needed, got {text!r}")
    return int(text)


def amount(argument: str, text: str) -> str:
    """Check a finite number above zero, and return it exactly as it was typed: ``0.1``, ``1e-3`` or ``1/3``.

    Raises:
        Misuse: the text is no such number.
    """
    decimal, quotient = _decimal(text), re.fullmatch(r"[0-9]{1,18}/[0-9]{1,18}", text)
    if (decimal is None and quotient is None) or len(text) > LONGEST_NUMBER:
        raise Misuse(argument, f"a number above zero is needed, got {text!r}")
    if decimal is not None and not (isfinite(decimal) and decimal > 0):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    if quotient is not None and 0 in map(int, text.split("/")):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    return text


def chance(argument: str, text: str) -> float:
    """Parse a number between 0 and 1, both exclusive.

    Raises:
        Misuse: the text is no such number.
    """
    number = _decimal(text)
    if number is None or not 0 < number < 1:
        raise Misuse(argument, f"a number between 0 and 1 is needed, as in 0.95, got {text!r}")
    return number


def numbers(argument: str, text: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers.

    Raises:
        Misuse: an item is no finite number.
    """
    found = [_decimal(item) for item in text.split(",")]
    exact = tuple(number for number in found if number is not None and isfinite(number))
    if len(exact) < len(found):
        raise Misuse(argument, f"numbers with commas between them are needed, got {text!r}")
    return exact


def chosen(argument: str, text: str, choices: Mapping[str, Choice]) -> Choice:
    """Value that a word stands for among the choices.

    Raises:
        Misuse: the word is none of the choices.
    """
    if text not in choices:
        raise Misuse(argument, f"{' or '.join(choices)} is needed, got {text!r}")
    return choices[text]


def category(text: str) -> str | int | float | bool:
    """Parse a label: a number or a truth value if it looks like one, else text. Quotes make it text.

    >>> category("1"), category("true"), category("late"), category('"1"')
    (1, True, 'late', '1')
    """
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    number = _decimal(text)
    if number is not None and isfinite(number):
        return number
    return TRUTH.get(text.lower(), text)


def typed(label: str | int | float | bool) -> str:
    """Text of a label as `category` reads it: the inverse of `category`.

    >>> typed(1), typed(True), typed("late"), typed('a "b", c')
    ('1', 'true', '"late"', '"a ""b"", c"')
    """
    if isinstance(label, str):
        return '"' + label.replace('"', '""') + '"'
    return repr(label).lower() if isinstance(label, bool) else repr(label)


def categories(argument: str, text: str) -> tuple[str | int | float | bool, ...]:
    """Parse comma-separated labels; a label that holds a comma stands in quotes.

    >>> categories("categories", 'UA, "a,b",3')
    ('UA', 'a,b', 3)

    Raises:
        Misuse: one is empty, or a quote is left open.
    """
    found: list[str | int | float | bool] = []
    place = 0
    while place <= len(text):
        item = ITEM.match(text, place)
        if item is None or not item[1].strip():
            raise Misuse(argument, f"labels with commas between them are needed, got {text!r}")
        found.append(category(item[1].strip()))
        place = item.end() + (0 if item[0].endswith(",") else 1)
    return tuple(found)


def _decimal(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def certificate_and_key(tls: str) -> tuple[Path, Path]:
    """Paths of the certificate and of its private key that ``--tls`` names.

    Raises:
        Misuse: there are not two.
    """
    certificate, _, key = tls.partition(",")
    if not certificate or not key or "," in key:
        raise Misuse("tls", "two files with a comma between them are needed, as in cert.pem,key.pem")
    return Path(certificate), Path(key)
