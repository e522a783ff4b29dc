"""SECRET. Secure sums: many sites count their own records and add shares of the noise; only the sum is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from math import prod, sqrt
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument, convert_to_integers
from dpcurves.arrays import IntArray
from dpcurves.conversation import (
    ALL,
    AutomaticRangeWorkload,
    CellWorkload,
    CoverageWorkload,
    Evidence,
    GroupBudgetFractions,
    Plan,
    PrefixWorkload,
    Release,
    ScoreGroupReleases,
    ScoreGroupWorkload,
    Setting,
    Strategy,
    TableWorkload,
    UnsupportedQuery,
    Workload,
)
from dpcurves.laws import CountLaw, Family, Law, Noise, NoisySums, Tier
from dpcurves.laws.law import round_error
from dpcurves.ledger import Allotment
from dpcurves.mechanisms.auto import LINEAR
from dpcurves.mechanisms.base import LazyMechanism
from dpcurves.mechanisms.lazy_tree import LazyTree
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Memory, Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import CountQuery, PartitionQuery, PrefixQuery, Query, RegionQuery, SumQuery
from dpcurves.queries.query import MOST_COUNTED
from dpcurves.records import Records, tabulate
from dpcurves.strategies import choose_adaptive, choose_one_round
from dpcurves.strategies.choice import count_intervals
from dpcurves.strategies.ranks import (
    SUMS_AFTER_A_LOOK,
    ask_all_cells,
    ask_even_intervals,
    cut_at_quantiles,
    measure_groups,
    require_cuttable,
)
from dpcurves.trust.base import Answer, require_charged

from . import shares
from .secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, Roster, RoundMessages, SumRound, cut_receipt, sum_vectors

RING = 2**64
"""Sums are integers modulo this."""
ROOM = 2**62
"""Exact sums of all sites together: half of what the ring has, so that noise has room, too."""
LINEAR_QUERIES = (CountQuery, SumQuery, PartitionQuery, RegionQuery)
MOST_PRICE = 64
"""The most noise that is added, in units of a curator's variance."""
LARGEST_DEVIATION = 2**50
LOOK = 64
"""Even intervals of a look: finer than where private cuts take over in crowded ones."""
LOOK_SHARE = Fraction(1, 10)
EVENLY = 0.02
"""The share of the records that is taken to lie evenly, so that no group is of no width where noise hides records."""


class SiteHolder(Protocol):
    """SECRET. A site: its records, its memory, its ledger and its kept turns. It has no repr."""

    def answer(self, plan: Plan, allotment: Allotment, stage: int, previous_messages: Sequence[bytes]) -> bytes:
        """The message of one stage of the turn in which the plan is answered.

        Args:
            plan: What is asked. The site makes it again by itself, and pays for it before it counts.
            allotment: The request and the part under which it pays, and the loss.
            stage: From `KEYS` to `OPENED`.
            previous_messages: What all sites sent in the stage before.
        """
        ...

    @property
    def roster(self) -> Roster:
        """Sites of the task, as this one knows them."""
        ...


