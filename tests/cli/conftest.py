"""Small tables with known secrets in them, and the command line to ask about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from dpcurves.cli.app import Commands, build

Run = Callable[..., Result]
COUNT = 2000
SECRETS = ("97531.25", "zebrafinch")
"""Planted in the tables: a number that lies outside every grid, and a text in a column of numbers."""


@pytest.fixture(scope="session")
def app() -> Commands:
    """All commands, built and parsed once."""
    return build()


@pytest.fixture
def run(app: Commands, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command as a pipe would: lines are as wide as in a file, whatever terminal the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def invoke(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert not any(secret in result.output for secret in SECRETS)
        assert "Traceback" not in result.output
        return result

    return invoke


def columns() -> dict[str, list[object]]:
    """2000 records: delays -100 to 299, four carriers, 500 tails, labels and scores, a column of text."""
    number = np.arange(COUNT)
    delay: list[object] = (number % 400 - 100.0).tolist()
    delay[7] = 97531.25
    score = (number % 100 + 0.5) / 100
    late = (number % 7 < 7 * score).astype(int)
    words: list[object] = ["zebrafinch"] * COUNT
    return {
        "delay": delay,
        "carrier": [("UA", "AA", "DL", "B6")[i % 4] for i in range(COUNT)],
        "tail": [f"N{i % 500}" for i in range(COUNT)],
        "late": late.tolist(),
        "score": score.tolist(),
        "words": words,
    }


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as Parquet."""
    path = tmp_path_factory.mktemp("tables") / "flights.parquet"
    pq.write_table(pa.table(columns()), path)
    return path


@pytest.fixture(scope="session")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as CSV, with an unreadable delay in one row."""
    return _write(tmp_path_factory.mktemp("tables") / "flights.csv", ",")


@pytest.fixture(scope="session")
def semicolons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as CSV with semicolons."""
    return _write(tmp_path_factory.mktemp("tables") / "semicolons.csv", ";")


def _write(path: Path, delimiter: str) -> Path:
    table = columns()
    table["delay"][9] = "zebrafinch"
    rows = [table.keys(), *zip(*table.values(), strict=True)]
    path.write_text("".join(delimiter.join(str(value) for value in row) + "\n" for row in rows))
    return path


@pytest.fixture
def ledger(run: Run, tmp_path: Path) -> str:
    """A ledger with one account: epsilon 2, replace-one, each record."""
    url = f"sqlite:///{tmp_path}/budget.db"
    made = run("ledger", "create", url, "--dataset", "flights", "--epsilon", 2, "--adjacency", "replace-one")
    assert made.exit_code == 0, made.output
    return url
