"""A client of the DAP draft contributes to a task of two servers beside our own, and what is none is refused."""

from __future__ import annotations

import json
import os
import struct
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.client import HTTPSConnection
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from dap_client import COLLECT, COLLECTED, CONFIGS, ERRORS, UPLOAD, Client, Collector, configs, unsharded
from federation import LONG, Federation, flipped, proving, values
from vdaf_histogram import Histogram
from wire_vectors import task_of, two_servers

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.serving.channel import make_pinned_context
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.task_document import Role, Ticket, hash_token
from dpcurves_parties.serving.two_servers.dap import (
    AGGREGATE_SHARE_REQ_TYPE,
    AGGREGATION_JOB_INIT_REQ_TYPE,
    CollectionJobRequest,
    VerifyInit,
    encode_aggregate_share_request,
    encode_aggregation_job,
    encode_ping_pong_message,
    parse_aggregate_share,
    parse_upload_request,
)
from dpcurves_parties.serving.two_servers.owner import Contribution
from dpcurves_parties.serving.two_servers.report_set import EarlierPolicy
from dpcurves_parties.serving.two_servers.store import Offer, Store, StoredReport
from dpcurves_parties.shares.analyst import read_record_slots
from dpcurves_parties.shares.dap_uploads import LeaderUpload, derive_contribution_id
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.histogram_reports import derive_verify_key
from dpcurves_parties.shares.task import CountKind, ReportKind, Task

GRID = dp.Grid(0, 1, cells=20)
HUNDRED = dp.PrivacyLoss.pure(100)
X = np.asarray(values()["x"])
NAMES = ("both", "refused", "closed", "dropped", "collected")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    made = Federation(tmp_path_factory.mktemp("dap"))
    for name in NAMES:
        made.task(name, owners=Owners.CHECKED, cells=GRID, loss=HUNDRED, reported=ReportKind.HISTOGRAM)
    made.task("leader", cells=GRID, loss=HUNDRED)
    made.task("trees", owners=Owners.CHECKED, cells=GRID, loss=HUNDRED)
    try:
        for party in (0, 1):
            made.start(party)
        yield made
    finally:
        made.end_all()


@pytest.fixture(autouse=True)
def _connections_end(pair: Federation) -> Iterator[None]:
    yield
    pair.close_connections()


def asked(
    pair: Federation, party: int, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str, bytes]:
    port, context = pair.ports[party], make_pinned_context(pair.identities[party].public.certificate)
    connection = HTTPSConnection("127.0.0.1", port, timeout=LONG, context=context)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    found = response.status, response.headers.get("content-type", ""), response.read()
    connection.close()
    return found


def client(pair: Federation, task: Task, facts: Mapping[str, int] | None = None) -> Client:
    keys = []
    for party in (0, 1):
        status, kind, message = asked(pair, party, "GET", "/hpke_config")
        assert (status, kind) == (200, CONFIGS)
        ((number, suite, key),) = configs(message)
        assert (suite, key.hex()) == ((32, 1, 1), pair.identities[party].public.hpke_key)
        keys.append((number, key))
    facts = json.loads(task.to_json())["encoding"] if facts is None else facts
    urls = [server.url for server in task.servers]
    return Client(bytes.fromhex(task.hash), urls, facts["length"], facts["chunk_length"], keys)


def tickets(pair: Federation, task: Task, owner: int) -> list[str]:
    ticket = Ticket.load(pair.file(task, f"owner-{owner}"), Role.OWNER)
    return [ticket.derive_bearer_token(party) for party in (0, 1)]


def upload(pair: Federation, made: Client, body: bytes, shown: str, party: int = 0) -> tuple[int, str, bytes]:
    return asked(
        pair, party, "POST", made.path, body, content_type=UPLOAD, authorization=f"Bearer {shown}"
    )  # fmt: skip


