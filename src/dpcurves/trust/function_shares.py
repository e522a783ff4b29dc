"""Two servers that do not collude: each holds a share of every record's comparison function, and adds its own noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import sqrt
from typing import Protocol

from ..arguments import Refused
from ..laws import PathSums
from ..ledger import Allotment
from ..mechanisms.prefixes.keyed_noise import NoiseKey
from ..mechanisms.prefixes.lazy_tree import path_law
from ..noise.randomness import Randomness
from ..privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from ..queries import PrefixQuery, Query
from ..release import Plan, Release, UnsupportedQuery
from .base import require

SERVERS = 2
RING = 2**64
"""Shares are integers modulo this."""
LARGEST_SCALE = 2**40
"""The largest scale of noise: beyond it, a sum of noises could wrap around the ring."""
MOST_CELLS = 2**53
NAMED = "two servers that do not collude"


class Owners(Enum):
    """Whether servers check what owners send."""

    UNCHECKED = "unchecked"
    CHECKED = "checked"


class ShareHolder(Protocol):
    """SECRET. What one of the servers holds: a share of each report, and the key of its noise. It has no repr.

    Attributes:
        noise: The key of this server's noise, which belongs to these reports, and to no other set of them.
    """

    @property
    def noise(self) -> NoiseKey:
        """The key of this server's noise."""
        ...

    def below(self, at: Sequence[int]) -> Sequence[int]:
        """SECRET: this server's shares, modulo 2**64, of how many reports lie in the first slots, for each of `at`.

        The other server's shares added, these are the exact counts. No entry of `at` is 0.
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionShares:
    """Owners share comparison functions between two servers and go; these count prefixes of a public grid together.

    A record in slot x is the function of t that is 1 where x < t (Barczewski, Mawass and Ramon, section 4.2, on slots
    of a public grid). Each server adds up its shares of all records at t, adds its own full noise of the dyadic blocks
    on the path of t, and opens nothing but that. The two together are the count with both noises. A missing record is
    the function that is 0 everywhere.

    Formal guarantees: for a replaced report, against each server on its own, which knows its own noise, and against
    whoever sees the answers: what they see is, to a computationally bounded observer, a function of the counts with one
    server's full noise, for whatever shares a server sees it could have drawn itself (see `crypto`). With the noise of
    `path_law`, that loses at most the plan's loss however many thresholds are asked, in whatever order. So noise has
    twice the variance of one curator's. *Assumed*: the servers do not collude (together they know every record), and
    follow the protocol; the reports do not change after the first answer; owners follow it too, for a report that was
    made otherwise can add any number to any count. If they are *checked*, such a report is dropped by both servers; but
    a server that cheats can then have an honest report dropped between two answers at one threshold. Both have the same
    noise, so their difference is the other server's exact share of that report, and with its own tells the record.

    Attributes:
        owners: Whether servers check what owners send.
    """

    owners: Owners = Owners.UNCHECKED

    @property
    def holders(self) -> tuple[type, ...]:
        """Two servers, with their shares."""
        return (ShareHolder,) * SERVERS

    @property
    def adaptive(self) -> bool:
        """Owners have encoded their cells and gone: later turns can choose thresholds, not cells."""
        return False

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """What the servers would do. Raises `UnsupportedQuery`; touches no data."""
        if not isinstance(query, PrefixQuery):
            raise UnsupportedQuery(
                "question", f"two servers count prefixes of a grid; they cannot answer {type(query).__name__}"
            )
        if not isinstance(adjacency, ReplaceOne) or adjacency.unit != EACH_RECORD:
            raise UnsupportedQuery("adjacency", "servers see how many reports there are: replace-one, for each report")
        if query.cells > MOST_CELLS:
            raise UnsupportedQuery("grid", f"at most {MOST_CELLS} slots are shared, got {query.cells}")
        law = replace(path_law(query, loss, adjacency), missing=None, parties=SERVERS)
        if law.noise.parameter > _largest(loss):
            raise UnsupportedQuery("epsilon, rho", f"{loss} needs more noise than shares have room for")
        name = f"{NAMED}, owners {self.owners.value}: noise path through {law.levels} levels, by each server"
        return Plan(query, loss, adjacency, name, law, float(f"{sqrt(law.variance):.9g}"))

    def run(self, plan: Plan, holders: Sequence[ShareHolder], allotment: Allotment, randomness: Randomness) -> Release:
        """Both servers in one process. Their noise comes from their own secrets.

        Raises:
            ValueError: the payment is for another loss.
        """
        first, second = holders
        return collect(plan, [masked(plan, first, allotment), masked(plan, second, allotment)], allotment)


def masked(plan: Plan, holder: ShareHolder, allotment: Allotment) -> tuple[int, ...]:
    """One server's half of the answer: its shares with its own noise, modulo 2**64. Nothing else leaves a server.

    Raises:
        ValueError: the payment is for another loss.
    """
    require(allotment, plan)
    law = plan.law.required(PathSums)
    at = sorted({threshold for threshold in law.at if threshold})
    shares, noises = holder.below(at) if at else [], holder.noise.noises(law, at)
    halves = {each: (share + noise) % RING for each, share, noise in zip(at, shares, noises, strict=True)}
    return tuple(halves[threshold] if threshold else 0 for threshold in law.at)


def collect(plan: Plan, halves: Sequence[Sequence[int]], allotment: Allotment) -> Release:
    """The answer from both halves.

    Raises:
        ValueError: there are not two halves of as many integers modulo 2**64 as were asked for.
    """
    size = plan.law.required(PathSums).size
    if len(halves) != SERVERS or any(len(half) != size for half in halves):
        raise Refused("halves", f"two are needed, each of {size} numbers")
    if any(not 0 <= number < RING for half in halves for number in half):
        raise Refused("halves", "numbers from 0 to 2**64 - 1 are needed")
    counts = ((sum(pair) + RING // 2) % RING - RING // 2 for pair in zip(*halves, strict=True))
    return told(plan, tuple(counts), allotment)


def told(plan: Plan, counts: Sequence[int], allotment: Allotment) -> Release:
    """What the servers have told an analyst: they have charged for it.

    Raises:
        ValueError: there are not as many counts as were asked for.
    """
    return Release(plan, tuple(counts), allotment, seeded=False)


def _largest(loss: PrivacyLoss) -> Fraction:
    return Fraction(LARGEST_SCALE if loss.is_pure else LARGEST_SCALE**2)
