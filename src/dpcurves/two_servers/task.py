"""The task: all that owners, servers and analysts have to agree on, in one public document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..arguments import Refused
from ..curves.roc_thresholds import classes_axis
from ..curves.turns.declared_grid import grid_from_json, grid_to_json
from ..data import Axis, Categories, Grid
from ..laws import PathSums
from ..ledger import Account
from ..privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss
from ..queries import PrefixQuery
from ..release import Plan
from ..trust import FunctionShares, Owners
from .errors import ProtocolAborted
from .ticket import Role

VERSION = 2
MOST_AT_ONCE = 4096
MOST_CHECKED_AT_ONCE = 64
"""Thresholds in one message. Of checked reports each has a value of its own, until it is known which count."""


@dataclass(frozen=True, slots=True)
class Server:
    """One of the two servers, as everybody knows it.

    Attributes:
        url: Where it answers: ``https://host:port``.
        sealing: The X25519 key to which shares are sealed, in hexadecimal digits.
        certificate: What proves it: a certificate of its own, in PEM. No other authority is believed.
    """

    url: str
    sealing: str
    certificate: str

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Server:
        """The inverse of `to_json`."""
        return cls(str(stored["url"]), str(stored["sealing"]), str(stored["certificate"]))

    def to_json(self) -> dict[str, str]:
        """Plain objects."""
        return {"url": self.url, "sealing": self.sealing, "certificate": self.certificate}


@dataclass(frozen=True)
class Task:
    """What is counted, what it may lose, who takes part. Public; it never changes: its hash is its name.

    Attributes:
        name: What people call it.
        column: What the owners' values are: of a labelled task, the score.
        grid: Public cells.
        label: The two classes, negative first; None: values have no label.
        loss: Of all answers together, for each report.
        reports_per_owner: How many reports one owner may send: an owner loses at most so many times `loss`.
        servers: Party 0 and party 1.
        tokens: Hashes of the tokens of each role. Their order numbers owners and analysts.
        measured_in: The measuring unit of the column.
        version: Of the protocol.
        owners: Whether the servers check reports. Checked ones are larger, and answers take longer.
    """

    name: str
    column: str
    grid: Grid
    label: Categories | None
    loss: PrivacyLoss
    reports_per_owner: int
    servers: tuple[Server, Server]
    tokens: Mapping[Role, tuple[str, ...]]
    measured_in: str = ""
    version: int = VERSION
    owners: Owners = Owners.UNCHECKED

    def __post_init__(self) -> None:
        if self.reports_per_owner < 1:
            raise Refused("reports_per_owner", f"at least 1 is needed, got {self.reports_per_owner}")
        first, second = self.servers
        if first.sealing == second.sealing or first.certificate == second.certificate:
            raise Refused("servers", "two different servers are needed; one alone would know every record")
        self.plan((), 1)  # refuses what can not be answered

    @cached_property
    def hash(self) -> str:
        """64 hexadecimal digits that no other task has."""
        return sha256(b"dpcurves task\n" + self.to_json().encode()).hexdigest()

    @cached_property
    def bearers(self) -> Mapping[tuple[Role, str], int]:
        """The number of who holds a ticket, by its role and the hash of its token."""
        return {(role, name): number for role in Role for number, name in enumerate(self.tokens.get(role, ()))}

    @property
    def dataset(self) -> str:
        """The name of its account in a server's ledger."""
        return f"task {self.hash}"

    @property
    def account(self) -> Account:
        """What each server's ledger holds for it: exactly one charge."""
        return Account(self.dataset, Neighbours.REPLACE_ONE, EACH_RECORD, self.loss)

    @property
    def axes(self) -> tuple[Axis | Categories, ...]:
        """What an owner reads of each record."""
        value = Axis(self.column, self.grid)
        return (value,) if self.label is None else (self.label, value)

    @property
    def query(self) -> PrefixQuery:
        """All counts that can be asked. The label doubles the slots: first all negatives, then all positives."""
        value = Axis(self.column, self.grid)
        axis = value if self.label is None else classes_axis(value, self.label.column)
        return PrefixQuery((axis,), at=())

    @property
    def slots(self) -> int:
        """How many slots a record can be in; one that is missing lies behind them all."""
        return self.query.cells

    @property
    def bits(self) -> int:
        """The bits of the number of a slot, the one behind all included."""
        return self.slots.bit_length()

    def adjacency(self, reports: int) -> Adjacency:
        """Among so many reports, which are public, one is replaced."""
        return Neighbours.REPLACE_ONE.among(EACH_RECORD, reports)

    def plan(self, at: Sequence[int], reports: int) -> Plan:
        """What the servers do for these thresholds. Raises `UnsupportedQuery`."""
        query = replace(self.query, at=tuple(at))
        return FunctionShares(self.owners).plan(query, self.loss.of_one_release(), self.adjacency(reports))

    def law(self, reports: int) -> PathSums:
        """The noise of all answers, whatever is asked."""
        return self.plan((), reports).law.required(PathSums)

    @property
    def most_at_once(self) -> int:
        """How many thresholds one message may ask for."""
        return MOST_AT_ONCE if self.owners is Owners.UNCHECKED else MOST_CHECKED_AT_ONCE

    def thresholds(self, at: object) -> tuple[int, ...]:
        """What was asked, if it can be.

        Raises:
            ProtocolAborted: they are no numbers of slots, or too many, or one is there twice.
        """
        asked, most = at if isinstance(at, list) else [], self.most_at_once
        if not 1 <= len(asked) <= most or any(type(each) is not int for each in asked):
            raise ProtocolAborted("at", f"a list of 1 to {most} whole numbers is needed")
        if len(set(asked)) < len(asked) or any(not 0 <= each <= self.slots for each in asked):
            raise ProtocolAborted("at", f"numbers from 0 to {self.slots} are needed, each once")
        return tuple(asked)

    def to_json(self) -> str:
        """The document; the same task has the same text."""
        loss = {"epsilon": str(self.loss.epsilon)} if self.loss.is_pure else {"rho": str(self.loss.rho)}
        classes = None if self.label is None else {"column": self.label.column, "values": list(self.label.values)}
        document = {
            "dpcurves": "task", "version": self.version, "name": self.name, "column": self.column,
            "measured_in": self.measured_in, "grid": grid_to_json(self.grid), "label": classes, "loss": loss,
            "adjacency": Neighbours.REPLACE_ONE.value, "unit": "one report",
            "reports_per_owner": self.reports_per_owner, "bits": self.bits,
            "servers": [server.to_json() for server in self.servers],
            "owners": self.owners.value,
            "tokens": {role.value: list(self.tokens.get(role, ())) for role in Role},
        }  # fmt: skip
        return json.dumps(document, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `to_json` wrote.

        Raises:
            ValueError: it is none, or of another version, or says anything that `to_json` does not.
        """
        task = cls._of(text)
        if task.to_json() != text.strip():
            raise ProtocolAborted("task", "the document was changed: a field is not as this dpcurves writes it")
        return task

    @classmethod
    def _of(cls, text: str) -> Task:
        try:
            stored = json.loads(text)
            if stored["dpcurves"] != "task":
                raise KeyError("dpcurves")
            if stored["version"] != VERSION:
                raise ProtocolAborted("task", f"it is of version {stored['version']}, this dpcurves speaks {VERSION}")
            return cls._read(stored)
        except (KeyError, TypeError, AttributeError, ZeroDivisionError, json.JSONDecodeError):
            raise ProtocolAborted("task", "this is no task document") from None

    @classmethod
    def read(cls, path: str | Path) -> Task:
        """The task in a file.

        Raises:
            ValueError: it can not be read, or is none.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", "it is no text")
            raise ProtocolAborted("task", f"{str(path)!r} cannot be read ({reason})") from None
        return cls.from_json(text)

    @classmethod
    def _read(cls, stored: Mapping[str, Any]) -> Task:
        loss, label = stored["loss"], stored["label"]
        first, second = (Server.from_json(server) for server in stored["servers"])
        return cls(
            stored["name"], stored["column"], grid_from_json(stored["grid"]),
            None if label is None else Categories(label["column"], tuple(label["values"])),
            _loss(loss),
            int(stored["reports_per_owner"]), (first, second),
            {role: tuple(stored["tokens"][role.value]) for role in Role}, stored["measured_in"], stored["version"],
            Owners(stored["owners"]),
        )  # fmt: skip


def _loss(stored: Mapping[str, Any]) -> PrivacyLoss:
    pure = "epsilon" in stored
    return PrivacyLoss.pure(Fraction(stored["epsilon"])) if pure else PrivacyLoss.zcdp(Fraction(stored["rho"]))
