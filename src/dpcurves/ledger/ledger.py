"""An account of privacy loss, and of what was answered for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from ..arguments import InvalidArgument
from ..privacy import PrivacyLoss
from . import balance as balances
from . import verification
from .account import Account, Allowance, AllowanceRule, Grant, Member
from .chain import Chain, Database, Key, find_key, lock_book, read_book, require_version
from .sqlite import parse_storage_url
from .statement import (
    MemberBalance,
    Statement,
    pay_from_allowances,
    require_member_balance,
    require_paid_by,
    statement_of,
)
from .stream_state import (
    StreamState,
    find_notes,
    find_stream_state,
    find_ticks,
    require_states,
    store_notes,
    store_ticks,
)

Result = TypeVar("Result")

Asked = tuple[str, str, str, int | None]
"""Purpose, request, hash and number of units: the fields of a `Charge`."""


class Ledger:
    """Charges that are on disk before data is read, and answers that are stored before they are shown.

    Formal guarantees: the sum of all grants of a dataset never exceeds its cap, whatever number of processes and
    machines charge at once and whenever they are killed; a request is charged once; nothing is ever refunded. A crash
    may cost budget, and never privacy. Allowances inside the cap are enforced in the same way, but divide the budget
    rather than protect: what two analysts learn together is bounded by the cap alone.

    >>> from dpcurves.privacy import EACH_RECORD, Neighbours
    >>> ledger = Ledger.open("sqlite://")
    >>> ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1)))
    >>> cdf = {"purpose": "a CDF", "binding": "0" * 64, "units": None}
    >>> grant = ledger.charge("flights", PrivacyLoss.pure(0.7), request="1", **cdf)
    >>> grant == ledger.charge("flights", PrivacyLoss.pure(0.7), request="1", **cdf)  # a retry costs nothing
    True
    """

    def __init__(self, database: Database, key: Key) -> None:
        self._database = database
        self._key = key

    @classmethod
    def open(cls, url: str, key: bytes | None = None) -> Ledger:
        """Open a ledger, or make one if there is none.

        Arguments:
            url: ``sqlite:///budget.db`` for a file, ``postgresql+psycopg://user@host/database`` for a server, or
                ``sqlite://`` for a ledger in the memory of this process, which ends with it: charges in two such
                ledgers are not added up, so no cap holds for both together.
            key: At least 32 secret bytes that seal the rows. Else they are read as hexadecimal digits from the
                environment variable DPCURVES_LEDGER_KEY, else from a file beside an SQLite ledger (``budget.db.key``,
                made with it, readable by its owner alone). Whoever has the key can write what passes `verify`.

        Raises:
            ValueError: the URL, the key or what is stored there is not usable. Names which. Or there is a key without
                its ledger: a ledger was lost, and with it the record of what was spent.
        """
        place = parse_storage_url(url)
        fresh = find_key(key, place.key)
        if not place.exists():
            place.create(fresh)
        secret = find_key(key, place.key)  # of whoever was first, perhaps since the first look
        database = place.open_database()
        database.run_read(require_version)
        database.run_read(partial(read_book, key=secret))
        return cls(database, secret)

    @classmethod
    def open_existing(cls, url: str, key: bytes | None = None) -> Ledger:
        """Open a ledger that was made before.

        Raises:
            ValueError: as `open`, or there is no ledger.
        """
        place = parse_storage_url(url)
        if not place.exists():
            place.require_not_lost()
            raise InvalidArgument("ledger", "there is none at this URL")
        return cls.open(url, key)

    @classmethod
    def open_persistent(cls, url: str, key: bytes | None = None) -> Ledger:
        """Open a ledger as `open` does, through connections that stay open between transactions.

        It is for a process that serves, and is not to be used in one that was forked from it.
        """
        ledger = cls.open(url, key)
        return cls(parse_storage_url(url).open_persistent(), ledger._key)

    @property
    def database(self) -> Database:
        """The location of the database: others may keep tables of their own beside it."""
        return self._database

    def create(self, account: Account) -> None:
        """Open an account. If it is open under the same facts, nothing happens.

        Raises:
            ValueError: it was opened under other facts. Names the first that differs.
        """

        def create_account(chain: Chain) -> None:
            balance = balances.find_balance(chain, account.dataset)
            if balance is None:
                balances.open_balance(chain, account)
            else:
                balance.account.require_same(account)

        self._run_write(create_account)

    def account(self, dataset: str) -> Account:
        """The facts of one dataset.

        Raises:
            ValueError: it has no account.
        """
        return self.balance(dataset).account

    def accounts(self) -> tuple[Account, ...]:
        """The facts of all datasets, in the order in which they were opened."""
        return tuple(balance.account for balance in self._run_read(balances.all_balances))

    def charge(
        self, dataset: str, loss: PrivacyLoss, *, purpose: str, request: str, binding: str, units: int | None,
    ) -> Grant:  # fmt: skip
        """Spend `loss` once per `request`; a retry gets the grant of the first time. Durable once it returns.

        Arguments:
            dataset: Whose budget pays.
            loss: What the question may lose. Under an account kept in rho, a pure loss is converted.
            purpose: The question in words, for statements and errors.
            request: An id of the question, unique in the ledger.
            binding: 64 hexadecimal digits: a hash of question, loss and the facts of the dataset.
            units: The number of units under replace-one, where it is public; else None.

        Raises:
            BudgetExceeded: more is asked than is left. Nothing was written.
            ValueError: `request` was used for another question, the dataset has another number of units than before,
                the loss has no epsilon and the account is kept in it, a row was changed or removed without the key, or
                the account has not spent what its grants sum to. Not all rows are read: who puts an older amount with
                its seal back, and edits grants so that they add up to it, is found by `verify` alone. An error that
                leaves open whether the charge was written has a note that says under which request to ask again.
        """
        return self._charge(dataset, loss, (purpose, request, binding, units), None)

    def allow(
        self, allowance: Allowance, rule: AllowanceRule = AllowanceRule.WITHIN, event: verification.Event | None = None
    ) -> None:
        """Set what a project may spend of a dataset's cap, or an analyst within the project, from now on.

        Nothing of the cap is kept back for it: allowances that may exceed the cap together are used by who comes first,
        and so are those within it where the dataset is charged for nobody's project.

        Arguments:
            allowance: It takes the place of the one before. What was spent of that stays spent.
            rule: Whether the allowances of several projects, or of several analysts, may add up to more than the
                whole.
            event: What is entered beside it, in the same transaction; None: nothing.

        Raises:
            ValueError: as of `Allowance`; or it is more than what it is a part of, less than what was spent of it or
                than a part of it, or those beside each other add up to more than the whole and that was not said.
        """

        def replace_allowance(chain: Chain) -> None:
            verification.require_all_rows(chain)
            before = balances.find_allowance(chain, allowance)
            if before is not None:
                verification.require_paid(chain, before)
            balances.set_allowance(chain, allowance, rule)
            if event is not None:
                verification.enter_event(chain, event)

        self._run_write(replace_allowance)

    def charge_for(
        self, member: Member, dataset: str, loss: PrivacyLoss, *, purpose: str, binding: str, units: int | None,
        only_if: verification.Condition = verification.accept_always,
    ) -> Grant:  # fmt: skip
        """Spend `loss` for one analyst of a project: of the analyst's allowance, the project's and the cap, or of none.

        Whoever of the project asks the same question for the same loss gets the grant of the first one, for nothing.
        The others are as of `charge`. What was not charged before is charged `only_if` that raises nothing: it is shown
        the transaction, after which nobody else charges or enters something before this is done.

        Raises:
            BudgetExceeded: more is asked than is left of one of the three. Nothing was written.
            ValueError: as of `charge`; or the project or the analyst has no allowance, or one of which was not spent
                what was paid from it.
        """
        request = member.request(dataset, loss, binding)
        return self._charge(dataset, loss, (purpose, request, binding, units), member, only_if)

    def find_member_balance(self, dataset: str, member: Member) -> MemberBalance:
        """The loss that one analyst of one project may still spend.

        Raises:
            ValueError: there is no account or no allowance, or a row was changed without the key.
        """
        return self._run_read(lambda chain: require_member_balance(chain, dataset, member))

    def store_answer(self, grant: Grant, turn: int, part: int, answer: str) -> str:
        """Store the answer to one turn of a question, durably, unless there is one: the first writer wins.

        Returns:
            The answer that is stored now: the only one that may be shown.

        Raises:
            ValueError: this ledger did not give the grant, or what it stored later was removed or changed without the
                key: what was answered would be answered anew.
        """
        return self._run_write(lambda chain: verification.store_answer(chain, grant, turn, part, answer))

    def find_answer(self, grant: Grant, turn: int, part: int) -> str | None:
        """The answer that was stored for one turn of a question, if there is one.

        Raises:
            ValueError: this ledger did not give the grant, or the answer was changed without the key.
        """
        return self._run_read(lambda chain: verification.find_answer(chain, grant, turn, part))

    def store_notes(self, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
        """Note, durably and all together, what is not noted yet under these names: the first writer wins.

        Returns:
            What is noted now under these names: all that may be used. SECRET: it may tell more than was paid for.

        Raises:
            ValueError: this ledger did not give the grant, or has lost rows.
        """
        return self._run_write(lambda chain: store_notes(chain, grant, part, notes))

    def find_notes(self, grant: Grant, part: int, names: Sequence[str]) -> dict[str, int]:
        """Notes under these names for a part of a grant; names without a note are left out. SECRET.

        Raises:
            ValueError: this ledger did not give the grant, or a note was changed without the key.
        """
        return self._run_read(lambda chain: find_notes(chain, grant, part, names))

    def memory_of(self, grant: Grant, part: int) -> PartMemory:
        """SECRET: what is noted for a part of a grant, as `Memory` of a mechanism."""
        return PartMemory(self, grant, part)

    def advance(self, grant: Grant, ticks: Mapping[int, str], state: bytes) -> Mapping[int, str]:
        """Store the answers to the next ticks of a stream and replace its secret state, durably: both or neither.

        The state is encrypted under a key that is derived from the ledger's. It is forgotten when it is replaced,
        though a disk and its backups may remember it, encrypted.

        Returns:
            The answers that are stored now: the only ones that may be shown. That is `ticks` itself, if it was stored.
            Else another process was first: these are its answers, perhaps to fewer of these ticks, and the stream goes
            on from its `find_stream_state`, not from `state`, even where the answers are equal.

        Raises:
            ValueError: the ticks are not the next ones, the state that stood there is missing or of another tick, or
                this ledger did not give the grant.
        """
        return self._run_write(lambda chain: store_ticks(chain, grant, ticks, state))

    def find_stream_state(self, grant: Grant) -> StreamState | None:
        """The last tick of a stream that was answered, and the secret state behind it. None: nothing was answered.

        Raises:
            ValueError: there are answers and no state, or that of another tick; or this ledger did not give the grant.
        """
        return self._run_read(lambda chain: find_stream_state(chain, grant))

    def find_answers(self, grant: Grant, ticks: range) -> Mapping[int, str]:
        """The stored answers to some ticks of a stream, in order.

        Raises:
            ValueError: one is missing or was changed without the key, or this ledger did not give the grant.
        """
        return self._run_read(lambda chain: find_ticks(chain, grant, ticks))

    def find_grant(self, dataset: str, request: str) -> Grant | None:
        """The earlier grant of this request, or None. Reads one row.

        Raises:
            ValueError: the row was changed without the key.
        """
        return self._run_read(lambda chain: verification.find_grant(chain, dataset, request))

    def balance(self, dataset: str) -> balances.Balance:
        """The spent and the remaining budget of a dataset: a statement without its charges. Reads one row.

        Raises:
            ValueError: it has no account, or the row was changed without the key.
        """
        return self._run_read(lambda chain: balances.require_balance(chain, dataset))

    def delta_spent(self, dataset: str) -> Fraction:
        """The deltas of all charges of a dataset together.

        Raises:
            ValueError: a row was changed without the key.
        """
        return self._run_read(lambda chain: verification.delta_spent(chain, dataset))

    def statement(self, dataset: str) -> Statement:
        """The charges of a dataset, and its remaining budget.

        Raises:
            ValueError: it has no account, or a row was changed without the key.
        """
        return self._run_read(lambda chain: statement_of(chain, dataset))

    def head(self) -> str:
        """The end of the chain, to be kept elsewhere and given to `verify` later."""
        return str(self._run_read(verification.head_of))

    def verify(self, head: str | None = None) -> verification.VerificationResult:
        """Recompute every seal.

        Arguments:
            head: What `head` returned at an earlier time. With it, an older copy that was put back is found too.

        Raises:
            ValueError: something was changed without the key. Names the first row.
        """
        kept = None if head is None else verification.Head.parse(head)

        def verify_chain(chain: Chain) -> verification.VerificationResult:
            verified = verification.verify(chain, kept)
            require_states(chain)
            return verified

        return self._run_read(verify_chain)

    def record_event(self, event: verification.Event, work: Callable[[Connection], Result]) -> Result:
        """Do something in this database and enter who did it, durably: both or neither.

        Arguments:
            event: What is entered.
            work: What is done, on tables of one's own. What it raises leaves nothing behind.
        """

        def record_and_work(chain: Chain) -> Result:
            verification.enter_event(chain, event)
            return work(chain.connection)

        return self._run_write(record_and_work)

    def events(
        self, after: int = 0, most: int = 1000, dataset: str | None = None
    ) -> tuple[verification.EventEntry, ...]:
        """Events after an entry in order of time, at most so many; of one dataset, or of all.

        Raises:
            ValueError: a row was changed without the key.
        """
        return self._run_read(lambda chain: verification.events_of(chain, after, most, dataset))

    def dataset_key(self, dataset: str) -> bytes:
        """32 secret bytes of one dataset: the same ones as long as the ledger's key is."""
        return self._key.derive_dataset_key(dataset)

    def __repr__(self) -> str:
        return f"Ledger({self._database.label})"

    def _charge(
        self,
        dataset: str,
        loss: PrivacyLoss,
        asked: Asked,
        member: Member | None,
        only_if: verification.Condition = verification.accept_always,
    ) -> Grant:
        entered = ExitStack()

        def charge_account(chain: Chain) -> Grant:
            balance = balances.require_balance(chain, dataset)
            charge = verification.Charge(balance.account, loss, *asked)
            price = charge.price
            charge.require_same_units(chain)
            if member is not None:
                require_member_balance(chain, dataset, member)
            grant = charge.find_earlier_grant(chain)
            if grant is None:
                only_if(chain.connection)
                verification.require_all_rows(chain)
                verification.require_paid(chain, balance)
                charge.require_delta(chain)
                balances.write_spent(chain, balance.with_charge(price, charge.purpose))
                grant = charge.enter_grant(chain)
                if member is not None:
                    pay_from_allowances(chain, charge, grant, member)
            elif member is not None:
                require_paid_by(chain, grant, member)
            entered.enter_context(verification.attach_open_receipt(charge.request))
            return grant

        with entered:
            return self._run_write(charge_account)

    def _run_read(self, work: Callable[[Chain], Result]) -> Result:
        return self._database.run_read(lambda one: work(Chain(one, self._key, read_book(one, self._key))))

    def _run_write(self, work: Callable[[Chain], Result]) -> Result:
        return self._database.run_write(lambda one: work(Chain(one, self._key, lock_book(one, self._key))))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PartMemory:
    """SECRET. Memory that is as durable as the ledger: it lies in it."""

    ledger: Ledger
    grant: Grant
    part: int

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        return self.ledger.find_notes(self.grant, self.part, names)

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        return self.ledger.store_notes(self.grant, self.part, notes)
