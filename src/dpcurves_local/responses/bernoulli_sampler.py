"""Exact vectorised samplers without floating point: Bernoulli bits, uniform integers and uniform random subsets.

    sample_bernoulli         bits that are true with a probability that is a multiple of 2**-64
    sample_bernoulli_rows    the same, packed eight to a byte, for many bits
    sample_uniform           uniform integers, by multiplication and rejection (Lemire 2019)
    sample_uniform_sets      uniform sets of a fixed size, each with or without one given element

Each takes the number of draws and a `Randomness`, and returns a NumPy array.

- Bernoulli: a bit is true if a uniform 64-bit integer is below a threshold. In the packed form 16 random bits nearly
  always select eight draws in a table; only where they do not decide are more bits drawn.
- Sets: Bernoulli sets, to which uniform elements are added or removed until the size is right.

Formal guarantees: given uniform random bits, every distribution is exact. Tables and start sets affect the time alone.

References: Lemire 2019 (uniform integers by multiplication).

>>> half = ONE_PROBABILITY // 2
>>> count_binary_places(half), count_binary_places(round_down(Fraction(1, 3)))  # random bits per draw, if few
(1, 64)
>>> counts = np.bincount(sample_uniform(3, 3000, Randomness.from_seed(1)))
>>> bool(abs(counts - 1000).max() < 120)
True
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import erf, exp, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import BoolArray, IntArray, compile_loop, loops_are_compiled
from dpcurves.noise.randomness import Randomness

Words = NDArray[np.uint16]
Octets = NDArray[np.uint8]
PROBABILITY_BITS = 64
"""Binary digits of a Bernoulli probability, which is drawn exactly."""
ONE_PROBABILITY = 1 << PROBABILITY_BITS
"""Denominator of Bernoulli probabilities: probability 1 as an integer numerator."""
FEW_BITS = 3
"""Binary digits of a probability up to which each draw combines single random bits; with more, a table is faster
(measured). The draws have the same distribution either way."""
_BYTE, _REST = 8, 56
"""Bits of the uniform integer that are drawn first, and the others."""
_DRAWS_PER_LOOKUP = 8
"""Bernoulli draws that one table lookup gives: the bits of one byte."""
_SHORT, _LONG, _ALL = 16, 64, _DRAWS_PER_LOOKUP * PROBABILITY_BITS
"""Random bits that decide a byte of draws: 64 suffice with probability 1 - 2**-56, 512 always."""
_WORDS_PER_GROUP = 32
"""Random words that are looked up together: they are searched for undecided words (which need more random bits) only if
the largest one is undecided. The number changes speed, not the draws."""


def sample_bernoulli(parts: int, size: int, randomness: Randomness) -> BoolArray:
    """Draw independent bits that are true with probability exactly ``parts / ONE_PROBABILITY``.

    A uniform integer of 64 bits is compared with `parts`. Its first eight bits decide unless they equal the first eight
    bits of `parts`; only then are the others drawn.

    Args:
        parts: Numerator of the probability; `ONE_PROBABILITY` is its denominator.
        size: Number of bits.
        randomness: Source of the random bits.
    """
    octets = np.frombuffer(randomness.random_bytes(size), dtype=np.uint8)
    border = parts >> _REST
    bits = octets < border
    undecided = np.flatnonzero(octets == border)
    remaining_bits = randomness.sample_words(undecided.size) >> np.uint64(_BYTE)
    bits[undecided] = remaining_bits < np.uint64(parts & ((1 << _REST) - 1))
    return bits


def sample_bernoulli_rows(parts: int, size: int, octets: int, randomness: Randomness) -> Octets:
    """Draw independent bits that are 1 with probability exactly ``parts / ONE_PROBABILITY``, packed eight to a byte.

    Args:
        parts: Numerator of the probability; `ONE_PROBABILITY` is its denominator.
        size: Number of rows.
        octets: Bytes of a row.
        randomness: Source of the random bits.

    Returns:
        Rows of bytes, (size, octets).
    """
    draw = _sample_by_digits if count_binary_places(parts) <= FEW_BITS else _sample_by_octets
    return draw(parts, size * octets, randomness).reshape(size, octets)


def sample_uniform(outcomes: int, size: int, randomness: Randomness) -> IntArray:
    """Draw uniform integers from 0, ..., `outcomes` - 1, by multiplication and rejection (Lemire 2019).

    The product of a 32-bit word and `outcomes` has an upper half below `outcomes`. Products whose lower half is below
    ``2**32 % outcomes`` are rejected; then every upper half is equally frequent.

    Args:
        outcomes: Number of outcomes, at most 2**31.
        size: Number of integers.
        randomness: Source of the random bits.
    """
    products = np.frombuffer(randomness.random_bytes(4 * size), dtype="<u4").astype(np.uint64) * np.uint64(outcomes)
    half_word = 32  # bits of a random word of `sample_uniform`
    uneven = np.uint64((1 << half_word) % outcomes)
    rejected = np.flatnonzero((products & np.uint64((1 << half_word) - 1)) < uneven)
    outcome = (products >> np.uint64(half_word)).astype(np.int64)
    if rejected.size:
        outcome[rejected] = sample_uniform(outcomes, rejected.size, randomness)
    return outcome


def round_down(probability: Fraction) -> int:
    """Return a probability in integer units of 1 / `ONE_PROBABILITY`, rounded down; the result is never 1.

    Args:
        probability: Exact probability, from 0 to 1.
    """
    return min(int(probability * ONE_PROBABILITY), ONE_PROBABILITY - 1)


def round_up(probability: Fraction) -> int:
    """Return a probability in integer units of 1 / `ONE_PROBABILITY`, rounded up; the result is never 0.

    Args:
        probability: Exact probability, from 0 to 1.
    """
    return max(-int(-probability * ONE_PROBABILITY // 1), 1)


def count_binary_places(parts: int) -> int:
    """Return the number of binary digits of the probability ``parts / ONE_PROBABILITY``, trailing zeros left out.

    Args:
        parts: Probability in units of 1 / `ONE_PROBABILITY`.
    """
    return PROBABILITY_BITS - ((parts & -parts).bit_length() - 1) if parts else 0


def _sample_by_digits(numerator: int, size: int, randomness: Randomness) -> Octets:
    """Draw bytes of bits whose probability has few binary digits, with one random bit per digit and draw.

    The digits are used from the lowest set one upwards. If the probability so far is c, "and" with a random bit gives
    ``c / 2``, "or" gives ``(1 + c) / 2``.

    Args:
        numerator: Probability of a bit, in units of 1 / `ONE_PROBABILITY`.
        size: Number of bytes.
        randomness: Source of the random bits.
    """
    octets = np.zeros(size, dtype=np.uint8)
    for digit in range(PROBABILITY_BITS - count_binary_places(numerator), PROBABILITY_BITS):
        bits = np.frombuffer(randomness.random_bytes(size), dtype=np.uint8)
        octets = octets | bits if numerator >> digit & 1 else octets & bits
    return octets


def _sample_by_octets(numerator: int, size: int, randomness: Randomness) -> Octets:
    """Draw bytes of bits of any probability: a table maps 16 random bits to a byte of eight draws.

    The exact probability of a byte is a multiple of ``2**-512``. The byte gets as many of the 2**16 table entries as
    fit into it. The remainders, at most one entry for each of the 256 bytes, lie behind these entries. There an integer
    of 512 bits that begins with the same 16 decides, nearly always by its first 64 bits. So draws are exact, and eight
    bits cost 2 random bytes instead of 8.

    Args:
        numerator: Probability of a bit, in units of 1 / `ONE_PROBABILITY`.
        size: Number of bytes.
        randomness: Source of the random bits.
    """
    decided = _make_octet_table(numerator)
    octets = np.empty(size, dtype=np.uint8)
    words = randomness.sample_halfwords(size)
    look_up = _look_up_octets_compiled if loops_are_compiled() else _look_up_octets
    undecided = look_up(words, decided, octets)
    if undecided.size:
        octets[undecided] = decided.sample_undecided(words[undecided], randomness)
    return octets


class _OctetTable(NamedTuple):
    """Tables that draw eight biased bits at once by inversion of the distribution function.

    Attributes:
        octet_by_word: The byte that the first 16 bits select, where they decide.
        decided_words: Number of values of the 16 bits that decide; these come first.
        remainder_ends: Cumulative remainders of the probabilities of bytes, without the last, behind all decided
            entries, in units of ``2**-512``.
        upper_ends: The upper 64 bits of `remainder_ends`.
    """

    octet_by_word: Octets
    decided_words: int
    remainder_ends: tuple[int, ...]
    upper_ends: NDArray[np.uint64]

    def sample_undecided(self, words: Words, randomness: Randomness) -> Octets:
        """Draw the bytes of Bernoulli draws for random words whose 16 bits do not decide, by further random bits.

        Args:
            words: The random words of 16 bits.
            randomness: Source of the random bits.

        Returns:
            A byte for each word.
        """
        upper = words.astype(np.uint64) << np.uint64(_LONG - _SHORT)
        bits = upper | (randomness.sample_words(words.size) >> np.uint64(_SHORT))
        octets = np.searchsorted(self.upper_ends, bits)
        for row in np.flatnonzero(self.upper_ends[np.minimum(octets, len(self.upper_ends) - 1)] == bits):
            remaining = _ALL - _LONG
            full_bits = int(bits[row]) << remaining | int.from_bytes(randomness.random_bytes(remaining // 8), "little")
            octets[row] = sum(end <= full_bits for end in self.remainder_ends)
        return octets.astype(np.uint8)


@lru_cache(maxsize=64)  # a pure function of public facts
def _make_octet_table(numerator: int) -> _OctetTable:
    """Return the table that maps 16 random bits to a byte of eight Bernoulli draws. Tables are cached.

    Args:
        numerator: Probability of a bit, in units of 1 / `ONE_PROBABILITY`.
    """
    probabilities = [
        numerator**ones * (ONE_PROBABILITY - numerator) ** (_DRAWS_PER_LOOKUP - ones)
        for ones in map(int.bit_count, range(2**_DRAWS_PER_LOOKUP))
    ]
    decided, remainders = zip(*(divmod(probability, 1 << _ALL - _SHORT) for probability in probabilities), strict=True)
    by_word = np.zeros(2**_SHORT, dtype=np.uint8)
    by_word[: sum(decided)] = np.repeat(np.arange(2**_DRAWS_PER_LOOKUP), decided)
    ends = tuple(accumulate(remainders, initial=sum(decided) << _ALL - _SHORT))[1:-1]
    upper_ends = np.array([min(end >> _ALL - _LONG, 2**_LONG - 1) for end in ends], dtype=np.uint64)
    return _OctetTable(by_word, sum(decided), ends, upper_ends)


def _look_up_octets(words: Words, decided: _OctetTable, octets: Octets) -> IntArray:
    """Write the byte of draws for each 16-bit random word that decides it; return the positions of undecided words.

    Args:
        words: Random words of 16 bits.
        decided: Table of the byte for each word that decides.
        octets: Output, one byte for each word; undecided bytes are overwritten later.

    Returns:
        Positions of undecided words.
    """
    np.take(decided.octet_by_word, words, out=octets, mode="wrap")
    return np.flatnonzero(words >= decided.decided_words)


def _look_up_octets_compiled(words: Words, decided: _OctetTable, octets: Octets) -> IntArray:
    """Write for each random word the byte of eight random bits that a table gives it; return the positions of words
    without.

    Compiled form of `_look_up_octets`, which takes a third of the time.

    Args:
        words: Random words.
        decided: The table.
        octets: Output, one byte for each word; undecided bytes are overwritten later.

    Returns:
        Positions of undecided words.
    """
    undecided = np.empty(words.size, dtype=np.int64)
    return undecided[: _fill_octets(words, decided.octet_by_word, decided.decided_words, octets, undecided)]


@compile_loop
def _fill_octets(
    words: Words, by_word: Octets, decided_words: int, octets: Octets, undecided_positions: IntArray
) -> int:
    """Write the byte of draws for each random word that decides it, and the positions of the undecided words.

    Args:
        words: Random words.
        by_word: Byte for each value of a word.
        decided_words: Number of values that decide; these come first.
        octets: Output, one byte for each word.
        undecided_positions: Output, of the same length; only the first entries are meant.

    Returns:
        Number of undecided words.
    """
    undecided = 0
    grouped = len(words) // _WORDS_PER_GROUP * _WORDS_PER_GROUP
    for start in range(0, grouped, _WORDS_PER_GROUP):  # in groups, few of which contain an undecided word
        largest = words[start]
        for position in range(start, start + _WORDS_PER_GROUP):
            octets[position] = by_word[words[position]]
            largest = max(largest, words[position])
        for position in range(start, start + _WORDS_PER_GROUP if largest >= decided_words else start):
            undecided_positions[undecided] = position
            undecided += words[position] >= decided_words
    for position in range(grouped, len(words)):
        octets[position] = by_word[words[position]]
        undecided_positions[undecided] = position
        undecided += words[position] >= decided_words
    return undecided


Rows = NDArray[np.uint64]
"""Sets as bit masks, shape (sets, words); the lowest bit of the first word is the first element."""

_HALFWORD_VALUES = 2**16
"""Number of values of a random half word of 16 bits, from which uniform integers are drawn."""
_TRY, _LOOKED_UP = 12.0, 4.0
"""Cost, in random bytes, of inserting or removing an element, and of looking up a byte of draws; measured."""
_TRIES, _AT_ONCE = 32, 2**15
"""Random words that are drawn per unfinished set, and at most at once."""
_ONE, _TWO, _FOUR, _TOP = (np.uint64(shift) for shift in (1, 2, 4, 56))
"""Shifts of a population count of 64 bits."""
_PAIRS, _FOURS, _EIGHTS, _EACH = (np.uint64((2**64 - 1) // divisor) for divisor in (3, 5, 17, 255))
"""Masks of a population count: every second bit, pair and group of four; the lowest bit of each byte."""


def sample_uniform_sets(
    answers: IntArray, includes_answer: BoolArray, many: int, size: int, randomness: Randomness
) -> Rows:
    """Draw uniform sets of `size` of `many` elements, each with or without its given answer, as subset selection needs.

    Args:
        answers: SECRET. One element for each set.
        includes_answer: SECRET. Whether the set contains this element.
        many: Number of elements, at most 2**12.
        size: Size of a set, from 1 to ``many - 1``.
        randomness: Source of random words.

    Returns:
        Sets as bit masks, (sets, words of 64 bits).
    """
    word = 64  # bits of a word of a set
    words = -(-many // word)
    start_sets = sample_bernoulli_rows(choose_start_probability(many, size), len(answers), 8 * words, randomness)
    rows = start_sets.view(np.uint64)
    done = 0
    rows[:, -1] &= np.uint64((1 << many - word * (words - 1)) - 1)
    while done < len(answers):
        tries = randomness.sample_halfwords(min(_TRIES * (len(answers) - done) + _TRIES, _AT_ONCE))
        done = correct_set_sizes(rows, answers, includes_answer, many, size, tries, done)
    return rows


@lru_cache(maxsize=64)  # a pure function of public facts
def choose_start_probability(many: int, size: int) -> int:
    """Return the Bernoulli probability of the start sets of `sample_uniform_sets` that minimises the expected cost.

    The probability affects running time only: sets are uniform for every start probability.

    Args:
        many: Number of elements.
        size: Size of a set.

    Returns:
        The probability in units of 1 / `ONE_PROBABILITY`.
    """
    share = size / many
    deviation = sqrt(size * (1 - size / many)) / many
    coarse = [step * (ONE_PROBABILITY >> FEW_BITS) for step in range(1 << FEW_BITS)]
    fine = [int(max(share - step / 4 * deviation, 0) * ONE_PROBABILITY) for step in range(8)]
    return min((0, *coarse, *fine), key=lambda numerator: _estimate_set_cost(many, size, numerator))


def _estimate_set_cost(elements: int, size: int, numerator: int) -> float:
    """Return the expected number of random bytes that a random set costs, to choose how sampling starts.

    The size of the start set is approximated by a normal distribution.

    Args:
        elements: Number of elements.
        size: Size of a set.
        numerator: Probability of an element in the start set, in units of 1 / `ONE_PROBABILITY`.
    """
    places = count_binary_places(numerator)
    probability = numerator / ONE_PROBABILITY
    share = size / elements
    missing_elements = size - probability * elements
    deviation = sqrt(elements * probability * (1 - probability)) or 1e-9
    normal = (
        exp(-((missing_elements / deviation) ** 2) / 2) / sqrt(2 * pi),
        (1 + erf(missing_elements / deviation / sqrt(2))) / 2,
    )
    added = missing_elements * normal[1] + deviation * normal[0]
    tries = added / (1 - share) + (added - missing_elements) / share
    return (places if places <= FEW_BITS else _LOOKED_UP) * elements / 8 + _TRY * tries


@compile_loop
def correct_set_sizes(  # noqa: PLR0917
    rows: Rows, answers: IntArray, includes_answer: BoolArray, many: int, size: int, words: Words, done: int
) -> int:
    """Insert or remove uniform elements in place until each random set has the right size, while random words last;
    return the number of finished rows.

    While elements are lacking, a uniform element outside the set is inserted. While there are too many, a uniform
    element is removed. So sets of one size stay equally likely, for any distribution of start sizes. The answer never
    changes, because it counts as inside during insertion and as outside during removal. Uniform positions are upper
    halves of products; words whose lower half would bias them are rejected (Lemire 2019).

    Args:
        rows: Sets as bit masks, (sets, words of 64 bits), changed in place.
        answers: SECRET. One element for each set.
        includes_answer: SECRET. Whether the set contains this element.
        many: Number of elements.
        size: Size of a set.
        words: Random words of 16 bits.
        done: First row that is not finished.
    """
    used = 0
    uneven = _HALFWORD_VALUES % many
    low_halfword = np.uint32(_HALFWORD_VALUES - 1)
    for row in range(done, len(rows)):
        at = answers[row] >> 6
        answer = _ONE << np.uint64(answers[row] & 63)
        rows[row, at] &= ~answer
        lacking = size - np.int64(includes_answer[row])
        for word in range(rows.shape[1]):  # population count: pairs of bits, groups of four, bytes, words
            bits = rows[row, word]
            bits -= bits >> _ONE & _PAIRS
            bits = (bits & _FOURS) + (bits >> _TWO & _FOURS)
            lacking -= np.int64((bits + (bits >> _FOUR) & _EIGHTS) * _EACH >> _TOP)
        if lacking > 0:
            rows[row, at] |= answer
        while lacking > 0 and used < len(words):
            product = np.uint32(words[used]) * np.uint32(many)
            bit = np.uint64((product & low_halfword) >= uneven) << np.uint64(product >> 16 & 63)
            before = rows[row, product >> 22]
            rows[row, product >> 22] = before | bit  # branch-free, because the outcome is unpredictable
            lacking -= np.int64(before | bit != before)
            used += 1
        while lacking < 0 and used < len(words):
            product = np.uint32(words[used]) * np.uint32(many)
            bit = np.uint64((product & low_halfword) >= uneven) << np.uint64(product >> 16 & 63)
            before = rows[row, product >> 22]
            rows[row, product >> 22] = before & ~bit
            lacking += np.int64(before & ~bit != before)
            used += 1
        if lacking != 0:
            return row
        rows[row, at] = rows[row, at] & ~answer | answer * np.uint64(includes_answer[row])
    return len(rows)
