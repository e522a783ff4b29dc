"""SECRET. Cryptographic randomness: the source of all random bits of noise, and the memory of released noisy sums.

`Randomness` gives out each random bit once. Its constructors differ in what they protect:

    from_system    the operating system's entropy: the source for real releases
    from_key       a ChaCha20 stream under the HMAC-SHA256 of a name: the same noise again for one count
    from_seed      a ChaCha20 stream under a seed, for tests and papers; results are marked as not private
    expand         a fast ChaCha20 stream under 32 fresh bytes of another source

Samplers call `random_bytes`, `sample_below`, `sample_words` or `sample_halfwords`, which return uniform bits.

`Memory` keeps noisy sums that later answers under one charge use again: a second noise on the same count could be
averaged with the first. `InProcessMemory` keeps them until the process ends.

>>> Randomness.from_seed(1).sample_below(6) == Randomness.from_seed(1).sample_below(6)
True
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arguments import InvalidArgument, describe_value, require_integer, require_type

LEAST_SECRET = 32
"""Least length of a secret key in bytes: the strength of SHA-256. A shorter one is refused."""
_ZEROS = memoryview(bytes(2**20))
"""Plaintext of the key stream, allocated once because allocation takes longer than encryption."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Randomness:
    """A source of uniform random bits, each given out once.

    It has no repr, because its state is as secret as the noise.

    Formal guarantees: `from_system` keeps no buffer, so forked processes share no bits. A seeded source is only as
    secret as its seed. A copy of it, for instance by a fork, repeats its bits.

    Attributes:
        random_bytes: Function that returns a number of uniform bytes.
        is_seeded: True if the seed may be known, so that noise from this source protects nothing.
    """

    random_bytes: Callable[[int], bytes]
    is_seeded: bool

    @classmethod
    def from_system(cls) -> Randomness:
        """Return the entropy source of the operating system: the source for real releases."""
        return cls(os.urandom, is_seeded=False)

    @classmethod
    def from_seed(cls, seed: int) -> Randomness:
        """Return the ChaCha20 key stream under the SHA-256 of `seed`, for tests and papers.

        Anybody who knows the seed can subtract the noise, so a release from it is not private.

        Args:
            seed: An integer of any size.

        >>> Randomness.from_seed(7).random_bytes(4) == Randomness.from_seed(7).random_bytes(4)
        True
        """
        number = require_integer("seed", seed)
        return cls(_open_key_stream(sha256(str(number).encode()).digest()), is_seeded=True)

    @classmethod
    def from_key(cls, secret: bytes, name: str) -> Randomness:
        """Return the reproducible ChaCha20 key stream under the HMAC-SHA256 of a public `name`.

        Formal guarantees: without the secret, streams of different names look uniform and independent (HMAC-SHA256 and
        ChaCha20 as pseudo-random functions). The same name has the same bits, so noise from one name may be added to a
        single count only.

        Args:
            secret: A key of at least 32 bytes.
            name: Public text; each count needs its own.

        Raises:
            ValueError: the secret has fewer than 32 bytes.
            TypeError: `secret` is not bytes, or `name` is not a text.
        """
        require_type("secret", secret, (bytes, bytearray), "bytes, as secrets.token_bytes(32) gives,")
        require_type("name", name, str, "a text")
        if len(secret) < LEAST_SECRET:
            raise InvalidArgument(
                "secret",
                f"at least {LEAST_SECRET} bytes are needed, as secrets.token_bytes(32) gives, got {len(secret)}",
            )
        return cls(_open_key_stream(hmac.digest(secret, name.encode(), "sha256")), is_seeded=False)

    def expand(self) -> Randomness:
        """Return a ChaCha20 key stream under 32 bytes from this source, for millions of draws at once.

        Formal guarantees: the 32 bytes are stored nowhere else, and without them the stream cannot be distinguished
        from uniform bits (ChaCha20 as a pseudo-random function). Use the stream in the process that created it, because
        a fork would repeat its bits.
        """
        return Randomness(_open_key_stream(self.random_bytes(LEAST_SECRET)), self.is_seeded)

    def sample_below(self, n: int) -> int:
        """Sample a uniform integer from 0 to ``n - 1``, by rejection.

        Args:
            n: Number of outcomes, of any size, at least 1.

        Raises:
            ValueError: `n` is below 1.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise InvalidArgument("n", f"a number of outcomes of at least 1 is needed, got {describe_value(n)}")
        bits = (n - 1).bit_length()
        while (number := self._sample_bits(bits)) >= n:
            pass
        return number

    def sample_words(self, count: int) -> NDArray[np.uint64]:
        """Sample `count` independent uniform integers of 64 bits, as a read-only array of shape ``(count,)``.

        Args:
            count: Number of integers.
        """
        count = require_integer("count", count)
        return np.frombuffer(self.random_bytes(8 * count), dtype="<u8").astype(np.uint64, copy=False)

    def sample_halfwords(self, count: int) -> NDArray[np.uint16]:
        """Sample `count` independent uniform integers of 16 bits, as a read-only array of shape ``(count,)``.

        Args:
            count: Number of integers.
        """
        count = require_integer("count", count)
        return np.frombuffer(self.random_bytes(2 * count), dtype="<u2").astype(np.uint16, copy=False)

    def _sample_bits(self, count: int) -> int:
        """Sample a uniform integer from 0 to ``2**count - 1``.

        Args:
            count: Number of bits.
        """
        length = (count + 7) // 8
        return int.from_bytes(self.random_bytes(length), "little") >> (8 * length - count)


def _open_key_stream(key: bytes) -> Callable[[int], bytes]:
    """Return a function that produces the next bytes of the ChaCha20 key stream under a key.

    Args:
        key: 32 bytes.

    Returns:
        Function of a number of bytes.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return lambda length: stream.update(_ZEROS[:length] if length <= len(_ZEROS) else bytes(length))


class Memory(Protocol):
    """Interface of the secret memory of one charge: noisy sums by name, held by one party.

    A memory stores noisy sums, not noise. Stored noise that is added to changed counts would reveal the change exactly;
    sums with new noise could be averaged. It is as durable as the ledger, and is written before anything is released. A
    charge whose memory is lost cannot be continued. A memory has no repr.
    """

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        """Return the noisy sums that were stored under these names, also by other processes; names without a sum are
        omitted.

        Args:
            names: Names of noisy sums.
        """
        ...

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        """Store noisy sums under new names, durably before returning, so that they are never drawn again.

        The first writer of a name wins, also between processes. So only the returned values may be used.

        Args:
            notes: Noisy sums by name.

        Returns:
            The stored sums of all these names: earlier ones where a name was known.
        """
        ...


class InProcessMemory:
    """A memory that lives as long as this object; its charge cannot be continued after the process ends."""

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes: dict[str, int] = {}

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        """Return the noisy sums that were stored under these names; names without a stored sum are omitted.

        Args:
            names: Names of noisy sums.
        """
        return {name: self._notes[name] for name in names if name in self._notes}

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        """Store noisy sums under new names, for the life of this object.

        Args:
            notes: Noisy sums by name.

        Returns:
            The stored sums of all these names: earlier ones where a name was known.
        """
        return {name: self._notes.setdefault(name, value) for name, value in notes.items()}
