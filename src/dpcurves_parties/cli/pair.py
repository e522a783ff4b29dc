"""Commands of two servers, owners of records, participants and analysts, and questions that two servers answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcurves.cli import options
from dpcurves.cli.accounts import require_lasting
from dpcurves.cli.ask_file import Terms, deliver_with_notes, suppress_curve_warnings
from dpcurves.cli.options import Command, format_label, option
from dpcurves.cli.output import InputFile, Output, View
from dpcurves.cli.terminal import (
    Misuse,
    make_console,
    print_to_console,
    print_to_stderr,
    show_progress_bar,
    show_spinner,
)

from ..serving.monitoring_options import MonitoringOptions
from .pair_tasks import Bearer, MeetingOptions, take_part
from .pair_tasks import require_extra as require_pairs
from .pair_tasks import serve as serve_people
from .tasks import TaskFile, refuse_options, require_extra

if TYPE_CHECKING:
    from dpcurves.curves import Question
    from dpcurves.curves.pair_mean import UStatistic
    from dpcurves.data import Axis, Categories, Grid

    from ..pairs import PairTask
    from ..serving.monitoring import Monitoring
    from ..serving.server import Limits
    from ..serving.two_servers.report_set import EarlierPolicy
    from ..shares import Task


@dataclass(frozen=True)
class ServerOptions:
    """Options of a server of one or more tasks."""

    party: str = option("0|1", "Number of this server in all of its tasks.")
    task: str = option("FILE,...", "Task documents, separated by commas.")
    identity: str = option("FOLDER", "Folder with this server's keys.")
    store: str = option("URL", "Database of reports and ledger: sqlite:///a0.db, or postgresql+psycopg://...")
    listen: str | None = options.optional("HOST:PORT", "Address to listen at; default: the URL in the task.")
    peer: str = option("URL", "URL of the other server; default: its URL in the task.", "")
    timeout: str = option("SECONDS", "Timeout for answers of the other server.", "60")
    connections: str = option("N", "Most open connections, in addition to the other server's.", "512")
    header_timeout: str = option("SECONDS", "Timeout for the first request of a connection.", "10")
    jobs: str = option("PLACE", "Folder or object store for accepted reports, in jobs of 4096, instead of memory.", "")
    workers: str = option(
        "N|tcp://HOST:PORT", "Workers that evaluate jobs: a number of processes, or a Dask scheduler.", ""
    )

    def parse_party(self) -> int:
        """Return the number of the server that --party names, 0 or 1.

        Raises:
            Misuse: --party is neither 0 nor 1.
        """
        if self.party not in ("0", "1"):
            raise Misuse("party", f"must be 0 or 1, got {self.party!r}")
        return int(self.party)


@dataclass(frozen=True)
class RenamedColumns:
    """Options for the names of the task's columns in the owner's table."""

    column: str | None = options.optional("NAME", "Name of the task's column in DATA, if it differs.")
    label: str | None = options.optional("NAME", "Name of the task's column of labels in DATA, if it differs.")

    def rename_axes(self, task: Task) -> tuple[Axis | Categories, ...]:
        """Return the task's axes under the column names of the owner's table, in which their filters are renamed as
        well.

        Args:
            task: The task.
        """
        from dpcurves.expressions import rename_columns

        matches = self._match_names(task)
        names = {str(axis.column): name for axis, name in matches if name is not None}
        where = rename_columns(task.where, names) if task.where and names else task.where
        return tuple(replace(axis, column=name or str(axis.column), where=where) for axis, name in matches)

    def _match_names(self, task: Task) -> list[tuple[Axis | Categories, str | None]]:
        """Return each axis of the task with the name of its column in the owner's table.

        Args:
            task: The task.

        Returns:
            Pairs of an axis and a name; None if the column has the task's name.

        Raises:
            Misuse: --label is given, and the task has no labels.
        """
        if task.label is None and self.label is not None:
            raise Misuse("label", "must be left out, because the task has no labels; or ask a task with --label")
        *others, last = task.axes
        names = [self.label if task.label is not None and not place else None for place in range(len(others))]
        return [*zip(others, names, strict=True), (last, self.column)]


@dataclass(frozen=True)
class EarlierRecords:
    """Option for records that were sent before with the same ticket: keep or replace."""

    on_conflict: str = option(
        "HOW",
        "Other records sent with this ticket before: keep (refuse these) or replace (while the task is open).",
        "keep",
    )

    def parse_earlier(self) -> EarlierPolicy:
        """Return the policy that --on-conflict names: which records count if others were sent with the same ticket
        before.

        Raises:
            Misuse: the word is neither ``keep`` nor ``replace``.
        """
        from ..serving.two_servers.report_set import EarlierPolicy

        return options.parse_choice(
            "on_conflict", self.on_conflict, {"keep": EarlierPolicy.STAYS, "replace": EarlierPolicy.GIVES_WAY}
        )


def aggregator(running: ServerOptions, watching: MonitoringOptions) -> None:
    """Run one of the two servers of a task, or the relay server of people in pairs, which is party 0.

    It runs until it is stopped. It prints one line when it listens, and one for each error; never a share.

    Example: dpcurves aggregator --party 0 --task task.json --identity a0 --store sqlite:///a0/a0.db
    """
    require_extra()
    from ..serving.identity import Identity
    from ..serving.server import Address, Limits
    from ..serving.two_servers.app import Aggregator
    from ..serving.two_servers.task_types import read_task

    require_lasting(running.store)
    limits = Limits(
        options.parse_integer("connections", running.connections),
        options.parse_integer("header_timeout", running.header_timeout),
    )
    people = [TaskFile(file) for file in running.task.split(",")]
    if any(document.is_of_people for document in people):
        _serve_people(people, running, limits, watching.create_monitoring())
        return
    tasks = [read_task(file) for file in running.task.split(",")]
    party = running.parse_party()
    if running.workers and not running.jobs:
        raise Misuse("workers", "needs --jobs too, a folder or URL that all workers can reach; add it")
    server = Aggregator(
        party, tasks, Identity.load(Path(running.identity)), running.store, running.peer,
        options.parse_integer("timeout", running.timeout), limits, watching.create_monitoring(), running.jobs,
        running.workers,
    )  # fmt: skip
    listen = running.listen or tasks[0].servers[party].url.removeprefix("https://").rstrip("/")
    console = make_console()
    names = ", ".join(task.name for task in tasks)
    server.serve(
        Address.parse(listen), lambda: print_to_console(console, f"party {party} of {names} listens at {listen}")
    )


def _serve_people(
    documents: Sequence[TaskFile], running: ServerOptions, limits: Limits, monitoring: Monitoring
) -> None:
    """Run the relay server of tasks of people in pairs until it is stopped.

    Args:
        documents: Task documents.
        running: Options of the server.
        limits: Limits of connections and headers.
        monitoring: Metrics and log.

    Raises:
        Misuse: --party is not 0, or a task is of another type.
    """
    from ..pairs.relay_server import RelayServer
    from ..serving.identity import Identity

    if running.parse_party() or not all(document.is_of_people for document in documents):
        raise Misuse("party", "must be 0 for the relay server of people in pairs; leave --party out")
    tasks = [document.read_pair_task() for document in documents]
    server = RelayServer(tasks, Identity.load(Path(running.identity)), running.store, limits, monitoring)
    serve_people(server, running.listen)


def contribute(
    source: options.SourceOptions, document: TaskFile, bearer: Bearer, renamed: RenamedColumns, before: EarlierRecords
) -> None:
    """Send the records of a file to both servers, as secret shares.

    The command is idempotent for the same file and ticket: repeat it if it was interrupted. Another file is refused, or
    replaces the first with --on-conflict replace. If a task takes one report per owner, reports go to server 0 only,
    which passes on what it cannot decrypt.

    Example: dpcurves contribute flights.csv --task task.json --ticket tickets/owner-1
    """
    require_extra()
    from ..serving.two_servers.owner import Contribution, enrol_owner, read_owner_ticket
    from ..serving.two_servers.report_set import EarlierPolicy
    from ..shares.analyst import read_record_slots
    from ..shares.dap_uploads import LeaderUpload

    task = document.read_task()
    ticket = Path(bearer.ticket)
    read_owner_ticket(task, ticket)
    slots = read_record_slots(task, source.records(), source.delimiter, renamed.rename_axes(task))
    owner = enrol_owner(task, ticket, bearer.timeout_seconds)
    with show_progress_bar(f"sending reports of {task.name}", len(slots)) as progress:
        contribution = Contribution.from_ticket(task, slots, ticket, before.parse_earlier())
        if task.reports_per_owner == 1 and contribution.earlier_policy is EarlierPolicy.STAYS:
            sent = LeaderUpload(contribution, owner).send(progress, bearer.timeout_seconds)
            summary = f"sent: {sent} report; both servers have their share"
        else:
            receipt = contribution.send(owner, progress, bearer.timeout_seconds)
            summary = f"sent: {receipt.reports} reports, {receipt.new} of them new to the servers"
    print_to_console(make_console(), summary)


SERVER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"aggregator": aggregator, "contribute": contribute})
"""Commands for servers and data owners, by name."""


def pair(
    source: options.SourceOptions, document: TaskFile, bearer: Bearer, meeting: MeetingOptions, before: EarlierRecords
) -> None:
    """Take part in a task of pairs with the values of a file.

    With two servers, each gets a secret share of each value, and nothing more is needed. With people in pairs, the file
    has one row of integers (clipped to the declared bits). Enter before the task is closed, and call the command again
    until all partners have written; messages pass through the relay server, which cannot decrypt them.

    The command is idempotent for the same file and ticket: repeat it if it was interrupted. Another file is refused,
    or, with two servers, replaces the first with --on-conflict replace.

    Example: dpcurves pair mine.csv --task task.json --ticket tickets/owner-1
    """
    require_pairs()
    from ..pairs import Trust

    task = document.read_pair_task()
    if task.trust is Trust.TWO_SERVERS:
        refuse_options("applies to people in pairs; leave it out for a task of two servers", meeting, MeetingOptions())
        _send_shares(task, source, bearer, before)
        return
    refuse_options(
        "applies to two servers; people in pairs cannot replace their values: leave it out", before, EarlierRecords()
    )
    take_part(task, source, bearer, meeting)


def _send_shares(task: PairTask, source: options.SourceOptions, bearer: Bearer, before: EarlierRecords) -> None:
    """Send secret shares of the values in the file to both servers, and print how many people were new to them.

    Args:
        task: The pair task.
        source: Options that name the file of values.
        bearer: Options that name the ticket and the timeout.
        before: What becomes of earlier records of the same owner.
    """
    from ..pairs.task import read_values
    from ..serving.two_servers.owner import Contribution, read_owner_ticket

    ticket = Path(bearer.ticket)
    owner = read_owner_ticket(task, ticket)
    values = read_values(task, source.records(), source.delimiter)
    with show_progress_bar(f"sending shares of {task.name}", len(values)) as progress:
        sent = Contribution.from_ticket(task, values, ticket, before.parse_earlier()).send(
            owner, progress, bearer.timeout_seconds
        )
    print_to_console(make_console(), f"sent: shares of {sent.reports} people, {sent.new} of them new to the servers")


PAIR_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"pair": pair})
"""Command for people who compute in pairs, by name."""


KIND = "pair mean"
"""Value of the field kind in the JSON of an answer about pairs."""
INTERVAL_SCOPES = MappingProxyType({"for_these_records": False, "for_the_population": True})
"""Fields of the JSON answer that hold its two intervals, and whether each covers sampling of people from a population,
too."""


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the JSON output file and the confidence level."""

    json: str | None = options.optional(
        "FILE", "Write the answer as JSON to this file; - writes it to standard output."
    )
    level: str = option("P", "Confidence level of intervals.", "0.95")

    def output(self) -> Output:
        """Return the options as an `Output`, which other commands use."""
        return Output(self.json, level=self.level)


