"""Asking one question of one table: options are checked, the loss is charged, every output is delivered."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options as of
from .accounts import account_of, files_of, ledger_at, require_kept
from .output import Covering, InputFile, Output, View
from .terminal import Kept, Misuse, PerhapsKept, counting, say, tell, waiting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..curves import CDF, ByCategory, Question
    from ..ledger import Account, Ledger
    from ..privacy import PrivacyLoss
    from ..session import Session

LARGE_FILE = 10**7
"""Octets from which on the size of a file is told."""
HARDLY = 10_000
"""An epsilon above which noise is 0 nearly always, so that nobody is protected."""
FORGETFUL = "no --ledger was given: this privacy loss is recorded nowhere, and is not added up with that of other calls"
UNTYPED = (
    "a CSV file declares no types: a line is a record, dates as 2020-01-31 are days since 1970 (--measured-in date "
    "shows them), and what is no number, as $5, is missing"
)

# Delivery of a curve to files and the terminal: a failure of one output does not prevent the others.


Part = Callable[[], AbstractContextManager[None]]


@contextmanager
def delivering() -> Iterator[Part]:
    """Run every part even if others fail: a plot is drawn although the pipe of standard output is closed.

    Raises:
        Exception: the first failure, after all parts were tried.
    """
    troubles: list[Exception] = []

    @contextmanager
    def part() -> Iterator[None]:
        try:
            yield
        except Exception as trouble:
            troubles.append(trouble)

    yield part
    if troubles:
        raise troubles[0]


def made_by(curve: Any) -> str:
    """The line that names the mechanism of a curve."""
    from ..display import mechanism_of

    return f"mechanism: {mechanism_of(curve.privacy.mechanism)}"


def deliver(part: Part, question: object, curve: Any, view: View[Any], output: Output) -> list[str]:
    """Write and show a curve as `output` says, headed by the text of its question. Returns the files written."""
    written: list[str] = []
    with part():
        written += output.write_json(curve.to_json)
    with part():
        if output.json is None:
            _show(question, curve, view, output)
    with part(), waiting("drawing"):
        written += output.write_plot(lambda: view.draw(curve))
    suppress = getattr(getattr(view, "sure", None), "suppress", None)
    covering = {"level": output.certainty(), "population": output.population, "suppress": suppress}
    return written + files_written(part, output, {
        "csv": lambda: _told(view, curve).csv_text(**covering, raw=output.csv_raw).encode(),
        "xlsx": lambda: _told(view, curve).workbook(view.draw(curve), **covering),
        "html": lambda: page_of({str(question): (curve, view.draw(curve))}, suppress).encode(),
    })  # fmt: skip


def delivered(
    question: object, curve: Any, view: View[Any], output: Output, said: Callable[[list[str]], Iterable[str]]
) -> None:
    """Deliver a curve with its notes, and the lines that `said` makes of those that name the files written."""
    with delivering() as part:
        written = [f"written: {name}" for name in deliver(part, question, curve, view, output)]
        with part():
            say(output.terminal(), *said(written))
        for note in curve.notes:
            tell(note)


def files_written(part: Part, output: Output, made: Mapping[str, Callable[[], bytes]]) -> list[str]:
    """Write the files of these options, each as a part of its own. Returns those that were asked for."""
    written: list[str] = []
    for argument, make in made.items():
        with part():
            written += output.write(argument, make)
    return written


def _size_of(name: str) -> str:
    """The size of a file, where it is one that not every program opens."""
    octets = Path(name).stat().st_size if Path(name).is_file() else 0
    return f" ({octets / 10**6:,.0f} MB)" if octets > LARGE_FILE else ""


def _told(view: View[Any], curve: Any) -> Any:
    """Result whose numbers are written: the reading that a view shows, if it shows one of the curve."""
    found = view.reading(curve) if hasattr(view, "reading") else curve
    return found if hasattr(found, "csv_text") else curve


def page_of(drawn: Mapping[str, tuple[Any, Axes]], suppress: float | None = None) -> str:
    """A page of results and their pictures, which needs nothing but itself. It is titled by the first one's name."""
    from ..display import INTRODUCTION, report, svg_text

    summaries = [curve.html_with(svg_text(picture), suppress=suppress) for curve, picture in drawn.values()]
    return report(next(iter(drawn)), INTRODUCTION, summaries, ())


def _show(question: object, curve: Any, view: View[Any], output: Output) -> None:
    from ..display import curve_table, footer

    with waiting("simulating the noise"):
        tables = view.tables(curve)
    screen = output.terminal()
    say(screen, str(question))
    for shown in tables:
        say(screen, *filter(None, [shown.headline]), curve_table(shown.columns, most=shown.most))
    say(screen, footer(curve.privacy))


