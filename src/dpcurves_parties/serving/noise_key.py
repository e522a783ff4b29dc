"""SECRET. Noise derived from a secret key and the name of the count to which it is added: nothing is stored.

    noise of a count = sample(law; random bits = stream of key and name)        name: the law's fields, and the block

The stream is ChaCha20 under the HMAC-SHA256 of the name (`Randomness.from_key`). So a server that crashes after a
release derives the same noise again, and the same count is never shown with two noises; another law, loss or set of
reports has other names or another key.

Formal guarantees: without the secret, noises of different names are indistinguishable from independent draws; equal
names give equal noise. See `NoiseKey`.

>>> from fractions import Fraction
>>> from dpcurves.laws import Family, IntervalSums, Noise, Tier
>>> law = IntervalSums(1, 4, (Tier(range(4), Noise(Family.LAPLACE, Fraction(2))),), missing=None)
>>> NoiseKey(b"0" * 32).derive_sum_noise(law) == NoiseKey(b"0" * 32).derive_sum_noise(law)
True
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpcurves.laws import Block, CountLaw, NoisySums, PathSums
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
    law of sums, are indistinguishable from independent draws of one party's noise; they are equal whenever they are
    derived again (see `Randomness.from_key`). So exact counts plus these noises are, for a computationally bounded
    observer, the answers of `LazyTree` (all together they lose the loss of the plan of `path_law`, for any choice of
    thresholds) or one run of `LinearMechanism`. The stream depends on the law, too: the same secret under another law
    or loss gives other noises.
    """

    __slots__ = ("_drawn", "_secret")

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._drawn: dict[str, int] = {}

    def derive_path_noise(self, law: PathSums, thresholds: Sequence[int]) -> list[int]:
        """SECRET: for each count in `thresholds`, return the sum of one party's noises of the blocks on its path."""
        # 2**18: noises in the cache at most; it is emptied beyond, and noises are derived again
        if len(self._drawn) > 2**18:
            self._drawn.clear()  # evicted noises are derived again, with equal values
        facts = f"{law.cells} {law.levels} {law.noise.family.name} {law.noise.parameter}"
        noises = []
        for threshold in thresholds:
            path = law.blocks_on_path(threshold)
            noises.append(sum(self._derive_block_noise(law, facts, block) for block in path))
        return noises

    def derive_sum_noise(self, law: NoisySums) -> list[int]:
        """SECRET: return one party's noise of each value, in the order of the law."""
        stream = Randomness.from_key(self._secret, f"noise sums {_encode_law(law)}")
        return [noise for law_noise, size in law.noises for noise in sample_noise(law_noise, size, stream).tolist()]

    def _derive_block_noise(self, law: PathSums, facts: str, block: Block) -> int:
        """SECRET: return one party's noise of one block, from the cache or derived from the key."""
        name = f"noise path {facts} {block[0]} {block[1]}"
        noise = self._drawn.get(name)
        if noise is None:  # another thread may clear the cache at any time
            noise = self._drawn[name] = int(sample_noise(law.noise, 1, Randomness.from_key(self._secret, name))[0])
        return noise


def format_noise_law(law: CountLaw) -> str:
    """Return the name under which noises are derived: one name must not pay for two different noises."""
    return f"noise format {NOISE_FORMAT} {_encode_law(law)}"


def _encode_law(law: CountLaw) -> str:
    """Return all fields of a noise law as JSON, without the requested counts: equal texts give equal noise."""
    facts = {name: fact for name, fact in law.to_json((), None).items() if name != "at"}  # the requested counts
    return json.dumps(facts, sort_keys=True)
