"""Analyst's client of counts by two servers with secret shares, and the statement of guarantees that participants read.

A task is the public document of such counts: what is counted, by which servers, at which privacy loss. Each server
holds a share of every report and returns a share of the noisy counts; the analyst adds both.

    TaskPlanner         plans a question to a task: costs and errors follow from the task alone, before any report
    Analyst             asks both servers through one of them, and adds their answer shares
    describe_task       what is counted, by whom, under which guarantee and assumptions, in words
    list_assumptions    what is proved, checked or only believed, in words

Formal guarantees: an answer has the privacy loss that the task states (`FunctionShares` has the proof). Plans and
statements are functions of the public task, so they reveal nothing about records.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dpcurves.arrays import IntArray
from dpcurves.conversation import Plan, Release, Step, Strategy, Workload
from dpcurves.curves import Question
from dpcurves.curves.result import warn_about_notes
from dpcurves.data import Axis, Categories
from dpcurves.expressions import describe_published_names
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, format_loss
from dpcurves.queries import Query
from dpcurves.records import open_records
from dpcurves.session import ask_with_budget, plan_question

from ..crypto import select_engine
from ..serving.channel import ANSWER_SECONDS, Channel
from ..serving.messages import ProtocolError
from ..serving.task_document import Ticket
from ..serving.two_servers.dap import encode_task_id
from ..serving.two_servers.owner import AgreedReports, require_ticket_for
from ..serving.two_servers.sealed_answers import SealedQuestion
from ..serving.two_servers.task_types import QuestionMessage, parse_closed_status
from .answer_proofs import ProvedEdges, hash_key, require_key, require_proved_answer
from .function_shares import FunctionShares, Owners, add_answer_shares, combine_values, make_release
from .histogram_reports import HistogramEncoding
from .shared_records import CheckedTreeEncoding, TreeEncoding
from .task import Task

# Lines of the statement; braces are filled in.
ASSUMPTIONS = (
    "Assumed: the two servers do not collude (they know every record together). Counts are right if both are honest"
)
"""Line of a privacy statement whose answer has no proof: both servers must be honest."""
PROOF_ASSUMPTIONS = "Assumed: the two servers do not collude (they know every record together)"
"""Line of a privacy statement whose answer has a valid proof, so that honest counting need not be assumed."""
PROVED_STATEMENT = (
    "Proved: {} these reports, with noise that no server changed once it was asked, except with probability"
    " 2**-60, if no owner helps the server that lies. Not proved: that this noise was drawn at random"
)
"""Line of a privacy statement that says what was proved; the proved counts are filled in."""
PROVED_EDGES_STATEMENT = (
    "Below another edge a count is accepted if it lies between those at the adjacent proved edges, up to noise of"
    " {:.0f} records: a lie can be off by that, plus the records between these edges"
)
"""Line of a privacy statement if only counts at some edges are proved; the largest difference that noise explains, in
records, is filled in."""
UNCHECKED_OWNERS = "Not checked: owners. One dishonest owner can shift a count arbitrarily"
"""Line of a privacy statement if servers do not check reports."""
CHECKED_OWNERS = "Checked: a report counts once, or is dropped. Not checked: whether it is true"
"""Line of a privacy statement if servers check reports."""


def list_assumptions(task: Task, *, proved: bool = True) -> tuple[str, ...]:
    """Return the trust assumptions of a task, one line each.

    Args:
        task: The task.
        proved: Whether the answer has a valid proof. False: the answer was accepted without one. It has no influence
            if answers of this task are never proved.

    Returns:
        From two lines, without proofs, to four.
    """
    checked = UNCHECKED_OWNERS if task.owners is Owners.UNCHECKED else CHECKED_OWNERS
    if not (task.proof_key_hashes and proved):
        return ASSUMPTIONS, checked
    if not isinstance(task.proved_values, ProvedEdges):
        return PROOF_ASSUMPTIONS, checked, PROVED_STATEMENT.format("an answer is the counts of")
    counts = PROVED_STATEMENT.format(f"counts below {task.proved_values.size} edges are those of")
    return PROOF_ASSUMPTIONS, checked, counts, PROVED_EDGES_STATEMENT.format(task.proved_values.max_noise_difference)


def describe_task(task: Task) -> tuple[str, ...]:
    """Return what a task counts, its servers, guarantee, errors and assumptions, one line of text each."""
    first, second = task.servers
    return (
        f"Task {task.name!r} counts {_describe_counts(task)}; its hash is {task.hash}",
        f"Servers: {first.url} and {second.url}, each with a share of every report and independent noise",
        f"Guarantee: {task.loss} for each report, for all questions together, under replace-one; the number of reports"
        f" is public, {_describe_owner_limit(task)}",
        *_describe_reports(task),
        f"Error of a count: {task.plan((1,), 1).error:.4g} records, twice the variance of one curator's",
        *list_assumptions(task),
        *(describe_published_names([task.where]) if task.where else ()),
    )


def _describe_counts(task: Task) -> str:
    """Return the counted columns and cells of a task, in words."""
    other_columns = [str(axis.column) for axis in task.axes[:-1]]
    by = f" by {', '.join(other_columns)}" if other_columns else ""
    records = f" of records where {task.where}" if task.where else ""
    return f"{task.column}{by} on {task.grid.cells} cells from {task.grid.lower:g} to {task.grid.upper:g}{records}"


def _describe_owner_limit(task: Task) -> str:
    """Return how many reports an owner may send, and the loss of an owner who sends them all, in words.

    Args:
        task: Document of the task.

    Returns:
        Clause of an English sentence.
    """
    max_reports = task.reports_per_owner
    if max_reports == 1:
        return "and an owner sends one"
    # Group privacy: k times a pure loss; k**2 times a zero-concentrated one (Bun and Steinke 2016, Proposition 1.9).
    epsilon = task.loss.epsilon
    rho = task.loss.rho * max_reports**2
    loss = f"epsilon {format_loss(epsilon * max_reports)}" if epsilon is not None else f"rho {format_loss(rho)}"
    return f"and an owner sends at most {max_reports}: it loses at most {loss} as a whole"


def _describe_reports(task: Task) -> tuple[str, ...]:
    """Return lines about a task's reports: their encoding and sizes, or their proofs.

    Empty for reports of trees of seeds without proofs.
    """
    encoding = task.encoding
    if not isinstance(encoding, HistogramEncoding):
        return _describe_proofs(task, encoding) if task.proof_key_hashes else ()
    scheme = encoding.scheme
    tree = CheckedTreeEncoding(task.slots, select_engine(b""))
    sizes = sum(map(encoding.size_for_party, (0, 1)))
    tree_size = 2 * tree.size
    return (
        f"Reports: Prio3Histogram of {scheme.length} cells in chunks of {scheme.chunk_length}; {sizes} bytes for both"
        f" servers, where trees of seeds would have {tree_size}",
        f"DAP: id {encode_task_id(task.hash)}, configuration {b64encode(task.configuration.to_bytes()).decode()}",
    )


def _describe_proofs(task: Task, encoding: TreeEncoding) -> tuple[str, ...]:
    """Return the line about the sizes of reports and answer shares with and without proofs.

    Args:
        task: Task whose answers are proved.
        encoding: Format of its reports.

    Returns:
        One line.
    """
    proved = task.answer_size(task.proved_at)
    value_count = task.proved_values.size
    return (
        f"Proofs: a report has {encoding.size} bytes for each server, {replace(encoding, proof_words=0).size}"
        f" without them; a proved answer share has {proved} numbers, {value_count} without proof",
    )


# SECRET. An owner's table: the slots of its records on the axes that a task of counts declares.
def read_record_slots(
    task: Task, table: Any, delimiter: str = ",", axes: Sequence[Axis | Categories] | None = None
) -> IntArray:
    """SECRET: return the slot of each record of an owner's table, (records,), in the order of its rows.

    A slot is the number of a cell among those of all categories; a missing record has the number of slots.

    Args:
        task: The task.
        table: Path of a CSV or Parquet file, a data frame, or a mapping from columns to values.
        delimiter: Field separator of a CSV file.
        axes: Axes of the task with the table's column names; None: those of the task.

    Raises:
        ValueError: a column is missing or of the wrong type; or there are no records, or more than the task accepts.
    """
    with open_records(table, unit=EACH_RECORD, key=bytes(32), delimiter=delimiter) as records:
        places = records.places(task.axes if axes is None else axes)
    return task.require_allowed_count(places)


Answer = TypeVar("Answer")
Curve = TypeVar("Curve")


@dataclass(frozen=True, slots=True)
class TaskPlanner:
    """Planner of the questions that can be answered from a task's single release.

    Attributes:
        task: Task that was charged.
    """

    task: Task

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the rounds of a question as plans that the servers answer. Costs and errors come from the task
        alone.

        Args:
            workload: What the question needs counted, such as counts below edges.
            loss: Privacy loss of all rounds together.
            adjacency: Which tables count as neighbours; it has the public number of reports.
        """
        return FunctionShares(self.task.owners).plan(workload, loss, adjacency)

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the release that answers the query.

        Args:
            query: Prefix counts, or counts of cells.
            loss: Not used, because the task has paid for all of its counts.
            adjacency: Has the public number of reports.

        Raises:
            UnsupportedQuery: the task's counts cannot answer the query.
        """
        return self.task.plan_for_query(query, adjacency.public_record_count or 1)


class Analyst:
    """An analyst with a ticket (bearer token).

    Args:
        task: The task.
        ticket: Ticket of an analyst.
        party: Number of the server that is asked, and asks the other one. Neither can open the answer.
        timeout: Timeout of an answer in seconds.
        agreed_file: File of the report set and noise commitments on which servers agreed, which later answers must
            match; it is written with the first answer if it does not exist.
        allow_unproved: True to accept answers without a valid proof, for example after an owner sent wrong words: they
            have the trust assumptions of a task without proofs.

    Attributes:
        dropped: Number of reports that the last answer left out because they failed the servers' check.
        doubts: Lines about accepted answers that are not proved.
    """

    def __init__(
        self,
        task: Task,
        ticket: Ticket,
        party: int = 0,
        timeout: float = ANSWER_SECONDS,
        agreed_file: Path | None = None,
        *,
        allow_unproved: bool = False,
    ) -> None:
        require_ticket_for(ticket, task)
        if task.proof_key_hashes:
            require_key(ticket.proof_key, task.proof_key_hashes, hash_key(ticket.proof_key))
        self._kept = agreed_file
        self._task = task
        self._ticket = ticket
        self._party = party
        self._server = Channel.from_certificate(task.servers[party].url, task.servers[party].certificate, timeout)
        self._set: tuple[str, int] | None = None
        self._commitments: tuple[str, ...] | None = None
        self._once: tuple[int, ...] | None = None
        self.dropped = 0
        self._unproved = allow_unproved
        self.doubts = frozenset[str]()

    def __enter__(self) -> Analyst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the server that answers this analyst's questions."""
        self._server.close()

    def ask(
        self, question: Question[Curve], question_id: str | None = None, progress: Callable[[], object] = lambda: None
    ) -> Curve:
        """Plan a question, ask the servers, and return its result.

        Args:
            question: The question.
            question_id: Id of a question that is repeated; None: a new one.
            progress: Called without arguments after each round.

        Returns:
            The result of the question, such as a `CDF`. A repeated id returns an equal one.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: the task's counts cannot answer the question; nothing was charged.
            ProtocolError: a server refuses or is unreachable, or an answer does not match the question.
        """
        status = parse_closed_status(self._task, self._server.get(f"/tasks/{self._task.hash}"))
        self._require_same_reports((str(status["set"]), status["reports"]))
        adjacency = self._task.adjacency(status["reports"])
        model = TaskPlanner(self._task)
        plan_question(question, self._task.loss, adjacency, model)
        round_number = 0

        def answer_step(step: Step, allotment: Allotment) -> Release:
            """Ask the servers for the counts of one round of the question, and return their release.

            The number of the round is part of the message id, so that a repeated question gets the same answers.

            Args:
                step: The round, with its query.
                allotment: Loss that the round may spend.
            """
            nonlocal round_number
            message_id = None if question_id is None else f"{question_id}x{round_number}"
            round_number += 1
            release = make_release(
                model.plan_query(step.query, allotment.loss, adjacency),
                self._ask_counts(step.query, message_id),
                allotment,
            )
            progress()
            return release

        loss = self._task.loss.as_single_release()
        budget = QuestionBudget.from_external_charge(self._task.hash, loss)
        curve = ask_with_budget(question, adjacency, model, budget, answer_step)
        warn_about_notes(curve)
        return curve

    def _ask_counts(self, query: Query, message_id: str | None) -> tuple[int, ...]:
        """Return the released counts that answer a query; counts of all cells, or of all proved edges, are requested
        once and then reused.

        Args:
            query: Which counts are needed.
            message_id: Id by which a repeated request gets the same answer; None: a new request.

        Returns:
            Counts in the order of the query.
        """
        task = self._task
        proved_counts = dict[int, int]()
        if self._once is None and (query.is_dense or task.proof_key_hashes):
            self._once = self._ask_values(task.proved_at, message_id)
        if query.is_dense and self._once is not None:
            return self._once
        if self._once is not None:
            proved_counts = dict(zip(task.proved_at, self._once, strict=True))
        unproved = tuple(threshold for threshold in query.requested_slots if threshold not in proved_counts)
        batches = (
            unproved[start : start + task.max_thresholds] for start in range(0, len(unproved), task.max_thresholds)
        )
        counts = dict(
            zip(
                unproved,
                (count for thresholds in batches for count in self._ask_values(thresholds, message_id)),
                strict=True,
            )
        )
        if self._once is not None and isinstance(task.proved_values, ProvedEdges):
            with self._tolerate_unproved():
                task.proved_values.require_between(self._once, counts)
        return tuple((proved_counts | counts)[threshold] for threshold in query.requested_slots)

    def _ask_values(self, thresholds: tuple[int, ...], message_id: str | None) -> tuple[int, ...]:
        """Return the noisy counts at thresholds, or of all cells, from both servers' answer shares.

        Args:
            thresholds: Indices of the thresholds; empty: all cells.
            message_id: Id by which a repeated request gets the same answer; None: a new request.

        Raises:
            ProtocolError: a share is invalid, reports or noise have changed since an earlier answer, or a proof fails.
        """
        inquiry = SealedQuestion.create(QuestionMessage.create(self._task, thresholds, message_id), self._party)
        message = inquiry.to_json(self._ticket, self._task.servers)
        path = f"/tasks/{self._task.hash}/answers"
        token = self._ticket.derive_bearer_token(self._party)
        first, second = inquiry.open_answer_shares(self._server.post(path, message, token))
        self._require_same_reports((first.report_set, first.reports))
        if self._commitments not in (None, first.commitments):
            raise ProtocolError(
                "servers",
                "the answer has other noise than before, and was discarded; ask both operators whether a "
                "store was restored",
                502,
            )
        if self._kept is not None:
            AgreedReports(self._task.hash, first.report_set, first.reports, first.commitments).write_or_verify(
                self._kept
            )
        self._commitments = first.commitments
        self.dropped = first.dropped_count
        plan = self._task.plan(thresholds, first.reports)
        answer_shares = [first.values, second.values]
        if self._task.is_proved(thresholds):
            return self._verify_values(plan, answer_shares, first.noise_hashes)
        return combine_values(plan, answer_shares)

    def _verify_values(
        self, plan: Plan, answer_shares: Sequence[tuple[int, ...]], bound: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Return the noisy counts of a proved answer, after checking the proof and that no count is impossible.

        Args:
            plan: Plan of the answer.
            answer_shares: Shares of servers 0 and 1: numbers, then as many proofs.
            bound: Hashes of the noise that the servers committed to.

        Raises:
            ProtocolError: the proof fails or a count is impossible, unless unproved answers are accepted.
        """
        size = len(answer_shares[0]) // 2
        numbers = [share[:size] for share in answer_shares]
        proofs = [share[size:] for share in answer_shares]
        values = combine_values(plan, numbers)
        with self._tolerate_unproved():
            require_proved_answer(
                self._ticket.proof_key, self._task.hash, add_answer_shares(plan, numbers), proofs, bound
            )
            self._task.proved_values.require_possible(values, plan.adjacency.public_record_count or 0)
        return values

    @contextmanager
    def _tolerate_unproved(self) -> Iterator[None]:
        """Accept unproved answers where the analyst allows them: a refusal is recorded as a doubt instead of being
        raised.
        """
        try:
            yield
        except ProtocolError as error:
            if not self._unproved:
                raise
            self.doubts |= {error.rule.partition(";")[0]}

    def _require_same_reports(self, named: tuple[str, int]) -> None:
        """Check that an answer is from the report set of earlier answers, and remember its report set.

        Args:
            named: Hash of the report set, and its number of reports.

        Raises:
            ProtocolError: earlier answers were from another report set (status 502).
        """
        if self._set not in (None, named):
            raise ProtocolError(
                "server",
                "the answer is from another report set than before, and was discarded; ask both "
                "operators whether a store was restored",
                502,
            )
        self._set = named
