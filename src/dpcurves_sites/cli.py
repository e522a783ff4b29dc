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
from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.ask_file import deliver_with_notes, format_mechanism_line, suppress_curve_warnings
from dpcurves.cli.columns import ALPHA
from dpcurves.cli.one_table import commands_for_terms
from dpcurves.cli.options import (
    Command,
    GuaranteeOptions,
    LossOptions,
    SourceOptions,
    argument,
    option,
    optional,
    parse_choice,
    parse_integer,
)
from dpcurves.cli.output import InputFile, Output, View
from dpcurves.cli.studies import CHANCE, show_plans
from dpcurves.cli.terminal import Misuse, UncertainChargeFailure, make_console, print_to_console, show_spinner
from dpcurves_parties.serving.watching import MonitoringOptions

from .carrying import write_transport

if TYPE_CHECKING:
    from dpcurves.curves import Question

    from .remote import ApprovalRequest
    from .task import FederationTask

# Commands that ask the sites of a task: questions to one table, with terms of a federation in place of a file's.
ASSUMED = "Assumed: each site counts its own records and tells the truth; it could move sums by any amount"


@dataclass(frozen=True)
class TaskFileOption:
    """Option for the task document."""

    task: str = option("FILE", "The task document.")

    def read_task(self) -> FederationTask:
        """The task."""
        from .task import FederationTask

        return FederationTask.load(self.task)


@dataclass(frozen=True)
class AnalystOptions:
    """Options of an analyst who asks."""

    ticket: str = option("FILE", "The analyst's ticket; its key lies beside it.")
    request_id: str | None = optional(
        "ID", "A name for this request: the same question under it is answered alike, for nothing."
    )
    patience: str = option("SECONDS", "How long the coordinator may be away.", "60")


@dataclass(frozen=True)
class AskTerms:
    """Terms of a question that all sites answer: the task, a privacy loss, and who asks."""

    file: TaskFileOption
    price: LossOptions
    analyst: AnalystOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask all sites, write what `output` names, and say who had to be trusted."""
        from dpcurves_parties.serving.task_document import Role, Ticket

        from .remote import RemoteFederation
        from .task import read_key

        ticket = Path(self.analyst.ticket)
        output.require_distinct_files(
            InputFile("the task document", Path(self.file.task)), InputFile("the ticket", ticket)
        )
        output.require_writable()
        task, loss, request = self.file.read_task(), self.price.loss(), self.analyst.request_id or secrets.token_hex(8)
        key, patience = (
            read_key(ticket.with_name(f"{ticket.name}.key")),
            parse_integer("patience", self.analyst.patience),
        )
        with RemoteFederation(task, Ticket.load(ticket, Role.ANALYST), key, patience) as federation:
            federation.plan(question, loss)  # refused: nobody was asked
            with _reporting_request_id(request), show_spinner("the sites count"), suppress_curve_warnings():
                curve: Any = federation.ask(question, loss, request)
        with _reporting_request_id(request):
            trust = format_mechanism_line(curve), f"trust: {curve.privacy.trust}", *describe_assumptions(task)
            free = f"request: {request} (the same question under this --request-id is free)"
            deliver_with_notes(question, curve, view, output, lambda written: (*trust, *written, free))


@contextmanager
def _reporting_request_id(request: str) -> Iterator[None]:
    """Report a failure together with the request id: sites may have charged before."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        raise UncertainChargeFailure(error, request) from None


