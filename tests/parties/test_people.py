"""People in pairs, by letters: outputs open at the aggregator alone, and who is killed says the same again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from dpcurves.arguments import ProtocolError
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import trace_circuit
from dpcurves_parties.crypto.two_party import InputOwner, Job
from dpcurves_parties.pairs import (
    AGGREGATOR,
    Device,
    FolderMailbox,
    KeyBundle,
    Meeting,
    MessageAddress,
    OutputAggregator,
    Permutations,
    Person,
    PersonKeys,
    create_meetings,
    draw_committed_pairs,
)
from dpcurves_parties.pairs.device import OVERHEAD, _require_large_order
from dpcurves_parties.pairs.queries import commit_to_seed

pytest.importorskip("rbcl")
TASK = sha256(b"a task").digest()
VALUES = {0: (0xCAFE,), 1: (0xBEEF,)}
MEETING = Meeting(TASK, 0, (0, 1))
EXACT = trace_circuit(lambda x, y: (x < y, abs(x - y)), 16, 16)
LONG = trace_circuit(lambda x, y: (x < y, *[abs(x - y)] * 8), 16, 16)
COINED = trace_circuit(lambda x, y, coin: (x < y) ^ (coin < 40_001), 16, 16, 16)


def job(circuit: Any = COINED, meeting: Meeting = MEETING) -> Job:
    owners = (InputOwner.GARBLER, InputOwner.EVALUATOR, InputOwner.COIN)[: len(circuit.inputs)]
    return Job(meeting.name, circuit, owners, 1)


@dataclass(frozen=True)
class Agreed:
    """Any circuit of two people's values, in one meeting or two."""

    circuit: Any
    task_hash: bytes = TASK
    max_meetings: int = 2
    value_count: int = 1

    def build_job(self, meeting: Meeting) -> Job:
        return job(self.circuit, meeting)

    def require_meeting(self, meeting: Meeting, person: int) -> None:
        pass


class Town:
    """Two people, a mailbox and the aggregator, on one disk; secrets are those of seeds, so that runs are the same."""

    def __init__(self, folder: Path, circuit: Any = COINED) -> None:
        self.folder, self.circuit = folder, circuit
        (folder / "mail").mkdir(exist_ok=True)
        self.mailbox = FolderMailbox(folder / "mail")
        self.aggregator = PersonKeys.from_secret(b"aggregator")
        self.collector = OutputAggregator(self.aggregator.hpke_key, self.mailbox.get_message, self.bundle)

    def device(self, number: int) -> Device:
        return Device.open_file(self.folder / f"{number}.device", TASK, 2, Randomness.from_seed(100 + number))

    def bundle(self, number: int) -> KeyBundle:
        writer = self.aggregator if number == AGGREGATOR else self.device(number).keys
        return KeyBundle.from_bytes(writer.create_bundle(TASK, number).as_bytes, TASK, number)

    def attend(self, number: int, value: tuple[int, ...] | None = None) -> bool:
        person = Person(number, Agreed(self.circuit), self.device(number), self.mailbox, self.bundle)
        return person.advance_meeting(MEETING, value or VALUES[number])

    def output(self) -> Any:
        return self.collector.open_output(MEETING, len(self.circuit.output_wires))

    def finish(self) -> Any:
        for number in (0, 1, 0, 1):
            self.attend(number)
        return self.output()


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path, EXACT)


def test_two_people_who_are_never_online_together_give_the_aggregator_an_output(town: Town) -> None:
    assert not town.attend(1)
    assert not town.attend(0)
    assert town.output() is None
    assert town.attend(1) is False
    assert town.attend(0)
    assert town.output() is None
    assert town.attend(1)
    bits = town.output()
    assert bits[0] == (VALUES[0] < VALUES[1])
    assert sum(int(bit) << place for place, bit in enumerate(bits[1:])) == 0xCAFE - 0xBEEF


