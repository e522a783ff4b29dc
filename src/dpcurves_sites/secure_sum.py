"""SECRET. Secure aggregation: sums of vectors of many sites, of which nobody sees more than the sum. It adds no noise.

The protocol of Bonawitz et al. (2017): a site adds a mask of its own to its vector, and one with each of its neighbours
that cancels in the sum. Keys of masks are shared among neighbours, so that the others can take off the own masks of
those that are in the sum, and the masks of those that failed. From 32 sites on neighbours are few (Bell et al. 2020).

All functions are from bytes to bytes, and randomness is an argument. What a site must remember from one message to the
next is bytes, too: who runs it writes them down before a message leaves the house, and asks each function once.
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
from dpcurves.codec import STORED

Vector = NDArray[np.uint64]
"""Integers modulo 2**64."""


MOST_SITES = 100
SPARSE = 32
"""Sites from which on each has few neighbours."""
FEW = 16
"""Neighbours of a site where they are few, or more where that many do not do."""


@dataclass(frozen=True)
class Roster:
    """The sites of a task, and how many of them may be against the others, or missing.

    Attributes:
        task: What the task is: a digest of 32 bytes.
        keys: The Ed25519 key of each site.
        tolerated: How many may collude with the coordinator.
        absent: How many may be left out of a sum: they did not send their vectors in time.

    Raises:
        ValueError: there are fewer than 2 sites, or more than 100; or one key is there twice; or so many can not be
            tolerated, or left out.

    Formal guarantees: m sites, of which c collude. Lists of who is in a sum are signed by a `quorum` of more than
    ``(m + c) / 2``: two quorums have more than c sites in common, an honest one among them, which signs one list a
    turn. So one list a turn can be opened. Of a site's n holders, more than ``(n + c) / 2`` are its `threshold`: not
    even if honest holders were shown different lists could both kinds of its masks be opened, for that takes
    ``2 threshold <= (n - c) + 2 c`` shares. Honest sites in the sum stay connected by masks that nobody takes off:
    neighbours are the next ones on a circle on both sides, and whoever takes out fewer sites than each has neighbours
    leaves the others connected (Harary 1962; at most c and those absent are taken out).
    """

    task: bytes
    keys: tuple[bytes, ...]
    tolerated: int
    absent: int = 0

    def __post_init__(self) -> None:
        sites = len(self.keys)
        if not 2 <= sites <= MOST_SITES:
            raise InvalidArgument("sites", f"from 2 to {MOST_SITES} take part, got {sites}")
        if len(set(self.keys)) < sites or any(len(key) != 32 for key in self.keys):
            raise InvalidArgument("keys", "each site needs an Ed25519 key of its own, of 32 bytes")
        if not 0 <= self.tolerated < sites:
            raise InvalidArgument(
                "tolerated", f"from 0 to {sites - 1} of {sites} sites may collude, got {self.tolerated}"
            )
        if not 0 <= self.absent <= self.max_failures:
            raise InvalidArgument("absent", f"from 0 to {self.max_failures} sites may be left out, got {self.absent}")

    @property
    def degree(self) -> int:
        """The number of neighbours of a site."""
        sites = len(self.keys)
        few = max(FEW, 2 * (-(-(3 * self.tolerated + 2) // 2)), 2 * (self.tolerated + self.absent) + 2)
        return sites - 1 if sites < SPARSE or few >= sites - 1 else few

    @property
    def quorum(self) -> int:
        """The number of sites that have to sign the list of who is in."""
        return (len(self.keys) + self.tolerated) // 2 + 1

    @property
    def threshold(self) -> int:
        """The number of shares that open a mask."""
        return (self.degree + 1 + self.tolerated) // 2 + 1

    @property
    def max_failures(self) -> int:
        """The number of sites that may fall silent at any moment, whichever they are, without holding up the others."""
        return min(len(self.keys) - self.quorum, self.degree + 1 - self.threshold)

    def find_holders(self, site: int) -> tuple[int, ...]:
        """The sites that hold shares of a site's masks: itself, and its neighbours."""
        sites, half = len(self.keys), self.degree // 2
        if self.degree == sites - 1:
            return tuple(range(sites))
        return tuple(sorted((site + step) % sites for step in range(-half, half + 1)))

    @cached_property
    def fingerprint(self) -> bytes:
        """A digest of all of this."""
        facts = [self.task.hex(), [key.hex() for key in self.keys], self.tolerated, self.absent]
        return sha256(json.dumps(["secure sum roster", 1, *facts]).encode()).digest()