def pairs(document: TaskFile, bearer: Bearer, answer_options: AnswerOptions) -> None:
    """Ask for the mean over pairs of people. Repeated questions get the same answer, at no cost.

    Example: dpcurves ask pairs --task task.json --ticket tickets/analyst-1 --json out.json
    """
    require_pairs()
    from ..pairs.task import ASSUMPTIONS

    task = document.read_pair_task()
    output = answer_options.output()
    output.require_distinct_files(
        InputFile("the task document", Path(document.task)), InputFile("the ticket", Path(bearer.ticket))
    )
    output.require_writable()
    level = output.confidence_level()
    with show_spinner("the servers compute"):
        statistic = _ask_servers(task, bearer)
    screen = output.make_console()
    intervals = {name: statistic.interval(level, population=population) for name, population in INTERVAL_SCOPES.items()}
    written = output.write_json(lambda: _encode_answer(task, statistic, level, intervals))
    if output.json is None:
        print_to_console(
            screen,
            f"{task.kernel_name}: {statistic.value:.4g}, from {statistic.pairs} pairs",
            *(
                f"{low:.4g} to {high:.4g} ({level:.0%}, {name.replace('_', ' ')})"
                for name, (low, high) in intervals.items()
            ),
        )
    print_to_console(
        screen, f"mechanism: {statistic.privacy.mechanism}; {statistic.privacy.loss}", *ASSUMPTIONS[task.trust]
    )
    print_to_console(screen, *(f"written: {name}" for name in written))
    for note in statistic.notes:
        print_to_stderr(note)


