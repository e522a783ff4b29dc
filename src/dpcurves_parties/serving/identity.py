"""SECRET. The identity of a server: its keys, its self-signed certificate, and the files they are kept in."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import count, takewhile
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.x509.oid import NameOID

from dpcurves.codec import STORED
from dpcurves.ledger.chain import publish_file

from .messages import ProtocolError


class FileAlreadyExists(ProtocolError):
    """There is a file of this name, which is not written over."""

    def __init__(self, path: Path) -> None:
        super().__init__("file", f"{str(path)!r} is there already; it is not written over")


def write_public(path: Path, text: str) -> None:
    """A new file that others may read, whole from the first moment.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    _write_new(path, text, 0o644)


def require_new(path: Path) -> None:
    """Refuse a file that is there. Raises `ValueError`."""
    if path.exists():
        raise FileAlreadyExists(path)


def write_secret(path: Path, text: str) -> None:
    """A new file that its owner alone may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    _write_new(path, text, 0o600)


def _write_new(path: Path, text: str, mode: int) -> None:
    try:
        is_first = publish_file(path, lambda draft: _write_draft(draft, text, mode))
    except OSError as error:
        raise ProtocolError("file", f"{str(path)!r} cannot be written ({error.strerror})") from None
    if not is_first:
        raise FileAlreadyExists(path)


def _write_draft(draft: Path, text: str, mode: int) -> None:
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)


DAYS = 825
PATIENCE = 5.0
"""Seconds that one of two files may be there without the other: whoever writes both has them ready."""
POLL = 0.01


@dataclass(frozen=True, slots=True, repr=False)
class CertificatePair:
    """SECRET. A certificate that no authority has signed, and its key, both in PEM. It has no repr."""

    certificate: str
    key: str

    @classmethod
    def generate(cls, host: str) -> CertificatePair:
        """A new one for a host."""
        proof = generate_private_key(SECP256R1())
        form, alone = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        key = proof.private_bytes(serialization.Encoding.PEM, form, alone).decode()
        name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dpcurves aggregator")]), datetime.now(UTC)
        builder = (
            x509.CertificateBuilder(name, name, proof.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=DAYS))
            .add_extension(x509.SubjectAlternativeName([_make_alternative_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        )
        return cls(builder.sign(proof, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode(), key)

    def write(self, certificate: Path, key: Path) -> None:
        """Into new files, that of the key for its owner alone.

        Raises:
            ValueError: there is one of this name, or a folder takes none.
        """
        write_secret(key, self.key)
        write_public(certificate, self.certificate)

    @classmethod
    def write_if_missing(cls, host: str, certificate: Path, key: Path) -> bool:
        """Write a new one for a host where neither file is there. Whether it was written here.

        Where another process writes one at the same moment, it is waited for, and stays.

        Raises:
            ValueError: a folder takes none.
        """
        if not certificate.exists() and not key.exists():
            made = cls.generate(host)
            with suppress(FileAlreadyExists):
                made.write(certificate, key)
                return True
        end = monotonic() + PATIENCE
        while certificate.exists() != key.exists() and monotonic() < end:
            sleep(POLL)
        return False


def require_valid_certificate(certificate: str, remedy: str) -> None:
    """Refuse to serve with a certificate that nobody believes any more. Raises `ProtocolError`: it has expired."""
    end = x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc
    if end <= datetime.now(UTC):
        raise ProtocolError("identity", f"its certificate expired on {end:%Y-%m-%d}; {remedy}")


def parse_host(url: str) -> str:
    """The host of ``https://host:port``. Raises `ValueError`: it is no such URL."""
    parts = urlsplit(url)
    try:
        usable = parts.scheme == "https" and bool(parts.hostname) and bool(parts.port) and parts.path in ("", "/")
    except ValueError:
        usable = False
    if not usable or parts.hostname is None:
        raise ProtocolError("url", f"https://host:port is needed, got {url!r}")
    return parts.hostname


def _make_alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


PUBLIC, SEALING, PROOF, CERTIFICATE = "server.json", "sealing.key", "tls.key", "tls.pem"
BEFORE = "before-"
"""Folders of the keys that were rotated, inside the folder of those that took their place; with a number, from 1."""
NEXT = "next"
FILES = (SEALING, PROOF, CERTIFICATE, PUBLIC)


def _finish_rotation(folder: Path) -> None:
    """Let new keys take the place of those that are kept already: what was stopped here is done by whoever reads."""
    new = folder / NEXT
    if new.exists():
        for name in FILES:
            with suppress(FileNotFoundError):
                (new / name).replace(folder / name)
            (new / name).unlink(missing_ok=True)  # two names of one file both stay
        new.rmdir()


