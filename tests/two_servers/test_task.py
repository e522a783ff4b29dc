"""Tasks, tickets and identities: documents that come back the same, and what is refused in one line."""

from __future__ import annotations

import json
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from at_once import at_once

from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves import AutoRangeCdfQuestion, Question
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.session import plan_question
from dpcurves_parties.serving.identity import CertificatePair, Identity, read_server
from dpcurves_parties.serving.server import Address, make_server_context, make_standalone_context
from dpcurves_parties.serving.task_document import (
    PackedHashes,
    Role,
    Ticket,
    create_task,
    hash_from_bearer_token,
    hash_token,
)
from dpcurves_parties.serving.two_servers.report_set import (
    PartHashes,
    UnlistedParts,
    choose_prefix_bits,
    encode_listings,
    hash_report_set,
    intersect_reports,
    parse_listings,
    split_by_prefix,
)
from dpcurves_parties.shares import ProtocolError, Server, Task
from dpcurves_parties.shares.analyst import describe_task
from dpcurves_parties.shares.function_shares import FunctionShares, Owners
from dpcurves_parties.shares.task import CountKind
from dpcurves_survival import AutoRangeSurvivalQuestion

SERVERS = Server("https://a:1", "00" * 32, "pem 0"), Server("https://b:2", "11" * 32, "pem 1")
PLAIN = Task("t", "x", Grid(0, 1, cells=1000), None, PrivacyLoss.pure("0.5"), 7, SERVERS, {}, "minutes")
LABELLED = replace(
    PLAIN,
    label=Categories("late", (0, 1)),
    loss=PrivacyLoss.zcdp("0.1"),
    owners=Owners.CHECKED,
    grid=Grid.geometric(1, 9, cells=2**40),
    count_kind=None,
)
PROVED = replace(LABELLED, proof_key_hashes=("22" * 32,))
PEOPLE = {Role.OWNER: 2, Role.ANALYST: 1, Role.COORDINATOR: 1}


@pytest.mark.parametrize("task", [PLAIN, LABELLED, PROVED])
def test_a_document_comes_back_the_same_with_the_same_hash(task: Task) -> None:
    again = Task.from_json(task.to_json())
    assert again == replace(task, tokens=dict.fromkeys(Role, ()))
    assert again.hash == task.hash
    assert (PLAIN.slots, PLAIN.bits, LABELLED.slots, LABELLED.bits) == (1000, 10, 2**41, 42)


@pytest.mark.parametrize(
    "changes",
    [
        {"column": "y"}, {"loss": PrivacyLoss.pure("0.6")}, {"reports_per_owner": 8}, {"owners": Owners.CHECKED},
        {"servers": SERVERS[::-1]}, {"tokens": {Role.OWNER: ("0" * 64,)}},
        {"count_kind": CountKind.PREFIXES}, {"grid": Grid(0, 1, cells=999)},
    ],
)  # fmt: skip
def test_every_change_gives_another_hash(changes: dict[str, object]) -> None:
    assert replace(PLAIN, **changes).hash != PLAIN.hash  # type: ignore[arg-type]


