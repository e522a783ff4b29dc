"""Differentially private sums over pairs of people: release of noisy answers, or of one noisy sum.

The answer of a pair is the value of a kernel, a function of two people's values. There are two kinds of release:

- `release_answers`: each pair adds its own noise. From the noisy answers a_p of pairs p three integers are released:
  the sum of a_p, the sum of a_p**2, and the sum of a_p * a_q over couples of pairs p, q with one person in common. The
  last two are used to estimate variances (`readings`).
- `release_sum`: noise is added once, to the sum over all pairs. The circuit returns this sum modulo a power of two; the
  released integer is the congruent one nearest the middle of all possible sums.

`simulate_release` computes either from a table, without devices. Each function returns a `Release`: plan, integers and
receipt of the charge.

Formal guarantees: the released sums are functions of numbers that already have noise, and of the pairs, which are
public. A function of a noisy result that uses no records loses nothing more (post-processing), so the loss is that of
the answers or of the circuit's sum, which `mechanisms` proves.

>>> pairs = np.array([[0, 1], [1, 2], [3, 4]])  # the first two have person 1 in common
>>> _sum_products(pairs, np.array([2, 3, 5]), people=5)
6
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan, Release
from dpcurves.data import LOOKS_LIKE_AN_EXPRESSION
from dpcurves.expressions import ValueType, evaluate_expression, parse_expression
from dpcurves.ledger import Allotment
from dpcurves.noise.randomness import Randomness
from dpcurves.trust.base import require_charged
from dpcurves_parties.pairs.queries import Overlaps, PairQuery, commit_to_seed

from ..crypto.circuits import evaluate_circuit
from .mechanisms import Kernel, build_noisy_circuit, plan_response, plan_sum_noise, random_input_widths
from .noise_circuits import FiniteLaplace, Response
from .queries import PairAnswers, PairDistribution, PairSum


def release_answers(plan: Plan, pairs: IntArray, answers: IntArray, allotment: Allotment, *, seeded: bool) -> Release:
    """Release the answers of pairs, each with its own noise.

    Formal guarantees: the release depends on people's values only through these answers.

    Args:
        plan: Plan of `dpcurves_parties.pairs.mechanisms.plan_answers`.
        pairs: Pairs that answered, as numbers of people from 0, (pairs, 2).
        answers: Noisy answer of each pair, (pairs,).
        allotment: Receipt of the charge for the plan's loss.
        seeded: True: the noise comes from a known seed, as in simulations, so the release protects nobody.

    Returns:
        A release of three integers: the sum of the answers, of their squares, and of products of two answers over
        couples of pairs with one person in common.

    Raises:
        ValueError: there are more or fewer answers than pairs, a person is in too many pairs, or the payment is for
            another loss.
    """
    require_charged(allotment, plan)
    if len(answers) != len(pairs):
        raise InvalidArgument(
            "answers", f"must be {len(pairs)} answers, one for each pair of the plan, got {len(answers)}"
        )
    final_plan = _plan_for_pairs(plan, pairs, plan.distribution.require_type(PairAnswers))
    integers = answers.astype(np.int64)
    allowed = plan_response(_require_pair_query(plan), plan.loss).answers
    if len(integers) and not (integers.min() >= allowed.start and integers.max() < allowed.stop):
        raise InvalidArgument("answers", f"must be from {allowed.start} to {allowed.stop - 1}")
    values = (
        _sum_exactly(integers),
        _sum_exactly(integers**2),
        _sum_products(pairs, integers, final_plan.distribution.require_type(PairAnswers).people),
    )
    return Release(final_plan, values, allotment, seeded)


def release_sum(plan: Plan, pairs: IntArray, noisy: int, allotment: Allotment, *, seeded: bool) -> Release:
    """Release the noisy sum of a kernel over pairs, from the output of the circuit.

    The circuit outputs the noisy sum minus the least possible sum, modulo a power of two.

    Args:
        plan: Plan of `dpcurves_parties.pairs.mechanisms.plan_sum`.
        pairs: Pairs that were summed, as numbers of people, (pairs, 2).
        noisy: Output of the circuit, not negative.
        allotment: Receipt of the charge for the plan's loss.
        seeded: True: the noise comes from a known seed, as in simulations, so the release protects nobody.

    Returns:
        A release of one integer, the noisy sum.

    Raises:
        ValueError: a person is in too many pairs, or the payment is for another loss.
    """
    require_charged(allotment, plan)
    final_plan = _plan_for_pairs(plan, pairs, plan.distribution.require_type(PairSum))
    distribution = final_plan.distribution.require_type(PairSum)
    modulus = 1 << find_sum_noise(plan).width
    lowest = distribution.pairs * distribution.span // 2 - modulus // 2
    return Release(
        final_plan,
        (lowest + (noisy - lowest) % modulus + distribution.pairs * distribution.minimum,),
        allotment,
        seeded,
    )


def release_values(plan: Plan, pairs: IntArray, values: Sequence[int], allotment: Allotment) -> Release:
    """Release values that servers have sent to an analyst. The servers have charged for them.

    Args:
        plan: Plan of sums or answers of pairs.
        pairs: People of each pair, (pairs, 2).
        values: The noisy numbers.
        allotment: Proof that the loss of the plan was charged.

    Raises:
        ValueError: the number of values is wrong, or a person is in too many pairs.
    """
    distribution = plan.distribution.require_type(PairDistribution)  # type: ignore[type-abstract]
    return Release(_plan_for_pairs(plan, pairs, distribution), tuple(values), allotment, seeded=False)


def find_sum_noise(plan: Plan) -> FiniteLaplace:
    """Return the noise distribution that a plan of `plan_sum` adds to the sum over all pairs.

    Raises:
        ValueError: the plan is not about pairs.
    """
    return plan_sum_noise(_require_pair_query(plan), plan.loss, plan.distribution.require_type(PairSum).people)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SimulatedPeople:
    """SECRET. Values of all people in one place, for simulations. It has no repr.

    Attributes:
        kernel: Kernel that is computed for each pair.
        table: Integers of all people, by column.
        seed: Seed that pairs are drawn from.
    """

    kernel: Kernel
    table: Mapping[str, Any]
    seed: bytes


def simulate_release(plan: Plan, people: SimulatedPeople, allotment: Allotment, randomness: Randomness) -> Release:
    """Simulate a release with all values in one place, by evaluating the circuit in the clear.

    Args:
        plan: Plan of sums or answers of pairs.
        people: Values and kernel.
        allotment: Proof that the loss of the plan was charged.
        randomness: Source of pairs and noise.

    Raises:
        ValueError: the table and the plan have different numbers of people, or a value does not fit its declared bits.
    """
    distribution, kernel = plan.distribution.require_type(PairDistribution), people.kernel  # type: ignore[type-abstract]
    columns = {name: _compute_column(people.table, name) for name in kernel.columns}
    if any(len(values) != distribution.people for values in columns.values()):
        raise InvalidArgument(
            "table",
            f"must have {distribution.people} rows, the people of the plan; plan again for the rows of the table",
        )
    query = _require_pair_query(plan)
    if query.seed_commitment and commit_to_seed(people.seed) != query.seed_commitment:
        raise InvalidArgument("seed", "must match the published commitment; use the seed that was made with the task")
    pairs = query.pairing.draw_pairs(distribution.people, people.seed)
    first, second = ({name: values[pairs[:, side]] for name, values in columns.items()} for side in (0, 1))
    if distribution.has_pair_answers:
        answers = simulate_answers(plan_response(query, plan.loss), kernel, (first, second), randomness)
        return release_answers(plan, pairs, answers, allotment, seeded=randomness.is_seeded)
    noise = find_sum_noise(plan)
    draws = [
        int.from_bytes(randomness.random_bytes(width + 7 >> 3), "little") % (1 << width)
        for width in noise.random_widths
    ]
    exact_sum = _sum_exactly(kernel.evaluate(first, second) - distribution.minimum)
    noisy = (exact_sum + noise.compute_noise(draws)) % (1 << noise.width)
    return release_sum(plan, pairs, noisy, allotment, seeded=randomness.is_seeded)


def _compute_column(table: Mapping[str, Any], name: str) -> Any:
    """Return a column of a table, or the value of an expression of its columns as integers; a missing value is 0.

    Args:
        table: Values of all people, by column.
        name: Name of a column, or an expression such as ``age >= 65``.
    """
    if name in table or not LOOKS_LIKE_AN_EXPRESSION.search(name):
        return np.asarray(table[name])
    values = evaluate_expression(parse_expression(name), table, ValueType.NUMBER)
    return np.nan_to_num(values).astype(np.int64)


def simulate_answers(
    response: Response, kernel: Kernel, people: tuple[Mapping[str, Any], ...], randomness: Randomness
) -> IntArray:
    """Return the randomised answer of each pair, by evaluating the pairs' circuit without encryption.

    Formal guarantees: each pair's answer loses what `plan_response` states, and each pair has its own random bits.

    Args:
        response: Randomised response to the kernel.
        kernel: Function of the values of two people.
        people: Values of the first and of the second person of each pair, by column, each of shape (pairs,).
        randomness: Source of the random bits.

    Returns:
        The answers, (pairs,).
    """
    inputs = []
    for person in people:
        inputs += [person[name] for name in kernel.columns]
        pair_count = len(inputs[0])
        inputs += [
            randomness.sample_words(pair_count) >> np.uint64(64 - bits)
            for bits in random_input_widths(response).values()
        ]
    (answers,) = evaluate_circuit(build_noisy_circuit(kernel, response), *inputs)
    return np.asarray(response.decode_answers(answers), dtype=np.int64)


def _require_pair_query(plan: Plan) -> PairQuery:
    """Return the question about pairs that a plan answers; refuse plans of other questions.

    Raises:
        ValueError: the plan is of another question.
    """
    query = plan.query.as_kind(PairQuery)
    if query is None:
        raise InvalidArgument("plan", "must be a plan of a question about pairs; plan a dp.pairs question")
    return query


def _plan_for_pairs(plan: Plan, pairs: IntArray, distribution: PairDistribution) -> Plan:
    """Return the plan with the public number of pairs that answered, and with the numbers of their overlaps.

    Args:
        plan: Plan of all pairs.
        pairs: Pairs that answered, as numbers of people from 0, (pairs, 2).
        distribution: Distribution of the plan.

    Raises:
        ValueError: a pair is impossible, or a person is in too many.
    """
    if len(pairs) and not (
        pairs.min() >= 0 and pairs.max() < distribution.people and (pairs[:, 0] != pairs[:, 1]).all()
    ):
        raise InvalidArgument(
            "pairs", f"must be pairs of two different people, numbered from 0 to {distribution.people - 1}"
        )
    if len(pairs) and int(np.bincount(pairs.ravel()).max()) > _require_pair_query(plan).pairs_per_unit:
        raise InvalidArgument(
            "pairs",
            "must have each person in at most as many pairs as the plan allows; take the pairs from the plan's seed",
        )
    overlaps = Overlaps.from_pairs(pairs, distribution.people)
    final_distribution = replace(
        distribution,
        pairs=int(overlaps.pairs),
        one_shared=int(overlaps.one_shared),
        both_shared=int(overlaps.both_shared),
    )
    return replace(plan, distribution=final_distribution)


def _sum_products(pairs: IntArray, answers: IntArray, people: int) -> int:
    """Return the sum of products of answers over couples of pairs with exactly one person in common, each couple once.

    This is the sum over all couples of each person's pairs, minus twice the sum over couples of repeated pairs, which
    are counted once for each of their two people.

    Args:
        pairs: Numbers of people from 0, (pairs, 2).
        answers: Answer of each pair, (pairs,).
        people: Number of people.
    """
    by_person = _sum_group_products(pairs.ravel(), np.repeat(answers, 2), people)
    low, high = np.sort(pairs, axis=1).T
    distinct, pair_index = np.unique(low * people + high, return_inverse=True)
    return by_person - 2 * _sum_group_products(pair_index, answers, len(distinct))


def _sum_group_products(groups: IntArray, answers: IntArray, group_count: int) -> int:
    """Return the sum of ``answers[i] * answers[j]`` over all i < j of the same group.

    Per group this is half of the squared sum minus the sum of squares.

    Args:
        groups: Group of each answer, from 0 to ``group_count - 1``.
        answers: The answers, of the same shape.
        group_count: Number of groups.
    """
    sums = np.zeros(group_count, dtype=np.int64)
    squares = np.zeros(group_count, dtype=np.int64)
    np.add.at(sums, groups, answers)
    np.add.at(squares, groups, answers**2)
    return (_sum_exactly(sums**2) - _sum_exactly(squares)) // 2


def _sum_exactly(numbers: IntArray | BoolArray) -> int:
    """Return the sum as a Python integer, which cannot overflow.

    Args:
        numbers: Integers, or flags that count 1 if true.

    Returns:
        The sum; 0 without numbers.
    """
    return int(np.sum(numbers.astype(object))) if len(numbers) else 0