@dataclass(frozen=True, slots=True)
class SecureSum:
    """Many sites with records of their own: each adds its share of the noise and masks, and the sum is opened.

    Barczewski, Mawass and Ramon, section 4.1: the same curves from any secure aggregator. Sites stay online, so a turn
    may depend on earlier answers. All that is linear in the table is answered: sums of cells of nested tilings, of
    regions and of records, and counts of prefixes; what is chosen in private (exponential mechanism, sparse vector) is
    not, and is refused before anything is charged.

    Formal guarantees: `plan.loss` under `plan.adjacency` against whoever sees the answers, and against the coordinator
    together with ``tolerated - absent`` of the m sites, if they are computationally bounded. *Proof idea.* Let c be
    `tolerated`, and n = m - c. Each site adds a share of noise of which any n add up to the curator's: differences of
    Polya variables of shape 1 / n, whose sum is discrete Laplace exactly (`shares.sample_polya_differences`), or discrete Gaussians of an
    n-th of a variance that `shares.gaussian_parameter` raised, so that their sum loses no more than one (its proof
    covers every number of sums). What is opened is the sum over the sites of one list (`secure_sum`), which leaves out
    `absent` at most; so it has the shares of at least ``m - absent - (c - absent) = n`` honest sites. Those that pool
    know their own vectors and the sum, and see masked vectors that look uniform: the sum of the honest vectors, and
    what a simulator makes of it. That is the honest sites' table with the noise of n shares or more, and what is more
    is independent and costs nothing. Failures after the vectors were sent take no noise away. *A coordinator that
    lies* about who failed can leave out `absent` honest sites, no more: they count as failed, and it may have as many
    fewer on its side. (With none to be left out, all that are tolerated may be.)

    *A unit that several sites know*, in at most `sites_per_unit` of them, moves the sum by that many times what it
    moves one table (`build_adjacency`). *Adaptive turns* have noise of their own each. Counts of prefixes that go on under one
    payment have the same noise in blocks that they share: of the sites that are in all of these sums, with n honest
    shares in each, they are together the tree's counts, priced once (`LazyTree`). Were another site left out of one of
    them, their difference would show that site's block with one share of noise. So a site signs lists of the same sites
    alone, for all turns of a payment: two quorums have an honest site in common, and the sums that are opened are of
    one list. Who was left out of the first turn of a question stays out.

    *Assumed*: a site counts its own records and no others, and tells the truth: it can move sums by any amount. How
    long it takes to count, and to draw, is not hidden from the coordinator.

    Attributes:
        INSTEAD: Advice to a caller whose session would open all records.
        CHARGED_BY_TURN: Each site's ledger charges each turn by itself: see `QuestionBudget`.
        sites: How many there are.
        tolerated: How many may collude with the coordinator, or be left out.
        absent: How many of these may be left out of a sum, if their vectors do not come.
        sites_per_unit: The most sites that hold records of one unit: a public cap.

    Raises:
        ValueError: so many can not be.
    """

    INSTEAD: ClassVar[str] = "sites answer in a federation, as dpcurves federation found makes one"
    CHARGED_BY_TURN: ClassVar[bool] = True

    sites: int = 5
    tolerated: int = 1
    absent: int = 0
    sites_per_unit: int = 1

    def __post_init__(self) -> None:
        convert_to_integers(
            self, sites="sites", tolerated="tolerated", absent="absent", sites_per_unit="sites_per_unit"
        )
        if not 0 <= self.absent <= self.tolerated:
            raise InvalidArgument(
                "absent", f"from 0 to the {self.tolerated} tolerated may be left out, got {self.absent}"
            )
        self.build_roster(bytes(32), tuple(sha256(bytes([site])).digest() for site in range(self.sites)))
        if self.sites > MOST_PRICE * self.honest_sites:
            raise InvalidArgument("tolerated", f"noise would be {self.sites // self.honest_sites} times a curator's")
        if not 1 <= self.sites_per_unit <= self.sites:
            raise InvalidArgument("sites_per_unit", f"from 1 to {self.sites} sites hold records of one unit")

    @property
    def honest_sites(self) -> int:
        """The number of shares that are the curator's noise."""
        return self.sites - self.tolerated

    @property
    def variance_factor(self) -> Fraction:
        """The variance of the noise, in units of a curator's.

        >>> SecureSum(10, 3).price
        Fraction(10, 7)
        """
        return Fraction(self.sites, self.honest_sites)

    @property
    def holders(self) -> tuple[type, ...]:
        """The sites."""
        return (SiteHolder,) * self.sites

    def build_roster(self, task: bytes, keys: Sequence[bytes]) -> Roster:
        """The sites by their keys.

        Raises:
            ValueError: there are not so many, or what is tolerated can not be.
        """
        if len(keys) != self.sites:
            raise InvalidArgument("keys", f"one for each of {self.sites} sites is needed, got {len(keys)}")
        return Roster(task, tuple(keys), self.tolerated - self.absent, self.absent)

    def build_adjacency(self, neighbours: Neighbours, unit: Unit, units: int | None) -> Adjacency:
        """The adjacency of all records together.

        Args:
            neighbours: Whether the number of units is public.
            unit: The unit, and how many of its records a site uses.
            units: The sum of the numbers of units of all sites, where those are public.

        Raises:
            ValueError: several sites may hold the same record, which no column tells.
        """
        if self.sites_per_unit > 1 and unit == EACH_RECORD:
            raise InvalidArgument("sites_per_unit", "above 1 it needs a unit: the column that says whose record it is")
        return neighbours.to_adjacency(replace(unit, records=unit.records * self.sites_per_unit), units)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """In several turns where they pay and are linear.

        Cuts and comparisons are not: groups follow a noisy look, and bounds the noisy counts of doubled units.
        """
        setting = Setting(loss, adjacency)
        if isinstance(workload, CoverageWorkload):
            return count_intervals(workload, setting)  # type: ignore[return-value]
        if isinstance(workload, ScoreGroupWorkload):
            return groups_from_pilot_query(workload, setting)  # type: ignore[return-value]
        adaptive = isinstance(workload, AutomaticRangeWorkload | CellWorkload | PrefixWorkload | TableWorkload)
        return (choose_adaptive if adaptive else choose_one_round)(workload, setting)

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan of all sites for a query. Raises `UnsupportedQuery`; touches no data."""
        if not query.is_dense:
            made = LazyTree().plan(query, loss, adjacency)
        elif isinstance(query, LINEAR_QUERIES):
            if prod(query.shape) > MOST_COUNTED:
                raise UnsupportedQuery("grid", f"at most {MOST_COUNTED} cells are counted one by one")
            made = LINEAR.plan(query, loss, adjacency)
        elif query.is_weighted:
            raise UnsupportedQuery("weight", "sites add up counts and sums of values, and no survey weights")
        else:
            raise UnsupportedQuery("question", f"sums are linear; they can not answer {type(query).__name__}")
        law = _map_noises(made.law, lambda noise: self._share_noise(noise, loss))
        error = round_error(made.error * sqrt(_compute_variance_growth(made.law, law)))
        return replace(made, law=law, made_by=f"{self}: {made.made_by}", error=error)

    def __str__(self) -> str:
        """In words, as plans and curves say it.

        >>> print(SecureSum(10, 3, absent=1))
        secure sum of 10 sites, 2 of which may collude and 1 be left out, noise 10/7 of a curator's variance
        """
        left = f" and {self.absent} be left out" if self.absent else ""
        several = "" if self.sites_per_unit == 1 else f", units at up to {self.sites_per_unit} sites"
        colluding = self.tolerated - self.absent
        noise = (
            "the noise of a curator"
            if self.variance_factor == 1
            else f"noise {self.variance_factor} of a curator's variance"
        )
        return f"secure sum of {self.sites} sites, {colluding} of which may collude{left}{several}, {noise}"

    def run(self, plan: Plan, holders: Sequence[SiteHolder], allotment: Allotment, randomness: Randomness) -> Release:
        """Run all sites in one process, each with its own ledger and secrets; `randomness` is not used.

        Raises:
            ValueError: the payment is for another loss, or there are not as many sites.
        """
        require_charged(allotment, plan)
        if len(holders) != self.sites:
            raise InvalidArgument("holders", f"{self.sites} sites are needed, got {len(holders)}")
        turn = derive_round(holders[0].roster, plan, allotment)
        sent: list[list[bytes]] = []
        for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
            given = sent[-1] if sent else []
            seen = [cut_receipt(turn, octets) for octets in given] if stage == SIGNED else given
            sent.append([holder.answer(plan, allotment, stage, seen) for holder in holders])
        return build_release(plan, turn, RoundMessages(*sent), allotment)

    def build_vector(self, plan: Plan, records: Records, memory: Memory, randomness: Randomness) -> IntArray:
        """SECRET: what one site adds: its exact sums and its shares of the noise, modulo 2**64.

        Args:
            plan: What is asked.
            records: The site's own.
            memory: What it noted under the paid part: sums of blocks of prefixes.
            randomness: Where its shares come from.
        """
        query = plan.query
        if not query.is_dense:

            def count_prefixes(at: tuple[int, ...]) -> list[int]:
                counted: list[int] = tabulate(records, PrefixQuery(query.axes, at)).tolist()
                return counted

            tree: LazyMechanism = LazyTree(self.sample_noise_share)
            noisy = tree.answer(count_prefixes, plan, memory, randomness)
            return np.array([number % RING for number in noisy], dtype=np.uint64)
        parts = compute_exact_sums(query.reorder_table(tabulate(records, query)), plan.law.require_type(NoisySums))  # type: ignore[type-abstract]
        added = [
            clip_to_ring(sums, self.sites) + self.sample_noise_share(noise, sums.size, randomness)
            for sums, noise in parts
        ]
        return np.concatenate(added).view(np.uint64)

    def sample_noise_share(self, noise: Noise, size: int, randomness: Randomness) -> IntArray:
        """SECRET: one site's independent shares of a noise of a plan."""
        if noise.family is Family.LAPLACE:
            return shares.sample_polya_differences(noise.parameter, Fraction(1, self.honest_sites), size, randomness)
        return shares.sample_gaussian_share(noise.parameter, self.honest_sites, size, randomness)

    def _share_noise(self, noise: Noise, loss: PrivacyLoss) -> Noise:
        """The noise of all sites together."""
        laplace = noise.family is Family.LAPLACE
        if noise.parameter > (LARGEST_DEVIATION if laplace else LARGEST_DEVIATION**2):
            raise UnsupportedQuery("epsilon, rho", f"{loss} needs more noise than sums have room for")
        if laplace:
            return noise.sum_over_parties(self.variance_factor)
        try:
            parameter = shares.gaussian_parameter(noise.parameter, self.honest_sites)
        except InvalidArgument as error:
            raise UnsupportedQuery("rho", f"a sum of discrete Gaussians is none: {error.rule}") from None
        return replace(noise, parameter=parameter).sum_over_parties(self.variance_factor)


