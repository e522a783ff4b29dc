"""The ledger of privacy loss: accounts, charges, and the stored answers that were paid for.

Also called: privacy accountant, budget ledger. Before any record of a dataset is read, the loss of a question is
charged in one transaction:

    known request         return its grant, nothing is spent
    spent + loss > cap    refuse with `BudgetExceeded`, nothing is spent
    else                  append the grant to the hash chain, spent += loss, commit

An answer is stored under its request before it is shown, so a repeated request is read again and not computed anew.

Formal guarantees: the sum of all grants of a dataset never exceeds its cap, for any number of concurrent processes and
for crashes at any time: a crash may cost budget, never privacy. Losses add up in one currency, epsilon or rho (basic
composition; Bun and Steinke 2016, Lemma 2.3).

References: Dwork and Roth 2014, section 3.5; NIST SP 800-226 (privacy budget).

>>> from dpcurves.privacy import EACH_RECORD, Neighbours
>>> ledger = Ledger.open("sqlite://")  # in memory
>>> ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1)))
>>> grant = ledger.charge("flights", PrivacyLoss.pure(0.7), request="1", purpose="a CDF", binding="0" * 64, units=None)
>>> ledger.balance("flights").remaining
Amount(currency=<Currency.EPSILON: 'epsilon'>, billionths=300000000)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from ..arguments import InvalidArgument
from ..privacy import PrivacyLoss
from . import balance as balances
from . import verification
from .account import Account, Allowance, AllowanceRule, Grant, Member
from .chain import Book, Chain, Database, Key, find_key, read_book, read_known_book
from .head_copy import HEADS_VARIABLE, RESTORE_ACTION, HeadCopy, find_folder
from .sqlite import parse_storage_url
from .statement import (
    MemberBalance,
    Statement,
    pay_from_allowances,
    require_member_balance,
    require_paid_by,
    statement_of,
)
from .stored_views import ViewChange, append_view, read_view_definitions
from .stream_state import (
    StreamState,
    find_notes,
    find_stream_state,
    find_time_steps,
    require_states,
    store_notes,
    store_time_steps,
)

Result = TypeVar("Result")

Asked = tuple[str, str, str, int | None]
"""Purpose, request id, binding and number of units: fields of a `Charge`."""


class Charged(NamedTuple):
    """Outcome of a charge, as of the end of its transaction.

    Attributes:
        grant: Grant of the request.
        balance: Balance of the dataset after the charge, or now if the request was charged before.
        is_new: Whether this call charged the request. No answer to it was stored when the charge was committed.
    """

    grant: Grant
    balance: balances.Balance
    is_new: bool


class Ledger:
    """Ledger whose charges are on disk before data are read, and whose answers are stored before they are shown.

    Formal guarantees: the sum of all grants of a dataset never exceeds its cap, for any number of concurrent processes
    and machines and for crashes at any time. A request is charged once, and nothing is refunded. A crash may cost
    budget, never privacy. Allowances inside the cap are enforced in the same way, but only divide the budget: what two
    analysts learn together is bounded by the cap alone.

    >>> from dpcurves.privacy import EACH_RECORD, Neighbours
    >>> ledger = Ledger.open("sqlite://")
    >>> ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1)))
    >>> cdf = {"purpose": "a CDF", "binding": "0" * 64, "units": None}
    >>> grant = ledger.charge("flights", PrivacyLoss.pure(0.7), request="1", **cdf)
    >>> grant == ledger.charge("flights", PrivacyLoss.pure(0.7), request="1", **cdf)  # a retry costs nothing
    True
    """

    def __init__(self, database: Database, key: Key, head_copy: HeadCopy | None) -> None:
        self._database = database
        self._key = key
        self._head_copy = head_copy

    @classmethod
    def open(cls, url: str, key: bytes | None = None) -> Ledger:
        """Open a ledger, or create it if it does not exist.

        Args:
            url: ``sqlite:///budget.db`` for a file, ``postgresql+psycopg://user@host/database`` for a server, or
                ``sqlite://`` for a ledger in the memory of this process. Ledgers in memory end with the process and
                do not add up, so no cap holds for two of them together.
            key: At least 32 secret bytes that seal the rows. Default: hexadecimal digits from the environment variable
                DPCURVES_LEDGER_KEY, else from a file beside an SQLite ledger (``budget.db.key``, created with it,
                readable by its owner alone). The holder of the key can write rows that pass `verify`.

        Raises:
            ValueError: the URL, the key or the stored ledger is not usable (the message names it); or a key exists
                without its ledger, so a ledger was lost, and with it the record of the spent budget.
        """
        storage = parse_storage_url(url)
        initial_key = find_key(key, storage.key)
        if not storage.exists():
            storage.create(initial_key)
        secret = find_key(key, storage.key)  # again, because another process may have created the ledger first
        database = storage.open_database()
        database.run_read(partial(read_known_book, key=secret))
        folder = find_folder() if storage.is_persistent else None
        return cls(database, secret, None if folder is None else HeadCopy(folder))

    @classmethod
    def open_existing(cls, url: str, key: bytes | None = None) -> Ledger:
        """Return the ledger at a URL; in contrast to `open`, none is created if it is missing.

        Args:
            url: URL of the database, such as ``sqlite:///budget.db``.
            key: Secret key of at least 32 bytes; None: from the environment, or from the key file beside the ledger.

        Raises:
            ValueError: no ledger exists at the URL, it cannot be reached, or the key is not the ledger's.
        """
        storage = parse_storage_url(url)
        if not storage.exists():
            storage.require_not_lost()
            raise InvalidArgument(
                "ledger", "there is no ledger at this URL; create one with `dpcurves ledger create`, or correct the URL"
            )
        return cls.open(url, key)

    @classmethod
    def open_persistent(cls, url: str, key: bytes | None = None) -> Ledger:
        """Open a ledger as `open` does, with connections that stay open between transactions.

        Meant for servers. A forked child process must not use it.

        Args:
            url: URL of the ledger, such as ``sqlite:///budget.db``.
            key: Key that seals entries; None: as in `open`.
        """
        ledger = cls.open(url, key)
        return cls(parse_storage_url(url).open_persistent(), ledger._key, ledger._head_copy)

    @property
    def database(self) -> Database:
        """Database of the ledger, in which other packages may create their own tables."""
        return self._database

    def create(self, account: Account) -> None:
        """Create the account of a dataset; leave an existing account with equal terms unchanged.

        Args:
            account: Cap, neighbouring relation and privacy unit of the dataset.

        Raises:
            ValueError: the account exists with other terms. Names the first that differs.
        """

        def is_created(chain: Chain) -> bool:
            """Return True if the account exists, after a check that it has the requested terms.

            Args:
                chain: Open transaction of the ledger.

            Raises:
                ValueError: the account exists with other terms.
            """
            balance = balances.find_balance(chain, account.dataset)
            if balance is not None:
                balance.account.require_same(account)
            return balance is not None

        def create_account(chain: Chain) -> None:
            """Write the account, or check that the existing account has the requested terms.

            Args:
                chain: Open transaction of the ledger.

            Raises:
                ValueError: the account exists with other terms.
            """
            if not is_created(chain):
                balances.open_balance(chain, account)

        if not self._run_read(is_created):  # a ledger on a full or read-only disk still answers known questions
            self._run_write(create_account)

    def account(self, dataset: str) -> Account:
        """Return the terms of one dataset's account: cap, neighbouring relation and privacy unit.

        Args:
            dataset: Name of the dataset.

        Raises:
            ValueError: the dataset has no account.
        """
        return self.balance(dataset).account

    def accounts(self) -> tuple[Account, ...]:
        """Return the terms of all datasets' accounts in the order of their creation; empty for a new ledger."""
        return tuple(balance.account for balance in self._run_read(balances.all_balances))

    def charge(
        self, dataset: str, loss: PrivacyLoss, *, purpose: str, request: str, binding: str, units: int | None,
    ) -> Grant:  # fmt: skip
        """Spend `loss` once per `request`. A retry returns the first grant. The charge is durable on return.

        Args:
            dataset: Dataset whose budget pays.
            loss: Loss of the question. An account in rho converts a pure loss.
            purpose: The question in words, for statements and errors.
            request: Id of the question, unique in the ledger.
            binding: 64 hexadecimal digits: a hash of question, loss and the dataset's terms.
            units: Number of units under replace-one, where it is public; else None.

        Raises:
            BudgetExceeded: the loss exceeds the remaining budget. Nothing was written.
            ValueError: `request` was used for another question, the dataset has another number of units than before,
                the account is in epsilon and the loss has none, a row was changed or removed without the key, or the
                account's spent budget is not the sum of its grants. Not all rows are read: only `verify` detects an
                older spent amount that was restored with its seal together with grants edited to match. An error
                that leaves open whether the charge was written has a note with the request id for a retry.
        """
        return self._charge(dataset, loss, (purpose, request, binding, units)).grant

    def charge_and_read_balance(
        self, dataset: str, loss: PrivacyLoss, *, purpose: str, request: str, binding: str, units: int | None,
        is_generated: bool,
    ) -> Charged:  # fmt: skip
        """Charge as `charge` does, and return the balance after it, too.

        Args:
            dataset: Name of the dataset that pays.
            loss: Loss of the question.
            purpose: The question in words.
            request: Request id: a second charge under the same one costs nothing.
            binding: Hash of question, loss and dataset that the request id is bound to.
            units: Number of units, if it is public; None: it is private.
            is_generated: Whether `request` is a new random name. Then no earlier grant is looked for before the writing
                transaction, which looks for one again and never charges a request twice.

        >>> from dpcurves.privacy import EACH_RECORD, Neighbours
        >>> ledger = Ledger.open("sqlite://")
        >>> ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1)))
        >>> cdf = {"purpose": "a CDF", "request": "1", "binding": "0" * 64, "units": None, "is_generated": False}
        >>> for _ in range(2):  # the second one costs nothing
        ...     charged = ledger.charge_and_read_balance("flights", PrivacyLoss.pure("0.7"), **cdf)
        ...     print(charged.is_new, charged.balance.remaining)
        True epsilon 0.3
        False epsilon 0.3
        """
        return self._charge(dataset, loss, (purpose, request, binding, units), may_be_known=not is_generated)

    def allow(
        self, allowance: Allowance, rule: AllowanceRule = AllowanceRule.WITHIN, event: verification.Event | None = None
    ) -> None:
        """Set the limit on what a project may spend of a dataset's cap, or an analyst within the project.

        Allowances reserve no part of the cap: if they exceed it in sum, or if the dataset is also charged without a
        project, the budget goes to the first questions.

        Args:
            allowance: Replaces the previous allowance. The spent amount carries over.
            rule: Whether the allowances of several projects, or of several analysts, may exceed the whole in sum.
            event: Audit event written in the same transaction; None: no event.

        Raises:
            ValueError: as of `Allowance`; or the allowance exceeds its parent, is below the spent amount or below an
                analyst's allowance within it, or siblings exceed the parent in sum and `rule` forbids it.
        """

        def replace_allowance(chain: Chain) -> None:
            """Verify the chain and the previous allowance, then write the new allowance and its audit event, all in one
            transaction.

            Args:
                chain: Open transaction of the ledger.
            """
            verification.require_all_rows(chain)
            previous = balances.find_allowance(chain, allowance)
            if previous is not None:
                verification.require_paid(chain, previous)
            balances.set_allowance(chain, allowance, rule)
            if event is not None:
                verification.enter_event(chain, event)

        self._run_write(replace_allowance)

    def charge_for(
        self, member: Member, dataset: str, loss: PrivacyLoss, *, purpose: str, binding: str, units: int | None,
        only_if: verification.Condition | None = None,
    ) -> Grant:  # fmt: skip
        """Spend `loss` of an analyst's allowance, the project's allowance and the cap: of all three or of none.

        Any analyst of the project who asks the same question for the same loss gets the first grant at no cost. The
        other arguments are as of `charge`. `only_if` is called with the transaction before a new charge, while no other
        process can charge or write; an exception that it raises cancels the charge.

        Args:
            member: The analyst and the project whose allowances pay.
            dataset: Dataset whose budget pays.
            loss: Loss of the question. An account in rho converts a pure loss.
            purpose: The question in words, for statements and errors.
            binding: 64 hexadecimal digits: a hash of question, loss and the dataset's terms.
            units: Number of units under replace-one, where it is public; else None.
            only_if: Condition of a new charge; an exception that it raises cancels the charge. None: no condition.

        Raises:
            BudgetExceeded: the loss exceeds one of the three remaining amounts. Nothing was written.
            ValueError: as of `charge`; or the project or the analyst has no allowance, or the spent amount of an
                allowance is not the sum of its payments.
        """
        request = member.request(dataset, loss, binding)
        return self._charge(dataset, loss, (purpose, request, binding, units), member, only_if).grant

    def find_member_balance(self, dataset: str, member: Member) -> MemberBalance:
        """Return the remaining budget of an analyst of a project.

        Args:
            dataset: Name of the dataset.
            member: The analyst, by project.

        Raises:
            ValueError: the account or an allowance is missing, or a row was changed without the key.
        """
        return self._run_read(lambda chain: require_member_balance(chain, dataset, member))

    def store_answer(self, grant: Grant, round_number: int, part: int, answer: str) -> str:
        """Store the answer to one round of a question, durably, unless one is stored: the first writer wins.

        Args:
            grant: The grant (charge) that paid for the question.
            round_number: Number of the round, from 0.
            part: Number of the payment within the grant, from 0.
            answer: The answer as text.

        Returns:
            The stored answer, the only answer that may be shown.

        Raises:
            ValueError: this ledger did not give the grant, or a later row was removed or changed without the key, so
                that a stored answer may be missing.
        """
        return self._run_write(lambda chain: verification.store_answer(chain, grant, round_number, part, answer))

    def find_answer(self, grant: Grant, round_number: int, part: int) -> str | None:
        """Return the stored answer to one round of a question, or None.

        Args:
            grant: The grant (charge) that paid for the question.
            round_number: Number of the round, from 0.
            part: Number of the payment within the grant, from 0.

        Raises:
            ValueError: this ledger did not give the grant, or the answer was changed without the key.
        """
        return self._run_read(lambda chain: verification.find_answer(chain, grant, round_number, part))

    def store_notes(self, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
        """Store noisy sums (notes) of a mechanism, durably and all together, unless stored under these names: the first
        writer wins.

        Args:
            grant: The grant (charge) that paid for the sums.
            part: Number of the payment within the grant, from 0.
            notes: Noisy sums by name. SECRET.

        Returns:
            The stored sums under these names, the only ones that may be used. SECRET: they can reveal more than the
            paid answers.

        Raises:
            ValueError: this ledger did not give the grant, or has lost rows.
        """
        return self._run_write(lambda chain: store_notes(chain, grant, part, notes))

    def find_notes(self, grant: Grant, part: int, names: Sequence[str]) -> dict[str, int]:
        """Return the stored noisy sums (notes) of a mechanism under these names; names without a stored sum are
        omitted. SECRET.

        Args:
            grant: The grant (charge) that paid for the sums.
            part: Number of the payment within the grant, from 0.
            names: Names of the noisy sums.

        Raises:
            ValueError: this ledger did not give the grant, or a note was changed without the key.
        """
        return self._run_read(lambda chain: find_notes(chain, grant, part, names))

    def memory_of(self, grant: Grant, part: int) -> PartMemory:
        """Return the stored noisy sums of one payment as the `Memory` of a mechanism, which answers later prefixes
        consistently. SECRET.

        Args:
            grant: The grant (charge) that paid.
            part: Number of the payment within the grant, from 0.
        """
        return PartMemory(self, grant, part)

    def advance(self, grant: Grant, time_steps: Mapping[int, str], state: bytes) -> Mapping[int, str]:
        """Store the answers to the next time steps of a stream and replace its secret state, durably: both or neither.

        The state is encrypted under a key derived from the ledger's. It is overwritten, though a disk and its backups
        may keep the old ciphertext.

        Args:
            grant: The grant of the stream.
            time_steps: Answers by time step; the first follows the last stored one.
            state: State of the mechanism after the last of these time steps. SECRET.

        Returns:
            The stored answers, the only answers that may be shown. The result is `time_steps` itself if it was stored.
            Otherwise another process was first: the result has its answers, perhaps to fewer of these time steps, and
            the stream must continue from its `find_stream_state`, not from `state`, even if the answers are equal.

        Raises:
            ValueError: the time steps are not the next ones, the stored state is missing or of another time step, or
                this ledger did not give the grant.
        """
        return self._run_write(lambda chain: store_time_steps(chain, grant, time_steps, state))

    def find_stream_state(self, grant: Grant) -> StreamState | None:
        """Return the last answered time step of a stream and its secret state, or None if nothing was answered.

        Args:
            grant: The grant (charge) of the stream.

        Raises:
            ValueError: there are answers without their state, or this ledger did not give the grant.
        """
        return self._run_read(lambda chain: find_stream_state(chain, grant))

    def find_answers(self, grant: Grant, time_steps: range) -> Mapping[int, str]:
        """Return the stored answers to some time steps of a stream, in order.

        Args:
            grant: The grant (charge) of the stream.
            time_steps: Numbers of the time steps.

        Raises:
            ValueError: an answer is missing or was changed without the key, or this ledger did not give the grant.
        """
        return self._run_read(lambda chain: find_time_steps(chain, grant, time_steps))

    def find_grant(self, dataset: str, request: str) -> Grant | None:
        """Return the earlier grant (charge) of this request, so that a retry costs nothing, or None. Reads one row.

        Args:
            dataset: Name of the dataset.
            request: Request id.

        Raises:
            ValueError: the row was changed without the key.
        """
        return self._run_read(lambda chain: verification.find_grant(chain, dataset, request))

    def balance(self, dataset: str) -> balances.Balance:
        """Return the cap and the spent and remaining budget of a dataset, without its charges. Reads one row.

        Args:
            dataset: Name of the dataset.

        Raises:
            ValueError: the dataset has no account, or the row was changed without the key.
        """
        return self._run_read(lambda chain: balances.require_balance(chain, dataset))

    def delta_spent(self, dataset: str) -> Fraction:
        """Return the sum of the deltas of all charges of a dataset.

        Args:
            dataset: Name of the dataset.

        Raises:
            ValueError: a row was changed without the key.
        """
        return self._run_read(lambda chain: verification.delta_spent(chain, dataset))

    def statement(self, dataset: str) -> Statement:
        """Return the charges of a dataset and its remaining budget.

        Args:
            dataset: Name of the dataset.

        Raises:
            ValueError: the dataset has no account, or a row was changed without the key.
        """
        return self._run_read(lambda chain: statement_of(chain, dataset))

    def accept_restored(self) -> verification.Head:
        """Accept an older copy of the ledger that was restored on purpose, record that in the chain, and return the new
        head.

        Charges made after the copy are missing, and a question asked after it may be answered again with other noise.
        The total loss is then the loss in the copy plus the loss of all releases made after the copy, recorded or not.

        Raises:
            ValueError: the ledger is not an older copy of the ledger that was used here, or the copy of its head cannot
                be replaced.
        """

        not_restored = "no older copy was put back, so there is nothing to restore; go on with this ledger"
        heads = self._head_copy
        if heads is None:
            raise InvalidArgument("ledger", not_restored)

        def record_restore(chain: Chain) -> Book:
            """Record in the chain that an older copy was restored, and return the ledger's header after that.

            Args:
                chain: Open transaction of the ledger.

            Raises:
                InvalidArgument: the ledger is no older copy.
            """
            try:
                heads.require_not_older(chain)
            except InvalidArgument as error:
                verification.enter_event(
                    chain, verification.Event("the machine", RESTORE_ACTION, error.rule.partition(",")[0], "")
                )
                return chain.book
            raise InvalidArgument("ledger", not_restored)

        book = self._run_write(record_restore, may_be_older=True)
        try:
            heads.overwrite(book)
        except OSError as error:
            reason = error.strerror
        else:
            return verification.Head(book.entries, book.head)
        raise InvalidArgument(
            "ledger",
            f"the restore is recorded, but the copy of the ledger's head cannot be replaced ({reason}); make room in"
            f" its folder, which {HEADS_VARIABLE} names, and restore again",
        )

    def head(self) -> str:
        """Return the head of the hash chain as text. Store it outside the ledger, and pass it to `verify` later.

        A copy is also kept in a second place of this machine: see `head_copy`.
        """
        return str(self._run_read(verification.head_of))

    def verify(self, head: str | None = None) -> verification.VerificationResult:
        """Verify the whole ledger by recomputing every seal (message authentication code); return the number of rows
        and the head of the chain.

        Args:
            head: Result of an earlier `head`, which also detects an older copy that replaced the ledger; None: that is
                not checked.

        Raises:
            ValueError: a row was changed without the key. Names the first row.
        """
        known_head = None if head is None else verification.Head.parse(head)

        def verify_chain(chain: Chain) -> verification.VerificationResult:
            """Verify every entry, and that each stream has its state; return the result.

            Args:
                chain: Open transaction of the ledger.

            Raises:
                ValueError: an entry, an amount or the state of a stream is not as it was written.
            """
            verified = verification.verify(chain, known_head)
            require_states(chain)
            return verified

        return self._run_read(verify_chain)

    def record_event(self, event: verification.Event, work: Callable[[Connection], Result]) -> Result:
        """Write an audit event and change the caller's own tables in one durable transaction.

        Args:
            event: Event to write.
            work: Function that changes the caller's own tables. An exception rolls back everything.

        Returns:
            The result of `work`.
        """

        def record_and_work(chain: Chain) -> Result:
            """Write the audit event, then let `work` change the caller's tables in the same transaction.

            Args:
                chain: Open transaction of the ledger.

            Returns:
                The result of `work`.
            """
            verification.enter_event(chain, event)
            return work(chain.connection)

        return self._run_write(record_and_work)

    def events(
        self, after: int = 0, most: int = 1000, dataset: str | None = None
    ) -> tuple[verification.EventEntry, ...]:
        """Return audit events after a given entry, in order of time, page by page.

        Args:
            after: Number of the entry after which they start; 0: from the beginning.
            most: The largest number of events to return.
            dataset: Only events of this dataset; None: of all.

        Raises:
            ValueError: a row was changed without the key.
        """
        return self._run_read(lambda chain: verification.events_of(chain, after, most, dataset))

    def change_view(self, dataset: str, change: ViewChange) -> None:
        """Store or remove the definition of one view of a dataset, durably, as an entry of the chain.

        Args:
            dataset: Dataset whose account the view belongs to.
            change: Is called in the transaction, while no other process can write, with the stored definitions by
                name; returns the name and the new definition, which is empty to remove the view. An exception that it
                raises cancels the change. `Session.define_view` passes one.

        Raises:
            ValueError: the dataset has no account, the texts cannot be stored, or a row was changed without the key.

        >>> from dpcurves.privacy import EACH_RECORD, Neighbours
        >>> ledger = Ledger.open("sqlite://")
        >>> ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1)))
        >>> ledger.change_view("flights", lambda stored: ("late", "delay > 0"))
        >>> ledger.view_definitions("flights")
        {'late': 'delay > 0'}
        """
        self._run_write(lambda chain: append_view(chain, dataset, change))

    def view_definitions(self, dataset: str) -> dict[str, str]:
        """Return the definitions of the views that are stored with a dataset's account, by name, as JSON texts.

        Args:
            dataset: Name of the dataset.

        Raises:
            ValueError: the dataset has no account, or a row was changed without the key.
        """
        return self._run_read(lambda chain: read_view_definitions(chain, dataset))

    def dataset_key(self, dataset: str) -> bytes:
        """Return 32 secret bytes of one dataset. They depend on the dataset's name and the ledger's key alone.

        Args:
            dataset: Name of the dataset.
        """
        return self._key.derive_dataset_key(dataset)

    def __repr__(self) -> str:
        return f"Ledger({self._database.label})"

    def _charge(
        self,
        dataset: str,
        loss: PrivacyLoss,
        question: Asked,
        member: Member | None = None,
        only_if: verification.Condition | None = None,
        *,
        may_be_known: bool = True,
    ) -> Charged:
        """Return the earlier grant of a question, or charge for it in one transaction and return the new grant.

        Args:
            dataset: Dataset whose account pays.
            loss: Privacy loss of the question.
            question: The question, with its request id.
            member: Project and analyst whose allowances pay as well; None: the account alone.
            only_if: Condition that must hold for a charge; None: no condition.
            may_be_known: False for a request that cannot have been charged before.
        """
        open_receipt = ExitStack()

        def find_known_grant(chain: Chain) -> tuple[balances.Balance, verification.Charge, Grant | None]:
            """Find the earlier grant of the request, if it was charged before, with the account's balance and the
            checked charge.

            Args:
                chain: Open transaction of the ledger.

            Returns:
                Balance of the account, the checked charge, and the earlier grant; None if the request is new.
            """
            balance = balances.require_balance(chain, dataset)
            charge = verification.Charge(balance.account, loss, *question)
            charge.require_same_units(chain)
            if member is not None:
                require_member_balance(chain, dataset, member)
            grant = charge.find_earlier_grant(chain)
            if grant is not None:
                if member is not None:
                    require_paid_by(chain, grant, member)
                open_receipt.enter_context(verification.attach_receipt(verification.OpenReceipt(charge.request)))
            return balance, charge, grant

        def charge_account(chain: Chain) -> Charged:
            """Check and charge the account inside the transaction, unless the request was charged before; return the
            new or the earlier grant.

            Args:
                chain: Open transaction of the ledger.

            Returns:
                The grant, the balance after it, and whether it is new.
            """
            balance, charge, grant = find_known_grant(chain)
            if grant is not None:
                return Charged(grant, balance, is_new=False)
            price = charge.price
            if only_if is not None:
                only_if(chain.connection)
            verification.require_all_rows(chain)
            verification.require_paid(chain, balance)
            charge.require_delta(chain)
            balance = balance.with_charge(price, charge.purpose)
            balances.write_spent(chain, balance)
            grant = charge.enter_grant(chain)
            if member is not None:
                pay_from_allowances(chain, charge, grant, member)
            open_receipt.enter_context(verification.attach_receipt(verification.OpenReceipt(charge.request)))
            return Charged(grant, balance, is_new=True)

        with open_receipt:
            if may_be_known:  # nothing is written for a known request: a full or read-only disk still answers it
                balance, _, known_grant = self._run_read(find_known_grant)
                if known_grant is not None:
                    return Charged(known_grant, balance, is_new=False)
            return self._run_write(charge_account)

    def _run_read(self, work: Callable[[Chain], Result]) -> Result:
        """Return the result of a function of the ledger's chain, which sees one snapshot of the database.

        Args:
            work: Function of the open transaction.
        """
        return self._database.run_read(
            lambda connection: work(Chain(connection, self._key, read_book(connection, self._key)))
        )

    def _run_write(self, work: Callable[[Chain], Result], *, may_be_older: bool = False) -> Result:
        """Call `work` in one durable transaction, unless this ledger is an older copy; then also store the new head
        outside the ledger.

        Args:
            work: Function of the open transaction of the ledger.
            may_be_older: Whether an older copy of the ledger is accepted; its entries are then not compared with the
                stored head.

        Returns:
            The result of `work`, after its entries are committed.

        Raises:
            ValueError: the ledger is an older copy, or has another entry in the place of its stored head.
        """

        def work_on_latest(connection: Connection) -> tuple[Result, Book]:
            """Call `work` while the chain is locked; return its result, and the ledger's header after its entries.

            Args:
                connection: Connection inside a writing transaction.
            """
            chain = Chain(connection, self._key, read_book(connection, self._key, lock=True))
            if self._head_copy is not None and not may_be_older:
                self._head_copy.require_not_older(chain)
            return work(chain), chain.book

        result, book = self._database.run_write(work_on_latest)
        if self._head_copy is not None:
            self._head_copy.store(book)
        return result


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PartMemory:
    """Memory of a mechanism in the ledger, as durable as the ledger. SECRET."""

    ledger: Ledger
    grant: Grant
    part: int

    def recall(self, names: Sequence[str]) -> dict[str, int]:
        """Return the noisy sums that were stored under these names; names without a stored sum are omitted. SECRET.

        Args:
            names: Names of noisy sums.
        """
        return self.ledger.find_notes(self.grant, self.part, names)

    def keep(self, notes: Mapping[str, int]) -> dict[str, int]:
        """Store noisy sums under new names durably; return the stored sums of all names, the only ones that may be
        used. SECRET.

        Args:
            notes: Noisy sums by name. A name that has a stored sum keeps the stored one.
        """
        return self.ledger.store_notes(self.grant, self.part, notes)
