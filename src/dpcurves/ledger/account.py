"""Terms of a dataset and allowances, privacy loss in whole billionths, and the budget of one question."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor

from ..arguments import ArgumentError, InvalidArgument, WrongArgumentType
from ..privacy import Neighbours, PrivacyLoss, Unit, format_loss

BILLION = 10**9
LEAST_ROUNDED = 10**5
"""Billionths of a turn below which it is not rounded: more than a hundred thousandth of it would be lost."""
LARGEST_AMOUNT = BILLION * BILLION  # fits a signed integer of 64 bits, with room for one more of the same size


DELTA = "; delta "
"""Stands in a ledger behind a loss that has a delta, before that as a fraction."""


def join_delta(text: str, delta: Fraction) -> str:
    """A text of a ledger, with the delta of its loss where there is one.

    >>> join_delta("epsilon", Fraction(1, 1000)), join_delta("1/2", Fraction(0))
    ('epsilon; delta 1/1000', '1/2')
    """
    return f"{text}{DELTA}{delta}" if delta else text


def split_delta(text: str) -> tuple[str, Fraction]:
    """The inverse of `join_delta`.

    >>> split_delta("epsilon; delta 1/1000"), split_delta("1/2")
    (('epsilon', Fraction(1, 1000)), ('1/2', Fraction(0, 1)))
    """
    text, _, delta = text.partition(DELTA)
    return text, Fraction(delta or 0)


class Currency(Enum):
    """The currency of an account: epsilon or rho.

    >>> str(Currency.EPSILON.price(PrivacyLoss.pure("0.70000000001")))
    'epsilon 0.700000001'
    >>> str(Currency.RHO.price(PrivacyLoss.pure(1)))
    'rho 0.5'
    """

    EPSILON = "epsilon"
    RHO = "rho"

    @classmethod
    def from_loss(cls, cap: PrivacyLoss) -> Currency:
        """A pure cap is kept in epsilon, a cap of zero-concentrated differential privacy in rho."""
        return cls.EPSILON if cap.is_pure else cls.RHO

    def price(self, loss: PrivacyLoss) -> Amount:
        """The price of `loss`, rounded up to a whole billionth.

        Raises:
            ValueError: the loss is zero, or has no epsilon and this is epsilon.
        """
        exact = self._measure(loss)
        if exact is None:
            raise InvalidArgument(
                "rho", "this account is kept in epsilon, and a zCDP loss has none (pure converts to rho, never back)"
            )
        if exact <= 0:
            raise InvalidArgument(self.value, f"a number above zero is needed, got {loss}")
        return Amount(self, ceil(exact * BILLION))

    def limit(self, cap: PrivacyLoss) -> Amount:
        """The limit of `cap`, rounded down to a whole billionth."""
        return Amount(self, floor((self._measure(cap) or Fraction(0)) * BILLION))

    def smallest_cap(self, loss: PrivacyLoss) -> PrivacyLoss:
        """The least cap that pays for `loss`.

        >>> Currency.EPSILON.smallest_cap(PrivacyLoss.pure("1/3")).epsilon
        Fraction(166666667, 500000000)
        """
        return self.to_loss(self.price(loss).exact).with_delta(loss.delta)

    def to_loss(self, exact: Fraction) -> PrivacyLoss:
        """The privacy loss of that many of this currency."""
        return PrivacyLoss.pure(exact) if self is Currency.EPSILON else PrivacyLoss.zcdp(exact)

    @classmethod
    def require_countable(cls, loss: PrivacyLoss, given: object) -> PrivacyLoss:
        """The loss, if a ledger can hold a cap of it; `given` is how it was written.

        Raises:
            ValueError: it is below 1e-9 or above 1e9.
        """
        currency = cls.from_loss(loss)
        if currency.limit(loss).billionths < 1 or currency.price(loss).billionths > LARGEST_AMOUNT:
            raise InvalidArgument(currency.value, f"a number from 1e-9 to 1e9 is needed, got {given}")
        return loss

    def _measure(self, loss: PrivacyLoss) -> Fraction | None:
        """A pure loss counts as what one release at its epsilon loses, whatever rho a sum of smaller ones has."""
        if self is Currency.EPSILON or loss.epsilon is None:
            return loss.epsilon if self is Currency.EPSILON else loss.rho
        return max(loss.rho, loss.epsilon**2 / 2)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of billionths of epsilon or of rho.

    >>> print(Amount(Currency.EPSILON, 300_000_000))
    epsilon 0.3
    """

    currency: Currency
    billionths: int

    @property
    def exact(self) -> Fraction:
        """The amount as a number of its currency."""
        return Fraction(self.billionths, BILLION)

    @property
    def digits(self) -> str:
        """The amount as an exact decimal, without its currency."""
        return f"{Decimal(self.billionths).scaleb(-9).normalize():f}"

    def __str__(self) -> str:
        return f"{self.currency.value} {self.digits}"


@dataclass(frozen=True, slots=True)
class Grant:
    """Proof that `loss` was charged, in a committed transaction, before the data was touched.

    Attributes:
        request: The id under which the question was asked.
        loss: What was charged for all of it.
        account: The dataset whose budget paid.
        id: The number of the ledger's row.
    """

    request: str
    loss: PrivacyLoss
    account: str
    id: int


