"""Means of a kernel over pairs of people: kernels as circuits, the named ones, and plans with noise in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256, shake_256
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    describe_value,
    parse_positive_fraction,
)
from dpcurves.arrays import IntArray
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne

from ..crypto.circuits import Circuit, Record, SymbolicInteger, evaluate_circuit, sign, to_bristol, trace_circuit
from .noise_circuits import FiniteLaplace, Response, choose_response
from .queries import KernelForm, Overlaps, PairAnswers, PairQuery, PairSum

# Functions of two people's values, as circuits: what the mean over pairs is taken of.
MOST_BITS = 48
MOST_OUTPUT = 62
TRIED = 256
"""Pairs for which it is looked whether a function is symmetric."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Whole numbers from 0 to ``2**bits - 1``.

    Raises:
        ValueError: there are less than 1 or more than 48 bits.
        TypeError: `bits` is no whole number.
    """

    bits: int

    def __post_init__(self) -> None:
        convert_to_integers(self, bits="bits")
        if not 1 <= self.bits <= MOST_BITS:
            raise InvalidArgument("bits", f"a number of 1 to {MOST_BITS} bits is needed, got {self.bits}")


class Kernel:
    """A symmetric function of two people's values, written once in Python and made a circuit.

    Args:
        function: Takes two people, whose values are their attributes, and returns a whole number: see
            `dpcurves_parties.crypto.circuits.SymbolicInteger` for what may be done with values.
        values: What it reads of a person, by name.

    Attributes:
        function: What was given.
        bits: How many bits each value has, by the name that the function has for it.
        columns: What these are called in a table, in the same order.
        step: What one of the whole numbers stands for that the function returns.
        circuit: The circuit of the function alone, without noise: all values of one person, then those of the other.

    Raises:
        TypeError: it is no function of such values.
        ValueError: it reads nothing, is not symmetric, or has one value alone.

    >>> kernel = Kernel(lambda x, y: abs(x.income - y.income), income=Unsigned(16))
    >>> kernel.form.most, kernel.circuit.ands
    (65535, 31)
    """

    step: Fraction = Fraction(1)

    def __init__(self, function: Callable[[Any, Any], Any], /, **values: Unsigned) -> None:
        if not callable(function):
            raise WrongArgumentType("kernel", f"a function of two people is needed, got {describe_value(function)}")
        if not values or not all(isinstance(each, Unsigned) for each in values.values()):
            raise WrongArgumentType("kernel", "say what it reads of a person, as in income=dp.pairs.Unsigned(16)")
        self.function, self.columns = function, tuple(values)
        self.bits = {name: each.bits for name, each in values.items()}
        self.circuit: Circuit = trace_circuit(function, self.bits, self.bits)
        outputs = self.circuit.outputs
        if len(outputs) != 1 or outputs[0].low >= outputs[0].high:
            raise InvalidArgument("kernel", "it has to return one whole number, which is not the same for all pairs")
        if not -(2**MOST_OUTPUT) < outputs[0].low <= outputs[0].high < 2**MOST_OUTPUT:
            raise InvalidArgument("kernel", f"its values have to lie within 2**{MOST_OUTPUT}: read fewer bits")
        one, other = self._generate_test_values("one"), self._generate_test_values("other")
        if (self.evaluate(one, other) != self.evaluate(other, one)).any():
            raise InvalidArgument("kernel", "it has to be symmetric: the same for two people in either order")

    def with_columns(self, **columns: Unsigned) -> Self:
        """Read other columns by the same function, in the order in which the function's values were named.

        Raises:
            ValueError: there are not as many.
        """
        if len(columns) != len(self.bits):
            raise InvalidArgument("columns", f"{len(self.bits)} are needed, for {', '.join(self.bits)}")
        made = type(self)(self.function, **dict(zip(self.bits, columns.values(), strict=True)))
        made.columns, made.step = tuple(columns), self.step
        return made

    def with_step(self, step: Any) -> Self:
        """Give the same function, where each whole step that it returns stands for so much: 1/2, for halves.

        Raises:
            ValueError: it is no number above 0.
        """
        made = copy(self)
        made.step = parse_positive_fraction("step", step)
        made.__dict__.pop("form", None)
        return made

    @cached_property
    def form(self) -> KernelForm:
        """The public form of the kernel."""
        (found,) = self.circuit.outputs
        digest = sha256(to_bristol(self.circuit).encode()).hexdigest()
        columns = tuple(zip(self.columns, self.bits.values(), strict=True))
        return KernelForm(digest, columns, found.low, found.high, self.step)

    def evaluate(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> IntArray:
        """The function of known values, arrays by the names of columns: what the circuit says.

        Raises:
            ValueError: something is no whole number of so many bits.
        """
        given = [person[column] for person in (one, other) for column in self.columns]
        return np.asarray(evaluate_circuit(self.circuit, *given)[0], dtype=np.int64)

    def _generate_test_values(self, who: str) -> dict[str, Any]:
        """People whose values are small and large alike, for their numbers of bits differ."""
        made = {}
        for name, bits in self.bits.items():
            words = np.frombuffer(shake_256(f"{who} {name}".encode()).digest(8 * TRIED), dtype="<u8")
            made[name] = words >> np.uint64(64 - bits) >> (words % np.uint64(bits))
        return made


# Kernels that statistics are named after. Each is three lines: so is one more.
GINI = Kernel(lambda x, y: abs(x.value - y.value), value=Unsigned(16))
"""Gini's mean difference: how far two people's values are apart."""

KENDALL = Kernel(
    lambda x, y: sign(x.first - y.first) * sign(x.second - y.second), first=Unsigned(16), second=Unsigned(16)
)
"""Kendall's tau-a: 1 where two people are in one order by both values, -1 where they are not, 0 where they tie."""

