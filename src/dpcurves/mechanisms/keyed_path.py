"""The noises on the path of a threshold, drawn from a secret key and the name of each block: nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence

from ..noise.randomness import Randomness
from ..release import Block, PathNoise
from .linear import draws


def keyed_noises(law: PathNoise, secret: bytes, at: Sequence[int]) -> list[int]:
    """SECRET: for each count in `at`, the sum of the noises of the blocks on its path, of one party's.

    For who holds a share of the counts, and can not remember noisy sums, for it knows none. What it adds noise to must
    never change: the same noise on other counts would show how they differ.

    Formal guarantees: noises of different blocks look like independent draws of ``law.noise`` to whoever does not have
    `secret`, and a block has the same noise whenever it is asked for (see `Randomness.keyed`). So exact counts plus
    these sums are, to a computationally bounded observer, the answers of `NoisePath`, and all of them together lose
    what `path_law` says, however thresholds are chosen. The stream of a block belongs to the law too: the same secret
    under another loss has other noises.
    """
    paths = [law.path(threshold) for threshold in at]
    noises = {block: _noise(law, secret, block) for block in {block for path in paths for block in path}}
    return [sum(noises[block] for block in path) for path in paths]


def _noise(law: PathNoise, secret: bytes, block: Block) -> int:
    level, number = block
    facts = (law.cells, law.levels, law.noise.family.name, law.noise.parameter, level, number)
    name = "noise path " + " ".join(str(fact) for fact in facts)
    return int(draws(law.noise, 1, Randomness.keyed(secret, name))[0])
