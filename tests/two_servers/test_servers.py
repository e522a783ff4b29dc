"""Two servers and all who talk to them, end to end: real processes, TLS, one answer for ever, one charge."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from federation import CONTRIBUTION, GRID, LONG, Federation, counting, flipped, proving, until, values

from dpcurves.cli.app import build
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves import CDF, ROC, CdfQuestion, QuantilesQuestion, RocQuestion
from dpcurves.data import Categories
from dpcurves.distributions import Family, Noise, PathSums, ThresholdSums
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.serving.channel import make_pinned_context
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.collection import LARGEST_QUESTION, NoiseSecret
from dpcurves_parties.serving.two_servers.owner import AgreedReports, close_task, seal_reports
from dpcurves_parties.serving.two_servers.report_set import (
    HASH_SIZE,
    ID_SIZE,
    SEALING_OVERHEAD,
    Batch,
    EarlierPolicy,
    ReportShare,
    encode_batch,
    parse_batch,
)
from dpcurves_parties.serving.two_servers.sealed_answers import AnswerKey, SealedQuestion
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.serving.two_servers.task_types import VERSION, QuestionMessage
from dpcurves_parties.shares import ProtocolError, Task
from dpcurves_parties.shares.analyst import Analyst
from dpcurves_parties.shares.function_shares import SHARE_MODULUS, Owners

NAMES = (
    "open",
    "counted",
    "scored",
    "resent",
    "halved",
    "full",
    "corrected",
    "crowded",
    "killed",
    "checked",
    "typed",
    "raced",
    "raced-checked",
)
Damage = Callable[[bytes], bytes]
X = np.asarray(values()["x"])
AT = (100, 500, 900, 1000)
QUESTION = CdfQuestion("x", GRID, edges=AT)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Servers with several tasks; a test has one of its own, or changes nothing."""
    made = Federation(tmp_path_factory.mktemp("federation"))
    for name in NAMES:
        checked = Owners.CHECKED if name.endswith("checked") else Owners.UNCHECKED
        made.task(name, Categories("late", (0, 1)) if name == "scored" else None, checked)
    try:
        for party in (0, 1):
            made.start(party)
        made.contribute(made.tasks["counted"], values())
        made.close(made.tasks["counted"])
        yield made
    finally:
        made.end_all()


@pytest.fixture(autouse=True)
def _connections_end(pair: Federation) -> Iterator[None]:
    yield
    pair.close_connections()


def exact(edges: tuple[int, ...] = AT) -> list[int]:
    return [int((GRID.cell_of(X) < edge).sum()) for edge in edges]


def error_of(found: CDF | ROC) -> float:
    """The standard deviation of the noise of a count."""
    return float(found.rounds[0].distribution.require_type(ThresholdSums).path.variance ** 0.5)


def is_near(found: CDF) -> bool:
    """Noise at epsilon 10: beyond 12 standard deviations once in far more than a million runs."""
    return bool(np.all(np.abs(np.array(found.rounds[0].values) - exact()) <= 12 * error_of(found)))


def post(pair: Federation, task: Task, message: bytes, ticket: str = "analyst-1", party: int = 0) -> bytes:
    token = pair.token(task, ticket, Role(ticket.partition("-")[0]), party)
    path = "answers" if ticket.startswith("analyst") else "reports"
    return pair.channel(party).post(f"/tasks/{task.hash}/{path}", message, token)


def spent(pair: Federation, task: Task, party: int) -> str:
    return Ledger.open_existing(pair.store(party)).statement(task.dataset).spent.digits


# The whole road


def test_both_servers_answer_alike_and_each_charges_once(pair: Federation) -> None:
    """An interval at 0.999999 lies beside the median less than once in a million runs; 60 records are 10 deviations."""
    task = pair.tasks["counted"]
    first = pair.analyst(task).ask(QUESTION)
    assert is_near(first)
    assert pair.analyst(task, party=1).ask(QUESTION).rounds[0].values == first.rounds[0].values
    again = pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(500, 7)))
    assert again.rounds[0].values[1] == first.rounds[0].values[1]
    median = pair.analyst(task).ask(QuantilesQuestion("x", GRID, (0.5,), search=0.95))
    ((lower, upper),) = median.intervals(0.999999)
    assert lower < np.quantile(X, 0.5, method="inverted_cdf") <= upper
    assert abs(float(median.x[0]) - np.median(X)) < 0.3
    assert [spent(pair, task, party) for party in (0, 1)] == ["10", "10"]
    assert first.privacy.trust.startswith("two servers that do not collude")
    assert first.privacy.units == 200
    assert error_of(first) ** 2 == pytest.approx(2 * 10 * Noise(Family.LAPLACE, Fraction(1)).variance)


def test_a_roc_curve_of_labelled_reports_shows_no_label_to_a_server(pair: Federation) -> None:
    task, late = pair.tasks["scored"], (X > 0.5).astype(float)
    late[:3] = np.nan
    assert pair.contribute(task, {"x": X, "late": late}).reports == 200
    assert pair.close(task)[1] == 200
    roc = pair.analyst(task).ask(RocQuestion("late", "x", GRID, edges=(250, 500, 750)))
    places = np.where(np.isnan(late), 2000, np.nan_to_num(late) * 1000 + GRID.cell_of(X))
    exact_counts = [
        int((places < each).sum()) for each in roc.evidence.distribution.require_type(ThresholdSums).path.prefix_lengths
    ]
    assert np.all(np.abs(np.array(roc.evidence.values) - exact_counts) <= 12 * error_of(roc))
    assert len(exact_counts) == 8
    with pytest.raises(UnsupportedQuery, match=r"^question: the task counts another column, grid or label"):
        pair.analyst(task).ask(QUESTION)


