"""Proofs of halves: right ones are read, wrong ones are refused, and nobody learns anything from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from federation import Federation, command

import dpcurves as dp
from dpcurves.cli.app import Commands, build
from dpcurves.conversation import Plan
from dpcurves.curves import CdfQuestion
from dpcurves.data import Axis
from dpcurves.distributions import Family, IntervalSums, Noise, PathSums, Tier
from dpcurves.ledger import Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD
from dpcurves.queries import PrefixQuery
from dpcurves_parties.crypto import PortableEngine
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.shares import ProtocolError
from dpcurves_parties.shares import answer_proofs as proofs
from dpcurves_parties.shares.aggregation import AnswerProofs, AnswerShare
from dpcurves_parties.shares.answer_proofs import (
    PRIME,
    OwnerProver,
    ProofKeys,
    ProvedCells,
    ProvedEdges,
    ProvedValues,
    ServerProver,
    ShareProof,
)
from dpcurves_parties.shares.function_shares import FunctionShares, Owners, add_answer_shares
from dpcurves_parties.shares.shared_records import CheckedTreeEncoding, SharedReports, TreeEncoding

RUN = CliRunner()
TASK = "ab" * 32
KEYS = ProofKeys("07" * 32, 2)
NOISE = Noise(Family.LAPLACE, Fraction(1))
DISTRIBUTION = ProvedCells(IntervalSums(2, 6, (Tier((0, 4), NOISE), Tier(range(6), NOISE)), NOISE))
"""Slots: two rows of six cells; 12 is that of the missing."""
PATH = ProvedEdges(PathSums(12, (2, 3, 9, 12), 4, NOISE, None))
PLACES = np.array([0, 3, 3, 7, 11, 12, 5, 0])
GRID, FINE_GRID = dp.Grid(0, 1, cells=24), dp.Grid(0, 1, cells=100_000)
HUNDRED = dp.PrivacyLoss.pure(100)
X = np.random.default_rng(3).random(200)


@cache
def application() -> Commands:
    """Return the commands, made once when a test first needs them: each process that runs tests imports this file."""
    return build()


def numbers_of(places: Any, distribution: ProvedValues = DISTRIBUTION) -> list[int]:
    """Contributions of records to an answer, worked out by hand."""
    if isinstance(distribution, ProvedEdges):
        return [int((np.asarray(places) < edge).sum()) for edge in distribution.distribution.prefix_lengths]
    cells = np.zeros(13, dtype=int)
    np.add.at(cells, places, 1)
    rows = cells[:12].reshape(2, 6)
    coarse = [int(part.sum()) for row in rows for part in (row[:4], row[4:])]
    return [*coarse, *rows.ravel().tolist(), -int(rows.sum())]


@dataclass
class Sides:
    """Two servers in one process, with shares of the same records and noise that was made up."""

    distribution: ProvedValues
    proving: tuple[ServerProver, ServerProver]
    noise: tuple[list[int], list[int]]
    seeds: tuple[list[bytes], list[bytes]]
    words: list[list[int]]


@pytest.fixture(
    params=[(TreeEncoding, DISTRIBUTION), (CheckedTreeEncoding, DISTRIBUTION), (TreeEncoding, PATH)], scope="module"
)
def sides(request: pytest.FixtureRequest) -> Sides:
    kind, distribution = request.param
    prover = OwnerProver(TASK, distribution, KEYS.keys)
    encoding = kind(12, PortableEngine.from_task(b"test"), 2, prover)
    shares = encoding.share_records(PLACES, Randomness.from_seed(1))
    parts = [encoding.parse_words([share[party] for share in shares]) for party in (0, 1)]
    assert (parts[0][0] == parts[1][0]).all()
    made = (ServerProver(TASK, 0, *parts[0]), ServerProver(TASK, 1, *parts[1]))
    drawn = np.random.default_rng(2).integers(-9, 9, (2, distribution.size)).tolist()
    return Sides(distribution, made, (drawn[0], drawn[1]), (parts[0][1], parts[1][1]), parts[0][0].tolist())


def read(counts: Sequence[int], halves: Sequence[ShareProof], analyst: int = 1) -> None:
    bound = [half.hash for half in halves]
    proofs.require_proved_answer(
        KEYS.keys[analyst], TASK, counts, [half.proof_for_analyst(analyst) for half in halves], bound
    )


def summed(*parts: Sequence[int]) -> list[int]:
    return [sum(each) for each in zip(*parts, strict=True)]


def dot(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(one * other for one, other in zip(first, second, strict=True)) % PRIME


def test_arithmetic_is_that_of_the_field() -> None:
    draw = np.random.default_rng(1)
    ends = np.array([0, 1, PRIME - 1, PRIME - 2, 2**31, 2**30 - 1, 2**60], np.uint64)
    rows = np.concatenate([draw.integers(0, PRIME, (3, 20), dtype=np.uint64), np.tile(ends, (3, 1))], axis=1)
    other = np.concatenate([draw.integers(0, PRIME, 20, dtype=np.uint64), ends[::-1]])
    assert proofs.inner_products(rows, other) == [dot(row, other.tolist()) for row in rows.tolist()]
    for one in ends.tolist():
        each = np.array([[one]] * len(ends), np.uint64)
        assert proofs.inner_products(each, ends[:, None]) == [one * end % PRIME for end in ends.tolist()]
    assert proofs.to_residues([-1, 0, 2**60, -(2**59)]).tolist() == [PRIME - 1, 0, 2**60, PRIME - 2**59]
    for distribution in (DISTRIBUTION, PATH):
        r = proofs.derive_coefficients(KEYS.keys[0], TASK, distribution.size)
        by_hand = [dot(r.tolist(), numbers_of([slot], distribution)) for slot in range(13)]
        assert distribution.compute_weights(r, np.arange(13)).tolist() == by_hand


def test_right_answers_are_read_also_of_some_reports(sides: Sides) -> None:
    counts = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=bool)
    for kept in (None, counts):
        halves = [each.prove_share(noise, kept) for each, noise in zip(sides.proving, sides.noise, strict=True)]
        exact = numbers_of(PLACES if kept is None else PLACES[kept], sides.distribution)
        for analyst in (0, 1):
            read(summed(exact, *sides.noise), halves, analyst)


def test_every_number_that_is_another_one_is_refused(sides: Sides) -> None:
    """Numbers of the answer, of masked noise with its hash, of the sum; also those equal modulo the prime or 2**64."""
    right = [each.prove_share(noise) for each, noise in zip(sides.proving, sides.noise, strict=True)]
    answer = summed(numbers_of(PLACES, sides.distribution), *sides.noise)
    read(answer, right)
    for place in range(sides.distribution.size):
        for more in (1, -1, 2**40, PRIME, -PRIME, 2**61):
            with pytest.raises(ProtocolError, match="^servers: the answer is not proved"):
                read([*answer[:place], answer[place] + more, *answer[place + 1 :]], right)
        wrong = list(right[1].masked_noise)
        wrong[place] = (wrong[place] + 1) % PRIME
        with pytest.raises(ProtocolError, match="^servers: the answer is not proved"):
            read(answer, [right[0], right[1]._replace(masked_noise=tuple(wrong))])
    with pytest.raises(ProtocolError, match="^servers: the answer is not proved"):
        read(answer, [right[0], right[1]._replace(sums=(right[1].sums[0], (right[1].sums[1] + 1) % PRIME))])
    with pytest.raises(ProtocolError, match="^servers: the answer is not proved"):
        read(answer, [right[0], right[1]._replace(sums=(right[1].sums[0], right[1].sums[1] + PRIME))])
    told = [half.proof_for_analyst(1) for half in right]
    with pytest.raises(ProtocolError, match="^servers: an answer share has other noise than its server announced"):
        proofs.require_proved_answer(KEYS.keys[1], TASK, answer, told, [right[0].hash, "00" * 32])
    with pytest.raises(ProtocolError, match="^servers: the answer is not proved"):
        read(answer, [right[0], sides.proving[1].prove_share(sides.noise[1], np.arange(8) != 2)])


@pytest.mark.parametrize("honest", [0, 1])
def test_what_a_server_sends_for_a_proof_follows_from_its_half_and_what_the_others_have(
    sides: Sides, honest: int
) -> None:
    """The other server, all owners but one, and the analysts work out the sum; masked noise is even for any noise."""
    own = sides.proving[honest].prove_share(sides.noise[honest])
    victim, size = 4, sides.distribution.size
    exact = numbers_of(
        [PLACES[victim]], sides.distribution
    )  # as the honest server's half shows it to them, with its noise
    seen = summed(exact, sides.noise[honest])
    for analyst, key in enumerate(KEYS.keys):
        r = proofs.derive_coefficients(key, TASK, size).tolist()

        def stream(party: int, report: int) -> list[int]:
            return list(map(int, proofs._derive_mask(TASK, sides.seeds[party][report], size + 2)))

        # Of all reports but the victim's they have both seeds; of the victim's their own, and the word.
        others = [report for report in range(len(PLACES)) if report != victim]
        known = [stream(honest, report) for report in others]
        masks, numbers = summed(*known)[:size], sum(each[size + analyst] for each in known)
        numbers += sum(sides.words[report][analyst] for report in others) if honest == 0 else 0
        theirs = stream(1 - honest, victim)
        masked = summed(own.masked_noise, masks)  # the noise less the victim's mask
        from_victim = dot(r, seen) - dot(r, masked) + dot(r, theirs[:size]) - theirs[size + analyst]
        from_victim -= sides.words[victim][analyst] if honest == 1 else 0
        assert (numbers + from_victim) % PRIME == own.sums[analyst]
    other = sides.proving[honest].prove_share([each + 1 for each in sides.noise[honest]])
    assert (np.array(other.masked_noise) - np.array(own.masked_noise)) % PRIME == pytest.approx(1)
    fresh = replace(sides.proving[honest], seeds=[bytes(16), *sides.proving[honest].seeds[1:]])
    moved = (np.array(fresh.prove_share(sides.noise[honest]).masked_noise) - np.array(own.masked_noise)) % PRIME
    assert len(set(moved.tolist())) == size  # each number is masked by one of its own


def test_keys_are_the_tasks_and_words_are_of_the_field() -> None:
    assert len({KEYS.secret, *KEYS.keys, *KEYS.hashes}) == 5
    encoding = TreeEncoding(12, PortableEngine.from_task(b"test"), 2, OwnerProver(TASK, DISTRIBUTION, KEYS.keys))
    share, _ = encoding.share_records(PLACES[:1], Randomness.from_seed(1))[0]
    at = encoding.public_size - 8
    encoding.require_shares(0, [share])
    with pytest.raises(ValueError, match="^shares: must hold proof words below"):
        encoding.require_shares(0, [share[:at] + PRIME.to_bytes(8, "little") + share[at + 8 :]])


# Counts below edges of a fine grid, by real shares and noise


AXIS, AT = Axis("x", dp.Grid(0, 1, cells=1000)), (10, 250, 251, 1000)
ENGINE = PortableEngine.from_task(b"test")
SLOTS = np.random.default_rng(5).integers(0, 1001, 40)


PLAN = FunctionShares().plan_query(
    PrefixQuery((AXIS,), AT), dp.PrivacyLoss.pure(1), dp.REPLACE_ONE.to_adjacency(EACH_RECORD, len(SLOTS))
)
FINE = ProvedEdges(PLAN.distribution.require_type(PathSums))
FINE_ENCODING = TreeEncoding(1000, ENGINE, 2, OwnerProver(TASK, FINE, KEYS.keys))
SHARES = tuple(zip(*FINE_ENCODING.share_records(SLOTS, Randomness.from_seed(1)), strict=True))
MORE = FINE_ENCODING.share_records(np.array([400]), Randomness.from_seed(2))[0]
"""A report that did not reach the other server."""
SECRETS = (b"noise of server 0" * 2, b"noise of server 1" * 2)


def half_of(party: int, shares: Sequence[bytes], secret: bytes) -> list[int]:
    keys, noise = FINE_ENCODING.parse_keys(party, shares), NoiseKey(secret)
    pairs = zip(SharedReports(keys, ENGINE, noise).sum_prefix_shares(AT), FINE.derive_noise(noise), strict=True)
    return [(share + noise) % 2**64 for share, noise in pairs]


def proof_of(party: int, shares: Sequence[bytes], secret: bytes, task: str = TASK) -> ShareProof:
    return ServerProver(task, party, *FINE_ENCODING.parse_words(shares)).prove_share(
        FINE.derive_noise(NoiseKey(secret))
    )


def lies_of(party: int) -> dict[str, tuple[list[int], ShareProof]]:
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
    bound, noises = [proof.hash for proof in told], [FINE.derive_noise(NoiseKey(secret)) for secret in SECRETS]
    counts = add_answer_shares(PLAN, halves)
    assert list(counts) == summed(numbers_of(SLOTS, FINE), *noises)
    read(counts, told)
    FINE.require_possible(counts, len(SLOTS))
    for lie, (half, proof) in lies_of(liar).items():
        halves[liar], told[liar] = half, proof
        sent = [each.proof_for_analyst(1) for each in told]
        print(lie)  # pytest shows it where it is read
        with pytest.raises(
            ProtocolError, match=r"^servers: (the answer is not proved|an answer share has other noise)"
        ):
            proofs.require_proved_answer(KEYS.keys[1], TASK, add_answer_shares(PLAN, halves), sent, bound)


def test_noise_that_a_server_was_bound_to_is_read_if_so_many_reports_can_give_the_numbers() -> None:
    """The distribution of the noise is not proved; bounds on possible numbers limit it."""
    noise = FINE.derive_noise(NoiseKey(SECRETS[1]))
    for more, is_possible in ((3, True), (10**6, False), (-(10**6), False)):
        half = [(number + more) % 2**64 for number in half_of(1, SHARES[1], SECRETS[1])]
        told = [
            proof_of(0, SHARES[0], SECRETS[0]),
            ServerProver(TASK, 1, *FINE_ENCODING.parse_words(SHARES[1])).prove_share([each + more for each in noise]),
        ]
        counts = add_answer_shares(PLAN, [half_of(0, SHARES[0], SECRETS[0]), half])
        read(counts, told)
        if is_possible:
            FINE.require_possible(counts, len(SLOTS))
            continue
        with pytest.raises(
            ProtocolError, match="^servers: the proved counts are impossible for this number of reports"
        ):
            FINE.require_possible(counts, len(SLOTS))
    cells = numbers_of(PLACES)[:-1]
    DISTRIBUTION.require_possible([*cells, 1], len(PLACES))
    for wrong in ([*cells[:-1], -200, 1], [*cells[:-1], 200, 1], [*cells, 200]):
        with pytest.raises(
            ProtocolError, match="^servers: the proved counts are impossible for this number of reports"
        ):
            DISTRIBUTION.require_possible(wrong, len(PLACES))


def test_whatever_is_asked_first_binds_the_other_server_to_its_noise(tmp_path: Path) -> None:
    """Also an answer that is not proved, which it could see, with the help of an analyst, before it chooses."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    Ledger.open(url)
    store = Store(url)
    store.create_task(TASK)
    proving = ServerProver(TASK, 0, *FINE_ENCODING.parse_words(SHARES[0]))
    own = AnswerProofs(proving, store, FINE, AT).prove_share(NoiseKey(SECRETS[0]))
    told = {"bound": "aa" * 32}
    assert own.add_to_share(AnswerShare((7,), 2), told, (30,), 0)[:3] == ((7,), 2, (own.share_proof.hash, "aa" * 32))
    assert own.add_to_share(AnswerShare((7,), 2), told, AT, 1).values == (7, *own.share_proof.proof_for_analyst(1))
    for wrong in ({"bound": "bb" * 32}, {}):
        for at in ((30,), AT):
            with pytest.raises(ProtocolError, match="^peer: the other server uses other noise than it announced"):
                own.add_to_share(AnswerShare((7,), 2), wrong, at, 0)


