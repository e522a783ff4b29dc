from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpcurves.cli.terminal import say, terminal


def test_a_line_is_never_broken_and_nothing_in_it_is_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]:smile: " + "x" * 500
    say(terminal(), line)
    assert capsys.readouterr().out == line + "\n"


def test_where_no_terminal_is_the_width_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert terminal().width == 120
    monkeypatch.setenv("COLUMNS", "60")
    assert terminal().width == 60


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_standard_output_that_takes_no_more_is_told_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpcurves.cli", "ledger", "create", f"sqlite:///{tmp_path}/a.db"]
    options = ["--dataset", "a", "--epsilon", "1", "--adjacency", "add-remove"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "dpcurves: output: standard output could not be written (No space left on device)\n"
