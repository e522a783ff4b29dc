"""A table or view of PostgreSQL, named: where it lies, and what is looked at before a row is."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpcurves.arguments import Refused, require_kind
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records.engines.engine import CountingEngine
from dpcurves.records.engines.handle import EngineTable

THERE, HERE = "there", "here"


def postgres(url: str, *, table: str, ranking: str = THERE) -> PostgresTable:
    """A table or view of PostgreSQL, counted there; give it to a `Session` in the place of a file.

    Args:
        url: ``postgresql://reader@host/database``; what it leaves out, libpq finds where it always does (PGPASSWORD,
            ``~/.pgpass``, a service). TLS is demanded off loopback.
        table: Its name, as in ``schema.table``. A query is taken as a view: its owner answers for it that no row makes
            it fail.
        ranking: Where the rows of a unit are ranked that has more than are used: ``there``, under a secret key that
            travels as a parameter, or ``here``, where all rows are read over the connection.

    Raises:
        TypeError, ValueError: the URL or the name is no text, or `ranking` is another word.

    >>> postgres("postgresql://reader:password@localhost/db", table="clinic.visits")
    postgres(table='clinic.visits')
    """
    require_kind("table", table, str, "the name of a table or view, as clinic.visits,")
    require_kind("data", url, str, "a URL, as postgresql://reader@host/database,")
    if ranking not in (THERE, HERE):
        raise Refused("ranking", f"{THERE} or {HERE} is needed")
    return PostgresTable(url, table, ranking)


@dataclass(frozen=True, slots=True, repr=False)
class PostgresTable(EngineTable):
    """The location of a PostgreSQL table. The URL, which may hold a password, is never shown."""

    url: str = field(repr=False)
    table: str
    ranking: str

    def __repr__(self) -> str:
        return f"postgres(table={self.table!r}{', ranking=' + repr(HERE) if self.ranking == HERE else ''})"

    @property
    def engine(self) -> str:
        return "PostgreSQL" if self.ranking == THERE else "PostgreSQL, ranked here"

    def open(self, unit: Unit, key: bytes) -> CountingEngine:
        from .postgres_engine import PostgresEngine
        from .postgres_link import Link
        from .postgres_rows import StreamedEngine
        from .postgres_table import found_table

        link = Link(self.url)
        try:
            table = found_table(link, self.table)
            if unit != EACH_RECORD and self.ranking == HERE:
                return StreamedEngine(link, table, unit, key)
            return PostgresEngine(link, table, unit, key)
        except BaseException:
            link.close()
            raise
