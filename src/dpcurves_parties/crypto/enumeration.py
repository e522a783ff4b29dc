"""Evaluation on the whole domain: the number of keys of each cell, by point functions."""

from __future__ import annotations

import numpy as np

from dpcurves.arguments import Refused

from .comparison_keys import ComparisonKeys, PublicShare
from .engine import Engine
from .ring import Words

MOST_BLOCKS = 8192
KEYS = 512


def cell_sums(keys: ComparisonKeys, engine: Engine) -> Words:
    """Share of one server of the counts of keys by cell: ``(cells, words)``. Prefix sums are those of thresholds.

    The distributed point function of Boyle, Gilboa and Ishai (2016) in the tree of seeds of the comparison function:
    leaves are corrected once more, under another permutation than that of the comparison.

    Formal guarantees: the shares of both servers add up, cell by cell, to the number of keys with it.

    Raises:
        ValueError: the domain is too large to be enumerated.
    """
    domain = keys.domain
    if not domain.is_enumerable:
        raise Refused("keys", f"a domain of {domain.bits} bits is too large to be enumerated")
    totals = np.zeros((1 << domain.bits, domain.ring.words), np.uint64)
    for start in range(0, len(keys), KEYS):
        chunk = keys[start : start + KEYS]
        _collect(engine, chunk.public, chunk.seeds.words[None], 0, totals)
    return domain.ring.negated(totals) if keys.seeds.party else totals


def _collect(engine: Engine, public: PublicShare, nodes: Words, level: int, totals: Words) -> None:
    """Adds what leaves below some nodes ``(nodes, keys, 2)`` of a level say, from left to right."""
    ring, count = public.domain.ring, len(nodes)
    if level == public.domain.levels:
        leaves = engine.leaf_sums(nodes, public).reshape(len(totals), ring.words)
        totals[:] = ring.add(totals, leaves)
    elif count > 1 and 2 * count * len(public) > MOST_BLOCKS:
        for half, part in zip((nodes[: count // 2], nodes[count // 2 :]), np.split(totals, 2), strict=True):
            _collect(engine, public, half, level, part)
    else:
        below = engine.children(nodes, public.seeds[level], public.turns, level)
        _collect(engine, public, below, level + 1, totals)
