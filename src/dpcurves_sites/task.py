"""Public configuration of a federation, signed by all sites: participants, privacy unit and budget.

A federation is a group of sites (such as hospitals) that keep their records and reveal only noisy sums of their counts.
Sites, coordinator and analysts agree on a document that never changes, the task:

    Member                    the public facts of a site, with the key that verifies its signatures
    FederationTask            trust model, sites, neighbouring relation, privacy unit, budget, columns, and the
                              contribution bound (largest number of rows of a unit that a site uses)
    create_federation_task    writes the document of a new task, with tickets and keys of its participants
    consent                   a site's signature of the task's hash

A site takes part by signing the hash of a task that it has read. Nothing is answered before all sites have signed, so
no site answers under terms that another site has not seen.
"""

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
from dpcurves.codec import STORED_CODEC
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves_parties.serving.identity import Server, write_public, write_secret
from dpcurves_parties.serving.task_document import Role, TaskDocument

from .columns import ColumnKind, Schema
from .site import FederationTerms
from .trust import SecureSum

SIGNING_KEY_FILE = "site.key"
"""Name of the file of a site's signing key (SECRET), in its folder."""
PUBLIC_FILE = "site.json"
"""Name of the file of a site's public facts, in its folder, which the author of a task needs."""


@dataclass(frozen=True, slots=True)
class Member:
    """The public facts of a site.

    Attributes:
        name: Display name.
        key: Ed25519 public key, 32 bytes.
        units: Number of the site's units; None: private.
    """

    name: str
    key: bytes
    units: int | None

    @classmethod
    def create(cls, folder: Path, name: str, units: int | None) -> Self:
        """Create a site: write a new signing key and the public facts into its folder.

        Args:
            folder: Folder of the site; created if missing.
            name: Name of the site.
            units: Public number of units; None: private.

        Raises:
            ValueError: The folder has a key already, or cannot be written.
        """
        key = Ed25519PrivateKey.generate()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolError(
                "folder", f"{str(folder)!r} cannot be made ({error.strerror}); name another folder"
            ) from None
        member = cls(name, key.public_key().public_bytes_raw(), units)
        write_secret(folder / SIGNING_KEY_FILE, key.private_bytes_raw().hex() + "\n")
        write_public(folder / PUBLIC_FILE, json.dumps(STORED_CODEC.encode(member)) + "\n")
        return member

    @classmethod
    def load(cls, file: Path) -> Self:
        """Return a site's name, public key and public number of units from its file ``site.json``.

        Args:
            file: A file that `create` wrote.

        Raises:
            ValueError: The file cannot be read, or does not describe a site.
        """
        try:
            return STORED_CODEC.decode_fields(cls, json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            raise ProtocolError(
                "sites",
                f"{str(file)!r} does not describe a site; name the site.json of a folder that dpcurves "
                "federation join made",
            ) from None


def read_key(file: Path) -> Ed25519PrivateKey:
    """SECRET. Load a signing key.

    Args:
        file: The key's file, in hexadecimal digits.

    Raises:
        ValueError: The file holds no key; the message contains nothing of the file.
    """
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read_text().strip()))
    except (OSError, ValueError):
        raise ProtocolError(
            "key",
            f"{str(file)!r} holds no private key of a site; name the file that dpcurves federation "
            "join or the task made",
        ) from None


