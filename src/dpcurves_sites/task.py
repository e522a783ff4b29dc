"""The task of a federation: all that sites, coordinator and analysts agree on, in one public document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.codec import STORED
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves_parties.serving.identity import Server, write_public, write_secret
from dpcurves_parties.serving.task_document import Role, TaskDocument

from .columns import ColumnKind, Schema
from .site import FederationTerms
from .trust import SecureSum

KEY, PUBLIC = "site.key", "site.json"


@dataclass(frozen=True, slots=True)
class Member:
    """A site, as all know it.

    Attributes:
        name: Its name for people to read.
        key: Its Ed25519 key.
        units: How many units it has, where that is public.
    """

    name: str
    key: bytes
    units: int | None

    @classmethod
    def create(cls, folder: Path, name: str, units: int | None) -> Self:
        """A new site: its key goes into a folder that has none, and what all may know beside it.

        Raises:
            ValueError: there is one, or the folder takes no files.
        """
        key = Ed25519PrivateKey.generate()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolError("folder", f"{str(folder)!r} cannot be made ({error.strerror})") from None
        member = cls(name, key.public_key().public_bytes_raw(), units)
        write_secret(folder / KEY, key.private_bytes_raw().hex() + "\n")
        write_public(folder / PUBLIC, json.dumps(STORED.encode(member)) + "\n")
        return member

    @classmethod
    def load(cls, file: Path) -> Self:
        """The one in a file.

        Raises:
            ValueError: it says nothing of a site.
        """
        try:
            return STORED.decode_fields(cls, json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            raise ProtocolError("sites", f"{str(file)!r} does not describe a site") from None


def read_key(file: Path) -> Ed25519PrivateKey:
    """SECRET: the key in a file.

    Raises:
        ValueError: there is none. Nothing of it is shown.
    """
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read_text().strip()))
    except (OSError, ValueError):
        raise ProtocolError("key", f"{str(file)!r} holds no key") from None


@dataclass(frozen=True)
class FederationTask(TaskDocument):
    """A task of many sites. Public; it never changes: its hash is its name, and every site signs that.

    Attributes:
        name: Its name for people to read.
        model: How many sites there are, and how many are tolerated.
        members: The sites, with the keys that they sign with.
        neighbours: Whether the number of units is public.
        unit: The unit that is protected, and how many of its records a site uses.
        budget: What each site may lose in all.
        coordinator: Who carries the messages.
        analysts: The Ed25519 keys of those who may ask.
        tokens: Hashes of tickets, by which the coordinator knows its guests.
        columns: What questions may ask of, and each site has to hold; empty: questions may name any column.
        most_rows: The most records that each site says it has; None: no cap. Nothing proves it.
    """

    KIND: ClassVar[str] = "federation"
    VERSION: ClassVar[int] = 2
    FIELDS: ClassVar[Mapping[str, str]] = {
        "name": "name", "sites": "members", "adjacency": "neighbours", "budget": "budget",
        "coordinator": "coordinator", "analysts": "analysts", "most_rows": "most_rows",
    }  # fmt: skip

    name: str
    model: SecureSum
    members: tuple[Member, ...]
    neighbours: Neighbours
    unit: Unit
    budget: PrivacyLoss
    coordinator: Server
    analysts: tuple[bytes, ...]
    tokens: Mapping[Role, Sequence[str]]
    columns: Schema = field(default_factory=dict)
    most_rows: int | None = None

    @cached_property
    def terms(self) -> FederationTerms:
        """Terms that the sites agreed on.

        Raises:
            ValueError: they could not have.
        """
        roster = self.model.build_roster(bytes.fromhex(self.hash), [member.key for member in self.members])
        units = tuple(member.units for member in self.members if member.units is not None)
        known = units if self.neighbours.has_public_units else ()
        terms = FederationTerms(
            self.model, roster, self.neighbours, self.unit, known, self.budget, self.columns, self.most_rows
        )
        if self.most_rows is not None and self.most_rows < 1:
            raise InvalidArgument("most_rows", f"a whole number of at least 1 is needed, got {self.most_rows}")
        return terms

    def to_fields(self) -> Mapping[str, Any]:
        model = self.model
        return {
            **STORED.encode_fields(self), "most_rows": self.most_rows, "tolerated": model.tolerated, "absent": model.absent,
            "sites_per_unit": model.sites_per_unit, "unit": self.unit.column, "rows_per_unit": self.unit.records,
            "columns": [[name, kind.value] for name, kind in self.columns.items()],
        }  # fmt: skip

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        model = SecureSum(len(stored["sites"]), stored["tolerated"], stored["absent"], stored["sites_per_unit"])
        unit = Unit(stored["unit"], stored["rows_per_unit"]) if stored["unit"] else EACH_RECORD
        columns = {name: ColumnKind(kind) for name, kind in stored["columns"]}
        return STORED.decode_fields(cls, stored, model=model, unit=unit, tokens=tokens, columns=columns)

    def sign_consent(self, key: Ed25519PrivateKey) -> bytes:
        """A site's word that it takes part in this very task."""
        return key.sign(self._consent_text)

    def require_consents(self, signatures: Mapping[int, bytes]) -> None:
        """Refuse to answer as long as one site did not sign the task.

        Raises:
            ProtocolAborted: one did not, or what came is not its signature.
        """
        for number, member in enumerate(self.members):
            try:
                Ed25519PublicKey.from_public_bytes(member.key).verify(signatures.get(number, b""), self._consent_text)
            except (InvalidSignature, ValueError):
                raise ProtocolError("task", f"site {member.name!r} has not signed it", 409) from None

    @property
    def _consent_text(self) -> bytes:
        return b"dpcurves federation: takes part\n" + bytes.fromhex(self.hash)


def create_federation_task(
    members: tuple[Member, ...], model: SecureSum, document: Path, tickets: Path, *, name: str, neighbours: Neighbours,
    unit: Unit, budget: PrivacyLoss, coordinator: Server, analysts: int, columns: Schema | None = None,
    most_rows: int | None = None,
) -> FederationTask:  # fmt: skip
    """Write the document of a new task, a ticket for each site and analyst, and a key for each analyst.

    Raises:
        ValueError: a file is there, or a folder takes none; or the sites could not agree on this.
    """
    from dpcurves_parties.serving.task_document import create_task

    keys = [Ed25519PrivateKey.generate() for _ in range(analysts)]
    public = tuple(key.public_key().public_bytes_raw() for key in keys)
    draft = FederationTask(
        name, model, members, neighbours, unit, budget, coordinator, public, {}, dict(columns or {}), most_rows,
    )  # fmt: skip
    draft.terms  # noqa: B018  # refuses what can not be, before anything is written
    numbers = {Role.OWNER: len(members), Role.ANALYST: analysts, Role.COORDINATOR: 1}
    task = create_task(draft, numbers, document, tickets)
    for number, key in enumerate(keys, start=1):
        write_secret(tickets / f"analyst-{number}.key", key.private_bytes_raw().hex() + "\n")
    return task
