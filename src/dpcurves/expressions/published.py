"""Filters as text, and the texts in them that look like names of people: a filter is published with its result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..arguments import WrongArgumentType, describe_value
from .builder import Expression
from .parsing import parse_expression
from .syntax import Call, ColumnName, Node, find_texts, format_expression


def parse_filter(argument: str, where: object) -> str | None:
    """Return the canonical text of a filter, which may be an `Expression`; None: no filter.

    Raises:
        ValueError: the text is no expression of the language.
    """
    if where is None:
        return None
    if isinstance(where, Expression):
        where = str(where)  # parsed again: Python can build lists without values, and names with line breaks
    if not isinstance(where, str):
        raise WrongArgumentType(
            argument, f"a condition is needed, as in \"age >= 65 AND sex = 'F'\", got {describe_value(where)}"
        )
    return format_expression(parse_expression(where, argument))


def rename_columns(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other names of columns.

    >>> rename_columns("wage / hours", {"hours": "weekly hours"})
    'wage / "weekly hours"'
    """

    def rename(node: Node) -> Node:
        """Return a node with other names of columns."""
        match node:
            case ColumnName():
                return ColumnName(names.get(node.name, node.name))
            case Call():
                return Call(node.function, tuple(map(rename, node.arguments)))
        return node

    return format_expression(rename(parse_expression(text)))


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
