"""Commands for tasks: make a server's keys, propose a grid, create a task, show it, and close its collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings, simplefilter

from dpcurves.cli import options
from dpcurves.cli.options import Argument, Option
from dpcurves.cli.terminal import Misuse, make_console, print_to_console, require_packages, show_spinner

from .pair_tasks import Bearer, PairOptions, Parties, create_pair_task
from .pair_tasks import close as close_people

if TYPE_CHECKING:
    from dpcurves.cli.options import Command
    from dpcurves.data import Axis, Categories, Grid

    from ..pairs import PairTask
    from ..shares import Task
    from ..shares.task import ReportKind


SAMPLE_STEPS = 10
"""Round steps that the range of the sample covers, approximately; one is added at each end of the proposed grid. More
steps give ends closer to the sample."""
PUBLIC_SAMPLE_WARNING = "the sample must be public: published or synthetic records, never a part of the protected table"
"""Line printed below a proposed grid: a warning, because the grid reveals the range of the sample."""


def suggest(
    sample: Annotated[str, Argument(metavar="SAMPLE", help="Small file of public records: CSV or Parquet.")],
    *,
    column: Annotated[str, Option(help=options.COLUMN_HELP, metavar="NAME")],
    cells: Annotated[str, Option(help="Number of cells to propose.", metavar="N")] = "256",
) -> None:
    """Propose a grid for a task from a small public sample. Two servers and the local model cannot search for a grid.

    The range of the sample is widened by a step at each end, to round numbers, but not across zero. Values outside are
    clipped, or counted apart, as the task declares.

    Example: dpcurves task suggest published.csv --column amount
    """
    low, high, central_range = _find_sample_range(sample, column)
    grid = propose_grid(low, high, central_range, options.parse_integer("cells", cells))
    print_to_console(make_console(), f"--grid {grid}", PUBLIC_SAMPLE_WARNING)


def propose_grid(low: float, high: float, central_range: tuple[float, float], cells: int) -> str:
    """Return a grid around a sample's values as text for the option --grid, with round ends and the given number of
    cells.

    Args:
        low: Smallest value of the sample.
        high: Largest value of the sample.
        central_range: Values between which most of the sample lies.
        cells: Number of cells.

    >>> propose_grid(18, 93, (22, 80), 64), propose_grid(0.5, 90_000, (2, 30_000), 64)
    ('10:100:64', 'geometric:0.1:100000:64')
    """
    # 100.0: ratio of the central range's endpoints from which cells of equal ratios are proposed instead of equal
    # widths
    if central_range[0] > 0 and central_range[1] >= 100.0 * central_range[0]:
        least = low if low > 0 else central_range[0]
        exponents = floor(log10(least) - 1e-9), ceil(log10(high) + 1e-9)
        return f"geometric:{float(f'1e{exponents[0]}'):.15g}:{float(f'1e{exponents[1]}'):.15g}:{cells}"
    width = (high - low) / SAMPLE_STEPS if high > low else max(abs(high), 1.0) / SAMPLE_STEPS
    power = floor(log10(width))
    step = next(digit * 10.0**power for digit in (1, 2, 5, 10) if digit * 10.0**power >= width * (1 - 1e-9))
    first = floor(low / step - 1e-9)
    last = ceil(high / step + 1e-9)
    first = max(first, 0) if low >= 0 else first
    last = min(last, 0) if high <= 0 else last
    return f"{first * step:.15g}:{last * step:.15g}:{cells}"


def _find_sample_range(sample: str, column: str) -> tuple[float, float, tuple[float, float]]:
    """Return the smallest and the largest value of a public sample, and its central range.

    Args:
        sample: Path of the sample.
        column: Name of the column.

    Returns:
        Smallest value, largest value, and (low, high) of the range without 5 % of the values on either side.

    Raises:
        Misuse: the sample has too few values.
    """
    import numpy as np

    from dpcurves.curves import AutoRangeCdfQuestion
    from dpcurves.privacy import Neighbours, PrivacyLoss
    from dpcurves.session import Session
    from dpcurves.shortcuts import NOISELESS_EPSILON

    exact = PrivacyLoss.pure(NOISELESS_EPSILON)
    with catch_warnings(), Session(sample, budget=exact, adjacency=Neighbours.ADD_REMOVE) as session:
        simplefilter("ignore")  # warnings about released curves do not apply to a public sample
        curve = session.ask(AutoRangeCdfQuestion(column), exact)
    fewest = 8  # values of a sample from which a grid is proposed: fewer say too little of the range
    if curve.count < fewest:
        raise Misuse(
            "sample",
            f"must have at least {fewest} records with a number in this column; give a larger sample, or another "
            "column",
        )
    half = 0.5 / curve.count
    low, high = curve.x[np.searchsorted(curve.y, half) - 1], curve.x[np.searchsorted(curve.y, 1 - half)]
    trimmed = 0.05  # fraction of the sample's values outside the central range, on either side
    below, above = curve.quantile([trimmed, 1 - trimmed])
    return float(low), float(high), (float(below), float(above))


MISSING_PACKAGES_MESSAGE = "two servers need more packages than one curator; install dpcurves[servers]"
"""Error message if a command for two servers is used without the packages of this extra."""
require_extra = partial(
    require_packages, "task", MISSING_PACKAGES_MESSAGE, "httptools", "prometheus_client", "starlette", "uvicorn",
    "cryptography.hazmat.primitives.hpke", "Cryptodome", "pyhpke",
)  # fmt: skip
"""Refuse if the optional packages of the extra ``servers`` are missing."""


@dataclass(frozen=True)
class ServerKeyOptions:
    """Options for a server's folder of keys, and for its URL."""

    folder: str = options.argument("FOLDER", "Folder for its keys; created if missing.")
    url: str = options.option("URL", "URL of the server: https://host:port.")


