"""Commands of the local model that make a task, randomise values, and aggregate reports.

Each command is a function; its options are the fields of the classes. Only `randomize` sees true values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from dpcurves.cli.ask_file import deliver_with_notes, suppress_curve_warnings
from dpcurves.cli.columns import Histogram2DView, HistogramView
from dpcurves.cli.options import (
    CellOptions,
    ColumnOptions,
    Command,
    LossOptions,
    Option,
    SourceOptions,
    TaskDocument,
    argument,
    option,
    optional,
    parse_integer,
    parse_label,
)
from dpcurves.cli.output import InputFile, Output, ResultView, RocView, View
from dpcurves.cli.terminal import Misuse, make_console, print_to_console, show_spinner
from dpcurves.drafts import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcurves.curves import Histogram2DQuestion, RocQuestion
    from dpcurves.data import Grid
    from dpcurves.privacy import PrivacyLoss

    from .. import Collection, SecondRound, Task


INTERVAL_SCOPES = ("for these records", "for the population")
"""What a printed interval holds for, in the order in which the intervals are printed."""


@dataclass(frozen=True)
class KernelOption:
    """Option for a pair statistic that is printed below the curve."""

    kernel: str | None = optional(
        "WORD", "A statistic of pairs of people: gini (mean difference), renyi2, kendall (tau-b) or auc."
    )

    def describe_statistic(self, curve: Any, output: Output) -> tuple[str, ...]:
        """Return the line with the pair statistic and its intervals; empty if no statistic was requested.

        Args:
            curve: Curve from which the statistic is computed.
            output: Options of the output, with the level of intervals.
        """
        if self.kernel is None:
            return ()
        value, interval = _compute_statistic(self.kernel, curve)
        return (f"{self.kernel}: {value:.4g}, {_format_intervals(interval, output.simulated_level(), output, '.4g')}",)


def _format_intervals(interval: Callable[..., tuple[float, float]], level: float, output: Output, digits: str) -> str:
    """Return the intervals at a level in words: for these records and, if the output asks for it, for
    the population.

    Args:
        interval: Function of a level and `population` that returns both ends.
        level: Confidence level.
        output: Options of the output.
        digits: Format of a number, such as ``.4g``.
    """
    populations = (False, True) if output.population else (False,)
    ends = (interval(level, population=population) for population in populations)
    words = (
        f"{low:{digits}} to {high:{digits}} ({level:.0%}, {subject})"
        for (low, high), subject in zip(ends, INTERVAL_SCOPES, strict=False)
    )
    return ", ".join(words)


@dataclass(frozen=True)
class PairStatisticOptions(KernelOption):
    """Options for a pair statistic, and for the second column of a statistic of two columns."""

    and_column: str | None = optional("NAME", "With --kernel kendall: another column.")
    and_grid: str | None = optional("L:U:N", "Public cells of the other column, as --grid.")


def require_statistic(word: str | None, curve: Any) -> None:
    """Check that a statistic can be computed from the curve of this class of question.

    Args:
        word: Name of the statistic; None: none was asked for.
        curve: The question.

    Raises:
        Misuse: the name is unknown, or the statistic needs another curve.
    """
    if word is None:
        return
    if word not in _KERNELS:
        raise Misuse("kernel", f"must be one of {', '.join(_KERNELS)}, got {word!r}")
    curve_name = type(curve).__name__.removesuffix("Question")
    if curve_name not in _KERNELS[word]:
        raise Misuse(
            "kernel",
            f"{word} is read from a task with --curve {' or '.join(_KERNELS[word])}, and this one has {curve_name}; "
            "make another task",
        )


_KERNELS = {
    "gini": ("Cdf", "Histogram"), "renyi2": ("Cdf", "Histogram"), "kendall": ("Histogram2D", "Contingency"),
    "auc": ("Roc",),
}  # fmt: skip
"""Statistics of pairs that the option ``--kernel`` offers, each with the questions whose reports it is computed from; a
task with another question is refused."""


def _compute_statistic(word: str, curve: Any) -> tuple[float, Any]:
    """Return the value of the statistic, and a function that returns its confidence interval at a level.

    Args:
        word: ``auc``, ``kendall``, ``renyi2`` or ``gini``.
        curve: The released curve.

    Returns:
        Value, and function of a confidence level that returns lower and upper end.
    """
    from dpcurves import curves

    if word == "auc":
        return curve.auc, curve.auc_interval
    if word == "kendall":
        statistic = curves.kendall_tau_b(curve)
    elif word == "renyi2":
        statistic = curves.renyi2_entropy(curve)
    elif isinstance(curve, curves.Histogram):
        statistic = curves.u_statistic(curve, lambda x, y: abs(x - y))
    else:
        statistic = curves.gini_mean_difference(curve)
    return statistic.value, statistic.interval


ASSUMPTIONS = (
    "assumed: one report of each person, whose name is known; the number of reports is public; no shuffling",
    "a person who lies can shift a count by the weight of one report",
)
"""Lines that are printed with each plan and result: what its privacy and accuracy presuppose."""


@dataclass(frozen=True, kw_only=True)
class TaskOptions(PairStatisticOptions):
    """Options for the curve of a task, the approximate number of people, and the randomiser."""

    people: str = option("N", "About how many people will report.")
    curve: str | None = optional("WORD", "cdf (the default), histogram; with --label roc (the default).")
    label: str | None = optional("NAME", "The column of true labels, for scores.")
    pos_label: str | None = optional("LABEL", "Positive label, by default 1; other labels are missing.")
    neg_label: str | None = optional(
        "LABEL", "Negative label; not needed if the positive label is 1, 0, -1, true or false."
    )
    rounding: str = option(
        "WORD", "For a histogram: simple (the default), or randomized: rounds at random, without bias.", "simple"
    )
    coins: str = option(
        "WORD", "private (the default), or public: a report is one bit, and all else follows from the name.", "private"
    )
    where: str | None = optional(
        "CONDITION",
        'Only people who meet an SQL condition, e.g. "age >= 65". Each device evaluates it; all people report.',
    )
    invitation_key: str | None = optional(
        "FILE", "Secret key that signs invitations, which reports then need. The file is made if it does not exist."
    )

    def make_question(self, column: ColumnOptions, cells: CellOptions) -> Any:
        """Return the question that the options describe: a distribution function, a histogram, a ROC curve or a table
        of two columns.

        Args:
            column: Options of the column.
            cells: Options of the grid.

        Raises:
            Misuse: the curve is unknown, or options do not fit together.
        """
        from dpcurves.curves import CdfQuestion, HistogramQuestion

        grid = cells.parse_grid()
        name = column.column
        if self.kernel is not None and self.curve is not None:
            raise Misuse("curve", "must be left out beside --kernel, which determines the curve; leave out --curve")
        if self.label is not None:
            return self._make_score_question(self.label, column, grid)
        for field in ("pos_label", "neg_label"):
            if getattr(self, field) is not None:
                raise Misuse(field, "needs the column of labels: give --label, too")
        if self.kernel == "kendall":
            return self._make_two_column_question(column, grid)
        for field in ("and_column", "and_grid"):
            if getattr(self, field) is not None:
                raise Misuse(field, "is for two columns: give --kernel kendall, or leave it out")
        if self.kernel == "renyi2":
            return HistogramQuestion(name, grid, measured_in=column.measured_in)
        if self.curve not in (None, "cdf", "histogram"):
            raise Misuse("curve", f"must be cdf or histogram, got {self.curve!r}; for roc give --label, too")
        kind = HistogramQuestion if self.curve == "histogram" else CdfQuestion
        return kind(name, grid, measured_in=column.measured_in)

    def make_task(self, column: ColumnOptions, cells: CellOptions, loss: PrivacyLoss) -> Task:
        """Return the task. For an AUC, levels are optimised for it; without labels, one class reports its scores.

        Args:
            column: Options of the column or columns.
            cells: Options of the grid.
            loss: Privacy loss of a person.

        Raises:
            Misuse: the curve is unknown, or the kernel cannot be computed from it.
        """
        from .. import Coins, CountUse, Inviter, Rounding, Task

        question = replace(self.make_question(column, cells), where=self.where)
        area = self.kernel == "auc"
        if not area:
            require_statistic(self.kernel, question)
        for field, words in (("coins", Coins), ("rounding", Rounding)):
            if getattr(self, field) not in tuple(words):
                raise Misuse(field, f"must be one of {', '.join(words)}, got {getattr(self, field)!r}")
        return Task(
            question, loss, parse_integer("people", self.people), target=CountUse.AREA if area else None,
            coins=Coins(self.coins),
            rounding=Rounding(self.rounding),
            invitations=None if self.invitation_key is None else Inviter.load_or_create(self.invitation_key).public_key,
        )  # fmt: skip

    def _make_two_column_question(self, column: ColumnOptions, grid: Grid) -> Histogram2DQuestion:
        """Return the question for the table of two columns, from which Kendall's tau is computed.

        Args:
            column: Options of the first column.
            grid: Grid of the first column.

        Raises:
            Misuse: the second column or its grid is missing, or a unit is given.
        """
        from dpcurves.curves import Histogram2DQuestion
        from dpcurves.data import Grid

        if column.measured_in:
            raise Misuse("measured_in", "must be left out: two columns have no common unit")
        if self.and_column is None or self.and_grid is None:
            raise Misuse("and_column", "must be given with --and-grid, because --kernel kendall reads two columns")
        return Histogram2DQuestion(column.column, self.and_column, grid, Grid.parse(self.and_grid))

    def _make_score_question(self, label: str, column: ColumnOptions, grid: Grid) -> RocQuestion:
        """Return the question for the ROC curve of scores and labels.

        Args:
            label: Column of labels.
            column: Options of the column of scores.
            grid: Grid of the scores.

        Raises:
            Misuse: an option does not fit labels.
        """
        from dpcurves.curves import RocQuestion

        if self.curve not in (None, "roc"):
            raise Misuse("curve", "must be roc, or left out, because --label was given")
        for field, kind in (("and_column", None), ("and_grid", None), ("kernel", "auc")):
            if getattr(self, field) not in (None, kind):
                raise Misuse(field, "must be left out: with --label the task estimates the area under the ROC curve")
        if column.measured_in:
            raise Misuse("measured_in", "must be left out: scores of a ROC curve have no unit")
        negative = None if self.neg_label is None else parse_label("neg_label", self.neg_label)
        positive = parse_label("pos_label", "1" if self.pos_label is None else self.pos_label)
        return RocQuestion(label, column.column, grid, positive, negative)


@dataclass(frozen=True)
class NewFile:
    """Option for the new file that is written."""

    out: str = option("FILE", "The file to write.")

    def write(self, made: bytes) -> None:
        """Write bytes to the file of --out, whole or not at all, replacing an older one.

        Args:
            made: Content of the file.

        Raises:
            Misuse: the file cannot be written.
        """
        try:
            write_whole(self.out, made)
        except OSError as error:
            raise Misuse(
                "out",
                f"{self.out!r} cannot be written ({error.strerror}); name a file in a folder that you may write to",
            ) from None


@dataclass(frozen=True)
class LocalTaskDocument(TaskDocument):
    """Option for the document of a task in the local model."""

    def read_task(self) -> Task:
        """Return the task of the document, of one round or of a second round.

        Raises:
            ValueError: the document cannot be read, or is no task.
        """
        from .. import read_task

        return read_task(self.task)


@dataclass(frozen=True)
class DeviceOptions:
    """Options for a person's name, the file that keeps the first report, and the column of the value."""

    id: str | None = optional("NAME", "The person's name, for a file with one row: one report of each name counts.")
    memo: str | None = optional("FILE", "A file that keeps the report: the next call gives the same one.")
    column: str | None = optional("NAME", "Name of the task's column in DATA, if it differs.")


