"""Half gates one instance at a time, with Python's integers: written from the papers, not from the product.

A label is an integer below 2**128; its lowest bit is the permute bit. Words are little-endian.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HALF = 2**64


def hashed(key: bytes, label: int, tweak: int) -> int:
    """AES under the gate's key, of sigma(label) xor tweak, xor the same."""
    low, high = label % HALF, label // HALF
    block = ((low ^ high) + low * HALF) ^ tweak
    cipher = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()
    return int.from_bytes(cipher.update(block.to_bytes(16, "little")), "little") ^ block


def gate_key(salt: bytes, number: int) -> bytes:
    return (int.from_bytes(salt, "little") ^ number).to_bytes(16, "little")


def garble(a: int, b: int, offset: int, key: bytes, instance: int) -> tuple[int, int, int]:
    """Figure 2 of Zahur, Rosulek and Evans 2015: both ciphertexts, and the output's label of 0."""
    j, k = 2 * instance, 2 * instance + 1
    generator = hashed(key, a, j) ^ hashed(key, a ^ offset, j) ^ (offset if b & 1 else 0)
    w_generator = hashed(key, a, j) ^ (generator if a & 1 else 0)
    evaluator = hashed(key, b, k) ^ hashed(key, b ^ offset, k) ^ a
    w_evaluator = hashed(key, b, k) ^ (evaluator ^ a if b & 1 else 0)
    return generator, evaluator, w_generator ^ w_evaluator


def evaluate(inputs: list[int], tables: tuple[int, ...], key: bytes, instance: int) -> int:
    (a, b), (generator, evaluator) = inputs, tables
    first = hashed(key, a, 2 * instance) ^ (generator if a & 1 else 0)
    return first ^ hashed(key, b, 2 * instance + 1) ^ (evaluator ^ a if b & 1 else 0)
