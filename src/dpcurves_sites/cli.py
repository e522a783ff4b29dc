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
from dpcurves.cli.studies import ALPHA_RISK, show_plans
from dpcurves.cli.terminal import Misuse, UncertainChargeFailure, make_console, print_to_console, show_spinner
from dpcurves_parties.serving.monitoring_options import MonitoringOptions

from .transport_apps import write_transport

if TYPE_CHECKING:
    from dpcurves.curves import Question

    from .remote import ApprovalRequest
    from .task import FederationTask

# Commands that ask the sites of a task: as questions to one table, with the terms of a federation.
ASSUMPTIONS = "Assumed: each site counts its own records correctly; a malicious site could change sums by any amount"
"""Line that is printed with each plan and result of a federation: what its result presupposes."""


@dataclass(frozen=True)
class TaskFileOption:
    """Option for the task document."""

    task: str = option("FILE", "The task document.")

    def read_task(self) -> FederationTask:
        """Return the federation task from the document that ``--task`` names.

        Raises:
            ValueError: the file cannot be read, or is no federation.
        """
        from .task import FederationTask

        return FederationTask.load(self.task)


@dataclass(frozen=True)
class AnalystOptions:
    """Options of an analyst who asks."""

    ticket: str = option("FILE", "The analyst's ticket; its key lies beside it.")
    request_id: str | None = optional("ID", "An id of this request: repeating the same question under it is free.")
    timeout: str = option("SECONDS", "How long the coordinator may be down.", "60")


@dataclass(frozen=True)
class AskTerms:
    """Terms of a question that all sites answer: task, privacy loss and analyst."""

    file: TaskFileOption
    price: LossOptions
    analyst: AnalystOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask all sites a question, write the result to the files of `output`, and print the trust assumptions.

        Args:
            question: The question.
            view: How the result is printed and plotted.
            output: Options of the output.
        """
        from dpcurves_parties.serving.task_document import Role, Ticket

        from .remote import RemoteFederation
        from .task import read_key

        ticket = Path(self.analyst.ticket)
        output.require_distinct_files(
            InputFile("the task document", Path(self.file.task)), InputFile("the ticket", ticket)
        )
        output.require_writable()
        task = self.file.read_task()
        loss = self.price.loss()
        request = self.analyst.request_id or secrets.token_hex(8)
        key = read_key(ticket.with_name(f"{ticket.name}.key"))
        patience = parse_integer("timeout", self.analyst.timeout)
        with RemoteFederation(task, Ticket.load(ticket, Role.ANALYST), key, patience) as federation:
            federation.plan(question, loss)  # refuses before any site is asked
            with _reporting_request_id(request), show_spinner("the sites count"), suppress_curve_warnings():
                curve: Any = federation.ask(question, loss, request)
        with _reporting_request_id(request):
            trust = format_mechanism_line(curve), f"trust: {curve.privacy.trust}", *describe_assumptions(task)
            retry_note = f"request: {request} (the same question under this --request-id is free)"
            deliver_with_notes(question, curve, view, output, lambda written: (*trust, *written, retry_note))


@contextmanager
def _reporting_request_id(request: str) -> Iterator[None]:
    """Context in which a failure is reported together with the request id, because sites may have charged before it.

    Args:
        request: Request id of the question.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        raise UncertainChargeFailure(error, request) from None


