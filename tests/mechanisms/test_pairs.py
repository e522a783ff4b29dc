"""All answers of a person's pairs together lose at most epsilon; circuits are the plain functions of coins."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves.privacy import EACH_RECORD, AddRemove, ReplaceOne
from dpcurves_parties.crypto.circuits import evaluate_circuit
from dpcurves_parties.pairs import OwnChoice, Permutations, WithoutRepetition
from dpcurves_parties.pairs.mechanisms import (
    COLLISION,
    GINI,
    KENDALL,
    Kernel,
    Unsigned,
    build_noisy_circuit,
    plan_answers,
    plan_response,
    plan_sum,
    plan_sum_noise,
    random_input_widths,
)  # fmt: skip
from dpcurves_parties.pairs.noise_circuits import (
    BinaryResponse,
    LaplaceResponse,
    Response,
    RoundedResponse,
    TernaryResponse,
)
from dpcurves_parties.pairs.queries import Pairing, PairQuery

SMALL = (
    COLLISION.with_columns(value=Unsigned(1)), GINI.with_columns(value=Unsigned(2)),
    KENDALL.with_columns(first=Unsigned(1), second=Unsigned(1)),
    GINI.with_columns(value=Unsigned(1)).with_filter("age >= 65"),
)  # fmt: skip
WAYS = (Permutations(2), WithoutRepetition(2), OwnChoice(2))


def adjacency(people: int) -> ReplaceOne:
    return ReplaceOne(EACH_RECORD, people)


def people_of(kernel: Kernel) -> list[tuple[int, ...]]:
    return list(product(*(range(2**bits) for bits in kernel.bits.values())))


def is_within(ratio: Fraction, epsilon: Fraction) -> bool:
    return ratio * bound_exp_neg(epsilon, 400)[1] <= 1 << 400


@pytest.mark.quick_share(36, kinds=[("way", "kernel"), "epsilon"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
@pytest.mark.parametrize("kernel", SMALL, ids=("collision", "gini", "kendall", "filtered"))
@pytest.mark.parametrize("epsilon", ["1/1000", "1", "6"])
def test_the_answers_of_all_pairs_together_lose_at_most_epsilon(kernel: Kernel, way: Pairing, epsilon: str) -> None:
    """All values of three and four people, whoever is replaced by whomever: the largest ratio of whole transcripts."""
    loss, values = dp.PrivacyLoss.pure(epsilon), people_of(kernel)
    table = kernel_table(kernel)
    for people in (3, 4) if len(values) < 4 else (3,):
        query = PairQuery.from_kernel(kernel.form, way)
        pairs, told = way.draw_pairs(people, bytes([people] * 32)).tolist(), set()
        for everybody in product(range(len(values)), repeat=people):
            for who, other in product(range(people), range(len(values))):
                replaced = (*everybody[:who], other, *everybody[who + 1 :])
                told.add(tuple(tuple(table[all_[a]][all_[b]] for all_ in (everybody, replaced)) for a, b in pairs))
        worst = largest_ratios(plan_response(query, loss))
        ratios: list[Fraction] = [prod((worst[both] for both in each), start=Fraction(1)) for each in told]
        assert is_within(max(ratios), Fraction(epsilon))


def kernel_table(kernel: Kernel) -> list[list[int]]:
    """The kernel's value for all pairs of people that there may be."""
    values = np.array(people_of(kernel))
    one, other = np.repeat(values, len(values), axis=0), np.tile(values, (len(values), 1))
    columns = [dict(zip(kernel.columns, each.T, strict=True)) for each in (one, other)]
    return kernel.evaluate(*columns).reshape(len(values), -1).tolist()


@cache
def largest_ratios(response: Response) -> dict[tuple[int, ...], Fraction]:
    """How much likelier an answer may be about one value than about another."""
    return {
        (one, other): max(
            response.probability(one, answer) / response.probability(other, answer) for answer in response.answers
        )
        for one, other in product(response.values, repeat=2)
    }


@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
@pytest.mark.parametrize("kernel", SMALL, ids=("collision", "gini", "kendall", "filtered"))
def test_a_sum_changes_with_a_person_by_no_more_than_its_noise_is_for(kernel: Kernel, way: Pairing) -> None:
    values, table, people = people_of(kernel), kernel_table(kernel), 4 if len(people_of(kernel)) < 4 else 3
    query = PairQuery.from_kernel(kernel.form, way)
    noise = plan_sum_noise(query, dp.PrivacyLoss.pure(1), people)
    assert noise.sensitivity == query.per_record_sensitivity == 2 * kernel.form.span
    changes = set()
    for number in range(5):
        pairs = way.draw_pairs(people, bytes([number] * 32)).tolist()
        for everybody in product(range(len(values)), repeat=people):
            for other in range(len(values)):
                replaced = (other, *everybody[1:])
                sums = (sum(table[all_[a]][all_[b]] for a, b in pairs) for all_ in (everybody, replaced))
                changes.add(abs(next(sums) - next(sums)))
    assert max(changes) <= noise.sensitivity


