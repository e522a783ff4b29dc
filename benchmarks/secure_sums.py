"""Measure secure sums, each figure beside its mark: the protocol by itself, its noise, and sites as real processes.

Usage: python benchmarks/secure_sums.py [--only protocol | memory | noise | processes]

The protocol runs in one process; processor seconds are those of one site. Processes talk over loopback, each with a
table, a key and a ledger of its own: of one round the seconds of a clock, which grow where the machine has other work,
and the processor seconds of a site, the coordinator and the analyst, which do not; and the clock seconds that two cores
would need for all of them, if they had nothing else to do. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "sites"))
from federated import Federated

import dpcurves as dp
from dpcurves.data import Axis, Grid
from dpcurves.distributions import Noise, NoisySums
from dpcurves.mechanisms.auto import LINEAR_CHOICE
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse
from dpcurves.records import open_records, tabulate
from dpcurves_sites.remote import RoundRequest
from dpcurves_sites.secure_sum import (
    KEYS,
    MASKED,
    OPENED,
    SHARES,
    SIGNED,
    Roster,
    RoundMessages,
    Signer,
    SumRound,
    mask_vector,
    simulate_round,
    sum_vectors,
)
from dpcurves_sites.trust import SecureSum, build_release, derive_round

SIZES = [
    (3, 1, 1024, None), (10, 3, 65_536, 60), (64, 3, 1024, None), (64, 3, 65_536, None), (100, 10, 1024, None),
    (16, 3, 2**20, 160),
]  # fmt: skip
HEAD, NEIGHBOUR = 4096, 100
"""Marks of the bytes of an upload beside the vector."""
RUNS = 200
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")
ONE = PrivacyLoss.pure(1)


def made(sites: int, tolerated: int, words: int) -> tuple[SumRound, list[Signer]]:
    """A round with fresh keys."""
    keys = [Ed25519PrivateKey.generate() for _ in range(sites)]
    roster = Roster(bytes(32), tuple(key.public_key().public_bytes_raw() for key in keys), tolerated)
    return SumRound(roster, 1, bytes(32), words), [Signer(number, key) for number, key in enumerate(keys)]


def protocol(sites: int, tolerated: int, words: int, mark: int | None, silent: Mapping[int, int] | None = None) -> None:
    """Print what one round costs: seconds of a processor by site and for the sum, and bytes beside the vector."""
    sum_round, signers = made(sites, tolerated, words)
    source = Randomness.from_system()
    vectors = [source.sample_words(words) for _ in signers]
    start = process_time()
    messages, _ = simulate_round(sum_round, signers, vectors, source, silent)
    middle = process_time()
    found = sum_vectors(sum_round, messages)
    end = process_time()
    exact = found.tolist() == sum(vectors).tolist()  # type: ignore[union-attr]
    beside = sum(len(one) for stage in messages for one in stage) / sites - 8 * words
    degree = sum_round.roster.degree
    print(
        f"{sites:5} {tolerated:3} {words:9,} {degree:6} {len(silent or ()):7} {1000 * (middle - start) / sites:9.1f}"
        f" {mark or '':>5} {1000 * (end - middle):9.1f} {beside:9.0f} {HEAD + NEIGHBOUR * degree:6,} {exact!s:>6}"
    )


def show_protocol() -> None:
    print("One round, all sites in one process; milliseconds of a processor, and bytes beside 8 for each word:")
    print("sites   c     words degree  failed ms a site  mark    ms sum  bytes +   mark  exact")
    for sites, tolerated, words, mark in SIZES:
        protocol(sites, tolerated, words, mark)
    protocol(10, 3, 65_536, 60, {0: SIGNED, 4: SIGNED, 9: SIGNED})


def show_memory() -> None:
    """Print what masking one long vector costs a site, and the memory that its process had, in a process of its own."""
    sites, words = 16, 2**20
    sum_round, signers = made(sites, 3, words)
    source = Randomness.from_system()
    messages, states = simulate_round(sum_round, signers, [], source, dict.fromkeys(range(sites), MASKED))
    vector = source.sample_words(words)
    start = process_time()
    mask_vector(sum_round, signers[0], states[0], messages.shares, vector)
    spent, most = process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{sites} sites, {words:,} words: {1000 * spent:.0f} ms of masks a site (mark 160), "
        f"{most:.0f} MiB resident (mark 200)"
    )


# Noise: its size, and that there is nothing else.


def noise(model: SecureSum, loss: PrivacyLoss) -> None:
    """Print the standard deviation of the noise of all shares, measured over many sums, against the plan."""
    adjacency = AddRemove(EACH_RECORD)
    query = CountQuery((Axis("x", Grid(0, 1, cells=1024)),), CountUse.CELLS)
    plan, curator = model.plan_query(query, loss, adjacency), LINEAR_CHOICE.plan(query, loss, adjacency)
    drawn: Noise = plan.distribution.require_type(NoisySums).noises[0][0]  # type: ignore[type-abstract]
    source = Randomness.from_system()
    start = process_time()
    sums = sum(model.sample_noise_share(drawn, RUNS * 1024, source) for _ in range(model.sites))
    spent = (process_time() - start) / model.sites / RUNS / 1024
    print(
        f"{model.sites:5} {model.collusion_threshold:3} {loss!s:>12} {plan.error / curator.error:9.4f}"
        f" {np.std(sums) / plan.error:9.4f} {1e9 * spent:9.0f}"
    )


def show_noise() -> None:
    print(f"Noise of {RUNS} sums of 1,024 cells: planned over a curator's, measured over planned (mark 0.95 to 1.05):")
    print("sites   c         loss     price  measured  ns a share")
    for shape in ((3, 1), (10, 3), (64, 3)):
        for asked in (PrivacyLoss.pure("0.5"), PrivacyLoss.zcdp("0.002")):
            noise(SecureSum(*shape), asked)
    print(
        f"With noise off, exactly the integers of one curator: {exactly_a_curators(SecureSum(10, 3), 1024)} (mark True)"
    )


def exactly_a_curators(model: SecureSum, cells: int) -> bool:
    """Compare the sum of sites that add no noise with one curator's counts of all records."""
    chance = np.random.default_rng(5)
    query = CountQuery((Axis("x", Grid(0, 1, cells=cells)),), CountUse.CELLS)
    plan = model.plan_query(query, ONE, AddRemove(EACH_RECORD))
    tables = [chance.random(500) for _ in range(model.sites)]
    silent = _Silent(model.sites, model.collusion_threshold)
    source, unused = Randomness.from_system(), _no_memory()
    parts = [silent.build_vector(plan, _records(table), unused, source) for table in tables]
    summed = np.sum(parts, axis=0, dtype=np.uint64).view(np.int64)
    return np.array_equal(summed, np.asarray(tabulate(_records(np.concatenate(tables)), query)).ravel())


