"""Build filters and derived columns in Python, such as ``col("wage") / col("hours")``, instead of SQL text.

    col(name)               a column
    when(condition, a, b)   a CASE expression
    + - * /  < <= == != > >=  & | ~      operators of an `Expression`; the last three are AND, OR and NOT

Each of them returns an `Expression`, whose ``str`` is SQL text. Questions accept it wherever they accept SQL text.
Building an expression touches no records.

>>> print(((col("age") >= 65) & col("sex").is_in(["F"])))
age >= 65 AND sex IN ('F')
>>> (col("wage") / col("hours")).evaluate({"wage": [20.0, 30.0], "hours": [2.0, 0.0]}).tolist()  # no division by zero
[10.0, nan]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, NoReturn, TypeAlias, cast

from numpy.typing import NDArray

from ..arguments import InvalidArgument, WrongArgumentType, require_type
from .syntax import Call, ColumnName, Literal, Node, format_expression, make_number_literal, require_bounded

Operand: TypeAlias = Any
"""An `Expression`, or a number, text, truth value, date or None."""


class Expression:
    """An expression of columns, whose text is SQL.

    Operators and methods return further expressions. Conditions are joined by ``&``, ``|`` and ``~``. Each value is a
    function of one row alone, and no row can raise an error: an undefined value is NULL, which is missing.

    >>> print((col("age") >= 65) & (col("sex") == "F"))
    age >= 65 AND sex = 'F'
    >>> print(col("region").is_in(["north", "south"]) | ~col("region").is_not_null())
    region IN ('north', 'south') OR NOT region IS NOT NULL
    >>> print(col("code").starts_with("I10") & col("age").between(18, 64) & col("died").is_null())
    starts_with(code, 'I10') AND age BETWEEN 18 AND 64 AND died IS NULL
    >>> print(col("bonus").coalesce(0) + col("wage").call("floor"))
    coalesce(bonus, 0) + floor(wage)
    """

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node) -> None:
        """Store the syntax tree of the expression.

        Args:
            node: The syntax tree.

        Raises:
            InvalidArgument: the tree is too large, or has a literal that cannot be stored.
        """
        require_bounded(node, "expression")
        self.node = node

    def __str__(self) -> str:
        """Return the canonical SQL text."""
        return format_expression(self.node)

    def __repr__(self) -> str:
        """Return the class with the SQL text."""
        return f"Expression({str(self)!r})"

    def __bool__(self) -> NoReturn:
        """Refuse use as a truth value: Python would ask for it if conditions were joined by `and` or `or`.

        Raises:
            TypeError: always. The message shows how to write the condition.
        """
        raise WrongArgumentType(
            "expression",
            "and, or and not do not work here; write &, | and ~, with brackets around each condition, as in (a > "
            "1) & (b < 2)",
        )

    def __add__(self, other: Operand) -> Expression:
        """Return the expression ``self + other``."""
        return _call("add", self, other)

    def __radd__(self, other: Operand) -> Expression:
        """Return the expression ``other + self``, where `other` is a Python number."""
        return _call("add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        """Return the expression ``self - other``; of two dates the difference in days."""
        return _call("sub", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        """Return the expression ``other - self``, where `other` is a Python literal."""
        return _call("sub", other, self)

    def __mul__(self, other: Operand) -> Expression:
        """Return the expression ``self * other``."""
        return _call("mul", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        """Return the expression ``other * self``, where `other` is a Python number."""
        return _call("mul", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        """Return the expression ``self / other``, a division of doubles; NULL where `other` is 0."""
        return _call("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        """Return the expression ``other / self``, a division of doubles, where `other` is a Python number; NULL where
        this is 0.
        """
        return _call("div", other, self)

    def __neg__(self) -> Expression:
        """Return the negative value, as an expression."""
        return _call("neg", self)

    def __abs__(self) -> Expression:
        """Return the absolute value, as an expression."""
        return _call("abs", self)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        """Return the expression ``self = other``, which is true in rows where both values are equal."""
        return _call("eq", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        """Return the expression ``self != other``, which is true in rows where both values differ."""
        return _call("ne", self, other)

    def __lt__(self, other: Operand) -> Expression:
        """Return the expression ``self < other``, a condition on each row."""
        return _call("lt", self, other)

    def __le__(self, other: Operand) -> Expression:
        """Return the expression ``self <= other``, a condition on each row."""
        return _call("le", self, other)

    def __gt__(self, other: Operand) -> Expression:
        """Return the expression ``self > other``, a condition on each row."""
        return _call("gt", self, other)

    def __ge__(self, other: Operand) -> Expression:
        """Return the expression ``self >= other``, a condition on each row."""
        return _call("ge", self, other)

    def __and__(self, other: Operand) -> Expression:
        """Return the expression ``self AND other``, which is true in rows where both conditions are true."""
        return _call("and", self, other)

    def __or__(self, other: Operand) -> Expression:
        """Return the expression ``self OR other``, which is true in rows where at least one condition is true."""
        return _call("or", self, other)

    def __invert__(self) -> Expression:
        """Return whether the condition is false, as an expression."""
        return _call("not", self)

    def evaluate(self, table: Mapping[str, Any]) -> NDArray[Any]:
        """Return the value of the expression for each row of a public table.

        For a confidential table, ask a question with this expression instead.

        Args:
            table: Arrays or lists of equal length, by column name; NaN or None is missing.

        Returns:
            One value per row: numbers with NaN for missing ones, 1 and 0 for true and false, or texts.

        >>> (col("wage") / col("hours")).evaluate({"wage": [30.0, 20.0], "hours": [2, 0]})
        array([15., nan])
        """
        from .evaluation import evaluate_expression

        return evaluate_expression(self.node, table)

    def is_null(self) -> Expression:
        """Return an expression that is true where the value is missing."""
        return _call("is_null", self)

    def is_not_null(self) -> Expression:
        """Return an expression that is true where there is a value."""
        return _call("is_not_null", self)

    def is_in(self, values: Iterable[Operand]) -> Expression:
        """Return an expression that is true where the value equals one of `values`.

        Args:
            values: Literals or expressions; any iterable but a text.

        Raises:
            TypeError: `values` is a text.
        """
        if isinstance(values, str | bytes):
            raise WrongArgumentType("values", "a list of values is needed, as in ['north', 'south']")
        return _call("in", self, *values)

    def between(self, lower: Operand, upper: Operand) -> Expression:
        """Return an expression that is true where the value is from `lower` to `upper`, both included."""
        return _call("between", self, lower, upper)

    def call(self, function: str, *arguments: Operand) -> Expression:
        """Return an expression that applies a function of the language to this expression, as in
        ``col("wage").call("ln")``.

        Args:
            function: Name of the function.
            arguments: Further arguments of the function, after this expression.

        Raises:
            ValueError: the language has no function of this name. The message lists the names.
        """
        from .syntax import CALL_FUNCTIONS, CASTS

        if function not in CALL_FUNCTIONS | CASTS.keys():
            raise InvalidArgument("function", f"must be one of {', '.join(sorted(CALL_FUNCTIONS | CASTS.keys()))}")
        return _call(function, self, *arguments)

    def coalesce(self, *others: Operand) -> Expression:
        """Return an expression for the first value among this and `others` that is not missing."""
        return _call("coalesce", self, *others)

    def starts_with(self, prefix: str) -> Expression:
        """Return an expression that is true where the text begins with `prefix`."""
        return _call("starts_with", self, prefix)


def col(name: str) -> Expression:
    """Return the column of this name as an expression.

    Args:
        name: Exact name of the column. Whether a table has it is checked when a question is planned.

    Raises:
        TypeError: `name` is no text.
        ValueError: `name` is empty.

    >>> print(col("wage") / col("hours"))
    wage / hours
    """
    require_type("name", name, str, "the name of a column")
    if not name:
        raise InvalidArgument("name", "the name of a column is needed, as in dp.col('age')")
    return Expression(ColumnName(name))


def when(condition: Expression, value: Operand, otherwise: Operand = None) -> Expression:
    """Return an expression that is `value` where the condition is true, and `otherwise` elsewhere.

    Args:
        condition: A comparison, or a combination of comparisons.
        value: A column, an expression or a literal.
        otherwise: A column, an expression or a literal; None: the value is missing there.

    >>> print(when(col("hours") > 0, col("wage") / col("hours")))
    CASE WHEN hours > 0 THEN wage / hours ELSE NULL END
    """
    return _call("case", condition, value, otherwise)


def _call(function: str, *operands: object) -> Expression:
    """Return the expression that applies an SQL function or operator to operands.

    Args:
        function: Name of the function, as in `syntax.FUNCTION_NAMES`.
        operands: Expressions or Python literals. The negative of a number literal becomes a single literal.

    Raises:
        WrongArgumentType: an operand is neither an expression nor a literal.
        InvalidArgument: the expression becomes too large, or a literal cannot be stored.
    """
    nodes = tuple(map(_to_node, operands))
    if function == "neg" and isinstance(nodes[0], Literal) and isinstance(nodes[0].value, float):
        return Expression(Literal(-nodes[0].value))
    return Expression(Call(function, nodes))


def _to_node(operand: object) -> Node:
    """Return the syntax node of an expression, or of a Python or NumPy scalar.

    Args:
        operand: An `Expression`, or a number, text, truth value, date or None.

    Raises:
        WrongArgumentType: the operand is something else.
        InvalidArgument: the operand is a date with a time, or a whole number that no double equals.
    """
    if isinstance(operand, Expression):
        return operand.node
    if getattr(operand, "ndim", None) == 0:
        operand = cast("Any", operand).item()  # NumPy's scalars
    if isinstance(operand, datetime):  # also timestamps of pandas, and its NaT
        raise InvalidArgument("expression", "a date without a time is needed, as in date(2024, 1, 31)")
    if isinstance(operand, bool | str | date) or operand is None:
        return Literal(operand)
    if isinstance(operand, int):
        longest_double = 1024  # bits of a whole number that a double can hold
        text = str(operand) if operand.bit_length() <= longest_double else "1e999"  # refused as no finite double
        return make_number_literal(text, "expression")
    if isinstance(operand, float):
        return Literal(operand)
    raise WrongArgumentType(
        "expression", "a column, a number, a text, a date or None is needed, as in dp.col('age') > 65"
    )