def _ask_servers(task: PairTask, bearer: Bearer) -> UStatistic:
    """Ask for the mean of a kernel over pairs: the relay server for a task of people, else both servers.

    Notes on the result raise no warnings here; the command prints them.

    Args:
        task: Task of pairs, whose trust model decides who is asked.
        bearer: Options with the analyst's ticket and the timeout.
    """
    from ..pairs import Trust
    from ..pairs.service import ask_pairs, ask_people
    from ..serving.task_document import Role, Ticket

    ask = ask_people if task.trust is Trust.PEOPLE else ask_pairs
    with suppress_curve_warnings():
        return ask(task, Ticket.load(bearer.ticket, Role.ANALYST), timeout=bearer.timeout_seconds)


def _encode_answer(task: PairTask, statistic: UStatistic, level: float, intervals: dict[str, Any]) -> str:
    """Return the answer as JSON text: value, intervals, privacy statement, assumptions and notes.

    Args:
        task: The task, which names the kernel and the trust model.
        statistic: Released mean over pairs, with its privacy statement.
        level: Confidence level of the intervals.
        intervals: Lower and upper end by name of the interval.
    """
    from ..pairs.task import ASSUMPTIONS

    return json.dumps(
        {
            "kind": KIND, "kernel": task.kernel_name, "task": task.hash, "value": statistic.value,
            "pairs": statistic.pairs, "level": level,
            **{name: list(bounds) for name, bounds in intervals.items()}, "privacy": asdict(statistic.privacy),
            "assumed": list(ASSUMPTIONS[task.trust]), "notes": list(statistic.notes),
        },
        allow_nan=False,
    )  # fmt: skip


