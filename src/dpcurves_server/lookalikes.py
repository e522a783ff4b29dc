"""Leak check of uploaded synthetic tables: are many of their rows rows of the confidential table?

A synthetic table holds made-up rows for analysts to practise on. A steward (who manages the dataset) uploads it, and by
picking the wrong file would publish all records. So `compare_tables` compares each upload with the confidential table
and returns one of four words (`Resemblance`), never a number. It runs in a separate process, because the serving
process opens no records.

Formal guarantees: none towards the steward. Whether rows are equal is an exact answer about records, so it is kept
coarse:

    EQUAL        the same file, or the same rows; the upload is refused
    SIMILAR      the upload has 100 rows or more, and at least half of its rows, or of the confidential rows (of 100 or
                 more), are equal
    UNCLEAR      the schema has few combinations of values, so that honest tables share most rows; or no comparison ran
    DIFFERENT    every other upload

A schema of few combinations is always UNCLEAR, so a record cannot be found by trying uploads. The word
goes into the log.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

from dpcurves.curves.question_json import declared_columns_to_json
from dpcurves.data import Categories

from .datasets import Source
from .declared_columns import PARQUET_MAGIC, Declared, columns_from_json, has_text_categories, has_unknown_categories

MEMORY_BYTES = 3 * 2**30
"""Limit of the address space of the comparing process in bytes, libraries included; a larger allocation fails."""


class Resemblance(Enum):
    """How an uploaded table resembles the confidential one; the module docstring defines the four words."""

    EQUAL = "equal"
    SIMILAR = "similar"
    UNCLEAR = "unclear"
    DIFFERENT = "different"


def compare_tables(upload: bytes, packed: bytes, columns: Sequence[Declared], source: Source) -> Resemblance:
    """Compare an uploaded table with the registered (confidential) one, in a child process.

    This process opens no record.

    Args:
        upload: The file as it was sent.
        packed: Its declared columns as Parquet, from `pack_table`.
        columns: The public schema.
        source: The location of the confidential records.

    Returns:
        The resemblance; `UNCLEAR` if the comparing process fails or takes more than 120 seconds.
    """
    facts = {
        "source": asdict(source), "columns": declared_columns_to_json(columns), "length": len(upload),
        "digest": sha256(upload).hexdigest(),
    }  # fmt: skip
    command = [sys.executable, "-m", "dpcurves_server.lookalikes"]
    message = json.dumps(facts).encode() + b"\n" + packed
    try:
        # 120 seconds, after which a comparison is aborted
        process = subprocess.run(command, input=message, capture_output=True, timeout=120, check=True)
        return Resemblance(process.stdout.decode())
    except (subprocess.SubprocessError, ValueError):
        return Resemblance.UNCLEAR


def judge_rows(uploaded: int, registered: int, common: int, columns: Sequence[Declared]) -> Resemblance:
    """Return the resemblance of two tables, from numbers of rows.

    Args:
        uploaded: Rows of the upload.
        registered: Rows of the confidential table.
        common: Rows that are in both, each as often as in the table where it is rarer.
        columns: The public schema.

    >>> judge_rows(8, 8, 8, ()), judge_rows(99, 200, 99, ())
    (<Resemblance.UNCLEAR: 'unclear'>, <Resemblance.UNCLEAR: 'unclear'>)
    >>> from dpcurves.models import NumericColumn
    >>> numbers = [NumericColumn("delay", 0, 1)]
    >>> [judge_rows(uploaded, 200, 200, numbers).value for uploaded in (200, 300, 10_000)]
    ['equal', 'similar', 'similar']
    """
    if not _has_many_combinations(columns):
        return Resemblance.UNCLEAR
    if uploaded == registered == common:
        return Resemblance.EQUAL
    # share of equal rows, of either table, from which the steward is warned: a copy among other rows is a copy
    large_share = 0.5
    # rows of a table from which its share of equal rows is computed: a smaller one would ask about single people
    least_rows = 100
    smaller = min(uploaded, max(registered, least_rows))
    is_similar = uploaded >= least_rows and common >= large_share * smaller
    return Resemblance.SIMILAR if is_similar else Resemblance.DIFFERENT


def _has_many_combinations(columns: Sequence[Declared]) -> bool:
    """Return True if a schema allows enough different rows that two honest tables share few.

    That is so for a column of numbers or of unlisted categories, or for more than 10,000 combinations of categories.

    Args:
        columns: Declared columns of the schema.
    """
    if any(not isinstance(column, Categories) or has_unknown_categories(column) for column in columns):
        return True
    # 10_000: combinations of declared categories up to which honest tables share nearly every row
    return prod(len(column.values) for column in columns if isinstance(column, Categories)) > 10_000


def main() -> None:
    """Run the comparing process: read facts (JSON, one line) and a Parquet table on standard input, print the result.

    The result is the value of a `Resemblance`. A limit of memory is set before the input is read.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    head, _, packed = sys.stdin.buffer.read().partition(b"\n")
    facts = json.loads(head)
    source = Source(**facts["source"])
    columns = columns_from_json(facts["columns"])
    sys.stdout.write(_compare(source, columns, packed, facts["length"], facts["digest"]).value)