AUC = Kernel(
    lambda x, y: sign(x.positive - y.positive) * sign(x.score - y.score), score=Unsigned(16), positive=Unsigned(1)
)
"""Rank agreement of scores and two classes: Kendall's of score and class, whose labels nobody sees. See `area`."""

COLLISION = Kernel(lambda x, y: x.value == y.value, value=Unsigned(16))
"""The chance that two people have the same value."""

KERNELS = {"gini": GINI, "kendall": KENDALL, "auc": AUC, "collision": COLLISION}
"""By the names that the command line has for them."""


MOST_PLACES = 64


@lru_cache(maxsize=16)  # a pure function of what is public
def build_noisy_circuit(kernel: Kernel, response: Response) -> Circuit:
    """The circuit of a pair's answer. Inputs: one party's values and coins, then the other's.

    Formal guarantees: each place of a coin is the XOR of both parties' bits, so it is even, and neither knows it, as
    long as the other's bits are even. The output's wires hold `Response.answer` of the kernel's value and these coins.

    >>> from fractions import Fraction
    >>> from dpcurves_parties.pairs.mechanisms import COLLISION
    >>> from dpcurves_parties.pairs.noise_circuits import BinaryResponse
    >>> build_noisy_circuit(COLLISION, BinaryResponse(Fraction(1))).ands
    29
    """
    shape = {**kernel.bits, **random_input_widths(response)}

    def add_noise(one: Record, other: Record) -> SymbolicInteger:
        value: SymbolicInteger = kernel.function(one, other)
        coins = [
            place
            for name in random_input_widths(response)
            for place in (getattr(one, name) ^ getattr(other, name)).to_bits()
        ]  # fmt: skip
        return SymbolicInteger.from_bits(response.wires(value.to_bits(), coins))

    return trace_circuit(add_noise, shape, shape)


def random_input_widths(response: Response) -> dict[str, int]:
    """The even numbers that each party brings, by name, and their bits: all coins' places, one behind another."""
    return {f"coins_{number}": size for number, size in enumerate(split_random_widths(response.random_widths))}


def split_random_widths(widths: Sequence[int]) -> list[int]:
    """The places of all coins one behind another, in inputs of 64 bits at most."""
    places = sum(widths)
    return [min(MOST_PLACES, places - start) for start in range(0, places, MOST_PLACES)]


ROOM = 48
"""The circle of a sum has so many scales of the noise more than the sum needs."""
PEOPLE, SERVERS = "pairs of people", "pairs of people, by two servers"
"""The parties that compute the answers of pairs."""


class NoisePlacement(Enum):
    """The place where noise is added."""

    EACH = "to each pair's answer: people in pairs"
    ON_SUM = "once, to the sum of all: two servers"


class Zetas(NamedTuple):
    """Public bounds on the variance components of a kernel, in the squares of its whole steps, as `Overlaps` takes
    them.

    Attributes:
        zeta1: The variance of its mean given one person.
        zeta2: Its variance.
    """

    zeta1: float
    zeta2: float


def worst_case_zetas(span: int) -> Zetas:
    """The most that a kernel can vary whose values span so much: half of them at either end; and given one person."""
    return Zetas(span**2 / 8, span**2 / 4)


