"""Labels of wires: 128 bits, of which the lowest is the permute bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused

from ..ring import Words
from ..server_keys import Octets

Bits = NDArray[np.bool_]
_ONE = np.uint64(1)
LABEL_SIZE = 16


def offset_from(randomness: Octets) -> Words:
    """SECRET: a new offset for one session. Its lowest bit is one, so that permute bits tell labels apart."""
    offset = np.frombuffer(randomness.octets(LABEL_SIZE), dtype="<u8").astype(np.uint64)
    offset[0] |= _ONE
    return offset


def require_offset(offset: Words) -> None:
    """Refuse what can not be an offset.

    Raises:
        ValueError: it is even: both labels of a wire had one permute bit, and the output was open to nobody.
    """
    if offset.shape != (2,) or not int(offset[0]) & 1:
        raise Refused("offset", "128 bits are needed, the lowest of which is one")


def permute_bits(labels: Words) -> Bits:
    """XOR share of one party of the values of a wire. The garbler's are those of its labels of 0."""
    return (labels[:, 0] & _ONE).astype(np.bool_)


def opened(first: Sequence[Bits], second: Sequence[Bits]) -> list[Bits]:
    """The values of wires, from both parties' shares.

    Raises:
        ValueError: they are shares of other wires, or of other instances.
    """
    if [len(one) for one in first] != [len(other) for other in second]:
        raise Refused("shares", "both parties' are needed, of the same wires and instances")
    return [one ^ other for one, other in zip(first, second, strict=True)]


def masked(bits: Bits, offset: Words) -> Words:
    """The offset where a bit is set, else zeros: ``(instances, 2)``. Without a branch."""
    mask = -bits.astype(np.uint64)
    result: Words = mask[:, None] & offset
    return result
