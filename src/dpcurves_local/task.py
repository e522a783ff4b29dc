"""Survey tasks in local differential privacy: the public document on which people and the aggregator agree.

Each person's device randomises an answer and sends it, as a report, to the aggregator, who estimates a curve such as a
distribution function. `Task` states the question, the privacy loss of a report and the number of people.
`Task.randomize` makes the report of one person. `choose_grid` chooses the grid of a question about pairs of people.

Formal guarantees: the device adds the noise, so one report has at most the loss of the task, even if the aggregator
is malicious (see `Task`).
"""

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

from dpcurves.arguments import (
    InvalidArgument,
    WrongArgumentType,
    convert_to_integers,
    parse_choice,
    require_known_fields,
    require_type,
)
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.codec import STORED_CODEC
from dpcurves.conversation import Plan, Release, Step, UnsupportedQuery
from dpcurves.curves import CdfQuestion
from dpcurves.curves.pair_mean import ROUNDED_VALUES_NOTE
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Axis, Categories, Grid
from dpcurves.expressions import rename_columns
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse
from dpcurves.records import open_records
from dpcurves.session import ask_with_budget, plan_question
from dpcurves.summaries.kernels import Function, MidpointKernel
from dpcurves_local.aggregated_reports import LevelReports
from dpcurves_parties.serving.task_document import Document

from .aggregated_reports import AggregatedReports
from .device import ReportMemo, Rounding, StochasticRounding, find_slot
from .report_file import PSEUDONYM_SIZE, Octets, ReportBatch, ReportFormat, normalize_name, set_drawn_bit
from .responses import HadamardResponse, choose_randomiser
from .responses.randomiser import Reports
from .trust import Coins, Local, convert_to_epsilon, count_message_octets, find_answers, find_randomisers, make_messages

FILTER_RULE = (
    "a second round counts people who fail a filter as tied with all scores; leave the filter out, and invite only the "
    "people who are meant"
)
"""Refusal of a second round of a question with a filter."""
VERSION = 1
"""Version of the task document and of the format of reports; documents of another version are refused."""
MOST_PEOPLE = 2**31
"""People: the largest number of people of a task, as counts and products of two counts stay within 64 bits; more are
refused."""
KEY_PATTERN = re.compile("[0-9a-f]{64}")
"""An Ed25519 public key in hexadecimal digits: that of an inviter, whose signature makes an invitation valid."""
_FIELDS = "local_task", "people", "loss", "question", "target", "coins", "rounding", "invitations"
"""Fields of the task document (JSON); one with further fields is refused."""
_LOSSES = {"epsilon": PrivacyLoss.pure, "rho": PrivacyLoss.zcdp}
"""Constructors of a privacy loss, by its name in the task document; other names are refused."""


def choose_grid(kernel: Function, lower: float, upper: float, *, people: int, loss: PrivacyLoss) -> Grid:
    """Choose the grid that estimates the mean of a kernel over pairs of people best.

    The candidates have 2, 4, ..., 1,024 cells. The error of each is predicted as in Corollary 1 of Bell, Bellet, Gascon
    and Kulkarni (2019), but with the randomiser that the task would use, the exact standard deviation for evenly spread
    values, and the mean discretisation error of this kernel. Only public facts are used.

    Args:
        kernel: Symmetric function of two values, which takes and returns arrays.
        lower: Lower bound of the values.
        upper: Upper bound of the values, in the same unit.
        people: Number of people, from 2 to 2**31.
        loss: Privacy loss of one report.

    Returns:
        The grid with the least predicted error, with cells of equal width.

    Raises:
        TypeError: `loss` is not a `PrivacyLoss`.
        ValueError: `people` is not from 2 to 2**31, `lower` is not below `upper`, or the kernel is not symmetric, or
            not finite.

    >>> import dpcurves as dp
    >>> import numpy as np
    >>> loss = dp.PrivacyLoss.pure(1)
    >>> [choose_grid(lambda x, y: np.abs(x - y), 0, 1, people=10**digits, loss=loss).cells for digits in (3, 5, 7)]
    [32, 128, 512]
    """
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
    if not 2 <= people <= MOST_PEOPLE:
        raise InvalidArgument("people", f"must be from 2 to {MOST_PEOPLE} people, as in 10000, got {people}")
    return min(_list_candidate_grids(lower, upper), key=lambda grid: predict_error(kernel, grid, people, loss))


