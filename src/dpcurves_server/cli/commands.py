"""Commands of the operator of a verification server: run it, administer it, name its identity provider."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from pathlib import Path
from secrets import token_urlsafe
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_origin

from dpcurves.cli import options
from dpcurves.cli.accounts import require_lasting
from dpcurves.cli.ask_file import Terms
from dpcurves.cli.options import option
from dpcurves.cli.output import Output
from dpcurves.cli.terminal import (
    COLUMN_OPTIONS,
    Misuse,
    make_console,
    print_to_console,
    require_packages,
    restore_option_names,
)
from dpcurves_parties.serving.monitoring_options import MonitoringOptions

from ..forms import Field, Form
from ..principals import MACHINE, Role

if TYPE_CHECKING:
    from dpcurves.ledger import Account

    from .. import Services
    from ..datasets import Relation
    from ..datasets import Source as Place
    from ..declared_columns import Declared
    from ..issuer import Issuer


ID, SECRET = "DPCURVES_OIDC_CLIENT_ID", "DPCURVES_OIDC_CLIENT_SECRET"
CLIENT_VARIABLES_RULE = f"{ID} and {SECRET} are needed in the environment, or --oidc-client FILE"
"""Error message of `serve --oidc` without the OpenID Connect client's id and secret."""


@dataclass(frozen=True)
class IssuerOptions:
    """Options for an OpenID Connect issuer. The client secret is never given on the command line."""

    oidc: str | None = options.optional("URL", "An issuer of OpenID Connect by which people may sign in, too.")
    oidc_client: str | None = options.optional(
        "FILE",
        'What identifies the server to the issuer: JSON with "client_id" and "client_secret". Else '
        f"{ID} and {SECRET} of the environment.",
    )

    def open_issuer(self) -> Issuer | None:
        """Return the issuer; None if people sign in by passwords only.

        Raises:
            Misuse: the client credentials are missing, or were given without an issuer.
            ValueError: the issuer has no safe address.
        """
        if self.oidc is None:
            if self.oidc_client is not None:
                raise Misuse(
                    "oidc-client", "--oidc-client is only for --oidc; give --oidc URL, or leave this option out"
                )
            return None
        from ..issuer import ClientCredentials, Issuer

        if self.oidc_client is None:
            credentials = os.environ.get(ID, ""), os.environ.get(SECRET, "")
        else:
            credentials = _read_client(self.oidc_client)
        if not all(credentials):
            raise Misuse("oidc", CLIENT_VARIABLES_RULE)
        return Issuer(self.oidc, ClientCredentials(*credentials))