@dataclass(frozen=True)
class SecondRoundOptions:
    """Options of a second round: the class that reported its scores, and the size of the other class."""

    of: str = option("CLASS", "Whose scores were reported: negatives or positives.")
    people: str = option("N", "Approximate number of people of the other class who will report.")
    names: Annotated[bool, Option(help="Write hashes of who reported, so that nobody reports in both rounds.")] = True


@dataclass(frozen=True)
class ReportFiles:
    """Argument for the files of reports that people sent."""

    reports: list[str] = argument("REPORTS...", "Files of reports.")

    def collect_reports(self, asked: Task) -> Collection:
        """Count the reports of all files for a task; a spinner is shown meanwhile.

        Args:
            asked: The task.

        Raises:
            ValueError: a file cannot be read.
        """
        from .. import Collection

        collection = Collection(asked)
        with show_spinner("reports are added up"):
            for name in self.reports:
                collection.add_file(name)
        return collection


def write_task(
    column: ColumnOptions, cells: CellOptions, wanted: TaskOptions, price: LossOptions, new: NewFile
) -> None:
    """Make a task for people who trust nobody.

    The document is public: it states the question and the privacy loss of one report.

    With --kernel auc and no --label, it asks the people of one class, whose labels are public, for their scores.

    Example: dpcurves local task --column age --grid 0:100:64 --people 100000 --epsilon 2 --out task.json
    """
    task = wanted.make_task(column, cells, price.loss())
    task.write(new.out)
    plan = task.plan
    error = f"standard error: about {plan.error:.4g} of {task.people} people ({plan.error / task.people:.3%})"
    print_to_console(
        make_console(), f"{task.question}: {task.loss}, {plan.made_by}", error, *ASSUMPTIONS, f"written: {new.out}"
    )


