"""Task of people in pairs: the public document that people, servers and analysts agree on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Self

from dpcurves.arguments import Refused, WrongKind
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import OwnChoice, Pairing, PairQuery, Permutations, WithoutRepetition
from dpcurves.release import Plan

from ..serving.errors import ProtocolAborted
from ..serving.identity import Server
from ..serving.task_document import loss_from_json, loss_to_json
from ..serving.ticket import Role
from ..serving.two_servers.kinds import SharedTask
from .encoding import PairEncoding
from .mechanisms import KERNELS, SERVERS, Kernel, Noise, Unsigned, planned_answers, planned_sum
from .promise import Agreement, Promise

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
    VERSION: ClassVar[int] = 1

    name: str
    kernel_name: str
    columns: tuple[tuple[str, int], ...]
    pairing: Pairing
    loss: PrivacyLoss
    trust: Trust
    noise: Noise
    commitment: str
    servers: tuple[Server, ...]
    tokens: Mapping[Role, tuple[str, ...]]
    reports_per_owner: int = 1

    def __post_init__(self) -> None:
        self._require_names()
        if len(self.servers) != self.trust.servers:
            words = "people in pairs have one server" if self.trust is Trust.PEOPLE else "two servers are two"
            raise Refused("servers", f"{words}, got {len(self.servers)}")
        if len({server.sealing for server in self.servers}) < len(self.servers):
            raise Refused("servers", "two different servers are needed; one alone would know every value")
        if self.trust is Trust.PEOPLE and (self.noise is not Noise.EACH or self.reports_per_owner != 1):
            raise Refused("trust", "people in pairs add noise to each answer, and each speaks for himself")
        if not 1 <= self.reports_per_owner <= MOST_OWNERS:
            raise Refused("reports_per_owner", f"at least 1 is needed, got {self.reports_per_owner}")
        self.plan(max(self.people, self.pairing.each + 1))  # refuses what can not be asked

    def _require_names(self) -> None:
        if not isinstance(self.name, str) or not all(isinstance(column, str) for column, _ in self.columns):
            raise WrongKind("columns", "names are texts")
        if self.kernel_name not in KERNELS:
            raise Refused("kernel", f"one of {', '.join(KERNELS)} is needed, got {self.kernel_name!r}")
        if len({column for column, _ in self.columns}) < len(self.columns):
            raise Refused("columns", "each is needed once")
        if len(self.commitment) != COMMITMENT or set(self.commitment) - set("0123456789abcdef"):
            raise Refused("commitment", f"{COMMITMENT} hexadecimal digits are needed")

    @cached_property
    def kernel(self) -> Kernel:
        """The function of two people's values."""
        return KERNELS[self.kernel_name].on(**{column: Unsigned(bits) for column, bits in self.columns})

    @property
    def people(self) -> int:
        """Number of people, if each ticket speaks for as many as it may."""
        return len(self.tokens.get(Role.OWNER, ())) * self.reports_per_owner

    @property
    def query(self) -> PairQuery:
        """The query."""
        return PairQuery.about(self.kernel.form, self.pairing, self.commitment)

    @cached_property
    def encoding(self) -> PairEncoding:
        """Encoding of reports for two servers."""
        return PairEncoding(tuple(bits for _, bits in self.columns))

    def plan(self, people: int) -> Plan:
        """The plan of the release for this number of people, which is public."""
        asked = self.query, self.loss, Neighbours.REPLACE_ONE.among(EACH_RECORD, people)
        if self.noise is Noise.ON_SUM:
            return planned_sum(*asked)
        return planned_answers(*asked, by=SERVERS) if self.trust is Trust.TWO_SERVERS else planned_answers(*asked)

    @cached_property
    def promise(self) -> Promise:
        """The promise that people agree on before the seed is shown."""
        return Promise.of(self.kernel, self.plan(self.people), bytes.fromhex(self.hash))

    def shown(self, seed: bytes) -> Agreement:
        """Agreement of the pairs, once the seed is known.

        Raises:
            ProtocolAborted: it is not the one that was promised.
        """
        return self.promise.shown(seed)

    def facts(self) -> dict[str, Any]:
        """Content of the document, without its kind, version and tokens, as plain objects."""
        scheme = next(name for name, kind in PAIRINGS.items() if isinstance(self.pairing, kind))
        columns = [[column, bits] for column, bits in self.columns]
        return {
            "name": self.name,
            "kernel": {"name": self.kernel_name, "columns": columns, "circuit": self.kernel.form.circuit},
            "pairing": {"scheme": scheme, "each": self.pairing.each}, "loss": loss_to_json(self.loss),
            "adjacency": Neighbours.REPLACE_ONE.value, "unit": "one person", "trust": self.trust.value,
            "noise": self.noise.name.lower(), "commitment": self.commitment,
            "reports_per_owner": self.reports_per_owner, "servers": [server.to_json() for server in self.servers],
        }  # fmt: skip

    @classmethod
    def of_facts(cls, stored: Mapping[str, Any], tokens: Mapping[Role, tuple[str, ...]]) -> Self:
        """The inverse of `facts`."""
        kernel, pairing = stored["kernel"], stored["pairing"]
        made = cls(
            stored["name"], kernel["name"], tuple((column, bits) for column, bits in kernel["columns"]),
            PAIRINGS[pairing["scheme"]](pairing["each"]), loss_from_json(stored["loss"]), Trust(stored["trust"]),
            Noise[stored["noise"].upper()], stored["commitment"],
            tuple(Server.from_json(server) for server in stored["servers"]), tokens, stored["reports_per_owner"],
        )  # fmt: skip
        if made.kernel.form.circuit != kernel["circuit"]:
            raise ProtocolAborted("task", "its kernel is another circuit in this dpcurves: use the one that made it")
        return made
