"""SENSITIVE. Derived columns and row filters: SQL by which DuckDB evaluates expressions of columns, row by row.

    DerivedSchema     expressions of users, such as ``ln(wage)`` or ``age >= 65`` -> checked columns, by position
    DerivedColumns    positions -> a FROM clause for DuckDB with the columns of a source and the derived ones
    RowFilter         a filter, as positions of derived columns that are true or false

Positions of the table's columns come first, then those of derived columns. A filter ``a AND b`` is split into its
conjuncts, the operands of AND. Each is evaluated only on rows that pass the ones before it.

Formal guarantees: a derived value is a function of its row. Tables that differ in one row, or in the rows of one unit,
differ likewise after columns are derived, or are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

import duckdb

from ...arguments import InvalidArgument
from ...data import ALL_RECORDS
from ...expressions import (
    Call,
    Checked,
    ColumnName,
    Literal,
    Node,
    build_duckdb_sql,
    check_expression,
    find_column_names,
    format_expression,
    parse_expression,
)
from ...expressions import ValueType as ExpressionType
from ..source import DATE, MOMENT, NUMBER, NUMBER_IN_TEXT, TEXT, Column, ColumnKind, Source, find_column, sql_name
from ..value_names import ValueType, category_key


class RowFilter(NamedTuple):
    """A filter of rows, as positions of derived columns.

    Attributes:
        position: Position of the column that is true for the rows that pass.
        conjuncts: Positions of the operands of the filter's AND, which are all true for the rows that pass.
        keeps_failing_rows: If True, other rows stay as missing records. If False, they are left out.
    """

    position: int
    conjuncts: tuple[int, ...]
    keeps_failing_rows: bool

    @property
    def name(self) -> str:
        """SQL name of the truth column of a filter: true for the rows that pass."""
        return sql_name(self.position)

    @property
    def passes(self) -> str:
        """SQL condition, for a WHERE clause, that selects the rows which pass the filter; NULL counts as false."""
        return " AND ".join(map(sql_name, self.conjuncts))


class _Derived(NamedTuple):
    """A derived column.

    Attributes:
        checked: Its expression with types.
        inputs: Positions of the columns that it reads.
        column: Its description, with the SQL by which its values are read.
    """

    checked: Checked
    inputs: tuple[int, ...]
    column: Column


CONSTANT_ONE = Checked("literal", ExpressionType.NUMBER, value=1.0)
"""Expression whose value is 1 for every record, for the column of all records."""


CONSTANT_FALSE = Checked("literal", ExpressionType.TRUTH, value=False)
"""Value of a condition that is NULL. As in SQL, such a row does not pass."""


class DerivedSchema:
    """The columns of a table, and the columns that expressions derive from them.

    The positions of derived columns follow those of the table and one position for faults of lines.

    Formal guarantees: a derived value is a function of its row alone (see `expressions`). So tables that differ in one
    row, or in the rows of one unit, differ likewise after columns are derived, or are equal.

    Args:
        columns: Columns of the table, in order.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        """Start with a table's own columns, to which derived columns will be added.

        Args:
            columns: Columns of the table.
        """
        self.columns = columns
        self._first = len(columns) + 1
        self._derived: list[_Derived] = []
        self._positions: dict[tuple[str, str], int] = {}

    def add(self, text: str, is_numeric: bool, argument: str) -> tuple[Column, int]:
        """Add a derived column for an expression, unless it was added before; return the column and its position.

        Args:
            text: The expression.
            is_numeric: If True, its values must be numbers. If False, texts, numbers and truth values are accepted.
            argument: Name of the user's argument, for messages.

        Raises:
            ValueError: the text is no expression, or a column is missing or has another type than its function needs.
        """
        position = self._positions.get((text, str(is_numeric)))
        if position is None and text == ALL_RECORDS:
            position = self._append(text, str(is_numeric), CONSTANT_ONE, ())
        if position is None:
            node = self._parse(text, argument)
            checked = check_expression(node, self._schema(find_column_names(node)), None, argument)
            if is_numeric and checked.type is not ExpressionType.DATE:
                checked = check_expression(node, self._schema(find_column_names(node)), ExpressionType.NUMBER, argument)
            position = self._append(text, str(is_numeric), checked, find_column_names(node))
        return self._derived[position - self._first].column, position

    def add_condition(self, where: str) -> int:
        """Add a truth column for the condition of a filter, unless it was added before.

        Args:
            where: The condition, such as ``age >= 65``.

        Returns:
            Position of a column that is true or false; a condition that is NULL counts as false.

        Raises:
            ValueError: the text is no condition, or a column is missing or has another type than its function needs.
        """
        position = self._positions.get((where, "condition"))
        if position is None:
            node = self._parse(where, "where")
            checked = check_expression(node, self._schema(find_column_names(node)), ExpressionType.TRUTH, "where")
            condition = Checked("coalesce", ExpressionType.TRUTH, (checked, CONSTANT_FALSE))
            position = self._append(where, "condition", condition, find_column_names(node))
        return position

    def add_conjuncts(self, where: str) -> tuple[int, ...]:
        """Add a truth column for each conjunct (operand of AND) of a filter, unless it was added before.

        An engine may then evaluate each of them only on rows that pass the ones before.

        Args:
            where: The condition, such as ``age >= 65 AND region = 'north'``.

        Returns:
            Positions of their columns, in order.

        Raises:
            ValueError: the text is no condition, or a column is missing or has another type than its function needs.
        """
        node = self._parse(where, "where")
        names = find_column_names(node)
        checked = check_expression(node, self._schema(names), ExpressionType.TRUTH, "where")
        uses = [(f"conjunct {index}", part) for index, part in enumerate(_split_conjunction(checked))]
        return tuple(
            self._positions[where, use] if (where, use) in self._positions else self._append(where, use, part, names)
            for use, part in uses
        )

    def _parse(self, text: str, argument: str) -> Node:
        """Parse an expression, and convert its literals to values of the declared types of the columns that they are
        compared with.

        Args:
            text: The expression.
            argument: Name of the user's argument, for messages.

        Raises:
            ValueError: the text is no expression, or no value of the declared type equals a literal.
        """
        columns = {column.name: column for column in self.columns}
        return _match_literals(parse_expression(text, argument), columns, argument)

    def _append(self, text: str, use: str, checked: Checked, names: Sequence[str]) -> int:
        """Add a column that is computed from an expression, and return its position.

        Args:
            text: The expression.
            use: Purpose of the column: a condition, a conjunct, or a value (numeric or not); one text may have several.
            checked: The checked expression.
            names: Names of the columns that it reads.
        """
        inputs = tuple(find_column(name, self.columns) for name in names)
        self._derived.append(_Derived(checked, inputs, self.describe_column(text, checked.type)))
        self._positions[text, use] = self._first + len(self._derived) - 1
        return self._positions[text, use]

    def _schema(self, names: Iterable[str]) -> dict[str, ExpressionType]:
        """Return the types of all columns that expressions can read, by name.

        Args:
            names: Names of columns that are checked.

        Raises:
            ValueError: a named column occurs twice, or holds values that expressions do not read.
        """
        columns = {column.name: _expression_type(column) for column in self.columns}
        for name in names:
            if name in columns:
                column = self.columns[find_column(name, self.columns)]
                if columns[name] is None:
                    raise InvalidArgument(
                        "column", f"{name!r} holds {column.kind.value}, which expressions do not read", name
                    )
        return {name: kind for name, kind in columns.items() if kind is not None}

    def find_inputs(self, positions: Sequence[int]) -> list[int]:
        """Return which of the table's own columns must be read to compute the given ones.

        Args:
            positions: Positions of columns of the table, which are read themselves, and of derived columns.

        Returns:
            Increasing positions of the table's columns.
        """
        inputs: set[int] = set()
        for position in positions:
            inputs |= {position} if position < self._first else {*self._derived[position - self._first].inputs}
        return sorted(inputs)

    def find_derived(self, positions: Sequence[int]) -> list[tuple[int, Checked]]:
        """Return, for each derived column among `positions`, its position and expression, without duplicates.

        Args:
            positions: Positions of the table's own and of derived columns.
        """
        derived = [position for position in dict.fromkeys(positions) if position >= self._first]
        return [(position, self._derived[position - self._first].checked) for position in derived]

    def describe_column(self, text: str, kind: ExpressionType) -> Column:
        """Return the column that an expression defines, with the SQL by which DuckDB reads its values.

        Args:
            text: The expression, which is the column's name.
            kind: Type of its values.
        """
        return _describe_column(text, kind)