def test_letters_say_nothing_to_who_carries_them(tmp_path: Path) -> None:
    """Three letters between people and a share each: neither more nor others are there, and all are sealed.

    Letters are sealed with fresh keys. A share of 17 bytes stands in their 5,000 by chance once in 2**120 runs; of 3
    bytes, as those of one number are, it would once in 1,500.
    """
    town = Town(tmp_path, LONG)
    town.finish()
    letters = [file.read_bytes() for file in (town.folder / "mail").iterdir()]
    assert len(letters) == 5
    assert sum(map(len, letters)) < 5500
    bodies = [
        body
        for number in (0, 1)
        for body in [*town.device(number).load_messages(MEETING), *shares(town)]
        if body is not None
    ]
    assert len(bodies) == 7
    assert not [body for body in bodies for letter in letters if body in letter]
    assert min(map(len, bodies)) == 17
    assert sorted(map(len, letters))[:2] == [17 + OVERHEAD] * 2


def test_a_share_tells_nothing_on_its_own(tmp_path: Path) -> None:
    """Two values in 16 meetings, 17 wires each: a share's bits are even, but for a chance below 6.4e-5 (4 sigma)."""
    ones = 0
    for number in range(16):
        device = Device.open_file(tmp_path / f"{number}.device", TASK, 1, Randomness.from_seed(number))
        partner = Device.open_file(tmp_path / f"{number}.partner", TASK, 1, Randomness.from_seed(1000 + number))
        share = None
        while share is None:
            said, share = device.compute_messages(MEETING, job(EXACT), VALUES[0], 0)
            heard, _ = partner.compute_messages(MEETING, job(EXACT), VALUES[1], 1)
            keep(partner, said)
            keep(device, heard)
        ones += int(np.unpackbits(np.frombuffer(share, np.uint8), count=17, bitorder="little").sum())
    assert abs(ones - 8 * 17) < 4 * np.sqrt(16 * 17 / 4)


def keep(device: Device, messages: list[bytes]) -> None:
    for step, message in enumerate(messages):
        device.store_message(MEETING, step, message)


