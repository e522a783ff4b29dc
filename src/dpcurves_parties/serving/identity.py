"""SECRET. Who a server is: the key that opens what is sealed to it, and the key that proves it. Kept in one folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from .certificate import Pair, host_of, require_valid
from .errors import ProtocolAborted
from .new_files import write_public, write_secret

PUBLIC, SEALING, PROOF, CERTIFICATE = "server.json", "sealing.key", "tls.key", "tls.pem"


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a task, as everybody knows it.

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
        made, sealing = Pair.fresh(host_of(url)), X25519PrivateKey.generate()
        server = Server(url, sealing.public_key().public_bytes_raw().hex(), made.certificate)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise ProtocolAborted("identity", f"{str(folder)!r} cannot be made ({error.strerror})") from None
        write_secret(folder / SEALING, sealing.private_bytes_raw().hex() + "\n")
        made.write(folder / CERTIFICATE, folder / PROOF)
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
        require_valid(self.public.certificate, "make keys and a task anew")

    @property
    def certificate(self) -> Path:
        """The file with the certificate."""
        return self.folder / CERTIFICATE

    @property
    def proof(self) -> Path:
        """The file with the private key of the certificate."""
        return self.folder / PROOF


def read_server(path: Path) -> Server:
    """The published identity of a server.

    Raises:
        ValueError: the file can not be read, or says something else.
    """
    try:
        return Server.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise ProtocolAborted("server", f"{str(path)!r} does not describe a server") from None
