"""The command ``dpcurves example``: write tables of made-up records, on which the commands of the documentation run.

``dpcurves example flights.csv`` writes one table and prints its number of records and its columns; without a file name
all tables are listed. `TABLES` has them by name (flights, people, cohort, patients and more), each with a function that
makes its columns from a fixed seed. The ending of the file name, ``.csv``, ``.parquet`` or ``.duckdb``, decides the
format. The records are random, so that they need no protection.

>>> list(TABLES["cohort"].columns())
['patient', 'age', 'risk', 'ill']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from .options import Argument, Command
from .terminal import Misuse, make_console, print_to_console

if TYPE_CHECKING:
    import numpy as np

SUFFIXES = (".csv", ".parquet", ".duckdb")
"""Endings of the files that ``dpcurves example`` writes: CSV, Parquet, or a DuckDB database with one table of the
file's name. Other endings are refused."""
Columns = dict[str, Any]
"""Arrays of equal length by column name."""


@dataclass(frozen=True)
class ExampleTable:
    """A table that can be written.

    Attributes:
        contents: What a record is.
        make_columns: Function that makes the columns from a seeded generator.
        seed: Seed of the generator.
    """

    contents: str
    make_columns: Callable[[np.random.Generator], Columns]
    seed: int = 2026

    def columns(self) -> Columns:
        """Return the columns of the table as arrays by name. They are equal in each call, because the seed is fixed."""
        from ..inference.simulation import example_generator

        return self.make_columns(example_generator(self.seed))


def example(
    *,
    files: Annotated[
        list[str], Argument(metavar="[FILE...]", help="Files to write, such as flights.csv or people.parquet.")
    ] = [],  # noqa: B006 - never changed; click passes a new list
) -> None:
    """Write example tables of made-up records, on which the commands of the documentation run.

    The ending chooses the format: .csv, .parquet or .duckdb. Without FILE all tables are listed with their columns.
    An existing file is not replaced.

    Example: dpcurves example flights.csv people.parquet
    """
    console = make_console()
    if not files:
        for name, table in TABLES.items():
            print_to_console(console, f"{name}: {table.contents}; {_describe_columns(table.columns())}")
        print_to_console(console, "Write one with: dpcurves example flights.csv")
        return
    tables = [(Path(file), _find_table(file)) for file in files]
    _require_new_files(files)
    for path, table in tables:
        columns = table.columns()
        try:
            write_table(path, columns)
        except OSError as error:
            reason = error.strerror or "the file system refused"
            raise Misuse("files", f"{str(path)!r} cannot be written ({reason}); name a file in your folder") from None
        print_to_console(console, f"written: {path}; made up, {_describe_columns(columns)}")


