"""Digests of Mastic's draft on the one tree: proofs of nodes, sums of children, and the root's counter."""

from __future__ import annotations

from collections.abc import Sequence

from vdaf_bases import FIELD_64, xof_turboshake
from vdaf_tree import Correction, Node, Path, Rules, mastic_tag, root, step

COUNT = bytes.fromhex("ffff0001")


def visited(
    rules: Rules, party: int, corrections: Sequence[Correction], key: bytes, prefixes: Sequence[Path]
) -> dict[Path, Node]:
    """Nodes on the paths to prefixes, and their siblings, level by level from the left."""
    wanted = {(*prefix[:level], turn) for prefix in prefixes for level in range(len(prefix)) for turn in (0, 1)}
    nodes: dict[Path, Node] = {}
    for path in sorted(wanted, key=lambda path: (len(path), path)):
        state = nodes[path[:-1]].state if path[:-1] else root(key, party)
        nodes[path] = step(rules, state, corrections[len(path) - 1], path)
    return nodes


def digest(party: int, nodes: dict[Path, Node], ctx: bytes, verify_key: bytes) -> bytes:
    """Digest that must be the same at both servers."""

    def hashed(seed: bytes, usage: int, message: bytes) -> bytes:
        return xof_turboshake(seed, mastic_tag(usage, ctx, COUNT), message).take(32)

    sums = b"".join(
        FIELD_64.packed(
            FIELD_64.subtracted(node.weight, FIELD_64.added(nodes[(*path, 0)].weight, nodes[(*path, 1)].weight))
        )
        for path, node in nodes.items()
        if (*path, 0) in nodes
    )
    counter = FIELD_64.packed([nodes[(0,)].weight[0] + nodes[(1,)].weight[0] + party])
    one_hot = hashed(b"", 6, b"".join(node.proof for node in nodes.values()))
    return hashed(verify_key, 8, one_hot + counter + hashed(b"", 7, sums))
