"""Texts in filters that look like names of people: a filter is published with its result."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .parsing import parse_expression
from .syntax import find_texts

LOOKS_LIKE_A_NAME = re.compile(
    r"(?:[A-Z\u00c0-\u00de][\w'.-]*,? +)+[A-Z\u00c0-\u00de][\w'.-]+|[^@\s]+@[^@\s]+\.[^@\s]+|\d{3}[- ]?\d{2}[- ]?\d{4}"
)
"""Two or more capitalised words, an address of e-mail, or nine digits of an identity number."""


def describe_published_names(expressions: Iterable[str]) -> tuple[str, ...]:
    """Return a note for each text in expressions that looks like a person's name, address or number.

    >>> describe_published_names(["patient = 'Ada Lovelace'"])[0][:52]
    "'Ada Lovelace' is published with the result: a filte"
    """
    texts = dict.fromkeys(text for expression in expressions for text in find_texts(parse_expression(expression)))
    return tuple(
        f"{text!r} is published with the result: a filter is public, so it must not name a person"
        for text in texts
        if LOOKS_LIKE_A_NAME.fullmatch(text)
    )
