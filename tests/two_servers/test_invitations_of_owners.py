"""Owners enrol tokens of their own by invitation, so that nobody else speaks for them; servers rotate their keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from federation import CONTRIBUTION, Federation

import dpcurves as dp
from dpcurves.cli.app import Commands, build
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, hash_token
from dpcurves_parties.serving.two_servers.app import Aggregator
from dpcurves_parties.serving.two_servers.collection import NoiseSecret
from dpcurves_parties.serving.two_servers.owner import enrol_owner, seal_reports
from dpcurves_parties.serving.two_servers.report_set import ID_SIZE, Batch, EarlierPolicy, encode_batch
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.shares import ProtocolError, Task

RUN = CliRunner()
X = np.random.default_rng(3).random(60)


@cache
def application() -> Commands:
    """Return the commands, made once when a test first needs them: each process that runs tests imports this file."""
    return build()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Two servers, and a task with invitations that was made at the terminal, with a copy of all its tickets."""
    made = Federation(tmp_path_factory.mktemp("enrolling"))
    files = ",".join(str(made.folder / f"a{party}" / "server.json") for party in (0, 1))
    made_by = RUN.invoke(application(), [
        "task", "create", "--name", "own", "--column", "x", "--grid", "0:1:24", "--epsilon", "100", "--invitations",
        "--reports-per-owner", "100", "--servers", files, "--owners", "3", "--out", str(made.folder / "own.json"),
        "--tickets", str(made.folder / "own-tickets"),
    ])  # fmt: skip
    assert made_by.exit_code == 0, made_by.output
    made.tasks["own"] = Task.load(made.folder / "own.json")
    shutil.copytree(made.folder / "own-tickets", made.folder / "founder")
    made.task("usual", cells=dp.Grid(0, 1, cells=24))
    try:
        for party in (0, 1):
            made.start(party)
        yield made
    finally:
        made.close_connections()
        made.end_all()


def contributed(pair: Federation, owner: int, table: Path, *more: str, tickets: str = "own-tickets") -> tuple[int, str]:
    document = ["--task", str(pair.folder / "own.json"), "--ticket", str(pair.folder / tickets / f"owner-{owner}")]
    result = RUN.invoke(application(), ["contribute", str(table), *document, *more])
    return result.exit_code, result.stdout + result.stderr


def batch(task: Task, party: int) -> bytes:
    """A report of another contribution."""
    shares = task.encoding.share_records(np.array([3]), Randomness.from_system())
    reports = seal_reports(task, party, CONTRIBUTION, [(b"i" * ID_SIZE, shares[0][party])])
    return encode_batch(task.hash, party, Batch(CONTRIBUTION, EarlierPolicy.GIVES_WAY, reports))


def test_whoever_has_all_tickets_can_not_contribute_for_an_owner_who_has_enrolled(
    pair: Federation, tmp_path: Path
) -> None:
    task, table = pair.tasks["own"], tmp_path / "x.csv"
    table.write_text("x\n" + "".join(f"{value}\n" for value in X))
    founder = Ticket.load(pair.folder / "founder" / "owner-1", Role.OWNER)
    path = f"/tasks/{task.hash}"
    for party in (0, 1):  # an invitation sends nothing
        with pytest.raises(ProtocolError, match="^ticket: must be the ticket of an owner who has enrolled"):
            pair.channel(party).post(f"{path}/reports", batch(task, party), founder.derive_bearer_token(party))
    assert contributed(pair, 1, table) == (0, "sent: 60 reports, 60 of them new to the servers\n")
    assert contributed(pair, 1, table) == (0, "sent: 60 reports, 0 of them new to the servers\n")
    own = Ticket.load(pair.folder / "own-tickets" / "owner-1.own", Role.OWNER)
    assert own.token != founder.token
    for party in (0, 1):
        channel = pair.channel(party)
        for shown in (founder.derive_bearer_token(party), own.derive_bearer_token(1 - party), ""):
            with pytest.raises(ProtocolError, match="^ticket: must be the ticket of an owner who has enrolled"):
                channel.post(f"{path}/reports", batch(task, party), shown)
        with pytest.raises(ProtocolError, match="^ticket: this invitation was used before"):
            channel.post(f"{path}/enrol", json.dumps({"token": "ab" * 32}).encode(), founder.derive_bearer_token(party))
    code, said = contributed(pair, 1, table, "--on-conflict", "replace", tickets="founder")
    assert (code != 0, said.count("\n")) == (True, 1)
    assert "ticket: this invitation was used before" in said
    assert [Store(store).read_status(task.hash).reports for store in pair.stores] == [60, 60]
    other = Ticket.load(pair.folder / "founder" / "owner-3", Role.OWNER)
    with pytest.raises(ProtocolError, match="^ticket: this invitation was used before"):
        pair.channel(0).post(
            f"{path}/enrol", json.dumps({"token": hash_token(own.token)}).encode(), other.derive_bearer_token(0)
        )
    with pytest.raises(ProtocolError, match="^token: must be sent as a hash of 64 hexadecimal digits"):
        pair.channel(0).post(f"{path}/enrol", json.dumps({"token": "AB"}).encode(), other.derive_bearer_token(0))


