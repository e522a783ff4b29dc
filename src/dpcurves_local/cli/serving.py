"""Commands of local differential privacy that plan a task and move reports over HTTPS.

    plan local     prints levels of the tree, randomisers, expected error, and size of a report; reads no person's data
    local serve    runs a server that appends reports to a file; prints its address, and server errors
    local send     sends a file of reports, or makes, stores and sends the report of one person; prints how many were
                   new

Classes are groups of options, functions are commands (`SERVING_COMMANDS`).

Formal guarantees: devices randomise before they send, so the server sees randomised reports only. TLS hides them from
the network, but the guarantee does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpcurves.cli.options import (
    CellOptions,
    ColumnOptions,
    Command,
    LossOptions,
    SourceOptions,
    option,
    optional,
    parse_certificate_and_key,
    parse_integer,
)
from dpcurves.cli.terminal import Misuse, make_console, print_to_console, require_packages, show_progress_bar
from dpcurves_parties.serving.monitoring_options import MonitoringOptions

from .tasks import LocalTaskDocument, TaskOptions

if TYPE_CHECKING:
    from rich.table import Table

    from dpcurves.data import Grid
    from dpcurves.privacy import PrivacyLoss
    from dpcurves_parties.serving.channel import Channel

    from .. import Task
    from ..aggregated_reports import AggregatedReports


TIMED_REPORTS = 2**15
"""Number of reports of a missing value that are randomised to measure the time per report; more measure it better, and
take longer."""


@dataclass(frozen=True)
class ClassSizeOptions:
    """The option ``--positives``: how many people belong to the positive class, if labels are public.

    Attributes:
        positives: Number of people as typed; None: labels are private.
    """

    positives: str | None = optional(
        "P", "Public number of people of the positive class; shows the ways to estimate the area under the ROC curve."
    )

    def parse_sizes(self, people: int) -> tuple[int, int] | None:
        """Return the numbers of (positives, negatives); None without ``--positives``.

        Args:
            people: Number of people of both classes.

        Raises:
            Misuse: no person would be left for the negative class.
        """
        if self.positives is None:
            return None
        positives = parse_integer("positives", self.positives)
        if positives >= people:
            raise Misuse(
                "positives",
                f"must be fewer than all {people} people, got {positives}; give the number of people of the "
                "positive class",
            )
        return positives, people - positives


def plan_local(
    column: ColumnOptions,
    cells: CellOptions,
    task_options: TaskOptions,
    loss_options: LossOptions,
    class_sizes: ClassSizeOptions,
) -> None:
    """Show the plan of a task in the local model: levels, their randomisers, and the error.

    With --positives, labels are public, and the ways to estimate the area under the ROC curve are shown, best first.

    Example: dpcurves plan local --grid 0:1:1024 --people 1000000 --epsilon 1
    """
    from ..aggregated_reports import AggregatedReports

    people = parse_integer("people", task_options.people)
    loss = loss_options.loss()
    sizes = class_sizes.parse_sizes(people)
    task = task_options.make_task(column, cells, loss)
    distribution = task.plan.distribution.require_type(AggregatedReports)
    error = task.plan.error
    # this is the error of the counts; the error of a pair statistic (kernel) differs
    of_counts = "" if task_options.kernel is None else f"; the error of {task_options.kernel} differs"
    quantity = f"at one edge or cell{of_counts}" if task.target is None else "in the area under the curve, its mean"
    error_line = f"standard error: about {error:.4g} of {people} people ({error / people:.3%}) {quantity}"
    print_to_console(
        make_console(),
        f"{task.question}: {loss}, {task.plan.made_by}",
        _make_level_table(distribution),
        error_line,
        _describe_report(task),
    )
    if sizes is not None:
        print_to_console(make_console(), _make_protocol_table(cells.parse_grid(), loss, *sizes))


def _make_level_table(distribution: AggregatedReports) -> Table:
    """Return a table with one row per level of the tree: its intervals, people, randomiser, and the weight of a report.

    The weight is the largest change of a debiased count by one report, in people.

    Args:
        distribution: Levels of the tree with their randomisers.
    """
    from rich.table import Table

    table = Table(caption="weight: by how many people one report can shift a count", caption_justify="left")
    for name in ("level", "intervals", "people", "randomiser", "weight"):
        table.add_column(name, justify="left" if name == "randomiser" else "right")
    for number, level in enumerate(distribution.levels, start=1):
        # a level samples a part of the people; counts are scaled to all people, and debiasing divides by the gain
        weight = distribution.people / level.reports / float(level.gain)
        intervals = str(distribution.rows * len(level.starts))
        table.add_row(str(number), intervals, str(level.reports), level.randomiser, f"{weight:.3g}")
    return table


def _describe_report(task: Task) -> str:
    """Return a line of text on the size of a report in bytes and the CPU time to randomise one on this machine.

    Reports of a missing value are drawn for it, never a person's.

    Args:
        task: The task.
    """
    import numpy as np

    from dpcurves.noise import Randomness

    query = task.plan.query
    source = Randomness.from_system()
    # the slot of a missing value, which takes as long as any other
    slots = np.full(TIMED_REPORTS, query.rows * query.cells)
    pseudonyms = np.frombuffer(source.random_bytes(8 * TIMED_REPORTS), dtype=np.uint8).reshape(-1, 8)
    task.randomize_slots(pseudonyms[:16], slots[:16], source)  # compiles the loops before the clock runs
    start = process_time()
    task.randomize_slots(pseudonyms, slots, source)
    microseconds = (process_time() - start) / TIMED_REPORTS * 1e6
    return f"a report: {len(task.randomize({}))} bytes with its header, {microseconds:.2g} us each, many at once, here"


def _make_protocol_table(grid: Grid, loss: PrivacyLoss, positives: int, negatives: int) -> Table:
    """Return a table of the protocols for the area under the ROC curve, smallest forecast standard error first.

    Args:
        grid: Public cells of scores.
        loss: Privacy loss of a report.
        positives: Public number of people of the positive class.
        negatives: Public number of people of the negative class.
    """
    from rich.table import Table

    from .. import compare_area_protocols

    caption = "for scores that are spread evenly; for others up to about 1.6 times as much; labels are public"
    table = Table("ways to estimate the area", caption=caption, caption_justify="left")
    table.add_column("standard error", justify="right")
    for protocol in compare_area_protocols(grid, loss, positives=positives, negatives=negatives):
        table.add_row(str(protocol), f"{protocol.error:.4f}")
    return table


LOCAL_PLANS: MappingProxyType[str, Command] = MappingProxyType({"local": plan_local})
"""Commands of the group `dpcurves plan` that this package adds, by name."""


SERVER_PACKAGES = ("httptools", "prometheus_client", "starlette", "uvicorn")
"""Python packages that `dpcurves local serve` needs; without them it is refused with how to install them."""


@dataclass(frozen=True)
class ServerOptions:
    """Options of ``local serve``: the file of reports, the address, the certificate, and the limits.

    Each field is the text of the option of that name.
    """

    store: str = option("REPORTS", "File that reports are appended to; it is made if it does not exist.")
    listen: str = option("HOST:PORT", "Address to listen at.")
    tls: str = option("FILE,FILE", "Files of the server's certificate and key; both are made if neither exists.")
    connections: str = option("N", "Most open connections.", "512")
    header_timeout: str = option("SECONDS", "Timeout for the first request of a connection.", "10")
    max_reports: str | None = optional(
        "N", "The most reports that are stored; default: 10 times the people of the task."
    )
    rate_per_address: str | None = optional("N", "The most reports a minute of one network address; default: no limit.")
    rate: str | None = optional("N", "The most reports a minute of all addresses; default: no limit.")


@dataclass(frozen=True)
class ConnectionOptions:
    """Options of ``local send``: the server's URL, its certificate, and the timeout."""

    url: str = option("https://HOST:PORT", "Address of the server.")
    ca: str | None = optional("FILE", "The server's certificate; default: the authorities that this machine trusts.")
    timeout: str = option("SECONDS", "Timeout of an answer.", "60")

    def open_channel(self) -> Channel:
        """Return a TLS channel to the server.

        Raises:
            Misuse: the URL is invalid, or the file of ``--ca`` holds no certificate.
        """
        from dpcurves_parties.serving.channel import Channel, make_ca_context
        from dpcurves_parties.serving.identity import parse_host

        parse_host(self.url)
        context = make_ca_context(self.ca)
        patience = parse_integer("timeout", self.timeout)
        named_by = "--ca" if self.ca is not None else "a certificate that this machine believes"
        return Channel(self.url, context, patience, identity_source=named_by, renewal_advice="it needs a new one")


