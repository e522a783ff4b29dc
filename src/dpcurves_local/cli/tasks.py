"""Commands that make a task, randomise values, aggregate reports, and read pair statistics off them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from dpcurves.cli.ask_file import delivered, quietly
from dpcurves.cli.columns import Histogram2DView, HistogramView
from dpcurves.cli.options import (
    CellOptions,
    ColumnOptions,
    Command,
    Option,
    Price,
    SourceOptions,
    TaskDocument,
    argument,
    category,
    option,
    perhaps,
    whole,
)
from dpcurves.cli.output import InputFile, Output, ResultView, RocView, View
from dpcurves.cli.terminal import Misuse, say, terminal, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcurves.curves import Histogram2DQuestion, RocQuestion
    from dpcurves.data import Grid
    from dpcurves.privacy import PrivacyLoss

    from .. import Collection, SecondRound, Task


COVERED = ("for these records", "for the population")


@dataclass(frozen=True)
class Kernel:
    """Option for a pair statistic that is printed below the curve."""

    kernel: str | None = perhaps(
        "WORD", "A statistic of pairs of people: gini (mean difference), renyi2, kendall (tau-b) or auc."
    )

    def said(self, curve: Any, output: Output) -> tuple[str, ...]:
        """Line with the pair statistic and its intervals; empty if none was asked for."""
        if self.kernel is None:
            return ()
        value, interval = _read(self.kernel, curve)
        return (f"{self.kernel}: {value:.4g}, {_covering(interval, output.simulated(), output, '.4g')}",)


def _covering(interval: Callable[..., tuple[float, float]], level: float, output: Output, digits: str) -> str:
    wanted = (False, True) if output.population else (False,)
    ends = (interval(level, population=population) for population in wanted)
    words = (
        f"{low:{digits}} to {high:{digits}} ({level:.0%}, {whom})"
        for (low, high), whom in zip(ends, COVERED, strict=False)
    )
    return ", ".join(words)


@dataclass(frozen=True)
class Pair(Kernel):
    """Options for a pair statistic, and for the second column of a statistic of two columns."""

    and_column: str | None = perhaps("NAME", "With --kernel kendall: another column.")
    and_grid: str | None = perhaps("L:U:N", "Public cells of the other column, as --grid.")


def required(word: str | None, curve: Any) -> None:
    """Refuse a statistic that cannot be computed from the curve of this class of question. Raises `Misuse`."""
    if word is None:
        return
    if word not in _TOLD:
        raise Misuse("kernel", f"one of {', '.join(_TOLD)} is needed, got {word!r}")
    told = type(curve).__name__.removesuffix("Question")
    if told not in _TOLD[word]:
        raise Misuse("kernel", f"{word} is read from another curve than this task asks for")


_TOLD = {
    "gini": ("Cdf", "Histogram"), "renyi2": ("Cdf", "Histogram"), "kendall": ("Histogram2D", "Contingency"),
    "auc": ("Roc",),
}  # fmt: skip


def _read(word: str, curve: Any) -> tuple[float, Any]:
    """Value of the statistic, and a function that returns its confidence interval at a level."""
    from dpcurves import curves

    if word == "auc":
        return curve.auc, curve.auc_interval
    if word == "kendall":
        found = curves.kendall_tau_b(curve)
    elif word == "renyi2":
        found = curves.renyi2_entropy(curve)
    elif isinstance(curve, curves.Histogram):
        found = curves.u_statistic(curve, lambda x, y: abs(x - y))
    else:
        found = curves.gini_mean_difference(curve)
    return found.value, found.interval


ASSUMED = (
    "assumed: one report of each person, whose name is known; the number of reports is public; no shuffling",
    "a person who lies can shift a count by the weight of one report",
)


@dataclass(frozen=True, kw_only=True)
class Wanted(Pair):
    """Options for the curve of a task, the approximate number of people, and the randomiser."""

    people: str = option("N", "About how many people will report.")
    curve: str | None = perhaps("WORD", "cdf (the default), histogram; with --label roc (the default).")
    label: str | None = perhaps("NAME", "The column of true labels, for scores.")
    pos_label: str | None = perhaps("LABEL", "The positive label (1, if it is not said); other labels are missing.")
    neg_label: str | None = perhaps("LABEL", "The negative label, where it is not clear.")
    rounding: str = option(
        "WORD", "For a histogram: simple (the default), or chance: rounds at random, without bias.", "simple"
    )
    coins: str = option(
        "WORD", "own (the default), or public: a report is one bit, and all else follows from the name.", "own"
    )
    inviting: str | None = perhaps(
        "FILE", "Reports need an invitation that this secret key signs: the file is made if it is not there."
    )

    def question(self, column: ColumnOptions, cells: CellOptions) -> Any:
        """Question of the task. Raises `Misuse`: there is no such curve, or it does not go with labels."""
        from dpcurves.curves import CdfQuestion, HistogramQuestion

        grid, name = cells.declared(), column.column
        if self.kernel is not None and self.curve is not None:
            raise Misuse("curve", "a kernel says which curve it is read from: leave one of them out")
        if self.label is not None:
            return self._of_scores(self.label, column, grid)
        for field in ("pos_label", "neg_label"):
            if getattr(self, field) is not None:
                raise Misuse(field, "labels are those of a column: give --label, too")
        if self.kernel == "kendall":
            return self._of_two_columns(column, grid)
        for field in ("and_column", "and_grid"):
            if getattr(self, field) is not None:
                raise Misuse(field, "two columns are those of --kernel kendall")
        if self.kernel == "renyi2":
            return HistogramQuestion(name, grid, measured_in=column.measured_in)
        if self.curve not in (None, "cdf", "histogram"):
            raise Misuse("curve", "cdf or histogram is needed; roc needs --label")
        kind = HistogramQuestion if self.curve == "histogram" else CdfQuestion
        return kind(name, grid, measured_in=column.measured_in)

    def task(self, column: ColumnOptions, cells: CellOptions, loss: PrivacyLoss) -> Task:
        """The task. For an AUC, levels are chosen to suit it; without labels it asks for the scores of one class.

        Raises:
            Misuse: there is no such curve, or the kernel is not read from it.
        """
        from .. import Coins, Inviter, Read, Rounding, Task

        question, area = self.question(column, cells), self.kernel == "auc"
        if not area:
            required(self.kernel, question)
        for field, words in (("coins", Coins), ("rounding", Rounding)):
            if getattr(self, field) not in tuple(words):
                raise Misuse(field, f"one of {', '.join(words)} is needed, got {getattr(self, field)!r}")
        return Task(
            question, loss, whole("people", self.people), aim=Read.AREA if area else None, coins=Coins(self.coins),
            rounding=Rounding(self.rounding),
            invitations=None if self.inviting is None else Inviter.found(self.inviting).public,
        )  # fmt: skip

    def _of_two_columns(self, column: ColumnOptions, grid: Grid) -> Histogram2DQuestion:
        from dpcurves.curves import Histogram2DQuestion
        from dpcurves.data import Grid

        if column.measured_in:
            raise Misuse("measured_in", "two columns have no unit together: leave it out")
        if self.and_column is None or self.and_grid is None:
            raise Misuse("and_column", "kendall is of two columns: give --and-column and --and-grid")
        return Histogram2DQuestion(column.column, self.and_column, grid, Grid.parse(self.and_grid))

    def _of_scores(self, label: str, column: ColumnOptions, grid: Grid) -> RocQuestion:
        from dpcurves.curves import RocQuestion

        if self.curve not in (None, "roc"):
            raise Misuse("curve", "with labels it is roc")
        for field, kind in (("and_column", None), ("and_grid", None), ("kernel", "auc")):
            if getattr(self, field) not in (None, kind):
                raise Misuse(field, "with labels the area of the ROC curve is told, no other statistic")
        if column.measured_in:
            raise Misuse("measured_in", "scores of a ROC curve have no unit: leave it out")
        negative = None if self.neg_label is None else category("neg_label", self.neg_label)
        positive = category("pos_label", "1" if self.pos_label is None else self.pos_label)
        return RocQuestion(label, column.column, grid, positive, negative)


@dataclass(frozen=True)
class NewFile:
    """Option for the new file that is written."""

    out: str = option("FILE", "The file to write.")

    def write(self, made: bytes) -> None:
        """Write the file. Raises `Misuse`: it can not be written."""
        try:
            Path(self.out).write_bytes(made)
        except OSError as error:
            raise Misuse("out", f"{self.out!r} can not be written ({error.strerror})") from None


@dataclass(frozen=True)
class Document(TaskDocument):
    """Option for the document of a task in the local model."""

    def read(self) -> Task:
        """Read the task."""
        from .. import read_task

        return read_task(self.task)


@dataclass(frozen=True)
class Device:
    """Options for a person's name, the file that keeps the first report, and the column of the value."""

    id: str | None = perhaps("NAME", "The person's name, for a file with one row: one report of each name counts.")
    kept: str | None = perhaps("FILE", "A file that keeps the report: the next call gives the same one.")
    column: str | None = perhaps("NAME", "Where the value stands, if the file calls it otherwise than the task.")


