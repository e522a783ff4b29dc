"""Two servers that do not collude: each holds a share of every record's comparison function, and adds its own noise."""

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
from dpcurves.laws import CountLaw, IntervalSums, PathSums
from dpcurves.laws.law import round_error
from dpcurves.ledger import Allotment
from dpcurves.mechanisms.auto import LINEAR
from dpcurves.mechanisms.lazy_tree import path_law
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, PrefixQuery, Query
from dpcurves.strategies import choose_one_round
from dpcurves.trust.base import Answer, require_charged

from ..serving.noise_key import NoiseKey

SERVERS = 2
RING = 2**64
"""Shares are integers modulo this."""
LARGEST_SCALE = 2**40
"""The largest scale of noise: beyond it, a sum of noises could wrap around the ring."""
MOST_CELLS = 2**53
MOST_SLOTS = 2**16 - 1
"""Most slots that are counted one by one: about a minute of a processor for 10**5 reports, unchecked."""
NAMED = "two servers that do not collude"


class Owners(Enum):
    """Choice of whether the servers check the reports that owners send."""

    UNCHECKED = "unchecked"
    CHECKED = "checked"

    @property
    def default_max_slots(self) -> int:
        """Most slots that are counted one by one by default; checks take longer for each."""
        return MOST_SLOTS if self is Owners.UNCHECKED else 2**12 - 1


class ShareHolder(Protocol):
    """SECRET. Holdings of one of the servers: a share of each report, and the key of its noise. It has no repr.

    Attributes:
        noise_key: The key of this server's noise, which belongs to these reports, and to no other set of them.
    """

    @property
    def noise_key(self) -> NoiseKey:
        """The key of this server's noise."""
        ...

    def sum_prefix_shares(self, thresholds: Sequence[int]) -> Sequence[int]:
        """SECRET: this server's shares, modulo 2**64, of how many reports lie in the first slots, for each of `thresholds`.

        The other server's shares added, these are the exact counts. No entry of `thresholds` is 0.
        """
        ...


