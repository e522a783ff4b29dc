"""Pages while another process is halted inside a transaction: they answer, and forms are refused with all that was
typed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opened_table import Opened

from dpcurves.ledger import sqlite
from dpcurves_server import middleware

HALTED = """
import os, signal, sys
from dpcurves.ledger.sqlite import parse_storage_url

def halt(connection):
    print("halted", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

parse_storage_url(sys.argv[1]).open_database().run_write(halt)
"""
BUSY = "another process is writing, and nothing was written; try again in a minute"


@contextmanager
def halt_a_writer(url: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that was stopped by SIGSTOP while it holds the write lock of a ledger."""
    with subprocess.Popen([sys.executable, "-c", HALTED, url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "halted\n"
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be halted on this system")
def test_pages_answer_and_forms_keep_what_was_typed_while_a_worker_is_halted_in_a_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr(sqlite, "PATIENCE_SECONDS", 0.05)
    path = tmp_path / "people.csv"
    path.write_text("age,ward\n" + "".join(f"{n % 90},{'ab'[n % 2]}\n" for n in range(300)))
    opened = Opened(path)
    assert opened.declare({"age": {"use": "numbers", "lower": "0", "upper": "120"}}).status == 303
    ask = f"/projects/{opened.table.name}/ask/cdf"
    fields = {"column": "age", "grid.cells": "37", "amount": "0.5"}
    with halt_a_writer(opened.table.ledger_url) as process:
        for page in ("/", ask, "/columns", "/budget"):
            assert opened.get(page).status == 200
        refused = opened.post(ask, {"do": "ask", **fields})
        assert refused.status == 503
        assert BUSY in refused.text
        assert 'value="37"' in refused.text
        budget = opened.post("/budget", {"amount": "2000", "agreed": "yes"})
        assert budget.status == 503
        assert BUSY in budget.text
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert opened.charges == 0
    assert opened.ask("cdf", fields).status == 200
    assert opened.charges == 1
