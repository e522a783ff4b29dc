"""SHA-256 of short messages with the processor's instructions, emitted as LLVM code. Import this only where they exist.

A message is 48 bytes and fills one block with its padding. Words of 32 bits are held four in a register; the registers
of `GROUPS` messages are worked on side by side, for a round takes several cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import isqrt
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpcurves.compiled import compiled

GROUPS = 2
MESSAGE_WORDS = 6
_DIGEST_WORDS = 4
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FOUR = ir.VectorType(_I32, 4)
_TOOLS: Any = cgutils


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _cube_root(number: int) -> int:
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle - 1)
    return low


# The first 32 bits of the fractional parts of roots of primes (FIPS 180-4, sections 4.2.2 and 5.3.3).
ROUND_WORDS = [_cube_root(prime << 96) % 2**32 for prime in _primes(64)]
START_WORDS = [isqrt(prime << 64) % 2**32 for prime in _primes(8)]


class _Emitter:
    """Emits code over one register of each message."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def instruction(self, name: str, *registers: Any) -> Any:
        kind = ir.FunctionType(_FOUR, [_FOUR] * len(registers))
        function = _TOOLS.get_or_insert_function(self.builder.module, kind, f"llvm.x86.sha256{name}")
        return self.builder.call(function, registers)

    def swapped(self, register: Any) -> Any:
        """With the bytes of each word the other way round."""
        kind = ir.FunctionType(_FOUR, [_FOUR])
        return self.builder.call(
            _TOOLS.get_or_insert_function(self.builder.module, kind, "llvm.bswap.v4i32"), [register]
        )

    def shuffled(self, first: Any, second: Any, *places: int) -> Any:
        return self.builder.shuffle_vector(first, second, ir.Constant(_FOUR, places))

    def place(self, base: Any, message: Any, words: int, number: int) -> Any:
        """Pointer to register `number` of a message, in rows of so many 64-bit words."""
        start = self.builder.add(self.builder.mul(message, _I64(words)), _I64(2 * number))
        return self.builder.bitcast(self.builder.gep(base, [start]), _FOUR.as_pointer())

    def words(self, base: Any, message: Any) -> list[Any]:
        """The sixteen words of a message's block."""
        loaded = []
        for number in range(3):
            register = self.builder.load(self.place(base, message, MESSAGE_WORDS, number))
            register.align = 8
            loaded.append(self.swapped(register))
        return [*loaded, ir.Constant(_FOUR, [1 << 31, 0, 0, 64 * MESSAGE_WORDS])]

    def next_words(self, words: Sequence[Any]) -> Any:
        """The four words after the last sixteen."""
        shifted = self.shuffled(words[2], words[3], 1, 2, 3, 4)
        return self.instruction(
            "msg2", self.builder.add(self.instruction("msg1", words[0], words[1]), shifted), words[3]
        )

    def four_rounds(self, state: tuple[Any, Any], words: Any, number: int) -> tuple[Any, Any]:
        """Words f e b a and h g d c of the state, after rounds ``4 * number`` to ``4 * number + 3``."""
        first, second = state
        keyed = self.builder.add(words, ir.Constant(_FOUR, ROUND_WORDS[4 * number : 4 * number + 4]))
        second = self.instruction("rnds2", second, first, keyed)
        first = self.instruction("rnds2", first, second, self.shuffled(keyed, keyed, 2, 3, 0, 0))
        return first, second

    def store(self, state: tuple[Any, Any], base: Any, message: Any) -> None:
        first, second = state
        for number, places in enumerate(((3, 2, 7, 6), (1, 0, 5, 4))):
            register = self.swapped(self.shuffled(first, second, *places))
            self.builder.store(register, self.place(base, message, _DIGEST_WORDS, number), align=8)


def _typed_digest(typing: Any, messages: Any, digests: Any, first: Any, groups: Any) -> Any:
    """SHA-256 of some messages."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        read, written = (context.make_array(signature.args[n])(context, builder, given[n]).data for n in (0, 1))
        numbers = [builder.add(given[2], _I64(group)) for group in range(groups.literal_value)]
        _emit_digest(_Emitter(builder), read, written, numbers)
        return context.get_dummy_value()

    return types.void(messages, digests, first, groups), emit


def _emit_digest(code: _Emitter, read: Any, written: Any, numbers: list[Any]) -> None:
    a, b, c, d, e, f, g, h = START_WORDS
    start = ir.Constant(_FOUR, [f, e, b, a]), ir.Constant(_FOUR, [h, g, d, c])
    words = [code.words(read, number) for number in numbers]
    states = [start for _ in numbers]
    for number in range(16):
        states = [code.four_rounds(state, each[0], number) for state, each in zip(states, words, strict=True)]
        words = [[*each[1:], code.next_words(each)] if number < 12 else each[1:] for each in words]
    for state, number in zip(states, numbers, strict=True):
        added = code.builder.add(state[0], start[0]), code.builder.add(state[1], start[1])
        code.store(added, written, number)


_digest: Any = intrinsic(prefer_literal=True)(_typed_digest)


@cache
def digesting() -> Callable[..., None]:
    """The loop from messages ``(count, 6)`` to digests ``(count, 4)``, both little-endian words."""
    groups = GROUPS

    def digest(messages: Any, digests: Any) -> None:
        whole = len(messages) // groups * groups
        for i in range(0, whole, groups):
            _digest(messages, digests, i, groups)
        for i in range(whole, len(messages)):
            _digest(messages, digests, i, 1)

    return compiled(digest)
