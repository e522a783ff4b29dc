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

from dpcurves.arguments import ProtocolAborted, Refused
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
            raise Refused("sites", f"from 2 to {MOST_SITES} take part, got {sites}")
        if len(set(self.keys)) < sites or any(len(key) != 32 for key in self.keys):
            raise Refused("keys", "each site needs an Ed25519 key of its own, of 32 bytes")
        if not 0 <= self.tolerated < sites:
            raise Refused("tolerated", f"from 0 to {sites - 1} of {sites} sites may collude, got {self.tolerated}")
        if not 0 <= self.absent <= self.may_fail:
            raise Refused("absent", f"from 0 to {self.may_fail} sites may be left out, got {self.absent}")

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
    def may_fail(self) -> int:
        """The number of sites that may fall silent at any moment, whichever they are, without holding up the others."""
        return min(len(self.keys) - self.quorum, self.degree + 1 - self.threshold)

    def holders(self, site: int) -> tuple[int, ...]:
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
class Turn:
    """A sum of a roster. Every message names it.

    Attributes:
        roster: Who takes part.
        number: Which turn of the task it is.
        plan: What is summed: a digest of 32 bytes.
        words: How many integers a vector has.
    """

    roster: Roster
    number: int
    plan: bytes
    words: int

    @cached_property
    def place(self) -> bytes:
        """Head of every message, and what every key is derived for."""
        numbers = self.number.to_bytes(8, "little") + self.words.to_bytes(8, "little")
        return b"dpsum 1\n" + self.roster.task + numbers + self.plan + self.roster.fingerprint


KEYS, SHARES, MASKED, SIGNED, OPENED = range(1, 6)
STAGES = {KEYS: "keys", SHARES: "shares", MASKED: "masked vectors", SIGNED: "signed lists", OPENED: "opened shares"}
SIGNATURE = 64
HASH = 32


@dataclass(frozen=True, slots=True, repr=False)
class Signer:
    """SECRET. A site and the key that it signs with. It has no repr."""

    site: int
    key: Ed25519PrivateKey

    def message(self, turn: Turn, stage: int, body: bytes) -> bytes:
        """A signed message of this site."""
        said = turn.place + bytes([stage]) + self.site.to_bytes(2, "little") + body
        return said + self.key.sign(said)


class Said(NamedTuple):
    """A parsed message of a turn, with its sender."""

    site: int
    body: bytes
    octets: bytes


def read(turn: Turn, stage: int, octets: bytes) -> Said:
    """A message of this turn and stage whose signature is that of its site.

    Raises:
        ProtocolAborted: it is another one, or altered.
    """
    place, name = len(turn.place), STAGES[stage]
    if octets[:place] != turn.place:
        raise ProtocolAborted(name, "a message is of another task, turn, plan or roster")
    if len(octets) < place + 3 + SIGNATURE or octets[place] != stage:
        raise ProtocolAborted(name, "a message is cut off, or of another stage")
    site = int.from_bytes(octets[place + 1 : place + 3], "little")
    if site >= len(turn.roster.keys):
        raise ProtocolAborted(name, f"there is no site {site}")
    try:
        key = Ed25519PublicKey.from_public_bytes(turn.roster.keys[site])
        key.verify(octets[-SIGNATURE:], octets[:-SIGNATURE])
    except (InvalidSignature, ValueError):
        raise ProtocolAborted(name, f"a message is not signed by site {site}") from None
    return Said(site, octets[place + 3 : -SIGNATURE], octets)


def _of_stage(turn: Turn, stage: int, messages: Iterable[bytes], size: int | None = None) -> dict[int, Said]:
    """Messages by site: the same one may come twice, two that differ may not.

    Raises:
        ProtocolAborted: one is not of this turn, or not of its site; or a site said two things.
    """
    found: dict[int, Said] = {}
    for octets in messages:
        said = read(turn, stage, octets)
        if size is not None and len(said.body) != size:
            raise ProtocolAborted(STAGES[stage], f"that of site {said.site} is of another length")
        if found.setdefault(said.site, said).octets != octets:
            raise ProtocolAborted(STAGES[stage], f"site {said.site} sent two that differ")
    return dict(sorted(found.items()))