def killed_at(work: Callable[[], object], name: str, number: int) -> bool:
    """Run work in a process that kills itself before the call of this kind after so many; whether it came so far."""
    child = os.fork()
    if child == 0:
        calls = iter(range(number))
        kinds = {"write": (Device, "_open_transaction"), "leave": (FolderMailbox, "put_message")}
        owner, attribute = kinds[name]
        kept = getattr(owner, attribute)

        def counting(*arguments: Any) -> Any:
            if next(calls, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return kept(*arguments)

        setattr(owner, attribute, counting)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_person_who_is_killed_anywhere_goes_on_and_ends_with_the_same_output(tmp_path: Path) -> None:
    """Before each letter, and before every fifth write of a device; coins are those of the first run."""
    (tmp_path / "whole").mkdir()
    wanted, kills = shares(Town(tmp_path / "whole")), {"leave": 0, "write": 0}
    for name, step in (("leave", 1), ("write", 5)):
        for turn in range(4):
            number, killed = 0, True
            while killed:
                folder = tmp_path / f"{name} {turn} {number}"
                folder.mkdir()
                town = Town(folder)
                for earlier in range(turn):
                    town.attend(earlier % 2)
                killed = killed_at(partial(town.attend, turn % 2), name, number)
                assert shares(town) == wanted
                assert [town.device(person).meeting_count for person in (0, 1)] == [1, 1]
                number, kills[name] = number + step, kills[name] + killed
    assert kills["leave"] == 5
    assert kills["write"] >= 8


def shares(town: Town) -> list[bytes]:
    """Both shares that the aggregator gets, when all have said what they have to say."""
    town.finish()
    found = []
    for number in (0, 1):
        place = MessageAddress(MEETING.name, 100, number, AGGREGATOR)
        letter = town.mailbox.get_message(place)
        assert letter is not None
        found.append(town.aggregator.open_message(letter, place, town.bundle(number)))
    return found


def test_a_meeting_is_not_run_again_with_another_value_nor_beyond_what_was_agreed(town: Town) -> None:
    town.attend(0)
    with pytest.raises(ProtocolError, match="^meeting: was entered before with another value") as error:
        town.attend(0, (7,))
    assert "7" not in str(error.value)
    device = town.device(0)
    device.enter_meeting(Meeting(TASK, 1, (0, 1)), (1,))
    with pytest.raises(ProtocolError, match="must be one of at most 2, and all of these were entered"):
        device.enter_meeting(Meeting(TASK, 2, (0, 1)), (1,))
    assert device.compute_spent_loss(Fraction(1, 4)) == Fraction(1, 2)
    with pytest.raises(ProtocolError, match="^meeting: must be of this device's task"):
        device.enter_meeting(Meeting(bytes(32), 0, (0, 1)), (1,))
    with pytest.raises(ProtocolError, match="belongs to another task; use a device file for each task"):
        Device.open_file(town.folder / "0.device", bytes(32), 2, Randomness.from_system())
    with pytest.raises(ProtocolError, match="is for 2 meetings, not for 3"):
        Device.open_file(town.folder / "0.device", TASK, 3, Randomness.from_system())


class Absurd:
    def __int__(self) -> int:
        raise RuntimeError("a value")


@pytest.mark.parametrize(
    "value", [-5, 70_000, 2**70, 10**5000, 3.5, float("nan"), "x", None, b"7", Absurd()], ids=range(10)
)
def test_whatever_a_value_is_the_person_takes_part_as_with_any_other(tmp_path: Path, value: Any) -> None:
    sizes = []
    for number, given in enumerate((7, value)):
        folder = tmp_path / str(number)
        folder.mkdir()
        town = Town(folder, EXACT)
        for person in (0, 1, 0, 1):
            town.attend(person, (given,) if person == 0 else None)
        assert town.output() is not None
        sizes.append(sorted(path.stat().st_size for path in (folder / "mail").rglob("*") if path.is_file()))
    assert sizes[0] == sizes[1]


def test_the_first_letter_of_a_step_stays_and_coins_of_meetings_have_nothing_in_common(town: Town) -> None:
    device, other = town.device(0), Meeting(TASK, 1, (0, 1))
    said = {
        meeting: device.compute_messages(meeting, job(COINED, meeting), (1,), 0)[0][0] for meeting in (MEETING, other)
    }
    parts = [{text[start : start + 16] for start in range(0, 48, 16)} for text in said.values()]
    assert not parts[0] & parts[1]
    device.store_message(MEETING, 0, b"first")
    device.store_message(MEETING, 0, b"second")
    assert device.load_messages(MEETING) == [b"first"]


def test_a_partner_who_breaks_the_protocol_ends_the_meeting_and_its_loss_stays_spent(town: Town) -> None:
    town.attend(0)
    device, place = town.device(1), MessageAddress(MEETING.name, 0, 1, 0)
    town.mailbox.put_message(place, device.keys.seal_message(b"something else", place, town.bundle(0)))
    with pytest.raises(ProtocolError, match="^message: must be the other party's next message of this session"):
        town.attend(0)
    with pytest.raises(
        ProtocolError, match="^meeting: was dropped, and its loss stays spent; go on with the other meetings$"
    ):
        town.attend(0)
    assert town.device(0).meeting_count == 1
    assert town.output() is None


@pytest.mark.parametrize("change", ["flipped", "cut", "other place", "other writer"])
def test_a_letter_that_was_changed_or_moved_is_not_kept(town: Town, change: str) -> None:
    town.attend(0)
    place, other = MessageAddress(MEETING.name, 0, 0, 1), MessageAddress(MEETING.name, 1, 0, 1)
    letter, writer = town.mailbox.get_message(place) or b"", town.device(0).keys
    wrong = {
        "flipped": bytes([letter[0] ^ 1]) + letter[1:], "cut": letter[:-1],
        "other place": writer.seal_message(b"body", other, town.bundle(1)),
        "other writer": PersonKeys.from_secret(b"somebody").seal_message(b"body", place, town.bundle(1)),
    }[change]  # fmt: skip
    (file,) = (each for each in (town.folder / "mail").iterdir() if each.read_bytes() == letter)
    file.write_bytes(wrong)
    with pytest.raises(
        ProtocolError,
        match="^message: was not written by its sender for this address, or was changed",
    ):
        town.attend(1)
    assert town.device(1).load_messages(MEETING) == []
    file.write_bytes(letter)
    assert town.attend(1) is False
    assert town.attend(0)


def test_key_bundles_are_good_for_one_person_and_task() -> None:
    bundle = PersonKeys.from_secret(b"me").create_bundle(TASK, 3).as_bytes
    assert KeyBundle.from_bytes(bundle, TASK, 3).as_bytes == bundle
    for octets, task, person in (
        (bundle, TASK, 4),
        (bundle, bytes(32), 3),
        (bundle[:-1], TASK, 3),
        (bytes(128), TASK, 3),
    ):
        with pytest.raises(ProtocolError, match="^keys: "):
            KeyBundle.from_bytes(octets, task, person)


def test_keys_that_anybody_can_use_are_refused() -> None:
    """Points of order 1, 2, 4 and 8 as keys: some other signature of zeros is good for them."""
    good = PersonKeys.from_secret(b"me").create_bundle(TASK, 3)
    eighth = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    low = [bytes(32), b"\1" + bytes(31), (2**255 - 20).to_bytes(32, "little"), eighth]
    for point in low:
        with pytest.raises(ValueError):  # noqa: PT011
            _require_large_order(KeyBundle(good.hpke_key, point, bytes(64)))
    for point in low[:3]:
        with pytest.raises(ValueError):  # noqa: PT011
            _require_large_order(KeyBundle(point, good.signing_key, bytes(64)))
    _require_large_order(good)


def test_pairs_follow_from_the_promised_seed_alone() -> None:
    seed, pairing = bytes(range(32)), Permutations(3)
    found = create_meetings(TASK, draw_committed_pairs(pairing, 101, seed, commit_to_seed(seed)))
    assert len({meeting.name for meeting in found}) == 150
    assert all(meeting.find_partner(meeting.people[0]) == meeting.people[1] for meeting in found)
    with pytest.raises(ValueError, match="^person: must be one of the two people of this meeting; "):
        found[0].find_partner(next(number for number in range(101) if number not in found[0].people))
    with pytest.raises(ProtocolError, match="^seed: must match the published commitment"):
        draw_committed_pairs(pairing, 101, seed[::-1], commit_to_seed(seed))


def test_files_of_devices_are_their_owners_alone_and_hold_no_value(town: Town) -> None:
    town.finish()
    path = town.folder / "0.device"
    assert path.stat().st_mode & 0o077 == 0
    written, (value,) = path.read_bytes(), VALUES[0]
    forms = [str(value).encode(), f"{value:x}".encode(), *(value.to_bytes(size, order) for size in (2, 3, 4, 8)
             for order in ("little", "big"))]  # fmt: skip
    assert not [form for form in forms if len(form) > 2 and form in written]


def extracted(salt: bytes, label: bytes, material: bytes, suite: bytes) -> bytes:
    import hmac

    return hmac.digest(salt, b"HPKE-v1" + suite + label + material, "sha256")


def expanded(secret: bytes, label: bytes, info: bytes, length: int, suite: bytes) -> bytes:
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return HKDFExpand(SHA256(), length, labelled).derive(secret)


def test_letters_are_sealed_as_rfc_9180_says() -> None:
    """Appendix A.1.1, opened by the words of sections 4.1 and 5.1 with nothing but X25519, HKDF and AES-GCM."""
    receiver = bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
    point = bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
    sealed = bytes.fromhex("f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a")
    info = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
    assert by_hand(receiver, point + sealed, info, b"Count-0") == b"Beauty is truth, truth beauty"
    place, writer = MessageAddress(b"m", 0, 1, 2), PersonKeys.from_secret(b"writer")
    reader = PersonKeys.from_secret(b"reader")
    letter = writer.seal_message(b"hello", place, reader.create_bundle(TASK, 2))
    assert by_hand(reader.hpke_key.private_bytes_raw(), letter[:-64], place.associated_data, b"") == b"hello"


def by_hand(receiver: bytes, sealed: bytes, info: bytes, more: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    key, point = X25519PrivateKey.from_private_bytes(receiver), sealed[:32]
    kem, suite = b"KEM" + (0x20).to_bytes(2, "big"), b"HPKE" + bytes.fromhex("002000010001")
    shared = key.exchange(X25519PublicKey.from_public_bytes(point))
    context = point + key.public_key().public_bytes_raw()
    secret = expanded(extracted(b"", b"eae_prk", shared, kem), b"shared_secret", context, 32, kem)
    schedule = b"\0" + extracted(b"", b"psk_id_hash", b"", suite) + extracted(b"", b"info_hash", info, suite)
    key_secret = extracted(secret, b"secret", b"", suite)
    found = AESGCM(expanded(key_secret, b"key", schedule, 16, suite))
    return found.decrypt(expanded(key_secret, b"base_nonce", schedule, 12, suite), sealed[32:], more)
