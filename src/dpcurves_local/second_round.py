"""Area under the ROC curve (AUC) in local differential privacy, from two rounds of randomised reports.

The area is the probability that a random person of the positive class has a higher score than one of the negative
class.

In the first round, one class reports its scores, and their distribution function is published. In the second round,
each person of the other class draws one bit from it, 1 with the probability that the own score ranks correctly, and
sends the bit randomised. The debiased share of ones estimates the area.

    publish                   makes the second round's task (its public document) from the reports of the first
    SecondRound               that task; `aggregate` turns its reports into a `TwoRoundArea`
    compare_area_protocols    forecasts whether one round or two give the smaller error

Formal guarantees: each report has at most the loss of the task. `SecondRound.loss_in_both_rounds` covers a person who
reported twice.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from functools import cached_property
from math import prod, sqrt
from pathlib import Path
from re import fullmatch
from typing import Any, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument, parse_choice, require_known_fields, require_type
from dpcurves.arrays import BoolArray, FloatArray, IntArray
from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves import CdfQuestion
from dpcurves.curves.cdf import CDF
from dpcurves.curves.comparison import counts_between
from dpcurves.curves.pair_mean import TUNING, UStatistic
from dpcurves.curves.question import require_independent
from dpcurves.curves.u_statistic import KERNEL_CELLS, KERNEL_DRAWS
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.inference.bands import basic_interval
from dpcurves.inference.simulation import choose_draws, numbered_generator
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves_parties.serving.task_document import read_document_text

from .aggregated_reports import AggregatedReports
from .aggregator import Collection
from .report_file import PSEUDONYM_SIZE, Numbers, Octets, has_drawn_names, names_to_numbers
from .task import FILTER_RULE, VERSION, Task
from .trust import Local, find_randomisers

VERSION_FIELD = "local_second_round"
"""Field of the document (JSON) of a second round with its version; a document without it is a first-round task."""
_FIELDS = VERSION_FIELD, "task", "before", "curve", "first", "chances", "names", "earlier"
"""Fields of the document of a second round; one with further fields is refused."""
_SIX_DIGITS_UP = Context(prec=6, rounding=ROUND_CEILING)
"""Decimal context of the epsilon of both rounds together: six significant digits, rounded up, so that it is never
understated."""


class BitSlot(IntEnum):
    """Slots of the answers."""

    ONE = 0
    """The only cell of the table."""
    ZERO = 1
    """Counts as missing from the table."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoRoundArea(UStatistic):
    """The area under a ROC curve from two rounds, with the privacy loss of each person.

    `privacy` states `loss_in_one_round` if repeats were refused, else `loss_in_both_rounds`.

    Attributes:
        people: Number of reports counted in the first and in the second round.
        loss_in_one_round: Privacy loss of a person who reported in one round only.
        loss_in_both_rounds: Privacy loss of a person who reported in both; see `SecondRound.loss_in_both_rounds`.
        is_exact: Whether `loss_in_both_rounds` is exact given the published curve. False: it is the sum of both losses.
        repeats_refused: Whether `privacy` assumes that each person reported in one round only. This needs the
            pseudonyms of the first round, none of them random, and no repeat among the reports.
    """

    people: tuple[int, int]
    loss_in_one_round: PrivacyLoss
    loss_in_both_rounds: PrivacyLoss
    is_exact: bool
    repeats_refused: bool

    @property
    def statements(self) -> tuple[str, str]:
        """Two lines of text: the people of both rounds, and the loss with the people whom it protects."""
        return f"people: {self.people[0]} in the first round, {self.people[1]} in the second", _describe_losses(self)


def _describe_losses(area: TwoRoundArea) -> str:
    """Return the line about the loss of a person who reported in one round and of one who reported in both.

    Args:
        area: Area under a ROC curve from two rounds, with both losses.
    """
    derivation = "exact, given the published curve" if area.is_exact else "an upper bound: the sum of both rounds"
    if area.repeats_refused:
        return (
            f"{area.loss_in_one_round} holds for a person who reported in one round only; "
            f"a person who reported in both lost {area.loss_in_both_rounds} ({derivation})"
        )
    return (
        f"{area.loss_in_both_rounds} holds for each person, because repeats were not all refused: "
        f"a person who reported in both rounds lost it ({derivation}), "
        f"a person who reported in one round only lost {area.loss_in_one_round}"
    )


