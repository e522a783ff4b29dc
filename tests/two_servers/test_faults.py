"""What goes wrong between processes: each of them real, some killed, some in between who damage what they pass on."""

from __future__ import annotations

import json
import re
import resource
import shutil
import socket
import sqlite3
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from federation import (
    GRID,
    LONG,
    SERVERS,
    Federation,
    Program,
    command,
    in_one_minute,
    mortal,
    of_next_version,
    until,
    values,
)  # fmt: skip
from free_ports import free_port
from middlemen import TO_CLIENT, TO_SERVER, order, quietly, relay, spy

from dpcurves.curves import CDF, CdfQuestion
from dpcurves.distributions import ThresholdSums
from dpcurves.ledger import Ledger
from dpcurves_parties.crypto import prefix_sums
from dpcurves_parties.serving.task_document import Role
from dpcurves_parties.serving.two_servers.app import QUESTIONS_PER_MINUTE
from dpcurves_parties.serving.two_servers.report_set import (
    ID_SIZE,
    SEALING_OVERHEAD,
    encode_batch,
    parse_batch,
)
from dpcurves_parties.serving.two_servers.store import Store, StoredShare
from dpcurves_parties.serving.two_servers.task_types import VERSION
from dpcurves_parties.shares import ProtocolError, Task
from dpcurves_parties.shares.function_shares import SHARE_MODULUS, Owners
from dpcurves_parties.shares.shared_records import TreeEncoding

NAMES = (
    "died",
    "torn",
    "told",
    "unasked",
    "unpaid",
    "checked",
    "foreign",
    "filled",
    "paid",
    "mortal",
    "back",
    "lost",
    "failed",
)
X = np.asarray(values()["x"])
AT = (100, 500, 900, 1000)
QUESTION = CdfQuestion("x", GRID, edges=AT)
LOST = r"the connection to https://127\.0\.0\.1:\d+ was lost; try again"


def is_listening(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), LONG):
        return True
    return False


class Watched(Federation):
    """All that goes to server 0 goes through a spy who has its keys, to server 1 through a relay that has none."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.listening = free_port(), free_port()
        self.orders = {name: folder / f"{name}.orders" for name in ("spy", "relay", "between")}
        self.between = free_port()
        own, other = str(folder / "a0"), str(folder / "a1")
        for name, work, *more in (
            ("spy", spy, self.ports[0], self.listening[0], (own, other)),
            ("relay", relay, self.ports[1], self.listening[1]),
            ("between", spy, self.between, self.listening[1], (other, own)),
        ):
            order(self.orders[name])
            arguments = work, *more, self.orders[name]
            SERVERS.Process(target=quietly, args=arguments, daemon=True).start()
        for port in (*self.ports, self.between):
            until(partial(is_listening, port), "who stands between listens")

    def start(self, party: int, *more: str, tasks: Sequence[str] | None = None, program: Program = mortal) -> None:
        super().start(party, *more, tasks=tasks, program=program)

    def let_die(self, party: int, step: str) -> None:
        """From its next start on, or now, a server kills itself at this step."""
        (self.folder / f"log{party}.dies").write_text(step)

    def put(self, party: int, copy: Path) -> None:
        """Write the store of a server that does not run over with a copy."""
        for end in ("-wal", "-shm"):
            (self.folder / f"a{party}.db{end}").unlink(missing_ok=True)
        shutil.copy(copy, self.folder / f"a{party}.db")

    def copied(self, party: int, name: str) -> Path:
        """A backup of a server's store."""
        copy = self.folder / name
        with closing(sqlite3.connect(self.folder / f"a{party}.db")) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    def again(self, party: int, *more: str) -> None:
        """Kill a server and start it again."""
        self.end(party)
        self.start(party, *more)

    def stands(self, task: Task) -> tuple[int, int]:
        """How many reports each server has."""
        first, second = (Store(self.store(party)).read_status(task.hash).reports for party in (0, 1))
        return first, second

    def spent(self, task: Task) -> list[str]:
        """What stands in both ledgers, which are whole."""
        ledgers = [Ledger.open_existing(self.store(party)) for party in (0, 1)]
        for ledger in ledgers:
            ledger.verify()
        return [ledger.statement(task.dataset).spent.digits for ledger in ledgers]

    def about(self, task: Task, ticket: str) -> list[str]:
        return ["--task", str(self.folder / f"{task.name}.json"), "--ticket", str(self.file(task, ticket))]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    made = Watched(tmp_path_factory.mktemp("watched"))
    for name in NAMES:
        owners = Owners.CHECKED if name in {"checked", "failed"} else Owners.UNCHECKED
        made.task(name, owners=owners, most=3000)
    try:
        for party in (0, 1):
            made.start(party)
        for name in ("told", "unasked", "unpaid", "checked"):
            made.contribute(made.tasks[name], values())
            made.close(made.tasks[name])
        yield made
    finally:
        made.end_all()


