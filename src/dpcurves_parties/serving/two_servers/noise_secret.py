"""SECRET. Secret from which a server derives all noise of a task, and the commitment that binds it to the secret."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcurves.ledger import Ledger
from dpcurves.mechanisms.prefixes.keyed_noise import NoiseKey

from ..errors import ProtocolAborted
from ..identity import Identity

SIZE = 32


@dataclass(frozen=True, slots=True, repr=False)
class NoiseSecret:
    """SECRET. The source of all noise of one task at one server. It has no repr.

    Formal guarantees: the commitment and the keys of noise are outputs of HKDF-SHA256 under labels of their own. To
    whoever lacks the secret they look like independent random strings, so the commitment tells nothing of any noise.
    Two secrets, parties or ways to draw have one commitment only if somebody has found a collision of SHA-256: so who
    shows the same commitment draws the same noise for the same set of reports.

    Attributes:
        secret: The server's key and that of the dataset in its ledger, joined.
        party: 0 or 1.
        drawn_as: Name of the noise law: equal names, equal noises from the same key.
    """

    secret: bytes
    party: int
    drawn_as: str

    @classmethod
    def of(cls, identity: Identity, ledger: Ledger, dataset: str, party: int, drawn_as: str) -> NoiseSecret:
        """Derive the secret from the server's and its ledger's keys. If either is lost, so is the secret, for ever."""
        # The server's own key is in it: both ledgers may, by mistake, have been given one and the same.
        secret = identity.sealing.private_bytes_raw() + ledger.dataset_key(dataset)
        return cls(secret, party, drawn_as)

    @property
    def commitment(self) -> str:
        """Commitment to the secret: the other server may know it, and holds this one to it."""
        return derived(self.secret, f"commitment of party {self.party} to {self.drawn_as}").hex()

    def key_of(self, name: str) -> NoiseKey:
        """The key of the noise for one set of reports."""
        return NoiseKey(derived(self.secret, f"noise of party {self.party} for {name}"))


def derived(secret: bytes, purpose: str) -> bytes:
    """32 bytes for one purpose: they tell nothing of the secret, or of those for others (RFC 5869)."""
    return HKDF(SHA256(), SIZE, salt=None, info=b"dpcurves " + purpose.encode()).derive(secret)


def lost(party: int) -> ProtocolAborted:
    """Error for a server that does not hold to its commitment."""
    return ProtocolAborted(
        "noise",
        f"server {party} has lost the key that it committed to when the task was closed, or is of another"
        " release; it would draw its noise again, so the task has ended and nothing is answered",
        409,
    )