def told_before(
    session: Session, question: Question[Any], loss: PrivacyLoss, rows: int | None = None, name: str = ""
) -> None:
    """Print notes on the plan of a question that looks for a range, groups or a bound, before it is charged."""
    bounded = session.unit.is_bounded or rows is not None
    if getattr(question, "is_told_before", False) or loss.delta or not bounded:
        plans = session.plan(question, loss, rows_per_unit=rows)
        session.require(plans)
        for note in plans.notes:
            tell(f"{name}{note}")


def is_untyped(question: object, source: of.FormedSource) -> bool:
    """Tell whether a question that looks for a range asks a file that declares no types, and names no unit."""
    looks = getattr(question, "is_told_before", False) and getattr(question, "measured_in", None) == ""
    return looks and not source.has_types


@dataclass(frozen=True)
class Terms:
    """Terms of a question to a table: the data source, the privacy loss, the guarantee, and the account that pays."""

    source: of.FormedSource
    price: of.PriceAndDelta
    promise: of.Promise
    units: of.Units
    payer: of.Payer

    def answer(self, question: Question[Any], view: View[Any], output: Output) -> None:
        """Ask `question`, write what `output` names, and say what it cost.

        Raises:
            Misuse, ValueError, BudgetExceeded, UnsupportedQuery: nothing was spent.
            Kept: something failed after the charge; the answer can be had again for nothing.
        """
        source = [InputFile("DATA itself", path) for path in self.source.files]
        kept = [InputFile("a file of the ledger", path) for path in files_of(self.payer.ledger or "")]
        output.require_apart(*source, *kept)
        output.require_writable()
        loss, request = self.price.loss(), self.payer.request_id or secrets.token_hex(8)
        of.require_listed(question, loss)
        if loss.epsilon is not None and loss.epsilon > HARDLY:
            from ..privacy import loss_numeral

            tell(f"epsilon {loss_numeral(loss.epsilon)} hardly protects anybody: noise is next to none")
        with opened_session(self, loss) as session, told_after_charge(self.payer):
            from ..ledger.verification import charged_under

            rows = None if session.unit.is_bounded else self.promise.rows()
            told_before(session, question, loss, rows)
            if is_untyped(question, self.source):
                tell(UNTYPED)
            with counting("counting"), quietly():
                curve = session.ask(question, loss, request, rows_per_unit=rows)
            with charged_under(request), delivering() as part:
                written = deliver(part, question, curve, view, output)
                with part():
                    lines = (f"written: {name}{_size_of(name)}" for name in written)
                    say(output.terminal(), made_by(curve), *lines)
                for note in curve.notes:
                    tell(note)
                with part():
                    self._settle(output, session, question, request)

    def _settle(self, output: Output, session: Session, question: Question[Any], request: str) -> None:
        """Print under which request the same is free, and what is left of the budget."""
        if self.payer.ledger is None:
            tell(FORGETFUL)
            return
        from ..curves.question import paid_by

        free = "the same question" if paid_by(question) is None else "any values along this grid"
        balance = session.balance
        account = balance.account
        say(
            output.terminal(),
            f"request: {request} ({free} under this --request-id is free)",
            f"left: {balance.left} of {account.limit.digits} in {account.dataset!r}",
        )


def opened_session(terms: Terms, loss: PrivacyLoss) -> Session:
    """Open a session on the table, charged to the ledger; without one, to a budget in memory that is not recorded."""
    from ..session import Session

    ledger: Ledger | str
    if terms.payer.ledger is None:
        ledger, account = "sqlite://", _forgetful(terms, loss)
    else:
        ledger = ledger_at(terms.payer.ledger)
        account = account_of(ledger, terms.payer.dataset)
        require_kept(terms.promise, account)
    unit = account.unit
    return Session(
        terms.source.records(), budget=account.cap, adjacency=account.neighbours, unit=unit.column or None,
        rows_per_unit=unit.records if unit.column and unit.is_bounded else None,
        units=terms.units.number(account.neighbours), delimiter=terms.source.delimiter, ledger=ledger,
        dataset=account.dataset, source=getattr(terms.source, "source", None),
    )  # fmt: skip


def _forgetful(terms: Terms, loss: PrivacyLoss) -> Account:
    from ..ledger import Account, Currency

    for option, value in (("dataset", terms.payer.dataset), ("request-id", terms.payer.request_id)):
        if value is not None:
            raise Misuse(option, "it means something in a ledger only; name one with --ledger")
    budget = Currency.of(loss).budget(loss)
    return Account("data", terms.promise.neighbours(), terms.promise.protected(stated=False), budget)


