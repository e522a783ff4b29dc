"""U-statistics with differential privacy: kernels as Boolean circuits, the named kernels, and plans of their noise.

A kernel is a symmetric function of two people's values, whose mean over random pairs is released. It is evaluated in a
secure two-party computation, so it must be a circuit, and noise is added within.

    Kernel          a function of two people, traced to a circuit
    plan_answers    noise in the answer of each pair (randomised response)
    plan_sum        noise added once, to the sum over all pairs

Formal guarantees: what is released under a plan has at most the plan's privacy loss, if one person's values are
replaced (proofs at `plan_answers` and `plan_sum`).
"""

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
from dpcurves.expressions import Expression, format_expression, parse_expression, parse_filter
from dpcurves.noise.exponential import LEAST_EPSILON, MOST_EPSILON
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne

from ..crypto.circuits import Circuit, Record, SymbolicInteger, evaluate_circuit, mux, sign, to_bristol, trace_circuit
from .noise_circuits import FiniteLaplace, Response, choose_response
from .queries import KernelForm, Overlaps, PairAnswers, PairQuery, PairSum

# Kernels: functions of two people's values as circuits, whose mean over pairs is estimated.


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Integers from 0 to ``2**bits - 1``.

    Raises:
        ValueError: `bits` is not from 1 to 48.
        TypeError: `bits` is not an integer.
    """

    bits: int

    def __post_init__(self) -> None:
        convert_to_integers(self, bits="bits")
        most_value_bits = 48  # bits of one value at most
        if not 1 <= self.bits <= most_value_bits:
            raise InvalidArgument(
                "bits", f"must be from 1 to {most_value_bits} bits, as in Unsigned(16), got {self.bits}"
            )


FILTER_BIT = "passes_filter"
"""Name, among the columns that a kernel's function sees, of the bit that says whether a person meets the condition
(where); a pair counts as 0 unless both do."""


class Kernel:
    """A symmetric function of two people's values, written in Python and traced into a circuit.

    Args:
        function: Takes two people, whose values are attributes, and returns an integer. See
            `dpcurves_parties.crypto.circuits.SymbolicInteger` for the operations on values.
        values: Types of the values that it reads of a person, by name.

    Attributes:
        function: The Python function.
        bits: Width of each value in bits, by its name in the function.
        columns: Names of these values in a table, in the same order.
        step: Unit of the integers that the function returns.
        where: Condition that both people of a pair must meet, or its value is 0; empty: none. See `with_filter`.
        circuit: Circuit of the function, without noise; inputs are the first person's values, then the second person's.

    Raises:
        TypeError: `function` is not a function of these values.
        ValueError: the function reads nothing, is not symmetric, or is constant.

    >>> kernel = Kernel(lambda x, y: abs(x.income - y.income), income=Unsigned(16))
    >>> kernel.form.maximum, kernel.circuit.and_count
    (65535, 31)
    """

    step: Fraction = Fraction(1)
    where: str = ""

    def __init__(self, function: Callable[[Any, Any], Any], /, **values: Unsigned) -> None:
        if not callable(function):
            raise WrongArgumentType(
                "kernel",
                f"must be a function of two people, as in lambda a, b: a.x + b.x, got {describe_value(function)}",
            )
        if not values or not all(isinstance(value_type, Unsigned) for value_type in values.values()):
            raise WrongArgumentType(
                "kernel", "must name the values that it reads of a person, as in income=dp.pairs.Unsigned(16)"
            )
        self.function = function
        self.columns = tuple(values)
        self.bits = {name: value_type.bits for name, value_type in values.items()}
        self.circuit: Circuit = trace_circuit(function, self.bits, self.bits)
        outputs = self.circuit.outputs
        if len(outputs) != 1 or outputs[0].low >= outputs[0].high:
            raise InvalidArgument(
                "kernel", "must return an integer that differs between pairs: use the values of both people"
            )
        most_output = 62  # bits of a kernel's value at most, without sign, so that 64-bit integers hold it
        if not -(2**most_output) < outputs[0].low <= outputs[0].high < 2**most_output:
            raise InvalidArgument("kernel", f"must return values within 2**{most_output}; read fewer bits")
        first = self._generate_test_values("one")
        second = self._generate_test_values("other")
        if (self.evaluate(first, second) != self.evaluate(second, first)).any():
            raise InvalidArgument("kernel", "must be symmetric: equal for two people in either order")

    def with_columns(self, **columns: Unsigned) -> Self:
        """Return the same function of other columns, in the order in which the function's values were named.

        Raises:
            ValueError: the number of columns is wrong.
        """
        if len(columns) != len(self.bits):
            raise InvalidArgument(
                "columns",
                f"must be {len(self.bits)} names of columns, one for each argument of the kernel: "
                f"{', '.join(self.bits)}",
            )
        kernel = type(self)(self.function, **dict(zip(self.bits, columns.values(), strict=True)))
        kernel.columns = tuple(columns)
        kernel.step = self.step
        return kernel

    def with_step(self, step: Any) -> Self:
        """Return the same function with another unit of its integers, such as 1/2 for halves.

        Raises:
            ValueError: `step` is not a number above 0.
        """
        kernel = copy(self)
        kernel.step = parse_positive_fraction("step", step)
        kernel.__dict__.pop("form", None)
        return kernel

    def with_filter(self, where: str | Expression | None) -> Self:
        """Return the kernel that is 0 for a pair of which one person fails a condition. Each person, or each owner of
        people's values, evaluates the condition; who passes is one more secret bit of each person.

        So the mean is the share of pairs that pass times their mean kernel; `estimate_among_passing` divides by the
        share if the number of people who pass is public. A person for whom the condition is NULL fails it.

        Formal guarantees: a pair's answer is a function of both people's values, with values in a range that includes
        0; sensitivity and loss follow from that range as for every kernel. All people take part, so who takes part
        depends on no value.

        Args:
            where: Condition on a person's columns, as text or as an expression; None or an empty text returns the
                kernel itself.

        Raises:
            ValueError: the condition is no expression of the language, or the kernel has a filter already.

        >>> women = GINI.with_columns(income=Unsigned(8)).with_filter("sex = 'F'")
        >>> women.columns
        ('income', "CASE WHEN sex = 'F' THEN 1 ELSE 0 END")
        >>> passes = women.columns[1]
        >>> women.evaluate({"income": [9, 9], passes: [1, 1]}, {"income": [2, 2], passes: [1, 0]}).tolist()
        [7, 0]
        """
        text = parse_filter("where", where)
        if not text:
            return self
        if self.where:
            raise InvalidArgument("where", "the kernel has a filter; join both conditions with AND")

        def compute_passing(first: Any, second: Any) -> SymbolicInteger:
            """Return the kernel's value of two people who both pass; else 0.

            Args:
                first: Symbolic columns of one person, as attributes; `FILTER_BIT` is 1 if the person meets the
                condition. second: Symbolic columns of the other person.
            """
            return mux(getattr(first, FILTER_BIT) & getattr(second, FILTER_BIT), self.function(first, second), 0)

        widths = {name: Unsigned(bits) for name, bits in self.bits.items()}
        kernel = type(self)(compute_passing, **widths, **{FILTER_BIT: Unsigned(1)})
        indicator = format_expression(parse_expression(f"CASE WHEN {text} THEN 1 ELSE 0 END"))
        kernel.columns = (*self.columns, indicator)
        kernel.step = self.step
        kernel.where = text
        return kernel

    @cached_property
    def form(self) -> KernelForm:
        """Public description of the kernel for plans and releases: hash of its circuit, columns with bits, range and
        unit.
        """
        (output,) = self.circuit.outputs
        digest = sha256(to_bristol(self.circuit).encode()).hexdigest()
        columns = tuple(zip(self.columns, self.bits.values(), strict=True))
        return KernelForm(digest, columns, output.low, output.high, self.step)

    def evaluate(self, first: Mapping[str, Any], second: Mapping[str, Any]) -> IntArray:
        """Evaluate the circuit on known values, given as arrays by column.

        Args:
            first: Values of the first person of each pair: an array of integers per column.
            second: Values of the second person of each pair, of the same shape.

        Returns:
            Kernel values, one per pair.

        Raises:
            ValueError: a value does not fit its declared bits.
        """
        inputs = [person[column] for person in (first, second) for column in self.columns]
        return np.asarray(evaluate_circuit(self.circuit, *inputs)[0], dtype=np.int64)

    def _generate_test_values(self, label: str) -> dict[str, Any]:
        """Return pseudorandom test values of all magnitudes: their bit lengths vary.

        Args:
            label: Seed of the values, so that each label has values of its own.

        Returns:
            Arrays of 256 values, by name of the column.
        """
        test_values = {}
        for name, bits in self.bits.items():
            # 256: pairs of pseudorandom public values on which a kernel's symmetry is checked
            words = np.frombuffer(shake_256(f"{label} {name}".encode()).digest(8 * 256), dtype="<u8")
            test_values[name] = words >> np.uint64(64 - bits) >> (words % np.uint64(bits))
        return test_values


# Named kernels. Another kernel takes three lines.
GINI = Kernel(lambda x, y: abs(x.value - y.value), value=Unsigned(16))
"""Gini's mean difference: the absolute difference of two people's values, of 16 bits unless stated otherwise."""

KENDALL = Kernel(
    lambda x, y: sign(x.first - y.first) * sign(x.second - y.second), first=Unsigned(16), second=Unsigned(16)
)
"""Kendall's tau-a: 1 for a concordant pair, -1 for a discordant pair, 0 for a tie."""