@dataclass(frozen=True)
class ReportOptions:
    """Options of ``local send`` for one person, whose row is given instead of a file of reports.

    Attributes:
        task: Path of the task document.
        id: Name of the person; DATA has this person's single row.
        memo: Path of the file in which `ReportMemo` stores the report.
        invitation: The person's invitation; None: the task requires none.
    """

    task: str | None = optional("FILE", "The task document, if DATA is a table and no file of reports.")
    id: str | None = optional("NAME", "The name of the person whose single row DATA has.")
    memo: str | None = optional("FILE", "File that stores the report, so that it is the same one if it is sent again.")
    invitation: str | None = optional("WORD", "The person's invitation, if the task requires one.")

    def load_or_make_report(self, source: SourceOptions) -> bytes:
        """Return the person's report: the stored report, or a new report, which is stored before it is returned.

        A second run returns the same bytes, so repeated sending does not average out the noise.

        Args:
            source: DATA and its delimiter.

        Raises:
            Misuse: ``--task``, ``--id`` or ``--memo`` is missing.
        """
        from .. import ReportMemo

        if self.task is None or self.id is None or self.memo is None:
            raise Misuse(
                "task, id, memo",
                "give --task, --id and --memo to send one person's row: the memo file keeps the report, so that no "
                "second one is drawn; to send reports of several people, name the file that dpcurves local randomize "
                "wrote",
            )
        memo = ReportMemo.from_path(self.memo)
        return (
            LocalTaskDocument(self.task)
            .read_task()
            .randomize_one(source.records(), self.id, delimiter=source.delimiter, memo=memo)
        )