@dataclass(frozen=True)
class FirstClass:
    """Options of a second round: the class that reported its scores, and the size of the other class."""

    of: str = option("CLASS", "Whose scores were reported: negatives or positives.")
    people: str = option("N", "About how many of the other class will report.")
    names: Annotated[bool, Option(help="Write hashes of who reported, so that nobody reports in both rounds.")] = True


@dataclass(frozen=True)
class Received:
    """Argument for the files of reports that people sent."""

    reports: list[str] = argument("REPORTS...", "Files of reports.")

    def added_up(self, asked: Task) -> Collection:
        """Collection of all reports in these files."""
        from .. import Collection

        collection = Collection(asked)
        with waiting("reports are added up"):
            for name in self.reports:
                collection.add_file(name)
        return collection


def task(column: ColumnOptions, cells: CellOptions, wanted: Wanted, price: Price, new: NewFile) -> None:
    """Make a task for people who trust nobody.

    The document is public: it says what is asked, and what one report may lose.

    With --kernel auc and no --label, it asks the people of one class, whose labels are public, for their scores.

    Example: dpcurves local task --column age --grid 0:100:64 --people 100000 --epsilon 2 --out task.json
    """
    made = wanted.task(column, cells, price.loss())
    made.write(new.out)
    plan = made.plan
    error = f"standard error: about {plan.error:.4g} of {made.people} people ({plan.error / made.people:.3%})"
    say(terminal(), f"{made.question}: {made.loss}, {plan.made_by}", error, *ASSUMED, f"written: {new.out}")


