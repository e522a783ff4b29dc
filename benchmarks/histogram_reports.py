"""Checked reports of all cells in both encodings, in one run on one core: a tree of seeds, and Prio3Histogram.

`python benchmarks/histogram_reports.py` prints, for grids of 8 to 4,096 cells, microseconds of the processor for each
report (its owner; one server, which verifies it and adds it up), bytes that an owner sends to both servers, and bytes
that a server says to the other one; then what Prio3Histogram costs over the tree. With --quick, fewer grids.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
from command_line import is_quick

from dpcurves.noise import Randomness
from dpcurves_parties.crypto import select_engine
from dpcurves_parties.crypto.prio3 import Prio3Histogram
from dpcurves_parties.crypto.prio3.histogram import NONCE_SIZE, RANDOM_SIZE
from dpcurves_parties.shares.shared_records import CheckedReports, CheckedTreeEncoding

SYSTEM = Randomness.from_system()
KEY = bytes(range(32))
ROUNDS = 3
VALUES = 2**17
SEALED = 48
"""Bytes that sealing adds to a share."""


def least(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = process_time()
        work()
        best = min(best, process_time() - started)
    return best


def of_tree(cells: int, places: np.ndarray) -> tuple[float, float, int, int]:
    """Seconds of the owner and of a server, bytes to both servers and between them."""
    encoding = CheckedTreeEncoding(cells, select_engine(KEY))
    shares = encoding.share_records(places, SYSTEM)
    made = least(lambda: encoding.share_records(places, SYSTEM))
    first = [share for share, _ in shares]

    def verify() -> None:
        reports = CheckedReports(encoding.parse_checked_keys(0, first), encoding.engine, KEY)
        found = reports.evaluate_thresholds(range(1, cells + 1))
        found.find_accepted(found.digests)

    return made, least(verify), 2 * (encoding.size + SEALED), 16


def of_histogram(cells: int, places: np.ndarray) -> tuple[float, float, int, int]:
    """Costs as in `of_tree`; for a server, the mean of both."""
    scheme = Prio3Histogram.with_smallest_reports(cells + 1, KEY)
    nonces = [SYSTEM.random_bytes(NONCE_SIZE) for _ in places]

    def share() -> object:
        return scheme.shard(places, nonces, [SYSTEM.random_bytes(RANDOM_SIZE) for _ in places])

    shares, made = scheme.shard(places, nonces, [SYSTEM.random_bytes(RANDOM_SIZE) for _ in places]), least(share)

    def verify() -> None:
        both = [scheme.verify_init(party, shares.public, shares.inputs[party], nonces, KEY) for party in (0, 1)]
        for one, other in (both, both[::-1]):
            assert one.find_accepted(other.messages).all()
            one.sums()

    sizes = sum(scheme.PUBLIC_SIZE + scheme.input_size(party) + SEALED for party in (0, 1))
    return made, least(verify) / 2, sizes, scheme.message_size


def main(quick: bool) -> None:
    print(f"{'':>6}  {'owner, us':>17}  {'server, us':>17}  {'bytes sent':>17}  {'bytes between':>15}")
    print(
        f"{'cells':>6}  "
        + "  ".join(["    tree    Prio3"] * 3)
        + "    tree    Prio3   over the tree: owner, server, sent"
    )
    for cells in (8, 64, 256) if quick else (2**power for power in range(3, 13)):
        count = max(16, min(1000, VALUES // cells))
        places = np.random.default_rng(1).integers(0, cells + 1, count)
        both = [work(cells, places) for work in (of_tree, of_histogram)]
        numbers = [[1e6 * each[0] / count, 1e6 * each[1] / count, each[2], each[3]] for each in both]
        told = "  ".join(f"{tree:8.0f} {prio:8.0f}" for tree, prio in zip(*numbers, strict=True))
        ratios = [prio / tree for tree, prio in zip(*numbers, strict=True)][:3]
        print(f"{cells:>6}  {told}   " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


if __name__ == "__main__":
    main(is_quick(__doc__))
