"""Two parties, two processes, TLS on loopback: noisy comparisons and their sum by garbled circuits, beside targets.

`python benchmarks/pairs_garbling.py` takes some two minutes; with --quick, a tenth of the pairs. Seconds of the
processor are those of both parties together, imports and compiling left out; bytes are those of one pair, both ways,
without what TLS adds. `pairs_peers.py` runs other programs that do the same.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import socket
import ssl
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from command_line import is_quick

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import supported_lanes
from dpcurves_parties.crypto.circuits import SymbolicInteger, mux, trace_circuit
from dpcurves_parties.crypto.garbling import reconstruct_bits
from dpcurves_parties.crypto.oblivious_transfer import IKNP_LEVELS, SOFTSPOKEN_LEVELS
from dpcurves_parties.crypto.two_party import (
    FinalStep,
    InputOwner,
    Job,
    evaluate,
    evaluate_one,
    garble,
    garble_one,
    run_both_parties,
)
from dpcurves_parties.pairs import Connection, run_protocol
from dpcurves_parties.pairs.noise_circuits import BinaryResponse
from dpcurves_parties.serving.identity import CERTIFICATE_FILE, TLS_KEY_FILE, Identity

HOST = "127.0.0.1"
BITS = 32
NOISE = BinaryResponse(Fraction(1))
MIB = 2**20


def noisy_comparison() -> Job:
    def kernel(x: SymbolicInteger, y: SymbolicInteger, coin: SymbolicInteger) -> SymbolicInteger:
        return (x < y) ^ (coin < NOISE.flip_numerator)

    owners = InputOwner.GARBLER, InputOwner.EVALUATOR, InputOwner.COIN
    return Job(b"benchmark", trace_circuit(kernel, BITS, BITS, NOISE.random_width), owners, 1)


def noisy_sum(count: int) -> Job:
    """Comparisons of people whose numbers two servers share; the sum has a geometric number of coins as noise."""
    plain = Job(
        b"benchmark", trace_circuit(lambda x, y: x < y, BITS, BITS), (InputOwner.SHARED, InputOwner.SHARED), count
    )
    ending = trace_circuit(
        lambda total, coin, sign: total + mux(sign, coin & 255, -(coin & 255)), plain.total_width, 8, 1
    )
    return replace(plain, final_step=FinalStep(ending, (InputOwner.COIN, InputOwner.COIN)))


@dataclass(frozen=True)
class Work:
    """What both processes do."""

    job: Job
    folder: str
    seed: int = 7

    def values(self, party: int) -> list[Any]:
        drawn = np.random.default_rng(self.seed + party).integers(0, 2**BITS, (2, self.job.count), dtype=np.uint64)
        own = InputOwner.GARBLER, InputOwner.EVALUATOR
        return [
            drawn[place] if owner in (own[party], InputOwner.SHARED) else None
            for place, owner in enumerate(self.job.owners)
        ]

    def endings(self) -> list[None]:
        return [None] * len(self.job.final_step.owners) if self.job.final_step else []

    def context(self, party: int) -> ssl.SSLContext:
        made = ssl.SSLContext((ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)[party])
        own, other = Identity.load(Path(self.folder, str(party))), Identity.load(Path(self.folder, str(1 - party)))
        made.load_cert_chain(own.folder / CERTIFICATE_FILE, own.folder / TLS_KEY_FILE)
        made.load_verify_locations(cadata=other.public.certificate)
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        made.verify_mode = ssl.CERT_REQUIRED
        return made


def party(number: int, work: Work, pipe: Pipe) -> None:
    """One process: a short session first, so that loops are compiled, then the one that counts."""
    act = (garble, evaluate)[number]
    context, raw = work.context(number), _socket(number, pipe)
    connection = Connection.from_socket(raw, context, HOST)
    for job in (replace(work.job, count=100, final_step=None), work.job):
        one = replace(work, job=job)
        values, endings = one.values(number), one.endings()
        before, started, spent = connection.sent_bytes, perf_counter(), process_time()
        shares = run_protocol(act(job, values, Randomness.from_system(), endings), connection)
        found = process_time() - spent, perf_counter() - started, connection.sent_bytes - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send((*found, memory, shares))


def _socket(number: int, pipe: Pipe) -> socket.socket:
    if number:
        return socket.create_connection((HOST, pipe.recv()))
    with socket.create_server((HOST, 0)) as listening:
        pipe.send(listening.getsockname()[1])
        return listening.accept()[0]


@dataclass(frozen=True)
class Found:
    cpu: float
    wall: float
    bytes: int
    memory: float
    shares: list[Any]


def measured(job: Job, jit: bool = True) -> Found:
    """Both processes at work."""
    os.environ["NUMBA_DISABLE_JIT"] = "0" if jit else "1"
    spawning = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for number in (0, 1):
            Identity.create(Path(folder, str(number)), f"https://{HOST}:{8701 + number}")
        pipes = [spawning.Pipe() for _ in (0, 1)]
        work = Work(job, folder)
        running = [spawning.Process(target=party, args=(number, work, pipes[number][1])) for number in (0, 1)]
        for each in running:
            each.start()
        pipes[1][0].send(pipes[0][0].recv())
        results = [pipe.recv() for pipe, _ in pipes]
        for each in running:
            each.join()
    cpu, wall, sent, memory, shares = zip(*results, strict=True)
    return Found(sum(cpu), max(wall), sum(sent), max(memory), reconstruct_bits(*shares))


def comparisons(count: int) -> None:
    ands = noisy_comparison().circuit.and_count
    print(f"{count} noisy comparisons of {BITS} bits, {ands} ANDs each: seconds of both processors, bytes of each pair")
    print(f"{'':32}{'seconds':>9}{'wanted':>8}{'wall':>8}{'bytes':>8}{'wanted':>8}{'ones':>10}")
    rows = [("fast, IKNP", IKNP_LEVELS, True, 1.3, 2310), ("fast, SoftSpoken", SOFTSPOKEN_LEVELS, True, 1.3, 1750),
            ("portable, SoftSpoken", SOFTSPOKEN_LEVELS, False, 4.0, 1750)]  # fmt: skip
    for name, levels, jit, seconds, size in rows:
        if jit and not supported_lanes():
            continue
        job = replace(noisy_comparison(), count=count, tree_levels=levels)
        found = measured(job, jit)
        print(
            f"{name:32}{found.cpu * 1e5 / count:9.2f}{seconds:8.1f}{found.wall:8.2f}{found.bytes / count:8.0f}{size:8}"
            f"{found.shares[0].mean():10.4f}"
        )


def sums(count: int) -> None:
    print(f"\nThe noisy sum of {count} comparisons of shared numbers, two servers")
    print(f"{'':32}{'seconds':>9}{'wall':>8}{'wanted':>8}{'MiB':>8}{'wanted':>8}")
    found = measured(noisy_sum(count))
    print(f"{'':32}{found.cpu:9.1f}{found.wall:8.1f}{25 * count / 1e6:8.1f}{found.memory:8.0f}{1024:8}")


def counted(talk: Generator[Any, Any, Any], cost: list[float], sizes: list[int]) -> Generator[Any, Any, Any]:
    """The talk, with what it costs the processor and what it sends."""
    send: Any = partial(next, talk)
    while True:
        started = process_time()
        try:
            message = send()
        except StopIteration as end:
            return end.value
        finally:
            cost[0] += process_time() - started
        if message is not None:
            sizes.append(len(message))
        send = partial(talk.send, (yield message))


def small_sessions() -> None:
    print("\nMilliseconds of the processor, the median of 15, and bytes in all")
    job, source = noisy_comparison(), Randomness.from_system()
    rows: list[tuple[str, Any, str]] = [
        ("start of a session, both", (garble, evaluate), "60 ms"),
        ("two people, one pair", (garble_one, evaluate_one), "10 ms each, 5,500 bytes"),
    ]
    for name, acts, wanted in rows:
        costs, sizes = [], []
        for seed in range(15):
            spent: list[list[float]] = [[0.0], [0.0]]
            sizes = []
            values = [Work(job, "", seed).values(number) for number in (0, 1)]
            talks = [counted(act(job, values[n], source), spent[n], sizes) for n, act in enumerate(acts)]
            run_both_parties(*talks)
            costs.append([cost[0] * 1000 for cost in spent])
        one, other = np.median(costs, axis=0)
        print(f"{name:32}{one:9.1f}{other:8.1f}{sum(sizes):8}   wanted: {wanted}")


def main() -> None:
    size = 10_000 if is_quick(__doc__) else 100_000
    small_sessions()
    print()
    comparisons(size)
    sums(10 * size)


if __name__ == "__main__":
    main()