class _Silent(SecureSum):
    """Sites without noise: they protect nobody."""

    def sample_noise_share(self, noise: Noise, size: int, randomness: Randomness) -> Any:
        return np.zeros(size, dtype=np.int64)


def _records(values: Any) -> Any:
    return open_records({"x": values}, unit=EACH_RECORD, key=bytes(32))


def _no_memory() -> Any:
    return None


# Sites as processes.


def show_processes() -> None:
    print(f"Sites as processes; one round, the median of {ROUNDS}, in seconds of a clock and of a processor:")
    print("sites   c  what                                    clock  mark  two cores  a site  coordinator  analyst")
    ten = SecureSum(10, 3)
    with federated(ten) as federation:
        usual = time_rounds(federation, 65_536, "2")
        before_and_after_deaths(federation, 65_536, usual)
        three_turns(federation)
    with federated(SecureSum(64, 3)) as federation:
        time_rounds(federation, 1024, "5")  # all 64 ledgers lie on one disk here, which each transaction waits for


def federated(model: SecureSum) -> Federated:
    """Start all sites, and wait for their signatures. Ages are whole years: a curve of them takes three rounds."""
    chance = np.random.default_rng(7)
    tables = {
        number: "age\n" + "\n".join(map(str, np.clip(chance.normal(45, 15, 3000), 0, 99).astype(int))) + "\n"
        for number in range(model.sites)
    }
    folder = Path(tempfile.mkdtemp())
    federation = Federated(folder, model, patience=300, tables=tables).all()
    federation.wait(lambda: "listens" in federation.log("hub"), "the start")
    federation.wait(lambda: len(federation.signed()) == model.sites, "the signing")
    return federation