@dataclass(frozen=True, slots=True)
class Allotment:
    """The privacy loss of one paid part of a grant. Made by `QuestionBudget` alone; without it no trust model runs."""

    request: str
    part: int
    loss: PrivacyLoss


class QuestionBudget:
    """Shares of a grant, which never add up to more than 1. A release that was charged once is free when used again.

    A delta is not shared out: the one step that finds names has all of it.

    Args:
        grant: What the question may lose.
        by_turn: Ledgers charge each turn by itself, and round it up. So each is rounded down to whole billionths, and
            turns together cost no more than the grant in an account of its currency. Those below 1e-4 are not rounded.

    >>> budget = QuestionBudget(Grant("a", PrivacyLoss.pure(0.3), "flights", 1))
    >>> budget.pay("a tree", Fraction(1, 3)).loss.epsilon
    Fraction(1, 10)
    >>> budget.pay("a tree", Fraction(1, 3)).part, budget.left
    (0, Fraction(2, 3))
    """

    def __init__(self, grant: Grant, *, charged_by_round: bool = False) -> None:
        self.grant = grant
        self.by_turn = charged_by_round
        self.left = Fraction(1)
        self._paid: dict[Hashable, Allotment] = {}

    @classmethod
    def for_planning(cls, loss: PrivacyLoss, *, charged_by_round: bool = False) -> QuestionBudget:
        """A budget that was not charged, for plans: to compute what a question would cost. No ledger has its grant."""
        return cls(Grant("rehearsal", loss, "rehearsal", 0), charged_by_round=charged_by_round)

    @classmethod
    def from_external_charge(cls, request: str, loss: PrivacyLoss, *, charged_by_round: bool = False) -> QuestionBudget:
        """A budget that others have charged in their own ledgers: for analysts who receive answers and hold no data."""
        return cls(Grant(request, loss, "elsewhere", 0), charged_by_round=charged_by_round)

    def pay(self, thing: Hashable, share: Fraction) -> Allotment:
        """Pay for `thing`, or look up what was paid for it.

        Raises:
            ValueError: more is asked than is left, or another share than the first time.
            TypeError: the share is not exact.
        """
        if not isinstance(share, Fraction | int):
            raise WrongArgumentType("share", f"a Fraction is needed, got {type(share).__name__}")
        if thing not in self._paid and not 0 < share <= self.left:
            raise InvalidArgument("share", f"a step asks for share {share} of its question; {self.left} is left")
        loss = self.grant.loss * (self._round_fraction(share) if self.by_turn else share)
        if self.grant.loss.delta:
            loss = loss.with_delta(self.grant.loss.delta if getattr(thing, "takes_delta", False) else Fraction(0))
        if thing not in self._paid:
            if loss.delta and any(paid.loss.delta for paid in self._paid.values()):
                raise InvalidArgument("delta", "one step of a question has all of it, and another one asks for it")
            self._paid[thing] = Allotment(self.grant.request, len(self._paid), loss)
            self.left -= share
        paid = self._paid[thing]
        if paid.loss != loss:
            raise InvalidArgument("share", f"this step was paid for with another share than {share}")
        return paid

    def _round_fraction(self, share: Fraction) -> Fraction:
        """The largest share, up to this one, that loses whole billionths."""
        loss = self.grant.loss
        exact = loss.rho if loss.epsilon is None else loss.epsilon
        whole = floor(exact * share * BILLION)
        return share if whole < LEAST_ROUNDED else whole / (exact * BILLION)


LONGEST_NAME = 200  # a name is looked up in an index, and databases index short texts only


