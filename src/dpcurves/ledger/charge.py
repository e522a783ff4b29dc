"""Charges of questions, the answers that were stored for them, receipts on errors, and audit events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction

from sqlalchemy import Connection, RowMapping, select

from ..arguments import Refused
from ..privacy import PrivacyLoss
from .account import Account, require_digest, require_name, require_text
from .amount import Amount, Grant
from .chain import Chain
from .database import ANSWERS, EVENTS, GRANTS
from .verification import Head, require_unbroken


class Receipt(str):
    """A note on an error: the request, and that asking again under it costs nothing.

    Attributes:
        request: The id under which the question was charged.
    """

    request: str

    def __new__(cls, request: str, words: str) -> Receipt:
        """The note about one request."""
        receipt = super().__new__(cls, f"request: {request!r} {words}")
        receipt.request = request
        return receipt


class OpenReceipt(Receipt):
    """A note on an error where it is not known whether the charge was written."""


def receipt_of(error: BaseException) -> Receipt | None:
    """The note that hangs on an error, if one does."""
    return next((note for note in getattr(error, "__notes__", ()) if isinstance(note, Receipt)), None)


@contextmanager
def charged_under(request: str) -> Iterator[None]:
    """Hang a receipt on whatever is raised from here on, an interruption too."""
    with _noted(Receipt(request, "is charged: the same question under it gives the answer, for nothing")):
        yield


@contextmanager
def perhaps_charged_under(request: str) -> Iterator[None]:
    """Hang on whatever is raised from here on that the request may have been charged, or not."""
    with _noted(OpenReceipt(request, "may be charged: the same question under it is never charged twice")):
        yield


@contextmanager
def _noted(receipt: Receipt) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if receipt_of(error) is None:
            error.add_note(receipt)
        raise


# A question that was paid for, as it stands in the ledger.


Condition = Callable[[Connection], object]
"""What is shown the transaction that charges, before anything is written: what it raises leaves nothing behind."""


def always(connection: Connection) -> None:
    """Charge, whatever else stands in the database."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A request for a grant: its question and its price.

    Attributes:
        account: The dataset that pays.
        loss: What the question may lose.
        purpose: The question in words.
        request: The id under which it is asked.
        binding: A hash of question, loss and dataset: what the id stands for.
        units: The number of units, where it is public.
        before: Ids and hashes that stood for the same in ledgers of earlier versions.

    Raises:
        ValueError: a text that cannot be stored, or a number of units where there is none.
    """

    account: Account
    loss: PrivacyLoss
    purpose: str
    request: str
    binding: str
    units: int | None
    before: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        require_text("purpose", self.purpose)
        require_name("request", self.request)
        require_digest("binding", self.binding)
        self.account.require_units(self.units)

    @property
    def price(self) -> Amount:
        """The loss in the account's currency, rounded up."""
        return self.account.currency.price(self.loss)

    def earlier(self, chain: Chain) -> Grant | None:
        """The grant of the first time, if the same was asked under this request before.

        Raises:
            ValueError: something else was asked under it, or the grant was changed without the key.
        """
        hashes = {self.binding, *(binding for _, binding in self.before)}
        for request in dict.fromkeys((self.request, *(request for request, _ in self.before))):
            row = chain.first(GRANTS, select(GRANTS).where(GRANTS.c.request == request))
            if row is None:
                continue
            if (row["dataset"], _loss(row)) != (self.account.dataset, self.loss) or row["binding"] not in hashes:
                rule = f"{self.request!r} was used for another question; give a new one or leave it out"
                raise Refused("request", rule)
            return grant_of(row)
        return None

    def require_same_units(self, chain: Chain) -> None:
        """Refuse another number of units than the dataset had before: its records have changed.

        Raises:
            ValueError: names both numbers, which are public.
        """
        row = chain.first(GRANTS, select(GRANTS).where(GRANTS.c.dataset == self.account.dataset).limit(1))
        if row is not None and row["units"] != self.units:
            raise Refused(
                "units",
                f"{self.account.dataset!r} had {row['units']} units in earlier questions and has {self.units}"
                " now; other records are another dataset",
            )

    def enter(self, chain: Chain) -> Grant:
        """Write the charge into the ledger."""
        entry = chain.append(
            GRANTS,
            {
                "request": self.request,
                "dataset": self.account.dataset,
                "purpose": self.purpose,
                "binding": self.binding,
                "epsilon": None if self.loss.epsilon is None else str(self.loss.epsilon),
                "rho": str(self.loss.rho),
                "amount": self.price.billionths,
                "units": self.units,
                "charged_at": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        )
        return Grant(self.request, self.loss, self.account.dataset, entry)


def grant_of(row: RowMapping) -> Grant:
    """The grant that a row stands for."""
    return Grant(row["request"], _loss(row), row["dataset"], row["entry"])


def find_grant(chain: Chain, dataset: str, request: str) -> Grant | None:
    """The grant of a request on this dataset, or None.

    Raises:
        ValueError: the row was changed without the key.
    """
    row = chain.first(GRANTS, select(GRANTS).where(GRANTS.c.request == request, GRANTS.c.dataset == dataset))
    return None if row is None else grant_of(row)


def require_grant(chain: Chain, grant: Grant) -> str:
    """Refuse a grant that this ledger did not give. Returns the seal of its row.

    Raises:
        ValueError: it is not in the ledger, or was changed without the key.
    """
    row = chain.first(GRANTS, select(GRANTS).where(GRANTS.c.entry == grant.id))
    if row is None or grant_of(row) != grant:
        raise Refused("grant", f"this ledger has not granted {grant.request!r} as its row {grant.id}")
    return str(row["mac"])


def _loss(row: RowMapping) -> PrivacyLoss:
    return PrivacyLoss(None if row["epsilon"] is None else Fraction(row["epsilon"]), Fraction(row["rho"]))


def find_answer(chain: Chain, grant: Grant, turn: int, part: int) -> str | None:
    """The stored answer of this turn, or None.

    Raises:
        ValueError: this ledger did not give the grant, or the answer was changed without the key.
    """
    require_grant(chain, grant)
    place = (ANSWERS.c.grant == grant.id, ANSWERS.c.turn == turn, ANSWERS.c.part == part)
    row = chain.first(ANSWERS, select(ANSWERS).where(*place))
    return None if row is None else str(row["answer"])


def keep_answer(chain: Chain, grant: Grant, turn: int, part: int, answer: str) -> str:
    """Store an answer unless there is one. Returns the one that is stored now.

    Formal guarantees: one grant shows one answer to a turn. An answer is an entry after its grant. Where there is none,
    the chain is followed from the grant to its end, so that no entry is missing that may have been it.

    Raises:
        ValueError: this ledger did not give the grant, the turn or part is negative, the answer cannot be stored, or an
            entry after the grant was removed or changed without the key.
    """
    require_text("answer", answer)
    if turn < 0 or part < 0:
        raise Refused("turn, part", f"they are counted from 0, got {turn} and {part}")
    first = find_answer(chain, grant, turn, part)
    if first is not None:
        return first
    require_unbroken(chain, Head(grant.id, require_grant(chain, grant)))
    chain.append(ANSWERS, {"grant": grant.id, "turn": turn, "part": part, "answer": answer})
    return answer


@dataclass(frozen=True, slots=True)
class Event:
    """An audit event. Its texts are public facts: names, never values.

    Attributes:
        actor: Who did it.
        action: What was done, in a few words.
        subject: To what.
        dataset: The dataset that it is about; empty: none.

    Raises:
        ValueError: a text is long or cannot be printed, or one but the dataset is empty.
    """

    actor: str
    action: str
    subject: str
    dataset: str = ""

    def __post_init__(self) -> None:
        for name in ("actor", "action", "subject"):
            require_name(name, getattr(self, name))
        if self.dataset:
            require_name("dataset", self.dataset)


@dataclass(frozen=True, slots=True)
class Entered:
    """An event as it stands in a ledger.

    Attributes:
        entry: The number of its row.
        when: The time, in UTC and ISO 8601.
        event: What was done.
    """

    entry: int
    when: str
    event: Event


def enter_event(chain: Chain, event: Event) -> None:
    """Write an event into the ledger."""
    chain.append(EVENTS, {**asdict(event), "happened_at": datetime.now(UTC).isoformat(timespec="seconds")})


def events_of(chain: Chain, after: int, most: int, dataset: str | None) -> tuple[Entered, ...]:
    """Events of higher numbers, at most so many, from first to last; of one dataset, or of all.

    Raises:
        ValueError: one was changed without the key.
    """
    query = select(EVENTS).where(EVENTS.c.entry > after).order_by(EVENTS.c.entry).limit(most)
    rows = chain.rows(EVENTS, query if dataset is None else query.where(EVENTS.c.dataset == dataset))
    facts = [field.name for field in fields(Event)]
    return tuple(Entered(row["entry"], row["happened_at"], Event(*(row[name] for name in facts))) for row in rows)