ASK_PAIRS: MappingProxyType[str, Command] = MappingProxyType({"pairs": pairs})
"""Command dpcurves ask pairs, by name."""


TASK_OPTIONS = frozenset({
    "column", "measured_in", "grid", "edges", "values", "outside", "hint", "by", "categories", "label", "score",
    "pos_label", "neg_label", "thresholds", "time", "event", "event_value", "censored_value", "causes", "where",
})  # fmt: skip
"""Options of questions that dpcurves ask leaves out, because the task document sets them."""
SECOND_COLUMN_OPTIONS = frozenset({"entry", "last"})
"""Options for a second column of numbers; the task document does not set the grids of questions with one, so these keep
all options but --where."""
UNANSWERED_COMMANDS = frozenset({
    "bars", "summary", "count", "sum", "mean", "variance", "contingency", "bounds", "residuals", "table", "verify",
})  # fmt: skip
"""Commands of one table that dpcurves ask does not offer: they need sums, search for bounds, or do not count one column
of numbers."""
EXAMPLE_OPTION = re.compile(r"--([a-z-]+) (\S+)")
"""An option and its value in the example of a command's help text, from which the example of dpcurves ask is made."""
ADDRESS_EXAMPLE = "--task task.json --ticket tickets/analyst-1"
"""Options, in examples of help texts, that say which task is asked and under which ticket."""


