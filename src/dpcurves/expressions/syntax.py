"""Syntax trees of filters and derived columns, their canonical SQL text, and limits on their size.

    Node = Literal | ColumnName | Call(function, arguments)

`format_expression` writes a tree as canonical text: equal trees have equal texts, and parsing a text gives an equal
tree. The ledger, which answers an equal question only once, relies on that. `require_bounded` limits the number of
parts, the nesting and the length of texts, so that no expression takes long to check or to compute. `walk_nodes`,
`find_column_names` and `find_texts` list the parts of a tree. This file touches no records.

>>> format_expression(Call("gt", (Call("div", (ColumnName("wage"), ColumnName("hours"))), Literal(20.5))))
'wage / hours > 20.5'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import isfinite
from types import MappingProxyType
from typing import TypeAlias

from ..arguments import InvalidArgument

MOST_NESTED_CALLS = 30
"""Nested calls and brackets of an expression: the largest number, which bounds the recursion; more are refused."""
LONGEST_EXPRESSION = 4_000
"""Largest length of the text of an expression, in characters; a longer one is refused."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A public value in an expression.

    Attributes:
        value: A number, text, truth value or date; None is NULL.
    """

    value: float | str | bool | date | None


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of the table in an expression.

    Attributes:
        name: The exact name of the column.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator of an expression, with its arguments.

    Attributes:
        function: A name of `FUNCTION_NAMES`.
        arguments: The arguments in order. For ``case``: conditions and values in turn, followed by the value of ELSE.
    """

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Literal | ColumnName | Call
"""An expression: a literal, a column, or a call with expressions as arguments."""

COMPARISONS = MappingProxyType({"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="})
"""SQL of comparisons, by the names of their nodes."""
ARITHMETIC = MappingProxyType({"add": "+", "sub": "-", "mul": "*", "div": "/"})
"""SQL of operators on numbers, by the names of their nodes."""
UNITS = ("day", "week", "month", "quarter", "year")
"""Calendar units in which dates are truncated, and their differences counted; others are refused."""
CLOCK_UNITS = ("second", "minute", "hour")
"""Units in which differences of timestamps are counted, besides those of the calendar."""
PRECEDENCE = MappingProxyType({
    "or": 1, "and": 2, "not": 3, **dict.fromkeys((*COMPARISONS, "in", "between", "is_null", "is_not_null"), 4),
    "add": 5, "sub": 5, "mul": 6, "div": 6, "neg": 7,
})  # fmt: skip
"""Precedence of operators, by the names of their nodes: a higher number binds closer, and an operand that binds less
gets brackets. A call of a function binds closest."""
CALL_FUNCTIONS = frozenset({
    "abs", "round", "floor", "ceil", "sqrt", "ln", "log2", "log10", "exp", "least", "greatest", "coalesce", "nullif",
    "lower", "upper", "substr", "starts_with",
    *("year", "quarter", "month", "day", "isodow"),
})  # fmt: skip
"""Functions that are written as their name with arguments in brackets."""
CASTS = MappingProxyType({"to_number": "DOUBLE", "to_text": "VARCHAR", "to_date": "DATE"})
"""SQL types of casts, by the names of their nodes."""
FUNCTION_NAMES = frozenset({
    *CALL_FUNCTIONS, *CASTS, *PRECEDENCE, "case", *(f"trunc_{unit}" for unit in UNITS),
    *(f"diff_{unit}" for unit in (*UNITS, *CLOCK_UNITS)),
})  # fmt: skip
"""All functions and operators of the language, by the names of their nodes."""


def format_expression(node: Node) -> str:  # noqa: PLR0911
    """Return the canonical SQL text of an expression; parsing that text gives an equal tree.

    Args:
        node: The expression. Names that need it are quoted, and brackets are written only where precedence needs them.

    >>> format_expression(Call("gt", (Call("div", (ColumnName("wage"), ColumnName("hours"))), Literal(20.5))))
    'wage / hours > 20.5'
    """
    match node:
        case Literal():
            return _format_literal(node.value)
        case ColumnName():
            is_plain = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", node.name) and node.name.upper() not in RESERVED
            return node.name if is_plain else '"' + node.name.replace('"', '""') + '"'
    texts = [format_expression(argument) for argument in node.arguments]
    name = node.function
    if name in PRECEDENCE:
        return _format_operator(node, texts)
    if name == "case":
        pairs = zip(texts[0:-1:2], texts[1:-1:2], strict=True)
        return f"CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in pairs)} ELSE {texts[-1]} END"
    if name in CASTS:
        return f"CAST({texts[0]} AS {CASTS[name]})"
    prefix, _, unit = name.partition("_")
    if prefix in {"trunc", "diff"}:
        return f"date_{prefix}('{unit}', {', '.join(texts)})"
    return f"{name}({', '.join(texts)})"


RESERVED = frozenset({
    "AND", "AS", "BETWEEN", "CASE", "CAST", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "DISTINCT", "ELSE",
    "END", "EXISTS", "EXTRACT", "FALSE", "FROM", "GROUP", "HAVING", "ILIKE", "IN", "INTERVAL", "IS", "JOIN", "LIKE",
    "LIMIT", "NOT", "NULL", "OR", "ORDER", "SELECT", "THEN", "TRUE", "UNION", "WHEN", "WHERE",
})  # fmt: skip
"""Words of SQL that are read as a column only in double quotes, and are quoted where an expression is written as
text."""


