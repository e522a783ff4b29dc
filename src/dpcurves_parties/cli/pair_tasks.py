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
    from ..pairs.attendance import MeetingProgress, Participant
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

    servers: str = option("FILE,FILE", "Files server.json of party 0, party 1; with people in pairs, one file.")
    out: str = option("FILE", "The task document: a new file.")
    tickets: str = option("FOLDER", "A folder for the tickets of all who take part.")
    owners: str = option("N", "How many owners there are; with --pairs, how many people.")
    reports_per_owner: str | None = optional(
        "K", "How many reports one owner may send at most; of pairs, 1 if not said."
    )
    analysts: str = option("N", "How many analysts there are.", "1")
    name: str = option("NAME", "A name for people to read.", "task")
    check: str = option(
        "WHOM",
        "owners: servers drop reports that count more than once; answers: servers prove their halves; both"
        " with a comma between them; nobody: neither is checked.",
        "nobody",
    )
    enrol: bool = flag("--enrol", "Tickets of owners are invitations: each owner makes a token of its own.")
    least: str = option("SHARE", "With --check owners: the share of the reports that have to pass.", "0.5")

    def parse_check(self) -> Owners:
        """Choice of whether servers check owners' reports."""
        from ..shares.function_shares import Owners

        checked, believed = Owners.CHECKED, Owners.UNCHECKED
        choices = {"owners": checked, "answers": believed, "owners,answers": checked, "nobody": believed}
        return parse_choice("check", self.check, choices)

    def create_proof_keys(self) -> ProofKeys | None:
        """Keys for proofs of answers, if servers have to prove them."""
        from ..shares.answer_proofs import ProofKeys

        return ProofKeys.generate(parse_integer("analysts", self.analysts)) if "answers" in self.check else None

    def parse_least_fraction(self) -> Fraction:
        """The share of reports that have to pass the check. Raises `Misuse`: it is none."""
        from fractions import Fraction

        try:
            return Fraction(self.least)
        except (ValueError, ZeroDivisionError):
            raise Misuse("least", f"a share from 0 to 1 is needed, got {self.least!r}") from None

    def read_servers(self, count: int) -> tuple[Server, ...]:
        """Public descriptions of the servers, read from their files.

        Raises:
            Misuse: the number of files is not `count`.
        """
        from ..serving.identity import read_server

        files = self.servers.split(",")
        if len(files) != count:
            one, two = (
                "one file is needed, as in a0/server.json",
                "two files with a comma between them are needed, as in",
            )
            raise Misuse("servers", one if count == 1 else f"{two} a0/server.json,a1/server.json")
        return tuple(read_server(Path(file)) for file in files)

    def create_task(self, draft: Draft, min_owners: int = 1, keys: ProofKeys | None = None) -> Draft:
        """Write the document of a task, and a ticket for each who takes part: at least so many owners."""
        from ..serving.task_document import Role, create_task

        owners, analysts = parse_integer("owners", self.owners, min_owners), parse_integer("analysts", self.analysts)
        numbers = {Role.OWNER: owners, Role.ANALYST: analysts, Role.COORDINATOR: 1}
        proofs = {} if keys is None else keys.to_ticket_secrets(owners)
        return create_task(draft, numbers, Path(self.out), Path(self.tickets), proofs)

    def parse_reports(self) -> int:
        """Most reports that an owner may send. Raises `Misuse`: the number was not given."""
        if self.reports_per_owner is None:
            raise Misuse("reports-per-owner", "say how many reports one owner may send at most; there is no default")
        return parse_integer("reports-per-owner", self.reports_per_owner)


@dataclass(frozen=True)
class Bearer:
    """Options for a ticket (bearer token) and the timeout."""

    ticket: str = option("FILE", "The ticket, from the folder that was made with the task.")
    patience: str = option("SECONDS", "How long to wait for an answer.", "60")

    @property
    def timeout(self) -> float:
        """Timeout in seconds."""
        return float(parse_integer("patience", self.patience))


PAUSE = 0.2
"""Seconds between two polls of the mailbox, at first; each is one and a half times as long, up to some seconds."""
LONGEST_PAUSE = 5.0