@dataclass(frozen=True)
class TaskServers:
    """Options for a task and an analyst's ticket, which replace those for a file, a privacy loss and a guarantee."""

    document: TaskFile
    bearer: Bearer
    accepts_unproved: bool = options.flag(
        "--unproved", "Accept answers without proofs, in tasks whose servers must prove them."
    )

    def read_task(self, output: Output) -> Task:
        """Read the task document that --task names, and refuse output files that would overwrite it or the ticket.

        Args:
            output: Where the answer goes.

        Raises:
            Misuse: an output file would overwrite the document or the ticket.
        """
        require_extra()
        document = Path(self.document.task)
        ticket = Path(self.bearer.ticket)
        output.require_distinct_files(InputFile("the task document", document), InputFile("the ticket", ticket))
        return self.document.read_task()

    def answer_question(self, task: Task, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask both servers, write the files that `output` names, and print the trust assumptions.

        Args:
            task: The task of the servers.
            question: What to ask.
            view: How the answer is shown.
            output: Options of the output files.
        """
        output.require_writable()
        from ..serving.task_document import Role, Ticket
        from ..serving.two_servers.owner import path_of_agreed_reports
        from ..shares.analyst import Analyst, list_assumptions

        ticket = Ticket.load(self.bearer.ticket, Role.ANALYST)
        agreed_reports = path_of_agreed_reports(Path(self.bearer.ticket))
        connection = Analyst(
            task,
            ticket,
            timeout=self.bearer.timeout_seconds,
            agreed_file=agreed_reports,
            allow_unproved=self.accepts_unproved,
        )
        with connection as analyst, show_spinner("the servers count"), suppress_curve_warnings():
            curve: Any = analyst.ask(question)
        doubts = [f"doubt: {line}" for line in sorted(analyst.doubts)]
        trust = (*list_assumptions(task, proved=not doubts), *_describe_dropped(analyst.dropped), *doubts)
        mechanism = f"mechanism: {curve.privacy.mechanism}"
        deliver_with_notes(question, curve, view, output, lambda written: (mechanism, *trust, *written))


@dataclass(frozen=True)
class TaskTerms:
    """Terms of a question to the two servers of a task."""

    task: Task
    servers: TaskServers

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask the servers a question, and show and write its result.

        If the task counts records below thresholds, quantiles are found by bisection, in several rounds.

        Args:
            question: The question.
            view: How the result is shown.
            output: Files to write.
        """
        from dpcurves.curves import QuantilesQuestion

        from ..shares.task import CountKind

        if isinstance(question, QuantilesQuestion) and self.task.count_kind is CountKind.PREFIXES:
            question = question.with_search(output.interval_settings().level)
        self.servers.answer_question(self.task, question, view, output)


def create_ask_commands(questions: Mapping[str, Command]) -> dict[str, Command]:
    """Return a command `ask NAME` for each question of one curator that counts of two servers can answer, by name.

    Args:
        questions: Commands of the questions for a single table, by name.
    """
    return {name: _create_ask_command(name, command) for name, command in _select_count_questions(questions)}


def find_declared_options(questions: Mapping[str, Command]) -> dict[str, frozenset[str]]:
    """Return the options that each command leaves out because the task document sets them.

    A question about several columns keeps the options it has for a file, except for the filter; a task that does not
    count its table refuses it.

    Args:
        questions: Commands of the questions for a single table, by name.
    """
    return {name: _list_declared_options(command) for name, command in _select_count_questions(questions)}


def _list_declared_options(command: Command) -> frozenset[str]:
    """Return the names of a question's options that the task document sets, so that its command leaves them out.

    Args:
        command: Command of the question for a single table.
    """
    return TASK_OPTIONS if _has_one_grid(command) else frozenset({"where"})


def _select_count_questions(questions: Mapping[str, Command]) -> list[tuple[str, Command]]:
    """Return names and commands of the questions that counts of two servers can answer."""
    return [
        (name, command)
        for name, command in questions.items()
        if options.groups_of(command).get("terms") is Terms and name not in UNANSWERED_COMMANDS
    ]


def _has_one_grid(command: Command) -> bool:
    """Return True if a question counts cells of one column of numbers, whose grid the task declares.

    Args:
        command: Command of the question for a single table.
    """
    groups = options.groups_of(command)
    along = any(issubclass(group, options.CellOptions) for group in groups.values())
    return along and not options.names_of(groups.values()) & SECOND_COLUMN_OPTIONS


def _create_ask_command(name: str, command: Command) -> Command:
    """Return the command of a question to two servers: its options are the question's without those that the task
    declares.

    Args:
        name: Name of the question, such as ``cdf``.
        command: Command of the question for a single table.
    """
    question_groups = {
        group_name: group for group_name, group in options.groups_of(command).items() if group not in (Terms, Output)
    }
    has_one_grid = _has_one_grid(command)

    def ask_question(servers: TaskServers, output: Output, **groups: Any) -> None:
        """Ask two servers the question that the command is named after, and print or write the answer.

        The command's help text replaces this text.

        Args:
            servers: Options that name the task, the ticket and the server that is asked.
            output: Options that say where the answer goes, and in which format.
            **groups: The question's groups of options as they were typed, by name of the group. Options that the task
                declares, such as the grid, overwrite them.
        """
        task = servers.read_task(output)
        declared: dict[str, Any] = {"where": task.where or None}
        if has_one_grid:
            declared = options_from_task(task, options.names_of(question_groups.values()))
        arguments = {
            group_name: options.build_group(type(group), options.values_of(group) | declared)
            for group_name, group in groups.items()
        }
        command(**arguments, terms=TaskTerms(task, servers), output=output)

    remaining = options.names_of(question_groups.values()) - _list_declared_options(command)
    ask_question.__name__ = command.__name__
    ask_question.__doc__ = _help_text(name, command.__doc__ or "", remaining)
    ask_question.__annotations__ = {"servers": TaskServers, **question_groups, "output": Output}
    return ask_question


def _help_text(name: str, doc: str, remaining: frozenset[str]) -> str:
    """Return the help text of a question to two servers: its first sentence, and its example with the remaining
    options.

    Args:
        name: Name of the question's command.
        doc: Help text of the command for a single table.
        remaining: Options that the task document does not set.
    """
    sentence, *_, example = doc.split("\n\n")
    option_texts = (
        f" --{option} {value}"
        for option, value in EXAMPLE_OPTION.findall(example)
        if option.replace("-", "_") in remaining
    )
    return f"{sentence}\n\nExample: dpcurves ask {name} {ADDRESS_EXAMPLE}{''.join(option_texts)}"


def options_from_task(task: Task, names: frozenset[str]) -> dict[str, str | list[str] | None]:
    """Return values of command-line options that the task declares, for a question with options of these names.

    Raises:
        Misuse: the question needs two classes that the task does not count, or the task counts categories that the
            question cannot use.
    """
    column = dict.fromkeys(("column", "score", "time"), task.column)
    return {
        "hint": None, "thresholds": "fixed", "measured_in": task.measured_in, "where": task.where or None,
        **column, **_options_from_grid(task.grid), **_options_from_labels(task, names),
    }  # fmt: skip


def _options_from_grid(grid: Grid) -> dict[str, str | None]:
    """Return the options that declare the task's grid: one of --grid, --edges or --values, and --outside.

    Returns:
        Text of each option by its name; None: the option is not used.
    """
    from dpcurves.data import Outside, Spacing, Values

    outside = "apart" if grid.outside is Outside.APART else None
    words = {"grid": None, "edges": None, "values": None, "outside": outside}
    if isinstance(grid, Values):
        return {**words, "values": ",".join(map(repr, grid.declared_values))}
    if grid.spacing is Spacing.EXPLICIT:
        return {**words, "edges": ",".join(map(repr, grid.explicit))}
    form = "" if grid.spacing is Spacing.LINEAR else f"{grid.spacing.value}:"
    return {**words, "grid": f"{form}{grid.lower!r}:{grid.upper!r}:{grid.cells}"}


def _options_from_labels(task: Task, names: frozenset[str]) -> dict[str, Any]:
    """Return the options of labels, if the task counts a column by classes, by category, or by classes of each
    category.

    Args:
        task: The task.
        names: Names of the options that the question has.

    Returns:
        Values by name of the option; they overwrite typed ones.

    Raises:
        Misuse: the question cannot be asked of the columns that the task counts.
    """
    from dpcurves.data import Axis

    label, beside = task.label, task.beside
    if not names & {"causes", "label", "event"}:
        if beside:
            raise Misuse(
                "task", "counts several columns together; ask a question that reads them, or name a task of one column"
            )
        return _options_from_split(label, names)
    if not beside:
        return {**_options_from_classes(label, names), **_options_from_split(None, names)}
    if label is None or len(beside) > 1 or isinstance(beside[0], Axis):
        raise Misuse(
            "task",
            "must count the classes of one column by one column of categories for this question; "
            "make such a task with --by and --beside, or ask this one for another curve",
        )
    return {**_options_from_classes(beside[0], names), **_options_from_split(label, names)}


def _options_from_classes(label: Categories | None, names: frozenset[str]) -> dict[str, Any]:
    """Return the options that name the two classes, or the kinds of events, that a task counts.

    Args:
        label: Classes of the task; None: it has none.
        names: Names of the options that the question has.

    Returns:
        Values by name of the option.

    Raises:
        Misuse: the question needs classes or kinds of events that the task does not count.
    """
    if "causes" in names:
        if label is None:
            raise Misuse("task", "does not count kinds of events; ask a task made with --categories")
        censored, *causes = map(format_label, label.values)
        return {"event": label.column, "censored_value": censored, "causes": ",".join(causes)}
    if label is None or len(label.values) != 2:
        raise Misuse("task", "counts values without two classes; ask a task made with --label")
    negative, positive = map(format_label, label.values)
    classes = dict.fromkeys(("label", "event"), label.column) | dict.fromkeys(("pos_label", "event_value"), positive)
    return {**classes, **dict.fromkeys(("neg_label", "censored_value"), negative)}


def _options_from_split(by: Categories | None, names: frozenset[str]) -> dict[str, Any]:
    """Return the values of the options --by (a list of one column) and --categories (labels separated by commas) for a
    task that counts by category; both are None for another task. `names` are the options of the question's command.
    Raises `Misuse` if --by is none of these.
    """
    if by is None:
        return {"by": None, "categories": None}
    if "by" not in names:
        raise Misuse("task", f"counts by {by.column!r}; ask for its distribution functions or its ROC curve")
    return {"by": [by.column], "categories": ",".join(map(format_label, by.values))}


def _describe_dropped(reports: int) -> tuple[str, ...]:
    """Return one line that says how many reports failed the servers' check; empty if none did."""
    return (f"dropped: {reports} reports that failed the servers' check",) if reports else ()
