"""One person in one meeting: takes letters out of a mailbox, and leaves its own there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import ProtocolAborted
from ..crypto.two_party import Job
from .device import Device
from .letters import AGGREGATOR, Card, Place, Writer
from .mailbox import Mailbox
from .meetings import Meeting

_SHARE = 100
"""The step of a share, after all others."""


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """SECRET: what one person needs.

    Attributes:
        number: Its number in the task.
        device: Its own file.
        mailbox: Where letters lie.
        cards: The card of each person, and of the aggregator.
    """

    number: int
    device: Device
    mailbox: Mailbox
    cards: Callable[[int], Card]

    def attend(self, meeting: Meeting, job: Job, value: Sequence[int]) -> bool:
        """Say what can be said by now; whether all is said. It is called again when the partner may have written.

        Raises:
            ProtocolAborted: the meeting is dropped, or was never this person's.
        """
        partner = meeting.partner(self.number)
        self.device.enter(meeting, value)
        while True:
            said, share = self.device.said(meeting, job, value, self.number)
            for step, message in enumerate(said):
                self._leave(meeting, step, message, partner)
            if share is not None:
                self._leave(meeting, _SHARE, share, AGGREGATOR)
                return True
            step = len(self.device.heard(meeting))
            place = Place(meeting.name, step, partner, self.number)
            letter = self.mailbox.get(place)
            if letter is None:
                return False
            self.device.keep(meeting, step, self.device.writer.opened(letter, place, self.cards(partner)))

    def _leave(self, meeting: Meeting, step: int, message: bytes, reader: int) -> None:
        place = Place(meeting.name, step, self.number, reader)
        if self.mailbox.get(place) is None:
            self.mailbox.put(place, self.device.writer.letter(message, place, self.cards(reader)))


@dataclass(frozen=True, slots=True, repr=False)
class Collector:
    """SECRET: the aggregator, who alone opens outputs.

    Attributes:
        writer: Its keys.
        mailbox: Where letters lie.
        cards: The card of each person.
    """

    writer: Writer
    mailbox: Mailbox
    cards: Callable[[int], Card]

    def output(self, meeting: Meeting, wires: int) -> NDArray[np.bool_] | None:
        """The output of a meeting, wire by wire; None: a share is missing, or is none: the meeting does not count."""
        shares = [self._share(meeting, person, wires) for person in meeting.people]
        if shares[0] is None or shares[1] is None:
            return None
        return shares[0] ^ shares[1]

    def _share(self, meeting: Meeting, person: int, wires: int) -> NDArray[np.bool_] | None:
        place = Place(meeting.name, _SHARE, person, AGGREGATOR)
        letter = self.mailbox.get(place)
        if letter is None:
            return None
        try:
            body = self.writer.opened(letter, place, self.cards(person))
        except ProtocolAborted:
            return None
        if len(body) != -(-wires // 8):
            return None
        return np.unpackbits(np.frombuffer(body, np.uint8), count=wires, bitorder="little").astype(np.bool_)
