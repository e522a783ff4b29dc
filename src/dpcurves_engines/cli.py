"""Command line of database engines: ``dpcurves engine check``, ``dpcurves sql`` and ``dpcurves plan sql``.

    engine check    prints, for each public test number or grid, whether the server counts it as dpcurves does
    sql             asks a question as a statement, ``SELECT dp_cdf(wage, 0, 500000, 1024) FROM people``, and prints its
                    result
    plan sql        prints the plan of such a statement: rounds, noise and expected error; no table is opened

A statement can be asked of files, DuckDB databases, PostgreSQL and Spark. Its parser is in `statement`, the check in
`conformance`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpcurves.cli import options
from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.ask_file import Terms, read_stored_views
from dpcurves.cli.columns import QuartilesView
from dpcurves.cli.options import Argument
from dpcurves.cli.output import Output, ResultView
from dpcurves.cli.released import SavedResultView
from dpcurves.cli.studies import DryRunTerms
from dpcurves.cli.terminal import Misuse, make_console, print_to_console, translate_argument_errors

if TYPE_CHECKING:
    from .statement import SqlQuestion


@dataclass(frozen=True)
class Server:
    """Argument for the URL of the engine."""

    url: str = options.argument("URL", "postgresql://reader@host/database, or sc://host:port of Spark Connect.")


def check(server: Server) -> None:
    """Check that an engine assigns public test numbers to the same cells as dpcurves.

    Edges of grids, their neighbours, and numbers that break engines are sent as constants: no table is read. The same
    is done with the cells of a question before it is charged.

    Example: dpcurves engine check postgresql://reader@host/database
    """
    if not server.url.startswith(options.ENGINES):
        raise Misuse("data", "the URL of an engine is needed: postgresql://reader@host/database or sc://host:port")
    from . import check_postgres, check_spark

    report = check_spark(server.url) if server.url.startswith(options.SPARK) else check_postgres(server.url)
    for finding in report.findings:
        print_to_console(make_console(), f"{'equal' if finding.is_equal else 'NOT equal'}: {finding.description}")
    difference_count = sum(not finding.is_equal for finding in report.findings)
    if difference_count:
        raise Misuse(
            "data",
            f"{report.name} differs in {difference_count} of {len(report.findings)} counts, so sessions"
            " refuse this engine; report the table above",
        )
    print_to_console(
        make_console(),
        f"{report.name} counts as dpcurves does: {len(report.findings)} of {len(report.findings)} equal",
    )


DUCKDB_SUFFIXES = (".duckdb", ".ddb", ".db")
"""File name endings of DuckDB databases. Another file is read as a table of CSV or Parquet."""
STATEMENT = Annotated[
    str, Argument(metavar="STATEMENT", help="SELECT dp_cdf(wage, 0, 500000, 1024) FROM people, in quotes.")
]
"""Argument of the commands `sql` and `plan sql`: the statement, and its help text."""


@dataclass(frozen=True)
class Tables:
    """Options for the tables that FROM may name."""

    data: str = options.argument(
        "DATA",
        "A DuckDB database (.duckdb), postgresql://reader@host/db, sc://host:port, or a CSV or Parquet file, "
        "which FROM calls by its name without the ending.",
    )
    delimiter: str = options.option("SIGN", "Field separator of a CSV file.", ",")


@dataclass(frozen=True)
class GroupOptions:
    """Options for the values of columns of GROUP BY."""

    by: list[str] | None = options.optional(
        "NAME=A,B,C", "The values of a column of GROUP BY, in the place of WHERE NAME IN ('A', 'B', 'C')."
    )

    def parse_categories(self) -> dict[str, tuple[Any, ...]]:
        """Return the declared values of ``--by``.

        Returns:
            Values by column; empty if the option was not given.

        Raises:
            Misuse: a text is not NAME=A,B,C, or names a column twice.
        """
        categories: dict[str, tuple[Any, ...]] = {}
        for entry in self.by or []:
            column, sign, values = entry.partition("=")
            if not sign or column in categories:
                raise Misuse(
                    "by", f"a column and its values are needed, once, as in --by region=north,south, got {entry!r}"
                )
            categories[column] = options.parse_labels("by", values)
        return categories


@dataclass(frozen=True)
class NamedTable(options.FormattedSourceOptions):
    """The table that FROM names."""

    name: tuple[str, ...] = ()

    @property
    def files(self) -> list[Path]:
        """Return the file of the data, in a list, to check that it exists; empty if the data is on a server."""
        return [Path(self.data)] if self.is_file else []

    def records(self) -> object:
        """Return the data source of a session. A DuckDB database is opened read-only, and closed with the process."""
        from .statement import find_table

        if not self.is_file:
            return find_table(self.data, self.name)
        if not self.is_plain_file:
            return find_table(_open_database(Path(self.data)), self.name)
        return find_table({self.table_name: self.data}, self.name)

    @property
    def is_plain_file(self) -> bool:
        """True if the data is a single table in a file, not a database."""
        return self.is_file and Path(self.data).suffix.lower() not in DUCKDB_SUFFIXES

    @property
    def table_name(self) -> str:
        """Name of the table in a plain file: the file name without its endings."""
        return Path(Path(self.data).name.removesuffix(".gz").removesuffix(".zst")).stem


def _open_database(path: Path) -> Any:
    """Open a DuckDB database file read-only.

    Args:
        path: Path of the database file.

    Raises:
        Misuse: the file is missing, or cannot be opened.
    """
    import duckdb

    if not path.is_file():
        raise Misuse("data", f"there is no file {path.name!r}; check the path")
    try:
        return duckdb.connect(str(path), read_only=True)
    except Exception:  # DuckDB's message may quote the file
        pass
    raise Misuse(
        "data",
        f"{path.name!r} cannot be opened as a database of DuckDB;"
        " end other processes that write to it, or check the file",
    )


def _parse_question(
    statement: str, listed: GroupOptions, price: options.LossAndDeltaOptions
) -> tuple[SqlQuestion, Any]:
    """Return the question that a statement of SQL asks, with the groups that options declare.

    Args:
        statement: Text of the statement.
        listed: Values of columns of GROUP BY.
        price: Loss; with a delta, unlisted categories are found by partition selection.

    Returns:
        The parsed statement and its question.

    Raises:
        Misuse: the statement or an option is wrong; the error names the option.
    """
    from .statement import SqlQuestion

    with translate_argument_errors("by", "categories"):
        sql_question = SqlQuestion.from_sql(statement)
        return sql_question, sql_question.build_question(
            listed.parse_categories(), partition_selection=price.delta is not None
        )


def sql(
    *, tables: Tables, statement: STATEMENT, listed: GroupOptions, price: options.LossAndDeltaOptions,
    promise: options.GuaranteeOptions,
    units: options.UnitCountOptions, payer: options.PayingAccountOptions, output: Output,
) -> None:  # fmt: skip
    """Ask a question by a statement of SQL.

    Functions are dp_cdf, dp_quantile, dp_quantiles, dp_median, dp_histogram, dp_bar_chart, dp_count, dp_sum, dp_mean,
    dp_variance, dp_summary, dp_survival, dp_scores, dp_roc, dp_calibration and dp_hosmer_lemeshow. WHERE selects the
    records; GROUP BY takes columns whose values are declared, by column IN (values) joined by AND in WHERE, or by --by.
    All else is refused before anything is charged; a query can be asked as a view. FROM can also name a view of the
    ledger's account if DATA is a CSV or Parquet file.

    Example: dpcurves sql people.duckdb "SELECT dp_cdf(wage, 0, 500000, 1024) FROM people" --unit person_id
    --rows-per-unit 1 --epsilon 1 --adjacency add-remove
    """
    sql_question, question = _parse_question(statement, listed, price)
    view: ResultView = SavedResultView.from_output(output)
    source = NamedTable(tables.data, tables.delimiter, name=sql_question.table)
    if payer.view is None and payer.ledger is not None and source.is_plain_file:
        from .statement import is_view_of_single_table

        if is_view_of_single_table(source.name, (source.table_name,), read_stored_views(payer)):
            source, payer = replace(source, name=(source.table_name,)), replace(payer, view=source.name[0])
    if sql_question.quantile_levels and getattr(question, "by", None) is not None:
        view = replace(QuartilesView.from_output(output), levels=sql_question.quantile_levels)
    # A quantile search on a grid too fine to lay out needs its confidence level in advance.
    question = getattr(question, "with_level_of_search", lambda _: question)(view.settings.level)
    from .statement import write_hints_as_fields

    with write_hints_as_fields():
        Terms(source, price, promise, units, payer).answer(question, view, output)


def plan(*, statement: STATEMENT, listed: GroupOptions, terms: DryRunTerms) -> None:
    """Plan a question that is asked by a statement of SQL.

    Its table is not opened, and may have any name.

    Example: dpcurves plan sql "SELECT dp_cdf(wage, 0, 500000, 1024) FROM people" --epsilon 1 --adjacency add-remove
    """
    _, question = _parse_question(statement, listed, terms.loss_options)
    terms.answer(question, SavedResultView.from_output(Output()), Output())


PACKAGE_COMMANDS = PackageCommands(
    commands={"sql": sql},
    plans={"sql": plan},
    groups={"engine": Group("Databases that count where records lie.", {"check": check})},
)
"""Commands that this package adds to the command line: `dpcurves sql`, `dpcurves plan sql` and `dpcurves engine
check`."""
