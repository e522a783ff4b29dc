"""Options for the participants of a task, and for its documents and tickets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from typer import Option

from dpcurves.cli.options import chosen, whole
from dpcurves.cli.terminal import Misuse

if TYPE_CHECKING:
    from fractions import Fraction

    from ..serving.identity import Server
    from ..serving.task_document import TaskDocument
    from ..shares.function_shares import Owners

Draft = TypeVar("Draft", bound="TaskDocument")


def require_packages(argument: str, rule: str, *names: str) -> None:
    """Refuse if one of these packages is missing. Raises `Misuse`: it is, with this rule."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in names):
        raise Misuse(argument, rule)


@dataclass(frozen=True)
class Parties:
    """Options for the servers, owners and analysts of a new task, and for its files."""

    servers: Annotated[
        str, Option(help="Files server.json of party 0, party 1; with people in pairs, one file.", metavar="FILE,FILE")
    ]
    out: Annotated[str, Option(help="The task document: a new file.", metavar="FILE")]
    tickets: Annotated[str, Option(help="A folder for the tickets of all who take part.", metavar="FOLDER")]
    owners: Annotated[str, Option(help="How many owners there are; with --pairs, how many people.", metavar="N")]
    reports_per_owner: Annotated[
        str | None, Option(help="How many reports one owner may send at most; of pairs, 1 if not said.", metavar="K")
    ] = None
    analysts: Annotated[str, Option(help="How many analysts there are.", metavar="N")] = "1"
    name: Annotated[str, Option(help="A name for people to read.", metavar="NAME")] = "task"
    check: Annotated[
        str,
        Option(
            help="owners: servers drop reports that count more than once; nobody: reports are not checked.",
            metavar="WHOM",
        ),
    ] = "nobody"
    least: Annotated[
        str, Option(help="With --check owners: the share of the reports that have to pass.", metavar="SHARE")
    ] = "0.5"

    def checked(self) -> Owners:
        """Choice of whether servers check owners' reports."""
        from ..shares.function_shares import Owners

        return chosen("check", self.check, {"owners": Owners.CHECKED, "nobody": Owners.UNCHECKED})

    def passing(self) -> Fraction:
        """The share of reports that have to pass the check. Raises `Misuse`: it is none."""
        from fractions import Fraction

        try:
            return Fraction(self.least)
        except (ValueError, ZeroDivisionError):
            raise Misuse("least", f"a share from 0 to 1 is needed, got {self.least!r}") from None

    def known(self, number: int) -> tuple[Server, ...]:
        """Public descriptions of the servers, read from their files.

        Raises:
            Misuse: the number of files is not `number`.
        """
        from ..serving.identity import read_server

        files = self.servers.split(",")
        if len(files) != number:
            one, two = (
                "one file is needed, as in a0/server.json",
                "two files with a comma between them are needed, as in",
            )
            raise Misuse("servers", one if number == 1 else f"{two} a0/server.json,a1/server.json")
        return tuple(read_server(Path(file)) for file in files)

    def found(self, draft: Draft, least: int = 1) -> Draft:
        """Write the document of a task, and a ticket for each who takes part: at least so many owners."""
        from ..serving.task_document import Role, found

        owners, analysts = whole("owners", self.owners, least), whole("analysts", self.analysts)
        numbers = {Role.OWNER: owners, Role.ANALYST: analysts, Role.COORDINATOR: 1}
        return found(draft, numbers, Path(self.out), Path(self.tickets))

    def reports(self) -> int:
        """Most reports that an owner may send. Raises `Misuse`: the number was not given."""
        if self.reports_per_owner is None:
            raise Misuse("reports-per-owner", "say how many reports one owner may send at most; there is no default")
        return whole("reports-per-owner", self.reports_per_owner)


@dataclass(frozen=True)
class Bearer:
    """Options for a ticket (bearer token) and the timeout."""

    ticket: Annotated[str, Option(help="The ticket, from the folder that was made with the task.", metavar="FILE")]
    patience: Annotated[str, Option(help="How long to wait for an answer.", metavar="SECONDS")] = "60"

    @property
    def seconds(self) -> float:
        """Timeout in seconds."""
        return float(whole("patience", self.patience))
