"""One question, asked of one file: checked, paid for, answered, delivered."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .accounts import account_of, files_of, ledger_at, require_kept
from .output import Input, Output
from .promise_options import Payer, Price, Promise, Units
from .refusal import Kept, Misuse
from .table_options import Source
from .terminal import say
from .views import View
from .waiting import waiting

if TYPE_CHECKING:
    from rich.console import Console

    from ..curves import Question
    from ..ledger import Account, Balance, Ledger
    from ..privacy import PrivacyLoss
    from ..release import Face
    from ..session import Session

FORGETFUL = "dpcurves: no --ledger was given: nothing remembers this loss, and it does not add up with other calls"


@dataclass(frozen=True)
class Terms:
    """Of what a question is asked, and at what price."""

    source: Source
    price: Price
    promise: Promise
    units: Units
    payer: Payer


def answer(question: Question[Any], view: View[Any], terms: Terms, output: Output) -> None:
    """Ask `question`, write what `output` names, and say what it cost.

    Raises:
        Misuse, ValueError, BudgetExceeded, UnsupportedQuery: nothing was spent.
        Kept: something failed after the charge; the answer can be had again for nothing.
    """
    output.require_apart(*_inputs(terms))
    output.require_writable()
    loss, request = terms.price.loss(), terms.payer.request_id or secrets.token_hex(8)
    with _session(terms, loss) as session, _kept(session, terms.payer, request):
        with waiting("counting"):
            curve = _asked(session, question, loss, request)
        output.write_json(curve.to_json())
        terminal = output.terminal()
        if output.json is None:
            _show(terminal, str(question), view, curve)
        with waiting("drawing"):
            output.write_plot(lambda: view.draw(curve))
        _say(terminal, curve.face, output)
        _tell(curve.notes)
        _settle(terminal, session.balance, terms.payer, _free(question, request))


def _inputs(terms: Terms) -> Iterator[Input]:
    yield Input("DATA itself", Path(terms.source.data))
    for path in files_of(terms.payer.ledger or ""):
        yield Input("a file of the ledger", path)


def _session(terms: Terms, loss: PrivacyLoss) -> Session:
    from ..session import Session

    ledger, account = _lasting(terms) if terms.payer.ledger is not None else _forgetful(terms, loss)
    unit = account.unit
    return Session(
        terms.source.data, budget=account.cap, adjacency=account.neighbours, unit=unit.column or None,
        rows_per_unit=unit.records if unit.column else None, units=terms.units.number(account.neighbours),
        delimiter=terms.source.delimiter, ledger=ledger, dataset=account.dataset,
    )  # fmt: skip


def _lasting(terms: Terms) -> tuple[Ledger, Account]:
    ledger = ledger_at(terms.payer.ledger or "")
    account = account_of(ledger, terms.payer)
    require_kept(terms.promise, account)
    return ledger, account


def _forgetful(terms: Terms, loss: PrivacyLoss) -> tuple[str, Account]:
    from ..ledger import Account, Currency

    for option, value in (("dataset", terms.payer.dataset), ("request-id", terms.payer.request_id)):
        if value is not None:
            raise Misuse(f"{option}: it means something in a ledger only; name one with --ledger")
    budget = Currency.of(loss).budget(loss)
    return "sqlite://", Account("data", terms.promise.neighbours(), terms.promise.protected(), budget)


@contextmanager
def _kept(session: Session, payer: Payer, request: str) -> Iterator[None]:
    """Whatever fails after a new charge is told together with the request that it was charged under."""
    known = payer.ledger is None or _is_charged(session, request)
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if known or not _is_charged(session, request):
            raise
        raise Kept(error, request) from None


def _is_charged(session: Session, request: str) -> bool:
    with suppress(ValueError):
        return session.is_charged(request)
    return False


def _show(terminal: Console, title: str, view: View[Any], curve: Any) -> None:
    from ..display import curve_table

    with waiting("simulating the noise"):
        tables = view.tables(curve)
    say(terminal, title)
    for headline, columns in tables:
        say(terminal, *([headline] if headline else []), curve_table(columns, curve.face))


def _say(terminal: Console, face: Face, output: Output) -> None:
    say(terminal, f"mechanism: {face.mechanism}", *(f"written: {name}" for name in output.files))


def _asked(session: Session, question: Question[Any], loss: PrivacyLoss, request: str) -> Any:
    """The curve. Its notes are told below it, so they are no warnings here."""
    import warnings

    from ..curves.notes import CurveWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CurveWarning)
        return session.ask(question, loss, request)


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        print(f"dpcurves: {note}", file=sys.stderr)


def _free(question: Question[Any], request: str) -> str:
    from ..curves import Continued

    what = "any look along this grid" if isinstance(question, Continued) else "the same question"
    return f"request: {request} ({what} under this --request-id is free)"


def _settle(terminal: Console, balance: Balance, payer: Payer, free: str) -> None:
    if payer.ledger is None:
        print(FORGETFUL, file=sys.stderr)
        return
    left, account = balance.left, balance.account
    say(
        terminal,
        free,
        f"left: {left} of {account.limit.digits} in {account.dataset!r}",
    )