AUC = Kernel(
    lambda x, y: sign(x.positive - y.positive) * sign(x.score - y.score), score=Unsigned(16), positive=Unsigned(1)
)
"""Rank agreement of scores and two classes: Kendall's kernel of score and private label. See `estimate_auc`."""

COLLISION = Kernel(lambda x, y: x.value == y.value, value=Unsigned(16))
"""Probability that two people have the same value: 1 for a pair with equal values, else 0."""

KERNELS = {"gini": GINI, "kendall": KENDALL, "auc": AUC, "collision": COLLISION}
"""Functions of two people's values that --kernel names on the command line; other names are refused."""


@lru_cache(maxsize=16)  # a pure function of public arguments
def build_noisy_circuit(kernel: Kernel, response: Response) -> Circuit:
    """Return the circuit of a pair's randomised answer. Inputs: values and random bits of one party, then of the other.

    Formal guarantees: each random bit of the response is the XOR of both parties' bits. So it is uniform, and unknown
    to either party, if the other party's bits are uniform. The output wires hold `Response.answer` of the kernel's
    value and these bits.

    >>> from fractions import Fraction
    >>> from dpcurves_parties.pairs.mechanisms import COLLISION
    >>> from dpcurves_parties.pairs.noise_circuits import BinaryResponse
    >>> build_noisy_circuit(COLLISION, BinaryResponse(Fraction(1))).and_count
    29

    Args:
        kernel: Function of two people's values.
        response: Randomised response about the kernel's value.
    """
    input_widths = {**kernel.bits, **random_input_widths(response)}

    def add_noise(first: Record, second: Record) -> SymbolicInteger:
        """Return the randomised answer on the kernel's value of two records. Its random bits are the XOR of both
        parties' bits.

        Args:
            first: Columns of the first person, and that party's random bits.
            second: Columns of the second person, and that party's random bits.
        """
        value: SymbolicInteger = kernel.function(first, second)
        random_bits = [
            bit
            for name in random_input_widths(response)
            for bit in (getattr(first, name) ^ getattr(second, name)).to_bits()
        ]  # fmt: skip
        return SymbolicInteger.from_bits(response.wires(value.to_bits(), random_bits))

    return trace_circuit(add_noise, input_widths, input_widths)