@dataclass(frozen=True)
class MeetingOptions:
    """Options for the URL of the relay server, and for the time to wait for partners."""

    relay: str | None = optional(
        "URL", "Of people in pairs: where their server is reached; left out: where the task says."
    )
    wait: str = option("SECONDS", "Of people in pairs: how long to wait for partners; then it is called again.", "0")


def take_part(task: PairTask, source: SourceOptions, bearer: Bearer, meeting: MeetingOptions) -> None:
    """Send the messages due in each of a person's pairs, and poll for partners' messages as long as asked for."""
    from dpcurves.noise import Randomness

    from ..pairs.attendance import Participant, RelayClient
    from ..pairs.task import read_values
    from ..serving.identity import parse_host
    from ..serving.task_document import Role, Ticket

    (values,) = read_values(task, source.records(), source.delimiter).tolist()
    if meeting.relay is not None:
        parse_host(meeting.relay)
    patience, ticket = parse_integer("wait", meeting.wait, least=0), Path(bearer.ticket)
    post = RelayClient.connect(task, Ticket.load(ticket, Role.OWNER), meeting.relay or "", bearer.timeout)
    try:
        device = ticket.with_name(f"{ticket.name}.device")
        attendance = Participant.enter_task(post, Randomness.from_system(), device, print_to_stderr)
        with show_spinner("waiting for partners"):
            reached = _poll_meetings(attendance, values, patience)
    finally:
        post.close()
    _print_progress(task, attendance, reached)


def _poll_meetings(attendance: Participant, values: Sequence[int], patience: int) -> MeetingProgress:
    """Progress of a person after at most `patience` seconds, or as soon as all pairs are done."""
    from time import monotonic, sleep

    end, pause = monotonic() + patience, PAUSE
    while True:
        reached = attendance.advance_meetings(values)
        if reached.is_over or monotonic() + pause > end:
            return reached
        sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


def _print_progress(task: PairTask, attendance: Participant, reached: MeetingProgress) -> None:
    from dpcurves.privacy import format_loss

    spent = (
        attendance.device.compute_spent_loss(task.loss.epsilon / task.pairing.pairs_per_person)
        if task.loss.epsilon
        else 0
    )
    said = f"spent so far: epsilon {format_loss(spent)} of {format_loss(task.loss.epsilon or 0)}"
    if not reached.pairs_drawn:
        print_to_console(
            make_console(), "entered; pairs are not drawn yet: call it again once the task is closed", said
        )
        return
    counts = f"pairs: {reached.completed_count} done, {reached.waiting_count} waiting for the partner, {reached.dropped_count} dropped"
    print_to_console(make_console(), counts, *(["call it again later"] if reached.waiting_count else []), said)


def serve(server: RelayServer, listen: str | None) -> None:
    """Run the relay server of people in pairs until it is stopped."""
    from ..serving.server import Address

    place = listen or server.tasks[0].servers[0].url.removeprefix("https://").rstrip("/")
    names, console = ", ".join(task.name for task in server.tasks), make_console()
    server.serve(Address.parse(place), lambda: print_to_console(console, f"server of {names} listens at {place}"))


def close(task: PairTask, bearer: Bearer) -> None:
    """Close the task: send the server the seed that is stored beside the coordinator's ticket."""
    from ..pairs import read_seed
    from ..pairs.attendance import reveal_seed
    from ..serving.task_document import Role, Ticket

    ticket = Ticket.load(bearer.ticket, Role.COORDINATOR)
    entered = reveal_seed(task, ticket, read_seed(Path(bearer.ticket), task), bearer.timeout)
    print_to_console(make_console(), f"closed: {entered} of {task.people} people have entered, and pairs are drawn")


EXTRA = "pairs of people need more packages; install dpcurves[servers,pairs]"
require_extra = partial(require_packages, "pairs", EXTRA, "rbcl", "numba")
"""Refuse if the optional packages of the extras ``servers`` and ``pairs`` are missing."""