def _make_flights(rng: np.random.Generator) -> Columns:
    """Return 10,000 flights with their delays in minutes, and a model's probability of arriving late.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 10_000
    carriers = np.array(["UA", "AA", "DL", "B6"])
    origins = np.array(["EWR", "JFK", "LGA"])
    hour = rng.integers(5, 24, count)
    risk = 1 / (1 + np.exp(-(hour - 17) / 4 + rng.normal(0, 0.8, count)))  # more delays late in the day
    departure = np.round(rng.normal(-3, 5, count) + risk * rng.exponential(35, count)).astype(int)
    arrival = np.clip(departure + np.round(rng.normal(-6, 14, count)).astype(int), -80, 1200)
    return {
        "carrier": rng.choice(carriers, count, p=(0.4, 0.3, 0.2, 0.1)),
        "origin": rng.choice(origins, count),
        "tail": np.char.add("N", rng.integers(100, 900, count).astype(str)),
        "hour": hour,
        "dep_delay": departure,
        "arr_delay": arrival,
        "late": (arrival > 15).astype(int),
        "score": np.round(np.clip(0.75 * risk + rng.normal(0.02, 0.08, count), 0.001, 0.999), 4),
    }


def _make_people(rng: np.random.Generator) -> Columns:
    """Return 10,000 people with age, work, wage, illness, and months of observation.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 10_000
    age = np.clip(np.floor(rng.gamma(9, 5, count)), 0, 110).astype(int)
    occupations = np.array(["care", "craft", "farming", "office", "sales", "science", "transport"])
    risk = 1 / (1 + np.exp(-(age - 55) / 9))
    until = rng.exponential(70, count) * (1.2 - 0.6 * risk)
    observed = rng.uniform(6, 72, count)
    return {
        "person_id": np.arange(count),
        "age": age,
        "sex": rng.choice(np.array(["F", "M"]), count),
        "region": rng.choice(np.array(["north", "south", "east", "west"]), count),
        "occupation": rng.choice(occupations, count, p=(0.2, 0.15, 0.05, 0.25, 0.2, 0.05, 0.1)),
        "hours": rng.choice(np.array([20, 30, 40, 48]), count, p=(0.15, 0.2, 0.55, 0.1)),
        "wage": np.round(rng.lognormal(10.3, 0.6, count), -2).astype(int),
        "risk": np.round(risk, 4),
        "ill": (rng.random(count) < risk).astype(int),
        "months": np.floor(np.minimum(until, observed)).astype(int),
        "died": (until <= observed).astype(int),
        "weight": rng.choice(np.array([1.0, 2.0, 4.0]), count),
    }


def _make_cohort(rng: np.random.Generator) -> Columns:
    """Return 6,000 visits of 3,000 patients: two for each.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    age = np.clip(np.floor(rng.gamma(9, 5, 3_000)), 0, 110).astype(int).repeat(2)
    risk = 1 / (1 + np.exp(-(age - 50) / 8))
    ill = (rng.random(6_000) < risk).astype(int)
    return {"patient": np.arange(6_000) // 2, "age": age, "risk": np.round(risk, 4), "ill": ill}


def _make_patients(rng: np.random.Generator) -> Columns:
    """Return 4,000 patients of two arms with months until an event, its kind, and ages at entry and exit.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 4_000
    arm = rng.choice(np.array(["standard", "new"]), count)
    until = rng.exponential(40, count) * np.where(arm == "new", 1.4, 1.0)
    observed = rng.uniform(6, 60, count)
    died = (until <= observed).astype(int)
    months = np.floor(np.minimum(until, observed)).astype(int)
    kind = np.where(rng.random(count) < 0.6, "death", "relapse")
    entry = np.round(rng.uniform(60, 80, count), 1)
    last_visit = np.floor(months / 2)
    return {
        "arm": arm, "months": months, "died": died, "outcome": np.where(died == 1, kind, "none"),
        "age_in": entry, "age_out": np.round(entry + (months + 1) / 12, 1),
        "seen_without": last_visit, "seen_with": np.where(died == 1, last_visit + 3, np.inf),
    }  # fmt: skip


def _make_orders(rng: np.random.Generator) -> Columns:
    """Return 20,000 orders of 6,000 customers with their amounts.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 20_000
    amount = np.round(rng.lognormal(3.6, 0.9, count), 2)
    return {
        "customer": rng.integers(0, 6_000, count),
        "amount": np.where(rng.random(count) < 0.3, np.ceil(amount / 10) * 10 - 0.01, amount),  # prices such as 29.99
        "items": rng.geometric(0.4, count),
    }


def _make_events(rng: np.random.Generator) -> Columns:
    """Return a day of devices seen at three places: time, place and device.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 4_000
    places = np.array(["cafeteria", "gym", "library"])
    place = rng.integers(0, 3, count)
    spread = np.array([1.5, 2.5, 3.0])  # hours
    hour = np.clip(rng.normal(np.array([12.5, 18.0, 15.0])[place], spread[place]), 6, 21.99)
    seconds = np.sort(np.floor(3600 * hour).astype(int)) + 1_772_409_600  # midnight of 2026-03-02 in UTC
    return {"ts": seconds, "ap": places[place], "mac": np.char.add("m", rng.integers(0, 400, count).astype(str))}


