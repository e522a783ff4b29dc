"""SECRET. Prio3Histogram of the VDAF draft, for two servers: a record is shared with a proof that it is a
single cell.

    Prio3Histogram    makes shares and proofs; each server makes a message about each report, and decides by both
    OneHotShares      the shares that owners send
    VerifiedCells     one server's shares of some reports, with its messages about them

Formal guarantees: a server's share and both messages reveal nothing about an honest owner's record. Both properties,
privacy and soundness, are stated at `Prio3Histogram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import loops_are_compiled

from . import field, plain

NONCE_SIZE = 16
"""Bytes of a report's public nonce, its report id in DAP; other lengths are refused."""
RANDOM_SIZE = 4 * field.XOF_SEED_SIZE
"""Bytes of randomness that sharing one record takes: the helper's seed and blind, the leader's blind, and the proof's
seed."""
_ONE_PROOF = bytes([1])
"""Number of proofs in a report, as the byte that the VDAF draft prefixes to the input of the XOF."""


class Usage(IntEnum):
    """Numbers that the draft gives to the usages of streams of random bytes."""

    MEASUREMENT_SHARE = 1
    """The helper's share of the measurement."""
    PROOF_SHARE = 2
    """The helper's share of the proof."""
    JOINT_RANDOMNESS = 3
    PROVE_RANDOMNESS = 4
    QUERY_RANDOMNESS = 5
    JOINT_RAND_SEED = 6
    """Seed of the joint randomness."""
    JOINT_RAND_PART = 7
    """One server's part of this seed."""


class Aggregator(IntEnum):
    """Numbers of the servers."""

    LEADER = 0
    """Has explicit shares."""
    HELPER = 1
    """Has seeds, from which it expands its shares."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class OneHotShares:
    """SECRET as a whole: the shares that owners send. Each server gets the public share and its own input share only.

    Attributes:
        public: Public share of each report: hashes, blinded, of both input shares.
        inputs: Input shares for server 0, the leader, and for server 1, the helper.
    """

    public: list[bytes]
    inputs: tuple[list[bytes], list[bytes]]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class VerifiedCells:
    """SECRET: one server's shares of the cells of some reports, and its verification messages to the other server.

    Attributes:
        scheme: Scheme of the reports.
        party: Number of this server.
        cells: ``(reports, length, 2)`` words of field elements.
        messages: ``(reports, scheme.message_size)`` bytes; they reveal nothing new to the other server.
        seeds: The seed of the joint randomness that this server worked with, ``(reports, 32)`` bytes.
    """

    scheme: Prio3Histogram
    party: int
    cells: field.Words
    messages: NDArray[np.uint8]
    seeds: NDArray[np.uint8]

    def find_accepted(self, messages: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the reports that may count, given the other server's messages.

        Raises:
            ValueError: the number of messages differs.
        """
        return self.scheme.find_accepted(self.party, self.messages, self.seeds, messages)

    def sums(self) -> list[int]:
        """SECRET: return this server's share of the number of reports in each cell, modulo the field's modulus."""
        return field.sum_rows(self.cells)


