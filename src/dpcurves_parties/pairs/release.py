"""Releases of pairs of people: three sums of all answers, or the one noisy sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan, Release
from dpcurves.ledger import Allotment
from dpcurves.noise.randomness import Randomness
from dpcurves.trust.base import require
from dpcurves_parties.pairs.queries import Overlaps, PairQuery, commitment

from ..crypto.circuits import evaluated
from .mechanisms import Kernel, coin_inputs, noise_of_sum, noisy_circuit, response_of
from .noise_circuits import FiniteLaplace, Response
from .queries import PairAnswers, PairLaw, PairSum


def of_answers(plan: Plan, pairs: IntArray, answers: IntArray, allotment: Allotment, *, seeded: bool) -> Release:
    """The release of answers that came, each pair's own.

    Formal guarantees: it depends on the values of people through these answers alone.

    Args:
        plan: Plan, made by `dpcurves_parties.pairs.mechanisms.planned_answers`.
        pairs: The pairs that came, as numbers of people: (pairs, 2).
        answers: Answer of each pair.
        allotment: Allotment that paid for it.
        seeded: True if the coins come from a known seed and can be drawn again.

    Raises:
        ValueError: there are not as many answers as pairs, somebody is in too many pairs, or the payment is for another
            loss.
    """
    require(allotment, plan)
    if len(answers) != len(pairs):
        raise Refused("answers", f"{len(pairs)} pairs came with {len(answers)} answers")
    done = _carried_out(plan, pairs, plan.law.required(PairAnswers))
    told, allowed = answers.astype(np.int64), response_of(_query(plan), plan.loss).answers
    if len(told) and not (told.min() >= allowed.start and told.max() < allowed.stop):
        raise Refused("answers", f"from {allowed.start} to {allowed.stop - 1} is answered")
    values = (_total(told), _total(told**2), _products(pairs, told, done.law.required(PairAnswers).people))
    return Release(done, values, allotment, seeded)


def of_sum(plan: Plan, pairs: IntArray, noisy: int, allotment: Allotment, *, seeded: bool) -> Release:
    """The release of a noisy sum of the values of pairs, each from the kernel's least on, as it stood on its circle.

    Args:
        plan: Plan, made by `dpcurves_parties.pairs.mechanisms.planned_sum`.
        pairs: The pairs that came, as numbers of people: (pairs, 2).
        noisy: The noisy sum, from 0 on.
        allotment: Allotment that paid for it.
        seeded: True if the coins come from a known seed and can be drawn again.

    Raises:
        ValueError: somebody is in too many pairs, or the payment is for another loss.
    """
    require(allotment, plan)
    done = _carried_out(plan, pairs, plan.law.required(PairSum))
    law, circle = done.law.required(PairSum), 1 << noise_of(plan).width
    first = law.pairs * law.span // 2 - circle // 2
    return Release(done, (first + (noisy - first) % circle + law.pairs * law.least,), allotment, seeded)


def told(plan: Plan, pairs: IntArray, values: Sequence[int], allotment: Allotment) -> Release:
    """Release of the values that two servers have sent to an analyst of all pairs: they have charged for it.

    Raises:
        ValueError: there are not as many numbers as are told, or somebody is in too many pairs.
    """
    return Release(_carried_out(plan, pairs, plan.law.required(PairLaw)), tuple(values), allotment, seeded=False)  # type: ignore[type-abstract]


def noise_of(plan: Plan) -> FiniteLaplace:
    """The noise on the sum of a plan."""
    return noise_of_sum(_query(plan), plan.loss, plan.law.required(PairSum).people)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Everybody:
    """SECRET. All people in one place, for simulations. It has no repr.

    Attributes:
        kernel: Kernel that is computed for each pair.
        table: Whole numbers of all people, by column.
        seed: Seed that pairs are drawn from: public, but nobody chose it.
    """

    kernel: Kernel
    table: Mapping[str, Any]
    seed: bytes


def simulated(plan: Plan, everybody: Everybody, allotment: Allotment, randomness: Randomness) -> Release:
    """Simulate all pairs in one place, by their circuit in the clear: the caller sees all values.

    Raises:
        ValueError: the table has not as many people as the plan, or something is no whole number of so many bits.
    """
    law, kernel = plan.law.required(PairLaw), everybody.kernel  # type: ignore[type-abstract]
    columns = {name: np.asarray(everybody.table[name]) for name in kernel.columns}
    if any(len(values) != law.people for values in columns.values()):
        raise Refused("table", f"the plan is for {law.people} people")
    query = _query(plan)
    if query.seed and commitment(everybody.seed) != query.seed:
        raise Refused("seed", "it is not the one that was promised")
    pairs = query.pairing.pairs(law.people, everybody.seed)
    one, other = ({name: values[pairs[:, place]] for name, values in columns.items()} for place in (0, 1))
    if law.is_answered:
        answers = answered(response_of(query, plan.loss), kernel, (one, other), randomness)
        return of_answers(plan, pairs, answers, allotment, seeded=randomness.seeded)
    noise = noise_of(plan)
    coins = [int.from_bytes(randomness.octets(places + 7 >> 3), "little") % (1 << places) for places in noise.coins]
    noisy = (_total(kernel.evaluated(one, other) - law.least) + noise.noise(coins)) % (1 << noise.width)
    return of_sum(plan, pairs, noisy, allotment, seeded=randomness.seeded)


def answered(
    response: Response, kernel: Kernel, people: tuple[Mapping[str, Any], ...], randomness: Randomness
) -> IntArray:
    """Randomised answers of pairs, by the circuit in the clear: values of the first and of the second person of each.

    Formal guarantees: one pair's answer loses what `response_of` says, and coins of each pair are its own.
    """
    given = []
    for person in people:
        given += [person[name] for name in kernel.columns]
        many = len(given[0])
        given += [randomness.words(many) >> np.uint64(64 - bits) for bits in coin_inputs(response).values()]
    (told,) = evaluated(noisy_circuit(kernel, response), *given)
    return np.asarray(response.decoded(told), dtype=np.int64)


def _query(plan: Plan) -> PairQuery:
    query = plan.query.narrowed(PairQuery)
    if query is None:
        raise Refused("plan", "it is for another question than one about pairs")
    return query


def _carried_out(plan: Plan, pairs: IntArray, law: PairLaw) -> Plan:
    """The plan with the pairs that came: which they are is public."""
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < law.people and (pairs[:, 0] != pairs[:, 1]).all()):
        raise Refused("pairs", f"two of {law.people} people are in each")
    if len(pairs) and int(np.bincount(pairs.ravel()).max()) > _query(plan).pairs_per_unit:
        raise Refused("pairs", "somebody is in more pairs than was planned")
    found = Overlaps.of(pairs, law.people)
    done = replace(law, pairs=int(found.pairs), one=int(found.one), both=int(found.both))
    return replace(plan, law=done)


def _products(pairs: IntArray, answers: IntArray, people: int) -> int:
    """The sum of products of answers over couples of pairs with exactly one person in common, each couple once.

    Those of all couples of a person's pairs, over all people, less twice those of repetitions, who are counted for both
    people.
    """
    by_person = _couples(pairs.ravel(), np.repeat(answers, 2), people)
    low, high = np.sort(pairs, axis=1).T
    same, place = np.unique(low * people + high, return_inverse=True)
    return by_person - 2 * _couples(place, answers, len(same))


def _couples(groups: IntArray, answers: IntArray, many: int) -> int:
    """The sum of products over couples of a group, over all groups."""
    sums, squares = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    np.add.at(sums, groups, answers)
    np.add.at(squares, groups, answers**2)
    return (_total(sums**2) - _total(squares)) // 2


def _total(numbers: IntArray | BoolArray) -> int:
    """The sum of any whole numbers, in Python's own."""
    return int(np.sum(numbers.astype(object))) if len(numbers) else 0