@dataclass(frozen=True)
class InvitationOptions:
    """Options for the key that signs invitations, and for the file of names."""

    invitation_key: str = option("FILE", "The secret key that local task has made.")
    names: str = option("FILE", "A text file with the name of a person in each line.")

    def read_people(self) -> list[str]:
        """Return the names of people in the file, in its order.

        Raises:
            Misuse: the file cannot be read, has no name, or repeats one.
        """
        from ..report_file import normalize_name

        try:
            lines = Path(self.names).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise Misuse(
                "names", f"{self.names!r} cannot be read as text in UTF-8; name a file with one name on each line"
            ) from None
        people = [line.strip() for line in lines if line.strip()]
        if not people or len({normalize_name(person) for person in people}) < len(people):
            raise Misuse(
                "names",
                "must have at least one name, and each name once; names that differ only in case or spaces are "
                "the same",
            )
        return people


def invite(document: LocalTaskDocument, invited: InvitationOptions, new: NewFile) -> None:
    """Sign an invitation for each person: a server of the task takes one report of each, and no others.

    The file that is written is secret: it has a line for each person, with the name and the invitation, as CSV.

    Example: dpcurves local invite --task task.json --invitation-key key.pem --names people.txt --out invitations.csv
    """
    import csv
    from io import StringIO

    from .. import Inviter

    task = document.read_task()
    inviter = Inviter.load_or_create(invited.invitation_key)
    people = invited.read_people()
    lines = StringIO()
    csv.writer(lines, lineterminator="\n").writerows(
        [("person", "invitation"), *((person, inviter.sign_invitation(task, person)) for person in people)]
    )
    new.write(lines.getvalue().encode())
    print_to_console(make_console(), f"written: {new.out} (secret), {len(people)} invitations")