def _make_scored(rng: np.random.Generator) -> Columns:
    """Return 5,000 records with a label, probabilities of three models, classes and times.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 5_000
    log_odds = rng.normal(-0.6, 1.4, count)
    late = (rng.random(count) < 1 / (1 + np.exp(-log_odds))).astype(int)
    models = {
        name: np.round(1 / (1 + np.exp(-log_odds + rng.normal(0, spread, count))), 4)
        for name, spread in (("p_late", 0.5), ("p_old", 1.5), ("p_new", 0.6), ("p_third", 2.5))
    }
    odds = np.exp(rng.normal(0, 1, (count, 3)))
    classes = odds / odds.sum(axis=1, keepdims=True)
    names = np.array(["a", "b", "c"])
    kind = names[(rng.random((count, 1)) > classes.cumsum(axis=1)).sum(axis=1).clip(0, 2)]
    until = rng.exponential(30, count) * np.exp(-0.4 * log_odds)
    observed = rng.uniform(6, 36, count)
    stage = 1 + (log_odds > -0.5).astype(int) + (log_odds > 1).astype(int)
    return {
        "late": late, **models, "risk": models["p_late"], "kind": kind,
        **{f"p_{name}": np.round(classes[:, index], 4) for index, name in enumerate(names)},
        "guess": names[classes.argmax(axis=1)], "stage": stage,
        "marker": np.round(np.clip(0.3 * stage + rng.normal(0, 0.2, count), 0, 1), 3),
        "months": np.floor(np.minimum(until, observed)).astype(int), "died": (until <= observed).astype(int),
    }  # fmt: skip


def _make_trial(rng: np.random.Generator) -> Columns:
    """Return 6,000 customers: whether they were written to, whether they bought, and a predicted gain.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 6_000
    gain = rng.uniform(0, 1, count)
    mailed = rng.integers(0, 2, count)
    bought = (rng.random(count) < 0.2 + 0.3 * gain * mailed).astype(int)
    return {"mailed": mailed, "bought": bought, "gain": np.round(gain, 3)}


def _make_fitted(rng: np.random.Generator) -> Columns:
    """Return 5,000 predicted and paid fares, with residuals and errors of three forecast quantiles.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    fare = np.round(rng.gamma(4, 5, 5_000), 2)
    error = np.round(rng.normal(0, 1 + fare / 10), 2)
    return {
        "fare": fare, "paid": np.round(fare + error, 2), "error": error,
        "e10": np.round(error + 1.3, 2), "e50": error, "e90": np.round(error - 1.3, 2),
    }  # fmt: skip


def _make_loans(rng: np.random.Generator) -> Columns:
    """Return 8,000 loans with the borrower's age, debt, a score, and whether a payment was late.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    count = 8_000
    age = rng.integers(18, 91, count)
    owed = np.round(rng.gamma(2, 800, count), 0).astype(int)
    score = 1 / (1 + np.exp(-(owed / 1500 - age / 40 + rng.normal(0, 0.4, count))))
    late = (rng.random(count) < score).astype(int)
    day = 1_767_571_200 + 86_400 * rng.integers(0, 357, count)  # days of 2026 from 5 January in UTC, in seconds
    return {"ts": np.sort(day), "age": age, "owed": owed, "score": np.round(score, 4), "late": late}


