"""Values of expressions in NumPy, equal to the last bit to the values that the engines compute.

Each node of the tree is evaluated once, for all rows together:

    numbers, dates (days since 1970-01-01)    float64, NaN is NULL
    conditions (three values)                 float64: 1 true, 0 false, NaN is NULL
    texts                                     objects, None is NULL
    timestamps                                microseconds

Operations follow IEEE 754 on doubles in the order of the text; a result that is not finite is NULL.

Formal guarantees: the value of a row is a function of that row alone, and no row raises an error. So deriving columns
and filtering rows map neighbouring tables to neighbouring tables.

References: IEEE 754-2019; ISO/IEC 9075 (three-valued logic of SQL).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .checked import Checked, ValueType, check_expression
from .lowering import EPOCH, lower_expression
from .parsing import parse_day, parse_expression
from .syntax import COMPARISONS, Node, find_column_names

Array: TypeAlias = NDArray[Any]
"""Values: doubles with NaN for NULL (numbers; days; 1, 0 for true, false); texts or None; or microseconds."""
NO_MOMENT = np.iinfo(np.int64).min
"""Number that stands for a missing timestamp in arrays of integers: the smallest of 64 bits."""
DECIMAL_NUMBER = "-?[0-9]{1,30}([.][0-9]{1,30})?([eE][+-]?[0-9]{1,3})?"
"""Texts that a cast to a number reads; others become NULL. Python, DuckDB and PostgreSQL round these alike."""
SAFE_DAYS = 106_000_000
"""Days. Up to this number since 1970, microseconds fit 64 bits; a date beyond is NULL as a timestamp."""


def evaluate_expression(node: Node, table: Mapping[str, Any], expected: ValueType | None = None) -> Array:
    """SECRET if the table is: return the value of an expression for each row.

    Formal guarantees: the value of a row is a function of that row alone, for any content of other rows, and no row
    raises an error. Operations follow IEEE 754 on doubles, in the order of the text: a result that is not finite is
    NULL.

    Args:
        node: The expression.
        table: NumPy arrays, or lists, by column name.
        expected: The type of the result; None: the type of the expression.

    Returns:
        One value per row: doubles (NaN: missing; truth values are 1 and 0, dates are days since 1970), texts as objects
            (None: missing), or timestamps as integers.

    Raises:
        ValueError: a column is missing, or a type does not fit.

    >>> from dpcurves.expressions import parse_expression
    >>> evaluate_expression(parse_expression("wage / hours"), {"wage": [20.0, 30.0], "hours": [2.0, 0.0]})
    array([10., nan])
    """
    names = [name for name in find_column_names(node) if name in table]
    columns = {name: _encode_column(table[name]) for name in names}
    schema = {**{str(name): ValueType.FIELD for name in table}, **{name: kind for name, (kind, _) in columns.items()}}
    rows = len(next(iter(table.values()))) if len(table) else 0
    values = {name: column for name, (_, column) in columns.items()}
    return evaluate_checked(check_expression(node, schema, expected), values, rows)


def evaluate_checked(checked: Checked, columns: Mapping[str, Array], rows: int) -> Array:
    """Return the value of a checked expression for each of `rows` rows, with the guarantees of `evaluate_expression`.

    Args:
        checked: The expression.
        columns: Values of its columns by name, as this module represents them: see `Array`.
        rows: The number of rows.
    """
    with np.errstate(all="ignore"):  # a warning would reveal a value
        return _Evaluation(columns, rows).evaluate(lower_expression(checked))


class FieldExpression:
    """An expression of the fields of one tuple, which have no declared types.

    Each field is read as the type that the expression needs, like a field of a CSV file.

    Formal guarantees: the value is a function of the named fields of this tuple alone. No value of a field raises an
    error: one that cannot be read as the needed type is NULL.

    Args:
        text: The expression.
        expected: The type of the result; None: the type of the expression.
        argument: Name of the argument, for messages.

    Attributes:
        names: Names of the fields that are read.

    Raises:
        ValueError: the text is no expression, or a type does not fit.

    >>> FieldExpression("age >= 65 AND sex = 'F'", ValueType.TRUTH).evaluate({"age": "70", "sex": "F"})
    1.0
    """

    def __init__(self, text: str, expected: ValueType | None = None, argument: str = "expression") -> None:
        """Parse and check an expression over the untyped fields of a tuple.

        Args:
            text: The expression, in SQL.
            expected: Type of the result; None: the type that the expression has.
            argument: Name of the argument, for messages.
        """
        node = parse_expression(text, argument)
        self.names = find_column_names(node)
        schema = dict.fromkeys(self.names, ValueType.FIELD)
        self._checked = lower_expression(check_expression(node, schema, expected, argument))

    def evaluate(self, fields: Mapping[str, Any]) -> float | str | None:
        """SECRET: return the value of the expression for one tuple.

        Args:
            fields: SECRET. Values of the fields, by name.

        Returns:
            A number (1, 0 for true, false; days for a date), a text, or None if the value is missing.
        """
        with np.errstate(all="ignore"):  # a warning would reveal a value
            (value,) = _FieldEvaluation(fields).evaluate(self._checked).tolist()
        return None if isinstance(value, float) and np.isnan(value) else value


def fold_constants(checked: Checked) -> Checked:
    """Return an equal lowered expression in which each subexpression without a column is replaced by its value.

    Some databases evaluate such a subexpression when they plan a query, even in a branch that no row takes, where it
    could raise an error. Timestamps stay as they are: no operation on them raises one.

    Args:
        checked: The lowered expression.
    """
    folded: dict[int, tuple[Checked, Checked]] = {}

    def fold(part: Checked) -> Checked:
        """Return a subexpression in which operations on literals are replaced by their values; each is folded once, so
        that shared ones stay one object.

        Args:
            part: Subexpression of the lowered expression.
        """
        if id(part) not in folded:
            arguments = tuple(map(fold, part.arguments))
            changed = Checked(part.function, part.type, arguments, part.value) if arguments else part
            folded[id(part)] = part, _fold_literals(changed)
        return folded[id(part)][1]

    return fold(checked)


def _fold_literals(checked: Checked) -> Checked:
    """Compute an operation whose arguments are all literals, and return its value as a literal; return other nodes
    unchanged.

    Args:
        checked: Node whose arguments were folded already.
    """
    is_constant = checked.arguments and all(part.function == "literal" for part in checked.arguments)
    if not is_constant or checked.type is ValueType.MOMENT:
        return checked
    with np.errstate(all="ignore"):
        (value,) = _Evaluation({}, 1).evaluate(checked).tolist()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return Checked("literal", checked.type, value=None)
    return Checked("literal", checked.type, value=bool(value) if checked.type is ValueType.TRUTH else value)


def _encode_column(values: Any) -> tuple[ValueType, Array]:
    """Return the type of a column, from its NumPy dtype, and its values as the evaluation represents them.

    Args:
        values: NumPy array, or list of one type.

    Returns:
        Type, and values as described at `Array`; unreadable texts are None.
    """
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return ValueType.TRUTH, array.astype(np.float64)
    if array.dtype.kind in "iuf":
        return ValueType.NUMBER, array.astype(np.float64)
    if array.dtype.kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        if unit == "D":
            days = array.astype(np.int64)
            return ValueType.DATE, np.where(np.isnat(array), np.nan, days.astype(np.float64))
        return ValueType.MOMENT, array.astype("datetime64[us]").astype(np.int64)
    return ValueType.TEXT, np.array([value if isinstance(value, str) else None for value in array], dtype=object)


class _Evaluation:
    """Evaluation of an expression over the rows of a table; each node is evaluated once."""

    def __init__(self, columns: Mapping[str, Array], rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.values: dict[int, tuple[Checked, Array]] = {}

    def evaluate(self, checked: Checked) -> Array:
        """Return the value of a node in each row, computed once per node.

        Args:
            checked: Node of the expression.

        Returns:
            Array with one entry per row; see `Array`.
        """
        if id(checked) not in self.values:
            self.values[id(checked)] = checked, self._evaluate(checked)
        return self.values[id(checked)][1]

    def read_column(self, checked: Checked) -> Array:
        """Return the values of the column that a node of the syntax tree names, one per row.

        Args:
            checked: Node of a column.

        Returns:
            Array of shape ``(rows,)``, as it was passed to the evaluation.
        """
        return self.columns[str(checked.value)]

    def _evaluate(self, checked: Checked) -> Array:
        """Return the value of a node of the syntax tree in each row.

        Args:
            checked: The node with its type.
        """
        if checked.function == "column":
            return self.read_column(checked)
        if checked.function == "literal":
            return self._fill(checked)
        arguments = [self.evaluate(argument) for argument in checked.arguments]
        kind = checked.arguments[0].type
        if checked.function == "count_periods":
            return _count_periods(arguments[0], int(checked.number))
        if checked.function in {"substr", "starts_with"}:
            return TEXT_FUNCTIONS[checked.function](arguments[0], *(part.value for part in checked.arguments[1:]))
        if checked.function in FUNCTIONS:
            return FUNCTIONS[checked.function](*arguments)
        return SAME_TYPE_FUNCTIONS[checked.function](arguments, kind if checked.function != "case" else checked.type)

    def _fill(self, checked: Checked) -> Array:
        """Return an array that repeats a literal in each row.

        Args:
            checked: The literal with its type.
        """
        value = checked.value
        if checked.type is ValueType.TEXT:
            filled = np.empty(self.rows, dtype=object)
            filled[:] = value
            return filled
        if checked.type is ValueType.MOMENT:
            return np.full(self.rows, NO_MOMENT)
        return np.full(self.rows, np.nan if value is None else float(value))  # type: ignore[arg-type]


class _FieldEvaluation(_Evaluation):
    """Evaluation of an expression for one tuple, whose fields have no declared types; each node is evaluated once."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__({}, 1)
        self._fields = fields

    def read_column(self, checked: Checked) -> Array:
        """Return the value of a field of one tuple, converted to the type that the expression needs.

        Args:
            checked: The column with the type that is needed.

        Returns:
            Array of one value; missing if the field is absent or cannot be read.
        """
        try:
            value = FIELD_READERS[checked.type](self._fields.get(str(checked.value)))
        except Exception:  # an object of the caller may raise anything, and its message may quote a value
            value = None
        if checked.type is not ValueType.TEXT:
            return np.array([np.nan if value is None else value], dtype=np.float64)
        texts = np.empty(1, dtype=object)
        texts[0] = value
        return texts


