"""Studies: the command that asks the questions of a file under one budget, and writes all answers to a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from .ask_file import FORGETFUL, Terms, opened_session, quietly, told_after_charge
from .output import Output
from .plans import rehearsed
from .promise_options import Payer, Price, Promise, Units
from .refusal import Misuse
from .source_options import SourceOptions
from .standard_streams import tell
from .terminal import say, terminal
from .waiting import filling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..session import Session
    from ..study import Study
    from .option_groups import Command


@dataclass(frozen=True)
class StudyFile:
    """Argument for a file that lists questions."""

    study: Annotated[str, Argument(metavar="STUDY", help="A TOML or JSON file: epsilon or rho, and questions.")]

    def read(self) -> Study:
        """The study.

        Raises:
            Misuse: the file cannot be read.
            ValueError: it describes no study.
        """
        from ..study import Study

        try:
            text = Path(self.study).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise Misuse("study", f"{self.study!r} cannot be read ({reason})") from None
        return Study.read(text)


@dataclass(frozen=True)
class StudyAccount:
    """Options for the ledger and account that a study is charged to."""

    ledger: Annotated[
        str | None, Option(help="The ledger that is charged; with one, a second run is free.", metavar="URL")
    ] = None
    dataset: Annotated[
        str | None, Option(help="The account in the ledger; needed if there are several.", metavar="NAME")
    ] = None


@dataclass(frozen=True)
class StudyTable:
    """Options for the table of a study, the privacy guarantee, and the account."""

    source: SourceOptions
    promise: Promise
    units: Units
    account: StudyAccount


@dataclass(frozen=True)
class Folder:
    """Options for the output folder, and for a dry run."""

    out: Annotated[str, Option(help="The folder for curves, pictures and the page of all of them.", metavar="DIR")] = (
        "study"
    )
    dry_run: Annotated[bool, Option("--dry-run", help="Show prices and errors; open no data, spend nothing.")] = False


def study(file: StudyFile, table: StudyTable, folder: Folder) -> None:
    """Many questions under one budget, from a file.

    Each curve is written as JSON and as a picture, and all of them as one page. Run again, it is free.

    Example: dpcurves study questions.toml flights.parquet --ledger sqlite:///budget.db --out answers
    """
    asked = file.read()
    if folder.dry_run:
        _dry_run(asked, table.promise, table.units)
        return
    price = Price(epsilon=str(asked.loss.epsilon)) if asked.loss.epsilon is not None else Price(rho=str(asked.loss.rho))
    payer = Payer(table.account.ledger, table.account.dataset, None)
    terms = Terms(table.source, price, table.promise, table.units, payer)
    outputs = _outputs(asked, Path(folder.out))
    for output in outputs:
        output.require_writable()
    with opened_session(terms, asked.loss) as session, told_after_charge(terms.payer):
        summaries = _answered(asked, session, outputs)
        _write_page(Path(folder.out), summaries, session)
    say(terminal(), f"written: {len(asked.asked)} curves, their pictures and index.html in {folder.out!r}")
    if table.account.ledger is None:
        tell(FORGETFUL)


def _dry_run(asked: Study, promise: Promise, units: Units) -> None:
    for each in asked.asked:
        say(terminal(), f"{each.name}:")
        rehearsed(each.question, asked.price(each), promise, units)
    say(terminal(), f"together: {asked.loss}")


def _outputs(asked: Study, out: Path) -> list[Output]:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse("out", f"{str(out)!r} cannot be made ({error.strerror})") from None
    return [Output(str(out / f"{each.name}.json"), str(out / f"{each.name}.svg")) for each in asked.asked]


def _answered(asked: Study, session: Session, outputs: Sequence[Output]) -> list[str]:
    summaries: list[str] = []
    with filling("questions", len(outputs)) as fill, quietly():
        for output, (each, curve) in zip(outputs, asked.ask(session), strict=True):
            output.write_json(curve.to_json)
            output.write_plot(partial(_drawn, curve))
            say(terminal(), f"{each.name}: {curve!r}", *(f"  note: {note}" for note in curve.notes))
            summaries.append(curve._repr_html_())
            fill(len(summaries))
    return summaries


def _drawn(curve: Any) -> Any:
    from ..display import LANDSCAPE, headless_axes

    return curve.plot(ax=headless_axes(getattr(curve, "SIZE", LANDSCAPE)))


def _write_page(out: Path, summaries: Sequence[str], session: Session) -> None:
    from .. import display

    balance = display.BalanceReport.of(session.statement)
    introduction = "Every curve below was read from noisy counts; no number of a single record is shown."
    page = display.report("Study", introduction, summaries, [balance])
    try:
        (out / "index.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise Misuse("out", f"index.html cannot be written ({error.strerror})") from None


STUDY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"study": study})
