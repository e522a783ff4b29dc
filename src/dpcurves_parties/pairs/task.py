"""Tasks of people in pairs: public document, statement of guarantees, encoding of shares, and the seed file.

    PairTask        public document: kernel, columns with their bits, people, loss, noise, pairing, servers
    PairEncoding    a person's values as two XOR shares; each alone is uniform
    statement       guarantee, noise, error and assumptions of the task, in words
    read_values     the integers of people of a table; a value that does not fit is coerced, never refused

A task never changes, and its document has the digest of the kernel's circuit: parties whose version computes it by
another circuit refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.arrays import IntArray
from dpcurves.codec import STORED_CODEC
from dpcurves.conversation import Plan
from dpcurves.expressions import describe_published_names, parse_filter
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.records import open_records

from ..serving.identity import Server, write_secret
from ..serving.messages import ProtocolError
from ..serving.task_document import Role
from ..serving.two_servers.task_types import SharedTask, ShareEncoding
from .mechanisms import KERNELS, PAIRS_BY_SERVERS, Kernel, NoisePlacement, Unsigned, plan_answers, plan_sum
from .pair_terms import Agreement, PairTerms, coerce_unsigned_array
from .queries import OwnChoice, Pairing, PairQuery, Permutations, WithoutRepetition, commit_to_seed

# SECRET. Values of people as XOR shares for two servers; each share alone is uniform.
Words = NDArray[np.uint64]
Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class PairEncoding(ShareEncoding):
    """Encoding of the reports of a task of pairs: the declared bits of all columns, concatenated.

    Attributes:
        widths: Bits of each column.
    """

    widths: tuple[int, ...]

    @property
    def public_size(self) -> int:
        """Zero: a share of a person's values has no public part."""
        return 0

    @property
    def size(self) -> int:
        """Size in bytes of one server's XOR share of a person's values."""
        return -(-sum(self.widths) // 8)

    def share_records(self, rows: IntArray, randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: split each person's values into two XOR shares, and return the shares for server 0 and for server 1.

        Formal guarantees: the first share is uniform, and the second is its XOR with the values' declared bits, so each
        share alone is uniform, whatever the values are. Values are coerced as by `coerce_unsigned`.

        Args:
            rows: Integers, (people, columns).
            randomness: Source of the first shares.

        Returns:
            One pair of bytes per person.
        """
        values = self._pack_values(
            [coerce_unsigned_array(rows[:, column], width) for column, width in enumerate(self.widths)]
        )
        mask_bytes = randomness.random_bytes(values.size)
        masks = np.frombuffer(mask_bytes, np.uint8).reshape(values.shape) & self._used_bits
        return [(first.tobytes(), second.tobytes()) for first, second in zip(masks, masks ^ values, strict=True)]

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Check that shares have the size and the unused bits that the task declares.

        Args:
            party: Without effect: both servers' shares have the same form.
            shares: Shares of one server, one per person.

        Raises:
            ValueError: a share has another size, or bits beyond the declared bits.
        """
        if bool((self._decode_shares(shares) & ~self._used_bits).any()):
            raise InvalidArgument(
                "shares",
                f"a share has bits beyond the {sum(self.widths)} of the task's columns; send it again, made with "
                "this task document",
            )

    def decode_columns(self, shares: Sequence[bytes]) -> list[Words]:
        """SECRET: return one server's shares of each column, in order.

        Raises `ValueError` if a share has a wrong size.
        """
        bits = np.unpackbits(self._decode_shares(shares), axis=1, bitorder="little").astype(np.uint64)
        bit_ends = np.cumsum(self.widths)
        return [
            (bits[:, end - width : end] << np.arange(width, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
            for end, width in zip(bit_ends, self.widths, strict=True)
        ]

    def warm_up(self) -> None:
        """Do nothing: this encoding compiles no code."""

    @property
    def _used_bits(self) -> Octets:
        """A mask of the bytes of a share: ones in the declared bits, zeros in the padding."""
        return np.packbits(np.ones(sum(self.widths), np.bool_), bitorder="little")

    def _pack_values(self, values: Sequence[Words]) -> Octets:
        """SECRET: return the declared bits of all columns, concatenated by person, as bytes ``(people, size)``.

        Args:
            values: Unsigned integers of each column, one array over all people, in the order of `widths`.
        """
        bits = [
            (column[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
            for column, width in zip(values, self.widths, strict=True)
        ]
        return np.packbits(np.concatenate(bits, axis=1).astype(np.bool_), axis=1, bitorder="little")

    def _decode_shares(self, shares: Sequence[bytes]) -> Octets:
        """SECRET: return shares as an array of bytes, ``(people, size)``.

        Raises:
            ValueError: a share has another size.
        """
        if any(len(share) != self.size for share in shares):
            raise InvalidArgument(
                "shares", f"each share must have {self.size} bytes; send it again, made with this task document"
            )
        return np.frombuffer(b"".join(shares), np.uint8).reshape(len(shares), self.size)


PAIRINGS: Mapping[str, type[Pairing]] = {
    "permutations": Permutations, "without-repetition": WithoutRepetition, "own-choice": OwnChoice,
}  # fmt: skip
"""Schemes by which pairs are drawn, by their names in documents and in --pairing; other names are refused."""
MOST_PEOPLE_PER_TICKET = 2**20
"""People whose values one owner's ticket may carry, at most; a task with more is refused."""


class Trust(Enum):
    """Trust model of a task of pairs: the parties that compute the answers.

    - `PEOPLE`: two people at a time, whose messages pass through a relay server.
    - `TWO_SERVERS`: two servers, from shares of people who need not stay online.
    """

    PEOPLE = "people"
    TWO_SERVERS = "two-servers"

    @property
    def servers(self) -> int:
        """Number of servers that a task under this trust model has."""
        return 1 if self is Trust.PEOPLE else 2


@dataclass(frozen=True)
class PairTask(SharedTask):
    """Task of pairs: the computation, its privacy loss, and its participants. It is public and never changes.

    Owners are people; a person's number is the number of its ticket. Pairs are drawn from a seed, to which the document
    commits. The coordinator has the seed and reveals it when the task is closed.

    Attributes:
        name: Display name.
        kernel_name: Name of the kernel in `KERNELS`.
        columns: Columns that the kernel reads of each person, in order, with their widths in bits.
        pairing: Scheme by which pairs are drawn.
        loss: Pure privacy loss of all pairs of a person together.
        trust: Trust model: the parties that compute the answers.
        noise: Whether noise is added to each pair's answer, or once to their sum.
        commitment: Commitment to the seed, which fixes the seed without revealing it.
        servers: The relay server that also opens answers; or party 0 and party 1.
        reports_per_owner: Most people that one ticket may report; 1 for people in pairs.
        where: SQL condition that both people of a pair must meet, or the pair counts 0; empty: none. Each owner
            evaluates it, and who meets it is as secret as values: see `Kernel.with_filter`.

    Raises:
        ValueError: the kernel is unknown or reads other columns, or the question cannot be answered.
    """

    KIND: ClassVar[str] = "pair task"
    VERSION: ClassVar[int] = 2
    FIELDS: ClassVar[Mapping[str, str]] = {
        name: name for name in ("name", "loss", "trust", "commitment", "servers", "reports_per_owner")
    }

    name: str
    kernel_name: str
    columns: tuple[tuple[str, int], ...]
    pairing: Pairing
    loss: PrivacyLoss
    trust: Trust
    noise: NoisePlacement
    commitment: str
    servers: tuple[Server, ...]
    tokens: Mapping[Role, Sequence[str]]
    reports_per_owner: int = 1
    where: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", parse_filter("where", self.where or None) or "")
        if not isinstance(self.name, str) or not all(isinstance(column, str) for column, _ in self.columns):
            raise WrongArgumentType("columns", "must have names that are texts, as in 'income'")
        if self.kernel_name not in KERNELS:
            raise InvalidArgument("kernel", f"must be one of {', '.join(KERNELS)}, got {self.kernel_name!r}")
        if len({column for column, _ in self.columns}) < len(self.columns):
            raise InvalidArgument("columns", "must have different names; rename a column")
        commitment = 64  # hexadecimal digits of a commitment, a SHA-256 hash
        if len(self.commitment) != commitment or set(self.commitment) - set("0123456789abcdef"):
            raise InvalidArgument(
                "commitment", f"must have {commitment} hexadecimal digits; make the task with dpcurves task create"
            )
        if len(self.servers) != self.trust.servers:
            rule = f"must be {self.trust.servers} for trust {self.trust.value}"
            raise InvalidArgument("servers", f"{rule}, got {len(self.servers)}")
        if len({server.hpke_key for server in self.servers}) < len(self.servers):
            raise InvalidArgument("servers", "must be two different servers; a single server would know every value")
        if self.trust is Trust.PEOPLE and (self.noise is not NoisePlacement.EACH or self.reports_per_owner != 1):
            raise InvalidArgument(
                "trust",
                "must be two-servers for noise on the sum or for owners of several people; people who meet need "
                "noise=each and reports_per_owner=1",
            )
        if not 1 <= self.reports_per_owner <= MOST_PEOPLE_PER_TICKET:
            raise InvalidArgument(
                "reports_per_owner",
                f"must be from 1 to {MOST_PEOPLE_PER_TICKET} people per ticket, as in 1, got {self.reports_per_owner}",
            )
        self.plan(max(self.people, self.pairing.pairs_per_person + 1))  # raises if the question cannot be answered

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that the task names, on the task's columns, with the task's condition."""
        widths = {column: Unsigned(bits) for column, bits in self.columns}
        return KERNELS[self.kernel_name].with_columns(**widths).with_filter(self.where or None)

    @property
    def people(self) -> int:
        """Largest number of people who can take part: tickets times reports per ticket."""
        return len(self.tokens.get(Role.OWNER, ())) * self.reports_per_owner

    @property
    def query(self) -> PairQuery:
        """The question of the task: the mean of its kernel over pairs drawn from the committed seed."""
        return PairQuery.from_kernel(self.kernel.form, self.pairing, self.commitment, self.where)

    @cached_property
    def encoding(self) -> PairEncoding:
        """The encoding of people's values as XOR shares, with the declared bits of each column, and a bit of the
        condition.
        """
        return PairEncoding(tuple(self.kernel.bits.values()))

    def plan(self, people: int) -> Plan:
        """Return the plan of the release for this public number of people.

        Args:
            people: Number of people of the accepted report set.
        """
        arguments = self.query, self.loss, Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, people)
        if self.noise is NoisePlacement.ON_SUM:
            return plan_sum(*arguments)
        if self.trust is Trust.TWO_SERVERS:
            return plan_answers(*arguments, computed_by=PAIRS_BY_SERVERS)
        return plan_answers(*arguments)

    @cached_property
    def terms(self) -> PairTerms:
        """Terms that people agree on before the seed is revealed."""
        return PairTerms.from_plan(self.kernel, self.plan(self.people), bytes.fromhex(self.hash))

    def build_agreement(self, seed: bytes) -> Agreement:
        """Return the agreement with its pairs, once the seed is known.

        Raises:
            ProtocolError: the seed does not match the commitment.
        """
        return self.terms.build_agreement(seed)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of the task document as JSON values, with the digest of the kernel's circuit."""
        scheme = next(name for name, kind in PAIRINGS.items() if isinstance(self.pairing, kind))
        columns = [[column, bits] for column, bits in self.columns]
        return {
            **STORED_CODEC.encode_fields(self),
            "kernel": {"name": self.kernel_name, "columns": columns, "circuit": self.kernel.form.circuit},
            "pairing": {"scheme": scheme, "each": self.pairing.pairs_per_person}, "noise": self.noise.name.lower(),
            "adjacency": Neighbours.REPLACE_ONE.value, "unit": "one person",
            "reports_per_owner": self.reports_per_owner, **({"where": self.where} if self.where else {}),
        }  # fmt: skip

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        """Return the task that the fields of its document describe.

        Args:
            stored: Fields by name.
            tokens: Hashes of the participants' tokens by role.

        Raises:
            ProtocolError: this version computes the kernel by another circuit.
            KeyError, ValueError: fields are missing or invalid.
        """
        kernel, pairing = stored["kernel"], stored["pairing"]
        columns = tuple((column, bits) for column, bits in kernel["columns"])
        pairing_scheme = PAIRINGS[pairing["scheme"]](pairing["each"])
        noise = NoisePlacement[stored["noise"].upper()]
        task = STORED_CODEC.decode_fields(
            cls, stored, kernel_name=kernel["name"], columns=columns, pairing=pairing_scheme, noise=noise,
            tokens=tokens, where=stored.get("where", ""),
        )  # fmt: skip
        if task.kernel.form.circuit != kernel["circuit"]:
            raise ProtocolError(
                "task",
                "this version of dpcurves has another circuit for the kernel; use the version that made the task",
            )
        return task


# Guarantee and trust assumptions of a task of pairs, printed when the task is made and with its answers.
ASSUMPTIONS = {
    Trust.PEOPLE: (
        "Assumed: parties follow the protocol, and its cryptography is not broken; the loss holds even if the partner"
        " and the aggregator collude",
        "Not checked: whether values are true",
    ),
    Trust.TWO_SERVERS: (
        "Assumed: the two servers do not collude (together they know every value), follow the protocol, and its"
        " cryptography is not broken",
        "Not checked: whether values are true",
    ),
}
"""Lines of a privacy statement that say what is assumed and what is not checked, by trust model."""
SERVER_VIEWS = {
    Trust.PEOPLE: "Server: {0} passes on messages that it cannot decrypt, and opens each pair's noisy answer",
    Trust.TWO_SERVERS: "Servers: {0} and {1}, each with a secret share of every value",
}
"""Line of a task's description that says what its servers see, by trust model; their URLs are filled in."""
NOISE_PLACEMENTS = {
    NoisePlacement.EACH: "to each pair's answer",
    NoisePlacement.ON_SUM: "once, to the sum over all pairs",
}
"""End of the line Noise: of a task's description, by where noise is added."""


def describe_guarantee(task: PairTask) -> tuple[str, ...]:
    """Return the task's guarantee, noise, error, and assumptions about the parties, one line of text each."""
    columns = ", ".join(f"{column} ({bits} bits)" for column, bits in task.columns)
    plan = task.plan(max(task.people, 2))
    return (
        f"Task {task.name!r} asks for the mean of {task.kernel_name} over pairs of people, from {columns}; hash"
        f" {task.hash}",
        SERVER_VIEWS[task.trust].format(*(server.url for server in task.servers)),
        f"Guarantee: {task.loss} per person, for all pairs together, under replace-one; the number of people is"
        f" public, and a person is in at most {task.pairing.pairs_per_person} pairs",
        *_describe_filter(task),
        f"Noise: {NOISE_PLACEMENTS[task.noise]}; pairs are drawn from a seed with commitment {task.commitment[:16]}...",
        f"Standard error of the mean: at most about {plan.error:.4g}, if all {task.people} people take part",
        *ASSUMPTIONS[task.trust],
    )


def _describe_filter(task: PairTask) -> tuple[str, ...]:
    """Return a line on the task's condition, and notes on texts in it that look like names; empty without one."""
    if not task.where:
        return ()
    line = f"Counted: pairs of people who both meet {task.where}; other pairs count 0; who meets it is protected, too"
    return (line, *describe_published_names([task.where]))


# SECRET. An owner's values, read from a table as the task declares them.
def read_values(task: PairTask, table: Any, delimiter: str = ",") -> IntArray:
    """SECRET: return the integers of the people of a table, (people, columns), and last whether each meets the task's
    condition, 1 or 0, if the task has one.

    Values are clipped to the declared bits; missing values are 0, and so is all of a person who fails the condition.

    Args:
        task: The pair task, with columns and condition.
        table: Table of the people: a file, a data frame or columns by name.
        delimiter: Field separator of a CSV file.

    Raises:
        ValueError: a column is missing or of the wrong type; or there are no people, or more than the task takes.
    """
    axes = task.query.axes
    with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
        slots = [records.places([axis]) for axis in axes]
    values = [np.where(slot == axis.slots, 0, slot) for slot, axis in zip(slots, axes, strict=True)]
    return task.require_allowed_count(np.stack(values, axis=1))


# SECRET until the task is closed: the file with the seed of the pairs, beside the coordinator's ticket.
COMMITTED_SEED_SIZE = 32
"""Bytes of the seed from which pairs are drawn, and to which the task document commits by a hash; a seed file of
another size is refused."""


def write_seed(ticket: Path, seed: bytes) -> Path:
    """Write the seed to a new file that only its owner may read.

    Args:
        ticket: Path of the coordinator's ticket; the seed's file is written beside it.
        seed: The secret bytes from which the pairs are drawn.

    Returns:
        Path of the new file.

    Raises:
        ValueError: the file exists, or the folder cannot be written.
    """
    path = _seed_path(ticket)
    write_secret(path, seed.hex() + "\n")
    return path


def read_seed(ticket: Path, task: PairTask) -> bytes:
    """Return the seed of 32 bytes that `write_seed` stored beside the coordinator's ticket.

    Args:
        ticket: Path of the coordinator's ticket.
        task: Document of the task, with the commitment to the seed.

    Raises:
        ValueError: the file is missing or holds another seed. The message shows nothing of it.
    """
    path = _seed_path(ticket)
    try:
        seed = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ProtocolError(
            "seed",
            f"{str(path)!r} cannot be read ({error.strerror}); restore this task's seed file from a backup",
        ) from None
    except ValueError:
        seed = b""
    if len(seed) != COMMITTED_SEED_SIZE or commit_to_seed(seed) != task.commitment:
        raise ProtocolError(
            "seed",
            f"{str(path)!r} does not hold the seed of this task; restore this task's seed file from a backup",
        )
    return seed


def _seed_path(ticket: Path) -> Path:
    """Return the path of the seed file beside the coordinator's ticket."""
    return ticket.with_name(f"{ticket.name}.seed")
