"""Person in a meeting: takes letters out of a mailbox, and leaves its own there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from dpcurves.arguments import ProtocolAborted

from .device import Device
from .letters import AGGREGATOR, KeyBundle, Place, opened_by
from .mailbox import Mailbox
from .meetings import Meeting
from .promise import Agreed

SHARE = 100
"""The step of a share, after all others."""


@dataclass(frozen=True, slots=True, repr=False)
class Person:
    """SECRET: protocol state of one person.

    Formal guarantees: the device takes part in the promised pairs of its number alone, in no more than were agreed on,
    and works out in each what was promised, noise and all, whatever it is handed; see `Device` for one meeting.

    Attributes:
        number: Its number in the task.
        agreed: Agreement with the seed.
        device: Its own file.
        mailbox: Storage of the letters.
        bundles: The key bundle of each person, and of the aggregator.
    """

    number: int
    agreed: Agreed
    device: Device
    mailbox: Mailbox
    bundles: Callable[[int], KeyBundle]

    def attend(self, meeting: Meeting, value: Sequence[Any]) -> bool:
        """Send the letters that can be sent by now; return whether all are sent.

        It is called again when the partner may have written.

        Args:
            meeting: Meeting of the agreement.
            value: This person's values, in the order of the kernel's columns; see `Device.said`.

        Raises:
            ProtocolAborted: the meeting was never this person's, or there are more or fewer values than were agreed on:
                then nothing is spent. Or it was dropped, or a letter in its place is another one's.
        """
        self.agreed.require(meeting, self.number)
        if (self.device.task, self.device.most, len(value)) != (self.agreed.task, self.agreed.most, self.agreed.values):
            raise ProtocolAborted("device", "it was made for another agreement, or there are other values")
        partner, job = meeting.partner(self.number), self.agreed.job(meeting)
        while True:
            said, share = self.device.said(meeting, job, value, self.number)
            for step, message in enumerate(said):
                self._leave(meeting, step, message, partner)
            if share is not None:
                self._leave(meeting, SHARE, share, AGGREGATOR)
                return True
            step = len(self.device.heard(meeting))
            place = Place(meeting.name, step, partner, self.number)
            letter = self.mailbox.get(place)
            if letter is None:
                return False
            self.device.keep(meeting, step, self.device.writer.opened(letter, place, self.bundles(partner)))

    def _leave(self, meeting: Meeting, step: int, message: bytes, reader: int) -> None:
        place = Place(meeting.name, step, self.number, reader)
        if not self.mailbox.holds(place):
            self.mailbox.put(place, self.device.writer.letter(message, place, self.bundles(reader)))


@dataclass(frozen=True, slots=True, repr=False)
class Collector:
    """SECRET: aggregator, who alone opens outputs.

    Attributes:
        sealing: Opens what is sealed to it.
        letters: The letter of a place, if there is one.
        bundles: The key bundle of each person.
    """

    sealing: X25519PrivateKey
    letters: Callable[[Place], bytes | None]
    bundles: Callable[[int], KeyBundle]

    def output(self, meeting: Meeting, wires: int) -> NDArray[np.bool_] | None:
        """The output of a meeting, wire by wire; None: a share is missing, or is none: the meeting does not count."""
        shares = [self._share(meeting, person, wires) for person in meeting.people]
        if shares[0] is None or shares[1] is None:
            return None
        return shares[0] ^ shares[1]

    def _share(self, meeting: Meeting, person: int, wires: int) -> NDArray[np.bool_] | None:
        place = Place(meeting.name, SHARE, person, AGGREGATOR)
        letter = self.letters(place)
        if letter is None:
            return None
        try:
            body = opened_by(self.sealing, letter, place, self.bundles(person))
        except ProtocolAborted:
            return None
        if len(body) != -(-wires // 8):
            return None
        return np.unpackbits(np.frombuffer(body, np.uint8), count=wires, bitorder="little").astype(np.bool_)
