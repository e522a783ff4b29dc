"""The round keys of AES-128, for code that runs the rounds itself."""

from __future__ import annotations

import numpy as np

from .ring import Words

_ROUNDS = 10


def schedule(key: bytes) -> Words:
    """Eleven round keys, ``(11, 2)`` little-endian words, for a public key (FIPS 197, section 5.2).

    It looks up tables by the bytes of the key, so it is not for secret keys.
    """
    box, rounds, constant = _substitution(), [key], 1
    for _ in range(_ROUNDS):
        before = rounds[-1]
        word = bytes(box[byte] for byte in before[13:] + before[12:13])
        word = bytes([word[0] ^ constant]) + word[1:]
        after = b""
        for start in range(0, 16, 4):
            word = bytes(a ^ b for a, b in zip(word, before[start : start + 4], strict=True))
            after += word
        rounds.append(after)
        constant = _doubled(constant)
    return np.frombuffer(b"".join(rounds), dtype="<u8").astype(np.uint64).reshape(_ROUNDS + 1, 2)


def _substitution() -> list[int]:
    """The S-box: the inverse in the field of 256 elements, then an affine map (FIPS 197, section 5.1.1)."""
    powers = [1]
    while len(powers) < 255:
        powers.append(powers[-1] ^ _doubled(powers[-1]))  # 3 generates all elements but 0
    inverse = {0: 0} | {power: powers[-place % 255] for place, power in enumerate(powers)}
    return [_affine(inverse[byte]) for byte in range(256)]


def _affine(byte: int) -> int:
    turned = byte * 0x101  # twice the byte: its rotations are slices
    return (turned ^ turned >> 4 ^ turned >> 5 ^ turned >> 6 ^ turned >> 7) & 0xFF ^ 0x63


def _doubled(byte: int) -> int:
    return (byte << 1) ^ (0x11B if byte & 0x80 else 0)
