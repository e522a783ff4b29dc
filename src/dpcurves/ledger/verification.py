"""Reading a whole ledger again, from its first entry: does it say what was written?"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import RowMapping, Table, func, select

from ..arguments import Refused
from .account import WHOLE_PROJECT
from .balance import Owner, Spending, all_balances, every_allowance
from .chain import Chain
from .database import ENTRIES, GRANTS, PAYMENTS

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
            raise Refused("head", "a number, a dash and 64 hexadecimal digits are needed, as `head` printed them")
        return cls(int(parts[1]), parts[2])

    def __str__(self) -> str:
        return f"{self.entries}-{self.seal}"


@dataclass(frozen=True, slots=True)
class Verified:
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


def verify(chain: Chain, kept: Head | None) -> Verified:
    """Read everything, and find the first row that is not as it was written.

    Formal guarantees: who does not have the key cannot change, insert, delete or reorder rows, nor change what an
    account or an allowance may spend or has spent, without being found. An older copy of the whole database is found
    with a head that was kept from a later time: the chain no longer reaches it.

    Raises:
        ValueError: names what was changed.
    """
    walk = _Walk(chain, kept, Head(0, chain.beginning))
    for entry in _in_order(chain, 0):
        walk.step(entry)
    walk.end()
    for spending in (*all_balances(chain), *every_allowance(chain)):
        _compare(spending, walk.paid[spending.owner])
    return Verified(walk.here.entries, str(walk.here))


def require_whole(chain: Chain) -> None:
    """Refuse a ledger that has lost rows, where what was in them would be made anew.

    Raises:
        ValueError: says so.
    """
    if _count(chain) != chain.book.entries:
        raise Refused("ledger", f"it has not the {chain.book.entries} rows that its book counts: some were removed")


def require_paid(chain: Chain, spending: Spending) -> None:
    """Refuse to charge an account, or an allowance, that has not spent what was paid from it.

    An older amount may have been put back.

    Raises:
        ValueError: names whose it is.
    """
    _compare(spending, chain.connection.execute(spending.paid).scalar_one())


def require_unbroken(chain: Chain, after: Head) -> None:
    """Refuse a chain that does not lead from an entry to its end: what was in a missing entry would be made anew.

    Raises:
        ValueError: names the first entry that is missing, or is not as it was written.
    """
    require_whole(chain)
    require_reached(chain, after)


def require_reached(chain: Chain, after: Head) -> None:
    """Refuse a chain that does not lead from an entry to its end; only entries behind that one are read.

    Raises:
        ValueError: names the first entry that is missing, or is not as it was written.
    """
    walk = _Walk(chain, None, after)
    if after != head_of(chain):
        for entry in _in_order(chain, after.entries):
            walk.step(entry)
    walk.arrive()


def _compare(spending: Spending, total: int) -> None:
    if total != spending.spent.billionths:
        raise Refused("ledger", spending.other_sum)


class _Walk:
    """The way from an entry to the last one."""

    def __init__(self, chain: Chain, kept: Head | None, start: Head) -> None:
        self.here = start
        self.paid: Counter[Owner] = Counter()
        self._chain = chain
        self._kept = kept
        self._compare()

    def step(self, entry: _Entry) -> None:
        """Go on to the next entry."""
        number, row = self.here.entries + 1, entry.row
        if row["entry"] > number:
            raise Refused("ledger", f"row {number} was removed or renumbered without the key")
        if row["entry"] < number:
            raise Refused("ledger", f"row {row['entry']} stands twice: one was inserted without the key")
        if row["previous"] != self.here.seal or not self._chain.is_sealed(entry.table, row):
            raise Refused("ledger", f"row {number} was changed without the key")
        if entry.table is GRANTS:
            self.paid[(row["dataset"],)] += row["amount"]
        if entry.table is PAYMENTS:
            for analyst in (WHOLE_PROJECT, row["analyst"]):
                self.paid[row["dataset"], row["project"], analyst] += row["amount"]
        self.here = Head(number, row["mac"])
        self._compare()

    def arrive(self) -> None:
        """Find out whether this is the end of the chain."""
        end = head_of(self._chain)
        if self.here.entries < end.entries:
            raise Refused("ledger", f"row {self.here.entries + 1} was removed without the key")
        if self.here != end:
            raise Refused("ledger", f"row {end.entries + 1} was inserted without the key")

    def end(self) -> None:
        """Find out whether this is the end of the chain, and nothing stands beside it."""
        self.arrive()
        end = head_of(self._chain)
        if _count(self._chain) != end.entries:
            raise Refused("ledger", f"row {end.entries + 1} was inserted without the key")
        if self._kept is not None and self._kept.entries > end.entries:
            raise Refused(
                "ledger",
                f"it ends at row {end.entries}, but had {self._kept.entries} rows when the head was kept:"
                " an older copy was put back",
            )

    def _compare(self) -> None:
        if self._kept is not None and self._kept.entries == self.here.entries and self._kept != self.here:
            raise Refused("ledger", f"row {self.here.entries} is not the one whose head was kept")


def _count(chain: Chain) -> int:
    """The number of entries in the tables, found independently of their numbering."""
    counts = (select(func.count()).select_from(table).scalar_subquery() for table in ENTRIES)
    return sum(chain.connection.execute(select(*counts)).one())


def _in_order(chain: Chain, after: int) -> Iterator[_Entry]:
    """Entries of higher numbers in order, a few of each table at a time."""
    return heapq.merge(
        *(_of_table(chain, table, after) for table in ENTRIES), key=lambda entry: int(entry.row["entry"])
    )


def _of_table(chain: Chain, table: Table, after: int) -> Iterator[_Entry]:
    first = select(table).order_by(table.c.entry).limit(_ROWS_AT_ONCE)
    query = first.where(table.c.entry > after) if after else first
    while rows := chain.connection.execute(query).mappings().all():
        for row in rows:
            if not isinstance(row["entry"], int):
                raise Refused("ledger", f"a row of {table.name} has lost its number: it was changed without the key")
            yield _Entry(table, row)
        query = first.where(table.c.entry > rows[-1]["entry"])
