"""Self-signed server certificate and its private key. SECRET, the key."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import NameOID

from .errors import ProtocolAborted
from .new_files import FileTaken, write_public, write_secret

DAYS = 825
PATIENCE = 5.0
"""Seconds that one of two files may be there without the other: whoever writes both has them ready."""
POLL = 0.01


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """SECRET. A certificate that no authority has signed, and its key, both in PEM. It has no repr."""

    certificate: str
    key: str

    @classmethod
    def fresh(cls, host: str) -> Pair:
        """A new one for a host."""
        proof = generate_private_key(SECP256R1())
        return cls(_certificate(proof, host), _pem(proof))

    def write(self, certificate: Path, key: Path) -> None:
        """Into new files, that of the key for its owner alone.

        Raises:
            ValueError: there is one of this name, or a folder takes none.
        """
        write_secret(key, self.key)
        write_public(certificate, self.certificate)

    @classmethod
    def made(cls, host: str, certificate: Path, key: Path) -> bool:
        """Write a new one for a host where neither file is there. Whether it was written here.

        Where another process writes one at the same moment, it is waited for, and stays.

        Raises:
            ValueError: a folder takes none.
        """
        if not certificate.exists() and not key.exists():
            made = cls.fresh(host)
            with suppress(FileTaken):
                made.write(certificate, key)
                return True
        end = monotonic() + PATIENCE
        while certificate.exists() != key.exists() and monotonic() < end:
            sleep(POLL)
        return False


def require_valid(certificate: str, remedy: str) -> None:
    """Refuse to serve with a certificate that nobody believes any more.

    Raises:
        ProtocolAborted: it has expired.
    """
    end = x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc
    if end <= datetime.now(UTC):
        raise ProtocolAborted("identity", f"its certificate expired on {end:%Y-%m-%d}; {remedy}")


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