@dataclass(frozen=True)
class SumRound:
    """A sum of a roster. Every message names it.

    Attributes:
        roster: Who takes part.
        number: Which turn of the task it is.
        plan_digest: What is summed: a digest of 32 bytes.
        vector_length: How many integers a vector has.
    """

    roster: Roster
    number: int
    plan_digest: bytes
    vector_length: int

    @cached_property
    def header(self) -> bytes:
        """Head of every message, and what every key is derived for."""
        numbers = self.number.to_bytes(8, "little") + self.vector_length.to_bytes(8, "little")
        return b"dpsum 1\n" + self.roster.task + numbers + self.plan_digest + self.roster.fingerprint


KEYS, SHARES, MASKED, SIGNED, OPENED = range(1, 6)
STAGES = {KEYS: "keys", SHARES: "shares", MASKED: "masked vectors", SIGNED: "signed lists", OPENED: "opened shares"}
SIGNATURE = 64
HASH = 32


@dataclass(frozen=True, slots=True, repr=False)
class Signer:
    """SECRET. A site and the key that it signs with. It has no repr."""

    site: int
    key: Ed25519PrivateKey

    def sign_message(self, sum_round: SumRound, stage: int, body: bytes) -> bytes:
        """A signed message of this site."""
        said = sum_round.header + bytes([stage]) + self.site.to_bytes(2, "little") + body
        return said + self.key.sign(said)


class SignedMessage(NamedTuple):
    """A parsed message of a turn, with its sender."""

    site: int
    body: bytes
    octets: bytes


def parse_message(sum_round: SumRound, stage: int, octets: bytes) -> SignedMessage:
    """A message of this turn and stage whose signature is that of its site.

    Raises:
        ProtocolAborted: it is another one, or altered.
    """
    place, name = len(sum_round.header), STAGES[stage]
    if octets[:place] != sum_round.header:
        raise ProtocolError(name, "a message is of another task, turn, plan or roster")
    if len(octets) < place + 3 + SIGNATURE or octets[place] != stage:
        raise ProtocolError(name, "a message is cut off, or of another stage")
    site = int.from_bytes(octets[place + 1 : place + 3], "little")
    if site >= len(sum_round.roster.keys):
        raise ProtocolError(name, f"there is no site {site}")
    try:
        key = Ed25519PublicKey.from_public_bytes(sum_round.roster.keys[site])
        key.verify(octets[-SIGNATURE:], octets[:-SIGNATURE])
    except (InvalidSignature, ValueError):
        raise ProtocolError(name, f"a message is not signed by site {site}") from None
    return SignedMessage(site, octets[place + 3 : -SIGNATURE], octets)


def _parse_stage(
    sum_round: SumRound, stage: int, messages: Iterable[bytes], size: int | None = None
) -> dict[int, SignedMessage]:
    """Messages by site: the same one may come twice, two that differ may not.

    Raises:
        ProtocolAborted: one is not of this turn, or not of its site; or a site said two things.
    """
    found: dict[int, SignedMessage] = {}
    for octets in messages:
        said = parse_message(sum_round, stage, octets)
        if size is not None and len(said.body) != size:
            raise ProtocolError(STAGES[stage], f"that of site {said.site} is of another length")
        if found.setdefault(said.site, said).octets != octets:
            raise ProtocolError(STAGES[stage], f"site {said.site} sent two that differ")
    return dict(sorted(found.items()))


def _require_present(sum_round: SumRound, stage: int, present: Iterable[int], before: Iterable[int]) -> None:
    """Refuse a stage that leaves out too many, or has someone whom the stage before had not."""
    sites, missing = set(present), len(sum_round.roster.keys) - sum_round.roster.absent
    if len(sites) < missing:
        rule = f"{missing} of {len(sum_round.roster.keys)} sites are needed, {len(sites)} are there"
        raise ProtocolError(STAGES[stage], rule, 409)
    if not sites <= set(before):
        raise ProtocolError(STAGES[stage], f"site {min(sites - set(before))} joined too late")


def _digest_messages(messages: Mapping[int, SignedMessage]) -> bytes:
    return sha256(b"".join(sha256(messages[site].octets).digest() for site in sorted(messages))).digest()


# Shares of a secret of 32 bytes (Shamir 1979), in the field of the first prime above 2**256.


PRIME = 2**256 + 297
SHARE = 33


