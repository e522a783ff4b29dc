"""SECRET. Who a server is: the key that opens what is sealed to it, and the key that proves it. Kept in one folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.x509.oid import NameOID

from .errors import ProtocolAborted
from .task import Server
from .ticket import write_public, write_secret

PUBLIC, SEALING, PROOF, CERTIFICATE = "server.json", "sealing.key", "tls.key", "tls.pem"
DAYS = 825


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """SECRET. It has no repr.

    Attributes:
        folder: Where the keys lie, readable by their owner alone.
        public: What everybody may know.
        sealing: Opens shares.
    """

    folder: Path
    public: Server
    sealing: X25519PrivateKey

    @classmethod
    def found(cls, folder: Path, url: str) -> Identity:
        """A new one, in a folder that has none.

        Raises:
            ValueError: the URL is none, or the folder takes no files.
        """
        host = host_of(url)
        sealing, proof = X25519PrivateKey.generate(), generate_private_key(SECP256R1())
        server = Server(url, sealing.public_key().public_bytes_raw().hex(), _certificate(proof, host))
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolAborted("identity", f"{str(folder)!r} cannot be made ({error.strerror})") from None
        write_secret(folder / SEALING, sealing.private_bytes_raw().hex() + "\n")
        write_secret(folder / PROOF, _pem(proof))
        write_public(folder / CERTIFICATE, server.certificate)
        write_public(folder / PUBLIC, json.dumps(server.to_json(), indent=1) + "\n")
        return cls(folder, server, sealing)

    @classmethod
    def read(cls, folder: Path) -> Identity:
        """The one in a folder.

        Raises:
            ValueError: it can not be read. Nothing of it is shown.
        """
        try:
            secret = bytes.fromhex((folder / SEALING).read_text().strip())
            return cls(folder, read_server(folder / PUBLIC), X25519PrivateKey.from_private_bytes(secret))
        except (OSError, ValueError):
            raise ProtocolAborted("identity", f"{str(folder)!r} holds no keys of a server") from None

    def require_valid(self) -> None:
        """Refuse to serve with a certificate that nobody believes any more.

        Raises:
            ProtocolAborted: it has expired.
        """
        end = x509.load_pem_x509_certificate(self.public.certificate.encode()).not_valid_after_utc
        if end <= datetime.now(UTC):
            raise ProtocolAborted("identity", f"its certificate expired on {end:%Y-%m-%d}; make keys and a task anew")

    @property
    def certificate(self) -> Path:
        """The file with the certificate."""
        return self.folder / CERTIFICATE

    @property
    def proof(self) -> Path:
        """The file with the private key of the certificate."""
        return self.folder / PROOF


def read_server(path: Path) -> Server:
    """What a server has made known of itself.

    Raises:
        ValueError: the file can not be read, or says something else.
    """
    try:
        return Server.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise ProtocolAborted("server", f"{str(path)!r} does not describe a server") from None


def host_of(url: str) -> str:
    """The host of ``https://host:port``.

    Raises:
        ValueError: it is no such URL.
    """
    parts = urlsplit(url)
    try:
        usable = parts.scheme == "https" and bool(parts.hostname) and bool(parts.port) and parts.path in ("", "/")
    except ValueError:
        usable = False
    if not usable or parts.hostname is None:
        raise ProtocolAborted("url", f"https://host:port is needed, got {url!r}")
    return parts.hostname


def _certificate(key: EllipticCurvePrivateKey, host: str) -> str:
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dpcurves aggregator")]), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName([_known_as(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _known_as(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: EllipticCurvePrivateKey) -> str:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