def _read_client(file: str) -> tuple[str, str]:
    """Return the client id and the client secret for OpenID Connect from a JSON file.

    Raises:
        Misuse: the file cannot be read, or lacks one of them.
    """
    try:
        stored = json.loads(Path(file).read_text(encoding="utf-8"))
        return str(stored["client_id"]), str(stored["client_secret"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise Misuse(
            "oidc-client", f'{file!r} cannot be read; give a JSON file with "client_id" and "client_secret"'
        ) from None


# Web forms of the questions of the command line: their fields are made from the declared options.
COLUMNS = frozenset(
    {*COLUMN_OPTIONS, "rows", "columns", "time", "event", "x", "y", "outcome", "coefficient", "explained_by"}
)
"""Options of questions that take a column: web forms offer the dataset's columns in their fields."""
MODEL_FILE_MARK = "@FILE"
"""Text in the help of an option that takes a column or a model file. Pages show ``@NAME`` in its place: the field then
takes a model that the project has stored."""
EXAMPLE = "Example:"
"""Word in a command's docstring at which its help on pages ends, because examples are for the command line."""


@dataclass
class _RecordingTerms:
    """Terms that record the question of a command instead of asking it."""

    question: Any = None

    def answer(self, question: Any, *_: object) -> None:
        """Record a parsed question instead of asking it: web forms use the command line's parser to build questions.

        Args:
            question: The question, which is stored in `question`.
        """
        self.question = question


def build_forms(questions: Mapping[str, options.Command]) -> dict[str, Form]:
    """Build the forms of the questions to one table, by command name.

    >>> from dpcurves.cli.one_table import QUESTIONS
    >>> form = build_forms(QUESTIONS)["histogram"]
    >>> print(form.build_question({"column": ["age"], "grid": ["0:90:9"]}, {}))
    histogram of age
    """
    return {
        word: _build_form(word, command)
        for word, command in questions.items()
        if options.groups_of(command).get("terms") is Terms
    }


def _build_form(word: str, command: options.Command) -> Form:
    """Return the web form of a question: title, description, fields, and a parser of the filled-in values.

    Args:
        word: Name of the question's command.
        command: Function of the command, whose options become fields.
    """
    groups = {name: group for name, group in options.groups_of(command).items() if group not in (Terms, Output)}
    readings = {name: group for name, group in groups.items() if issubclass(group, options.ReadingOptions)}
    asking = {name: group for name, group in groups.items() if name not in readings}
    fields = tuple(_build_field(parameter) for group in asking.values() for parameter in options.parameters_of(group))

    def parse_question(values: Mapping[str, Any]) -> Any:
        """Return the question that these values describe, as the command line would build it."""
        recorder = _RecordingTerms()
        with restore_option_names(values):
            arguments = {name: options.build_group(group, values) for name, group in asking.items()}
            arguments |= {name: group() for name, group in readings.items()}
            command(**arguments, terms=recorder, output=Output())
        return recorder.question

    title, _, description = (command.__doc__ or "").partition(EXAMPLE)[0].partition("\n")
    return Form(word, title.strip().rstrip("."), " ".join(description.split()), fields, parse_question)


def _build_field(parameter: Parameter) -> Field:
    """Return the field of a web form that takes the value of a command-line option.

    Args:
        parameter: Parameter of the command's function, whose annotation declares the option.
    """
    option = parameter.annotation.__metadata__[0]
    needed = parameter.default is Parameter.empty
    words = str(option.help)
    metavar = str(option.metavar)
    hint = parameter.annotation.__origin__
    is_repeatable = any(get_origin(hint_type) is list for hint_type in (hint, *getattr(hint, "__args__", ())))
    return Field(
        parameter.name, words.replace(MODEL_FILE_MARK, "@NAME").replace("a model in JSON", "a model"), metavar,
        None if needed else parameter.default, needed, is_repeatable,
        tuple(metavar.split("|")) if "|" in metavar else (), parameter.name in COLUMNS, MODEL_FILE_MARK in words,
    )  # fmt: skip


require_extra = partial(
    require_packages, "serve", "a server needs more packages; install dpcurves[server]",
    "argon2", "authlib", "fastapi", "jinja2", "matplotlib", "prometheus_client", "python_multipart", "requests",
    "uvicorn",
)  # fmt: skip
"""Refuse if the optional packages of the extra ``server`` are missing."""


@dataclass(frozen=True)
class StoreOption:
    """Option for the database of a verification server."""

    store: str = option("URL", "Its database, ledger included: sqlite:///server.db, or postgresql+psycopg://...")

    def open_services(self) -> Services:
        """Open the services of the verification server on the database that --store names."""
        require_extra()
        from .. import Services

        require_lasting(self.store)
        return Services(self.store)


@dataclass(frozen=True)
class ListenOptions:
    """Options for the server's address and certificate, worker processes, and limits of connections and rates."""

    listen: str = option("HOST:PORT", "Address to listen at.")
    tls: str = option("FILE,FILE", "The server's certificate and its key: made if neither is there.")
    workers: str = option("N", "Number of worker processes that count.", "2")
    every: str = option(
        "SECONDS",
        "Interval at which answers appear. It is fixed, because the time of counting could reveal something "
        "about records.",
        "2",
    )
    connections: str = option("N", "Most open connections.", "512")
    header_timeout: str = option("SECONDS", "Timeout for the first request of a connection.", "10")
    rate: str = option("N", "Rate limit: requests of one person in a minute.", "1200")


@dataclass(frozen=True)
class PersonOptions:
    """Options for a person's account: its role, identity provider and password."""

    name: str = options.argument("NAME", "What the person signs in with.")
    role: str | None = options.optional("ROLE", "operator, auditor, or steward; analysts are admitted to projects.")
    dataset: str | None = options.optional("NAME", "The dataset of a steward.")
    subject: str | None = options.optional("TEXT", "What --issuer calls the person; empty: nothing any more.")
    issuer: str | None = options.optional("URL", "Whose --subject it is: as in serve --oidc.")
    new_password: bool = options.flag("--new-password", "Give the account a new password; its sessions and tokens end.")


@dataclass(frozen=True)
class DatasetOptions:
    """Options for a dataset's name and public metadata."""

    name: str = option("NAME", "Name of the dataset.")
    schema: str = option("FILE", "A JSON list of its columns: their ranges, or their categories. Public.")
    description: str = option("TEXT", "What it is, in public.", "")
    relation: str = option("WORD", "To the version before: first, same-people, or other-people.", "first")


@dataclass(frozen=True)
class PrivacyOptions:
    """Options for the privacy guarantee of a dataset, its budget, and its public number of units."""

    promise: options.GuaranteeOptions
    cap: options.LossOptions
    units: options.UnitCountOptions


@dataclass(frozen=True)
class ProjectOptions:
    """Options for a project and its members."""

    name: str = options.argument("NAME", "What the project is called.")
    dataset: str | None = options.optional("NAME", "Dataset that a new project asks questions of.")
    admit: str = option("NAME,...", "Whom to let in, with commas between them.", "")


@dataclass(frozen=True)
class SyntheticTableOptions:
    """Options for a synthetic table that is shown to everybody who sees the dataset, and its privacy statement."""

    file: str = options.argument("FILE", "A CSV or Parquet file with all columns of the schema.")
    dataset: str = option("NAME", "Dataset that the synthetic table imitates.")
    statement: str = option("TEXT", "How it was made, and how private it is: stands on pages.")
    despite_equal_rows: bool = options.flag(
        "--despite-equal-rows", "Propose it although many of its rows are rows of the confidential table."
    )


@dataclass(frozen=True)
class AllowanceOptions:
    """Options for the project or analyst of an allowance."""

    project: str = option("NAME", "The project.")
    analyst: str | None = options.optional(
        "NAME", "Analyst of the project. Without it, the allowance is of the whole project."
    )
    may_exceed: bool = options.flag(
        "--may-exceed", "Allow the allowances of a dataset or project to exceed its limit in sum."
    )


def serve(store: StoreOption, listening: ListenOptions, authority: IssuerOptions, watching: MonitoringOptions) -> None:
    """Run a verification server: analysts ask questions about confidential tables through it, under budgets.

    It runs until it is stopped. It prints one line when it listens, and one for each of its errors.

    Example: dpcurves serve --store sqlite:///server.db --listen 127.0.0.1:8443 --tls cert.pem,key.pem
    """
    require_extra()
    from dpcurves.cli.one_table import QUESTIONS
    from dpcurves_parties.serving.identity import CertificatePair
    from dpcurves_parties.serving.server import Address, Limits

    from ..launch import VerificationServer

    require_lasting(store.store)
    address, (certificate, key) = Address.parse(listening.listen), options.parse_certificate_and_key(listening.tls)
    if CertificatePair.write_if_missing(address.host, certificate, key):
        print_to_console(
            make_console(),
            f"written: {certificate} (public: programs trust it with --ca), and its key, which is secret",
        )
    server = VerificationServer(
        store.store, certificate, key, options.parse_integer("workers", listening.workers),
        _parse_seconds("every", listening.every),
        Limits(
            options.parse_integer("connections", listening.connections),
            options.parse_integer("header_timeout", listening.header_timeout),
        ),
        options.parse_integer("rate", listening.rate), build_forms(QUESTIONS), authority.open_issuer(),
        watching.create_monitoring(),
    )  # fmt: skip
    console = make_console()
    server.serve(
        address, lambda: print_to_console(console, f"the verification server listens at https://{listening.listen}")
    )


def person(person: PersonOptions, store: StoreOption) -> None:
    """Make an account, or give an existing one a role or a new password.

    Passwords are read from standard input, one line. Stewards and auditors are named here alone. With --subject a new
    account has no password: its person signs in with the issuer.

    Example: dpcurves server person ann --store sqlite:///server.db
    """
    gate = store.open_services()
    if (person.subject is None) != (person.issuer is None):
        raise Misuse("subject", "--subject and --issuer belong together: give both, or neither")
    if all(member.name != person.name for member in gate.people.all(MACHINE)):
        gate.people.add(MACHINE, person.name, token_urlsafe(32) if person.subject else read_secret("password"))
        print_to_console(make_console(), f"made: {person.name}")
    elif person.new_password:
        gate.people.set_password(MACHINE, person.name, read_secret("password"))
        print_to_console(make_console(), f"{person.name} has a new password")
    if person.subject is not None and person.issuer is not None:
        gate.people.set_subject(MACHINE, person.name, person.issuer, person.subject)
        print_to_console(make_console(), f"{person.name} is {person.subject or 'nobody'} to {person.issuer}")
    if person.role is not None:
        role = options.parse_choice("role", person.role, {role.value: role for role in Role})
        gate.people.give_role(MACHINE, person.name, role, person.dataset or "")
        print_to_console(
            make_console(), f"{person.name} is {role.value}{f' of {person.dataset}' if person.dataset else ''}"
        )


def dataset(
    source: options.SourceOptions, dataset: DatasetOptions, protected: PrivacyOptions, store: StoreOption
) -> None:
    """Register a dataset, or its next version. The schema is public; under replace-one the units are counted once.

    Example: dpcurves server dataset flights.parquet --name flights --schema schema.json --epsilon 3
    --adjacency add-remove --store sqlite:///server.db
    """
    gate = store.open_services()
    from ..datasets import Relation
    from ..datasets import Source as Place

    relations = (Relation.FIRST, Relation.SAME_PEOPLE, Relation.OTHER_PEOPLE)
    relation = options.parse_choice(
        "relation", dataset.relation, {member.name.lower().replace("_", "-"): member for member in relations}
    )
    data = str(Path(source.data).resolve()) if source.is_file else source.data
    location = Place(data, source.table or "", source.delimiter)
    account = _choose_account(gate, relation, dataset.name, protected)
    columns = _read_schema(dataset.schema)
    location.require_schema(account.unit, columns)  # before the units are counted
    stored = gate.datasets.add(
        MACHINE, account, location, columns, name=dataset.name, relation=relation,
        units=_count_units(account, location, protected.units), description=dataset.description,
    )  # fmt: skip
    print_to_console(
        make_console(), f"registered: {stored.name}, version {stored.version}, {len(stored.columns)} columns"
    )


def synthetic(table: SyntheticTableOptions, store: StoreOption) -> None:
    """Propose a synthetic table for the current version of a dataset; a steward or an auditor confirms it on its page.

    Then analysts may download it, and compare with it. A copy of the registered table is refused.

    Example: dpcurves server synthetic synthetic.csv --dataset flights --statement "epsilon 1, by a marginal model"
    --store sqlite:///server.db
    """
    gate = store.open_services()
    dataset = gate.datasets.get(MACHINE, table.dataset)
    try:
        octets = Path(table.file).read_bytes()
    except OSError:
        raise Misuse("synthetic", f"{table.file!r} cannot be read; give the path of a CSV or Parquet file") from None
    gate.synthetic.propose_table(MACHINE, dataset, octets, table.statement, despite_equal_rows=table.despite_equal_rows)
    print_to_console(
        make_console(),
        f"proposed for {dataset.name}, version {dataset.version}: {table.file}; a steward or an auditor confirms it",
    )


def project(project: ProjectOptions, store: StoreOption) -> None:
    """Make a project of a dataset, or admit people to an existing one.

    Example: dpcurves server project delays --dataset flights --admit ann,bob --store sqlite:///server.db
    """
    gate = store.open_services()
    if project.dataset is not None:
        gate.projects.make(MACHINE, project.name, project.dataset)
    for name in filter(None, project.admit.split(",")):
        gate.projects.add_member(MACHINE, project.name, name)
    stored = gate.projects.get(MACHINE, project.name)
    print_to_console(make_console(), f"{stored.name} asks {stored.dataset}: {', '.join(stored.people) or 'nobody yet'}")


def allowance(whose: AllowanceOptions, most: options.LossOptions, store: StoreOption) -> None:
    """Set the allowance of a project within its dataset's cap, or of one of its analysts.

    Example: dpcurves server allowance --project delays --analyst ann --epsilon 1 --store sqlite:///server.db
    """
    gate = store.open_services()
    from dpcurves.ledger import AllowanceRule

    rule = AllowanceRule.MAY_EXCEED if whose.may_exceed else AllowanceRule.WITHIN
    gate.projects.set_allowance(MACHINE, whose.project, most.loss(), whose.analyst, rule)
    print_to_console(make_console(), f"set: {whose.analyst or whose.project} may spend {most.loss()}")


def _parse_seconds(name: str, text: str) -> float:
    """Return a number of seconds, above 0 and at most 3600, that an option states.

    Args:
        name: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text is not one number above 0 and at most 3600.
    """
    numbers = options.parse_numbers(name, text)
    if len(numbers) != 1 or not 0 < numbers[0] <= 3600:
        raise Misuse(name, f"must be a number of seconds above 0 and at most 3600, as in 30, got {text!r}")
    return numbers[0]


def _choose_account(services: Services, relation: Relation, name: str, protected: PrivacyOptions) -> Account:
    """Return the account to charge: the previous version's account if the people are the same, else a new account.

    Args:
        services: Services of the server, which know earlier versions.
        relation: How the people of the version relate to the people of the previous version.
        name: Name of the data set.
        protected: Options that state the guarantee and the cap of a new account.
    """
    from dpcurves.ledger import Account

    earlier = None if relation.name == "FIRST" else services.datasets.get(MACHINE, name)
    if earlier is not None and relation.name == "SAME_PEOPLE":
        return earlier.account
    account_name = name if earlier is None else f"{name} {earlier.version + 1}"
    unit = protected.promise.privacy_unit(bound_required=False)
    return Account(account_name, protected.promise.neighbours(), unit, protected.cap.loss())


def _count_units(account: Account, source: Place, units: options.UnitCountOptions) -> int | None:
    """Return the public number of units, as declared or counted now, which opens the records.

    Args:
        account: Account, whose unit and adjacency decide.
        source: Where the records are.
        units: Options with the declared number.

    Returns:
        The number; None: it is private.
    """
    declared_count = units.unit_count(account.neighbours)
    if declared_count is not None or not account.neighbours.has_public_units:
        return declared_count
    return source.count_units(account.unit)


def read_secret(secret: str) -> str:
    """Return a secret typed without echo, or the first line of standard input."""
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass(f"{secret}: ")
    return sys.stdin.readline().rstrip("\n")


def _read_schema(schema: str) -> tuple[Declared, ...]:
    """Return the declared columns of a data set from a JSON file.

    Args:
        schema: Path of the file.

    Raises:
        Misuse: the file cannot be read.
    """
    from ..declared_columns import columns_from_json

    try:
        stored = json.loads(Path(schema).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise Misuse("schema", f"{schema!r} cannot be read; give a JSON file of declared columns") from None
    return columns_from_json(stored)


SERVE_COMMANDS: MappingProxyType[str, options.Command] = MappingProxyType({"serve": serve})
"""The command `dpcurves serve`, by its name."""
SERVER_STORE_COMMANDS: MappingProxyType[str, options.Command] = MappingProxyType(
    {"person": person, "dataset": dataset, "synthetic": synthetic, "project": project, "allowance": allowance}
)
"""Commands of the group `dpcurves server`, by name: an operator's changes to the server's database."""