TRUTH_WORDS = MappingProxyType({"true": 1.0, "false": 0.0})
"""Texts that fields of files are read by as true or false, in any case."""


def _read_field_number(value: Any) -> float | None:
    """Convert the value of an untyped field to a number; texts of numbers and truth values count too. None if that is
    impossible.

    Args:
        value: Value of a field of a tuple.
    """
    if isinstance(value, str):
        truth = TRUTH_WORDS.get(value.lower())
        return float(value) if truth is None else truth
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value)
    return None


def _read_field_truth(value: Any) -> float | None:
    """Convert the value of an untyped field to a truth value: 0 for the number 0, 1 for others; None if the value is no
    number.

    Args:
        value: Value of a field of a tuple.
    """
    number = _read_field_number(value)
    return None if number is None or np.isnan(number) else float(number != 0)


def _read_field_text(value: Any) -> str | None:
    """Convert the value of an untyped field to text; a number gets its shortest decimal form, without ".0"; None for
    other values.

    Args:
        value: Value of a field of a tuple.
    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, str) or value is None:
        return value
    number = _read_field_number(value)
    if number is None or np.isnan(number):
        return None
    return str(value) if isinstance(value, Integral) else str(int(number) if number.is_integer() else number)


def _read_field_days(value: Any) -> float | None:
    """Convert the value of an untyped field to days since 1970-01-01: a date, a time in UTC, or a text as in
    2024-01-31.

    Args:
        value: Value of a field.

    Returns:
        Days, or None for other values and texts.
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        value = (value if value.tzinfo is None else value.astimezone(UTC)).date()
    if isinstance(value, date):
        return float((value - EPOCH).days)
    return _parse_days(value) if isinstance(value, str) else None


