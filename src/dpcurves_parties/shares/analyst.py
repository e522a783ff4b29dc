"""Client of an analyst: asks the servers for counts, and reads a curve from them. It sees answers and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dpcurves.curves import Question
from dpcurves.curves.notes import warn_of
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import PrefixQuery, Query
from dpcurves.rehearsal import pay_and_converse, rehearse
from dpcurves.release import Plan, Release, Step
from dpcurves.workloads import Strategy, Workload

from ..serving.channel import PATIENCE, Channel
from ..serving.errors import ProtocolAborted
from ..serving.json_messages import facts_of
from ..serving.ticket import Ticket
from ..serving.two_servers.messages import VERSION, Asked
from ..serving.two_servers.owner import require_task
from .function_shares import FunctionShares, told
from .task import Task

Answer = TypeVar("Answer")
Curve = TypeVar("Curve")


@dataclass(frozen=True, slots=True)
class OfTask:
    """Planner of the questions that can be answered from a task's single release.

    Attributes:
        task: Task that was charged.
    """

    task: Task

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Plan of the questions to the servers."""
        return FunctionShares(self.task.owners).plan(workload, loss, adjacency)

    def turn(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """The plan of the release that answers the query. Raises `UnsupportedQuery`."""
        return self.task.answering(query, adjacency.total or 1)


class Analyst:
    """Analyst, with a ticket (bearer token) to ask.

    Args:
        task: Task that may be asked.
        ticket: That of an analyst.
        party: Number of the server that is asked; the other one is asked by it.
        patience: Seconds that an answer may take.

    Attributes:
        dropped: Number of reports that the last answer left out, for they failed the servers' check.
    """

    def __init__(self, task: Task, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> None:
        require_task(ticket, task)
        self._task, self._token = task, ticket.token
        self._server = Channel.to(task.servers[party].url, task.servers[party].certificate, patience)
        self._set: tuple[str, int] | None = None
        self._cells: tuple[int, ...] | None = None
        self.dropped = 0

    def __enter__(self) -> Analyst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def ask(
        self, question: Question[Curve], question_id: str | None = None, progress: Callable[[], object] = lambda: None
    ) -> Curve:
        """Rehearse the question, and ask the servers. `progress` is called after each turn.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: it can not be read from what the task counts; nothing was charged.
            ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
        """
        adjacency, model = self._adjacency(), OfTask(self._task)
        rehearse(question, self._task.loss, adjacency, model)
        turn = 0

        def reply(step: Step, allotment: Allotment) -> Release:
            nonlocal turn
            named = None if question_id is None else f"{question_id}x{turn}"
            turn += 1
            release = told(
                model.turn(step.query, allotment.loss, adjacency), self._counts(step.query, named), allotment
            )
            progress()
            return release

        loss = self._task.loss.of_one_release()
        budget = QuestionBudget.told(self._task.hash, loss)
        curve = pay_and_converse(question, adjacency, model, budget, reply)
        warn_of(curve)
        return curve

    def _counts(self, query: Query, named: str | None) -> tuple[int, ...]:
        """The numbers from which a query is answered: of all cells they are asked for once."""
        if isinstance(query, PrefixQuery):
            most = self._task.most_at_once
            parts = (query.at[start : start + most] for start in range(0, len(query.at), most))
            return tuple(count for at in parts for count in self._numbers(at, named))
        if self._cells is None:
            self._cells = self._numbers((), named)
        return self._cells

    def _numbers(self, at: tuple[int, ...], named: str | None) -> tuple[int, ...]:
        asked = Asked.fresh(self._task, at, named)
        path = f"/tasks/{self._task.hash}/answers"
        answer = asked.answer(self._server.post(path, asked.to_json(), self._token), "server")
        if self._set not in (None, (answer.set, answer.reports)):
            raise ProtocolAborted("server", "it answers from another set of reports than before", 502)
        self._set, self.dropped = (answer.set, answer.reports), answer.dropped
        return answer.numbers

    def _adjacency(self) -> Adjacency:
        told = self._server.get(f"/tasks/{self._task.hash}")
        standing = facts_of(told, "server", task=str, version=int, state=str, reports=int)
        if (standing["task"], standing["version"]) != (self._task.hash, VERSION):
            raise ProtocolAborted("server", "it is of another task or version", 502)
        if standing["state"] != "closed":
            raise ProtocolAborted("task", "it is not closed yet: dpcurves task close", 409)
        named = str(standing["set"]), standing["reports"]
        if self._set not in (None, named):
            raise ProtocolAborted("server", "it answers from another set of reports than before", 502)
        self._set = named
        return self._task.adjacency(standing["reports"])
