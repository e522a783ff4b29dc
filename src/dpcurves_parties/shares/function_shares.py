"""Trust model of two non-colluding servers: each holds a secret share of every record, and adds noise of its own.

A slot is a cell in which a record can lie; slots are numbered. Let c_t be the number of reports in the first t slots.
With shares modulo 2**64,

    server k releases      share_k(c_t) + noise_k(t)                          k = 0, 1
    the analyst adds       c_t + noise_0(t) + noise_1(t)

Each server protects against the other by its own noise. So an answer has twice the variance of the noise of a single
trusted curator. All thresholds of a task are paid for once.

    FunctionShares       the trust model: plans queries, and runs both servers in one process
    make_answer_share    one server's part of an answer; nothing else leaves the server
    combine_release      the release that both parts add up to

Formal guarantees: differential privacy if one report is replaced, against each server and against everyone who sees
answers. Privacy against a server is computational, because shares hide records by a pseudorandom generator (proof at
`FunctionShares`).

Reference: Boyle, Gilboa and Ishai 2016 (function secret sharing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import prod, sqrt
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan, Release, Setting, Strategy, UnsupportedQuery, Workload
from dpcurves.distributions import CountDistribution, IntervalSums, PathSums
from dpcurves.distributions.output_distribution import round_error
from dpcurves.ledger import Allotment
from dpcurves.mechanisms.auto import LINEAR_CHOICE
from dpcurves.mechanisms.lazy_tree import path_distribution
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, PrefixQuery, Query
from dpcurves.strategies import ONE_ROUND_STRATEGIES, choose_strategy
from dpcurves.trust.base import Answer, require_charged

from ..serving.noise_key import NoiseKey

SERVERS = 2
"""Servers of a task, each with its own noise: the variance of a count is this many times that of a single trusted
server."""
SHARE_MODULUS = 2**64
"""Modulus of shares, which are 64-bit words: sums wrap around, and a result of 2**63 or more stands for a negative
number."""
LARGEST_SCALE = 2**40
"""Noise scale at most, in records; a loss that needs more is refused, because a sum of noises could wrap around modulo
2**64."""
MOST_PREFIX_SLOTS = 2**53
"""Slots (cells, and those for values outside) of a task that counts below edges, at most, so that their numbers are
exact in JSON and in doubles; a finer grid is refused."""
MOST_CELL_SLOTS = 2**16 - 1
"""Slots (cells, and those for values outside) that are counted one by one at most: about a minute of one core for 10**5
unchecked reports. A finer grid is refused, or counted below edges."""
TRUST_NAME = "two servers that do not collude"
"""Start of the text in `Plan.made_by` that names this trust model in privacy statements."""


class Owners(Enum):
    """Whether the servers check the reports that owners send."""

    UNCHECKED = "unchecked"
    CHECKED = "checked"

    @property
    def default_max_slots(self) -> int:
        """Slots that are counted one by one at most, unless a task is told otherwise; checks make each slot slower."""
        return MOST_CELL_SLOTS if self is Owners.UNCHECKED else 2**12 - 1


class ShareHolder(Protocol):
    """SECRET. The state of one server: a share of each report, and the key of its noise. It has no repr.

    Attributes:
        noise_key: Key of this server's noise, which belongs to this set of reports alone.
    """

    @property
    def noise_key(self) -> NoiseKey:
        """SECRET: key of this server's noise. A repeated question about this set of reports gets the same noise."""
        ...

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> Sequence[int]:
        """SECRET: return this server's shares, modulo 2**64, of the number of reports below each threshold.

        The shares of both servers add up to the exact counts.

        Args:
            thresholds: Numbers of slots, none of them 0.

        Returns:
            One share per threshold.
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionShares:
    """Owners send shares of comparison functions to two servers, which jointly count along a public grid.

    A record in slot x is the function of t that is 1 if x < t (Barczewski, Mawass and Ramon, section 4.2, on slots
    of a public grid). Each server adds up its shares of all records at t. A missing record is the zero function. Two
    queries are supported; each server adds its full noise and reveals only the noisy sums:

    - `PrefixQuery`, on grids of any resolution: counts at some t, with the noise of the dyadic blocks on the path of t.
    - `CountQuery`, on the product of any axes with a limited number of slots: differences of sums at neighbouring t are
      shares of the count of a cell, and the number of reports minus the last sum is a share of the missing cell. Each
      server computes the sums of these that one curator would measure (`LINEAR_CHOICE`), with the noise of one curator.

    Formal guarantees: for a replaced report, against each server alone, which knows its own noise, and against everyone
    who sees the answers. Their view is, for a computationally bounded observer, a function of the counts with one
    server's full noise, because a server could sample all shares in its view itself (see `crypto`). *Proof idea.*
    Everything is linear modulo 2**64: the answer shares are ``A x0 + z0`` and ``A x1 + z1``, where the shares x0 and x1
    of the exact table x add up to it and each alone looks the same for every x. Server 1 sees x1, z1 and server 0's
    answer share; adding ``A x1`` to that share gives ``A x + z0``: one curator's release, with fresh noise of that
    distribution. The analyst sees ``A x + z0 + z1``, a function of it. With the noise of `path_distribution` that loses
    at most the plan's loss for any number and order of thresholds; with the noise of `LINEAR_CHOICE`, once, and a
    repetition returns the same noise. So the noise has twice the variance of one curator's. *Assumed*: the servers do
    not collude (together they know every record), and one of them follows the protocol: it answers from one set of
    reports with one noise (`CheckedCounting` proves that this suffices). Correct counts require both servers to follow
    it, and owners, because a malformed report can add any number to any count. If owners are *checked*, both servers
    drop a malformed report before the first answer, and it counts as missing if missing records are counted.

    Attributes:
        INSTEAD: Advice to a caller whose session would open all records.
        owners: Whether servers check the reports that owners send.
    """

    INSTEAD: ClassVar[str] = "owners send shares to a task of two servers, as dpcurves task create makes one"

    owners: Owners = Owners.UNCHECKED

    @property
    def holders(self) -> tuple[type, ...]:
        """Types of the data holders of this trust model: two servers with their shares."""
        return (ShareHolder,) * SERVERS

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the rounds of a workload on a fixed grid.

        Owners encode their records once; later rounds only choose thresholds.

        Args:
            workload: The question's workload.
            loss: The loss of all rounds together.
            adjacency: Which tables the loss is about.
        """
        return choose_strategy(ONE_ROUND_STRATEGIES, workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan a query to the two servers. Touches no data.

        Args:
            query: Prefix counts, or counts of cells.
            loss: The loss of this query.
            adjacency: Replace-one, with one record per report.

        Raises:
            UnsupportedQuery: two servers cannot answer the query, or not under this adjacency.
        """
        if type(query) not in _QUERY_HANDLERS:
            raise UnsupportedQuery(
                "question",
                f"counts of two servers cannot answer {type(query).__name__}; ask for a curve that is "
                "computed from counts",
            )
        if not isinstance(adjacency, ReplaceOne) or adjacency.unit != EACH_RECORD:
            raise UnsupportedQuery(
                "adjacency",
                "must be replace-one with one record per report, because the number of reports is public; take "
                "adjacency=dp.REPLACE_ONE, and one record of each owner",
            )
        plan = _QUERY_HANDLERS[type(query)].plan(query, loss, adjacency, self.owners)
        return replace(plan, made_by=f"{TRUST_NAME}, owners {self.owners.value}: {plan.made_by}, by each server")

    def run(self, plan: Plan, holders: Sequence[ShareHolder], allotment: Allotment, randomness: Randomness) -> Release:
        """Return the release of both servers, run in one process.

        Args:
            plan: Plan of the query.
            holders: States of servers 0 and 1.
            allotment: The charge for the plan's loss.
            randomness: Not used, because the servers' noise comes from their own keys.

        Raises:
            ValueError: the charge is for another loss.
        """
        first, second = holders
        return combine_release(
            plan, [make_answer_share(plan, first, allotment), make_answer_share(plan, second, allotment)], allotment
        )


def make_answer_share(plan: Plan, holder: ShareHolder, allotment: Allotment) -> tuple[int, ...]:
    """Return the answer share of one server: its shares plus its own noise, modulo 2**64. Nothing else leaves a
    server.

    Args:
        plan: Plan of the query.
        holder: State of the server.
        allotment: The charge for the plan's loss.

    Raises:
        ValueError: the charge is for another loss.
    """
    require_charged(allotment, plan)
    return _find_handler(plan).make_share(plan, holder)


def combine_release(plan: Plan, answer_shares: Sequence[Sequence[int]], allotment: Allotment) -> Release:
    """Return the release that both servers' answer shares add up to.

    Args:
        plan: Plan of the query.
        answer_shares: Integers modulo 2**64 from each of the two servers.
        allotment: The charge for the plan's loss.

    Raises:
        ValueError: there are not two answer shares with the requested number of integers modulo 2**64.
    """
    return make_release(plan, combine_values(plan, answer_shares), allotment)


def combine_values(plan: Plan, answer_shares: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the noisy counts that both servers' answer shares add up to, as signed integers.

    Args:
        plan: Plan of the query.
        answer_shares: Integers modulo 2**64 from each of the two servers.

    Returns:
        Counts in the order of the plan's distribution.

    Raises:
        ValueError: there are not two answer shares with the requested number of integers modulo 2**64.
    """
    return _find_handler(plan).read_values(plan, add_answer_shares(plan, answer_shares))


def add_answer_shares(plan: Plan, answer_shares: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the sum of both answer shares as signed integers, without the public constants that both omit.

    Args:
        plan: Plan of the query.
        answer_shares: Integers modulo 2**64 from each of the two servers.

    Returns:
        Integers in the order of the shares.

    Raises:
        ValueError: there are not two answer shares with the requested number of integers modulo 2**64.
    """
    size = plan.distribution.require_type(CountDistribution).size  # type: ignore[type-abstract]
    if len(answer_shares) != SERVERS or any(len(share) != size for share in answer_shares):
        raise InvalidArgument("answer_shares", f"must be two, one of each server, each of {size} numbers")
    if any(not 0 <= number < SHARE_MODULUS for share in answer_shares for number in share):
        raise InvalidArgument("answer_shares", "must be numbers from 0 to 2**64 - 1")
    return tuple(
        (sum(pair) + SHARE_MODULUS // 2) % SHARE_MODULUS - SHARE_MODULUS // 2
        for pair in zip(*answer_shares, strict=True)
    )


def make_release(plan: Plan, counts: Sequence[int], allotment: Allotment) -> Release:
    """Return a release of noisy counts that the servers sent to an analyst and have charged for.

    Args:
        plan: Plan of the query.
        counts: The noisy counts.
        allotment: The charge for the plan's loss.

    Raises:
        ValueError: the number of counts differs from the requested one.
    """
    return Release(plan, tuple(counts), allotment, seeded=False)


def find_thresholds(plan: Plan) -> Sequence[int]:
    """Return the increasing numbers of slots whose prefix counts the servers must share. The empty prefix needs no
    share.

    Args:
        plan: Plan of the answer.
    """
    return _find_handler(plan).thresholds(plan)


class _QueryHandler(NamedTuple):
    """Functions that answer queries of one kind.

    Attributes:
        plan: Plan of a query.
        thresholds: Numbers of slots whose prefix counts servers must share.
        make_share: SECRET: a server's answer share.
        read_values: Values of the distribution, from the sum of both answer shares.
    """

    plan: Callable[..., Plan]
    thresholds: Callable[[Plan], Sequence[int]]
    make_share: Callable[[Plan, ShareHolder], tuple[int, ...]]
    read_values: Callable[[Plan, tuple[int, ...]], tuple[int, ...]]


def _find_handler(plan: Plan) -> _QueryHandler:
    """Return the functions that plan and answer the kind of query that a plan has.

    Raises:
        UnsupportedQuery: two servers cannot answer such a query.
    """
    if type(plan.query) not in _QUERY_HANDLERS:
        raise UnsupportedQuery(
            "question",
            f"counts of two servers cannot answer {type(plan.query).__name__}; ask for a curve that "
            "is computed from counts",
        )
    return _QUERY_HANDLERS[type(plan.query)]


def _plan_prefixes(query: PrefixQuery, loss: PrivacyLoss, adjacency: Adjacency, owners: Owners) -> Plan:
    """Return the plan of counts below thresholds, with the noise of both servers.

    Args:
        query: Counts below thresholds.
        loss: Privacy loss of a report.
        adjacency: Replace-one.
        owners: Without effect here.

    Raises:
        UnsupportedQuery: there are too many cells (slots), or the noise is too large for 64 bits.
    """
    if query.slots > MOST_PREFIX_SLOTS:
        raise UnsupportedQuery(
            "grid", f"must have at most {MOST_PREFIX_SLOTS} slots, got {query.slots}; take a coarser grid"
        )
    distribution = replace(path_distribution(query, loss, adjacency), missing=None).sum_over_parties(SERVERS)
    _require_room(distribution.noise.parameter, loss)
    return Plan(
        query,
        loss,
        adjacency,
        f"noise path through {distribution.levels} levels",
        distribution,
        round_error(sqrt(distribution.variance)),
    )


def _plan_cells(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency, owners: Owners) -> Plan:
    """Return the plan of the counts of all cells, with the noise of both servers.

    Args:
        query: Counts of all cells.
        loss: Privacy loss of a report.
        adjacency: Replace-one.
        owners: Without effect here.

    Raises:
        UnsupportedQuery: there are too many cells (slots), or the noise is too large for 64 bits.
    """
    if prod(query.shape) > MOST_CELL_SLOTS:
        rule = (
            f"must have at most {MOST_CELL_SLOTS} slots to be counted one by one, got "
            f"{prod(query.shape)}; take a coarser grid"
        )
        raise UnsupportedQuery("grid", rule)
    plan = LINEAR_CHOICE.plan(query, loss, adjacency)
    distribution = plan.distribution.require_type(IntervalSums)
    _require_room(max(noise.parameter for noise, _ in distribution.noises), loss)
    return replace(
        plan, distribution=distribution.sum_over_parties(SERVERS), error=round_error(plan.error * sqrt(SERVERS))
    )


def _require_room(parameter: Fraction, loss: PrivacyLoss) -> None:
    """Check that sums with this noise cannot wrap around modulo 2**64.

    Args:
        parameter: Scale of Laplace noise for a pure loss; variance for a zero-concentrated one.
        loss: Privacy loss, for the message.

    Raises:
        UnsupportedQuery: the noise is too large.
    """
    if parameter > (LARGEST_SCALE if loss.is_pure else LARGEST_SCALE**2):
        raise UnsupportedQuery(
            "epsilon, rho", f"{loss} needs more noise than 64-bit shares can hold; allow a larger loss"
        )


def _find_prefix_thresholds(plan: Plan) -> Sequence[int]:
    """Return the thresholds above 0 of a plan of prefix counts, each once, in rising order.

    Args:
        plan: Plan of prefix counts.
    """
    return sorted({threshold for threshold in plan.distribution.require_type(PathSums).prefix_lengths if threshold})


def _mask_prefixes(plan: Plan, holder: ShareHolder) -> tuple[int, ...]:
    """SECRET: return a server's shares of prefix counts plus its own noise, modulo 2**64; 0 for the empty prefix.

    Args:
        plan: Plan of the counts.
        holder: Shares of the reports, and the key of this server's noise.

    Returns:
        One number below 2**64 per threshold of the plan.
    """
    distribution = plan.distribution.require_type(PathSums)
    at = _find_prefix_thresholds(plan)
    shares = holder.sum_prefix_shares(at) if at else []
    noises = holder.noise_key.derive_path_noise(distribution, at)
    masked_counts = {
        each: (share + noise) % SHARE_MODULUS for each, share, noise in zip(at, shares, noises, strict=True)
    }
    return tuple(masked_counts[threshold] if threshold else 0 for threshold in distribution.prefix_lengths)


def _list_cell_thresholds(plan: Plan) -> Sequence[int]:
    """Return the thresholds whose prefix counts give the counts of all cells: 1 to the number of cells.

    Args:
        plan: Plan of counts of all cells.
    """
    distribution = plan.distribution.require_type(IntervalSums)
    return range(1, distribution.rows * distribution.cells + 1)


def _mask_cells(plan: Plan, holder: ShareHolder) -> tuple[int, ...]:
    """SECRET: return a server's shares of all interval sums and of the missing cell, plus its own noise, modulo
    2**64.

    The missing cell's share omits the number of reports, which is public.

    Args:
        plan: Plan of the counts.
        holder: Shares of the reports, and the key of this server's noise.

    Returns:
        Numbers below 2**64, in the order of the plan's distribution.
    """
    distribution = plan.distribution.require_type(IntervalSums)
    below = np.array(holder.sum_prefix_shares(_list_cell_thresholds(plan)), dtype=np.uint64)
    cells = np.diff(below, prepend=np.uint64(0)).reshape(distribution.rows, distribution.cells)
    sums = [share for sums_of_level in distribution.apply_strategy(cells) for share in sums_of_level.ravel().tolist()]
    shares = sums if distribution.missing is None else [*sums, -int(below[-1])]
    return tuple(
        (share + noise) % SHARE_MODULUS
        for share, noise in zip(shares, holder.noise_key.derive_sum_noise(distribution), strict=True)
    )


def _read_cell_values(plan: Plan, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return the released counts with the missing cell completed: the public number of reports is added to its value.

    The servers' sums hold only the negative number of reports that are in a slot.

    Args:
        plan: Plan of counts of all cells, with a missing cell.
        values: Reconstructed sums, the missing cell last.
    """
    *sums, missing = values
    return *sums, missing + (plan.adjacency.public_record_count or 0)


_QUERY_HANDLERS: Mapping[type[Query], _QueryHandler] = MappingProxyType({
    PrefixQuery: _QueryHandler(_plan_prefixes, _find_prefix_thresholds, _mask_prefixes, lambda plan, values: values),
    CountQuery: _QueryHandler(_plan_cells, _list_cell_thresholds, _mask_cells, _read_cell_values),
})  # fmt: skip
"""How each type of query is planned, computed on shares, masked with noise and read; other types are refused."""