def _require_present(turn: Turn, stage: int, present: Iterable[int], before: Iterable[int]) -> None:
    """Refuse a stage that leaves out too many, or has someone whom the stage before had not."""
    sites, missing = set(present), len(turn.roster.keys) - turn.roster.absent
    if len(sites) < missing:
        rule = f"{missing} of {len(turn.roster.keys)} sites are needed, {len(sites)} are there"
        raise ProtocolAborted(STAGES[stage], rule, 409)
    if not sites <= set(before):
        raise ProtocolAborted(STAGES[stage], f"site {min(sites - set(before))} joined too late")


def _digest(messages: Mapping[int, Said]) -> bytes:
    return sha256(b"".join(sha256(messages[site].octets).digest() for site in sorted(messages))).digest()


# Shares of a secret of 32 bytes (Shamir 1979), in the field of the first prime above 2**256.


PRIME = 2**256 + 297
SHARE = 33


class Source(Protocol):
    """A source of even bits."""

    @property
    def octets(self) -> Callable[[int], bytes]: ...

    def below(self, n: int) -> int: ...


def shared(secret: bytes, holders: Sequence[int], threshold: int, randomness: Source) -> dict[int, bytes]:
    """A share of each holder. So many together tell the secret, fewer nothing: all secrets fit them equally well."""
    coefficients = [int.from_bytes(secret, "little"), *(randomness.below(PRIME) for _ in range(threshold - 1))]
    found = {}
    for holder in holders:
        value = 0
        for coefficient in reversed(coefficients):
            value = (value * (holder + 1) + coefficient) % PRIME
        found[holder] = value.to_bytes(SHARE, "little")
    return found


def recovered(shares: Mapping[int, bytes], threshold: int) -> bytes:
    """The secret of as many shares.

    Raises:
        ProtocolAborted: there are too few, or they are shares of no secret of 32 bytes.
    """
    if len(shares) < threshold:
        raise ProtocolAborted("opened shares", f"{threshold} are needed, {len(shares)} are there", 409)
    used, secret = dict(sorted(shares.items())[:threshold]), 0
    for holder, share in used.items():
        top, bottom = 1, 1
        for other in used:
            if other != holder:
                top, bottom = top * (other + 1) % PRIME, bottom * (other - holder) % PRIME
        secret = (secret + int.from_bytes(share, "little") * top * pow(bottom, -1, PRIME)) % PRIME
    if secret >= 2**256:
        raise ProtocolAborted("opened shares", "they are of no secret that was shared")
    return secret.to_bytes(32, "little")


# Masks: streams of AES in counter mode under keys of 256 bits.


WORDS_AT_ONCE = 2**15
_ZEROS = bytes(8 * WORDS_AT_ONCE)


def _key(turn: Turn, secret: bytes, use: str, *sites: int) -> bytes:
    info = turn.place + use.encode() + b"".join(site.to_bytes(2, "little") for site in sites)
    return HKDF(SHA256(), 32, salt=None, info=info).derive(secret)


def _exchanged(mine: bytes, theirs: bytes, site: int) -> bytes:
    try:
        return X25519PrivateKey.from_private_bytes(mine).exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise ProtocolAborted("keys", f"that of site {site} is no key") from None


def _add_masks(vector: Vector, keys: Iterable[tuple[bytes, int]]) -> None:
    """Add to a vector, or take off it, the stream of each key."""
    for key, sign in keys:
        stream = Cipher(AES(key), CTR(bytes(16))).encryptor()
        change = np.add if sign > 0 else np.subtract
        for start in range(0, vector.size, WORDS_AT_ONCE):
            part = vector[start : start + WORDS_AT_ONCE]
            change(part, np.frombuffer(stream.update(_ZEROS[: 8 * part.size]), dtype="<u8"), out=part)


def _pair_key(turn: Turn, mine: bytes, theirs: bytes, site: int, other: int) -> tuple[bytes, int]:
    """The key of the mask of two sites, and whether the first one adds it (1) or takes it off (-1)."""
    ends = min(site, other), max(site, other)
    return _key(turn, _exchanged(mine, theirs, other), "pair mask", *ends), 1 if site < other else -1


def _own_key(turn: Turn, seed: bytes, site: int) -> bytes:
    return _key(turn, seed, "own mask", site)


class Bundle(NamedTuple):
    """The public keys of a site for one turn, and the seed of its own mask, committed to."""

    masking: bytes
    sealing: bytes
    commitment: bytes

    @classmethod
    def read(cls, body: bytes) -> Bundle:
        """From the body of a message."""
        return cls(body[:32], body[32:64], body[64:])


STORED.readers[Bundle] = lambda parts: Bundle(*map(bytes.fromhex, parts))