def _compare(source: Source, columns: Sequence[Declared], packed: bytes, length: int, digest: str) -> Resemblance:
    """SENSITIVE: compare an uploaded file with the registered table: first the bytes, then the rows.

    Args:
        source: The location of the confidential records.
        columns: The public schema.
        packed: The upload as Parquet.
        length: Length of the upload as it was sent, in bytes.
        digest: SHA-256 of the upload as it was sent, in hexadecimal digits.

    Returns:
        The resemblance; `UNCLEAR` if the table is in an engine, or the columns have too few combinations to distinguish
        copies from chance.
    """
    path = Path(source.data)
    if source.table or not path.is_file():  # in an engine, where its rows stay
        return Resemblance.UNCLEAR
    if path.stat().st_size == length and sha256(path.read_bytes()).hexdigest() == digest:
        return Resemblance.EQUAL
    if not _has_many_combinations(columns):
        return Resemblance.UNCLEAR
    counts = [_count_rows(path, source.delimiter, columns, packed, rounding) for rounding in ROUNDINGS]
    return judge_rows(*max(counts, key=lambda rows: rows[2]), columns)


ROUNDINGS = "TRY_CAST({} AS FLOAT)", "printf('%.4e', {} + 0.0)"
"""SQL expressions that round a number before rows are compared, so that a copy is recognised in single precision
(first) and if it was printed with few digits (second). The one with more matches counts."""


def _count_rows(
    path: Path, delimiter: str, columns: Sequence[Declared], packed: bytes, rounding: str
) -> tuple[int, int, int]:
    """SENSITIVE: count the rows that an upload and the registered table have in common, after rounding.

    Args:
        path: File of the registered table, CSV or Parquet.
        delimiter: Field separator of a CSV file.
        columns: The public schema.
        packed: The upload as Parquet.
        rounding: One of `ROUNDINGS`.

    Returns:
        Numbers of rows of the upload, of the registered table, and of both, each as often as in the table where it is
        rarer.
    """
    from io import BytesIO

    import duckdb
    from pyarrow import parquet

    database = duckdb.connect(config={"memory_limit": "1GB", "threads": 1})
    database.register("upload", parquet.read_table(BytesIO(packed)))
    with path.open("rb") as file:
        is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    file_name = _quote(str(path), "'")
    options = f"all_varchar=true, header=true, delim={_quote(delimiter, chr(39))}"
    registered = f"read_parquet({file_name})" if is_parquet else f"read_csv({file_name}, {options})"
    selected = ", ".join(f"{_normalise(column, rounding)} AS c{number}" for number, column in enumerate(columns))
    equal = " AND ".join(f"a.c{number} IS NOT DISTINCT FROM b.c{number}" for number in range(len(columns)))
    database.execute(f"CREATE TABLE a AS SELECT {selected}, count(*) AS n FROM upload GROUP BY ALL")
    database.execute(f"CREATE TABLE b AS SELECT {selected}, count(*) AS n FROM {registered} GROUP BY ALL")
    counts = [database.execute(f"SELECT coalesce(sum(n), 0) FROM {name}").fetchone() for name in ("a", "b")]
    common = f"SELECT coalesce(sum(least(a.n, b.n)), 0) FROM a JOIN b ON {equal}"
    counts.append(database.execute(common).fetchone())
    uploaded, registered_rows, both = (int(row[0]) for row in counts if row is not None)
    return uploaded, registered_rows, both


def _normalise(column: Declared, rounding: str) -> str:
    """Return an SQL expression of a column in comparable form.

    Args:
        column: The declared column.
        rounding: One of `ROUNDINGS`.

    Returns:
        SQL of rounded numbers; for a column with text categories, of texts in Unicode form NFC without spaces around.
    """
    name = _quote(str(column.column), '"')
    text = f"nfc_normalize(trim(CAST({name} AS VARCHAR)))"
    if isinstance(column, Categories) and has_text_categories(column):
        return text
    as_truth = f"CASE lower({text}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
    return rounding.format(f"coalesce(TRY_CAST({text} AS DOUBLE), {as_truth})")


def _quote(text: Any, mark: str) -> str:
    """Return a text as an SQL literal or name in quotation marks, marks inside it doubled.

    >>> _quote("it's", "'")
    "'it''s'"
    """
    return mark + str(text).replace(mark, 2 * mark) + mark


if __name__ == "__main__":
    main()
