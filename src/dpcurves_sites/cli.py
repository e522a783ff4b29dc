"""Commands of federations: sites join, a task is created, a coordinator and sites run, and analysts ask."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcurves.cli.accounts import require_lasting
from dpcurves.cli.app import Group, Provided
from dpcurves.cli.ask_file import delivered, made_by, quietly
from dpcurves.cli.columns import ALPHA
from dpcurves.cli.one_table import through
from dpcurves.cli.options import Command, Price, Promise, SourceOptions, argument, chosen, option, perhaps, whole
from dpcurves.cli.output import InputFile, Output, View
from dpcurves.cli.studies import CHANCE, show_plans
from dpcurves.cli.terminal import Misuse, PerhapsKept, say, terminal, waiting
from dpcurves_parties.serving.watching import Watching

from .carrying import carry

if TYPE_CHECKING:
    from dpcurves.curves import Question

    from .remote import Approved
    from .task import FederationTask

# Commands that ask the sites of a task: questions to one table, with terms of a federation in place of a file's.
ASSUMED = "Assumed: each site counts its own records and tells the truth; it could move sums by any amount"


@dataclass(frozen=True)
class FederationFile:
    """Option for the task document."""

    task: str = option("FILE", "The task document.")

    def read(self) -> FederationTask:
        """The task."""
        from .task import FederationTask

        return FederationTask.read(self.task)


@dataclass(frozen=True)
class Asker:
    """Options of an analyst who asks."""

    ticket: str = option("FILE", "The analyst's ticket; its key lies beside it.")
    request_id: str | None = perhaps(
        "ID", "A name for this request: the same question under it is answered alike, for nothing."
    )
    patience: str = option("SECONDS", "How long the coordinator may be away.", "60")


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
        with _told(request):
            trust = made_by(curve), f"trust: {curve.privacy.trust}", *assumed(task)
            free = f"request: {request} (the same question under this --request-id is free)"
            delivered(question, curve, view, output, lambda written: (*trust, *written, free))


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
    """Limits of the proofs, in lines for people."""
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


@dataclass(frozen=True)
class SiteFolder:
    """Options of a new site: its folder, its name, and its public size."""

    folder: str = argument("FOLDER", "Where its key is kept; made if it is not there.")
    name: str = option("NAME", "Its name for people to read.")
    units: str | None = perhaps("N", "Under replace-one: how many units its table has, in public.")


@dataclass(frozen=True)
class Sites:
    """Options of a new task: its sites, how many are tolerated, and its files."""

    sites: str = option("FILE,...", "Files site.json of all sites, with commas between.")
    coordinator: str = option("FILE", "The coordinator's server.json: dpcurves task identity.")
    out: str = option("FILE", "The task document: a new file.")
    tickets: str = option("FOLDER", "A folder for tickets, and keys of analysts.")
    tolerated: str = option("C", "How many sites may collude with the coordinator, or be left out of a sum.")
    absent: str = option("A", "How many of these may be left out of a sum when they do not answer.", "0")
    sites_per_unit: str = option("K", "The most sites that hold records of one unit: the noise grows with it.", "1")
    analysts: str = option("N", "How many analysts there are.", "1")
    columns: str | None = perhaps(
        "NAME:KIND,...",
        "The columns that each site has to hold, and that questions may ask of: age:number,sex:category.",
    )
    most_rows: str | None = perhaps(
        "N", "The most records that each site says it has: sites check it at home, nothing proves it."
    )
    name: str = option("NAME", "A name for people to read.", "federation")


@dataclass(frozen=True)
class Running:
    """Options of a coordinator."""

    identity: str = option("FOLDER", "The folder with its keys: dpcurves task identity.")
    listen: str | None = perhaps("HOST:PORT", "Where to listen; left out: at the URL in the task.")
    patience: str = option("SECONDS", "How long a site may be silent before a sum goes on without it, or ends.", "60")


@dataclass(frozen=True)
class AtHome:
    """Options of a site that answers."""

    key: str = option("FOLDER", "Its folder, as federation join made it.")
    ticket: str = option("FILE", "Its ticket: owner-1 for the first site of the task, ...")
    ledger: str = option("URL", "Its ledger: sqlite:///budget.db, or postgresql+psycopg://...")
    dataset: str = option("NAME", "The name of its account.", "data")
    column: list[str] | None = perhaps(
        "NAME=OWN", "A column that is called otherwise in DATA, as in age=years; may be given again."
    )
    approve: str = option(
        "HOW", "all: every question is answered; ask: somebody says yes to each; list: those of --approved are.", "all"
    )
    approved: str | None = perhaps(
        "FILE", "Approved questions, a JSON list: each with question (or fingerprint), and the most epsilon or rho."
    )
    patience: str = option(
        "SECONDS", "How long it waits in a turn for other sites, before it sees what else is asked.", "600"
    )
    carried: str | None = perhaps("PATH", "A socket at which others fetch its messages: see federation carry.")

    def approval(self) -> Callable[[Approved], bool]:
        """Who says yes to a question."""
        from .remote import ApprovedList

        if self.approve == "list":
            if self.approved is None:
                raise Misuse("approved", "name the file of approved questions")
            return ApprovedList(Path(self.approved))
        if self.approved is not None:
            raise Misuse("approve", "list is needed where a file of approved questions is named")
        return chosen("approve", self.approve, {"all": lambda asked: True, "ask": _approved})

    def names(self) -> dict[str, str]:
        """Names of columns in the table, by those in questions."""
        found: dict[str, str] = {}
        for each in self.column or []:
            name, sign, own = each.partition("=")
            if not sign or not name or not own or name in found:
                raise Misuse("column", f"each once, as in age=years, is needed, got {each!r}")
            found[name] = own
        return found


def join(site: SiteFolder) -> None:
    """Make the key of a site, and a file site.json that whoever founds the task needs.

    Example: dpcurves federation join airline-a --name "Airline A"
    """
    from .task import PUBLIC, Member

    units = None if site.units is None else whole("units", site.units)
    Member.made(Path(site.folder), site.name, units)
    say(terminal(), f"made: {Path(site.folder) / PUBLIC}, for whoever founds the task")


def found(sites: Sites, promise: Promise, price: Price) -> None:
    """Found a task: its document, which every site signs when it starts, and tickets of all who take part.

    Example: dpcurves federation found --sites a/site.json,b/site.json,c/site.json --coordinator hub/server.json
    --tolerated 1 --adjacency add-remove --epsilon 4 --out task.json --tickets tickets
    """
    from dpcurves_parties.serving.identity import read_server

    from .columns import schema_of
    from .task import Member, found_federation
    from .trust import SecureSum

    members = tuple(Member.read(Path(file)) for file in sites.sites.split(","))
    model = SecureSum(
        len(members), whole("tolerated", sites.tolerated, least=0), whole("absent", sites.absent, least=0),
        whole("sites-per-unit", sites.sites_per_unit),
    )  # fmt: skip
    task = found_federation(
        members, model, Path(sites.out), Path(sites.tickets), name=sites.name, neighbours=promise.neighbours(),
        unit=promise.protected(), budget=price.loss(), coordinator=read_server(Path(sites.coordinator)),
        analysts=whole("analysts", sites.analysts),
        columns=None if sites.columns is None else schema_of(sites.columns),
        most_rows=None if sites.most_rows is None else whole("most-rows", sites.most_rows),
    )  # fmt: skip
    say(terminal(), *statement(task))


def coordinator(file: FederationFile, running: Running, watching: Watching) -> None:
    """Carry the messages of a task. It holds no key of anybody, and runs until it is stopped.

    Example: dpcurves federation coordinator --task task.json --identity hub
    """
    from dpcurves_parties.serving.identity import Identity
    from dpcurves_parties.serving.server import Address

    from .relay import Coordinator

    task = file.read()
    patience, monitoring = whole("patience", running.patience), watching.monitoring()
    server = Coordinator(task, Identity.read(Path(running.identity)), patience, monitoring=monitoring)
    listen = running.listen or task.coordinator.url.removeprefix("https://").rstrip("/")
    console = terminal()
    server.serve(Address.parse(listen), lambda: say(console, f"coordinator of {task.name} listens at {listen}"))


def site(source: SourceOptions, file: FederationFile, home: AtHome) -> None:
    """Answer questions with the records of a file, which stay here. It connects outwards alone, until it is stopped.

    Example: dpcurves federation site a.csv --task task.json --key a --ticket tickets/owner-1 --ledger sqlite:///a.db
    """
    from dpcurves.ledger import Ledger
    from dpcurves_parties.serving.messages import leave_no_image
    from dpcurves_parties.serving.task_document import Role, Ticket

    from .carrying import Carried
    from .remote import SiteAgent
    from .secure_sum import Signer
    from .site import Site
    from .task import KEY, read_key

    leave_no_image()
    require_lasting(home.ledger)
    task, key = file.read(), read_key(Path(home.key) / KEY)
    public = key.public_key().public_bytes_raw()
    number = next((place for place, each in enumerate(task.members) if each.key == public), None)
    if number is None:
        raise Misuse("key", "it is of no site of this task")
    approve, patience = home.approval(), whole("patience", home.patience)
    console = terminal()
    held = Site(
        task.terms, Signer(number, key), source.records(), Ledger.kept(home.ledger), home.dataset,
        delimiter=source.delimiter, columns=home.names(),
    )  # fmt: skip
    ticket = Ticket.read(home.ticket, Role.OWNER)
    say(console, *statement(task))
    agent = SiteAgent(task, held, key, ticket, approve=approve, tell=lambda line: say(console, line), patience=patience)
    if home.carried is not None:
        agent.through(Carried(Path(home.carried)))
    agent.run()


def _approved(asked: Approved) -> bool:
    """Ask an officer; who is not there has not said yes."""
    try:
        return input("answer? yes or no: ").strip().lower() == "yes"
    except EOFError:
        return False


def status(file: FederationFile) -> None:
    """Show what a task promises, and which sites have signed it.

    Example: dpcurves federation status --task task.json
    """
    from .remote import standing

    task = file.read()
    said = standing(task)
    signed = ", ".join(said["signed"]) or "nobody yet"
    say(terminal(), *statement(task), f"signed by {len(said['signed'])} of {said['sites']}: {signed}")


COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"found": found, "join": join, "coordinator": coordinator, "site": site, "status": status, "carry": carry}
)

PROVIDED = Provided(
    groups={
        "federation": Group(
            "Sites that keep their records and answer together: secure sums.",
            COMMANDS,
            groups={
                "ask": Group("Questions that all sites of a task answer together.", through(AskTerms)),
                "plan": Group("What a question would cost every site, and its errors.", through(PlanTerms, plans=True)),
            },
        )
    }
)