def serve(document: LocalTaskDocument, server_options: ServerOptions, monitoring_options: MonitoringOptions) -> None:
    """Accept reports of one task over HTTPS, and append them to a file for `dpcurves local aggregate`.

    It runs until it is stopped. A report is on disk before it is acknowledged. It prints a line when it listens, and
    a line for each server error; never a report or a name.

    Example: dpcurves local serve --task task.json --store reports.bin --listen 127.0.0.1:8443 --tls cert.pem,key.pem
    """
    require_packages("serve", "a server needs more packages; install dpcurves[servers]", *SERVER_PACKAGES)
    from dpcurves_parties.serving.identity import CertificatePair
    from dpcurves_parties.serving.server import Address, Limits

    from ..report_server import Quota, ReportServer

    task = document.read_task()
    address = Address.parse(server_options.listen)
    limits = Limits(
        parse_integer("connections", server_options.connections),
        parse_integer("header_timeout", server_options.header_timeout),
    )
    certificate, key = parse_certificate_and_key(server_options.tls)
    if CertificatePair.write_if_missing(address.host, certificate, key):
        print_to_console(
            make_console(), f"written: {certificate} (public: people send with --ca), and its key, which is secret"
        )
    console = make_console()
    max_reports, address_rate, total_rate = (
        None if value is None else parse_integer(name, value)
        for name, value in (
            ("max_reports", server_options.max_reports),
            ("rate_per_address", server_options.rate_per_address),
            ("rate", server_options.rate),
        )
    )
    server = ReportServer(
        task,
        Path(server_options.store),
        certificate,
        key,
        limits,
        max_reports,
        Quota(address_rate, total_rate),
        monitoring_options.create_monitoring(),
    )
    server.serve(
        address,
        lambda: print_to_console(console, f"task {task.report_format.task.hex()} listens at {server_options.listen}"),
    )


def send(source: SourceOptions, reporter: ReportOptions, connection: ConnectionOptions) -> None:
    """Send the reports in a file, or the report of one person, to a server.

    A person's report is stored in the memo file before it is sent.

    The command is idempotent: after any failure, it sends the same reports again, and each counts once.

    Example: dpcurves local send reports.bin --url https://127.0.0.1:8443 --ca cert.pem
    """
    from ..report_file import map_report_file
    from ..report_server import send_reports

    server = connection.open_channel()
    reports = map_report_file(source.data) if _is_report_file(source) else reporter.load_or_make_report(source)
    with server, show_progress_bar("bytes of reports are sent", len(reports)) as progress:
        counts = send_reports(reports, server, progress, reporter.invitation or "")
    summary = f"sent: {counts.new + counts.known} reports, {counts.new} of them new to the server"
    print_to_console(make_console(), f"{summary}; {counts.refused} refused")


def _is_report_file(source: SourceOptions) -> bool:
    """Return True if the source is a file of reports, not of values: it begins with the magic bytes of that format.

    Args:
        source: Options of the source.
    """
    from ..report_file import MAGIC

    try:
        with Path(source.data).open("rb") as file:
            return source.is_file and file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


SERVING_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"serve": serve, "send": send})
"""Commands of the group `dpcurves local` that exchange reports over a network, by name."""
