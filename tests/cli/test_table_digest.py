"""Whoever holds a table is told that it changed since the last question, on the terminal, and nobody else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.cli.table_digest import CHANGED_TABLE_WARNING

Run = Callable[..., Result]


def test_a_table_that_changed_between_questions_of_an_account_is_told_to_its_holder_alone(
    run: Run, ledger: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "heads"
    monkeypatch.setenv("DPCURVES_HEADS", str(folder))
    table = tmp_path / "flights.csv"
    table.write_text("delay\n" + "1\n2\n" * 100)

    def ask(*more: str) -> Result:
        asked = run(
            "histogram", table, "--column", "delay", "--grid", "0:4:2", "--epsilon", "0.25", "--ledger", ledger,
            "--dataset", "flights", "--adjacency", "replace-one", *more,
        )  # fmt: skip
        assert asked.exit_code == 0, asked.output
        return asked

    assert [CHANGED_TABLE_WARNING in ask().stderr for _ in range(2)] == [False, False]
    table.write_text("delay\n" + "1\n3\n" * 100)
    written = tmp_path / "curve.json"
    changed = ask("--json", str(written))
    assert (changed.stderr.count(CHANGED_TABLE_WARNING), CHANGED_TABLE_WARNING in changed.stdout) == (1, False)
    assert "differs" not in written.read_text()
    assert CHANGED_TABLE_WARNING not in ask().stderr
    files = {file.name: file for file in folder.iterdir()}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files.values())
    assert "tables.key" in files
    ledger_bytes = b"".join(path.read_bytes() for path in tmp_path.glob("budget.db*"))
    assert files["tables.key"].read_bytes().strip() not in ledger_bytes


def test_ledgers_of_the_same_name_in_two_folders_are_not_taken_for_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPCURVES_HEADS", str(tmp_path / "heads"))
    for name, values in (("first", "1\n2\n"), ("second", "1\n3\n")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("flights.csv").write_text("delay\n" + values * 100)
        made = run("ledger", "create", "sqlite:///budget.db", "--dataset", "flights", "--epsilon", "1",
                   "--adjacency", "replace-one")  # fmt: skip
        assert made.exit_code == 0, made.output
        asked = run(
            "histogram", "flights.csv", "--column", "delay", "--grid", "0:4:2", "--epsilon", "1",
            "--ledger", "sqlite:///budget.db", "--dataset", "flights", "--adjacency", "replace-one",
        )  # fmt: skip
        assert (asked.exit_code, CHANGED_TABLE_WARNING in asked.stderr) == (0, False), asked.output