def clip_to_ring(sums: NDArray[Any], sites: int) -> IntArray:
    """SECRET: exact sums, each cut off where the total of all sites could leave the ring: it never wraps around.

    Cutting off changes no two sums further apart than they were, so no record moves a sum by more than it did. Sums of
    distances in groups reach the end from some 8 million records a group on; counts never do.

    >>> clip_to_ring(np.array([3, -(10**30), 10**30], dtype=object), 2) == np.array([3, -(2**61), 2**61])
    array([ True,  True,  True])
    """
    room = ROOM // sites
    bounded: IntArray = np.clip(sums, -room, room).astype(np.int64)
    return bounded


def _map_noises(law: Law, change: Any) -> Law:
    """The law with each of its noises changed."""
    found: Any = law

    def map_value(value: Any) -> Any:
        match value:
            case Noise():
                return change(value)
            case Tier():
                return replace(value, noise=change(value.noise))
            case tuple():
                return tuple(map_value(each) for each in value)
        return value

    changed: Law = replace(found, **{each.name: map_value(getattr(law, each.name)) for each in fields(found)})
    return changed


def _compute_variance_growth(before: Law, after: Law) -> float:
    """By how much the variance of a law grew, at the most."""
    grown: list[float] = []

    def record_variance(noise: Noise) -> Noise:
        grown.append(noise.variance)
        return noise

    _map_noises(before, record_variance)
    ends = len(grown)
    _map_noises(after, record_variance)
    return max((new / old for old, new in zip(grown[:ends], grown[ends:], strict=True) if old > 0), default=1.0)


