"""Commands for tasks: make a server's keys, propose a grid, create a task, show it, and close its collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

from dpcurves.cli import options as of
from dpcurves.cli.options import Argument, Option
from dpcurves.cli.terminal import Misuse, require_packages, say, terminal, waiting

from .pair_tasks import Bearer, OfPairs, Parties, create_of_pairs
from .pair_tasks import close as close_people

if TYPE_CHECKING:
    from dpcurves.cli.options import Command
    from dpcurves.data import Axis, Categories, Grid

    from ..pairs import PairTask
    from ..shares import Task
    from ..shares.task import Reported


SPREAD = 100.0
"""Ratio of large to small values from which on cells of equal ratios are proposed."""
TRIMMED = 0.05
"""Part of the sample on either side that does not decide between equal widths and equal ratios."""
STEPS = 10
"""Bounds are multiples of a round step, about so many of which the range of the sample is."""
FEWEST = 8
"""Values that a sample has at least: of fewer nothing follows."""
PUBLIC = "the sample must be public: published records, or made-up ones; never a part of the table that is protected"


def suggest(
    sample: Annotated[str, Argument(metavar="SAMPLE", help="A small file of public records: CSV or Parquet.")],
    *,
    column: Annotated[str, Option(help=of.A_COLUMN, metavar="NAME")],
    cells: Annotated[str, Option(help="How many cells to propose.", metavar="N")] = "256",
) -> None:
    """Propose a grid for a task from a small public sample: two servers and the local model cannot look for one.

    The range of the sample is widened by a step at each end, to round numbers, but not across zero. Values beyond are
    clamped, or counted apart, as the task says.

    Example: dpcurves task suggest published.csv --column amount
    """
    low, high, inner = _seen(sample, column)
    grid = proposed(low, high, inner, of.whole("cells", cells))
    say(terminal(), f"--grid {grid}", PUBLIC)


def proposed(low: float, high: float, inner: tuple[float, float], cells: int) -> str:
    """The grid as an option takes it.

    Args:
        low: The least value that was seen.
        high: The largest one.
        inner: Values between which most lie.
        cells: The number of cells.

    >>> proposed(18, 93, (22, 80), 64), proposed(0.5, 90_000, (2, 30_000), 64)
    ('10:100:64', 'geometric:0.1:100000:64')
    """
    if inner[0] > 0 and inner[1] >= SPREAD * inner[0]:
        least = low if low > 0 else inner[0]
        ends = floor(log10(least) - 1e-9), ceil(log10(high) + 1e-9)
        return f"geometric:{float(f'1e{ends[0]}'):.15g}:{float(f'1e{ends[1]}'):.15g}:{cells}"
    width = (high - low) / STEPS if high > low else max(abs(high), 1.0) / STEPS
    power = floor(log10(width))
    step = next(digit * 10.0**power for digit in (1, 2, 5, 10) if digit * 10.0**power >= width * (1 - 1e-9))
    first, last = floor(low / step - 1e-9), ceil(high / step + 1e-9)
    first = max(first, 0) if low >= 0 else first
    last = min(last, 0) if high <= 0 else last
    return f"{first * step:.15g}:{last * step:.15g}:{cells}"


def _seen(sample: str, column: str) -> tuple[float, float, tuple[float, float]]:
    """The least and the largest value of a public sample, and two between which most of them lie.

    Raises:
        Misuse: it has too few values.
    """
    import numpy as np

    from dpcurves.curves import UnboundedCdfQuestion
    from dpcurves.privacy import Neighbours, PrivacyLoss
    from dpcurves.session import Session
    from dpcurves.shortcuts import EXACTLY

    exact = PrivacyLoss.pure(EXACTLY)
    with catch_warnings(), Session(sample, budget=exact, adjacency=Neighbours.ADD_REMOVE) as session:
        simplefilter("ignore")  # what a released curve is warned of is no matter of a public sample
        curve = session.ask(UnboundedCdfQuestion(column), exact)
    if curve.count < FEWEST:
        raise Misuse("sample", f"at least {FEWEST} records with a number in this column are needed")
    half = 0.5 / curve.count
    low, high = curve.x[np.searchsorted(curve.y, half) - 1], curve.x[np.searchsorted(curve.y, 1 - half)]
    below, above = curve.quantile([TRIMMED, 1 - TRIMMED])
    return float(low), float(high), (float(below), float(above))


EXTRA = "two servers need more packages than one curator; install dpcurves[servers]"
require_extra = partial(
    require_packages, "task", EXTRA, "httptools", "prometheus_client", "starlette", "uvicorn",
    "cryptography.hazmat.primitives.hpke", "Cryptodome", "pyhpke",
)  # fmt: skip
"""Refuse if the optional packages of the extra ``servers`` are missing."""


@dataclass(frozen=True)
class ServerPlace:
    """Options for a server's folder of keys, and for its URL."""

    folder: str = of.argument("FOLDER", "Where its keys are kept; made if it is not there.")
    url: str = of.option("URL", "Where it answers: https://host:port.")