def predict_error(kernel: Function, grid: Grid, people: int, loss: PrivacyLoss) -> float:
    """Return the predicted root mean square error of a kernel's mean over pairs, in units of the kernel.

    Values are assumed to be evenly spread over the grid. Noise, sampling of people and discretisation are included.

    Args:
        kernel: Symmetric function of two values, which takes and returns arrays.
        grid: Public cells of the values.
        people: Number of people, at least 2.
        loss: Privacy loss of one report.
    """
    cells = grid.cells
    on_cells = MidpointKernel(kernel)(grid.edges)
    randomiser = choose_randomiser(cells + 1, convert_to_epsilon(loss))
    debiased = LevelReports(range(cells), people, randomiser.NAME, *randomiser.support).debias_tallies(
        np.zeros(cells + 1)
    )
    # the variance depends on the true counts: assume equal counts and no missing value
    debiased = replace(debiased, counts=np.append(np.full(cells, people / cells), 0.0))
    noise = (
        debiased.make_centred_form(on_cells.mean, debiased.mean(on_cells.mean)).find_deviation(population=True)
        / debiased.pair_count
    )
    return hypot(noise, float(on_cells.max_deviation.mean()))


def _list_candidate_grids(lower: float, upper: float) -> Iterator[Grid]:
    """Yield grids of 2, 4, ..., 1,024 cells of equal width. More cells discretise less coarsely, and add noise.

    Args:
        lower, upper: Bounds of the values.
    """
    cells = 2
    # 2**10: cells of the finest candidate grid; the kernel is a table of cells by cells
    while cells <= 2**10:
        yield Grid(lower, upper, cells=cells)
        cells *= 2


