"""Dataset registry of a verification server: public schemas, versions, budget accounts and the place of the records.

A dataset is a name with versions 1, 2, .... Each version is a table of confidential records, and its spending is
charged to an account of the privacy budget ledger. People who ask questions see the public facts only.

    Dataset     public facts of a version: declared columns, privacy unit, budget account, relation to the version
                before
    Source      SECRET: file path or engine URL of the records, which only the machine gets: its worker processes and
                its operators' commands
    Datasets    registers versions and looks them up; each method checks the caller's rights

Two versions may hold records of the same people. Then their losses add up (sequential composition), so both versions
are charged to one account. Versions about other people have an account each (see `Relation`).

Registering checks that the table has the declared columns with their types. The check reads the table's schema, never
its rows. Its messages name declared columns only, so they reveal no other column.
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
LOCATION_ARGUMENTS = ("data", "table", "delimiter")
"""Argument names of errors about where the records are. Such messages quote no contents of the table, so they are shown
unchanged; a message about another argument may list its columns, so a fixed text is shown in its place."""


def _open_records(data: object, delimiter: str, unit: Unit) -> Records:
    """Open the records of a table for checks of its schema; the caller closes them.

    Rows are not counted here, so the key that would choose among a unit's rows is 32 zero bytes.

    Args:
        data: Path, table or other records of the data set.
        delimiter: The field separator of a CSV file.
        unit: The privacy unit: its column must exist. Without a contribution bound (rows per unit), 1 is used.

    Raises:
        InvalidArgument: the records cannot be opened, or have no column of the unit. The message does not list the
            columns that exist.


    """
    from dpcurves.records import open_records

    schema_of = unit if unit.is_bounded else Unit(unit.column, 1)
    try:
        return open_records(data, unit=schema_of, key=bytes(32), delimiter=delimiter)
    except ArgumentError as error:
        if error.argument in LOCATION_ARGUMENTS:
            raise
        rule = f"the records have no column {unit.column!r} that names a unit; correct --unit, or the records"
    raise InvalidArgument("unit", rule, unit.column)


def _require_column(records: Records, declared: Declared) -> None:
    """Require that opened records have a declared column with its declared type, by their schema.

    Args:
        records: Records that `_open_records` opened.
        declared: A numeric column with its range, or a column of categories. A column with an unknown range may also
            be of dates.

    Raises `InvalidArgument` if the column is missing or has another type. The message does not list the columns that
    exist.
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
"""File name endings by which a path with a table name is opened as a DuckDB database; any other is taken as the URL of
an engine."""


class Relation(Enum):
    """Whose records a dataset version holds, compared with the version before it; this decides which account pays.

    Losses about the same people add up, so `SAME_PEOPLE` keeps the account of the previous version. Losses about other
    people do not, so `OTHER_PEOPLE` needs a new account. `BUDGET_RAISED` is for one-person use (`dpcurves try`): the
    earlier account was closed by a charge of the rest of its budget, and a further account pays (`local_budget`).
    """

    FIRST = "the first version"
    SAME_PEOPLE = "the same people: one account pays for both"
    OTHER_PEOPLE = "other people: a separate account"
    BUDGET_RAISED = "the same people, whose earlier account is closed: a further account pays"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The public facts of a version of a dataset.

    Attributes:
        name: Name of the dataset.
        version: The version number, from 1.
        relation: Whether the records are of the same people as the previous version's.
        account: The account of the privacy budget ledger that pays for answers, with privacy unit, neighbouring
            relation and cap (largest total loss).
        columns: The public schema: numeric columns with ranges, and columns of categories.
        units: The number of privacy units (such as people), which is public under replace-one; None under add-remove.
        description: A public description in words; may be empty.
        made_at: Time of registration, as ISO 8601 text in UTC.
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
        """Neighbouring relation under which all answers about this version of the dataset are private.

        It is an `AdjacencyWithoutBound` if the unit has no stated contribution bound (largest number of rows of a unit
        that are used). Then each question finds a bound with a part of its budget.
        """
        return self.account.neighbours.to_question_adjacency(self.account.unit, self.units)


@dataclass(frozen=True, slots=True)
class Source:
    """SECRET. The location of the records of a dataset version, which no person sees over the network.

    Attributes:
        data: Path of a file or of a DuckDB database, or the URL of a database engine (which may hold a password).
        table: Name of the table in the database; empty if `data` is a file of records.
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
        """Return the data in the form that `Session` takes as its data argument. No record is read.

        Returns:
            Without a table name: the path, or a `CsvFile` if encoding or decimal sign differ from the default. With a
            table name: the relation of a read-only DuckDB connection, or an `EngineTable`, which connects when it is
            opened.
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
        """Open the records and return the exact number of privacy units in them.

        Call this for replace-one only: there the number is public. Under add-remove it is confidential.

        Args:
            unit: The privacy unit. Without a column, each record is a unit.

        Raises:
            ValueError: The records cannot be opened, or lack the unit's column.
        """
        from dpcurves.records import open_records

        # The choice of a unit's records does not change the number of units, so any key will do.
        records = open_records(self.records(), unit=unit, key=bytes(32), delimiter=self.delimiter)
        try:
            return records.units()
        finally:
            records.close()

    def require_schema(self, unit: Unit, columns: Sequence[Declared]) -> None:
        """Require that the records have the unit's column, and each declared column with its declared type.

        Only the schema is read, never rows. Messages do not list the columns that exist: in a file without a header,
        those would be the fields of the first record.

        Args:
            unit: The privacy unit, whose column must exist.
            columns: The declared columns, checked in order.

        Raises:
            ValueError: A column is missing or has another type (the message names the first one), or the records cannot
                be opened.
        """
        records = _open_records(self.records(), self.delimiter, unit)
        try:
            for column in columns:
                _require_column(records, column)
        finally:
            records.close()


