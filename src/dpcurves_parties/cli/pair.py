"""Commands of two servers, owners of records, participants and analysts, and questions that two servers answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcurves.cli import options as of
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

from ..serving.watching import MonitoringOptions
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

    party: str = option("0|1", "Which of the two servers this is, in all of its tasks.")
    task: str = option("FILE,...", "Task documents, with commas between them.")
    identity: str = option("FOLDER", "The folder with this server's keys.")
    store: str = option("URL", "Its reports and its ledger: sqlite:///a0.db, or postgresql+psycopg://...")
    listen: str | None = of.optional("HOST:PORT", "Where to listen; left out: at the URL in the task.")
    peer: str = option("URL", "Where the other server is reached; left out: at its URL in the task.", "")
    patience: str = option("SECONDS", "How long the other server may take to answer.", "60")
    connections: str = option(
        "N", "How many connections are kept open at a time, beside those of the other server.", "512"
    )
    deadline: str = option("SECONDS", "How long a connection may be silent at first.", "10")
    jobs: str = option(
        "PLACE", "A folder or object store for reports that count, in jobs of 4096: memory holds none of them.", ""
    )
    workers: str = option(
        "N|tcp://HOST:PORT", "Who evaluates jobs: so many processes, or the workers of a Dask scheduler.", ""
    )

    def parse_party(self) -> int:
        """Number of the party, 0 or 1."""
        if self.party not in ("0", "1"):
            raise Misuse("party", f"0 or 1 is needed, got {self.party!r}")
        return int(self.party)


@dataclass(frozen=True)
class RenamedColumns:
    """Options for the names of the task's columns in the owner's table."""

    column: str | None = of.optional("NAME", "The name of the task's column in DATA, where it is another.")
    label: str | None = of.optional("NAME", "The name of the task's column of labels in DATA, where it is another.")

    def rename_axes(self, task: Task) -> tuple[Axis | Categories, ...]:
        """Axes of the task, with the column names of the table."""
        return tuple(replace(axis, column=name or str(axis.column)) for axis, name in self._match_names(task))

    def _match_names(self, task: Task) -> list[tuple[Axis | Categories, str | None]]:
        if task.label is None and self.label is not None:
            raise Misuse("label", "the task counts values without a label")
        *others, last = task.axes
        names = [self.label if axis is task.label else None for axis in others]
        return [*zip(others, names, strict=True), (last, self.column)]


@dataclass(frozen=True)
class EarlierRecords:
    """Option for records sent earlier with the same ticket: keep or replace."""

    earlier: str = option(
        "HOW",
        "Other records that were sent with this ticket: keep (these are refused) or replace (while the task is open).",
        "keep",
    )

    def parse_earlier(self) -> EarlierPolicy:
        """Choice as it is sent to the servers."""
        from ..serving.two_servers.report_set import EarlierPolicy

        return of.parse_choice(
            "earlier", self.earlier, {"keep": EarlierPolicy.STAYS, "replace": EarlierPolicy.GIVES_WAY}
        )


def aggregator(running: ServerOptions, watching: MonitoringOptions) -> None:
    """Run one of the two servers of a task, or the one server of people in pairs, which is party 0.

    It runs until it is stopped. It prints one line when it listens, and one for each error; never a share.

    Example: dpcurves aggregator --party 0 --task task.json --identity a0 --store sqlite:///a0/a0.db
    """
    require_extra()
    from ..serving.identity import Identity
    from ..serving.server import Address, Limits
    from ..serving.two_servers.app import Aggregator
    from ..serving.two_servers.kinds import read_task

    require_lasting(running.store)
    limits = Limits(
        of.parse_integer("connections", running.connections), of.parse_integer("deadline", running.deadline)
    )
    people = [TaskFile(file) for file in running.task.split(",")]
    if any(each.is_of_people for each in people):
        _serve_people(people, running, limits, watching.create_monitoring())
        return
    tasks, party = [read_task(file) for file in running.task.split(",")], running.parse_party()
    if running.workers and not running.jobs:
        raise Misuse("workers", "they evaluate jobs: name their place with --jobs, which all of them reach")
    server = Aggregator(
        party, tasks, Identity.load(Path(running.identity)), running.store, running.peer,
        of.parse_integer("patience", running.patience), limits, watching.create_monitoring(), running.jobs, running.workers,
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
    from ..pairs.relay_server import RelayServer
    from ..serving.identity import Identity

    if running.parse_party() or not all(each.is_of_people for each in documents):
        raise Misuse("party", "the one server of people in pairs is party 0, and works for no other tasks beside")
    tasks = [each.read_pair_task() for each in documents]
    server = RelayServer(tasks, Identity.load(Path(running.identity)), running.store, limits, monitoring)
    serve_people(server, running.listen)


def contribute(
    source: of.SourceOptions, document: TaskFile, bearer: Bearer, renamed: RenamedColumns, before: EarlierRecords
) -> None:
    """Send the records of a file to both servers, each a share that alone tells nothing.

    Done again with the same file and ticket, nothing counts twice: begin again if it was stopped. Another file is
    refused, or takes the place of the first with --earlier replace. Where a task takes one report of each owner,
    server 0 alone is spoken to, and hands on what it cannot open.

    Example: dpcurves contribute flights.csv --task task.json --ticket tickets/owner-1
    """
    require_extra()
    from ..serving.two_servers.owner import Contribution, enrol_owner, read_owner_ticket
    from ..serving.two_servers.report_set import EarlierPolicy
    from ..shares.analyst import read_record_slots
    from ..shares.dap_uploads import LeaderUpload

    task, ticket = document.read_task(), Path(bearer.ticket)
    read_owner_ticket(task, ticket)
    places = read_record_slots(task, source.records(), source.delimiter, renamed.rename_axes(task))
    owner = enrol_owner(task, ticket, bearer.timeout)
    with show_progress_bar(f"sending reports of {task.name}", len(places)) as progress:
        contribution = Contribution.from_ticket(task, places, ticket, before.parse_earlier())
        if task.reports_per_owner == 1 and contribution.earlier_policy is EarlierPolicy.STAYS:
            sent = LeaderUpload(contribution, owner).send(progress, bearer.timeout)
            said = f"sent: {sent} report, of which both servers have their part"
        else:
            told = contribution.send(owner, progress, bearer.timeout)
            said = f"sent: {told.reports} reports, {told.new} of them new to the servers"
    print_to_console(make_console(), said)


SERVER_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"aggregator": aggregator, "contribute": contribute})


def pair(
    source: of.SourceOptions, document: TaskFile, bearer: Bearer, meeting: MeetingOptions, before: EarlierRecords
) -> None:
    """Take part in a task of pairs with the values of a file.

    With two servers, each gets a share of each value, and you are done. With people in pairs, the file has one row,
    of whole numbers (what is beyond the declared bits counts as the nearest): you enter before the task is closed, and
    call it again until all partners have written; letters go through the task's server, which cannot decrypt them.

    Done again with the same file and ticket, nothing counts twice: begin again if it was stopped. Another file is
    refused, or takes the place of the first with --earlier replace, of shares alone.

    Example: dpcurves pair mine.csv --task task.json --ticket tickets/owner-1
    """
    require_pairs()
    from ..pairs import Trust

    task = document.read_pair_task()
    if task.trust is Trust.TWO_SERVERS:
        refuse_options(
            "it belongs to people in pairs; the task is of two servers: leave it out", meeting, MeetingOptions()
        )
        _send_shares(task, source, bearer, before)
        return
    refuse_options(
        "it belongs to shares; what people in pairs have said stays said: leave it out", before, EarlierRecords()
    )
    take_part(task, source, bearer, meeting)


def _send_shares(task: PairTask, source: of.SourceOptions, bearer: Bearer, before: EarlierRecords) -> None:
    from ..pairs.task import read_values
    from ..serving.two_servers.owner import Contribution, read_owner_ticket

    ticket = Path(bearer.ticket)
    owner = read_owner_ticket(task, ticket)
    values = read_values(task, source.records(), source.delimiter)
    with show_progress_bar(f"sending shares of {task.name}", len(values)) as progress:
        sent = Contribution.from_ticket(task, values, ticket, before.parse_earlier()).send(
            owner, progress, bearer.timeout
        )
    print_to_console(make_console(), f"sent: shares of {sent.reports} people, {sent.new} of them new to the servers")


PAIR_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"pair": pair})


KIND = "pair mean"
COVERED = MappingProxyType({"for_these_records": False, "for_the_population": True})


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the JSON output file and the confidence level."""

    json: str | None = of.optional("FILE", "Write the answer as JSON to this file; - writes it to standard output.")
    level: str = option("P", "The confidence level of intervals.", "0.95")

    def output(self) -> Output:
        """Options of the answer as an `Output`, which other commands use."""
        return Output(self.json, level=self.level)