def test_before_a_task_is_closed_there_are_no_answers_and_after_it_no_reports(pair: Federation) -> None:
    with pytest.raises(ProtocolError, match=r"^task: is not closed yet"):
        pair.analyst(pair.tasks["open"]).ask(QUESTION)
    _, question = pair.inquiry(pair.tasks["open"], AT)
    message = json.dumps(question).encode()
    with pytest.raises(ProtocolError, match=r"^task: is not closed yet"):
        post(pair, pair.tasks["open"], message)
    with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
        pair.contribute(pair.tasks["counted"], values(seed=2), owner=2)
    with pytest.raises(ProtocolError, match=r"^reports: no report has arrived yet"):
        pair.close(pair.tasks["open"])
    assert spent(pair, pair.tasks["open"], 0) == "0"
    assert pair.close(pair.tasks["counted"], party=1) == pair.close(pair.tasks["counted"])


def test_the_commands_contribute_close_and_ask(pair: Federation, tmp_path: Path) -> None:
    task, run = pair.tasks["typed"], CliRunner()
    document = ["--task", str(pair.folder / "typed.json"), "--ticket"]
    table = tmp_path / "table.csv"
    table.write_text("delay\n" + "".join(f"{value}\n" for value in X))
    owner, coordinator, analyst = (str(pair.file(task, f"{role}-1")) for role in ("owner", "coordinator", "analyst"))
    for arguments, words in (
        (["contribute", str(table), *document, owner, "--column", "delay"], "sent: 200 reports, 200 of them new"),
        (["task", "close", *document, coordinator], "closed: 200 reports reached both servers, from 1 of 3 owners; "),
        (["ask", "cdf", *document, analyst, "--cut-points", "0.5,1"], "One dishonest owner can shift a count"),
        (["ask", "quantiles", *document, analyst, "--probabilities", "0.5"], "quantiles of x"),
        (["ask", "cdf", *document, analyst, "--points", "5", "--json", str(tmp_path / "cdf.json")], "written: "),
        (["task", "show", *document[:2]], task.hash),
    ):
        result = run.invoke(build(arguments), arguments)
        assert (result.exit_code, words in result.stdout) == (0, True), result.output
    read = CDF.from_json((tmp_path / "cdf.json").read_text())
    assert read.x.tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    first, second = (Path(f"{ticket}.closed") for ticket in (coordinator, analyst))
    assert first.read_text() == second.read_text() == agreed_on(pair, task).to_json()
    for arguments, words in (
        (["ask", "cdf", *document, owner, "--cut-points", "1"], "ticket: must be the ticket of an analyst"),
        (["ask", "roc", *document, analyst], "ask a task made with --label"),
        (["ask", "cdf", *document, analyst], "ask for counts at some edges, or for quantiles"),
        (
            ["ask", "cdf", *document, analyst, "--cut-points", "1", "--points", "2"],
            "points: --cut-points and --points both name edges",
        ),
        (["ask", "cdf", *document, analyst, "--points", "5000"], "points: at most 4000 edges are counted"),
        (["contribute", str(table), *document, owner], "column: 'x' is not in the data"),
        (["contribute", str(table), *document, owner, "--label", "y"], "the task has no labels"),
    ):
        result = run.invoke(build(arguments), arguments)
        assert (result.exit_code != 0, words in result.stderr) == (True, True), result.output
        assert "Traceback" not in result.output


def test_servers_that_name_other_reports_or_noise_than_before_are_refused_by_all_who_kept_them(
    pair: Federation, tmp_path: Path
) -> None:
    task = pair.tasks["counted"]
    agreed, file = agreed_on(pair, task), tmp_path / "kept"
    coordinator = Ticket.load(pair.file(task, "coordinator-1"), Role.COORDINATOR)

    def ask() -> CDF:
        analyst = Analyst(task, Ticket.load(pair.file(task, "analyst-1"), Role.ANALYST), timeout=LONG, agreed_file=file)
        pair.opened.append(analyst)
        found: CDF = analyst.ask(QUESTION)
        return found

    close_task(task, coordinator, agreed_file=file)
    assert file.read_text() == agreed.to_json()
    assert is_near(ask())
    close_task(task, coordinator, agreed_file=file)
    first, second = agreed.commitments
    others: tuple[dict[str, Any], ...] = {"report_set": "0" * 64}, {"reports": 199}, {"commitments": (second, first)}
    for other in (replace(agreed, **each) for each in others):
        file.write_text(other.to_json())
        for work in (ask, lambda: close_task(task, coordinator, agreed_file=file)):
            with pytest.raises(ProtocolError, match=r"^servers: the report set or the noise differs from that in"):
                work()


# Owners


def test_the_same_reports_sent_twice_and_an_owner_that_died_on_the_way_count_once(pair: Federation) -> None:
    task = pair.tasks["resent"]
    one = pair.contribution(task, values())
    (first, second), *_ = one.iterate_batches()
    whole = parse_batch(first, task.hash, 0, one_size(task))
    half = whole._replace(reports=whole.reports[:120])
    post(pair, task, encode_batch(task.hash, 0, half), "owner-1")  # then the owner died: 120 of 200, at one server
    assert pair.contribute(task, values()).reports == 200
    assert pair.contribute(task, values()).new == 0
    assert json.loads(post(pair, task, second, "owner-1", party=1)) == {"new": 0, "known": 200}
    assert pair.close(task)[1] == 200
    assert is_near(pair.analyst(task).ask(QUESTION))


