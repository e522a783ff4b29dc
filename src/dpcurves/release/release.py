"""Noisy integers that are public for ever, with all that is needed to judge them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..arguments import Refused
from ..ledger import Allotment
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Release:
    """The answer to one step. Made by trust models alone.

    Attributes:
        plan: The query, its price, its noise law, and the trust model that made it.
        values: Integers as they left the mechanism, in the order of the law.
        allotment: What paid for it. None: a rehearsal, no data was touched.
        seeded: True if the noise can be drawn again, hence subtracted: not private.
    """

    plan: Plan
    values: tuple[int, ...]
    allotment: Allotment | None
    seeded: bool

    @classmethod
    def rehearsed(cls, plan: Plan) -> Release:
        """What a step might be answered, so that a conversation can be tried with nobody in the room."""
        return cls(plan, plan.law.blank(), allotment=None, seeded=True)

    @classmethod
    def from_json(cls, text: str, plan: Plan, allotment: Allotment) -> Release:
        """The release that was stored, if it answers `plan`."""
        stored = json.loads(text)
        if stored["plan"] != plan.fingerprint:
            raise Refused("request", f"{allotment.request!r} was answered under another plan; ask under a new request")
        return cls(plan, tuple(stored["values"]), allotment, stored["seeded"])

    def __post_init__(self) -> None:
        if self.plan.law.size not in (None, len(self.values)):
            raise Refused("values", f"{len(self.values)} values do not answer a plan of {self.plan.law.size}")

    def to_json(self) -> str:
        """Integers, and a fingerprint of the plan: all else can be made again from public facts."""
        return json.dumps({"plan": self.plan.fingerprint, "values": self.values, "seeded": self.seeded})