PROBABILITY_PARTS = 2**32
"""Denominator of the published probabilities of a second round: a bit is drawn by comparing 32 random bits with a
numerator."""


@dataclass(frozen=True)
class SecondRound(Task):
    """The public task of the second round: the published curve of the first class, and the question to the second
    class.

    Labels are public. A person belongs to one class, and sends one report, in the round of this class.

    Formal guarantees: a person draws one bit, 1 with the published probability of the own slot, and sends it through a
    binary randomiser that loses at most `loss`. The report is a mixture of the reports of the two bits. So for any
    published probabilities it is at most exp(epsilon) times as likely for one value as for another.

    Two rules keep a person from reporting twice. A device with a `ReportMemo` makes one report for both rounds
    together. Every device refuses a person whose pseudonym is among `names`, before anything is drawn or sent.
    `loss_in_both_rounds` is the loss of a person who reported in both rounds nevertheless.

    Attributes:
        first_task_hash: Hash of the task of the first round.
        curve: Distribution function of the first class, as JSON.
        first_class: The class that reported in the first round.
        one_probabilities: Probability of drawing a 1 for each slot of the grid, in units of 2**-32. A missing score
            ties with all scores, so its probability is one half.
        names: Pseudonyms of the people of the first round, 8 bytes each, sorted: salted hashes, or random numbers.
            None: they were not handed over, so repeats cannot be refused.
        earlier: The task of the first round, as JSON. None: unknown, as in documents of earlier versions.
    """

    first_task_hash: str
    curve: str
    first_class: FirstClass
    one_probabilities: tuple[int, ...]
    names: bytes | None = field(default=None, kw_only=True, repr=False)
    earlier: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_type("question", self.question, CdfQuestion, "the question of the first round")
        if self.question.where:
            raise InvalidArgument("where", FILTER_RULE)
        if len(self.one_probabilities) != self.question.grid.slots or not all(
            0 <= probability <= PROBABILITY_PARTS for probability in self.one_probabilities
        ):
            raise InvalidArgument("task", "is damaged: it lacks probabilities of cells; ask its author for a new copy")
        if not (isinstance(self.first_task_hash, str) and fullmatch("[0-9a-f]{64}", self.first_task_hash)):
            raise InvalidArgument(
                "task",
                "is damaged: it does not name the task of its first round; ask its author for a new copy",
            )

        # People of the first round are looked up by bisection, so their pseudonyms must be sorted and distinct.
        if self.names is not None and (
            len(self.names) % PSEUDONYM_SIZE or (self._sorted_names[1:] <= self._sorted_names[:-1]).any()
        ):
            raise InvalidArgument(
                "task",
                "is damaged: its list of people of the first round cannot be read; ask its author for a new copy",
            )

        first_task = None if self.earlier is None else Task.from_json(self.earlier)
        named = self.first_task_hash, self.loss, self.question
        if first_task is not None and (first_task.hash, first_task.loss, first_task.question) != named:
            raise InvalidArgument(
                "task",
                "is damaged: its copy of the first round is not the one that it names; ask its author for a new copy",
            )
        super().__post_init__()

    @classmethod
    def from_first_round(
        cls, task: Task, curve: CDF, first_class: FirstClass, people: int, *, names: bytes | None = None
    ) -> SecondRound:
        """Return the second round, in which the other class reports one bit each, from the curve of a first round.

        Args:
            task: The task of the first class, which asks for a distribution function.
            curve: The curve computed from its reports.
            first_class: The class that reported.
            people: Approximate number of people of the other class who will report.
            names: Pseudonyms of the people of the first round, as `Collection.names` returns them; None: not handed
                over.

        Raises:
            ValueError: the curve counts values outside its grid apart, or `first_class` is unknown.
            TypeError: the first round asked another question.
        """
        curve_class = parse_choice("first_class", first_class, FirstClass)
        chances = tuple(find_one_probabilities(curve, curve_class).tolist())
        curve_json = json.dumps(json.loads(curve.to_json()), sort_keys=True)
        first_round = {"names": names, "earlier": task.to_json()}
        return cls(task.question, task.loss, people, task.hash, curve_json, curve_class, chances, **first_round)  # type: ignore[arg-type]

    @cached_property
    def plan(self) -> Plan:
        """Plan of the second round, in which each person reports one randomised bit."""
        axis = Axis(self.question.column, Grid(0, 1, cells=1))
        adjacency = ReplaceOne(EACH_RECORD, self.people)
        return Local().plan_query(CountQuery((axis,), CountUse.CELLS), self.loss.as_single_release(), adjacency)

    @property
    def memo_key(self) -> str:
        """Hash of the first round's task, so that a device stores one report for both rounds."""
        return self.first_task_hash

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        """The column of scores on the grid of the first round."""
        return (Axis(self.question.column, self.question.grid),)

    @property
    def _salt(self) -> str:
        """Text that is hashed together with names: the first round's hash, so that both rounds have the same
        pseudonyms.

        Older documents without names use their own hash.
        """
        return self.hash if self.names is None else self.first_task_hash

    @cached_property
    def _sorted_names(self) -> Numbers:
        """Pseudonyms of the people of the first round as sorted integers, for look-up; empty if unknown."""
        return names_to_numbers(self._name_rows)

    @property
    def _name_rows(self) -> Octets:
        """Pseudonyms of the people of the first round, (people, 8) bytes; no rows if unknown."""
        return np.frombuffer(self.names or b"", dtype=np.uint8).reshape(-1, PSEUDONYM_SIZE)

    def mark_repeats(self, names: Octets) -> BoolArray:
        """Return which people have reported in the first round already; all False if its pseudonyms are unknown.

        Args:
            names: Pseudonyms, (people, 8) bytes.

        Returns:
            Mask, (people,).
        """
        numbers = names_to_numbers(names)
        if not len(self._sorted_names):
            return np.zeros(len(numbers), dtype=np.bool_)
        position = np.minimum(np.searchsorted(self._sorted_names, numbers), len(self._sorted_names) - 1)
        return np.asarray(self._sorted_names[position] == numbers)

    @cached_property
    def loss_in_both_rounds(self) -> PrivacyLoss:
        """The privacy loss of a person who reports in both rounds, given the published curve.

        For a pure loss it is the logarithm of the largest likelihood ratio of the two reports together, rounded up to
        six digits. Under a zero-concentrated loss, or if `earlier` is unknown, it is the sum of both losses.

        Formal guarantees: both reports are drawn from one value, and the probabilities of the second are a function of
        the published curve. Each outcome with these probabilities is at most exp(`loss_in_both_rounds`) times as likely
        for one value as for another, and exactly so (up to the rounding) for some pair. Before publication, only twice
        the loss is guaranteed.
        """
        if self.earlier is None or not self.loss.is_pure:
            return self.loss.as_single_release() + self.loss.as_single_release()
        ratio = find_largest_ratio(Task.from_json(self.earlier).plan, self.plan, self.one_probabilities)
        fine = Context(prec=80)
        log_ratio = fine.ln(fine.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
        # a margin for the rounding errors of the quotient and its logarithm
        above = fine.add(log_ratio, Decimal("1e-60"))
        return PrivacyLoss.pure(Fraction(_SIX_DIGITS_UP.plus(above)))

    def compute_curve(
        self, reply: Callable[[Step, Allotment], Release], *, repeated_people: int | None = None
    ) -> TwoRoundArea:
        """Return the area under the ROC curve, from the published curve and the aggregated bits.

        The stated loss is the loss of one round if repeats were refused and none was found, else the loss of both
        rounds.

        Args:
            reply: Function of a step and its charge that returns the release of the bits.
            repeated_people: Number of reports left out because their person was in the first round; None: unknown.
        """
        budget = QuestionBudget.from_external_charge(self.hash, self.loss.as_single_release())
        query = self.plan.query
        release = reply(Step(query, Fraction(1)), budget.pay(query.charged_query, Fraction(1)))
        distribution = release.plan.distribution.require_type(AggregatedReports)
        (level,) = distribution.levels
        bits = BitCounts(distribution.people, int(release.values[BitSlot.ONE]), float(level.gain), float(level.p_other))
        curve = CDF.from_json(self.curve)
        refused = repeated_people == 0 and self.names is not None and not has_drawn_names(self._name_rows)
        return self._add_losses(
            estimate_area(curve, self.first_class, bits), (curve.privacy.units or 0, bits.reports), refused
        )

    def _add_losses(self, statistic: UStatistic, people: tuple[int, int], repeats_refused: bool) -> TwoRoundArea:
        """Return the estimated area completed with the numbers of people, the privacy losses and the privacy statement.

        Args:
            statistic: The estimate.
            people: Numbers of people of both rounds.
            repeats_refused: If True, nobody reported in both rounds, so the loss of one round is stated.
        """
        losses: dict[str, Any] = {"loss_in_one_round": self.loss, "loss_in_both_rounds": self.loss_in_both_rounds}
        losses["is_exact"] = self.earlier is not None and self.loss.is_pure
        area = TwoRoundArea(**vars(statistic), people=people, repeats_refused=repeats_refused, **losses)
        loss = (area.loss_in_one_round if repeats_refused else area.loss_in_both_rounds).as_single_release()
        epsilon = loss.epsilon
        mechanism = f"{statistic.privacy.mechanism}; then {self.plan.made_by}"
        privacy = replace(
            statistic.privacy, epsilon=None if epsilon is None else float(epsilon), rho=float(loss.rho),
            units=sum(people), mechanism=mechanism,
        ).with_notes(*area.statements)  # fmt: skip
        return replace(
            area, privacy=privacy, notes=area.notes if repeats_refused else (*area.notes, area.statements[1])
        )

    def _draw_answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """SECRET: draw the bit that each person reports before randomisation: 1 with the published probability of its
        cell.

        Args:
            slots: Index of the cell (slot) of each person's score.
            source: Random numbers of the person's report.

        Returns:
            `BitSlot.ONE` or `BitSlot.ZERO` of each person.
        """
        thresholds = np.array([*self.one_probabilities, PROBABILITY_PARTS // 2], dtype=np.uint64)
        words = np.frombuffer(source.random_bytes(4 * len(slots)), dtype="<u4").astype(np.uint64)
        return np.where(words < thresholds[slots], BitSlot.ONE, BitSlot.ZERO)

    @classmethod
    def from_json(cls, text: str) -> SecondRound:
        """Return the second round that a JSON document describes, as `to_json` wrote it.

        Args:
            text: A JSON document; every statement in it is checked, because it comes from a server.

        Raises:
            ValueError: the text is no second round, of another version, or damaged.
        """
        try:
            stored = json.loads(text)
            version = stored[VERSION_FIELD]
            before = stored["before"]
            chances = tuple(stored["chances"])
            task = Task.from_json(json.dumps(stored["task"]))
            first_round = _parse_first_round(stored)
            curve = json.dumps(stored["curve"], sort_keys=True)
            first_class = parse_choice("first_class", stored["first"], FirstClass)
            CDF.from_json(curve)
        except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError):
            raise InvalidArgument(
                "task", "is not a second round of the local model; name the file that dpcurves local publish wrote"
            ) from None

        # The text comes from a server, so each statement in it is checked against the others.
        require_known_fields(stored, _FIELDS)
        if task != Task(task.question, task.loss, task.people):
            raise InvalidArgument(
                "task",
                "is damaged: a second round has no target, coins or rounding; ask its author for a new copy",
            )
        if version != VERSION or not all(isinstance(probability, int) for probability in chances):
            raise InvalidArgument(
                "task",
                f"is damaged, or not of version {VERSION}; get it again, or use the version of dpcurves that wrote it",
            )
        return cls(task.question, task.loss, task.people, before, curve, first_class, chances, **first_round)

    def to_json(self) -> str:
        """Return the document as JSON; its bytes decide its hash."""
        document = {
            "before": self.first_task_hash,
            "curve": json.loads(self.curve),
            "first": str(self.first_class),
            "chances": list(self.one_probabilities),
        }
        names = {} if self.names is None else {"names": b64encode(self.names).decode()}
        earlier = {} if self.earlier is None else {"earlier": json.loads(self.earlier)}
        task = json.loads(super().to_json())
        return json.dumps({VERSION_FIELD: VERSION, "task": task, **document, **names, **earlier}, sort_keys=True)


def _parse_first_round(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the names and the task of the first round, as far as a document has them.

    Args:
        stored: Fields of the document.

    Returns:
        ``names``, the pseudonyms as bytes, and ``earlier``, the task as JSON; None where the document has none.

    Raises:
        InvalidArgument: the names are no Base64.
    """
    names = stored.get("names")
    earlier = stored.get("earlier")
    try:
        octets = None if names is None else b64decode(names.encode("ascii"), validate=True)
    except ValueError:
        raise InvalidArgument(
            "task",
            "is damaged: its list of people of the first round cannot be read; ask its author for a new copy",
        ) from None
    return {"names": octets, "earlier": None if earlier is None else Task.from_json(json.dumps(earlier)).to_json()}


def find_largest_ratio(plan: Plan, second: Plan, one_probabilities: Sequence[int]) -> Fraction:
    """Return the exact largest likelihood ratio of both reports of one person, over all pairs of values.

    Two values in different intervals of one level lie in different intervals of all finer levels. If the first report
    is about a single level, the largest ratio of these levels counts. If it is about all levels, their ratios multiply.
    The second report depends only on the probabilities of the two values.

    Args:
        plan: Plan of the first report.
        second: Plan of the second report, of one bit.
        one_probabilities: Probability that a value in each cell gives a one, in multiples of ``1 / PROBABILITY_PARTS``.
    """
    distribution = plan.distribution.require_type(AggregatedReports)
    ratios = [randomiser.support.likelihood_ratio for randomiser in find_randomisers(distribution, plan.loss)]
    (bit,) = (
        randomiser.support.likelihood_ratio
        for randomiser in find_randomisers(second.distribution.require_type(AggregatedReports), second.loss)
    )
    combine = prod if distribution.about_all else max
    return max(
        Fraction(combine(ratios[number:])) * max(_list_bit_ratios(one_probabilities, level.starts, bit))
        for number, level in enumerate(distribution.levels)
    )


def _list_bit_ratios(chances: Sequence[int], starts: Sequence[int], bit: Fraction) -> Iterator[Fraction]:
    """Yield likelihood ratios of the second report for two values in different intervals; the largest is among them.

    The ratio grows with the first value's probability and shrinks with the second's. So the two largest and the two
    smallest probabilities of intervals suffice.

    Args:
        chances: Probability of the answer 1 for each slot, in units of ``1 / PROBABILITY_PARTS``.
        starts: First slot of each interval.
        bit: Likelihood ratio of the randomised bit.
    """
    probabilities = np.array(chances, dtype=np.int64)
    largest = np.append(np.maximum.reduceat(probabilities, list(starts)), PROBABILITY_PARTS // 2)
    smallest = np.append(np.minimum.reduceat(probabilities, list(starts)), PROBABILITY_PARTS // 2)
    for high in np.argsort(largest)[-2:].tolist():
        for low in np.argsort(smallest)[:2].tolist():
            if high != low:
                largest_probability, smallest_probability = (
                    Fraction(int(numerator), PROBABILITY_PARTS) for numerator in (largest[high], smallest[low])
                )
                yield (1 + (bit - 1) * largest_probability) / (1 + (bit - 1) * smallest_probability)
                yield (bit - (bit - 1) * smallest_probability) / (bit - (bit - 1) * largest_probability)


def publish(collection: Collection, first_class: FirstClass, people: int, *, names: bool = True) -> SecondRound:
    """Return the second round of an area under the ROC curve, from the reports of the class that reported its scores.

    In the second round, people of the other class report one bit each about the published curve.

    Args:
        collection: Reports to a task that asks for a distribution function.
        first_class: The class that reported.
        people: Approximate number of people of the other class who will report.
        names: Whether the document contains pseudonyms of the people of the first round, so that devices refuse them in
            the second round: 8 bytes each. A reader with a list of names can find out who reported, and so who belongs
            to the first class. Leave them out if class membership is not public; the result then states the loss of a
            person who reported in both rounds.

    Raises:
        ValueError: there are no reports, or `first_class` is unknown.
        TypeError: the task asks another question.

    >>> import dpcurves as dp
    >>> low = Task(dp.CdfQuestion("score", dp.Grid(0, 8, cells=8)), dp.PrivacyLoss.pure(8), people=1000)
    >>> reports = Collection(low)
    >>> reports.add_each(low.randomize(score) for score in (2, 4) * 500)
    >>> second = publish(reports, FirstClass.NEGATIVES, people=500)
    >>> abs(dp.local.aggregate([second.randomize(3) for _ in range(500)], second).value - 0.5) < 0.15
    True
    """
    pseudonyms = collection.names() if names else None
    return SecondRound.from_first_round(collection.task, collection.curve(), first_class, people, names=pseudonyms)


def read_task(path: str | Path) -> Task:
    """Return the task in a file, of a single round or of a second round.

    Args:
        path: Path of the JSON file.

    Raises:
        ValueError: the file cannot be read, or does not contain a task.
    """
    text = read_document_text(path)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    return SecondRound.from_json(text) if isinstance(stored, dict) and VERSION_FIELD in stored else Task.from_json(text)


class FirstClass(StrEnum):
    """The class that reports its scores in the first round."""

    NEGATIVES = "negatives"
    POSITIVES = "positives"


def find_one_probabilities(curve: CDF, first_class: FirstClass) -> IntArray:
    """Return the probability with which a person of the second class should report 1 for a score in each cell (slot).

    It is the probability that the score ranks correctly against a random score of the first class. A pair is ranked
    correctly if the positive has the higher score; ties count half.

    Args:
        curve: Distribution function of the first class, with values outside its grid clipped.
        first_class: The class of the curve.

    Returns:
        One integer per slot, in units of ``1 / PROBABILITY_PARTS``.

    Raises:
        TypeError: `curve` is not a distribution function.
        ValueError: values outside the grid were counted apart.
    """
    require_type("curve", curve, CDF, "a distribution function of the scores of one class")
    if curve.prefixes.grid.outside is Outside.APART:
        raise InvalidArgument(
            "curve",
            "must clip values outside the grid, because those counted apart have no order; use "
            "such a grid in the first round",
        )
    shares = estimate_shares(curve)
    below = np.asarray(np.rint((shares[1:] + shares[:-1]) / 2 * PROBABILITY_PARTS)).astype(np.int64)
    return below if first_class is FirstClass.NEGATIVES else PROBABILITY_PARTS - below


class BitCounts(NamedTuple):
    """Aggregated randomised bits, and the probabilities by which they are debiased.

    Attributes:
        reports: Number of people who sent a bit.
        ones: Number of ones among the bits.
        gain: Probability of a 1 if the true bit is 1, minus that probability if it is 0.
        p_other: Probability of a 1 if the true bit is 0.
    """

    reports: int
    ones: int
    gain: float
    p_other: float

    @property
    def mean(self) -> float:
        """Estimated share of people whose bit was 1 before randomisation: the debiased share of reported ones."""
        return (self.ones / self.reports - self.p_other) / self.gain

    def sample_means(self, draws: int) -> tuple[FloatArray, FloatArray]:
        """Draw samples whose lower and upper quantiles are the endpoints of the Clopper-Pearson (1934) interval for
        `mean`.

        People are taken to be drawn from a population; bits of fixed people vary less.

        Args:
            draws: Number of samples.

        Returns:
            Samples for the lower and for the upper endpoint, (draws,) each.
        """
        source = numbered_generator(5)
        zeros = self.reports - self.ones
        lower = source.beta(self.ones, zeros + 1, draws) if self.ones else np.zeros(draws)
        upper = source.beta(self.ones + 1, zeros, draws) if zeros else np.ones(draws)
        return (lower - self.p_other) / self.gain, (upper - self.p_other) / self.gain


def estimate_area(curve: CDF, first_class: FirstClass, bits: BitCounts) -> UStatistic:
    """Estimate the area from the published curve of one class and one randomised bit of each person of the other.

    The value is the debiased share of ones. Given the first round, its expectation is the probability that the
    published curve ranks a positive above a negative, ties counted half. The error has two parts: the error of the
    published curve, averaged over the scores of the second class, and the binomial error of the bits. The scores of the
    second class are unknown. So the interval uses the edge at which the curve is least accurate, and holds for any
    scores.

    Args:
        curve: Distribution function of the first class, from which `find_one_probabilities` were published.
        first_class: The class of the curve.
        bits: The bits of the second class.

    Returns:
        The area; its `resolution` is half of the share in the largest cell of the published curve.
    """

    def find_ends(level: float, population: bool) -> tuple[float, float]:
        """Return the endpoints of the interval at a level, for these people or for the population.

        Args:
            level: Confidence level, between 0 and 1.
            population: If True, the interval is for the population.
        """
        edge_errors = simulate_edge_errors(curve, population) * (1 if first_class is FirstClass.NEGATIVES else -1)
        lower, upper = (samples[:, None] for samples in bits.sample_means(len(edge_errors)))
        low = [basic_interval(0.0, column, level)[0] for column in (edge_errors - lower).T]
        high = [basic_interval(0.0, column, level)[1] for column in (edge_errors - upper).T]
        return min(low), max(high)

    cells = float(np.diff(estimate_shares(curve)).max()) / 2
    value = min(max(bits.mean, 0.0), 1.0)
    return UStatistic(
        value=value,
        resolution=cells,
        interval_function=find_ends,
        privacy=curve.privacy,
        notes=curve.notes,
        minimum=0.0,
        maximum=1.0,
    )


def simulate_edge_errors(curve: CDF, population: bool) -> FloatArray:
    """Return simulated errors of the released curve at up to `KERNEL_CELLS` + 1 edges, (draws, edges).

    Edges left out can be less accurate. So the errors are scaled to the largest standard deviation of any edge.

    Args:
        curve: Distribution function of the first class.
        population: Whether to add the error of sampling people.
    """
    distribution, total = curve.prefixes.evidence.sums, curve.prefixes.evidence.total
    edges = len(distribution.bounds)
    edges_used = np.unique(np.linspace(0, edges - 1, min(edges, KERNEL_CELLS + 1)).round().astype(np.int64))
    draws = min(KERNEL_DRAWS, choose_draws(edges))
    noise = np.concatenate(
        [chunk[:, edges_used] for chunk in distribution.simulate_prefixes(total, draws, numbered_generator(6))]
    )
    variances = distribution.prefix_variances(total is not None)[0][distribution.bounds]
    largest = float(variances[edges_used].max())
    scale = np.sqrt(float(variances.max()) / largest) if largest > 0 else 1.0
    shares = estimate_shares(curve)[distribution.bounds[edges_used]]
    people = max(float(curve.count), 1.0)
    errors = scale * (noise - shares * noise[:, -1:]) / people
    if population:
        errors = errors + _simulate_sampling_errors(curve, shares, round(people), draws)
    return np.asarray(errors)


def _simulate_sampling_errors(curve: CDF, shares: FloatArray, people: int, draws: int) -> FloatArray:
    """Return simulated sampling errors of sample shares, (draws, edges), from a population with `Tuning.unseen_people`
    further people.

    Args:
        curve: Curve of the first round, whose units must be single records.
        shares: Shares below the edges, (edges,).
        people: Number of people in the sample.
        draws: Number of draws.
    """
    require_independent(curve.privacy)
    cells = np.diff(shares) * people + TUNING.unseen_people / (len(shares) - 1)
    cells /= cells.sum()
    errors = numbered_generator(7).multinomial(people, cells, size=draws) / people - cells
    return np.concatenate([np.zeros((draws, 1)), np.cumsum(errors, axis=-1)], axis=-1)


def estimate_shares(curve: CDF) -> FloatArray:
    """Return monotone shares of records below the boundaries of all cells (slots): the isotonic regression of the
    unbiased shares.

    Args:
        curve: Released distribution function.

    Returns:
        Shares from 0 to 1, (slots + 1,).
    """
    slots = curve.prefixes.grid.slots
    bounds = np.asarray(curve.prefixes.evidence.sums.bounds)
    _, counts = counts_between(curve.prefixes, bounds)
    shares = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 1.0)
    shares[-1] = 1.0
    return np.asarray(np.interp(np.arange(slots + 1), bounds, shares))


@dataclass(frozen=True)
class AreaProtocol:
    """A protocol for the area with public labels. Each person sends one report with the whole loss.

    Attributes:
        first_class: The class that reports its scores first, and whose curve is published to the other. None: both
            classes report their scores, in one round.
        error: Forecast standard deviation of the area, for evenly spread scores.
    """

    first_class: FirstClass | None
    error: float

    @property
    def rounds(self) -> int:
        """Number of rounds; each person is asked in one of them only."""
        return 1 if self.first_class is None else 2

    def __str__(self) -> str:
        if self.first_class is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first_class} report their scores, then the others one bit each"


def compare_area_protocols(
    grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int
) -> tuple[AreaProtocol, ...]:
    """Return the ways to estimate the area under a ROC curve in the local model, in order of increasing forecast error.

    Forecasts are of tasks whose `target` is ``CountUse.AREA``.

    Args:
        grid: Public cells of the scores.
        loss: Privacy loss of one report.
        positives: Approximate number of positives who report.
        negatives: Approximate number of negatives who report.

    Raises:
        ValueError: a class is empty or too large.

    >>> import dpcurves as dp
    >>> grid, loss = dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1)
    >>> best, *_ = compare_area_protocols(grid, loss, positives=500, negatives=5000)
    >>> best.rounds, str(best.first_class)
    (2, 'negatives')
    """
    sizes = {FirstClass.NEGATIVES: negatives, FirstClass.POSITIVES: positives}
    scores = {
        first_class: Task(CdfQuestion("score", grid), loss, people, target=CountUse.AREA)
        for first_class, people in sizes.items()
    }
    score_variances = {
        first_class: predict_scores_variance(task.plan.distribution.require_type(AggregatedReports))
        for first_class, task in scores.items()
    }
    protocols = [AreaProtocol(None, sqrt(sum(score_variances.values())))]
    one_bit = (
        Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1)
        .plan.distribution.require_type(AggregatedReports)
        .levels[0]
    )
    for first_class, first_size in ((FirstClass.NEGATIVES, positives), (FirstClass.POSITIVES, negatives)):
        protocols.append(
            AreaProtocol(
                first_class, sqrt(score_variances[first_class] + 1 / (4 * float(one_bit.gain) ** 2 * first_size))
            )
        )
    return tuple(sorted(protocols, key=lambda road: road.error))


def predict_scores_variance(distribution: AggregatedReports) -> float:
    """Return the variance that one class's randomised reports add to the estimated area, for evenly spread scores.

    It is the variance, from randomisation alone, of the mean of the curve over all cells.

    Args:
        distribution: Distribution of the aggregated reports of this class.
    """
    return distribution.area_variance() / distribution.people**2