def test_a_report_that_reached_one_server_only_counts_at_neither(pair: Federation) -> None:
    task = pair.tasks["halved"]
    pair.contribute(task, values())
    (first, second), *_ = pair.contribution(task, {"x": np.zeros(50)}, owner=2).iterate_batches()
    post(pair, task, first, "owner-2")
    # A report of the same name, whose halves are not of one: the second one is not taken.
    other = parse_batch(second, task.hash, 1, one_size(task))
    (_, foreign), *_ = pair.contribution(task, {"x": np.ones(50)}, owner=3).iterate_batches()
    assert other.reports[0].id not in {one.id for one in parse_batch(foreign, task.hash, 1, one_size(task)).reports}
    assert pair.close(task, party=1)[1] == 200
    assert is_near(pair.analyst(task).ask(QUESTION))


def test_an_owner_sends_as_many_reports_as_the_task_says(pair: Federation) -> None:
    task = pair.tasks["full"]
    with pytest.raises(ProtocolError, match=r"^data: must have 1 to 300 records, as the task says, got 301"):
        pair.contribute(task, values(301))
    pair.contribute(task, values(200))
    # Whoever makes reports of his own under one name is stopped as well.
    pair.contribute_changed(task, 200, -1)
    shares = task.encoding.share_records(np.zeros(150, dtype=np.int64), Randomness.from_system())
    more = seal_reports(task, 0, CONTRIBUTION, ((os.urandom(ID_SIZE), share) for share, _ in shares))
    with pytest.raises(ProtocolError, match=r"^reports: at most 300 of one owner are accepted, and 200 are stored"):
        post(pair, task, encode_batch(task.hash, 0, Batch(CONTRIBUTION, EarlierPolicy.STAYS, more)), "owner-2")
    assert json.loads(pair.channel(0).get(f"/tasks/{task.hash}"))["reports"] == 400


def test_a_file_that_was_corrected_is_refused_by_both_servers_or_takes_the_place_of_the_first(
    pair: Federation, tmp_path: Path
) -> None:
    """One that is killed while it replaces has its reports at one server, and counts at neither until it is done."""
    task, run = pair.tasks["corrected"], CliRunner()
    part, table = {"x": X[:120]}, tmp_path / "part.csv"
    table.write_text("x\n" + "".join(f"{value}\n" for value in X[:120]))
    pair.contribute(task, values())
    pair.contribute(task, {"x": X[:7]}, owner=2)
    (first, second), *_ = pair.contribution(task, part).iterate_batches()
    for party, message in enumerate((first, second)):
        with pytest.raises(ProtocolError, match=r"^ticket: other records were sent with this ticket before, and one"):
            post(pair, task, message, "owner-1", party)
    typed = ["contribute", str(table), "--task", str(pair.folder / f"{task.name}.json"), "--ticket"]
    refused = run.invoke(build(typed), [*typed, str(pair.file(task, "owner-1"))])
    assert (refused.exit_code != 0, "to put these in their place" in refused.stderr) == (True, True), refused.output
    assert [Store(store).read_status(task.hash).reports for store in pair.stores] == [207, 207]
    # Killed after server 0 took it.
    (first, _), *_ = pair.contribution(task, part, earlier=EarlierPolicy.GIVES_WAY).iterate_batches()
    assert json.loads(post(pair, task, first, "owner-1")) == {"new": 120, "known": 0}
    kept = [Store(store).read_shares(task.hash).keys() for store in pair.stores]
    assert (len(kept[0]), len(kept[1]), len(kept[0] & kept[1])) == (127, 207, 7)
    for _ in range(2):
        done = run.invoke(build(typed), [*typed, str(pair.file(task, "owner-1")), "--on-conflict", "replace"])
        assert (done.exit_code, "sent: 120 reports" in done.stdout) == (0, True), done.output
    with pytest.raises(ProtocolError, match=r"^ticket: other records were sent with this ticket before"):
        pair.contribute(task, values())
    assert pair.close(task)[1:] == (127, 2)
    counted = pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(1000,)))
    assert abs(counted.rounds[0].values[0] - 127) <= 12 * error_of(counted)
    table.write_text("x\n" + "".join(f"{value}\n" for value in X))
    late = run.invoke(build(typed), [*typed, str(pair.file(task, "owner-1")), "--on-conflict", "replace"])
    assert (late.exit_code != 0, late.stderr.count("\n")) == (True, 1), late.output
    assert "reports: the task is closed and accepts no more" in late.stderr
    assert [Store(store).read_status(task.hash).reports for store in pair.stores] == [127, 127]
    assert pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(1000,))).rounds[0].values == counted.rounds[0].values


def test_a_report_that_would_count_more_than_once_is_dropped_by_both_and_counted(pair: Federation) -> None:
    task = pair.tasks["checked"]
    pair.contribute(task, values())
    pair.contribute_changed(task, 5, 2 * 8 * task.bits + 3)  # a weight on the way to every cell
    assert pair.close(task)[1] == 205
    analyst = pair.analyst(task)
    first = analyst.ask(QUESTION)
    assert analyst.dropped == 5
    assert is_near(first)
    assert first.privacy.trust == "two servers that do not collude, owners checked"
    many = pair.analyst(task, party=1).ask(CdfQuestion("x", GRID, edges=tuple(range(10, 1001, 10))))
    assert many.rounds[0].values[49] == first.rounds[0].values[1]