@pytest.fixture(autouse=True)
def _all_is_well_again(pair: Watched) -> Iterator[None]:
    yield
    for file in pair.orders.values():
        order(file)
    pair.close_connections()


def near(found: CDF, exact: Sequence[int]) -> bool:
    """Noise at epsilon 10: beyond 12 standard deviations once in far more than a million runs."""
    (turn,) = found.rounds
    error = turn.distribution.require_type(ThresholdSums).path.variance ** 0.5
    return bool(np.all(np.abs(np.array(turn.values) - exact) <= 12 * error))


def one_size(task: Task) -> int:
    return task.encoding.size + SEALING_OVERHEAD


def counts(x: object) -> list[int]:
    return [int((GRID.cell_of(np.asarray(x)) < each).sum()) for each in AT]


def opened(pair: Watched, task: Task) -> list[int]:
    """The exact counts of the reports that both servers have: their shares taken together, as only a test can."""
    stored = [Store(pair.store(party)).read_shares(task.hash) for party in (0, 1)]
    both, encoding = sorted(stored[0].keys() & stored[1].keys()), task.encoding
    assert isinstance(encoding, TreeEncoding)
    keys = [encoding.parse_keys(party, [kept[key].share for key in both]) for party, kept in enumerate(stored)]
    sums = [prefix_sums(one, [each - 1 for each in AT], encoding.engine) for one in keys]
    return [sum(each) % SHARE_MODULUS for each in zip(*sums, strict=True)]


def table(folder: Path, name: str, x: object) -> str:
    file = folder / name
    file.write_text("x\n" + "".join(f"{value}\n" for value in np.asarray(x)))
    return str(file)


# Owners


