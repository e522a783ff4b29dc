"""Refusals before any server is asked: no document or ticket of a task is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result

pytest.importorskip("fastapi", reason="dpcurves[servers] is not installed: no tests of its commands")

Run = Callable[..., Result]
ASKED = {"cdf": ("--smooth", "2"), "roc": ()}


class Made(NamedTuple):
    """The files of a task whose servers are not running."""

    document: Path
    ticket: Path

    @property
    def options(self) -> tuple[str, ...]:
        return "--task", str(self.document), "--ticket", str(self.ticket)


@pytest.fixture
def made(run: Run, tmp_path: Path) -> Made:
    for party in (0, 1):
        run("task", "identity", tmp_path / f"a{party}", "--url", f"https://127.0.0.1:{9 + party}")
    servers = ",".join(str(tmp_path / f"a{party}" / "server.json") for party in (0, 1))
    document, tickets = tmp_path / "task.json", tmp_path / "tickets"
    result = run(
        "task", "create", "--column", "delay", "--grid", "0:100:64", "--epsilon", 1, "--reports-per-owner", 9,
        "--servers", servers, "--owners", 2, "--out", document, "--tickets", tickets,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return Made(document, tickets / "analyst-1")


@pytest.mark.parametrize("output", ["json", "plot"])
@pytest.mark.parametrize("kind", ASKED)
def test_no_answer_is_written_over_a_task_or_a_ticket(run: Run, made: Made, kind: str, output: str) -> None:
    for file, what in ((made.document, "the task document"), (made.ticket, "the ticket")):
        before = file.read_bytes()
        result = run("ask", kind, *made.options, *ASKED[kind], f"--{output}", file)
        assert (result.exit_code, result.stdout) == (2, "")
        assert (
            result.stderr
            == f"dpcurves: {output}: {str(file)!r} is {what}, which would be lost; write to another file\n"
        )
        assert file.read_bytes() == before


def test_a_link_to_a_ticket_is_the_ticket(run: Run, made: Made, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(made.ticket)
    result = run("ask", "cdf", *made.options, *ASKED["cdf"], "--json", link)
    assert result.stderr.startswith(f"dpcurves: json: {str(link)!r} is the ticket, which would be lost")


def test_json_and_picture_of_an_answer_are_two_files(run: Run, made: Made, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    result = run("ask", "cdf", *made.options, *ASKED["cdf"], "--json", file, "--plot", file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"dpcurves: plot: {str(file)!r} is the file of --json, which would be lost")


def test_nobody_answers_where_no_server_runs(run: Run, made: Made, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    result = run("ask", "cdf", *made.options, *ASKED["cdf"], "--json", file)
    assert result.exit_code != 0
    assert (
        result.stderr
        == "dpcurves: server: no server answers at https://127.0.0.1:9; check that it runs, then try again\n"
    )
    assert not file.exists()
