"""Base oblivious transfers on ristretto255 (RFC 9496): the receiver gets one key of two, and the sender does not know
which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import NotInstalled, ProtocolAborted

from ..keys import Octets
from ..ring import Words

# The group ristretto255 (RFC 9496), by libsodium.
POINT_SIZE = 32
_UNREDUCED = 64
IDENTITY = bytes(POINT_SIZE)


def sodium() -> Any:
    """The bindings. Raises `ImportError`: they are not installed."""
    try:
        import rbcl
    except ImportError:
        raise NotInstalled("rbcl", "two parties who compute together need it: pip install 'dpcurves[pairs]'") from None
    return rbcl


def scalar(randomness: Octets) -> bytes:
    """SECRET: a new scalar, uniform but for 2**-250."""
    found: bytes = sodium().crypto_core_ristretto255_scalar_reduce(randomness.octets(_UNREDUCED))
    return found


def times_base(exponent: bytes) -> bytes:
    """Scalar multiple of the generator of ristretto255."""
    found: bytes = sodium().crypto_scalarmult_ristretto255_base(exponent)
    return found


def times(exponent: bytes, point: bytes) -> bytes:
    """A point, as many times. Raises `ProtocolAborted`: it is no point, or the result is the identity."""
    try:
        found: bytes = sodium().crypto_scalarmult_ristretto255(exponent, point)
    except RuntimeError:
        raise ProtocolAborted("point", "it is not of the group, or its identity") from None
    return found


def plus(left: bytes, right: bytes) -> bytes:
    """The sum of two points, which have been checked."""
    found: bytes = sodium().crypto_core_ristretto255_add(left, right)
    return found


def minus(left: bytes, right: bytes) -> bytes:
    """The difference of two points, which have been checked."""
    found: bytes = sodium().crypto_core_ristretto255_sub(left, right)
    return found


def require_point(point: bytes) -> None:
    """Refuse what is no point, or the identity.

    Raises:
        ProtocolAborted: it is so.
    """
    whole = len(point) == POINT_SIZE and point != IDENTITY
    if not (whole and sodium().crypto_core_ristretto255_is_valid_point(point)):
        raise ProtocolAborted("point", "it is not of the group, or its identity")


# Base transfers: one party has two keys of each transfer, the other gets the one of its choice, and neither sees more.
#
# Chou and Orlandi (2015) transfer so: the sender shows ``A = a B``, B being the generator; the receiver, for its choice
# c, a point ``R = x B + c A``. Then both know ``x A = a (R - c A)``, and nobody knows the other one.
#
# Formal guarantees: R is uniform whatever the choice is, so the sender learns nothing, without any assumption. A
# receiver who follows the protocol learns no key but its own, if Diffie and Hellman's problem is hard in ristretto255
# and SHA-256 is a random oracle. A receiver who does not may choose late, and is not covered.
_KEY_SIZE = 16
_PURPOSE = b"dpcurves: base transfer, version 1"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseSender:
    """SECRET: sender, who has both keys.

    Attributes:
        point: First message, to the receiver.
    """

    point: bytes
    _exponent: bytes

    @classmethod
    def new(cls, randomness: Octets) -> BaseSender:
        """For the transfers of one session."""
        exponent = scalar(randomness)
        return cls(times_base(exponent), exponent)

    def keys(self, answer: bytes, count: int, session: bytes) -> Words:
        """SECRET: both keys of each transfer, ``(count, 2, 2)`` words.

        Args:
            answer: The receiver's points, one after the other.
            session: Name of the session. Keys agree only if both parties' names are equal.

        Raises:
            ProtocolAborted: there is another number of points, or one is none.
        """
        keys, own = [], times(self._exponent, self.point)
        for number, point in enumerate(_points(answer, count)):
            shared = times(self._exponent, point)
            for each in (shared, minus(shared, own)):
                keys.append(_key(session, number, self.point, point, each))
        return _words(keys).reshape(count, 2, 2)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BaseReceiver:
    """SECRET: receiver, who chooses.

    Attributes:
        answer: Response to the sender: 32 bytes a transfer.
    """

    answer: bytes
    _point: bytes
    _exponents: tuple[bytes, ...]

    @classmethod
    def choosing(cls, choices: NDArray[np.bool_], point: bytes, randomness: Octets) -> BaseReceiver:
        """Choose one key of each transfer, from the sender's point. Without a branch.

        Raises:
            ProtocolAborted: the point is none.
        """
        require_point(point)
        exponents = tuple(scalar(randomness) for _ in choices)
        # The encoding of the identity is all zeros: multiplied by a bit, a point is itself or the identity.
        added = choices.astype(np.uint8)[:, None] * np.frombuffer(point, np.uint8)
        answer = b"".join([plus(times_base(each), row.tobytes()) for each, row in zip(exponents, added, strict=True)])
        return cls(answer, point, exponents)

    def keys(self, session: bytes) -> Words:
        """SECRET: the key of each transfer that was chosen, ``(count, 2)`` words."""
        points = _points(self.answer, len(self._exponents))
        found = [
            _key(session, number, self._point, point, times(exponent, self._point))
            for number, (point, exponent) in enumerate(zip(points, self._exponents, strict=True))
        ]
        return _words(found).reshape(len(found), 2)


def _points(answer: bytes, count: int) -> list[bytes]:
    """The points of an answer. Raises `ProtocolAborted`: there is another number of them, or one is none."""
    if len(answer) != POINT_SIZE * count:
        raise ProtocolAborted("points", f"{count} are needed")
    points = [answer[start : start + POINT_SIZE] for start in range(0, len(answer), POINT_SIZE)]
    for point in points:
        require_point(point)
    return points


def _key(session: bytes, number: int, first: bytes, point: bytes, shared: bytes) -> bytes:
    """The key that a point both parties know is hashed to; its session, number and messages go with it."""
    name = len(session).to_bytes(4, "little") + session + number.to_bytes(4, "little")
    return sha256(_PURPOSE + name + first + point + shared).digest()[:_KEY_SIZE]


def _words(keys: Sequence[bytes]) -> Words:
    return np.frombuffer(b"".join(keys), dtype="<u8").astype(np.uint64)