@dataclass(frozen=True)
class PublicCoinResponses:
    """Hadamard responses whose level and index are public coins, derived from the pseudonym of the person.

    A pseudonym is 8 bytes of a hash of the task and the name; if no name is given, 8 random bytes, independent of the
    value. The upper half decides the level, with about the probabilities of the plan; the lower half the index,
    uniformly.

    Formal guarantees: for any level and index, chosen by any party, one of the two bits has probability p, the other
    ``1 - p``, and ``p / (1 - p)`` is at most exp(epsilon): see `HadamardResponse`. Level and index do not depend on the
    value, so the aggregator learns only this bit and the name of a person.

    A person who invents names can choose level and index, as with private coins; the weight of a report is the same.

    Attributes:
        plan: The plan of Hadamard responses, each about one level.
    """

    OCTETS: ClassVar[int] = 1

    plan: Plan

    def randomize_slots(self, names: Octets, slots: IntArray, randomness: Randomness) -> Reports:
        """SECRET: return the randomised bit of each person, (people, 1).

        It is a bit of a Hadamard response at the level and index that the person's pseudonym determines.

        Args:
            names: Pseudonyms, (people, 8) bytes.
            slots: Index of the cell or category of each person's value (slot), (people,).
            randomness: Source of the random bits.
        """
        distribution = self.plan.distribution.require_type(AggregatedReports)
        source = randomness.expand()
        levels, numbers = self._derive_coins(names)
        bits = np.zeros((len(slots), self.OCTETS), dtype=np.uint8)
        for number, randomiser in enumerate(self._randomisers):
            rows = np.flatnonzero(levels == number)
            index = numbers[rows] & (randomiser.index_count - 1)
            bits[rows, 0] = randomiser.draw_bits(find_answers(distribution, number, slots[rows]), index, source)
        return bits

    def expand_messages(self, names: Octets, bits: Reports) -> Reports:
        """Return the full messages, with level and index, which the aggregation of private-coin reports takes. Both
        follow from the pseudonym.

        A byte other than 0 and 1 becomes an invalid message.

        Args:
            names: Pseudonyms, (people, 8) bytes.
            bits: Randomised bits, (people, 1).

        Returns:
            Bytes, (people, bytes of a message).
        """
        messages = np.zeros((len(bits), count_message_octets(self.plan)), dtype=np.uint8)
        levels, numbers = self._derive_coins(names)
        for number, randomiser in enumerate(self._randomisers):
            rows = np.flatnonzero(levels == number)
            index = numbers[rows] & (randomiser.index_count - 1)
            messages[rows, 1 : 1 + randomiser.octets] = randomiser.encode_reports(
                index, bits[rows, 0].astype(np.int64) & 1
            )
        messages[:, 0] = np.where(bits[:, 0] > 1, len(self._randomisers), levels)
        return messages

    def _derive_coins(self, names: Octets) -> tuple[IntArray, IntArray]:
        """Return the public coins that a pseudonym determines: the level of the tree that a person reports on, and an
        index.

        Args:
            names: Pseudonyms, (people, 8) bytes.

        Returns:
            Levels, (people,), and numbers whose lowest bits are the indices, (people,).
        """
        words = np.ascontiguousarray(names).view("<u8").reshape(-1).astype(np.uint64, copy=False)
        distribution = self.plan.distribution.require_type(AggregatedReports)
        ends = np.cumsum([level.reports for level in distribution.levels])
        half_word = 32  # bits of each half of a pseudonym: the upper one decides the level, the lower one the index
        ranks = (words >> np.uint64(half_word)) * np.uint64(distribution.people) >> np.uint64(
            half_word
        )  # 0 to people - 1
        levels = np.searchsorted(ends, ranks.astype(np.int64), side="right")
        return levels, (words & np.uint64((1 << half_word) - 1)).astype(np.int64)

    @property
    def _randomisers(self) -> list[HadamardResponse]:
        """The Hadamard response that randomises reports about each level of the tree, from coarse to fine."""
        randomisers = find_randomisers(self.plan.distribution.require_type(AggregatedReports), self.plan.loss)
        return [randomiser for randomiser in randomisers if isinstance(randomiser, HadamardResponse)]


