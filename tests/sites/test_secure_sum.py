"""Sums of masked vectors: exact whoever fails, and nobody who carries messages can alter them or open more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_sites import secure_sum
from dpcurves_sites.secure_sum import (
    KEYS,
    MASKED,
    OPENED,
    SECRET_MODULUS,
    SHARE_SIZE,
    SHARES,
    SIGNED,
    Roster,
    RoundMessages,
    Signer,
    SiteState,
    SumRound,
    advertise_keys,
    cut_receipt,
    mask_vector,
    parse_message,
    recover_secret,
    share_keys,
    share_secret,
    sign_list,
    simulate_round,
    sum_vectors,
    unmask,
)

SOURCE = Randomness.from_seed(31)


def of(sites: int, tolerated: int, absent: int = 0, words: int = 7, number: int = 1) -> tuple[SumRound, list[Signer]]:
    keys = [Ed25519PrivateKey.from_private_bytes(SOURCE.random_bytes(32)) for _ in range(sites)]
    public = tuple(key.public_key().public_bytes_raw() for key in keys)
    roster = Roster(bytes(32), public, tolerated, absent)
    return SumRound(roster, number, bytes(32), words), [Signer(site, key) for site, key in enumerate(keys)]


def vectors(turn: SumRound) -> list[Any]:
    return [SOURCE.sample_words(turn.vector_length) for _ in turn.roster.keys]


@pytest.mark.parametrize(
    ("sites", "tolerated", "absent", "silent"),
    [
        (2, 1, 0, {}),
        (5, 1, 0, {3: OPENED}),
        (10, 3, 0, {0: SIGNED, 4: SIGNED, 9: OPENED}),
        (10, 3, 3, {1: KEYS, 2: SHARES, 5: MASKED}),
        (40, 2, 2, {0: MASKED, 1: MASKED, 39: SIGNED, 38: OPENED, 20: OPENED}),
    ],
)
def test_the_sum_is_that_of_all_who_sent_a_vector(
    sites: int, tolerated: int, absent: int, silent: Mapping[int, int]
) -> None:
    turn, signers = of(sites, tolerated, absent)
    own = vectors(turn)
    messages, _ = simulate_round(turn, signers, own, SOURCE, silent)
    inside = [one for site, one in enumerate(own) if silent.get(site, OPENED + 1) > MASKED]
    assert sum_vectors(turn, messages).tolist() == sum(inside).tolist()
    assert len(messages.masked_vectors[0]) - 8 * turn.vector_length < 300
    sent = [message for stage in messages for message in stage]
    neighbours = turn.roster.degree
    assert sum(map(len, sent)) / sites - 8 * turn.vector_length < 4096 + 100 * neighbours


def test_one_failure_more_than_promised_holds_the_sum_up_and_opens_nothing() -> None:
    turn, signers = of(10, 3)
    assert turn.roster.max_failures == 3
    messages, _ = simulate_round(turn, signers, vectors(turn), SOURCE, {0: OPENED, 1: OPENED, 2: OPENED, 3: OPENED})
    with pytest.raises(ProtocolError, match="must be at least 7, got 6"):
        sum_vectors(turn, messages)
    with pytest.raises(ProtocolError, match="7 sites must sign the same list, 6 did"):
        simulate_round(turn, signers, vectors(turn), SOURCE, {0: SIGNED, 1: SIGNED, 2: SIGNED, 3: SIGNED})
    with pytest.raises(ProtocolError, match="10 of 10 sites must send these, 9 did"):
        simulate_round(turn, signers, vectors(turn), SOURCE, {0: MASKED})


@pytest.mark.parametrize("sites", [3, 10, 32, 100])
def test_thresholds_keep_both_kinds_of_masks_apart(sites: int) -> None:
    for tolerated in {0, 1, 3, min(sites - 1, 30)} - {sites}:
        turn, _ = of(sites, tolerated)
        roster = turn.roster
        for site in range(sites):
            holders = roster.find_holders(site)
            assert site in holders
            assert len(holders) == roster.degree + 1
            assert all(site in roster.find_holders(other) for other in holders)
        assert (roster.degree + 1 - tolerated) + 2 * tolerated < 2 * roster.threshold
        assert sites + tolerated < 2 * roster.quorum
        assert roster.degree > tolerated + roster.max_failures or roster.degree == sites - 1
        assert roster.max_failures >= min(tolerated, sites - roster.quorum) or sites < 32


def test_whoever_takes_out_fewer_than_all_neighbours_leaves_the_others_connected() -> None:
    turn, _ = of(40, 2)
    roster, half = turn.roster, turn.roster.degree // 2
    around = [(20 + step) % 40 for step in (*range(1, half + 1), *range(-half + 1, 0))]  # all neighbours but one
    left = set(range(40)) - set(around)
    reached, opened = {20}, [20]
    while opened:
        near = (set(roster.find_holders(opened.pop())) & left) - reached
        reached |= near
        opened.extend(near)
    assert reached == left


def test_shares_below_the_threshold_fit_every_secret() -> None:
    secret = bytes(31) + b"\x01"
    parts = share_secret(secret, range(5), 3, SOURCE)
    for chosen in combinations(parts, 3):
        assert recover_secret({site: parts[site] for site in chosen}, 3) == secret
    for other in (bytes(32), b"\xff" * 32):  # two shares and another secret: a third share fits them
        ends = {-1: int.from_bytes(other, "little"), **{site: int.from_bytes(parts[site], "little") for site in (0, 1)}}
        value = 0
        for at, one in ends.items():
            top, bottom = 1, 1
            for apart in ends:
                if apart != at:
                    top, bottom = top * (2 - apart) % SECRET_MODULUS, bottom * (at - apart) % SECRET_MODULUS
            value = (value + one * top * pow(bottom, -1, SECRET_MODULUS)) % SECRET_MODULUS
        assert recover_secret({0: parts[0], 1: parts[1], 2: value.to_bytes(SHARE_SIZE, "little")}, 3) == other
    assert pow(2, SECRET_MODULUS - 1, SECRET_MODULUS) == pow(3, SECRET_MODULUS - 1, SECRET_MODULUS) == 1


def all_said() -> tuple[SumRound, list[Signer], RoundMessages]:
    turn, signers = of(4, 1)
    messages, _ = simulate_round(turn, signers, vectors(turn), SOURCE)
    return turn, signers, messages


@pytest.mark.parametrize("stage", range(5))
def test_an_altered_message_aborts(stage: int) -> None:
    turn, _, messages = all_said()
    octets = messages[stage][0]
    for place in (0, 20, 45, len(turn.header) + 1, len(turn.header) + 5, len(octets) - 1):
        altered = octets[:place] + bytes([octets[place] ^ 1]) + octets[place + 1 :]
        with pytest.raises(ProtocolError):
            sum_vectors(turn, messages._replace(**{RoundMessages._fields[stage]: [altered, *messages[stage][1:]]}))
    repeated = messages._replace(**{RoundMessages._fields[stage]: [*messages[stage][::-1], octets]})
    assert sum_vectors(turn, repeated).tolist() == sum_vectors(turn, messages).tolist()


def test_messages_of_another_turn_plan_or_roster_are_refused() -> None:
    turn, signers, messages = all_said()
    others = (
        replace(turn, number=2), replace(turn, plan_digest=b"\x01" * 32), replace(turn, vector_length=8),
        replace(turn, roster=replace(turn.roster, collusion_threshold=0)),
    )  # fmt: skip
    for other in others:
        with pytest.raises(ProtocolError, match="another task, round, plan or roster"):
            parse_message(other, KEYS, messages.keys[0])
        state, _ = advertise_keys(other, signers[0], SOURCE)
        with pytest.raises(ProtocolError, match="another task, round, plan or roster"):
            share_keys(other, signers[0], state, messages.keys, SOURCE)


def test_a_coordinator_that_shows_different_messages_is_found_out() -> None:
    turn, signers = of(4, 1, absent=1)
    assert turn.roster.max_failures == 1
    begun = [advertise_keys(turn, signer, SOURCE) for signer in signers]
    keys = [message for _, message in begun]
    shown = [keys, keys, keys[:3], keys[:3]]
    dealt = [share_keys(turn, signer, begun[signer.site][0], shown[signer.site], SOURCE) for signer in signers[:3]]
    with pytest.raises(ProtocolError, match="the message of this site is missing"):
        share_keys(turn, signers[3], begun[3][0], keys[:3], SOURCE)
    with pytest.raises(ProtocolError, match="site 2 received other keys"):
        mask_vector(turn, signers[0], dealt[0][0], [message for _, message in dealt], SOURCE.sample_words(7))


def test_two_lists_are_not_signed_in_one_turn_and_neither_is_opened_without_a_quorum() -> None:
    turn, signers = of(5, 1, absent=1)
    messages, states = simulate_round(turn, signers, vectors(turn), SOURCE)
    receipts = [cut_receipt(turn, octets) for octets in messages.masked_vectors]
    with pytest.raises(ProtocolError, match="must be the list that this site has signed in this round"):
        sign_list(turn, signers[0], states[0], receipts[:4])
    unsigned = replace(SiteState.from_bytes(states[4]), signed_list=((), b"")).to_bytes()
    state, signed = sign_list(turn, signers[4], unsigned, receipts[:4])
    with pytest.raises(ProtocolError, match="4 sites must sign the same list, 1 did"):
        unmask(turn, signers[4], state, [*messages.signed_lists[:4], signed])
    _, again = unmask(turn, signers[0], states[0], messages.signed_lists)
    assert again == messages.opened_shares[0]


def kinds_opened(turn: SumRound, messages: RoundMessages) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for octets in messages.opened_shares:
        body = parse_message(turn, OPENED, octets).body[32:]
        for start in range(0, len(body), 3 + SHARE_SIZE):
            found.setdefault(int.from_bytes(body[start : start + 2], "little"), set()).add(body[start + 2])
    return found


def test_of_each_site_one_kind_of_mask_is_opened() -> None:
    turn, signers = of(10, 3, absent=2)
    messages, _ = simulate_round(turn, signers, vectors(turn), SOURCE, {6: MASKED, 7: SIGNED})
    assert kinds_opened(turn, messages) == {site: {int(site == 6)} for site in range(10)}


def test_a_share_that_is_no_share_is_found_out() -> None:
    turn, signers = of(5, 1)
    messages, states = simulate_round(turn, signers, vectors(turn), SOURCE)
    forged = SiteState.from_bytes(states[0])
    forged = replace(forged, held_shares={**forged.held_shares, 2: (bytes(SHARE_SIZE), bytes(SHARE_SIZE))})
    _, opened = unmask(turn, signers[0], forged.to_bytes(), messages.signed_lists)
    with pytest.raises(ProtocolError, match="opened shares"):
        sum_vectors(turn, messages._replace(opened_shares=[opened, *messages.opened_shares[1:]]))


@pytest.mark.parametrize(
    ("sizes", "colluding", "silent"),
    [
        ((5, 1, 1), (4,), {3: SIGNED}),
        ((5, 1, 1), (4,), {3: MASKED}),
        ((4, 2, 0), (2, 3), {}),
        ((5, 2, 1), (0, 3), {1: MASKED}),
        ((3, 0, 0), (), {}),
        ((5, 3, 0), (1, 2, 4), {}),
    ],
)
def test_what_those_who_pool_see_is_a_function_of_the_sum_alone(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int, int],
    colluding: tuple[int, ...],
    silent: Mapping[int, int],
) -> None:
    """Some sites and the coordinator; sizes are sites, how many collude at most, and how many are left out.

    Streams of keys that they lack are uniform to them: over integers modulo 3, all values of these streams are gone
    through, with the signs that sites add them with. What is left of masked vectors once known streams are taken off
    has one distribution for all vectors with one sum: a simulator needs the sum alone. Known are, beside their own: own
    masks of those in the sum, and masks with others of a site that failed before.
    """
    added: list[list[tuple[bytes, int]]] = []
    monkeypatch.setattr(secure_sum, "_add_masks", lambda vector, keys: added.append(list(keys)))
    turn, signers = of(*sizes)
    _, states = simulate_round(turn, signers, vectors(turn), SOURCE, silent)
    inside = [site for site in range(len(signers)) if silent.get(site, OPENED + 1) > MASKED]
    keys = dict(zip(inside, added, strict=True))
    honest = [site for site in inside if site not in colluding]
    for site in honest:
        held = [other for other in colluding if site in SiteState.from_bytes(states[other]).held_shares]
        assert len(held) < turn.roster.threshold
    known = {keys[site][0][0] for site in honest} | {key for site in colluding for key, _ in keys[site]}
    failed = [SiteState.from_bytes(states[site]).masking_key for site in silent if silent[site] == MASKED]
    for masking in failed:  # opened, once it is left out
        for site in honest:
            bundles = SiteState.from_bytes(states[site]).public_keys
            public = X25519PrivateKey.from_private_bytes(masking).public_key().public_bytes_raw()
            (gone,) = (other for other, bundle in bundles.items() if bundle.masking_key == public)
            known.add(secure_sum._derive_pair_key(turn, masking, bundles[site].masking_key, gone, site)[0])
    unknown = sorted({key for site in honest for key, _ in keys[site]} - known)
    assert len(unknown) == len(honest) * (len(honest) - 1) // 2
    distributions: dict[int, Counter[tuple[int, ...]]] = {}
    for own in product(range(3), repeat=len(honest)):
        seen: Counter[tuple[int, ...]] = Counter()
        for streams in product(range(3), repeat=len(unknown)):
            value = dict(zip(unknown, streams, strict=True))
            masks = [sum(sign * value.get(key, 0) for key, sign in keys[site]) for site in honest]
            seen[tuple((one + other) % 3 for one, other in zip(own, masks, strict=True))] += 1
        assert distributions.setdefault(sum(own) % 3, seen) == seen
    assert all(
        len(distribution) == 3 ** (len(honest) - 1) and len(set(distribution.values())) == 1
        for distribution in distributions.values()
    )
