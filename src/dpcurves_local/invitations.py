"""Invitations: whoever asks signs names, and a server of that task takes reports of signed names alone."""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from dpcurves.arguments import Refused

from .report_file import NAME
from .task import Task

LABEL = b"dpcurves local invitation\n"
NOT_ONE = "it is no invitation to this task"


@dataclass(frozen=True)
class Inviter:
    """The secret key of whoever asks, which signs invitations to a task that names its public key.

    Formal guarantees: none of its own; what one report loses is bounded by the task. An invitation is a name of the
    task and an Ed25519 signature of it under a label and the task's hash. So a server takes at most one report for each
    invitation, and nobody can send one in the name of another, or in made-up names. The server learns from it what it
    learns from a report: the name, which is a hash of the person's.

    Attributes:
        key: An Ed25519 private key.
    """

    key: Ed25519PrivateKey

    @classmethod
    def found(cls, path: str | Path) -> Self:
        """The key in a PEM file, which is made where there is none, readable by its owner alone.

        Raises:
            ValueError: the file can not be had, or holds something else.
        """
        place, key = Path(path), None
        try:
            try:
                file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                read = load_pem_private_key(place.read_bytes(), password=None)
                key = read if isinstance(read, Ed25519PrivateKey) else None
            else:
                key = Ed25519PrivateKey.generate()
                with os.fdopen(file, "wb") as opened:
                    opened.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        except OSError as error:
            raise Refused("inviting", f"the file can not be had ({error.strerror})") from None
        except (ValueError, TypeError):
            pass
        if key is None:
            raise Refused("inviting", "the file holds no Ed25519 private key without a password")
        return cls(key)

    @cached_property
    def public(self) -> str:
        """The public key in 64 hexadecimal digits: `Task(..., invitations=...)`."""
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def invitation(self, task: Task, person: str) -> str:
        """The invitation of a person, which that person alone should have.

        Raises:
            ValueError: the task names another key, or the person has no name.
        """
        if task.invitations != self.public:
            raise Refused("task", "it names another key for invitations, or none")
        name = task.name_of(person)
        return urlsafe_b64encode(name + self.key.sign(_signed(task, name))).decode()


def invited(task: Task, invitation: str) -> bytes:
    """The name in an invitation to the task.

    Raises:
        ValueError: the signature is not of the task's key, or of another name or task.
    """
    try:
        told = urlsafe_b64decode(invitation.encode("ascii"))
        name = told[:NAME]
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(task.invitations or "")).verify(
            told[NAME:], _signed(task, name)
        )
    except (ValueError, InvalidSignature):
        raise Refused("invitation", NOT_ONE) from None
    return name


def _signed(task: Task, name: bytes) -> bytes:
    return LABEL + bytes.fromhex(task.hash) + name
