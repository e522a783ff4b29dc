"""SECRET. Reproducible noise: derived from a secret key and the name of a count, so that no noise needs to be stored.

    noise of a count = sample(distribution; random bits = stream of key and name)

`NoiseKey.derive_path_noise` and `NoiseKey.derive_sum_noise` take a distribution, and return integers. The name has all
fields of the noise distribution, and the block of counts. The stream is ChaCha20 under the HMAC-SHA256 of the name
(`Randomness.from_key`). A server that crashes after a release derives the same noise again, so no count is ever shown
with two noises. Another distribution or loss has another name; another set of reports has another key.

Formal guarantees: without the secret, noises of different names are indistinguishable from independent draws, because
HMAC-SHA256 and ChaCha20 are pseudo-random functions; equal names give equal noise. See `NoiseKey`.

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
"""Version of the derivation of noise from keys, part of the derivation's input. Any change of a noise, here or in a
sampler, needs another number, which changes all noise."""


class NoiseKey:
    """SECRET: a key from which a share holder derives its noise. It has no repr.

    A share holder does not know the noisy sums, so it cannot store them; it derives equal noise again instead. Two
    releases of different counts with the same noise would reveal the difference of the counts. So each set of reports
    has a key of its own, and dropping reports changes the key.

    Formal guarantees: for everyone without the secret, the noises of different blocks of a path, and all values of a
    release of sums, are indistinguishable from independent draws of one party's noise (see `Randomness.from_key`). So
    for a computationally bounded observer, exact counts plus these noises are the answers of `LazyTree`, or one run of
    `LinearMechanism`. All answers of a path together lose the loss of the plan of `path_distribution`, for any choice
    of thresholds. The same secret under another distribution or loss gives other noises.

    Args:
        secret: The key, 32 bytes.
    """

    __slots__ = ("_drawn", "_secret")

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._drawn: dict[str, int] = {}

    def derive_path_noise(self, distribution: PathSums, thresholds: Sequence[int]) -> list[int]:
        """SECRET: return one party's noise of the counts below some thresholds (binary tree).

        The noise of a count is the sum of the noises of the blocks of cells on its path in the tree.

        Args:
            distribution: Distribution of the noise of the tree.
            thresholds: Numbers of cells whose total is counted.

        Returns:
            One integer per threshold.
        """
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
        """SECRET: return one party's noise of all values of a release.

        Args:
            distribution: Distribution of the noise of the values.

        Returns:
            One integer for each value, in the order of the release.
        """
        stream = Randomness.from_key(self._secret, f"noise sums {_encode_distribution(distribution)}")
        return [
            noise
            for distribution_noise, size in distribution.noises
            for noise in sample_noise(distribution_noise, size, stream).tolist()
        ]

    def _derive_block_noise(self, distribution: PathSums, facts: str, block: Block) -> int:
        """SECRET: return one party's noise of one block (tree node), from the cache or derived from the secret key.

        Args:
            distribution: Distribution of the noise of the tree.
            facts: The distribution's fields as text, part of the name from which the noise is derived.
            block: Level and index of the block.
        """
        name = f"noise path {facts} {block[0]} {block[1]}"
        noise = self._drawn.get(name)
        if noise is None:  # another thread may clear the cache at any time
            noise = self._drawn[name] = int(
                sample_noise(distribution.noise, 1, Randomness.from_key(self._secret, name))[0]
            )
        return noise


def format_noise_distribution(distribution: CountDistribution) -> str:
    """Return the name under which noises are derived. Different distributions have different names.

    Args:
        distribution: Distribution of the noise.
    """
    return f"noise format {NOISE_FORMAT} {_encode_distribution(distribution)}"


def _encode_distribution(distribution: CountDistribution) -> str:
    """Return all fields of a noise distribution as JSON, without the requested counts. Equal texts give equal noise."""
    facts = {
        name: fact for name, fact in distribution.to_json((), None).items() if name != "at"
    }  # the requested counts
    return json.dumps(facts, sort_keys=True)
