"""Spark SQL for expressions of columns: derived columns and row filters, computed by Spark without errors.

    add_expressions        data frame, expressions such as ``ln(wage) / 2`` -> data frame with a column for each
    DerivingFrame          a data frame with derived columns and a row filter
    SparkDerivedColumns    columns of a data frame and columns derived from them, by position
    are_values_equal       checks on public rows that Spark computes an expression as NumPy does, bit by bit

An error would reveal the row that caused it. So no operation raises one, not even in ANSI mode; the value is NULL.

Formal guarantees: rows are mapped one by one, so neighbouring tables stay neighbouring or become equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcurves.expressions import (
    DECIMAL_NUMBER,
    SAFE_DAYS,
    Checked,
    LayeredCompiler,
    ValueType,
    evaluate_checked,
    fold_constants,
    lower_expression,
)
from dpcurves.expressions.evaluation import LOWER_LETTERS, UPPER_LETTERS
from dpcurves.records.engines.derived_columns import DerivedSchema
from dpcurves.records.source import DATE, Column, ColumnKind, find_column

from .spark_sql import double_literal, make_column, quote_identifier, text_literal

SQL_TYPES = MappingProxyType({
    ValueType.NUMBER: "DOUBLE", ValueType.DATE: "DOUBLE", ValueType.TEXT: "STRING", ValueType.TRUTH: "BOOLEAN",
    ValueType.MOMENT: "BIGINT",
})  # fmt: skip
"""Spark's types of values: dates are days since 1970-01-01, timestamps microseconds since 1970."""
PUSHDOWN_BARRIER = "spark_partition_id() >= 0"
"""Always true. Spark moves no condition below a projection with a function that depends on the partition. A condition
that moved would repeat each part in it as often as it is used: exponentially often in the number of layers."""


def add_expressions(
    rows: Any, expressions: Sequence[tuple[str, Checked]], read_column: Callable[[str, ValueType], str]
) -> Any:
    """Return a data frame with the columns of `rows` and a column for each expression.

    Values equal the results of `evaluate_checked`, bit by bit.

    Formal guarantees: no operation of the SQL raises an error for any row, not even in ANSI mode, and none reads
    another row.

    Args:
        rows: A data frame.
        expressions: Column names and expressions.
        read_column: Function of a column name and a type that returns the SQL of the value in `rows`: NULL if missing.
    """
    compiler = _SparkCompiler(read_column)
    results = [(name, compiler.compile(fold_constants(lower_expression(checked)))) for name, checked in expressions]
    for definitions in compiler.layers:
        rows = rows.selectExpr("*", *(f"{sql} AS {name}" for name, sql in definitions))
    return rows.selectExpr(
        "*", *(f"CASE WHEN {PUSHDOWN_BARRIER} THEN {value} END AS {name}" for name, value in results)
    )


class _SparkCompiler(LayeredCompiler):
    """Compiles a lowered expression to Spark SQL, in layers of projections."""

    def write_literal(self, checked: Checked) -> str:
        """Return the SQL of a public constant, which depends on no setting of the session.

        Args:
            checked: The constant, with its type; None as value: a NULL of this type.
        """
        value = checked.value
        if value is None:
            return f"CAST(NULL AS {SQL_TYPES[checked.type]})"
        if isinstance(value, bool):
            return str(value).lower()
        return text_literal(value) if isinstance(value, str) else double_literal(float(value))  # type: ignore[arg-type]

    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return the Spark SQL of one operation.

        Args:
            checked: The operation, a key of `TEMPLATES`, with its constant parameter.
            arguments: SQL of its operands.
        """
        if checked.function == "count_periods":
            period = int(checked.number)
            moment = arguments[0]
            return (  # the whole quotient, rounded down, without overflow
                f"CAST(CASE WHEN {moment} >= 0 THEN {moment} div {period} "
                f"ELSE -1 - ((-1 - {moment}) div {period}) END AS DOUBLE)"
            )
        return TEMPLATES[checked.function].format(*arguments)


INFINITE = "CAST('Infinity' AS DOUBLE)"
"""SQL of positive infinity, which no operation may return: such a value is NULL, so missing."""
_FRACTIONAL = f"CASE WHEN abs({{0}}) < {double_literal(2.0**52)} THEN %s END"
"""A value where it may have a fraction, else NULL: Spark's floor and ceil return integers of 64 bits."""
_WHOLE_SIZE = f"CAST(floor({_FRACTIONAL % 'abs({0})'}) AS DOUBLE)"
"""SQL of the absolute value rounded down to a whole number; NULL from 2**52, where doubles have no fraction."""


