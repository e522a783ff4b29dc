"""What is added to expanded seeds one level down: loops without branches over the keys of a chunk."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled
from .ring import Words

_PLACE = np.uint64(63)  # of the control bit in the second word of a seed
_ZERO = np.uint64(0)


@compiled
def correct_seeds(  # noqa: PLR0917 (compiled loops have no keywords)
    below: Words, seeds: Words, corrections: Words, turns: Words, shift: np.uint64, right: np.uint64
) -> None:
    """Makes of encrypted seeds `below` the seeds one level down.

    Args:
        below: ``(keys, 2)``, and so `seeds`, from which they came, and `corrections` of the level.
        turns: ``(keys,)``; shifted left by `shift`, the bit of this level is the top one.
        right: That top bit if the path turns right, and 0 if it turns left.
    """
    for key in range(len(turns)):
        mask = _ZERO - (seeds[key, 1] >> _PLACE)
        below[key, 0] ^= seeds[key, 0] ^ (corrections[key, 0] & mask)
        below[key, 1] ^= seeds[key, 1] ^ ((corrections[key, 1] ^ ((turns[key] << shift) & right)) & mask)


@compiled
def gain_values(values: Words, seeds: Words, encrypted: Words, corrections: Words, turn: int) -> None:
    """Adds, to values ``(keys, 1)``, what encrypted seeds ``(keys, 2)`` give on a turn, and its corrections."""
    for key in range(len(values)):
        mask = _ZERO - (seeds[key, 1] >> _PLACE)
        values[key, 0] += (encrypted[key, turn] ^ seeds[key, turn]) + (corrections[key, 0] & mask)