def time_rounds(federation: Federated, cells: int, mark: str) -> float:
    """Print what a round takes, once records are open."""
    time_one_round(federation, cells)
    before = processors(federation)
    found = [time_one_round(federation, cells) for _ in range(ROUNDS)]
    after = processors(federation)
    spent = {name: (after[name] - before[name]) / ROUNDS for name in before}
    site = median(each for name, each in spent.items() if name != "hub")
    least = (sum(spent.values()) + middle(found)[1]) / 2
    show(
        federation.model, f"{cells:,} cells, a round", middle(found), mark,
        f"{least:12.2f} {site:7.3f} {spent['hub']:12.3f}",
    )  # fmt: skip
    return middle(found)[0]


def before_and_after_deaths(federation: Federated, cells: int, usual: float) -> None:
    """Print what a round takes in which three sites die when their vectors are sent, beside one of which none does."""
    dying = (1, 4, 7)
    for number in dying:
        federation.kill(f"s{number}")
        federation.site(number)
    federation.wait(lambda: all(federation.log(f"s{n}").count("waiting for questions") >= 2 for n in dying), "a return")
    time_one_round(federation, cells)  # records are opened in the first
    for number in dying:
        federation.trouble(number, f"after {MASKED}")
    seconds = time_one_round(federation, cells)
    for number in dying:
        federation.died(number)
        federation.running.pop(f"s{number}").join()
        federation.site(number)
    federation.wait(lambda: all(federation.log(f"s{n}").count("waiting for questions") >= 3 for n in dying), "a return")
    show(federation.model, f"{cells:,} cells, 3 killed after masks", seconds, f"{3 * usual:.1f}")


def three_turns(federation: Federated) -> None:
    """Print what a whole curve takes."""
    found = []
    with federation.analyst() as analyst:
        for _ in range(ROUNDS):
            start, own = monotonic(), process_time()
            curve = analyst.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=4096)), ONE)
            found.append((monotonic() - start, process_time() - own))
    show(federation.model, f"4,096 cells, a CDF in {len(curve.rounds)} rounds", middle(found), "8")


def middle(found: list[tuple[float, float]]) -> tuple[float, float]:
    """Medians of seconds."""
    return median(clock for clock, _ in found), median(own for _, own in found)


def time_one_round(federation: Federated, cells: int) -> tuple[float, float]:
    """Seconds of a clock, and of this processor, until the sum of a question with one round is open."""
    question, name = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=cells)), secrets.token_hex(8)
    task = federation.task
    with federation.analyst() as analyst:
        start, own = monotonic(), process_time()
        asked = RoundRequest(question, ONE, name, ())
        plan, allotment = asked.plan_round(task)
        line: Any = analyst._line
        sum_round = line.post("asks", asked.to_signed_bytes(task, analyst._key)).decode()
        sent = [line.collect_messages(sum_round, stage) for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED)]
        build_release(plan, derive_round(task.terms.roster, plan, allotment), RoundMessages(*sent), allotment)
        return monotonic() - start, process_time() - own


def processors(federation: Federated) -> dict[str, float]:
    """Processor seconds of each process until now."""
    found = {}
    for name, process in federation.running.items():
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        found[name] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def show(model: SecureSum, what: str, seconds: tuple[float, float], mark: str, others: str = "") -> None:
    clock, own = seconds
    print(
        f"{model.sites:5} {model.collusion_threshold:3}  {what:38} {clock:6.2f} {mark:>5} {others:33} {own:8.3f}",
        flush=True,
    )


PARTS: dict[str, Callable[[], None]] = {
    "protocol": show_protocol, "memory": show_memory, "noise": show_noise, "processes": show_processes,
}  # fmt: skip


def main() -> None:
    """Each part in a process of its own, or one of them here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    if only is not None:
        PARTS[only]()
        return
    for name in PARTS:
        subprocess.run([sys.executable, __file__, "--only", name], check=True)


if __name__ == "__main__":
    main()
