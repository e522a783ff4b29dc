"""Compile checked expressions to DuckDB SQL whose values equal the Python `evaluation` to the last bit.

`build_duckdb_sql` takes a FROM clause and expressions by column name, and returns a FROM clause with a column for each
expression. An expression is first lowered to a few operations (`lowering`), then written as nested SELECTs, so that
each part is computed once for a row. A part that is used again is a named column of an inner SELECT; the rest is
written in place (`layers`):

    (SELECT *, <expressions> FROM (SELECT *, <parts> FROM rows))

Formal guarantees: no operation raises an error for any row or reads another row, because operations that might fail are
guarded: a quotient or root that is not finite is NULL, and a text that is no number is NULL. An error for one row would
reveal that row. Values equal the results of `evaluation` bit by bit, so the engine that counts does not matter.

>>> from dpcurves.expressions import parse_expression
>>> from dpcurves.expressions.checked import check_expression
>>> older = check_expression(parse_expression("age + 1"), {"age": ValueType.NUMBER})
>>> build_duckdb_sql("people", [("older", older)], lambda name, kind: name).count("SELECT")
3
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from .checked import Checked, ValueType
from .evaluation import DECIMAL_NUMBER, LOWER_LETTERS, SAFE_DAYS, UPPER_LETTERS
from .layers import LayeredCompiler
from .lowering import lower_expression
from .syntax import ARITHMETIC

SQL_TYPES = MappingProxyType({
    ValueType.NUMBER: "DOUBLE", ValueType.DATE: "DOUBLE", ValueType.TEXT: "VARCHAR", ValueType.TRUTH: "BOOLEAN",
    ValueType.MOMENT: "BIGINT",
})  # fmt: skip
"""DuckDB types by type of value: dates are days since 1970-01-01, timestamps microseconds."""


def build_duckdb_sql(
    rows: str, expressions: Sequence[tuple[str, Checked]], read_column: Callable[[str, ValueType], str]
) -> str:
    """Return a FROM clause with the columns of `rows` and a column for each expression.

    Formal guarantees: no operation of the SQL raises an error for any row, or reads another row. Values are equal to
    the values of `evaluation`, bit by bit.

    Args:
        rows: FROM clause of the rows.
        expressions: Column names, as quoted SQL, and expressions.
        read_column: Function of a column name and a type that returns the SQL of the value in `rows`: NULL if missing.

    Returns:
        A subquery in parentheses.
    """
    compiler = _DuckDBCompiler(read_column)
    results = [(name, compiler.compile(lower_expression(checked))) for name, checked in expressions]
    for definitions in compiler.layers:
        rows = f"(SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in definitions)} FROM {rows})"
    return f"(SELECT *, {', '.join(f'{value} AS {name}' for name, value in results)} FROM {rows})"


class _DuckDBCompiler(LayeredCompiler):
    """Compiles to SQL of DuckDB."""

    def write_literal(self, checked: Checked) -> str:
        """Return the DuckDB SQL of a literal, a public value.

        Args:
            checked: Node of a literal.
        """
        return _literal(checked)

    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return the DuckDB SQL of one operation of an expression, whose arguments are compiled already.

        Args:
            checked: The operation, after lowering.
            arguments: SQL of its arguments.
        """
        name = checked.function
        if name in NUMERIC_SQL:
            value = NUMERIC_SQL[name].format(*arguments)
            return f"CASE WHEN isfinite({value}) THEN {value} END"
        if name in SQL_TEMPLATES:
            return SQL_TEMPLATES[name].format(*arguments)
        period = f"{int(checked.number)}"
        moment = arguments[0]
        return (  # count_periods: the whole quotient, rounded down, without overflow
            f"CASE WHEN {moment} >= 0 THEN {moment} // {period} ELSE -1 - (-1 - {moment}) // {period} END::DOUBLE"
        )


NUMERIC_SQL: Mapping[str, str] = MappingProxyType({
    **{name: f"({{0}} {symbol} {{1}})" for name, symbol in ARITHMETIC.items()},
    "neg": "(-{0})", "abs": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})", "round": "round({0})",
    "sqrt": "sqrt(CASE WHEN {0} >= 0 THEN {0} END)",
})  # fmt: skip
"""SQL of operations on doubles; `{0}` and `{1}` are the operands. A result that is not finite becomes NULL, so
missing."""
SQL_TEMPLATES: Mapping[str, str] = MappingProxyType({
    "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "whole_div": "floor({0} / {1})",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)",
    "between": "({0} BETWEEN {1} AND {2})",
    "starts_with": "starts_with({0}, {1})",
    "nullif": "CASE WHEN {0} = {1} THEN NULL ELSE {0} END",
    "truth_to_number": "CAST({0} AS DOUBLE)",
    "to_moment": f"CAST(CASE WHEN abs({{0}}) <= {SAFE_DAYS} THEN {{0}} END AS BIGINT) * 86400000000",
    "lower": f"translate({{0}}, '{UPPER_LETTERS}', '{LOWER_LETTERS}')",
    "upper": f"translate({{0}}, '{LOWER_LETTERS}', '{UPPER_LETTERS}')",
    "to_number": (
        f"CASE WHEN regexp_full_match({{0}}, '{DECIMAL_NUMBER.replace('{', '{{').replace('}', '}}')}') "
        "AND isfinite(TRY_CAST({0} AS DOUBLE)) THEN TRY_CAST({0} AS DOUBLE) END"
    ),
    "to_date": (
        "CASE WHEN regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND NOT starts_with({0}, '0000') "
        "THEN CAST(TRY_CAST({0} AS DATE) - DATE '1970-01-01' AS DOUBLE) END"
    ),
})  # fmt: skip
"""SQL of other functions; `{0}`, `{1}` and `{2}` are names or literals."""


def _literal(checked: Checked) -> str:
    """Return the DuckDB SQL of a literal: NULL, a truth value, a quoted text, or a number as DOUBLE.

    Args:
        checked: Node of a literal.
    """
    value = checked.value
    if value is None:
        return f"CAST(NULL AS {SQL_TYPES[checked.type]})"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"('{float(value)!r}'::DOUBLE)"  # type: ignore[arg-type]
