"""Datasets: public schemas and versions of records, with a check that a table has the declared columns.

    Dataset     public facts of a version: columns, unit, adjacency, relation to the version before
    Source      SECRET: where the records are; only workers get it
    Datasets    registers versions, after a check that the table has the declared columns with their types

Messages about a table name declared columns only, so that registering reveals no other column.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, select

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.curves.question_json import declared_columns_to_json
from dpcurves.curves.view import View, parse_view_definitions
from dpcurves.data import Axis, Categories, CsvFile, Grid, TypedAxis
from dpcurves.ledger import Account, Balance, Event, Statement
from dpcurves.ledger.account import require_name
from dpcurves.privacy import Adjacency, AdjacencyWithoutBound, Unit
from dpcurves_parties.serving.messages import ProtocolError

from .declared_columns import Declared, columns_from_json, has_unknown_range
from .principals import Principal, Right, Subject, not_found, require
from .store import Archive, format_now
from .tables import DATASETS

if TYPE_CHECKING:
    from dpcurves.records.counting import Records


# Schema check: a registered table has the declared columns and types. It reads the schema, never rows.
PLACES = ("data", "table", "delimiter")
"""Arguments of errors about the location of records, whose messages quote no contents."""


def _open_records(data: object, delimiter: str, unit: Unit) -> Records:
    """Open the records of a registered table by their schema.

    Raises `InvalidArgument`; for a wrong unit, the message does not list the existing columns.
    """
    from dpcurves.records import open_records

    schema_of = unit if unit.is_bounded else Unit(unit.column, 1)
    try:
        return open_records(data, unit=schema_of, key=bytes(32), delimiter=delimiter)
    except ArgumentError as error:
        if error.argument in PLACES:
            raise
        rule = f"the records have no column {unit.column!r} that names a unit; correct --unit, or the records"
    raise InvalidArgument("unit", rule, unit.column)


def _require_column(records: Records, declared: Declared) -> None:
    """Refuse records without a declared column of its declared type.

    Raises `InvalidArgument`; the message does not list the existing columns.
    """
    name = str(declared.column)
    axis: Axis | Categories
    if isinstance(declared, Categories):
        axis = declared
    else:  # questions without a range read dates, too
        axis_class = TypedAxis if has_unknown_range(declared) else Axis
        axis = axis_class(name, Grid(declared.lower, declared.upper, cells=1))
    try:
        records.check([axis])
        return
    except ArgumentError:
        kind = "categories" if isinstance(declared, Categories) else "numbers"
    raise InvalidArgument(
        "schema", f"the records have no column {name!r} of {kind}, as declared; correct the schema or the records", name
    )


DUCKDB_ENDINGS = (".duckdb", ".ddb", ".db")
"""Name endings of database files of DuckDB."""


class Relation(Enum):
    """The relation of a dataset version to the version before it."""

    FIRST = "the first version"
    SAME_PEOPLE = "the same people: one account pays for both"
    OTHER_PEOPLE = "other people: a separate account"
    BUDGET_RAISED = "the same people, whose earlier account is closed: a further account pays"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The public facts of a version of a dataset.

    Attributes:
        name: The name.
        version: The version number, from 1.
        relation: The relation to the previous version.
        account: The account in the ledger, with protected unit and cap.
        columns: The public schema: numbers with ranges, and categories.
        units: The public number of units, under replace-one.
        description: A public description.
        made_at: Time of registration.
    """

    name: str
    version: int
    relation: Relation
    account: Account
    columns: tuple[Declared, ...]
    units: int | None
    description: str
    made_at: str

    @property
    def adjacency(self) -> Adjacency | AdjacencyWithoutBound:
        """The adjacency of all releases; without a stated contribution bound, each question finds one privately."""
        return self.account.neighbours.to_question_adjacency(self.account.unit, self.units)


