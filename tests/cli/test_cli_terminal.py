from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpcurves
from dpcurves.cli.terminal import make_console, print_to_console
from dpcurves.ledger import Account, Ledger
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss

SOURCE = Path(dpcurves.__file__).parents[1]


def test_a_line_is_never_broken_and_nothing_in_it_is_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]:smile: " + "x" * 500
    print_to_console(make_console(), line)
    assert capsys.readouterr().out == line + "\n"


def test_where_no_terminal_is_the_width_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert make_console().width == 120
    monkeypatch.setenv("COLUMNS", "60")
    assert make_console().width == 60


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_standard_output_that_takes_no_more_is_told_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpcurves.cli", "ledger", "create", f"sqlite:///{tmp_path}/a.db"]
    options = ["--dataset", "a", "--epsilon", "1", "--adjacency", "add-remove"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr == "dpcurves: output: standard output could not be written (No space left on device)\n"


KEPT = "; the result is paid for: --request-id {} returns it again at no cost"


def answered(folder: Path, shell: str, *options: str, **streams: Any) -> tuple[int, str]:
    """Return the exit status of a paid command with these streams, and its standard error."""
    (folder / "t.csv").write_text("âge\n" + "".join(f"{age}\n" for age in range(90)))
    account = Account("data", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1))
    Ledger.open(f"sqlite:///{folder}/budget.db").create(account)
    command = [sys.executable, "-m", "dpcurves.cli", "cdf", "t.csv", "--column", "âge", "--grid", "0:90:9"]
    paid = ["--epsilon", "1", "--ledger", "sqlite:///budget.db", *options]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        ["sh", "-c", f'"$@" {shell}', "sh", *command, *paid], cwd=folder, text=True, check=False, env=environment,
        **{"stderr": subprocess.PIPE, **streams},
    )  # fmt: skip
    return done.returncode, done.stderr


def request(folder: Path) -> str:
    """The one request that was charged."""
    (line,) = Ledger.open_existing(f"sqlite:///{folder}/budget.db").statement("data").grants
    return line.request


@pytest.mark.reproduction
def test_a_reader_who_has_gone_does_not_keep_the_files_from_being_written(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told = answered(tmp_path, "", "--plot", "a.svg", stdout=writing)
    os.close(writing)
    words = "dpcurves: output: the program that reads standard output has ended"
    assert told == (141, f"{words}{KEPT.format(request(tmp_path))}\n")
    assert (tmp_path / "a.svg").exists()


PLAN = "plan cdf --column age --grid 0:100:10 --epsilon 1 --adjacency replace-one --units 3000"


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(PLAN, {}), ("", {"_DPCURVES_COMPLETE": "bash_complete", "COMP_WORDS": "dpcurves c", "COMP_CWORD": "1"})],
    ids=["plan", "completion"],
)
def test_a_command_whose_reader_ends_says_nothing(arguments: str, variables: dict[str, str]) -> None:
    command = f"{{ '{sys.executable}' -m dpcurves.cli {arguments}; echo $? >&2; }} | head -c 0"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **variables}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == "141\n"


@pytest.mark.reproduction
def test_a_study_whose_reader_ends_writes_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions behind a line that nobody reads are answered, and the page is written."""
    from dpcurves.cli.app import build

    counts = "".join(f'[[question]]\nname = "{name}"\nask = "count"\n' for name in ("first", "second"))
    (tmp_path / "study.toml").write_text(f"epsilon = 1\n{counts}")
    (tmp_path / "people.csv").write_text("age\n3\n5\n")
    words = ["study", "study.toml", "people.csv", "--adjacency", "add-remove", "--out", "out"]
    monkeypatch.chdir(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(SystemExit) as leaving:
            build().main(words)
    assert leaving.value.code == 141
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"first.json", "second.json", "index.html"}


def test_simulated_schedules_whose_reader_ends_did_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcurves_sim import cli

    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "argv", ["dpcurves-sim", "ledger", "--schedules", "1", "--events", "1"])
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(SystemExit) as leaving:
            cli.main()
    assert leaving.value.code == 141


@pytest.mark.reproduction
def test_standard_output_that_is_closed_does_not_keep_the_files_from_being_written(tmp_path: Path) -> None:
    told = answered(tmp_path, ">&-", "--plot", "a.svg", "--json", "a.json")
    words = "dpcurves: output: standard output could not be written (it is closed)"
    assert told == (5, f"{words}{KEPT.format(request(tmp_path))}\n")
    assert (tmp_path / "a.svg").exists()
    assert json.loads((tmp_path / "a.json").read_text())["privacy"]["grant"] == request(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_json_that_finds_no_room_is_told_with_the_request(tmp_path: Path) -> None:
    status, told = answered(tmp_path, "> /dev/full", "--json", "-")
    words = "dpcurves: output: standard output could not be written (No space left on device)"
    assert (status, told.splitlines()[-1]) == (5, f"{words}{KEPT.format(request(tmp_path))}")


def test_a_closed_standard_error_and_a_terminal_without_accents_are_no_trouble(tmp_path: Path) -> None:
    with (tmp_path / "shown").open("w") as shown:
        status, _ = answered(tmp_path, "2>&-", stdout=shown)
    text = (tmp_path / "shown").read_text()
    assert status == 0
    assert text.startswith("distribution function of \\xe2ge\n")
    assert f"request: {request(tmp_path)}" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_that_cannot_be_written_is_told(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "dpcurves.cli", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    words = "dpcurves: output: standard output could not be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (5, words)
