"""Exact distributions of responses of people: reports of the local model, answers of pairs, sums of sites.

    find_report_distribution    the probability of each report: draws of the code that runs are choices, all of which
                                are walked
    find_answer_probability     the probability of an answer of a pair: its circuit runs for all random integers, or, if
                                they are wide, for those between which the answer changes
    find_polya_distribution     the distribution of a difference of Polya variables, from the points that the code
                                proposes and accepts

>>> from dpcurves_audit.deployments import ResponseSampler
>>> from dpcurves_local.responses.randomiser import KaryRandomisedResponse
>>> probabilities = find_report_distribution(ResponseSampler("k-ary", KaryRandomisedResponse(2, Fraction(1))), 0)
>>> {report: round(probability, 3) for report, probability in probabilities.items()}
{b'\\x00': 0.731, b'\\x01': 0.269}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import exp, inf, log
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from dpcurves.noise.randomness import Randomness

from .deployments import PairAnswersSampler
from .traced_draws import ChoicePath, Table

MOST_OUTCOMES = 8
"""Outcomes of a uniform draw that are followed, evenly spread if it has more: such a draw selects the level of a
report. The report shows its level, so each level loses as much with all outcomes."""
COLUMNS = 16
"""Largest number of columns of a Hadamard matrix in these computations: the lowest bits of a random byte select one."""


class ReportPath(ChoicePath):
    """Choices in the place of the draws of a device."""

    def choose_evenly(self, outcomes: int) -> int:
        """Return a uniform outcome of the traced path; if there are too many, one of `MOST_OUTCOMES` that are evenly
        spread.

        Args:
            outcomes: Number of equally likely outcomes.
        """
        walked = min(outcomes, MOST_OUTCOMES)
        chosen = self.choose((1 / walked,) * walked)
        return chosen if walked == outcomes else chosen * (outcomes - 1) // (walked - 1)

    def choose_bit(self, probability: float) -> bool:
        """Return a bit that is True with this probability. A bit that is certain is no choice."""
        if probability in (0, 1):
            return bool(probability)
        return bool(self.choose((1 - probability, probability)))

    def sample_bernoulli(self, parts: int, size: int, randomness: Randomness) -> NDArray[np.bool_]:
        """Return bits of the traced path in the place of random bits, so that all reports can be enumerated.

        Args:
            parts: Numerator of the probability of a bit.
            size: Number of bits.
            randomness: Source of random bits; without effect.
        """
        from dpcurves_local.responses.bernoulli_sampler import ONE_PROBABILITY

        return np.array([self.choose_bit(parts / ONE_PROBABILITY) for _ in range(size)], dtype=np.bool_)

    def sample_bernoulli_rows(self, parts: int, size: int, octets: int, randomness: Randomness) -> NDArray[np.uint8]:
        """Return rows of packed bits of the traced path in the place of random bits, so that all reports can be
        enumerated.

        Args:
            parts: Numerator of the probability of a bit.
            size: Number of rows.
            octets: Bytes of a row.
            randomness: Without effect.
        """
        return np.packbits(self.sample_bernoulli(parts, 8 * size * octets, randomness)).reshape(size, octets)

    def sample_uniform(self, outcomes: int, size: int, randomness: Randomness) -> Table:
        """Return integers of the traced path in the place of uniform random integers, so that reports can be
        enumerated.

        Args:
            outcomes: Number of equally likely integers, from 0.
            size: Number of integers to return.
            randomness: Source of random bits; without effect.
        """
        return np.array([self.choose_evenly(outcomes) for _ in range(size)], dtype=np.int64)

    def sample_uniform_sets(
        self, answers: Table, includes_answer: NDArray[np.bool_], element_count: int, size: int, randomness: Randomness
    ) -> NDArray[np.uint64]:
        """Return sets of at most 64 elements of the traced path in the place of random sets, so that reports can be
        enumerated.

        Args:
            answers: One element for each set.
            includes_answer: Whether the set contains this element.
            element_count: Number of elements.
            size: Size of a set.
            randomness: Without effect.
        """
        rows = []
        for answer, is_included in zip(answers.tolist(), includes_answer.tolist(), strict=True):
            sets = list_sets(answer, is_included, element_count, size)
            rows.append(sets[self.choose((1 / len(sets),) * len(sets))])
        return np.array(rows, dtype=np.uint64).reshape(-1, 1)

    def round_cells(self, rounding: Any, fine: Table, randomness: Randomness) -> Table:
        """Return rounded cells of the traced path in the place of `StochasticRounding.round_cells`, to enumerate all
        roundings.

        Args:
            rounding: The rounding, with the probabilities of the next cells.
            fine: Indices of fine cells; their number if a value is missing.
            randomness: Without effect.
        """
        from dpcurves_local.device import ROUNDING_DENOMINATOR

        cells, parts = rounding.find_probabilities(fine)
        is_missing = fine == rounding.fine_axis.grid.cells
        rounds_up = [
            not missing and self.choose_bit(int(part) / ROUNDING_DENOMINATOR)
            for part, missing in zip(parts, is_missing, strict=True)
        ]
        rounded: Table = np.where(is_missing, rounding.axis.grid.cells, cells + np.array(rounds_up, dtype=np.int64))
        return rounded

    def list_bytes(self, length: int) -> bytes:
        """Return bytes in the place of a device's random bytes; the first byte chooses one of `COLUMNS` columns on the
        traced path.

        Args:
            length: Number of bytes.
        """
        return bytes([self.choose((1 / COLUMNS,) * COLUMNS), *bytes(length - 1)])

    @contextmanager
    def replace(self) -> Iterator[None]:
        """Replace the random draws of devices by the path's choices until the end of the block, so that reports are
        enumerable.
        """
        from dpcurves_local import device, trust
        from dpcurves_local.responses import randomiser

        def round_cells(rounding: Any, fine: Table, randomness: Randomness) -> Table:
            """Return the next randomly rounded cells of the traced path, in the place of the rounding's own random
            draws.

            Args:
                rounding: Rounding whose method is replaced.
                fine: Cells that are rounded.
                randomness: Source of random bits; without effect.
            """
            return self.round_cells(rounding, fine, randomness)

        slots: list[int] = []
        find_slot = device.find_slot

        def find_slot_once(*arguments: Any) -> int:
            """Return the slot of the person's value; it is found at the first path and reused, because all paths share
            it.

            Args:
                arguments: Arguments of the device's `find_slot`.
            """
            if not slots:
                slots.append(find_slot(*arguments))
            return slots[0]

        source = Randomness(self.list_bytes, is_seeded=False)

        def choose_from_source(sample: Callable[..., Any], choose: Callable[..., Any]) -> Callable[..., Any]:
            """Replace a sampler only where it draws from the operating system's randomness, so that only noise is
            enumerated.

            Args:
                sample: The original sampler, kept for draws from public seeds.
                choose: Function that takes values from the traced path instead.

            Returns:
                Function with the sampler's arguments.
            """
            return lambda *arguments: (choose if arguments[-1] is source else sample)(*arguments)

        replacements: list[tuple[Any, str, Any]] = [
            (Randomness, "from_system", lambda: source),
            (Randomness, "expand", lambda randomness: randomness),
            (trust, "sample_uniform", self.sample_uniform),
            (device.StochasticRounding, "round_cells", round_cells),
            (device, "find_slot", find_slot_once),
            *(
                (randomiser, name, choose_from_source(getattr(randomiser, name), getattr(self, name)))
                for name in ("sample_bernoulli", "sample_bernoulli_rows", "sample_uniform", "sample_uniform_sets")
            ),
        ]
        with ExitStack() as stack:
            for owner, name, replacement in replacements:
                stack.enter_context(patch.object(owner, name, replacement))
            yield

    def advance(self) -> bool:
        """Move to the next path of random choices, in depth-first order over the tree of choices.

        Returns:
            False after the last path.
        """
        path = self.find_next()
        if path is None:
            return False
        self.taken, self.offered, self.probability = path.taken, [], 1.0
        return True


@cache
def list_sets(answer: int, is_included: bool, element_count: int, size: int) -> list[int]:
    """Return all sets of `size` elements, from 0 to ``many - 1``, that contain the answer or do not, as bit masks.

    Args:
        answer: The element.
        is_included: Whether the sets contain the element.
        element_count: Number of elements to choose from.
        size: Size of a set.

    >>> [f"{members:03b}" for members in list_sets(0, True, 3, 2)]
    ['011', '101']
    """
    others = [element for element in range(element_count) if element != answer]
    chosen = combinations(others, size - is_included)
    return [sum(1 << element for element in (*members, *[answer] * is_included)) for members in chosen]


def find_report_distribution(sampler: Any, data: Any) -> dict[bytes, float]:
    """Return the exact probability of each report of one person.

    Args:
        sampler: Sampler of a randomiser or of a person in a survey.
        data: The answer, or a value and a name.
    """
    distribution: dict[bytes, float] = {}
    path = ReportPath()
    with path.replace():
        while True:
            report = sampler.draw(data, 1).tobytes()
            distribution[report] = distribution.get(report, 0.0) + path.probability
            if not path.advance():
                return distribution


MOST_FULL_BITS = 16
"""Bits of random integers that are enumerated in full; of a wider last integer, only the steps at which answers change,
because there would be too many."""
REFINED_BITS = 8
"""Lowest bits of the last random integer: their values are enumerated only between two integers that give different
answers, which saves time."""


def find_answer_probability(sampler: PairAnswersSampler, values: tuple[int, int], known: int = 0) -> Fraction:
    """Return the exact probability that the answer of a pair is 1, if one party knows its random bits.

    The circuit runs in the clear (`simulate_answers`). The last random integer is taken to decide in intervals of at
    least ``2**REFINED_BITS`` integers if all random integers together are wider than `MOST_FULL_BITS`.

    Args:
        sampler: Sampler of answers of pairs.
        values: Value of both people.
        known: Random bits of the first party, as an integer.
    """
    from dpcurves_parties.pairs.mechanisms import plan_response, random_input_widths
    from dpcurves_parties.pairs.queries import PairQuery
    from dpcurves_parties.pairs.release import simulate_answers

    query: Any = sampler.plan.query.as_kind(PairQuery)
    response = plan_response(query, sampler.plan.loss)
    (width,) = random_input_widths(response).values()
    last = response.random_widths[-1]
    others = width - last

    def run(bits: Table) -> NDArray[np.int64]:
        """Return the answers of the pair's circuit for some random integers of the second party, simulated in the
        clear.

        Args:
            bits: Random bits of the second party, one integer for each simulated answer.
        """
        words = [np.full(len(bits), known, dtype=np.uint64), bits.astype(np.uint64)]
        columns = [{name: np.full(len(bits), value) for name in sampler.kernel.columns} for value in values]
        supply = (word << np.uint64(64 - width) for word in words)
        source = Randomness(lambda length: next(supply).tobytes(), is_seeded=False)
        return simulate_answers(response, sampler.kernel, (columns[0], columns[1]), source)

    if width <= MOST_FULL_BITS:
        return Fraction(int(run(np.arange(1 << width)).sum()), 1 << width)
    # rows: values of the other integers; columns: ends of intervals of the last integer
    step = 1 << REFINED_BITS
    first = np.arange(0, 1 << last, step) ^ (known >> others & -step)
    rows = np.arange(1 << others)[:, None]
    begins, ends = (run((rows | place << others).ravel()) for place in (first, first | step - 1))
    changing = np.flatnonzero(begins != ends)
    inner = (first[None, :] << others | rows).ravel()[changing, None] | np.arange(step) << others
    ones = int(begins[begins == ends].sum()) * step + int(run(inner.ravel()).sum())
    return Fraction(ones, 1 << width)


def find_answers_loss(sampler: PairAnswersSampler, family: Any) -> float:
    """Return the largest epsilon of all answers of pairs of people, which have independent random bits.

    Args:
        sampler: Sampler of answers of pairs.
        family: Neighbouring data sets.
    """
    from dpcurves_parties.pairs.queries import PairQuery

    query: Any = sampler.plan.query.as_kind(PairQuery)

    @cache
    def find_once(values: tuple[int, int], known: int) -> Fraction:
        """Return the exact probability that a pair answers 1; computed at the first call, then cached.

        Args:
            values: Values of both people.
            known: Random bits of the party that attacks, as an integer.
        """
        return find_answer_probability(sampler, values, known)

    largest = 0.0
    for pair in family.pairs:
        meetings = query.pairing.draw_pairs(len(pair.left), sampler.seed).tolist()
        for known in KNOWN_BITS:
            epsilon = 0.0
            for one, other in meetings:
                left, right = (find_once((data[one], data[other]), known) for data in (pair.left, pair.right))
                epsilon += max(compare_fractions(left, right), compare_fractions(1 - left, 1 - right))
            largest = max(largest, epsilon)
    return largest


KNOWN_BITS = 0, 0b1010_0110_1100_0011
"""Random bits of the party that reads the answer, each tried: even with them, the answer may show no more than the
loss."""


def compare_fractions(left: Fraction, right: Fraction) -> float:
    """Return the absolute logarithm of the ratio of two probabilities: the loss that one outcome shows.

    Args:
        left: Probability on one data set.
        right: Probability on the neighbouring data set.
    """
    if left == right:
        return 0.0
    return inf if 0 in (left, right) else abs(log(left / right))


ACCEPTANCE_BITS = 64
"""Binary digits of acceptance probabilities, which are rounded down."""


def find_polya_distribution(scale: Fraction, shape: Fraction, reach: int) -> NDArray[np.float64]:
    """Return the probabilities of a Polya variable up to `reach`, from the points that `PolyaBlocks` accepts.

    The variable is the sum of the points of a Poisson process. With intensity ``v(k)`` at k it has the probabilities
    ``p(0) = exp(-sum(v))`` and ``n p(n) = sum(k v(k) p(n - k))`` (Panjer 1981).

    Args:
        scale: Scale of the Laplace noise to which all shares add up.
        shape: Shape of the variable.
        reach: Largest number.
    """
    from dpcurves_sites.shares import PolyaBlocks

    blocks = PolyaBlocks(scale, shape)
    weights = np.zeros(reach + 1)  # k v(k)
    for number in range(1, reach + 1):
        block = number.bit_length() - 1
        low, _ = blocks.bound_acceptance(block, number, ACCEPTANCE_BITS)
        accepted = min(float(Fraction(low) / 2**ACCEPTANCE_BITS), 1.0)
        # blocks of the tail are geometric, and points are uniform in their block: see `sample_polya_differences`
        proposed = float(shape) / (1 << block) / (1 << max(0, block - blocks.first_tail_block + 1))
        weights[number] = number * proposed * accepted
    probabilities = np.zeros(reach + 1)
    probabilities[0] = exp(-float((weights[1:] / np.arange(1, reach + 1)).sum()))
    for number in range(1, reach + 1):
        probabilities[number] = weights[1 : number + 1] @ probabilities[number - 1 :: -1] / number
    return probabilities


def find_shares_epsilon(shares: Sequence[tuple[Fraction, Fraction]], shift: int) -> float:
    """Return the epsilon of a sum whose noise is a sum of Polya differences, one share per site, if the sum moves by
    `shift`.

    Args:
        shares: Scale and shape of the share of each honest site.
        shift: Change of the exact sum between neighbouring data sets.
    """
    # 40: scales of Laplace noise after which the shares' distribution is cut off; the rest has probability exp(-40)
    reach = int(40 * max(scale for scale, _ in shares)) + shift
    sides = np.array([1.0])
    for scale, shape in shares:
        sides = np.convolve(sides, find_polya_distribution(scale, shape, reach))[: reach + 1]
    # the probabilities of differences d >= 0; negative ones are alike
    differences = np.array([sides[d:] @ sides[: len(sides) - d] for d in range(reach // 2 + shift + 1)])
    logs = np.log(np.concatenate((differences[:0:-1], differences)))
    return float(abs(logs[shift:] - logs[: len(logs) - shift]).max())
