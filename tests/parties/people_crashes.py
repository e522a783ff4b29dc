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
from dpcurves_parties.pairs import AGGREGATOR, Device, FolderMailbox, Meeting, Person, Place
from dpcurves_parties.pairs.attendance import Post
from dpcurves_parties.pairs.device import SHARE, opened_by
from dpcurves_parties.pairs.relay import RelayStore

VALUES = ((1, 4), (3, 2))
TURNS = 4
KINDS: dict[str, tuple[type, str]] = {
    "letter": (Post, "put"),
    "request": (Post, "_asked"),
    "write": (Device, "_changing"),
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
        self.agreed = village.task.shown(SEED)
        self.store = RelayStore(f"sqlite:///{country.folder / 'relay.db'}")
        self.meetings = iter(self.agreed.meetings)

    def enter(self) -> None:
        """All people enter, and pairs are drawn."""
        for person in range(self.village.task.people):
            self.village.attendance(person).post.close()
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
        assert [self.village.attendance(person).device.entered for person in meeting.people] == [1, 1]
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
        letter = self.store.get(self.village.task.hash, (meeting.number, person, SHARE))
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
            device = Device.of(path, self.agreed.task, self.agreed.most, Randomness.system())
            mailbox = FolderMailbox(folder)
            people[person] = Person(person, self.agreed, device, mailbox, attendance.post.bundle)
        for turn in range(TURNS):
            people[meeting.people[turn % 2]].attend(meeting, VALUES[turn % 2])
        found = [people[one].mailbox.get(Place(meeting.name, SHARE, one, AGGREGATOR)) for one in meeting.people]
        return [self._opened(meeting, one, letter or b"") for one, letter in zip(meeting.people, found, strict=True)]

    def _opened(self, meeting: Meeting, person: int, letter: bytes) -> bytes:
        place = Place(meeting.name, SHARE, person, AGGREGATOR)
        return opened_by(self.country.identity.sealing, letter, place, self.village.post(person).bundle(person))


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