@dataclass(frozen=True)
class RotatedKeys:
    """Options for the folder of keys that are rotated."""

    folder: str = of.argument("FOLDER", "Where its keys are kept.")
    url: str | None = of.perhaps("URL", "Make a new certificate, too, for a server at this address: https://host:port.")


@dataclass(frozen=True)
class CountedColumn:
    """Options for the column of numbers that is counted."""

    column: str | None = of.perhaps("NAME", "A column of numbers, whose values are counted; or ask --pairs.")
    measured_in: str = of.option("UNIT", "Its unit of measurement, for the picture.", "")

    def named(self) -> str:
        """Name of the column. Raises `Misuse`: no column was given."""
        if self.column is None:
            raise Misuse("column", "name with --column what is counted, or ask pairs of people with --pairs")
        return self.column


@dataclass(frozen=True)
class Classes(of.Split):
    """Options for labels of two classes, for curves of a score, or for categories."""

    label: str | None = of.perhaps("NAME", "The column of true labels of the scores.")
    pos_label: str = of.option("LABEL", "The positive label; other labels are missing.", "1")
    neg_label: str | None = of.perhaps(
        "LABEL", "The negative label; not needed where the positive one is 1, 0, -1, true or false."
    )

    def declared(self) -> Categories | None:
        """The two classes, or the categories; None: neither. Raises `Misuse`: both are given."""
        from dpcurves.curves.question import labels

        by = super().declared()
        if isinstance(by, tuple):
            raise Misuse("by", "a task has one column of categories")
        if self.label is None:
            return by
        if by is not None:
            raise Misuse("by", "a task has two classes or categories, not both; leave --label or --by out")
        return labels(
            self.label,
            of.category("pos_label", self.pos_label),
            None if self.neg_label is None else of.category("neg_label", self.neg_label),
        )


APART = ":apart"


@dataclass(frozen=True)
class Beside:
    """Option for more columns of the same table."""

    beside: list[str] | None = of.perhaps(
        "NAME=...",
        "A column that is counted together with --column, after --label or --by: its categories NAME=A,B,C, or"
        " its cells NAME=L:U:N, with :apart where values outside are counted in cells of their own. Given once for"
        " each, in the order of the table.",
    )

    def declared(self) -> tuple[Axis | Categories, ...]:
        """The columns. Raises `Misuse`: one is of another form, or stands there twice."""
        return tuple(map(_beside, self.beside or ()))


def _beside(given: str) -> Axis | Categories:
    from dpcurves.data import Axis, Categories, Outside

    column, sign, declared = given.partition("=")
    if not (column and sign and declared):
        raise Misuse("beside", f"NAME=L:U:N or NAME=A,B,C is needed, got {given!r}")
    if ":" not in declared or '"' in declared:
        return Categories(column, of.categories("beside", declared))
    grid = of.grid_of("beside", declared.removesuffix(APART))
    return Axis(column, grid.with_outside(Outside.APART) if declared.endswith(APART) else grid)


