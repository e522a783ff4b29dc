"""SECRET. Secure aggregation: the sum of the vectors of many sites, revealing only the sum. It adds no noise.

The protocol of Bonawitz et al. (2017): a site adds a self mask to its vector, and a pairwise mask with each of its
neighbours, which cancels in the sum. Mask keys are secret-shared among neighbours, so that the other sites can remove
the self masks of sites in the sum and the pairwise masks of sites that dropped out. With 32 or more sites, the graph of
neighbours is sparse (Bell et al. 2020).

All functions map bytes to bytes, and randomness is an argument. The state between messages is bytes, too: the caller
must store it before it sends the message, and call each function once per round.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple, Protocol

import numpy as np
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.codec import STORED_CODEC

Vector = NDArray[np.uint64]
"""Integers modulo 2**64."""


@dataclass(frozen=True)
class Roster:
    """The sites of a task, and how many of them may collude or drop out.

    Attributes:
        task: Digest of the task, 32 bytes.
        keys: The Ed25519 public key of each site.
        collusion_threshold: The number of sites that may collude with the coordinator.
        max_dropouts: The number of sites that a sum may leave out because they did not send their vectors in time.

    Raises:
        ValueError: Fewer than 2 or more than 100 sites, a duplicate key, or `collusion_threshold` or `max_dropouts` out
            of range.

    Formal guarantees: m sites, of which c collude. Lists of the sites in a sum are signed by a `quorum` of more than
    ``(m + c) / 2``: two quorums share more than c sites, so at least one honest site, which signs one list per
    round; hence one list per round can be opened. A site's `threshold` is more than ``(n + c) / 2`` of its n holders:
    even if honest holders were shown different lists, both kinds of its masks could not be opened, since that takes
    ``2 threshold <= (n - c) + 2 c`` shares. Honest sites in the sum stay connected by masks that are never removed:
    neighbours are the nearest sites on both sides of a circle, and removing fewer sites than the degree leaves such a
    graph connected (Harary 1962; at most c and the absent sites are removed).
    """

    task: bytes
    keys: tuple[bytes, ...]
    collusion_threshold: int
    max_dropouts: int = 0

    def __post_init__(self) -> None:
        sites = len(self.keys)
        most_sites = 100  # sites per roster at most
        if not 2 <= sites <= most_sites:
            raise InvalidArgument("sites", f"must be from 2 to {most_sites}, as in 3, got {sites}")
        if len(set(self.keys)) < sites or any(len(key) != 32 for key in self.keys):
            raise InvalidArgument(
                "keys",
                f"must be {sites} different Ed25519 public keys of 32 bytes, one for each site; take them from the "
                "site.json of each",
            )
        if not 0 <= self.collusion_threshold < sites:
            raise InvalidArgument(
                "collusion_threshold",
                f"must be from 0 to {sites - 1} for {sites} sites, as in 1, got {self.collusion_threshold}",
            )
        if not 0 <= self.max_dropouts <= self.max_failures:
            raise InvalidArgument(
                "max_dropouts",
                f"must be from 0 to {self.max_failures}, got {self.max_dropouts}; allow fewer missing sites",
            )

    @property
    def degree(self) -> int:
        """Number of neighbours with which a site shares pairwise masks (random vectors that cancel in the sum).

        They are all other sites; in a sparse graph, an even number of them.
        """
        sites = len(self.keys)
        few = 16  # neighbours per site in a sparse graph, unless `collusion_threshold` and `max_dropouts` require more
        sparse_degree = max(
            few,
            2 * (-(-(3 * self.collusion_threshold + 2) // 2)),
            2 * (self.collusion_threshold + self.max_dropouts) + 2,
        )
        sparse = 32  # sites: the smallest roster with a sparse graph of neighbours
        return sites - 1 if sites < sparse or sparse_degree >= sites - 1 else sparse_degree

    @property
    def quorum(self) -> int:
        """Number of sites that must sign the list of the sites in a sum before any site opens shares of masks."""
        return (len(self.keys) + self.collusion_threshold) // 2 + 1

    @property
    def threshold(self) -> int:
        """Number of secret shares that reconstruct the key of a site's masks (Shamir's threshold)."""
        return (self.degree + 1 + self.collusion_threshold) // 2 + 1

    @property
    def max_failures(self) -> int:
        """Number of sites, whichever they are, that may drop out at any moment without blocking the round."""
        return min(len(self.keys) - self.quorum, self.degree + 1 - self.threshold)

    def find_holders(self, site: int) -> tuple[int, ...]:
        """Return the sites that hold shares of a site's masks: itself, and its neighbours.

        Args:
            site: Number of the site, from 0.

        Returns:
            Numbers of the sites in rising order.
        """
        sites = len(self.keys)
        reach = self.degree // 2
        if self.degree == sites - 1:
            return tuple(range(sites))
        return tuple(sorted((site + step) % sites for step in range(-reach, reach + 1)))

    @cached_property
    def fingerprint(self) -> bytes:
        """SHA-256 of the roster (task, public keys and thresholds), 32 bytes."""
        facts = [self.task.hex(), [key.hex() for key in self.keys], self.collusion_threshold, self.max_dropouts]
        return sha256(json.dumps(["secure sum roster", 1, *facts]).encode()).digest()


@dataclass(frozen=True)
class SumRound:
    """A run of the protocol: a single sum of the vectors of a roster's sites. Every message names its run.

    Attributes:
        roster: The participating sites, by their public keys.
        number: The number of the round in its task, from 0 to 2**64 - 1.
        plan_digest: SHA-256 of the query plan that the sum answers, 32 bytes.
        vector_length: Number of integers in each site's vector, and in the sum.
    """

    roster: Roster
    number: int
    plan_digest: bytes
    vector_length: int

    @cached_property
    def header(self) -> bytes:
        """Bytes that identify the round: every message begins with them, and every key is derived from them.

        They contain task, number, vector length, plan and roster, so a message or a key fits no other round.
        """
        numbers = self.number.to_bytes(8, "little") + self.vector_length.to_bytes(8, "little")
        return b"dpsum 1\n" + self.roster.task + numbers + self.plan_digest + self.roster.fingerprint


# Numbers of the stages of a round, in which sites send keys, shares of mask keys, masked vectors, signed lists of the
# sites in the sum, and opened shares.
KEYS, SHARES, MASKED, SIGNED, OPENED = range(1, 6)
STAGES = {KEYS: "keys", SHARES: "shares", MASKED: "masked vectors", SIGNED: "signed lists", OPENED: "opened shares"}
"""Words for the stages of a round, by number, in error messages."""
SIGNATURE_SIZE = 64
"""Bytes of an Ed25519 signature (RFC 8032)."""
HASH_SIZE = 32
"""Bytes of a SHA-256 digest, and of an X25519 public key."""


@dataclass(frozen=True, slots=True, repr=False)
class Signer:
    """SECRET. A site and its signing key. It has no repr."""

    site: int
    key: Ed25519PrivateKey

    def sign_message(self, sum_round: SumRound, stage: int, body: bytes) -> bytes:
        """Return a signed message of a stage: round header, stage, site, body, and the site's Ed25519 signature of all
        these.

        Args:
            sum_round: The round.
            stage: Number of the stage.
            body: Content of the message.
        """
        message = sum_round.header + bytes([stage]) + self.site.to_bytes(2, "little") + body
        return message + self.key.sign(message)


class SignedMessage(NamedTuple):
    """A verified message of a round, with its sender."""

    site: int
    body: bytes
    octets: bytes


def parse_message(sum_round: SumRound, stage: int, octets: bytes) -> SignedMessage:
    """Parse and verify a message of this round and stage.

    Args:
        sum_round: The round.
        stage: Number of the stage.
        octets: The message as it was received.

    Raises:
        ProtocolError: The message is of another round or stage, or its signature is invalid.
    """
    start = len(sum_round.header)
    name = STAGES[stage]
    if octets[:start] != sum_round.header:
        raise ProtocolError(
            name, "a message belongs to another task, round, plan or roster; use the same task document at all sites"
        )
    if len(octets) < start + 3 + SIGNATURE_SIZE or octets[start] != stage:
        raise ProtocolError(
            name, "a message is cut off, or belongs to another stage; use the same version of dpcurves on all machines"
        )
    site = int.from_bytes(octets[start + 1 : start + 3], "little")
    if site >= len(sum_round.roster.keys):
        raise ProtocolError(
            name, f"a message names site {site}, which the task does not have; use the same task document at all sites"
        )
    try:
        key = Ed25519PublicKey.from_public_bytes(sum_round.roster.keys[site])
        key.verify(octets[-SIGNATURE_SIZE:], octets[:-SIGNATURE_SIZE])
    except (InvalidSignature, ValueError):
        raise ProtocolError(
            name,
            f"a message of site {site} is not signed by that site; ask its operator whether its key changed",
        ) from None
    return SignedMessage(site, octets[start + 3 : -SIGNATURE_SIZE], octets)


def _parse_stage(
    sum_round: SumRound, stage: int, messages: Iterable[bytes], size: int | None = None
) -> dict[int, SignedMessage]:
    """Return the messages of a stage by site, in ascending order, after verifying their signatures. Duplicates are
    allowed, different messages of one site are not.

    Args:
        sum_round: The round of secure aggregation.
        stage: Number of the stage.
        messages: Encoded messages.
        size: Bytes of a message's body; None: any size.

    Raises:
        ProtocolError: A message is invalid, or a site sent two different ones.
    """
    messages_by_site: dict[int, SignedMessage] = {}
    for octets in messages:
        message = parse_message(sum_round, stage, octets)
        if size is not None and len(message.body) != size:
            raise ProtocolError(
                STAGES[stage],
                f"the message of site {message.site} has a wrong length; use the same version of "
                "dpcurves on all machines",
            )
        if messages_by_site.setdefault(message.site, message).octets != octets:
            raise ProtocolError(
                STAGES[stage], f"site {message.site} sent two different messages; ask this site's operator"
            )
    return dict(sorted(messages_by_site.items()))


def _require_present(sum_round: SumRound, stage: int, present: Iterable[int], before: Iterable[int]) -> None:
    """Check that enough sites take part in a stage, and only sites of the stage before.

    Args:
        sum_round: The round of secure aggregation.
        stage: Number of the stage, for the message.
        present: Sites with a message.
        before: Sites of the stage before.

    Raises:
        ProtocolError: too few sites are present (status 409), or a site was not in the stage before.
    """
    sites = set(present)
    required_count = len(sum_round.roster.keys) - sum_round.roster.max_dropouts
    if len(sites) < required_count:
        rule = f"{required_count} of {len(sum_round.roster.keys)} sites must send these, {len(sites)} did; ask again"
        raise ProtocolError(STAGES[stage], rule, 409)
    if not sites <= set(before):
        raise ProtocolError(STAGES[stage], f"site {min(sites - set(before))} was not in the stage before; ask again")


def _digest_messages(messages: Mapping[int, SignedMessage]) -> bytes:
    """Return one SHA-256 hash for the messages of all sites in a stage, in the order of the sites.

    Args:
        messages: Verified message of each site.
    """
    return sha256(b"".join(sha256(messages[site].octets).digest() for site in sorted(messages))).digest()


# Secret sharing of 32 bytes (Shamir 1979), in the field of the first prime above 2**256.


SECRET_MODULUS = 2**256 + 297
"""The smallest prime above 2**256: modulus of the polynomials by which a 256-bit secret is shared (Shamir). All parties
need the same one."""
SHARE_SIZE = 33
"""Bytes of a share of a secret: an integer below `SECRET_MODULUS`."""


class RandomSource(Protocol):
    """A source of uniform random bits."""

    @property
    def random_bytes(self) -> Callable[[int], bytes]:
        """Function that returns as many uniformly random, secret bytes as its argument says."""
        ...

    def sample_below(self, n: int) -> int:
        """Return a uniformly random integer from 0 to ``n - 1``.

        Args:
            n: Number of outcomes, at least 1.
        """
        ...


def share_secret(secret: bytes, holders: Sequence[int], threshold: int, randomness: RandomSource) -> dict[int, bytes]:
    """Return a Shamir share per holder: `threshold` of them determine the secret, fewer are independent of it.

    Args:
        secret: The secret, below `SECRET_MODULUS` as a little-endian integer.
        holders: Numbers of the holders.
        threshold: How many shares determine the secret.
        randomness: Source of the coefficients.
    """
    coefficients = [
        int.from_bytes(secret, "little"),
        *(randomness.sample_below(SECRET_MODULUS) for _ in range(threshold - 1)),
    ]
    shares = {}
    for holder in holders:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * (holder + 1) + coefficient) % SECRET_MODULUS
        shares[holder] = value.to_bytes(SHARE_SIZE, "little")
    return shares


def recover_secret(shares: Mapping[int, bytes], threshold: int) -> bytes:
    """Reconstruct a secret from at least `threshold` shares, by Lagrange interpolation at 0.

    Args:
        shares: Share by number of the site.
        threshold: Number of shares that determine the secret.

    Raises:
        ProtocolError: There are too few shares, or they determine no 32-byte secret.
    """
    if len(shares) < threshold:
        raise ProtocolError(
            "opened shares", f"must be at least {threshold}, got {len(shares)}; ask again when more sites run", 409
        )
    used = dict(sorted(shares.items())[:threshold])
    secret = 0
    for holder, share in used.items():
        numerator, denominator = 1, 1
        for member in used:
            if member != holder:
                numerator = numerator * (member + 1) % SECRET_MODULUS
                denominator = denominator * (member - holder) % SECRET_MODULUS
        secret = (
            secret + int.from_bytes(share, "little") * numerator * pow(denominator, -1, SECRET_MODULUS)
        ) % SECRET_MODULUS
    if secret >= 2**256:
        raise ProtocolError("opened shares", "determine no secret of 32 bytes, so a site sent a wrong share; ask again")
    return secret.to_bytes(32, "little")


# Masks: AES-256 in counter mode.


WORDS_PER_CHUNK = 2**15
"""64-bit words of a mask that are derived and added at once, which bounds memory; the masks do not depend on it."""
_ZEROS = bytes(8 * WORDS_PER_CHUNK)
"""Zero bytes of `WORDS_PER_CHUNK` words: a stream cipher encrypts them to the words of a mask."""


def _derive_key(sum_round: SumRound, secret: bytes, purpose: str, *sites: int) -> bytes:
    """Return 32 bytes derived by HKDF-SHA256 from a secret, bound to the round, a purpose and sites.

    Args:
        sum_round: The round.
        secret: Bytes that the key is derived from.
        purpose: Word that separates keys for different purposes.
        sites: Numbers of the sites that the key is for.
    """
    info = sum_round.header + purpose.encode() + b"".join(site.to_bytes(2, "little") for site in sites)
    return HKDF(SHA256(), 32, salt=None, info=info).derive(secret)


def _exchange_keys(mine: bytes, theirs: bytes, site: int) -> bytes:
    """SECRET: return the X25519 shared secret of two sites.

    Args:
        mine: Private key of this site.
        theirs: Public key of the other site.
        site: Number of the other site.

    Raises:
        ProtocolError: the public key is invalid; names the other site.
    """
    try:
        return X25519PrivateKey.from_private_bytes(mine).exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise ProtocolError("keys", f"site {site} sent an invalid key; ask this site's operator") from None


def _add_masks(vector: Vector, keys: Iterable[tuple[bytes, int]]) -> None:
    """Add pseudorandom masks, generated from keys, to a vector in place, or subtract them.

    Args:
        vector: 64-bit words, changed modulo ``2**64``.
        keys: Key of each mask, and its sign: positive to add, negative to subtract.
    """
    for key, sign in keys:
        stream = Cipher(AES(key), CTR(bytes(16))).encryptor()
        operation = np.add if sign > 0 else np.subtract
        for start in range(0, vector.size, WORDS_PER_CHUNK):
            block = vector[start : start + WORDS_PER_CHUNK]
            operation(block, np.frombuffer(stream.update(_ZEROS[: 8 * block.size]), dtype="<u8"), out=block)


def _derive_pair_key(sum_round: SumRound, mine: bytes, theirs: bytes, site: int, partner: int) -> tuple[bytes, int]:
    """Return the key of a pairwise mask, and whether `site` adds (1) or subtracts (-1) it.

    Args:
        sum_round: The round, for which the key is valid.
        mine: Private key of `site`.
        theirs: Public key of `partner`.
        site: Number of the site that masks its vector.
        partner: Number of the other site.
    """
    pair = min(site, partner), max(site, partner)
    return _derive_key(
        sum_round, _exchange_keys(mine, theirs, partner), "pair mask", *pair
    ), 1 if site < partner else -1


def _derive_own_key(sum_round: SumRound, seed: bytes, site: int) -> bytes:
    """SECRET: return the key of a site's self mask, from its seed.

    Args:
        sum_round: The round.
        seed: Secret seed of the site.
        site: Number of the site.
    """
    return _derive_key(sum_round, seed, "own mask", site)


class PublicKeys(NamedTuple):
    """The public keys of a site for one round, and the commitment to the seed of its self mask."""

    masking_key: bytes
    sealing_key: bytes
    commitment: bytes

    @classmethod
    def from_bytes(cls, body: bytes) -> PublicKeys:
        """Return the public keys in a message of stage `KEYS`: two X25519 keys and a commitment, 32 bytes each.

        Args:
            body: Content of the message, 96 bytes.
        """
        return cls(body[:32], body[32:64], body[64:])


STORED_CODEC.readers[PublicKeys] = lambda parts: PublicKeys(*map(bytes.fromhex, parts))


def _commit_to_seed(sum_round: SumRound, site: int, seed: bytes) -> bytes:
    """Return the commitment to the seed of a site's self mask in this round, 32 bytes.

    Args:
        sum_round: The round.
        site: Number of the site.
        seed: SECRET. Seed of its self mask.
    """
    return sha256(sum_round.header + b"own seed" + site.to_bytes(2, "little") + seed).digest()


@dataclass(frozen=True, slots=True, repr=False)
class SiteState:
    """SECRET. The state of a site in a round. It has no repr.

    Attributes:
        masking_key: The private X25519 key of the pairwise masks.
        sealing_key: The private X25519 key to which shares are encrypted.
        seed: The seed of the self mask.
        public_keys: The public keys of all sites, as received.
        keys_digest: Digest of the messages of stage `KEYS`.
        own_shares: The site's shares of its seed and masking key.
        held_shares: The shares of other sites' secrets.
        shares_digest: Digest of the messages of stage `SHARES`.
        signed_list: The sites in the sum, and the digest of their receipts.
    """

    masking_key: bytes
    sealing_key: bytes
    seed: bytes
    public_keys: Mapping[int, PublicKeys] = field(default_factory=dict)
    keys_digest: bytes = b""
    own_shares: tuple[bytes, bytes] = (b"", b"")
    held_shares: Mapping[int, tuple[bytes, bytes]] = field(default_factory=dict)
    shares_digest: bytes = b""
    signed_list: tuple[tuple[int, ...], bytes] = ((), b"")

    def to_bytes(self) -> bytes:
        """SECRET: return the site's state in a round as JSON, for the caller to store until the next stage."""
        return json.dumps(STORED_CODEC.encode(self)).encode()

    @classmethod
    def from_bytes(cls, octets: bytes) -> SiteState:
        """SECRET: return the site's state in a round from the JSON that `to_bytes` wrote.

        Args:
            octets: JSON text.

        Raises:
            ValueError: the text is not valid JSON, or its fields are invalid.
        """
        return STORED_CODEC.decode_fields(cls, json.loads(octets))


