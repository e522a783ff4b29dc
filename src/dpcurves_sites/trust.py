"""SECRET. Secure aggregation as a trust model of differential privacy: sites add noise shares, only the sum is shown.

Instead of one trusted curator with all records, each site (such as a hospital) counts its own records. It adds a share
of the noise (`shares`) and masks the result, so that only the noisy sum over all sites can be computed (`secure_sum`).

    SecureSum         the trust model: plans queries with the noise that it needs; its guarantee is proved there
    SiteHolder        interface of a site that answers the rounds of a plan (implemented by `site.Site`)
    derive_round      parameters of the secure aggregation for one charged query
    build_release     the released noisy numbers, from the messages of the sites

Only linear queries can be answered, because sums of the sites' results are the result for all records. That includes
counts in cells, regions and prefixes, and sums of values.
"""

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
    WHOLE_BUDGET,
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
from dpcurves.distributions import CountDistribution, Family, Noise, NoisySums, OutputDistribution, Tier
from dpcurves.distributions.output_distribution import round_error
from dpcurves.ledger import Allotment
from dpcurves.mechanisms.auto import LINEAR_CHOICE
from dpcurves.mechanisms.base import LazyMechanism
from dpcurves.mechanisms.lazy_tree import LazyTree
from dpcurves.mechanisms.linear import compute_exact_sums
from dpcurves.noise.randomness import Memory, Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import CountQuery, PartitionQuery, PrefixQuery, Query, RegionQuery, SumQuery
from dpcurves.queries.query import MOST_COUNTED
from dpcurves.records import Records, tabulate
from dpcurves.strategies import ADAPTIVE_STRATEGIES, ONE_ROUND_STRATEGIES, choose_strategy
from dpcurves.strategies.choice import count_intervals
from dpcurves.strategies.ranks import (
    SUMS_FRACTION,
    ask_all_cells,
    ask_even_intervals,
    cut_at_quantiles,
    measure_groups,
    require_cuttable,
)
from dpcurves.trust.base import Answer, require_charged

from . import shares
from .secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, Roster, RoundMessages, SumRound, cut_receipt, sum_vectors

SUM_MODULUS = 2**64
"""Modulus of the secure sums, which are 64-bit words; the upper half stands for negative numbers."""
LARGEST_SUM = 2**62
"""Largest absolute value of an exact sum over all sites: half of the signed range, so that noise cannot wrap around.
Each site clips its own sums to this divided by the number of sites."""
LINEAR_QUERIES = (CountQuery, SumQuery, PartitionQuery, RegionQuery)
"""Queries whose answers are sums over records, so that sites can add them; with too many cells they are refused."""
LARGEST_DEVIATION = 2**50
"""Largest standard deviation of the noise; a loss that needs more is refused. It is so far below the modulus 2**64 that
noisy sums do not wrap around."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Numbers that steer how score groups (bins of predicted values) are cut by a first, less accurate query."""

    pilot_intervals: int = 64
    """Even intervals of the pilot query after which groups are cut."""


TUNING = Tuning()
"""Numbers that steer how score groups are cut."""

PILOT_FRACTION = Fraction(1, 10)
"""Budget fraction of the pilot query by whose counts score groups are cut; the groups get the rest."""


class SiteHolder(Protocol):
    """SECRET. A site: its records, noise memory, ledger and stored rounds. It has no repr."""

    def answer(self, plan: Plan, allotment: Allotment, stage: int, previous_messages: Sequence[bytes]) -> bytes:
        """Return the site's message of one stage of the round that answers the plan.

        Args:
            plan: The plan. The site recomputes it, and charges its ledger before it counts.
            allotment: The request, the number of the paid step and its loss.
            stage: From `KEYS` to `OPENED`.
            previous_messages: The messages of all sites in the previous stage.
        """
        ...

    @property
    def roster(self) -> Roster:
        """The sites of the task by their public keys, as this site has verified them."""
        ...


