"""Audit of a privacy ledger: charges, stored answers, and the verification of all entries from the first one.

The ledger is a hash chain: each entry is sealed (authenticated by a keyed hash) together with the entry before. A
`Charge` asks for budget: it names a question and its privacy loss. A grant is the entry that records that it was paid.
If a step fails after the charge is committed, the error carries a `Receipt`: the request id under which a retry costs
nothing. Verification reads all entries in order, and refuses a ledger in which an entry was changed, removed or
inserted without the key. No record is read.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

from sqlalchemy import Connection, Integer, RowMapping, Select, Table, bindparam, func, select

from ..arguments import InvalidArgument
from ..privacy import PrivacyLoss, format_loss, format_remaining
from . import account as accounts
from .balance import Owner, Spending, all_balances, every_allowance
from .chain import ANSWERS, ENTRIES, EVENTS, GRANTS, PAYMENTS, Chain, make_tampering_error

# Charges of questions, their stored answers, receipts on errors, and audit events.


class Receipt(str):
    """Note on an error: the request id, and that a retry under it costs nothing.

    Attributes:
        request: Request id of the charged question.
    """

    TEXT: ClassVar[str] = "is charged: the same question under this id returns the answer at no cost"

    request: str

    def __new__(cls, request: str) -> Self:
        """Make a receipt: a note, shown with an exception, on whether a request was charged.

        Args:
            request: Request id of the question.
        """
        receipt = super().__new__(cls, f"request: {request!r} {cls.TEXT}")
        receipt.request = request
        return receipt


class OpenReceipt(Receipt):
    """Note on an error that occurred while the charge was written, so that the charge may or may not be stored. A retry
    under the request id is never charged twice.
    """

    TEXT = "may be charged: the same question under this id is never charged twice"


def receipt_of(error: BaseException) -> Receipt | None:
    """Return the receipt (a note on whether a request was charged) that was attached to an exception; None if it has
    none.

    Args:
        error: The exception.
    """
    return next((attached for attached in getattr(error, "__notes__", ()) if isinstance(attached, Receipt)), None)


@contextmanager
def attach_receipt(receipt: Receipt) -> Iterator[None]:
    """Attach a receipt to any exception raised in the ``with`` block, KeyboardInterrupt included.

    An exception that has a receipt keeps it.

    Args:
        receipt: Note with the request id, under which a retry costs nothing.
    """
    try:
        yield
    except BaseException as error:
        if receipt_of(error) is None:
            error.add_note(receipt)
        raise


# Charges.


Condition = Callable[[Connection], object]
"""Check inside the transaction of a charge, before anything is written. An exception cancels the charge."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Request for a grant: question and price.

    Attributes:
        account: Dataset that pays.
        loss: Loss of the question.
        purpose: The question in words.
        request: Request id.
        binding: Hash of question, loss and dataset that the request id is bound to.
        units: Number of units, if it is public.

    Raises:
        ValueError: a text that cannot be stored, or a number of units where it is private.
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
        """Amount that the question's loss costs, in the account's currency, rounded up."""
        return self.account.currency.price(self.loss)

    def find_earlier_grant(self, chain: Chain) -> accounts.Grant | None:
        """Return the grant of an earlier charge under the same request id, so that a retry costs nothing, or None.

        Args:
            chain: Open transaction of the ledger.

        Raises:
            ValueError: the request belongs to another question, or the grant was changed without the key.
        """
        row = chain.find_row(GRANTS, request=self.request)
        if row is None:
            return None
        question = self.account.dataset, self.loss, self.binding
        if (row["dataset"], _parse_loss(row["epsilon"], row["rho"]), row["binding"]) != question:
            rule = f"{self.request!r} was used for another question; give a new one or leave it out"
            raise InvalidArgument("request", rule)
        return grant_of(row)

    def require_same_units(self, chain: Chain) -> None:
        """Refuse a public number of units that differs from the number in earlier questions, which means that the
        records have changed.

        Args:
            chain: Open transaction of the ledger.

        Raises:
            ValueError: names both numbers, which are public.
        """
        row = chain.find_row(GRANTS, dataset=self.account.dataset)
        if row is not None and row["units"] != self.units:
            raise InvalidArgument(
                "units",
                f"{self.account.dataset!r} had {row['units']} units in earlier questions and has {self.units}"
                " now; open another account, under another dataset name, for changed records",
            )

    def require_delta(self, chain: Chain) -> None:
        """Refuse a delta that exceeds the account's remaining delta. A charge without a delta passes.

        Args:
            chain: Open transaction of the ledger.

        Raises:
            BudgetExceeded: less remains.
            ValueError: the account has no delta.
        """
        cap = self.account.cap.delta
        if not self.loss.delta:
            return
        if not cap:
            raise InvalidArgument(
                "delta",
                f"the account of {self.account.dataset!r} has no delta, and {self.purpose!r} needs"
                " one; ask without delta, or open an account with a delta",
            )
        remaining = cap - delta_spent(chain, self.account.dataset)
        if self.loss.delta > remaining:
            price = f"{self.purpose!r} costs {format_loss(self.loss.delta)}"
            left = f"{format_remaining(remaining)} of {format_remaining(cap)} is left"
            raise accounts.BudgetExceeded("delta", f"{price}; {left}")

    def enter_grant(self, chain: Chain) -> accounts.Grant:
        """Append the charge to the ledger as a new entry, and return the grant that proves the payment.

        Args:
            chain: Open transaction of the ledger.
        """
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
    """Return the grant (proof of a charge) that a row of the table of grants records.

    Args:
        row: Row of the table, by column.
    """
    return accounts.Grant(row["request"], _parse_loss(row["epsilon"], row["rho"]), row["dataset"], row["entry"])