Step = tuple[bytes, bytes]
"""The new state (SECRET), and the message to send after the state is stored."""


def advertise_keys(sum_round: SumRound, signer: Signer, randomness: RandomSource) -> Step:
    """Draw a site's secrets of a round; return its first state, and its message of stage `KEYS` with the public
    keys.

    Args:
        sum_round: The round.
        signer: Number and signing key of the site.
        randomness: Source of the secrets.
    """
    state = SiteState(randomness.random_bytes(32), randomness.random_bytes(32), randomness.random_bytes(32))
    public = [
        X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
        for secret in (state.masking_key, state.sealing_key)
    ]
    body = b"".join([*public, _commit_to_seed(sum_round, signer.site, state.seed)])
    return state.to_bytes(), signer.sign_message(sum_round, KEYS, body)


def share_keys(
    sum_round: SumRound, signer: Signer, state: bytes, keys: Iterable[bytes], randomness: RandomSource
) -> Step:
    """Return the new state, and the site's message of stage `SHARES`.

    The message holds, encrypted for each holder, a share of the self mask's seed and of the masking key.

    Args:
        sum_round: The round.
        signer: The site.
        state: The state after `advertise_keys`.
        keys: The messages of all sites in stage `KEYS`.
        randomness: Source of the shares.

    Raises:
        ProtocolError: too few sites are present, or a message is invalid.
    """
    old_state = SiteState.from_bytes(state)
    roster = sum_round.roster
    messages = _parse_stage(sum_round, KEYS, keys, 3 * HASH_SIZE)
    _require_present(sum_round, KEYS, messages, range(len(roster.keys)))
    bundles = {site: PublicKeys.from_bytes(message.body) for site, message in messages.items()}
    _require_own_message(KEYS, signer, messages)
    holders = [site for site in roster.find_holders(signer.site) if site in bundles]
    secret_shares = [
        share_secret(secret, holders, roster.threshold, randomness)
        for secret in (old_state.seed, old_state.masking_key)
    ]
    sealed = []
    for site in holders:
        if site != signer.site:
            key = _derive_key(
                sum_round,
                _exchange_keys(old_state.sealing_key, bundles[site].sealing_key, site),
                "share",
                signer.site,
                site,
            )
            ciphertext = AESGCM(key).encrypt(
                bytes(12), secret_shares[0][site] + secret_shares[1][site], sum_round.header
            )
            sealed.append(site.to_bytes(2, "little") + ciphertext)  # a constant nonce is safe: each key encrypts once
    new_state = replace(
        old_state,
        public_keys=bundles,
        keys_digest=_digest_messages(messages),
        own_shares=(secret_shares[0][signer.site], secret_shares[1][signer.site]),
    )
    return new_state.to_bytes(), signer.sign_message(sum_round, SHARES, new_state.keys_digest + b"".join(sealed))


