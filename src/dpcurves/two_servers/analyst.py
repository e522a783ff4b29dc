"""What an analyst does: ask the servers for counts, and read a curve from them. It sees answers and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..curves import Continued, Question
from ..ledger import QuestionBudget
from ..privacy import Adjacency
from ..release import ALL, Release, Setting, Step
from ..session import converse
from ..trust import FunctionShares
from ..trust.function_shares import told
from .channel import PATIENCE, Channel
from .errors import ProtocolAborted
from .messages import Asked, facts_of
from .owner import require_task
from .task import VERSION, Task
from .ticket import Ticket

Curve = TypeVar("Curve")


class Analyst:
    """Who holds a ticket to ask.

    Args:
        task: What may be asked.
        ticket: That of an analyst.
        party: Which of the servers is asked; the other one is asked by it.
        patience: Seconds that an answer may take.

    Attributes:
        dropped: How many reports the last answer left out, for they failed the servers' check.
    """

    def __init__(self, task: Task, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> None:
        require_task(ticket, task)
        self._task, self._token = task, ticket.token
        self._server = Channel.to(task.servers[party], patience)
        self._set: tuple[str, int] | None = None
        self.dropped = 0

    def __enter__(self) -> Analyst:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._server.close()

    def ask(
        self, question: Question[Curve], question_id: str | None = None, progress: Callable[[], object] = lambda: None
    ) -> Curve:
        """Converse with the servers. `progress` is called after each turn.

        Raises:
            ProtocolAborted: the servers refuse or can not be reached, or an answer is not to what was asked.
            ValueError: the question is not about what the task counts.
        """
        if not (isinstance(question, Continued) and question.paid_as == self._task.query):
            raise ProtocolAborted("question", "the task counts another column, grid or label")
        turn = 0

        def reply(step: Step) -> Release:
            nonlocal turn
            named = None if question_id is None else f"{question_id}x{turn}"
            turn += 1
            release = self._reply(step, named)
            progress()
            return release

        return converse(
            question.steps(Setting(self._task.loss, self._adjacency(), FunctionShares(self._task.owners).adaptive)),
            reply,
        )

    def _reply(self, step: Step, named: str | None) -> Release:
        at, most, counts = getattr(step.query, "at", ()), self._task.most_at_once, list[int]()
        for start in range(0, len(at), most):
            counts += self._numbers(at[start : start + most], named)
        if self._set is None:
            raise ProtocolAborted("question", "it asks for no threshold")
        plan = self._task.plan(at, self._set[1])
        return told(plan, counts, QuestionBudget.told(self._task.hash, plan.loss).pay(step.query.paid_as, ALL))

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
        self._set = str(standing["set"]), standing["reports"]
        return self._task.adjacency(standing["reports"])


class Closed(NamedTuple):
    """The reports that count.

    Attributes:
        set: The hash of their set.
        reports: How many they are.
        owners: Of how many owners.
    """

    set: str
    reports: int
    owners: int


def close(task: Task, ticket: Ticket, party: int = 0, patience: float = PATIENCE) -> Closed:
    """Let both servers agree on the reports that count.

    Raises:
        ProtocolAborted: they do not agree, or can not be reached. Asked again, it ends the same way.
    """
    require_task(ticket, task)
    server = Channel.to(task.servers[party], patience)
    try:
        told = server.post(f"/tasks/{task.hash}/close", b"", ticket.token)
        agreed = facts_of(told, "server", set=str, reports=int, owners=int)
    finally:
        server.close()
    return Closed(agreed["set"], agreed["reports"], agreed["owners"])
