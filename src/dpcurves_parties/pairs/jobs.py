"""Two-party computation jobs of a mean over pairs: each pair's noisy answer, or one noisy sum of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcurves.arrays import BoolArray, IntArray
from dpcurves.noise.randomness import Randomness

from ..crypto.circuits import Bits, Circuit, traced
from ..crypto.two_party import Ending, Job, Owner
from .finite_coins import FiniteLaplace, Response, around
from .mechanisms import Kernel, coin_inputs, noisy_circuit, sizes_of_coins
from .values import whole_numbers

Numbers = NDArray[np.uint64]


def answers_of_pairs(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers: the garbler has the first person's values and coins, the evaluator the second one's."""
    circuit = noisy_circuit(kernel, response)
    half = len(circuit.inputs) // 2
    return Job(name, circuit, (Owner.GARBLER,) * half + (Owner.EVALUATOR,) * half, pairs)


def answers_by_servers(name: bytes, kernel: Kernel, response: Response, pairs: int) -> Job:
    """Each pair answers, by two servers with XOR shares of all values: either throws the coins of one side."""
    circuit = noisy_circuit(kernel, response)
    values, coins = (Owner.SHARED,) * len(kernel.columns), len(coin_inputs(response))
    owners = (*values, *(Owner.GARBLER,) * coins, *values, *(Owner.EVALUATOR,) * coins)
    return Job(name, circuit, owners, pairs)


def given_to_answers_by_servers(  # noqa: PLR0917
    kernel: Kernel, response: Response, shares: Mapping[str, Numbers], pairs: IntArray, party: int,
    randomness: Randomness,
) -> list[Numbers | None]:  # fmt: skip
    """SECRET: what one server gives to `answers_by_servers`: shares of both people of each pair, and its coins."""
    given: list[Numbers | None] = []
    for person in (0, 1):
        given += [shares[name][pairs[:, person]] for name in kernel.columns]
        own, widths = person == party, coin_inputs(response).values()
        given += [randomness.words(len(pairs)) >> np.uint64(64 - bits) if own else None for bits in widths]
    return given


def given_to_answers(
    kernel: Kernel, response: Response, values: Mapping[str, Any], party: int, randomness: Randomness
) -> list[Numbers | None]:
    """SECRET: what one party gives to `answers_of_pairs`: values by column, and coins that it throws."""
    own = [whole_numbers(values[name], bits) for name, bits in zip(kernel.columns, kernel.bits.values(), strict=True)]
    count = len(own[0])
    own += [randomness.words(count) >> np.uint64(64 - bits) for bits in coin_inputs(response).values()]
    nothing: list[Numbers | None] = [None] * len(own)
    return [*nothing, *own] if party else [*own, *nothing]


def response_to(response: Response, bits: Sequence[BoolArray]) -> IntArray:
    """The answers whose wires have these bits."""
    places = [bit.astype(np.int64) << place for place, bit in enumerate(bits)]
    return response.decoded(np.sum(places, axis=0, dtype=np.int64))


def sum_of_pairs(name: bytes, kernel: Kernel, noise: FiniteLaplace, pairs: int) -> Job:
    """Two servers with XOR shares of all values: the sum of the kernel over pairs, from its least value on, and noise.

    The result stands on the circle of the noise. All coins are thrown by both.
    """
    owners = (Owner.SHARED,) * len(kernel.circuit.inputs)
    plain = Job(name, kernel.circuit, owners, pairs)
    ending = _noisy_total(plain, kernel.form.least, noise)
    return Job(name, kernel.circuit, owners, pairs, Ending(ending, (Owner.COIN,) * (len(ending.inputs) - 1)))


def _noisy_total(plain: Job, least: int, noise: FiniteLaplace) -> Circuit:
    def noisy(total: Bits, *coins: Bits) -> Bits:
        number = total - (plain.total_offset + plain.count * least)
        thrown = noise.wires([each for coin in coins for each in coin.places()])
        found = around(number.places(noise.width), thrown)
        return Bits.of_places(found)

    return traced(noisy, plain.total_width, *sizes_of_coins(noise.coins))


def shares_of(
    values: Mapping[str, Any], widths: Mapping[str, int], randomness: Randomness
) -> tuple[dict[str, Numbers], ...]:
    """SECRET: two XOR shares of values by column, each uniform on its own, whatever values are: one for each server.

    Values count as `whole` says: a mask covers so many bits, and no more are shared.
    """
    masks = {name: randomness.words(len(values[name])) >> np.uint64(64 - width) for name, width in widths.items()}
    return masks, {name: whole_numbers(values[name], width) ^ masks[name] for name, width in widths.items()}


def given_to_sum(kernel: Kernel, shares: Mapping[str, Numbers], pairs: IntArray) -> list[Numbers | None]:
    """SECRET: what one server gives to `sum_of_pairs`: its shares of both people of each pair."""
    return [shares[name][pairs[:, person]] for person in (0, 1) for name in kernel.columns]


def number_of(bits: Sequence[BoolArray]) -> int:
    """The number of an opened sum."""
    return sum(int(bit[0]) << place for place, bit in enumerate(bits))