SEALED_SHARE_SIZE = 2 + 2 * SHARE_SIZE + 16
"""Bytes of an encrypted message with shares: the number of the site, two shares and the tag of AES-GCM."""


def mask_vector(sum_round: SumRound, signer: Signer, state: bytes, shares: Iterable[bytes], vector: Vector) -> Step:
    """Return the new state, and the site's message of stage `MASKED`: a signed receipt, then the masked vector.

    The state then has the shares of other sites.

    Args:
        sum_round: The round.
        signer: The site.
        state: The state after `share_keys`.
        shares: The messages of all sites in stage `SHARES`.
        vector: SECRET. The site's summand, integers modulo 2**64 of shape ``(vector_length,)``.

    Raises:
        ProtocolError: too few sites are present, a message is invalid, or another site received other keys.
    """
    old_state = SiteState.from_bytes(state)
    if vector.shape != (sum_round.vector_length,):
        raise InvalidArgument(
            "vector",
            f"must have {sum_round.vector_length} integers, one for each number of the plan; count with the plan of "
            "this round",
        )

    # All sites must have received the same keys, or the coordinator could impersonate one site to another.
    messages = _parse_stage(sum_round, SHARES, shares)
    _require_present(sum_round, SHARES, messages, old_state.public_keys)
    _require_own_message(SHARES, signer, messages)
    held_shares = {}
    for site, message in messages.items():
        if message.body[:HASH_SIZE] != old_state.keys_digest:
            raise ProtocolError(
                "shares", f"site {site} received other keys than this site, so the coordinator is faulty; ask again"
            )
        if site != signer.site and signer.site in sum_round.roster.find_holders(site):
            held_shares[site] = _open_sealed_share(sum_round, signer.site, old_state, message)

    # Masks of pairs cancel in the sum; the mask of this site alone is removed later from shares of its seed.
    masked = np.array(vector, dtype=np.uint64)
    neighbours = [
        site for site in messages if site != signer.site and site in sum_round.roster.find_holders(signer.site)
    ]
    pair_masks = [
        _derive_pair_key(sum_round, old_state.masking_key, old_state.public_keys[site].masking_key, signer.site, site)
        for site in neighbours
    ]
    _add_masks(masked, [(_derive_own_key(sum_round, old_state.seed, signer.site), 1), *pair_masks])
    octets = masked.astype("<u8", copy=False).tobytes()

    new_state = replace(
        old_state,
        held_shares={**held_shares, signer.site: old_state.own_shares},
        shares_digest=_digest_messages(messages),
    )
    receipt = signer.sign_message(sum_round, MASKED, new_state.shares_digest + sha256(octets).digest())
    return new_state.to_bytes(), receipt + octets