def test_an_owner_that_is_killed_while_it_sends_counts_as_far_as_both_servers_have_its_reports(
    pair: Watched, tmp_path: Path
) -> None:
    """Both owners are killed within their second batch; the second one begins again."""
    task, rows = pair.tasks["died"], [np.asarray(values(1500, seed=seed)["x"]) for seed in (7, 8)]
    batch = 1000 * (ID_SIZE + task.encoding.size + SEALING_OVERHEAD)
    for number, x in enumerate(rows, start=1):
        order(pair.orders["relay"], do="hold", side=TO_SERVER, after=batch + batch // 4)
        about = pair.about(task, f"owner-{number}")
        owner = pair.typed("contribute", table(tmp_path, f"{number}.csv", x), *about)
        until(lambda n=number: pair.stands(task) == (1500 * n, 1000 * n), "the second batch is on its way")  # type: ignore[misc]
        owner.kill()
        owner.join(LONG)
        order(pair.orders["relay"])
    again = pair.typed("contribute", str(tmp_path / "2.csv"), *about)
    again.join(LONG)
    assert (again.exitcode, pair.said()) == (0, ["sent: 1500 reports, 500 of them new to the servers"])
    assert pair.stands(task) == (3000, 2500)
    assert pair.close(task)[1] == 2500
    exact = opened(pair, task)
    assert exact[-1] == 2500
    for low, count, high in zip(counts(rows[1]), exact, counts(np.concatenate(rows)), strict=True):
        assert low <= count <= high
    assert near(pair.analyst(task).ask(QUESTION), exact)


@pytest.mark.parametrize(
    ("do", "side", "after"),
    [("flip", TO_SERVER, 0), ("flip", TO_SERVER, 9000), ("cut", TO_SERVER, 9000), ("flip", TO_CLIENT, 900)],
)
def test_an_upload_that_is_damaged_on_its_way_ends_in_one_line(
    pair: Watched, tmp_path: Path, do: str, side: int, after: int
) -> None:
    task = pair.tasks["torn"]
    order(pair.orders["relay"], do=do, side=side, after=after)
    owner = pair.typed("contribute", table(tmp_path, "x.csv", X), *pair.about(task, "owner-1"))
    owner.join(LONG)
    (line,) = pair.said()
    assert owner.exitcode != 0
    assert re.fullmatch(f"dpcurves: server: {LOST}", line), line


def test_after_all_that_the_owner_begins_again_and_counts_once(pair: Watched, tmp_path: Path) -> None:
    task = pair.tasks["torn"]
    for _ in range(2):
        owner = pair.typed("contribute", table(tmp_path, "x.csv", X), *pair.about(task, "owner-1"))
        owner.join(LONG)
        assert owner.exitcode == 0
    assert pair.said()[-1] == "sent: 200 reports, 0 of them new to the servers"
    assert pair.close(task)[1] == 200
    assert opened(pair, task) == counts(X)


@pytest.mark.parametrize("do", ["nothing", "cut off", "no text"])
def test_a_server_that_answers_an_owner_with_anything_is_refused_in_one_line(
    pair: Watched, tmp_path: Path, do: str
) -> None:
    order(pair.orders["spy"], do=do, at="reports")
    owner = pair.typed("contribute", table(tmp_path, "x.csv", X), *pair.about(pair.tasks["foreign"], "owner-1"))
    owner.join(LONG)
    assert (owner.exitcode != 0, pair.said()) == (
        True,
        [
            "dpcurves: server: the message is cut off, or no JSON object; "
            "use the same version of dpcurves on all machines"
        ],
    )


def test_a_disk_that_is_full_is_told_to_who_asked_and_to_the_operator_and_stops_nothing_else(
    pair: Watched, tmp_path: Path
) -> None:
    """Lets server 1, as quotas do, write no further than the first page of any file."""
    prlimit = getattr(resource, "prlimit", None) or pytest.skip("limits of other processes can not be set here")
    task, process, line = pair.tasks["filled"], pair.running[1].pid, "the disk cannot be read or written"
    pair.contribute(task, values())
    _, most = prlimit(process, resource.RLIMIT_FSIZE)
    prlimit(process, resource.RLIMIT_FSIZE, (4096, most))
    try:
        for asked in (
            ["contribute", table(tmp_path, "x.csv", X[:7]), *pair.about(task, "owner-2")],
            ["task", "close", *pair.about(task, "coordinator-1")],
        ):
            typed = pair.typed(*asked)
            typed.join(LONG)
            assert (typed.exitcode != 0, pair.said()) == (True, [f"dpcurves: store: server 1: {line}"])
    finally:
        prlimit(process, resource.RLIMIT_FSIZE, (most, most))
    assert [pair.log(party).count(line) for party in (0, 1)] == [1, 2]
    assert f"dpcurves: {str(pair.folder / 'a1.db')!r}: {line}" in pair.log(1)
    pair.contribute(task, {"x": X[:7]}, owner=2)
    assert pair.close(task)[1:] == (207, 2)


def write_nothing(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, in a process that can write no file beyond its first page, as with a used-up quota."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
    command(arguments, log, environment)


def test_a_server_that_cannot_write_starts_repeats_its_answers_and_charges_nothing(
    pair: Watched, tmp_path: Path
) -> None:
    task, unpaid, log = pair.tasks["told"], pair.tasks["unpaid"], pair.folder / "log1"
    first = pair.analyst(task).ask(QUESTION)
    before = [pair.spent(one) for one in (task, unpaid)]
    log.rename(pair.folder / "log1.before")  # the new process may write a page of its own log
    pair.end(1)
    pair.start(1, program=write_nothing)
    try:
        assert pair.analyst(task).ask(QUESTION).to_json() == first.to_json()
        with pytest.raises(ProtocolError, match="the disk"):
            pair.analyst(unpaid, party=1).ask(QUESTION)
        owner = pair.typed("contribute", table(tmp_path, "x.csv", X), *pair.about(pair.tasks["torn"], "owner-2"))
        owner.join(LONG)
        assert (owner.exitcode != 0, len(pair.said())) == (True, 1)
        assert [pair.spent(one) for one in (task, unpaid)] == before
        lines = [line for line in pair.log(1).splitlines() if "repeats its stored answers, and refuses all" in line]
        assert len(lines) == 1
        assert "the disk cannot be read or written" in lines[0]
    finally:
        pair.again(1)
    assert near(pair.analyst(unpaid).ask(QUESTION), counts(X))


# Between the servers


def test_bits_that_change_between_the_servers_end_in_one_line_or_in_the_right_answer(pair: Watched) -> None:
    task = pair.tasks["told"]
    pair.again(0, "--timeout", "10")
    first = pair.analyst(task).ask(QUESTION)
    assert near(first, counts(X))
    refused = list[str]()
    for do, side, after in (
        ("flip", TO_SERVER, 0), ("flip", TO_SERVER, 5), ("flip", TO_SERVER, 200), ("cut", TO_SERVER, 60),
        ("flip once", TO_SERVER, 0), ("flip once", TO_SERVER, 130), ("flip", TO_CLIENT, 0), ("flip", TO_CLIENT, 80),
        ("flip", TO_CLIENT, 170), ("cut", TO_CLIENT, 100), ("flip once", TO_CLIENT, 90),
    ):  # fmt: skip
        order(pair.orders["relay"], do=do, side=side, after=after)
        try:
            assert pair.analyst(task).ask(QUESTION).rounds[0].values == first.rounds[0].values
        except ProtocolError as error:
            refused.append(str(error))
        order(pair.orders["relay"])
        assert pair.analyst(task).ask(QUESTION).rounds[0].values == first.rounds[0].values
    assert len(refused) >= 8
    lines = (
        f"peer: ({LOST}|.* gave no answer within 10 seconds; try again later|another server "
        f"answers at .* than the task names, and nothing was sent; ask its operator)"
    )
    assert [line for line in refused if not re.fullmatch(lines, line)] == []
    assert pair.spent(task) == ["10", "10"]


def test_a_server_that_is_killed_while_it_answers_the_other_one_answers_later(pair: Watched) -> None:
    task = pair.tasks["told"]
    first = pair.analyst(task).ask(QUESTION)
    ended: list[object] = []

    def ask() -> None:
        try:
            ended.append(pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(3, 500))))
        except ProtocolError as error:
            ended.append(str(error))

    order(pair.orders["relay"], do="hold", side=TO_CLIENT, after=0)
    asking = Thread(target=ask)
    asking.start()
    asking.join(0.5)
    pair.end(1)
    order(pair.orders["relay"])
    asking.join(LONG)
    assert re.fullmatch(f"peer: ({LOST}|.* gave no answer within 10 seconds; try again later)", str(ended[0])), ended
    pair.start(1)
    again = pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(3, 500)))
    assert again.rounds[0].values[1] == first.rounds[0].values[1]
    assert pair.spent(task) == ["10", "10"]