def groups_from_pilot_query(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Groups of about equal size between quantiles of a noisy look at all scores; of few cells, all cells are counted.

    Where small groups would be joined, there are as many groups as leave the least number of records in each, by the
    look.

    Formal guarantees: each turn is priced by itself, and what the second asks is a function of the first one's answer.
    """
    score = workload.score
    if score.grid.cells <= LOOK:
        return (yield from ask_all_cells(workload, setting))
    require_cuttable(score)
    shares, ends, look = yield from ask_even_intervals(score, LOOK, LOOK_SHARE)
    pieces = workload.max_groups
    if workload.min_records is not None:
        records = float(setting.adjacency.public_record_count or Evidence.from_release(look).unbiased_cells[0].sum())
        pieces = max(1, min(pieces, int(records / workload.min_records)))
    cells = score.grid.merge_cells(cut_at_quantiles(shares, ends, pieces, EVENLY))
    rest = GroupBudgetFractions(Fraction(0), ALL - LOOK_SHARE - SUMS_AFTER_A_LOOK, SUMS_AFTER_A_LOOK)
    return (yield from measure_groups(replace(workload, budget_fractions=rest), cells, [look]))


def derive_round(roster: Roster, plan: Plan, allotment: Allotment) -> SumRound:
    """The turn in which a plan is answered: the same for the same plan, request and part, and no other one."""
    facts = f"{plan.fingerprint}\n{allotment.part}\n{allotment.request}".encode()
    digest = sha256(b"dpcurves sites turn 1\n" + facts).digest()
    size = plan.law.require_type(CountLaw).size  # type: ignore[type-abstract]
    return SumRound(roster, int.from_bytes(digest[:8], "little"), digest, size)


def build_release(plan: Plan, sum_round: SumRound, messages: RoundMessages, allotment: Allotment) -> Release:
    """The release that all messages of a turn add up to.

    Raises:
        ProtocolAborted: one is missing, altered or of another turn.
    """
    require_charged(allotment, plan)
    counts = sum_vectors(sum_round, messages).view(np.int64).tolist()
    return Release(plan, tuple(counts), allotment, seeded=False)


def rebuild_release(plan: Plan, values: Sequence[int], allotment: Allotment) -> Release:
    """A release of an earlier turn, as an analyst says it was: what comes next is planned from it, at its own price.

    Raises:
        ValueError: there are not as many values as the plan has.
    """
    return Release(plan, tuple(values), allotment, seeded=False)