def cut_receipt(sum_round: SumRound, masked: bytes) -> bytes:
    """Return the receipt (signed digests) in front of a masked vector, the only part that other sites need.

    Args:
        sum_round: The round, which knows the length of the vector.
        masked: A site's message of stage `MASKED`: the receipt, then 8 bytes for each integer.
    """
    return masked[: max(0, len(masked) - 8 * sum_round.vector_length)]


def sign_list(sum_round: SumRound, signer: Signer, state: bytes, receipts: Iterable[bytes]) -> Step:
    """Return the new state, and the site's message of stage `SIGNED`: the signed list of the sites in the sum.

    The list covers their vectors, too. A site signs one list per round.

    Args:
        sum_round: The round.
        signer: The site.
        state: The state after `mask_vector`.
        receipts: The receipts of all vectors that arrived.

    Raises:
        ProtocolError: too few sites are present, a message is invalid, another site received other shares, or this site
            has signed another list.
    """
    old_state = SiteState.from_bytes(state)
    messages = _parse_stage(sum_round, MASKED, receipts, 2 * HASH_SIZE)
    _require_present(
        sum_round, MASKED, messages, [*old_state.held_shares, *_find_non_neighbours(sum_round, signer.site, old_state)]
    )
    for site, message in messages.items():
        if message.body[:HASH_SIZE] != old_state.shares_digest:
            raise ProtocolError(
                "masked vectors",
                f"site {site} received other shares than this site, so the coordinator is faulty; ask again",
            )
    signed_list = tuple(messages), _digest_messages(messages)
    if old_state.signed_list[1] not in (b"", signed_list[1]):
        raise ProtocolError("signed lists", "must be the list that this site has signed in this round; ask again")
    return replace(old_state, signed_list=signed_list).to_bytes(), signer.sign_message(
        sum_round, SIGNED, signed_list[1]
    )