def _committed(turn: Turn, site: int, seed: bytes) -> bytes:
    return sha256(turn.place + b"own seed" + site.to_bytes(2, "little") + seed).digest()


@dataclass(frozen=True, slots=True, repr=False)
class SiteState:
    """SECRET: what a site remembers of a turn. It has no repr.

    Attributes:
        masking: The key of the masks with others.
        sealing: The key that shares are sealed to.
        seed: The seed of its own mask.
        bundles: The keys of all sites, as this one saw them.
        keys: A digest of those.
        mine: Shares that this site gave itself: of the seed, and of the key of masks.
        held: Shares that it holds of others.
        seen: A digest of who shared.
        listed: The sites in the sum, and a digest of what they sent.
    """

    masking: bytes
    sealing: bytes
    seed: bytes
    bundles: Mapping[int, Bundle] = field(default_factory=dict)
    keys: bytes = b""
    mine: tuple[bytes, bytes] = (b"", b"")
    held: Mapping[int, tuple[bytes, bytes]] = field(default_factory=dict)
    seen: bytes = b""
    listed: tuple[tuple[int, ...], bytes] = ((), b"")

    def to_bytes(self) -> bytes:
        """The state in JSON."""
        return json.dumps(STORED.write(self)).encode()

    @classmethod
    def from_bytes(cls, octets: bytes) -> SiteState:
        """The inverse of `to_bytes`."""
        return STORED.made(cls, json.loads(octets))


Step = tuple[bytes, bytes]
"""State that the site remembers from now on (SECRET), and the message that it sends once that is written down."""


def begin(turn: Turn, signer: Signer, randomness: Source) -> Step:
    """Draw the secrets of a turn, and tell the public keys that belong to them."""
    state = SiteState(randomness.octets(32), randomness.octets(32), randomness.octets(32))
    public = [
        X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
        for secret in (state.masking, state.sealing)
    ]
    body = b"".join([*public, _committed(turn, signer.site, state.seed)])
    return state.to_bytes(), signer.message(turn, KEYS, body)


def share(turn: Turn, signer: Signer, state: bytes, keys: Iterable[bytes], randomness: Source) -> Step:
    """Give each holder a share of the seed of the own mask, and of the key of the masks with others.

    Args:
        turn: Which one.
        signer: Who does it.
        state: What `begin` left.
        keys: The messages of all sites.
        randomness: Where the shares come from.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered.
    """
    before, roster = SiteState.from_bytes(state), turn.roster
    said = _of_stage(turn, KEYS, keys, 3 * HASH)
    _require_present(turn, KEYS, said, range(len(roster.keys)))
    bundles = {site: Bundle.read(one.body) for site, one in said.items()}
    _require_own(KEYS, signer, said)
    holders = [site for site in roster.holders(signer.site) if site in bundles]
    both = [shared(secret, holders, roster.threshold, randomness) for secret in (before.seed, before.masking)]
    sealed = []
    for site in holders:
        if site != signer.site:
            key = _key(turn, _exchanged(before.sealing, bundles[site].sealing, site), "share", signer.site, site)
            inside = AESGCM(key).encrypt(bytes(12), both[0][site] + both[1][site], turn.place)
            sealed.append(site.to_bytes(2, "little") + inside)  # the nonce may stay: no key is used twice
    after = replace(
        before, bundles=bundles, keys=_digest(said), mine=(both[0][signer.site], both[1][signer.site]),
    )  # fmt: skip
    return after.to_bytes(), signer.message(turn, SHARES, after.keys + b"".join(sealed))


SEALED = 2 + 2 * SHARE + 16


def mask(turn: Turn, signer: Signer, state: bytes, shares: Iterable[bytes], vector: Vector) -> Step:
    """Take the shares of others, and send the vector under masks: the receipt of it first, then the vector itself.

    Args:
        turn: Which one.
        signer: Who does it.
        state: What `share` left.
        shares: The messages of all sites.
        vector: SECRET. What is added.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered; or others were shown other keys.
    """
    before = SiteState.from_bytes(state)
    if vector.shape != (turn.words,):
        raise Refused("vector", f"{turn.words} integers are summed")
    said = _of_stage(turn, SHARES, shares)
    _require_present(turn, SHARES, said, before.bundles)
    _require_own(SHARES, signer, said)
    held = {}
    for site, one in said.items():
        if one.body[:HASH] != before.keys:
            raise ProtocolAborted("shares", f"site {site} was shown other keys than this one")
        if site != signer.site and signer.site in turn.roster.holders(site):
            held[site] = _unsealed(turn, signer.site, before, one)
    masked = np.array(vector, dtype=np.uint64)
    near = [site for site in said if site != signer.site and site in turn.roster.holders(signer.site)]
    pairs = [_pair_key(turn, before.masking, before.bundles[site].masking, signer.site, site) for site in near]
    _add_masks(masked, [(_own_key(turn, before.seed, signer.site), 1), *pairs])
    octets = masked.astype("<u8", copy=False).tobytes()
    after = replace(before, held={**held, signer.site: before.mine}, seen=_digest(said))
    receipt = signer.message(turn, MASKED, after.seen + sha256(octets).digest())
    return after.to_bytes(), receipt + octets


