"""Texts that a ledger may store."""

from __future__ import annotations

import re

from ..arguments import Refused

LONGEST_NAME = 200  # a name is looked up in an index, and databases index short texts only


def require_name(argument: str, name: str) -> None:
    """Refuse a name that is empty, long or not printable (PostgreSQL cannot store every character).

    Raises:
        ValueError: names the argument.
    """
    if not (isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise Refused(argument, f"1 to {LONGEST_NAME} printable characters are needed")


def require_text(argument: str, text: str) -> None:
    """Refuse a text that is empty, or that not every database can store.

    Raises:
        ValueError: names the argument.
    """
    if not text or "\0" in text or not _is_unicode(text):
        raise Refused(argument, "a text without null characters and lone surrogates is needed")


def require_digest(argument: str, text: str) -> None:
    """Refuse what is not the hexadecimal form of a hash.

    Raises:
        ValueError: names the argument.
    """
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise Refused(argument, "the 64 hexadecimal digits of a hash are needed")


def _is_unicode(text: str) -> bool:
    return not re.search("[\ud800-\udfff]", text)