def test_counts_below_a_public_list_of_edges_are_proved() -> None:
    """Even ones in both classes where none are named, with the ends of both; reports are checked there, too."""
    cells = 2**40
    own = [cells * part // 32 for part in range(1, 33)]
    assert PROVED.proved_at == PROVED.checked_at == (*own, *(cells + each for each in own))
    apart = replace(PROVED, grid=LABELLED.grid.with_outside(Outside.APART), proved_at=())
    assert len(apart.proved_at) == 2 * (16 + 2)
    assert apart.find_thresholds((7,)) == (
        1,
        8,
        cells + 1,
        cells + 2,
        cells + 3,
        cells + 10,
        2 * cells + 3,
        2 * cells + 4,
    )
    named = replace(PROVED, proved_at=(5, 2 * cells))
    assert named.hash != PROVED.hash
    assert [named.is_proved(at) for at in ((5, 2 * cells), (5,), ())] == [True, False, False]
    assert (named.answer_size((5, 2 * cells)), named.answer_size((5,))) == (2 * 2 + 1, 1)
    for wrong in ((5, 5, 2 * cells), (0, 2 * cells), (5,), (*range(1, 65), 2 * cells)):
        with pytest.raises(ValueError, match=r"^proved_at: must be (rising thresholds|at most 64 thresholds)"):
            replace(PROVED, proved_at=wrong)
    for task in (replace(LABELLED, count_kind=None), replace(PLAIN, proof_key_hashes=("22" * 32,))):
        with pytest.raises(ValueError, match="^proved_at: applies to tasks that count below thresholds"):
            replace(task, proved_at=(5, task.slots))


def test_what_is_no_task_of_this_version_is_refused(tmp_path: Path) -> None:
    document = json.loads(PLAIN.to_json())
    for text in ("", "[]", "{}", json.dumps({**document, "servers": []}), json.dumps({**document, "loss": {}})):
        with pytest.raises(ValueError, match=r"^task: the file is not a task document"):
            Task.from_json(text)
    with pytest.raises(ProtocolError, match=r"^task: is of version 3, and this dpcurves reads 4"):
        Task.from_json(json.dumps({**document, "version": 3}))
    with pytest.raises(ProtocolError, match=r"^task: .* cannot be read"):
        Task.load(tmp_path / "none")
    with pytest.raises(ValueError, match="reports_per_owner: must be a number of reports of at least 1"):
        replace(PLAIN, reports_per_owner=0)
    with pytest.raises(ValueError, match="servers: must be two different servers"):
        replace(PLAIN, servers=(SERVERS[0], replace(SERVERS[1], hpke_key=SERVERS[0].hpke_key)))
    with pytest.raises(UnsupportedQuery, match="more noise than 64-bit shares can hold"):
        replace(LABELLED, loss=PrivacyLoss.pure("1e-12"))


def test_all_cells_are_counted_where_they_are_few_and_thresholds_where_they_are_not() -> None:
    assert PLAIN.count_kind is CountKind.CELLS
    assert LABELLED.count_kind is CountKind.PREFIXES
    wards = replace(PLAIN, label=Categories("ward", ("a", "b", "c")))
    assert (wards.slots, wards.distribution(1), wards.answer_size(())) == (
        3000,
        wards.distribution(10**6),
        wards.distribution(1).size,
    )
    with pytest.raises(UnsupportedQuery, match=r"^label: must have two classes where counts are asked at thresholds"):
        replace(wards, grid=Grid(0, 1, cells=2**20), count_kind=None)
    with pytest.raises(UnsupportedQuery, match=r"^grid: must have at most 65535 slots .* take a coarser grid"):
        replace(PLAIN, grid=Grid(0, 1, cells=2**20))


@pytest.mark.parametrize("question", [AutoRangeCdfQuestion("x"), AutoRangeSurvivalQuestion("x", "late")], ids=str)
def test_two_servers_count_once_so_without_a_grid_they_refuse_in_one_line(question: Question[Any]) -> None:
    adjacency = Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, units=1000)
    with pytest.raises(UnsupportedQuery, match=r"^grid: this trust model counts once, .*dpcurves task suggest .*$"):
        plan_question(question, PrivacyLoss.pure(1), adjacency, FunctionShares())


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "one owner"},
        {"adjacency": "add-remove"},
        {"bits": 9},
        {"more": 1},
        {"loss": {"epsilon": "0.50", "rho": "9"}},
        {"reports_per_owner": 7.5},
        {"reports_per_owner": True},
    ],
)
def test_a_document_says_nothing_but_what_a_server_keeps(changes: dict[str, object]) -> None:
    document = {**json.loads(PLAIN.to_json()), **changes}
    with pytest.raises(ProtocolError, match=r"^task: the document was changed"):
        Task.from_json(json.dumps(document, indent=1, sort_keys=True))
    twice = PLAIN.to_json().replace('"bits": 10,', '"bits": 9,\n "bits": 10,')
    with pytest.raises(ProtocolError, match=r"^task: the document was changed"):
        Task.from_json(twice)
    assert Task.from_json(PLAIN.to_json() + "\n").hash == PLAIN.hash