def receipt_of(turn: Turn, masked: bytes) -> bytes:
    """The receipt in front of a masked vector: all of it that other sites have to see."""
    return masked[: max(0, len(masked) - 8 * turn.words)]


def sign(turn: Turn, signer: Signer, state: bytes, receipts: Iterable[bytes]) -> Step:
    """Sign the list of who is in the sum, and what they sent: once a turn.

    Args:
        turn: Which one.
        signer: Who does it.
        state: What `mask` left.
        receipts: Those of all vectors that came.

    Raises:
        ProtocolAborted: too few are there, or a message is another's or altered; or others saw others share; or another
            list was signed before.
    """
    before = SiteState.from_bytes(state)
    said = _of_stage(turn, MASKED, receipts, 2 * HASH)
    _require_present(turn, MASKED, said, [*before.held, *_far(turn, signer.site, before)])
    for site, one in said.items():
        if one.body[:HASH] != before.seen:
            raise ProtocolAborted("masked vectors", f"site {site} was shown other shares than this one")
    listed = tuple(said), _digest(said)
    if before.listed[1] not in (b"", listed[1]):
        raise ProtocolAborted("signed lists", "another list was signed in this turn")
    return replace(before, listed=listed).to_bytes(), signer.message(turn, SIGNED, listed[1])


def unmask(turn: Turn, signer: Signer, state: bytes, signed: Iterable[bytes]) -> Step:
    """Open shares: for each site that is in the sum that of its own mask, for any other that of its masks with others.

    Args:
        turn: Which one.
        signer: Who does it.
        state: What `sign` left.
        signed: Lists that others signed.

    Raises:
        ProtocolAborted: too few signed the list that this site signed.
    """
    before = SiteState.from_bytes(state)
    inside, digest = before.listed
    _require_quorum(turn, signed, digest)
    opened = []
    for site, (seed, key) in sorted(before.held.items()):
        kind = 0 if site in inside else 1
        opened.append(site.to_bytes(2, "little") + bytes([kind]) + (key if kind else seed))
    return state, signer.message(turn, OPENED, digest + b"".join(opened))


def _require_own(stage: int, signer: Signer, said: Mapping[int, Said]) -> None:
    """Refuse what leaves this site out: it would sum without it."""
    if signer.site not in said:
        raise ProtocolAborted(STAGES[stage], "this site's own is not among them")


def _require_quorum(turn: Turn, signed: Iterable[bytes], digest: bytes) -> None:
    said = _of_stage(turn, SIGNED, signed, HASH)
    agreed = sum(one.body == digest and digest != b"" for one in said.values())
    if agreed < turn.roster.quorum:
        rule = f"{turn.roster.quorum} sites must have signed the same list, {agreed} have"
        raise ProtocolAborted("signed lists", rule, 409)


def _far(turn: Turn, site: int, state: SiteState) -> list[int]:
    """Sites of which this one holds nothing: others see to them."""
    return [other for other in state.bundles if site not in turn.roster.holders(other)]


def _unsealed(turn: Turn, site: int, state: SiteState, said: Said) -> tuple[bytes, bytes]:
    body = said.body[HASH:]
    for start in range(0, len(body), SEALED):
        part = body[start : start + SEALED]
        if int.from_bytes(part[:2], "little") == site:
            theirs = state.bundles[said.site].sealing
            key = _key(turn, _exchanged(state.sealing, theirs, said.site), "share", said.site, site)
            try:
                inside = AESGCM(key).decrypt(bytes(12), part[2:], turn.place)
            except (InvalidTag, ValueError):
                break
            return inside[:SHARE], inside[SHARE:]
    raise ProtocolAborted("shares", f"that of site {said.site} for this one can not be opened")


