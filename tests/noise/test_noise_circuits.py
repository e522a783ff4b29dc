"""Noise from finite coins loses at most epsilon, in whole numbers; its circuits are its plain functions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpcurves.noise.exponential import bound_exp_neg
from dpcurves_parties.pairs.noise_circuits import (
    BinaryResponse,
    FiniteLaplace,
    LaplaceResponse,
    Response,
    RoundedResponse,
    TernaryResponse,
    choose_response,
)
from dpcurves_parties.pairs.noise_circuits.response import (
    add_constant,
    add_modulo,
    add_numbers,
    compare_below,
    multiply_constant,
)
from dpcurves_parties.pairs.noise_circuits.rounded import MOST_STEP_BITS

EPSILONS = [
    Fraction(text)
    for text in ("1/1048576", "1/10000", "1/1000", "1/100", "1/10", "1/3", "1", "7/4", "3", "8", "30", "64")
]
BITS = 400


def is_within(most: Fraction, least: Fraction, epsilon: Fraction) -> bool:
    """Whether ``most <= exp(epsilon) * least``, in whole numbers."""
    return most * bound_exp_neg(epsilon, BITS)[1] <= least * (1 << BITS) and least > 0


def holds(response: Response) -> bool:
    """Whether no answer tells any two values apart by more than epsilon."""
    told = ([response.probability(value, answer) for value in response.values] for answer in response.answers)
    return all(is_within(max(chances), min(chances), response.epsilon) for chances in told)


def places(numbers: Any, width: int) -> list[Any]:
    return [np.asarray(numbers) >> place & 1 == 1 for place in range(width)]


def number(wires: Any) -> Any:
    return sum(np.asarray(wire).astype(np.int64) << place for place, wire in enumerate(wires))


class Gate:
    """A wire that counts the ANDs it goes through."""

    ands = 0

    def __xor__(self, other: Gate) -> Gate:
        return Gate()

    def __and__(self, other: Gate) -> Gate:
        Gate.ands += 1
        return Gate()

    def __invert__(self) -> Gate:
        return Gate()


def counted(response: Response, width: int) -> int:
    Gate.ands = 0
    response.wires([Gate() for _ in range(width)], [Gate() for _ in range(sum(response.random_widths))])
    return Gate.ands


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_every_response_loses_at_most_epsilon(epsilon: Fraction) -> None:
    assert holds(BinaryResponse(epsilon))
    assert holds(TernaryResponse(epsilon))
    for least, most in ((0, 1), (0, 2), (0, 5), (-3, 9), (0, 100)):
        assert holds(RoundedResponse(epsilon, least, most, 0))
    if epsilon >= Fraction(1, 10):
        assert holds(LaplaceResponse(epsilon, 1))
        assert holds(RoundedResponse(epsilon, -1, 5, 2))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3), Fraction(8), Fraction(30), Fraction(64)], ids=str)
def test_laplace_noise_on_64_steps_loses_at_most_epsilon_and_nearly_all_of_it(epsilon: Fraction) -> None:
    noise = LaplaceResponse(epsilon, 64).noise
    bits = sum(noise.random_widths)
    chances = [int(noise.probability(each) * 2**bits) for each in range(2**noise.width)]
    assert sum(chances) == 2**bits
    around_it = chances + chances[:65]
    told = [around_it[start : start + 65] for start in range(len(chances))]
    assert all(is_within(Fraction(max(each)), Fraction(min(each)), epsilon) for each in told)
    nearly = epsilon * Fraction(999, 1000)
    assert not all(is_within(Fraction(max(each)), Fraction(min(each)), nearly) for each in told)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("width", [40, 62])
def test_noise_on_a_sum_loses_at_most_epsilon_from_each_number_to_the_next(epsilon: Fraction, width: int) -> None:
    """What a step changes depends on how many digits it carries through: one step for each number of them is all."""
    noise = FiniteLaplace(epsilon, 1, width)
    half = 2**noise.digits
    steps = [(2**carried - 1, 2**carried) for carried in range(noise.digits)] + [(half - 1, half)]
    both = [*steps, *((~one, ~other) for one, other in steps), (0, -1), (half, half + 1), (-half - 1, -half)]
    both += [(2 ** (width - 1) - 1, 2 ** (width - 1))]
    for one, other in both:
        chances = noise.probability(one), noise.probability(other)
        assert is_within(max(chances), min(chances), epsilon)


@pytest.mark.parametrize(("epsilon", "reach"), [(Fraction(8), 1), (Fraction(16), 3), (Fraction(40), 5)])
def test_noise_on_a_sum_loses_at_most_epsilon_between_any_two_numbers_in_reach(epsilon: Fraction, reach: int) -> None:
    noise = FiniteLaplace(epsilon, reach, 10)
    assert not noise.is_full_circle
    chances = [noise.probability(each) for each in range(1024)]
    assert sum(chances) == 1
    for start in range(1024):
        near = [chances[(start + step) % 1024] for step in range(reach + 1)]
        assert is_within(max(near), min(near), epsilon)


@pytest.mark.parametrize("width", [40, 62])
@pytest.mark.parametrize(("epsilon", "reach"), [("1/1048576", 3), ("1", 12), ("3", 9), ("64", 5)])
def test_noise_on_a_sum_in_a_wide_circle_loses_at_most_epsilon_between_numbers_in_reach(
    epsilon: str, reach: int, width: int
) -> None:
    """Whoever goes from one number to another passes a multiple of the highest power of two that changes: digits above
    are common to both, and their chances cancel, but for the even noise that brings both nearer. So numbers about the
    powers of two, about 0 and about the end are all. Sums of 40 places have room for all of that noise, or go round.
    """
    noise = FiniteLaplace(Fraction(epsilon), reach, width)
    assert noise.is_full_circle == (epsilon == "1/1048576" and width == 40) or noise.digits < width
    farthest = 2**noise.digits
    even = Fraction(0) if noise.is_full_circle else Fraction(1, 2 ** (width + 64))
    for power in range(noise.digits):
        middle = 2**power
        numbers = range(max(0, middle - reach), min(2 * middle, middle + reach))
        drawn = [noise.probability(number) - even for number in numbers]
        assert all_within(drawn, reach, noise.epsilon)
    for middle in (0, farthest, -farthest):
        near = [noise.probability(number) for number in range(middle - reach, middle + reach)]
        assert all_within(near, reach, noise.epsilon)
        assert not all_within(near, reach, noise.epsilon / 2) or middle


def all_within(chances: list[Fraction], reach: int, epsilon: Fraction) -> bool:
    """Whether no two of these that are in reach of each other are told apart by more than epsilon."""
    near = (chances[start : start + reach + 1] for start in range(len(chances)))
    return all(is_within(max(each), min(each), epsilon) for each in near)


@pytest.mark.parametrize(("least", "most"), [(0, 100), (-7, 93), (0, 2**16 - 1), (-(2**31), 2**31 - 1)])
def test_the_finest_rounding_that_is_chosen_answers_about_64_steps_whatever_the_value_is(least: int, most: int) -> None:
    """So it loses what Laplace noise on 64 steps loses: rounding looks at coins of its own, here at all of them."""
    response = choose_response(least, most, Fraction(3))
    assert isinstance(response, RoundedResponse)
    within = LaplaceResponse(Fraction(3), 64)
    assert (response.max_step_bits, response.inner_response) == (MOST_STEP_BITS, within)
    nothing = [coin.numerator for coin in within.noise.samplers]
    for value in (least, least + 1, (least + most) // 3, most - 1, most):
        low, part = response._split_value(value)
        assert 0 <= low <= low + (part > 0) <= 64
        if response.dither_bits < 12:
            thrown = [response.answer(value, [dither, *nothing, 1, 0]) for dither in range(2**response.dither_bits)]
            assert set(thrown) <= {low, low + 1}
            assert Fraction(thrown.count(low + 1), len(thrown)) == part


def test_noise_that_is_cut_off_at_its_end_loses_everything() -> None:
    noise = FiniteLaplace(Fraction(8), 1, 10)
    last = 2**noise.digits - 1
    replaced = Fraction(1, 2**64 * 2**10)
    assert noise.probability(last + 1) == replaced
    assert noise.probability(last) > replaced, "so without the replacement the answer would name one of two neighbours"


ENUMERATED = [
    BinaryResponse(Fraction(1)), TernaryResponse(Fraction(1, 2)), RoundedResponse(Fraction(2), 0, 2, 0),
    pytest.param(RoundedResponse(Fraction(1), 0, 5, 0), marks=pytest.mark.reproduction),
]  # fmt: skip


@pytest.mark.parametrize("response", ENUMERATED)
def test_all_coins_together_have_the_chances_that_are_said(response: Any) -> None:
    """Each coin's every place, thrown in the circuit: 2**17 to 2**21 throws, counted."""
    bits = sum(response.random_widths)
    coins = places(np.arange(2**bits), bits)
    for value in response.values:
        wires = [np.full(2**bits, each) for each in places(value % 8, 3)]
        told = number(response.wires(wires[:2] if isinstance(response, TernaryResponse) else wires, coins))
        counts = np.bincount(told, minlength=2**response.width)
        for answer in response.answers:
            code = answer % 2**response.width
            assert counts[code] == response.probability(value, answer) * 2**bits