def random_input_widths(response: Response) -> dict[str, int]:
    """Return the widths of the uniform integers that each party supplies, by name: all random bits, concatenated.

    Args:
        response: Randomised response that consumes the bits.

    Returns:
        Width in bits by name: ``coins_0``, ``coins_1``, ...; all widths sum to the bits of one answer.
    """
    return {f"coins_{number}": size for number, size in enumerate(split_random_widths(response.random_widths))}


def split_random_widths(widths: Sequence[int]) -> list[int]:
    """Return the widths of circuit inputs that hold some random integers: pieces of at most 64 bits of all
    their bits.

    Args:
        widths: Bits of each random integer.
    """
    total_bits = sum(widths)
    most_places = 64  # bits of one input of a circuit at most (see `trace_circuit`)
    return [min(most_places, total_bits - start) for start in range(0, total_bits, most_places)]


PAIRS_OF_PEOPLE = "pairs of people"
"""Text in `Plan.made_by`, which privacy statements show: two people at a time computed the noisy answers."""
PAIRS_BY_SERVERS = "pairs of people, by two servers"
"""Text in `Plan.made_by`, which privacy statements show: two servers computed the answers from shares of all values."""


class NoisePlacement(Enum):
    """Where noise is added."""

    EACH = "to each pair's answer: people in pairs"
    ON_SUM = "once, to the sum of all: two servers"


