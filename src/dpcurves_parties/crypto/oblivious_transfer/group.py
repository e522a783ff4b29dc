"""The group ristretto255 (RFC 9496), by libsodium."""

from __future__ import annotations

from typing import Any

from dpcurves.arguments import NotInstalled, ProtocolAborted

from ..server_keys import Octets

POINT_SIZE = 32
_UNREDUCED = 64
IDENTITY = bytes(POINT_SIZE)


def sodium() -> Any:
    """The bindings.

    Raises:
        ImportError: they are not installed.
    """
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
    """The generator, as many times."""
    found: bytes = sodium().crypto_scalarmult_ristretto255_base(exponent)
    return found


def times(exponent: bytes, point: bytes) -> bytes:
    """A point, as many times.

    Raises:
        ProtocolAborted: it is no point, or the result is the identity.
    """
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