LINES = {
    "replay": "peer: the answer is to another question, or an earlier one; ask again",
    "cut off": "peer: the message is cut off, or no JSON object; use the same version of dpcurves on all machines",
    "nothing": "peer: the message is cut off, or no JSON object; use the same version of dpcurves on all machines",
    "no text": "peer: the message is cut off, or no JSON object; use the same version of dpcurves on all machines",
    "other thresholds": "peer: the answer is to another question, or an earlier one; ask again",
    "other version": "peer: the answer is to another question, or an earlier one; ask again",
    "other task": "peer: the answer is to another question, or an earlier one; ask again",
    "other set": "peer: the other server answers from another report set",
    "fewer reports": "peer: the other server answers from another report set",
    "other noise": (
        "peer: the other server answers from another report set or with other noise, and "
        "nothing is answered; ask its operator whether a store was restored"
    ),
    "others dropped": (
        "peer: the other server dropped other reports in the check, and nothing is "
        "answered; ask both operators whether a store was restored"
    ),
    "no half": "server 1: the encrypted answer share is missing or was changed; ask again",
    "open half": "server 1: the encrypted answer share is missing or was changed; ask again",
    "torn half": "server 1: the encrypted answer share is missing or was changed; ask again",
    "old half": "server 1: the encrypted answer share is missing or was changed; ask again",
}


