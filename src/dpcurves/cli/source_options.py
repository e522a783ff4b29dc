"""Options for the data source: a file, or a database engine that counts records in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from .refusal import Misuse

POSTGRES = ("postgresql://", "postgres://")
SPARK = "sc://"
ENGINES = (*POSTGRES, SPARK)


@dataclass(frozen=True)
class SourceOptions:
    """Options for a table in a file, or in a database engine that counts its records in place."""

    data: Annotated[
        str, Argument(metavar="DATA", help="A CSV file with a header, a Parquet file, or postgresql://reader@host/db.")
    ]
    delimiter: Annotated[str, Option(help="What separates the fields of a CSV file.", metavar="SIGN")] = ","
    table: Annotated[
        str | None, Option(help="The table or view, where DATA is the URL of a database.", metavar="SCHEMA.TABLE")
    ] = None

    @property
    def is_file(self) -> bool:
        """True if the table is a file."""
        return not self.data.startswith(ENGINES)

    def records(self) -> object:
        """Data source for a session: the file's name, or the table of an engine.

        Raises:
            Misuse: a table was named for a file, or none for a database.
        """
        if self.is_file:
            if self.table is not None:
                raise Misuse("table", "it names a table of a database; DATA is no URL of a database")
            return self.data
        if self.table is None:
            raise Misuse("table", "say which table or view of the database is asked, as in --table clinic.visits")
        from ..records.engines import table_at

        return table_at(self.data, self.table)
