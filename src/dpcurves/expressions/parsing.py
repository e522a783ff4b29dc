"""Parser of SQL expressions with a closed grammar: each word of the text is interpreted, or the text is refused.

`parse_expression` is a recursive descent by precedence, from weak to strong:

    expression   condition joined by OR, then AND, then NOT
    condition    sum [= <> < <= > >= sum | BETWEEN a AND b | IN (...) | LIKE 'a%' | IS [NOT] NULL]
    sum          product joined by + and -
    product      factor joined by * and /
    factor       number, text, DATE '...', column, function(...), CASE, (expression), - factor

SQL words that the language lacks (aggregates, window functions, the current time, powers) get a message about what
to write instead (`vocabulary.REPLACEMENT_ADVICE`).

Formal guarantees: no part of a text is ignored. The language has no functions with state, time, randomness or access to
other rows, so an expression is a function of one row; its size is bounded.

>>> from dpcurves.expressions import format_expression
>>> format_expression(parse_expression("age>=65 and sex in ('F')"))
"age >= 65 AND sex IN ('F')"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from ..arguments import InvalidArgument
from .syntax import (
    ARITHMETIC,
    CALL_FUNCTIONS,
    CLOCK_UNITS,
    LONGEST_EXPRESSION,
    MOST_NESTED_CALLS,
    RESERVED,
    UNITS,
    Call,
    ColumnName,
    Literal,
    Node,
    make_number_literal,
    require_bounded,
)
from .vocabulary import ALIASES, CASTS_BY_TYPE, COMPARISON_SIGNS, LIST_RULE, LISTED_FUNCTIONS, REPLACEMENT_ADVICE

TOKEN_PATTERN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
        |(?P<text>'(?:[^']|'')*')
        |(?P<quoted>"(?:[^"]|"")+")
        |(?P<word>[^\W\d]\w*)
        |(?P<sign><>|!=|==|<=|>=|::|\|\||//|\*\*|--|/\*|->|=>|:=|.)
    )""",
    re.VERBOSE,
)
"""Tokens of an expression: numbers, texts, quoted names, words and signs. Any other character is refused."""


class Word(NamedTuple):
    """A token of the text of an expression.

    Attributes:
        kind: ``number``, ``text``, ``quoted``, ``word``, ``sign`` or ``end``.
        text: The characters of the token.
        start: Position of its first character.
    """

    kind: str
    text: str
    start: int


END = Word("end", "", -1)
"""The word after the last word of every expression; position -1 marks that it is not in the text."""


@lru_cache(maxsize=256)
def parse_expression(text: str, argument: str = "expression") -> Node:
    """Parse the text of an expression, and return its syntax tree.

    Formal guarantees: each word of the text has a place in the grammar, or the text is refused: no part is ignored. The
    language has no functions with state, time, randomness or access to other rows, no queries, and bounded size.

    Args:
        text: One line of SQL.
        argument: Name of the argument, for messages.

    Raises:
        ValueError: the text is no expression of the language; the message names the part.

    >>> from dpcurves.expressions import format_expression
    >>> format_expression(parse_expression("age>=65 and sex in ('F')"))
    "age >= 65 AND sex IN ('F')"
    """
    if not text.strip() or len(text) > LONGEST_EXPRESSION:
        raise InvalidArgument(
            argument, f"an expression of 1 to {LONGEST_EXPRESSION:,} characters is needed, as in age >= 65"
        )
    if not text.isprintable():
        raise InvalidArgument(
            argument,
            "an expression is a single line of printable characters: remove line breaks and control characters",
        )
    node = _Parser(text, argument).parse()
    require_bounded(node, argument)
    return node