FIELD_READERS: Mapping[ValueType, Callable[[Any], float | str | None]] = MappingProxyType({
    ValueType.NUMBER: _read_field_number, ValueType.TRUTH: _read_field_truth, ValueType.TEXT: _read_field_text,
    ValueType.DATE: _read_field_days,
})  # fmt: skip
"""How a field is read as each type; None: it is missing."""


def _is_null(values: Array) -> Array:
    """Evaluate IS NULL in each row: True where a value is missing.

    Args:
        values: Values of a column, (rows,); NULL is None, NaN or `NO_MOMENT`.
    """
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else values == NO_MOMENT


def _finite(values: Array) -> Array:
    """Return the numbers with NULL, which is NaN, in place of infinite ones.

    Args:
        values: Numbers, (rows,).
    """
    return np.where(np.isfinite(values), values, np.nan)


def _round(values: FloatArray) -> Array:
    """Round numbers to whole numbers as SQL does, halves away from zero.

    Args:
        values: Numbers, (rows,); NaN stays.
    """
    whole = np.trunc(values)
    return whole + np.copysign(np.abs(values - whole) >= 0.5, values)


def _and(left: Array, right: Array) -> Array:
    """Evaluate AND in each row by SQL's three-valued logic.

    Args:
        left: 1, 0 or NaN for NULL, in each row.
        right: 1, 0 or NaN, in each row.

    Returns:
        0 where an operand is 0, else NaN where an operand is NaN, else 1.
    """
    return np.where((left == 0) | (right == 0), 0.0, left * right)


