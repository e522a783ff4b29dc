"""The binary format of reports in the local model, and sets of the pseudonyms that were counted.

`ReportFormat` encodes and parses reports. Layout in bytes, with little-endian integers:

    header    "DPLR"  version 1  length of a message 3  hash of the task 16  number of records 4  checksum of it 4
    record    pseudonym 8  message  checksum of both 4

A file is a sequence of parts. A part is a header and its records. After damage, parsing continues at the next header of
the task. `HashedNameSet` stores the pseudonyms counted so far, so that each person counts once.

Formal guarantees: messages are randomised before they get here, so this module touches no true value.

>>> form = ReportFormat(version=1, task=bytes(16), message_octets=2)
>>> len(form.single_header), form.record_size  # bytes
(32, 14)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, compile_loop, loops_are_compiled
from dpcurves.noise.randomness import Randomness

Numbers = NDArray[np.uint64]
_FIRST, _MOST_AT_FIRST = 2**12, 2**22
"""Slots of a new hash table at least and at most, before it grows."""
_AHEAD = 32
"""Numbers whose places in the hash table are read ahead together, because memory latency dominates; the number changes
speed alone."""
RANDOM_PSEUDONYM = np.uint64(1 << 31)
"""The bit of a pseudonym (64 bits) that is set if it is random, and clear if it is a hash of a name. It is the highest
bit of the lower half, of which public coins read the lowest 24 bits at most, so they do not depend on it."""


def normalize_name(person: str) -> str:
    """Return a person's name in normal form: case-folded, compatible characters replaced (NFKC), single spaces.

    Args:
        person: Name as it was typed.
    """
    return " ".join(normalize("NFKC", normalize("NFKC", person).casefold()).split())


PSEUDONYM_SIZE = 8
"""Bytes of a pseudonym, which is the id of a person in a file of reports."""


Octets = NDArray[np.uint8]


def names_to_numbers(names: Octets) -> Numbers:
    """Return pseudonyms as little-endian integers, by which sets of pseudonyms sort and look up.

    Args:
        names: Pseudonyms, (people, 8) bytes.
    """
    return np.ascontiguousarray(names).view(f"<u{PSEUDONYM_SIZE}").reshape(-1).astype(np.uint64, copy=False)


def set_drawn_bit(names: Octets, drawn: bool) -> Octets:
    """Return pseudonyms with the bit set or cleared that marks random ones, as opposed to hashes of names.

    Args:
        names: Pseudonyms, (people, 8) bytes.
        drawn: Whether the pseudonyms are random.

    Returns:
        Changed copies, of the same shape.
    """
    numbers = names_to_numbers(names)
    numbers = numbers | RANDOM_PSEUDONYM if drawn else numbers & ~RANDOM_PSEUDONYM
    return numbers.astype(f"<u{PSEUDONYM_SIZE}").view(np.uint8).reshape(-1, PSEUDONYM_SIZE)


def has_drawn_names(names: Octets) -> bool:
    """Return True if any pseudonym is random, so that the same person has a different one in another round.

    Args:
        names: Pseudonyms as bytes, of shape ``(people, 8)``.
    """
    return bool((names_to_numbers(names) & RANDOM_PSEUDONYM).any())


class HashedNameSet:
    """A hash set of 8-byte pseudonyms, by multiplicative hashing with a random odd number (Dietzfelbinger et al.).

    The multiplier is secret, so attackers cannot choose colliding pseudonyms. Results equal the results of
    `SortedNameSet`, and take a third of the time if loops are compiled. At most three quarters of the slots are used.
    """

    def __init__(self, about: int = 0) -> None:
        """Make an empty set of pseudonyms.

        Args:
            about: Expected number of pseudonyms; it sets the first size of the table, and the table grows as needed.
        """
        self.count = 0
        self._key = Randomness.from_system().sample_words(1)[0] | np.uint64(1)
        places = 1 << (4 * about // 3).bit_length()
        self._table = np.zeros(min(max(places, _FIRST), _MOST_AT_FIRST) + 1, dtype=np.uint64)

    def mark_new(self, names: Octets) -> BoolArray:
        """Add pseudonyms, and return a mask of the new ones.

        Args:
            names: Pseudonyms, (people, 8) bytes.

        Returns:
            True where the pseudonym is neither in the set nor earlier in `names`.
        """
        numbers = np.ascontiguousarray(names.view(f"<u{PSEUDONYM_SIZE}").reshape(-1), dtype=np.uint64)
        while 4 * (self.count + len(numbers)) > 3 * (len(self._table) - 1):
            old_table, zero = self._table[:-1], self._table[-1]
            stored = old_table[old_table != 0]
            self._table = np.zeros(2 * len(old_table) + 1, dtype=np.uint64)
            self._table[-1] = zero
            _insert_numbers(stored, self._table, self._key, self._hash_shift, np.empty(len(stored), dtype=np.bool_))
        is_new = np.empty(len(numbers), dtype=np.bool_)
        _insert_numbers(numbers, self._table, self._key, self._hash_shift, is_new)
        self.count += int(np.count_nonzero(is_new))
        return is_new

    def list_names(self) -> Numbers:
        """Return all pseudonyms of the set as sorted integers."""
        slots = self._table[:-1]
        zero = np.zeros(int(self._table[-1] != 0), dtype=np.uint64)
        return np.sort(np.concatenate([zero, slots[slots != 0]]))

    @property
    def _hash_shift(self) -> np.uint64:
        """Number of bits by which a 64-bit hash product is shifted right to give a slot of the table."""
        return np.uint64(64 + 1 - (len(self._table) - 1).bit_length())  # bits of a pseudonym as an integer


@compile_loop
def _insert_numbers(numbers: Numbers, table: Numbers, key: np.uint64, shift: np.uint64, first: BoolArray) -> np.uint64:
    """Insert pseudonyms into a hash table by linear probing, and write to `first` which ones were new.

    A free slot holds 0. The last slot stores whether the number 0 itself was inserted; no product points there. The
    slots of the next numbers are read ahead together, because memory latency dominates.

    Args:
        numbers: Pseudonyms as integers.
        table: Slots, a power of two of them, and the slot of the number 0.
        key: The odd multiplier.
        shift: Right shift of a product.
        first: Output, one mark for each number.

    Returns:
        The union of the slots that were read ahead. It only keeps the compiler from dropping these reads.
    """
    places = np.int64(len(table) - 1)
    visited = np.uint64(0)
    for row in range(len(numbers)):
        for ahead in range(row, min(row + _AHEAD, len(numbers)) if row % _AHEAD == 0 else row):
            visited |= table[np.int64((numbers[ahead] * key) >> shift)]
        number = numbers[row]
        slot = np.int64((number * key) >> shift)
        if number == 0:
            slot = places
        while slot < places and table[slot] != 0 and table[slot] != number:
            slot = (slot + 1) & (places - 1)
        first[row] = table[slot] == 0
        table[slot] = number if number != 0 else np.uint64(1)
    return visited


MAGIC = b"DPLR"
"""First bytes of a header of a file of reports; data that begins otherwise is no such file."""
COUNT_SIZE = 8
"""Bytes of the number of records in a header of a file of reports: 4, and 4 of its checksum."""
CHECKSUM_SIZE = 4
"""Bytes of the checksum of a record; a record whose checksum is wrong is skipped and counted as damaged."""
MOST_RECORDS_AT_ONCE = 2**17
"""Largest number of records that are parsed together, which bounds memory; longer files are parsed in several steps."""
SEARCHED_BYTES = 2**16
"""Bytes in which the next header is looked for in one step after damage in a file; longer damage takes several
steps."""


class ReportBatch(NamedTuple):
    """Consecutive records of a file.

    Attributes:
        names: Pseudonym of each person, shape (records, 8).
        messages: Message of each person, shape (records, octets).
        damaged_count: Number of damaged records, or records of other tasks, before these.
    """

    names: Octets
    messages: Octets
    damaged_count: int


@dataclass(frozen=True)
class ReportFormat:
    """The binary format of one task's reports: encodes records, and parses files with damaged parts.

    The layout is in the module docstring. The checksum of a record detects damage, not forgery.

    Attributes:
        version: Version of the format.
        task: First 16 bytes of the hash of the task.
        message_octets: Length of a message, in bytes.
    """

    TASK: ClassVar[int] = 16

    version: int
    task: bytes
    message_octets: int

    @property
    def header_prefix(self) -> bytes:
        """First bytes of every header of the task's reports, up to the number of records."""
        return MAGIC + bytes([self.version]) + self.message_octets.to_bytes(3, "little") + self.task

    @classmethod
    def from_header(cls, data: bytes | memoryview) -> ReportFormat | None:
        """Return the format of reports that the header of a file states; None if the file does not begin with a header.

        Args:
            data: The file, or at least its first 24 bytes.
        """
        head = bytes(data[: len(MAGIC) + 4 + cls.TASK])
        if len(head) < len(MAGIC) + 4 + cls.TASK or not head.startswith(MAGIC):
            return None
        return cls(head[4], head[8:], int.from_bytes(head[5:8], "little"))

    @property
    def single_header(self) -> bytes:
        """Header that precedes a report which stands alone: of a part of the file with one record."""
        return self.header_prefix + encode_count(1)

    @property
    def record_size(self) -> int:
        """Length of a record in bytes."""
        return PSEUDONYM_SIZE + self.message_octets + CHECKSUM_SIZE

    def encode_report(self, name: bytes, message: bytes) -> bytes:
        """Return the report of one person as bytes: header, pseudonym, message and checksum.

        Args:
            name: Pseudonym, 8 bytes.
            message: Message, `message_octets` bytes.
        """
        rows = np.frombuffer(name, dtype=np.uint8)[None], np.frombuffer(message, dtype=np.uint8)[None]
        return self.encode_reports(*rows)

    def encode_reports(self, names: Octets, messages: Octets) -> bytes:
        """Return the reports of many people as bytes, under one header.

        Args:
            names: Pseudonyms, (people, 8) bytes.
            messages: Messages, (people, octets) bytes.
        """
        return self.header_prefix + encode_count(len(names)) + self._append_checksums(names, messages).tobytes()

    def encode_reports_singly(self, names: Octets, messages: Octets) -> bytes:
        """Return the records of many people, each with its own header, so that a server can append them to its file one
        by one.

        Args:
            names: Pseudonyms, (people, 8) bytes.
            messages: Messages, (people, octets) bytes.
        """
        heads = np.tile(np.frombuffer(self.single_header, dtype=np.uint8), (len(names), 1))
        return np.concatenate([heads, self._append_checksums(names, messages)], axis=1).tobytes()

    def _append_checksums(self, names: Octets, messages: Octets) -> Octets:
        """Return one record per person: name hash, message and checksum, ``(people, record_size)`` bytes.

        Args:
            names: Pseudonyms as bytes, of shape ``(people, 8)``.
            messages: Message of each person, of shape ``(people, message_octets)``.
        """
        content = np.concatenate([names, messages], axis=1)
        checks = self._compute_checksums(content).astype("<u4").view(np.uint8).reshape(-1, CHECKSUM_SIZE)
        return np.concatenate([content, checks], axis=1)

    def parse_reports(self, data: bytes | memoryview) -> Iterator[ReportBatch]:
        """Yield the reports of this task with valid checksums from the bytes of a file, in batches.

        After damage, parsing continues at the next header of the task. The bytes in between count as one damaged
        record.

        Args:
            data: Any number of parts (header and records), one after another.
        """
        view = memoryview(data).cast("B")
        position = 0
        damaged = 0
        length = len(self.header_prefix) + COUNT_SIZE
        while position < len(view):
            announced = self._parse_header(view, position)
            if announced is None:
                damaged = damaged + 1
                position = self._find_header(view, position + 1)
                continue

            # Devices that report one by one write parts of one record: these are parsed together.
            singles = self._count_single_parts(view, position)
            if singles:
                singles_rows = np.frombuffer(
                    view[position:], dtype=np.uint8, count=singles * (length + self.record_size)
                )
                yield self._verify_checksums(singles_rows.reshape(singles, -1)[:, length:], damaged)
                damaged = 0
                position = position + len(singles_rows)
                continue

            # A part may be larger than one parsed chunk, or cut off.
            position += length
            available = min(announced, (len(view) - position) // self.record_size, MOST_RECORDS_AT_ONCE)
            yield self._verify_checksums(self._view_records(view, position, available), damaged)
            damaged = 0
            position = position + available * self.record_size
            remaining = announced - available
            while remaining and available == MOST_RECORDS_AT_ONCE:
                available = min(remaining, (len(view) - position) // self.record_size, MOST_RECORDS_AT_ONCE)
                yield self._verify_checksums(self._view_records(view, position, available), 0)
                position = position + available * self.record_size
                remaining = remaining - available
            if remaining:
                damaged = damaged + 1
                position = self._find_header(view, position)
        if damaged:
            yield ReportBatch(
                np.zeros((0, PSEUDONYM_SIZE), np.uint8), np.zeros((0, self.message_octets), np.uint8), damaged
            )

    def _parse_header(self, view: memoryview, position: int) -> int | None:
        """Return the number of records that a header announces.

        None if `position` has no complete header of this task, or its checksum is wrong.

        Args:
            view: Bytes of a file, or of a part of it.
            position: Index of the header's first byte.
        """
        header = bytes(view[position : position + len(self.header_prefix) + COUNT_SIZE])
        count = int.from_bytes(header[len(self.header_prefix) : len(self.header_prefix) + 4], "little")
        return count if header == self.header_prefix + encode_count(count) else None

    def _view_records(self, view: memoryview, position: int, records: int) -> Octets:
        """Return the bytes of consecutive records as rows, without a copy.

        Args:
            view: Content of the file.
            position: Offset of the first record in bytes.
            records: Number of records.
        """
        flat = np.frombuffer(view[position : position + records * self.record_size], dtype=np.uint8)
        return flat.reshape(records, self.record_size)

    def _count_single_parts(self, view: memoryview, position: int) -> int:
        """Return the number of consecutive reports with a header each, at most one batch, so that they are parsed
        together.

        Args:
            view: Content of the file.
            position: Index of the first header.
        """
        header = self.single_header
        stride = len(header) + self.record_size
        rows_in_batch = min((len(view) - position) // stride, MOST_RECORDS_AT_ONCE)
        if rows_in_batch < 1:
            return 0
        rows = np.frombuffer(view[position : position + rows_in_batch * stride], dtype=np.uint8).reshape(
            rows_in_batch, stride
        )
        differs = (rows[:, : len(header)] != np.frombuffer(header, dtype=np.uint8)).any(axis=1)
        return int(differs.argmax()) if differs.any() else rows_in_batch

    def _find_header(self, view: memoryview, position: int) -> int:
        """Return the position of the next header of this task after damage; the length of `view` if there is none.

        Args:
            view: Content of the file.
            position: Index at which the search begins.
        """
        while position < len(view):
            match = bytes(view[position : position + SEARCHED_BYTES + len(self.header_prefix)]).find(self.header_prefix)
            if match >= 0:
                return position + match
            position += SEARCHED_BYTES
        return len(view)

    def _verify_checksums(self, rows: Octets, damaged: int) -> ReportBatch:
        """Return the records with a valid checksum, and the number of damaged ones.

        Args:
            rows: Records, (records, `record_size`) bytes.
            damaged: Number of damaged records before these, which is added.
        """
        content = rows[:, : PSEUDONYM_SIZE + self.message_octets]
        checks = rows[:, PSEUDONYM_SIZE + self.message_octets :].view("<u4")
        is_valid: BoolArray = checks.reshape(-1) == self._compute_checksums(content)
        invalid_count = int(len(is_valid) - np.count_nonzero(is_valid))
        valid = content[is_valid] if invalid_count else content
        return ReportBatch(valid[:, :PSEUDONYM_SIZE], valid[:, PSEUDONYM_SIZE:], damaged + invalid_count)

    def _compute_checksums(self, content: Octets) -> NDArray[np.uint32]:
        """Return a checksum of each row: the sum of its bytes times odd weights, modulo 2**32.

        Odd weights are invertible, so any single changed byte changes the sum. Other errors are detected with high
        probability. The task determines the weights, so records of another task fail too.

        Args:
            content: Rows, (people, bytes).

        Returns:
            Checksums, (people,).
        """
        weights = self._checksum_weights
        checksums = np.empty(len(content), dtype=np.uint32)
        if loops_are_compiled():
            _fill_weighted_sums(content, weights, checksums)
        else:
            checksums[:] = _sum_weighted_octets(content, weights)
        return checksums

    @cached_property
    def _checksum_weights(self) -> NDArray[np.uint32]:
        """The odd weights of the bytes in a record's checksum, which depend on the task, of shape ``(8 +
        message_octets,)``.
        """
        source = Randomness.from_key(self.task * 2, "checks")
        return source.sample_words(PSEUDONYM_SIZE + self.message_octets).astype(np.uint32) | np.uint32(1)


def _sum_weighted_octets(content: Octets, weights: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the checksum of each row: the first weight plus each byte times its weight, modulo 2**32.

    Args:
        content: Rows of bytes, of shape ``(rows, octets)``.
        weights: Weight of each byte, of shape ``(octets,)``.

    Returns:
        Array of shape ``(rows,)``.
    """
    return np.asarray((content.astype(np.uint32) * weights).sum(axis=1, dtype=np.uint32) + weights[0])


@compile_loop
def _fill_weighted_sums(content: Octets, weights: NDArray[np.uint32], sums: NDArray[np.uint32]) -> None:
    """Write the checksum of each record; the compiled form of `_sum_weighted_octets`.

    Args:
        content: Octets of the rows, (rows, columns).
        weights: Odd weights of the columns, (columns,); the first is also the start of each sum.
        sums: Receives the checksums, (rows,).
    """
    for row in range(len(content)):
        total = weights[0]
        for column in range(content.shape[1]):
            total += np.uint32(content[row, column]) * weights[column]
        sums[row] = total


def map_report_file(path: str | Path) -> memoryview:
    """Map a file of reports into memory.

    Args:
        path: Path of a regular file; it may be empty.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        size = Path(path).stat().st_size
        data: Any = np.memmap(path, dtype=np.uint8, mode="r") if size else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a regular file"
        raise InvalidArgument(
            "reports", f"the file cannot be read ({reason}); name a file of reports of the local model"
        ) from None
    return memoryview(data)


def encode_count(records: int) -> bytes:
    """Return the number of records of a header as 8 bytes, with a checksum that detects any changed byte.

    Args:
        records: Number of records.
    """
    return records.to_bytes(4, "little") + (records * 2654435761 + 1 & 0xFFFFFFFF).to_bytes(4, "little")
