"""Shares sealed to one server, by HPKE (RFC 9180): X25519, HKDF-SHA256, AES-128-GCM, one message each."""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..errors import ProtocolAborted

OVERHEAD = 32 + 16
"""Bytes that sealing adds: a key of its own, and a tag."""
_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


def public_key(digits: str) -> X25519PublicKey:
    """The key that a task names.

    Raises:
        ValueError: it is none.
    """
    try:
        return X25519PublicKey.from_public_bytes(bytes.fromhex(digits))
    except ValueError:
        raise ProtocolAborted("task", "a server's sealing key is no X25519 key") from None


def sealed(share: bytes, key: X25519PublicKey, place: bytes) -> bytes:
    """Encrypt a share (HPKE) so that only the holder of the key opens it, and only at `place`."""
    return _SUITE.encrypt(share, key, place)


def opened(message: bytes, key: X25519PrivateKey, place: bytes) -> bytes | None:
    """The share; None: it was sealed to another key or place, or a bit has changed."""
    try:
        return _SUITE.decrypt(message, key, place)
    except (InvalidTag, ValueError):
        return None


def place_of(task: str, party: int, contribution: bytes, report: bytes) -> bytes:
    """Context that a sealed share is bound to: task, party, contribution and report."""
    return b"dpcurves report 2\n" + bytes.fromhex(task) + bytes([party]) + contribution + report