def find_grant(chain: Chain, dataset: str, request: str) -> accounts.Grant | None:
    """Return the grant of a request on this dataset, or None.

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.
        request: Request id.

    Raises:
        ValueError: the row was changed without the key.
    """
    row = chain.find_row(GRANTS, request=request, dataset=dataset)
    return None if row is None else grant_of(row)


def require_grant(chain: Chain, grant: accounts.Grant) -> str:
    """Check that this ledger gave a grant (proof of a charge), and return the seal of its entry.

    Args:
        chain: Open transaction of the ledger.
        grant: Proof of payment that a caller presents.

    Raises:
        ValueError: the grant is not in the ledger, or was changed without the key.
    """
    row = chain.find_row(GRANTS, entry=grant.id)
    if row is None or grant_of(row) != grant:
        raise InvalidArgument(
            "grant",
            f"this ledger has no charge {grant.request!r} in row {grant.id}; open the ledger that paid for it",
        )
    return str(row["mac"])


@lru_cache(maxsize=256)
def _parse_loss(epsilon: str | None, rho: str) -> PrivacyLoss:
    """Return the loss that two columns of a grant's row state. Grants of one ledger have few losses, each parsed once.

    Args:
        epsilon: Epsilon as a fraction; None: the loss has rho alone.
        rho: Text of rho, with delta behind it if there is one.
    """
    exact_rho, delta = accounts.split_delta(rho)
    return PrivacyLoss(None if epsilon is None else Fraction(epsilon), Fraction(exact_rho), delta=delta)


def delta_spent(chain: Chain, dataset: str) -> Fraction:
    """Return the sum of the deltas of a dataset's charges (basic composition).

    Args:
        chain: Open transaction of the ledger.
        dataset: Name of the dataset.

    Returns:
        The sum; 0 if no charge has a delta.

    Raises:
        ValueError: a row was changed without the key.
    """
    query = select(GRANTS).where(GRANTS.c.dataset == dataset, GRANTS.c.rho.contains(accounts.DELTA_MARK.strip()))
    losses = (_parse_loss(row["epsilon"], row["rho"]) for row in chain.read_rows(GRANTS, query))
    return sum((loss.delta for loss in losses), start=Fraction(0))


def find_answer(chain: Chain, grant: accounts.Grant, round_number: int, part: int) -> str | None:
    """Return the stored answer to one round of a charged question, or None.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant, of this ledger.
        round_number: Number of the round, from 0.
        part: Number of the payment within the grant, from 0.

    Raises:
        ValueError: this ledger did not give the grant, or the answer was changed without the key.
    """
    require_grant(chain, grant)
    row = chain.find_row(ANSWERS, grant=grant.id, round=round_number, part=part)
    return None if row is None else str(row["answer"])


