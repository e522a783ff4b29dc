"""Proofs of halves: right ones are read, wrong ones are refused, and nobody learns anything from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from federation import Federation, command
from typer.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.laws import Family, IntervalSums, Noise, Tier
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.crypto import PortableEngine
from dpcurves_parties.shares import ProtocolAborted
from dpcurves_parties.shares import answer_proofs as proofs
from dpcurves_parties.shares.answer_proofs import PRIME, HalfProof, ProofKeys, Prover, Proving
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.shared_records import CheckedEncoding, Encoding

RUN, APP = CliRunner(), build()
TASK = "ab" * 32
KEYS = ProofKeys("07" * 32, 2)
NOISE = Noise(Family.LAPLACE, Fraction(1))
LAW = IntervalSums(2, 6, (Tier((0, 4), NOISE), Tier(range(6), NOISE)), NOISE)
"""Slots: two rows of six cells; 12 is that of the missing."""
PLACES = np.array([0, 3, 3, 7, 11, 12, 5, 0])
GRID = dp.Grid(0, 1, cells=24)
HUNDRED = dp.PrivacyLoss.pure(100)
X = np.random.default_rng(3).random(200)


def numbers_of(places: Any) -> list[int]:
    """Contributions of records to an answer, worked out by hand."""
    cells = np.zeros(13, dtype=int)
    np.add.at(cells, places, 1)
    rows = cells[:12].reshape(2, 6)
    coarse = [int(part.sum()) for row in rows for part in (row[:4], row[4:])]
    return [*coarse, *rows.ravel().tolist(), -int(rows.sum())]


@dataclass
class Sides:
    """Two servers in one process, with shares of the same records and noise that was made up."""

    proving: tuple[Proving, Proving]
    noise: tuple[list[int], list[int]]
    seeds: tuple[list[bytes], list[bytes]]
    words: list[list[int]]


@pytest.fixture(params=[Encoding, CheckedEncoding], scope="module")
def sides(request: pytest.FixtureRequest) -> Sides:
    prover = Prover(TASK, LAW, KEYS.each)
    encoding = request.param(12, PortableEngine.of_task(b"test"), 2, prover)
    shares = encoding.shared(PLACES, Randomness.from_seed(1))
    parts = [encoding.proved([share[party] for share in shares]) for party in (0, 1)]
    assert (parts[0][0] == parts[1][0]).all()
    made = (Proving(TASK, 0, *parts[0]), Proving(TASK, 1, *parts[1]))
    drawn = np.random.default_rng(2).integers(-9, 9, (2, LAW.size)).tolist()
    return Sides(made, (drawn[0], drawn[1]), (parts[0][1], parts[1][1]), parts[0][0].tolist())


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
    r = proofs.coefficients(KEYS.each[0], TASK, LAW.size)
    assert proofs.weights(LAW, r).tolist() == [dot(r.tolist(), numbers_of([slot])) for slot in range(13)]


def test_right_answers_are_read_also_of_some_reports(sides: Sides) -> None:
    counts = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=bool)
    for kept in (None, counts):
        halves = [each.half(noise, kept) for each, noise in zip(sides.proving, sides.noise, strict=True)]
        exact = numbers_of(PLACES if kept is None else PLACES[kept])
        for analyst in (0, 1):
            read(summed(exact, *sides.noise), halves, analyst)


def test_every_number_that_is_another_one_is_refused(sides: Sides) -> None:
    """Numbers of the answer, of masked noise with its hash, of the sum; also those equal modulo the prime or 2**64."""
    right = [each.half(noise) for each, noise in zip(sides.proving, sides.noise, strict=True)]
    answer = summed(numbers_of(PLACES), *sides.noise)
    read(answer, right)
    for place in range(LAW.size):
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
    victim, size = 4, LAW.size
    exact = numbers_of([PLACES[victim]])  # as the honest server's half shows it to them, with its noise
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


# Real servers


def lying(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, but lie as a file beside the log says, with the server's own identity."""
    from dpcurves_parties.shares import aggregation
    from dpcurves_parties.shares.function_shares import masked

    how, right, made = Path(f"{log}.lies"), masked, Proving.half

    def half(*arguments: Any) -> tuple[int, ...]:
        first, *others = right(*arguments)
        return first + 7 * ("half" in how.read_text()), *others

    def proof(self: Proving, noise: Sequence[int], counts: Any = None) -> HalfProof:
        first, *others = noise
        return made(self, [first + 7 * ("noise" in how.read_text()), *others], counts)

    setattr(aggregation, "masked", half)  # noqa: B010
    setattr(Proving, "half", proof)  # noqa: B010
    command(arguments, log, environment)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Server 0 follows the protocol, server 1 does if the file says nothing. Two tasks, made at the terminal."""
    made = Federation(tmp_path_factory.mktemp("proofs"))
    for name, check in (("believed", "answers"), ("checked", "owners,answers")):
        servers = ",".join(str(made.folder / f"a{party}" / "server.json") for party in (0, 1))
        process = made.typed(
            "task", "create", "--name", name, "--column", "x", "--grid", "0:1:24", "--epsilon", "100",
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
                made.contribute_changed(task, 7, -60)
            made.close(task)
        yield made
    finally:
        made.close_connections()
        made.end_all()


def dp_task(file: Path) -> Any:
    from dpcurves_parties.shares import Task

    return Task.read(file)


@pytest.mark.parametrize(("name", "party"), [("believed", 0), ("checked", 1)])
def test_a_server_that_lies_is_refused_by_the_analyst_whoever_was_asked(
    pair: Federation, name: str, party: int
) -> None:
    """The first answer binds both to their noise. Afterwards a lie is refused in one line, and the truth is read."""
    task, question, lies = pair.tasks[name], dp.HistogramQuestion("x", GRID), pair.folder / "log1.lies"
    analyst = pair.analyst(task, party)
    bars = analyst.ask(question)
    assert np.allclose(bars.unbiased, np.histogram(X, GRID.edges)[0], rtol=0, atol=1e-9)
    assert (analyst.dropped, bars.missing) == (7 * (name == "checked"), pytest.approx(7 * (name == "checked")))
    for lie, line in (
        ("half", "^servers: the answer is not proved"),
        ("noise", "^(peer: it is bound to other noise than it told|servers: a half has other noise)"),
        ("half and noise", "^(peer: it is bound to other noise than it told|servers: (a half|their halves))"),
    ):
        lies.write_text(lie)
        pair.end(1)
        pair.start(1, program=lying)
        pair.close_connections()
        with pytest.raises(ProtocolAborted, match=line):
            pair.analyst(task, party).ask(question)
        if lie == "half":
            document = ["--task", str(pair.folder / f"{name}.json"), "--ticket", str(pair.file(task, "analyst-1"))]
            for more in ((), ("--unproved",)):
                result = RUN.invoke(APP, ["ask", "histogram", *document, *more])
                assert (result.exit_code == 0) == bool(more), result.output
            assert "doubt: the answer is not proved" in result.stdout
            assert "Proved:" not in result.stdout
    lies.write_text("")
    pair.end(1)
    pair.start(1, program=lying)
    pair.close_connections()
    assert pair.analyst(task, party).ask(question).evidence == bars.evidence


def test_a_ticket_without_the_tasks_key_sends_and_reads_nothing(pair: Federation) -> None:
    task = pair.tasks["believed"]
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        task.sharing("")
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        task.sharing("00" * 32)
    file = pair.file(task, "analyst-1")
    file.write_text(re.sub(r'"proof": "[0-9a-f]+"', '"proof": ""', file.read_text()))
    with pytest.raises(ProtocolAborted, match="^ticket: its key for proofs of answers is not that of the task"):
        pair.analyst(task)
