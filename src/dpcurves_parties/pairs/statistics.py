"""Differentially private means over pairs of people (U-statistics): planning, simulation and the named kernels.

A kernel is a function of two people's values, such as their absolute difference; its mean over all pairs is a
U-statistic, such as the Gini mean difference.

    plan        kernel, number of people, privacy loss -> noise distribution and expected error
    best        several plans -> the most accurate one
    simulate    kernel, table, plan -> a noisy estimate, with all values in one process
    kernels     `GINI`, `KENDALL`, `COLLISION`, `AUC`, or a `Kernel` of any function of two people

The error of a plan is the standard deviation of the estimate for the population: noise, choice of pairs and sampling of
people. The pairs of one person divide the person's privacy loss among them (`pairs_per_person`).

Formal guarantees: a plan depends on public facts alone, so planning costs no budget; losses are proved in `mechanisms`.

References: Hoeffding 1948; Bell, Bellet, Gascon and Kulkarni 2019.
"""

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
from .readings import estimate_among_passing, estimate_auc, pair_statistic
from .release import SimulatedPeople, simulate_release


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
    """Plan a mean over pairs of people from public facts. Planning costs no budget.

    Formal guarantees: see `plan_answers` and `plan_sum` of `dpcurves_parties.pairs.mechanisms`.

    Args:
        kernel: Function of two people whose mean is estimated.
        people: Public number of people.
        pairs_per_person: Largest number of pairs of one person.
        loss: Pure loss of all pairs of a person together.
        noise: Whether noise is added to each pair's answer, or once to their sum.
        pairing: Scheme by which pairs are chosen.
        zetas: Variance components of the kernel, if they are known publicly; None: their largest possible values.
        seed: Seed that pairs will be drawn from; None: not chosen yet.

    Returns:
        The plan. Its `error` is the standard deviation of the mean for the population: noise, choice of pairs and
        sampling of people together.

    Raises:
        TypeError: `kernel` is not a kernel.
        ValueError: there are too few people for the pairs, or the noise would exceed the number range.

    >>> import dpcurves as dp
    >>> made = plan(COLLISION, people=100_000, pairs_per_person=1, loss=dp.PrivacyLoss.pure(1))
    >>> round(made.error, 4)
    0.0048
    """
    require_type("kernel", kernel, Kernel, "a kernel, as dp.pairs.GINI,")
    require_type("loss", loss, PrivacyLoss, "a loss, as dp.PrivacyLoss.pure(1),")
    plan_kernel = (
        mechanisms.plan_answers
        if parse_choice("noise", noise, NoisePlacement) is NoisePlacement.EACH
        else mechanisms.plan_sum
    )
    commitment = "" if seed is None else commit_to_seed(seed)
    query = PairQuery.from_kernel(kernel.form, pairing(pairs_per_person), commitment, kernel.where)
    return plan_kernel(query, loss, ReplaceOne(EACH_RECORD, require_integer("people", people)), zetas)


def best(plans: Iterable[Plan]) -> Plan:
    """Return the plan with the least error; among equal errors the one with the fewest pairs.

    Args:
        plans: Plans of one kernel.

    Raises:
        ValueError: there are no plans.

    >>> import dpcurves as dp
    >>> tried = [plan(GINI, people=10_000, pairs_per_person=each, loss=dp.PrivacyLoss.pure(1)) for each in (1, 2, 4)]
    >>> best(tried).query.pairs_per_unit
    1
    """
    ranked = sorted(plans, key=lambda candidate: (candidate.error, candidate.query.per_record_sensitivity))
    if not ranked:
        raise InvalidArgument("plans", "must have at least one plan, as in [plan]")
    return ranked[0]


def describe_response(kernel: Kernel, pair_plan: Plan) -> tuple[str, int]:
    """Return how each pair randomises its answer, under a plan with noise on each pair.

    Args:
        kernel: Kernel of the plan.
        pair_plan: A plan with `NoisePlacement.EACH`.

    Returns:
        The name of the randomised response, and the number of AND gates of the circuit that computes kernel and noise.

    Raises:
        ValueError: the plan is for another kernel.
    """
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
    """Run a plan for all pairs in one process, with its circuit and noise, on values that are not secret.

    Args:
        kernel: Kernel of the plan.
        table: Integers of all people, by column, each of shape (people,); the columns of a condition may hold numbers,
            texts or dates.
        pair_plan: The plan.
        randomness: Source of random bits; None: the operating system.
        seed: Seed that pairs are drawn from; None: a random seed.

    Returns:
        The estimate, as a release of the real protocol would give it.

    Raises:
        ValueError: the table and the plan have different numbers of people, a number has too many bits, the plan is for
            another kernel, or the seed is not the one of the plan.
    """
    query = _require_kernel_query(kernel, pair_plan)
    allotment = QuestionBudget.from_external_charge("simulation", pair_plan.loss).pay(query, Fraction(1))
    source = randomness or Randomness.from_system()
    pair_seed = token_bytes(32) if seed is None else seed  # 32: bytes of the seed that pairs are drawn from
    return pair_statistic(simulate_release(pair_plan, SimulatedPeople(kernel, table, pair_seed), allotment, source))


def _require_kernel_query(kernel: Kernel, pair_plan: Plan) -> PairQuery:
    """Return the plan's question about pairs, after checking that it is about this kernel.

    Args:
        kernel: The expected kernel.
        pair_plan: The plan.

    Raises:
        ValueError: the plan is for another kernel, or not about pairs.
    """
    query = pair_plan.query.as_kind(PairQuery)
    if query is None or query.kernel != kernel.form:
        raise InvalidArgument("pair_plan", "must be a plan for this kernel; plan the pairs with the same kernel")
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
    "estimate_among_passing",
    "estimate_auc",
    "pair_statistic",
    "plan",
    "simulate",
]  # fmt: skip