def histogram(numbers: object) -> list[int]:
    return [int(count) for count in np.histogram(np.asarray(numbers), GRID.cells, (0, 1))[0]]


def is_exact(found: object, exact: object) -> bool:
    return bool(np.round(np.asarray(found)).tolist() == np.asarray(exact).tolist())


def test_reports_of_the_drafts_clients_count_beside_our_own_once_each(pair: Federation) -> None:
    task = pair.tasks["both"]
    made, (shown, private) = client(pair, task), tickets(pair, task, 2)
    assert task.configuration.to_bytes() == made.configuration
    pair.contribute(task, {"x": X})
    cells = [0, 0, 3, 19, 20]  # the last one is that of the missing
    reports = [made.report(cell, private, os.urandom(16), os.urandom(128)) for cell in cells]
    for _ in range(2):  # all of it may be sent again
        assert upload(pair, made, b"".join(reports), shown)[::2] == (200, b"")
    assert upload(pair, made, reports[0], shown)[::2] == (200, b"")
    closed = pair.close(task)
    assert (closed.reports, closed.owners) == (205, 2)
    first, second = pair.analyst(task), pair.analyst(task, party=1)
    bars = first.ask(dp.HistogramQuestion("x", GRID))
    counted = np.array(histogram(X))
    counted[[0, 3, 19]] += 2, 1, 1
    assert is_exact(bars.unbiased_counts, counted)
    assert is_exact(bars.missing, 1)
    assert second.ask(dp.HistogramQuestion("x", GRID)).evidence == bars.evidence
    assert first.dropped == 0
    median = first.ask(dp.QuantilesQuestion("x", GRID, (0.5,)))
    assert abs(float(median.x[0]) - np.median(X)) < 0.1


def collected(pair: Federation, made: Client, party: int = 0, token: str = "", *, job: bytes) -> bytes:
    """Answer to the collection job of an analyst, or the detail of the refusal with its status before it."""
    task = next(task for task in pair.tasks.values() if bytes.fromhex(task.hash) == made.task)
    path, token = made.path.replace("reports", "collection_jobs"), token or analysts(pair, task)[0]
    status, kind, body = asked(pair, party, "POST", path, job, content_type=COLLECT, authorization=f"Bearer {token}")
    assert (status == 200) == (kind == COLLECTED)
    return body if status == 200 else f"{status} {json.loads(body)['detail']}".encode()


def analysts(pair: Federation, task: Task) -> list[str]:
    ticket = Ticket.load(pair.file(task, "analyst-1"), Role.ANALYST)
    return [ticket.derive_bearer_token(party) for party in (0, 1)]


def test_an_analyst_collects_by_the_drafts_messages_what_it_is_answered(pair: Federation) -> None:
    """Numbers and noise are the same: whoever asks how, nothing is released twice."""
    task = pair.tasks["collected"]
    made = client(pair, task)
    pair.contribute(task, {"x": X})
    pair.close(task)
    (shown, private), collector, found = analysts(pair, task), Collector(made, os.urandom(32)), []
    job = collector.job(private, os.urandom(32))
    for _ in range(2):
        reports, (start, duration), shares = collector.shares(job, collected(pair, made, job=job))
        assert (start, duration > 20_000) == (0, True)
        found.append(unsharded(reports, shares))
    assert found[0] == found[1]
    agreed, dropped, numbers = found[0]
    analyst = pair.analyst(task)
    bars = analyst.ask(dp.HistogramQuestion("x", GRID))
    assert (analyst.dropped, reports) == (dropped, len(X))
    assert list(bars.evidence.values) == numbers
    standing = Store(pair.store(1)).read_status(task.hash)
    assert agreed.hex() == "".join((str(standing.report_set), *(standing.commitments or ())))
    for other, line, error in (
        (collector.job(shown, os.urandom(32)), "must be the ticket of an analyst of this task", 403),
        (collector.changed(collector.named + b"\0" * 40), "collection job of this task", 400),
        (collector.job(private, os.urandom(32), mode=1), "collection job of this task", 400),
        (collector.job(private, os.urandom(32), query=b"1"), "collection job of this task", 400),
        (collector.job(private, os.urandom(32), parameter=b"1"), "collection job of this task", 400),
        (collector.job(private, os.urandom(32), kind=7), "single extension", 400),
        (collector.job(private, os.urandom(32), more=struct.pack(">HH", 0xFF12, 0)), "single extension", 400),
        (Collector(made, os.urandom(32)).changed(collector.named + Collector(made, os.urandom(32)).letter(
            private, os.urandom(32))), "must be the ticket of an analyst of this task", 403),
    ):  # fmt: skip
        said = collected(pair, made, job=other).decode()
        assert (said[:3], line in said) == (str(error), True), said
    for token, party, error in ((private, 0, 403), (private, 1, 404), (shown, 1, 403)):
        assert collected(pair, made, party, token, job=job)[:3].decode() == str(error)
    share = COLLECT.replace("collection-job", "aggregate-share")
    path = made.path.replace("reports", "aggregate_shares")
    assert asked(pair, 1, "POST", path, job, content_type=share)[0] == 403


