"""SECRET. Noise that is drawn from a secret key and the name of what it is added to: nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpcurves.laws import Block, CountLaw, NoisySums, PathSums
from dpcurves.mechanisms.linear import sample_noise
from dpcurves.noise.randomness import Randomness

MOST_KEPT = 2**18
"""Noises that are kept at hand; there may be many more."""
FORMAT = 1
"""The way in which a key gives noises. Whatever changes one of them, here or in a sampler, needs another number."""


class NoiseKey:
    """SECRET: what a party that holds a share of the counts draws its noise from. It has no repr.

    For who can not remember noisy sums, for it knows none. The same noise on other counts shows how they differ, so
    what it is added to must not change by any record that is to be protected: where reports are dropped, those that are
    left have a key of their own.

    Formal guarantees: noises of different blocks of a path, and all values under a law of sums, look like independent
    draws of one party's noise to whoever does not have the secret, and are the same whenever they are asked for (see
    `Randomness.from_key`). So exact counts plus these noises are, to a computationally bounded observer, the answers of
    `LazyTree` (all of them together lose what `path_law` says, however thresholds are chosen) or one run of `LinearMechanism`.
    The stream belongs to the law too: the same secret under another law or loss has other noises.
    """

    __slots__ = ("_drawn", "_secret")

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._drawn: dict[str, int] = {}

    def derive_path_noise(self, law: PathSums, at: Sequence[int]) -> list[int]:
        """SECRET: for each count in `at`, the sum of the noises of the blocks on its path, of one party's."""
        if len(self._drawn) > MOST_KEPT:
            self._drawn.clear()  # they are drawn again, the same
        facts = f"{law.cells} {law.levels} {law.noise.family.name} {law.noise.parameter}"
        return [
            sum(self._derive_block_noise(law, facts, block) for block in law.blocks_on_path(threshold))
            for threshold in at
        ]

    def derive_sum_noise(self, law: NoisySums) -> list[int]:
        """SECRET: the noise of each value, in the order of the law, of one party's."""
        stream = Randomness.from_key(self._secret, f"noise sums {_encode_law(law)}")
        return [noise for each, size in law.noises for noise in sample_noise(each, size, stream).tolist()]

    def _derive_block_noise(self, law: PathSums, facts: str, block: Block) -> int:
        name = f"noise path {facts} {block[0]} {block[1]}"
        noise = self._drawn.get(name)
        if noise is None:  # another thread may let go of all that is kept, at any time
            noise = self._drawn[name] = int(sample_noise(law.noise, 1, Randomness.from_key(self._secret, name))[0])
        return noise


def format_noise_law(law: CountLaw) -> str:
    """The name under which noises are drawn from a key: a payer of one name must not draw under another."""
    return f"noise format {FORMAT} {_encode_law(law)}"


def _encode_law(law: CountLaw) -> str:
    facts = {name: fact for name, fact in law.to_json((), None).items() if name != "at"}  # which counts are asked
    return json.dumps(facts, sort_keys=True)