def _match_all(pattern: str) -> str:
    r"""Return the SQL literal of a regular expression that must match a whole text.

    ``\A`` and ``\z`` do so even if the text ends with a new line. Braces are doubled for `str.format`.

    Args:
        pattern: Regular expression of Java.
    """
    return text_literal(rf"\A(?:{pattern})\z")


def _finite(operation: str) -> str:
    """Return SQL of an operation on doubles whose value is NULL where it is infinite or NaN.

    Args:
        operation: SQL of the operation.
    """
    return f"CASE WHEN abs({operation}) < {INFINITE} THEN {operation} END"


TEMPLATES: Mapping[str, str] = MappingProxyType({
    **{name: _finite(operation) for name, operation in {
        "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})",
        # A division by zero is an error in ANSI mode.
        "div": f"({{0}} / CASE WHEN {{1}} = {double_literal(0.0)} THEN NULL ELSE {{1}} END)",
        "neg": "(-{0})", "abs": "abs({0})",
        "floor": f"coalesce(CAST(floor({_FRACTIONAL % '{0}'}) AS DOUBLE), {{0}})",
        "ceil": f"coalesce(CAST(ceil({_FRACTIONAL % '{0}'}) AS DOUBLE), {{0}})",
        # Halves are rounded away from zero.
        "round": (
            f"coalesce(({_WHOLE_SIZE} + CASE WHEN abs({{0}}) - {_WHOLE_SIZE} >= {double_literal(0.5)} "
            f"THEN {double_literal(1.0)} ELSE {double_literal(0.0)} END) * sign({{0}}), {{0}})"
        ),
        "sqrt": f"sqrt(CASE WHEN {{0}} >= {double_literal(0.0)} THEN {{0}} END)",
    }.items()},
    "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "whole_div": "CAST(floor({0} / {1}) AS DOUBLE)",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)",
    "between": "({0} BETWEEN {1} AND {2})",
    "starts_with": "startswith({0}, {1})",
    "nullif": "CASE WHEN {0} = {1} THEN NULL ELSE {0} END",
    "truth_to_number": "CAST(CAST({0} AS INT) AS DOUBLE)",
    "to_moment": f"CAST(CASE WHEN abs({{0}}) <= {double_literal(SAFE_DAYS)} THEN {{0}} END AS BIGINT) * 86400000000",
    "lower": f"translate({{0}}, '{UPPER_LETTERS}', '{LOWER_LETTERS}')",
    "upper": f"translate({{0}}, '{LOWER_LETTERS}', '{UPPER_LETTERS}')",
    "to_number": _finite(f"TRY_CAST(CASE WHEN {{0}} RLIKE {_match_all(DECIMAL_NUMBER)} THEN {{0}} END AS DOUBLE)"),
    "to_date": (
        f"CAST(datediff(TRY_CAST(CASE WHEN {{0}} RLIKE {_match_all('[0-9]{4}-[0-9]{2}-[0-9]{2}')} "
        "AND NOT startswith({0}, '0000') THEN {0} END AS DATE), DATE'1970-01-01') AS DOUBLE)"
    ),
})  # fmt: skip
"""SQL of functions, by the names of their nodes; `{0}`, `{1}` and `{2}` are names or literals. No value of a row makes
it fail."""


