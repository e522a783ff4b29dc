"""SECRET. Who a server is: the key that opens what is sealed to it, and the key that proves it. Kept in one folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from ..serving.certificate import Pair, host_of, require_valid
from ..serving.errors import ProtocolAborted
from ..serving.new_files import write_public, write_secret
from .task import Server

PUBLIC, SEALING, PROOF, CERTIFICATE = "server.json", "sealing.key", "tls.key", "tls.pem"


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
    """What a server has made known of itself.

    Raises:
        ValueError: the file can not be read, or says something else.
    """
    try:
        return Server.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise ProtocolAborted("server", f"{str(path)!r} does not describe a server") from None