def pairs(document: TaskFile, bearer: Bearer, answer_options: AnswerOptions) -> None:
    """Ask for the mean over pairs of people. Asked again, it is the same, and free.

    Example: dpcurves ask pairs --task task.json --ticket tickets/analyst-1 --json out.json
    """
    require_pairs()
    from ..pairs.task import ASSUMED

    task, output = document.read_pair_task(), answer_options.output()
    output.require_distinct_files(
        InputFile("the task document", Path(document.task)), InputFile("the ticket", Path(bearer.ticket))
    )
    output.require_writable()
    level = output.confidence_level()
    with show_spinner("the servers work it out"):
        found = _ask_servers(task, bearer)
    screen = output.make_console()
    ends = {name: found.interval(level, population=population) for name, population in COVERED.items()}
    written = output.write_json(lambda: _encode_answer(task, found, level, ends))
    if output.json is None:
        print_to_console(
            screen,
            f"{task.kernel_name}: {found.value:.4g}, from {found.pairs} pairs",
            *(f"{low:.4g} to {high:.4g} ({level:.0%}, {name.replace('_', ' ')})" for name, (low, high) in ends.items()),
        )
    print_to_console(screen, f"mechanism: {found.privacy.mechanism}; {found.privacy.loss}", *ASSUMED[task.trust])
    print_to_console(screen, *(f"written: {name}" for name in written))
    for note in found.notes:
        print_to_stderr(note)


