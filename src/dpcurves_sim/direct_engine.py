"""Minimal SQLAlchemy engine for simulation tests: statements run on Python's `sqlite3`, without pools and events.

`DirectEngine` replaces the engine of a database whose file is on a simulated disk, so that a test can make commits fail
or wait. It has the methods that product code calls:

    DirectEngine        opens connections
    DirectConnection    begins transactions, executes statements, returns rows

SQLAlchemy still compiles the statements (once, then cached) and makes the rows, so product code sees no difference.
What is left out would take a third of the time of a simulated run. No confidential records are read.
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
    """Interface of simulated disks, which let transactions wait, and commits fail."""

    def begin(self, connection: Any) -> None:
        """Wait until no other simulated process has a write transaction on the database.

        Args:
            connection: Connection that begins a write transaction.
        """

    def commit(self, connection: Any, commit: Callable[[Any], None]) -> None:
        """Commit a transaction, and let other simulated processes write.

        Args:
            connection: Connection of `sqlite3`.
            commit: Function of the connection that commits.

        Raises:
            sqlite3.OperationalError: The commit failed, which the disk may simulate.
        """

    def rollback(self, connection: Any, rollback: Callable[[Any], None]) -> None:
        """Roll a transaction back, and let other simulated processes write.

        Args:
            connection: Connection of `sqlite3`.
            rollback: Function of the connection that rolls back.
        """

    def release(self, connection: Any) -> None:
        """Let other simulated processes write, if this connection had a write transaction.

        Args:
            connection: Connection of `sqlite3`.
        """


class DirectEngine:
    """Engine of one database on a simulated disk, in the place of `sqlalchemy.Engine`.

    Args:
        disk: The disk of the database.
        connect: Function that opens a connection of `sqlite3`.

    Attributes:
        begin_statement: Statement with which each transaction begins.
    """

    begin_statement = ""

    def __init__(self, disk: TransactionDisk, connect: Callable[[], Any]) -> None:
        self._disk, self._connect = disk, connect

    def connect(self) -> DirectConnection:
        """Return a connection for one transaction.

        Raises:
            sqlalchemy.exc.DBAPIError: The database cannot be opened.
        """
        try:
            return DirectConnection(self._disk, self._connect(), self.begin_statement)
        except sqlite3.Error as error:
            raise convert_error("connect", error) from error

    def dispose(self) -> None:
        """Do nothing, because no connection is pooled; SQLAlchemy's engines have this method."""


