"""Ten tables of different kinds, made up, with other names of columns for each seed; and how a newcomer asks each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 4000
WORDS = ("alpha", "bravo", "kilo", "lima", "oscar", "papa", "sierra", "tango", "zulu", "über")


@dataclass(frozen=True)
class AskedTable:
    """A table, and what a newcomer knows and asks of it.

    Attributes:
        path: What is typed after the command.
        picture: The picture that is chosen.
        fields: The column of each field of the question.
        numbers: The columns of numbers, of which no range is known.
        categories: The categories of the other columns.
        unit: The column of persons; empty if each row is one.
    """

    path: Path
    picture: str
    fields: Mapping[str, str]
    numbers: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""


class TableMaker:
    """Writes the tables of one seed into a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self.draws = folder, np.random.default_rng(seed)
        self._names = [f"{a} {b}" if seed % 2 else f"{a}_{b}" for a in WORDS for b in WORDS if a != b]
        self.draws.shuffle(self._names)

    def name(self) -> str:
        """Return a name that was not used before."""
        return self._names.pop()

    def path(self, ending: str) -> Path:
        return self._folder / f"{self.name()}{ending}"

    def csv(self, columns: Mapping[str, Any], delimiter: str = ",", encoding: str = "utf-8") -> Path:
        path = self.path(".csv")
        lines = [
            delimiter.join(columns),
            *(delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n", encoding=encoding)
        return path


def make_decimal_commas(maker: TableMaker) -> AskedTable:
    amount = maker.name()
    texts = [f"{value:.2f}".replace(".", ",") for value in maker.draws.gamma(2, 900, ROWS)]
    path = maker.csv({amount: texts, maker.name(): ["x"] * ROWS}, ";", "cp1252")
    return AskedTable(path, "Distribution", {"column": amount}, (amount,))


def make_dates(maker: TableMaker) -> AskedTable:
    day = maker.name()
    days = np.datetime64("2024-01-01") + maker.draws.integers(0, 700, ROWS)
    return AskedTable(maker.csv({day: days}), "Distribution", {"column": day}, (day,))


def make_texts(maker: TableMaker) -> AskedTable:
    ward = maker.name()
    path = maker.csv({ward: maker.draws.choice(["north", "south", "east"], ROWS), maker.name(): ["?"] * ROWS}, "\t")
    return AskedTable(path, "Bar chart of categories", {"column": ward}, (), {ward: "north, south, east"})


def make_million_rows(maker: TableMaker) -> AskedTable:
    wage = maker.name()
    path = maker.path(".parquet")
    pq.write_table(pa.table({wage: maker.draws.lognormal(10, 1, 10**6)}), path)
    return AskedTable(path, "Median and quantiles", {"column": wage}, (wage,))


def make_visits(maker: TableMaker) -> AskedTable:
    person, length = maker.name(), maker.name()
    people = np.repeat(np.arange(ROWS // 4), 4)
    return AskedTable(maker.csv({person: people, length: maker.draws.gamma(3, 5, ROWS)}), "Histogram, also by group",
                      {"column": length}, (length,), unit=person)  # fmt: skip


def make_database(maker: TableMaker) -> AskedTable:
    height, path = maker.name(), maker.path(".duckdb")
    with duckdb.connect(str(path)) as connection:
        people = pa.table({height: maker.draws.normal(170, 9, ROWS)})  # noqa: F841
        connection.execute(f'CREATE TABLE "{maker.name()}" AS SELECT * FROM people')
    return AskedTable(path, "Mean, also by group", {"column": height}, (height,))


def make_spark_folder(maker: TableMaker) -> AskedTable:
    distance, path = maker.name(), maker.path(".parquet")
    path.mkdir()
    (path / "_SUCCESS").write_text("")
    for part in range(3):
        table = pa.table({distance: maker.draws.exponential(9, ROWS // 3)})
        pq.write_table(table, path / f"part-0000{part}-c000.snappy.parquet", compression="snappy")
    return AskedTable(path, "Distribution", {"column": distance}, (distance,))


def make_scores(maker: TableMaker) -> AskedTable:
    label, score = maker.name(), maker.name()
    scores = maker.draws.uniform(size=ROWS)
    labels = (maker.draws.uniform(size=ROWS) < scores).astype(int)
    return AskedTable(maker.csv({label: labels, score: scores}), "ROC curve of a score",
                      {"label": label, "score": score}, (score,), {label: "0,1"})  # fmt: skip


def make_events(maker: TableMaker) -> AskedTable:
    time, event = maker.name(), maker.name()
    columns = {time: maker.draws.exponential(20, ROWS), event: maker.draws.choice(["yes", "no"], ROWS)}
    path = maker.path(".parquet")
    pq.write_table(pa.table(columns), path)
    fields = {"time": time, "event": event, "event_value": "yes"}
    return AskedTable(path, "Survival", fields, (time,), {event: "yes,no"})


def make_weights(maker: TableMaker) -> AskedTable:
    size, weight = maker.name(), maker.name()
    columns = {size: maker.draws.poisson(3, ROWS), weight: maker.draws.uniform(1, 9, ROWS)}
    return AskedTable(maker.csv(columns, "|"), "Mean, also by group", {"column": size}, (size, weight))


MAKERS: tuple[Callable[[TableMaker], AskedTable], ...] = (
    make_decimal_commas, make_dates, make_texts, make_million_rows, make_visits, make_database, make_spark_folder,
    make_scores, make_events, make_weights,
)  # fmt: skip
