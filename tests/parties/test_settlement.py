"""Two servers show shares of one run, whatever is cut off and whenever, and end with its output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from at_once import at_once

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import join_bits, trace_circuit
from dpcurves_parties.crypto.two_party import FinalStep, InputOwner, Job, evaluate, garble, run_both_parties
from dpcurves_parties.pairs import FileRunStore, settle_run
from dpcurves_parties.pairs import device as private_file
from dpcurves_parties.pairs.session import RunState

pytest.importorskip("rbcl")
PEOPLE = 40
SHARED, COIN = InputOwner.SHARED, InputOwner.COIN


def job() -> Job:
    """How many of 20 pairs are in order, with 30 bits of noise on the sum: no two runs have the same."""
    plain = Job(b"settled", trace_circuit(lambda x, y: x < y, 8, 8), (SHARED, SHARED), PEOPLE // 2, chunk_size=16)
    ending = trace_circuit(lambda total, coin: (total, coin), plain.total_width, 30)
    return Job(plain.name, plain.circuit, plain.owners, plain.count, FinalStep(ending, (COIN,)), chunk_size=16)


JOB = job()
VALUES = np.random.default_rng(1).integers(0, 256, PEOPLE, dtype=np.uint64)
MASKS = np.random.default_rng(2).integers(0, 256, PEOPLE, dtype=np.uint64)
TRUTH = int((VALUES[0::2] < VALUES[1::2]).sum())


def server(number: int, folder: Path, seed: int) -> Generator[Any, Any, Any]:
    """Server 0 has masks, server 1 masked values: neither knows a person's."""
    held = (MASKS, VALUES ^ MASKS)[number]
    source, act = Randomness.from_seed(2 * seed + number), (garble, evaluate)[number]
    return settle_run(
        JOB.digest,
        lambda: act(JOB, [held[0::2], held[1::2]], source, [None]),
        FileRunStore(folder / str(number)),
        source,
    )


def read(wires: list[Any]) -> tuple[int, int]:
    assert JOB.final_step is not None
    sizes = [len(number.wires) for number in JOB.final_step.circuit.outputs]
    total, coin = wires[: sizes[0]], wires[sizes[0] :]
    return tuple(
        int(join_bits(part, number)[0])
        for part, number in zip((total, coin), JOB.final_step.circuit.outputs, strict=True)
    )  # type: ignore[return-value]


def cut(talk: Generator[Any, Any, Any], after: int, shown: list[bytes]) -> Generator[Any, Any, Any]:
    """A server that is killed after so many moves. What it says is shown to whoever listens."""
    message = next(talk)
    try:
        for _ in range(after):
            if message is not None:
                shown.append(message)
            message = talk.send((yield message))
    except StopIteration as end:
        return end.value
    talk.close()
    raise Killed


class Killed(Exception):
    pass


def shares_shown(shown: list[bytes]) -> set[bytes]:
    """Those of the outputs: two numbers of 64 bits, wires and instances, and then bits."""
    assert JOB.final_step is not None
    sizes = np.array([len(JOB.final_step.circuit.output_wires), 1], "<u8").tobytes()
    return {message for message in shown if message[:16] == sizes}


def test_two_servers_open_the_sum_and_again_the_same(tmp_path: Path) -> None:
    first = run_both_parties(server(0, tmp_path, 1), server(1, tmp_path, 1))
    again = run_both_parties(server(0, tmp_path, 2), server(1, tmp_path, 2))
    found = [read(wires) for both in (first, again) for wires in both]
    assert found[0][0] == TRUTH
    assert len(set(found)) == 1


def test_whoever_is_killed_whenever_shares_of_one_run_alone_are_shown(tmp_path: Path) -> None:
    """After each move of either server; the next attempts go to the end, and any two outputs are one."""
    killed = 0
    for number, after in product((0, 1), range(20)):
        folder = tmp_path / f"{number} {after}"
        folder.mkdir()
        shown: tuple[list[bytes], list[bytes]] = [], []
        talks = [cut(server(each, folder, 1), after if each == number else 10**6, shown[each]) for each in (0, 1)]
        try:
            run_both_parties(*talks)
        except Killed:
            killed += 1
        ends = [cut(server(each, folder, 2), 10**6, shown[each]) for each in (0, 1)]
        outputs = {read(wires) for wires in run_both_parties(*ends)}
        assert len(outputs) == 1
        assert outputs.pop()[0] == TRUTH
        assert [len(shares_shown(each)) for each in shown] == [1, 1]
    assert killed >= 24