@contextmanager
def told_after_charge(payer: of.Payer) -> Iterator[None]:
    """Report any failure after the charge together with the request id that it was charged under."""
    from ..ledger.verification import OpenReceipt, receipt_of

    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        receipt = receipt_of(error)
        if receipt is None or payer.ledger is None:
            raise
        kept = PerhapsKept if isinstance(receipt, OpenReceipt) else Kept
        raise kept(error, receipt.request) from None


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress curve warnings, because their texts are printed as notes below the curve."""
    import warnings

    from ..curves.result import CurveWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CurveWarning)
        yield


# Commands that are declared: the kind of the question, the groups of its options, and the views of its answer.


def question_of(kind: str | Callable[..., Any], *groups: of.Asked) -> Any:
    """The question of this kind, a class or a function that makes one, that the options of all groups tell."""
    from .. import curves

    made = getattr(curves, kind) if isinstance(kind, str) else kind
    usual = {each.name: each.default for each in fields(made)} if is_dataclass(made) else {}
    said: dict[str, Any] = {}
    for group in groups:
        said |= group.told(usual)
    return made(**said)


def asks(
    word: str,
    kind: str | Callable[..., Any],
    groups: Sequence[of.Group],
    views: Sequence[Any],
    *,
    title: str,
    example: str,
    more: str = "",
    epsilon: str = "1",
    adjacency: str = "replace-one",
    last: Callable[[Any, Any], Any] | None = None,
) -> of.Command:
    """Make a command that asks one question.

    Args:
        word: Name of the command.
        kind: Class of the question, or a function that makes one.
        groups: Its options, which say the fields of the question by `Asked.told`.
        views: Class of its view; of a question by categories the last one.
        title: First sentence of its help.
        example: File and options of the question in the example of its help.
        more: Sentences of its help between both.
        epsilon: Privacy loss of the example.
        adjacency: That of the example.
        last: Completes the question by its view.
    """

    def command(terms: Terms, output: Output, **given: of.Asked) -> None:
        question = question_of(kind, *given.values())
        view = views[-1 if getattr(question, "by", None) else 0].of(output)
        for group in given.values():
            view = group.viewed(view, question)
        terms.answer(question if last is None else last(question, view), view, output)

    told = f"Example: dpcurves {word} {example} --epsilon {epsilon} --adjacency {adjacency}"
    command.__name__, command.__doc__ = word, "\n\n    ".join(filter(None, (title, more, told)))
    command.needs_grid = of.CellOptions in groups or of.AutoCells in groups  # type: ignore[attr-defined]
    command.__annotations__ = {**{each.__name__: each for each in groups}, "terms": Terms, "output": Output}
    return command


@dataclass(frozen=True)
class Listed:
    """Questions of a field in a package beside the core, which the core finds as an entry point of `LISTED`.

    Attributes:
        after: The core's question that they are listed after.
        commands: Commands that ask them, by `asks` or of the same arguments.
    """

    after: str
    commands: tuple[of.Command, ...]


LISTED = "dpcurves.questions"
"""Entry points of fields: the name of the package, and where its `Listed` is."""

# Two-sample tests, printed as lines above the table of both groups.


def distributions_compared(curves: ByCategory[CDF], sure: Covering) -> str:
    """Kolmogorov-Smirnov and rank-sum tests of two distributions, as lines.

    Empty unless there are two groups, the population is asked for, and a unit has one record.
    """
    if len(curves) != 2 or not is_of_population(curves, sure):
        return ""
    from ..curves import ks_test, rank_sum_test

    names, (first, second) = " and ".join(map(curves.named, curves)), curves.values()
    ks, ranks = ks_test(first, second), rank_sum_test(first, second)
    return (
        f"Kolmogorov-Smirnov, {names}: {ks.statistic:.3g}, {chance_words(ks.pvalue)}\n"
        f"rank sum, {names}: chance that the first is less {ranks.statistic:.3g}, {chance_words(ranks.pvalue)}\n"
    )


def is_of_population(curves: ByCategory[Any], sure: Covering) -> bool:
    """Tell whether the population is asked for, and a unit has one record."""
    return sure.population and curves.privacy.rows_per_unit == 1


def chance_words(p_value: float) -> str:
    """A p-value, and what it covers."""
    if isnan(p_value):
        return "p-value not known"
    return f"p-value {p_value:.2g} for the population, noise included"
