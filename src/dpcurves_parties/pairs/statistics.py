"""Statistics over pairs of people: which ones may be asked for, at what loss, and with what error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from secrets import token_bytes
from typing import Any

from dpcurves.arguments import Refused, chosen, require_kind, whole
from dpcurves.conversation import Plan
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne

from . import mechanisms
from .mechanisms import AUC, COLLISION, GINI, KENDALL, KERNELS, Kernel, Noise, Unsigned, Zetas
from .queries import OwnChoice, Pairing, PairQuery, Permutations, WithoutRepetition, commitment
from .readings import area_of, pair_statistic
from .release import Everybody, simulated

SEED = 32


def plan(
    kernel: Kernel,
    *,
    people: int,
    pairs_per_person: int,
    loss: PrivacyLoss,
    noise: Noise = Noise.EACH,
    pairing: type[Pairing] = Permutations,
    zetas: Zetas | None = None,
    seed: bytes | None = None,
) -> Plan:
    """Plan a mean over pairs of people, from public facts alone; nothing is spent.

    Formal guarantees: see `planned_answers` and `planned_sum` of `dpcurves_parties.pairs.mechanisms`. Its `error` is
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
    require_kind("kernel", kernel, Kernel, "a kernel, as dp.pairs.GINI,")
    require_kind("loss", loss, PrivacyLoss, "a loss, as dp.PrivacyLoss.pure(1),")
    planned = mechanisms.planned_answers if chosen("noise", noise, Noise) is Noise.EACH else mechanisms.planned_sum
    query = PairQuery.about(kernel.form, pairing(pairs_per_person), "" if seed is None else commitment(seed))
    return planned(query, loss, ReplaceOne(EACH_RECORD, whole("people", people)), zetas)


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
        raise Refused("plans", "at least one is needed")
    return made[0]


def answered_by(kernel: Kernel, made: Plan) -> tuple[str, int]:
    """The answer of each pair under a plan of `Noise.EACH`, in words, with its number of AND gates."""
    response = mechanisms.response_of(_of_kernel(kernel, made), made.loss)
    return response.name, mechanisms.noisy_circuit(kernel, response).ands


def simulate(
    kernel: Kernel,
    table: Mapping[str, Any],
    made: Plan,
    *,
    randomness: Randomness | None = None,
    seed: bytes | None = None,
) -> UStatistic:
    """Simulate a plan, with its circuit and noise, for all pairs in one process: on values that are not secret.

    Args:
        kernel: The kernel of the plan.
        table: Whole numbers of all people, by column.
        made: The plan.
        randomness: The source of random bits; None: the operating system.
        seed: The seed that pairs are drawn from; None: a random one.

    Raises:
        ValueError: the table has not as many people as the plan, or a number has too many bits.
    """
    query = _of_kernel(kernel, made)
    allotment = QuestionBudget.told("simulation", made.loss).pay(query, Fraction(1))
    source, drawn = randomness or Randomness.system(), token_bytes(SEED) if seed is None else seed
    return pair_statistic(simulated(made, Everybody(kernel, table, drawn), allotment, source))


def _of_kernel(kernel: Kernel, made: Plan) -> PairQuery:
    query = made.query.narrowed(PairQuery)
    if query is None or query.kernel != kernel.form:
        raise Refused("made", "it is a plan for another question, or another kernel")
    return query


__all__ = [
    "AUC", "COLLISION", "GINI", "KENDALL", "KERNELS", "Kernel", "Noise", "OwnChoice", "Permutations",
    "Unsigned", "WithoutRepetition", "Zetas", "answered_by", "area_of", "best", "pair_statistic", "plan", "simulate",
]  # fmt: skip