def test_tickets_are_secret_and_the_document_holds_their_hashes_alone(tmp_path: Path) -> None:
    task = create_task(PLAIN, PEOPLE, tmp_path / "task.json", tmp_path / "tickets")
    assert Task.load(tmp_path / "task.json") == task
    names = sorted(file.name for file in (tmp_path / "tickets").iterdir())
    assert names == ["analyst-1", "coordinator-1", "owner-1", "owner-2"]
    for file in (tmp_path / "tickets").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        role = Role(file.name.partition("-")[0])
        ticket = Ticket.load(file, role)
        number = task.bearers[role][hash_token(ticket.token)]
        assert (f"{role.value}-{number + 1}", task.tokens[role][number]) == (file.name, hash_token(ticket.token))
        assert [hash_token(ticket.token) in task.bearers[role] for role in Role].count(True) == 1
        assert ticket.token not in (tmp_path / "task.json").read_text()
        assert ticket.token not in repr(ticket)
        shown = [ticket.derive_bearer_token(party) for party in (0, 1)]
        assert [hash_from_bearer_token(each, party) for party, each in enumerate(shown)] == [
            hash_token(ticket.token)
        ] * 2
        own, other = (each.partition(".")[0] for each in shown)
        assert other not in shown[0]
        assert own not in shown[1]
        wrong = [(shown[0], 1), (shown[1], 0), *((each, 0) for each in (ticket.token, own, f"{own}.{other}", ""))]
        assert not [each for each, party in wrong if hash_from_bearer_token(each, party) == hash_token(ticket.token)]
    with pytest.raises(ProtocolError, match=r"^ticket: must be the ticket of an owner; this one is of an analyst"):
        Ticket.load(tmp_path / "tickets" / "analyst-1", Role.OWNER)
    with pytest.raises(ProtocolError, match=r"^ticket: .* is not a ticket"):
        Ticket.load(tmp_path / "task.json", Role.OWNER)
    with pytest.raises(ProtocolError, match=r"^file: .* exists and is not overwritten"):
        create_task(PLAIN, PEOPLE, tmp_path / "task.json", tmp_path / "tickets")
    with pytest.raises(ProtocolError, match=r"^file: .*owner-1' exists and is not overwritten"):
        create_task(PLAIN, PEOPLE, tmp_path / "other.json", tmp_path / "tickets")
    assert not (tmp_path / "other.json").exists()
    with pytest.raises(ValueError, match="owners, analysts: must be at least one owner and one analyst"):
        create_task(PLAIN, {**PEOPLE, Role.OWNER: 0}, tmp_path / "other.json", tmp_path / "tickets")


def test_an_identity_is_made_once_and_its_keys_are_secret(tmp_path: Path) -> None:
    made = Identity.create(tmp_path / "a", "https://127.0.0.1:8701")
    again = Identity.load(tmp_path / "a")
    assert again.public == made.public == read_server(tmp_path / "a" / "server.json")
    assert again.hpke_key.private_bytes_raw() == made.hpke_key.private_bytes_raw()
    assert made.hpke_key.private_bytes_raw().hex() not in (tmp_path / "a" / "server.json").read_text()
    for name in ("sealing.key", "tls.key"):
        assert stat.S_IMODE((tmp_path / "a" / name).stat().st_mode) == 0o600
    with pytest.raises(ProtocolError, match="exists and is not overwritten"):
        Identity.create(tmp_path / "a", "https://127.0.0.1:8701")
    with pytest.raises(ProtocolError, match=r"^identity: .* holds no keys of a server"):
        Identity.load(tmp_path)
    for url in ("http://a:1", "https://a", "https://a:1/path", "a:1", "https://a:99999"):
        with pytest.raises(ProtocolError, match=r"^url: must be https://host:port"):
            Identity.create(tmp_path / "b", url)
    for text in ("8701", "a", "a:b", "a:1/x"):
        with pytest.raises(ProtocolError, match=r"^listen: must be host:port"):
            Address.parse(text)


def make_identities(number: int, folder: str) -> None:
    for place in range(20):
        with suppress(ProtocolError):
            Identity.create(Path(folder) / str(place), f"https://127.0.0.1:{8701 + number}")


def test_of_eight_processes_that_make_an_identity_at_once_one_does(tmp_path: Path) -> None:
    at_once(make_identities, str(tmp_path))
    for place in range(20):
        made = Identity.load(tmp_path / str(place))
        assert made.hpke_key.public_key().public_bytes_raw().hex() == made.public.hpke_key
        assert made.public.certificate == made.certificate_file.read_text()
        make_server_context(made.certificate_file, made.private_key_file, ())  # the key is that of the certificate