@dataclass(frozen=True)
class Invited:
    """Options for the key that signs invitations, and for the file of names."""

    inviting: str = option("FILE", "The secret key that local task has made.")
    names: str = option("FILE", "A text file with the name of a person in each line.")

    def people(self) -> list[str]:
        """The names, each once. Raises `Misuse`: the file can not be read, or a name stands there twice."""
        from ..report_file import folded

        try:
            lines = Path(self.names).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise Misuse("names", f"{self.names!r} can not be read as text in UTF-8") from None
        people = [line.strip() for line in lines if line.strip()]
        if not people or len({folded(person) for person in people}) < len(people):
            raise Misuse("names", "at least one name is needed, and each once; case and spaces make no other name")
        return people


def invite(document: Document, invited: Invited, new: NewFile) -> None:
    """Sign an invitation for each person: a server of the task takes one report of each, and no others.

    The file that is written is secret: it has a line for each person, with the name and the invitation, as CSV.

    Example: dpcurves local invite --task task.json --inviting key.pem --names people.txt --out invitations.csv
    """
    import csv
    from io import StringIO

    from .. import Inviter

    asked, inviter, people = document.read(), Inviter.found(invited.inviting), invited.people()
    lines = StringIO()
    csv.writer(lines, lineterminator="\n").writerows(
        [("person", "invitation"), *((person, inviter.invitation(asked, person)) for person in people)]
    )
    new.write(lines.getvalue().encode())
    say(terminal(), f"written: {new.out} (secret), {len(people)} invitations")


