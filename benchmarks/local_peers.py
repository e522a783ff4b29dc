"""Errors of frequencies in the local model, and time, beside `pure-ldp` and `multi-freq-ldpy` at equal epsilon.

`python benchmarks/local_peers.py [--people N] [--releases N]`. Both are no part of this project: `pip install pure-ldp
scikit-learn statsmodels multi-freq-ldpy "xxhash<3.5" bitarray` in an environment beside it; what is missing is skipped
with one line. For k of 2, 16, 64 and 1,024 answers and epsilon of 0.5, 1 and 4: the mean squared error of all counts
per person and answer, over N releases, with its standard error. Beside each peer stands ours of the same kind and the
best of ours with reports of at most 64 octets (which is the default) and of any length; and whether the best is at most
the peer within 4 standard errors. `multi-freq-ldpy` sets counts below zero to zero and scales the others to the number
of people, so the same is then done with ours. Microseconds are those of a report, one by one there, in a batch here.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpcurves.noise.randomness import Randomness
from dpcurves_local.responses import (
    HadamardResponse,
    KaryRandomisedResponse,
    Randomiser,
    SubsetSelection,
    UnaryEncoding,
    choose_randomiser,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ANSWERS = 2, 16, 64, 1024
EPSILONS = Fraction(1, 2), Fraction(1), Fraction(4)
COLUMNS = (
    "oracle", "k", "epsilon", "theirs", "same kind", "ours to 64 octets", "best of ours", "by", "at most", "us theirs",
    "us ours",
)  # fmt: skip
OURS_MORE = 5
"""How many times as many releases ours has: it is quick, and its own error should not blur the comparison."""


@dataclass(frozen=True)
class Peer:
    """Somebody else's oracle.

    Attributes:
        name: What it is called.
        kind: Ours of the same kind; None: there is none.
        counts: From values, the number of answers and epsilon to estimated counts, and seconds on devices.
        clipped: Whether counts below zero are set to zero, and the others scaled.
    """

    name: str
    kind: type[Randomiser] | None
    counts: Callable[[IntArray, int, float], tuple[FloatArray, float]]
    clipped: bool


def main() -> None:
    """Print one table for each package that is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--releases", type=int, default=10)
    given, console, found = parser.parse_args(), Console(width=160), 0
    for package, made in (("pure-ldp", pure_ldp), ("multi-freq-ldpy", multi_freq_ldpy)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peers = made()
        except ImportError as missing:
            console.print(f"Skipped: {package} is not installed, or lacks {missing.name}")
            continue
        found += 1
        console.print(compared(package, peers, given.people, given.releases))
    if not found:
        console.print("Nothing to compare with.")


def compared(package: str, peers: list[Peer], people: int, releases: int) -> Table:
    """A row for each oracle, number of answers and epsilon."""
    table = Table(title=f"{package}: squared error per person and answer, {people} people, {releases} releases")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for peer in peers:
        for answers in ANSWERS:
            for epsilon in EPSILONS:
                table.add_row(*row(peer, answers, epsilon, people, releases))
    return table


def row(peer: Peer, answers: int, epsilon: Fraction, people: int, releases: int) -> Iterator[str]:
    """One comparison."""
    theirs, seconds = [], 0.0
    for seed in range(releases):
        values = drawn(answers, people, seed)
        counts, spent = peer.counts(values, answers, float(epsilon))
        theirs.append(error(counts, values, answers))
        seconds += spent
    best = choose_randomiser(answers, epsilon, max_octets=2**10)
    same = None if peer.kind is None else ours(peer.kind(answers, epsilon), people, releases, peer.clipped)
    usual = ours(choose_randomiser(answers, epsilon), people, releases, peer.clipped)
    found = ours(best, people, releases, peer.clipped)
    reach = 4 * np.hypot(mean(theirs)[1], found[1])
    yield from (
        peer.name,
        str(answers),
        f"{float(epsilon):g}",
        said(*mean(theirs)),
        "-" if same is None else said(*same[:2]),
    )
    yield from (said(*usual[:2]), said(*found[:2]), best.NAME, "yes" if found[0] <= mean(theirs)[0] + reach else "NO")
    yield from (f"{seconds / releases / people * 1e6:.2f}", f"{found[2]:.2f}")


def ours(way: Randomiser, people: int, releases: int, clipped: bool) -> tuple[float, float, float]:
    """The error of ours, its standard error, and microseconds of a report."""
    errors, spent = [], 0.0
    for seed in range(OURS_MORE * releases):
        values = drawn(way.answers, people, seed)
        start = process_time()
        reports = way.draw(values, Randomness.from_system())
        spent += process_time() - start
        counts = (way.count_support(reports) - people * float(way.support.p_other)) / float(way.support.gain)
        errors.append(error(scaled(counts, people) if clipped else counts, values, way.answers))
    return (*mean(errors), spent / len(errors) / people * 1e6)


def scaled(counts: FloatArray, people: int) -> FloatArray:
    """Counts as they are made there: at least zero, and scaled to add up."""
    kept = np.maximum(counts, 0.0)
    return np.asarray(kept * people / max(float(kept.sum()), 1.0))


def drawn(answers: int, people: int, seed: int) -> IntArray:
    """Answers of people, the first ones more frequent."""
    chance = np.random.default_rng([seed, answers])
    return np.minimum((chance.beta(1, 3, people) * answers).astype(np.int64), answers - 1)


def error(counts: FloatArray, values: IntArray, answers: int) -> float:
    """The mean squared error of all counts, per person."""
    exact = np.bincount(values, minlength=answers)
    return float(np.square(counts - exact).mean() / len(values))


def mean(errors: list[float]) -> tuple[float, float]:
    """The mean, and its standard error."""
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / len(errors) ** 0.5)


