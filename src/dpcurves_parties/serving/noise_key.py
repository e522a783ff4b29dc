"""SECRET. Noise derived from a secret key and the name of the count to which it is added: nothing is stored.

    noise of a count = sample(distribution; random bits = stream of key and name)
    name             = the fields of the distribution, and the block

The stream is ChaCha20 under the HMAC-SHA256 of the name (`Randomness.from_key`). So a server that crashes after a
release derives the same noise again, and the same count is never shown with two noises; another distribution, loss or
set of reports has other names or another key.

Formal guarantees: without the secret, noises of different names are indistinguishable from independent draws; equal
names give equal noise. See `NoiseKey`.

>>> from fractions import Fraction
>>> from dpcurves.distributions import Family, IntervalSums, Noise, Tier
>>> distribution = IntervalSums(1, 4, (Tier(range(4), Noise(Family.LAPLACE, Fraction(2))),), missing=None)
>>> NoiseKey(b"0" * 32).derive_sum_noise(distribution) == NoiseKey(b"0" * 32).derive_sum_noise(distribution)
True
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpcurves.distributions import Block, CountDistribution, NoisySums, PathSums
from dpcurves.mechanisms.linear import sample_noise
from dpcurves.noise.randomness import Randomness

NOISE_FORMAT = 1
"""Version of the derivation of noise from keys. Any change of a noise, here or in a sampler, needs another number."""


class NoiseKey:
    """SECRET: the key from which a holder of shares derives its noise. It has no repr.

    A share holder does not know the noisy sums and cannot store them, so it derives equal noise again. Two releases of
    different counts with the same noise reveal the difference of the counts, so each set of reports has a key of its
    own: if reports are dropped, the remaining set has another key.

    Formal guarantees: for everyone without the secret, the noises of different blocks of a path, and all values under a
    distribution of sums, are indistinguishable from independent draws of one party's noise; they are equal whenever
    they are derived again (see `Randomness.from_key`). So exact counts plus these noises are, for a computationally
    bounded observer, the answers of `LazyTree` (all together they lose the loss of the plan of `path_distribution`, for
    any choice of thresholds) or one run of `LinearMechanism`. The stream depends on the distribution, too: the same
    secret under another distribution or loss gives other noises.
    """

    __slots__ = ("_drawn", "_secret")

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._drawn: dict[str, int] = {}

    def derive_path_noise(self, distribution: PathSums, thresholds: Sequence[int]) -> list[int]:
        """SECRET: for each count in `thresholds`, return the sum of one party's noises of the blocks on its path."""
        # 2**18: noises in the cache at most; it is emptied beyond, and noises are derived again
        if len(self._drawn) > 2**18:
            self._drawn.clear()  # evicted noises are derived again, with equal values
        noise = distribution.noise
        facts = f"{distribution.cells} {distribution.levels} {noise.family.name} {noise.parameter}"
        noises = []
        for threshold in thresholds:
            path = distribution.blocks_on_path(threshold)
            noises.append(sum(self._derive_block_noise(distribution, facts, block) for block in path))
        return noises

    def derive_sum_noise(self, distribution: NoisySums) -> list[int]:
        """SECRET: return one party's noise of each value, in the order of the distribution."""
        stream = Randomness.from_key(self._secret, f"noise sums {_encode_distribution(distribution)}")
        return [
            noise
            for distribution_noise, size in distribution.noises
            for noise in sample_noise(distribution_noise, size, stream).tolist()
        ]

    def _derive_block_noise(self, distribution: PathSums, facts: str, block: Block) -> int:
        """SECRET: return one party's noise of one block, from the cache or derived from the key."""
        name = f"noise path {facts} {block[0]} {block[1]}"
        noise = self._drawn.get(name)
        if noise is None:  # another thread may clear the cache at any time
            noise = self._drawn[name] = int(
                sample_noise(distribution.noise, 1, Randomness.from_key(self._secret, name))[0]
            )
        return noise


def format_noise_distribution(distribution: CountDistribution) -> str:
    """Return the name under which noises are derived: one name must not pay for two different noises."""
    return f"noise format {NOISE_FORMAT} {_encode_distribution(distribution)}"


def _encode_distribution(distribution: CountDistribution) -> str:
    """Return all fields of a noise distribution as JSON, without the requested counts: equal texts give equal noise."""
    facts = {
        name: fact for name, fact in distribution.to_json((), None).items() if name != "at"
    }  # the requested counts
    return json.dumps(facts, sort_keys=True)