@dataclass(frozen=True)
class Prio3Histogram:
    """Scheme of verifiable reports of one cell out of `length` for two servers: Prio3Histogram of the VDAF draft 20.

    A cell is encoded as a one-hot vector in the field of `MODULUS`. Server 1 has a seed of its share, server 0 the
    rest. The proof (a fully linear proof of Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai, 2019) is shared in the same
    way. A sum over chunks of `chunk_length` cells of products ``r**j * x * (x - 1)`` of *wires* is 0 if all cells are 0
    or 1, and only then for nearly all r; together with the sum of the cells, which is 1, it shows that the vector is
    one-hot.

    Formal guarantees: *privacy*. One server with any behaviour sees, of an honest owner's report, its own share and the
    other server's message; it could have drawn both itself, if streams are random oracles. *Proof.* Server 1's share is
    uniform seeds, and server 0's is masked by streams of seeds that it lacks. The public share is hashes with blinds,
    of which it has its own. The message holds values of wires at a point that neither owner nor server chooses after
    the report is made, because the verification key is older: values are masked by uniform starts of the wires, unless
    the point is a node (refused by both). The value of the polynomial is then determined, and the sum that must be 0 is
    the negative of the server's own share. So for any answer of the server, whether the report is dropped is a function
    of its earlier knowledge. A report has the same point in each verification, so repetition reveals nothing more.
    *Soundness*: a report that passes at two honest servers is one-hot, except with probability below ``(q + 1) *
    2**-118``, for up to 2**12 cells, if its owner has computed q hashes and does not know the verification key.
    *Proof.* Each r is a hash of both shares, and a nonzero polynomial of degree `chunk_length` has r as a root with
    probability of at most ``chunk_length / MODULUS``, for each of q tries. A polynomial other than the true one agrees
    with it at the point with probability of at most ``2 * points / MODULUS``, since the point is a hash under a key
    that the owner lacks. The two numbers that must be 0 are added with random factors: ``1 / MODULUS``. *Not covered*:
    that the cell is the owner's true cell.

    Attributes:
        PUBLIC_SIZE: Bytes of a public share.
        length: Number of cells.
        chunk_length: Products per gadget call: messages and wire starts grow with it, the number of calls shrinks.
        context: Context of all streams, such as a task.

    Raises:
        ValueError: there are no cells, or no products in a call.

    >>> scheme = Prio3Histogram(5, 2, b"some task")
    >>> shares = scheme.shard(np.array([3, 1]), [bytes(16), bytes(15) + b"1"], [bytes(range(128))] * 2)
    >>> first, second = (
    ...     scheme.verify_init(party, shares.public, shares.inputs[party], [bytes(16), bytes(15) + b"1"], bytes(32))
    ...     for party in (0, 1)
    ... )
    >>> first.find_accepted(second.messages).tolist()
    [True, True]
    >>> [sum(both) % field.MODULUS for both in zip(first.sums(), second.sums())]
    [0, 1, 0, 1, 0]
    """

    PUBLIC_SIZE: ClassVar[int] = 2 * field.XOF_SEED_SIZE

    length: int
    chunk_length: int
    context: bytes

    def __post_init__(self) -> None:
        if self.length < 1 or not 1 <= self.chunk_length <= self.length:
            raise InvalidArgument(
                "length, chunk",
                f"must be at least 1 cell, and a chunk of 1 to all cells, got {self.length} and {self.chunk_length}",
            )

    @classmethod
    def with_smallest_reports(cls, length: int, context: bytes) -> Prio3Histogram:
        """Return the scheme whose chunk length makes a report smallest.

        The size is that of its proof and of both servers' messages.

        Args:
            length: Number of cells.
            context: Bytes that bind shares to a task.
        """
        schemes = (cls(length, chunk, context) for chunk in range(1, length + 1))
        return min(
            schemes,
            key=lambda scheme: (
                scheme.proof_length * field.ELEMENT_SIZE + 2 * scheme.message_size,
                scheme.chunk_length,
            ),
        )

    @property
    def calls(self) -> int:
        """Number of gadget calls, one per chunk."""
        return -(-self.length // self.chunk_length)

    @property
    def points(self) -> int:
        """Number of nodes of a wire polynomial: its random start and one for each call, padded to a power of 2."""
        return 1 << self.calls.bit_length()

    @property
    def proof_length(self) -> int:
        """Number of field elements of a proof."""
        return 2 * self.chunk_length + 2 * self.points - 1

    @property
    def message_size(self) -> int:
        """Size in bytes of a server's verification message about one report."""
        return field.ELEMENT_SIZE * (2 * self.chunk_length + 2) + field.XOF_SEED_SIZE

    def input_size(self, party: int) -> int:
        """Return the size in bytes of one input share of a server.

        Args:
            party: Number of the server: 0 the leader, 1 the helper.
        """
        if party:
            return 2 * field.XOF_SEED_SIZE
        return field.ELEMENT_SIZE * (self.length + self.proof_length) + field.XOF_SEED_SIZE

    def shard(self, cells: NDArray[np.int64], nonces: Sequence[bytes], randomness: Sequence[bytes]) -> OneHotShares:
        """Share the one-hot vector of each report's cell between two servers, with a proof of validity
        (Prio3Histogram's shard).

        Args:
            cells: SECRET. ``(reports,)``.
            nonces: Public nonces of 16 bytes, all different.
            randomness: SECRET. 128 uniform bytes for each report.

        Raises:
            ValueError: a cell is out of range, or nonces or randomness have wrong sizes.
        """
        if np.any((cells < 0) | (cells >= self.length)):
            raise InvalidArgument("cells", f"must be indices of cells from 0 to {self.length - 1}")
        if {len(octets) for octets in nonces} - {NONCE_SIZE} or {len(octets) for octets in randomness} - {RANDOM_SIZE}:
            raise InvalidArgument(
                "nonces, randomness", f"must have {NONCE_SIZE} and {RANDOM_SIZE} bytes for each report"
            )
        seeds, blinds, own_blinds, proving = (
            [octets[start : start + field.XOF_SEED_SIZE] for octets in randomness]
            for start in range(0, RANDOM_SIZE, field.XOF_SEED_SIZE)
        )
        helper, masks = self._expand_helper(seeds)
        vectors = np.zeros((len(cells), self.length, 2), np.uint64)
        vectors[np.arange(len(cells)), cells, 0] = 1
        leader = field.subtract_elements(vectors, helper)
        joint_rand_parts = [
            self._joint_rand_parts(party, party_blinds, nonces, shares)
            for party, (party_blinds, shares) in enumerate(((own_blinds, leader), (blinds, helper)))
        ]
        public = [first + second for first, second in zip(*joint_rand_parts, strict=True)]
        starts = field.expand_elements(
            self._tag(Usage.PROVE_RANDOMNESS), ((seed, _ONE_PROOF) for seed in proving), 2 * self.chunk_length
        )
        sums = np.empty((len(cells), 2 * self.points - 1, 2), np.uint64)
        _prove_reports(
            self, np.asarray(cells, np.int64), starts, self._expand_joint_rand(self._joint_rand_seeds(public)), sums
        )
        proofs = field.subtract_elements(np.concatenate([starts, sums], axis=1), masks)
        rows = zip(field.encode_rows(leader), field.encode_rows(proofs), own_blinds, strict=True)
        return OneHotShares(
            public, ([b"".join(row) for row in rows], [a + b for a, b in zip(seeds, blinds, strict=True)])
        )

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse input shares of a server that have another size or, at the leader, numbers not below the modulus.

        Args:
            party: Number of the server: 0 the leader, 1 the helper.
            shares: Encoded input shares, one for each report.

        Raises:
            ValueError: a share is invalid.
        """
        if any(len(share) != self.input_size(party) for share in shares):
            raise InvalidArgument(
                "shares", f"must have {self.input_size(party)} bytes; contribute again with this task's document"
            )
        if party == Aggregator.LEADER:
            field.require_elements(self._decode_shares(shares), "shares")

    def verify_init(
        self, party: int, public: Sequence[bytes], shares: Sequence[bytes], nonces: Sequence[bytes], key: bytes
    ) -> VerifiedCells:
        """SECRET: return one server's shares of the cells, and its verification messages to the other server.

        Args:
            party: 0 (leader) or 1 (helper).
            public: Public shares.
            shares: Input shares of this server.
            nonces: Nonces of the reports.
            key: Verification key of 32 bytes, known to both servers and to no owner, older than all reports.

        Raises:
            ValueError: a share is invalid.
        """
        self.require_shares(party, shares)
        blinds = [share[-field.XOF_SEED_SIZE :] for share in shares]
        if party == Aggregator.LEADER:
            numbers = self._decode_shares(shares)
            cells, proofs = numbers[:, : self.length], numbers[:, self.length :]
        else:
            cells, proofs = self._expand_helper([share[: field.XOF_SEED_SIZE] for share in shares])
        own_parts = self._joint_rand_parts(party, blinds, nonces, cells)
        other_part = (
            slice(field.XOF_SEED_SIZE, 2 * field.XOF_SEED_SIZE)
            if party == Aggregator.LEADER
            else slice(field.XOF_SEED_SIZE)
        )
        part_pairs = (
            (own_part, report_parts[other_part]) for own_part, report_parts in zip(own_parts, public, strict=True)
        )
        seeds = self._joint_rand_seeds([a + b if party == Aggregator.LEADER else b + a for a, b in part_pairs])
        # 3: field elements of query randomness per report: two factors of the sum that must be 0, and the point
        query = field.expand_elements(
            self._tag(Usage.QUERY_RANDOMNESS), ((key, _ONE_PROOF + nonce) for nonce in nonces), 3
        )
        verifier_shares = np.empty((len(shares), 2 * self.chunk_length + 2, 2), np.uint64)
        starts, sums = proofs[:, : 2 * self.chunk_length], proofs[:, 2 * self.chunk_length :]
        _query_reports(
            self.points, field.QueryInputs(cells, starts, sums, self._expand_joint_rand(seeds), query), verifier_shares
        )
        messages = [
            numbers + own_part for numbers, own_part in zip(field.encode_rows(verifier_shares), own_parts, strict=True)
        ]
        return VerifiedCells(
            self, party, cells, _as_rows(messages, self.message_size), _as_rows(seeds, field.XOF_SEED_SIZE)
        )

    def find_accepted(
        self, party: int, own_messages: NDArray[np.uint8], seeds: NDArray[np.uint8], peer_messages: NDArray[np.uint8]
    ) -> NDArray[np.bool_]:
        """Return which reports pass: both messages add up to a valid proof, and both servers used the same seed.

        Args:
            party: Number of the server that decides.
            own_messages: Messages of this server, ``(reports, message_size)``.
            seeds: Joint randomness seeds that it used, ``(reports, 32)``.
            peer_messages: Messages of the other server.

        Returns:
            True where a report passes, ``(reports,)``.

        Raises:
            ValueError: the number of messages differs.
        """
        if peer_messages.shape != own_messages.shape:
            raise InvalidArgument("messages", f"must have shape {own_messages.shape}, got {peer_messages.shape}")
        numbers = [
            field.decode_words(messages[:, : -field.XOF_SEED_SIZE].tobytes(), len(messages), 2 * self.chunk_length + 2)
            for messages in (own_messages, peer_messages)
        ]
        canonical = np.asarray(field.are_elements(numbers[1]).all(axis=1))
        passed = np.zeros(len(own_messages), np.bool_)
        _decide_reports(numbers[0], numbers[1] * canonical[:, None, None].astype(np.uint64), passed)
        joint_rand_parts = [own_messages[:, -field.XOF_SEED_SIZE :], peer_messages[:, -field.XOF_SEED_SIZE :]]
        joint_parts = np.hstack(joint_rand_parts if party == Aggregator.LEADER else joint_rand_parts[::-1])
        joint_seeds = _as_rows(self._joint_rand_seeds([row.tobytes() for row in joint_parts]), field.XOF_SEED_SIZE)
        return np.asarray(passed & canonical & (joint_seeds == seeds).all(axis=1))

    @cached_property
    def _tags(self) -> dict[Usage, bytes]:
        """The domain separation tag of each usage of a stream."""
        tag = field.DomainSeparationTag(4, self.context)  # the draft's number of Prio3Histogram
        return {usage: tag.to_bytes(usage) for usage in Usage}

    def _tag(self, usage: Usage) -> bytes:
        """Return the domain separation tag of one usage of a stream."""
        return self._tags[usage]

    def _decode_shares(self, shares: Sequence[bytes]) -> field.Words:
        """SECRET: return the field elements of the leader's input shares, (reports, length + proof_length, 2), without
        blinds.
        """
        octets = b"".join(share[: -field.XOF_SEED_SIZE] for share in shares)
        return field.decode_words(octets, len(shares), self.length + self.proof_length)

    def _expand_helper(self, seeds: Sequence[bytes]) -> tuple[field.Words, field.Words]:
        """SECRET: return the helper's shares, which its seeds expand to.

        Returns cells (reports, length, 2) and proofs (reports, proof_length, 2).
        """
        helper = bytes([Aggregator.HELPER])
        cells = field.expand_elements(
            self._tag(Usage.MEASUREMENT_SHARE), ((seed, helper) for seed in seeds), self.length
        )
        return cells, field.expand_elements(
            self._tag(Usage.PROOF_SHARE), ((seed, _ONE_PROOF + helper) for seed in seeds), self.proof_length
        )

    def _joint_rand_parts(
        self, party: int, blinds: Sequence[bytes], nonces: Sequence[bytes], cells: field.Words
    ) -> list[bytes]:
        """Return a server's parts of the joint randomness seeds: hashes of its shares.

        Args:
            party: Number of the server.
            blinds: Blind of each report.
            nonces: Nonce of each report.
            cells: The server's share of each report's cells.
        """
        tag = self._tag(Usage.JOINT_RAND_PART)
        rows = zip(blinds, nonces, field.encode_rows(cells), strict=True)
        return [
            field.expand_xof(tag, blind, bytes([party]) + nonce + row, field.XOF_SEED_SIZE)
            for blind, nonce, row in rows
        ]

    def _joint_rand_seeds(self, both: Sequence[bytes]) -> list[bytes]:
        """Return the seed of each report's joint randomness, from both servers' concatenated parts.

        Args:
            both: For each report, the leader's part and then the helper's part.

        Returns:
            Seeds in the order of the reports.
        """
        return [
            field.expand_xof(
                self._tag(Usage.JOINT_RAND_SEED), bytes(field.XOF_SEED_SIZE), report_parts, field.XOF_SEED_SIZE
            )
            for report_parts in both
        ]

    def _expand_joint_rand(self, seeds: Sequence[bytes]) -> field.Words:
        """Return the joint randomness that the seeds expand to: field elements ``(reports, calls, 2)``."""
        return field.expand_elements(
            self._tag(Usage.JOINT_RANDOMNESS), ((seed, _ONE_PROOF) for seed in seeds), self.calls
        )


def _as_rows(texts: Sequence[bytes], size: int) -> NDArray[np.uint8]:
    """Return byte strings of `size` bytes each as an array ``(len(texts), size)``.

    Args:
        texts: Byte strings, all of this size.
        size: Bytes of each string.
    """
    return np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), size)


@cache
def _import_loops() -> Any:
    """Import the module of compiled Prio3 loops, and return it; None if numba is not installed."""
    if not loops_are_compiled():
        return None
    from . import loops

    return loops


def _to_montgomery(numbers: Sequence[int]) -> field.Words:
    """Convert integers to Montgomery form (times 2**128 modulo the prime), in which compiled loops multiply."""
    return field.from_integers([number << 128 for number in numbers])


@cache
def _montgomery_nodes(points: int) -> tuple[field.Words, field.Words]:
    """Return the roots of unity of order ``2 * points``, and the inverses of 2, `points` and ``2 * points``.

    All are in Montgomery form.
    """
    inverses = (pow(number, -1, field.MODULUS) for number in (2, points, 2 * points))
    return _to_montgomery(field.roots_of_unity(2 * points)), _to_montgomery(list(inverses))


@cache
def _odd_node_values(points: int, calls: int) -> tuple[list[int], list[int]]:
    """Return two lists of values at the odd roots of unity.

    The first is the Lagrange polynomial that is 1 at node 0. The second is the sum of the Lagrange polynomials of the
    nodes 1, ..., `calls`.

    Args:
        points: Number of nodes of a wire polynomial, a power of two.
        calls: Number of calls of the gadget, below `points`.

    Returns:
        Two lists of `points` numbers below the modulus.
    """
    first = [field.evaluate_first_lagrange(points, node) for node in field.roots_of_unity(2 * points)[1::2]]
    call_sums = []
    for position in range(points):
        values_at_calls = [first[(position - call) % points] for call in range(1, calls + 1)]
        call_sums.append(sum(values_at_calls) % field.MODULUS)
    return first, call_sums


@cache
def _montgomery_odd_node_values(points: int, calls: int) -> tuple[field.Words, field.Words]:
    """Return the two arrays of `_odd_node_values` in Montgomery form, (points, 2) words each. Cached: conversion takes
    long.

    Args:
        points: Number of nodes of a wire polynomial, a power of two.
        calls: Number of calls of the gadget, below `points`.
    """
    first, call_sums = map(_to_montgomery, _odd_node_values(points, calls))
    return first, call_sums


def _prove_reports(
    scheme: Prio3Histogram, hot: NDArray[np.int64], starts: field.Words, joint: field.Words, sums: field.Words
) -> None:
    """SECRET: write the gadget polynomials of all reports into `sums`, by compiled loops or, without numba, by
    integers.

    Args:
        scheme: Scheme of the task, with the sizes of its proofs.
        hot: SECRET. Cell of each report, ``(reports,)``.
        starts: Random first value of each wire, ``(reports, 2 * chunk, 2)``.
        joint: Joint randomness, ``(reports, calls, 2)``.
        sums: Output, ``(reports, 2 * points - 1, 2)``.
    """
    if _import_loops() is None:
        plain.prove_reports(hot, starts, joint, _odd_node_values(scheme.points, scheme.calls), sums)
    else:
        _import_loops().prove_reports(
            hot, starts, joint, _montgomery_odd_node_values(scheme.points, scheme.calls), sums
        )


def _query_reports(points: int, inputs: field.QueryInputs, messages: field.Words) -> None:
    """SECRET: write one server's messages about all reports into `messages`, by compiled loops or, without numba, by
    integers.

    Args:
        points: Number of nodes of a wire polynomial, a power of two.
        inputs: The server's shares of all reports, with joint and query randomness.
        messages: Output, ``(reports, 2 * chunk + 2, 2)``.
    """
    if _import_loops() is None:
        plain.query_reports(inputs, points, messages)
    else:
        _import_loops().query_reports(
            field.QueryInputs(*map(np.ascontiguousarray, inputs)), *_montgomery_nodes(points), messages
        )


def _decide_reports(first: field.Words, second: field.Words, passed: NDArray[np.bool_]) -> None:
    """Write into `passed` whether the two messages about each report add up to a valid proof.

    Args:
        first: Messages of one server, ``(reports, elements, 2)``.
        second: Messages of the other server, of the same shape.
        passed: Output, ``(reports,)``.
    """
    (plain if _import_loops() is None else _import_loops()).decide_reports(
        np.ascontiguousarray(first), np.ascontiguousarray(second), passed
    )
