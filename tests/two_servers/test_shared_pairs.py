"""Two servers with shares of people who have gone: one noisy answer about pairs, whoever asks, dies or asks again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federation import LONG, Federation
from pair_crashes import SEED, Couple, killed_at, mortal, ratings

from dpcurves.ledger import Ledger
from dpcurves.noise import Randomness
from dpcurves_parties.pairs.mechanisms import NoisePlacement
from dpcurves_parties.pairs.task import PairEncoding, read_values, write_seed
from dpcurves_parties.shares import ProtocolError

pytest.importorskip("rbcl")
NAMES = ("sum", "each", "early", "killed0", "killed1", "killed2", "typed")


@pytest.fixture(scope="module")
def couple(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Couple]:
    made = Couple(Federation(tmp_path_factory.mktemp("couple")))
    for name in NAMES:
        noise = NoisePlacement.EACH if name == "each" else NoisePlacement.ON_SUM
        made.task(name, noise, where="rooms > 2" if name == "typed" else "")
    try:
        for party in (0, 1):
            made.federation.start(party, program=mortal)
        yield made
    finally:
        made.federation.end_all()


def test_two_servers_tell_the_mean_over_pairs_and_the_same_to_whoever_asks_again(couple: Couple) -> None:
    """At epsilon 50 there is hardly any noise: the answers are those of the pairs that the shown seed gives."""
    values = ratings()
    one, other = ({each: values[each][ends] for each in values} for ends in np.triu_indices(60, 1))
    tasks: Any = [couple.federation.tasks[name] for name in ("sum", "each")]
    found = []
    for task in tasks:
        couple.send(task, {column: numbers[:40] for column, numbers in values.items()})
        couple.send(task, {column: numbers[40:] for column, numbers in values.items()}, owner=2)
        closed = couple.close(task)
        assert (closed.reports, closed.owners) == (60, 2)
        found.append(couple.ask(task))
        low, high = found[-1].interval(0.9999)
        assert low < float(task.kernel.evaluate(one, other).mean()) < high
        assert [couple.ask(task, party).value for party in (0, 1, 1)] == [found[-1].value] * 3
        assert task.plan(60).made_by.startswith("pairs of people, by two servers: ")
    for party in (0, 1):
        couple.federation.end(party)
        couple.federation.start(party, program=mortal)
    for task, before in zip(tasks, found, strict=True):
        assert [couple.ask(task, party).value for party in (1, 0)] == [before.value] * 2
        for party in (0, 1):
            ledger = Ledger.open_existing(couple.federation.store(party))
            ledger.verify()
            assert ledger.statement(task.dataset).spent.digits == "50"


def test_a_task_of_pairs_is_answered_once_it_is_closed_with_the_promised_seed(couple: Couple) -> None:
    task: Any = couple.federation.tasks["early"]
    couple.send(task, ratings(7))
    with pytest.raises(ProtocolError, match="^task: is not closed yet"):
        couple.ask(task)
    with pytest.raises(ProtocolError, match="^seed: must match the commitment in the task"):
        couple.close(task, bytes(32))
    couple.send(task, ratings(5, seed=2), owner=2)
    with pytest.raises(ProtocolError, match="^ticket: other records were sent with this ticket before"):
        couple.send(task, ratings(5, seed=3), owner=2)
    for party in (1, 0):
        assert couple.close(task, party=party).reports == 12
    assert couple.ask(task, 1).value == couple.ask(task).value


def test_a_server_that_is_killed_in_a_session_shows_no_share_of_a_second_run(couple: Couple) -> None:
    """The program `pair_crashes` goes through all steps of both servers."""
    for number, (party, step) in enumerate(((0, "after send 3"), (1, "after store_run 1"), (0, "after confirm_run 1"))):
        assert killed_at(couple, couple.federation.tasks[f"killed{number}"], party, step), step


def test_shares_of_values_are_even_each_and_stay_within_the_declared_bits() -> None:
    """Each of 104 bits is 1 in half of 4,000 shares of one value, within 4 standard deviations: 1 alarm in 150."""
    encoding, rows = PairEncoding((3, 48, 1)), np.tile([5, 2**47 + 3, 1], (4000, 1))
    shares = encoding.share_records(rows, Randomness.from_seed(2))
    for party in (0, 1):
        own = [share[party] for share in shares]
        encoding.require_shares(party, own)
        bits = np.unpackbits(np.frombuffer(b"".join(own), np.uint8).reshape(4000, 7), axis=1, bitorder="little")
        assert np.abs(bits[:, :52].sum(axis=0) - 2000.0).max() < 4 * 1000**0.5
        assert not bits[:, 52:].any()
    columns = [encoding.decode_columns([share[party] for share in shares]) for party in (0, 1)]
    assert all(((one ^ other) == value).all() for one, other, value in zip(*columns, rows[0].tolist(), strict=True))
    with pytest.raises(ValueError, match="a share has bits beyond the 52 of the task"):
        encoding.require_shares(0, [b"\xff" * 7])


def test_what_is_no_number_of_the_declared_bits_counts_as_the_nearest(couple: Couple) -> None:
    task: Any = couple.federation.tasks["sum"]
    found = read_values(task, {"rooms": [-3.0, 2.0, np.nan, 9.0], "cleanliness": [0, 7, 1, 1000]})
    assert found.tolist() == [[0, 0], [2, 7], [0, 1], [7, 7]]


def test_shares_are_sent_and_the_answer_is_asked_for_at_the_terminal(couple: Couple, tmp_path: Path) -> None:
    federation = couple.federation
    task: Any = federation.tasks["typed"]
    document, values = ["--task", str(federation.folder / "typed.json"), "--ticket"], ratings()
    rows = "".join(f"{one},{other}\n" for one, other in zip(*values.values(), strict=True))
    (tmp_path / "mine.csv").write_text("rooms,cleanliness\n" + rows)
    write_seed(federation.file(task, "coordinator-1"), SEED)
    steps = (
        ("pair", str(tmp_path / "mine.csv"), *document, str(federation.file(task, "owner-1"))),
        ("task", "close", *document, str(federation.file(task, "coordinator-1"))),
        ("ask", "pairs", *document, str(federation.file(task, "analyst-1")), "--json", str(tmp_path / "out.json")),
    )
    said = []
    for step in steps:
        typed = federation.typed(*step)
        typed.join(LONG)
        said += federation.said()
        assert typed.exitcode == 0, said
    assert said[0] == "sent: shares of 60 people, 60 of them new to the servers"
    assert any("the two servers do not collude" in line for line in said)
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["value"] == couple.ask(task).value
    assert told["privacy"]["where"] == "rooms > 2"
    (low, high), (least, most) = told["for_these_records"], told["for_the_population"]
    assert least <= low < told["value"] < high <= most
    assert (told["privacy"]["epsilon"], told["privacy"]["adjacency"]) == (50, "replace-one")