def test_the_noisy_sum_of_neighbours_loses_at_most_epsilon() -> None:
    """Sums that differ by the most they can, on the whole circle, with its rare even noise."""
    query, epsilon = (
        PairQuery.from_kernel(COLLISION.with_columns(value=Unsigned(1)).form, Permutations(2)),
        Fraction(16),
    )
    noise = plan_sum_noise(query, dp.PrivacyLoss.pure(epsilon), 100)
    assert not noise.is_full_circle
    chances = [noise.probability(each) for each in range(1 << noise.width)]
    for change in range(noise.sensitivity + 1):
        both = zip(chances, chances[change:] + chances[:change], strict=True)
        assert is_within(max(max(one / other, other / one) for one, other in both), epsilon)


@pytest.mark.parametrize(
    ("kernel", "response"),
    [
        (COLLISION, BinaryResponse(Fraction(1))), (KENDALL, TernaryResponse(Fraction(1))),
        (GINI, RoundedResponse(Fraction(1), 0, 2**16 - 1, 0)), (GINI, RoundedResponse(Fraction(4), 0, 2**16 - 1, 6)),
        (GINI.with_columns(value=Unsigned(6)), LaplaceResponse(Fraction(1), 63)),
    ],
    ids=["flip", "three", "one bit", "rounded", "lattice"],
)  # fmt: skip
def test_the_circuit_of_kernel_and_coins_answers_as_the_plain_functions_do(kernel: Kernel, response: Response) -> None:
    generator = np.random.default_rng(7)
    people, brought = [], []
    for _ in range(2):
        people.append(
            {
                name: generator.integers(0, 2**bits, 200) >> generator.integers(0, bits, 200)
                for name, bits in kernel.form.columns
            }
        )
        words = {name: generator.integers(0, 2**64, 200, dtype=np.uint64) for name in random_input_widths(response)}
        brought.append(
            {name: words[name] >> np.uint64(64 - bits) for name, bits in random_input_widths(response).items()}
        )
    given = [
        each for person, coins in zip(people, brought, strict=True) for each in (*person.values(), *coins.values())
    ]
    (codes,) = evaluate_circuit(build_noisy_circuit(kernel, response), *given)
    exact = kernel.evaluate(*people)
    for place in range(200):
        thrown, start = 0, 0
        for name, bits in random_input_widths(response).items():
            thrown |= int(brought[0][name][place] ^ brought[1][name][place]) << start
            start += bits
        coins = []
        for size in response.random_widths:
            coins.append(thrown % (1 << size))
            thrown >>= size
        assert response.decode_answers(int(codes[place])) == response.answer(int(exact[place]), coins)


def test_errors_are_those_that_were_worked_out_by_hand() -> None:
    """Theorem 5 has 4 P / (n epsilon**2) where 2 P / (n epsilon**2) is printed; randomised response does better."""
    people, loss = 10**5, dp.PrivacyLoss.pure(1)
    each = dp.pairs.plan(COLLISION, people=people, pairs_per_person=1, loss=loss)
    assert each.error == pytest.approx(0.0048, abs=0.0001)
    terms: dict[str, Any] = {
        "people": people,
        "loss": loss,
        "noise": dp.pairs.NoisePlacement.ON_SUM,
        "zetas": dp.pairs.Zetas(1 / 12, 1 / 4),
    }
    on_sum = [dp.pairs.plan(COLLISION, pairs_per_person=many, **terms).error for many in (1, 8)]
    assert on_sum == pytest.approx([0.00224, 0.00188], abs=0.00001)
    laplace = LaplaceResponse(Fraction(1, 2), 64)
    assert laplace.max_variance / 64**2 / (people * 2 / 2) == pytest.approx(4 * 2 / people, rel=1e-3)


def test_what_can_not_be_planned_is_refused() -> None:
    query, loss = PairQuery.from_kernel(COLLISION.form, Permutations(1)), dp.PrivacyLoss.pure(1)
    for planned in (plan_answers, plan_sum):
        with pytest.raises(dp.UnsupportedQuery, match="adjacency"):
            planned(query, loss, AddRemove(EACH_RECORD))
        with pytest.raises(dp.UnsupportedQuery, match="loss"):
            planned(query, dp.PrivacyLoss.zcdp(1), adjacency(10))
        with pytest.raises(dp.UnsupportedQuery, match="people"):
            planned(query, loss, adjacency(1))
        with pytest.raises(dp.UnsupportedQuery, match="epsilon"):
            planned(query, dp.PrivacyLoss.pure("1e-9"), adjacency(10))
    with pytest.raises(ValueError, match="symmetric"):
        Kernel(lambda x, y: x.score < y.score, score=Unsigned(32))
    with pytest.raises(TypeError, match="Unsigned"):
        Kernel(lambda x, y: x == y)
