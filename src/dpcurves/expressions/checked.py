"""Type checking of expressions: each node gets one type, from the schema of the table and never from values.

Types are found from the leaves up (`check_expression`):

    NUMBER, DATE, TEXT, TRUTH, MOMENT      columns by the schema of the table, literals by their form
    a function                             by its `Signature`; the message of a wrong type names the expected type

An expression such as a logarithm, which increases with one column, is also kept as a chain of functions
(`find_monotone_chain`). Cells of its values are then cells of the column, so that engines compute no logarithm.

Formal guarantees: types are a function of the schema, which is public.

>>> [is_no_name(name) for name in ("52", "2024-01-31", "age", "x1")]  # names of columns that look like values
[True, True, False, False]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from ..arguments import InvalidArgument, describe_nearest_name
from .parsing import parse_day
from .syntax import CLOCK_UNITS, COMPARISONS, UNITS, Call, ColumnName, Literal, Node, format_expression, walk_nodes


class ValueType(Enum):
    """Type of a value in an expression."""

    NUMBER = "a number"
    TEXT = "text"
    TRUTH = "true or false"
    DATE = "a date"
    MOMENT = "a timestamp"
    FIELD = "a field without a declared type"
    """The type is taken from what the field is compared with, or from the function that reads it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A node of an expression with its type.

    Attributes:
        function: A name of `syntax.FUNCTION_NAMES`; or ``literal``, ``column``, ``truth_to_number`` or ``to_moment``.
        type: The type of its value; never `FIELD`.
        arguments: The arguments, with their types.
        value: The literal, or the name of the column.
    """

    function: str
    type: ValueType
    arguments: tuple[Checked, ...] = ()
    value: float | str | bool | date | None = None

    @property
    def number(self) -> float:
        """Numeric constant of the node: value of a number literal, or period length of a calendar operation; 1 if there
        is none.
        """
        return self.value if isinstance(self.value, float) else 1.0


NUMBER, TEXT, TRUTH, DATE, MOMENT, FIELD = ValueType


class Signature(NamedTuple):
    """Types that a function takes and returns.

    Attributes:
        arguments: Type of each argument.
        type: Type of the result.
        optional: Number of arguments at the end that may be left out.
    """

    arguments: tuple[ValueType, ...]
    type: ValueType
    optional: int = 0


SIGNATURES: Mapping[str, Signature] = MappingProxyType({
    **dict.fromkeys(("add", "mul", "div"), Signature((NUMBER, NUMBER), NUMBER)),
    **dict.fromkeys(
        ("neg", "abs", "round", "floor", "ceil", "sqrt", "ln", "log2", "log10", "exp"), Signature((NUMBER,), NUMBER)
    ),
    **dict.fromkeys(("and", "or"), Signature((TRUTH, TRUTH), TRUTH)),
    "not": Signature((TRUTH,), TRUTH),
    **dict.fromkeys(("lower", "upper"), Signature((TEXT,), TEXT)),
    "substr": Signature((TEXT, NUMBER, NUMBER), TEXT, optional=1),
    "starts_with": Signature((TEXT, TEXT), TRUTH),
    **dict.fromkeys(("year", "quarter", "month", "day", "isodow"), Signature((DATE,), NUMBER)),
    **{f"trunc_{unit}": Signature((DATE,), DATE) for unit in UNITS},
    **{f"diff_{unit}": Signature((DATE, DATE), NUMBER) for unit in UNITS},
    **{f"diff_{unit}": Signature((MOMENT, MOMENT), NUMBER) for unit in CLOCK_UNITS},
})  # fmt: skip
"""Types of the arguments and the value of functions whose arguments have one type each; another type is refused."""
TRANSCENDENTAL = frozenset({"ln", "log2", "log10", "exp"})
"""Functions whose last bits differ between libraries: they are applied to the edges of a grid, never to rows."""


def check_expression(
    node: Node, schema: Mapping[str, ValueType], expected: ValueType | None = None, argument: str = "expression"
) -> Checked:
    """Check the types of an expression, and return it with the type of each part.

    Args:
        node: The expression.
        schema: Types of all columns of the table, by name.
        expected: The type that is needed; None: any.
        argument: Name of the argument, for messages.

    Raises:
        ValueError: a column is missing, a type does not fit, or a logarithm or exponential is inside another function.
    """
    checked = _TypeChecker(schema, argument).check(node, expected)
    _refuse_transcendental(checked, node, argument)
    return checked


def _refuse_transcendental(checked: Checked, node: Node, argument: str) -> None:
    """Refuse logarithms and exponentials inside an expression: their last bits differ between engines, so rows would be
    selected differently.

    Args:
        checked: The typed expression; not used.
        node: Expression that is searched.
        argument: Name of the argument that the message names.

    Raises:
        InvalidArgument: names the logarithm or exponential, and what to compare instead.
    """
    for part in walk_nodes(node):
        if isinstance(part, Call) and part.function in TRANSCENDENTAL:
            rule = (
                f"{format_expression(part)}: {part.function} is for a whole column on a grid, as in "
                f"{part.function}(wage); its last bits differ between engines, so compare "
                f"{format_expression(part.arguments[0])} itself with a number"
            )
            raise InvalidArgument(argument, rule)


NO_HEADER = "the first line of the file has numbers in the place of names; put a line of names above it, as in age,ward"
"""Part of the error for a file of text whose first line seems to be a record."""


def is_no_name(name: str) -> bool:
    """Return True if a column's name has digits and no letters, so that the first line of the file seems to be a
    record, not a header.

    Args:
        name: Name of the column.

    >>> [is_no_name(name) for name in ("52", "2024-01-31", "-0,5", "age", "x1", "")]
    [True, True, True, False, False, False]
    """
    return any(map(str.isdigit, name)) and not any(map(str.isalpha, name))


class _TypeChecker:
    """Type checker: it finds the type of each node, from the leaves up.

    Fields without a declared type take the type that is expected of them.
    """

    def __init__(self, schema: Mapping[str, ValueType], argument: str) -> None:
        self.schema = schema
        self.argument = argument

    def check(self, node: Node, expected: ValueType | None) -> Checked:
        """Check the types of a node and its arguments, and return the typed node, converted to `expected` unless that
        is None.

        Args:
            node: Node of the syntax tree.
            expected: Type that the context needs; None: any.

        Raises:
            ValueError: the types do not match.
        """
        checked = self._check(node, expected)
        if expected is None or checked.type is expected:
            return checked
        if expected is NUMBER and checked.type is TRUTH:
            return Checked("truth_to_number", NUMBER, (checked,))
        if expected is DATE and checked.type is MOMENT:
            return Checked("to_date", DATE, (checked,))
        if expected is MOMENT and checked.type is DATE:
            return Checked("to_moment", MOMENT, (checked,))
        self._refuse(
            node, f"{expected.value} is needed here, and this is {checked.type.value}{_suggest(checked.type, expected)}"
        )

    def _refuse(self, node: Node, rule: str) -> NoReturn:
        """Raise `InvalidArgument` with a message that quotes the expression `node` and states the rule it violates.

        Args:
            node: Expression that is quoted.
            rule: What is needed instead.
        """
        raise InvalidArgument(self.argument, f"{format_expression(node)[:60]}: {rule}")

    def _check(self, node: Node, expected: ValueType | None) -> Checked:
        """Return a node with its type and typed arguments; columns of open type get the type `expected`.

        Args:
            node: Node of the syntax tree.
            expected: Type that the context needs; None: any.
        """
        match node:
            case Literal():
                return self._check_literal(node, expected)
            case ColumnName():
                return self._check_column(node, expected)
        name = node.function
        if name in SIGNATURES:
            return self._check_signature(node, SIGNATURES[name])
        special: Callable[[Call, ValueType | None], Checked] = getattr(self, f"_check_{name}", self._check_alike)
        return special(node, expected)

    def _check_literal(self, node: Literal, expected: ValueType | None) -> Checked:
        """Return a literal with its type; a text is a date where a date is expected.

        Args:
            node: The literal.
            expected: Type that is expected; None: any.

        Raises:
            InvalidArgument: a date is expected, and the text is not a date.
        """
        value = node.value
        if value is None:
            return Checked("literal", expected or TEXT, value=None)
        if expected in {DATE, MOMENT} and isinstance(value, str):
            day = parse_day(value)
            if day is None:
                self._refuse(node, "a date is needed here, as in DATE '2024-01-31'")
            return Checked("literal", DATE, value=day)
        kinds = {bool: TRUTH, str: TEXT, float: NUMBER}
        return Checked("literal", kinds.get(type(value), DATE), value=value)

    def _check_column(self, node: ColumnName, expected: ValueType | None) -> Checked:
        """Return a column with its declared type, or with the expected type if none is declared.

        Args:
            node: Name of the column, as in the text.
            expected: Type that the surrounding expression expects; None: any, and then a column without a type is text.

        Raises:
            ValueError: the table has no column of this name.
        """
        declared = self.schema.get(node.name)
        if declared is None:
            if any(kind is FIELD and is_no_name(name) for name, kind in self.schema.items()):
                raise InvalidArgument(self.argument, f"{node.name!r} is not a column; {NO_HEADER}")
            nearest = describe_nearest_name(node.name, self.schema, cutoff=0.5)
            listed = ", ".join(list(self.schema)[:40])
            raise InvalidArgument(self.argument, f"there is no column {node.name!r}{nearest}; columns: {listed}")
        if declared is FIELD and expected is MOMENT:
            self._refuse(node, "fields without a declared type are not timestamps; cast it, as in CAST(name AS DATE)")
        return Checked("column", (expected or TEXT) if declared is FIELD else declared, value=node.name)

    def _check_signature(self, node: Call, signature: Signature) -> Checked:
        """Check a call whose arguments have fixed types, and return the typed call.

        Args:
            node: The call.
            signature: Types of the arguments and of the result.

        Raises:
            ValueError: the number or a type of the arguments is wrong.
        """
        types = signature.arguments
        if not len(types) - signature.optional <= len(node.arguments) <= len(types):
            self._refuse(node, f"{node.function} takes {len(types)} argument{'s' if len(types) > 1 else ''}")
        arguments = tuple(map(self.check, node.arguments, types))
        if node.function in {"starts_with", "substr"}:
            self._require_literals(node, 1)
        return Checked(node.function, signature.type, arguments)

    def _require_literals(self, node: Call, start: int) -> None:
        """Require literals for later arguments of a function, such as start and length in substr, so that work per row
        is public.

        Args:
            node: The call.
            start: Index of the first argument that must be a literal.

        Raises:
            ValueError: a later argument is a column or NULL, or a number that is not whole or not from 1 to 2**20.
        """
        for argument in node.arguments[start:]:
            if not isinstance(argument, Literal) or argument.value is None:
                self._refuse(
                    node, "arguments after the first must be numbers or texts, not columns, as in substr(code, 1, 3)"
                )
            if isinstance(argument.value, float) and not (argument.value.is_integer() and 1 <= argument.value <= 2**20):
                self._refuse(node, "whole numbers from 1 are needed, as in substr(code, 1, 3)")

    def _common_type(self, node: Node, arguments: Sequence[Node], expected: ValueType | None) -> ValueType | None:
        """Return the type to which several values are converted before they are compared; `expected` if none has a
        declared type.

        Args:
            node: Expression that the values are compared in, for the message of an error.
            arguments: The values.
            expected: Type of values without a declared type; None: open.
        """
        types: set[ValueType] = set()
        texts = True
        for argument in arguments:
            kind = self._declared_type(argument)
            if kind is not None:
                types.add(kind)
                texts = texts and (kind is not TEXT or isinstance(argument, Literal))
        if types == {NUMBER, TRUTH}:
            return NUMBER
        if DATE in types and types <= {DATE, TEXT} and texts:
            return DATE
        if MOMENT in types and types <= {DATE, MOMENT, TEXT} and texts:
            return MOMENT  # a date is its first moment, as in SQL
        if len(types) > 1:
            listed = " and ".join(sorted(kind.value for kind in types))
            self._refuse(node, f"{listed} cannot be compared; cast one of them, as in CAST(name AS DOUBLE)")
        return types.pop() if types else expected

    def _declared_type(self, node: Node) -> ValueType | None:
        """Return the type of a node before its context is known; None for NULL and for untyped fields.

        Args:
            node: Node of the syntax tree.
        """
        if isinstance(node, Literal) and node.value is None:
            return None
        if isinstance(node, ColumnName) and self.schema.get(node.name) is FIELD:
            return None
        if isinstance(node, Call) and node.function in {"least", "greatest", "coalesce", "nullif", "case"}:
            return self._common_type(node, self._values_of(node), None)
        return self._check(node, None).type

    @staticmethod
    def _values_of(node: Call) -> tuple[Node, ...]:
        """Return the arguments of a call that must share one type: those compared with each other, or the results of
        CASE.

        Args:
            node: The call.

        Returns:
            Nodes in the order of the text; of CASE the results without the conditions.
        """
        if node.function == "case":
            return (*node.arguments[1:-1:2], node.arguments[-1])
        return node.arguments

    def _check_alike(self, node: Call, expected: ValueType | None) -> Checked:
        """Check a function whose arguments share one type, such as a comparison, IN or COALESCE, and return the typed
        call.

        Args:
            node: The call.
            expected: Type of the result that is expected; None: any.

        Raises:
            InvalidArgument: arguments are missing, have different types, or have a type that the function does not
                take.
        """
        name, arguments = node.function, node.arguments
        is_comparison = name in COMPARISONS or name in {"in", "between"}
        least_arguments = {"in": 2, "between": 3, "coalesce": 1, "least": 1, "greatest": 1}.get(name, 2)
        if len(arguments) < least_arguments:
            self._refuse(node, f"{name} needs {least_arguments} values")
        if name == "in":
            self._require_listed(node)
        common = self._common_type(node, arguments, None if is_comparison else expected)
        if common is None and is_comparison:
            self._refuse(node, "neither side declares a type; cast one, as in CAST(name AS DOUBLE)")
        if name in {"least", "greatest"} and (common or NUMBER) not in {NUMBER, DATE}:
            self._refuse(node, f"{name} takes numbers and dates only; cast the values, as in CAST(name AS DOUBLE)")
        common = common or (NUMBER if name in {"least", "greatest"} else TEXT)
        if common is TRUTH and name not in {"eq", "ne", "in", "coalesce"}:
            self._refuse(node, "true and false have no order; compare them by = or <>")
        checked = tuple(self.check(argument, common) for argument in arguments)
        return Checked(name, TRUTH if is_comparison else common, checked)

    def _require_listed(self, node: Call) -> None:
        """Require that IN lists literals only, not columns.

        Args:
            node: The call of IN; its first argument may be any expression.

        Raises:
            ValueError: an entry of the list is not a literal.
        """
        for argument in node.arguments[1:]:
            if not isinstance(argument, Literal):
                self._refuse(node, "IN takes a list of values, as in region IN ('north', 'south')")

    def _check_case(self, node: Call, expected: ValueType | None) -> Checked:
        """Check that CASE has truth values as conditions and results of one type, and return the typed call.

        Args:
            node: The CASE expression: conditions and values in turn, then the default.
            expected: Type of the values that is expected; None: any.

        Raises:
            InvalidArgument: WHEN or THEN is missing, or the values have different types.
        """
        if len(node.arguments) < 3:
            self._refuse(node, "CASE needs WHEN and THEN, as in CASE WHEN age < 18 THEN 0 ELSE 1 END")
        common = self._common_type(node, self._values_of(node), expected) or TEXT
        checked = tuple(
            self.check(argument, TRUTH if index % 2 == 0 and index < len(node.arguments) - 1 else common)
            for index, argument in enumerate(node.arguments)
        )
        return Checked("case", common, checked)

    def _check_is_null(self, node: Call, expected: ValueType | None) -> Checked:
        """Check ``IS NULL``, which accepts a value of any type, and return the typed call.

        Args:
            node: The call.
            expected: Not used: the result is a truth value.
        """
        return Checked("is_null", TRUTH, (self.check(node.arguments[0], None),))

    def _check_is_not_null(self, node: Call, expected: ValueType | None) -> Checked:
        """Check ``IS NOT NULL``, which accepts a value of any type, and return the typed call.

        Args:
            node: The call.
            expected: Not used: the result is a truth value.
        """
        return Checked("is_not_null", TRUTH, (self.check(node.arguments[0], None),))

    def _check_sub(self, node: Call, expected: ValueType | None) -> Checked:
        """Check a difference, of numbers or of two dates in days, and return the typed call.

        Args:
            node: The call.
            expected: Not used: the result is a number.
        """
        if DATE in (self._declared_type(argument) for argument in node.arguments):
            return Checked("diff_day", NUMBER, tuple(self.check(argument, DATE) for argument in node.arguments[::-1]))
        return Checked("sub", NUMBER, tuple(self.check(argument, NUMBER) for argument in node.arguments))

    def _check_to_number(self, node: Call, expected: ValueType | None) -> Checked:
        """Check a cast to a number, of a number, truth value, untyped field, or text that spells a decimal number.

        Args:
            node: The call.
            expected: Not used: the result is a number.
        """
        (argument,) = node.arguments
        kind = self._declared_type(argument)
        if kind in {NUMBER, TRUTH, None}:
            return self.check(argument, NUMBER)
        return Checked("to_number", NUMBER, (self.check(argument, TEXT),))

    def _check_to_text(self, node: Call, expected: ValueType | None) -> Checked:
        """Check a cast to text; only texts and untyped fields may be cast, because engines write other types
        differently.

        Args:
            node: The call.
            expected: Not used: the result is a text.

        Raises:
            ValueError: the argument is of another type.
        """
        return self.check(node.arguments[0], TEXT)

    def _check_to_date(self, node: Call, expected: ValueType | None) -> Checked:
        """Check a cast to a date, of a date, timestamp, untyped field, or text such as 2024-01-31.

        Args:
            node: The call.
            expected: Not used: the result is a date.
        """
        (argument,) = node.arguments
        kind = self._declared_type(argument)
        if kind is TEXT:
            return Checked("to_date", DATE, (self.check(argument, TEXT),))
        return self.check(argument, DATE)


def _suggest(kind: ValueType, expected: ValueType) -> str:
    """Return advice for an error message, on how to convert a value of type `kind` to `expected`; empty if no
    conversion exists.
    """
    if expected is TRUTH:
        return "; compare it, as in flag = 1"
    if expected is NUMBER and kind is TEXT:
        return "; cast it, as in CAST(name AS DOUBLE)"
    if expected is DATE and kind is TEXT:
        return "; cast it, as in CAST(name AS DATE)"
    if expected is NUMBER and kind in {DATE, MOMENT}:
        return "; give days by date_diff('day', DATE '2020-01-01', name)"
    return ""


def find_monotone_chain(node: Node) -> tuple[tuple[tuple[str, float], ...], Node]:
    """Split an expression such as ``2 * ln(wage)`` into the increasing functions outside, down to a logarithm or
    exponential, and the inner expression.

    Functions are pairs of a name and a number, from the outermost in. The chain is empty if the expression has no
    logarithm or exponential outside of other functions; engines then compute all of it for each row.

    Args:
        node: Syntax tree of the expression.

    Returns:
        The functions and the inner expression.

    >>> chain, inner = find_monotone_chain(Call("mul", (Literal(2.0), Call("ln", (ColumnName("wage"),)))))
    >>> chain, inner
    ((('mul', 2.0), ('ln', 0.0)), ColumnName(name='wage'))
    """
    steps: list[tuple[str, float]] = []
    last = 0
    inner = last_inner = node
    while isinstance(inner, Call):
        step = _find_step(inner)
        if step is None:
            break
        (name, number), inner = step
        steps.append((name, number))
        if name in TRANSCENDENTAL:
            last = len(steps)
            last_inner = inner
    return (tuple(steps[:last]), last_inner) if last else ((), node)


def _find_step(call: Call) -> tuple[tuple[str, float], Node] | None:
    """Split off the outermost function if it increases with one value: ln, exp, or arithmetic with a number.

    Args:
        call: Call of the outermost function.

    Returns:
        Name and number of the function, and the value that it is applied to; None if the call is no such function.
    """
    if call.function in TRANSCENDENTAL and len(call.arguments) == 1:
        return (call.function, 0.0), call.arguments[0]
    if call.function not in {"add", "sub", "mul", "div"}:
        return None
    left, right = call.arguments
    if isinstance(right, Literal) and isinstance(right.value, float):
        number = right.value
        inner = left
    elif isinstance(left, Literal) and isinstance(left.value, float) and call.function in {"add", "mul"}:
        number = left.value
        inner = right
    else:
        return None
    return None if call.function in {"mul", "div"} and number <= 0 else ((call.function, number), inner)
