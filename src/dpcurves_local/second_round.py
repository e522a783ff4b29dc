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

from dpcurves.arguments import Refused, chosen, require_kind, require_known
from dpcurves.arrays import BoolArray, FloatArray, IntArray
from dpcurves.conversation import Plan, Release, Step
from dpcurves.curves import CdfQuestion
from dpcurves.curves.cdf import CDF
from dpcurves.curves.comparison import counts_of
from dpcurves.curves.pair_mean import UNSEEN, UStatistic
from dpcurves.curves.question import require_independent
from dpcurves.curves.u_statistic import MOST_CELLS, MOST_DRAWS
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.inference.bands import interval
from dpcurves.inference.simulation import draws_for, numbered_generator
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, Read
from dpcurves_parties.serving.task_document import text_of

from .collection import Collection
from .report_file import NAME, Numbers, Octets, any_drawn, numbers_of
from .tallied import Tallied
from .task import VERSION, Task
from .trust import Local, ways_of

ONE, ZERO = 0, 1
"""The answers: a one has the only cell of the table, a zero is missing from it."""
KEY = "local_second_round"
_FIELDS = KEY, "task", "before", "curve", "first", "chances", "names", "earlier"
_SAID = Context(prec=6, rounding=ROUND_CEILING)
"""Losses are printed with six digits: they are rounded up."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoRoundArea(UStatistic):
    """The area under a ROC curve of two rounds, with the people of both, and with what each person lost.

    `privacy` has `in_one` where repeats were refused, and `in_both` where they could not be, or were met.

    Attributes:
        people: How many reports were counted in the first round, and in the second.
        in_one: The loss of a person who reported in one round only.
        in_both: The loss of a person who reported in both: see `SecondRound.in_both`.
        exact: Whether `in_both` is exact for what was published; if not, it is the sum of both rounds' losses.
        refused: Whether `privacy` takes it that each person reported in one round only: the names of the first round
            were known, none was drawn, and nobody was met again.
    """

    people: tuple[int, int]
    in_one: PrivacyLoss
    in_both: PrivacyLoss
    exact: bool
    refused: bool

    @property
    def said(self) -> tuple[str, str]:
        """The people of both rounds, and for whom the loss holds: a line each."""
        return f"people: {self.people[0]} in the first round, {self.people[1]} in the second", _holds(self)


def _holds(area: TwoRoundArea) -> str:
    how = "exact, given the published curve" if area.exact else "an upper bound: the sum of both rounds"
    if area.refused:
        return (
            f"{area.in_one} holds for a person who reported in one round only; "
            f"a person who reported in both lost {area.in_both} ({how})"
        )
    return (
        f"{area.in_both} holds for each person, for repeats were not all refused: a person who reported in both rounds "
        f"lost it ({how}), a person who reported in one round only lost {area.in_one}"
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
    reported in both all the same is `in_both`.

    Attributes:
        before: The hash of the task of the first round.
        curve: The distribution function of the first class, as JSON.
        first: Which class that is.
        chances: With which chance a person draws a one: for each slot of the grid, in parts of 2**32. A missing score
            is tied with all others: it has one half.
        names: What stands for the people of the first round, 8 octets each, in order: hashes that are salted with its
            task, or drawn. None: they were not handed over, so repeats can not be refused.
        earlier: The task of the first round, as JSON. None: not known, as in documents of earlier versions.
    """

    before: str
    curve: str
    first: First
    chances: tuple[int, ...]
    names: bytes | None = field(default=None, kw_only=True, repr=False)
    earlier: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_kind("question", self.question, CdfQuestion, "the question of the first round")
        if len(self.chances) != self.question.grid.slots or not all(0 <= chance <= PARTS for chance in self.chances):
            raise Refused("task", "it has no chance for each slot of its grid")
        if not (isinstance(self.before, str) and fullmatch("[0-9a-f]{64}", self.before)):
            raise Refused("task", "it does not name the task of its first round")
        if self.names is not None and (len(self.names) % NAME or (self._known[1:] <= self._known[:-1]).any()):
            raise Refused("task", "its names of the first round are damaged")
        first = None if self.earlier is None else Task.from_json(self.earlier)
        if first is not None and (first.hash, first.loss, first.question) != (self.before, self.loss, self.question):
            raise Refused("task", "the task of its first round is another one")
        super().__post_init__()

    @classmethod
    def after(cls, task: Task, curve: CDF, first: First, people: int, *, names: bytes | None = None) -> SecondRound:
        """The second round after the curve of a first one.

        Args:
            task: What the first class was asked: a distribution function.
            curve: What was read from its reports.
            first: Which class that was.
            people: About how many of the other class will report.
            names: The people of the first round, as `Collection.names` gives them.

        Raises:
            ValueError: the curve counts values outside its grid apart, or there is no such class.
            TypeError: the first round asked for something else.
        """
        own = chosen("first", first, First)
        chances = tuple(chances_of_one(curve, own).tolist())
        told = json.dumps(json.loads(curve.to_json()), sort_keys=True)
        known = {"names": names, "earlier": task.to_json()}
        return cls(task.question, task.loss, people, task.hash, told, own, chances, **known)  # type: ignore[arg-type]

    @cached_property
    def plan(self) -> Plan:
        """A plan of one randomised bit of each person."""
        axis = Axis(self.question.column, Grid(0, 1, cells=1))
        adjacency = ReplaceOne(EACH_RECORD, self.people)
        return Local().turn(CountQuery((axis,), Read.CELLS), self.loss.of_one_release(), adjacency)

    @property
    def account(self) -> str:
        return self.before

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        return (Axis(self.question.column, self.question.grid),)

    @property
    def _salt(self) -> str:
        """The account where names are compared with those of the first round; older documents have the task's."""
        return self.hash if self.names is None else self.before

    @cached_property
    def _known(self) -> Numbers:
        return numbers_of(self._rows)

    @property
    def _rows(self) -> Octets:
        return np.frombuffer(self.names or b"", dtype=np.uint8).reshape(-1, NAME)

    def reported_before(self, names: Octets) -> BoolArray:
        """A mask of the names that are among those of the first round."""
        numbers = numbers_of(names)
        if not len(self._known):
            return np.zeros(len(numbers), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._known, numbers), len(self._known) - 1)
        return np.asarray(self._known[place] == numbers)

    @cached_property
    def in_both(self) -> PrivacyLoss:
        """The loss of a person who reports in both rounds, given the published curve.

        Formal guarantees: both reports are drawn from one value, the second with the published chances, which are a
        function of the first reports. So each outcome with these chances is at most `in_both` more likely for one
        value of the person than for another, and exactly so for some (rounded up to six digits). Before anything is
        published no more than twice the loss is promised. Under a zero-concentrated loss, or where `earlier` is not
        known, `in_both` is that sum.
        """
        if self.earlier is None or not self.loss.is_pure:
            return self.loss.of_one_release() + self.loss.of_one_release()
        ratio = largest_ratio(Task.from_json(self.earlier).plan, self.plan, self.chances)
        fine = Context(prec=80)
        found = fine.ln(fine.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
        above = fine.add(found, Decimal("1e-60"))  # the quotient and its logarithm err by less
        return PrivacyLoss.pure(Fraction(_SAID.plus(above)))

    def told(self, reply: Callable[[Step, Allotment], Release], *, met: int | None = None) -> TwoRoundArea:
        """The area under the ROC curve. Its loss is that of one round where repeats were refused, and none was met."""
        budget, query = QuestionBudget.told(self.hash, self.loss.of_one_release()), self.plan.query
        release = reply(Step(query, Fraction(1)), budget.pay(query.paid_as, Fraction(1)))
        law = release.plan.law.required(Tallied)
        (level,) = law.levels
        bits = Bits(law.people, int(release.values[ONE]), float(level.gain), float(level.other))
        curve = CDF.from_json(self.curve)
        refused = met == 0 and self.names is not None and not any_drawn(self._rows)
        return self._stated(area_of_bits(curve, self.first, bits), (curve.privacy.units or 0, bits.reports), refused)

    def _stated(self, found: UStatistic, people: tuple[int, int], refused: bool) -> TwoRoundArea:
        """The area with its people, and with whom its loss holds for."""
        losses: dict[str, Any] = {"in_one": self.loss, "in_both": self.in_both}
        losses["exact"] = self.earlier is not None and self.loss.is_pure
        area = TwoRoundArea(**vars(found), people=people, refused=refused, **losses)
        loss = (area.in_one if refused else area.in_both).of_one_release()
        epsilon, made = loss.epsilon, f"{found.privacy.mechanism}; then {self.plan.made_by}"
        privacy = replace(
            found.privacy, epsilon=None if epsilon is None else float(epsilon), rho=float(loss.rho), units=sum(people),
            mechanism=made,
        ).noted(*area.said)  # fmt: skip
        return replace(area, privacy=privacy, notes=area.notes if refused else (*area.notes, area.said[1]))

    def _answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """A one with the chance of the own slot: 32 even bits are below it."""
        chances = np.array([*self.chances, PARTS // 2], dtype=np.uint64)
        drawn = np.frombuffer(source.octets(4 * len(slots)), dtype="<u4").astype(np.uint64)
        return np.where(drawn < chances[slots], ONE, ZERO)

    @classmethod
    def from_json(cls, text: str) -> SecondRound:
        try:
            stored = json.loads(text)
            version, before, chances = stored[KEY], stored["before"], tuple(stored["chances"])
            asked = Task.from_json(json.dumps(stored["task"]))
            known = _known_of(stored)
            curve, first = json.dumps(stored["curve"], sort_keys=True), chosen("first", stored["first"], First)
            CDF.from_json(curve)
        except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError):
            raise Refused("task", "this is no second round of the local model") from None
        require_known(stored, _FIELDS)
        if asked != Task(asked.question, asked.loss, asked.people):
            raise Refused("task", "a second round has no aim, and no coins or rounding of its own")
        if version != VERSION or not all(isinstance(chance, int) for chance in chances):
            raise Refused("task", f"it is of another version than {VERSION}, or damaged")
        return cls(asked.question, asked.loss, asked.people, before, curve, first, chances, **known)

    def to_json(self) -> str:
        told = {
            "before": self.before,
            "curve": json.loads(self.curve),
            "first": str(self.first),
            "chances": list(self.chances),
        }
        names = {} if self.names is None else {"names": b64encode(self.names).decode()}
        earlier = {} if self.earlier is None else {"earlier": json.loads(self.earlier)}
        task = json.loads(super().to_json())
        return json.dumps({KEY: VERSION, "task": task, **told, **names, **earlier}, sort_keys=True)


def _known_of(stored: dict[str, Any]) -> dict[str, Any]:
    """The names and the task of the first round, where a document has them."""
    names, earlier = stored.get("names"), stored.get("earlier")
    try:
        octets = None if names is None else b64decode(names.encode("ascii"), validate=True)
    except ValueError:
        raise Refused("task", "its names of the first round are damaged") from None
    return {"names": octets, "earlier": None if earlier is None else Task.from_json(json.dumps(earlier)).to_json()}


def largest_ratio(plan: Plan, second: Plan, chances: Sequence[int]) -> Fraction:
    """Largest likelihood ratio of both reports of a person over all pairs of values, exactly.

    Two values that a level tells apart are told apart by all finer ones. The first report is about one of these, so
    that the largest of their ratios counts, or about all, so that they multiply; and the second report, given the
    first, depends on the chances of the two values alone.
    """
    law = plan.law.required(Tallied)
    ratios = [way.support.ratio for way in ways_of(law, plan.loss)]
    (bit,) = (way.support.ratio for way in ways_of(second.law.required(Tallied), second.loss))
    combine = prod if law.about_all else max
    return max(
        Fraction(combine(ratios[number:])) * max(_ratios_of_bits(chances, level.starts, bit))
        for number, level in enumerate(law.levels)
    )


def _ratios_of_bits(chances: Sequence[int], starts: Sequence[int], bit: Fraction) -> Iterator[Fraction]:
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


def publish(collection: Collection, first: First, people: int, *, names: bool = True) -> SecondRound:
    """The second round of an area, from the reports of the class that reported its scores.

    Args:
        collection: Its reports, to a task that asks for a distribution function.
        first: Which class that is.
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
    >>> second = publish(reports, First.NEGATIVES, people=500)
    >>> abs(dp.local.aggregate([second.randomize(3) for _ in range(500)], second).value - 0.5) < 0.15
    True
    """
    known = collection.names() if names else None
    return SecondRound.after(collection.task, collection.curve(), first, people, names=known)


def read_task(path: str | Path) -> Task:
    """The task of a file, of one round or of a second one.

    Raises:
        ValueError: the file can not be read, or is of no task.
    """
    text = text_of(path)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        stored = None
    return SecondRound.from_json(text) if isinstance(stored, dict) and KEY in stored else Task.from_json(text)


PARTS = 2**32
"""Chances are whole numbers of so many parts."""


class First(StrEnum):
    """The class that reports its scores in the first round."""

    NEGATIVES = "negatives"
    POSITIVES = "positives"


def chances_of_one(curve: CDF, first: First) -> IntArray:
    """With which chance a score in each slot stands right to one of the first class, ties counted half: in `PARTS`.

    A positive stands right above a negative.

    Raises:
        TypeError: it is no distribution function.
        ValueError: values outside the grid were counted apart.
    """
    require_kind("curve", curve, CDF, "a distribution function of the scores of one class")
    if curve.prefixes.grid.outside is Outside.APART:
        raise Refused("curve", "values outside were counted apart, and how they compare is not known")
    shares = likely_shares(curve)
    below = np.asarray(np.rint((shares[1:] + shares[:-1]) / 2 * PARTS)).astype(np.int64)
    return below if first is First.NEGATIVES else PARTS - below


class Bits(NamedTuple):
    """Tally of randomised bits, and the chances by which they are debiased.

    Attributes:
        reports: How many people sent one.
        ones: How many are ones.
        gain: How much more often one is a one for a true one than for a zero.
        other: How often it is a one for a zero.
    """

    reports: int
    ones: int
    gain: float
    other: float

    @property
    def mean(self) -> float:
        """The share of ones before they were randomised, without bias."""
        return (self.ones / self.reports - self.other) / self.gain

    def means(self, draws: int) -> tuple[FloatArray, FloatArray]:
        """Draws whose lower and upper quantiles are the ends of Clopper and Pearson's (1934) interval for `mean`.

        Bits of given people scatter less than those of people who are drawn, for which it is made.
        """
        source, zeros = numbered_generator(5), self.reports - self.ones
        least = source.beta(self.ones, zeros + 1, draws) if self.ones else np.zeros(draws)
        most = source.beta(self.ones + 1, zeros, draws) if zeros else np.ones(draws)
        return (least - self.other) / self.gain, (most - self.other) / self.gain


def area_of_bits(curve: CDF, first: First, bits: Bits) -> UStatistic:
    """The area, from the scores of one class and one randomised bit of each person of the other.

    Its value is the share of ones among the bits, without the bias of flips: on average, given the first round, how
    often the published curve says that a positive has the higher score, a tie counted half. *What it is off by* is the
    error of the published curve, on average over the scores of the second class; and that of the bits, a binomial
    number. Where the scores of the second class lie is not known, so the interval takes the edge at which the curve is
    known least: it holds for any scores. `resolution` is half of the largest cell of the published curve.

    Args:
        curve: The distribution function of the first class, of which `chances_of_one` were published.
        first: Which class that is.
        bits: What the second class sent.
    """

    def ends(level: float, population: bool) -> tuple[float, float]:
        moved = errors_at_edges(curve, population) * (1 if first is First.NEGATIVES else -1)
        least, most = (each[:, None] for each in bits.means(len(moved)))
        low = [interval(0.0, column, level)[0] for column in (moved - least).T]
        high = [interval(0.0, column, level)[1] for column in (moved - most).T]
        return min(low), max(high)

    cells = float(np.diff(likely_shares(curve)).max()) / 2
    value = min(max(bits.mean, 0.0), 1.0)
    return UStatistic(value, cells, ends, curve.privacy, curve.notes, 0.0, 1.0)


def errors_at_edges(curve: CDF, population: bool) -> FloatArray:
    """Simulated errors of the shares below edges, (draws, edges): at most at `MOST_CELLS` edges, and as large anywhere.

    Edges that are left out may be known less well than those that are kept: errors are enlarged by as much.
    """
    law, total = curve.prefixes.evidence.sums, curve.prefixes.evidence.total
    edges = len(law.bounds)
    kept = np.unique(np.linspace(0, edges - 1, min(edges, MOST_CELLS + 1)).round().astype(np.int64))
    draws = min(MOST_DRAWS, draws_for(edges))
    noise = np.concatenate([part[:, kept] for part in law.simulated_prefixes(total, draws, numbered_generator(6))])
    variances = law.prefix_variances(total is not None)[0][law.bounds]
    most = float(variances[kept].max())
    scale = np.sqrt(float(variances.max()) / most) if most > 0 else 1.0
    shares, people = likely_shares(curve)[law.bounds[kept]], max(float(curve.count), 1.0)
    found = scale * (noise - shares * noise[:, -1:]) / people
    return np.asarray(found + _sampled(curve, shares, round(people), draws)) if population else np.asarray(found)


def _sampled(curve: CDF, shares: FloatArray, people: int, draws: int) -> FloatArray:
    """Deviations of shares of samples from those of the population, which has `UNSEEN` people more."""
    require_independent(curve.privacy)
    cells = np.diff(shares) * people + UNSEEN / (len(shares) - 1)
    cells /= cells.sum()
    drawn = numbered_generator(7).multinomial(people, cells, size=draws) / people - cells
    return np.concatenate([np.zeros((draws, 1)), np.cumsum(drawn, axis=-1)], axis=-1)


def likely_shares(curve: CDF) -> FloatArray:
    """Shares below the boundaries of all slots, which do not fall: the unbiased ones, made monotone."""
    slots = curve.prefixes.grid.slots
    bounds = np.asarray(curve.prefixes.evidence.sums.bounds)
    _, counts = counts_of(curve.prefixes, bounds)
    shares = np.append(0.0, np.cumsum(counts)) / max(float(counts.sum()), 1.0)
    shares[-1] = 1.0
    return np.asarray(np.interp(np.arange(slots + 1), bounds, shares))


@dataclass(frozen=True)
class Road:
    """A protocol for the area, where labels are public. Each person sends one report with the whole loss.

    Attributes:
        first: Which class reports its scores first, whose curve is published to the other. None: both report their
            scores, in one round.
        error: About the standard deviation of the area, of scores that are spread evenly.
    """

    first: First | None
    error: float

    @property
    def rounds(self) -> int:
        """The number of rounds, though each person is asked in one of them only."""
        return 1 if self.first is None else 2

    def __str__(self) -> str:
        if self.first is None:
            return "one round: both classes report their scores"
        return f"two rounds: {self.first} report their scores, then the others one bit each"


def area_roads(grid: Grid, loss: PrivacyLoss, *, positives: int, negatives: int) -> tuple[Road, ...]:
    """Protocols for an area, the one with the least forecast error first. Forecasts are of tasks whose `aim` is
    ``Read.AREA``.

    Args:
        grid: Public cells of scores.
        loss: What one report may lose.
        positives: About how many positives report.
        negatives: About how many negatives do.

    Raises:
        ValueError: a class has nobody, or too many people.

    >>> import dpcurves as dp
    >>> best, *_ = area_roads(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=500, negatives=5000)
    >>> best.rounds, str(best.first)
    (2, 'negatives')
    """
    sizes = {First.NEGATIVES: negatives, First.POSITIVES: positives}
    scores = {first: Task(CdfQuestion("score", grid), loss, people, aim=Read.AREA) for first, people in sizes.items()}
    told = {first: scores_variance(task.plan.law.required(Tallied)) for first, task in scores.items()}
    roads = [Road(None, sqrt(sum(told.values())))]
    one_bit = Task(CdfQuestion("bit", Grid(0, 1, cells=1)), loss, 1).plan.law.required(Tallied).levels[0]
    for first, second in ((First.NEGATIVES, positives), (First.POSITIVES, negatives)):
        roads.append(Road(first, sqrt(told[first] + 1 / (4 * float(one_bit.gain) ** 2 * second))))
    return tuple(sorted(roads, key=lambda road: road.error))


def scores_variance(law: Tallied) -> float:
    """The variance of an area that one class adds, given the scores of the other one: all are spread evenly.

    That of the mean of the curve over all its cells, of the people who report about one level or all; their scores are
    given.
    """
    return law.area_variance() / law.people**2