def _ask_servers(task: PairTask, bearer: Bearer) -> UStatistic:
    from ..pairs import Trust
    from ..pairs.service import ask_pairs, ask_people
    from ..serving.task_document import Role, Ticket

    ask = ask_people if task.trust is Trust.PEOPLE else ask_pairs
    with suppress_curve_warnings():
        return ask(task, Ticket.load(bearer.ticket, Role.ANALYST), timeout=bearer.timeout)


def _encode_answer(task: PairTask, found: UStatistic, level: float, ends: dict[str, Any]) -> str:
    from ..pairs.task import ASSUMED

    return json.dumps(
        {
            "kind": KIND, "kernel": task.kernel_name, "task": task.hash, "value": found.value, "pairs": found.pairs,
            "level": level, **{name: list(both) for name, both in ends.items()}, "privacy": asdict(found.privacy),
            "assumed": list(ASSUMED[task.trust]), "notes": list(found.notes),
        },
        allow_nan=False,
    )  # fmt: skip


ASK_PAIRS: MappingProxyType[str, Command] = MappingProxyType({"pairs": pairs})


SAID = frozenset({
    "column", "measured_in", "grid", "edges", "values", "outside", "hint", "by", "categories", "label", "score",
    "pos_label", "neg_label", "cuts", "time", "event", "came", "censored", "causes",
})  # fmt: skip
"""Options of the questions that are left out here: the task document sets them."""
SECOND = frozenset({"entry", "last"})
"""Options for a second column of numbers: a question with one says itself what it needs, as one of several columns."""
NO_COUNTS = frozenset({
    "summary", "count", "sum", "mean", "variance", "contingency", "bounds", "residuals", "table", "verify",
})  # fmt: skip
"""Commands that servers are not asked by: they need sums, look for bounds, or count no column of numbers once."""
OPTION = re.compile(r"--([a-z-]+) (\S+)")
ADDRESS = "--task task.json --ticket tickets/analyst-1"


