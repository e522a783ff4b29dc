"""The task: all that people and the aggregator have to agree on, in one public document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import hypot
from typing import Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import Refused, chosen, make_whole, require_kind, require_known
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.codec import STORED
from dpcurves.conversation import Plan, Release, Step, UnsupportedQuery
from dpcurves.curves.pair_mean import ROUNDED
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Axis, Categories, Grid
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import Read
from dpcurves.records import open_records
from dpcurves.session import pay_and_converse, rehearse
from dpcurves.summaries.kernels import Function, Midpoint
from dpcurves_local.tallied import Responses
from dpcurves_parties.serving.task_document import Document

from .device import ByChance, Kept, Rounding, slot_of
from .report_file import NAME, Form, Octets, Records, folded, marked
from .responses import Hadamard, choose_randomiser
from .responses.randomiser import Reports
from .tallied import Tallied
from .trust import Coins, Local, answers_about, contributions, epsilon_of, octets, ways_of

# The number of cells for reports about a kernel of pairs: more leave less open, with larger noise.
MOST_CELLS = 2**10


def grid_for(kernel: Function, lower: float, upper: float, *, people: int, loss: PrivacyLoss) -> Grid:
    """The grid on which a `HistogramQuestion` tells the mean of a kernel over pairs of people best.

    From 2, 4, ..., 1,024 cells those with the least error are taken, as Corollary 1 of Bell, Bellet, Gascon and
    Kulkarni (2019) has it for k-ary responses and slopes: here with the randomiser that is chosen, the exact standard
    deviation of values that lie evenly, and what cells leave open of this kernel (its half range, on average). Public
    facts alone.

    Raises:
        TypeError: `loss` is no loss.
        ValueError: `people` is not from 2 to 2**31, `lower` is not below `upper`, or the kernel is not symmetric, or
            not finite.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> loss = dp.PrivacyLoss.pure(1)
    >>> [grid_for(lambda x, y: np.abs(x - y), 0, 1, people=10**digits, loss=loss).cells for digits in (3, 5, 7)]
    [32, 128, 512]
    """
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
    if not 2 <= people <= MOST_PEOPLE:
        raise Refused("people", f"from 2 to {MOST_PEOPLE} report, got {people}")
    return min(_grids(lower, upper), key=lambda grid: expected_error(kernel, grid, people, loss))


def expected_error(kernel: Function, grid: Grid, people: int, loss: PrivacyLoss) -> float:
    """The root of the squares of noise, that of sampling with it, and of what cells leave open, of even values."""
    cells, on_cells = grid.cells, Midpoint(kernel)(grid.edges)
    way = choose_randomiser(cells + 1, epsilon_of(loss))
    told = Responses(range(cells), people, way.NAME, *way.support).answered(np.zeros(cells + 1))
    told = replace(told, counts=np.append(np.full(cells, people / cells), 0.0))
    noise = told.centred(on_cells.mean, told.mean(on_cells.mean)).deviation(population=True) / told.pairs
    return hypot(noise, float(on_cells.reach.mean()))


def _grids(lower: float, upper: float) -> Iterator[Grid]:
    cells = 2
    while cells <= MOST_CELLS:
        yield Grid(lower, upper, cells=cells)
        cells *= 2


_HALF = 32


@dataclass(frozen=True)
class PublicCoins:
    """Hadamard responses whose level and index are public coins: what stands for a person in reports.

    These are 8 octets of a hash of the task and the name, or are drawn if none is told, without regard to the value.
    Their upper half tells the level, each about as often as in the plan; their lower half the index, evenly.

    Formal guarantees: whatever the level and the index are and whoever chose them, of two values one bit has the chance
    p or ``1 - p``, and ``p / (1 - p)`` is at most exp(epsilon): see `Hadamard`. Neither depends on the value, so what
    the aggregator knows of a person is this bit and the name.

    What the aggregator and a person have to agree on is the task, of which the name's octets are a hash, and the name.
    Who makes up names chooses level and index, as who lies could do before: a report still weighs the same.

    Attributes:
        plan: What people report, by Hadamard responses, each about one level.
    """

    OCTETS: ClassVar[int] = 1

    plan: Plan

    def said(self, names: Octets, slots: IntArray, randomness: Randomness) -> Reports:
        """SECRET argument `slots`. The randomised bits of these people, an octet each."""
        law, source = self.plan.law.required(Tallied), randomness.expanded()
        levels, numbers = self._thrown(names)
        bits = np.zeros((len(slots), self.OCTETS), dtype=np.uint8)
        for number, way in enumerate(self._ways):
            here = np.flatnonzero(levels == number)
            index = numbers[here] & (way.length - 1)
            bits[here, 0] = way.bits(answers_about(law, number, slots[here]), index, source)
        return bits

    def written_out(self, names: Octets, bits: Reports) -> Reports:
        """The messages that say the same with level and index in them, as `dpcurves_local.trust` adds them up.

        An octet that is no bit becomes a message that is none.
        """
        messages = np.zeros((len(bits), octets(self.plan)), dtype=np.uint8)
        levels, numbers = self._thrown(names)
        for number, way in enumerate(self._ways):
            here = np.flatnonzero(levels == number)
            index = numbers[here] & (way.length - 1)
            messages[here, 1 : 1 + way.octets] = way.sent(index, bits[here, 0].astype(np.int64) & 1)
        messages[:, 0] = np.where(bits[:, 0] > 1, len(self._ways), levels)
        return messages

    def _thrown(self, names: Octets) -> tuple[IntArray, IntArray]:
        """The level of each name, and the number whose lowest bits are its index."""
        words = np.ascontiguousarray(names).view("<u8").reshape(-1).astype(np.uint64, copy=False)
        law = self.plan.law.required(Tallied)
        ends = np.cumsum([level.reports for level in law.levels])
        places = (words >> np.uint64(_HALF)) * np.uint64(law.people) >> np.uint64(_HALF)
        levels = np.searchsorted(ends, places.astype(np.int64), side="right")
        return levels, (words & np.uint64((1 << _HALF) - 1)).astype(np.int64)

    @property
    def _ways(self) -> list[Hadamard]:
        ways = ways_of(self.plan.law.required(Tallied), self.plan.loss)
        return [way for way in ways if isinstance(way, Hadamard)]


VERSION = 1
MOST_PEOPLE = 2**31
KEY = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Task(Document):
    """The public document of a local-model survey: what is asked, and the loss of one report. Its hash identifies it.

    Formal guarantees: whatever the aggregator, the network and all other people do and know, one report of this task
    loses at most `loss`, where neighbours are two values of one person. Two reports of one person lose twice as much:
    a person's `Kept` gives the first one again.

    Attributes:
        question: Any question that is answered from one table of counts, as `CdfQuestion` and `RocQuestion` are.
        loss: The privacy loss of one report.
        people: About how many will report: the levels of the tree, and the randomisers, are chosen for so many.
        aim: What of the curve will be read, `Read.AREA` where it is an area under a ROC curve: levels and their numbers
            of people are chosen for it. The curve can be read all the same, less exactly. None: the whole curve.
        coins: `Coins.PUBLIC`: a report is one bit, of a Hadamard response whose level and index follow from the task
            and the person's name. `Coins.OWN`: the person draws and sends them; other randomisers may err less.
        rounding: `Rounding.CHANCE`: the device rounds a number to the middle of a cell before or behind it, so that it
            is kept on average: for means over pairs that are read from a histogram. See `ByChance`.
        invitations: The public key whose signature of a name a server of the task asks for, in 64 hexadecimal digits:
            `Inviter.public`. None: anybody may report, under any name.

    Raises:
        UnsupportedQuery: the question asks several times, or for something that people can not report; or an area is
            aimed at, and it asks for no curve; or numbers are rounded by chance of something else than a histogram.
        ValueError: `people` is not from 1 to 2**31; or `aim`, `coins` or `rounding` is something else.
        TypeError: `loss` is no `PrivacyLoss`, or `people` no whole number.

    >>> import dpcurves as dp
    >>> task = Task(dp.CdfQuestion("age", dp.Grid(0, 100, cells=64)), dp.PrivacyLoss.pure(2), people=10_000)
    >>> len(task.randomize(41, person="anna"))
    54
    """

    FIELDS: ClassVar[Mapping[str, str]] = {
        name: name for name in ("people", "loss", "coins", "rounding", "invitations")
    }

    question: Any
    loss: PrivacyLoss
    people: int
    aim: Read | None = field(default=None, kw_only=True)
    coins: Coins = field(default=Coins.OWN, kw_only=True)
    rounding: Rounding = field(default=Rounding.SIMPLE, kw_only=True)
    invitations: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_kind("loss", self.loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
        make_whole(self, people="people")
        if self.aim not in (None, Read.AREA):
            raise Refused("aim", "it is an area, Read.AREA, or none")
        require_kind("coins", self.coins, Coins, "Coins.OWN or Coins.PUBLIC")
        require_kind("rounding", self.rounding, Rounding, "Rounding.SIMPLE or Rounding.CHANCE")
        if not 1 <= self.people <= MOST_PEOPLE:
            raise Refused("people", f"from 1 to {MOST_PEOPLE} report, got {self.people}")
        if self.invitations is not None and not (isinstance(self.invitations, str) and KEY.fullmatch(self.invitations)):
            raise Refused("invitations", "a public key in 64 hexadecimal digits is needed, or none")
        _ = self.plan, self._by_chance

    @cached_property
    def plan(self) -> Plan:
        """The plan of a report, which everybody derives from this document alone."""
        plans = rehearse(self.question, self.loss, ReplaceOne(EACH_RECORD, self.people), self._trust)
        if len(plans) != 1:
            raise UnsupportedQuery("question", "people report once, and it asks several times")
        return plans[0]

    @property
    def _trust(self) -> Local:
        return Local(self.aim, self.coins)

    @cached_property
    def form(self) -> Form:
        """The binary format of this task's reports."""
        long = octets(self.plan) if self._public is None else self._public.OCTETS
        return Form(VERSION, bytes.fromhex(self.hash)[: Form.TASK], long)

    @cached_property
    def _public(self) -> PublicCoins | None:
        return PublicCoins(self.plan) if self.coins is Coins.PUBLIC else None

    @property
    def account(self) -> str:
        """Under which name a device keeps a person's one report: rounds of one question share it."""
        return self.hash

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        """The axes on which a device places its values, at the resolution that it needs."""
        return self.plan.query.axes if self._by_chance is None else (self._by_chance.fine,)

    @cached_property
    def _by_chance(self) -> ByChance | None:
        return ByChance.of(self.question, self.plan.query.axes) if self.rounding is Rounding.CHANCE else None

    def told(self, reply: Callable[[Step, Allotment], Release], *, met: int | None = None) -> Any:
        """The curve that is asked for, computed from the tallies.

        Args:
            reply: Gives the tallies.
            met: In a second round, how many people of the first reported again, and were left out; None: not known.
        """
        budget = QuestionBudget.told(self.hash, self.loss.of_one_release())
        curve = pay_and_converse(self.question, self.plan.adjacency, self._trust, budget, reply)
        return curve if self._by_chance is None else replace(curve, privacy=curve.privacy.noted(ROUNDED))

    def _answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """SECRET argument. What of the slots of values is reported."""
        return slots if self._by_chance is None else self._by_chance.rounded(slots, source.expanded())

    def said(self, names: Octets, slots: IntArray, source: Randomness) -> Octets:
        """SECRET argument `slots`. The messages of these people, as they are sent."""
        answers = self._answers(slots, source)
        if self._public is None:
            return contributions(self.plan, answers, source)
        return self._public.said(names, answers, source)

    def heard(self, records: Records) -> Octets:
        """The messages of people in full, with the level and index that follow from public coins."""
        return records.messages if self._public is None else self._public.written_out(records.names, records.messages)

    def reported_before(self, names: Octets) -> BoolArray:
        """A mask of the names of people who reported in an earlier round; here there is none."""
        return np.zeros(len(names), dtype=np.bool_)

    def randomize(
        self, value: Any, *, person: str | None = None, kept: Kept | None = None, randomness: Randomness | None = None
    ) -> bytes:
        """SECRET argument. What one person sends: nothing else leaves the device.

        Args:
            value: For a question about one column, the value; about several, a mapping from columns to values. What is
                no number, or no declared category, is missing.
            person: By which name the aggregator knows the person, who is counted once; case, spaces and compatible
                characters make no other name. None: a name that is drawn, which no other round knows.
            kept: Where the first report of this person is kept and found again.
            randomness: Where noise comes from. None: the operating system.

        Raises:
            ValueError: reports are kept for a person, and none is named.
        """
        return self._sent(slot_of(self.axes, value), person, kept, randomness or Randomness.system())

    def randomize_table(
        self, table: Any, *, column: str | None = None, delimiter: str = ",", randomness: Randomness | None = None
    ) -> bytes:
        """SECRET argument. What the people of a table send, a row each, under names that are drawn: a file of reports.

        Args:
            table: The records.
            column: Where the value stands, if the table calls it otherwise than the task.
            delimiter: What stands between two columns of a file.
            randomness: Where noise comes from. None: the operating system.

        Raises:
            ValueError: a column is not there, or of the wrong type; or one is named and the task asks about several.
        """
        source, slots = randomness or Randomness.system(), self._slots_of(table, column, delimiter)
        names = np.frombuffer(source.expanded().octets(NAME * len(slots)), dtype=np.uint8).reshape(-1, NAME)
        names = marked(names, drawn=True)
        return self.form.written_all(names, self.said(names, slots, source))

    def randomize_one(
        self, table: Any, person: str, *, column: str | None = None, delimiter: str = ",", kept: Kept | None = None
    ) -> bytes:
        """SECRET argument. What the one person of a table sends; see `randomize` and `randomize_table`.

        Raises:
            ValueError: as in `randomize_table`; or there is not one row.
        """
        slots = self._slots_of(table, column, delimiter)
        if len(slots) != 1:
            raise Refused("data", "one row is needed where a person is named")
        return self._sent(int(slots[0]), person, kept, Randomness.system())

    def _slots_of(self, table: Any, column: str | None, delimiter: str) -> IntArray:
        axes = self.axes if column is None else self._axes_in(column)
        with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
            return records.places(axes)

    def _axes_in(self, column: str) -> Sequence[Axis | Categories]:
        if len(self.axes) != 1:
            raise Refused("column", "the task asks about several: the table has to call them as the task does")
        return (replace(self.axes[0], column=column),)

    def _sent(self, slot: int, person: str | None, kept: Kept | None, source: Randomness) -> bytes:
        if kept is not None and person is None:
            raise Refused("person", "a report is kept for a person: name one")
        drawn = person is None
        name = source.octets(NAME) if person is None else self.name_of(person)
        alone = marked(np.frombuffer(name, dtype=np.uint8)[None], drawn)
        if self.reported_before(alone).any():
            raise Refused("person", "this person has reported in the first round, and reports once")

        def fresh() -> bytes:
            return self.form.written_all(alone, self.said(alone, np.array([slot], dtype=np.int64), source))

        if kept is None or person is None:
            return fresh()
        report = kept.first(self.account, person, fresh)
        if not report.startswith(self.form.head):
            raise Refused("person", "this person has reported in the other round, and reports once")
        return report

    def name_of(self, person: str) -> bytes:
        """The public pseudonym of a person in this task; anybody who knows the name can compute it.

        A hash of the folded name, salted with the account, which rounds that know each other's names share.

        Raises:
            TypeError: `person` is no text.
            ValueError: it is empty, or no text of Unicode characters.
        """
        require_kind("person", person, str, "the name of a person")
        try:
            told = f"{self._salt}\n{folded(person)}".encode()
        except UnicodeEncodeError:
            raise Refused("person", "a text of Unicode characters is needed, without lone surrogates") from None
        if not folded(person):
            raise Refused("person", "a person needs a name; leave it out to have one drawn")
        short = np.frombuffer(sha256(told).digest()[:NAME], dtype=np.uint8)
        return marked(short[None], drawn=False).tobytes()

    @property
    def _salt(self) -> str:
        return self.hash

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of what `write` writes.

        Raises:
            ValueError: it is of no task, or of another version.
        """
        try:
            stored = json.loads(text)
            version, loss = stored["local_task"], stored["loss"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Refused("task", "this is no task of the local model") from None
        if version != VERSION:
            raise Refused("task", f"it is of another version than {VERSION}")
        require_known(stored, _FIELDS)
        if not isinstance(loss, Mapping) or len(loss) != 1 or not isinstance(stored.get("people"), int):
            raise Refused("task", "it says no loss, or no number of people")
        ((currency, amount),) = loss.items()
        if currency not in _LOSSES or not isinstance(amount, str):
            raise Refused("task", "its loss is an epsilon or a rho, written as a text")
        asked, aim = question_from_json(stored.get("question", {})), _aim_of(stored.get("aim"))
        coins = chosen("coins", stored.get("coins", Coins.OWN), Coins)
        rounding = chosen("rounding", stored.get("rounding", Rounding.SIMPLE), Rounding)
        return cls(
            asked, _LOSSES[currency](amount), stored["people"], aim=aim, coins=coins, rounding=rounding,
            invitations=stored.get("invitations"),
        )  # fmt: skip

    def to_json(self) -> str:
        """The document: its octets decide its hash."""
        aim = {} if self.aim is None else {"aim": self.aim.name.lower()}
        told = {"local_task": VERSION, **STORED.written(self), "question": question_to_json(self.question), **aim}
        return json.dumps(told, sort_keys=True)


def _aim_of(word: object) -> Read | None:
    if word not in (None, Read.AREA.name.lower()):
        raise Refused("aim", "it is an area, or none")
    return None if word is None else Read.AREA


_FIELDS = "local_task", "people", "loss", "question", "aim", "coins", "rounding", "invitations"
_LOSSES = {"epsilon": PrivacyLoss.pure, "rho": PrivacyLoss.zcdp}