def unmask(sum_round: SumRound, signer: Signer, state: bytes, signed: Iterable[bytes]) -> Step:
    """Take the last stage of a site: open the secret shares that remove the remaining masks from the sum.

    These are shares of the self mask's seed of each site in the sum, and of the masking key of each other site.

    Args:
        sum_round: The round.
        signer: The site.
        state: The state after `sign_list`.
        signed: The messages of all sites in stage `SIGNED`.

    Returns:
        The state, and the site's message of stage `OPENED`.

    Raises:
        ProtocolError: fewer than a quorum signed the list that this site signed.
    """
    old_state = SiteState.from_bytes(state)
    included, digest = old_state.signed_list
    _require_quorum(sum_round, signed, digest)
    revealed = []
    for site, (seed, key) in sorted(old_state.held_shares.items()):
        share_type = 0 if site in included else 1
        revealed.append(site.to_bytes(2, "little") + bytes([share_type]) + (key if share_type else seed))
    return state, signer.sign_message(sum_round, OPENED, digest + b"".join(revealed))


def _require_own_message(stage: int, signer: Signer, messages: Mapping[int, SignedMessage]) -> None:
    """Check that the message of this site is among the messages that the coordinator hands out.

    Args:
        stage: Number of the stage, for the message.
        signer: This site.
        messages: Messages by site.

    Raises:
        ProtocolError: it is missing, so the coordinator would leave this site out of the sum.
    """
    if signer.site not in messages:
        raise ProtocolError(
            STAGES[stage], "the message of this site is missing, so the coordinator is faulty; ask again"
        )