def split_words(text: str) -> list[Word]:
    """Return the tokens of an expression in order, each with its kind and position.

    Splitting stops at the first character that begins no token; the last token then ends before the end of the text.

    Args:
        text: Expression in SQL.
    """
    words = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = TOKEN_PATTERN.match(text, position)
        if match is None or match.lastgroup is None:
            break
        words.append(Word(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    return words


_ARITHMETIC_NAMES = MappingProxyType({sign: name for name, sign in ARITHMETIC.items()})
"""Names of the nodes of arithmetic, by their sign."""


FUNCTION_ADVICE = MappingProxyType({
    "log": "logarithms are ln(x), log2(x) and log10(x)", "round": "round takes one number; write round(x * 100) / 100",
})  # fmt: skip
"""What to write instead if this function is called with more than one argument, as in SQL dialects that take a base or
digits; such a call is refused."""


class _Parser:
    """Recursive descent by precedence: OR, AND, NOT, comparisons, sums, products, signs."""

    def __init__(self, text: str, argument: str) -> None:
        """Split the text into tokens and start at the first one.

        Args:
            text: Text of an expression, in SQL.
            argument: Name of the argument, for messages.
        """
        self.text = text
        self.argument = argument
        self.words = split_words(text)
        self.position = 0
        self.depth = 0

    def parse(self) -> Node:
        """Parse the whole text as one expression and return its syntax node."""
        node = self._parse_or()
        if self._next is not END:
            self._refuse_next()
        return node

    @property
    def _next(self) -> Word:
        """The token at the parser's position, which is read next."""
        return self.words[self.position] if self.position < len(self.words) else END

    def _refuse(self, word: Word, rule: str) -> NoReturn:
        """Raise `InvalidArgument` with this rule, which quotes the text of the expression from a token on.

        Args:
            word: Token at which the text is wrong.
            rule: What is expected instead.
        """
        rest = self.text[word.start :].strip() if word is not END else "the end"
        quoted_characters = 40  # of the expression
        shown = rest if len(rest) <= quoted_characters else f"{rest[:quoted_characters]}..."
        raise InvalidArgument(self.argument, f"{shown}: {rule}")

    def _refuse_next(self) -> NoReturn:
        """Raise `InvalidArgument` about the next token, with advice if it begins a common mistake."""
        word = self._next
        known = LIST_RULE if word.text == "," else REPLACEMENT_ADVICE.get(word.text.lower())
        usual = "a value, a column or a function is needed; write as in wage / hours, or age >= 65 AND sex = 'F'"
        self._refuse(word, known if known is not None and word.kind in {"word", "sign"} else usual)

    def _take(self, *texts: str) -> str | None:
        """Consume the next token if it is one of `texts` (in upper case), and return it in upper case; else return
        None.
        """
        word = self._next
        if word.kind in {"word", "sign"} and word.text.upper() in texts:
            self.position += 1
            return word.text.upper()
        return None

    def _expect(self, *texts: str) -> str:
        """Consume the next token and return it in upper case.

        Args:
            texts: Tokens that are allowed here, in upper case.

        Raises:
            InvalidArgument: the next token differs; the message names its position and the expected token.
        """
        taken = self._take(*texts)
        if taken is None:
            known = REPLACEMENT_ADVICE.get(self._next.text.lower()) if self._next.kind in {"word", "sign"} else None
            self._refuse(self._next, known or f"{' or '.join(texts)} is needed here")
        return taken

    def _deeper(self, parse: Callable[[], Node]) -> Node:
        """Call a parsing function one nesting level deeper, and return its result; limits the recursion.

        Args:
            parse: Function that parses from the current position.

        Raises:
            InvalidArgument: more than `MOST_NESTED_CALLS` levels are nested.
        """
        self.depth += 1
        if self.depth > MOST_NESTED_CALLS:
            raise InvalidArgument(
                self.argument,
                f"at most {MOST_NESTED_CALLS} nested calls and brackets are allowed; split the expression",
            )
        node = parse()
        self.depth -= 1
        return node

    def _parse_or(self) -> Node:
        """Parse one or more conditions joined by OR, and return their node."""
        node = self._parse_and()
        while self._take("OR"):
            node = Call("or", (node, self._parse_and()))
        return node

    def _parse_and(self) -> Node:
        """Parse one or more conditions joined by AND, and return their node."""
        node = self._parse_not()
        while self._take("AND"):
            node = Call("and", (node, self._parse_not()))
        return node

    def _parse_not(self) -> Node:
        """Parse a condition with any number of NOT before it, and return its node."""
        if self._take("NOT"):
            return Call("not", (self._deeper(self._parse_not),))
        return self._parse_comparison()

    def _parse_comparison(self) -> Node:
        """Parse a comparison, a test or a value alone, and return its node."""
        value = self._parse_sum()
        word = self._next
        if sign := self._take(*COMPARISON_SIGNS):
            other = self._parse_sum()
            if Literal(None) in (value, other):
                self._refuse(word, "nothing equals NULL; write column IS NULL")
            return Call(COMPARISON_SIGNS[sign], (value, other))
        if self._take("IS"):
            name = "is_not_null" if self._take("NOT") else "is_null"
            self._expect("NULL")
            return Call(name, (value,))
        is_negated = self._take("NOT") is not None
        kind = self._expect("BETWEEN", "IN", "LIKE") if is_negated else self._take("BETWEEN", "IN", "LIKE")
        if kind is None:
            return value
        node = {"BETWEEN": self._parse_between, "IN": self._parse_in, "LIKE": self._parse_like}[kind](value)
        return Call("not", (node,)) if is_negated else node

    def _parse_between(self, value: Node) -> Node:
        """Parse ``lower AND upper`` after the word BETWEEN, and return the test that `value` is between both bounds.

        Args:
            value: Expression on the left of BETWEEN.
        """
        lower = self._parse_sum()
        self._expect("AND")
        return Call("between", (value, lower, self._parse_sum()))

    def _parse_in(self, value: Node) -> Node:
        """Parse a list in brackets after the word IN, and return the test that `value` is in the list.

        Args:
            value: Expression on the left of IN.
        """
        self._expect("(")
        if self._next.text == ")":
            self._refuse(self._next, "IN needs a value, as in region IN ('north', 'south')")
        listed = [self._parse_sum()]
        while self._take(","):
            listed.append(self._parse_sum())
        self._expect(")")
        return Call("in", (value, *listed))

    def _parse_like(self, value: Node) -> Node:
        """Parse the pattern of LIKE, and return the test of a prefix.

        Args:
            value: Expression on the left of LIKE.

        Raises:
            ValueError: the pattern is not a text that ends with its only wildcard, ``%``.
        """
        word = self._next
        pattern = self._parse_text()
        if not pattern.endswith("%") or set(pattern[:-1]) & set("%_\\") or pattern == "%":
            self._refuse(word, "LIKE supports prefixes only, as in name LIKE 'abc%'")
        return Call("starts_with", (value, Literal(pattern[:-1])))

    def _parse_sum(self) -> Node:
        """Parse products joined by plus and minus signs, and return their node."""
        node = self._parse_product()
        while sign := self._take("+", "-"):
            node = Call(_ARITHMETIC_NAMES[sign], (node, self._parse_product()))
        return node

    def _parse_product(self) -> Node:
        """Parse factors joined by multiplication and division signs, and return their node."""
        node = self._parse_signed()
        while sign := self._take("*", "/"):
            node = Call(_ARITHMETIC_NAMES[sign], (node, self._parse_signed()))
        return node

    def _parse_signed(self) -> Node:
        """Parse a value with any number of minus signs before it, and return its node."""
        if not self._take("-"):
            return self._parse_cast()
        node = self._deeper(self._parse_signed)
        if isinstance(node, Literal) and isinstance(node.value, float):
            return Literal(-node.value)
        return Call("neg", (node,))

    def _parse_cast(self) -> Node:
        """Parse a value and any casts ``::type`` that follow; return their node."""
        node = self._parse_value()
        while self._take("::"):
            node = self._cast(node)
        return node

    def _cast(self, node: Node) -> Node:
        """Parse the name of a type, after ``::`` or AS, and return the cast of `node` to this type.

        Args:
            node: The value that is cast.

        Raises:
            InvalidArgument: the next word names no type of the language.
        """
        word = self._next
        name = CASTS_BY_TYPE.get(word.text.upper()) if word.kind == "word" else None
        if name is None:
            self._refuse(word, "casts are to DOUBLE, VARCHAR or DATE; round to whole numbers by round() or floor()")
        self.position += 1
        if name == "to_date" and isinstance(node, Literal) and isinstance(node.value, str):
            return self._parse_day(word, node.value)
        return Call(name, (node,))

    def _parse_day(self, word: Word, text: str) -> Node:
        """Return the syntax node of a date literal.

        Args:
            word: Token that an error message quotes.
            text: Text such as ``2024-01-31``.

        Raises:
            InvalidArgument: the text is no date.
        """
        day = parse_day(text)
        if day is None:
            self._refuse(word, "a date is needed, as in DATE '2024-01-31'")
        return Literal(day)

    def _parse_text(self) -> str:
        """Parse a text in single quotes and return its content."""
        word = self._next
        if word.kind != "text":
            self._refuse(word, "a text in single quotes is needed, as in 'north'")
        self.position += 1
        return word.text[1:-1].replace("''", "'")

    def _parse_value(self) -> Node:
        """Parse a literal, a column, a call or an expression in brackets, and return its node."""
        word = self._next
        if word.kind == "number":
            if word.text[0] == "0" and word.text[1:2].isdigit():
                self._refuse(word, f"a number has no leading zero; write '{word.text}' in quotes for a code, as text")
            self.position += 1
            return make_number_literal(word.text, self.argument)
        if word.kind == "text":
            return Literal(self._parse_text())
        if word.kind == "quoted":
            self.position += 1
            return ColumnName(word.text[1:-1].replace('""', '"'))
        if self._take("("):
            node = self._deeper(self._parse_or)
            self._expect(")")
            return node
        if word.kind != "word":
            self._refuse_next()
        return self._parse_word(word)

    def _parse_word(self, word: Word) -> Node:
        """Parse a value that begins with a word: a keyword form such as CASE, a function call, or the name of a column.

        Args:
            word: The token, which is the next one.
        """
        name = word.text.lower()
        following = self.words[self.position + 1] if self.position + 1 < len(self.words) else END
        if following.text == "(" and name in CALL_PARSERS:
            self.position += 2
            return self._deeper(lambda: CALL_PARSERS[name](self))
        if name in KEYWORD_PARSERS and (name != "date" or following.kind == "text"):
            self.position += 1
            return self._deeper(lambda: KEYWORD_PARSERS[name](self))
        if following.text == "(" and word.text.upper() not in RESERVED:
            return self._parse_call(word)
        if word.text.upper() in RESERVED or (following is not END and following.text == "("):
            self._refuse_next()
        self.position += 1
        return ColumnName(word.text)

    def _parse_call(self, word: Word) -> Node:
        """Parse the arguments of a function in brackets, and return the call.

        Args:
            word: Token with the function's name, which is the next one.

        Raises:
            InvalidArgument: no function has the name, or the number of arguments does not fit it.
        """
        name = ALIASES.get(word.text.lower(), word.text.lower())
        if name not in CALL_FUNCTIONS:
            known = REPLACEMENT_ADVICE.get(word.text.lower())
            self._refuse(word, known or f"there is no function {name}; the functions are {LISTED_FUNCTIONS}")
        self.position += 2
        arguments: list[Node] = []
        if not self._take(")"):
            arguments.append(self._deeper(self._parse_or))
            while self._take(","):
                arguments.append(self._deeper(self._parse_or))
            self._expect(")")
        most_arguments = 3  # arguments of a function that does not take a list
        if not arguments or (name not in {"least", "greatest", "coalesce"} and len(arguments) > most_arguments):
            self._refuse(word, f"these arguments do not fit {name}; see the documentation of expressions")
        if word.text.lower() in {"log", "round"} and len(arguments) > 1:
            self._refuse(word, FUNCTION_ADVICE[word.text.lower()])
        return Call(name, tuple(arguments))

    def _parse_case(self) -> Node:
        """Parse a CASE expression after its word CASE, and return it as a call: conditions and values in turn, then the
        default (NULL without ELSE).
        """
        compared = None if self._next.text.upper() == "WHEN" else self._parse_or()
        arguments: list[Node] = []
        self._expect("WHEN")
        while True:
            condition = self._parse_or()
            self._expect("THEN")
            arguments += [condition if compared is None else Call("eq", (compared, condition)), self._parse_or()]
            if self._expect("WHEN", "ELSE", "END") != "WHEN":
                break
        default: Node = Literal(None)
        if self.words[self.position - 1].text.upper() == "ELSE":
            default = self._parse_or()
            self._expect("END")
        return Call("case", (*arguments, default))

    def _parse_cast_call(self) -> Node:
        """Parse ``CAST(value AS type)`` after its opening bracket."""
        node = self._parse_or()
        self._expect("AS")
        node = self._cast(node)
        self._expect(")")
        return node

    def _parse_extract(self) -> Node:
        """Parse an EXTRACT call, such as the year of a date, after its opening bracket."""
        word = self._next
        name = word.text.lower()
        if name not in DATE_PARTS:
            self._refuse(word, f"the part of a date must be one of {', '.join(DATE_PARTS)}")
        self.position += 1
        self._expect("FROM")
        node = self._parse_or()
        self._expect(")")
        return Call(name, (node,))

    def _parse_unit(self, units: tuple[str, ...]) -> str:
        """Parse a unit of dates in quotes and the comma after it; return the unit.

        Args:
            units: Accepted units in lower case; case in the text is ignored.

        Raises:
            ValueError: the unit is another one, or no comma follows.
        """
        word = self._next
        unit = self._parse_text().lower()
        if unit not in units:
            self._refuse(word, f"the unit must be one of {', '.join(units)}")
        self._expect(",")
        return unit

    def _parse_difference(self) -> Node:
        """Parse a DATE_DIFF call, a number of periods between dates, after its opening bracket."""
        unit = self._parse_unit((*UNITS, *CLOCK_UNITS))
        earlier = self._parse_or()
        self._expect(",")
        later = self._parse_or()
        self._expect(")")
        return Call(f"diff_{unit}", (earlier, later))

    def _parse_truncation(self) -> Node:
        """Parse a DATE_TRUNC call, the first day of a period, after its opening bracket."""
        unit = self._parse_unit(UNITS)
        node = self._parse_or()
        self._expect(")")
        return Call(f"trunc_{unit}", (node,))

    def _parse_date(self) -> Node:
        """Parse a date literal such as ``DATE '2024-01-31'`` after the word DATE."""
        word = self.words[self.position - 1]
        return self._parse_day(word, self._parse_text())


DATE_PARTS = ("year", "quarter", "month", "day", "isodow")
"""Parts of a date that extract(part FROM date) gives; isodow is the day of the week, 1 for Monday to 7. Others are
refused."""
CALL_PARSERS: Mapping[str, Callable[[_Parser], Node]] = MappingProxyType({
    "cast": _Parser._parse_cast_call, "try_cast": _Parser._parse_cast_call, "extract": _Parser._parse_extract,
    "date_diff": _Parser._parse_difference, "datediff": _Parser._parse_difference,
    "date_trunc": _Parser._parse_truncation,
})  # fmt: skip
"""Parsers of calls with special arguments, by name."""
KEYWORD_PARSERS: Mapping[str, Callable[[_Parser], Node]] = MappingProxyType({
    "case": _Parser._parse_case, "date": _Parser._parse_date,
    "null": lambda parser: Literal(None), "true": lambda parser: Literal(True), "false": lambda parser: Literal(False),
})  # fmt: skip
"""Parsers of values that begin with a keyword, by keyword."""


def parse_day(text: str) -> date | None:
    """Return the date of a text such as ``2024-01-31``, from year 1 to 9999; None for any other text.

    Args:
        text: Any text.
    """
    with suppress(ValueError):
        if len(text) == 10 and text.isascii():
            return date.fromisoformat(text)
    return None
