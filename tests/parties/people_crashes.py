"""Kills people's devices at their requests to a real server and at their writes, and compares what the aggregator gets.

Run by ``make crash`` at every request and every write; by the tests, at every letter.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from people_at_home import SEED, Country, Village

from dpcurves.noise import Randomness
from dpcurves_parties.pairs import AGGREGATOR, Device, FolderMailbox, Meeting, MessageAddress, Person
from dpcurves_parties.pairs.device import SHARE_STEP, open_sealed_message
from dpcurves_parties.pairs.meetings import RelayClient
from dpcurves_parties.pairs.relay import RelayStore

VALUES = ((1, 4), (3, 2))
TURNS = 4
KINDS: dict[str, tuple[type, str]] = {
    "letter": (RelayClient, "put_message"),
    "request": (RelayClient, "_request"),
    "write": (Device, "_open_transaction"),
}


def killed_at(work: Callable[[], object], kind: str, moment: str, number: int) -> bool:
    """Run work in a process that kills itself about the call of this kind after so many; whether it came so far."""
    child = os.fork()
    if child == 0:
        calls, (owner, attribute) = count(), KINDS[kind]
        kept = getattr(owner, attribute)

        def counting(*arguments: Any) -> Any:
            dies = next(calls) == number
            if dies and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            done = kept(*arguments)
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(owner, attribute, counting)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class Killed:
    """A village of pairs; each is used for one kill."""

    def __init__(self, country: Country, village: Village) -> None:
        self.country, self.village = country, village
        self.agreed = village.task.build_agreement(SEED)
        self.store = RelayStore(f"sqlite:///{country.folder / 'relay.db'}")
        self.meetings = iter(self.agreed.meetings)

    def enter(self) -> None:
        """All people enter, and pairs are drawn."""
        for person in range(self.village.task.people):
            self.village.attendance(person).client.close()
        self.village.close()

    def survives(self, kind: str, moment: str, turn: int, number: int) -> bool:
        """Whether somebody was killed there. Both shares have to be those of a run that nothing has stopped.

        Raises:
            AssertionError: they are others; or a device has entered twice, or not at all.
        """
        meeting = next(self.meetings)
        wanted = self._undisturbed(meeting)
        for earlier in range(turn):
            self._attend(meeting, earlier % 2)
        killed = killed_at(partial(self._attend, meeting, turn % 2), kind, moment, number)
        for later in range(TURNS):
            self._attend(meeting, later % 2)
        assert [self._share(meeting, place) for place in (0, 1)] == wanted
        assert [self.village.attendance(person).device.meeting_count for person in meeting.people] == [1, 1]
        return killed

    def kills(self, kind: str, moment: str, turn: int) -> Iterator[int]:
        """One kill after the other, until nobody comes so far."""
        for number in count():
            if not self.survives(kind, moment, turn, number):
                return
            yield number

    def _attend(self, meeting: Meeting, place: int) -> None:
        self.village.attend(meeting.people[place], VALUES[place])

    def _share(self, meeting: Meeting, place: int) -> bytes:
        person = meeting.people[place]
        letter = self.store.load_message(self.village.task.hash, (meeting.number, person, SHARE_STEP))
        assert letter is not None
        return self._opened(meeting, person, letter)

    def _undisturbed(self, meeting: Meeting) -> list[bytes]:
        """Both shares of the same devices, where letters lie in a folder and nobody is killed."""
        folder = self.village.folder / f"undisturbed {meeting.number}"
        folder.mkdir()
        people = {}
        for person in meeting.people:
            attendance = self.village.attendance(person)
            path = folder / f"{person}.device"
            shutil.copy(attendance.device.path, path)
            device = Device.open_file(path, self.agreed.task_hash, self.agreed.max_meetings, Randomness.from_system())
            mailbox = FolderMailbox(folder)
            people[person] = Person(person, self.agreed, device, mailbox, attendance.client.fetch_bundle)
        for turn in range(TURNS):
            people[meeting.people[turn % 2]].advance_meeting(meeting, VALUES[turn % 2])
        found = [
            people[one].mailbox.get_message(MessageAddress(meeting.name, SHARE_STEP, one, AGGREGATOR))
            for one in meeting.people
        ]
        return [self._opened(meeting, one, letter or b"") for one, letter in zip(meeting.people, found, strict=True)]

    def _opened(self, meeting: Meeting, person: int, letter: bytes) -> bytes:
        place = MessageAddress(meeting.name, SHARE_STEP, person, AGGREGATOR)
        return open_sealed_message(
            self.country.identity.hpke_key, letter, place, self.village.post(person).fetch_bundle(person)
        )


def main() -> None:
    """Every request and every write of both people."""
    with tempfile.TemporaryDirectory() as folder:
        country = Country(Path(folder))
        village = country.village("crashes", 480)
        country.start()
        try:
            killed = Killed(country, village)
            killed.enter()
            for kind, moment in (("request", "before"), ("request", "after"), ("write", "before")):
                kills = sum(len(list(killed.kills(kind, moment, turn))) for turn in range(TURNS))
                print(f"people in pairs: killed {moment} each of {kills} {kind}s: the shares were the same in the end")
        finally:
            country.stop()


if __name__ == "__main__":
    main()