def require_name(argument: str, name: str) -> None:
    """Refuse a name that is empty, long or not printable (PostgreSQL cannot store every character).

    Raises:
        ValueError: names the argument.
    """
    if not (isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise InvalidArgument(argument, f"1 to {LONGEST_NAME} printable characters are needed")


def require_text(argument: str, text: str) -> None:
    """Refuse a text that is empty, or that not every database can store.

    Raises:
        ValueError: names the argument.
    """
    if not text or re.search("[\0\ud800-\udfff]", text):
        raise InvalidArgument(argument, "a text without null characters and lone surrogates is needed")


def require_digest(argument: str, text: str) -> None:
    """Refuse what is not the hexadecimal form of a hash.

    Raises:
        ValueError: names the argument.
    """
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise InvalidArgument(argument, "the 64 hexadecimal digits of a hash are needed")


class BudgetExceeded(ArgumentError):
    """The charge was refused: nothing was computed, and nothing was spent."""


@dataclass(frozen=True, slots=True)
class Account:
    """The facts of one dataset. They never change: another promise needs another dataset.

    Attributes:
        dataset: Its name in the ledger.
        neighbours: The kind of adjacency under which every release is private.
        unit: Who is protected, and how many records of each are used.
        cap: What all releases together may lose. A pure cap is kept in epsilon, another one in rho; a ledger keeps
            whole billionths of it, rounded down.

    Raises:
        ValueError: the name is empty or cannot be printed, or the cap is below 1e-9 or above 1e9.

    >>> from dpcurves.privacy import EACH_RECORD
    >>> Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(2)).limit.digits
    '2'
    """

    dataset: str
    neighbours: Neighbours
    unit: Unit
    cap: PrivacyLoss

    def __post_init__(self) -> None:
        require_name("dataset", self.dataset)
        if self.unit.column:
            require_name("unit", self.unit.column)
        if self.unit.records > LARGEST_AMOUNT:
            raise InvalidArgument("rows_per_unit", f"at most {LARGEST_AMOUNT:.0e} records of a unit are counted")
        if not 1 <= self.limit.billionths <= LARGEST_AMOUNT:
            raise InvalidArgument("budget", f"a cap from 1e-9 to 1e9 is needed, got {self.cap}")

    @property
    def currency(self) -> Currency:
        """The currency of the account: epsilon or rho."""
        return Currency.from_loss(self.cap)

    @property
    def limit(self) -> Amount:
        """The cap, in whole billionths."""
        return self.currency.limit(self.cap)

    def require_same(self, other: Account) -> None:
        """Refuse facts that are not those of this account.

        Raises:
            ValueError: names the first fact that differs.
        """
        for (fact, ours), theirs in zip(self._facts().items(), other._facts().values(), strict=True):
            if ours != theirs:
                raise InvalidArgument(
                    fact, f"the account of {self.dataset!r} was opened with {ours}, not with {theirs}"
                )

    def require_units(self, units: int | None) -> None:
        """Take the number of units exactly where it is public.

        Raises:
            ValueError: it is missing, below 1, or private.
        """
        if not self.neighbours.has_public_units:
            if units is not None:
                raise InvalidArgument("units", "the number of units is private under add-remove; leave it out")
        elif units is None or not 1 <= units <= LARGEST_AMOUNT:
            raise InvalidArgument(
                "units", f"replace-one needs the public number of units, from 1 to {LARGEST_AMOUNT:.0e}, got {units}"
            )

    def _facts(self) -> dict[str, str]:
        return {
            "adjacency": self.neighbours.value,
            "unit": repr(self.unit.column) if self.unit.column else "each record",
            "rows_per_unit": str(self.unit.records) if self.unit.is_bounded else "no bound",
            "budget": str(self.limit) + (f", delta {format_loss(self.cap.delta)}" if self.cap.delta else ""),
        }


# Allowances: the part of a dataset's cap that a project may spend, and that of a project's that an analyst may.


WHOLE_PROJECT = ""
"""Stands in a ledger where an allowance is the project's, and no analyst's."""


class AllowanceRule(Enum):
    """The rule that says whether sibling allowances may add up to more than their parent."""

    WITHIN = "within"
    MAY_EXCEED = "may exceed"


class NoAllowance(InvalidArgument):
    """The charge was refused: the project or the analyst has no allowance."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a project may spend of a dataset, or an analyst within the project.

    It divides a budget among people and is no privacy guarantee, as they may share what they learn. The cap is.

    Attributes:
        dataset: Whose cap it is a part of.
        project: Who may spend it.
        maximum_loss: How much; a ledger keeps whole billionths of it in the account's currency, rounded down.
        analyst: One of the project, who may spend it within the project's own allowance; None: all of them together.

    Raises:
        ValueError: a name is empty or cannot be printed.
    """

    dataset: str
    project: str
    maximum_loss: PrivacyLoss
    analyst: str | None = None

    def __post_init__(self) -> None:
        require_name("project", self.project)
        if self.analyst is not None:
            require_name("analyst", self.analyst)

    def limit(self, account: Account) -> Amount:
        """The allowance in the account's currency.

        Raises:
            ValueError: it has none there, or is below 1e-9.
        """
        account.currency.price(self.maximum_loss)  # refuses what has none
        limit = account.currency.limit(self.maximum_loss)
        if limit.billionths < 1:
            raise InvalidArgument("allowance", f"at least 1e-9 is needed, got {self.maximum_loss}")
        return limit


@dataclass(frozen=True, slots=True)
class Member:
    """An analyst of a project.

    Raises:
        ValueError: a name is empty or cannot be printed.
    """

    project: str
    analyst: str

    def __post_init__(self) -> None:
        require_name("project", self.project)
        require_name("analyst", self.analyst)

    def request(self, dataset: str, loss: PrivacyLoss, binding: str) -> str:
        """The id under which anybody of this project asks a question: the same question has the same one.

        >>> loss, question = PrivacyLoss.pure(1), "ab" * 32
        >>> ann, bob, eve = Member("delays", "ann"), Member("delays", "bob"), Member("noise", "eve")
        >>> ann.request("flights", loss, question) == bob.request("flights", loss, question)
        True
        >>> ann.request("flights", loss, question) == eve.request("flights", loss, question)
        False
        """
        require_digest("binding", binding)
        facts = ["dpcurves project request", dataset, self.project, str(loss.epsilon), str(loss.rho), binding]
        return sha256(json.dumps(facts).encode()).hexdigest()
