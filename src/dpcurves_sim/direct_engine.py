"""A thin stand-in for the engines of SQLAlchemy: the product's statements run on `sqlite3` without pools and events.

SQLAlchemy still compiles the statements and makes the rows, so product code sees no difference. What is left out takes
a third of the time of a schedule.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import sqlalchemy as sql
from sqlalchemy.engine import IteratorResult
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable

from dpcurves.ledger import sqlite


class TransactionDisk(Protocol):
    """A disk that lets transactions wait, and commits fail."""

    def begin(self, connection: Any) -> None:
        """Wait until no other process writes to the database."""

    def commit(self, connection: Any, commit: Callable[[Any], None]) -> None:
        """Commit a transaction. Raises `sqlite3.OperationalError`."""

    def rollback(self, connection: Any, rollback: Callable[[Any], None]) -> None:
        """Roll a transaction back, and let other processes write."""

    def release(self, connection: Any) -> None:
        """Let other processes write, if this connection wrote."""


class DirectEngine:
    """Connections to one database on a simulated disk.

    Arguments:
        disk: The disk of the database.
        connect: Opens a connection of `sqlite3`.

    Attributes:
        begin_statement: Statement with which each transaction begins.
    """

    begin_statement = ""

    def __init__(self, disk: TransactionDisk, connect: Callable[[], Any]) -> None:
        self._disk, self._connect = disk, connect

    def connect(self) -> DirectConnection:
        """Return a connection for one transaction. Raises `sqlalchemy.exc.DBAPIError`."""
        try:
            return DirectConnection(self._disk, self._connect(), self.begin_statement)
        except sqlite3.Error as error:
            raise convert_error("connect", error) from error

    def dispose(self) -> None:
        """Do nothing: no connection stays open."""


class DirectConnection:
    """One connection, with the methods of `sqlalchemy.Connection` that product code calls."""

    def __init__(self, disk: TransactionDisk, connection: Any, begin_statement: str) -> None:
        self._disk = disk
        self._connection = connection
        self._begin_statement = begin_statement
        self.dialect = sqlite._shared_dialect().dialect

    def __enter__(self) -> DirectConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self._disk.release(self._connection)
        self._connection.close()

    @contextmanager
    def begin(self) -> Iterator[None]:
        """Begin a transaction; commit it at the end, or roll it back after any error."""
        disk, connection = self._disk, self._connection
        if self._begin_statement == sqlite._ALONE:
            disk.begin(connection)
        self.exec_driver_sql(self._begin_statement)
        try:
            yield
            self._commit()
        except BaseException:
            disk.rollback(connection, sqlite3.Connection.rollback)
            raise

    def _commit(self) -> None:
        """Commit the transaction. Raises `sqlalchemy.exc.DBAPIError`."""
        try:
            self._disk.commit(self._connection, sqlite3.Connection.commit)
        except sqlite3.Error as error:
            raise convert_error("commit", error) from error

    def exec_driver_sql(self, statement: str) -> None:
        """Execute a statement of SQLite."""
        try:
            self._connection.execute(statement)
        except sqlite3.Error as error:
            raise convert_error(statement, error) from error

    def execute(
        self, statement: Any, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> _DirectResult:
        """Execute a statement of SQLAlchemy, once or for each of several mappings; return its rows.

        Raises:
            DBAPIError: SQLite refuses the statement.
        """
        rows = (parameters,) if isinstance(parameters, Mapping) else parameters or ({},)
        form = compile_statement(statement, tuple(rows[0]), len(rows) > 1)
        if form.has_lists:
            text, records = form.expand_lists(rows[0])
        else:
            text, records = form.text, [form.list_values(row) for row in rows]
        try:
            if len(records) == 1:
                cursor = self._connection.execute(text, records[0])
            else:
                cursor = self._connection.executemany(text, records)
            names = tuple([column[0] for column in cursor.description or ()])
            return _DirectResult(_describe_columns(names), iter(cursor.fetchall()), cursor.rowcount)
        except sqlite3.Error as error:
            raise convert_error(text, error) from error

    def _run_ddl_visitor(self, visitor: Any, metadata: sql.MetaData, **_: Any) -> None:
        """Create missing tables: `MetaData.create_all` calls this."""
        for statement in _list_creations(metadata):
            self.exec_driver_sql(statement)


class _DirectResult(IteratorResult[Any]):
    """The rows of a statement, and the number of changed rows."""

    def __init__(self, columns: SimpleResultMetaData, rows: Iterator[Any], rowcount: int) -> None:
        super().__init__(columns, rows)
        self.rowcount = rowcount


_describe_columns = lru_cache(SimpleResultMetaData)
"""Metadata of rows by the names of their columns, made once for all schedules."""


class CompiledForm:
    """A compiled statement, with the values of its constants.

    Arguments:
        compiled: The statement, compiled by SQLAlchemy.
        constants: Arguments of `construct_params` that state the constants.

    Attributes:
        text: The statement in SQL.
        has_lists: Whether it compares with lists, whose lengths the text depends on.
    """

    def __init__(self, compiled: Any, constants: Mapping[str, Any]) -> None:
        self._compiled, self._constants = compiled, constants
        self._processors = compiled._bind_processors
        self._order = compiled.positiontup or ()
        self._defaults: dict[str, Any] | None = None
        self.text: str = compiled.string
        self.has_lists = bool(compiled.post_compile_params or compiled.literal_execute_params)

    def list_values(self, row: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of all parameters in the order of the text. Constants are looked up for the first row."""
        if self._defaults is None:
            self._defaults = self._construct(row)
        defaults = self._defaults
        values = [row[name] if name in row else defaults[name] for name in self._order]
        if self._processors:
            return self._process(self._order, values, self._processors)
        return values

    def expand_lists(self, row: Mapping[str, Any]) -> tuple[str, list[Sequence[Any]]]:
        """Return the text for the lengths of the lists in a row, and the values of its parameters."""
        values = self._construct(row)
        expanded = self._compiled._process_parameters_for_postcompile(values)
        values = {**values, **expanded.additional_parameters}
        processors = {**self._processors, **expanded.processors}
        ordered = [values[name] for name in expanded.positiontup]
        return expanded.statement, [self._process(expanded.positiontup, ordered, processors)]

    def _construct(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of parameters and constants by name."""
        result: dict[str, Any] = self._compiled.construct_params(row, escape_names=False, **self._constants)
        return result

    @staticmethod
    def _process(names: Sequence[str], values: Sequence[Any], processors: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values as SQLite stores them."""
        return [
            processors[name](value) if name in processors else value for name, value in zip(names, values, strict=True)
        ]


_compiled: WeakKeyDictionary[Any, dict[Any, CompiledForm]] = WeakKeyDictionary()
"""Compiled statements by their object: most are made once for a process."""


def compile_statement(statement: Any, names: tuple[str, ...], is_repeated: bool) -> CompiledForm:
    """Return a compiled statement with its constants.

    Arguments:
        statement: The statement.
        names: Names of its parameters.
        is_repeated: Whether it is executed for several mappings at once.
    """
    forms = _compiled.get(statement)
    if forms is None:
        forms = _compiled[statement] = {}
    if (names, is_repeated) not in forms:
        shared = sqlite._shared_dialect()
        compiled, extracted, *further, _ = statement._compile_w_cache(
            shared.dialect,
            compiled_cache=shared.statement_cache,
            column_keys=sorted(names),
            for_executemany=is_repeated,
        )
        constants = {"extracted_parameters": extracted}
        if further:  # SQLAlchemy 2.1 also collects the values of constants
            constants["_collected_params"] = further[0]
        forms[names, is_repeated] = CompiledForm(compiled, constants)
    return forms[names, is_repeated]


@lru_cache
def _list_creations(metadata: sql.MetaData) -> tuple[str, ...]:
    """Return the statements that create missing tables and indexes."""
    dialect = sqlite._shared_dialect().dialect
    constructs: list[CreateTable | CreateIndex] = []
    for table in metadata.sorted_tables:
        constructs.append(CreateTable(table, if_not_exists=True))
        constructs += [CreateIndex(index, if_not_exists=True) for index in table.indexes]
    return tuple(str(construct.compile(dialect=dialect)) for construct in constructs)


def convert_error(statement: str, error: sqlite3.Error) -> BaseException:
    """Return the error of SQLAlchemy for an error of `sqlite3`."""
    return DBAPIError.instance(statement, None, error, sqlite3.Error)