def randomize(source: SourceOptions, document: Document, device: Device, new: NewFile) -> None:
    """Randomise the value of one person, or of the people of a file, a row each. Nothing else has to leave the device.

    Example: dpcurves local randomize me.csv --task task.json --id anna --kept kept.db --out report.bin
    """
    from .. import Kept

    asked, column, delimiter = document.read(), device.column, source.delimiter
    if device.id is None:
        if device.kept is not None:
            raise Misuse("kept", "a report is kept for a person: give --id, too")
        new.write(asked.randomize_table(source.records(), column=column, delimiter=delimiter))
    else:
        kept = None if device.kept is None else Kept.at(device.kept)
        report = asked.randomize_one(source.records(), device.id, column=column, delimiter=delimiter, kept=kept)
        new.write(report)
    say(terminal(), f"written: {new.out}")


def aggregate(received: Received, document: Document, kernel: Kernel, output: Output) -> None:
    """Add up reports, one of each person, and compute the curve, and a statistic of pairs of people.

    Example: dpcurves local aggregate reports.bin --task task.json --plot cdf.svg
    """
    from .. import SecondRound

    files = [InputFile("the reports", Path(name)) for name in received.reports]
    output.require_apart(InputFile("the task document", Path(document.task)), *files)
    asked = document.read()
    if isinstance(asked, SecondRound):
        _say_area(asked, received, output)
        return
    required(kernel.kernel, asked.question)
    view = _view(asked, output)
    output.require_writable()
    collection = received.added_up(asked)
    with quietly():
        curve = collection.curve()
    made = f"mechanism: {curve.privacy.mechanism}", told_of(collection), *ASSUMED
    delivered(
        asked.question, curve, view, output, lambda written: (*made, *kernel.said(curve, output), *written)
    )  # fmt: skip


def publish(received: Received, document: Document, first: FirstClass, new: NewFile) -> None:
    """Read the scores that one class reported, and publish what the other class is asked: one bit of each person.

    The document is public. `dpcurves plan local` says which class to ask first, or whether to ask both at once.

    Example: dpcurves local publish reports.bin --task negatives.json --of negatives --people 500 --out round2.json
    """
    from .. import First
    from .. import publish as published

    if first.of not in tuple(First):
        raise Misuse("of", f"one of {', '.join(First)} is needed, got {first.of!r}")
    collection = received.added_up(document.read())
    with quietly():
        second = published(collection, First(first.of), whole("people", first.people), names=first.names)
    second.write(new.out)
    say(terminal(), f"round 2: {second.plan.made_by}", told_of(collection), *ASSUMED, f"written: {new.out}")


def _say_area(asked: SecondRound, received: Received, output: Output) -> None:
    """Print the AUC of a task of two rounds: a number without a plot."""
    for field in ("json", "plot", "csv", "xlsx", "html"):
        if getattr(output, field) is not None:
            raise Misuse(field, "of an area in two rounds a number is told, no curve: leave it out")
    level, collection = output.simulated(), received.added_up(asked)
    with quietly():
        area = collection.curve()
    area_said = f"AUC {area.value:.4f}: {_covering(area.interval, level, output, '.4f')}"
    say(terminal(), area_said, f"mechanism: {asked.plan.made_by}", told_of(collection), *area.said, *ASSUMED)


def told_of(collection: Collection) -> str:
    """Line with the numbers of reports: counted, repeated and refused."""
    told = f"reports: {collection.reports} counted, {collection.repeated} repeated, {collection.refused} refused"
    return f"{told}, {collection.met} of people who reported in the first round" if collection.met else told


def _view(asked: Task, output: Output) -> View[Any]:
    from dpcurves.curves import Histogram2DQuestion, HistogramQuestion, RocQuestion

    if isinstance(asked.question, Histogram2DQuestion):
        return Histogram2DView()
    kinds: dict[type, type[ResultView]] = {RocQuestion: RocView, HistogramQuestion: HistogramView}
    return kinds.get(type(asked.question), ResultView)(output.covering())


LOCAL_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"task": task, "invite": invite, "randomize": randomize, "aggregate": aggregate, "publish": publish}
)
