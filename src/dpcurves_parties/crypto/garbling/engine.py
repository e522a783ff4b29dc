"""Garbling and evaluation of a batch of AND gates. Two engines, portable and fast, give equal bits."""

from __future__ import annotations

from typing import Protocol

from ..ring import Words


class GateEngine(Protocol):
    """Hashes labels: arrays ``(instances, 2)`` of little-endian words, whose lowest bit is the permute bit.

    A label x is hashed to ``E(k, s) xor s`` with ``s = sigma(x) xor t``: E is AES-128, its key k is the gate's own,
    t is twice the instance's number, plus one in the evaluator's half, and sigma takes words ``(low, high)`` to
    ``(low xor high, low)``: a linear map without fixed points, as is its sum with the identity.

    Formal guarantees: with E an ideal cipher, and the offset uniform but for its lowest bit, who evaluates n instances
    of g gates, and E at q places, tells its tables from uniform ones with a chance of at most ``n * (q + 2*g*n) /
    2**124``: no two blocks of one key are the same but by a coincidence of labels, and a key is met by the q places
    of its own gate alone (Guo, Katz, Wang, Weng and Yu 2020: hashing that is correlation robust though the offset is
    added to it needs sigma, and keys of its own for each gate cost no security with their number). One evaluation of
    each table; labels are used by one session only.
    """

    def garble(self, left: Words, right: Words, offset: Words, key: Words) -> tuple[Words, Words]:
        """Tables ``(2, instances, 2)`` and the output's labels of 0, from the inputs' labels of 0. SECRET.

        Args:
            offset: Global offset of free XOR, the difference of labels of 0 and 1, ``(2,)``.
            key: The gate's AES key, ``(2,)``. It is public.
        """
        ...

    def evaluate(self, left: Words, right: Words, tables: Words, key: Words) -> Words:
        """The output's labels, from those of the inputs."""
        ...
