"""Charges, stored answers, audit events, and verification: reading a whole ledger again from its first entry."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, Table, func, select

from ..arguments import InvalidArgument
from ..privacy import PrivacyLoss, format_loss
from . import account as accounts
from .balance import Owner, Spending, all_balances, every_allowance
from .chain import ANSWERS, ENTRIES, EVENTS, GRANTS, PAYMENTS, Chain

# Charges of questions, the answers that were stored for them, receipts on errors, and audit events.


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
def attach_receipt(request: str) -> Iterator[None]:
    """Hang a receipt on whatever is raised from here on, an interruption too."""
    with _attach_receipt(Receipt(request, "is charged: the same question under it gives the answer, for nothing")):
        yield


@contextmanager
def attach_open_receipt(request: str) -> Iterator[None]:
    """Hang on whatever is raised from here on that the request may have been charged, or not."""
    with _attach_receipt(OpenReceipt(request, "may be charged: the same question under it is never charged twice")):
        yield


@contextmanager
def _attach_receipt(receipt: Receipt) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if receipt_of(error) is None:
            error.add_note(receipt)
        raise


# A question that was paid for, as it stands in the ledger.


Condition = Callable[[Connection], object]
"""A check inside the transaction that charges, before anything is written: what it raises leaves nothing behind."""


def accept_always(connection: Connection) -> None:
    """No condition: the check before a charge that every state of the database passes."""


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

    Raises:
        ValueError: a text that cannot be stored, or a number of units where there is none.
    """

    account: accounts.Account
    loss: PrivacyLoss
    purpose: str
    request: str
    binding: str
    units: int | None

    def __post_init__(self) -> None:
        accounts.require_text("purpose", self.purpose)
        accounts.require_name("request", self.request)
        accounts.require_digest("binding", self.binding)
        self.account.require_units(self.units)

    @property
    def price(self) -> accounts.Amount:
        """The loss in the account's currency, rounded up."""
        return self.account.currency.price(self.loss)

    def find_earlier_grant(self, chain: Chain) -> accounts.Grant | None:
        """The grant of the first time, if the same was asked under this request before.

        Raises:
            ValueError: something else was asked under it, or the grant was changed without the key.
        """
        row = chain.read_first(GRANTS, select(GRANTS).where(GRANTS.c.request == self.request))
        if row is None:
            return None
        asked = self.account.dataset, self.loss, self.binding
        if (row["dataset"], _parse_loss(row), row["binding"]) != asked:
            rule = f"{self.request!r} was used for another question; give a new one or leave it out"
            raise InvalidArgument("request", rule)
        return grant_of(row)

    def require_same_units(self, chain: Chain) -> None:
        """Refuse another number of units than the dataset had before: its records have changed.

        Raises:
            ValueError: names both numbers, which are public.
        """
        row = chain.read_first(GRANTS, select(GRANTS).where(GRANTS.c.dataset == self.account.dataset).limit(1))
        if row is not None and row["units"] != self.units:
            raise InvalidArgument(
                "units",
                f"{self.account.dataset!r} had {row['units']} units in earlier questions and has {self.units}"
                " now; other records are another dataset",
            )

    def require_delta(self, chain: Chain) -> None:
        """Refuse a delta that the account does not have, or has not left.

        Raises:
            BudgetExceeded: less is left.
            ValueError: the account has none.
        """
        cap = self.account.cap.delta
        if not self.loss.delta:
            return
        if not cap:
            raise InvalidArgument(
                "delta", f"the account of {self.account.dataset!r} has none, and {self.purpose!r} needs one"
            )
        left = cap - delta_spent(chain, self.account.dataset)
        if self.loss.delta > left:
            asked = f"{self.purpose!r} costs {format_loss(self.loss.delta)}"
            raise accounts.BudgetExceeded("delta", f"{asked}; {float(left):g} of {float(cap):g} is left")

    def enter_grant(self, chain: Chain) -> accounts.Grant:
        """Write the charge into the ledger."""
        entry = chain.append(
            GRANTS,
            request=self.request,
            dataset=self.account.dataset,
            purpose=self.purpose,
            binding=self.binding,
            epsilon=None if self.loss.epsilon is None else str(self.loss.epsilon),
            rho=accounts.join_delta(str(self.loss.rho), self.loss.delta),
            amount=self.price.billionths,
            units=self.units,
            charged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return accounts.Grant(self.request, self.loss, self.account.dataset, entry)


def grant_of(row: RowMapping) -> accounts.Grant:
    """The grant that a row stands for."""
    return accounts.Grant(row["request"], _parse_loss(row), row["dataset"], row["entry"])


def find_grant(chain: Chain, dataset: str, request: str) -> accounts.Grant | None:
    """The grant of a request on this dataset, or None.

    Raises:
        ValueError: the row was changed without the key.
    """
    row = chain.read_first(GRANTS, select(GRANTS).where(GRANTS.c.request == request, GRANTS.c.dataset == dataset))
    return None if row is None else grant_of(row)


def require_grant(chain: Chain, grant: accounts.Grant) -> str:
    """Refuse a grant that this ledger did not give. Returns the seal of its row.

    Raises:
        ValueError: it is not in the ledger, or was changed without the key.
    """
    row = chain.read_first(GRANTS, select(GRANTS).where(GRANTS.c.entry == grant.id))
    if row is None or grant_of(row) != grant:
        raise InvalidArgument("grant", f"this ledger has not granted {grant.request!r} as its row {grant.id}")
    return str(row["mac"])


def _parse_loss(row: RowMapping) -> PrivacyLoss:
    rho, delta = accounts.split_delta(row["rho"])
    return PrivacyLoss(None if row["epsilon"] is None else Fraction(row["epsilon"]), Fraction(rho), delta=delta)


def delta_spent(chain: Chain, dataset: str) -> Fraction:
    """The deltas of all charges of a dataset together (they add up under basic composition).

    Raises:
        ValueError: a row was changed without the key.
    """
    charged = select(GRANTS).where(GRANTS.c.dataset == dataset, GRANTS.c.rho.contains(accounts.DELTA.strip()))
    return sum((_parse_loss(row).delta for row in chain.read_rows(GRANTS, charged)), start=Fraction(0))


def find_answer(chain: Chain, grant: accounts.Grant, turn: int, part: int) -> str | None:
    """The stored answer of this turn, or None.

    Raises:
        ValueError: this ledger did not give the grant, or the answer was changed without the key.
    """
    require_grant(chain, grant)
    place = (ANSWERS.c.grant == grant.id, ANSWERS.c.turn == turn, ANSWERS.c.part == part)
    row = chain.read_first(ANSWERS, select(ANSWERS).where(*place))
    return None if row is None else str(row["answer"])


def store_answer(chain: Chain, grant: accounts.Grant, turn: int, part: int, answer: str) -> str:
    """Store an answer unless there is one. Returns the one that is stored now.

    Formal guarantees: one grant shows one answer to a turn. An answer is an entry after its grant. Where there is none,
    the chain is followed from the grant to its end, so that no entry is missing that may have been it.

    Raises:
        ValueError: this ledger did not give the grant, the turn or part is negative, the answer cannot be stored, or an
            entry after the grant was removed or changed without the key.
    """
    accounts.require_text("answer", answer)
    if turn < 0 or part < 0:
        raise InvalidArgument("turn, part", f"they are counted from 0, got {turn} and {part}")
    first = find_answer(chain, grant, turn, part)
    if first is not None:
        return first
    require_unbroken(chain, Head(grant.id, require_grant(chain, grant)))
    chain.append(ANSWERS, grant=grant.id, turn=turn, part=part, answer=answer)
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
            accounts.require_name(name, getattr(self, name))
        if self.dataset:
            accounts.require_name("dataset", self.dataset)


@dataclass(frozen=True, slots=True)
class EventEntry:
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
    chain.append(EVENTS, **asdict(event), happened_at=datetime.now(UTC).isoformat(timespec="seconds"))


def events_of(chain: Chain, after: int, most: int, dataset: str | None) -> tuple[EventEntry, ...]:
    """Events of higher numbers, at most so many, from first to last; of one dataset, or of all.

    Raises:
        ValueError: one was changed without the key.
    """
    query = select(EVENTS).where(EVENTS.c.entry > after).order_by(EVENTS.c.entry).limit(most)
    rows = chain.read_rows(EVENTS, query if dataset is None else query.where(EVENTS.c.dataset == dataset))
    facts = [field.name for field in fields(Event)]
    return tuple(EventEntry(row["entry"], row["happened_at"], Event(*(row[name] for name in facts))) for row in rows)


# Reading a whole ledger again, from its first entry: does it say what was written?


_ROWS_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: how many entries there are, and the seal of the last one.

    >>> Head.parse("3-" + "0" * 64).entries
    3
    """

    entries: int
    seal: str

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head that was printed.

        Raises:
            ValueError: it is none.
        """
        parts = re.fullmatch("([0-9]{1,18})-([0-9a-f]{64})", text.strip())
        if parts is None:
            raise InvalidArgument(
                "head", "a number, a dash and 64 hexadecimal digits are needed, as `head` printed them"
            )
        return cls(int(parts[1]), parts[2])

    def __str__(self) -> str:
        return f"{self.entries}-{self.seal}"


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """A ledger in which every row says what was written under its key.

    Attributes:
        entries: How many rows that are.
        head: The end of the chain, to be kept elsewhere.
    """

    entries: int
    head: str


class _Entry(NamedTuple):
    table: Table
    row: RowMapping


def head_of(chain: Chain) -> Head:
    """The end of the chain, as the book has it."""
    return Head(chain.book.entries, chain.book.head)


def verify(chain: Chain, known_head: Head | None) -> VerificationResult:
    """Read everything, and find the first row that is not as it was written.

    Formal guarantees: who does not have the key cannot change, insert, delete or reorder rows, nor change what an
    account or an allowance may spend or has spent, without being found. An older copy of the whole database is found
    with a head that was kept from a later time: the chain no longer reaches it.

    Raises:
        ValueError: names what was changed.
    """
    walk = _ChainWalk(chain, known_head, Head(0, chain.beginning))
    for entry in _read_in_order(chain, 0):
        walk.step(entry)
    walk.require_complete()
    for spending in (*all_balances(chain), *every_allowance(chain)):
        _require_equal_sums(spending, walk.paid[spending.owner])
    return VerificationResult(walk.here.entries, str(walk.here))


def require_all_rows(chain: Chain) -> None:
    """Refuse a ledger that has lost rows, where what was in them would be made anew.

    Raises:
        ValueError: says so.
    """
    if _count_entries(chain) != chain.book.entries:
        raise InvalidArgument(
            "ledger", f"it has not the {chain.book.entries} rows that its book counts: some were removed"
        )


def require_paid(chain: Chain, spending: Spending) -> None:
    """Refuse to charge an account, or an allowance, that has not spent what was paid from it.

    An older amount may have been put back.

    Raises:
        ValueError: names whose it is.
    """
    _require_equal_sums(spending, chain.connection.execute(spending.payments_query).scalar_one())


def require_unbroken(chain: Chain, after: Head) -> None:
    """Refuse a chain that does not lead from an entry to its end: what was in a missing entry would be made anew.

    Raises:
        ValueError: names the first entry that is missing, or is not as it was written.
    """
    require_all_rows(chain)
    require_path_to_end(chain, after)


def require_path_to_end(chain: Chain, after: Head) -> None:
    """Refuse a chain that does not lead from an entry to its end; only entries behind that one are read.

    Raises:
        ValueError: names the first entry that is missing, or is not as it was written.
    """
    walk = _ChainWalk(chain, None, after)
    if after != head_of(chain):
        for entry in _read_in_order(chain, after.entries):
            walk.step(entry)
    walk.require_end()


def _require_equal_sums(spending: Spending, total: int) -> None:
    if total != spending.spent.billionths:
        raise InvalidArgument("ledger", spending.mismatch_message)


class _ChainWalk:
    """State of a verification that walks the chain from an entry to the last one."""

    def __init__(self, chain: Chain, kept: Head | None, start: Head) -> None:
        self.here = start
        self.paid: Counter[Owner] = Counter()
        self._chain = chain
        self._kept = kept
        self._compare_head()

    def step(self, entry: _Entry) -> None:
        """Go on to the next entry."""
        number, row = self.here.entries + 1, entry.row
        if row["entry"] > number:
            raise InvalidArgument("ledger", f"row {number} was removed or renumbered without the key")
        if row["entry"] < number:
            raise InvalidArgument("ledger", f"row {row['entry']} stands twice: one was inserted without the key")
        if row["previous"] != self.here.seal or not self._chain.is_sealed(entry.table, row):
            raise InvalidArgument("ledger", f"row {number} was changed without the key")
        if entry.table is GRANTS:
            self.paid[(row["dataset"],)] += row["amount"]
        if entry.table is PAYMENTS:
            for analyst in (accounts.WHOLE_PROJECT, row["analyst"]):
                self.paid[row["dataset"], row["project"], analyst] += row["amount"]
        self.here = Head(number, row["mac"])
        self._compare_head()

    def require_end(self) -> None:
        """Find out whether this is the end of the chain."""
        end = head_of(self._chain)
        if self.here.entries < end.entries:
            raise InvalidArgument("ledger", f"row {self.here.entries + 1} was removed without the key")
        if self.here != end:
            raise InvalidArgument("ledger", f"row {end.entries + 1} was inserted without the key")

    def require_complete(self) -> None:
        """Find out whether this is the end of the chain, and nothing stands beside it."""
        self.require_end()
        end = head_of(self._chain)
        if _count_entries(self._chain) != end.entries:
            raise InvalidArgument("ledger", f"row {end.entries + 1} was inserted without the key")
        if self._kept is not None and self._kept.entries > end.entries:
            raise InvalidArgument(
                "ledger",
                f"it ends at row {end.entries}, but had {self._kept.entries} rows when the head was kept:"
                " an older copy was put back",
            )

    def _compare_head(self) -> None:
        if self._kept is not None and self._kept.entries == self.here.entries and self._kept != self.here:
            raise InvalidArgument("ledger", f"row {self.here.entries} is not the one whose head was kept")


def _count_entries(chain: Chain) -> int:
    """The number of entries in the tables, found independently of their numbering."""
    counts = (select(func.count()).select_from(table).scalar_subquery() for table in ENTRIES)
    return sum(chain.connection.execute(select(*counts)).one())


def _read_in_order(chain: Chain, after: int) -> Iterator[_Entry]:
    """Entries of higher numbers in order, a few of each table at a time."""
    return heapq.merge(
        *(_read_table(chain, table, after) for table in ENTRIES), key=lambda entry: int(entry.row["entry"])
    )


def _read_table(chain: Chain, table: Table, after: int) -> Iterator[_Entry]:
    first = select(table).order_by(table.c.entry).limit(_ROWS_AT_ONCE)
    query = first.where(table.c.entry > after) if after else first
    while rows := chain.connection.execute(query).mappings().all():
        for row in rows:
            if not isinstance(row["entry"], int):
                raise InvalidArgument(
                    "ledger", f"a row of {table.name} has lost its number: it was changed without the key"
                )
            yield _Entry(table, row)
        query = first.where(table.c.entry > rows[-1]["entry"])