class RandomSource(Protocol):
    """A source of even bits."""

    @property
    def random_bytes(self) -> Callable[[int], bytes]: ...

    def sample_below(self, n: int) -> int: ...


def share_secret(secret: bytes, holders: Sequence[int], threshold: int, randomness: RandomSource) -> dict[int, bytes]:
    """A share of each holder. So many together tell the secret, fewer nothing: all secrets fit them equally well."""
    coefficients = [int.from_bytes(secret, "little"), *(randomness.sample_below(PRIME) for _ in range(threshold - 1))]
    found = {}
    for holder in holders:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * (holder + 1) + coefficient) % PRIME
        found[holder] = value.to_bytes(SHARE, "little")
    return found


def recover_secret(shares: Mapping[int, bytes], threshold: int) -> bytes:
    """The secret of as many shares.

    Raises:
        ProtocolAborted: there are too few, or they are shares of no secret of 32 bytes.
    """
    if len(shares) < threshold:
        raise ProtocolError("opened shares", f"{threshold} are needed, {len(shares)} are there", 409)
    used, secret = dict(sorted(shares.items())[:threshold]), 0
    for holder, share in used.items():
        top, bottom = 1, 1
        for other in used:
            if other != holder:
                top, bottom = top * (other + 1) % PRIME, bottom * (other - holder) % PRIME
        secret = (secret + int.from_bytes(share, "little") * top * pow(bottom, -1, PRIME)) % PRIME
    if secret >= 2**256:
        raise ProtocolError("opened shares", "they are of no secret that was shared")
    return secret.to_bytes(32, "little")


# Masks: streams of AES in counter mode under keys of 256 bits.


WORDS_AT_ONCE = 2**15
_ZEROS = bytes(8 * WORDS_AT_ONCE)


def _derive_key(sum_round: SumRound, secret: bytes, purpose: str, *sites: int) -> bytes:
    info = sum_round.header + purpose.encode() + b"".join(site.to_bytes(2, "little") for site in sites)
    return HKDF(SHA256(), 32, salt=None, info=info).derive(secret)


def _exchange_keys(mine: bytes, theirs: bytes, site: int) -> bytes:
    try:
        return X25519PrivateKey.from_private_bytes(mine).exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise ProtocolError("keys", f"that of site {site} is no key") from None


def _add_masks(vector: Vector, keys: Iterable[tuple[bytes, int]]) -> None:
    """Add to a vector, or take off it, the stream of each key."""
    for key, sign in keys:
        stream = Cipher(AES(key), CTR(bytes(16))).encryptor()
        change = np.add if sign > 0 else np.subtract
        for start in range(0, vector.size, WORDS_AT_ONCE):
            part = vector[start : start + WORDS_AT_ONCE]
            change(part, np.frombuffer(stream.update(_ZEROS[: 8 * part.size]), dtype="<u8"), out=part)


def _derive_pair_key(sum_round: SumRound, mine: bytes, theirs: bytes, site: int, other: int) -> tuple[bytes, int]:
    """The key of the mask of two sites, and whether the first one adds it (1) or takes it off (-1)."""
    ends = min(site, other), max(site, other)
    return _derive_key(sum_round, _exchange_keys(mine, theirs, other), "pair mask", *ends), 1 if site < other else -1


def _derive_own_key(sum_round: SumRound, seed: bytes, site: int) -> bytes:
    return _derive_key(sum_round, seed, "own mask", site)


class PublicKeys(NamedTuple):
    """The public keys of a site for one turn, and the seed of its own mask, committed to."""

    masking_key: bytes
    sealing_key: bytes
    commitment: bytes

    @classmethod
    def from_bytes(cls, body: bytes) -> PublicKeys:
        """From the body of a message."""
        return cls(body[:32], body[32:64], body[64:])


STORED.readers[PublicKeys] = lambda parts: PublicKeys(*map(bytes.fromhex, parts))


def _commit_to_seed(sum_round: SumRound, site: int, seed: bytes) -> bytes:
    return sha256(sum_round.header + b"own seed" + site.to_bytes(2, "little") + seed).digest()


