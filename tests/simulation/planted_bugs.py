"""Bugs that are planted into product functions, and how soon simulated schedules find them.

The invariants of the simulator were written before. Run as a program, this searches a seed for each bug, keeps it in
`planted_bugs.json`, and writes the table of docs/simulation.md; with names of bugs, for these alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import delete

from dpcurves import drafts
from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.conversation import WHOLE_BUDGET
from dpcurves.ledger import Grant, Ledger, QuestionBudget, chain, head_copy, sqlite
from dpcurves.ledger import ledger as ledger_module
from dpcurves.ledger.ledger import Charged
from dpcurves.ledger.stream_state import store_time_steps
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.serving.task_app import authenticate_bearer
from dpcurves_parties.serving.task_document import Role
from dpcurves_parties.serving.two_servers import app, collection, store
from dpcurves_sim.runner import Outcome, run_schedule
from dpcurves_sim.world import Schedule, replace_attributes
from dpcurves_sites import relay, site
from dpcurves_sites.relay import MessageBoard
from dpcurves_sites.secure_sum import MASKED
from dpcurves_streams.feed.reading import JsonLinesFile

FOUND = Path(__file__).parent / "planted_bugs.json"
MOST_SCHEDULES = 10_000


class PlantedBug(NamedTuple):
    """A bug: what is wrong, the scenario that finds it, and the replaced attributes."""

    name: str
    scenario: str
    replacements: Sequence[tuple[Any, str, Any]]


def wait_for_no_disk(uri: str, path: Path) -> Any:
    connection = CONNECT(uri, path)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


CONNECT = sqlite._connect


def charge_before_commit(self: Ledger, dataset: str, loss: Any, *, request: str, **_: Any) -> Charged:
    return Charged(Grant(request, loss, dataset, 1), self.balance(dataset), is_new=True)


def return_own_answer(self: Ledger, grant: Grant, turn: int, part: int, answer: str) -> str:
    STORE_ANSWER(self, grant, turn, part, answer)
    return answer


STORE_ANSWER = Ledger.store_answer


def keep_own_time_steps(chain: Any, grant: Grant, time_steps: Any, state: bytes) -> Any:
    STORE_TIME_STEPS(chain, grant, time_steps, state)
    return time_steps


STORE_TIME_STEPS = store_time_steps


def take_failed_commit_for_success(self: Any, engine: Any, work: Any, lock: Any) -> Any:
    results: list[Any] = []

    def work_once(connection: Any) -> Any:
        results.append(work(connection))
        return results[-1]

    try:
        RUN_TRANSACTION(self, engine, work_once, lock)
    except InvalidArgument:
        if not results:
            raise
    return results[-1]


RUN_TRANSACTION = chain.Database._run_transaction


def advance_every_second_time_step(self: Ledger, grant: Grant, time_steps: Any, state: bytes) -> Any:
    waiting = self.__dict__.setdefault("waiting", {})
    waiting.update(time_steps)
    if max(waiting) % 2:
        return time_steps
    stored = ADVANCE(self, grant, dict(waiting), state)
    waiting.clear()
    return time_steps if len(stored) else stored


ADVANCE = Ledger.advance


def write_key_in_place(path: Path, digits: str) -> bool:
    path.write_text(digits + "\n")
    return True


def open_without_flush(self: sqlite.FileStorage) -> chain.Database:
    """Open as before simulations found it."""
    with replace_attributes((self, "_flush_names", do_nothing)):
        return OPEN_DATABASE(self)


OPEN_DATABASE = sqlite.FileStorage.open_database


def let_head_errors_through(self: Ledger) -> Any:
    """Accept an older copy as before simulations found it."""
    heads = self._head_copy
    assert heads is not None

    def overwrite(book: Any) -> None:
        """Replace the head, and let an error of the system through."""
        try:
            OVERWRITE(heads, book)
        except OSError as error:
            raise RuntimeError(error.strerror) from error

    with replace_attributes((heads, "overwrite", overwrite)):
        return ACCEPT_RESTORED(self)


ACCEPT_RESTORED = Ledger.accept_restored
OVERWRITE = head_copy.HeadCopy.overwrite


def leave_without_release(self: Any) -> None:
    """The lock of the number stays, since its file stays open."""


def append_always(self: JsonLinesFile, reading: Any) -> None:
    self._is_behind = False
    self._file.seek(0, 2)
    WRITE_LINES(self, reading)


WRITE_LINES = JsonLinesFile.write


def overwrite_with_private_draft(self: Any, book: Any) -> None:
    """Write as before simulations found it."""
    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = self._path(book, self._folder)
    draft = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
    draft.write_text(f"{book.entries} {book.head}\n")
    vars(head_copy)["os"].replace(draft, path)


def read_torn_head(self: Any, book: Any) -> tuple[int, str] | None:
    """Read as before simulations found it."""
    try:
        entries, head = self._path(book, self._folder).read_text(encoding="ascii").split()
        return int(entries), head
    except (OSError, ValueError):
        return None


def draw_vector_again(self: Any, sum_round: Any, vector: Any) -> None:
    conditions = site._round_conditions(site.SUM_VECTOR_TABLE, sum_round)
    self._database.run_write(lambda connection: connection.execute(delete(site.SUM_VECTOR_TABLE).where(*conditions)))
    STORE_VECTOR(self, sum_round, vector)


def answer_without_a_look(self: Any, sum_round: Any, stage: int, *request: Any) -> bytes:
    previous_messages, vector, payment = request
    if stage == MASKED:
        draw_vector_again(self, sum_round, vector)
    message: bytes = self._database.run_write(
        lambda connection: self._answer_once(connection, sum_round, stage, previous_messages, payment)
    )
    return message


STORE_VECTOR = site.RoundStore._store_vector


def charge_nothing(self: Any, plan: Any, allotment: Any) -> Grant:
    return Grant(allotment.request, allotment.loss, "records", 1)


def drop_name_alone(self: MessageBoard, name: str) -> None:
    self._rounds.pop(name)


def admit_strangers(task: Any, request: Any, role: Any) -> int:
    try:
        return authenticate_bearer(task, request, role)
    except ProtocolError:
        if role is not Role.OWNER:
            raise
        return 0


def do_nothing(*_: Any, **__: Any) -> None:
    return None


def pass_answer_on(self: Ledger, grant: Grant, turn: int, part: int, answer: str) -> str:
    return answer


def freeze_nothing(self: store.Store, task: str, attempt: str) -> Any:
    return self.read_status(task)


def acknowledge_before_commit(self: store.Store, task: str, max_reports: int, offer: Any) -> int:
    self.submit_reports(task, max_reports, offer)
    return len(offer.reports)


def draw_key_anew(self: Any, name: str) -> Any:
    return NoiseKey(os.urandom(32))


def charge_no_task(self: Any, status: Any) -> Any:
    loss = self.task.loss.as_single_release()
    return QuestionBudget.from_external_charge(self.task.hash, loss).pay(self.task.query, WHOLE_BUDGET)


def accept_for_ever(state: Any, uploads: Any) -> list[Exception]:
    return []


def admit_anybody(*_: Any) -> int:
    return 0


async def store_on_event_loop(self: Any, owner: int, message: bytes) -> bytes:
    reply: bytes = self.store_batch(owner, message)
    return reply


BUGS = (
    PlantedBug("a commit does not wait for the disk", "ledger", [(sqlite, "_connect", wait_for_no_disk)]),
    PlantedBug("a draft gets its name before it is flushed", "ledger", [(chain, "flush", do_nothing)]),
    PlantedBug(
        "a head of a ledger that is not flushed", "ledger",
        [(head_copy, "flush", do_nothing), (head_copy, "flush_names", do_nothing)],
    ),
    PlantedBug("a key is written in place", "ledger", [(sqlite, "write_key", write_key_in_place)]),
    PlantedBug("a key is used before its ledger is flushed", "ledger", [
        (sqlite.FileStorage, "open_database", open_without_flush),
    ]),
    PlantedBug("a restore fails with an error of the system", "ledger", [
        (Ledger, "accept_restored", let_head_errors_through),
    ]),
    PlantedBug("a charge is acknowledged before it is committed", "ledger", [
        (Ledger, "charge_and_read_balance", charge_before_commit),
    ]),
    PlantedBug("a failed commit passes for a success", "ledger", [
        (chain.Database, "_run_transaction", take_failed_commit_for_success),
    ]),
    PlantedBug("an answer is shown before it is stored", "ledger", [(Ledger, "store_answer", pass_answer_on)]),
    PlantedBug("the second writer shows its own answer", "ledger", [(Ledger, "store_answer", return_own_answer)]),
    PlantedBug("the second follower keeps its own noise", "ledger", [
        (ledger_module, "store_time_steps", keep_own_time_steps),
    ]),
    PlantedBug("every second step is shown before it is stored", "ledger", [
        (Ledger, "advance", advance_every_second_time_step),
    ]),
    PlantedBug("an older copy of a ledger is charged", "ledger", [
        (head_copy.HeadCopy, "require_not_older", do_nothing),
    ]),
    PlantedBug("drafts of killed writers stay", "ledger", [(drafts, "sweep_drafts", lambda folder: 0)]),
    PlantedBug("heads have drafts that nobody sweeps", "ledger", [
        (head_copy.HeadCopy, "overwrite", overwrite_with_private_draft),
    ]),
    PlantedBug(
        "a torn head passes for another copy's", "ledger",
        [(head_copy, "flush", do_nothing), (head_copy.HeadCopy, "_read", read_torn_head)],
    ),
    PlantedBug("a writer leaves the queue without waking the next", "ledger", [
        (sqlite._QueuePosition, "leave", leave_without_release),
    ]),
    PlantedBug("a restarted follower appends what the file has", "ledger", [(JsonLinesFile, "write", append_always)]),
    PlantedBug("a site draws its vector again", "sites", [(site.RoundStore, "answer_stage", answer_without_a_look)]),
    PlantedBug("a site counts without a charge", "sites", [(site.Site, "_charge_round", charge_nothing)]),
    PlantedBug("the coordinator keeps files of dropped rounds", "sites", [
        (MessageBoard, "_drop_round", drop_name_alone),
    ]),
    PlantedBug("the coordinator takes unknown tokens for its first member", "sites", [
        (relay, "authenticate_bearer", admit_strangers),
    ]),
    PlantedBug("a server does not freeze while the other decides", "servers", [
        (store.Store, "freeze", freeze_nothing),
    ]),
    PlantedBug("reports are acknowledged before they are stored", "servers", [
        (store.Store, "add_reports", acknowledge_before_commit),
    ]),
    PlantedBug("a server accepts reports after the decision", "servers", [
        (store, "_refuse_uploads", accept_for_ever),
    ]),
    PlantedBug("a server draws its noise again after a restart", "servers", [
        (collection.NoiseSecret, "derive_noise_key", draw_key_anew),
    ]),
    PlantedBug("a server writes to its disk on the event loop", "servers", [
        (collection.SharedTaskService, "store_batch_async", store_on_event_loop),
    ]),
    PlantedBug("a server takes anybody for the first owner", "servers", [(app, "authenticate_bearer", admit_anybody)]),
    PlantedBug("a server answers without a charge", "servers", [
        (collection.SharedTaskService, "_charge_ledger", charge_no_task),
    ]),
)  # fmt: skip


@contextlib.contextmanager
def plant(bug: PlantedBug) -> Iterator[None]:
    """Plant a bug until the context ends."""
    with replace_attributes(*bug.replacements):
        yield


def run_with(bug: PlantedBug, schedule: Schedule) -> Outcome:
    """Run one schedule with a bug."""
    with plant(bug):
        return run_schedule(schedule)


def search(bug: PlantedBug, most: int = MOST_SCHEDULES) -> dict[str, Any] | None:
    """Return the first seed that finds a bug and what it violates; None if no seed does."""
    for seed in range(most):
        outcome = run_with(bug, Schedule(bug.scenario, seed))
        if outcome.violation:
            return {"seed": seed, "events": outcome.events, "violation": outcome.violation}
    return None


PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"
BEGIN, END = "<!-- bugs: made by tests/simulation/planted_bugs.py -->\n", "<!-- /bugs -->"


def format_table(found: dict[str, Any]) -> str:
    """Return the table of docs/simulation.md."""
    rows = [
        f"| {bug.name} | {bug.scenario} | {found[bug.name]['seed']} | {found[bug.name]['violation']} |\n"
        for bug in BUGS
        if bug.name in found
    ]
    return "| planted bug | scenario | seed | what is violated first |\n|---|---|---:|---|\n" + "".join(rows)


def write_table(found: dict[str, Any]) -> None:
    """Write the table into its page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + format_table(found) + END + rest.partition(END)[2])


def main(names: Sequence[str], most: int = MOST_SCHEDULES) -> None:
    """Search for bugs, keep what was found, and write the table."""
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for bug in BUGS:
        if bug.name in names or not names:
            result = search(bug, most)
            print(f"{bug.name}: {result}", flush=True)
            if result is not None:
                found[bug.name] = result
                FOUND.write_text(json.dumps(found, indent=1) + "\n")
    write_table(found)


if __name__ == "__main__":
    main(sys.argv[1:])