def randomize(source: SourceOptions, document: LocalTaskDocument, device: DeviceOptions, new: NewFile) -> None:
    """Randomise the value of one person, or of the people of a file, a row each. Nothing else has to leave the device.

    Example: dpcurves local randomize me.csv --task task.json --id anna --memo kept.db --out report.bin
    """
    from .. import ReportMemo

    task = document.read_task()
    column = device.column
    delimiter = source.delimiter
    if device.id is None:
        if device.memo is not None:
            raise Misuse("memo", "stores the report of a person: give --id, too")
        new.write(task.randomize_table(source.records(), column=column, delimiter=delimiter))
    else:
        memo = None if device.memo is None else ReportMemo.from_path(device.memo)
        report = task.randomize_one(source.records(), device.id, column=column, delimiter=delimiter, memo=memo)
        new.write(report)
    print_to_console(make_console(), f"written: {new.out}")


def aggregate(received: ReportFiles, document: LocalTaskDocument, kernel: KernelOption, output: Output) -> None:
    """Add up reports, one of each person, and compute the curve, and a statistic of pairs of people.

    Example: dpcurves local aggregate reports.bin --task task.json --plot cdf.svg
    """
    from .. import SecondRound

    files = [InputFile("the reports", Path(name)) for name in received.reports]
    output.require_distinct_files(InputFile("the task document", Path(document.task)), *files)
    task = document.read_task()
    if isinstance(task, SecondRound):
        _print_area(task, received, output)
        return
    require_statistic(kernel.kernel, task.question)
    view = _choose_view(task, output)
    output.require_writable()
    collection = received.collect_reports(task)
    with suppress_curve_warnings():
        curve = collection.curve()
    lines = f"mechanism: {curve.privacy.mechanism}", describe_collection(collection), *ASSUMPTIONS
    deliver_with_notes(
        task.question,
        curve,
        view,
        output,
        lambda written: (*lines, *kernel.describe_statistic(curve, output), *written),
    )  # fmt: skip