@dataclass(frozen=True)
class TaskServers:
    """Options for a task and an analyst's ticket, which replace those for a file, a privacy loss and a guarantee."""

    document: TaskFile
    bearer: Bearer
    accepts_unproved: bool = of.flag(
        "--unproved", "Read answers that are not proved, too, where servers have to prove them."
    )

    def read_task(self, output: Output) -> Task:
        """Read the task document. Raises `Misuse` where an output file would overwrite that document or the ticket."""
        require_extra()
        document, ticket = Path(self.document.task), Path(self.bearer.ticket)
        output.require_distinct_files(InputFile("the task document", document), InputFile("the ticket", ticket))
        return self.document.read_task()

    def answer_question(self, task: Task, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask both servers, write the files that `output` names, and print the trust assumptions."""
        output.require_writable()
        from ..serving.task_document import Role, Ticket
        from ..serving.two_servers.owner import path_of_agreed_reports
        from ..shares.analyst import Analyst, list_assumptions

        ticket, kept = Ticket.load(self.bearer.ticket, Role.ANALYST), path_of_agreed_reports(Path(self.bearer.ticket))
        asking = Analyst(
            task, ticket, timeout=self.bearer.timeout, agreed_file=kept, allow_unproved=self.accepts_unproved
        )
        with asking as analyst, show_spinner("the servers count"), suppress_curve_warnings():
            curve: Any = analyst.ask(question)
        doubts = [f"doubt: {line}" for line in sorted(analyst.doubts)]
        trust = (*list_assumptions(task, proved=not doubts), *_describe_dropped(analyst.dropped), *doubts)
        made = f"mechanism: {curve.privacy.mechanism}"
        deliver_with_notes(question, curve, view, output, lambda written: (made, *trust, *written))


@dataclass(frozen=True)
class TaskTerms:
    """Terms of a question to the two servers of a task."""

    task: Task
    servers: TaskServers

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask the servers; quantiles are found by bisection where the task counts records below thresholds."""
        from dpcurves.curves import QuantilesQuestion

        from ..shares.task import CountKind

        if isinstance(question, QuantilesQuestion) and self.task.count_kind is CountKind.PREFIXES:
            question = question.with_search(output.interval_settings().level)
        self.servers.answer_question(self.task, question, view, output)


def create_ask_commands(questions: Mapping[str, Command]) -> dict[str, Command]:
    """A command for each question that counts may answer."""
    return {name: _create_ask_command(name, command) for name, command in _select_count_questions(questions)}


def find_declared_options(questions: Mapping[str, Command]) -> dict[str, frozenset[str]]:
    """Options that commands leave out, for the task document sets them: of questions along one grid.

    A question about several columns is asked in the words in which a file is; a task that does not count its table
    refuses it.
    """
    return {name: SAID for name, command in _select_count_questions(questions) if _has_one_grid(command)}


def _select_count_questions(questions: Mapping[str, Command]) -> list[tuple[str, Command]]:
    return [
        (name, command)
        for name, command in questions.items()
        if of.groups_of(command).get("terms") is Terms and name not in NO_COUNTS
    ]


def _has_one_grid(command: Command) -> bool:
    groups = of.groups_of(command)
    along = any(issubclass(group, of.CellOptions) for group in groups.values())
    return along and not of.names_of(groups.values()) & SECOND


def _create_ask_command(name: str, command: Command) -> Command:
    asked = {each: group for each, group in of.groups_of(command).items() if group not in (Terms, Output)}
    along = _has_one_grid(command)

    def ask_question(servers: TaskServers, output: Output, **groups: Any) -> None:
        task = servers.read_task(output)
        said = options_from_task(task, of.names_of(asked.values())) if along else {}
        told = {each: of.build_group(type(group), of.values_of(group) | said) for each, group in groups.items()}
        command(**told, terms=TaskTerms(task, servers), output=output)

    left = of.names_of(asked.values()) - (SAID if along else frozenset())
    ask_question.__name__, ask_question.__doc__ = command.__name__, _help_text(name, command.__doc__ or "", left)
    ask_question.__annotations__ = {"servers": TaskServers, **asked, "output": Output}
    return ask_question


def _help_text(name: str, words: str, left: frozenset[str]) -> str:
    """Help text: the question's first sentence, and its example with the options that remain."""
    sentence, *_, example = words.split("\n\n")
    options = (f" --{option} {value}" for option, value in OPTION.findall(example) if option.replace("-", "_") in left)
    return f"{sentence}\n\nExample: dpcurves ask {name} {ADDRESS}{''.join(options)}"


def options_from_task(task: Task, names: frozenset[str]) -> dict[str, str | list[str] | None]:
    """Values of command-line options that state what the task declares, for a question with options of these names.

    Raises:
        Misuse: it counts no two classes and these are needed, or counts categories of which the question knows none.
    """
    column = dict.fromkeys(("column", "score", "time"), task.column)
    return {
        "hint": None, "cuts": "fixed", "measured_in": task.measured_in,
        **column, **_options_from_grid(task.grid), **_options_from_labels(task, names),
    }  # fmt: skip


def _options_from_grid(grid: Grid) -> dict[str, str | None]:
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
    """Words of the labels, where the task counts a column by classes, by category, or by classes of each category."""
    from dpcurves.data import Axis

    label, beside = task.label, task.beside
    if not names & {"causes", "label", "event"}:
        if beside:
            raise Misuse("task", "it counts several columns together; ask about one column of a task of one")
        return _options_from_split(label, names)
    if not beside:
        return {**_options_from_classes(label, names), **_options_from_split(None, names)}
    if label is None or len(beside) > 1 or isinstance(beside[0], Axis):
        raise Misuse("task", "it counts several columns together, and not classes of one column by category")
    return {**_options_from_classes(beside[0], names), **_options_from_split(label, names)}


def _options_from_classes(label: Categories | None, names: frozenset[str]) -> dict[str, Any]:
    if "causes" in names:
        if label is None:
            raise Misuse("task", "it counts no kinds of events; such a curve needs a task with --categories")
        censored, *causes = map(format_label, label.values)
        return {"event": label.column, "censored": censored, "causes": ",".join(causes)}
    if label is None or len(label.values) != 2:
        raise Misuse("task", "it counts values without two classes; such a curve needs a task with --label")
    negative, positive = map(format_label, label.values)
    classes = dict.fromkeys(("label", "event"), label.column) | dict.fromkeys(("pos_label", "came"), positive)
    return {**classes, **dict.fromkeys(("neg_label", "censored"), negative)}


def _options_from_split(by: Categories | None, names: frozenset[str]) -> dict[str, Any]:
    if by is None:
        return {"by": None, "categories": None}
    if "by" not in names:
        raise Misuse("task", f"it counts by {by.column!r}; ask for its distribution functions or its ROC curve")
    return {"by": [by.column], "categories": ",".join(map(format_label, by.values))}


def _describe_dropped(reports: int) -> tuple[str, ...]:
    return (f"dropped: {reports} reports that failed the servers' check",) if reports else ()
