"""Parser of expressions: SQL text that sqlglot reads, of which each part must be known here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NoReturn

from ..arguments import InvalidArgument, MissingPackage, WrongArgumentType, describe_value
from .builder import Expression
from .syntax import (
    CALLS,
    CLOCK_UNITS,
    DEEPEST,
    LONGEST,
    UNITS,
    Call,
    ColumnName,
    Literal,
    Node,
    format_expression,
    require_bounded,
)

DIALECT = "duckdb"
SHOWN = 60
"""Characters of an expression that a message quotes."""
FUNCTIONS = (
    "abs round floor ceil sqrt ln log10 log2 exp least greatest coalesce nullif lower upper substr starts_with year "
    "quarter month day isodow date_diff date_trunc"
)
"""Functions that a message lists."""


def parse_filter(argument: str, where: object) -> str | None:
    """Return the canonical text of a filter, which may be an `Expression`; None: no filter.

    Raises:
        ValueError: the text is no expression of the language.
        MissingPackage: a text is given, and sqlglot is not installed.
    """
    if where is None:
        return None
    if isinstance(where, Expression):
        return str(where)
    if not isinstance(where, str):
        raise WrongArgumentType(
            argument, f"a condition is needed, as in \"age >= 65 AND sex = 'F'\", got {describe_value(where)}"
        )
    return format_expression(parse_expression(where, argument))


@lru_cache(maxsize=256)
def parse_expression(text: str, argument: str = "expression") -> Node:
    """Return the tree of an expression.

    Formal guarantees: a text is refused unless every part of its syntax tree is known, so that no part is ignored: the
    language has no functions with state, time, randomness or access to other rows, no queries, and bounded size.

    Raises:
        ValueError: the text is no expression of the language; the message names the part.
        MissingPackage: sqlglot is not installed.

    >>> format_expression(parse_expression("age>=65 and sex in ('F')"))
    "age >= 65 AND sex IN ('F')"
    """
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        raise MissingPackage(argument, f"expressions need sqlglot; install dpcurves[sql] ({error})") from error
    if not text.strip() or len(text) > LONGEST:
        raise InvalidArgument(argument, f"an expression of 1 to {LONGEST:,} characters is needed")
    if not text.isprintable():
        raise InvalidArgument(argument, "an expression stands on one line of printable characters")
    tree: Any = None
    with suppress(Exception):  # errors of any type, which quote the whole text
        tokens = sqlglot.tokenize(text, read=DIALECT)
        if any(token.comments for token in tokens) or sum(token.text == "(" for token in tokens) > 2 * DEEPEST:
            raise ValueError
        (tree,) = sqlglot.parse(text, read=DIALECT)
    if tree is None:
        raise InvalidArgument(
            argument, f"{_shorten(text)} is no expression; write one as in wage / hours, or age >= 65"
        )
    try:
        node = _TreeReader(argument).read(tree)
    except RecursionError:
        raise InvalidArgument(argument, f"at most {DEEPEST} nested calls and brackets are allowed") from None
    require_bounded(node, argument)
    return node


def _shorten(text: str) -> str:
    """Return a text for a message, cut after 60 characters."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