@dataclass(frozen=True, slots=True)
class SecureSum:
    """Secure sums over many sites: each adds its counts, a share of the noise and masks; only the sum is revealed.

    Barczewski, Mawass and Ramon, section 4.1: the same curves from any secure aggregator. Sites stay online, so rounds
    may be adaptive. All linear queries are answered: cells of nested tilings, regions, sums of values and prefix
    counts. Private selection (exponential mechanism, sparse vector) is not linear, and is refused before anything is
    charged.

    Formal guarantees: `plan.loss` under `plan.adjacency` against analysts, and against the coordinator together
    with ``collusion_threshold - max_dropouts`` of the m sites, if they are computationally bounded. *Proof idea.* Let c
    be `collusion_threshold`, and n = m - c. Each site adds a share of noise such that any n shares sum to a curator's
    noise: differences of Polya variables of shape 1 / n, whose sum is exactly discrete Laplace
    (`shares.sample_polya_differences`), or discrete Gaussians of 1 / n of a variance that `shares.gaussian_parameter`
    has raised, so that their sum loses no more than a single discrete Gaussian (the proof there covers any number of
    sums). The revealed sum is over the sites of one list (`secure_sum`), which leaves out at most `max_dropouts` sites,
    so it has the shares of at least ``m - absent - (c - absent) = n`` honest sites. Colluding parties know their own
    vectors and the sum, and see masked vectors that are indistinguishable from uniform; so they learn the sum of the
    honest vectors, from which a simulator produces the rest. That sum is a count of the honest sites' table with n or
    more shares of noise, and further shares are independent post-processing. Dropouts after the vectors were sent
    remove no noise. *A coordinator that lies* about dropouts can leave out at most `max_dropouts` honest sites;
    therefore only ``collusion_threshold - max_dropouts`` may collude.

    *A unit with records at several sites*, at most `sites_per_unit`, changes the sum by that many times its effect on
    one table (`build_adjacency`). *Adaptive rounds* have independent noise. Prefix counts under one payment reuse the
    noise of shared blocks: over the sites that are in all of these sums, with n honest shares in each, they are the
    counts of one tree, charged once (`LazyTree`). If a further site were left out of one of them, the difference would
    reveal that site's block under one share of noise. Therefore a site signs lists of the same sites only, in all
    rounds of a payment: two quorums share an honest site, so all revealed sums are over one list. A site left out of
    the first round of a question stays out.

    *Assumed*: a site counts its own records only, and correctly: a malicious site can change sums by any amount. Times
    of counting and of drawing noise are visible to the coordinator.

    Attributes:
        INSTEAD: Advice to a caller whose session would open all records.
        CHARGED_BY_TURN: Each site's ledger charges each round separately: see `QuestionBudget`.
        sites: The number of sites.
        collusion_threshold: The number of sites that may collude with the coordinator or be left out.
        max_dropouts: The number of these that may be left out of a sum because their vectors did not arrive.
        sites_per_unit: Public bound on the number of sites with records of one unit.

    Raises:
        ValueError: A number is out of range.
    """

    INSTEAD: ClassVar[str] = "sites answer in a federation, as dpcurves federation create makes one"
    CHARGED_BY_TURN: ClassVar[bool] = True

    sites: int = 5
    collusion_threshold: int = 1
    max_dropouts: int = 0
    sites_per_unit: int = 1

    def __post_init__(self) -> None:
        convert_to_integers(
            self,
            sites="sites",
            collusion_threshold="collusion_threshold",
            max_dropouts="max_dropouts",
            sites_per_unit="sites_per_unit",
        )
        if not 0 <= self.max_dropouts <= self.collusion_threshold:
            raise InvalidArgument(
                "max_dropouts",
                f"must be from 0 to collusion_threshold, which is {self.collusion_threshold}, got {self.max_dropouts}",
            )
        self.build_roster(bytes(32), tuple(sha256(bytes([site])).digest() for site in range(self.sites)))
        if self.sites > 64 * self.honest_sites:  # largest variance of the noise, in units of a curator's variance
            rule = f"the noise would have {self.sites // self.honest_sites} times a curator's variance"
            raise InvalidArgument("collusion_threshold", f"{rule}; give a smaller collusion_threshold")
        if not 1 <= self.sites_per_unit <= self.sites:
            raise InvalidArgument(
                "sites_per_unit",
                f"must be from 1 to {self.sites}, the number of sites; 1 if each person is at one site",
            )

    @property
    def honest_sites(self) -> int:
        """Number of sites whose shares of the noise must add up to a curator's noise: those that neither collude nor
        are left out.
        """
        return self.sites - self.collusion_threshold

    @property
    def variance_factor(self) -> Fraction:
        """Variance of the noise of the sum, divided by the variance that a trusted curator would need.

        >>> SecureSum(10, 3).variance_factor
        Fraction(10, 7)
        """
        return Fraction(self.sites, self.honest_sites)

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of the data holders in this trust model: one `SiteHolder` for every site."""
        return (SiteHolder,) * self.sites

    def build_roster(self, task: bytes, keys: Sequence[bytes]) -> Roster:
        """Return the roster of a task: its sites by their public keys, with the allowed numbers of colluding and absent
        sites.

        Args:
            task: Hash of the task.
            keys: Ed25519 public keys of the sites, 32 bytes each.

        Raises:
            ValueError: The number of keys is wrong, or `collusion_threshold` is out of range.
        """
        if len(keys) != self.sites:
            raise InvalidArgument(
                "keys",
                f"must be a list of {self.sites} public keys, one for each site, got {len(keys)}; take them from the "
                "site.json of each",
            )
        return Roster(task, tuple(keys), self.collusion_threshold - self.max_dropouts, self.max_dropouts)

    def build_adjacency(self, neighbours: Neighbours, unit: Unit, units: int | None) -> Adjacency:
        """Return the adjacency of the union of all sites' records.

        Args:
            neighbours: Add-remove or replace-one.
            unit: The unit, and its contribution bound at one site.
            units: The total number of units over all sites, if public.

        Raises:
            ValueError: `sites_per_unit` is above 1, but no column names the unit.
        """
        if self.sites_per_unit > 1 and unit == EACH_RECORD:
            raise InvalidArgument(
                "sites_per_unit", "must be 1 unless records belong to units: give the column that identifies the unit"
            )
        return neighbours.to_adjacency(replace(unit, records=unit.records * self.sites_per_unit), units)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the strategy that answers a workload by secure sums: adaptive rounds if they reduce the error.

        Queries must be linear in the records. Private cuts and comparisons are not linear: groups are cut after a pilot
        query instead, and contribution bounds follow noisy counts at powers of two.

        Args:
            workload: The counts that will be read.
            loss: The loss of the workload at each site.
            adjacency: Which tables the loss is about.
        """
        setting = Setting(loss, adjacency)
        if isinstance(workload, CoverageWorkload):
            return count_intervals(workload, setting)  # type: ignore[return-value]
        if isinstance(workload, ScoreGroupWorkload):
            return groups_from_pilot_query(workload, setting)  # type: ignore[return-value]
        adaptive = isinstance(workload, AutomaticRangeWorkload | CellWorkload | PrefixWorkload | TableWorkload)
        return choose_strategy(ADAPTIVE_STRATEGIES if adaptive else ONE_ROUND_STRATEGIES, workload, setting)

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of a query over all sites, whose sums and shares of the noise are added by secure
        aggregation. No record is read.

        Args:
            query: Counts or sums.
            loss: Privacy loss at each site.
            adjacency: Add-remove or replace-one.

        Raises:
            UnsupportedQuery: the query is not linear in the records, is weighted, or has too many cells.
        """
        if not query.is_dense:
            plan = LazyTree().plan(query, loss, adjacency)
        elif isinstance(query, LINEAR_QUERIES):
            if prod(query.shape) > MOST_COUNTED:
                raise UnsupportedQuery(
                    "grid", f"must have at most {MOST_COUNTED} cells, so that sums are exact; take a coarser grid"
                )
            plan = LINEAR_CHOICE.plan(query, loss, adjacency)
        elif query.is_weighted:
            raise UnsupportedQuery("weight", "must be left out, because secure sums do not support survey weights")
        else:
            raise UnsupportedQuery(
                "question",
                f"must be linear in the records, which {type(query).__name__} is not; ask for counts or sums",
            )
        distribution = _map_noises(plan.distribution, lambda noise: self._share_noise(noise, loss))
        error = round_error(plan.error * sqrt(_compute_variance_growth(plan.distribution, distribution)))
        return replace(plan, distribution=distribution, made_by=f"{self}: {plan.made_by}", error=error)

    def __str__(self) -> str:
        """Describe the trust model, as plans and curves print it.

        >>> print(SecureSum(10, 3, max_dropouts=1))
        secure sum of 10 sites, 2 of which may collude and 1 be left out, noise 10/7 of a curator's variance
        """
        absence = f" and {self.max_dropouts} be left out" if self.max_dropouts else ""
        several = "" if self.sites_per_unit == 1 else f", units at up to {self.sites_per_unit} sites"
        colluding = self.collusion_threshold - self.max_dropouts
        noise = "the noise of a curator"
        if self.variance_factor != 1:
            noise = f"noise {self.variance_factor} of a curator's variance"
        return f"secure sum of {self.sites} sites, {colluding} of which may collude{absence}{several}, {noise}"

    def run(self, plan: Plan, holders: Sequence[SiteHolder], allotment: Allotment, randomness: Randomness) -> Release:
        """Run all sites in one process, each with its own ledger and secrets; `randomness` is not used.

        Args:
            plan: Plan of the query.
            holders: All sites, in their order.
            allotment: Proof that the loss of the plan was charged.
            randomness: Without effect.

        Returns:
            The release: the sum over all sites, and its noise.

        Raises:
            ValueError: The payment is for another loss, or the number of sites is wrong.
        """
        require_charged(allotment, plan)
        if len(holders) != self.sites:
            raise InvalidArgument(
                "holders", f"must be a list of {self.sites} SiteHolders, one for each site, got {len(holders)}"
            )
        sum_round = derive_round(holders[0].roster, plan, allotment)
        stages: list[list[bytes]] = []
        for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
            previous = stages[-1] if stages else []
            visible = [cut_receipt(sum_round, octets) for octets in previous] if stage == SIGNED else previous
            stages.append([holder.answer(plan, allotment, stage, visible) for holder in holders])
        return build_release(plan, sum_round, RoundMessages(*stages), allotment)

    def build_vector(self, plan: Plan, records: Records, memory: Memory, randomness: Randomness) -> IntArray:
        """SECRET. Return the summand of one site: exact sums of its records plus its shares of the noise, modulo 2**64.

        Args:
            plan: The plan.
            records: The site's records.
            memory: Noise stored under the payment (of sums over blocks of prefixes), so that repeated queries get the
                same noise.
            randomness: Source of the noise.
        """
        query = plan.query
        if not query.is_dense:

            def count_prefixes(lengths: tuple[int, ...]) -> list[int]:
                """SECRET: return the site's exact counts of records in prefixes of the table (its first cells).

                Args:
                    lengths: Numbers of cells of the prefixes.

                Returns:
                    A count for each prefix.
                """
                counts: list[int] = tabulate(records, PrefixQuery(query.axes, lengths)).tolist()
                return counts

            tree: LazyMechanism = LazyTree(self.sample_noise_share)
            noisy = tree.answer(count_prefixes, plan, memory, randomness)
            return np.array([number % SUM_MODULUS for number in noisy], dtype=np.uint64)
        distribution = plan.distribution.require_type(NoisySums)  # type: ignore[type-abstract]
        exact = compute_exact_sums(query.reorder_table(tabulate(records, query)), distribution)
        summands = [
            clip_to_ring(sums, self.sites) + self.sample_noise_share(noise, sums.size, randomness)
            for sums, noise in exact
        ]
        return np.concatenate(summands).view(np.uint64)

    def sample_noise_share(self, noise: Noise, size: int, randomness: Randomness) -> IntArray:
        """SECRET. Draw `size` independent shares of a noise of the plan for one site.

        Args:
            noise: Noise of the sum over all sites.
            size: Number of draws.
            randomness: Source of the random bits.
        """
        if noise.family is Family.LAPLACE:
            return shares.sample_polya_differences(noise.parameter, Fraction(1, self.honest_sites), size, randomness)
        return shares.sample_gaussian_share(noise.parameter, self.honest_sites, size, randomness)

    def _share_noise(self, noise: Noise, loss: PrivacyLoss) -> Noise:
        """Return the distribution of the sum of all sites' noise shares, for the noise that a curator would add.

        Args:
            noise: Noise that a curator would add to the exact sum.
            loss: Loss of the release, named in the error.

        Raises:
            UnsupportedQuery: the sum does not fit 64 bits, or differs too much from a discrete Gaussian.
        """
        laplace = noise.family is Family.LAPLACE
        if noise.parameter > (LARGEST_DEVIATION if laplace else LARGEST_DEVIATION**2):
            raise UnsupportedQuery(
                "epsilon, rho", f"{loss} needs more noise than sums of 64 bits can hold; allow a larger loss"
            )
        if laplace:
            return noise.sum_over_parties(self.variance_factor)
        try:
            parameter = shares.gaussian_parameter(noise.parameter, self.honest_sites)
        except InvalidArgument as error:
            rule = f"the sum of discrete Gaussians differs too much from one: {error.rule}"
            raise UnsupportedQuery("rho", rule) from None
        return replace(noise, parameter=parameter).sum_over_parties(self.variance_factor)


def clip_to_ring(sums: NDArray[Any], sites: int) -> IntArray:
    """SECRET. Clip the exact sums of a site so that the total over all sites cannot wrap around.

    Clipping is 1-Lipschitz, so it does not increase sensitivity. Sums of distances in groups reach the bound at about 8
    million records per group; counts never do.

    Args:
        sums: Exact integers, of any size.
        sites: Number of sites.

    Returns:
        Integers of 64 bits, at most ``2**62`` over the number of sites in absolute value.

    >>> clip_to_ring(np.array([3, -(10**30), 10**30], dtype=object), 2) == np.array([3, -(2**61), 2**61])
    array([ True,  True,  True])
    """
    bound = LARGEST_SUM // sites
    clipped: IntArray = np.clip(sums, -bound, bound).astype(np.int64)
    return clipped


def _map_noises(distribution: OutputDistribution, change: Any) -> OutputDistribution:
    """Return a copy of a distribution with every noise replaced by `change` of it, also inside tuples and tiers.

    Args:
        distribution: Distribution with noises in its fields.
        change: Function of a noise that returns another noise.
    """
    copied: Any = distribution

    def map_value(value: Any) -> Any:
        """Return the value of a field with its noises replaced, also inside tuples and tiers.

        Args:
            value: Value of a field: noise, a tier with noise, a tuple of values, or anything else.

        Returns:
            Changed copy; other values are returned as they are.
        """
        match value:
            case Noise():
                return change(value)
            case Tier():
                return replace(value, noise=change(value.noise))
            case tuple():
                return tuple(map_value(item) for item in value)
        return value

    changed: OutputDistribution = replace(
        copied, **{field.name: map_value(getattr(distribution, field.name)) for field in fields(copied)}
    )
    return changed


def _compute_variance_growth(before: OutputDistribution, after: OutputDistribution) -> float:
    """Return the largest ratio of the variances of corresponding noises of two distributions; 1 without noises.

    Args:
        before: Distribution whose variances are the divisors.
        after: Distribution of the same form with other noises.
    """
    variances: list[float] = []

    def record_variance(noise: Noise) -> Noise:
        """Return a noise unchanged, after appending its variance to the list that is compared.

        Args:
            noise: Noise of the distribution.
        """
        variances.append(noise.variance)
        return noise

    _map_noises(before, record_variance)
    old_count = len(variances)
    _map_noises(after, record_variance)
    return max(
        (new / old for old, new in zip(variances[:old_count], variances[old_count:], strict=True) if old > 0),
        default=1.0,
    )


def groups_from_pilot_query(workload: ScoreGroupWorkload, setting: Setting) -> Strategy[ScoreGroupReleases]:
    """Divide scores into groups of about equal size, as calibration needs, by quantiles of a noisy pilot query.

    With at most `pilot_intervals` cells, all cells are counted instead. If a smallest group size is requested, the
    number of groups is reduced until the pilot query shows that many records in each.

    Formal guarantees: each round is charged separately, and the second query is a function of the first answer.

    Args:
        workload: The two classes, the score, and how groups are chosen.
        setting: Loss and adjacency.

    Returns:
        The releases of all rounds, and the counts and sums of each group.
    """
    score = workload.score
    if score.grid.cells <= TUNING.pilot_intervals:
        return (yield from ask_all_cells(workload, setting))
    require_cuttable(score)
    shares, edges, pilot = yield from ask_even_intervals(score, TUNING.pilot_intervals, PILOT_FRACTION)
    groups = workload.max_groups
    if workload.min_records is not None:
        records = float(setting.adjacency.public_record_count or Evidence.from_release(pilot).unbiased_cells[0].sum())
        groups = max(1, min(groups, int(records / workload.min_records)))
    # 0.02: fraction of the records assumed uniform, so that no group has zero width where noise hides its records
    cells = score.grid.merge_cells(cut_at_quantiles(shares, edges, groups, 0.02))
    remaining_fractions = GroupBudgetFractions(
        Fraction(0), WHOLE_BUDGET - PILOT_FRACTION - SUMS_FRACTION, SUMS_FRACTION
    )
    return (yield from measure_groups(replace(workload, budget_fractions=remaining_fractions), cells, [pilot]))


def derive_round(roster: Roster, plan: Plan, allotment: Allotment) -> SumRound:
    """Return the round of secure aggregation that answers a plan; all sites and the analyst derive the same one.

    Its number and digest are a hash of the plan, the request id and the number of the charged step. So messages of one
    round are valid in no other.

    Args:
        roster: The sites and their public keys.
        plan: Plan of the query: the counts, the noise and the loss.
        allotment: The part of a charged budget that pays for this plan, with request id and number of the step.
    """
    facts = f"{plan.fingerprint}\n{allotment.part}\n{allotment.request}".encode()
    digest = sha256(b"dpcurves sites turn 1\n" + facts).digest()
    size = plan.distribution.require_type(CountDistribution).size  # type: ignore[type-abstract]
    return SumRound(roster, int.from_bytes(digest[:8], "little"), digest, size)


def build_release(plan: Plan, sum_round: SumRound, messages: RoundMessages, allotment: Allotment) -> Release:
    """Add up the masked vectors of a finished round, remove the masks, and return the noisy sum as a release.

    Args:
        plan: Plan of the query: the counts, the noise and the loss.
        sum_round: The round that answers the plan, from `derive_round`.
        messages: All messages of the round, by stage.
        allotment: The part of a charged budget that pays for this plan.

    Raises:
        ProtocolError: A message is missing, altered or of another round.
        ValueError: The allotment is for another loss than the plan's.
    """
    require_charged(allotment, plan)
    counts = sum_vectors(sum_round, messages).view(np.int64).tolist()
    return Release(plan, tuple(counts), allotment, seeded=False)


def rebuild_release(plan: Plan, values: Sequence[int], allotment: Allotment) -> Release:
    """Return the release of an earlier round as an analyst states it, to plan the next round.

    The statement need not be true for privacy: the next round is charged anyway.

    Args:
        plan: Plan of the query.
        values: The released numbers.
        allotment: Proof that the loss of the plan was charged.

    Raises:
        ValueError: The number of values does not fit the plan.
    """
    return Release(plan, tuple(values), allotment, seeded=False)