def plan_answers(
    query: PairQuery, loss: PrivacyLoss, adjacency: Adjacency, zetas: Zetas | None = None, *, computed_by: str = PEOPLE
) -> Plan:
    """Each pair answers on its own; `computed_by` says who works that out.

    Formal guarantees: each answer loses at most epsilon over the most pairs that a person is in (see `choose_response`),
    with coins of its own; which pairs there are depends on no value. Whoever is replaced changes the values of no other
    pairs than these, so all answers together lose at most epsilon, whatever else is known: the ratio of their chances
    is a product of as many factors. A pair that breaks is dropped, and what it may have lost stays spent.

    Raises:
        UnsupportedQuery: the number of people is private, a person has several records, or the loss is not pure.
    """
    people = _require_people(loss, adjacency)
    response, overlaps, kernel = (
        plan_response(query, loss),
        query.pairing.compute_expected_overlaps(people),
        query.kernel,
    )
    law = PairAnswers(
        people, *_round_overlaps(overlaps), kernel.least, kernel.most, kernel.step, response.offset, response.gain
    )
    known = zetas or worst_case_zetas(kernel.span)
    apart = min(response.max_variance + known.zeta2, response.max_total_variance)
    variance = _overlap_variance(overlaps, known) + (apart - known.zeta2) / overlaps.pairs
    return Plan(query, loss, adjacency, f"{computed_by}: {response.name}", law, float(kernel.step) * sqrt(variance))


def plan_sum(query: PairQuery, loss: PrivacyLoss, adjacency: Adjacency, zetas: Zetas | None = None) -> Plan:
    """Plan one noisy sum of all pairs' values, none of which is seen.

    Formal guarantees: whoever is replaced changes the values of no other pairs than their own, each by the kernel's
    span at most, hence the sum by `PairQuery.per_record_sensitivity`; see `FiniteLaplace` for a sum that changes by so
    much.

    Raises:
        UnsupportedQuery: see `plan_answers`; or the sum has more than 62 bits.
    """
    people = _require_people(loss, adjacency)
    overlaps, kernel = query.pairing.compute_expected_overlaps(people), query.kernel
    noise = plan_sum_noise(query, loss, people)
    law = PairSum(people, *_round_overlaps(overlaps), kernel.least, kernel.most, kernel.step, noise.rate)
    variance = _overlap_variance(overlaps, zetas or worst_case_zetas(kernel.span)) + noise.variance / overlaps.pairs**2
    made_by = f"{SERVERS}: one Laplace noise on the sum"
    return Plan(query, loss, adjacency, made_by, law, float(kernel.step) * sqrt(variance))


def plan_response(query: PairQuery, loss: PrivacyLoss) -> Response:
    """The noise of each pair.

    Raises:
        UnsupportedQuery: a pair's part of the loss is too small or too large for it.
    """
    epsilon = _require_epsilon(loss) / query.pairs_per_unit
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery("epsilon", "from 2**-20 to 64 for each pair are planned for")
    return choose_response(query.kernel.least, query.kernel.most, epsilon)


@lru_cache(maxsize=64)  # a pure function of public facts
def plan_sum_noise(query: PairQuery, loss: PrivacyLoss, people: int) -> FiniteLaplace:
    """The noise on the sum of all pairs' values, which are taken from their least on.

    Raises:
        UnsupportedQuery: the sum has too many bits.
    """
    epsilon, reach = _require_epsilon(loss), query.per_record_sensitivity
    room = int(ROOM * reach / epsilon) + 1
    width = max(
        (people * query.pairs_per_unit // 2 * query.kernel.span + 2 * room).bit_length(), reach.bit_length() + 2
    )
    if width > 62 or not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery("kernel", "a sum of all pairs of at most 62 bits is noised, at an epsilon up to 64")
    return FiniteLaplace(epsilon, reach, width)


def _require_people(loss: PrivacyLoss, adjacency: Adjacency) -> int:
    if not isinstance(adjacency, ReplaceOne) or adjacency.unit.records != 1:
        raise UnsupportedQuery(
            "adjacency", "how many people are paired is public, and each has one value: use replace-one"
        )
    if adjacency.units < 2:
        raise UnsupportedQuery("people", "at least two are needed for a pair")
    _require_epsilon(loss)
    return adjacency.units


def _require_epsilon(loss: PrivacyLoss) -> Fraction:
    if loss.epsilon is None:
        raise UnsupportedQuery("loss", "noise from finite coins is pure: give an epsilon")
    return loss.epsilon


def _round_overlaps(overlaps: Overlaps) -> tuple[int, int, int]:
    pairs = round(overlaps.pairs)
    return pairs, round(overlaps.one_shared), max(round(overlaps.both_shared), pairs)


def _overlap_variance(overlaps: Overlaps, zetas: Zetas) -> float:
    return overlaps.variance(zetas.zeta1, zetas.zeta2)
