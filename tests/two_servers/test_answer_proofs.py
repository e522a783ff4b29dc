"""Proofs of halves: right ones are read, wrong ones are refused, and nobody learns anything from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from federation import Federation, command

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.conversation import Plan
from dpcurves.curves import CdfQuestion
from dpcurves.data import Axis
from dpcurves.laws import Family, IntervalSums, Noise, PathSums, Tier
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD
from dpcurves.queries import PrefixQuery
from dpcurves_parties.crypto import PortableEngine
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.shares import ProtocolAborted
from dpcurves_parties.shares import answer_proofs as proofs
from dpcurves_parties.shares.aggregation import Half, Proofs
from dpcurves_parties.shares.answer_proofs import (
    PRIME,
    HalfProof,
    ProofKeys,
    Proved,
    ProvedCells,
    ProvedEdges,
    Prover,
    Proving,
)
from dpcurves_parties.shares.function_shares import FunctionShares, Owners, joined
from dpcurves_parties.shares.shared_records import CheckedEncoding, Encoding, Reports

RUN, APP = CliRunner(), build()
TASK = "ab" * 32
KEYS = ProofKeys("07" * 32, 2)
NOISE = Noise(Family.LAPLACE, Fraction(1))
LAW = ProvedCells(IntervalSums(2, 6, (Tier((0, 4), NOISE), Tier(range(6), NOISE)), NOISE))
"""Slots: two rows of six cells; 12 is that of the missing."""
PATH = ProvedEdges(PathSums(12, (2, 3, 9, 12), 4, NOISE, None))
PLACES = np.array([0, 3, 3, 7, 11, 12, 5, 0])
GRID, FINE_GRID = dp.Grid(0, 1, cells=24), dp.Grid(0, 1, cells=100_000)
HUNDRED = dp.PrivacyLoss.pure(100)
X = np.random.default_rng(3).random(200)


def numbers_of(places: Any, law: Proved = LAW) -> list[int]:
    """Contributions of records to an answer, worked out by hand."""
    if isinstance(law, ProvedEdges):
        return [int((np.asarray(places) < edge).sum()) for edge in law.law.at]
    cells = np.zeros(13, dtype=int)
    np.add.at(cells, places, 1)
    rows = cells[:12].reshape(2, 6)
    coarse = [int(part.sum()) for row in rows for part in (row[:4], row[4:])]
    return [*coarse, *rows.ravel().tolist(), -int(rows.sum())]


@dataclass
class Sides:
    """Two servers in one process, with shares of the same records and noise that was made up."""

    law: Proved
    proving: tuple[Proving, Proving]
    noise: tuple[list[int], list[int]]
    seeds: tuple[list[bytes], list[bytes]]
    words: list[list[int]]


@pytest.fixture(params=[(Encoding, LAW), (CheckedEncoding, LAW), (Encoding, PATH)], scope="module")
def sides(request: pytest.FixtureRequest) -> Sides:
    kind, law = request.param
    prover = Prover(TASK, law, KEYS.each)
    encoding = kind(12, PortableEngine.of_task(b"test"), 2, prover)
    shares = encoding.shared(PLACES, Randomness.from_seed(1))
    parts = [encoding.proved([share[party] for share in shares]) for party in (0, 1)]
    assert (parts[0][0] == parts[1][0]).all()
    made = (Proving(TASK, 0, *parts[0]), Proving(TASK, 1, *parts[1]))
    drawn = np.random.default_rng(2).integers(-9, 9, (2, law.size)).tolist()
    return Sides(law, made, (drawn[0], drawn[1]), (parts[0][1], parts[1][1]), parts[0][0].tolist())


def read(counts: Sequence[int], halves: Sequence[HalfProof], analyst: int = 1) -> None:
    bound = [half.hash for half in halves]
    proofs.require_proved(KEYS.each[analyst], TASK, counts, [half.of(analyst) for half in halves], bound)


def summed(*parts: Sequence[int]) -> list[int]:
    return [sum(each) for each in zip(*parts, strict=True)]


def dot(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(one * other for one, other in zip(first, second, strict=True)) % PRIME


def test_arithmetic_is_that_of_the_field() -> None:
    draw = np.random.default_rng(1)
    ends = np.array([0, 1, PRIME - 1, PRIME - 2, 2**31, 2**30 - 1, 2**60], np.uint64)
    rows = np.concatenate([draw.integers(0, PRIME, (3, 20), dtype=np.uint64), np.tile(ends, (3, 1))], axis=1)
    other = np.concatenate([draw.integers(0, PRIME, 20, dtype=np.uint64), ends[::-1]])
    assert proofs.inner(rows, other) == [dot(row, other.tolist()) for row in rows.tolist()]
    for one in ends.tolist():
        each = np.array([[one]] * len(ends), np.uint64)
        assert proofs.inner(each, ends[:, None]) == [one * end % PRIME for end in ends.tolist()]
    assert proofs.residues([-1, 0, 2**60, -(2**59)]).tolist() == [PRIME - 1, 0, 2**60, PRIME - 2**59]
    for law in (LAW, PATH):
        r = proofs.coefficients(KEYS.each[0], TASK, law.size)
        by_hand = [dot(r.tolist(), numbers_of([slot], law)) for slot in range(13)]
        assert law.weights(r, np.arange(13)).tolist() == by_hand


def test_right_answers_are_read_also_of_some_reports(sides: Sides) -> None:
    counts = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=bool)
    for kept in (None, counts):
        halves = [each.half(noise, kept) for each, noise in zip(sides.proving, sides.noise, strict=True)]
        exact = numbers_of(PLACES if kept is None else PLACES[kept], sides.law)
        for analyst in (0, 1):
            read(summed(exact, *sides.noise), halves, analyst)


def test_every_number_that_is_another_one_is_refused(sides: Sides) -> None:
    """Numbers of the answer, of masked noise with its hash, of the sum; also those equal modulo the prime or 2**64."""
    right = [each.half(noise) for each, noise in zip(sides.proving, sides.noise, strict=True)]
    answer = summed(numbers_of(PLACES, sides.law), *sides.noise)
    read(answer, right)
    for place in range(sides.law.size):
        for more in (1, -1, 2**40, PRIME, -PRIME, 2**61):
            with pytest.raises(ProtocolAborted, match="^servers: the answer is not proved"):
                read([*answer[:place], answer[place] + more, *answer[place + 1 :]], right)
        wrong = list(right[1].noise)
        wrong[place] = (wrong[place] + 1) % PRIME
        with pytest.raises(ProtocolAborted, match="^servers: the answer is not proved"):
            read(answer, [right[0], right[1]._replace(noise=tuple(wrong))])
    with pytest.raises(ProtocolAborted, match="^servers: the answer is not proved"):
        read(answer, [right[0], right[1]._replace(sums=(right[1].sums[0], (right[1].sums[1] + 1) % PRIME))])
    with pytest.raises(ProtocolAborted, match="^servers: the answer is not proved"):
        read(answer, [right[0], right[1]._replace(sums=(right[1].sums[0], right[1].sums[1] + PRIME))])
    told = [half.of(1) for half in right]
    with pytest.raises(ProtocolAborted, match="^servers: a half has other noise than its server was bound to"):
        proofs.require_proved(KEYS.each[1], TASK, answer, told, [right[0].hash, "00" * 32])
    with pytest.raises(ProtocolAborted, match="^servers: the answer is not proved"):
        read(answer, [right[0], sides.proving[1].half(sides.noise[1], np.arange(8) != 2)])


@pytest.mark.parametrize("honest", [0, 1])
def test_what_a_server_sends_for_a_proof_follows_from_its_half_and_what_the_others_have(
    sides: Sides, honest: int
) -> None:
    """The other server, all owners but one, and the analysts work out the sum; masked noise is even for any noise."""
    own = sides.proving[honest].half(sides.noise[honest])
    victim, size = 4, sides.law.size
    exact = numbers_of([PLACES[victim]], sides.law)  # as the honest server's half shows it to them, with its noise
    seen = summed(exact, sides.noise[honest])
    for analyst, key in enumerate(KEYS.each):
        r = proofs.coefficients(key, TASK, size).tolist()

        def stream(party: int, report: int) -> list[int]:
            return list(map(int, proofs._mask(TASK, sides.seeds[party][report], size + 2)))

        # Of all reports but the victim's they have both seeds; of the victim's their own, and the word.
        others = [report for report in range(len(PLACES)) if report != victim]
        known = [stream(honest, report) for report in others]
        masks, numbers = summed(*known)[:size], sum(each[size + analyst] for each in known)
        numbers += sum(sides.words[report][analyst] for report in others) if honest == 0 else 0
        theirs = stream(1 - honest, victim)
        masked = summed(own.noise, masks)  # the noise less the victim's mask
        from_victim = dot(r, seen) - dot(r, masked) + dot(r, theirs[:size]) - theirs[size + analyst]
        from_victim -= sides.words[victim][analyst] if honest == 1 else 0
        assert (numbers + from_victim) % PRIME == own.sums[analyst]
    other = sides.proving[honest].half([each + 1 for each in sides.noise[honest]])
    assert (np.array(other.noise) - np.array(own.noise)) % PRIME == pytest.approx(1)
    fresh = replace(sides.proving[honest], seeds=[bytes(16), *sides.proving[honest].seeds[1:]])
    moved = (np.array(fresh.half(sides.noise[honest]).noise) - np.array(own.noise)) % PRIME
    assert len(set(moved.tolist())) == size  # each number is masked by one of its own


def test_keys_are_the_tasks_and_words_are_of_the_field() -> None:
    assert len({KEYS.secret, *KEYS.each, *KEYS.hashes}) == 5
    encoding = Encoding(12, PortableEngine.of_task(b"test"), 2, Prover(TASK, LAW, KEYS.each))
    share, _ = encoding.shared(PLACES[:1], Randomness.from_seed(1))[0]
    at = encoding.public_size - 8
    encoding.require(0, [share])
    with pytest.raises(ValueError, match="^shares: a word of a proof is below"):
        encoding.require(0, [share[:at] + PRIME.to_bytes(8, "little") + share[at + 8 :]])


# Counts below edges of a fine grid, by real shares and noise


AXIS, AT = Axis("x", dp.Grid(0, 1, cells=1000)), (10, 250, 251, 1000)
ENGINE = PortableEngine.of_task(b"test")
SLOTS = np.random.default_rng(5).integers(0, 1001, 40)


PLAN = FunctionShares().turn(
    PrefixQuery((AXIS,), AT), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE.among(EACH_RECORD, len(SLOTS))
)
FINE = ProvedEdges(PLAN.law.required(PathSums))
FINE_ENCODING = Encoding(1000, ENGINE, 2, Prover(TASK, FINE, KEYS.each))
SHARES = tuple(zip(*FINE_ENCODING.shared(SLOTS, Randomness.from_seed(1)), strict=True))
MORE = FINE_ENCODING.shared(np.array([400]), Randomness.from_seed(2))[0]
"""A report that did not reach the other server."""
SECRETS = (b"noise of server 0" * 2, b"noise of server 1" * 2)


def half_of(party: int, shares: Sequence[bytes], secret: bytes) -> list[int]:
    keys, noise = FINE_ENCODING.keys(party, shares), NoiseKey(secret)
    pairs = zip(Reports(keys, ENGINE, noise).below(AT), FINE.noise(noise), strict=True)
    return [(share + noise) % 2**64 for share, noise in pairs]


def proof_of(party: int, shares: Sequence[bytes], secret: bytes, task: str = TASK) -> HalfProof:
    return Proving(task, party, *FINE_ENCODING.proved(shares)).half(FINE.noise(NoiseKey(secret)))


def lies_of(party: int) -> dict[str, tuple[list[int], HalfProof]]:
    """Halves of a server that lies, and what it sends for their proof."""
    shares, secret = list(SHARES[party]), SECRETS[party]
    right, proof = half_of(party, shares, secret), proof_of(party, shares, secret)
    fewer, twice = shares[:3] + shares[4:], [*shares, shares[3]]
    swapped, another = [*shares[:3], MORE[party], *shares[4:]], b"other noise" * 3
    first, second, *others = right
    return {
        "wrong sum": ([first, (second + 1) % 2**64, *others], proof),
        "two numbers swapped": ([second, first, *others], proof),
        "report dropped": (half_of(party, fewer, secret), proof),
        "report dropped, also from the proof": (half_of(party, fewer, secret), proof_of(party, fewer, secret)),
        "report counted twice": (half_of(party, twice, secret), proof_of(party, twice, secret)),
        "share swapped": (half_of(party, swapped, secret), proof),
        "share swapped, also in the proof": (half_of(party, swapped, secret), proof_of(party, swapped, secret)),
        "other noise": (half_of(party, shares, another), proof),
        "other noise, also in the proof": (half_of(party, shares, another), proof_of(party, shares, another)),
        "replayed from another task": (right, proof_of(party, shares, secret, "cd" * 32)),
    }


@pytest.mark.parametrize("liar", [0, 1])
def test_each_lie_about_counts_below_edges_is_refused(liar: int) -> None:
    halves = [half_of(party, SHARES[party], SECRETS[party]) for party in (0, 1)]
    told = [proof_of(party, SHARES[party], SECRETS[party]) for party in (0, 1)]
    bound, noises = [proof.hash for proof in told], [FINE.noise(NoiseKey(secret)) for secret in SECRETS]
    counts = joined(PLAN, halves)
    assert list(counts) == summed(numbers_of(SLOTS, FINE), *noises)
    read(counts, told)
    FINE.require_possible(counts, len(SLOTS))
    for lie, (half, proof) in lies_of(liar).items():
        halves[liar], told[liar] = half, proof
        sent = [each.of(1) for each in told]
        print(lie)  # pytest shows it where it is read
        with pytest.raises(ProtocolAborted, match=r"^servers: (the answer is not proved|a half has other noise)"):
            proofs.require_proved(KEYS.each[1], TASK, joined(PLAN, halves), sent, bound)


def test_noise_that_a_server_was_bound_to_is_read_if_so_many_reports_can_give_the_numbers() -> None:
    """The law of the noise is not proved; bounds on possible numbers limit it."""
    noise = FINE.noise(NoiseKey(SECRETS[1]))
    for more, is_possible in ((3, True), (10**6, False), (-(10**6), False)):
        half = [(number + more) % 2**64 for number in half_of(1, SHARES[1], SECRETS[1])]
        told = [
            proof_of(0, SHARES[0], SECRETS[0]),
            Proving(TASK, 1, *FINE_ENCODING.proved(SHARES[1])).half([each + more for each in noise]),
        ]
        counts = joined(PLAN, [half_of(0, SHARES[0], SECRETS[0]), half])
        read(counts, told)
        if is_possible:
            FINE.require_possible(counts, len(SLOTS))
            continue
        with pytest.raises(ProtocolAborted, match="^servers: the proved numbers are none of so many reports"):
            FINE.require_possible(counts, len(SLOTS))
    cells = numbers_of(PLACES)[:-1]
    LAW.require_possible([*cells, 1], len(PLACES))
    for wrong in ([*cells[:-1], -200, 1], [*cells[:-1], 200, 1], [*cells, 200]):
        with pytest.raises(ProtocolAborted, match="^servers: the proved numbers are none of so many reports"):
            LAW.require_possible(wrong, len(PLACES))


def test_whatever_is_asked_first_binds_the_other_server_to_its_noise(tmp_path: Path) -> None:
    """Also an answer that is not proved, which it could see, with the help of an analyst, before it chooses."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    Ledger.open(url)
    store = Store(url)
    store.begin(TASK)
    proving = Proving(TASK, 0, *FINE_ENCODING.proved(SHARES[0]))
    own = Proofs(proving, store, FINE, AT).own(NoiseKey(SECRETS[0]))
    told = {"bound": "aa" * 32}
    assert own.beside(Half((7,), 2), told, (30,), 0)[:3] == ((7,), 2, (own.proof.hash, "aa" * 32))
    assert own.beside(Half((7,), 2), told, AT, 1).numbers == (7, *own.proof.of(1))
    for wrong in ({"bound": "bb" * 32}, {}):
        for at in ((30,), AT):
            with pytest.raises(ProtocolAborted, match="^peer: it is bound to other noise than it told"):
                own.beside(Half((7,), 2), wrong, at, 0)