def test_a_leader_that_asks_for_a_share_of_other_reports_gets_none(pair: Federation) -> None:
    """It plays server 0 with its own identity, and has an analyst's job: other numbers, and one cut off or longer."""
    task = pair.tasks["collected"]
    made = client(pair, task)
    job = CollectionJobRequest.from_bytes(Collector(made, os.urandom(32)).job(analysts(pair, task)[1], os.urandom(32)))
    store = Store(pair.store(0))
    good = encode_aggregate_share_request(
        job, task.hash, store.read_status(task.hash).reports, store.compute_checksum(task.hash)
    )
    path, said = made.path.replace("reports", "aggregate_shares"), []
    for place in (None, len(good) - 1, len(good) - 33, len(good) - 43, 0, 30):
        message = good if place is None else flipped(good, place)
        try:
            answer = pair.channel(1, proving(pair, 0, 1)).post(path, message, content_type=AGGREGATE_SHARE_REQ_TYPE)
            said.append("share" if parse_aggregate_share(answer) else "none")
        except ProtocolError as error:
            said.append(str(error).split(":")[0])
    assert said == ["share", "reports", "reports", "message", "message", "ticket"]


def test_trees_are_uploaded_in_the_same_way_under_a_number_for_private_use(pair: Federation) -> None:
    task = pair.tasks["trees"]
    (shown, private), (first, second) = (
        tickets(pair, task, 2),
        task.encoding.share_records(np.array([7]), Randomness.from_system())[0],
    )
    half, facts = task.encoding.public_size, {"length": 0, "chunk_length": 0}
    made = replace(client(pair, task, facts), vdaf=0xFFFF6471, parameters=struct.pack(">QH", 20, 0))
    assert task.configuration.to_bytes() == made.configuration
    report = made.sealed(first[:half], (first[half:], second[half:]), private, os.urandom(16))
    assert upload(pair, made, report, shown)[::2] == (200, b"")
    pair.close(task)
    bars = pair.analyst(task).ask(dp.HistogramQuestion("x", GRID))
    assert is_exact(bars.unbiased_counts, [int(cell == 7) for cell in range(20)])
    key = os.urandom(32)
    job = Collector(made, key).job(analysts(pair, task)[1], os.urandom(32))
    reports, _, shares = Collector(made, key).shares(job, collected(pair, made, job=job))
    assert unsharded(reports, shares)[2] == list(bars.evidence.values)


