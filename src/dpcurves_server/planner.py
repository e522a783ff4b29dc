"""Query planning of a verification server: what a question would cost in privacy budget, and its expected error.

A plan states which noise mechanism would answer a question, at which privacy loss, and how large the error would be. It
depends on public facts only: the question, the schema and the loss. So planning costs no budget and touches no records.

It may take seconds and a gigabyte of memory, though. Small questions are planned in the serving process. Others wait in
a queue for a child process with limits of time and memory, in which people take turns. Plans are cached for each
project, that is, for each group of analysts who share a dataset.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import sha256
from math import nan, prod
from typing import IO, Any, TypeVar, cast

from starlette.concurrency import run_in_threadpool

from dpcurves.arguments import ArgumentError, InvalidArgument, describe_nearest_name, describe_value
from dpcurves.conversation import Plan
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Axis, Categories, Grid, ListedCategories, TypedAxis, find_input_columns, is_expression
from dpcurves.data.axis import ALL_RECORDS, Category, Predictor
from dpcurves.display.text import PlanLine, plan_lines
from dpcurves.expressions import ValueType, check_expression, find_monotone_chain, parse_expression
from dpcurves.ledger.account import LONGEST_ACCOUNT_NAME
from dpcurves.privacy import Adjacency, AdjacencyWithoutBound, PrivacyLoss
from dpcurves.records.value_names import parse_number
from dpcurves.session import plan_question
from dpcurves_parties.serving.messages import ProtocolError, disable_core_dumps
from dpcurves_parties.serving.task_app import RateLimiter

from .child_process import ChildProcess
from .datasets import Dataset
from .declared_columns import Declared, has_csv_dates, has_dates, has_unknown_categories
from .synthetic import LruCache
from .typed_numbers import read_number

Answer = TypeVar("Answer")

FEW_CELLS = 2**8
"""Largest number of cells of a question that is planned in the serving process; larger ones wait for the planning
process. It takes some ten milliseconds, for scores of 128 groups a fifth of a second. Planning a two-way table of 4,096
cells, whose test is simulated, takes 1.6 seconds of the processor."""
MOST_WAITING = 4
"""Largest number of plans of one person that wait for the planning process; a further one is refused (status 429)."""
PLANS_PER_MINUTE = 60
"""Plans per minute of one person that are made in the planning process; further ones are refused."""
PLANNING_SECONDS = 60.0
"""Seconds after which a plan's process is killed, and the plan refused with `PLAN_TIMEOUT_MESSAGE`."""
MEMORY_BYTES = 3 * 2**30
"""Limit of the planning process's address space in bytes; a plan that needs more is refused. Most of it is room for
libraries, which map much and use little."""
TOO_LARGE_MESSAGE = "the question is too large to be planned here; use fewer cells"
"""Refusal of a question whose plan needs more memory than `MEMORY_BYTES`."""
BUSY_MESSAGE = "too many questions wait to be planned; try again in a minute"
"""Refusal (status 503) while the queue of plans is full, or another process holds the database too long."""
PLAN_TIMEOUT_MESSAGE = (
    "the plan took too long, or the planning process ended; use fewer cells, or try again in a minute"
)
"""Refusal (status 503) of a plan that took longer than `PLANNING_SECONDS`, or whose process ended."""


def parse_row_share(text: str) -> float:
    """Return a typed share of rows that pass a filter. Nothing is taken from the table.

    Raises:
        ValueError: the text is no number above 0 and at most 1.

    >>> parse_row_share("0.2"), parse_row_share("0,2")
    (0.2, 0.2)
    """
    number = read_number("share_of_rows", text)
    try:
        share = float(number)
    except ValueError:
        share = nan
    if not 0 < share <= 1:
        raise InvalidArgument("share_of_rows", f"must be a number above 0 and at most 1, as in 0.1, got {text[:40]!r}")
    return share


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """A planned round of a question, that is a query for noisy counts; later rounds depend on earlier results.

    Attributes:
        query: The name of the query's class.
        loss: The privacy loss of this round.
        made_by: Names of the trust model and the noise mechanism.
        error: Standard deviation of the noise, in records.
        relative_error: The error as a share of the units, or of the typed share of them; None: their number is private.
    """

    query: str
    loss: PrivacyLoss
    made_by: str
    error: float
    relative_error: float | None


