"""SECRET. Keys and TLS certificate of a server: their files, creation and rotation.

    Identity           the keys in a folder: `create`, `load`, `rotate`
    Server             the public part, which task documents name
    CertificatePair    a self-signed certificate for HTTPS, and its private key

Files of a folder:

    sealing.key           X25519 key to which shares and letters are encrypted (HPKE)
    tls.key, tls.pem      key and self-signed certificate of the HTTPS server
    server.json           the public part, for task documents
    before-...            rotated keys, for the tasks that name them

Files are written whole or not at all, and secrets are readable by their owner only. A rotation that was interrupted is
completed when the identity is loaded.
"""

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

from dpcurves.codec import STORED_CODEC
from dpcurves.ledger.chain import publish_file

from .messages import ProtocolError

CERTIFICATE_DAYS = 825
"""Days for which a generated certificate is valid: the most that common TLS clients accept. Afterwards clients refuse
the server."""


class FileAlreadyExists(ProtocolError):
    """The file exists and is not overwritten."""

    def __init__(self, path: Path) -> None:
        super().__init__("file", f"{str(path)!r} exists and is not overwritten; name a new file, or move this one")


@dataclass(frozen=True, slots=True, repr=False)
class CertificatePair:
    """SECRET. A self-signed certificate and its key. It has no repr.

    Attributes:
        certificate: The certificate, in PEM.
        key: Its private key, in PEM.
    """

    certificate: str
    key: str

    @classmethod
    def generate(cls, host: str) -> CertificatePair:
        """Generate a P-256 key and a self-signed certificate, valid from an hour ago for `CERTIFICATE_DAYS`.

        Args:
            host: Host name or IP address of the server.
        """
        proof = generate_private_key(SECP256R1())
        key_format = serialization.PrivateFormat.PKCS8
        encryption = serialization.NoEncryption()
        key = proof.private_bytes(serialization.Encoding.PEM, key_format, encryption).decode()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dpcurves aggregator")])
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder(name, name, proof.public_key(), x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=CERTIFICATE_DAYS))
            .add_extension(x509.SubjectAlternativeName([_make_alternative_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        )
        return cls(builder.sign(proof, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode(), key)

    def write(self, certificate: Path, key: Path) -> None:
        """Write certificate and key to new files; only their owner can read the key.

        Args:
            certificate: Path of the certificate.
            key: Path of the key.

        Raises:
            ValueError: a file exists, or a folder is not writable.
        """
        write_secret(key, self.key)
        write_public(certificate, self.certificate)

    @classmethod
    def write_if_missing(cls, host: str, certificate: Path, key: Path) -> bool:
        """Write a new certificate for a host if neither file exists.

        If another process writes a certificate at the same time, wait for that certificate and keep it.

        Args:
            host: Host name or IP address of the server.
            certificate: Path of the certificate.
            key: Path of the key.

        Returns:
            True if the certificate was written by this call.

        Raises:
            ValueError: a folder is not writable.
        """
        if not certificate.exists() and not key.exists():
            certificate_pair = cls.generate(host)
            with suppress(FileAlreadyExists):
                certificate_pair.write(certificate, key)
                return True
        # 5.0: seconds to wait for the second of two files, which their writer writes one after the other
        end = monotonic() + 5.0
        while certificate.exists() != key.exists() and monotonic() < end:
            sleep(0.01)  # seconds between polls for the other file
        return False


def require_valid_certificate(certificate: str, remedy: str) -> None:
    """Refuse to serve with an expired certificate, and name the remedy.

    Args:
        certificate: The certificate, in PEM.
        remedy: What the operator should do, for the message.

    Raises:
        ProtocolError: the certificate has expired; the message names its last day and the remedy.
    """
    end = x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc
    if end <= datetime.now(UTC):
        raise ProtocolError("identity", f"the certificate expired on {end}; {remedy}")


def parse_host(url: str) -> str:
    """Return the host of a URL ``https://host:port``.

    Args:
        url: URL of a server.

    Raises:
        ValueError: the URL has another form.
    """
    address = urlsplit(url)
    try:
        usable = (
            address.scheme == "https" and bool(address.hostname) and bool(address.port) and address.path in ("", "/")
        )
    except ValueError:
        usable = False
    if not usable or address.hostname is None:
        raise ProtocolError("url", f"must be https://host:port, as in https://server.example:8443, got {url!r}")
    return address.hostname


def _make_alternative_name(host: str) -> x509.GeneralName:
    """Return the certificate's name of a host: an IP address or a DNS name."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


PUBLIC_FILE = "server.json"
"""File in an identity's folder with the server's URL, encryption key and certificate: the one that the coordinator
gets."""
SEALING_KEY_FILE = "sealing.key"
"""File in an identity's folder with the private key, in hexadecimal digits, that decrypts reports. SECRET."""
TLS_KEY_FILE = "tls.key"
"""File in an identity's folder with the private key of the certificate, in PEM. SECRET."""
CERTIFICATE_FILE = "tls.pem"
"""File in an identity's folder with the server's TLS certificate, in PEM."""
OLD_KEYS_PREFIX = "before-"
"""Start of the names of folders with replaced keys, inside the folder of their successors; a number from 1 follows. The
server loads them all, so earlier tasks continue."""
NEXT_KEYS_FOLDER = "next"
"""Folder, inside an identity's, of new keys that are complete; loading the identity moves them to their place, also
after a crash."""
IDENTITY_FILES = (SEALING_KEY_FILE, TLS_KEY_FILE, CERTIFICATE_FILE, PUBLIC_FILE)
"""Files of an identity in the order in which a rotation replaces them; the public one comes last."""


def _finish_rotation(folder: Path) -> None:
    """Move new keys that are complete to their place in the folder, also after an interrupted rotation.

    Args:
        folder: Folder of the identity; it is left unchanged if it has no new keys.
    """
    next_folder = folder / NEXT_KEYS_FOLDER
    if next_folder.exists():
        for name in IDENTITY_FILES:
            with suppress(FileNotFoundError):
                (next_folder / name).replace(folder / name)
            (next_folder / name).unlink(missing_ok=True)  # hard links: both names exist until the rename
        next_folder.rmdir()


@dataclass(frozen=True, slots=True)
class Server:
    """Public identity of a server of a task: its address, encryption key and certificate.

    Attributes:
        url: URL of the server, ``https://host:port``.
        hpke_key: X25519 key to which shares are sealed, in hexadecimal digits.
        certificate: Self-signed certificate of the server, in PEM. No other authority is trusted.
    """

    url: str
    hpke_key: str
    certificate: str


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """SECRET. The keys of a server. It has no repr.

    Attributes:
        folder: Folder of the keys, readable by their owner only.
        public: Public part.
        hpke_key: Private key that opens shares.
    """

    folder: Path
    public: Server
    hpke_key: X25519PrivateKey

    @classmethod
    def create(cls, folder: Path, url: str) -> Identity:
        """Create the identity of a server in a folder: new keys and a self-signed certificate for its URL.

        Args:
            folder: Folder without an identity; it is created if it is missing.
            url: URL of the server, ``https://host:port``.

        Raises:
            ValueError: the URL is invalid, the folder has keys already, or it is not writable.
        """
        certificate_pair = CertificatePair.generate(parse_host(url))
        sealing = X25519PrivateKey.generate()
        server = Server(url, sealing.public_key().public_bytes_raw().hex(), certificate_pair.certificate)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolError(
                "identity", f"{str(folder)!r} cannot be made ({error.strerror}); name another folder"
            ) from None
        write_secret(folder / SEALING_KEY_FILE, sealing.private_bytes_raw().hex() + "\n")
        certificate_pair.write(folder / CERTIFICATE_FILE, folder / TLS_KEY_FILE)
        write_public(folder / PUBLIC_FILE, json.dumps(STORED_CODEC.encode(server), indent=1) + "\n")
        return cls(folder, server, sealing)

    @classmethod
    def load(cls, folder: Path) -> Identity:
        """Load the identity in a folder, after completing an interrupted rotation.

        Raises:
            ValueError: the keys cannot be read, or do not belong together. The error contains no secret.
        """
        try:
            _finish_rotation(folder)
            secret = bytes.fromhex((folder / SEALING_KEY_FILE).read_text().strip())
            identity = cls(folder, read_server(folder / PUBLIC_FILE), X25519PrivateKey.from_private_bytes(secret))
        except (OSError, ValueError):
            raise ProtocolError(
                "identity", f"{str(folder)!r} holds no keys of a server; make them with dpcurves task identity"
            ) from None
        if identity.hpke_key.public_key().public_bytes_raw().hex() != identity.public.hpke_key:
            raise ProtocolError(
                "identity",
                f"{str(folder)!r} has a public key that does not belong to its private key; restore the "
                "folder from a copy",
            )
        return identity

    def rotate(self, url: str | None = None) -> Identity:
        """Replace these keys by new ones; the old ones remain in a folder inside, for the tasks that name them.

        The HPKE key is new, and with it everything derived from it: the noise key, and the key with which both servers
        check reports.

        Args:
            url: URL of a separate server, for which certificate and TLS key are new, too; None: these stay.

        Returns:
            The identity with the new keys.

        Raises:
            ValueError: the URL is invalid, or equals the old keys' URL, or files cannot be written.
        """
        if url == self.public.url:
            raise ProtocolError(
                "url",
                "must be another https://host:port than now, because earlier tasks name this one with the "
                "present keys; or leave --url out",
            )
        archive = self.folder / f"{OLD_KEYS_PREFIX}{len(self.previous_identities) + 1}"
        staging = self.folder / "coming"
        shutil.rmtree(staging, ignore_errors=True)
        identity = Identity.create(staging, url or self.public.url)
        if url is None:
            public = replace(identity.public, certificate=self.public.certificate)
            (staging / PUBLIC_FILE).unlink()
            write_public(staging / PUBLIC_FILE, json.dumps(STORED_CODEC.encode(public), indent=1) + "\n")
            for name in (CERTIFICATE_FILE, TLS_KEY_FILE):
                (staging / name).unlink()
                os.link(self.folder / name, staging / name)
        archive.mkdir(mode=0o700, exist_ok=True)
        for name in IDENTITY_FILES:
            with suppress(FileExistsError):  # an interrupted rotation already copied these
                os.link(self.folder / name, archive / name)
        staging.replace(self.folder / NEXT_KEYS_FOLDER)
        return Identity.load(self.folder)

    @property
    def previous_identities(self) -> tuple[Identity, ...]:
        """Identities with earlier keys of this server, replaced by rotations, oldest first."""
        numbers = count(1)
        folders = takewhile(Path.exists, (self.folder / f"{OLD_KEYS_PREFIX}{number}" for number in numbers))
        return tuple(Identity.load(folder) for folder in folders)

    def find_identity(self, public: Server) -> Identity | None:
        """Return the keys, current or rotated, whose public part a task names; None if it names another server."""
        return next((identity for identity in (self, *self.previous_identities) if identity.public == public), None)

    def require_valid(self) -> None:
        """Refuse to serve if this identity's certificate has expired.

        Raises:
            ProtocolError: the certificate has expired.
        """
        require_valid_certificate(self.public.certificate, "make keys and a task anew")

    @property
    def certificate_file(self) -> Path:
        """Path of the certificate in PEM, inside the identity's folder."""
        return self.folder / CERTIFICATE_FILE

    @property
    def private_key_file(self) -> Path:
        """Path of the certificate's private key in PEM, readable by its owner only."""
        return self.folder / TLS_KEY_FILE


def read_server(path: Path) -> Server:
    """Read the public identity of a server: URL, certificate and public keys, as its operator published them.

    Args:
        path: A file ``server.json``.

    Raises:
        ValueError: the file cannot be read, or has other content.
    """
    try:
        return STORED_CODEC.decode_fields(Server, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise ProtocolError(
            "server",
            f"{str(path)!r} does not describe a server; name the server.json of a folder that "
            "dpcurves task identity made",
        ) from None


def write_public(path: Path, text: str) -> None:
    """Write a new, public file atomically.

    Args:
        path: Path of the file.
        text: Content of the file.

    Raises:
        ValueError: the file exists, or the folder is not writable.
    """
    _write_new(path, text, 0o644)


def require_new(path: Path) -> None:
    """Refuse to overwrite a file: check that no file exists at the path.

    Raises:
        FileAlreadyExists: the file exists. It is a `ValueError`.
    """
    if path.exists():
        raise FileAlreadyExists(path)


def write_secret(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, atomically.

    Args:
        path: Path of the file.
        text: Content of the file.

    Raises:
        ValueError: the file exists, or the folder is not writable.
    """
    _write_new(path, text, 0o600)


def _write_new(path: Path, text: str, mode: int) -> None:
    """Write a new file atomically with given permissions; an existing file is never replaced.

    Args:
        path: Path of the file.
        text: Its content.
        mode: Permission bits, such as 0o600.

    Raises:
        FileAlreadyExists: the file exists.
        ProtocolError: the file cannot be written.
    """
    try:
        is_first = publish_file(path, lambda draft: _write_draft(draft, text, mode))
    except OSError as error:
        raise ProtocolError(
            "file", f"{str(path)!r} cannot be written ({error.strerror}); name a file in a folder that you may write to"
        ) from None
    if not is_first:
        raise FileAlreadyExists(path)


def _write_draft(draft: Path, text: str, mode: int) -> None:
    """Write the text to a draft file and set its permissions, before it is published under its name.

    Args:
        draft: Path of the draft.
        text: The content.
        mode: Permission bits, such as 0o600.
    """
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)
