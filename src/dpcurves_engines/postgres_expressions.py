"""PostgreSQL SQL for expressions of columns: derived columns and row filters, computed by the database without errors.

    build_postgres_sql        expressions such as ``ln(wage) / 2`` -> FROM clause with a column for each
    DerivingTable             a table with derived columns and a row filter
    PostgresDerivedColumns    columns of a table and columns derived from them, by position
    TEMPLATES                 SQL of each function of expressions

An error message of the database would reveal the row that caused it, so no operation may raise one. PostgreSQL raises
errors in casts, and where a double overflows or underflows. Each of these operations is computed only where its
operands allow it; elsewhere the value is NULL, as in `evaluate_checked`.

Formal guarantees: rows are mapped one by one, so neighbouring tables stay neighbouring or become equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dpcurves.expressions import (
    DECIMAL_NUMBER,
    SAFE_DAYS,
    Checked,
    LayeredCompiler,
    ValueType,
    fold_constants,
    lower_expression,
)
from dpcurves.expressions.evaluation import LOWER_LETTERS, UPPER_LETTERS
from dpcurves.records.engines.derived_columns import DerivedSchema
from dpcurves.records.source import DATE, Column, ColumnKind, find_column
from dpcurves.records.value_names import ValueType as StoredType

from .postgres_sql import DECIMAL_BOUNDS, OPTIMISER_FENCE, TIMESTAMP, TIMESTAMP_IN_ZONE, Table, double_literal

SQL_TYPES = MappingProxyType({
    ValueType.NUMBER: "float8", ValueType.DATE: "float8", ValueType.TEXT: "text", ValueType.TRUTH: "boolean",
    ValueType.MOMENT: "int8",
})  # fmt: skip
"""PostgreSQL's types of values: dates are days since 1970-01-01, timestamps microseconds since 1970."""


def build_postgres_sql(
    rows: str, expressions: Sequence[tuple[str, Checked]], read_column: Callable[[str, ValueType], str]
) -> str:
    """Return a FROM clause with the columns of some rows and a column for each expression.

    Values equal the results of `evaluate_expression`, bit by bit.

    Formal guarantees: no operation of the SQL raises an error for any row, and none reads another row. Operations that
    PostgreSQL may refuse are in a branch of CASE whose condition on the same row excludes the refusal.

    Args:
        rows: FROM clause of the rows.
        expressions: Column names and expressions.
        read_column: Function of a column name and a type that returns the SQL of the value in `rows`: NULL if missing.
    """
    compiler = _PostgresCompiler(read_column)
    results = [(name, compiler.compile(fold_constants(lower_expression(checked)))) for name, checked in expressions]
    for number, definitions in enumerate(compiler.layers):
        # Without the barrier the planner would merge the layers, and write each part as often as it is used.
        columns = ", ".join(f"{sql} AS {name}" for name, sql in definitions)
        rows = f"(SELECT *, {columns} FROM {rows} {OPTIMISER_FENCE}) AS layer{number}"
    return f"(SELECT *, {', '.join(f'{value} AS {name}' for name, value in results)} FROM {rows}) AS evaluated"