@dataclass(frozen=True)
class PlanTerms:
    """Terms of a question that is planned, but not asked: the task, and a privacy loss."""

    file: TaskFileOption
    price: LossOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the privacy loss of each site and the expected errors, and how approved questions name this one."""
        from .remote import fingerprint_question

        task, loss = self.file.read_task(), self.price.loss()
        plans = task.terms.plan_question(question, loss)
        show_plans(question, loss, task.terms.adjacency, plans)
        for alpha in {plan.law.alpha(CHANCE) for plan in plans}:
            if not isnan(alpha):
                print_to_console(make_console(), f"{ALPHA}: {alpha:.4g}")
        print_to_console(make_console(), f"question: {fingerprint_question(question)}", f"trust: {task.model}")


def describe_assumptions(task: FederationTask) -> tuple[str, ...]:
    """Limits of the proofs, in lines for people."""
    if task.most_rows is None:
        return (ASSUMED,)
    return (ASSUMED, f"Promised by each site, and unproved: at most {task.most_rows} records")


def describe_task(task: FederationTask) -> tuple[str, ...]:
    """Lines for people on what a task promises."""
    model, roster = task.model, task.terms.roster
    columns = ", ".join(f"{name} ({kind.value})" for name, kind in task.columns.items())
    return (
        f"Task {task.name!r} of {', '.join(member.name for member in task.members)}; its hash is {task.hash}",
        f"Promise: each site spends at most {task.budget}, for {task.unit}, under {task.neighbours.value},"
        f" against the coordinator together with {model.tolerated - model.absent} sites",
        f"Noise: {model.variance_factor} of one curator's variance; {roster.max_failures} sites may fail once their vectors are sent",
        *([f"Columns: {columns}"] if columns else []),
        *describe_assumptions(task),
    )


@dataclass(frozen=True)
class NewSiteOptions:
    """Options of a new site: its folder, its name, and its public size."""

    folder: str = argument("FOLDER", "Where its key is kept; made if it is not there.")
    name: str = option("NAME", "Its name for people to read.")
    units: str | None = optional("N", "Under replace-one: how many units its table has, in public.")


@dataclass(frozen=True)
class NewTaskOptions:
    """Options of a new task: its sites, how many are tolerated, and its files."""

    sites: str = option("FILE,...", "Files site.json of all sites, with commas between.")
    coordinator: str = option("FILE", "The coordinator's server.json: dpcurves task identity.")
    out: str = option("FILE", "The task document: a new file.")
    tickets: str = option("FOLDER", "A folder for tickets, and keys of analysts.")
    tolerated: str = option("C", "How many sites may collude with the coordinator, or be left out of a sum.")
    absent: str = option("A", "How many of these may be left out of a sum when they do not answer.", "0")
    sites_per_unit: str = option("K", "The most sites that hold records of one unit: the noise grows with it.", "1")
    analysts: str = option("N", "How many analysts there are.", "1")
    columns: str | None = optional(
        "NAME:KIND,...",
        "The columns that each site has to hold, and that questions may ask of: age:number,sex:category.",
    )
    most_rows: str | None = optional(
        "N", "The most records that each site says it has: sites check it at home, nothing proves it."
    )
    name: str = option("NAME", "A name for people to read.", "federation")


@dataclass(frozen=True)
class CoordinatorOptions:
    """Options of a coordinator."""

    identity: str = option("FOLDER", "The folder with its keys: dpcurves task identity.")
    listen: str | None = optional("HOST:PORT", "Where to listen; left out: at the URL in the task.")
    patience: str = option("SECONDS", "How long a site may be silent before a sum goes on without it, or ends.", "60")


@dataclass(frozen=True)
class SiteOptions:
    """Options of a site that answers."""

    key: str = option("FOLDER", "Its folder, as federation join made it.")
    ticket: str = option("FILE", "Its ticket: owner-1 for the first site of the task, ...")
    ledger: str = option("URL", "Its ledger: sqlite:///budget.db, or postgresql+psycopg://...")
    dataset: str = option("NAME", "The name of its account.", "data")
    column: list[str] | None = optional(
        "NAME=OWN", "A column that is called otherwise in DATA, as in age=years; may be given again."
    )
    approve: str = option(
        "HOW", "all: every question is answered; ask: somebody says yes to each; list: those of --approved are.", "all"
    )
    approved: str | None = optional(
        "FILE", "Approved questions, a JSON list: each with question (or fingerprint), and the most epsilon or rho."
    )
    patience: str = option(
        "SECONDS", "How long it waits in a turn for other sites, before it sees what else is asked.", "600"
    )
    carried: str | None = optional("PATH", "A socket at which others fetch its messages: see federation carry.")

    def choose_approval(self) -> Callable[[ApprovalRequest], bool]:
        """Who says yes to a question."""
        from .remote import ApprovedList

        if self.approve == "list":
            if self.approved is None:
                raise Misuse("approved", "name the file of approved questions")
            return ApprovedList(Path(self.approved))
        if self.approved is not None:
            raise Misuse("approve", "list is needed where a file of approved questions is named")
        return parse_choice("approve", self.approve, {"all": lambda asked: True, "ask": _ask_officer})

    def parse_column_names(self) -> dict[str, str]:
        """Names of columns in the table, by those in questions."""
        found: dict[str, str] = {}
        for each in self.column or []:
            name, sign, own = each.partition("=")
            if not sign or not name or not own or name in found:
                raise Misuse("column", f"each once, as in age=years, is needed, got {each!r}")
            found[name] = own
        return found


def join(site: NewSiteOptions) -> None:
    """Make the key of a site, and a file site.json that whoever founds the task needs.

    Example: dpcurves federation join airline-a --name "Airline A"
    """
    from .task import PUBLIC, Member

    units = None if site.units is None else parse_integer("units", site.units)
    Member.create(Path(site.folder), site.name, units)
    print_to_console(make_console(), f"made: {Path(site.folder) / PUBLIC}, for whoever founds the task")


def create_task(sites: NewTaskOptions, promise: GuaranteeOptions, price: LossOptions) -> None:
    """Found a task: its document, which every site signs when it starts, and tickets of all who take part.

    Example: dpcurves federation found --sites a/site.json,b/site.json,c/site.json --coordinator hub/server.json
    --tolerated 1 --adjacency add-remove --epsilon 4 --out task.json --tickets tickets
    """
    from dpcurves_parties.serving.identity import read_server

    from .columns import parse_schema
    from .task import Member, create_federation_task
    from .trust import SecureSum

    members = tuple(Member.load(Path(file)) for file in sites.sites.split(","))
    model = SecureSum(
        len(members), parse_integer("tolerated", sites.tolerated, least=0), parse_integer("absent", sites.absent, least=0),
        parse_integer("sites-per-unit", sites.sites_per_unit),
    )  # fmt: skip
    task = create_federation_task(
        members, model, Path(sites.out), Path(sites.tickets), name=sites.name, neighbours=promise.neighbours(),
        unit=promise.privacy_unit(), budget=price.loss(), coordinator=read_server(Path(sites.coordinator)),
        analysts=parse_integer("analysts", sites.analysts),
        columns=None if sites.columns is None else parse_schema(sites.columns),
        most_rows=None if sites.most_rows is None else parse_integer("most-rows", sites.most_rows),
    )  # fmt: skip
    print_to_console(make_console(), *describe_task(task))


def coordinator(file: TaskFileOption, running: CoordinatorOptions, watching: MonitoringOptions) -> None:
    """Carry the messages of a task. It holds no key of anybody, and runs until it is stopped.

    Example: dpcurves federation coordinator --task task.json --identity hub
    """
    from dpcurves_parties.serving.identity import Identity
    from dpcurves_parties.serving.server import Address

    from .relay import Coordinator

    task = file.read_task()
    patience, monitoring = parse_integer("patience", running.patience), watching.create_monitoring()
    server = Coordinator(task, Identity.load(Path(running.identity)), patience, monitoring=monitoring)
    listen = running.listen or task.coordinator.url.removeprefix("https://").rstrip("/")
    console = make_console()
    server.serve(
        Address.parse(listen), lambda: print_to_console(console, f"coordinator of {task.name} listens at {listen}")
    )


def site(source: SourceOptions, file: TaskFileOption, home: SiteOptions) -> None:
    """Answer questions with the records of a file, which stay here. It connects outwards alone, until it is stopped.

    Example: dpcurves federation site a.csv --task task.json --key a --ticket tickets/owner-1 --ledger sqlite:///a.db
    """
    from dpcurves.ledger import Ledger
    from dpcurves_parties.serving.messages import disable_core_dumps
    from dpcurves_parties.serving.task_document import Role, Ticket

    from .carrying import SocketTransport
    from .remote import SiteAgent
    from .secure_sum import Signer
    from .site import Site
    from .task import KEY, read_key

    disable_core_dumps()
    require_lasting(home.ledger)
    task, key = file.read_task(), read_key(Path(home.key) / KEY)
    public = key.public_key().public_bytes_raw()
    number = next((place for place, each in enumerate(task.members) if each.key == public), None)
    if number is None:
        raise Misuse("key", "it is of no site of this task")
    approve, patience = home.choose_approval(), parse_integer("patience", home.patience)
    console = make_console()
    held = Site(
        task.terms, Signer(number, key), source.records(), Ledger.open_persistent(home.ledger), home.dataset,
        delimiter=source.delimiter, columns=home.parse_column_names(),
    )  # fmt: skip
    ticket = Ticket.load(home.ticket, Role.OWNER)
    print_to_console(console, *describe_task(task))
    agent = SiteAgent(
        task, held, key, ticket, approve=approve, tell=lambda line: print_to_console(console, line), timeout=patience
    )
    if home.carried is not None:
        agent.use_transport(SocketTransport(Path(home.carried)))
    agent.run()


def _ask_officer(request: ApprovalRequest) -> bool:
    """Ask an officer; who is not there has not said yes."""
    try:
        return input("answer? yes or no: ").strip().lower() == "yes"
    except EOFError:
        return False


def status(file: TaskFileOption) -> None:
    """Show what a task promises, and which sites have signed it.

    Example: dpcurves federation status --task task.json
    """
    from .remote import fetch_status

    task = file.read_task()
    said = fetch_status(task)
    signed = ", ".join(said["signed"]) or "nobody yet"
    print_to_console(
        make_console(), *describe_task(task), f"signed by {len(said['signed'])} of {said['sites']}: {signed}"
    )


COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "found": create_task,
        "join": join,
        "coordinator": coordinator,
        "site": site,
        "status": status,
        "carry": write_transport,
    }
)

PROVIDED = PackageCommands(
    groups={
        "federation": Group(
            "Sites that keep their records and answer together: secure sums.",
            COMMANDS,
            groups={
                "ask": Group("Questions that all sites of a task answer together.", commands_for_terms(AskTerms)),
                "plan": Group(
                    "What a question would cost every site, and its errors.", commands_for_terms(PlanTerms, plans=True)
                ),
            },
        )
    }
)