def test_a_report_of_no_cell_is_dropped_by_both_servers_and_counts_as_missing(pair: Federation) -> None:
    """Their owner changes its shares before it seals them."""
    task = pair.tasks["dropped"]
    pair.contribute(task, {"x": X})
    pair.contribute_changed(task, 3, 64)
    pair.close(task)
    analyst = pair.analyst(task)
    bars = analyst.ask(dp.HistogramQuestion("x", GRID))
    assert (analyst.dropped, is_exact(bars.unbiased_counts, histogram(X)), is_exact(bars.missing, 3)) == (3, True, True)


def test_what_is_no_report_of_this_task_and_owner_is_refused_by_name_and_leaves_nothing(pair: Federation) -> None:
    task = pair.tasks["refused"]
    made, (shown, private) = client(pair, task), tickets(pair, task, 2)
    names = [bytes([number]) * 16 for number in range(9)]
    wrong_key = replace(made, keys=[(number, os.urandom(32)) for number, _ in made.keys])
    wrong_number = replace(made, keys=[((number + 1) % 256, key) for number, key in made.keys])
    extension = struct.pack(">HH", 7, 0)
    good = made.report(5, private, names[0], bytes(128))
    reports = [
        good,
        wrong_key.report(5, private, names[1], bytes(128)),
        wrong_number.report(5, private, names[2], bytes(128)),
        made.report(5, private, names[3], bytes(128), time=2**60),
        made.report(5, private, names[4], bytes(128), public_extensions=extension),
        made.report(5, private, names[5], bytes(128), extensions=(extension, b"")),
        made.report(5, private, names[6], bytes(128), extensions=(b"", b"")),
        made.report(5, shown, names[7], bytes(128)),  # the ticket as the leader is shown it, not the helper
        made.report(5, private, names[8], bytes(128), cut=1),
    ]
    numbers = {1: 5, 2: 11, 3: 9, 4: 8, 5: 8, 6: 8, 7: 3, 8: 8}
    status, kind, body = upload(pair, made, b"".join(reports), shown)
    assert (status, kind) == (200, ERRORS)
    assert body == b"".join(names[place] + bytes([number]) for place, number in numbers.items())
    stored = [set(Store(pair.store(party)).read_listing(task.hash)[1]) for party in (0, 1)]
    assert stored[0] & stored[1] == {names[0]}
    other = replace(made, task=bytes(32))
    moved = replace(made, urls=made.urls[::-1]).report(5, private, os.urandom(16), bytes(128))
    assert upload(pair, made, moved, shown)[2][-1] == 5  # of another configuration
    for answer, status, kind in (
        (upload(pair, made, good[:-1], shown), 400, "urn:ietf:params:ppm:dap:error:invalidMessage"),
        (upload(pair, made, good + b"0", shown), 400, "urn:ietf:params:ppm:dap:error:invalidMessage"),
        (upload(pair, made, good * 2, shown), 400, "urn:ietf:params:ppm:dap:error:invalidMessage"),
        (upload(pair, made, b"", shown), 400, "urn:ietf:params:ppm:dap:error:invalidMessage"),
        (upload(pair, other, good, shown), 404, "urn:ietf:params:ppm:dap:error:unrecognizedTask"),
        (upload(pair, made, good, private), 403, "about:blank"),
        (upload(pair, made, good, private, party=1), 404, "about:blank"),
        (asked(pair, 0, "POST", made.path, good, authorization=f"Bearer {shown}"), 415, "about:blank"),
    ):
        told = json.loads(answer[2])
        assert (answer[0], answer[1], told["type"], told["status"]) == (
            status,
            "application/problem+json",
            kind,
            status,
        )


