"""Datasets: a public schema and versions of the records, with the check that a table has the declared columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, select

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.curves.question_json import declared_columns_to_json
from dpcurves.data import Axis, Categories, Grid
from dpcurves.ledger import Account, Balance, Event, Statement
from dpcurves.ledger.account import require_name
from dpcurves.privacy import Adjacency, AdjacencyWithoutBound, Unit
from dpcurves_parties.serving.messages import ProtocolError

from .declared_columns import Declared, columns_from_json
from .store import DATASETS, Archive, format_now
from .visitors import Right, Subject, Visitor, not_found, require

if TYPE_CHECKING:
    from dpcurves.records.counting import Records


# Schema check: a registered table has the columns and types that were declared. Reads the schema alone.
PLACES = ("data", "table", "delimiter")
"""The argument of errors about where records lie, not about what is in them."""


def _open_records(data: object, delimiter: str, unit: Unit) -> Records:
    from dpcurves.records import open_records

    schema_of = unit if unit.is_bounded else Unit(unit.column, 1)
    try:
        return open_records(data, unit=schema_of, key=bytes(32), delimiter=delimiter)
    except ArgumentError as error:
        if error.argument in PLACES:
            raise
        rule = f"the records have no column {unit.column!r} that names a unit"
    raise InvalidArgument("unit", rule, unit.column)


def _require_column(records: Records, declared: Declared) -> None:
    name = str(declared.column)
    axis = declared if isinstance(declared, Categories) else Axis(name, Grid(declared.lower, declared.upper, cells=1))
    try:
        records.check([axis])
        return
    except ArgumentError:
        kind = "categories" if isinstance(declared, Categories) else "numbers"
    raise InvalidArgument("schema", f"the records have no column {name!r} of {kind}, as declared", name)


class Relation(Enum):
    """The relation of a dataset version to the version before it."""

    FIRST = "the first version"
    SAME_PEOPLE = "the same people: one account pays for both"
    OTHER_PEOPLE = "other people: an account of its own"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A version of a dataset: public facts alone.

    Attributes:
        name: What it is called.
        version: Counted from 1.
        relation: What it has to do with the version before.
        account: Its account in the ledger: who is protected, and the cap.
        columns: The public schema: numbers with their ranges, and categories.
        units: The public number of units, under replace-one.
        description: What it is.
        made_at: When it was registered.
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
        """Under which neighbours all is released; where no bound of rows is stated, each question finds one."""
        return self.account.neighbours.to_question_adjacency(self.account.unit, self.units)


@dataclass(frozen=True, slots=True)
class Source:
    """SECRET to all but the machine: where the records of a version lie.

    Attributes:
        data: A path, or the URL of an engine.
        table: The table of an engine; empty: it is a file.
        delimiter: What separates the fields of a CSV file.
    """

    data: str
    table: str = ""
    delimiter: str = ","

    def records(self) -> object:
        """The table that a session opens."""
        if not self.table:
            return self.data
        from dpcurves.records.engines import table_from_url

        return table_from_url(self.data, self.table)

    def require_schema(self, unit: Unit, columns: Sequence[Declared]) -> None:
        """Refuse records without a column that is declared, or the unit's, or with one of another kind.

        No row is looked at, and what the records have instead is not said: the first line of a file without a header is
        somebody's.

        Raises:
            ValueError: names the first declared column that is not there, or that the records can not be opened.
        """
        records = _open_records(self.records(), self.delimiter, unit)
        try:
            for each in columns:
                _require_column(records, each)
        finally:
            records.close()


class Datasets:
    """The registered datasets of a server, and the budget each has spent."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def add(
        self,
        who: Visitor,
        account: Account,
        source: Source,
        columns: Sequence[Declared],
        *,
        name: str,
        relation: Relation,
        units: int | None,
        description: str = "",
    ) -> Dataset:
        """Register a version: the first one of a name, or the next one.

        Arguments:
            who: The machine.
            account: Who is protected, and the cap: the account of the version before, where the people are the same.
            source: Where the records lie.
            columns: The public schema.
            name: The dataset.
            relation: What it has to do with the version before.
            units: The public number of units, under replace-one.
            description: What it is, in public.

        Raises:
            ProtocolAborted: they may not, or the relation is not that of this version.
            ValueError: the account was opened under other facts, or the records lack a column that is declared, or the
                unit's; what they have instead is not said.
        """
        require(who, Right.KEEP_DATASETS)
        require_name("dataset", name)
        source.require_schema(account.unit, columns)
        self._archive.ledger.create(account)
        stored = json.dumps({"data": source.data, "table": source.table, "delimiter": source.delimiter})
        facts = {
            "name": name, "account": account.dataset, "relation": relation.name, "source": stored, "units": units,
            "columns": json.dumps(declared_columns_to_json(columns)), "description": description, "made_at": format_now(),
        }  # fmt: skip

        def insert_version(connection: Connection) -> Row[Any]:
            earlier = _find_latest(connection, name)
            if (earlier is None) != (relation is Relation.FIRST):
                rule = "the first version is FIRST; a later one says whether people are the same"
                raise ProtocolError("relation", rule)
            same_people = relation is Relation.SAME_PEOPLE
            if earlier is not None and (earlier.account == account.dataset) != same_people:
                raise ProtocolError("account", "the same people have one account, other people another one")
            version = 1 if earlier is None else earlier.version + 1
            connection.execute(insert(DATASETS), {**facts, "version": version})
            return _require_latest(connection, name)

        event = Event(who.name, "registered a version of dataset", name, name)
        return self._dataset_from_row(self._archive.run_logged(event, insert_version))

    def all(self, who: Visitor) -> tuple[Dataset, ...]:
        """The present version of each dataset. Raises `ProtocolError`."""
        require(who, Right.SEE_DATASETS)
        rows = self._archive.read_snapshot(lambda connection: connection.execute(select(DATASETS)).all())
        latest = {row.name: row for row in sorted(rows, key=lambda row: (row.name, row.version))}
        return tuple(self._dataset_from_row(row) for row in latest.values())

    def get(self, who: Visitor, name: str, version: int | None = None) -> Dataset:
        """A version of a dataset; None stands for the current one.

        Raises:
            ProtocolAborted: they may not, or there is none.
        """
        require(who, Right.SEE_DATASETS)
        return self._dataset_from_row(
            self._archive.read_snapshot(lambda connection: _require_version(connection, name, version))
        )

    def balance(self, who: Visitor, name: str) -> Balance:
        """The spent and the remaining budget of a dataset's account.

        Raises:
            ProtocolAborted: they may not, or there is none.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.balance(self._account(name))

    def statement(self, who: Visitor, name: str) -> Statement:
        """Every charge of a dataset's account, and its allowances.

        Raises:
            ProtocolAborted: they may not, or there is none.
        """
        require(who, Right.SEE_BUDGETS, Subject(name))
        return self._archive.ledger.statement(self._account(name))

    def source(self, who: Visitor, name: str, version: int) -> Source:
        """SECRET. Where the records lie: for workers.

        Raises:
            ProtocolAborted: they are not the machine, or there is none.
        """
        require(who, Right.KEEP_DATASETS)
        row = self._archive.read_snapshot(lambda connection: _require_version(connection, name, version))
        return Source(**json.loads(row.source))

    def _account(self, name: str) -> str:
        return str(self._archive.read_snapshot(lambda connection: _require_latest(connection, name)).account)

    def _dataset_from_row(self, row: Row[Any]) -> Dataset:
        columns = columns_from_json(json.loads(row.columns))
        account = self._archive.ledger.account(row.account)
        facts = (row.units, row.description, row.made_at)
        return Dataset(row.name, row.version, Relation[row.relation], account, columns, *facts)


def _find_latest(connection: Connection, name: str) -> Row[Any] | None:
    query = select(DATASETS).where(DATASETS.c.name == name).order_by(DATASETS.c.version.desc())
    return connection.execute(query).first()


def _require_latest(connection: Connection, name: str) -> Row[Any]:
    row = _find_latest(connection, name)
    if row is None:
        raise not_found("dataset")
    return row


def _require_version(connection: Connection, name: str, version: int | None) -> Row[Any]:
    if version is None:
        return _require_latest(connection, name)
    row = connection.execute(select(DATASETS).filter_by(name=name, version=version)).first()
    if row is None:
        raise not_found("dataset")
    return row
