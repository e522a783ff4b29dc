"""Areas under ROC curves of two rounds: of a published curve, each person of the other class answers a random bit."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
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
from dpcurves.curves.pair_mean import UNSEEN, UStatistic
from dpcurves.curves.question import require_independent
from dpcurves.curves.u_statistic import MOST_CELLS, MOST_DRAWS
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.inference.bands import basic_interval
from dpcurves.inference.simulation import choose_draws, numbered_generator
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves_parties.serving.task_document import read_document_text

from .collection import Collection
from .report_file import NAME, Numbers, Octets, has_drawn_names, names_to_numbers
from .tallied import AggregatedReports
from .task import VERSION, Task
from .trust import Local, find_randomisers

ONE, ZERO = 0, 1
"""The answers: a one has the only cell of the table, a zero is missing from it."""
KEY = "local_second_round"
_FIELDS = KEY, "task", "before", "curve", "first", "chances", "names", "earlier"
_SAID = Context(prec=6, rounding=ROUND_CEILING)
"""Losses are printed with six digits: they are rounded up."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoRoundArea(UStatistic):
    """The area under a ROC curve of two rounds, with the people of both, and with what each person lost.

    `privacy` has `loss_in_one_round` where repeats were refused, and `loss_in_both_rounds` where they could not be, or were met.

    Attributes:
        people: How many reports were counted in the first round, and in the second.
        loss_in_one_round: The loss of a person who reported in one round only.
        loss_in_both_rounds: The loss of a person who reported in both: see `SecondRound.loss_in_both_rounds`.
        is_exact: Whether `loss_in_both_rounds` is exact for what was published; if not, it is the sum of both rounds' losses.
        repeats_refused: Whether `privacy` takes it that each person reported in one round only: the names of the first round
            were known, none was drawn, and nobody was met again.
    """

    people: tuple[int, int]
    loss_in_one_round: PrivacyLoss
    loss_in_both_rounds: PrivacyLoss
    is_exact: bool
    repeats_refused: bool

    @property
    def statements(self) -> tuple[str, str]:
        """The people of both rounds, and for whom the loss holds: a line each."""
        return f"people: {self.people[0]} in the first round, {self.people[1]} in the second", _describe_losses(self)


def _describe_losses(area: TwoRoundArea) -> str:
    how = "exact, given the published curve" if area.is_exact else "an upper bound: the sum of both rounds"
    if area.repeats_refused:
        return (
            f"{area.loss_in_one_round} holds for a person who reported in one round only; "
            f"a person who reported in both lost {area.loss_in_both_rounds} ({how})"
        )
    return (
        f"{area.loss_in_both_rounds} holds for each person, for repeats were not all refused: a person who reported in both rounds "
        f"lost it ({how}), a person who reported in one round only lost {area.loss_in_one_round}"
    )