@dataclass(frozen=True)
class KeyRotationOptions:
    """Options for the folder of keys that are rotated."""

    folder: str = options.argument("FOLDER", "Folder with its keys.")
    url: str | None = options.optional("URL", "Also make a new certificate, for this address: https://host:port.")


@dataclass(frozen=True)
class CountedColumn:
    """Options for the column of numbers that is counted."""

    column: str | None = options.optional(
        "NAME", "Column of numbers that is counted, or an SQL expression of columns; or use --pairs."
    )
    measured_in: str = options.option("UNIT", "Unit of measurement, for plots.", "")
    where: str = options.option(
        "CONDITION",
        'Count only records (with --pairs, pairs of people) that meet an SQL condition, e.g. "age >= 65". Each owner '
        "evaluates it; it is public.",
        "",
    )

    def require_column(self) -> str:
        """Return the name of the column that --column names; the option must be given.

        Raises:
            Misuse: no column was given.
        """
        if self.column is None:
            raise Misuse("column", "must be given to count a column; to ask pairs of people, give --pairs instead")
        return self.column


@dataclass(frozen=True)
class Classes(options.SplitOptions):
    """Options for labels of two classes, for curves of a score, or for categories."""

    label: str | None = options.optional("NAME", "Column of the true labels of the scores.")
    pos_label: str = options.option("LABEL", "Positive label; other labels are missing.", "1")
    neg_label: str | None = options.optional(
        "LABEL", "Negative label; not needed if the positive label is 1, 0, -1, true or false."
    )

    def parse_categories(self) -> Categories | None:
        """Return the task's two classes (--label) or its categories (--by); None if neither was typed.

        Raises:
            Misuse: both were typed, or --by names several columns.
        """
        from dpcurves.curves.question import parse_class_labels

        by = super().parse_categories()
        if isinstance(by, tuple):
            raise Misuse("by", "must be a single column in a task; give --by once")
        if self.label is None:
            return by
        if by is not None:
            raise Misuse("by", "a task has two classes or categories, not both; leave --label or --by out")
        return parse_class_labels(
            self.label,
            options.parse_label("pos_label", self.pos_label),
            None if self.neg_label is None else options.parse_label("neg_label", self.neg_label),
        )


OUTSIDE_APART_SUFFIX = ":apart"
"""End of the value of --beside by which values outside the column's grid are counted in cells of their own instead of
clipped."""


@dataclass(frozen=True)
class OtherColumns:
    """Option for more columns of the same table."""

    beside: list[str] | None = options.optional(
        "NAME=...",
        "Further column that is counted together with --column, after --label or --by: categories NAME=A,B,C, or"
        " cells NAME=L:U:N, with :apart to count values outside in separate cells. Repeat it for each column, in the"
        " order of the table.",
    )

    def parse_columns(self) -> tuple[Axis | Categories, ...]:
        """Return the axis of each further column (--beside), in the order typed; empty without.

        Raises:
            Misuse: a column is invalid or repeated.
        """
        return tuple(map(_parse_column, self.beside or ()))


def _parse_column(text: str) -> Axis | Categories:
    """Return one further column: categories of ``NAME=A,B,C``, or cells of ``NAME=L:U:N``.

    Raises:
        Misuse: the text has another form.
    """
    from dpcurves.data import Axis, Categories, Outside

    column, separator, declared = text.partition("=")
    if not (column and separator and declared):
        raise Misuse("beside", f"must be NAME=L:U:N or NAME=A,B,C, as in age=0:100:20, got {text!r}")
    if ":" not in declared or '"' in declared:
        return Categories(column, options.parse_labels("beside", declared))
    grid = options.parse_grid("beside", declared.removesuffix(OUTSIDE_APART_SUFFIX))
    return Axis(column, grid.with_outside(Outside.APART) if declared.endswith(OUTSIDE_APART_SUFFIX) else grid)