class SparkDerivedColumns(DerivedSchema):
    """The columns of a data frame, and the columns that Spark derives from them."""

    def describe_column(self, text: str, kind: ValueType) -> Column:
        """Return a derived column, with the SQL by which Spark reads its values.

        Args:
            text: The expression, which is the column's name.
            kind: Type of its values.
        """
        if kind is ValueType.DATE:
            return Column(text, ColumnKind.TIMES, "CAST(NULL AS DOUBLE)", "{0}", elapsed_time="{0}", time=DATE)
        return make_column(text, SQL_TYPES[kind].lower())

    def read_column(self, name: str, kind: ValueType) -> str:
        """Return the Spark SQL of a column of the data frame; NULL where the value is missing.

        Args:
            name: Name of the column.
            kind: Type that an expression needs: dates in days and timestamps in microseconds since 1970.
        """
        position = find_column(name, self.columns)
        column = self.columns[position]
        value = f"c{position}"
        match kind:
            case ValueType.NUMBER:
                number = column.number.format(value)
                return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"
            case ValueType.TRUTH:
                return value
            case ValueType.MOMENT:
                return f"unix_micros({value})"
            case ValueType.DATE:
                return str(column.elapsed_time).format(value)
        return column.text.format(value)


@dataclass(frozen=True, slots=True, repr=False)
class DerivingFrame:
    """A data frame with derived columns and a row filter.

    Formal guarantees: the rows of `select_rows` are a row-wise function of the rows of the frame, so neighbouring
    tables stay neighbouring or become equal.

    Attributes:
        frame: SENSITIVE. The data frame.
        derived: The derived columns; several frames may share them.
        condition: Position of the column that holds the filter's condition; None: no filter.
        keeps_failing_rows: Whether rows that fail the filter stay in the table, with all values missing. False: they
            are left out.
    """

    frame: Any = field(repr=False)
    derived: SparkDerivedColumns
    condition: int | None = None
    keeps_failing_rows: bool = False

    @property
    def passes(self) -> str:
        """Name of the column that is true for rows that pass the filter; empty if all selected rows pass."""
        return "passes" if self.condition is not None and self.keeps_failing_rows else ""

    def quote_name(self, index: int) -> str:
        """Return the name of a column of the frame, by position, in backticks.

        Args:
            index: Position of the column among the schema's and the derived columns.
        """
        return quote_identifier(self.derived.columns[index].name)

    def select_rows(self, places: Sequence[int], others: Mapping[str, str] = MappingProxyType({})) -> Any:
        """Return the filtered rows as a data frame, with columns ``c<index>``, the columns `others`, and perhaps
        ``passes``.

        Args:
            places: Positions of columns of the frame, or of derived columns.
            others: SQL over the names of the frame, by column name. Rows that fail the filter keep these values.
        """
        condition = [] if self.condition is None else [self.condition]
        inputs = self.derived.find_inputs([*places, *condition])
        named = [*(f"{self.quote_name(index)} AS c{index}" for index in inputs)]
        rows = self.frame.selectExpr(*named, *(f"{sql} AS {name}" for name, sql in others.items()), "0 AS no_column")
        derived = self.derived.find_derived([*places, *condition])
        if derived:
            expressions = [(f"c{position}", checked) for position, checked in derived]
            rows = add_expressions(rows, expressions, self.derived.read_column)
        if self.condition is not None and not self.keeps_failing_rows:
            rows = rows.where(f"c{self.condition}")
        if not self.passes:
            return rows.selectExpr(*(f"c{place}" for place in places), *others)
        values = [f"CASE WHEN c{self.condition} THEN c{place} END AS c{place}" for place in places]
        return rows.selectExpr(*values, *others, f"c{self.condition} AS passes")


# Conformance check of expressions on public rows.
PUBLIC_VALUES: Mapping[ValueType, Sequence[Any]] = MappingProxyType({
    ValueType.NUMBER: (
        0.0, -0.0, 0.5, -0.5, 1.0, 1.5, -2.5, 0.49999999999999994, 3.0, 65.0, 1e308, -1e308, 5e-324, 2.0**52, 2.0**53,
        4503599627370495.5, -(2.0**63), 2.0**64, np.inf, -np.inf, None, 0.1, 1 / 3,
    ),
    ValueType.TEXT: (
        None, "", "a", "A", "north", "F", "M\u00fcnchen", "\u00c4\u00d6", "12", "-1.5e3", "1e400", "+5", " 5", "5\n",
        "0x10", "2024-02-30", "2024-02-29", "2024-02-29\n", "0000-01-01", "0001-01-01", "9999-12-31", "\U0001f600x",
    ),
    ValueType.TRUTH: (True, False, None),
    ValueType.DATE: (0.0, -1.0, 18_321.0, 19_782.0, -719_162.0, 2_932_896.0, 58.0, 59.0, 60.0, None, 365.0),
    ValueType.MOMENT: (0, -1, 1, 86_400_000_000, -86_400_000_001, 1_700_000_000_123_456, None, -(2**62)),
})  # fmt: skip
"""Values that engines get wrong, by type: days and microseconds since 1970 for dates and timestamps. An expression that
the server evaluates otherwise on them than dpcurves is refused."""