def test_what_is_replayed_or_changed_with_the_keys_of_the_other_server_is_refused(pair: Watched) -> None:
    """Whoever has stolen its keys says what was recorded, or something else; before the first charge, and later.

    What is outside of the sealed half the asked server refuses, the sealed half the analyst.
    """
    task, checked, unasked = (pair.tasks[name] for name in ("told", "checked", "unasked"))
    pair.again(0, "--peer", f"https://127.0.0.1:{pair.between}")
    for do in [each for each in list(LINES)[:7] if each != "replay"]:  # reports are checked once
        order(pair.orders["between"], do=do, at="evaluate")
        with pytest.raises(ProtocolError, match=f"^{LINES[do]}"):
            pair.analyst(checked).ask(QUESTION)
    order(pair.orders["between"])
    first, other = (pair.analyst(each).ask(QUESTION) for each in (task, checked))
    assert near(other, counts(X))
    for at, about, does in (
        ("half", task, LINES), ("half", checked, LINES), ("agree", unasked, list(LINES)[:7]),
    ):  # fmt: skip
        for do in does:
            order(pair.orders["between"], do=do, at=at)
            with pytest.raises(ProtocolError, match=f"^{LINES[do]}"):
                pair.analyst(about).ask(QUESTION)
    order(pair.orders["between"], do="other set", at="agree")
    with pytest.raises(ProtocolError, match=r"^reports: the servers agreed on other reports or other noise before"):
        pair.analyst(unasked).ask(QUESTION)
    order(pair.orders["between"])
    assert pair.spent(unasked) == ["0", "0"]
    assert near(pair.analyst(unasked).ask(QUESTION), counts(X))
    for about, before in ((task, first), (checked, other)):
        assert pair.analyst(about).ask(QUESTION).rounds[0].values == before.rounds[0].values
        assert pair.spent(about) == ["10", "10"]
    pair.again(0)


def test_servers_that_are_killed_after_the_charge_and_before_the_first_answer_answer_later_for_nothing(
    pair: Watched,
) -> None:
    """Before that somebody tries to close the task while the other server is gone: reports come as before."""
    task, more = pair.tasks["paid"], values(9, seed=3)
    pair.contribute(task, values())
    pair.end(1)
    with pytest.raises(ProtocolError, match=r"^peer: "):
        pair.close(task)
    pair.start(1)
    assert pair.contribute(task, more, owner=2).new == 9
    assert pair.close(task, party=1)[1] == 209
    pair.again(0, "--peer", f"https://127.0.0.1:{pair.between}")
    order(pair.orders["between"], do="hold", at="half")
    asking = pair.typed("ask", "cdf", *pair.about(task, "analyst-1"), "--cut-points", "0.5")
    until(lambda: pair.spent(task) == ["10", "10"], "both servers have charged")
    for party in (0, 1):
        pair.end(party)
    asking.join(LONG)
    assert asking.exitcode != 0
    (line,) = pair.said()
    assert re.fullmatch(f"dpcurves: server: {LOST}", line), line
    order(pair.orders["between"])
    for party in (0, 1):
        pair.start(party)
    assert near(pair.analyst(task).ask(QUESTION), counts(np.concatenate([X, np.asarray(more["x"])])))
    assert pair.spent(task) == ["10", "10"]


def test_a_server_that_is_killed_at_any_step_of_closing_leaves_the_task_open_or_closed(pair: Watched) -> None:
    """Before the decision reports come as before; after it none do, and what is closed again ends the same way."""
    task = pair.tasks["mortal"]
    (first, second), *_ = pair.contribution(task, values()).iterate_batches()
    batches = [parse_batch(message, task.hash, party, one_size(task)) for party, message in enumerate((first, second))]

    def send(number: int) -> list[object]:
        path, tokens = f"/tasks/{task.hash}/reports", [pair.token(task, "owner-1", Role.OWNER, at) for at in (0, 1)]
        parts = [one._replace(reports=one.reports[25 * number : 25 * (number + 1)]) for one in batches]
        messages = [encode_batch(task.hash, party, part) for party, part in enumerate(parts)]
        return [json.loads(pair.channel(party).post(path, messages[party], tokens[party]))["new"] for party in (0, 1)]

    def close_and_die(party: int, step: str) -> None:
        pair.let_die(party, step)
        with pytest.raises(ProtocolError, match=rf"^(server|peer): (no server answers at |{LOST})"):
            pair.close(task)
        pair.running.pop(party).join(LONG)
        pair.let_die(party, "")
        pair.start(party)

    assert send(0) == [25, 25]
    for number, (party, step) in enumerate(BEFORE, start=1):
        close_and_die(party, step)
        assert send(number) == [25, 25], step
    close_and_die(0, "after decide")
    with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
        send(7)
    close_and_die(1, "after decide")
    assert pair.close(task) == pair.close(task, party=1)
    assert pair.close(task)[1:] == (25 * (1 + len(BEFORE)), 1)
    assert near(pair.analyst(task).ask(QUESTION), opened(pair, task))
    assert pair.spent(task) == ["10", "10"]