class DerivedColumns(DerivedSchema):
    """Columns of a source, and columns that DuckDB derives from them.

    Args:
        source: The source of the records.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source.columns)
        self.source = source

    def scan(self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int], *, whole: bool = False) -> str:
        """Return a FROM clause that reads the columns at these positions: the source's own, and derived ones computed
        from them.

        Args:
            connection: Connection to DuckDB.
            positions: Positions of columns of the source, and of derived columns behind them.
            whole: If True, a column ``whole`` with all columns of the source is added, as by `Source.scan_whole`.
        """
        inputs = self.find_inputs(positions) or [0]
        derived = self.find_derived(positions)
        # Texts that only expressions read need not be bytes, which have values for invalid UTF-8, too.
        texts = [
            position
            for position in inputs
            if position not in positions and self.source.columns[position].kind is ColumnKind.TEXT
        ]
        decoded_rows = self.source.scan_decoded(connection, inputs, texts) if texts and not whole else None
        rows = decoded_rows or (self.source.scan_whole if whole else self.source.scan)(connection, inputs)
        if not derived:
            return rows
        read_column = partial(self._read_column, decoded=texts if decoded_rows else ())
        rows = build_duckdb_sql(rows, [(sql_name(position), checked) for position, checked in derived], read_column)
        names = ", ".join([*map(sql_name, dict.fromkeys(positions)), *(["whole"] if whole else [])])
        return f"(SELECT {names} FROM {rows})"

    def _read_column(self, name: str, kind: ExpressionType, decoded: Sequence[int]) -> str:  # noqa: PLR0911
        """Return SQL for the value of a source's column, converted to the type that an expression needs; NULL if it is
        missing.

        Args:
            name: Name of the column.
            kind: Type that the expression needs.
            decoded: Positions of text columns that are read as VARCHAR. Others are read as bytes.
        """
        position = find_column(name, self.source.columns)
        column = self.source.columns[position]
        value = sql_name(position)
        number = column.number.format(value)
        match kind:
            case ExpressionType.NUMBER | ExpressionType.TRUTH if column.value_type in {
                ValueType.WHOLE,
                ValueType.TRUTH,
            }:
                return number if kind is ExpressionType.NUMBER else f"{number} <> 0"  # no value is NaN
            case ExpressionType.NUMBER:
                return f"CASE WHEN NOT isnan({number}) THEN {number} END"
            case ExpressionType.TRUTH:
                return f"CASE WHEN NOT isnan({number}) THEN {number} <> 0 END"
            case ExpressionType.MOMENT:
                return f"({column.moment or 'NULL'})".format(value)
            case ExpressionType.DATE if column.time == DATE:
                return f"floor({column.elapsed_time or 'NULL'})".format(value)
        text = value if position in decoded else f"TRY(decode({value}))"
        if kind is ExpressionType.TEXT:
            return text
        return (  # a field as in 2024-01-31
            f"CASE WHEN regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') "
            f"AND NOT starts_with({text}, '0000') "
            f"THEN CAST(TRY_CAST({text} AS DATE) - DATE '1970-01-01' AS DOUBLE) END"
        )


EQUALITY_FUNCTIONS = frozenset({"eq", "ne", "in", "nullif"})
"""Functions that test whether values are equal. Constants beside a column are checked against its declared labels and
type."""
ORDER_FUNCTIONS = frozenset({"lt", "le", "gt", "ge", "between"})
"""Functions that compare values by their order; refused for enumerations, whose order is not that of their text."""


def _match_literals(node: Node, columns: Mapping[str, Column], argument: str) -> Node:
    """Replace literals in comparisons by the value that the declared type of the compared column has, e.g. a text by a
    number.

    Args:
        node: The expression.
        columns: Columns of the table, by name.
        argument: Name of the user's argument, for messages.

    Returns:
        The changed expression.

    Raises:
        InvalidArgument: the type has no such value, so that every row would fail (or pass) the comparison.
    """
    if not isinstance(node, Call):
        return node
    arguments = tuple(_match_literals(part, columns, argument) for part in node.arguments)
    if node.function in EQUALITY_FUNCTIONS | ORDER_FUNCTIONS | {"starts_with"}:
        names = [part.name for part in arguments if isinstance(part, ColumnName)]
        for column in (columns[name] for name in names if name in columns):
            if column.members and node.function in ORDER_FUNCTIONS:
                rule = (
                    f"column `{column.name}` is {column.type_name} in the schema, which is not ordered as text is; "
                    f"list its labels, as in {column.name} IN ('{column.members[0]}')"
                )
                raise InvalidArgument(argument, f"{format_expression(node)[:60]}: {rule}")
            arguments = tuple(_match_literal(part, column, node, argument) for part in arguments)
    return Call(node.function, arguments)


def _match_literal(part: Node, column: Column, call: Call, argument: str) -> Node:
    """Convert a literal that is compared with a column to a value of the column's declared type; return other nodes
    unchanged.

    Args:
        part: An operand of the comparison.
        column: The column that it is compared with.
        call: The comparison.
        argument: Name of the user's argument, for messages.

    Raises:
        InvalidArgument: the type has no such value.
    """
    value = part.value if isinstance(part, Literal) else None
    if value is None or isinstance(value, bool | date):
        return part
    if isinstance(value, str) != (column.kind is ColumnKind.TEXT):
        return part  # the type checker decides whether both are compared
    if call.function == "starts_with" and isinstance(value, str):
        spelling = _suggest_prefix(value, column)
    elif call.function in ORDER_FUNCTIONS and column.value_type is not ValueType.UUID:
        spelling = ""
    else:
        spelling = column.suggest_spelling(value)
    if spelling:
        rule = f"column `{column.name}` is {column.type_name} in the schema; write {spelling}"
        raise InvalidArgument(argument, f"{format_expression(call)[:60]}: {rule}")
    if column.value_type in {ValueType.HALF, ValueType.SINGLE}:
        nearest = category_key(value, column.value_type)
        return part if nearest is None else Literal(nearest)
    return part


def _suggest_prefix(prefix: str, column: Column) -> str:
    """Return what a user could write instead of a prefix (in LIKE or starts_with) that no value of the declared type
    has.

    Args:
        prefix: The prefix that a user typed.
        column: The column.

    Returns:
        A spelling; empty if a value may have the prefix.
    """
    if column.members and not any(label.startswith(prefix) for label in column.members):
        return column.suggest_spelling(prefix) or prefix
    is_uuid = column.value_type is ValueType.UUID
    return "hexadecimal digits in lower case, as in LIKE 'ab%'" if is_uuid and set(prefix) - set(UUID_LETTERS) else ""


UUID_LETTERS = "0123456789abcdef-"
"""Characters of the names of UUIDs. A prefix with others matches none, so it is refused with a hint."""


def _split_conjunction(checked: Checked) -> list[Checked]:
    """Split a condition into its conjuncts, the operands of nested ANDs, which are all true exactly where it is true.

    Args:
        checked: The condition.
    """
    if checked.function != "and":
        return [checked]
    return [condition for operand in checked.arguments for condition in _split_conjunction(operand)]


def _expression_type(column: Column) -> ExpressionType | None:
    """Return the type that a column has in expressions; None if expressions cannot read it.

    Args:
        column: Column of the schema.
    """
    if column.kind is ColumnKind.TIMES:
        kinds = {DATE: ExpressionType.DATE, MOMENT: ExpressionType.MOMENT}
        return kinds.get(column.time) if column.elapsed_time is not None else None
    if column.kind is ColumnKind.NUMBERS:
        return ExpressionType.TRUTH if column.value_type is ValueType.TRUTH else ExpressionType.NUMBER
    if column.kind is ColumnKind.TEXT:
        return ExpressionType.TEXT
    return ExpressionType.FIELD if column.kind in {ColumnKind.UNTYPED, ColumnKind.FIELDS, ColumnKind.OBJECTS} else None


def _describe_column(text: str, kind: ExpressionType) -> Column:
    """Return the column that an expression defines, with the SQL by which DuckDB reads its values.

    Args:
        text: The expression, which is the column's name.
        kind: Type of its values.
    """
    match kind:
        case ExpressionType.TEXT:
            shown = "CAST(encode({0}) AS VARCHAR)"
            return Column(text, ColumnKind.TEXT, NUMBER_IN_TEXT.replace(TEXT, shown), shown)
        case ExpressionType.TRUTH:
            return Column(
                text, ColumnKind.NUMBERS, NUMBER, declared_value_type=ValueType.TRUTH, declared_type="BOOLEAN"
            )
        case ExpressionType.DATE:
            return Column(text, ColumnKind.TIMES, "CAST(NULL AS DOUBLE)", elapsed_time=NUMBER, time=DATE)
    return Column(text, ColumnKind.NUMBERS, NUMBER, declared_value_type=ValueType.DOUBLE, declared_type="DOUBLE")