@dataclass(frozen=True, slots=True)
class Server:
    """Public facts on a server of a task: its address, encryption key and certificate.

    Attributes:
        url: Where it answers: ``https://host:port``.
        hpke_key: The X25519 key to which shares are sealed, in hexadecimal digits.
        certificate: What proves it: a certificate of its own, in PEM. No other authority is believed.
    """

    url: str
    hpke_key: str
    certificate: str


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """SECRET. It has no repr.

    Attributes:
        folder: Where the keys lie, readable by their owner alone.
        public: What everybody may know.
        hpke_key: Opens shares.
    """

    folder: Path
    public: Server
    hpke_key: X25519PrivateKey

    @classmethod
    def create(cls, folder: Path, url: str) -> Identity:
        """A new one, in a folder that has none. Raises `ValueError`: the URL is none, or the folder takes no files."""
        made, sealing = CertificatePair.generate(parse_host(url)), X25519PrivateKey.generate()
        server = Server(url, sealing.public_key().public_bytes_raw().hex(), made.certificate)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolError("identity", f"{str(folder)!r} cannot be made ({error.strerror})") from None
        write_secret(folder / SEALING, sealing.private_bytes_raw().hex() + "\n")
        made.write(folder / CERTIFICATE, folder / PROOF)
        write_public(folder / PUBLIC, json.dumps(STORED.encode(server), indent=1) + "\n")
        return cls(folder, server, sealing)

    @classmethod
    def load(cls, folder: Path) -> Identity:
        """The one in a folder. Raises `ValueError`: it can not be read. Nothing of it is shown."""
        try:
            _finish_rotation(folder)
            secret = bytes.fromhex((folder / SEALING).read_text().strip())
            made = cls(folder, read_server(folder / PUBLIC), X25519PrivateKey.from_private_bytes(secret))
        except (OSError, ValueError):
            raise ProtocolError("identity", f"{str(folder)!r} holds no keys of a server") from None
        if made.hpke_key.public_key().public_bytes_raw().hex() != made.public.hpke_key:
            raise ProtocolError("identity", f"{str(folder)!r} has a public key that is not of its secret one")
        return made

    def rotate(self, url: str | None = None) -> Identity:
        """Let new keys take the place of these, which are kept in a folder inside for the tasks that name them.

        The sealing key is a new one, and so is all that follows from it: the key of noise, and what both servers check
        reports with. With a `url` the certificate and its key are new, too, for a server of its own there.

        Raises:
            ValueError: the URL is none, or is that of the keys before, or files cannot be written.
        """
        if url == self.public.url:
            raise ProtocolError("url", "a new certificate needs an address of its own: the tasks before name this one")
        kept = self.folder / f"{BEFORE}{len(self.previous_identities) + 1}"
        coming = self.folder / "coming"
        shutil.rmtree(coming, ignore_errors=True)
        made = Identity.create(coming, url or self.public.url)
        if url is None:
            public = replace(made.public, certificate=self.public.certificate)
            (coming / PUBLIC).unlink()
            write_public(coming / PUBLIC, json.dumps(STORED.encode(public), indent=1) + "\n")
            for name in (CERTIFICATE, PROOF):
                (coming / name).unlink()
                os.link(self.folder / name, coming / name)
        kept.mkdir(mode=0o700, exist_ok=True)
        for name in FILES:
            with suppress(FileExistsError):  # of a rotation that was stopped: these are the same
                os.link(self.folder / name, kept / name)
        coming.replace(self.folder / NEXT)
        return Identity.load(self.folder)

    @property
    def previous_identities(self) -> tuple[Identity, ...]:
        """Keys that were rotated, the first ones first."""
        numbers = count(1)
        folders = takewhile(Path.exists, (self.folder / f"{BEFORE}{number}" for number in numbers))
        return tuple(Identity.load(folder) for folder in folders)

    def find_identity(self, public: Server) -> Identity | None:
        """The keys that a task names, these or earlier ones; None: it names another server."""
        return next((each for each in (self, *self.previous_identities) if each.public == public), None)

    def require_valid(self) -> None:
        """Refuse to serve with a certificate that nobody believes any more.

        Raises:
            ProtocolAborted: it has expired.
        """
        require_valid_certificate(self.public.certificate, "make keys and a task anew")

    @property
    def certificate_file(self) -> Path:
        """The file with the certificate."""
        return self.folder / CERTIFICATE

    @property
    def private_key_file(self) -> Path:
        """The file with the private key of the certificate."""
        return self.folder / PROOF


def read_server(path: Path) -> Server:
    """The published identity of a server. Raises `ValueError`: the file can not be read, or says something else."""
    try:
        return STORED.decode_fields(Server, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise ProtocolError("server", f"{str(path)!r} does not describe a server") from None