class Zetas(NamedTuple):
    """Public bounds on the variance components of a kernel, in squared units of its integers, as in `Overlaps`.

    Attributes:
        zeta1: Variance of the kernel's conditional mean given one person.
        zeta2: Variance of the kernel.
    """

    zeta1: float
    zeta2: float


def worst_case_zetas(span: int) -> Zetas:
    """Return the largest possible variance components of a kernel, for forecasts without knowledge of the data.

    They occur if half of the values are at either end.

    Args:
        span: Difference between the largest and the smallest value.
    """
    return Zetas(span**2 / 8, span**2 / 4)


def plan_answers(
    query: PairQuery,
    loss: PrivacyLoss,
    adjacency: Adjacency,
    zetas: Zetas | None = None,
    *,
    computed_by: str = PAIRS_OF_PEOPLE,
) -> Plan:
    """Return the plan of one randomised answer for each pair of people (randomised response on the kernel's value).

    Formal guarantees: each answer loses at most epsilon divided by the most pairs of a person, with its own random
    bits, and the choice of pairs depends on no value. Replacing a person changes the values of that person's pairs
    only, so all answers together lose at most epsilon, whatever else is known: the ratio of their probabilities is a
    product of at most that many factors. A pair that fails is dropped, and its loss stays spent.

    Args:
        query: Kernel (function of two people's values) and pairing.
        loss: Pure loss of a person, for all of that person's pairs together.
        adjacency: Replace-one, with the public number of people.
        zetas: Variance components of the kernel, for the forecast of the error; None: the worst case.
        computed_by: Name of the parties that compute the answers, for the plan's text.

    Raises:
        UnsupportedQuery: the number of people is private, a person has several records, or the loss is not pure.
    """
    people = _require_people(loss, adjacency)
    response = plan_response(query, loss)
    overlaps = query.pairing.compute_expected_overlaps(people)
    kernel = query.kernel
    distribution = PairAnswers(
        people, *_round_overlaps(overlaps), kernel.minimum, kernel.maximum, kernel.step, response.offset, response.gain
    )
    components = zetas or worst_case_zetas(kernel.span)
    noise_and_kernel_variance = min(response.max_variance + components.zeta2, response.max_total_variance)
    variance = _overlap_variance(overlaps, components) + (noise_and_kernel_variance - components.zeta2) / overlaps.pairs
    return Plan(
        query, loss, adjacency, f"{computed_by}: {response.name}", distribution, float(kernel.step) * sqrt(variance)
    )


def plan_sum(query: PairQuery, loss: PrivacyLoss, adjacency: Adjacency, zetas: Zetas | None = None) -> Plan:
    """Return the plan of one noisy sum over all pairs of people. No party sees the values or the exact sum.

    Args:
        query: Kernel and pairing.
        loss: The loss of this query.
        adjacency: Replace-one, with the public number of people.
        zetas: Variance components of the kernel, for the forecast of the error; None: the worst case.

    Raises:
        UnsupportedQuery: the number of people is private, a person has several records, the loss is not pure, or the
            sum has more than 62 bits.

    Formal guarantees: replacing a person changes the values of that person's pairs only, each by at most the kernel's
    span, hence the sum by at most `PairQuery.per_record_sensitivity`; see `FiniteLaplace` for a sum of this
    sensitivity.
    """
    people = _require_people(loss, adjacency)
    overlaps = query.pairing.compute_expected_overlaps(people)
    kernel = query.kernel
    noise = plan_sum_noise(query, loss, people)
    distribution = PairSum(people, *_round_overlaps(overlaps), kernel.minimum, kernel.maximum, kernel.step, noise.rate)
    variance = _overlap_variance(overlaps, zetas or worst_case_zetas(kernel.span)) + noise.variance / overlaps.pairs**2
    made_by = f"{PAIRS_BY_SERVERS}: one Laplace noise on the sum"
    return Plan(query, loss, adjacency, made_by, distribution, float(kernel.step) * sqrt(variance))


