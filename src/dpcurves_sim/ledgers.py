"""A simulated scenario: analysts and followers of a stream share one ledger, whose disk and power fail.

The scenario uses the product's code on a simulated disk and clock. `LedgerAudit` checks after every commit that nothing
was charged twice, lost, or shown before it was paid.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import dpcurves as dp
from dpcurves import records
from dpcurves.arguments import ArgumentError
from dpcurves.curves import HistogramQuestion
from dpcurves.drafts import DRAFT_PATTERN
from dpcurves.ledger import Account, Allowance, BudgetExceeded, Event, Ledger, Member
from dpcurves.ledger.chain import make_key
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.records import Records, open_records
from dpcurves_streams.feed import Window, follow
from dpcurves_streams.feed.reading import JsonLinesFile
from dpcurves_streams.readings import Counts, Smoothing

from .audit import LedgerAudit
from .disk import SimulatedDisk, simulate_disk
from .world import POWER_LOST, PROCESS_KILLED, Schedule, Violation, World, replace_attributes

Result = TypeVar("Result")

MACHINE, AUDITOR = "curator", "auditor"
PRICE = PrivacyLoss.pure("0.3")
"""Privacy loss of a simulated request. Three fit the cap; the fourth must be refused."""
CAP = PrivacyLoss.pure(1)
"""Privacy budget of the simulated accounts."""
REQUESTS = ("a", "b", "c", "d")
"""Request ids under which simulated processes charge: several processes use the same ones."""
STEPS = 4
"""Steps of the simulated stream of counts: it ends after the last one."""
COUNTS = Counts((dp.Categories("state", ("a", "b", "c")),), smoothing=Smoothing.PLAIN)
"""Counts of the simulated stream: noisy counts of three states, published without smoothing."""
TABLE = {"x": [1.0, 2.0, 3.0, 3.5] * 3}
"""Records of the account that simulated processes share: 12 numbers, which `QUESTION` counts."""
QUESTION = HistogramQuestion("x", dp.Grid(0, 4, cells=4))
"""The histogram that simulated processes ask for."""
SURVEY, PROJECT = "survey", "delays"
"""A second account, and the project whose allowances divide it."""
ZERO_FINGERPRINT = "0" * 64
"""A query fingerprint (the hash of a query), equal for all simulated requests that charge without a query."""
TAMPERINGS = (
    "UPDATE dpcurves_accounts SET spent = 0",
    "UPDATE dpcurves_accounts SET cap = cap + 1",
    "UPDATE dpcurves_grants SET amount = amount + 1",
    "UPDATE dpcurves_grants SET entry = entry + 1000",
    "UPDATE dpcurves_grants SET previous = mac",
    "DELETE FROM dpcurves_grants WHERE entry = (SELECT max(entry) FROM dpcurves_grants)",
    "DELETE FROM dpcurves_accounts",
    "UPDATE dpcurves_answers SET answer = 'x'",
    "UPDATE dpcurves_book SET entries = entries + 1",
    "UPDATE dpcurves_book SET head = seal",
    "UPDATE dpcurves_book SET key = name",
    "UPDATE dpcurves_book SET version = 2",
    "DELETE FROM dpcurves_book",
)
"""SQL of attacks on a copy of the ledger by a process without the key; the next process to open it must notice each."""
NOTHING_TO_RESTORE = "there is nothing to restore"
"""Words by which the refusal to restore again is recognised: an earlier restore was completed, so this is no
violation."""
TRANSIENT_ARGUMENTS = frozenset({"ledger", "key"})
"""Arguments of refusals after which a person waits, has the disk repaired, and starts the command again; other refusals
end the schedule as a violation."""


@lru_cache
def make_empty_ledger(number: int) -> tuple[tuple[str, bytes], ...]:
    """Return the files of a new ledger, made once for all schedules, because making one takes long.

    Args:
        number: Number of the ledger; ledgers of other numbers have other names, as random names do.

    Returns:
        Pairs of the end of a file's name and its content.
    """
    with simulate_disk(World(Schedule("ledger", number))) as disk:
        folder = disk.make_folder(MACHINE)
        Ledger.open(f"sqlite:///{folder / 'budget.db'}")
        return tuple((path.name.removeprefix("budget.db"), path.read_bytes()) for path in sorted(folder.iterdir()))


def put_empty_ledger(disk: SimulatedDisk, path: Path, number: int = 0) -> None:
    """Copy the files of a new ledger and its key to a simulated disk, as flushed files.

    Args:
        disk: Simulated disk.
        path: Path of the ledger's database.
        number: Number of the ledger, which determines its key and name.
    """
    for ending, content in make_empty_ledger(number):
        path.with_name(path.name + ending).write_bytes(content)
    disk.flush_all(path.parent)


@lru_cache
def open_table() -> Records:
    """Return the opened records of `TABLE`, without simulated faults; opened once, because that is slow."""
    return open_records(TABLE, unit=EACH_RECORD, key=bytes(32))


class LedgerScenario:
    """One ledger, up to two analysts and two followers of one stream, and an operator who may put an old copy back.

    Casts differ in size (Groce et al. 2012, "Swarm testing"): most bugs need few processes, and small casts run sooner.
    """

    INDEPENDENT = ("analyst", "follower", "session", "steward", "auditor", "operator")

    def __init__(self, world: World, disk: SimulatedDisk) -> None:
        """Prepare the scenario: a ledger that several processes use at the same time.

        Args:
            world: The simulated world, with the schedule.
            disk: Its simulated disk.
        """
        self._world, self._disk = world, disk
        self._folder = disk.make_folder(MACHINE)
        self._path = self._folder / "budget.db"
        self._url = f"sqlite:///{self._path}"
        self._audit = LedgerAudit(world, self._path, disk)
        self._has_session = world.draw("session") < 0.1
        self._has_stream = world.draw("stream") < 0.5
        self._is_created_under_faults = world.draw("creation") < 0.3
        world.patience = 60.0  # seconds: no process waits for longer than 10 s for a ledger
        self._may_restore = not self._has_stream and world.draw("restore") < 0.3
        self._keeps_open = world.draw("pool") < 0.4
        self._requests = REQUESTS if world.draw("requests") < 0.4 else REQUESTS[:2]
        self._latest: dict[str, bytes] | None = None
        self._stack = ExitStack()

    def start(self) -> None:
        """Start analysts, and at random followers of a stream, a session, a steward and an operator."""
        world = self._world
        if not self._is_created_under_faults:
            put_empty_ledger(self._disk, self._path)
        self._stack.enter_context(replace_attributes((records, "open_records", lambda *_, **__: open_table())))
        for number in (1, 2) if world.draw("analysts") < 0.7 else (1,):
            world.start(f"analyst-{number}", MACHINE, partial(self._run_analyst, number))
        if self._has_stream:
            for number in (1, 2) if world.draw("two followers") < 0.3 else (1,):
                world.start(f"follower-{number}", MACHINE, partial(self._run_follower, number))
        if self._has_session:
            world.start("session", MACHINE, self._run_session)
        if world.draw("steward") < 0.08:
            world.start("steward", MACHINE, self._run_steward)
        if world.draw("auditor") < 0.08:
            world.start("auditor", MACHINE, self._run_auditor)
        if world.draw("operator") < 0.15:
            world.start("operator", "office", self._run_operator)

    def close(self) -> None:
        """Restore the library function that opens records, which `start` replaced by a simulated one."""
        self._stack.close()

    def finish(self) -> None:
        """Check the final state of the simulation: the ledger verifies, and no drafts of killed writers are left over.

        Raises:
            Violation: an invariant does not hold.
        """
        self._audit.check_now()
        ledger = Ledger.open(self._url)
        ledger.create(Account("last", Neighbours.ADD_REMOVE, EACH_RECORD, CAP))  # a writer sweeps drafts of killed ones
        ledger.verify(ledger.head())
        try:
            ledger.accept_restored()
        except ArgumentError:
            pass
        else:
            raise Violation("a restore was recorded, and the ledger is the latest copy")
        make_key(self._folder / "next.key")
        drafts = [path.name for path in self._folder.iterdir() if DRAFT_PATTERN.fullmatch(path.name)]
        heads = list((self._disk.root / "heads").iterdir())
        if drafts or len(heads) > 1:
            raise Violation(f"{len(drafts)} drafts and {len(heads)} heads are left over")

    # Processes

    def _retry(self, work: Callable[[], Result]) -> Result:
        """Return the result of a call, repeated while it fails for a reason that passes by itself (a full disk or a
        lock).

        Args:
            work: The call.
        """
        while True:
            try:
                return work()
            except BudgetExceeded:
                raise
            except ArgumentError as error:
                if error.argument not in TRANSIENT_ARGUMENTS:
                    raise
                self._report(error)
            self._world.sleep(0.5)  # seconds until the next attempt

    def _report(self, error: ArgumentError) -> None:
        """Write the rule of a refused call to the trace of the simulation.

        Args:
            error: Refusal by the simulated library; at most 60 characters of its rule are written.
        """
        self._world.note(f"refused: {error.rule.split(': ', 1)[-1][:60]}")

    def _open(self) -> Ledger:
        """Return the opened ledger: anew as each command does, or kept open as a server does."""
        opened = Ledger.open_persistent if self._keeps_open else Ledger.open
        return self._retry(lambda: opened(self._url))

    def _run_analyst(self, number: int) -> None:
        """Act as an analyst who asks all requests in a random order, and some of them again.

        Args:
            number: Number of the analyst; analyst 1 keeps the order of requests, others reverse it.
        """
        ledger = self._open()
        account = Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, CAP)
        self._retry(lambda: ledger.create(account))
        noise = self._world.random_bytes(f"analyst {number}")
        for request in self._requests[:: 1 if number == 1 else -1]:
            self._ask(ledger, request, noise)

    def _ask(self, ledger: Ledger, request: str, noise: Callable[[int], bytes]) -> None:
        """Charge a request, find or draw its answer, store it, and publish it, in the order in which a session does.

        A stored answer is looked for only if an earlier attempt may have made the charge.

        Args:
            ledger: The ledger.
            request: Request id.
            noise: Source of random bytes.

        Raises:
            Violation: a paid request was refused, or the balance is wrong.
        """
        try:
            grant, balance, is_new = self._retry(
                lambda: ledger.charge_and_read_balance(
                    "flights", PRICE, purpose="a count", request=request, binding=ZERO_FINGERPRINT, units=None,
                    is_generated=False,
                )
            )  # fmt: skip
        except BudgetExceeded:
            if self._audit.charges.get(request):
                raise Violation(f"{request!r} was refused after it was paid") from None
            return
        self._audit.acknowledge_charge(request, 300_000_000)
        self._world.step(f"granted {request}", PROCESS_KILLED, POWER_LOST)
        spent = balance.spent.billionths
        if spent > 1_000_000_000 or spent < 300_000_000 * is_new:
            raise Violation(f"the balance after a charge of {request!r} is {spent}")
        stored = None if is_new else self._retry(lambda: ledger.find_answer(grant, 0, 0))
        if stored is None:
            drawn = noise(8).hex()
            stored = self._retry(lambda: ledger.store_answer(grant, 0, 0, drawn))
        self._audit.acknowledge_answer(request, 0, 0, stored)
        self._audit.show(("answer", request), stored, request)
        self._world.step(f"showed {request}", PROCESS_KILLED, POWER_LOST)

    def _run_steward(self) -> None:
        """Act as a steward who divides a second account among two analysts of a project, who then ask questions.

        Some questions are asked by both.
        """
        ledger = self._open()
        self._retry(lambda: ledger.create(Account(SURVEY, Neighbours.ADD_REMOVE, EACH_RECORD, CAP)))
        event = Event("steward", "set an allowance", PROJECT, SURVEY)
        for analyst, epsilon in ((None, "0.9"), ("ann", "0.6"), ("bob", "0.3")):
            allowance = Allowance(SURVEY, PROJECT, PrivacyLoss.pure(epsilon), analyst)
            self._retry(lambda: ledger.allow(allowance, event=event))  # noqa: B023
        for question, analyst in enumerate(("ann", "bob", "ann", "bob")):
            self._ask_for(ledger, Member(PROJECT, analyst), f"{question % 3:064x}")
        events = self._retry(lambda: ledger.events(dataset=SURVEY))
        if len(events) < 3:
            raise Violation("an allowance was set without its event")
        statement = self._retry(lambda: ledger.statement(SURVEY))
        if not {charge.request for charge in statement.grants} <= set(self._audit.charges):
            raise Violation("the statement has a charge that nobody asked for")

    def _ask_for(self, ledger: Ledger, member: Member, binding: str) -> None:
        """Charge a question to an analyst of a project, store a note of its mechanism, and read it.

        Args:
            ledger: The ledger.
            member: Analyst of a project.
            binding: Hash that binds the request to its question.

        Raises:
            Violation: a note or a grant was used before it was stored.
        """
        try:
            grant = self._retry(
                lambda: ledger.charge_for(member, SURVEY, PRICE, purpose="a count", binding=binding, units=None)
            )
        except BudgetExceeded:
            return
        self._audit.acknowledge_charge(grant.request, 300_000_000)
        drawn = {"sum": self._world.draw_word("note") % 1000}
        stored = self._retry(lambda: ledger.store_notes(grant, 0, drawn))
        self._audit.show(("note", grant.request), stored["sum"], grant.request)
        if self._retry(lambda: ledger.find_notes(grant, 0, ["sum"])) != stored:
            raise Violation("a note was used before it was stored")
        if self._retry(lambda: ledger.find_grant(SURVEY, grant.request)) != grant:
            raise Violation("a grant was given before it was committed")
        self._world.step("showed a note", PROCESS_KILLED, POWER_LOST)

    def _run_auditor(self) -> None:
        """Act as an auditor of an account with a delta, who checks that changes stay and that invalid calls are
        refused.

        A charge, a view and an event are stored and read again; calls such as a second use of a request id must be
        refused, and a copy of the ledger that was altered without its key must not verify.

        Raises:
            Violation: a call or the altered copy was not refused, or the ledger lost a change.
        """
        world = self._world
        folder = self._disk.make_folder(AUDITOR)
        ledger = self._open()
        account = Account("deltas", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1, delta="1e-6"))
        self._retry(lambda: ledger.create(account))
        charge = partial(ledger.charge, "deltas", purpose="a list", binding=ZERO_FINGERPRINT, units=None)
        paid = PrivacyLoss.pure("0.3", delta="6e-7")
        self._retry(lambda: charge(paid, request="list"))
        self._audit.acknowledge_charge("list", 300_000_000)
        self._refuse("delta", lambda: charge(paid, request="another list"))
        self._refuse("request", lambda: charge(PRICE, request="list"))
        self._refuse("units", lambda: charge(PRICE, request="third list", units=3))
        self._refuse("key", lambda: Ledger.open(self._url, bytes(32)))
        if self._retry(lambda: ledger.delta_spent("deltas")) != paid.delta:
            raise Violation("the spent delta is not that of the charges")
        self._retry(lambda: ledger.change_view("deltas", lambda stored: ("late", "delay > 0")))
        self._retry(lambda: ledger.record_event(Event("auditor", "looked", "ledger", ""), lambda connection: None))
        if self._retry(lambda: ledger.view_definitions("deltas")) != {"late": "delay > 0"}:
            raise Violation("a view was defined, and is not stored")
        world.step("looks at a copy", PROCESS_KILLED, POWER_LOST)
        copy = folder / "budget.db"
        self._disk.put_back(copy, self._disk.take_copy(self._path))
        copy.with_name("budget.db.key").write_bytes(self._path.with_name("budget.db.key").read_bytes())
        ledger = Ledger.open_existing(f"sqlite:///{copy}")
        ledger.verify()
        tampering = world.choose("tampering", TAMPERINGS)
        with closing(sqlite3.connect(copy)) as connection:
            changed = connection.execute(tampering).rowcount
            connection.commit()
        if changed:
            self._refuse("ledger", lambda: Ledger.open_existing(f"sqlite:///{copy}").verify(), "key")

    def _refuse(self, argument: str, work: Callable[[], object], *others: str) -> None:
        """Check that the ledger refuses an invalid call, with an error that names the expected argument.

        The call is repeated after errors that pass by themselves.

        Args:
            argument: Argument that the error must name.
            work: The call.
            others: Further arguments that are as good.

        Raises:
            Violation: the call was not refused.
        """
        while True:
            try:
                work()
            except ArgumentError as error:
                if error.argument in (argument, *others):
                    return
                if error.argument not in TRANSIENT_ARGUMENTS:
                    raise
                self._world.sleep(0.5)  # seconds until the next attempt
            else:
                raise Violation(f"nobody refused what is wrong with {argument}")

    def _run_session(self) -> None:
        """Act as an analyst who asks for the same histogram twice, in a session each; the second must repeat the
        first.
        """
        for start in (1, 2):
            noise = Randomness(self._world.random_bytes(f"session {start}"), is_seeded=False)

            def ask() -> Any:
                """Return the histogram that a session answers."""
                session = dp.Session(
                    TABLE, budget=CAP, adjacency=dp.ADD_REMOVE, ledger=self._url, dataset="table", randomness=noise,  # noqa: B023
                )  # fmt: skip
                return session.ask(QUESTION, PRICE, "histogram")

            curve = self._retry(ask)
            self._audit.acknowledge_charge("histogram", 300_000_000)
            self._audit.show("histogram", tuple(curve.unbiased_counts), "histogram")
            self._world.step("showed a histogram", PROCESS_KILLED, POWER_LOST)

    def _run_follower(self, number: int) -> None:
        """Act as a process that follows a stream to its last step, and appends its releases to a file.

        Errors that pass by themselves make it begin again.

        Args:
            number: Number of this follower.

        Raises:
            Violation: the file does not hold what was shown.
        """
        world = self._world
        output = self._folder / f"steps-{number}.jsonl"
        noise = Randomness(world.random_bytes(f"follower {number}"), is_seeded=False)
        while True:
            try:
                self._follow(number, noise, output)
            except ArgumentError as error:
                if error.argument not in TRANSIENT_ARGUMENTS:
                    raise
                self._report(error)
                world.sleep(0.5)  # seconds until the next attempt
            else:
                break
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        shown = [value for step in range(1, STEPS + 1) for value in self._audit.shown["step", step]]  # type: ignore[attr-defined]
        if [line["unbiased"] for line in lines] != shown:
            raise Violation(f"{output.name} does not hold what was shown")

    def _follow(self, number: int, noise: Randomness, output: Path) -> None:
        """Follow the stream once from its first step, write each released step to the file, and check it.

        Args:
            number: Number of this follower.
            noise: Source of the noise.
            output: File of JSON lines.
        """
        stream = follow(
            _Windows(self._world), COUNTS, loss=CAP, store=self._url, start=0, every=1, name="counts", randomness=noise
        )
        self._audit.acknowledge_charge("stream counts", 10**9)
        with JsonLinesFile(output) as sink:
            for reading in stream:
                values = (*reading.values, *reading.uncounted.noisy.values)
                self._audit.show(("step", reading.step), values, "stream counts")
                sink.write(reading)
                self._world.step(f"showed step {reading.step}", PROCESS_KILLED, POWER_LOST)
                if reading.step == STEPS:
                    return

    def _run_operator(self) -> None:
        """Act as an operator who restores an older backup of the ledger: then accept it, or restore the latest ledger.

        A killed operator goes on after the restart.
        """
        if self._latest is None:
            self._latest = self._put_copy_back()
        if self._latest is None:
            return
        if self._may_restore:
            self._accept_older_copy()
        else:
            self._disk.put_back(self._path, self._latest)
            self._world.note("puts the latest copy back")
        self._audit.is_stale = False

    def _put_copy_back(self) -> dict[str, bytes] | None:
        """Restore an older backup of the ledger, and check that the library refuses to use it.

        Returns:
            Bytes of the latest ledger's files, by name; None if the copy is not older.

        Raises:
            Violation: the older copy was written to.
        """
        world, disk = self._world, self._disk
        world.sleep(world.draw("backup") * 2)
        world.wait_until(lambda: self._path.exists() or world.is_calm, 0.5)
        copy = disk.take_copy(self._path)
        entries = self._audit.count_entries()
        world.sleep(world.draw("restore") * 4)
        if not self._path.exists() or world.is_calm or self._read_head() <= entries:
            return None  # the guarantee is for copies that are older than the stored head
        world.note("puts an older copy of the ledger back")
        world.stop_machine(MACHINE)
        self._audit.is_stale = True
        present = disk.put_back(self._path, copy)
        commits = disk.commits
        world.sleep(1.5)
        if disk.commits != commits:
            raise Violation("an older copy of the ledger was written to")
        world.stop_machine(MACHINE)
        if self._may_restore:
            self._audit.forget_later()  # now: the restore may be recorded before a killed operator learns of that
        return present

    def _accept_older_copy(self) -> None:
        """Accept the restored backup of the ledger as the current one; do so again if that was interrupted."""
        ledger = self._open()
        while True:
            try:
                ledger.accept_restored()
                break
            except ArgumentError as error:
                if NOTHING_TO_RESTORE in error.rule:
                    break  # an operator who was killed has done all of it
                if error.argument not in TRANSIENT_ARGUMENTS:
                    raise
                self._report(error)
            self._world.sleep(0.5)  # seconds until the next attempt
        self._retry(ledger.verify)
        self._world.note("accepts the older copy")

    def _read_head(self) -> int:
        """Return the number of ledger entries that the head states, the file beside the ledger that detects older
        copies.

        Returns:
            The number; 0 if no head is stored.
        """
        heads = [path.read_text() for path in (self._disk.root / "heads").glob("*.head") if "draft" not in path.name]
        return int(heads[0].split()[0]) if heads and heads[0].endswith("\n") else 0


class _Windows:
    """A source of windows that close each simulated second; counts are a function of the step."""

    def __init__(self, world: World) -> None:
        self._world = world

    def check(self) -> None:
        """Do nothing: the windows have no schema."""

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        """Yield the exact counts (windows) of the simulated stream's steps after `time_step`, one or two steps at a
        time.

        Args:
            time_step: Last step that was released; 0 before the first.
        """
        step = time_step
        while step < STEPS:
            self._world.sleep(0.3)  # seconds between two windows
            last = min(STEPS, step + 1 + int(self._world.draw("windows") < 0.3))
            yield [
                Window(at, np.array([at, 100, 7 * at], dtype=np.int64), np.array([at, 0, 2, 9]))
                for at in range(step + 1, last + 1)
            ]
            step = last

    def commit_windows(self, time_step: int) -> None:
        """Count an event of the simulation: the source may forget tuples up to this step.

        Args:
            time_step: Last step whose release is stored.
        """
        self._world.step(f"forget tuples of step {time_step}", PROCESS_KILLED, POWER_LOST)