class DirectConnection:
    """One connection, with the methods of `sqlalchemy.Connection` that product code calls.

    Args:
        disk: The disk of the database.
        connection: Connection of `sqlite3`.
        begin_statement: Statement with which each transaction begins.
    """

    def __init__(self, disk: TransactionDisk, connection: Any, begin_statement: str) -> None:
        """Wrap a connection of `sqlite3` with the methods of an SQLAlchemy connection that the library uses.

        Args:
            disk: Simulated disk, which is told of the begin and the end of transactions.
            connection: Connection of `sqlite3`.
            begin_statement: SQL with which a transaction begins.
        """
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
        """Context of a transaction: commit it at the end of the ``with`` block, or roll it back after any error.

        Raises:
            sqlalchemy.exc.DBAPIError: The transaction cannot begin or be committed.
        """
        disk, connection = self._disk, self._connection
        if self._begin_statement == sqlite._BEGIN_WRITING:
            disk.begin(connection)
        self.exec_driver_sql(self._begin_statement)
        try:
            yield
            self._commit()
        except BaseException:
            disk.rollback(connection, sqlite3.Connection.rollback)
            raise

    def _commit(self) -> None:
        """Commit the transaction on the simulated disk.

        Raises:
            sqlalchemy.exc.DBAPIError: The commit failed.
        """
        try:
            self._disk.commit(self._connection, sqlite3.Connection.commit)
        except sqlite3.Error as error:
            raise convert_error("commit", error) from error

    def exec_driver_sql(self, statement: str) -> None:
        """Execute a statement in SQL without parameters and without a result.

        Args:
            statement: The statement.

        Raises:
            sqlalchemy.exc.DBAPIError: SQLite refuses the statement.
        """
        try:
            self._connection.execute(statement)
        except sqlite3.Error as error:
            raise convert_error(statement, error) from error

    def execute(
        self, statement: Any, parameters: dict[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> _DirectResult:
        """Execute a statement of SQLAlchemy on the simulated database, and return its result.

        Args:
            statement: The statement.
            parameters: Values by parameter name; a sequence of such mappings, at least one, to execute it for each of
                them; None: no parameters.

        Returns:
            The rows, and the number of changed rows.

        Raises:
            DBAPIError: SQLite refuses the statement.
        """
        if not isinstance(parameters, dict) and parameters is not None:  # a list of mappings
            row, *others = parameters
        else:
            row, others = parameters or {}, []
        form = compile_statement(statement, tuple(row), bool(others))
        text, values = form.expand_lists(row) if form.has_lists else (form.text, form.list_values(row))
        try:
            if others:
                cursor = self._connection.executemany(text, [values, *map(form.list_values, others)])
            else:
                cursor = self._connection.execute(text, values)
            return _DirectResult(form.find_names(cursor), cursor.fetchall(), cursor.rowcount)
        except sqlite3.Error as error:
            raise convert_error(text, error) from error

    def _run_ddl_visitor(self, visitor: Any, metadata: sql.MetaData, **_: Any) -> None:
        """Create missing tables; `MetaData.create_all` calls this method.

        Args:
            visitor: Class of the visitor, without effect.
            metadata: Schema with the tables to create.
        """
        for statement in _list_creations(metadata):
            self.exec_driver_sql(statement)


class _DirectResult:
    """Result of a statement: its rows, and the number of changed rows, in the place of `sqlalchemy.CursorResult`.

    Mappings and single columns, which most product code reads, are made here; SQLAlchemy makes all other forms.
    """

    def __init__(self, names: tuple[str, ...], rows: list[tuple[Any, ...]], rowcount: int) -> None:
        self._names, self._rows = names, rows
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Any]:
        return iter(self._make_result())

    def __getattr__(self, name: str) -> Any:
        """Return a method of SQLAlchemy's result object with the same rows.

        Args:
            name: Name of the method.
        """
        return getattr(self._make_result(), name)

    def _make_result(self) -> IteratorResult[Any]:
        """Return the rows as a result object of SQLAlchemy, for methods that this class lacks."""
        return IteratorResult(_describe_columns(self._names), iter(self._rows))

    def mappings(self) -> _Values:
        """Return the rows as mappings of names to values."""
        names = self._names
        return _Values([dict(zip(names, row, strict=True)) for row in self._rows])

    def scalars(self) -> _Values:
        """Return the values of the result's first column, in the order of the rows."""
        return _Values([row[0] for row in self._rows])


class _Values:
    """Rows in one form: mappings, or values of one column."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def all(self) -> list[Any]:
        """Return the values of all rows of a result."""
        return self._values

    def first(self) -> Any:
        """Return the value of the first row of a result; None if there is no row."""
        return self._values[0] if self._values else None


_describe_columns = lru_cache(SimpleResultMetaData)
"""Metadata of rows by the names of their columns, made once for all schedules."""


class CompiledForm:
    """A statement compiled to SQL, with the values of the constants in it.

    Args:
        compiled: The statement, compiled by SQLAlchemy.
        constants: Arguments of its method `construct_params` that state the constants.

    Attributes:
        text: The statement in SQL.
        has_lists: Whether the text depends on the lengths of lists, as in ``IN (...)``.
    """

    def __init__(self, compiled: Any, constants: Mapping[str, Any]) -> None:
        """Keep the SQL text of a statement compiled by SQLAlchemy, with its parameters.

        Args:
            compiled: The compiled statement.
            constants: Values of parameters that are part of the statement, by name.
        """
        self._compiled, self._constants = compiled, constants
        self._processors = compiled._bind_processors
        self._order = compiled.positiontup or ()
        self._defaults: dict[str, Any] | None = None
        self._names: tuple[str, ...] | None = None
        self.text: str = compiled.string
        self.has_lists = bool(compiled.post_compile_params or compiled.literal_execute_params)

    def list_values(self, row: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of all parameters in the order of the SQL text, as SQLite stores them.

        Args:
            row: Values by parameter name. Parameters that are not in it have the values of the first execution.
        """
        if self._defaults is None:
            self._defaults = self._construct(row)
        defaults = self._defaults
        values = [row[name] if name in row else defaults[name] for name in self._order]
        if self._processors:
            return self._process(self._order, values, self._processors)
        return values

    def find_names(self, cursor: sqlite3.Cursor) -> tuple[str, ...]:
        """Return the names of the columns that the statement returns, as the first cursor that executes it states them.

        Args:
            cursor: Cursor after the execution.
        """
        if self._names is None:
            self._names = tuple([column[0] for column in cursor.description or ()])
        return self._names

    def expand_lists(self, row: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
        """Return the SQL with one parameter for each element of a list (as ``IN`` needs), and the values of all
        parameters.

        Args:
            row: Values by parameter name; some are lists.
        """
        values = self._construct(row)
        expanded = self._compiled._process_parameters_for_postcompile(values)
        values = {**values, **expanded.additional_parameters}
        processors = {**self._processors, **expanded.processors}
        ordered = [values[name] for name in expanded.positiontup]
        return expanded.statement, self._process(expanded.positiontup, ordered, processors)

    def _construct(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all parameters and constants of the statement by name.

        Args:
            row: Values of the parameters by name.
        """
        result: dict[str, Any] = self._compiled.construct_params(row, escape_names=False, **self._constants)
        return result

    @staticmethod
    def _process(names: Sequence[str], values: Sequence[Any], processors: Mapping[str, Any]) -> Sequence[Any]:
        """Return parameter values converted to the types that SQLite stores.

        Args:
            names: Parameter names.
            values: Their values, in the same order.
            processors: Functions that convert a value, by parameter name; other values stay as they are.
        """
        return [
            processors[name](value) if name in processors else value for name, value in zip(names, values, strict=True)
        ]


_compiled: WeakKeyDictionary[Any, dict[Any, CompiledForm]] = WeakKeyDictionary()
"""Compiled statements by their object: most are made once for a process."""


def compile_statement(statement: Any, names: tuple[str, ...], is_repeated: bool) -> CompiledForm:
    """Return a statement compiled to SQL with its constants; results are cached.

    Args:
        statement: A statement of SQLAlchemy.
        names: Names of the parameters that will be passed.
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
    """Return the SQL statements that create missing tables and indexes of a schema, in an order that works.

    Args:
        metadata: Schema with the tables.

    Returns:
        Statements in SQLite's dialect; tables stand before tables that refer to them.
    """
    dialect = sqlite._shared_dialect().dialect
    constructs: list[CreateTable | CreateIndex] = []
    for table in metadata.sorted_tables:
        constructs.append(CreateTable(table, if_not_exists=True))
        constructs += [CreateIndex(index, if_not_exists=True) for index in table.indexes]
    return tuple(str(construct.compile(dialect=dialect)) for construct in constructs)


def convert_error(statement: str, error: sqlite3.Error) -> BaseException:
    """Return the error of SQLAlchemy for an error of `sqlite3`, which product code expects.

    Args:
        statement: The failed statement, for the message.
        error: The error.
    """
    return DBAPIError.instance(statement, None, error, sqlite3.Error)