def test_a_count_below_another_edge_is_read_if_it_is_between_proved_ones_but_for_noise() -> None:
    listed = (5, 100, 101, 400)
    for threshold, low, high in ((3, (0, 0), (10, 5)), (11, (10, 5), (250, 100)), (700, (251, 101), (1000, 400))):
        least = low[1] - FINE.apart(low[0], threshold)
        most = high[1] + FINE.apart(threshold, high[0])
        for count in (ceil(least), floor(most)):
            FINE.require_between(listed, {threshold: count})
        for count in (ceil(least) - 1, floor(most) + 1):
            with pytest.raises(ProtocolAborted, match="^servers: a count is not between the proved ones"):
                FINE.require_between(listed, {threshold: count})


def test_noises_of_two_counts_differ_by_more_than_is_allowed_for_with_a_chance_below_that_said() -> None:
    """By the exact law of all blocks that two counts do not share, of both servers."""
    path = PATH.law.by(2)
    reach = np.arange(-200, 201)
    one = np.exp(-np.abs(reach)) * np.tanh(0.5)
    for low, high in combinations(range(13), 2):
        many = len(set(path.path(low)) ^ set(path.path(high)))
        law, most = np.ones(1), ProvedEdges(path).apart(low, high)
        for _ in range(2 * many):
            law = np.convolve(law, one)
        tail = law[len(law) // 2 + floor(most) + 1 :].sum()
        assert proofs.RARE / 2**12 < tail <= proofs.RARE


# Real servers


def lying(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, but lie as a file beside the log says, with the server's own identity."""
    from dpcurves_parties.shares import aggregation
    from dpcurves_parties.shares.function_shares import masked

    how, right, made = Path(f"{log}.lies"), masked, Proving.half

    def half(plan: Plan, *arguments: Any) -> tuple[int, ...]:
        first, *others = right(plan, *arguments)
        lie, is_proved = how.read_text(), len(plan.query.named_slots) != 1
        more = int(lie) * (not is_proved) if lie.isdigit() else 7 * ("half" in lie)
        return (first + more) % 2**64, *others

    def proof(self: Proving, noise: Sequence[int], counts: Any = None) -> HalfProof:
        first, *others = noise
        return made(self, [first + 7 * ("noise" in how.read_text()), *others], counts)

    setattr(aggregation, "masked", half)  # noqa: B010
    setattr(Proving, "half", proof)  # noqa: B010
    command(arguments, log, environment)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Server 0 follows the protocol, server 1 does if the file says nothing. Two tasks, made at the terminal.

    One counts all cells, the other checks its owners, and counts below thresholds.
    """
    made = Federation(tmp_path_factory.mktemp("proofs"))
    for name, check, *counted in (
        ("cells", "answers", "--grid", "0:1:24"),
        ("thresholds", "owners,answers", "--grid", "0:1:100000", "--proved-at", "0.125,0.25,0.5,0.75"),
    ):
        servers = ",".join(str(made.folder / f"a{party}" / "server.json") for party in (0, 1))
        process = made.typed(
            "task", "create", "--name", name, "--column", "x", *counted, "--epsilon", "100",
            "--reports-per-owner", "300", "--servers", servers, "--owners", "3", "--analysts", "2", "--check", check,
            "--out", str(made.folder / f"{name}.json"), "--tickets", str(made.folder / f"{name}-tickets"),
        )  # fmt: skip
        process.join()
        assert process.exitcode == 0, made.said()
        made.tasks[name] = dp_task(made.folder / f"{name}.json")
    lies = made.folder / "log1.lies"
    lies.write_text("")
    try:
        made.start(0)
        made.start(1, program=lying)
        for task in made.tasks.values():
            made.contribute(task, {"x": X})
            if task.owners is Owners.CHECKED:
                made.contribute_changed(task, 7, 0)
            made.close(task)
        yield made
    finally:
        made.close_connections()
        made.end_all()


def dp_task(file: Path) -> Any:
    from dpcurves_parties.shares import Task

    return Task.read(file)


def again(pair: Federation, lie: str) -> None:
    """Start server 1 anew, which now lies so."""
    (pair.folder / "log1.lies").write_text(lie)
    pair.end(1)
    pair.start(1, program=lying)
    pair.close_connections()


@pytest.mark.parametrize(("name", "party"), [("cells", 0), ("thresholds", 1)])
def test_a_server_that_lies_is_refused_by_the_analyst_whoever_was_asked(
    pair: Federation, name: str, party: int
) -> None:
    """The first answer binds both to their noise. Afterwards a lie is refused in one line, and the truth is read."""
    task, is_of_cells = pair.tasks[name], name == "cells"
    question: Any = dp.HistogramQuestion("x", GRID)
    if not is_of_cells:
        question = CdfQuestion("x", FINE_GRID, at=(12_500, 50_000))
    analyst = pair.analyst(task, party)
    first = analyst.ask(question)
    if is_of_cells:
        assert np.allclose(first.unbiased, np.histogram(X, GRID.edges)[0], rtol=0, atol=1e-9)
    else:
        assert (np.abs(first.turns[0].values - np.array([(t > X).sum() for t in (0.125, 0.5, 1)])) < 20).all()
        assert analyst.dropped == 7
    lies = [
        ("half", "^servers: the answer is not proved"),
        ("noise", "^(peer: it is bound to other noise than it told|servers: a half has other noise)"),
        ("half and noise", "^(peer: it is bound to other noise than it told|servers: (a half|their halves))"),
    ]
    for lie, line in lies if is_of_cells else lies[:2]:
        again(pair, lie)
        with pytest.raises(ProtocolAborted, match=line):
            pair.analyst(task, party).ask(question)
        if lie == "half":
            document = ["--task", str(pair.folder / f"{name}.json"), "--ticket", str(pair.file(task, "analyst-1"))]
            asked = ["histogram"] if is_of_cells else ["cdf", "--at", "0.125,0.5"]
            for more in ((), ("--unproved",)):
                result = RUN.invoke(APP, ["ask", *asked, *document, *more])
                assert (result.exit_code == 0) == bool(more), result.output
            assert "doubt: the answer is not proved" in result.stdout
            assert "Proved:" not in result.stdout
    again(pair, "")
    assert pair.analyst(task, party).ask(question).to_json() == first.to_json()


def test_below_edges_that_are_not_proved_a_lie_is_read_only_between_those_next_to_it(pair: Federation) -> None:
    task, question = pair.tasks["thresholds"], CdfQuestion("x", FINE_GRID, at=(30_000,))
    assert task.proved_at == task.checked_at == (12_500, 25_000, 50_000, 75_000, 100_000)
    right = pair.analyst(task).ask(question).turns[0].values[0]
    assert abs(right - (X < 0.3).sum()) < 20
    document = ["--task", str(pair.folder / "thresholds.json"), "--ticket", str(pair.file(task, "analyst-1"))]
    result = RUN.invoke(APP, ["ask", "quantiles", "--at", "0.5", *document])
    assert result.exit_code == 0, result.output
    assert "Proved: counts below 5 edges are those of these reports" in result.stdout
    lies = pair.folder / "log1.lies"
    lies.write_text("7")
    assert pair.analyst(task).ask(question).turns[0].values[0] == right + 7
    lies.write_text("150")
    with pytest.raises(ProtocolAborted, match="^servers: a count is not between the proved ones"):
        pair.analyst(task).ask(question)
    lies.write_text("")


def test_a_ticket_without_the_tasks_key_sends_and_reads_nothing(pair: Federation) -> None:
    task = pair.tasks["cells"]
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        task.sharing("")
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        task.sharing("00" * 32)
    file = pair.file(task, "analyst-1")
    file.write_text(re.sub(r'"proof": "[0-9a-f]+"', '"proof": ""', file.read_text()))
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        pair.analyst(task)