@dataclass(frozen=True, slots=True)
class PlannedRounds:
    """Summary of the plans of a question: a few lines, however many cells it has.

    Attributes:
        rounds: The rounds.
        lines: The rounds as pages show them.
        notes: Notes to read before paying.
        columns: The columns that are read, in order.
        cells: The largest number of cells of a round.
        row_share: The typed share of rows that pass the filter; None: no share was typed.
    """

    rounds: tuple[PlannedRound, ...]
    lines: tuple[PlanLine, ...]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    cells: int
    row_share: float | None


@dataclass(frozen=True, slots=True)
class PlanJob:
    """A question to plan, with the public facts that its plan depends on.

    Attributes:
        question_json: The question as plain objects.
        loss: The privacy loss.
        adjacency: The adjacency of the dataset.
        dataset: The name of the dataset.
        columns: The declared columns.
        units: The public number of units.
        row_share: A guess of the share of rows that pass the filter, as the analyst typed it; None: no guess.
    """

    question_json: Any
    loss: PrivacyLoss
    adjacency: Adjacency | AdjacencyWithoutBound
    dataset: str
    columns: tuple[Declared, ...]
    units: int | None
    row_share: float | None = None

    @classmethod
    def from_question(
        cls, question: Any, loss: PrivacyLoss, dataset: Dataset, row_share: float | None = None
    ) -> PlanJob:
        """Return the job of planning a question about a dataset.

        Args:
            question: The question.
            loss: Privacy loss of its answer.
            dataset: Dataset with its declared columns and units.
            row_share: Share of the rows that pass the filter; None: it is not stated.
        """
        return cls(
            question_to_json(question), loss, dataset.adjacency, dataset.name, dataset.columns, dataset.units, row_share
        )  # fmt: skip

    def plan(self) -> PlannedRounds:
        """Return the rounds that the question would ask, planned from public facts, with no records.

        Raises:
            ValueError: The question reads an undeclared column or category, or no mechanism can answer it.
        """
        plans = plan_question(question_from_json(self.question_json), self.loss, self.adjacency)
        require_declared(plans, self.dataset, self.columns)
        units = self.units if self.units is None else self.units * (self.row_share or 1)
        names = (column for plan in plans for axis in plan.query.input_axes for column in find_input_columns(axis))
        return PlannedRounds(
            tuple(
                PlannedRound(
                    type(plan.query).__name__, plan.loss, plan.made_by, float(plan.error),
                    float(plan.error / plan.query.per_record_sensitivity) / units if units else None,
                )
                for plan in plans
            ),
            tuple(plan_lines(plans, units)), plans.notes, tuple(dict.fromkeys(names)),
            max(prod(plan.query.shape) for plan in plans), self.row_share,
        )  # fmt: skip


def count_cells(value: Any) -> int:
    """Return the product of the numbers of cells of all grids and categories in a question: a bound on its counts.

    Args:
        value: A question, or any part of one; parts without grids and categories count as 1.
    """
    if isinstance(value, Grid):
        return value.cells
    if isinstance(value, Categories):
        return len(value.values)
    if isinstance(value, tuple | list):
        return prod(map(count_cells, value))
    if is_dataclass(value) and not isinstance(value, type | Predictor):
        return prod(count_cells(getattr(value, member.name)) for member in fields(value))
    return 1


class PlanPending(Exception):
    """The plan is being made. Whoever asked for it waits without a thread, and asks again.

    Attributes:
        future: Future that is done when the plan is made or has failed.
    """

    def __init__(self, future: Future[Any]) -> None:
        super().__init__()
        self.future = future


async def respond_when_planned(respond: Callable[[], Answer]) -> Answer:
    """Return `respond()`, called in a thread again whenever a plan that it needs is made.

    Raises:
        ProtocolError: The plan could not be made now (status 503). It is not remembered as too large.
    """
    while True:
        try:
            return await run_in_threadpool(respond)
        except PlanPending as pending:
            future = pending.future
        await asyncio.wrap_future(future)


