"""Synthetic tables: what analysts work on, and what is said of how private it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet
from sqlalchemy import Connection, Row, delete, insert, select

from ..arguments import Refused
from ..ledger import Event
from ..ledger.stored_text import require_name
from ..serving.errors import ProtocolAborted
from .archive import Archive
from .datasets import Dataset
from .dummy import MOST_ROWS, USUAL_ROWS, dummy_table
from .recent import Recent
from .store import now
from .tables import SYNTHETIC
from .visitors import Right, Visitor, require

LARGEST = 2**26
"""Octets of a table, packed."""
SHOWN_ROWS = 1000
"""Rows of the dummy table that are sent."""
_READ = Recent[Any](most=2)
NO_TABLE = "a CSV or Parquet file is needed that can be read whole"


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A table that stands beside the confidential one.

    Attributes:
        statement: How private it is, as whoever made it says.
        packed: The table, as Parquet.
        digest: What tells it from all others.
    """

    statement: str
    packed: bytes = field(repr=False, compare=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", sha256(self.packed).hexdigest())

    @property
    def table(self) -> Any:
        """The table."""
        return _READ.get(self.digest, lambda: parquet.read_table(BytesIO(self.packed)))

    def csv(self) -> bytes:
        """The table as a CSV file."""
        return _as_csv(self.table)


class SyntheticTables:
    """Keeps at most one synthetic table for each version of a dataset."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def put(self, who: Visitor, dataset: Dataset, file: Path, statement: str) -> None:
        """Take a table in, in the place of the one that was there.

        Raises:
            ProtocolAborted: they are not the machine, or it is no table of this dataset, or too large.
            ValueError: nothing is said of how private it is.
        """
        require(who, Right.KEEP_DATASETS)
        require_name("statement", statement)
        packed = _packed(file, [str(each.column) for each in dataset.columns])
        mine = {"dataset": dataset.name, "version": dataset.version}

        def work(connection: Connection) -> None:
            connection.execute(delete(SYNTHETIC).filter_by(**mine))
            connection.execute(insert(SYNTHETIC), {**mine, "statement": statement, "packed": packed, "made_at": now()})

        event = Event(who.name, "put a synthetic table beside", f"{dataset.name} {dataset.version}", dataset.name)
        self._archive.enter(event, work)

    def is_there(self, who: Visitor, dataset: str, version: int) -> bool:
        """Whether a version has a table; it is not read.

        Raises:
            ProtocolAborted: they may not see datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC.c.made_at).filter_by(dataset=dataset, version=version)
        return self._archive.read(lambda connection: connection.execute(query).first()) is not None

    def find(self, who: Visitor, dataset: str, version: int) -> Synthetic | None:
        """The table of a version, if there is one.

        Raises:
            ProtocolAborted: they may not see datasets.
        """
        require(who, Right.SEE_DATASETS)
        query = select(SYNTHETIC).filter_by(dataset=dataset, version=version)
        row: Row[Any] | None = self._archive.read(lambda connection: connection.execute(query).first())
        return None if row is None else Synthetic(row.statement, row.packed)

    def dummy_csv(self, dataset: Dataset) -> bytes:
        """Some rows of the dummy table of a dataset, as a CSV file."""
        rows = min(dataset.units or USUAL_ROWS, SHOWN_ROWS)
        return _as_csv(dummy_table(dataset.columns, rows))


def rows_of(dataset: Dataset) -> int:
    """Rows of the table on which questions are tried: as many as there are units, where that is public."""
    return min(dataset.units or USUAL_ROWS, MOST_ROWS)


def _packed(file: Path, columns: list[str]) -> bytes:
    try:
        table = parquet.read_table(file) if file.suffix.lower() == ".parquet" else csv.read_csv(file)
    except (OSError, pa.ArrowException):
        raise Refused("synthetic", NO_TABLE) from None
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise Refused("synthetic", f"it lacks the column {missing[0]!r} of the dataset")
    drain = BytesIO()
    parquet.write_table(table.select(columns), drain, compression="zstd")
    if drain.tell() > LARGEST:
        raise ProtocolAborted("synthetic", f"packed, at most {LARGEST} octets are taken", 413)
    return drain.getvalue()


def _as_csv(table: Any) -> bytes:
    drain = BytesIO()
    csv.write_csv(table, drain)
    return drain.getvalue()
