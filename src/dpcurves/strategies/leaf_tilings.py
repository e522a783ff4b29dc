"""Groups of neighbouring leaves that are worth counting beside the leaves: public, from their number alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ..laws import Family, IntervalSums, Tier, Noise

MOST_LEVELS = 5
_LARGE = Fraction(10**6)  # a parameter of noise, so large that its being discrete does not matter

Tiling = range | tuple[int, ...]


def leaf_tilings(starts: Sequence[int], family: Family, *, pinned: bool) -> tuple[Tiling, ...]:
    """Nested tilings over leaves, from coarse to fine, with the least mean variance of a prefix of leaves.

    A prefix of K leaves is the sum of K noises, or of a few that groups of leaves have; but tilings share the loss. Of
    h tilings the finest has the leaves, and each other one joins k intervals of the next, k about the h-th root of K.

    Args:
        starts: The first cells of the leaves, rising from 0.
        family: The family of the noise: h tilings need noise of h times the scale (Laplace) or variance (Gaussian).
        pinned: Whether the number of all records is public.

    >>> leaf_tilings(range(0, 40, 2), Family.GAUSSIAN, pinned=True)
    (range(0, 40, 8), range(0, 40, 4), range(0, 40, 2))
    """
    leaves = len(starts)
    joined = min(_groupings(leaves), key=lambda widths: _variance(leaves, widths, family, pinned))
    return tuple(_tiling(starts, width) for width in joined)


def _groupings(leaves: int) -> Iterator[tuple[int, ...]]:
    """The number of leaves that the intervals of each tiling join, from coarse to fine."""
    yield (1,)
    for levels in range(2, MOST_LEVELS + 1):
        root = int(leaves ** (1 / levels))
        for radix in (root, root + 1):
            if radix > 1 and radix ** (levels - 1) < leaves:
                yield tuple(radix**level for level in reversed(range(levels)))


def _variance(leaves: int, widths: tuple[int, ...], family: Family, pinned: bool) -> float:
    levels = tuple(Tier(range(0, leaves, width), Noise(family, len(widths) * _LARGE)) for width in widths)
    law = IntervalSums(1, leaves, levels, Noise(family, _LARGE))
    return float(f"{law.mean_prefix_variance(pinned):.9g}")  # the last digits differ between machines; plans may not


def _tiling(starts: Sequence[int], width: int) -> Tiling:
    """The first cells of every `width`-th leaf; as a range where they are even."""
    taken = starts[::width]
    if isinstance(taken, range):
        return taken
    return tuple(int(start) for start in taken)