def _require_quorum(sum_round: SumRound, signed: Iterable[bytes], digest: bytes) -> None:
    """Check that at least a quorum of sites have signed the same list of included sites.

    Args:
        sum_round: The round of secure aggregation.
        signed: Signed lists.
        digest: Digest of the list.

    Raises:
        ProtocolError: fewer have signed it (status 409).
    """
    messages = _parse_stage(sum_round, SIGNED, signed, HASH_SIZE)
    signature_count = sum(message.body == digest and digest != b"" for message in messages.values())
    if signature_count < sum_round.roster.quorum:
        rule = f"{sum_round.roster.quorum} sites must sign the same list, {signature_count} did; ask again"
        raise ProtocolError("signed lists", rule, 409)


def _find_non_neighbours(sum_round: SumRound, site: int, state: SiteState) -> list[int]:
    """Return the sites with which this site shares no masks, so that it holds no shares of their secrets.

    Args:
        sum_round: The round, with its roster.
        site: Number of this site.
        state: State of the site, with all members' public keys.
    """
    return [member for member in state.public_keys if site not in sum_round.roster.find_holders(member)]


def _open_sealed_share(sum_round: SumRound, site: int, state: SiteState, message: SignedMessage) -> tuple[bytes, bytes]:
    """SECRET: return another site's shares of its seed and its masking key, which it encrypted for this site.

    Args:
        sum_round: The round of secure aggregation.
        site: Number of this site.
        state: State of this site. SECRET.
        message: Message of the other site in stage `SHARES`.

    Returns:
        Share of the seed, and share of the masking key.

    Raises:
        ProtocolError: the share is missing or cannot be decrypted.
    """
    body = message.body[HASH_SIZE:]
    for start in range(0, len(body), SEALED_SHARE_SIZE):
        sealed = body[start : start + SEALED_SHARE_SIZE]
        if int.from_bytes(sealed[:2], "little") == site:
            sender_key = state.public_keys[message.site].sealing_key
            key = _derive_key(
                sum_round, _exchange_keys(state.sealing_key, sender_key, message.site), "share", message.site, site
            )
            try:
                plaintext = AESGCM(key).decrypt(bytes(12), sealed[2:], sum_round.header)
            except (InvalidTag, ValueError):
                break
            return plaintext[:SHARE_SIZE], plaintext[SHARE_SIZE:]
    raise ProtocolError("shares", f"the share from site {message.site} cannot be decrypted; ask this site's operator")