@dataclass(frozen=True)
class FederationTask(TaskDocument):
    """A task of many sites, a public and immutable document. Every site signs its hash.

    Attributes:
        name: The display name.
        model: The trust model: numbers of sites, of tolerated and of absent ones.
        members: The sites with their public keys.
        neighbours: Add-remove or replace-one.
        unit: The protected unit, and its contribution bound at one site.
        budget: The total privacy loss of each site.
        coordinator: The address and certificate of the coordinator.
        analysts: The Ed25519 public keys of the analysts.
        tokens: Hashes of the tickets that the coordinator accepts.
        columns: The columns that questions may use and each site must have; empty allows any column.
        max_rows: The promised bound on the records of a site, unverified; None for no bound.
    """

    KIND: ClassVar[str] = "federation"
    VERSION: ClassVar[int] = 2
    FIELDS: ClassVar[Mapping[str, str]] = {
        "name": "name", "sites": "members", "adjacency": "neighbours", "budget": "budget",
        "coordinator": "coordinator", "analysts": "analysts", "max_rows": "max_rows",
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
    max_rows: int | None = None

    @cached_property
    def terms(self) -> FederationTerms:
        """The public facts on which all sites agree: trust model, roster, adjacency, unit, budget, columns and row
        bound.

        Raises:
            ValueError: The facts are inconsistent.
        """
        roster = self.model.build_roster(bytes.fromhex(self.hash), [member.key for member in self.members])
        units = tuple(member.units for member in self.members if member.units is not None)
        public_units = units if self.neighbours.has_public_units else ()
        terms = FederationTerms(
            self.model, roster, self.neighbours, self.unit, public_units, self.budget, self.columns, self.max_rows
        )
        if self.max_rows is not None and self.max_rows < 1:
            raise InvalidArgument(
                "max_rows", f"must be a number of records of at least 1, as in 100000, got {self.max_rows}"
            )
        return terms

    def to_fields(self) -> Mapping[str, Any]:
        """Return the task as the fields of its JSON document, which `from_fields` parses."""
        model = self.model
        return {
            **STORED_CODEC.encode_fields(self), "max_rows": self.max_rows,
            "collusion_threshold": model.collusion_threshold, "max_dropouts": model.max_dropouts,
            "sites_per_unit": model.sites_per_unit, "unit": self.unit.column, "rows_per_unit": self.unit.records,
            "columns": [[name, kind.value] for name, kind in self.columns.items()],
        }  # fmt: skip

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        """Parse the task from the fields of its document.

        Args:
            stored: The fields, as `to_fields` returns them.
            tokens: Hashes of the tickets that the coordinator accepts, by role.

        Raises:
            ValueError: A field is invalid.
            KeyError: A field is missing.
            TypeError: A field has another type.
        """
        model = SecureSum(
            len(stored["sites"]), stored["collusion_threshold"], stored["max_dropouts"], stored["sites_per_unit"]
        )
        unit = Unit(stored["unit"], stored["rows_per_unit"]) if stored["unit"] else EACH_RECORD
        columns = {name: ColumnKind(kind) for name, kind in stored["columns"]}
        return STORED_CODEC.decode_fields(cls, stored, model=model, unit=unit, tokens=tokens, columns=columns)

    def sign_consent(self, key: Ed25519PrivateKey) -> bytes:
        """Sign the task's hash, by which a site takes part.

        Args:
            key: SECRET. The site's signing key.

        Returns:
            The Ed25519 signature, 64 bytes.
        """
        return key.sign(self._consent_text)

    def require_consents(self, signatures: Mapping[int, bytes]) -> None:
        """Require that all sites have signed the task; before that, nothing is answered.

        Args:
            signatures: Signature of each site by its index in `members`.

        Raises:
            ProtocolError: A consent is missing or invalid.
        """
        for number, member in enumerate(self.members):
            try:
                Ed25519PublicKey.from_public_bytes(member.key).verify(signatures.get(number, b""), self._consent_text)
            except (InvalidSignature, ValueError):
                raise ProtocolError(
                    "task", f"site {member.name!r} has not signed the task; ask again when it runs", 409
                ) from None

    @property
    def _consent_text(self) -> bytes:
        """Bytes that a site signs to consent to the task; they contain the task's hash."""
        return b"dpcurves federation: takes part\n" + bytes.fromhex(self.hash)


def create_federation_task(
    members: tuple[Member, ...], model: SecureSum, document: Path, tickets: Path, *, name: str, neighbours: Neighbours,
    unit: Unit, budget: PrivacyLoss, coordinator: Server, analysts: int, columns: Schema | None = None,
    max_rows: int | None = None,
) -> FederationTask:  # fmt: skip
    """Create a task: write its document, a ticket for each participant, and a signing key for each analyst.

    Participants are the sites, the analysts and the coordinator. A ticket is a bearer token (SECRET) by which the
    coordinator recognises its holder.

    Args:
        members: The sites.
        model: The trust model.
        document: Path of the document.
        tickets: Folder of the tickets and keys.
        name: Display name of the task.
        neighbours: Add-remove or replace-one.
        unit: The protected unit, and its contribution bound at one site.
        budget: The total privacy loss of each site.
        coordinator: Address and certificate of the coordinator.
        analysts: Number of analysts.
        columns: Columns that questions may use; None: any.
        max_rows: Promised bound on the records of a site; None: no bound.

    Returns:
        The task, which the written document holds.

    Raises:
        ValueError: A file exists, a folder cannot be written, or the terms are inconsistent.
    """
    from dpcurves_parties.serving.task_document import create_task

    keys = [Ed25519PrivateKey.generate() for _ in range(analysts)]
    public = tuple(key.public_key().public_bytes_raw() for key in keys)
    draft = FederationTask(
        name, model, members, neighbours, unit, budget, coordinator, public, {}, dict(columns or {}), max_rows,
    )  # fmt: skip
    draft.terms  # noqa: B018  # validates before anything is written
    numbers = {Role.OWNER: len(members), Role.ANALYST: analysts, Role.COORDINATOR: 1}
    task = create_task(draft, numbers, document, tickets)
    for number, key in enumerate(keys, start=1):
        write_secret(tickets / f"analyst-{number}.key", key.private_bytes_raw().hex() + "\n")
    return task
