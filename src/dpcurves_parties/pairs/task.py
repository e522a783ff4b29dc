"""Tasks of people in pairs: the public document, its statement in words, values and shares, and the file of the
seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.arrays import IntArray
from dpcurves.codec import STORED
from dpcurves.conversation import Plan
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.records import open_records

from ..serving.identity import Server, write_secret
from ..serving.messages import ProtocolError
from ..serving.task_document import Role
from ..serving.two_servers.kinds import SharedTask, ShareEncoding
from .mechanisms import KERNELS, SERVERS, Kernel, NoisePlacement, Unsigned, plan_answers, plan_sum
from .promise import Agreement, PairTerms, coerce_unsigned_array
from .queries import OwnChoice, Pairing, PairQuery, Permutations, WithoutRepetition, commit_to_seed

# SECRET. Values of people as XOR shares for two servers: each uniform on its own, whatever values are.
Words = NDArray[np.uint64]
Octets = NDArray[np.uint8]


@dataclass(frozen=True)
class PairEncoding(ShareEncoding):
    """Encoding of the reports of a task of pairs: the declared bits of all columns, one behind another.

    Attributes:
        widths: Bits of each column.
    """

    widths: tuple[int, ...]

    @property
    def public_size(self) -> int:
        """Size of the public half of a report, zero: both servers know nothing of it in common."""
        return 0

    @property
    def size(self) -> int:
        return -(-sum(self.widths) // 8)

    def share_records(self, rows: IntArray, randomness: Randomness) -> list[tuple[bytes, bytes]]:
        """SECRET: shares of each person for server 0 and for server 1.

        Formal guarantees: the first share is uniform, and the second one is its XOR with the values' declared bits: so
        each of them alone is uniform, whatever values are. What is no number of so many bits counts as `whole` says.

        Args:
            rows: Whole numbers, a column for each width.
            randomness: Source of the masks.
        """
        values = self._pack_values(
            [coerce_unsigned_array(rows[:, place], width) for place, width in enumerate(self.widths)]
        )
        drawn = randomness.random_bytes(values.size)
        masks = np.frombuffer(drawn, np.uint8).reshape(values.shape) & self._used_bits
        return [(one.tobytes(), other.tobytes()) for one, other in zip(masks, masks ^ values, strict=True)]

    def require_shares(self, party: int, shares: Sequence[bytes]) -> None:
        """Refuse invalid shares. Raises `ValueError`: a share has another size, or bits behind the declared ones."""
        if bool((self._decode_shares(shares) & ~self._used_bits).any()):
            raise InvalidArgument("shares", f"{sum(self.widths)} bits are needed")

    def decode_columns(self, shares: Sequence[bytes]) -> list[Words]:
        """SECRET: one server's shares of each column, in order. Raises `ValueError`: a share has another size."""
        bits = np.unpackbits(self._decode_shares(shares), axis=1, bitorder="little").astype(np.uint64)
        ends = np.cumsum(self.widths)
        return [
            (bits[:, end - width : end] << np.arange(width, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
            for end, width in zip(ends, self.widths, strict=True)
        ]

    def warm(self) -> None:
        """Do nothing, because nothing is compiled."""

    @property
    def _used_bits(self) -> Octets:
        return np.packbits(np.ones(sum(self.widths), np.bool_), bitorder="little")

    def _pack_values(self, values: Sequence[Words]) -> Octets:
        bits = [
            (each[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
            for each, width in zip(values, self.widths, strict=True)
        ]
        return np.packbits(np.concatenate(bits, axis=1).astype(np.bool_), axis=1, bitorder="little")

    def _decode_shares(self, shares: Sequence[bytes]) -> Octets:
        if any(len(share) != self.size for share in shares):
            raise InvalidArgument("shares", f"{self.size} bytes are needed")
        return np.frombuffer(b"".join(shares), np.uint8).reshape(len(shares), self.size)


PAIRINGS: Mapping[str, type[Pairing]] = {
    "permutations": Permutations, "without-repetition": WithoutRepetition, "own-choice": OwnChoice,
}  # fmt: skip
"""By the names that documents and the command line have for them."""
COMMITMENT = 64
MOST_OWNERS = 2**20


class Trust(Enum):
    """Trust model of a task of pairs: the parties that compute the answers.

    - `PEOPLE`: two people at a time, by letters that one server carries.
    - `TWO_SERVERS`: two servers, from shares of people who have gone.
    """

    PEOPLE = "people"
    TWO_SERVERS = "two-servers"

    @property
    def servers(self) -> int:
        """Number of servers."""
        return 1 if self is Trust.PEOPLE else 2


@dataclass(frozen=True)
class PairTask(SharedTask):
    """Task of pairs: the computation, its privacy loss, and its participants. Public; it never changes.

    Owners are people: their numbers are those of their tickets. Pairs are drawn from a seed that the coordinator has,
    and shows when the task is closed; the document has its commitment.

    Attributes:
        name: Name for people to read.
        kernel_name: The function of two people's values, by its name in `KERNELS`.
        columns: The columns that it reads of each person, in order, and how many bits each has.
        pairing: Scheme by which pairs are drawn.
        loss: The pure privacy loss of all pairs of a person together.
        trust: Trust model: the parties that compute it.
        noise: Place of the noise: in each pair's answer, or once on their sum.
        commitment: The commitment to the seed, which fixes it and does not reveal it.
        servers: The one that carries letters and opens answers; or party 0 and party 1.
        reports_per_owner: Most people that one ticket may speak for; of people in pairs, one.

    Raises:
        ValueError: there is no such kernel, or it reads other columns; or these can not be asked so.
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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not all(isinstance(column, str) for column, _ in self.columns):
            raise WrongArgumentType("columns", "names are texts")
        if self.kernel_name not in KERNELS:
            raise InvalidArgument("kernel", f"one of {', '.join(KERNELS)} is needed, got {self.kernel_name!r}")
        if len({column for column, _ in self.columns}) < len(self.columns):
            raise InvalidArgument("columns", "each is needed once")
        if len(self.commitment) != COMMITMENT or set(self.commitment) - set("0123456789abcdef"):
            raise InvalidArgument("commitment", f"{COMMITMENT} hexadecimal digits are needed")
        if len(self.servers) != self.trust.servers:
            words = "people in pairs have one server" if self.trust is Trust.PEOPLE else "two servers are two"
            raise InvalidArgument("servers", f"{words}, got {len(self.servers)}")
        if len({server.hpke_key for server in self.servers}) < len(self.servers):
            raise InvalidArgument("servers", "two different servers are needed; one alone would know every value")
        if self.trust is Trust.PEOPLE and (self.noise is not NoisePlacement.EACH or self.reports_per_owner != 1):
            raise InvalidArgument("trust", "people in pairs add noise to each answer, and each speaks for himself")
        if not 1 <= self.reports_per_owner <= MOST_OWNERS:
            raise InvalidArgument("reports_per_owner", f"at least 1 is needed, got {self.reports_per_owner}")
        self.plan(max(self.people, self.pairing.pairs_per_person + 1))  # refuses what can not be asked

    @cached_property
    def kernel(self) -> Kernel:
        """The function of two people's values."""
        return KERNELS[self.kernel_name].with_columns(**{column: Unsigned(bits) for column, bits in self.columns})

    @property
    def people(self) -> int:
        """Number of people, if each ticket speaks for as many as it may."""
        return len(self.tokens.get(Role.OWNER, ())) * self.reports_per_owner

    @property
    def query(self) -> PairQuery:
        return PairQuery.from_kernel(self.kernel.form, self.pairing, self.commitment)

    @cached_property
    def encoding(self) -> PairEncoding:
        return PairEncoding(tuple(bits for _, bits in self.columns))

    def plan(self, people: int) -> Plan:
        """The plan of the release for this number of people, which is public."""
        asked = self.query, self.loss, Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, people)
        if self.noise is NoisePlacement.ON_SUM:
            return plan_sum(*asked)
        return plan_answers(*asked, computed_by=SERVERS) if self.trust is Trust.TWO_SERVERS else plan_answers(*asked)

    @cached_property
    def terms(self) -> PairTerms:
        """The promise that people agree on before the seed is shown."""
        return PairTerms.from_plan(self.kernel, self.plan(self.people), bytes.fromhex(self.hash))

    def build_agreement(self, seed: bytes) -> Agreement:
        """Agreement of the pairs, once the seed is known.

        Raises:
            ProtocolAborted: it is not the one that was promised.
        """
        return self.terms.build_agreement(seed)

    def to_fields(self) -> dict[str, Any]:
        scheme = next(name for name, kind in PAIRINGS.items() if isinstance(self.pairing, kind))
        columns = [[column, bits] for column, bits in self.columns]
        return {
            **STORED.encode_fields(self),
            "kernel": {"name": self.kernel_name, "columns": columns, "circuit": self.kernel.form.circuit},
            "pairing": {"scheme": scheme, "each": self.pairing.pairs_per_person}, "noise": self.noise.name.lower(),
            "adjacency": Neighbours.REPLACE_ONE.value, "unit": "one person",
            "reports_per_owner": self.reports_per_owner,
        }  # fmt: skip

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        kernel, pairing = stored["kernel"], stored["pairing"]
        columns = tuple((column, bits) for column, bits in kernel["columns"])
        drawn, noise = PAIRINGS[pairing["scheme"]](pairing["each"]), NoisePlacement[stored["noise"].upper()]
        made = STORED.decode_fields(
            cls, stored, kernel_name=kernel["name"], columns=columns, pairing=drawn, noise=noise, tokens=tokens
        )
        if made.kernel.form.circuit != kernel["circuit"]:
            raise ProtocolError("task", "its kernel is another circuit in this dpcurves: use the one that made it")
        return made


# Guarantee and trust assumptions of a task of pairs, in words: shown when it is made and with answers.
ASSUMED = {
    Trust.PEOPLE: (
        "Assumed: parties follow the protocol, and its cryptography is not broken; the loss holds even if the partner"
        " and the aggregator put together what they see",
        "Not checked: whether values are true",
    ),
    Trust.TWO_SERVERS: (
        "Assumed: the two servers do not collude (together they know every value), follow the protocol, and its"
        " cryptography is not broken",
        "Not checked: whether values are true",
    ),
}
SEES = {
    Trust.PEOPLE: "Server: {0} carries letters that it cannot open, and opens each pair's noisy answer",
    Trust.TWO_SERVERS: "Servers: {0} and {1}, each with a share of every value",
}
ADDED = {NoisePlacement.EACH: "to each pair's answer", NoisePlacement.ON_SUM: "once, to the sum over all pairs"}


def statement(task: PairTask) -> tuple[str, ...]:
    """Lines for people."""
    columns = ", ".join(f"{column} ({bits} bits)" for column, bits in task.columns)
    plan = task.plan(max(task.people, 2))
    return (
        f"Task {task.name!r} asks the mean of {task.kernel_name} over pairs of people, of {columns}; its hash is"
        f" {task.hash}",
        SEES[task.trust].format(*(server.url for server in task.servers)),
        f"Promise: {task.loss} for each person, of all pairs together, under replace-one; how many people there are is"
        f" public, and a person is in at most {task.pairing.pairs_per_person} pairs",
        f"Noise: {ADDED[task.noise]}; pairs are drawn from a seed that is promised as {task.commitment[:16]}...",
        f"Standard error of the mean: at most about {plan.error:.4g}, if all {task.people} people come",
        *ASSUMED[task.trust],
    )


# SECRET. Owner's reading of a table: the whole numbers of its people, as a task of pairs declares them.
def read_values(task: PairTask, table: Any, delimiter: str = ",", columns: Sequence[str] | None = None) -> IntArray:
    """SECRET: the whole numbers of the people of a table, a column for each; `columns`: by the table's own names.

    What is less than 0, or too large, is the nearest whole number of the declared bits; what is missing is 0.

    Raises:
        ValueError: a column is not there or of the wrong type; or there are no people, or more than the task takes.
    """
    axes = [
        replace(axis, column=name) for axis, name in zip(task.query.axes, columns or task.kernel.columns, strict=True)
    ]
    with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
        places = [records.places([axis]) for axis in axes]
    values = [np.where(place == axis.slots, 0, place) for place, axis in zip(places, axes, strict=True)]
    return task.require_allowed_count(np.stack(values, axis=1))


# SECRET until the task is closed: the file of the seed that pairs are drawn from, beside the coordinator's ticket.
SIZE = 32


def write_seed(ticket: Path, seed: bytes) -> Path:
    """Keep the seed in a new file that its owner alone may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    path = _seed_path(ticket)
    write_secret(path, seed.hex() + "\n")
    return path


def read_seed(ticket: Path, task: PairTask) -> bytes:
    """The seed that a task has promised.

    Raises:
        ValueError: it is not there. Nothing of the file is shown.
    """
    path = _seed_path(ticket)
    try:
        seed = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ProtocolError("seed", f"{str(path)!r} cannot be read ({error.strerror})") from None
    except ValueError:
        seed = b""
    if len(seed) != SIZE or commit_to_seed(seed) != task.commitment:
        raise ProtocolError("seed", f"{str(path)!r} does not hold the one that the task has promised")
    return seed


def _seed_path(ticket: Path) -> Path:
    return ticket.with_name(f"{ticket.name}.seed")