BINARY = MappingProxyType({
    "Add": "add", "Sub": "sub", "Mul": "mul", "EQ": "eq", "NEQ": "ne", "LT": "lt", "LTE": "le", "GT": "gt",
    "GTE": "ge", "And": "and", "Or": "or", "Nullif": "nullif", "StartsWith": "starts_with",
})  # fmt: skip
UNARY = MappingProxyType({
    "Not": "not", "Abs": "abs", "Sqrt": "sqrt", "Ln": "ln", "Exp": "exp", "Lower": "lower", "Upper": "upper",
    "Floor": "floor", "Ceil": "ceil", "Year": "year", "Quarter": "quarter", "Month": "month", "Day": "day",
    "DayOfWeekIso": "isodow",
})  # fmt: skip
INSTEAD = MappingProxyType({
    "IntDiv": "// is no operator here; write floor(a / b)",
    "Mod": "% is no operator here; write a - b * floor(a / b)",
    "Pow": "powers differ in their last bits between engines; write products, as in x * x",
    "ILike": "ILIKE is unknown; write lower(name) LIKE 'abc%'",
    "DPipe": "texts are not joined; compare the columns one by one",
    "If": "IF is unknown; write CASE WHEN condition THEN a ELSE b END",
    "Subquery": "queries inside an expression are not allowed: an expression reads one row",
    "Select": "queries inside an expression are not allowed: an expression reads one row",
    "Window": "window functions read other rows: an expression reads one row",
    "Count": "aggregates read other rows: an expression reads one row",
    "Sum": "aggregates read other rows: an expression reads one row",
    "Avg": "aggregates read other rows: an expression reads one row",
    "Rand": "random functions are not allowed: an expression is a function of one row",
    "CurrentDate": "the current time is not allowed; write a date, as in DATE '2024-01-31'",
    "CurrentTimestamp": "the current time is not allowed; write a date, as in DATE '2024-01-31'",
    "Trim": "trim is unknown; compare with IN and the spellings that occur",
})  # fmt: skip
"""Rules for parts that people try, by sqlglot's classes."""


