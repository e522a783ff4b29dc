"""Many processes at work on one ledger. Run as a program: it imports once, and forks the number that each line asks."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from pathlib import Path

from dpcurves.ledger import Account, Allowance, AllowanceRule, BudgetExceeded, Grant, Ledger, Member
from dpcurves.ledger.sqlite import parse_storage_url
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss

QUESTION = "ab" * 32
WAIT = 60

Work = Callable[[str, int, Barrier, Path], object]


def account(cap: int) -> Account:
    return Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(cap))


def charge(ledger: Ledger, request: str, binding: str = QUESTION) -> Grant:
    loss = PrivacyLoss.pure(1)
    return ledger.charge("flights", loss, purpose="a CDF", request=request, binding=binding, units=None)


def member(number: int) -> Member:
    """One of two analysts of two projects."""
    return Member(f"project {number % 2}", f"analyst {number // 2 % 2}")


def allow_all(ledger: Ledger, project: int, analyst: int) -> None:
    """Give two projects one allowance each, and two analysts of each; they add up to more than the whole."""
    for number in range(4):
        whole = Allowance("flights", member(number).project, PrivacyLoss.pure(project))
        own = Allowance("flights", whole.project, PrivacyLoss.pure(analyst), member(number).analyst)
        ledger.allow(whole, AllowanceRule.MAY_EXCEED)
        ledger.allow(own, AllowanceRule.MAY_EXCEED)


def charge_for(ledger: Ledger, number: int, question: int) -> Grant:
    loss = PrivacyLoss.pure(1)
    return ledger.charge_for(
        member(number), "flights", loss, purpose="a CDF", binding=f"{question:064x}", units=None
    )  # fmt: skip


def spend_for_a_project(url: str, number: int, start: Barrier, folder: Path) -> int:
    """Number of charges granted, of 10 for one of two analysts of one of two projects."""
    ledger, granted = Ledger.open(url), 0
    start.wait(WAIT)
    for i in range(10):
        with suppress(BudgetExceeded):
            charge_for(ledger, number, 10 * number + i)
            granted += 1
    return granted


def ask_the_same_in_a_project(url: str, number: int, start: Barrier, folder: Path) -> list[int]:
    """The grants that this process got for the questions that all ask."""
    ledger = Ledger.open(url)
    start.wait(WAIT)
    return [charge_for(ledger, number, question).id for question in range(3)]


def spend_twenty(url: str, number: int, start: Barrier, folder: Path) -> dict[str, float]:
    """Numbers of charges granted and refused, of 20, and the seconds that took."""
    ledger, granted, refused = Ledger.open(url), 0, 0
    start.wait(WAIT)
    begun = time.perf_counter()
    for i in range(20):
        try:
            charge(ledger, f"{number}-{i}")
            granted += 1
        except BudgetExceeded:
            refused += 1
    return {"granted": granted, "refused": refused, "seconds": time.perf_counter() - begun}


def ask_the_same(url: str, number: int, start: Barrier, folder: Path) -> list[object]:
    """The grant that this process got, and the answer that it may show."""
    ledger = Ledger.open(url)
    start.wait(WAIT)
    grant = charge(ledger, "same")
    return [grant.id, ledger.store_answer(grant, 0, 0, f"[{number}]")]


def note_the_same(url: str, number: int, start: Barrier, folder: Path) -> dict[str, int]:
    """What this process may use of notes that others make as well."""
    ledger = Ledger.open(url)
    grant = charge(ledger, "same")
    start.wait(WAIT)
    return ledger.store_notes(grant, 0, {f"0:{name}": number for name in range(number, number + 20)})


def ask_something_else(url: str, number: int, start: Barrier, folder: Path) -> str:
    """How another question under the same request was received."""
    ledger = Ledger.open(url)
    start.wait(WAIT)
    try:
        charge(ledger, "same", binding=f"{number}" * 64)
    except ValueError as error:
        return str(error)
    return "granted"


def open_and_create(url: str, number: int, start: Barrier, folder: Path) -> str:
    """What follows from the key that this process found or made."""
    start.wait(WAIT)
    ledger = Ledger.open(url)
    ledger.create(account(cap=8))
    return ledger.dataset_key("flights").hex()


def reveal_until_killed(url: str, number: int, start: Barrier, folder: Path) -> None:
    """Charge, store, and only then reveal the answer, as a session does."""
    ledger = Ledger.open(url)
    with (folder / f"revealed-{number}").open("a") as file:
        for i in range(100_000):
            request = f"{number}-{i}"
            answer = ledger.store_answer(charge(ledger, request), 0, 0, f"[{number}, {i}]")
            file.write(json.dumps([request, answer]) + "\n")
            file.flush()
            os.fsync(file.fileno())


def reveal_for_a_project(url: str, number: int, start: Barrier, folder: Path) -> None:
    """Charge for an analyst of a project, store, and only then reveal the answer."""
    ledger = Ledger.open(url)
    with (folder / f"revealed-{number}").open("a") as file:
        for i in range(100_000):
            grant = charge_for(ledger, number, 100_000 * number + i)
            file.write(json.dumps([grant.request, ledger.store_answer(grant, 0, 0, f"[{number}, {i}]")]) + "\n")
            file.flush()
            os.fsync(file.fileno())


EVERY_WORK = (
    spend_twenty, spend_for_a_project, ask_the_same_in_a_project, reveal_for_a_project, ask_the_same, note_the_same,
    ask_something_else, open_and_create, reveal_until_killed,
)  # fmt: skip
WORKS: dict[str, Work] = {work.__name__: work for work in EVERY_WORK}


def report(work: Work, url: str, number: int, start: Barrier, folder: Path) -> None:
    (folder / f"report-{number}").write_text(json.dumps(work(url, number, start, folder)))


def main() -> None:
    """For each line of the input fork a crowd; print the ids of its processes, then how each of them ended."""
    charge_in_memory()
    processes = multiprocessing.get_context("fork")
    for line in sys.stdin:
        asked = json.loads(line)
        os.environ.clear()
        os.environ.update(asked["environment"])
        work, url, count, folder = WORKS[asked["work"]], asked["url"], asked["count"], Path(asked["folder"])
        parse_storage_url(url)  # imports the driver once for all
        # Forked from here, where no stored ledger was opened yet: the processes share nothing but the code.
        start = processes.Barrier(count)
        crowd = [processes.Process(target=report, args=(work, url, number, start, folder)) for number in range(count)]
        for process in crowd:
            process.start()
        print(json.dumps([process.pid for process in crowd]), flush=True)
        for process in crowd:
            process.join()
        print(json.dumps([process.exitcode for process in crowd]), flush=True)


def charge_in_memory() -> None:
    """Charge and answer a question of a ledger in memory, so that the copies import and compile nothing anew."""
    ledger = Ledger.open("sqlite://")
    ledger.create(account(cap=1))
    ledger.store_answer(charge(ledger, "first"), 0, 0, "[]")


if __name__ == "__main__":
    main()
