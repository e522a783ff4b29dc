"""Commands of engines: a check that one counts as dpcurves does, and questions by a statement of SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Argument

from dpcurves.cli.app import Group, Provided
from dpcurves.cli.options import ENGINES, SPARK
from dpcurves.cli.terminal import Misuse, say, terminal

from .sql_command import plan, sql


@dataclass(frozen=True)
class Server:
    """Argument for the URL of the engine."""

    url: Annotated[
        str, Argument(metavar="URL", help="postgresql://reader@host/database, or sc://host:port of Spark Connect.")
    ]


def check(server: Server) -> None:
    """Check that an engine assigns public test numbers to the same cells as dpcurves.

    Edges of grids, their neighbours, and numbers that break engines are sent as constants: no table is read. The same
    is done with the cells of a question before it is charged.

    Example: dpcurves engine check postgresql://reader@host/database
    """
    if not server.url.startswith(ENGINES):
        raise Misuse("data", "the URL of an engine is needed: postgresql://reader@host/database or sc://host:port")
    from . import checked_postgres, checked_spark

    checked = checked_spark(server.url) if server.url.startswith(SPARK) else checked_postgres(server.url)
    for finding in checked.findings:
        say(terminal(), f"{'equal' if finding.fits else 'NOT equal'}: {finding.what}")
    wrong = sum(not finding.fits for finding in checked.findings)
    if wrong:
        raise Misuse("data", f"{checked.name} differs in {wrong} of {len(checked.findings)}; it is refused")
    say(terminal(), f"{checked.name} counts as dpcurves does: {len(checked.findings)} of {len(checked.findings)} equal")


PROVIDED = Provided(
    commands={"sql": sql},
    plans={"sql": plan},
    groups={"engine": Group("Databases that count where records lie.", {"check": check})},
)