def _or(left: Array, right: Array) -> Array:
    """Evaluate OR in each row by SQL's three-valued logic.

    Args:
        left: 1, 0 or NaN for NULL, in each row.
        right: 1, 0 or NaN, in each row.

    Returns:
        1 where an operand is 1, else NaN where an operand is NaN, else 0.
    """
    return np.where((left == 1) | (right == 1), 1.0, np.where(np.isnan(left + right), np.nan, 0.0))


UPPER_LETTERS, LOWER_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
TO_LOWER = str.maketrans(UPPER_LETTERS, LOWER_LETTERS)
"""Translation of `lower`, of the letters in `UPPER_LETTERS` only: engines differ in all other letters."""
TO_UPPER = str.maketrans(LOWER_LETTERS, UPPER_LETTERS)
"""Translation of `upper`, of the letters in `LOWER_LETTERS` only: engines differ in all other letters."""
FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType({
    "add": lambda left, right: _finite(left + right),
    "sub": lambda left, right: _finite(left - right),
    "mul": lambda left, right: _finite(left * right),
    "div": lambda left, right: _finite(left / right),
    "neg": lambda value: _finite(-value),
    "abs": lambda value: _finite(np.abs(value)),
    "round": lambda value: _finite(_round(value)),
    "floor": lambda value: _finite(np.floor(value)),
    "ceil": lambda value: _finite(np.ceil(value)),
    "sqrt": lambda value: _finite(np.sqrt(value)),
    "whole_add": lambda left, right: left + right,
    "whole_sub": lambda left, right: left - right,
    "whole_mul": lambda left, right: left * right,
    "whole_div": lambda left, right: np.floor(left / right),
    "not": lambda value: 1.0 - value,
    "and": _and,
    "or": _or,
    "truth_to_number": lambda value: value,
    "is_null": lambda value: _is_null(value).astype(np.float64),
    "is_not_null": lambda value: (~_is_null(value)).astype(np.float64),
    "lower": lambda value: _map_texts(value, lambda text: text.translate(TO_LOWER)),
    "upper": lambda value: _map_texts(value, lambda text: text.translate(TO_UPPER)),
    "to_number": lambda value: _map_numbers(value, _parse_number),
    "to_date": lambda value: _map_numbers(value, _parse_days),
    "to_moment": lambda value: np.where(
        np.abs(value) <= SAFE_DAYS, np.nan_to_num(value), 0
    ).astype(np.int64) * 86_400_000_000 + np.where(np.abs(value) <= SAFE_DAYS, 0, NO_MOMENT),
})  # fmt: skip
"""Computations in Python of functions whose arguments have one type each, by name; engines must agree with them."""