@dataclass(frozen=True)
class PairOptions:
    """Options of a task of pairs, in the place of those for counts."""

    pairs: str | None = optional("P", "Ask pairs of people: in how many a person is, at most.")
    kernel: str | None = optional("WORD", "With --pairs: gini, kendall, auc or collision.")
    columns: str | None = optional("A,B", "With --pairs: what the kernel reads of a person, in its order.")
    bits: str | None = optional("B,B", "With --pairs: bits of each column's whole numbers, in their order.")
    trust: str | None = optional("WHOM", "With --pairs: people (by encrypted letters) or two-servers (from shares).")
    pairing: str | None = optional("HOW", "With --pairs: permutations (the default), without-repetition or own-choice.")
    noise: str | None = optional(
        "WHERE", "With two servers: sum (the default), one noise on the sum, or each, noise in each answer."
    )

    def parse_trust(self) -> Trust:
        """Trust model: people in pairs, or two servers. Raises `Misuse`: it was not given, or is another word."""
        from ..pairs import Trust

        if self.trust is None:
            raise Misuse("trust", "say with --trust who works it out: people or two-servers; there is no default")
        return parse_choice("trust", self.trust, {each.value: each for each in Trust})

    def parse_columns(self) -> tuple[tuple[str, int], ...]:
        """Columns that the kernel reads, with the number of bits of each.

        Raises:
            Misuse: columns or bits are missing, or their numbers differ.
        """
        if self.columns is None or self.bits is None:
            raise Misuse("columns" if self.columns is None else "bits", "give --columns and --bits, as many of both")
        names, sizes = self.columns.split(","), [parse_integer("bits", each) for each in self.bits.split(",")]
        if len(names) != len(sizes) or not all(names):
            raise Misuse("bits", f"as many are needed as --columns, {len(names)}, got {len(sizes)}")
        return tuple(zip(names, sizes, strict=True))

    def create_draft(self, price: LossOptions, parties: Parties, commitment: str) -> PairTask:
        """The task before its tickets are made.

        Raises:
            Misuse: a needed option is missing, or has another word than those allowed.
        """
        from ..pairs import PAIRINGS, PairTask, Trust
        from ..pairs.mechanisms import NoisePlacement

        trust, noises = self.parse_trust(), {"sum": NoisePlacement.ON_SUM, "each": NoisePlacement.EACH}
        if self.kernel is None:
            raise Misuse("kernel", "say with --kernel what the mean is taken of")
        usual = "each" if trust is Trust.PEOPLE else "sum"
        return PairTask(
            parties.name, self.kernel, self.parse_columns(),
            parse_choice("pairing", self.pairing or "permutations", PAIRINGS)(parse_integer("pairs", self.pairs or "")),
            price.loss(), trust, parse_choice("noise", self.noise or usual, noises), commitment, parties.read_servers(trust.servers),
            {}, parse_integer("reports-per-owner", parties.reports_per_owner or "1"),
        )  # fmt: skip


def create_pair_task(pair_options: PairOptions, price: LossOptions, parties: Parties) -> None:
    """Write the task document, the tickets, and the file of the seed, which the coordinator keeps until closing."""
    require_extra()
    from secrets import token_bytes

    from ..pairs.queries import commit_to_seed
    from ..pairs.task import SIZE, statement, write_seed

    if parties.check != "nobody":
        raise Misuse("check", "it belongs to counts: of pairs, nobody checks values")
    if parties.enrol:
        raise Misuse("enrol", "it belongs to counts: people in pairs have the tickets that are made for them")
    seed = token_bytes(SIZE)
    task = parties.create_task(pair_options.create_draft(price, parties, commit_to_seed(seed)), min_owners=2)
    kept = write_seed(Path(parties.tickets) / "coordinator-1", seed)
    written = (
        f"written: {parties.out}, tickets in {parties.tickets}, and the seed of pairs, secret until closing: {kept}"
    )
    print_to_console(make_console(), *statement(task), written)


LEGEND = """\
error: standard deviation of the mean over all pairs, for the population: noise, choice of pairs, and people;
of values for which the kernel varies most, if --zetas says nothing else; *: the least of those asked for"""