def make_pairs(number: int, folder: str) -> None:
    for place in range(20):
        certificate, key = Path(folder) / f"{place}.pem", Path(folder) / f"{place}.key"
        if CertificatePair.write_if_missing("127.0.0.1", certificate, key):
            (Path(folder) / f"{place} by {number}").touch()
        make_standalone_context(certificate, key)


def test_eight_servers_that_start_at_once_with_one_certificate_have_the_same(tmp_path: Path) -> None:
    at_once(make_pairs, str(tmp_path))
    assert len(list(tmp_path.glob("* by *"))) == 20


def test_the_statement_says_what_is_promised_and_what_is_assumed() -> None:
    text = "\n".join(describe_task(PLAIN))
    for words in ("epsilon 0.5 for each report", "at most 7: it loses at most epsilon 3.5 as a whole", PLAIN.hash,
                  "do not collude", "One dishonest owner can shift a count arbitrarily", "replace-one"):  # fmt: skip
        assert words in text
    text = "\n".join(describe_task(LABELLED))
    assert "rho 0.1 for each report" in text
    assert "it loses at most rho 4.9 as a whole" in text
    assert "a report counts once, or is dropped" in text


def test_reports_count_that_both_servers_have_with_the_same_public_half() -> None:
    """Two sets of 500 reports differ here and there: what is left is their intersection."""
    stream, task = Random(1), "0" * 64
    both = {stream.randbytes(16): stream.randbytes(16) for _ in range(490)}
    ours, theirs = ({**both, **{stream.randbytes(16): b"d" * 16 for _ in range(6)}} for _ in range(2))
    changed = sorted(both)[7]
    theirs[changed] = b"x" * 16
    counted = sorted(both.items() - {(changed, both[changed])})
    bits = choose_prefix_bits(len(ours))
    assert bits == 3
    found = []
    for mine, other in ((ours, theirs), (theirs, ours)):
        rising, summary, listed = (
            sorted(mine.items()),
            PartHashes.from_reports(task, sorted(other.items()), bits),
            dict[int, bytes](),
        )
        with pytest.raises(UnlistedParts) as raised:
            intersect_reports(task, lambda rising=rising: rising, len(rising), summary, {})  # type: ignore[misc]
        assert set(raised.value.parts) <= set(range(8))
        parts = split_by_prefix(sorted(other.items()), bits)
        listed = {part: b"".join(map(b"".join, some)) for part, some in parts}
        agreed = intersect_reports(task, lambda rising=rising: rising, len(rising), summary, listed)  # type: ignore[misc]
        assert sorted(agreed.dropped_ids) == sorted(mine.keys() - {one for one, _ in counted})
        found.append((agreed.name, agreed.reports))
        assert parse_listings(encode_listings(listed)) == listed
    assert found == [(hash_report_set(task, 489, counted), 489)] * 2
    assert hash_report_set("1" * 64, 489, counted) != found[0][0]
    same = intersect_reports(task, lambda: counted, 489, PartHashes.from_reports(task, counted, bits), {})
    assert same == (found[0][0], 489, [])
    good = encode_listings({1: b"i" * 32 + b"j" * 32, 2: b""})
    for message in (good[:-1], good + b"0", good[:7], encode_listings({1: b"i" * 32 + b"i" * 32}), good + good):
        with pytest.raises(ProtocolError, match=r"^peer: the listing"):
            parse_listings(message)


def test_many_tickets_are_packed_and_change_nothing_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcurves_parties.serving.task_document.LEAST_PACKED", 2)
    tokens = [f"{number:064x}" for number in range(5)]
    names = [hash_token(token) for token in tokens]
    made = replace(PLAIN, tokens={Role.OWNER: (*names, names[0]), Role.ANALYST: (), Role.COORDINATOR: ()})
    text = made.to_json()
    read = Task.from_json(text + "\n")
    assert isinstance(read.tokens[Role.OWNER], PackedHashes)
    assert (read, read.hash, read.to_json()) == (made, made.hash, text)
    numbers = read.bearers[Role.OWNER]
    assert [numbers[name] for name in names] == [5, 1, 2, 3, 4]
    assert [numbers.get(name) for name in (hash_token("another"), names[1].upper(), "", names[1][:-1])] == [None] * 4
    assert list(read.tokens[Role.OWNER][1:3]) == names[1:3]
    with pytest.raises(ProtocolError, match="^task: the document was changed"):
        Task.from_json(text.replace('"name"', ' "name"', 1))