def _map_texts(values: Array, function: Callable[[str], str]) -> Array:
    """Return the result of `function` for each text, for instance its lower case; missing texts stay missing.

    Args:
        values: Texts, None where missing, (rows,).
        function: Function of a text.
    """
    mapped = np.empty(len(values), dtype=object)
    mapped[:] = [None if value is None else function(value) for value in values]
    return mapped


def _map_numbers(values: Array, function: Callable[[str], float]) -> Array:
    """Return the result of `function` for each text, for instance the number that it spells; NaN for missing ones.

    Args:
        values: Texts, None where missing, (rows,).
        function: Function of a text that returns a number.
    """
    return np.array([np.nan if value is None else function(value) for value in values], dtype=np.float64)


def _parse_number(text: str) -> float:
    """Return the number that a text spells in decimal digits; NaN for any other text.

    Args:
        text: Value of a text column.
    """
    return float(text) if re.fullmatch(DECIMAL_NUMBER, text) and abs(float(text)) < np.inf else np.nan


def _parse_days(text: str) -> float:
    """Return the days since 1970-01-01 of a text as in 2024-01-31; NaN for any other text.

    Args:
        text: Value of a text column.
    """
    day = parse_day(text) if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None
    return np.nan if day is None else float((day - EPOCH).days)


def _substr(values: Array, start: Any, length: Any = None) -> Array:
    """Return parts of texts, counted in code points from 1.

    Args:
        values: Texts, one for each row.
        start: Number of the first code point.
        length: Number of code points; None: up to the end.
    """
    first = int(start) - 1
    last = None if length is None else first + int(length)
    return _map_texts(values, lambda text: text[first:last])


def _starts_with(values: Array, prefix: Any) -> Array:
    """Return 1 for each text that begins with `prefix`, 0 for other texts, and NULL for missing ones.

    Args:
        values: Texts, None where missing, (rows,).
        prefix: Beginning of the texts; case matters.
    """
    return _map_numbers(values, lambda text: float(text.startswith(str(prefix))))


TEXT_FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType({"substr": _substr, "starts_with": _starts_with})
"""Functions of a text with constant parameters, such as a prefix, which are passed as plain Python values."""


def _count_periods(moments: Array, period: int) -> Array:
    """Return the index of the period, `period` microseconds long, in which each timestamp lies.

    Args:
        moments: Microseconds since the beginning of 1970, `NO_MOMENT` where missing, (rows,).
        period: Length of a period, in microseconds.

    Returns:
        Numbers of whole periods since 1970 as doubles, below 0 before, NaN where missing.
    """
    return np.where(moments == NO_MOMENT, np.nan, np.floor_divide(moments, period).astype(np.float64))


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
})  # fmt: skip
"""Comparisons of two arrays or values, by the names of their nodes; rows with a missing operand are handled by the
callers."""


def _compare(name: str, left: Array, right: Array) -> Array:
    """Compare two columns row by row: 1, 0, or NULL where a value is missing.

    Args:
        name: Name of the comparison, such as ``lt``.
        left: Values, (rows,).
        right: Values that they are compared with, (rows,).

    Returns:
        1.0, 0.0 or NaN (NULL), (rows,).
    """
    missing = _is_null(left) | _is_null(right)
    if left.dtype == object:  # code points are ordered as bytes of UTF-8 are
        answers = [
            False if is_missing else _COMPARE[name](first, second)
            for first, second, is_missing in zip(left, right, missing, strict=True)
        ]
        return np.where(missing, np.nan, np.array(answers, dtype=np.float64))
    return np.where(missing, np.nan, _COMPARE[name](left, right))


