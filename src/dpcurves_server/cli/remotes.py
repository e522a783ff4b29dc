"""Commands `dpcurves remote`: use a verification server, which counts the records and charges the privacy budget.

Every command but `login` is sent to the server of the last login:

    login        stores server and token in a file of the user alone; the token comes from standard input
    datasets     prints a line for each dataset of the server: name, version, cap on the privacy loss, columns
    releases     prints a line for each answered question of the project: id, purpose, loss, time
    model        uploads a model (JSON, and no code), and prints its name and digest
    export       writes a release to a file

`RemoteTerms` and `PlanTerms` add what questions need on a server (a loss, a project, perhaps a view) to the question
commands that also exist for files. The client reads no confidential records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpcurves.cli.ask_file import deliver_with_notes, format_mechanism_line
from dpcurves.cli.options import Command, LossOptions, argument, option, optional
from dpcurves.cli.output import Output, View
from dpcurves.cli.terminal import Misuse, make_console, print_to_console, show_spinner

from .commands import read_secret

if TYPE_CHECKING:
    from dpcurves.curves import Question

    from ..remote import Remote

ENDINGS = ("json", "svg", "png", "csv", "xlsx", "html")
"""File endings that `export --out` accepts, which select the format of the release; others are refused."""


@dataclass(frozen=True)
class Server:
    """Arguments for the server's URL and its certificate."""

    url: str = argument("https://HOST:PORT", "Where the server is.")
    ca: str | None = optional("FILE", "The server's certificate; left out: the authorities that this machine believes.")


@dataclass(frozen=True)
class ProjectOption:
    """Option for the project that asks."""

    project: str | None = optional("NAME", "The project that asks; left out: that of the token.")

    def open_remote(self) -> Remote:
        """Return a client of the server of the last login.

        Raises:
            Misuse: There was no login.
        """
        from ..remote import Remote

        try:
            stored = json.loads(_login_file().read_text(encoding="utf-8"))
            url = str(stored["url"])
            token = str(stored["token"])
            ca = stored["ca"]
        except (OSError, ValueError, KeyError, TypeError):
            raise Misuse("server", "log in first: dpcurves remote login https://HOST:PORT") from None
        return Remote(url, token, project=self.project, ca=ca)


@dataclass(frozen=True)
class ViewOption:
    """Option for a view of the dataset on the server."""

    view: str | None = optional("NAME", "View of the dataset on the server: only its rows, with its derived columns.")

    def apply(self, question: Question[Any], remote: Remote) -> Question[Any]:
        """Restate a question on the view that --view names; without the option, return the question unchanged.

        Args:
            question: The question.
            remote: Client of the server, which has the views.

        Raises:
            InvalidArgument: The server has no view of this name.
        """
        if self.view is None:
            return question
        from dpcurves.curves.view import find_view

        applied: Question[Any] = find_view(self.view, remote.views).apply(question)
        return applied


@dataclass(frozen=True)
class RemoteTerms:
    """Terms of a question that the server charges and answers: a privacy loss, a project and a view."""

    price: LossOptions
    asking: ProjectOption
    basis: ViewOption

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask the server the question, write the files of `output`, and print the result and the remaining budget.

        Args:
            question: The question; its loss is charged by the server.
            view: How the result is printed and plotted.
            output: Files to write.

        Raises:
            ValueError: A file cannot be written (nothing is charged then), or the server refuses the question.
        """
        output.require_writable()
        with self.asking.open_remote() as remote:
            question = self.basis.apply(question, remote)
            with show_spinner("the server counts"):
                curve = remote.ask(question, self.price.loss())
            deliver_with_notes(question, curve, view, output, lambda written: (format_mechanism_line(curve), *written))
            print_to_console(output.make_console(), f"left: {remote.remaining}")


@dataclass(frozen=True)
class PlanTerms:
    """Terms of a question that the server plans without a charge: a privacy loss, a project and a view."""

    price: LossOptions
    asking: ProjectOption
    basis: ViewOption

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Print the loss of the question, the remaining budget, and for each round its loss, mechanism and error.

        Args:
            question: The question; nothing is charged.
            view: Not used.
            output: Not used.
        """
        with self.asking.open_remote() as remote:
            question = self.basis.apply(question, remote)
            plans = remote.plan(question, self.price.loss())
            remaining = remote.remaining
        print_to_console(make_console(), f"{question}: {self.price.loss()}; left: {remaining}")
        for round_number, plan in enumerate(plans, 1):
            print_to_console(
                make_console(), f"round {round_number}: {plan.loss}, {plan.made_by}, standard error {plan.error:.4g}"
            )
        for note in plans.notes:
            print_to_console(make_console(), f"note: {note}")


