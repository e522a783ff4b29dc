"""Measure secure sums: the protocol in one process, by site; and the variance of what comes out over a curator's.

Usage: python benchmarks/secure_sums.py
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from time import process_time

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dpcurves.data import Axis, Grid
from dpcurves.laws import Noise, NoisySums
from dpcurves.mechanisms.auto import LINEAR
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import CountQuery, Read
from dpcurves_sites.secure_sum import SIGNED, Roster, Signer, Turn, story, total
from dpcurves_sites.trust import SecureSum

SIZES = [(3, 1, 1024), (10, 3, 65_536), (64, 3, 1024), (64, 3, 65_536), (100, 10, 1024), (16, 3, 2**20)]
RUNS = 200


def protocol(sites: int, tolerated: int, words: int, silent: Mapping[int, int] | None = None) -> None:
    """Print what one turn costs: seconds of a processor by site and for the sum, and bytes beside the vector."""
    keys = [Ed25519PrivateKey.generate() for _ in range(sites)]
    roster = Roster(bytes(32), tuple(key.public_key().public_bytes_raw() for key in keys), tolerated)
    turn, source = Turn(roster, 1, bytes(32), words), Randomness.system()
    vectors = [source.words(words) for _ in keys]
    start = process_time()
    messages, _ = story(turn, [Signer(number, key) for number, key in enumerate(keys)], vectors, source, silent)
    middle = process_time()
    found = total(turn, messages)
    end = process_time()
    exact = found.tolist() == sum(vectors).tolist()  # type: ignore[union-attr]
    beside = sum(len(one) for stage in messages for one in stage) / sites - 8 * words
    print(
        f"{sites:5} {tolerated:3} {words:9,} {roster.degree:6} {len(silent or ()):7}"
        f" {1000 * (middle - start) / sites:9.1f} {1000 * (end - middle):9.1f} {beside:9.0f} {exact!s:>6}"
    )


def noise(model: SecureSum, loss: PrivacyLoss) -> None:
    """Print the standard deviation of the noise of all shares, measured over many sums, against the plan."""
    adjacency = AddRemove(EACH_RECORD)
    query = CountQuery((Axis("x", Grid(0, 1, cells=1024)),), Read.CELLS)
    plan, curator = model.turn(query, loss, adjacency), LINEAR.plan(query, loss, adjacency)
    drawn: Noise = plan.law.required(NoisySums).noises[0][0]  # type: ignore[type-abstract]
    source = Randomness.system()
    start = process_time()
    sums = sum(model.share(drawn, RUNS * 1024, source) for _ in range(model.sites))
    spent = (process_time() - start) / model.sites / RUNS / 1024
    print(
        f"{model.sites:5} {model.tolerated:3} {loss!s:>12} {plan.error / curator.error:9.4f}"
        f" {np.std(sums) / plan.error:9.4f} {1e9 * spent:9.0f}"
    )


if __name__ == "__main__":
    print("One turn, all sites in one process; milliseconds of a processor:")
    print("sites   c     words degree  failed ms a site    ms sum  bytes +  exact")
    for size in SIZES:
        protocol(*size)
    protocol(10, 3, 65_536, {0: SIGNED, 4: SIGNED, 9: SIGNED})
    print(
        f"largest resident set: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB, all sites in one"
    )
    print("Noise: planned over a curator's, measured over planned, nanoseconds a share:")
    print("sites   c         loss     price  measured        ns")
    for shape in ((3, 1), (10, 3), (64, 3)):
        for asked in (PrivacyLoss.pure("0.5"), PrivacyLoss.zcdp("0.002")):
            noise(SecureSum(*shape), asked)
