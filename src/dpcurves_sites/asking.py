"""Commands that ask the sites of a task: questions to one table, with terms of a federation in place of a file's."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dpcurves.cli.ask_file import deliver, delivering, quietly
from dpcurves.cli.columns import ALPHA
from dpcurves.cli.options import Price, whole
from dpcurves.cli.output import InputFile, Output, View
from dpcurves.cli.studies import CHANCE, show_plans
from dpcurves.cli.terminal import PerhapsKept, say, tell, terminal, waiting

if TYPE_CHECKING:
    from dpcurves.curves import Question

    from .task import FederationTask

ASSUMED = "Assumed: each site counts its own records and tells the truth; it could move sums by any amount"


@dataclass(frozen=True)
class FederationFile:
    """Option for the task document."""

    task: Annotated[str, Option(help="The task document.", metavar="FILE")]

    def read(self) -> FederationTask:
        """The task."""
        from .task import FederationTask

        return FederationTask.read(self.task)


@dataclass(frozen=True)
class Asker:
    """Options of an analyst who asks."""

    ticket: Annotated[str, Option(help="The analyst's ticket; its key lies beside it.", metavar="FILE")]
    request_id: Annotated[
        str | None,
        Option(
            help="A name for this request: the same question under it is answered alike, for nothing.", metavar="ID"
        ),
    ] = None
    patience: Annotated[str, Option(help="How long the coordinator may be away.", metavar="SECONDS")] = "60"


@dataclass(frozen=True)
class AskTerms:
    """Terms of a question that all sites answer: the task, a privacy loss, and who asks."""

    file: FederationFile
    price: Price
    asker: Asker

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask all sites, write what `output` names, and say who had to be trusted."""
        from dpcurves_parties.serving.task_document import Role, Ticket

        from .remote import RemoteFederation
        from .task import read_key

        ticket = Path(self.asker.ticket)
        output.require_apart(InputFile("the task document", Path(self.file.task)), InputFile("the ticket", ticket))
        output.require_writable()
        task, loss, request = self.file.read(), self.price.loss(), self.asker.request_id or secrets.token_hex(8)
        key, patience = read_key(ticket.with_name(f"{ticket.name}.key")), whole("patience", self.asker.patience)
        with RemoteFederation(task, Ticket.read(ticket, Role.ANALYST), key, patience) as federation:
            federation.plan(question, loss)  # refused: nobody was asked
            with _told(request), waiting("the sites count"), quietly():
                curve: Any = federation.ask(question, loss, request)
        with _told(request), delivering() as part:
            written = deliver(part, question, curve, view, output)
            with part():
                say(
                    output.terminal(), f"mechanism: {curve.privacy.mechanism}", f"trust: {curve.privacy.trust}",
                    *assumed(task), *(f"written: {name}" for name in written),
                    f"request: {request} (the same question under this --request-id is free)",
                )  # fmt: skip
            for note in curve.notes:
                tell(note)


@contextmanager
def _told(request: str) -> Iterator[None]:
    """Report a failure together with the request id: sites may have charged before."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        raise PerhapsKept(error, request) from None


@dataclass(frozen=True)
class PlanTerms:
    """Terms of a question that is planned, but not asked: the task, and a privacy loss."""

    file: FederationFile
    price: Price

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the privacy loss of each site and the expected errors, and how approved questions name this one."""
        from .remote import fingerprint_of

        task, loss = self.file.read(), self.price.loss()
        plans = task.terms.rehearsed(question, loss)
        show_plans(question, loss, task.terms.adjacency, plans)
        for alpha in {plan.law.alpha(CHANCE) for plan in plans}:
            if not isnan(alpha):
                say(terminal(), f"{ALPHA}: {alpha:.4g}")
        say(terminal(), f"question: {fingerprint_of(question)}", f"trust: {task.model}")


def assumed(task: FederationTask) -> tuple[str, ...]:
    """What is not proved, in lines for people."""
    if task.most_rows is None:
        return (ASSUMED,)
    return (ASSUMED, f"Promised by each site, and unproved: at most {task.most_rows} records")


def statement(task: FederationTask) -> tuple[str, ...]:
    """Lines for people on what a task promises."""
    model, roster = task.model, task.terms.roster
    columns = ", ".join(f"{name} ({kind.value})" for name, kind in task.columns.items())
    return (
        f"Task {task.name!r} of {', '.join(member.name for member in task.members)}; its hash is {task.hash}",
        f"Promise: each site spends at most {task.budget}, for {task.unit}, under {task.neighbours.value},"
        f" against the coordinator together with {model.tolerated - model.absent} sites",
        f"Noise: {model.price} of one curator's variance; {roster.may_fail} sites may fail once their vectors are sent",
        *([f"Columns: {columns}"] if columns else []),
        *assumed(task),
    )