class _TreeReader:
    """Converts syntax trees of sqlglot, and refuses every class and every part of a class that it does not know."""

    def __init__(self, argument: str) -> None:
        self.argument = argument

    def read(self, tree: Any) -> Node:
        """Return the node of a tree."""
        kind = type(tree).__name__
        if kind in BINARY:
            parts = self._read_parts(tree, "this", "expression")
            return Call(BINARY[kind], tuple(map(self.read, parts)))
        if kind in UNARY:
            (part,) = self._read_parts(tree, "this")
            return self._read_unary(UNARY[kind], part)
        reader: Callable[[_TreeReader, Any], Node] | None = READERS.get(kind)
        if reader is None:
            self._refuse(tree, INSTEAD.get(kind, f"it is not known here; the functions are {FUNCTIONS}"))
        return reader(self, tree)

    def _refuse(self, tree: Any, rule: str) -> NoReturn:
        """Raise an error that quotes a part of the text."""
        text = ""
        with suppress(Exception):
            text = tree.sql(dialect=DIALECT)
        raise InvalidArgument(self.argument, f"{_shorten(text)}: {rule}" if text else rule)

    def _read_parts(self, tree: Any, *names: str, ignored: Mapping[str, Any] = MappingProxyType({})) -> list[Any]:
        """Return the named parts of a tree, None where one is missing; refuse a tree with any other part.

        Args:
            ignored: Further parts, with the only value that each may have.
        """
        for name, value in tree.args.items():
            if name in names or value is None or value is False or value == []:
                continue
            if name in ignored and value == ignored[name]:
                continue
            self._refuse(tree, "this form is not known here")
        return [tree.args.get(name) for name in names]

    def _read_unary(self, name: str, part: Any) -> Node:
        """Return the node of a function of one value; IS NOT NULL is one node."""
        node = self.read(part)
        if name == "not" and isinstance(node, Call) and node.function == "is_null":
            return Call("is_not_null", node.arguments) if type(part).__name__ == "Is" else Call(name, (node,))
        return Call(name, (node,))

    def _read_division(self, tree: Any) -> Node:
        """Return a division of doubles."""
        parts = self._read_parts(tree, "this", "expression")
        return Call("div", tuple(map(self.read, parts)))

    def _read_brackets(self, tree: Any) -> Node:
        """Return the node in brackets."""
        (part,) = self._read_parts(tree, "this")
        return self.read(part)

    def _read_column(self, tree: Any) -> Node:
        """Return a column, which has no table or schema."""
        (identifier,) = self._read_parts(tree, "this")
        if type(identifier).__name__ != "Identifier":
            self._refuse(tree, "the name of a column is needed")
        return ColumnName(str(identifier.this))

    def _read_literal(self, tree: Any) -> Node:
        """Return a number or a text."""
        if tree.args.get("is_string"):
            return Literal(str(tree.this))
        try:
            return Literal(float(tree.this))
        except ValueError:
            self._refuse(tree, "a decimal number is needed")

    def _read_negative(self, tree: Any) -> Node:
        """Return a negative number, or the negation of a value."""
        (part,) = self._read_parts(tree, "this")
        node = self.read(part)
        if isinstance(node, Literal) and isinstance(node.value, float):
            return Literal(-node.value)
        return Call("neg", (node,))

    def _read_is(self, tree: Any) -> Node:
        """Return IS NULL."""
        value, other = self._read_parts(tree, "this", "expression")
        if type(other).__name__ != "Null":
            self._refuse(tree, "IS is known with NULL alone; write column = TRUE")
        return Call("is_null", (self.read(value),))

    def _read_in(self, tree: Any) -> Node:
        """Return IN of a list of values."""
        if tree.args.get("query") is not None:
            self._refuse(tree, INSTEAD["Subquery"])
        value, listed = self._read_parts(tree, "this", "expressions")
        return Call("in", (self.read(value), *map(self.read, listed or [])))

    def _read_between(self, tree: Any) -> Node:
        """Return BETWEEN."""
        return Call("between", tuple(map(self.read, self._read_parts(tree, "this", "low", "high"))))

    def _read_like(self, tree: Any) -> Node:
        """Return a test of a prefix."""
        if tree.args.get("negate"):
            self._refuse(tree, "write NOT name LIKE 'abc%'")
        value, pattern = self._read_parts(tree, "this", "expression")
        literal = self.read(pattern)
        text = literal.value if isinstance(literal, Literal) else None
        if not isinstance(text, str) or not text.endswith("%") or set(text[:-1]) & set("%_\\") or text == "%":
            self._refuse(tree, "LIKE is known for prefixes alone, as in name LIKE 'abc%'")
        return Call("starts_with", (self.read(value), Literal(text[:-1])))

    def _read_case(self, tree: Any) -> Node:
        """Return CASE, with or without a value that is compared."""
        compared, branches, default = self._read_parts(tree, "this", "ifs", "default")
        arguments: list[Node] = []
        for branch in branches or []:
            condition, value = self._read_parts(branch, "this", "true")
            node = self.read(condition)
            arguments += [node if compared is None else Call("eq", (self.read(compared), node)), self.read(value)]
        return Call("case", (*arguments, Literal(None) if default is None else self.read(default)))

    def _read_cast(self, tree: Any) -> Node:
        """Return a cast to DOUBLE, VARCHAR or DATE, or the literal of a date."""
        value, target = self._read_parts(tree, "this", "to", ignored={"safe": True})
        name = {"DOUBLE": "to_number", "TEXT": "to_text", "VARCHAR": "to_text", "DATE": "to_date"}.get(
            getattr(target.this, "name", str(target.this)).upper()
        )
        if name is None or target.args.get("expressions"):
            self._refuse(tree, "casts are to DOUBLE, VARCHAR or DATE; round integers by round(), floor() or ceil()")
        node = self.read(value)
        if name == "to_date" and isinstance(node, Literal) and isinstance(node.value, str):
            day = parse_day(node.value)
            if day is None:
                self._refuse(tree, "a date is needed, as in DATE '2024-01-31'")
            return Literal(day)
        return Call(name, (node,))

    def _read_round(self, tree: Any) -> Node:
        """Return rounding to whole numbers, halves away from zero."""
        if tree.args.get("decimals") is not None:
            self._refuse(tree, "round takes one number; write round(x * 100) / 100")
        (part,) = self._read_parts(tree, "this")
        return Call("round", (self.read(part),))

    def _read_log(self, tree: Any) -> Node:
        """Return a logarithm: natural, or to base 2 or 10."""
        value, second = self._read_parts(tree, "this", "expression")
        if second is None:
            return Call("ln", (self.read(value),))
        base = self.read(value)
        name = {2.0: "log2", 10.0: "log10"}.get(base.value) if isinstance(base, Literal) else None  # type: ignore[arg-type]
        if name is None:
            self._refuse(tree, "logarithms are ln(x), log2(x) and log10(x)")
        return Call(name, (self.read(second),))

    def _read_list(self, tree: Any) -> Node:
        """Return least, greatest or coalesce of several values."""
        first, others = self._read_parts(tree, "this", "expressions", ignored={"ignore_nulls": True})
        return Call(type(tree).__name__.lower(), (self.read(first), *map(self.read, others or [])))

    def _read_substring(self, tree: Any) -> Node:
        """Return a part of a text."""
        parts = self._read_parts(tree, "this", "start", "length")
        return Call("substr", tuple(self.read(part) for part in parts if part is not None))

    def _read_difference(self, tree: Any) -> Node:
        """Return the number of boundaries of a unit between two times."""
        later, earlier, unit = self._read_parts(
            tree, "this", "expression", "unit", ignored={"date_part_boundary": True}
        )
        name = str(unit.this).lower() if unit is not None else ""
        if name not in (*UNITS, *CLOCK_UNITS):
            self._refuse(tree, f"the unit is one of {', '.join((*UNITS, *CLOCK_UNITS))}")
        return Call(f"diff_{name}", (self.read(earlier), self.read(later)))

    def _read_truncation(self, tree: Any) -> Node:
        """Return the first day of a period."""
        value, unit = self._read_parts(tree, "this", "unit")
        name = str(unit.this).lower() if unit is not None else ""
        if name not in UNITS:
            self._refuse(tree, f"the unit is one of {', '.join(UNITS)}")
        return Call(f"trunc_{name}", (self.read(value),))

    def _read_extract(self, tree: Any) -> Node:
        """Return a part of a date."""
        unit, value = self._read_parts(tree, "this", "expression")
        name = str(unit.this).lower()
        if name not in {"year", "quarter", "month", "day", "isodow"}:
            self._refuse(tree, "the part is one of year, quarter, month, day and isodow")
        return Call(name, (self.read(value),))

    def _read_unknown(self, tree: Any) -> Node:
        """Return a call that sqlglot has no class for, if its name is known."""
        name = str(tree.this).lower()
        if name not in CALLS:
            self._refuse(tree, f"there is no function {name}; the functions are {FUNCTIONS}")
        (parts,) = self._read_parts(tree, "expressions", ignored={"this": tree.this})
        return Call(name, tuple(map(self.read, parts or [])))