class Messages(NamedTuple):
    """Messages of a turn, stage by stage."""

    keys: Sequence[bytes]
    shares: Sequence[bytes]
    masked: Sequence[bytes]
    signed: Sequence[bytes]
    opened: Sequence[bytes]


def total(turn: Turn, messages: Messages) -> Vector:
    """The sum of the vectors of all sites that are in it. Every message is checked: who carries them can not alter it.

    Raises:
        ProtocolAborted: something is missing, altered or of another turn.
    """
    roster = turn.roster
    bundles = {site: Bundle.read(one.body) for site, one in _of_stage(turn, KEYS, messages.keys, 3 * HASH).items()}
    shares = _of_stage(turn, SHARES, messages.shares)
    _require_present(turn, SHARES, shares, bundles)
    vectors = {receipt_of(turn, octets): octets[-8 * turn.words :] for octets in messages.masked}  # each once
    receipts = _of_stage(turn, MASKED, vectors, 2 * HASH)
    _require_present(turn, MASKED, receipts, shares)
    _require_quorum(turn, messages.signed, _digest(receipts))
    found, seen = np.zeros(turn.words, dtype=np.uint64), _digest(shares)
    for said in receipts.values():
        vector = vectors[said.octets]
        if said.body != seen + sha256(vector).digest():
            raise ProtocolAborted("masked vectors", f"that of site {said.site} was altered, or masked for others")
        found += np.frombuffer(vector, dtype="<u8")
    opened = _opened(turn, messages.opened, _digest(receipts))
    off: list[tuple[bytes, int]] = []
    for site in shares:
        secret = recovered(opened.get((site, int(site not in receipts)), {}), roster.threshold)
        if site in receipts:
            if _committed(turn, site, secret) != bundles[site].commitment:
                raise ProtocolAborted("opened shares", f"those of site {site} are not of the seed that it committed to")
            off.append((_own_key(turn, secret, site), -1))
        else:
            public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
            if public != bundles[site].masking:
                raise ProtocolAborted("opened shares", f"those of site {site} are not of its key")
            near = [other for other in receipts if other in roster.holders(site)]
            off.extend(_pair_key(turn, secret, bundles[other].masking, site, other) for other in near)
    _add_masks(found, off)  # what a missing site would have added is what cancels what the others took off
    return found


def _opened(turn: Turn, opened: Sequence[bytes], digest: bytes) -> dict[tuple[int, int], dict[int, bytes]]:
    """Shares by whose they are, of which kind, and who held them."""
    found: dict[tuple[int, int], dict[int, bytes]] = {}
    for holder, one in _of_stage(turn, OPENED, opened).items():
        if one.body[:HASH] != digest:
            raise ProtocolAborted("opened shares", f"site {holder} opened them for another list")
        body = one.body[HASH:]
        for start in range(0, len(body), 3 + SHARE):
            part = body[start : start + 3 + SHARE]
            site = int.from_bytes(part[:2], "little")
            if len(part) == 3 + SHARE and holder in turn.roster.holders(site):
                found.setdefault((site, part[2]), {})[holder] = part[3:]
    return found


def story(
    turn: Turn,
    signers: Sequence[Signer],
    vectors: Sequence[Vector],
    randomness: Source,
    silent: Mapping[int, int] | None = None,
) -> tuple[Messages, list[bytes]]:
    """Play all sites, honestly.

    Args:
        turn: Which one.
        signers: The sites, in the order of the roster.
        vectors: What each adds.
        randomness: Where everything comes from.
        silent: The stage from which on a site says nothing any more.

    Returns:
        All messages, and what each site remembers (SECRET).
    """
    gone = silent or {}
    states = [b""] * len(signers)

    def said(stage: int, ask: Callable[[Signer], Step]) -> list[bytes]:
        sent = []
        for signer in signers:
            if gone.get(signer.site, OPENED + 1) > stage:
                states[signer.site], message = ask(signer)
                sent.append(message)
        return sent

    keys = said(KEYS, lambda signer: begin(turn, signer, randomness))
    shares = said(SHARES, lambda signer: share(turn, signer, states[signer.site], keys, randomness))
    masked = said(MASKED, lambda signer: mask(turn, signer, states[signer.site], shares, vectors[signer.site]))
    receipts = [receipt_of(turn, octets) for octets in masked]
    signed = said(SIGNED, lambda signer: sign(turn, signer, states[signer.site], receipts))
    opened = said(OPENED, lambda signer: unmask(turn, signer, states[signer.site], signed))
    return Messages(keys, shares, masked, signed, opened), states
