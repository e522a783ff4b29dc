"""Check the filters of a question before it is charged: their canonical text, and names of people in them.

A filter (a WHERE condition) is part of the privacy statement, so it is published with its result.

    parse_filter                SQL text or `Expression` -> canonical text, or None
    rename_columns              text, new names -> text
    describe_published_names    texts -> a note for each text that looks like an address, a number or a name of a person

Only the text of the filter is read, no records.

>>> parse_filter("where", "age>=65 and sex='F'")
"age >= 65 AND sex = 'F'"
>>> len(describe_published_names(["email = 'ada@example.org'"]))
1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..arguments import WrongArgumentType, describe_value
from .builder import Expression
from .parsing import parse_expression
from .syntax import Call, ColumnName, Literal, Node, find_column_names, find_texts, format_expression, walk_nodes


def parse_filter(argument: str, where: object) -> str | None:
    """Return a filter as canonical text, with standard spaces and capitals, as it is published; None without a filter.

    Args:
        argument: Name of the argument, for messages.
        where: A text of SQL, an `Expression`, or None.

    Raises:
        ValueError: the text is no expression of the language.
        TypeError: `where` is neither a text nor an `Expression`.
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
    """Return the text of an expression in which columns have other names.

    Args:
        text: The expression.
        names: New name of each renamed column, by its old name.

    >>> rename_columns("wage / hours", {"hours": "weekly hours"})
    'wage / "weekly hours"'
    """

    def rename(node: Node) -> Node:
        """Return a syntax tree in which the columns have their new names; called for each node.

        Args:
            node: Node of the syntax tree.
        """
        match node:
            case ColumnName():
                return ColumnName(names.get(node.name, node.name))
            case Call():
                return Call(node.function, tuple(map(rename, node.arguments)))
        return node

    return format_expression(rename(parse_expression(text)))


IDENTIFIES_A_PERSON = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|\d{3}[- ]\d{2}[- ]\d{4}")
"""Pattern of texts in a filter or expression that point to a person: an address of e-mail, or an identity number in
groups of 3, 2 and 4 digits. The analyst is warned, because expressions are published."""
LOOKS_LIKE_A_NAME = re.compile(r"(?:[^\W\d_][\w'.-]*,? +)+[^\W\d_][\w'.-]*|\d{9}")
"""Pattern of texts that may be a person's name or number: two or more words, or nine digits. It warns for columns of
people alone, since regions, wards and codes are written like this, too."""
PERSON_WORDS = frozenset({
    "author", "client", "customer", "doctor", "employee", "father", "nurse", "patient", "person", "physician", "pupil",
    "student", "surgeon", "teacher", "user", "worker", "forename", "surname", "firstname", "lastname", "fullname",
    "username", "name", "nom", "nombre", "nachname", "vorname", "ssn", "mother",
    "who",
})  # fmt: skip
"""Words for a person and the names and numbers of a person. A column whose name has one, and else only `NAME_WORDS`,
counts as a column of people."""
NAME_WORDS = frozenset(
    {"first", "last", "full", "middle", "given", "family", "maiden", "birth", "legal", "id", "number"}
)
"""Words that occur beside one of `PERSON_WORDS` in the name of a column of people: patient_id, but not ward_name."""
WORDS_OF_COLUMNS = re.compile(r"[^\W\d_][^\WA-Z\d_]*")
"""Words in the name of a column, as in patient_name or patientName; of capitals alone it is put into small letters."""


def describe_published_names(expressions: Iterable[str]) -> tuple[str, ...]:
    """Return warnings about texts in filters that look like an address, a number or a person's name and would be
    published.

    Names are recognised only if compared with a column whose values name people, because regions and wards look the
    same.

    Args:
        expressions: Texts of the filters.

    Returns:
        One note for each different text of this kind; empty without them.

    Raises:
        ValueError: a text is no expression.

    >>> describe_published_names(["patient = 'Ada Lovelace'"])[0][:52]
    "'Ada Lovelace' is published with the result: a filte"
    >>> describe_published_names(["region = 'New York'"])
    ()
    """
    texts: dict[str, None] = {}
    for expression in expressions:
        node = parse_expression(expression)
        texts |= dict.fromkeys(text for text in find_texts(node) if IDENTIFIES_A_PERSON.fullmatch(text))
        for part in walk_nodes(node):
            if isinstance(part, Call) and any(map(_is_column_of_people, find_column_names(part))):
                values = (value.value for value in part.arguments if isinstance(value, Literal))
                names = (value for value in values if isinstance(value, str) and LOOKS_LIKE_A_NAME.fullmatch(value))
                texts |= dict.fromkeys(names)
    return tuple(
        f"{text!r} is published with the result: a filter is public, so it must not name a person" for text in texts
    )


def _is_column_of_people(name: str) -> bool:
    """Return True if the name of a column shows that its values name or number people.

    Args:
        name: Name of the column.

    >>> [_is_column_of_people(name) for name in ("patientName", "SURNAME", "ward_name", "patient_type", "region")]
    [True, True, False, False, False]
    """
    words = set(map(str.lower, WORDS_OF_COLUMNS.findall(name.lower() if name.isupper() else name)))
    return bool(words & PERSON_WORDS) and words <= PERSON_WORDS | NAME_WORDS