@pytest.mark.parametrize("place", [0, -1])
def test_a_damaged_store_answers_nothing_instead_of_dropping_an_honest_report(
    pair: Federation, tmp_path: Path, place: int
) -> None:
    """A bit of the public half, or of the seed, in a copy of one server's store."""
    task, copy = pair.tasks["counted"], tmp_path / "a0.db"
    shutil.copy(pair.folder / "a0.db.key", tmp_path)
    with closing(sqlite3.connect(pair.folder / "a0.db")) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        damage = "SELECT number, share FROM dpcurves_reports WHERE task = ? LIMIT 1"
        number, share = target.execute(damage, (task.hash,)).fetchone()
        changed = flipped(share, place)
        target.execute("UPDATE dpcurves_reports SET share = ? WHERE number = ?", (changed, number))
        target.commit()
    service = counting(Aggregator(0, [task], pair.identities[0], f"sqlite:///{copy}"), task)
    with pytest.raises(ProtocolError, match=r"^store: a stored share was damaged, and nothing is answered") as refused:
        service.make_answer_share(handed_on(pair, task)[1])
    assert refused.value.status == 500


def one_size(task: Task) -> int:
    return task.encoding.size + SEALING_OVERHEAD


def batch(pair: Federation, party: int = 0) -> bytes:
    return next(iter(pair.contribution(pair.tasks["open"], values(20)).iterate_batches()))[party]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda good: good[:-1], "the batch is cut off, or bytes follow it"),
        (lambda good: good[:20], "the batch is cut off"),
        (lambda good: good + b"x", "the batch is cut off, or bytes follow it"),
        (lambda good: flipped(good, 0), "the message is not a batch of format 2"),
        (lambda good: flipped(good, 4), "the message is not a batch of format 2"),
        (lambda good: good[:6] + bytes([2]) + good[7:], "the message is not a batch of format 2"),
        (lambda good: flipped(good, 5), "the batch is for another task or server"),
        (lambda good: flipped(good, 20), "the batch is for another task or server"),
        (lambda good: flipped(good, 7), "a batch must hold 1 to .* reports of .* bytes each"),
        (lambda good: flipped(good, 50), "report 0 of the batch was changed, or sealed to another server"),
        (lambda good: flipped(good, 80), "report 0 of the batch was changed, or sealed to another server"),
        (lambda good: flipped(good, -1), "report 19 of the batch was changed, or sealed to another server"),
    ],
)
def test_a_batch_that_was_changed_on_its_way_is_refused_whole(pair: Federation, damage: Damage, line: str) -> None:
    with pytest.raises(ProtocolError, match=f"^reports: .*{line}"):
        post(pair, pair.tasks["open"], damage(batch(pair)), "owner-1")
    assert json.loads(pair.channel(0).get(f"/tasks/{pair.tasks['open'].hash}"))["reports"] == 0


def test_a_share_that_was_sealed_to_the_other_server_or_task_is_refused(pair: Federation) -> None:
    task, size = pair.tasks["open"], one_size(pair.tasks["open"])
    turned = encode_batch(task.hash, 0, parse_batch(batch(pair, 1), task.hash, 1, size))
    other = next(iter(pair.contribution(pair.tasks["full"], values(20)).iterate_batches()))[0]
    elsewhere = encode_batch(task.hash, 0, parse_batch(other, pair.tasks["full"].hash, 0, size))
    swapped = parse_batch(batch(pair), task.hash, 0, size)
    one, two, *more = swapped.reports
    renamed = encode_batch(task.hash, 0, swapped._replace(reports=[ReportShare(two.id, one.encrypted_share), *more]))
    of_other_name = encode_batch(task.hash, 0, swapped._replace(contribution=bytes(HASH_SIZE)))
    for message in (turned, elsewhere, renamed, of_other_name):
        with pytest.raises(ProtocolError, match=r"^reports: report 0 of the batch was changed"):
            post(pair, task, message, "owner-1")


# Who may speak


def test_every_role_has_its_own_tickets(pair: Federation) -> None:
    task, channel = pair.tasks["counted"], pair.channel(0)
    analyst, owner = (
        pair.token(task, name, role) for name, role in (("analyst-1", Role.ANALYST), ("owner-1", Role.OWNER))
    )
    foreign = pair.token(pair.tasks["open"], "analyst-1", Role.ANALYST)
    asked = QuestionMessage.create(task, AT).to_json()
    for path, token, who in (
        ("answers", owner, "analyst"), ("answers", foreign, "analyst"), ("answers", "", "analyst"),
        ("reports", analyst, "owner"), ("close", owner, "coordinator"),
    ):  # fmt: skip
        with pytest.raises(ProtocolError, match=f"^ticket: must be the ticket of an? {who} of this task"):
            channel.post(f"/tasks/{task.hash}/{path}", asked, token)
    with pytest.raises(ProtocolError, match=r"^ticket: must be the ticket of an analyst of this task"):
        pair.channel(1).post(f"/tasks/{task.hash}/answers", asked, analyst)  # what was shown to the other server
    for name in ("half", "evaluate", "agree", "close", "prepare", "commit", "outcome"):
        with pytest.raises(ProtocolError, match=r"^peer: only the other server of this task may send this request"):
            channel.post(f"/tasks/{task.hash}/peer/{name}", asked, analyst)
    with pytest.raises(ProtocolError, match=r"^task: is not served here"):
        channel.get(f"/tasks/{'0' * 64}")