@dataclass(frozen=True, slots=True, repr=False)
class SiteState:
    """SECRET: what a site remembers of a turn. It has no repr.

    Attributes:
        masking_key: The key of the masks with others.
        sealing_key: The key that shares are sealed to.
        seed: The seed of its own mask.
        public_keys: The keys of all sites, as this one saw them.
        keys_digest: A digest of those.
        own_shares: Shares that this site gave itself: of the seed, and of the key of masks.
        held_shares: Shares that it holds of others.
        shares_digest: A digest of who shared.
        signed_list: The sites in the sum, and a digest of what they sent.
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
        """The state in JSON."""
        return json.dumps(STORED.encode(self)).encode()

    @classmethod
    def from_bytes(cls, octets: bytes) -> SiteState:
        """The inverse of `to_bytes`."""
        return STORED.decode_fields(cls, json.loads(octets))


Step = tuple[bytes, bytes]
"""State that the site remembers from now on (SECRET), and the message that it sends once that is written down."""


def advertise_keys(sum_round: SumRound, signer: Signer, randomness: RandomSource) -> Step:
    """Draw the secrets of a turn, and tell the public keys that belong to them."""
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
    """Give each holder a share of the seed of the own mask, and of the key of the masks with others.

    Args:
        sum_round: Which one.
        signer: Who does it.
        state: What `advertise_keys` left.
        keys: The messages of all sites.
        randomness: Where the shares come from.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered.
    """
    before, roster = SiteState.from_bytes(state), sum_round.roster
    said = _parse_stage(sum_round, KEYS, keys, 3 * HASH)
    _require_present(sum_round, KEYS, said, range(len(roster.keys)))
    bundles = {site: PublicKeys.from_bytes(one.body) for site, one in said.items()}
    _require_own_message(KEYS, signer, said)
    holders = [site for site in roster.find_holders(signer.site) if site in bundles]
    both = [share_secret(secret, holders, roster.threshold, randomness) for secret in (before.seed, before.masking_key)]
    sealed = []
    for site in holders:
        if site != signer.site:
            key = _derive_key(
                sum_round,
                _exchange_keys(before.sealing_key, bundles[site].sealing_key, site),
                "share",
                signer.site,
                site,
            )
            inside = AESGCM(key).encrypt(bytes(12), both[0][site] + both[1][site], sum_round.header)
            sealed.append(site.to_bytes(2, "little") + inside)  # the nonce may stay: no key is used twice
    after = replace(
        before, public_keys=bundles, keys_digest=_digest_messages(said), own_shares=(both[0][signer.site], both[1][signer.site]),
    )  # fmt: skip
    return after.to_bytes(), signer.sign_message(sum_round, SHARES, after.keys_digest + b"".join(sealed))


SEALED = 2 + 2 * SHARE + 16


def mask_vector(sum_round: SumRound, signer: Signer, state: bytes, shares: Iterable[bytes], vector: Vector) -> Step:
    """Take the shares of others, and send the vector under masks: the receipt of it first, then the vector itself.

    Args:
        sum_round: Which one.
        signer: Who does it.
        state: What `share_keys` left.
        shares: The messages of all sites.
        vector: SECRET. What is added.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered; or others were shown other keys.
    """
    before = SiteState.from_bytes(state)
    if vector.shape != (sum_round.vector_length,):
        raise InvalidArgument("vector", f"{sum_round.vector_length} integers are summed")
    said = _parse_stage(sum_round, SHARES, shares)
    _require_present(sum_round, SHARES, said, before.public_keys)
    _require_own_message(SHARES, signer, said)
    held = {}
    for site, one in said.items():
        if one.body[:HASH] != before.keys_digest:
            raise ProtocolError("shares", f"site {site} was shown other keys than this one")
        if site != signer.site and signer.site in sum_round.roster.find_holders(site):
            held[site] = _open_sealed_share(sum_round, signer.site, before, one)
    masked = np.array(vector, dtype=np.uint64)
    near = [site for site in said if site != signer.site and site in sum_round.roster.find_holders(signer.site)]
    pairs = [
        _derive_pair_key(sum_round, before.masking_key, before.public_keys[site].masking_key, signer.site, site)
        for site in near
    ]
    _add_masks(masked, [(_derive_own_key(sum_round, before.seed, signer.site), 1), *pairs])
    octets = masked.astype("<u8", copy=False).tobytes()
    after = replace(before, held_shares={**held, signer.site: before.own_shares}, shares_digest=_digest_messages(said))
    receipt = signer.sign_message(sum_round, MASKED, after.shares_digest + sha256(octets).digest())
    return after.to_bytes(), receipt + octets


def cut_receipt(sum_round: SumRound, masked: bytes) -> bytes:
    """The receipt in front of a masked vector: all of it that other sites have to see."""
    return masked[: max(0, len(masked) - 8 * sum_round.vector_length)]


def sign_list(sum_round: SumRound, signer: Signer, state: bytes, receipts: Iterable[bytes]) -> Step:
    """Sign the list of who is in the sum, and what they sent: once a turn.

    Args:
        sum_round: Which one.
        signer: Who does it.
        state: What `mask_vector` left.
        receipts: Those of all vectors that came.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered; or others saw others share; or another
            list was signed before.
    """
    before = SiteState.from_bytes(state)
    said = _parse_stage(sum_round, MASKED, receipts, 2 * HASH)
    _require_present(
        sum_round, MASKED, said, [*before.held_shares, *_find_non_neighbours(sum_round, signer.site, before)]
    )
    for site, one in said.items():
        if one.body[:HASH] != before.shares_digest:
            raise ProtocolError("masked vectors", f"site {site} was shown other shares than this one")
    listed = tuple(said), _digest_messages(said)
    if before.signed_list[1] not in (b"", listed[1]):
        raise ProtocolError("signed lists", "another list was signed in this turn")
    return replace(before, signed_list=listed).to_bytes(), signer.sign_message(sum_round, SIGNED, listed[1])


def unmask(sum_round: SumRound, signer: Signer, state: bytes, signed: Iterable[bytes]) -> Step:
    """Open shares: for each site that is in the sum that of its own mask, for any other that of its masks with others.

    Args:
        sum_round: Which one.
        signer: Who does it.
        state: What `sign_list` left.
        signed: Lists that others signed.

    Raises:
        ProtocolAborted: too few signed the list that this site signed.
    """
    before = SiteState.from_bytes(state)
    inside, digest = before.signed_list
    _require_quorum(sum_round, signed, digest)
    opened = []
    for site, (seed, key) in sorted(before.held_shares.items()):
        kind = 0 if site in inside else 1
        opened.append(site.to_bytes(2, "little") + bytes([kind]) + (key if kind else seed))
    return state, signer.sign_message(sum_round, OPENED, digest + b"".join(opened))


def _require_own_message(stage: int, signer: Signer, messages: Mapping[int, SignedMessage]) -> None:
    """Refuse what leaves this site out: it would sum without it."""
    if signer.site not in messages:
        raise ProtocolError(STAGES[stage], "this site's own is not among them")


def _require_quorum(sum_round: SumRound, signed: Iterable[bytes], digest: bytes) -> None:
    said = _parse_stage(sum_round, SIGNED, signed, HASH)
    agreed = sum(one.body == digest and digest != b"" for one in said.values())
    if agreed < sum_round.roster.quorum:
        rule = f"{sum_round.roster.quorum} sites must have signed the same list, {agreed} have"
        raise ProtocolError("signed lists", rule, 409)


def _find_non_neighbours(sum_round: SumRound, site: int, state: SiteState) -> list[int]:
    """Sites of which this one holds nothing: others see to them."""
    return [other for other in state.public_keys if site not in sum_round.roster.find_holders(other)]


def _open_sealed_share(sum_round: SumRound, site: int, state: SiteState, message: SignedMessage) -> tuple[bytes, bytes]:
    body = message.body[HASH:]
    for start in range(0, len(body), SEALED):
        part = body[start : start + SEALED]
        if int.from_bytes(part[:2], "little") == site:
            theirs = state.public_keys[message.site].sealing_key
            key = _derive_key(
                sum_round, _exchange_keys(state.sealing_key, theirs, message.site), "share", message.site, site
            )
            try:
                inside = AESGCM(key).decrypt(bytes(12), part[2:], sum_round.header)
            except (InvalidTag, ValueError):
                break
            return inside[:SHARE], inside[SHARE:]
    raise ProtocolError("shares", f"that of site {message.site} for this one can not be opened")


class RoundMessages(NamedTuple):
    """Messages of a turn, stage by stage."""

    keys: Sequence[bytes]
    shares: Sequence[bytes]
    masked_vectors: Sequence[bytes]
    signed_lists: Sequence[bytes]
    opened_shares: Sequence[bytes]


def sum_vectors(sum_round: SumRound, messages: RoundMessages) -> Vector:
    """The sum of the vectors of all sites that are in it. Every message is checked: who carries them can not alter it.

    Raises:
        ProtocolAborted: something is missing, altered or of another turn.
    """
    roster = sum_round.roster
    bundles = {
        site: PublicKeys.from_bytes(one.body)
        for site, one in _parse_stage(sum_round, KEYS, messages.keys, 3 * HASH).items()
    }
    shares = _parse_stage(sum_round, SHARES, messages.shares)
    _require_present(sum_round, SHARES, shares, bundles)
    vectors = {
        cut_receipt(sum_round, octets): octets[-8 * sum_round.vector_length :] for octets in messages.masked_vectors
    }  # each once
    receipts = _parse_stage(sum_round, MASKED, vectors, 2 * HASH)
    _require_present(sum_round, MASKED, receipts, shares)
    _require_quorum(sum_round, messages.signed_lists, _digest_messages(receipts))
    found, seen = np.zeros(sum_round.vector_length, dtype=np.uint64), _digest_messages(shares)
    for said in receipts.values():
        vector = vectors[said.octets]
        if said.body != seen + sha256(vector).digest():
            raise ProtocolError("masked vectors", f"that of site {said.site} was altered, or masked for others")
        found += np.frombuffer(vector, dtype="<u8")
    opened = _parse_opened_shares(sum_round, messages.opened_shares, _digest_messages(receipts))
    off: list[tuple[bytes, int]] = []
    for site in shares:
        secret = recover_secret(opened.get((site, int(site not in receipts)), {}), roster.threshold)
        if site in receipts:
            if _commit_to_seed(sum_round, site, secret) != bundles[site].commitment:
                raise ProtocolError("opened shares", f"those of site {site} are not of the seed that it committed to")
            off.append((_derive_own_key(sum_round, secret, site), -1))
        else:
            public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
            if public != bundles[site].masking_key:
                raise ProtocolError("opened shares", f"those of site {site} are not of its key")
            near = [other for other in receipts if other in roster.find_holders(site)]
            off.extend(_derive_pair_key(sum_round, secret, bundles[other].masking_key, site, other) for other in near)
    _add_masks(found, off)  # what a missing site would have added is what cancels what the others took off
    return found


def _parse_opened_shares(
    sum_round: SumRound, opened: Sequence[bytes], digest: bytes
) -> dict[tuple[int, int], dict[int, bytes]]:
    """Shares by whose they are, of which kind, and who held them."""
    found: dict[tuple[int, int], dict[int, bytes]] = {}
    for holder, one in _parse_stage(sum_round, OPENED, opened).items():
        if one.body[:HASH] != digest:
            raise ProtocolError("opened shares", f"site {holder} opened them for another list")
        body = one.body[HASH:]
        for start in range(0, len(body), 3 + SHARE):
            part = body[start : start + 3 + SHARE]
            site = int.from_bytes(part[:2], "little")
            if len(part) == 3 + SHARE and holder in sum_round.roster.find_holders(site):
                found.setdefault((site, part[2]), {})[holder] = part[3:]
    return found


def simulate_round(
    sum_round: SumRound,
    signers: Sequence[Signer],
    vectors: Sequence[Vector],
    randomness: RandomSource,
    silent: Mapping[int, int] | None = None,
) -> tuple[RoundMessages, list[bytes]]:
    """Play all sites, honestly.

    Args:
        sum_round: Which one.
        signers: The sites, in the order of the roster.
        vectors: What each adds.
        randomness: Where everything comes from.
        silent: The stage from which on a site says nothing any more.

    Returns:
        All messages, and what each site remembers (SECRET).
    """
    gone = silent or {}
    states = [b""] * len(signers)

    def collect_stage(stage: int, ask: Callable[[Signer], Step]) -> list[bytes]:
        sent = []
        for signer in signers:
            if gone.get(signer.site, OPENED + 1) > stage:
                states[signer.site], message = ask(signer)
                sent.append(message)
        return sent

    keys = collect_stage(KEYS, lambda signer: advertise_keys(sum_round, signer, randomness))
    shares = collect_stage(SHARES, lambda signer: share_keys(sum_round, signer, states[signer.site], keys, randomness))
    masked = collect_stage(
        MASKED, lambda signer: mask_vector(sum_round, signer, states[signer.site], shares, vectors[signer.site])
    )
    receipts = [cut_receipt(sum_round, octets) for octets in masked]
    signed = collect_stage(SIGNED, lambda signer: sign_list(sum_round, signer, states[signer.site], receipts))
    opened = collect_stage(OPENED, lambda signer: unmask(sum_round, signer, states[signer.site], signed))
    return RoundMessages(keys, shares, masked, signed, opened), states