def test_digits_and_signs_have_the_chances_that_are_said() -> None:
    """Each coin shows heads at most up to its parts: tried on both sides of that, all coins together."""
    noise = LaplaceResponse(Fraction(3), 4).noise
    chances: dict[int, Fraction] = defaultdict(Fraction)
    for heads in product((True, False), repeat=len(noise.samplers)):
        coins = [
            coin.numerator - 1 if shown else coin.numerator for coin, shown in zip(noise.samplers, heads, strict=True)
        ]
        chance = Fraction(1)
        for coin, shown in zip(noise.samplers, heads, strict=True):
            chance *= coin.probability if shown else 1 - coin.probability
        chances[noise.compute_noise(coins)] += chance
    assert chances == {each: noise.probability(each) for each in chances}
    assert sum(chances.values()) == 1
    mean = sum(each * chance for each, chance in chances.items())
    assert float(mean) == pytest.approx(noise.mean)
    assert float(sum(each**2 * chance for each, chance in chances.items())) == pytest.approx(noise.variance)


@pytest.mark.parametrize(
    "response",
    [
        BinaryResponse(Fraction(1)), BinaryResponse(Fraction(1, 10000)), TernaryResponse(Fraction(1)),
        TernaryResponse(Fraction(30)),
        LaplaceResponse(Fraction(1), 64), LaplaceResponse(Fraction(30), 1), RoundedResponse(Fraction(1), 0,
        2**32 - 1, 0),
        RoundedResponse(Fraction(4), 0, 2**16 - 1, 6), RoundedResponse(Fraction(1), -7, 93, 6),
        RoundedResponse(Fraction(1), 0, 100, 0),
        RoundedResponse(Fraction(1), 0, 3, 6), RoundedResponse(Fraction(1), 0, 64, 6),
    ],
    ids=str,
)  # fmt: skip
def test_the_circuit_is_the_plain_function_bit_by_bit(response: Response) -> None:
    generator = np.random.default_rng(5)
    least, most = response.values.start, response.values[-1]
    width = (2 * max(abs(least), most)).bit_length()
    values = [least, most, *(int(generator.integers(least, most + 1)) for _ in range(300))]
    thrown = [[int.from_bytes(generator.bytes(16)) % 2**size for size in response.random_widths] for _ in values]
    bits = [coins_in_places(coins, response.random_widths) for coins in thrown]
    wires = response.wires(places([value % 2**width for value in values], width), list(np.array(bits, dtype=bool).T))
    told = [response.decode_answers(int(code)) for code in number(wires)]
    assert told == [response.answer(value, coins) for value, coins in zip(values, thrown, strict=True)]
    assert set(told) <= set(response.answers)
    assert counted(response, width) <= response.and_count + width


