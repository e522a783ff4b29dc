"""Messages between owners and two servers, byte by byte, with the standard library: written from the page of the wire.

Of the product nothing is imported; of another library X25519 and AES alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PRIME = 2**61 - 1
KEM = b"KEM\x00\x20"
SUITE = b"HPKE\x00\x20\x00\x01\x00\x01"


def expand(secret: bytes, info: bytes, size: int) -> bytes:
    """HKDF-Expand of RFC 5869 with SHA-256."""
    stream, block = b"", b""
    while len(stream) < size:
        block = hmac.digest(secret, block + info + bytes([len(stream) // 32 + 1]), "sha256")
        stream += block
    return stream[:size]


def derived(secret: bytes, purpose: str) -> bytes:
    """32 bytes for a purpose: HKDF without salt."""
    return expand(hmac.digest(bytes(32), secret, "sha256"), b"dpcurves " + purpose.encode(), 32)


def public(key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


def exchanged(key: bytes, other: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(key).exchange(X25519PublicKey.from_public_bytes(other))


def sealed(share: bytes, to: bytes, place: bytes, ephemeral: bytes, bound: bytes = b"") -> bytes:
    """HPKE in base mode (RFC 9180), one message, of an ephemeral key that is told here and nowhere else."""
    key, nonce = _of_message(public(ephemeral), to, exchanged(ephemeral, to), place)
    return public(ephemeral) + AESGCM(key).encrypt(nonce, share, bound)


def unsealed(message: bytes, own: bytes, place: bytes, bound: bytes = b"") -> bytes:
    """The message in a ciphertext of `sealed`."""
    key, nonce = _of_message(message[:32], public(own), exchanged(own, message[:32]), place)
    return AESGCM(key).decrypt(nonce, message[32:], bound)


def _of_message(own: bytes, to: bytes, shared: bytes, place: bytes) -> tuple[bytes, bytes]:
    """Key and nonce of a message, from the ephemeral key and the one that it is for, both public, and their secret."""

    def extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
        return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + secret, "sha256")

    def labelled(suite: bytes, secret: bytes, label: bytes, info: bytes, size: int) -> bytes:
        return expand(secret, size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, size)

    common = labelled(KEM, extract(KEM, b"", b"eae_prk", shared), b"shared_secret", own + to, 32)
    context = b"\0" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", place)
    secret = extract(SUITE, common, b"secret", b"")
    key, nonce = (labelled(SUITE, secret, label, context, size) for label, size in ((b"key", 16), (b"base_nonce", 12)))
    return key, nonce


def place_of(task: str, party: int, contribution: bytes, report: bytes) -> bytes:
    return b"dpcurves report 2\n" + bytes.fromhex(task) + bytes([party]) + contribution + report


def place_of_message(what: str, party: int, facts: Mapping[str, object]) -> bytes:
    """Context of a letter, or of a half of an answer."""
    text = json.dumps(facts, sort_keys=True).encode()
    return f"dpcurves {what} 1\n".encode() + bytes([party]) + hashlib.sha256(text).digest()


def half_of_answer(facts: Mapping[str, object], numbers: Sequence[int]) -> bytes:
    return json.dumps(facts).encode() + b"\n" + b"".join(number.to_bytes(8, "little") for number in numbers)


def batch(task: str, party: int, contribution: bytes, earlier: int, reports: Sequence[tuple[bytes, bytes]]) -> bytes:
    size, count = len(reports[0][1]), len(reports)
    head = b"DPCF" + bytes([2, party, earlier]) + struct.pack("<HI", size, count)
    return head + bytes.fromhex(task) + contribution + b"".join(name + message for name, message in reports)


def listing(reports: Mapping[bytes, bytes]) -> bytes:
    """Digests of public halves behind the names of reports, these rising."""
    halves = sorted(reports.items())
    return b"".join(name + hashlib.sha256(b"dpcurves report\n" + half).digest()[:16] for name, half in halves)


def parts(task: str, reports: Mapping[bytes, bytes], bits: int) -> bytes:
    """Hashes of parts of reports, from their public halves."""
    each = [{one: half for one, half in reports.items() if one[0] >> (8 - bits) == part} for part in range(2**bits)]
    return b"".join(
        hashlib.sha256(b"dpcurves part 1\n" + bytes.fromhex(task) + listing(some)).digest() for some in each
    )


def set_name(task: str, reports: Mapping[bytes, bytes]) -> str:
    """Name of the set of reports, from their public halves."""
    size = len(reports).to_bytes(4, "big")
    return hashlib.sha256(b"dpcurves report set 1\n" + bytes.fromhex(task) + size + listing(reports)).hexdigest()


def stream(key: bytes, count: int) -> list[int]:
    """Numbers modulo the prime, from AES-128 in counter mode."""
    octets = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    words = (int.from_bytes(octets[8 * number : 8 * number + 8], "little") for number in range(count))
    return [word % 2**61 % PRIME for word in words]


def coefficients(key: str, task: str, size: int) -> list[int]:
    return stream(derived(bytes.fromhex(key), f"coefficients {task}")[:16], size)


def mask(task: str, seed: bytes, count: int) -> list[int]:
    return stream(hashlib.sha256(b"dpcurves mask\n" + bytes.fromhex(task) + seed).digest()[:16], count)


def word(adds: Sequence[int], r: Sequence[int], masks: Sequence[Sequence[int]]) -> int:
    """Word of a report for the first analyst, from what its record adds to an answer, and from both servers' masks."""
    first, second = masks
    added = sum(each * (add + one + other) for each, add, one, other in zip(r, adds, first, second, strict=False))
    return (added - first[len(r)] - second[len(r)]) % PRIME


def hash_of_noise(noise: Sequence[int]) -> str:
    packed = b"".join(number.to_bytes(8, "little") for number in noise)
    return hashlib.sha256(b"dpcurves masked noise\n" + packed).hexdigest()


def halves_of(token: str) -> tuple[str, str]:
    first, second = (hashlib.sha256(f"dpcurves half {party}\n{token}".encode()).hexdigest() for party in (0, 1))
    return first, second


def shown(token: str, party: int) -> str:
    halves = halves_of(token)
    return halves[party] + "." + hashlib.sha256(b"dpcurves half\n" + halves[1 - party].encode()).hexdigest()


def ticket_hash(token: str) -> str:
    names = [hashlib.sha256(b"dpcurves half\n" + half.encode()).hexdigest() for half in halves_of(token)]
    return hashlib.sha256("dpcurves token\n{}\n{}".format(*names).encode()).hexdigest()
