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
        with convert_errors("connect"):
            return DirectConnection(self._disk, self._connect(), self.begin_statement)

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
            with convert_errors("commit"):
                disk.commit(connection, sqlite3.Connection.commit)
        except BaseException:
            disk.rollback(connection, sqlite3.Connection.rollback)
            raise

    def exec_driver_sql(self, statement: str) -> None:
        """Execute a statement of SQLite."""
        with convert_errors(statement):
            self._connection.execute(statement)

    def execute(
        self, statement: Any, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> _DirectResult:
        """Execute a statement of SQLAlchemy, once or for each of several mappings; return its rows.

        Raises:
            DBAPIError: SQLite refuses the statement.
        """
        rows = [parameters] if isinstance(parameters, Mapping) else list(parameters or [{}])
        compiled, constants = compile_statement(statement, tuple(rows[0]), len(rows) > 1)
        text = compiled.string
        order = compiled.positiontup
        processors = compiled._bind_processors
        values = [compiled.construct_params(row, escape_names=False, **constants) for row in rows]
        if compiled.post_compile_params or compiled.literal_execute_params:  # lists of any length
            expanded = compiled._process_parameters_for_postcompile(values[0])
            text = expanded.statement
            order = expanded.positiontup
            processors = {**processors, **expanded.processors}
            values[0] = {**values[0], **expanded.additional_parameters}
        records = [
            [processors[name](row[name]) if name in processors else row[name] for name in order] for row in values
        ]
        with convert_errors(text):
            cursor = self._connection.execute(text, records[0]) if len(records) == 1 else self._connection.executemany(
                text, records
            )  # fmt: skip
            names = tuple(column[0] for column in cursor.description or ())
            return _DirectResult(_describe_columns(names), iter(cursor.fetchall()), cursor.rowcount)

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
_compiled: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
"""Compiled statements by their object: most are made once for a process."""


def compile_statement(statement: Any, names: tuple[str, ...], is_repeated: bool) -> tuple[Any, dict[str, Any]]:
    """Return a compiled statement, and arguments of `construct_params` that state its constants.

    Arguments:
        statement: The statement.
        names: Names of its parameters.
        is_repeated: Whether it is executed for several mappings at once.
    """
    forms = _compiled.setdefault(statement, {})
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
        forms[names, is_repeated] = compiled, constants
    result: tuple[Any, dict[str, Any]] = forms[names, is_repeated]
    return result


@lru_cache
def _list_creations(metadata: sql.MetaData) -> tuple[str, ...]:
    """Return the statements that create missing tables and indexes."""
    dialect = sqlite._shared_dialect().dialect
    constructs: list[CreateTable | CreateIndex] = []
    for table in metadata.sorted_tables:
        constructs.append(CreateTable(table, if_not_exists=True))
        constructs += [CreateIndex(index, if_not_exists=True) for index in table.indexes]
    return tuple(str(construct.compile(dialect=dialect)) for construct in constructs)


@contextmanager
def convert_errors(statement: str) -> Iterator[None]:
    """Raise errors of `sqlite3` as SQLAlchemy does. Raises `sqlalchemy.exc.DBAPIError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise DBAPIError.instance(statement, None, error, sqlite3.Error) from error