def _format_literal(value: float | str | bool | date | None) -> str:
    """Return the SQL of a literal: NULL, TRUE, a quoted text, a date, or a number that parses to the same double.

    Args:
        value: Value of the literal; None is NULL.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _format_operator(node: Call, texts: list[str]) -> str:
    """Return the SQL of an operator, with brackets around operands that bind less closely.

    Args:
        node: Call of an operator of `PRECEDENCE`.
        texts: SQL of its operands, in order.
    """
    name = node.function
    level = PRECEDENCE[node.function]
    operands = [
        text if _level(argument) > level or (index == 0 and level in {1, 2, 5, 6} and _level(argument) == level)
        else f"({text})"
        for index, (argument, text) in enumerate(zip(node.arguments, texts, strict=True))
    ]  # fmt: skip
    if name in {"and", "or"}:
        return f" {name.upper()} ".join(operands)
    if name in COMPARISONS or name in ARITHMETIC:
        return f"{operands[0]} {(COMPARISONS | ARITHMETIC)[name]} {operands[1]}"
    if name == "in":
        return f"{operands[0]} IN ({', '.join(texts[1:])})"
    if name == "between":
        return f"{operands[0]} BETWEEN {operands[1]} AND {operands[2]}"
    if name in {"is_null", "is_not_null"}:
        return f"{operands[0]} {name.upper().replace('_', ' ')}"
    return f"NOT {operands[0]}" if name == "not" else f"-{operands[0]}"


def _level(node: Node) -> int:
    """Return the operator precedence of a node, from 1 for OR to 9 for names, literals and functions; higher binds
    closer.

    Args:
        node: Node of the syntax tree.
    """
    if isinstance(node, Literal) and isinstance(node.value, float) and node.value < 0:
        return PRECEDENCE["neg"]
    return PRECEDENCE.get(node.function, 9) if isinstance(node, Call) else 9


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield a node of a syntax tree and all of its descendants, each parent before its children, arguments in order.

    Args:
        node: Root of the syntax tree.
    """
    yield node
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from walk_nodes(argument)


def find_column_names(node: Node) -> tuple[str, ...]:
    """Return the names of the columns in an expression, each once, in order.

    Args:
        node: Root of the syntax tree.

    Returns:
        Names in the order of their first use; case matters.
    """
    return tuple(dict.fromkeys(part.name for part in walk_nodes(node) if isinstance(part, ColumnName)))


def find_texts(node: Node) -> tuple[str, ...]:
    """Return the text literals of an expression, which are published with it; each once, in order.

    Args:
        node: Root of the syntax tree.

    Returns:
        Texts without quotes.
    """
    values = (part.value for part in walk_nodes(node) if isinstance(part, Literal))
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str)))


def make_number_literal(text: str, argument: str) -> Literal:
    """Return the number that a text spells, as a literal.

    Args:
        text: A number as it was typed.
        argument: Name of the argument, for messages.

    Raises:
        ValueError: the text is a whole number that no double equals, or a double would be 0 in its place. Rows would
            then be compared with another number than the typed number.

    >>> make_number_literal("1.5e3", "where")
    Literal(value=1500.0)
    """
    number = float(text)  # infinite for 1e400, which `require_bounded` refuses
    is_whole = text.lstrip("-").isdigit()
    if is_whole and isfinite(number) and int(number) != int(text):
        raise InvalidArgument(
            argument,
            f"{text}: numbers are doubles, and none has this value; the nearest is {int(number)}; store such codes as "
            "text",
        )
    if number == 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0]):
        raise InvalidArgument(argument, f"{text}: this is too small for a double; write 0")
    return Literal(number)


def require_bounded(node: Node, argument: str) -> None:
    """Refuse an expression that is too large, or that has a literal that cannot be stored.

    Args:
        node: The expression.
        argument: Name of the argument, for messages.

    Raises:
        ValueError: there are more than 200 parts, more than 30 nested calls, a number that is not finite, or a text
            that is too long or has a null character.
    """
    depth = _measure_depth(node, MOST_NESTED_CALLS + 1)
    if depth > MOST_NESTED_CALLS:
        raise InvalidArgument(
            argument, f"at most {MOST_NESTED_CALLS} nested calls and brackets are allowed; split the expression"
        )
    most_nodes = 200  # nodes of an expression: the largest number, which bounds the work for a row
    if sum(1 for _ in walk_nodes(node)) > most_nodes:
        raise InvalidArgument(
            argument, f"at most {most_nodes} names, values and operators are allowed in an expression; split it"
        )
    longest_literal = 200  # bytes of UTF-8 of a text in an expression
    longest_name = 2000  # bytes of UTF-8 of the name of a column: 500 characters of four bytes
    for part in walk_nodes(node):
        value: object = None
        longest = longest_literal
        if isinstance(part, Literal):
            value = part.value
        elif isinstance(part, ColumnName):
            value = part.name
            longest = longest_name
        if isinstance(value, float) and not isfinite(value):
            raise InvalidArgument(argument, "numbers must be finite doubles, as in 1.5e3")
        if isinstance(value, str) and (len(value.encode("utf-8", "replace")) > longest or "\0" in value):
            raise InvalidArgument(
                argument,
                f"a text has at most {longest_literal} bytes, the name of a column {longest_name}, and neither has a "
                "null character",
            )


def _measure_depth(node: Node, most: int) -> int:
    """Return how deeply calls are nested in an expression, 0 for a name or a literal.

    Args:
        node: The expression.
        most: Largest depth that is measured, which limits the recursion.
    """
    if not isinstance(node, Call) or most == 0:
        return 0
    return 1 + max((_measure_depth(argument, most - 1) for argument in node.arguments), default=0)