BEFORE = (0, "after begin_attempt"), (1, "after freeze"), (0, "before decide")
"""What is done before it is written down which reports count, and by whom."""


def test_what_is_replayed_to_an_analyst_is_refused(pair: Watched, tmp_path: Path) -> None:
    task = pair.tasks["told"]
    pair.analyst(task).ask(QUESTION)
    for do in ("replay", "cut off", "other task", "old halves"):
        order(pair.orders["spy"], do=do, at="answers")
        asking = pair.typed("ask", "cdf", *pair.about(task, "analyst-1"), "--cut-points", "0.1,0.5,0.9,1")
        asking.join(LONG)
        line = "server 0: the encrypted answer share is missing or was changed; ask again"
        line = line if do == "old halves" else LINES[do].replace("peer", "server")
        assert (asking.exitcode != 0, pair.said()) == (True, [f"dpcurves: {line}"])
    order(pair.orders["spy"], do="other task", at=task.hash)
    with pytest.raises(ProtocolError, match=r"^server: the status is of another task or version"):
        pair.analyst(task).ask(QUESTION)


def test_a_peer_of_another_task_or_version_is_refused(pair: Watched) -> None:
    task = pair.tasks["told"]
    first = pair.analyst(task).ask(QUESTION)
    for programs, line in (
        ({"tasks": ["foreign"]}, r"task: is not served here; ask the server that the task document names"),
        (
            {"program": of_next_version},
            rf"question: must be of version {VERSION + 1} of the protocol; use "
            rf"the version of dpcurves that the servers use",
        ),
    ):
        pair.end(1)
        pair.start(1, **programs)
        with pytest.raises(ProtocolError, match=f"^{line}"):
            pair.analyst(task).ask(QUESTION)
    pair.again(1)
    assert pair.analyst(task).ask(QUESTION).rounds[0].values == first.rounds[0].values
    assert pair.spent(task) == ["10", "10"]


def test_a_store_that_is_put_back_charges_nothing_and_answers_nothing_until_the_same_reports_are_closed(
    pair: Watched,
) -> None:
    task = pair.tasks["back"]
    pair.contribute(task, values())
    half = pair.copied(1, "half")
    pair.contribute(task, values(50, seed=5), owner=2)
    whole = pair.copied(1, "whole")
    closed = pair.close(task)
    for copy in (half, whole):
        pair.end(1)
        pair.put(1, copy)
        pair.start(1)
        for party in (0, 1):
            with pytest.raises(
                ProtocolError, match=r"^task: is not closed yet( at server 1)?: run dpcurves task close"
            ):
                pair.analyst(task, party).ask(QUESTION)
        if copy == half:
            for party in (0, 1):
                with pytest.raises(ProtocolError, match=r"^reports: the servers agreed on other reports"):
                    pair.close(task, party)
        assert pair.spent(task) == ["0", "0"]
    assert pair.close(task) == closed
    first = pair.analyst(task).ask(QUESTION)
    assert near(first, counts(np.concatenate([X, np.asarray(values(50, seed=5)["x"])])))
    # Put back after the charge: what server 0 has in hand is not enough for an answer.
    pair.end(1)
    pair.put(1, whole)
    pair.start(1)
    with pytest.raises(ProtocolError, match=r"^task: is not closed yet at server 1"):
        pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(7,)))
    assert pair.close(task, party=1) == closed
    assert pair.analyst(task, party=1).ask(QUESTION).rounds[0].values == first.rounds[0].values
    assert pair.spent(task) == ["10", "10"]