@pytest.mark.parametrize("number", [0, 1])
def test_a_server_whose_share_is_gone_after_it_was_confirmed_gets_no_second_run(tmp_path: Path, number: int) -> None:
    run_both_parties(server(0, tmp_path, 1), server(1, tmp_path, 1))
    (tmp_path / str(number)).unlink()
    with pytest.raises(
        ProtocolError,
        match="^settlement: the stores disagree: one server has lost its share of the confirmed run",
    ):
        run_both_parties(server(0, tmp_path, 2), server(1, tmp_path, 2))


@pytest.mark.parametrize("message", [b"", bytes(32), bytes([9]) + bytes(32), bytes(34)])
def test_other_messages_abort(tmp_path: Path, message: bytes) -> None:
    talk = server(0, tmp_path, 1)
    next(talk)
    talk.send(b"")
    with pytest.raises(ProtocolError, match="^settlement: must hold a state, a run id and a nonce"):
        talk.send(message)


def test_of_sessions_that_overlap_one_alone_shows_its_share(tmp_path: Path) -> None:
    """A server that hung and its restart both found nothing: whoever stores last takes the other's place."""
    for order in product((0, 1), repeat=2):
        folder = tmp_path / str(order)
        folder.mkdir()
        told: tuple[list[bytes], ...] = ([], [], [], [])
        talks = [cut(server(each % 2, folder, 3 + each // 2), 10**6, told[each]) for each in range(4)]
        sessions = [in_step(*talks[:2]), in_step(*talks[2:])]
        for session in (*sessions, sessions[order[0]], sessions[order[1]], *sessions * 60):
            with suppress(ProtocolError):
                next(session, None)
        for number in (0, 1):
            shown = shares_shown(told[number]) | shares_shown(told[2 + number])
            assert len(shown) <= 1


def in_step(one: Generator[Any, Any, Any], other: Generator[Any, Any, Any]) -> Generator[None, None, None]:
    """Both talk to each other, one message at a time."""
    talks, waiting, inbox = (one, other), [next(one), next(other)], ([], [])  # type: ignore[var-annotated]
    ended: set[int] = set()
    while len(ended) < 2:
        for number, talk in enumerate(talks):
            if number in ended:
                continue
            given: bytes = b""
            if waiting[number] is not None:
                inbox[1 - number].append(waiting[number])
            elif inbox[number]:
                given = inbox[number].pop(0)
            else:
                continue
            try:
                waiting[number] = talk.send(given)
            except StopIteration:
                ended.add(number)
            yield


LOCK = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


def is_locked_for_others(path: Path) -> bool:
    asked = subprocess.run([sys.executable, "-c", LOCK, str(path)], capture_output=True, text=True, check=False)
    return "database is locked" in asked.stderr


def test_a_thread_that_comes_meanwhile_does_not_unlock_the_file_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that closes a file anywhere has given back all locks that it had on it."""
    monkeypatch.setattr(private_file, "_LOCK_SECONDS", 0.1)
    path = tmp_path / "shares"
    with private_file.exclusive_transaction(path, "settlements", ()):
        with ThreadPoolExecutor(1) as thread, pytest.raises(ProtocolError, match="cannot be read or written"):
            thread.submit(FileRunStore(path).load_run, b"job").result()
        assert is_locked_for_others(path)
    assert not is_locked_for_others(path)


def store_and_confirm(number: int, path: str) -> None:
    shelf, run = FileRunStore(Path(path)), bytes([number]) * 16
    for job in range(8):
        with suppress(ProtocolError):
            shelf.store_run(bytes([job]), run, b"share")
            shelf.confirm_run(bytes([job]), run)


def test_of_eight_processes_that_begin_at_once_one_has_its_run_confirmed(tmp_path: Path) -> None:
    at_once(store_and_confirm, str(tmp_path / "shares"))
    kept = [FileRunStore(tmp_path / "shares").load_run(bytes([job])) for job in range(8)]
    assert {(each.state, each.share) for each in kept} == {(RunState.CONFIRMED, b"share")}
