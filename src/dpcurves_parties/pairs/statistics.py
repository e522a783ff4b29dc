"""Statistics over pairs of people: which ones may be asked for, at what loss, and with what error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from secrets import token_bytes
from typing import Any

from dpcurves.arguments import InvalidArgument, parse_choice, require_integer, require_type
from dpcurves.conversation import Plan
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne

from . import mechanisms
from .mechanisms import AUC, COLLISION, GINI, KENDALL, KERNELS, Kernel, NoisePlacement, Unsigned, Zetas
from .queries import OwnChoice, Pairing, PairQuery, Permutations, WithoutRepetition, commit_to_seed
from .readings import estimate_auc, pair_statistic
from .release import SimulatedPeople, simulate_release

SEED = 32


def plan(
    kernel: Kernel,
    *,
    people: int,
    pairs_per_person: int,
    loss: PrivacyLoss,
    noise: NoisePlacement = NoisePlacement.EACH,
    pairing: type[Pairing] = Permutations,
    zetas: Zetas | None = None,
    seed: bytes | None = None,
) -> Plan:
    """Plan a mean over pairs of people, from public facts alone; nothing is spent.

    Formal guarantees: see `plan_answers` and `plan_sum` of `dpcurves_parties.pairs.mechanisms`. Its `error` is
    the standard deviation of the mean for the population: noise, the choice of pairs and that of people together.

    Args:
        kernel: The function of two people whose mean is taken.
        people: The public number of people.
        pairs_per_person: The largest number of pairs that one person is in.
        loss: The pure loss of all of a person's pairs together.
        noise: Whether noise is added to each pair's answer, or once to their sum.
        pairing: How pairs are chosen.
        zetas: The variance components of the kernel, where they are known publicly; None: their largest possible
            values.
        seed: The seed that pairs will be drawn from; None: nothing is drawn yet.

    Raises:
        TypeError: `kernel` is no kernel.
        ValueError: there are too few people, a person would be in no pair, or the noise would exceed the number range.

    >>> import dpcurves as dp
    >>> made = plan(COLLISION, people=100_000, pairs_per_person=1, loss=dp.PrivacyLoss.pure(1))
    >>> round(made.error, 4)
    0.0048
    """
    require_type("kernel", kernel, Kernel, "a kernel, as dp.pairs.GINI,")
    require_type("loss", loss, PrivacyLoss, "a loss, as dp.PrivacyLoss.pure(1),")
    planned = (
        mechanisms.plan_answers
        if parse_choice("noise", noise, NoisePlacement) is NoisePlacement.EACH
        else mechanisms.plan_sum
    )
    query = PairQuery.from_kernel(kernel.form, pairing(pairs_per_person), "" if seed is None else commit_to_seed(seed))
    return planned(query, loss, ReplaceOne(EACH_RECORD, require_integer("people", people)), zetas)


def best(plans: Iterable[Plan]) -> Plan:
    """The plan with the least error and, among equal ones, with the fewest pairs: a choice from public facts.

    Raises:
        ValueError: there is none.

    >>> import dpcurves as dp
    >>> tried = [plan(GINI, people=10_000, pairs_per_person=each, loss=dp.PrivacyLoss.pure(1)) for each in (1, 2, 4)]
    >>> best(tried).query.pairs_per_unit
    1
    """
    made = sorted(plans, key=lambda each: (each.error, each.query.per_record_sensitivity))
    if not made:
        raise InvalidArgument("plans", "at least one is needed")
    return made[0]


def describe_response(kernel: Kernel, pair_plan: Plan) -> tuple[str, int]:
    """The answer of each pair under a plan of `NoisePlacement.EACH`, in words, with its number of AND gates."""
    response = mechanisms.plan_response(_require_kernel_query(kernel, pair_plan), pair_plan.loss)
    return response.name, mechanisms.build_noisy_circuit(kernel, response).and_count


def simulate(
    kernel: Kernel,
    table: Mapping[str, Any],
    pair_plan: Plan,
    *,
    randomness: Randomness | None = None,
    seed: bytes | None = None,
) -> UStatistic:
    """Simulate a plan, with its circuit and noise, for all pairs in one process: on values that are not secret.

    Args:
        kernel: The kernel of the plan.
        table: Whole numbers of all people, by column.
        pair_plan: The plan.
        randomness: The source of random bits; None: the operating system.
        seed: The seed that pairs are drawn from; None: a random one.

    Raises:
        ValueError: the table has not as many people as the plan, or a number has too many bits.
    """
    query = _require_kernel_query(kernel, pair_plan)
    allotment = QuestionBudget.from_external_charge("simulation", pair_plan.loss).pay(query, Fraction(1))
    source, drawn = randomness or Randomness.from_system(), token_bytes(SEED) if seed is None else seed
    return pair_statistic(simulate_release(pair_plan, SimulatedPeople(kernel, table, drawn), allotment, source))


def _require_kernel_query(kernel: Kernel, made: Plan) -> PairQuery:
    query = made.query.as_kind(PairQuery)
    if query is None or query.kernel != kernel.form:
        raise InvalidArgument("pair_plan", "it is a plan for another question, or another kernel")
    return query


__all__ = [
    "AUC",
    "COLLISION",
    "GINI",
    "KENDALL",
    "KERNELS",
    "Kernel",
    "NoisePlacement",
    "OwnChoice",
    "Permutations",
    "Unsigned",
    "WithoutRepetition",
    "Zetas",
    "best",
    "describe_response",
    "estimate_auc",
    "pair_statistic",
    "plan",
    "simulate",
]  # fmt: skip