READERS: Mapping[str, Callable[[_TreeReader, Any], Node]] = MappingProxyType({
    "Div": _TreeReader._read_division,
    "Paren": _TreeReader._read_brackets,
    "Column": _TreeReader._read_column,
    "Literal": _TreeReader._read_literal,
    "Null": lambda reader, tree: Literal(None),
    "Boolean": lambda reader, tree: Literal(bool(tree.this)),
    "Neg": _TreeReader._read_negative,
    "Is": _TreeReader._read_is,
    "In": _TreeReader._read_in,
    "Between": _TreeReader._read_between,
    "Like": _TreeReader._read_like,
    "Case": _TreeReader._read_case,
    "Cast": _TreeReader._read_cast,
    "TryCast": _TreeReader._read_cast,
    "Round": _TreeReader._read_round,
    "Log": _TreeReader._read_log,
    **dict.fromkeys(("Least", "Greatest", "Coalesce"), _TreeReader._read_list),
    "Substring": _TreeReader._read_substring,
    "DateDiff": _TreeReader._read_difference,
    "TimestampTrunc": _TreeReader._read_truncation,
    "DateTrunc": _TreeReader._read_truncation,
    "Extract": _TreeReader._read_extract,
    "Anonymous": _TreeReader._read_unknown,
})  # fmt: skip
"""Readers of syntax trees, by sqlglot's classes."""


def parse_day(text: str) -> date | None:
    """Return the date of a text as in ``2024-01-31``, from year 1 to 9999; else None."""
    with suppress(ValueError):
        if len(text) == 10 and text.isascii():
            return date.fromisoformat(text)
    return None