@dataclass(frozen=True)
class ReportForm:
    """Option for the encoding of reports."""

    encoding: Annotated[
        str,
        Option(
            help="tree: short reports for any grid; histogram: Prio3Histogram, which servers check faster from some 256"
            " cells on, and any client of the DAP draft can send; its reports are 16 bytes longer for each cell.",
            metavar="FORM",
        ),
    ] = "tree"

    def reported(self) -> Reported:
        """Kind of the reports."""
        from ..shares.task import Reported

        return of.chosen("encoding", self.encoding, {each.value: each for each in Reported})


@dataclass(frozen=True)
class ListedEdges:
    """Options for the edges at which answers are proved, where a grid is too fine to count all cells."""

    proved_at: str | None = of.perhaps(
        "X,X,X",
        "With --check answers, on a grid too fine to count all cells: prove counts below these values, at the nearest"
        " edges; else below up to 64 even ones.",
    )
    proved_points: str | None = of.perhaps("N", "As --proved-at, at so many evenly spaced edges.")

    def of(self, grid: Grid) -> tuple[int, ...] | None:
        """Indices of the edges; None: none were named. Raises `Misuse`: they are named in both ways."""
        if self.proved_points is None:
            return None if self.proved_at is None else of.nearest_edges(self.proved_at, grid, "proved-at")
        if self.proved_at is not None:
            raise Misuse("proved-points", "give --proved-at or --proved-points, not both")
        return of.edges_evenly(self.proved_points, grid, "proved-points")


@dataclass(frozen=True)
class Counts:
    """Options for the counts of two servers: column, grid, classes, columns beside, encoding, and proved edges."""

    counted: CountedColumn
    cells: of.CellOptions
    classes: Classes
    others: Beside
    form: ReportForm
    proved: ListedEdges

    @classmethod
    def unsaid(cls) -> Counts:
        """Options with no value given."""
        return cls(CountedColumn(), of.CellOptions(), Classes(), Beside(), ReportForm(), ListedEdges())


@dataclass(frozen=True)
class TaskFile(of.TaskDocument):
    """Option for the document of a task of two servers, or of people in pairs."""

    def read(self) -> Task:
        """Read the task, which asks for counts of two servers."""
        from ..shares import Task

        return Task.read(self.task)

    @property
    def is_of_people(self) -> bool:
        """True if the task is of people in pairs, each with a device."""
        from ..pairs import Trust

        return self.is_of_pairs and self.of_pairs().trust is Trust.PEOPLE

    @property
    def is_of_pairs(self) -> bool:
        """True if the task is of pairs, computed by people or by two servers."""
        from ..pairs import PairTask
        from ..serving.task_document import kind_of, text_of

        return kind_of(text_of(self.task)) == PairTask.KIND

    def of_pairs(self) -> PairTask:
        """Read the task, which is of pairs."""
        from ..pairs import PairTask

        return PairTask.read(self.task)


def identity(place: ServerPlace) -> None:
    """Make the keys of a server.

    Its public keys and address are written to FOLDER/server.json: give that file to whoever makes the task.

    Example: dpcurves task identity a0 --url https://127.0.0.1:8701
    """
    require_extra()
    from ..serving.identity import PUBLIC, Identity

    made = Identity.found(Path(place.folder), place.url)
    say(terminal(), f"written: {made.folder / PUBLIC} (public); the keys beside it are secret")


def rotate(keys: RotatedKeys) -> None:
    """Let new keys of a server take the place of those before, which are kept in FOLDER/before-1 and so on.

    Give the new FOLDER/server.json to whoever makes the next task. Tasks that name keys from before go on: the server
    reads those keys beside the new ones. With --url there is a new certificate, too, for a server of its own there.

    Example: dpcurves task rotate a0
    """
    require_extra()
    from ..serving.identity import PUBLIC, Identity

    made = Identity.read(Path(keys.folder)).rotated(keys.url)
    kept = made.earlier[-1].folder
    say(terminal(), f"written: {made.folder / PUBLIC} (public); keys of tasks before are in {kept}")


