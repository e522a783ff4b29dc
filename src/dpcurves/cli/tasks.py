"""Tasks of two servers: who they are, what is counted, when it is closed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from .literals import category, chosen, whole
from .promise_options import Price
from .refusal import Misuse
from .split_options import Split
from .table_options import Cells, Column, TaskDocument
from .terminal import say, terminal
from .waiting import waiting

if TYPE_CHECKING:
    from ..data import Categories
    from ..trust import Owners
    from ..two_servers import Server, Task
    from .option_groups import Command

NEEDED = ("fastapi", "uvicorn", "cryptography.hazmat.primitives.hpke")
EXTRA = "two servers need more packages than one curator; install dpcurves[servers]"


@dataclass(frozen=True)
class Place:
    """A server's own folder, and where it answers."""

    folder: Annotated[str, Argument(metavar="FOLDER", help="Where its keys are kept; made if it is not there.")]
    url: Annotated[str, Option(help="Where it answers: https://host:port.", metavar="URL")]


@dataclass(frozen=True)
class Classes(Split):
    """Labels of two classes, for curves of a score, or categories."""

    label: Annotated[str | None, Option(help="The column of true labels of the scores.", metavar="NAME")] = None
    pos_label: Annotated[str, Option(help="The positive label; other labels are missing.", metavar="LABEL")] = "1"
    neg_label: Annotated[
        str | None,
        Option(
            help="The negative label; not needed where the positive one is 1, 0, -1, true or false.", metavar="LABEL"
        ),
    ] = None

    def declared(self) -> Categories | None:
        """The two classes, or the categories; None: neither.

        Raises:
            Misuse: both are given.
        """
        from ..curves.turns.labels import labels

        by = super().declared()
        if isinstance(by, tuple):
            raise Misuse("by", "a task has one column of categories")
        if self.label is None:
            return by
        if by is not None:
            raise Misuse("by", "a task has two classes or categories, not both; leave --label or --by out")
        return labels(
            self.label, category(self.pos_label), None if self.neg_label is None else category(self.neg_label)
        )


@dataclass(frozen=True)
class Parties:
    """Who takes part, and where the documents go."""

    servers: Annotated[str, Option(help="Files server.json of party 0, party 1.", metavar="FILE,FILE")]
    reports_per_owner: Annotated[str, Option(help="How many reports one owner may send at most.", metavar="K")]
    out: Annotated[str, Option(help="The task document: a new file.", metavar="FILE")]
    tickets: Annotated[str, Option(help="A folder for the tickets of all who take part.", metavar="FOLDER")]
    owners: Annotated[str, Option(help="How many owners there are.", metavar="N")]
    analysts: Annotated[str, Option(help="How many analysts there are.", metavar="N")] = "1"
    name: Annotated[str, Option(help="A name for people to read.", metavar="NAME")] = "task"
    check: Annotated[
        str,
        Option(
            help="owners: servers drop reports that count more than once; nobody: owners are believed.",
            metavar="WHOM",
        ),
    ] = "nobody"

    def checked(self) -> Owners:
        """Whether reports are checked."""
        from ..trust import Owners

        return chosen("check", self.check, {"owners": Owners.CHECKED, "nobody": Owners.UNCHECKED})

    def both(self) -> tuple[Server, Server]:
        """The two servers.

        Raises:
            Misuse: there are not two.
        """
        from ..two_servers.identity import read_server

        files = self.servers.split(",")
        if len(files) != 2:
            raise Misuse(
                "servers", "two files with a comma between them are needed, as in a0/server.json,a1/server.json"
            )
        first, second = (read_server(Path(file)) for file in files)
        return first, second


@dataclass(frozen=True)
class Document(TaskDocument):
    """The document of a task of this kind."""

    def read(self) -> Task:
        """The task."""
        from ..two_servers import Task

        return Task.read(self.task)


@dataclass(frozen=True)
class Bearer:
    """Who asks, and for how long it waits."""

    ticket: Annotated[str, Option(help="The ticket, from the folder that was made with the task.", metavar="FILE")]
    patience: Annotated[str, Option(help="How long to wait for an answer.", metavar="SECONDS")] = "60"

    @property
    def seconds(self) -> float:
        """How long to wait."""
        return float(whole("patience", self.patience))


def identity(place: Place) -> None:
    """Make the keys of a server.

    What others may know of it is written to FOLDER/server.json: give that file to whoever makes the task.

    Example: dpcurves task identity a0 --url https://127.0.0.1:8701
    """
    require_extra()
    from ..two_servers.identity import PUBLIC, Identity

    made = Identity.found(Path(place.folder), place.url)
    say(terminal(), f"written: {made.folder / PUBLIC} (public); the keys beside it are secret")


def create(column: Column, cells: Cells, classes: Classes, price: Price, parties: Parties) -> None:
    """Make a task for two servers.

    It counts all cells of the grid, by class or category if there are any; or, where these are too many to be laid out,
    thresholds one after the other.

    The document is public. Each owner, each analyst and the coordinator, who closes the task, gets a ticket.

    Example: dpcurves task create --column arr_delay --grid -100:1300:4096 --epsilon 1 --reports-per-owner 5000
    --servers a0/server.json,a1/server.json --owners 5 --out task.json --tickets tickets
    """
    require_extra()
    from ..two_servers import Task
    from ..two_servers.new_task import found
    from ..two_servers.statement import statement
    from ..two_servers.ticket import Role

    draft = Task(
        parties.name, column.column, cells.declared(), classes.declared(), price.loss(),
        whole("reports-per-owner", parties.reports_per_owner), parties.both(), {}, column.measured_in,
        owners=parties.checked(),
    )  # fmt: skip
    numbers = {
        Role.OWNER: whole("owners", parties.owners), Role.ANALYST: whole("analysts", parties.analysts),
        Role.COORDINATOR: 1,
    }  # fmt: skip
    task = found(draft, numbers, Path(parties.out), Path(parties.tickets))
    say(terminal(), *statement(task), f"written: {parties.out}, and tickets in {parties.tickets}")


def show(document: Document) -> None:
    """What a task promises, and whom one has to trust for it.

    Example: dpcurves task show --task task.json
    """
    require_extra()
    from ..two_servers.statement import statement

    say(terminal(), *statement(document.read()))


def close(document: Document, bearer: Bearer) -> None:
    """End the collection: both servers agree on the reports that count.

    No more are taken; those that reached one server only are dropped. Questions are answered from now on.

    Example: dpcurves task close --task task.json --ticket tickets/coordinator-1
    """
    require_extra()
    from ..two_servers.analyst import close as close_task
    from ..two_servers.ticket import Role, Ticket

    task = document.read()
    with waiting("the servers agree on the reports"):
        closed = close_task(task, Ticket.read(bearer.ticket, Role.COORDINATOR), patience=bearer.seconds)
    senders = f"from {closed.owners} of {len(task.tokens[Role.OWNER])} owners"
    say(terminal(), f"closed: {closed.reports} reports reached both servers, {senders}; their hash is {closed.set}")


def require_extra() -> None:
    """Refuse where the extra packages are missing.

    Raises:
        Misuse: they are.
    """
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in NEEDED):
        raise Misuse("task", f"{EXTRA}")


TASK_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"identity": identity, "create": create, "show": show, "close": close}
)