class RoundMessages(NamedTuple):
    """All messages of a round, by stage: for each stage, the signed messages of its sites as bytes."""

    keys: Sequence[bytes]
    shares: Sequence[bytes]
    masked_vectors: Sequence[bytes]
    signed_lists: Sequence[bytes]
    opened_shares: Sequence[bytes]


def sum_vectors(sum_round: SumRound, messages: RoundMessages) -> Vector:
    """Return the sum modulo 2**64 of the vectors of the sites that a quorum signed as included.

    The masked vectors are added, and the masks that remain are removed with the shares that the sites opened. Every
    message is verified, so a transport cannot alter the sum.

    Args:
        sum_round: The round.
        messages: All messages of the round, by stage.

    Returns:
        Unsigned 64-bit integers of shape ``(vector_length,)``.

    Raises:
        ProtocolError: A message is missing, altered or of another round; or too few sites signed or opened shares.
    """
    roster = sum_round.roster
    bundles = {
        site: PublicKeys.from_bytes(message.body)
        for site, message in _parse_stage(sum_round, KEYS, messages.keys, 3 * HASH_SIZE).items()
    }
    shares = _parse_stage(sum_round, SHARES, messages.shares)
    _require_present(sum_round, SHARES, shares, bundles)
    vectors = {
        cut_receipt(sum_round, octets): octets[-8 * sum_round.vector_length :] for octets in messages.masked_vectors
    }  # removes duplicates
    receipts = _parse_stage(sum_round, MASKED, vectors, 2 * HASH_SIZE)
    _require_present(sum_round, MASKED, receipts, shares)
    _require_quorum(sum_round, messages.signed_lists, _digest_messages(receipts))
    total = np.zeros(sum_round.vector_length, dtype=np.uint64)
    shares_digest = _digest_messages(shares)
    for receipt in receipts.values():
        vector = vectors[receipt.octets]
        if receipt.body != shares_digest + sha256(vector).digest():
            raise ProtocolError(
                "masked vectors", f"the vector of site {receipt.site} was changed, or masked for other sites; ask again"
            )
        total += np.frombuffer(vector, dtype="<u8")
    opened_shares = _parse_opened_shares(sum_round, messages.opened_shares, _digest_messages(receipts))
    masks: list[tuple[bytes, int]] = []
    for site in shares:
        secret = recover_secret(opened_shares.get((site, int(site not in receipts)), {}), roster.threshold)
        if site in receipts:
            if _commit_to_seed(sum_round, site, secret) != bundles[site].commitment:
                raise ProtocolError(
                    "opened shares", f"the shares of site {site} do not match its commitment; ask again"
                )
            masks.append((_derive_own_key(sum_round, secret, site), -1))
        else:
            masking_key = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
            if masking_key != bundles[site].masking_key:
                raise ProtocolError(
                    "opened shares", f"the shares of site {site} do not match its public key; ask again"
                )
            neighbours = [neighbour for neighbour in receipts if neighbour in roster.find_holders(site)]
            masks.extend(
                _derive_pair_key(sum_round, secret, bundles[neighbour].masking_key, site, neighbour)
                for neighbour in neighbours
            )
    _add_masks(total, masks)  # a missing site's pairwise masks cancel its neighbours' masks
    return total