def plan_response(query: PairQuery, loss: PrivacyLoss) -> Response:
    """Return the randomised response of each pair. Its epsilon is the loss divided by the most pairs of a person.

    Args:
        query: The query.
        loss: Pure loss of all pairs of a person together.

    Raises:
        UnsupportedQuery: a pair's fraction of the loss is too small or too large.
    """
    epsilon = _require_epsilon(loss) / query.pairs_per_unit
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery(
            "epsilon", "must be from 2**-20 to 64 for each pair; take fewer pairs of each person, or another epsilon"
        )
    return choose_response(query.kernel.minimum, query.kernel.maximum, epsilon)


@lru_cache(maxsize=64)  # a pure function of public facts
def plan_sum_noise(query: PairQuery, loss: PrivacyLoss, people: int) -> FiniteLaplace:
    """Return the noise on the sum of all pairs' values, each minus the kernel's least value.

    Args:
        query: Kernel and pairing.
        loss: The loss of this query.
        people: Number of people.

    Raises:
        UnsupportedQuery: the sum has too many bits.
    """
    epsilon = _require_epsilon(loss)
    sensitivity = query.per_record_sensitivity
    # 48: multiples of the noise scale by which the modulus of a sum exceeds the sum's range, on each side
    room = int(48 * sensitivity / epsilon) + 1
    width = max(
        (people * query.pairs_per_unit // 2 * query.kernel.span + 2 * room).bit_length(), sensitivity.bit_length() + 2
    )
    if width > 62 or not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UnsupportedQuery(
            "kernel",
            "must have a sum of at most 62 bits and an epsilon of at most 64; read fewer bits, or take fewer pairs",
        )
    return FiniteLaplace(epsilon, sensitivity, width)


def _require_people(loss: PrivacyLoss, adjacency: Adjacency) -> int:
    """Return the public number of people, after checking that adjacency and loss suit a question about pairs.

    Raises `UnsupportedQuery` unless the adjacency is replace-one with one record per person, there are two people or
    more, and the loss is pure.
    """
    if not isinstance(adjacency, ReplaceOne) or adjacency.unit.records != 1:
        raise UnsupportedQuery(
            "adjacency",
            "must be replace-one with one record of each person, because the number of people is public; take "
            "adjacency=dp.REPLACE_ONE, and ask each person for one record",
        )
    if adjacency.units < 2:
        raise UnsupportedQuery("people", "must be at least 2, to form a pair, as in 1000")
    _require_epsilon(loss)
    return adjacency.units


def _require_epsilon(loss: PrivacyLoss) -> Fraction:
    """Return the epsilon of a loss, which must be pure, because noise of pairs is calibrated to epsilon.

    Raises:
        UnsupportedQuery: the loss has no epsilon.
    """
    if loss.epsilon is None:
        raise UnsupportedQuery(
            "loss", "must be an epsilon, as in PrivacyLoss.pure(1), because the noise of pairs is pure"
        )
    return loss.epsilon


def _round_overlaps(overlaps: Overlaps) -> tuple[int, int, int]:
    """Return the expected numbers of pairs, and of couples of pairs with one and with both people in common, as
    integers.

    The last is at least the first, because each pair has both people in common with itself.

    Args:
        overlaps: Expected overlaps, as real numbers.

    Returns:
        Pairs, couples with one person in common, couples with both people in common.
    """
    pairs = round(overlaps.pairs)
    return pairs, round(overlaps.one_shared), max(round(overlaps.both_shared), pairs)


def _overlap_variance(overlaps: Overlaps, zetas: Zetas) -> float:
    """Return the variance of the kernel's mean over the pairs without noise, in squared integer units.

    Args:
        overlaps: Numbers of couples of pairs by shared people.
        zetas: Bounds on the variance components of the kernel.
    """
    return overlaps.variance(zetas.zeta1, zetas.zeta2)