class Planner:
    """Client of the planning process.

    Formal guarantees: the process gets questions and public facts, and no URL of a database. A project learns nothing
    of other projects from the cache, because its plans are cached for itself.
    """

    def __init__(self) -> None:
        most_kept = 256  # plans in the cache
        self._outcomes = LruCache[PlannedRounds | ArgumentError](most_kept)
        self._rate = RateLimiter(PLANS_PER_MINUTE, "plans", "wait a minute, or ask with fewer cells", "made")
        self._waiting: OrderedDict[str, deque[tuple[Hashable, PlanJob]]] = OrderedDict()
        self._futures: dict[Hashable, Future[None]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._child = ChildProcess("dpcurves_server.planner")

    def plan(self, person: str, project: str, question: Any, job: PlanJob) -> PlannedRounds:
        """Return the plan of a question, from the cache, computed now if it is small, or queued for the planning
        process.

        Args:
            person: The person who asks.
            project: The project that would pay.
            question: The question.
            job: The question and the public facts.

        Raises:
            PlanPending: The plan is being made.
            ProtocolError: Too many plans wait, or were made for this person within a minute.
            ValueError: The question cannot be planned.
        """
        key = project, sha256(repr(job).encode()).digest()
        outcome = self._outcomes.peek(key)
        if outcome is None and count_cells(question) <= FEW_CELLS:
            outcome = self._outcomes.get_or_compute(key, lambda: _plan_or_refuse(job))
        if outcome is None:
            raise PlanPending(self._submit(person, key, job))
        if isinstance(outcome, ArgumentError):
            raise outcome.with_traceback(None)
        return outcome

    def stop(self) -> None:
        """Stop the planning process, also during a plan, and drop waiting requests."""
        with self._changed:
            self._waiting.clear()
        self._child.stop()

    def _submit(self, person: str, key: Hashable, job: PlanJob) -> Future[None]:
        """Return the future of a plan: of an equal plan which waits already, or of a new plan in the person's queue.

        Args:
            person: Name of the person who asks.
            key: Key that is equal for equal plans.
            job: What to plan.

        Raises:
            ProtocolError: too many plans of this person or of all persons wait, or the person sent too many requests.
        """
        most_waiting_in_all = 128  # plans that wait
        with self._changed:
            if key in self._futures:
                return self._futures[key]
            waiting = self._waiting.get(person, ())
            if len(waiting) >= MOST_WAITING:
                raise ProtocolError("plans", f"{MOST_WAITING} plans of yours wait already; ask again later", 429)
            if sum(map(len, self._waiting.values())) >= most_waiting_in_all:
                raise ProtocolError("plans", BUSY_MESSAGE, 503)
            self._rate.count_requests(person)
            self._waiting.setdefault(person, deque()).append((key, job))
            future = self._futures[key] = Future[None]()
            future.set_running_or_notify_cancel()  # a client who leaves must not cancel what others await
            if self._thread is None:
                self._thread = threading.Thread(target=self._compute_plans, name="plans", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def _compute_plans(self) -> None:
        """Run in a thread without end: compute the plans of waiting requests one at a time, one for each waiting
        person in turn.

        Each outcome is stored, and waiting requests are answered; after an error they get a `ProtocolError` with status
        503, and the thread goes on.
        """
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                person, jobs = self._waiting.popitem(last=False)
                key, job = jobs.popleft()
                if jobs:
                    self._waiting[person] = jobs  # at the end of the line
            try:
                outcome = self._plan_apart(job)
            except Exception:  # after any error waiting requests are answered, and the next plan is made
                outcome = None
            if outcome is not None:
                self._outcomes.get_or_compute(key, lambda outcome=outcome: outcome)  # type: ignore[misc]
            with self._changed:
                future = self._futures.pop(key)
            if outcome is None:
                future.set_exception(ProtocolError("plans", PLAN_TIMEOUT_MESSAGE, 503))
            else:
                future.set_result(None)

    def _plan_apart(self, job: PlanJob) -> PlannedRounds | ArgumentError | None:
        """Return the outcome of planning in the other process; None if it ended or took `PLANNING_SECONDS`.

        Args:
            job: Question with the public facts that its plan depends on.

        Returns:
            Planned rounds, or the error that refuses the question; None also ends the process.
        """
        try:
            process = self._child.ensure_running()
            timer = threading.Timer(PLANNING_SECONDS, process.kill)
            timer.start()
            try:
                _write_message(cast("IO[bytes]", process.stdin), job)
                outcome, is_bloated = _read_message(cast("IO[bytes]", process.stdout))
            finally:
                timer.cancel()
        except (OSError, EOFError, pickle.UnpicklingError):
            outcome, is_bloated = None, True
        if is_bloated:
            self._child.stop()
        return cast("PlannedRounds | ArgumentError | None", outcome)


def _plan_or_refuse(job: PlanJob) -> PlannedRounds | ArgumentError:
    """Return the planned rounds of a job, or the error that refuses it, which goes back to the other process."""
    try:
        return job.plan()
    except ArgumentError as error:
        return error


def _write_message(pipe: IO[bytes], content: object) -> None:
    """Write a pickled object, preceded by its length in 8 bytes, to the process at the other end.

    Args:
        pipe: Standard input of the other process, or standard output of this process.
        content: Object that pickle can write.

    Raises:
        OSError: the process at the other end has ended.
    """
    message = pickle.dumps(content)
    pipe.write(struct.pack("<Q", len(message)) + message)
    pipe.flush()


def _read_message(pipe: IO[bytes]) -> Any:
    """Return the next message of the process at the other end, which is a program of this package.

    Args:
        pipe: Standard output of the other process, or standard input of this process.

    Returns:
        The unpickled object.

    Raises:
        EOFError: the process at the other end has ended.
    """
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(pipe.read(struct.unpack("<Q", head)[0]))  # between this process and its child


# Checks of columns and categories, from public facts.
def require_declared(plans: Sequence[Plan], dataset: str, columns: Sequence[Declared]) -> None:
    """Require that the plans of a question read declared columns and categories only, with their declared types.

    Args:
        plans: The plans of all rounds of the question.
        dataset: Name of the dataset, for the message.
        columns: The public schema of the dataset.

    Raises:
        ValueError: A column or category is not declared, or is read as another type; the message names the first.
    """
    declared = {str(column.column): column for column in columns}
    for plan in plans:
        for axis in plan.query.input_axes:
            for column in find_input_columns(axis, declared):
                if column not in declared:
                    raise _describe_undeclared(column, axis, dataset, declared)
            _require_expression_types(axis, declared)
            if axis.column not in declared or is_expression(axis, declared):  # of a model, or columns that are declared
                continue
            if not isinstance(axis, Categories | Predictor) and not isinstance(axis.column, Predictor):
                _require_numbers(declared[str(axis.column)], axis)
            if isinstance(axis, Categories):
                has_rest = isinstance(axis, ListedCategories)  # its last category holds all other values
                categories = axis.values[:-1] if has_rest else axis.values
                for name, category in zip(axis.argument_names, categories, strict=False):
                    if not _is_declared(category, declared[axis.column]):
                        rule = f"{axis.column!r} declares no category {describe_value(category)}; name a declared one"[
                            :LONGEST_ACCOUNT_NAME
                        ]
                        raise InvalidArgument(name, rule, axis.column)


def _describe_undeclared(
    column: str, axis: Axis | Categories, dataset: str, declared: Mapping[str, Declared]
) -> InvalidArgument:
    """Return the error about an undeclared column of an axis or of its filter, with the nearest declared one.

    Args:
        column: Undeclared name that the question uses.
        axis: Axis with the column, or with the filter that uses it.
        dataset: Name of the data set.
        declared: Declared columns by name.

    Returns:
        Error about the argument ``where`` if only the filter uses the name, else about ``column``.
    """
    nearest = describe_nearest_name(column, declared, cutoff=0.5)
    rule = f"{dataset!r} declares no column {column!r}{nearest}"[:LONGEST_ACCOUNT_NAME]
    if column not in find_input_columns(replace(axis, where=""), declared):
        return InvalidArgument("where", rule)
    return InvalidArgument("column", rule, str(axis.column) if is_expression(axis, declared) else column)


def _require_expression_types(axis: Axis | Categories, declared: Mapping[str, Declared]) -> None:
    """Refuse a filter, or an expression in the place of a column, that reads a declared column as another type.

    Args:
        axis: Axis of a question, with its column or expression and its filter.
        declared: Declared columns by name.

    Raises:
        ValueError: names the part of the expression, and how to write it.
    """
    types = {name: find_expression_type(column) for name, column in declared.items()}
    if axis.where:
        check_expression(parse_expression(axis.where, "where"), types, ValueType.TRUTH, "where")
    if is_expression(axis, declared) and axis.column != ALL_RECORDS:
        needed = ValueType.NUMBER if isinstance(axis, Axis) else None
        text = str(axis.column)
        try:
            node = parse_expression(text, "column")
            if isinstance(axis, Axis):  # a logarithm or an exponential is applied to the edges of the grid
                _, node = find_monotone_chain(node)
            check_expression(node, types, needed, "column")
        except InvalidArgument as error:
            raise InvalidArgument(error.argument, error.rule, text) from None


def find_expression_type(declared: Declared) -> ValueType:
    """Return the type of a declared column in expressions; a field for categories of several types."""
    if not isinstance(declared, Categories):
        untyped_or_date = ValueType.FIELD if has_csv_dates(declared) else ValueType.DATE
        return untyped_or_date if has_dates(declared) else ValueType.NUMBER
    types = {_find_value_type(value) for value in declared.values}
    return types.pop() if len(types) == 1 else ValueType.FIELD


def _find_value_type(category: Category) -> ValueType:
    """Return the type that a declared category has in expressions: text, truth value or number."""
    if isinstance(category, str):
        return ValueType.TEXT
    return ValueType.TRUTH if isinstance(category, bool) else ValueType.NUMBER


def has_numbers(declared: Declared) -> bool:
    """Return True for a declared column of numbers, or of categories that are all numbers."""
    if isinstance(declared, Categories):
        return not any(isinstance(category, str) for category in declared.values)
    return not has_dates(declared)


def _require_numbers(declared: Declared, axis: Axis) -> None:
    """Check that a declared column has numbers, or dates for an axis that reads them.

    Raises:
        InvalidArgument: the column has dates where numbers are needed, or categories.
    """
    if has_dates(declared) and not isinstance(axis, TypedAxis):
        name = str(declared.column)
        raise InvalidArgument("column", f"{name!r} holds dates or times; use a column of numbers", name)
    if not (has_numbers(declared) or has_dates(declared)):
        name = str(declared.column)
        raise InvalidArgument("column", f"{name!r} is declared with categories; use a column of numbers", name)


def _is_declared(value: Category, declared: Declared) -> bool:
    """Return True if the schema allows a value: a declared category, or a number in the declared range.

    If the schema does not list a column's categories, every value is allowed.

    Args:
        value: Value that a question names.
        declared: The declared column.
    """
    if has_unknown_categories(declared):
        return True
    if isinstance(declared, Categories):
        return value in declared.values or str(value) in map(str, declared.values)
    number = parse_number(value) if isinstance(value, str) else value
    return number is not None and declared.lower <= number <= declared.upper


# The process that plans: it reads jobs, and writes outcomes, until its standard input closes.
def main() -> None:
    """Run as the planning process: read questions from standard input, and write the plan of each, or the error, until
    the input closes.
    """
    import resource

    disable_core_dumps()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if hasattr(os, "nice"):
        os.nice(5)  # below the serving process, above workers: people wait for plans
    outcomes = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that output printed by a library is not read as an outcome
    while True:
        try:
            job = _read_message(sys.stdin.buffer)
        except EOFError:
            return
        outcome: object
        try:
            outcome = _plan_or_refuse(job)
        except MemoryError:
            outcome = InvalidArgument("question", TOO_LARGE_MESSAGE)
        # 2**29: bytes of resident memory after which the planning process ends and a new process starts
        _write_message(outcomes, (outcome, _read_resident_bytes() > 2**29))


def _read_resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 on systems that do not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