def _make_ages(rng: np.random.Generator) -> Columns:
    """Return the ages of 3,000 people.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    return {"age": np.clip(np.floor(rng.gamma(9, 5, 3_000)), 0, 110).astype(int)}


def _make_me(rng: np.random.Generator) -> Columns:
    """Return a table of one record: the age and score of one person.

    Args:
        rng: Random numbers, with a fixed seed.
    """
    import numpy as np

    return {"age": np.array([41]), "score": np.array([0.37])}


TABLES: Mapping[str, ExampleTable] = MappingProxyType({
    "flights": ExampleTable("flights, their delays, a model's score", _make_flights),
    "synthetic": ExampleTable("other flights of the same kind", _make_flights, seed=2027),
    "people": ExampleTable("people: age, work, wage, illness, months observed", _make_people),
    "ages": ExampleTable("ages of people", _make_ages),
    "cohort": ExampleTable("two visits of each patient", _make_cohort),
    "patients": ExampleTable("patients of a trial: times, events, visits", _make_patients),
    "orders": ExampleTable("orders of customers, some with many", _make_orders),
    "events": ExampleTable("devices seen at three places on one day", _make_events),
    "scored": ExampleTable("labels with the scores of several models", _make_scored),
    "trial": ExampleTable("treated and untreated customers", _make_trial),
    "fitted": ExampleTable("predicted and paid fares", _make_fitted),
    "loans": ExampleTable("loans of a year with a score", _make_loans),
    "me": ExampleTable("one person's record", _make_me),
})  # fmt: skip
"""Example tables by the stem of their file names: ``dpcurves example flights.csv`` writes the table ``flights``."""


@cache
def list_names() -> str:
    """Return the names of all example tables as a list in words."""
    *names, last = TABLES
    return f"{', '.join(names)} or {last}"


def _describe_columns(columns: Columns) -> str:
    """Return the number of records and the names of the columns as text, such as "3,000 records; age".

    Args:
        columns: Columns of the table by name.
    """
    records = len(next(iter(columns.values())))
    return f"{records:,} record{'s' if records > 1 else ''}; {', '.join(columns)}"


def _find_table(file: str) -> ExampleTable:
    """Return the example table with this file name.

    Args:
        file: Path as the user typed it; its stem is the name of the table.

    Raises:
        Misuse: there is no table of this name, or the ending is not supported.
    """
    path = Path(file)
    if path.suffix not in SUFFIXES:
        raise Misuse("files", f"{file!r} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, as in flights.csv")
    if path.stem not in TABLES:
        raise Misuse("files", f"{file!r} is not an example table; name {list_names()}, as in flights.csv")
    return TABLES[path.stem]


def _require_new_files(files: Sequence[str]) -> None:
    """Refuse files that exist, files that are named twice, and folders that do not exist.

    Args:
        files: Paths of the files to write, as typed.

    Raises:
        Misuse: one of these is the case. Nothing is written then.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise Misuse("files", f"{str(path)!r} exists and is not replaced; remove it or name another folder")
        if not path.absolute().parent.is_dir():
            raise Misuse("files", f"the folder of {str(path)!r} does not exist; make it first")
    if len({path.absolute() for path in paths}) < len(paths):
        raise Misuse("files", "a file is named twice; name each once")


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to a new CSV or Parquet file, or to a DuckDB database with a table named as the file's stem.

    Args:
        path: The file, whose ending decides the format.
        columns: Arrays of equal length by column name.

    Raises:
        OSError: the file cannot be written.
    """
    import duckdb

    database = str(path) if path.suffix == ".duckdb" else ":memory:"
    try:
        with duckdb.connect(database) as connection:
            scanned = ", ".join(f'unnest($columns."{name}") AS "{name}"' for name in columns)
            query = f"SELECT {scanned}"
            values = {"columns": {name: array.tolist() for name, array in columns.items()}}
            connection.execute(f'CREATE TABLE "{path.stem}" AS {query}', values)
            if path.suffix != ".duckdb":
                kind = "CSV, HEADER" if path.suffix == ".csv" else "PARQUET"
                escaped = str(path).replace("'", "''")
                connection.execute(f"COPY \"{path.stem}\" TO '{escaped}' (FORMAT {kind})")
    except duckdb.IOException as error:
        raise OSError(None, "DuckDB cannot write there") from error


EXAMPLE_COMMANDS: Mapping[str, Command] = MappingProxyType({"example": example})
"""Commands that write example tables, by name: ``dpcurves example``."""