@dataclass(frozen=True, slots=True)
class Source:
    """SECRET, except to the machine. The location of the records of a version.

    Attributes:
        data: A path, or the URL of an engine.
        table: The table in an engine; empty for a file.
        delimiter: The field separator of a CSV file.
        encoding: The encoding of a CSV file: ``utf-8``, ``latin-1`` or ``cp1252``.
        decimal: The decimal sign in a CSV file.
    """

    data: str
    table: str = ""
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def records(self) -> object:
        """Return the data in a form that `Session` takes.

        It is a path, a CSV file with its format, a table of a DuckDB database, or a table of an engine.
        """
        if not self.table:
            is_plain = (self.encoding, self.decimal) == ("utf-8", ".")
            return self.data if is_plain else CsvFile(self.data, self.delimiter, self.encoding, self.decimal)
        if self.data.lower().endswith(DUCKDB_ENDINGS):
            import duckdb

            return duckdb.connect(self.data, read_only=True).table(self.table)
        from dpcurves.records.engines import table_from_url

        return table_from_url(self.data, self.table)

    def count_units(self, unit: Unit) -> int:
        """Return the number of units, which is public under replace-one. This opens the records."""
        from dpcurves.records import open_records

        # The choice of a unit's records does not change the number of units, so any key will do.
        records = open_records(self.records(), unit=unit, key=bytes(32), delimiter=self.delimiter)
        try:
            return records.units()
        finally:
            records.close()

    def require_schema(self, unit: Unit, columns: Sequence[Declared]) -> None:
        """Refuse records that lack a declared column or the unit's column, or have it with another type.

        No rows are read, and the message does not list the existing columns: in a file without a header, the first line
        is a record.

        Raises:
            ValueError: A column is missing (the message names the first), or the records cannot be opened.
        """
        records = _open_records(self.records(), self.delimiter, unit)
        try:
            for column in columns:
                _require_column(records, column)
        finally:
            records.close()


