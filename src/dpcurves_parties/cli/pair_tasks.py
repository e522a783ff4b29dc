"""Options for parties of a task; commands of pairs: plans of means (U-statistics), tasks, relay server and devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from dpcurves.cli.options import (
    Command,
    LossOptions,
    SourceOptions,
    flag,
    option,
    optional,
    parse_choice,
    parse_integer,
    parse_numbers,
)
from dpcurves.cli.terminal import (
    Misuse,
    make_console,
    print_to_console,
    print_to_stderr,
    require_packages,
    show_spinner,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.table import Table

    from dpcurves.privacy import PrivacyLoss

    from ..pairs import PairTask, Trust
    from ..pairs.meetings import MeetingProgress, Participant
    from ..pairs.relay_server import RelayServer
    from ..pairs.statistics import Kernel, Zetas
    from ..serving.identity import Server
    from ..serving.task_document import TaskDocument
    from ..shares.answer_proofs import ProofKeys
    from ..shares.function_shares import Owners

# Options for the participants of a task, and for its documents and tickets.
Draft = TypeVar("Draft", bound="TaskDocument")


@dataclass(frozen=True)
class Parties:
    """Options for the servers, owners and analysts of a new task, and for its files."""

    servers: str = option("FILE,FILE", "Files server.json of party 0 and party 1; one file for people in pairs.")
    out: str = option("FILE", "New file for the task document.")
    tickets: str = option("FOLDER", "Folder for the tickets of all participants.")
    owners: str = option("N", "Number of owners; with --pairs, of people.")
    reports_per_owner: str | None = optional("K", "Most reports of one owner; with --pairs, the default is 1.")
    analysts: str = option("N", "Number of analysts.", "1")
    name: str = option("NAME", "Display name.", "task")
    check: str = option(
        "WHOM",
        "owners: servers drop reports that count more than once; answers: servers prove their answer shares;"
        " owners,answers: both; nobody: no checks.",
        "nobody",
    )
    invitations: bool = flag(
        "--invitations", "Tickets of owners are invitations, from which each owner creates a private token."
    )
    min_valid: str = option("SHARE", "With --check owners: fraction of the reports that must pass.", "0.5")

    def parse_check(self) -> Owners:
        """Return `Owners.CHECKED` if --check names owners, so that servers verify each report; else `Owners.UNCHECKED`.
        Raises `Misuse` for another word.
        """
        from ..shares.function_shares import Owners

        checked, unchecked = Owners.CHECKED, Owners.UNCHECKED
        choices = {"owners": checked, "answers": unchecked, "owners,answers": checked, "nobody": unchecked}
        return parse_choice("check", self.check, choices)

    def create_proof_keys(self) -> ProofKeys | None:
        """Return new secret keys, one for each analyst, for proofs of answers; None if --check does not
        name answers.
        """
        from ..shares.answer_proofs import ProofKeys

        return ProofKeys.generate(parse_integer("analysts", self.analysts)) if "answers" in self.check else None

    def parse_min_valid_share(self) -> Fraction:
        """Return the fraction of reports, 0 to 1, that must pass the check, from --min-valid.

        Raises:
            Misuse: the text is no such fraction.
        """
        from fractions import Fraction

        try:
            fraction: Fraction | None = Fraction(self.min_valid)
        except (ValueError, ZeroDivisionError):
            fraction = None
        if fraction is None or not 0 <= fraction <= 1:
            raise Misuse("min-valid", f"must be a fraction from 0 to 1, as in 0.5, got {self.min_valid!r}")
        return fraction

    def read_servers(self, count: int) -> tuple[Server, ...]:
        """Return the URL, certificate and public keys of each server, from the `count` files that --servers names.

        Args:
            count: Number of servers of the task, 1 or 2.

        Returns:
            The servers, in the order typed.

        Raises:
            Misuse: the number of files is not `count`.
        """
        from ..serving.identity import read_server

        files = self.servers.split(",")
        if len(files) != count:
            rule = "one file, as in a0/server.json" if count == 1 else "two files, as in a0/server.json,a1/server.json"
            raise Misuse("servers", f"must be {rule}")
        return tuple(read_server(Path(file)) for file in files)

    def create_task(self, draft: Draft, min_owners: int = 1, keys: ProofKeys | None = None) -> Draft:
        """Write the document of a task, and a ticket (secret credential) for each participant.

        Args:
            draft: The task without its participants.
            min_owners: Least number of owners that --owners must state.
            keys: Keys of proofs, which become part of tickets; None: answers are not proved.

        Returns:
            The task with the public keys of its participants.
        """
        from ..serving.task_document import Role, create_task

        owners = parse_integer("owners", self.owners, min_owners)
        analysts = parse_integer("analysts", self.analysts)
        numbers = {Role.OWNER: owners, Role.ANALYST: analysts, Role.COORDINATOR: 1}
        proofs = {} if keys is None else keys.to_ticket_secrets(owners)
        return create_task(draft, numbers, Path(self.out), Path(self.tickets), proofs)

    def parse_reports(self) -> int:
        """Return the most reports that one owner may send, from --reports-per-owner.

        Raises:
            Misuse: the option is missing.
        """
        if self.reports_per_owner is None:
            raise Misuse("reports-per-owner", "give the most reports of one owner; there is no default")
        return parse_integer("reports-per-owner", self.reports_per_owner)


@dataclass(frozen=True)
class Bearer:
    """Options for a ticket (bearer token) and the timeout."""

    ticket: str = option("FILE", "The ticket, from the folder of the task's tickets.")
    timeout: str = option("SECONDS", "Timeout for an answer.", "60")

    @property
    def timeout_seconds(self) -> float:
        """Seconds to wait for each answer of a server, from --timeout.

        Raises:
            Misuse: --timeout is not a positive integer.
        """
        return float(parse_integer("timeout", self.timeout))


@dataclass(frozen=True)
class MeetingOptions:
    """Options for the URL of the relay server, and for the time to wait for partners."""

    relay: str | None = optional("URL", "For people in pairs: URL of the relay server; default: the URL in the task.")
    wait: str = option(
        "SECONDS", "For people in pairs: how long to wait for partners before the command must be called again.", "0"
    )


def take_part(task: PairTask, source: SourceOptions, bearer: Bearer, meeting: MeetingOptions) -> None:
    """Send all due messages of a person's pairs, and poll for partners' messages up to the given time.

    Args:
        task: The pair task.
        source: Options that name the file with the person's own values, a single row.
        bearer: Options that name the ticket and the timeout.
        meeting: Options of the relay and of the time to poll.
    """
    from dpcurves.noise import Randomness

    from ..pairs.meetings import Participant, RelayClient
    from ..pairs.task import read_values
    from ..serving.identity import parse_host
    from ..serving.task_document import Role, Ticket

    (values,) = read_values(task, source.records(), source.delimiter).tolist()
    if meeting.relay is not None:
        parse_host(meeting.relay)
    wait_seconds = parse_integer("wait", meeting.wait, minimum=0)
    ticket = Path(bearer.ticket)
    client = RelayClient.connect(task, Ticket.load(ticket, Role.OWNER), meeting.relay or "", bearer.timeout_seconds)
    try:
        device = ticket.with_name(f"{ticket.name}.device")
        participant = Participant.enter_task(client, Randomness.from_system(), device, print_to_stderr)
        with show_spinner("waiting for partners"):
            progress = _poll_meetings(participant, values, wait_seconds)
    finally:
        client.close()
    _print_progress(task, participant, progress)


def _poll_meetings(participant: Participant, values: Sequence[int], wait_seconds: int) -> MeetingProgress:
    """Poll the relay server until all of a person's pairs are done, or for at most `wait_seconds`; return the progress.

    Args:
        participant: The person who takes part.
        values: SECRET. The person's values, in the order of the kernel's columns.
        wait_seconds: Seconds to wait at most.
    """
    from time import monotonic, sleep

    # 0.2: seconds before the second poll of the mailbox; each pause is 1.5 times the one before, up to 5
    end = monotonic() + wait_seconds
    pause = 0.2
    while True:
        progress = participant.advance_meetings(values)
        if progress.is_over or monotonic() + pause > end:
            return progress
        sleep(pause)
        # 5.0: seconds between two polls of the mailbox at most
        pause = min(1.5 * pause, 5.0)


def _print_progress(task: PairTask, participant: Participant, progress: MeetingProgress) -> None:
    """Print how many pairs are done, wait or are dropped, and the loss spent so far.

    Args:
        task: The pair task, with the loss of a person.
        participant: The person, whose device knows the loss spent so far.
        progress: Numbers of pairs in each state.
    """
    from dpcurves.privacy import format_loss

    spent: Fraction | int = 0
    if task.loss.epsilon:
        spent = participant.device.compute_spent_loss(task.loss.epsilon / task.pairing.pairs_per_person)
    spent_text = f"spent so far: epsilon {format_loss(spent)} of {format_loss(task.loss.epsilon or 0)}"
    if not progress.pairs_drawn:
        print_to_console(
            make_console(), "entered; pairs are not drawn yet: call again once the task is closed", spent_text
        )
        return
    counts = (
        f"pairs: {progress.completed_count} done, {progress.waiting_count} waiting for the partner,"
        f" {progress.dropped_count} dropped"
    )
    print_to_console(make_console(), counts, *(["call again later"] if progress.waiting_count else []), spent_text)


def serve(server: RelayServer, listen: str | None) -> None:
    """Run the relay server of people in pairs until it is stopped.

    Args:
        server: The relay, with its tasks.
        listen: Address to listen at; None: that of the first task's server.
    """
    from ..serving.server import Address

    address = listen or server.tasks[0].servers[0].url.removeprefix("https://").rstrip("/")
    names = ", ".join(task.name for task in server.tasks)
    console = make_console()
    server.serve(Address.parse(address), lambda: print_to_console(console, f"server of {names} listens at {address}"))


def close(task: PairTask, bearer: Bearer) -> None:
    """Close the task: send the server the seed that is stored beside the coordinator's ticket.

    Args:
        bearer: Options with the coordinator's ticket and the timeout.
    """
    from ..pairs import read_seed
    from ..pairs.meetings import reveal_seed
    from ..serving.task_document import Role, Ticket

    ticket = Ticket.load(bearer.ticket, Role.COORDINATOR)
    entered = reveal_seed(task, ticket, read_seed(Path(bearer.ticket), task), bearer.timeout_seconds)
    print_to_console(make_console(), f"closed: {entered} of {task.people} people have entered, and pairs are drawn")


MISSING_PACKAGES_MESSAGE = "pairs of people need more packages; install dpcurves[servers,pairs]"
"""Error message if a command for pairs is used without the packages of these extras."""
require_extra = partial(require_packages, "pairs", MISSING_PACKAGES_MESSAGE, "rbcl", "numba")
"""Refuse if the optional packages of the extras ``servers`` and ``pairs`` are missing."""


@dataclass(frozen=True)
class PairOptions:
    """Options of a task of pairs, instead of the options for counts."""

    pairs: str | None = optional("P", "Ask pairs of people: most pairs of one person.")
    kernel: str | None = optional("WORD", "With --pairs: gini, kendall, auc or collision.")
    columns: str | None = optional("A,B", "With --pairs: columns that the kernel reads, in its order.")
    bits: str | None = optional("B,B", "With --pairs: bits of each column's integers, in order.")
    trust: str | None = optional(
        "WHOM", "With --pairs: people (by encrypted messages) or two-servers (from secret shares)."
    )
    pairing: str | None = optional("HOW", "With --pairs: permutations (the default), without-repetition or own-choice.")
    noise: str | None = optional(
        "WHERE", "With two servers: sum (the default), one noise on the sum, or each, noise in each answer."
    )

    def parse_trust(self) -> Trust:
        """Return the trust model that --trust names: people in pairs, or two servers.

        Raises:
            Misuse: the option is missing or names no model.
        """
        from ..pairs import Trust

        if self.trust is None:
            raise Misuse(
                "trust", "give the parties that compute the answer, people or two-servers; there is no default"
            )
        return parse_choice("trust", self.trust, {trust.value: trust for trust in Trust})

    def parse_columns(self) -> tuple[tuple[str, int], ...]:
        """Return the name of each column that the kernel reads, with the bits of its unsigned integers, in the order
        typed.

        Raises:
            Misuse: columns or bits are missing, or their numbers differ.
        """
        if self.columns is None or self.bits is None:
            raise Misuse(
                "columns" if self.columns is None else "bits",
                "give --columns and --bits, with one width for each column",
            )
        names = self.columns.split(",")
        sizes = [parse_integer("bits", text) for text in self.bits.split(",")]
        if len(names) != len(sizes) or not all(names):
            raise Misuse(
                "bits", f"must be {len(names)} widths, one for each of the --columns, as in 16,8, got {len(sizes)}"
            )
        return tuple(zip(names, sizes, strict=True))

    def create_draft(self, price: LossOptions, parties: Parties, commitment: str, where: str) -> PairTask:
        """Return the task of pairs without tokens, which tickets add later.

        Args:
            price: Option of the privacy loss.
            parties: Options of the participants.
            commitment: Hash of the seed of the pairs.
            where: Condition that people must meet; empty: none.

        Raises:
            Misuse: a required option is missing or invalid.
        """
        from ..pairs import KERNELS, PAIRINGS, PairTask, Trust
        from ..pairs.mechanisms import NoisePlacement

        trust = self.parse_trust()
        noises = {"sum": NoisePlacement.ON_SUM, "each": NoisePlacement.EACH}
        if self.kernel is None:
            raise Misuse("kernel", f"must be given; it is one of {', '.join(KERNELS)}")
        default_noise = "each" if trust is Trust.PEOPLE else "sum"
        return PairTask(
            parties.name, self.kernel, self.parse_columns(),
            parse_choice("pairing", self.pairing or "permutations", PAIRINGS)(parse_integer("pairs", self.pairs or "")),
            price.loss(), trust, parse_choice("noise", self.noise or default_noise, noises), commitment,
            parties.read_servers(trust.servers), {},
            parse_integer("reports-per-owner", parties.reports_per_owner or "1"), where,
        )  # fmt: skip


def create_pair_task(pair_options: PairOptions, price: LossOptions, parties: Parties, where: str) -> None:
    """Write the task document, the tickets, and the seed file, and print what was written.

    The seed decides which people form pairs; the coordinator keeps it secret until the task is closed.

    Args:
        pair_options: Kernel, trust model and columns of the task.
        price: Privacy loss.
        parties: Participants and output paths.
        where: Filter of the records; empty: none.

    Raises:
        Misuse: an option was given that applies to counts only.
    """
    require_extra()
    from secrets import token_bytes

    from ..pairs.queries import commit_to_seed
    from ..pairs.task import COMMITTED_SEED_SIZE, describe_guarantee, write_seed

    if parties.check != "nobody":
        raise Misuse("check", "applies to counts; leave it out, because values of pairs cannot be checked")
    if parties.invitations:
        raise Misuse("invitations", "applies to counts; leave it out, because tickets of pairs are made in advance")
    seed = token_bytes(COMMITTED_SEED_SIZE)
    draft = pair_options.create_draft(price, parties, commit_to_seed(seed), where)
    task = parties.create_task(draft, min_owners=2)
    seed_file = write_seed(Path(parties.tickets) / "coordinator-1", seed)
    files = f"written: {parties.out}, tickets in {parties.tickets}, and the seed of pairs, secret until closing:"
    print_to_console(make_console(), *describe_guarantee(task), f"{files} {seed_file}")


LEGEND = """\
error: standard deviation of the mean over all pairs, for the population: noise, choice of pairs, and people;
for the largest possible variance of the kernel, unless --zetas is given; *: the least error in the table"""
"""Caption below the table of dpcurves plan pairs."""


@dataclass(frozen=True)
class PairPlanOptions:
    """Options for the kernel of a pair mean, the number of people, and the number of pairs of each."""

    kernel: str = option("WORD", "gini, kendall, auc or collision.")
    people: str = option("N", "Public number of people.")
    pairs: str = option("P,P", "Pairs of each person: one or several numbers.", "1,2,4")
    bits: str | None = optional("B,B", "Bits of each value, in the kernel's order; default: 16.")
    zetas: str | None = optional("Z1,Z2", "Public variance components of the kernel: given one person, and in total.")

    def find_kernel(self) -> Kernel:
        """Return the function of two records (kernel) that --kernel names, with the bits of --bits for its columns.

        Raises:
            Misuse: the name is unknown, or --bits has another number of columns.
        """
        from ..pairs.statistics import KERNELS, Unsigned

        if self.kernel not in KERNELS:
            raise Misuse("kernel", f"must be one of {', '.join(KERNELS)}, got {self.kernel!r}")
        kernel = KERNELS[self.kernel]
        if self.bits is None:
            return kernel
        sizes = [parse_integer("bits", text) for text in self.bits.split(",")]
        if len(sizes) != len(kernel.columns):
            raise Misuse(
                "bits",
                f"must be {len(kernel.columns)} numbers of bits with commas between them, as in 16,1, one for each "
                f"of {', '.join(kernel.columns)}",
            )
        return kernel.with_columns(**{name: Unsigned(size) for name, size in zip(kernel.columns, sizes, strict=True)})

    def parse_zetas(self) -> Zetas | None:
        """Return the public variance components of the kernel, if given: given one person, and in total.

        Raises:
            Misuse: the option does not hold two numbers of which the first is not negative and the second is at least
                twice the first.
        """
        from ..pairs.statistics import Zetas

        if self.zetas is None:
            return None
        zeta1, zeta2 = parse_numbers("zetas", self.zetas) if self.zetas.count(",") == 1 else (1.0, 0.0)
        if not 0 <= 2 * zeta1 <= zeta2:
            raise Misuse(
                "zetas", "must be two numbers, the first at least 0, the second at least twice the first, as in 0.1,0.3"
            )
        return Zetas(zeta1, zeta2)

    def parse_pair_counts(self) -> list[int]:
        """Return the numbers of pairs of each person to compare, in the order typed.

        Raises:
            Misuse: a number is not a positive integer.
        """
        return [parse_integer("pairs", text) for text in self.pairs.split(",")]


def plan(pairs: PairPlanOptions, price: LossOptions) -> None:
    """Compare the errors of a mean over pairs of people: if people answer in pairs, and if two servers compute the
    mean.

    Example: dpcurves plan pairs --kernel auc --people 100000 --pairs 1,2,4 --epsilon 1
    """
    kernel = pairs.find_kernel()
    people = parse_integer("people", pairs.people, minimum=2)
    loss = price.loss()
    print_to_console(
        make_console(), f"{pairs.kernel} of {people} people in pairs: {loss}, replace-one, protects each person"
    )
    print_to_console(make_console(), _create_plan_table(kernel, people, loss, pairs))


def _create_plan_table(kernel: Kernel, people: int, loss: PrivacyLoss, pairs: PairPlanOptions) -> Table:
    """Return the table of errors by pairs of each person, for answers in pairs and for one noise on the sum.

    Args:
        kernel: Function of the values of two people.
        people: Number of people.
        loss: Privacy loss of a person.
        pairs: Options of the numbers of pairs to compare.
    """
    from rich.table import Table

    from ..pairs.statistics import NoisePlacement, best, describe_response, plan

    table = Table(caption=LEGEND, caption_justify="left")
    zetas = pairs.parse_zetas()
    for name in ("pairs each", "error", "noise of each pair", "ANDs a pair", "error of one noise on the sum"):
        table.add_column(name, justify="left" if name.startswith("noise") else "right")
    plans_by_noise = {}
    for noise in NoisePlacement:
        plans_by_noise[noise] = [
            plan(kernel, people=people, pairs_per_person=pair_count, loss=loss, noise=noise, zetas=zetas)
            for pair_count in pairs.parse_pair_counts()
        ]
    least = {noise: best(plans) for noise, plans in plans_by_noise.items()}
    for pair_count, *row_plans in zip(pairs.parse_pair_counts(), *plans_by_noise.values(), strict=True):
        errors = [
            f"{row_plan.error:.4g}{'*' * (row_plan == least[noise])}"
            for noise, row_plan in zip(NoisePlacement, row_plans, strict=True)
        ]
        name, ands = describe_response(kernel, row_plans[0])
        table.add_row(str(pair_count), errors[0], name, str(ands), errors[1])
    return table


PAIR_PLANS: MappingProxyType[str, Command] = MappingProxyType({"pairs": plan})
"""Command dpcurves plan pairs, by name."""