@dataclass(frozen=True)
class ReleaseArguments:
    """Arguments for a release's id and the file that it is written to."""

    release: str = argument("ID", "Its id, as `dpcurves remote releases` prints it.")
    out: str = option("FILE", "The new file: its ending says json, svg, png, csv, xlsx or html.")


@dataclass(frozen=True)
class ModelFile:
    """Argument for a file of a model."""

    model: str = argument("FILE", "JSON, as to_json of a scorecard or of trees writes it.")


def login(server: Server) -> None:
    """Store a server and a token, which is read from standard input, in a file of yours alone.

    Example: dpcurves remote login https://127.0.0.1:8443 --ca cert.pem
    """
    from dpcurves.ledger.chain import write_draft

    from ..remote import Remote

    token = read_secret("token").strip()
    ca = None if server.ca is None else str(Path(server.ca).resolve())
    Remote(server.url, token, ca=ca).close()
    path = _login_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"url": server.url, "token": token, "ca": ca})
        with write_draft(path, lambda draft: draft.write_text(content, encoding="utf-8")) as draft:
            os.replace(draft, path)  # atomic: readers see the old file or the new file, never a part
    except OSError as error:
        raise Misuse(
            "server", f"{str(path)!r} cannot be written ({error.strerror}); name a file in a folder where you may write"
        ) from None
    print_to_console(make_console(), f"logged in to {server.url}; the token lies in {path}")


def datasets(asking: ProjectOption) -> None:
    """List the datasets on the server, with their caps and columns.

    Example: dpcurves remote datasets
    """
    with asking.open_remote() as remote:
        for entry in remote.datasets:
            columns = ", ".join(str(column["column"]) for column in entry["columns"])
            cap = entry["cap"]
            print_to_console(
                make_console(),
                f"{entry['name']}, version {entry['version']}: {cap['currency']} {cap['amount']}; {columns}",
            )


def releases(asking: ProjectOption) -> None:
    """List the answered questions of the project, with their privacy losses.

    Example: dpcurves remote releases
    """
    with asking.open_remote() as remote:
        for entry in remote.releases:
            loss = entry["loss"]
            price = f"epsilon {loss['epsilon']}" if loss["epsilon"] is not None else f"rho {loss['rho']}"
            print_to_console(make_console(), f"{entry['id']}  {entry['purpose']} ({price}, {entry['asked_at']})")


def model(file: ModelFile, asking: ProjectOption) -> None:
    """Upload a model to the project: coefficients or thresholds as JSON, and no code.

    Example: dpcurves remote model late.json
    """
    from dpcurves.models import predictor_from_json

    try:
        predictor = predictor_from_json(Path(file.model).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(
            "model",
            f"{file.model!r} cannot be read ({getattr(error, 'strerror', 'no text')});"
            " give the path of a model file in JSON",
        ) from None
    with asking.open_remote() as remote:
        print_to_console(make_console(), f"kept: {predictor.name}, {remote.add_model(predictor)}")


def export(release: ReleaseArguments, asking: ProjectOption) -> None:
    """Write a release to a file: JSON with all that was released, a picture, a table, or an HTML summary.

    Example: dpcurves remote export ID --out delays.svg
    """
    path = Path(release.out)
    if path.suffix[1:] not in ENDINGS or path.exists():
        raise Misuse("out", f"a new file that ends in one of .{', .'.join(ENDINGS)} is needed, got {release.out!r}")
    with asking.open_remote() as remote:
        content = remote.export(release.release, path.suffix[1:])
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise Misuse(
            "out", f"{release.out!r} cannot be written ({error.strerror}); name a file in a folder where you may write"
        ) from None
    print_to_console(make_console(), f"written: {path}")


def _login_file() -> Path:
    """Return the path of the file that holds the last login, in the user's configuration folder."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "dpcurves" / "remote.json"


REMOTE_COMMANDS: Mapping[str, Command] = MappingProxyType(
    {"login": login, "datasets": datasets, "model": model, "releases": releases, "export": export}
)
"""Commands of the group `dpcurves remote`, by name: requests of an analyst to a server."""