@pytest.mark.parametrize("party", [1, 0])
def test_a_server_that_has_lost_store_and_key_answers_nothing_though_all_owners_send_again(
    pair: Watched, tmp_path: Path, party: int
) -> None:
    """Reports are the same again, and so is the hash of their set: only the noise would be new, the ledger empty."""
    task = pair.tasks["lost"]
    if party == 1:
        pair.contribute(task, values())
        pair.close(task)
    first = pair.analyst(task).ask(QUESTION)
    for server in (0, 1):
        pair.end(server)
    kept = [file.rename(tmp_path / file.name) for file in sorted(pair.folder.glob(f"a{party}.db*"))]
    assert {file.name for file in kept} >= {f"a{party}.db", f"a{party}.db.key"}
    for server in (0, 1):
        pair.start(server)
    with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
        pair.contribute(task, values())
    assert pair.stands(task)[party] == (0 if party == 1 else 200)
    if party == 1:  # of an owner who does not wait for server 0
        (_, second), *_ = pair.contribution(task, values()).iterate_batches()
        sent = pair.channel(1).post(f"/tasks/{task.hash}/reports", second, pair.token(task, "owner-1", Role.OWNER, 1))
        assert json.loads(sent) == {"new": 200, "known": 0}
    for asked in (0, 1):
        with pytest.raises(ProtocolError, match=f"^noise: server {party} has lost the key"):
            pair.close(task, asked)
        with pytest.raises(ProtocolError, match=r"^task: is not closed yet( at server [01])?: run dpcurves task close"):
            pair.analyst(task, asked).ask(QUESTION)
    closing = pair.typed("task", "close", *pair.about(task, "coordinator-1"))
    closing.join(LONG)
    (line,) = pair.said()
    assert closing.exitcode != 0
    assert line.startswith(f"dpcurves: noise: server {party} has lost the key that it committed to"), line
    assert pair.spent(task) == (["0", "10"] if party == 0 else ["10", "0"])
    # Found again, it goes on: the other server has held to what it wrote down.
    pair.end(party)
    for file in pair.folder.glob(f"a{party}.db*"):
        file.unlink()
    for file in kept:
        file.rename(pair.folder / file.name)
    pair.start(party)
    assert pair.analyst(task).ask(QUESTION).rounds[0].values == first.rounds[0].values
    assert pair.spent(task) == ["10", "10"]


def test_reports_that_fail_between_checked_edges_are_counted_elsewhere_and_end_answers_there_alone(
    pair: Watched,
) -> None:
    """The last proof of these reports is wrong: they fail beside their cell, and pass wherever else one asks."""
    task = pair.tasks["failed"]
    pair.contribute(task, values())
    pair.contribute_changed(task, 50, 8 * (3 * task.bits + 4 * (task.bits - 1)))
    assert pair.close(task)[1] == 250
    before, analyst = pair.copied(1, "before"), pair.analyst(task)
    assert 3 not in task.checked_at
    first = analyst.ask(QUESTION)
    assert analyst.dropped == 0
    for party in (0, 1):
        with pytest.raises(
            ProtocolError,
            match="^thresholds: some reports fail the check at these edges, and reports cannot be dropped",
        ):
            pair.analyst(task, party).ask(CdfQuestion("x", GRID, edges=(3,)))
        assert pair.analyst(task, party).ask(CdfQuestion("x", GRID, edges=(4,)))
    for party in (0, 1):  # what was put back to a time before the check checks again, and finds the same
        pair.end(1)
        pair.put(1, before)
        pair.start(1)
        asked = pair.analyst(task, party)
        assert asked.ask(QUESTION).rounds[0].values == first.rounds[0].values
        assert asked.dropped == 0
    assert pair.spent(task) == ["10", "10"]


