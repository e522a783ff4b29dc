"""Reports of one bit: which level it is about, and at which index, everybody can tell from the name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcurves.arrays import IntArray
from dpcurves.noise.randomness import Randomness
from dpcurves.release import Plan

from .report_file import Octets
from .reported_tree import ways_of
from .responses import Hadamard
from .responses.randomiser import Reports
from .tallied import Tallied
from .trust import answers_about, octets

_HALF = 32


@dataclass(frozen=True)
class PublicCoins:
    """Hadamard responses whose level and index are public coins: what stands for a person in reports.

    These are 8 octets of a hash of the task and the name, or are drawn if none is told, without regard to the value.
    Their upper half tells the level, each about as often as in the plan; their lower half the index, evenly.

    Formal guarantees: whatever the level and the index are and whoever chose them, of two values one bit has the chance
    p or ``1 - p``, and ``p / (1 - p)`` is at most exp(epsilon): see `Hadamard`. Neither depends on the value, so what
    the aggregator knows of a person is this bit and the name.

    What the aggregator and a person have to agree on is the task, of which the name's octets are a hash, and the name.
    Who makes up names chooses level and index, as who lies could do before: a report still weighs the same.

    Attributes:
        plan: What people report, by Hadamard responses, each about one level.
    """

    OCTETS: ClassVar[int] = 1

    plan: Plan

    def said(self, names: Octets, slots: IntArray, randomness: Randomness) -> Reports:
        """SECRET argument `slots`. The randomised bits of these people, an octet each."""
        law, source = self.plan.law.required(Tallied), randomness.expanded()
        levels, numbers = self._thrown(names)
        bits = np.zeros((len(slots), self.OCTETS), dtype=np.uint8)
        for number, way in enumerate(self._ways):
            here = np.flatnonzero(levels == number)
            index = numbers[here] & (way.length - 1)
            bits[here, 0] = way.bits(answers_about(law, number, slots[here]), index, source)
        return bits

    def written_out(self, names: Octets, bits: Reports) -> Reports:
        """The messages that say the same with level and index in them, as `trust.local` adds them up.

        An octet that is no bit becomes a message that is none.
        """
        messages = np.zeros((len(bits), octets(self.plan)), dtype=np.uint8)
        levels, numbers = self._thrown(names)
        for number, way in enumerate(self._ways):
            here = np.flatnonzero(levels == number)
            index = numbers[here] & (way.length - 1)
            messages[here, 1 : 1 + way.octets] = way.sent(index, bits[here, 0].astype(np.int64) & 1)
        messages[:, 0] = np.where(bits[:, 0] > 1, len(self._ways), levels)
        return messages

    def _thrown(self, names: Octets) -> tuple[IntArray, IntArray]:
        """The level of each name, and the number whose lowest bits are its index."""
        words = np.ascontiguousarray(names).view("<u8").reshape(-1).astype(np.uint64, copy=False)
        law = self.plan.law.required(Tallied)
        ends = np.cumsum([level.reports for level in law.levels])
        places = (words >> np.uint64(_HALF)) * np.uint64(law.people) >> np.uint64(_HALF)
        levels = np.searchsorted(ends, places.astype(np.int64), side="right")
        return levels, (words & np.uint64((1 << _HALF) - 1)).astype(np.int64)

    @property
    def _ways(self) -> list[Hadamard]:
        ways = ways_of(self.plan.law.required(Tallied), self.plan.loss)
        return [way for way in ways if isinstance(way, Hadamard)]