def are_values_equal(session: Any, checked: Checked) -> bool:
    """Return whether Spark evaluates an expression, and each part of it, as NumPy does on public rows.

    The query is planned and run once. So a server that cannot plan it fails before anything is charged.

    Args:
        session: The Spark session.
        checked: The expression.
    """
    import pyarrow as pa

    parts = [part for part in dict.fromkeys(_walk_parts(checked)) if part.type is not ValueType.MOMENT]
    read = [part for part in _walk_parts(checked) if part.function == "column"]
    columns = list(dict.fromkeys((str(part.value), part.type) for part in read))
    row_numbers = np.arange(64)
    steps = (1, 5, 7, 11, 13)  # rows; strides that combine the values of columns
    arrays = {"row": pa.array(row_numbers)}
    values = {}
    types = {"DOUBLE": pa.float64(), "STRING": pa.string(), "BOOLEAN": pa.bool_(), "BIGINT": pa.int64()}
    for index, (name, kind) in enumerate(columns):
        chosen = PUBLIC_VALUES[kind]
        strided = row_numbers * steps[index % len(steps)] + index
        sent = [chosen[number % len(chosen)] for number in strided.tolist()]
        arrays[f"p{index}"] = pa.array(sent, type=types[SQL_TYPES[kind]])
        values[name] = _encode_values(sent, kind)
    places = {column: f"p{index}" for index, column in enumerate(columns)}
    rows = session.createDataFrame(pa.table(arrays))
    names = [f"e{index}" for index in range(len(parts))]
    evaluated = add_expressions(rows, list(zip(names, parts, strict=True)), lambda name, kind: places[name, kind])
    # The condition of a filter is planned as well; here it is true for all rows.
    table = evaluated.where("e0 IS NULL OR e0 = e0").selectExpr("row", *names).toArrow().sort_by("row")
    return len(table) == len(row_numbers) and all(
        _are_equal(table.column(name).to_pylist(), evaluate_checked(part, values, len(row_numbers)), part.type)
        for name, part in zip(names, parts, strict=True)
    )


def _walk_parts(checked: Checked) -> Iterator[Checked]:
    """Yield an expression and all its subexpressions.

    Args:
        checked: Expression whose types are known.

    Yields:
        The expression itself first, then its arguments from left to right, each with its own.
    """
    yield checked
    for argument in checked.arguments:
        yield from _walk_parts(argument)


def _are_equal(received: Sequence[Any], expected: Any, kind: ValueType) -> bool:
    """Return whether values returned by Spark equal the results of `evaluate_checked`, bit by bit; NaN equals NaN.

    Args:
        received: Values from Spark, None where NULL.
        expected: Array of `evaluate_checked`.
        kind: Type of the values.
    """
    if kind is ValueType.TEXT:
        return received == list(expected)
    return bool(np.array_equal(_encode_values(received, kind), expected, equal_nan=True))


def _encode_values(values: Sequence[Any], kind: ValueType) -> Any:
    """Return Python values as a NumPy array in the form that `evaluate_checked` accepts.

    Args:
        values: Values, None where missing.
        kind: Their type. Missing texts stay None, missing timestamps become the least integer, other missing values
            NaN.
    """
    if kind is ValueType.TEXT:
        return np.array(values, dtype=object)
    if kind is ValueType.MOMENT:
        return np.array([np.iinfo(np.int64).min if value is None else value for value in values])
    return np.array([np.nan if value is None else float(value) for value in values])