def test_servers_and_those_who_ask_them_refuse_a_certificate_that_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcurves_parties.serving.identity.CERTIFICATE_DAYS", 0)
    made = Federation(tmp_path)
    task, log = made.task("late"), tmp_path / "said"
    made.listening = free_port(), made.ports[1]
    with pytest.raises(AssertionError, match="identity: the certificate expired on .*; make keys and a task anew"):
        made.start(0)
    order(tmp_path / "orders")
    arguments = spy, made.ports[0], made.listening[0], (str(tmp_path / "a0"), str(tmp_path / "a1")), tmp_path / "orders"
    late = SERVERS.Process(target=quietly, args=arguments, daemon=True)
    late.start()
    asked = ["ask", "cdf", "--task", str(tmp_path / "late.json"), "--ticket", str(made.file(task, "analyst-1"))]
    until(lambda: "no server answers" not in answered(made, log, [*asked, "--cut-points", "1"]), "a server answers")
    line = r"dpcurves: server: the certificate of https://\S+ has expired; a new task is needed"
    assert re.fullmatch(line, log.read_text().strip())
    late.kill()


def answered(made: Federation, log: Path, arguments: list[str]) -> str:
    log.unlink(missing_ok=True)
    made.typed(*arguments).join(LONG)
    return log.read_text()


# Who asks too much


def test_an_analyst_asks_so_often_in_a_minute_and_others_are_not_kept_waiting(pair: Watched) -> None:
    """What comes by way of the other server counts as what is asked here."""
    task = pair.tasks["told"]
    first, second = (pair.token(task, f"analyst-{number}", Role.ANALYST) for number in (1, 2))
    direct, path = f"https://127.0.0.1:{pair.listening[0]}", f"/tasks/{task.hash}/answers"

    def answer(token: str) -> int:
        with pytest.raises(ProtocolError) as refused:
            channel.post(path, b"", token)
        return refused.value.status

    pair.end(0)
    pair.start(0, program=in_one_minute)
    channel = pair.channel(0, url=direct)
    assert [answer(first) for _ in range(QUESTIONS_PER_MINUTE)] == [400] * QUESTIONS_PER_MINUTE
    assert (answer(first), answer(second)) == (429, 400)
    with pytest.raises(ProtocolError, match=r"^question: at most 1200 a minute are answered; ask again in a minute"):
        channel.post(path, b"", first)
    with pytest.raises(ProtocolError, match=r"^question: at most 1200 a minute are answered; ask again in a minute"):
        pair.analyst(task, party=1).ask(QUESTION)


# What is written down


def test_nothing_of_a_share_a_secret_or_a_ticket_was_ever_printed(pair: Watched) -> None:
    """Runs last: all that servers and commands have printed in this module."""
    texts = [pair.log(party) for party in (0, 1)] + [(pair.folder / "everything").read_text()]
    for text in texts[:2]:
        assert text.splitlines()
        lines = r"party [01] of [a-z, ]+ listens at \S+|dpcurves: (store: server 1|'\S+'): the disk cannot be read or.*"
        assert all(re.fullmatch(lines, line) for line in text.splitlines()), text
    printed = "".join(texts)
    assert not re.search(r"[0-9a-fA-F]{16}|[0-9A-Za-z+/]{22}", printed.replace(str(pair.folder), ""))
    for form in forms_of(secrets(pair)):
        assert form not in printed.lower()


def secrets(pair: Watched) -> Iterator[bytes]:
    for task in pair.tasks.values():
        yield from (
            *(pair.token(task, "owner-1", Role.OWNER, party).encode() for party in (0, 1)),
            *(pair.token(task, "analyst-1", Role.ANALYST, party).encode() for party in (0, 1)),
        )
        for party in (0, 1):
            kept: Sequence[StoredShare] = list(Store(pair.store(party)).read_shares(task.hash).values())
            yield from (one.share[-16:] for one in kept[:200])
    for party in (0, 1):
        yield bytes.fromhex((pair.folder / f"a{party}" / "sealing.key").read_text())


def forms_of(found: Iterator[bytes]) -> Iterator[str]:
    """Write each secret as text, digits, base 64, Python's own and JSON's."""
    for secret in found:
        yield secret.hex()
        yield repr(secret)[2:-1].lower()
        yield secret.decode("latin-1").lower()
        yield str(list(secret))[1:-1]
        yield from (b64encode(secret[start:]).decode().rstrip("=")[:-1].lower() for start in range(3))


if sys.platform == "win32":
    raise ImportError("signals of POSIX are needed")