def test_a_report_whose_proof_fails_is_named_as_it_comes_and_a_leader_that_lies_is_told_nothing_else(
    pair: Federation,
) -> None:
    """It plays server 0 with its own identity: of a report it has, it says another message; the same job, once more."""
    task = pair.tasks["refused"]
    made, (shown, private) = client(pair, task), tickets(pair, task, 3)
    name = os.urandom(16)
    scheme = Histogram(2, made.length, made.chunk, b"dap-18" + made.task, name)
    public, inputs = scheme.shard(5, os.urandom(128))
    spoiled = [(inputs[0], bytes(32) + inputs[1][32:]), (bytes(16) + inputs[0][16:], inputs[1])]
    for shares in spoiled:
        assert upload(pair, made, made.sealed(public, shares, private, name), shown)[::2] == (200, name + b"\6")
    honest = parse_upload_request(made.sealed(public, inputs, private, name))[0]
    key = derive_verify_key(pair.identities[0].hpke_key.exchange(pair.identities[1].hpke_key.public_key()), task.hash)
    (_, message, _), path = scheme.check(0, public, inputs[0], key), made.path.replace("reports", "aggregation_jobs")
    said = []
    for told in (message, flipped(message, 0), flipped(message, 40), message[:-1], message):
        job = encode_aggregation_job(
            task.hash, [VerifyInit(honest.to_report_share(1), encode_ping_pong_message(0, told))]
        )
        answer = pair.channel(1, proving(pair, 0, 1)).post(path, job, content_type=AGGREGATION_JOB_INIT_REQ_TYPE)
        said.append(answer[:18] if answer[16] else answer[:17])
    good, *rejected = [name + b"\0"] + [name + b"\2" + bytes([error]) for error in (6, 6, 8)]
    assert said == [good, *rejected, good]
    status, _, body = asked(pair, 1, "POST", path, job, content_type=AGGREGATION_JOB_INIT_REQ_TYPE)
    assert (status, json.loads(body)["type"]) == (403, "about:blank")


def test_no_report_is_taken_once_the_task_is_closed_and_none_beside_a_file_under_one_ticket(pair: Federation) -> None:
    task = pair.tasks["closed"]
    made, (shown, private) = client(pair, task), tickets(pair, task, 1)
    pair.contribute(task, {"x": X})
    report = made.report(5, private, os.urandom(16), os.urandom(128))
    status, _, body = upload(pair, made, report, shown)
    assert (status, "one ticket is good for one file" in json.loads(body)["detail"]) == (409, True)
    pair.close(task)
    shown, private = tickets(pair, task, 2)
    status, _, body = upload(pair, made, made.report(5, private, os.urandom(16), os.urandom(128)), shown)
    assert (status, "accepts no more" in json.loads(body)["detail"]) == (409, True)


def test_owners_upload_over_one_connection_each_and_what_is_sent_again_is_known(pair: Federation) -> None:
    task = pair.tasks["leader"]
    for owner, number in ((1, 0), (2, 0), (2, 200)):  # another number of a key: servers are asked for theirs
        places = read_record_slots(task, {"x": X[owner::2]})
        ticket = Ticket.load(pair.file(task, f"owner-{owner}"), Role.OWNER)
        sent = LeaderUpload(Contribution.from_ticket(task, places, pair.file(task, f"owner-{owner}")), ticket)
        sent.config_ids = tuple((each + number) % 256 for each in sent.config_ids)
        assert sent.send_over(pair.channel(0)) == len(places)
    closed = pair.close(task)
    assert (closed.owners, closed.reports) == (2, len(X) - 1)
    bars = pair.analyst(task).ask(dp.HistogramQuestion("x", GRID))
    assert is_exact(bars.unbiased_counts, histogram(X[1:]))