def test_a_server_believes_the_other_ones_certificate_alone(pair: Federation) -> None:
    task = pair.tasks["counted"]
    asked = QuestionMessage.create(task, AT)
    other = pair.channel(0, proving(pair, 1, 0))
    named = of_set(pair, task)
    inquiry, message = handed_on(pair, task)
    assert half_in(inquiry, other.post(f"/tasks/{task.hash}/peer/half", message))
    first, second = Store(pair.store(0)).read_status(task.hash).commitments or ("", "")
    others: list[dict[str, object]] = [
        {}, {**named, "set": "0" * 64}, {**named, "reports": 199}, {**named, "commitments": [first, first]},
        {**named, "commitments": [second, first]},
    ]  # fmt: skip
    for told_of in others:
        with pytest.raises(ProtocolError, match=r"^reports: the servers agreed on other reports"):
            other.post(f"/tasks/{task.hash}/peer/half", asked.to_json(**told_of))
    own = pair.channel(0, proving(pair, 0, 0))
    with pytest.raises(ProtocolError, match=r"^server: the connection to .* was lost"):
        own.post(f"/tasks/{task.hash}/peer/half", asked.to_json())
    wrong = pair.channel(1, url=pair.url(0))
    with pytest.raises(ProtocolError, match=r"^server: another server answers at .* than the task names"):
        wrong.get(f"/tasks/{task.hash}")


def handed_on(pair: Federation, task: Task, **more: object) -> tuple[SealedQuestion, bytes]:
    """What server 1 asks server 0 once an analyst has asked it, and who opens the half that comes."""
    inquiry, question = pair.inquiry(task, AT, party=1)
    return inquiry, inquiry.question.to_json(**{**of_set(pair, task), "letter": question["letter"], **more})


def half_in(inquiry: SealedQuestion, told: bytes) -> tuple[int, ...]:
    """Server 0's half, that the analyst opens."""
    half = inquiry.question.parse_reply(told, "peer")["half"]
    return inquiry.answer_keys[0].open_answer_share(0, half, inquiry.key).values


def agreed_on(pair: Federation, task: Task) -> AgreedReports:
    """Facts that server 0 wrote down when the task was closed."""
    standing = Store(pair.store(0)).read_status(task.hash)
    return AgreedReports(task.hash, str(standing.report_set), standing.reports, standing.commitments or ())


def of_set(pair: Federation, task: Task) -> dict[str, object]:
    """How a server names the reports that count, and the noise in what is told of them."""
    return Store(pair.store(0)).read_status(task.hash).provenance


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"version": 1}, f"question: must be of version {VERSION} of the protocol"),
        ({"task": "0" * 64}, "question: is about another task"),
        ({"thresholds": []}, "thresholds: must be a list of 1 to 4096 whole numbers"),
        ({"thresholds": [1.5]}, "thresholds: must be a list of 1 to 4096 whole numbers"),
        ({"thresholds": [True]}, "thresholds: must be a list of 1 to 4096 whole numbers"),
        ({"thresholds": [3, 3]}, "thresholds: must be numbers of cells from 0 to 1000, each once"),
        ({"thresholds": [1001]}, "thresholds: must be numbers of cells from 0 to 1000, each once"),
        ({"nonce": ""}, "question: must have an id and a nonce"),
        ({"question": "a b"}, "question: must have an id and a nonce"),
    ],
)
def test_what_is_no_question_of_this_task_is_refused(pair: Federation, changes: dict[str, object], line: str) -> None:
    task = pair.tasks["counted"]
    message = json.dumps({**json.loads(QuestionMessage.create(task, AT).to_json()), **changes}).encode()
    with pytest.raises(ProtocolError, match=f"^{line}"):
        post(pair, task, message)
    with pytest.raises(ProtocolError, match=r"^question: the message is cut off"):
        post(pair, task, QuestionMessage.create(task, AT).to_json()[:-5])


def test_a_question_is_short(pair: Federation) -> None:
    task = pair.tasks["counted"]
    longest = QuestionMessage("0" * 64, "q" * 64, tuple(range(2**53 - 4096, 2**53)), "n" * 64, 4096)
    bearer = Ticket.load(pair.file(task, "analyst-1"), Role.ANALYST)
    assert len(SealedQuestion.create(longest, 0).to_json(bearer, task.servers)) < LARGEST_QUESTION
    with pytest.raises(ProtocolError, match=r"^message: must have at most 262144 bytes"):
        post(pair, task, QuestionMessage.create(task, AT).to_json() + b" " * LARGEST_QUESTION)


# Servers that fail


def test_a_server_that_is_killed_or_slow_tells_nothing_and_begins_again_with_the_same_answers(pair: Federation) -> None:
    task = pair.tasks["killed"]
    pair.contribute(task, values())
    pair.close(task)
    first = pair.analyst(task).ask(QUESTION, "mine")
    # The peer is gone: one clear line.
    pair.end(1)
    with pytest.raises(ProtocolError, match=r"^peer: no server answers at "):
        pair.analyst(task).ask(QUESTION, "other")
    pair.start(1)
    assert pair.analyst(task).ask(QUESTION, "mine").rounds[0].values == first.rounds[0].values
    # The peer hangs while a question is asked, and the leader is killed: the answer is lost, and comes later.
    pair.tell(1, signal.SIGSTOP)
    lost = in_background(lambda: pair.analyst(task).ask(CdfQuestion("x", GRID, edges=(3,)), "late"))
    pair.end(0)
    assert isinstance(lost(), ProtocolError)
    pair.start(0, "--timeout", "10")
    with pytest.raises(ProtocolError, match=r"^peer: .* gave no answer within 10 seconds"):
        pair.analyst(task).ask(QUESTION, "slow")
    pair.tell(1, signal.SIGCONT)
    assert pair.analyst(task).ask(QUESTION, "mine").rounds[0].values == first.rounds[0].values
    assert pair.analyst(task, party=1).ask(QUESTION, "mine").rounds[0].values == first.rounds[0].values
    assert [spent(pair, task, party) for party in (0, 1)] == ["10", "10"]
    for party in (0, 1):
        Ledger.open_existing(pair.store(party)).verify()
    pair.end(0)
    pair.start(0)  # as patient as before, for the tests that come