def _parse_opened_shares(
    sum_round: SumRound, opened: Sequence[bytes], digest: bytes
) -> dict[tuple[int, int], dict[int, bytes]]:
    """Return the revealed shares: by site and type (0: seed of the self mask, 1: masking key), then by holder.

    Args:
        sum_round: The round of secure aggregation.
        opened: Messages of stage `OPENED`.
        digest: Digest of the list of included sites.

    Raises:
        ProtocolError: a message is about another list.
    """
    shares: dict[tuple[int, int], dict[int, bytes]] = {}
    for holder, message in _parse_stage(sum_round, OPENED, opened).items():
        if message.body[:HASH_SIZE] != digest:
            raise ProtocolError("opened shares", f"site {holder} revealed shares for another list; ask again")
        body = message.body[HASH_SIZE:]
        for start in range(0, len(body), 3 + SHARE_SIZE):
            entry = body[start : start + 3 + SHARE_SIZE]
            site = int.from_bytes(entry[:2], "little")
            if len(entry) == 3 + SHARE_SIZE and holder in sum_round.roster.find_holders(site):
                shares.setdefault((site, entry[2]), {})[holder] = entry[3:]
    return shares


def simulate_round(
    sum_round: SumRound,
    signers: Sequence[Signer],
    vectors: Sequence[Vector],
    randomness: RandomSource,
    silent: Mapping[int, int] | None = None,
) -> tuple[RoundMessages, list[bytes]]:
    """Run a whole round of secure aggregation with all sites in one process, all of them honest, for tests.

    Args:
        sum_round: The round.
        signers: The sites, in the order of the roster.
        vectors: The vector of each site.
        randomness: Source of all secrets.
        silent: The stage at which a site drops out, by site; None: no site does.

    Returns:
        All messages, and the final state of each site (SECRET).
    """
    dropouts = silent or {}
    states = [b""] * len(signers)

    def collect_stage(stage: int, ask: Callable[[Signer], Step]) -> list[bytes]:
        """Run one stage of all sites that have not dropped out, and return their messages.

        Args:
            stage: Number of the stage.
            ask: Function that takes the stage for one site; returns its new state and its message.

        Returns:
            Messages of the remaining sites, in their order.
        """
        messages = []
        for signer in signers:
            if dropouts.get(signer.site, OPENED + 1) > stage:
                states[signer.site], message = ask(signer)
                messages.append(message)
        return messages

    keys = collect_stage(KEYS, lambda signer: advertise_keys(sum_round, signer, randomness))
    shares = collect_stage(SHARES, lambda signer: share_keys(sum_round, signer, states[signer.site], keys, randomness))
    masked = collect_stage(
        MASKED, lambda signer: mask_vector(sum_round, signer, states[signer.site], shares, vectors[signer.site])
    )
    receipts = [cut_receipt(sum_round, octets) for octets in masked]
    signed = collect_stage(SIGNED, lambda signer: sign_list(sum_round, signer, states[signer.site], receipts))
    opened_messages = collect_stage(OPENED, lambda signer: unmask(sum_round, signer, states[signer.site], signed))
    return RoundMessages(keys, shares, masked, signed, opened_messages), states
