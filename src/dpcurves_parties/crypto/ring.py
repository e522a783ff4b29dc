"""Integers modulo 2**64 or 2**128, as arrays of 64-bit words, the lowest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import Refused

Words = NDArray[np.uint64]

_HALF = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class Ring:
    """Integers modulo ``2**(64 * words)``. The last axis of an array holds the words of one number.

    Raises:
        ValueError: `words` is neither 1 nor 2.

    >>> Z64.signed(Z64.opened((2**64 - 3,), (1,))[0])
    -2
    """

    words: int

    def __post_init__(self) -> None:
        if self.words not in (1, 2):
            raise Refused("words", f"a number has 1 word or 2, got {self.words}")

    @property
    def modulus(self) -> int:
        return 1 << 64 * self.words

    def add(self, left: Words, right: Words) -> Words:
        """The sum, number by number."""
        result = left + right
        if self.words == 2:
            result[..., 1] += result[..., 0] < left[..., 0]
        return result

    def subtract(self, left: Words, right: Words) -> Words:
        """The difference, number by number."""
        result = left - right
        if self.words == 2:
            result[..., 1] -= left[..., 0] < right[..., 0]
        return result

    def negated_where(self, mask: Words, numbers: Words) -> Words:
        """The numbers, with the other sign where `mask` (all ones or all zeros, for each number) says so."""
        return self.subtract(numbers ^ mask[..., None], self._numbers(mask))

    def negated(self, numbers: Words) -> Words:
        """The numbers with the other sign."""
        return self.subtract(np.zeros_like(numbers), numbers)

    def units(self, mask: Words) -> Words:
        """1 where `mask` is all ones, and 0 where it is all zeros."""
        ones = (mask & np.uint64(1))[..., None]
        return ones if self.words == 1 else np.concatenate([ones, np.zeros_like(ones)], axis=-1)

    def sums(self, numbers: Words) -> Words:
        """Sums along the last axis but one, ``(..., count, words)``, of fewer than 2**32 numbers."""
        if self.words == 1:
            return np.asarray(np.add.reduce(numbers, axis=-2))
        low = np.add.reduce(numbers[..., 0] & _HALF, axis=-1)
        middle = np.add.reduce(numbers[..., 0] >> 32, axis=-1) + (low >> 32)
        high = np.add.reduce(numbers[..., 1], axis=-1) + (middle >> 32)
        return np.stack([(middle << 32) | (low & _HALF), high], axis=-1)

    def running_sums(self, numbers: Words) -> Words:
        """Sums of the first numbers, ``(count, words)``: of one, of two and so on."""
        result = np.add.accumulate(numbers, axis=0)
        if self.words == 2:
            carries = result[:, 0] < numbers[:, 0]
            result[:, 1] += np.add.accumulate(carries, axis=0, dtype=np.uint64)
        return result

    def integers(self, numbers: Words) -> tuple[int, ...]:
        """An array of shape ``(count, words)`` as integers."""
        if self.words == 1:
            return tuple(numbers[:, 0].tolist())
        return tuple(low + (high << 64) for low, high in numbers.tolist())

    def opened(self, *shares: tuple[int, ...]) -> tuple[int, ...]:
        """Reconstruct the secrets: sums of the parties' additive shares, place by place."""
        return tuple(sum(parts) % self.modulus for parts in zip(*shares, strict=True))

    def signed(self, number: int) -> int:
        """The integer of least absolute value that is congruent to `number`."""
        half = self.modulus // 2
        return (number + half) % self.modulus - half

    def _numbers(self, mask: Words) -> Words:
        """-1 where the mask is all ones: ``(numbers ^ mask) - mask`` negates there."""
        return mask[..., None] if self.words == 1 else np.repeat(mask[..., None], self.words, axis=-1)


Z64 = Ring(1)
Z128 = Ring(2)
