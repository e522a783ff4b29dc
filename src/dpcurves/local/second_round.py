"""The second round of an area: of a published curve, each person of the other class answers one randomised bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from re import fullmatch

import numpy as np

from ..arguments import Refused, chosen, require_kind, require_known
from ..arrays import IntArray
from ..curves import CDF, CdfQuestion, UStatistic
from ..curves.area_of_bits import PARTS, Bits, First, area_of_bits, chances_of_one
from ..data import Axis, Categories, Grid
from ..laws import Tallied
from ..ledger import Allotment, QuestionBudget
from ..noise.randomness import Randomness
from ..privacy import EACH_RECORD, ReplaceOne
from ..queries import CountQuery, Read
from ..release import Plan, Release, Step
from ..trust import Local
from .collection import Collection
from .task import VERSION, Task

ONE, ZERO = 0, 1
"""The answers: a one has the only cell of the table, a zero is missing from it."""
KEY = "local_second_round"


@dataclass(frozen=True)
class SecondRound(Task):
    """The public task of the second round: the published curve of the first class, and what the second class is asked.

    Labels are public: a person belongs to one class, and sends one report, in one of the rounds.

    Formal guarantees: a person draws a one with the published chance of the own slot, or a zero, and sends this bit
    through a randomiser of two answers that loses at most `loss`. Whatever the chances are, then, no report is more
    than ``exp(epsilon)`` times as likely for one value as for another: it is a mixture of the two answers' reports. A
    device that keeps its reports makes one for both rounds together, and refuses to report in the other one.

    Attributes:
        before: The hash of the task of the first round.
        curve: The distribution function of the first class, as JSON.
        first: Which class that is.
        chances: With which chance a person draws a one: for each slot of the grid, in parts of 2**32. A missing score
            is tied with all others: it has one half.
    """

    before: str
    curve: str
    first: First
    chances: tuple[int, ...]

    def __post_init__(self) -> None:
        require_kind("question", self.question, CdfQuestion, "the question of the first round")
        if len(self.chances) != self.question.grid.slots or not all(0 <= chance <= PARTS for chance in self.chances):
            raise Refused("task", "it has no chance for each slot of its grid")
        if not (isinstance(self.before, str) and fullmatch("[0-9a-f]{64}", self.before)):
            raise Refused("task", "it does not name the task of its first round")
        super().__post_init__()

    @classmethod
    def after(cls, task: Task, curve: CDF, first: First, people: int) -> SecondRound:
        """The second round after the curve of a first one.

        Args:
            task: What the first class was asked: a distribution function.
            curve: What was read from its reports.
            first: Which class that was.
            people: About how many of the other class will report.

        Raises:
            ValueError: the curve counts values outside its grid apart, or there is no such class.
            TypeError: the first round asked for something else.
        """
        own = chosen("first", first, First)
        chances = tuple(chances_of_one(curve, own).tolist())
        told = json.dumps(json.loads(curve.to_json()), sort_keys=True)
        return cls(task.question, task.loss, people, task.hash, told, own, chances)

    @cached_property
    def plan(self) -> Plan:
        """One randomised bit of each person."""
        axis = Axis(self.question.column, Grid(0, 1, cells=1))
        adjacency = ReplaceOne(EACH_RECORD, self.people)
        return Local().turn(CountQuery((axis,), Read.CELLS), self.loss.of_one_release(), adjacency)

    @property
    def account(self) -> str:
        return self.before

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        return (Axis(self.question.column, self.question.grid),)

    def told(self, reply: Callable[[Step, Allotment], Release]) -> UStatistic:
        """The area under the ROC curve."""
        budget, query = QuestionBudget.told(self.hash, self.loss.of_one_release()), self.plan.query
        release = reply(Step(query, Fraction(1)), budget.pay(query.paid_as, Fraction(1)))
        law = release.plan.law.required(Tallied)
        (level,) = law.levels
        bits = Bits(law.people, int(release.values[ONE]), float(level.gain), float(level.other))
        return area_of_bits(CDF.from_json(self.curve), self.first, bits)

    def _answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """A one with the chance of the own slot: 32 even bits are below it."""
        chances = np.array([*self.chances, PARTS // 2], dtype=np.uint64)
        drawn = np.frombuffer(source.octets(4 * len(slots)), dtype="<u4").astype(np.uint64)
        return np.where(drawn < chances[slots], ONE, ZERO)

    @classmethod
    def from_json(cls, text: str) -> SecondRound:
        """The inverse of what `write` writes.

        Raises:
            ValueError: it is of no second round, or of another version.
        """
        try:
            stored = json.loads(text)
            version, before, chances = stored[KEY], stored["before"], tuple(stored["chances"])
            asked = Task.from_json(json.dumps(stored["task"]))
            curve, first = json.dumps(stored["curve"], sort_keys=True), chosen("first", stored["first"], First)
            CDF.from_json(curve)
        except (KeyError, TypeError, RecursionError, json.JSONDecodeError):
            raise Refused("task", "this is no second round of the local model") from None
        require_known(stored, (KEY, "task", "before", "curve", "first", "chances"))
        if asked != Task(asked.question, asked.loss, asked.people):
            raise Refused("task", "a second round has no aim, and no coins or rounding of its own")
        if version != VERSION or not all(isinstance(chance, int) for chance in chances):
            raise Refused("task", f"it is of another version than {VERSION}, or damaged")
        return cls(asked.question, asked.loss, asked.people, before, curve, first, chances)

    def to_json(self) -> str:
        told = {
            "before": self.before,
            "curve": json.loads(self.curve),
            "first": str(self.first),
            "chances": list(self.chances),
        }
        return json.dumps({KEY: VERSION, "task": json.loads(super().to_json()), **told}, sort_keys=True)


def publish(collection: Collection, first: First, people: int) -> SecondRound:
    """The second round of an area, from the reports of the class that reported its scores.

    Args:
        collection: Its reports, to a task that asks for a distribution function.
        first: Which class that is.
        people: About how many of the other class will report.

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
    return SecondRound.after(collection.task, collection.curve(), first, people)


def read_task(path: str | Path) -> Task:
    """The task of a file, of one round or of a second one.

    Raises:
        ValueError: the file can not be read, or is of no task.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        stored = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return Task.read(path)
    return SecondRound.from_json(text) if isinstance(stored, dict) and KEY in stored else Task.from_json(text)