def test_owners_who_upload_at_once_share_a_job_and_are_refused_one_by_one() -> None:
    """An id that another owner uses already is in the next job, so that nobody spoils a job of others."""
    tokens = [f"{owner:064x}" for owner in range(5)]
    plain = task_of("plain")
    hashes = {**plain.tokens, Role.OWNER: tuple(map(hash_token, tokens))}
    task = replace(plain, name="together", count_kind=CountKind.CELLS, reports_per_owner=1, tokens=hashes)
    tickets = [Ticket(task.hash, Role.OWNER, token) for token in tokens]
    shares = task.encoding.share_records(np.arange(5), Randomness.from_system())
    ids = [bytes([owner]) * 16 for owner in (0, 0, 2, 3, 4)]  # owner 1 takes that of owner 0
    with two_servers(task) as (services, wire):
        other = StoredReport(b"2" * 16, bytes(16), bytes(32), shares[2][1])
        services[1].store.add_reports(
            task.hash, 1, Offer(2, derive_contribution_id(task), EarlierPolicy.STAYS, [other])
        )
        queue = services[0]._leader._queue
        queue._is_writing = True  # nothing is begun before all have come
        coming = []
        for owner, ticket in enumerate(tickets[:4]):
            shown = ticket if owner != 3 else Ticket(task.hash, Role.OWNER, "f" * 64)
            made = LeaderUpload(Contribution(task, np.array([owner]), bytes(32)), shown)
            coming.append(services[0].submit_upload(owner, made.encode_upload_request([(ids[owner], shares[owner])])))
        queue._write_groups()
        dropped = b"\x03"
        assert [each.result() for each in coming] == [b"", b"", ids[2] + dropped, ids[3] + dropped]
        assert len(wire.sent) == 2
        wrong = LeaderUpload(Contribution(task, np.array([4]), bytes(32)), tickets[4])
        spoiled = shares[4][0][:-1] + bytes([shares[4][0][-1] ^ 128]), shares[4][1]  # of the other server
        assert (
            services[0].submit_upload(4, wrong.encode_upload_request([(ids[4], spoiled)])).result() == ids[4] + b"\x08"
        )
        bound_to_nothing = Offer(4, bytes(32), EarlierPolicy.STAYS, [])
        assert services[0].store.add_reports(task.hash, 1, bound_to_nothing) == 0
        kept = [store.read_listing(task.hash)[1] for store in (services[0].store, services[1].store)]
        assert (kept[0].keys() & kept[1].keys(), kept[0][ids[0]] == kept[1][ids[0]]) == ({ids[0]}, True)
        services[0].close(b"")
        message = LeaderUpload(Contribution(task, np.array([1]), bytes(32)), tickets[1]).encode_upload_request(
            [(ids[3], shares[1])]
        )
        with pytest.raises(ProtocolError, match="accepts no more"):
            services[0].submit_upload(1, message).result()


def test_a_task_is_made_and_shown_with_what_a_client_of_the_draft_needs(pair: Federation, tmp_path: Path) -> None:
    files = ",".join(str(identity.folder / "server.json") for identity in pair.identities)
    out, run = tmp_path / "task.json", CliRunner()
    arguments = [
        "task", "create", "--column", "x", "--grid", "0:1:20", "--epsilon", "1", "--reports-per-owner", "5",
        "--servers", files, "--owners", "1", "--out", str(out), "--tickets", str(tmp_path / "tickets"),
        "--encoding", "histogram",
    ]  # fmt: skip
    refused = run.invoke(build(arguments), arguments)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert refused.stderr.startswith(
        "dpcurves: check: must be owners, because reports of this encoding are always checked"
    )
    for more, words in (
        (["--check", "owners,answers"], "must be owners, because answers from this encoding cannot be proved"),
        (["--check", "owners"], "reports hold a number for each cell"),
    ):
        fine = [each.replace("0:1:20", "0:1:5000") if "answers" not in more[1] else each for each in arguments]
        result = run.invoke(build(fine), [*fine, *more])
        assert (result.exit_code != 0, words in result.stderr) == (True, True), result.stderr
    made = run.invoke(build(arguments), [*arguments, "--check", "owners"])
    assert made.exit_code == 0, made.stderr
    task = Task.load(out)
    assert task.report_kind is ReportKind.HISTOGRAM
    assert Task.from_json(task.to_json()) == task
    (line,) = (line for line in made.stdout.splitlines() if line.startswith("DAP: "))
    assert b64decode(line.split()[-1]) == task.configuration.to_bytes()