def coins_in_places(coins: list[int], sizes: tuple[int, ...]) -> list[int]:
    return [coin >> place & 1 for coin, size in zip(coins, sizes, strict=True) for place in range(size)]


def test_ands_are_as_few_as_planned() -> None:
    """16 for a yes or no, 48 for 32 places rounded to one bit, and below 276 for Laplace noise on 64 steps."""
    assert counted(BinaryResponse(Fraction(1)), 1) == BinaryResponse(Fraction(1)).and_count <= 16
    assert counted(TernaryResponse(Fraction(1)), 2) == TernaryResponse(Fraction(1)).and_count <= 48
    assert (
        counted(RoundedResponse(Fraction(1), 0, 2**32 - 1, 0), 32)
        == RoundedResponse(Fraction(1), 0, 2**32 - 1, 0).and_count
        <= 48
    )
    laplace = LaplaceResponse(Fraction(1), 64)
    assert counted(laplace, 7) == laplace.and_count < 276
    assert laplace.variance(0) < 1.0003 * 2 * 64**2


def test_one_bit_is_better_up_to_an_epsilon_of_two_and_laplace_noise_beyond() -> None:
    one_bit = choose_response(0, 2**16 - 1, Fraction(1))
    assert isinstance(one_bit, RoundedResponse)
    assert one_bit.max_variance / one_bit.span**2 == pytest.approx(1.17, abs=0.005)
    assert len(one_bit.answers) == 2
    assert len(choose_response(0, 2**16 - 1, Fraction(2)).answers) == 2
    assert len(choose_response(0, 2**16 - 1, Fraction(3)).answers) > 2
    assert choose_response(0, 1, Fraction(30)).random_widths == (0, *BinaryResponse(Fraction(30)).random_widths)


def test_answers_are_unbiased_and_scatter_as_said() -> None:
    for response in (
        TernaryResponse(Fraction(1)),
        RoundedResponse(Fraction(1), -2, 9, 0),
        RoundedResponse(Fraction(2), 0, 6, 2),
    ):
        for value in response.values:
            chances = [(answer, float(response.probability(value, answer))) for answer in response.answers]
            mean = sum(answer * chance for answer, chance in chances)
            assert mean == pytest.approx(float(response.offset + response.gain * value), abs=2e-3)
            scatter = sum((answer - mean) ** 2 * chance for answer, chance in chances)
            assert scatter == pytest.approx(response.variance(value), rel=2e-2)


def test_gates_are_arithmetic() -> None:
    numbers = np.arange(2**10)
    left, right = numbers & 31, numbers >> 5
    assert (number(add_numbers(places(left, 5), places(right, 5))) == left + right).all()
    assert (number(add_numbers(places(left, 5), places(right & 3, 2))) == left + (right & 3)).all()
    assert (number(add_modulo(places(left, 5), places(right & 7, 3))) == (left + (right & 7)) % 32).all()
    for public in range(1, 32):
        assert (compare_below(places(left, 5), public) == (left < public)).all()
        assert (number(add_constant(places(left, 5), public)) == (left + public) % 32).all()
    for factor in (1, 3, 5, 21, 63):
        assert (number(multiply_constant(places(left, 5), factor)) == left * factor).all()
