"""Views of parties: every change of a record that a small protocol can have, and bits of messages with real coins.

`python benchmarks/views.py [--only PART ...] [--runs N]`. Parts: people, servers, counts, cut, bits. Couplings are
exact: for other values there are other coins with the same answer and the same view, byte for byte. Bits are counted
where hashes are real ones. Minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "audit")]

from coupling import Expansion, played  # noqa: E402
from protocols import SEED, Village  # noqa: E402
from test_views_of_people import people_seen  # noqa: E402
from test_views_of_servers import VALUES, counting, counts_seen, pairing, pairs_seen  # noqa: E402

from dpcurves.noise import Randomness  # noqa: E402
from dpcurves_parties.crypto.two_party import InputOwner, Job, evaluate, evaluate_one, garble, garble_one  # noqa: E402
from dpcurves_parties.pairs.mechanisms import NoisePlacement  # noqa: E402
from dpcurves_parties.pairs.session import TaskPairs  # noqa: E402
from dpcurves_parties.shares.function_shares import Owners  # noqa: E402
from dpcurves_parties.shares.task import CountKind  # noqa: E402

FALSE_ALARMS = 1e-3


def people() -> int:
    """Two and three people, each of whom is anybody else."""
    held = 0
    for number in (2, 3):
        with TemporaryDirectory() as folder:
            village = Village(Path(folder), people=number)
            tables = list(product(VALUES, repeat=number))
            for old in tables if number == 2 else tables[::13]:
                held += people_seen(village, old, range(number), VALUES)
    return held


def servers() -> int:
    """Pairs of two and three people, by two servers, with noise in each answer and on their sum."""
    held = 0
    for noise, number in product(NoisePlacement, (2, 3)):
        with TemporaryDirectory() as folder:
            made, tables = pairing(Path(folder), noise, number), list(product(VALUES, repeat=number))
            for old in tables[:: 3 if number == 2 else 13]:
                held += pairs_seen(made, np.array(old), VALUES, (0, 1))
    return held


def counts() -> int:
    """Counts of two and three reports, checked and not, of cells and below edges."""
    held = 0
    for owners, counted, number in product(Owners, CountKind, (2, 3)):
        expansion = Expansion()
        with TemporaryDirectory() as folder, expansion.run():
            made = counting(Path(folder), owners, counted, cells=3)
            for old in list(product(range(4), repeat=number))[:: 2 if number == 2 else 7]:
                held += counts_seen(made, expansion, np.array(old), range(4), (0, 1))
    return held


def cut() -> int:
    """Sessions that are cut off after any message, once or twice, and gone on with."""
    held = 0
    for noise in NoisePlacement:
        with TemporaryDirectory() as folder:
            made = pairing(Path(folder), noise, 2)
            for first, second in [*((each, None) for each in range(1, 9)), *product((3, 6, 7), repeat=2)]:
                made.cuts = {0: first} if second is None else {0: first, 1: second}
                held += pairs_seen(made, np.array([(0, 1), (1, 0)]), VALUES, (0, 1), asks=3)
    return held


def bits(runs: int) -> None:
    """Print how far bits of a party's messages are from those of other values, with hashes as they are."""
    print(f"{'messages':<28}{'bits':>10}{'runs':>8}{'largest z':>11}{'alarm at':>10}")
    with TemporaryDirectory() as folder, TemporaryDirectory() as other:
        village = Village(Path(folder))
        one = village.agreement.build_job(village.agreement.meetings[0])
        sums = TaskPairs(pairing(Path(other), NoisePlacement.ON_SUM, 2).task, 2, SEED).build_job(b"bits")
    for name, job in (("two people", one), ("two servers", sums)):
        for changed in (0, 1):
            both = [np.array([_heard(job, changed, value) for _ in range(runs)]) for value in (0, 1)]
            ones = [np.unpackbits(each, axis=1).sum(axis=0, dtype=np.int64) for each in both]
            rate = (ones[0] + ones[1]) / (2 * runs)
            spread = np.sqrt(np.maximum(rate * (1 - rate), 1 / (2 * runs)) * 2 / runs)
            largest = float((np.abs(ones[0] - ones[1]) / runs / spread).max())
            limit = float(norm.isf(FALSE_ALARMS / 2 / len(rate)))
            told = f"{f'{name}, to party {1 - changed}':<28}{len(rate):>10,}{runs:>8}{largest:>11.2f}{limit:>10.2f}"
            print(told + ("  DIFFERENT" if largest > limit else ""), flush=True)


def _heard(job: Job, changed: int, value: int) -> NDArray[np.uint8]:
    """View of a party when all values of the other one are this bit, and its own are 0."""
    chance = Randomness.from_system()
    given: list[list[NDArray[np.uint64] | None]] = [[], []]
    for place, (owner, width) in enumerate(zip(job.owners, job.circuit.inputs, strict=True)):
        number = np.array([chance.sample_below(2**width)], np.uint64)
        told = np.array([value], np.uint64) if width == 1 and place % (len(job.owners) // 2) < COLUMNS else number
        for party, role in enumerate((InputOwner.GARBLER, InputOwner.EVALUATOR)):
            if owner is InputOwner.SHARED:
                given[party].append(number if party != changed else number ^ np.uint64(value))
            else:
                given[party].append(None if owner is not role else told if party == changed else number)
    source = Randomness(chance.random_bytes, is_seeded=False)
    if job.final_step is None:
        run = played((garble_one(job, given[0], source), evaluate_one(job, given[1], source)))
    else:
        none: list[NDArray[np.uint64] | None] = [None] * len(job.final_step.owners)
        run = played((garble(job, given[0], source, none), evaluate(job, given[1], source, none)))
    return np.frombuffer(b"".join(run.to(1 - changed)), np.uint8)


COLUMNS = 2
PARTS = {"people": people, "servers": servers, "counts": counts, "cut": cut}


def main() -> None:
    """Print all numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*PARTS, "bits"], nargs="*", default=[*PARTS, "bits"], help="some parts")
    parser.add_argument("--runs", type=int, default=400, help="runs for each value whose bits are counted")
    given = parser.parse_args()
    for name, part in PARTS.items():
        if name in given.only:
            begun = time.process_time()
            held = part()
            print(f"{name:<10}{held:>7,} changes of a record, each seen the same by all others; "
                  f"{time.process_time() - begun:.0f} CPU seconds", flush=True)  # fmt: skip
    if "bits" in given.only:
        bits(given.runs)


if __name__ == "__main__":
    main()