def create(counts: Counts, price: of.Price, of_pairs: OfPairs, parties: Parties) -> None:
    """Make a task for two servers, or for people in pairs.

    Two servers count all cells of the grid, by class or category if there are any; or, where these are too many to be
    laid out, thresholds one after the other. With --beside they count one table of several columns. With --pairs, the
    mean of a kernel over pairs of people is asked instead.

    The document is public. Each owner, each analyst and the coordinator, who closes the task, gets a ticket.

    Example: dpcurves task create --column arr_delay --grid -100:1300:4096 --epsilon 1 --reports-per-owner 5000
    --servers a0/server.json,a1/server.json --owners 5 --out task.json --tickets tickets
    """
    require_extra()
    if of_pairs.pairs is not None:
        require_unsaid("a task of pairs reads --columns: leave it out", counts, Counts.unsaid())
        create_of_pairs(of_pairs, price, parties)
        return
    require_unsaid("it belongs to tasks of pairs: say with --pairs in how many a person is", of_pairs, OfPairs())
    from ..shares import Task
    from ..shares.analyst import statement

    (first, second), checked, keys = parties.known(2), parties.checked(), parties.proving()
    grid = counts.cells.declared()
    draft = Task(
        parties.name, counts.counted.named(), grid, counts.classes.declared(), price.loss(),
        parties.reports(), (first, second), {}, counts.counted.measured_in, owners=checked, least=parties.passing(),
        beside=counts.others.declared(), proofs=() if keys is None else keys.hashes, enrols=parties.enrol,
        reported=counts.form.reported(),
    )  # fmt: skip
    if (edges := counts.proved.of(grid)) is not None:
        draft = replace(draft, proved_at=draft.below(edges))
    say(
        terminal(),
        *statement(parties.found(draft, keys=keys)),
        f"written: {parties.out}, and tickets in {parties.tickets}",
    )


def require_unsaid(rule: str, given: Any, nothing: Any) -> None:
    """Refuse options of a group that do not apply but were given. Raises `Misuse`."""
    usual = of.values_of(nothing)
    said = next((name for name, value in of.values_of(given).items() if value != usual[name]), None)
    if said is not None:
        raise Misuse(said.replace("_", "-"), rule)


def show(document: TaskFile) -> None:
    """Show the guarantee of a task, and its trust assumptions.

    Example: dpcurves task show --task task.json
    """
    require_extra()
    if document.is_of_pairs:
        from ..pairs.task import statement as statement_of_pairs

        say(terminal(), *statement_of_pairs(document.of_pairs()))
        return
    from ..shares.analyst import statement

    say(terminal(), *statement(document.read()))


def close(document: TaskFile, bearer: Bearer) -> None:
    """End the collection: both servers agree on the reports that count.

    No more are taken; those that reached one server only are dropped. Questions are answered from now on. Of a task of
    pairs, servers are shown the seed that lies beside the coordinator's ticket: who meets whom follows from it.

    Example: dpcurves task close --task task.json --ticket tickets/coordinator-1
    """
    require_extra()
    if document.is_of_people:
        close_people(document.of_pairs(), bearer)
        return
    from ..pairs import PairTask, read_seed
    from ..serving.task_document import Role, Ticket
    from ..serving.two_servers.owner import beside
    from ..serving.two_servers.owner import close as close_task

    ticket = Ticket.read(bearer.ticket, Role.COORDINATOR)
    task: Task | PairTask = document.of_pairs() if document.is_of_pairs else document.read()
    seed = read_seed(Path(bearer.ticket), task) if isinstance(task, PairTask) else None
    with waiting("the servers agree on the reports"):
        kept = beside(Path(bearer.ticket))
        closed = close_task(task, ticket, patience=bearer.seconds, seed=seed, kept=kept)
    senders = f"from {closed.owners} of {len(task.tokens[Role.OWNER])} owners"
    say(terminal(), f"closed: {closed.reports} reports reached both servers, {senders}; their hash is {closed.set}")


TASK_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"identity": identity, "rotate": rotate, "suggest": suggest, "create": create, "show": show, "close": close}
)