@dataclass(frozen=True)
class PlanTerms:
    """Terms of a dry run: task and privacy loss."""

    file: TaskFileOption
    price: LossOptions

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print what a question would cost and how accurate it would be: loss of each site, expected errors,
        fingerprint.

        Args:
            question: The question.
            view: Without effect.
            output: Without effect.
        """
        from .remote import fingerprint_question

        task = self.file.read_task()
        loss = self.price.loss()
        plans = task.terms.plan_question(question, loss)
        show_plans(question, loss, task.terms.adjacency, plans)
        for alpha in {plan.distribution.alpha(ALPHA_RISK) for plan in plans}:
            if not isnan(alpha):
                print_to_console(make_console(), f"{ALPHA}: {alpha:.4g}")
        print_to_console(make_console(), f"question: {fingerprint_question(question)}", f"trust: {task.model}")


def describe_assumptions(task: FederationTask) -> tuple[str, ...]:
    """Return the trust assumptions of the privacy guarantee, such as how many sites may collude, as lines to print.

    Args:
        task: The task of the federation.
    """
    if task.max_rows is None:
        return (ASSUMPTIONS,)
    return (ASSUMPTIONS, f"Stated by each site, unverified: at most {task.max_rows} records")


def describe_task(task: FederationTask) -> tuple[str, ...]:
    """Return the privacy guarantee and the columns of a task, as lines to print.

    Args:
        task: The task of the federation.
    """
    model = task.model
    roster = task.terms.roster
    columns = ", ".join(f"{name} ({kind.value})" for name, kind in task.columns.items())
    return (
        f"Task {task.name!r} of {', '.join(member.name for member in task.members)}; its hash is {task.hash}",
        f"Guarantee: each site spends at most {task.budget}, for {task.unit}, under {task.neighbours.value},"
        f" against the coordinator together with {model.collusion_threshold - model.max_dropouts} sites",
        f"Noise: {model.variance_factor} of one curator's variance;"
        f" {roster.max_failures} sites may fail after sending their vectors",
        *([f"Columns: {columns}"] if columns else []),
        *describe_assumptions(task),
    )


@dataclass(frozen=True)
class NewSiteOptions:
    """Options of a new site: its folder, its name, and its public size."""

    folder: str = argument("FOLDER", "The folder of its signing key; created if missing.")
    name: str = option("NAME", "The display name of the site.")
    units: str | None = optional("N", "Under replace-one: the public number of units in its table.")


@dataclass(frozen=True)
class NewTaskOptions:
    """Options of a new task: its sites, tolerated collusion, and files."""

    sites: str = option("FILE,...", "The site.json files of all sites, separated by commas.")
    coordinator: str = option("FILE", "The coordinator's server.json: dpcurves task identity.")
    out: str = option("FILE", "The task document: a new file.")
    tickets: str = option("FOLDER", "A folder for tickets and analysts' keys.")
    collusion_threshold: str = option(
        "C", "The number of sites that may collude with the coordinator or be left out of a sum."
    )
    max_dropouts: str = option("A", "The number of these that may be left out of a sum when they do not answer.", "0")
    sites_per_unit: str = option(
        "K", "The largest number of sites with records of one unit: the noise grows with it.", "1"
    )
    analysts: str = option("N", "The number of analysts.", "1")
    columns: str | None = optional(
        "NAME:KIND,...",
        "The columns that each site must have and questions may use: age:number,sex:category.",
    )
    max_rows: str | None = optional(
        "N", "A bound on the records of a site; each site checks it locally, unverified by others."
    )
    name: str = option("NAME", "The display name.", "federation")


@dataclass(frozen=True)
class CoordinatorOptions:
    """Options of a coordinator."""

    identity: str = option("FOLDER", "The folder of its TLS identity: dpcurves task identity.")
    listen: str | None = optional("HOST:PORT", "The address to listen at; default: the URL in the task.")
    timeout: str = option("SECONDS", "How long a site may be silent before a sum continues without it, or ends.", "60")


@dataclass(frozen=True)
class SiteOptions:
    """Options of a site that answers."""

    key: str = option("FOLDER", "The folder of the site, from federation join.")
    ticket: str = option("FILE", "Its ticket: owner-1 for the first site of the task, ...")
    ledger: str = option("URL", "Its ledger: sqlite:///budget.db, or postgresql+psycopg://...")
    dataset: str = option("NAME", "Name of the site's account in the ledger.", "data")
    column: list[str] | None = optional("NAME=OWN", "A column with another name in DATA, as in age=years; repeatable.")
    approve: str = option(
        "HOW", "all: answer every question; ask: confirm each at the terminal; list: answer those of --approved.", "all"
    )
    approved: str | None = optional(
        "FILE",
        "Approved questions, a JSON list of entries with question or fingerprint, and the largest epsilon or rho.",
    )
    timeout: str = option("SECONDS", "How long to wait in a round for other sites before the next request.", "600")
    socket: str | None = optional("PATH", "A socket for another transport of its messages: see federation app.")

    def choose_approval(self) -> Callable[[ApprovalRequest], bool]:
        """Return the function that decides whether the site answers a question: all, the questions of a list, or as the
        officer types.

        Raises:
            Misuse: --approve and --approved do not fit together.
        """
        from .remote import ApprovedList

        if self.approve == "list":
            if self.approved is None:
                raise Misuse(
                    "approved",
                    "must name the file of approved questions, because of --approve list: add --approved FILE",
                )
            return ApprovedList(Path(self.approved))
        if self.approved is not None:
            raise Misuse(
                "approve",
                "must be list, because --approved names a list of questions; write --approve list, or leave "
                "--approved out",
            )
        return parse_choice("approve", self.approve, {"all": lambda question: True, "ask": _ask_officer})

    def parse_column_names(self) -> dict[str, str]:
        """Return how columns are named in the site's table, from --column NAME=COLUMN.

        Returns:
            Name in the table by name in questions; columns that are not listed keep their names.

        Raises:
            Misuse: a text has another form, or a name is repeated.
        """
        names: dict[str, str] = {}
        for text in self.column or []:
            name, sign, table_name = text.partition("=")
            if not sign or not name or not table_name or name in names:
                raise Misuse("column", f"must be NAME=COLUMN, each name once, as in age=years, got {text!r}")
            names[name] = table_name
        return names


def join(site: NewSiteOptions) -> None:
    """Create the signing key of a site, and its public site.json for the task.

    Example: dpcurves federation join airline-a --name "Airline A"
    """
    from .task import PUBLIC_FILE, Member

    units = None if site.units is None else parse_integer("units", site.units)
    Member.create(Path(site.folder), site.name, units)
    print_to_console(make_console(), f"written: {Path(site.folder) / PUBLIC_FILE}, which the creator of the task needs")


def create_task(sites: NewTaskOptions, promise: GuaranteeOptions, price: LossOptions) -> None:
    """Create a task: its document, which every site signs at start, and the tickets of all participants.

    Example: dpcurves federation create --sites a/site.json,b/site.json,c/site.json --coordinator hub/server.json
    --collusion-threshold 1 --adjacency add-remove --epsilon 4 --out task.json --tickets tickets
    """
    from dpcurves_parties.serving.identity import read_server

    from .columns import parse_schema
    from .task import Member, create_federation_task
    from .trust import SecureSum

    members = tuple(Member.load(Path(file)) for file in sites.sites.split(","))
    model = SecureSum(
        len(members), parse_integer("collusion_threshold", sites.collusion_threshold, minimum=0),
        parse_integer("max_dropouts", sites.max_dropouts, minimum=0),
        parse_integer("sites-per-unit", sites.sites_per_unit),
    )  # fmt: skip
    task = create_federation_task(
        members, model, Path(sites.out), Path(sites.tickets), name=sites.name, neighbours=promise.neighbours(),
        unit=promise.privacy_unit(), budget=price.loss(), coordinator=read_server(Path(sites.coordinator)),
        analysts=parse_integer("analysts", sites.analysts),
        columns=None if sites.columns is None else parse_schema(sites.columns),
        max_rows=None if sites.max_rows is None else parse_integer("most-rows", sites.max_rows),
    )  # fmt: skip
    print_to_console(make_console(), *describe_task(task))


def coordinator(file: TaskFileOption, running: CoordinatorOptions, watching: MonitoringOptions) -> None:
    """Run the coordinator of a task, which passes messages and holds no secret keys of participants.

    Example: dpcurves federation coordinator --task task.json --identity hub
    """
    from dpcurves_parties.serving.identity import Identity
    from dpcurves_parties.serving.server import Address

    from .relay import Coordinator

    task = file.read_task()
    patience = parse_integer("timeout", running.timeout)
    monitoring = watching.create_monitoring()
    server = Coordinator(task, Identity.load(Path(running.identity)), patience, monitoring=monitoring)
    listen = running.listen or task.coordinator.url.removeprefix("https://").rstrip("/")
    console = make_console()
    server.serve(
        Address.parse(listen), lambda: print_to_console(console, f"coordinator of {task.name} listens at {listen}")
    )


def site(source: SourceOptions, file: TaskFileOption, home: SiteOptions) -> None:
    """Run a site that answers questions with the records of a file. It opens no port.

    Example: dpcurves federation site a.csv --task task.json --key a --ticket tickets/owner-1 --ledger sqlite:///a.db
    """
    from dpcurves.ledger import Ledger
    from dpcurves_parties.serving.messages import disable_core_dumps
    from dpcurves_parties.serving.task_document import Role, Ticket

    from .remote import SiteAgent
    from .secure_sum import Signer
    from .site import Site
    from .task import SIGNING_KEY_FILE, read_key
    from .transport_apps import SocketTransport

    disable_core_dumps()
    require_lasting(home.ledger)
    task = file.read_task()
    key = read_key(Path(home.key) / SIGNING_KEY_FILE)
    public = key.public_key().public_bytes_raw()
    number = next((index for index, member in enumerate(task.members) if member.key == public), None)
    if number is None:
        raise Misuse(
            "key", "belongs to no site of this task; name the key file that dpcurves federation join made for it"
        )
    approve = home.choose_approval()
    patience = parse_integer("timeout", home.timeout)
    console = make_console()
    opened_site = Site(
        task.terms, Signer(number, key), source.records(), Ledger.open_persistent(home.ledger), home.dataset,
        delimiter=source.delimiter, columns=home.parse_column_names(),
    )  # fmt: skip
    ticket = Ticket.load(home.ticket, Role.OWNER)
    print_to_console(console, *describe_task(task))
    trouble = opened_site.find_write_trouble()
    if trouble:
        consequence = "until then this site repeats its stored answers, and refuses all else without a charge"
        print_to_console(console, f"{trouble}; {consequence}")
    agent = SiteAgent(
        task,
        opened_site,
        key,
        ticket,
        approve=approve,
        tell=lambda line: print_to_console(console, line),
        timeout=patience,
    )
    if home.socket is not None:
        agent.use_transport(SocketTransport(Path(home.socket)))
    agent.run()


def _ask_officer(request: ApprovalRequest) -> bool:
    """Return whether the site's officer approves a question, asked for at the terminal with its privacy loss.

    No answer means no.

    Args:
        request: The question, its loss, and the data that leaves the site.
    """
    try:
        return input(f"answer for {request.loss} in total? yes or no: ").strip().lower() == "yes"
    except EOFError:
        return False


def status(file: TaskFileOption) -> None:
    """Show the guarantee of a task, and the sites that have signed it.

    Example: dpcurves federation status --task task.json
    """
    from .remote import fetch_status

    task = file.read_task()
    report = fetch_status(task)
    signed = ", ".join(map(str, report["signed"])) or "none"
    print_to_console(
        make_console(), *describe_task(task), f"signed by {len(report['signed'])} of {report['sites']}: {signed}"
    )


COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "create": create_task,
        "join": join,
        "coordinator": coordinator,
        "site": site,
        "status": status,
        "app": write_transport,
    }
)
"""Commands of the group `dpcurves federation`, by name."""

PACKAGE_COMMANDS = PackageCommands(
    groups={
        "federation": Group(
            "Sites that keep their records and answer together: secure sums.",
            COMMANDS,
            groups={
                "ask": Group("Questions that all sites of a task answer together.", commands_for_terms(AskTerms)),
                "plan": Group(
                    "The privacy loss of a question at every site, and its errors.",
                    commands_for_terms(PlanTerms, plans=True),
                ),
            },
        )
    }
)
"""The group `federation`, with its questions and plans, which this package adds to the commands of `dpcurves`."""