def said(value: float, sigma: float) -> str:
    """Both as text."""
    return f"{value:.3f} ± {sigma:.3f}"


def pure_ldp() -> list[Peer]:
    """Hadamard mechanism and response, unary encoding and local hashing. Values are numbered from 1 there."""
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def run(client: Any, server: Any, values: IntArray, answers: int) -> tuple[FloatArray, float]:
        start = process_time()
        reports = [client.privatise(int(value) + 1) for value in values]
        spent = process_time() - start
        for report in reports:
            server.aggregate(report)
        counts = [server.estimate(answer + 1, suppress_warnings=True) for answer in range(answers)]
        return np.array(counts, dtype=np.float64), spent

    def hadamard(values: IntArray, answers: int, epsilon: float) -> tuple[FloatArray, float]:
        return run(HadamardMechClient(epsilon, answers, 1), HadamardMechServer(epsilon, answers, 1), values, answers)

    def response(values: IntArray, answers: int, epsilon: float) -> tuple[FloatArray, float]:
        server = HadamardResponseServer(epsilon, answers)
        return run(HadamardResponseClient(epsilon, answers, server.get_hash_funcs()), server, values, answers)

    def unary(values: IntArray, answers: int, epsilon: float) -> tuple[FloatArray, float]:
        return run(UEClient(epsilon, answers, use_oue=True), UEServer(epsilon, answers, use_oue=True), values, answers)

    def hashing(values: IntArray, answers: int, epsilon: float) -> tuple[FloatArray, float]:
        return run(LHClient(epsilon, answers, use_olh=True), LHServer(epsilon, answers, use_olh=True), values, answers)

    return [
        Peer("Hadamard, one bit", HadamardResponse, hadamard, False), Peer("Hadamard response", None, response, False),
        Peer("unary", UnaryEncoding, unary, False), Peer("local hashing", None, hashing, False),
    ]  # fmt: skip


def multi_freq_ldpy() -> list[Peer]:
    """K-ary response, unary encoding, subset selection and local hashing."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    def oracle(client: Any, read: Callable[[Any, int, float], Any]) -> Callable[..., tuple[FloatArray, float]]:
        def counts(values: IntArray, answers: int, epsilon: float) -> tuple[FloatArray, float]:
            client(0, answers, epsilon)  # compiled before it is timed
            start = process_time()
            reports = [client(int(value), answers, epsilon) for value in values]
            spent = process_time() - start
            return len(values) * np.asarray(read(reports, answers, epsilon), dtype=np.float64), spent

        return counts

    return [
        Peer("k-ary", KaryRandomisedResponse, oracle(GRR_Client, GRR_Aggregator_MI), True),
        Peer(
            "unary",
            UnaryEncoding,
            oracle(UE_Client, lambda reports, _, epsilon: UE_Aggregator_MI(reports, epsilon)),
            True,
        ),
        Peer("subset", SubsetSelection, oracle(SS_Client, SS_Aggregator_MI), True),
        Peer("local hashing", None, oracle(LH_Client, LH_Aggregator_MI), True),
    ]


if __name__ == "__main__":
    main()