@pytest.mark.parametrize("name", ["raced", "raced-checked"])
def test_eight_analysts_who_ask_the_same_at_once_hear_the_same_and_it_is_charged_once(
    pair: Federation, name: str
) -> None:
    """Four ask each server; it is their first question, and then another one."""
    task, start = pair.tasks[name], threading.Barrier(8)
    pair.contribute(task, values())
    pair.close(task)

    def ask(analyst: Analyst) -> list[tuple[int, ...]]:
        heard = []
        for question in (QUESTION, CdfQuestion("x", GRID, edges=(7, 500))):
            start.wait(LONG)
            heard.append(analyst.ask(question).rounds[0].values)
        return heard

    with ThreadPoolExecutor(8) as crowd:
        first, *others = crowd.map(ask, [pair.analyst(task, number % 2) for number in range(8)])
    assert others == [first] * 7
    assert first[0][1] == first[1][1]
    for party in (0, 1):
        ledger = Ledger.open_existing(pair.store(party))
        ledger.verify()
        assert [grant.price.digits for grant in ledger.statement(task.dataset).grants] == ["10"]


def test_silent_connections_keep_nobody_out_and_end_at_the_deadline(pair: Federation) -> None:
    """Server 1 has room for four silent connections and four that it answers; strangers open 40, and owners stop."""
    task, closed = pair.tasks["crowded"], pair.tasks["counted"]
    before = pair.analyst(closed).ask(QUESTION)
    pair.end(1)
    pair.start(1, "--connections", "8", "--header-timeout", "10")
    head = f"POST /tasks/{task.hash}/reports HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n".encode()
    token = pair.token(task, "owner-1", Role.OWNER, 1)
    strangers: list[socket.socket] = []

    def crowd() -> None:
        for said in (None, b"", head, head + b"\r\n" + bytes(7)):  # no handshake, nothing, half a request, no ticket
            strangers.extend(stranger(pair, 1, said) for _ in range(4))

    crowd()
    with ThreadPoolExecutor(2) as beside:
        sending = beside.submit(pair.contribute, task, values())
        asking = beside.submit(pair.analyst(closed).ask, QUESTION)
        assert (sending.result().new, asking.result().rounds[0].values) == (200, before.rounds[0].values)
    crowd()
    assert pair.close(task)[1] == 200
    until(lambda: all(has_ended(one) for one in strangers), "the deadline ends the others")
    # Those with a ticket who stop on the way keep nobody out: the oldest of them make room.
    slow = [stranger(pair, 1, head + f"Authorization: Bearer {token}\r\n\r\n".encode() + bytes(7)) for _ in range(12)]
    assert refusal(pair, task).startswith("ticket: must be the ticket of an owner")
    assert pair.analyst(closed).ask(QUESTION).rounds[0].values == before.rounds[0].values
    until(lambda: has_ended(slow[0]), "the oldest was evicted")
    for one in (*strangers, *slow):
        one.close()
    pair.end(1)
    pair.start(1)


def stranger(pair: Federation, party: int, said: bytes | None) -> socket.socket:
    """A connection on which this is said, and no more; None: not even a handshake."""
    raw = socket.create_connection(("127.0.0.1", pair.ports[party]), LONG)
    if said is None:
        return raw
    context = make_pinned_context(pair.identities[party].public.certificate)
    made = context.wrap_socket(raw, server_hostname="127.0.0.1")
    made.sendall(said)
    return made


def has_ended(made: socket.socket) -> bool:
    """Whether the other side has closed it; what it said before does not matter."""
    made.settimeout(0.01)
    try:
        while made.recv(2**14):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def refusal(pair: Federation, task: Task) -> str:
    """What a server says to somebody without a ticket who comes now."""
    with pytest.raises(ProtocolError) as refused:
        pair.channel(1).post(f"/tasks/{task.hash}/reports", b"")
    return str(refused.value)


def in_background(work: Callable[[], object]) -> Callable[[], object]:
    ended: list[object] = []

    def run() -> None:
        try:
            ended.append(work())
        except ProtocolError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    threading.Event().wait(0.5)

    def result() -> object:
        thread.join(LONG)
        return ended[0]

    return result