@dataclass(frozen=True)
class ReportForm:
    """Option for the encoding of reports."""

    encoding: Annotated[
        str,
        Option(
            help="tree: short reports for any grid; histogram: Prio3Histogram, which servers check faster above about"
            " 256 cells, and any client of the DAP draft can send; its reports are 16 bytes longer per cell.",
            metavar="FORM",
        ),
    ] = "tree"

    def parse_encoding(self) -> ReportKind:
        """Return the kind of reports that --encoding names: comparison keys (trees) or one-hot vectors.

        Raises:
            Misuse: the word names no kind.
        """
        from ..shares.task import ReportKind

        return options.parse_choice("encoding", self.encoding, {kind.value: kind for kind in ReportKind})


@dataclass(frozen=True)
class ProvedEdges:
    """Options for the edges at which answers are proved, where a grid is too fine to count all cells."""

    proved_at: str | None = options.optional(
        "X,X,X",
        "With --check answers, if the grid is too fine to count all cells: values at whose nearest edges counts are"
        " proved; default: up to 64 evenly spaced edges.",
    )
    proved_points: str | None = options.optional("N", "Like --proved-at, for a number of evenly spaced edges.")

    def find_indices(self, grid: Grid) -> tuple[int, ...] | None:
        """Return the indices in the grid of the edges whose counts servers prove; None if neither option was typed.

        Raises:
            Misuse: both --proved-at and --proved-points were typed, or a value names no edge.
        """
        if self.proved_points is None:
            return None if self.proved_at is None else options.parse_nearest_edges(self.proved_at, grid, "proved-at")
        if self.proved_at is not None:
            raise Misuse("proved-points", "give --proved-at or --proved-points, not both")
        return options.parse_even_edges(self.proved_points, grid, "proved-points")


@dataclass(frozen=True)
class Counts:
    """Options for the counts of two servers: column, grid, classes, further columns, encoding, and proved edges."""

    counted_column: CountedColumn
    cells: options.CellOptions
    classes: Classes
    others: OtherColumns
    form: ReportForm
    proved_edges: ProvedEdges

    @classmethod
    def create_default(cls) -> Counts:
        """Return the options with no value given, by which `refuse_options` sees which were typed."""
        return cls(CountedColumn(), options.CellOptions(), Classes(), OtherColumns(), ReportForm(), ProvedEdges())


@dataclass(frozen=True)
class TaskFile(options.TaskDocument):
    """Option for the document of a task of two servers, or of people in pairs."""

    def read_task(self) -> Task:
        """Read the task, which must be a task of counts."""
        from ..shares import Task

        return Task.load(self.task)

    @property
    def is_of_people(self) -> bool:
        """True if the task is of people in pairs, each with a device."""
        from ..pairs import Trust

        return self.is_of_pairs and self.read_pair_task().trust is Trust.PEOPLE

    @property
    def is_of_pairs(self) -> bool:
        """True if the task is of pairs, computed by people or by two servers."""
        from ..pairs import PairTask
        from ..serving.task_document import parse_task_type, read_document_text

        return parse_task_type(read_document_text(self.task)) == PairTask.KIND

    def read_pair_task(self) -> PairTask:
        """Read the task, which must be a task of pairs."""
        from ..pairs import PairTask

        return PairTask.load(self.task)


def identity(place: ServerKeyOptions) -> None:
    """Make the keys of a server.

    Its public keys and address are written to FOLDER/server.json: give that file to the coordinator who creates the
    task.

    Example: dpcurves task identity a0 --url https://127.0.0.1:8701
    """
    require_extra()
    from ..serving.identity import PUBLIC_FILE, Identity

    server_identity = Identity.create(Path(place.folder), place.url)
    print_to_console(
        make_console(), f"written: {server_identity.folder / PUBLIC_FILE} (public); the keys beside it are secret"
    )


def rotate(keys: KeyRotationOptions) -> None:
    """Replace the keys of a server. Earlier keys are kept in FOLDER/before-1 and so on.

    Give the new FOLDER/server.json to the coordinator of the next task. Tasks with earlier keys continue: the server
    loads all keys. With --url, a new certificate is made too, for a server at this address.

    Example: dpcurves task rotate a0
    """
    require_extra()
    from ..serving.identity import PUBLIC_FILE, Identity

    server_identity = Identity.load(Path(keys.folder)).rotate(keys.url)
    previous_folder = server_identity.previous_identities[-1].folder
    print_to_console(
        make_console(),
        f"written: {server_identity.folder / PUBLIC_FILE} (public); keys of earlier tasks are in {previous_folder}",
    )


