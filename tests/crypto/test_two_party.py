"""Two parties get shares of what a circuit says; any message that is not the next one ends it, and tells nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import Circuit, join_bits, trace_circuit
from dpcurves_parties.crypto.garbling import reconstruct_bits
from dpcurves_parties.crypto.two_party import (
    FinalStep,
    InputOwner,
    Job,
    MessageAuthenticator,
    evaluate,
    evaluate_one,
    garble,
    garble_one,
    run_both_parties,
)

pytest.importorskip("rbcl")
Numbers = NDArray[np.uint64]
G, E, SHARED, COIN = InputOwner.GARBLER, InputOwner.EVALUATOR, InputOwner.SHARED, InputOwner.COIN
Pair = tuple[Generator[Any, Any, Any], Generator[Any, Any, Any]]


def source(seed: int) -> Randomness:
    return Randomness.from_seed(seed)


def drawn(count: int, bits: int, seed: int) -> Numbers:
    return np.random.default_rng(seed).integers(0, 2**bits, count, dtype=np.uint64)


def results(circuit: Circuit, both: tuple[Any, Any]) -> list[NDArray[Any]]:
    wires, found = iter(reconstruct_bits(*both)), []
    for number in circuit.outputs:
        found.append(join_bits([next(wires) for _ in number.wires], number))
    return found


@pytest.mark.parametrize("count", [1, 5, 300])
@pytest.mark.parametrize("levels", [1, 4])
def test_shares_of_both_parties_open_to_what_the_circuit_says_of_all_owners(count: int, levels: int) -> None:
    circuit = trace_circuit(lambda x, y, z: (abs(x - y) + z, x < y), 8, 8, 4)
    job = Job(b"test", circuit, (G, E, SHARED), count, tree_levels=levels, chunk_size=128)
    x, y, one, other = drawn(count, 8, 1), drawn(count, 8, 2), drawn(count, 4, 3), drawn(count, 4, 4)
    both = run_both_parties(garble(job, [x, None, one], source(1)), evaluate(job, [None, y, other], source(2)))
    distance, less = results(circuit, both)
    x, y = x.astype(np.int64), y.astype(np.int64)
    assert np.array_equal(distance, abs(x - y) + (one ^ other).astype(np.int64))
    assert np.array_equal(less, x < y)


def test_one_pair_of_people_needs_three_messages() -> None:
    circuit = trace_circuit(lambda x, y, z: (abs(x - y) + z, x < y), 8, 8, 4)
    job = Job(b"test", circuit, (G, E, SHARED), 1)
    for seed in range(8):
        x, y, one, other = (drawn(1, bits, 10 * seed + bits) for bits in (8, 7, 4, 3))
        sizes: list[int] = []
        talks = (
            listened(garble_one(job, [x, None, one], source(seed)), sizes),
            listened(evaluate_one(job, [None, y, other], source(seed + 50)), sizes),
        )
        distance, less = results(circuit, run_both_parties(*talks))
        assert (int(distance[0]), int(less[0])) == (abs(int(x[0]) - int(y[0])) + int(one[0] ^ other[0]), x[0] < y[0])
        assert len(sizes) == 3


def listened(talk: Generator[Any, Any, Any], sizes: list[int]) -> Generator[Any, Any, Any]:
    message = next(talk)
    try:
        while True:
            if message is not None:
                sizes.append(len(message))
            message = talk.send((yield message))
    except StopIteration as end:
        return end.value


def test_a_sum_of_all_instances_is_told_with_its_noise_alone() -> None:
    """Differences with signs; the ending subtracts what keeps them positive, and adds a share of noise."""
    count, circuit = 1000, trace_circuit(lambda x, y: x - y, 6, 6)
    job = Job(b"sum", circuit, (SHARED, E), count, chunk_size=300)
    ending = trace_circuit(lambda total, noise: total - job.total_offset + noise, job.total_width, 5)
    job = Job(b"sum", circuit, (SHARED, E), count, FinalStep(ending, (SHARED,)), chunk_size=300)
    one, other, y, noise = drawn(count, 6, 1), drawn(count, 6, 2), drawn(count, 6, 3), drawn(2, 5, 4)
    both = run_both_parties(
        garble(job, [one, None], source(1), [noise[:1]]), evaluate(job, [other, y], source(2), [noise[1:]])
    )
    (total,) = results(ending, both)
    assert total[0] == int((one ^ other).sum()) - int(y.sum()) + int(noise[0] ^ noise[1])


def test_coins_are_even_and_unknown_to_either_party() -> None:
    """Each share of ones among 2,000 is outside 0.5 +- 0.045 with a chance below 6.4e-5 (4 sigma)."""
    circuit = trace_circuit(lambda coin: coin, 3)
    job = Job(b"coins", circuit, (COIN,), 2000)
    both = run_both_parties(garble(job, [None], source(1)), evaluate(job, [None], source(2)))
    (found,) = results(circuit, both)
    for bits in [*both[0], *both[1], *((found >> place & 1).astype(bool) for place in range(3))]:
        assert abs(bits.mean() - 0.5) < 4 * 0.5 / np.sqrt(2000)
    again = run_both_parties(garble(job, [None], source(1)), evaluate(job, [None], source(3)))
    assert (results(circuit, again)[0] != found).mean() > 0.8


def test_shares_are_even_whatever_the_inputs_are() -> None:
    """The wire is always 1; its shares, 2,000 of them, fail with a chance below 6.4e-5 (4 sigma)."""
    circuit = trace_circuit(lambda x, y: (x & y) == 0, 4, 4)
    job = Job(b"even", circuit, (G, E), 2000)
    zeros = np.zeros(2000, np.uint64)
    both = run_both_parties(garble(job, [zeros, None], source(1)), evaluate(job, [None, zeros], source(2)))
    assert results(circuit, both)[0].all()
    assert abs(both[0][0].mean() - 0.5) < 4 * 0.5 / np.sqrt(2000)


SECRET = np.full(5, 0xABCD1234, np.uint64)


def session(job: Job, seed: int) -> Pair:
    return garble(job, [SECRET, None], source(seed)), evaluate(job, [None, SECRET], source(seed + 1))


def one_pair(job: Job, seed: int) -> Pair:
    return garble_one(job, [SECRET[:1], None], source(seed)), evaluate_one(job, [None, SECRET[:1]], source(seed + 1))


def messages(pair: Pair) -> list[tuple[int, bytes]]:
    """All that is said, and by whom: the garbler is 0."""
    said: list[tuple[int, bytes]] = []

    def kept(talk: Generator[Any, Any, Any], number: int) -> Generator[Any, Any, Any]:
        message = next(talk)
        try:
            while True:
                if message is not None:
                    said.append((number, message))
                message = talk.send((yield message))
        except StopIteration as end:
            return end.value

    run_both_parties(kept(pair[0], 0), kept(pair[1], 1))
    return said


def heard(talk: Generator[Any, Any, Any], inbox: Iterator[bytes]) -> None:
    """One party alone, given these messages."""
    message = next(talk)
    while True:
        message = talk.send(b"" if message is not None else next(inbox))


def flipped(message: bytes, place: int) -> bytes:
    changed = bytearray(message)
    changed[place % len(message)] ^= 1 << place % 8
    return bytes(changed)


@pytest.mark.parametrize("kind", [session, one_pair])
def test_every_message_that_is_not_the_next_one_aborts_in_one_line_without_a_share(
    kind: Callable[[Job, int], Pair], caplog: pytest.LogCaptureFixture
) -> None:
    """Flipped bits, cut and longer messages, replays, another order, messages of other sessions and of other jobs."""
    caplog.set_level(logging.DEBUG)
    circuit, count = trace_circuit(lambda x, y: x < y, 32, 32), 5 if kind is session else 1
    job, other = (Job(name, circuit, (G, E), count, chunk_size=3) for name in (b"one", b"other"))
    said, again, foreign = messages(kind(job, 1)), messages(kind(job, 77)), messages(kind(other, 1))
    tried = 0
    for party in (0, 1):
        inbox = [message for who, message in said if who != party]
        rivals = [[message for who, message in talk if who != party] for talk in (again, foreign)]
        own = [message for who, message in said if who == party]
        for place, message in enumerate(inbox):
            wrong = [flipped(message, bit) for bit in (0, 13, len(message) // 2, len(message) - 1)]
            wrong += [message[:-1], message[1:], message + b"\0", b"", *inbox[:place], *inbox[place + 1 :], *own]
            wrong += [
                rival[place] for rival in rivals
            ]  # a first one is answered, and the next one is not of its session
            for each in wrong:
                tried += 1
                with pytest.raises(ProtocolError) as error:
                    heard(kind(job, 1)[party], iter([*inbox[:place], each, *inbox[place + 1 :]]))
                line = str(error.value)
                assert "\n" not in line
                assert not any(word in line.lower() for word in ("abcd1234", "2882343476"))
                assert len(line) < 100
    assert tried > 30
    assert not caplog.records


def test_parties_with_other_jobs_do_not_understand_each_other() -> None:
    circuit = trace_circuit(lambda x, y: x < y, 32, 32)
    jobs = [
        Job(b"one", circuit, (G, E), 5), Job(b"two", circuit, (G, E), 5), Job(b"one", circuit, (G, SHARED), 5),
        Job(b"one", circuit, (G, E), 6), Job(b"one", trace_circuit(lambda x, y: y < x, 32, 32), (G, E), 5),
    ]  # fmt: skip
    assert len({job.digest for job in jobs}) == 5
    with pytest.raises(ProtocolError, match="must be the other party's next message of this session"):
        run_both_parties(session(jobs[0], 1)[0], session(jobs[1], 1)[1])


def test_offsets_labels_and_nonces_are_new_in_each_session() -> None:
    job = Job(b"one", trace_circuit(lambda x, y: x < y, 32, 32), (G, E), 5)
    first, second = messages(session(job, 1)), messages(session(job, 2))
    for (_, one), (_, other) in zip(first, second, strict=True):
        assert one != other
    assert messages(session(job, 1)) == first


def test_parties_that_bring_too_much_or_too_little_are_refused_without_a_value() -> None:
    circuit = trace_circuit(lambda x, y: x < y, 32, 32)
    job = Job(b"one", circuit, (G, E), 5)
    wrong: list[tuple[Any, str]] = [
        ([SECRET], "a list of 2 arrays"), ([SECRET, SECRET], "pass None for those of owner evaluator"),
        ([None, None], "pass None for those of owner garbler"),
        ([SECRET[:4], None], "arrays of 5 values"), ([SECRET << np.uint64(8), None], r"below 2\*\*32"),
    ]  # fmt: skip
    for values, match in wrong:
        with pytest.raises(ValueError, match=match) as error:
            run_both_parties(garble(job, values, source(1)), evaluate(job, [None, SECRET], source(2)))
        assert str(int(SECRET[0])) not in str(error.value)
    with pytest.raises(ValueError, match="a single instance"):
        next(garble_one(job, [SECRET, None], source(1)))
    with pytest.raises(ValueError, match="must have a first input of 3 bits"):
        Job(b"one", circuit, (G, E), 5, FinalStep(trace_circuit(lambda total: total, 2), ()))
    with pytest.raises(ValueError, match="both wait for a message of the other"):
        run_both_parties(garble(job, [SECRET, None], source(1)), garble(job, [SECRET, None], source(1)))


def test_what_holds_secrets_shows_none() -> None:
    frames = MessageAuthenticator(b"digest", 0)
    assert "digest" not in repr(frames)
