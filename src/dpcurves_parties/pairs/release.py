"""Releases of pairs of people: three sums of all answers, or the one noisy sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan, Release
from dpcurves.ledger import Allotment
from dpcurves.noise.randomness import Randomness
from dpcurves.trust.base import require_charged
from dpcurves_parties.pairs.queries import Overlaps, PairQuery, commit_to_seed

from ..crypto.circuits import evaluate_circuit
from .mechanisms import Kernel, build_noisy_circuit, plan_response, plan_sum_noise, random_input_widths
from .noise_circuits import FiniteLaplace, Response
from .queries import PairAnswers, PairLaw, PairSum


def release_answers(plan: Plan, pairs: IntArray, answers: IntArray, allotment: Allotment, *, seeded: bool) -> Release:
    """The release of answers that came, each pair's own.

    Formal guarantees: it depends on the values of people through these answers alone.

    Args:
        plan: Plan, made by `dpcurves_parties.pairs.mechanisms.plan_answers`.
        pairs: The pairs that came, as numbers of people: (pairs, 2).
        answers: Answer of each pair.
        allotment: Allotment that paid for it.
        seeded: True if the coins come from a known seed and can be drawn again.

    Raises:
        ValueError: there are not as many answers as pairs, somebody is in too many pairs, or the payment is for another
            loss.
    """
    require_charged(allotment, plan)
    if len(answers) != len(pairs):
        raise InvalidArgument("answers", f"{len(pairs)} pairs came with {len(answers)} answers")
    done = _plan_for_pairs(plan, pairs, plan.law.require_type(PairAnswers))
    told, allowed = answers.astype(np.int64), plan_response(_require_pair_query(plan), plan.loss).answers
    if len(told) and not (told.min() >= allowed.start and told.max() < allowed.stop):
        raise InvalidArgument("answers", f"from {allowed.start} to {allowed.stop - 1} is answered")
    values = (
        _sum_exactly(told),
        _sum_exactly(told**2),
        _sum_products(pairs, told, done.law.require_type(PairAnswers).people),
    )
    return Release(done, values, allotment, seeded)


def release_sum(plan: Plan, pairs: IntArray, noisy: int, allotment: Allotment, *, seeded: bool) -> Release:
    """The release of a noisy sum of the values of pairs, each from the kernel's least on, as it stood on its circle.

    Args:
        plan: Plan, made by `dpcurves_parties.pairs.mechanisms.plan_sum`.
        pairs: The pairs that came, as numbers of people: (pairs, 2).
        noisy: The noisy sum, from 0 on.
        allotment: Allotment that paid for it.
        seeded: True if the coins come from a known seed and can be drawn again.

    Raises:
        ValueError: somebody is in too many pairs, or the payment is for another loss.
    """
    require_charged(allotment, plan)
    done = _plan_for_pairs(plan, pairs, plan.law.require_type(PairSum))
    law, circle = done.law.require_type(PairSum), 1 << find_sum_noise(plan).width
    first = law.pairs * law.span // 2 - circle // 2
    return Release(done, (first + (noisy - first) % circle + law.pairs * law.least,), allotment, seeded)


def release_values(plan: Plan, pairs: IntArray, values: Sequence[int], allotment: Allotment) -> Release:
    """Release of the values that two servers have sent to an analyst of all pairs: they have charged for it.

    Raises:
        ValueError: there are not as many numbers as are told, or somebody is in too many pairs.
    """
    return Release(_plan_for_pairs(plan, pairs, plan.law.require_type(PairLaw)), tuple(values), allotment, seeded=False)  # type: ignore[type-abstract]


def find_sum_noise(plan: Plan) -> FiniteLaplace:
    """The noise on the sum of a plan."""
    return plan_sum_noise(_require_pair_query(plan), plan.loss, plan.law.require_type(PairSum).people)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SimulatedPeople:
    """SECRET. All people in one place, for simulations. It has no repr.

    Attributes:
        kernel: Kernel that is computed for each pair.
        table: Whole numbers of all people, by column.
        seed: Seed that pairs are drawn from: public, but nobody chose it.
    """

    kernel: Kernel
    table: Mapping[str, Any]
    seed: bytes


def simulate_release(plan: Plan, people: SimulatedPeople, allotment: Allotment, randomness: Randomness) -> Release:
    """Simulate all pairs in one place, by their circuit in the clear: the caller sees all values.

    Raises:
        ValueError: the table has not as many people as the plan, or something is no whole number of so many bits.
    """
    law, kernel = plan.law.require_type(PairLaw), people.kernel  # type: ignore[type-abstract]
    columns = {name: np.asarray(people.table[name]) for name in kernel.columns}
    if any(len(values) != law.people for values in columns.values()):
        raise InvalidArgument("table", f"the plan is for {law.people} people")
    query = _require_pair_query(plan)
    if query.seed_commitment and commit_to_seed(people.seed) != query.seed_commitment:
        raise InvalidArgument("seed", "it is not the one that was promised")
    pairs = query.pairing.draw_pairs(law.people, people.seed)
    one, other = ({name: values[pairs[:, place]] for name, values in columns.items()} for place in (0, 1))
    if law.has_pair_answers:
        answers = simulate_answers(plan_response(query, plan.loss), kernel, (one, other), randomness)
        return release_answers(plan, pairs, answers, allotment, seeded=randomness.is_seeded)
    noise = find_sum_noise(plan)
    coins = [
        int.from_bytes(randomness.random_bytes(places + 7 >> 3), "little") % (1 << places)
        for places in noise.random_widths
    ]
    noisy = (_sum_exactly(kernel.evaluate(one, other) - law.least) + noise.compute_noise(coins)) % (1 << noise.width)
    return release_sum(plan, pairs, noisy, allotment, seeded=randomness.is_seeded)


def simulate_answers(
    response: Response, kernel: Kernel, people: tuple[Mapping[str, Any], ...], randomness: Randomness
) -> IntArray:
    """Randomised answers of pairs, by the circuit in the clear: values of the first and of the second person of each.

    Formal guarantees: one pair's answer loses what `plan_response` says, and coins of each pair are its own.
    """
    given = []
    for person in people:
        given += [person[name] for name in kernel.columns]
        many = len(given[0])
        given += [
            randomness.sample_words(many) >> np.uint64(64 - bits) for bits in random_input_widths(response).values()
        ]
    (told,) = evaluate_circuit(build_noisy_circuit(kernel, response), *given)
    return np.asarray(response.decode_answers(told), dtype=np.int64)


def _require_pair_query(plan: Plan) -> PairQuery:
    query = plan.query.as_kind(PairQuery)
    if query is None:
        raise InvalidArgument("plan", "it is for another question than one about pairs")
    return query


def _plan_for_pairs(plan: Plan, pairs: IntArray, law: PairLaw) -> Plan:
    """The plan with the pairs that came: which they are is public."""
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < law.people and (pairs[:, 0] != pairs[:, 1]).all()):
        raise InvalidArgument("pairs", f"two of {law.people} people are in each")
    if len(pairs) and int(np.bincount(pairs.ravel()).max()) > _require_pair_query(plan).pairs_per_unit:
        raise InvalidArgument("pairs", "somebody is in more pairs than was planned")
    found = Overlaps.from_pairs(pairs, law.people)
    done = replace(law, pairs=int(found.pairs), one_shared=int(found.one_shared), both_shared=int(found.both_shared))
    return replace(plan, law=done)


def _sum_products(pairs: IntArray, answers: IntArray, people: int) -> int:
    """The sum of products of answers over couples of pairs with exactly one person in common, each couple once.

    Those of all couples of a person's pairs, over all people, less twice those of repetitions, who are counted for both
    people.
    """
    by_person = _sum_group_products(pairs.ravel(), np.repeat(answers, 2), people)
    low, high = np.sort(pairs, axis=1).T
    same, place = np.unique(low * people + high, return_inverse=True)
    return by_person - 2 * _sum_group_products(place, answers, len(same))


def _sum_group_products(groups: IntArray, answers: IntArray, many: int) -> int:
    """The sum of products over couples of a group, over all groups."""
    sums, squares = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    np.add.at(sums, groups, answers)
    np.add.at(squares, groups, answers**2)
    return (_sum_exactly(sums**2) - _sum_exactly(squares)) // 2


def _sum_exactly(numbers: IntArray | BoolArray) -> int:
    """The sum of any whole numbers, in Python's own."""
    return int(np.sum(numbers.astype(object))) if len(numbers) else 0