def publish(received: ReportFiles, document: LocalTaskDocument, first: SecondRoundOptions, new: NewFile) -> None:
    """Compute the curve of the class that reported its scores, and publish the question to the other class: one bit
    each.

    The document is public. `dpcurves plan local` shows which class to ask first, or whether to ask both at once.

    Example: dpcurves local publish reports.bin --task negatives.json --of negatives --people 500 --out round2.json
    """
    from .. import FirstClass
    from .. import publish as published

    if first.of not in tuple(FirstClass):
        raise Misuse(
            "of", f"must be the class whose reports are in the file, {' or '.join(FirstClass)}, got {first.of!r}"
        )
    collection = received.collect_reports(document.read_task())
    with suppress_curve_warnings():
        second_round = published(
            collection, FirstClass(first.of), parse_integer("people", first.people), names=first.names
        )
    second_round.write(new.out)
    print_to_console(
        make_console(),
        f"round 2: {second_round.plan.made_by}",
        describe_collection(collection),
        *ASSUMPTIONS,
        f"written: {new.out}",
    )


def _print_area(second_round: SecondRound, received: ReportFiles, output: Output) -> None:
    """Print the area under the ROC curve of a task of two rounds, a number without a plot.

    Args:
        second_round: The task of the second round.
        received: Files of its reports.
        output: Options of the intervals.

    Raises:
        Misuse: an option asks for a file.
    """
    for field in ("json", "plot", "csv", "xlsx", "html"):
        if getattr(output, field) is not None:
            raise Misuse(field, "must be left out: the area of two rounds is a number without a curve")
    level = output.simulated_level()
    collection = received.collect_reports(second_round)
    with suppress_curve_warnings():
        area = collection.curve()
    area_said = f"AUC {area.value:.4f}: {_format_intervals(area.interval, level, output, '.4f')}"
    print_to_console(
        make_console(),
        area_said,
        f"mechanism: {second_round.plan.made_by}",
        describe_collection(collection),
        *area.statements,
        *ASSUMPTIONS,
    )


def describe_collection(collection: Collection) -> str:
    """Return one line with the numbers of counted, repeated and refused reports, and of reports of an earlier round.

    Args:
        collection: Counted reports of a task.
    """
    line = f"reports: {collection.reports} counted, {collection.repeated} repeated, {collection.refused} refused"
    return f"{line}, {collection.met} of people who reported in the first round" if collection.met else line


def _choose_view(task: Task, output: Output) -> View[Any]:
    """Return how the command prints and plots the result of a task, by the type of its question.

    Args:
        task: The task.
        output: Options of the output, with the level of intervals.
    """
    from dpcurves.curves import Histogram2DQuestion, HistogramQuestion, RocQuestion

    if isinstance(task.question, Histogram2DQuestion):
        return Histogram2DView()
    kinds: dict[type, type[ResultView]] = {RocQuestion: RocView, HistogramQuestion: HistogramView}
    return kinds.get(type(task.question), ResultView)(output.interval_settings())


LOCAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"task": write_task, "invite": invite, "randomize": randomize, "aggregate": aggregate, "publish": publish}
)
"""Commands of the group `dpcurves local` for tasks and files of reports, by name."""
