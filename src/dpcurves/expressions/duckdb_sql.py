"""SQL of DuckDB for expressions: each part is a column of a projection, so that it is computed once for a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from .checked import Checked, ValueType
from .evaluation import _LOWER, _UPPER, DECIMAL_NUMBER, SAFE_DAYS
from .lowering import lower_expression
from .syntax import ARITHMETIC, COMPARISONS

SQL_TYPES = MappingProxyType({
    ValueType.NUMBER: "DOUBLE", ValueType.DATE: "DOUBLE", ValueType.TEXT: "VARCHAR", ValueType.TRUTH: "BOOLEAN",
    ValueType.MOMENT: "BIGINT",
})  # fmt: skip
"""Types of values: dates are days since 1970-01-01, timestamps microseconds."""


def build_duckdb_sql(
    rows: str, expressions: Sequence[tuple[str, Checked]], read_column: Callable[[str, ValueType], str]
) -> str:
    """Return a FROM clause with the columns of `rows` and a column for each expression.

    Formal guarantees: no operation of the SQL raises an error for any row, or reads another row. Values are equal to
    the values of `evaluation`, bit by bit.

    Args:
        rows: FROM clause of the rows.
        expressions: Column names and expressions.
        read_column: Function of a column name and a type that returns the SQL of the value in `rows`: NULL if missing.
    """
    compiler = _Compiler(read_column)
    results = [(name, compiler.compile(lower_expression(checked))) for name, checked in expressions]
    for definitions in compiler.layers:
        rows = f"(SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in definitions)} FROM {rows})"
    return f"(SELECT *, {', '.join(f'{value} AS {name}' for name, value in results)} FROM {rows})"


class _Compiler:
    """Names each part, and puts it into the first layer in which its arguments have names."""

    def __init__(self, read_column: Callable[[str, ValueType], str]) -> None:
        self.read_column = read_column
        self.layers: list[list[tuple[str, str]]] = []
        self.compiled: dict[int, tuple[Checked, str, int]] = {}
        self.names: dict[tuple[int, str], str] = {}

    def compile(self, checked: Checked) -> str:
        """Return the name or literal of a part."""
        return self._compile(checked)[0]

    def _compile(self, checked: Checked) -> tuple[str, int]:
        """Return the name or literal of a part, and the first layer that can use it."""
        if id(checked) not in self.compiled:
            if checked.function == "literal":
                compiled = _literal(checked), 0
            else:
                parts = [self._compile(argument) for argument in checked.arguments]
                layer = max((part_layer for _, part_layer in parts), default=0)
                sql = self._operation(checked, [name for name, _ in parts])
                compiled = self._name(layer, sql), layer + 1
            self.compiled[id(checked)] = checked, *compiled
        return self.compiled[id(checked)][1:]

    def _name(self, layer: int, sql: str) -> str:
        """Return the name of a part in a layer; equal parts have one name."""
        if (layer, sql) not in self.names:
            while len(self.layers) <= layer:
                self.layers.append([])
            self.names[layer, sql] = f"v{len(self.names)}_"
            self.layers[layer].append((self.names[layer, sql], sql))
        return self.names[layer, sql]

    def _operation(self, checked: Checked, arguments: list[str]) -> str:  # noqa: PLR0911  # noqa: PLR0911
        """Return the SQL of one operation on named parts."""
        name = checked.function
        if name == "column":
            return self.read_column(str(checked.value), checked.type)
        if name in NUMERIC:
            value = NUMERIC[name].format(*arguments)
            return f"CASE WHEN isfinite({value}) THEN {value} END"
        if name in TEMPLATES:
            return TEMPLATES[name].format(*arguments)
        if name in COMPARISONS:
            return f"{arguments[0]} {COMPARISONS[name]} {arguments[1]}"
        if name == "in":
            return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
        if name == "case":
            pairs = zip(arguments[0:-1:2], arguments[1:-1:2], strict=True)
            branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
            return f"CASE {branches} ELSE {arguments[-1]} END"
        if name == "count_periods":
            period = f"{int(checked.number)}"
            moment = arguments[0]
            return (  # the whole quotient, rounded down, without overflow
                f"CASE WHEN {moment} >= 0 THEN {moment} // {period} ELSE -1 - (-1 - {moment}) // {period} END::DOUBLE"
            )
        if name == "substr":
            whole = [f"{int(part.number)}" for part in checked.arguments[1:]]
            return f"substr({', '.join([arguments[0], *whole])})"
        return f"{name}({', '.join(arguments)})"  # coalesce, least, greatest, starts_with


NUMERIC: Mapping[str, str] = MappingProxyType({
    **{name: f"({{0}} {symbol} {{1}})" for name, symbol in ARITHMETIC.items()},
    "neg": "(-{0})", "abs": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})", "round": "round({0})",
    "sqrt": "sqrt(CASE WHEN {0} >= 0 THEN {0} END)",
})  # fmt: skip
"""Operations on doubles; a result that is not finite is NULL."""
TEMPLATES: Mapping[str, str] = MappingProxyType({
    "and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)",
    "between": "({0} BETWEEN {1} AND {2})",
    "nullif": "CASE WHEN {0} = {1} THEN NULL ELSE {0} END",
    "truth_to_number": "CAST({0} AS DOUBLE)",
    "to_moment": f"CAST(CASE WHEN abs({{0}}) <= {SAFE_DAYS} THEN {{0}} END AS BIGINT) * 86400000000",
    "lower": f"translate({{0}}, '{_UPPER}', '{_LOWER}')",
    "upper": f"translate({{0}}, '{_LOWER}', '{_UPPER}')",
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
    """Return the SQL of a public value."""
    value = checked.value
    if value is None:
        return f"CAST(NULL AS {SQL_TYPES[checked.type]})"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"('{float(value)!r}'::DOUBLE)"  # type: ignore[arg-type]