@dataclass(frozen=True, slots=True)
class FunctionShares:
    """Owners send shares of comparison functions to two servers, which count along a public grid together.

    A record in slot x is the function of t that is 1 where x < t (Barczewski, Mawass and Ramon, section 4.2, on slots
    of a public grid). Each server adds up its shares of all records at t. A missing record is the function that is 0
    everywhere. Two queries are answered, each server adding its own full noise and opening nothing but that:

    - `PrefixQuery`, on grids however fine: the counts at some t, with the noise of the dyadic blocks on the path of t.
    - `CountQuery`, on the product of any axes, of as many slots as can be laid out: differences of neighbouring t are
      shares of each cell, and the number of reports less the last one that of the missing cell; of them both take the
      sums that one curator would (`LINEAR`), with the noise that one curator would add.

    Formal guarantees: for a replaced report, against each server on its own, which knows its own noise, and against
    whoever sees the answers. What they see is, to a computationally bounded observer, a function of the counts with one
    server's full noise, for whatever shares a server sees it could have drawn itself (see `crypto`). *Proof idea.* All
    is linear modulo 2**64: the halves are ``A x0 + z0`` and ``A x1 + z1``, where the shares x0 and x1 of the exact
    table x add up to it and each alone looks the same for every x. Server 1 sees x1, z1 and server 0's half; take off
    ``-A x1`` and what is left is ``A x + z0``: one curator's release, with fresh noise of that law. The analyst sees
    ``A x + z0 + z1``, a function of it. With the noise of `path_law` that loses at most the plan's loss however many
    thresholds are asked, in whatever order; with that of `law_of`, once, and the same noise whenever it is asked again.
    So noise has twice the variance of one curator's. *Assumed*: the servers do not collude (together they know every
    record), and one of them follows the protocol: it answers from one set of reports with one noise (`CheckedCounting`
    says why that is enough). That counts are right assumes it of both, and of owners, for a report that was made
    otherwise can add any number to any count. If owners are *checked*, such a report is dropped by both servers before
    the first answer, and counts as missing where the missing are counted.

    Attributes:
        INSTEAD: Advice to a caller whose session would open all records.
        owners: Choice of whether servers check the reports that owners send.
    """

    INSTEAD: ClassVar[str] = "owners send shares to a task of two servers, as dpcurves task create makes one"

    owners: Owners = Owners.UNCHECKED

    @property
    def holders(self) -> tuple[type, ...]:
        """Two servers, with their shares."""
        return (ShareHolder,) * SERVERS

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """The strategy for cells fixed beforehand: owners encode their records once; later turns choose thresholds."""
        return choose_one_round(workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Plan of the two servers for a query. Raises `UnsupportedQuery`; touches no data."""
        if type(query) not in _WAYS:
            raise UnsupportedQuery("question", f"two servers count; they cannot answer {type(query).__name__}")
        if not isinstance(adjacency, ReplaceOne) or adjacency.unit != EACH_RECORD:
            raise UnsupportedQuery("adjacency", "servers see how many reports there are: replace-one, for each report")
        made = _WAYS[type(query)].plan(query, loss, adjacency, self.owners)
        return replace(made, made_by=f"{NAMED}, owners {self.owners.value}: {made.made_by}, by each server")

    def run(self, plan: Plan, holders: Sequence[ShareHolder], allotment: Allotment, randomness: Randomness) -> Release:
        """Both servers in one process. Their noise comes from their own secrets.

        Raises:
            ValueError: the payment is for another loss.
        """
        first, second = holders
        return combine_release(
            plan, [make_answer_share(plan, first, allotment), make_answer_share(plan, second, allotment)], allotment
        )


def make_answer_share(plan: Plan, holder: ShareHolder, allotment: Allotment) -> tuple[int, ...]:
    """Half of the answer of one server: its shares plus its own noise, modulo 2**64. Nothing else leaves a server.

    Raises:
        ValueError: the payment is for another loss.
    """
    require_charged(allotment, plan)
    return _find_handler(plan).make_share(plan, holder)


def combine_release(plan: Plan, answer_shares: Sequence[Sequence[int]], allotment: Allotment) -> Release:
    """The answer from both halves.

    Raises:
        ValueError: there are not two halves of as many integers modulo 2**64 as were asked for.
    """
    return make_release(plan, combine_values(plan, answer_shares), allotment)


def combine_values(plan: Plan, answer_shares: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The numbers of the answer, from both halves.

    Raises:
        ValueError: there are not two halves of as many integers modulo 2**64 as were asked for.
    """
    return _find_handler(plan).read_values(plan, add_answer_shares(plan, answer_shares))


def add_answer_shares(plan: Plan, answer_shares: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Sums of both halves, without what is public and was left out of them.

    Raises:
        ValueError: there are not two halves of as many integers modulo 2**64 as were asked for.
    """
    size = plan.law.require_type(CountLaw).size  # type: ignore[type-abstract]
    if len(answer_shares) != SERVERS or any(len(half) != size for half in answer_shares):
        raise InvalidArgument("answer_shares", f"two are needed, each of {size} numbers")
    if any(not 0 <= number < RING for half in answer_shares for number in half):
        raise InvalidArgument("answer_shares", "numbers from 0 to 2**64 - 1 are needed")
    return tuple((sum(pair) + RING // 2) % RING - RING // 2 for pair in zip(*answer_shares, strict=True))


def make_release(plan: Plan, counts: Sequence[int], allotment: Allotment) -> Release:
    """Release of the counts that the servers have sent to an analyst: they have charged for it.

    Raises:
        ValueError: there are not as many counts as were asked for.
    """
    return Release(plan, tuple(counts), allotment, seeded=False)


def find_thresholds(plan: Plan) -> Sequence[int]:
    """Numbers of slots, rising, of whose prefix counts servers need shares; an empty prefix needs none."""
    return _find_handler(plan).thresholds(plan)


class _QueryHandler(NamedTuple):
    """Functions that answer queries of one kind.

    Attributes:
        plan: Plan of a query.
        thresholds: Slot numbers up to which servers need shares of the counts.
        make_share: SECRET: a server's half.
        read_values: The values of the law, from the sum of both halves.
    """

    plan: Callable[..., Plan]
    thresholds: Callable[[Plan], Sequence[int]]
    make_share: Callable[[Plan, ShareHolder], tuple[int, ...]]
    read_values: Callable[[Plan, tuple[int, ...]], tuple[int, ...]]


def _find_handler(plan: Plan) -> _QueryHandler:
    """Raises `UnsupportedQuery` for a query that servers do not answer."""
    if type(plan.query) not in _WAYS:
        raise UnsupportedQuery("question", f"two servers count; they cannot answer {type(plan.query).__name__}")
    return _WAYS[type(plan.query)]


def _plan_prefixes(query: PrefixQuery, loss: PrivacyLoss, adjacency: Adjacency, owners: Owners) -> Plan:
    if query.slots > MOST_CELLS:
        raise UnsupportedQuery("grid", f"at most {MOST_CELLS} slots are shared, got {query.slots}")
    law = replace(path_law(query, loss, adjacency), missing=None).sum_over_parties(SERVERS)
    _require_room(law.noise.parameter, loss)
    return Plan(query, loss, adjacency, f"noise path through {law.levels} levels", law, round_error(sqrt(law.variance)))


def _plan_cells(query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency, owners: Owners) -> Plan:
    if prod(query.shape) > MOST_SLOTS:
        rule = f"two servers count at most {MOST_SLOTS} slots one by one, got {prod(query.shape)}; take a coarser grid"
        raise UnsupportedQuery("grid", rule)
    made = LINEAR.plan(query, loss, adjacency)
    law = made.law.require_type(IntervalSums)
    _require_room(max(noise.parameter for noise, _ in law.noises), loss)
    return replace(made, law=law.sum_over_parties(SERVERS), error=round_error(made.error * sqrt(SERVERS)))


def _require_room(parameter: Fraction, loss: PrivacyLoss) -> None:
    if parameter > (LARGEST_SCALE if loss.is_pure else LARGEST_SCALE**2):
        raise UnsupportedQuery("epsilon, rho", f"{loss} needs more noise than shares have room for")


def _find_prefix_thresholds(plan: Plan) -> Sequence[int]:
    return sorted({threshold for threshold in plan.law.require_type(PathSums).prefix_lengths if threshold})


def _mask_prefixes(plan: Plan, holder: ShareHolder) -> tuple[int, ...]:
    law, at = plan.law.require_type(PathSums), _find_prefix_thresholds(plan)
    shares, noises = holder.sum_prefix_shares(at) if at else [], holder.noise_key.derive_path_noise(law, at)
    halves = {each: (share + noise) % RING for each, share, noise in zip(at, shares, noises, strict=True)}
    return tuple(halves[threshold] if threshold else 0 for threshold in law.prefix_lengths)


def _list_cell_thresholds(plan: Plan) -> Sequence[int]:
    law = plan.law.require_type(IntervalSums)
    return range(1, law.rows * law.cells + 1)


def _mask_cells(plan: Plan, holder: ShareHolder) -> tuple[int, ...]:
    """Sums of shares wrap around the ring, as they should. Of the missing cell it is the share but for a constant."""
    law = plan.law.require_type(IntervalSums)
    below = np.array(holder.sum_prefix_shares(_list_cell_thresholds(plan)), dtype=np.uint64)
    cells = np.diff(below, prepend=np.uint64(0)).reshape(law.rows, law.cells)
    sums = [share for part in law.apply_strategy(cells) for share in part.ravel().tolist()]
    shares = sums if law.missing is None else [*sums, -int(below[-1])]
    return tuple(
        (share + noise) % RING for share, noise in zip(shares, holder.noise_key.derive_sum_noise(law), strict=True)
    )


def _read_cell_values(plan: Plan, values: tuple[int, ...]) -> tuple[int, ...]:
    """With the public number of reports in the missing cell, of which both servers took off those that have a slot."""
    *sums, missing = values
    return *sums, missing + (plan.adjacency.public_record_count or 0)


_WAYS: Mapping[type[Query], _QueryHandler] = MappingProxyType({
    PrefixQuery: _QueryHandler(_plan_prefixes, _find_prefix_thresholds, _mask_prefixes, lambda plan, values: values),
    CountQuery: _QueryHandler(_plan_cells, _list_cell_thresholds, _mask_cells, _read_cell_values),
})  # fmt: skip