@dataclass(frozen=True)
class PairPlanOptions:
    """Options for the kernel of a pair mean, the number of people, and the number of pairs of each."""

    kernel: str = option("WORD", "gini, kendall, auc or collision.")
    people: str = option("N", "How many people there are, in public.")
    pairs: str = option("P,P", "In how many pairs a person is: one number, or several.", "1,2,4")
    bits: str | None = optional("B,B", "Bits of each value, in the kernel's order (16).")
    zetas: str | None = optional("Z1,Z2", "The kernel's variance given one person, and its variance: known in public.")

    def find_kernel(self) -> Kernel:
        """The kernel. Raises `Misuse`: there is no kernel of this name, or it reads another number of columns."""
        from ..pairs.statistics import KERNELS, Unsigned

        if self.kernel not in KERNELS:
            raise Misuse("kernel", f"one of {', '.join(KERNELS)} is needed, got {self.kernel!r}")
        kernel = KERNELS[self.kernel]
        if self.bits is None:
            return kernel
        sizes = [parse_integer("bits", each) for each in self.bits.split(",")]
        if len(sizes) != len(kernel.columns):
            raise Misuse("bits", f"{len(kernel.columns)} are needed, for {', '.join(kernel.columns)}")
        return kernel.with_columns(**{name: Unsigned(size) for name, size in zip(kernel.columns, sizes, strict=True)})

    def parse_zetas(self) -> Zetas | None:
        """Variances of the kernel, if they are known in public: given one person, and in total.

        Raises:
            Misuse: they are not two numbers, the second at least twice the first, which is not negative.
        """
        from ..pairs.statistics import Zetas

        if self.zetas is None:
            return None
        one, both = parse_numbers("zetas", self.zetas) if self.zetas.count(",") == 1 else (1.0, 0.0)
        if not 0 <= 2 * one <= both:
            raise Misuse("zetas", "two numbers are needed, the second at least twice the first, which is not negative")
        return Zetas(one, both)

    def parse_pair_counts(self) -> list[int]:
        """Numbers of pairs of each person, to be compared."""
        return [parse_integer("pairs", each) for each in self.pairs.split(",")]


def plan(pairs: PairPlanOptions, price: LossOptions) -> None:
    """The error of a mean over pairs of people: if people answer in pairs, and if two servers compute it from shares.

    Example: dpcurves plan pairs --kernel auc --people 100000 --pairs 1,2,4 --epsilon 1
    """
    kernel, people, loss = pairs.find_kernel(), parse_integer("people", pairs.people, least=2), price.loss()
    print_to_console(
        make_console(), f"{pairs.kernel} of {people} people in pairs: {loss}, replace-one, protects each person"
    )
    print_to_console(make_console(), _create_plan_table(kernel, people, loss, pairs))


def _create_plan_table(kernel: Kernel, people: int, loss: PrivacyLoss, pairs: PairPlanOptions) -> Table:
    from rich.table import Table

    from ..pairs.statistics import NoisePlacement, best, describe_response, plan

    table, zetas = Table(caption=LEGEND, caption_justify="left"), pairs.parse_zetas()
    for name in ("pairs each", "error", "noise of each pair", "ANDs a pair", "error of one noise on the sum"):
        table.add_column(name, justify="left" if name.startswith("noise") else "right")
    made = {
        noise: [
            plan(kernel, people=people, pairs_per_person=each, loss=loss, noise=noise, zetas=zetas)
            for each in pairs.parse_pair_counts()
        ]
        for noise in NoisePlacement
    }
    least = {noise: best(plans) for noise, plans in made.items()}
    for each, *both in zip(pairs.parse_pair_counts(), *made.values(), strict=True):
        errors = [
            f"{one.error:.4g}{'*' * (one == least[noise])}" for noise, one in zip(NoisePlacement, both, strict=True)
        ]
        name, ands = describe_response(kernel, both[0])
        table.add_row(str(each), errors[0], name, str(ands), errors[1])
    return table


PAIR_PLANS: MappingProxyType[str, Command] = MappingProxyType({"pairs": plan})