def test_halves_of_another_set_are_not_passed_on(pair: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    task = pair.tasks["counted"]
    service = counting(Aggregator(0, [task], pair.identities[0], pair.store(0)), task)

    def post(changes: dict[str, object]) -> bytes:
        def told(path: str, body: bytes, token: str = "") -> bytes:
            return json.dumps({**json.loads(body), **honest, **changes}).encode()

        monkeypatch.setattr(service.peer, "post", told)
        return service.answer(json.dumps(pair.inquiry(task, AT)[1]).encode())

    honest = {**of_set(pair, task), "dropped": 0, "half": "sealed"}
    assert json.loads(post({}))["halves"][1] == "sealed"
    wrong: list[tuple[dict[str, object], str]] = [
        ({"set": "0" * 64}, "peer: the other server answers from another report set"),
        ({"reports": 199}, "peer: the other server answers from another report set"),
        ({"commitments": ["0" * 64] * 2}, "peer: the other server answers from another report set or with other"),
        (
            {"commitments": 7},
            "peer: the other server answers from another report set or with other noise, and "
            "nothing is answered; ask its operator whether a store was restored",
        ),
        ({"dropped": 1}, "peer: the other server dropped other reports"),
        ({"version": 1}, "peer: the answer is to another question"),
        ({"task": "0" * 64}, "peer: the answer is to another question"),
        ({"nonce": "old"}, "peer: the answer is to another question"),
    ]
    for changes, line in wrong:
        with pytest.raises(ProtocolError, match=f"^{line}"):
            post(changes)


def test_an_analyst_reads_two_halves_of_one_set_for_this_very_question(
    pair: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Server 0 is played, and says anything; server 1's half is real, or sealed by somebody who has its keys."""
    task = pair.tasks["counted"]
    expected = pair.analyst(task).ask(QUESTION).rounds[0].values
    analyst, real, heard = pair.analyst(task), pair.channel(0), list[bytes]()
    made = list[SealedQuestion]()

    def answer(change: Callable[[SealedQuestion, list[str]], object]) -> tuple[float, ...]:
        def told(path: str, body: bytes, token: str = "") -> bytes:
            heard.append(real.post(path, body, token))
            stored = json.loads(heard[-1])
            return json.dumps({**stored, "halves": change(made[-1], stored["halves"])}).encode()

        monkeypatch.setattr(analyst._server, "post", told)
        values: tuple[float, ...] = analyst.ask(QUESTION).rounds[0].values
        return values

    def lie(**facts: object) -> Callable[[SealedQuestion, list[str]], object]:
        """Another half of server 1, made by who has its keys."""

        def told(inquiry: SealedQuestion, halves: list[str]) -> object:
            reply = inquiry.answer_keys[1]
            half = reply.open_answer_share(1, halves[1], inquiry.key)
            return [halves[0], reply.seal_answer_share(1, replace(half, **facts))]  # type: ignore[arg-type]

        return told

    def with_the_wrong_word(inquiry: SealedQuestion, halves: list[str]) -> object:
        """Server 0 knows the key and its own word, and speaks for server 1."""
        half = inquiry.answer_keys[0].open_answer_share(0, halves[0], inquiry.key)
        return [halves[0], inquiry.answer_keys[0].seal_answer_share(1, half)]

    def of_before(inquiry: SealedQuestion, halves: list[str]) -> object:
        return [halves[0], json.loads(heard[0])["halves"][1]]

    original = SealedQuestion.create

    def kept(asked: QuestionMessage, party: int) -> SealedQuestion:
        made.append(original(asked, party))
        return made[-1]

    monkeypatch.setattr(SealedQuestion, "create", kept)
    assert answer(lambda inquiry, halves: halves) == expected
    assert answer(lie()) == expected
    other, none = (
        "servers: the answer shares are of different report sets",
        "the encrypted answer share is missing or was",
    )
    wrong: list[tuple[Callable[[SealedQuestion, list[str]], object], str]] = [
        (lie(report_set="0" * 64), other), (lie(reports=199), other), (lie(commitments=("0" * 64, "1" * 64)), other),
        (lie(dropped_count=1), other), (lie(reports=-1), "server 1: the answer share does not have the agreed form"),
        (lie(values=(0,)), f"server 1: {none}"), (lie(values=(0,) * 5), f"server 1: {none}"),
        (with_the_wrong_word, f"server 1: {none}"), (of_before, f"server 1: {none}"),
        (lambda inquiry, halves: halves[::-1], f"server 0: {none}"),
        (lambda inquiry, halves: [halves[0], halves[1][:-8]], f"server 1: {none}"),
        (lambda inquiry, halves: [halves[0], None], f"server 1: {none}"),
        (lambda inquiry, halves: ["x", halves[1]], f"server 0: {none}"),
        (lambda inquiry, halves: halves[:1], "server: the answer does not have the agreed form"),
        (lambda inquiry, halves: 7, "server: the answer does not have the agreed form"),
    ]  # fmt: skip
    for change, line in wrong:
        with pytest.raises(ProtocolError, match=f"^{line}"):
            answer(change)
    assert answer(lambda inquiry, halves: halves) == expected


def test_a_server_that_keeps_all_that_passes_through_it_cannot_open_the_answer(
    pair: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It plays server 0 with its own identity and store, and works out its own half; it lacks the other one."""
    task = pair.tasks["counted"]
    service = counting(Aggregator(0, [task], pair.identities[0], pair.store(0)), task)
    real, passed = pair.channel(1, proving(pair, 0, 1)), list[bytes]()

    def post(path: str, body: bytes, token: str = "") -> bytes:
        passed.extend((body, real.post(path, body, token)))
        return passed[-1]

    monkeypatch.setattr(service.peer, "post", post)
    inquiry, question = pair.inquiry(task, AT)
    message = json.dumps(question).encode()
    passed.extend((message, service.answer(message)))
    first, second = inquiry.open_answer_shares(passed[-1])
    sums = [(one + other) % SHARE_MODULUS for one, other in zip(first.values, second.values, strict=True)]
    assert sums == [value % SHARE_MODULUS for value in pair.analyst(task).ask(QUESTION).rounds[0].values]
    told = [json.loads(each) for each in passed]
    seen = [*passed, *(b64decode(each["half"]) for each in told if "half" in each), b64decode(question["letter"])]
    for number in second.values:
        for form in (str(number).encode(), number.to_bytes(8, "little")):
            assert not any(form in each for each in seen)
    own = pair.identities[0].hpke_key
    words = [inquiry.answer_keys[0].nonce, "0" * 32]
    for half in json.loads(passed[-1])["halves"]:
        for party, word in product((0, 1), words):
            with pytest.raises(ProtocolError, match="the encrypted answer share is missing or was changed"):
                AnswerKey(inquiry.question, inquiry.answer_keys[0].key, word).open_answer_share(party, half, own)


def test_a_server_that_puts_its_own_reply_key_in_place_is_refused_by_the_other_one(pair: Federation) -> None:
    """It plays server 1 with its own identity, was asked by an analyst, and makes a letter to server 0 itself."""
    task, own = pair.tasks["counted"], X25519PrivateKey.generate()
    other, path = pair.channel(0, proving(pair, 1, 0)), f"/tasks/{task.hash}/peer/half"
    inquiry, question = pair.inquiry(task, AT, party=1)
    good, shown = b64decode(question["letter"]), pair.token(task, "analyst-1", Role.ANALYST, 1)

    def letter(token: str, to: int = 0) -> bytes:
        """With a key of its own, and the token that it was shown, or another one."""
        digits = own.public_key().public_bytes_raw().hex()
        made = SealedQuestion(inquiry.question, 1 - to, own, (AnswerKey(inquiry.question, digits, "0" * 32),) * 2)
        ticket = SimpleNamespace(derive_bearer_token=lambda party: token)
        return b64decode(json.loads(made.to_json(ticket, task.servers))["letter"])  # type: ignore[arg-type]

    half, _, rest = shown.partition(".")
    of_owner = pair.token(task, "owner-1", Role.OWNER, 0)
    _, of_other_edges = pair.inquiry(task, (3,), party=1)
    _, to_server_1 = pair.inquiry(task, AT, party=0)
    ticket, changed = (
        "ticket: must be the ticket of an analyst of this task",
        "question: the letter to server 0 was changed",
    )
    for sent, line in (
        (letter(shown), ticket), (letter(f"{rest}.{half}"), ticket), (letter(""), ticket), (letter(of_owner), ticket),
        (flipped(good, 0), changed), (flipped(good, 40), changed), (flipped(good, -1), changed), (b"", changed),
        (b64decode(of_other_edges["letter"]), changed), (b64decode(to_server_1["letter"]), changed),
    ):  # fmt: skip
        message = inquiry.question.to_json(**of_set(pair, task), letter=b64encode(sent).decode())
        with pytest.raises(ProtocolError, match=f"^{line}"):
            other.post(path, message)
    for lacks in ({}, {"letter": 7}):
        with pytest.raises(ProtocolError, match="^question: must hold a letter"):
            other.post(path, inquiry.question.to_json(**of_set(pair, task), **lacks))
    # The analyst's own letter is good, and brings a half that the server's key does not open.
    told = other.post(path, inquiry.question.to_json(**of_set(pair, task), letter=question["letter"]))
    assert len(half_in(inquiry, told)) == len(AT)
    with pytest.raises(ProtocolError, match="^server 0: the encrypted answer share is missing or was changed"):
        inquiry.answer_keys[0].open_answer_share(0, json.loads(told)["half"], own)


@pytest.mark.parametrize(
    "changes", [{"key": "00" * 32}, {"key": "x"}, {"key": None}, {"word": "0"}, {"letter": None}], ids=str
)
def test_a_question_without_a_key_to_seal_to_is_refused(pair: Federation, changes: dict[str, object]) -> None:
    task = pair.tasks["counted"]
    _, question = pair.inquiry(task, AT)
    with pytest.raises(
        ProtocolError, match=r"^question: (must hold a|holds no valid key to which the answer can be sealed)"
    ):
        post(pair, task, json.dumps({**question, **changes}).encode())


def test_no_share_and_no_count_is_ever_logged(pair: Federation) -> None:
    """Runs last: all that both servers have printed are the lines with which they come up."""
    for party in (0, 1):
        lines = pair.log(party).splitlines()
        assert lines
        assert all("listens at" in line for line in lines), lines


def test_servers_whose_ledgers_have_the_same_key_have_noises_of_their_own(pair: Federation) -> None:
    """The key of a ledger may come from the environment, and so be that of both servers by mistake."""
    task, key = pair.tasks["counted"], bytes(range(32))
    noises = []
    for party in (0, 1):
        noise = NoiseSecret.from_identity(
            pair.identities[party], Ledger.open("sqlite://", key), task.dataset, party, "path"
        )
        noises.append(
            noise.derive_noise_key("0" * 64).derive_path_noise(
                task.distribution(200).require_type(PathSums), range(1, 1001)
            )
        )
    assert noises[0] != noises[1]


def test_a_release_that_draws_other_noise_answers_nothing_more(
    pair: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = pair.tasks["counted"]

    def half() -> tuple[int, ...]:
        server = counting(Aggregator(0, [task], pair.identities[0], pair.store(0)), task)
        inquiry, message = handed_on(pair, task)
        return half_in(inquiry, server.make_answer_share(message))

    first = half()
    assert half() == first
    monkeypatch.setattr("dpcurves_parties.serving.noise_key.NOISE_FORMAT", 2)
    with pytest.raises(ProtocolError, match=r"^noise: server 0 has lost the key that it committed to .*, or has an"):
        half()
    monkeypatch.setattr(
        "dpcurves_parties.serving.two_servers.collection.Closing.require_committed_key", lambda closing, standing: None
    )
    with pytest.raises(ProtocolError, match=r"^ledger: the charge of these reports with this noise is refused"):
        half()


def test_a_server_refuses_a_task_that_names_another_one(pair: Federation, tmp_path: Path) -> None:
    task = pair.tasks["counted"]
    with pytest.raises(ProtocolError, match=r"^identity: task 'counted' names other keys for server 1"):
        Aggregator(1, [task], pair.identities[0], f"sqlite:///{tmp_path}/a.db").create_services()