def _in(arguments: Sequence[Array], kind: ValueType) -> Array:
    """Evaluate IN in each row: 1 where the first argument equals one of the others, else 0 or, by three-valued logic,
    NULL.

    Args:
        arguments: The value, and the values that it is compared with, one array of rows each.
        kind: Type of the arguments; not used.
    """
    value, *listed = arguments
    answer = _compare("eq", value, listed[0])
    for other in listed[1:]:
        answer = _or(answer, _compare("eq", value, other))
    return answer


def _between(arguments: Sequence[Array], kind: ValueType) -> Array:
    """Evaluate BETWEEN in each row: 1 where the first argument is from the second to the third, both included; else 0
    or NULL.

    Args:
        arguments: Value, lower and upper bound, in each row.
        kind: Type of the arguments; not used.
    """
    value, lower, upper = arguments
    return _and(_compare("ge", value, lower), _compare("le", value, upper))


def _coalesce(arguments: Sequence[Array], kind: ValueType) -> Array:
    """Evaluate COALESCE in each row: the first argument that is not missing.

    Args:
        arguments: Values, one array of rows each, in the order of preference.
        kind: Type of the arguments; not used.
    """
    chosen = arguments[0]
    for other in arguments[1:]:
        chosen = np.where(_is_null(chosen), other, chosen)
    return chosen


def _nullif(arguments: Sequence[Array], kind: ValueType) -> Array:
    """Evaluate NULLIF in each row: the first argument, or NULL where both arguments are equal.

    Args:
        arguments: The value, and what it is compared with, in each row.
        kind: Type of the arguments; not used.
    """
    value, other = arguments
    return np.where(_compare("eq", value, other) == 1, _null_of(value), value)


def _case(arguments: Sequence[Array], kind: ValueType) -> Array:
    """Evaluate CASE in each row: the value of the first condition that is true, else the last argument.

    Args:
        arguments: Conditions and values in turn, then the last value; one array of rows each.
        kind: Type of the first argument; not used.
    """
    chosen = arguments[-1]
    for condition, value in reversed(list(zip(arguments[0:-1:2], arguments[1:-1:2], strict=True))):
        chosen = np.where(condition == 1, value, chosen)
    return chosen


def _null_of(values: Array) -> Any:
    """Return the value that stands for NULL in arrays of this type.

    Args:
        values: Array, whose dtype decides.

    Returns:
        None for texts, NaN for numbers, `NO_MOMENT` for timestamps.
    """
    if values.dtype == object:
        return None
    return np.nan if values.dtype.kind == "f" else NO_MOMENT


SAME_TYPE_FUNCTIONS: Mapping[str, Callable[[Sequence[Array], ValueType], Array]] = MappingProxyType({
    **{name: (lambda arguments, kind, name=name: _compare(name, *arguments)) for name in COMPARISONS},  # type: ignore[misc]
    "in": _in,
    "between": _between,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "case": _case,
    "least": lambda arguments, kind: _reduce(np.fmin, arguments),
    "greatest": lambda arguments, kind: _reduce(np.fmax, arguments),
})  # fmt: skip
"""Functions of values of one type, of which there may be several."""


def _reduce(function: Callable[[Array, Array], Array], arguments: Sequence[Array]) -> Array:
    """Combine several arguments by a function of two, from left to right, as ``a AND b AND c`` is ``(a AND b) AND c``.

    Args:
        function: Function of two arrays.
        arguments: At least one array, one entry per row.

    Returns:
        Array of the combined values, (rows,).
    """
    chosen = arguments[0]
    for other in arguments[1:]:
        chosen = function(chosen, other)
    return chosen