@dataclass(frozen=True)
class Task(Document):
    """The public document of a local-model survey: the question and the privacy loss of one report. Its hash identifies
    it.

    Formal guarantees: for any behaviour and knowledge of the aggregator, the network and all other people, one report
    of this task loses at most `loss`, where neighbours are two values of one person. Two independent reports of one
    person lose twice as much; a person's `ReportMemo` sends the first one again.

    Attributes:
        question: A question that is answered from one table of counts, such as `CdfQuestion` or `RocQuestion`.
        loss: Privacy loss of one report.
        people: Approximate number of people who will report; tree levels and randomisers are optimised for it.
        target: The reading of the curve for which levels and their numbers of people are optimised: `CountUse.AREA` for
            an area under a ROC curve. The curve can still be read, less accurately. None: the whole curve.
        coins: `Coins.PUBLIC`: a report is one bit, of a Hadamard response whose level and index follow from the task
            and the person's name. `Coins.PRIVATE`: the device draws and sends them; other randomisers may err less.
        rounding: `Rounding.RANDOMIZED`: the device rounds a number randomly to the middle of a neighbouring cell,
            without bias, for means over pairs that are computed from a histogram. See `StochasticRounding`.
        invitations: Public key that must have signed the name of a report, in 64 hexadecimal digits, as
            `Inviter.public_key`. None: any name may report.

    Raises:
        UnsupportedQuery: the question has several rounds or a query that people cannot report; or `target` is set and
            the question is not about a curve; or stochastic rounding is asked for another question than a histogram.
        ValueError: `people` is not from 1 to 2**31; or `target`, `coins` or `rounding` is unknown.
        TypeError: `loss` is not a `PrivacyLoss`, or `people` not an integer.

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
    target: CountUse | None = field(default=None, kw_only=True)
    coins: Coins = field(default=Coins.PRIVATE, kw_only=True)
    rounding: Rounding = field(default=Rounding.SIMPLE, kw_only=True)
    invitations: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_type("loss", self.loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
        convert_to_integers(self, people="people")
        if self.target not in (None, CountUse.AREA):
            raise InvalidArgument("target", "must be CountUse.AREA, for the area under a ROC curve, or None")
        if self.target is CountUse.AREA and isinstance(self.question, CdfQuestion) and self.question.where:
            raise InvalidArgument("where", FILTER_RULE)
        require_type("coins", self.coins, Coins, "Coins.PRIVATE or Coins.PUBLIC")
        require_type("rounding", self.rounding, Rounding, "Rounding.SIMPLE or Rounding.RANDOMIZED")
        if not 1 <= self.people <= MOST_PEOPLE:
            raise InvalidArgument("people", f"must be from 1 to {MOST_PEOPLE} people, as in 10000, got {self.people}")
        if self.invitations is not None and not (
            isinstance(self.invitations, str) and KEY_PATTERN.fullmatch(self.invitations)
        ):
            raise InvalidArgument(
                "invitations",
                "must be the public key of the inviter, in 64 hexadecimal digits; leave it out if anybody may report",
            )
        _ = self.plan, self._stochastic_rounding  # refuse an impossible task now, before people report
        find_slot(self.axes, {})  # refuses a grid that does not fit a logarithm, before any value is known

    @cached_property
    def plan(self) -> Plan:
        """Plan of a person's report, derived from the task document alone.

        Raises:
            UnsupportedQuery: the question needs several rounds of answers, and people report once.
        """
        plans = plan_question(self.question, self.loss, ReplaceOne(EACH_RECORD, self.people), self._trust_model)
        if len(plans) != 1:
            raise UnsupportedQuery(
                "question",
                "needs several rounds of answers, and people report once; ask a question that a fixed grid answers",
            )
        return plans[0]

    @property
    def _trust_model(self) -> Local:
        """The local trust model that plans this task's reports, with the task's target and coins."""
        return Local(self.target, self.coins)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The binary format of this task's reports."""
        octets = count_message_octets(self.plan) if self._public_coins is None else self._public_coins.OCTETS
        return ReportFormat(VERSION, bytes.fromhex(self.hash)[: ReportFormat.TASK], octets)

    @cached_property
    def _public_coins(self) -> PublicCoinResponses | None:
        """The randomised responses whose level and index follow from the pseudonym (public coins); None if devices draw
        them.
        """
        return PublicCoinResponses(self.plan) if self.coins is Coins.PUBLIC else None

    @property
    def memo_key(self) -> str:
        """Key under which a device stores a person's only report; rounds of one question share it."""
        return self.hash

    @property
    def axes(self) -> Sequence[Axis | Categories]:
        """Axes by which a device finds the cell of a value; with stochastic rounding, axes with finer cells."""
        return self.plan.query.axes if self._stochastic_rounding is None else (self._stochastic_rounding.fine_axis,)

    @cached_property
    def _stochastic_rounding(self) -> StochasticRounding | None:
        """How values are rounded at random to cells; None if the task rounds them deterministically."""
        if self.rounding is not Rounding.RANDOMIZED:
            return None
        return StochasticRounding.from_question(self.question, self.plan.query.axes)

    def compute_curve(self, reply: Callable[[Step, Allotment], Release], *, repeated_people: int | None = None) -> Any:
        """Return the curve of the task's question, estimated from the aggregated reports.

        Args:
            reply: Maps the question's only step to the release of the aggregated reports.
            repeated_people: In a second round, the number of people of the first round who reported again and were
                left out; None if unknown.
        """
        budget = QuestionBudget.from_external_charge(self.hash, self.loss.as_single_release())
        curve = ask_with_budget(self.question, self.plan.adjacency, self._trust_model, budget, reply)
        return (
            curve
            if self._stochastic_rounding is None
            else replace(curve, privacy=curve.privacy.with_notes(ROUNDED_VALUES_NOTE))
        )

    def _draw_answers(self, slots: IntArray, source: Randomness) -> IntArray:
        """SECRET: return the cells that people report before randomisation: those of their values.

        They are rounded at random if the task asks for stochastic rounding.

        Args:
            slots: Indices of the cells of the values, (people,).
            source: Source of random bits.
        """
        if self._stochastic_rounding is None:
            return slots
        return self._stochastic_rounding.round_cells(slots, source.expand())

    def randomize_slots(self, names: Octets, slots: IntArray, source: Randomness) -> Octets:
        """SECRET: return the randomised message of each person, (people, octets).

        Args:
            names: Pseudonyms, (people, 8) bytes.
            slots: Index of the cell or category of each person's value (slot), (people,).
            source: Source of the random bits.
        """
        answers = self._draw_answers(slots, source)
        if self._public_coins is None:
            return make_messages(self.plan, answers, source)
        return self._public_coins.randomize_slots(names, answers, source)

    def expand_messages(self, records: ReportBatch) -> Octets:
        """Return the complete messages of a batch of reports.

        With public coins, level and index are not sent: they follow from the pseudonyms, and are added here.

        Args:
            records: Consecutive records of a file.

        Returns:
            Array of shape ``(records, octets)``.
        """
        if self._public_coins is None:
            return records.messages
        return self._public_coins.expand_messages(records.names, records.messages)

    def mark_repeats(self, names: Octets) -> BoolArray:
        """Return a mask of the pseudonyms that reported in an earlier round: all False for a task of a single round.

        Args:
            names: Pseudonyms as bytes, of shape ``(people, 8)``.

        Returns:
            Array of shape ``(people,)``.
        """
        return np.zeros(len(names), dtype=np.bool_)

    def randomize(
        self,
        value: Any,
        *,
        person: str | None = None,
        memo: ReportMemo | None = None,
        randomness: Randomness | None = None,
    ) -> bytes:
        """Return the message of one person. SECRET argument. Nothing else leaves the device.

        Args:
            value: For a question about one column, the value; about several, or with a filter or an expression, a
                mapping from columns to values. A value that fails the filter, or is not a number or a declared
                category, counts as missing.
            person: Name by which the aggregator knows the person, who is counted once; case, spaces and compatible
                characters make no difference. None: a random pseudonym, which no other round knows.
            memo: File that stores the first report of this person, to send it again.
            randomness: Source of the noise. None: the operating system. Reports have no mark of seeded noise, so
                a seeded source is for simulations alone: who knows the seed can subtract the noise.

        Raises:
            ValueError: `memo` is given without `person`.
        """
        if any(axis.where for axis in self.axes) and not isinstance(value, Mapping):
            raise WrongArgumentType(
                "value",
                "the task has a filter, so a mapping from columns to values is needed, as in "
                "{'age': 41, 'region': 'north'}",
            )
        return self._make_report(find_slot(self.axes, value), person, memo, randomness or Randomness.from_system())

    def randomize_table(
        self, table: Any, *, column: str | None = None, delimiter: str = ",", randomness: Randomness | None = None
    ) -> bytes:
        """Return a file of reports, one for each row of a table, under random pseudonyms. SECRET argument.

        Args:
            table: The records.
            column: Column of the value, if the table names it otherwise than the task.
            delimiter: Delimiter of a CSV file.
            randomness: Source of the noise. None: the operating system. Reports have no mark of seeded noise, so
                a seeded source is for simulations alone: who knows the seed can subtract the noise.

        Raises:
            ValueError: a column is missing or of the wrong type; or `column` is given and the task asks about several.
        """
        source = randomness or Randomness.from_system()
        slots = self._find_slots(table, column, delimiter)
        names = np.frombuffer(source.expand().random_bytes(PSEUDONYM_SIZE * len(slots)), dtype=np.uint8).reshape(
            -1, PSEUDONYM_SIZE
        )
        names = set_drawn_bit(names, drawn=True)
        return self.report_format.encode_reports(names, self.randomize_slots(names, slots, source))

    def randomize_one(
        self,
        table: Any,
        person: str,
        *,
        column: str | None = None,
        delimiter: str = ",",
        memo: ReportMemo | None = None,
    ) -> bytes:
        """SECRET argument: return the randomised report of the single person of a table, to be sent to the collector.

        Args:
            table: Table with one row: a file, a data frame or columns by name.
            person: Name of the person; it determines the pseudonym, so that each person reports once.
            column: Name of the table's column, if it differs from the name in the task. None: the task's name.
            delimiter: Field separator of a CSV file.
            memo: Stored reports; a person who has reported sends the same report again. None: a new report is drawn.

        Raises:
            ValueError: the table does not have exactly one row, or a column is missing or of another type.
        """
        slots = self._find_slots(table, column, delimiter)
        if len(slots) != 1:
            raise InvalidArgument(
                "data", "must have exactly one row, that of the named person; give a file of this row"
            )
        return self._make_report(int(slots[0]), person, memo, Randomness.from_system())

    def _find_slots(self, table: Any, column: str | None, delimiter: str) -> IntArray:
        """SECRET: return the index of the cell or category (slot) of each row's value.

        Args:
            table: Table of the people: a file, a data frame or columns by name.
            column: Name of the table's column, if it differs from the name of the task's only column. None: the task's
                names.
            delimiter: Field separator of a CSV file.

        Returns:
            Indices, (rows,); missing values have the index ``slots``.

        Raises:
            InvalidArgument: a column is missing or of another type.
        """
        axes = self.axes if column is None else self._rename_axis(column)
        # the key ranks the rows of a unit; here each record is a unit, so any key serves
        with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
            return records.places(axes)

    def _rename_axis(self, column: str) -> Sequence[Axis | Categories]:
        """Return the task's axes with the column name of a table that names its value otherwise.

        Args:
            column: Name of the table's column.

        Raises:
            InvalidArgument: the task asks about several columns.
        """
        if len(self.axes) != 1:
            raise InvalidArgument(
                "column",
                "must be left out, because the task asks about several columns; rename the table's "
                "columns as in the task",
            )
        axis = self.axes[0]
        where = rename_columns(axis.where, {str(axis.column): column}) if axis.where else ""
        return (replace(axis, column=column, where=where),)

    def _make_report(self, slot: int, person: str | None, memo: ReportMemo | None, source: Randomness) -> bytes:
        """SECRET: return the report of one person's value: the stored report if there is one, else a newly randomised
        one.

        Args:
            slot: Index of the cell or category of the value.
            person: Name of the person; None: a random pseudonym.
            memo: Stored reports by person; None: nothing is stored.
            source: Source of the random bits.

        Raises:
            InvalidArgument: a memo is given without a person, or the person has reported in another round.
        """
        if memo is not None and person is None:
            raise InvalidArgument("person", "must be named, because the report of a person is stored")
        is_random = person is None
        name = source.random_bytes(PSEUDONYM_SIZE) if person is None else self.hash_name(person)
        stored_name = set_drawn_bit(np.frombuffer(name, dtype=np.uint8)[None], is_random)
        if self.mark_repeats(stored_name).any():
            raise InvalidArgument(
                "person", "reported in the first round, and each person reports once; nothing has to be sent"
            )

        def draw_report() -> bytes:
            """SECRET: return a newly randomised report of the person's value, as bytes."""
            return self.report_format.encode_reports(
                stored_name, self.randomize_slots(stored_name, np.array([slot], dtype=np.int64), source)
            )

        if memo is None or person is None:
            return draw_report()
        report = memo.load_or_create(self.memo_key, person, draw_report)
        if not report.startswith(self.report_format.header_prefix):
            raise InvalidArgument(
                "person", "reported in the other round, and each person reports once; nothing has to be sent"
            )
        return report

    def hash_name(self, person: str) -> bytes:
        """Return the public pseudonym of a person in this task. It can be computed by anyone who knows the name.

        The pseudonym is a hash of the normalised name and of a salt: rounds with one salt share pseudonyms.

        Args:
            person: Name of the person.

        Raises:
            TypeError: `person` is not a string.
            ValueError: `person` is empty, or not valid Unicode.
        """
        require_type("person", person, str, "the name of a person")
        try:
            salted_name = f"{self._salt}\n{normalize_name(person)}".encode()
        except UnicodeEncodeError:
            raise InvalidArgument(
                "person", "must be text of Unicode characters without lone surrogates; remove them from the name"
            ) from None
        if not normalize_name(person):
            raise InvalidArgument("person", "must not be empty; leave it out to draw a random name")
        pseudonym = np.frombuffer(sha256(salted_name).digest()[:PSEUDONYM_SIZE], dtype=np.uint8)
        return set_drawn_bit(pseudonym[None], drawn=False).tobytes()

    @property
    def _salt(self) -> str:
        """Text that is hashed together with names: the task's hash, so other tasks have other pseudonyms."""
        return self.hash

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the task that a JSON text describes, as `to_json` wrote it.

        Args:
            text: JSON text of the document.

        Raises:
            ValueError: the text is not a task, or a task of another version.
        """
        try:
            stored = json.loads(text)
            version, loss = stored["local_task"], stored["loss"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InvalidArgument(
                "task", "is not a task of the local model; name the file that dpcurves local task wrote"
            ) from None
        if version != VERSION:
            raise InvalidArgument("task", f"is not of version {VERSION}; use the version of dpcurves that wrote it")
        require_known_fields(stored, _FIELDS)
        if not isinstance(loss, Mapping) or len(loss) != 1 or not isinstance(stored.get("people"), int):
            raise InvalidArgument("task", "has no loss, or no number of people; ask its author for a new copy")
        ((currency, amount),) = loss.items()
        if currency not in _LOSSES or not isinstance(amount, str):
            raise InvalidArgument(
                "task", "must have an epsilon or a rho as its loss, written as text; ask its author for a new copy"
            )
        question = question_from_json(stored.get("question", {}))
        target = _parse_target(stored.get("target"))
        coins = parse_choice("coins", stored.get("coins", Coins.PRIVATE), Coins)
        rounding = parse_choice("rounding", stored.get("rounding", Rounding.SIMPLE), Rounding)
        return cls(
            question, _LOSSES[currency](amount), stored["people"], target=target, coins=coins, rounding=rounding,
            invitations=stored.get("invitations"),
        )  # fmt: skip

    def to_json(self) -> str:
        """Return the document as JSON with sorted keys; its bytes decide the task's hash."""
        target = {} if self.target is None else {"target": self.target.name.lower()}
        fields = {
            "local_task": VERSION,
            **STORED_CODEC.encode_fields(self),
            "question": question_to_json(self.question),
            **target,
        }
        return json.dumps(fields, sort_keys=True)


def _parse_target(word: object) -> CountUse | None:
    """Return the target that a task document names: the area under the curve, or None for the counts.

    Args:
        word: Value of the document's field; None without one.

    Raises:
        ValueError: the word is unknown.
    """
    if word not in (None, CountUse.AREA.name.lower()):
        raise InvalidArgument("target", "must be area, or left out")
    return None if word is None else CountUse.AREA