def test_an_owner_whose_invitation_was_used_by_another_notices_and_one_that_was_stopped_goes_on(
    pair: Federation, tmp_path: Path
) -> None:
    task, table = pair.tasks["own"], tmp_path / "x.csv"
    table.write_text("x\n0.5\n")
    # Stopped after server 0 was told: the same token is told to both when it begins again.
    theirs, made = pair.file(task, "owner-2"), "cd" * 32
    Ticket(task.hash, Role.OWNER, made).write(theirs.with_name("owner-2.own"))
    shown = Ticket.load(theirs, Role.OWNER).derive_bearer_token(0)
    pair.channel(0).post(f"/tasks/{task.hash}/enrol", json.dumps({"token": hash_token(made)}).encode(), shown)
    assert enrol_owner(task, theirs).token == made
    assert contributed(pair, 2, table)[0] == 0
    assert contributed(pair, 3, table, tickets="founder")[0] == 0  # whoever made the task is first
    code, said = contributed(pair, 3, table)
    assert (code != 0, "this invitation was used before, by another program or person" in said) == (True, True)
    assert pair.close(task)[1:] == (62, 3)
    bars = pair.analyst(task).ask(dp.HistogramQuestion("x", dp.Grid(0, 1, cells=24)))
    assert sum(bars.unbiased_counts) == pytest.approx(62, abs=1e-6)


def test_a_task_without_invitations_enrols_nobody(pair: Federation) -> None:
    task = pair.tasks["usual"]
    assert "enrols" not in task.to_fields()
    token = pair.token(task, "owner-1", Role.OWNER)
    with pytest.raises(ProtocolError, match="^task: takes reports under the tickets that were made for it"):
        pair.channel(0).post(f"/tasks/{task.hash}/enrol", json.dumps({"token": "ab" * 32}).encode(), token)


# Keys of a server


def test_keys_are_rotated_and_tasks_before_go_on_with_theirs(pair: Federation, tmp_path: Path) -> None:
    """A server is restarted with new keys, and serves a task of each; a certificate of its own needs a server."""
    grid = dp.Grid(0, 1, cells=24)
    older = pair.task("older", cells=grid, loss=dp.PrivacyLoss.pure(100))
    pair.end(1)
    pair.end(0)
    for party in (0, 1):
        pair.start(party)
    pair.contribute(older, {"x": X})
    pair.close(older)
    before = pair.analyst(older).ask(dp.HistogramQuestion("x", grid)).evidence
    folder = pair.folder / "a0"
    old = Identity.load(folder)
    done = RUN.invoke(application(), ["task", "rotate", str(folder)])
    assert (done.exit_code, str(folder / "before-1") in done.stdout.replace("\n", "")) == (0, True), done.output
    new = Identity.load(folder)
    assert (new.public.certificate, new.public.url) == (old.public.certificate, old.public.url)
    assert new.public.hpke_key != old.public.hpke_key
    assert [each.public for each in new.previous_identities] == [old.public]
    assert (folder / "before-1" / "sealing.key").stat().st_mode & 0o077 == 0
    pair.identities = (new, pair.identities[1])
    younger = pair.task("younger", cells=grid, loss=dp.PrivacyLoss.pure(100))
    pair.close_connections()
    for party in (0, 1):
        pair.end(party)
        pair.start(party)
    assert pair.analyst(older).ask(dp.HistogramQuestion("x", grid)).evidence == before
    pair.contribute(younger, {"x": X})
    pair.close(younger)
    bars = pair.analyst(younger).ask(dp.HistogramQuestion("x", grid))
    assert np.allclose(bars.unbiased_counts, np.histogram(X, grid.edges)[0], rtol=0, atol=1e-9)
    assert (
        NoiseSecret(old.hpke_key.private_bytes_raw(), 0, "x").commitment
        != NoiseSecret(new.hpke_key.private_bytes_raw(), 0, "x").commitment
    )


def test_a_new_certificate_has_an_address_and_a_server_of_its_own_and_what_was_stopped_is_done(tmp_path: Path) -> None:
    folder, other = tmp_path / "a0", Identity.create(tmp_path / "a1", "https://127.0.0.1:8702")
    old = Identity.create(folder, "https://127.0.0.1:8701")
    with pytest.raises(ProtocolError, match="^url: must be another https://host:port than now"):
        old.rotate("https://127.0.0.1:8701")
    new = old.rotate("https://127.0.0.1:8703")
    assert new.public.certificate != old.public.certificate
    kept = new.find_identity(old.public)
    assert kept is not None
    assert (kept.folder, new.find_identity(other.public)) == (folder / "before-1", None)
    facts = ("x", dp.Grid(0, 1, cells=4), None, dp.PrivacyLoss.pure(1), 1)
    tasks = [Task(name, *facts, (own.public, other.public), {}) for name, own in (("one", old), ("two", new))]
    store = f"sqlite:///{tmp_path / 'a0.db'}"
    with pytest.raises(ProtocolError, match="^identity: the tasks name several of its certificates"):
        Aggregator(0, tasks, new, store).create_services()
    (service,) = Aggregator(0, tasks[:1], new, store).create_services().values()
    assert service.identity.folder == folder / "before-1"
    # Stopped after the first of the new files took its place.
    third = Identity.create(folder / "next", "https://127.0.0.1:8704")
    (folder / "next" / "sealing.key").replace(folder / "sealing.key")
    assert Identity.load(folder).public == third.public
    (folder / "sealing.key").write_text("00" * 32)
    with pytest.raises(ProtocolError, match="has a public key that does not belong to its private key"):
        Identity.load(folder)