class Datasets:
    """The registered datasets of a server and their budgets."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(
        self,
        who: Principal,
        account: Account,
        source: Source,
        columns: Sequence[Declared],
        *,
        name: str,
        relation: Relation,
        units: int | None,
        description: str = "",
    ) -> Dataset:
        """Register the first or the next version of a dataset.

        Arguments:
            who: The machine.
            account: The account, with protected unit and cap; the previous version's if the people are the same.
            source: The location of the records.
            columns: The public schema.
            name: The dataset.
            relation: The relation to the previous version.
            units: The public number of units, under replace-one.
            description: A public description.

        Raises:
            ProtocolError: The principal is not the machine, or the relation contradicts the version or the account.
            ValueError: The account exists with other declarations, or the records lack a declared column or the unit's.
        """
        require(who, Right.KEEP_DATASETS)
        require_name("dataset", name)
        source.require_schema(account.unit, columns)
        self._archive.ledger.create(account)
        stored = json.dumps(asdict(source))
        row = {
            "name": name, "account": account.dataset, "relation": relation.name, "source": stored, "units": units,
            "columns": json.dumps(declared_columns_to_json(columns)), "description": description,
            "made_at": format_now(),
        }  # fmt: skip

        def insert_version(connection: Connection) -> Row[Any]:
            """Store the next version, after checking that the relation fits the version and the account."""
            earlier = _find_latest(connection, name)
            if (earlier is None) != (relation is Relation.FIRST):
                rule = "use FIRST for the first version, and SAME_PEOPLE or OTHER_PEOPLE for later ones"
                raise ProtocolError("relation", rule)
            same_people = relation is Relation.SAME_PEOPLE
            if earlier is not None and (earlier.account == account.dataset) != same_people:
                raise ProtocolError(
                    "account",
                    "records of the same people keep the previous account, records of other people"
                    " need a new one; choose accordingly",
                )
            version = 1 if earlier is None else earlier.version + 1
            connection.execute(insert(DATASETS), {**row, "version": version})
            return _require_latest(connection, name)

        event = Event(who.name, "registered a version of dataset", name, name)
        return self._dataset_from_row(self._archive.run_logged(event, insert_version))

    def all(self, who: Principal) -> tuple[Dataset, ...]:
        """Return the current version of each dataset. Raises `ProtocolError` if the principal may not list datasets."""
        require(who, Right.SEE_DATASETS)
        rows = self._archive.read_snapshot(lambda connection: connection.execute(select(DATASETS)).all())
        latest = {row.name: row for row in sorted(rows, key=lambda row: (row.name, row.version))}
        return tuple(self._dataset_from_row(row) for row in latest.values())

    def get(self, who: Principal, name: str, version: int | None = None) -> Dataset:
        """Return the public facts of a version of a dataset.

        Args:
            who: The caller.
            name: Name of the dataset.
            version: The version; None: the current one.

        Raises:
            ProtocolError: the caller may not list datasets, or the version does not exist.
        """
        require(who, Right.SEE_DATASETS)
        return self._dataset_from_row(
            self._archive.read_snapshot(lambda connection: _require_version(connection, name, version))
        )

    def balance(self, who: Principal, name: str) -> Balance:
        """Return the spent and the remaining budget of a dataset's account.

        Raises:
            ProtocolError: The principal may not see the budget, or the dataset does not exist.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.balance(self._account(name))

    def statement(self, who: Principal, name: str) -> Statement:
        """Return all charges and allowances of a dataset's account.

        Raises:
            ProtocolError: The principal may not see the budget, or the dataset does not exist.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.statement(self._account(name))

    def views(self, who: Principal, name: str) -> dict[str, View]:
        """Return the views of a dataset, by name. They hold text, never data.

        They are stored with the account of the current version.

        Args:
            who: The caller.
            name: Name of the dataset.

        Raises:
            ProtocolError: the caller may not list datasets, or the dataset does not exist.
        """
        require(who, Right.SEE_DATASETS)
        return parse_view_definitions(self._archive.ledger.view_definitions(self._account(name)))

    def source(self, who: Principal, name: str, version: int) -> Source:
        """SECRET. Return the location of the records, for workers.

        Args:
            who: The caller, the machine.
            name: Name of the dataset.
            version: The version.

        Raises:
            ProtocolError: the caller is not the machine, or the version does not exist.
        """
        require(who, Right.KEEP_DATASETS)
        row = self._archive.read_snapshot(lambda connection: _require_version(connection, name, version))
        return Source(**json.loads(row.source))

    def _account(self, name: str) -> str:
        """Return the ledger's name of the account of a dataset's current version."""
        return str(self._archive.read_snapshot(lambda connection: _require_latest(connection, name)).account)

    def _dataset_from_row(self, row: Row[Any]) -> Dataset:
        """Return the public facts of one version of a dataset, from its database row."""
        columns = columns_from_json(json.loads(row.columns))
        account = self._archive.ledger.account(row.account)
        facts = (row.units, row.description, row.made_at)
        return Dataset(row.name, row.version, Relation[row.relation], account, columns, *facts)


def _find_latest(connection: Connection, name: str) -> Row[Any] | None:
    """Return the row of the current version of a dataset; None if it does not exist."""
    query = select(DATASETS).where(DATASETS.c.name == name).order_by(DATASETS.c.version.desc())
    return connection.execute(query).first()


def _require_latest(connection: Connection, name: str) -> Row[Any]:
    """Return the row of the current version of a dataset. Raises `ProtocolError` if it does not exist."""
    row = _find_latest(connection, name)
    if row is None:
        raise not_found("dataset")
    return row


def _require_version(connection: Connection, name: str, version: int | None) -> Row[Any]:
    """Return the row of a version, None: the current one. Raises `ProtocolError` if it does not exist."""
    if version is None:
        return _require_latest(connection, name)
    row = connection.execute(select(DATASETS).filter_by(name=name, version=version)).first()
    if row is None:
        raise not_found("dataset")
    return row