def create(counts: Counts, price: options.LossOptions, pair_options: PairOptions, parties: Parties) -> None:
    """Create a task for two servers, or for people in pairs.

    Two servers count all cells of the grid, by class or category if given; or, if there are too many cells, evaluate
    single thresholds. With --beside they count one table of several columns. With --pairs, the task asks for the mean
    of a kernel over pairs of people.

    The document is public. Each owner, each analyst and the coordinator, who closes the task, gets a ticket.

    Example: dpcurves task create --column arr_delay --grid -100:1300:4096 --epsilon 1 --reports-per-owner 5000
    --servers a0/server.json,a1/server.json --owners 5 --out task.json --tickets tickets
    """
    require_extra()
    if pair_options.pairs is not None:
        where = counts.counted_column.where
        unfiltered = replace(counts.counted_column, where="")
        refuse_options(
            "applies to counts; leave it out, because a task of pairs uses --columns",
            replace(counts, counted_column=unfiltered),
            Counts.create_default(),
        )
        create_pair_task(pair_options, price, parties, where)
        return
    refuse_options("applies to tasks of pairs; give the pairs of a person with --pairs", pair_options, PairOptions())
    from ..shares import Task
    from ..shares.analyst import describe_task

    (first, second), checked, keys = parties.read_servers(2), parties.parse_check(), parties.create_proof_keys()
    grid = counts.cells.parse_grid()
    draft = Task(
        parties.name, counts.counted_column.require_column(), grid, counts.classes.parse_categories(), price.loss(),
        parties.parse_reports(), (first, second), {}, counts.counted_column.measured_in, owners=checked,
        min_valid_share=parties.parse_min_valid_share(), beside=counts.others.parse_columns(),
        proof_key_hashes=() if keys is None else keys.hashes, enrols=parties.invitations,
        report_kind=counts.form.parse_encoding(), where=counts.counted_column.where,
    )  # fmt: skip
    if (edges := counts.proved_edges.find_indices(grid)) is not None:
        draft = replace(draft, proved_at=draft.find_thresholds(edges))
    print_to_console(
        make_console(),
        *describe_task(parties.create_task(draft, keys=keys)),
        f"written: {parties.out}, and tickets in {parties.tickets}",
    )


def refuse_options(rule: str, group: Any, defaults: Any) -> None:
    """Refuse options of a group that do not apply: check that none of them was typed.

    Args:
        rule: What the message says: why the options do not apply.
        group: Options as typed.
        defaults: Options of the same class with their default values.

    Raises:
        Misuse: an option differs from its default.
    """
    default_values = options.values_of(defaults)
    given_name = next((name for name, value in options.values_of(group).items() if value != default_values[name]), None)
    if given_name is not None:
        raise Misuse(given_name.replace("_", "-"), rule)


def show(document: TaskFile) -> None:
    """Show the guarantee of a task, and its trust assumptions.

    Example: dpcurves task show --task task.json
    """
    require_extra()
    if document.is_of_pairs:
        from ..pairs.task import describe_guarantee

        print_to_console(make_console(), *describe_guarantee(document.read_pair_task()))
        return
    from ..shares.analyst import describe_task

    print_to_console(make_console(), *describe_task(document.read_task()))


def close(document: TaskFile, bearer: Bearer) -> None:
    """Close the collection: both servers agree on the accepted report set.

    No further reports are taken; reports that reached only one server are dropped. Questions are answered from now on.
    For a task of pairs, the seed beside the coordinator's ticket is revealed to the servers, which determines the
    pairs.

    Example: dpcurves task close --task task.json --ticket tickets/coordinator-1
    """
    require_extra()
    if document.is_of_people:
        close_people(document.read_pair_task(), bearer)
        return
    from ..pairs import PairTask, read_seed
    from ..serving.task_document import Role, Ticket
    from ..serving.two_servers.owner import close_task, path_of_agreed_reports

    ticket = Ticket.load(bearer.ticket, Role.COORDINATOR)
    task: Task | PairTask = document.read_pair_task() if document.is_of_pairs else document.read_task()
    seed = read_seed(Path(bearer.ticket), task) if isinstance(task, PairTask) else None
    with show_spinner("the servers agree on the reports"):
        agreed_reports = path_of_agreed_reports(Path(bearer.ticket))
        closed = close_task(task, ticket, timeout=bearer.timeout_seconds, seed=seed, agreed_file=agreed_reports)
    senders = f"from {closed.owners} of {len(task.tokens[Role.OWNER])} owners"
    print_to_console(
        make_console(),
        f"closed: {closed.reports} reports reached both servers, {senders}; their hash is {closed.report_set}",
    )


TASK_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"identity": identity, "rotate": rotate, "suggest": suggest, "create": create, "show": show, "close": close}
)
"""Commands of dpcurves task, by name."""
