"""Commands of engines: a check that one counts as dpcurves does, and questions by a statement of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dpcurves.cli import options as of
from dpcurves.cli.app import Group, Provided
from dpcurves.cli.ask_file import Terms
from dpcurves.cli.options import Argument
from dpcurves.cli.output import Output
from dpcurves.cli.released import KeptView
from dpcurves.cli.studies import Rehearsal
from dpcurves.cli.terminal import Misuse, named, say, terminal

if TYPE_CHECKING:
    from .statement import SqlQuestion


@dataclass(frozen=True)
class Server:
    """Argument for the URL of the engine."""

    url: str = of.argument("URL", "postgresql://reader@host/database, or sc://host:port of Spark Connect.")


def check(server: Server) -> None:
    """Check that an engine assigns public test numbers to the same cells as dpcurves.

    Edges of grids, their neighbours, and numbers that break engines are sent as constants: no table is read. The same
    is done with the cells of a question before it is charged.

    Example: dpcurves engine check postgresql://reader@host/database
    """
    if not server.url.startswith(of.ENGINES):
        raise Misuse("data", "the URL of an engine is needed: postgresql://reader@host/database or sc://host:port")
    from . import checked_postgres, checked_spark

    checked = checked_spark(server.url) if server.url.startswith(of.SPARK) else checked_postgres(server.url)
    for finding in checked.findings:
        say(terminal(), f"{'equal' if finding.fits else 'NOT equal'}: {finding.what}")
    wrong = sum(not finding.fits for finding in checked.findings)
    if wrong:
        raise Misuse("data", f"{checked.name} differs in {wrong} of {len(checked.findings)}; it is refused")
    say(terminal(), f"{checked.name} counts as dpcurves does: {len(checked.findings)} of {len(checked.findings)} equal")


# Commands that ask, and that plan, one question by a statement of SQL.
DUCKDB = (".duckdb", ".ddb", ".db")
"""Endings of databases of DuckDB."""
STATEMENT = Annotated[
    str, Argument(metavar="STATEMENT", help="SELECT dp_cdf(wage, 0, 500000, 1024) FROM people, in quotes.")
]


@dataclass(frozen=True)
class Tables:
    """Options for the tables that FROM may name."""

    data: str = of.argument(
        "DATA",
        "A DuckDB database (.duckdb), postgresql://reader@host/db, sc://host:port, or a CSV or Parquet file, "
        "which FROM calls by its name without the ending.",
    )
    delimiter: str = of.option("SIGN", "What separates the fields of a CSV file.", ",")


@dataclass(frozen=True)
class Listed:
    """Options for the values of columns of GROUP BY."""

    by: list[str] | None = of.perhaps(
        "NAME=A,B,C", "The values of a column of GROUP BY, in the place of WHERE NAME IN ('A', 'B', 'C')."
    )

    def declared(self) -> dict[str, tuple[Any, ...]]:
        """Values by column."""
        found: dict[str, tuple[Any, ...]] = {}
        for each in self.by or []:
            column, sign, values = each.partition("=")
            if not sign or column in found:
                raise Misuse(
                    "by", f"a column and its values are needed, once, as in --by region=north,south, got {each!r}"
                )
            found[column] = of.categories("by", values)
        return found


@dataclass(frozen=True)
class Named(of.FormedSource):
    """The table that FROM names."""

    name: tuple[str, ...] = ()

    @property
    def files(self) -> list[Path]:
        return [Path(self.data)] if self.is_file else []

    def records(self) -> object:
        """Data source for a session. A database of DuckDB is opened for reading alone, and closed with the process."""
        from .statement import table_of

        path = Path(self.data)
        if not self.is_file:
            return table_of(self.data, self.name)
        if path.suffix.lower() in DUCKDB:
            return table_of(_database(path), self.name)
        return table_of({Path(path.name.removesuffix(".gz")).stem: self.data}, self.name)


def _database(path: Path) -> Any:
    import duckdb

    if not path.is_file():
        raise Misuse("data", f"there is no file {path.name!r}")
    try:
        return duckdb.connect(str(path), read_only=True)
    except Exception:  # what DuckDB says may quote what stands in the file
        pass
    raise Misuse("data", f"{path.name!r} cannot be opened as a database of DuckDB; does another process write to it?")


def _asked(statement: str, listed: Listed, price: of.PriceAndDelta) -> tuple[SqlQuestion, Any]:
    from .statement import SqlQuestion

    with named("by", "categories"):
        read = SqlQuestion.read(statement)
        return read, read.question(listed.declared(), found=price.delta is not None)


def sql(
    *, tables: Tables, statement: STATEMENT, listed: Listed, price: of.PriceAndDelta, promise: of.Promise,
    units: of.Units, payer: of.Payer, output: Output,
) -> None:  # fmt: skip
    """Ask a question by a statement of SQL.

    Functions are dp_cdf, dp_quantile, dp_quantiles, dp_median, dp_histogram, dp_count, dp_sum, dp_mean, dp_variance,
    dp_summary, dp_survival, dp_scores, dp_roc, dp_calibration and dp_hosmer_lemeshow. WHERE takes column = value and
    column IN (values), joined by AND; GROUP BY takes columns whose values are declared, there or by --by. All else is
    refused before anything is charged; a query can be asked as a view.

    Example: dpcurves sql people.duckdb "SELECT dp_cdf(wage, 0, 500000, 1024) FROM people" --unit person_id
    --rows-per-unit 1 --epsilon 1 --adjacency add-remove
    """
    read, question = _asked(statement, listed, price)
    view, source = KeptView.of(output), Named(tables.data, tables.delimiter, name=read.table)
    # Quantiles on a grid that is never laid out are searched for at one level.
    question = getattr(question, "searched_at", lambda _: question)(view.sure.level)
    Terms(source, price, promise, units, payer).answer(question, view, output)


def plan(*, statement: STATEMENT, listed: Listed, rehearsal: Rehearsal) -> None:
    """Ask a question by a statement of SQL.

    Its table is not opened, and may have any name.

    Example: dpcurves plan sql "SELECT dp_cdf(wage, 0, 500000, 1024) FROM people" --epsilon 1 --adjacency add-remove
    """
    _, question = _asked(statement, listed, rehearsal.price)
    rehearsal.answer(question, KeptView.of(Output()), Output())


PROVIDED = Provided(
    commands={"sql": sql},
    plans={"sql": plan},
    groups={"engine": Group("Databases that count where records lie.", {"check": check})},
)