class _PostgresCompiler(LayeredCompiler):
    """Compiles a lowered expression to PostgreSQL SQL, in layers of subqueries."""

    def write_literal(self, checked: Checked) -> str:
        """Return the SQL of a public constant. It does not depend on settings of the server.

        Args:
            checked: The constant, with its type; None as value: a NULL of this type.
        """
        value = checked.value
        if value is None:
            return f"NULL::{SQL_TYPES[checked.type]}"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return f"(convert_from(decode('{value.encode().hex()}', 'hex'), 'UTF8') COLLATE \"C\")"
        return double_literal(float(value))  # type: ignore[arg-type]

    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return the SQL of one operation.

        Args:
            checked: The operation, a key of `TEMPLATES`, with its constant parameter.
            arguments: SQL of its operands.
        """
        if checked.function == "count_periods":
            period = int(checked.number)
            moment = arguments[0]
            return (  # the whole quotient, rounded down, without overflow
                f"(CASE WHEN {moment} >= 0 THEN {moment} / {period} ELSE -1 - (-1 - {moment}) / {period} END)::float8"
            )
        return TEMPLATES[checked.function].format(*arguments)


def _power(exponent: int) -> str:
    """Return the SQL of 2 to the power of `exponent`, as a double.

    Args:
        exponent: Integer exponent, which may be negative.
    """
    return double_literal(2.0**exponent)


# SQL of arithmetic that never overflows or underflows, as PostgreSQL raises errors then: operands are compared first.
INFINITE = "'Infinity'::float8"
"""SQL of positive infinity, which no operation may return: such a value is NULL, so missing."""
_ADD = (
    # If one is below 2**900, the sum rounds to a finite number. Else quarters of both are exact, and so is their sum's
    # rounding, four times smaller.
    f"CASE WHEN abs({{0}}) = {INFINITE} OR abs({{1}}) = {INFINITE} THEN NULL "
    # PostgreSQL computes parts of literals while it plans, in all branches up to one that is always taken: for a small
    # literal that is the branch below, so that a quarter of it, which may round to 0, is not computed.
    f"WHEN abs({{0}}) < {_power(900)} OR abs({{1}}) < {_power(900)} THEN {{0}} %s {{1}} "
    f"WHEN abs({{0}} * 0.25::float8 %s {{1}} * 0.25::float8) < {_power(1022)} THEN {{0}} %s {{1}} END"
)
"""SQL of a sum or difference (``%s`` is the sign); NULL if it is infinite."""
_MULTIPLY = (
    "CASE WHEN {0} IS NULL OR {1} IS NULL "
    f"OR abs({{0}}) = {INFINITE} OR abs({{1}}) = {INFINITE} THEN NULL WHEN {{0}} = 0 OR {{1}} = 0 THEN {{0}} * {{1}} "
    # Two large ones overflow if the product, scaled by 2**-1024, rounds to 1 or more.
    f"WHEN abs({{0}}) >= 1 AND abs({{1}}) >= 1 THEN CASE WHEN (abs({{0}}) * {_power(-512)}) * (abs({{1}}) * "
    f"{_power(-512)}) < 1 THEN {{0}} * {{1}} END WHEN abs({{0}}) >= 1 OR abs({{1}}) >= 1 THEN {{0}} * {{1}} "
    # Two small ones round to 0 up to 2**-1075: the product is compared after scaling small factors by 2**574.
    f"WHEN abs({{0}}) < {_power(-500)} AND abs({{1}}) < {_power(-500)} THEN CASE WHEN (abs({{0}}) * {_power(574)}) * "
    f"(abs({{1}}) * {_power(574)}) > {_power(73)} THEN {{0}} * {{1}} ELSE 0 END "
    f"WHEN abs({{0}}) < {_power(-500)} THEN CASE WHEN (abs({{0}}) * {_power(574)}) * abs({{1}}) > {_power(-501)} "
    "THEN {0} * {1} ELSE 0 END "
    f"WHEN abs({{1}}) < {_power(-500)} THEN CASE WHEN (abs({{1}}) * {_power(574)}) * abs({{0}}) > {_power(-501)} "
    "THEN {0} * {1} ELSE 0 END ELSE {0} * {1} END"
)
"""SQL of a product; NULL if it is infinite, 0 if it is too small for a double."""
_DIVIDE = (
    f"CASE WHEN {{1}} = 0 OR abs({{0}}) = {INFINITE} THEN NULL WHEN abs({{1}}) = {INFINITE} THEN {{0}} * 0::float8 "
    # The quotient, scaled by 2**-1074, is finite; it overflows if that rounds to 2**-50 or more.
    f"WHEN abs({{1}}) < 1 AND (abs({{0}}) >= 1 OR (abs({{1}}) < {_power(-500)} AND abs({{0}}) >= {_power(-100)})) "
    f"THEN CASE WHEN (abs({{0}}) * {_power(-537)}) / (abs({{1}}) * {_power(537)}) < {_power(-50)} THEN {{0}} / {{1}} "
    "END "
    # Scaled by 2**1074, it rounds to 0 up to a half.
    f"WHEN abs({{0}}) < 1 AND abs({{1}}) >= 1 AND (abs({{0}}) < {_power(-500)} OR abs({{1}}) > {_power(500)}) "
    f"THEN CASE WHEN {{0}} = 0 OR (abs({{0}}) * {_power(537)}) / (abs({{1}}) * {_power(-537)}) > 0.5::float8 "
    "THEN {0} / {1} ELSE 0 END ELSE {0} / {1} END"
)
"""SQL of a quotient; NULL if it is infinite or the divisor is 0, 0 if it is too small for a double."""
_FINITE = f"CASE WHEN abs({{{{0}}}}) < {INFINITE} THEN {{}} END"
"""SQL of an operation, NULL where an operand is infinite; braces are doubled because `str.format` is applied twice."""
_DAY = "substr({0}, 9, 2)"
"""SQL of the day of the month in a text such as 2024-01-31, as a text of two digits."""
_MONTH = "substr({0}, 6, 2)"
"""SQL of the month in a text such as 2024-01-31, as a text of two digits."""
_YEAR = "substr({0}, 1, 4)::int"
"""SQL of the year in a text such as 2024-01-31, as a number."""
_LAST_DAY = (
    f"CASE WHEN {_MONTH} IN ('04', '06', '09', '11') THEN '30' WHEN {_MONTH} <> '02' THEN '31' "
    f"WHEN {_YEAR} % 4 = 0 AND ({_YEAR} % 100 <> 0 OR {_YEAR} % 400 = 0) THEN '29' ELSE '28' END"
)
"""SQL of the last day of the month in a text such as 2024-01-31, as a text; a later day is no date, so the value is
NULL."""
TEMPLATES: Mapping[str, str] = MappingProxyType({
    "add": _ADD.replace("%s", "+"), "sub": _ADD.replace("%s", "-"), "mul": _MULTIPLY, "div": _DIVIDE,
    **{name: _FINITE.format(value) for name, value in {
        "neg": "(-{0})", "abs": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})",
        # PostgreSQL rounds halves to even, expressions away from zero.
        "round": "trunc({0}) + CASE WHEN abs({0} - trunc({0})) >= 0.5::float8 THEN sign({0}) ELSE 0 END",
    }.items()},
    "sqrt": f"CASE WHEN {{0}} >= 0 AND {{0}} < {INFINITE} THEN sqrt({{0}}) END",
    "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "whole_div": "floor({0} / {1})",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)",
    "between": "({0} BETWEEN {1} AND {2})",
    "starts_with": "starts_with({0}, {1})",
    "nullif": "CASE WHEN {0} = {1} THEN NULL ELSE {0} END",
    "truth_to_number": "{0}::int::float8",
    "to_moment": f"(CASE WHEN abs({{0}}) <= {SAFE_DAYS} THEN {{0}} END)::int8 * 86400000000",
    "lower": f"translate({{0}}, '{UPPER_LETTERS}', '{LOWER_LETTERS}')",
    "upper": f"translate({{0}}, '{LOWER_LETTERS}', '{UPPER_LETTERS}')",
    "to_number": (
        f"CASE WHEN {{0}} ~ '^{DECIMAL_NUMBER.replace('{', '{{').replace('}', '}}')}$' THEN "
        f"CASE WHEN abs({{0}}::numeric) >= {DECIMAL_BOUNDS[1]} THEN NULL WHEN abs({{0}}::numeric) <= "
        f"{DECIMAL_BOUNDS[0]} THEN 0 ELSE {{0}}::float8 END END"
    ),
    "to_date": (
        "CASE WHEN {0} ~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}$' AND NOT starts_with({0}, '0000') THEN "
        f"CASE WHEN {_MONTH} BETWEEN '01' AND '12' AND {_DAY} BETWEEN '01' AND {_LAST_DAY} THEN "
        f"(make_date({_YEAR}, {_MONTH}::int, {_DAY}::int) - make_date(1970, 1, 1))::float8 END END"
    ),
})  # fmt: skip
"""SQL of functions, by the names of their nodes; `{0}`, `{1}` and `{2}` are names or literals. No value of a row makes
it fail."""
_IN_UTC = MappingProxyType({TIMESTAMP: "{0}", TIMESTAMP_IN_ZONE: "({0} AT TIME ZONE 'UTC')"})
"""SQL of a timestamp's date and time in UTC, by the type's number: one with a time zone is converted, one without is
taken as UTC."""
# By whole days, because seconds as a double would lose microseconds before PostgreSQL 14. Up to day 106,751,990 since
# 1970, microseconds fit 64 bits, also at the end of the day.
_MICROSECONDS = (
    "CASE WHEN isfinite({0}) THEN CASE WHEN abs({1}::date - make_date(1970, 1, 1)) <= "
    "106751990 THEN ({1}::date - make_date(1970, 1, 1))::int8 * 86400000000 + date_part('hour', {1})::int8 * "
    "3600000000 + date_part('minute', {1})::int8 * 60000000 + date_part('microseconds', {1})::int8 END END"
)
"""SQL of microseconds since 1970; NULL, so missing, for infinite timestamps and beyond 64 bits."""


class PostgresDerivedColumns(DerivedSchema):
    """The columns of a PostgreSQL table, and the columns that the database derives from them."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.columns)
        self._types = table.types

    def describe_column(self, text: str, kind: ValueType) -> Column:
        """Return a derived column, with the SQL by which PostgreSQL reads its values.

        Args:
            text: The expression, which is the column's name.
            kind: Type of its values.
        """
        match kind:
            case ValueType.TEXT:
                return Column(text, ColumnKind.TEXT, "NULL::float8", "{0}")
            case ValueType.TRUTH:
                return Column(
                    text, ColumnKind.NUMBERS, "{0}::int::float8", "{0}::text",
                    declared_value_type=StoredType.TRUTH, declared_type="boolean",
                )  # fmt: skip
            case ValueType.DATE:
                return Column(text, ColumnKind.TIMES, "NULL::float8", "{0}::text", elapsed_time="{0}", time=DATE)
        return Column(
            text, ColumnKind.NUMBERS, "{0}", "{0}::text",
            declared_value_type=StoredType.DOUBLE, declared_type="double precision",
        )  # fmt: skip

    def read_column(self, name: str, kind: ValueType) -> str:
        """Return the SQL of a stored value; NULL if it is missing.

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
                return f"CASE WHEN {number} <> 'NaN'::float8 THEN {number} END"
            case ValueType.TRUTH:
                return value
            case ValueType.MOMENT:
                return _MICROSECONDS.format(value, _IN_UTC[self._types[position]].format(value))
            case ValueType.DATE:
                return (column.elapsed_time or "NULL::float8").format(value)
        return f"({column.text.format(value)})"


@dataclass(frozen=True, slots=True, repr=False)
class DerivingTable(Table):
    """A PostgreSQL table with derived columns and a row filter.

    Formal guarantees: the rows of `scan_sql` are a row-wise function of the rows of the table, so neighbouring tables
    stay neighbouring or become equal.

    Attributes:
        derived: The derived columns; several tables may share them.
        condition: Position of the column that holds the filter's condition; None: no filter.
        keeps_failing_rows: Whether rows that fail the filter stay in the table, with all values missing. False: they
            are left out.
    """

    derived: PostgresDerivedColumns
    condition: int | None = None
    keeps_failing_rows: bool = False

    @classmethod
    def from_table(cls, table: Table) -> DerivingTable:
        """Return a server's table as one that accepts a filter and derived columns, still without either.

        Args:
            table: The table with its columns.
        """
        facts = (table.name, table.oid, table.columns, table.quoted_names, table.types)
        return cls(*facts, PostgresDerivedColumns(table))

    @property
    def passes(self) -> str:
        """Name of the column that is true for rows that pass the filter; empty if all scanned rows pass."""
        return "passes" if self.condition is not None and self.keeps_failing_rows else ""

    def scan_sql(self, places: Sequence[int], unit: int | None = None) -> str:
        """Return a FROM clause of the table's rows with the columns at these positions, named ``c<index>``.

        Rows that fail the filter are left out. With `keeps_failing_rows` they stay, with NULL values, and a column
        ``passes`` marks the others.

        Args:
            places: Positions of the columns, stored or derived.
            unit: Position of the column that identifies a unit, which becomes the column ``unit``; None: no such
                column.
        """
        condition = [] if self.condition is None else [self.condition]
        inputs = self.derived.find_inputs([*places, *condition])
        rows = super(DerivingTable, self).scan_sql(inputs or [0], unit)
        derived = self.derived.find_derived([*places, *condition])
        if derived:
            expressions = [(f"c{position}", checked) for position, checked in derived]
            rows = build_postgres_sql(rows, expressions, self.derived.read_column)
        if self.condition is None:
            return rows
        kept_unit = ["unit"] if unit is not None else []
        passes = f"c{self.condition}"
        if not self.keeps_failing_rows:
            names = ", ".join([*(f"c{place}" for place in places), *kept_unit]) or "1"
            return f"(SELECT {names} FROM {rows} WHERE {passes}) AS filtered"
        values = [f"CASE WHEN {passes} THEN c{place} END AS c{place}" for place in places]
        return f"(SELECT {', '.join([*values, *kept_unit, f'{passes} AS passes'])} FROM {rows}) AS filtered"
