"""Side channels of an answer, on pairs of neighbouring tables that have one and the same noisy answer.

`python benchmarks/surroundings.py [--pairs N] [--seconds S] [--only PART] [--write]`. Parts: library, command,
postgres, spark, server. Logs, temporary files, texts of queries, logs of engines, errors, JSON, pages, ledgers,
databases and sizes are held against each other byte for byte; what differs is printed. With `--write` the table goes
into `docs/audit.md`. The pairs are divided among the parts, most of them for sessions, which are cheap, unless time
ends before. Files lie in memory where there is a file system for it: nothing waits for a disk.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / each) for each in ("audit", "server")]

from surroundings import (  # noqa: E402
    FORMS,
    REPLACE_ONE,
    Neighbour,
    Postgres,
    Seen,
    Website,
    both,
    command,
    differing,
    in_postgres,
    in_spark,
    library,
    neighbours,
    sail_running,
    shown,
)  # fmt: skip

PAGE = ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- surroundings: made by benchmarks/surroundings.py -->\n", "<!-- end of surroundings -->"
PARTS = {
    "library": "sessions on arrays, CSV and Parquet: JSON, texts, warnings, errors, printed lines, logs, files, "
    "queries of DuckDB, the ledger and its size",
    "command": "commands: lines on both outputs, exit status, files",
    "postgres": "the same of sessions in PostgreSQL, and its log with all statements and parameters",
    "spark": "the same of sessions in Spark, and all requests that a Spark Connect server gets",
    "server": "a verification server: all pages of six visitors, pictures, log, database and its size",
}
SHARES = {"library": 0.6, "command": 0.1, "postgres": 0.2, "spark": 0.08, "server": 0.02}
"""Parts of all pairs."""
QUESTIONS_AT_A_TIME, QUESTIONS = 2, 11
MEMORY = Path("/dev/shm")


class Held(NamedTuple):
    """Pairs of a part that were held against each other.

    Attributes:
        pairs: How many.
        things: How many things were seen of each table, in the mean.
        different: What differed, how often.
        seconds: Seconds of the processor.
    """

    pairs: int
    things: float
    different: Counter[str]
    seconds: float


def part_of(place: int) -> slice:
    """Some of the questions: all have their turn."""
    start = QUESTIONS_AT_A_TIME * place % QUESTIONS
    return slice(start, start + QUESTIONS_AT_A_TIME)


def looked_at(name: str, folder: Path, stack: ExitStack) -> Callable[[int, Neighbour], tuple[Seen, Seen]]:
    """Observer of the pairs of a part."""
    if name == "library":
        forms = list(FORMS.values())
        return lambda place, pair: both(
            library, pair, forms[place % 3], folder, units=place % 4 == 3, part=part_of(place)
        )
    if name == "command":
        return lambda place, pair: both(command, pair, FORMS[("csv", "parquet")[place % 2]], folder)
    if name == "postgres":
        server = stack.enter_context(Postgres.running(folder))
        return lambda place, pair: both(
            in_postgres(server), pair, server.place, folder, units=place % 4 == 3, part=part_of(place)
        )
    if name == "spark":
        look, put = in_spark(*stack.enter_context(sail_running()))
        return lambda place, pair: both(look, pair, put, folder, units=place % 4 == 3, part=part_of(place))
    site = Website(folder)
    return lambda place, pair: both(site.look, pair, site.place, folder)


def held(name: str, number: int, seconds: float) -> Held:
    """Hold pairs of a part while there is time. The first one is left out: libraries say there where they lie."""
    different: Counter[str] = Counter()
    begun, things, place = time.process_time(), 0, 0
    place_of_files = MEMORY if MEMORY.is_dir() else Path("/tmp")
    with TemporaryDirectory(prefix="sr", dir=place_of_files) as folder, ExitStack() as stack:
        look = looked_at(name, Path(folder), stack)
        for place, pair in enumerate(_pairs(name, number + 1)):
            first, second = look(place, pair)
            if place:
                things += len(first)
                for each in differing(first, second):
                    different[each] += 1
                    if different[each] == 1:
                        print(f"  {each}: {shown(first.get(each), second.get(each))}", flush=True)
                if time.process_time() - begun > seconds:
                    break
    return Held(place, things / place, different, time.process_time() - begun)


def _pairs(name: str, number: int) -> Iterator[Neighbour]:
    found = neighbours(number * (2 if name == "server" else 1), seed=2)
    return islice((pair for pair in found if name != "server" or pair.adjacency is REPLACE_ONE), number)


def table(rows: dict[str, Held]) -> str:
    """Table, for the page, of the observations compared."""
    lines = ["| what is seen | pairs | things of each | different |", "|---|---:|---:|---:|"]
    for name, found in rows.items():
        lines.append(f"| {PARTS[name]} | {found.pairs:,} | {found.things:.0f} | {found.different.total():,} |")
    return "\n".join([*lines, "", ""])


def main() -> None:
    """Print all numbers, and write the page if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of all parts together")
    parser.add_argument("--seconds", type=float, default=300, help="seconds of the processor for each part")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=list(PARTS), help="some parts")
    parser.add_argument("--write", action="store_true", help="write the table of docs/audit.md")
    given = parser.parse_args()
    rows: dict[str, Any] = {}
    for name in given.only:
        number = max(round(given.pairs * SHARES[name]), 1)
        rows[name] = found = held(name, number, given.seconds)
        print(
            f"{name:<10}{found.pairs:>7,} pairs, {found.things:.0f} things seen of each table, "
            f"{found.different.total()} different; {found.seconds:.0f} CPU seconds", flush=True,
        )  # fmt: skip
    whole, different = sum(row.pairs for row in rows.values()), sum(row.different.total() for row in rows.values())
    print(f"{whole:,} pairs of neighbouring tables, {different} things different")
    if given.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