class Datasets:
    """The registered datasets of a verification server, and their accounts in the privacy budget ledger.

    Every method takes the caller as `who` and refuses callers without the right.

    Args:
        archive: The server's database, with the ledger.
    """

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
        """Register the first or the next version of a dataset, and write an audit event.

        The account is created in the ledger if it does not exist. It stays there if the relation is refused afterwards.

        Args:
            who: The machine (the operator's command line); no person may register datasets over the network.
            account: The budget account, with privacy unit and cap (largest total loss). If the people are the same, it
                must be the previous version's.
            source: The location of the records.
            columns: The public schema.
            name: Name of the dataset.
            relation: Whether the previous version has the same people; `Relation.FIRST` for version 1 only.
            units: The public number of privacy units under replace-one; None under add-remove.
            description: A public description in words.

        Returns:
            The public facts of the new version.

        Raises:
            ProtocolError: The caller is not the machine, or the relation contradicts the version or the account.
            ValueError: The name is invalid, the account exists with other declarations, or the records cannot be opened
                or lack a declared column or the unit's.
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
            """Store the next version of the data set, and return its row.

            Args:
                connection: Connection in the write transaction.

            Raises:
                ProtocolError: the stated relation between the people of this and the earlier version does not fit the
                    number of the version or the account.
            """
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
        """Return the public facts of the current version of each dataset, sorted by name; empty without datasets.

        Args:
            who: The caller.

        Raises:
            ProtocolError: The caller may not list datasets.
        """
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
        """Return the spent and the remaining budget of the account that pays for a dataset's current version.

        Args:
            who: The caller: the machine, an auditor, or a steward of the dataset.
            name: Name of the dataset.

        Raises:
            ProtocolError: The caller may not see the budget, or the dataset does not exist.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.balance(self._account(name))

    def statement(self, who: Principal, name: str) -> Statement:
        """Return all charges, and the allowances of projects, of the account of a dataset's current version.

        Args:
            who: The caller: the machine, an auditor, or a steward of the dataset.
            name: Name of the dataset.

        Raises:
            ProtocolError: The caller may not see the budget, or the dataset does not exist.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.statement(self._account(name))

    def views(self, who: Principal, name: str) -> dict[str, View]:
        """Return the views of a dataset by name: stored filters and derived columns, as text without data.

        Views are stored with the account of the current version. The result is empty if no view is stored.

        Args:
            who: The caller.
            name: Name of the dataset.

        Raises:
            ProtocolError: the caller may not list datasets, or the dataset does not exist.
        """
        require(who, Right.SEE_DATASETS)
        return parse_view_definitions(self._archive.ledger.view_definitions(self._account(name)))

    def source(self, who: Principal, name: str, version: int) -> Source:
        """SECRET. Return the location of the records of a version, for worker processes.

        Args:
            who: The caller, which must be the machine.
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
        """Return the public facts of one version of a dataset, from its database row.

        Args:
            row: Row of the table of datasets.
        """
        columns = columns_from_json(json.loads(row.columns))
        account = self._archive.ledger.account(row.account)
        facts = (row.units, row.description, row.made_at)
        return Dataset(row.name, row.version, Relation[row.relation], account, columns, *facts)


def _find_latest(connection: Connection, name: str) -> Row[Any] | None:
    """Return the database row of the current (highest) version of a dataset; None if no dataset has the name.

    Args:
        connection: Connection in a transaction.
        name: Name of the data set.
    """
    query = select(DATASETS).where(DATASETS.c.name == name).order_by(DATASETS.c.version.desc())
    return connection.execute(query).first()


def _require_latest(connection: Connection, name: str) -> Row[Any]:
    """Return the database row of the newest version of a data set.

    Args:
        connection: Connection in a transaction.
        name: Name of the data set.

    Raises:
        ProtocolError: no data set has this name (status 404).
    """
    row = _find_latest(connection, name)
    if row is None:
        raise not_found("dataset")
    return row


def _require_version(connection: Connection, name: str, version: int | None) -> Row[Any]:
    """Return the database row of a version of a data set; for None, of the newest version.

    Args:
        connection: Connection in a transaction.
        name: Name of the data set.
        version: Number of the version, from 1; None selects the newest.

    Raises:
        ProtocolError: the data set or this version does not exist (status 404).
    """
    if version is None:
        return _require_latest(connection, name)
    row = connection.execute(select(DATASETS).filter_by(name=name, version=version)).first()
    if row is None:
        raise not_found("dataset")
    return row