def test_a_count_below_another_edge_is_read_if_it_is_between_proved_ones_but_for_noise() -> None:
    listed = (5, 100, 101, 400)
    for threshold, low, high in ((3, (0, 0), (10, 5)), (11, (10, 5), (250, 100)), (700, (251, 101), (1000, 400))):
        least = low[1] - FINE.bound_noise_difference(low[0], threshold)
        most = high[1] + FINE.bound_noise_difference(threshold, high[0])
        for count in (ceil(least), floor(most)):
            FINE.require_between(listed, {threshold: count})
        for count in (ceil(least) - 1, floor(most) + 1):
            with pytest.raises(ProtocolError, match="^servers: a count is not between the proved counts"):
                FINE.require_between(listed, {threshold: count})


def test_noises_of_two_counts_differ_by_more_than_is_allowed_for_with_a_chance_below_that_said() -> None:
    """By the exact distribution of all blocks that two counts do not share, of both servers."""
    path = PATH.distribution.sum_over_parties(2)
    reach = np.arange(-200, 201)
    one = np.exp(-np.abs(reach)) * np.tanh(0.5)
    for low, high in combinations(range(13), 2):
        many = len(set(path.blocks_on_path(low)) ^ set(path.blocks_on_path(high)))
        distribution, most = np.ones(1), ProvedEdges(path).bound_noise_difference(low, high)
        for _ in range(2 * many):
            distribution = np.convolve(distribution, one)
        tail = distribution[len(distribution) // 2 + floor(most) + 1 :].sum()
        assert proofs.FALSE_BLAME_PROBABILITY / 2**12 < tail <= proofs.FALSE_BLAME_PROBABILITY


# Real servers


def lying(arguments: Sequence[str], log: str, environment: Mapping[str, str]) -> None:
    """Do what `dpcurves` does, but lie as a file beside the log says, with the server's own identity."""
    from dpcurves_parties.shares import aggregation
    from dpcurves_parties.shares.function_shares import make_answer_share

    how, right, made = Path(f"{log}.lies"), make_answer_share, ServerProver.prove_share

    def half(plan: Plan, *arguments: Any) -> tuple[int, ...]:
        first, *others = right(plan, *arguments)
        lie, is_proved = how.read_text(), len(plan.query.requested_slots) != 1
        more = int(lie) * (not is_proved) if lie.isdigit() else 7 * ("half" in lie)
        return (first + more) % 2**64, *others

    def proof(self: ServerProver, noise: Sequence[int], counts: Any = None) -> ShareProof:
        first, *others = noise
        return made(self, [first + 7 * ("noise" in how.read_text()), *others], counts)

    setattr(aggregation, "make_answer_share", half)  # noqa: B010
    setattr(ServerProver, "prove_share", proof)  # noqa: B010
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

    return Task.load(file)


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
        question = CdfQuestion("x", FINE_GRID, edges=(12_500, 50_000))
    analyst = pair.analyst(task, party)
    first = analyst.ask(question)
    if is_of_cells:
        assert np.allclose(first.unbiased_counts, np.histogram(X, GRID.edges)[0], rtol=0, atol=1e-9)
    else:
        assert (np.abs(first.rounds[0].values - np.array([(t > X).sum() for t in (0.125, 0.5, 1)])) < 20).all()
        assert analyst.dropped == 7
    lies = [
        ("half", "^servers: the answer is not proved"),
        (
            "noise",
            "^(peer: the other server uses other noise than it announced|servers: an answer share has other noise)",
        ),
        (
            "half and noise",
            "^(peer: the other server uses other noise than it announced|servers: (an answer share|the answer shares))",
        ),
    ]
    for lie, line in lies if is_of_cells else lies[:2]:
        again(pair, lie)
        with pytest.raises(ProtocolError, match=line):
            pair.analyst(task, party).ask(question)
        if lie == "half":
            document = ["--task", str(pair.folder / f"{name}.json"), "--ticket", str(pair.file(task, "analyst-1"))]
            asked = ["histogram"] if is_of_cells else ["cdf", "--cut-points", "0.125,0.5"]
            for more in ((), ("--unproved",)):
                result = RUN.invoke(application(), ["ask", *asked, *document, *more])
                assert (result.exit_code == 0) == bool(more), result.output
            assert "doubt: the answer is not proved" in result.stdout
            assert "Proved:" not in result.stdout
    again(pair, "")
    assert pair.analyst(task, party).ask(question).to_json() == first.to_json()


def test_below_edges_that_are_not_proved_a_lie_is_read_only_between_those_next_to_it(pair: Federation) -> None:
    task, question = pair.tasks["thresholds"], CdfQuestion("x", FINE_GRID, edges=(30_000,))
    assert task.proved_at == task.checked_at == (12_500, 25_000, 50_000, 75_000, 100_000)
    right = pair.analyst(task).ask(question).rounds[0].values[0]
    assert abs(right - (X < 0.3).sum()) < 20
    document = ["--task", str(pair.folder / "thresholds.json"), "--ticket", str(pair.file(task, "analyst-1"))]
    result = RUN.invoke(application(), ["ask", "quantiles", "--probabilities", "0.5", *document])
    assert result.exit_code == 0, result.output
    assert "Proved: counts below 5 edges are those of these reports" in result.stdout
    lies = pair.folder / "log1.lies"
    lies.write_text("7")
    assert pair.analyst(task).ask(question).rounds[0].values[0] == right + 7
    lies.write_text("150")
    with pytest.raises(ProtocolError, match="^servers: a count is not between the proved counts"):
        pair.analyst(task).ask(question)
    lies.write_text("")


def test_a_ticket_without_the_tasks_key_sends_and_reads_nothing(pair: Federation) -> None:
    task = pair.tasks["cells"]
    with pytest.raises(ProtocolError, match="^ticket: holds another key for proofs of answers than the task"):
        task.make_owner_encoding("")
    with pytest.raises(ProtocolError, match="^ticket: holds another key for proofs of answers than the task"):
        task.make_owner_encoding("00" * 32)
    file = pair.file(task, "analyst-1")
    file.write_text(re.sub(r'"proof_key": "[0-9a-f]+"', '"proof_key": ""', file.read_text()))
    with pytest.raises(ProtocolError, match="^ticket: holds another key for proofs of answers than the task"):
        pair.analyst(task)