def store_answer(chain: Chain, grant: accounts.Grant, round_number: int, part: int, answer: str) -> str:
    """Store the answer to a round of a charged question unless one is stored; return the stored answer.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant, of this ledger.
        round_number: Number of the round, from 0.
        part: Number of the payment within the grant, from 0.
        answer: The answer as text.

    Raises:
        ValueError: this ledger did not give the grant, the round or part is negative, the answer cannot be stored, or
            an entry after the grant was removed or changed without the key.

    Formal guarantees: a grant has one answer to a round. An answer is an entry after its grant. If no answer is stored,
    the chain is verified from the grant to its end, because a removed entry could have been the answer.
    """
    accounts.require_text("answer", answer)
    if round_number < 0 or part < 0:
        raise InvalidArgument(
            "round_number, part", f"rounds and parts are numbered from 0, got {round_number} and {part}"
        )
    seal = require_grant(chain, grant)
    row = chain.find_row(ANSWERS, grant=grant.id, round=round_number, part=part)
    if row is not None:
        return str(row["answer"])
    require_unbroken(chain, Head(grant.id, seal))
    chain.append(ANSWERS, grant=grant.id, round=round_number, part=part, answer=answer)
    return answer


@dataclass(frozen=True, slots=True)
class Event:
    """Audit event. Its texts are public facts: names, never values.

    Attributes:
        actor: Person or program that acted.
        action: Action, in a few words.
        subject: Object of the action.
        dataset: Dataset concerned; empty if the event concerns no dataset.

    Raises:
        ValueError: a text is too long or not printable, or a text other than the dataset is empty.
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
    """Event in a ledger.

    Attributes:
        entry: Entry number.
        when: Time in UTC and ISO 8601.
        event: The event.
    """

    entry: int
    when: str
    event: Event


def enter_event(chain: Chain, event: Event) -> None:
    """Append an audit event to the ledger, with the present time.

    Args:
        chain: Open transaction of the ledger.
        event: Act of a person or a program, such as opening an account.
    """
    chain.append(EVENTS, **asdict(event), happened_at=datetime.now(UTC).isoformat(timespec="seconds"))


def events_of(chain: Chain, after: int, most: int, dataset: str | None) -> tuple[EventEntry, ...]:
    """Return audit events after a given entry, in order, of one dataset or of all; for reading page by page.

    Args:
        chain: Open transaction of the ledger.
        after: Number of the entry after which they start; 0: from the beginning.
        most: The largest number of events.
        dataset: Only events of this dataset; None: of all.

    Raises:
        ValueError: an event was changed without the key.
    """
    query = select(EVENTS).where(EVENTS.c.entry > after).order_by(EVENTS.c.entry).limit(most)
    rows = chain.read_rows(EVENTS, query if dataset is None else query.where(EVENTS.c.dataset == dataset))
    field_names = [field.name for field in fields(Event)]
    return tuple(
        EventEntry(row["entry"], row["happened_at"], Event(*(row[name] for name in field_names))) for row in rows
    )


# Verification of a whole ledger from its first entry.


_ROWS_AT_ONCE = 100
"""Rows of each table that a verification holds in memory. More take more memory and fewer queries."""


@dataclass(frozen=True, slots=True)
class Head:
    """End of a chain: the number of entries and the seal of the last one.

    >>> Head.parse("3-" + "0" * 64).entries
    3
    """

    entries: int
    seal: str

    @classmethod
    def parse(cls, text: str) -> Head:
        """Parse the printed head of a ledger's hash chain: number of entries and seal of the last one.

        Args:
            text: Output of `Ledger.head`.

        Raises:
            ValueError: the text is not a head.
        """
        match = re.fullmatch("([0-9]{1,18})-([0-9a-f]{64})", text.strip())
        if match is None:
            raise InvalidArgument(
                "head", "a number, a dash and 64 hexadecimal digits are needed, as `ledger head` prints them"
            )
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.entries}-{self.seal}"


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """A ledger whose rows are all as they were written under its key.

    Attributes:
        entries: Number of rows.
        head: End of the chain, to be stored outside the ledger.
    """

    entries: int
    head: str


class _Entry(NamedTuple):
    table: Table
    row: RowMapping


def head_of(chain: Chain) -> Head:
    """Return the head of the hash chain, number of entries and last seal, as the ledger's header row states it.

    Args:
        chain: Open transaction of the ledger.
    """
    return Head(chain.book.entries, chain.book.head)


def verify(chain: Chain, known_head: Head | None) -> VerificationResult:
    """Verify every entry of the ledger: find the first row that is not as it was written.

    Formal guarantees: without the key, any change, insertion, deletion or reordering of rows, and any change of an
    allowed or spent amount, is detected. An older copy of the whole database is detected with a head that was stored
    later: the chain no longer reaches it.

    Args:
        chain: Open transaction of the ledger.
        known_head: Head that was stored outside of the database; None: an older copy is not detected.

    Returns:
        The number of entries and the head, as text.

    Raises:
        ValueError: names the changed rows or amount.
    """
    walk = _ChainWalk(chain, known_head, Head(0, chain.beginning))
    for entry in _read_in_order(chain, 0):
        walk.step(entry)
    walk.require_complete()
    for spending in (*all_balances(chain), *every_allowance(chain)):
        if walk.paid[spending.owner] != spending.spent.billionths:
            raise make_tampering_error(spending.mismatch_message)
    return VerificationResult(walk.here.entries, str(walk.here))


_COUNT_ENTRIES = select(*(select(func.count()).select_from(table).scalar_subquery() for table in ENTRIES))
"""Statement that counts the rows of each table of entries, to find rows outside the hash chain."""


def require_all_rows(chain: Chain) -> None:
    """Refuse a ledger that has lost entries, because their content (such as noise) would be created a second time.

    Args:
        chain: Open transaction of the ledger.

    Raises:
        ValueError: rows are missing.
    """
    if sum(chain.connection.execute(_COUNT_ENTRIES).one()) != chain.book.entries:
        raise make_tampering_error(
            f"rows were removed without the key: the ledger's header counts {chain.book.entries}"
        )


def require_paid(chain: Chain, spending: Spending) -> None:
    """Refuse to charge an account or allowance whose spent amount is not the sum of its payments: an older amount may
    have been restored.

    The amount then does not count all payments.

    Args:
        chain: Open transaction of the ledger.
        spending: Account or allowance, with its spent amount as stored.

    Raises:
        ValueError: names the owner.
    """
    if spending.sum_payments(chain) != spending.spent.billionths:
        raise make_tampering_error(spending.mismatch_message)


def require_unbroken(chain: Chain, after: Head) -> None:
    """Check that the hash chain is unbroken from a given entry to its end, because content of a missing entry would be
    created again.

    Args:
        chain: Open transaction of the ledger.
        after: Head whose entry is the last one that is known to be correct.

    Raises:
        ValueError: names the first entry that is missing or changed.
    """
    require_all_rows(chain)
    require_path_to_end(chain, after)


def require_path_to_end(chain: Chain, after: Head) -> None:
    """Check that the hash chain leads from a given entry to its end. Only later entries are read.

    Args:
        chain: Open transaction of the ledger.
        after: Head whose entry is the last one that is known to be correct.

    Raises:
        ValueError: names the first entry that is missing or changed.
    """
    if after == head_of(chain):
        return
    walk = _ChainWalk(chain, None, after)
    for entry in _read_in_order(chain, after.entries):
        walk.step(entry)
    walk.require_end()


class _ChainWalk:
    """State of a verification that follows the chain from an entry to the last one."""

    def __init__(self, chain: Chain, stored_head: Head | None, start: Head) -> None:
        """Start a walk along the hash chain that checks each entry.

        Args:
            chain: Open transaction of the ledger.
            stored_head: Head that was stored outside of the database, to compare with; None: none was stored.
            start: Head of the last entry that is taken as correct.
        """
        self.here = start
        self.paid: Counter[Owner] = Counter()
        self._chain = chain
        self._kept = stored_head
        self._compare_head()

    def step(self, entry: _Entry) -> None:
        """Check the next entry of the hash chain: its number, and its seal (message authentication code) after the
        previous entry.

        Args:
            entry: The next entry.

        Raises:
            InvalidArgument: entries were removed, inserted or changed without the key.
        """
        number = self.here.entries + 1
        row = entry.row
        if row["entry"] > number:
            raise make_tampering_error(f"row {number} was removed or renumbered without the key")
        if row["entry"] < number:
            raise make_tampering_error(f"row {row['entry']} exists twice: one was inserted without the key")
        if row["previous"] != self.here.seal or not self._chain.is_sealed(entry.table, row):
            raise make_tampering_error(f"row {number} was changed without the key")
        if entry.table is GRANTS:
            self.paid[(row["dataset"],)] += row["amount"]
        if entry.table is PAYMENTS:
            for analyst in (accounts.WHOLE_PROJECT, row["analyst"]):
                self.paid[row["dataset"], row["project"], analyst] += row["amount"]
        self.here = Head(number, row["mac"])
        self._compare_head()

    def require_end(self) -> None:
        """Check that the walk along the hash chain ended at the head that the ledger states, not before or after."""
        end = head_of(self._chain)
        if self.here.entries < end.entries:
            raise make_tampering_error(f"row {self.here.entries + 1} was removed without the key")
        if self.here != end:
            raise make_tampering_error(f"row {end.entries + 1} was inserted without the key")

    def require_complete(self) -> None:
        """Check that the walk covered the whole hash chain, and that no rows exist outside it."""
        self.require_end()
        end = head_of(self._chain)
        if sum(self._chain.connection.execute(_COUNT_ENTRIES).one()) != end.entries:
            raise make_tampering_error(f"row {end.entries + 1} was inserted without the key")
        if self._kept is not None and self._kept.entries > end.entries:
            raise make_tampering_error(
                f"the chain ends at row {end.entries}, but had {self._kept.entries} rows when the head was stored: an"
                " older copy was restored"
            )

    def _compare_head(self) -> None:
        """Check the present entry against a head that was stored earlier: an entry of the same number must have the
        same seal.

        Raises:
            InvalidArgument: the seals differ, so the ledger was changed without the key.
        """
        if self._kept is not None and self._kept.entries == self.here.entries and self._kept != self.here:
            raise make_tampering_error(f"row {self.here.entries} has another seal than when its head was stored")


def _read_in_order(chain: Chain, after: int) -> Iterator[_Entry]:
    """Yield the entries of all tables in the order of the hash chain, reading a few rows of each table at a time.

    Args:
        chain: Open transaction of the ledger.
        after: Number of an entry; 0: all entries are read.
    """
    return heapq.merge(
        *(_read_table(chain, table, after) for table in ENTRIES), key=lambda entry: int(entry.row["entry"])
    )


def _read_table(chain: Chain, table: Table, after: int) -> Iterator[_Entry]:
    """Yield the entries of one table in order of their numbers, reading a few rows at a time.

    Args:
        chain: Open transaction of the ledger.
        table: SQL table.
        after: Number after which entries are read.

    Raises:
        InvalidArgument: a row has lost its number.
    """
    first, later = _select_in_order(table)
    query = later if after else first
    while True:
        values = {"after": after, "most": _ROWS_AT_ONCE} if query is later else {"most": _ROWS_AT_ONCE}
        rows = chain.connection.execute(query, values).mappings().all()
        for row in rows:
            if not isinstance(row["entry"], int):
                raise make_tampering_error(f"a row of {table.name} has lost its number: it was changed without the key")
            yield _Entry(table, row)
        if len(rows) < _ROWS_AT_ONCE:
            return
        after = rows[-1]["entry"]
        query = later


@lru_cache(maxsize=len(ENTRIES))
def _select_in_order(table: Table) -> tuple[Select[Any], Select[Any]]:
    """Return the SQL statements that page through a table: for its first `most` rows, and for those with numbers above
    `after`.

    Args:
        table: Table of entries.
    """
    first = select(table).order_by(table.c.entry).limit(bindparam("most", type_=Integer))
    return first, first.where(table.c.entry > bindparam("after"))