@dataclass(frozen=True)
class SecondRound(Task):
    """The public task of the second round: the published curve of the first class, and what the second class is asked.

    Labels are public: a person belongs to one class, and sends one report, in one of the rounds.

    Formal guarantees: a person draws a one with the published chance of the own slot, or a zero, and sends this bit
    through a randomiser of two answers that loses at most `loss`. Whatever the chances are, then, no report is more
    than ``exp(epsilon)`` times as likely for one value as for another: it is a mixture of the two answers' reports. A
    device that keeps its reports makes one for both rounds together, and refuses to report in the other one. So does
    each device that finds the person among `names`, before anything is drawn or sent. What a person has lost who
    reported in both all the same is `loss_in_both_rounds`.

    Attributes:
        first_task_hash: The hash of the task of the first round.
        curve: The distribution function of the first class, as JSON.
        first_class: Which class that is.
        one_probabilities: With which chance a person draws a one: for each slot of the grid, in parts of 2**32. A missing score
            is tied with all others: it has one half.
        names: What stands for the people of the first round, 8 octets each, in order: hashes that are salted with its
            task, or drawn. None: they were not handed over, so repeats can not be refused.
        earlier: The task of the first round, as JSON. None: not known, as in documents of earlier versions.
    """

    first_task_hash: str
    curve: str
    first_class: FirstClass
    one_probabilities: tuple[int, ...]
    names: bytes | None = field(default=None, kw_only=True, repr=False)
    earlier: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_type("question", self.question, CdfQuestion, "the question of the first round")
        if len(self.one_probabilities) != self.question.grid.slots or not all(
            0 <= chance <= PARTS for chance in self.one_probabilities
        ):
            raise InvalidArgument("task", "it has no chance for each slot of its grid")
        if not (isinstance(self.first_task_hash, str) and fullmatch("[0-9a-f]{64}", self.first_task_hash)):
            raise InvalidArgument("task", "it does not name the task of its first round")
        if self.names is not None and (
            len(self.names) % NAME or (self._sorted_names[1:] <= self._sorted_names[:-1]).any()
        ):
            raise InvalidArgument("task", "its names of the first round are damaged")
        first = None if self.earlier is None else Task.from_json(self.earlier)
        if first is not None and (first.hash, first.loss, first.question) != (
            self.first_task_hash,
            self.loss,
            self.question,
        ):
            raise InvalidArgument("task", "the task of its first round is another one")
        super().__post_init__()

    @classmethod
    def from_first_round(
        cls, task: Task, curve: CDF, first_class: FirstClass, people: int, *, names: bytes | None = None
    ) -> SecondRound:
        """The second round after the curve of a first one.

        Args:
            task: What the first class was asked: a distribution function.
            curve: What was read from its reports.
            first_class: Which class that was.
            people: About how many of the other class will report.
            names: The people of the first round, as `Collection.names` gives them.

        Raises:
            ValueError: the curve counts values outside its grid apart, or there is no such class.
            TypeError: the first round asked for something else.
        """
        own = parse_choice("first_class", first_class, FirstClass)
        chances = tuple(find_one_probabilities(curve, own).tolist())
        told = json.dumps(json.loads(curve.to_json()), sort_keys=True)
        known = {"names": names, "earlier": task.to_json()}
        return cls(task.question, task.loss, people, task.hash, told, own, chances, **known)  # type: ignore[arg-type]

    @cached_property
    def plan(self) -> Plan:
        """A plan of one randomised bit of each person."""
        axis = Axis(self.question.column, Grid(0, 1, cells=1))
        adjacency = ReplaceOne(EACH_RECORD, self.people)
        return Local().plan_query(CountQuery((axis,), CountUse.CELLS), self.loss.as_single_release(), adjacency)

    @property
    def memo_key(self) -> str:
        return self.first_task_hash

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        return (Axis(self.question.column, self.question.grid),)

    @property
    def _salt(self) -> str:
        """The account where names are compared with those of the first round; older documents have the task's."""
        return self.hash if self.names is None else self.first_task_hash

    @cached_property
    def _sorted_names(self) -> Numbers:
        return names_to_numbers(self._name_rows)

    @property
    def _name_rows(self) -> Octets:
        return np.frombuffer(self.names or b"", dtype=np.uint8).reshape(-1, NAME)

    def mark_repeats(self, names: Octets) -> BoolArray:
        """A mask of the names that are among those of the first round."""
        numbers = names_to_numbers(names)
        if not len(self._sorted_names):
            return np.zeros(len(numbers), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._sorted_names, numbers), len(self._sorted_names) - 1)
        return np.asarray(self._sorted_names[place] == numbers)

    @cached_property
    def loss_in_both_rounds(self) -> PrivacyLoss:
        """The loss of a person who reports in both rounds, given the published curve.

        Formal guarantees: both reports are drawn from one value, the second with the published chances, which are a
        function of the first reports. So each outcome with these chances is at most `loss_in_both_rounds` more likely for one
        value of the person than for another, and exactly so for some (rounded up to six digits). Before anything is
        published no more than twice the loss is promised. Under a zero-concentrated loss, or where `earlier` is not
        known, `loss_in_both_rounds` is that sum.
        """
        if self.earlier is None or not self.loss.is_pure:
            return self.loss.as_single_release() + self.loss.as_single_release()
        ratio = find_largest_ratio(Task.from_json(self.earlier).plan, self.plan, self.one_probabilities)
        fine = Context(prec=80)
        found = fine.ln(fine.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
        above = fine.add(found, Decimal("1e-60"))  # the quotient and its logarithm err by less
        return PrivacyLoss.pure(Fraction(_SAID.plus(above)))

    def compute_curve(
        self, reply: Callable[[Step, Allotment], Release], *, repeated_people: int | None = None
    ) -> TwoRoundArea:
        """The area under the ROC curve. Its loss is that of one round where repeats were refused, and none was met."""
        budget, query = QuestionBudget.from_external_charge(self.hash, self.loss.as_single_release()), self.plan.query
        release = reply(Step(query, Fraction(1)), budget.pay(query.charged_query, Fraction(1)))
        law = release.plan.law.require_type(AggregatedReports)
        (level,) = law.levels
        bits = BitCounts(law.people, int(release.values[ONE]), float(level.gain), float(level.p_other))
        curve = CDF.from_json(self.curve)
        refused = repeated_people == 0 and self.names is not None and not has_drawn_names(self._name_rows)
        return self._add_losses(
            estimate_area(curve, self.first_class, bits), (curve.privacy.units or 0, bits.reports), refused
        )

    def _add_losses(self, found: UStatistic, people: tuple[int, int], repeats_refused: bool) -> TwoRoundArea:
        """The area with its people, and with whom its loss holds for."""
        losses: dict[str, Any] = {"loss_in_one_round": self.loss, "loss_in_both_rounds": self.loss_in_both_rounds}
        losses["is_exact"] = self.earlier is not None and self.loss.is_pure
        area = TwoRoundArea(**vars(found), people=people, repeats_refused=repeats_refused, **losses)
        loss = (area.loss_in_one_round if repeats_refused else area.loss_in_both_rounds).as_single_release()
        epsilon, made = loss.epsilon, f"{found.privacy.mechanism}; then {self.plan.made_by}"
        privacy = replace(
            found.privacy, epsilon=None if epsilon is None else float(epsilon), rho=float(loss.rho), units=sum(people),
            mechanism=made,
        ).with_notes(*area.statements)  # fmt: skip
        return replace(
            area, privacy=privacy, notes=area.notes if repeats_refused else (*area.notes, area.statements[1])
        )

    def _draw_answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """A one with the chance of the own slot: 32 even bits are below it."""
        chances = np.array([*self.one_probabilities, PARTS // 2], dtype=np.uint64)
        drawn = np.frombuffer(source.random_bytes(4 * len(slots)), dtype="<u4").astype(np.uint64)
        return np.where(drawn < chances[slots], ONE, ZERO)

    @classmethod
    def from_json(cls, text: str) -> SecondRound:
        try:
            stored = json.loads(text)
            version, before, chances = stored[KEY], stored["before"], tuple(stored["chances"])
            asked = Task.from_json(json.dumps(stored["task"]))
            known = _parse_first_round(stored)
            curve, first = (
                json.dumps(stored["curve"], sort_keys=True),
                parse_choice("first", stored["first"], FirstClass),
            )
            CDF.from_json(curve)
        except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError):
            raise InvalidArgument("task", "this is no second round of the local model") from None
        require_known_fields(stored, _FIELDS)
        if asked != Task(asked.question, asked.loss, asked.people):
            raise InvalidArgument("task", "a second round has no aim, and no coins or rounding of its own")
        if version != VERSION or not all(isinstance(chance, int) for chance in chances):
            raise InvalidArgument("task", f"it is of another version than {VERSION}, or damaged")
        return cls(asked.question, asked.loss, asked.people, before, curve, first, chances, **known)

    def to_json(self) -> str:
        told = {
            "before": self.first_task_hash,
            "curve": json.loads(self.curve),
            "first": str(self.first_class),
            "chances": list(self.one_probabilities),
        }
        names = {} if self.names is None else {"names": b64encode(self.names).decode()}
        earlier = {} if self.earlier is None else {"earlier": json.loads(self.earlier)}
        task = json.loads(super().to_json())
        return json.dumps({KEY: VERSION, "task": task, **told, **names, **earlier}, sort_keys=True)


def _parse_first_round(stored: dict[str, Any]) -> dict[str, Any]:
    """The names and the task of the first round, where a document has them."""
    names, earlier = stored.get("names"), stored.get("earlier")
    try:
        octets = None if names is None else b64decode(names.encode("ascii"), validate=True)
    except ValueError:
        raise InvalidArgument("task", "its names of the first round are damaged") from None
    return {"names": octets, "earlier": None if earlier is None else Task.from_json(json.dumps(earlier)).to_json()}


def find_largest_ratio(plan: Plan, second: Plan, one_probabilities: Sequence[int]) -> Fraction:
    """Largest likelihood ratio of both reports of a person over all pairs of values, exactly.

    Two values that a level tells apart are told apart by all finer ones. The first report is about one of these, so
    that the largest of their ratios counts, or about all, so that they multiply; and the second report, given the
    first, depends on the chances of the two values alone.
    """
    law = plan.law.require_type(AggregatedReports)
    ratios = [way.support.likelihood_ratio for way in find_randomisers(law, plan.loss)]
    (bit,) = (
        way.support.likelihood_ratio
        for way in find_randomisers(second.law.require_type(AggregatedReports), second.loss)
    )
    combine = prod if law.about_all else max
    return max(
        Fraction(combine(ratios[number:])) * max(_list_bit_ratios(one_probabilities, level.starts, bit))
        for number, level in enumerate(law.levels)
    )


def _list_bit_ratios(chances: Sequence[int], starts: Sequence[int], bit: Fraction) -> Iterator[Fraction]:
    """Ratios of the second report of two values in different intervals, the largest among them.

    It grows with the one's chance, and falls with the other's: the two largest and smallest ones of intervals suffice.
    """
    told = np.array(chances, dtype=np.int64)
    most = np.append(np.maximum.reduceat(told, list(starts)), PARTS // 2)
    least = np.append(np.minimum.reduceat(told, list(starts)), PARTS // 2)
    for high in np.argsort(most)[-2:].tolist():
        for low in np.argsort(least)[:2].tolist():
            if high != low:
                up, down = (Fraction(int(each), PARTS) for each in (most[high], least[low]))
                yield (1 + (bit - 1) * up) / (1 + (bit - 1) * down)
                yield (bit - (bit - 1) * down) / (bit - (bit - 1) * up)


def publish(collection: Collection, first_class: FirstClass, people: int, *, names: bool = True) -> SecondRound:
    """The second round of an area, from the reports of the class that reported its scores.

    Args:
        collection: Its reports, to a task that asks for a distribution function.
        first_class: Which class that is.
        people: About how many of the other class will report.
        names: Whether the document has what stands for the people of the first round, who are then refused in the
            second: 8 octets each, from which whoever has a list of names can tell who reported, and so who belongs to
            the class of the first round. Do without them where this is not public. The loss that the result states is
            then that of a person who reported in both rounds.

    Raises:
        ValueError: there is no report, or there is no such class.
        TypeError: the task asks for something else.

    >>> import dpcurves as dp
    >>> low = Task(dp.CdfQuestion("score", dp.Grid(0, 8, cells=8)), dp.PrivacyLoss.pure(8), people=1000)
    >>> reports = Collection(low)
    >>> reports.add_each(low.randomize(score) for score in (2, 4) * 500)
    >>> second = publish(reports, FirstClass.NEGATIVES, people=500)
    >>> abs(dp.local.aggregate([second.randomize(3) for _ in range(500)], second).value - 0.5) < 0.15
    True
    """
    known = collection.names() if names else None
    return SecondRound.from_first_round(collection.task, collection.curve(), first_class, people, names=known)


def read_task(path: str | Path) -> Task:
    """The task of a file, of one round or of a second one.

    Raises:
        ValueError: the file can not be read, or is of no task.
    """
    text = read_document_text(path)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    return SecondRound.from_json(text) if isinstance(stored, dict) and KEY in stored else Task.from_json(text)


PARTS = 2**32
"""Chances are whole numbers of so many parts."""


class FirstClass(StrEnum):
    """The class that reports its scores in the first round."""

    NEGATIVES = "negatives"
    POSITIVES = "positives"


def find_one_probabilities(curve: CDF, first_class: FirstClass) -> IntArray:
    """With which chance a score in each slot stands right to one of the first class, ties counted half: in `PARTS`.

    A positive stands right above a negative.

    Raises:
        TypeError: it is no distribution function.
        ValueError: values outside the grid were counted apart.
    """
    require_type("curve", curve, CDF, "a distribution function of the scores of one class")
    if curve.prefixes.grid.outside is Outside.APART:
        raise InvalidArgument("curve", "values outside were counted apart, and how they compare is not known")
    shares = estimate_shares(curve)
    below = np.asarray(np.rint((shares[1:] + shares[:-1]) / 2 * PARTS)).astype(np.int64)
    return below if first_class is FirstClass.NEGATIVES else PARTS - below


class BitCounts(NamedTuple):
    """Tally of randomised bits, and the chances by which they are debiased.

    Attributes:
        reports: How many people sent one.
        ones: How many are ones.
        gain: How much more often one is a one for a true one than for a zero.
        p_other: How often it is a one for a zero.
    """

    reports: int
    ones: int
    gain: float
    p_other: float

    @property
    def mean(self) -> float:
        """The share of ones before they were randomised, without bias."""
        return (self.ones / self.reports - self.p_other) / self.gain

    def sample_means(self, draws: int) -> tuple[FloatArray, FloatArray]:
        """Draws whose lower and upper quantiles are the ends of Clopper and Pearson's (1934) interval for `mean`.

        Bits of given people scatter less than those of people who are drawn, for which it is made.
        """
        source, zeros = numbered_generator(5), self.reports - self.ones
        least = source.beta(self.ones, zeros + 1, draws) if self.ones else np.zeros(draws)
        most = source.beta(self.ones + 1, zeros, draws) if zeros else np.ones(draws)
        return (least - self.p_other) / self.gain, (most - self.p_other) / self.gain


def estimate_area(curve: CDF, first_class: FirstClass, bits: BitCounts) -> UStatistic:
    """The area, from the scores of one class and one randomised bit of each person of the other.

    Its value is the share of ones among the bits, without the bias of flips: on average, given the first round, how
    often the published curve says that a positive has the higher score, a tie counted half. *What it is off by* is the
    error of the published curve, on average over the scores of the second class; and that of the bits, a binomial
    number. Where the scores of the second class lie is not known, so the interval takes the edge at which the curve is
    known least: it holds for any scores. `resolution` is half of the largest cell of the published curve.

    Args:
        curve: The distribution function of the first class, of which `find_one_probabilities` were published.
        first_class: Which class that is.
        bits: What the second class sent.
    """

    def find_ends(level: float, population: bool) -> tuple[float, float]:
        moved = simulate_edge_errors(curve, population) * (1 if first_class is FirstClass.NEGATIVES else -1)
        least, most = (each[:, None] for each in bits.sample_means(len(moved)))
        low = [basic_interval(0.0, column, level)[0] for column in (moved - least).T]
        high = [basic_interval(0.0, column, level)[1] for column in (moved - most).T]
        return min(low), max(high)

    cells = float(np.diff(estimate_shares(curve)).max()) / 2
    value = min(max(bits.mean, 0.0), 1.0)
    return UStatistic(value, cells, find_ends, curve.privacy, curve.notes, 0.0, 1.0)


def simulate_edge_errors(curve: CDF, population: bool) -> FloatArray:
    """Simulated errors of the shares below edges, (draws, edges): at most at `MOST_CELLS` edges, and as large anywhere.

    Edges that are left out may be known less well than those that are kept: errors are enlarged by as much.
    """
    law, total = curve.prefixes.evidence.sums, curve.prefixes.evidence.total
    edges = len(law.bounds)
    kept = np.unique(np.linspace(0, edges - 1, min(edges, MOST_CELLS + 1)).round().astype(np.int64))
    draws = min(MOST_DRAWS, choose_draws(edges))
    noise = np.concatenate([part[:, kept] for part in law.simulate_prefixes(total, draws, numbered_generator(6))])
    variances = law.prefix_variances(total is not None)[0][law.bounds]
    most = float(variances[kept].max())
    scale = np.sqrt(float(variances.max()) / most) if most > 0 else 1.0
    shares, people = estimate_shares(curve)[law.bounds[kept]], max(float(curve.count), 1.0)
    found = scale * (noise - shares * noise[:, -1:]) / people
    return (
        np.asarray(found + _simulate_sampling_errors(curve, shares, round(people), draws))
        if population
        else np.asarray(found)
    )


def _simulate_sampling_errors(curve: CDF, shares: FloatArray, people: int, draws: int) -> FloatArray:
    """Deviations of shares of samples from those of the population, which has `UNSEEN` people more."""
    require_independent(curve.privacy)
    cells = np.diff(shares) * people + UNSEEN / (len(shares) - 1)
    cells /= cells.sum()
    drawn = numbered_generator(7).multinomial(people, cells, size=draws) / people - cells
    return np.concatenate([np.zeros((draws, 1)), np.cumsum(drawn, axis=-1)], axis=-1)


def estimate_shares(curve: CDF) -> FloatArray:
    """Shares below the boundaries of all slots, which do not fall: the unbiased ones, made monotone."""
    slots = curve.prefixes.grid.slots
    bounds = np.asarray(curve.prefixes.evidence.sums.bounds)
    _, counts = counts_between(curve.prefixes, bounds)
    shares = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 1.0)
    shares[-1] = 1.0
    return np.asarray(np.interp(np.arange(slots + 1), bounds, shares))


@dataclass(frozen=True)
class AreaProtocol:
    """A protocol for the area, where labels are public. Each person sends one report with the whole loss.

    Attributes:
        first_class: Which class reports its scores first, whose curve is published to the other. None: both report their
            scores, in one round.
        error: About the standard deviation of the area, of scores that are spread evenly.
    """

    first_class: FirstClass | None
    error: float

    @property
    def rounds(self) -> int:
        """The number of rounds, though each person is asked in one of them only."""
        return 1 if self.first_class is None else 2

    def __str__(self) -> str:
        if self.first_class is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first_class} report their scores, then the others one bit each"


def compare_area_protocols(
    grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int
) -> tuple[AreaProtocol, ...]:
    """Protocols for an area, the one with the least forecast error first. Forecasts are of tasks whose `aim` is
    ``CountUse.AREA``.

    Args:
        grid: Public cells of scores.
        loss: What one report may lose.
        positives: About how many positives report.
        negatives: About how many negatives do.

    Raises:
        ValueError: a class has nobody, or too many people.

    >>> import dpcurves as dp
    >>> best, *_ = compare_area_protocols(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=500, negatives=5000)
    >>> best.rounds, str(best.first)
    (2, 'negatives')
    """
    sizes = {FirstClass.NEGATIVES: negatives, FirstClass.POSITIVES: positives}
    scores = {
        first: Task(CdfQuestion("score", grid), loss, people, aim=CountUse.AREA) for first, people in sizes.items()
    }
    told = {
        first: predict_scores_variance(task.plan.law.require_type(AggregatedReports)) for first, task in scores.items()
    }
    roads = [AreaProtocol(None, sqrt(sum(told.values())))]
    one_bit = Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1).plan.law.require_type(AggregatedReports).levels[0]
    for first, second in ((FirstClass.NEGATIVES, positives), (FirstClass.POSITIVES, negatives)):
        roads.append(AreaProtocol(first, sqrt(told[first] + 1 / (4 * float(one_bit.gain) ** 2 * second))))
    return tuple(sorted(roads, key=lambda road: road.error))


def predict_scores_variance(law: AggregatedReports) -> float:
    """The variance of an area that one class adds, given the scores of the other one: all are spread evenly.

    That of the mean of the curve over all its cells, of the people who report about one level or all; their scores are
    given.
    """
    return law.area_variance() / law.people**2
